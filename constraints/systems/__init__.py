"""Schemas of system configurations, and the built-in files.

Every group of numbers has a ``source``; a number without one can't be loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from ..core.document import Strict
from .links import LinkTreeSpec

__all__ = [
    "FILES",
    "NODES",
    "RATIOS",
    "AllReduce",
    "AttAccSystemSpec",
    "Band",
    "ByPlacement",
    "CommandEnergy",
    "DieBudget",
    "Features",
    "GpuCpuSystemSpec",
    "GpuEnergy",
    "GpuSpec",
    "GpuSystemSpec",
    "HostSpec",
    "InterfaceBudget",
    "LinkSpec",
    "LogicNode",
    "Network",
    "Nodes",
    "OffloadSystemSpec",
    "OffloadTier",
    "Overhead",
    "Overlaps",
    "Parallelism",
    "PamHbmSystemSpec",
    "PimEnergy",
    "PimTier",
    "Placement",
    "Process",
    "Ratios",
    "RatioTable",
    "Scheduling",
    "SoftmaxSpec",
    "Sparsity",
    "StackSpec",
    "TieredSystemSpec",
    "TileSpec",
    "UnitBandwidth",
    "UnitChoice",
    "UnitLink",
]

_HERE = Path(__file__).parent

#: NAND2 areas of logic processes.
NODES = _HERE / "nodes.yaml"

#: Calibrated ratios of importance between tiers (``bankside calibrate pam``).
RATIOS = _HERE.parent / "pam" / "ratios.yaml"

#: Localities of activations by name, fitted to traces.
LOCALITIES = _HERE.parent / "pam" / "localities.yaml"

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


class TileSpec(Strict):
    """Tiles of a matrix product. A processor works on a tile in its own cache. Tiles share the second-level cache."""

    processors: int = _count("processors of a device, a tile each at a time")
    l1_kib: float = _positive("cache of a processor")
    l2_mib: float = _positive("cache of the device")
    sizes: list[int] = Field(
        min_length=1, max_length=64, description="rows or columns that a processor's tile may have"
    )
    l1_depth: int = _count("inner elements of a tile in a processor's cache at a time")
    l2_parts: int = _count("parts of the inner dimension, of which the device's cache holds one")
    source: str

    @model_validator(mode="after")
    def _check(self) -> TileSpec:
        if any(not 1 <= size <= 1 << 20 for size in self.sizes):
            raise ValueError(f"sizes must be 1 to {1 << 20}, not {self.sizes}")
        if (2 * self.l1_depth + min(self.sizes)) * min(self.sizes) * 4 > self.l1_kib * 1024:
            raise ValueError(f"a tile of {min(self.sizes)} x {min(self.sizes)} does not fit l1_kib {self.l1_kib:g}")
        return self


class GpuSpec(Strict):
    """One GPU."""

    name: str
    count: int = _count("GPUs of a node")
    peak_tflops: float = _positive("dense FP16/BF16 tensor throughput")
    bandwidth_gb_s: float = _positive("external memory bandwidth of one GPU")
    compute_utilisation: float = Field(gt=0, le=1, strict=False, description="share of the peak that GEMMs reach")
    memory_utilisation: float = Field(gt=0, le=1, strict=False, description="share of the bandwidth that kernels reach")
    norm: Overhead
    activation: Overhead
    rule: Literal["measured", "roofline", "attacc-simulator"] = Field(
        default="roofline",
        description="times of operators: measured, as in `kernels`; roofline, peak and bandwidth; "
        "attacc-simulator, tiles, waves and one processor for each head",
    )
    kernels: str | None = Field(default=None, description="kernel records for the rule measured, by name or path")
    gemm: Literal["least-traffic", "tiled"] | None = Field(
        default=None,
        description="other matrix products than the rule's: least-traffic, each operand moved once and all "
        "processors at work; tiled, the best tiles of `tiles` and their waves",
    )
    attention: Literal["fused", "per-head"] | None = Field(
        default=None,
        description="other attention than the rule's: fused, one kernel; per-head, three kernels, and "
        "each key/value head of a request on one processor",
    )
    tiles: TileSpec | None = Field(default=None, description="for tiled products and attention per head")
    quirks: Literal["attacc-simulator"] | None = Field(
        default=None,
        description="attacc-simulator: as there, registers of attention are counted for one "
        "head, and norms and activations have the arithmetic of one processor",
    )
    source: str

    @model_validator(mode="after")
    def _check(self) -> GpuSpec:
        if self.rule == "measured":
            if self.kernels is None:
                raise ValueError("rule measured needs the key 'kernels'")
            for key, value in (("gemm", self.gemm), ("attention", self.attention)):
                if value is not None:
                    raise ValueError(f"{key} {value}: the rule measured has its own; leave it out")
        if (self.tiled or self.per_head) and self.tiles is None:
            what = "tiled products need" if self.tiled else "attention per head needs"
            raise ValueError(f"{what} the group 'tiles' (rule {self.rule})")
        return self

    @property
    def tiled(self) -> bool:
        """Whether matrix products are tiled."""
        return (self.gemm or ("tiled" if self.rule == "attacc-simulator" else "least-traffic")) == "tiled"

    @property
    def per_head(self) -> bool:
        """Whether attention has one processor for each head."""
        return (self.attention or ("per-head" if self.rule == "attacc-simulator" else "fused")) == "per-head"


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


class Network(Strict):
    """Links between nodes: every GPU has a link of its own, to the GPU of the same number in each other node."""

    gb_s_per_gpu: float = Field(ge=0, strict=False, description="bandwidth of a GPU's link, one direction")
    latency_us: float = Field(ge=0, le=1e6, strict=False, description="of a message")
    pj_per_byte: float = Field(ge=0, le=1e6, strict=False, description="energy of a message")
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


class HostSpec(Strict):
    """Processors of a node, which can hold keys and values and attend to them."""

    sockets: int = _count("processors of the node")
    gib_per_socket: float = _positive("memory of a processor")
    peak_tflops: float = _positive("FP16 throughput of a processor")
    bandwidth_gb_s: float = _positive("memory bandwidth of a processor")
    compute_utilisation: float = Field(gt=0, le=1, strict=False, description="share of the peak that products reach")
    memory_utilisation: float = Field(
        gt=0, le=1, strict=False, description="share of the bandwidth that products reach"
    )
    both_ways_gb_s: float = _positive("bandwidth between a processor and its GPUs, both directions together")
    tiles: TileSpec
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
    nodes: int = Field(default=1, ge=1, le=1 << 12, description="nodes of so many GPUs, with all their memories")
    network: Network | None = Field(default=None, description="between nodes")
    host: HostSpec | None = Field(default=None, description="processors of a node, for systems that attend there")


class Band(Strict):
    """A value known only to lie between two."""

    low: float = _positive("low end")
    high: float = _positive("high end")


class LogicNode(Strict):
    """Area of the two-input NAND gate of a logic process, and its switching energy and delay relative to 45 nm."""

    nand2_um2: Band
    energy_factor: float = _positive("energy of the same switching over that at 45 nm")
    delay_factor: float | None = Field(
        gt=0, strict=False, description="delay of the same gate over that at 45 nm; null if no source has it"
    )
    delay_source: str = Field(description="source of the delay factor, or why there is none")
    delay_stand_in: str | None = Field(default=None, description="an older node whose delay factor stands in")
    source: str

    @model_validator(mode="after")
    def _one_delay(self) -> LogicNode:
        if (self.delay_factor is None) == (self.delay_stand_in is None):
            raise ValueError("a node has either a delay_factor or a delay_stand_in")
        return self


class Process(Strict):
    """The process of a unit."""

    logic_node: str = Field(description="logic process of the same generation, a key of nodes")
    dram: bool = Field(description="whether the unit is on a DRAM die, with the transistors of a DRAM process")
    source: str


class Nodes(Strict):
    """Logic processes: areas of NAND2, delays, the share of placed area that cells fill. Processes of units."""

    nodes: dict[str, LogicNode]
    placement_utilisation: Band
    placement_source: str
    reference_fo4_ps: float = _positive("delay of an inverter with a fan-out of four at 45 nm")
    reference_fo4_source: str
    dram_delay_penalty: float = Field(
        ge=1,
        le=100,
        strict=False,
        description="delay in a DRAM process over that in the logic process of its generation",
    )
    dram_delay_source: str
    wire_margin: Band = Field(description="share that wires add to the delay of a path")
    wire_margin_source: str
    processes: dict[str, Process]
    units: dict[str, dict[str, str]] = Field(description="process of a unit by preset")

    @model_validator(mode="after")
    def _known(self) -> Nodes:
        for name, node in self.nodes.items():
            other = node.delay_stand_in
            if other is not None and (other not in self.nodes or self.nodes[other].delay_factor is None):
                raise ValueError(f"delay_stand_in of node '{name}' must be a node with a delay_factor, not '{other}'")
        for name, process in self.processes.items():
            if process.logic_node not in self.nodes:
                raise ValueError(f"logic_node of process '{name}' must be a key of nodes, not '{process.logic_node}'")
        for unit, presets in self.units.items():
            for preset, chosen in presets.items():
                if chosen not in self.processes:
                    raise ValueError(f"process of {unit} {preset} must be a key of processes, not '{chosen}'")
        return self


class DieBudget(Strict):
    """Room for units on a DRAM die."""

    die_mm2: float = _positive("area of one DRAM die")
    units_per_die: int = _count("processing units on one die")
    budget_percent: float = Field(gt=0, le=100, strict=False, description="published share of the die, all parts")
    reference_unit_mm2: float = _positive("published area of one unit")
    other_mm2: float = Field(ge=0, le=1e6, strict=False, description="published area of the other parts")
    other: str = Field(description="name of the other parts")
    logic_node: str = Field(description="logic process of the same generation, a key of nodes.yaml")
    density_penalty: float = Field(ge=1, le=1000, strict=False, description="DRAM-process area over logic-process area")
    reduction_units: int = Field(
        default=0, ge=0, le=1 << 20, description="reduction units on one die, of measured area"
    )
    reference_reduction_mm2: float | None = Field(
        default=None, gt=0, strict=False, description="published area of one reduction unit"
    )
    source: str


class InterfaceBudget(Strict):
    """Room for the interface to other tiers on a logic die of a device. Its area is measured."""

    presets: list[str] = Field(
        min_length=1,
        max_length=4,
        description="presets of pam-interface for the pairs of tiers that this device sends to; one unit each",
    )
    die_mm2: float = _positive("area of the die")
    published_mm2: float = _positive("published area of the interface")
    published_percent: float = Field(gt=0, le=100, strict=False, description="published share of the die")
    logic_node: str = Field(description="logic process of the die, a key of nodes.yaml")
    source: str


class PimEnergy(Strict):
    """Energy beside the banks. The energy of reading them is in the memory file."""

    boundary: Literal["cells", "access"] = Field(
        default="cells",
        description="part of a read that a near-bank read is charged for, in every memory: cells, which "
        "it needs; access, a whole read to the pins",
    )
    unit_power_ratio: float = _positive("power of a unit at work over that of a standard read of its bank")
    source: str


class UnitChoice(Strict):
    """The unit beside each bank."""

    unit: Literal["pam-pu"]
    preset: str
    settings: dict[str, Any] = Field(default_factory=dict, description="parameters that differ from the preset's")
    source: str


class Overlaps(Strict):
    """Operators of a decode step that run at the same time, on GPUs and on units beside memory."""

    pipelining: Literal["none", "transfers", "heads", "sub-batches"] = Field(
        default="none",
        description="transfers: a head's transfers go while the units attend for another; heads: so do "
        "its projections; sub-batches: halves of the requests take turns",
    )
    least_batch: int = Field(
        default=2,
        ge=2,
        le=1 << 24,
        exclude_if=lambda value: value == 2,
        description="sub-batches: fewest requests that are split into halves",
    )
    feed_forward: bool = Field(default=False, description="the units take a share of the FFN, by their bandwidth")
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
    reduction_preset: str | None = Field(
        default=None,
        description="preset of pam-ru whose area counts on the die, once it is measured; attention has none",
    )
    energy: PimEnergy
    overlaps: Overlaps | None = Field(default=None, description="what runs at the same time; without, nothing")


# Systems with KV in several tiers ----------------------------------------------------------------------------------


class PimTier(Strict):
    """One tier of memory with units, as shared out to each GPU."""

    name: str
    layout: Literal["hbm", "ddr", "ssd"] = Field(description="map of tokens: a key of constraints.pam_layout.TIERS")
    memory: str = Field(description="built-in memory of the timing engine, or a file relative to this one")
    devices_per_gpu: int = _count("stacks, DIMMs or SSDs of a GPU's share")
    channels_per_device: int = _count("channels of a device")
    lockstep: int = Field(
        default=1, ge=1, le=1024, description="bank groups that share rows and tokens when they attend, as one group"
    )
    reserved_gib: float = Field(
        default=0, ge=0, le=1e6, strict=False, description="of a share, kept for something else"
    )
    unit: UnitChoice
    reduction_preset: str | None = Field(default=None, description="preset of pam-ru, where partial results are merged")
    reduction_settings: dict[str, Any] = Field(
        default_factory=dict,
        exclude_if=lambda value: not value,
        description="parameters of pam-ru that differ from the preset's",
    )
    page_order: Literal["head", "token"] = Field(
        default="token", description="contents of a flash page: head: tokens of one head; token: all heads of the share"
    )
    units_per_device: int | None = Field(
        default=None, ge=1, description="units of a device, if banks do not have one each"
    )
    device_reduction_units: int = _count("reduction units where the results of a device come together")
    paper_gflops: float | None = Field(
        default=None, gt=0, strict=False, description="GFLOPS of a device that the paper states, for rate: paper"
    )
    page_pj: float | None = Field(
        default=None,
        ge=0,
        le=1e12,
        strict=False,
        description="energy of reading a flash page, where the memory file states none",
    )
    area: DieBudget
    interface: InterfaceBudget | None = Field(default=None, description="interface to other tiers, where tokens move")
    source: str


class Features(Strict):
    """Features of PAM that a system has; ablations switch single features off."""

    pam_attention: bool = Field(
        description="partial softmax in every tier, reduction in the arrays; else scores go to the "
        "GPU and probabilities come back"
    )
    kv_mapping: bool = Field(description="tokens go to groups by activation frequency; else as placement.unmapped says")
    kv_scheduling: bool = Field(description="tokens move between tiers by importance")
    source: str


class Placement(Strict):
    """Mapping of tokens to groups."""

    window: int = _count("decode steps over which activations are counted")
    run_tokens: int = _count("consecutive tokens of a request that are placed together, reserved as decoding adds them")
    unmapped: Literal["blocks", "turn"] = Field(
        default="blocks",
        description="groups without kv_mapping: blocks, consecutive tokens in one group after the other; "
        "turn, runs of tokens to groups in turn",
    )
    reserve_percent: float = Field(
        ge=0, lt=100, strict=False, description="of the first tier, left by prompts to tokens that decoding adds"
    )
    source: str


class Scheduling(Strict):
    """Moves between tiers."""

    decay: float = Field(gt=0, le=1, strict=False, description="weight of the newest score in the importance (lambda)")
    budget_percent: float = Field(
        gt=0, le=100, strict=False, description="tokens that change places in a step, at most"
    )
    x: float | None = Field(
        default=None, gt=0, strict=False, description="importance of HBM over SSD; the calibrated value if not given"
    )
    y: float | None = Field(default=None, gt=0, strict=False, description="importance of DDR over SSD")
    source: str


class Sparsity(Strict):
    """Which tokens a step activates."""

    mode: Literal["synthetic", "dense", "replay", "method"]
    compression: float = Field(default=8, ge=1, le=1e6, strict=False)
    spread: float = Field(default=1.5, ge=0, le=8, strict=False)
    keep: float = Field(default=0.8, ge=0, le=0.9999, strict=False)
    sink: int = Field(default=4, ge=0, le=1 << 20)
    recent: int = Field(default=16, ge=0, le=1 << 20)
    locality: str | None = Field(
        default=None, description="name in pam/localities.yaml, whose spread and keep are taken"
    )
    trace: str | None = Field(default=None, description="file of attention traces for mode replay")
    stretch: bool = Field(default=False, description="whether positions of a trace are scaled to other contexts")
    method: str | None = Field(
        default=None, exclude_if=lambda value: value is None, description="method of sparse attention for mode method"
    )
    budget: int = Field(
        default=256,
        ge=1,
        le=1 << 30,
        exclude_if=lambda value: value == 256,
        description="tokens that each head of that method may take",
    )
    capture: str | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="folder of `bankside capture` with the keys for mode method",
    )
    source: str


class TieredSystemSpec(Strict):
    """GPUs with near-memory attention in HBM, DDR and SSD."""

    kind: Literal["tiered-pim"]
    description: str
    base: str = Field(description="the GPU system: a built-in name, or a file relative to this one")
    power_limit: bool = Field(default=True, description="whether the memories' power limits hold")
    rate: Literal["timing", "paper"] = Field(
        default="timing",
        description="rate of attention in every tier: timing, the timing engine and the units; paper, "
        "the devices' paper_gflops",
    )
    tiers: list[PimTier] = Field(min_length=3, max_length=3)
    features: Features
    placement: Placement
    scheduling: Scheduling
    sparsity: Sparsity
    links: LinkTreeSpec = Field(
        description="of a GPU's share: `gpu`, and one with the name of each tier that is not the GPU's own memory"
    )
    energy: PimEnergy
    overlaps: Overlaps | None = Field(default=None, description="what runs at the same time; without, nothing")

    @model_validator(mode="after")
    def _check(self) -> TieredSystemSpec:
        lacking = [tier.name for tier in self.tiers if tier.paper_gflops is None]
        if self.rate == "paper" and lacking:
            raise ValueError(f"rate: paper needs paper_gflops in every tier; {', '.join(lacking)} has none")
        return self


class OffloadTier(Strict):
    """Plain memory in a GPU's share, for KV that does not fit into the GPU's own memory."""

    name: str
    gib_per_gpu: float = _positive("capacity")
    reserved_gib: float = Field(default=0, ge=0, le=1e6, strict=False, description="kept for something else")
    pj_per_byte: float = Field(ge=0, le=1e6, strict=False, description="energy of reading")
    source: str


class OffloadSystemSpec(Strict):
    """GPUs that fetch KV from host memory and SSDs."""

    kind: Literal["gpu-offload"]
    description: str
    base: str
    tiers: list[OffloadTier] = Field(min_length=1, max_length=4)
    keeps: Literal["part", "batch", "nothing"] = Field(
        default="part",
        description="KV in the GPU's own memory: part, as much as fits; batch, all of a batch that fits as "
        "a whole, else none; nothing",
    )
    overlap: bool = Field(description="whether KV of the layers to come is fetched while one is computed")
    links: LinkTreeSpec = Field(description="of a GPU's share: `gpu`, and one with the name of each tier")


class UnitLink(Strict):
    """Link between a GPU and its stacks with units, where the stacks are not the GPU's own memory."""

    name: str
    both_ways_gb_s: float = _positive("bandwidth, both directions together")
    pj_per_byte: float = Field(ge=0, le=1e6, strict=False, description="energy of a transfer")
    source: str


class SoftmaxSpec(Strict):
    """Softmax units of a stack."""

    gb_s_per_stack: float = _positive("bytes of scores and probabilities")
    gflops_per_stack: float = _positive("operations on 16-bit elements; twice as many on bytes")
    source: str


class ByPlacement(Strict):
    """A number for each place where units can be."""

    bank: float = _positive("beside every bank")
    bank_group: float = _positive("at every bank group", alias="bank-group")
    buffer: float = _positive("on the logic die")

    def at(self, placement: str) -> float:
        """The number of a placement."""
        return float(getattr(self, placement.replace("-", "_")))


class UnitBandwidth(Strict):
    """Bandwidth at which units read their stack, over the external bandwidth."""

    stack_gb_s: float = _positive("external bandwidth of a stack")
    limited: ByPlacement = Field(description="under the power limit")
    unlimited: ByPlacement = Field(description="without")
    source: str


class CommandEnergy(Strict):
    """Energy of the commands of AttAcc by what they move."""

    cell_pj_per_byte: ByPlacement = Field(description="from a cell to a unit")
    interposer_pj_per_byte: float = _positive("of a write into a buffer")
    tsv_pj_per_byte: float = _positive("of a move between buffers, and the next two")
    gio_mux_pj_per_byte: float = _positive("global multiplexer")
    bg_mux_pj_per_byte: float = _positive("multiplexer of a bank group")
    softmax_pj_per_byte: float = _positive("buffer of the softmax unit")
    mac_pj: float = _positive("one multiply-accumulate, or two other operations")
    source: str


class AttAccSystemSpec(Strict):
    """GPUs with AttAcc's units. Attention runs there, and no KV is outside. The units are in the GPUs' HBM, or in
    ``stacks`` of their own."""

    kind: Literal["attacc"]
    description: str
    base: str
    memory: str
    power_limit: bool = True
    placement: Literal["bank", "bank-group", "buffer"]
    queries: int = Field(
        default=1,
        ge=1,
        le=64,
        exclude_if=lambda value: value == 1,
        description="most queries of a group that share a read of K or V; AttAcc's units take one",
    )
    query_cycles: int | None = Field(
        default=None,
        ge=1,
        le=1 << 12,
        exclude_if=lambda value: value is None,
        description="memory cycles for which a unit works with a read and one query. Without: a unit of several queries "
        "takes the least interval of the memory's reads without power limit; of one, no time that counts",
    )
    quirks: Literal["attacc-simulator"] | None = Field(
        default=None,
        description="attacc-simulator: cycles of that simulator, and energy of arithmetic for scores alone",
    )
    energy: PimEnergy | None = Field(default=None, description="over the energy of reads, which the memory states")
    command_energy: CommandEnergy | None = Field(default=None, description="instead: by what commands move")
    stacks: StackSpec | None = Field(default=None, description="beside the GPU's memory; without, that memory's own")
    transfers: UnitLink | None = Field(default=None, description="link to them; without, nothing is transferred")
    softmax: SoftmaxSpec | None = Field(default=None, description="time and energy of softmax; without, none")
    bandwidth: UnitBandwidth | None = Field(default=None, description="for work that is shared with the GPUs")
    overlaps: Overlaps | None = Field(default=None, description="what runs at the same time; without, nothing")
    source: str

    @model_validator(mode="after")
    def _check(self) -> AttAccSystemSpec:
        if (self.energy is None) == (self.command_energy is None):
            raise ValueError("needs one of the groups 'energy' and 'command_energy'")
        if self.overlaps is not None and self.overlaps.feed_forward and self.bandwidth is None:
            raise ValueError("overlaps.feed_forward needs the group 'bandwidth'")
        return self


class GpuCpuSystemSpec(Strict):
    """GPUs with keys, values and attention on the processors of their host."""

    kind: Literal["gpu-cpu"]
    description: str
    base: str = Field(
        description="the GPU system, with a group 'host': a built-in name, or a file relative to this one"
    )
    quirks: Literal["attacc-simulator"] | None = Field(
        default=None,
        description="attacc-simulator: each GPU has a processor of the host to itself, however few there are",
    )
    source: str


class Ratios(Strict):
    """Target of the scheduler for one model: ``IS_H : IS_D : IS_S = x : y : 1``."""

    x: float = _positive("HBM over SSD")
    y: float = _positive("DDR over SSD")
    conditions: str


class FittedLocality(Strict):
    """Locality of the synthetic source of activations, fitted to a trace."""

    spread: float = Field(ge=0, le=8, strict=False)
    keep: float = Field(ge=0, le=0.9999, strict=False)
    source: str


class LocalityTable(Strict):
    """Fitted localities by name."""

    source: str
    localities: dict[str, FittedLocality]


class RatioTable(Strict):
    """Calibrated ratios by model; ``default`` for any other."""

    source: str
    models: dict[str, Ratios]
