"""Figures of a paper redrawn: our values beside the paper's, if its text or tables give them."""

from __future__ import annotations

import io
import math
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bankside.constraints.core.errors import ConfigError, nearest
from bankside.constraints.core.workspace import write_files
from bankside.models.papers import VERDICTS, Evidence, Figure, Panel, SeriesPanel, figures_of, load_paper, series_of

from ..evidence.records import RecordFolder
from ..results.papers import ClaimRow
from ..results.papers import Figure as Drawn
from .repro import HEADINGS, MEASURE_S, by_category, repro

__all__ = ["caption", "draw", "picture"]


_PAPER, _OURS, _INK = "#9fb3c8", "#0072b2", "#2b2b2b"
#: Colours of a panel of series; the last series is ours.
_SERIES = ("#7b5ea7", "#4d4d4d", "#cc79a7", "#8c8c8c", "#c9c9c9", "#e69f00", "#009e73", "#56b4e9", "#0072b2")


def draw(
    paper: str,
    name: str,
    output: str | None = None,
    *,
    records: str | None = None,
    measure: bool = True,
    limit_s: float = MEASURE_S,
    quiet: bool = False,
) -> Drawn:
    """Compute the claims of a figure and draw it.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown paper or figure, or a file that can't be written.
    """
    paper = load_paper(paper).name
    figures = figures_of(paper)
    if name not in figures:
        raise ConfigError(nearest(f"figure of {paper}", name, figures))
    file = Path(output or os.path.join("out", "repro", f"{paper}-{name}.png"))
    if file.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"--output: a figure is .png, .svg or .pdf, not '{file.name}'")
    write_files(file.parent, {})  # fails at once if it can't be written
    figure = figures[name]
    result = repro(
        paper, claims=",".join(figure.claims), records=records, measure=measure, limit_s=limit_s, quiet=quiet
    )
    series = _computed(paper, figure, records, quiet)
    write_files(file.parent, {file.name: picture(figure, result.claims, file.suffix.lower()[1:], series=series)})
    drawn = Drawn(**dict(result), figure=str(file))
    if series:
        drawn.series = series
    return drawn


def _computed(paper: str, figure: Figure, records: str | None, quiet: bool) -> dict[str, Any]:
    evidence = Evidence(RecordFolder(records), progress=lambda text: None if quiet else print(text, file=sys.stderr))
    return {name: series_of(paper, name, evidence) for name in figure.series}


def picture(
    figure: Figure,
    rows: Sequence[ClaimRow],
    form: str = "png",
    *,
    dpi: int = 160,
    series: Mapping[str, Any] | None = None,
) -> bytes:
    """The figure as a file of this form; ``series`` by name for its panels of series."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    by_id = {row.id: row for row in rows}
    style: dict[Any, Any] = {
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#8a8a8a",
        "axes.titlesize": 10,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "svg.hashsalt": "bankside",
    }
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

        canvas.legend(
            handles=[Patch(color=_PAPER, label="paper"), Patch(color=_OURS, label="this project")],
            loc="outside upper right",
            ncols=2,
            frameon=False,
        )
        if rows:
            canvas.supxlabel(caption(rows), fontsize=8, x=0.01, ha="left", color="#6b6b6b")
        buffer = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
        canvas.savefig(buffer, format=form, dpi=dpi, metadata=metadata)
    return buffer.getvalue()


def caption(rows: Sequence[ClaimRow]) -> str:
    """Verdicts of the claims that a figure shows, apart by category."""
    told = []
    for group, some in by_category(rows).items():
        counts = Counter(row.verdict for row in some)
        told.append(
            f"{HEADINGS[group]}: "
            + ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
        )
    return ". ".join(told) + "."


def _part(value: Any, key: str) -> Any:
    for word in filter(None, key.split("/")):
        if isinstance(value, list):
            value = value[int(word)]
        else:
            value = value.get(word) if isinstance(value, dict) else None
    return value


def _ends(value: Any) -> tuple[float, float] | None:
    """Smallest and largest value of a bar; None if it has no value."""
    numbers = [value] if isinstance(value, int | float) else value
    if not isinstance(numbers, list) or not numbers:
        return None
    return float(min(numbers)), float(max(numbers))


def _panel(axes: Any, panel: Panel, rows: Mapping[str, ClaimRow]) -> None:
    span = []
    pairs = []
    for bar in panel.bars:
        row = rows[bar.claim]
        pair = _ends(_part(row.paper, bar.key)), _ends(_part(row.ours, bar.key))
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
            axes.annotate(
                "not\nchecked",
                (k + 0.2, bottom),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=7,
                color="#6b6b6b",
                rotation=90,
            )
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
    for k, ((name, values), colour) in enumerate(zip(series.items(), _SERIES[-len(series) :], strict=True)):
        for at, place in enumerate(places):
            value, x = values.get(place), at + (k - (len(series) - 1) / 2) * width
            text = "–" if value is None else _number(value)
            if value is not None:
                axes.bar(x, value, 0.94 * width, color=colour)
            axes.annotate(
                text,
                (x, value or 0),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=7,
                rotation=0 if value is None else 90,
            )
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
    """1, 2 and 5 times each power of ten; fewer if the range is large."""
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
    axes.annotate(
        text,
        (x, high if high >= bottom else bottom),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=7.5,
    )


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
