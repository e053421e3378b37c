"""The reference for PAM's interface: a CPU that copies KV tokens between tiers. Data in ``cpu_path.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ..core.document import Strict, load
from ..core.workspace import kept

__all__ = ["CpuPath", "cpu_path"]


class CpuPath(Strict):
    """Assumptions on a copy by a CPU."""

    share_of_bandwidth: float = Field(gt=0, le=1, description="fraction of a memory's own rate that the CPU gets")
    share_source: str
    passes: list[Literal["source", "destination"]] = Field(
        min_length=1, description="memories that it streams from or to, one after the other"
    )
    passes_source: str
    start_us: float = Field(ge=0, le=1e6, strict=False, description="time before the first byte")
    start_source: str
    quoted_ms_per_mib: float = Field(
        gt=0, le=1e6, strict=False, description="the paper's figure for a transfer of 1 MiB"
    )
    quoted_source: str

    def time_ns(self, source_ns: float, destination_ns: float) -> float:
        """Time of a transfer for which the memories alone need ``source_ns`` and ``destination_ns``."""
        own = {"source": source_ns, "destination": destination_ns}
        return self.start_us * 1e3 + sum(own[name] for name in self.passes) / self.share_of_bandwidth


@kept
def cpu_path() -> CpuPath:
    """The assumptions that come with the package."""
    return load(Path(__file__).with_name("cpu_path.yaml"), CpuPath, "a table of assumptions")
