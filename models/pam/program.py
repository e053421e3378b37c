"""Programs of PAM's local-attention processing unit: when each bank reads each column, and when its data arrive.

All banks of a channel read the same row and column, each into its own unit. PAM (MICRO 2025, section 6.1) spreads
tokens evenly over the banks at identical row and column. K and V are regions of rows. A tile of tokens starts at a row.
It lies there in the order in which the unit takes it (:meth:`PamPuConfig.address`), so a full tile is read
sequentially. A column burst may hold several of the unit's beats (32 bytes of HBM are 4 beats of 4 lanes).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.memory import Memory
from ...constraints.pam.pu import BEAT_DTYPE, PamPuConfig, Step
from ..program import Index, Program

__all__ = ["MAC", "append_program", "attention_program", "burst_arrivals", "region_rows", "tile_rows"]

#: Command that reads a column of every bank into the unit beside it.
MAC = "MAC_AB"


class Issues(Protocol):
    """The part of the timing engine's result that this module uses."""

    def issue_cycles(self, op: str) -> np.ndarray:
        """Cycle of every execution of ``op`` in program order."""


def tile_rows(config: PamPuConfig, memory: Memory, head_dim: int) -> int:
    """Rows that one full tile of K (or of V) occupies in each bank."""
    _beats_per_column(config, memory)
    return -(-config.tile_tokens * config.chunks(head_dim) * config.beat_bytes // memory.row_bytes)


def region_rows(config: PamPuConfig, memory: Memory, tokens: int, head_dim: int) -> int:
    """Rows that the K (or the V) of ``tokens`` tokens of one bank occupy there."""
    return -(-tokens // config.tile_tokens) * tile_rows(config, memory, head_dim)


def mac_interval(memory: Memory) -> int:
    """Least cycles between two all-bank reads."""
    memory.command(MAC)
    return max(
        [
            1,
            *(
                c.cycles
                for c in memory.constraints
                if MAC in c.from_ and MAC in c.to and c.between == "same" and c.window == 1
            ),
        ]
    )


def _beats_per_column(config: PamPuConfig, memory: Memory) -> int:
    if memory.column_bytes % config.beat_bytes:
        raise ConfigError(
            f"{memory.name}: a column burst of {memory.column_bytes} bytes is no multiple of the unit's "
            f"beat of {config.beat_bytes} bytes (lanes {config.lanes}, {config.format})"
        )
    return memory.column_bytes // config.beat_bytes


@dataclass(frozen=True)
class _Phase:
    """Column reads of the K or V of one tile.

    Attributes
    ----------
    runs : tuple of (first, count)
        Runs of consecutive columns, counted from the start of the tile across its rows.
    bursts : :class:`int`
        Number of columns.
    """

    runs: tuple[tuple[int, int], ...]

    @property
    def bursts(self) -> int:
        return sum(count for _, count in self.runs)


@lru_cache(maxsize=4096)
def _phase(config: PamPuConfig, per_column: int, value: bool, count: int, head_dim: int) -> _Phase:
    columns = _columns(config, per_column, value, count, head_dim)
    if not len(columns):
        return _Phase(())
    columns = columns[np.flatnonzero(np.diff(columns, prepend=-1))]
    breaks = np.flatnonzero(np.diff(columns) != 1) + 1
    starts = np.concatenate([[0], breaks])
    lengths = np.diff(np.concatenate([starts, [len(columns)]]))
    return _Phase(tuple(zip(columns[starts].tolist(), lengths.tolist(), strict=True)))


def _columns(config: PamPuConfig, per_column: int, value: bool, count: int, head_dim: int) -> np.ndarray:
    """Column of every beat of the K or V of one tile, counted from the start of the tile, in stream order."""
    pairs = config.value_order(count, head_dim) if value else config.key_order(count, head_dim)
    beats = np.zeros(len(pairs), BEAT_DTYPE)
    beats["value"], beats["token"], beats["chunk"] = value, pairs[:, 0], pairs[:, 1]
    return config.address(beats, head_dim) // per_column


class _Compiler:
    """Emits the phases of steps. Each call of :func:`attention_program` has its own compiler."""

    def __init__(self, config: PamPuConfig, memory: Memory, key_row: int, value_row: int, gap: int, pace: int) -> None:
        self.config, self.memory, self.gap = config, memory, gap
        self.rows = (key_row, value_row)
        self.per_column = _beats_per_column(config, memory)
        self.interval = max(mac_interval(memory), pace)
        # A wait that the memory imposes anyway is left out.
        self.pace = pace if pace > mac_interval(memory) else 0

    def phase(self, value: bool, count: int, dim: int) -> _Phase:
        return _phase(self.config, self.per_column, value, count, dim)

    def read(self, p: Program, tile: Index | int, value: bool, count: int, dim: int) -> None:
        """Append the reads of one phase of ``tile``."""
        columns = self.memory.columns
        base = self.rows[value] + tile * tile_rows(self.config, self.memory, dim)
        for first, length in self.phase(value, count, dim).runs:
            while length:
                row, column = divmod(first, columns)
                # Whole rows in one nest of loops, a part of a row in one loop
                rows = length // columns if not column else 0
                here = rows * columns if rows else min(length, columns - column)
                if rows > 1:
                    with p.loop(rows) as r, p.loop(columns) as c:
                        self._mac(p, base + row + r, c)
                elif here > 1:
                    with p.loop(here) as c:
                        self._mac(p, base + row, column + c)
                else:
                    self._mac(p, base + row, column)
                first, length = first + here, length - here

    def _mac(self, p: Program, row: Index | int, column: Index | int) -> None:
        if self.pace:
            p.wait(self.pace)
        p.command(MAC, row=row, column=column)

    def value(self, p: Program, tile: Index | int, count: int, dim: int, between: tuple[int, ...]) -> None:
        """Append the V of a tile, after the wait that its softmax needs.

        ``between`` has the bursts of each phase since the K of this tile. A V phase among them may have begun just when
        its own softmax was done. The softmax of this tile begins only then, so the first burst of that phase hides
        nothing.
        """
        hidden = sum(between) - (1 if len(between) > 1 else 0)
        # The first read waits for its pace too.
        wait = self.gap - max(hidden, 0) * self.interval - self.pace
        if wait > 0 and count:
            p.wait(wait)
        self.read(p, tile, True, count, dim)

    def step(self, step: Step, waiting: tuple[int, int, int, int] | None) -> Program:
        """The phases of one step.

        ``waiting`` describes the V after the K of the first tile: its tile, its tokens, its head dimension and the
        bursts of the V before.
        """
        config, p, dim = self.config, Program(), step.head_dim
        sizes = config.tiles(step.tokens)
        if step.scores:
            if waiting:
                number, count, other, before = waiting
                self.value(p, number, count, other, (before, 0) if before else ())
            return self._scores(p, sizes, dim)
        full, last = len(sizes) - 1, sizes[-1]
        if last == config.tile_tokens:
            full += 1
        tile = config.tile_tokens
        if config.score_tiles == 1:
            with p.loop(full) as t:
                self.read(p, t, False, tile, dim)
                self.value(p, t, tile, dim, ())
            if full < len(sizes):
                self.read(p, full, False, last, dim)
                self.value(p, full, last, dim, ())
            return p

        def bursts(value: bool, number: int) -> int:
            return self.phase(value, sizes[number], dim).bursts

        self.read(p, 0, False, sizes[0], dim)
        before = 0
        if waiting:
            number, count, other, before_that = waiting
            self.value(p, number, count, other, self._between(before_that, bursts(False, 0)))
            before = self.phase(True, count, other).bursts
        # K of tile t + 1, then V of tile t. The first pair is separate because other phases precede it.
        pairs = len(sizes) - 1
        regular = max(pairs - (2 if full < len(sizes) else 1), 0)
        number = 0
        while number < pairs:
            previous = before if number == 0 else bursts(True, number - 1)
            if number == 1 and regular:
                with p.loop(regular) as t:
                    self.read(p, t + 2, False, tile, dim)
                    self.value(p, t + 1, tile, dim, self._between(previous, bursts(False, 2)))
                number += regular
            else:
                self.read(p, number + 1, False, sizes[number + 1], dim)
                self.value(p, number, sizes[number], dim, self._between(previous, bursts(False, number + 1)))
                number += 1
        if not step.more:
            previous = before if not pairs else bursts(True, pairs - 1)
            self.value(p, pairs, last, dim, (previous, 0) if previous else ())
        return p

    def _scores(self, p: Program, sizes: list[int], dim: int) -> Program:
        """K alone, tile by tile."""
        tile = self.config.tile_tokens
        full = sum(count == tile for count in sizes)
        with p.loop(full) as t:
            self.read(p, t, False, tile, dim)
        if full < len(sizes):
            self.read(p, full, False, sizes[-1], dim)
        return p

    @staticmethod
    def _between(value: int, key: int) -> tuple[int, ...]:
        """Phases between the K of a tile and its V: the V before it, if there is one, and the K after it."""
        return (value, key) if value else (key,)


def attention_program(
    config: PamPuConfig,
    memory: Memory,
    steps: Sequence[Step],
    *,
    key_row: int = 0,
    value_row: int | None = None,
    gap_cycles: int = 0,
    burst_cycles: int = 0,
) -> Program:
    """Reads of K and V for ``steps``, in exactly the order in which the unit takes them.

    The program executes :data:`MAC` once for every run of consecutive beats of ``config.beats(steps)`` that share a
    phase, a row and a column. A phase is the K or the V of a tile. The text of the program does not grow with the
    number of tokens, nor with the number of equal steps.

    Parameters
    ----------
    steps : sequence of :class:`Step`
        All steps use the K and V at the same rows (for example, the queries of a group). The last step must not have
        ``more``.
    key_row, value_row : :class:`int`
        First row of the regions. V follows the longest K by default.
    gap_cycles : :class:`int`
        Memory cycles that the unit needs for the softmax: from the last K read of a tile to its first V read, both at
        issue. Reads in between, counted at their least interval, hide a part of them. A :class:`Wait` adds the rest.
    burst_cycles : :class:`int`
        Least memory cycles between reads, for a unit that takes longer over a burst than the memory.

    Raises
    ------
    :exc:`ConfigError`
        If a step does not fit the unit, the last step has ``more``, or a burst is no multiple of a beat. Also if the
        regions overlap or do not fit a bank.
    """
    steps = tuple(steps)
    for step in steps:
        config.check_step(step)
    if steps and steps[-1].more and config.score_tiles == 2 and not steps[-1].scores:
        raise ConfigError("the last step must not have 'more': nothing would come before the V of its last tile")
    if gap_cycles < 0 or burst_cycles < 0:
        raise ConfigError(f"gap and burst cycles must be at least 0, not {min(gap_cycles, burst_cycles)}")
    rows = max((region_rows(config, memory, step.tokens, step.head_dim) for step in steps), default=0)
    value_row = key_row + rows if value_row is None else value_row
    for what, row in (("key", key_row), ("value", value_row)):
        if row < 0 or row + rows > memory.rows:
            raise ConfigError(
                f"{memory.name}: the {what} region needs rows {row}..{row + rows - 1}, a bank has {memory.rows}"
            )
    if abs(key_row - value_row) < rows:
        raise ConfigError(
            f"key rows from {key_row} and value rows from {value_row} overlap; each region has {rows} rows"
        )
    compiler = _Compiler(config, memory, key_row, value_row, gap_cycles, burst_cycles)

    program = Program()
    pending, times = None, 0
    for part in (*_parts(compiler, steps), None):
        if part is not None and part == pending:
            times += 1
            continue
        if pending is not None:
            if times > 1:
                with program.loop(times):
                    program.extend(pending)
            else:
                program.extend(pending)
        pending, times = part, 1
    return program


def _parts(compiler: _Compiler, steps: Sequence[Step]) -> Iterator[Program]:
    """Program of each step; equal steps give equal programs from the second or third on."""
    config = compiler.config
    cache: dict[Any, Program] = {}
    waiting: tuple[int, int, int, int] | None = None
    for step in steps:
        key = (step, waiting)
        if key not in cache:
            cache[key] = compiler.step(step, waiting)
        yield cache[key]
        waiting = None
        if step.more and config.score_tiles == 2 and not step.scores:
            sizes = config.tiles(step.tokens)
            before = 0
            if len(sizes) > 1:
                before = compiler.phase(True, sizes[-2], step.head_dim).bursts
            elif key[1]:
                before = compiler.phase(True, key[1][1], key[1][2]).bursts
            waiting = (len(sizes) - 1, sizes[-1], step.head_dim, before)


def burst_arrivals(config: PamPuConfig, memory: Memory, steps: Sequence[Step], timing: Issues) -> np.ndarray:
    """Memory cycle in which the data of every beat of ``config.beats(steps)`` have arrived.

    Parameters
    ----------
    timing
        The timing engine's result for ``attention_program(config, memory, steps, ...)``.

    Returns
    -------
    int64 array of the length of ``config.beats(steps)``
        Issue cycle of the read that brings the beat, plus the latency of the command. Beats of one burst share a cycle.
    """
    issue = np.asarray(timing.issue_cycles(MAC), np.int64) if steps else np.empty(0, np.int64)
    per_column = _beats_per_column(config, memory)
    first = []
    for number, _, value, count in config.phases(steps):
        columns = _columns(config, per_column, bool(value), count, steps[number].head_dim)
        # The first beat of a phase always has a read of its own.
        first.append(np.diff(columns, prepend=-1) != 0)
    read = np.cumsum(np.concatenate([np.empty(0, bool), *first])) - 1
    if len(issue) != (read[-1] + 1 if len(read) else 0):
        raise ConfigError(f"the timing has {len(issue)} reads, the steps need {read[-1] + 1 if len(read) else 0}")
    return issue[read] + memory.command(MAC).latency


def append_program(
    config: PamPuConfig,
    memory: Memory,
    token: int,
    head_dim: int,
    *,
    bank: dict[str, int],
    key_row: int = 0,
    value_row: int,
) -> Program:
    """Writes of the K and V of one new token, number ``token`` of its bank, through the external interface.

    ``bank`` gives the operands that address the bank (level name to index). Each column that holds a beat of the token
    is written once. If a beat is narrower than a column, the write is masked.
    """
    config.check_step(Step(token + 1, head_dim))
    per_column = _beats_per_column(config, memory)
    tile, within = divmod(token, config.tile_tokens)
    beats = np.zeros(config.chunks(head_dim), BEAT_DTYPE)
    beats["token"], beats["chunk"] = within, np.arange(len(beats))
    p = Program()
    for value, base in ((0, key_row), (1, value_row)):
        beats["value"] = value
        columns = np.unique(config.address(beats, head_dim) // per_column)
        for column in columns.tolist():
            row, column = divmod(column, memory.columns)
            p.command("WR", **bank, row=base + tile * tile_rows(config, memory, head_dim) + row, column=column)
    return p
