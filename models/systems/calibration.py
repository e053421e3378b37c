"""Ratios of importance at which the tiers of PAM take equal time.

PAM (MICRO 2025, section 6.3.2) fixes ``IS_H : IS_D : IS_S = x : y : 1`` by offline profiling and prints no numbers.
This module finds the ratios by running the system on a batch. The batch fills HBM and DDR and puts half as many tokens
in the SSD.

The first loop of Algorithm 2 aims at ``x + y`` and decides between SSD and the other tiers. The second loop aims at
``x / y`` and decides between HBM and DDR. The calibration therefore raises the sum if the SSD takes longer than the
others, and lowers it if the SSD takes less. It raises the quotient if DDR takes longer than HBM. It repeats this until
the times agree or nothing changes any more.

The scheduler only moves important tokens up, and stops when no swap improves anything. The tokens are then sorted by
importance, and a higher target changes nothing. Swaps do not change the number of tokens in a tier. So if the SSD is the
slowest tier of sorted tokens, no ratios make the tiers equal. The calibration keeps a target beyond the reach,
because batches with fewer tokens in the SSD reach further. Such a target costs a batch nothing but further
moves. Each of these moves improves something, and the time of a step limits their number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.systems import Ratios, RatioTable
from ..llm import ModelShape
from .capabilities import Calibration, PlacesTokens
from .results import RecordSource

__all__ = ["Calibration", "calibrate", "table_text"]

LOW, HIGH = 1.0, 1e6

#: Tokens in the SSD divided by tokens in HBM and DDR. The more tokens are in the SSD, the fewer may be important.
SLOW_SHARE = 0.5


def calibrate(
    system: Any,
    model: ModelShape,
    records: RecordSource,
    *,
    context: int = 738,
    rounds: int = 10,
    progress: Callable[[str], None] = lambda text: None,
) -> Calibration:
    """Find ``x`` and ``y`` for ``model`` on ``system``.

    Raises
    ------
    :exc:`ConfigError`
        If the system does not schedule tokens, or a number is out of range.
    :exc:`MissingRecord`
        If a measurement is missing.
    """
    if not isinstance(system, PlacesTokens) or not system.pim.features.kv_scheduling:
        raise ConfigError(f"{system.name} moves no tokens between tiers: there is nothing to calibrate")
    if context < 1 or rounds < 1:
        raise ConfigError(f"context and rounds must be at least 1, not {min(context, rounds)}")
    system = system.bind(model, records).system
    shapes = system.tier_shapes(model)
    names = [shape.name for shape in shapes]
    tokens = int((1 + SLOW_SHARE) * (shapes[0].capacity + shapes[1].capacity))
    batch = max(2, min(tokens, sum(shape.capacity for shape in shapes)) // context)
    # Starting values from the bandwidth of the units, as if every tier were full.
    whole, quotient = 110.0, 10.0
    times: dict[str, float] = {}
    best: tuple[float, float, dict[str, float], int, bool] | None = None
    for number in range(1, rounds + 1):
        x, y = whole * quotient / (1 + quotient), whole / (1 + quotient)
        node = system.node(model, np.full(batch, context, np.int64), 1)
        node.table.schedule(x, y, node.table.tokens)
        reached = _reached(node)
        beyond = sum(reached) < 0.999 * (x + y), reached[0] * y < 0.999 * reached[1] * x
        step = node.time_only()
        before, times = times, {name: step[name].total_s * 1e6 for name in names}
        progress(f"round {number}: x {x:.4g}, y {y:.4g}; " + ", ".join(f"{n} {t:.1f} us" for n, t in times.items()))
        if best is None or max(times.values()) <= 1.01 * max(best[2].values()):
            best = x, y, times, number, all(beyond)
        slow, fast = max(times.values()), max(min(times.values()), 1e-3)
        same = before and all(abs(times[n] - before[n]) <= 0.01 * max(times[n], 1e-9) for n in names)
        if slow <= 1.1 * fast or same:
            break
        first, second, third = (max(times[name], 1e-3) for name in names)
        whole = float(np.clip(whole * (third / max(first, second)) ** 0.7, LOW, HIGH))
        quotient = float(np.clip(quotient * (second / first) ** 0.7, 1 / HIGH, HIGH))
    assert best is not None
    x, y, times, number, ordered = best
    slow, fast = max(times.values()), max(min(times.values()), 1e-3)
    return Calibration(
        round(x, 4),
        round(y, 4),
        times,
        number,
        slow <= 1.1 * fast,
        f"{system.name}, {batch} requests of {context} tokens, round {number}: "
        + ", ".join(f"{name} {us:.1f} us a layer" for name, us in times.items())
        + ("; tokens sorted by importance" if ordered else ""),
        ordered,
    )


def _reached(node: Any) -> tuple[float, float]:
    """Mean importance of a token in the first two tiers over a token in the last one."""
    table = node.table
    tier, importance = table.tier[: table.size], table.importance[: table.size]
    score = [float(importance[tier == k].mean(dtype=np.float64)) if (tier == k).any() else 0.0 for k in range(3)]
    return score[0] / max(score[2], 1 / HIGH), score[1] / max(score[2], 1 / HIGH)


def table_text(table: RatioTable) -> str:
    """A table of ratios as the text of its file."""
    lines = [
        "# Target of PAM's scheduler by model: mean importance of a token in HBM and DDR over that in SSD.",
        "# Made by `bankside calibrate pam --model MODEL --output FILE`.",
        f"source: {table.source}",
        "models:",
    ]
    for name, entry in table.models.items():
        lines += [f"  {name}:", f"    x: {entry.x:g}", f"    y: {entry.y:g}", f"    conditions: '{entry.conditions}'"]
    return "\n".join(lines) + "\n"


def with_ratios(table: RatioTable, model: str, found: Calibration) -> RatioTable:
    """The table with the ratios of one model replaced."""
    entry = Ratios(x=found.x, y=found.y, conditions=found.conditions)
    return RatioTable(source=table.source, models={**table.models, model: entry})
