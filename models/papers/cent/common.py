"""Objects that several checks of CENT share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ....constraints.cent.gpu import CENT_GPU, MeasuredGpus
from ....constraints.core.document import load
from ....constraints.core.workspace import kept
from ...llm import load_model
from ...systems import load_system
from ...systems.cent import CentSystem, Point
from ..evidence import Checks, Evidence
from .table import NAMES, Configuration, system_of

__all__ = [
    "CHECKS",
    "GPU_FILE",
    "MODELS",
    "PHASES",
    "PIPELINED",
    "SHARED",
    "geomean",
    "gpus",
    "mean_of",
    "ours",
    "phase",
    "simulated",
    "spec",
]

CHECKS = Checks()

#: The file that ratios with a measured GPU name.
GPU_FILE = CENT_GPU.name

#: Models by the short names of the claims.
MODELS = {"7b": "Llama2-7B", "13b": "Llama2-13B", "70b": "Llama2-70B"}

#: A block for each stage, and all devices for each block.
PIPELINED = {
    "7b": Configuration("Llama2-7B", 8, 32, 1),
    "13b": Configuration("Llama2-13B", 20, 40, 1),
    "70b": Configuration("Llama2-70B", 32, 80, 1),
}
SHARED = {
    "7b": Configuration("Llama2-7B", 8, 1, 8),
    "13b": Configuration("Llama2-13B", 20, 1, 20),
    "70b": Configuration("Llama2-70B", 32, 1, 32),
}

#: Positions of a phase, as the authors sample them.
PHASES = {"prefill": range(128, 513, 128), "decoding": range(640, 4097, 128), "end2end": range(128, 4097, 128)}

#: Positions that stand for the phases where the timing has refresh: their middles.
MIDDLES = {"prefill": (256,), "decoding": (2304,), "end2end": (256, 2304)}


@kept
def gpus() -> MeasuredGpus:
    """GPUs that CENT's authors measured."""
    return load(CENT_GPU, MeasuredGpus, "a file of measurements")


def spec() -> Any:
    """The file of the system."""
    return load_system("cent").description.spec


def geomean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def mean_of(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def simulated(evidence: Evidence, one: Configuration, positions: Iterable[int]) -> list[Point]:
    """Points under the quirks of the authors' simulator."""
    system, model = system_of(one), load_model(NAMES[one.model])
    return [
        evidence.once(("cent", one, tokens), lambda tokens=tokens: system.point(model, tokens))  # type: ignore[misc]
        for tokens in positions
    ]


def ours(evidence: Evidence, one: Configuration, positions: Iterable[int]) -> list[Point]:
    """Points of the system as it is."""
    system = load_system(
        "cent", {"device.count": one.devices, "parallelism.pipeline": one.pipeline, "parallelism.tensor": one.tensor}
    )
    assert isinstance(system, CentSystem)
    model = load_model(NAMES[one.model])

    def make(tokens: int) -> Point:
        evidence.progress(f"CENT: {one.model}, {one.tensor} x {one.pipeline}, {tokens} tokens")
        system.prepare(model, evidence.records, False)
        return system.point(model, tokens)

    return [
        evidence.once(("cent, ours", one, tokens), lambda tokens=tokens: make(tokens))  # type: ignore[misc]
        for tokens in positions
    ]


def phase(evidence: Evidence, one: Configuration, name: str, simulator: bool, value: Any) -> float:
    """Mean over a phase of a value of its points: as the authors sample it, or at the middles of prefill and decoding."""
    if simulator:
        return mean_of([value(point) for point in simulated(evidence, one, PHASES[name])])
    points = ours(evidence, one, MIDDLES[name])
    if name != "end2end":
        return float(value(points[0]))
    return float((512 * value(points[0]) + 3584 * value(points[1])) / 4096)
