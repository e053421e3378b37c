"""Keys of ``starc`` in the result of ``eval``."""

from __future__ import annotations

from ...constraints.core.result import Part, key
from .attacc_keys import AttAccKeys

__all__ = ["StarcKeys"]


class Clustering(Part):
    prompt_flops: int = key("operations of the prompt's clustering, for a head")
    interval_flops: int = key("operations of an interval's clustering, for a head")
    write_bytes: int = key("keys and values of an interval that move to their places, for a head", "bytes")
    prompt_gpu_ms: float = key("the prompt's clustering on the GPUs, for all heads and layers", "ms")
    gpu_us_per_step: float = key("clustering of intervals on the GPUs, the share of a step", "µs")
    write_us_per_step: float = key("all these moves, the share of a step", "µs")
    us_per_step: float = key("clustering and moves, the share of a step", "µs")
    tpot_ms_with: float = key("`tpot_ms` with both, nothing hidden", "ms")
    energy_mj_per_token: dict[str, float] = key("energy of both by component, and `total`", "mJ")


class Selecting(Part):
    unit: str = key("unit and preset")
    clusters: int = key("clusters of its measured selection")
    tail_us: float = key("from the last score to the program's end", "µs")
    share_of_attention: float = key("a tail in each layer over `attention_us`")
    measured_share: float | None = key("the record's share of attention on `pam-pu`")
    tpot_ms_with: float = key("`tpot_ms` with a tail in each layer", "ms")


class StarcKeys(AttAccKeys):
    """Further keys of `starc`. Counts are of a head whose tokens are selected, means over steps."""

    method: str = key("which tokens heads read")
    budget: int = key("tokens of a selection", "tokens")
    prompt_tokens: int = key("tokens of the prompt")
    unit_tokens: int = key("tokens of an access unit")
    full_layers: int = key("first layers that attend to all tokens")
    wanted: float = key("tokens that the head attends to", "tokens")
    fetched: float = key("tokens of the access units that it reads", "tokens")
    overfetch: float = key("`fetched` without `wanted`", "tokens")
    units: float = key("access units")
    runs: float = key("runs of neighbours among them")
    rows: float = key("rows with some of them, for K; V has as many")
    waiting: float = key("share of the reads' time in which a channel waits for another head")
    synthetic: bool = key("whether keys and queries are made up")
    steps: int = key("steps whose selections were computed")
    attention_us: float = key("attention on the units, all layers of a step", "µs")
    scored: float = key("vectors that a head reads to score tokens; not in `attention_us`", "vectors")
    clustering: Clustering | None = key(
        "clustering and moves of clustered tokens, not in `tpot_ms`; null for other methods"
    )
    selecting: Selecting | None = key(
        "the unit that selects, from its record, not in `tpot_ms`; null for other methods"
    )

    def text_lines(self) -> list[tuple[str, str]]:
        """Lines for people: reads of a head, and costs beside the step."""
        made = " (synthetic)" if self.synthetic else ""
        rows = [
            (
                "selection",
                f"{self.method}, budget {self.budget}: {self.wanted:.0f} tokens wanted, {self.fetched:.0f} "
                f"fetched in {self.runs:.0f} runs and {self.rows:.0f} rows{made}",
            ),
            (
                "attention",
                f"{self.attention_us:.1f} us a step; channels wait for {100 * self.waiting:.1f} % of the reads",
            ),
        ]
        clusters, unit = self.clustering, self.selecting
        if clusters:
            rows.append(
                (
                    "clustering",
                    f"{clusters.gpu_us_per_step:.2f} us on the GPUs and "
                    f"{clusters.write_us_per_step:.2f} us of moves a step, not in the time; "
                    f"{clusters.tpot_ms_with:.3f} ms with both",
                )
            )
        if unit:
            rows.append(
                (
                    "selecting",
                    f"{unit.unit}, {unit.tail_us:.3f} us a layer, not in the time; "
                    f"{unit.tpot_ms_with:.3f} ms if nothing hides it",
                )
            )
        return rows
