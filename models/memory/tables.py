"""A memory's commands as arrays for compiled code, made from :class:`Channel`."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from ...constraints.memory import Memory
from .channel import NEVER, Channel, Target
from .compiled import compiled

__all__ = [
    "CLOSED",
    "CLOSES",
    "NEEDS",
    "NONE",
    "OPENS",
    "Tables",
    "earliest",
    "issue",
    "make_image",
    "make_tables",
    "next_command",
]

#: Row rules.
NONE, NEEDS, OPENS, CLOSES, CLOSED = range(5)
_RULES = {"none": NONE, "needs": NEEDS, "opens": OPENS, "closes": CLOSES, "closed": CLOSED}


class Tables(NamedTuple):
    """Arrays over *targets*, which are commands at addresses. A ragged array is a start array and its values.

    Attributes
    ----------
    command : number of the command, in the order of the memory's file
    check_start, check_slot, check_cycles : last times that a target checks, and how long they bind
    set_start, set_slot : last times that a target sets
    ring_check_start, ring_check, ring_check_cycles, ring_set_start, ring_set : the same for windows
    ring_first, ring_size : place and number of a window's times (by ring)
    bank_start, bank : banks that a target acts on
    activate, precharge : targets that open and close the rows of a target, or -1
    rule, auto_precharge, latency, returns, register_mode, bus : of the target's command; bus 0 row, 1 column, 2 both
    """

    command: np.ndarray
    check_start: np.ndarray
    check_slot: np.ndarray
    check_cycles: np.ndarray
    set_start: np.ndarray
    set_slot: np.ndarray
    ring_check_start: np.ndarray
    ring_check: np.ndarray
    ring_check_cycles: np.ndarray
    ring_set_start: np.ndarray
    ring_set: np.ndarray
    ring_first: np.ndarray
    ring_size: np.ndarray
    bank_start: np.ndarray
    bank: np.ndarray
    activate: np.ndarray
    precharge: np.ndarray
    rule: np.ndarray
    auto_precharge: np.ndarray
    latency: np.ndarray
    returns: np.ndarray
    register_mode: np.ndarray
    bus: np.ndarray


class Numbering(NamedTuple):
    """``targets[name]``: numbers of a command's targets, by address, the last level fastest. And sizes of the state."""

    targets: dict[str, np.ndarray]
    slots: int
    slot_horizon: np.ndarray
    ring_times: int
    ring_horizon: np.ndarray


def make_tables(memory: Memory) -> tuple[Tables, Numbering]:
    """Tables of all commands at all addresses of one channel."""
    channel = Channel(memory)
    numbers: dict[int, int] = {}
    targets: list[Target] = []
    named: dict[str, list[int]] = {}
    for name, command in memory.commands.items():
        named[name] = []
        for at in product(
            *(range(size) if level in command.scope else [None] for level, size in memory.levels.items())
        ):
            target = channel.target(name, list(at))
            numbers[id(target)] = len(targets)
            named[name].append(len(targets))
            targets.append(target)

    def ragged(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
        start = np.concatenate([[0], np.cumsum([len(x) for x in lists])])
        return start.astype(np.int64), np.array([y for x in lists for y in x], np.int64)

    def column(values: list[int]) -> np.ndarray:
        return np.array(values, np.int64)

    check_start, check_slot = ragged([[slot for slot, _ in t.checks] for t in targets])
    _, check_cycles = ragged([[cycles for _, cycles in t.checks] for t in targets])
    ring_check_start, ring_check = ragged([[ring for ring, _ in t.ring_checks] for t in targets])
    _, ring_check_cycles = ragged([[cycles for _, cycles in t.ring_checks] for t in targets])
    sizes = [len(ring) for ring in channel.rings]
    tables = Tables(
        column([t.number for t in targets]),
        check_start,
        check_slot,
        check_cycles,
        *ragged([t.sets for t in targets]),
        ring_check_start,
        ring_check,
        ring_check_cycles,
        *ragged([t.ring_sets for t in targets]),
        column([sum(sizes[:k]) for k in range(len(sizes))]),
        column(sizes),
        *ragged([t.banks for t in targets]),
        column([numbers[id(t.activate)] if t.activate else -1 for t in targets]),
        column([numbers[id(t.precharge)] if t.precharge else -1 for t in targets]),
        column([_RULES[t.command.row] for t in targets]),
        column([t.command.auto_precharge for t in targets]),
        column([t.command.latency for t in targets]),
        column([t.command.returns for t in targets]),
        column([t.command.register_mode for t in targets]),
        column([t.bus for t in targets]),
    )
    horizon = (
        np.concatenate([[h] * n for h, n in zip(channel.ring_horizon, sizes, strict=True)]) if sizes else np.zeros(0)
    )
    return tables, Numbering(
        {name: column(values) for name, values in named.items()},
        len(channel.last),
        column(channel.horizon),
        sum(sizes),
        horizon.astype(np.int64),
    )


#: Fields of the tables in the image that compiled functions take.
FIELDS = (
    NUMBER,
    CHECK_START,
    CHECK_SLOT,
    CHECK_CYCLES,
    SET_START,
    SET_SLOT,
    RING_CHECK_START,
    RING_CHECK,
    RING_CHECK_CYCLES,
    RING_SET_START,
    RING_SET,
    RING_FIRST,
    RING_SIZE,
    BANK_START,
    BANKS,
    ACTIVATE,
    PRECHARGE,
    RULE,
    AUTO_PRECHARGE,
    LATENCY,
    RETURNS,
    REGISTER_MODE,
    BUS,
) = range(23)


def make_image(tables: Tables) -> np.ndarray:
    """All tables in one array: entry ``k`` of field ``F`` is ``image[image[F] + k]``.

    Compiled code counts references to an array whenever it passes the array on. For one array this costs little.
    """
    starts = len(tables) + np.cumsum([0] + [len(field) for field in tables[:-1]])
    return np.concatenate([starts, *tables]).astype(np.int64)


@compiled
def earliest(t, last, rings, target):
    """First cycle in which the timings allow a command. Neither rows nor command buses are checked."""
    at = NEVER
    for k in range(t[t[CHECK_START] + target], t[t[CHECK_START] + target + 1]):
        at = max(at, last[t[t[CHECK_SLOT] + k]] + t[t[CHECK_CYCLES] + k])
    for k in range(t[t[RING_CHECK_START] + target], t[t[RING_CHECK_START] + target + 1]):
        at = max(at, rings[t[t[RING_FIRST] + t[t[RING_CHECK] + k]]] + t[t[RING_CHECK_CYCLES] + k])
    return at


@compiled
def issue(t, last, rings, rows, target, row, at):
    """Record that a command issues in cycle ``at``, and open or close its rows."""
    for k in range(t[t[SET_START] + target], t[t[SET_START] + target + 1]):
        last[t[t[SET_SLOT] + k]] = at
    for k in range(t[t[RING_SET_START] + target], t[t[RING_SET_START] + target + 1]):
        first = t[t[RING_FIRST] + t[t[RING_SET] + k]]
        final = first + t[t[RING_SIZE] + t[t[RING_SET] + k]] - 1
        for n in range(first, final):
            rings[n] = rings[n + 1]
        rings[final] = at
    rule = t[t[RULE] + target]
    if rule == OPENS:
        for k in range(t[t[BANK_START] + target], t[t[BANK_START] + target + 1]):
            rows[t[t[BANKS] + k]] = row
    elif rule == CLOSES or t[t[AUTO_PRECHARGE] + target]:
        for k in range(t[t[BANK_START] + target], t[t[BANK_START] + target + 1]):
            rows[t[t[BANKS] + k]] = -1


@compiled
def next_command(t, rows, target, row, open_too):
    """The command that a request for ``row`` needs first: a precharge, an activation, or the request's own command.

    ``open_too``: an all-bank activation may find some of its banks open at that row.
    """
    if t[t[RULE] + target] != NEEDS:
        return target
    closed = False
    held = False
    for k in range(t[t[BANK_START] + target], t[t[BANK_START] + target + 1]):
        open_row = rows[t[t[BANKS] + k]]
        if open_row == -1:
            closed = True
        elif open_row != row:
            return t[t[PRECHARGE] + target]
        else:
            held = True
    if closed and held and not open_too:
        return t[t[PRECHARGE] + target]
    return t[t[ACTIVATE] + target] if closed else target
