"""Figures of LoL-PIM: values from its text and tables, and our own series for values that only its plots show."""

from __future__ import annotations

from ..figures import Bar, Figure, Panel, SeriesPanel

__all__ = ["FIGURES"]

#: By name.
FIGURES = {
    "table6": Figure(
        "LoL-PIM, Table 6: matrix by vector on a module",
        (
            SeriesPanel("ours", "µs", "matrices", "inputs x outputs"),
            Panel(
                "cycles apart from the vendor's library",
                "%",
                tuple(
                    Bar(shape.replace("x", "\nx "), "lolpim-val-sim", shape)
                    for shape in ("4096x8192", "4096x16384", "8192x4096", "12288x12288")
                ),
            ),
        ),
    ),
    "table8": Figure(
        "LoL-PIM, Table 8: Musique",
        tuple(
            Panel(
                title,
                axis,
                tuple(
                    Bar(f"{size}\n{label}", f"lolpim-t{size.lower()}", f"{key}/{place}")
                    for size in ("7B", "14B", "72B")
                    for label, key in (("none", "pim"), ("without\ntwo sets", "arch_dpa"), ("all", "arch_dpa_io"))
                ),
            )
            for place, title, axis in ((0, "throughput", "tokens/s"), (1, "utilisation", "%"))
        ),
    ),
    **{
        number: Figure(
            f"LoL-PIM, Figure {number}: throughput by memory, Qwen1.5-{size}, Musique",
            (
                SeriesPanel("ours, best split unless stated", "tokens/s", f"throughput-{size.lower()}", "GB", 8.0),
                Panel(
                    f"{where}: speed-up",
                    "times as fast",
                    (Bar("GPUs with\nGDDR", claim, "vs_gpu_gddr"), Bar("PIM", claim, "vs_pim")),
                    False,
                    1.0,
                ),
            ),
        )
        for number, size, claim, where in (
            ("9", "7B", "lolpim-thr-7b", "1024 GB"),
            ("10", "72B", "lolpim-thr-72b", "to 1024 GB"),
        )
    },
    "11": Figure(
        "LoL-PIM, Figure 11: time per token, Qwen1.5-72B, 1024 GB, Musique",
        (
            SeriesPanel("ours, techniques added up", "µs per token of all requests", "latency", "techniques"),
            Panel("less by all techniques", "%", (Bar("at least", "lolpim-lat-comb", "min_percent"),)),
            Panel("alone over hybrid", "times as fast", (Bar("at most", "lolpim-hyb-gap", "max_ratio"),), False, 1.0),
        ),
    ),
    "12": Figure(
        "LoL-PIM, Figure 12: splits of Qwen1.5-7B, Musique",
        (
            SeriesPanel("ours, 4 nodes", "tokens/s", "splits", "tensor x pipeline"),
            Panel(
                "4 and 16 nodes",
                "times as fast (at most)",
                (
                    Bar("lazy over\nstatic", "lolpim-dpa-perf", "max_ratio"),
                    Bar("best over\nworst split", "lolpim-par-gap", "max_ratio"),
                ),
                False,
                1.0,
            ),
            Panel("best split moves", "% (at most)", (Bar("gain", "lolpim-par-shift", "max_percent"),)),
        ),
    ),
}
