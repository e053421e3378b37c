"""The vector unit: multipliers for both a dot product (Q K^T) and a lane-wise multiply-accumulate (P V)."""

from typing import Any, NamedTuple

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ...constraints.arith.geometry import AlignedWindow
from ..arith import Pipeline, Rounder, unpack
from ..arith.bits import add_rows, compress
from ..arith.lanes import LaneAccumulator, clipped, plus, product, register

__all__ = ["VectorUnit"]


class _Shapes(NamedTuple):
    """Sizes of exponents and shifts.

    Attributes
    ----------
    place, offset : left shift of a partial score's significand into the window; the resulting offset of its exponent
    score_exponent_max : largest exponent of the scalar accumulators
    exponent : shape of a score's exponent
    score_shift : shape of the shift of a scalar accumulator
    """

    place: int
    offset: int
    score_exponent_max: int
    exponent: Shape
    score_shift: range


class _Beat(NamedTuple):
    """Strobes of a beat in one pipeline cycle."""

    valid: Signal
    value: Signal
    first: Signal
    last: Signal

    def later(self, m, cycle):
        """The same strobes one cycle later, in cycle ``cycle``."""
        return _Beat(
            *(register(m, signal, f"{name}_{cycle}", keep=name == "valid") for name, signal in self._asdict().items())
        )


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
        self._score_window = AlignedWindow(
            io, config.acc.precision, config.guard_bits, config.max_head_dim + 1, config.score
        )
        self._lane = LaneAccumulator(io, self._lane_window)
        super().__init__(
            {
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
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape = self._shapes()
        operands = self._unpack(m)
        products = self._multiply(m, operands)
        start = self._start(m, operands, shape)
        shifts = self._exponents(m, products, start, shape)
        terms = self._align(m, products, shifts)
        self._value_totals(m, products, shifts, terms)
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
        return slot[: (self._config.queries - 1).bit_length()] if self._config.queries > 1 else 0

    def _shapes(self):
        """Sizes of exponents, and of the resulting shifts."""
        io, score = self._config.io, self._config.score
        score_window = self._score_window
        # The leading bit of a partial score is at the place of a product's leading bit.
        place = score_window.magnitude_bits - score.precision
        offset = -score.bias - score.fraction_bits - place - score_window.unit
        score_exponent_max = max(2 * (io.exponent_max - 1), score.exponent_max - 1 + offset)
        return _Shapes(
            place=place,
            offset=offset,
            score_exponent_max=score_exponent_max,
            exponent=signed(bits_for(max(score_exponent_max, -offset)) + 2),
            score_shift=range(1 << (score_window.width - 1).bit_length()),
        )

    def _unpack(self, m):
        """Cycle 1: operands."""
        io, lanes = self._config.io, self._config.lanes
        beat = _Beat(
            valid=register(m, self.valid, "valid_1", keep=True),
            **{
                n: register(m, s, f"{n}_1")
                for s, n in ((self.value, "value"), (self.first, "first"), (self.last, "last"))
            },
        )
        partial_1, slot_1 = register(m, self.partial, "partial_1"), register(m, self.slot, "slot_1")
        if self._config.queries > 1:
            data_1 = Signal(lanes * io.width, reset_less=True)
            with m.If(~self.hold):
                m.d.sync += data_1.eq(self.data)
        else:
            data_1 = register(m, self.data, "data_1")

        a_2, b_2, exponents_2, signs_2, infs_2, nans_2 = (list[Any]() for _ in range(6))
        p_operand = unpack(m, self.probability, io, "probability")
        for lane in range(lanes):
            q = unpack(m, self.query.word_select(lane, io.width), io, f"query_{lane}")
            x = unpack(m, data_1.word_select(lane, io.width), io, f"data_{lane}")

            def pick(field, q=q):
                return Mux(beat.value, getattr(p_operand, field), getattr(q, field))

            found = self._lane.operands(m, lane, pick, x)
            for values, value in zip((a_2, b_2, exponents_2, signs_2, infs_2, nans_2), found, strict=True):
                values.append(value)
        after = beat.later(m, 2)
        slot_2 = register(m, slot_1, "slot_2")
        started_2 = register(m, partial_1 & beat.first, "started_2")
        partial_2 = register(m, self.partial_score, "partial_score_2")
        return _Operands(after, slot_2, a_2, b_2, exponents_2, signs_2, infs_2, nans_2, started_2, partial_2)

    def _multiply(self, m, operands):
        """Cycle 2: products, and the largest exponent of all lanes."""
        beat, slot_2, a_2, b_2, exponents_2, signs_2, infs_2, nans_2, _, _ = operands
        products_3 = [
            register(m, product(m, a, b, f"product_{n}"), f"product_3_{n}")
            for n, (a, b) in enumerate(zip(a_2, b_2, strict=True))
        ]
        exponents_3 = [register(m, e, f"exponent_3_{n}") for n, e in enumerate(exponents_2)]
        signs_3 = [register(m, s, f"sign_3_{n}") for n, s in enumerate(signs_2)]
        top_3 = register(m, _maximum(m, exponents_2, "top"), "top_3")
        lane_flags_3 = [
            self._lane.flags(m, lane, *of) for lane, of in enumerate(zip(nans_2, infs_2, signs_2, strict=True))
        ]
        any_3 = [
            register(m, Cat(*fs).any(), f"any_{n}_3")
            for n, fs in (
                ("nan", nans_2),
                ("positive", [i & ~s for i, s in zip(infs_2, signs_2, strict=True)]),
                ("negative", [i & s for i, s in zip(infs_2, signs_2, strict=True)]),
            )
        ]
        after = beat.later(m, 3)
        slot_3 = register(m, slot_2, "slot_3")
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
        start_3 = register(m, Mux(use, plus(Const(0, 1).as_signed(), complement, start.sign), 0), "start_3")
        start_exponent = Signal(shape.exponent)
        m.d.comb += start_exponent.eq(Mux(use, start.exponent + offset, self._score_window.floor))
        start_exponent_3 = register(m, start_exponent, "start_exponent_3")
        start_flags_3 = [
            register(m, operands.started & f, f"start_{n}_3")
            for f, n in (
                (start.nan, "nan"),
                (start.inf & ~start.sign, "positive"),
                (start.inf & start.sign, "negative"),
            )
        ]
        return _Start(start_3, start_exponent_3, start_flags_3)

    def _exponents(self, m, products, start, shape):
        """Cycle 3: the exponent loops. Exponents only grow within an accumulation. Their differences are the shifts."""
        beat, most = products.beat, shape.score_exponent_max
        grown, score_grown_4, score_shift_4 = self._score_exponent(m, products, start, shape)
        lane_most = self._lane.exponent_max
        query = self._query_of(products.slot)
        term_shifts_4, lane_shifts_4, lane_grown_4 = (list[Any]() for _ in range(3))
        for lane, exponent in enumerate(products.exponents):
            kept = _chosen(
                [
                    Signal(range(lane_most + 1), name=name, reset_less=True)
                    for name in self._per_query(f"lane_exponent_{lane}")
                ],
                query,
            )
            before, after = self._lane.grown(m, lane, exponent, kept, beat.first, beat.valid & beat.value)
            base = Signal(range(max(most, lane_most) + 1), name=f"base_{lane}")
            m.d.comb += base.eq(Mux(beat.value, after, grown))
            found = self._lane.shifts(m, lane, exponent, base, before, after)
            for values, value in zip((term_shifts_4, lane_shifts_4, lane_grown_4), found, strict=True):
                values.append(value)
        return _Shifts(score_grown_4, score_shift_4, term_shifts_4, lane_shifts_4, lane_grown_4)

    def _score_exponent(self, m, products, start, shape):
        """Exponent of the scalar accumulator, this beat included.

        Returns the exponent, then the exponent and the shift one cycle later.
        """
        floor, most = self._score_window.floor, shape.score_exponent_max
        beat, slot, top = products.beat, products.slot, products.top
        score_exponents = [Signal(range(most + 1), name=f"score_exponent_{s}", reset_less=True) for s in self._slots]
        old, grown = Signal(shape.exponent), Signal(range(most + 1))
        floored = max(floor, 0)
        m.d.comb += old.eq(Mux(beat.first, start.exponent, Array(score_exponents)[slot]))
        lowest = Signal(range(most + 1))
        m.d.comb += lowest.eq(Mux(top > floored, top, floored))
        m.d.comb += grown.eq(Mux(old > lowest, old, lowest))
        with m.If(beat.valid & ~beat.value):
            m.d.sync += Array(score_exponents)[slot].eq(grown)
        score_grown_4 = register(m, grown, "score_grown_4")
        score_shift_4 = register(m, clipped(m, grown - old, shape.score_shift, "score_shift"), "score_shift_4")
        return grown, score_grown_4, score_shift_4

    def _align(self, m, products, shifts):
        """Cycle 4: align the products. From here on they are signed integers."""
        products_4 = [register(m, p, f"product_4_{n}") for n, p in enumerate(products.products)]
        signs_4 = [register(m, s, f"sign_4_{n}") for n, s in enumerate(products.signs)]
        beat = products.beat.later(m, 4)
        terms_5, carries_5 = [], []
        for lane, factors in enumerate(products_4):
            term, carry = self._lane.term(m, lane, factors, shifts.terms[lane], signs_4[lane])
            terms_5.append(term)
            carries_5.append(carry)
        return _Terms(beat.later(m, 5), terms_5, carries_5)

    def _value_totals(self, m, products, shifts, terms):
        """Cycle 5: lane accumulators. After the last beat their values go straight to the rounders."""
        io, beat, window = self._config.io, terms.beat, self._lane_window
        output_valid = register(
            m, register(m, beat.valid & beat.value & beat.last, "done_6", keep=True), "done", 2, keep=True
        )
        m.d.comb += self.output_valid.eq(output_valid)
        m.d.comb += self.output_tag.eq(register(m, self.output_tag_in, "output_tag_delay", self.OUTPUT_LATENCY))
        several = self._config.queries > 1
        if several:
            olds, news_5, lasts = self._kept_totals(m, products, beat)
        for lane in range(self._config.lanes):
            if several:
                total, flags = olds[lane][: window.width].as_signed(), list(olds[lane][window.width :])
            else:
                total, flags = self._lane.state(lane)
            grown, marked = self._lane.sum(
                m,
                lane,
                beat.first,
                total,
                flags,
                shifts.lanes[lane],
                products.lane_flags[lane],
                terms.terms[lane],
                terms.carries[lane],
            )
            if several:
                m.d.comb += news_5[lane].eq(Cat(grown[: window.width], *marked))
                total, flags = lasts[lane][: window.width].as_signed(), list(lasts[lane][window.width :])
            else:
                with m.If(beat.valid & beat.value):
                    m.d.sync += total.eq(grown)
                    m.d.sync += [f.eq(new) for f, new in zip(flags, marked, strict=True)]
            bits = self._lane.rounded(m, lane, total, flags, shifts.lane_grown[lane])
            m.d.comb += self.output.word_select(lane, io.width).eq(bits)

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
            queries.append(register(m, queries[-1], f"value_query_{cycle}"))
            strobes.append(register(m, strobes[-1], f"value_valid_{cycle}", keep=True))
        news = [Signal(size, name=f"lane_total_5_{lane}") for lane in lanes]
        new_6 = register(m, Cat(*news), "lane_totals_6")
        old = read.data
        for n, value in ((2, new_6), (1, Cat(*news))):
            near = register(m, strobes[n] & (queries[n] == queries[0]), f"lane_near_{n}")
            old = Mux(near, value, old)
        old_5 = register(m, old, "lane_totals_old")
        m.d.comb += [
            read.en.eq(strobes[0]),
            read.addr.eq(queries[0]),
            write.en.eq(strobes[2]),
            write.addr.eq(queries[2]),
            write.data.eq(Cat(*news)),
        ]
        return (
            [old_5.word_select(lane, size) for lane in lanes],
            news,
            [new_6.word_select(lane, size) for lane in lanes],
        )

    def _sum_lanes(self, m, terms):
        """Cycles 5 and 6: sum of the lanes."""
        groups = [
            _sum(m, terms.terms[i : i + 4], terms.carries[i : i + 4], f"group_{i // 4}")
            for i in range(0, self._config.lanes, 4)
        ]
        sums_6 = [register(m, group, f"sum_6_{n}") for n, group in enumerate(groups)]
        return register(m, _sum(m, sums_6, [], "beat"), "sum_7")

    def _key_totals(self, m, products, start, shifts, terms, sum_7, shape):
        """Cycle 7: scalar accumulators. After the last beat the value goes to the rounder."""
        score, window, beat = self._config.score, self._score_window, terms.beat
        slots, names = self._slots, ("nan", "positive", "negative")
        valid_7 = register(m, beat.valid & ~beat.value, "key_valid", 2, keep=True)
        first_7, last_7 = register(m, beat.first, "key_first", 2), register(m, beat.last, "key_last", 2)
        slot_7 = register(m, products.slot, "key_slot", 4)
        start_7 = register(m, start.value, "start", 4)
        shift_7 = register(m, shifts.score, "score_shift_7", 3)
        flags_7 = [register(m, f, f"key_{n}", 4) for f, n in zip(products.any_flags, names, strict=True)]
        start_flags_7 = [register(m, f, f"start_{n}", 4) for f, n in zip(start.flags, names, strict=True)]
        totals = [Signal(signed(window.width), name=f"score_total_{s}", reset_less=True) for s in slots]
        states = [[Signal(name=f"score_{n}_{s}", reset_less=True) for n in names] for s in slots]
        total_7 = Signal(signed(window.width))
        flag_7 = [Signal(name=f"score_flag_{n}") for n in range(3)]
        m.d.comb += total_7.eq((Mux(first_7, start_7, Array(totals)[slot_7]) >> shift_7) + sum_7)
        m.d.comb += [
            f.eq(new | Mux(first_7, begin, Array([s[n] for s in states])[slot_7]))
            for n, (f, new, begin) in enumerate(zip(flag_7, flags_7, start_flags_7, strict=True))
        ]
        total_8 = register(m, total_7, "score_total_8")
        flags_8 = [register(m, f, f"score_flag_8_{n}") for n, f in enumerate(flag_7)]
        with m.If(valid_7):
            m.d.sync += Array(totals)[slot_7].eq(total_7)
            m.d.sync += [Array([s[n] for s in states])[slot_7].eq(flag_7[n]) for n in range(3)]

        m.submodules.score_rounder = rounder = Rounder(
            score, width=window.width, exponent_max=shape.score_exponent_max, unit=window.unit, floor=window.floor
        )
        m.d.comb += [
            rounder.value.eq(total_8),
            rounder.exponent.eq(register(m, shifts.score_grown, "score_grown_8", 4)),
            rounder.nan.eq(flags_8[0]),
            rounder.positive.eq(flags_8[1]),
            rounder.negative.eq(flags_8[2]),
            self.score.eq(rounder.bits),
            self.score_valid.eq(register(m, valid_7 & last_7, "score_done", 3, keep=True)),
            self.score_tag.eq(register(m, self.score_tag_in, "score_tag_delay", self.SCORE_LATENCY)),
        ]


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
        values, level = above + values[len(values) & ~1 :], level + 1
    return values[0]


def _sum(m, values, carries, name):
    """Sum of signed values and of single bits, from the library's compressor tree."""
    width = len(values[0]) + (len(values) - 1).bit_length()
    columns = [[(value[min(k, len(value) - 1)], 0) for value in values] for k in range(width)]
    columns[0] += [(carry, 0) for carry in carries]
    rows = compress(Pipeline(m, name=f"{name}_"), columns)
    return Cat(*add_rows(m, rows, name=f"{name}_sum")).as_signed()
