"""Functional model of attention over selected clusters, bit-exact with the RTL: scores, selection, attention.

Source: STARC, Algorithm 1; PAM (MICRO 2025) section 5.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...constraints.starc.attention import StarcAttentionConfig
from ..pam.pu import Partials, key_scores, local_attention
from .select import Selected, Selection, select

__all__ = ["Head", "SparseAttention", "sparse_attention"]


@dataclass(frozen=True)
class Head:
    """A head: bits of numbers in ``processing.format``.

    Attributes
    ----------
    q : int64 array ``(head_dim,)``, scaled
    centroids : int64 array ``(clusters, head_dim)``
    sizes : int64 array ``(clusters,)``, tokens of the clusters
    k, v : int64 arrays ``(tokens, head_dim)``: cluster after cluster, then the recent tokens
    budget, row, mask : see :class:`Selection`
    """

    q: np.ndarray
    centroids: np.ndarray
    sizes: np.ndarray
    k: np.ndarray
    v: np.ndarray
    budget: int
    row: int = 0
    mask: int = 1

    @property
    def recent(self) -> int:
        """Tokens without a cluster."""
        return len(self.k) - int(self.sizes.sum())


@dataclass(frozen=True)
class SparseAttention:
    """Outcome for a head.

    Attributes
    ----------
    selection, selected : the selection and its outcome
    tokens : int64 array, rows of K and V that are attended to, ascending
    partials : partial results of attention
    """

    selection: Selection
    selected: Selected
    tokens: np.ndarray
    partials: Partials


def sparse_attention(config: StarcAttentionConfig, head: Head) -> SparseAttention:
    """Score the centroids, select clusters, and attend to their tokens and to the recent ones.

    Raises
    ------
    :exc:`ConfigError`
        If this configuration can't run the selection.
    """
    scores = key_scores(config.processing, head.q, head.centroids)
    selection = Selection(scores, head.sizes, head.budget, head.recent, head.row, head.mask)
    selected = select(config.selection, selection)
    first = np.cumsum(head.sizes) - head.sizes
    tokens = np.concatenate([np.repeat(first, selected.tokens), np.arange(head.sizes.sum(), len(head.k))])
    tokens[: selected.tokens.sum()] += np.arange(selected.tokens.sum()) - np.repeat(
        np.cumsum(selected.tokens) - selected.tokens, selected.tokens
    )
    return SparseAttention(
        selection, selected, tokens, local_attention(config.processing, head.q, head.k[tokens], head.v[tokens])
    )
