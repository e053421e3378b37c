"""The AiM front end and its channel controllers, cycle for cycle, as compiled code over plain arrays.

A host decodes one instruction a cycle and sends its requests to all channels of the mask. A request that a channel's
queue refuses waits and holds the host. Channel controllers tick every cycle. Cycles in which nothing can happen are
skipped. Channels with the same history are one *class*: one row of the state with a mask of members. A class is divided
when an instruction addresses a part of it. Classes that have become alike are joined again.

With its quirks, this is the public AiM simulator of CENT. Without them, it behaves as such hardware would.
:data:`FLAGS` has the differences.
"""

from __future__ import annotations

import numpy as np

from .compiled import compiled, ones
from .tables import (
    ACTIVATE,
    BANK_START,
    BANKS,
    CLOSES,
    LATENCY,
    NUMBER,
    PRECHARGE,
    REGISTER_MODE,
    RETURNS,
    RULE,
    earliest,
    issue,
    next_command,
)

__all__ = ["FLAGS", "KINDS", "Layout", "advance", "fresh_state"]

#: Kinds of instructions for the host.
KINDS = COMMAND, READ, WRITE, SYNC, NOTHING = range(5)

#: Quirks, in the order of the flags' array:
#: - while writes are queued, a read is answered from them without a command, whatever its address
#: - a synchronisation does not wait for requests that have opened their row, nor for queued requests
#: - an activation of all banks may find some of them open (at the same row)
#: - a request that has opened its row is lost if too many such requests wait
#: - a precharge that would close a row for which a request waits takes its turn, but is not issued
FLAGS = ("forwards_reads", "synchronises_early", "activates_open_banks", "loses_requests", "wastes_turns")

CHANNELS = 32
CAPACITY = 33  # of every queue
COMING = 160  # reads that have been issued but have not returned
HIGH, LOW = 25.6, 6.4  # queued writes at which their turn begins and ends

_FAR = 1 << 60


class Layout:
    """Places of the parts of a class's row of the state."""

    def __init__(self, banks, slots, ring_times):
        place = 0
        self.parts = {}
        for name, size in (
            ("rows", banks),
            ("last", slots),
            ("rings", ring_times),
            ("scalars", 10),
            ("commands", 2 * CAPACITY),
            ("reads", 3 * CAPACITY),
            ("writes", 3 * CAPACITY),
            ("active", 3 * CAPACITY),
            ("returns", 2 * COMING),
        ):
            self.parts[name] = place
            place += size
        self.size = place
        self.array = np.array([*self.parts.values(), place], np.int64)


# Indices of the layout's array, and of the scalars.
_ROWS, _LAST, _RINGS, _SCALARS, _COMMANDS, _READS, _WRITES, _ACTIVE, _RETURNS, _SIZE = range(10)
_MODE, _WRITING, _NC, _NR, _NW, _NA, _NP, _DONE, _LEFT, _DUE = range(10)

# The host: next instruction, callbacks that the host waits for, whether it is blocked, whether it has reached its end;
# cycle; classes; instructions since classes were last compared.
HEAD, WAIT, BLOCKED, CLOCK, CLASSES, POPPED, STUCK, LOGGED = range(8)


#: Cycle of the next refresh where there is none.
NEVER = -(1 << 30)


def fresh_state(layout, interval):
    """All rows closed, nothing issued: state of the classes, their members, and the host."""
    state = np.zeros((CHANNELS, layout.size), np.int64)
    state[0, layout.parts["rows"] : layout.parts["last"]] = -1
    state[0, layout.parts["last"] : layout.parts["scalars"]] = -_FAR
    state[0, layout.parts["scalars"] + _DONE] = -1
    state[0, layout.parts["scalars"] + _DUE] = interval or NEVER
    members = np.zeros(CHANNELS, np.int64)
    members[0] = (1 << CHANNELS) - 1
    host = np.zeros(8, np.int64)
    host[CLASSES] = 1
    return state, members, host


@compiled
def _best(t, s, layout, queue, count, clock, flags, found, sorted_by_age):
    """FR-FCFS: requests whose next command is ready go first, then the oldest.

    ``found``: place in the queue or -1, next command, whether this command is ready, and the first cycle in which any
    command is ready.
    """
    rows, last, rings = s[: layout[_LAST]], s[layout[_LAST] : layout[_RINGS]], s[layout[_RINGS] : layout[_SCALARS]]
    found[0], found[2], found[3] = -1, 0, _FAR
    oldest = 0
    for n in range(count):
        target, row, arrived = s[queue + 3 * n], s[queue + 3 * n + 1], s[queue + 3 * n + 2]
        if n and target == s[queue + 3 * n - 3] and row == s[queue + 3 * n - 2] and arrived >= s[queue + 3 * n - 1]:
            continue  # equal to the request before, and no older
        command = next_command(t, rows, target, row, flags[2])
        if not flags[4] and _waited_for(t, s, layout, command):
            continue
        at = earliest(t, last, rings, command)
        found[3] = min(found[3], at)
        ready = at <= clock
        if found[0] < 0 or (ready and not found[2]) or (ready == (found[2] == 1) and arrived < oldest):
            found[0], found[1], found[2], oldest = n, command, ready, arrived
            if ready and sorted_by_age:
                return


@compiled
def _waited_for(t, s, layout, command):
    """Whether a precharge of one bank would close the row of a request that has opened it."""
    if t[t[RULE] + command] != CLOSES or t[t[BANK_START] + command + 1] - t[t[BANK_START] + command] != 1:
        return False
    bank = t[t[BANKS] + t[t[BANK_START] + command]]
    active = layout[_ACTIVE]
    for n in range(s[layout[_SCALARS] + _NA]):
        if t[t[BANKS] + t[t[BANK_START] + s[active + 3 * n]]] == bank:
            return True
    return False


@compiled
def _drop(s, queue, place, count, width):
    for k in range(queue + width * place, queue + width * (count - 1)):
        s[k] = s[k + width]


@compiled
def _send(s, layout, kind, target, row, blocks, clock, flags):
    """Give a request to a channel; False if the channel has no room for it now."""
    c = layout[_SCALARS]
    if kind == COMMAND or kind == SYNC:
        if s[c + _NR] > 0 or s[c + _NW] > 0 or s[c + _NC] >= CAPACITY:
            return False
        place = layout[_COMMANDS] + 2 * s[c + _NC]
        s[place] = -1 if kind == SYNC else target
        s[place + 1] = row
        s[c + _NC] += 1
        return True
    if s[c + _NC] > 0:
        return False
    if kind == READ and s[c + _NW] > 0 and flags[0]:
        if s[c + _NP] >= COMING:
            return False
        place = layout[_RETURNS] + 2 * s[c + _NP]
        s[place], s[place + 1] = 0, clock + 1
        s[c + _NP] += 1
        return True
    number, queue = (_NR, _READS) if kind == READ else (_NW, _WRITES)
    if s[c + number] >= CAPACITY:
        return False
    place = layout[queue] + 3 * s[c + number]
    s[place], s[place + 1], s[place + 2] = target, row, clock
    s[c + number] += 1
    return True


@compiled
def _tick(t, s, layout, clock, mode_switch, refresh, interval, flags, found, out):
    """Run one cycle of a channel. Returns whether anything happened.

    ``out`` receives:

    - the return to the host: 0 nothing, 1 data, 2 data or synchronisation that the host waits for
    - the target issued or -1, and its row
    - the cycle in which something can happen next
    """
    c = layout[_SCALARS]
    rows, last, rings = s[: layout[_LAST]], s[layout[_LAST] : layout[_RINGS]], s[layout[_RINGS] : c]
    out[0], out[1], out[3] = 0, -1, _FAR
    happened = False
    if s[c + _NP] > 0:
        place = layout[_RETURNS]
        flag, at = s[place], s[place + 1]
        if flag == 2:
            at = max(at, s[c + _DONE] + 1)
        if at <= clock:
            out[0] = 2 if flag else 1
            _drop(s, place, 0, s[c + _NP], 2)
            s[c + _NP] -= 1
            happened = True
        else:
            out[3] = min(out[3], at)

    # Source: 0 the next command of the host, 1 a read, 2 a write, 3 a request that has opened its row, 4 refresh.
    source, place, command, target, row = -1, 0, -1, -1, 0
    if interval > 0 and clock >= s[c + _DUE]:
        command = refresh
        for k in range(t[t[BANK_START] + refresh], t[t[BANK_START] + refresh + 1]):
            if rows[t[t[BANKS] + k]] != -1:
                command = t[t[PRECHARGE] + refresh]
        at = earliest(t, last, rings, command)
        if at > clock:
            out[3] = min(out[3], at)
            return happened
        source, target = 4, refresh
    elif s[c + _NA] > 0:
        _best(t, s, layout, layout[_ACTIVE], s[c + _NA], clock, flags, found, False)
        if found[0] >= 0 and found[2]:
            source, place, command = 3, found[0], found[1]
            target, row = s[layout[_ACTIVE] + 3 * place], s[layout[_ACTIVE] + 3 * place + 1]
        else:
            out[3] = min(out[3], found[3])
    if interval > 0 and clock < s[c + _DUE]:
        out[3] = min(out[3], s[c + _DUE])
    if source < 0 and s[c + _NC] > 0:
        target, row = s[layout[_COMMANDS]], s[layout[_COMMANDS] + 1]
        if target < 0:
            if not flags[1] and s[c + _NA] > 0:
                return happened
            end = layout[_RETURNS] + 2 * s[c + _NP]
            s[end], s[end + 1] = 2, clock
            s[c + _NP] += 1
            _drop(s, layout[_COMMANDS], 0, s[c + _NC], 2)
            s[c + _NC] -= 1
            return True
        command = next_command(t, rows, target, row, flags[2])
        at = earliest(t, last, rings, command)
        if at <= clock:
            source, place = 0, 0
        else:
            out[3] = min(out[3], at)
    elif source < 0:
        reads, writes = s[c + _NR], s[c + _NW]
        if s[c + _WRITING] == 0:
            if writes > HIGH or reads == 0:
                s[c + _WRITING] = 1
        elif writes < LOW and reads != 0:
            s[c + _WRITING] = 0
        queue, count = (layout[_WRITES], writes) if s[c + _WRITING] else (layout[_READS], reads)
        if count > 0:
            _best(t, s, layout, queue, count, clock, flags, found, True)
            if found[0] >= 0 and found[2]:
                source, place, command = 2 if s[c + _WRITING] else 1, found[0], found[1]
                target, row = s[queue + 3 * place], s[queue + 3 * place + 1]
            else:
                out[3] = min(out[3], found[3])
    if source < 0:
        return happened
    if flags[4] and _waited_for(t, s, layout, command):
        out[3] = clock + 1
        return True
    if not flags[3] and 1 <= source <= 2 and command == t[t[ACTIVATE] + target] and s[c + _NA] >= CAPACITY:
        return happened

    if mode_switch >= 0 and t[t[REGISTER_MODE] + command] != s[c + _MODE]:
        s[c + _MODE] = 1 - s[c + _MODE]
        issue(t, last, rings, rows, mode_switch, 0, clock)
        out[1], out[2] = mode_switch, 0
        return True
    issue(t, last, rings, rows, command, row, clock)
    out[1], out[2] = command, row
    if source == 4:
        if command == refresh:
            s[c + _DUE] += interval
    elif command == target:
        if t[t[RETURNS] + target]:
            end = layout[_RETURNS] + 2 * s[c + _NP]
            s[end], s[end + 1] = 1 if source == 0 else 0, clock + t[t[LATENCY] + target]
            s[c + _NP] += 1
        else:
            s[c + _DONE] = max(s[c + _DONE], clock + t[t[LATENCY] + target])
        if source == 0:
            _drop(s, layout[_COMMANDS], 0, s[c + _NC], 2)
            s[c + _NC] -= 1
        elif source == 1:
            _drop(s, layout[_READS], place, s[c + _NR], 3)
            s[c + _NR] -= 1
        elif source == 2:
            _drop(s, layout[_WRITES], place, s[c + _NW], 3)
            s[c + _NW] -= 1
        else:
            _drop(s, layout[_ACTIVE], place, s[c + _NA], 3)
            s[c + _NA] -= 1
    elif 1 <= source <= 2 and command == t[t[ACTIVATE] + target]:
        number, queue = (_NR, layout[_READS]) if source == 1 else (_NW, layout[_WRITES])
        arrived = s[queue + 3 * place + 2]
        _drop(s, queue, place, s[c + number], 3)
        s[c + number] -= 1
        if s[c + _NA] < CAPACITY:
            end = layout[_ACTIVE] + 3 * s[c + _NA]
            s[end], s[end + 1], s[end + 2] = target, row, arrived
            s[c + _NA] += 1
    return True


@compiled
def _alike(a, b, layout, horizon, ring_horizon, clock):
    """Whether two classes will behave the same from now on."""
    c = layout[_SCALARS]
    for k in range(layout[_LAST]):
        if a[k] != b[k]:
            return False
    for k in range(len(horizon)):
        x, y = a[layout[_LAST] + k], b[layout[_LAST] + k]
        if x != y and (x + horizon[k] > clock + 1 or y + horizon[k] > clock + 1):
            return False
    for k in range(len(ring_horizon)):
        x, y = a[layout[_RINGS] + k], b[layout[_RINGS] + k]
        if x != y and (x + ring_horizon[k] > clock + 1 or y + ring_horizon[k] > clock + 1):
            return False
    for k in range(10):
        if k != _DONE and a[c + k] != b[c + k]:
            return False
    if a[c + _DONE] != b[c + _DONE] and (a[c + _DONE] >= clock or b[c + _DONE] >= clock):
        return False
    for k in range(2 * a[c + _NC]):
        if a[layout[_COMMANDS] + k] != b[layout[_COMMANDS] + k]:
            return False
    for k in range(3 * a[c + _NR]):
        if a[layout[_READS] + k] != b[layout[_READS] + k]:
            return False
    for k in range(3 * a[c + _NW]):
        if a[layout[_WRITES] + k] != b[layout[_WRITES] + k]:
            return False
    for k in range(3 * a[c + _NA]):
        if a[layout[_ACTIVE] + k] != b[layout[_ACTIVE] + k]:
            return False
    for k in range(2 * a[c + _NP]):
        if a[layout[_RETURNS] + k] != b[layout[_RETURNS] + k]:
            return False
    return True


@compiled
def _join(state, members, host, layout, horizon, ring_horizon):
    i = 0
    while i < host[CLASSES]:
        j = i + 1
        while j < host[CLASSES]:
            if _alike(state[i], state[j], layout, horizon, ring_horizon, host[CLOCK]):
                members[i] |= members[j]
                host[CLASSES] -= 1
                state[j] = state[host[CLASSES]]
                members[j] = members[host[CLASSES]]
            else:
                j += 1
        i += 1


@compiled
def advance(
    t,
    state,
    members,
    host,
    layout,
    horizon,
    ring_horizon,
    kinds,
    targets,
    ops,
    masks,
    rows,
    blocks,
    counts,
    mode_switch,
    refresh,
    interval,
    flags,
    log,
):
    """Run until the host has finished these instructions (or ``log`` is nearly full, or nothing can happen any more).

    Issued commands are added to ``counts`` by number, summed over channels. ``log``: rows of cycle, members, target,
    row.
    """
    total = len(kinds)
    found = np.zeros(4, np.int64)
    out = np.zeros(4, np.int64)
    c = layout[_SCALARS]
    host[STUCK] = 0
    asleep = np.zeros(CHANNELS, np.int64)  # nothing happens to a class before that cycle unless it receives a request
    while host[HEAD] < total:
        if len(log) and host[LOGGED] + CHANNELS > len(log):
            return
        head = host[HEAD]
        happened = False
        waiting = False
        clock = host[CLOCK]
        for k in range(host[CLASSES]):
            s = state[k]
            if s[c + _LEFT] > 0:
                waiting = True
                while s[c + _LEFT] > 0 and _send(
                    s, layout, kinds[head], targets[head], rows[head], blocks[head], clock, flags
                ):
                    s[c + _LEFT] -= 1
                    asleep[k] = 0
                    happened = True
        if not host[BLOCKED]:
            if waiting:
                left = False
                for k in range(host[CLASSES]):
                    left = left or state[k, c + _LEFT] > 0
                if not left:
                    host[HEAD] += 1
                    host[POPPED] += 1
            else:
                happened = True
                if kinds[head] == NOTHING or masks[head] == 0 or ops[head] == 0:
                    host[HEAD] += 1
                else:
                    left = False
                    for k in range(host[CLASSES]):
                        chosen = members[k] & masks[head]
                        if chosen == 0:
                            continue
                        which = k
                        if chosen != members[k]:
                            which = host[CLASSES]
                            host[CLASSES] += 1
                            state[which] = state[k]
                            asleep[which] = asleep[k]
                            members[which] = chosen
                            members[k] &= ~chosen
                        s = state[which]
                        rest = ops[head]
                        while rest > 0 and _send(
                            s, layout, kinds[head], targets[head], rows[head], blocks[head], clock, flags
                        ):
                            rest -= 1
                        s[c + _LEFT] = rest
                        left = left or rest > 0
                        asleep[which] = 0
                    if blocks[head]:
                        host[BLOCKED] = 1
                        host[WAIT] = ones(masks[head]) * ops[head]
                    elif not left:
                        host[HEAD] += 1
                        host[POPPED] += 1
        clock += 1
        host[CLOCK] = clock
        soon = _FAR
        for k in range(host[CLASSES]):
            if asleep[k] > clock:
                soon = min(soon, asleep[k])
                continue
            if _tick(t, state[k], layout, clock, mode_switch, refresh, interval, flags, found, out):
                happened = True
                size = ones(members[k])
                if out[1] >= 0:
                    counts[t[t[NUMBER] + out[1]]] += size
                    if len(log):
                        n = host[LOGGED]
                        log[n, 0], log[n, 1], log[n, 2], log[n, 3] = clock, members[k], out[1], out[2]
                        host[LOGGED] += 1
                if out[0] == 2:
                    host[WAIT] -= size
                    if host[WAIT] == 0:
                        host[BLOCKED] = 0
                        host[HEAD] += 1
                        host[POPPED] += 64
            else:
                asleep[k] = out[3]
            soon = min(soon, out[3])
        if host[CLASSES] > 1 and host[POPPED] >= 64:
            host[POPPED] = 0
            _join(state, members, host, layout, horizon, ring_horizon)
            asleep[:] = 0
        if not happened:
            if soon >= _FAR:
                host[STUCK] = 1
                return
            if soon > clock + 1:
                host[CLOCK] = soon - 1
