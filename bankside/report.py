"""Results of a run of the whole loop as one self-contained HTML page and as a table for the terminal.

Both take the same plain data::

    {
      "title": str,                         # optional
      "evaluations": [dict, ...],           # `bankside eval --json`, same model, context and batch; baseline first
      "sweeps": {system: [dict, ...]},      # optional: the same for several batches; of each point only batch,
                                            #   throughput_tok_s, tpot_ms and capacity.largest_batch are read
      "sim": dict,                          # optional: `bankside sim --json`; with "channel", a channel's decode step
      "synth": dict,                        # optional: `bankside synth --json`
      "commands": [str, ...],               # optional: the commands that make the same again
    }

The page loads nothing from anywhere, holds no date and no path, and is byte-identical for equal data and equal versions of
Matplotlib.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from bankside.constraints.errors import ConfigError
from bankside.constraints.workspace import write_files

from .terminal import FittingTable
from .text import simulation_result

__all__ = ["render_report", "summary_table", "write_report"]

#: Operators of a breakdown in groups, in the order in which they are drawn. What no group names is "other".
GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("attention", "#c8553d", ("attention",)),
    ("attention: queries, append, merge", "#e9a15b", ("attention_query_write", "attention_kv_append", "attention_merge")),
    ("QKV and output projections", "#3f6ea8", ("qkv", "out_projection")),
    ("feed-forward network", "#7fa6d6", ("ffn_gate", "ffn_up", "ffn_down")),
    ("norms and activations", "#9aa5b1", ("attention_norm", "ffn_norm", "final_norm", "ffn_activation")),
    ("all-reduce and pipeline links", "#5d8a66", ("attention_allreduce", "ffn_allreduce", "pipeline_transfer")),
    ("embedding and output matrix", "#8d6fa8", ("embedding", "embedding_projection", "head_projection", "lm_head")),
)
OTHER = "#444444"

ENERGY: tuple[tuple[str, str, str], ...] = (
    ("pim_cell_reads", "bank reads beside the units", "#c8553d"), ("pu_compute", "processing units", "#e9a15b"),
    ("gpu_dram", "external HBM accesses", "#3f6ea8"), ("gpu_caches", "GPU caches", "#7fa6d6"),
    ("gpu_compute", "GPU arithmetic and registers", "#9aa5b1"), ("links", "links between GPUs", "#5d8a66"))

LINES = ("#5b6475", "#c8553d", "#3f6ea8", "#5d8a66", "#8d6fa8")


def write_report(path: str | os.PathLike[str], data: Mapping[str, Any]) -> None:
    """Write the page, whole or not at all.

    Raises
    ------
    :exc:`ConfigError`
        If the data have no evaluation, or the file can't be written.
    """
    path = Path(path)
    write_files(path.parent, {path.name: render_report(data)})


def render_report(data: Mapping[str, Any]) -> str:
    """The page as text; see the module for ``data``."""
    import jinja2
    import markupsafe

    evaluations = list(data.get("evaluations") or [])
    if not evaluations:
        raise ConfigError("a report needs at least one evaluation")
    first = evaluations[0]
    workload = f"{first['model']}, context {first['context']}, batch {first['batch']}"
    if first.get("output_tokens", 1) > 1:
        workload += f", {first['output_tokens']} output tokens"
    parts = [part for part in (
        _latency(evaluations), _throughput(evaluations, data.get("sweeps") or {}), _energy(evaluations),
        _area(evaluations), _unit(evaluations, data.get("synth")), _cosimulation(data.get("sim")),
        _assumptions(evaluations), _provenance(evaluations, data)) if part]
    for number, part in enumerate(parts):
        if part.get("figure"):
            label = str(markupsafe.escape(part["title"]))
            part["figure"] = markupsafe.Markup(_own_names(part["figure"], f"f{number}", label))
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True) \
        .from_string(resources.files("bankside").joinpath("report.html.j2").read_text(encoding="utf-8"))
    shape: dict[str, Any] = {"figure": None, "caption": "", "notes": [], "tables": [], "side_by_side": False, "source": ""}
    return template.render(title=data.get("title") or f"Bankside: {workload}", lead=workload,
                           cards=_cards(evaluations, data), parts=[shape | part for part in parts])


def summary_table(data: Mapping[str, Any]) -> FittingTable:
    """The main figures of every evaluation side by side, and of the unit."""
    evaluations = list(data.get("evaluations") or [])
    if not evaluations:
        raise ConfigError("a summary needs at least one evaluation")
    first = evaluations[0]
    rows: list[tuple[str, ...] | None] = []

    def row(name: str, value: Callable[[Mapping[str, Any]], str]) -> None:
        rows.append((name, *(value(evaluation) for evaluation in evaluations)))

    row("time per output token", lambda e: f"{e['tpot_ms']:.3f} ms")
    row("  attention", lambda e: f"{sum(_group(e)[n] for n in (0, 1)):.3f} ms")
    row("  everything else", lambda e: f"{sum(_group(e)[2:]):.3f} ms")
    row("throughput", lambda e: f"{e['throughput_tok_s']:.1f} tokens/s")
    row("energy per token, as modelled", lambda e: f"{e['energy_mj_per_token']:.1f} mJ")
    row("largest batch at this context", lambda e: str(e["capacity"]["largest_batch"]))
    row("units on a DRAM die", lambda e: _band(e["area"]["units_mm2"], "mm²") if e.get("area") else "–")
    row("  with reduction units, budget", lambda e: f"{_band(e['area']['with_other_percent'], '%')}, "
        f"{e['area']['budget_percent']:g} %" if e.get("area") else "–")
    sim, synth = data.get("sim"), data.get("synth")
    if sim or synth:
        rows.append(None)
        unit = [""] * (len(evaluations) - 1)
        if synth:
            rows.append((f"{synth['unit']} {synth.get('preset') or ''}".strip(), *unit,
                         f"{synth['area_ge'] / 1e3:.1f} kGE, {_clock(synth)}"))
        if sim:
            rows += [(f"co-simulation: {name}", *unit, text) for name, text in simulation_result(sim).figures(sim)]
    columns = [(evaluation["system"], {"justify": "right"}) for evaluation in evaluations]
    return FittingTable([("", {}), *columns], rows, range(1, len(evaluations)),
                        title=f"{first['model']}, context {first['context']}, batch {first['batch']}", title_style="bold")


# Parts of the page ---------------------------------------------------------------------------------------------------


def _cards(evaluations: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> list[dict[str, str]]:
    cards = []
    base = evaluations[0]
    for evaluation in evaluations:
        note = f"{evaluation['throughput_tok_s']:.0f} tokens/s"
        if evaluation is not base:
            note += f", {base['tpot_ms'] / evaluation['tpot_ms']:.2f} times {base['system']}"
        cards.append({"label": f"{evaluation['system']}: time per token", "value": f"{evaluation['tpot_ms']:.2f} ms",
                      "note": note, "state": ""})
    if synth := data.get("synth"):
        target = synth.get("target_clock_mhz")
        meets = target is None or (synth["fmax_mhz"] or 0) >= target
        cards.append({"label": f"{synth['unit']} {synth.get('preset') or ''}", "value": f"{synth['area_ge'] / 1e3:.1f} kGE",
                      "note": f"{_clock(synth)} in {synth['library']}", "state": "" if meets else "bad"})
    if sim := data.get("sim"):
        good = not sim["mismatches"]
        cards.append({"label": "co-simulation", "value": "bit-exact" if good else f"{sim['mismatches']} mismatches",
                      "note": f"{sim['unit']}, {sim['vectors']} results",
                      "state": "good" if good else "bad"})
    return cards


def _group(evaluation: Mapping[str, Any]) -> list[float]:
    """Milliseconds of each of :data:`GROUPS`, and of what none names."""
    breakdown = dict(evaluation["breakdown_ms"])
    out = [sum(breakdown.pop(name, 0.0) for name in names) for _, _, names in GROUPS]
    return [*out, sum(breakdown.values())]


def _latency(evaluations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = [(label, colour) for label, colour, _ in GROUPS] + [("other", OTHER)]
    values = [_group(evaluation) for evaluation in evaluations]
    figure = _stacked([e["system"] for e in evaluations], names, values, "time per output token (ms)", "ms")
    operators = list(dict.fromkeys(name for e in evaluations for name in e["breakdown_ms"]))
    rows = [_row(name.replace("_", " "), *(_number(e["breakdown_ms"].get(name), 4) for e in evaluations))
            for name in operators]
    rows.append(_row("sum", *(f"{e['tpot_ms']:.4f}" for e in evaluations), total=True))
    notes = [f"{e['system']}: {note}" for e in evaluations for note in e.get("notes", [])]
    return {"id": "latency", "title": "Where the time of a token goes", "figure": figure,
            "caption": "Time per output token by operator; means over the output tokens.", "notes": notes,
            "tables": [_table(["operator", *(f"{e['system']} (ms)" for e in evaluations)], rows)]}


def _throughput(evaluations: Sequence[Mapping[str, Any]], sweeps: Mapping[str, Sequence[Mapping[str, Any]]]
                ) -> dict[str, Any] | None:
    curves = {name: sorted(points, key=lambda p: p["batch"]) for name, points in sweeps.items() if points}
    if not curves:
        return None
    here = {e["system"]: (e["batch"], e["throughput_tok_s"]) for e in evaluations}

    def draw(figure: Any) -> None:
        from matplotlib.ticker import FuncFormatter, NullLocator

        axes = figure.add_subplot()
        top = max(p["throughput_tok_s"] for points in curves.values() for p in points)
        limits: dict[int, list[str]] = {}
        for number, (name, points) in enumerate(curves.items()):
            batches = [p["batch"] for p in points]
            axes.plot(batches, [p["throughput_tok_s"] for p in points], color=LINES[number % len(LINES)],
                      marker="os^Dv"[number % 5], markersize=5, linewidth=1.8, linestyle="-" if number else "--",
                      label=name, zorder=3)
            limits.setdefault(points[-1]["capacity"]["largest_batch"], []).append(name)
            if name in here:
                axes.plot(*here[name], marker="o", markersize=11, markerfacecolor="none", zorder=4,
                          markeredgecolor=LINES[number % len(LINES)], linestyle="none")
        for batch, names in limits.items():
            axes.axvline(batch, color="#b3261e", linewidth=1, linestyle=":")
            who = "" if len(names) == len(curves) else f"{', '.join(names)}: "
            axes.text(batch, 0.03 * top, f"{who}full at {batch}  ", rotation=90, ha="right", va="bottom",
                      color="#b3261e", fontsize=9)
        axes.set_xscale("log", base=2)
        axes.set_xticks(sorted({p["batch"] for points in curves.values() for p in points}
                               & {2 ** n for n in range(24)}) or [1])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_ylim(0, 1.06 * top)
        axes.set_xlabel("batch (requests that decode together)")
        axes.set_ylabel("throughput (tokens/s)")
        axes.grid(axis="both", color="#e6e9ef", linewidth=0.8)
        axes.legend(frameon=False, loc="upper left")

    batches = sorted({p["batch"] for points in curves.values() for p in points})
    at = {name: {p["batch"]: p for p in points} for name, points in curves.items()}
    head = ["batch"]
    for name in curves:
        head += [f"{name} (tokens/s)", f"{name} (ms per token)"]
    rows = []
    for batch in batches:
        cells: list[str] = []
        for name in curves:
            point = at[name].get(batch)
            cells += [f"{point['throughput_tok_s']:.1f}", f"{point['tpot_ms']:.3f}"] if point else ["–", "–"]
        rows.append(_row(str(batch), *cells))
    return {"id": "throughput", "title": "Throughput against batch", "figure": _svg(draw, 3.9),
            "caption": "A ring marks the batch of this report; a dotted line the largest batch whose keys and values fit.",
            "tables": [_table(head, rows)]}


def _energy(evaluations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    known = {key for key, _, _ in ENERGY}

    def value(evaluation: Mapping[str, Any], key: str) -> float:
        number = evaluation["energy_breakdown_mj"].get(key, 0.0)
        return float(number) if not isinstance(number, str) else 0.0

    rest = list(dict.fromkeys(key for e in evaluations for key, number in e["energy_breakdown_mj"].items()
                              if key not in known and not isinstance(number, str)))
    names = [(label, colour) for _, label, colour in ENERGY] + [("other", OTHER)]
    values = [[value(e, key) for key, _, _ in ENERGY] + [sum(value(e, key) for key in rest)] for e in evaluations]
    labels = {key: label for key, label, _ in ENERGY}
    keys = list(dict.fromkeys(key for e in evaluations for key in e["energy_breakdown_mj"]))
    keys.sort(key=lambda key: any(isinstance(e["energy_breakdown_mj"].get(key), str) for e in evaluations))
    rows = [_row(labels.get(key, key.replace("_", " ")), *(_number(e["energy_breakdown_mj"].get(key), 3)
                                                          for e in evaluations)) for key in keys]
    rows.append(_row("sum of what is modelled", *(f"{e['energy_mj_per_token']:.3f}" for e in evaluations), total=True))
    return {"id": "energy", "title": "Energy of a token",
            "figure": _stacked([e["system"] for e in evaluations], names, values, "energy per token (mJ)", "mJ"),
            "caption": "Dynamic energy only: what is not modelled is named in the table, not counted as zero.",
            "tables": [_table(["component", *(f"{e['system']} (mJ)" for e in evaluations)], rows)]}


def _area(evaluations: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    area = next((e["area"] for e in evaluations if e.get("area")), None)
    if not area:
        return None
    other = area["other"].replace("mm2", "mm²")
    published = area["published_unit_mm2"] * area["units_per_die"]
    bars = [("published", published), ("this RTL, low end", area["units_mm2"][0]),
            ("this RTL, high end", area["units_mm2"][1])]

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        places = range(len(bars), 0, -1)
        units = [value for _, value in bars]
        axes.barh(places, units, color=["#9aa5b1", "#c8553d", "#c8553d"], height=0.55,
                  label=None, zorder=3)
        axes.barh(places, [area["other_mm2"]] * len(bars), left=units, color="#e3c9a8", height=0.55, zorder=3,
                  label=f"published area of {other}")
        longest = max(*(value + area["other_mm2"] for value in units), area["budget_mm2"])
        most = 1.42 * longest
        axes.axvline(area["budget_mm2"], color="#b3261e", linewidth=1.3, linestyle="--", zorder=4)
        axes.text(area["budget_mm2"], len(bars) + 0.62, f"budget {area['budget_mm2']:.1f} mm² = "
                  f"{area['budget_percent']:g} % of the die", color="#b3261e", ha="center", va="bottom", fontsize=9)
        for place, value in zip(places, units, strict=True):
            total = value + area["other_mm2"]
            axes.text(1.04 * longest, place, f"{value:.1f} + {area['other_mm2']:.1f} mm² = "
                      f"{100 * total / area['die_mm2']:.1f} %", va="center", ha="left", fontsize=10)
        axes.set_yticks(list(places), [name for name, _ in bars])
        axes.set_ylim(0.4, len(bars) + 0.6)
        axes.set_xlim(0, most)
        axes.set_xlabel(f"area on one {area['die_mm2']:g} mm² DRAM die (mm²), {area['units_per_die']} units")
        axes.grid(axis="x", color="#e6e9ef", linewidth=0.8)
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.45, -0.24))

    words = {"within": "within the budget over the whole band", "over": "over the budget over the whole band",
             "undecided": "the band straddles the budget"}
    low, high = area["with_other_percent"]
    verdict = "within" if high <= area["budget_percent"] else "over" if low > area["budget_percent"] else "undecided"
    rows = [
        _row("one unit, measured", f"{area['unit_ge'] / 1e3:.1f} kGE", ""),
        _row("one unit in the DRAM process", _band(area["unit_mm2"], "mm²", 3), f"{area['published_unit_mm2']:g} mm²"),
        _row(f"{area['units_per_die']} units", _band(area["units_mm2"], "mm²"), f"{published:.2f} mm²"),
        _row("share of the die", _band(area["die_percent"], "%"), f"{area['published_units_percent']:.2f} %"),
        _row(f"with {other}", _band(area["with_other_percent"], "%"), f"{area['budget_percent']:g} %"),
        _row("logic process taken as the same generation", area["logic_node"], ""),
        _row("DRAM over logic area", f"{area['density_penalty']:g} times", ""),
    ]
    return {"id": "area", "title": f"Area against the budget: {words[verdict]}", "figure": _svg(draw, 3.0),
            "caption": "Gate equivalents of the synthesised RTL, times a NAND2 of the process, times the density penalty.",
            "tables": [_table(["", "this RTL", "published"], rows)],
            "source": area["source"].replace("mm2", "mm²").replace("um2", "µm²")}


def _unit(evaluations: Sequence[Mapping[str, Any]], synth: Mapping[str, Any] | None) -> dict[str, Any] | None:
    unit = next((e["unit"] for e in evaluations if e.get("unit")), None)
    source = synth or unit
    if not source:
        return None
    tables = [_table(["parameter", "value"], [_row(key.replace("_", " "), _plain(value))
                                              for key, value in (source.get("config") or {}).items()])]
    rows = [_row("unit", f"{source['unit']} {source.get('preset') or ''}"),
            _row("configuration", source.get("config_hash", ""))]
    if synth:
        rows += [
            _row("library", f"{synth['library']}" + (f", effort {synth['effort']}" if synth.get("effort") else "")),
            _row("area", f"{synth['area_um2']:,.0f} µm² = {synth['area_ge'] / 1e3:.1f} kGE"),
            _row("  of it flip-flops", f"{synth['sequential_ge'] / 1e3:.1f} kGE"),
            _row("memories", f"{synth['memory_bits']} bits" + (
                f", {synth['memory_ge_estimate'] / 1e3:.1f} kGE (estimated)" if synth.get("memory_ge_estimate") else "")),
            _row("critical path", f"{synth['critical_path_ns']:.3f} ns" if synth.get("critical_path_ns") else "none"),
            _row("highest clock", _clock(synth))]
        kinds = sorted((synth.get("cells") or {}).items(), key=lambda item: (-item[1], item[0]))[:10]
        if kinds:
            rows.append(_row("most frequent cells", ", ".join(f"{count} {name}" for name, count in kinds)))
    elif unit:
        rows += [_row("area", f"{unit['area_ge'] / 1e3:.1f} kGE"), _row("library", str(unit["library"])),
                 _row("highest clock", f"{unit['fmax_mhz']:.0f} MHz (target {unit['clock_mhz']:g} MHz)")]
    tables.insert(0, _table(["synthesis", ""], rows))
    return {"id": "unit", "title": "The processing unit", "tables": tables, "side_by_side": True}


def _cosimulation(sim: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not sim:
        return None
    rows = [_row(name, text) for name, text in simulation_result(sim).figures(sim)]
    tables = [_table([f"{sim['unit']} against its model", ""], rows)]
    if channel := sim.get("channel"):
        tables.append(_table(["one KV head's decode step on a channel", ""], [
            _row("step", f"{channel['tokens']} tokens over {channel['banks']} banks, {channel['queries']} queries"),
            _row("result beats compared", str(channel["vectors"])), _row("mismatches", str(channel["mismatches"])),
            _row("largest error, banks merged", f"{channel['max_abs_error']:.3g}"),
            _row("time", f"{channel['time_ns']:.1f} ns"),
            _row("time of the memory alone", f"{channel['memory_time_ns']:.1f} ns"),
            _row("stall cycles", str(channel["stall_cycles"])),
            _row("cycles waiting for softmax", str(channel["exposed_softmax_cycles"]))]))
    return {"id": "cosimulation", "title": "Co-simulation of the generated Verilog", "tables": tables,
            "side_by_side": True}


def _assumptions(evaluations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What holds for every system once, then what holds for one."""
    lists = [list(e.get("assumptions") or []) for e in evaluations]
    common = [line for line in lists[0] if all(line in other for other in lists)]
    own = [f"{e['system']}: {line}" for e, lines in zip(evaluations, lists, strict=True) for line in lines
           if line not in common]
    return {"id": "assumptions", "title": "What these figures take for granted", "notes": common + own}


def _provenance(evaluations: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> dict[str, Any]:
    records = list(dict.fromkeys(name for e in evaluations for name in e.get("records") or []))
    versions: dict[str, str] = {}
    for source in (*evaluations, data.get("sim") or {}, data.get("synth") or {}):
        for tool, version in (source.get("tools") or {}).items():
            # An evaluation gives those of each record by the record's name.
            for name, text in (version.items() if isinstance(version, Mapping) else [(tool, version)]):
                versions[str(name)] = str(text)
    tables = [
        _table(["measurement records", "used by"], [
            _row(name, ", ".join(e["system"] for e in evaluations if name in (e.get("records") or [])))
            for name in records] or [_row("none", "")]),
        _table(["tool", "version"], [_row(name, versions[name]) for name in sorted(versions)] or [_row("not told", "")])]
    if commands := data.get("commands"):
        tables.append(_table(["made again by"], [_row(command) for command in commands]))
    return {"id": "provenance", "title": "Records and tools", "tables": tables}


# Tables --------------------------------------------------------------------------------------------------------------


def _row(*cells: str, total: bool = False) -> dict[str, Any]:
    return {"cells": list(cells), "total": total}


def _table(head: Sequence[str], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A table; a column whose cells are all numbers (or missing) is set flush right."""
    columns = range(1, len(head))
    figure = re.compile(r"[–\d.,\s-]*|not modelled")
    numeric = [n for n in columns if rows and all(figure.fullmatch(row["cells"][n]) for row in rows)]
    return {"head": list(head), "rows": list(rows), "numeric": numeric, "caption": ""}


def _number(value: Any, digits: int) -> str:
    return "–" if value is None else value if isinstance(value, str) else f"{value:.{digits}f}"


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _band(pair: Sequence[float], unit: str, digits: int = 2) -> str:
    return f"{pair[0]:.{digits}f} to {pair[1]:.{digits}f} {unit}"


def _clock(synth: Mapping[str, Any]) -> str:
    reached = f"{synth['fmax_mhz']:.0f} MHz" if synth.get("fmax_mhz") else "no path"
    target = synth.get("target_clock_mhz")
    return f"{reached} (target {target:g} MHz)" if target else reached


# Figures -------------------------------------------------------------------------------------------------------------


def _stacked(rows: Sequence[str], names: Sequence[tuple[str, str]], values: Sequence[Sequence[float]], label: str,
             unit: str) -> str:
    """Horizontal stacked bars; the total stands behind each, a segment that has room holds its value."""
    used = [n for n in range(len(names)) if any(row[n] > 0 for row in values)]

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        totals = [sum(row) for row in values]
        most = max(totals) * 1.13 or 1.0
        places = list(range(len(rows), 0, -1))
        left = [0.0] * len(rows)
        for n in used:
            name, colour = names[n]
            widths = [row[n] for row in values]
            axes.barh(places, widths, left=left, color=colour, height=0.6, label=name, edgecolor="white",
                      linewidth=0.8)
            for place, start, width in zip(places, left, widths, strict=True):
                if width > 0.062 * most:
                    axes.text(start + width / 2, place, _short(width), ha="center", va="center", color="white",
                              fontsize=9)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        for place, total in zip(places, totals, strict=True):
            axes.text(total + 0.008 * most, place, f"{_short(total)} {unit}", ha="left", va="center",
                      fontweight="bold")
        axes.set_yticks(places, list(rows))
        axes.set_ylim(0.5, len(rows) + 0.5)
        axes.set_xlim(0, most)
        axes.set_xlabel(label)
        axes.grid(axis="x", color="#e6e9ef", linewidth=0.8)
        axes.set_axisbelow(True)
        figure.legend(*axes.get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=3,
                      handlelength=1.2, handleheight=1.0)

    return _svg(draw, 1.55 + 0.62 * len(rows) + 0.2 * -(-len(used) // 3))


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


@lru_cache(maxsize=1)
def _style() -> Any:
    return {"svg.fonttype": "none", "svg.hashsalt": "bankside", "font.size": 10, "axes.spines.top": False,
            "axes.spines.right": False, "axes.edgecolor": "#9aa5b1", "axes.labelcolor": "#1d2330", "axes.linewidth": 0.8,
            "xtick.color": "#5b6475", "ytick.color": "#1d2330", "font.family": "DejaVu Sans", "axes.unicode_minus": False,
            "ytick.major.size": 0}


def _svg(draw: Callable[[Any], None], height: float, copy: str | os.PathLike[str] | None = None) -> str:
    """SVG text of what ``draw`` puts on a figure of 9 inches width; also a PNG file at ``copy``, to look at."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_style()):
        figure = Figure(figsize=(9, height), layout="constrained")
        draw(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        if copy:
            figure.savefig(copy, format="png", dpi=110)
    text = buffer.getvalue()
    # The prologue has no place within HTML, the size is left to the page, and Verdana is as wide as DejaVu Sans.
    text = text[text.index("<svg"):].replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    return re.sub(r' width="[^"]*pt" height="[^"]*pt"', "", text, count=1)


def _own_names(svg: str, prefix: str, label: str) -> str:
    """Names of elements made unique, because several figures share the page, and a label for those who can't see it."""
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    svg = svg.replace("url(#", f"url(#{prefix}-")
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
