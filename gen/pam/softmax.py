"""Softmax of one tile of scores: writes probabilities back to the score memory and sends their sum to the output."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...constraints.arith.geometry import ExpTable, SumWindow
from ..arith import Rounder, SoftmaxExp, unpack

__all__ = ["SoftmaxUnit"]


class SoftmaxUnit(wiring.Component):
    """Reads the scores of a tile, one per clock, and replaces each score by ``exp(score - maximum)``.

    Tiles follow each other without a gap. An empty tile takes one clock and has the sum 0.

    With several queries, the scores of a tile lie token by token, and query by query within a token. They are read in
    that order, so the probabilities come in the order in which P V needs them. Every query has a sum of its own. An
    empty tile takes a clock for each query.

    Timing: a score is read in cycle t, and its probability is written in cycle t + ``LATENCY``. ``sum_valid`` follows
    ``SUM_LATENCY`` cycles after the last read.

    Members
    -------
    start : ``In(1)``
        A tile is ready in ``bank``. The signal stays 1 until ``done``.
    bank, count : ``In``
        Bank of the tile, and its number of scores (0 allowed).
    done : ``Out(1)``
        Strobe: the last score is being read. In the next cycle ``start`` may announce the next tile.
    read_index : ``Out``
        Address of the score that is read from ``bank``, a synchronous memory. The score follows on ``score``.
    score, maximum : ``In(score width)``
        Score and the tile's maximum, one cycle after the address.
    write, write_bank, write_index, probability : ``Out``
        Strobe, bank, address and value of a probability to write.
    sum_valid, sum_bank, sum : ``Out``
        The sum of a tile's probabilities, in the accumulation format.
    queries, query, sum_query, sum_last : only with several queries
        Queries of the tile; query of the score that is read; query of the sum; last sum of the tile.
    """

    LATENCY = SoftmaxExp.LATENCY + 1
    SUM_LATENCY = LATENCY + 1 + Rounder.LATENCY

    def __init__(self, config):
        self._config = config
        index = range(max(config.tile_tokens * config.queries, 2))
        super().__init__(
            {
                "start": In(1),
                "bank": In(1),
                "count": In(range(config.tile_tokens + 1)),
                "done": Out(1),
                "read_index": Out(index),
                "score": In(config.score.width),
                "maximum": In(config.score.width),
                "write": Out(1),
                "write_bank": Out(1),
                "write_index": Out(index),
                "probability": Out(config.io.width),
                "sum_valid": Out(1),
                "sum_bank": Out(1),
                "sum": Out(config.acc.width),
                **(
                    {
                        "queries": In(range(config.queries + 1)),
                        "query": Out(range(config.queries)),
                        "sum_query": Out(range(config.queries)),
                        "sum_last": Out(1),
                    }
                    if config.queries > 1
                    else {}
                ),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        io = config.io
        window = SumWindow(io, config.acc.precision, config.guard_bits, config.tile_tokens, config.acc)

        several = config.queries > 1
        last, empty = Signal(), Signal()
        m.d.comb += empty.eq(self.count == 0)
        if several:
            first_token, last_token, last_query = self._position(m, empty)
            m.d.comb += last.eq(last_token & last_query)
        else:
            first_token, last_token = self.read_index == 0, last
            m.d.comb += last.eq(empty | (self.read_index == self.count - 1))
        m.d.comb += self.done.eq(self.start & last)
        with m.If(self.start):
            m.d.sync += self.read_index.eq(Mux(last, 0, self.read_index + 1))

        def delayed(value, name, cycles, keep=False):
            for cycle in range(cycles):
                r = Signal(value.shape(), name=f"{name}_{cycle + 1}", reset_less=not keep)
                m.d.sync += r.eq(value)
                value = r
            return value

        m.submodules.exp = exp = SoftmaxExp(config.score, ExpTable(io))
        m.d.comb += [exp.maximum.eq(self.maximum), exp.value.eq(self.score)]
        valid = delayed(self.start, "valid", self.LATENCY, keep=True)
        first = delayed(first_token, "first", self.LATENCY)
        final = delayed(last_token, "last", self.LATENCY)
        void = delayed(empty, "empty", self.LATENCY)
        m.d.comb += [
            self.write.eq(valid & ~void),
            self.write_bank.eq(delayed(self.bank, "bank", self.LATENCY)),
            self.write_index.eq(delayed(self.read_index, "index", self.LATENCY)),
            self.probability.eq(exp.result),
        ]

        # The sum is a fixed-point integer, because probabilities are at most 1.
        p = unpack(m, exp.result, io, "p")
        left = window.fraction_bits - io.fraction_bits
        size = window.fraction_bits + 1
        term = Signal(size)
        below = Signal(range(io.bias + max(-left, 0) + 1))  # p is at most 1: its exponent is at most the bias
        m.d.comb += below.eq(io.bias - p.exponent + max(-left, 0))
        m.d.comb += term.eq(Mux(void | p.nan, 0, (p.significand << max(left, 0)) >> below))
        total = Signal(window.width, reset_less=True)
        nan = Signal(reset_less=True)
        if several:
            # A total for each query. The registers `total` and `nan` hold the latest one for the rounder.
            query = delayed(self.query, "query", self.LATENCY)
            totals = Array(Signal(window.width, name=f"total_{n}", reset_less=True) for n in range(config.queries))
            nans = Array(Signal(name=f"nan_{n}", reset_less=True) for n in range(config.queries))
            sum_last = delayed(delayed(last, "all_last", self.LATENCY), "sum_last", 1 + Rounder.LATENCY)
            m.d.comb += [
                self.sum_query.eq(delayed(query, "sum_query", 1 + Rounder.LATENCY)),
                self.sum_last.eq(sum_last),
            ]
        else:
            query, totals, nans = 0, [total], [nan]
        with m.If(valid):
            for copy in ([total, nan], [totals[query], nans[query]])[: 1 + several]:
                m.d.sync += copy[0].eq(Mux(first, 0, totals[query]) + term)
                m.d.sync += copy[1].eq((~first & nans[query]) | (p.nan & ~void))
        m.submodules.rounder = rounder = Rounder(
            config.acc, width=window.width + 1, exponent_max=0, unit=-window.fraction_bits
        )
        m.d.comb += [
            rounder.value.eq(total),
            rounder.nan.eq(nan),
            self.sum.eq(rounder.bits),
            self.sum_valid.eq(delayed(valid & final, "sum_valid", 1 + Rounder.LATENCY, keep=True)),
            self.sum_bank.eq(delayed(self.write_bank, "sum_bank", 1 + Rounder.LATENCY)),
        ]
        return m

    def _position(self, m, empty):
        """Count tokens and queries of the tile. Returns whether the score that is read belongs to the first token, to
        the last token and to the last query."""
        token = Signal(range(max(self._config.tile_tokens, 2)))
        last_token, last_query = Signal(), Signal()
        m.d.comb += [last_token.eq(empty | (token == self.count - 1)), last_query.eq(self.query == self.queries - 1)]
        with m.If(self.start):
            m.d.sync += self.query.eq(Mux(last_query, 0, self.query + 1))
            with m.If(last_query):
                m.d.sync += token.eq(Mux(last_token, 0, token + 1))
        return token == 0, last_token, last_query
