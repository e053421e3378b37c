"""A controller for plain reads and writes, cycle for cycle, as compiled code over plain arrays.

A front end sends requests in order. Each goes to the read queue or the write queue of its channel. A full queue holds
all later requests. Every cycle a channel serves, in this order: a request that has opened its row, a refresh that is
due, a queued request. Cycles in which nothing can happen are skipped.

With its quirks, this controller behaves like Ramulator 2; without them, like a controller that one would build.
:data:`FLAGS` has the differences.

Arrays are few and indexed by number. A view of an array, or taking it out of a tuple, would cost compiled code more
than all its work here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled
from .plan import (
    ACTIVATE,
    BANKS,
    BANKS_END,
    BUS,
    COMMAND,
    FIRST_BANK,
    GROUPS,
    LATENCY,
    PRECHARGE,
    RING,
    RING_END,
    RULE,
    TELL,
    TELL_END,
)
from .tables import CLOSES, OPENS

__all__ = ["FLAGS", "LIMITS", "advance", "fresh_state", "make_options"]

#: Behaviour of a controller, in the order of the options' array. The first three are choices, the others quirks:
#: - a request that would close a row waits while a younger queued request hits it, unless it is the oldest
#: - only the oldest request of a queue is considered
#: - a read is answered from a queued write to its address, without a command
#: - a precharge whose row a request has opened and not used takes the turn, but is not issued
#: - the second command of a cycle must belong to the scheduler's next request; no other request is searched. While a
#:   refresh waits, column commands go on
#: - a refresh closes rows that a request has opened and not used, and rows of the whole precharge's scope
#: - answers to reads leave a channel in order, one a cycle; a write is done when it is issued
FLAGS = (
    "protects_hits",
    "in_order",
    "forwards",
    "wastes_turns",
    "pairs_strictly",
    "refreshes_ruthlessly",
    "answers_in_order",
)
_PROTECTS, _IN_ORDER, _FORWARDS, _WASTES, _PAIRS, _RUTHLESS, _ANSWERS = range(7)

#: Limits of a controller, behind the flags: room in its queues of reads, of writes, of requests that have opened their row;
#: queued writes at which their turn begins and at which it ends; requests a cycle; whether two commands may issue in a
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

# Queues of a channel, and refreshes as a further source of commands.
_READING, _WRITING, _ACTIVE, _REFRESH = range(4)

# A request in a queue.
_TARGET, _ROW, _LINE, _ARRIVED, _TOUCHED, _BANK, _WRITE, _FIELDS = range(8)

#: The front end: next request of the block, requests sent in this cycle, cycle, log lines, whether it is through,
#: whether nothing can happen any more. Then counters: row hits, misses, conflicts, sum of read latencies, reads
#: answered, reads answered from queued writes. Then commands by number.
HEAD, SENT, CLOCK, LOGGED, ENDED, STUCK, HITS, MISSES, CONFLICTS, WAITED, ANSWERED, FORWARDED, COMMANDS = range(13)

_FAR = 1 << 60


def make_options(
    flags: dict[str, Any], limits: dict[str, Any], refreshes: np.ndarray, banks: int, groups: int, ring_times: int
) -> np.ndarray:
    """The options of a controller: its behaviour, its limits, places in its state, its refresh targets."""
    entries = max(limits["reads"], limits["writes"], limits["opened"])
    places = np.cumsum([_PARTS, banks, banks, banks, groups, ring_times])
    return np.array(
        [*(flags[name] for name in FLAGS), *(limits[name] for name in LIMITS), *places, entries, *refreshes], np.int64
    )


def fresh_state(channels: int, options: np.ndarray, commands: int) -> tuple[np.ndarray, np.ndarray]:
    """State of the channels, and of the front end with its counters: all rows closed, nothing sent."""
    state = np.zeros((channels, options[_QUEUES] + 3 * options[_ENTRIES] * _FIELDS), np.int64)
    state[:, options[_ROWS] : options[_HELD]] = -1
    state[:, options[_READY] : options[_QUEUES]] = -_FAR
    state[:, _DUE] = options[_INTERVAL]
    return state, np.zeros(COMMANDS + commands, np.int64)


@compiled
def _when(what, s, o, c, target):
    """First cycle in which the timings allow a command."""
    ready = o[_READY]
    at = s[c, ready + what[target, GROUPS]]
    for k in range(GROUPS + 1, what.shape[1]):
        at = max(at, s[c, ready + what[target, k]])
    return at


@compiled
def _issue(what, tell, ring, rings, bank, s, o, c, target, row, at):
    """Record that a command issues in cycle ``at``, and open or close its rows."""
    ready = o[_READY]
    for k in range(what[target, TELL], what[target, TELL_END]):
        group = ready + tell[k, 0]
        s[c, group] = max(s[c, group], at + tell[k, 1])
    for k in range(what[target, RING], what[target, RING_END]):
        window = ring[k]
        first = o[_RINGS] + rings[window, 0]
        last = first + rings[window, 1] - 1
        for n in range(first, last):
            s[c, n] = s[c, n + 1]
        s[c, last] = at
        for n in range(rings[window, 2], rings[window, 3]):
            group = ready + tell[n, 0]
            s[c, group] = max(s[c, group], s[c, first] + tell[n, 1])
    rule = what[target, RULE]
    if rule == OPENS or rule == CLOSES:
        for k in range(what[target, BANKS], what[target, BANKS_END]):
            s[c, o[_ROWS] + bank[k]] = row if rule == OPENS else -1


@compiled
def _turns(s, o, c):
    """Whether it is the other queue's turn."""
    if s[c, _TURN]:
        return s[c, _COUNT + _WRITING] <= o[_LOW] and s[c, _COUNT + _READING] != 0
    return s[c, _COUNT + _WRITING] >= o[_HIGH] or s[c, _COUNT + _READING] == 0


@compiled
def _send(what, s, o, c, write, target, row, line, clock, host):
    """Give a request to its channel; False if the channel has no room for it."""
    if not write and o[_FORWARDS]:
        queue = o[_QUEUES] + _WRITING * o[_ENTRIES] * _FIELDS
        for n in range(s[c, _COUNT + _WRITING]):
            if s[c, queue + n * _FIELDS + _LINE] == line:
                at = clock + 1
                host[WAITED] += 1
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
    bank = what[target, FIRST_BANK]
    s[c, e + _TARGET], s[c, e + _ROW], s[c, e + _LINE], s[c, e + _ARRIVED] = target, row, line, clock
    s[c, e + _TOUCHED], s[c, e + _BANK], s[c, e + _WRITE] = 0, bank, write
    s[c, _COUNT + which] = count + 1
    if _turns(s, o, c):
        s[c, _ASLEEP] = 0
    elif which == s[c, _TURN] and (count == 0 or not o[_IN_ORDER]):
        # All other requests were checked before: nothing happens until that cycle, or until this request is ready.
        opened = s[c, o[_ROWS] + bank]
        command = target if opened == row else what[target, ACTIVATE if opened == -1 else PRECHARGE]
        s[c, _ASLEEP] = min(s[c, _ASLEEP], _when(what, s, o, c, command))
    return True


@compiled
def _best(what, s, o, c, which, bus, clock):
    """The request of a queue that is served first: requests whose next command is ready, then by age.

    Returns its place or -1, its next command, and whether this command is ready. The last value is the first cycle in
    which one of the commands that are not ready will be. ``bus``: only commands of that bus; -1: of both.
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
            command = what[target, ACTIVATE]
        else:
            command = what[target, PRECHARGE]
            if not wastes and s[c, held + bank]:
                continue
        if bus >= 0 and what[command, BUS] != bus:
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
            break  # other queues are in order of arrival
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

    ``first``: bus of the command that has issued in this cycle, or -1. Returns the bus of the command that issues, or
    -1 for none, or -2 for none because a refresh waits. If no command issues, the second value is the first cycle in
    which one may.
    """
    bus = -1 if first < 0 or o[_PAIRS] else 1 - first
    source = -1
    place, command, ready, soon = _best(what, s, o, c, _ACTIVE, bus, clock)
    if ready and (first < 0 or what[command, BUS] != first):
        source = _ACTIVE
    elif s[c, _QUEUED] > s[c, _REFRESHED]:
        refresh = o[_REFRESHES + s[c, _REFRESHED] % (len(o) - _REFRESHES)]
        command = refresh
        closing = what[refresh, PRECHARGE]
        whose = closing if o[_RUTHLESS] else refresh
        for k in range(what[whose, BANKS], what[whose, BANKS_END]):
            if s[c, o[_ROWS] + bank[k]] != -1:
                command = closing
        if first < 0 or what[command, BUS] != first:
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
        if first >= 0 and what[command, BUS] == first:
            return -1, clock + 1
        source = which
        if what[command, RULE] == OPENS and s[c, _COUNT + _ACTIVE] >= o[_OPENED] and not o[_IN_ORDER]:
            return -1, soon
    if what[command, RULE] == CLOSES and not (source == _REFRESH and o[_RUTHLESS]):
        for k in range(what[command, BANKS], what[command, BANKS_END]):
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
            host[HITS if command == target else MISSES if what[command, RULE] == OPENS else CONFLICTS] += 1
    _issue(what, tell, ring, rings, bank, s, o, c, command, row, clock)
    host[COMMANDS + what[command, COMMAND]] += 1
    if len(log):
        n = host[LOGGED]
        log[n, 0], log[n, 1], log[n, 2], log[n, 3], log[n, 4] = clock, c, command, row, line
        host[LOGGED] += 1
    if source == _REFRESH:
        if command == o[_REFRESHES + s[c, _REFRESHED] % (len(o) - _REFRESHES)]:
            s[c, _REFRESHED] += 1
    elif command == target:
        at = clock + what[target, LATENCY]
        if not s[c, e + _WRITE]:
            host[WAITED] += at - s[c, e + _ARRIVED]
            host[ANSWERED] += 1
            if o[_ANSWERS]:
                at = max(at, s[c, _DONE] + 1)
        elif o[_ANSWERS]:
            at = 0
        s[c, _DONE] = max(s[c, _DONE], at)
        if source == _ACTIVE:
            s[c, o[_HELD] + s[c, e + _BANK]] -= 1
        _drop(s, o, c, source, place)
    elif what[command, RULE] == OPENS and not o[_IN_ORDER]:
        # To the end of the requests that have opened their row; also if it was there before and a refresh closed its
        # row.
        arrived, where, write = s[c, e + _ARRIVED], s[c, e + _BANK], s[c, e + _WRITE]
        _drop(s, o, c, source, place)
        if source != _ACTIVE:
            s[c, o[_HELD] + where] += 1
        e = o[_QUEUES] + (_ACTIVE * o[_ENTRIES] + s[c, _COUNT + _ACTIVE]) * _FIELDS
        s[c, e + _TARGET], s[c, e + _ROW], s[c, e + _LINE], s[c, e + _ARRIVED] = target, row, line, arrived
        s[c, e + _TOUCHED], s[c, e + _BANK], s[c, e + _WRITE] = 1, where, write
        s[c, _COUNT + _ACTIVE] += 1
    return what[command, BUS], clock + 1


@compiled
def advance(what, tell, ring, rings, bank, s, o, host, write, channel, targets, rows, lines, cycles, finish, log):
    """Run until all requests of the block are sent and, with ``finish``, through (or ``log`` is nearly full).

    ``write``, ``channel``, ``targets``, ``rows``, ``lines`` and ``cycles`` describe the block's requests. Requests with
    equal ``lines`` have the same address. None is sent before its cycle (an empty array sets no bounds). ``log``: lines
    of cycle, channel, target, row, line.
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
