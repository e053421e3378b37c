"""Selections of tokens that a query attends to, before any backend.

Source: a window with sinks; Quest as STARC describes it. Quest has pages of 16 tokens. The smallest and the largest element
of a page's keys in each dimension give an upper bound of its scores.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...constraints.errors import ConfigError
from ..numerics.sums import Lists

__all__ = ["METHODS", "Quest", "Selection", "Window"]


class Selection:
    """Tokens for each query, at most ``budget`` of them.

    Raises
    ------
    :exc:`ConfigError`
        If the budget is too small for the method.
    """

    least = 1

    def __init__(self, budget: int) -> None:
        if not self.least <= budget <= 1 << 30:
            raise ConfigError(f"the budget of {type(self).__name__.lower()} must be at least {self.least} tokens, "
                              f"not {budget}")
        self.budget = budget

    def choose(self, q: np.ndarray, k: np.ndarray, counts: np.ndarray) -> Lists:
        """Lists of tokens, in ascending order.

        Parameters
        ----------
        q, k : float32 of shapes ``(queries, head_dim)`` and ``(tokens, head_dim)``
        counts : int64 array: query n may attend to the first ``counts[n]`` tokens; the last of them is its own
        """
        raise NotImplementedError


class Window(Selection):
    """The first four tokens and the latest ones."""

    SINKS = 4
    least = SINKS + 1

    def choose(self, q: np.ndarray, k: np.ndarray, counts: np.ndarray) -> Lists:
        recent = self.budget - self.SINKS
        return Lists.of([np.arange(n) if n <= self.budget else np.r_[:self.SINKS, n - recent:n] for n in counts.tolist()])


class Quest(Selection):
    """The pages with the largest bounds, and always the query's own page."""

    PAGE = 16
    least = PAGE

    def choose(self, q: np.ndarray, k: np.ndarray, counts: np.ndarray) -> Lists:
        pages = len(k) // self.PAGE
        whole = k[:pages * self.PAGE].reshape(pages, self.PAGE, k.shape[1]).astype(np.float32)
        bound = np.maximum(q, 0) @ whole.max(axis=1).T + np.minimum(q, 0) @ whole.min(axis=1).T
        out = []
        for n, count in enumerate(counts.tolist()):
            own = (count - 1) // self.PAGE
            most = self.budget // self.PAGE - 1
            chosen = np.arange(own)
            if own > most:
                chosen = np.sort(np.argpartition(-bound[n, :own], most)[:most]) if most else chosen[:0]
            tokens = (chosen[:, None] * self.PAGE + np.arange(self.PAGE)).reshape(-1)
            out.append(np.concatenate([tokens, np.arange(own * self.PAGE, count)]))
        return Lists.of(out)


#: Methods by name.
METHODS: Mapping[str, type[Selection]] = {"window": Window, "quest": Quest}
