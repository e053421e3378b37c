"""Sections 6 and 7.2: areas, from measured gate equivalents and the macro model of buffers."""

from __future__ import annotations

import math

from ....constraints.records import config_hash
from ....constraints.units.aim_channel import PRESETS as CHANNELS
from ....constraints.units.dpa_dispatcher import PRESETS as DISPATCHERS
from ...cost import buffer_cost, logic_area
from ..evidence import Evidence, Finding, NotCheckable
from .common import CHECKS, system_of

#: Area of an AiM chip, in mm2, as section 7.2 cites it; shares are of it.
CHIP_MM2 = 12.16

#: AiM chips that one dispatcher serves, as section 7.2 counts.
CHIPS = 8

#: Process of the memories' macros, and that of the library that the paper's logic is mapped to.
MEMORIES, LOGIC = "32nm", "saed32"


@CHECKS.of("lolpim-area-gb")
def buffer(evidence: Evidence, claim: str) -> Finding:
    config = CHANNELS["aim-ping-pong"]
    penalty = system_of(evidence, "pam-hbm-only").pim.area.density_penalty
    shape = (8 * config.buffer_bytes, 16 * config.lanes, 1, MEMORIES)
    cost = buffer_cost(*shape, penalty)
    logic = buffer_cost(*shape).mm2
    return Finding({"mm2": cost.mm2, "percent": 100 * cost.mm2 / CHIP_MM2},
                   f"macro model, one port, {MEMORIES}, x {penalty:g} for a DRAM die as for units of PAM; share of "
                   f"{CHIP_MM2} mm2",
                   f"in a logic process the model has {logic:.2g} mm2; the paper does not say which it means",
                   tolerance=cost.band_mm2[1] / cost.mm2 - 1)


@CHECKS.of("lolpim-area-disp")
def dispatcher(evidence: Evidence, claim: str) -> Finding:
    results = evidence.record("dpa-dispatcher", "lol-pim", DISPATCHERS["lol-pim"], "synth", library="generic").results
    gates = results["area_ge"] - results["memory_ge_estimate"]
    low, high = logic_area(gates, LOGIC)
    logic = math.sqrt(low * high)

    def memories(ports: int | None) -> float:
        return sum(buffer_cost(m["bits"], m["width"], ports or m["read_ports"] + m["write_ports"], MEMORIES).mm2
                   for m in results["memories"])

    area, single = logic + memories(None), logic + memories(1)
    return Finding({"mm2": area, "percent": 100 * area / (CHIPS * CHIP_MM2), "per_aims": None},
                   f"{gates / 1e3:.1f} kGE of logic in SAED32, {logic:.2f} mm2, and macros of two buffers of 96 KB in "
                   f"{MEMORIES}",
                   "ours have a read and a write port, so that the host writes while commands are issued; with one port "
                   f"{single:.2f} mm2; the paper does not say how many its have", tolerance=high / logic - 1)


@CHECKS.of("lolpim-io-area")
def ping_pong(evidence: Evidence, claim: str) -> Finding:
    """A channel with two sets of buffers over one with a single set. Mapping takes too long to be made in passing."""
    areas = []
    for preset in ("aim", "aim-ping-pong"):
        digest = config_hash("aim-channel", CHANNELS[preset])
        found = evidence.records.find("aim-channel", digest, "synth", library="generic")
        if found is None:
            raise NotCheckable("needs the area of 256 multipliers and their channel, which takes many minutes: bankside "
                               f"synth aim-channel --preset {preset}")
        areas.append(float(found.results["area_ge"]))
    return Finding(100 * (areas[1] / areas[0] - 1), "aim-channel with two sets of buffers over one with a single set",
                   "ours are channels with activation functions and element-wise multipliers", tolerance=0.25)


@CHECKS.of("lolpim-area-aim", "lolpim-area-base")
def not_modelled(evidence: Evidence, claim: str) -> Finding:
    raise NotCheckable("the area of the banks of a DRAM die can't be computed from logic" if claim == "lolpim-area-aim" else
                       "nodes here are modules of a hub and 16 channels; cards of two hubs are not a part of the model")
