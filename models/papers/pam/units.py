"""Sections 5.2 and 7.1: contents, buffers, counts and clocks of the units."""

from __future__ import annotations

import re

from ...cost import process_clock
from ..category import Source
from ..evidence import Evidence, Finding
from .area import INTERFACE, INTERFACE_PRESETS, reducer
from .common import CHECKS, PU, config_of

UNIT = "pam-pu"


@CHECKS.of("pam-pu-hbm-width", "pam-pu-ddr-width", "pam-pu-ssd-width", by=Source.VERILOG)
def width(evidence: Evidence, claim: str) -> Finding:
    """Port width and rounders of the published Verilog: each lane's accumulator ends in a rounder."""
    tier = claim.split("-")[2]
    names, ports = evidence.instances(UNIT, PU[tier])
    lanes = sum(re.fullmatch(r"output_rounder_\d+", name) is not None for name in names)
    config = config_of(tier)
    return Finding(
        {"bits": ports["kv__payload"], "mul": config.lanes, "add": lanes},
        "width of the port kv, lanes of the preset, accumulators in its Verilog",
    )


@CHECKS.of("pam-pu-softmax", by=Source.VERILOG)
def softmax(evidence: Evidence, claim: str) -> Finding:
    """The row maximum is a register beside the comparison of scores. The exponential is a separate instance."""
    counts = []
    for tier in PU:
        names, _ = evidence.instances(UNIT, PU[tier])
        counts.append((names.count("sequencer"), names.count("exp")))
    if len(set(counts)) != 1:
        return Finding({"row_max": None, "exp_fp16": [c[1] for c in counts]}, "Verilog", "The presets differ.")
    return Finding(
        {"row_max": counts[0][0], "exp_fp16": counts[0][1]},
        "instances in the Verilog of all three presets; the score sequencer keeps the row maximum",
    )


@CHECKS.of("pam-pu-freq-hbm", "pam-pu-freq-ddr", "pam-pu-freq-ssd", by=Source.RECORD)
def clock(evidence: Evidence, claim: str) -> Finding:
    """The preset's clock if the measured netlist reaches it, else the clock that the netlist reaches."""
    tier = claim.split("-")[3]
    config = config_of(tier)
    results = evidence.record(UNIT, PU[tier], config, "synth").results
    reached, own = float(results["fmax_mhz"]), process_clock(UNIT, PU[tier], results, config.clock_mhz)
    why = (
        ""
        if reached >= config.clock_mhz
        else (
            "The critical path is measured in a generic 45 nm class library. Whether "
            f"the unit reaches {config.clock_mhz:g} MHz in the paper's process is not measured."
        )
    )
    if own is not None:
        why += f"{' ' if why else ''}Estimate: {own.sentence}."
    return Finding(
        min(config.clock_mhz, reached),
        f"clock of the preset; the netlist reaches {reached:.0f} MHz in a generic 45 nm class library",
        why,
    )


@CHECKS.of("pam-ru-pipe", by=Source.RECORD)
def overlap(evidence: Evidence, claim: str) -> Finding:
    """A reduction unit merges partial results faster than its four units produce them, with random stalls too."""
    config, unit = reducer("hbm"), config_of("hbm")
    record = evidence.record("pam-ru", PU["hbm"], config, "sim", head_dim=128)
    each = record.results["merge_cycles"] / record.workload["partials"]
    made = 2 * unit.tile_tokens * unit.chunks(record.workload["head_dim"]) / config.sources
    return Finding(
        bool(record.results["mismatches"] == 0 and each < made),
        f"co-simulated reduction unit: {each:.1f} clocks per partial result; its {config.sources} units produce "
        f"one every {made:.0f} clocks; random stalls on every stream give the same results",
    )


@CHECKS.of("pam-if-lat", by=(Source.RECORD, Source.PAPER))
def interface_latency(evidence: Evidence, claim: str) -> Finding:
    config = INTERFACE_PRESETS[INTERFACE]
    record = evidence.record("pam-interface", INTERFACE, config, "sim")
    ratios = {name: one["cpu_ratio"] for name, one in record.results["patterns"].items()}
    return Finding(
        {"min_ratio": min(ratios.values())},
        "co-simulated transfers from HBM to DDR, compared with a CPU copy at 10 % of the memories' rates (assumed)",
        "Latency reduction by access pattern: "
        + ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items())
        + ". The paper measured a CPU copy that takes more than 500 ms for about a megabyte. Our model "
        "assumes a much faster copy, at a tenth of the memories' rates.",
    )
