"""Weights of partial results: comparator, exact difference of maxima, running scale, exponential units."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arith import compare, negative_power, scaled_difference
from .lane import chosen, delayed, per_query

__all__ = ["WeightUnit"]


class WeightUnit(wiring.Component):
    """Computes the weight of each partial result, and the shift of the accumulators before it is added.

    The accumulators represent their contents times ``2**scale * exp(maximum)``. A larger maximum divides them by a
    power of two with a fractional exponent. The whole part of this exponent moves their exponents, exactly. The
    fraction stays in ``scale``. So one exponential per partial result is enough, and no accumulated value is multiplied
    or rounded again.

    Timing: an operand of cycle t gives its weight in cycle t + ``LATENCY``. The unit takes one operand in ``INTERVAL``
    cycles, while ``free`` is 1. The exponential units take turns.

    Members
    -------
    start : ``In(1)``
        Request for a partial result, only while ``free``: ``m``, ``scale``, and ``first`` for the first one of a step.
    normalise : ``In(1)``
        Request for the negative exponential of ``m``, a logarithm of at least 0. It is allowed only while ``free``, and
        neither in the cycle of ``start`` nor in the next one.
    free : ``Out(1)``
    maximum, total_scale : ``Out``
        Maximum and scale of all partial results started in the step; valid ``LATENCY`` cycles after the last start.
    query, select : ``In``, only with several queries
        Query of the partial result; query whose ``maximum`` and ``total_scale`` are shown.
    valid : ``Out(1)``
        A weight is ready: ``weight``, ``steps`` (the decrease of the accumulators' exponents), ``is_first``.
    normalised : ``Out(1)``
        ``weight`` is the negative exponential.
    """

    DIFFERENCE = 4
    POWER = 1
    #: Cycles from one operand to the next.
    INTERVAL = 4
    #: Stages: comparator, difference, its sum with the scale, running scale, steps, exponential unit.
    LATENCY = 1 + (DIFFERENCE + 1) + 3 + (1 + POWER)

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "normalise": In(1),
                "m": In(config.score.width),
                "scale": In(signed(config.scale_bits)),
                "first": In(1),
                "free": Out(1),
                "maximum": Out(config.score.width),
                "total_scale": Out(signed(config.scale_bits)),
                "valid": Out(1),
                "normalised": Out(1),
                "weight": Out(config.io.width),
                "steps": Out(10),
                "is_first": Out(1),
                **(
                    {"query": In(range(config.queries)), "select": In(range(config.queries))}
                    if config.queries > 1
                    else {}
                ),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        score, io, table = config.score, config.io, config.table
        fraction = table.fraction_bits

        taken = self.start | self.normalise
        rest = Signal(range(self.INTERVAL))
        m.d.comb += self.free.eq(rest == 0)
        with m.If(taken):
            m.d.sync += rest.eq(self.INTERVAL - 1)
        with m.Elif(rest != 0):
            m.d.sync += rest.eq(rest - 1)

        # Cycle 1: the comparator and the running maximum.
        valid_1 = delayed(m, self.start, "valid", 1, reset=True)
        norm_1 = delayed(m, self.normalise, "norm", 1, reset=True)
        m_1, first_1 = delayed(m, self.m, "m", 1), delayed(m, self.first, "first", 1)
        run = Signal(score.width)
        maximum, total_scale = self._running(m)
        m.d.comb += run.eq(Mux(norm_1, 0, Mux(first_1, score.negative_infinity, maximum)))
        _, _, greater, unordered = compare(m, m_1, run, fmt=score, name="comparator_")
        high, low = Signal(score.width), Signal(score.width)
        m.d.comb += [high.eq(Mux(greater, m_1, run)), low.eq(Mux(greater, run, m_1))]
        with m.If(valid_1):
            m.d.sync += maximum.eq(Mux(unordered, score.nan, high))

        def kind(bits):
            top = bits[score.fraction_bits : -1].all()
            return top & ~bits[: score.fraction_bits].any(), top & bits[: score.fraction_bits].any()

        inf, nan = kind(m_1)
        run_inf, run_nan = kind(run)
        restart, none, bad, odd = (Signal(name=n) for n in ("restart", "none", "bad", "odd"))
        m.d.comb += [
            none.eq(inf & m_1[-1]),
            bad.eq(nan | run_nan | (inf & ~m_1[-1])),
            odd.eq(inf | nan | run_inf | run_nan),
            restart.eq(first_1 | (run_inf & run[-1])),
        ]

        # Cycles 2 to 6: the difference of the maxima.
        cycles = self.DIFFERENCE + 1
        difference, saturated = scaled_difference(
            m,
            delayed(m, high, "high", 1),
            delayed(m, low, "low", 1),
            score=score,
            table=table,
            depth=self.DIFFERENCE,
            name="difference_",
        )
        valid_6 = delayed(m, valid_1, "valid_6", cycles, reset=True)
        norm_6 = delayed(m, norm_1, "norm_6", cycles, reset=True)
        greater_6, restart_6, none_6, bad_6, odd_6, first_6 = (
            delayed(m, value, f"{name}_6", cycles)
            for name, value in {
                "greater": greater,
                "restart": restart,
                "none": none,
                "bad": bad,
                "odd": odd,
                "first": first_1,
            }.items()
        )
        # Meanwhile the scale waits in registers that load once for each operand.
        scale_1, scale_5 = (Signal(signed(config.scale_bits), name=n, reset_less=True) for n in ("scale_1", "scale_5"))
        with m.If(taken):
            m.d.sync += scale_1.eq(Mux(self.normalise, 0, self.scale))
        with m.If(delayed(m, taken, "taken", self.INTERVAL, reset=True)):
            m.d.sync += scale_5.eq(scale_1)

        # Cycle 7: the scale of the partial result, plus or minus the scaled difference of the maxima.
        scaled = delayed(m, difference, "scaled", 1)
        valid_7, norm_7 = delayed(m, valid_6, "valid_7", 1, reset=True), delayed(m, norm_6, "norm_7", 1, reset=True)
        greater_7, first_7 = delayed(m, greater_6, "greater_7", 1), delayed(m, first_6, "first_7", 1)
        far_7 = delayed(m, saturated | odd_6, "far_7", 1)
        over_7 = delayed(m, restart_6 | ((saturated | odd_6) & greater_6), "over_7", 1)
        none_7, bad_7 = delayed(m, none_6, "none_7", 1), delayed(m, bad_6 & ~norm_6, "bad_7", 1)
        wide = signed(max(config.scale_bits, len(scaled) + 1) + 2)
        key = Signal(wide)
        minus = ~greater_7
        m.d.comb += key.eq(scale_5 + (Cat(scaled, 0) ^ minus.replicate(len(scaled) + 1)).as_signed() + minus)

        # Cycle 8: the difference between the scale of the accumulators and that sum.
        key_8 = delayed(m, key, "key_8", 1)
        behind_8 = delayed(m, Mux(greater_7 | over_7, scale_5, key), "behind_8", 1)
        valid_8, norm_8 = delayed(m, valid_7, "valid_8", 1, reset=True), delayed(m, norm_7, "norm_8", 1, reset=True)
        far_8, over_8 = delayed(m, far_7, "far_8", 1), delayed(m, over_7, "over_8", 1)
        below, kept = Signal(wide), Signal(unsigned(len(key) - 1))
        m.d.comb += [
            below.eq(total_scale[8] - key_8),
            kept.eq(Mux(norm_8, key_8, Mux(over_8, 0, Mux(below[-1], below[:fraction], below)))),
        ]

        # Cycle 9: the running scale, and the number of steps, rounded up to a whole number.
        kept_9, behind_9 = delayed(m, kept, "kept_9", 1), delayed(m, behind_8, "behind_9", 1)
        floor_9 = delayed(m, below[fraction:].as_signed(), "floor_9", 1)
        valid_9, norm_9 = delayed(m, valid_8, "valid_9", 1, reset=True), delayed(m, norm_8, "norm_9", 1, reset=True)
        far_9, over_9 = delayed(m, far_8, "far_9", 1), delayed(m, over_8, "over_9", 1)
        with m.If(valid_9 & (over_9 | ~far_9)):
            m.d.sync += total_scale[9].eq(kept_9 + behind_9)
        whole = Signal(len(floor_9))
        m.d.comb += whole.eq(-floor_9)
        steps = Signal(10)
        with m.If(over_9 | (floor_9[-1] & whole[10:].any())):
            m.d.comb += steps.eq(1023)
        with m.Elif(floor_9[-1] & ~far_9):
            m.d.comb += steps.eq(whole)

        # From cycle 10 on: the exponential units.
        units, cycles = config.exponential_units, 1 + self.POWER
        turn = Signal(range(max(units, 2)))
        with m.If(valid_9 | norm_9):
            m.d.sync += turn.eq(Mux(turn == units - 1, 0, turn + 1))
        powers = []
        for n in range(units):
            operand = Signal(len(kept_9), name=f"operand_{n}", reset_less=True)
            with m.If((valid_9 | norm_9) & (turn == n)):
                m.d.sync += operand.eq(kept_9)
            powers.append(negative_power(m, operand, table=table, depth=self.POWER, name=f"power_{n}_"))
        zero_9 = ~norm_9 & (delayed(m, none_7, "none_9", 2) | (far_9 & ~over_9))
        zero, bad = delayed(m, zero_9, "zero", cycles), delayed(m, bad_7, "bad", 2 + cycles)
        m.d.comb += [
            self.weight.eq(Mux(bad, io.nan, Mux(zero, 0, Array(powers)[delayed(m, turn, "taken_by", cycles)]))),
            self.valid.eq(delayed(m, valid_9, "valid_end", cycles, reset=True)),
            self.normalised.eq(delayed(m, norm_9, "norm_end", cycles, reset=True)),
            self.steps.eq(delayed(m, steps, "steps_end", cycles)),
            self.is_first.eq(delayed(m, first_7, "first_end", 2 + cycles)),
        ]
        return m

    def _running(self, m):
        """The running maximum in cycle 1, and the running scale by the cycle that uses it."""
        config = self._config
        if config.queries == 1:
            return self.maximum, {8: self.total_scale, 9: self.total_scale}
        maxima = per_query(config, config.score.width, "maximum")
        scales = per_query(config, signed(config.scale_bits), "total_scale")
        query_1 = delayed(m, self.query, "query", 1)
        query_8 = delayed(m, query_1, "query_later", 7)
        query_9 = delayed(m, query_8, "query_last", 1)
        m.d.comb += [self.maximum.eq(chosen(maxima, self.select)), self.total_scale.eq(chosen(scales, self.select))]
        return chosen(maxima, query_1), {8: chosen(scales, query_8), 9: chosen(scales, query_9)}
