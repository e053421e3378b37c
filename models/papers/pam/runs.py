"""Evaluations of the systems that several claims share: the loads, and the functions that run each load once.

The loads are the paper's (section 7): conversations with limits of 100, 150 and 200 ms per token, and long contexts at
fixed batches. The paper leaves some choices open. This module makes them once for all claims:

- A server has been running: its batch is always full, with continuous batching and prefill first.
- Lengths are drawn from the workload.
- A speed-up is a ratio of tokens per second.
- The limit applies to the mean time per token.
- Means are arithmetic, over the limits or batches and over the workloads.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ...llm import ModelShape, load_model
from ...serving import Workload, draw, served_system
from ...serving.steady import SteadyState, best_within, steady_state
from ...systems import System, load_system
from ...systems.results import Evaluation
from ..ahead import Ahead
from ..evidence import Evidence, NotCheckable
from .settings import MODELS, lengths

__all__ = [
    "AHEAD",
    "BATCHES",
    "ENERGY_BATCHES",
    "LIMITS_MS",
    "LONGEST",
    "OFFLINE",
    "ONLINE",
    "context_of",
    "fits",
    "gain",
    "online",
    "run",
    "state",
    "steady",
]

ONLINE = ("wildchat", "sharegpt", "humaneval")
OFFLINE = ("arxiv_sum", "write_doc")

#: Workloads of another name than the paper's: long contexts have 1500 to 8000 tokens (section 7.1), measured ones of
#: ``arxiv_sum`` were cut at 4096.
WORKLOADS = {"arxiv_sum": "arxiv_sum_long"}

#: Limits of the time per output token (section 7.1).
LIMITS_MS = (100, 150, 200)

#: Requests of the long-context runs (section 7.2) and of the energy runs (section 7.3).
BATCHES = {"llama3-70b": (256, 512, 1024), "opt-175b": (16, 32, 64)}
ENERGY_BATCHES = {"online": {"llama3-70b": 8192, "opt-175b": 512}, "offline": {"llama3-70b": 1024, "opt-175b": 64}}

#: Longest context of the long-context workloads.
LONGEST = 8000

#: Requests of a workload from which those of a run are drawn.
DRAWN = 100_000


def context_of(evidence: Evidence, workload: str) -> int:
    """Mean context of a request of the workload during decoding."""
    prompt, output = lengths(evidence, WORKLOADS.get(workload, workload))
    return round(float(prompt.mean() + output.mean() / 2))


def prepared(
    evidence: Evidence, system: str, model: str, overrides: Mapping[str, Any] | None = None
) -> tuple[System, ModelShape]:
    """A system with its measurements for a model. Raises :exc:`MissingRecord` at once if one is missing."""
    loaded, shape = load_system(system, overrides), load_model(MODELS[model])
    return loaded.bind(shape, evidence.records).system, shape


def run(
    evidence: Evidence, system: str, model: str, context: int, batch: int, overrides: Mapping[str, Any] | None = None
) -> Evaluation:
    """One decode step of a system."""
    key = ("run", system, model, context, batch, tuple(sorted((overrides or {}).items())))

    def made() -> Evaluation:
        loaded, shape = prepared(evidence, system, model, overrides)
        evidence.progress(f"{system}, {model}: {batch} requests of {context} tokens")
        return loaded.evaluate(shape, context=context, batch=batch, records=evidence.records)

    return evidence.once(key, made)


def requests(evidence: Evidence, workload: str) -> Workload:
    return evidence.once(("requests", workload), lambda: draw(WORKLOADS.get(workload, workload), DRAWN))


def steady(
    evidence: Evidence,
    system: str,
    model: str,
    workload: str,
    batch: int,
    overrides: Mapping[str, Any] | None = None,
    *,
    prefill: bool = True,
    energy: bool = False,
) -> SteadyState:
    """A system that serves a workload with this batch."""
    chosen = tuple(sorted((overrides or {}).items()))

    def loaded() -> Any:
        return served_system(load_system(system, overrides), load_model(MODELS[model]), records=evidence.records)

    def made() -> SteadyState:
        served: Any = evidence.once(("served", system, model, chosen), loaded)
        evidence.progress(f"{system}, {model}, {workload}: {batch} requests in work")
        return steady_state(served, requests(evidence, workload), batch, energy=energy, cached=not prefill)

    return evidence.once(("steady", system, model, workload, batch, chosen, prefill, energy), made)


def online(
    evidence: Evidence,
    system: str,
    model: str,
    workload: str,
    overrides: Mapping[str, Any] | None = None,
    *,
    prefill: bool = True,
) -> dict[int, SteadyState | None]:
    """By limit in ms, the state with the most tokens per second within the limit. Without ``prefill`` only decode steps
    take time.

    Batches are doubled. Where fetching from other memories makes the time jump, they are searched instead.
    """

    def made() -> dict[int, SteadyState | None]:
        found = best_within(
            lambda batch: steady(evidence, system, model, workload, batch, overrides, prefill=prefill),
            [limit * 1e-3 for limit in LIMITS_MS],
            precision=0.03 if system == "vllm-offload" else None,
        )
        return {limit: found[limit * 1e-3] for limit in LIMITS_MS}

    return evidence.once(("online", system, model, workload, tuple(sorted((overrides or {}).items())), prefill), made)


def gain(
    evidence: Evidence,
    base: str,
    model: str,
    workload: str,
    overrides: Mapping[str, Any] | None = None,
    *,
    prefill: bool = True,
) -> float:
    """PAM's tokens per second divided by the tokens per second of ``base`` with ``overrides``.

    The gain is the mean over the limits that both systems keep to.
    """
    ours = online(evidence, "pam", model, workload, prefill=prefill)
    theirs = online(evidence, base, model, workload, overrides, prefill=prefill)
    ratios = [a.tokens_per_s / b.tokens_per_s for limit in LIMITS_MS if (a := ours[limit]) and (b := theirs[limit])]
    if not ratios:
        raise NotCheckable(f"no batch of {model} on {base} keeps to a limit of {', '.join(map(str, LIMITS_MS))} ms")
    return float(np.mean(ratios))


def largest(evidence: Evidence, system: str, model: str, context: int) -> int:
    """Largest batch of requests of this context that fits."""

    def made() -> int:
        loaded = load_system(system)
        return int(loaded.capacity(load_model(MODELS[model]), context, 1, 1).largest_batch)

    return evidence.once(("largest", system, model, context), made)


def fits(evidence: Evidence, system: str, model: str, context: int, batch: int) -> bool:
    """Whether a batch fits the system's memories."""
    return batch <= largest(evidence, system, model, context)


def state(
    evidence: Evidence, model: str, context: int, batch: int, steps: int, overrides: Mapping[str, Any] | None = None
) -> list[Any]:
    """Consecutive steps of PAM from the settled state."""
    key = ("state", model, context, batch, steps, tuple(sorted((overrides or {}).items())))

    def made() -> list[Any]:
        system, shape = prepared(evidence, "pam", model, overrides)
        evidence.progress(f"pam, {model}: {steps} steps of {batch} requests of {context} tokens")
        node = system.node(shape, np.full(batch, context, np.int64), steps)  # type: ignore[attr-defined]
        node.settle()
        return [node.step() for _ in range(steps)]

    return evidence.once(key, made)


def _searches(evidence: Evidence, system: str, model: str) -> None:
    """All searches for a batch within the limits, and all runs at fixed batches, of a system with a model."""
    for prefill in (True, False):
        for workload in ONLINE:
            online(evidence, system, model, workload, prefill=prefill)
        for workload in OFFLINE if system != "ls-pim" else ():
            for batch in BATCHES.get(model, ()):
                steady(evidence, system, model, workload, batch, prefill=prefill)


#: Searches by system and model, the longest first. A system keeps what it knows of a model between them.
AHEAD = tuple(
    Ahead(
        claims=tuple(
            f"pam-thr-{name}{row}"
            for name in ("online", "online-avg", "wild", "lspim", "off", "off-avg")
            for row in ("", "-decode")
        ),
        run=partial(_searches, system=system, model=model),
        keeps=("online", "steady"),
    )
    for system in ("vllm-offload", "pam", "ls-pim")
    for model in MODELS
)
