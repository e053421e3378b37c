"""AiM channels with two sets of input and output buffers: commands of the host and of the units in two queues.

A device with one global buffer and one set of output registers (:mod:`.aim`) handles an input, its products and their
results one after the other. It changes the mode (``TMOD``) between host and units. LoL-PIM's I/O-aware buffers have two
sets of both. The host fills and drains one set while the units work on the other:

- ``WR_GB``, ``WR_BIAS`` and ``RD_MAC`` are one queue, ``MAC_ABK`` is the other. Each queue is served in order. Both
  share the command bus (one command a cycle) and obey the memory's timings.
- There is no change of mode, and ``RD_MAC`` blocks no other command.
- A fill is the writes between two products. It begins when the products with the fill before the last fill are done.
- A product begins when its fill is complete and the results that its register set held before are read.
- Results are read when the products that made them are done.
- When a set changes hands, the other side can use it after the time that a change of mode takes otherwise.

If two commands are ready, the first in program order issues. All channels of a module do the same at the same time.
They share the input path, so writes to the buffers of some channels take the time of all channels.
"""

from __future__ import annotations

import numpy as np

from ...constraints.core.errors import ConfigError
from ..program import Loop, Program
from ..program.nodes import Node
from .aim import FrontEnd, FrontEndTiming, Instructions
from .compiled import compiled
from .tables import BANK_START, BANKS, NUMBER, PRECHARGE, earliest, issue, next_command

__all__ = ["PingPong"]

#: Iterations of an outermost loop that run before the search for a state that repeats.
ITERATIONS = 8

_FILL, _PRODUCT, _RESULT = range(3)
_KIND = {"WRGB": _FILL, "WRMAC16": _FILL, "MAC16": _PRODUCT, "RDMAC16": _RESULT}
_FAR = 1 << 60


@compiled
def _dependences(kinds, first, second):
    """Find the instructions that each instruction waits for: at most two earlier ones of the other queue, or -1."""
    fill_before = -1  # last product with the fill before the last fill
    product, fill, result = -1, -1, -1
    free = -1
    filling, reading = False, False
    result_before = -1  # last read of the register set that is written now
    last_result = -1
    for k in range(len(kinds)):
        first[k], second[k] = -1, -1
        if kinds[k] == _FILL:
            if not filling:
                free, fill_before = fill_before, product
                filling = True
            first[k] = free
            fill = k
        elif kinds[k] == _PRODUCT:
            filling = False
            if reading:
                result_before = last_result
                last_result = result
                reading = False
            first[k], second[k] = fill, result_before
            product = k
        else:
            first[k] = product
            result = k
            reading = True


@compiled
def _run(
    t,
    last,
    rings,
    rows,
    kinds,
    targets,
    ops,
    row,
    sizes,
    first,
    second,
    turn,
    refresh,
    interval,
    counts,
    period,
    horizon,
    ring_horizon,
    marks,
    snapshots,
    starts,
    issued,
):
    """Run to the end; returns the cycles.

    ``marks`` and ``snapshots`` receive clock and state when the products of an iteration of ``period`` instructions
    have issued. ``issued``, unless it is empty, receives the cycles of the column accesses of all instructions.
    ``starts`` has the place of each instruction's first access.
    """
    total = len(kinds)
    done = np.full(total, -1, np.int64)
    place = np.zeros(2, np.int64)  # next instruction of host and units
    left = np.zeros(2, np.int64)
    for q in range(2):
        while place[q] < total and (kinds[place[q]] == _PRODUCT) != (q == 1):
            place[q] += 1
        left[q] = ops[place[q]] if place[q] < total else 0
    clock, end, due, mark = 0, 0, interval, 0
    at, what = np.zeros(2, np.int64), np.zeros(2, np.int64)
    while place[0] < total or place[1] < total:
        for q in range(2):
            at[q] = _FAR
            k = place[q]
            if k >= total:
                continue
            what[q] = next_command(t, rows, targets[k], row[k], False)
            when = max(earliest(t, last, rings, what[q]), clock + 1)
            if what[q] == targets[k]:
                for needs in (first[k], second[k]):
                    if needs >= 0:
                        when = max(when, done[needs] + 1 + turn if done[needs] >= 0 else _FAR)
            at[q] = when
        q = 0 if at[0] < at[1] or (at[0] == at[1] and place[0] < place[1]) else 1
        if interval > 0 and at[q] >= due:
            command = refresh
            for n in range(t[t[BANK_START] + refresh], t[t[BANK_START] + refresh + 1]):
                if rows[t[t[BANKS] + n]] != -1:
                    command = t[t[PRECHARGE] + refresh]
            clock = max(earliest(t, last, rings, command), clock + 1, due)
            issue(t, last, rings, rows, command, 0, clock)
            counts[t[t[NUMBER] + command]] += sizes[place[q]]
            if command == refresh:
                due += interval
            continue
        k, clock = place[q], at[q]
        issue(t, last, rings, rows, what[q], row[k], clock)
        counts[t[t[NUMBER] + what[q]]] += sizes[k]
        if what[q] != targets[k]:
            continue
        if len(issued):
            issued[starts[k] + ops[k] - left[q]] = clock
        left[q] -= 1
        end = max(end, clock + 1)
        if left[q] == 0:
            done[k] = clock
            k += 1
            while k < total and (kinds[k] == _PRODUCT) != (q == 1):
                k += 1
            place[q] = k
            left[q] = ops[k] if k < total else 0
            if period and q == 1 and mark < len(marks) and k >= (mark + 1) * period:
                marks[mark] = clock
                n = 0
                base = (mark + 1) * period
                for x in (place[0] - base, left[0], place[1] - base):
                    snapshots[mark, n] = x
                    n += 1
                for x in rows:
                    snapshots[mark, n] = x
                    n += 1
                for m in range(len(last)):
                    snapshots[mark, n] = max(last[m] - clock, -horizon[m])
                    n += 1
                for m in range(len(rings)):
                    snapshots[mark, n] = max(rings[m] - clock, -ring_horizon[m])
                    n += 1
                for m in range(base - 3 * period, base + 2 * period):
                    known = 0 <= m < total and done[m] >= 0
                    snapshots[mark, n] = (
                        max(done[m] - clock, -turn - 1) if known else (-turn - 1 if m < place[0] and m < base else 1)
                    )
                    n += 1
                mark += 1
    return end


class PingPong:
    """Times programs of ``WR_GB``, ``WR_BIAS``, ``MAC_ABK`` and ``RD_MAC`` on channels with two sets of buffers.

    Parameters
    ----------
    front_end : :class:`FrontEnd`
        The same device with one set of buffers. Its memory, tables and refresh are used.
    """

    def __init__(self, front_end: FrontEnd) -> None:
        self.front_end = front_end
        self.memory = front_end.memory
        if front_end.flags.any():
            raise ConfigError("the AiM simulator has no double buffers: they cannot be combined with its quirks")
        self.turn = self.memory.parameters["nMODCH"]
        self._kinds = np.full(int(sum(len(targets) for targets in front_end.numbering.targets.values())), -1, np.int64)
        for name, kind in _KIND.items():
            self._kinds[front_end.numbering.targets[name]] = kind

    def time(self, program: Program) -> FrontEndTiming:
        """Cycles of a program from closed rows and empty buffers to the cycle after the issue of its last command.

        If the program is one loop, iterations run only until a state repeats.

        Raises
        ------
        :exc:`ConfigError`
            For unknown instructions, and for instructions that have no meaning with two sets.
        """
        body = program.body
        if len(body) == 1 and isinstance(body[0], Loop) and body[0].count > ITERATIONS:
            found = self._repeated(body[0])
            if found is not None:
                return found
        cycles, counts, size = self._timed(body)[:3]
        return self._answer(cycles, counts, size)

    def issues(self, program: Program) -> list[np.ndarray]:
        """Cycles in which the column accesses and transfers of each command of a program issue."""
        code = self._code(program.body)
        issued = np.zeros(int(code.ops.sum()), np.int64)
        if not ((code.ops > 0) & (code.masks != 0)).all():
            raise ConfigError("a schedule needs commands that do something")
        self._timed(program.body, issued=issued)
        return np.split(issued, np.cumsum(code.ops)[:-1])

    def _answer(self, cycles: int, counts: np.ndarray, size: int) -> FrontEndTiming:
        commands = {name: int(n) for name, n in zip(self.front_end.names, counts, strict=True) if n}
        return FrontEndTiming(self.memory, cycles, commands, size)

    def _repeated(self, loop: Loop) -> FrontEndTiming | None:
        """Time of a loop whose state repeats, from one period; None if no state repeats or the channels refresh."""
        if self.front_end.interval:
            return None
        period = len(self._code((Loop(1, loop.body),)))
        _, _, _, marks, snapshots = self._timed((Loop(ITERATIONS, loop.body),), period)
        for later in range(ITERATIONS - 3, 0, -1):
            for before in range(later - 1, -1, -1):
                if np.array_equal(snapshots[later], snapshots[before]):
                    length = later - before
                    run = later + 3 + (loop.count - later - 3) % length
                    short = self._timed((Loop(run, loop.body),))
                    longer = self._timed((Loop(run + length, loop.body),))
                    times = (loop.count - run) // length
                    return self._answer(
                        short[0] + times * int(marks[later] - marks[before]),
                        short[1] + times * (longer[1] - short[1]),
                        loop.count * period,
                    )
        return None

    def _code(self, body: tuple[Node, ...]) -> Instructions:
        return self.front_end._unrolled(body)

    def _timed(
        self, body: tuple[Node, ...], period: int = 0, issued: np.ndarray | None = None
    ) -> tuple[int, np.ndarray, int, np.ndarray, np.ndarray]:
        front, code = self.front_end, self._code(body)
        busy = (code.ops > 0) & (code.masks != 0)
        code = Instructions(*(column[busy] for column in code))
        kinds = np.where(code.targets >= 0, self._kinds[code.targets], -1)
        if len(kinds) and kinds.min() < 0:
            raise ConfigError(
                f"{self.memory.name}: with two sets of buffers only WR_GB, WR_BIAS, MAC_ABK and RD_MAC have a meaning"
            )
        numbering = front.numbering
        first, second = np.zeros(len(kinds), np.int64), np.zeros(len(kinds), np.int64)
        _dependences(kinds, first, second)
        counts = np.zeros(len(front.names), np.int64)
        marks = np.zeros(ITERATIONS if period else 0, np.int64)
        snapshots = np.zeros(
            (len(marks), 3 + self.memory.banks + numbering.slots + numbering.ring_times + 5 * period), np.int64
        )
        sizes = np.array([int(mask).bit_count() for mask in code.masks], np.int64)
        last, rings = (np.full(size, -_FAR, np.int64) for size in (numbering.slots, numbering.ring_times))
        cycles = _run(
            front.image,
            last,
            rings,
            np.full(self.memory.banks, -1, np.int64),
            kinds,
            code.targets,
            code.ops,
            code.rows,
            sizes,
            first,
            second,
            self.turn,
            front.refresh_target,
            front.interval,
            counts,
            period,
            numbering.slot_horizon,
            numbering.ring_horizon,
            marks,
            snapshots,
            np.cumsum(code.ops) - code.ops,
            np.zeros(0, np.int64) if issued is None else issued,
        )
        return int(cycles), counts, len(code), marks, snapshots
