"""Tables of reciprocal, reciprocal square root and logarithm, shared by generators and functional models. Every table
is computed at its first use and kept."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.formats import FloatFormat

__all__ = [
    "LINEAR_FRACTION_BITS",
    "LogarithmTables",
    "Piecewise",
    "logarithm_tables",
    "reciprocal_square_root_table",
    "reciprocal_table",
]

#: Up to this many fraction bits tables hold straight lines that are checked at every argument; above it parabolas.
LINEAR_FRACTION_BITS = 11


@dataclass(frozen=True)
class Piecewise:
    """A function of an unsigned word in pieces, which are lines or parabolas, in integers.

    The upper ``index_bits`` of the word choose the piece i, ``low`` is the lower ``low_bits``::

        slope = c1[i]                                                                (lines)
        slope = c1[i] + (c2[i] * (low >> (low_bits - high_bits)) >> square_shift)    (parabolas)
        value = (c0[i] + sum((slope << k) >> cut for every 1 of low, at place k)) >> shift

    The rows of the product are cut before they are added, so bits below ``cut`` never exist. All functions here grow
    with the word and curve upwards, so no coefficient is negative.

    Attributes
    ----------
    index_bits, low_bits : int
    c0, c1, c2 : tuple of int
        One for each piece; ``c2`` is empty if the pieces are lines.
    shift, cut : int
    high_bits, square_shift : int
        For parabolas.
    """

    index_bits: int
    low_bits: int
    c0: tuple[int, ...]
    c1: tuple[int, ...]
    shift: int
    cut: int = 0
    c2: tuple[int, ...] = ()
    high_bits: int = 0
    square_shift: int = 0

    @property
    def slope_bits(self) -> int:
        """Bits of the largest slope."""
        square = [(c * ((1 << self.high_bits) - 1) >> self.square_shift) for c in self.c2] or [0] * len(self.c1)
        return max(a + b for a, b in zip(self.c1, square, strict=True)).bit_length()

    @property
    def table_bits(self) -> int:
        """Bits of all coefficients, each column as wide as its largest number."""
        return sum(max(c).bit_length() * len(c) for c in (self.c0, self.c1, self.c2) if c)

    @property
    def largest(self) -> int:
        """Bound of the largest value before it is shifted."""
        size, high = (1 << self.low_bits) - 1, (1 << self.high_bits) - 1
        squares = [c * high >> self.square_shift for c in self.c2] or [0] * len(self.c1)
        return max(a + ((b + c) * size >> self.cut) for a, b, c in zip(self.c0, self.c1, squares, strict=True))

    @property
    def product_bits(self) -> int:
        """Bits of all rows of the product of slope and ``low``."""
        return sum(max(self.slope_bits - max(self.cut - k, 0), 0) for k in range(self.low_bits))

    def __call__(self, word: np.ndarray, halves: np.ndarray | int = 0) -> np.ndarray:
        """Values of an int64 array of words; ``halves`` half units are added before the value is cut.

        Without bits below the unit, only whole units of them count.
        """
        index, low = word >> self.low_bits, word & ((1 << self.low_bits) - 1)
        slope = np.asarray(self.c1, np.int64)[index]
        if self.c2:
            high = low >> (self.low_bits - self.high_bits)
            slope = slope + (np.asarray(self.c2, np.int64)[index] * high >> self.square_shift)
        added = np.asarray(halves, np.int64) << (self.shift - 1) if self.shift else np.asarray(halves, np.int64) >> 1
        return (
            np.asarray(self.c0, np.int64)[index] + _cut_product(slope, low, self.low_bits, self.cut) + added
        ) >> self.shift


def _cut_product(slope: np.ndarray, low: np.ndarray, low_bits: int, cut: int) -> np.ndarray:
    """Sum of the rows of ``slope * low``, each without its last ``cut`` bits."""
    lower = min(cut, low_bits)
    total = slope * (low >> lower) << lower >> cut
    for place in range(lower):
        total = total + (slope >> (cut - place)) * (low >> place & 1)
    return total


def _lines_within(low: np.ndarray, high: np.ndarray, word_bits: int) -> Piecewise:
    """The cheapest table of lines whose value lies in ``low[word] .. high[word]`` for every word, and never falls.

    The search is exact: a line fits a piece if, for a given ``c1``, the bounds that its points set for ``c0`` leave an
    integer. The line with the most room is taken, with ``c0`` in the middle of its room.
    """
    best = None
    for index_bits in range(word_bits + 1):
        low_bits = word_bits - index_bits
        if best and 0.27 * (int(high[-1]).bit_length() << index_bits) > best[0]:
            break
        ends, middle = low.reshape(1 << index_bits, -1)[:, [0, -1]].sum(axis=1), (1 << low_bits) // 2
        if np.any(ends > 2 * (high.reshape(1 << index_bits, -1)[:, middle] + 1)):
            continue  # the curve is too far below its chord for any line
        for fine in range(low_bits + 2):
            found = False
            for shift in range(fine + 1):
                fit = _fit(low, high, index_bits, low_bits, shift, fine - shift)
                if fit is None:
                    continue
                found = True
                # Gates, roughly: a bit of a table, a bit of the product with its adder, one of the final sum.
                cost = 0.27 * fit.table_bits + 5.5 * fit.product_bits + 4 * shift
                if best is None or cost < best[0]:
                    best = cost, fit
                break
            if found:
                break
    assert best is not None  # with one piece for every word some line always fits
    return best[1]


def _fit(low: np.ndarray, high: np.ndarray, index_bits: int, low_bits: int, shift: int, cut: int) -> Piecewise | None:
    """Lines for this number of pieces that never fall from piece to piece; None if no lines fit."""
    size = 1 << low_bits
    points = np.arange(size)
    lower, upper = (low << shift).reshape(-1, size), (((high + 1) << shift) - 1).reshape(-1, size)
    steepest = int((lower[:, -1] - lower[:, 0]).max() * 2**cut / max(size - 1, 1)) + 2 if low_bits else 0
    lines = _cut_product(np.arange(steepest + 1)[:, None], points, low_bits, cut)
    if cut:  # cut rows may fall: such slopes are made so steep that they fit nothing
        falls = np.diff(lines, axis=1).min(axis=1, initial=0) < 0
        lines = np.where(np.expand_dims(falls, 1), points << 40, lines)

    def middle(pieces: slice) -> tuple[np.ndarray, ...]:
        """For each piece: the slope that leaves most room, the offset in the middle of that room, and the room."""
        first = (lower[pieces, None] - lines).max(axis=2)
        room = (upper[pieces, None] - lines).min(axis=2) - first
        slope = room.argmax(axis=1)
        each = np.arange(len(slope))
        return slope, first[each, slope] + room[each, slope] // 2, room[each, slope]

    if middle(slice(None, None, max(len(lower) - 1, 1)))[2].min() < 0:  # only the first and the last piece, to be quick
        return None
    c1, c0, room = middle(slice(None))
    if (room < 0).any():
        return None
    for n in range(1, len(c0)):
        last = (c0[n - 1] + lines[c1[n - 1], -1]) >> shift << shift
        if c0[n] < last:
            # Neighbours of exact values may be out of order where pieces meet: this one has to start higher.
            lower[n] = np.maximum(lower[n], last)
            slope, offset, left = middle(slice(n, n + 1))
            c1[n], c0[n], room[n] = slope[0], offset[0], left[0]
            if room[n] < 0:
                return None
    return Piecewise(index_bits, low_bits, tuple(c0.tolist()), tuple(c1.tolist()), shift, cut)


def _parabolas(
    function: Callable[[np.ndarray], np.ndarray],
    fraction_bits: int,
    index_bits: int,
    low_bits: int,
    *,
    curvature: float,
    guard: int = 5,
    keep: int = 0,
    half: bool = True,
) -> Piecewise:
    """Parabolas for ``function(word)``, a growing function in units of its last place.

    Errors in units in the last place, besides the error of the interpolation at Chebyshev's nodes:

    - 2**-(guard + 1) for c0;
    - 1/16 for c1;
    - 1/16 for cutting the slope;
    - 1/32 for c2 (a line makes up for the rest of it);
    - 1/16 for cutting the argument of the slope;
    - 1/64 for cutting the rows of the product.

    ``keep`` bits below the last place stay in the value. With ``half``, half a unit of the last bit that stays is
    added, so that cutting rounds.

    ``curvature`` is the largest second derivative with the word in units of a piece.
    """
    size = 1 << low_bits
    nodes = (1 + np.cos(np.pi * np.array([1, 3, 5]) / 6)) / 2
    pieces = np.arange(1 << index_bits)
    values = function((pieces[:, None] + nodes) * size)
    # Newton's form, then powers of t in 0..1.
    first = (values[:, 1:] - values[:, :-1]) / np.diff(nodes)
    second = (first[:, 1] - first[:, 0]) / (nodes[2] - nodes[0])
    a2 = second
    a1 = first[:, 0] - second * (nodes[0] + nodes[1])
    a0 = values[:, 0] - first[:, 0] * nodes[0] + second * nodes[0] * nodes[1]
    # c2 in halves of a unit over a piece; the line closest to the rest of it makes up for the rest.
    c2 = np.rint(a2 * 2)
    rest = a2 - c2 / 2
    a1, a0 = a1 + rest, a0 - rest / 8
    # The slope, over a piece, in eighths of a unit; its argument so fine that c2 times its last bit is an eighth.
    high_bits = min(low_bits, max(1, math.ceil(math.log2(curvature / 2 * 8))))
    a1 = a1 + c2 / 2 * (0 if high_bits == low_bits else 2.0**-high_bits / 2)
    square_shift = high_bits - 2  # units of c2 are halves, of the argument 2**-high_bits, of the slope eighths
    if square_shift < 0:
        c2, square_shift = c2 * 2.0**-square_shift, 0
    c1 = np.rint(a1 * 8 + (0.5 if square_shift else 0))
    # Units of slope * low are eighths / size; a cut row loses about a quarter of the last bit.
    unit = low_bits + 3
    cut = max(unit - 5 - low_bits.bit_length(), 0)
    a0 = a0 + min(cut, low_bits) / 4 * 2.0 ** (cut - unit) + (2.0 ** -(keep + 1) if half else 0)
    c0 = np.rint(a0 * 2**guard) * 2.0 ** (unit - guard - cut)
    whole0, whole1, whole2 = (tuple(int(x) for x in c) for c in (c0, c1, c2))
    return Piecewise(index_bits, low_bits, whole0, whole1, unit - cut - keep, cut, whole2, high_bits, square_shift)


@functools.cache
def reciprocal_table(fraction_bits: int) -> Piecewise:
    """``2**(f + 1) / (1 + x)`` in 2**f .. 2**(f + 1), of the inverted fraction: the word is ``2**f - 1 - x * 2**f``.

    Faithful: the exact value if it is an integer, otherwise one of its neighbours.
    """
    f = fraction_bits
    if f <= LINEAR_FRACTION_BITS:
        significand = (2 << f) - 1 - np.arange(1 << f, dtype=np.int64)
        exact = np.int64(2) << (2 * f)
        floor = exact // significand
        return _lines_within(floor, floor + (floor * significand != exact), f)
    # Third derivative 12: 12 * 2**-3k / 192 below a quarter of a unit.
    index_bits = math.ceil((f - 2) / 3)
    return _parabolas(
        lambda word: 2.0 ** (f + 1) / (2 - (word + 1) * 2.0**-f),
        f,
        index_bits,
        f - index_bits,
        curvature=4 * 2.0 ** (f - 2 * index_bits),
    )


@functools.cache
def reciprocal_square_root_table(fraction_bits: int) -> Piecewise:
    """``2**(f + 1) / sqrt(m)`` in 2**f .. 2**(f + 1), of a significand m in 1..4.

    The word is the inverted fraction with the inverted parity of the exponent above it: upper half m = 1 + x, lower
    half m = 2 + 2x. Faithful.
    """
    f = fraction_bits
    word = np.arange(2 << f, dtype=np.int64)
    if f <= LINEAR_FRACTION_BITS:
        significand = ((2 << f) - 1 - (word & ((1 << f) - 1))) << (1 - (word >> f))
        # floor(sqrt(2**(3f + 2) / m)): exact with integers.
        floor = np.array([math.isqrt((4 << 3 * f) // int(x)) for x in significand], np.int64)
        return _lines_within(floor, floor + (floor * floor * significand != 4 << 3 * f), f + 1)
    # Third derivative 15/4: k index bits and the parity.
    index_bits = math.ceil((f + math.log2(15 / 4 / 192 / 0.22)) / 3)

    def value(word: np.ndarray) -> np.ndarray:
        odd = word < 2**f
        x = 2 - (word - np.where(odd, 0, 2.0**f) + 1) * 2.0**-f
        return 2.0 ** (f + 1) / np.sqrt(np.where(odd, 2 * x, x))

    return _parabolas(value, f, index_bits + 1, f - index_bits, curvature=1.5 * 2.0 ** (f - 2 * index_bits))


class LogarithmOperands(NamedTuple):
    """Numbers on their way into the logarithm.

    Attributes
    ----------
    below, near, near_below : bool array
        Whether a number is below 1; is in 1/2..2 (but not 1/2); both.
    zeros : int64 array
        Places by which a distance from 1, or a subnormal, is shifted to the left.
    factor, word : int64 array
        Factor that the quotient is multiplied with; argument of the quotient.
    multiple : int64 array
        Number of the multiple of ln 2.
    """

    below: np.ndarray
    near: np.ndarray
    near_below: np.ndarray
    zeros: np.ndarray
    factor: np.ndarray
    word: np.ndarray
    multiple: np.ndarray


@dataclass(frozen=True)
class LogarithmTables:
    """Widths and tables of the natural logarithm.

    A number is ``2**n * (1 + d)`` with d in 0..1, or, from 1/2 to 1, ``1 - d``. Its logarithm is ``n * ln 2`` plus or
    minus ``d * h``. A table gives the quotient ``h = ln(1 + d) / d``, or ``-ln(1 - d) / d``. The quotient stays between
    0.69 and 1.39, so small results are as precise as large ones.

    Attributes
    ----------
    fmt : :class:`FloatFormat`
    quotient : :class:`Piecewise`
        h in units of ``2**-quotient_bits``, by the inverted fraction; bit f, above the fraction, marks numbers below 1.
    quotient_bits : int
    product_bits : int
        Fraction bits of the product and of the multiples of ln 2. Every row of the product is cut there.
    """

    fmt: FloatFormat
    quotient: Piecewise
    quotient_bits: int
    product_bits: int

    @property
    def largest_multiple(self) -> int:
        """Largest magnitude of n, which the smallest subnormal has."""
        return self.fmt.bias + self.fmt.fraction_bits - 1

    @property
    def integer_bits(self) -> int:
        """Integer bits of the largest logarithm."""
        return max(1, math.ceil((self.largest_multiple + 1) * math.log(2)).bit_length())

    @property
    def multiples(self) -> tuple[tuple[int, ...], ...]:
        """Multiples of ln 2 in units of ``2**-product_bits``: by the lower bits of n; for a long n, a second table by
        its upper bits."""
        bits = self.largest_multiple.bit_length()
        unit = math.log(2) * 2.0**self.product_bits
        split = bits if bits <= 6 else (bits + 1) // 2
        lower = tuple(round(n * unit) for n in range(min(1 << split, self.largest_multiple + 1)))
        if split == bits:
            return (lower,)
        return lower, tuple(round((n << split) * unit) for n in range((self.largest_multiple >> split) + 1))

    @property
    def reaches_subnormals(self) -> bool:
        """Whether logarithms next to 1 may lie below the normal range."""
        return self.fmt.fraction_bits > self.fmt.bias - 3

    @property
    def most_zeros(self) -> int:
        """Most places by which d is shifted to the left: no further than the subnormal range allows."""
        return min(self.fmt.fraction_bits, self.integer_bits + self.fmt.bias - 3)

    def operands(self, a: np.ndarray) -> LogarithmOperands:
        """Operands that the datapath makes of numbers without a sign. Zeros and infinities have operands too, which are
        not used."""
        fmt, f = self.fmt, self.fmt.fraction_bits
        mask = (1 << f) - 1
        exponent, fraction = a >> f & fmt.exponent_max, a & mask
        below, subnormal = exponent < fmt.bias, exponent == 0
        near_below = exponent == fmt.bias - 1
        if fmt.bias == 1:  # from 1/2 to 1 numbers are subnormal
            near_below = subnormal & (fraction >> (f - 1) == 1)
            fraction = np.where(near_below, fraction << 1 & mask, fraction)
            subnormal = subnormal & ~near_below
        near_below = near_below & (fraction != 0)
        near = near_below | (exponent == fmt.bias)
        # The distance from 1 of numbers between 1/2 and 2, and subnormals, are normalised.
        distance = np.where(near_below, (1 << f) - fraction, fraction)
        zeros = np.minimum(f - np.frexp(distance.astype(np.float64))[1], np.where(near, self.most_zeros, f))
        zeros = np.where(near | subnormal, zeros, 0).astype(np.int64)
        shifted = distance << zeros & mask
        factor = np.where(subnormal, shifted << 1 & mask, shifted)
        word = ~np.where(subnormal, factor, fraction) & mask | near_below.astype(np.int64) << f
        count = np.where(below, np.where(subnormal, fmt.bias + zeros, fmt.bias - exponent), exponent - fmt.bias)
        count = np.where(near | (a == 0) | (exponent == fmt.exponent_max), 0, count)
        return LogarithmOperands(below, near, near_below, zeros, factor, word, count)

    def magnitude(self, x: LogarithmOperands, quotient: np.ndarray) -> np.ndarray:
        """Bits of the logarithm's magnitude, rounded to nearest; may be infinity or above."""
        f, size, whole = self.fmt.fraction_bits, self.product_bits, self.integer_bits
        product = np.zeros_like(quotient)
        for bit in range(f):
            place = bit - f - self.quotient_bits + size
            row = quotient << place if place >= 0 else quotient >> -place
            product += row * (x.factor >> bit & 1)
        total = np.where(x.below & ~x.near, -product, product)
        split = (len(self.multiples[0]) - 1).bit_length()
        for n, column in enumerate(self.multiples):
            index = x.multiple >> split if n else x.multiple & ((1 << split) - 1)
            total = total + np.asarray(column, np.int64)[index]
        # To the leading bit, or to the grid of the subnormals; then the one rounding.
        top = whole + size
        base = whole - 1 + self.fmt.bias - np.where(x.near, x.zeros, 0) - x.near_below
        places = np.minimum(top - np.frexp(total.astype(np.float64))[1], whole + 2)
        if self.reaches_subnormals:
            places = np.minimum(places, base - 1)
        normal = total << places
        field = np.where(normal >> (top - 1) & 1, base - places, 0).astype(np.int64)
        drop = top - f - 1
        return (normal >> drop & ((1 << f) - 1)) + (normal >> (drop - 1) & 1) + (field << f)

    @property
    def tiny(self) -> tuple[int, int]:
        """Bits of the two numbers that enclose all numbers around 1 whose logarithm is below the normal range."""
        fmt = self.fmt
        edge = 2.0 ** (1 - fmt.bias)
        bits = []
        for value, rounding in ((math.exp(-edge), math.floor), (math.exp(edge), math.ceil)):
            exponent = max(math.frexp(value)[1] - 1, 1 - fmt.bias)
            scaled = rounding(value * 2.0 ** (fmt.fraction_bits - exponent))
            bits.append(scaled + (exponent + fmt.bias - 1 << fmt.fraction_bits))
        return bits[0], bits[1]


def _quotient(word: np.ndarray, fraction_bits: int) -> np.ndarray:
    """h of a word (which need not be whole)."""
    below = word >= 2.0**fraction_bits
    y = (word - np.where(below, 2.0**fraction_bits, 0) + 1) * 2.0**-fraction_bits
    d = np.where(below, -y / 2, 1 - y)
    return np.where(d == 0, 1.0, np.log1p(d) / np.where(d == 0, 1.0, d))


def _chords(function: Callable[[np.ndarray], np.ndarray], word_bits: int, index_bits: int, shift: int) -> Piecewise:
    """Lines closest to ``function(word)``, which grows, as integers with ``shift`` further bits."""
    low_bits = word_bits - index_bits
    points = np.arange(1 << low_bits)
    values = function(np.arange(1 << word_bits)).reshape(-1, 1 << low_bits) * 2.0**shift
    c1 = np.rint((values[:, -1] - values[:, 0]) / max((1 << low_bits) - 1, 1)).astype(np.int64)
    rest = values - c1[:, None] * points
    c0 = np.rint((rest.max(axis=1) + rest.min(axis=1)) / 2 + 2.0**shift / 2).astype(np.int64)
    return Piecewise(index_bits, low_bits, tuple(c0.tolist()), tuple(c1.tolist()), shift)


def _within_neighbours(fmt: FloatFormat, quotient_bits: int, product_bits: int) -> LogarithmTables | None:
    """The cheapest quotient that gives every number a logarithm next to the exact one; None if there is none.

    The quotients that a word allows are found by trial: all numbers pass through the whole datapath, with quotients
    around the exact one.
    """
    f = fmt.fraction_bits
    widths = LogarithmTables(fmt, Piecewise(0, 0, (0,), (0,), 0), quotient_bits, product_bits)
    a = np.arange(1, fmt.infinity, dtype=np.int64)
    a = a[a != fmt.bias << f]
    x = widths.operands(a)
    exact = np.abs(
        np.log(
            np.ldexp(
                (a & ((1 << f) - 1) | np.where(a >> f, 1 << f, 0)).astype(np.float64),
                np.maximum(a >> f, 1) - fmt.bias - f,
            )
        )
    )
    exponent = np.maximum(np.frexp(exact)[1] - 1, 1 - fmt.bias)
    floor = np.floor(np.ldexp(exact, f - exponent)).astype(np.int64) + ((exponent.astype(np.int64) + fmt.bias - 1) << f)
    words = np.arange(2 << f, dtype=np.int64)
    nominal = np.rint(_quotient(words, f) * 2.0**quotient_bits).astype(np.int64)
    low, high = np.full(2 << f, 1 << 40), np.full(2 << f, -1)
    reach = 1 << max(quotient_bits - f + 2, 2)
    for offset in range(-reach, reach + 1):
        # The two highest bits of the quotient tell the side of 1: the generator counts on it.
        quotient = np.clip(
            nominal + offset,
            np.where(words >> f, 1 << quotient_bits, 1 << (quotient_bits - 1)),
            np.where(words >> f, (3 << (quotient_bits - 1)) - 1, (1 << quotient_bits) - 1),
        )
        result = widths.magnitude(x, quotient[x.word])
        good = np.ones(2 << f, bool)
        good[x.word[(result < floor) | (result > floor + 1)]] = False
        low, high = (np.where(good, np.minimum(low, quotient), low), np.where(good, np.maximum(high, quotient), high))
    if (low > high).any():
        return None
    return dataclasses.replace(widths, quotient=_lines_within(low, high, f + 1))


#: Widths, smaller than the bounds ask for, that a search through all numbers showed to be enough: (exponent bits,
#: fraction bits) to quotient bits, product bits.
_WIDTHS = {(5, 10): (12, 14), (8, 7): (9, 10)}


@functools.cache
def logarithm_tables(fmt: FloatFormat) -> LogarithmTables:
    """Tables of the logarithm in a format.

    The final rounding takes half a unit in the last place. All other errors must stay below another half. Results start
    at 1/4, where d is at most 5/8 and half a unit is ``2**-(f + 3)``. From 1/2 on, half a unit is twice as large, and d
    is up to 1. The quotient may be wrong by 0.6 * ``2**-(f + 2)``, and the cut rows of the product by a quarter of
    ``2**-(f + 3)``.
    """
    f = fmt.fraction_bits
    product_bits = f + 5 + math.ceil(math.log2(f + 1))

    def quotient(bits: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda word: _quotient(word, f) * 2.0**bits

    known = _WIDTHS.get((fmt.exponent_bits, f))
    if known:
        tables = _within_neighbours(fmt, *known)
        assert tables is not None
        return tables
    if f <= LINEAR_FRACTION_BITS:
        words = np.arange(2 << f)
        exact = _quotient(words, f)
        for index_bits in range(f + 1):
            for quotient_bits in (f + 3, f + 4):
                for shift in range(f - index_bits + 1):
                    lines = _chords(quotient(quotient_bits), f + 1, index_bits + 1, shift)
                    error = lines(words) * 2.0**-quotient_bits - exact
                    if abs(error).max() < 0.6 * 2.0 ** -(f + 2):
                        return LogarithmTables(fmt, lines, quotient_bits, product_bits)
    # Third derivatives up to 1.71: 1.71 * 2**-3k / 192 below a fifth of 2**-(f + 2).
    quotient_bits = f + 4
    index_bits = math.ceil((f + 2 + math.log2(1.71 / 192 / 0.2)) / 3)
    parabolas = _parabolas(
        quotient(f + 2), f + 1, index_bits + 1, f - index_bits, keep=2, curvature=0.78 * 2.0 ** (f + 2 - 2 * index_bits)
    )
    return LogarithmTables(fmt, parabolas, quotient_bits, product_bits)
