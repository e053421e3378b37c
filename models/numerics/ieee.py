"""IEEE 754 operations on arrays of bit patterns: each result rounded once, to nearest, ties to even.

Every function takes integer arrays of bit patterns (below ``2**fmt.width``) that broadcast against each other, and returns
int64 arrays. Subnormal numbers are supported. Every NaN result is the canonical quiet NaN. With ``flush_to_zero``,
subnormal operands count as zeros of their sign. A result whose exact value lies below the smallest normal number then
becomes a zero of its sign: tiny before rounding.

There are two ways to a result, equal in every bit. Formats of up to 9 exponent and 24 fraction bits go through
binary64, where their operands are exact. The rounding to binary64 never misleads the rounding to the format; comments
at each operation give the reason. Wider formats use integers of 62 bits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...constraints.core.formats import FloatFormat
from .formats import bit_length, decode, order_key, round_to_format

__all__ = [
    "add",
    "compare",
    "convert",
    "divide",
    "fma",
    "from_integer",
    "is_nan",
    "maximum",
    "minimum",
    "multiply",
    "round_to_integral",
    "square_root",
    "subtract",
    "to_integer",
]

#: Items that are processed at a time: a dozen arrays of them stay in a core's cache.
BLOCK = 8192


def multiply(a: Any, b: Any, fmt: FloatFormat, *, flush_to_zero: bool = False) -> np.ndarray:
    """a b."""
    if not _binary64(fmt):
        return _blocks(lambda a, b: _multiply_integers(a, b, fmt, flush_to_zero), a, b)
    # Two significands of p <= 25 bits make a product of 50, and no product leaves the range: exact.
    value = _decoder(fmt, flush_to_zero)
    return _blocks(lambda a, b: _round(value(a) * value(b), fmt, flush_to_zero), a, b)


def add(a: Any, b: Any, fmt: FloatFormat, *, subtract: Any = False, flush_to_zero: bool = False) -> np.ndarray:
    """a + b, or a - b where ``subtract`` (one truth value or an array of them) is set."""
    if subtract is not False:
        b = np.asarray(b) ^ np.asarray(subtract, bool).astype(np.int64) * fmt.sign_mask
    if not _binary64(fmt):
        return _blocks(lambda a, b: _add_integers(a, b, fmt, flush_to_zero), a, b)
    # A sum is either exact in 53 bits, or its smaller term lies far below the larger term. Then the smaller term only
    # decides on which side of a midpoint of the format the sum lies, and rounding to binary64 keeps clear of the
    # midpoint: 53 >= 2 p + 2 (Figueroa 1995). Sums below the smallest normal number are on the format's grid, so they
    # are exact.
    value = _decoder(fmt, flush_to_zero)
    return _blocks(lambda a, b: _round(value(a) + value(b), fmt, flush_to_zero), a, b)


def subtract(a: Any, b: Any, fmt: FloatFormat, *, flush_to_zero: bool = False) -> np.ndarray:
    """a - b."""
    return add(a, b, fmt, subtract=True, flush_to_zero=flush_to_zero)


def fma(
    a: Any, b: Any, c: Any, fmt: FloatFormat, *, acc: FloatFormat | None = None, flush_to_zero: bool = False
) -> np.ndarray:
    """a b + c, rounded once; c and the result are in ``acc`` (None: ``fmt``)."""
    acc = acc or fmt
    if not (_binary64(fmt) and _binary64(acc)):
        return _blocks(lambda a, b, c: _fma_integers(a, b, c, fmt, acc, flush_to_zero), a, b, c)
    factor, term = _decoder(fmt, flush_to_zero), _decoder(acc, flush_to_zero)

    def block(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        product, addend = factor(a) * factor(b), term(c)  # both exact
        total = product + addend
        # The exact error of the sum (Knuth's two-sum).
        part = total - product
        error = (product - (total - part)) + (addend - part)
        # The sum is rounded to odd: towards zero, with the last bit set if bits were lost. With 53 >= p + 2 bits, it
        # rounds to the format as the exact sum does. Comparisons with the NaN that infinities leave behind are false.
        bits = total.view(np.int64)
        inexact = (error < 0) | (error > 0)
        bits -= inexact & ((error < 0) != (total < 0))
        bits |= inexact
        return _round(total, acc, flush_to_zero)

    return _blocks(block, a, b, c)


def divide(a: Any, b: Any, fmt: FloatFormat, *, flush_to_zero: bool = False) -> np.ndarray:
    """a / b. A number divided by zero is an infinity with the sign of the quotient; zero divided by zero is NaN."""
    if not _binary64(fmt):
        return _blocks(lambda a, b: _divide_integers(a, b, fmt, flush_to_zero), a, b)
    # A quotient that is no midpoint of the format (nor the smallest normal number) keeps a distance from every midpoint
    # m. m has at most p + 1 bits, and a / b - m = (a - m b) / b. Here a - m b is at least one unit of a number of 2 p +
    # 1 bits. Half a unit of binary64, a part of 2**-53, is less.
    value = _decoder(fmt, flush_to_zero)
    return _blocks(lambda a, b: _round(value(a) / value(b), fmt, flush_to_zero), a, b)


def square_root(a: Any, fmt: FloatFormat, *, flush_to_zero: bool = False) -> np.ndarray:
    """Square root. The root of -0 is -0; other negative numbers give NaN."""
    if not _binary64(fmt):
        return _blocks(lambda a: _square_root_integers(a, fmt, flush_to_zero), a)
    # A root that is no midpoint m (p + 1 bits, as an integer): a - m**2 is at least 1, so the root is 2**-(p + 2) away
    # from m or more; half a unit of binary64 is 2**(p - 53) there, which is less for p <= 25.
    value = _decoder(fmt, flush_to_zero)
    return _blocks(lambda a: _round(np.sqrt(value(a)), fmt, flush_to_zero), a)


def round_to_integral(a: Any, fmt: FloatFormat, *, flush_to_zero: bool = False) -> np.ndarray:
    """The nearest integer (ties to even) as a number of the format, with the sign of ``a``."""
    value = _decoder(fmt, flush_to_zero)
    return _blocks(lambda a: _round(np.rint(value(a)), fmt, flush_to_zero), a)


def convert(a: Any, source: FloatFormat, target: FloatFormat, *, flush_to_zero: bool = False) -> np.ndarray:
    """A number of the format ``source`` in the format ``target``."""
    value = _decoder(source, flush_to_zero)  # exact: every format is a subset of binary64
    return _blocks(lambda a: _round(value(a), target, flush_to_zero), a)


def to_integer(a: Any, fmt: FloatFormat, width: int, signed: bool = True) -> np.ndarray:
    """The nearest integer (ties to even) of ``width`` bits, 1 to 64.

    Numbers beyond the range, infinities included, become the nearest end of the range. NaN becomes the largest integer.
    Results are the integers' values. Unsigned integers of 64 bits are returned as int64 of the same bits.
    """
    if not 1 <= width <= 64:
        raise ValueError(f"Width must be from 1 to 64, not {width!r}")
    top = width - bool(signed)
    largest = np.int64(-1 if top == 64 else (1 << top) - 1)
    smallest = np.int64(-(1 << top) if signed else 0)
    value = _decoder(fmt, False)

    def block(a: np.ndarray) -> np.ndarray:
        real = np.rint(value(a))  # exact
        high, low = ~(real < 2.0**top), real < (-(2.0**top) if signed else 0.0)  # NaN is high
        real[high | low] = 0
        if top == 64:
            # Beyond the range of int64: the low half of the numbers from 2**63, and their top bit.
            half = real >= 2.0**63
            integers = (real - half * 2.0**63).astype(np.int64) ^ (half.astype(np.int64) << 63)
        else:
            integers = real.astype(np.int64)
        integers[high], integers[low] = largest, smallest
        return integers

    return _blocks(block, a)


def from_integer(a: Any, fmt: FloatFormat, *, signed: bool = True) -> np.ndarray:
    """The number nearest to an integer; 0 is +0.

    ``a`` has values of int64. It has values of uint64 if it has this type, or, with ``signed=False``, as the bits of
    int64.
    """
    a = np.asarray(a)
    if a.dtype.kind == "u" or not signed:
        signed, a = False, a.astype(np.uint64).view(np.int64)

    def block(a: np.ndarray) -> np.ndarray:
        negative = (a < 0) & signed
        magnitude = np.where(negative, -a, a).view(np.uint64)
        # If there are more than 62 bits, the last kept bit stands for the two below it.
        wide = magnitude >> np.uint64(62) != 0
        short = magnitude >> np.uint64(2) | (magnitude & np.uint64(3) != 0)
        return round_to_format(negative, np.where(wide, short, magnitude).view(np.int64), 2 * wide, fmt)

    return _blocks(block, a)


# Comparisons -------------------------------------------------------------------------------------------------------


def is_nan(a: Any, fmt: FloatFormat) -> np.ndarray:
    """Whether bit patterns are NaN: a bool array."""
    return (np.asarray(a) & (fmt.sign_mask - 1)) > fmt.infinity


def maximum(a: Any, b: Any, fmt: FloatFormat) -> np.ndarray:
    """maximumNumber of IEEE 754-2019: the larger, with +0 above -0. A number and a NaN give the number."""
    return _blocks(lambda a, b: _choose(a, b, order_key(a, fmt) >= order_key(b, fmt), fmt), a, b)


def minimum(a: Any, b: Any, fmt: FloatFormat) -> np.ndarray:
    """minimumNumber of IEEE 754-2019: the smaller, with -0 below +0. A number and a NaN give the number."""
    return _blocks(lambda a, b: _choose(a, b, order_key(a, fmt) <= order_key(b, fmt), fmt), a, b)


def _choose(a: np.ndarray, b: np.ndarray, first: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    a_nan, b_nan = is_nan(a, fmt), is_nan(b, fmt)
    return np.where(a_nan & b_nan, fmt.nan, np.where((first | b_nan) & ~a_nan, a, b))


def compare(a: Any, b: Any, fmt: FloatFormat) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Bool arrays ``(less, equal, greater, unordered)``, exactly one of them true; zeros are equal."""

    def block(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        unordered = is_nan(a, fmt) | is_nan(b, fmt)
        below, above = order_key(a, fmt), order_key(b, fmt)
        equal = (below == above) | ((a | b) & (fmt.sign_mask - 1) == 0)
        return np.where(unordered, 3, np.where(equal, 1, np.where(below < above, 0, 2)))

    kind = _blocks(block, a, b)
    return kind == 0, kind == 1, kind == 2, kind == 3


# Through binary64 --------------------------------------------------------------------------------------------------


def _blocks(function: Callable[..., np.ndarray], *arrays: Any) -> np.ndarray:
    """``function`` of int64 arrays, block by block."""
    operands = [np.asarray(array) for array in arrays]
    for array in operands:
        if array.dtype.kind not in "iu":
            raise TypeError(f"Bit patterns must be integers, not {array.dtype}")
    flags: Any = [["readonly"]] * len(operands) + [["writeonly", "allocate"]]
    with (
        np.nditer(
            [*operands, None],
            ["external_loop", "buffered", "zerosize_ok"],
            flags,
            [np.dtype(np.int64)] * len(flags),
            casting="unsafe",
            buffersize=BLOCK,
        ) as blocks,
        np.errstate(all="ignore"),
    ):
        for *block, result in blocks:
            result[...] = function(*block)
        return blocks.operands[-1]


def _binary64(fmt: FloatFormat) -> bool:
    return fmt.exponent_bits <= 9 and fmt.fraction_bits <= 24


def _values(bits: np.ndarray, fmt: FloatFormat, flush: bool) -> np.ndarray:
    """Values of bit patterns in binary64."""
    magnitude = bits & (fmt.sign_mask - 1)
    # The exponent field at its place in binary64: a number 2**(1023 - bias) times too small, subnormals included.
    with np.errstate(invalid="ignore"):  # patterns like a NaN of binary64 are handled below
        value = (magnitude << (52 - fmt.fraction_bits)).view(np.float64) * 2.0 ** (1023 - fmt.bias)
    if flush:
        value[magnitude < fmt.smallest_normal] = 0.0
    special = magnitude >= fmt.infinity
    if special.any():
        value[special] = np.where(magnitude[special] > fmt.infinity, np.nan, np.inf)
    value.view(np.int64)[...] |= (bits & fmt.sign_mask) << (64 - fmt.width)
    return value


@functools.cache
def _table(fmt: FloatFormat, flush: bool) -> np.ndarray:
    return _values(np.arange(1 << fmt.width), fmt, flush)


def _decoder(fmt: FloatFormat, flush: bool) -> Callable[[np.ndarray], np.ndarray]:
    """A function from bit patterns to values."""
    if fmt.width > 16:
        return lambda bits: _values(bits, fmt, flush)
    table, mask = _table(fmt, flush), (1 << fmt.width) - 1
    return lambda bits: table[bits & mask]


def _round(value: np.ndarray, fmt: FloatFormat, flush: bool) -> np.ndarray:
    """Bits of binary64 values, rounded to nearest, ties to even."""
    drop = 52 - fmt.fraction_bits
    bits = value.view(np.int64)
    magnitude = bits & np.int64((1 << 63) - 1)
    # Add half a unit less one, and one more if the last kept bit is 1. The carry runs on into the exponent.
    packed = magnitude >> drop
    packed &= 1
    packed += magnitude
    packed += (1 << (drop - 1)) - 1
    packed >>= drop
    packed -= (1023 - fmt.bias) << fmt.fraction_bits
    np.minimum(packed, fmt.infinity, out=packed)
    tiny = magnitude.view(np.float64) < 2.0 ** (1 - fmt.bias)
    if tiny.any():
        if flush:
            packed[tiny] = 0
        else:
            # Added to a number whose last bit has the weight of the format's, binary64 rounds to that grid by itself.
            grid = np.float64(2.0 ** (fmt.lsb_exponent + 52))
            np.copyto(packed, (magnitude.view(np.float64) + grid).view(np.int64) - grid.view(np.int64), where=tiny)
    bits = bits >> (64 - fmt.width)
    bits &= fmt.sign_mask
    packed |= bits
    nan = value != value
    if nan.any():
        packed[nan] = fmt.nan
    return packed


# Through integers --------------------------------------------------------------------------------------------------


class _Number(NamedTuple):
    """``(-1)**sign * magnitude * 2**exponent``, an infinity, or NaN."""

    sign: np.ndarray
    magnitude: np.ndarray
    exponent: np.ndarray
    inf: np.ndarray
    nan: np.ndarray


def _number(bits: np.ndarray, fmt: FloatFormat, flush: bool) -> _Number:
    f = decode(bits, fmt)
    magnitude = np.where(f.significand >= fmt.smallest_normal, f.significand, 0) if flush else f.significand
    special = f.inf | f.nan
    return _Number(f.sign, np.where(special, 0, magnitude), f.exponent - fmt.bias - fmt.fraction_bits, f.inf, f.nan)


def _finish(number: _Number, fmt: FloatFormat, flush: bool) -> np.ndarray:
    sign, magnitude, exponent, inf, nan = number
    if flush:
        magnitude = np.where(bit_length(magnitude) + exponent < 2 - fmt.bias, 0, magnitude)
    bits = round_to_format(sign, magnitude, exponent, fmt)
    return np.where(nan, fmt.nan, np.where(inf, fmt.infinity | sign << (fmt.width - 1), bits))


def _product(a: _Number, b: _Number) -> _Number:
    """Exact product, of 56 bits at most."""
    zero = ((a.magnitude == 0) & ~a.inf) | ((b.magnitude == 0) & ~b.inf)
    inf = a.inf | b.inf
    return _Number(
        a.sign ^ b.sign, a.magnitude * b.magnitude, a.exponent + b.exponent, inf, a.nan | b.nan | (inf & zero)
    )


def _leading(number: _Number, length: int) -> _Number:
    """The same number with a magnitude of ``length`` bits (0 stays 0, far below every other number)."""
    left = length - bit_length(number.magnitude)
    zero = number.magnitude == 0
    return number._replace(
        magnitude=number.magnitude << np.where(zero, 0, left),
        exponent=np.where(zero, -(1 << 20), number.exponent - left),
    )


def _sum(a: _Number, b: _Number) -> _Number:
    """Sum of two numbers of 56 bits. Its last bit stands for all below it: exact for roundings to 28 bits or fewer."""
    # With the leading bits at one place, four bits are free below. If the smaller number loses any, it is shifted by five
    # or more, and the sum keeps at least 59 bits: the bit that stands for the rest is far below the rounding.
    a, b = _leading(a, 60), _leading(b, 60)
    swap = b.exponent > a.exponent
    (a_sign, a_magnitude, exponent), (b_sign, b_magnitude, low) = (
        tuple(np.where(swap, y, x) for x, y in zip(first[:3], second[:3], strict=True))
        for first, second in ((a, b), (b, a))
    )
    right = np.minimum(exponent - low, 62)
    rest = b_magnitude & ((np.int64(1) << right) - 1)
    b_magnitude = b_magnitude >> right | (rest != 0)
    total = a_magnitude + np.where(a_sign == b_sign, b_magnitude, -b_magnitude)
    sign = np.where(total == 0, a_sign & b_sign, a_sign ^ (total < 0))
    inf = a.inf | b.inf
    return _Number(
        np.where(inf, np.where(a.inf, a.sign, b.sign), sign),
        np.abs(total),
        exponent,
        inf,
        a.nan | b.nan | (a.inf & b.inf & (a.sign != b.sign)),
    )


def _multiply_integers(a: np.ndarray, b: np.ndarray, fmt: FloatFormat, flush: bool) -> np.ndarray:
    return _finish(_product(_number(a, fmt, flush), _number(b, fmt, flush)), fmt, flush)


def _add_integers(a: np.ndarray, b: np.ndarray, fmt: FloatFormat, flush: bool) -> np.ndarray:
    return _finish(_sum(_number(a, fmt, flush), _number(b, fmt, flush)), fmt, flush)


def _fma_integers(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, fmt: FloatFormat, acc: FloatFormat, flush: bool
) -> np.ndarray:
    product = _product(_number(a, fmt, flush), _number(b, fmt, flush))
    return _finish(_sum(product, _number(c, acc, flush)), acc, flush)


def _divide_integers(a: np.ndarray, b: np.ndarray, fmt: FloatFormat, flush: bool) -> np.ndarray:
    dividend, divisor = _number(a, fmt, flush), _number(b, fmt, flush)
    sign = dividend.sign ^ divisor.sign
    by_zero = (divisor.magnitude == 0) & ~divisor.inf & ~divisor.nan
    none = (dividend.magnitude == 0) & ~dividend.inf & ~dividend.nan
    x, y = _leading(dividend, fmt.precision), _leading(divisor, fmt.precision)
    # At least p + 2 bits of quotient, and one that stands for the remainder.
    extra = fmt.precision + 2
    quotient, rest = np.divmod(x.magnitude << extra, np.maximum(y.magnitude, 1))
    return _finish(
        _Number(
            sign,
            np.where(by_zero | divisor.inf, 0, quotient << 1 | (rest != 0)),
            x.exponent - y.exponent - extra - 1,
            dividend.inf | by_zero,
            dividend.nan | divisor.nan | (dividend.inf & divisor.inf) | (none & by_zero),
        ),
        fmt,
        flush,
    )


def _square_root_integers(a: np.ndarray, fmt: FloatFormat, flush: bool) -> np.ndarray:
    number = _leading(_number(a, fmt, flush), fmt.precision)
    # An even exponent, and a radicand of 2 p + 2 bits or one more: p + 1 bits of root, and one that stands for the rest.
    extra = fmt.precision + 2 + (number.exponent + fmt.precision & 1)
    radicand = number.magnitude << extra
    root = np.sqrt(radicand.astype(np.float64)).astype(np.int64)
    root -= root * root > radicand  # too large by one at most, and never too small: the root of a square is exact
    zero = number.magnitude == 0
    return _finish(
        _Number(
            number.sign,
            np.where(zero, 0, root << 1 | (root * root != radicand)),
            (number.exponent - extra) // 2 - 1,
            number.inf,
            number.nan | ((number.sign == 1) & ~(zero & ~number.inf)),
        ),
        fmt,
        flush,
    )
