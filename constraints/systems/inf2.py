"""Schemas of INF2 and of the systems with which it is compared: a GPU, its host, and drives on a tree of links."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ..core.document import Strict
from .links import LinkTreeSpec

__all__ = [
    "DrivePathSpec",
    "DriveSpec",
    "Inf2SystemSpec",
    "NearStorageSpec",
    "PriceSpec",
    "SequenceSpec",
    "ServerSpec",
    "StoragePathSpec",
    "StorageSystemSpec",
    "WriteBackSpec",
    "XCacheSpec",
]

_BASE = "the GPU system, with one GPU: a built-in name, or a file relative to this one"
_LINKS = "`gpu`, and at each `drive` the links `flash` and, in INF2, `accelerator`"
_WEIGHTS = "place of the weights; auto: the first of the three that holds all of them"

Weights = Literal["auto", "gpu", "host", "drives"]


def _positive(description: str, **more: Any) -> Any:
    return Field(gt=0, le=1e12, strict=False, description=description, **more)


class DriveSpec(Strict):
    """A drive."""

    memory: str = Field(description="memory of the timing engine for the flash: capacity, rates of reads and writes")
    dram: str | None = Field(
        default=None, description="memory of the timing engine for the DRAM beside the accelerator"
    )
    source: str


class ServerSpec(Strict):
    """Host of the GPU and the drives."""

    memory_gb: float = _positive("memory that may be used, 10^9 bytes")
    other_gb: float = Field(default=0, ge=0, le=1e6, strict=False, description="of it, for anything but weights and KV")
    memory_gb_s: float = _positive("bandwidth of the memory of all processors")
    memory_utilisation: float = Field(gt=0, le=1, strict=False, description="share of it that attention there reaches")
    source: str


class SequenceSpec(Strict):
    """Work of the GPU on whole sequences: prefill, and keys and values that it computes again."""

    tflops: float = _positive(
        "10^12 operations per second that the software reaches with whole sequences on any GPU that has as many"
    )
    source: str


class PriceSpec(Strict):
    """Prices of a server."""

    gpu_usd: dict[str, float] = Field(description="by name of the GPU")
    server_usd: float = Field(ge=0, le=1e9, strict=False, description="host without GPU and drives")
    expansion_usd: float = Field(ge=0, le=1e9, strict=False, description="chassis of the drives")
    drive_usd: float = Field(ge=0, le=1e9, strict=False, description="a drive")
    source: str


class DrivePathSpec(Strict):
    """Path of the software from a drive's flash to the DRAM of its accelerator."""

    name: str
    gb_s: float = _positive("of one drive")
    source: str


class NearStorageSpec(Strict):
    """Attention of an accelerator beside the flash of its drive."""

    accelerator: str = Field(description="preset of `inf2-accelerator`, whose measured clocks attention takes")
    path: DrivePathSpec
    power_w: float = Field(ge=0, le=1e4, strict=False, description="of one accelerator, as long as a step takes")
    source: str


class WriteBackSpec(Strict):
    """New keys and values on their way to the flash."""

    delayed: bool = Field(
        description="whether the host keeps them for an interval; else each step waits for its writes"
    )
    interval: int = Field(le=1 << 16, description="steps for which the host keeps them")
    granularity_bytes: int = Field(ge=1, le=1 << 20, description="least bytes of a direct write")
    write_us: float = Field(
        ge=0, le=1e6, strict=False, description="direct write: a key or a value of a head, or an interval of them"
    )
    source: str


class XCacheSpec(Strict):
    """Inputs of blocks in the host's memory, from which the GPU computes keys and values again."""

    use: Literal["auto", "on", "off"] = Field(
        description="auto: where an input is no larger than its keys and values; on: "
        "a model for which it is larger is an error"
    )
    most_percent: float = Field(
        default=100,
        ge=0,
        le=100,
        strict=False,
        description="of the requests of a batch, at most; a limit of the user's",
    )
    source: str


class StoragePathSpec(Strict):
    """Path of the software from the drives to the memory where attention reads keys and values."""

    name: str
    gb_s: float = _positive("all drives together")
    source: str


class Inf2SystemSpec(Strict):
    """A GPU whose host has drives with accelerators for attention."""

    kind: Literal["inf2"]
    description: str
    base: str = Field(description=_BASE)
    devices: int = Field(description="drives")
    drive: DriveSpec
    weights: Weights = Field(description=_WEIGHTS)
    server: ServerSpec
    sequences: SequenceSpec
    prices: PriceSpec
    attention: NearStorageSpec
    writeback: WriteBackSpec
    x_cache: XCacheSpec
    links: LinkTreeSpec = Field(description=_LINKS)


class StorageSystemSpec(Strict):
    """A GPU with keys and values in the memory of its host or on drives, read as a software RAID0."""

    kind: Literal["storage-offload"]
    description: str
    base: str = Field(description=_BASE)
    devices: int = Field(description="drives")
    drive: DriveSpec
    weights: Weights = Field(description=_WEIGHTS)
    server: ServerSpec
    sequences: SequenceSpec
    prices: PriceSpec
    path: StoragePathSpec
    attention: Literal["host", "gpu"] = Field(description="who attends: the host's processors, or the GPU")
    kv: Literal["batch", "drives"] = Field(
        description="batch: in the host's memory if a batch fits as a whole, else on the drives; drives: always there"
    )
    overlap: bool = Field(description="whether transfers go beside computation")
    links: LinkTreeSpec = Field(description=_LINKS)
