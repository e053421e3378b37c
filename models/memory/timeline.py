"""A log of issued commands as slices of time: for ui.perfetto.dev, and for pictures.

Times are shown a thousand times as long: 1 us on the screen is 1 ns of the memory. The format's finest step (1 ns)
would be too coarse for cycles.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...constraints.memory import Memory, MemoryCommand
from .issue_log import IssueLog

__all__ = ["MAX_SLICES", "Slice", "Timeline", "chrome_trace", "timeline"]

Slice = tuple[int, int, str, str, dict[str, Any]]  # first cycle, cycles, name, category, details

#: Greatest number of slices of a timeline, roughly; some 50 MB of JSON.
MAX_SLICES = 300_000

#: Accesses form one slice if their distance is at most this number times their duration.
_CLOSE = 4

_INNER = ("activate", "column")
_NEVER = 1 << 62
_BUSES = ("row commands", "column commands", "commands")


@dataclass
class Timeline:
    """Slices of time.

    Attributes
    ----------
    tracks : name of a channel -> name of a command bus or bank -> its slices in order
    stages : slices of the program's stages
    log : the log of which the slices were made, up to ``log.last``
    """

    title: str
    tracks: dict[str, dict[str, list[Slice]]]
    stages: list[Slice]
    log: IssueLog

    @property
    def slices(self) -> int:
        return len(self.stages) + sum(len(slices) for threads in self.tracks.values() for slices in threads.values())

    def as_dict(self) -> dict[str, Any]:
        """Plain data about the timeline."""
        return {
            "slices": self.slices,
            "commands": len(self.log.cycles),
            "first_cycle": self.log.first,
            "last_cycle": self.log.last,
            "truncated": self.log.truncated,
        }


def timeline(log: IssueLog, title: str, limit: int | None = None) -> Timeline:
    """Timeline of a log.

    A channel's buses show every command for one cycle. Its banks show the open rows, with the activation and the column
    accesses in them. Between open rows they show precharges and refreshes.

    Channels (and banks of a channel) that did the same share one track. A timeline of more than about ``limit`` slices
    (:data:`MAX_SLICES`) ends earlier.
    """
    log, groups = _limited(log, MAX_SLICES if limit is None else limit)
    tracks: dict[str, dict[str, list[Slice]]] = {}
    for channels in groups:
        places = log.channel(channels[0])
        threads = dict(_buses(log, places))
        threads |= {_named("bank", banks): slices for banks, slices in _banks(log, places)}
        tracks[_named("channel", channels)] = threads
    shown = [(name, max(began, log.first), min(ended, log.last)) for name, began, ended in log.stages]
    stages: list[Slice] = [(began, ended - began, name, "stage", {}) for name, began, ended in shown if ended > began]
    return Timeline(title, tracks, sorted(stages, key=lambda s: (s[0], -s[1])), log)


def chrome_trace(view: Timeline) -> str:
    """JSON in Chrome's trace format, one event a line: a process per channel, a thread per command bus and per bank."""
    log = view.log
    scale = log.memory.clock_ps / 1000
    events: list[str] = []

    def meta(kind: str, process: int, thread: int, key: str, value: str | int) -> None:
        where = f', "tid": {thread}' if thread else ""
        events.append(
            f'{{"ph": "M", "pid": {process}{where}, "name": "{kind}", "args": {{"{key}": {json.dumps(value)}}}}}'
        )

    tracks = {view.title: {"stages": view.stages}} if view.stages else {}
    for process, (name, threads) in enumerate((tracks | view.tracks).items(), 1):
        meta("process_name", process, 0, "name", name)
        meta("process_sort_index", process, 0, "sort_index", process)
        for thread, (what, slices) in enumerate(threads.items(), 1):
            meta("thread_name", process, thread, "name", what)
            meta("thread_sort_index", process, thread, "sort_index", thread)
            for first, cycles, label, category, details in slices:
                more = "".join(f', "{key}": {json.dumps(value)}' for key, value in details.items())
                events.append(
                    f'{{"ph": "X", "pid": {process}, "tid": {thread}, "ts": {round(first * scale, 6)}, '
                    f'"dur": {round(cycles * scale, 6)}, "name": {json.dumps(label)}, "cat": "{category}", '
                    f'"args": {{"cycle": {first}, "cycles": {cycles}{more}}}}}'
                )
    head = {
        "displayTimeUnit": "ns",
        "otherData": {
            "title": view.title,
            "memory": log.memory.name,
            **view.as_dict(),
            "clock_ps": log.memory.clock_ps,
            "time": "1 us shown is 1 ns of the memory",
        },
    }
    return json.dumps(head)[:-1] + ',\n"traceEvents": [\n' + ",\n".join(events) + "\n]}\n"


def _limited(log: IssueLog, limit: int) -> tuple[IssueLog, list[list[int]]]:
    """The log up to the cycle where it exceeds ``limit`` slices, and its channels; equal channels are together."""
    tables, names = log.tables, list(log.memory.commands)
    weight = np.ones(len(tables.command), np.int64)
    banks = tables.bank_start[1:] - tables.bank_start[:-1]
    for number, name in enumerate(names):
        if log.memory.commands[name].row in ("opens", "closes", "closed"):
            here = tables.command == number
            weight[here] += 2 * banks[here]
    while True:
        groups = _alike_channels(log)
        every = np.zeros(len(log.cycles), np.int64)
        for channels in groups:
            every[log.channel(channels[0])] += 1
        total = np.cumsum(every * weight[log.targets])
        if not len(total) or total[-1] <= limit:
            return log, groups
        cut = int(log.cycles[np.searchsorted(total, limit, "right")])
        stop = int(np.searchsorted(log.cycles, cut))
        log = replace(
            log,
            cycles=log.cycles[:stop],
            masks=log.masks[:stop],
            targets=log.targets[:stop],
            rows=log.rows[:stop],
            last=cut - 1,
            truncated=True,
        )


def _alike_channels(log: IssueLog) -> list[list[int]]:
    groups: dict[bytes, list[int]] = {}
    for channel in range(log.channels):
        places = log.channel(channel)
        groups.setdefault(places.tobytes() if len(places) else b"", []).append(channel)
    # Equal contents at other places of the log: channels that were timed separately.
    merged: dict[bytes, list[int]] = {}
    for channels in groups.values():
        places = log.channel(channels[0])
        content = b"".join(column[places].tobytes() for column in (log.cycles, log.targets, log.rows))
        merged.setdefault(content, []).extend(channels)
    return [sorted(channels) for content, channels in merged.items() if content] or [[0]]


def _named(what: str, numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"{what} {numbers[0]}"
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return f"{what}s " + ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs) + ", alike"


def _buses(log: IssueLog, places: np.ndarray) -> Iterator[tuple[str, list[Slice]]]:
    """The command buses: every command for one cycle."""
    names, tables = list(log.memory.commands), log.tables
    lanes: dict[str, list[Slice]] = {name: [] for name in (_BUSES[:2] if log.memory.dual_issue else _BUSES[2:])}
    commands, targets = log.commands[places].tolist(), log.targets[places].tolist()
    for cycle, number, target, row in zip(
        log.cycles[places].tolist(), commands, targets, log.rows[places].tolist(), strict=True
    ):
        command = log.memory.commands[names[number]]
        details: dict[str, Any] = {}
        if command.row != "none":
            banks = tables.bank[tables.bank_start[target] : tables.bank_start[target + 1]]
            details["banks"] = str(banks[0]) if len(banks) == 1 else f"{len(banks)} from {banks[0]}"
        if command.has_row:
            details["row"] = row
        one = (cycle, 1, command.name, "command", details)
        if not log.memory.dual_issue:
            lanes[_BUSES[2]].append(one)
        else:
            if command.kind != "column":
                lanes[_BUSES[0]].append(one)
            if command.kind != "row":
                lanes[_BUSES[1]].append(one)
    yield from lanes.items()


def _banks(log: IssueLog, places: np.ndarray) -> Iterator[tuple[list[int], list[Slice]]]:
    """Banks that took part, and their slices; banks with equal commands are together."""
    tables, names = log.tables, list(log.memory.commands)
    targets = log.targets[places]
    seen: dict[int, list[int]] = {}
    for target in np.unique(targets).tolist():
        if log.memory.commands[names[tables.command[target]]].row != "none":
            for bank in tables.bank[tables.bank_start[target] : tables.bank_start[target + 1]].tolist():
                seen.setdefault(bank, []).append(target)
    groups: dict[tuple[int, ...], list[int]] = {}
    for bank in sorted(seen):
        groups.setdefault(tuple(seen[bank]), []).append(bank)
    for used, banks in groups.items():
        own = places[np.isin(targets, used)]
        yield banks, _bank(log, own)


def _bank(log: IssueLog, places: np.ndarray) -> list[Slice]:
    memory, names = log.memory, list(log.memory.commands)
    out: list[Slice] = []
    opened: tuple[int, int] | None = None  # since when, which row
    run: list[Any] = []  # accesses close to each other: command, row, first, last, number
    until = 0  # end of the last access
    access = max(memory.bank_cycles, 1)
    cycles = log.cycles[places].tolist()
    stop = log.last + 1  # nothing is shown from here on
    nexts = [*cycles[1:], stop]

    def flush() -> None:
        if run:
            name, row, first, last, number = run
            out.append(
                (
                    first,
                    min(last + access, stop) - first,
                    name if number == 1 else f"{name} x{number}",
                    "column",
                    {"command": name, "row": row, "accesses": number},
                )
            )
            run.clear()

    def close(at: int) -> None:
        nonlocal opened
        flush()
        if opened is not None:
            end = min(max(at, until, opened[0] + 1), stop)
            out.append((opened[0], end - opened[0], f"row {opened[1]}", "row", {"row": opened[1]}))
            opened = None

    for cycle, following, number, row in zip(
        cycles, nexts, log.commands[places].tolist(), log.rows[places].tolist(), strict=True
    ):
        command = memory.commands[names[number]]
        if command.row == "opens":
            close(cycle)
            opened = (cycle, row)
            span = min(_shortest(memory, command, "needs"), following - cycle)
            out.append((cycle, max(span, 1), command.name, "activate", {"row": row}))
        elif command.row == "needs":
            if opened is None or opened[1] != row:  # opened before the log begins
                close(cycle)
                opened = (log.first if not out else cycle, row)
            if run and run[0] == command.name and cycle - run[3] <= _CLOSE * access:
                run[3], run[4] = cycle, run[4] + 1
            else:
                flush()
                run[:] = [command.name, row, cycle, cycle, 1]
            until = cycle + min(access, max(following - cycle, 1))
            if command.auto_precharge:
                close(cycle + access)
        else:
            close(cycle)
            span = command.latency if command.row == "closed" else _shortest(memory, command, "opens")
            out.append(
                (
                    cycle,
                    max(min(span, following - cycle), 1),
                    command.name,
                    "refresh" if command.row == "closed" else "precharge",
                    {},
                )
            )
    close(log.last)
    return _nested(out)


def _nested(slices: list[Slice]) -> list[Slice]:
    """Slices, each cut off where the next slice of its level begins.

    One level has open rows, precharges and refreshes. The other level has the slices within open rows.
    """
    slices.sort(key=lambda s: (s[0], -s[1]))
    out: list[Slice] = []
    outer = [s[0] for s in slices if s[3] not in _INNER]
    for inside in (False, True):
        level = [s for s in slices if (s[3] in _INNER) == inside]
        for (first, cycles, name, category, details), (following, *_) in pairwise([*level, (_NEVER, 0, "", "", {})]):
            place = bisect_right(outer, first)
            end = min(first + cycles, following, outer[place] if place < len(outer) else _NEVER)
            if end > first:
                out.append((first, end - first, name, category, details))
    return sorted(out, key=lambda s: (s[0], -s[1], s[3] in _INNER))


def _shortest(memory: Memory, command: MemoryCommand, rule: str) -> int:
    """Cycles from a command to the next command with row rule ``rule``, by the shortest constraint between them."""
    cycles = [
        c.cycles
        for c in memory.constraints
        if command.name in c.from_
        and any(memory.commands[name].row == rule for name in c.to)
        and c.window == 1
        and c.between == "same"
    ]
    return min(cycles, default=1)
