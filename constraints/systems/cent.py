"""Schema of CENT: CXL devices with channels of AiM memory and units near it, and no GPU."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ..core.document import Strict

__all__ = [
    "CentDeviceSpec",
    "CentEnergySpec",
    "CentHostSpec",
    "CentLinkSpec",
    "CentPnmSpec",
    "CentSplitSpec",
    "CentSystemSpec",
    "CentUnitsSpec",
]


def _positive(description: str, **more: Any) -> Any:
    return Field(gt=0, le=1e12, strict=False, description=description, **more)


def _count(description: str, **more: Any) -> Any:
    return Field(ge=1, le=1 << 16, description=description, **more)


def _three(description: str) -> Any:
    return Field(min_length=3, max_length=3, description=description)


class CentDeviceSpec(Strict):
    """Devices."""

    count: int = Field(ge=1, le=4096, description="CXL devices; one fabric has 4096 nodes at most")
    memory: str = Field(description="built-in memory with AiM commands, or a file relative to this one")
    chip_gbit: Literal[8, 16] = Field(description="capacity of a memory chip; 16 doubles the rows of a bank")
    refresh: bool = Field(description="whether the timing includes refresh")
    source: str


class CentSplitSpec(Strict):
    """How a model is split over devices."""

    tensor: int = _count("devices that share the matrices of a block")
    pipeline: int | None = Field(default=None, ge=1, description="stages; one for each block if not given")
    source: str


class CentLinkSpec(Strict):
    """Links between the devices: CXL ports, their lanes, a switch."""

    lanes: int = _count("lanes of a device")
    switch_lanes: int = _count("lanes of the switch, which the simulator shares out to the devices")
    lane_gb_s: float = _positive("bandwidth of a lane, one direction")
    port_ns: float = _positive("latency of a port; a round trip has four")
    pcie_ns: float = _positive("latency of a physical layer, one way; a round trip has two")
    switch_ns: float = _positive("latency of the switch")
    multicast: bool = Field(
        description="whether the switch sends to several devices, at half of the bandwidth and twice "
        "the latency of the physical layer"
    )
    message_bytes: int = _count("payload of a message")
    messages_per_flit: int = _count("messages of a flit")
    flit_bytes: int = _count("flit")
    accounting: Literal["gathers", "paper"] = Field(
        description="transfers of a shared block: gathers, six broadcasts and six gathers; paper, four and two, 135 KB in "
        "Llama-2-70B"
    )
    source: str


class CentPnmSpec(Strict):
    """Units near the memory, and their clocks in the authors' simulator."""

    clock_ghz: float = _positive("clock")
    lanes: int = _count("elements of a slot of the shared buffer")
    cores: int = _count("RISC-V cores")
    units: int = _count("accumulators, reduction trees and exponent units, of each so many")
    vector_clocks: float = _positive("clocks of a sum of two vectors of units x lanes x 16 elements")
    exp_clocks: float = _positive("clocks of so many exponentials")
    reduction_clocks: float = _positive("clocks of a reduction tree")
    reductions_per_norm: float = _positive("reductions of a norm")
    norm_clocks: float = _positive("clocks of a core for the scalar of a norm")
    softmax_clocks: float = _positive("clocks of a core for the scalar of a head's softmax")
    rotary_clocks: float = _positive("clocks of a core for an element of a rotation")
    source: str


class CentUnitsSpec(Strict):
    """Presets of the generated units of a device, whose measurements replace the authors' clocks and areas."""

    pnm: str = Field(description="preset of cent-pnm: accumulators, reduction trees, exponent units, shared buffer")
    riscv: str = Field(description="preset of cent-riscv: cores")
    decoder: str = Field(description="preset of cent-decoder: instruction buffer and decoder")
    port: str = Field(description="preset of cent-cxl-port")
    source: str


class CentHostSpec(Strict):
    """Host."""

    host_ms: float = Field(ge=0, le=1e6, strict=False, description="host's time for a token: sampling")
    power_w: float = Field(
        ge=0, le=1e6, strict=False, description="power of host and switch, for the cost of operation"
    )
    source: str


class CentEnergySpec(Strict):
    """Energy of a device. The memory's file states the energy of its commands."""

    active_standby_mw: float = _positive("standby of a channel with an open row")
    standby_mw: float = _positive("standby of a channel without")
    link_pj_per_bit: float = _positive("transfer between devices")
    controller_request_mw: float = _positive("memory controller, for each access and half a clock")
    controller_command_mw: float = _positive("memory controller, for each command and half a clock")
    global_buffer_mw: list[float] = _three("global buffer of a channel: static, read, write")
    shared_buffer_mw: list[float] = _three("shared buffer: static, read, write")
    instruction_buffer_mw: list[float] = _three("instruction buffer: static, read, write")
    control_mw: float = _positive("other logic of a device, at half activity")
    leakage_mw: list[float] = _three("leakage of a reduction tree, exponent unit, accumulator")
    unit_mw: list[float] = _three("power at work of the same three")
    core_mw: float = _positive("RISC-V core at work")
    softmax_core_clocks: float = _positive("clocks of cores at work for a head's softmax: 16 + 2 + 1")
    source: str


class CentSystemSpec(Strict):
    """CXL devices that execute whole models."""

    kind: Literal["cent"]
    description: str
    device: CentDeviceSpec
    parallelism: CentSplitSpec
    link: CentLinkSpec
    pnm: CentPnmSpec
    units: CentUnitsSpec
    host: CentHostSpec
    energy: CentEnergySpec
    order: Literal["executed", "authors"] = Field(
        default="executed",
        description="program of a block: executed, the one that cent-device executes; authors, the order of the authors' "
        "generator, which no RTL executes",
    )
    quirks: Literal["cent-simulator"] | None = Field(
        default=None, description="cent-simulator: as the authors' simulator, with its slips; capacity is not checked"
    )
