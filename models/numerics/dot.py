"""Fused dot products (exact products, aligned to the largest, added as integers, rounded once) and vector operators.

All operands are int64 arrays of bit patterns; lanes are the last axis.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...constraints.arith.geometry import DotWindow, dot_window
from ...constraints.core.formats import FP32, FloatFormat
from . import ieee
from .formats import bit_length, decode, round_to_format

__all__ = [
    "DotAccumulation",
    "dot",
    "dot_stream",
    "dot_tree",
    "vector_add",
    "vector_mac",
    "vector_multiply",
    "vector_scale",
]

#: Products in a block: its arrays stay in the second-level cache.
BLOCK = 1 << 14
#: Exponents of zeros and of specials: below and above every sum of exponents of other numbers.
ZERO, SPECIAL = -(1 << 16), 1 << 20


def dot(
    a: Any,
    b: Any,
    acc: Any = None,
    *,
    fmt: FloatFormat,
    result: FloatFormat = FP32,
    window: int | str | None = None,
    flush_to_zero: bool = False,
) -> np.ndarray:
    """Fused dot products along the last axis, plus ``acc``: rounded once to nearest, ties to even.

    Products are exact. Every term is aligned to the largest term, and its magnitude is cut towards zero where it leaves
    the window. With ``window="exact"`` nothing is cut. The order of the lanes makes no difference.

    Parameters
    ----------
    a, b : bit patterns in ``fmt``, shape ``(..., n)``
    acc : bit patterns in ``result``, shape ``(...)``, or None
    window : bits of the window, ``"exact"``, or None for three bits more than the precision of ``result``
    flush_to_zero : subnormal operands count as zero; a sum below the normal range before rounding becomes zero

    Returns
    -------
    Bit patterns in ``result``, shape ``(...)``.

    Raises
    ------
    :exc:`ValueError`
        If shapes do not fit, or the window is less than two bits.
    """
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    if a.shape != b.shape or a.ndim < 1 or not a.shape[-1]:
        raise ValueError(f"Operands must have the same shape (..., n), not {a.shape} and {b.shape}")
    shape, lanes = a.shape[:-1], a.shape[-1]
    geometry = dot_window(fmt, result, lanes, window, addend=acc is not None)
    a, b = a.reshape(-1, lanes), b.reshape(-1, lanes)
    start = None
    if acc is not None:
        start = np.asarray(acc, np.int64)
        if start.shape != shape:
            raise ValueError(f"Addend must have shape {shape}, not {start.shape}")
        start = start.reshape(-1)
    out = np.empty(len(a), np.int64)
    rows = max(BLOCK // lanes, 1)
    for low in range(0, len(a), rows):
        part = slice(low, low + rows)
        state = DotAccumulation(len(out[part]), geometry, flush_to_zero=flush_to_zero)
        state.add(a[part], b[part], None if start is None else start[part])
        out[part] = state.result()
    return out.reshape(shape)


def dot_stream(
    a: Any,
    b: Any,
    first: Any,
    last: Any,
    *,
    fmt: FloatFormat,
    result: FloatFormat = FP32,
    window: int | str | None = None,
    beats: int = 1024,
    flush_to_zero: bool = False,
) -> np.ndarray:
    """Results of a :class:`DotAccumulator` for a stream of beats.

    Parameters
    ----------
    a, b : bit patterns in ``fmt``, shape ``(m, n)``: m beats of n lanes
    first, last : shape ``(m,)``
        Beats that begin a sum, and beats after which the sum is given out. The first beat of all begins a sum.
    beats : greatest number of beats of a sum

    Returns
    -------
    Bit patterns in ``result``, one for each ``last`` beat.

    Raises
    ------
    :exc:`ValueError`
        If shapes do not fit, or a sum has more than ``beats`` beats.
    """
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    begins, ends = np.asarray(first, bool).copy(), np.asarray(last, bool)
    if a.ndim != 2 or a.shape != b.shape or begins.shape != a.shape[:1] or ends.shape != a.shape[:1]:
        raise ValueError(
            f"Operands must have the shapes (m, n), (m, n), (m,) and (m,), not {a.shape}, {b.shape}, "
            f"{begins.shape} and {ends.shape}"
        )
    geometry = dot_window(fmt, result, a.shape[1], window, beats=beats)
    out = np.zeros(len(a), np.int64)
    if len(a):
        begins[0] = True
        starts = np.flatnonzero(begins)
        lengths = np.diff(np.append(starts, len(a)))
        if lengths.max() > beats:
            raise ValueError(f"A sum must have {beats} beats or fewer, not {lengths.max()}")
        # Sums side by side, the longest first: sums that go on are always in front.
        order = np.argsort(-lengths, kind="stable")
        starts, lengths = starts[order], lengths[order]
        state = DotAccumulation(len(starts), geometry, flush_to_zero=flush_to_zero)
        for beat in range(lengths[0]):
            state.shorten(int(np.count_nonzero(lengths > beat)))
            at = starts[: state.count] + beat
            rows = max(BLOCK // a.shape[1], 1)
            for low in range(0, state.count, rows):
                part = slice(low, min(low + rows, state.count))
                state.add(a[at[part]], b[at[part]], part=part)
            done = ends[at]
            if done.any():
                out[at[done]] = state.result()[done]
    return out[ends]


def dot_tree(
    a: Any, b: Any, acc: Any = None, *, fmt: FloatFormat, result: FloatFormat | None = None, flush_to_zero: bool = False
) -> np.ndarray:
    """Dot products along the last axis by rounded products and a tree of rounded sums, neighbours first; ``acc`` last.

    The factors are converted to ``result`` (None: ``fmt``). Every product and sum is rounded in this format. If the
    number of terms is odd, the last term waits for the next level. Shapes are as for :func:`dot`.
    """
    result = fmt if result is None else result
    x, y = (
        ieee.convert(n, fmt, result, flush_to_zero=flush_to_zero) if fmt != result else np.asarray(n) for n in (a, b)
    )
    terms = ieee.multiply(x, y, result, flush_to_zero=flush_to_zero)
    while terms.shape[-1] > 1:
        even = terms.shape[-1] // 2 * 2
        sums = ieee.add(terms[..., 0:even:2], terms[..., 1:even:2], result, flush_to_zero=flush_to_zero)
        terms = np.concatenate([sums, terms[..., even:]], axis=-1)
    total = terms[..., 0]
    return total if acc is None else ieee.add(total, acc, result, flush_to_zero=flush_to_zero)


def vector_multiply(a: Any, b: Any, *, fmt: FloatFormat, flush_to_zero: bool = False) -> np.ndarray:
    """``a * b`` lane by lane."""
    return ieee.multiply(a, b, fmt, flush_to_zero=flush_to_zero)


def vector_add(a: Any, b: Any, *, fmt: FloatFormat, subtract: Any = False, flush_to_zero: bool = False) -> np.ndarray:
    """``a + b``, or ``a - b`` where ``subtract`` is set, lane by lane."""
    return ieee.add(a, b, fmt, subtract=subtract, flush_to_zero=flush_to_zero)


def vector_scale(s: Any, x: Any, *, fmt: FloatFormat, flush_to_zero: bool = False) -> np.ndarray:
    """``s * x``: numbers of shape ``(...)`` times vectors of shape ``(..., n)``."""
    return ieee.multiply(np.asarray(s)[..., None], x, fmt, flush_to_zero=flush_to_zero)


def vector_mac(
    s: Any,
    x: Any,
    acc: Any,
    *,
    fmt: FloatFormat,
    result: FloatFormat | None = None,
    fused: bool = True,
    flush_to_zero: bool = False,
) -> np.ndarray:
    """``s * x + acc``: numbers of shape ``(...)`` times vectors of shape ``(..., n)`` in ``fmt``, added to vectors in
    ``result`` (None: ``fmt``).

    The operation is fused, or rounds the product to ``fmt`` first.
    """
    result = fmt if result is None else result
    s = np.asarray(s)[..., None]
    if fused:
        return ieee.fma(s, x, acc, fmt, acc=result, flush_to_zero=flush_to_zero)
    product = ieee.multiply(s, x, fmt, flush_to_zero=flush_to_zero)
    if fmt != result:
        product = ieee.convert(product, fmt, result, flush_to_zero=flush_to_zero)
    return ieee.add(product, acc, result, flush_to_zero=flush_to_zero)


class DotAccumulation:
    """State of ``count`` accumulations side by side: ``value * 2**(exponent + window.unit)`` each, and flags.

    :meth:`add` adds beats, and a start value with the first beat. :meth:`result` rounds. Values are int64 if the window
    fits, otherwise Python integers.
    """

    def __init__(self, count: int, window: DotWindow, *, flush_to_zero: bool = False):
        self.window, self.flush_to_zero, self.count = window, flush_to_zero, count
        self._wide = window.width > 62
        self.value = np.zeros(count, object if self._wide else np.int64)
        self.exponent = np.full(count, window.top if window.exact else max(window.floor, 0), np.int64)
        if window.addend and not window.exact:
            self.exponent[:] = window.floor
        self.nan, self.positive, self.negative = (np.zeros(count, bool) for _ in range(3))
        self.minus = np.ones(count, bool)

    def shorten(self, count: int) -> None:
        """Keep the first ``count`` accumulations only."""
        self.count = count
        for name in ("value", "exponent", "nan", "positive", "negative", "minus"):
            setattr(self, name, getattr(self, name)[:count])

    def add(self, a: np.ndarray, b: np.ndarray, acc: np.ndarray | None = None, *, part: slice = slice(None)) -> None:
        """Add the products of one beat, shape ``(count, n)``, and an addend, shape ``(count,)``.

        ``part`` selects the accumulations.
        """
        window, fmt = self.window, self.window.fmt
        a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
        (x, ex), (y, ey) = _factor(a, fmt, self.flush_to_zero), _factor(b, fmt, self.flush_to_zero)
        small = x.dtype == np.int32 and window.magnitude_bits <= 30
        if not small:
            x, y = x.astype(np.int64), y.astype(np.int64)
        product = x * y
        exponent = ex + ey
        old = self.exponent[part]
        highest = exponent.max(axis=0).astype(np.int64)
        special = highest >= SPECIAL // 2
        if special.any():
            self._specials(a, b, special, part)
        highest = np.where(special, old, highest)

        addend = None
        if acc is not None:
            addend = _factor(acc, window.result, self.flush_to_zero)
            odd = addend[1] >= SPECIAL // 2
            if odd.any():
                f = decode(acc, window.result)
                self.nan[part] |= f.nan
                self.positive[part] |= f.inf & (f.sign == 0)
                self.negative[part] |= f.inf & (f.sign == 1)
            placed = np.where(odd | (addend[1] < 0), window.floor, addend[1] + window.addend_offset)
            highest = np.maximum(highest, placed)
            addend = addend[0], placed
        grown = old if window.exact else np.maximum(old, highest)

        # Distances are negative only beside specials, where they don't matter.
        if self._wide:
            distance = np.where(product == 0, 0, np.maximum(grown - exponent, 0))
            terms = _place(product.astype(object), window.left, distance.astype(object)).sum(axis=0)
            value = self.value[part] >> (grown - old).astype(object)
            if addend is not None:
                value = value + _place(addend[0].astype(object), window.addend_left, (grown - addend[1]).astype(object))
        else:
            top = exponent.dtype.type(31 if small else 62)
            distance = np.clip(grown.astype(exponent.dtype) - exponent, 0, top)
            terms = _place(product, window.left, distance).sum(axis=0, dtype=np.int64)
            value = self.value[part] >> np.minimum(grown - old, 62)
            if addend is not None:
                value = value + _place(
                    addend[0].astype(np.int64), window.addend_left, np.minimum(grown - addend[1], 62)
                )
        self.value[part] = value + terms
        self.exponent[part] = grown
        minus = np.bitwise_and.reduce(a ^ b, axis=0) & fmt.sign_mask != 0
        if acc is not None:
            minus &= acc & window.result.sign_mask != 0
        self.minus[part] &= minus

    def _specials(self, a: np.ndarray, b: np.ndarray, rows: np.ndarray, part: slice) -> None:
        """Set flags of the accumulations whose beat has an infinity or NaN."""
        x, y = decode(a[:, rows], self.window.fmt), decode(b[:, rows], self.window.fmt)
        zero_x, zero_y = x.significand == 0, y.significand == 0
        if self.flush_to_zero:
            zero_x, zero_y = (f.significand >> self.window.fmt.fraction_bits == 0 for f in (x, y))
        nan = x.nan | y.nan | (x.inf & zero_y) | (y.inf & zero_x)
        inf, sign = (x.inf | y.inf) & ~nan, x.sign ^ y.sign
        for flags, new in ((self.nan, nan), (self.positive, inf & (sign == 0)), (self.negative, inf & (sign == 1))):
            flags[part][rows] |= new.any(axis=0)

    def result(self) -> np.ndarray:
        """Bits of the sums, rounded to ``window.result``. A sum of 0 has the sign 1 only if all its terms have it."""
        window, fmt = self.window, self.window.result
        magnitude, exponent = abs(self.value), self.exponent + window.unit
        if self._wide:
            narrow, dropped = _NARROW(magnitude)
            magnitude, exponent = narrow.astype(np.int64), exponent + dropped.astype(np.int64)
        sign = (self.value < 0) | self.minus
        bits = round_to_format(sign, magnitude, exponent, fmt)
        if self.flush_to_zero:
            bits = np.where(bit_length(magnitude) + exponent <= 1 - fmt.bias, bits & fmt.sign_mask, bits)
        bits = np.where(self.positive, fmt.infinity, np.where(self.negative, fmt.negative_infinity, bits))
        return np.where(self.nan | (self.positive & self.negative), fmt.nan, bits)


def _factor(bits: np.ndarray, fmt: FloatFormat, flush_to_zero: bool) -> tuple[np.ndarray, np.ndarray]:
    """Signed significands and biased exponents; the exponents of zeros and specials are ``ZERO`` and ``SPECIAL``."""
    if fmt.width <= 16:
        significands, exponents = _tables(fmt, flush_to_zero)
        return significands.take(bits), exponents.take(bits)
    return _fields(bits, fmt, flush_to_zero)


@cache
def _tables(fmt: FloatFormat, flush_to_zero: bool) -> tuple[np.ndarray, np.ndarray]:
    """Results of :func:`_factor` for every bit pattern of a small format, in a type that its products fit."""
    significands, exponents = _fields(np.arange(1 << fmt.width), fmt, flush_to_zero)
    return significands.astype(np.int32), exponents.astype(np.int32)


def _fields(bits: np.ndarray, fmt: FloatFormat, flush_to_zero: bool) -> tuple[np.ndarray, np.ndarray]:
    f = decode(bits, fmt)
    zero = f.significand >> fmt.fraction_bits == 0 if flush_to_zero else f.significand == 0
    special = f.inf | f.nan
    significand = np.where(zero | special, 0, f.significand)
    return (
        np.where(f.sign == 1, -significand, significand),
        np.where(special, SPECIAL, np.where(zero, ZERO, f.exponent)),
    )


def _place(term: np.ndarray, left: int, distance: np.ndarray) -> np.ndarray:
    """Magnitudes shifted left by ``left``, then right by ``distance``; the signs stay."""
    magnitude: Any = abs(term)
    moved = (magnitude << left if left >= 0 else magnitude >> -left) >> distance
    return np.where(term < 0, -moved, moved)


def _narrow(magnitude: int) -> tuple[int, int]:
    """A magnitude of 60 bits whose last bit also stands for all dropped bits, and the number of dropped places."""
    drop = max(magnitude.bit_length() - 60, 0)
    return magnitude >> drop | (magnitude & ((1 << drop) - 1) != 0), drop


_NARROW = np.frompyfunc(_narrow, 1, 2)
