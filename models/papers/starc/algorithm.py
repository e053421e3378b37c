"""Algorithm 1 and section V: what the method does, on keys of a few small heads."""

from __future__ import annotations

import numpy as np

from ...program.selected import Placement, fetch
from ...sparse.kmeans import cluster
from ...sparse.methods import Starc, make_method
from ...sparse.source import Synthetic
from ...sparse.steps import select_steps
from ..category import Source
from ..evidence import Evidence, Finding
from .common import BUDGET, CHECKS

#: Prompt, interval and budget of the small runs; heads of 16 elements.
PROMPT, INTERVAL, ROOM = 256, 128, 64


def _keys(tokens: int) -> np.ndarray:
    return Synthetic(heads=2, head_dim=16, topics=8).keys(tokens)


def _method() -> Starc:
    return Starc(ROOM, prefill=PROMPT, interval=INTERVAL)


@CHECKS.of("starc-metric", "starc-score", "starc-trunc", "starc-recent", "starc-frozen", by=Source.RUN)
def rules(evidence: Evidence, claim: str) -> Finding:
    keys, basis = _keys(PROMPT + 2 * INTERVAL), "models/sparse, small heads"
    if claim == "starc-metric":
        length = np.random.default_rng(1).uniform(0.5, 2.0, (*keys.shape[:2], 1)).astype(np.float32)
        plain, scaled = (cluster(one, 8) for one in (keys, keys * length))
        same = np.array_equal(plain.labels, scaled.labels)
        return Finding(
            "cosine, k-means++" if same else "not cosine",
            basis,
            "The lengths of keys do not change their clusters. First centres come from k-means++.",
        )
    if claim == "starc-frozen":
        early, late = (_method().clusters(keys[0][:count]).labels for count in (PROMPT + INTERVAL, keys.shape[1]))
        return Finding("append only" if np.array_equal(early, late[: len(early)]) else "changed", basis)
    contexts = np.arange(PROMPT, PROMPT + 2 * INTERVAL)
    method, head = _method(), keys[0]
    queries = np.random.default_rng(2).standard_normal((len(contexts), head.shape[1])).astype(np.float32)
    lists = method.choose(queries, head, contexts)
    chosen = [lists.tokens[low:high] for low, high in zip(lists.first[:-1], lists.first[1:], strict=True)]
    recent = [count - method.clustered(count) for count in contexts.tolist()]
    if claim == "starc-recent":
        there = all(
            set(range(count - new, count)) <= set(some.tolist())
            for count, new, some in zip(contexts.tolist(), recent, chosen, strict=True)
        )
        return Finding(f"<={max(recent)} tokens extra" if there else "not always", basis)
    clustered = [some[some < count - new] for count, new, some in zip(contexts.tolist(), recent, chosen, strict=True)]
    if claim == "starc-trunc":
        return Finding("sum<=B" if all(len(some) == ROOM for some in clustered) else "other", basis)
    found = method.clusters(head[:PROMPT])
    best = (queries[:1] @ found.means.T)[0].argmax()
    whole = set(np.flatnonzero(found.labels == best)[:ROOM].tolist()) <= set(clustered[0].tolist())
    return Finding("q.mu" if whole else "other", basis, "The mean of the raw keys meets the query.")


@CHECKS.of("starc-overfetch", by=Source.RUN)
def pages(evidence: Evidence, claim: str) -> Finding:
    """Pages of 16 tokens on access units of 8 and of 16."""
    found = {
        step.fetch.fetched
        for unit in (8, 16)
        for step in select_steps(make_method("quest", BUDGET), Synthetic(heads=2), [2048, 3072], unit)
    }
    return Finding(
        max(found) if len(found) == 1 else sorted(found),
        "models/sparse, contexts of whole pages",
        "In a context with a part of a page, this part is one of the pages.",
    )


@CHECKS.of("starc-random", by=Source.RUN)
def masks(evidence: Evidence, claim: str) -> Finding:
    """Random tokens in order of their positions."""
    random = np.random.default_rng(3)
    out: dict[str, float] = {}
    for tokens in (3072, 6144):
        order = Placement.in_order(tokens)
        chosen = [random.choice(tokens, BUDGET, replace=False) for _ in range(64)]
        out[str(tokens)] = fetch([order] * len(chosen), chosen, 8).fetched / tokens
    return Finding(out, "64 random selections", tolerance=0.005)
