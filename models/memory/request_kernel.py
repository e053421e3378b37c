"""A controller for plain reads and writes, cycle for cycle, as compiled code over plain arrays.

A front end sends requests in order; each goes to the read or the write queue of its channel, and a full queue holds all
that come after it. Every cycle a channel serves, in this order: a request that has opened its row, a refresh that is
due, a queued request. Cycles in which nothing can happen are skipped.

With its quirks this is what Ramulator 2 does, without them what one would build; :data:`FLAGS` has the differences.

Arrays are few and indexed by number: a view of an array, or taking it out of a tuple, costs compiled code more than all
that is done with it here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .compiled import compiled
from .tables import CLOSES, OPENS, Tables

__all__ = ["FLAGS", "LIMITS", "Plan", "advance", "fresh_state", "make_options", "make_plan"]

#: What a controller does, in the order of the options' array. The first three are choices, the others quirks:
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

#: Limits of a controller, behind the flags: room in its queues of reads, of writes, of requests that have opened their row;
#: queued writes at which they get their turn and at which it ends; requests a cycle; whether two commands may issue in a
#: cycle; refresh interval (0: none); whether to drain at the end.
LIMITS = ("reads", "writes", "opened", "high", "low", "rate", "dual", "interval", "drain")
_READS, _WRITES, _OPENED, _HIGH, _LOW, _RATE, _DUAL, _INTERVAL, _DRAIN = range(7, 16)

# Behind the limits: where parts of a channel's state begin, entries of a queue, and the refresh targets.
_ROWS, _HELD, _HIT, _READY, _RINGS, _QUEUES, _ENTRIES, _REFRESHES = range(16, 24)

# A channel's state begins with numbers: requests in its queues; whether it is the writes' turn; next refresh due,
# refreshes that became due, that were issued; scans made; cycle of its last answer; cycle before which nothing happens.
# Then, by bank: open row, requests that have opened it and not used it, last scan that found a queued hit. Then when groups
# are ready, times of windows, and the queues.
_COUNT, _TURN, _DUE, _QUEUED, _REFRESHED, _SCANS, _DONE, _ASLEEP, _PARTS = 0, 3, 4, 5, 6, 7, 8, 9, 10

# Queues of a channel, and what else it is served from.
_READING, _WRITING, _ACTIVE, _REFRESH = range(4)

# A request in a queue.
_TARGET, _ROW, _LINE, _ARRIVED, _TOUCHED, _BANK, _WRITE, _FIELDS = range(8)

#: The front end: next request of the block, requests sent in this cycle, cycle, log lines, whether it is through,
#: whether nothing can happen any more. Then what is counted: row hits, misses, conflicts, sum of read latencies, reads
#: answered, of these from queued writes. Then commands by number.
HEAD, SENT, CLOCK, LOGGED, ENDED, STUCK, HITS, MISSES, CONFLICTS, LATENCY, ANSWERED, FORWARDED, COMMANDS = range(13)

_FAR = 1 << 60


class Plan(NamedTuple):
    """:class:`Tables` the other way round, for controllers that ask far more often than they issue: a command at an address
    is ready when its *groups* are, and a command that issues tells groups when they will be.

    Attributes
    ----------
    what : by target: command, bus, row rule, targets that open and close its row, latency, first bank; its parts of
        ``tell``, ``ring`` and ``bank``; its groups, filled up with group 0, which is always ready
    tell : groups and after how many cycles they are ready
    ring : windows that a target enters
    rings : by window: where its times are kept, how many, its part of ``tell``
    bank : banks that a target acts on
    """

    what: np.ndarray
    tell: np.ndarray
    ring: np.ndarray
    rings: np.ndarray
    bank: np.ndarray


(_COMMAND, _BUS, _RULE, _ACTIVATE, _PRECHARGE, _LATENCY, _FIRST_BANK, _TELL, _TELL_END, _RING, _RING_END, _BANKS,
 _BANKS_END, _GROUPS) = range(14)

#: Most entries of a plan's list of groups to tell, before targets share groups.
_TELLS = 1 << 18


def make_plan(t: Tables, used: np.ndarray) -> tuple[Plan, int]:
    """The plan for targets ``used`` (others never issue), and its number of groups.

    A group per target where that makes a list of tolerable length; else those that look at the same times share groups.
    """
    count = len(t.command)
    watchers: dict[tuple[int, int, int, int], list[int]] = {}
    for target in used.tolist():
        for kind, start, seen, times in ((0, t.check_start, t.check_slot, t.check_cycles),
                                         (1, t.ring_check_start, t.ring_check, t.ring_check_cycles)):
            for k in range(start[target], start[target + 1]):
                key = kind, int(seen[k]), int(t.command[target]), int(times[k])
                watchers.setdefault(key, []).append(target)
    # Targets that tell a time, times the targets that look at it.
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
            tells += told(t.set_slot[t.set_start[n]:t.set_start[n + 1]].tolist())
        rows.append([t.command[n], t.bus[n], t.rule[n], t.activate[n], t.precharge[n], t.latency[n],
                     t.bank[t.bank_start[n]], first, len(tells), t.ring_set_start[n], t.ring_set_start[n + 1],
                     t.bank_start[n], t.bank_start[n + 1], *looks[n], *[0] * (width - len(looks[n]))])
    rings: list[list[int]] = []
    for n in range(len(t.ring_size)):
        first = len(tells)
        tells += of_rings.get(n, [])
        rings.append([t.ring_first[n], t.ring_size[n], first, len(tells)])
    return Plan(np.array(rows, np.int64), np.array(tells, np.int64).reshape(-1, 2), t.ring_set,
                np.array(rings, np.int64).reshape(-1, 4), t.bank), len(groups) + 1


def make_options(flags: dict[str, Any], limits: dict[str, Any], refreshes: np.ndarray, banks: int, groups: int,
                 ring_times: int) -> np.ndarray:
    """The options of a controller: what it does, its limits, where things are in its state, its refresh targets."""
    entries = max(limits["reads"], limits["writes"], limits["opened"])
    places = np.cumsum([_PARTS, banks, banks, banks, groups, ring_times])
    return np.array([*(flags[name] for name in FLAGS), *(limits[name] for name in LIMITS), *places, entries, *refreshes],
                    np.int64)


def fresh_state(channels: int, options: np.ndarray, commands: int) -> tuple[np.ndarray, np.ndarray]:
    """All rows closed, nothing sent: state of the channels, and of the front end with what is counted."""
    state = np.zeros((channels, options[_QUEUES] + 3 * options[_ENTRIES] * _FIELDS), np.int64)
    state[:, options[_ROWS]:options[_HELD]] = -1
    state[:, options[_READY]:options[_QUEUES]] = -_FAR
    state[:, _DUE] = options[_INTERVAL]
    return state, np.zeros(COMMANDS + commands, np.int64)


@compiled
def _when(what, s, o, c, target):
    """First cycle in which the timings allow a command."""
    ready = o[_READY]
    at = s[c, ready + what[target, _GROUPS]]
    for k in range(_GROUPS + 1, what.shape[1]):
        at = max(at, s[c, ready + what[target, k]])
    return at


@compiled
def _issue(what, tell, ring, rings, bank, s, o, c, target, row, at):
    """Record that a command issues in cycle ``at``, and open or close its rows."""
    ready = o[_READY]
    for k in range(what[target, _TELL], what[target, _TELL_END]):
        group = ready + tell[k, 0]
        s[c, group] = max(s[c, group], at + tell[k, 1])
    for k in range(what[target, _RING], what[target, _RING_END]):
        window = ring[k]
        first = o[_RINGS] + rings[window, 0]
        last = first + rings[window, 1] - 1
        for n in range(first, last):
            s[c, n] = s[c, n + 1]
        s[c, last] = at
        for n in range(rings[window, 2], rings[window, 3]):
            group = ready + tell[n, 0]
            s[c, group] = max(s[c, group], s[c, first] + tell[n, 1])
    rule = what[target, _RULE]
    if rule == OPENS or rule == CLOSES:
        for k in range(what[target, _BANKS], what[target, _BANKS_END]):
            s[c, o[_ROWS] + bank[k]] = row if rule == OPENS else -1


@compiled
def _turns(s, o, c):
    """Whether it is the other queue's turn."""
    if s[c, _TURN]:
        return s[c, _COUNT + _WRITING] <= o[_LOW] and s[c, _COUNT + _READING] != 0
    return s[c, _COUNT + _WRITING] >= o[_HIGH] or s[c, _COUNT + _READING] == 0


@compiled
def _send(what, s, o, c, write, target, row, line, clock, host):
    """Give a request to its channel; False if that has no room for it."""
    if not write and o[_FORWARDS]:
        queue = o[_QUEUES] + _WRITING * o[_ENTRIES] * _FIELDS
        for n in range(s[c, _COUNT + _WRITING]):
            if s[c, queue + n * _FIELDS + _LINE] == line:
                at = clock + 1
                host[LATENCY] += 1
                host[ANSWERED] += 1
                host[FORWARDED] += 1
                if o[_ANSWERS]:
                    at = max(at, s[c, _DONE] + 1)
                s[c, _DONE] = max(s[c, _DONE], at)
                return True
    which = _WRITING if write else _READING
    count = s[c, _COUNT + which]
    if count >= o[_READS + which]:
        return False
    e = o[_QUEUES] + (which * o[_ENTRIES] + count) * _FIELDS
    bank = what[target, _FIRST_BANK]
    s[c, e + _TARGET], s[c, e + _ROW], s[c, e + _LINE], s[c, e + _ARRIVED] = target, row, line, clock
    s[c, e + _TOUCHED], s[c, e + _BANK], s[c, e + _WRITE] = 0, bank, write
    s[c, _COUNT + which] = count + 1
    if _turns(s, o, c):
        s[c, _ASLEEP] = 0
    elif which == s[c, _TURN] and (count == 0 or not o[_IN_ORDER]):
        # All others were looked at before: nothing happens until what it was, or until this one is ready.
        opened = s[c, o[_ROWS] + bank]
        command = target if opened == row else what[target, _ACTIVATE if opened == -1 else _PRECHARGE]
        s[c, _ASLEEP] = min(s[c, _ASLEEP], _when(what, s, o, c, command))
    return True


@compiled
def _best(what, s, o, c, which, bus, clock):
    """The request of a queue that is served first: one whose next command is ready before one whose is not, then the older.

    Answers its place or -1, its next command, whether that is ready, and when the first of those that are not is.
    ``bus``: only commands of that bus, or -1.
    """
    count = s[c, _COUNT + which]
    best, best_command, best_ready, best_arrived, soon = -1, -1, False, 0, _FAR
    if count == 0:
        return best, best_command, best_ready, soon
    if o[_IN_ORDER]:
        count = 1
    queue, rows, held, hit = o[_QUEUES] + which * o[_ENTRIES] * _FIELDS, o[_ROWS], o[_HELD], o[_HIT]
    protects, wastes = o[_PROTECTS] and count > 1, o[_WASTES]
    marked = False
    for n in range(count):
        e = queue + n * _FIELDS
        target, bank = s[c, e + _TARGET], s[c, e + _BANK]
        row = s[c, rows + bank]
        if row == s[c, e + _ROW]:
            command = target
        elif row == -1:
            command = what[target, _ACTIVATE]
        else:
            command = what[target, _PRECHARGE]
            if not wastes and s[c, held + bank]:
                continue
        if bus >= 0 and what[command, _BUS] != bus:
            continue
        at = _when(what, s, o, c, command)
        ready = at <= clock
        if not ready:
            soon = min(soon, at)
        if best >= 0:
            if ready and not best_ready:
                if protects and command != target:
                    if not marked:
                        marked = True
                        s[c, _SCANS] += 1
                        for k in range(count):
                            place = rows + s[c, queue + k * _FIELDS + _BANK]
                            if s[c, place] == s[c, queue + k * _FIELDS + _ROW]:
                                s[c, place - rows + hit] = s[c, _SCANS]
                    if s[c, hit + bank] == s[c, _SCANS]:
                        continue
            elif ready != best_ready or s[c, e + _ARRIVED] >= best_arrived:
                continue
        best, best_command, best_ready, best_arrived = n, command, ready, s[c, e + _ARRIVED]
        if ready and which != _ACTIVE:
            break   # these queues are in order of arrival
    return best, best_command, best_ready, soon


@compiled
def _drop(s, o, c, which, place):
    """Take a request out of a queue."""
    queue = o[_QUEUES] + which * o[_ENTRIES] * _FIELDS
    s[c, _COUNT + which] -= 1
    for k in range(queue + place * _FIELDS, queue + s[c, _COUNT + which] * _FIELDS):
        s[c, k] = s[c, k + _FIELDS]


@compiled
def _serve(what, tell, ring, rings, bank, s, o, c, first, clock, host, log):
    """Issue one command of a channel, if one is ready.

    ``first``: bus of the command that has issued in this cycle, or -1. Answers the bus of the command that issues; -1 for
    none, -2 for none because a refresh waits; and the cycle in which the next may, if none does.
    """
    bus = -1 if first < 0 or o[_PAIRS] else 1 - first
    source = -1
    place, command, ready, soon = _best(what, s, o, c, _ACTIVE, bus, clock)
    if ready and (first < 0 or what[command, _BUS] != first):
        source = _ACTIVE
    elif s[c, _QUEUED] > s[c, _REFRESHED]:
        refresh = o[_REFRESHES + s[c, _REFRESHED] % (len(o) - _REFRESHES)]
        command = refresh
        closing = what[refresh, _PRECHARGE]
        whose = closing if o[_RUTHLESS] else refresh
        for k in range(what[whose, _BANKS], what[whose, _BANKS_END]):
            if s[c, o[_ROWS] + bank[k]] != -1:
                command = closing
        if first < 0 or what[command, _BUS] != first:
            at = _when(what, s, o, c, command)
            if at > clock:
                return -2, min(soon, at)
            source = _REFRESH
        elif not o[_PAIRS]:
            return -1, clock + 1
    if source < 0:
        if _turns(s, o, c):
            s[c, _TURN] = 1 - s[c, _TURN]
        which = s[c, _TURN]
        place, command, ready, later = _best(what, s, o, c, which, bus, clock)
        soon = min(soon, later)
        if not ready:
            return -1, soon
        if first >= 0 and what[command, _BUS] == first:
            return -1, clock + 1
        source = which
        if what[command, _RULE] == OPENS and s[c, _COUNT + _ACTIVE] >= o[_OPENED] and not o[_IN_ORDER]:
            return -1, soon
    if what[command, _RULE] == CLOSES and not (source == _REFRESH and o[_RUTHLESS]):
        for k in range(what[command, _BANKS], what[command, _BANKS_END]):
            if s[c, o[_HELD] + bank[k]]:
                if source == _REFRESH:
                    return -2, soon
                return -1, clock + 1

    e = o[_QUEUES] + (min(source, _ACTIVE) * o[_ENTRIES] + place) * _FIELDS
    target, row, line = -1, -1, -1
    if source != _REFRESH:
        target, row, line = s[c, e + _TARGET], s[c, e + _ROW], s[c, e + _LINE]
        if not s[c, e + _TOUCHED]:
            s[c, e + _TOUCHED] = 1
            host[HITS if command == target else MISSES if what[command, _RULE] == OPENS else CONFLICTS] += 1
    _issue(what, tell, ring, rings, bank, s, o, c, command, row, clock)
    host[COMMANDS + what[command, _COMMAND]] += 1
    if len(log):
        n = host[LOGGED]
        log[n, 0], log[n, 1], log[n, 2], log[n, 3], log[n, 4] = clock, c, command, row, line
        host[LOGGED] += 1
    if source == _REFRESH:
        if command == o[_REFRESHES + s[c, _REFRESHED] % (len(o) - _REFRESHES)]:
            s[c, _REFRESHED] += 1
    elif command == target:
        at = clock + what[target, _LATENCY]
        if not s[c, e + _WRITE]:
            host[LATENCY] += at - s[c, e + _ARRIVED]
            host[ANSWERED] += 1
            if o[_ANSWERS]:
                at = max(at, s[c, _DONE] + 1)
        elif o[_ANSWERS]:
            at = 0
        s[c, _DONE] = max(s[c, _DONE], at)
        if source == _ACTIVE:
            s[c, o[_HELD] + s[c, e + _BANK]] -= 1
        _drop(s, o, c, source, place)
    elif what[command, _RULE] == OPENS and not o[_IN_ORDER]:
        # To the end of those that have opened their row; also if it was one of them and a refresh has closed its row.
        arrived, where, write = s[c, e + _ARRIVED], s[c, e + _BANK], s[c, e + _WRITE]
        _drop(s, o, c, source, place)
        if source != _ACTIVE:
            s[c, o[_HELD] + where] += 1
        e = o[_QUEUES] + (_ACTIVE * o[_ENTRIES] + s[c, _COUNT + _ACTIVE]) * _FIELDS
        s[c, e + _TARGET], s[c, e + _ROW], s[c, e + _LINE], s[c, e + _ARRIVED] = target, row, line, arrived
        s[c, e + _TOUCHED], s[c, e + _BANK], s[c, e + _WRITE] = 1, where, write
        s[c, _COUNT + _ACTIVE] += 1
    return what[command, _BUS], clock + 1


@compiled
def advance(what, tell, ring, rings, bank, s, o, host, write, channel, targets, rows, lines, cycles, finish, log):
    """Run until all requests of the block are sent and, with ``finish``, through (or ``log`` is nearly full).

    ``write``, ``channel``, ``targets``, ``rows``, ``lines``, ``cycles``: of the block's requests; ``lines`` tells which
    have the same address, none is sent before its cycle (an empty array: no such bounds). ``log``: lines of cycle, channel,
    target, row, line.
    """
    total, channels = len(channel), len(s)
    host[STUCK] = host[ENDED] = 0
    while True:
        clock = host[CLOCK]
        blocked = False
        until = clock + 1
        while host[HEAD] < total and host[SENT] < o[_RATE]:
            n = host[HEAD]
            if len(cycles) and cycles[n] > clock:
                blocked, until = True, cycles[n]
                break
            if not _send(what, s, o, channel[n], write[n], targets[n], rows[n], lines[n], clock, host):
                blocked, until = True, _FAR
                break
            host[HEAD] += 1
            host[SENT] += 1
        if host[HEAD] == total:
            if not finish:
                return
            through, done = True, clock
            if o[_DRAIN]:
                for c in range(channels):
                    for k in range(3):
                        through = through and s[c, _COUNT + k] == 0
                    through = through and s[c, _QUEUED] == s[c, _REFRESHED]
                    done = max(done, s[c, _DONE])
            if through and done == clock:
                host[ENDED] = 1
                return
            blocked, until = True, done if through else _FAR
        if len(log) and host[LOGGED] + 2 * channels > len(log):
            return
        if blocked:
            # Nothing is sent before `until` or before a queue has room: go to the next cycle in which something happens.
            for c in range(channels):
                until = min(until, s[c, _ASLEEP])
            if until >= _FAR:
                host[STUCK] = 1
                return
            clock = max(clock, until - 1)
        clock += 1
        host[CLOCK] = clock
        host[SENT] = 0
        for c in range(channels):
            if s[c, _ASLEEP] > clock:
                continue
            soon = _FAR
            if o[_INTERVAL]:
                if clock >= s[c, _DUE]:
                    s[c, _DUE] += o[_INTERVAL]
                    s[c, _QUEUED] += len(o) - _REFRESHES
                soon = s[c, _DUE]
            first, then = _serve(what, tell, ring, rings, bank, s, o, c, -1, clock, host, log)
            soon = min(soon, then)
            if o[_DUAL] and (first == 0 or first == 1 or (first == -2 and o[_PAIRS])):
                _, then = _serve(what, tell, ring, rings, bank, s, o, c, max(first, 0), clock, host, log)
                soon = min(soon, then)
            s[c, _ASLEEP] = soon
