"""Pages of units: co-simulation, synthesis, memory timing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..results.words import number
from .components import COLOURS, Card, Page, Part, Row, bars, clock, clock_state, plain, stacked, table
from .systems import configuration

__all__ = ["simulation", "synthesis", "timing"]

Result = Mapping[str, Any]

#: Runs of a campaign in words.
RUNS = {
    "full_rate": "full rate: an item at every clock",
    "memory": "memory timing: data at the cycles of a memory",
    "stalls": "random stalls",
    "lazy_output": "a slow receiver: ready only after valid",
    "power_up": "random power-up, resets at random clocks",
}


def _name(result: Result) -> str:
    return f"{result['unit']} {result['preset'] or '(no preset)'}"


def simulation(result: Result) -> Page:
    """``bankside sim``."""
    from bankside.constraints.core.registry import simulation_result

    typed = simulation_result(result)
    good = not result["mismatches"]
    lead = (
        f"All {result['vectors']:,} results of the generated Verilog equal the functional model bit for bit, in "
        f"{len(result['runs'])} runs of {result['clocks']:,} clocks together."
        if good
        else f"{result['mismatches']:,} of {result['vectors']:,} results differ from the functional model. The first: "
        f"{result['first_mismatch']}"
    )
    cards = [
        Card(
            "co-simulation",
            "bit-exact" if good else f"{result['mismatches']:,} mismatches",
            f"{result['vectors']:,} results compared",
            "good" if good else "bad",
        )
    ]
    if result.get("utilisation") is not None:
        cards.append(
            Card(
                "data at every clock",
                f"{100 * result['utilisation']:.1f} %",
                f"{result['cycles']:,} cycles, ideal {result['ideal_cycles']:,}",
            )
        )
    memory = result.get("memory_timing")
    if isinstance(memory, Mapping):
        cards.append(
            Card(
                f"data from {memory['memory']}",
                f"{memory['time_ns']:,.0f} ns",
                f"the memory alone takes {memory['memory_time_ns']:,.0f} ns",
            )
        )
    if result.get("max_abs_error") is not None:
        cards.append(Card("largest error", f"{result['max_abs_error']:.3g}", "against binary64 on the same bits"))
    runs = result["runs"]
    rows = [
        Row(
            (
                RUNS.get(name, name.replace("_", " ")),
                f"{run['vectors']:,}",
                f"{run['mismatches']:,}",
                f"{run['clocks']:,}",
                plain(run.get("cycles")),
                plain(run.get("stall_cycles")),
            ),
            states={2: "bad" if run["mismatches"] else "good"},
        )
        for name, run in runs.items()
    ]
    timed = [(RUNS.get(name, name.replace("_", " ")), run["cycles"]) for name, run in runs.items() if run.get("cycles")]
    chart = (
        bars(
            timed, "cycles", caption="Each run carries its own work: compare a run with the same run of another result."
        )
        if timed
        else None
    )
    workload = {
        key: value
        for key, value in result.items()
        if key in _options(result["unit"]) and not isinstance(value, Mapping)
    }
    figures = table(("figure", "measured"), typed.figures(result))
    return Page(
        f"Co-simulation of {_name(result)}",
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
                            for key, value in {**workload, "seed": result["seed"]}.items()
                        ],
                    ),
                    configuration(result["config"]),
                ),
                side_by_side=True,
                text=f"Configuration `{result['config_hash']}`.",
            ),
        ),
    )


def _options(unit: str) -> tuple[str, ...]:
    from bankside.constraints.core.registry import UNITS

    return tuple(UNITS[unit].workload.options()) if unit in UNITS else ()


def synthesis(result: Result) -> Page:
    """``bankside synth``: one unit, or a row for each of several."""
    if "results" in result:
        several = result["results"]
        return _several_fpga(several) if "fpga" in several[0] else _several(several)
    if "fpga" in result:
        return _fpga(result)
    target = result.get("target_clock_mhz")
    lead = (
        f"{_name(result)} takes {result['area_ge'] / 1e3:,.1f} kGE and reaches {clock(result)} in the library "
        f"{result['library']}."
    )
    if result.get("process"):
        lead += f" Clock in its own process: {result['process']['sentence']}."
    if result.get("critical_path_sentence"):
        lead += f" Its longest path leads {result['critical_path_sentence']}."
    cards = (
        Card("area", f"{result['area_ge'] / 1e3:,.1f} kGE", f"{result['area_um2']:,.0f} µm²"),
        Card(
            "highest clock",
            f"{result['fmax_mhz']:.0f} MHz" if result["fmax_mhz"] else "no path",
            f"target {target:g} MHz" if target else "",
            clock_state(result),
        ),
        Card("flip-flops", f"{result['flip_flops']:,}", f"{result['sequential_ge'] / 1e3:,.1f} kGE"),
        Card(
            "memories", f"{result['memory_bits']:,} bits", f"{result['memory_ge_estimate'] / 1e3:,.1f} kGE, estimated"
        ),
    )
    kinds = (
        ("logic", COLOURS["blue"], result["combinational_ge"]),
        ("flip-flops", COLOURS["orange"], result["sequential_ge"]),
        ("memories (estimated)", COLOURS["grey"], result["memory_ge_estimate"]),
    )
    area = stacked(
        [result["unit"]],
        [(name, colour) for name, colour, _ in kinds],
        [[value / 1e3 for *_, value in kinds]],
        "area (kGE)",
        "kGE",
        "A gate equivalent (GE) is the area of a two-input NAND.",
    )
    parts = [Part("Area", area, (table(("kind", "GE"), [(name, number(value, 1)) for name, _, value in kinds]),))]
    modules = result.get("parts") or []
    if len(modules) > 1:
        largest = sorted(modules, key=lambda one: -one["area_ge"] * one["count"])[:10]
        parts.append(
            Part(
                "Modules",
                bars(
                    [(one["module"], one["area_ge"] * one["count"] / 1e3) for one in largest],
                    "area of all instances (kGE)",
                    caption="The ten largest.",
                ),
                (
                    table(
                        ("module", "instances", "GE each", "flip-flops each", "longest path (ns)"),
                        [
                            (
                                one["module"],
                                f"{one['count']:,}",
                                number(one["area_ge"], 1),
                                f"{one['flip_flops']:,}",
                                number(one["critical_path_ns"], 3),
                            )
                            for one in modules
                        ],
                        code={0},
                    ),
                ),
            )
        )
    path = (result.get("critical_path") or {}).get("steps") or []
    if path:
        parts.append(
            Part(
                "The longest path",
                tables=(
                    table(
                        ("cell", "arc", "delay (ps)", "net"),
                        [(step["cell"], step["arc"], number(step["delay_ps"], 1), step["net"] or "") for step in path],
                        code={3},
                    ),
                ),
                folded=True,
                text=f"From `{result['critical_path']['start']}` to `{result['critical_path']['end']}`, "
                f"{result['critical_path_ns']:.3f} ns.",
            )
        )
    if result.get("memories"):
        parts.append(
            Part(
                "Memories",
                tables=(
                    table(
                        ("memory", "words", "bits a word", "read ports", "write ports"),
                        [
                            (
                                one["name"],
                                f"{one['depth']:,}",
                                f"{one['width']:,}",
                                str(one["read_ports"]),
                                str(one["write_ports"]),
                            )
                            for one in result["memories"]
                        ],
                        code={0},
                    ),
                ),
            )
        )
    cells = sorted(result["cells"].items(), key=lambda item: (-item[1], item[0]))
    parts.append(
        Part(
            "Cells and configuration",
            tables=(
                table(("cell", "count"), [(name, f"{count:,}") for name, count in cells]),
                configuration(result["config"]),
            ),
            side_by_side=True,
            folded=True,
        )
    )
    return Page(f"Synthesis of {_name(result)}", lead, cards, tuple(parts))


def _several(results: list[Result]) -> Page:
    largest = max(results, key=lambda one: one["area_ge"])
    kinds = [
        ("logic", COLOURS["blue"], "combinational_ge"),
        ("flip-flops", COLOURS["orange"], "sequential_ge"),
        ("memories (estimated)", COLOURS["grey"], "memory_ge_estimate"),
    ]
    chart = stacked(
        [_name(one) for one in results],
        [(name, colour) for name, colour, _ in kinds],
        [[one[key] / 1e3 for *_, key in kinds] for one in results],
        "area (kGE)",
        "kGE",
    )
    rows = [
        (
            one["unit"],
            one["preset"] or one["config_hash"],
            number(one["area_ge"], 0),
            number(one["combinational_ge"], 0),
            number(one["sequential_ge"], 0),
            number(one["memory_ge_estimate"], 0),
            number(one["critical_path_ns"], 3),
            number(one["fmax_mhz"], 0),
        )
        for one in results
    ]
    return Page(
        f"Synthesis of {len(results)} configurations",
        f"The largest is {_name(largest)} with {largest['area_ge'] / 1e3:,.1f} kGE. Library {results[0]['library']}, "
        f"effort {results[0]['effort']}.",
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


def _fpga(result: Result) -> Page:
    used = result["fpga"]
    lead = (
        f"{_name(result)} takes {used['lut']:,} LUTs before packing, {used['ff']:,} flip-flops and {used['dsp']:,} DSP "
        f"blocks of the family {result['family']}. Its longest path has {result['lut_levels']} LUT levels. There is no "
        "placement, so there is no clock figure."
    )
    wrong = [one for one in result["memories"] if one["misplaced"]]
    if wrong:
        lead += f" {len(wrong)} large memories take flip-flops."
    cards = (
        Card("LUTs", f"{used['lut']:,}", f"{used['lutram'] + used['srl']:,} more as memory and shift registers"),
        Card("flip-flops", f"{used['ff']:,}"),
        Card("DSP blocks", f"{used['dsp']:,}"),
        Card("block RAMs", f"{used['bram36'] + used['bram18'] / 2:,g}", f"{used['uram']:,} UltraRAMs"),
        Card("logic depth", f"{result['lut_levels']} LUT levels", f"{result['path_carry4']} carry chains of 4 bits"),
    )
    shares = [
        (device, part.partition("_")[0] + (" as a paper counts" if "_" in part else ""), number(value, 2))
        for device, all_of_it in result["percent"].items()
        for part, value in all_of_it.items()
    ]
    parts = [
        Part(
            "Resources",
            tables=(
                table(("resource", "count"), [(text, f"{used[name]:,}") for name, text in RESOURCES.items()]),
                table(("device", "resource", "per cent"), shares),
            ),
            side_by_side=True,
        )
    ]
    if len(result["parts"]) > 1:
        largest = sorted(result["parts"], key=lambda one: -one["lut"] * one["count"])[:10]
        head = ("module", "instances", *RESOURCES, "LUT levels")
        rows = [
            (one["module"], f"{one['count']:,}", *(f"{one[name]:,}" for name in RESOURCES), f"{one['lut_levels']}")
            for one in largest
        ]
        chart = bars(
            [(one["module"], one["lut"] * one["count"]) for one in largest],
            "LUTs of all instances",
            caption="The ten largest.",
        )
        parts.append(Part("Modules", chart, (table(head, rows, code={0}),)))
    if result["memories"]:
        head = ("memory", "module", "instances", "words", "bits a word", "read ports", "write ports", "becomes")
        parts.append(
            Part(
                "Memories",
                tables=(
                    table(
                        head,
                        [
                            (
                                one["name"],
                                one["module"],
                                *(f"{one[key]:,}" for key in ("count", "depth", "width", "read_ports", "write_ports")),
                                one["becomes"],
                            )
                            for one in result["memories"]
                        ],
                        code={0, 1},
                    ),
                ),
            )
        )
    cells = sorted(result["cells"].items(), key=lambda item: (-item[1], item[0]))
    parts.append(
        Part(
            "Primitives and configuration",
            tables=(
                table(("primitive", "count"), [(name, f"{count:,}") for name, count in cells]),
                configuration(result["config"]),
            ),
            side_by_side=True,
            folded=True,
        )
    )
    return Page(f"{_name(result)} on an FPGA", lead, cards, tuple(parts))


def _several_fpga(results: list[Result]) -> Page:
    largest = max(results, key=lambda one: one["fpga"]["lut"])
    rows = [
        (
            one["unit"],
            one["preset"] or one["config_hash"],
            *(f"{one['fpga'][name]:,}" for name in RESOURCES),
            f"{one['lut_levels']}",
        )
        for one in results
    ]
    chart = bars([(_name(one), one["fpga"]["lut"]) for one in results], "LUTs before packing")
    return Page(
        f"{len(results)} configurations on an FPGA",
        f"The largest is {_name(largest)} with {largest['fpga']['lut']:,} LUTs. Family {results[0]['family']}.",
        (),
        (Part("Resources", chart, (table(("unit", "configuration", *RESOURCES, "LUT levels"), rows),)),),
    )


def timing(result: Result) -> Page:
    """``bankside time``: a unit's decode step, a file, or a block of a system."""
    unit = "unit" in result
    what = f"{_name(result)}: reads of a decode step" if unit else result["file"] or result["system"]
    micros = result["time_ns"] / 1e3
    lead = (
        f"On {result['memory']} it takes {result['cycles']:,} cycles, {micros:,.3f} µs"
        + (f", for {result['tokens']:,} tokens" + (" in each bank" if unit else "") if result["tokens"] else "")
        + "."
    )
    cards = [
        Card("cycles", f"{result['cycles']:,}", f"on {result['memory']}"),
        Card("time", f"{micros:,.3f} µs"),
        Card("commands", f"{sum(result['commands'].values()):,}", f"of {len(result['commands'])} kinds"),
        Card("energy", "not modelled" if result["energy_pj"] is None else f"{result['energy_pj'] / 1e6:,.3f} µJ"),
    ]
    parts = []
    stages = result.get("stages") or {}
    if stages:
        parts.append(
            Part(
                "Stages",
                bars([(name.replace("_", " "), cycles) for name, cycles in stages.items()], "cycles"),
                (
                    table(
                        ("stage", "cycles", "share"),
                        [
                            (name.replace("_", " "), f"{cycles:,}", f"{100 * cycles / max(result['cycles'], 1):.1f} %")
                            for name, cycles in stages.items()
                        ],
                    ),
                ),
            )
        )
    commands = sorted(result["commands"].items(), key=lambda item: -item[1])
    parts.append(
        Part(
            "Commands",
            bars([(name, count) for name, count in commands], "commands"),
            (table(("command", "count"), [(name, f"{count:,}") for name, count in commands]),),
        )
    )
    energies = {key: value for key, value in (result["energy_breakdown_pj"] or {}).items() if key != "total"}
    if energies:
        missing = result.get("energy_not_modelled") or []
        parts.append(
            Part(
                "Energy",
                bars([(name, value / 1e6) for name, value in energies.items()], "energy (µJ)"),
                (table(("component", "pJ"), [(name, number(value, 1)) for name, value in energies.items()]),),
                text=f"Not modelled: {', '.join(missing)}." if missing else "",
            )
        )
    setting = {
        "refresh": result["refresh"],
        "power limit": result["power_limit"],
        "quirks": result.get("quirks"),
        "format": result.get("format"),
        "requests": result.get("requests"),
        "row hits": result.get("row_hits"),
        "row misses": result.get("row_misses"),
        "row conflicts": result.get("row_conflicts"),
        **(result.get("details") or {}),
    }
    tables = [table(("setting", "value"), [(key, plain(value)) for key, value in setting.items() if value is not None])]
    if unit:
        tables.append(configuration(result["config"]))
    parts.append(Part("How it was timed", tables=tuple(tables), side_by_side=True))
    return Page(f"Memory timing of {what}", lead, tuple(cards), tuple(parts))
