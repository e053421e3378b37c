"""What a step of CENT's program asks of a device: commands of its memory, and work of the units near it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from ..program import Command, Loop, Node, Program, Stage
from ..program.selected import Selected
from .costs import Activity, PnmClocks
from .executable import SCALARS, ExecutableBlock, memory_commands

__all__ = ["Near", "Work", "block_work", "near_activity", "near_clocks", "output_work"]

#: Entries of the programs of the cores: their numbers, since timing needs no address.
ENTRIES = {name: number for number, name in enumerate(SCALARS)}

#: Programs of the cores whose micro-operations the cores share out. One core executes the others.
SHARED = ("rmsnorm", "softmax")

#: Commands of the units near memory.
UNITS = ("EXP", "RED", "EWADD")

#: Part of :class:`PnmClocks` to which the work of a stage counts.
PARTS = {
    "norm1": "norms",
    "norm2": "norms",
    "norm": "norms",
    "rotary": "rotary",
    "attention": "softmax",
    "output": "residuals",
    "feed_forward": "residuals",
}


class Near(Protocol):
    """Measured clocks of the units near memory."""

    def command(self, op: str, slots: int) -> float:
        """Clocks of EXP, RED or EWADD (CENT's ACC) on so many slots."""

    def program(self, name: str, micro_operations: int) -> float:
        """Clocks of a program that all cores share."""

    def alone(self, name: str, slots: int) -> float:
        """Clocks of a program of one core."""


@dataclass(frozen=True)
class Work:
    """Work of a program.

    Attributes
    ----------
    memory : its commands of the memory
    near : times of each command of the units near memory, by stage, command or program of the cores, and size
    results : words of results that pass the port of the shared buffer
    instructions : of the program, its end included
    """

    memory: Program
    near: Counter[tuple[str, str, int]]
    results: int
    instructions: int

    def __add__(self, other: Work) -> Work:
        """Both, one after the other."""
        return Work(
            Program([*self.memory.body, *other.memory.body]),
            self.near + other.near,
            self.results + other.results,
            self.instructions + other.instructions - 1,
        )


def _commands(nodes: Sequence[Node], times: int = 1) -> Iterator[tuple[Command, int]]:
    for node in nodes:
        if isinstance(node, Loop):
            assert isinstance(node.count, int)
            if node.count:
                yield from _commands(node.body, times * node.count)
        elif isinstance(node, Stage):
            yield from _commands(node.body, times)
        elif isinstance(node, Command):
            yield node, times


def _base(command: Command, name: str) -> int:
    value = command.get(name)
    return 1 if value is None else value.base


def work_of(program: Program) -> Work:
    """Work of a program whose top level are stages."""
    near: Counter[tuple[str, str, int]] = Counter()
    results = instructions = 0
    for stage in program.body:
        assert isinstance(stage, Stage)
        for command, times in _commands(stage.body):
            instructions += times
            if command.op in UNITS:
                near[stage.name, command.op, _base(command, "opsize")] += times
            elif command.op == "RISCV":
                near[stage.name, SCALARS[_base(command, "pc")], _base(command, "opsize")] += times
            elif command.op in ("RD_MAC", "RD_AF"):
                results += times * _base(command, "mask").bit_count()
    return Work(memory_commands(program), near, results, instructions + 1)


@lru_cache(maxsize=64)
def _surroundings(block: ExecutableBlock) -> tuple[Work, Work]:
    """Work before and behind the stages that depend on the tokens."""
    before, behind = block.surroundings(ENTRIES)
    return work_of(Program(before)), work_of(Program(behind))


def block_work(block: ExecutableBlock, tokens: int, selected: Selected | None = None) -> Work:
    """Work of one token through a block, see :meth:`ExecutableBlock.program`."""
    before, behind = _surroundings(block)
    return before + work_of(Program(block.tokens_stages(tokens, ENTRIES, selected))) + behind


@lru_cache(maxsize=64)
def output_work(block: ExecutableBlock, outputs: int) -> Work:
    """Work of the last norm and of ``outputs`` rows of the output matrix."""
    return work_of(block.output_program(outputs, ENTRIES))


def near_clocks(work: Work, units: Near, clock_ghz: float) -> PnmClocks:
    """Clocks of the units near memory, one command after the other. Each word of a result takes a clock of the shared
    buffer's port."""
    parts: Counter[str] = Counter()
    core = 0.0
    for (stage, op, size), times in work.near.items():
        if op in UNITS:
            clocks = times * units.command(op, size)
        else:
            clocks = times * (units.program(op, size) if op in SHARED else units.alone(op, size))
            core += clocks
        parts[PARTS[stage]] += clocks  # type: ignore[assignment]
    return PnmClocks(
        parts["norms"], parts["softmax"], parts["rotary"], parts["residuals"], core, clock_ghz, float(work.results)
    )


def near_activity(work: Work, clocks: PnmClocks) -> Activity:
    """Work of the units near memory, for their energy."""
    slots: Counter[str] = Counter()
    calls = touched = 0
    for (_, op, size), times in work.near.items():
        if op in UNITS:
            slots[op] += times * size
        else:
            calls += times
            touched += times * (size if op in SHARED or op == "largest_of_all" else 1)
    return Activity(slots["EXP"], slots["EWADD"], slots["RED"], clocks.core_clocks, calls, touched)
