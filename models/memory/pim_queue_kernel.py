"""AttAcc's channel controllers and their in-order front end, cycle for cycle, as compiled code over plain arrays.

Each channel has a queue of near-bank (PIM) requests and, for plain accesses, one of reads, one of writes and one of those
that have opened their row. The front end gives requests to the queues in trace order, as many in a cycle as they take; a
full queue holds up everything behind. Cycles in which nothing can happen are skipped. Channels that have seen the same
are one *class*: one row of the state with a mask of members. A class is divided when requests come to part of it, and
classes that have become alike are joined again. Equal requests in a row are one *segment* of a queue with a count.

With its flags this is the public AttAcc simulator; :data:`FLAGS` has the differences.
"""

from __future__ import annotations

import numpy as np

from .compiled import compiled
from .tables import CLOSES, NEEDS, OPENS, earliest, issue, next_command

__all__ = ["CAPACITY", "FLAGS", "Layout", "advance", "fresh_state"]

#: Quirks, in the order of the flags' array:
#: - a buffer command, too, waits while a queued request hits the row of the bank that its address names
#: - a barrier right behind a barrier takes the turn of a command
FLAGS = ("buffers_wait_for_hits", "barriers_take_turns")

CAPACITY = 33          # requests in a queue
HIGH, LOW = 25.6, 6.4  # queued writes that begin and end their turn

#: Queues of a channel: near-bank requests, reads, writes, plain requests that have opened their row.
PIM, READS, WRITES, ACTIVE = range(4)
#: A segment: target of its command (-1: barrier), row, bank that its address names, requests, address, next command or -1.
TARGET, ROW, WHERE, COUNT, ADDRESS, NEXT, FIELDS = range(7)
SPACE = 3 * CAPACITY   # places for segments of a queue; those in use move through them

_FAR = 1 << 60


class Layout:
    """Where things are in a class's row of the state."""

    def __init__(self, banks, slots, ring_times):
        place = 0
        self.parts = {}
        for name, size in (("rows", banks), ("last", slots), ("rings", ring_times), ("scalars", 17),
                           ("queues", 4 * SPACE * FIELDS)):
            self.parts[name] = place
            place += size
        self.size = place
        self.array = np.array([*self.parts.values(), place], np.int64)


# Indices of the layout's array.
_ROWS, _LAST, _RINGS, _SCALARS, _QUEUES = range(5)
# Scalars: of each queue the first segment's place, segments, requests; then whether writes have their turn, whether the
# request that was found last was a near-bank one, when refreshes are due, how many wait, when the last read has returned.
_FIRST, _SEGMENTS, _REQUESTS = range(3)
_WRITING, _NEAR, _DUE, _WAITING, _DONE = range(12, 17)

# The front end: next request, how often it has been given to all of its channels, channels that it is still to be given to
# (0: all); cycle; classes; requests since classes were compared; whether nothing can happen; lines of the log.
HEAD, GIVEN, LEFT, CLOCK, CLASSES, POPPED, STUCK, LOGGED = range(8)

# What :func:`_best` found: segment or -1, its next command (-1: a barrier), whether that is ready, when the first of all is.
_AT, _COMMAND, _READY, _SOON = range(4)
# What :func:`_choose` chose: queue (4: refresh) or -1, segment, command; command bus of whoever was looked at last (-1:
# nobody), when something can happen next.
_QUEUE, _SEGMENT, _CHOICE, _BUS, _NEXT = range(5)


def fresh_state(layout, interval, channels):
    """All rows closed, nothing issued: state of the classes, their members, and the front end."""
    state = np.zeros((channels, layout.size), np.int64)
    state[0, layout.parts["rows"]:layout.parts["last"]] = -1
    state[0, layout.parts["last"]:layout.parts["scalars"]] = -_FAR
    state[0, layout.parts["scalars"] + _DUE] = interval
    members = np.zeros(channels, np.int64)
    members[0] = (1 << channels) - 1
    host = np.zeros(8, np.int64)
    host[CLASSES] = 1
    return state, members, host


@compiled
def _ones(x):
    n = 0
    while x:
        x &= x - 1
        n += 1
    return n


# Queues ----------------------------------------------------------------------------------------------------------------


@compiled
def _push(s, layout, queue, target, row, where, count, address, merge):
    """Put requests at the end of a queue; whether they are a segment of their own."""
    c = layout[_SCALARS] + 3 * queue
    base = layout[_QUEUES] + queue * SPACE * FIELDS
    s[c + _REQUESTS] += count
    place = base + FIELDS * (s[c + _FIRST] + s[c + _SEGMENTS])
    if merge and s[c + _SEGMENTS] > 0:
        last = place - FIELDS
        if s[last + TARGET] == target and s[last + ROW] == row and s[last + WHERE] == where:
            s[last + COUNT] += count
            return False
    if s[c + _FIRST] + s[c + _SEGMENTS] == SPACE:
        first = base + FIELDS * s[c + _FIRST]
        for k in range(FIELDS * s[c + _SEGMENTS]):
            s[base + k] = s[first + k]
        s[c + _FIRST] = 0
        place = base + FIELDS * s[c + _SEGMENTS]
    s[place + TARGET], s[place + ROW], s[place + WHERE] = target, row, where
    s[place + COUNT], s[place + ADDRESS], s[place + NEXT] = count, address, -1
    s[c + _SEGMENTS] += 1
    return True


@compiled
def _remove(s, layout, queue, segment):
    """Take the first request of a segment out of its queue."""
    c = layout[_SCALARS] + 3 * queue
    base = layout[_QUEUES] + queue * SPACE * FIELDS
    s[c + _REQUESTS] -= 1
    place = base + FIELDS * segment
    s[place + COUNT] -= 1
    if s[place + COUNT] == 0:
        s[c + _SEGMENTS] -= 1
        if segment == s[c + _FIRST]:
            s[c + _FIRST] += 1
        else:
            for k in range(place, base + FIELDS * (s[c + _FIRST] + s[c + _SEGMENTS])):
                s[k] = s[k + FIELDS]


@compiled
def _next(t, s, layout, place):
    """The command that a segment's first request needs next; looked up again when rows have changed."""
    command = s[place + NEXT]
    if command < 0:
        command = next_command(t, s[:layout[_LAST]], s[place + TARGET], s[place + ROW], False)
        s[place + NEXT] = command
    return command


@compiled
def _hit_in_bank(t, s, layout, queue, where):
    """Whether a request of the queue that has its row open names this bank in its address."""
    c = layout[_SCALARS] + 3 * queue
    place = layout[_QUEUES] + (queue * SPACE + s[c + _FIRST]) * FIELDS
    for _ in range(s[c + _SEGMENTS]):
        target = s[place + TARGET]
        if target >= 0 and s[place + WHERE] == where and t.rule[target] == NEEDS and _next(t, s, layout, place) == target:
            return True
        place += FIELDS
    return False


@compiled
def _best(t, s, layout, queue, clock, flags, found):
    """First ready, then first come. Behind a barrier only row commands; no row command against a queued row hit."""
    c = layout[_SCALARS] + 3 * queue
    found[_AT], found[_READY], found[_SOON] = -1, 0, _FAR
    dropped = False
    base = layout[_QUEUES] + queue * SPACE * FIELDS
    while s[c + _SEGMENTS] > 0 and s[base + FIELDS * s[c + _FIRST] + TARGET] < 0:
        if flags[1] and dropped:
            found[_AT], found[_COMMAND], found[_READY] = s[c + _FIRST], -1, 1
            return
        dropped = True
        _remove(s, layout, queue, s[c + _FIRST])
    if s[c + _SEGMENTS] == 0:
        return
    last, rings = s[layout[_LAST]:layout[_RINGS]], s[layout[_RINGS]:layout[_SCALARS]]
    place = base + FIELDS * s[c + _FIRST]
    command = _next(t, s, layout, place)
    at = earliest(t, last, rings, command)
    found[_AT], found[_COMMAND] = s[c + _FIRST], command
    if at <= clock:
        found[_READY] = 1
        return
    soon = at
    barrier = False
    for n in range(s[c + _FIRST] + 1, s[c + _FIRST] + s[c + _SEGMENTS]):
        place += FIELDS
        target = s[place + TARGET]
        if target < 0:
            barrier = True
            continue
        command = _next(t, s, layout, place)
        rule = t.rule[command]
        if barrier and rule != OPENS and rule != CLOSES:
            continue
        at = earliest(t, last, rings, command)
        if at > clock:
            soon = min(soon, at)
            continue
        if (rule != NEEDS and (flags[0] or rule == OPENS or rule == CLOSES)
                and _hit_in_bank(t, s, layout, queue, s[place + WHERE])):
            continue
        found[_AT], found[_COMMAND], found[_READY] = n, command, 1
        return
    found[_SOON] = soon


# A cycle of a channel --------------------------------------------------------------------------------------------------


@compiled
def _interrupts(t, s, layout, queue, segment, command):
    """Whether a command closes the row of a plain request that has opened it and waits for its access."""
    c = layout[_SCALARS] + 3 * ACTIVE
    if t.rule[command] != CLOSES or s[c + _SEGMENTS] == 0:
        return False
    where = s[layout[_QUEUES] + (queue * SPACE + segment) * FIELDS + WHERE]
    place = layout[_QUEUES] + (ACTIVE * SPACE + s[c + _FIRST]) * FIELDS
    for _ in range(s[c + _SEGMENTS]):
        if s[place + WHERE] == where:
            return True
        place += FIELDS
    return False


@compiled
def _refresh_command(t, s, layout, refreshes):
    """What the first waiting refresh needs: the precharge of all banks while one is open, or itself."""
    refresh = refreshes[-s[layout[_SCALARS] + _WAITING] % len(refreshes)]
    for k in range(layout[_LAST]):
        if s[k] != -1:
            return t.precharge[refresh]
    return refresh


@compiled
def _choose(t, s, layout, clock, refreshes, flags, found, other, pick):
    """Which command has its turn. ``other``: only one of the other command bus, if this is 0 or 1.

    A refresh that waits goes before all but requests that have opened their row; it leaves turns only to the column
    commands that are second choice.
    """
    c = layout[_SCALARS]
    pick[_QUEUE], pick[_BUS], pick[_NEXT] = -1, -1, _FAR
    if s[c + 3 * ACTIVE + _SEGMENTS] > 0:
        _best(t, s, layout, ACTIVE, clock, flags, found)
        pick[_BUS] = t.bus[found[_COMMAND]]
        pick[_NEXT] = min(pick[_NEXT], found[_SOON])
        if found[_READY]:
            if pick[_BUS] != other:
                pick[_QUEUE], pick[_SEGMENT], pick[_CHOICE] = ACTIVE, found[_AT], found[_COMMAND]
            else:
                pick[_NEXT] = clock + 1
    if pick[_QUEUE] < 0 and s[c + _WAITING] > 0:
        command = _refresh_command(t, s, layout, refreshes)
        pick[_BUS] = t.bus[command]
        if pick[_BUS] != other:
            at = earliest(t, s[layout[_LAST]:layout[_RINGS]], s[layout[_RINGS]:c], command)
            if at > clock:
                pick[_NEXT] = min(pick[_NEXT], at)
                return
            pick[_QUEUE], pick[_CHOICE] = 4, command
        else:
            pick[_NEXT] = clock + 1
    for step in range(2):
        if pick[_QUEUE] >= 0:
            break
        queue = PIM
        if step == 0:
            s[c + _NEAR] = 0
        else:
            reads, writes = s[c + 3 * READS + _REQUESTS], s[c + 3 * WRITES + _REQUESTS]
            if s[c + _WRITING] == 0:
                if writes > HIGH or reads == 0:
                    s[c + _WRITING] = 1
            elif writes < LOW and reads != 0:
                s[c + _WRITING] = 0
            queue = WRITES if s[c + _WRITING] else READS
        pick[_BUS] = -1
        if s[c + 3 * queue + _SEGMENTS] == 0:
            continue
        _best(t, s, layout, queue, clock, flags, found)
        pick[_NEXT] = min(pick[_NEXT], found[_SOON])
        if found[_AT] < 0:
            continue
        if found[_COMMAND] >= 0:
            pick[_BUS] = t.bus[found[_COMMAND]]
        if found[_READY]:
            if other < 0 or (pick[_BUS] >= 0 and pick[_BUS] != other):
                pick[_QUEUE], pick[_SEGMENT], pick[_CHOICE] = queue, found[_AT], found[_COMMAND]
                s[c + _NEAR] = queue == PIM
            else:
                pick[_NEXT] = clock + 1
    if 0 <= pick[_QUEUE] < 4 and pick[_CHOICE] >= 0:
        if _interrupts(t, s, layout, pick[_QUEUE], pick[_SEGMENT], pick[_CHOICE]):
            pick[_QUEUE] = -1
            pick[_NEXT] = clock + 1


@compiled
def _issue(t, s, layout, clock, refreshes, pick, members, counts, log, host):
    """Issue the chosen command and move its request on."""
    c = layout[_SCALARS]
    queue, segment, command = pick[_QUEUE], pick[_SEGMENT], pick[_CHOICE]
    place = layout[_QUEUES] + (queue * SPACE + segment) * FIELDS
    if command < 0:
        _remove(s, layout, queue, segment)  # a barrier that takes a turn
        return
    target, row, where, address = -1, 0, 0, -1
    if queue == 4:
        which = -s[c + _WAITING] % len(refreshes)
        target, address = refreshes[which], -1 - which
    else:
        target, row, where, address = s[place + TARGET], s[place + ROW], s[place + WHERE], s[place + ADDRESS]
    issue(t, s[layout[_LAST]:layout[_RINGS]], s[layout[_RINGS]:c], s[:layout[_LAST]], command, row, clock)
    counts[t.command[command]] += _ones(members)
    if len(log):
        n = host[LOGGED]
        log[n, 0], log[n, 1], log[n, 2], log[n, 3] = clock, members, t.command[command], address
        host[LOGGED] += 1
    if command == target:
        if queue == 4:
            s[c + _WAITING] -= 1
        else:
            if t.returns[target]:
                # Data come back in order, one request a cycle.
                s[c + _DONE] = max(s[c + _DONE] + 1, clock + t.latency[target])
            _remove(s, layout, queue, segment)
    else:
        rule = t.rule[command]
        for q in range(4):
            first = layout[_QUEUES] + (q * SPACE + s[c + 3 * q + _FIRST]) * FIELDS
            for k in range(s[c + 3 * q + _SEGMENTS]):
                s[first + FIELDS * k + NEXT] = -1
        if rule == OPENS and queue < 4 and not s[c + _NEAR]:
            # A plain request that has opened its row goes before those that have not; one too many is lost.
            _remove(s, layout, queue, segment)
            if s[c + 3 * ACTIVE + _REQUESTS] < CAPACITY:
                _push(s, layout, ACTIVE, target, row, where, 1, address, False)


@compiled
def _tick(t, s, layout, clock, refreshes, interval, flags, found, pick, members, counts, log, host):
    """One cycle of a channel; when something can happen to it next."""
    c = layout[_SCALARS]
    due = _FAR
    if interval > 0:
        if clock >= s[c + _DUE]:
            s[c + _WAITING] += len(refreshes)
            s[c + _DUE] += interval
        due = s[c + _DUE]
    _choose(t, s, layout, clock, refreshes, flags, found, -1, pick)
    soon, bus = pick[_NEXT], pick[_BUS]
    if pick[_QUEUE] >= 0:
        soon = clock + 1
        bus = -1 if pick[_CHOICE] < 0 else t.bus[pick[_CHOICE]]
        _issue(t, s, layout, clock, refreshes, pick, members, counts, log, host)
        if bus >= 0:
            soon = _FAR  # who waits is looked at again now
    if bus >= 0:
        _choose(t, s, layout, clock, refreshes, flags, found, bus, pick)
        soon = min(soon, pick[_NEXT])
        if pick[_QUEUE] >= 0:
            _issue(t, s, layout, clock, refreshes, pick, members, counts, log, host)
            soon = clock + 1
    return min(soon, due)


# Classes ---------------------------------------------------------------------------------------------------------------


@compiled
def _alike(a, b, layout, horizon, ring_horizon, clock):
    """Whether two classes will do the same from now on."""
    c = layout[_SCALARS]
    for k in range(layout[_LAST]):
        if a[k] != b[k]:
            return False
    for k in range(12, 16):
        if a[c + k] != b[c + k]:
            return False
    if a[c + _DONE] != b[c + _DONE] and (a[c + _DONE] >= clock or b[c + _DONE] >= clock):
        return False
    for q in range(4):
        if a[c + 3 * q + _SEGMENTS] != b[c + 3 * q + _SEGMENTS] or a[c + 3 * q + _REQUESTS] != b[c + 3 * q + _REQUESTS]:
            return False
        x = layout[_QUEUES] + (q * SPACE + a[c + 3 * q + _FIRST]) * FIELDS
        y = layout[_QUEUES] + (q * SPACE + b[c + 3 * q + _FIRST]) * FIELDS
        for k in range(FIELDS * a[c + 3 * q + _SEGMENTS]):
            if k % FIELDS != NEXT and a[x + k] != b[y + k]:
                return False
    for k in range(len(horizon)):
        x, y = a[layout[_LAST] + k], b[layout[_LAST] + k]
        if x != y and (x + horizon[k] > clock + 1 or y + horizon[k] > clock + 1):
            return False
    for k in range(len(ring_horizon)):
        x, y = a[layout[_RINGS] + k], b[layout[_RINGS] + k]
        if x != y and (x + ring_horizon[k] > clock + 1 or y + ring_horizon[k] > clock + 1):
            return False
    return True


@compiled
def _join(state, members, host, layout, horizon, ring_horizon, asleep):
    i = 0
    while i < host[CLASSES]:
        j = i + 1
        while j < host[CLASSES]:
            if _alike(state[i], state[j], layout, horizon, ring_horizon, host[CLOCK]):
                members[i] |= members[j]
                asleep[i] = min(asleep[i], asleep[j])
                host[CLASSES] -= 1
                state[j] = state[host[CLASSES]]
                members[j] = members[host[CLASSES]]
                asleep[j] = asleep[host[CLASSES]]
            else:
                j += 1
        i += 1


@compiled
def _divide(state, members, host, asleep, k, chosen):
    """Make the chosen members of a class a class of their own; answers its number."""
    n = host[CLASSES]
    host[CLASSES] += 1
    state[n] = state[k]
    asleep[n] = asleep[k]
    members[n] = chosen
    members[k] &= ~chosen
    return n


@compiled
def _forwarded(s, layout, address):
    """Whether a queued write of this address answers a read."""
    c = layout[_SCALARS] + 3 * WRITES
    place = layout[_QUEUES] + (WRITES * SPACE + s[c + _FIRST]) * FIELDS
    for _ in range(s[c + _SEGMENTS]):
        if s[place + ADDRESS] == address:
            return True
        place += FIELDS
    return False


@compiled
def _give(t, state, members, host, layout, asleep, kind, mask, address, step, count, lookup, shifts, separate):
    """Give a request, ``count`` times, to the channels of the mask; False if a full queue holds up the rest."""
    c = layout[_SCALARS]
    queue = lookup[kind, 0]
    for k in range(host[CLASSES]):
        chosen = members[k] & mask
        if chosen and chosen != members[k]:
            _divide(state, members, host, asleep, k, chosen)
    while host[GIVEN] < count:
        at = address + step * host[GIVEN]
        where = (at >> shifts[2]) & ((1 << shifts[3]) - 1)
        row = (at >> shifts[0]) & ((1 << shifts[1]) - 1)
        target = lookup[kind, 1 + where]
        if target < 0:
            row, where = 0, 0
        left = host[LEFT]
        todo = left if left else mask
        room = 1
        if not left and queue == PIM and not separate:
            room = count - host[GIVEN]
            if step > 0:
                room = min(room, ((at | ((1 << shifts[0]) - 1)) - at) // step + 1)
        full = 0
        for k in range(host[CLASSES]):
            if members[k] & todo:
                free = CAPACITY - state[k, c + 3 * queue + _REQUESTS]
                if free < room and not (queue == READS and _forwarded(state[k], layout, at)):
                    if free == 0:
                        full |= members[k]
                    else:
                        room = free
        stopped = 0
        if full:
            # In order: channels before the first full one get theirs, all others wait.
            room = 1
            stopped = full & todo
            stopped &= -stopped
            todo &= stopped - 1
        n = host[CLASSES]
        for k in range(n):
            chosen = members[k] & todo
            if not chosen:
                continue
            which = k
            if chosen != members[k]:
                which = _divide(state, members, host, asleep, k, chosen)
            s = state[which]
            if queue == READS and _forwarded(s, layout, at):
                s[c + _DONE] = max(s[c + _DONE] + 1, host[CLOCK] + 1)
            elif _push(s, layout, queue, target, row, where, room, at, queue == PIM and not separate):
                asleep[which] = 0
        if stopped:
            host[LEFT] = (left if left else mask) & ~(stopped - 1)
            return False
        host[LEFT] = 0
        host[GIVEN] += room
    host[GIVEN] = 0
    return True


@compiled
def advance(t, state, members, host, layout, horizon, ring_horizon, kinds, masks, addresses, steps, counts, final, lookup,
            shifts, refreshes, interval, flags, issued, separate, log):
    """Run until all of these requests are in the queues (``final``: until all channels are through). False if that has to
    go on: ``log`` is nearly full, or nothing can happen any more.

    ``issued``: commands by number, summed over channels, are added to it. ``lookup``: by kind of request the queue, then
    its target by the bank of its address. ``shifts``: bits below the row and of it, bits below the bank and of it.
    ``separate``: equal requests are kept apart. ``log``: cycle, members, command, address within the channel.
    """
    total = len(kinds)
    found = np.zeros(4, np.int64)
    pick = np.zeros(5, np.int64)
    c = layout[_SCALARS]
    asleep = np.zeros(len(members), np.int64)
    host[STUCK] = 0
    while True:
        if len(log) and host[LOGGED] + 2 * len(members) > len(log):
            return False
        while host[HEAD] < total:
            n = host[HEAD]
            if not _give(t, state, members, host, layout, asleep, kinds[n], masks[n], addresses[n], steps[n], counts[n],
                         lookup, shifts, separate):
                break
            host[HEAD] += 1
            host[POPPED] += 1
        if host[HEAD] == total and not final:
            return True
        soon = _FAR
        for k in range(host[CLASSES]):
            soon = min(soon, asleep[k])
            if state[k, c + _DONE] > host[CLOCK]:
                soon = min(soon, state[k, c + _DONE])
        if soon >= _FAR:
            host[STUCK] = 1
            return False
        clock = max(soon, host[CLOCK] + 1)
        host[CLOCK] = clock
        drained = host[HEAD] == total
        for k in range(host[CLASSES]):
            s = state[k]
            if asleep[k] <= clock:
                asleep[k] = _tick(t, s, layout, clock, refreshes, interval, flags, found, pick, members[k], issued, log, host)
            if drained:
                drained = (s[c + _DONE] <= clock and s[c + _WAITING] == 0 and s[c + _REQUESTS] == 0
                           and s[c + 3 * READS + _REQUESTS] == 0 and s[c + 3 * WRITES + _REQUESTS] == 0
                           and s[c + 3 * ACTIVE + _REQUESTS] == 0)
        if drained:
            return True
        if host[CLASSES] > 1 and host[POPPED] >= 64:
            host[POPPED] = 0
            _join(state, members, host, layout, horizon, ring_horizon, asleep)
