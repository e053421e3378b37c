"""Operators of a decode step on AiM channels with a hub: places of operands, and the program of each operator.

The channels have a multiply-accumulate unit at each bank. The hub has vector registers (GPR). One input path writes them
to the channels' global buffers. Programs use the instructions of the host of AiM channels
(:data:`bankside.models.memory.aim.INSTRUCTIONS`). LoL-PIM's WR-INP, DOT-PROD and RD-OUT are WR_GB, MAC_ABK and RD_MAC.
The defaults of :class:`Module` are LoL-PIM's module: 16 channels of 16 banks, 16 lanes, one register in use.

Partitioning of keys and values (LoL-PIM section 4):

``head``
    One channel holds the keys and values of a request and head. Keys: tokens are spread over its banks, and a row holds
    all tokens that fit into it. Values: head dimensions are spread over the banks, with tokens along the row. Up to 16
    heads are processed together, each in its own channel.
``token``
    A head is spread over all channels. Keys: a row step has one token in each of the 256 banks. A row also holds the
    other heads of the module or, with few heads, the next row steps. Values: head dimensions are spread over the banks.
    With fewer than 256 dimensions, the tokens are cut into ``256 / dimensions`` parts, which are processed together.

A unit adds to its register until WR_BIAS writes the register, so every result begins with a zero. With two sets of
registers, the next zero is written before a result is read. Otherwise a product would wait for the result before it.
With several registers (CENT has 32), a unit keeps the sums of as many outputs over all pieces of the input.

The hub adds partial results (EWADD): of the pieces of an input, of the parts of the tokens (``token``), and of their runs
(``head``).

The programs of ``token`` compute: :mod:`bankside.models.lolpim.head` executes them on a module, with SOFTMAX between scores
and context. Products of a row reach beyond the newest token. With one part, a context reads only words up to this token.
With several parts, it reads whole runs of all parts, and so :class:`Score` writes zeros behind the newest token's word.

Sizes are in elements of two bytes. Masks of channels follow AiM traces: channel 0 is the highest bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ...constraints.aim.encoding import mask_of
from ...constraints.core.errors import ConfigError
from ..memory.aim import CHANNELS
from ..program import Program
from ..program.nodes import Tokens

__all__ = ["Append", "Context", "Gemv", "Module", "Score"]

#: Bytes of an element: FP16 or BF16.
ELEMENT = 2

Partition = Literal["head", "token"]


def _product(p: Program, double: bool, zero: int, mask: int, gpr: Any, **operands: Any) -> None:
    """A product, and the read of its result to ``gpr``. With two sets, the first product finds its register written."""
    if not double:
        p.command("WR_BIAS", gpr=zero, mask=mask)
    p.command("MAC_ABK", mask=mask, **operands)
    if double:
        p.command("WR_BIAS", gpr=zero, mask=mask)
    p.command("RD_MAC", gpr=gpr, mask=mask)


def ceil(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class Module:
    """Channels, banks and registers of a module.

    Attributes
    ----------
    channels, banks : of the module, and of a channel
    lanes : elements of a column access
    row : elements of a row, and of the global buffer
    rows : of a bank
    registers : accumulation registers of a unit, and so outputs whose sums run together
    first : first channel; a device may have several blocks of channels
    mask_bits : bits of a mask of channels, whose highest bit is channel 0
    """

    channels: int = 16
    banks: int = 16
    lanes: int = 16
    row: int = 1024
    rows: int = 16384
    registers: int = 1
    first: int = 0
    mask_bits: int = CHANNELS

    @property
    def units(self) -> int:
        return self.channels * self.banks

    @property
    def columns(self) -> int:
        return self.row // self.lanes

    @property
    def mask(self) -> int:
        return self.mask_of(self.channels)

    def mask_of(self, count: int, first: int = 0) -> int:
        """Mask of ``count`` channels from ``first`` on."""
        return mask_of(range(self.first + first, self.first + first + count), self.mask_bits)

    @property
    def step_bytes(self) -> int:
        """Bytes of a row in every bank."""
        return self.units * self.row * ELEMENT

    @property
    def bytes(self) -> int:
        return self.rows * self.step_bytes


@dataclass(frozen=True)
class Gemv:
    """Matrix times vector, ``vectors`` times. Outputs are spread over all units; the input is cut into pieces that fill
    the global buffer.

    A piece of the input is multiplied with all outputs before the next piece is written, so each piece is written once.
    The hub adds the results of the pieces. The matrix takes the rows of the banks from ``base`` on.

    ``source``, ``target`` and ``partial`` are the first hub registers of the input, the result and the result of a
    further piece. ``zero`` is the register with zeros. A register has 16 elements. ``double``: two sets of buffers.

    With several ``registers`` of the module, the sums of a group of outputs run over all pieces of the input. The input is
    written once for each group, each result is read once, and the hub adds nothing. Each output then has rows of its own,
    one for each piece.
    """

    module: Module
    inputs: int
    outputs: int
    vectors: int = 1
    base: int = 0
    source: int = 0
    target: int = 0
    partial: int = 0
    zero: int = 0
    double: bool = False

    @property
    def spans(self) -> int:
        return ceil(self.inputs, self.module.row)

    @property
    def per_unit(self) -> int:
        """Outputs that a unit computes."""
        return ceil(self.outputs, self.module.units)

    @property
    def result_words(self) -> int:
        """Registers of the hub with the results of a piece."""
        return self.per_unit * self.module.channels

    def groups(self, most: int = 1 << 30) -> list[tuple[int, int]]:
        """First output of a unit, and number of outputs, of each group of up to ``most`` outputs."""
        each = ceil(self.per_unit, ceil(self.per_unit, min(self.module.registers, most)))
        return [(first, min(each, self.per_unit - first)) for first in range(0, self.per_unit, each)]

    def group(
        self, p: Program, first: int, count: int, source: Callable[[int, int], Any], target: Any, activation: Any = None
    ) -> None:
        """Append the products of ``count`` outputs of each unit from output ``first`` on, with a register for each.

        ``source(piece, columns)`` gives the first hub register of a piece of the input, and may append commands that
        bring it there. Results go to the hub registers from ``target`` on. Results of the activation function AF go to the
        registers from ``activation`` on.
        """
        m = self.module
        with p.loop(count) as k:
            p.command("WR_BIAS", gpr=self.zero, mask=m.mask, register=k)
        for span in range(self.spans):
            columns = self._span(span == self.spans - 1)[0]
            p.command("WR_GB", opsize=columns, gpr=source(span, columns), mask=m.mask, buffer=0)
            with p.loop(count) as k:
                p.command(
                    "MAC_ABK",
                    opsize=columns,
                    mask=m.mask,
                    column=0,
                    buffer=0,
                    register=k,
                    row=self.base + self.spans * first + span + self.spans * k,
                )
        if activation is not None:
            with p.loop(count) as k:
                p.command("AF", mask=m.mask, function=0, register=k)
                p.command("RD_AF", gpr=activation + m.channels * k, mask=m.mask)
        with p.loop(count) as k:
            p.command("RD_MAC", gpr=target + m.channels * k, mask=m.mask, register=k)

    def _span(self, last: bool) -> tuple[int, int]:
        """Columns of a piece, and outputs of a unit whose weights share a row."""
        inputs = self.inputs - self.module.row * (self.spans - 1) if last else self.module.row
        columns = ceil(inputs, self.module.lanes)
        return columns, max(self.module.columns // columns, 1)

    @property
    def rows(self) -> int:
        """Rows that the matrix takes in every bank."""
        if self.module.registers > 1:
            return self.spans * self.per_unit
        return (self.spans - 1) * self.per_unit + ceil(self.per_unit, self._span(True)[1])

    @property
    def bound(self) -> Program:
        """The program; it has no loop that counts by tokens."""
        return self.program

    @cached_property
    def program(self) -> Program:
        p, m = Program(), self.module
        if m.registers > 1:
            for _ in range(self.vectors):
                for first, count in self.groups():
                    self.group(
                        p,
                        first,
                        count,
                        lambda span, columns: self.source + m.columns * span,
                        self.target + m.channels * first,
                    )
            return p
        columns, packed = self._span(True)
        product = (p, self.double, self.zero, m.mask)

        def full(span: Any, into: int) -> None:
            """A piece that fills the buffer."""
            p.command("WR_GB", opsize=m.columns, gpr=self.source + m.columns * span, mask=m.mask)
            with p.loop(self.per_unit) as output:
                _product(
                    *product,
                    into + m.channels * output,
                    opsize=m.columns,
                    row=self.base + span * self.per_unit + output,
                )

        def add() -> None:
            p.command("EWADD", opsize=self.result_words, gpr0=self.target, gpr1=self.partial)

        with p.loop(self.vectors):
            if self.double:
                p.command("WR_BIAS", gpr=self.zero, mask=m.mask)
            if self.spans > 1:
                full(0, self.target)
                with p.loop(self.spans - 2) as span:
                    full(1 + span, self.partial)
                    add()
            into = self.target if self.spans == 1 else self.partial
            p.command("WR_GB", opsize=columns, gpr=self.source + m.columns * (self.spans - 1), mask=m.mask)
            first = self.base + (self.spans - 1) * self.per_unit
            whole, rest = divmod(self.per_unit, packed)
            for count, before, outputs in ((whole, 0, packed), (1 if rest else 0, whole, rest)):
                with p.loop(count) as row:
                    with p.loop(outputs) as output:
                        _product(
                            *product,
                            into + m.channels * (before * packed + row * packed + output),
                            opsize=columns,
                            row=first + before + row,
                            column=columns * output,
                        )
            if self.spans > 1:
                add()
        return p


@dataclass(frozen=True)
class _Attention:
    """Attributes
    ----------
    tokens : tokens that the query attends to
    head_dim : elements of a head
    group : queries that share the keys and values of the head
    heads : key/value heads of a request on the module
    together : heads that are processed at the same time (``head``), each in its own channel
    base, stride, column : first row, distance of rows, first column
    source, target, partial, zero : first hub registers of the input, the result, the result of a further run, and zeros
    double : two sets of buffers
    by_tokens : loops count by the tokens of the request for which the program runs, and rows are that request's rows
        (``token``). ``tokens`` then only says for which context the result is. Surplus tokens of the last row of keys are
        multiplied too
    scores : registers from the scores of a query to the scores of the next (``token``); 0 for as many as ``tokens`` take
    run : number of tokens whose values lie together in a row, at most a whole row
    """

    module: Module
    partition: Partition
    tokens: int
    head_dim: int = 128
    group: int = 1
    heads: int = 1
    together: int = 1
    base: int = 0
    stride: int = 1
    column: int = 0
    source: int = 0
    target: int = 0
    by_tokens: bool = False
    partial: int = 0
    zero: int = 0
    double: bool = False
    scores: int = 0
    run: int = 1024

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ConfigError(f"tokens must be at least 1, not {self.tokens}")
        most = self.module.row
        if self.head_dim > most or self.head_dim % self.module.lanes:
            raise ConfigError(
                f"head dimension must be a multiple of {self.module.lanes} up to {most}, not {self.head_dim}"
            )

    @property
    def columns(self) -> int:
        """Column accesses of a head's vector."""
        return ceil(self.head_dim, self.module.lanes)

    @property
    def parts(self) -> int:
        """Number of parts into which the tokens of values are cut."""
        return max(self.module.units // self.head_dim, 1) if self.partition == "token" else 1

    @property
    def keys_per_row(self) -> int:
        """Keys of this head in a row of a bank."""
        fit = self.module.row // self.head_dim
        return fit if self.partition == "head" else max(fit // self.heads, 1)

    @property
    def query_registers(self) -> int:
        """Registers from the scores of a query to the scores of the next. Scores take whole rows of keys, and zeros behind
        them the rest of the parts."""
        m = self.module
        row, parts = self.keys_per_row * m.units, self.parts * self.run
        behind = ceil(parts, m.lanes) + m.channels if self.parts > 1 else 0
        return self.scores or ceil(self.tokens, row) * row // m.lanes + behind

    @property
    def bound(self) -> Program:
        """The program for ``tokens`` tokens."""
        return self.program.bind(self.tokens) if self.by_tokens else self.program

    @property
    def program(self) -> Program:
        """The program; loops count by tokens if ``by_tokens``."""
        raise NotImplementedError

    @property
    def _slot(self) -> dict[str, int]:
        return {"slot": 0} if self.by_tokens else {}

    def _inputs(self, p: Program, columns: int, gpr: Any, stride: int) -> None:
        """Input of each head that is processed at the same time, ``stride`` registers from one head to the next."""
        for channel in range(self.together):
            mask = self.module.mask if self.partition == "token" else self.module.mask_of(1, channel)
            p.command("WR_GB", opsize=columns, gpr=gpr + stride * channel, mask=mask)

    @property
    def mask(self) -> int:
        return self.module.mask if self.partition == "token" else self.module.mask_of(self.together)


@dataclass(frozen=True)
class Score(_Attention):
    """Queries times keys of one head (``token``) or ``together`` heads (``head``).

    ``token``: a row step has 256 tokens, and one result of each bank is read after each step. The queries of a group
    are in the buffer together while it has room, so a row is opened once for them. The scores of a query are neighbours.
    """

    @property
    def steps(self) -> int:
        """Products of each query."""
        units = self.module.units if self.partition == "token" else self.module.banks
        return ceil(self.tokens, units)

    @property
    def steps_per_row(self) -> int:
        return self.keys_per_row

    @property
    def rows(self) -> int:
        """Rows that the keys of all heads of the request take in every bank of their channels (``token``: of all)."""
        fit = self.module.row // self.head_dim
        if self.partition == "token":
            return ceil(self.steps, self.steps_per_row) * ceil(self.heads, fit)
        return ceil(self.steps, self.steps_per_row)

    def place(self, token: int, head: int = 0) -> tuple[int, int, int, int]:
        """Channel, bank, row and first column of a token's key.

        ``head`` counts the request's heads on the module (``token``), or all heads, dealt to channels in turn
        (``head``).
        """
        m, fit = self.module, self.module.row // self.head_dim
        if self.partition == "head":
            step, bank = divmod(token, m.banks)
            turn, channel = divmod(head, m.channels)
            row, slot = divmod(step, fit)
            return channel, bank, self.base + turn * self.rows + row, slot * self.columns
        step, unit = divmod(token, m.units)
        channel, bank = divmod(unit, m.banks)
        row, part = divmod(step, self.steps_per_row)
        group, slot = divmod(head, fit) if self.heads >= fit else (0, head * self.steps_per_row + part)
        return channel, bank, self.base + group * ceil(self.steps, self.steps_per_row) + row, slot * self.columns

    @cached_property
    def program(self) -> Program:
        p, m = Program(), self.module
        fit, group, columns = m.row // self.head_dim, self.group, self.columns
        whole, rest = divmod(group, fit)

        # Registers from a step to the next, and from a query to the next.
        apart = (group * m.channels, m.channels) if self.partition == "head" else (m.channels, self.query_registers)

        def row_of(steps: int, row: Any, step: Any, query: Any, queries: int) -> None:
            """The steps that share a row; ``step`` is the number of the first step."""
            with p.loop(steps) as one:
                with p.loop(queries) as q:
                    _product(
                        p,
                        self.double,
                        self.zero,
                        self.mask,
                        self.target + apart[0] * (step + one) + apart[1] * (query + q),
                        opsize=columns,
                        row=row,
                        column=self.column + columns * one,
                        **({"buffer": columns * q} if queries > 1 else {}),
                        **self._slot,
                    )

        if self.double:
            p.command("WR_BIAS", gpr=self.zero, mask=self.mask)
        for turns, before, queries in ((whole, 0, fit), (1 if rest else 0, whole * fit, rest)):
            with p.loop(turns) as turn:
                query = before + fit * turn
                self._inputs(p, queries * columns, self.source + columns * query, columns * group)
                per_row = self.steps_per_row
                if self.by_tokens:
                    with p.loop(Tokens(per_row * m.units)) as row:
                        row_of(per_row, self.base + self.stride * row, per_row * row, query, queries)
                    continue
                full, last = divmod(self.steps, per_row)
                with p.loop(full) as row:
                    row_of(per_row, self.base + self.stride * row, per_row * row, query, queries)
                if last:
                    row_of(last, self.base + self.stride * full, per_row * full, query, queries)
        if self.parts > 1 and (self.by_tokens or self.tokens % (self.parts * self.run)):
            self._zeros(p)
        return p

    def _zeros(self, p: Program) -> None:
        """Zeros behind the word of the newest token, up to the end of the run of the last part. A product with a zero gives
        them."""
        m, lanes = self.module, self.module.lanes
        newest: Any = p.newest(lanes) if self.by_tokens else (self.tokens - 1) // lanes
        p.command("WR_GB", opsize=1, gpr=self.zero, mask=self.mask)
        if not self.double:
            p.command("WR_BIAS", gpr=self.zero, mask=self.mask)
        p.command("MAC_ABK", opsize=1, mask=self.mask, row=self.base, column=self.column, **self._slot)
        if self.double:
            p.command("WR_BIAS", gpr=self.zero, mask=self.mask)
        with p.loop(self.group) as query, p.loop(ceil(self.parts * self.run // lanes - 1, m.channels)) as word:
            p.command(
                "RD_MAC",
                gpr=self.target + 1 + self.query_registers * query + m.channels * word + newest,
                mask=self.mask,
            )


@dataclass(frozen=True)
class Context(_Attention):
    """Probabilities times values of one head (``token``) or ``together`` heads (``head``).

    ``token``: the parts of the tokens are processed together, each with its own input. The sums of a query's dimensions
    stay in registers over all runs. With more dimensions of a unit than registers, the inputs are written again for each
    group of registers. ``shared``: the dimensions of a run share a row. ``head``: the results of each dimension and run are
    read, and the hub adds them.
    """

    shared: bool = False

    @property
    def passes(self) -> int:
        """Dimensions that a unit computes."""
        return ceil(self.head_dim, self.module.units if self.partition == "token" else self.module.banks)

    @property
    def steps(self) -> int:
        """Runs of each part."""
        return ceil(self.tokens, self.parts * self.run)

    @property
    def rows(self) -> int:
        """Rows that the values of all heads of the request take in every bank (``head``: of one head in its channel).

        Runs of several heads share a row (``token``), or several runs of a head (``head``)."""
        packed = max(self.module.row // self.run, 1)
        if self.partition == "token":
            return self.steps * self.passes * ceil(self.heads, packed)
        return ceil(self.steps * self.passes, packed)

    @property
    def often(self) -> bool:
        """Whether results are read once a run, otherwise once a query."""
        return self.partition == "head"

    @property
    def sums(self) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
        """Sums of partial results that the hub makes, each as ``(times, registers)``.

        The first entry has the sums that the hub makes beside products. The second has the sums behind the last
        product: of its run, and of the parts of the tokens.
        """
        words = self.passes * self.module.channels
        runs = self.steps - 1 if self.often else 0
        beside = ((self.group * (runs - 1), words),) if runs > 1 else ()
        last: tuple[tuple[int, int], ...] = ((self.group, words),) if runs else ()
        if self.parts > 1:
            last += ((self.group * (self.parts - 1), max(words // self.parts, 1)),)
        return beside, last

    def place(self, token: int, dim: int, head: int = 0) -> tuple[int, int, int, int]:
        """Channel, bank, row and element of the row of a token's value in one dimension; ``head`` as
        :meth:`Score.place`."""
        m = self.module
        block, at = divmod(token, self.run)
        packed = max(m.row // self.run, 1)
        if self.partition == "head":
            one, bank = divmod(dim, m.banks)
            turn, channel = divmod(head, m.channels)
            number = block * self.passes + one
            return channel, bank, self.base + turn * self.rows + number // packed, number % packed * self.run + at
        step, part = divmod(block, self.parts)
        one, unit = divmod(dim, m.units)
        channel, bank = divmod(part * (m.channels // self.parts) * m.banks + unit, m.banks)
        number = head * self.steps * self.passes + step * self.passes + one
        if packed > 1:  # heads share a row, so a head has one run in each row
            group, slot = divmod(head, packed)
            return (
                channel,
                bank,
                self.base + group * self.steps * self.passes + step * self.passes + one,
                slot * self.run + at,
            )
        return channel, bank, self.base + number, at

    def _part_inputs(self, p: Program, columns: Any, gpr: Any) -> None:
        """Inputs: runs of tokens of all parts, or of all heads that are processed at the same time."""
        m, registers = self.module, self.run // self.module.lanes
        if self.partition == "head":
            self._inputs(p, columns, gpr, registers * self.steps * self.group)
            return
        each = max(m.channels // self.parts, 1)
        for part in range(min(self.parts, m.channels)):
            p.command("WR_GB", opsize=columns, gpr=gpr + registers * part, mask=m.mask_of(each, part * each))

    @cached_property
    def program(self) -> Program:
        if self.partition == "token":
            return self._by_registers()
        p, m = Program(), self.module
        full, words = self.run // m.lanes, self.passes * m.channels

        def runs(count: int, columns: int, first: int) -> None:
            """Runs from ``first`` on. The hub adds the results of further runs to the first."""
            into = self.partial if first else self.target
            with p.loop(count) as step:
                with p.loop(self.group) as query:
                    self._part_inputs(p, columns, self.source + full * ((first + step) * self.group + query))
                    with p.loop(self.passes) as one:
                        _product(
                            p,
                            self.double,
                            self.zero,
                            self.mask,
                            into + m.channels * (self.passes * query + one),
                            opsize=columns,
                            column=self.column,
                            row=self.base + self.stride * ((first + step) * self.passes + one),
                        )
                    if first:
                        p.command("EWADD", opsize=words, gpr0=self.target + words * query, gpr1=into + words * query)

        if self.double:
            p.command("WR_BIAS", gpr=self.zero, mask=self.mask)
        rest = self.tokens - (self.steps - 1) * self.run
        if self.steps > 1:
            runs(1, full, 0)
            runs(self.steps - 2, full, 1)
        runs(1, ceil(rest, m.lanes), self.steps - 1)
        return p

    def _by_registers(self) -> Program:
        p, m = Program(), self.module
        together, words = min(m.registers, self.passes), self.passes * m.channels
        apart = self.query_registers

        def zeros(count: int) -> None:
            with p.loop(count) as one:
                p.command("WR_BIAS", gpr=self.zero, mask=self.mask, register=one)

        with p.loop(self.group) as query:
            if self.double:
                zeros(together)
            whole, rest = divmod(self.passes, together)
            with p.loop(whole) as batch:
                self._sums(p, query, apart * query, together * batch, together, zeros)
            if rest:
                self._sums(p, query, apart * query, together * whole, rest, zeros)
        if self.parts > 1:
            own = max(words // self.parts, 1)
            with p.loop(self.group) as query, p.loop(self.parts - 1) as part:
                p.command(
                    "EWADD",
                    opsize=own,
                    gpr0=self.target + words * query,
                    gpr1=self.target + words * query + own * (1 + part),
                )
        return p

    def _sums(self, p: Program, query: Any, scores: Any, first: Any, count: int, zeros: Callable[[int], None]) -> None:
        """Sums of ``count`` dimensions of a unit from ``first`` on over all tokens, each in a register. ``scores``: distance
        of the query's scores."""
        m, full = self.module, self.run // self.module.lanes
        size = self.parts * self.run  # tokens of a step

        def step(number: Any, columns: Any) -> None:
            self._part_inputs(p, columns, self.source + scores + full * self.parts * number)
            with p.loop(count) as one:
                if self.shared:
                    row, column = number, self.column + full * (first + one)
                else:
                    row, column = self.passes * number + first + one, self.column
                p.command(
                    "MAC_ABK",
                    opsize=columns,
                    mask=self.mask,
                    register=one,
                    row=self.base + self.stride * row,
                    column=column,
                    **self._slot,
                )

        if not self.double:
            zeros(count)
        if not self.by_tokens:
            with p.loop(self.steps - 1) as number:
                step(number, full)
            step(self.steps - 1, ceil(min(self.tokens - (self.steps - 1) * size, self.run), m.lanes))
        elif self.parts > 1:
            with p.loop(Tokens(size)) as number:
                step(number, full)
        else:
            with p.loop(Tokens(size, -1)) as number:
                step(number, full)
            step(p.newest(size), 1 + p.newest(m.lanes, full))
        if self.double:
            zeros(min(m.registers, self.passes))
        with p.loop(count) as one:
            p.command(
                "RD_MAC",
                gpr=self.target + self.passes * m.channels * query + m.channels * first + m.channels * one,
                mask=self.mask,
                register=one,
            )


@dataclass(frozen=True)
class Append(_Attention):
    """Write key and value of a request's new token into the banks, for all heads of the module.

    A key is written to one bank, 16 elements a write. A write of a value (``WR_ABK``) puts one element into every bank
    of a channel. Each head (``token``) or dimension (``head``) has its own row of values.
    """

    @cached_property
    def program(self) -> Program:
        p, m = Program(), self.module
        fit = m.row // self.head_dim
        if self.partition == "token":
            with p.loop(self.heads // fit) as row:
                with p.loop(fit * self.columns):
                    p.command("W_MEM", channel=0, bank=0, row=self.base + row)
            with p.loop(self.heads % fit * self.columns):
                p.command("W_MEM", channel=0, bank=0, row=self.base + self.heads // fit)
            first = self.base + ceil(self.heads, fit)
            channels = ceil(min(self.head_dim, m.units), m.banks)
            with p.loop(self.heads * ceil(self.head_dim, m.units)) as row:
                for channel in range(channels):
                    p.command("WR_ABK", gpr=0, mask=m.mask_of(1, channel), row=first + row)
            return p
        with p.loop(ceil(self.heads, m.channels)) as turn:
            for channel in range(min(self.heads, m.channels)):
                with p.loop(self.columns):
                    p.command("W_MEM", channel=channel, bank=0, row=self.base + turn)
            with p.loop(ceil(self.head_dim, m.banks)) as row:
                for channel in range(min(self.heads, m.channels)):
                    p.command("WR_ABK", gpr=0, mask=m.mask_of(1, channel), row=self.base + 64 + row)
        return p
