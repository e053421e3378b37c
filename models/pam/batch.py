"""PAM's local attention for many heads and queries at once, bit for bit :func:`bankside.models.pam.pu.local_attention`."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...constraints.arithmetic import AlignedWindow, ExpTable, SumWindow
from ...constraints.errors import ConfigError
from ...constraints.formats import FloatFormat
from ...constraints.units.pam_pu import PamPuConfig
from ..numerics import decode, order_key, probability_sum, softmax_exp
from . import attention_kernel as kernel
from .pu import Partials, score_window

__all__ = ["local_attention_batch"]


@lru_cache
def _table(io: FloatFormat) -> np.ndarray:
    """Significand, biased exponent and class of every pattern of a format of up to 16 bits."""
    if io.width > 16:
        raise ConfigError(f"the batch takes formats of up to 16 bits, not {io.name}")
    f = decode(np.arange(1 << io.width), io)
    kind = np.where(f.nan, kernel.NOT_A_NUMBER, np.where(f.inf, kernel.INFINITE,
                    np.where(f.significand == 0, kernel.ZERO, kernel.FINITE)))
    table = np.stack([f.significand, f.exponent, kind], axis=1).astype(np.int64)
    table.flags.writeable = False
    return table


def _window(window: AlignedWindow, fmt: FloatFormat) -> np.ndarray:
    return np.array([max(window.left, 0), max(-window.left, 0), window.unit, window.floor,
                     window.magnitude_bits - fmt.precision], np.int64)


def _format(fmt: FloatFormat) -> np.ndarray:
    return np.array([fmt.fraction_bits, fmt.exponent_max, fmt.lsb_exponent, fmt.width - 1, fmt.bias], np.int64)


def local_attention_batch(config: PamPuConfig, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Partials:
    """Run a step for every head and query; heads have the same number of tokens.

    Parameters
    ----------
    q : integer array of shape ``(heads, queries, head_dim)``
        Bits in ``config.format``, already scaled by 1/sqrt(head_dim).
    k, v : integer arrays of shape ``(heads, tokens, head_dim)``

    Returns
    -------
    :class:`Partials`
        With ``heads, queries`` as first dimensions of every array.

    Raises
    ------
    :exc:`ConfigError`
        If the format has more than 16 bits.
    """
    q, k, v = (np.ascontiguousarray(a, np.int64) for a in (q, k, v))
    (heads, queries, dim), tokens, tile = q.shape, k.shape[1], config.tile_tokens
    score, io = config.score, config.io
    if not tokens:
        shape = (heads, queries, 1)
        return Partials(np.full(shape, score.negative_infinity), np.zeros(shape, np.int64),
                        np.zeros((*shape, dim), np.int64))
    table, sign, lanes = _table(io), io.width - 1, config.lanes
    tiles = -(-tokens // tile)
    short = (tiles - 1) * tile if config.keeps_scores(config.tiles(tokens)[-1]) else tokens
    whole = [config.chunks(dim)]
    slices = whole if config.keeps_scores(tile) else config.query_slices(dim)
    window = score_window(config)
    padded = np.full((heads, queries, tiles * tile), score.negative_infinity, np.int64)
    for first, last, sizes in ((0, short, slices), (short, tokens, whole)):
        if last > first:
            out = np.empty((heads, queries, last - first), np.int64)
            kernel.scores(q, k[:, first:last], table, sign, _window(window, score), _format(score), lanes,
                          np.array(sizes, np.int64), out)
            padded[:, :, first:last] = out
    padded = padded.reshape(heads, queries, tiles, tile)
    real = (np.arange(tiles * tile) < tokens).reshape(tiles, tile)
    m = np.take_along_axis(padded, order_key(padded, score).argmax(axis=-1)[..., None], axis=-1)[..., 0]
    m = np.where((decode(padded, score).nan & real).any(axis=-1), score.nan, m)
    p = np.where(real, softmax_exp(m[..., None], padded, score, ExpTable(io)), 0)
    total = probability_sum(p, SumWindow(io, config.acc.precision, config.guard_bits, tile, config.acc))
    output = AlignedWindow(io, config.acc.precision, config.guard_bits, tile, io)
    o = np.empty((heads, queries, tiles, dim), np.int64)
    kernel.outputs(p.reshape(heads, queries, tiles * tile), v, tokens, tile, table, sign, _window(output, io), _format(io),
                   o)
    return Partials(m, total, o)
