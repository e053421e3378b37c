"""Activation functions from tables with linear interpolation, as the generated operator computes them."""

from __future__ import annotations

import numpy as np

from ...constraints.arith.activation import TableInterpolation
from .formats import decode, round_to_format

__all__ = ["interpolate"]


def interpolate(a: np.ndarray, table: TableInterpolation) -> np.ndarray:
    """Bits of the function of a :class:`TableInterpolation` for an int64 array of bits of its format.

    NaN gives the canonical NaN. Beyond the table's range, infinities included, the table's rules hold. A result of 0 is
    +0.
    """
    fmt = table.fmt
    bits = np.asarray(a, np.int64)
    f = decode(bits, fmt)
    shift = f.exponent - fmt.bias - fmt.fraction_bits + table.position_bits
    outside = f.exponent >= fmt.bias + table.limit_bits  # limit and -limit count as outside; -limit is corrected below
    magnitude = np.where(
        shift >= 0,
        f.significand << np.clip(shift, 0, table.position_bits + table.limit_bits),
        f.significand >> np.clip(-shift, 0, 62),
    )
    lowest = (f.sign == 1) & (bits & ~fmt.sign_mask == fmt.bias + table.limit_bits << fmt.fraction_bits)
    outside = outside & ~lowest
    position = np.where(f.sign == 1, -magnitude, magnitude) + (table.limit << table.position_bits)
    position = np.where(outside, 0, position)
    low_bits = table.low_bits
    index, low = position >> low_bits, position & ((1 << low_bits) - 1)
    points = np.asarray(table.points, np.int64)
    value = points[index] + ((points[index + 1] - points[index]) * low + (1 << low_bits >> 1) >> low_bits)
    for rule, side in ((table.below, outside & (f.sign == 1)), (table.above, outside & (f.sign == 0))):
        if rule is not None:
            value = np.where(side, rule, value)
    result = round_to_format((value < 0).astype(np.int64), np.abs(value), np.array(-table.value_bits), fmt)
    for rule, side in ((table.below, outside & (f.sign == 1)), (table.above, outside & (f.sign == 0))):
        if rule is None:
            result = np.where(side, bits, result)
    return np.where(f.nan, fmt.nan, result)
