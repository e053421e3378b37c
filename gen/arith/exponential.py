"""Exponentials: of any number, and of a score minus the largest one (softmax)."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.arithmetic import ExpTable
from ...constraints.elementary_exp import Chords, exponential_tables, taylor_constants
from ...constraints.formats import FloatFormat
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

    That is the variant ``"faithful"``: a times log2 e becomes fixed point: multiples of log2 e by parts of the significand
    come from tables, and the exponent places their sum. The whole part is the exponent of the result; the fraction's
    power of two comes from chords or, above 12 bits of precision, parabolas
    (:class:`~bankside.constraints.elementary_exp.ExponentialTables`). One rounding to nearest, also below the normal
    range. e**-inf is +0, e**+inf is +inf, NaN gives the canonical one.

    Variant ``"taylor"``: Taylor's series about 0 by Horner's rule, a chain of ``order`` fused multiply-adds, each rounded
    to the format, with the coefficients 1 / k! rounded to it; order 10 is CENT's, whose publication leaves open whether
    operands are reduced. By itself it is the value of a polynomial: within 2 units in the last place for -1 .. 1, within
    31 for -2.5 .. 4 (FP16, BF16), useless beyond; of -inf it is +inf. With ``range_reduced`` the multiple of ln 2 next to
    a is taken off before (three more fused multiply-adds) and the result scaled by a power of two: less than a unit in
    the last place from the exact exponential in FP16 and BF16, but not monotonic; infinities as above.

    Parameters
    ----------
    a : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    variant : "faithful" or "taylor"
    order : :class:`int`
    range_reduced : :class:`bool`
        Of the series.
    flush_to_zero : bool
        Subnormal operands count as zero, and results that are exactly below the normal range become zero.

    Returns
    -------
    value of ``fmt.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If ``fmt`` is not a format.
    :exc:`ValueError`
        If there is no such variant, or no such series (see
        :func:`~bankside.constraints.elementary_exp.taylor_constants`).
    """
    _check_format(fmt)
    if variant == "taylor":
        return _taylor(p, a, fmt, taylor_constants(fmt, order, bool(range_reduced)), bool(range_reduced), flush_to_zero)
    if variant != "faithful":
        raise ValueError(f"Variant must be faithful or taylor, not {variant!r}")
    m, tables = p.module, exponential_tables(fmt)
    f, e = fmt.fraction_bits, fmt.exponent_bits
    fraction, exponent = a[:f], a[f:f + e]
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

    # log2 e times the significand.
    columns = [[] for _ in range(tables.product_width)]
    place = 0
    for n, (length, table) in enumerate(zip(tables.chunks, tables.multiples, strict=True)):
        multiple, = _look_up(m, fraction[place:place + length], [table], f"multiple_{n}")
        _put(columns, multiple, 0, length + 1)
        place += length
    if tables.subnormal_operands:
        _put(columns, [normal if tables.implicit >> k & 1 else None for k in range(tables.implicit.bit_length())], 0, 2)
    p.product = _sum(p, columns, "product", len(tables.chunks))

    # Into fixed point.
    size = tables.whole_bits + tables.fraction_bits
    word = place_by_exponent(m, p.product, p.exponent, range(tables.lowest, tables.highest + 1), tables.shift, size)
    p.word = word ^ p.sign.replicate(size)
    p.cut(12)

    # The exponent of the result. Below the normal range it is that of the subnormals, and the significand moves right.
    part, whole = p.word[:tables.fraction_bits], p.word[tables.fraction_bits:]
    magnitude = wire(m, whole ^ p.sign.replicate(len(whole)), "magnitude")
    field = (Cat(whole, p.sign).as_signed() + fmt.bias)[:e]
    steps = wire(m, magnitude + 3, "steps")  # 2**(e - 1) more than the distance to the right
    p.low = p.sign & steps[e - 1:].any()
    p.field = field & ~p.low.replicate(e)
    reach = fmt.precision.bit_length()
    p.right = (steps if reach <= e - 1 else steps - (1 << (e - 1)))[:reach] & p.low.replicate(reach)
    p.zero = p.sign & (p.large | (magnitude >= fmt.bias + fmt.precision - 1))
    p.infinite = ~p.sign & (p.large | magnitude[e - 1:].any())
    value = _power(p, part, tables)

    # One rounding.
    guard = tables.value_bits - f
    if flush_to_zero:
        # What is not flushed but just below the normal range for the tables is the smallest normal number.
        below = wire(m, p.right.any(), "below")
        p.kept, p.up = value[guard:] & ~below.replicate(f), value[guard - 1] & ~below
        p.result_field = Cat(p.field[0] | p.low, p.field[1:])
        p.vanish = p.tiny
    else:
        moved = _shift_right(m, Cat(value, Const(1, 1)), p.right, fmt.precision + guard)
        p.kept, p.up = moved[guard:guard + f], moved[guard - 1]
        p.result_field = Cat(p.field[0] | (moved[guard + f] & p.low), p.field[1:])
        p.vanish = p.zero
        p.cut(2 * reach)
    rounded = wire(m, Cat(p.kept, p.result_field) + p.up, "rounded")
    special = wire(m, p.infinite | p.nan, "special")
    plain = wire(m, ~(special | p.vanish), "plain")
    return Cat((rounded[:f] & plain.replicate(f)) | Cat(Const(0, f - 1), p.nan),
               (rounded[f:f + e] & plain.replicate(e)) | special.replicate(e), Const(0, 1))


def _power(p, word, tables):
    """``2**x - 1`` of a fraction, ``tables.value_bits`` long."""
    chords = tables.power
    if not isinstance(chords, Chords):
        return piecewise(p.part("power"), word, table=chords)[:tables.value_bits]
    m, size, top = p.module, chords.value_bits, chords.slope_bits - 1
    rest = chords.fraction_bits - chords.index_bits
    # The uppermost bit of a slope counts negative: its row is inverted, which adds a constant.
    kept = range(max(chords.drop - top, 0), chords.factor_bits)
    constant = sum(1 << (j + top - chords.drop) for j in kept)
    starts = [(start - constant) % (1 << size) for start in chords.starts]
    slopes = [slope % (1 << chords.slope_bits) for slope in chords.slopes]
    p.start, p.slope = _look_up(m, word[rest:], [starts, slopes], "chord")
    p.word_here = word
    p.cut(chords.index_bits + 2)
    columns = [[] for _ in range(size)]
    _put(columns, p.word_here, size - chords.fraction_bits, 0)
    _put(columns, p.start, 0, 0)
    low = p.word_here[rest - chords.factor_bits:rest]
    for i in range(chords.slope_bits):
        row = [wire(m, ~(p.slope[i] & bit) if i == top else p.slope[i] & bit, f"row_{i}_{j}") for j, bit in enumerate(low)]
        _put(columns, row[max(chords.drop - i, 0):], max(i - chords.drop, 0), 1)
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
        p.quotient = to_integer(p, step(p.x, Const(constants.log2_e, width), Const(0, width), "scale"), fmt=fmt,
                                width=constants.quotient_bits, signed=True, name="nearest").as_signed()
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
    """A signed integer, but not the lowest of its width, as a number with the other sign."""
    size = len(integer) - 1
    magnitude = ((integer[:size] ^ integer[-1].replicate(size)) + integer[-1])[:size]
    return Cat(from_integer(m, magnitude, fmt=fmt, signed=False, name=name)[:-1], ~integer[-1])


def _kind(m, a, fmt, constants):
    """Of an operand: NaN; too large for a reduction; negative."""
    exponent = a[fmt.fraction_bits:-1]
    return Cat(exponent.all() & a[:fmt.fraction_bits].any(), exponent > constants.highest, a[-1])


def _scale(m, a, quotient, kind, fmt, flush_to_zero):
    """A positive normal number, about 1, times ``2**quotient``, rounded to nearest even below the normal range."""
    f, e, size = fmt.fraction_bits, fmt.exponent_bits, fmt.precision
    exponent = wire(m, a[f:f + e] + quotient, "scaled_exponent")
    below = wire(m, 1 - exponent, "below")
    low = wire(m, ~(below[-1] | (below == 0)), "low")
    reach = (size + 1).bit_length()
    right = wire(m, Mux(below > size + 1, size + 1, below)[:reach] & low.replicate(reach), "right")
    moved = wire(m, Cat(Const(0, size + 1), a[:f], 1) >> right, "moved")
    up = moved[size] & (moved[:size].any() | moved[size + 1])
    kept = moved[size + 1:]
    rounded = wire(m, kept + up, "rounded")
    nan, large, sign = kind
    infinite = (large & ~sign) | (~low & (exponent >= fmt.exponent_max))
    zero = (large & sign) | (low if flush_to_zero else 0)
    number = Mux(low, rounded, Cat(a[:f], exponent[:e]))[:f + e]
    return Mux(nan, fmt.nan, Mux(large | infinite, Mux(sign & large, 0, fmt.infinity), Mux(zero, 0, number)))[:fmt.width]


class IterativeExponential(wiring.Component):
    """Taylor's series with a single fused multiply-add, as CENT's exponent unit: one coefficient per clock cycle.

    The results are those of :func:`exponential` with ``variant="taylor"``.

    Timing: a result is valid ``order + 1`` cycles after its operand was taken (11 for order 10), with ``range_reduced``
    after ``order + 5``. The next operand is taken in the cycle in which the result is, so that ``i.ready`` depends on
    ``o.ready`` combinationally; ``o`` depends on registers only.

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
        If there is no such series (see :func:`~bankside.constraints.elementary_exp.taylor_constants`).
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
                        quotient.eq(to_integer(m, total, fmt=fmt, width=constants.quotient_bits, signed=True,
                                               name="nearest_").as_signed()),
                        total.eq(constants.coefficients[-1]),
                    ]
                with m.Case(2, 3):
                    m.d.comb += [
                        a.eq(multiple),
                        b.eq(Mux(step[0], constants.ln_2_rest, constants.ln_2)),
                        c.eq(x),
                    ]
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
    """``exp(value - maximum)`` of two numbers with ``maximum >= value``; result in 0..1.

    The difference is taken exactly and truncated to fixed point; the power of two of its multiple of log2 e comes from
    a table of chords (:class:`~bankside.constraints.arithmetic.ExpTable`); the result is rounded once, to nearest even.
    Error at most 1 ulp, never increasing with the difference, exactly 1 at 0. ``value`` -infinity gives 0; NaN, and
    +infinity minus +infinity, give NaN.

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
        If ``score`` is not a format or ``table`` not an :class:`ExpTable`.
    """
    _check_format(score, "Format of the scores")
    if not isinstance(table, ExpTable):
        raise TypeError(f"Table must be an ExpTable, not {table!r}")
    _difference(p, maximum, value, score, table)
    rounded = _negative_power(p, table)
    io = table.io
    return Mux(p.nan, io.nan, Mux(p.zero, 0, rounded))[:io.width]


@operator
def scaled_difference(p, maximum, value, *, score, table):
    """``(maximum - value) * log2 e`` of two finite numbers with ``maximum >= value``, truncated to fixed point.

    The first half of :func:`softmax_exp`, for sums of exponents that are rounded to a power of two only later.

    Parameters
    ----------
    As in :func:`softmax_exp`.

    Returns
    -------
    scaled, far : unsigned fixed point with ``table.fraction_bits``; and whether the difference did not fit. Both mean
        nothing if an operand is infinite or NaN.
    """
    _check_format(score, "Format of the scores")
    _difference(p, maximum, value, score, table)
    return p.scaled, p.x.all()


@operator
def negative_power(p, scaled, *, table):
    """``2**-scaled`` of unsigned fixed point with ``table.fraction_bits``, in ``table.io``: the other half of
    :func:`softmax_exp`. Error at most 1 ulp, exactly 1 at 0, never increasing.

    Returns
    -------
    value of ``table.io.width`` bits
    """
    p.scaled = scaled
    return _negative_power(p, table)


def _difference(p, maximum, value, score, table):
    m, fmt = p.module, score

    # Which exponent is larger, and by how much.
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

    # Align; what is shifted out of the smaller one stays visible as its last bit. Subtract.
    small = Cat(Const(0, guard), p.small)
    lost = Const(0, 1)
    for k in reversed(range(limit)):
        lost = lost | (p.gap[k] & small[:1 << k].any())
        small = wire(m, Mux(p.gap[k], small[1 << k:], small), f"aligned_{k}")
    p.small_aligned = Cat(small[0] | lost, small[1:])
    p.cut(12)
    large = Cat(Const(0, guard), p.large)
    # Never negative: large - small, negated if the larger one is a positive value or a negative maximum; it never is
    # with equal signs and different exponents, so only equal exponents may have to be exchanged. Different signs: add.
    apart = wire(m, p.sign_a ^ p.sign_b, "apart")
    exchange = wire(m, p.sign_a ^ p.swap, "exchange")
    minuend = Mux(exchange, p.small_aligned, large)
    subtrahend = Mux(exchange, large, p.small_aligned) ^ (~apart).replicate(size)
    total = wire(m, Cat(~apart, minuend, 0) + Cat(~apart, subtrahend, ~apart), "total")
    p.difference = total[1:size + 2]
    p.cut(10)

    # To fixed point, saturating.
    bits = table.integer_bits + table.fraction_bits
    left = table.fraction_bits - fmt.bias - fmt.fraction_bits - guard  # + exponent: left shift
    most = bits + size + 1
    # A right shift of the difference placed `bits` to the left: there any difference but 0 saturates.
    above = wire(m, (bits - left) - p.top, "above")
    right = wire(m, Mux(above[-1], 0, Mux(above[:-1] > most, most, above[:-1]))[:most.bit_length()], "right")
    placed = Cat(Const(0, bits), p.difference)
    for k in reversed(range(len(right))):
        placed = wire(m, Mux(right[k], placed[1 << k:], placed), f"placed_{k}")
    p.x = placed[:bits] | placed[bits:].any().replicate(bits)
    p.cut(18)

    # Times log2 e.
    # As sums of shifted words, half of them before a cut; synthesis makes carry-save adders of them. Written bit by bit the
    # unit would be smaller by a tenth, but its simulation ten times as long.
    digits = _signed_digits(table.constant)
    half = len(digits) // 2
    p.scaled_low, p.scaled_high = _shifted_sum(p.x, digits[:half]), _shifted_sum(p.x, digits[half:])
    p.cut(24)
    p.scaled = (p.scaled_low + p.scaled_high)[table.constant_bits:bits + table.constant_bits + 1]
    p.cut(16)


def _negative_power(p, table):
    m, io = p.module, table.io

    # The chord.
    low_bits = table.fraction_bits - table.index_bits
    p.whole = p.scaled[table.fraction_bits:]
    p.start, p.slope = _look_up(m, p.scaled[low_bits:table.fraction_bits], [table.values[:-1], table.slopes], "chord")
    p.low = p.scaled[:low_bits]
    p.cut(table.index_bits + 2)
    p.fall = (p.slope * p.low)[low_bits:]
    p.cut(16)
    p.power = (p.start - p.fall)[:table.value_bits + 1]
    p.cut(8)

    # To the result's grid (below the normal range it stops following the exponent), and round.
    normal = io.bias - 2
    reach = (table.value_bits + 1).bit_length()
    distance = wire(m, p.whole - normal, "distance")
    p.subnormal = ~distance[-1]
    below = Mux(distance[:-1] > table.value_bits + 1, table.value_bits + 1, distance[:-1])[:reach]
    below = wire(m, below & p.subnormal.replicate(len(below)), "below")
    drop = table.value_bits - io.precision
    moved, lost = p.power, Const(0, 1)
    for k in reversed(range(len(below))):
        lost = lost | (below[k] & moved[:1 << k].any())
        moved = wire(m, Mux(below[k], moved[1 << k:], moved), f"shifted_{k}")
    p.kept = moved[drop:]
    p.up = moved[drop - 1] & (moved[:drop - 1].any() | lost | moved[drop])
    p.field = (normal - p.whole)[:io.exponent_bits] & ~p.subnormal.replicate(io.exponent_bits)
    p.cut(16)
    rounded = wire(m, (Cat(Const(0, io.fraction_bits), p.field) + p.kept + p.up)[:io.width], "rounded")
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
        super().__init__({
            "maximum": In(score.width),
            "value": In(score.width),
            "result": Out(table.io.width),
        })

    def elaborate(self, platform):
        m = Module()
        # The last register is the result's own.
        result = softmax_exp(m, self.maximum, self.value, score=self._score, table=self._table, depth=self.LATENCY - 1)
        m.d.sync += self.result.eq(result)
        return m


# Pieces --------------------------------------------------------------------------------------------------------------


def place_by_exponent(m, value, exponent, exponents, shift, size):
    """``value`` shifted left (negative: right) by ``shift(exponent)``, the lower ``size`` bits of that.

    ``exponents``: range of exponents, with ``shift`` growing by 1 from each to the next; 0 for those well below,
    unspecified for those above. The lower bits of the exponent shift, the upper ones then choose among a few places.
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
    """The row of a table that ``index`` chooses: one value for each column."""
    signals = [Signal(max(max(column).bit_length(), 1), name=f"{name}_{n}") for n, column in enumerate(columns)]
    with m.Switch(index):
        for number, row in enumerate(zip(*columns, strict=True)):
            with m.Case(number):
                m.d.comb += [signal.eq(value) for signal, value in zip(signals, row, strict=True)]
    return signals


def _put(columns, bits, place, arrival):
    """Add bits to the columns of a sum, the first one at ``place``; those beyond the last column are dropped."""
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
    """``value`` shifted right, without what lies below; at least ``width`` bits long."""
    for k in reversed(range(len(amount))):
        value = wire(m, Mux(amount[k], value[1 << k:], value), f"shifted_{k}")
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
    """``x`` times the number that ``digits`` stand for; signed."""
    total = Const(0, 1)
    for sign, place in digits:
        term = Cat(Const(0, place), x) if place else x
        total = total + term if sign > 0 else total - term
    return total
