"""Programs of a flash channel of PAM's SSD: when the channel reads each page, and when its bytes reach the controller.

Page i of a sequence lies on die i modulo the number of dies, in consecutive pages of the die. The source is page
interleaving (PAM, MICRO 2025, section 6.1). Each die reads its next page while the bus empties the page before. The
paper gives no commands. The commands of the cache read are this project's (see the memory file).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.memory import Memory
from ..program import Program
from .program import Issues

__all__ = ["page_arrivals", "page_program"]

#: Moves a column of a page register over the bus.
READ_COLUMN = "RD"


def _columns(memory: Memory, sizes: Sequence[int]) -> list[int]:
    """Number of columns that hold the first ``sizes[i]`` bytes of page i."""
    counts = [-(-size // memory.column_bytes) for size in sizes]
    if max(counts, default=0) > memory.columns:
        raise ConfigError(f"{memory.name}: a page has {memory.columns * memory.column_bytes} bytes, not {max(sizes)}")
    return counts


def page_program(memory: Memory, sizes: Sequence[int]) -> Program:
    """Reads of the first ``sizes[i]`` bytes of page i, in the order of the pages.

    Raises :exc:`ConfigError` if the memory is not flash, or if a size exceeds a page of the memory.
    """
    memory.command("NEXT")
    dies, counts = memory.levels["die"], _columns(memory, sizes)
    program = Program()
    for die in range(min(dies, len(counts))):
        program.command("READ", die=die, plane=0, row=0)
    for page, count in enumerate(counts):
        turn, die = divmod(page, dies)
        # A cache read hands over one page and begins the next. The only page of a die needs no cache read.
        if page + dies < len(counts):
            program.command("NEXT", die=die, plane=0, row=turn)
        elif turn:
            program.command("LAST", die=die, plane=0, row=turn)
        with program.loop(count) as column:
            program.command(READ_COLUMN, die=die, plane=0, row=turn, column=column)
    return program


def page_arrivals(memory: Memory, sizes: Sequence[int], beat_bytes: int, timing: Issues) -> np.ndarray:
    """Memory cycle in which the last byte of each beat of ``beat_bytes`` has arrived, page after page.

    The bytes of a column arrive evenly over the latency of its read. ``timing`` is the timing engine's result for
    :func:`page_program`.
    """
    if memory.column_bytes % beat_bytes:
        raise ConfigError(
            f"{memory.name}: a column of {memory.column_bytes} bytes is no multiple of a beat of {beat_bytes}"
        )
    issue = np.asarray(timing.issue_cycles(READ_COLUMN), np.float64)
    first = np.cumsum([0, *_columns(memory, sizes)])
    out = [np.empty(0)]
    for start, size in zip(first, sizes, strict=False):
        column, byte = np.divmod(np.arange(0, size, beat_bytes), memory.column_bytes)
        out.append(
            issue[start + column] + memory.command(READ_COLUMN).latency * (byte + beat_bytes) / memory.column_bytes
        )
    return np.concatenate(out)
