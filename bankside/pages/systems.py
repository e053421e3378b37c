"""Pages of systems: decode steps, steady state, an attention layer. The demo uses some of their parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bankside.models.systems.pam_keys import TierKeys

from ..results.systems import DieArea, Eval, EvalLayer, EvalReference, EvalRuns, EvalWorkload, plain_keys
from ..results.words import GROUPS, band, grouped_ms, number
from .components import (
    COLOURS,
    GRID,
    SEQUENCE,
    Card,
    Chart,
    Page,
    Part,
    Row,
    Table,
    bars,
    beside,
    legend,
    plain,
    short,
    stacked,
    table,
)

__all__ = [
    "area",
    "assumptions",
    "energy",
    "evaluation",
    "latency",
    "layer",
    "reference",
    "runs",
    "steady",
    "throughput",
    "unit",
]

ENERGY: tuple[tuple[str, str, str], ...] = (
    ("pim_cell_reads", "bank reads beside the units", "red"),
    ("pu_compute", "processing units", "orange"),
    ("gpu_dram", "external HBM accesses", "blue"),
    ("gpu_caches", "GPU caches", "sky"),
    ("gpu_compute", "GPU arithmetic and registers", "grey"),
    ("links", "links between GPUs", "green"),
)


# ---- Pages ----------------------------------------------------------------------------------------------------------


def evaluation(result: Eval) -> Page:
    """``bankside eval``: a decode step."""
    load = f"context {result.context:,}, batch {result.batch:,}"
    if result.instances > 1:
        load += f" over {result.instances} instances"
    if result.output_tokens > 1:
        load += f", {result.output_tokens:,} output tokens"
    split = result.parallelism
    attention = grouped_ms(result)[0] + grouped_ms(result)[1]
    lead = (
        f"A token takes {result.tpot_ms:.3f} ms, {100 * attention / result.tpot_ms:.0f} % of it attention; all "
        f"requests together get {short(result.throughput_tok_s)} tokens per second."
    )
    cards = [
        Card("time per output token", f"{result.tpot_ms:.3f} ms", f"attention {attention:.3f} ms"),
        Card("throughput", f"{short(result.throughput_tok_s)} tokens/s", f"batch {result.batch:,}"),
        Card("energy per token", f"{result.energy_mj_per_token:.1f} mJ", "modelled, dynamic"),
        Card("largest batch", f"{result.capacity.largest_batch:,}", "whose KV cache fits at this context"),
        Card("split", f"{split.tensor} × {split.pipeline}", "tensor × pipeline parallelism"),
    ]
    parts = [
        latency([result]),
        _tiers(result),
        energy([result]),
        area([result]),
        unit([result]),
        _splits(result),
        _details(result),
        _own(result),
        assumptions([result]),
    ]
    return Page(f"{result.system}: {result.model}, {load}", lead, tuple(cards), _there(parts))


def steady(result: EvalWorkload) -> Page:
    """``bankside eval --workload``: the steady state."""
    lead = (
        f"In steady state {result.system} decodes {short(result.throughput_tok_s)} tokens per second with "
        f"{result.batch:,.1f} requests in work, each with {result.context:,.0f} tokens in the KV cache."
    )
    cards = (
        Card("throughput", f"{short(result.throughput_tok_s)} tokens/s", f"requests of {result.workload}"),
        Card("batch", f"{result.batch:,.1f}", f"largest {result.largest_batch:,}"),
        Card("context", f"{result.context:,.0f} tokens", f"longest {result.longest_context:,}"),
        Card("preempted", f"{result.preempted:,}", "requests that lost their place", "bad" if result.preempted else ""),
    )
    return Page(
        f"{result.system}: {result.model} with requests of {result.workload}", lead, cards, _there([_splits(result)])
    )


def layer(result: EvalLayer) -> Page:
    """``bankside eval attacc --layer``: a layer of attention."""
    shape = result.layer
    what = f"{shape.tokens:,} tokens, {shape.heads_per_stack} heads of {shape.head_dim}"
    parts = result.energy_breakdown_pj or {}
    return Page(
        f"AttAcc: an attention layer on one stack, {what}",
        f"The layer takes {result.cycles:,} cycles, {result.time_ns / 1e3:,.3f} µs. "
        + (
            f"Cycles equal the public simulator's, its defects included (`{result.quirks}`)."
            if result.quirks
            else "The defects of the public simulator are left out."
        ),
        (
            Card("cycles", f"{result.cycles:,}", f"on {result.memory}"),
            Card("time", f"{result.time_ns / 1e3:,.3f} µs"),
            Card("energy", f"{(result.energy_pj or 0) / 1e6:,.2f} µJ", "of the memory"),
        ),
        (
            Part(
                "Commands",
                bars(sorted(result.commands.items(), key=lambda item: -item[1]), "commands"),
                (table(("command", "count"), [(name, f"{count:,}") for name, count in result.commands.items()]),),
            ),
            Part(
                "Energy",
                bars([(name, value / 1e6) for name, value in parts.items()], "energy (µJ)"),
                (table(("component", "pJ"), [(name, number(value, 1)) for name, value in parts.items()]),),
            )
            if parts
            else Part(""),
        ),
    )


def reference(result: EvalReference) -> Page:
    """``bankside eval --reference FILE``: errors against results of the AttAcc simulator."""
    worst = result.worst_relative_error
    largest = max(worst, key=lambda column: float(worst[column]), default="")
    lead = (
        f"Cycles are exact in {result.exact_cycles} of {result.cycle_rows} rows that have them."
        if result.cycle_rows
        else "No row has cycles."
    )
    rows = [
        (column, f"{100 * result.median_relative_error[column]:.3g}", f"{100 * worst[column]:.3g}")
        for column in result.components
    ]
    return Page(
        f"{result.system} against results of the AttAcc simulator",
        lead,
        (
            Card("rows", f"{len(result.rows):,}", "of the reference"),
            Card("exact cycles", f"{result.exact_cycles:,}", f"of {result.cycle_rows:,} rows"),
            Card("worst error", f"{100 * worst.get(largest, 0):.3g} %", largest),
        ),
        (Part("Errors by component", tables=(table(("component", "median (%)", "worst (%)"), rows),)),),
    )


def runs(result: EvalRuns) -> Page:
    """``bankside eval --reference FILE``: GPUs against timed runs."""
    rules = list(result.rows[0].rules)
    rows = [
        (
            one.model,
            str(one.gpus),
            str(one.batch),
            f"{one.measured_ms_per_step:.2f}",
            *(number(one.rules[rule].share_of_measured, 3) for rule in rules),
            number(one.rules[rules[0]].host_ms_per_step, 2),
        )
        for one in result.rows
    ]
    head = ("model", "GPUs", "batch", "a step took (ms)", *(f"kernels, {rule}" for rule in rules), "host (ms)")
    return Page(
        f"{result.system} against timed runs",
        "Time of kernels over the measured time of a run, by rule of the GPU. The rest is the host's.",
        (Card("runs", f"{len(result.rows):,}", f"of {result.prompt_tokens} + {result.output_tokens} tokens"),),
        (Part("Runs", tables=(table(head, rows),)),),
    )


def _there(parts: Sequence[Part | None]) -> tuple[Part, ...]:
    return tuple(part for part in parts if part is not None)


# ---- Parts ----------------------------------------------------------------------------------------------------------


def latency(results: Sequence[Eval]) -> Part:
    """Where the time of a token goes, by operator, side by side."""
    names = [(label, COLOURS[colour]) for label, colour, _ in GROUPS] + [("other", COLOURS["dark"])]
    chart = stacked(
        [one.system for one in results],
        names,
        [grouped_ms(one) for one in results],
        "time per output token (ms)",
        "ms",
        "Time per output token by operator; means over the output tokens.",
    )
    operators = list(dict.fromkeys(name for one in results for name in one.breakdown_ms))
    rows: list[Any] = [
        (name.replace("_", " "), *(number(one.breakdown_ms.get(name), 4) for one in results)) for name in operators
    ]
    rows.append(Row(("sum", *(f"{one.tpot_ms:.4f}" for one in results)), total=True))
    return Part(
        "Where the time of a token goes",
        chart,
        (table(("operator", *(f"{one.system} (ms)" for one in results)), rows),),
    )


def throughput(results: Sequence[Eval], sweeps: Mapping[str, Sequence[Eval]]) -> Part | None:
    """Throughput against batch of several systems."""
    curves = {name: sorted(points, key=lambda p: p.batch) for name, points in sweeps.items() if points}
    if not curves:
        return None
    here = {one.system: (one.batch, one.throughput_tok_s) for one in results}

    def draw(figure: Any, narrow: bool) -> None:
        from matplotlib.ticker import FuncFormatter, NullLocator

        axes = figure.add_subplot()
        top = max(p.throughput_tok_s for points in curves.values() for p in points)
        limits: dict[int, list[str]] = {}
        for place, (name, points) in enumerate(curves.items()):
            colour = SEQUENCE[place % len(SEQUENCE)]
            axes.plot(
                [p.batch for p in points],
                [p.throughput_tok_s for p in points],
                color=colour,
                marker="os^Dv"[place % 5],
                markersize=5,
                linewidth=1.8,
                linestyle="-" if place else "--",
                label=name,
                zorder=3,
            )
            limits.setdefault(points[-1].capacity.largest_batch, []).append(name)
            if name in here:
                axes.plot(
                    *here[name],
                    marker="o",
                    markersize=11,
                    markerfacecolor="none",
                    zorder=4,
                    markeredgecolor=colour,
                    linestyle="none",
                )
        for batch, names in limits.items():
            axes.axvline(batch, color=COLOURS["limit"], linewidth=1, linestyle=":")
            who = "" if len(names) == len(curves) else f"{', '.join(names)}: "
            axes.text(
                batch,
                0.03 * top,
                f"{who}full at {batch}  ",
                rotation=90,
                ha="right",
                va="bottom",
                color=COLOURS["limit"],
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks(
            sorted(
                {p.batch for points in curves.values() for p in points} & {(4 if narrow else 2) ** n for n in range(24)}
            )
            or [1]
        )
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_ylim(0, 1.06 * top)
        axes.set_xlabel("batch (requests that decode together)")
        axes.set_ylabel("throughput (tokens/s)")
        axes.grid(axis="both", color=GRID, linewidth=0.8)
        legend(figure, axes, narrow)

    batches = sorted({p.batch for points in curves.values() for p in points})
    at = {name: {p.batch: p for p in points} for name, points in curves.items()}
    head = ["batch"]
    for name in curves:
        head += [f"{name} (tokens/s)", f"{name} (ms per token)"]
    rows = []
    for batch in batches:
        cells: list[str] = []
        for name in curves:
            point = at[name].get(batch)
            cells += [f"{point.throughput_tok_s:.1f}", f"{point.tpot_ms:.3f}"] if point else ["–", "–"]
        rows.append((str(batch), *cells))
    caption = "A ring marks the batch of this page; a dotted line the largest batch whose keys and values fit."
    return Part("Throughput against batch", Chart(draw, 4.2, 3.8, caption), (table(head, rows),))


def energy(results: Sequence[Eval]) -> Part:
    """Energy of a token by component, side by side."""
    known = {key for key, _, _ in ENERGY}

    def value(one: Eval, key: str) -> float:
        found = one.energy_breakdown_mj.get(key, 0.0)
        return float(found) if not isinstance(found, str) else 0.0

    rest = list(
        dict.fromkeys(
            key
            for one in results
            for key, found in one.energy_breakdown_mj.items()
            if key not in known and not isinstance(found, str)
        )
    )
    names = [(label, COLOURS[colour]) for _, label, colour in ENERGY]
    names += [
        (key.replace("_", " "), COLOURS[("violet", "sand", "dark", "limit")[place % 4]])
        for place, key in enumerate(rest)
    ]
    values = [[value(one, key) for key in (*(key for key, _, _ in ENERGY), *rest)] for one in results]
    labels = {key: label for key, label, _ in ENERGY}
    keys = list(dict.fromkeys(key for one in results for key in one.energy_breakdown_mj))
    keys.sort(key=lambda key: any(isinstance(one.energy_breakdown_mj.get(key), str) for one in results))
    rows: list[Any] = [
        (labels.get(key, key.replace("_", " ")), *(number(one.energy_breakdown_mj.get(key), 3) for one in results))
        for key in keys
    ]
    rows.append(
        Row(("sum of modelled components", *(f"{one.energy_mj_per_token:,.3f}" for one in results)), total=True)
    )
    return Part(
        "Energy of a token",
        stacked(
            [one.system for one in results],
            names,
            values,
            "energy per token (mJ)",
            "mJ",
            "Dynamic energy only; the table names the components that are not modelled.",
        ),
        (table(("component", *(f"{one.system} (mJ)" for one in results)), rows),),
    )


def area(results: Sequence[Eval]) -> Part | None:
    """Area of the units on a DRAM die against the published budget."""
    each = [(one.system, one.area) for one in results if one.area]
    if not each:
        return None
    found = each[0][1]
    other = found.other
    published = found.published_unit_mm2 * found.units_per_die
    shown = [("published", published)]
    for name, one in each:
        who = "this RTL" if len(each) == 1 else name
        shown += [(f"{who}, low end", one.units_mm2[0]), (f"{who}, high end", one.units_mm2[1])]

    def draw(figure: Any, narrow: bool) -> None:
        axes = figure.add_subplot()
        places = range(len(shown), 0, -1)
        units = [value for _, value in shown]
        colours = [COLOURS["grey"], *(SEQUENCE[1 + place % 5] for place in range(len(each)) for _ in range(2))]
        axes.barh(places, units, color=colours, height=0.55, zorder=3)
        axes.barh(
            places,
            [found.other_mm2] * len(shown),
            left=units,
            color=COLOURS["sand"],
            height=0.55,
            zorder=3,
            label=f"published area of {other}".replace("mm2", "mm²"),
        )
        longest = max(*(value + found.other_mm2 for value in units), found.budget_mm2)
        axes.axvline(found.budget_mm2, color=COLOURS["limit"], linewidth=1.3, linestyle="--", zorder=4)
        axes.text(
            found.budget_mm2,
            len(shown) + 0.62,
            f"budget {found.budget_mm2:.1f} mm² = {found.budget_percent:g} % of the die",
            color=COLOURS["limit"],
            ha="center",
            va="bottom",
        )
        for place, value in zip(places, units, strict=True):
            total = value + found.other_mm2
            percent = f"{100 * total / found.die_mm2:.1f} %"
            axes.text(
                1.04 * longest,
                place,
                percent if narrow else f"{value:.1f} + {found.other_mm2:.1f} mm² = {percent}",
                va="center",
                ha="left",
            )
        axes.set_yticks(list(places), beside((name for name, _ in shown), narrow))
        axes.set_ylim(0.4, len(shown) + 0.6)
        axes.set_xlim(0, 1.42 * longest)
        axes.set_xlabel(f"area (mm²) of {found.units_per_die} units on a {found.die_mm2:g} mm² DRAM die")
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        legend(figure, axes, narrow)

    words = {
        "within": "within the budget over the whole band",
        "over": "over the budget over the whole band",
        "undecided": "the band straddles the budget",
    }

    def verdict(one: DieArea) -> str:
        low, high = one.with_other_percent
        return words["within" if high <= one.budget_percent else "over" if low > one.budget_percent else "undecided"]

    def row(name: str, value: Callable[[DieArea], str], published: str = "") -> tuple[str, ...]:
        return (name, *(value(one) for _, one in each), published)

    rows = [
        row("one unit, measured", lambda one: f"{one.unit_ge / 1e3:.1f} kGE"),
        row(
            "one unit in the DRAM process",
            lambda one: band(one.unit_mm2, "mm²", 3),
            f"{found.published_unit_mm2:g} mm²",
        ),
        row(f"{found.units_per_die} units", lambda one: band(one.units_mm2, "mm²"), f"{published:.2f} mm²"),
        row("share of the die", lambda one: band(one.die_percent, "%"), f"{found.published_units_percent:.2f} %"),
        row(f"with {other}", lambda one: band(one.with_other_percent, "%"), f"{found.budget_percent:g} %"),
        row("  both ends at the customary utilisation", lambda one: band(one.placed_percent, "%")),
        row("logic process taken as the same generation", lambda one: str(one.logic_node)),
        row("DRAM over logic area", lambda one: f"{one.density_penalty:g} times"),
    ]
    caption = "Gate equivalents of the synthesised RTL, times a NAND2 of the process, times the density penalty."
    return Part(
        "Area against the budget: "
        + (verdict(found) if len(each) == 1 else "; ".join(f"{name}, {verdict(one)}" for name, one in each)),
        Chart(draw, 2.0 + 0.5 * len(shown) - 0.5, 2.2 + 0.5 * len(shown) - 0.5, caption),
        (table(("", *(["this RTL"] if len(each) == 1 else [name for name, _ in each]), "published"), rows),),
        text=found.source,
    )


def unit(results: Sequence[Eval]) -> Part | None:
    """The unit: results of its synthesis, and its configuration."""
    source = next((plain_keys(one.unit) for one in results if one.unit is not None), None)
    if not source:
        return None
    rows = [
        ("unit", f"{source['unit']} {source.get('preset') or ''}"),
        ("configuration", source.get("config_hash", "")),
        ("area", f"{source['area_ge'] / 1e3:.1f} kGE"),
        *([("library", str(source["library"]))] if source.get("library") else []),
        ("highest clock", f"{source['fmax_mhz']:.0f} MHz (target {source['clock_mhz']:g} MHz)"),
        *([("in its own process", source["process"]["sentence"])] if source.get("process") else []),
    ]
    config = source.get("config") or source.get("settings") or {}
    tables = [table(("synthesis", ""), rows)]
    if config:
        tables.append(configuration(config))
    return Part("The processing unit", tables=tuple(tables), side_by_side=True)


def configuration(config: Mapping[str, Any]) -> Table:
    """A configuration as parameters and values; parameters of parts have the part's name in front."""
    rows = []
    for key, value in config.items():
        if isinstance(value, Mapping):
            rows += [(f"{key} {inner}".replace("_", " "), plain(one)) for inner, one in value.items()]
        else:
            rows.append((key.replace("_", " "), plain(value)))
    return table(("parameter", "value"), rows)


def assumptions(results: Sequence[Eval]) -> Part:
    """Assumptions of all systems once, then the assumptions of each system."""
    lists = [list(one.assumptions) for one in results]
    common = [line for line in lists[0] if all(line in other for other in lists)]
    own = [
        f"{one.system}: {line}"
        for one, lines in zip(results, lists, strict=True)
        for line in lines
        if line not in common
    ]
    return Part("Assumptions of these figures", notes=(*common, *own))


def _tiers(result: Eval) -> Part | None:
    if not isinstance(result, TierKeys):
        return None
    tiers = result.attention.tiers
    rows = [
        (
            name,
            f"{one.tokens:,}",
            f"{one.capacity_tokens:,}",
            f"{one.active_percent:.1f} %",
            f"{one.total_us:.2f}",
            band(one.with_other_percent, "%", 1),
            f"{one.published_percent:g} %",
        )
        for name, one in tiers.items()
    ]
    return Part(
        "Tiers of memory",
        bars(
            [(name, one.total_us) for name, one in tiers.items()],
            "attention of a layer (µs)",
            caption="Tiers attend at the same time: the slowest decides.",
        ),
        (
            table(
                (
                    "tier",
                    "tokens held",
                    "room for",
                    "active tokens",
                    "time (µs a layer)",
                    "die share",
                    "published share",
                ),
                rows,
            ),
        ),
    )


def _splits(result: Eval | EvalWorkload) -> Part | None:
    splits = result.splits or []
    if len(splits) < 2:
        return None
    works = [one for one in splits if one.throughput_tok_s is not None]
    chart = (
        bars(
            [(f"{one.tensor} × {one.pipeline}", one.throughput_tok_s or 0.0) for one in works],
            "throughput (tokens/s)",
            caption="Tensor × pipeline parallelism.",
        )
        if works
        else None
    )
    return Part(
        "Splits that were tried",
        chart,
        (
            table(
                ("split", "tokens/s", "why not"),
                [(f"{one.tensor} × {one.pipeline}", number(one.throughput_tok_s, 1), one.why or "") for one in splits],
            ),
        ),
    )


def _details(result: Eval) -> Part | None:
    values = plain_keys(result.attention)
    return _table("Attention in figures", {key: one for key, one in values.items() if not isinstance(one, Mapping)})


def _own(result: Eval) -> Part | None:
    """Keys that the kind of system adds."""
    return _table(f"More figures of {result.system}", result.own_figures())


def _table(title: str, values: Mapping[str, Any]) -> Part | None:
    rows = [(re.sub("[_.]", " ", key), plain(value)) for key, value in values.items() if value is not None]
    return Part(title, tables=(table(("", "value"), rows),), folded=True) if rows else None
