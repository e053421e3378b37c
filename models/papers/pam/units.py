"""Section 5.2 and 7.1: contents, buffers, counts and clocks of the units."""

from __future__ import annotations

import re

from ..evidence import Evidence, Finding, NotCheckable
from .common import CHECKS, MEMORY, PU, config_of

UNIT = "pam-pu"


@CHECKS.of("pam-pu-hbm-width", "pam-pu-ddr-width", "pam-pu-ssd-width")
def width(evidence: Evidence, claim: str) -> Finding:
    """Port width and rounders of the published Verilog: a rounder ends the accumulator of each lane."""
    tier = claim.split("-")[2]
    names, ports = evidence.instances(UNIT, PU[tier])
    lanes = sum(re.fullmatch(r"output_rounder_\d+", name) is not None for name in names)
    config = config_of(tier)
    return Finding({"bits": ports["kv__payload"], "mul": config.lanes, "add": lanes},
                   "width of the port kv, lanes of the preset, accumulators in its Verilog")


@CHECKS.of("pam-pu-hbm-buf", "pam-pu-ddr-buf", "pam-pu-ssd-buf")
def buffer(evidence: Evidence, claim: str) -> Finding:
    config = config_of(claim.split("-")[2])
    return Finding(config.query_bytes + config.score_bytes + config.output_bytes,
                   "query, scores and output in the buffer of the preset")


@CHECKS.of("pam-pu-softmax")
def softmax(evidence: Evidence, claim: str) -> Finding:
    """The row maximum is a register beside the scores' comparison; the exponential is an instance of its own."""
    counts = []
    for tier in PU:
        names, _ = evidence.instances(UNIT, PU[tier])
        counts.append((names.count("sequencer"), names.count("exp")))
    if len(set(counts)) != 1:
        return Finding({"row_max": None, "exp_fp16": [c[1] for c in counts]}, "Verilog", "the presets differ")
    return Finding({"row_max": counts[0][0], "exp_fp16": counts[0][1]},
                   "instances in the Verilog of all three presets; the row maximum is kept by the sequencer of scores",
                   bounds=False)


@CHECKS.of("pam-pu-freq-hbm", "pam-pu-freq-ddr", "pam-pu-freq-ssd")
def clock(evidence: Evidence, claim: str) -> Finding:
    """The preset's clock if the measured netlist reaches it, else what it reaches."""
    tier = claim.split("-")[3]
    config = config_of(tier)
    reached = float(evidence.record(UNIT, PU[tier], config, "synth", library="generic").results["fmax_mhz"])
    why = "" if reached >= config.clock_mhz else \
        f"critical path in a generic 45 nm class library; {config.clock_mhz:g} MHz in the paper's process is not measured"
    return Finding(min(config.clock_mhz, reached),
                   f"clock of the preset; the netlist reaches {reached:.0f} MHz in a generic 45 nm class library", why, 0.1)


@CHECKS.of("pam-area-count")
def units_of_a_die(evidence: Evidence, claim: str) -> Finding:
    memory = evidence.memory(MEMORY["hbm"])
    return Finding({"pu": memory.banks, "ru": memory.banks // memory.levels["bank"]},
                   "a die holds one channel of hbm3-5.2: a unit at each bank, a reduction unit at each bank group")


@CHECKS.of("pam-area-ddr-count")
def units_of_a_chip(evidence: Evidence, claim: str) -> Finding:
    levels = evidence.memory(MEMORY["ddr"]).levels
    return Finding({"pu": levels["bank_group"] * levels["bank"], "ru": levels["bank_group"]},
                   "banks and bank groups of a chip of ddr4-3200")


@CHECKS.of("pam-simtools")
def tools(evidence: Evidence, claim: str) -> Finding:
    raise NotCheckable("names the paper's own tools; this project has models of its own in their place")
