"""A Llama block on CENT's channels and PNM units as a program that computes: every command has its columns and registers.

:mod:`bankside.models.cent.block` has the order of the authors' trace generator, for the time alone. This module follows
the paper (section 5) and places every vector, so a device can execute the program.

Vectors lie in *slots*, the registers of the shared buffer, one element for each lane. Slot ``k * channels + c`` of a
product has the outputs ``(k * channels + c) * banks ...`` of all banks of channel ``c``, so results are in order.

Each part of the block has its mapping:

- *Matrix times vector.* The rows of the matrix are spread over all banks of the block. The sums of up to ``registers``
  outputs of a bank stay in their registers over all pieces of the input.
- *Root mean square norm.* A product of neighbouring banks gives the squares. RED and ACC add them, and a scalar program
  gives 1/rms. Two element-wise products in the banks follow.
- *Rotary positions.* One element-wise product takes the cosines. Another takes the sines, on exchanged halves of a head.
  ACC adds both.
- *Scores.* The keys of a token are in one bank. The tokens are spread over all banks. An element-wise product scales the
  queries first.
- *Softmax.* The scores of some tokens and heads fit the shared buffer, where EXP takes them. Their products with the values
  follow before the next tokens' scores. So no score goes to a bank.
- *Context.* A head of values is in one channel. Its dimensions are spread over the banks, with tokens along the row. Rows
  with a one for each token give the sum of the exponentials, as one more dimension. A scalar program inverts the sums, and
  an element-wise product of the context follows. The caches hold zeros behind the newest token, so what lies there adds
  nothing.
- *SiLU.* AF gives the sigmoid of the sums. Element-wise products combine sigmoid, sums and the other projection.
- *Several devices.* Each has some heads and some inner elements of the feed-forward network. Device 0 gathers the sums of
  ``wo`` and of ``w2``, adds and broadcasts them. The paper gathers and broadcasts between all matrices, and leaves
  attention to one device.

The order of queries is ``(query of the group, head of keys and values)``, so that queries of neighbouring heads are
neighbours. The order of the context is ``(query of the group, batch of heads, part of the dimensions, channel)``. Both only
permute rows and columns of the matrices, which :meth:`ExecutableBlock.rows_of` does when it places them.

The paper scales the scores, and divides them by their sum, in the banks. Both are linear, so this program does them on the
queries and on the context, which have fewer words. :mod:`bankside.models.cent.block` has the paper's order.

Source: CENT (ASPLOS 2025) sections 5.3 to 5.5. Places, orders and the mask of the last slot are this project's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.core.formats import BF16, FloatFormat
from ..aim.operators import Gemv, Module
from ..aim.operators import ceil as _ceil
from ..memory.aim import CHANNELS, INSTRUCTIONS, channel_mask
from ..program import Command, Loop, Node, Program, Stage
from ..program.selected import Selected, check_runs, units_of

__all__ = ["MATRICES", "SCALARS", "SUMMED", "ExecutableBlock", "memory_commands"]

#: Matrices of a block: name, inputs, outputs, as properties of the block.
MATRICES = {
    "wq": ("hidden", "queries"),
    "wk": ("hidden", "kv_width"),
    "wv": ("hidden", "kv_width"),
    "wo": ("queries", "hidden"),
    "w1": ("hidden", "ffn"),
    "w3": ("hidden", "ffn"),
    "w2": ("ffn", "hidden"),
}

#: Matrices whose inputs are spread over the devices of a block. The outputs of all others are.
SUMMED = ("wo", "w2")

#: Programs of the RISC-V cores that a block uses (``constraints/cent/programs/programs.c``).
SCALARS = ("rmsnorm", "softmax", "repeat", "largest_of_all")

#: Words of a write to a global buffer before the host turns to the next channel: as many requests as a channel's queue
#: takes without holding up the host.
TOGETHER = 32

#: Banks of a group: the element-wise product of the first two goes to the third.
GROUP = 4


@dataclass(frozen=True)
class ExecutableBlock:
    """Shape of a block, its channels, and the places of its matrices, caches and vectors.

    Attributes
    ----------
    hidden, heads, kv_heads, head_dim, ffn : shape of the block
    channels, banks, lanes, columns : channels of the block, banks of a channel, elements of a word, words of a row
    registers : accumulation registers of a bank
    slots : slots of the shared buffer that the block may use
    max_tokens : tokens for which the caches have room
    first, first_slot, first_row : first channel, slot and row of the block, for several blocks of a device
    subtract_maximum : whether the largest score is subtracted before the exponential; the paper does not
    device, devices : number of this device, and devices that share the block. ``heads``, ``kv_heads`` and ``ffn`` are
        this device's. Every device has the whole vectors ``x``. Device 0 adds the sums of all devices

    Raises
    ------
    :exc:`ConfigError`
        If the sizes do not fit each other, or the slots do not hold the block's vectors.
    """

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    channels: int
    banks: int = 16
    lanes: int = 16
    columns: int = 64
    registers: int = 32
    slots: int = 2048
    max_tokens: int = 4096
    first: int = 0
    first_slot: int = 0
    first_row: int = 0
    subtract_maximum: bool = False
    device: int = 0
    devices: int = 1

    def __post_init__(self) -> None:
        def need(fits: bool, what: str) -> None:
            if not fits:
                raise ConfigError(what)

        need(
            self.banks == self.lanes,
            f"a slot has an element for each bank: banks must equal lanes ({self.lanes}), not {self.banks}",
        )
        need(self.banks % GROUP == 0, f"banks must be a multiple of {GROUP}, not {self.banks}")
        need(self.heads % self.kv_heads == 0, f"heads ({self.heads}) must be a multiple of kv_heads ({self.kv_heads})")
        for name in ("hidden", "ffn"):
            size = getattr(self, name)
            need(size % self.lanes == 0, f"{name} must be a multiple of {self.lanes}, not {size}")
        need(
            self.head_dim % (2 * self.lanes) == 0 and self.head_dim <= self.row,
            f"head_dim must be a multiple of {2 * self.lanes} up to {self.row}, not {self.head_dim}",
        )
        need(
            self.first + self.channels <= CHANNELS,
            f"channels {self.first} to {self.first + self.channels - 1} are beyond the device's {CHANNELS}",
        )
        need(
            self.parts + 2 <= self.registers,
            f"a head of {self.head_dim} elements needs {self.parts + 2} registers of a bank, not {self.registers}",
        )
        least = self._named + self._h + self._least + (self.devices > 1) * (self.devices - 1)
        need(self.slots >= least, f"{self.slots} slots are too few for hidden {self.hidden}: {least} are needed")

    # Sizes -----------------------------------------------------------------------------------------------------------

    @property
    def row(self) -> int:
        """Elements of a row."""
        return self.columns * self.lanes

    @property
    def units(self) -> int:
        """Banks of the block."""
        return self.channels * self.banks

    @property
    def groups(self) -> int:
        """Bank groups of the block."""
        return self.channels * self.banks // GROUP

    @property
    def group(self) -> int:
        """Queries that share keys and values."""
        return self.heads // self.kv_heads

    @property
    def queries(self) -> int:
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        return self.kv_heads * self.head_dim

    @property
    def head_slots(self) -> int:
        return self.head_dim // self.lanes

    @property
    def parts(self) -> int:
        """Dimensions of a head that a bank holds."""
        return self.head_dim // self.banks

    @property
    def turns(self) -> int:
        """Heads of keys and values of a channel."""
        return _ceil(self.kv_heads, self.channels)

    @property
    def spans(self) -> int:
        """Rows of the cache along its tokens."""
        return _ceil(self.max_tokens, self.row)

    @property
    def fit(self) -> int:
        """Heads whose keys share a row."""
        return self.row // self.head_dim

    @property
    def mask(self) -> int:
        return self._mask(*range(self.channels))

    def _mask(self, *channels: int) -> int:
        return sum(channel_mask(1, self.first + channel) for channel in channels)

    def result_slots(self, outputs: int) -> int:
        """Slots of a product's results. Missing outputs have slots too."""
        return _ceil(outputs, self.units) * self.channels

    # Slots -----------------------------------------------------------------------------------------------------------

    @property
    def _named(self) -> int:
        """Slots before the sums of other devices."""
        return 4 + self.hidden // self.lanes + 2 * self.head_slots + self.heads

    @property
    def _h(self) -> int:
        """Slots of the vector between the operators."""
        return max(self.hidden // self.lanes, self.result_slots(self.hidden))

    @property
    def piece(self) -> int:
        """Slots of a vector that the first device adds at a time, from all other devices."""
        if self.devices == 1:
            return 0
        free = self.slots - self._named - self._h - self._least
        return min(self.hidden // self.lanes, free // (self.devices - 1))

    @cached_property
    def _slots(self) -> dict[str, int]:
        sizes = {
            "zero": 1,
            "one": 1,
            "sum": 1,
            "scalar": 1,
            "x": self.hidden // self.lanes,
            "cos": self.head_slots,
            "sin": self.head_slots,
            "totals": self.heads,
            "sums": (self.devices - 1) * self.piece,
            "h": self._h,
            "work": 0,
        }
        out, at = {}, self.first_slot
        for name, size in sizes.items():
            out[name] = at
            at += size
        return out

    @property
    def work_slots(self) -> int:
        """Slots behind the named vectors."""
        return self.first_slot + self.slots - self._slots["work"]

    @property
    def _least(self) -> int:
        """Slots that the largest operator needs beside the named vectors."""
        query, kv, h = self.result_slots(self.queries), self.result_slots(self.kv_width), self._h
        # Vectors of attention lie at the end of the buffer. They share the slots of ``h`` with the rotation and the scores.
        scores = self.channels * (_ceil(self.max_tokens, self.units) if self.subtract_maximum else 1)
        return max(
            query + 2 * kv,
            query + 2 * kv + self.head_slots - h,
            query + scores - h,
            self.columns + self.channels,
            2 * self.channels,
        )

    @property
    def end_slot(self) -> int:
        """Slot behind the block's last."""
        return self.first_slot + self.slots

    @property
    def query_slot(self) -> int:
        """First slot of the queries, and then of the context."""
        return self.end_slot - self.result_slots(self.queries)

    @property
    def room(self) -> int:
        """Slots for scores."""
        return self.query_slot - self.slot("h")

    @cached_property
    def batches(self) -> tuple[tuple[int, int], ...]:
        """First head of keys and values, and number of heads, of each batch that attends together: no two of them in one
        channel."""
        turns = _ceil(self.max_tokens, self.units) if self.subtract_maximum else 1
        most = min(self.room // (self.channels * turns), self.channels)
        return tuple(
            (low, min(most, end - low))
            for first in range(0, self.kv_heads, self.channels)
            for end in (min(first + self.channels, self.kv_heads),)
            for low in range(first, end, most)
        )

    def slot(self, name: str) -> int:
        """First slot of a vector: ``zero``, ``x`` (input and result), ``cos``, ``sin``, ..."""
        return self._slots[name]

    # Rows ------------------------------------------------------------------------------------------------------------

    def matrix(self, name: str) -> tuple[int, int]:
        """Inputs and outputs of a matrix."""
        inputs, outputs = MATRICES[name]
        return getattr(self, inputs), getattr(self, outputs)

    def gemv(self, name: str) -> Gemv:
        """The product of a matrix with a vector."""
        return Gemv(
            self._module,
            self.inputs_order(name).size,
            self.matrix(name)[1],
            base=self.regions[name],
            zero=self.slot("zero"),
        )

    @cached_property
    def _module(self) -> Module:
        return Module(self.channels, self.banks, self.lanes, self.row, registers=self.registers, first=self.first)

    @cached_property
    def regions(self) -> dict[str, int]:
        """First row of each region, and of what follows the block (``end``)."""
        ew = _ceil(_ceil(max(self.hidden, self.queries) // self.lanes, self.groups), self.columns)
        gate = _ceil(_ceil(self.result_slots(self.ffn), self.groups), self.columns)
        square = _ceil(_ceil(self.hidden // self.lanes, self.units // 2), self.columns)
        sizes = {
            "square": square,
            "norm": ew,
            "weight1": ew,
            "weight2": ew,
            "rotary": ew,
            "scale": ew,
            "silu": gate,
            "gate": gate,
            "present": self.spans,
            "keys": _ceil(self.max_tokens, self.units) * _ceil(self.kv_heads, self.fit),
            "values": self.turns * self.parts * self.spans,
        }
        for name in MATRICES:
            sizes[name] = Gemv(self._module, self.inputs_order(name).size, self.matrix(name)[1]).rows
        out, at = {}, self.first_row
        for name, size in sizes.items():
            out[name] = at
            at += size
        return {**out, "end": at}

    # Orders ----------------------------------------------------------------------------------------------------------

    @cached_property
    def query_order(self) -> np.ndarray:
        """Output of the query projection for each element of the queries in their slots."""
        g, h, d = np.ogrid[: self.group, : self.kv_heads, : self.head_dim]
        return ((h * self.group + g) * self.head_dim + d).reshape(-1)

    @cached_property
    def context_order(self) -> np.ndarray:
        """Element of the heads' results for each element of the context in its slots."""
        out = []
        for g in range(self.group):
            for low, count in self.batches:
                part, head, bank = np.ogrid[: self.parts, low : low + count, : self.banks]
                out.append(((head * self.group + g) * self.head_dim + part * self.banks + bank).reshape(-1))
        return np.concatenate(out)

    def outputs_order(self, name: str) -> np.ndarray:
        """Row of the matrix for each output."""
        return self.query_order if name == "wq" else np.arange(self.matrix(name)[1])

    def inputs_order(self, name: str) -> np.ndarray:
        """Column of the matrix for each input."""
        return self.context_order if name == "wo" else np.arange(self.matrix(name)[0])

    # Contents of the rows --------------------------------------------------------------------------------------------

    def rows_of(self, name: str, matrix: np.ndarray) -> dict[int, np.ndarray]:
        """Rows with a matrix of bits of shape ``(outputs, inputs)``: arrays of shape ``(channels, columns, banks,
        lanes)`` by number of the row. Missing outputs and inputs are 0."""
        inputs, outputs = self.matrix(name)
        if matrix.shape != (outputs, inputs):
            raise ConfigError(f"{name} must have the shape {(outputs, inputs)}, not {matrix.shape}")
        order, pieces, per_unit = self.inputs_order(name), self.gemv(name).spans, self.gemv(name).per_unit
        whole = np.zeros((per_unit * self.units, pieces * self.row), np.int64)
        whole[:outputs, : order.size] = matrix[self.outputs_order(name)][:, order]
        parts = whole.reshape(per_unit, self.channels, self.banks, pieces, self.columns, self.lanes)
        return {
            self.regions[name] + k * pieces + piece: parts[k, :, :, piece].transpose(0, 2, 1, 3).copy()
            for k in range(per_unit)
            for piece in range(pieces)
        }

    def share(self, name: str, matrix: np.ndarray) -> np.ndarray:
        """This device's part of a matrix of the whole block, of shape ``(outputs, inputs)``. The part has some of the
        outputs, or some of the inputs if the devices add their results."""
        inputs, outputs = self.matrix(name)
        if name in SUMMED:
            return matrix[:, self.device * inputs : (self.device + 1) * inputs]
        return matrix[self.device * outputs : (self.device + 1) * outputs]

    def contents(
        self, matrices: Mapping[str, np.ndarray], norms: Sequence[np.ndarray], scale: int, before: np.ndarray
    ) -> dict[int, np.ndarray]:
        """All rows of the block by number, as bits of shape ``(channels, columns, banks, lanes)``.

        Parameters
        ----------
        matrices : bits by name, of shape ``(outputs, inputs)``
        norms : bits of the weights of the two norms
        scale : bits of the factor of scores
        before : what the rows hold elsewhere, finite numbers of shape ``(rows, channels, columns, banks, lanes)``
        """
        rows = {self.first_row + n: row.copy() for n, row in enumerate(before)}
        for name, matrix in matrices.items():
            rows.update(self.rows_of(name, matrix))
        for name, norm in zip(("weight1", "weight2"), norms, strict=True):
            rows.update(self.vector_rows(name, norm, 0))
        rows.update(self.constant_rows(scale))
        rows.update(self.cleared_rows())
        return rows

    def vector_rows(self, region: str, vector: np.ndarray, offset: int) -> dict[int, np.ndarray]:
        """Rows with a vector of bits for element-wise products, in the bank ``offset`` of each bank group."""
        words = vector.reshape(-1, self.lanes)
        out: dict[int, np.ndarray] = {}
        for n, (channel, bank, row, column) in enumerate(self._places(len(words), offset, self.regions[region])):
            place = out.setdefault(row, np.zeros((self.channels, self.columns, self.banks, self.lanes), np.int64))
            place[channel, column, bank] = words[n]
        return out

    def constant_rows(self, scale: int) -> dict[int, np.ndarray]:
        """Rows of the scale, which no program writes: its bits in the second bank of each bank group."""
        rows = {}
        for row in range(self.regions["scale"], self.regions["silu"]):
            rows[row] = np.zeros((self.channels, self.columns, self.banks, self.lanes), np.int64)
            rows[row][:, :, 1::GROUP] = scale
        return rows

    def cleared_rows(self) -> dict[int, np.ndarray]:
        """Rows of the caches before the first token: zeros."""
        shape = (self.channels, self.columns, self.banks, self.lanes)
        return {row: np.zeros(shape, np.int64) for row in range(self.regions["present"], self.regions["wq"])}

    def fill_caches(
        self, rows: dict[int, np.ndarray], keys: np.ndarray, values: np.ndarray, fmt: FloatFormat = BF16
    ) -> None:
        """Write bits of keys and values of the first tokens, of shape ``(tokens, kv_heads, head_dim)``, into existing
        rows."""
        spans = _ceil(self.kv_heads, self.fit)
        for token in range(len(keys)):
            turn, unit = divmod(token, self.units)
            channel, bank = divmod(unit, self.banks)
            for span in range(spans):
                words = keys[token, span * self.fit : (span + 1) * self.fit].reshape(-1, self.lanes)
                rows[self.regions["keys"] + turn * spans + span][channel, : len(words), bank] = words
            word, element = divmod(token, self.lanes)
            present = rows[self.regions["present"] + word // self.columns]
            present[:, word % self.columns, :, element] = fmt.bias << fmt.fraction_bits
            for head in range(self.kv_heads):
                own, channel = divmod(head, self.channels)
                for part in range(self.parts):
                    row = self.regions["values"] + (own * self.parts + part) * self.spans + word // self.columns
                    rows[row][channel, word % self.columns, :, element] = values[
                        token, head, part * self.banks : (part + 1) * self.banks
                    ]

    def _places(self, count: int, offset: int, row: int) -> Iterator[tuple[int, int, int, int]]:
        """Channel, bank, row and column of each of ``count`` words of an element-wise product."""
        each = _ceil(count, self.groups)
        for n in range(count):
            where, at = divmod(n, each)
            channel, group = divmod(where, self.banks // GROUP)
            yield channel, GROUP * group + offset, row + at // self.columns, at % self.columns

    # Program ---------------------------------------------------------------------------------------------------------

    def program(self, tokens: int, entries: Mapping[str, int], selected: Selected | None = None) -> Program:
        """One token through the block, with ``tokens`` in the caches, this one included.

        The slots ``zero``, ``one``, ``x``, ``cos`` and ``sin`` (with the sign of each half) hold their values. The rows hold
        matrices, norms and scale, and the caches zeros behind their tokens. The result is in the slots ``x``.

        Parameters
        ----------
        tokens
        entries : first instruction of each of :data:`SCALARS` in the cores' memories, in words
        selected : runs of words of ``lanes`` tokens that attention reads, ascending, as
            :func:`bankside.models.program.selected.runs` has them: one list for all heads, one for each head of keys and
            values, or one for each query, head by head. None: all words

        Raises
        ------
        :exc:`ConfigError`
            If the cache has no room for so many tokens, or a run is outside it.
        """
        before, behind = self.surroundings(entries)
        return Program([*before, *self.tokens_stages(tokens, entries, selected), *behind])

    def surroundings(self, entries: Mapping[str, int]) -> tuple[tuple[Stage, ...], tuple[Stage, ...]]:
        """Stages of :meth:`program` before and behind those that depend on the tokens."""
        return _surroundings(self, tuple(entries[name] for name in SCALARS))

    def tokens_stages(self, tokens: int, entries: Mapping[str, int], selected: Selected | None = None) -> list[Stage]:
        """Stages of :meth:`program` that depend on the tokens: the append to the caches, and the attention."""
        if not 1 <= tokens <= self.max_tokens:
            raise ConfigError(f"tokens must be 1 to {self.max_tokens}, not {tokens}")
        read = self._lists(tokens, selected)
        return [
            _Writer(self, entries).stage("append", lambda w: w.append(tokens - 1)),
            _Writer(self, entries).stage("attention", lambda w: w.attention(tokens, read)),
        ]

    def output_program(self, outputs: int, entries: Mapping[str, int]) -> Program:
        """The last norm of ``x``, and ``outputs`` rows of the output matrix, whose results the host reads.

        The matrix lies behind the block's rows, and the weights of the norm where the block's first are.
        """
        return Program(
            [
                _Writer(self, entries).stage("norm", lambda w: w.norm("weight1")),
                _Writer(self, entries).stage("output", lambda w: w.logits(outputs)),
            ]
        )

    def _lists(self, tokens: int, selected: Selected | None) -> np.ndarray | None:
        """Words that each query reads, as truth values of shape ``(group, kv_heads, words)``."""
        if selected is None:
            return None
        words = _ceil(tokens, self.lanes)
        check_runs(selected, [self.kv_heads, self.heads], words)
        read = np.zeros((len(selected), words), bool)
        for own, runs in zip(read, selected, strict=True):
            own[units_of(*runs)] = True
        each = {1: (1, 1), self.heads: (self.kv_heads, self.group)}.get(len(selected), (self.kv_heads, 1))
        return np.broadcast_to(read.reshape(*each, words).swapaxes(0, 1), (self.group, self.kv_heads, words))


@lru_cache(maxsize=64)
def _surroundings(block: ExecutableBlock, given: tuple[int, ...]) -> tuple[tuple[Stage, ...], tuple[Stage, ...]]:
    """Stages before the append and behind the attention, which are the same for all tokens. ``given``: see
    :data:`SCALARS`."""
    entries = dict(zip(SCALARS, given, strict=True))

    def stage(name: str, write: Callable[[_Writer], None]) -> Stage:
        return _Writer(block, entries).stage(name, write)

    return (
        (
            stage("norm1", lambda w: w.norm("weight1")),
            stage("qkv", _Writer.queries_keys_values),
            stage("rotary", _Writer.positions),
        ),
        (
            stage("output", _Writer.output),
            stage("norm2", lambda w: w.norm("weight2")),
            stage("feed_forward", _Writer.feed_forward),
        ),
    )


def memory_commands(program: Program) -> Program:
    """The program without commands that take no time of the memory, with the operands that the memory's timing reads."""

    def visit(body: Sequence[Node]) -> Iterator[Node]:
        for node in body:
            if isinstance(node, Loop):
                yield Loop(node.count, tuple(visit(node.body)))
            elif isinstance(node, Stage):
                yield Stage(node.name, tuple(visit(node.body)))
            elif isinstance(node, Command) and node.op in INSTRUCTIONS and INSTRUCTIONS[node.op].command is not None:
                known = INSTRUCTIONS[node.op]
                yield Command(
                    node.op,
                    {name: value for name, value in node.operands if name in known.fields or name in known.optional},
                )

    return Program(visit(program.body))


class _Writer:
    """Appends the parts of a block to a program."""

    def __init__(self, block: ExecutableBlock, entries: Mapping[str, int]) -> None:
        self.b, self.p, self.entries = block, Program(), entries

    def stage(self, name: str, write: Callable[[_Writer], None]) -> Stage:
        """What ``write`` appends, as a stage."""
        write(self)
        return Stage(name, self.p.body)

    # Words between slots and banks -------------------------------------------------------------------------------------

    def _move(self, op: str, moves: Iterable[tuple[int, int, int, int, int]]) -> None:
        """Moves of a word between a slot and a place (slot, channel, bank, row, column). Neighbours are one command."""
        run: list[int] = []

        def close() -> None:
            if run:
                slot, channel, bank, row, column, count = run
                self.p.command(
                    op, opsize=count, gpr=slot, mask=self.b._mask(channel), bank=bank, row=row, column=column
                )

        for slot, channel, bank, row, column in moves:
            if run and (slot, channel, bank, row, column) == (run[0] + run[5], *run[1:4], run[4] + run[5]):
                run[5] += 1
                continue
            close()
            run[:] = [slot, channel, bank, row, column, 1]
        close()

    def put(self, slots: Sequence[int], offset: int, row: int, *, first: int = 0, count: int | None = None) -> None:
        """Write slots to places of an element-wise product of ``count`` words, from its word ``first`` on."""
        places = list(self.b._places(len(slots) if count is None else count, offset, row))[first : first + len(slots)]
        self._move("WR_SBK", ((slot, *place) for slot, place in zip(slots, places, strict=True)))

    def get(self, slots: Sequence[int], row: int, *, first: int = 0, count: int | None = None) -> None:
        """Read results of an element-wise product into slots."""
        places = list(self.b._places(len(slots) if count is None else count, 2, row))[first : first + len(slots)]
        self._move("RD_SBK", ((slot, *place) for slot, place in zip(slots, places, strict=True)))

    def multiply(self, count: int, row: int) -> None:
        """Element-wise products of ``count`` words from ``row`` on, in all bank groups."""
        each, b = _ceil(count, self.b.groups), self.b
        for n in range(_ceil(each, b.columns)):
            self.p.command("EWMUL", opsize=min(b.columns, each - n * b.columns), mask=b.mask, row=row + n, column=0)

    def copy(self, count: int, source: int, target: int, offset: int) -> None:
        """Copy results of an element-wise product to the bank ``offset`` of their group, in other rows."""
        each, b = _ceil(count, self.b.groups), self.b
        for n in range(_ceil(each, b.columns)):
            columns = min(b.columns, each - n * b.columns)
            for group in range(0, b.banks, GROUP):
                self.p.command(
                    "COPY_BKGB", opsize=columns, mask=b.mask, bank=group + 2, row=source + n, column=0, buffer=0
                )
                self.p.command(
                    "COPY_GBBK", opsize=columns, mask=b.mask, bank=group + offset, row=target + n, column=0, buffer=0
                )

    def add(self, target: int, source: int, count: int) -> None:
        self.p.command("EWADD", opsize=count, gpr0=target, gpr1=source)

    def fold(self, first: int, count: int) -> None:
        """Add slots to the first one, and its elements to element 0 of the slot ``sum``. The slots change."""
        while count > 1:
            half = count // 2
            self.add(first, first + count - half, half)
            count -= half
        self.p.command("RED", opsize=1, gpr0=first, gpr1=self.b.slot("sum"))

    def scalar(self, name: str, source: int, target: int, opsize: int = 1) -> None:
        self.p.command("RISCV", opsize=opsize, gpr0=source, gpr1=target, pc=self.entries[name])

    # Operators ---------------------------------------------------------------------------------------------------------

    def matrix(
        self,
        name: str,
        source: Callable[[int, int], int],
        target: Callable[[int], int],
        most: int = 1 << 30,
        done: Callable[[int, int], None] = lambda first, count: None,
        activation: int | None = None,
    ) -> None:
        """Matrix times vector, up to ``most`` outputs of a bank at a time; see :meth:`Gemv.group`.

        ``target(first)`` gives the first slot of the results from the output ``first`` of a bank on. ``done(first,
        count)`` is called when these are there.
        """
        gemv = self.b.gemv(name)
        for first, count in gemv.groups(most):
            gemv.group(self.p, first, count, source, target(first), activation)
            done(first, count)

    def project(self, name: str, source: int, target: int) -> None:
        """Matrix times a vector in slots, results in slots."""
        b = self.b
        self.matrix(name, lambda piece, columns: source + piece * b.columns, lambda first: target + b.channels * first)

    def norm(self, weight: str) -> None:
        """Root mean square norm of ``x`` into ``h``."""
        b, p, rows = self.b, self.p, self.b.regions
        words, x = b.hidden // b.lanes, b.slot("x")
        pairs = b.units // 2
        each = _ceil(words, pairs)
        moves = []
        for offset in (0, 1):
            for n in range(each * pairs):
                pair, at = divmod(n, each)
                channel, own = divmod(pair, b.banks // 2)
                moves.append(
                    (
                        x + n if n < words else b.slot("zero"),
                        channel,
                        2 * own + offset,
                        rows["square"] + at // b.columns,
                        at % b.columns,
                    )
                )
        self._move("WR_SBK", moves)
        p.command("WR_BIAS", gpr=b.slot("zero"), mask=b.mask, register=0)
        for n in range(_ceil(each, b.columns)):
            p.command(
                "MAC_ABK",
                opsize=min(b.columns, each - n * b.columns),
                mask=b.mask,
                row=rows["square"] + n,
                column=0,
                buffer=0,
                neighbour=1,
                register=0,
            )
        work = b.slot("work")
        p.command("RD_MAC", gpr=work, mask=b.mask, register=0)
        self.fold(work, b.channels)
        self.scalar("rmsnorm", b.slot("sum"), b.slot("scalar"))
        self.put(range(x, x + words), 0, rows["norm"])
        self.put([b.slot("scalar")] * words, 1, rows["norm"])
        self.multiply(words, rows["norm"])
        self.copy(words, rows["norm"], rows[weight], 1)
        self.multiply(words, rows[weight])
        self.get(range(b.slot("h"), b.slot("h") + words), rows[weight])

    def rotate(self, first: int, heads: int) -> None:
        """Rotary positions of ``heads`` heads from slot ``first`` on, as many at a time as the slots of ``h`` and behind it
        hold."""
        b, row = self.b, self.b.regions["rotary"]
        work = b.slot("h")
        n, room = b.head_slots, (self.value_slot - work) // b.head_slots
        for low in range(0, heads, room):
            size = min(room, heads - low) * n
            slots = np.arange(size)
            own, start = slots % n, first + low * n
            turned = start + slots - own + (own + n // 2) % n
            for source, factor, target in ((turned, "sin", work), (start + slots, "cos", start)):
                self.put(source.tolist(), 0, row)
                self.put((b.slot(factor) + own).tolist(), 1, row)
                self.multiply(size, row)
                self.get(range(target, target + size), row)
            self.add(start, work, size)

    @property
    def key_slot(self) -> int:
        """First slot of the newest keys."""
        return self.b.query_slot - self.b.result_slots(self.b.kv_width)

    @property
    def value_slot(self) -> int:
        """First slot of the newest values."""
        return self.key_slot - self.b.result_slots(self.b.kv_width)

    def queries_keys_values(self) -> None:
        """Queries, keys and values of ``h``."""
        for name, target in (("wv", self.value_slot), ("wq", self.b.query_slot), ("wk", self.key_slot)):
            self.project(name, self.b.slot("h"), target)

    def positions(self) -> None:
        """Rotary positions of keys and queries, and the scale of the scores on the queries."""
        b = self.b
        self.rotate(self.key_slot, b.kv_heads)
        self.rotate(b.query_slot, b.heads)
        queries, row = range(b.query_slot, b.query_slot + b.heads * b.head_slots), b.regions["scale"]
        self.put(queries, 0, row)
        self.multiply(len(queries), row)
        self.get(queries, row)

    def append(self, token: int) -> None:
        """Key and value of the newest token, from slots into the caches."""
        b, p, rows = self.b, self.p, self.b.regions
        keys, values = self.key_slot, self.value_slot
        turn, unit = divmod(token, b.units)
        channel, bank = divmod(unit, b.banks)
        spans = _ceil(b.kv_heads, b.fit)
        for span in range(spans):
            heads = min(b.fit, b.kv_heads - span * b.fit)
            p.command(
                "WR_SBK",
                opsize=heads * b.head_slots,
                gpr=keys + span * b.fit * b.head_slots,
                mask=b._mask(channel),
                bank=bank,
                row=rows["keys"] + turn * spans + span,
                column=0,
            )
        word, element = divmod(token, b.lanes)
        for channel in range(b.channels):
            p.command(
                "WR_ABK",
                gpr=b.slot("one"),
                mask=b._mask(channel),
                row=rows["present"] + word // b.columns,
                column=word % b.columns,
                element=element,
            )
        for head in range(b.kv_heads):
            own, channel = divmod(head, b.channels)
            with p.loop(b.parts) as part:
                p.command(
                    "WR_ABK",
                    gpr=values + head * b.head_slots + part,
                    mask=b._mask(channel),
                    row=rows["values"] + own * b.parts * b.spans + word // b.columns + b.spans * part,
                    column=word % b.columns,
                    element=element,
                )

    def attention(self, tokens: int, read: np.ndarray | None = None) -> None:
        """Softmax of the scores of all heads, times the values: the context, in the slots of the queries.

        ``read``: words that each query reads, of shape ``(group, kv_heads, words)``. None: all.
        """
        b, p = self.b, self.p
        if read is None or (read == read[:1]).all():
            with p.loop(b.group) as query:
                for low, count in b.batches:
                    self._batch(query, low, count, tokens, None if read is None else read[0])
        else:
            for number, own in enumerate(read):
                for low, count in b.batches:
                    self._batch(number, low, count, tokens, own)
        self.scalar("softmax", b.slot("totals"), b.slot("totals"), b.heads)
        row, first = b.regions["rotary"], b.query_slot
        context = range(first, first + b.heads * b.head_slots)
        self.put(context, 0, row)
        self.put(
            [
                b.slot("totals") + query * b.kv_heads + low + head
                for query in range(b.group)
                for low, count in b.batches
                for _ in range(b.parts)
                for head in range(count)
            ],
            1,
            row,
        )
        self.multiply(len(context), row)
        self.get(context, row)

    def _batch(self, query: Any, low: int, count: int, tokens: int, read: np.ndarray | None) -> None:
        """Products of exponentials and values, and sums of exponentials, of ``count`` heads from ``low`` on, for one query of
        the group. ``read``: words that each head reads."""
        b, p = self.b, self.p
        mask = b._mask(*((low + k) % b.channels for k in range(count)))
        queries = b.query_slot + b.kv_heads * b.head_slots * query
        first = queries + low * b.head_slots
        with p.loop(b.parts + 1) as part:
            p.command("WR_BIAS", gpr=b.slot("zero"), mask=mask, register=part)
        if read is None:
            self._all_words(queries, range(low, low + count), tokens)
        else:
            alike: dict[bytes, list[int]] = {}
            for head in range(low, low + count):
                alike.setdefault(read[head].tobytes(), []).append(head)
            for heads in alike.values():
                self._some_words(queries, heads, tokens, np.flatnonzero(read[heads[0]]))
        with p.loop(b.parts) as part:
            p.command("RD_MAC", gpr=first + count * part, mask=mask, register=part)
        p.command("RD_MAC", gpr=b.slot("totals") + b.kv_heads * query + low, mask=mask, register=b.parts)

    def _all_words(self, queries: Any, heads: Sequence[int], tokens: int) -> None:
        """Scores, exponentials and products of all words."""
        b, p = self.b, self.p
        words, turns, count = _ceil(tokens, b.lanes), _ceil(tokens, b.units), len(heads)
        most = b.room // (count * b.channels)
        step = math.lcm(b.columns, b.channels) // b.channels  # turns that end with a row of values
        most = min(most - most % step if most >= step else most, turns)
        size = most * b.channels

        def chunk(begin: Any, own: int, row: Any, column: Any, last: bool = False) -> None:
            """``own`` words of each head from the turn ``begin`` on; the first is in ``row`` and ``column`` of the values.
            A column that a loop counts is in one row with all of them."""
            whole, some = divmod(own, b.channels)
            runs = [(begin, whole, b.mask)] if whole else []
            if some:  # the last turn has words in some channels
                runs.append((begin + whole, 1, b._mask(*range(some))))
            self._scores(queries, heads, own, runs)
            self._exponentials(count, own, tokens if last else 0)
            if not isinstance(column, int):
                self._products(heads, own, 0, row, [(column, own)])
                return
            done = 0
            while done < own:
                ahead, at = divmod(column + done, b.columns)
                some = min(own - done, b.columns - at)
                self._products(heads, own, done, row + ahead, [(at, some)])
                done += some

        full, rest = divmod(words, size)
        if not rest:  # the last words have a part of their own, since the newest token ends in them
            full, rest = full - 1, size
        if size % b.columns == 0:
            with p.loop(full) as number:
                chunk(most * number, size, size // b.columns * number, 0)
        elif b.columns % size == 0:
            each = b.columns // size
            rows, some = divmod(full, each)
            with p.loop(rows) as number, p.loop(each) as place:
                chunk(most * each * number + most * place, size, number, size * place)
            with p.loop(some) as place:
                chunk(most * each * rows + most * place, size, rows, size * place)
        else:
            for before in range(full):
                chunk(most * before, size, *divmod(size * before, b.columns))
        chunk(most * full, rest, *divmod(size * full, b.columns), last=True)

    def _some_words(self, queries: Any, heads: Sequence[int], tokens: int, words: np.ndarray) -> None:
        """Scores, exponentials and products of ``words``. In a turn, only channels with such a word work."""
        b = self.b
        newest = (tokens - 1) // b.lanes
        turns, starts = np.unique(words // b.channels, return_index=True)
        parts = np.split(words, starts[1:])
        most = b.room // len(heads)
        while parts:
            size, taken = 0, 0
            while taken < len(parts) and size + len(parts[taken]) <= most:
                size, taken = size + len(parts[taken]), taken + 1
            own, parts = parts[:taken], parts[taken:]
            if b.subtract_maximum and (parts or len(own) < len(turns)):
                raise ConfigError(
                    f"the largest of {len(words)} words of scores is found only if {most} slots hold them"
                )
            runs: list[tuple[int, int, int]] = []
            for part in own:
                turn, mask = int(part[0]) // b.channels, b._mask(*(part % b.channels).tolist())
                if runs and runs[-1][2] == mask and sum(runs[-1][:2]) == turn:
                    runs[-1] = (runs[-1][0], runs[-1][1] + 1, mask)
                else:
                    runs.append((turn, 1, mask))
            chosen = np.concatenate(own)
            self._scores(queries, heads, size, runs)
            self._exponentials(len(heads), size, tokens if chosen[-1] == newest else 0)
            done = 0
            for row in np.unique(chosen // b.columns).tolist():
                columns = chosen[chosen // b.columns == row] % b.columns
                ends = np.flatnonzero(np.diff(columns) != 1) + 1
                pieces = [(int(piece[0]), len(piece)) for piece in np.split(columns, ends)]
                self._products(heads, size, done, row, pieces)
                done += len(columns)

    def _scores(self, queries: Any, heads: Sequence[int], size: int, runs: Sequence[tuple[Any, int, int]]) -> None:
        """Scores of some turns of tokens, in slots: the ``size`` words of a head are neighbours.

        ``runs``: first turn, number of turns, and mask of the channels whose words are read.
        """
        b, p, work = self.b, self.p, self.b.slot("h")
        first, free = b.parts + 1, b.registers - b.parts - 1
        done = 0
        while done < len(heads):
            head = heads[done]
            span, place = divmod(head, b.fit)
            some = 1
            while (
                done + some < len(heads) and heads[done + some] == head + some and place + some < b.fit and some < free
            ):
                some += 1
            key = (b.regions["keys"] + span, b.head_slots * place)
            p.command("WR_GB", opsize=some * b.head_slots, gpr=queries + head * b.head_slots, mask=b.mask, buffer=0)
            to = work + size * done
            for begin, turns, mask in runs:
                each = mask.bit_count()
                many = min(free // some, turns)
                whole, rest = divmod(turns, many)
                with p.loop(whole) as number:
                    at = many * number
                    self._turns(many, some, first, key, begin + at, mask, (to + each * at, size))
                if rest:
                    last = many * whole
                    self._turns(rest, some, first, key, begin + last, mask, (to + each * last, size))
                to = to + each * turns
            done += some

    def _turns(
        self, turns: int, heads: int, first: int, key: tuple[int, int], turn: Any, mask: int, to: tuple[Any, int]
    ) -> None:
        """Scores of ``heads`` heads in ``turns`` turns of tokens from ``turn`` on, each sum in a register from ``first`` on.

        ``key``: row and column of the first head's keys of the first turn. ``to``: slot of the first result, and distance
        of the heads.
        """
        b, p = self.b, self.p
        spans = _ceil(b.kv_heads, b.fit)
        with p.loop(turns * heads) as k:
            p.command("WR_BIAS", gpr=b.slot("zero"), mask=mask, register=first + k)
        with p.loop(turns) as one, p.loop(heads) as k:
            p.command(
                "MAC_ABK",
                opsize=b.head_slots,
                mask=mask,
                register=first + heads * one + k,
                row=key[0] + spans * (turn + one),
                column=key[1] + b.head_slots * k,
                buffer=b.head_slots * k,
            )
        with p.loop(turns) as one, p.loop(heads) as k:
            p.command(
                "RD_MAC", gpr=to[0] + to[1] * k + mask.bit_count() * one, mask=mask, register=first + heads * one + k
            )

    def _exponentials(self, count: int, words: int, tokens: int) -> None:
        """EXP of ``words`` words of each of ``count`` heads. ``tokens``: of the cache, if the newest token is in the last word.
        Elements behind it meet zeros in the caches."""
        b, p, work = self.b, self.p, self.b.slot("h")
        behind = tokens % b.lanes
        if b.subtract_maximum:
            for head in range(count):
                own = work + words * head
                if behind:  # elements behind the newest token are no scores
                    self.scalar("repeat", own + words - 1, own + words - 1, behind)
                self.scalar("largest_of_all", own, b.slot("scalar"), words)
                with p.loop(words) as word:
                    p.command("EWADD", opsize=1, gpr0=own + word, gpr1=b.slot("scalar"))
        p.command("EXP", opsize=count * words, gpr0=work, gpr1=work)

    def _products(
        self, heads: Sequence[int], size: int, begin: int, row: Any, pieces: Sequence[tuple[Any, int]]
    ) -> None:
        """Products of exponentials with a row of values, and with the ones of their tokens.

        ``begin``: the first of these words among the ``size`` words of a head. ``pieces``: first column and number of
        words of each run in the row.
        """
        b, p, rows, work = self.b, self.p, self.b.regions, self.b.slot("h")
        words = sum(count for _, count in pieces)
        mask = b._mask(*(head % b.channels for head in heads))
        for at in range(0, words, TOGETHER):
            for place, head in enumerate(heads):
                p.command(
                    "WR_GB",
                    opsize=min(TOGETHER, words - at),
                    gpr=work + size * place + begin + at,
                    mask=b._mask(head % b.channels),
                    buffer=at,
                )
        with p.loop(b.parts) as part:
            done = 0
            for column, count in pieces:
                p.command(
                    "MAC_ABK",
                    opsize=count,
                    mask=mask,
                    register=part,
                    row=rows["values"] + heads[0] // b.channels * b.parts * b.spans + row + b.spans * part,
                    column=column,
                    buffer=done,
                )
                done += count
        done = 0
        for column, count in pieces:
            p.command(
                "MAC_ABK",
                opsize=count,
                mask=mask,
                register=b.parts,
                row=rows["present"] + row,
                column=column,
                buffer=done,
            )
            done += count

    def output(self) -> None:
        """Product of the context with ``wo``, added to ``x``."""
        b = self.b
        self.project("wo", b.query_slot, b.slot("h"))
        self.collect(b.slot("h"))
        self.add(b.slot("x"), b.slot("h"), b.hidden // b.lanes)

    def logits(self, outputs: int) -> None:
        """Products of ``h`` with the rows of the output matrix, as many at a time as the slots hold; the host reads them."""
        b, p, work = self.b, self.p, self.b.slot("work")
        gemv = Gemv(b._module, b.hidden, outputs, base=b.regions["end"], zero=b.slot("zero"))
        for first, count in gemv.groups(b.work_slots // b.channels):
            gemv.group(p, first, count, lambda piece, columns: b.slot("h") + piece * b.columns, work)
            p.command("RD_GPR", opsize=count * b.channels, gpr=work)

    def collect(self, first: int) -> None:
        """Add the vectors of ``hidden`` elements in the slots from ``first`` on of all devices. Each device gets the sum.

        Device 0 gathers the vectors, adds them in the order of the devices, and broadcasts, a piece that its slots hold after
        the other. A device sends its next piece only when it has this sum. So device 0 never holds vectors of two sums, and
        RECV_CXL needs no name of a device.
        """
        b, p = self.b, self.p
        if b.devices == 1:
            return
        whole, rest = divmod(b.hidden // b.lanes, b.piece)
        with p.loop(whole) as number:
            self._collect(first + b.piece * number, b.piece)
        if rest:
            self._collect(first + b.piece * whole, rest)

    def _collect(self, first: Any, size: int) -> None:
        b, p, sums = self.b, self.p, self.b.slot("sums")
        if b.device:
            p.command("SEND_CXL", opsize=size, gpr0=first, gpr1=sums + (b.device - 1) * b.piece, device=0)
            p.command("RECV_CXL")
            return
        with p.loop(b.devices - 1):
            p.command("RECV_CXL")
        with p.loop(b.devices - 1) as other:
            p.command("EWADD", opsize=size, gpr0=first, gpr1=sums + b.piece * other)
        p.command("BCAST_CXL", opsize=size, gpr0=first, gpr1=first, count=b.devices - 1)

    def feed_forward(self) -> None:
        """SwiGLU of ``h``, added to ``x``. Its vectors lie in the banks, because the slots do not hold them."""
        b, rows = self.b, self.b.regions
        words, h, work = b.result_slots(b.ffn), b.slot("h"), b.slot("work")
        together = b.work_slots // (2 * b.channels)
        sigmoid = work + min(together, b.registers) * b.channels

        def half(first: int, count: int) -> None:
            size = count * b.channels
            self.put(range(work, work + size), 0, rows["silu"], first=first * b.channels, count=words)
            self.put(range(sigmoid, sigmoid + size), 1, rows["silu"], first=first * b.channels, count=words)

        def other(first: int, count: int) -> None:
            self.put(range(work, work + count * b.channels), 0, rows["gate"], first=first * b.channels, count=words)

        def piece(number: int, columns: int) -> int:
            self.get(range(work, work + columns), rows["gate"], first=number * b.columns, count=words)
            return work

        def from_h(number: int, columns: int) -> int:
            return h + number * b.columns

        self.matrix("w1", from_h, lambda first: work, together, half, sigmoid)
        self.multiply(words, rows["silu"])
        self.copy(words, rows["silu"], rows["gate"], 1)
        self.matrix("w3", from_h, lambda first: work, together, other)
        self.multiply(words, rows["gate"])
        if b.devices > 1:
            self.matrix("w2", piece, lambda first: h + first * b.channels, (b.work_slots - b.columns) // b.channels)
            self.collect(h)
            self.add(b.slot("x"), h, b.hidden // b.lanes)
            return
        results = work + b.columns

        def residual(first: int, count: int) -> None:
            size = min(count * b.channels, b.hidden // b.lanes - first * b.channels)
            if size > 0:
                self.add(b.slot("x") + first * b.channels, results, size)

        self.matrix("w2", piece, lambda first: results, (b.work_slots - b.columns) // b.channels, residual)
