"""Schema of CXL-PNM: CXL devices with a processor beside their memory."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ..core.document import Strict
from . import GpuEnergy, LinkSpec, Parallelism

__all__ = ["CxlPnmDeviceSpec", "CxlPnmProcessorSpec", "CxlPnmSystemSpec"]


def _positive(description: str, **more: Any) -> Any:
    return Field(gt=0, le=1e12, strict=False, description=description, **more)


class CxlPnmDeviceSpec(Strict):
    """Devices and their memory."""

    name: str
    count: int = Field(ge=1, le=4096, description="devices; one fabric has 4096 nodes at most")
    memory: str = Field(
        description="built-in memory with plain accesses, or a file relative to this one. Its timing gives "
        "the bandwidth, its organisation the capacity"
    )
    refresh: bool = Field(description="whether the timing includes refresh")
    source: str


class CxlPnmProcessorSpec(Strict):
    """The processor of a device."""

    peak_tflops: float = _positive("dense FP16/BF16 throughput")
    compute_utilisation: float = Field(gt=0, le=1, strict=False, description="share of the peak that products reach")
    vector_fixed_us: float = Field(
        ge=0,
        le=1e6,
        strict=False,
        description="time of a norm or an activation without data; the data take the memory's time",
    )
    source: str


class CxlPnmSystemSpec(Strict):
    """CXL devices with a processor beside their memory."""

    kind: Literal["cxl-pnm"]
    description: str
    device: CxlPnmDeviceSpec
    processor: CxlPnmProcessorSpec
    parallelism: Parallelism
    link: LinkSpec
    energy: GpuEnergy
