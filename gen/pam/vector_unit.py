"""The vector unit: multipliers that serve both a dot product (Q K^T) and a lane-wise multiply-accumulate (P V)."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ...constraints.arithmetic import AlignedWindow
from ..arith import Pipeline, Rounder, unpack
from ..arith.bits import add_rows, booth_products, compress

__all__ = ["VectorUnit"]

#: Arrival that is not too late for the adder behind a product's compressor tree, in a stage of its own.
LATE = 40


class VectorUnit(wiring.Component):
    """``lanes`` multipliers with aligned accumulation, in two modes that may change every clock.

    *Key* beats (``value`` 0): the products of the query chunk and the key chunk are aligned to one exponent and added
    to a scalar accumulator as integers; after the ``last`` beat the score is rounded once. *Value* beats: every lane
    multiplies its element by the broadcast probability and adds to its own accumulator; after the ``last`` beat all
    lanes are rounded to the input format.

    The exponent loop and the significand loop are both closed within one clock, two stages apart, so any beat may
    follow any other without a bubble and nothing ever stalls. The functional model is
    ``bankside.models.numerics.aligned_add``.

    Timing: ``score`` is valid ``SCORE_LATENCY`` cycles after the last key beat's strobe, ``output``
    ``OUTPUT_LATENCY`` cycles after the last value beat's.

    Parameters
    ----------
    config : :class:`PamPuConfig`
    score_tag, output_tag : shape-like
        Travels with the last beat of an accumulation.

    Members
    -------
    valid : ``In(1)``
        A beat; ``value``, ``first``, ``last``, ``partial``, ``slot``, tags and ``data`` belong to the same cycle.
    value : ``In(1)``
        0: key beat, 1: value beat.
    first, last : ``In(1)``
        First and last beat of an accumulation.
    partial : ``In(1)``
        With ``first``: start from ``partial_score`` instead of 0.
    slot : ``In(range(score_accumulators))``
        Which scalar accumulator a key beat adds to.
    data : ``In(lanes * width)``
        Key or value elements, lane 0 lowest.
    query : ``In(lanes * width)``, probability : ``In(width)``, partial_score : ``In(score width)``
        The other operands, one cycle after the strobe (they come from memories).
    score_valid, score, score_tag : ``Out``
    output_valid, output, output_tag : ``Out``
        ``output`` has ``lanes`` elements, lane 0 lowest.
    """

    SCORE_LATENCY = 10
    OUTPUT_LATENCY = 8

    def __init__(self, config, *, score_tag, output_tag):
        self._config = config
        io, lanes = config.io, config.lanes
        self._lane_window = AlignedWindow(io, config.acc.precision, config.guard_bits, config.tile_tokens, io)
        self._score_window = AlignedWindow(io, config.acc.precision, config.guard_bits, config.max_head_dim + 1,
                                           config.score)
        super().__init__({
            "valid": In(1),
            "value": In(1),
            "first": In(1),
            "last": In(1),
            "partial": In(1),
            "slot": In(range(max(config.score_accumulators, 2))),
            "data": In(lanes * io.width),
            "query": In(lanes * io.width),
            "probability": In(io.width),
            "partial_score": In(config.score.width),
            "score_tag_in": In(score_tag),
            "output_tag_in": In(output_tag),
            "score_valid": Out(1),
            "score": Out(config.score.width),
            "score_tag": Out(score_tag),
            "output_valid": Out(1),
            "output": Out(lanes * io.width),
            "output_tag": Out(output_tag),
        })

    def elaborate(self, platform):
        m = Module()
        config = self._config
        io, lanes = config.io, config.lanes
        lane_window, score_window = self._lane_window, self._score_window

        def register(value, name, cycles=1, keep=False):
            """``value`` some cycles later; registers of data need no reset, strobes do (``keep``)."""
            for cycle in range(cycles):
                r = Signal(value.shape(), name=f"{name}_{cycle + 1}" if cycles > 1 else name, reset_less=not keep)
                m.d.sync += r.eq(value)
                value = r
            return value

        # Cycle 1: operands. A dead product (a factor is zero, infinite or NaN) has significand and exponent 0, so that
        # it neither adds nor sets the alignment.
        valid_1 = register(self.valid, "valid_1", keep=True)
        value_1, first_1, last_1 = (register(s, f"{n}_1") for s, n in
                                    ((self.value, "value"), (self.first, "first"), (self.last, "last")))
        partial_1, slot_1 = register(self.partial, "partial_1"), register(self.slot, "slot_1")
        data_1 = register(self.data, "data_1")

        exponent_bits = io.exponent_bits + 1
        a_2, b_2, exponents_2, signs_2, infs_2, nans_2 = [], [], [], [], [], []
        p_operand = unpack(m, self.probability, io, "probability")
        for lane in range(lanes):
            q = unpack(m, self.query.word_select(lane, io.width), io, f"query_{lane}")
            x = unpack(m, data_1.word_select(lane, io.width), io, f"data_{lane}")

            def pick(field, q=q):
                return Mux(value_1, getattr(p_operand, field), getattr(q, field))

            nan, inf, dead = (Signal(name=f"{n}_{lane}") for n in ("nan", "inf", "dead"))
            zero, a_inf, a_nan = pick("zero"), pick("inf"), pick("nan")
            m.d.comb += [
                nan.eq(a_nan | x.nan | (a_inf & x.zero) | (x.inf & zero)),
                inf.eq((a_inf | x.inf) & ~nan),
                dead.eq(zero | x.zero | a_inf | x.inf | a_nan | x.nan),
            ]
            exponent = Signal(exponent_bits, name=f"exponent_{lane}")
            m.d.comb += exponent.eq(Mux(dead, 0, pick("exponent") + x.exponent))
            a_2.append(register(Mux(dead, 0, pick("significand")), f"a_2_{lane}"))
            b_2.append(register(x.significand, f"b_2_{lane}"))
            exponents_2.append(register(exponent, f"exponent_2_{lane}"))
            signs_2.append(register(pick("sign") ^ x.sign, f"sign_2_{lane}"))
            infs_2.append(register(inf, f"inf_2_{lane}"))
            nans_2.append(register(nan, f"nan_2_{lane}"))
        valid_2 = register(valid_1, "valid_2", keep=True)
        value_2, first_2, last_2 = (register(s, f"{n}_2") for s, n in
                                    ((value_1, "value"), (first_1, "first"), (last_1, "last")))
        slot_2 = register(slot_1, "slot_2")
        started_2 = register(partial_1 & first_1, "started_2")
        partial_2 = register(self.partial_score, "partial_score_2")

        # Cycle 2: products, and the largest exponent of all lanes beside them.
        products_3 = [register(_product(m, a, b, f"product_{n}"), f"product_3_{n}")
                      for n, (a, b) in enumerate(zip(a_2, b_2, strict=True))]
        exponents_3 = [register(e, f"exponent_3_{n}") for n, e in enumerate(exponents_2)]
        signs_3 = [register(s, f"sign_3_{n}") for n, s in enumerate(signs_2)]
        top_3 = register(_maximum(m, exponents_2, "top"), "top_3")
        lane_flags_3 = [[register(f, f"{n}_3_{lane}") for f, n in
                         ((nans_2[lane], "nan"), (infs_2[lane] & ~signs_2[lane], "positive"),
                          (infs_2[lane] & signs_2[lane], "negative"))] for lane in range(lanes)]
        any_3 = [register(Cat(*fs).any(), f"any_{n}_3") for n, fs in (
            ("nan", nans_2),
            ("positive", [i & ~s for i, s in zip(infs_2, signs_2, strict=True)]),
            ("negative", [i & s for i, s in zip(infs_2, signs_2, strict=True)]))]
        valid_3 = register(valid_2, "valid_3", keep=True)
        value_3, first_3, last_3 = (register(s, f"{n}_3") for s, n in
                                    ((value_2, "value"), (first_2, "first"), (last_2, "last")))
        slot_3 = register(slot_2, "slot_3")

        # The partial score an accumulation starts from, its leading bit where a product's would be.
        score = config.score
        place = score_window.magnitude_bits - score.precision
        offset = -score.bias - score.fraction_bits - place - score_window.unit
        score_exponent_max = max(2 * (io.exponent_max - 1), score.exponent_max - 1 + offset)
        start = unpack(m, partial_2, score, "start")
        start_special = start.inf | start.nan
        start_size = score_window.magnitude_bits
        start_magnitude = Signal(start_size)
        m.d.comb += start_magnitude.eq((start.significand << max(place, 0)) >> max(-place, 0))
        use = Signal()
        m.d.comb += use.eq(started_2 & ~start_special)
        start_3 = register(Mux(use, _plus(Const(0, 1).as_signed(), Cat(start_magnitude, 0).as_signed()
                                          ^ start.sign.replicate(start_size + 1).as_signed(), start.sign), 0), "start_3")
        exponent_shape = signed(bits_for(max(score_exponent_max, -offset)) + 2)
        start_exponent = Signal(exponent_shape)
        m.d.comb += start_exponent.eq(Mux(use, start.exponent + offset, score_window.floor))
        start_exponent_3 = register(start_exponent, "start_exponent_3")
        start_flags_3 = [register(started_2 & f, f"start_{n}_3") for f, n in
                         ((start.nan, "nan"), (start.inf & ~start.sign, "positive"),
                          (start.inf & start.sign, "negative"))]

        # Cycle 3: the exponent loops. Exponents only grow within an accumulation; the differences are the shifts.
        term_bits = lane_window.magnitude_bits
        term_shift = range(1 << (term_bits - 1).bit_length())
        lane_shift = range(1 << (lane_window.width - 1).bit_length())
        score_shift = range(1 << (score_window.width - 1).bit_length())

        slots = config.score_accumulators
        score_exponents = [Signal(range(score_exponent_max + 1), name=f"score_exponent_{s}", reset_less=True)
                           for s in range(slots)]
        old, grown = Signal(exponent_shape), Signal(range(score_exponent_max + 1))
        floored = max(score_window.floor, 0)
        m.d.comb += old.eq(Mux(first_3, start_exponent_3, Array(score_exponents)[slot_3]))
        lowest = Signal(range(score_exponent_max + 1))
        m.d.comb += lowest.eq(Mux(top_3 > floored, top_3, floored))
        m.d.comb += grown.eq(Mux(old > lowest, old, lowest))
        with m.If(valid_3 & ~value_3):
            m.d.sync += Array(score_exponents)[slot_3].eq(grown)
        score_grown_4 = register(grown, "score_grown_4")
        score_shift_4 = register(_clipped(m, grown - old, score_shift, "score_shift"), "score_shift_4")

        lane_exponent_max = max(2 * (io.exponent_max - 1), lane_window.floor)
        term_shifts_4, lane_shifts_4, lane_grown_4 = [], [], []
        for lane in range(lanes):
            kept = Signal(range(lane_exponent_max + 1), name=f"lane_exponent_{lane}", reset_less=True)
            before, after = (Signal(range(lane_exponent_max + 1), name=f"lane_{n}_{lane}") for n in ("before", "after"))
            m.d.comb += before.eq(Mux(first_3, lane_window.floor, kept))
            m.d.comb += after.eq(Mux(exponents_3[lane] > before, exponents_3[lane], before))
            with m.If(valid_3 & value_3):
                m.d.sync += kept.eq(after)
            base = Signal(range(max(score_exponent_max, lane_exponent_max) + 1), name=f"base_{lane}")
            m.d.comb += base.eq(Mux(value_3, after, grown))
            term_shifts_4.append(register(_clipped(m, base - exponents_3[lane], term_shift, f"term_shift_{lane}"),
                                          f"term_shift_4_{lane}"))
            lane_shifts_4.append(register(_clipped(m, after - before, lane_shift, f"lane_shift_{lane}"),
                                          f"lane_shift_4_{lane}"))
            lane_grown_4.append(register(after, f"lane_grown_4_{lane}"))
        products_4 = [register(p, f"product_4_{n}") for n, p in enumerate(products_3)]
        signs_4 = [register(s, f"sign_4_{n}") for n, s in enumerate(signs_3)]
        valid_4 = register(valid_3, "valid_4", keep=True)
        value_4, first_4, last_4 = (register(s, f"{n}_4") for s, n in
                                    ((value_3, "value"), (first_3, "first"), (last_3, "last")))

        # Cycle 4: align the products; from here on they are signed integers.
        left, right = max(lane_window.left, 0), max(-lane_window.left, 0)
        terms_5, carries_5 = [], []
        for lane in range(lanes):
            aligned = Signal(term_bits, name=f"aligned_{lane}")
            m.d.comb += aligned.eq((products_4[lane] << left >> right) >> term_shifts_4[lane])
            # A negative term is complemented; the one that is missing comes in as a carry where it is added.
            term = Signal(signed(term_bits + 1), name=f"term_{lane}")
            m.d.comb += term.eq(Cat(aligned, 0) ^ signs_4[lane].replicate(term_bits + 1))
            terms_5.append(register(term, f"term_5_{lane}"))
            carries_5.append(register(signs_4[lane], f"carry_5_{lane}"))
        valid_5 = register(valid_4, "valid_5", keep=True)
        value_5, first_5, last_5 = (register(s, f"{n}_5") for s, n in
                                    ((value_4, "value"), (first_4, "first"), (last_4, "last")))

        # Cycle 5: lane accumulators; after the last beat straight to the rounders.
        output_valid = register(register(valid_5 & value_5 & last_5, "done_6", keep=True), "done", 2, keep=True)
        m.d.comb += self.output_valid.eq(output_valid)
        m.d.comb += self.output_tag.eq(register(self.output_tag_in, "output_tag_delay", self.OUTPUT_LATENCY))
        for lane in range(lanes):
            total = Signal(signed(lane_window.width), name=f"lane_total_{lane}", reset_less=True)
            flags = [Signal(name=f"lane_{n}_{lane}", reset_less=True) for n in ("nan", "positive", "negative")]
            shift = register(lane_shifts_4[lane], f"lane_shift_5_{lane}")
            news = [register(f, f"lane_new_{n}_5_{lane}", 2) for f, n in
                    zip(lane_flags_3[lane], ("nan", "positive", "negative"), strict=True)]
            with m.If(valid_5 & value_5):
                m.d.sync += total.eq(_plus(Mux(first_5, 0, total >> shift), terms_5[lane], carries_5[lane]))
                m.d.sync += [f.eq(Mux(first_5, 0, f) | new) for f, new in zip(flags, news, strict=True)]
            rounder = Rounder(io, width=lane_window.width, exponent_max=lane_exponent_max, unit=lane_window.unit,
                              floor=lane_window.floor)
            m.submodules[f"output_rounder_{lane}"] = rounder
            m.d.comb += [
                rounder.value.eq(total),
                rounder.exponent.eq(register(lane_grown_4[lane], f"lane_grown_6_{lane}", 2)),
                rounder.nan.eq(flags[0]), rounder.positive.eq(flags[1]), rounder.negative.eq(flags[2]),
                self.output.word_select(lane, io.width).eq(rounder.bits),
            ]

        # Cycles 5 and 6: sum of the lanes. Cycle 7: scalar accumulator.
        groups = [_sum(m, terms_5[i:i + 4], carries_5[i:i + 4], f"group_{i // 4}") for i in range(0, lanes, 4)]
        sums_6 = [register(group, f"sum_6_{n}") for n, group in enumerate(groups)]
        sum_7 = register(_sum(m, sums_6, [], "beat"), "sum_7")
        valid_7 = register(valid_5 & ~value_5, "key_valid", 2, keep=True)
        first_7, last_7 = register(first_5, "key_first", 2), register(last_5, "key_last", 2)
        slot_7 = register(slot_3, "key_slot", 4)
        start_7 = register(start_3, "start", 4)
        shift_7 = register(score_shift_4, "score_shift_7", 3)
        flags_7 = [register(f, f"key_{n}", 4) for f, n in zip(any_3, ("nan", "positive", "negative"), strict=True)]
        start_flags_7 = [register(f, f"start_{n}", 4) for f, n in
                         zip(start_flags_3, ("nan", "positive", "negative"), strict=True)]
        totals = [Signal(signed(score_window.width), name=f"score_total_{s}", reset_less=True) for s in range(slots)]
        states = [[Signal(name=f"score_{n}_{s}", reset_less=True) for n in ("nan", "positive", "negative")]
                  for s in range(slots)]
        total_7 = Signal(signed(score_window.width))
        flag_7 = [Signal(name=f"score_flag_{n}") for n in range(3)]
        m.d.comb += total_7.eq((Mux(first_7, start_7, Array(totals)[slot_7]) >> shift_7) + sum_7)
        m.d.comb += [f.eq(new | Mux(first_7, begin, Array([s[n] for s in states])[slot_7]))
                     for n, (f, new, begin) in enumerate(zip(flag_7, flags_7, start_flags_7, strict=True))]
        total_8 = register(total_7, "score_total_8")
        flags_8 = [register(f, f"score_flag_8_{n}") for n, f in enumerate(flag_7)]
        with m.If(valid_7):
            m.d.sync += Array(totals)[slot_7].eq(total_7)
            m.d.sync += [Array([s[n] for s in states])[slot_7].eq(flag_7[n]) for n in range(3)]

        m.submodules.score_rounder = rounder = Rounder(
            score, width=score_window.width, exponent_max=score_exponent_max, unit=score_window.unit,
            floor=score_window.floor)
        m.d.comb += [
            rounder.value.eq(total_8),
            rounder.exponent.eq(register(score_grown_4, "score_grown_8", 4)),
            rounder.nan.eq(flags_8[0]), rounder.positive.eq(flags_8[1]), rounder.negative.eq(flags_8[2]),
            self.score.eq(rounder.bits),
            self.score_valid.eq(register(valid_7 & last_7, "score_done", 3, keep=True)),
            self.score_tag.eq(register(self.score_tag_in, "score_tag_delay", self.SCORE_LATENCY)),
        ]
        return m


def _maximum(m, values, name):
    """Largest of unsigned values, as a balanced tree."""
    level = 0
    while len(values) > 1:
        above = []
        for n in range(0, len(values) - 1, 2):
            largest = Signal(len(values[n]), name=f"{name}_{level}_{n}")
            m.d.comb += largest.eq(Mux(values[n] > values[n + 1], values[n], values[n + 1]))
            above.append(largest)
        values, level = above + values[len(values) & ~1:], level + 1
    return values[0]


def _plus(a, b, carry):
    """``a + b + carry`` of signed values with one adder."""
    return (Cat(Const(1, 1), a).as_signed() + Cat(carry, b).as_signed()) >> 1


def _product(m, a, b, name):
    """Product of two significands, from the library's compressor tree."""
    rows = compress(Pipeline(m, name=f"{name}_"), booth_products(m, a, b, name=f"{name}_booth"))
    return Cat(*add_rows(m, rows, limit=LATE, name=f"{name}_sum"))


def _sum(m, values, carries, name):
    """Sum of signed values and of single bits, from the library's compressor tree."""
    width = len(values[0]) + (len(values) - 1).bit_length()
    columns = [[(value[min(k, len(value) - 1)], 0) for value in values] for k in range(width)]
    columns[0] += [(carry, 0) for carry in carries]
    rows = compress(Pipeline(m, name=f"{name}_"), columns)
    return Cat(*add_rows(m, rows, name=f"{name}_sum")).as_signed()


def _clipped(m, value, shape, name):
    """``value`` (never negative), or the largest number of ``shape`` if it does not fit."""
    whole, out = Signal(len(value), name=f"{name}_whole"), Signal(shape, name=name)
    m.d.comb += whole.eq(value)
    m.d.comb += out.eq(Mux(whole[len(out):].any(), (1 << len(out)) - 1, whole[:len(out)]))
    return out
