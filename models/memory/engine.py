"""The timing engine: in-order issue with automatic row commands, and jumps over loops whose state repeats.

**State.** At the head of a loop iteration, three things determine all that the channel does afterwards:

- the times that can still bind, relative to one reference cycle;
- the open rows;
- the loop's index, which only enters the operands of its commands.

The engine does not jump over a loop that moves operands which address banks. Columns do not matter to timing. Rows
matter only through one question: is the open row the requested row?

The reference cycle is the cycle before which nothing can issue; the end of a wait counts. So the way to a loop no
longer matters once a wait outlasts all earlier constraints. The exception is a refresh that is due before the end of a
wait. The engine issues it only when it reaches the next command, but its cycle may lie within the wait. The reference
cycle is then the cycle of the last command.

**Jump.** Let the state of iteration ``i`` equal the state of an earlier iteration ``j``. Each open row is taken
relative to the loop's index, by the stride with which it was opened. Then the iterations from ``i`` on repeat the
iterations from ``j`` on, ``i - j`` at a time. They repeat as long as the row questions get the same answers. Both rows
in a question advance by a known stride per iteration. With equal strides the answer never changes. With different
strides the engine computes the iteration in which it changes, and the jump ends before it.

Refresh has its own times. A jump either ends before the next refresh, or takes whole refresh periods. In the second
case the time to the next refresh is part of the state.

**Loops with loops inside.** The engine remembers the effect of such a loop. The key is a digest of:

- the loop and the state at entry;
- the open rows;
- the addresses and rows that the surrounding loops contribute.

When the program enters the loop again with the same key, the engine repeats the effect. The schedule then gets the
entry ``(first, stop, 1, shift)``. A refresh that falls in between prevents this. The key of an effect that contains
refreshes has the time to the next refresh too. Without remembered effects, nests of loops that end in waits would
double the work with each level.
"""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from ...constraints.core.errors import ConfigError, nearest
from ...constraints.memory import Memory, load_memory
from ..program import Affine, Command, Loop, Node, Program, Stage, Wait
from .channel import NEVER, Channel, Opened, Target
from .energy import energy_pj
from .timing import Schedule, Timing

__all__ = ["Engine", "time_program"]

#: Iterations of a loop whose states are kept while looking for a repetition.
REMEMBERED = 4096

#: Executions of loops that are kept in case that the loop is entered in the same state again.
MAX_EFFECTS = 1 << 18

#: Loops within loops, and the cycles of a program, that the engine takes on.
MAX_DEPTH = 64
MAX_CYCLES = 1 << 62

#: Row questions of a stretch of program: (asking command, opening command, strides of the open row less those of the
#: row asked for by loop, sign of the open row less the row asked for) -> least and greatest value of that difference.
Questions = dict[tuple[int, int, tuple[int, ...], int], tuple[int, int]]


def time_program(
    program: Program,
    memory: Memory | str,
    *,
    refresh: bool = False,
    power_limit: bool = True,
    mode: Literal["jump", "step"] = "jump",
) -> Timing:
    """Time ``program`` on one channel of ``memory``. Commands issue in order, each in the first legal cycle.

    If a command's row is not open, the precharge and activation that it needs issue first, automatically.

    Parameters
    ----------
    memory : :class:`Memory` or :class:`str`
        Memory, or name or path of one.
    refresh : :class:`bool`
        Whether the channel is refreshed. The engine issues a refresh that is due before the next command that could not
        issue earlier. It closes rows for the refresh; the commands that need these rows open them again. With
        ``postpone`` n in the memory file, n + 1 refreshes are issued together every n + 1 intervals.
    power_limit : :class:`bool`
        Whether the memory's power limit holds.
    mode : ``jump`` or ``step``
        ``step`` executes every iteration. ``jump`` gives the same result, in time that does not grow with loop counts.

    Raises
    ------
    :exc:`ConfigError`
        For a command or operand that the memory does not have, or an operand out of range.
    """
    if isinstance(memory, str):
        memory = load_memory(memory)
    if mode not in ("jump", "step"):
        raise ConfigError(nearest("mode", mode, ["jump", "step"]))
    return Engine(memory.at(power_limit), refresh=refresh, jump=mode == "jump").run(program)


@dataclass
class _Step:
    """A command of the program, ready to execute: operands as base and strides."""

    node: int
    name: str
    row: Affine | None
    fixed: Target | None  # when no loop moves the address
    address: list[Affine | None]

    @property
    def strides(self) -> list[tuple[int, ...]]:
        """By loop, of each operand that moves."""
        return [value.strides for value in (*self.address, self.row) if value is not None and any(value.strides)]


@dataclass
class _Pause:
    cycles: int


@dataclass
class _Part:
    name: str
    body: list


@dataclass
class _Turn:
    number: int
    count: int
    body: list
    jumps: bool  # no address moves with this loop, and its iterations may repeat
    nests: bool  # there are loops inside
    idle: bool  # no command is inside
    strides: list[tuple[int, ...]]  # of the operands inside by the loops around this one, each once


def _digest(state: tuple) -> bytes:
    """Digest of a state, to keep instead of the long state. In version 2 of marshal, equal tuples have equal bytes."""
    return blake2b(marshal.dumps(state, 2), digest_size=16).digest()


@dataclass
class _Mark:
    """The engine at the head of an iteration."""

    index: int
    ready: int
    entries: int
    counters: list[int]
    stages: dict[str, int]
    refreshes: int
    segment: int


@dataclass
class _Before:
    """The engine as a loop is entered."""

    ready: int
    entries: int
    serial: int
    refreshes: int
    counters: list[int]
    stages: dict[str, int]
    last: list[int]
    rings: list[list[int]]
    bus_free: list[int]


@dataclass(slots=True)
class _Effect:
    """The changes that a loop made from its entry on.

    Times are stored as they were then, counts as differences. Arrays hold the number of each changed entry and its
    value in turn."""

    ready: int  # at entry
    entries: tuple[int, int]  # of the schedule
    now: int
    floor: int
    counters: array
    final: array
    stages: dict[str, int]
    last: array
    rings: list[tuple[int, array]]
    bus_free: array
    rows: dict[Opened | None, list[int]]  # banks by their row
    due: int | None
    refreshes: int
    asked: Questions


class Engine:
    """One run of the timing engine. See :func:`time_program`."""

    def __init__(self, memory: Memory, *, refresh: bool = False, jump: bool = True) -> None:
        if refresh and memory.refresh is None:
            raise ConfigError(f"{memory.name}: the memory states no refresh")
        self.memory = memory
        self.channel = Channel(memory)
        self.jump = jump
        count = len(self.channel.names)
        self.schedule = Schedule(self.channel.names)
        # Counters that a jump multiplies: commands by number (the program's, automatic ones), hits, misses, conflicts.
        self.counters = [0] * (2 * count + 3)
        self.final = [NEVER] * (2 * count)  # last issue by number
        self.stages: dict[str, int] = {}
        self.floor = 0  # end of the last wait: no command of the program before
        self.at: list[int] = []  # loop indices
        self.entered: list[int] = []  # serial at entry, by loop
        self.serial = 0
        self.loops = 0
        self.questions: Questions = {}
        self.effects: dict[bytes, _Effect] = {}  # of loops by the state that they were entered in
        self.due: int | None = None
        self.refreshes: list[Target] = []
        self.done = 0  # refreshes so far
        self.jump_until: int | None = None  # cycle from which on every command is stepped through
        self.interval = 0
        if refresh and memory.refresh is not None:
            self.interval = memory.refresh.interval * (memory.refresh.postpone + 1)
            self.due = self.interval
            scope = memory.commands[memory.refresh.command].scope
            choices: list[list[int | None]] = [[]]
            for level, size in memory.levels.items():
                choices = [[*head, k] for head in choices for k in (range(size) if level in scope else [None])]
            self.refreshes = [self.channel.target(memory.refresh.command, at) for at in choices]

    # Program -----------------------------------------------------------------------------------------------------

    def compile(self, body: Sequence[Node], loops: tuple[int, ...]) -> list:
        """The program with commands resolved against the memory and all operands checked."""
        if len(loops) > MAX_DEPTH:
            raise ConfigError(f"a program of more than {MAX_DEPTH} nested loops")
        out: list = []
        for node in body:
            if isinstance(node, Command):
                if all(loops):
                    out.append(self.step(node, loops))
            elif isinstance(node, Wait):
                out.append(_Pause(node.cycles))
            elif isinstance(node, Stage):
                out.append(_Part(node.name, self.compile(node.body, loops)))
            elif isinstance(node, Loop) and node.count:
                inner = self.compile(node.body, (*loops, node.count))
                # The second of two iterations can be jumped: it pays if loops are inside, whose turns multiply.
                nests = self.has(_Turn, inner)
                repeats = node.count > 2 or node.count == 2 and nests
                strides = (
                    {
                        around: None
                        for step in self.steps(inner)
                        for around in (every[: len(loops)] for every in step.strides)
                        if any(around)
                    }
                    if nests
                    else {}
                )
                self.loops += 1
                out.append(
                    _Turn(
                        self.loops,
                        node.count,
                        inner,
                        repeats and not self.moves(inner, len(loops)),
                        nests,
                        not self.has(_Step, inner),
                        list(strides),
                    )
                )
        return out

    def steps(self, body: list) -> Iterator[_Step]:
        """Commands in ``body``, also in its loops and stages."""
        for node in body:
            if isinstance(node, _Step):
                yield node
            elif not isinstance(node, _Pause):
                yield from self.steps(node.body)

    def has(self, kind: type, body: list) -> bool:
        return any(
            isinstance(node, kind) or not isinstance(node, _Step | _Pause) and self.has(kind, node.body)
            for node in body
        )

    def moves(self, body: list, level: int) -> bool:
        """Whether an address in ``body`` has a stride over loop ``level``."""
        return any(
            value is not None and len(value.strides) > level and value.strides[level]
            for step in self.steps(body)
            for value in step.address
        )

    def step(self, node: Command, loops: tuple[int, ...]) -> _Step:
        memory = self.memory
        command = memory.command(node.op)
        valid = [*command.scope, *(["row"] if command.has_row else []), *command.operands]
        sizes = {**memory.levels, "row": memory.rows, "column": memory.columns}
        for name, value in node.operands:
            if name not in valid:
                raise ConfigError(f"{memory.name}: {node.op}: {nearest('operand', name, valid)}")
            low, high = value.bounds(loops)
            if name in sizes and not 0 <= low <= high < sizes[name]:
                raise ConfigError(
                    f"{memory.name}: {node.op}: {name} must be 0 to {sizes[name] - 1}, not {low if low < 0 else high}"
                )
        for name in [*command.scope, *(["row"] if command.has_row else [])]:
            if node.get(name) is None:
                raise ConfigError(f"{memory.name}: {node.op}: needs the operand {name}")
        address = [node.get(level) if level in command.scope else None for level in memory.levels]
        self.serial += 1
        fixed = None
        if not any(value is not None and value.strides for value in address):
            fixed = self.channel.target(node.op, [None if value is None else value.base for value in address])
        return _Step(self.serial, node.op, node.get("row") if command.has_row else None, fixed, address)

    def run(self, program: Program) -> Timing:
        """Time the program."""
        body = self.compile(program.body, ())
        self.serial = 0
        self.execute(body)
        memory, names = self.memory, self.channel.names
        count = len(names)
        issued = {name: self.counters[k] + self.counters[k + count] for k, name in enumerate(names)}
        automatic = {name: self.counters[k + count] for k, name in enumerate(names)}
        cycles = max(
            [
                self.ready,
                *(
                    max(self.final[k], self.final[k + count]) + memory.commands[name].latency
                    for k, name in enumerate(names)
                ),
            ]
        )
        commands = {name: number for name, number in issued.items() if number}
        kinds = {
            kind: sum(n for name, n in commands.items() if memory.commands[name].kind in (kind, "other"))
            for kind in ("row", "column")
        }
        bus_bytes = sum(n * memory.commands[name].bus_bytes for name, n in commands.items())
        bank_bytes = sum(
            n * memory.commands[name].bank_bytes * memory.commands[name].banks for name, n in commands.items()
        )
        span = max(cycles, 1)
        return Timing(
            memory=memory,
            cycles=cycles,
            commands=commands,
            automatic={name: number for name, number in automatic.items() if number},
            energy_pj=energy_pj(commands, memory),
            row_hits=self.counters[-3],
            row_misses=self.counters[-2],
            row_conflicts=self.counters[-1],
            bus_utilisation={
                **{kind: n / span for kind, n in kinds.items()},
                "data": bus_bytes * memory.bus_cycles / (memory.bus_bytes * memory.buses * span),
            },
            bank_utilisation=bank_bytes * memory.bank_cycles / (memory.column_bytes * memory.banks * span),
            stages=dict(self.stages),
            schedule=self.schedule,
        )

    @property
    def ready(self) -> int:
        """No command of the program issues before this cycle, by order of issue and by waits."""
        return max(self.channel.now, self.floor)

    @property
    def origin(self) -> int:
        """The reference cycle of states: nothing issues before it.

        If a refresh is due before the end of a wait, it is the cycle of the last command."""
        return self.channel.now if self.due is not None and self.due < self.ready else self.ready

    def limit(self) -> None:
        if self.ready > MAX_CYCLES:
            raise ConfigError("a program of more than 2^62 cycles")

    # Execution ---------------------------------------------------------------------------------------------------

    def execute(self, body: list) -> None:
        for node in body:
            if isinstance(node, _Step):
                self.command(node)
            elif isinstance(node, _Turn):
                self.loop(node)
            elif isinstance(node, _Pause):
                self.floor = self.ready + node.cycles
                self.limit()
            else:
                before = self.ready
                self.execute(node.body)
                self.stages[node.name] = self.stages.get(node.name, 0) + self.ready - before

    def issue(self, target: Target, automatic: bool) -> bool:
        """Issue a command in its first cycle. If a refresh is due by then, issue the refresh and return
        :data:`False`."""
        at = max(self.floor, self.channel.earliest(target))
        if self.due is not None and at >= self.due:
            self.refresh()
            return False
        self.put(target, at, automatic)
        return True

    def put(self, target: Target, at: int, automatic: bool) -> None:
        self.channel.issue(target, at)
        number = target.number + len(self.channel.names) * automatic
        self.schedule.ops.append(number)
        self.schedule.cycles.append(at)
        self.counters[number] += 1
        self.final[number] = at
        self.serial += 1

    def refresh(self) -> None:
        """Close all rows and refresh, no earlier than the refresh is due. The cycle may lie within a wait."""
        channel, due = self.channel, self.due
        assert due is not None and self.memory.refresh is not None
        for target in self.refreshes:
            assert target.precharge is not None
            if any(channel.rows[bank] is not None for bank in target.banks):
                self.put(target.precharge, max(due, channel.earliest(target.precharge)), True)
                for bank in target.precharge.banks:
                    channel.rows[bank] = None
        for _ in range(self.memory.refresh.postpone + 1):
            for target in self.refreshes:
                self.put(target, max(due, channel.earliest(target)), True)
        self.due = due + self.interval
        self.done += 1

    def command(self, step: _Step) -> None:
        channel, at = self.channel, self.at
        target = step.fixed or channel.target(
            step.name, [None if value is None else value.at(at) for value in step.address]
        )
        rule = target.command.row
        rows, banks = channel.rows, target.banks
        row = step.row.at(at) if step.row is not None else 0
        outcome = -1
        while True:
            if rule == "none" or rule == "closes":
                if self.issue(target, False):
                    break
                continue
            opened = {rows[bank] for bank in banks}
            if rule == "needs":
                state = self.match(step, opened, row)
                outcome = state if outcome < 0 else outcome
                if state == 0:
                    if self.issue(target, False):
                        break
                elif state == 1:
                    assert target.activate is not None
                    if self.issue(target.activate, True):
                        self.open(step, banks, row)
                else:
                    assert target.precharge is not None
                    if self.issue(target.precharge, True):
                        self.close(target.precharge.banks)
            elif opened != {None}:
                assert target.precharge is not None
                if self.issue(target.precharge, True):
                    self.close(target.precharge.banks)
            elif self.issue(target, False):
                break
        if rule == "opens":
            self.open(step, banks, row)
        elif rule == "closes" or target.command.auto_precharge:
            self.close(banks)
        if outcome >= 0:
            self.counters[outcome - 3] += 1

    def open(self, step: _Step, banks: list[int], row: int) -> None:
        opened = Opened(row, step.node, step.row.strides if step.row is not None else (), self.serial)
        for bank in banks:
            self.channel.rows[bank] = opened

    def close(self, banks: list[int]) -> None:
        for bank in banks:
            self.channel.rows[bank] = None

    def match(self, step: _Step, opened: set[Opened | None], row: int) -> int:
        """0: the row is open in all banks; 1: all banks are closed; 2: neither. Records the row questions."""
        if opened == {None}:
            return 1
        hit = True
        for one in opened:
            if one is None:
                hit = False
                continue
            difference = one.row - row
            hit = hit and not difference
            if self.at and self.jump:
                assert step.row is not None
                drifts = tuple(
                    (one.strides[k] if k < len(one.strides) and one.serial > entered else 0)
                    - (step.row.strides[k] if k < len(step.row.strides) else 0)
                    for k, entered in enumerate(self.entered)
                )
                if any(drifts):
                    self.ask((step.node, one.node, drifts, (difference > 0) - (difference < 0)), difference, difference)
        return 0 if hit else 2

    def ask(self, key: tuple[int, int, tuple[int, ...], int], low: int, high: int) -> None:
        known = self.questions.get(key)
        if known is not None:
            low, high = min(low, known[0]), max(high, known[1])
        self.questions[key] = (low, high)

    # Loops -------------------------------------------------------------------------------------------------------

    def loop(self, turn: _Turn) -> None:
        if not (turn.nests and self.jump):
            self.put_questions(self.turns(turn))
            return
        state = (
            turn.number,
            tuple([sum(stride * k for stride, k in zip(strides, self.at, strict=False)) for strides in turn.strides]),
            self.state(None),
        )
        keys = [_digest(state)] if self.due is None else [_digest(state), _digest((self.due - self.origin, state))]
        for key in keys:
            effect = self.effects.get(key)
            if effect is not None and self.again(effect):
                return
        before = self.before()
        asked = self.turns(turn)
        self.put_questions(asked)
        if len(self.effects) >= MAX_EFFECTS:
            self.effects.clear()
        self.effects[keys[0 if self.done == before.refreshes else -1]] = self.effect(before, asked)

    def put_questions(self, asked: Questions) -> None:
        for key, (low, high) in asked.items():
            self.ask(key, low, high)

    def turns(self, turn: _Turn) -> Questions:
        """Execute a loop; return the row questions that depend on the loops around it."""
        level = len(self.at)
        outer, whole = self.questions, Questions()
        self.at.append(0)
        self.entered.append(self.serial)
        segments: list[Questions] = []
        marks: dict[tuple, _Mark] = {}
        index = 0
        while index < turn.count:
            self.at[level] = index
            if self.jump and turn.jumps:
                if len(segments) >= REMEMBERED:
                    self.merge(whole, segments)
                    segments, marks = [], {}
                moved = self.look(turn, index, marks, segments, whole)
                if moved:
                    index += moved
                    segments, marks = [], {}
                    continue
            self.questions = {}
            self.execute(turn.body)
            segments.append(self.questions)
            index += 1
        self.merge(whole, segments)
        self.at.pop()
        self.entered.pop()
        self.questions = outer
        asked: Questions = {}
        if self.at and self.jump:
            for (asking, opening, drifts, _), bounds in whole.items():
                if any(drifts[:level]):
                    # The part that moves with this loop is in the bounds now.
                    sign = 1 if bounds[0] > 0 else -1 if bounds[1] < 0 else 0
                    self.merge(asked, [{(asking, opening, drifts[:level], sign): bounds}])
        return asked

    @staticmethod
    def merge(into: Questions, segments: Sequence[Questions]) -> None:
        for segment in segments:
            for key, (low, high) in segment.items():
                known = into.get(key, (low, high))
                into[key] = (min(low, known[0]), max(high, known[1]))

    def look(
        self, turn: _Turn, index: int, marks: dict[tuple, _Mark], segments: list[Questions], whole: Questions
    ) -> int:
        """Jump from the head of iteration ``index`` if its state has been seen; return how many."""
        channel, level = self.channel, len(self.at) - 1
        # Without commands, nothing but the end of the wait moves.
        state = () if turn.idle else self.state(level)
        keys = [state] if self.due is None else [(self.done, state), (None, self.due - self.origin, state)]
        for key in keys:
            mark = marks.get(key)
            if mark is None:
                continue
            length = index - mark.index
            period = self.ready - mark.ready
            times = (turn.count - index) // length
            questions: Questions = {}
            self.merge(questions, segments[mark.segment :])
            times = min(times, self.constant(questions, level, length, times))
            if self.due is not None and mark.refreshes == self.done and period and not turn.idle:
                times = min(times, (self.due - 1 - channel.now) // period)
            if self.jump_until is not None and period:
                times = min(times, (self.jump_until - 1 - self.ready) // period)
            if times > 0:
                self.leap(mark, length, period, times)
                self.merge(whole, segments)
                for (asking, opening, drifts, sign), (low, high) in questions.items():
                    further = drifts[level] * length * times
                    known = whole[asking, opening, drifts, sign]
                    whole[asking, opening, drifts, sign] = (min(known[0], low + further), max(known[1], high + further))
                return length * times
        now = _Mark(
            index, self.ready, len(self.schedule.ops), list(self.counters), dict(self.stages), self.done, len(segments)
        )
        for key in keys:
            marks[key] = now
        return 0

    @staticmethod
    def constant(questions: Questions, level: int, length: int, most: int) -> int:
        """How many more times the same iterations give the same answers to all questions; at most ``most``."""
        for (_, _, drifts, sign), (low, high) in questions.items():
            drift = drifts[level] * length
            if not drift:
                continue
            if not sign:
                return 0
            if low == high and low % drift:
                continue  # never zero
            if sign > 0 and drift < 0:
                most = min(most, (low - 1) // -drift)
            elif sign < 0 and drift > 0:
                most = min(most, (-high - 1) // drift)
        return most

    def state(self, level: int | None) -> tuple:
        """All that determines later issue cycles, relative to now; rows relative to the index of loop ``level``."""
        channel, now = self.channel, self.origin
        times = tuple(
            [
                (slot, last + horizon - now)
                for slot, (last, horizon) in enumerate(zip(channel.last, channel.horizon, strict=True))
                if last + horizon > now
            ]
        )
        rings = tuple(
            [
                tuple([max(time + horizon - now, 0) for time in times])
                for times, horizon in zip(channel.rings, channel.ring_horizon, strict=True)
            ]
        )
        buses = tuple([max(free - now, 0) for free in channel.bus_free])
        return times, rings, buses, self.ready - now, self.open_rows(level)

    def open_rows(self, level: int | None) -> tuple:
        rows = self.channel.rows
        names: dict[Opened | None, object] = {}
        for one in set(rows):
            if one is None:
                names[one] = None
            else:
                drifts = tuple(
                    [
                        one.strides[k] if k < len(one.strides) and one.serial > entered else 0
                        for k, entered in enumerate(self.entered)
                    ]
                )
                names[one] = (one.row - (0 if level is None else drifts[level] * self.at[level]), drifts)
        # All banks are often equal. Then one entry stands for all.
        return tuple(names.values()) if len(names) == 1 else tuple([names[one] for one in rows])

    def leap(self, mark: _Mark, length: int, period: int, times: int) -> None:
        """Repeat the iterations since ``mark`` another ``times`` times, all at once."""
        channel, level = self.channel, len(self.at) - 1
        shift = period * times
        schedule = self.schedule
        stop = len(schedule.ops)
        if stop > mark.entries:
            schedule.repeats[stop] = (mark.entries, stop, times, period)
            schedule.ops.append(-1)
            schedule.cycles.append(-1)
        for k, before in enumerate(mark.counters):
            if self.counters[k] > before:
                if k < len(self.final):
                    self.final[k] += shift
                self.counters[k] += (self.counters[k] - before) * times
        for name, cycles in self.stages.items():
            self.stages[name] = cycles + (cycles - mark.stages.get(name, 0)) * times
        self.floor += shift
        self.limit()
        if stop == mark.entries:
            return
        channel.now += shift
        channel.last = [time + shift for time in channel.last]
        channel.rings = [[time + shift for time in ring] for ring in channel.rings]
        channel.bus_free = [free + shift for free in channel.bus_free]
        if self.due is not None and mark.refreshes != self.done:
            self.due += shift
            self.done += (self.done - mark.refreshes) * times
        moved: dict[Opened | None, Opened | None] = {None: None}
        for one in channel.rows:
            if one not in moved:
                assert one is not None
                drift = one.strides[level] if level < len(one.strides) and one.serial > self.entered[level] else 0
                moved[one] = Opened(one.row + drift * length * times, one.node, one.strides, one.serial)
        channel.rows = [moved[one] for one in channel.rows]

    # Loops that are entered again ------------------------------------------------------------------------------------

    def before(self) -> _Before:
        channel = self.channel
        return _Before(
            self.ready,
            len(self.schedule.ops),
            self.serial,
            self.done,
            list(self.counters),
            dict(self.stages),
            list(channel.last),
            [list(ring) for ring in channel.rings],
            list(channel.bus_free),
        )

    def effect(self, before: _Before, asked: Questions) -> _Effect:
        """The changes since ``before``."""
        channel = self.channel
        # Slots and rings that a command of the loop is the first to use are at the end.
        last = [*before.last, *[NEVER] * (len(channel.last) - len(before.last))]
        rings: list[list[int]] = [*before.rings, *[[]] * (len(channel.rings) - len(before.rings))]
        counters = self.changed(before.counters, self.counters)
        rows: dict[Opened | None, list[int]] = {}
        for bank, one in enumerate(channel.rows):
            if one is None or one.serial > before.serial:
                rows.setdefault(one, []).append(bank)
        return _Effect(
            ready=before.ready,
            entries=(before.entries, len(self.schedule.ops)),
            now=channel.now,
            floor=self.floor,
            counters=array("q", [x for k in counters for x in (k, self.counters[k] - before.counters[k])]),
            final=array("q", [x for k in counters if k < len(self.final) for x in (k, self.final[k])]),
            stages={name: cycles - before.stages.get(name, 0) for name, cycles in self.stages.items()},
            last=array("q", [x for k in self.changed(last, channel.last) for x in (k, channel.last[k])]),
            rings=[(k, array("q", channel.rings[k])) for k in self.changed(rings, channel.rings)],
            bus_free=array(
                "q", [x for k in self.changed(before.bus_free, channel.bus_free) for x in (k, channel.bus_free[k])]
            ),
            rows=rows,
            due=self.due,
            refreshes=self.done - before.refreshes,
            asked=asked,
        )

    @staticmethod
    def changed(before: Sequence, after: Sequence) -> list[int]:
        return [] if before == after else [k for k, value in enumerate(after) if value != before[k]]

    @staticmethod
    def pairs(values: array) -> Iterator[tuple[int, int]]:
        return zip(values[::2], values[1::2], strict=True)

    def again(self, effect: _Effect) -> bool:
        """Repeat the effect of a loop that was entered in this state before.

        Return :data:`False`, and do nothing, if a refresh or the part of a log to step through falls in between."""
        channel, shift = self.channel, self.ready - effect.ready
        if self.due is not None and not effect.refreshes and effect.now + shift >= self.due:
            return False
        if self.jump_until is not None and max(effect.now, effect.floor) + shift >= self.jump_until:
            return False
        if effect.entries[0] < effect.entries[1]:
            self.schedule.repeats[len(self.schedule.ops)] = (*effect.entries, 1, shift)
            self.schedule.ops.append(-1)
            self.schedule.cycles.append(-1)
            channel.now = effect.now + shift
        self.floor = effect.floor + shift
        self.limit()
        for k, number in self.pairs(effect.counters):
            self.counters[k] += number
        for k, time in self.pairs(effect.final):
            self.final[k] = time + shift
        for name, cycles in effect.stages.items():
            self.stages[name] = self.stages.get(name, 0) + cycles
        for k, time in self.pairs(effect.last):
            channel.last[k] = time + shift
        for k, ring in effect.rings:
            channel.rings[k] = [time + shift for time in ring]
        for k, time in self.pairs(effect.bus_free):
            channel.bus_free[k] = time + shift
        if effect.refreshes:
            assert effect.due is not None
            self.due = effect.due + shift
            self.done += effect.refreshes
        self.serial += 1
        for one, banks in effect.rows.items():
            opened = one and Opened(one.row, one.node, one.strides, self.serial)
            for bank in banks:
                channel.rows[bank] = opened
        self.put_questions(effect.asked)
        return True
