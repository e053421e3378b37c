"""Results on systems."""

from __future__ import annotations

from .result import Part, key

__all__ = ["Parallelism"]


class Parallelism(Part):
    tensor: int = key("devices that share a layer")
    pipeline: int = key("pipeline stages")
    micro_batch: int | None = key("requests of a micro-batch", default=None)
