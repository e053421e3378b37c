"""Aligned accumulation: exact products, shifted to a running maximum exponent and added as integers.

A term with a larger exponent shifts the accumulator right (towards minus infinity). A term with a smaller exponent is
itself shifted right (its magnitude, towards zero). Nothing else is lost until the one rounding at the end. So the error
of a sum is at most one unit of the window for each shift that cuts off bits. If products fit the window, each term
counts once. If they do not, each term that raises the exponent counts once more. The unit is at most
``2**-(precision + guard - 2)`` of the largest product of normal numbers, or the unit at ``AlignedWindow.floor``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...constraints.arith.geometry import AlignedWindow, SumWindow
from ...constraints.core.formats import FloatFormat
from .formats import decode, round_to_format

__all__ = ["Accumulator", "Products", "aligned_add", "aligned_result", "exact_products", "preload", "probability_sum"]


class Products(NamedTuple):
    """Exact products: ``(-1)**sign * magnitude * 2**(exponent - 2 * (bias + fraction_bits))``; a zero has exponent 0."""

    sign: np.ndarray
    magnitude: np.ndarray
    exponent: np.ndarray
    inf: np.ndarray
    nan: np.ndarray


@dataclass
class Accumulator:
    """State of an array of accumulators: ``value`` and ``exponent`` int64, and sticky special-value flags."""

    value: np.ndarray
    exponent: np.ndarray
    nan: np.ndarray
    positive: np.ndarray
    negative: np.ndarray

    @classmethod
    def zeros(cls, shape: tuple[int, ...], window: AlignedWindow) -> Accumulator:
        return cls(
            np.zeros(shape, np.int64),
            np.full(shape, window.floor, np.int64),
            *(np.zeros(shape, bool) for _ in range(3)),
        )


def exact_products(a: np.ndarray, b: np.ndarray, io: FloatFormat) -> Products:
    """Exact products of bit patterns; 0 times infinity is NaN."""
    x, y = decode(a, io), decode(b, io)
    zero_x, zero_y = x.significand == 0, y.significand == 0
    nan = x.nan | y.nan | (x.inf & zero_y) | (y.inf & zero_x)
    inf = (x.inf | y.inf) & ~nan
    dead = zero_x | zero_y | x.inf | y.inf | nan
    return Products(
        x.sign ^ y.sign,
        np.where(dead, 0, x.significand * y.significand),
        np.where(dead, 0, x.exponent + y.exponent),
        inf,
        nan,
    )


def aligned_add(state: Accumulator, products: Products, window: AlignedWindow, *, axis: int | None = None) -> None:
    """Add products to accumulators in place; with ``axis``, all products along it at once (a fused dot product)."""
    sign, magnitude, exponent, inf, nan = products
    grown = np.maximum(state.exponent, exponent if axis is None else exponent.max(axis=axis))
    base = grown if axis is None else np.expand_dims(grown, axis)
    left, right = max(window.left, 0), max(-window.left, 0)
    term = (magnitude << left) >> np.minimum(base - exponent + right, 62)
    term = np.where(sign == 1, -term, term)
    flags = [nan, inf & (sign == 0), inf & (sign == 1)]
    if axis is not None:
        term, flags = term.sum(axis=axis), [np.any(flag, axis=axis) for flag in flags]
    state.value = (state.value >> np.minimum(grown - state.exponent, 62)) + term
    state.exponent = grown
    state.nan, state.positive, state.negative = (
        old | new for old, new in zip((state.nan, state.positive, state.negative), flags, strict=True)
    )


def preload(bits: np.ndarray, fmt: FloatFormat, window: AlignedWindow) -> Accumulator:
    """Accumulators that start from numbers of format ``fmt``, with the leading bit at the place of a product's."""
    f = decode(bits, fmt)
    left = window.magnitude_bits - fmt.precision
    value = np.where(f.inf | f.nan, 0, f.significand << max(left, 0) >> max(-left, 0))
    value = np.where(f.sign == 1, -value, value)
    exponent = np.where(f.inf | f.nan, window.floor, f.exponent - fmt.bias - fmt.fraction_bits - left - window.unit)
    grown = np.maximum(exponent, window.floor)
    return Accumulator(
        value >> np.minimum(grown - exponent, 62), grown, f.nan, f.inf & (f.sign == 0), f.inf & (f.sign == 1)
    )


def aligned_result(state: Accumulator, window: AlignedWindow) -> np.ndarray:
    """Bits of the accumulators rounded to ``window.result``, to nearest even; a sum of 0 is +0."""
    fmt = window.result
    bits = round_to_format(state.value < 0, np.abs(state.value), state.exponent + window.unit, fmt)
    bits = np.where(state.positive, fmt.infinity, np.where(state.negative, fmt.negative_infinity, bits))
    return np.where(state.nan | (state.positive & state.negative), fmt.nan, bits)


def probability_sum(bits: np.ndarray, window: SumWindow, *, axis: int = -1) -> np.ndarray:
    """Sum of probabilities (0..1, or NaN) along ``axis``: each is truncated to the window, and the sum is rounded
    once."""
    f = decode(bits, window.io)
    left = window.fraction_bits - window.io.fraction_bits
    term = (f.significand << max(left, 0)) >> np.minimum(window.io.bias - f.exponent + max(-left, 0), 62)
    total = np.where(f.nan, 0, term).sum(axis=axis)
    rounded = round_to_format(np.zeros_like(total), total, np.full_like(total, -window.fraction_bits), window.result)
    return np.where(f.nan.any(axis=axis), window.result.nan, rounded)
