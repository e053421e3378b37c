"""PAM's local attention for many queries, heads and banks at once, bit for bit
:func:`bankside.models.pam.pu.local_attention`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...constraints.arith.geometry import AlignedWindow, ExpTable, SumWindow
from ...constraints.pam.pu import PamPuConfig
from ..numerics.sums import Factors, Lists, Sum, mixtures, pair_scores, scores, softmax_powers
from .pu import Partials, score_window

__all__ = ["ListPartials", "local_attention_batch", "local_attention_lists"]


@dataclass(frozen=True)
class ListPartials(Partials):
    """Partial results of lists of tokens, one after the other.

    Attributes
    ----------
    first : int64 array of one more element than lists
        First partial result of each list. Each list has at least one.
    """

    first: np.ndarray


def local_attention_lists(
    config: PamPuConfig, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists
) -> ListPartials:
    """Run a step for each list: its query against its tokens, which a bank holds in this order.

    Parameters
    ----------
    q : integer array of shape ``(queries, head_dim)``
        Bits in ``config.format``, already scaled by 1/sqrt(head_dim).
    k, v : integer arrays of shape ``(tokens, head_dim)``

    Raises
    ------
    :exc:`ConfigError`
        If the format has more than 16 bits.
    """
    io, lanes, tile, dim = config.io, config.lanes, config.tile_tokens, q.shape[-1]
    queries, keys, values = (Factors.of(bits, io) for bits in (q, k, v))
    whole = Sum(score_window(config), lanes, [dim])
    sliced = (
        whole if config.keeps_scores(tile) else Sum(whole.window, lanes, [lanes * n for n in config.query_slices(dim)])
    )
    owners, sizes, first = lists.owners, lists.sizes, lists.first
    counts = np.zeros(len(q), np.int64)
    np.maximum.at(counts, owners, lists.tokens + 1)
    found = scores(queries, keys, counts, sliced)[owners, lists.tokens]
    # A short last tile keeps its scores in accumulators between slices of the query.
    rest = np.where(sizes > 0, (sizes - 1) % tile + 1, 0)
    short = np.flatnonzero((rest > 0) & (rest <= config.score_accumulators))
    if len(sliced.sizes(dim)) > 1 and len(short):
        at = np.repeat(first[short + 1] - rest[short], rest[short])
        at += np.arange(len(at)) - np.repeat(np.cumsum(rest[short]) - rest[short], rest[short])
        found[at] = pair_scores(queries, keys, owners[at], lists.tokens[at], whole)
    m, p, total = softmax_powers(
        found,
        lists,
        tile,
        config.score,
        ExpTable(io),
        True,
        SumWindow(io, config.acc.precision, config.guard_bits, tile, config.acc),
    )
    output = AlignedWindow(io, config.acc.precision, config.guard_bits, tile, io)
    return ListPartials(m, total, mixtures(p, values, lists, Sum(output, 1), tile), lists.tiles(tile))


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
    (heads, queries, dim), tokens = q.shape, k.shape[1]
    lists = Lists.prefixes(np.full(queries, tokens))
    each = [local_attention_lists(config, q[n], k[n], v[n], lists) for n in range(heads)]
    return Partials(
        *(
            np.stack([getattr(one, name).reshape(queries, -1, *rest) for one in each])
            for name, rest in (("m", ()), ("l", ()), ("o", (dim,)))
        )
    )
