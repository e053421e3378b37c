"""Spherical k-means, for many heads at once.

STARC (Algorithm 1 and section V) clusters keys by cosine similarity, with k-means++ and 15 iterations. Here keys of length
1 take part. A key goes to the centre with the largest cosine, the first of equals. The centre of a cluster is its keys'
mean, of length 1 again. A cluster that loses all keys keeps its centre, and is dropped at the end.

The first centre of k-means++ is a random key. Each next one is drawn with a probability that is proportional to the
squared distance to the nearest centre. From ``2 + ln k`` such draws, the one that leaves the smallest sum of squared
distances is taken, as scikit-learn does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...constraints.core.errors import ConfigError

__all__ = ["ITERATIONS", "Clustering", "check_keys", "cluster"]

#: Iterations; STARC section V.
ITERATIONS = 15


@dataclass(frozen=True)
class Clustering:
    """Clusters of the keys of several heads.

    Clusters of a head are numbered by their first key, without gaps.

    Attributes
    ----------
    labels : int64 of shape ``(heads, tokens)``
    counts : int64 array: clusters of each head
    inertia : float64 array: sum over a head's keys of the squared distance to their centre, all of length 1
    flops : operations, two for a multiplication and addition
    """

    labels: np.ndarray
    counts: np.ndarray
    inertia: np.ndarray
    flops: int


def check_keys(keys: np.ndarray, layer: int | None = None, first: int = 0, first_head: int = 0) -> None:
    """Raise :exc:`ConfigError` for a key that is no number. ``keys``: float of shape ``(heads, tokens, head_dim)``."""
    fine = np.isfinite(keys).all(axis=-1)
    if not fine.all():
        head, token = np.argwhere(~fine)[0].tolist()
        where = "" if layer is None else f"layer {layer}, "
        raise ConfigError(
            f"{where}head {first_head + head}, token {first + token}: the key has NaN or an infinity; such "
            "keys have no cluster"
        )


def cluster(keys: np.ndarray, k: int, *, iterations: int = ITERATIONS, seed: int = 1) -> Clustering:
    """Cluster the keys of each head on its own.

    Parameters
    ----------
    keys : float of shape ``(heads, tokens, head_dim)``
    k : clusters of each head, at most as many as tokens
    seed : of the random numbers; equal seeds give equal clusters

    Raises
    ------
    :exc:`ConfigError`
        For a key that is no number, or a number of clusters outside 1 to the tokens.
    """
    heads, tokens, size = keys.shape
    if not 1 <= k <= tokens:
        raise ConfigError(f"clusters must be 1 to the {tokens} tokens, not {k}")
    if iterations < 1:
        raise ConfigError(f"iterations of k-means must be at least 1, not {iterations}")
    check_keys(keys)
    # Scaled first, so that the square of no element overflows or vanishes.
    top = np.abs(keys).max(axis=-1, keepdims=True).astype(np.float64)
    points = (keys / np.where(top > 0, top, 1)).astype(np.float32)
    length = np.linalg.norm(points, axis=-1, keepdims=True)
    points = (points / np.where(length > 0, length, 1)).astype(np.float32)
    centres = _start(points, k, np.random.default_rng(seed))
    labels = np.zeros((heads, tokens), np.int64)
    base = np.arange(heads)[:, None] * k
    done = 0
    for done in range(1, iterations + 1):  # noqa: B007
        new = (points @ centres.swapaxes(1, 2)).argmax(axis=-1)
        still = done > 1 and np.array_equal(new, labels)
        labels = new
        if still:
            break
        flat = (labels + base).reshape(-1)
        order = np.argsort(flat, kind="stable")
        used, first = np.unique(flat[order], return_index=True)
        sums = np.add.reduceat(points.reshape(-1, size)[order], first, axis=0)
        norm = np.linalg.norm(sums, axis=-1, keepdims=True)
        moved = centres.reshape(-1, size)
        moved[used] = np.where(norm > 0, sums / np.where(norm > 0, norm, 1), moved[used])
    near = np.take_along_axis(centres, labels[..., None], axis=1)
    inertia = np.square(points - near, dtype=np.float64).sum(axis=(1, 2))
    numbered, counts = np.empty_like(labels), np.empty(heads, np.int64)
    for head in range(heads):
        _, first, inverse = np.unique(labels[head], return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        numbered[head], counts[head] = rank[inverse], len(first)
    return Clustering(numbered, counts, inertia, 2 * heads * tokens * k * size * done)


def _start(points: np.ndarray, k: int, random: np.random.Generator) -> np.ndarray:
    """Centres of k-means++, of shape ``(heads, k, head_dim)``."""
    heads, tokens, size = points.shape
    trials = 2 + int(math.log(k))
    every = np.arange(heads)
    centres = np.empty((heads, k, size), np.float32)
    centres[:, 0] = points[every, random.integers(tokens, size=heads)]
    # On the sphere a squared distance is twice one minus the cosine.
    nearest = np.maximum(1 - np.einsum("htd,hd->ht", points, centres[:, 0]), 0)
    for number in range(1, k):
        sums = np.cumsum(nearest, axis=1, dtype=np.float64)
        wanted = random.random((heads, trials)) * sums[:, -1:]
        drawn = np.stack([np.searchsorted(sums[head], wanted[head], side="right") for head in range(heads)])
        drawn = np.minimum(drawn, tokens - 1)
        distance = 1 - points @ points[every[:, None], drawn].swapaxes(1, 2)
        distance = np.minimum(np.maximum(distance, 0), nearest[:, :, None])
        best = distance.sum(axis=1).argmin(axis=-1)
        centres[:, number] = points[every, drawn[every, best]]
        nearest = distance[every, :, best]
    return centres
