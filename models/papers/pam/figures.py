"""Figures of PAM whose values its text or tables give."""

from __future__ import annotations

from ..figures import Bar, Figure, Panel

__all__ = ["FIGURES"]

#: By name.
FIGURES = {
    "table2": Figure(
        "PAM, Table 2: area",
        (
            Panel(
                "one unit",
                "mm²",
                (
                    Bar("HBM unit", "pam-area-hbm-pu", "mm2"),
                    Bar("HBM\nreduction unit", "pam-area-hbm-ru", "mm2"),
                    Bar("DDR unit", "pam-area-ddr-pu", "pu_mm2"),
                    Bar("DDR\nreduction unit", "pam-area-ddr-pu", "ru_mm2"),
                    Bar("interface", "pam-if-area"),
                ),
            ),
            Panel(
                "all units of a die, chip or controller",
                "mm²",
                (
                    Bar("HBM die", "pam-area-hbm", "mm2"),
                    Bar("HBM die,\nolder process", "pam-area-hbm-old", "mm2"),
                    Bar("DDR chip", "pam-area-ddr", "mm2"),
                    Bar("SSD\ncontroller", "pam-area-ssd", "mm2"),
                ),
            ),
            Panel(
                "share of the die",
                "%",
                (
                    Bar("HBM die", "pam-area-hbm", "percent"),
                    Bar("HBM die,\nolder process", "pam-area-hbm-old", "percent"),
                    Bar("DDR chip", "pam-area-ddr", "percent"),
                    Bar("SSD\ncontroller", "pam-area-ssd", "percent"),
                    Bar("interface,\nlogic die", "pam-area-if-hbm"),
                    Bar("interface,\nSSD contr.", "pam-area-if-ssd"),
                ),
            ),
        ),
    ),
    "9": Figure(
        "PAM, Figure 9: throughput of conversations",
        (
            Panel(
                "by model, over vLLM-offloading",
                "times as fast",
                (
                    Bar("Qwen2.5-32B", "pam-thr-online", "qwen2.5-32b"),
                    Bar("LLaMA3-70B", "pam-thr-online", "llama3-70b"),
                    Bar("OPT-175B", "pam-thr-online", "opt-175b"),
                    Bar("mean", "pam-thr-online-avg"),
                ),
                True,
                1.0,
            ),
            Panel(
                "by workload",
                "times as fast",
                (Bar("WildChat", "pam-thr-wild", "wildchat"), Bar("ShareGPT", "pam-thr-wild", "sharegpt")),
                True,
                1.0,
            ),
            Panel("over LS-PIM", "times as fast", (Bar("mean", "pam-thr-lspim"),), True, 1.0),
        ),
    ),
    "10": Figure(
        "PAM, Figure 10: throughput of long contexts",
        (
            Panel(
                "over vLLM-offloading",
                "times as fast",
                (
                    Bar("LLaMA3-70B\narxiv_sum", "pam-thr-off", "llama3-70b/arxiv_sum"),
                    Bar("LLaMA3-70B\nwrite_doc", "pam-thr-off", "llama3-70b/write_doc"),
                    Bar("OPT-175B\narxiv_sum", "pam-thr-off", "opt-175b/arxiv_sum"),
                    Bar("OPT-175B\nwrite_doc", "pam-thr-off", "opt-175b/write_doc"),
                    Bar("mean", "pam-thr-off-avg"),
                ),
                True,
                1.0,
            ),
            Panel(
                "L-PIM, the SSD's share",
                "%",
                (
                    Bar("of KV\n(at least)", "pam-lpim-ssd", "min_kv_percent"),
                    Bar("of time\n(at least)", "pam-lpim-ssd", "min_time_percent"),
                ),
            ),
        ),
    ),
    "11": Figure(
        "PAM, Figure 11: energy per token",
        (
            Panel(
                "saved by PAM against",
                "% (from least to most)",
                (
                    Bar("vLLM-\noffloading", "pam-energy-vllm"),
                    Bar("L-PIM", "pam-energy-lpim"),
                    Bar("LS-PIM\n(attention)", "pam-energy-lspim"),
                ),
                False,
                0.0,
            ),
        ),
    ),
    "12": Figure(
        "PAM, Figure 12: what each part gives to attention",
        (
            *(
                Panel(
                    f"{size} batch",
                    "times as fast",
                    (
                        Bar("over LS-PIM", claim, "vs_lspim"),
                        Bar("over PAM\nwithout its\nattention", claim, "vs_no_pamattention"),
                        Bar("over PAM\nwithout KV\nmapping", claim, "vs_no_mapping"),
                        Bar("over PAM\nwithout KV\nscheduling", claim, "vs_no_scheduling"),
                    ),
                    True,
                    1.0,
                )
                for size, claim in (("small", "pam-abl-small"), ("large", "pam-abl-large"))
            ),
        ),
    ),
    "13": Figure(
        "PAM, Figure 13: more devices",
        (
            Panel(
                "throughput over L-PIM, all configurations",
                "times as fast (from least to most)",
                (Bar("write_doc", "pam-scale"),),
                True,
                1.0,
            ),
        ),
    ),
}
