"""Programs of one channel as traces of Ramulator: plain reads and writes, or requests of AttAcc's version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.memory import Memory
from ..program import Command, Loop, Node, Program, Stage, Wait
from .mapping import Location, address_mapping
from .pim_queue import KINDS, OPERATIONS, QueueController, trace_lines

__all__ = ["program_lines"]

#: Commands that are turned into addresses at a time.
BLOCK = 1 << 14

_PLAIN = {"RD": "LD", "WR": "ST"}


def program_lines(program: Program, memory: Memory, mapping: str) -> Iterator[str]:
    """Lines of a trace for channel 0.

    Plain reads and writes become ``LD`` and ``ST`` with addresses by ``mapping``. A program with near-bank commands
    becomes a trace of the AttAcc simulator, which has its own addresses.

    Raises
    ------
    :exc:`ConfigError`
        If the program has waits, row commands or other commands that such a trace cannot express.
    """
    counts = program.counts()
    if _waits(program.body):
        raise ConfigError("--export ramulator: a trace cannot wait")
    if counts.keys() <= _PLAIN.keys():
        return _plain(program, memory, mapping)
    wrong = sorted(counts.keys() - KINDS.keys())
    if wrong or {name for name in OPERATIONS.values() if name} - memory.commands.keys():
        what = f"{wrong[0]} of {memory.name}" if wrong else f"near-bank commands of {memory.name}"
        raise ConfigError(f"--export ramulator: its traces have no {what} (they have {', '.join(OPERATIONS)})")
    return _queued(program, memory)


def _plain(program: Program, memory: Memory, mapping: str) -> Iterator[str]:
    where = address_mapping(memory, mapping)
    levels = memory.command("RD").scope
    block: list[tuple[str, int, int, int]] = []

    def lines() -> Iterator[str]:
        columns = np.array([b[1:] for b in block], np.int64).reshape(-1, 3)
        at = where.addresses(Location(np.zeros(len(block), np.int64), *columns.T))
        yield from (f"{name} {address:#x}" for (name, *_), address in zip(block, at.tolist(), strict=True))

    for item in program.expand():
        if isinstance(item, Wait):
            continue
        op, values = item
        bank = 0
        for level in levels:
            bank = bank * memory.levels[level] + values.get(level, 0)
        block.append((_PLAIN[op], bank, values.get("row", 0), values.get("column", 0)))
        if len(block) >= BLOCK:
            yield from lines()
            block = []
    yield from lines()


def _queued(program: Program, memory: Memory) -> Iterator[str]:
    controller = QueueController(memory, refresh=False)
    for requests in controller.requests(Program(_on_channel_0(program.body))):
        yield from (line.rstrip() for line in trace_lines(requests, controller))


def _on_channel_0(body: Sequence[Node]) -> Iterator[Node]:
    for node in body:
        if isinstance(node, Command):
            yield Command(node.op, {**dict(node.operands), "mask": 1})
        elif isinstance(node, Loop):
            yield Loop(node.count, tuple(_on_channel_0(node.body)))
        elif isinstance(node, Stage):
            yield Stage(node.name, tuple(_on_channel_0(node.body)))


def _waits(body: Sequence[Node]) -> bool:
    return any(
        (isinstance(node, Wait) and node.cycles > 0) or (isinstance(node, Loop | Stage) and _waits(node.body))
        for node in body
    )
