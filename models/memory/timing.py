"""Result of timing a program: totals in closed form, and issue cycles from the recorded schedule on request."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np

from ...constraints.core.errors import ConfigError, nearest
from ...constraints.memory import Memory

__all__ = ["Schedule", "Timing"]


#: Issue cycles that an array may hold (2 GiB).
MAX_ARRAY = 1 << 28


@dataclass
class Schedule:
    """Issued commands and their cycles. A jump, or a loop with an effect seen before, is one entry that repeats a part.

    ``ops[k]`` is the number of the command that issued at ``cycles[k]``, or -1. If it is -1, ``repeats[k]`` is
    ``(first, stop, times, period)``. Entries ``first`` to ``stop - 1`` then follow ``times`` more times. The first
    repetition is ``period`` later than these entries, and each further repetition is ``period`` later than the one
    before. Automatic row commands have their number plus ``len(names)``.
    """

    names: tuple[str, ...]
    ops: array = field(default_factory=lambda: array("i"))
    cycles: array = field(default_factory=lambda: array("q"))
    repeats: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    counts: dict[tuple[tuple[int, ...], int, int], int] = field(default_factory=dict)  # of repeated parts

    def numbers(self, op: str, automatic: bool | None) -> tuple[int, ...]:
        number = self.names.index(op)
        own, added = (number,), (number + len(self.names),)
        return own + added if automatic is None else added if automatic else own

    def expand(self, numbers: tuple[int, ...]) -> np.ndarray:
        """Issue cycles of these commands in order of issue."""
        ops = np.frombuffer(self.ops, np.int32) if self.ops else np.empty(0, np.int32)
        cycles = np.frombuffer(self.cycles, np.int64) if self.cycles else np.empty(0, np.int64)
        where = np.flatnonzero(np.isin(ops, numbers))
        jumps = sorted(self.repeats)

        def part(first: int, stop: int) -> np.ndarray:
            pieces = []
            low = np.searchsorted(jumps, first)
            high = np.searchsorted(jumps, stop)
            for jump in [*jumps[low:high], stop]:
                pieces.append(cycles[where[np.searchsorted(where, first) : np.searchsorted(where, jump)]])
                if jump < stop:
                    begin, end, times, period = self.repeats[jump]
                    if self.count(numbers, begin, end):
                        base = part(begin, end)
                        pieces.append((base + period * np.arange(1, times + 1)[:, None]).reshape(-1))
                    first = jump + 1
            return np.concatenate(pieces)

        return part(0, len(ops))

    def count(self, numbers: tuple[int, ...], first: int, stop: int) -> int:
        """Occurrences of these commands in entries ``first`` to ``stop - 1``, repeats included."""
        total = self.counts.get((numbers, first, stop))
        if total is None:
            total = 0
            for k in range(first, stop):
                if self.ops[k] in numbers:
                    total += 1
                elif self.ops[k] < 0:
                    begin, end, times, _ = self.repeats[k]
                    total += times * self.count(numbers, begin, end)
            self.counts[numbers, first, stop] = total
        return total

    def find(self, numbers: tuple[int, ...], index: int, first: int, stop: int) -> int:
        """Issue cycle of occurrence ``index`` within entries ``first`` to ``stop - 1``."""
        for k in range(first, stop):
            if self.ops[k] in numbers:
                if not index:
                    return self.cycles[k]
                index -= 1
            elif self.ops[k] < 0:
                begin, end, times, period = self.repeats[k]
                once = self.count(numbers, begin, end)
                if index < times * once:
                    turn, rest = divmod(index, once)
                    return (turn + 1) * period + self.find(numbers, rest, begin, end)
                index -= times * once
        raise IndexError(index)


@dataclass(frozen=True)
class Timing:
    """Timing of a program on one channel of a memory. Cycle 0 is the first cycle in which a command can issue.

    Attributes
    ----------
    cycles : :class:`int`
        Until the last command has finished (its issue cycle plus its latency) and the last wait is over.
    commands : mapping
        Commands issued, automatic row commands and refreshes included.
    automatic : mapping
        The automatic commands among ``commands``.
    energy_pj : mapping
        Energy of one channel by component, and ``total``. Empty if the memory file states no energy.
    row_hits, row_misses, row_conflicts : :class:`int`
        Commands that found their row open in all banks of their scope; all banks closed; anything else.
    bus_utilisation : mapping
        Fraction of cycles in which the ``row`` and ``column`` command bus carries a command, and the ``data`` bus data.
    bank_utilisation : :class:`float`
        Bytes moved in banks, relative to all banks moving a column at their own shortest interval.
    stages : mapping
        Cycles from the last issue (or end of a wait) before a :class:`Stage` to the last issue in it, summed over its
        executions. If a program consists of stages, their cycles add up to its cycles, except for the last latency.
    """

    memory: Memory
    cycles: int
    commands: dict[str, int]
    automatic: dict[str, int]
    energy_pj: dict[str, float]
    row_hits: int
    row_misses: int
    row_conflicts: int
    bus_utilisation: dict[str, float]
    bank_utilisation: float
    stages: dict[str, int]
    schedule: Schedule = field(repr=False, compare=False)

    @property
    def time_ns(self) -> float:
        """Duration in ns."""
        return self.cycles * self.memory.clock_ps / 1000

    def issue_cycles(self, op: str, automatic: bool | None = None) -> np.ndarray:
        """Issue cycle of every ``op`` as an int64 array, in the order of the program.

        ``automatic`` selects the automatic row commands (:data:`True`), the program's own (:data:`False`; aligned with
        ``Program.operands(op)``) or both. Raises :exc:`ConfigError` for a command that the memory does not have.
        """
        numbers, total = self._find(op, automatic)
        if total > MAX_ARRAY:
            raise ConfigError(f"{op} is issued {total} times; an array holds {MAX_ARRAY}, issue_cycle() gives one")
        return self.schedule.expand(numbers)

    def issue_cycle(self, op: str, index: int, automatic: bool | None = None) -> int:
        """``issue_cycles(op)[index]``, without expanding the others."""
        numbers, total = self._find(op, automatic)
        if not -total <= index < total:
            raise ConfigError(f"{op} number {index}: the program issues {total}")
        return self.schedule.find(numbers, index % total, 0, len(self.schedule.ops))

    def _find(self, op: str, automatic: bool | None) -> tuple[tuple[int, ...], int]:
        """Numbers of the command in the schedule, and number of its issues."""
        if op not in self.schedule.names:
            raise ConfigError(f"{self.memory.name}: {nearest('command', op, self.schedule.names)}")
        every, added = self.commands.get(op, 0), self.automatic.get(op, 0)
        return self.schedule.numbers(op, automatic), {None: every, False: every - added, True: added}[automatic]
