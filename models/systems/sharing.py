"""Designs of PAM's processing unit that take several queries per pass: time, energy and area for groups of queries.

A design is a configuration of the unit of ``pam-hbm-only``. :func:`sharing` compares designs over models and contexts,
from their measurement records. :func:`best` finds the fastest design that PAM's area budget allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.core.records import Measurement
from ...constraints.pam.pu import PRESETS
from ..cost import DieArea
from ..llm import ModelShape
from ..pam.program import mac_interval
from .gpu import GpuSystem
from .pam_hbm import PamHbmSystem
from .platform import GpuPlatform
from .registry import load_system
from .results import MissingRecord, RecordSource

__all__ = ["DESIGNS", "Design", "Sharing", "best", "several", "sharing"]


@dataclass(frozen=True)
class Design:
    """A configuration of the unit: a preset, and keys that differ from it."""

    name: str
    preset: str = "pam-hbm"
    settings: Mapping[str, Any] = field(default_factory=dict)


def several(name: str, queries: int, preset: str = "pam-hbm", **settings: Any) -> Design:
    """The unit of a preset of one query for ``queries`` queries: each has the preset's place for a query in the buffer."""
    one = PRESETS[preset]
    if one.queries != 1:
        raise ConfigError(f"{preset} takes {one.queries} queries; a design begins with a preset of one")
    more = one.query_bytes * (queries - 1)
    shared = (
        {}
        if queries == 1
        else {"queries": queries, "query_bytes": one.query_bytes + more, "buffer_bytes": one.buffer_bytes + more}
    )
    return Design(name, preset, {**shared, **settings})


#: Half as many multipliers, and FP16 throughout: the growth for each query is less than half of the published unit's.
_NARROW: dict[str, Any] = {"lanes": 8, "acc_format": "fp16", "score_format": "fp16"}

#: The published unit for 1 to 8 queries, and a narrow one.
DESIGNS = (*(several(f"{n}", n) for n in (1, 2, 3, 4, 8)), *(several(f"narrow, {n}", n, **_NARROW) for n in (2, 3, 4)))


@dataclass(frozen=True)
class Sharing:
    """A design with a model, at several contexts. Values are None where the batch does not fit.

    Attributes
    ----------
    design : :class:`str`
        Name of the design; ``GPU`` for the GPUs alone.
    queries_per_head, queries_per_pass, passes : :class:`int`
        Queries of a group, most queries of a pass over K and V, passes.
    burst_cycles, interval_cycles : :class:`int` or None
        Memory cycles of a burst in the unit, and the least of the memory. The larger one is the pace.
    units_ms, attention_ms : tuple of :class:`float` or None
        Time of attention in a decode step: of the units, and with queries, append and merge.
    energy_mj : tuple of :class:`float` or None
        Energy of attention for each token.
    area_ge : :class:`float` or None
        Gate equivalents of a unit.
    area : :class:`DieArea` or None
    records : tuple of :class:`str`
    """

    design: str
    model: str
    power_limit: bool
    batch: int
    queries_per_head: int
    queries_per_pass: int
    passes: int
    burst_cycles: int | None
    interval_cycles: int | None
    contexts: tuple[int, ...]
    units_ms: tuple[float | None, ...]
    attention_ms: tuple[float | None, ...]
    energy_mj: tuple[float | None, ...]
    area_ge: float | None = None
    area: DieArea | None = None
    records: tuple[str, ...] = ()

    @property
    def bound(self) -> str:
        """What sets the pace: ``memory`` or ``unit``; ``gpu`` for the GPUs alone."""
        if self.burst_cycles is None or self.interval_cycles is None:
            return "gpu"
        return "unit" if self.burst_cycles > self.interval_cycles else "memory"

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        document = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        if self.area is not None:
            document["area"] = {
                "with_other_percent": list(self.area.with_other_percent),
                "verdict": self.area.verdict,
                "budget_percent": self.area.budget_percent,
            }
        return {**document, "bound": self.bound}


def sharing(
    records: RecordSource,
    models: Iterable[ModelShape],
    contexts: Sequence[int],
    *,
    designs: Sequence[Design] = DESIGNS,
    batch: int = 8,
    power_limits: Sequence[bool] = (True, False),
    system: str = "pam-hbm-only",
    tell: Callable[[str], None] = lambda text: None,
) -> list[Sharing]:
    """Every design with every model, with and without the memory's power limit. First come the GPUs alone.

    Raises
    ------
    :exc:`MissingRecord`
        If designs lack measurements; it names all that any design lacks.
    :exc:`ConfigError`
        If the system's units are not beside the banks of the GPUs' HBM, or a design is none.
    """
    models = list(models)
    loaded: dict[tuple[str, bool], PamHbmSystem] = {}
    missing: list[Measurement] = []
    for design in designs:
        for limit in power_limits:
            made = load_system(
                system, {"unit.preset": design.preset, "unit.settings": dict(design.settings), "power_limit": limit}
            )
            if not isinstance(made, PamHbmSystem):
                raise ConfigError(f"{system}: designs are of units in systems of the kind {PamHbmSystem.kind}")
            loaded[design.name, limit] = made
            for model in models:
                try:
                    made.bind(model, records)
                except MissingRecord as error:
                    missing += error.needs
    if missing:
        raise MissingRecord("designs of pam-pu", missing)
    out = []
    for model in models:
        tell(f"{model.name}: GPUs alone")
        base = load_system(next(iter(loaded.values())).pim.base)
        if isinstance(base, GpuSystem):
            out.append(_row("GPU", base, model, contexts, batch, True))
        for (name, limit), made in loaded.items():
            tell(f"{model.name}: design {name}, power limit {'on' if limit else 'off'}")
            out.append(_row(name, made.bind(model, records).system, model, contexts, batch, limit))
    return out


def _row(
    name: str, system: GpuPlatform, model: ModelShape, contexts: Sequence[int], batch: int, limit: bool
) -> Sharing:
    fits = np.array([system.capacity(model, context, batch, 1).largest_batch >= batch for context in contexts])
    here = np.asarray(contexts, np.int64)[fits]
    micros, layers = system.micro_batches(batch), system.stages(model)
    units = whole = energy = np.zeros(len(here))
    if len(here):
        costs = {micro: system.attention(model, micro, here) for micro in dict.fromkeys(micros)}
        largest, steps = costs[micros[0]], max(layers) * system.pp
        units = np.broadcast_to(largest["attention"].time_s, here.shape) * steps
        whole = (
            sum((np.broadcast_to(cost.time_s, here.shape) for cost in largest.values()), np.zeros(len(here))) * steps
        )
        energy = (
            sum(
                (
                    np.broadcast_to(pj, here.shape)
                    for micro in micros
                    for cost in costs[micro].values()
                    for pj in cost.energy_pj.values()
                ),
                np.zeros(len(here)),
            )
            * sum(layers)
            / batch
        )

    def spread(values: np.ndarray, scale: float) -> tuple[float | None, ...]:
        found = iter(values.tolist())
        return tuple(next(found) * scale if one else None for one in fits)

    queries = system.queries_per_head(model)
    common: dict[str, Any] = {
        "design": name,
        "model": model.name,
        "power_limit": limit,
        "batch": batch,
        "queries_per_head": queries,
        "contexts": tuple(contexts),
        "units_ms": spread(units, 1e3),
        "attention_ms": spread(whole, 1e3),
        "energy_mj": spread(energy, 1e-9),
    }
    if not isinstance(system, PamHbmSystem):
        return Sharing(**common, queries_per_pass=queries, passes=1, burst_cycles=None, interval_cycles=None)
    group = system.group(model)
    return Sharing(
        **common,
        queries_per_pass=group.together,
        passes=group.passes,
        burst_cycles=group.burst_cycles,
        interval_cycles=mac_interval(system.memory),
        area_ge=system.measured.synthesis.area_ge,
        area=system.area(),
        records=tuple(record.name for record in system.records),
    )


def best(rows: Iterable[Sharing], *, power_limit: bool = True) -> Sharing | None:
    """A row of the fastest design that PAM's area budget does not rule out. The low end of the design's band, reduction
    units included, is then within the budget. The measure is the mean over models and contexts of the logarithm of
    attention's time. None if the budget rules all out."""
    measured: dict[str, list[float]] = {}
    one: dict[str, Sharing] = {}
    for row in rows:
        if row.area is None or row.area.verdict == "over" or row.power_limit != power_limit:
            continue
        measured.setdefault(row.design, []).extend(np.log(ms) for ms in row.attention_ms if ms is not None)
        one.setdefault(row.design, row)
    known = {name: float(np.mean(values)) for name, values in measured.items() if values}
    return one[min(known, key=lambda name: known[name])] if known else None
