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
        """One GPU for every 64 GB. A GPU with HBM has 80 GB, and the comparison counts 64 GB of them."""
        count, rest = divmod(gigabytes, 64)
        if rest or not count:
            raise ConfigError(f"{self.name} can't have {gigabytes} GB")
        return self.changed({"gpu.count": count, "parallelism.tensor": count, "parallelism.pipeline": 1})

    def served(self, model: ModelShape, records: RecordSource, refresh: bool = False) -> GpuServed:
        return GpuServed(self, model, records, refresh)
