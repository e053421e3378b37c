"""Figures of a paper redrawn: the paper's values beside ours, as far as its text or tables give them."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bankside.constraints.errors import ConfigError, nearest
from bankside.constraints.workspace import write_files
from bankside.models.papers import Evidence, load_paper, series_of

from .records import RecordFolder
from .repro import MEASURE_S, repro

__all__ = ["FIGURES", "Bar", "Figure", "Panel", "draw", "figure_names"]


@dataclass(frozen=True)
class Bar:
    """A pair of bars: ``key`` leads to a part of the claim's value, slashes between keys and places of a list; empty for
    the whole."""

    label: str
    claim: str
    key: str = ""


@dataclass(frozen=True)
class Panel:
    title: str
    axis: str
    bars: tuple[Bar, ...]
    log: bool = False
    #: Height of a line that means "no difference".
    neutral: float | None = None


@dataclass(frozen=True)
class SeriesPanel:
    """Values of ours that the paper does not print: groups of bars; ``name`` is that of :func:`series_of`."""

    title: str
    axis: str
    name: str
    groups: str
    #: Inches.
    width: float = 6.0


@dataclass(frozen=True)
class Figure:
    title: str
    panels: tuple[Panel | SeriesPanel, ...]

    @property
    def claims(self) -> list[str]:
        return list(dict.fromkeys(bar.claim for panel in self.panels if isinstance(panel, Panel) for bar in panel.bars))

    @property
    def series(self) -> list[str]:
        return [panel.name for panel in self.panels if isinstance(panel, SeriesPanel)]


#: By paper and name.
FIGURES: dict[str, dict[str, Figure]] = {"pam": {
    "table2": Figure("PAM, Table 2: area", (
        Panel("one unit", "mm²", (
            Bar("HBM unit", "pam-area-hbm-pu", "mm2"), Bar("HBM\nreduction unit", "pam-area-hbm-ru", "mm2"),
            Bar("DDR unit", "pam-area-ddr-pu", "pu_mm2"), Bar("DDR\nreduction unit", "pam-area-ddr-pu", "ru_mm2"),
            Bar("interface", "pam-if-area"))),
        Panel("all units of a die, chip or controller", "mm²", (
            Bar("HBM die", "pam-area-hbm", "mm2"), Bar("HBM die,\nolder process", "pam-area-hbm-old", "mm2"),
            Bar("DDR chip", "pam-area-ddr", "mm2"), Bar("SSD\ncontroller", "pam-area-ssd", "mm2"))),
        Panel("share of the die", "%", (
            Bar("HBM die", "pam-area-hbm", "percent"), Bar("HBM die,\nolder process", "pam-area-hbm-old", "percent"),
            Bar("DDR chip", "pam-area-ddr", "percent"), Bar("SSD\ncontroller", "pam-area-ssd", "percent"),
            Bar("interface,\nlogic die", "pam-area-if-hbm"), Bar("interface,\nSSD contr.", "pam-area-if-ssd"))))),
    "9": Figure("PAM, Figure 9: throughput of conversations", (
        Panel("by model, over vLLM-offloading", "times as fast", (
            Bar("Qwen2.5-32B", "pam-thr-online", "qwen2.5-32b"), Bar("LLaMA3-70B", "pam-thr-online", "llama3-70b"),
            Bar("OPT-175B", "pam-thr-online", "opt-175b"), Bar("mean", "pam-thr-online-avg")), True, 1.0),
        Panel("by workload", "times as fast", (
            Bar("WildChat", "pam-thr-wild", "wildchat"), Bar("ShareGPT", "pam-thr-wild", "sharegpt")), True, 1.0),
        Panel("over LS-PIM", "times as fast", (Bar("mean", "pam-thr-lspim"),), True, 1.0))),
    "10": Figure("PAM, Figure 10: throughput of long contexts", (
        Panel("over vLLM-offloading", "times as fast", (
            Bar("LLaMA3-70B\narxiv_sum", "pam-thr-off", "llama3-70b/arxiv_sum"),
            Bar("LLaMA3-70B\nwrite_doc", "pam-thr-off", "llama3-70b/write_doc"),
            Bar("OPT-175B\narxiv_sum", "pam-thr-off", "opt-175b/arxiv_sum"),
            Bar("OPT-175B\nwrite_doc", "pam-thr-off", "opt-175b/write_doc"), Bar("mean", "pam-thr-off-avg")), True, 1.0),
        Panel("L-PIM, the SSD's share", "%", (
            Bar("of KV\n(at least)", "pam-lpim-ssd", "min_kv_percent"),
            Bar("of time\n(at least)", "pam-lpim-ssd", "min_time_percent"))))),
    "11": Figure("PAM, Figure 11: energy per token", (
        Panel("saved by PAM against", "% (from least to most)", (
            Bar("vLLM-\noffloading", "pam-energy-vllm"), Bar("L-PIM", "pam-energy-lpim"),
            Bar("LS-PIM\n(attention)", "pam-energy-lspim")), False, 0.0),)),
    "12": Figure("PAM, Figure 12: what each part gives to attention", (
        *(Panel(f"{size} batch", "times as fast", (
            Bar("over LS-PIM", claim, "vs_lspim"), Bar("over PAM\nwithout its\nattention", claim, "vs_no_pamattention"),
            Bar("over PAM\nwithout KV\nmapping", claim, "vs_no_mapping"),
            Bar("over PAM\nwithout KV\nscheduling", claim, "vs_no_scheduling")), True, 1.0)
          for size, claim in (("small", "pam-abl-small"), ("large", "pam-abl-large"))),)),
    "13": Figure("PAM, Figure 13: more devices", (
        Panel("throughput over L-PIM, all configurations", "times as fast (from least to most)",
              (Bar("write_doc", "pam-scale"),), True, 1.0),)),
}, "lol-pim": {
    "table6": Figure("LoL-PIM, Table 6: matrix by vector on a module", (
        SeriesPanel("ours", "µs", "matrices", "inputs x outputs"),
        Panel("cycles apart from the vendor's library", "%", tuple(
            Bar(shape.replace("x", "\nx "), "lolpim-val-sim", shape)
            for shape in ("4096x8192", "4096x16384", "8192x4096", "12288x12288"))))),
    "table8": Figure("LoL-PIM, Table 8: Musique", tuple(
        Panel(title, axis, tuple(
            Bar(f"{size}\n{label}", f"lolpim-t{size.lower()}", f"{key}/{place}") for size in ("7B", "14B", "72B")
            for label, key in (("none", "pim"), ("without\ntwo sets", "arch_dpa"), ("all", "arch_dpa_io"))))
        for place, title, axis in ((0, "throughput", "tokens/s"), (1, "utilisation", "%")))),
    **{number: Figure(f"LoL-PIM, Figure {number}: throughput by memory, Qwen1.5-{size}, Musique", (
        SeriesPanel("ours, best split of each", "tokens/s", f"throughput-{size.lower()}", "GB", 8.0),
        Panel(f"{where}: speed-up", "times as fast", (
            Bar("GPUs with\nGDDR", claim, "vs_gpu_gddr"), Bar("PIM", claim, "vs_pim")), False, 1.0)))
       for number, size, claim, where in (("9", "7B", "lolpim-thr-7b", "1024 GB"),
                                          ("10", "72B", "lolpim-thr-72b", "to 1024 GB"))},
    "11": Figure("LoL-PIM, Figure 11: time per token, Qwen1.5-72B, 1024 GB, Musique", (
        SeriesPanel("ours, techniques added up", "µs per token of all requests", "latency", "techniques"),
        Panel("less by all techniques", "%", (Bar("at least", "lolpim-lat-comb", "min_percent"),)),
        Panel("alone over hybrid", "times as fast", (Bar("at most", "lolpim-hyb-gap", "max_ratio"),), False, 1.0))),
    "12": Figure("LoL-PIM, Figure 12: splits of Qwen1.5-7B, Musique", (
        SeriesPanel("ours, 4 nodes", "tokens/s", "splits", "tensor x pipeline"),
        Panel("4 and 16 nodes", "times as fast (at most)", (
            Bar("lazy over\nstatic", "lolpim-dpa-perf", "max_ratio"),
            Bar("best over\nworst split", "lolpim-par-gap", "max_ratio")), False, 1.0),
        Panel("best split moves", "% (at most)", (Bar("gain", "lolpim-par-shift", "max_percent"),)))),
}}

_PAPER, _OURS, _INK = "#9fb3c8", "#0072b2", "#2b2b2b"
#: Of a panel of series, the last ours.
_SERIES = ("#8c8c8c", "#c9c9c9", "#e69f00", "#009e73", "#56b4e9", "#0072b2")


def figure_names(paper: str) -> list[str]:
    return list(FIGURES.get(paper, {}))


def draw(paper: str, name: str, output: str | None = None, *, records: str | None = None, measure: bool = True,
         limit_s: float = MEASURE_S, quiet: bool = False) -> dict[str, Any]:
    """Compute the claims of a figure and draw it; the rows, and the file as ``figure``.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown paper or figure, or a file that can't be written.
    """
    paper = load_paper(paper).name
    if name not in FIGURES.get(paper, {}):
        raise ConfigError(nearest(f"figure of {paper}", name, figure_names(paper)))
    file = Path(output or os.path.join("out", "repro", f"{paper}-{name}.png"))
    if file.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"--output: a figure is .png, .svg or .pdf, not '{file.name}'")
    write_files(file.parent, {})  # tells at once if it can't be written
    figure = FIGURES[paper][name]
    result = repro(paper, claims=",".join(figure.claims), records=records, measure=measure, limit_s=limit_s,
                   quiet=quiet)
    told = {"series": _computed(paper, figure, records, quiet)} if figure.series else {}
    write_files(file.parent, {file.name: picture(figure, result["claims"], file.suffix.lower()[1:],
                                                 series=told.get("series", {}))})
    return {**result, **told, "figure": str(file)}


def _computed(paper: str, figure: Figure, records: str | None, quiet: bool) -> dict[str, Any]:
    evidence = Evidence(RecordFolder(records), progress=lambda text: None if quiet else print(text, file=sys.stderr))
    return {name: series_of(paper, name, evidence) for name in figure.series}


def picture(figure: Figure, rows: Sequence[dict[str, Any]], form: str = "png", *, dpi: int = 160,
            series: Mapping[str, Any] | None = None) -> bytes:
    """The figure as a file of this form; ``series`` by name for its panels of series."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    by_id = {row["id"]: row for row in rows}
    style: dict[Any, Any] = {
        "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#8a8a8a",
        "axes.titlesize": 10, "text.color": _INK, "axes.labelcolor": _INK, "xtick.color": _INK, "ytick.color": _INK,
        "svg.hashsalt": "bankside"}
    with matplotlib.rc_context(style):
        widths = [max(len(panel.bars), 1.7) if isinstance(panel, Panel) else panel.width for panel in figure.panels]
        canvas = Canvas(figsize=(max(sum(widths) * 0.92 + 0.9 * len(widths), 6.2), 4.2), layout="constrained")
        FigureCanvasAgg(canvas)
        plots = canvas.subplots(1, len(figure.panels), width_ratios=widths, squeeze=False)[0]
        for axes, panel in zip(plots, figure.panels, strict=True):
            if isinstance(panel, SeriesPanel):
                _groups(axes, panel, (series or {})[panel.name])
            else:
                _panel(axes, panel, by_id)
        canvas.suptitle(figure.title, fontsize=12, fontweight="bold", x=0.01, ha="left")
        from matplotlib.patches import Patch

        canvas.legend(handles=[Patch(color=_PAPER, label="paper"), Patch(color=_OURS, label="this project")],
                      loc="outside upper right", ncols=2, frameon=False)
        buffer = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
        canvas.savefig(buffer, format=form, dpi=dpi, metadata=metadata)
    return buffer.getvalue()


def _part(value: Any, key: str) -> Any:
    for word in filter(None, key.split("/")):
        if isinstance(value, list):
            value = value[int(word)]
        else:
            value = value.get(word) if isinstance(value, dict) else None
    return value


def _ends(value: Any) -> tuple[float, float] | None:
    """Least and most of what a bar shows; None if there is nothing to show."""
    numbers = [value] if isinstance(value, int | float) else value
    if not isinstance(numbers, list) or not numbers:
        return None
    return float(min(numbers)), float(max(numbers))


def _panel(axes: Any, panel: Panel, rows: dict[str, dict[str, Any]]) -> None:
    span = []
    pairs = []
    for bar in panel.bars:
        row = rows[bar.claim]
        pair = _ends(_part(row["paper"], bar.key)), _ends(_part(row["ours"], bar.key))
        pairs.append(pair)
        span += [end for ends in pair if ends for end in ends]
    high, low = max(span), min(span)
    if panel.log:
        axes.set_yscale("log")
        floor = min(low, panel.neutral or low) / 1.6
        axes.set_ylim(floor, high * 2.2)
    else:
        floor = min(0.0, low * 1.15)
        axes.set_ylim(floor, high * 1.22)
    bottom = floor if panel.log else 0.0
    for k, (paper, ours) in enumerate(pairs):
        _bar(axes, k - 0.2, paper, _PAPER, bottom, panel.log)
        if ours:
            _bar(axes, k + 0.2, ours, _OURS, bottom, panel.log)
        else:
            # Beside the paper's bar, from the foot of the axis
            axes.annotate("not\nchecked", (k + 0.2, bottom), xytext=(0, 4), textcoords="offset points", ha="center",
                          va="bottom", fontsize=7, color="#6b6b6b", rotation=90)
    if panel.neutral is not None:
        axes.axhline(panel.neutral, color="#8a8a8a", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    axes.set_xticks(range(len(panel.bars)), [bar.label for bar in panel.bars], fontsize=8)
    margin = 0.6 if len(panel.bars) > 1 else 0.9
    axes.set_xlim(-margin, len(panel.bars) - 1 + margin)
    axes.tick_params(axis="x", length=0)
    if panel.log:
        from matplotlib.ticker import FuncFormatter, NullLocator

        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_yticks(_ticks(floor, high * 2.2))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylabel(panel.axis)
    axes.set_title(panel.title, loc="left")
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)


def _groups(axes: Any, panel: SeriesPanel, series: Mapping[str, Mapping[str, float | None]]) -> None:
    places = list(dict.fromkeys(place for values in series.values() for place in values))
    width = 0.84 / len(series)
    for k, ((name, values), colour) in enumerate(zip(series.items(), _SERIES[-len(series):], strict=True)):
        for at, place in enumerate(places):
            value, x = values.get(place), at + (k - (len(series) - 1) / 2) * width
            text = "–" if value is None else _number(value)
            if value is not None:
                axes.bar(x, value, 0.94 * width, color=colour)
            axes.annotate(text, (x, value or 0), xytext=(0, 2), textcoords="offset points", ha="center", va="bottom",
                          fontsize=7, rotation=0 if value is None else 90)
        axes.bar(0, 0, color=colour, label=name)
    axes.set_xticks(range(len(places)), places, fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.margins(y=0.16)
    axes.set_xlabel(panel.groups)
    axes.set_ylabel(panel.axis)
    axes.set_title(panel.title, loc="left")
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=8, loc="best")


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten, thinned out if there are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high < 200 * low else (1,)
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]


def _bar(axes: Any, x: float, ends: tuple[float, float] | None, colour: str, bottom: float, log: bool) -> None:
    if ends is None:
        return
    low, high = ends
    if low == high:
        axes.bar(x, high - bottom, 0.36, bottom=bottom, color=colour)
        text = _number(high)
    else:  # an interval floats
        axes.bar(x, high - low, 0.36, bottom=low, color=colour)
        text = f"{_number(low)}\nto {_number(high)}"
    axes.annotate(text, (x, high if high >= bottom else bottom), xytext=(0, 2), textcoords="offset points", ha="center",
                  va="bottom", fontsize=7.5)


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
