"""Conversion between formats, to and from integers, and rounding to whole numbers."""

from operator import index

from amaranth import *

from ...constraints.core.formats import FloatFormat
from .aligned import leading_zeros
from .pipeline import operator
from .recurrence import increment, nonzero, normalise, pack, shift_right, take_apart

__all__ = ["convert", "from_integer", "round_to_integral", "to_integer"]


@operator
def convert(p, a, *, source, target, flush_to_zero=False):
    """A number in another format, rounded to nearest, ties to even, as IEEE 754 says.

    The result is exact if ``target`` has the larger exponent and fraction. A number that is too large becomes an
    infinity. Every NaN becomes the canonical quiet NaN. Signs are kept. The hardware contains only the shift that the
    two formats need. It shifts right if ``target`` has the smaller exponent, and left if it has the larger one. There
    is no shifter if the exponents are equally wide, or with ``flush_to_zero``.

    Parameters
    ----------
    p : :class:`Pipeline`, or :class:`Module` (see :func:`operator`)
    a : value of ``source.width`` bits
    source, target : :class:`FloatFormat`
    flush_to_zero : :class:`bool`
        A subnormal operand counts as a zero of its sign. A result that is below the smallest normal number of
        ``target`` before rounding becomes a zero of its sign.

    Returns
    -------
    value of ``target.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If one of the two formats is not a :class:`FloatFormat`.
    :exc:`ValueError`
        If the operand is not as wide as its format.
    """
    if not isinstance(target, FloatFormat):
        raise TypeError(f"Format must be a FloatFormat, not {target!r}")
    x = take_apart(a, source, flush_to_zero=flush_to_zero)
    p.keep(sign=x.sign, nan=x.nan, zero=x.zero)
    offset = target.bias - source.bias
    lowest, highest = 1 + offset, source.exponent_max - 1 + offset  # of finite normal numbers, before rounding
    p.infinite = x.inf | (
        x.exponent > source.exponent_max - 1 - (highest - target.exponent_max + 1)
        if highest >= target.exponent_max
        else 0
    )
    exponent = x.exponent + offset
    significand, lost = x.significand, Const(0, 1)
    # Add room for a guard bit.
    low = max(source.precision - target.precision, 1 if lowest < 1 and not flush_to_zero else 0)
    pad = low + target.precision - source.precision
    if lowest < 1:
        # The subnormal range of the target begins above the subnormal range of the source: shift right.
        p.tiny = exponent < 1
        p.field = exponent[: target.exponent_bits] & (~p.tiny).replicate(target.exponent_bits)
        if flush_to_zero:
            p.zero = p.zero | p.tiny
        else:
            size = target.precision + 1
            p.shift = Mux(exponent < 1 - size, size, 1 - exponent)[: size.bit_length()] & p.tiny.replicate(
                size.bit_length()
            )
            p.significand = Cat(Const(0, pad), significand)
            p.cut(8)
            p.significand, p.lost = shift_right(p.module, p.significand, p.shift)
            p.cut(2 * size.bit_length() + 2)
            significand, lost = p.significand, p.lost
            pad = 0
    elif offset == 0 or flush_to_zero:
        p.field = exponent[: target.exponent_bits] & significand[-1].replicate(target.exponent_bits)
    else:
        # Subnormal numbers of the source are normal in the target, down to the target's own subnormal range.
        p.biased = exponent
        if offset >= source.fraction_bits:
            p.significand, p.zeros = normalise(p.module, significand)
        else:
            p.subnormal = significand
            limit = Cat(*(significand[i] | (i == source.fraction_bits - offset) for i in range(source.precision)))
            p.zeros = leading_zeros(limit)
            p.cut(2 * source.precision.bit_length())
            p.significand = (p.subnormal << p.zeros)[: source.precision]
        p.cut(2 * source.precision.bit_length() + 2)
        p.field = (p.biased - p.zeros)[: target.exponent_bits] & p.significand[-1].replicate(target.exponent_bits)
        significand = p.significand
    word = Cat(Const(0, pad), significand)
    kept = Cat(word[low:-1], p.field)
    if low:
        p.kept = kept
        p.up = word[low - 1] & (nonzero(word[: low - 1]) | lost | word[low])
        p.cut(4)
        p.kept = increment(p.module, p.kept, p.up)
        p.cut(2 + 2 * target.width.bit_length())
        kept = p.kept
    return pack(p.sign, kept, fmt=target, nan=p.nan, infinite=p.infinite & ~p.nan, zero=p.zero)


@operator
def to_integer(p, a, *, fmt, width, signed, flush_to_zero=False):
    """A number rounded to an integer: to nearest, ties to even.

    A number that does not fit becomes the nearest integer that does. Numbers that round to less than the smallest
    integer become the smallest integer. For unsigned integers these are negative numbers. Infinities follow the same
    rule. NaN becomes the largest integer.

    Parameters
    ----------
    p : :class:`Pipeline`, or :class:`Module` (see :func:`operator`)
    a : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    width : :class:`int`
        Bits of the integer, 2..64, its sign included.
    signed : :class:`bool`
        Whether the integer is signed (two's complement) or unsigned.
    flush_to_zero : :class:`bool`
        Subnormal numbers count as zeros. This changes a result only in formats with 2 exponent bits.

    Returns
    -------
    value of ``width`` bits, of unsigned shape

    Raises
    ------
    :exc:`TypeError`
        If ``fmt`` is not a format or ``width`` is not an integer.
    :exc:`ValueError`
        If the operand is not as wide as the format, or the integer's width is out of range.
    """
    x = take_apart(a, fmt)
    width = index(width)
    if width not in range(2, 65):
        raise ValueError(f"Width must be 2 to 64 bits, not {width!r}")
    if flush_to_zero and fmt.bias == 1:
        # Only in this case a subnormal number can be large enough to become 1.
        a = Cat(
            a[: fmt.fraction_bits] & a[fmt.fraction_bits : -1].any().replicate(fmt.fraction_bits),
            a[fmt.fraction_bits :],
        )
        x = take_apart(a, fmt)
    # Number of bits before the point: all bits of the integer, or as many as the format can have.
    size = min(width, fmt.bias + 1)
    p.keep(sign=x.sign, nan=x.nan, large=x.exponent > fmt.bias + size - 1)
    # Shift distance: from the top of these bits down to the place below the guard bit.
    count = (size + 1).bit_length()
    shift = (fmt.bias + size - 1 - x.exponent)[:count]
    p.shift = Mux(x.exponent < fmt.bias - 1, size + 1, shift) if fmt.bias > 1 else shift
    length = max(size + 1, fmt.precision)
    p.word = Cat(Const(0, length - fmt.precision), x.significand)
    p.cut(8)
    p.word, p.lost = shift_right(p.module, p.word, p.shift)
    low = length - size
    p.cut(2 * count + 2)
    up = p.word[low - 1] & (nonzero(p.word[: low - 1]) | p.lost | p.word[low])
    p.up, p.whole = up, p.word[low:]
    p.cut(4)
    # A negative number becomes its complement, plus one unless its magnitude is rounded up.
    minus = p.sign if signed else Const(0, 1)
    total = increment(p.module, p.whole ^ minus.replicate(size), p.up ^ minus)
    p.total = total
    p.cut(2 + 2 * size.bit_length())
    minus = p.sign if signed else Const(0, 1)
    number, carry = p.total[:size], p.total[size]
    top = Const(0, 0) if size == width else Cat(carry ^ minus, (minus & ~carry).replicate(width - size - 1))
    result = Cat(number, top)
    if size == width:
        beyond = Mux(minus, ~carry & ~number[-1], carry | number[-1]) if signed else carry
    else:
        beyond = carry & ~minus if signed and size == width - 1 else Const(0, 1)
    negative = p.sign & ~p.nan
    limit = Cat((~negative).replicate(width - 1), negative if signed else ~negative)
    exceeds = p.large | beyond | (Const(0, 1) if signed else negative)
    return Mux(exceeds, limit, result)


@operator
def from_integer(p, a, *, fmt, signed):
    """An integer as a number, rounded to nearest, ties to even.

    An integer that is too large becomes an infinity. 0 becomes +0. No result is subnormal.

    Parameters
    ----------
    p : :class:`Pipeline`, or :class:`Module` (see :func:`operator`)
    a : value of 2..64 bits
    fmt : :class:`FloatFormat`
    signed : :class:`bool`
        Whether the integer is signed (two's complement) or unsigned.

    Returns
    -------
    value of ``fmt.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If ``fmt`` is not a format.
    :exc:`ValueError`
        If the integer's width is out of range.
    """
    if not isinstance(fmt, FloatFormat):
        raise TypeError(f"Format must be a FloatFormat, not {fmt!r}")
    width = len(a)
    if width not in range(2, 65):
        raise ValueError(f"Integer must have 2 to 64 bits, not {width}")
    # A negative integer is complemented, not negated, so a one in the last place is missing. Ones shifted in below it,
    # and another condition for rounding up, correct this.
    size = width - 1 if signed else width
    p.sign = a[width - 1] if signed else Const(0, 1)
    word = a[:size] ^ p.sign.replicate(size)
    # The complement of -1 is 0, which is shifted by its whole size. `normalise` can't do this for a power of two.
    while signed and size & (size - 1) == 0:
        word, size = Cat(word, 0), size + 1
    p.word = word
    p.cut(2)
    p.word, p.zeros = normalise(p.module, p.word, fill=p.sign)
    p.cut(3 * size.bit_length())
    exponent = fmt.bias + size - 1 - p.zeros
    p.field = exponent[: fmt.exponent_bits] & p.word[-1].replicate(fmt.exponent_bits)
    p.infinite = (exponent >= fmt.exponent_max) & p.word[-1] if size - 1 > fmt.bias else Const(0, 1)
    length = max(size, fmt.precision + 1)
    word = Cat(p.sign.replicate(length - size), p.word)
    low = length - fmt.precision
    guard, rest, odd = word[low - 1], word[: low - 1], word[low]
    p.up = Mux(p.sign, guard | (~nonzero(~rest) & odd), guard & (nonzero(rest) | odd))
    p.kept = Cat(word[low:-1], p.field)
    p.cut(6)
    none = Const(0, 1)
    p.kept = increment(p.module, p.kept, p.up)
    p.cut(2 + 2 * fmt.width.bit_length())
    return pack(p.sign, p.kept, fmt=fmt, nan=none, infinite=p.infinite, zero=none)


@operator
def round_to_integral(p, a, *, fmt, flush_to_zero=False):
    """A number rounded to a whole number in the same format: to nearest, ties to even.

    Signs are kept, for zeros too. Infinities count as whole. Every NaN becomes the canonical quiet NaN. In a format
    with ``fmt.bias < fmt.fraction_bits``, a number may round up to infinity.

    Parameters
    ----------
    p : :class:`Pipeline`, or :class:`Module` (see :func:`operator`)
    a : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    flush_to_zero : :class:`bool`
        Subnormal numbers count as zeros. This changes a result only in formats with 2 exponent bits.

    Returns
    -------
    value of ``fmt.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If ``fmt`` is not a format.
    :exc:`ValueError`
        If the operand is not as wide as the format.
    """
    take_apart(a, fmt)
    size, bias = fmt.fraction_bits, fmt.bias
    p.bits = a[:]
    fraction, exponent = a[:size], a[size:-1]
    p.special = exponent.all()
    p.nan = p.special & fraction.any()
    # Below 1: only a number above one half becomes 1. With bias 1 such a number is subnormal.
    p.small = exponent < bias
    if bias > 1:
        p.one = (exponent == bias - 1) & fraction.any()
    else:
        p.one = ~exponent.any() & fraction[-1] & nonzero(fraction[:-1]) if not flush_to_zero else Const(0, 1)
    # Fraction bits below the point.
    whole = (exponent + 1)[: fmt.exponent_bits - 1]
    below = _less_than(whole, size)
    p.mask = Cat(*(below[size - i] & ~p.special for i in range(size)))
    p.cut(8)
    bits, mask = p.bits, Cat(p.mask, Const(0, 1))
    guard = (bits[:size] & mask[:size] & ~mask[1:]).any()
    rest = (bits[:size] & mask[1:]).any()
    odd = (bits[1 : size + 1] & mask[:size] & ~mask[1:]).any()
    p.up = guard & (rest | odd)
    p.cut(8)
    # With ones below the point, the carry reaches the last place before the point. Then the ones are cleared.
    bits = Cat(p.bits[:size] | p.mask, p.bits[size:-1])
    total = increment(p.module, bits, p.up)
    kept = Cat(total[:size] & ~p.mask, total[size:-1])
    p.kept = Mux(p.small, Mux(p.one, bias << size, 0), kept)[: fmt.width - 1]
    p.cut(4 + 2 * fmt.width.bit_length())
    return pack(p.bits[-1], p.kept, fmt=fmt, nan=p.nan, infinite=Const(0, 1), zero=Const(0, 1))


def _less_than(value, limit):
    """``[value < n for n in range(limit + 1)]``."""
    if not len(value):
        return [Const(0, 1), *[Const(1, 1)] * limit]
    half = 1 << (len(value) - 1)
    low = _less_than(value[:-1], min(limit, half))
    return [low[n] & ~value[-1] if n <= half else low[min(n - half, half)] | ~value[-1] for n in range(limit + 1)]
