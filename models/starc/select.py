"""Functional model of the selection unit, bit-exact with the RTL.

Source of the selection: STARC, Algorithm 1. The limit of the sorted list and the program are this project's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...constraints.aim.encoding import WORD_BITS
from ...constraints.core.errors import ConfigError
from ...constraints.core.formats import FloatFormat
from ...constraints.starc.select import StarcSelectConfig

__all__ = ["Selected", "Selection", "order_keys", "select", "taken"]


@dataclass(frozen=True)
class Selection:
    """A selection of one head.

    Attributes
    ----------
    scores : int64 array ``(clusters,)``, bits
    sizes : int64 array ``(clusters,)``, tokens of the clusters
    budget, recent : tokens
    row : row with slot 0
    mask : channels
    """

    scores: np.ndarray
    sizes: np.ndarray
    budget: int
    recent: int = 0
    row: int = 0
    mask: int = 1


@dataclass(frozen=True)
class Selected:
    """Outcome of a selection.

    Attributes
    ----------
    tokens : int64 array ``(clusters,)``, tokens that are taken from each cluster
    first, length : int64 arrays: runs of access units, ascending
    commands : int64 array ``(commands, 3)``: row, column, opsize
    lines : lines of the program, as integers
    short : whether the sorted list held too few clusters for the budget
    """

    tokens: np.ndarray
    first: np.ndarray
    length: np.ndarray
    commands: np.ndarray
    lines: list[int]
    short: bool

    def beats(self, config: StarcSelectConfig) -> dict[str, np.ndarray]:
        """Columns of the beats of the program."""
        width, count = config.output_words, config.encoding.line_words
        words = np.array(
            [[line >> WORD_BITS * n & (1 << WORD_BITS) - 1 for n in range(count)] for line in self.lines], np.int64
        ).reshape(-1, width)
        last = (np.arange(len(words)) == len(words) - 1).astype(np.int64)
        return {"data": words, "last": last, "short": last * self.short}


def order_keys(scores: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Integers in the order of scores (bits): 0 for NaN, one key for zeros of both signs; int64."""
    scores = np.asarray(scores, np.int64)
    sign = 1 << (fmt.width - 1)
    magnitude = scores & (sign - 1)
    infinity = ((1 << fmt.exponent_bits) - 1) << fmt.fraction_bits
    key = np.where((scores & sign != 0) & (magnitude != 0), sign - 1 - magnitude, sign | magnitude)
    return np.where(magnitude > infinity, 0, key)


def taken(keys: np.ndarray, sizes: np.ndarray, budget: int, kept: int | None = None) -> tuple[np.ndarray, bool]:
    """Tokens that are taken from each cluster, and whether a list of ``kept`` clusters was too short for the budget.

    Clusters come in descending order of their keys, equal keys in order of their numbers. The last one is truncated to the
    budget. Clusters with key 0 or without tokens are left out. With ``kept``, clusters below the score of the last
    one in the list are left out too.
    """
    keys = np.where(sizes == 0, 0, keys)
    order = np.argsort(-keys, kind="stable")
    alive = keys[order] != 0
    order = order[alive]
    short = False
    if kept is not None and len(order) > kept:
        short = bool(sizes[order[:kept]].sum() < budget)
        order = order[keys[order] >= keys[order[kept - 1]]]
    room = np.zeros(len(keys), np.int64)
    before = np.cumsum(sizes[order]) - sizes[order]
    room[order] = np.clip(budget - before, 0, sizes[order])
    return room, short


def select(config: StarcSelectConfig, selection: Selection) -> Selected:
    """Run one selection.

    Raises
    ------
    :exc:`ConfigError`
        If this configuration can't run it.
    """
    scores, sizes = (np.asarray(one, np.int64) for one in (selection.scores, selection.sizes))
    if scores.shape != sizes.shape or scores.ndim != 1 or len(scores) > config.clusters:
        raise ConfigError(
            f"scores and sizes must be of the same clusters, {config.clusters} at most, not of shapes "
            f"{scores.shape} and {sizes.shape}"
        )
    if len(sizes) and sizes.min() < 0:
        raise ConfigError(f"a cluster must have 0 tokens or more, not {sizes.min()}")
    room = config.room(sizes)
    base, end = np.cumsum(room) - room, int(room.sum())
    for what, value in (("slots", end + selection.recent), ("budget", selection.budget)):
        if not 0 <= value <= config.max_tokens:
            raise ConfigError(f"{what} must be in 0..{config.max_tokens}, not {value}")
    for name in ("row", "mask"):
        limit = 1 << config.encoding.operands[name]
        span = config.max_row_span - 1 if name == "row" else 0
        if not 0 <= getattr(selection, name) < limit - span:
            raise ConfigError(f"{name} must be in 0..{limit - span - 1}, not {getattr(selection, name)}")

    tokens, short = taken(
        order_keys(scores, config.score), sizes, selection.budget, config.kept if config.method == "list" else None
    )
    which = np.flatnonzero(tokens)
    begins, counts = np.append(base[which], end), np.append(tokens[which], selection.recent)
    begins, counts = begins[counts > 0], counts[counts > 0]
    first, last = begins // config.unit_tokens, (begins + counts - 1) // config.unit_tokens
    breaks = np.flatnonzero(first[1:] > last[:-1] + 1)
    run_first = first[np.append(0, breaks + 1)] if len(first) else first
    run_last = last[np.append(breaks, len(last) - 1)] if len(last) else last
    commands = []
    for start, stop in zip(run_first.tolist(), run_last.tolist(), strict=True):
        for row in range(start // config.row_units, stop // config.row_units + 1):
            low = max(start, row * config.row_units)
            high = min(stop, (row + 1) * config.row_units - 1)
            commands.append(
                (
                    selection.row + row,
                    low % config.row_units * config.unit_columns,
                    (high - low + 1) * config.unit_columns,
                )
            )
    lines = [config.line(*one, selection.mask) for one in commands]
    return Selected(
        tokens,
        run_first,
        run_last - run_first + 1,
        np.array(commands, np.int64).reshape(-1, 3),
        [*lines, config.end_line],
        short,
    )
