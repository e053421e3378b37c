"""Overlaps of a decode step on GPUs with units beside memory: compositions of its operators.

Interleaving of sub-batches: GPU and units take turns with two halves of the requests (NeuPIMs, ASPLOS 2024).

Head-level pipelining: heads pass projection, transfer and attention one after the other. All but one head's share of the
shorter part is hidden. Feed-forward co-processing: the units take a share of the FFN, by their bandwidth or their
operations over the sum of both sides. These two are from AttAcc (Park et al., ASPLOS 2024), with the conditions of its
public simulator. Energy does not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .results import Cost

__all__ = ["NearMemory", "Parts", "feed_forward", "interleaved", "pipelined"]


@dataclass(frozen=True)
class Parts:
    """Operators of a layer by their place in the pipeline of heads.

    Attributes
    ----------
    projections : mapping of name to number
        Operations of the products before and behind attention.
    transfers : tuple of names
        Transfers to the units and back.
    attention : tuple of names
        Operators on the units.
    hidden : tuple of names
        Operators of ``attention`` that take no time once heads are pipelined.
    """

    projections: Mapping[str, float]
    transfers: tuple[str, ...]
    attention: tuple[str, ...]
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class NearMemory:
    """Units beside memory that work for one GPU.

    Attributes
    ----------
    bytes_per_s : :class:`float`
        Bandwidth at which the units read their memory.
    ratio : :class:`float`
        This bandwidth over the bandwidth of the GPU.
    """

    bytes_per_s: float
    ratio: float


def pipelined(costs: Mapping[str, Cost], parts: Parts, share: float, *, projections: bool) -> dict[str, Cost]:
    """Costs of the layer with its transfers beside the attention of other heads. With ``projections`` its projections
    run there too.

    ``share`` is one over the heads of a GPU. Times of the parts are what remains on the critical path.
    """

    def total(names: Mapping[str, float] | tuple[str, ...]) -> np.ndarray:
        return np.asarray(sum(np.asarray(costs[name].time_s, float) for name in names), float)

    attention, moved, linear = total(parts.attention), total(parts.transfers), total(parts.projections)
    others = attention * (1 - share)
    left = np.where(attention > moved, moved * share, moved - others)
    out = dict(costs)
    if projections:
        longer, fast = attention > linear, ~(attention > linear) & (linear > moved)
        left = np.where(longer, left, np.where(fast, moved * share, moved - others))
        operations = sum(parts.projections.values())
        for name, count in parts.projections.items():
            alone = np.asarray(costs[name].time_s, float)
            beside = np.maximum(alone - others * (count / operations), 0)
            out[name] = costs[name].lasting(np.where(fast, beside, alone * share))
    ratio = np.divide(left, moved, out=np.zeros_like(left), where=moved > 0)
    for name in parts.transfers:
        out[name] = costs[name].lasting(costs[name].time_s * ratio)
    for name in parts.hidden:
        out[name] = costs[name].lasting(np.zeros_like(attention))
    return out


def interleaved(
    halves: Sequence[Mapping[str, Cost]], attended: Mapping[str, Cost], sizes: Sequence[int]
) -> tuple[dict[str, Cost], dict[str, Cost]]:
    """Costs of the layer with two sub-batches: while the units attend for one, the GPU works for the other.

    Parameters
    ----------
    halves
        Costs on the GPU of each sub-batch by operator. Each reads all weights.
    attended
        Costs of attention for both together, transfers included. Each sub-batch takes its share of them.
    sizes
        Requests of each sub-batch.

    Returns
    -------
    tuple of dict
        Costs on the GPU, and of the attention that is not hidden behind them.
    """
    linear = {name: _sum([half[name] for half in halves]) for name in halves[0]}
    if not attended:
        return linear, {}
    whole = np.asarray(sum(np.asarray(cost.time_s, float) for cost in attended.values()), float)
    own = [sum(np.asarray(cost.time_s, float) for cost in half.values()) for half in halves]
    left = sum(
        np.maximum(whole * (size / sum(sizes)) - other, 0.0) for size, other in zip(sizes, reversed(own), strict=True)
    )
    ratio = np.divide(left, whole, out=np.zeros_like(whole), where=whole > 0)
    return linear, {name: cost.lasting(cost.time_s * ratio) for name, cost in attended.items()}


def _sum(costs: Sequence[Cost]) -> Cost:
    """One after the other."""
    first, *others = costs
    for one in others:
        first = Cost(
            first.time_s + one.time_s,
            {key: pj + one.energy_pj[key] for key, pj in first.energy_pj.items()},
            {key: pj + one.levels_pj[key] for key, pj in first.levels_pj.items()},
            first.compute_bound,
        )
    return first


def feed_forward(cost: Cost, units: NearMemory, *, gpu_flops_per_s: float, batch: int, element_bytes: int) -> Cost:
    """Cost of a matrix product of the FFN that GPU and units share. A unit does two operations with each element that it
    reads. It reads weights once for every request."""
    arithmetic = gpu_flops_per_s / (gpu_flops_per_s + 2 * units.bytes_per_s / element_bytes)
    memory = 1 / (1 + units.ratio / batch)
    return cost.lasting(cost.time_s * np.where(cost.compute_bound, arithmetic, memory))
