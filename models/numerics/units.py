"""The functional models of the operators as units: results for a configuration and columns of operands.

Each returns one column for every result of the configuration. Columns are int64 bits (integers: their values) of shape
``(items,)``, or ``(items, count)`` where a field holds several numbers.
"""

from __future__ import annotations

import numpy as np

from ...constraints.formats import FloatFormat
from ...constraints.units.arith import FpAdd, FpCompare, FpConvert, FpDiv, FpFma, FpMul, FpSqrt
from . import ieee

__all__ = ["fp_add", "fp_compare", "fp_convert", "fp_div", "fp_fma", "fp_mul", "fp_sqrt"]

Columns = tuple[np.ndarray, ...]


def fp_mul(config: FpMul, a: np.ndarray, b: np.ndarray) -> Columns:
    return (ieee.multiply(a, b, config.fmt, flush_to_zero=config.flush_to_zero),)


def fp_add(config: FpAdd, a: np.ndarray, b: np.ndarray) -> Columns:
    function = ieee.subtract if config.variant == "subtract" else ieee.add
    return (function(a, b, config.fmt, flush_to_zero=config.flush_to_zero),)


def fp_fma(config: FpFma, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Columns:
    return (ieee.fma(a, b, c, config.fmt, acc=config.acc, flush_to_zero=config.flush_to_zero),)


def fp_compare(config: FpCompare, a: np.ndarray, b: np.ndarray) -> Columns:
    if config.variant == "compare":
        return tuple(np.asarray(flag, np.int64) for flag in ieee.compare(a, b, config.fmt))
    return ((ieee.maximum if config.variant == "max" else ieee.minimum)(a, b, config.fmt),)


def fp_convert(config: FpConvert, a: np.ndarray) -> Columns:
    source, target = config.source_format, config.target_format
    if not isinstance(source, FloatFormat):
        assert isinstance(target, FloatFormat)
        return (ieee.from_integer(a, target),)
    if not isinstance(target, FloatFormat):
        return (ieee.to_integer(a, source, target.width, target.signed),)
    return (ieee.convert(a, source, target, flush_to_zero=config.flush_to_zero),)


def fp_div(config: FpDiv, a: np.ndarray, b: np.ndarray) -> Columns:
    return (ieee.divide(a, b, config.fmt, flush_to_zero=config.flush_to_zero),)


def fp_sqrt(config: FpSqrt, a: np.ndarray) -> Columns:
    return (ieee.square_root(a, config.fmt, flush_to_zero=config.flush_to_zero),)
