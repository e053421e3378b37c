"""Softmax of rows of scores, bit-exact for every rule of :class:`~bankside.constraints.arith.softmax.SoftmaxRule`.

Rows are the last axis of an array, so heads and requests are computed together. Sums are added in binary32 and rounded, and
exponentials come from a table over all differences.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ...constraints.arith.geometry import ExpTable
from ...constraints.arith.softmax import INF2_SOFTMAX, SoftmaxRule
from ...constraints.core.formats import FP32, FloatFormat
from .aligned import probability_sum
from .exponential import negative_exp, softmax_exp
from .formats import decode, order_key, to_float64
from .ieee import _decoder, _round, is_nan

__all__ = [
    "SoftmaxParts",
    "masked_scores",
    "row_maximum",
    "row_sum",
    "row_weights",
    "softmax",
    "softmax_parts",
    "softmax_quotient",
    "softmax_reference",
]


class SoftmaxParts(NamedTuple):
    """The steps of a softmax. Rows are padded to whole beats.

    Attributes
    ----------
    maximum : int64 array ``(...)``, bits of the score format
    weights : int64 array ``(..., beats * lanes)``, bits of ``io``, before the division
    sum : int64 array ``(...)``, bits of ``acc``
    result : int64 array as ``weights``: the quotients, or the weights without division
    """

    maximum: np.ndarray
    weights: np.ndarray
    sum: np.ndarray
    result: np.ndarray


def softmax(scores: np.ndarray, valid: np.ndarray | None = None, rule: SoftmaxRule = INF2_SOFTMAX) -> np.ndarray:
    """Softmax along the last axis.

    Parameters
    ----------
    scores : integer array of shape ``(..., tokens)``, bits of ``rule.score``
    valid : bool array that broadcasts to the shape of ``scores``, or None
        False: the score is masked. It becomes ``rule.mask_value``.
    rule : :class:`SoftmaxRule`

    Returns
    -------
    int64 array of the shape of ``scores``, bits of ``rule.io``

    Raises
    ------
    :exc:`ValueError`
        If a row has no token, or more than ``rule.max_tokens``.
    """
    tokens = np.asarray(scores).shape[-1]
    return softmax_parts(scores, valid, rule).result[..., :tokens]


def softmax_parts(
    scores: np.ndarray, valid: np.ndarray | None = None, rule: SoftmaxRule = INF2_SOFTMAX
) -> SoftmaxParts:
    """All steps of :func:`softmax`."""
    given = masked_scores(scores, valid, rule)
    maximum = row_maximum(given, rule.score)
    weights = row_weights(maximum, given, rule)
    total = row_sum(weights, rule)
    return SoftmaxParts(maximum, weights, total, softmax_quotient(weights, total[..., None], rule))


def masked_scores(scores: np.ndarray, valid: np.ndarray | None, rule: SoftmaxRule) -> np.ndarray:
    """Scores as the unit keeps them: masked ones replaced, and -infinity up to whole beats."""
    scores = np.asarray(scores, np.int64)
    tokens = scores.shape[-1]
    if not 1 <= tokens <= rule.max_tokens:
        raise ValueError(f"A row must have 1 to {rule.max_tokens} tokens, not {tokens}")
    out = np.full((*scores.shape[:-1], rule.beats(tokens) * rule.lanes), rule.score.negative_infinity, np.int64)
    out[..., :tokens] = scores if valid is None else np.where(valid, scores, rule.mask_bits)
    return out


def row_maximum(scores: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Largest score of every row. NaN is ignored; a row of NaN only gives NaN. +0 is above -0."""
    key = np.where(is_nan(scores, fmt), 0, order_key(scores, fmt)).max(axis=-1)
    mask = (1 << fmt.width) - 1
    return np.where(key == 0, fmt.nan, np.where(key & fmt.sign_mask, key ^ fmt.sign_mask, key ^ mask))


def row_weights(maximum: np.ndarray, scores: np.ndarray, rule: SoftmaxRule) -> np.ndarray:
    """``exp(score - maximum)`` of every score of the rows: the bits of :func:`softmax_exp`."""
    score, table = rule.score, rule.table
    if score.exponent_max + score.fraction_bits > 52:
        return softmax_exp(maximum[..., None], scores, score, table)
    # All scores are multiples of the smallest one, and few bits apart: differences are exact in binary64.
    value = _decoder(score, False)
    with np.errstate(invalid="ignore"):
        difference = value(maximum)[..., None] - value(scores)
    difference *= 2.0**table.fraction_bits
    largest = (1 << table.integer_bits + table.fraction_bits) - 1
    special = ~np.isfinite(difference)
    if special.any():
        # A score of -infinity has the weight 0, whatever the maximum, except NaN.
        dead = (scores == score.negative_infinity) & ~is_nan(maximum, score)[..., None]
        nan = np.isnan(difference) & ~dead
        difference[special] = largest
        weights = _exponentials(table)[np.minimum(difference, largest).astype(np.int64)]
        return np.where(nan, rule.io.nan, np.where(special, 0, weights))
    return _exponentials(table)[np.minimum(difference, largest, out=difference).astype(np.int64)]


@functools.cache
def _exponentials(table: ExpTable) -> np.ndarray:
    """The exponential of every difference."""
    return negative_exp(np.arange(1 << table.integer_bits + table.fraction_bits), table)


# Sums --------------------------------------------------------------------------------------------------------------


def row_sum(weights: np.ndarray, rule: SoftmaxRule) -> np.ndarray:
    """Sum of the weights of every row of whole beats, in ``rule.acc``."""
    if rule.sums == "window":
        return probability_sum(weights, rule.window)
    acc, chains = rule.acc, rule.chains

    def plus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return _rounded(a + b, acc)

    def tree(values: np.ndarray) -> np.ndarray:
        """Sum of the last axis, of neighbours first."""
        while values.shape[-1] > 1:
            values = plus(values[..., ::2], values[..., 1::2])
        return values[..., 0]

    nan = is_nan(weights, rule.io)
    terms = _decoder(rule.io, False)(np.where(nan, 0, weights)).astype(np.float32)
    sums = tree(terms.reshape(*terms.shape[:-1], -1, rule.groups, rule.lanes // rule.groups))  # (..., beats, groups)
    state = np.zeros((*sums.shape[:-2], chains, rule.groups), np.float32)
    for first in range(0, sums.shape[-2], chains):
        part = sums[..., first : first + chains, :]
        taken = state[..., : part.shape[-2], :]
        taken[...] = plus(taken, part)
    total = tree(tree(np.swapaxes(state, -1, -2)))
    bits = _round(np.atleast_1d(total.astype(np.float64)), acc, False).reshape(total.shape)
    return np.where(nan.any(axis=-1), acc.nan, bits)


def _rounded(total: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Sums of numbers of a format, none negative, as binary32 gives them, rounded to the format.

    Binary32 has 2 p + 2 bits for a format of p bits, so the rounding before this one does not mislead it. Sums below the
    normal range are exact.
    """
    drop = FP32.fraction_bits - fmt.fraction_bits
    if not drop:
        return total
    bits = total.view(np.uint32)
    out = bits >> np.uint32(drop)
    out &= np.uint32(1)
    out += np.uint32((1 << drop - 1) - 1)
    out += bits
    out &= np.uint32((1 << 32) - (1 << drop))
    value = out.view(np.float32)
    value[value >= 2.0 ** (fmt.bias + 1)] = np.inf
    return value


# Division ----------------------------------------------------------------------------------------------------------


def softmax_quotient(weights: np.ndarray, total: np.ndarray, rule: SoftmaxRule) -> np.ndarray:
    """Weights over their sum; see :class:`SoftmaxRule`.

    Parameters
    ----------
    weights, total : integer arrays that broadcast; bits of ``rule.io`` in 0..1 or NaN, and of ``rule.acc``

    Returns
    -------
    int64 array, bits of ``rule.io``
    """
    io, acc = rule.io, rule.acc
    weights, total = np.asarray(weights, np.int64), np.asarray(total, np.int64)
    if rule.division == "none":
        return weights
    # A quotient of p and P bits keeps a distance of 2**-(p + P + 1) from the midpoints that it does not meet.
    if rule.division == "exact" and io.precision + acc.precision < 50:
        with np.errstate(invalid="ignore", divide="ignore"):
            return _round(np.atleast_1d(_decoder(io, False)(weights) / _decoder(acc, False)(total)), io, False).reshape(
                np.broadcast_shapes(weights.shape, total.shape)
            )
    p, s = decode(weights, io), decode(total, acc)
    bits, size = rule.quotient_bits, acc.precision
    factor = -(-(1 << size - 1 + bits) // np.maximum(s.significand, 1))
    product = p.significand * factor >> io.precision
    value = np.ldexp(
        product.astype(np.float64),
        p.exponent
        - io.bias
        - io.fraction_bits
        + io.precision
        - (s.exponent - acc.bias - acc.fraction_bits)
        - (size - 1)
        - bits,
    )
    quotient = _round(np.atleast_1d(value), io, False).reshape(value.shape)
    quotient = np.where(s.inf, 0, quotient)
    return np.where(p.nan | s.nan | (s.significand == 0) & ~s.inf, io.nan, quotient)


def softmax_reference(scores: np.ndarray, valid: np.ndarray | None, rule: SoftmaxRule) -> np.ndarray:
    """Softmax of the same bits in binary64."""
    value = to_float64(np.asarray(scores), rule.score)
    if valid is not None:
        value = np.where(valid, value, to_float64(np.int64(rule.mask_bits), rule.score))  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        weight = np.exp(value - value.max(axis=-1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))
