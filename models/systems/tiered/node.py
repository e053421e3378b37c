"""State of one batch: the block table, the source of activations, and decode steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...llm import ModelShape
from ...pam.placement import KvTable, Moves
from ...pam.sparsity import Activation, DenseSource, SparsitySource
from .step import LayerTimes, TierTimes

if TYPE_CHECKING:
    from ...sparse.recorded import StepSelection
    from ..pam import TieredPimSystem

__all__ = ["Node", "Step", "selected_step"]


@dataclass(frozen=True)
class Step(LayerTimes):
    """One decode step of the whole batch.

    Attributes
    ----------
    moves : swaps by pair of tiers
    migration_s : time of the transfers between tiers, beside the step
    moving_s : mean time by tier for which these transfers occupy a bank group or channel
    migration_pj : energy of a step's transfers, of one share
    active, tokens : tokens by tier
    """

    moves: dict[str, int]
    migration_s: float
    moving_s: dict[str, float]
    migration_pj: float
    active: list[int]
    tokens: list[int]


class Node:
    """The state of one batch.

    Parameters
    ----------
    system, model
    contexts : integer array
        Tokens of each request before the first step, at least 1.
    growth : :class:`int`
        Steps for whose tokens there must be room.
    source
        What chooses the active tokens; by default as the system's file says.
    """

    def __init__(
        self,
        system: TieredPimSystem,
        model: ModelShape,
        contexts: np.ndarray,
        growth: int = 8,
        source: SparsitySource | None = None,
    ) -> None:
        self.system, self.model = system, model
        place, features = system.pim.placement, system.pim.features
        self.table = KvTable(
            system.tier_shapes(model),
            window=place.window,
            run_tokens=place.run_tokens,
            mapping="activation" if features.kv_mapping else place.unmapped,
        )
        self.source = source or system.source()
        attended = np.asarray(model.attended(np.asarray(contexts, np.int64)), np.int64)
        # New tokens find room in the first tier, as they would with requests that come and go.
        first = self.table.tiers[0].capacity
        spare = max(int(place.reserve_percent / 100 * first), min(growth * len(attended), first // 4))
        self.requests = self.table.add(attended, attended + growth, spare)
        self.source.added(self.table, self.requests)
        self.source.settle(self.table)

    def settle(self) -> None:
        """Move tokens until Algorithm 2 has nothing left to do. Many steps with their limited budget would reach the
        same state."""
        if self.system.pim.features.kv_scheduling and self.source.weighs:
            x, y = self.system.ratios(self.model)
            self.table.schedule(x, y, self.table.tokens)

    def step(self) -> Step:
        """One decode step: activation, importance, attention in every tier, moves, the new tokens."""
        table = self.table
        activation = self.source.step(table)
        self._score(activation)
        table.record(activation.active)
        timed = self.timed(activation.active)
        active = np.bincount(table.tier[activation.active], minlength=3).tolist()
        moves = {pair: len(made) for pair, made in self._schedule(timed).items()}
        if np.all(table.length[self.requests] < table.room[self.requests]):
            self.source.appended(table, table.append(self.requests))
        migration = self.system.migration(self.model)
        migration_s, migration_pj = migration.transfer(moves)
        return Step(
            **vars(timed),
            moves=moves,
            migration_s=migration_s,
            migration_pj=migration_pj,
            moving_s=migration.occupied(moves),
            active=active,
            tokens=table.used(),
        )

    def timed(self, active: np.ndarray) -> LayerTimes:
        """Times of a layer whose active tokens are at these places of the block table."""
        return self.system.timer(self.model).time(self.table, active, self.requests, self.system.pp)

    def time_only(self) -> dict[str, TierTimes]:
        """Times of the tiers for the next activation; nothing moves."""
        return self.timed(self.source.step(self.table).active).tiers

    def _schedule(self, timed: LayerTimes) -> dict[str, Moves]:
        """Move tokens as far as the step has time."""
        system, table = self.system, self.table
        if not system.pim.features.kv_scheduling:
            return {}
        x, y = system.ratios(self.model)
        budget = int(system.pim.scheduling.budget_percent / 100 * table.tokens)
        busy = {name: system.busy_s(self.model, tier) for name, tier in timed.tiers.items()}
        step_s = system.step_s(self.model, len(self.requests), timed.layer_s)
        return table.schedule(x, y, budget, system.migration(self.model).limits(step_s, busy))

    def _score(self, activation: Activation) -> None:
        """Equation 7: importance = lambda score + (1 - lambda) importance before."""
        if not self.source.weighs:
            return
        decay = np.float32(self.system.pim.scheduling.decay)
        importance = self.table.importance[: self.table.size]
        importance *= 1 - decay
        importance[activation.active] += decay if activation.scores is None else decay * activation.scores


def selected_step(system: TieredPimSystem, model: ModelShape, selected: StepSelection) -> Step:
    """A step in which each head of K and V reads the slots of its queries. Times are means over heads and layers; tiers
    are the slowest head's. Slots are the tokens of the block table in its order, and nothing moves."""
    selected.check(model)
    node = Node(system, model, np.array([selected.room]), source=DenseSource())
    table, first = node.table, int(node.table.start[node.requests[0]])
    places = [
        first + np.unique(np.concatenate(layer[head : head + model.group]))
        for layer in selected.slots
        for head in range(0, model.heads, model.group)
    ]
    timed = [node.timed(each) for each in places]

    def mean(value: Callable[[LayerTimes], float]) -> float:
        return float(np.mean([value(one) for one in timed]))

    active = np.bincount(np.concatenate([table.tier[each] for each in places]), minlength=3) / len(places)
    return Step(
        max(timed, key=lambda one: one.attention_s).tiers,
        mean(lambda one: one.attention_s),
        mean(lambda one: one.merge_s),
        mean(lambda one: one.append_s),
        mean(lambda one: one.gather_s),
        {
            name: mean(lambda one, name=name: one.energy_pj.get(name, 0.0))  # type: ignore[misc]
            for name in sorted({name for one in timed for name in one.energy_pj})
        },
        moves={},
        migration_s=0.0,
        moving_s=system.migration(model).occupied({}),
        migration_pj=0.0,
        active=active.round().astype(int).tolist(),
        tokens=table.used(),
    )
