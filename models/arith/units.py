"""The functional models of the operators as units: results for a configuration and columns of operands.

Each model returns one column for every result of the configuration, with a row for every row of operands. Accumulating
models return rows only for operands marked ``last``. Columns are int64 bits (for integers, their values) of shape
``(items,)``, or ``(items, count)`` where a field holds several numbers.
"""

from __future__ import annotations

import numpy as np

from ...constraints.arith.units import (
    FpActivation,
    FpAdd,
    FpCompare,
    FpConvert,
    FpDiv,
    FpDot,
    FpExp,
    FpFma,
    FpMul,
    FpSqrt,
    FpUnary,
    FpVector,
)
from ...constraints.core.formats import FloatFormat
from ..numerics import elementary, ieee
from ..numerics.activation import interpolate
from ..numerics.dot import dot, dot_stream, dot_tree, vector_add, vector_mac, vector_multiply, vector_scale
from ..numerics.exponential import exponential

__all__ = [
    "fp_activation",
    "fp_add",
    "fp_compare",
    "fp_convert",
    "fp_div",
    "fp_dot",
    "fp_exp",
    "fp_fma",
    "fp_log",
    "fp_mul",
    "fp_recip",
    "fp_rsqrt",
    "fp_sqrt",
    "fp_vector",
]

Columns = tuple[np.ndarray, ...]


def fp_mul(config: FpMul, a: np.ndarray, b: np.ndarray) -> Columns:
    return (ieee.multiply(a, b, config.fmt, flush_to_zero=config.flush_to_zero),)


def fp_add(config: FpAdd, a: np.ndarray, b: np.ndarray) -> Columns:
    function = ieee.subtract if config.variant == "subtract" else ieee.add
    return (function(a, b, config.fmt, flush_to_zero=config.flush_to_zero),)


def fp_fma(config: FpFma, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Columns:
    return (ieee.fma(a, b, c, config.fmt, acc=config.acc, flush_to_zero=config.flush_to_zero),)


def _flushed(bits: np.ndarray, fmt: FloatFormat, flush_to_zero: bool) -> np.ndarray:
    """Operands. With ``flush_to_zero``, subnormal operands become zeros of their sign."""
    subnormal = (bits & fmt.infinity) == 0
    return np.where(subnormal, bits & fmt.sign_mask, bits) if flush_to_zero else bits


def fp_compare(config: FpCompare, a: np.ndarray, b: np.ndarray) -> Columns:
    a, b = (_flushed(x, config.fmt, config.flush_to_zero) for x in (a, b))
    if config.variant == "compare":
        return tuple(np.asarray(flag, np.int64) for flag in ieee.compare(a, b, config.fmt))
    return ((ieee.maximum if config.variant == "max" else ieee.minimum)(a, b, config.fmt),)


def fp_convert(config: FpConvert, a: np.ndarray) -> Columns:
    source, target = config.source_format, config.target_format
    if not isinstance(source, FloatFormat):
        assert isinstance(target, FloatFormat)
        return (ieee.from_integer(a, target, signed=source.signed),)
    if not isinstance(target, FloatFormat):
        return (ieee.to_integer(_flushed(a, source, config.flush_to_zero), source, target.width, target.signed),)
    return (ieee.convert(a, source, target, flush_to_zero=config.flush_to_zero),)


def fp_div(config: FpDiv, a: np.ndarray, b: np.ndarray) -> Columns:
    return (ieee.divide(a, b, config.fmt, flush_to_zero=config.flush_to_zero),)


def fp_sqrt(config: FpSqrt, a: np.ndarray) -> Columns:
    return (ieee.square_root(a, config.fmt, flush_to_zero=config.flush_to_zero),)


def fp_dot(config: FpDot, a: np.ndarray, b: np.ndarray, *rest: np.ndarray) -> Columns:
    if config.variant == "accumulate":
        first, last = rest
        return (
            dot_stream(
                a,
                b,
                first,
                last,
                fmt=config.fmt,
                result=config.acc,
                window=config.window_bits,
                beats=config.beats,
                flush_to_zero=config.flush_to_zero,
            ),
        )
    if config.variant == "tree":
        return (dot_tree(a, b, *rest, fmt=config.fmt, result=config.acc, flush_to_zero=config.flush_to_zero),)
    return (
        dot(
            a,
            b,
            *rest,
            fmt=config.fmt,
            result=config.acc,
            window=config.window_bits,
            flush_to_zero=config.flush_to_zero,
        ),
    )


def fp_vector(config: FpVector, *operands: np.ndarray) -> Columns:
    if config.variant == "mac":
        return (vector_mac(*operands, fmt=config.fmt, result=config.acc, flush_to_zero=config.flush_to_zero),)
    function = {"scale": vector_scale, "multiply": vector_multiply, "add": vector_add}[config.variant]
    return (function(*operands, fmt=config.fmt, flush_to_zero=config.flush_to_zero),)


def fp_activation(config: FpActivation, a: np.ndarray) -> Columns:
    return (interpolate(a, config.table(config.variant)),)


def fp_exp(config: FpExp, a: np.ndarray) -> Columns:
    if config.variant == "table":
        return (interpolate(a, config.table("exp")),)
    variant = "faithful" if config.variant == "faithful" else "taylor"
    return (
        exponential(
            a,
            config.fmt,
            variant=variant,
            order=config.order,
            range_reduced=config.range_reduced,
            flush_to_zero=config.flush_to_zero,
        ),
    )


def fp_log(config: FpUnary, a: np.ndarray) -> Columns:
    return (elementary.logarithm(a, fmt=config.fmt, flush_to_zero=config.flush_to_zero),)


def fp_recip(config: FpUnary, a: np.ndarray) -> Columns:
    return (elementary.reciprocal(a, fmt=config.fmt, flush_to_zero=config.flush_to_zero),)


def fp_rsqrt(config: FpUnary, a: np.ndarray) -> Columns:
    return (elementary.reciprocal_square_root(a, fmt=config.fmt, flush_to_zero=config.flush_to_zero),)
