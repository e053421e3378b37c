"""Evaluations of the systems that several claims share: which loads, and how each is run once.

The loads are the paper's (section 7): conversations with limits of 100, 150 and 200 ms per token; long contexts at fixed
batches. Where it leaves something open the choice is here, once for all claims: requests of a batch have the same context,
the workload's mean input and half its mean output; prefill is not counted; a speed-up is a ratio of decode throughputs;
means are arithmetic, over the limits or batches and the workloads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...llm import load_model
from ...systems import evaluate, load_system
from ...systems.results import Evaluation
from ..evidence import Evidence, NotCheckable
from .settings import MODELS, lengths

__all__ = ["BATCHES", "ENERGY_BATCHES", "LIMITS_MS", "LONGEST", "OFFLINE", "ONLINE", "context_of", "gain", "online", "run",
           "state"]

ONLINE = ("wildchat", "sharegpt", "humaneval")
OFFLINE = ("arxiv_sum", "write_doc")

#: Limits of the time per output token (section 7.1).
LIMITS_MS = (100, 150, 200)

#: Requests of the long-context runs (section 7.2) and of the energy runs (section 7.3).
BATCHES = {"llama3-70b": (256, 512, 1024), "opt-175b": (16, 32, 64)}
ENERGY_BATCHES = {"online": {"llama3-70b": 8192, "opt-175b": 512}, "offline": {"llama3-70b": 1024, "opt-175b": 64}}

#: Longest context of the long-context workloads.
LONGEST = 8000

#: First batch of the search for the largest within a limit; it is then doubled.
FIRST = 64


def context_of(evidence: Evidence, workload: str) -> int:
    """Mean context while a request of the workload is decoded."""
    prompt, output = lengths(evidence, workload)
    return round(float(prompt.mean() + output.mean() / 2))


def run(evidence: Evidence, system: str, model: str, context: int, batch: int,
        overrides: Mapping[str, Any] | None = None) -> Evaluation:
    """One decode step of a system."""
    key = ("run", system, model, context, batch, tuple(sorted((overrides or {}).items())))

    def made() -> Evaluation:
        evidence.progress(f"{system}, {model}: {batch} requests of {context} tokens")
        return evaluate(system, load_model(MODELS[model]), context=context, batch=batch, records=evidence.records,
                        overrides=overrides)

    return evidence.once(key, made)


def largest(evidence: Evidence, system: str, model: str, context: int) -> int:
    """Requests of this context that fit."""
    def made() -> int:
        loaded = load_system(system)
        return int(loaded.capacity(load_model(MODELS[model]), context, 1, 1).largest_batch)

    return evidence.once(("largest", system, model, context), made)


def curve(evidence: Evidence, system: str, model: str, context: int) -> list[tuple[int, float]]:
    """(requests, seconds per token), doubled until the last limit is passed or no more fit."""
    most, batch, points = largest(evidence, system, model, context), FIRST, []
    while True:
        batch = min(batch, most)
        if batch < 1:
            break
        seconds = run(evidence, system, model, context, batch).tpot_ms * 1e-3
        points.append((batch, seconds))
        if seconds * 1e3 > max(LIMITS_MS) or batch == most:
            break
        batch *= 2
    while points and points[0][1] * 1e3 > min(LIMITS_MS) and points[0][0] > 1:
        points.insert(0, (points[0][0] // 2, run(evidence, system, model, context, points[0][0] // 2).tpot_ms * 1e-3))
    return points


def online(evidence: Evidence, system: str, model: str, workload: str, limit_ms: float) -> float:
    """Tokens per second of the largest batch that keeps to the limit; 0 if none does.

    Between the batches that are evaluated the time per token is taken as a power of the batch.
    """
    points = curve(evidence, system, model, context_of(evidence, workload))
    limit = limit_ms * 1e-3
    within = [point for point in points if point[1] <= limit]
    if not within:
        return 0.0
    batch, seconds = within[-1]
    beyond = points[len(within):]
    if not beyond:
        return batch / seconds
    steps = math.log(beyond[0][1] / seconds)
    share = math.log(limit / seconds) / steps if steps > 0 else 1.0
    return math.floor(batch * (beyond[0][0] / batch) ** share) / limit


def gain(evidence: Evidence, base: str, model: str, workload: str) -> float:
    """PAM's throughput over that of ``base``, mean over the limits that both can keep to."""
    ratios = []
    for limit in LIMITS_MS:
        ours, theirs = (online(evidence, name, model, workload, limit) for name in ("pam", base))
        if ours and theirs:
            ratios.append(ours / theirs)
    if not ratios:
        raise NotCheckable(f"no batch of {model} on {base} keeps to a limit of {', '.join(map(str, LIMITS_MS))} ms")
    return float(np.mean(ratios))


def fits(evidence: Evidence, system: str, model: str, context: int, batch: int) -> bool:
    """Whether a batch fits the system's memories."""
    return batch <= largest(evidence, system, model, context)


def state(evidence: Evidence, model: str, context: int, batch: int, steps: int,
          overrides: Mapping[str, Any] | None = None) -> list[Any]:
    """Consecutive steps of PAM from the settled state."""
    from ...systems.pam import Node

    key = ("state", model, context, batch, steps, tuple(sorted((overrides or {}).items())))

    def made() -> list[Any]:
        evidence.progress(f"pam, {model}: {steps} steps of {batch} requests of {context} tokens")
        shape, system = load_model(MODELS[model]), load_system("pam", overrides)
        system.prepare(shape, evidence.records, False)
        node = Node(system, shape, np.full(batch, context, np.int64), steps)  # type: ignore[arg-type]
        node.settle()
        return [node.step() for _ in range(steps)]

    return evidence.once(key, made)
