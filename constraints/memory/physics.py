"""What no memory can do, whatever its file says: two bursts on a bus at a time, a row that is ready too early.

A file is data, so a constraint that is missing or wrong makes results too fast. These rules find that from the commands, the
data bus and the levels of the file alone, without any reference:

- Bursts on the same data bus never overlap, whatever the distance of two commands beyond the least that the file allows.
- A bank has constraints for all pairs of commands on rows: from opening to access, from access to closing, from closing to
  opening, from opening to closing and to opening.
- Accesses of a bank are at least its ``bank_cycles`` apart.
- Refresh follows accesses and closing, and opening follows refresh.

A file may leave a pair out by name: ``waived`` has the pair and the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

__all__ = ["Fault", "faults"]

#: For digests of sources (:data:`bankside.provenance.sources.PLUMBING`): a file is refused or taken as it is.
DECIDES_NO_RESULT = True


class _Command(Protocol):
    """What the rules read of a command."""

    name: str
    scope: tuple[str, ...]
    row: str
    precharge: str | None
    latency: int
    bank_bytes: int
    bus_bytes: int
    register_mode: bool


class _Memory(Protocol):
    """What the rules read of a memory."""

    @property
    def bus(self) -> str: ...
    @property
    def bus_cycles(self) -> int: ...
    @property
    def bank_cycles(self) -> int: ...
    @property
    def mode_switch(self) -> str | None: ...
    @property
    def levels(self) -> Mapping[str, int]: ...
    @property
    def commands(self) -> Mapping[str, Any]: ...
    @property
    def constraints(self) -> Sequence[Any]: ...
    @property
    def refresh(self) -> Any: ...


@dataclass(frozen=True)
class Fault:
    """A pair of commands that the file lets issue too close together.

    Attributes
    ----------
    first, second : names of the commands
    where : what they share: ``the same bank``, ``different ranks``, ...
    cycles : least distance that the file allows
    why : what is impossible then, in a clause
    """

    first: str
    second: str
    where: str
    cycles: int
    why: str

    def __str__(self) -> str:
        return f"{self.second} may issue {self.cycles} cycle{'s' * (self.cycles != 1)} after {self.first} in {self.where}: {self.why}"


@dataclass(frozen=True)
class _Pairs:
    """Least distances of pairs of commands."""

    memory: _Memory

    @cached_property
    def levels(self) -> list[str]:
        return ["channel", *self.memory.levels]

    def distance(self, first: str, second: str, shared: str) -> int:
        """Least cycles from a command to the next, if ``shared`` is the innermost level whose node they share. Both act on
        one node of each level that they address, and on all nodes of the others. A switch of the mode of registers lies
        between commands of both modes."""
        memory, least = self.memory, 1
        switch = memory.mode_switch
        if switch is not None and switch not in (first, second):
            modes = [memory.commands[name].register_mode for name in (first, second)]
            if modes[0] != modes[1]:
                least = self.distance(first, switch, "channel") + self.distance(switch, second, "channel")
        common = self.levels.index(shared)
        for one in memory.constraints:
            if one.window > 1 or first not in one.from_ or second not in one.to:
                continue
            at = self.levels.index(one.level)
            both = {*memory.commands[first].scope} & {*memory.commands[second].scope}
            if one.between == "same":
                # Nodes of a level that a command does not address are all its.
                holds = at <= common or not any(level in both for level in self.levels[common + 1 : at + 1])
            else:
                holds = at == common + 1 and one.level in both
            if holds:
                least = max(least, one.cycles)
        return least

    def between(self, first: _Command, second: _Command) -> int:
        """Least cycles from an opening to the next of a bank, with the closing between that both need; 1 without."""
        bank, name = self.levels[-1], second.precharge or first.precharge
        if name is None:
            return 1
        parts = [self.distance(first.name, name, bank), self.distance(name, second.name, bank)]
        return sum(parts) if min(parts) > 1 else 1

    def relations(self, first: _Command, second: _Command) -> Iterator[tuple[str, str]]:
        """Innermost shared level of pairs of nodes that differ in a level that both address, and the same node; with words."""
        both = [level for level in self.memory.levels if level in first.scope and level in second.scope]
        yield self.levels[-1], f"the same {both[-1] if both else 'channel'}"
        for level in both:
            if self.memory.levels[level] > 1:
                yield self.levels[self.levels.index(level) - 1], f"different {level}s"


def faults(memory: _Memory, waived: Mapping[tuple[str, str], str] | None = None) -> list[Fault]:
    """Pairs of commands that a memory lets issue too close together.

    Parameters
    ----------
    waived : pairs of commands, in order, that the file leaves out on purpose, with the reason of each
    """
    pairs, given = _Pairs(memory), waived or {}
    found: list[Fault] = []
    for check in (_bursts, _rows):
        found += [fault for fault in check(memory, pairs) if (fault.first, fault.second) not in given]
    return found


def _bursts(memory: _Memory, pairs: _Pairs) -> Iterator[Fault]:
    """Bursts of one bus that overlap."""
    on_bus = [command for command in memory.commands.values() if command.bus_bytes]
    inside = pairs.levels.index(memory.bus)
    for first in on_bus:
        for second in on_bus:
            for shared, where in pairs.relations(first, second):
                if pairs.levels.index(shared) < inside:
                    continue  # another bus
                cycles = pairs.distance(first.name, second.name, shared)
                end, begin = first.latency, cycles + second.latency - memory.bus_cycles
                if begin < end:
                    yield Fault(
                        first.name,
                        second.name,
                        where,
                        cycles,
                        f"bursts take the data bus in cycles {end - memory.bus_cycles} to {end} and {begin} to "
                        f"{begin + memory.bus_cycles}",
                    )


def _rows(memory: _Memory, pairs: _Pairs) -> Iterator[Fault]:
    """Pairs of commands on the rows of a bank without a constraint."""
    commands = memory.commands.values()
    rules: list[tuple[Callable[[_Command], bool], Callable[[_Command], bool], str]] = [
        (_opens, _accesses, "an access needs an open row"),
        (_accesses, _closes, "a row closes while it is accessed"),
        (_closes, _opens, "a row opens before the one before it is closed"),
        (_opens, _closes, "a row closes before it is open"),
        (_opens, _opens, "two rows open in a bank"),
    ]
    if memory.refresh is not None:
        name = memory.refresh.command

        def refreshes(command: _Command) -> bool:
            return command.name == name

        rules += [
            (_closes, refreshes, "a bank is refreshed before its row is closed"),
            (refreshes, _opens, "a row opens while its bank is refreshed"),
        ]
    for is_first, is_second, why in rules:
        for first in commands:
            for second in commands:
                if is_first(first) and is_second(second):
                    cycles = pairs.distance(first.name, second.name, pairs.levels[-1])
                    if is_first is is_second:  # a row is closed before another opens
                        cycles = max(cycles, pairs.between(first, second))
                    if cycles <= 1:
                        yield Fault(first.name, second.name, "the same bank", cycles, why)
    for first in commands:
        for second in commands:
            if _accesses(first) and _accesses(second) and first.bank_bytes and second.bank_bytes:
                cycles = pairs.distance(first.name, second.name, pairs.levels[-1])
                if cycles < memory.bank_cycles:
                    why = f"a bank gives a column every {memory.bank_cycles} cycles"
                    yield Fault(first.name, second.name, "the same bank", cycles, why)


def _opens(command: _Command) -> bool:
    return command.row == "opens"


def _closes(command: _Command) -> bool:
    return command.row == "closes"


def _accesses(command: _Command) -> bool:
    return command.row == "needs"
