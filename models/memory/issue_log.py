"""Logs of issued commands, their cycles and channels: one form for all timers of programs and traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...constraints.memory import Memory
from ..program import Program
from . import aim_kernel as kernel
from .aim import FrontEnd, FrontEndTiming, Instructions
from .channel import Target
from .engine import Engine, _Part, _Step
from .pim_queue import QueueController
from .pim_queue import Requests as QueueRequests
from .tables import Numbering, Tables, make_tables

__all__ = ["IssueLog", "LoggedFrontEnd", "MAX_ISSUES", "Recorder", "engine_log", "record_queue"]

#: Commands that a log keeps.
MAX_ISSUES = 200_000

_FOREVER = 1 << 62


@dataclass
class IssueLog:
    """Commands in order of issue.

    Attributes
    ----------
    memory : the memory, with the quirks and the power limit that applied
    cycles, masks, targets, rows : int64 and uint64 arrays
        Cycle of issue. Channels that issued the command (bit k: channel k). Its target, which is a command at an
        address in the numbering of :func:`make_tables`. Its row (without meaning if the command has no row).
    first, last : cycles between which the log is complete
    truncated : whether ``last`` is earlier than requested, because the log was full
    stages : name, first and last cycle of the stages of a program
    channels : number of channels
    """

    memory: Memory
    cycles: np.ndarray
    masks: np.ndarray
    targets: np.ndarray
    rows: np.ndarray
    first: int
    last: int
    truncated: bool = False
    stages: list[tuple[str, int, int]] = field(default_factory=list)
    channels: int = 1

    @cached_property
    def _tables(self) -> tuple[Tables, Numbering]:
        return make_tables(self.memory)

    @property
    def tables(self) -> Tables:
        return self._tables[0]

    @property
    def commands(self) -> np.ndarray:
        """Numbers of the commands, in the order of ``memory.commands``."""
        return self.tables.command[self.targets]

    @property
    def banks(self) -> np.ndarray:
        """Bank of each command, -1 for commands that act on several banks."""
        t = self.tables
        single = t.bank_start[self.targets + 1] - t.bank_start[self.targets] == 1
        return np.where(single, t.bank[t.bank_start[self.targets]], -1)

    def channel(self, number: int) -> np.ndarray:
        """Places in the log of the commands that one channel issued."""
        return np.flatnonzero(self.masks >> np.uint64(number) & np.uint64(1))


class Recorder:
    """Collects a log between two cycles until the log is full. ``channels`` limits it to these (None: all channels)."""

    def __init__(
        self,
        memory: Memory,
        first: int = 0,
        last: int | None = None,
        limit: int = MAX_ISSUES,
        channels: Sequence[int] | None = None,
    ) -> None:
        self.memory = memory
        self.members = -1 if channels is None else sum(1 << channel for channel in set(channels))
        self.first = first
        self.last = _FOREVER if last is None else last
        self.limit = limit
        self.size = 0
        self.full = False
        self.parts: list[np.ndarray] = []
        self.stages: list[tuple[str, int, int]] = []

    def add(self, rows: np.ndarray) -> None:
        """Add rows of cycle, channels, target and row, in order of cycles."""
        if self.full or not len(rows):
            return
        rows = rows[(rows[:, 0] >= self.first) & (rows[:, 0] <= self.last)]
        if self.members != -1:
            rows = rows[rows[:, 1] & self.members != 0]
            rows[:, 1] &= self.members
        if self.size + len(rows) > self.limit:
            # Whole cycles only: the first cycle that does not fit is left out.
            cut = rows[self.limit - self.size, 0]
            rows = rows[rows[:, 0] < cut]
            self.last = int(cut) - 1
            self.full = True
        self.parts.append(rows.copy())
        self.size += len(rows)

    def log(self, cycles: int, channels: int = 1) -> IssueLog:
        """The log of a program or trace that took ``cycles`` cycles."""
        rows = np.concatenate([np.zeros((0, 4), np.int64), *self.parts])
        rows = rows[rows[:, 0] <= self.last]
        return IssueLog(
            self.memory,
            rows[:, 0],
            rows[:, 1].astype(np.uint64),
            rows[:, 2],
            rows[:, 3],
            self.first,
            min(self.last, max(cycles, 0)),
            self.full,
            self.stages,
            channels,
        )


class LoggedFrontEnd(FrontEnd):
    """The host and channels of an AiM device, with a log of what the channels issue."""

    def record(self, blocks: Iterable[Instructions], recorder: Recorder) -> FrontEndTiming:
        """As :meth:`run`, with the log in ``recorder``."""
        self._recorder: Recorder | None = recorder
        try:
            return self.run(iter(blocks))
        finally:
            self._recorder = None

    def record_program(self, program: Program, recorder: Recorder) -> FrontEndTiming:
        """Run a program instruction by instruction. The log has its stages on the top level."""
        from ..program import Stage

        def blocks() -> Iterator[Instructions]:
            for node in program.body:
                began = int(self.host[kernel.CLOCK])
                yield self._unrolled((node,))
                if isinstance(node, Stage):
                    recorder.stages.append((node.name, began, int(self.host[kernel.CLOCK])))
            yield self._encode([("EOC", {})])

        return self.record(blocks(), recorder)

    def _advance(self, code: Instructions, counts: np.ndarray, log: np.ndarray | None = None) -> None:
        recorder = getattr(self, "_recorder", None)
        if recorder is None:
            return super()._advance(code, counts)
        buffer = np.zeros((1 << 13, 4), np.int64)
        while len(code.kinds):
            if recorder.full or self.host[kernel.CLOCK] > recorder.last:
                return super()._advance(code, counts)
            self.host[kernel.LOGGED] = 0
            super()._advance(code, counts, buffer)
            rows = buffer[: self.host[kernel.LOGGED]]
            recorder.add(rows)
            code = Instructions(*(column[self.host[kernel.HEAD] :] for column in code))
        return None


class _Enough(Exception):
    """The log is complete."""


class LoggedEngine(Engine):
    """The engine for programs, with a log. It jumps to the beginning of the log and steps through the logged part."""

    def __init__(self, memory: Memory, recorder: Recorder, *, refresh: bool = False) -> None:
        super().__init__(memory, refresh=refresh)
        self.recorder = recorder
        self.jump_until = recorder.first
        self.row = 0
        self.kept: list[tuple[int, int, int, int]] = []
        tables, _ = make_tables(memory)
        banks = [tuple(tables.bank[a:b].tolist()) for a, b in pairwise(tables.bank_start)]
        self.known = {(int(tables.command[k]), acted): k for k, acted in enumerate(banks)}

    def record(self, program: Program) -> None:
        """Log the program. :class:`Engine` gives the time of the whole program."""
        try:
            self.run(program)
        except _Enough:
            pass
        self.recorder.add(np.array(self.kept, np.int64).reshape(-1, 4))

    def put(self, target: Target, at: int, automatic: bool) -> None:
        super().put(target, at, automatic)
        if at > self.recorder.last or len(self.kept) > self.recorder.limit:
            raise _Enough
        if at >= self.recorder.first:
            row = self.row if target.command.row in ("needs", "opens") else 0
            self.kept.append((at, 1, self.known[target.number, tuple(target.banks)], row))

    def command(self, step: _Step) -> None:
        self.row = step.row.at(self.at) if step.row is not None else 0
        super().command(step)

    def execute(self, body: list) -> None:
        for node in body:
            if isinstance(node, _Part):
                began = self.ready
                try:
                    super().execute([node])
                finally:  # also of a stage in which the log ends
                    if self.ready >= self.recorder.first and len(self.recorder.stages) < MAX_ISSUES:
                        self.recorder.stages.append((node.name, began, self.ready))
            else:
                super().execute([node])


def engine_log(
    program: Program,
    memory: Memory,
    cycles: int,
    first: int = 0,
    last: int | None = None,
    *,
    refresh: bool = False,
    limit: int = MAX_ISSUES,
) -> IssueLog:
    """The log of a program on one channel. ``memory``: with or without its power limit, as in the timing."""
    recorder = Recorder(memory, first, last, limit)
    LoggedEngine(memory, recorder, refresh=refresh).record(program)
    return recorder.log(cycles)


def record_queue(controller: QueueController, blocks: Iterable[QueueRequests], recorder: Recorder) -> None:
    """Record the commands that the channels of an AttAcc device issue for these requests."""
    names, levels = controller.names, controller.memory.levels
    for part in controller.logs(blocks):
        if recorder.full or (len(part) and part[0, 0] > recorder.last):
            return
        cycles, masks, commands, addresses = part.T
        refreshes = addresses < 0  # of a node of the outermost level
        bank = np.where(refreshes, 0, addresses >> controller.bank_shift)
        place = dict(zip(levels, np.unravel_index(bank, tuple(levels.values())), strict=True))
        outermost = next(iter(levels))
        place[outermost] = np.where(refreshes, -1 - addresses, place[outermost])
        targets = np.zeros(len(part), np.int64)
        for number in np.unique(commands).tolist():
            here = commands == number
            index = np.zeros(int(here.sum()), np.int64)
            for level in controller.memory.commands[names[number]].scope:
                index = index * levels[level] + place[level][here]
            targets[here] = controller.numbering.targets[names[number]][index]
        rows = np.where(refreshes, 0, addresses >> controller.row_shift & (controller.memory.rows - 1))
        recorder.add(np.stack([cycles, masks, targets, rows], axis=1))
