"""Schema of the GPU measurements that CENT's authors publish."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from ..core.document import Strict

__all__ = ["CENT_GPU", "MeasuredGpus", "Phases"]

#: The measurements.
CENT_GPU = Path(__file__).parent / "gpu_measured.yaml"


class Phases(Strict):
    """A figure by phase of a query."""

    prefill: float = Field(gt=0, strict=False)
    decoding: float = Field(gt=0, strict=False)
    end2end: float = Field(gt=0, strict=False)


class MeasuredGpus(Strict):
    """Measurements, by model or context where there are several."""

    source: str
    gpus: dict[str, int]
    latency_s: dict[str, float]
    tokens_per_s: dict[str, Phases]
    power_w: dict[str, Phases]
    tokens_per_j: dict[str, Phases]
    decoding_by_context_tok_s: dict[str, float]
    latency_min: dict[str, float]
    batches: dict[str, list[list[float]]]
