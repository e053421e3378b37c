"""Keys of systems with tiers of memory in the result of ``eval``."""

from __future__ import annotations

from typing import Any

from ...constraints.core.result import Pair, Part, key

__all__ = ["TierKeys"]


class PartialResults(Part):
    """Bytes of a layer's partial results over each hop; empty without reduction units."""

    tree_bytes: dict[str, int | float] = key("with reduction units in the arrays, by hop", "bytes", default={})
    central_bytes: dict[str, int | float] = key("with one place of reduction per device, by hop", "bytes", default={})
    saved_percent: dict[str, float] = key("saving of the reduction units, by hop", "%", default={})


class Tier(Part):
    """A tier of memory in a step."""

    tokens: int = key("tokens in the tier")
    capacity_tokens: int = key("tokens for which the tier has room")
    active_tokens: int = key("tokens that the step activates")
    active_percent: float = key("share of all active tokens", "%")
    query_us: float = key("time per layer to send the queries", "µs")
    local_us: float = key("time per layer of attention on the units", "µs")
    reduce_us: float = key("time per layer of reduction, hidden or not", "µs")
    return_us: float = key("time per layer to return the results", "µs")
    scores_us: float = key("time per layer to return the scores", "µs")
    total_us: float = key("time of a layer's attention", "µs")
    queries_per_pass: int = key("most queries that a column read meets")
    passes: int = key("passes over K and V for the queries that share them")
    imbalance: float = key("largest load of a bank group or channel over the mean")
    moving_ms: float = key("time of a step in a bank group or channel for reads and writes of moved tokens", "ms")
    busy_ms: float = key("time of a step in a bank group or channel for attention", "ms")
    units_mm2: Pair | None = key(
        "measured area of all units of a die, low and high end; null if it is not measured", "mm²"
    )
    reduction_mm2: Pair | None = key(
        "measured area of all reduction units of a die, low and high end; null if it is not measured", "mm²"
    )
    published_percent: float = key("published area of the hardware as a percentage of the die", "%")
    die_percent: Pair | None = key("`units_mm2` as a percentage of the die", "%")
    with_other_percent: Pair | None = key("the same percentage with the reduction units", "%")
    interface_ge: float | None = key(
        "measured area of a device's interfaces; null if it is not measured, no key without interfaces",
        "GE",
        default=None,
    )
    interface_mm2: Pair | None = key("the same, low and high end", "mm²", default=None)
    interface_percent: Pair | None = key("the same as a percentage of their die", "%", default=None)
    interface_published_mm2: float | None = key("published area of the interfaces", "mm²", default=None)
    interface_published_percent: float | None = key(
        "published area of the interfaces as a percentage of their die", "%", default=None
    )
    partial_results: PartialResults = key("partial results of a layer over each hop")

    def line(self) -> str:
        """The tier for people, without its name."""
        text = (
            f"{self.tokens:,} of {self.capacity_tokens:,} tokens, {self.active_percent:.1f} % of the active ones, "
            f"{self.total_us:.1f} us a layer"
        )
        if self.with_other_percent:
            low, high = self.with_other_percent
            units = "units and reduction units" if self.reduction_mm2 else "units"
            text += f"; {units} {low:.1f} to {high:.1f} % of a die, published {self.published_percent:g} %"
        if self.interface_mm2:
            low, high = self.interface_mm2
            text += f"; interface {low:.3f} to {high:.3f} mm2, published {self.interface_published_mm2:g}"
        return text


class TierReduction(Part):
    """Reduction of partial results, over the time of attention."""

    exposed_us: float = key("time per layer of unhidden reduction", "µs")
    merge_us: float = key("time per layer of the last merge", "µs")
    share_percent: float = key("percentage of attention time for unhidden reduction and the last merge", "%")
    hidden_percent: float = key(
        "percentage of attention time with reduction hidden behind the units, in the slowest tier", "%"
    )


class TierAttention(Part):
    """Attention over tiers of memory (`pam`, `ls-pim`, `l-pim`)."""

    tiers: dict[str, Tier] = key("each tier")
    micro_batch: int = key("requests of a micro-batch")
    refresh: bool = key("whether refresh is included")
    kv_tokens: int = key("tokens of all requests", "tokens")
    active_tokens: int = key("tokens that the step activates", "tokens")
    queries_per_instance: int = key("queries that share keys and values")
    moves: dict[str, int] = key("swaps between two tiers in the step")
    moved_percent: float = key("swaps as a percentage of the tokens", "%")
    migration_ms: float = key("time of the transfers between tiers, which run beside the step", "ms")
    block_table_bytes: int = key("size of the entries of all tokens in the block table", "bytes")
    x: float | None = key(
        "target ratio of the scheduler: importance of a token in HBM over the importance of a token in the SSD"
    )
    y: float | None = key(
        "target ratio of the scheduler: importance of a token in DDR over the importance of a token in the SSD"
    )
    interface_rate_fraction: dict[str, float] = key(
        "for each pair of tiers: measured fraction of the slower memory's rate that transfers reach"
    )
    reduction: TierReduction | None = key("reduction of partial results; null without reduction units")


class TierUnit(Part):
    """The unit of the first tier, with measured figures."""

    unit: str = key("name of the unit")
    preset: str | None = key("preset of the unit")
    settings: dict[str, Any] = key("parameters that differ from the preset")
    config_hash: str = key("hash of the configuration")
    clock_mhz: float = key("clock at which the unit runs", "MHz")
    fmax_mhz: float | None = key("measured highest clock", "MHz")
    meets_clock: bool = key("whether `fmax_mhz` is at least `clock_mhz`")
    area_ge: float = key("measured area", "GE")
    process: dict[str, Any] | None = key(
        "`process` of [synth](#synth): the clock in the unit's own process; null if there is none"
    )


class TierKeys(Part):
    """Keys of a system with tiers of memory."""

    unit: TierUnit = key("the unit of the first tier, with measured figures")
    attention: TierAttention = key("attention over the tiers")

    def text_lines(self) -> list[tuple[str, str]]:
        """Lines for people: each tier, then costs of partial results where tiers merge them."""
        tiers, shares = self.attention.tiers, self.attention.reduction
        rows = [(f"  tier {name}", tier.line()) for name, tier in tiers.items()]
        if shares is None:
            return rows
        saved = [
            f"{name} {tier.partial_results.saved_percent['group_to_device']:.1f} %"
            for name, tier in tiers.items()
            if tier.partial_results.saved_percent
        ]
        return [
            *rows,
            (
                "reduction",
                f"{shares.share_percent:.2f} % of attention; up to {shares.hidden_percent:.1f} % is "
                "hidden behind the units",
            ),
            ("partial results", f"traffic from group to device that the tree saves: {', '.join(saved) or 'none'}"),
        ]
