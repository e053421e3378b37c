"""Operands chosen to find errors of operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...constraints.arith.units import Operand
from ...constraints.core.formats import FloatFormat, IntegerFormat
from .formats import decode, round_to_format

__all__ = ["corners", "operands"]

Format = FloatFormat | IntegerFormat

#: Greatest number of rows of :func:`operands` that are combinations of corners.
CORNER_ROWS = 1 << 15


# Operands ----------------------------------------------------------------------------------------------------------


def corners(fmt: Format) -> np.ndarray:
    """Numbers at the edges of a format, each with both signs: int64 bits in ascending order (for integers: values).

    Floating-point formats have these corners:

    - zeros and infinities
    - the smallest and largest subnormal and normal numbers and their neighbours
    - powers of two around 1, around the precision, and at both ends of the range, with their neighbours
    - 1.5
    - fractions of alternating bits, and fractions with their upper or lower half set
    - quiet and signalling NaN, also NaN with a single bit

    Integers have zero, the ends of the range, powers of two, and their neighbours.
    """
    if isinstance(fmt, IntegerFormat):
        low = -(1 << (fmt.width - 1)) if fmt.signed else 0
        high = low + (1 << fmt.width) - 1
        near = {sign * (1 << n) + d for n in range(fmt.width + 1) for d in (-1, 0, 1) for sign in (1, -1)}
        chosen = sorted(x for x in {0, low, low + 1, high - 1, high, *near} if low <= x <= high)
        return np.array([x - (1 << 64) if x >> 63 == 1 else x for x in chosen], np.int64)
    fraction, last = fmt.fraction_bits, fmt.smallest_normal - 1
    exponents = {
        0,
        1,
        2,
        fmt.exponent_max - 2,
        fmt.exponent_max - 1,
        *(fmt.bias + d * sign for d in (0, 1, fraction - 1, fraction, fraction + 1, fraction + 2) for sign in (1, -1)),
    }
    few = {
        0,
        1,
        last,
        last - 1,
        (last + 1) >> 1,
        0x5555555 & last,
        0x2AAAAAA & last,
        last >> (fraction // 2),
        last & ~(last >> (fraction // 2)),
    }
    edges = {x << fraction | y for x in (0, 1, fmt.bias, fmt.exponent_max - 1) for y in few}
    edges |= {(x << fraction) + d for x in exponents if 0 <= x < fmt.exponent_max for d in (-1, 0, 1)}
    special = {
        fmt.infinity,
        fmt.nan - 1,
        fmt.nan | last,
        fmt.sign_mask - 1,
        *(fmt.infinity | 1 << n for n in range(fraction)),
    }
    kept = {x for x in edges if 0 <= x < fmt.infinity} | {x for x in special if x >= fmt.infinity}
    return np.array(sorted({x | sign for x in kept for sign in (0, fmt.sign_mask)}), np.int64)


def operands(fields: Sequence[Format | Operand], count: int, seed: int = 1) -> list[np.ndarray]:
    """Operands of an operation: combinations of :func:`corners`, then ``count`` random rows; the same for the same seed.

    All combinations of corners are used if they are no more than ``CORNER_ROWS``, otherwise ``CORNER_ROWS`` random
    combinations. For floating-point numbers, the random rows are of these kinds in turn:

    - any bit pattern
    - exponents within the precision of each other, so that every alignment occurs
    - fractions of runs of equal bits: long carries, ties, and almost ties
    - numbers that cancel but for a few last places: the second cancels the first, or the third cancels the product
    - products of the first two numbers whose lower bits are a tie, or one more or less
    - sums whose smaller term is half a last place of the larger, or a little more or less
    - quotients of the first two numbers, and roots of a single number, as near as possible to the middle between two
      numbers
    - products or quotients around the ends of the range, or a single number around 1 and the precision, where integers
      and fractions meet

    Parameters
    ----------
    fields : formats of the operands, or :class:`Operand` where an operand is several numbers
    count, seed : :class:`int`

    Returns
    -------
    For each field an int64 array of shape ``(rows,)``, or ``(rows, field.count)`` for several numbers. It holds bits,
    or for integers the values (unsigned integers of 64 bits as int64 of the same bits).
    """
    if count < 0:
        raise ValueError(f"Count must be 0 or more, not {count!r}")
    given = [field if isinstance(field, Operand) else Operand(field) for field in fields]
    formats = [field.format for field in given for _ in range(field.count)]
    rng = np.random.default_rng(seed)
    edges = [corners(fmt) for fmt in formats]
    total = 1
    for edge in edges:
        total = min(total * len(edge), CORNER_ROWS + 1)
    if total <= CORNER_ROWS:
        rows = np.stack([grid.ravel() for grid in np.meshgrid(*edges, indexing="ij")], axis=1)
    else:
        rows = np.stack([rng.choice(edge, CORNER_ROWS) for edge in edges], axis=1)
    kinds = (_any_bits, _near_exponents, _runs, _cancelling, _product_ties, _sum_ties, _middles, _ends)
    random = np.empty((count, len(formats)), np.int64)
    for number, kind in enumerate(kinds):
        size = len(range(number, count, len(kinds)))
        for column, values in enumerate(kind(rng, formats, size)):
            random[number :: len(kinds), column] = values
    table = np.concatenate([rows, random])
    columns, start = [], 0
    for field in given:
        part = table[:, start : start + field.count]
        columns.append(np.ascontiguousarray(part if field.count > 1 else part[:, 0]))
        start += field.count
    return columns


Rows = list[np.ndarray]


def _bits_of(rng: np.random.Generator, width: int, size: int) -> np.ndarray:
    return rng.integers(0, (1 << width) - 1, size, np.uint64, endpoint=True).view(np.int64)


def _integers(rng: np.random.Generator, fmt: IntegerFormat, size: int, runs: bool) -> np.ndarray:
    """Integers of every length, made of random bits or of runs of equal bits."""
    bits = (_runs_of if runs else _bits_of)(rng, fmt.width, size) << (64 - fmt.width)
    drop = np.minimum(rng.integers(0, fmt.width + 1, size) + 64 - fmt.width, 63)
    return bits >> drop if fmt.signed else (bits.view(np.uint64) >> drop.astype(np.uint64)).view(np.int64)


def _runs_of(rng: np.random.Generator, width: int, size: int) -> np.ndarray:
    """Bits in at most four runs: the exclusive or of numbers whose low bits are ones, sometimes with one bit
    flipped."""
    value = np.zeros(size, np.uint64)
    for _ in range(4):
        length = rng.integers(0, width + 1, size).astype(np.uint64)
        ones = np.where(length >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(length, np.uint64(63))) - np.uint64(1))
        value ^= np.where(rng.integers(0, 4, size) > 0, ones, np.uint64(0))
    flip = np.uint64(1) << rng.integers(0, width, size).astype(np.uint64)
    return (value ^ np.where(rng.integers(0, 4, size) == 0, flip, np.uint64(0))).view(np.int64)


def _join(sign: Any, exponent: Any, fraction: Any, fmt: FloatFormat) -> np.ndarray:
    """Bits from fields. Exponents beyond the finite numbers become the nearest finite exponent."""
    return (
        np.clip(exponent, 0, fmt.exponent_max - 1) << fmt.fraction_bits
        | (fraction & (fmt.smallest_normal - 1))
        | sign << (fmt.width - 1)
    )


def _signs(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.integers(0, 2, size)


def _fractions(rng: np.random.Generator, fmt: FloatFormat, size: int) -> np.ndarray:
    return rng.integers(0, fmt.smallest_normal, size)


def _any_bits(rng: np.random.Generator, formats: Sequence[Format], size: int) -> Rows:
    return [
        _bits_of(rng, fmt.width, size) if isinstance(fmt, FloatFormat) else _integers(rng, fmt, size, False)
        for fmt in formats
    ]


def _near(rng: np.random.Generator, formats: Sequence[Format], size: int, runs: bool) -> Rows:
    center, rows = None, []
    for fmt in formats:
        if isinstance(fmt, IntegerFormat):
            rows.append(_integers(rng, fmt, size, runs))
            continue
        if center is None:
            center = rng.integers(0, fmt.exponent_max, size) - fmt.bias
        exponent = center + fmt.bias + rng.integers(-fmt.precision - 2, fmt.precision + 3, size)
        fraction = _runs_of(rng, fmt.fraction_bits, size) if runs else _fractions(rng, fmt, size)
        rows.append(_join(_signs(rng, size), exponent, fraction, fmt))
    return rows


def _near_exponents(rng: np.random.Generator, formats: Sequence[Format], size: int) -> Rows:
    return _near(rng, formats, size, runs=False)


def _runs(rng: np.random.Generator, formats: Sequence[Format], size: int) -> Rows:
    return _near(rng, formats, size, runs=True)


def _floats(formats: Sequence[Format]) -> list[FloatFormat]:
    """The formats, or none if there is an integer among them."""
    floats = [fmt for fmt in formats if isinstance(fmt, FloatFormat)]
    return floats if len(floats) == len(formats) else []


def _nudge(rng: np.random.Generator, bits: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Half of the numbers moved by up to three last places."""
    steps = np.where(_signs(rng, len(bits)) == 1, 0, rng.integers(-3, 4, len(bits)))
    magnitude = np.clip((bits & (fmt.sign_mask - 1)) + steps, 0, fmt.sign_mask - 1)
    return magnitude | bits & fmt.sign_mask


def _cancelling(rng: np.random.Generator, formats: Sequence[Format], size: int) -> Rows:
    rows = _near_exponents(rng, formats, size)
    floats = _floats(formats)
    if len(floats) == 3:
        x, y = (decode(row, fmt) for row, fmt in zip(rows[:2], floats[:2], strict=True))
        unit = sum(fmt.bias + fmt.fraction_bits for fmt in floats[:2])
        product = round_to_format(
            1 - (x.sign ^ y.sign), x.significand * y.significand, x.exponent + y.exponent - unit, floats[2]
        )
        rows[2] = _nudge(rng, product, floats[2])
        return rows
    for n in range(1, len(floats), 2):
        if floats[n] == floats[n - 1]:
            rows[n] = _nudge(rng, rows[n - 1] ^ floats[n].sign_mask, floats[n])
    return rows


def _product_ties(rng: np.random.Generator, formats: Sequence[Format], size: int) -> Rows:
    """The lower p (or p - 1) bits of the product of two significands are a one before zeros, or one more or less."""
    rows = _near_exponents(rng, formats, size)
    floats = _floats(formats[:2])
    if len(floats) < 2 or floats[0] != floats[1]:
        return rows
    fmt = floats[0]
    p = fmt.precision
    first = _fractions(rng, fmt, size) | fmt.smallest_normal | 1
    inverse = _inverse(first)
    bits = p - rng.integers(0, 2, size)
    wanted = (np.int64(1) << (bits - 1)) + rng.integers(-1, 2, size)
    second = (inverse * wanted) & ((np.int64(1) << bits) - 1)
    half = np.int64(1) << np.int64(p - 1)
    second |= np.where(second & half == 0, half, 0)
    # The leading bit changes this in half the rows of p bits: their lower bits are 0, or one more or less.
    for column, significand in ((0, first), (1, second)):
        exponent = rows[column] >> fmt.fraction_bits & fmt.exponent_max
        rows[column] = _join(_signs(rng, size), np.maximum(exponent, 1), significand, fmt)
    return rows


def _sum_ties(rng: np.random.Generator, formats: Sequence[Format], size: int) -> Rows:
    rows = _near_exponents(rng, formats, size)
    floats = _floats(formats)
    if len(floats) < 2:
        return rows
    last = len(floats) - 1
    large, small = floats[-1], floats[-2]
    exponent = (rows[last] >> large.fraction_bits & large.exponent_max) - large.bias
    # Half a last place: 1.000 at the place below the last one; or a little less: 1.111 one place further down.
    less = rng.integers(0, 2, size)
    fraction = np.where(less == 1, small.smallest_normal - 1 - rng.integers(0, 2, size), rng.integers(0, 2, size))
    rows[last - 1] = _join(_signs(rng, size), exponent - large.precision - less + small.bias, fraction, small)
    if len(floats) == 3:  # a product by a power of two, of the same place
        fmt = floats[0]
        power = rng.integers(-3, 4, size)
        rows[0] = _join(_signs(rng, size), power + fmt.bias, 0, fmt)
        rows[1] = _join(_signs(rng, size), exponent - large.precision - less - power + small.bias, fraction, small)
    return rows


def _inverse(odd: np.ndarray) -> np.ndarray:
    """Inverse of odd numbers modulo 2**64."""
    inverse = odd.copy()  # modulo 8: the square of every odd number is 1
    for _ in range(5):  # each step doubles the number of correct bits
        inverse = inverse * (2 - odd * inverse)
    return inverse


def _middles(rng: np.random.Generator, formats: Sequence[Format], size: int) -> Rows:
    """The middle between two numbers is an odd integer m of p + 1 bits.

    A quotient next to it: m b = a 2**p + d with a small d. A root next to it: m**2 = a 2**(p + 1) + d. Both equations
    are solved for m modulo a power of two. If a then has p + 1 bits and is odd, it has to be rounded, and the row is
    nothing special.
    """
    rows = _near_exponents(rng, formats, size)
    fmt = formats[0]
    if not isinstance(fmt, FloatFormat):
        return rows
    p, leading = fmt.precision, 2 * fmt.smallest_normal
    if len(formats) == 1:
        rest = 8 * rng.integers(-4, 5, size) + 1  # such numbers have a root modulo powers of two
        middle = np.ones(size, np.int64)
        for bit in range(3, p + 1):  # correct modulo 2**bit; adding half of that corrects a wrong next bit
            middle += ((middle * middle - rest) >> bit & 1) << (bit - 1)
        middle = np.where(_signs(rng, size) == 1, middle, -middle) & (leading - 1) | leading
        radicand = np.maximum((middle * middle - rest) >> (p + 1), 1)
        # Even exponents, over the whole range.
        even = 2 * rng.integers((fmt.lsb_exponent - 1) // 2, (fmt.bias - 1) // 2 + 1, size)
        rows[0] = round_to_format(np.zeros(size, np.int64), radicand, even - p + 1, fmt)
    elif formats[1] == fmt:
        rest = 2 * rng.integers(-2, 2, size) + 1
        divisor = _fractions(rng, fmt, size) | fmt.smallest_normal | 1
        middle = (_inverse(divisor) * rest) & (leading - 1) | leading
        dividend = (middle * divisor - rest) >> p
        exponent = rng.integers(1, fmt.exponent_max, size)
        near = np.clip(exponent + rng.integers(-fmt.bias, fmt.bias + 1, size), 1, fmt.exponent_max - 1)
        rows[0] = round_to_format(_signs(rng, size), dividend, near - fmt.bias - fmt.fraction_bits, fmt)
        rows[1] = _join(_signs(rng, size), exponent, divisor, fmt)
    return rows


def _ends(rng: np.random.Generator, formats: Sequence[Format], size: int) -> Rows:
    rows = _near_exponents(rng, formats, size)
    fmt = formats[0]
    if not isinstance(fmt, FloatFormat):
        return rows
    off = rng.integers(-fmt.precision - 2, fmt.precision + 3, size)
    if len(formats) == 1:
        rows[0] = _join(
            _signs(rng, size),
            fmt.bias + rng.integers(-2, fmt.precision + 3, size),
            _runs_of(rng, fmt.fraction_bits, size),
            fmt,
        )
    elif formats[1] == fmt:
        first = rng.integers(1, fmt.exponent_max, size)
        end = np.where(rng.integers(0, 2, size) == 1, 1, 2 * fmt.bias)
        quotient = rng.integers(0, 2, size) == 1
        second = np.where(quotient, first - end + fmt.bias, end - first + fmt.bias) + off
        rows[0] = _join(_signs(rng, size), first, _fractions(rng, fmt, size), fmt)
        rows[1] = _join(_signs(rng, size), second, _fractions(rng, fmt, size), fmt)
    return rows
