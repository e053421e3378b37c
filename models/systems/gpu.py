"""GPUs alone."""

from __future__ import annotations

from typing import Self

from ...constraints.errors import ConfigError
from ...constraints.systems import GpuSystemSpec
from ..llm import ModelShape
from .gpu_serving import GpuServed
from .platform import GpuPlatform
from .results import RecordSource

__all__ = ["GpuSystem"]


class GpuSystem(GpuPlatform):
    """GPUs alone."""

    kind = "gpu"
    schema = GpuSystemSpec

    def sized(self, gigabytes: int) -> Self:
        """A GPU for every 64 GB: those with HBM have 80 GB each, of which the comparison counts 64."""
        count, rest = divmod(gigabytes, 64)
        if rest or not count:
            raise ConfigError(f"{self.name} can't have {gigabytes} GB")
        return self.changed({"gpu.count": count, "parallelism.tensor": count, "parallelism.pipeline": 1})

    def served(self, model: ModelShape, records: RecordSource, refresh: bool = False) -> GpuServed:
        return GpuServed(self, model, records, refresh)
