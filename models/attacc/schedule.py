"""The requests of an attention layer in the order of AttAcc's generator of traces, as compiled code.

A *round* is the work of a stack on one head for each of its channels. Rounds go in pairs. While one round's scores are
calculated, the other round's query is written, and so on. A barrier follows every step. A last round without a partner
goes alone.

A head reads runs of groups of tokens, in ascending order. Without a selection, this is one run of all groups, and the heads
of a round share their requests. Heads with runs of their own take as many steps as the head of their round with the most
groups. They wait in the last steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..memory.compiled import compiled
from ..memory.pim_queue import KINDS

__all__ = ["BANK", "BANK_GROUP", "BUFFER", "GROUPS", "PHASES", "Runs", "Shape", "schedule"]

#: Where the units are.
BANK, BANK_GROUP, BUFFER = range(3)

#: Work of a step: of the first and the second round of a pair, or of a round alone.
PHASES = (
    "score {0}",
    "score {1} | softmax {0}",
    "context {0} | softmax {1}",
    "context {1}",
    "score {0}",
    "softmax {0}",
    "context {0}",
)

_MAC = (KINDS["MAC_AB"], KINDS["MAC_SB"], KINDS["MAC_PB"])
_WR_GB, _MV_SB, _MV_GB, _SFM, _BARRIER = (KINDS[name] for name in ("WR_GB", "MV_SB", "MV_GB", "SFM", "BARRIER"))

#: Groups of tokens between two moves of scores out of the units.
GROUPS = 16


class Shape(NamedTuple):
    """Values on which the requests of a layer depend.

    Attributes
    ----------
    placement : where the units are
    heads, channels : heads of the stack and its channels
    groups : groups of tokens that are worked on one after the other: accesses for one element of K of every token
    columns : accesses of a unit for one token's K
    passes : passes over V, each for some of its elements
    moves : columns of probabilities that each unit's buffer gets
    query : columns of the query that each unit's buffer gets
    ranks, bank_groups, banks : number of each in one part of the level above
    row, bank, bank_group, rank : bytes
    next_head, values : bytes from one round's K to the next, from K to V
    corrected : whether the errors of AttAcc's generator are corrected
    queries : queries that share each read. ``moves`` and ``query`` count the columns of all of them
    step : groups between two moves of scores out of the units
    """

    placement: int
    heads: int
    channels: int
    groups: int
    columns: int
    passes: int
    moves: int
    query: int
    ranks: int
    bank_groups: int
    banks: int
    column: int
    row: int
    bank: int
    bank_group: int
    rank: int
    next_head: int
    values: int
    corrected: int
    queries: int = 1
    step: int = GROUPS


class Runs(NamedTuple):
    """Groups of tokens that heads read.

    Attributes
    ----------
    first : int64 array of one more element than lists
        Place of each list's first run. A single list is for all heads.
    starts, ends : int64 arrays
        First group of each run; groups up to its end, from the first run of the list on.
    """

    first: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


@compiled
def _emit(out, n, kind, mask, address, step, count, phase):
    """Add a request to the requests before, if there is room. Returns the new number of requests."""
    if n < out.shape[1]:
        out[0, n], out[1, n], out[2, n], out[3, n], out[4, n], out[5, n] = kind, mask, address, step, count, phase
    return n + 1


@compiled
def _each(shape, out, n, kind, mask, address, phase):
    """Add a request for every query that shares the reads, each for the next place of a buffer."""
    return _emit(out, n, kind, mask, address, 1 if shape.queries > 1 else 0, shape.queries, phase)


@compiled
def _macs(shape, out, n, mask, base, first, count, phase):
    """Accesses of a head from number ``first`` on, in runs of neighbours."""
    per_row = shape.row // shape.column
    if shape.placement == BANK:
        return _emit(out, n, _MAC[0], mask, base + first * shape.column, shape.column, count, phase)
    if shape.placement == BANK_GROUP:
        while count > 0:
            column, rest = first % per_row, first // per_row
            run = min(count, per_row - column)
            address = base + rest % shape.banks * shape.bank + rest // shape.banks * shape.row + column * shape.column
            n = _emit(out, n, _MAC[1], mask, address, shape.column, run, phase)
            first += run
            count -= run
        return n
    groups = shape.bank_groups * shape.ranks
    for index in range(first, first + count):
        rest = index // groups
        place = rest // shape.banks
        address = (
            base
            + index % groups * shape.bank_group
            + rest % shape.banks * shape.bank
            + place // per_row * shape.row
            + place % per_row * shape.column
        )
        n = _emit(out, n, _MAC[2], mask, address, 0, 1, phase)
    return n


@compiled
def _item(shape, kind, base, item):
    """Address of a buffer's column. A query's columns go by bank, columns of probabilities by rank and bank group."""
    if kind == _WR_GB:
        return base + item // shape.query * shape.bank + item % shape.query
    unit, column = item // shape.moves, item % shape.moves
    return base + unit // shape.bank_groups * shape.rank + unit % shape.bank_groups * shape.bank_group + column


@compiled
def _items(shape, out, n, kind, mask, base, first, last, phase):
    """Columns of buffers from ``first`` up to, but without, ``last``, each to all channels of the mask."""
    per_unit = shape.query if kind == _WR_GB else shape.moves
    while first < last:
        run = min(last - first, per_unit - first % per_unit)
        n = _emit(out, n, kind, mask, _item(shape, kind, base, first), 1, run, phase)
        first += run
    return n


@compiled
def _share(shape, out, n, kind, channels, base, items, step, steps, phase):
    """The part of the columns that goes with one of ``steps`` steps.

    AttAcc deals out single requests, equally many with every step, and forgets the requests of the remainder.
    """
    mask = (1 << channels) - 1
    if shape.corrected:
        each = (items + steps - 1) // steps
        return _items(shape, out, n, kind, mask, base, min(items, step * each), min(items, (step + 1) * each), phase)
    each = items * channels // steps
    first, last = step * each, (step + 1) * each
    if first % channels:
        begin = first % channels
        end = min(channels, begin + last - first)
        some = (1 << end) - (1 << begin)
        n = _emit(out, n, kind, some, _item(shape, kind, base, first // channels), 0, 1, phase)
        first += end - begin
    n = _items(shape, out, n, kind, mask, base, first // channels, last // channels, phase)
    if last % channels and last > first:
        n = _emit(out, n, kind, (1 << last % channels) - 1, _item(shape, kind, base, last // channels), 0, 1, phase)
    return n


@compiled
def _scores_out(shape, out, n, mask, base, phase):
    """Scores of a step from the units to the softmax unit, query by query."""
    if shape.placement == BUFFER:
        return _each(shape, out, n, _MV_SB, mask, base, phase)
    for group in range(shape.bank_groups):
        for rank in range(shape.ranks):
            n = _each(shape, out, n, _MV_SB, mask, base + rank * shape.rank + group * shape.bank_group, phase)
    return n


@compiled
def _results_out(shape, out, n, mask, base, phase):
    """Results of a pass over V from the units, query by query."""
    banks = shape.banks if shape.placement == BANK else 1
    ranks = 1 if shape.placement == BUFFER else shape.ranks
    for bank in range(banks):
        for rank in range(ranks):
            n = _each(shape, out, n, _MV_SB, mask, base + rank * shape.rank + bank * shape.bank, phase)
    return n


@compiled
def _groups(runs, head):
    """Groups that a head reads."""
    last = runs.first[head + 1]
    return runs.ends[last - 1] if last > runs.first[head] else 0


@compiled
def _most(shape, runs, turn):
    """Groups of the head of a round that reads the most."""
    if len(runs.first) == 2:
        return _groups(runs, 0)
    most = 0
    for head in range(turn * shape.channels, min((turn + 1) * shape.channels, shape.heads)):
        most = max(most, _groups(runs, head))
    return most


@compiled
def _list(shape, runs, out, n, head, mask, base, offset, per_group, first, last, phase):
    """Accesses of groups ``first`` up to ``last`` among those that a head reads. ``per_group``: accesses of a group."""
    done = 0
    for at in range(runs.first[head], runs.first[head + 1]):
        low, high = max(first, done), min(last, runs.ends[at])
        if low < high:
            group = runs.starts[at] + low - done
            n = _macs(shape, out, n, mask, base, offset + group * per_group, (high - low) * per_group, phase)
        done = runs.ends[at]
        if done >= last:
            break
    return n


@compiled
def _reads(shape, runs, out, n, turn, mask, base, offset, per_group, first, last, phase):
    """Accesses of all heads of a round. Heads with runs of their own have one group each in turn. Requests go to all
    channels in one order, so a channel whose queue is full keeps the others waiting."""
    if len(runs.first) == 2:
        return _list(shape, runs, out, n, 0, mask, base, offset, per_group, first, last, phase)
    low, high = turn * shape.channels, min((turn + 1) * shape.channels, shape.heads)
    if high - low == 1:
        return _list(shape, runs, out, n, low, 1, base, offset, per_group, first, last, phase)
    at, done = runs.first[low:high].copy(), np.zeros(high - low, np.int64)
    for number in range(first, last):
        more = False
        for place in range(high - low):
            end = runs.first[low + place + 1]
            while at[place] < end and runs.ends[at[place]] <= number:
                done[place] = runs.ends[at[place]]
                at[place] += 1
            if at[place] < end:
                group = runs.starts[at[place]] + number - done[place]
                n = _macs(shape, out, n, 1 << place, base, offset + group * per_group, per_group, phase)
                more = True
        if not more:
            break
    return n


@compiled
def _macs_of_step(shape, runs, out, n, turn, mask, base, step, phase):
    first = step * shape.step
    return _reads(shape, runs, out, n, turn, mask, base, 0, shape.columns, first, first + shape.step, phase)


@compiled
def _macs_of_pass(shape, runs, out, n, turn, mask, base, number, phase):
    return _reads(shape, runs, out, n, turn, mask, base, number * shape.groups, 1, 0, shape.groups, phase)


@compiled
def _first(shape, runs, out, n, mask, base, phase):
    """The first access of every head of the first round."""
    if len(runs.first) == 2:
        return _macs(shape, out, n, mask, base, runs.starts[0] * shape.columns, 1, phase)
    for head in range(min(shape.channels, shape.heads)):
        at = runs.first[head]
        if at < runs.first[head + 1]:
            n = _macs(shape, out, n, 1 << head % shape.channels, base, runs.starts[at] * shape.columns, 1, phase)
    return n


@compiled
def schedule(shape, runs, out):
    """Write the layer's requests to columns of ``out`` (kind, mask, address, step, count, phase). Returns the number of
    requests, which may exceed the room in ``out``."""
    channels = shape.channels
    everywhere = (1 << channels) - 1
    rounds = (shape.heads + channels - 1) // channels
    query = shape.query * (shape.banks if shape.placement == BANK else 1)
    moves = shape.moves * (1 if shape.placement == BUFFER else shape.ranks * shape.bank_groups)
    n = 0
    for i in range(0, rounds - 1, 2):
        steps = (_most(shape, runs, i) + shape.step - 1) // shape.step
        rest = shape.heads - (i + 1) * channels
        second = min(rest, channels)
        masks = (everywhere, (1 << second) - 1)
        keys = (i * shape.next_head, (i + 1) * shape.next_head)
        values = (keys[0] + shape.values, keys[1] + shape.values)
        base = 7 * i
        n = _items(shape, out, n, _WR_GB, everywhere, keys[0], 0, query, base)
        if i == 0:
            n = _first(shape, runs, out, n, everywhere, keys[0], base)  # opens the first row, and is thrown away
        n = _emit(out, n, _BARRIER, everywhere, 0, 0, 1, base)
        for j in range(steps + 1):
            if j < steps:
                n = _macs_of_step(shape, runs, out, n, i, everywhere, keys[0], j, base)
            if j > 0:
                n = _scores_out(shape, out, n, everywhere, keys[0], base)
            if j < steps:
                n = _share(shape, out, n, _WR_GB, second, keys[1], query, j, steps, base)
                n = _emit(out, n, _BARRIER, everywhere, 0, 0, 1, base)
        base += 1
        steps = (_most(shape, runs, i + 1) + shape.step - 1) // shape.step
        late = steps // 2
        for j in range(steps + 1):
            if j < steps:
                n = _macs_of_step(shape, runs, out, n, i + 1, masks[1], keys[1], j, base)
            if j > 0:
                n = _scores_out(shape, out, n, masks[1], keys[1], base)
            if j == 0:
                n = _each(shape, out, n, _SFM, everywhere, 0, base)
            if j < steps:
                if j >= late:
                    n = _share(shape, out, n, _MV_GB, channels, values[0], moves, j - late, steps - late, base)
                n = _emit(out, n, _BARRIER, everywhere, 0, 0, 1, base)
        base += 1
        late = shape.passes // 2
        for j in range(shape.passes + 1):
            if j < shape.passes:
                n = _macs_of_pass(shape, runs, out, n, i, everywhere, values[0], j, base)
            if j > 0:
                n = _results_out(shape, out, n, everywhere, values[0], base)
            if j == 0:
                n = _each(shape, out, n, _SFM, masks[1], 0, base)
            if j < shape.passes:
                if j >= late:
                    n = _share(shape, out, n, _MV_GB, second, values[1], moves, j - late, shape.passes - late, base)
                n = _emit(out, n, _BARRIER, everywhere, 0, 0, 1, base)
        base += 1
        which = 1 if shape.corrected else 0  # AttAcc's generator reads the first round's V once more
        for j in range(shape.passes + 1):
            if j < shape.passes:
                n = _macs_of_pass(shape, runs, out, n, i + which, masks[which], values[which], j, base)
            if j > 0:
                n = _results_out(shape, out, n, masks[which], values[which], base)
            if j < shape.passes:
                n = _emit(out, n, _BARRIER, everywhere, 0, 0, 1, base)
    if rounds % 2:
        i = rounds - 1
        mask = (1 << (shape.heads - i * channels)) - 1
        keys0 = i * shape.next_head
        values0 = keys0 + shape.values
        steps = (_most(shape, runs, i) + shape.step - 1) // shape.step
        base = 7 * i + 4
        n = _items(shape, out, n, _WR_GB, mask, keys0, 0, query, base)
        n = _emit(out, n, _BARRIER, everywhere, 0, 0, 1, base)
        for j in range(steps + 1):
            if j < steps:
                n = _macs_of_step(shape, runs, out, n, i, mask, keys0, j, base)
            if j > 0:
                n = _scores_out(shape, out, n, mask, keys0, base)
            if j < steps:
                n = _emit(out, n, _BARRIER, everywhere, 0, 0, 1, base)
        n = _each(shape, out, n, _SFM, mask, 0, base + 1)
        n = _items(shape, out, n, _MV_GB, mask, values0, 0, moves, base + 1)
        n = _emit(out, n, _BARRIER, everywhere, 0, 0, 1, base + 1)
        base += 2
        for j in range(shape.passes + 1):
            if j < shape.passes:
                n = _macs_of_pass(shape, runs, out, n, i, mask, values0, j, base)
            if j > 0:
                n = _results_out(shape, out, n, mask, values0, base)
            if j < shape.passes:
                n = _emit(out, n, _BARRIER, everywhere, 0, 0, 1, base)
    return n
