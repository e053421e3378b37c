"""Time and energy of operators on a LoL-PIM module, from their programs on the AiM memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...constraints.core.errors import ConfigError
from ...constraints.memory import Memory
from ..aim.operators import Module
from ..memory.aim import ALL_CHANNELS, INSTRUCTIONS, FrontEnd
from ..memory.aim_pingpong import PingPong
from ..memory.energy import energy_pj
from ..program import Command, Loop, Program, Stage
from ..program.nodes import Affine, Node

__all__ = ["ModuleTimer", "Timed", "lockstep", "module_timer"]


@dataclass(frozen=True)
class Timed:
    """Time, energy and commands of a program on a module.

    Attributes
    ----------
    cycles : cycles of the memory's clock
    seconds : the same duration in seconds
    energy_pj : energy by component, of all channels
    commands : commands issued, summed over the channels
    instructions : instructions of the program; an instruction for several channels counts once
    inputs : words that the hub reads from its registers to send them
    """

    cycles: int
    seconds: float
    energy_pj: dict[str, float]
    commands: dict[str, int]
    instructions: int
    inputs: int


def lockstep(program: Program, mask: int) -> Program:
    """The program as every channel sees it.

    A write to the buffers of some channels takes the input path, which all channels share. So its time passes for all
    channels of ``mask``. Columns and the hub's registers and sums are left out, because timing does not depend on them.
    """

    def visit(body: tuple[Node, ...]) -> tuple[Node, ...]:
        out: list[Node] = []
        for node in body:
            if isinstance(node, Loop):
                out.append(Loop(node.count, visit(node.body)))
            elif isinstance(node, Stage):
                out.append(Stage(node.name, visit(node.body)))
            elif isinstance(node, Command):
                if node.op == "EWADD":
                    continue
                what = INSTRUCTIONS.get(node.op)
                known = node.names if what is None else what.fields + what.optional
                operands = {name: value for name, value in node.operands if name in known}
                if "gpr" in operands:
                    operands["gpr"] = Affine(0)
                if node.op == "WR_GB":
                    operands["mask"] = Affine(mask)
                out.append(Command(node.op, operands))
            else:
                out.append(node)
        return tuple(out)

    return Program(visit(program.body))


def _writes(program: Program) -> tuple[int, int]:
    """Writes to global buffers, summed over the written channels, and words that the hub reads for them."""
    total = words = 0
    for command, loops in program.commands():
        if command.op == "WR_GB":
            size, mask = command.get("opsize"), command.get("mask")
            assert size is not None and mask is not None
            times = 1
            for count in loops:
                times *= count
            total += size.base * mask.base.bit_count() * times
            words += size.base * times
    return total, words


class ModuleTimer:
    """Times programs of a module's channels and keeps the results.

    Parameters
    ----------
    memory : :class:`Memory`
        Has AiM commands, and no fewer channels than the module.
    ping_pong : :class:`bool`
        Two sets of buffers (:class:`PingPong`), otherwise one set (:class:`FrontEnd`).
    refresh : :class:`bool`
        Whether channels refresh.
    """

    def __init__(self, memory: Memory, module: Module, *, ping_pong: bool, refresh: bool = False) -> None:
        self.memory, self.module, self.ping_pong = memory, module, ping_pong
        if module.mask > ALL_CHANNELS or module.channels > memory.channels:
            raise ConfigError(f"{memory.name} has {memory.channels} channels, a module needs {module.channels}")
        self.front_end = FrontEnd(memory, refresh=refresh)
        self.machine: Any = PingPong(self.front_end) if ping_pong else self.front_end
        self._known: dict[tuple[Any, bool], Timed] = {}

    def time(self, operator: Any, single: bool = False) -> Timed:
        """Time of an operator's program (:mod:`..aim.operators`), from closed rows. ``single``: use one set of buffers. Loops
        that count by tokens count the operator's ``tokens``."""
        key = (operator, single)
        if key not in self._known:
            if len(self._known) > 1 << 14:
                self._known.clear()
            self._known[key] = self.program(operator.bound, single)
        return self._known[key]

    def program(self, program: Program, single: bool = False) -> Timed:
        """Time of a program."""
        machine = self.front_end if single else self.machine
        timing = machine.time(lockstep(program, self.module.mask))
        commands = dict(timing.commands)
        writes, inputs = _writes(program)
        if "WRGB" in commands:
            commands["WRGB"] = writes
        energy = {name: value for name, value in energy_pj(commands, self.memory).items() if name != "total"}
        return Timed(
            timing.cycles,
            timing.cycles * self.memory.clock_ps * 1e-12,
            energy,
            commands,
            sum(program.counts().values()),
            inputs,
        )


@lru_cache(maxsize=32)
def module_timer(memory: Memory, module: Module, ping_pong: bool, refresh: bool) -> ModuleTimer:
    """A timer. The same memory and module give the same timer, which reuses its results."""
    return ModuleTimer(memory, module, ping_pong=ping_pong, refresh=refresh)
