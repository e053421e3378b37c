"""Programs of PAM's processing units that read runs of access units: sparse attention from the real places of its tokens.

An *access unit* is the slots that all banks of a channel read together. PAM (section 6.1) spreads tokens evenly over the
banks, at the same row and column in each. Slot ``s`` of a head is token ``s // banks`` of bank ``s % banks``. So
access unit ``u`` is token ``u`` of every bank, and has as many slots as there are banks: 64 in a channel of ``hbm3-5.2``.
Its keys and its values lie where :meth:`PamPuConfig.address` puts token ``u`` of a bank, tile by tile.

The unit takes the tokens that it reads as a step without gaps. So its tiles are full but for the last one, and a tile may
have tokens of several tiles of memory. Reads follow the unit's stream order. A column that is read twice in a row is read
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...constraints.memory import Memory
from ...constraints.pam.pu import BEAT_DTYPE, PamPuConfig, Step
from ..program import Program
from ..program.selected import Selected, check_runs, units_of
from .program import MAC, attention_program, mac_interval, region_rows, tile_rows

__all__ = ["selected_program", "unit_reads", "unit_tokens"]


def unit_tokens(memory: Memory) -> int:
    """Slots of an access unit: banks of a channel."""
    return memory.banks


def unit_reads(config: PamPuConfig, memory: Memory, units: np.ndarray, value: bool, head_dim: int) -> np.ndarray:
    """Columns that a tile of the unit reads for its K or V, counted from the start of the region across its rows: int64.

    ``units``: access units of the tile, ascending. Beats of a column that follow each other are one read.
    """
    pairs = (config.value_order if value else config.key_order)(len(units), head_dim)
    tile, token = np.divmod(units[pairs[:, 0]], config.tile_tokens)
    beats = np.zeros(len(pairs), BEAT_DTYPE)
    beats["value"], beats["token"], beats["chunk"] = value, token, pairs[:, 1]
    columns = config.address(beats, head_dim) // (memory.column_bytes // config.beat_bytes)
    columns += tile * tile_rows(config, memory, head_dim) * memory.columns
    return columns[np.flatnonzero(np.diff(columns, prepend=-1))]


def selected_program(
    config: PamPuConfig,
    memory: Memory,
    steps: Sequence[Step],
    selected: Selected | None = None,
    *,
    key_row: int = 0,
    value_row: int | None = None,
    gap_cycles: int = 0,
    burst_cycles: int = 0,
) -> Program:
    """Reads of K and V for ``steps`` that take some of the tokens of each bank.

    If one run has all units, the commands are the same as in :func:`attention_program`.

    Parameters
    ----------
    steps : sequence of :class:`Step`
        Each has as many tokens as the placement has in each bank.
    selected : one pair of first units and lengths for all steps, or one for each; None: all units
    key_row, value_row, gap_cycles, burst_cycles : as :func:`attention_program` has them

    Raises
    ------
    :exc:`ConfigError`
        As :func:`attention_program`. Also if a run is outside the placement, or runs are not ascending or overlap.
    """
    steps = tuple(steps)
    dense = attention_program(
        config, memory, steps, key_row=key_row, value_row=value_row, gap_cycles=gap_cycles, burst_cycles=burst_cycles
    )
    if selected is None or not steps:
        return dense
    check_runs(selected, [len(steps)], min(step.tokens for step in steps))
    units = [units_of(*own) for own in selected] * (len(steps) // len(selected))
    if value_row is None:
        value_row = key_row + max(region_rows(config, memory, step.tokens, step.head_dim) for step in steps)
    least = mac_interval(memory)
    pace = burst_cycles if burst_cycles > least else 0  # a wait that the memory imposes anyway is left out
    own = [replace(step, tokens=len(each)) for step, each in zip(steps, units, strict=True)]

    program = Program()
    read = reads_of_values = 0
    # Reads so far, and the part of them that are of V, when the K of a tile that waits for its V has been read.
    before: dict[tuple[int, int], tuple[int, int]] = {}
    for number, tile, value, count in config.phases(own):
        first = tile * config.tile_tokens
        columns = unit_reads(config, memory, units[number][first : first + count], bool(value), own[number].head_dim)
        if value:
            reads, values = before.pop((number, tile))
            # The V before may have begun just when its softmax was done: its first read hides nothing.
            hidden = read - reads - (reads_of_values > values)
            wait = gap_cycles - max(hidden, 0) * max(least, burst_cycles) - pace
            if wait > 0:
                program.wait(wait)
            reads_of_values += len(columns)
        _read(program, memory, value_row if value else key_row, columns, pace)
        read += len(columns)
        if not value:
            before[number, tile] = read, reads_of_values
    return program


def _read(program: Program, memory: Memory, base: int, columns: np.ndarray, pace: int) -> None:
    """Append reads of columns, counted from the row ``base`` on; neighbours of a row are a loop."""
    new = (np.diff(columns) != 1) | (columns[1:] % memory.columns == 0)
    starts = np.concatenate([[0], np.flatnonzero(new) + 1]).tolist()
    for low, high in zip(starts, [*starts[1:], len(columns)], strict=True):
        row, column = divmod(int(columns[low]), memory.columns)
        with program.loop(high - low) as place:
            if pace:
                program.wait(pace)
            program.command(MAC, row=base + row, column=column + place)
