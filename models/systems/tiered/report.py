"""Results of a system with tiers beyond its costs: area, the tiers' times and tokens, reduction, notes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...cost import DieArea, die_area, logic_area
from ...pam.placement import TierShape
from ...pam.program import mac_interval
from ...pam.tiers import TierWork
from ..units import MeasuredUnit, partial_bytes
from .hardware import Hardware, Tier
from .node import Step
from .share import Share

__all__ = ["TOKEN_ENTRY_BYTES", "Report"]

#: Bytes of a token in the block table: see :meth:`KvTable.table_bytes`.
TOKEN_ENTRY_BYTES = 11


class Report:
    """Results of one step on a share's hardware."""

    def __init__(self, hardware: Hardware, share: Share, step: Step) -> None:
        self.hardware, self.share, self.step = hardware, share, step
        self.areas = {tier.name: area(tier) for tier in hardware.tiers}

    def tier(self, tier: Tier, shape: TierShape, busy_s: float) -> dict[str, Any]:
        """Results of a tier that attends for ``busy_s`` seconds of the step."""
        step, total, number = self.step, sum(self.step.active), self.hardware.tiers.index(tier)
        t, group, die = step.tiers[tier.name], tier.group(self.share), self.areas[tier.name]
        return {
            "tokens": step.tokens[number],
            "capacity_tokens": shape.capacity,
            "active_tokens": step.active[number],
            "active_percent": 100 * step.active[number] / total if total else 0.0,
            "query_us": t.query_s * 1e6,
            "local_us": t.local_s * 1e6,
            "reduce_us": t.reduce_s * 1e6,
            "return_us": t.return_s * 1e6,
            "scores_us": t.scores_s * 1e6,
            "total_us": t.total_s * 1e6,
            "queries_per_pass": group.together,
            "passes": group.passes,
            "imbalance": t.work.imbalance,
            "moving_ms": step.moving_s[tier.name] * 1e3,
            "busy_ms": busy_s * 1e3,
            "units_mm2": die.units_mm2,
            "reduction_mm2": die.reduction_mm2,
            "published_percent": die.budget_percent,
            "die_percent": die.die_percent,
            "with_other_percent": die.with_other_percent,
            **self._interface_area(tier),
            "partial_results": self._transfers(tier, t.work) if tier.reducer else {},
        }

    def _interface_area(self, tier: Tier) -> dict[str, Any]:
        """Measured area of a device's interfaces on their logic die, and the published area. A measured interface serves
        one channel."""
        budget, interfaces = tier.spec.interface, self.hardware.interfaces
        if budget is None or not interfaces:
            return {}
        made = [interfaces[preset].synth for preset in budget.presets]
        published = {
            "interface_published_mm2": budget.published_mm2,
            "interface_published_percent": budget.published_percent,
        }
        if None in made:
            return {"interface_ge": None, "interface_mm2": None, "interface_percent": None, **published}
        ge = sum(one.area_ge for one in made if one is not None) * tier.spec.channels_per_device
        mm2 = logic_area(ge, budget.logic_node)
        return {
            "interface_ge": ge,
            "interface_mm2": mm2,
            "interface_percent": tuple(100 * a / budget.die_mm2 for a in mm2),
            **published,
        }

    def _transfers(self, tier: Tier, work: TierWork) -> dict[str, Any]:
        """Bytes of partial results on their way through a tier, for one layer of a micro-batch. ``tree`` has reduction
        units in the arrays; ``central`` has one place of reduction in each device."""
        size = partial_bytes(tier.unit.config, self.share.model.head_dim) * self.share.queries
        inside, between, out = (size * count for count in (work.partials, work.group_pairs, work.device_pairs))
        if not inside:
            return {}
        return {
            "tree_bytes": {"bank_to_group": inside, "group_to_device": between, "device_out": out},
            "central_bytes": {"bank_to_group": inside, "group_to_device": inside, "device_out": out},
            "saved_percent": {
                "group_to_device": 100 * (1 - between / inside),
                "device": 100 * (1 - (inside + between) / (2 * inside)),
            },
        }

    def reduction(self) -> dict[str, float] | None:
        """Times of the reduction, and their percentages of attention's time; None without reduction units."""
        if not self.hardware.reducers:
            return None
        slowest = max(self.step.tiers.values(), key=lambda t: t.total_s)
        whole = self.step.attention_s + self.step.merge_s
        exposed = max(slowest.reduce_s - slowest.local_s, 0.0)
        return {
            "exposed_us": exposed * 1e6,
            "merge_us": self.step.merge_s * 1e6,
            "share_percent": 100 * (exposed + self.step.merge_s) / whole if whole else 0.0,
            "hidden_percent": 100 * min(slowest.reduce_s, slowest.local_s) / whole if whole else 0.0,
        }

    def unit(self) -> dict[str, Any]:
        """The processing unit of the first tier."""
        own = self.hardware.tiers[0].unit
        return {
            "unit": own.unit.name,
            "preset": own.preset,
            "settings": dict(own.changes),
            "config_hash": own.hash,
            "clock_mhz": own.config.clock_mhz,
            "fmax_mhz": own.synthesis.fmax_mhz,
            "meets_clock": own.synthesis.fmax_mhz >= own.config.clock_mhz,
            "area_ge": own.synthesis.area_ge,
            "process": own.process.as_dict() if own.process else None,
        }

    def notes(self) -> list[str]:
        """What a reader should know: the slowest tier, units below their clock, limits of groups, areas unknown."""
        step, hardware = self.step, self.hardware
        slowest = max(step.tiers, key=lambda name: step.tiers[name].total_s)
        active = step.active[list(step.tiers).index(slowest)]
        out = [
            f"tier '{slowest}' takes the longest: {step.tiers[slowest].total_s * 1e6:.1f} us a layer for "
            f"{100 * active / max(sum(step.active), 1):.1f} % of the active tokens"
        ]
        for tier in hardware.tiers:
            reached: list[tuple[str, MeasuredUnit[Any, Any] | None]] = [
                ("unit", tier.unit),
                ("reduction unit", tier.reducer),
            ]
            out += [
                f"the {what} of tier '{tier.name}' {one.below_target}"
                for what, one in reached
                if one and one.below_target
            ]
            out += self._group_notes(tier)
        beside: list[MeasuredUnit[Any, Any]] = [*hardware.reducers, *hardware.interfaces.values()]
        return out + [f"area not measured: run `{need.command}`" for one in beside for need in one.unmeasured]

    def _group_notes(self, tier: Tier) -> list[str]:
        """What limits a tier whose units take several queries of a group."""
        takes, group, merged = tier.unit.config.queries, tier.group(self.share), tier.merged
        if takes == 1 or group.queries == 1 or tier.flash:
            return []
        notes = []
        if merged is not None and merged < min(takes, group.queries):
            notes.append(
                f"the units of tier '{tier.name}' take {takes} queries a pass and its reduction units merge "
                f"{merged}, so a pass has {group.together}"
            )
        interval = mac_interval(tier.memory)
        if group.burst_cycles > interval:
            notes.append(
                f"the unit, not the memory, limits attention of tier '{tier.name}': {group.burst_cycles} memory "
                f"cycles a burst of {group.together} queries against {interval}"
            )
        return notes


def area(tier: Tier) -> DieArea:
    """Area of the units on a die of a tier, from measured gate equivalents, with the published budget."""
    merging = tier.reducer.synth if tier.reducer else None
    found = die_area(tier.unit.synthesis.area_ge, tier.spec.area, reduction_ge=merging.area_ge if merging else 0.0)
    if merging is not None:
        return found
    lacking = "no area of reduction units is measured" if tier.reducer else "no reduction units"
    return replace(found, reduction_mm2=None, other=f"nothing: {lacking}")
