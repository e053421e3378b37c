"""Exponentials: of any number, and of a score minus the largest one (softmax)."""

from typing import Any

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.arith.exponential import Chords, exponential_tables, taylor_constants
from ...constraints.arith.geometry import ExpTable
from ...constraints.core.formats import FloatFormat
from .aligned import unpack
from .bits import add_rows, compress, wire
from .convert import from_integer, to_integer
from .float_shape import FloatShape
from .fma import fma
from .pipeline import operator
from .reciprocal import piecewise

__all__ = ["IterativeExponential", "SoftmaxExp", "exponential", "negative_power", "scaled_difference", "softmax_exp"]


def _check_format(fmt, name="Format"):
    if not isinstance(fmt, FloatFormat):
        raise TypeError(f"{name} must be a FloatFormat, not {fmt!r}")


@operator
def exponential(p, a, *, fmt, variant="faithful", order=10, range_reduced=False, flush_to_zero=False):
    """e**a: less than a unit in the last place from the exact exponential, monotonic, exactly 1 for zeros.

    These properties belong to the variant ``"faithful"``. It converts a times log2 e to fixed point. Tables give
    multiples of log2 e for parts of the significand, and the exponent shifts their sum. The whole part is the exponent
    of the result. Chords give the power of two of the fraction, or parabolas above 12 bits of precision
    (:class:`~bankside.constraints.arith.exponential.ExponentialTables`). The result is rounded once to nearest, also below
    the normal range. e**-inf is +0, e**+inf is +inf, and NaN gives the canonical NaN.

    The variant ``"taylor"`` is Taylor's series about 0, computed by Horner's rule. It is a chain of ``order`` fused
    multiply-adds, each rounded to the format. The coefficients 1 / k! are rounded to the format. CENT uses order 10;
    its publication does not say whether operands are reduced. Without reduction the result is the value of the
    polynomial:

    - within 2 units in the last place for -1 .. 1;
    - within 31 units in the last place for -2.5 .. 4 (FP16, BF16);
    - useless beyond; for -inf it is +inf.

    With ``range_reduced``, the nearest multiple of ln 2 is first subtracted from a. This takes three more fused
    multiply-adds. The result is then scaled by a power of two. In FP16 and BF16 it is less than a unit in the last
    place from the exact exponential, but not monotonic. Infinities give the results of the variant ``"faithful"``.

    Parameters
    ----------
    a : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    variant : "faithful" or "taylor"
    order : :class:`int`
    range_reduced : :class:`bool`
        Options of the series.
    flush_to_zero : bool
        Subnormal operands count as zero. Results whose exact value is below the normal range become zero.

    Returns
    -------
    value of ``fmt.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If ``fmt`` is not a format.
    :exc:`ValueError`
        If there is no such variant, or no such series (see
        :func:`~bankside.constraints.arith.exponential.taylor_constants`).
    """
    _check_format(fmt)
    if variant == "taylor":
        return _taylor(p, a, fmt, taylor_constants(fmt, order, bool(range_reduced)), bool(range_reduced), flush_to_zero)
    if variant != "faithful":
        raise ValueError(f"Variant must be faithful or taylor, not {variant!r}")
    m, tables = p.module, exponential_tables(fmt)
    f, e = fmt.fraction_bits, fmt.exponent_bits
    fraction, exponent = a[:f], a[f : f + e]
    p.sign = a[-1]
    p.nan = exponent.all() & fraction.any()
    p.large = exponent > tables.highest
    normal = exponent.any()
    if flush_to_zero:
        p.tiny = p.sign & normal & (a[:-1] > tables.smallest_normal_operand)
    if tables.subnormal_operands:
        normal = wire(m, normal, "normal")
        if flush_to_zero:
            fraction = fraction & normal.replicate(f)
        exponent = Cat(exponent[0] | ~normal, exponent[1:])
    p.exponent = exponent

    # Multiply the significand by log2 e.
    columns: Any = [[] for _ in range(tables.product_width)]
    place = 0
    for n, (length, table) in enumerate(zip(tables.chunks, tables.multiples, strict=True)):
        (multiple,) = _look_up(m, fraction[place : place + length], [table], f"multiple_{n}")
        _put(columns, multiple, 0, length + 1)
        place += length
    if tables.subnormal_operands:
        _put(columns, [normal if tables.implicit >> k & 1 else None for k in range(tables.implicit.bit_length())], 0, 2)
    p.product = _sum(p, columns, "product", len(tables.chunks))

    # Convert to fixed point.
    size = tables.whole_bits + tables.fraction_bits
    word = place_by_exponent(m, p.product, p.exponent, range(tables.lowest, tables.highest + 1), tables.shift, size)
    p.word = word ^ p.sign.replicate(size)
    p.cut(12)

    # The exponent of the result. Below the normal range it is the subnormal exponent, and the significand moves right.
    part, whole = p.word[: tables.fraction_bits], p.word[tables.fraction_bits :]
    magnitude = wire(m, whole ^ p.sign.replicate(len(whole)), "magnitude")
    field = (Cat(whole, p.sign).as_signed() + fmt.bias)[:e]
    steps = wire(m, magnitude + 3, "steps")  # distance of the right shift plus 2**(e - 1)
    p.low = p.sign & steps[e - 1 :].any()
    p.field = field & ~p.low.replicate(e)
    reach = fmt.precision.bit_length()
    p.right = (steps if reach <= e - 1 else steps - (1 << (e - 1)))[:reach] & p.low.replicate(reach)
    p.zero = p.sign & (p.large | (magnitude >= fmt.bias + fmt.precision - 1))
    p.infinite = ~p.sign & (p.large | magnitude[e - 1 :].any())
    value = _power(p, part, tables)

    # Round once.
    guard = tables.value_bits - f
    if flush_to_zero:
        # The tables may give a value just below the normal range although it is not flushed. It becomes the smallest
        # normal number.
        below = wire(m, p.right.any(), "below")
        p.kept, p.up = value[guard:] & ~below.replicate(f), value[guard - 1] & ~below
        p.result_field = Cat(p.field[0] | p.low, p.field[1:])
        p.vanish = p.tiny
    else:
        moved = _shift_right(m, Cat(value, Const(1, 1)), p.right, fmt.precision + guard)
        p.kept, p.up = moved[guard : guard + f], moved[guard - 1]
        p.result_field = Cat(p.field[0] | (moved[guard + f] & p.low), p.field[1:])
        p.vanish = p.zero
        p.cut(2 * reach)
    rounded = wire(m, Cat(p.kept, p.result_field) + p.up, "rounded")
    special = wire(m, p.infinite | p.nan, "special")
    plain = wire(m, ~(special | p.vanish), "plain")
    return Cat(
        (rounded[:f] & plain.replicate(f)) | Cat(Const(0, f - 1), p.nan),
        (rounded[f : f + e] & plain.replicate(e)) | special.replicate(e),
        Const(0, 1),
    )


def _power(p, word, tables):
    """``2**x - 1`` of a fraction x, with ``tables.value_bits`` bits."""
    chords = tables.power
    if not isinstance(chords, Chords):
        return piecewise(p.part("power"), word, table=chords)[: tables.value_bits]
    m, size, top = p.module, chords.value_bits, chords.slope_bits - 1
    rest = chords.fraction_bits - chords.index_bits
    # The top bit of a slope has a negative weight. Its row is inverted, which adds a constant.
    kept = range(max(chords.drop - top, 0), chords.factor_bits)
    constant = sum(1 << (j + top - chords.drop) for j in kept)
    starts = [(start - constant) % (1 << size) for start in chords.starts]
    slopes = [slope % (1 << chords.slope_bits) for slope in chords.slopes]
    p.start, p.slope = _look_up(m, word[rest:], [starts, slopes], "chord")
    p.word_here = word
    p.cut(chords.index_bits + 2)
    columns: Any = [[] for _ in range(size)]
    _put(columns, p.word_here, size - chords.fraction_bits, 0)
    _put(columns, p.start, 0, 0)
    low = p.word_here[rest - chords.factor_bits : rest]
    for i in range(chords.slope_bits):
        row = [
            wire(m, ~(p.slope[i] & bit) if i == top else p.slope[i] & bit, f"row_{i}_{j}") for j, bit in enumerate(low)
        ]
        _put(columns, row[max(chords.drop - i, 0) :], max(i - chords.drop, 0), 1)
    return _sum(p, columns, "power", chords.slope_bits + 2)


def _taylor(p, a, fmt, constants, range_reduced, flush_to_zero):
    def step(x, y, z, name):
        result = fma(p, x, y, z, fmt=fmt, flush_to_zero=flush_to_zero, name=name)
        p.result = result
        p.cut(8)
        return p.result

    width = fmt.width
    p.x = a
    if range_reduced:
        p.kind = _kind(p.module, a, fmt, constants)
        p.quotient = to_integer(
            p,
            step(p.x, Const(constants.log2_e, width), Const(0, width), "scale"),
            fmt=fmt,
            width=constants.quotient_bits,
            signed=True,
            name="nearest",
        ).as_signed()
        p.cut(8)
        p.multiple = _negated(p, p.quotient, fmt, "multiple")
        p.cut(8)
        p.x = step(p.multiple, Const(constants.ln_2, width), p.x, "rest")
        p.x = step(p.multiple, Const(constants.ln_2_rest, width), p.x, "rest_2")
    result = Const(constants.coefficients[-1], width)
    for power, coefficient in reversed(list(enumerate(constants.coefficients[:-1]))):
        result = step(result, p.x, Const(coefficient, width), f"power_{power}")
    if not range_reduced:
        return result
    return _scale(p.module, result, p.quotient, p.kind, fmt, flush_to_zero)


def _negated(m, integer, fmt, name):
    """A signed integer as a number with the other sign. The integer must not be the lowest one of its width."""
    size = len(integer) - 1
    magnitude = ((integer[:size] ^ integer[-1].replicate(size)) + integer[-1])[:size]
    return Cat(from_integer(m, magnitude, fmt=fmt, signed=False, name=name)[:-1], ~integer[-1])


def _kind(m, a, fmt, constants):
    """Kind of an operand, one bit each: NaN; too large for a reduction; negative."""
    exponent = a[fmt.fraction_bits : -1]
    return Cat(exponent.all() & a[: fmt.fraction_bits].any(), exponent > constants.highest, a[-1])


def _scale(m, a, quotient, kind, fmt, flush_to_zero):
    """A positive normal number near 1, times ``2**quotient``. Below the normal range it is rounded to nearest even."""
    f, e, size = fmt.fraction_bits, fmt.exponent_bits, fmt.precision
    exponent = wire(m, a[f : f + e] + quotient, "scaled_exponent")
    below = wire(m, 1 - exponent, "below")
    low = wire(m, ~(below[-1] | (below == 0)), "low")
    reach = (size + 1).bit_length()
    right = wire(m, Mux(below > size + 1, size + 1, below)[:reach] & low.replicate(reach), "right")
    moved = wire(m, Cat(Const(0, size + 1), a[:f], 1) >> right, "moved")
    up = moved[size] & (moved[:size].any() | moved[size + 1])
    kept = moved[size + 1 :]
    rounded = wire(m, kept + up, "rounded")
    nan, large, sign = kind
    infinite = (large & ~sign) | (~low & (exponent >= fmt.exponent_max))
    zero = (large & sign) | (low if flush_to_zero else 0)
    number = Mux(low, rounded, Cat(a[:f], exponent[:e]))[: f + e]
    return Mux(nan, fmt.nan, Mux(large | infinite, Mux(sign & large, 0, fmt.infinity), Mux(zero, 0, number)))[
        : fmt.width
    ]


class IterativeExponential(wiring.Component):
    """Taylor's series with a single fused multiply-add, like CENT's exponent unit: one coefficient per clock cycle.

    The results equal the results of :func:`exponential` with ``variant="taylor"``.

    Timing: a result is valid ``order + 1`` cycles after its operand was taken (11 for order 10). With ``range_reduced``
    it is valid after ``order + 5`` cycles. The unit takes the next operand in the cycle in which its result is taken.
    So ``i.ready`` depends on ``o.ready`` combinationally. ``o`` depends on registers only.

    Parameters
    ----------
    fmt : :class:`FloatFormat`
    order : :class:`int`
    range_reduced, flush_to_zero : :class:`bool`
        See :func:`exponential`.

    Members
    -------
    i : ``In(stream.Signature(FloatShape(fmt)))``
    o : ``Out(stream.Signature(FloatShape(fmt)))``

    Raises
    ------
    :exc:`TypeError`
        If ``fmt`` is not a format.
    :exc:`ValueError`
        If there is no such series (see :func:`~bankside.constraints.arith.exponential.taylor_constants`).
    """

    def __init__(self, fmt, *, order=10, range_reduced=False, flush_to_zero=False):
        shape = FloatShape(fmt)
        self._constants = taylor_constants(fmt, order, bool(range_reduced))
        self._fmt, self._order = fmt, order
        self._range_reduced, self._flush_to_zero = bool(range_reduced), bool(flush_to_zero)
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    @property
    def latency(self):
        """Clock cycles from an operand to its result."""
        return {"result": self._order + (5 if self._range_reduced else 1)}

    def elaborate(self, platform):
        m = Module()
        fmt, constants, width = self._fmt, self._constants, self._fmt.width
        first = 4 if self._range_reduced else 0  # step of the first coefficient
        last = first + self._order
        step = Signal(range(last + 1))
        busy = Signal()
        done = Signal()
        x = Signal(width, reset_less=True)
        total = Signal(width, reset_less=True)
        a, b, c = Signal(width), Signal(width), Signal(width)
        result = fma(m, a, b, c, fmt=fmt, flush_to_zero=self._flush_to_zero, name="fma_")
        with m.Switch(step):
            for number, coefficient in enumerate(reversed(constants.coefficients[:-1]), first):
                with m.Case(number):
                    m.d.comb += c.eq(coefficient)
        m.d.comb += [a.eq(total), b.eq(x)]
        advance = m.d.sync
        taken = Value.cast(self.i.payload)
        with m.If(busy & ~done):
            advance += [step.eq(step + 1), total.eq(result)]
        if self._range_reduced:
            quotient = Signal(signed(constants.quotient_bits), reset_less=True)
            kind = Signal(3, reset_less=True)
            multiple = _negated(m, quotient, fmt, "multiple_")
            with m.Switch(step):
                with m.Case(0):
                    m.d.comb += [a.eq(constants.log2_e), c.eq(0)]
                with m.Case(1):
                    advance += [
                        quotient.eq(
                            to_integer(
                                m, total, fmt=fmt, width=constants.quotient_bits, signed=True, name="nearest_"
                            ).as_signed()
                        ),
                        total.eq(constants.coefficients[-1]),
                    ]
                with m.Case(2, 3):
                    m.d.comb += [a.eq(multiple), b.eq(Mux(step[0], constants.ln_2_rest, constants.ln_2)), c.eq(x)]
                    advance += [x.eq(result), total.eq(constants.coefficients[-1])]
        m.d.comb += [
            done.eq(step == last),
            self.o.valid.eq(busy & done),
            self.i.ready.eq(~busy | (done & self.o.ready)),
        ]
        with m.If(self.i.ready):
            advance += [busy.eq(self.i.valid), step.eq(0), x.eq(taken), total.eq(constants.coefficients[-1])]
            if self._range_reduced:
                advance += kind.eq(_kind(m, taken, fmt, constants))
        out = total
        if self._range_reduced:
            out = _scale(m, total, quotient, kind, fmt, self._flush_to_zero)
        m.d.comb += Value.cast(self.o.payload).eq(out)
        return m


@operator
def softmax_exp(p, maximum, value, *, score, table):
    """``exp(value - maximum)`` of two numbers with ``maximum >= value``; the result is in 0..1.

    The difference is exact, then truncated to fixed point and multiplied by log2 e. A table of chords gives the power
    of two (:class:`~bankside.constraints.arith.geometry.ExpTable`). The result is rounded once, to nearest even. Its error
    is at most 1 ulp. The result never increases with the difference, and is exactly 1 at 0. A ``value`` of -infinity
    gives 0. NaN gives NaN, and so does +infinity minus +infinity.

    Parameters
    ----------
    maximum, value : values of ``score.width`` bits
    score : :class:`FloatFormat`
        Format of the operands.
    table : :class:`ExpTable`
        Constants, and the format of the result.

    Returns
    -------
    value of ``table.io.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If ``score`` is not a format or ``table`` is not an :class:`ExpTable`.
    """
    _check_format(score, "Format of the scores")
    if not isinstance(table, ExpTable):
        raise TypeError(f"Table must be an ExpTable, not {table!r}")
    _difference(p, maximum, value, score, table)
    rounded = _negative_power(p, table)
    io = table.io
    return Mux(p.nan, io.nan, Mux(p.zero, 0, rounded))[: io.width]


@operator
def scaled_difference(p, maximum, value, *, score, table):
    """``(maximum - value) * log2 e`` of two finite numbers with ``maximum >= value``, truncated to fixed point.

    This is the first half of :func:`softmax_exp`. It serves sums of exponents that become a power of two only later.

    Parameters
    ----------
    As in :func:`softmax_exp`.

    Returns
    -------
    scaled, far : unsigned fixed point with ``table.fraction_bits``; and whether the difference did not fit
        Both are meaningless if an operand is infinite or NaN.
    """
    _check_format(score, "Format of the scores")
    _difference(p, maximum, value, score, table)
    return p.scaled, p.x.all()


@operator
def negative_power(p, scaled, *, table):
    """``2**-scaled`` of unsigned fixed point with ``table.fraction_bits``, in the format ``table.io``.

    This is the second half of :func:`softmax_exp`. The error is at most 1 ulp. The result is exactly 1 at 0, and never
    increases.

    Returns
    -------
    value of ``table.io.width`` bits
    """
    p.scaled = scaled
    return _negative_power(p, table)


def _difference(p, maximum, value, score, table):
    m, fmt = p.module, score

    # Find the larger exponent and the difference.
    a, b = unpack(m, maximum, fmt, "maximum"), unpack(m, value, fmt, "value")
    masked = b.inf & b.sign
    p.nan = a.nan | b.nan | (a.inf & b.inf & ~masked)
    p.zero = a.inf | b.inf
    p.sign_a, p.sign_b = a.sign, b.sign
    guard = table.difference_guard(fmt)
    size = fmt.precision + guard
    limit = size.bit_length()
    ahead = wire(m, a.exponent - b.exponent, "ahead")
    p.swap = ahead[-1]
    gap = Mux(p.swap, b.exponent - a.exponent, ahead[:-1])
    p.top = Mux(p.swap, b.exponent, a.exponent)
    p.gap = Mux(gap >= size, size, gap)[:limit]
    p.large, p.small = Mux(p.swap, b.significand, a.significand), Mux(p.swap, a.significand, b.significand)
    p.cut(14)

    # Align, then subtract. The last bit of the smaller number shows whether ones were shifted out.
    small = Cat(Const(0, guard), p.small)
    lost = Const(0, 1)
    for k in reversed(range(limit)):
        lost = lost | (p.gap[k] & small[: 1 << k].any())
        small = wire(m, Mux(p.gap[k], small[1 << k :], small), f"aligned_{k}")
    p.small_aligned = Cat(small[0] | lost, small[1:])
    p.cut(12)
    large = Cat(Const(0, guard), p.large)
    # The result is never negative: large - small, negated if the larger one is a positive value or a negative maximum.
    # With equal signs and different exponents it is never negated, so only equal exponents may need an exchange.
    # Different signs: add.
    apart = wire(m, p.sign_a ^ p.sign_b, "apart")
    exchange = wire(m, p.sign_a ^ p.swap, "exchange")
    minuend = Mux(exchange, p.small_aligned, large)
    subtrahend = Mux(exchange, large, p.small_aligned) ^ (~apart).replicate(size)
    total = wire(m, Cat(~apart, minuend, 0) + Cat(~apart, subtrahend, ~apart), "total")
    p.difference = total[1 : size + 2]
    p.cut(10)

    # Convert to fixed point, with saturation.
    bits = table.integer_bits + table.fraction_bits
    left = table.fraction_bits - fmt.bias - fmt.fraction_bits - guard  # plus the exponent: left shift
    most = bits + size + 1
    # The difference is placed `bits` places to the left, where any value except 0 saturates. Then it is shifted right.
    above = wire(m, (bits - left) - p.top, "above")
    right = wire(m, Mux(above[-1], 0, Mux(above[:-1] > most, most, above[:-1]))[: most.bit_length()], "right")
    placed = Cat(Const(0, bits), p.difference)
    for k in reversed(range(len(right))):
        placed = wire(m, Mux(right[k], placed[1 << k :], placed), f"placed_{k}")
    p.x = placed[:bits] | placed[bits:].any().replicate(bits)
    p.cut(18)

    # Multiply by log2 e, as sums of shifted words. Half of them come before a cut. Synthesis turns them into carry-save
    # adders. Written bit by bit, the unit would be smaller by a tenth, but its simulation would take ten times as long.
    digits = _signed_digits(table.constant)
    half = len(digits) // 2
    p.scaled_low, p.scaled_high = _shifted_sum(p.x, digits[:half]), _shifted_sum(p.x, digits[half:])
    p.cut(24)
    p.scaled = (p.scaled_low + p.scaled_high)[table.constant_bits : bits + table.constant_bits + 1]
    p.cut(16)


def _negative_power(p, table):
    m, io = p.module, table.io

    # The chord.
    low_bits = table.fraction_bits - table.index_bits
    p.whole = p.scaled[table.fraction_bits :]
    p.start, p.slope = _look_up(m, p.scaled[low_bits : table.fraction_bits], [table.values[:-1], table.slopes], "chord")
    p.low = p.scaled[:low_bits]
    p.cut(table.index_bits + 2)
    p.fall = (p.slope * p.low)[low_bits:]
    p.cut(16)
    p.power = (p.start - p.fall)[: table.value_bits + 1]
    p.cut(8)

    # Shift to the result's grid and round. Below the normal range the grid does not follow the exponent any more.
    normal = io.bias - 2
    reach = (table.value_bits + 1).bit_length()
    distance = wire(m, p.whole - normal, "distance")
    p.subnormal = ~distance[-1]
    below = Mux(distance[:-1] > table.value_bits + 1, table.value_bits + 1, distance[:-1])[:reach]
    below = wire(m, below & p.subnormal.replicate(len(below)), "below")
    drop = table.value_bits - io.precision
    moved, lost = p.power, Const(0, 1)
    for k in reversed(range(len(below))):
        lost = lost | (below[k] & moved[: 1 << k].any())
        moved = wire(m, Mux(below[k], moved[1 << k :], moved), f"shifted_{k}")
    p.kept = moved[drop:]
    p.up = moved[drop - 1] & (moved[: drop - 1].any() | lost | moved[drop])
    p.field = (normal - p.whole)[: io.exponent_bits] & ~p.subnormal.replicate(io.exponent_bits)
    p.cut(16)
    rounded = wire(m, (Cat(Const(0, io.fraction_bits), p.field) + p.kept + p.up)[: io.width], "rounded")
    return rounded


class SoftmaxExp(wiring.Component):
    """:func:`softmax_exp` with registers.

    Timing: latency ``LATENCY`` cycles, one result per cycle, never stalls.

    Parameters
    ----------
    score : :class:`FloatFormat`
        Format of the operands.
    table : :class:`ExpTable`
        Constants, and the format of the result.

    Members
    -------
    maximum, value : ``In(score.width)``
    result : ``Out(table.io.width)``
        ``LATENCY`` cycles later.
    """

    LATENCY = 7

    def __init__(self, score, table):
        self._score, self._table = score, table
        super().__init__({"maximum": In(score.width), "value": In(score.width), "result": Out(table.io.width)})

    def elaborate(self, platform):
        m = Module()
        # The last register is the register of the result.
        result = softmax_exp(m, self.maximum, self.value, score=self._score, table=self._table, depth=self.LATENCY - 1)
        m.d.sync += self.result.eq(result)
        return m


# Pieces --------------------------------------------------------------------------------------------------------------


def place_by_exponent(m, value, exponent, exponents, shift, size):
    """The lower ``size`` bits of ``value`` shifted left by ``shift(exponent)``; a negative shift goes right.

    ``exponents`` is a range of exponents; ``shift`` grows by 1 from each to the next. The result is 0 for exponents
    well below the range, and unspecified for exponents above it. The lower bits of the exponent shift the value. Then
    the upper bits select one of a few places.
    """
    fine = 2 if len(value) <= 20 else 3
    for k in range(fine):
        value = wire(m, Mux(exponent[k], Cat(Const(0, 1 << k), value), value), f"moved_{k}")
    word = Const(0, size)
    for step in range(exponents[0] >> fine, (exponents[-1] >> fine) + 1):
        left = shift(step << fine)
        placed = (Cat(Const(0, left), value) if left >= 0 else value[-left:])[:size]
        if len(placed):
            word = word | (placed & wire(m, exponent[fine:] == step, f"place_{step}").replicate(len(placed)))
    return word[:size]


def _look_up(m, index, columns, name):
    """The row of a table that ``index`` selects: one value for each column."""
    signals = [Signal(max(max(column).bit_length(), 1), name=f"{name}_{n}") for n, column in enumerate(columns)]
    with m.Switch(index):
        for number, row in enumerate(zip(*columns, strict=True)):
            with m.Case(number):
                m.d.comb += [signal.eq(value) for signal, value in zip(signals, row, strict=True)]
    return signals


def _put(columns, bits, place, arrival):
    """Add bits to the columns of a sum, the first bit at ``place``. Bits beyond the last column are dropped."""
    for k, bit in enumerate(bits, place):
        if bit is not None and k < len(columns):
            columns[k].append((bit, arrival))


def _sum(p, columns, name, rows):
    """Sum of columns, with a cut between carry-save adders and carry chain."""
    two = compress(p, columns, name=name)
    flat = [bit for column in two for bit, _ in column]
    p[f"{name}_rows"] = Cat(flat)
    p.cut(1 + 3 * max(rows - 1, 1).bit_length())
    flat = iter(p[f"{name}_rows"])
    total = Cat(add_rows(p.module, [[(next(flat), 0) for _ in column] for column in two], name=name))
    p[name] = total
    p.cut(4 + len(columns).bit_length())
    return p[name]


def _shift_right(m, value, amount, width):
    """``value`` shifted right, without the bits shifted out; at least ``width`` bits long."""
    for k in reversed(range(len(amount))):
        value = wire(m, Mux(amount[k], value[1 << k :], value), f"shifted_{k}")
    return Cat(value, Const(0, max(width - len(value), 0)))


def _signed_digits(number):
    """Canonical signed digits of a positive integer: list of (sign, exponent), no two exponents adjacent."""
    digits, place = [], 0
    while number:
        if number & 1:
            sign = 2 - (number & 3)  # 1 or -1, whichever leaves more zeros
            digits.append((sign, place))
            number -= sign
        number >>= 1
        place += 1
    return digits


def _shifted_sum(x, digits):
    """``x`` times the number that ``digits`` represent, signed."""
    total = Const(0, 1)
    for sign, place in digits:
        term = Cat(Const(0, place), x) if place else x
        total = total + term if sign > 0 else total - term
    return total
