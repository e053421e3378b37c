"""A stream: whole rows of all banks in turn, the pattern with which a memory reaches its peak."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.memory import Memory
from ..program import Program
from .engine import time_program

__all__ = ["stream_arrivals", "stream_program", "stream_share"]


def stream_program(memory: Memory, op: str, rows: int, *, lead: int = 1) -> Program:
    """Whole rows of a channel, bank after bank: columns in turn over data buses and bank groups, later rows opened
    meanwhile.

    Parameters
    ----------
    rows : rows of each bank
    lead : banks between the one that is read and the one whose row is opened
    """
    fixed: dict[str, Any] = dict.fromkeys(memory.commands[op].scope, 0)
    buses = list(memory.levels)[: 1 + list(memory.levels).index(memory.bus)] if memory.bus != "channel" else []
    turns = [level for level in reversed(list(memory.levels)) if level in (*buses, "bank_group") and level in fixed]
    places = [fixed | dict(zip(turns, at, strict=True)) for at in product(*(range(memory.levels[x]) for x in turns))]
    bank = list(memory.levels)[-1]
    banks = memory.levels[bank]
    opening = memory.commands[op].activate or "ACT"
    p = Program()
    for k in range(lead if lead > 1 else 0):
        for place in places:
            p.command(opening, **place | {bank: k}, row=0)
    with p.loop(rows) as row:
        for k in range(banks):
            # Between the columns: close and open the next bank's rows, spread out so that they do not bunch up.
            ahead: list[tuple[Any, dict[str, Any]]] = [
                (memory.commands[opening].precharge, {}),
                (opening, {"row": row + (k + lead) // banks}),
            ]
            jobs = [(name, place | {bank: (k + lead) % banks} | more) for name, more in ahead for place in places]
            for column, place in product(range(memory.columns), places):
                p.command(op, **place | {bank: k}, row=row, column=column)
                done = column * len(places) + places.index(place) + 1
                while (
                    jobs and done * 2 * len(places) > (2 * len(places) - len(jobs)) * memory.columns * len(places) * 0.9
                ):
                    name, at = jobs.pop(0)
                    p.command(name, **at)
            assert not jobs
    return p


def stream_share(memory: Memory, op: str = "RD", *, rows: int = 40, refresh: bool = True) -> float:
    """Share of a channel's peak that a stream of ``rows`` rows of each bank reaches. It begins with a closed memory."""
    return time_program(stream_program(memory, op, rows), memory, refresh=refresh).bus_utilisation["data"]


def stream_arrivals(memory: Memory, words: int, word_bytes: int) -> np.ndarray:
    """Times at which the words of a contiguous array have come, in ps: float array of shape ``(words,)``, of at least one.

    One channel is read as a stream that begins with a closed memory, with the refresh that it needs. All other banks
    open their rows ahead. A drive reads all blocks with one command. The words of a column come one after the other, at
    the pace of the data bus.

    Raises
    ------
    :exc:`ConfigError`
        If the memory does not hold all of them.
    """
    op = "RDC" if "RDC" in memory.commands else "RD"
    columns = -(-words * word_bytes // memory.column_bytes)
    rows = -(-columns // stream_program(memory, op, 1).counts()[op])
    if rows > memory.rows:
        raise ConfigError(f"{memory.name} does not hold {words * word_bytes} bytes")
    # The last byte of each word: its column, and the share of the column that comes later.
    column, place = np.divmod(np.arange(1, words + 1) * word_bytes - 1, memory.column_bytes)
    later = (memory.column_bytes - 1 - place) / memory.column_bytes
    lead = max(list(memory.levels.values())[-1] - 1, 1)
    program = stream_program(memory, op, rows, lead=lead)
    issued = time_program(program, memory, refresh=memory.refresh is not None).issue_cycles(op)
    ends = issued[column] + memory.command(op).latency - later * memory.bus_cycles
    return np.asarray(ends * memory.clock_ps)
