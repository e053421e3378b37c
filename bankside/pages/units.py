"""Pages of units: co-simulation, synthesis, memory timing."""

from __future__ import annotations

from typing import Any

from bankside.constraints.core.contract import MemoryTiming

from ..results.units import Sim, Synth, SynthAll, SynthFpga, TimeTrace, TimeUnit
from ..results.words import number
from .components import COLOURS, Card, Page, Part, Row, bars, clock, clock_state, plain, stacked, table
from .systems import configuration

__all__ = ["mapping", "simulation", "syntheses", "synthesis", "timing"]

#: Runs of a campaign in words.
RUNS = {
    "full_rate": "full rate: an item at every clock",
    "memory": "memory timing: data at the cycles of a memory",
    "stalls": "random stalls",
    "lazy_output": "a slow receiver: ready only after valid",
    "power_up": "random power-up, resets at random clocks",
}


def simulation(result: Sim) -> Page:
    """``bankside sim``."""
    measured = result.measured
    good = not measured.mismatches
    lead = (
        f"All {measured.vectors:,} results of the generated Verilog equal the functional model bit for bit, in "
        f"{len(measured.runs)} runs of {measured.clocks:,} clocks together."
        if good
        else f"{measured.mismatches:,} of {measured.vectors:,} results differ from the functional model. The first: "
        f"{measured.first_mismatch}"
    )
    cards = [
        Card(
            "co-simulation",
            "bit-exact" if good else f"{measured.mismatches:,} mismatches",
            f"{measured.vectors:,} results compared",
            "good" if good else "bad",
        )
    ]
    # the contract gives these names their meaning
    share, cycles, ideal, memory, error = (
        getattr(measured, name, None)
        for name in ("utilisation", "cycles", "ideal_cycles", "memory_timing", "max_abs_error")
    )
    if share is not None and ideal is not None:
        cards.append(Card("data at every clock", f"{100 * share:.1f} %", f"{cycles:,} cycles, ideal {ideal:,}"))
    if isinstance(memory, MemoryTiming):
        cards.append(
            Card(
                f"data from {memory.memory}",
                f"{memory.time_ns:,.0f} ns",
                f"the memory alone takes {memory.memory_time_ns:,.0f} ns",
            )
        )
    if error is not None:
        cards.append(Card("largest error", f"{error:.3g}", "against binary64 on the same bits"))
    runs = [(RUNS.get(name, name.replace("_", " ")), run) for name, run in measured.runs.items()]
    rows = [
        Row(
            (
                name,
                f"{run.vectors:,}",
                f"{run.mismatches:,}",
                f"{run.clocks:,}",
                plain(run.cycles),
                plain(run.stall_cycles),
            ),
            states={2: "bad" if run.mismatches else "good"},
        )
        for name, run in runs
    ]
    timed = [(name, run.cycles) for name, run in runs if run.cycles]
    chart = (
        bars(
            timed, "cycles", caption="Each run carries its own work: compare a run with the same run of another result."
        )
        if timed
        else None
    )
    figures = table(("figure", "measured"), result.figures)
    return Page(
        f"Co-simulation of {result.name}",
        lead,
        tuple(cards),
        (
            Part("What was measured", tables=(figures,)),
            Part(
                "Runs of the campaign",
                chart,
                (table(("run", "results", "mismatches", "clocks", "cycles", "stall cycles"), rows),),
            ),
            Part(
                "What was simulated",
                tables=(
                    table(
                        ("workload", "value"),
                        [
                            (key.replace("_", " "), plain(value))
                            for key, value in {**result.workload, "seed": result.seed}.items()
                        ],
                    ),
                    configuration(result.config),
                ),
                side_by_side=True,
                text=f"Configuration `{result.config_hash}`.",
            ),
        ),
    )


#: Kinds of area, with their colours.
KINDS = [("logic", COLOURS["blue"]), ("flip-flops", COLOURS["orange"]), ("memories (estimated)", COLOURS["grey"])]


def _areas(result: Synth) -> tuple[float, float, float]:
    """Area of each of :data:`KINDS` in GE."""
    return result.combinational_ge, result.sequential_ge, result.memory_ge_estimate


def synthesis(result: Synth) -> Page:
    """``bankside synth UNIT``."""
    target = result.target_clock_mhz
    lead = (
        f"{result.name} takes {result.area_ge / 1e3:,.1f} kGE and reaches {clock(result)} in the library "
        f"{result.library}."
    )
    if result.process:
        lead += f" Clock in its own process: {result.process.sentence}."
    if result.critical_path_sentence:
        lead += f" Its longest path leads {result.critical_path_sentence}."
    cards = (
        Card("area", f"{result.area_ge / 1e3:,.1f} kGE", f"{result.area_um2:,.0f} µm²"),
        Card(
            "highest clock",
            f"{result.fmax_mhz:.0f} MHz" if result.fmax_mhz else "no path",
            f"target {target:g} MHz" if target else "",
            clock_state(result),
        ),
        Card("flip-flops", f"{result.flip_flops:,}", f"{result.sequential_ge / 1e3:,.1f} kGE"),
        Card("memories", f"{result.memory_bits:,} bits", f"{result.memory_ge_estimate / 1e3:,.1f} kGE, estimated"),
    )
    area = stacked(
        [result.unit],
        KINDS,
        [[value / 1e3 for value in _areas(result)]],
        "area (kGE)",
        "kGE",
        "A gate equivalent (GE) is the area of a two-input NAND.",
    )
    kinds = [(name, number(value, 1)) for (name, _), value in zip(KINDS, _areas(result), strict=True)]
    parts = [Part("Area", area, (table(("kind", "GE"), kinds),))]
    modules = result.parts
    if len(modules) > 1:
        largest = sorted(modules, key=lambda one: -one.area_ge * one.count)[:10]
        parts.append(
            Part(
                "Modules",
                bars(
                    [(one.module, one.area_ge * one.count / 1e3) for one in largest],
                    "area of all instances (kGE)",
                    caption="The ten largest.",
                ),
                (
                    table(
                        ("module", "instances", "GE each", "flip-flops each", "longest path (ns)"),
                        [
                            (
                                one.module,
                                f"{one.count:,}",
                                number(one.area_ge, 1),
                                f"{one.flip_flops:,}",
                                number(one.critical_path_ns, 3),
                            )
                            for one in modules
                        ],
                        code={0},
                    ),
                ),
            )
        )
    path = result.critical_path
    if path and path.steps:
        parts.append(
            Part(
                "The longest path",
                tables=(
                    table(
                        ("cell", "arc", "delay (ps)", "net"),
                        [(step.cell, step.arc, number(step.delay_ps, 1), step.net or "") for step in path.steps],
                        code={3},
                    ),
                ),
                folded=True,
                text=f"From `{path.start}` to `{path.end}`, {result.critical_path_ns:.3f} ns.",
            )
        )
    if result.memories:
        parts.append(
            Part(
                "Memories",
                tables=(
                    table(
                        ("memory", "words", "bits a word", "read ports", "write ports"),
                        [
                            (one.name, f"{one.depth:,}", f"{one.width:,}", str(one.read_ports), str(one.write_ports))
                            for one in result.memories
                        ],
                        code={0},
                    ),
                ),
            )
        )
    cells = sorted(result.cells.items(), key=lambda item: (-item[1], item[0]))
    parts.append(
        Part(
            "Cells and configuration",
            tables=(
                table(("cell", "count"), [(name, f"{count:,}") for name, count in cells]),
                configuration(result.config),
            ),
            side_by_side=True,
            folded=True,
        )
    )
    return Page(f"Synthesis of {result.name}", lead, cards, tuple(parts))


def syntheses(result: SynthAll) -> Page:
    """``bankside synth PATTERN``: a row for each unit."""
    cells = [one for one in result.results if isinstance(one, Synth)]
    return _several(cells) if cells else _several_fpga([one for one in result.results if isinstance(one, SynthFpga)])


def _several(results: list[Synth]) -> Page:
    largest = max(results, key=lambda one: one.area_ge)
    chart = stacked(
        [one.name for one in results],
        KINDS,
        [[value / 1e3 for value in _areas(one)] for one in results],
        "area (kGE)",
        "kGE",
    )
    rows = [
        (
            one.unit,
            one.label,
            number(one.area_ge, 0),
            number(one.combinational_ge, 0),
            number(one.sequential_ge, 0),
            number(one.memory_ge_estimate, 0),
            number(one.critical_path_ns, 3),
            number(one.fmax_mhz, 0),
        )
        for one in results
    ]
    return Page(
        f"Synthesis of {len(results)} configurations",
        f"The largest is {largest.name} with {largest.area_ge / 1e3:,.1f} kGE. Library {results[0].library}, "
        f"effort {results[0].effort}.",
        (),
        (
            Part(
                "Area",
                chart,
                (table(("unit", "configuration", "GE", "logic", "flip-flops", "memories", "ns", "MHz"), rows),),
            ),
        ),
    )


#: Resources of an FPGA in words.
RESOURCES = {
    "lut": "LUTs of logic, before packing",
    "ff": "flip-flops",
    "carry4": "carry chains of 4 bits",
    "bram36": "block RAMs of 36 Kbit",
    "bram18": "block RAMs of 18 Kbit",
    "uram": "UltraRAMs",
    "dsp": "DSP blocks",
    "srl": "LUTs as shift registers",
    "lutram": "LUTs as memory",
}


def mapping(result: SynthFpga) -> Page:
    """``bankside synth UNIT --fpga``."""
    used = result.fpga
    lead = (
        f"{result.name} takes {used.lut:,} LUTs before packing, {used.ff:,} flip-flops and {used.dsp:,} DSP "
        f"blocks of the family {result.family}. Its longest path has {result.lut_levels} LUT levels. There is no "
        "placement, so there is no clock figure."
    )
    wrong = [one for one in result.memories if one.misplaced]
    if wrong:
        lead += f" {len(wrong)} large memories take flip-flops."
    cards = (
        Card("LUTs", f"{used.lut:,}", f"{used.lutram + used.srl:,} more as memory and shift registers"),
        Card("flip-flops", f"{used.ff:,}"),
        Card("DSP blocks", f"{used.dsp:,}"),
        Card("block RAMs", f"{used.bram36 + used.bram18 / 2:,g}", f"{used.uram:,} UltraRAMs"),
        Card("logic depth", f"{result.lut_levels} LUT levels", f"{result.path_carry4} carry chains of 4 bits"),
    )
    shares = [
        (device, part.partition("_")[0] + (" as a paper counts" if "_" in part else ""), number(value, 2))
        for device, all_of_it in result.percent.items()
        for part, value in all_of_it.items()
    ]
    parts = [
        Part(
            "Resources",
            tables=(
                table(("resource", "count"), [(text, f"{getattr(used, name):,}") for name, text in RESOURCES.items()]),
                table(("device", "resource", "per cent"), shares),
            ),
            side_by_side=True,
        )
    ]
    if len(result.parts) > 1:
        largest = sorted(result.parts, key=lambda one: -one.lut * one.count)[:10]
        head = ("module", "instances", *RESOURCES, "LUT levels")
        rows = [
            (one.module, f"{one.count:,}", *(f"{getattr(one, name):,}" for name in RESOURCES), f"{one.lut_levels}")
            for one in largest
        ]
        chart = bars(
            [(one.module, one.lut * one.count) for one in largest], "LUTs of all instances", caption="The ten largest."
        )
        parts.append(Part("Modules", chart, (table(head, rows, code={0}),)))
    if result.memories:
        head = ("memory", "module", "instances", "words", "bits a word", "read ports", "write ports", "becomes")
        parts.append(
            Part(
                "Memories",
                tables=(
                    table(
                        head,
                        [
                            (
                                one.name,
                                one.module,
                                *(
                                    f"{getattr(one, key):,}"
                                    for key in ("count", "depth", "width", "read_ports", "write_ports")
                                ),
                                one.becomes,
                            )
                            for one in result.memories
                        ],
                        code={0, 1},
                    ),
                ),
            )
        )
    cells = sorted(result.cells.items(), key=lambda item: (-item[1], item[0]))
    parts.append(
        Part(
            "Primitives and configuration",
            tables=(
                table(("primitive", "count"), [(name, f"{count:,}") for name, count in cells]),
                configuration(result.config),
            ),
            side_by_side=True,
            folded=True,
        )
    )
    return Page(f"{result.name} on an FPGA", lead, cards, tuple(parts))


def _several_fpga(results: list[SynthFpga]) -> Page:
    largest = max(results, key=lambda one: one.fpga.lut)
    rows = [
        (one.unit, one.label, *(f"{getattr(one.fpga, name):,}" for name in RESOURCES), f"{one.lut_levels}")
        for one in results
    ]
    chart = bars([(one.name, one.fpga.lut) for one in results], "LUTs before packing")
    return Page(
        f"{len(results)} configurations on an FPGA",
        f"The largest is {largest.name} with {largest.fpga.lut:,} LUTs. Family {results[0].family}.",
        (),
        (Part("Resources", chart, (table(("unit", "configuration", *RESOURCES, "LUT levels"), rows),)),),
    )


def timing(result: TimeUnit | TimeTrace) -> Page:
    """``bankside time``: a unit's decode step, a file, or a block of a system."""
    stages: dict[str, int] = {}
    missing: list[str] = []
    if isinstance(result, TimeUnit):
        what, where = f"{result.name}: reads of a decode step", " in each bank"
    else:
        what, where = result.file or result.system or "", ""
        stages, missing = result.stages or {}, result.energy_not_modelled
    micros = result.time_ns / 1e3
    lead = (
        f"On {result.memory} it takes {result.cycles:,} cycles, {micros:,.3f} µs"
        + (f", for {result.tokens:,} tokens" + where if result.tokens else "")
        + "."
    )
    cards = [
        Card("cycles", f"{result.cycles:,}", f"on {result.memory}"),
        Card("time", f"{micros:,.3f} µs"),
        Card("commands", f"{sum(result.commands.values()):,}", f"of {len(result.commands)} kinds"),
        Card("energy", "not modelled" if result.energy_pj is None else f"{result.energy_pj / 1e6:,.3f} µJ"),
    ]
    parts = []
    if stages:
        parts.append(
            Part(
                "Stages",
                bars([(name.replace("_", " "), cycles) for name, cycles in stages.items()], "cycles"),
                (
                    table(
                        ("stage", "cycles", "share"),
                        [
                            (name.replace("_", " "), f"{cycles:,}", f"{100 * cycles / max(result.cycles, 1):.1f} %")
                            for name, cycles in stages.items()
                        ],
                    ),
                ),
            )
        )
    commands = sorted(result.commands.items(), key=lambda item: -item[1])
    parts.append(
        Part(
            "Commands",
            bars([(name, count) for name, count in commands], "commands"),
            (table(("command", "count"), [(name, f"{count:,}") for name, count in commands]),),
        )
    )
    energies = {key: value for key, value in (result.energy_breakdown_pj or {}).items() if key != "total"}
    if energies:
        parts.append(
            Part(
                "Energy",
                bars([(name, value / 1e6) for name, value in energies.items()], "energy (µJ)"),
                (table(("component", "pJ"), [(name, number(value, 1)) for name, value in energies.items()]),),
                text=f"Not modelled: {', '.join(missing)}." if missing else "",
            )
        )
    setting: dict[str, Any] = {"refresh": result.refresh, "power limit": result.power_limit}
    if isinstance(result, TimeTrace):
        setting |= {
            "quirks": result.quirks,
            "format": result.format,
            "requests": result.requests,
            "row hits": result.row_hits,
            "row misses": result.row_misses,
            "row conflicts": result.row_conflicts,
            **(result.details or {}),
        }
    tables = [table(("setting", "value"), [(key, plain(value)) for key, value in setting.items() if value is not None])]
    if isinstance(result, TimeUnit):
        tables.append(configuration(result.config))
    parts.append(Part("How it was timed", tables=tuple(tables), side_by_side=True))
    return Page(f"Memory timing of {what}", lead, tuple(cards), tuple(parts))
