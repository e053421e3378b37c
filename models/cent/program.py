"""Size of a program in CENT's instruction words: how many, of which kind, and against the instruction buffer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...constraints.cent.isa import BY_OPCODE, INSTRUCTIONS, WORD_BYTES, CentIsa
from ..program import Program, Stage
from .words import Columns, joined, unrolled

__all__ = ["BUFFER_BYTES", "ProgramSize", "gathered", "program_size"]

#: Instruction buffer of a device (CENT section 4.1).
BUFFER_BYTES = 2 << 20


@dataclass(frozen=True)
class ProgramSize:
    """Instructions of a program.

    Attributes
    ----------
    by_mnemonic : instructions of each kind
    by_stage : instructions of each stage of the program's top level
    """

    by_mnemonic: dict[str, int]
    by_stage: dict[str, int]

    @property
    def instructions(self) -> int:
        return sum(self.by_mnemonic.values())

    @property
    def bytes(self) -> int:
        return self.instructions * WORD_BYTES

    def buffers(self, buffer_bytes: int = BUFFER_BYTES) -> float:
        """Bytes in buffers of this size: above 1, the host refills the buffer while the program runs."""
        return self.bytes / buffer_bytes


def gathered(columns: Columns, isa: CentIsa) -> Columns:
    """Accesses to single banks that follow each other, sorted by bank, so that :func:`joined` finds neighbours.

    Accesses of other kinds stay where they are, and accesses to one bank keep their order. A program for timing alone
    gives no columns and slots. Its accesses to a row of a bank count as consecutive.
    """
    opcode = columns["opcode"]
    single = np.isin(opcode, [INSTRUCTIONS[name].opcode for name in ("WR_SBK", "RD_SBK")])
    change = np.r_[True, (opcode[1:] != opcode[:-1]) | ~single[1:]]
    run = np.cumsum(change)
    keys = [np.where(single, columns[name], 0) for name in ("RO", "BK", "CHmask")]
    order = np.lexsort((*keys, run))
    out = {name: column[order] for name, column in columns.items()}
    sorted_keys = np.stack([run[order], *(key[order] for key in keys)])
    first = np.r_[True, (sorted_keys[:, 1:] != sorted_keys[:, :-1]).any(axis=0)]
    starts = np.flatnonzero(first)
    group = np.cumsum(first) - 1
    rank = np.arange(len(opcode)) - starts[group]
    size = np.diff(np.r_[starts, len(opcode)])
    alone = np.maximum.reduceat(out["CO"], starts) == np.minimum.reduceat(out["CO"], starts)
    without = (alone & (size > 1))[group] & single[order]
    out["CO"] = np.where(without, rank % isa.columns, out["CO"])
    for name in ("Rs", "Rd"):
        used = np.isin(out["opcode"], [one.opcode for one in INSTRUCTIONS.values() if name in one.fields])
        out[name] = np.where(without & used, rank, out[name])
    return out


def program_size(
    program: Program, isa: CentIsa | None = None, *, mask_bits: int = 32, gather: bool = False
) -> ProgramSize:
    """Instructions of a program without the EOC that ends it. Plain accesses of the host count as WR_SBK and RD_SBK.

    Parameters
    ----------
    gather : sort accesses to single banks first, see :func:`gathered`

    Raises
    ------
    :exc:`ConfigError`
        As :func:`unrolled`.
    """
    isa = isa or CentIsa()
    kinds: Counter[str] = Counter()
    stages: Counter[str] = Counter()
    for node in program.body:
        columns = unrolled(Program([node]), isa, mask_bits=mask_bits, host=True)
        columns = joined(gathered(columns, isa) if gather and len(columns["opcode"]) else columns)
        codes, counts = np.unique(columns["opcode"], return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            kinds[BY_OPCODE[code].mnemonic] += count
        if isinstance(node, Stage):
            stages[node.name] += int(counts.sum())
    return ProgramSize({name: kinds[name] for name in INSTRUCTIONS if kinds[name]}, dict(stages))
