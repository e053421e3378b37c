"""Page of a paper's claims: ``bankside repro``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bankside.models.papers import CATEGORIES

from .components import COLOURS, GRID, Card, Chart, Page, Part, Row, table

__all__ = ["claims"]

#: Colours of verdicts.
STATES = {"exact": "good", "within": "good", "bound": "good", "off": "bad", "failed": "bad", "timed-out": "bad"}


def claims(result: Mapping[str, Any]) -> Page:
    """Claims with our values; or papers, or the claims of a paper without values."""
    from bankside.studies.repro import HEADINGS, by_category, counts_lines, difference_text, short

    if "papers" in result:
        return Page(
            "Papers",
            f"{len(result['papers'])} papers are installed.",
            (),
            (
                Part(
                    "Papers",
                    tables=(
                        table(
                            ("paper", "title", *(f"claims: {group}" for group in CATEGORIES), "with a check"),
                            [
                                (
                                    one["paper"],
                                    one["title"],
                                    *(str(one["categories"][group]) for group in CATEGORIES),
                                    str(one["checks"]),
                                )
                                for one in result["papers"]
                            ],
                        ),
                    ),
                ),
            ),
        )
    if "counts" not in result:
        return Page(
            f"Claims of {result['paper']}",
            f"{len(result['claims'])} claims; nothing was computed.",
            (),
            (
                Part(
                    "Claims",
                    tables=(
                        table(
                            ("claim", "category", "place", "claim in words", "value"),
                            [
                                (one["id"], one["category"], one["source"], one["statement"], short(one["value"]))
                                for one in result["claims"]
                            ],
                            code={0},
                        ),
                    ),
                ),
            ),
        )
    counts = result["counts"]["result"]
    checked = sum(counts[verdict] for verdict in ("exact", "within", "bound", "off"))
    total = sum(counts.values())
    head = f"{checked} of {total} results could be checked." if total else "None of these claims is a result."
    lead = " ".join([head, *(f"{line}." for line in counts_lines(result))])
    cards = tuple(
        Card(verdict.replace("-", " "), str(count), "results", STATES.get(verdict, ""))
        for verdict, count in counts.items()
        if count
    )
    parts = []
    for group, claims in by_category(result["claims"]).items():
        rows = []
        for one in claims:
            unit = f" {one['unit']}" if one["unit"] else ""
            ratio = one["ratio"]
            rows.append(
                Row(
                    (
                        one["id"],
                        one["source"] or "",
                        one["statement"],
                        short(one["paper"]) + unit,
                        "–" if one["ours"] is None else short(one["ours"]) + unit,
                        "" if ratio is None else f"{ratio:.3g}" if isinstance(ratio, int | float) else short(ratio),
                        one["verdict"],
                        " ".join(filter(None, (difference_text(one), one["why"]))),
                    ),
                    states={6: STATES.get(one["verdict"], "")},
                )
            )
        found = table(("claim", "place", "claim in words", "paper", "ours", "ratio", "verdict", "why"), rows, code={0})
        parts.append(Part(HEADINGS[group], _ratios(claims), (found,)))
    title = result["title"] + (f" ({result['published']})" if result["published"] else "")
    return Page(title, lead, cards, tuple(parts))


def _ratios(claims: Sequence[Mapping[str, Any]]) -> Chart | None:
    """Ours over the paper's, for the claims that have such a ratio."""
    shown = [
        (one["id"], float(one["ratio"]), one["verdict"])
        for one in claims
        if isinstance(one["ratio"], int | float) and 1e-3 < one["ratio"] < 1e3
    ]
    if not shown:
        return None

    def draw(figure: Any, narrow: bool) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        axes = figure.add_subplot()
        places = range(len(shown), 0, -1)
        colours = [COLOURS["red"] if STATES.get(verdict) == "bad" else COLOURS["green"] for _, _, verdict in shown]
        axes.axvline(1, color=COLOURS["grey"], linewidth=1)
        axes.scatter([ratio for _, ratio, _ in shown], list(places), color=colours, s=22, zorder=3)
        axes.set_xscale("log")
        low, high = min(ratio for _, ratio, _ in shown), max(ratio for _, ratio, _ in shown)
        axes.set_xlim(min(low / 1.3, 0.5), max(high * 1.3, 2))
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_yticks(list(places), [name for name, _, _ in shown])
        axes.set_ylim(0.3, len(shown) + 0.7)
        axes.set_xlabel("ours over the paper's")
        axes.grid(axis="both", color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)

    height = 0.8 + 0.2 * len(shown)
    return Chart(draw, height, height, "Green: exact, or within the tolerance or bound; red: off.")
