"""Reciprocal, reciprocal square root and logarithm: faithful, from small tables. Arrays of bit patterns are int64.

Faithful means: an exact result is given exactly, and any other result is one of the two numbers next to it. The tables
and the bounds of their errors are in :mod:`bankside.constraints.arith.elementary`.
"""

from __future__ import annotations

import numpy as np

from ...constraints.arith.elementary import logarithm_tables, reciprocal_square_root_table, reciprocal_table
from ...constraints.core.formats import FloatFormat
from .formats import bit_length

__all__ = ["logarithm", "reciprocal", "reciprocal_square_root"]


def _fields(a: np.ndarray, fmt: FloatFormat, flush_to_zero: bool) -> tuple[np.ndarray, ...]:
    """Sign, biased exponent, fraction; with ``flush_to_zero`` subnormals become zeros."""
    a = np.asarray(a, np.int64)
    sign = a >> (fmt.width - 1) & 1
    exponent = a >> fmt.fraction_bits & fmt.exponent_max
    fraction = a & ((1 << fmt.fraction_bits) - 1)
    if flush_to_zero:
        fraction = np.where(exponent == 0, 0, fraction)
    return sign, exponent, fraction


def reciprocal(a: np.ndarray, *, fmt: FloatFormat, flush_to_zero: bool = False) -> np.ndarray:
    """1 / a, faithful and monotonic on either side of zero.

    1 / ±0 is ±∞, 1 / ±∞ is ±0; powers of two are exact; subnormals up to 2**(-bias - 1) overflow to infinity. Results
    below the normal range have an error of less than one unit of the subnormal grid.

    Parameters
    ----------
    a : int64 array of bits in ``fmt``
    flush_to_zero : bool
        Subnormal operands count as zero. Results whose exact value is below the normal range become zero.

    Returns
    -------
    int64 array of bits in ``fmt``
    """
    f, bias = fmt.fraction_bits, fmt.bias
    mask = (1 << f) - 1
    sign, exponent, fraction = _fields(a, fmt, flush_to_zero)
    # Only the two highest bits of a subnormal matter: if both are 0, the result overflows.
    first, second = fraction >> (f - 1), (fraction << 1 & mask) >> (f - 1)
    shift = np.where(exponent > 0, 0, 2 - first)
    quotient = 2 * bias - 1 - exponent + (shift == 2)
    # Below the normal range the last place, and so half a unit in it, lies one or two places higher.
    drop = np.clip(1 - quotient, 0, 2)
    value = reciprocal_table(f)(~(fraction << shift) & mask, np.array([0, 1, 3])[drop]) >> drop
    result = np.where(drop > 0, value, value - (1 << f) + (np.maximum(quotient, 0) << f))
    special = exponent == fmt.exponent_max
    infinite = (exponent == 0) & (first | second == 0)
    if flush_to_zero:
        infinite = exponent == 0
        result = np.where((drop > 1) | ((drop == 1) & (fraction != 0)), 0, result)
    result = np.where(infinite, fmt.infinity, result)
    result = np.where(special, 0, result) | sign << (fmt.width - 1)
    return np.where(special & (fraction != 0), fmt.nan, result)


def reciprocal_square_root(a: np.ndarray, *, fmt: FloatFormat, flush_to_zero: bool = False) -> np.ndarray:
    """1 / sqrt(a), faithful and monotonic; powers of four are exact.

    1 / sqrt(±0) is ±∞, and 1 / sqrt(+∞) is +0. Other negative numbers give NaN.

    Parameters
    ----------
    a : int64 array of bits in ``fmt``
    flush_to_zero : bool
        Subnormal operands count as zero. Results whose exact value is below the normal range become zero. Only formats
        with an exponent of 2 bits have such results.

    Returns
    -------
    int64 array of bits in ``fmt``
    """
    f, bias = fmt.fraction_bits, fmt.bias
    mask = (1 << f) - 1
    sign, exponent, fraction = _fields(a, fmt, flush_to_zero)
    shift = np.where(exponent > 0, 0, f + 1 - bit_length(fraction))
    power = np.maximum(exponent, 1) - shift - bias  # a = 2**power * (1 + x)
    odd = power & 1
    word = (1 - odd) << f | ~(fraction << shift) & mask
    field = bias - 1 - (power >> 1)
    # Formats with a bias of 1: from 1 on the root's reciprocal is below the normal range, by one place.
    drop = np.maximum(1 - field, 0)
    value = reciprocal_square_root_table(f)(word) >> drop
    result = np.where(drop > 0, value, value - (1 << f) + (np.maximum(field, 0) << f))
    result = np.minimum(result, fmt.infinity)
    zero = (exponent == 0) & (fraction == 0)
    if flush_to_zero:
        result = np.where((drop > 0) & (a != bias << f), 0, result)
    result = np.where(zero, fmt.infinity | sign << (fmt.width - 1), result)
    result = np.where(exponent == fmt.exponent_max, 0, result)
    nan = (exponent == fmt.exponent_max) & (fraction != 0) | (sign == 1) & ~zero
    return np.where(nan, fmt.nan, result)


def logarithm(a: np.ndarray, *, fmt: FloatFormat, flush_to_zero: bool = False) -> np.ndarray:
    """Natural logarithm, faithful and monotonic; ln 1 is +0.

    ln ±0 is -∞, and ln +∞ is +∞. Negative numbers give NaN.

    Parameters
    ----------
    a : int64 array of bits in ``fmt``
    flush_to_zero : bool
        Subnormal operands count as zero. Results whose exact value is below the normal range become zero with their
        sign. In formats of few exponent bits, numbers next to 1 have such results.

    Returns
    -------
    int64 array of bits in ``fmt``
    """
    tables = logarithm_tables(fmt)
    a = np.asarray(a, np.int64)
    sign, exponent, fraction = _fields(a, fmt, flush_to_zero)
    zero = (exponent == 0) & (fraction == 0)
    special = exponent == fmt.exponent_max
    nan = special & (fraction != 0) | (sign == 1) & ~zero
    operands = tables.operands(np.where(nan | special | zero, 0, a))
    result = np.minimum(tables.magnitude(operands, tables.quotient(operands.word)), fmt.infinity)
    if flush_to_zero and tables.reaches_subnormals:
        lower, upper = tables.tiny
        result = np.where((a > lower) & (a < upper), 0, result)
    result = np.where(zero | special, fmt.infinity, result)
    result = result | (operands.below & ~special).astype(np.int64) << (fmt.width - 1)
    return np.where(nan, fmt.nan, result)
