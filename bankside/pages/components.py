"""Components of pages: cards, parts with a chart and its numbers, tables. Charts follow the page's colours."""

from __future__ import annotations

import io
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import Record
from bankside.evidence.records import RecordFolder

from ..results.units import Synth

__all__ = [
    "COLOURS",
    "SEQUENCE",
    "Card",
    "Chart",
    "Page",
    "Part",
    "Row",
    "Table",
    "beside",
    "bars",
    "clock",
    "clock_state",
    "grouped_bars",
    "plain",
    "render",
    "short",
    "stacked",
    "table",
]

#: Colours of a chart that follow the page, light or dark: names of the page's variables by what Matplotlib draws.
_THEME = {
    "#1d2330": "var(--ink)",
    "#5b6475": "var(--soft)",
    "#e6e9ef": "var(--line)",
    "#9aa5b2": "var(--axis)",
    "#fefefe": "var(--card)",
}
INK, SOFT, GRID, AXIS, CARD = _THEME

#: Colours of series, for light and dark pages.
COLOURS = {
    "red": "#c8553d",
    "orange": "#e0924a",
    "blue": "#3d6fae",
    "sky": "#6a97cf",
    "grey": "#8c97a5",
    "green": "#5d9a6a",
    "violet": "#9678b4",
    "dark": "#6b7280",
    "limit": "#d2453d",
    "sand": "#d6b98f",
}
SEQUENCE = tuple(COLOURS[name] for name in ("grey", "red", "blue", "green", "violet", "orange"))

#: Widths of a chart in inches, on a wide and on a narrow page.
_WIDE, _NARROW = 9.0, 4.2

#: A function that draws a chart on a Matplotlib figure; the second argument says whether the page is narrow.
Draw = Callable[[Any, bool], None]


@dataclass(frozen=True)
class Card:
    """A main figure; ``state`` is ``good``, ``bad`` or empty."""

    label: str
    value: str
    note: str = ""
    state: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table; by place, ``states`` colours cells (``good`` or ``bad``) and ``links`` lead to anchors of the
    page."""

    cells: tuple[str, ...]
    total: bool = False
    states: Mapping[int, str] = field(default_factory=dict)
    links: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows; ``numeric`` columns are set flush right."""

    head: tuple[str, ...]
    rows: tuple[Row, ...]
    numeric: frozenset[int] = frozenset()
    caption: str = ""
    code: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Chart:
    """A chart: its drawing function, and its height in inches on a wide and on a narrow page."""

    draw: Draw
    height: float
    narrow_height: float
    caption: str = ""


@dataclass(frozen=True)
class Detail:
    """Tables behind a line that opens them; links lead to ``anchor``."""

    anchor: str
    title: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Part:
    """A section of a page: words, a chart, the numbers behind it. ``pieces`` are parts of a running text, each with a
    state: ``bad``, ``prompt`` or empty."""

    title: str
    chart: Chart | None = None
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    text: str = ""
    side_by_side: bool = False
    folded: bool = False
    details: tuple[Detail, ...] = ()
    pieces: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Page:
    """A page: first the answer (title, lead, cards), then the parts."""

    title: str
    lead: str
    cards: tuple[Card, ...] = ()
    parts: tuple[Part, ...] = ()


def render(page: Page, document: Mapping[str, Any], records: str | None = None) -> str:
    """HTML of a page, with the basis of its result at the end; ``records``: the folder of its records."""
    import jinja2
    import markupsafe

    parts = [
        part
        for part in (*page.parts, *_basis(document, RecordFolder(records)))
        if part.chart or part.tables or part.notes or part.text or part.details or part.pieces
    ]
    figures: list[Any] = []
    for place, part in enumerate(parts):
        drawn = (
            ()
            if part.chart is None
            else (
                ("wide", _svg(part.chart.draw, part.chart.height, False)),
                ("narrow", _svg(part.chart.draw, part.chart.narrow_height, True)),
            )
        )
        label = str(markupsafe.escape(part.title))
        figures.append([(kind, markupsafe.Markup(_own_names(svg, f"f{place}{kind[0]}", label))) for kind, svg in drawn])
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.filters["prose"] = _prose
    template = environment.from_string(
        resources.files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8")
    )
    return template.render(page=page, parts=list(zip(parts, figures, strict=True)), command=document.get("command", ""))


def _prose(text: str) -> Any:
    """Text of a result on a page: text between backticks becomes code, units get their signs."""
    import markupsafe

    pieces = text.replace("mm2", "mm²").replace("um2", "µm²").split("`")
    if len(pieces) % 2 == 0:  # a backtick without its partner
        return markupsafe.escape(text)
    return markupsafe.Markup("").join(
        markupsafe.Markup("<code>{}</code>").format(piece) if place % 2 else markupsafe.escape(piece)
        for place, piece in enumerate(pieces)
    )


def _basis(document: Mapping[str, Any], folder: RecordFolder) -> tuple[Part, ...]:
    """Notes and warnings, then records, files and tools."""
    inputs = document.get("inputs") or []
    written = document.get("record")
    records = {one["name"]: one for one in inputs if one["kind"] == "measurement record"}
    if isinstance(written, str):
        records.setdefault(written, {"name": written, "command": "this result"})
    details = {name: found for name, one in records.items() for found in _record(name, one.get("sha256", ""), folder)}
    rows = [
        Row(
            (name, one.get("command") or "", (one.get("verilog_sha256") or "")[:16]),
            links={0: details[name].anchor} if name in details else {},
        )
        for name, one in records.items()
    ]
    others = [(one["kind"], one["name"], one["sha256"][:16]) for one in inputs if one["kind"] != "measurement record"]
    tables = (
        table(("measurement record", "made by", "Verilog (SHA-256)"), rows, code={0, 1, 2}),
        table(("input", "name", "SHA-256"), others, code={1, 2}),
        table(("tool", "version"), sorted((document.get("tools") or {}).items())),
    )
    return (
        Part("Warnings", notes=tuple(document.get("warnings") or ())),
        Part("Notes", notes=tuple(document.get("notes") or ())),
        Part("What this rests on", tables=tuple(one for one in tables if one.rows), folded=len(inputs) > 8),
        Part("Measurement records", details=tuple(details.values())),
    )


def _record(name: str, digest: str, folder: RecordFolder) -> list[Detail]:
    """The contents of a record, if it exists."""
    record: Record | None = None
    with suppress(ConfigError):
        record = folder.named(name, digest)
    if record is None:
        return []
    figures = [
        (key.replace("_", " "), plain(value))
        for key, value in record.results.items()
        if isinstance(value, int | float | str)
    ]
    asked = {"unit": record.unit, "preset": record.preset, **record.workload, **record.config}
    tables = (
        table(("measured", "value"), figures),
        table(("asked for", "value"), [(key.replace("_", " "), plain(one)) for key, one in asked.items()]),
        table(("made from", "digest or version"), list(record.made_from.items()), code={1}),
    )
    return [Detail(f"record-{name}", f"{record.kind} of {record.unit} {record.preset or ''}".strip(), tables)]


# Tables --------------------------------------------------------------------------------------------------------------

_FIGURES = re.compile(r"[–\d.,\s%×-]*|not modelled")


def table(
    head: Sequence[str], rows: Sequence[Sequence[str] | Row], *, caption: str = "", code: set[int] | None = None
) -> Table:
    """A table; a column whose cells are all numbers (or missing) is numeric."""
    made = tuple(row if isinstance(row, Row) else Row(tuple(map(str, row))) for row in rows)
    numeric = frozenset(
        n for n in range(1, len(head)) if made and all(_FIGURES.fullmatch(row.cells[n]) for row in made)
    )
    return Table(tuple(head), made, numeric - (code or set()), caption, frozenset(code or ()))


def plain(value: Any) -> str:
    """Any value in few characters."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    return (
        "–"
        if value is None
        else ("yes" if value else "no")
        if isinstance(value, bool)
        else f"{value:,}"
        if isinstance(value, int)
        else f"{value:,.6g}"
        if isinstance(value, float)
        else str(value)
    )


def clock(synth: Synth) -> str:
    """The clock that a synthesis reached, and its target."""
    reached = f"{synth.fmax_mhz:.0f} MHz" if synth.fmax_mhz else "no path"
    return f"{reached} (target {synth.target_clock_mhz:g} MHz)" if synth.target_clock_mhz else reached


def clock_state(synth: Synth) -> str:
    """State of a card on a synthesis: whether the target is met, in the unit's own process if it has one."""
    if synth.process:
        return {"meets": "good", "misses": "bad", "undecided": ""}[synth.process.verdict]
    target = synth.target_clock_mhz
    return "" if target is None else "good" if (synth.fmax_mhz or 0) >= target else "bad"


def short(value: float) -> str:
    """About three digits; whole numbers without decimals."""
    size = abs(value)
    if isinstance(value, int) or size >= 100 or not size:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.01 else f"{value:.2g}"


# Charts --------------------------------------------------------------------------------------------------------------


def bars(
    values: Sequence[tuple[str, float]],
    label: str,
    *,
    colours: Sequence[str] | None = None,
    caption: str = "",
    limit: tuple[float, str] | None = None,
) -> Chart:
    """Horizontal bars, the first at the top, each with its value; ``limit`` draws a line with a name."""

    def draw(figure: Any, narrow: bool) -> None:
        axes = figure.add_subplot()
        most = (
            max([0.0, *(value for _, value in values), *([limit[0]] if limit else [])]) * (1.3 if narrow else 1.15)
            or 1.0
        )
        places = range(len(values), 0, -1)
        axes.barh(
            places,
            [value for _, value in values],
            height=0.62,
            zorder=3,
            color=list(colours) if colours else COLOURS["blue"],
        )
        for place, (_, value) in zip(places, values, strict=True):
            axes.text(value + 0.01 * most, place, short(value), va="center", ha="left")
        if limit:
            axes.axvline(limit[0], color=COLOURS["limit"], linewidth=1.2, linestyle="--", zorder=4)
            axes.text(limit[0], len(values) + 0.55, limit[1], color=COLOURS["limit"], ha="center", va="bottom")
        axes.set_yticks(list(places), beside((name for name, _ in values), narrow))
        axes.set_ylim(0.4, len(values) + 0.6)
        _values_from_zero(axes, most, label)

    height = 0.85 + 0.34 * len(values) + (0.2 if limit else 0)
    return Chart(draw, height, height, caption)


def stacked(
    rows: Sequence[str],
    names: Sequence[tuple[str, str]],
    values: Sequence[Sequence[float]],
    label: str,
    unit: str,
    caption: str = "",
) -> Chart:
    """Horizontal stacked bars. The total stands behind each bar, and a segment with room holds its value."""
    used = [n for n in range(len(names)) if any(row[n] > 0 for row in values)]

    def draw(figure: Any, narrow: bool) -> None:
        axes = figure.add_subplot()
        totals = [sum(row) for row in values]
        most = max(totals) * (1.34 if narrow else 1.13) or 1.0
        places = list(range(len(rows), 0, -1))
        left = [0.0] * len(rows)
        for n in used:
            name, colour = names[n]
            widths = [row[n] for row in values]
            axes.barh(places, widths, left=left, color=colour, height=0.6, label=name, edgecolor=CARD, linewidth=0.8)
            for place, start, width in zip(places, left, widths, strict=True):
                if width > (0.16 if narrow else 0.062) * most:
                    axes.text(start + width / 2, place, short(width), ha="center", va="center", color="#ffffff")
            left = [start + width for start, width in zip(left, widths, strict=True)]
        for place, total in zip(places, totals, strict=True):
            axes.text(total + 0.008 * most, place, f"{short(total)} {unit}", ha="left", va="center", fontweight="bold")
        axes.set_yticks(places, beside(rows, narrow))
        axes.set_ylim(0.5, len(rows) + 0.5)
        _values_from_zero(axes, most, label)
        legend(figure, axes, narrow)

    lines = -(-len(used) // 3)
    return Chart(draw, 1.1 + 0.5 * len(rows) + 0.22 * lines, 1.1 + 0.5 * len(rows) + 0.2 * len(used), caption)


def grouped_bars(
    groups: Sequence[str],
    names: Sequence[tuple[str, str]],
    values: Sequence[Sequence[float | None]],
    label: str,
    caption: str = "",
) -> Chart:
    """A group of horizontal bars for each of ``groups``; ``values[n]`` are the values of the series ``names[n]``."""

    def draw(figure: Any, narrow: bool) -> None:
        axes = figure.add_subplot()
        known = [value for row in values for value in row if value is not None]
        most = max(known, default=1.0) * (1.3 if narrow else 1.15) or 1.0
        thick = 0.8 / len(names)
        for n, (name, colour) in enumerate(names):
            places = [len(groups) - k + 0.4 - thick * (n + 0.5) for k in range(len(groups))]
            widths = [value or 0.0 for value in values[n]]
            axes.barh(places, widths, height=thick * 0.9, color=colour, label=name, zorder=3)
            for place, value in zip(places, values[n], strict=True):
                if value is not None:
                    axes.text(value + 0.01 * most, place, short(value), va="center", ha="left")
        axes.set_yticks([len(groups) - k for k in range(len(groups))], beside(groups, narrow))
        _values_from_zero(axes, most, label)
        legend(figure, axes, narrow)

    height = 1.1 + len(groups) * 0.26 * len(names)
    return Chart(draw, height, height + 0.2 * len(names), caption)


def beside(names: Iterable[str], narrow: bool) -> list[str]:
    """Names beside bars, on two lines if there is little room."""
    return [textwrap.fill(name, 20) if narrow else name for name in names]


def _values_from_zero(axes: Any, most: float, label: str) -> None:
    """The axis of horizontal bars, with commas between thousands and lines behind the bars."""
    from matplotlib.ticker import FuncFormatter

    axes.set_xlim(0, most)
    axes.set_xlabel(label)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def legend(figure: Any, axes: Any, narrow: bool) -> None:
    """The legend below a chart."""
    figure.legend(
        *axes.get_legend_handles_labels(),
        frameon=False,
        loc="outside lower center",
        ncols=1 if narrow else 3,
        handlelength=1.2,
        handleheight=1.0,
    )


@lru_cache(maxsize=2)
def _style(narrow: bool) -> Any:
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "bankside",
        "font.size": 9 if narrow else 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": AXIS,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.8,
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "text.color": INK,
        "xtick.color": SOFT,
        "ytick.color": INK,
        "font.family": "DejaVu Sans",
        "axes.unicode_minus": False,
        "ytick.major.size": 0,
    }


def _svg(draw: Draw, height: float, narrow: bool, copy: str | os.PathLike[str] | None = None) -> str:
    """SVG text of the figure that ``draw`` draws; also a PNG file at ``copy``, to look at."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_style(narrow)):
        figure = Figure(figsize=(_NARROW if narrow else _WIDE, height), layout="constrained")
        draw(figure, narrow)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        if copy:
            figure.savefig(copy, format="png", dpi=110)
    text = buffer.getvalue()
    # The prologue has no place within HTML, the size is left to the page, and Verdana is as wide as DejaVu Sans.
    text = text[text.index("<svg") :].replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, count=1, flags=re.DOTALL)
    for colour, variable in _THEME.items():
        text = text.replace(colour, variable)
    return re.sub(r' width="[^"]*pt" height="[^"]*pt"', "", text, count=1)


def _own_names(svg: str, prefix: str, label: str) -> str:
    """Names of elements made unique, because several figures share the page, and a label for those who can't see it."""
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    svg = svg.replace("url(#", f"url(#{prefix}-")
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
