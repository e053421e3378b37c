"""The selections of a step, as the system that takes its time needs them: slots of each query, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...constraints.core.errors import ConfigError
from ..llm import ModelShape
from ..numerics.sums import Lists
from ..program.selected import Placement, runs
from .methods import Method

__all__ = ["Recorded", "StepSelection"]


@dataclass(frozen=True, eq=False)
class StepSelection:
    """Slots that one token's queries read.

    Attributes
    ----------
    slots : int64 arrays of slots, one for each query, by layer; queries that share keys follow each other
    room : slots of the placements
    """

    slots: tuple[tuple[np.ndarray, ...], ...]
    room: int

    def check(self, model: ModelShape) -> None:
        """Raise :exc:`ConfigError` unless there are selections of each layer of the model."""
        if len(self.slots) != model.layers:
            raise ConfigError(f"selections are of {len(self.slots)} layers, {model.name} has {model.layers}")

    def runs(self, layer: int, unit: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Runs of access units of ``unit`` slots, for each query of a layer."""
        return [runs(slots, unit) for slots in self.slots[layer]]

    def fetched(self, layer: int, unit: int) -> int:
        """Slots of the access units that a query reads: mean over the queries of a layer, rounded up to units."""
        return -(-sum(len(np.unique(slots // unit)) for slots in self.slots[layer]) // len(self.slots[layer])) * unit


class Recorded(Method):
    """A method that keeps what the last token's queries chose, in every layer. Everything else is the method's."""

    def __init__(self, method: Method) -> None:
        super().__init__(method.budget, full_layers=method.full_layers)
        self.method = method
        self._last: dict[tuple[int, int], tuple[int, list[np.ndarray]]] = {}

    @property
    def ahead(self) -> bool:  # type: ignore[override]  # of the class in all other methods
        return self.method.ahead

    def placement(self, k: np.ndarray, count: int, layer: int | None = None, head: int = 0) -> Placement:
        return self.method.placement(k, count, layer, head)

    def choose(
        self,
        q: np.ndarray,
        k: np.ndarray,
        counts: np.ndarray,
        *,
        layer: int | None = None,
        head: int = 0,
        group: int = 1,
        hint: np.ndarray | None = None,
    ) -> Lists:
        """As :meth:`Method.choose`."""
        lists = self.method.choose(q, k, counts, layer=layer, head=head, group=group, hint=hint)
        count, new = int(counts.max()), len(counts) // group
        placement = self.placement(k, count, layer, head)
        chosen = [lists.tokens[lists.first[n] : lists.first[n + 1]] for n in range(new - 1, len(counts), new)]
        self._last[layer or 0, head] = placement.slots, [placement.of(tokens) for tokens in chosen]
        return lists

    @property
    def step(self) -> StepSelection | None:
        """Selections of the last token; None before the first."""
        if not self._last:
            return None
        return _step(self._last)


def _step(last: Mapping[tuple[int, int], tuple[int, list[np.ndarray]]]) -> StepSelection:
    layers = max(layer for layer, _ in last) + 1
    slots = tuple(
        tuple(own for key in sorted(last) if key[0] == layer for own in last[key][1]) for layer in range(layers)
    )
    return StepSelection(slots, max(room for room, _ in last.values()))
