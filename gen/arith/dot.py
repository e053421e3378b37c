# amaranth: UnusedElaboratable=no
"""Fused dot products: exact products, aligned to the largest product, added as integers and rounded once.

``docs/numerics.md`` defines their results. The functional models are in ``bankside.models.numerics``.
"""

import operator as operators
from typing import Any

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ...constraints.arith.geometry import dot_window
from ...constraints.core.formats import FP32
from ..blocks.stream import StreamFIFO
from .aligned import leading_zeros
from .bits import add_rows, compress, product_columns
from .float_shape import FloatLayout, FloatShape
from .multiply import BOOTH_PRECISION
from .pipeline import Pipeline, operator, partition
from .vector import numbers, pair

__all__ = ["DotAccumulator", "DotRegisters", "dot"]

#: Gate delays of the accumulation: shift, full adder, carry-propagate adder.
SUM_LEVELS = 28
#: Gate delays between two cuts inside a compressor tree: two full adders.
STEP = 8
#: Columns of one block of a wide adder.
BLOCK = 64
#: A time limit that is never too early: adders become as small as possible.
LATE = 40


@operator
def dot(p, a, b, acc=None, *, fmt, result=FP32, window=None, flush_to_zero=False):
    """Fused dot product ``a[0] * b[0] + ... + a[n-1] * b[n-1] + acc``, rounded once, to nearest even.

    Products are exact. Every term (the products and ``acc``) is aligned to the largest term. Its magnitude is cut
    towards zero where it leaves the window. The terms are added as integers. So the result does not depend on the order
    of the lanes, and negating every term negates it. With ``window="exact"`` nothing is cut: the result is the
    correctly rounded sum. With n = 1 this is a fused multiply-add.

    The result is the canonical NaN for a NaN in any operand, for zero times infinity, and for infinities of both signs
    among the terms. A sum of 0 is +0, or -0 if every term is negative (with nothing cut: if every term is -0).

    Parameters
    ----------
    p : :class:`Pipeline`, or a module
    a, b : list of n values of ``fmt.width`` bits each, or all in one value, lane 0 lowest
        n is 1 or more.
    acc : ``result.width`` bits, or None
    fmt, result : :class:`FloatFormat`
        Format of the factors; format of ``acc`` and the result.
    window : int, None or ``"exact"``
        Bits kept of the largest term, counted from the highest possible place of a product's leading bit. None: the
        precision of ``result`` plus three.
    flush_to_zero : bool
        Subnormal operands count as zero. A sum below the normal range before rounding becomes a zero of its sign.

    Returns
    -------
    Value, ``result.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If a format is not a :class:`FloatFormat`.
    :exc:`ValueError`
        If operands differ in number or have the wrong width, or the window is less than two bits.
    """
    a, b = pair(a, b, fmt, fmt)
    geometry = dot_window(fmt, result, len(a), window, addend=acc is not None)
    lanes = _factors(p, a, b, fmt, flush_to_zero)
    addend = None
    if acc is not None:
        addend = p.part("acc")
        _unpack(addend, *numbers([acc], result, "Addend"), result, flush_to_zero)
    _flags(p, lanes, addend)
    if geometry.exact:
        _multiply(p, lanes, lanes)
        columns = _fixed_terms(p, lanes, addend, geometry)
    else:
        _multiply(p, lanes, lanes if addend is None else [*lanes, addend], lambda p: _top(p, lanes, addend, geometry))
        columns = _aligned_terms(p, lanes, addend, geometry)
    p.value = _sum(p, columns, "sum")
    p.cut(12)
    return _rounded(p, geometry, flush_to_zero)


class _Accumulation(wiring.Component):
    """Base of units that accumulate beats of products: the datapath, and the places of its registers."""

    #: Number of sums held.
    _registers = 1
    #: Fabric of the datapath.
    _fabric = "asic"

    def _plan(self):
        """Choose the cuts before and after the sum that hold registers."""
        m = Module()
        m._MustUse__silence = True  # thrown away: it only counts the cuts
        geometry = self._geometry
        bits = Signal(geometry.lanes * geometry.fmt.width)
        plan = Pipeline(m, fabric=self._fabric)
        state = self._accumulate(plan, bits, bits, Const(0, 1), Const(0, 1), lambda stage: Const(1, 1))
        state.pop("done")
        before = plan._place.levels + [SUM_LEVELS]
        plan = Pipeline(m, fabric=self._fabric)
        plan.keep(**state)
        _rounded(plan, geometry, self._flush_to_zero)
        after = plan._place.levels
        after = after + [1] + [0] * max(self._depth - len(before) - len(after), 0)

        def longest(levels, registers):
            ends = [sum(levels[: cut + 1]) for cut in registers] + [sum(levels)]
            return max(b - a for a, b in zip([0, *ends], ends, strict=False))

        best = None
        for registers in range(max(0, self._depth - len(after)), min(self._depth, len(before))):
            front, back = partition(before, registers), partition(after, self._depth - 1 - registers)
            worst = max(longest(before, front), longest(after, back))
            if best is None or worst < best[0]:
                best = worst, front, back
        return best[1:]

    def _accumulate(self, p, a, b, first, last, valid, register=None):
        """The datapath from the operands to the registers of the sum.

        ``valid(stage)`` is 1 if a stage has a beat. ``register(stage)`` is the register to which this beat adds, if
        there are several. Returns the registers of the sum by name, with exponent and flags. ``done`` means that the
        sum is wanted.
        """
        m, geometry = p.module, self._geometry
        p.keep(first=first, last=last)
        lanes = _factors(p, *pair(a, b, geometry.fmt, geometry.fmt), geometry.fmt, self._flush_to_zero)
        _flags(p, lanes, None)
        if geometry.exact:
            _multiply(p, lanes, lanes)
            columns = _fixed_terms(p, lanes, None, geometry)
        else:
            # The largest exponent so far has a loop of its own, some stages before the loop of the sum.
            def exponents(p):
                _largest(p, lanes)
                p.cut(6)
                kept = Signal(len(p.largest), name="exponent_kept", reset_less=True)
                if self._registers > 1:
                    kept = self._register_file(p, "exponents", len(p.largest), register, init=max(geometry.floor, 0))
                p.before = Mux(p.first, max(geometry.floor, 0), kept)
                p.exponent = Mux(p.largest > p.before, p.largest, p.before)
                if self._registers > 1:
                    self._write(p, "exponents", p.exponent, valid, register)
                else:
                    with m.If(valid(p.stage)):
                        m.d.sync += kept.eq(p.exponent)
                p.cut(12)
                p.distance = _clipped(p, p.exponent - p.before, (geometry.width - 1).bit_length(), "distance")

            _multiply(p, lanes, lanes, exponents)
            columns = _aligned_terms(p, lanes, None, geometry)
        rows = compress(p, columns, name="beat", step=STEP)
        for row in range(2):
            p[f"row_{row}"] = Cat(column[row][0] if row < len(column) else Const(0, 1) for column in rows)
        p.cut(STEP)

        state = {"value": Signal(geometry.width, name="sum", reset_less=True)}
        state.update({flag: Signal(name=f"sum_is_{flag}", reset_less=True) for flag in ("nan", "positive", "negative")})
        state["minus"] = Signal(name="sum_is_minus", reset_less=True)
        old = state
        if self._registers > 1:
            layout = data.StructLayout({name: len(signal) for name, signal in state.items()})
            old = data.View(layout, self._register_file(p, "sums", layout.size, register))
        before = old["value"] & ~p.first.replicate(geometry.width)
        if not geometry.exact:
            before = before.as_signed() >> p.distance
        columns = [[(p.row_0[k], 0), (p.row_1[k], 0), (before[k], 12)] for k in range(geometry.width)]
        total = {"value": _add(p, compress(p, columns, name="next"), None, "next_cpa")}
        for flag in ("nan", "positive", "negative"):
            total[flag] = p[flag] | old[flag] & ~p.first
        total["minus"] = p.minus & (old["minus"] | p.first)
        if self._registers > 1:
            self._write(p, "sums", Cat(total[name] for name in state), valid, register)
        with m.If(valid(p.stage)):
            m.d.sync += [state[name].eq(value) for name, value in total.items()]
        if not geometry.exact:
            exponent = Signal(len(p.exponent), name="sum_exponent", reset_less=True)
            m.d.sync += exponent.eq(p.exponent)
            state["top"] = exponent + (1 - geometry.floor)
        state["done"] = Signal(name="sum_done")
        m.d.sync += state["done"].eq(valid(p.stage) & p.last)
        return state

    def _register_file(self, p, name, width, register, init=0):
        """Content of the register of this stage's beat. It is read one stage before, if there is one."""
        if getattr(p.module, "_MustUse__silence", False):
            return Signal(width)  # only the cuts are counted
        memory = Memory(shape=width, depth=self._registers, init=[init] * self._registers)
        p.module.submodules[f"{name}_file"] = memory
        self._files[name] = memory.write_port()
        if p.stage:
            port = memory.read_port(transparent_for=(self._files[name],))
            p.module.d.comb += [port.en.eq(1), port.addr.eq(register(p.stage - 1))]
        else:
            port = memory.read_port(domain="comb")
            p.module.d.comb += port.addr.eq(register(0))
        return port.data

    def _write(self, p, name, value, valid, register):
        if name in self._files:
            port = self._files[name]
            p.module.d.comb += [port.en.eq(valid(p.stage)), port.addr.eq(register(p.stage)), port.data.eq(value)]


class DotAccumulator(_Accumulation):
    """Dot products of any length: beats of n products, added up as integers and rounded once.

    Products are aligned to the largest product so far, as in :func:`dot`. When a larger product comes, the sum is
    shifted right (towards minus infinity). Within a beat the order of the lanes makes no difference. With
    ``window="exact"`` the sum is a fixed-point number wide enough for every product. The result is the correctly
    rounded sum, in any order.

    A sum begins with a beat marked ``first``. The rounded sum leaves after every beat marked ``last``. Beats after a
    ``last`` beat belong to the same sum until the next ``first``. The very first beat must be ``first``.

    Timing: one beat in every clock cycle, whatever its marks. The result is offered ``depth`` cycles after the last
    beat, plus the cycles of the output queue (see ``latency``). The datapath never stalls: a beat is accepted while the
    queue has a place for the results of all earlier beats.

    Parameters
    ----------
    fmt, result : :class:`FloatFormat`
        Format of the factors; format of the result.
    lanes : int
        Products of a beat, 1 or more.
    window : int, None or ``"exact"``
        As in :func:`dot`.
    beats : int
        Largest number of beats of a sum. A sum of more beats can overflow.
    depth : int
        Registers from the operands to the queue, 1 or more. One of them holds the sum. Registers go where they shorten
        the longest path most. Registers without a place follow the result.
    places : int or None
        Results that the queue holds. None: as many as can be in flight, so that a beat is accepted in every cycle even
        if each beat is ``last``. Sums of k beats need only this number divided by k.
    flush_to_zero : bool
        As in :func:`dot`.
    fabric : str
        As of a :class:`Pipeline`.

    Members
    -------
    i : ``In(stream.Signature({"a": lanes x fmt, "b": lanes x fmt, "first": 1, "last": 1}))``
        ``i.ready`` depends on registers only.
    o : ``Out(stream.Signature(FloatShape(result)))``

    Raises
    ------
    :exc:`TypeError`
        If a format is not a :class:`FloatFormat`, or a number not an integer.
    :exc:`ValueError`
        If a number is too small.
    """

    def __init__(
        self,
        fmt,
        lanes,
        *,
        result=FP32,
        window=None,
        beats=1024,
        depth=5,
        places=None,
        flush_to_zero=False,
        fabric="asic",
    ):
        self._fabric = fabric
        self._geometry = dot_window(fmt, result, lanes, window, beats=beats)
        self._flush_to_zero = bool(flush_to_zero)
        self._depth = operators.index(depth)
        if self._depth < 1:
            raise ValueError(f"Depth must be 1 or more, not {depth!r}")
        self._front, self._back = self._plan()
        self._places = self._depth + 4 if places is None else operators.index(places)
        if self._places < 1:
            raise ValueError(f"Places must be 1 or more, not {places!r}")
        self._queue = StreamFIFO(result.width, self._places)
        factors = data.ArrayLayout(FloatShape(fmt), lanes)
        super().__init__(
            {
                "i": In(stream.Signature(FloatLayout({"a": factors, "b": factors, "first": 1, "last": 1}))),
                "o": Out(stream.Signature(FloatShape(result))),
            }
        )

    @property
    def window(self):
        """The :class:`DotWindow`."""
        return self._geometry

    @property
    def depth(self):
        return self._depth

    @property
    def places(self):
        return self._places

    @property
    def latency(self):
        """Clock cycles from a last beat to the offer of its result, while the queue is empty."""
        return {"result": self._depth + self._queue.latency}

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = self._queue
        m.d.comb += [
            Value.cast(self.o.payload).eq(queue.o.payload),
            self.o.valid.eq(queue.o.valid),
            queue.o.ready.eq(self.o.ready),
        ]

        # Results wanted and not yet delivered. The queue has a place for each of them.
        owed = Signal(range(self._places + 1))
        accepted = Signal()
        m.d.comb += [self.i.ready.eq(owed != self._places), accepted.eq(self.i.valid & self.i.ready)]
        m.d.sync += owed.eq(owed + (accepted & self.i.p.last) - (self.o.valid & self.o.ready))

        valid = _follow(m, accepted, len(self._front), "valid")
        payload = self.i.payload
        front = Pipeline(m, registers=self._front, fabric=self._fabric)
        state = self._accumulate(
            front, Value.cast(payload.a), Value.cast(payload.b), payload.first, payload.last, valid.__getitem__
        )
        done = _follow(m, state.pop("done"), len(self._back), "done")
        back = Pipeline(m, registers=self._back, name="sum_", fabric=self._fabric)
        back.keep(**state)
        back.rounded = _rounded(back, self._geometry, self._flush_to_zero)
        while back.stage < len(self._back):
            back.cut()
        m.d.comb += queue.i.payload.eq(back.rounded)
        m.d.comb += queue.i.valid.eq(done[-1])
        return m


class DotRegisters(_Accumulation):
    """Dot products accumulated in several registers. The sums work as in :class:`DotAccumulator`.

    Every register holds the sum itself. So a sum can continue after beats of other registers, and after its result has
    left. A register that never had a ``first`` beat holds 0.

    Timing: one beat in every clock cycle, on any register. ``o_valid`` is set ``depth`` cycles after a ``last`` beat.

    Parameters
    ----------
    registers : int
        2 or more.
    fmt, lanes, result, window, beats, depth, flush_to_zero
        As in :class:`DotAccumulator`, but ``depth`` is 2 or more.

    Members
    -------
    valid : ``In(1)``
        A beat. All other inputs belong to it.
    register : ``In(range(registers))``
    first, last : ``In(1)``
        The sum begins with this beat; the sum is wanted after this beat.
    a, b : ``In(lanes * width)``
        Lane 0 lowest.
    o_valid : ``Out(1)``
    o_register : ``Out(range(registers))``
    o : ``Out(result.width)``

    Raises
    ------
    :exc:`TypeError`
        If a format is not a :class:`FloatFormat`, or a number not an integer.
    :exc:`ValueError`
        If a number is too small.
    """

    def __init__(self, fmt, lanes, *, registers, result=FP32, window=None, beats=1024, depth=6, flush_to_zero=False):
        self._geometry = dot_window(fmt, result, lanes, window, beats=beats)
        self._flush_to_zero = bool(flush_to_zero)
        self._depth, self._registers = operators.index(depth), operators.index(registers)
        for name, value in (("Depth", self._depth), ("Registers", self._registers)):
            if value < 2:
                raise ValueError(f"{name} must be 2 or more, not {value!r}")
        self._files = {}
        self._front, self._back = self._plan()
        super().__init__(
            {
                "valid": In(1),
                "register": In(range(self._registers)),
                "first": In(1),
                "last": In(1),
                "a": In(lanes * fmt.width),
                "b": In(lanes * fmt.width),
                "o_valid": Out(1),
                "o_register": Out(range(self._registers)),
                "o": Out(result.width),
            }
        )

    @property
    def depth(self):
        return self._depth

    def elaborate(self, platform):
        m = Module()
        self._files = {}
        valid = _follow(m, self.valid, len(self._front), "valid")
        register = _follow(m, self.register, self._depth, "register", reset_less=True)
        front = Pipeline(m, registers=self._front, fabric=self._fabric)
        state = self._accumulate(front, self.a, self.b, self.first, self.last, valid.__getitem__, register.__getitem__)
        done = _follow(m, state.pop("done"), len(self._back), "done")
        back = Pipeline(m, registers=self._back, name="sum_", fabric=self._fabric)
        back.keep(**state)
        back.rounded = _rounded(back, self._geometry, self._flush_to_zero)
        while back.stage < len(self._back):
            back.cut()
        m.d.comb += [self.o.eq(back.rounded), self.o_valid.eq(done[-1]), self.o_register.eq(register[-1])]
        return m


def _follow(m, value, count, name, **options):
    """The value, and its values 1 .. ``count`` cycles before."""
    stages = [value]
    for stage in range(count):
        stages.append(Signal.like(value, name=f"{name}_s{stage + 1}", **options))
        m.d.sync += stages[-1].eq(stages[-2])
    return stages


# Operands ------------------------------------------------------------------------------------------------------------


def _unpack(p, bits, fmt, flush_to_zero):
    """Put the fields of a number into ``p``. The exponent is 1 for subnormals and zeros."""
    p.bits = bits
    fraction, exponent = p.bits[: fmt.fraction_bits], p.bits[fmt.fraction_bits : fmt.width - 1]
    p.normal = exponent.any()
    p.empty = ~fraction.any()
    p.special = exponent.all()
    p.nan = p.special & ~p.empty
    p.zero = ~p.normal if flush_to_zero else ~p.normal & p.empty
    p.sign = p.bits[-1]
    p.exponent = Cat(exponent[0] | ~p.normal, exponent[1:])
    p.significand = Cat(fraction & p.normal.replicate(len(fraction)) if flush_to_zero else fraction, p.normal)


def _factors(p, a, b, fmt, flush_to_zero):
    """Parts of the pipeline, one per lane, with the factors and all fields of the product except its magnitude."""
    lanes = [p.part(f"lane_{number}") for number in range(len(a))]
    for lane, *operands in zip(lanes, a, b, strict=True):
        x, y = lane.part("x"), lane.part("y")
        for part, bits in zip((x, y), operands, strict=True):
            _unpack(part, bits, fmt, flush_to_zero)
        lane.keep(x=x.significand, y=y.significand, sign=x.sign ^ y.sign, live=~(x.zero | y.zero))
        columns = [[(one, 0), (other, 0)] for one, other in zip(x.exponent, y.exponent, strict=True)]
        lane.exponent = Cat(
            *add_rows(p.module, [*columns, []], limit=LATE, name=f"exponent_{lane._prefix}", fabric=p.fabric)
        )
        # A NaN overrides an infinity, so `infinite` may also be 1 for a NaN.
        lane.infinite = x.special | y.special
        lane.nan = x.nan | y.nan | x.special & y.zero | y.special & x.zero
    return lanes


def _flags(p, lanes, addend):
    """NaN, infinity and its sign, and whether all terms are negative."""
    signs = [lane.sign for lane in lanes]
    infinite = [lane.infinite for lane in lanes]
    nans = [lane.nan for lane in lanes]
    if addend is not None:
        signs.append(addend.sign)
        infinite.append(addend.special)
        nans.append(addend.nan)
    p.positive = Cat(i & ~s for i, s in zip(infinite, signs, strict=True)).any()
    p.negative = Cat(i & s for i, s in zip(infinite, signs, strict=True)).any()
    p.nan = Cat(nans).any()
    p.minus = Cat(signs).all()


def _multiply(p, lanes, counted, beside=None):
    """Products of the significands. In parallel, the number of negative parts, and the function ``beside``."""

    def products(p):
        def multiply(_, number):
            lane = lanes[number]
            columns = product_columns(
                lane, lane.x, lane.y, booth=len(lane.x) >= BOOTH_PRECISION, name=f"{lane._prefix}partial"
            )
            lane.product = _sum(lane, columns, "product", cut=1)
            lane.cut(10)

        p.parallel("lane", len(lanes), multiply)

    def negatives(p):
        columns: Any = [[] for _ in range(len(counted).bit_length())]
        columns[0] = [(part.sign, 0) for part in counted]
        p.negatives = _sum(p, columns, "negatives", cut=0)

    p.beside(products, negatives, *([beside] if beside else []))


def _sum(p, columns, name, cut=0):
    """Sum of columns of bits, modulo 2 to the power of their number."""
    rows = compress(p, columns, name=name, step=STEP, cut_from=cut)
    late = max((time for column in rows for _, time in column), default=0)
    return _add(p, rows, late + LATE, f"{name}_cpa")


def _add(p, rows, limit, name):
    """Sum of two rows. Wide rows are added in blocks, each with a carry from the block below."""
    if p.fabric == "xilinx":
        return Cat(add_rows(p.module, rows, name=name, fabric=p.fabric))
    size = len(rows) if len(rows) <= 2 * BLOCK else BLOCK
    bits, carry = [], None
    time = max((time for column in rows for _, time in column), default=0) + 14
    for low in range(0, len(rows), size):
        block = rows[low : low + size]
        more = low + size < len(rows)
        # The sum of an empty column is the carry into it.
        total = add_rows(p.module, block + [[]] * more, carry=carry, limit=limit, name=f"{name}_{low}")
        carry, time = (total[-1], time), time + 2
        bits += total[: len(block)]
    return Cat(*bits)


# Alignment -----------------------------------------------------------------------------------------------------------


def _largest(p, lanes):
    """Largest exponent of all products that are not zero, or 0. From the highest bit down, smaller lanes drop out."""
    p.alive = Cat(lane.live for lane in lanes)
    size = len(lanes[0].exponent)
    for k in reversed(range(size)):
        p[f"leaders_{k}"] = p.alive & Cat(lane.exponent[k] for lane in lanes)
        p[f"largest_{k}"] = p[f"leaders_{k}"].any()
        if k:
            p.alive = p[f"leaders_{k}"] | p.alive & ~p[f"largest_{k}"].replicate(len(lanes))
            p.cut(6)
    p.largest = Cat(p[f"largest_{k}"] for k in range(size))


def _top(p, lanes, addend, geometry):
    """Compute the position of the window: ``exponent`` and ``top``.

    ``exponent`` is exact as far as a product's shift depends on it. ``top`` is the biased exponent of the window's top
    bit in the format of the result.
    """
    _largest(p, lanes)
    p.cut(6)
    floor, offset = max(geometry.floor, 0), 1 - geometry.floor
    if addend is None:
        p.exponent = Mux(p.largest > floor, p.largest, floor) if floor else p.largest
        p.top = p.exponent + offset
    else:
        product = Signal(signed(bits_for(geometry.largest + abs(offset)) + 1), name=f"{p._prefix}product_top")
        p.module.d.comb += product.eq(Mux(p.largest.any(), p.largest + offset, 0))
        p.top = Mux(product > addend.exponent, product[:-1], addend.exponent)
        p.cut(8)
        # If the window is so far above the largest product that all products are shifted out, its distance may be cut.
        gone = geometry.largest + geometry.magnitude_bits
        size = min(bits_for(gone), bits_for(max(geometry.largest, geometry.result.exponent_max - offset)))
        p.exponent = _clipped(p, p.top - offset, size, "exponent")


def _clipped(p, value, size, name):
    """A value, or ``size`` ones if it needs more bits. The value is not negative where it matters."""
    whole = Signal(max(len(value) - value.shape().signed, size), name=f"{p._prefix}{name}_whole")
    p.module.d.comb += whole.eq(value)
    return whole[:size] | whole[size:].any().replicate(size)


def _shift_right(p, value, distance, width, name):
    """Top ``width`` bits of an unsigned value, shifted right by 0 .. 2**n - 1 in stages of 1, 2, 4 ... places."""
    value = Cat(Const(0, max(width - len(value), 0)), value)[-width:]
    for k in range(len(distance)):
        stage = Signal(width, name=f"{p._prefix}{name}_{k}")
        p.module.d.comb += stage.eq(Mux(distance[k], value[1 << k :], value))
        value = stage
    return value


def _shift_left(p, value, distance, name):
    """An unsigned value shifted left by 0 .. 2**n - 1. The result has room for the largest shift."""
    for k in range(len(distance)):
        stage = Signal(len(value) + (1 << k), name=f"{p._prefix}{name}_{k}")
        p.module.d.comb += stage.eq(Mux(distance[k], Cat(Const(0, 1 << k), value), value))
        value = stage
    return value


def _aligned_terms(p, lanes, addend, geometry):
    """Columns of all terms in the window whose exponent is ``p.exponent``."""
    size = geometry.magnitude_bits
    places = size.bit_length()  # a shift by 2**places - 1 clears the window
    parts = [*lanes, *([] if addend is None else [addend])]
    for part in parts:
        base = p.top if part is addend else p.exponent
        columns = [[(base[k], 0)] if k < len(base) else [] for k in range(max(len(base), len(part.exponent)))]
        for k, column in enumerate(columns):
            column.append((~part.exponent[k] if k < len(part.exponent) else Const(1, 1), 0))
        distance = Cat(
            *add_rows(
                p.module, columns, carry=(Const(1, 1), 0), limit=LATE, name=f"{part._prefix}distance", fabric=p.fabric
            )
        )
        part.distance = _clipped(part, distance, places, "distance")
    p.cut(12)
    terms = []
    for part in parts:
        magnitude = part.significand if part is addend else part.product
        terms.append(_shift_right(part, magnitude, part.distance, size, "aligned"))
    return _columns(p, parts, [(term, 0) for term in terms], geometry)


def _fixed_terms(p, lanes, addend, geometry):
    """Columns of all terms in the exact window."""
    terms = []
    for lane in lanes:
        # No exponent is below 2, so the lowest places stay empty. Places above the largest exponent belong to specials.
        term = _shift_left(lane, lane.product, lane.exponent, "fixed")[
            2 : geometry.largest + 2 * geometry.fmt.precision
        ]
        terms.append((term, geometry.left - geometry.top + 2))
    if addend is not None:
        term = _shift_left(addend, addend.significand, addend.exponent, "fixed")
        term = term[1 : geometry.result.exponent_max - 1 + geometry.result.precision]
        terms.append((term, geometry.addend_left - geometry.top + geometry.addend_offset + 1))
    return _columns(p, [*lanes, *([] if addend is None else [addend])], terms, geometry)


def _columns(p, parts, terms, geometry):
    """Columns of ``(magnitude, weight)`` terms with the signs of their parts, for a sum in two's complement."""
    for part, (magnitude, _) in zip(parts, terms, strict=True):
        part.term = magnitude ^ part.sign.replicate(len(magnitude))
    p.cut(16)
    columns: Any = [[] for _ in range(geometry.width)]
    for part, (_, weight) in zip(parts, terms, strict=True):
        for k, bit in enumerate(part.term):
            columns[weight + k].append((bit, 0))
    # A negative term of n bits is its complement, plus one, minus 2**n. Terms at the same place share these
    # corrections: the number of negative terms is added below and subtracted above.
    groups: Any = {}
    for part, (magnitude, weight) in zip(parts, terms, strict=True):
        groups.setdefault((weight, weight + len(magnitude)), []).append(part)
    constant = 0
    for (low, high), group in groups.items():
        count = group[0].sign if len(group) == 1 else p.negatives
        for k, bit in enumerate(count):
            columns[low + k].append((bit, 0))
            if high + k < len(columns):
                columns[high + k].append((~bit, 0))
        constant += (1 << high) - (1 << (high + len(count)))
    for k in range(len(columns)):
        if constant >> k & 1:
            columns[k].append((Const(1, 1), 0))
    return columns


# Rounding ------------------------------------------------------------------------------------------------------------


def _rounded(p, geometry, flush_to_zero):
    """The sum ``p.value`` in the format of the result.

    A negative sum is complemented, not negated, so a one in the last place is missing. Rounding the complement with
    ones shifted in below it gives the same result (see the condition for ``up``).
    """
    fmt, size = geometry.result, geometry.width - 1
    # Biased exponent of the magnitude's top bit, and its bounds for a sum that is not zero.
    above = size - geometry.magnitude_bits
    offset = above + 1 - geometry.floor
    if geometry.exact:
        least = most = geometry.top + offset
        p.highest = Const(most)
    else:
        least = above + 1 if geometry.addend else max(geometry.floor, 2) + offset
        most = max(geometry.largest, geometry.floor) + offset
        if geometry.addend:
            most = max(most, fmt.exponent_max - 1 + above)
        p.highest = p.top + above

    p.fill = p.value[-1]
    p.magnitude = p.value[:-1] ^ p.fill.replicate(size)
    p.zeros = leading_zeros(p.magnitude)[: bits_for(size)]
    p.cut(12)
    if least > size:
        p.shift = p.zeros
    else:  # not below exponent 1
        p.shift = Mux(p.zeros < p.highest, p.zeros, p.highest - 1)[: len(p.zeros)]
        p.cut(10)
    field = (p.highest - p.shift)[: bits_for(most + 1)]

    normal = p.magnitude
    for k in reversed(range(len(p.shift))):
        places = min(1 << k, size)
        stage = Signal(size, name=f"{p._prefix}normal_{k}")
        p.module.d.comb += stage.eq(Mux(p.shift[k], Cat(p.fill.replicate(places), normal[: size - places]), normal))
        normal = stage
    normal = Cat(p.fill.replicate(max(fmt.precision + 2 - size, 0)), normal)
    low = len(normal) - fmt.precision
    p.kept, p.guard = normal[low:], normal[low - 1]
    rest = normal[: low - 1]
    p.ones, p.some = rest.all(), rest.any()
    p.field = Mux(normal[-1], field, 0)
    p.cut(14)

    # With the missing one added, a remainder of all ones carries, and the tie is 0111...
    up = Mux(p.fill, p.guard | p.ones & p.kept[0], p.guard & (p.some | p.kept[0]))
    # A carry out of the fraction steps into the exponent.
    bits = [*p.kept[:-1], *p.field]
    p.packed = Cat(
        *add_rows(
            p.module, [[(bit, 0)] for bit in bits], carry=(up, 4), limit=16, name=f"{p._prefix}packed", fabric=p.fabric
        )
    )
    empty = Const(0, 1)
    if flush_to_zero and least <= size:
        # Below the normal range, unless the missing one makes it the smallest normal number.
        empty = ~p.kept[-1] & ~(p.fill & p.kept[:-1].all() & p.guard & p.ones)
    p.empty = empty
    exponent = p.packed[fmt.fraction_bits :]
    p.large = exponent >= fmt.exponent_max if most + 1 >= fmt.exponent_max else Const(0, 1)
    p.cut(8)

    infinite = p.positive | p.negative
    p.invalid = p.nan | p.positive & p.negative
    special = infinite | p.nan | p.large
    p.sign = Mux(infinite, p.negative, p.fill | p.minus) & ~p.invalid
    magnitude = Cat(p.packed, Const(0, fmt.width))[: fmt.width - 1]
    fraction = magnitude[: fmt.fraction_bits] & ~(special | p.empty).replicate(fmt.fraction_bits)
    exponent = magnitude[fmt.fraction_bits :] & ~p.empty.replicate(fmt.exponent_bits) | special.replicate(
        fmt.exponent_bits
    )
    return Cat(fraction[:-1], fraction[-1] | p.invalid, exponent, p.sign)
