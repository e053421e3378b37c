"""PAM: local attention beside the banks of three tiers, merges by reduction units up to the tiers. The rest is float32.

The tokens lie where the block table puts them: new tokens in the fastest tier with space, swaps by importance after each
step (Algorithm 2). The importance of a token follows the attention that float32 gives it, as a published sparsity method
would estimate it. A token's bank within its group is its slot modulo the banks, and a bank's tokens come in the order of
their slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...constraints.core.formats import FORMATS
from ...constraints.pam.hbm_slice import PRESETS as SLICES
from ...constraints.pam.hbm_slice import PamSliceConfig
from ...constraints.pam.pu import PamPuConfig
from ...constraints.pam.reduction_tree import merger
from ...constraints.pam.ssd_controller import PRESETS as CONTROLLERS
from ...constraints.pam.tier_merge import PRESETS as MERGES
from ..llm.weights import Model
from ..numerics import convert
from ..numerics.sums import Lists
from ..pam.batch import ListPartials, local_attention_lists
from ..pam.merging import merge_lists
from ..pam.placement import KvTable, TierShape
from ..pam.ru import Partial, Reduced
from ..systems import load_system
from ..systems.capabilities import PlacesTokens
from .backend import Backend, Place, UnitBackend

__all__ = ["TIERS", "PamBackend", "Tier", "make"]


@dataclass(frozen=True)
class Tier:
    """Units of a tier that hold the request's tokens, and the tier's share of the tokens."""

    name: str
    slice: PamSliceConfig
    share: int

    @property
    def banks(self) -> int:
        """Processing units of a group."""
        return self.slice.reduction.sources

    @property
    def units(self) -> int:
        return self.slice.groups * self.banks


def _fewer(config: PamSliceConfig, groups: int) -> PamSliceConfig:
    return type(config).model_validate({**config.model_dump(), "groups": groups})


#: Four bank groups of an HBM channel, two of a DIMM and two channels of an SSD; half of the tokens are in HBM.
TIERS = (
    Tier("hbm", _fewer(SLICES["pam-hbm"], 4), 2),
    Tier("ddr", _fewer(SLICES["pam-ddr"], 2), 1),
    Tier("ssd", _fewer(CONTROLLERS["pam-ssd"], 2), 1),
)


#: All tokens in the first tier.
HBM_ONLY = tuple(replace(tier, share=int(tier is TIERS[0])) for tier in TIERS)


class PamBackend(UnitBackend):
    """See the module. ``system`` names the system whose model has the time of a step."""

    def __init__(self, name: str, tiers: Sequence[Tier] = TIERS, system: str = "pam") -> None:
        super().__init__(name)
        self.system = system
        self.tiers = tuple(tiers)
        self.merge = MERGES["pam"]
        self.io = self.tiers[0].slice.processing.io
        self.table: KvTable
        self.file: Any
        self.by_tier: list[list[int]] = []
        self._orders: list[np.ndarray] = []
        self._units: list[np.ndarray] = []
        self._new = 0

    def begin(self, model: Model, room: int) -> None:
        super().begin(model, room)
        for tier in self.tiers:
            tier.slice.processing.check_head_dim(model.shape.head_dim)
        system = load_system("pam")
        assert isinstance(system, PlacesTokens)
        self.file, self.ratios = system.pim, system.ratios(model.shape)
        shares = sum(tier.share for tier in self.tiers)
        shapes = [
            TierShape(tier.name, 1, tier.slice.groups, -(-room * tier.share // (shares * tier.slice.groups)))
            for tier in self.tiers
        ]
        self.table = KvTable(shapes, window=self.file.placement.window, run_tokens=self.file.placement.run_tokens)
        self.request = self.table.add([0], [room])
        self.by_tier, self._orders, self._units, self._new = [], [], [], 0

    # Places ----------------------------------------------------------------------------------------------------------

    def arrive(self, weights: np.ndarray) -> None:
        table, self._new = self.table, len(weights)
        self._orders, self._units = [], []
        starts = np.cumsum([0, *(tier.units for tier in self.tiers)])
        banks = np.array([tier.banks for tier in self.tiers])
        for row in weights:
            table.append(self.request)
            count = int(table.length[0])
            where = table.start[0] + np.arange(count)
            tier, slot = table.tier[where].astype(np.int64), table.slot[where].astype(np.int64)
            unit = starts[tier] + table.group[where] * banks[tier] + slot % banks[tier]
            order = np.lexsort((slot, unit))
            self._orders.append(order)
            self._units.append(unit[order])
            self.by_tier.append(np.bincount(tier, minlength=len(self.tiers)).tolist())
            self._move(row[:count], where)

    def _move(self, weights: np.ndarray, where: np.ndarray) -> None:
        """Importance after a step, and the swaps that follow from it."""
        table, count = self.table, len(where)
        sparsity, scheduling = self.file.sparsity, self.file.scheduling
        number = int(-(-count // sparsity.compression))
        active = np.zeros(count, bool)
        active[np.argpartition(-weights, number - 1)[:number]] = True
        active[: sparsity.sink] = active[-sparsity.recent :] = True
        chosen = where[active]
        mean = float(weights[active].mean())
        scores = weights[active] / np.float32(mean) if mean > 0 else np.ones(len(chosen), np.float32)
        importance = table.importance[: table.size]
        importance *= np.float32(1 - scheduling.decay)
        importance[chosen] += np.float32(scheduling.decay) * scores
        table.record(chosen)
        table.schedule(*self.ratios, int(scheduling.budget_percent / 100 * count))

    # Attention -------------------------------------------------------------------------------------------------------

    def attend(self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists, first: int) -> np.ndarray:
        tokens, units = self._placed(lists, first, len(k))
        results, begin = [], 0
        for tier in self.tiers:
            results.append(self._slice(place, tier, q, k, v, tokens, units, begin))
            begin += tier.units
        return self._merged(results).o

    def _placed(self, lists: Lists, first: int, count: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Tokens of each query in the order of the units, and the unit of each token."""
        tokens, units = [], []
        for n in range(len(lists.query)):
            mine = lists.tokens[lists.first[n] : lists.first[n + 1]]
            row = (first + n) % self._new
            order, own = self._orders[row], self._units[row]
            if len(mine) < len(order):
                chosen = np.zeros(len(order), bool)
                chosen[mine] = True
                chosen = chosen[order]
                order, own = order[chosen], own[chosen]
            tokens.append(order)
            units.append(own)
        return tokens, units

    def _slice(
        self,
        place: Place,
        tier: Tier,
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        tokens: list[np.ndarray],
        units: list[np.ndarray],
        begin: int,
    ) -> Reduced:
        """Results of a tier, one for each query; see :func:`bankside.models.pam.compositions.slice_attention`."""
        config, queries = tier.slice, len(q)
        edges = np.arange(begin, begin + tier.units + 1)
        cuts = np.array([np.searchsorted(own, edges) for own in units])
        sizes = np.diff(cuts, axis=1).reshape(-1)
        mine = [order[cut[0] : cut[-1]] for order, cut in zip(tokens, cuts, strict=True)]
        first = np.concatenate([[0], np.cumsum(sizes)])
        each = Lists(np.concatenate(mine), first, np.repeat(np.arange(queries), tier.units))
        local = self.local(place, tier, config.processing, q, k, v, each)
        level, width = self.reduce(place, tier, local), config.groups
        if width == 1:
            return level
        for sizes_of in config.tree.levels:
            level, width = _level(config, level, width, sizes_of, queries), len(sizes_of)
        return level

    def local(
        self, place: Place, tier: Tier, config: PamPuConfig, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists
    ) -> ListPartials:
        """What the processing units send: a list is a query on one unit, unit by unit of ``tier`` for each query. RTL takes
        its place."""
        return local_attention_lists(config, q, k, v, lists)

    def reduce(self, place: Place, tier: Tier, local: ListPartials) -> Reduced:
        """What the groups' reduction units send, group by group for each query. RTL takes its place."""
        # A unit takes its sources in turn.
        tiles = np.diff(local.first)
        unit = np.repeat(np.arange(len(tiles)), tiles)
        tile = np.arange(len(unit)) - np.repeat(local.first[:-1], tiles)
        order = np.lexsort((unit, tile, unit // tier.banks))
        partial = Partial(local.m, np.zeros_like(local.m), local.l, local.o)
        return merge_lists(tier.slice.reduction, partial, order, local.first[:: tier.banks], normalise=False)

    def _merged(self, results: Sequence[Reduced]) -> Reduced:
        """See :func:`bankside.models.pam.compositions.tier_merge`."""
        unit, count = self.merge.unit, len(results[0].m)
        maxima = [
            convert(result.m, FORMATS[name], unit.score)
            for result, name in zip(results, self.merge.score_formats, strict=True)
        ]
        stacked = [
            np.stack(parts, axis=1)
            for parts in (maxima, *([getattr(result, name) for result in results] for name in ("scale", "l", "o")))
        ]
        partial = Partial(*(part.reshape(-1, *part.shape[2:]) for part in stacked))
        every = len(results)
        return merge_lists(unit, partial, np.arange(every * count), np.arange(count + 1) * every, normalise=True)

    def details(self) -> dict[str, Any]:
        return {"tiers": [tier.name for tier in self.tiers], "tokens_by_tier": self.by_tier}


def _level(config: PamSliceConfig, level: Reduced, width: int, sizes: Sequence[int], queries: int) -> Reduced:
    """A level of the tree for all queries. Results lie query by query."""
    out, first = [], 0
    for size in sizes:
        order = (np.arange(queries)[:, None] * width + np.arange(first, first + size)).reshape(-1)
        first += size
        if size == 1:
            out.append(Reduced(level.m[order], level.scale[order], level.l[order], level.o[order]))
            continue
        unit, each = merger(config.tree.unit, size), np.arange(queries + 1) * size
        out.append(merge_lists(unit, level, order, each, normalise=False))
    parts = [np.stack([getattr(one, name) for one in out], axis=1) for name in ("m", "scale", "l", "o")]
    return Reduced(*(part.reshape(-1, *part.shape[2:]) for part in parts))


def make(name: str, hbm_only: bool = False) -> Backend:
    return PamBackend(name, HBM_ONLY, "pam-hbm-only") if hbm_only else PamBackend(name)
