"""Time and energy of a block on CENT's devices beside its programs: units near memory, transfers, power.

Source: CENT (ASPLOS 2025) and the scripts of its artifact. Every constant is in the system's file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from ...constraints.core.errors import ConfigError
from ...constraints.memory import Memory
from ...constraints.systems.cent import CentEnergySpec, CentLinkSpec, CentPnmSpec
from ..llm import ROTARY, ModelShape
from ..memory.standby import StandbyTiming

__all__ = [
    "Activity",
    "MeasuredPort",
    "MeasuredUnits",
    "PnmClocks",
    "Transfers",
    "activity",
    "collected",
    "device_energy_pj",
    "measured_clocks",
    "pnm_clocks",
    "transfers",
]

#: Bytes of an element.
ELEMENT = 2

#: Reference of ``CentPnmSpec.vector_clocks`` and ``exp_clocks``: slots that the units take together.
_VECTOR, _SLOTS = 8192, 512

#: Binary giga over decimal giga, which the authors' simulator mixes.
GIB = 1e9 / 2**30


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


# Units near memory -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PnmClocks:
    """Clocks of one block's work in the units near memory, by operator. They add up: no unit works beside another.

    Attributes
    ----------
    core_clocks : clocks in which cores work, for their energy
    results : clocks in which results of the channels pass the port of the shared buffer
    """

    norms: float
    softmax: float
    rotary: float
    residuals: float
    core_clocks: float
    clock_ghz: float
    results: float = 0.0

    @property
    def total(self) -> float:
        return self.norms + self.softmax + self.rotary + self.residuals + self.results

    @property
    def seconds(self) -> float:
        return self.total / self.clock_ghz * 1e-9


class MeasuredUnits(Protocol):
    """Measured clocks of the units near memory."""

    def command(self, op: str, slots: int) -> float:
        """Clocks of EXP, RED or EWADD (CENT's ACC) on so many slots."""

    def program(self, name: str, micro_operations: int) -> float:
        """Clocks of a program of the cores."""


def _residual_slots(spec: CentPnmSpec, model: ModelShape) -> int:
    """Slots of the two sums of a block's results with its input."""
    return 2 * _ceil(model.hidden_size, spec.lanes)


def measured_clocks(
    units: MeasuredUnits, spec: CentPnmSpec, model: ModelShape, tokens: int, channels: int, *, residuals: bool
) -> PnmClocks:
    """Measured clocks of the units for a token of one block that attends to ``tokens`` tokens. The commands of the
    instruction set follow each other.

    - A norm adds the slots of the ``channels`` of a block, half of them to the other half until one is left. RED adds the
      elements of this slot.
    - A head's softmax takes EXP of all its scores, and the same sums. RED and the cores then take the slots of all heads.
    - Cores convert queries and keys to real and imaginary parts, and back.
    """
    heads = model.heads

    def fold(slots: int) -> float:
        clocks = 0.0
        while slots > 1:
            clocks += units.command("EWADD", slots // 2)
            slots -= slots // 2
        return clocks

    sums = 4 if model.family not in ROTARY else 2  # with the mean, two more sums and two more scalars
    scalars = sums * units.program("rmsnorm", 1)
    words = _ceil(tokens, spec.lanes)
    inverses = units.program("softmax", heads)
    turned = _ceil(rotated(model), spec.lanes)
    turns = sum(units.program(name, turned) for name in ("rope_split", "rope_join")) if turned else 0.0
    return PnmClocks(
        sums * (fold(channels) + units.command("RED", 1)) + scalars,
        heads * (units.command("EXP", words) + fold(words)) + units.command("RED", heads) + inverses,
        turns,
        2 * units.command("EWADD", _residual_slots(spec, model) // 2) if residuals else 0.0,
        scalars + inverses + turns,
        spec.clock_ghz,
    )


def pnm_clocks(
    spec: CentPnmSpec, energy: CentEnergySpec, model: ModelShape, tokens: int, *, residuals: bool = False
) -> PnmClocks:
    """Clocks of the units for a token of one block that attends to ``tokens`` tokens, as the authors' simulator has them.
    The system's file has the clocks and their source. ``residuals``: with the sums of residuals, which it leaves out.
    """
    hidden, heads = model.hidden_size, model.heads
    scalar = spec.reductions_per_norm * spec.reduction_clocks + spec.norm_clocks
    norms = 2 * (hidden / _VECTOR * spec.vector_clocks + scalar)
    if model.family not in ROTARY:  # the mean too: one more sum and one more scalar
        norms += 2 * scalar
    softmax = tokens * heads / _SLOTS * (spec.exp_clocks + spec.vector_clocks) + heads * (
        spec.reduction_clocks + spec.softmax_clocks
    )
    rotary = rotated(model) * spec.rotary_clocks / spec.cores
    work = rotary + 2 * spec.norm_clocks + heads * energy.softmax_core_clocks
    return PnmClocks(
        norms,
        softmax,
        rotary,
        _residual_slots(spec, model) / spec.units * spec.vector_clocks if residuals else 0.0,
        work,
        spec.clock_ghz,
    )


def rotated(model: ModelShape) -> int:
    """Elements of queries and keys that positions rotate."""
    return (model.heads + model.kv_heads) * model.head_dim if model.family in ROTARY else 0


# Transfers -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transfers:
    """Transfers of one block.

    Attributes
    ----------
    seconds : all of them, one after the other
    payload_bytes : bytes that arrive, of all receivers
    energy_elements : elements for which the authors' scripts charge energy, as if they were bits
    """

    seconds: float
    payload_bytes: float
    energy_elements: int


@dataclass(frozen=True)
class MeasuredPort:
    """Measured figures of the port with a switch.

    Attributes
    ----------
    latency_ns : of a message and its acknowledgement through ports and switch, without lines
    line_bytes_per_byte : bytes of the line for a byte of a vector, flits and gaps between them included
    line_gb_s : most that the port gives to the line
    """

    latency_ns: float
    line_bytes_per_byte: float
    line_gb_s: float


def _seconds(
    spec: CentLinkSpec, elements: float, senders: int, devices: int, simulator: bool, port: MeasuredPort | None
) -> float:
    """Seconds of a vector of ``elements`` from each of ``senders``, one behind the other."""
    lanes = spec.switch_lanes // devices if simulator else spec.lanes
    if not lanes:
        raise ConfigError(f"{devices} devices share {spec.switch_lanes} lanes of the switch: none is left for each")
    rate = lanes * spec.lane_gb_s * (0.5 if spec.multicast else 1.0)
    lines = (2 if simulator or not spec.multicast else 4) * spec.pcie_ns
    if port is not None:
        on_line = ELEMENT * elements * senders * port.line_bytes_per_byte
        return (port.latency_ns + lines + on_line / min(rate, port.line_gb_s)) * 1e-9
    payload = spec.message_bytes * spec.messages_per_flit
    flits = -int(-(ELEMENT * elements) // payload) * senders
    return (
        4 * spec.port_ns + lines + spec.switch_ns + flits * spec.flit_bytes / rate * (GIB if simulator else 1.0)
    ) * 1e-9


def exchange(
    spec: CentLinkSpec, inputs: int, outputs: int, devices: int, simulator: bool, port: MeasuredPort | None = None
) -> float:
    """Seconds in which all devices get a vector of ``inputs`` and one of them, or the host, gathers ``outputs``."""
    return _seconds(spec, inputs, 1, devices, simulator, port) + _seconds(
        spec, outputs / devices, devices, devices, simulator, port
    )


def transfers(
    spec: CentLinkSpec,
    model: ModelShape,
    tensor: int,
    devices: int,
    shared: bool,
    simulator: bool,
    port: MeasuredPort | None = None,
) -> Transfers:
    """Transfers of a block: to the next block, or, if ``shared``, between the ``tensor`` devices of a block.

    Parameters
    ----------
    devices : devices of the system
    shared : whether the block has whole devices, which share its matrices
    simulator : as the authors' simulator: lanes of the switch are shared out to devices, a round trip's latency is that
        without multicast, a gather has a latency even with one device, and bytes are binary
    port : measured figures in place of the file's latencies and flits
    """

    def seconds(elements: float, senders: int = 1) -> float:
        return _seconds(spec, elements, senders, devices, simulator, port)

    hidden, ffn = model.hidden_size, model.intermediate_size
    if not shared or (tensor == 1 and not simulator):
        return Transfers(seconds(hidden), ELEMENT * hidden, hidden)

    def broadcast(elements: int) -> float:
        return seconds(elements)

    def gather(elements: int) -> float:
        return seconds(elements / tensor, tensor - 1)

    rest = (tensor - 1) / tensor
    if spec.accounting == "gathers" or simulator:
        total = 5 * broadcast(hidden) + 5 * gather(hidden) + gather(ffn) + broadcast(ffn)
        payload = (5 * hidden + ffn) * (1 + rest)
    else:  # before each product a broadcast, and the results of the two that attention and the next block need
        total = 3 * broadcast(hidden) + broadcast(ffn) + 2 * gather(hidden)
        payload = 3 * hidden + ffn + 2 * hidden * rest
    return Transfers(total, ELEMENT * payload, 10 * hidden + 2 * ffn)


def collected(
    spec: CentLinkSpec, elements: int, piece: int, tensor: int, devices: int, port: MeasuredPort | None
) -> Transfers:
    """Transfers of a block whose devices add two vectors of ``elements``. The first device gathers a piece of each of the
    others, adds them, and broadcasts the sum. Then the next piece follows."""

    def seconds(size: int, senders: int) -> float:
        return _seconds(spec, size, senders, devices, False, port)

    whole, rest = divmod(elements, piece)
    total = sum(
        times * (seconds(size, tensor - 1) + seconds(size, 1)) for times, size in ((whole, piece), (1, rest)) if size
    )
    payload = 2 * elements * tensor  # each sum: a vector of each other device, and the broadcast
    return Transfers(2 * total, ELEMENT * payload, payload)


# Energy ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Activity:
    """Work of one block beside the memory's commands: micro-operations of the units, instructions, RISC-V calls."""

    exponentials: float
    sums: float
    reductions: float
    core_clocks: float
    calls: float
    slots: float


def activity(pnm: CentPnmSpec, model: ModelShape, tokens: int, clocks: PnmClocks) -> Activity:
    """Work of a token of one block that attends to ``tokens`` tokens. The cores work for the time that ``clocks`` says."""
    hidden, heads = model.hidden_size, model.heads
    exponentials = tokens * heads // pnm.lanes
    added = _residual_slots(pnm, model) if clocks.residuals else 0
    return Activity(
        exponentials,
        exponentials + hidden // 128 + added,
        heads + 2,
        clocks.core_clocks,
        2 + heads + rotated(model),
        2 + heads + rotated(model) / pnm.lanes,
    )


#: Commands by the component to which their energy counts; transfers to the host count apart.
_PARTS = {
    "activations": ("ACT", "ACT16"),
    "reads": ("RD", "RDCP", "AF16", "RDMAC16", "RDAF16"),
    "writes": ("WR", "WRCP", "WRA16", "WRMAC16", "WRGB"),
    "products": ("MAC", "MAC16", "EWMUL16"),
}

#: Commands that are no access for the controller.
_NO_ACCESS = ("ACT", "ACT16", "PRE", "PREA", "TMOD", "REFAB")


@lru_cache(maxsize=16)
def _charges(memory: Memory) -> list[tuple[str, str, float]]:
    """Component, command and energy in pJ of each part of a command's energy."""
    return [
        ("memory_io" if component == "io" else name, op, pj)
        for name, ops in _PARTS.items()
        for op in ops
        for component, pj in memory.commands[op].energy_pj.items()
    ]


def device_energy_pj(
    spec: CentEnergySpec,
    pnm: CentPnmSpec,
    timing: StandbyTiming,
    lines: int,
    work: Activity,
    link_elements: float,
    *,
    idle_cycles: float = 0.0,
    channels: int = 32,
    standby: int = 32,
) -> dict[str, float]:
    """Energy of a device for one pass of its program, by component.

    Parameters
    ----------
    lines : instructions of the program, without the host's own reads and writes
    idle_cycles : cycles that the device waits after its program, with closed rows
    standby : channels whose standby counts. The authors' scripts divide by the channels twice, so that one counts.
    """
    memory, counts = timing.memory, timing.commands
    ns = memory.clock_ps * 1e-3
    cycles = timing.cycles + idle_cycles
    out: dict[str, float] = {}

    for key, op, pj in _charges(memory):
        out[key] = out.get(key, 0.0) + pj * counts.get(op, 0)
    closed = channels * cycles - timing.open_cycles
    out["standby"] = ns * standby / channels * (spec.active_standby_mw * timing.open_cycles + spec.standby_mw * closed)
    accesses = sum(n for name, n in counts.items() if name not in _NO_ACCESS)
    out["controllers"] = ns * (
        spec.controller_request_mw * accesses + spec.controller_command_mw * sum(counts.values())
    )
    buffer, shared, instructions = spec.global_buffer_mw, spec.shared_buffer_mw, spec.instruction_buffer_mw
    reduction, exponential, vector = spec.unit_mw
    micro = work.exponentials + work.sums + work.reductions
    out["buffers"] = ns * (
        cycles * (buffer[0] * channels + shared[0] + instructions[0])
        + buffer[1] * counts.get("WRCP", 0)
        + buffer[2] * (counts.get("WRGB", 0) + counts.get("RDCP", 0))
        + shared[1] * (micro + work.sums + work.slots)
        + shared[2] * (micro + work.slots)
        + instructions[1] * (lines + micro + work.calls)
    )
    out["units"] = ns * (
        cycles * (spec.control_mw + pnm.units * sum(spec.leakage_mw))
        + exponential * work.exponentials
        + vector * work.sums
        + reduction * work.reductions
        + spec.core_mw * work.core_clocks
    )
    out["links"] = spec.link_pj_per_bit * link_elements
    return out


def total(parts: Mapping[str, Any]) -> Any:
    return sum(parts.values())
