"""Ratios of importance at which the tiers of PAM take equal time.

PAM (MICRO 2025, section 6.3.2) fixes ``IS_H : IS_D : IS_S = x : y : 1`` by offline profiling and prints no numbers. Here
they are found by running the system: a batch fills HBM and DDR and a tenth as many tokens lie in the SSD; after the
scheduler has reached the target, a tier that takes longer than the SSD gives up importance and one that takes less
gains it, until the three agree or nothing changes any more (the scheduler only moves important tokens up, and stops
when no swap improves anything). In that case the result is the ratios that were reached: a target beyond them would
keep the scheduler moving tokens at every step for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...constraints.errors import ConfigError
from ...constraints.systems import Ratios, RatioTable
from ..llm import ModelShape
from .pam import Node, TieredPimSystem
from .results import RecordSource

__all__ = ["Calibration", "calibrate", "table_text"]

LOW, HIGH = 1.0, 1e6


@dataclass(frozen=True)
class Calibration:
    """Result of a calibration.

    Attributes
    ----------
    x, y : :class:`float`
    tier_us : mapping
        Time of a layer's attention by tier at the last ratios, in microseconds.
    rounds : :class:`int`
    equal : :class:`bool`
        Whether the slowest tier takes at most a tenth longer than the fastest.
    conditions : :class:`str`
    """

    x: float
    y: float
    tier_us: dict[str, float]
    rounds: int
    equal: bool
    conditions: str


def calibrate(system: TieredPimSystem, model: ModelShape, records: RecordSource, *, context: int = 738,
              rounds: int = 10, progress: Callable[[str], None] = lambda text: None) -> Calibration:
    """Find ``x`` and ``y`` for ``model`` on ``system``.

    Raises
    ------
    :exc:`ConfigError`
        If the system does not schedule tokens, or a number is out of range.
    :exc:`MissingRecord`
        If a measurement is missing.
    """
    if not isinstance(system, TieredPimSystem) or not system.pim.features.kv_scheduling:
        raise ConfigError(f"{system.name} moves no tokens between tiers: there is nothing to calibrate")
    if context < 1 or rounds < 1:
        raise ConfigError(f"context and rounds must be at least 1, not {min(context, rounds)}")
    system.prepare(model, records, False)
    shapes = system.tier_shapes(model)
    names = [shape.name for shape in shapes]
    tokens = int(1.1 * (shapes[0].capacity + shapes[1].capacity))
    batch = max(2, min(tokens, sum(shape.capacity for shape in shapes)) // context)
    # From the bandwidth of the units, as if every tier were full.
    x, y = 100.0, 10.0
    times: dict[str, float] = {}
    for number in range(1, rounds + 1):
        node = Node(system, model, np.full(batch, context, np.int64), 1)
        node.table.schedule(x, y, node.table.tokens)
        reached = _ratios(node)
        step = node.time_only()
        before, times = times, {name: step[name].total_s * 1e6 for name in names}
        progress(f"round {number}: x {x:.4g}, y {y:.4g}; " + ", ".join(f"{n} {t:.1f} us" for n, t in times.items()))
        slow, fast = max(times.values()), max(min(times.values()), 1e-9)
        settled = before and all(abs(times[n] - before[n]) <= 0.01 * max(times[n], 1e-9) for n in names)
        if slow <= 1.1 * fast or settled or number == rounds:
            break
        last = max(times[names[2]], 1e-3)
        x = float(np.clip(x * (last / max(times[names[0]], 1e-3)) ** 0.7, LOW, HIGH))
        y = float(np.clip(y * (last / max(times[names[1]], 1e-3)) ** 0.7, LOW, HIGH))
    if slow > 1.1 * fast:
        x, y = min(x, reached[0]), min(y, reached[1])
    return Calibration(round(x, 4), round(y, 4), times, number, slow <= 1.1 * fast,
                       f"{system.name}, {batch} requests of {context} tokens, round {number}: "
                       + ", ".join(f"{name} {us:.1f} us a layer" for name, us in times.items()))


def _ratios(node: Node) -> tuple[float, float]:
    """Mean importance of HBM's and DDR's tokens over that of the SSD's."""
    table = node.table
    tier = table.tier[:table.size]
    means = [float(table.importance[:table.size][tier == k].mean(dtype=np.float64)) for k in range(3)]
    last = max(means[2], 1e-9)
    return means[0] / last, means[1] / last


def table_text(table: RatioTable) -> str:
    """A table of ratios as the text of its file."""
    lines = ["# Target of PAM's scheduler by model: mean importance of a token in HBM and DDR over that in SSD.",
             "# Made by `bankside calibrate pam --model MODEL --output FILE`.",
             f"source: {table.source}", "models:"]
    for name, entry in table.models.items():
        lines += [f"  {name}:", f"    x: {entry.x:g}", f"    y: {entry.y:g}", f"    conditions: '{entry.conditions}'"]
    return "\n".join(lines) + "\n"


def with_ratios(table: RatioTable, model: str, found: Calibration) -> RatioTable:
    """The table with the ratios of one model replaced."""
    entry = Ratios(x=found.x, y=found.y, conditions=found.conditions)
    return RatioTable(source=table.source, models={**table.models, model: entry})
