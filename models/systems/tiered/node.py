"""State of one batch: the block table, the source of activations, and decode steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....constraints.systems import TieredSystemSpec
from ...pam.placement import KvTable, Moves
from ...pam.sparsity import Activation, SparsitySource
from .moves import Migration
from .step import LayerTimer, LayerTimes, TierTimes

if TYPE_CHECKING:
    from ...sparse.recorded import StepSelection

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
    spec
        The system's file.
    timer, migration
        Times of a layer's attention and of moves.
    source
        What chooses the active tokens.
    contexts : integer array
        Tokens of each request before the first step, at least 1.
    growth : :class:`int`
        Steps for whose tokens there must be room.
    micro_batches : :class:`int`
        Micro-batches of a step, one for each stage.
    ratios : pair of :class:`float`, or None
        Target of the scheduler; None if nothing moves.
    step_s : callable
        Seconds of a step of so many requests whose attention takes so many seconds a layer.
    """

    def __init__(
        self,
        spec: TieredSystemSpec,
        timer: LayerTimer,
        migration: Migration,
        source: SparsitySource,
        contexts: np.ndarray,
        *,
        growth: int,
        micro_batches: int,
        ratios: tuple[float, float] | None,
        step_s: Callable[[int, float], float],
    ) -> None:
        self.spec, self.timer, self.migration, self.source = spec, timer, migration, source
        self.micro_batches, self.ratios, self.step_s = micro_batches, ratios, step_s
        place, model = spec.placement, timer.share.model
        self.table = KvTable(
            list(migration.shapes),
            window=place.window,
            run_tokens=place.run_tokens,
            mapping="activation" if spec.features.kv_mapping else place.unmapped,
        )
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
        if self.ratios is not None and self.source.weighs:
            self.table.schedule(*self.ratios, self.table.tokens)

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
        migration_s, migration_pj = self.migration.transfer(moves)
        return Step(
            **vars(timed),
            moves=moves,
            migration_s=migration_s,
            migration_pj=migration_pj,
            moving_s=self.migration.occupied(moves),
            active=active,
            tokens=table.used(),
        )

    def timed(self, active: np.ndarray) -> LayerTimes:
        """Times of a layer whose active tokens are at these places of the block table."""
        return self.timer.time(self.table, active, self.requests, self.micro_batches)

    def time_only(self) -> dict[str, TierTimes]:
        """Times of the tiers for the next activation; nothing moves."""
        return self.timed(self.source.step(self.table).active).tiers

    def _schedule(self, timed: LayerTimes) -> dict[str, Moves]:
        """Move tokens as far as the step has time."""
        if self.ratios is None:
            return {}
        layers, tokens = self.timer.share.layers, self.table.tokens
        busy = {name: tier.local_s * layers * self.micro_batches for name, tier in timed.tiers.items()}
        limits = self.migration.limits(self.step_s(len(self.requests), timed.layer_s), busy)
        return self.table.schedule(*self.ratios, int(self.spec.scheduling.budget_percent / 100 * tokens), limits)

    def _score(self, activation: Activation) -> None:
        """Equation 7: importance = lambda score + (1 - lambda) importance before."""
        if not self.source.weighs:
            return
        decay = np.float32(self.spec.scheduling.decay)
        importance = self.table.importance[: self.table.size]
        importance *= 1 - decay
        importance[activation.active] += decay if activation.scores is None else decay * activation.scores


def selected_step(node: Node, selected: StepSelection) -> Step:
    """A step of one request in which each head of K and V reads the slots of its queries. Times are means over heads and
    layers; tiers are the slowest head's. Slots are the tokens of the block table in its order, and nothing moves."""
    model = node.timer.share.model
    selected.check(model)
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
        moving_s=node.migration.occupied({}),
        migration_pj=0.0,
        active=active.round().astype(int).tolist(),
        tokens=table.used(),
    )
