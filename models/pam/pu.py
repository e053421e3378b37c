"""Functional model of PAM's local-attention processing unit, bit-exact with the RTL.

Source of the algorithm: PAM (MICRO 2025), Algorithm 1, function Local, applied to each tile of tokens. The merge
follows equations 3 to 6 of the paper. Source of the rounding: this project (``models.numerics``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...constraints.arith.geometry import AlignedWindow, ExpTable, SumWindow
from ...constraints.pam.pu import PamPuConfig
from ..numerics import (
    Accumulator,
    Products,
    aligned_add,
    aligned_result,
    decode,
    exact_products,
    order_key,
    preload,
    probability_sum,
    softmax_exp,
    to_float64,
)

__all__ = ["Partials", "attention", "group_partials", "key_scores", "local_attention", "merge"]


@dataclass(frozen=True)
class Partials:
    """Output of the unit for one step: one partial result per tile.

    Attributes
    ----------
    m : int64 array of shape ``(tiles,)``
        Row maximum of the scores, bits in the score format.
    l : int64 array of shape ``(tiles,)``
        Sum of ``exp(score - m)``, bits in the accumulation format.
    o : int64 array of shape ``(tiles, head_dim)``
        Unnormalised output, bits in the input format.
    """

    m: np.ndarray
    l: np.ndarray  # noqa: E741  (the paper's name)
    o: np.ndarray


def local_attention(config: PamPuConfig, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Partials:
    """Run one step.

    Parameters
    ----------
    q : integer array of shape ``(head_dim,)``
        Bits in ``config.format``, already scaled by 1/sqrt(head_dim).
    k, v : integer arrays of shape ``(tokens, head_dim)``
        Bits; ``tokens`` may be 0.

    Notes
    -----
    A score is accumulated chunk by chunk (``lanes`` products fused with the accumulator). It is rounded to the score
    format once per query slice. An output element is accumulated token by token and rounded to ``config.format`` once.
    """
    q, k, v = (np.asarray(a, np.int64) for a in (q, k, v))
    tokens, dim = k.shape
    tile = config.tile_tokens
    if not tokens:
        return Partials(np.array([config.score.negative_infinity]), np.zeros(1, np.int64), np.zeros((1, dim), np.int64))
    tiles = -(-tokens // tile)
    scores = key_scores(config, q, k)
    # Tiles side by side; missing tokens of the last tile take no part.
    padded = np.full(tiles * tile, config.score.negative_infinity, np.int64)
    padded[:tokens] = scores
    padded = padded.reshape(tiles, tile)
    real = (np.arange(tiles * tile) < tokens).reshape(tiles, tile)

    special = decode(padded, config.score)
    m = np.take_along_axis(padded, order_key(padded, config.score).argmax(axis=1)[:, None], axis=1)[:, 0]
    m = np.where((special.nan & real).any(axis=1), config.score.nan, m)
    p = np.where(real, softmax_exp(m[:, None], padded, config.score, ExpTable(config.io)), 0)
    window = SumWindow(config.io, config.acc.precision, config.guard_bits, tile, config.acc)
    total = probability_sum(p, window)

    values = np.zeros((tiles * tile, dim), np.int64)
    values[:tokens] = v
    values = values.reshape(tiles, tile, dim)
    output = AlignedWindow(config.io, config.acc.precision, config.guard_bits, tile, config.io)
    state = Accumulator.zeros((tiles, dim), output)
    for token in range(min(tile, tokens)):
        products = exact_products(p[:, token, None], values[:, token], config.io)
        # A zero product changes neither the value nor the exponent.
        aligned_add(state, Products(*(np.where(real[:, token, None], part, 0) for part in products)), output)
    return Partials(m, total, aligned_result(state, output))


def key_scores(config: PamPuConfig, q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Scores of one query, as a step of attention uses them. A step of scores alone has no other results.

    Parameters
    ----------
    q : integer array of shape ``(head_dim,)``
    k : integer array of shape ``(tokens, head_dim)``

    Returns
    -------
    int64 array of shape ``(tokens,)``, bits in the score format
    """
    q, k = np.asarray(q, np.int64), np.asarray(k, np.int64)
    tokens, dim = k.shape
    tile, whole = config.tile_tokens, config.chunks(dim)
    # The first token of a short last tile.
    short = (tokens - 1) // tile * tile if config.keeps_scores(config.tiles(tokens)[-1]) else tokens
    slices = [whole] if config.keeps_scores(tile) else config.query_slices(dim)
    return np.concatenate([_scores(config, q, k[:short], slices), _scores(config, q, k[short:], [whole])])


def group_partials(config: PamPuConfig, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> list[Partials]:
    """Run one step of several queries that share K and V: a pass of :func:`local_attention` for each.

    ``q`` has the shape ``(queries, head_dim)``. The sums of each query and their order are as in a step of its own.
    """
    return [local_attention(config, one, k, v) for one in q]


def _scores(config: PamPuConfig, q: np.ndarray, k: np.ndarray, slices: list[int]) -> np.ndarray:
    window = score_window(config)
    lanes = config.lanes
    keys = k.reshape(len(k), len(q) // lanes, lanes)
    query = q.reshape(-1, lanes)
    partial, first = None, 0
    for size in slices:
        state = Accumulator.zeros((len(k),), window) if partial is None else preload(partial, config.score, window)
        for chunk in range(first, first + size):
            aligned_add(state, exact_products(query[chunk], keys[:, chunk], config.io), window, axis=-1)
        partial = aligned_result(state, window)
        first += size
    assert partial is not None
    return partial


def score_window(config: PamPuConfig) -> AlignedWindow:
    return AlignedWindow(config.io, config.acc.precision, config.guard_bits, config.max_head_dim + 1, config.score)


def merge(config: PamPuConfig, partials: Partials) -> tuple[float, float, np.ndarray]:
    """Merge the partials of a step in binary64: (m, l, O unnormalised)."""
    m = to_float64(partials.m, config.score)
    l, o = to_float64(partials.l, config.acc), to_float64(partials.o, config.io)  # noqa: E741
    top = m.max()
    weight = np.zeros_like(m) if top == -np.inf else np.exp(m - top)
    return top, float(weight @ l), weight @ o


def attention(config: PamPuConfig, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Softmax attention of the same bits in binary64: ``softmax(q k^T) v``, shape ``(head_dim,)``; 0 without tokens."""
    q, k, v = (to_float64(np.asarray(a, np.int64), config.io) for a in (q, k, v))
    if not len(k):
        return np.zeros(v.shape[1])
    s = k @ q
    p = np.exp(s - s.max())
    return p @ v / p.sum()
