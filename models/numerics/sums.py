"""Products of vectors and matrices by aligned accumulation, for many queries at once: bit for bit :mod:`.aligned` and
:class:`.dot.DotAccumulation`.

Units differ in three things, which a :class:`Sum` holds: products that are added at a time, products between two
roundings, and what follows a rounding. The functions at the end of the module are compiled by Numba if it is installed.

Their inner loops use binary64, because vector registers multiply and truncate it. Every number there is exact. A product
of two numbers of 16 bits has 22 bits or fewer, and a power of two scales it. So truncation to a whole number is the right
shift of the unit. Sums stay below 2**53. Rows with infinities or NaN take another, slower way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from ...constraints.arith.geometry import AlignedWindow, DotWindow, ExpTable, SumWindow
from ...constraints.core.errors import ConfigError
from ...constraints.core.formats import FloatFormat
from ..memory.compiled import compiled
from .formats import decode, to_float64

__all__ = [
    "Factors",
    "Lists",
    "Sum",
    "format_numbers",
    "mixtures",
    "pair_scores",
    "scores",
    "softmax_powers",
    "table_numbers",
]

#: Exponents of zeros and of specials: below and above every sum of exponents of other numbers.
ZERO, SPECIAL = -(1 << 16), 1 << 20

#: Flags of an accumulator.
NAN, POSITIVE, NEGATIVE = 1, 2, 4

#: Tokens whose scores are computed side by side.
BLOCK = 128


@dataclass(frozen=True)
class Sum:
    """A sum of products.

    Attributes
    ----------
    window : geometry of the accumulator; its ``result`` is the format of sums
    lanes : products that are added at a time
    slices : products between two roundings; their sum is the length of the vectors. An empty sequence: no rounding
        but the last one. A number n stands for slices of n products, the last one of the rest
    then : what follows a rounding: the next slice starts from the rounded number (``preload``), or its sum is added to the
        rounded number in the result's format (``add``)
    """

    window: AlignedWindow | DotWindow
    lanes: int
    slices: Sequence[int] | int = ()
    then: Literal["preload", "add"] = "preload"

    @property
    def io(self) -> FloatFormat:
        return self.window.io if isinstance(self.window, AlignedWindow) else self.window.fmt

    def __post_init__(self) -> None:
        if self.window.width > 53:
            raise ConfigError(f"sums have up to 53 bits here, not {self.window.width}")

    @property
    def numbers(self) -> np.ndarray:
        """Left shift, right shift, unit, floor, and left shift of a preloaded significand."""
        window = self.window
        return np.array(
            [
                max(window.left, 0),
                max(-window.left, 0),
                window.unit,
                max(window.floor, 0),
                window.magnitude_bits - window.result.precision,
            ],
            np.int64,
        )

    @property
    def powers(self) -> np.ndarray:
        """``2**(-unit - exponent)`` for each exponent of an accumulator."""
        most = max(
            2 * self.io.exponent_max,
            self.numbers[3],
            self.window.result.exponent_max
            - 1
            - self.window.result.bias
            - self.window.result.fraction_bits
            - self.window.magnitude_bits
            + self.window.result.precision
            - self.window.unit,
        )
        return np.ldexp(1.0, -int(self.numbers[2]) - np.arange(most + 1))

    def sizes(self, length: int) -> np.ndarray:
        if isinstance(self.slices, int):
            starts = range(0, length, self.slices)
            return np.array([min(self.slices, length - start) for start in starts], np.int64)
        return np.array(self.slices or [length], np.int64)


def format_numbers(fmt: FloatFormat) -> np.ndarray:
    """Fraction bits, largest exponent, exponent of the last bit, place of the sign, and bias."""
    return np.array([fmt.fraction_bits, fmt.exponent_max, fmt.lsb_exponent, fmt.width - 1, fmt.bias], np.int64)


def table_numbers(table: ExpTable, fmt: FloatFormat) -> np.ndarray:
    """Sizes of a table of exponentials for :func:`difference` and :func:`power`."""
    return np.array(
        [
            table.integer_bits,
            table.fraction_bits,
            table.index_bits,
            table.value_bits,
            table.constant,
            table.constant_bits,
            table.difference_guard(fmt),
        ],
        np.int64,
    )


@lru_cache
def _table(fmt: FloatFormat) -> tuple[np.ndarray, np.ndarray]:
    if fmt.width > 16:
        raise ConfigError(f"factors have formats of up to 16 bits, not {fmt.name}")
    f = decode(np.arange(1 << fmt.width), fmt)
    special = f.inf | f.nan
    value = np.where(special, 0.0, to_float64(np.arange(1 << fmt.width), fmt))
    exponent = np.where(special, SPECIAL, np.where(f.significand == 0, ZERO, f.exponent))
    out = value, exponent.astype(np.int32)
    for array in out:
        array.flags.writeable = False
    return out


@dataclass(frozen=True)
class Factors:
    """Numbers of a format of up to 16 bits, taken apart.

    Attributes
    ----------
    bits, value, exponent : arrays of the same shape; the value of an infinity or NaN is 0
    odd : whether a row, along the last axis, holds an infinity or NaN
    """

    bits: np.ndarray
    value: np.ndarray
    exponent: np.ndarray
    odd: np.ndarray

    @classmethod
    def of(cls, bits: np.ndarray, fmt: FloatFormat) -> Factors:
        """
        Raises
        ------
        :exc:`ConfigError`
            If the format has more than 16 bits.
        """
        values, exponents = _table(fmt)
        bits = np.ascontiguousarray(bits, np.int64)
        exponent = exponents.take(bits)
        return cls(bits, values.take(bits), exponent, (exponent == SPECIAL).any(axis=-1))


@dataclass(frozen=True)
class Lists:
    """Tokens that queries attend to, in order: several lists side by side, each of one query.

    Attributes
    ----------
    tokens : int64 array
        Numbers of tokens, of all lists one after the other.
    first : int64 array of one more element than lists
        Place of the first token of each list in ``tokens``.
    query : int64 array
        Query of each list.
    """

    tokens: np.ndarray
    first: np.ndarray
    query: np.ndarray

    @classmethod
    def prefixes(cls, counts: np.ndarray) -> Lists:
        """Query n attends to the first ``counts[n]`` tokens."""
        counts = np.asarray(counts, np.int64)
        first = np.concatenate([[0], np.cumsum(counts)])
        return cls(np.arange(first[-1]) - np.repeat(first[:-1], counts), first, np.arange(len(counts)))

    @classmethod
    def of(cls, chosen: Sequence[np.ndarray]) -> Lists:
        """Query n attends to the tokens ``chosen[n]``."""
        first = np.concatenate([[0], np.cumsum([len(one) for one in chosen])]).astype(np.int64)
        tokens = np.concatenate([np.empty(0, np.int64), *chosen]).astype(np.int64)
        return cls(tokens, first, np.arange(len(chosen)))

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.first)

    @property
    def owners(self) -> np.ndarray:
        """Query of each token of the lists."""
        return np.repeat(self.query, self.sizes)

    def tiles(self, size: int) -> np.ndarray:
        """Place of each list's first tile of ``size`` tokens, and the number of all tiles. A list without tokens has one
        empty tile."""
        return np.concatenate([[0], np.cumsum(np.maximum(-(-self.sizes // size), 1))]).astype(np.int64)


def scores(q: Factors, k: Factors, counts: np.ndarray, how: Sum) -> np.ndarray:
    """Products of queries with the first ``counts`` keys.

    Parameters
    ----------
    q, k : of shapes ``(queries, head_dim)`` and ``(tokens, head_dim)``
    counts : int64 array of shape ``(queries,)``

    Returns
    -------
    int64 array of shape ``(queries, tokens)``, bits in the result's format; 0 behind the counted tokens
    """
    out = np.zeros((len(q.bits), len(k.bits)), np.int64)
    turned = [np.ascontiguousarray(part.T) for part in (k.value, k.exponent)]
    _scores(
        q.bits,
        q.value,
        q.exponent,
        q.odd,
        k.bits,
        *turned,
        k.odd,
        np.ascontiguousarray(counts, np.int64),
        how.numbers,
        how.powers,
        format_numbers(how.window.result),
        format_numbers(how.io),
        how.lanes,
        how.sizes(q.bits.shape[-1]),
        how.then == "add",
        out,
    )
    return out


def pair_scores(q: Factors, k: Factors, queries: np.ndarray, tokens: np.ndarray, how: Sum) -> np.ndarray:
    """Product of each query with one key: bits of shape ``(pairs,)``."""
    out = np.zeros(len(queries), np.int64)
    _pairs(
        q.bits,
        k.bits,
        np.ascontiguousarray(queries, np.int64),
        np.ascontiguousarray(tokens, np.int64),
        how.numbers,
        format_numbers(how.window.result),
        format_numbers(how.io),
        how.lanes,
        how.sizes(q.bits.shape[-1]),
        how.then == "add",
        out,
    )
    return out


def mixtures(probabilities: np.ndarray, v: Factors, lists: Lists, how: Sum, tile: int | None = None) -> np.ndarray:
    """Probabilities times values.

    Parameters
    ----------
    probabilities : bits of the factors' format, one for each token of the lists
    v : of shape ``(tokens, head_dim)``
    how : ``lanes`` counts tokens; ``slices`` is one number, or empty
    tile : tokens whose sum is a result of its own; None: all of a list

    Returns
    -------
    int64 array of shape ``(lists, head_dim)``, or ``(tiles, head_dim)`` in the order of :meth:`Lists.tiles`
    """
    p = Factors.of(probabilities, how.io)
    size = (1 << 62) if tile is None else tile
    starts = lists.tiles(size)
    slices = how.slices if isinstance(how.slices, int) else (1 << 62)
    out = np.zeros((starts[-1], v.bits.shape[-1]), np.int64)
    _mixtures(
        p.bits,
        p.value,
        p.exponent,
        v.bits,
        v.value,
        v.exponent,
        v.odd,
        lists.tokens,
        lists.first,
        starts,
        size,
        how.numbers,
        how.powers,
        format_numbers(how.window.result),
        format_numbers(how.io),
        how.lanes,
        slices,
        how.then == "add",
        out,
    )
    return out


def softmax_powers(
    values: np.ndarray,
    lists: Lists,
    tile: int | None,
    fmt: FloatFormat,
    table: ExpTable,
    nan_counts: bool,
    window: SumWindow | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Largest score of each tile, ``exp(score - largest)`` of each token, and the sum of a tile's exponentials.

    Parameters
    ----------
    values : bits of scores of format ``fmt``, one for each token of the lists
    tile : tokens of a tile; None: all of a list
    table : of the exponential; its ``io`` is the format of the results
    nan_counts : whether the largest of scores with a NaN is NaN, or the largest other score
    window : of the sum; None: the sums are 0
    """
    io, size = table.io, (1 << 62) if tile is None else tile
    starts = lists.tiles(size)
    powers = np.zeros(len(values), np.int64)
    largest, total = np.zeros(starts[-1], np.int64), np.zeros(starts[-1], np.int64)
    numbers = table_numbers(table, fmt)
    sums = np.zeros(2, np.int64) if window is None else np.array([window.fraction_bits, 1], np.int64)
    _softmax(
        np.ascontiguousarray(values, np.int64),
        lists.first,
        starts,
        size,
        format_numbers(fmt),
        format_numbers(io),
        numbers,
        np.asarray(table.values, np.int64),
        np.asarray(table.slopes, np.int64),
        nan_counts,
        sums,
        format_numbers(io if window is None else window.result),
        powers,
        largest,
        total,
    )
    return largest, powers, total


# Compiled ----------------------------------------------------------------------------------------------------------------


@compiled
def length(magnitude):
    """Bits of a non-negative number."""
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if magnitude >> step:
            magnitude >>= step
            bits += step
    return bits + (1 if magnitude else 0)


@compiled
def rounded(negative, magnitude, exponent, fmt):
    """Bits of a number rounded to nearest, ties to even; see ``round_to_format``."""
    fraction_bits, exponent_max, lsb_exponent, sign_bit = fmt[0], fmt[1], fmt[2], fmt[3]
    if magnitude == 0:
        return negative << sign_bit
    last = max(exponent + length(magnitude) - fraction_bits - 1, lsb_exponent)
    drop = last - exponent
    if drop > 0:
        right = min(drop, np.int64(62))
        kept = magnitude >> right
        low = magnitude - (kept << right)
        half = np.int64(1) << (right - 1)
        if drop <= 62 and (low > half or (low == half and kept & 1)):
            kept += 1
    else:
        kept = magnitude << min(-drop, np.int64(62))
    field = last - lsb_exponent
    infinity = exponent_max << fraction_bits
    packed = infinity if field >= exponent_max else min(kept + (field << fraction_bits), infinity)
    return packed | negative << sign_bit


@compiled
def _result(value, exponent, flags, unit, fmt):
    """Bits of an accumulator; see ``aligned_result``."""
    infinity = fmt[1] << fmt[0]
    if flags:
        if flags & NAN or (flags & POSITIVE and flags & NEGATIVE):
            return infinity | np.int64(1) << (fmt[0] - 1)
        return infinity if flags & POSITIVE else infinity | np.int64(1) << fmt[3]
    return rounded(np.int64(value < 0), abs(value), exponent + unit, fmt)


@compiled
def fields(bits, fmt):
    """Sign, biased exponent, significand, and whether a number is infinite or NaN."""
    field = bits >> fmt[0] & fmt[1]
    fraction = bits & ((np.int64(1) << fmt[0]) - 1)
    significand = fraction | (np.int64(1) << fmt[0] if field else np.int64(0))
    special = field == fmt[1]
    return (
        bits >> fmt[3] & 1,
        max(field, np.int64(1)),
        significand,
        special and fraction == 0,
        special and fraction != 0,
    )


@compiled
def added(a, b, fmt):
    """Sum of two numbers of a format of up to 24 bits of precision."""
    infinity = fmt[1] << fmt[0]
    nan = infinity | np.int64(1) << (fmt[0] - 1)
    sx, ex, x, ix, nx = fields(a, fmt)
    sy, ey, y, iy, ny = fields(b, fmt)
    if nx or ny or (ix and iy and sx != sy):
        return nan
    if ix or iy:
        return a if ix else b
    if x == 0 and y == 0:
        return a & b
    if ex < ey or (ex == ey and x < y):
        sx, ex, x, sy, ey, y = sy, ey, y, sx, ex, x
    guard = np.int64(30)
    gap = ex - ey
    wide = y << guard
    moved = wide >> min(gap, np.int64(62))
    if gap and (moved << min(gap, np.int64(62))) != wide:
        moved |= 1  # stands for all bits that were shifted out
    total = (x << guard) + (moved if sx == sy else -moved)
    if total == 0:
        return np.int64(0)
    return rounded(sx, total, ex - fmt[4] - fmt[0] - guard, fmt)


@compiled
def _product_flags(a, b, io):
    """Flags of a product with an infinity or NaN."""
    sx, _, x, ix, nx = fields(a, io)
    sy, _, y, iy, ny = fields(b, io)
    if nx or ny or (ix and y == 0) or (iy and x == 0):
        return NAN
    if ix or iy:
        return NEGATIVE if sx != sy else POSITIVE
    return 0


@compiled
def _preloaded(bits, window, fmt):
    """Value, exponent and flags of an accumulator that starts from a rounded number; see ``preload``."""
    sign, field, significand, infinite, nan = fields(bits, fmt)
    if nan:
        return np.int64(0), window[3], np.int64(NAN)
    if infinite:
        return np.int64(0), window[3], np.int64(NEGATIVE if sign else POSITIVE)
    lift = window[4]
    value = significand << lift if lift > 0 else significand >> -lift
    value = -value if sign else value
    own = field - fmt[4] - fmt[0] - lift - window[2]
    exponent = max(own, window[3])
    return value >> min(exponent - own, np.int64(62)), exponent, np.int64(0)


@compiled
def _pair(q, k, window, fmt, io, lanes, slices, adds):
    """The product of two vectors of any numbers."""
    left, right, unit, floor = window[0], window[1], window[2], window[3]
    at = 0
    bits = np.int64(0)
    for number in range(len(slices)):
        value, exponent, flags = np.int64(0), floor, np.int64(0)
        if number and not adds:
            value, exponent, flags = _preloaded(bits, window, fmt)
        end = at + slices[number]
        while at < end:
            stop = min(at + lanes, end)
            grown = exponent
            for n in range(at, stop):
                sx, ex, x, ix, nx = fields(q[n], io)
                sy, ey, y, iy, ny = fields(k[n], io)
                if ix or nx or iy or ny:
                    flags |= _product_flags(q[n], k[n], io)
                elif x and y:
                    grown = max(grown, ex + ey)
            total = np.int64(0)
            for n in range(at, stop):
                sx, ex, x, ix, nx = fields(q[n], io)
                sy, ey, y, iy, ny = fields(k[n], io)
                if x and y and not (ix or nx or iy or ny):
                    term = (x * y << left) >> min(grown - ex - ey + right, np.int64(62))
                    total += term if sx == sy else -term
            value = (value >> min(grown - exponent, np.int64(62))) + total
            exponent = grown
            at = stop
        one = _result(value, exponent, flags, unit, fmt)
        bits = added(bits, one, fmt) if number and adds else one
    return bits


@compiled
def value_bits(value, fmt):
    """Bits of a number of the format that binary64 holds; any NaN becomes the canonical one."""
    if value != value:
        return fmt[1] << fmt[0] | np.int64(1) << (fmt[0] - 1)
    sign = np.int64(np.copysign(1.0, value) < 0)
    magnitude = abs(value)
    if magnitude == np.inf:
        return fmt[1] << fmt[0] | sign << fmt[3]
    if magnitude == 0:
        return sign << fmt[3]
    exponent = np.int64(np.floor(np.log2(magnitude))) - 30
    # Any scale does, as long as the significand is whole: 24 bits are far fewer than the 62 that fit.
    whole = np.int64(np.ldexp(magnitude, -exponent))
    return rounded(sign, whole, exponent, fmt)


@compiled
def _pairs(q, k, queries, tokens, window, fmt, io, lanes, slices, adds, out):
    for n in range(len(queries)):
        out[n] = _pair(q[queries[n]], k[tokens[n]], window, fmt, io, lanes, slices, adds)


@compiled
def _scores(qbits, qv, qe, qodd, kbits, kv, ke, kodd, counts, window, powers, fmt, io, lanes, slices, adds, out):
    """``kv`` and ``ke`` have the shape ``(head_dim, tokens)``."""
    unit, floor = window[2], window[3]
    value, scale = np.zeros(BLOCK), np.zeros(BLOCK)
    exponent, grown = np.zeros(BLOCK, np.int32), np.zeros(BLOCK, np.int32)
    flags = np.zeros(BLOCK, np.int64)
    for start in range(0, ke.shape[1], BLOCK):
        odd = False
        for j in range(start, min(start + BLOCK, ke.shape[1])):
            odd = odd or kodd[j]
        for i in range(len(counts)):
            n = min(counts[i] - start, BLOCK)
            if n <= 0:
                continue
            row = out[i, start : start + n]
            if odd or qodd[i]:
                for j in range(n):
                    row[j] = _pair(qbits[i], kbits[start + j], window, fmt, io, lanes, slices, adds)
                continue
            at = 0
            for number in range(len(slices)):
                for j in range(n):
                    value[j] = 0
                    exponent[j] = floor
                    scale[j] = powers[floor]
                    flags[j] = 0
                if number and not adds:
                    for j in range(n):
                        whole, first, flags[j] = _preloaded(row[j], window, fmt)
                        value[j] = whole
                        exponent[j] = first
                        scale[j] = powers[first]
                end = at + slices[number]
                while at < end:
                    stop = min(at + lanes, end)
                    for j in range(n):
                        grown[j] = exponent[j]
                    for lane in range(at, stop):
                        a = qe[i, lane]
                        other = ke[lane, start : start + n]
                        for j in range(n):
                            grown[j] = max(grown[j], a + other[j])
                    changed = False
                    for j in range(n):
                        changed |= grown[j] != exponent[j]
                    if changed:
                        for j in range(n):
                            new = powers[grown[j]]
                            value[j] = np.floor(value[j] * (new / scale[j]))
                            scale[j] = new
                            exponent[j] = grown[j]
                    for lane in range(at, stop):
                        factor = qv[i, lane]
                        other = kv[lane, start : start + n]
                        for j in range(n):
                            value[j] += np.trunc(factor * other[j] * scale[j])
                    at = stop
                for j in range(n):
                    one = _result(np.int64(value[j]), np.int64(exponent[j]), flags[j], unit, fmt)
                    row[j] = added(row[j], one, fmt) if number and adds else one


@compiled
def _mixtures(
    pbits, pv, pe, vbits, vv, ve, vodd, tokens, first, starts, tile, window, powers, fmt, io, lanes, slices, adds, out
):
    unit, floor = window[2], window[3]
    dim = vv.shape[1]
    value, scale = np.zeros(dim), np.zeros(dim)
    exponent, grown = np.zeros(dim, np.int32), np.zeros(dim, np.int32)
    flags = np.zeros(dim, np.int64)
    for each in range(len(first) - 1):
        low = first[each]
        for number in range(starts[each], starts[each + 1]):
            high = min(low + tile, first[each + 1])
            row = out[number]
            begun = False
            while True:
                end = min(low + slices, high)
                for d in range(dim):
                    value[d] = 0
                    exponent[d] = floor
                    scale[d] = powers[floor]
                    flags[d] = 0
                if begun and not adds:
                    for d in range(dim):
                        whole, start, flags[d] = _preloaded(row[d], window, fmt)
                        value[d] = whole
                        exponent[d] = start
                        scale[d] = powers[start]
                while low < end:
                    stop = min(low + lanes, end)
                    odd = False
                    for n in range(low, stop):
                        odd = odd or vodd[tokens[n]] or pe[n] == SPECIAL
                    for d in range(dim):
                        grown[d] = exponent[d]
                    if odd:
                        for n in range(low, stop):
                            token = tokens[n]
                            for d in range(dim):
                                if pe[n] == SPECIAL or ve[token, d] == SPECIAL:
                                    flags[d] |= _product_flags(pbits[n], vbits[token, d], io)
                                else:
                                    grown[d] = max(grown[d], pe[n] + ve[token, d])
                    else:
                        for n in range(low, stop):
                            a = pe[n]
                            other = ve[tokens[n]]
                            for d in range(dim):
                                grown[d] = max(grown[d], a + other[d])
                    changed = False
                    for d in range(dim):
                        changed |= grown[d] != exponent[d]
                    if changed:
                        for d in range(dim):
                            new = powers[grown[d]]
                            value[d] = np.floor(value[d] * (new / scale[d]))
                            scale[d] = new
                            exponent[d] = grown[d]
                    for n in range(low, stop):
                        factor = pv[n]
                        other = vv[tokens[n]]
                        for d in range(dim):  # the value of an infinity or NaN is 0
                            value[d] += np.trunc(factor * other[d] * scale[d])
                    low = stop
                for d in range(dim):
                    one = _result(np.int64(value[d]), np.int64(exponent[d]), flags[d], unit, fmt)
                    row[d] = added(row[d], one, fmt) if begun and adds else one
                begun = True
                if low >= high:
                    break


@compiled
def difference(high, low, fmt, numbers):
    """See ``negative_difference``; both numbers are finite."""
    sx, ex, x, _, _ = fields(high, fmt)
    sy, ey, y, _, _ = fields(low, fmt)
    guard = numbers[6]
    top = max(ex, ey)
    wide = x << guard
    move = min(top - ex, np.int64(62))
    a = wide >> move
    if (a << move) != wide:
        a |= 1
    wide = y << guard
    move = min(top - ey, np.int64(62))
    b = wide >> move
    if (b << move) != wide:
        b |= 1
    difference = (-a if sx else a) - (-b if sy else b)
    bits = numbers[0] + numbers[1]
    limit = (np.int64(1) << bits) - 1
    shift = top - fmt[4] - fmt[0] - guard + numbers[1]
    if shift >= 0:
        fixed = min(difference, limit) << min(shift, bits)
    else:
        fixed = difference >> min(-shift, np.int64(62))
    return min(fixed, limit)


@compiled
def power(scaled, io, numbers, values, slopes):
    """See ``negative_power``."""
    fraction_bits, index_bits, value_bits = numbers[1], numbers[2], numbers[3]
    whole = scaled >> fraction_bits
    low_bits = fraction_bits - index_bits
    index = scaled >> low_bits & ((np.int64(1) << index_bits) - 1)
    low = scaled & ((np.int64(1) << low_bits) - 1)
    value = values[index] - (slopes[index] * low >> low_bits)
    normal = io[4] - 2
    shift = min(value_bits - io[0] - 1 + max(whole - normal, np.int64(0)), np.int64(31))
    kept = value >> shift
    rest = value - (kept << shift)
    half = np.int64(1) << (shift - 1)
    if rest > half or (rest == half and kept & 1):
        kept += 1
    return (max(normal - whole, np.int64(0)) << io[0]) + kept


@compiled
def _softmax(
    values, first, starts, tile, fmt, io, numbers, table, slopes, nan_counts, sums, total_fmt, powers, largest, total
):
    sign_mask, mask = np.int64(1) << fmt[3], (np.int64(1) << (fmt[3] + 1)) - 1
    infinity = fmt[1] << fmt[0]
    nan = infinity | np.int64(1) << (fmt[0] - 1)
    power_nan = io[1] << io[0] | np.int64(1) << (io[0] - 1)
    for each in range(len(first) - 1):
        low = first[each]
        for number in range(starts[each], starts[each + 1]):
            high = min(low + tile, first[each + 1])
            best, bits, broken = np.int64(-1), infinity | sign_mask, False
            for n in range(low, high):
                one = values[n]
                if one & (mask >> 1) > infinity:
                    broken = True
                else:
                    key = one ^ mask if one & sign_mask else one ^ sign_mask
                    if key > best:
                        best, bits = key, one
            if broken and nan_counts:
                bits = nan
            largest[number] = bits
            high_infinite, high_nan = bits & (mask >> 1) == infinity, bits & (mask >> 1) > infinity
            sum_bits, bad = np.int64(0), False
            for n in range(low, high):
                one = values[n]
                magnitude = one & (mask >> 1)
                if magnitude > infinity or high_nan:
                    powers[n] = power_nan
                elif one == infinity | sign_mask:
                    powers[n] = 0
                elif high_infinite:
                    powers[n] = power_nan if magnitude == infinity else np.int64(0)
                else:
                    x = difference(bits, one, fmt, numbers) * numbers[4] >> numbers[5]
                    powers[n] = power(x, io, numbers, table, slopes)
                if sums[1]:
                    _, exponent, significand, _, odd = fields(powers[n], io)
                    if odd:
                        bad = True
                    else:
                        left = sums[0] - io[0]
                        sum_bits += (significand << max(left, np.int64(0))) >> min(
                            io[4] - exponent + max(-left, np.int64(0)), np.int64(62)
                        )
            if sums[1]:
                wrong = total_fmt[1] << total_fmt[0] | np.int64(1) << (total_fmt[0] - 1)
                total[number] = wrong if bad else rounded(np.int64(0), sum_bits, -sums[0], total_fmt)
            low = high
