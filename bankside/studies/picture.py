"""A timeline as a picture: banks and command buses over time, coloured by command."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from bankside.constraints.core.errors import ConfigError

if TYPE_CHECKING:
    from bankside.models.memory.timeline import Slice, Timeline

__all__ = ["FORMATS", "render"]

FORMATS = ("png", "svg", "pdf")

#: Most lanes in a picture, and most rows of a bank whose number is written into them.
MAX_LANES = 48
MAX_LABELS = 160

#: Distinguishable in this order, also for colour-blind people.
_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#8c564b",
    "#332288",
    "#882255",
    "#117733",
    "#aa4499",
    "#999933",
)
_ROW, _ACTIVATE, _PRECHARGE, _REFRESH, _STAGE = "#dfe5ec", "#9fb3c8", "#4d4d4d", "#b00020", "#f2ead3"


def render(view: Timeline, form: str = "png") -> bytes:
    """The picture as a file of this form.

    Every command bus and bank has a lane; buses or banks with the same commands share one. Open rows are light, with
    their number. In them, the activation is darker, and column accesses have the colour of their command.
    """
    if form not in FORMATS:
        raise ConfigError(f"a picture is {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, not '{form}'")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lanes = [(channel, name, slices) for channel, threads in view.tracks.items() for name, slices in threads.items()]
    hidden = max(len(lanes) - MAX_LANES, 0)
    lanes = lanes[:MAX_LANES]
    scale = view.log.memory.clock_ps / 1000
    first, last = view.log.first * scale, max(view.log.last, view.log.first + 1) * scale
    unit, factor = ("ns", 1.0) if last - first < 20_000 else ("us", 1e-3) if last - first < 2e7 else ("ms", 1e-6)
    scale, first, last = scale * factor, first * factor, last * factor

    height = 0.30 * (len(lanes) + len(view.tracks) + (1.6 if view.stages else 0)) + 1.5
    figure = Figure(figsize=(13, max(height, 2.8)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    colours = _command_colours(lanes)
    labels: list[tuple[float, float, str]] = []
    ticks: list[tuple[float, str]] = []
    y = 0.0
    if view.stages:
        for k, (began, cycles, name, *_) in enumerate(view.stages):
            axes.broken_barh(
                [(began * scale, cycles * scale)],
                (y - 0.45, 0.9),
                facecolor=_STAGE if k % 2 else "#e6dcb9",
                edgecolor="#b8a878",
                linewidth=0.5,
            )
            labels.append(((began + cycles / 2) * scale, y, name))
            for edge in (began, began + cycles):
                axes.axvline(edge * scale, color="#b8a878", linewidth=0.4, zorder=0)
        ticks.append((y, "stages"))
        y += 1.5
    numbers: list[tuple[float, float, float, str]] = []
    channel_before = None
    for channel, name, slices in lanes:
        if channel != channel_before:
            if channel_before is not None:
                y += 0.35
            axes.text(first, y - 0.52, channel, fontsize=8, fontweight="bold", va="bottom", ha="left", color="#333333")
            y += 0.35
            channel_before = channel
        _lane(axes, y, slices, colours, scale)
        ticks.append((y, name.removesuffix(", alike")))
        numbers += [
            ((began + cycles / 2) * scale, y, cycles * scale, str(details["row"]))
            for began, cycles, _, category, details in slices
            if category == "row"
        ]
        y += 1.0
    axes.set_xlim(first, last)
    axes.set_ylim(y - 0.2, -0.9)
    axes.set_yticks([at for at, _ in ticks], [name for _, name in ticks], fontsize=8)
    axes.set_xlabel(f"time ({unit}; a cycle is {view.log.memory.clock_ps:g} ps)", fontsize=9)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e5e5e5", linewidth=0.5, zorder=0)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    # Text only where it fits: a character takes about this much of the width.
    character = (last - first) / 190
    for x, at, text in labels:
        if (width := len(text) * character) and _room(view, x / scale) * scale > width:
            axes.text(x, at, text, fontsize=7.5, ha="center", va="center", clip_on=True)
    fitting = [n for n in numbers if n[2] > (len(n[3]) + 1) * character]
    for x, at, _, text in fitting[:: len(fitting) // MAX_LABELS + 1]:
        axes.text(x, at + 0.33, text, fontsize=6.5, ha="center", va="center", color="#222222", clip_on=True, zorder=5)
    _legend(figure, colours, lanes)
    title = f"{view.title} on {view.log.memory.name}"
    if view.log.memory.quirks:
        title += f" ({view.log.memory.quirks})"
    notes = ([f"first {MAX_LANES} of {MAX_LANES + hidden} lanes"] if hidden else []) + (
        [f"cut off after cycle {view.log.last}"] if view.log.truncated else []
    )
    axes.set_title(title + (f"   [{'; '.join(notes)}]" if notes else ""), fontsize=10, loc="left")
    out = io.BytesIO()
    figure.savefig(out, format=form, dpi=140, facecolor="white", metadata={"Software": None} if form == "png" else {})
    return out.getvalue()


def _room(view: Timeline, cycle: float) -> float:
    """Cycles that the stage around a cycle has on both sides of it."""
    return max((cycles for began, cycles, *_ in view.stages if began <= cycle <= began + cycles), default=0.0)


def _command_colours(lanes: list[tuple[str, str, list[Slice]]]) -> dict[str, str]:
    """A colour for each column command, the most frequent first; row commands have fixed colours."""
    counts: dict[str, int] = {}
    kinds: dict[str, str] = {}
    for _, _, slices in lanes:
        for _, _, name, category, details in slices:
            what = details.get("command", name)
            if category == "command":
                counts[what] = counts.get(what, 0) + 1
            elif category in ("activate", "precharge", "refresh"):
                kinds[what] = category
    fixed = {"activate": _ACTIVATE, "precharge": _PRECHARGE, "refresh": _REFRESH}
    out = {name: fixed[kind] for name, kind in kinds.items()}
    free = iter(_COLOURS)
    for name in sorted(counts, key=lambda n: -counts[n]):
        if name not in out:
            out[name] = next(free, "#777777")
    return out


def _lane(axes: Any, y: float, slices: list[Slice], colours: dict[str, str], scale: float) -> None:
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for began, cycles, name, category, details in slices:
        what = details.get("command", name)
        colour = _ROW if category == "row" else colours.get(what, "#777777")
        groups.setdefault((category, colour), []).append((began * scale, cycles * scale))
    heights = {
        "row": (-0.45, 0.9, 1),
        "activate": (-0.45, 0.55, 2),
        "column": (-0.45, 0.55, 3),
        "precharge": (-0.45, 0.9, 2),
        "refresh": (-0.45, 0.9, 2),
        "command": (-0.4, 0.8, 3),
    }
    for (category, colour), bars in groups.items():
        low, tall, order = heights[category]
        axes.broken_barh(
            bars,
            (y + low, tall),
            facecolor=colour,
            linewidth=0.35,  # the least that is seen
            edgecolor="#aab4c0" if category == "row" else colour,
            zorder=order,
        )


def _legend(figure: Any, colours: dict[str, str], lanes: list[tuple[str, str, list[Slice]]]) -> None:
    from matplotlib.patches import Patch

    alike: dict[str, list[str]] = {}
    for name, colour in colours.items():
        alike.setdefault(colour, []).append(name)
    patches = [Patch(facecolor=colour, label=", ".join(names)) for colour, names in alike.items()]
    if any(category == "row" for _, _, slices in lanes for *_, category, _ in slices):
        patches.insert(0, Patch(facecolor=_ROW, edgecolor="#aab4c0", label="row open (its number)"))
    if patches:
        figure.legend(
            handles=patches, loc="outside lower center", ncols=min(len(patches), 10), fontsize=7.5, frameon=False
        )
