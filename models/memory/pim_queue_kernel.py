"""AttAcc's channel controllers and their in-order front end, cycle for cycle, as compiled code over plain arrays.

Each channel has a queue of near-bank (PIM) requests. For plain accesses, it has a queue of reads, a queue of writes and
a queue of requests that have opened their row. The front end gives requests to the queues in trace order, in each cycle
all that the queues take. A full queue holds up everything behind. Cycles in which nothing can happen are skipped.

Channels with the same history are one *class*: one row of the state with a mask of members. A class is divided when
requests come to a part of it. Classes that have become alike are joined again. Equal requests in a row are one
*segment* of a queue with a count.

With its flags, this is the public AttAcc simulator; :data:`FLAGS` has the differences. As in the controller of plain
requests, a command that issues sets the cycles in which other commands will be ready. Functions take two arrays: the
*image* of all constant data, and the state. They return in one place. Otherwise compiled code would count references to
the arrays at every call.
"""

from __future__ import annotations

import numpy as np

from .compiled import borrowed, compiled, ones
from .plan import (
    ACTIVATE,
    BANKS,
    BANKS_END,
    BUS,
    COMMAND,
    GROUPS,
    LATENCY,
    PRECHARGE,
    RING,
    RING_END,
    RULE,
    TELL,
    TELL_END,
)
from .tables import CLOSES, NEEDS, OPENS

__all__ = ["APART", "CAPACITY", "FLAGS", "advance", "fresh_state", "make_image"]

#: Quirks, in the order of the options' array:
#: - any command of a request that is no row hit waits for queued row hits, buffer commands too. Without this quirk,
#: only   a precharge that would close the row of a queued row hit waits. Only the banks that the addresses name are
#: compared - a barrier right behind a barrier takes the turn of a command
FLAGS = ("addresses_wait_for_hits", "barriers_take_turns")

CAPACITY = 33  # requests in a queue
HIGH, LOW = 25.6, 6.4  # queued writes at which their turn begins and ends

#: Queues of a channel: near-bank requests, reads, writes, plain requests that have opened their row.
PIM, READS, WRITES, ACTIVE = range(4)
#: A segment: target of its command (-1: barrier), row, bank that its address names, requests, address, next command or -1.
TARGET, ROW, WHERE, COUNT, ADDRESS, NEXT, FIELDS = range(7)
SPACE = 3 * CAPACITY  # places for segments of a queue; used segments move through them
_ROOM = SPACE * FIELDS

_FAR = 1 << 60

# A class's row of the state begins with numbers: of each queue the first segment's place, segments, requests; then
# whether writes have their turn, whether the last request found was a near-bank request, when refreshes are due, how
# many wait, when the last read has returned, cycle before which nothing happens, cycle before which nothing but
# accesses of the first segment happens. Then open rows by bank, when groups are ready, windows, queues.
_FIRST, _SEGMENTS, _REQUESTS = range(3)
_WRITING, _NEAR, _DUE, _WAITING, _DONE, _ASLEEP, _QUIET, _PARTS = range(12, 20)

# The image begins with numbers: where parts of the state begin and its end; flags; refresh interval (0: none); bits of
# an address below the row, of the row, below the bank, of the bank; whether equal requests are kept apart; command of
# reads; greatest number of groups of a target; refresh targets, and how many. Then targets, times that they set,
# windows, banks.
(
    _ROWS,
    _READY,
    _RINGS,
    _QUEUES,
    _END,
    _ADDRESSES_WAIT,
    _BARRIERS_TURN,
    _INTERVAL,
    _BELOW_ROW,
    _ROW_BITS,
    _BELOW_BANK,
    _BANK_BITS,
    APART,
    _READ,
    _WIDTH,
    _REFRESHES,
    _REFRESHED,
) = range(17)

# A target is its place in the image; there: columns of a plan's ``what``, with places for numbers.

# The front end: next request, how often all of its channels have got it, channels that still have to get it (0: all);
# cycle; classes; requests since classes were compared; whether nothing can happen; lines of the log; cycle of the last
# command that was no row command. Then commands by number.
HEAD, GIVEN, LEFT, CLOCK, CLASSES, POPPED, STUCK, LOGGED, MOVED, ISSUED = range(10)

#: Cycles of row commands alone after which requests close each other's rows for ever.
PATIENCE = 1 << 16


def make_image(plan, groups, targets, flags, interval, bits, read, refreshes, banks, ring_times):
    """The image of a controller, and the places of ``targets`` in it (-1 stays)."""
    rows, ready, rings, queues, end = np.cumsum([_PARTS, banks, groups, ring_times, 4 * _ROOM]).tolist()
    count, width = plan.what.shape
    first = _REFRESHED + len(refreshes)
    tell = first + count * width
    windows = tell + plan.tell.size
    entered = windows + plan.rings.size
    acted = entered + plan.ring.size

    def placed(numbers):
        return np.where(numbers < 0, -1, first + numbers * width)

    what = plan.what.copy()
    for column, place, step in (
        (TELL, tell, 2),
        (TELL_END, tell, 2),
        (RING, entered, 1),
        (RING_END, entered, 1),
        (BANKS, acted, 1),
        (BANKS_END, acted, 1),
    ):
        what[:, column] = place + step * plan.what[:, column]
    for column in (ACTIVATE, PRECHARGE):
        what[:, column] = placed(plan.what[:, column])
    what[:, GROUPS:] += ready
    ring = plan.rings.copy()
    ring[:, 0] += rings
    ring[:, 1] += ring[:, 0] - 1
    ring[:, 2:] = tell + 2 * plan.rings[:, 2:]
    image = [
        np.array([rows, ready, rings, queues, end, *flags, interval, *bits, 0, read, width - GROUPS, len(refreshes)]),
        placed(refreshes),
        what,
        plan.tell + np.array([ready, 0]),
        ring,
        windows + 4 * plan.ring,
        rows + plan.bank,
    ]
    return np.concatenate([part.ravel() for part in image]).astype(np.int64), placed(targets)


def fresh_state(image, channels, commands):
    """All rows closed, nothing issued: state of the classes, their members, and the front end."""
    state = np.zeros((channels, image[_END]), np.int64)
    state[0, image[_ROWS] : image[_READY]] = -1
    state[0, image[_READY] : image[_QUEUES]] = -_FAR
    state[0, _DUE] = image[_INTERVAL]
    members = np.zeros(channels, np.int64)
    members[0] = (1 << channels) - 1
    host = np.zeros(ISSUED + commands, np.int64)
    host[CLASSES] = 1
    return state, members, host


# Commands --------------------------------------------------------------------------------------------------------------


@compiled
def _when(p, s, c, target):
    """First cycle in which the timings allow a command."""
    at = s[c, p[target + GROUPS]]
    for k in range(1, p[_WIDTH]):
        at = max(at, s[c, p[target + GROUPS + k]])
    return at


@compiled
def _record(p, s, c, target, row, at):
    """Record that a command issues in cycle ``at``, and open or close its rows."""
    for k in range(p[target + TELL], p[target + TELL_END], 2):
        group = p[k]
        s[c, group] = max(s[c, group], at + p[k + 1])
    for k in range(p[target + RING], p[target + RING_END]):
        window = p[k]
        first, last = p[window], p[window + 1]
        for n in range(first, last):
            s[c, n] = s[c, n + 1]
        s[c, last] = at
        for n in range(p[window + 2], p[window + 3], 2):
            group = p[n]
            s[c, group] = max(s[c, group], s[c, first] + p[n + 1])
    rule = p[target + RULE]
    if rule == OPENS or rule == CLOSES:
        now = row if rule == OPENS else -1
        for k in range(p[target + BANKS], p[target + BANKS_END]):
            s[c, p[k]] = now
        for queue in range(4):
            place = p[_QUEUES] + queue * _ROOM + FIELDS * s[c, 3 * queue + _FIRST]
            for k in range(s[c, 3 * queue + _SEGMENTS]):
                s[c, place + FIELDS * k + NEXT] = -1


@compiled
def _next(p, s, c, place):
    """The command that a segment's first request needs next. It is looked up again when rows have changed."""
    command = s[c, place + NEXT]
    if command < 0:
        command = s[c, place + TARGET]
        if p[command + RULE] == NEEDS:
            row = s[c, place + ROW]
            opened, closed, other = False, False, False
            for k in range(p[command + BANKS], p[command + BANKS_END]):
                found = s[c, p[k]]
                if found == row:
                    opened = True
                elif found == -1:
                    closed = True
                else:
                    other = True
            if other or (opened and closed):
                command = p[command + PRECHARGE]
            elif closed:
                command = p[command + ACTIVATE]
        s[c, place + NEXT] = command
    return command


# Queues ----------------------------------------------------------------------------------------------------------------


@compiled
def _push(p, s, c, queue, target, row, where, count, address, merge):
    """Put requests at the end of a queue. Returns whether they are a new segment."""
    base = p[_QUEUES] + queue * _ROOM
    s[c, 3 * queue + _REQUESTS] += count
    first, segments = s[c, 3 * queue + _FIRST], s[c, 3 * queue + _SEGMENTS]
    place = base + FIELDS * (first + segments)
    if merge and segments > 0:
        last = place - FIELDS
        if s[c, last + TARGET] == target and s[c, last + ROW] == row and s[c, last + WHERE] == where:
            s[c, last + COUNT] += count
            return False
    if first + segments == SPACE:
        for k in range(FIELDS * segments):
            s[c, base + k] = s[c, base + FIELDS * first + k]
        s[c, 3 * queue + _FIRST] = 0
        place = base + FIELDS * segments
    s[c, place + TARGET], s[c, place + ROW], s[c, place + WHERE] = target, row, where
    s[c, place + COUNT], s[c, place + ADDRESS], s[c, place + NEXT] = count, address, -1
    s[c, 3 * queue + _SEGMENTS] = segments + 1
    return True


@compiled
def _remove(p, s, c, queue, segment):
    """Take the first request of a segment out of its queue."""
    base = p[_QUEUES] + queue * _ROOM
    s[c, 3 * queue + _REQUESTS] -= 1
    place = base + FIELDS * segment
    s[c, place + COUNT] -= 1
    if s[c, place + COUNT] == 0:
        s[c, 3 * queue + _SEGMENTS] -= 1
        if segment == s[c, 3 * queue + _FIRST]:
            s[c, 3 * queue + _FIRST] += 1
        else:
            for k in range(place, base + FIELDS * (s[c, 3 * queue + _FIRST] + s[c, 3 * queue + _SEGMENTS])):
                s[c, k] = s[c, k + FIELDS]


@compiled
def _against_hit(p, s, c, queue, command, where):
    """Whether a queued request whose row is open keeps a command back."""
    place = p[_QUEUES] + queue * _ROOM + FIELDS * s[c, 3 * queue + _FIRST]
    hit = False
    for _ in range(s[c, 3 * queue + _SEGMENTS]):
        target = s[c, place + TARGET]
        if not hit and target >= 0 and p[target + RULE] == NEEDS and _next(p, s, c, place) == target:
            if p[_ADDRESSES_WAIT]:
                hit = s[c, place + WHERE] == where
            else:
                for k in range(p[target + BANKS], p[target + BANKS_END]):
                    for n in range(p[command + BANKS], p[command + BANKS_END]):
                        hit = hit or p[k] == p[n]
        place += FIELDS
    return hit


@compiled
def _best(p, s, c, queue, clock):
    """First ready, then first come. Behind a barrier only row commands issue, and none issues against a queued row hit.

    Returns the segment or -1, its next command (-1: a barrier), and whether this command is ready. The last value is
    the first cycle in which any command is ready.
    """
    base = p[_QUEUES] + queue * _ROOM
    at, command, ready, soon = -1, -1, False, _FAR
    dropped = False
    while not ready and s[c, 3 * queue + _SEGMENTS] > 0 and s[c, base + FIELDS * s[c, 3 * queue + _FIRST] + TARGET] < 0:
        if dropped and p[_BARRIERS_TURN]:
            at, ready = s[c, 3 * queue + _FIRST], True
        else:
            dropped = True
            _remove(p, s, c, queue, s[c, 3 * queue + _FIRST])
    segments = s[c, 3 * queue + _SEGMENTS]
    if not ready and segments > 0:
        at = s[c, 3 * queue + _FIRST]
        place = base + FIELDS * at
        command = _next(p, s, c, place)
        soon = _when(p, s, c, command)
        ready = soon <= clock
        head, end, rest = place, place + FIELDS * segments, _FAR
        barrier, several = False, p[_WIDTH] > 1
        while not ready:
            place += FIELDS
            if place == end:
                soon = min(soon, rest)
                if queue == PIM and s[c, head + COUNT] > 1 and command == s[c, head + TARGET]:
                    s[c, _QUIET] = rest
                break
            if s[c, place + TARGET] < 0:
                barrier = True
                continue
            needed = s[c, place + NEXT]  # without a call: most time is spent here
            if needed < 0:
                needed = _next(p, s, c, place)
            rule = p[needed + RULE]
            row_command = rule == OPENS or rule == CLOSES
            if barrier and not row_command:
                continue
            then = s[c, p[needed + GROUPS]]
            if several:
                then = _when(p, s, c, needed)
            if then > clock:
                rest = min(rest, then)
            elif not (rule == CLOSES or (rule != NEEDS and p[_ADDRESSES_WAIT])) or not _against_hit(
                p, s, c, queue, needed, s[c, place + WHERE]
            ):
                at, command, ready = (place - base) // FIELDS, needed, True
    return at, command, ready, soon


# A cycle of a channel --------------------------------------------------------------------------------------------------


@compiled
def _interrupts(p, s, c, queue, segment, command):
    """Whether a command closes the row of a plain request that has opened it and waits for its access."""
    interrupts = False
    if s[c, 3 * ACTIVE + _SEGMENTS] > 0 and p[command + RULE] == CLOSES:
        where = s[c, p[_QUEUES] + queue * _ROOM + FIELDS * segment + WHERE]
        place = p[_QUEUES] + ACTIVE * _ROOM + FIELDS * s[c, 3 * ACTIVE + _FIRST]
        for _ in range(s[c, 3 * ACTIVE + _SEGMENTS]):
            interrupts = interrupts or s[c, place + WHERE] == where
            place += FIELDS
    return interrupts


@compiled
def _refresh(p, s, c):
    """First refresh that waits, its target, and its next command: the precharge of all banks while one is open, or
    itself.
    """
    which = p[_REFRESHES] - s[c, _WAITING]
    while which < 0:
        which += p[_REFRESHES]
    refresh = p[_REFRESHED + which]
    command = refresh
    for k in range(p[_ROWS], p[_READY]):
        if s[c, k] != -1:
            command = p[refresh + PRECHARGE]
    return which, refresh, command


@compiled
def _choose(p, s, c, clock, other):
    """Choose the command that has its turn. If ``other`` is 0 or 1, the command must not use this command bus.

    A waiting refresh goes before all requests, except requests that have opened their row. It leaves turns only to
    column commands that are the second choice of a cycle. Returns queue (4: refresh) or -1, segment, command; the
    command bus of the last command checked (-1: none); and when something can happen next.
    """
    queue, segment, command, bus, soon = -1, 0, -1, -1, _FAR
    blocked = False
    if s[c, 3 * ACTIVE + _SEGMENTS] > 0:
        segment, command, ready, soon = _best(p, s, c, ACTIVE, clock)
        bus = p[command + BUS]
        if ready and bus != other:
            queue = ACTIVE
        elif ready:
            soon = clock + 1
    if queue < 0 and s[c, _WAITING] > 0:
        _, _, command = _refresh(p, s, c)
        bus = p[command + BUS]
        then = _when(p, s, c, command)
        if bus == other:
            soon = clock + 1
        elif then > clock:
            soon = min(soon, then)
            blocked = True
        else:
            queue = 4
    if queue < 0 and not blocked:
        s[c, _NEAR] = 0
        for step in range(2):
            which = PIM
            if step == 1:
                reads, writes = s[c, 3 * READS + _REQUESTS], s[c, 3 * WRITES + _REQUESTS]
                if s[c, _WRITING] == 0:
                    if writes > HIGH or reads == 0:
                        s[c, _WRITING] = 1
                elif writes < LOW and reads != 0:
                    s[c, _WRITING] = 0
                which = WRITES if s[c, _WRITING] else READS
            if queue < 0:
                bus = -1
                if s[c, 3 * which + _SEGMENTS] > 0:
                    segment, command, ready, then = _best(p, s, c, which, clock)
                    soon = min(soon, then)
                    if command >= 0:
                        bus = p[command + BUS]
                    if ready and (other < 0 or (bus >= 0 and bus != other)):
                        queue = which
                        s[c, _NEAR] = which == PIM
                    elif ready:
                        soon = clock + 1
    if 0 <= queue < 4 and command >= 0 and s[c, 3 * ACTIVE + _SEGMENTS] > 0:
        if _interrupts(p, s, c, queue, segment, command):
            queue, soon = -1, clock + 1
    return queue, segment, command, bus, soon


@compiled
def _issue(p, s, c, queue, segment, command, clock):
    """Issue the chosen command and advance its request. Returns its address, or its refresh (-1 and below)."""
    place = p[_QUEUES] + queue * _ROOM + FIELDS * segment
    address = 0
    if command < 0:
        _remove(p, s, c, queue, segment)  # a barrier that takes a turn
    else:
        if queue == 4:
            which, target, _ = _refresh(p, s, c)
            row, address = 0, -1 - which
        else:
            target, row, address = s[c, place + TARGET], s[c, place + ROW], s[c, place + ADDRESS]
        _record(p, s, c, command, row, clock)
        if command == target:
            if queue == 4:
                s[c, _WAITING] -= 1
            else:
                if p[target + COMMAND] == p[_READ]:
                    # Data come back in order, one request a cycle.
                    s[c, _DONE] = max(s[c, _DONE] + 1, clock + p[target + LATENCY])
                _remove(p, s, c, queue, segment)
        elif queue < 4 and p[command + RULE] == OPENS and not s[c, _NEAR]:
            # A plain request that has opened its row goes before others; one request too many is lost.
            where = s[c, place + WHERE]
            _remove(p, s, c, queue, segment)
            if s[c, 3 * ACTIVE + _REQUESTS] < CAPACITY:
                _push(p, s, c, ACTIVE, target, row, where, 1, address, False)
    return address


@compiled
def _note(p, clock, members, command, address, host, log):
    """Count a command, and write it to the log."""
    if command >= 0:
        host[ISSUED + p[command + COMMAND]] += ones(members)
        if p[command + BUS] == 1:
            host[MOVED] = clock
        if len(log):
            n = host[LOGGED]
            log[n, 0], log[n, 1], log[n, 2], log[n, 3] = clock, members, p[command + COMMAND], address
            host[LOGGED] += 1


@compiled
def _tick(p, s, c, clock):
    """Run one cycle of a channel.

    Returns up to two commands (-1: none) with the addresses of their requests, and when something can happen next.
    """
    due = _FAR
    if p[_INTERVAL] > 0:
        if clock >= s[c, _DUE]:
            s[c, _WAITING] += p[_REFRESHES]
            s[c, _DUE] += p[_INTERVAL]
        due = s[c, _DUE]
    first, second, address, address2 = -1, -1, 0, 0
    if clock < s[c, _QUIET]:
        place = p[_QUEUES] + FIELDS * s[c, _FIRST]
        command = s[c, place + NEXT]
        if _when(p, s, c, command) <= clock:
            first, address = command, s[c, place + ADDRESS]
            _record(p, s, c, command, 0, clock)
            s[c, _REQUESTS] -= 1
            s[c, place + COUNT] -= 1
            if s[c, place + COUNT] == 1:
                s[c, _QUIET] = 0
        soon = _when(p, s, c, command)
        if s[c, _QUIET]:
            soon = min(soon, s[c, _QUIET])
        else:
            soon = clock + 1
    else:
        s[c, _QUIET] = 0
        queue, segment, command, bus, soon = _choose(p, s, c, clock, -1)
        if queue >= 0:
            s[c, _QUIET] = 0
            first = command
            bus = -1 if command < 0 else p[command + BUS]
            address = _issue(p, s, c, queue, segment, command, clock)
            soon = clock + 1 if bus < 0 else _FAR  # waiting requests are checked again now
        if bus >= 0:
            queue, segment, command, _, then = _choose(p, s, c, clock, bus)
            soon = min(soon, then)
            if queue >= 0:
                s[c, _QUIET] = 0
                second = command
                address2 = _issue(p, s, c, queue, segment, command, clock)
                soon = clock + 1
        plain = s[c, 3 * READS + _REQUESTS] + s[c, 3 * WRITES + _REQUESTS] + s[c, 3 * ACTIVE + _REQUESTS]
        if s[c, _WAITING] + plain > 0:
            s[c, _QUIET] = 0
        s[c, _QUIET] = min(s[c, _QUIET], due)
    return first, address, second, address2, min(soon, due)


# Classes ---------------------------------------------------------------------------------------------------------------


@compiled
def _alike(p, s, a, b, clock):
    """Whether two classes will behave the same from now on."""
    for k in range(_WRITING, _DONE):
        if s[a, k] != s[b, k]:
            return False
    if s[a, _DONE] != s[b, _DONE] and (s[a, _DONE] >= clock or s[b, _DONE] >= clock):
        return False
    for k in range(p[_ROWS], p[_READY]):
        if s[a, k] != s[b, k]:
            return False
    for q in range(4):
        segments = s[a, 3 * q + _SEGMENTS]
        if segments != s[b, 3 * q + _SEGMENTS] or s[a, 3 * q + _REQUESTS] != s[b, 3 * q + _REQUESTS]:
            return False
        x = p[_QUEUES] + q * _ROOM + FIELDS * s[a, 3 * q + _FIRST]
        y = p[_QUEUES] + q * _ROOM + FIELDS * s[b, 3 * q + _FIRST]
        for k in range(FIELDS * segments):
            if k % FIELDS != NEXT and s[a, x + k] != s[b, y + k]:
                return False
    for k in range(p[_READY], p[_RINGS]):
        if s[a, k] != s[b, k] and (s[a, k] > clock + 1 or s[b, k] > clock + 1):
            return False
    for k in range(p[_RINGS], p[_QUEUES]):
        if s[a, k] != s[b, k]:
            return False
    return True


@compiled
def _join(p, s, members, host):
    i = 0
    while i < host[CLASSES]:
        j = i + 1
        while j < host[CLASSES]:
            if _alike(p, s, i, j, host[CLOCK]):
                members[i] |= members[j]
                s[i, _ASLEEP], s[i, _QUIET] = min(s[i, _ASLEEP], s[j, _ASLEEP]), min(s[i, _QUIET], s[j, _QUIET])
                host[CLASSES] -= 1
                n = host[CLASSES]
                s[j], members[j] = s[n], members[n]
            else:
                j += 1
        i += 1


@compiled
def _divide(s, members, host, k, chosen):
    """Make a new class of the chosen members of a class; returns its number."""
    n = host[CLASSES]
    host[CLASSES] += 1
    s[n], members[n] = s[k], chosen
    members[k] &= ~chosen
    return n


@compiled
def _forwarded(p, s, c, address):
    """Whether a queued write of this address answers a read."""
    place = p[_QUEUES] + WRITES * _ROOM + FIELDS * s[c, 3 * WRITES + _FIRST]
    for _ in range(s[c, 3 * WRITES + _SEGMENTS]):
        if s[c, place + ADDRESS] == address:
            return True
        place += FIELDS
    return False


@compiled
def _give(p, s, members, host, kind, mask, address, step, count, lookup):
    """Give a request, ``count`` times, to the channels of the mask; False if a full queue holds up the rest."""
    queue = lookup[kind, 0]
    merge = queue == PIM and not p[APART]
    for k in range(host[CLASSES]):
        chosen = members[k] & mask
        if chosen and chosen != members[k]:
            _divide(s, members, host, k, chosen)
    while host[GIVEN] < count:
        at = address + step * host[GIVEN]
        where = (at >> p[_BELOW_BANK]) & ((1 << p[_BANK_BITS]) - 1)
        row = (at >> p[_BELOW_ROW]) & ((1 << p[_ROW_BITS]) - 1)
        target = lookup[kind, 1 + where]
        if target < 0:
            row, where = 0, 0
        left = host[LEFT]
        todo = left if left else mask
        room = 1
        if merge and not left:
            room = count - host[GIVEN]
            if step > 0:
                room = min(room, ((at | ((1 << p[_BELOW_ROW]) - 1)) - at) // step + 1)  # to the end of the row
        full = 0
        for k in range(host[CLASSES]):
            if members[k] & todo:
                free = CAPACITY - s[k, 3 * queue + _REQUESTS]
                if free < room and not (queue == READS and _forwarded(p, s, k, at)):
                    if free == 0:
                        full |= members[k]
                    else:
                        room = free
        stopped = 0
        if full:
            # In order: channels before the first full channel get the request, all others wait.
            room = 1
            stopped = full & todo
            stopped &= -stopped
            todo &= stopped - 1
        for k in range(host[CLASSES]):
            chosen = members[k] & todo
            if not chosen:
                continue
            which = k
            if chosen != members[k]:
                which = _divide(s, members, host, k, chosen)
            if queue == READS and _forwarded(p, s, which, at):
                s[which, _DONE] = max(s[which, _DONE] + 1, host[CLOCK] + 1)
            elif _push(p, s, which, queue, target, row, where, room, at, merge):
                s[which, _ASLEEP], s[which, _QUIET] = 0, 0
        if stopped:
            host[LEFT] = (left if left else mask) & ~(stopped - 1)
            return False
        host[LEFT] = 0
        host[GIVEN] += room
    host[GIVEN] = 0
    return True


@compiled
def advance(p, s, members, host, kinds, masks, addresses, steps, counts, final, lookup, log):
    """Run until all of these requests are in the queues (``final``: until all channels are through).

    Returns False if this is not reached: ``log`` is nearly full, or nothing can happen any more. ``p`` is the image.
    ``lookup`` has for each kind of request the queue, then its target by the bank of its address. ``log``: cycle,
    members, command, address within the channel.
    """
    total = len(kinds)
    p, s, members, host = borrowed(p), borrowed(s), borrowed(members), borrowed(host)
    log, lookup = borrowed(log), borrowed(lookup)
    s[:, _ASLEEP] = 0
    host[STUCK] = 0
    while True:
        if len(log) and host[LOGGED] + 2 * len(members) > len(log):
            return False
        while host[HEAD] < total:
            n = host[HEAD]
            if not _give(p, s, members, host, kinds[n], masks[n], addresses[n], steps[n], counts[n], lookup):
                break
            host[HEAD] += 1
            host[POPPED] += 1
        if host[HEAD] == total and not final:
            return True
        soon = _FAR
        for k in range(host[CLASSES]):
            soon = min(soon, s[k, _ASLEEP])
            if s[k, _DONE] > host[CLOCK]:
                soon = min(soon, s[k, _DONE])
        if soon >= _FAR or host[CLOCK] > host[MOVED] + PATIENCE:
            host[STUCK] = 1
            return False
        clock = max(soon, host[CLOCK] + 1)
        host[CLOCK] = clock
        drained = host[HEAD] == total
        for k in range(host[CLASSES]):
            if s[k, _ASLEEP] <= clock:
                first, address, second, address2, s[k, _ASLEEP] = _tick(p, s, k, clock)
                _note(p, clock, members[k], first, address, host, log)
                _note(p, clock, members[k], second, address2, host, log)
            if drained:
                drained = (
                    s[k, _DONE] <= clock
                    and s[k, _WAITING] == 0
                    and s[k, _REQUESTS] == 0
                    and s[k, 3 * READS + _REQUESTS] == 0
                    and s[k, 3 * WRITES + _REQUESTS] == 0
                    and s[k, 3 * ACTIVE + _REQUESTS] == 0
                )
        if drained:
            return True
        if host[CLASSES] > 1 and host[POPPED] >= 64:
            host[POPPED] = 0
            _join(p, s, members, host)
