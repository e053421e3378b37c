"""Methods: the tokens to which a query attends, chosen from the keys of one layer and head.

- ``full``: all tokens
- ``window``: the first four and the latest ones
- ``quest``: pages of 16 tokens with the largest bound of their scores, and always the query's own page
- ``sparq``: the largest scores from the elements in which the query is largest
- ``infinigen``: the largest scores from the previous layer's attention input and a part of the elements
- ``starc``: clusters of keys with the largest product of query and mean key, and all recent tokens
- ``top``: the largest scores, which no method can know; a bound

Sources: STARC, Algorithm 1 and section VI for the last methods' settings there. With equal scores, the smaller index
comes first. A score of NaN is never chosen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...constraints.core.errors import ConfigError, nearest
from ..numerics.sums import Lists
from ..program.selected import Placement
from .kmeans import ITERATIONS, check_keys, cluster

__all__ = [
    "METHODS",
    "Clusters",
    "InfiniGen",
    "Method",
    "Quest",
    "SparQ",
    "Starc",
    "Window",
    "cluster_room",
    "largest",
    "make_method",
]


def largest(scores: np.ndarray, count: np.ndarray | int) -> np.ndarray:
    """Mask of the ``count`` largest scores of each row, of the shape of ``scores``. Ties go to the smaller index. NaN is
    never chosen."""
    rows, tokens = scores.shape[:-1], scores.shape[-1]
    if not tokens:
        return np.zeros(scores.shape, bool)
    wanted = np.clip(np.broadcast_to(np.asarray(count), rows), 0, tokens)[..., None]
    dead = np.isnan(scores)
    filled = np.where(dead, -np.inf, scores)
    # The smallest score that is chosen. To sort numbers is several times as fast as to sort their places.
    edge = np.take_along_axis(np.sort(filled, axis=-1), np.minimum(tokens - wanted, tokens - 1), axis=-1)
    above, level = filled > edge, filled == edge
    room = wanted - above.sum(axis=-1, keepdims=True)
    tied = (level.sum(axis=-1, keepdims=True) > room)[..., 0]
    if tied.any():
        level[tied] &= np.cumsum(level[tied], axis=-1) <= room[tied]
    return (above | level) & ~dead & (wanted > 0)


def cluster_room(scores: np.ndarray, sizes: np.ndarray, budget: np.ndarray | int) -> np.ndarray:
    """Tokens that are taken from each cluster, int64 of the shape of ``scores`` (``queries, clusters``). ``budget``: of all
    queries, or of each.

    Clusters come in descending order of their scores, equal scores in order of their numbers. The last one is truncated
    to the budget. Clusters with a score of NaN are left out, and so are clusters without tokens.
    """
    dead = np.isnan(scores)
    order = np.argsort(np.where(dead, np.inf, -scores), axis=-1, kind="stable")
    each = np.where(dead, 0, sizes)
    sorted_sizes = np.take_along_axis(np.broadcast_to(each, scores.shape), order, axis=-1)
    before = np.cumsum(sorted_sizes, axis=-1) - sorted_sizes
    room = np.empty_like(sorted_sizes)
    np.put_along_axis(room, order, np.clip(np.asarray(budget)[..., None] - before, 0, sorted_sizes), axis=-1)
    return room


class Method:
    """Tokens for each query, at most ``budget`` of them unless a method says otherwise.

    Attributes
    ----------
    least : smallest budget
    token_wise : whether single tokens are chosen
    ahead : whether the method needs the query that the previous layer's attention input would give

    Parameters
    ----------
    full_layers : so many first layers attend to all tokens; STARC has 2 in its runs for accuracy

    Raises
    ------
    :exc:`ConfigError`
        If the budget is too small for the method.
    """

    least: ClassVar[int] = 1
    token_wise: ClassVar[bool] = False
    ahead: ClassVar[bool] = False

    def __init__(self, budget: int, *, full_layers: int = 0) -> None:
        if not self.least <= budget <= 1 << 30:
            raise ConfigError(
                f"the budget of {type(self).__name__.lower()} must be at least {self.least} tokens, not {budget}"
            )
        if full_layers < 0:
            raise ConfigError(f"layers that attend to all tokens must be at least 0, not {full_layers}")
        self.budget, self.full_layers = budget, full_layers

    def choose(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        *,
        layer: int | None = None,
        head: int = 0,
        group: int = 1,
        hint: np.ndarray | None = None,
    ) -> Lists:
        """Lists of tokens, in ascending order.

        Parameters
        ----------
        q, k : float32 of shapes ``(queries, head_dim)`` and ``(tokens, head_dim)``
        counts : int64 array: query n may attend to the first ``counts[n]`` tokens; the last of them is its own
        layer, head : of the keys, for messages and for :attr:`full_layers`
        group : queries that share the keys, one head's queries after the other's
        hint : for methods with :attr:`ahead`, the queries that the previous layer's attention input gives with this
            layer's weights; None in a first layer, which attends to all tokens
        """
        counts = np.asarray(counts, np.int64)
        if layer is not None and (layer < self.full_layers or (self.ahead and layer == 0)):
            return Lists.prefixes(counts)
        if len(counts) and not 1 <= counts.min() <= counts.max() <= len(k):
            raise ConfigError(f"a query can attend to 1 to {len(k)} tokens")
        mask = self.mask(q, k, counts, layer, head, group, hint)
        owners, tokens = np.nonzero(mask & (np.arange(len(k)) < counts[:, None]))
        first = np.searchsorted(owners, np.arange(len(counts) + 1))
        return Lists(tokens, first, np.arange(len(counts)))

    def mask(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        layer: int | None,
        head: int,
        group: int,
        hint: np.ndarray | None,
    ) -> np.ndarray:
        """Chosen tokens as a mask of shape ``(queries, tokens)``. Tokens beyond ``counts`` do not matter."""
        raise NotImplementedError

    def placement(self, k: np.ndarray, count: int, layer: int | None = None, head: int = 0) -> Placement:
        """Order in which the first ``count`` tokens lie in memory."""
        return self.placements(k, np.array([count]), layer, head)[0]

    def placements(self, k: np.ndarray, counts: np.ndarray, layer: int | None = None, head: int = 0) -> list[Placement]:
        """Order in which the first tokens lie in memory, for each of several numbers of tokens."""
        return [Placement.in_order(count) for count in counts.tolist()]

    def learn(self, keys: np.ndarray, layer: int | None = None) -> None:
        """Prepare for the keys of many heads, float32 of shape ``(heads, tokens, head_dim)``."""
        check_keys(keys, layer)

    def scored(self, tokens: Any, head_dim: int) -> Any:
        """Vectors that a head reads to score ``tokens`` tokens, a part of a vector as its share."""
        return 0.0 * tokens

    def _top(self, scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The budget of tokens with the largest scores."""
        return largest(np.where(np.arange(scores.shape[1]) < counts[:, None], scores, np.nan), self.budget)


class Full(Method):
    """All tokens, whatever the budget."""

    def mask(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        layer: int | None,
        head: int,
        group: int,
        hint: np.ndarray | None,
    ) -> np.ndarray:
        return np.ones((len(q), len(k)), bool)


class Window(Method):
    """The first four tokens and the latest ones."""

    SINKS = 4
    least = SINKS + 1

    def mask(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        layer: int | None,
        head: int,
        group: int,
        hint: np.ndarray | None,
    ) -> np.ndarray:
        tokens = np.arange(len(k))
        return (tokens < self.SINKS) | (tokens >= counts[:, None] - (self.budget - self.SINKS))


class Quest(Method):
    """The pages with the largest bounds, and always the query's own page."""

    PAGE = 16
    least = PAGE

    def scored(self, tokens: Any, head_dim: int) -> Any:
        """Two for each page."""
        return 2.0 * tokens / self.PAGE

    def mask(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        layer: int | None,
        head: int,
        group: int,
        hint: np.ndarray | None,
    ) -> np.ndarray:
        count = len(k) // self.PAGE
        whole = k[: count * self.PAGE].reshape(count, self.PAGE, k.shape[1]).astype(np.float32)
        bound = np.maximum(q, 0) @ whole.max(axis=1).T + np.minimum(q, 0) @ whole.min(axis=1).T
        own = (counts - 1)[:, None] // self.PAGE
        others = (self.budget - 1 - (counts - 1) % self.PAGE) // self.PAGE
        chosen = largest(np.where(np.arange(count) < own, bound, np.nan), others)
        page = np.arange(len(k)) // self.PAGE
        chosen = np.concatenate([chosen, np.zeros((len(q), 1), bool)], axis=1)
        return chosen[:, page] | (page == own)


class Top(Method):
    """The tokens with the largest scores."""

    token_wise = True

    def scored(self, tokens: Any, head_dim: int) -> Any:
        """All keys."""
        return 1.0 * tokens

    def mask(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        layer: int | None,
        head: int,
        group: int,
        hint: np.ndarray | None,
    ) -> np.ndarray:
        return self._top(q @ k.T, counts)


class SparQ(Method):
    """The tokens with the largest scores from the ``parts`` elements in which the query is largest, a quarter of all
    unless given. SparQ's correction with the mean value of the other tokens is left out, because STARC's PIM runs have
    selections only."""

    token_wise = True

    def __init__(self, budget: int, *, full_layers: int = 0, parts: int | None = None) -> None:
        super().__init__(budget, full_layers=full_layers)
        if parts is not None and parts < 1:
            raise ConfigError(f"elements of a query that sparq takes must be at least 1, not {parts}")
        self.parts = parts

    def mask(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        layer: int | None,
        head: int,
        group: int,
        hint: np.ndarray | None,
    ) -> np.ndarray:
        taken = largest(np.abs(q), self._taken(q.shape[1]))
        return self._top(np.where(taken, q, 0) @ k.T, counts)

    def scored(self, tokens: Any, head_dim: int) -> Any:
        """The taken elements of all keys."""
        return tokens * self._taken(head_dim) / head_dim

    def _taken(self, head_dim: int) -> int:
        return min(self.parts or max(head_dim // 4, 1), head_dim)


class InfiniGen(Method):
    """The tokens with the largest speculated scores.

    The speculation has the previous layer's attention input in place of this layer's, and a ``share`` of the elements.
    Queries and keys are first rotated to the principal directions of the keys, so that few elements hold most of a score.
    The elements with the largest sum of absolute values of keys and speculated queries are taken. The keys that all
    queries of a call see, and the speculated queries of the call, stand for the prompt's. A budget takes the place of
    InfiniGen's threshold, as in STARC's comparison.
    """

    token_wise = True
    ahead = True

    def __init__(self, budget: int, *, full_layers: int = 0, share: float = 0.3) -> None:
        super().__init__(budget, full_layers=full_layers)
        if not 0 < share <= 1:
            raise ConfigError(f"the share of elements that infinigen takes must be above 0 and at most 1, not {share}")
        self.share = share

    def mask(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        layer: int | None,
        head: int,
        group: int,
        hint: np.ndarray | None,
    ) -> np.ndarray:
        if hint is None:
            raise ConfigError("infinigen needs the previous layer's attention input and this layer's weights")
        seen = k[: int(counts.min())].astype(np.float64)
        _, turn = np.linalg.eigh(seen.T @ seen)
        keys, queries = (one.astype(np.float64) @ turn for one in (k, hint))
        weight = np.abs(keys[: len(seen)]).sum(axis=0) + np.abs(queries).sum(axis=0)
        taken = largest(weight, self._taken(k.shape[1]))
        return self._top(queries[:, taken] @ keys[:, taken].T, counts)

    def scored(self, tokens: Any, head_dim: int) -> Any:
        """The taken elements of all keys."""
        return tokens * self._taken(head_dim) / head_dim

    def _taken(self, head_dim: int) -> int:
        return max(1, round(self.share * head_dim))


@dataclass(frozen=True)
class Clusters:
    """Clusters of one head.

    Attributes
    ----------
    labels : int64 array: cluster of each clustered token; clusters of later segments have larger numbers
    means : float32 of shape ``(clusters, head_dim)``: means of the raw keys
    sizes : int64 array
    ends : int64 array: tokens that must be there before a cluster is
    flops : operations of the clustering
    """

    labels: np.ndarray
    means: np.ndarray
    sizes: np.ndarray
    ends: np.ndarray
    flops: int


class Starc(Method):
    """Algorithm 1 of STARC.

    The first ``prefill`` tokens are clustered together, and then every ``interval`` tokens by themselves. Earlier
    clusters stay as they are. Clusters come in the order of the product of query and mean key until the budget is full.
    The last one is truncated. Tokens that are not clustered yet are always taken, outside the budget unless ``inside``. A
    step whose token completes an interval clusters first, and then selects.

    Parameters
    ----------
    prefill : tokens of the prompt; None: the first ``budget`` tokens, rounded down to intervals
    interval, tokens_per_cluster, iterations : 128, 32 and 15 in STARC
    seed : of k-means
    pooled : whether queries that share keys (grouped queries) share a selection, by the sum of their scores
    pad : slots to a multiple of which clusters are filled up
    inside : whether tokens that are not clustered yet count towards the budget; clusters get the rest of it
    """

    def __init__(
        self,
        budget: int,
        *,
        full_layers: int = 0,
        prefill: int | None = None,
        interval: int = 128,
        tokens_per_cluster: int = 32,
        iterations: int = ITERATIONS,
        seed: int = 1,
        pooled: bool = False,
        pad: int = 1,
        inside: bool = False,
    ) -> None:
        super().__init__(budget, full_layers=full_layers)
        if tokens_per_cluster < 1:
            raise ConfigError(f"tokens of a cluster must be at least 1, not {tokens_per_cluster}")
        if budget < tokens_per_cluster:
            raise ConfigError(
                f"the budget of starc must be at least one cluster of {tokens_per_cluster} tokens, not {budget}"
            )
        if interval < 1:
            raise ConfigError(f"the interval between two clusterings must be at least 1 token, not {interval}")
        if prefill is not None and prefill < 1:
            raise ConfigError(f"tokens of the prompt must be at least 1, not {prefill}")
        if pad < 1:
            raise ConfigError(f"clusters must be filled up to a multiple of at least 1 slot, not {pad}")
        self.interval, self.tokens_per_cluster, self.iterations = interval, tokens_per_cluster, iterations
        self.seed, self.pooled, self.pad, self.inside = seed, pooled, pad, inside
        self.prefill = max(budget // interval * interval, interval) if prefill is None else prefill
        self._known: dict[tuple[int, bytes], Any] = {}

    def clustered(self, count: int) -> int:
        """Tokens that are clustered while ``count`` tokens are there."""
        return 0 if count < self.prefill else self.prefill + (count - self.prefill) // self.interval * self.interval

    def segments(self, count: int) -> list[tuple[int, int]]:
        """First token and end of each part of the tokens that was clustered by itself."""
        end = self.clustered(count)
        if not end:
            return []
        return [(0, self.prefill), *((at, at + self.interval) for at in range(self.prefill, end, self.interval))]

    def learn(self, keys: np.ndarray, layer: int | None = None) -> None:
        """Cluster the keys of many heads at once; :meth:`clusters` then finds them."""
        super().learn(keys, layer)
        for low, high in self.segments(keys.shape[1]):
            part = keys[:, low:high]
            found = cluster(part, self._count(high - low), iterations=self.iterations, seed=self.seed)
            for head in range(len(keys)):
                self._known[self._key(part[head], low)] = (
                    found.labels[head],
                    int(found.counts[head]),
                    found.flops // len(keys),
                )

    def clusters(self, k: np.ndarray, layer: int | None = None, head: int = 0) -> Clusters:
        """Clusters of one head's keys, of shape ``(tokens, head_dim)``."""
        labels, ends, number, flops = [np.empty(0, np.int64)], [], 0, 0
        for low, high in self.segments(len(k)):
            part = k[low:high]
            key = self._key(part, low)
            if key not in self._known:
                check_keys(part[None], layer, low, head)
                found = cluster(part[None], self._count(high - low), iterations=self.iterations, seed=self.seed)
                self._known[key] = (found.labels[0], int(found.counts[0]), found.flops)
            own, count, cost = self._known[key]
            labels.append(own + number)
            ends += [high] * count
            number, flops = number + count, flops + cost
        of = np.concatenate(labels)
        sizes = np.bincount(of, minlength=number)
        order = np.argsort(of, kind="stable")
        sums = (
            np.add.reduceat(k[order].astype(np.float64), np.cumsum(sizes) - sizes, axis=0)
            if number
            else np.zeros((0, k.shape[1]))
        )
        return Clusters(
            of, (sums / np.maximum(sizes, 1)[:, None]).astype(np.float32), sizes, np.array(ends, np.int64), flops
        )

    def _count(self, tokens: int) -> int:
        return max(1, round(tokens / self.tokens_per_cluster))

    def _key(self, part: np.ndarray, low: int) -> tuple[int, bytes]:
        return low, hashlib.blake2b(np.ascontiguousarray(part).tobytes(), digest_size=16).digest()

    def mask(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        layer: int | None,
        head: int,
        group: int,
        hint: np.ndarray | None,
    ) -> np.ndarray:
        found = self.clusters(k, layer, head)
        tokens, done = np.arange(len(k)), np.array([self.clustered(count) for count in counts.tolist()])
        recent = tokens >= done[:, None]
        if not len(found.sizes):
            return recent
        scores = q @ found.means.T
        if self.pooled and group > 1:
            scores = np.tile(scores.reshape(group, -1, scores.shape[1]).sum(axis=0), (group, 1))
        scores = np.where(found.ends <= counts[:, None], scores, np.nan)
        left = np.maximum(self.budget - (counts - done), 0) if self.inside else self.budget
        room = cluster_room(scores, found.sizes, left)
        order = np.argsort(found.labels, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(found.sizes) - found.sizes, found.sizes)
        chosen = np.zeros((len(q), len(k)), bool)
        chosen[:, : len(rank)] = rank < room[:, found.labels]
        return chosen | recent

    def placements(self, k: np.ndarray, counts: np.ndarray, layer: int | None = None, head: int = 0) -> list[Placement]:
        # Later tokens change no earlier cluster.
        labels = self.clusters(k[: int(counts.max())], layer, head).labels
        return [Placement.clustered(labels[: self.clustered(count)], count, self.pad) for count in counts.tolist()]

    def scored(self, tokens: Any, head_dim: int) -> Any:
        """A mean for each cluster."""
        return tokens / self.tokens_per_cluster

    def clustering_flops(self, tokens: int, head_dim: int) -> int:
        """Operations of the iterations of a clustering of ``tokens`` keys, two for a multiplication and addition."""
        return 2 * tokens * self._count(tokens) * head_dim * self.iterations


#: Methods by name.
METHODS: Mapping[str, type[Method]] = {
    "full": Full,
    "window": Window,
    "quest": Quest,
    "sparq": SparQ,
    "infinigen": InfiniGen,
    "starc": Starc,
    "top": Top,
}


def make_method(name: str, budget: int, **options: Any) -> Method:
    """A method by its name.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown method, or a budget or option that it does not take.
    """
    if name not in METHODS:
        raise ConfigError(nearest("method of sparse attention", name, METHODS))
    return METHODS[name](budget, **options)
