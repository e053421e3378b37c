"""Schemas of systems of AiM modules: LoL-PIM, the AiMX cards that it is built on, and GPUs beside them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ..core.document import Strict
from . import Overlaps

__all__ = [
    "AllocationSpec",
    "LolPimFeatures",
    "LolPimHybridSpec",
    "LolPimSystemSpec",
    "ModuleParallelism",
    "ModuleSpec",
    "ModuleUnit",
    "NodeSpec",
]


def _positive(description: str, **more: Any) -> Any:
    return Field(gt=0, le=1e12, strict=False, description=description, **more)


def _count(description: str, **more: Any) -> Any:
    return Field(ge=1, le=1 << 20, description=description, **more)


class ModuleSpec(Strict):
    """AiM chips behind one hub."""

    memory: str = Field(description="built-in memory with AiM commands, or a file relative to this one")
    channels: int = Field(ge=1, le=32, description="channels of a module, 16 banks each")
    interface_gb_s: float = _positive("link of a module to its node, one direction")
    source: str


class ModuleUnit(Strict):
    """A unit of a module, whose times come from its measurement records."""

    preset: str = Field(description="preset of the unit")
    source: str


class NodeSpec(Strict):
    """Modules of a node, and nodes."""

    nodes: int = _count("nodes of the system")
    modules: int = _count("modules of a node")
    link_gb_s: float = _positive("link between nodes, one direction")
    source: str


class LolPimFeatures(Strict):
    """Features of LoL-PIM that a system has."""

    token_parallel: bool = Field(
        description="a head's keys by token and values by dimension over all channels of its "
        "module; else each head in one channel"
    )
    lazy_allocation: bool = Field(
        description="room for keys and values is allotted as they come; else for the longest "
        "context when a request begins"
    )
    ping_pong: bool = Field(description="two sets of input and output buffers, so that transfers overlap with products")
    lm_head: bool = Field(
        default=False,
        description="whether the modules of the last stage hold the output matrix and "
        "multiply with it; else the host does, which is not timed",
    )
    source: str


class AllocationSpec(Strict):
    """Room for keys and values."""

    chunk_tokens: int = Field(
        ge=16,
        le=1 << 20,
        description="tokens of a request that lazy allocation adds at a time; the values of so many tokens share rows",
    )
    reserve_tokens: int | None = Field(
        default=None,
        ge=1,
        description="tokens that static allocation reserves for a request; the model's longest context if not given",
    )
    source: str


class ModuleParallelism(Strict):
    """How the model is split over modules."""

    tensor: int = _count("modules that share every layer; beyond the attention heads, several share a head")
    pipeline: int = _count("groups of layers in series")
    micro_batch: int | None = Field(
        default=None, ge=1, description="requests that pass a stage together; the fastest if not given"
    )
    source: str


class LolPimSystemSpec(Strict):
    """Modules alone: everything but embedding and output matrix runs on them."""

    kind: Literal["lol-pim"]
    description: str
    module: ModuleSpec
    hub: ModuleUnit = Field(description="pim-hub: softmax, norms, element-wise work")
    dispatcher: ModuleUnit = Field(
        description="dpa-dispatcher: issues commands if allocation is lazy; else the host does"
    )
    node: NodeSpec
    features: LolPimFeatures
    allocation: AllocationSpec
    parallelism: ModuleParallelism


class LolPimHybridSpec(Strict):
    """GPUs for linear layers, modules for attention; the modules are shared out evenly to the GPUs."""

    kind: Literal["lol-pim-hybrid"]
    description: str
    base: str = Field(description="the GPU system: a built-in name, or a file relative to this one")
    module: ModuleSpec
    hub: ModuleUnit = Field(description="pim-hub: softmax, norms, element-wise work")
    dispatcher: ModuleUnit = Field(
        description="dpa-dispatcher: issues commands if allocation is lazy; else the host does"
    )
    node: NodeSpec
    features: LolPimFeatures
    allocation: AllocationSpec
    overlaps: Overlaps | None = Field(default=None, description="what runs at the same time; without, nothing")
