"""Fields, values and rounding of binary formats. Arrays of bit patterns are int64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...constraints.core.formats import FloatFormat

__all__ = ["Fields", "bit_length", "decode", "encode", "from_float64", "order_key", "round_to_format", "to_float64"]


class Fields(NamedTuple):
    """Fields of numbers. A finite number is ``(-1)**sign * significand * 2**(exponent - bias - fraction_bits)``.

    Attributes
    ----------
    sign : int64 array, 0 or 1
    exponent : int64 array
        Biased exponent; 1 for subnormals and zeros.
    significand : int64 array
        With the implicit bit.
    inf, nan : bool array
    """

    sign: np.ndarray
    exponent: np.ndarray
    significand: np.ndarray
    inf: np.ndarray
    nan: np.ndarray


def decode(bits: np.ndarray, fmt: FloatFormat) -> Fields:
    """Fields of bit patterns."""
    bits = np.asarray(bits, np.int64)
    fraction = bits & ((1 << fmt.fraction_bits) - 1)
    exponent = bits >> fmt.fraction_bits & fmt.exponent_max
    special = exponent == fmt.exponent_max
    return Fields(
        bits >> (fmt.width - 1) & 1,
        np.maximum(exponent, 1),
        fraction | np.where(exponent != 0, 1 << fmt.fraction_bits, 0),
        special & (fraction == 0),
        special & (fraction != 0),
    )


def to_float64(bits: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Exact values (every format here is a subset of binary64)."""
    f = decode(bits, fmt)
    value = np.ldexp(f.significand.astype(np.float64), (f.exponent - fmt.bias - fmt.fraction_bits).astype(np.int64))
    value = np.where(f.inf, np.inf, np.where(f.nan, np.nan, value))
    return np.where(f.sign == 1, -value, value)


def bit_length(value: np.ndarray) -> np.ndarray:
    """Bits of non-negative integers below 2**62; 0 for 0."""
    value = np.asarray(value, np.int64)
    high = value >> 31
    # Both halves are exact in binary64, so the exponent that frexp gives is the length.
    return np.where(
        high != 0, 31 + np.frexp(high.astype(np.float64))[1], np.frexp((value & 0x7FFFFFFF).astype(np.float64))[1]
    ).astype(np.int64)


def round_to_format(sign: np.ndarray, magnitude: np.ndarray, exponent: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Bits of ``(-1)**sign * magnitude * 2**exponent`` rounded to nearest, ties to even.

    ``magnitude`` is a non-negative integer below 2**62. Subnormal results are exact to the format's grid. A magnitude
    of 0 gives a zero with ``sign``. A result that is too large becomes infinity.
    """
    sign, magnitude, exponent = np.broadcast_arrays(*(np.asarray(a, np.int64) for a in (sign, magnitude, exponent)))
    length = bit_length(magnitude)
    # Weight of the last kept bit: the precision below the leading bit, but not below the subnormal grid.
    last = np.maximum(exponent + length - fmt.precision, fmt.lsb_exponent)
    drop = np.clip(last - exponent, -62, 63)
    right = np.maximum(drop, 0)
    kept = magnitude >> right
    rest = magnitude - (kept << np.minimum(right, 62))
    half = np.where(right > 0, np.int64(1) << np.clip(right - 1, 0, 62), 1)
    up = (right > 0) & ((rest > half) | ((rest == half) & (kept & 1 == 1)))
    # No left shift moves a bit past the precision: length - drop is the precision or less.
    kept = (kept << np.maximum(-drop, 0)) + up
    # The significand is added to the exponent field with its implicit bit, so a carry steps into the next binade.
    field = np.maximum(last - fmt.lsb_exponent, 0)
    packed = kept + (field << fmt.fraction_bits)
    packed = np.where((packed >= fmt.infinity) | (field >= fmt.exponent_max), fmt.infinity, packed)
    packed = np.where(magnitude == 0, 0, packed)
    return packed | sign << (fmt.width - 1)


def from_float64(value: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Bits of binary64 values, rounded once to nearest even; NaN becomes the canonical quiet NaN."""
    value = np.asarray(value, np.float64)
    finite = np.isfinite(value)
    mantissa, exponent = np.frexp(np.where(finite, np.abs(value), 0.0))
    magnitude = np.ldexp(mantissa, 53).astype(np.int64)
    bits = round_to_format(np.signbit(value).astype(np.int64), magnitude, exponent.astype(np.int64) - 53, fmt)
    infinite = np.where(np.signbit(value), fmt.negative_infinity, fmt.infinity)
    return np.where(np.isnan(value), fmt.nan, np.where(finite, bits, infinite))


def encode(value: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Same as :func:`from_float64`, as the narrowest unsigned type that holds the bits."""
    return from_float64(value, fmt).astype({16: np.uint16, 32: np.uint32}.get(fmt.width, np.int64))


def order_key(bits: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Unsigned integers in the order of the numbers (-0 below +0; NaN is not ordered)."""
    bits = np.asarray(bits, np.int64)
    mask = (1 << fmt.width) - 1
    return np.where(bits & fmt.sign_mask, bits ^ mask, bits ^ fmt.sign_mask)
