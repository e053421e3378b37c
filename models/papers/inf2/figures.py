"""Figures of INF2: values that its text prints, and our own series for values that only its plots show. Figures whose
number the text does not give have a name."""

from __future__ import annotations

from ..figures import Bar, Figure, Panel, SeriesPanel

__all__ = ["FIGURES"]

#: By name.
FIGURES = {
    "3": Figure(
        "INF2, Figure 3: a software RAID0",
        (
            SeriesPanel("ours, FlexGen, A100, 16 K tokens", "tokens/s", "raid", "drives"),
            Panel(
                "drives beyond which a RAID0 gains nothing",
                "drives",
                (Bar("figure 3", "inf2-raid", "fig3"), Bar("figure 16", "inf2-raid", "fig16")),
            ),
            Panel("KV I/O of a run", "% (at least)", (Bar("FlexGen", "inf2-kvio", "min_percent"),)),
        ),
    ),
    "performance": Figure(
        "INF2, section 7.3: throughput on an A100",
        (
            SeriesPanel("ours, prefill included", "tokens/s", "performance", "model and prompt", 7.0),
            Panel(
                "over FlexGen, 16 K tokens",
                "times",
                (
                    Bar("30B", "inf2-perf", "opt-30b"),
                    Bar("175B", "inf2-perf", "opt-175b"),
                    Bar("at least", "inf2-perf", "min_all"),
                ),
                False,
                1.0,
            ),
            Panel("FlexGen over\nDeepSpeed", "times (at least)", (Bar("all", "inf2-ds", "min_ratio"),), False, 1.0),
        ),
    ),
    "outputs": Figure(
        "INF2, section 7.3: output tokens",
        (
            SeriesPanel("ours over FlexGen, H100, 16 K tokens", "times", "outputs", "output tokens", 7.0),
            Panel("most", "times", (Bar("abstract", "inf2-up"),), False, 1.0),
        ),
    ),
    "ablation": Figure(
        "INF2, section 7.4: techniques",
        (
            SeriesPanel("ours, A100, 16 K tokens", "times near-storage attention alone", "techniques", "techniques"),
            Panel(
                "from least to most",
                "times",
                (Bar("X-cache", "inf2-ab-x"), Bar("write-back", "inf2-ab-wb"), Bar("both", "inf2-ab-all")),
                False,
                1.0,
            ),
        ),
    ),
    "memory": Figure(
        "INF2, section 7.5: memory of the host, H100, 32 K tokens",
        (
            SeriesPanel("ours over FlexGen", "times", "memory", "GB"),
            SeriesPanel("ours: X-cache", "requests of 32", "inputs", "GB"),
            Panel("from least to most", "times", (Bar("all", "inf2-mem"),), False, 1.0),
            Panel(
                "FlexGen, 175B", "tokens/s", (Bar("256 GB", "inf2-mem175", "256GB"), Bar("1 TB", "inf2-mem175", "1TB"))
            ),
        ),
    ),
    "weights": Figure(
        "INF2, section 7.5: place of the weights, OPT-66B, 16 K tokens",
        (
            SeriesPanel("ours, A100", "tokens/s", "weights", "weights"),
            Panel(
                "weights in memory",
                "times FlexGen (at least)",
                (Bar("all models", "inf2-perf", "min_all"),),
                False,
                1.0,
            ),
        ),
    ),
    "batch": Figure(
        "INF2, section 7.6: requests, OPT-66B, 16 K tokens",
        (
            SeriesPanel("ours, A100", "tokens/s", "batch", "requests"),
            Panel("32 requests", "times FlexGen (at least)", (Bar("all models", "inf2-perf", "min_all"),), False, 1.0),
        ),
    ),
    "16": Figure(
        "INF2, Figure 16: drives, OPT-30B, 32 K tokens, H100",
        (
            SeriesPanel("ours", "times FlexGen with one drive", "drives", "drives"),
            Panel(
                "over FlexGen with one",
                "times",
                (Bar("FlexGen, 2", "inf2-scale", "baseline_2ssd"), Bar("INF2, 16", "inf2-scale", "inf2_16csd")),
                False,
                1.0,
            ),
            Panel(
                "over FlexGen, as many drives", "times", (Bar("8", "inf2-csd8"), Bar("16", "inf2-csd16")), False, 1.0
            ),
        ),
    ),
    "cost": Figure(
        "INF2, section 7.7: price",
        (
            SeriesPanel("ours, OPT-175B, 16 K tokens", "10⁻⁶ tokens/s/$", "cost", "GPU and drives"),
            Panel("OPT-175B, 1 K tokens", "tokens/s/$", (Bar("INF2", "inf2-tpd", "inf2"),)),
            Panel("A100 to H100", "% more, FlexGen", (Bar("from least\nto most", "inf2-h100"),)),
        ),
    ),
    "step": Figure(
        "INF2, section 3: parts of a run, 16 K tokens, A100",
        (
            SeriesPanel("ours", "s", "step", "model and system", 8.0),
            Panel("KV I/O of a run", "% (at least)", (Bar("FlexGen", "inf2-kvio", "min_percent"),)),
        ),
    ),
    "accelerator": Figure(
        "INF2, section 5: a shard on its drive",
        (
            SeriesPanel("ours, 128 dimensions", "µs", "accelerator", "tokens"),
            Panel("a GEMV block", "multipliers", (Bar("MACs", "inf2-gemv"),)),
        ),
    ),
    "sensitivity": Figure(
        "INF2: one change of a run with 32 requests of 16 K tokens on an A100",
        (
            SeriesPanel("ours over FlexGen", "times", "gains", "change", 13.0),
            Panel(
                "paper, no change",
                "times",
                (Bar("30B", "inf2-perf", "opt-30b"), Bar("175B", "inf2-perf", "opt-175b")),
                False,
                1.0,
            ),
        ),
    ),
    "constants": Figure(
        "INF2: what the fitted constants do, A100, 16 K tokens",
        (
            SeriesPanel("ours over FlexGen", "times", "constants", "constant and value", 10.0),
            Panel(
                "paper", "times", (Bar("30B", "inf2-perf", "opt-30b"), Bar("175B", "inf2-perf", "opt-175b")), False, 1.0
            ),
        ),
    ),
}
