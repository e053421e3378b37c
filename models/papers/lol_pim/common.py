"""Objects that several checks of LoL-PIM share."""

from __future__ import annotations

from typing import Any

from ....constraints.core.errors import ConfigError
from ...llm import load_model
from ...serving.splits import Decoding, search
from ...systems import MissingRecord, load_system
from ..evidence import Checks, Evidence, NotCheckable

__all__ = [
    "CHECKS",
    "MODELS",
    "TECHNIQUES",
    "baseline",
    "decoded",
    "most_tensor",
    "sized_splits",
    "splits",
    "system_of",
    "techniques",
]

CHECKS = Checks()

#: Models of Table 1 by the names of the claims.
MODELS = {
    "Qwen1.5-1.8B": "qwen1.5-1.8b",
    "MPT-7B-story": "mpt-7b-storywriter",
    "Qwen1.5-7B": "qwen1.5-7b",
    "Llama3.1-8B": "llama-3.1-8b",
    "Qwen1.5-14B": "qwen1.5-14b",
    "LongChat-13B": "longchat-13b",
    "Qwen1.5-72B": "qwen1.5-72b",
    "Llama3.1-70B": "llama-3.1-70b",
}

#: Techniques of Table 8: token-parallel partitioning, lazy allocation, two sets of buffers.
TECHNIQUES = ("token_parallel", "lazy_allocation", "ping_pong")


def system_of(evidence: Evidence, name: str) -> Any:
    """A built-in system."""
    return evidence.once(("system", name), lambda: load_system(name))


def techniques(nodes: int, *on: str) -> Any:
    """LoL-PIM with only these techniques."""
    return load_system(
        "lol-pim",
        {
            "node.nodes": nodes,
            "parallelism.tensor": 8 * nodes,
            "parallelism.pipeline": 1,
            **{f"features.{name}": name in on for name in TECHNIQUES},
        },
    )


def splits(evidence: Evidence, model: str, nodes: int, *on: str, workload: str = "musique") -> list[Decoding]:
    """Decoding of a model on nodes with these techniques, for each legal split, fastest first."""

    def run() -> list[Decoding]:
        evidence.progress(f"LoL-PIM: {model} on {nodes} nodes with {', '.join(on) or 'no technique'}")
        return search(techniques(nodes, *on), load_model(model), workload, records=evidence.records)

    return evidence.once(("lol-pim", model, nodes, on, workload), run)


def sized_splits(evidence: Evidence, system: str, gigabytes: int, model: str, changes: Any = None) -> list[Decoding]:
    """Decoding on a built-in system of this size for each legal split, on Musique, fastest first."""
    told = ", ".join(f"{key} {value}" for key, value in (changes or {}).items())

    def run() -> list[Decoding]:
        evidence.progress(f"LoL-PIM: {model} on {system} of {gigabytes} GB" + (f" with {told}" if told else ""))
        return search(
            load_system(system, changes).sized(gigabytes), load_model(model), "musique", records=evidence.records
        )

    try:
        return evidence.once(("lol-pim", system, gigabytes, model, told), run)
    except MissingRecord:
        raise
    except ConfigError as error:
        raise NotCheckable(str(error)) from None


def decoded(evidence: Evidence, system: str, gigabytes: int, model: str) -> Decoding:
    """The fastest of :func:`sized_splits`."""
    return sized_splits(evidence, system, gigabytes, model)[0]


def most_tensor(found: list[Decoding], most: int | None = None) -> Decoding:
    """The split with the most tensor parallelism, at most ``most``."""
    return max((one for one in found if most is None or one.parallelism[0] <= most), key=lambda one: one.parallelism[0])


def baseline(evidence: Evidence, system: str, gigabytes: int, model: str) -> Decoding:
    """A baseline of section 8.2: the most tensor parallelism that gives no head to several modules.

    The paper's GPU simulator has tensor parallelism only, and section 3.2 raises the PIM's tensor parallelism with its
    modules. Section 4.3 exchanges nothing between modules for a head.
    """
    return most_tensor(sized_splits(evidence, system, gigabytes, model), load_model(model).heads)
