"""The vector unit: multipliers for both a dot product (Q K^T) and a lane-wise multiply-accumulate (P V)."""

from typing import NamedTuple

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ...constraints.arithmetic import AlignedWindow
from ..arith import Pipeline, Rounder, unpack
from ..arith.bits import add_rows, booth_products, compress

__all__ = ["VectorUnit"]

#: Latest useful arrival for the adder behind a product's compressor tree: the adder has a stage of its own.
LATE = 40


class _Shapes(NamedTuple):
    """Sizes of exponents and shifts.

    Attributes
    ----------
    place, offset : left shift of a partial score's significand into the window; the resulting offset of its exponent
    score_exponent_max, lane_exponent_max : largest exponents of the accumulators
    exponent : shape of a score's exponent
    term_shift, lane_shift, score_shift : shapes of the shifts
    """

    place: int
    offset: int
    score_exponent_max: int
    exponent: Shape
    lane_exponent_max: int
    term_shift: range
    lane_shift: range
    score_shift: range


class _Beat(NamedTuple):
    """Strobes of a beat in one pipeline cycle."""

    valid: Signal
    value: Signal
    first: Signal
    last: Signal

    def later(self, m, cycle):
        """The same strobes one cycle later, in cycle ``cycle``."""
        return _Beat(*(_register(m, signal, f"{name}_{cycle}", keep=name == "valid")
                       for name, signal in self._asdict().items()))


class _Operands(NamedTuple):
    """Operands in cycle 2: per lane the significands, exponent and sign of the product, and its special values.

    If ``started`` is 1, an accumulation begins with ``partial``.
    """

    beat: _Beat
    slot: Signal
    a: list
    b: list
    exponents: list
    signs: list
    infs: list
    nans: list
    started: Signal
    partial: Signal


class _Products(NamedTuple):
    """Products in cycle 3: products per lane, and the largest exponent.

    The flags are NaN, infinity and minus infinity, per lane and of any lane.
    """

    beat: _Beat
    slot: Signal
    products: list
    exponents: list
    signs: list
    top: Signal
    lane_flags: list
    any_flags: list


class _Start(NamedTuple):
    """Initial value of an accumulation in cycle 3: value, exponent, and whether it is NaN or infinite."""

    value: Signal
    exponent: Signal
    flags: list


class _Shifts(NamedTuple):
    """New exponents of the accumulators in cycle 4, and shift distances of accumulators and terms."""

    score_grown: Signal
    score: Signal
    terms: list
    lanes: list
    lane_grown: list


class _Terms(NamedTuple):
    """Aligned products in cycle 5, and the carries that complete the negation of negative ones."""

    beat: _Beat
    terms: list
    carries: list


class VectorUnit(wiring.Component):
    """``lanes`` multipliers with aligned accumulation, in two modes. The mode may change in every clock.

    *Key* beats (``value`` 0): products of the query chunk and the key chunk are aligned to one exponent. They are added
    to a scalar accumulator as integers. After the ``last`` beat the score is rounded once.

    *Value* beats: every lane multiplies its element by the broadcast probability, and adds the product to its own
    accumulator. After the ``last`` beat all lanes are rounded to the input format.

    The exponent loop and the significand loop both close within one clock, two stages apart. So any beat may follow any
    other beat without a bubble, and the unit never stalls. The functional model is
    ``bankside.models.numerics.aligned_add``.

    Timing: ``score`` is valid ``SCORE_LATENCY`` cycles after the strobe of the last key beat. ``output`` is valid
    ``OUTPUT_LATENCY`` cycles after the strobe of the last value beat.

    Parameters
    ----------
    config : :class:`PamPuConfig`
    score_tag, output_tag : shape-like
        Shapes of tags that accompany the last beat of an accumulation.

    Members
    -------
    valid : ``In(1)``
        A beat. ``value``, ``first``, ``last``, ``partial``, ``slot``, tags and ``data`` belong to the same cycle.
    value : ``In(1)``
        0: key beat, 1: value beat.
    first, last : ``In(1)``
        First and last beat of an accumulation.
    partial : ``In(1)``
        With ``first``: start from ``partial_score`` instead of 0.
    slot : ``In(range(score_accumulators))``
        Scalar accumulator that a key beat adds to.
    data : ``In(lanes * width)``
        Key or value elements, lane 0 lowest.
    hold : ``In(1)``, only with several queries
        The data of the cycle before take the place of ``data``. ``slot`` of a value beat is then its query.
    query : ``In(lanes * width)``, probability : ``In(width)``, partial_score : ``In(score width)``
        The other operands, one cycle after the strobe, because they come from memories.
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
            "slot": In(range(max(config.score_accumulators * config.queries, 2))),
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
            **({"hold": In(1)} if config.queries > 1 else {}),
        })

    def elaborate(self, platform):
        m = Module()
        shape = self._shapes()
        operands = self._unpack(m)
        products = self._multiply(m, operands)
        start = self._start(m, operands, shape)
        shifts = self._exponents(m, products, start, shape)
        terms = self._align(m, products, shifts, shape)
        self._value_totals(m, products, shifts, terms, shape)
        beat = self._sum_lanes(m, terms)
        self._key_totals(m, products, start, shifts, terms, beat, shape)
        return m

    @property
    def _slots(self):
        """Numbers of the scalar accumulators."""
        return range(self._config.score_accumulators * self._config.queries)

    def _per_query(self, name):
        """A name for the register of every query."""
        queries = self._config.queries
        return [name] if queries == 1 else [f"{name}_{n}" for n in range(queries)]

    def _query_of(self, slot):
        """The query of a value beat."""
        return slot[:(self._config.queries - 1).bit_length()] if self._config.queries > 1 else 0

    def _shapes(self):
        """Sizes of exponents, and of the resulting shifts."""
        io, score = self._config.io, self._config.score
        lane_window, score_window = self._lane_window, self._score_window
        # The leading bit of a partial score is at the place of a product's leading bit.
        place = score_window.magnitude_bits - score.precision
        offset = -score.bias - score.fraction_bits - place - score_window.unit
        score_exponent_max = max(2 * (io.exponent_max - 1), score.exponent_max - 1 + offset)
        return _Shapes(
            place=place, offset=offset, score_exponent_max=score_exponent_max,
            exponent=signed(bits_for(max(score_exponent_max, -offset)) + 2),
            lane_exponent_max=max(2 * (io.exponent_max - 1), lane_window.floor),
            term_shift=range(1 << (lane_window.magnitude_bits - 1).bit_length()),
            lane_shift=range(1 << (lane_window.width - 1).bit_length()),
            score_shift=range(1 << (score_window.width - 1).bit_length()))

    def _unpack(self, m):
        """Cycle 1: operands.

        A product is dead if a factor is zero, infinite or NaN. A dead product has significand and exponent 0, so it
        adds nothing and does not set the alignment.
        """
        io, lanes = self._config.io, self._config.lanes
        beat = _Beat(
            valid=_register(m, self.valid, "valid_1", keep=True),
            **{n: _register(m, s, f"{n}_1") for s, n in
               ((self.value, "value"), (self.first, "first"), (self.last, "last"))})
        partial_1, slot_1 = _register(m, self.partial, "partial_1"), _register(m, self.slot, "slot_1")
        if self._config.queries > 1:
            data_1 = Signal(lanes * io.width, reset_less=True)
            with m.If(~self.hold):
                m.d.sync += data_1.eq(self.data)
        else:
            data_1 = _register(m, self.data, "data_1")

        exponent_bits = io.exponent_bits + 1
        a_2, b_2, exponents_2, signs_2, infs_2, nans_2 = [], [], [], [], [], []
        p_operand = unpack(m, self.probability, io, "probability")
        for lane in range(lanes):
            q = unpack(m, self.query.word_select(lane, io.width), io, f"query_{lane}")
            x = unpack(m, data_1.word_select(lane, io.width), io, f"data_{lane}")

            def pick(field, q=q):
                return Mux(beat.value, getattr(p_operand, field), getattr(q, field))

            nan, inf, dead = (Signal(name=f"{n}_{lane}") for n in ("nan", "inf", "dead"))
            zero, a_inf, a_nan = pick("zero"), pick("inf"), pick("nan")
            m.d.comb += [
                nan.eq(a_nan | x.nan | (a_inf & x.zero) | (x.inf & zero)),
                inf.eq((a_inf | x.inf) & ~nan),
                dead.eq(zero | x.zero | a_inf | x.inf | a_nan | x.nan),
            ]
            exponent = Signal(exponent_bits, name=f"exponent_{lane}")
            m.d.comb += exponent.eq(Mux(dead, 0, pick("exponent") + x.exponent))
            a_2.append(_register(m, Mux(dead, 0, pick("significand")), f"a_2_{lane}"))
            b_2.append(_register(m, x.significand, f"b_2_{lane}"))
            exponents_2.append(_register(m, exponent, f"exponent_2_{lane}"))
            signs_2.append(_register(m, pick("sign") ^ x.sign, f"sign_2_{lane}"))
            infs_2.append(_register(m, inf, f"inf_2_{lane}"))
            nans_2.append(_register(m, nan, f"nan_2_{lane}"))
        after = beat.later(m, 2)
        slot_2 = _register(m, slot_1, "slot_2")
        started_2 = _register(m, partial_1 & beat.first, "started_2")
        partial_2 = _register(m, self.partial_score, "partial_score_2")
        return _Operands(after, slot_2, a_2, b_2, exponents_2, signs_2, infs_2, nans_2, started_2, partial_2)

    def _multiply(self, m, operands):
        """Cycle 2: products, and the largest exponent of all lanes."""
        beat, slot_2, a_2, b_2, exponents_2, signs_2, infs_2, nans_2, _, _ = operands
        products_3 = [_register(m, _product(m, a, b, f"product_{n}"), f"product_3_{n}")
                      for n, (a, b) in enumerate(zip(a_2, b_2, strict=True))]
        exponents_3 = [_register(m, e, f"exponent_3_{n}") for n, e in enumerate(exponents_2)]
        signs_3 = [_register(m, s, f"sign_3_{n}") for n, s in enumerate(signs_2)]
        top_3 = _register(m, _maximum(m, exponents_2, "top"), "top_3")
        lane_flags_3 = [[_register(m, f, f"{n}_3_{lane}") for f, n in
                         ((nans_2[lane], "nan"), (infs_2[lane] & ~signs_2[lane], "positive"),
                          (infs_2[lane] & signs_2[lane], "negative"))] for lane in range(len(a_2))]
        any_3 = [_register(m, Cat(*fs).any(), f"any_{n}_3") for n, fs in (
            ("nan", nans_2),
            ("positive", [i & ~s for i, s in zip(infs_2, signs_2, strict=True)]),
            ("negative", [i & s for i, s in zip(infs_2, signs_2, strict=True)]))]
        after = beat.later(m, 3)
        slot_3 = _register(m, slot_2, "slot_3")
        return _Products(after, slot_3, products_3, exponents_3, signs_3, top_3, lane_flags_3, any_3)

    def _start(self, m, operands, shape):
        """Cycle 2: initial value of an accumulation: a partial score or 0."""
        place, offset = shape.place, shape.offset
        start = unpack(m, operands.partial, self._config.score, "start")
        start_special = start.inf | start.nan
        start_size = self._score_window.magnitude_bits
        start_magnitude = Signal(start_size)
        m.d.comb += start_magnitude.eq((start.significand << max(place, 0)) >> max(-place, 0))
        use = Signal()
        m.d.comb += use.eq(operands.started & ~start_special)
        complement = Cat(start_magnitude, 0).as_signed() ^ start.sign.replicate(start_size + 1).as_signed()
        start_3 = _register(m, Mux(use, _plus(Const(0, 1).as_signed(), complement, start.sign), 0), "start_3")
        start_exponent = Signal(shape.exponent)
        m.d.comb += start_exponent.eq(Mux(use, start.exponent + offset, self._score_window.floor))
        start_exponent_3 = _register(m, start_exponent, "start_exponent_3")
        start_flags_3 = [_register(m, operands.started & f, f"start_{n}_3") for f, n in
                         ((start.nan, "nan"), (start.inf & ~start.sign, "positive"),
                          (start.inf & start.sign, "negative"))]
        return _Start(start_3, start_exponent_3, start_flags_3)

    def _exponents(self, m, products, start, shape):
        """Cycle 3: the exponent loops. Exponents only grow within an accumulation. Their differences are the shifts."""
        beat, most = products.beat, shape.score_exponent_max
        grown, score_grown_4, score_shift_4 = self._score_exponent(m, products, start, shape)
        floor, lane_most = self._lane_window.floor, shape.lane_exponent_max
        query = self._query_of(products.slot)
        term_shifts_4, lane_shifts_4, lane_grown_4 = [], [], []
        for lane, exponent in enumerate(products.exponents):
            kept = _chosen([Signal(range(lane_most + 1), name=name, reset_less=True)
                            for name in self._per_query(f"lane_exponent_{lane}")], query)
            before, after = (Signal(range(lane_most + 1), name=f"lane_{n}_{lane}") for n in ("before", "after"))
            m.d.comb += before.eq(Mux(beat.first, floor, kept))
            m.d.comb += after.eq(Mux(exponent > before, exponent, before))
            with m.If(beat.valid & beat.value):
                m.d.sync += kept.eq(after)
            base = Signal(range(max(most, lane_most) + 1), name=f"base_{lane}")
            m.d.comb += base.eq(Mux(beat.value, after, grown))
            term_shifts_4.append(_register(m, _clipped(m, base - exponent, shape.term_shift, f"term_shift_{lane}"),
                                           f"term_shift_4_{lane}"))
            lane_shifts_4.append(_register(m, _clipped(m, after - before, shape.lane_shift, f"lane_shift_{lane}"),
                                           f"lane_shift_4_{lane}"))
            lane_grown_4.append(_register(m, after, f"lane_grown_4_{lane}"))
        return _Shifts(score_grown_4, score_shift_4, term_shifts_4, lane_shifts_4, lane_grown_4)

    def _score_exponent(self, m, products, start, shape):
        """Exponent of the scalar accumulator, this beat included.

        Returns the exponent, then the exponent and the shift one cycle later.
        """
        floor, most = self._score_window.floor, shape.score_exponent_max
        beat, slot, top = products.beat, products.slot, products.top
        score_exponents = [Signal(range(most + 1), name=f"score_exponent_{s}", reset_less=True)
                           for s in self._slots]
        old, grown = Signal(shape.exponent), Signal(range(most + 1))
        floored = max(floor, 0)
        m.d.comb += old.eq(Mux(beat.first, start.exponent, Array(score_exponents)[slot]))
        lowest = Signal(range(most + 1))
        m.d.comb += lowest.eq(Mux(top > floored, top, floored))
        m.d.comb += grown.eq(Mux(old > lowest, old, lowest))
        with m.If(beat.valid & ~beat.value):
            m.d.sync += Array(score_exponents)[slot].eq(grown)
        score_grown_4 = _register(m, grown, "score_grown_4")
        score_shift_4 = _register(m, _clipped(m, grown - old, shape.score_shift, "score_shift"), "score_shift_4")
        return grown, score_grown_4, score_shift_4

    def _align(self, m, products, shifts, shape):
        """Cycle 4: align the products. From here on they are signed integers."""
        products_4 = [_register(m, p, f"product_4_{n}") for n, p in enumerate(products.products)]
        signs_4 = [_register(m, s, f"sign_4_{n}") for n, s in enumerate(products.signs)]
        beat = products.beat.later(m, 4)
        term_bits = self._lane_window.magnitude_bits
        left, right = max(self._lane_window.left, 0), max(-self._lane_window.left, 0)
        terms_5, carries_5 = [], []
        for lane, product in enumerate(products_4):
            aligned = Signal(term_bits, name=f"aligned_{lane}")
            m.d.comb += aligned.eq((product << left >> right) >> shifts.terms[lane])
            # A negative term is complemented. The missing one enters as a carry where the term is added.
            term = Signal(signed(term_bits + 1), name=f"term_{lane}")
            m.d.comb += term.eq(Cat(aligned, 0) ^ signs_4[lane].replicate(term_bits + 1))
            terms_5.append(_register(m, term, f"term_5_{lane}"))
            carries_5.append(_register(m, signs_4[lane], f"carry_5_{lane}"))
        return _Terms(beat.later(m, 5), terms_5, carries_5)

    def _value_totals(self, m, products, shifts, terms, shape):
        """Cycle 5: lane accumulators. After the last beat their values go straight to the rounders."""
        io, beat, window = self._config.io, terms.beat, self._lane_window
        output_valid = _register(m, _register(m, beat.valid & beat.value & beat.last, "done_6", keep=True), "done", 2,
                                 keep=True)
        m.d.comb += self.output_valid.eq(output_valid)
        m.d.comb += self.output_tag.eq(_register(m, self.output_tag_in, "output_tag_delay", self.OUTPUT_LATENCY))
        several = self._config.queries > 1
        names = ("nan", "positive", "negative")
        if several:
            olds, news_5, lasts = self._kept_totals(m, products, beat)
        for lane in range(self._config.lanes):
            if several:
                total, flags = olds[lane][:window.width].as_signed(), list(olds[lane][window.width:])
            else:
                total = Signal(signed(window.width), name=f"lane_total_{lane}", reset_less=True)
                flags = [Signal(name=f"lane_{n}_{lane}", reset_less=True) for n in names]
            shift = _register(m, shifts.lanes[lane], f"lane_shift_5_{lane}")
            news = [_register(m, f, f"lane_new_{n}_5_{lane}", 2) for f, n in
                    zip(products.lane_flags[lane], names, strict=True)]
            grown = _plus(Mux(beat.first, 0, total >> shift), terms.terms[lane], terms.carries[lane])
            marked = [Mux(beat.first, 0, f) | new for f, new in zip(flags, news, strict=True)]
            if several:
                m.d.comb += news_5[lane].eq(Cat(grown[:window.width], *marked))
                total, flags = lasts[lane][:window.width].as_signed(), list(lasts[lane][window.width:])
            else:
                with m.If(beat.valid & beat.value):
                    m.d.sync += total.eq(grown)
                    m.d.sync += [f.eq(new) for f, new in zip(flags, marked, strict=True)]
            rounder = Rounder(io, width=window.width, exponent_max=shape.lane_exponent_max, unit=window.unit,
                              floor=window.floor)
            m.submodules[f"output_rounder_{lane}"] = rounder
            m.d.comb += [
                rounder.value.eq(total),
                rounder.exponent.eq(_register(m, shifts.lane_grown[lane], f"lane_grown_6_{lane}", 2)),
                rounder.nan.eq(flags[0]), rounder.positive.eq(flags[1]), rounder.negative.eq(flags[2]),
                self.output.word_select(lane, io.width).eq(rounder.bits),
            ]

    def _kept_totals(self, m, products, beat):
        """Lane accumulators of all queries: a memory with a row for each query.

        A row is read in cycle 3 and written in cycle 5. A beat that follows a beat of its query by one or two cycles
        gets the value on its way there instead. A row that is read and written in the same cycle is such a case. The
        behaviour of a macro does not matter then.

        Returns three values per lane, each with its three flags. The first is the accumulator before the beat, in cycle 5.
        The second is the accumulator after it, to be assigned. The third is the same in cycle 6.
        """
        lanes, size = range(self._config.lanes), self._lane_window.width + 3
        m.submodules.lane_totals = memory = Memory(shape=len(lanes) * size, depth=self._config.queries, init=[])
        write, read = memory.write_port(), memory.read_port()
        queries, strobes = [self._query_of(products.slot)], [products.beat.valid & products.beat.value]
        for cycle in (4, 5):
            queries.append(_register(m, queries[-1], f"value_query_{cycle}"))
            strobes.append(_register(m, strobes[-1], f"value_valid_{cycle}", keep=True))
        news = [Signal(size, name=f"lane_total_5_{lane}") for lane in lanes]
        new_6 = _register(m, Cat(*news), "lane_totals_6")
        old = read.data
        for n, value in ((2, new_6), (1, Cat(*news))):
            near = _register(m, strobes[n] & (queries[n] == queries[0]), f"lane_near_{n}")
            old = Mux(near, value, old)
        old_5 = _register(m, old, "lane_totals_old")
        m.d.comb += [
            read.en.eq(strobes[0]), read.addr.eq(queries[0]),
            write.en.eq(strobes[2]), write.addr.eq(queries[2]), write.data.eq(Cat(*news)),
        ]
        return [old_5.word_select(lane, size) for lane in lanes], news, [new_6.word_select(lane, size) for lane in lanes]

    def _sum_lanes(self, m, terms):
        """Cycles 5 and 6: sum of the lanes."""
        groups = [_sum(m, terms.terms[i:i + 4], terms.carries[i:i + 4], f"group_{i // 4}")
                  for i in range(0, self._config.lanes, 4)]
        sums_6 = [_register(m, group, f"sum_6_{n}") for n, group in enumerate(groups)]
        return _register(m, _sum(m, sums_6, [], "beat"), "sum_7")

    def _key_totals(self, m, products, start, shifts, terms, sum_7, shape):
        """Cycle 7: scalar accumulators. After the last beat the value goes to the rounder."""
        score, window, beat = self._config.score, self._score_window, terms.beat
        slots, names = self._slots, ("nan", "positive", "negative")
        valid_7 = _register(m, beat.valid & ~beat.value, "key_valid", 2, keep=True)
        first_7, last_7 = _register(m, beat.first, "key_first", 2), _register(m, beat.last, "key_last", 2)
        slot_7 = _register(m, products.slot, "key_slot", 4)
        start_7 = _register(m, start.value, "start", 4)
        shift_7 = _register(m, shifts.score, "score_shift_7", 3)
        flags_7 = [_register(m, f, f"key_{n}", 4) for f, n in zip(products.any_flags, names, strict=True)]
        start_flags_7 = [_register(m, f, f"start_{n}", 4) for f, n in zip(start.flags, names, strict=True)]
        totals = [Signal(signed(window.width), name=f"score_total_{s}", reset_less=True) for s in slots]
        states = [[Signal(name=f"score_{n}_{s}", reset_less=True) for n in names] for s in slots]
        total_7 = Signal(signed(window.width))
        flag_7 = [Signal(name=f"score_flag_{n}") for n in range(3)]
        m.d.comb += total_7.eq((Mux(first_7, start_7, Array(totals)[slot_7]) >> shift_7) + sum_7)
        m.d.comb += [f.eq(new | Mux(first_7, begin, Array([s[n] for s in states])[slot_7]))
                     for n, (f, new, begin) in enumerate(zip(flag_7, flags_7, start_flags_7, strict=True))]
        total_8 = _register(m, total_7, "score_total_8")
        flags_8 = [_register(m, f, f"score_flag_8_{n}") for n, f in enumerate(flag_7)]
        with m.If(valid_7):
            m.d.sync += Array(totals)[slot_7].eq(total_7)
            m.d.sync += [Array([s[n] for s in states])[slot_7].eq(flag_7[n]) for n in range(3)]

        m.submodules.score_rounder = rounder = Rounder(
            score, width=window.width, exponent_max=shape.score_exponent_max, unit=window.unit, floor=window.floor)
        m.d.comb += [
            rounder.value.eq(total_8),
            rounder.exponent.eq(_register(m, shifts.score_grown, "score_grown_8", 4)),
            rounder.nan.eq(flags_8[0]), rounder.positive.eq(flags_8[1]), rounder.negative.eq(flags_8[2]),
            self.score.eq(rounder.bits),
            self.score_valid.eq(_register(m, valid_7 & last_7, "score_done", 3, keep=True)),
            self.score_tag.eq(_register(m, self.score_tag_in, "score_tag_delay", self.SCORE_LATENCY)),
        ]


def _register(m, value, name, cycles=1, keep=False):
    """``value`` delayed by some cycles. Registers of data have no reset, registers of strobes do (``keep``)."""
    for cycle in range(cycles):
        r = Signal(value.shape(), name=f"{name}_{cycle + 1}" if cycles > 1 else name, reset_less=not keep)
        m.d.sync += r.eq(value)
        value = r
    return value


def _chosen(values, index):
    """One of several registers, to read and to assign."""
    return values[0] if len(values) == 1 else Array(values)[index]


def _maximum(m, values, name):
    """Largest of several unsigned values, with a balanced tree."""
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
