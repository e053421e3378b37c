"""Widths and tables of the exponential, shared by its generator and its functional model."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.formats import FloatFormat
from .elementary import Piecewise

__all__ = ["Chords", "ExponentialTables", "TaylorConstants", "exponential_tables", "taylor_constants"]

_LOG2_E = math.log2(math.e)

#: Up to this precision the power of two comes from chords that are fitted to every fraction; above it from parabolas.
CHORD_PRECISION = 12


@dataclass(frozen=True)
class Chords:
    """``2**x - 1`` of a fraction x in 0..1, as x plus chords of the small rest.

    The fraction is a word of ``fraction_bits``. Its upper ``index_bits`` choose the chord i, and ``low`` is the number
    in the ``factor_bits`` below them::

        value = (word << (value_bits - fraction_bits)) + starts[i] + sum(row)

    Each bit j of ``slopes[i]`` has a row, cut to whole units: ``low << j >> drop``. Slopes are two's complement numbers
    of ``slope_bits``, so the row of the uppermost bit counts negative.

    Attributes
    ----------
    fraction_bits, value_bits : int
        Fraction bits of the word and of the value.
    index_bits, factor_bits, slope_bits, drop : int
    starts, slopes : tuple of int
        One for each chord; ``starts`` are zero or negative.
    """

    fraction_bits: int
    value_bits: int
    index_bits: int
    factor_bits: int
    slope_bits: int
    drop: int
    starts: tuple[int, ...]
    slopes: tuple[int, ...]

    def __call__(self, word: np.ndarray) -> np.ndarray:
        """Values of an int64 array of words."""
        index, low = self._split(word)
        slope = np.asarray(self.slopes, np.int64)[index]
        return (
            (word << (self.value_bits - self.fraction_bits))
            + np.asarray(self.starts, np.int64)[index]
            + self._rows(slope, low)
        )

    def _split(self, word: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rest = self.fraction_bits - self.index_bits
        return word >> rest, word >> (rest - self.factor_bits) & ((1 << self.factor_bits) - 1)

    def _rows(self, slope: np.ndarray | np.int64, low: np.ndarray) -> np.ndarray:
        total = np.zeros(np.broadcast_shapes(np.shape(slope), np.shape(low)), np.int64)
        for j in range(self.slope_bits):
            row = low << j >> self.drop
            total = total + (slope >> j & 1) * (row if j < self.slope_bits - 1 else -row)
        return total


@dataclass(frozen=True)
class ExponentialTables:
    """Widths and tables of ``e**a`` in a format.

    The magnitude of a times log2 e becomes fixed point, with ``whole_bits`` before and ``fraction_bits`` behind the
    point. For negative numbers all its bits are inverted. A cut word stands for (word + 1/2) units, the middle of the
    numbers that are cut to it. Its complement then stands for exactly the negative number. The whole part is the
    exponent of the result, and the power of two of the fraction is its significand.

    Attributes
    ----------
    fmt : :class:`FloatFormat`
    chunks : tuple of int
        Lengths of the parts of the fraction, the lowest first; ``multiples`` has a table for each part.
    multiples : tuple of tuple of int
        Multiples of log2 e in units of ``2**-(f + product_bits)``. The last table includes the implicit bit, unless
        numbers without it count.
    product_bits : int
        Bits of the product below the last place of the significand.
    fraction_bits : int
    power : :class:`Chords` or :class:`Piecewise`
        ``2**x - 1`` of a word of ``fraction_bits``, with ``value_bits``.
    value_bits : int
    """

    fmt: FloatFormat
    chunks: tuple[int, ...]
    multiples: tuple[tuple[int, ...], ...]
    product_bits: int
    fraction_bits: int
    power: Chords | Piecewise
    value_bits: int

    @property
    def highest(self) -> int:
        """Largest biased exponent of operands that do not all overflow or vanish."""
        return _highest(self.fmt)

    @property
    def lowest(self) -> int:
        """Smallest biased exponent of operands that reach the fixed point."""
        return max(1, self.fmt.bias - self.fraction_bits - 1)

    @property
    def subnormal_operands(self) -> bool:
        """Whether subnormal operands reach the fixed point, so that their missing implicit bit counts."""
        return self.lowest == 1 and 1 - self.fmt.bias + _LOG2_E > -self.fraction_bits

    @property
    def implicit(self) -> int:
        """The multiple of the implicit bit."""
        return round(_LOG2_E * (1 << (self.fmt.fraction_bits + self.product_bits)))

    @property
    def smallest_normal_operand(self) -> int:
        """Magnitude, as bits, of the lowest operand whose exponential is not below the smallest normal number."""
        fmt = self.fmt
        limit = math.log(2) * (fmt.bias - 1)
        if limit == 0:
            return 0
        exponent = max(math.floor(math.log2(limit)), 1 - fmt.bias)
        return math.floor(math.ldexp(limit, fmt.fraction_bits - exponent)) + (
            exponent + fmt.bias - 1 << fmt.fraction_bits
        )

    @property
    def whole_bits(self) -> int:
        """Bits of the largest whole part."""
        return max(self.highest - self.fmt.bias + 2, 1)

    @property
    def product_width(self) -> int:
        """Bits of the product."""
        return self.fmt.precision + self.product_bits + 1

    def shift(self, exponent: Any) -> Any:
        """Left shift of the product for operands with a biased exponent; negative: to the right."""
        return exponent - self.fmt.bias - self.fmt.fraction_bits - self.product_bits + self.fraction_bits

    def fixed_point(self, exponent: np.ndarray, significand: np.ndarray) -> np.ndarray:
        """Magnitudes times log2 e in fixed point, of operands with biased exponents up to ``highest``."""
        f = self.fmt.fraction_bits
        product = np.zeros(np.shape(significand), np.int64)
        place = 0
        for length, table in zip(self.chunks, self.multiples, strict=True):
            product = product + np.asarray(table, np.int64)[significand >> place & ((1 << length) - 1)]
            place += length
        if self.subnormal_operands:
            product = product + (significand >> f & 1) * self.implicit
        shift = self.shift(exponent)
        return np.where(shift >= 0, product << np.clip(shift, 0, 40), product >> np.clip(-shift, 0, 62))


def _highest(fmt: FloatFormat) -> int:
    # Results vanish below half the smallest subnormal, whose exponent is 1 - bias - precision.
    limit = math.log(2) * (fmt.bias + fmt.precision)
    return min(fmt.bias - 1 + math.ceil(math.log2(limit)), fmt.exponent_max - 1)


def _chunks(bits: int, longest: int = 4) -> tuple[int, ...]:
    """Parts of a word, as equal as they can be, longer ones last."""
    count = -(-bits // longest)
    return tuple((bits + n) // count for n in range(count))


def _multiples(
    fmt: FloatFormat, chunks: tuple[int, ...], product_bits: int, implicit: bool
) -> tuple[tuple[int, ...], ...]:
    tables, place = [], 0
    for n, length in enumerate(chunks):
        top = 1 << fmt.fraction_bits if implicit and n == len(chunks) - 1 else 0
        tables.append(tuple(round(_LOG2_E * 2.0**product_bits * ((i << place) + top)) for i in range(1 << length)))
        place += length
    return tuple(tables)


# What the fraction's power may be --------------------------------------------------------------------------------------


def _allowed(
    low: np.ndarray, high: np.ndarray, drop: np.ndarray | int, precision: int, value_bits: int
) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest ``value`` whose rounded result is less than a unit in the last place from every exact one.

    ``low`` and ``high`` bound the exact significands, 1 to 2, that a word stands for. ``drop`` is the number of bits by
    which the result is shorter than the format's precision. Values have ``value_bits`` and do not include the leading
    one.
    """
    unit = 2.0 ** (value_bits - precision + 1 + drop)
    least = np.floor(high * 2.0**value_bits / unit - 1) + 1
    most = np.ceil(low * 2.0**value_bits / unit + 1) - 1
    one = 1 << value_bits
    first = np.maximum(np.ceil((least - 0.5) * unit) - one, 0)
    last = np.minimum(np.ceil((most + 0.5) * unit) - 1 - one, one - 1)
    return first.astype(np.int64), last.astype(np.int64)


def _of_every_operand(tables: ExponentialTables) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the value for each fraction, from all operands of a format that have it."""
    fmt, n, bits = tables.fmt, tables.fraction_bits, tables.value_bits
    magnitude = np.arange(1, (tables.highest + 1) << fmt.fraction_bits, dtype=np.int64)
    exponent = np.maximum(magnitude >> fmt.fraction_bits, 1)
    significand = magnitude - (exponent - 1 << fmt.fraction_bits)
    exact = significand * 2.0 ** (exponent - fmt.bias - fmt.fraction_bits) * _LOG2_E
    word = tables.fixed_point(exponent, significand)
    first = np.zeros(1 << n, np.int64)
    last = np.full(1 << n, (1 << bits) - 1)
    for sign in (1, -1):
        signed = word if sign > 0 else ~word
        whole, fraction = signed >> n, signed & ((1 << n) - 1)
        drop = np.clip(1 - fmt.bias - whole, 0, None)
        used = (whole <= fmt.bias) & (drop <= fmt.precision)
        power = 2.0 ** (sign * exact - whole)[used]
        low, high = _allowed(power, power, drop[used], fmt.precision, bits)
        np.maximum.at(first, fraction[used], low)
        np.minimum.at(last, fraction[used], high)
    return first, last


def _of_every_word(
    fmt: FloatFormat, fraction_bits: int, value_bits: int, error: float
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the value for each fraction, if exact fractions are up to ``error`` units outside of the word's unit."""
    size = 1 << fraction_bits
    word = np.arange(size)
    low, high = 2.0 ** ((word - error) / size), 2.0 ** ((word + 1 + error) / size)
    return _allowed(low, high, 0, fmt.precision, value_bits)


def _exactly_one(first: np.ndarray, last: np.ndarray, precision: int, value_bits: int) -> None:
    """Words next to zero must round to 1."""
    half = 1 << (value_bits - precision)
    last[0] = min(last[0], half - 1)
    first[-1] = max(first[-1], (1 << value_bits) - half)


def _fit_chords(first: np.ndarray, last: np.ndarray, chords: Chords) -> Chords | None:
    """Starts and slopes that keep every value within its bounds and never let values fall; None if no chords fit."""
    count = 1 << chords.index_bits
    word = np.arange(1 << chords.fraction_bits, dtype=np.int64)
    whole = word << (chords.value_bits - chords.fraction_bits)
    low = chords._split(word)[1].reshape(count, -1)
    lower, upper = (first - whole).reshape(count, -1), (last - whole).reshape(count, -1)
    scale = 2.0 ** (chords.drop + chords.value_bits - chords.index_bits - chords.factor_bits)
    starts, slopes, before = [], [], -1
    limit = 1 << (chords.slope_bits - 1) if chords.slope_bits else 1
    for n in range(count):
        ideal = round((math.log(2) * 2.0 ** ((n + 0.5) / count) - 1) * scale) if chords.slope_bits else 0
        best = None
        for slope in range(max(ideal - 5, -limit), min(ideal + 6, limit)):
            rows = chords._rows(np.int64(slope), low[n])
            path = whole.reshape(count, -1)[n] + rows
            if (np.diff(path) < 0).any():
                continue
            least = max(int((lower[n] - rows).max()), before - int(path[0]))
            most = min(int((upper[n] - rows).min()), 0)
            if least <= most and (best is None or most - least > best[0]):
                best = most - least, slope, (least + most) // 2, int(path[-1])
        if best is None:
            return None
        slopes.append(best[1])
        starts.append(best[2])
        before = best[3] + best[2]
    return Chords(
        chords.fraction_bits,
        chords.value_bits,
        chords.index_bits,
        chords.factor_bits,
        chords.slope_bits,
        chords.drop,
        tuple(starts),
        tuple(slopes),
    )


#: Geometries found by a search over all operands: (exponent bits, fraction bits) to the parts of the fraction, bits of
#: product, fraction and value, and index, factor and slope bits of the chords and the bits that their rows drop.
_SEARCHED: dict[tuple[int, int], tuple[tuple[int, ...], int, int, int, tuple[int, int, int, int]]] = {
    (5, 10): ((3, 3, 4), 5, 12, 12, (6, 5, 4, 3)),
    (8, 7): ((3, 4), 7, 8, 9, (4, 3, 4, 2)),
}


@functools.cache
def exponential_tables(fmt: FloatFormat) -> ExponentialTables:
    """Tables of the exponential in a format.

    Every result is less than a unit in the last place from the exact exponential. Errors in units in the last place:

    - The final rounding takes 1/2.
    - A word of the fixed point is half a unit off, up to 0.70 * 2**(p - 1 - fraction_bits).
    - Each table of multiples is half a unit off. ``product_bits`` make this a small part of the word's error.

    For formats of up to CHORD_PRECISION bits of precision, the chords are fitted so that every word keeps the bound.
    For formats in _SEARCHED, they are fitted so that every operand keeps the bound, which allows for smaller widths.
    Above that precision, parabolas leave 0.26 (see _parabolas).
    """
    known = _SEARCHED.get((fmt.exponent_bits, fmt.fraction_bits))
    if known:
        chunks, product_bits, fraction_bits, value_bits, geometry = known
        chords = Chords(fraction_bits, value_bits, *geometry, (), ())
        tables = _tables(fmt, chunks, product_bits, fraction_bits, chords, value_bits)
        first, last = _of_every_operand(tables)
        _exactly_one(first, last, fmt.precision, value_bits)
        fitted = _fit_chords(first, last, chords)
        assert fitted is not None
        return _tables(fmt, chunks, product_bits, fraction_bits, fitted, value_bits)
    chunks = _chunks(fmt.fraction_bits)
    fraction_bits = fmt.precision + (1 if fmt.precision <= CHORD_PRECISION else 2)
    # The largest operand with a normal result has a last place of this weight.
    largest = math.floor(math.log2(math.log(2) * (fmt.bias + 1)))
    error = (len(chunks) + 1) / 2
    product_bits = max(0, largest - fmt.fraction_bits + fraction_bits + math.ceil(math.log2(error)) + 3)
    if fmt.precision <= CHORD_PRECISION:
        value_bits = fmt.precision + 1
        first, last = _of_every_word(fmt, fraction_bits, value_bits, 0.125)
        _exactly_one(first, last, fmt.precision, value_bits)
        return _tables(
            fmt,
            chunks,
            product_bits,
            fraction_bits,
            _cheapest_chords(first, last, fraction_bits, value_bits),
            value_bits,
        )
    power = _parabolas(fmt.precision, fraction_bits)
    return _tables(fmt, chunks, product_bits, fraction_bits, power, fmt.precision)


def _tables(
    fmt: FloatFormat,
    chunks: tuple[int, ...],
    product_bits: int,
    fraction_bits: int,
    power: Chords | Piecewise,
    value_bits: int,
) -> ExponentialTables:
    draft = ExponentialTables(fmt, chunks, (), product_bits, fraction_bits, power, value_bits)
    multiples = _multiples(fmt, chunks, product_bits, not draft.subnormal_operands)
    return ExponentialTables(fmt, chunks, multiples, product_bits, fraction_bits, power, value_bits)


def _cheapest_chords(first: np.ndarray, last: np.ndarray, fraction_bits: int, value_bits: int) -> Chords:
    """The smallest of the chords that fit: bits of tables, and of the products with their adders."""
    choices: list[tuple[float, tuple[int, int, int, int]]] = []
    for index_bits in range(fraction_bits + 1):
        for factor_bits in range(fraction_bits - index_bits + 1):
            for slope_bits in range(3, 9) if factor_bits else (0,):
                drop = index_bits + factor_bits + slope_bits - value_bits
                if drop < 0 or drop > slope_bits + factor_bits:
                    continue
                cost = 0.28 * (value_bits - 2 + slope_bits) * 2**index_bits + 7.5 * factor_bits * slope_bits
                choices.append((cost, (index_bits, factor_bits, slope_bits, drop)))
    for _, geometry in sorted(choices):
        fitted = _fit_chords(first, last, Chords(fraction_bits, value_bits, *geometry, (), ()))
        if fitted is not None:
            return fitted
    raise AssertionError  # a chord for every word fits


def _parabolas(precision: int, fraction_bits: int) -> Piecewise:
    """``2**precision * (2**x - 1)``: half units in the last place, cut to whole ones.

    Errors in half units:

    - at most 1/16 for the interpolation at Chebyshev's nodes;
    - 1/32 for c0;
    - 1/16 each for c1, for the cut argument of the slope and for the cut slope;
    - 1/32 for c2.

    Together they are 0.32, or 0.16 units. Cutting costs nothing more, because the final rounding looks only at whole
    half units.
    """
    # The third derivative is at most 0.67, the error of the interpolation 0.67 / 192 * 2**-3k.
    index_bits = math.ceil((precision + math.log2(0.67 / 192 * 16)) / 3)
    low_bits = fraction_bits - index_bits
    count, size = 1 << index_bits, 1 << low_bits
    nodes = (1 + np.cos(np.pi * np.array([1, 3, 5]) / 6)) / 2
    # A word stands for the middle of its unit; only the part of the power above 1 counts.
    at = (np.arange(count)[:, None] + nodes + 0.5 / size) / count
    values = np.expm1(at * math.log(2)) * 2.0**precision
    fit = np.array([np.linalg.solve(np.vander(nodes, 3, increasing=True), row) for row in values])
    a0, a1, a2 = fit.T
    # c2 in halves, and the line closest to the rest of it.
    c2 = np.rint(a2 * 2)
    a1, a0 = a1 + (a2 - c2 / 2), a0 - (a2 - c2 / 2) / 8
    # The slope over a piece in eighths; its argument so fine that c2 times its last bit is at most an eighth.
    high_bits = min(low_bits, max(2, math.ceil(math.log2(c2.max() * 4))))
    square_shift = high_bits - 2
    lost = 0.5 * 2.0**-high_bits if high_bits < low_bits else 0.0
    c1 = np.rint((a1 + c2 / 2 * lost) * 8 + 0.5)
    shift = low_bits + 3
    starts = np.rint(a0 * 16) * 2.0 ** (shift - 4)
    table = [[int(x) for x in c] for c in (starts, c1, c2)]
    table[0][0] = max(table[0][0], 0)
    # Where parabolas meet the next one must not start below the end of the one before.
    for n in range(1, count):
        end = table[1][n - 1] + (table[2][n - 1] * ((1 << high_bits) - 1) >> square_shift)
        last = table[0][n - 1] + end * (size - 1) >> shift << shift
        table[0][n] = max(table[0][n], last)
    # The value stays below 1, also behind the last word.
    c0, c1, c2 = (column[-1] for column in table)
    slope = c1 + (c2 * ((1 << high_bits) - 1) >> square_shift)
    table[0][-1] = min(c0, ((1 << precision) << shift) - 1 - slope * (size - 1))
    return Piecewise(
        index_bits,
        low_bits,
        tuple(table[0]),
        tuple(table[1]),
        shift,
        c2=tuple(table[2]),
        high_bits=high_bits,
        square_shift=square_shift,
    )


# Taylor series -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TaylorConstants:
    """Constants of the Taylor series of the exponential, as bits of a format, each rounded to nearest even.

    Attributes
    ----------
    coefficients : tuple of int
        1 / k! for k from 0 to the order.
    log2_e, ln_2, ln_2_rest : int
        For the reduction of the argument: log2 e, ln 2, and the rest of ln 2 after rounding.
    quotient_bits : int
        Bits of the multiple of ln 2 that is subtracted, its sign included.
    highest : int
        Largest biased exponent of operands that are reduced; the results of larger ones overflow or vanish.
    """

    coefficients: tuple[int, ...]
    log2_e: int
    ln_2: int
    ln_2_rest: int
    quotient_bits: int
    highest: int


@functools.cache
def taylor_constants(fmt: FloatFormat, order: int, range_reduced: bool) -> TaylorConstants:
    """Constants of the Taylor series of an order in a format.

    Raises
    ------
    :exc:`ValueError`
        If the order is less than 1. If reduction is asked for in a format that can't hold every multiple of ln 2
        exactly, or can't hold log2 e at all.
    """
    if order < 1:
        raise ValueError(f"Order must be 1 or more, not {order!r}")
    highest = _highest(fmt)
    quotient_bits = max(highest - fmt.bias + 3, 2)
    if range_reduced and (quotient_bits - 1 > fmt.precision or fmt.exponent_bits < 4):
        raise ValueError(
            f"Format must have 4 exponent bits and {quotient_bits - 1} bits of precision or more for the "
            f"reduction, not be {fmt.name}"
        )
    ln_2 = Fraction(math.log(2))
    high = _nearest(ln_2, fmt)
    return TaylorConstants(
        tuple(_nearest(Fraction(1, math.factorial(k)), fmt) for k in range(order + 1)),
        _nearest(Fraction(_LOG2_E), fmt),
        high,
        _nearest(ln_2 - _value(high, fmt), fmt),
        quotient_bits,
        highest,
    )


def _nearest(number: Fraction, fmt: FloatFormat) -> int:
    """Bits of a number below the largest, rounded to nearest even."""
    sign, number = (fmt.sign_mask, -number) if number < 0 else (0, number)
    if not number:
        return 0
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    exponent -= number < Fraction(2) ** exponent
    last = max(exponent, 1 - fmt.bias) - fmt.fraction_bits
    return sign | round(number / Fraction(2) ** last) + (last - fmt.lsb_exponent << fmt.fraction_bits)


def _value(bits: int, fmt: FloatFormat) -> Fraction:
    """Number of bits that are not negative."""
    exponent = max(bits >> fmt.fraction_bits, 1)
    return (bits - (exponent - 1 << fmt.fraction_bits)) * Fraction(2) ** (exponent - 1 + fmt.lsb_exponent)
