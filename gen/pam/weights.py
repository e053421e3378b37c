"""Weights of partial results: comparator, exact difference of maxima, running scale, exponential units."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arith import compare, negative_power, scaled_difference

__all__ = ["WeightUnit"]


class WeightUnit(wiring.Component):
    """Weight of each partial result, and how far the accumulators move down before it is added.

    The accumulators stand for themselves times ``2**scale * exp(maximum)``. A larger maximum takes a power of two with a
    fraction from them: the whole part moves their exponents, exactly, and the fraction stays in ``scale``. So one
    exponential per partial result is enough, and nothing that was accumulated is multiplied or rounded again.

    Timing: an operand in cycle t gives its weight in cycle t + ``LATENCY``. ``free`` says whether an exponential unit can
    take an operand; each has one at a time, for ``EXP_CYCLES``.

    Members
    -------
    start : ``In(1)``
        A partial result, while ``free``: ``m``, ``scale``, ``first`` of a step.
    normalise : ``In(1)``
        Instead: a logarithm of 0 or more on ``m``, whose negative exponential is wanted. Not in one cycle with ``start``
        nor in the one after it, and only while ``free``.
    free : ``Out(1)``
    maximum, total_scale : ``Out``
        Of everything started; valid ``LATENCY`` cycles after the last start.
    valid : ``Out(1)``
        A weight: ``weight``, ``steps`` (of the accumulators' exponents, downwards), ``first``.
    normalised : ``Out(1)``
        ``weight`` is the negative exponential.
    """

    DIFFERENCE = 4
    POWER = 2
    #: Cycles for which an exponential unit is taken by an operand.
    EXP_CYCLES = POWER + 1
    LATENCY = 2 + DIFFERENCE + EXP_CYCLES

    def __init__(self, config):
        self._config = config
        super().__init__({
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
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        score, io, table = config.score, config.io, config.table
        fraction = table.fraction_bits

        def delayed(value, name, cycles, keep=False):
            for cycle in range(cycles):
                r = Signal(value.shape(), name=f"{name}_{cycle + 1}", reset_less=not keep)
                m.d.sync += r.eq(value)
                value = r
            return value

        # Which unit takes the operand, and for how long it is taken.
        units = config.exponential_units
        turn = Signal(range(max(units, 2)))
        rests = Array(Signal(range(self.EXP_CYCLES), name=f"rest_{n}") for n in range(units))
        taken = self.start | self.normalise
        m.d.comb += self.free.eq(rests[turn] == 0)
        for n, rest in enumerate(rests):
            with m.If(taken & (turn == n)):
                m.d.sync += rest.eq(self.EXP_CYCLES - 1)
            with m.Elif(rest != 0):
                m.d.sync += rest.eq(rest - 1)
        with m.If(taken):
            m.d.sync += turn.eq(Mux(turn == units - 1, 0, turn + 1))

        # Cycle 1: the comparator, around the running maximum.
        valid_1, norm_1 = delayed(self.start, "valid_1", 1, keep=True), delayed(self.normalise, "norm_1", 1, keep=True)
        m_1, first_1 = delayed(self.m, "m_1", 1), delayed(self.first, "first_1", 1)
        run = Signal(score.width)
        m.d.comb += run.eq(Mux(norm_1, 0, Mux(first_1, score.negative_infinity, self.maximum)))
        _, _, greater, unordered = compare(m, m_1, run, fmt=score, name="comparator_")
        high, low = Signal(score.width), Signal(score.width)
        m.d.comb += [high.eq(Mux(greater, m_1, run)), low.eq(Mux(greater, run, m_1))]
        with m.If(valid_1):
            m.d.sync += self.maximum.eq(Mux(unordered, score.nan, high))

        def kind(bits):
            top = bits[score.fraction_bits:-1].all()
            return top & ~bits[:score.fraction_bits].any(), top & bits[:score.fraction_bits].any()

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
        scaled, saturated = scaled_difference(m, delayed(high, "high", 1), delayed(low, "low", 1), score=score, table=table,
                                              depth=self.DIFFERENCE, name="difference_")
        cycles = self.DIFFERENCE + 1
        valid_6 = delayed(valid_1, "valid_6", cycles, keep=True)
        norm_6 = delayed(norm_1, "norm_6", cycles, keep=True)
        greater_6, restart_6, none_6, bad_6, odd_6, first_6 = (delayed(value, f"{name}_6", cycles) for value, name in (
            (greater, "greater"), (restart, "restart"), (none, "none"), (bad, "bad"), (odd, "odd"), (first_1, "first")))
        scale_6 = delayed(self.scale, "scale", cycles + 1)

        # Cycle 6: the running scale.
        far, start_over = Signal(), Signal()
        m.d.comb += far.eq(saturated | odd_6)
        m.d.comb += start_over.eq(restart_6 | (far & greater_6))
        wide = signed(max(config.scale_bits, len(scaled) + 1) + 2)
        less, behind, below, kept = (Signal(wide, name=n) for n in ("less", "behind", "below", "kept"))
        m.d.comb += [
            less.eq(scale_6 - scaled),
            behind.eq(Mux(greater_6, scale_6, less)),
            below.eq(self.total_scale - Mux(greater_6, scale_6 + scaled, less)),
            kept.eq(Mux(below[-1], below[:fraction], below)),
        ]
        # Up to the next whole number.
        whole = Signal(len(below) - fraction)
        m.d.comb += whole.eq(Mux(below[-1], -(below >> fraction), 0))
        steps = Signal(10)
        m.d.comb += steps.eq(Mux(start_over | whole[10:].any(), 1023, Mux(far, 0, whole[:10])))
        with m.If(valid_6):
            with m.If(start_over):
                m.d.sync += self.total_scale.eq(scale_6)
            with m.Elif(~far):
                m.d.sync += self.total_scale.eq(kept + behind)
        exponent = Signal(len(below) - 1)
        m.d.comb += exponent.eq(Mux(norm_6, scaled, Mux(start_over, 0, kept)))

        # Cycles 7 to 9: the exponential units.
        at_6 = delayed(turn, "turn", cycles + 1)
        at_9 = delayed(at_6, "turn_9", self.EXP_CYCLES)
        powers = []
        for n in range(units):
            operand = Signal(len(exponent), name=f"operand_{n}", reset_less=True)
            with m.If((valid_6 | norm_6) & (at_6 == n)):
                m.d.sync += operand.eq(exponent)
            powers.append(negative_power(m, operand, table=table, depth=self.POWER, name=f"power_{n}_"))
        zero_6 = ~norm_6 & (none_6 | (far & ~start_over))
        zero_9, bad_9 = delayed(zero_6, "zero_9", self.EXP_CYCLES), delayed(bad_6 & ~norm_6, "bad_9", self.EXP_CYCLES)
        m.d.comb += [
            self.weight.eq(Mux(bad_9, io.nan, Mux(zero_9, 0, Array(powers)[at_9]))),
            self.valid.eq(delayed(valid_6, "valid_9", self.EXP_CYCLES, keep=True)),
            self.normalised.eq(delayed(norm_6, "norm_9", self.EXP_CYCLES, keep=True)),
            self.steps.eq(delayed(steps, "steps_9", self.EXP_CYCLES)),
            self.is_first.eq(delayed(first_6, "first_9", self.EXP_CYCLES)),
        ]
        return m
