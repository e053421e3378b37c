"""Page of a paper's claims: ``bankside repro``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bankside.models.papers import CATEGORIES

from ..results.papers import ClaimRow, Claims, Papers, Repro
from ..studies.repro import HEADINGS, by_category, counts_lines, reason, short, titled
from .components import COLOURS, GRID, Card, Chart, Page, Part, Row, table

__all__ = ["checked", "listed", "papers"]

#: Colours of verdicts.
STATES = {"exact": "good", "within": "good", "bound": "good", "off": "bad", "failed": "bad", "timed-out": "bad"}


def papers(result: Papers) -> Page:
    """All papers with claims."""
    head = ("paper", "title", *(f"claims: {group}" for group in CATEGORIES), "with a check")
    rows = [
        (one.paper, one.title, *(str(one.categories[group]) for group in CATEGORIES), str(one.checks))
        for one in result.papers
    ]
    text = f"{len(result.papers)} papers are installed."
    return Page("Papers", text, (), (Part("Papers", tables=(table(head, rows),)),))


def listed(result: Claims) -> Page:
    """Claims of a paper without our values."""
    head = ("claim", "category", "place", "claim in words", "value")
    rows = [(one.id, one.category, one.source, one.statement, short(one.value)) for one in result.claims]
    text = f"{len(result.claims)} claims; nothing was computed."
    return Page(f"Claims of {result.paper}", text, (), (Part("Claims", tables=(table(head, rows, code={0}),)),))


def checked(result: Repro) -> Page:
    """Claims of a paper with our values."""
    counts = result.counts["result"]
    known = sum(counts[verdict] for verdict in ("exact", "within", "bound", "off"))
    total = sum(counts.values())
    head = f"{known} of {total} results could be checked." if total else "None of these claims is a result."
    lead = " ".join([head, *(f"{line}." for line in counts_lines(result))])
    cards = tuple(
        Card(verdict.replace("-", " "), str(count), "results", STATES.get(verdict, ""))
        for verdict, count in counts.items()
        if count
    )
    parts = []
    for group, claims in by_category(result.claims).items():
        rows = []
        for one in claims:
            unit = f" {one.unit}" if one.unit else ""
            rows.append(
                Row(
                    (
                        one.id,
                        one.source,
                        one.statement,
                        short(one.paper) + unit,
                        "–" if one.ours is None else short(one.ours) + unit,
                        "" if one.ratio is None else f"{one.ratio:.3g}",
                        one.verdict,
                        reason(one),
                    ),
                    states={6: STATES.get(one.verdict, "")},
                )
            )
        found = table(("claim", "place", "claim in words", "paper", "ours", "ratio", "verdict", "why"), rows, code={0})
        parts.append(Part(HEADINGS[group], _ratios(claims), (found,)))
    return Page(titled(result), lead, cards, tuple(parts))


def _ratios(claims: Sequence[ClaimRow]) -> Chart | None:
    """Ours over the paper's, for the claims that have such a ratio."""
    shown = [(one.id, one.ratio, one.verdict) for one in claims if one.ratio is not None and 1e-3 < one.ratio < 1e3]
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
