"""Pictures of selections: figures by budget, and the rows of memory that selections touch."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bankside.models.decode.accuracy import Touched

    from ..results.decoding import Sparse

__all__ = ["plot", "rows_touched"]

#: Distinguishable, also for colour-blind people.
_COLOURS = {
    "full": "#4d4d4d",
    "window": "#8c8c8c",
    "quest": "#d55e00",
    "sparq": "#0072b2",
    "infinigen": "#cc79a7",
    "starc": "#009e73",
    "top": "#e69f00",
}
_MARKERS = {"window": "v", "quest": "s", "sparq": "o", "infinigen": "D", "starc": "^", "top": "*"}
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a8a8a",
    "axes.titlesize": 10,
    "svg.hashsalt": "bankside",
}

#: A token in memory: nothing there, not read, read with others, wanted.
_CELLS = ("#ffffff", "#e9edf2", "#f2b48c", "#0072b2")


def _save(figure: Any, form: str) -> bytes:
    out = io.BytesIO()
    figure.savefig(
        out,
        format=form,
        dpi=130,
        facecolor="white",
        metadata={"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form),
    )
    return out.getvalue()


def plot(result: Sparse, form: str) -> bytes:
    """Recall, mass, error and ratio of perplexities against the budget, as a picture of this form."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [
        ("recall", "share of the largest scores", "recall"),
        ("mass", "share of full attention's weights", "mass"),
        ("error", "relative L2 error of the output", "output error"),
    ]
    if result.predicted:
        panels.append(("perplexity_ratio", "over full attention's", "perplexity, selection in the loop"))
    with matplotlib.rc_context(_STYLE):
        figure = Figure(
            figsize=(4.2 * len(panels) / 2 if len(panels) > 3 else 4.2 * len(panels), 7.2 if len(panels) > 3 else 4),
            layout="constrained",
        )
        FigureCanvasAgg(figure)
        axes = figure.subplots(2, 2).ravel() if len(panels) > 3 else figure.subplots(1, len(panels), squeeze=False)[0]
        budgets = sorted(result.budgets)
        for each, (key, label, title) in zip(axes, panels, strict=True):
            for method in result.methods:
                rows = sorted((row for row in result.rows if row.method == method), key=lambda row: row.budget)
                values = [np.nan if (value := getattr(row, key)) is None else value for row in rows]
                error = [row.ratio_error or 0 for row in rows] if key == "perplexity_ratio" else None
                each.errorbar(
                    [row.budget for row in rows],
                    values,
                    yerr=error,
                    label=method,
                    markersize=5,
                    capsize=2,
                    linewidth=1.4,
                    color=_COLOURS.get(method, "#332288"),
                    marker=_MARKERS.get(method, ""),
                    linestyle="--" if method in ("full", "top") else "-",
                )
            each.set_xscale("log", base=2)
            each.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
            each.minorticks_off()
            each.set_xlabel("budget (tokens)")
            each.set_ylabel(label)
            each.set_title(title, loc="left")
            each.grid(color="#e4e4e4", linewidth=0.6)
            each.set_axisbelow(True)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        figure.suptitle(
            f"{result.model}: {result.windows} x {result.tokens:,} tokens, prompt {result.prompt:,}, "
            f"{result.queries:,} queries a head",
            fontsize=11,
            x=0.01,
            ha="left",
        )
        return _save(figure, form)


def rows_touched(views: Sequence[Touched], title: str, form: str) -> bytes:
    """Rows and access units that each selection reads, as a picture of this form. A column is a slot of a row."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    grids = [_cells(view) for view in views]
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(12, 1.1 + sum(0.75 + 0.17 * len(grid) for grid in grids)), layout="constrained")
        FigureCanvasAgg(figure)
        plots = figure.subplots(len(views), 1, squeeze=False, height_ratios=[len(grid) for grid in grids])[:, 0]
        for axes, view, grid in zip(plots, views, grids, strict=True):
            axes.pcolormesh(
                np.arange(grid.shape[1] + 1),
                np.arange(len(grid) + 1),
                grid,
                cmap=ListedColormap(_CELLS),
                vmin=0,
                vmax=len(_CELLS) - 1,
                rasterized=form != "png",
            )
            for edge in range(view.unit, view.row, view.unit):
                axes.axvline(edge, color="white", linewidth=0.7)
            for edge in range(1, len(grid)):
                axes.axhline(edge, color="white", linewidth=2)
            axes.set_yticks(np.arange(len(grid)) + 0.5, [str(row) for row in range(len(grid))])
            axes.set_xticks(np.arange(0, view.row + 1, 4 * view.unit))
            axes.tick_params(length=0)
            axes.set_ylabel("row")
            axes.invert_yaxis()
            for side in axes.spines.values():
                side.set_visible(False)
            got = view.fetch
            axes.set_title(
                f"{view.method}: {got.wanted:.0f} tokens wanted, {got.fetched:.0f} fetched "
                f"(+{got.overfetch:.0f}), {got.units:.0f} units in {got.runs:.0f} runs, {got.rows:.0f} rows",
                loc="left",
            )
        plots[-1].set_xlabel(f"slot of a row; a unit of {views[0].unit} tokens is read whole")
        labels = ("wanted", "read with them", "not read")
        figure.legend(
            handles=[Patch(color=colour, label=label) for colour, label in zip(_CELLS[:0:-1], labels, strict=True)],
            loc="outside upper right",
            ncols=3,
            frameon=False,
        )
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        return _save(figure, form)


def _cells(view: Touched) -> np.ndarray:
    """A number for each slot, of shape ``(rows, slots of a row)``: place of its colour in the list of colours."""
    rows = -(-view.placement.slots // view.row)
    cells = np.zeros(rows * view.row, np.int64)
    cells[view.placement.slot] = 1
    read = (view.units[:, None] * view.unit + np.arange(view.unit)).reshape(-1)
    cells[read[read < len(cells)]] = 2
    cells[view.slots] = 3
    return cells.reshape(rows, view.row)
