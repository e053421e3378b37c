"""A stream: whole rows of all banks in turn, the pattern with which a memory reaches its peak."""

from __future__ import annotations

from itertools import product
from typing import Any

from ...constraints.memory import Memory
from ..program import Program
from .engine import time_program

__all__ = ["stream_program", "stream_share"]


def stream_program(memory: Memory, op: str, rows: int) -> Program:
    """Whole rows of a channel, bank after bank: columns in turn over data buses and bank groups, the next rows opened
    meanwhile. ``rows``: rows of each bank."""
    fixed: dict[str, Any] = dict.fromkeys(memory.commands[op].scope, 0)
    buses = list(memory.levels)[:1 + list(memory.levels).index(memory.bus)] if memory.bus != "channel" else []
    turns = [level for level in reversed(list(memory.levels)) if level in (*buses, "bank_group") and level in fixed]
    places = [fixed | dict(zip(turns, at, strict=True)) for at in product(*(range(memory.levels[x]) for x in turns))]
    bank = list(memory.levels)[-1]
    banks = memory.levels[bank]
    p = Program()
    with p.loop(rows) as row:
        for k in range(banks):
            # Between the columns: close and open the next bank's rows, spread out so that they do not bunch up.
            ahead: list[tuple[Any, dict[str, Any]]] = [
                (memory.commands["ACT"].precharge, {}), ("ACT", {"row": row + (k + 1) // banks})]
            jobs = [(name, place | {bank: (k + 1) % banks} | more) for name, more in ahead for place in places]
            for column, place in product(range(memory.columns), places):
                p.command(op, **place | {bank: k}, row=row, column=column)
                done = column * len(places) + places.index(place) + 1
                while jobs and done * 2 * len(places) > (2 * len(places) - len(jobs)) * memory.columns * len(places) * 0.9:
                    name, at = jobs.pop(0)
                    p.command(name, **at)
            assert not jobs
    return p


def stream_share(memory: Memory, op: str = "RD", *, rows: int = 40, refresh: bool = True) -> float:
    """Share of a channel's peak that a stream of ``rows`` rows of each bank reaches. It begins with a closed memory."""
    return time_program(stream_program(memory, op, rows), memory, refresh=refresh).bus_utilisation["data"]
