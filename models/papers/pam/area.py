"""Table 2 and section 7.5: areas, from measured gate equivalents and the table of logic processes."""

from __future__ import annotations

import math

from ....constraints.systems import DieBudget
from ....constraints.units.pam_interface import PRESETS as INTERFACE_PRESETS
from ....constraints.units.pam_ru import PRESETS as RU_PRESETS
from ....constraints.units.pam_ru import PamRuConfig
from ...cost import load_nodes
from ..evidence import Evidence, Finding, NotCheckable
from .common import CHECKS, MEMORY, PU, config_of, system_of

#: Logic process that stands for each of the paper's: 1z-nm and 2x-nm DRAM processes pair with 14 and 28 nm logic by this
#: project's choice (docs/systems.md); an older node of DRAM is taken as the 2x-nm one.
NODE = {"hbm": "14nm", "ddr": "28nm", "ssd": "14nm", "older": "28nm"}

#: Dies that the paper states beside its areas, in mm2 (section 7.5, Table 2). The SSD controller's follows from 8.16 mm2
#: being 7.592 % of it; the buffer on the DIMM is only known by the interface's share.
DIE_MM2 = {"hbm": 121.0, "older": 84.4, "ddr": 100.0, "ssd": 8.16 / 0.07592}


def budget(evidence: Evidence) -> DieBudget:
    return system_of(evidence, "pam-hbm-only").pim.area


def penalty(evidence: Evidence, place: str) -> float:
    return 1.0 if place == "ssd" else budget(evidence).density_penalty


def um2_per_ge(place: str) -> tuple[float, float]:
    """Geometric mean of the range of um2 of a placed gate equivalent, and the relative distance to its upper end."""
    nodes = load_nodes()
    node, fill = nodes.nodes[NODE[place]].nand2_um2, nodes.placement_utilisation
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
    return (f"measured gate equivalents x the geometric mean of the range of {NODE[place]} gate areas as placed"
            + (" x the density penalty of DRAM" if penalised else ""))


BAND = "The tolerance is the range of gate area and placement utilisation."


def composed(evidence: Evidence, tier: str, units: int, reducers: int, place: str | None = None) -> float:
    """mm2 of a number of units and reduction units of a tier."""
    place = place or tier
    return (units * mm2(evidence, gate_equivalents(evidence, "pu", tier), place)
            + reducers * mm2(evidence, gate_equivalents(evidence, "ru", tier), place))


def larger(evidence: Evidence, tier: str) -> str:
    """Why our units differ in area from the paper's."""
    pu = gate_equivalents(evidence, "pu", tier)
    return (f"Our unit has {pu / 1e3:.1f} kGE. Its products are exact and rounded once, accumulation has FP32 precision, "
            f"and memories are estimated as macros. {BAND}")


def counts(evidence: Evidence, tier: str) -> tuple[int, int]:
    """Units and reduction units of a die, chip or controller."""
    levels = evidence.memory(MEMORY[tier]).levels
    if tier == "hbm":
        banks = evidence.memory(MEMORY["hbm"]).banks
        return banks, banks // levels["bank"]
    return levels["bank_group"] * levels["bank"], levels["bank_group"]


@CHECKS.of("pam-area-hbm", "pam-area-ddr")
def die(evidence: Evidence, claim: str) -> Finding:
    tier = claim.rsplit("-", 1)[1]
    area = composed(evidence, tier, *counts(evidence, tier))
    width = um2_per_ge(tier)[1]
    return Finding({"mm2": area, "percent": 100 * area / DIE_MM2[tier], "die_mm2": None}, basis(tier),
                   larger(evidence, tier) + " The die area is the paper's.", width)


@CHECKS.of("pam-area-hbm-pu")
def hbm_unit(evidence: Evidence, claim: str) -> Finding:
    config = config_of("hbm")
    results = evidence.record("pam-pu", PU["hbm"], config, "synth").results
    staging = sum(m["area_um2_estimate"] for m in results["memories"] if m["name"].startswith(("query", "outputs")))
    width = um2_per_ge("hbm")[1]
    return Finding({"mm2": mm2(evidence, results["area_ge"], "hbm"),
                    "buffer_percent": 100 * staging / results["area_um2"],
                    "datapath_percent": None, "control_percent": None}, basis("hbm"),
                   larger(evidence, "hbm")
                   + " Synthesis maps datapath and control together, so their areas can't be separated.",
                   {"mm2": width, "buffer_percent": 0.25})


@CHECKS.of("pam-area-hbm-ru")
def hbm_reducer(evidence: Evidence, claim: str) -> Finding:
    width = um2_per_ge("hbm")[1]
    return Finding({"mm2": mm2(evidence, gate_equivalents(evidence, "ru", "hbm"), "hbm"), "compute_percent": None},
                   basis("hbm"), f"Technology mapping does not separate the area of arithmetic. {BAND}", width)


@CHECKS.of("pam-area-ddr-pu")
def ddr_units(evidence: Evidence, claim: str) -> Finding:
    width = um2_per_ge("ddr")[1]
    return Finding({f"{unit}_mm2": mm2(evidence, gate_equivalents(evidence, unit, "ddr"), "ddr") for unit in ("pu", "ru")},
                   basis("ddr"), larger(evidence, "ddr"), width)


@CHECKS.of("pam-area-hbm-old")
def older_process(evidence: Evidence, claim: str) -> Finding:
    area = composed(evidence, "hbm", *counts(evidence, "hbm"), place="older")
    return Finding({"mm2": area, "die_mm2": None, "percent": 100 * area / DIE_MM2["older"]}, basis("older"),
                   larger(evidence, "hbm") + " Pairing the older process with 28 nm logic is this project's choice.",
                   um2_per_ge("older")[1])


@CHECKS.of("pam-area-dense")
def density(evidence: Evidence, claim: str) -> Finding:
    return Finding(budget(evidence).density_penalty, "density_penalty of pam-hbm-only, which adopts the paper's assumption")


@CHECKS.of("pam-area-ssd")
def controller(evidence: Evidence, claim: str) -> Finding:
    area = composed(evidence, "ssd", 64, 8)
    return Finding({"mm2": area, "percent": 100 * area / DIE_MM2["ssd"]}, basis("ssd", False)
                   + ", 64 units and 8 reduction units",
                   "The area excludes the shared buffer, because the paper does not state its size. " + BAND,
                   um2_per_ge("ssd")[1])


#: Interface by the device that has it, and the device's channels: a measured interface serves one channel.
INTERFACES = {"hbm": ("hbm-ddr", 16), "ssd": ("ssd-ddr", 8)}

#: Pair of tiers whose interface stands for all: the paper gives one area.
INTERFACE = INTERFACES["hbm"][0]


def interface_mm2(evidence: Evidence, device: str) -> float:
    """mm2 of the interfaces of all channels of a device."""
    preset, channels = INTERFACES[device]
    record = evidence.record("pam-interface", preset, INTERFACE_PRESETS[preset], "synth")
    return channels * mm2(evidence, float(record.results["area_ge"]), "ssd")


INTERFACE_WHY = ("Ours has an interface for each channel of the device, for one direction, with the buffer and queues of "
                 f"the preset. The paper states neither the size of its buffer nor its queues. {BAND}")


@CHECKS.of("pam-if-area")
def interface(evidence: Evidence, claim: str) -> Finding:
    return Finding(interface_mm2(evidence, "hbm"), basis("ssd", False) + ", the 16 channels of a stack", INTERFACE_WHY,
                   um2_per_ge("ssd")[1])


@CHECKS.of("pam-area-if-hbm", "pam-area-if-ssd")
def interface_share(evidence: Evidence, claim: str) -> Finding:
    device = claim.rsplit("-", 1)[1]
    die = DIE_MM2[device]
    told = "We use the controller area that the paper's units imply, 107.5 mm2; the paper's interface implies 147. " \
        if claim.endswith("ssd") else "The logic die is assumed to be as large as the DRAM die. "
    return Finding(100 * interface_mm2(evidence, device) / die,
                   basis("ssd", False) + f", {INTERFACES[device][1]} channels, divided by {die:.1f} mm2",
                   told + INTERFACE_WHY, um2_per_ge("ssd")[1])


@CHECKS.of("pam-area-if-ddr")
def interface_share_of_the_buffer(evidence: Evidence, claim: str) -> Finding:
    raise NotCheckable("The paper gives the area of a DIMM's central buffer only through this percentage.")


@CHECKS.of("pam-proc")
def processes(evidence: Evidence, claim: str) -> Finding:
    raise NotCheckable("The claim names foundry processes that are not open. Areas use open figures for logic of the same "
                       f"generation: {NODE['hbm']} for HBM, {NODE['ddr']} for DDR, {NODE['ssd']} for the SSD.")
