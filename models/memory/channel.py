"""State of one memory channel: when a command may issue, and how it changes the state.

A constraint concerns commands of set T and of set F at the same node of some level. A command of T issues no earlier
than a number of cycles after the last (or n-th last) command of F. A command names a node at the levels that its scope
addresses, and acts on all nodes of other levels. So two commands meet at a node of a level under one condition: down to
that level, they agree on all levels that both address. Therefore the state has one time for each command of F and each
set of values of the levels that matter. A command to all banks costs no more than a command to one bank. Such a time is
a *slot*. Windowed constraints keep the last n times per node, in a *ring*.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ...constraints.memory import Memory, MemoryCommand

__all__ = ["NEVER", "Channel", "Opened", "Target"]

NEVER = -(1 << 60)


class Opened:
    """An open row: its number, the program command that opened it, its strides, and its place in the order of issue."""

    __slots__ = ("node", "row", "serial", "strides")

    def __init__(self, row: int, node: int = -1, strides: tuple[int, ...] = (), serial: int = 0) -> None:
        self.row = row
        self.node = node
        self.strides = strides
        self.serial = serial


class Target:
    """A command at an address: times that it checks and sets, and banks that it acts on."""

    __slots__ = (
        "activate",
        "banks",
        "bus",
        "checks",
        "command",
        "horizon",
        "number",
        "precharge",
        "ring_checks",
        "ring_sets",
        "sets",
    )

    def __init__(self, command: MemoryCommand, number: int) -> None:
        self.command = command
        self.number = number
        self.bus = {"row": 0, "column": 1, "other": 2}[command.kind]
        self.checks: list[tuple[int, int]] = []  # (slot, cycles)
        self.sets: list[int] = []  # slots
        self.ring_checks: list[tuple[int, int]] = []  # (ring, cycles)
        self.ring_sets: list[int] = []  # rings
        self.banks: list[int] = []
        self.activate: Target | None = None
        self.precharge: Target | None = None


class Channel:
    """One channel of a memory. At cycle 0, all rows are closed and nothing has issued.

    :meth:`target` compiles a command at an address once; :meth:`earliest` and :meth:`issue` take the result.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.names = tuple(memory.commands)
        self.levels = tuple(memory.levels)
        self.last: list[int] = []  # slot -> time of the last command
        self.horizon: list[int] = []  # slot -> most cycles for which that time can bind
        self.rings: list[list[int]] = []  # ring -> times of the last commands, oldest first
        self.ring_horizon: list[int] = []
        self.rows: list[Opened | None] = [None] * memory.banks
        self.bus_free = [0, 0]  # first cycle in which the row bus and the column bus are free
        self.now = 0  # cycle of the last command: no further one before it
        self._slots: dict[tuple, int] = {}
        self._rings: dict[tuple, int] = {}
        self._targets: dict[tuple, Target] = {}
        self._depth = {"channel": 0} | {level: k + 1 for k, level in enumerate(self.levels)}
        self._strides = [1] * len(self.levels)
        for k in range(len(self.levels) - 1, 0, -1):
            self._strides[k - 1] = self._strides[k] * memory.levels[self.levels[k]]
        # Times that a command checks: (F, levels that both address, cycles, sibling level or None); times that F has to
        # keep.
        self._looks: dict[str, list[tuple[str, tuple[str, ...], int, str | None]]] = {name: [] for name in self.names}
        # (the most cycles for which any command checks a time: an older time can be forgotten).
        self._keeps: dict[str, dict[tuple[str, ...], int]] = {name: {} for name in self.names}
        for c in memory.constraints:
            if c.window > 1:
                continue
            within = self.levels[: self._depth[c.level]]
            for to, source in product(sorted(c.to), sorted(c.from_)):
                scopes = memory.commands[source].scope, memory.commands[to].scope
                shared = tuple(level for level in within if level in scopes[0] and level in scopes[1])
                sibling = None
                if c.between == "different":
                    if c.level in shared:
                        sibling = c.level
                    elif memory.levels[c.level] == 1:
                        continue  # there is no other node
                self._looks[to].append((source, shared, c.cycles, sibling))
                self._keeps[source][shared] = max(c.cycles, self._keeps[source].get(shared, 0))

    # Compiling ---------------------------------------------------------------------------------------------------

    def target(self, name: str, address: Sequence[int | None]) -> Target:
        """The command ``name`` at ``address``: a value per level, :data:`None` where its scope does not address."""
        key = (name, *address)
        target = self._targets.get(key)
        if target is None:
            target = self._targets[key] = self._compile(name, dict(zip(self.levels, address, strict=True)))
        return target

    def _compile(self, name: str, at: dict[str, int | None]) -> Target:
        command = self.memory.commands[name]
        target = Target(command, self.names.index(name))
        checks: dict[int, int] = {}
        for source, shared, cycles, sibling in self._looks[name]:
            places = (
                [at]
                if sibling is None
                else [at | {sibling: other} for other in range(self.memory.levels[sibling]) if other != at[sibling]]
            )
            for place in places:
                slot = self._slot(source, shared, place)
                checks[slot] = max(checks.get(slot, 0), cycles)
        target.checks = sorted(checks.items())
        target.sets = sorted(self._slot(name, shared, at) for shared in self._keeps[name])
        for number, c in enumerate(self.memory.constraints):
            if c.window > 1 and (name in c.to or name in c.from_):
                rings = [self._ring(number, node) for node in self._nodes(c.level, at)]
                if name in c.to:
                    target.ring_checks += [(ring, c.cycles) for ring in rings]
                if name in c.from_:
                    target.ring_sets += rings
        target.banks = [
            sum(index * stride for index, stride in zip(node, self._strides, strict=True))
            for node in self._nodes(self.levels[-1], at)
        ]
        for role in ("activate", "precharge"):
            other = getattr(command, role)
            if other is not None:
                scope = self.memory.commands[other].scope
                setattr(target, role, self.target(other, [at[x] if x in scope else None for x in self.levels]))
        return target

    def _nodes(self, level: str, at: dict[str, int | None]) -> list[tuple[int, ...]]:
        """Nodes of ``level`` that a command at this address acts on."""
        choices = [
            range(self.memory.levels[x]) if at[x] is None else [at[x]] for x in self.levels[: self._depth[level]]
        ]
        return list(product(*choices))  # type: ignore[arg-type]

    def _slot(self, source: str, shared: tuple[str, ...], at: dict[str, int | None]) -> int:
        key = (source, shared, *(at[level] for level in shared))
        if key not in self._slots:
            self._slots[key] = len(self.last)
            self.last.append(NEVER)
            self.horizon.append(self._keeps[source][shared])
        return self._slots[key]

    def _ring(self, number: int, node: tuple[int, ...]) -> int:
        constraint = self.memory.constraints[number]
        if (number, node) not in self._rings:
            self._rings[number, node] = len(self.rings)
            self.rings.append([NEVER] * constraint.window)
            self.ring_horizon.append(constraint.cycles)
        return self._rings[number, node]

    # Issuing -----------------------------------------------------------------------------------------------------

    def earliest(self, target: Target) -> int:
        """First cycle in which the command may issue as the next command. Rows are not checked."""
        at = self.now
        if target.bus < 2:
            at = max(at, self.bus_free[target.bus])
        else:
            at = max(at, *self.bus_free)
        last = self.last
        for slot, cycles in target.checks:
            if last[slot] + cycles > at:
                at = last[slot] + cycles
        for ring, cycles in target.ring_checks:
            if self.rings[ring][0] + cycles > at:
                at = self.rings[ring][0] + cycles
        return at

    def issue(self, target: Target, at: int) -> None:
        """Record that the command issues in cycle ``at``; rows are not changed."""
        for slot in target.sets:
            self.last[slot] = at
        for ring in target.ring_sets:
            times = self.rings[ring]
            del times[0]
            times.append(at)
        if target.bus < 2 and self.memory.dual_issue:
            self.bus_free[target.bus] = at + 1
        else:
            self.bus_free = [at + 1, at + 1]
        self.now = at
