"""Results as text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.libraries.fpga import fpga_families
from bankside.models.cost import second_opinion

from .serving import Sweep
from .terminal import FittingTable

if TYPE_CHECKING:
    from .demo import Demo, DemoSim
    from .systems import DieArea, Eval, EvalWorkload, Split
    from .units import Selected, Sim, Synth, SynthAll, SynthFpga, TimeTrace, TimeUnit

__all__ = [
    "cosimulation_lines",
    "evaluation_text",
    "simulation_text",
    "summary_table",
    "sweep_text",
    "synthesis_table",
    "synthesis_text",
    "timing_text",
]


def _block(rows: Iterable[tuple[str, Any]]) -> str:
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def _titled(r: Selected, rows: Iterable[tuple[str, Any]]) -> str:
    return f"{r.name}, configuration {r.config_hash}\n" + _block(rows)


def simulation_text(r: Sim) -> str:
    """Result of ``bankside sim``, in the lines of the unit's own result."""
    return _titled(r, r.measured.rows(r.workload, r.record))


def synthesis_text(r: Synth | SynthFpga) -> str:
    """Result of ``bankside synth`` for one unit."""
    from .units import SynthFpga

    return _fpga_text(r) if isinstance(r, SynthFpga) else _synthesis_text(r)


def _synthesis_text(r: Synth) -> str:
    fmax = f"{r.fmax_mhz:.0f} MHz" if r.fmax_mhz else "no path"
    kinds = sorted(r.cells.items(), key=lambda item: -item[1])
    rows = [
        ("library", f"{r.library}, effort {r.effort}"),
        ("area", f"{r.area_um2:.0f} um2 = {r.area_ge / 1e3:.1f} kGE"),
        ("registers", f"{r.sequential_ge / 1e3:.1f} kGE ({r.flip_flops} flip-flops)"),
        ("logic", f"{r.combinational_ge / 1e3:.1f} kGE"),
        (
            "memories",
            f"{r.memory_bits} bits in {len(r.memories)} macros, {r.memory_ge_estimate / 1e3:.1f} kGE (estimated)",
        ),
        *_second_opinion(r),
        ("critical path", f"{r.critical_path_ns:.3f} ns, {fmax} (target {r.target_clock_mhz:g} MHz)"),
        *([("own process", r.process.sentence)] if r.process else []),
        *([("longest path", r.critical_path_sentence)] if r.critical_path else []),
        ("cells", ", ".join(f"{count} {name}" for name, count in kinds[:8]) + (", ..." if len(kinds) > 8 else "")),
        ("record", r.record),
    ]
    return _titled(r, rows)


def _second_opinion(r: Synth) -> list[tuple[str, str]]:
    """CACTI on the macros that its table has."""
    ports = {"registers.": r.config["bank_ports"]} if "bank_ports" in r.config else None
    found = second_opinion(map(dict, r.memories), ports)
    if found is None:
        return []
    count, model, cacti = found
    return [("  CACTI", f"{cacti:.3f} mm2 at 45 nm for {count} of {len(r.memories)} macros; the model {model:.3f} mm2")]


def _fpga_text(r: SynthFpga) -> str:
    used = r.fpga
    rows = [
        ("family", f"{r.family}, {fpga_families()[r.family].title}"),
        ("logic", f"{used.lut} LUTs before packing, {used.carry4} carry chains of 4 bits"),
        ("registers", f"{used.ff} flip-flops"),
        ("LUTs as memory", f"{used.lutram} distributed memory, {used.srl} shift registers"),
        (
            "blocks",
            f"{used.bram36} block RAMs of 36 Kbit, {used.bram18} of 18 Kbit, {used.uram} UltraRAMs, "
            f"{used.dsp} DSP blocks",
        ),
    ]
    for name, share in r.percent.items():
        shown = [
            f"{value:.2f} % {part.partition('_')[0].upper()}" + (" as a paper counts" if "_" in part else "")
            for part, value in share.items()
            if value is not None
        ]
        rows.append((f"of {name}", ", ".join(shown)))
    path = r.longest_path
    rows.append(
        (
            "logic depth",
            f"{r.lut_levels} LUT levels, {r.path_carry4} carry chains of 4 bits"
            + (f", {r.path_dsp} of the levels in DSP blocks" if r.path_dsp else "")
            + ("" if path.start is None else f", from {path.start} to {path.end}"),
        )
    )
    rows += [
        (
            "warning",
            f"the memory {m.name} of {m.module} ({m.depth} x {m.width} bits, "
            f"{m.read_ports} read and {m.write_ports} write ports) takes {m.bits} flip-flops",
        )
        for m in r.memories
        if m.misplaced
    ]
    largest = sorted(r.parts, key=lambda one: -one.lut * one.count)[:6] if len(r.parts) > 1 else []
    rows += [
        (
            "modules" if k == 0 else "",
            f"{one.count} x {one.module}: {one.lut} LUTs, {one.ff} flip-flops, "
            f"{one.dsp} DSP blocks, {one.lut_levels} LUT levels",
        )
        for k, one in enumerate(largest)
    ]
    return _titled(r, [*rows, ("record", r.record)])


def synthesis_table(result: SynthAll) -> str:
    """One line per unit: the costs of the operators of a library, or the resources of an FPGA."""
    from .units import Synth, SynthFpga

    cells = [one for one in result.results if isinstance(one, Synth)]
    mapped = [one for one in result.results if isinstance(one, SynthFpga)]
    if mapped:
        names = list(type(mapped[0].fpga).model_fields)
        return _costs(
            mapped[0].family,
            ("unit", "configuration", *names, "levels"),
            ((r.unit, r.label, *(str(getattr(r.fpga, name)) for name in names), str(r.lut_levels)) for r in mapped),
        )
    return _costs(
        f"{cells[0].library}, effort {cells[0].effort}",
        ("unit", "configuration", "GE", "logic", "registers", "memories", "ns", "MHz"),
        (
            (
                r.unit,
                r.label,
                f"{r.area_ge:.0f}",
                f"{r.combinational_ge:.0f}",
                f"{r.sequential_ge:.0f}",
                f"{r.memory_ge_estimate:.0f}",
                f"{r.critical_path_ns:.3f}",
                f"{r.fmax_mhz:.0f}" if r.fmax_mhz else "-",
            )
            for r in cells
        ),
    )


def _costs(title: str, head: tuple[str, ...], body: Iterable[tuple[str, ...]]) -> str:
    """A table with a title: two columns of names, then numbers."""
    rows = [head, *body]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    return (
        title
        + "\n"
        + "\n".join(
            "  ".join(
                cell.ljust(width) if k < 2 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )
    )


def timing_text(r: TimeUnit | TimeTrace) -> str:
    """Result of ``bankside time``."""
    from .units import TimeUnit

    return _step_text(r) if isinstance(r, TimeUnit) else _trace_text(r)


def _step_text(r: TimeUnit) -> str:
    parts = r.energy_breakdown_pj or {}
    energy = ", ".join(f"{name} {value:.0f}" for name, value in parts.items()) or "not modelled"
    return _titled(
        r,
        [
            ("step", f"{r.tokens} tokens in each bank, head dimension {r.head_dim}, {r.queries} queries"),
            ("memory", f"{r.memory}: {r.cycles} cycles, {r.time_ns:.1f} ns"),
            ("commands", ", ".join(f"{count} {name}" for name, count in r.commands.items())),
            ("energy (pJ, one channel)", energy),
            *_files(r),
        ],
    )


def _trace_text(r: TimeTrace) -> str:
    what = f"{r.file} (format {r.format})" if r.file else f"{r.system}, {r.tokens} tokens"
    how = [f"quirks of {r.quirks}"] if r.quirks else []
    how += ["with refresh"] if r.refresh else ["no refresh"]
    how += [] if r.power_limit else ["no power limit"]
    rows: list[tuple[str, Any]] = [
        ("cycles", f"{r.cycles:,}"),
        ("time", _time(r.time_ns)),
        ("requests", f"{r.requests:,}" + (f" in {r.lines:,} lines" if r.lines else "")),
    ]
    kinds = [("hits", r.row_hits), ("misses", r.row_misses), ("conflicts", r.row_conflicts)]
    rows.append(("rows", ", ".join(f"{value:,} {name}" for name, value in kinds if value is not None)))
    if r.energy_pj is None or r.energy_breakdown_pj is None:
        rows.append(("energy", "not modelled"))
    else:
        parts = {"energy": r.energy_pj, **{f"  {name}": value for name, value in r.energy_breakdown_pj.items()}}
        rows += zip(parts, _energies(list(parts.values())), strict=True)
        rows.append(("  not modelled", ", ".join(r.energy_not_modelled)))
    shapes = {float: "{:,.4g}", int: "{:,}"}
    rows += [
        (name.replace("_", " "), shapes.get(type(value), "{}").format(value))
        for name, value in (r.details or {}).items()
        if value is not None
    ]
    rows.append(("commands", f"{sum(r.commands.values()):,}"))
    rows += [(f"  {name}", f"{count:,}") for name, count in r.commands.items()]
    if r.stages:
        rows.append(("stages (cycles)", f"{sum(r.stages.values()):,}"))
        rows += [
            (f"  {name}", f"{cycles:,} ({100 * cycles / max(r.cycles, 1):.1f} %)") for name, cycles in r.stages.items()
        ]
    return f"{what} on {r.memory}, {', '.join(how)}\n" + _block([*rows, *_files(r)])


def _files(r: TimeUnit | TimeTrace) -> list[tuple[str, str]]:
    """Lines on the files that were written."""
    rows = []
    view, export = r.timeline, r.export
    if view:
        shown = f"cycles {view.first_cycle:,} to {view.last_cycle:,}, {view.commands:,} commands"
        named = (("timeline", view.file), ("picture", view.picture))
        rows += [(name, f"{file}: {shown}") for name, file in named if file]
    if export:
        rows.append(("exported", f"{export.file}: {export.lines:,} lines, format {export.format}"))
    return rows


def _time(ns: float) -> str:
    unit, factor = ("ns", 1.0) if ns < 1e4 else ("us", 1e-3) if ns < 1e7 else ("ms", 1e-6)
    return f"{ns * factor:,.3f} {unit}"


def _energies(pj: list[float]) -> list[str]:
    """Energies in the unit of the first one, which is the largest."""
    units = (("pJ", 1.0), ("nJ", 1e-3), ("uJ", 1e-6), ("mJ", 1e-9))
    unit, factor = next((u for u in units if pj[0] * u[1] < 1e4), units[-1])
    return [f"{value * factor:,.3f} {unit}" for value in pj]


def _area(area: DieArea) -> str:
    low, high = area.with_other_percent
    return (
        f"{area.units_per_die} units {area.units_mm2[0]:.1f} to {area.units_mm2[1]:.1f} mm2; with "
        f"{area.other}: {low:.1f} to {high:.1f} % of a {area.die_mm2:g} mm2 die, published "
        f"{area.budget_percent:g} %; {area.placed_percent[0]:.1f} to {area.placed_percent[1]:.1f} % if cells "
        "fill as much of the placed area at both ends"
    )


def evaluation_text(r: Eval) -> str:
    """Result of ``bankside eval``, in the kind's own lines where it has some."""
    rows: list[tuple[str, Any]] = [
        ("time per output token", f"{r.tpot_ms:.3f} ms"),
        ("throughput", f"{r.throughput_tok_s:.1f} tokens/s"),
        ("energy", f"{r.energy_mj_per_token:.2f} mJ per token"),
    ]
    rows += [(f"  {name}", f"{value:.4f} ms") for name, value in r.breakdown_ms.items()]
    rows += [
        (f"  energy: {name}", value if isinstance(value, str) else f"{value:.4f} mJ")
        for name, value in r.energy_breakdown_mj.items()
    ]
    rows.append(("largest batch", f"{r.capacity.largest_batch} at this context"))
    rows += r.text_lines()
    if r.area:
        rows.append(("die area", _area(r.area)))
    rows.append(("rests on", ", ".join(r.records) or "no measurement"))
    rows += _splits(r.splits or [])
    if r.utilisation_percent is not None:
        rows.append(("utilisation", f"{r.utilisation_percent:.1f} % of the modules' operations"))
    rows += [("note", note) for note in r.notes]
    head = f"{r.system}, {r.model}, context {r.context}, batch {r.batch}"
    if r.instances > 1:
        head += f" over {r.instances} instances"
    return head + "\n" + _block(rows)


def _splits(splits: Sequence[Split]) -> list[tuple[str, str]]:
    return [
        (f"split {one.tensor} x {one.pipeline}", one.why or f"{one.throughput_tok_s:.1f} tokens/s") for one in splits
    ]


def steady_text(r: EvalWorkload) -> str:
    """Decoding in steady state with requests of a workload."""
    rows: list[tuple[str, Any]] = [
        ("throughput", f"{r.throughput_tok_s:.1f} tokens/s"),
        ("batch", f"mean {r.batch:.1f}, largest {r.largest_batch}; {r.preempted} preempted"),
        ("context", f"mean {r.context:.0f} tokens"),
        ("split", f"tensor {r.parallelism.tensor}, pipeline {r.parallelism.pipeline}"),
    ]
    if r.utilisation_percent is not None:
        rows.append(("utilisation", f"{r.utilisation_percent:.1f} % of the modules' operations"))
    rows.append(("rests on", ", ".join(r.records) or "no measurement"))
    if len(r.splits) > 1:
        rows += _splits(r.splits)
    rows += [("note", note) for note in r.notes]
    return f"{r.system}, {r.model}, requests of {r.workload}\n" + _block(rows)


#: Rules of GPUs in words.
RULES = {"measured": "measured", "roofline": "roofline", "attacc-simulator": "as in AttAcc"}


def summary_table(demo: Demo) -> FittingTable:
    """The main figures of every evaluation side by side, and area and clock of the unit."""
    from .systems import plain_keys
    from .words import band, grouped_ms

    evaluations = demo.evaluations
    if not evaluations:
        raise ConfigError("a summary needs at least one evaluation")
    first = evaluations[0]
    rows: list[tuple[str, ...] | None] = []

    def row(name: str, value: Callable[[Eval], str], them: Sequence[Eval] = evaluations) -> None:
        rows.append((name, *(value(evaluation) for evaluation in them)))

    for group in demo.by_rule:
        rule = group[0].gpu_rule
        row(f"TPOT, GPU {RULES[rule]}" if rule else "time per output token", lambda e: f"{e.tpot_ms:.3f} ms", group)
        row("  attention", lambda e: f"{sum(grouped_ms(e)[:2]):.3f} ms", group)
        row("  everything else", lambda e: f"{sum(grouped_ms(e)[2:]):.3f} ms", group)
        row("  throughput", lambda e: f"{e.throughput_tok_s:.1f} tokens/s", group)
    row("energy per token, as modelled", lambda e: f"{e.energy_mj_per_token:.1f} mJ")
    row("largest batch at this context", lambda e: str(e.capacity.largest_batch))
    row("units on a DRAM die", lambda e: band(e.area.units_mm2, "mm²") if e.area else "–")
    budgets = {e.area.budget_percent for e in evaluations if e.area}
    row(
        "  with reduction units" + "".join(f", budget {one:g} %" for one in sorted(budgets)),
        lambda e: band(e.area.with_other_percent, "%") if e.area else "–",
    )
    units = [plain_keys(evaluation.unit) for evaluation in evaluations]
    if not any(units):
        units[-1] = dict(demo.synth)
    if any(units):
        targets: set[Any] = {one.get("target_clock_mhz") or one.get("clock_mhz") for one in units if one} - {None}
        rows += [
            None,
            ("a unit, as synthesised", *(f"{one['area_ge'] / 1e3:.1f} kGE" if one else "–" for one in units)),
            (
                f"  clock, target {' or '.join(f'{one:g}' for one in sorted(targets))} MHz" if targets else "  clock",
                *((f"{one['fmax_mhz']:.0f} MHz" if one["fmax_mhz"] else "no path") if one else "–" for one in units),
            ),
        ]
    columns = [(evaluation.system, {"justify": "right"}) for evaluation in evaluations]
    return FittingTable(
        [("", {}), *columns],
        rows,
        range(1, len(evaluations)),
        title=f"{first.model}, context {first.context}, batch {first.batch}",
        title_style="bold",
    )


def cosimulation_lines(sim: DemoSim) -> list[str]:
    """Results of a unit's bench, and of a channel's decode step."""
    channel = sim.channel
    step = (
        f"{channel.tokens} tokens over {channel.banks} banks, {channel.queries} queries: "
        f"{channel.vectors} result beats bit-exact, {channel.time_ns / 1e3:.1f} us (memory alone "
        f"{channel.memory_time_ns / 1e3:.1f} us), max error {channel.max_abs_error:.2g}"
    )
    return _block([("co-simulation", sim.unit), *sim.figures, ("channel", step)]).split("\n")


def sweep_text(result: Sweep) -> str:
    """The output of a sweep, and the rows that no other row beats."""
    lines = [
        f"{len(result.rows)} combinations of {result.target}: {result.file}"
        + (f", {result.resumed} of them from an earlier run" if result.resumed else "")
        + (f", {result.refused} refused" if result.refused else "")
    ]
    if result.front is not None and result.pareto is not None:
        x, y = result.pareto
        lines.append(f"{result.picture}: {len(result.front)} rows that no other row beats in {x} and {y}")
        for row in (result.rows[place] for place in result.front):
            point = " ".join(f"{key}={value}" for key, value in row.point.items())
            lines.append(f"  {point}  {x} {row.values[x]:.6g}, {y} {row.values[y]:.6g}")
    return "\n".join(lines)
