"""Attention of one layer over the tiers: queries, units, reduction and results of each, the last merge, and new tokens.

Each tier takes the time that its busiest part needs (``models.pam.tiers``). With PAM's attention, tiers do the softmax and
merge their partial results. Without, scores go to the GPU and probabilities come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ....constraints.memory import Memory
from ....constraints.systems import TieredSystemSpec
from ...pam.placement import KvTable
from ...pam.tiers import Flash, NearBank, TierWork
from ..reads import move_pj_per_byte
from ..roofline import Roofline
from ..timeline import Span
from ..units import clock_hz, partial_bytes
from .hardware import Hardware, Tier
from .share import Share

__all__ = ["LayerTimer", "LayerTimes", "TierTimes"]


@dataclass(frozen=True)
class TierTimes:
    """One layer's attention of a micro-batch in one tier, in seconds.

    Attributes
    ----------
    query_s : queries to the tier
    local_s : units, from rows opened to partial results
    reduce_s : reduction in the arrays, transfer to the place where a device's results come together, merge there
        (overlaps with ``local_s``)
    return_s : results to the GPU's side
    scores_s : scores to the GPU and probabilities back, where the tier has no softmax
    total_s : sum of these times, with overlapping times counted once
    first_s, second_s : the part of it before the GPU's softmax, and the part behind
    """

    query_s: float = 0.0
    local_s: float = 0.0
    reduce_s: float = 0.0
    return_s: float = 0.0
    scores_s: float = 0.0
    first_s: float = 0.0
    second_s: float = 0.0
    total_s: float = 0.0
    energy_pj: Mapping[str, float] = field(default_factory=dict)
    work: TierWork = TierWork()

    def spans(self, name: str, start_s: float, scale: float) -> list[Span]:
        """Spans of tier ``name`` in an attention that begins at ``start_s``; times are multiplied by ``scale``."""
        done = self.query_s + max(self.local_s, self.reduce_s)
        return [
            Span(f"{name}: {track}", what, start_s + begun * scale, took * scale)
            for track, what, begun, took in (
                ("links", "queries", 0.0, self.query_s),
                ("units", "local attention", self.query_s, self.local_s),
                ("reduction", "merge in the tier", self.query_s, self.reduce_s),
                ("links", "results", done, self.return_s),
            )
            if took > 0
        ]


@dataclass(frozen=True)
class LayerTimes:
    """One layer's attention of the slowest micro-batch.

    Attributes
    ----------
    tiers : times by tier
    attention_s, merge_s, append_s, gather_s : :class:`float`
        Time of the slowest tier, merge of the tiers, writing new tokens' K and V, softmax on the GPU.
    energy_pj : energy of all micro-batches and one share, by component
    """

    tiers: dict[str, TierTimes]
    attention_s: float
    merge_s: float
    append_s: float
    gather_s: float
    energy_pj: dict[str, float]

    @property
    def layer_s(self) -> float:
        """All of it."""
        return self.attention_s + self.merge_s + self.append_s + self.gather_s


@dataclass(frozen=True)
class _TierStep:
    """A tier at work for one layer of a micro-batch."""

    tier: Tier
    part: NearBank | Flash
    work: TierWork
    share: Share
    spec: TieredSystemSpec
    gpu_memory: Memory
    roofline: Roofline

    @property
    def passes(self) -> int:
        """Passes over K and V of all heads."""
        return self.share.heads * self.tier.group(self.share).passes

    @property
    def channel_bytes_per_s(self) -> float:
        """Rate of one channel's own interface. Channels of flash are controllers, reached by their link."""
        if isinstance(self.part, Flash):
            return float("inf")
        return self.tier.memory.channel_bytes_per_s * self.roofline.gpu.memory_utilisation

    @property
    def partial_bytes(self) -> int:
        """Bytes of the partial results of all queries."""
        return self.share.queries * partial_bytes(self.tier.unit.config, self.share.model.head_dim)

    @property
    def query_s(self) -> float:
        """Seconds in which queries reach the tier."""
        share, work = self.share, self.work
        return self.tier.latency_s + share.queries * share.model.head_dim * share.model.dtype_bytes * max(
            work.busiest_channel_pairs / self.channel_bytes_per_s, work.requests / self.tier.link_bytes_per_s
        )

    @property
    def drain_s(self) -> float:
        return self.tier.unit.figures.drain_s(self.tier.unit.config)

    def reads_s(self) -> tuple[float, float]:
        """Seconds of the units with K and with V. A page of flash has both, and the time with K is of both."""
        tier, unit, share, work = self.tier, self.tier.unit, self.share, self.work
        dim, devices = share.model.head_dim, tier.spec.devices_per_gpu
        if self.spec.rate == "paper":
            assert tier.spec.paper_gflops is not None  # the schema sees to it
            each = 2 * dim * work.tokens * share.queries / (tier.spec.paper_gflops * 1e9 * devices)
            return each, each
        if isinstance(self.part, NearBank):
            stretch = unit.figures.stretch
            return self.passes * work.key_s * stretch, self.passes * work.value_s * stretch
        # Units take the page from the controller's buffer: K and V of every active token, for every query.
        pages, units = tier.pages(share)[0], (tier.spec.units_per_device or 1) * devices
        beats = 2 * dim / unit.config.lanes * work.tokens * share.queries
        rate = unit.figures.beats_per_clock * unit.figures.queries  # a beat meets one query after the other
        return max(pages * work.key_s, beats / (units * clock_hz(unit.config) * rate)), pages * work.value_s

    def reads_pj(self) -> dict[str, float]:
        """Energy of reading and computing."""
        ratio, share, work = self.spec.energy.unit_power_ratio, self.share, self.work
        if isinstance(self.part, NearBank):
            # A unit takes its multiple of the energy of reading columns, for each query that meets them; opening rows is
            # the bank's alone.
            rows_pj, columns_pj = self.part.energy_pj(work)
            return {
                "pim_cell_reads": self.passes * (rows_pj + columns_pj),
                "pu_compute": ratio * share.queries * columns_pj,
            }
        return {
            "flash_reads": work.rows * self.tier.pages(share)[0] * (self.tier.spec.page_pj or 0.0),
            "pu_compute": ratio * 2 * share.model.head_dim * work.tokens * share.queries * self.roofline.energy.mac_pj,
        }

    @property
    def moved_pj_per_byte(self) -> float:
        """Energy of a byte between the GPU and the tier."""
        return self.roofline.energy.dram_pj_per_byte + (self.spec.links.pj_per_byte if self.tier.linked else 0.0)

    def merged(self) -> TierTimes:
        """Times of a tier with a softmax of its own. Its partial results are merged on their way to the GPU."""
        tier, share, work = self.tier, self.share, self.work
        key_s, value_s = self.reads_s()
        local_s = key_s + value_s + self.drain_s
        inside = work.busiest_group_pairs * self.partial_bytes / self.channel_bytes_per_s
        units = tier.spec.device_reduction_units * tier.spec.devices_per_gpu
        together = tier.merge_s(share, work.group_pairs, work.device_pairs, units)
        reduce_s = max(share.queries * work.reduce_s, inside, together)
        return_s = tier.latency_s + work.device_pairs * self.partial_bytes / tier.link_bytes_per_s
        total = self.query_s + max(local_s, reduce_s) + return_s
        # Groups' results stay in the device: they pass neither cells nor the device's own interface.
        inside_pj = move_pj_per_byte(tier.memory, self.gpu_memory) if isinstance(self.part, NearBank) else 0.0
        query_bytes = share.queries * share.model.head_dim * share.model.dtype_bytes
        moved = query_bytes * work.channel_pairs + self.partial_bytes * work.device_pairs
        energy = self.reads_pj() | {
            "transfers": moved * self.moved_pj_per_byte + self.partial_bytes * work.group_pairs * inside_pj,
            "reduction": work.partials * share.queries * share.model.head_dim * self.roofline.energy.mac_pj,
        }
        return TierTimes(self.query_s, local_s, reduce_s, return_s, 0.0, total, 0.0, total, energy, work)

    def scored(self) -> TierTimes:
        """Times of a tier without softmax and merge. Scores leave, probabilities come back, and each group's sum of outputs
        leaves. As in AttAcc, the banks of a group add up on the way."""
        tier, work, channel = self.tier, self.work, self.channel_bytes_per_s
        link, latency = tier.link_bytes_per_s, tier.latency_s
        dim, size = self.share.model.head_dim, self.share.queries * self.share.model.dtype_bytes
        scores_s = latency + size * max(work.busiest_channel_tokens / channel, work.tokens / link)
        return_s = latency + size * dim * max(work.busiest_group_pairs / channel, work.group_pairs / link)
        key_s, value_s = self.reads_s()
        again_s = value_s or key_s  # a page is read anew for V
        first = self.query_s + key_s + scores_s
        second = scores_s + again_s + self.drain_s + return_s
        moved = size * (dim * work.channel_pairs + 2 * work.tokens + dim * work.group_pairs)
        energy = self.reads_pj() | {"transfers": moved * self.moved_pj_per_byte}
        if isinstance(self.part, Flash):
            energy["flash_reads"] *= 2
        local_s = key_s + again_s + self.drain_s
        return TierTimes(
            self.query_s, local_s, 0.0, return_s, 2 * scores_s, first, second, first + second, energy, work
        )


def added(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The sum of energies, by component."""
    out: dict[str, float] = {}
    for part in parts:
        for component, pj in part.items():
            out[component] = out.get(component, 0.0) + pj
    return out


class LayerTimer:
    """Times of one layer's attention for a share, on hardware with its measurements.

    Parameters
    ----------
    roofline
        The GPU, which does the softmax where the tiers have none.
    refresh : :class:`bool`
        Whether the timing of near-bank work includes DRAM refresh.
    """

    def __init__(self, hardware: Hardware, share: Share, roofline: Roofline, refresh: bool) -> None:
        self.hardware, self.share, self.roofline = hardware, share, roofline
        gpu_memory = hardware.tiers[0].memory
        self.parts = [tier.part(share, hardware.spec, gpu_memory, refresh) for tier in hardware.tiers]

    def time(self, table: KvTable, active: np.ndarray, requests: np.ndarray, micro_batches: int) -> LayerTimes:
        """Times of the slowest micro-batch, and the energy of all.

        Parameters
        ----------
        active : integer array
            Places of the active tokens in the block table.
        requests : integer array
            The batch. Its requests are dealt out to micro-batches in turn. So each has an equal part of the early requests,
            which came to the faster tiers.
        """
        owner, tier = table.owners()[active], table.tier[active]
        number = min(micro_batches, len(requests))
        turn = np.zeros(int(requests.max()) + 1, np.int32)
        turn[requests] = np.arange(len(requests)) % number
        timed = []
        for which in range(number):
            chosen = turn[owner] == which
            timed.append(self._micro(table, active[chosen], owner[chosen], tier[chosen], requests[which::number]))
        return replace(max(timed, key=lambda one: one.layer_s), energy_pj=added(one.energy_pj for one in timed))

    def _micro(
        self, table: KvTable, active: np.ndarray, owner: np.ndarray, tier: np.ndarray, micro: np.ndarray
    ) -> LayerTimes:
        new = table.start[micro] + table.length[micro] - 1
        times: dict[str, TierTimes] = {}
        append_s = 0.0
        for number, (one, part) in enumerate(zip(self.hardware.tiers, self.parts, strict=True)):
            mine = tier == number
            places = active[mine]
            times[one.name] = self._tier(one, part, part.work(owner[mine], table.group[places], table.slot[places]))
            append_s = max(append_s, one.append_s(self.share, table.group[new[table.tier[new] == number]]))
        energy = added(one.energy_pj for one in times.values())
        whole = self._merged if self.hardware.spec.features.pam_attention else self._scored
        attention_s, merge_s, gather_s = whole([*times.values()], len(micro))
        return LayerTimes(times, attention_s, merge_s, append_s, gather_s, energy)

    def _tier(self, tier: Tier, part: NearBank | Flash, work: TierWork) -> TierTimes:
        if not work.tokens:
            return TierTimes()
        spec = self.hardware.spec
        step = _TierStep(tier, part, work, self.share, spec, self.hardware.tiers[0].memory, self.roofline)
        return step.merged() if spec.features.pam_attention else step.scored()

    def _merged(self, times: list[TierTimes], requests: int) -> tuple[float, float, float]:
        """The slowest tier, and the last merge: of the devices' partial results, in the first tier's reduction units."""
        first = self.hardware.tiers[0]
        partials = sum(one.work.device_pairs for one in times)
        units = first.spec.device_reduction_units * first.spec.devices_per_gpu
        return max(one.total_s for one in times), first.merge_s(self.share, partials, requests, units, last=True), 0.0

    def _scored(self, times: list[TierTimes], requests: int) -> tuple[float, float, float]:
        """The slowest tier before the GPU's softmax and behind it, and the GPU's sum of outputs and softmax."""
        model, queries = self.share.model, self.share.queries
        tokens = sum(one.work.tokens for one in times) * queries
        outputs = sum(one.work.group_pairs for one in times) * queries
        return (
            max(one.first_s for one in times) + max(one.second_s for one in times),
            self.roofline.memory_time(outputs * model.head_dim * model.dtype_bytes),
            self.roofline.memory_time(2 * tokens * model.dtype_bytes),
        )
