"""Sections 6 and 7.2: areas, from measured gate equivalents and the macro model of buffers."""

from __future__ import annotations

from ....constraints.aim.channel import PRESETS as CHANNELS
from ....constraints.lolpim.dispatcher import PRESETS as DISPATCHERS
from ...cost import buffer_cost, unit_area
from ..category import Source
from ..evidence import Evidence, Finding
from .common import CHECKS, system_of

#: Area of an AiM chip, in mm2, as section 7.2 cites it; shares are of it.
CHIP_MM2 = 12.16

#: AiM chips that one dispatcher serves, as section 7.2 counts.
CHIPS = 8

#: Process of the memories' macros, and that of the library that the paper's logic is mapped to.
MEMORIES, LOGIC = "32nm", "saed32"


@CHECKS.of("lolpim-area-gb", by=Source.RUN)
def buffer(evidence: Evidence, claim: str) -> Finding:
    config = CHANNELS["aim-ping-pong"]
    penalty = system_of(evidence, "pam-hbm-only").pim.area.density_penalty
    shape = (8 * config.buffer_bytes, 16 * config.lanes, 1, MEMORIES)
    cost = buffer_cost(*shape, penalty)
    logic = buffer_cost(*shape).mm2
    return Finding(
        {"mm2": cost.mm2, "percent": 100 * cost.mm2 / CHIP_MM2},
        f"macro model, one port, {MEMORIES}, x {penalty:g} for a DRAM die as for units of PAM; percentage "
        f"of {CHIP_MM2} mm2",
        f"In a logic process the model gives {logic:.2g} mm2. The paper does not say which process it means.",
        tolerance=0.25,
    )


@CHECKS.of("lolpim-area-disp", by=Source.RECORD)
def dispatcher(evidence: Evidence, claim: str) -> Finding:
    results = evidence.record("dpa-dispatcher", "lol-pim", DISPATCHERS["lol-pim"], "synth").results
    area, single = (unit_area(results, LOGIC, MEMORIES, ports=ports) for ports in (None, 1))
    return Finding(
        {"mm2": area.mm2, "percent": 100 * area.mm2 / (CHIPS * CHIP_MM2), "per_aims": None},
        f"{area.logic_ge / 1e3:.1f} kGE of logic in SAED32, {area.mm2 - area.memories_mm2:.2f} mm2, and macros "
        f"of two buffers of 96 KB in {MEMORIES}",
        "Our buffers have a read and a write port, so that the host writes while commands are issued. With one "
        f"port the area is {single.mm2:.2f} mm2. The paper does not say how many ports its buffers have.",
        tolerance=0.25,
    )


@CHECKS.of("lolpim-io-area", by=Source.RECORD)
def ping_pong(evidence: Evidence, claim: str) -> Finding:
    """Area of a channel with two sets of buffers, compared with a channel that has one set."""
    found = [
        evidence.record("aim-channel", preset, CHANNELS[preset], "synth").results for preset in ("aim", "aim-ping-pong")
    ]
    one, two = (unit_area(results, LOGIC, MEMORIES) for results in found)
    gates = [float(results["area_ge"]) for results in found]
    return Finding(
        100 * (two.mm2 / one.mm2 - 1),
        f"aim-channel with two sets of buffers compared with one set, {two.mm2:.3f} and {one.mm2:.3f} "
        f"mm2: {two.logic_ge / 1e3:.1f} and {one.logic_ge / 1e3:.1f} kGE of logic in SAED32, buffers in "
        f"{MEMORIES}",
        "The overhead depends on the process: with logic and buffers in one class of process, 45 nm, it is "
        f"{100 * (gates[1] / gates[0] - 1):.1f} %. The large cells of SAED32 make the difference. Our channel "
        "includes activation functions and element-wise multipliers.",
        tolerance=0.25,
    )
