"""Figures of STARC: our own series for the latency and energy that its plots show, and values that its text prints. Figures
of accuracy need data that is not here."""

from __future__ import annotations

from ..figures import Bar, Figure, Panel, SeriesPanel

__all__ = ["FIGURES"]


def _ends(title: str, claim: str) -> Panel:
    return Panel(title, "% less", (Bar("from", claim, "0"), Bar("to", claim, "1")))


#: By name.
FIGURES = {
    "11": Figure(
        "STARC, Figure 11: latency of a token, LLaMA-7B, budget 1024",
        (
            SeriesPanel("ours over all tokens", "times", "latency", "method and steps", 12.0),
            SeriesPanel("ours, attention alone", "times", "alone", "prompt and steps", 6.0),
            _ends("attention,\nall tokens", "starc-lat-full"),
            _ends("attention,\ntoken-wise", "starc-lat-tok"),
            _ends("a token", "starc-tot-lat"),
        ),
    ),
    "12": Figure(
        "STARC, Figure 12: energy of a token, LLaMA-7B, budget 1024",
        (
            SeriesPanel("ours over all tokens", "times", "energy", "method and steps", 12.0),
            _ends("attention,\nall tokens", "starc-en-full"),
            _ends("attention,\ntoken-wise", "starc-en-tok"),
            _ends("a token", "starc-tot-en"),
        ),
    ),
    "reads": Figure(
        "STARC, section VI-C: tokens that a head fetches, budget 1024",
        (
            SeriesPanel("ours", "tokens", "fetches", "prompt and steps", 6.0),
            Panel("clusters", "tokens", (Bar("3,072", "starc-eff", "3072"), Bar("6,144", "starc-eff", "6144"))),
            Panel("pages", "tokens", (Bar("budget 1024", "starc-overfetch"),)),
        ),
    ),
    "clumps": Figure(
        "STARC, section V: fetched share of 2,048 tokens, real and made-up heads",
        (
            SeriesPanel("ours", "%", "clumps", "budget over context", 8.0),
            Panel(
                "random tokens,\nbudget 1024",
                "share",
                (Bar("3,072", "starc-random", "3072"), Bar("6,144", "starc-random", "6144")),
            ),
        ),
    ),
    "sensitivity": Figure(
        "STARC: one change of the run of 8,192 steps",
        (
            SeriesPanel("ours, clusters against others", "% less", "sensitivity", "change", 15.0),
            _ends("paper, attention,\nall tokens", "starc-lat-full"),
        ),
    ),
}
