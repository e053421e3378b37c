"""A controller for plain reads and writes, cycle for cycle, as compiled code over plain arrays.

A front end sends requests in order; each goes to the read or the write queue of its channel, and a full queue holds all
that come after it. Every cycle a channel serves, in this order: a request that has opened its row, a refresh that is
due, a queued request. Cycles in which nothing can happen are skipped.

With its quirks this is what Ramulator 2 does, without them what one would build; :data:`FLAGS` has the differences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compiled import compiled
from .tables import CLOSES, OPENS, Tables

__all__ = ["FLAGS", "Plan", "State", "advance", "fresh_state", "make_plan"]

#: What a controller does, in the order of the flags' array. The first three are choices, the others quirks:
#: - a request that would close a row waits while a younger queued one hits it, unless it is the oldest
#: - only the oldest request of a queue is looked at
#: - a read is answered from a queued write to its address, without a command
#: - a precharge whose row somebody has opened and not used takes the turn and is not issued
#: - the second command of a cycle must be the next request's by the scheduler's order; nobody looks for another. While a
#:   refresh waits, column commands go on
#: - a refresh closes rows that somebody has opened and not used, and rows of the whole precharge's scope
#: - answers to reads leave a channel in order, one a cycle; a write is done when it is issued
FLAGS = ("protects_hits", "in_order", "forwards", "wastes_turns", "pairs_strictly", "refreshes_ruthlessly",
         "answers_in_order")
_PROTECTS, _IN_ORDER, _FORWARDS, _WASTES, _PAIRS, _RUTHLESS, _ANSWERS = range(7)

#: Limits of a controller: entries of its queues, queued writes at which they get their turn and at which it ends,
#: requests a cycle, whether two commands may issue in a cycle, refresh interval (0: none), whether to drain at the end.
READS, WRITES, OPENED, HIGH, LOW, RATE, DUAL, INTERVAL, DRAIN = range(9)

#: A request in a queue.
_TARGET, _ROW, _LINE, _ARRIVED, _TOUCHED, _BANK, _WRITE = range(7)
_FIELDS = 7

# Queues of a channel, and what else it is served from.
_READING, _WRITING, _ACTIVE, _REFRESH = range(4)

# Numbers of a channel: whether it is the writes' turn; next refresh due, refreshes that became due, that were issued;
# commands issued; scans made; cycle of its last answer; cycle before which nothing can happen.
_TURN, _DUE, _QUEUED, _REFRESHED, _SCANS, _DONE, _ASLEEP = range(7)

#: The front end: next request of the block, requests sent in this cycle, cycle, log lines, whether it is through,
#: whether nothing can happen any more.
HEAD, SENT, CLOCK, LOGGED, ENDED, STUCK = range(6)

#: What is counted: row hits, misses, conflicts, sum of read latencies, reads answered, of these from queued writes.
HITS, MISSES, CONFLICTS, LATENCY, ANSWERED, FORWARDED = range(6)

_FAR = 1 << 60


class Plan(NamedTuple):
    """:class:`Tables` the other way round, for controllers that ask far more often than they issue: a command at an address
    is ready when all *groups* are that it looks at, and a command that issues tells groups when they will be.

    Attributes
    ----------
    what : by target: command, bus, row rule, targets that open and close its row, latency, its first bank
    looks : by target: its groups; group 0, always ready, fills up
    tell_start, tell : by target: groups that it tells, and after how many cycles they are ready
    ring_start, ring : by target: windows that it enters
    rings : by window: where its times are kept, how many, and its part of ``ring_tell``
    ring_tell : groups and cycles
    bank_start, bank : by target: banks that it acts on
    """

    what: np.ndarray
    looks: np.ndarray
    tell_start: np.ndarray
    tell: np.ndarray
    ring_start: np.ndarray
    ring: np.ndarray
    rings: np.ndarray
    ring_tell: np.ndarray
    bank_start: np.ndarray
    bank: np.ndarray


_COMMAND, _BUS, _RULE, _ACTIVATE, _PRECHARGE, _LATENCY, _FIRST_BANK = range(7)


def make_plan(t: Tables, used: np.ndarray) -> tuple[Plan, int]:
    """The plan for targets ``used`` (others never issue), and its number of groups."""
    count = len(t.command)
    # Who looks at a time, and for how many cycles: those with the same watchers are one group.
    watchers: dict[tuple[int, int, int, int], list[int]] = {}
    for target in used.tolist():
        for kind, start, what, cycles in ((0, t.check_start, t.check_slot, t.check_cycles),
                                          (1, t.ring_check_start, t.ring_check, t.ring_check_cycles)):
            for k in range(start[target], start[target + 1]):
                key = kind, int(what[k]), int(t.command[target]), int(cycles[k])
                watchers.setdefault(key, []).append(target)
    groups: dict[tuple[int, ...], int] = {}
    tells: tuple[dict[int, list[tuple[int, int]]], ...] = ({}, {})
    for (kind, what, _, cycles), targets in watchers.items():
        group = groups.setdefault(tuple(targets), len(groups) + 1)
        tells[kind].setdefault(what, []).append((group, cycles))
    looks: list[list[int]] = [[] for _ in range(count)]
    for targets, group in groups.items():
        for target in targets:
            looks[target].append(group)
    width = max(1, *(len(groups) for groups in looks))

    def ragged(lists):
        start = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)
        return start, np.array([y for x in lists for y in x], np.int64)

    def told(slots):
        longest: dict[int, int] = {}
        for slot in slots:
            for group, cycles in tells[0].get(slot, []):
                longest[group] = max(cycles, longest.get(group, 0))
        return sorted(longest.items())

    chosen = set(used.tolist())
    tell_start, tell = ragged([told(t.set_slot[t.set_start[n]:t.set_start[n + 1]].tolist()) if n in chosen else []
                               for n in range(count)])
    ring_start, ring = ragged([t.ring_set[t.ring_set_start[n]:t.ring_set_start[n + 1]].tolist() for n in range(count)])
    ring_tell_start, ring_tell = ragged([tells[1].get(n, []) for n in range(len(t.ring_size))])
    rings = np.stack([t.ring_first, t.ring_size, ring_tell_start[:-1], ring_tell_start[1:]], 1)
    what = np.stack([t.command, t.bus, t.rule, t.activate, t.precharge, t.latency, t.bank[t.bank_start[:-1]]], 1)
    return Plan(np.ascontiguousarray(what), np.array([x + [0] * (width - len(x)) for x in looks], np.int64), tell_start,
                tell.reshape(-1, 2), ring_start, ring, np.ascontiguousarray(rings), ring_tell.reshape(-1, 2), t.bank_start,
                t.bank), len(groups) + 1


class State(NamedTuple):
    """Of all channels, one row each: open rows, when groups are ready, times of windows, the three queues and how many are in
    them, requests that hold a bank's row open, numbers, and the scan in which a queued request was found to hit a bank's row.
    """

    rows: np.ndarray
    ready: np.ndarray
    rings: np.ndarray
    queue: np.ndarray
    count: np.ndarray
    held: np.ndarray
    numbers: np.ndarray
    hit: np.ndarray


def fresh_state(channels, banks, groups, ring_times, limits):
    """All rows closed, nothing sent; the front end; what is counted."""
    entries = max(limits[READS], limits[WRITES], limits[OPENED])

    def array(*shape, value=0):
        return np.full((channels, *shape), value, np.int64)

    state = State(array(banks, value=-1), array(groups, value=-_FAR), array(ring_times, value=-_FAR),
                  array(3, entries, _FIELDS), array(3), array(banks), array(8), array(banks))
    state.numbers[:, _DUE] = limits[INTERVAL]
    return state, np.zeros(6, np.int64), np.zeros(6, np.int64)


@compiled
def _when(p, state, c, target):
    """First cycle in which the timings allow a command."""
    at = state.ready[c, p.looks[target, 0]]
    for k in range(1, p.looks.shape[1]):
        at = max(at, state.ready[c, p.looks[target, k]])
    return at


@compiled
def _issue(p, state, c, target, row, at):
    """Record that a command issues in cycle ``at``, and open or close its rows."""
    for k in range(p.tell_start[target], p.tell_start[target + 1]):
        group = p.tell[k, 0]
        state.ready[c, group] = max(state.ready[c, group], at + p.tell[k, 1])
    for k in range(p.ring_start[target], p.ring_start[target + 1]):
        ring = p.ring[k]
        first, last = p.rings[ring, 0], p.rings[ring, 0] + p.rings[ring, 1] - 1
        for n in range(first, last):
            state.rings[c, n] = state.rings[c, n + 1]
        state.rings[c, last] = at
        for n in range(p.rings[ring, 2], p.rings[ring, 3]):
            group = p.ring_tell[n, 0]
            state.ready[c, group] = max(state.ready[c, group], state.rings[c, first] + p.ring_tell[n, 1])
    rule = p.what[target, _RULE]
    if rule == OPENS or rule == CLOSES:
        opened = row if rule == OPENS else -1
        for k in range(p.bank_start[target], p.bank_start[target + 1]):
            state.rows[c, p.bank[k]] = opened


@compiled
def _send(p, state, f, limits, c, write, target, row, line, clock, totals):
    """Give a request to its channel; False if that has no room for it."""
    count, numbers = state.count[c], state.numbers[c]
    if not write and f[_FORWARDS]:
        queue = state.queue[c, _WRITING]
        for n in range(count[_WRITING]):
            if queue[n, _LINE] == line:
                at = clock + 1
                totals[LATENCY] += 1
                totals[ANSWERED] += 1
                totals[FORWARDED] += 1
                if f[_ANSWERS]:
                    at = max(at, numbers[_DONE] + 1)
                numbers[_DONE] = max(numbers[_DONE], at)
                return True
    which = _WRITING if write else _READING
    n = count[which]
    if n >= limits[WRITES if write else READS]:
        return False
    entry = state.queue[c, which, n]
    entry[_TARGET], entry[_ROW], entry[_LINE], entry[_ARRIVED], entry[_TOUCHED] = target, row, line, clock, 0
    entry[_BANK], entry[_WRITE] = p.what[target, _FIRST_BANK], write
    count[which] = n + 1
    if _turns(count, numbers, limits):
        numbers[_ASLEEP] = 0
    elif (which == _WRITING) == numbers[_TURN] and (n == 0 or not f[_IN_ORDER]):
        # All others were looked at before: nothing happens until what it was, or until this one is ready.
        open_row = state.rows[c, entry[_BANK]]
        command = target if open_row == row else p.what[target, _ACTIVATE if open_row == -1 else _PRECHARGE]
        numbers[_ASLEEP] = min(numbers[_ASLEEP], _when(p, state, c, command))
    return True


@compiled
def _turns(count, numbers, limits):
    """Whether it is the other queue's turn."""
    if numbers[_TURN]:
        return count[_WRITING] <= limits[LOW] and count[_READING] != 0
    return count[_WRITING] >= limits[HIGH] or count[_READING] == 0


@compiled
def _best(p, state, f, c, which, bus, clock):
    """The request of a queue that is served first: one whose next command is ready before one whose is not, then the older.

    Answers its place or -1, its next command, whether that is ready, and when the first of those that are not is.
    ``bus``: only commands of that bus, or -1.
    """
    rows, queue, held, numbers = state.rows[c], state.queue[c, which], state.held[c], state.numbers[c]
    count = state.count[c, which]
    if f[_IN_ORDER]:
        count = min(count, 1)
    best, best_command, best_ready, best_arrived, soon = -1, -1, False, 0, _FAR
    if f[_PROTECTS]:
        numbers[_SCANS] += 1
        for n in range(count):
            if rows[queue[n, _BANK]] == queue[n, _ROW]:
                state.hit[c, queue[n, _BANK]] = numbers[_SCANS]
    for n in range(count):
        target, bank = queue[n, _TARGET], queue[n, _BANK]
        row = rows[bank]
        if row == queue[n, _ROW]:
            command = target
        elif row == -1:
            command = p.what[target, _ACTIVATE]
        else:
            command = p.what[target, _PRECHARGE]
            if held[bank] and not f[_WASTES]:
                continue
        if bus >= 0 and p.what[command, _BUS] != bus:
            continue
        at = _when(p, state, c, command)
        ready = at <= clock
        if not ready:
            soon = min(soon, at)
        if best >= 0:
            if ready and not best_ready:
                if f[_PROTECTS] and command != target and state.hit[c, bank] == numbers[_SCANS]:
                    continue
            elif ready != best_ready or queue[n, _ARRIVED] >= best_arrived:
                continue
        best, best_command, best_ready, best_arrived = n, command, ready, queue[n, _ARRIVED]
        if ready and which != _ACTIVE:
            break   # these queues are in order of arrival
    return best, best_command, best_ready, soon


@compiled
def _drop(queue, place, count):
    for n in range(place, count - 1):
        for k in range(_FIELDS):
            queue[n, k] = queue[n + 1, k]


@compiled
def _serve(p, state, f, limits, refreshes, c, first, clock, totals, commands, log, host):
    """Issue one command of a channel, if one is ready.

    ``first``: bus of the command that has issued in this cycle, or -1. Answers the bus of the command that issues; -1 for
    none, -2 for none because a refresh waits; and the cycle in which the next may, if none does.
    """
    count, numbers, held = state.count[c], state.numbers[c], state.held[c]
    bus = -1 if first < 0 or f[_PAIRS] else 1 - first
    source, row = -1, 0
    place, command, ready, soon = _best(p, state, f, c, _ACTIVE, bus, clock)
    if ready and (first < 0 or p.what[command, _BUS] != first):
        source = _ACTIVE
    elif numbers[_QUEUED] > numbers[_REFRESHED]:
        refresh = refreshes[numbers[_REFRESHED] % len(refreshes)]
        command = refresh
        whose = p.what[refresh, _PRECHARGE] if f[_RUTHLESS] else refresh
        for k in range(p.bank_start[whose], p.bank_start[whose + 1]):
            if state.rows[c, p.bank[k]] != -1:
                command = p.what[refresh, _PRECHARGE]
        if first < 0 or p.what[command, _BUS] != first:
            at = _when(p, state, c, command)
            if at > clock:
                return -2, min(soon, at)
            source, place = _REFRESH, 0
        elif not f[_PAIRS]:
            return -1, clock + 1
    if source < 0:
        if _turns(count, numbers, limits):
            numbers[_TURN] = 1 - numbers[_TURN]
        which = _WRITING if numbers[_TURN] else _READING
        place, command, ready, later = _best(p, state, f, c, which, bus, clock)
        soon = min(soon, later)
        if not ready:
            return -1, soon
        if first >= 0 and p.what[command, _BUS] == first:
            return -1, clock + 1
        source = which
        if not f[_IN_ORDER] and command == p.what[state.queue[c, source, place, _TARGET], _ACTIVATE] \
                and count[_ACTIVE] >= limits[OPENED]:
            return -1, soon
    if p.what[command, _RULE] == CLOSES and not (source == _REFRESH and f[_RUTHLESS]):
        for k in range(p.bank_start[command], p.bank_start[command + 1]):
            if held[p.bank[k]]:
                if source == _REFRESH:
                    return -2, soon
                return -1, clock + 1

    line = -1
    queue = state.queue[c, min(source, _ACTIVE)]
    if source != _REFRESH:
        target, row, line = queue[place, _TARGET], queue[place, _ROW], queue[place, _LINE]
        if not queue[place, _TOUCHED]:
            queue[place, _TOUCHED] = 1
            totals[HITS if command == target else MISSES if command == p.what[target, _ACTIVATE] else CONFLICTS] += 1
    _issue(p, state, c, command, row, clock)
    commands[p.what[command, _COMMAND]] += 1
    if len(log):
        n = host[LOGGED]
        log[n, 0], log[n, 1], log[n, 2], log[n, 3], log[n, 4] = clock, c, command, row, line
        host[LOGGED] += 1
    if source == _REFRESH:
        if command == refreshes[numbers[_REFRESHED] % len(refreshes)]:
            numbers[_REFRESHED] += 1
        return p.what[command, _BUS], clock + 1
    bank = queue[place, _BANK]
    if command == target:
        at = clock + p.what[target, _LATENCY]
        if not queue[place, _WRITE]:
            totals[LATENCY] += at - queue[place, _ARRIVED]
            totals[ANSWERED] += 1
            if f[_ANSWERS]:
                at = max(at, numbers[_DONE] + 1)
        elif f[_ANSWERS]:
            at = 0
        numbers[_DONE] = max(numbers[_DONE], at)
        if source == _ACTIVE:
            held[bank] -= 1
        _drop(queue, place, count[source])
        count[source] -= 1
    elif command == p.what[target, _ACTIVATE] and not f[_IN_ORDER]:
        # To the end of those that have opened their row; also if it was one of them and a refresh has closed its row.
        arrived, write = queue[place, _ARRIVED], queue[place, _WRITE]
        _drop(queue, place, count[source])
        count[source] -= 1
        if source != _ACTIVE:
            held[bank] += 1
        entry = state.queue[c, _ACTIVE, count[_ACTIVE]]
        entry[_TARGET], entry[_ROW], entry[_LINE], entry[_ARRIVED], entry[_TOUCHED] = target, row, line, arrived, 1
        entry[_BANK], entry[_WRITE] = bank, write
        count[_ACTIVE] += 1
    return p.what[command, _BUS], clock + 1


@compiled
def advance(p, state, host, f, limits, refreshes, write, channel, targets, rows, lines, cycles, finish, totals, commands, log):
    """Run until all requests of the block are sent and, with ``finish``, through (or ``log`` is nearly full).

    ``write``, ``channel``, ``targets``, ``rows``, ``lines``, ``cycles``: of the block's requests; ``lines`` tells which have
    the same address, none is sent before its cycle (an empty array: no such bounds). ``commands``: by number, added to.
    """
    total, channels = len(channel), len(state.count)
    host[STUCK] = host[ENDED] = 0
    while True:
        clock = host[CLOCK]
        blocked = False
        until = clock + 1
        while host[HEAD] < total and host[SENT] < limits[RATE]:
            n = host[HEAD]
            if len(cycles) and cycles[n] > clock:
                blocked, until = True, cycles[n]
                break
            if not _send(p, state, f, limits, channel[n], write[n], targets[n], rows[n], lines[n], clock, totals):
                blocked, until = True, _FAR
                break
            host[HEAD] += 1
            host[SENT] += 1
        if host[HEAD] == total:
            if not finish:
                return
            through, done = True, clock
            if limits[DRAIN]:
                for c in range(channels):
                    for k in range(3):
                        through = through and state.count[c, k] == 0
                    through = through and state.numbers[c, _QUEUED] == state.numbers[c, _REFRESHED]
                    done = max(done, state.numbers[c, _DONE])
            if through and done == clock:
                host[ENDED] = 1
                return
            until = done if through else _FAR
            blocked = True
        if len(log) and host[LOGGED] + 2 * channels > len(log):
            return
        if blocked:
            # Nothing is sent before `until` or before a queue has room: go to the next cycle in which something happens.
            for c in range(channels):
                until = min(until, state.numbers[c, _ASLEEP])
            if until >= _FAR:
                host[STUCK] = 1
                return
            clock = max(clock, until - 1)
        clock += 1
        host[CLOCK] = clock
        host[SENT] = 0
        for c in range(channels):
            numbers = state.numbers[c]
            if numbers[_ASLEEP] > clock:
                continue
            soon = _FAR
            if limits[INTERVAL]:
                if clock >= numbers[_DUE]:
                    numbers[_DUE] += limits[INTERVAL]
                    numbers[_QUEUED] += len(refreshes)
                soon = numbers[_DUE]
            first, then = _serve(p, state, f, limits, refreshes, c, -1, clock, totals, commands, log, host)
            soon = min(soon, then)
            if limits[DUAL] and (first == 0 or first == 1 or (first == -2 and f[_PAIRS])):
                _, then = _serve(p, state, f, limits, refreshes, c, max(first, 0), clock, totals, commands, log, host)
                soon = min(soon, then)
            numbers[_ASLEEP] = soon
