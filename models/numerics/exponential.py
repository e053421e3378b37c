"""Exponentials, as the generated operators compute them: of any number, and of a score minus the largest score."""

from __future__ import annotations

import numpy as np

from ...constraints.arith.exponential import exponential_tables, taylor_constants
from ...constraints.arith.geometry import ExpTable
from ...constraints.core.errors import ConfigError
from ...constraints.core.formats import FloatFormat
from .formats import decode, round_to_format
from .ieee import fma, from_integer, to_integer

__all__ = ["exponential", "negative_difference", "negative_exp", "negative_power", "softmax_exp"]


def exponential(
    a: np.ndarray,
    fmt: FloatFormat,
    *,
    variant: str = "faithful",
    order: int = 10,
    range_reduced: bool = False,
    flush_to_zero: bool = False,
) -> np.ndarray:
    """Bits of ``e**a`` for an int64 array of bits of ``fmt``.

    ``variant="faithful"``: the result is less than a unit in the last place from the exact exponential. It never falls,
    and it is exactly 1 for zeros. :class:`~bankside.constraints.arith.exponential.ExponentialTables` computes the
    significand. It is rounded once, to nearest (halves up), also below the normal range. e**-inf is +0. NaN gives the
    canonical NaN.

    ``variant="taylor"``: Taylor's series of an ``order`` about 0 by Horner's rule, with one :func:`fma` in the format
    for each coefficient. By itself (as published for CENT) it is the value of a polynomial, far from the exponential
    for large operands. The exponential of -inf is then +inf for even orders. With ``range_reduced``, a is first reduced
    by the nearest multiple of ln 2, with three more roundings. The result is then scaled by a power of two, and rounded
    where it is subnormal.

    With ``flush_to_zero``, subnormal operands count as zero, and results below the normal range become zero.
    """
    if variant == "taylor":
        return _taylor(np.asarray(a, np.int64), fmt, order, range_reduced, flush_to_zero)
    if variant != "faithful":
        raise ConfigError(f"variant must be faithful or taylor, not {variant!r}")
    tables = exponential_tables(fmt)
    bits = np.asarray(a, np.int64)
    f = decode(bits, fmt)
    significand = f.significand
    if flush_to_zero:
        significand = np.where(significand >> fmt.fraction_bits, significand, 0)
    large = f.exponent > tables.highest
    word = tables.fixed_point(np.minimum(f.exponent, tables.highest), significand)
    word = np.where(f.sign == 1, ~word, word)
    n, guard = tables.fraction_bits, tables.value_bits - fmt.fraction_bits
    exponent = (word >> n) + fmt.bias
    value = tables.power(word & ((1 << n) - 1)) + (1 << tables.value_bits)
    shift = np.clip(1 - exponent, 0, fmt.precision + 1)
    value = value >> shift
    rounded = (value >> guard) + (value >> (guard - 1) & 1)
    result = (np.clip(exponent - 1, 0, None) << fmt.fraction_bits) + rounded
    result = np.where((result >= fmt.infinity) | large, fmt.infinity, result)
    vanishing = (f.sign == 1) & large
    if flush_to_zero:
        magnitude = (f.exponent - 1 << fmt.fraction_bits) + significand
        vanishing = vanishing | ((f.sign == 1) & (magnitude > tables.smallest_normal_operand))
        result = np.maximum(result, fmt.smallest_normal)
    return np.where(f.nan, fmt.nan, np.where(vanishing, 0, result))


def _taylor(a: np.ndarray, fmt: FloatFormat, order: int, range_reduced: bool, flush: bool) -> np.ndarray:
    constants = taylor_constants(fmt, order, range_reduced)

    def step(x: np.ndarray, y: np.ndarray | int, z: np.ndarray | int) -> np.ndarray:
        return fma(
            x, np.broadcast_to(np.int64(y), x.shape), np.broadcast_to(np.int64(z), x.shape), fmt, flush_to_zero=flush
        )

    rest, quotient = a, np.zeros(a.shape, np.int64)
    f = decode(a, fmt)
    far = f.exponent > constants.highest
    if range_reduced:
        a = np.where(far, 0, a)
        quotient = to_integer(step(a, constants.log2_e, 0), fmt, constants.quotient_bits)
        negated = from_integer(-quotient, fmt)
        rest = step(negated, constants.ln_2_rest, step(negated, constants.ln_2, a))
    result = np.full(a.shape, constants.coefficients[-1], np.int64)
    for coefficient in constants.coefficients[-2::-1]:
        result = step(result, rest, coefficient)
    if not range_reduced:
        return result
    p = decode(result, fmt)
    exponent = p.exponent + quotient
    result = round_to_format(p.sign, p.significand, exponent - fmt.bias - fmt.fraction_bits, fmt)
    if flush:
        result = np.where(exponent < 1, 0, result)
    return np.where(f.nan, fmt.nan, np.where(far, np.where(f.sign == 1, 0, fmt.infinity), result))


def negative_difference(maximum: np.ndarray, value: np.ndarray, fmt: FloatFormat, table: ExpTable) -> np.ndarray:
    """``maximum - value`` of finite numbers, ``maximum >= value``, in the table's unsigned fixed point.

    The exact difference is truncated to ``table.fraction_bits``. A difference that does not fit saturates (its
    exponential is 0).
    """
    m, v = decode(maximum, fmt), decode(value, fmt)
    top = np.maximum(m.exponent, v.exponent)
    guard = table.difference_guard(fmt)

    def aligned(f):
        shift = np.minimum(top - f.exponent, 62)
        wide = f.significand << guard
        kept = wide >> shift
        kept = kept | ((kept << shift) != wide)  # the last bit stands for all bits shifted out
        return np.where(f.sign == 1, -kept, kept)

    difference = aligned(m) - aligned(v)
    bits = table.integer_bits + table.fraction_bits
    shift = top - fmt.bias - fmt.fraction_bits - guard + table.fraction_bits
    left = np.clip(shift, 0, bits)
    fixed = np.where(shift >= 0, np.minimum(difference, (1 << bits) - 1) << left, difference >> np.clip(-shift, 0, 62))
    return np.minimum(fixed, (1 << bits) - 1)


def negative_exp(x: np.ndarray, table: ExpTable) -> np.ndarray:
    """Bits in ``table.io`` of ``exp(-x)``, rounded to nearest even from the table's 16-bit value.

    ``x``: unsigned fixed point with ``table.fraction_bits``. Error at most 1 ulp.
    """
    return negative_power(np.asarray(x, np.int64) * table.constant >> table.constant_bits, table)


def negative_power(scaled: np.ndarray, table: ExpTable) -> np.ndarray:
    """Bits in ``table.io`` of ``2**-scaled``, rounded to nearest even from the table's 16-bit value.

    ``scaled``: unsigned fixed point with ``table.fraction_bits``. Error at most 1 ulp.
    """
    io = table.io
    whole = scaled >> table.fraction_bits
    low_bits = table.fraction_bits - table.index_bits
    index = scaled >> low_bits & ((1 << table.index_bits) - 1)
    low = scaled & ((1 << low_bits) - 1)
    value = np.asarray(table.values, np.int64)[index] - (np.asarray(table.slopes, np.int64)[index] * low >> low_bits)
    normal = io.bias - 2
    shift = np.minimum(table.value_bits - io.precision + np.maximum(whole - normal, 0), 31)
    kept = value >> shift
    rest = value - (kept << shift)
    half = np.int64(1) << (shift - 1)
    up = (rest > half) | ((rest == half) & (kept & 1 == 1))
    return (np.maximum(normal - whole, 0) << io.fraction_bits) + kept + up


def softmax_exp(maximum: np.ndarray, value: np.ndarray, fmt: FloatFormat, table: ExpTable) -> np.ndarray:
    """Bits in ``table.io`` of ``exp(value - maximum)`` for scores of format ``fmt`` with ``maximum >= value``.

    A score of -infinity (a masked token) gives 0, whatever the maximum; +infinity minus +infinity and NaN give NaN.
    """
    maximum, value = np.broadcast_arrays(np.asarray(maximum, np.int64), np.asarray(value, np.int64))
    m, v = decode(maximum, fmt), decode(value, fmt)
    plain = ~(m.inf | m.nan | v.inf | v.nan)
    x = negative_difference(np.where(plain, maximum, 0), np.where(plain, value, 0), fmt, table)
    p = np.where(plain, negative_exp(x, table), 0)
    masked = v.inf & (v.sign == 1)
    nan = m.nan | v.nan | (m.inf & v.inf & ~masked)
    return np.where(nan, table.io.nan, np.where(masked, 0, p))
