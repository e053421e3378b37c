"""Schemas of system configurations, and the built-in files.

Every group of numbers has a ``source``; a number without one can't be loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ..document import Strict

__all__ = ["FILES", "NODES", "AllReduce", "Band", "DieBudget", "GpuEnergy", "GpuSpec", "GpuSystemSpec", "LinkSpec",
           "LogicNode", "Nodes", "Overhead", "Parallelism", "PamHbmSystemSpec", "PimEnergy", "StackSpec", "UnitChoice"]

_HERE = Path(__file__).parent

#: NAND2 areas of logic processes.
NODES = _HERE / "nodes.yaml"

#: File of each built-in system by its name.
FILES: dict[str, Path] = {path.stem: path for path in sorted(_HERE.glob("*.yaml")) if path != NODES}


def _positive(description: str, **more: Any) -> Any:
    return Field(gt=0, le=1e12, strict=False, description=description, **more)


def _count(description: str, **more: Any) -> Any:
    return Field(ge=1, le=1 << 20, description=description, **more)


class Overhead(Strict):
    """Time of a vector kernel: ``fixed_us + us_per_byte * reference_bandwidth / bandwidth * bytes``."""

    fixed_us: float = Field(ge=0, le=1e6, strict=False, description="time without data")
    us_per_byte: float = Field(ge=0, le=1, strict=False, description="time per byte at the reference bandwidth")
    reference_bandwidth_gb_s: float = _positive("memory bandwidth at which us_per_byte was fitted")


class GpuSpec(Strict):
    """One GPU as a roofline."""

    name: str
    count: int = _count("GPUs of the system")
    peak_tflops: float = _positive("dense FP16/BF16 tensor throughput")
    bandwidth_gb_s: float = _positive("external memory bandwidth of one GPU")
    compute_utilisation: float = Field(gt=0, le=1, strict=False, description="share of the peak that GEMMs reach")
    memory_utilisation: float = Field(gt=0, le=1, strict=False, description="share of the bandwidth that kernels reach")
    norm: Overhead
    activation: Overhead
    source: str


class StackSpec(Strict):
    """Memory of one GPU."""

    stacks_per_gpu: int = _count("HBM stacks at one GPU")
    stack_gib: float = _positive("capacity of one stack")
    reserved_gib_per_gpu: float = Field(ge=0, le=1e6, strict=False, description="kept for anything but weights and KV")
    source: str


class Parallelism(Strict):
    """How the model is split."""

    tensor: int = _count("GPUs that share every layer")
    pipeline: int = _count("groups of layers in series")
    source: str


class AllReduce(Strict):
    """Transfer of ``s`` bytes: ``max(fixed_ns + ns_per_byte * reference / link * s, s / (link / 2))``.

    An all-reduce over ``n`` GPUs takes ``n - 1`` transfers of ``1 / n`` of the bytes.
    """

    fixed_ns: float = Field(ge=0, le=1e9, strict=False, description="time of one transfer without data")
    ns_per_byte: float = Field(ge=0, le=1e3, strict=False, description="time per byte at the reference link")
    reference_gb_s: float = _positive("link bandwidth, both directions, at which ns_per_byte was fitted")


class LinkSpec(Strict):
    """Links between GPUs."""

    name: str
    both_ways_gb_s: float = _positive("bandwidth of one GPU, both directions together")
    transfer: AllReduce
    source: str


class GpuEnergy(Strict):
    """Energy of a GPU. Static power is not part of it."""

    dram_pj_per_byte: float = _positive("external memory, cell to GPU")
    l2_pj_per_byte: float = _positive("second-level cache")
    l1_pj_per_byte: float = _positive("first-level cache")
    register_pj_per_byte: float = _positive("register file, as the source counts it: per element, three per MAC")
    mac_pj: float = _positive("one multiply-accumulate")
    link_pj_per_byte: float = _positive("link between GPUs")
    source: str


class GpuSystemSpec(Strict):
    """A system of GPUs alone."""

    kind: Literal["gpu"]
    description: str
    gpu: GpuSpec
    memory: StackSpec
    parallelism: Parallelism
    link: LinkSpec
    energy: GpuEnergy


class Band(Strict):
    """A value known only to lie between two."""

    low: float = _positive("low end")
    high: float = _positive("high end")


class LogicNode(Strict):
    """Area of the two-input NAND gate of a logic process."""

    nand2_um2: Band
    source: str


class Nodes(Strict):
    """NAND2 areas by logic node, and the share of placed area that cells fill."""

    nodes: dict[str, LogicNode]
    placement_utilisation: Band
    placement_source: str


class DieBudget(Strict):
    """Room for units on a DRAM die."""

    die_mm2: float = _positive("area of one DRAM die")
    units_per_die: int = _count("processing units on one die")
    budget_percent: float = Field(gt=0, le=100, strict=False, description="published share of the die, all parts")
    reference_unit_mm2: float = _positive("published area of one unit")
    other_mm2: float = Field(ge=0, le=1e6, strict=False, description="published area of what is not the unit")
    other: str = Field(description="what that is")
    logic_node: str = Field(description="logic process of the same generation, a key of nodes.yaml")
    density_penalty: float = Field(ge=1, le=1000, strict=False, description="DRAM-process area over logic-process area")
    source: str


class PimEnergy(Strict):
    """Energy beside the banks; that of reading them is the memory file's."""

    unit_power_ratio: float = _positive("power of a unit at work over that of a standard read of its bank")
    source: str


class UnitChoice(Strict):
    """The unit beside each bank."""

    unit: Literal["pam-pu"]
    preset: str
    settings: dict[str, Any] = Field(default_factory=dict, description="parameters that differ from the preset's")
    source: str


class PamHbmSystemSpec(Strict):
    """GPUs whose HBM has a processing unit at every bank; attention runs there."""

    kind: Literal["pam-hbm"]
    description: str
    base: str = Field(description="the GPU system: a built-in name, or a file relative to this one")
    memory: str = Field(description="built-in memory of the timing engine, or a file relative to this one")
    power_limit: bool = Field(default=True, description="whether the memory's power limit holds")
    unit: UnitChoice
    area: DieBudget
    energy: PimEnergy
