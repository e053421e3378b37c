"""Table 2 and section 7.5: areas, from measured gate equivalents and the table of logic processes."""

from __future__ import annotations

import math

from ....constraints.pam.interface import PRESETS as INTERFACE_PRESETS
from ....constraints.pam.ru import PRESETS as RU_PRESETS
from ....constraints.pam.ru import PamRuConfig
from ....constraints.systems import DieBudget
from ...cost import load_nodes
from ..category import Source
from ..evidence import Evidence, Finding, NotCheckable
from .common import CHECKS, MEMORY, PU, config_of, system_of
from .platform import tier as tier_of

#: Largest difference of an area that counts as ``within``. The range of gate areas of a process is wider.
AREA = 0.25


def budget(evidence: Evidence) -> DieBudget:
    return system_of(evidence, "pam-hbm-only").pim.area


def die_mm2(evidence: Evidence, tier: str) -> float:
    """Area of a tier's DRAM die or chip, as the system file has it."""
    room = budget(evidence) if tier == "hbm" else tier_of(evidence, tier).area
    assert room is not None
    return float(room.die_mm2)


def penalty(evidence: Evidence, place: str) -> float:
    return 1.0 if place == "ssd" else budget(evidence).density_penalty


def logic_node(place: str) -> str:
    """Logic process that stands for a tier's process; an older node of DRAM is taken as DDR's."""
    nodes, preset = load_nodes(), PU["ddr" if place == "older" else place]
    return nodes.processes[nodes.units["pam-pu"][preset]].logic_node


def um2_per_ge(place: str) -> tuple[float, float]:
    """Geometric mean of the range of um2 of a placed gate equivalent, and its upper end over this mean, less one."""
    nodes = load_nodes()
    node, fill = nodes.nodes[logic_node(place)].nand2_um2, nodes.placement_utilisation
    low, high = node.low / fill.high, node.high / fill.low
    middle = math.sqrt(low * high)
    return middle, high / middle - 1


def gate_equivalents(evidence: Evidence, unit: str, tier: str) -> float:
    """Measured size of the processing (pu) or reduction unit (ru) of a tier."""
    if unit == "pu":
        record = evidence.record("pam-pu", PU[tier], config_of(tier), "synth")
    else:
        record = evidence.record("pam-ru", PU[tier], reducer(tier), "synth")
    return float(record.results["area_ge"])


def reducer(tier: str) -> PamRuConfig:
    """Configuration of a tier's reduction unit."""
    return RU_PRESETS[PU[tier]]


def mm2(evidence: Evidence, kge: float, place: str) -> float:
    return kge * um2_per_ge(place)[0] * penalty(evidence, place) * 1e-6


def basis(place: str, penalised: bool = True) -> str:
    return (
        f"measured gate equivalents x the geometric mean of the range of {logic_node(place)} gate areas as placed"
        + (" x the density penalty of DRAM" if penalised else "")
    )


def band(place: str) -> str:
    """How far the range of gate area and placement utilisation reaches."""
    factor = 1 + um2_per_ge(place)[1]
    return (
        f"The range of gate area and placement utilisation reaches from {1 / factor:.2f} to {factor:.2f} times our "
        "value."
    )


def composed(evidence: Evidence, tier: str, units: int, reducers: int, place: str | None = None) -> float:
    """mm2 of a number of units and reduction units of a tier."""
    place = place or tier
    return units * mm2(evidence, gate_equivalents(evidence, "pu", tier), place) + reducers * mm2(
        evidence, gate_equivalents(evidence, "ru", tier), place
    )


def larger(evidence: Evidence, tier: str, place: str | None = None) -> str:
    """Why our units differ in area from the paper's."""
    pu = gate_equivalents(evidence, "pu", tier)
    return (
        f"Our unit has {pu / 1e3:.1f} kGE. Its products are exact and rounded once, accumulation has FP32 precision, "
        f"and memories are estimated as macros. {band(place or tier)}"
    )


def counts(evidence: Evidence, tier: str) -> tuple[int, int]:
    """Units and reduction units of a die, chip or controller."""
    levels = evidence.memory(MEMORY[tier]).levels
    if tier == "hbm":
        banks = evidence.memory(MEMORY["hbm"]).banks
        return banks, banks // levels["bank"]
    return levels["bank_group"] * levels["bank"], levels["bank_group"]


@CHECKS.of("pam-area-hbm", "pam-area-ddr", by=Source.RECORD)
def die(evidence: Evidence, claim: str) -> Finding:
    tier = claim.rsplit("-", 1)[1]
    area = composed(evidence, tier, *counts(evidence, tier))
    return Finding(
        {"mm2": area, "percent": 100 * area / die_mm2(evidence, tier), "die_mm2": None},
        basis(tier),
        larger(evidence, tier) + " The system file has the area of the die.",
        AREA,
    )


@CHECKS.of("pam-area-hbm-pu", by=Source.RECORD)
def hbm_unit(evidence: Evidence, claim: str) -> Finding:
    config = config_of("hbm")
    results = evidence.record("pam-pu", PU["hbm"], config, "synth").results
    staging = sum(m["area_um2_estimate"] for m in results["memories"] if m["name"].startswith(("query", "outputs")))
    return Finding(
        {
            "mm2": mm2(evidence, results["area_ge"], "hbm"),
            "buffer_percent": 100 * staging / results["area_um2"],
            "datapath_percent": None,
            "control_percent": None,
        },
        basis("hbm"),
        larger(evidence, "hbm") + " Synthesis maps datapath and control together, so their areas can't be separated.",
        AREA,
    )


@CHECKS.of("pam-area-hbm-ru", by=Source.RECORD)
def hbm_reducer(evidence: Evidence, claim: str) -> Finding:
    return Finding(
        {"mm2": mm2(evidence, gate_equivalents(evidence, "ru", "hbm"), "hbm"), "compute_percent": None},
        basis("hbm"),
        f"Technology mapping does not separate the area of arithmetic. {band('hbm')}",
        AREA,
    )


@CHECKS.of("pam-area-ddr-pu", by=Source.RECORD)
def ddr_units(evidence: Evidence, claim: str) -> Finding:
    return Finding(
        {f"{unit}_mm2": mm2(evidence, gate_equivalents(evidence, unit, "ddr"), "ddr") for unit in ("pu", "ru")},
        basis("ddr"),
        larger(evidence, "ddr"),
        AREA,
    )


@CHECKS.of("pam-area-hbm-old", by=Source.RECORD)
def older_process(evidence: Evidence, claim: str) -> Finding:
    area = composed(evidence, "hbm", *counts(evidence, "hbm"), place="older")
    return Finding(
        {"mm2": area, "die_mm2": None, "percent": None},
        basis("older"),
        larger(evidence, "hbm", "older") + " Pairing the older process with 28 nm logic is this project's "
        "choice. Only the claim has the area of this die, so the percentage is not checked.",
        AREA,
    )


@CHECKS.of("pam-area-ssd", by=Source.RECORD)
def controller(evidence: Evidence, claim: str) -> Finding:
    area = composed(evidence, "ssd", 64, 8)
    return Finding(
        {"mm2": area, "percent": None},
        basis("ssd", False) + ", 64 units and 8 reduction units",
        "The area excludes the shared buffer, because the paper does not state its size. The area of the "
        f"controller follows only from this claim, so the percentage is not "
        f"checked. {band('ssd')}",
        AREA,
    )


#: Interface by the device that has it, and the device's channels: a measured interface serves one channel.
INTERFACES = {"hbm": ("hbm-ddr", 16), "ssd": ("ssd-ddr", 8)}

#: Pair of tiers whose interface stands for all: the paper gives one area.
INTERFACE = INTERFACES["hbm"][0]


def interface_mm2(evidence: Evidence, device: str) -> float:
    """mm2 of the interfaces of all channels of a device."""
    preset, channels = INTERFACES[device]
    record = evidence.record("pam-interface", preset, INTERFACE_PRESETS[preset], "synth")
    return channels * mm2(evidence, float(record.results["area_ge"]), "ssd")


INTERFACE_WHY = (
    "Ours has an interface for each channel of the device, for one direction, with the buffer and queues of "
    "the preset. The paper states neither the size of its buffer nor its queues."
)


@CHECKS.of("pam-if-area", by=Source.RECORD)
def interface(evidence: Evidence, claim: str) -> Finding:
    return Finding(
        interface_mm2(evidence, "hbm"),
        basis("ssd", False) + ", the 16 channels of a stack",
        f"{INTERFACE_WHY} {band('ssd')}",
        AREA,
    )


@CHECKS.of("pam-area-if-hbm", by=Source.RECORD)
def interface_share(evidence: Evidence, claim: str) -> Finding:
    die = die_mm2(evidence, "hbm")
    return Finding(
        100 * interface_mm2(evidence, "hbm") / die,
        basis("ssd", False) + f", {INTERFACES['hbm'][1]} channels, divided by {die:.1f} mm2",
        f"The logic die is assumed to be as large as the DRAM die. {INTERFACE_WHY} {band('ssd')}",
        AREA,
    )


@CHECKS.of("pam-proc", by=())
def processes(evidence: Evidence, claim: str) -> Finding:
    hbm, ddr, ssd = (logic_node(place) for place in ("hbm", "ddr", "ssd"))
    raise NotCheckable(
        "The claim names foundry processes that are not open. Areas use open figures for logic of the same "
        f"generation: {hbm} for HBM, {ddr} for DDR, {ssd} for the SSD."
    )
