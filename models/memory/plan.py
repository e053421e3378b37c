"""A memory's commands for out-of-order controllers: an issued command sets when others will be ready."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .tables import Tables

__all__ = ["Plan", "make_plan"]


class Plan(NamedTuple):
    """:class:`Tables` in the opposite direction, for controllers that check commands far more often than they issue
    them.

    A command at an address is ready when its *groups* are ready. A command that issues sets the cycle in which groups
    will be ready.

    Attributes
    ----------
    what : by target: command, bus, row rule, targets that open and close its row, latency, first bank; its parts of
        ``tell``, ``ring`` and ``bank``; its groups, filled up with group 0, which is always ready
    tell : groups, and the number of cycles after which they are ready
    ring : windows that a target enters
    rings : by window: place and number of its times, and its part of ``tell``
    bank : banks that a target acts on
    """

    what: np.ndarray
    tell: np.ndarray
    ring: np.ndarray
    rings: np.ndarray
    bank: np.ndarray


#: Columns of ``what``.
(
    COMMAND,
    BUS,
    RULE,
    ACTIVATE,
    PRECHARGE,
    LATENCY,
    FIRST_BANK,
    TELL,
    TELL_END,
    RING,
    RING_END,
    BANKS,
    BANKS_END,
    GROUPS,
) = range(14)

#: Greatest length of a plan's list ``tell`` before targets share groups.
_TELLS = 1 << 18


def make_plan(t: Tables, used: np.ndarray) -> tuple[Plan, int]:
    """The plan for targets ``used`` (others never issue), and its number of groups.

    Each target has its own group if this makes a list of tolerable length. Otherwise, targets that check the same times
    share groups.
    """
    count = len(t.command)
    watchers: dict[tuple[int, int, int, int], list[int]] = {}
    for target in used.tolist():
        for kind, start, seen, times in (
            (0, t.check_start, t.check_slot, t.check_cycles),
            (1, t.ring_check_start, t.ring_check, t.ring_check_cycles),
        ):
            for k in range(start[target], start[target + 1]):
                key = kind, int(seen[k]), int(t.command[target]), int(times[k])
                watchers.setdefault(key, []).append(target)
    # Number of targets that set a time, multiplied by the number of targets that check it.
    setters = np.bincount(t.set_slot, minlength=1 + max((what for kind, what, _, _ in watchers if not kind), default=0))
    alone = sum(int(setters[what]) * len(who) for (kind, what, _, _), who in watchers.items() if not kind) <= _TELLS
    groups: dict[tuple[int, ...], int] = {}
    of_slots: dict[int, list[tuple[int, int]]] = {}
    of_rings: dict[int, list[tuple[int, int]]] = {}
    for (kind, what, _, cycles), who in watchers.items():
        for targets in ([target] for target in who) if alone else [who]:
            group = groups.setdefault(tuple(targets), len(groups) + 1)
            (of_rings if kind else of_slots).setdefault(what, []).append((group, cycles))
    looks: list[list[int]] = [[] for _ in range(count)]
    for members, group in groups.items():
        for target in members:
            looks[target].append(group)
    width = max(1, *(len(x) for x in looks))

    def told(slots: list[int]) -> list[tuple[int, int]]:
        longest: dict[int, int] = {}
        for slot in slots:
            for group, cycles in of_slots.get(slot, []):
                longest[group] = max(cycles, longest.get(group, 0))
        return sorted(longest.items())

    tells: list[tuple[int, int]] = []
    chosen = set(used.tolist())
    rows: list[list[int]] = []
    for n in range(count):
        first = len(tells)
        if n in chosen:
            tells += told(t.set_slot[t.set_start[n] : t.set_start[n + 1]].tolist())
        rows.append(
            [
                t.command[n],
                t.bus[n],
                t.rule[n],
                t.activate[n],
                t.precharge[n],
                t.latency[n],
                t.bank[t.bank_start[n]],
                first,
                len(tells),
                t.ring_set_start[n],
                t.ring_set_start[n + 1],
                t.bank_start[n],
                t.bank_start[n + 1],
                *looks[n],
                *[0] * (width - len(looks[n])),
            ]
        )
    rings: list[list[int]] = []
    for n in range(len(t.ring_size)):
        first = len(tells)
        tells += of_rings.get(n, [])
        rings.append([t.ring_first[n], t.ring_size[n], first, len(tells)])
    return Plan(
        np.array(rows, np.int64),
        np.array(tells, np.int64).reshape(-1, 2),
        t.ring_set,
        np.array(rings, np.int64).reshape(-1, 4),
        t.bank,
    ), len(groups) + 1
