"""Energy of a near-bank read, with one boundary for all memories.

Memory files state what their sources tell. HBM's tells the energy of the cells, of the paths inside the stack and of the
interface apart. DDR's has currents of a chip, which give a whole read to the pins. A system that compares memories
charges both for the same parts:

* ``access``: a whole read, as a processor's read
* ``cells``: the cells alone. A memory whose file does not tell them apart has the share of a memory that does.
"""

from __future__ import annotations

from ...constraints.core.errors import ConfigError
from ...constraints.memory import Memory
from ..pam.program import MAC

__all__ = ["access_pj", "cells_pj", "move_pj_per_byte", "read_pj"]

#: Command that moves data between bank groups and the logic of a stack.
_MOVE = "MV_GB"

#: Energy of the cells in the energies of a command.
_CELL = "cell"


def access_pj(memory: Memory) -> float:
    """pJ of a whole read per column of one bank."""
    read = memory.command("RD")
    return sum(read.energy_pj.values()) / read.bus_bytes * memory.column_bytes


def cells_pj(memory: Memory, like: Memory) -> float:
    """pJ of the cells per column of one bank. ``like`` is a memory whose file tells cells apart.

    Raises
    ------
    :exc:`ConfigError`
        If neither file tells cells apart.
    """
    mac = memory.command(MAC).energy_pj
    if _CELL in mac:
        return float(mac[_CELL]) / memory.banks
    whole = like.command("RD").energy_pj
    if _CELL not in whole:
        raise ConfigError(
            f"{memory.name} and {like.name}: no file tells the energy of cells apart; energy.boundary must be access"
        )
    return access_pj(memory) * float(whole[_CELL]) / sum(whole.values())


def read_pj(memory: Memory, boundary: str, like: Memory | None = None) -> float:
    """pJ of a near-bank read per column of one bank."""
    return access_pj(memory) if boundary == "access" else cells_pj(memory, like or memory)


def move_pj_per_byte(memory: Memory, like: Memory) -> float:
    """pJ of a byte on its way between a bank group and the logic of its device. A memory without a command for this has
    a whole read without the cells."""
    if _MOVE in memory.commands:
        return sum(memory.command(_MOVE).energy_pj.values()) / memory.column_bytes
    return (access_pj(memory) - cells_pj(memory, like)) / memory.column_bytes
