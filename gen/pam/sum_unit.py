"""The sum l of the reduction unit: merged beside O, scaled to 1 .. 2, and its logarithm."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arith import add_product, addend_distance, exact_product, from_integer, logarithm
from .lane import chosen, converted, delayed, factor_format, moved, per_query

__all__ = ["SumUnit"]


class SumUnit(wiring.Component):
    """Merges l: ``l = weight * l_new + l * 2**-steps``, rounded to ``acc_format``. Subnormal numbers count as zeros.

    At the end of a step, the unit gives l as a part and a power of two, and m + ln l.

    Timing: an operand of cycle t is part of l from cycle t + ``LATENCY`` on. The unit takes at most one operand every
    ``config.lane_depth + 3`` cycles. While ``close`` is set, ``part``, ``power``, ``empty`` and ``bad`` follow l, one
    cycle behind. ``log`` follows ``part`` by ``LOGARITHM`` cycles. ``log_sum`` is valid when ``finish``, with
    ``maximum`` and ``scale``, has been set for ``FINISH`` cycles.

    Members
    -------
    valid, first, steps, l : ``In``
        An operand. The first operand of a step replaces the sum.
    weight : ``In(width of factor_format)``
        The operand's weight, in the next cycle.
    close, finish : ``In(1)``
    part : ``Out(acc.width)``
        l divided by ``2**power``, at least 1 and below 2. If l is 0, NaN or infinite, ``part`` is the same.
    power : ``Out(signed)``
    empty, bad : ``Out(1)``
        l is 0 or a subnormal number; l is negative, NaN or infinite.
    log : ``Out(score.width)``
        ln of ``part``.
    maximum, scale : ``In``
    log_sum : ``Out(acc.width)``
        ``maximum + scale * ln 2 + ln part``, rounded to ``acc_format`` after each of the two additions.
    query, select : ``In``, only with several queries
        Query of the operand; query whose l ``part`` and the others follow. Each query has its own sum, so operands of
        other queries may follow in every cycle.
    """

    LOGARITHM = 4

    def __init__(self, config):
        self.config = config
        self._weight, self._normal = factor_format(config)
        # Registers of the adder: as many as the time between two operands allows.
        self._adder = config.lane_depth + 1
        self.LATENCY = 4 + self._adder
        self.FINISH = 2 * (4 + self._adder)
        super().__init__(
            {
                "valid": In(1),
                "first": In(1),
                "weight": In(self._weight.width),
                "steps": In(10),
                "l": In(config.acc.width),
                "close": In(1),
                "part": Out(config.acc.width),
                "power": Out(signed(10)),
                "empty": Out(1),
                "bad": Out(1),
                "log": Out(config.score.width),
                "finish": In(1),
                "maximum": In(config.score.width),
                "scale": In(signed(config.scale_bits)),
                "log_sum": Out(config.acc.width),
                **(
                    {"query": In(range(config.queries)), "select": In(range(config.queries))}
                    if config.queries > 1
                    else {}
                ),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        acc = config.acc
        options = {"fmt": acc, "acc": acc, "flush_to_zero": True}

        log = logarithm(
            m, converted(m, self.part, acc, config.log, "part"), fmt=config.log, depth=self.LOGARITHM, name="log_"
        )
        m.d.comb += self.log.eq(converted(m, log, config.log, config.score, "log_score"))
        log_acc = self.log if config.score == acc else converted(m, log, config.log, acc, "log_acc")
        scale = from_integer(
            m, self.scale[config.table.fraction_bits - config.log_scale_bits :], fmt=acc, signed=True, name="scale_"
        )
        count = Signal(range(self.FINISH + 1))
        second = Signal()
        m.d.comb += second.eq(count >= self.FINISH // 2)
        with m.If(~self.finish):
            m.d.sync += count.eq(0)
        with m.Elif(count != self.FINISH):
            m.d.sync += count.eq(count + 1)

        # Cycle 1: the factors. Cycle 2: the addend.
        a = delayed(m, Mux(self.finish, Mux(second, self.log_sum, scale), self.l), "a", 1)
        b = Signal(acc.width)
        weight = converted(m, self.weight, self._weight, acc, "weight", flush_to_zero=self._normal)
        m.d.comb += b.eq(Mux(self.finish, Mux(second, acc.bias << acc.fraction_bits, config.log_constant), weight))
        product = exact_product(m, a, b, depth=1, name="product_", **options)
        # In the Verilog of a unit of one query, the register has no name.
        totals, addend = (
            (
                [Signal(acc.width, reset_less=True)]
                if config.queries == 1
                else per_query(config, acc.width, "total", reset_less=True)
            ),
            Signal(acc.width, reset_less=True),
        )
        query_2, query_end = self._queries(m)
        down = moved(m, chosen(totals, query_2), delayed(m, self.steps, "steps", 2), acc, "moved")
        other = Signal(acc.width)
        m.d.comb += other.eq(
            Mux(
                self.finish,
                Mux(second, converted(m, self.maximum, config.score, acc, "maximum"), log_acc),
                Mux(delayed(m, self.first, "first", 2), 0, down),
            )
        )
        m.d.sync += addend.eq(other)
        product = delayed(m, addend_distance(m, product, other[acc.fraction_bits : -1], **options), "product", 1)
        result = add_product(m, product, addend, depth=self._adder, name="sum_", **options)
        with m.If(delayed(m, self.valid, "valid", self.LATENCY - 1, reset=True)):
            m.d.sync += chosen(totals, query_end).eq(result)
        with m.If((count == self.FINISH // 2 - 1) | (count == self.FINISH - 1)):
            m.d.sync += self.log_sum.eq(result)

        total = totals[0]
        if config.queries > 1:
            total = Signal(acc.width, name="total")
            m.d.comb += total.eq(chosen(totals, self.select))
        field = total[acc.fraction_bits : -1]
        empty, special = Signal(), Signal()
        m.d.comb += [empty.eq(~field.any()), special.eq(field.all())]
        with m.If(self.close):
            m.d.sync += [
                self.part.eq(
                    Mux(
                        empty,
                        0,
                        Mux(
                            special,
                            total,
                            Cat(total[: acc.fraction_bits], Const(acc.bias, acc.exponent_bits), total[-1]),
                        ),
                    )
                ),
                self.power.eq(Mux(empty | special, 0, field - acc.bias)),
                self.empty.eq(empty),
                self.bad.eq(special | total[-1]),
            ]
        return m

    def _queries(self, m):
        """Query of the sum that is moved, in cycle 2, and of the sum that is written, in the last cycle."""
        if self.config.queries == 1:
            return 0, 0
        query_2 = delayed(m, self.query, "query", 2)
        return query_2, delayed(m, query_2, "query_later", self.LATENCY - 3)
