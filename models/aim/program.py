"""Matrix-vector products on an AiM channel: its commands in order, for the unit, its model and the timing of the memory.

Mapping: output o belongs to bank ``o % banks``. The inputs go through the global buffer in pieces that fill it.
Source: CENT (ASPLOS 2025) section 5.4; LoL-PIM section 6 for the order with two sets of buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...constraints.aim.channel import AimChannelConfig
from ..memory.aim import INSTRUCTIONS, channel_mask
from ..program import Program
from .channel import ChannelModel, Operation

__all__ = ["Step", "execute", "gemv", "memory_program", "ordered"]


@dataclass(frozen=True, eq=False)
class Step:
    """A command with the row of the banks that it uses, and its data as :meth:`ChannelModel.execute` takes them."""

    operation: Operation
    accesses: np.ndarray | None = None
    words: np.ndarray | None = None
    row: int = 0


@dataclass
class _Tile:
    """Commands that belong together: inputs and starts of sums, products, results."""

    fill: list[Step] = field(default_factory=list)
    products: list[Step] = field(default_factory=list)
    reads: list[Step] = field(default_factory=list)


def ordered(tiles: Sequence[_Tile], ahead: bool) -> list[Step]:
    """The commands of tiles. ``ahead``: the inputs of the next tile are sent before the results of this tile are
    read."""
    steps: list[Step] = []
    for n, tile in enumerate(tiles):
        if not ahead:
            steps += [*tile.fill, *tile.products, *tile.reads]
            continue
        if not n:
            steps += tile.fill
        steps += tile.products
        if n + 1 < len(tiles):
            steps += tiles[n + 1].fill
        steps += tile.reads
    return steps


def gemv(config: AimChannelConfig, weights: np.ndarray, inputs: np.ndarray, *, base: int = 0) -> list[Step]:
    """``weights @ inputs``: RD_MAC gives outputs 0 .. banks - 1 first, then the next outputs.

    Each register of a set holds the sum of one output in each bank. The sums of a set run over all inputs, then they
    are read. Inputs that fit the global buffer are written once. With ping-pong sets, the next inputs are sent and the
    next sums begin before the results are read.

    Parameters
    ----------
    weights, inputs : bits, of shapes ``(outputs, n)`` and ``(n,)``; missing elements of the last word or bank are 0
    base : first row of the weights in the banks
    """
    lanes, banks, columns = config.lanes, config.banks, config.columns
    outputs, length = weights.shape
    rounds, words = -(-outputs // banks), -(-length // lanes)
    padded = np.zeros((rounds * banks, words * lanes), np.int64)
    padded[:outputs, :length] = weights
    data = padded.reshape(rounds, banks, words, lanes).transpose(0, 2, 1, 3)
    x = np.zeros(words * lanes, np.int64)
    x[:length] = inputs
    x = x.reshape(words, lanes)
    chunks = [slice(low, min(low + columns, words)) for low in range(0, words, columns)]
    per_row = max(columns // words, 1)  # outputs of a bank whose weights share a row
    tiles = []
    zeros = np.zeros((1, lanes), np.int64)
    for low in range(0, rounds, config.registers_per_set):
        group = range(low, min(low + config.registers_per_set, rounds))
        for c, chunk in enumerate(chunks):
            tile = _Tile()
            if len(chunks) > 1 or not low:
                tile.fill.append(Step(Operation("WR_GB", opsize=chunk.stop - chunk.start), words=x[chunk]))
            for place, number in enumerate(group):
                row = base + (number * len(chunks) + c if len(chunks) > 1 else number // per_row)
                if not c:
                    tile.fill.append(Step(Operation("WR_BIAS", register=place), words=zeros))
                tile.products.append(
                    Step(
                        Operation("MAC_ABK", opsize=chunk.stop - chunk.start, register=place),
                        data[number, chunk],
                        row=row,
                    )
                )
                if c == len(chunks) - 1:
                    tile.reads.append(Step(Operation("RD_MAC", register=place)))
            tiles.append(tile)
    return ordered(tiles, config.sets == 2)


def execute(model: ChannelModel, steps: Iterable[Step]) -> None:
    """Execute the steps on a model."""
    for step in steps:
        model.execute(step.operation, step.accesses, step.words)


def memory_program(steps: Iterable[Step]) -> Program:
    """Program of the steps on channel 0 of an AiM device, for the timing of the memory."""
    program = Program()
    given = {"gpr": 0, "mask": channel_mask(1)}
    for step in steps:
        operation = step.operation
        values = {**given, "opsize": operation.steps, "bank": operation.bank, "row": step.row}
        what = INSTRUCTIONS[operation.op]
        program.command(operation.op, **{name: values[name] for name in what.fields + what.optional})
    return program
