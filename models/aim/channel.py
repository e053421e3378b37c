"""Functional model of an AiM channel, bit-exact with the RTL.

Source of the commands: CENT (ASPLOS 2025) Table 3 and section 5.4, LoL-PIM section 6. Rounding, and the assignment of
commands to sets of buffers, are this project's: see the page of the unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...constraints.aim.channel import CHANNEL_COMMANDS, GROUP, AimChannelConfig
from ...constraints.core.errors import ConfigError, nearest
from ..numerics import DotAccumulation, interpolate, vector_multiply

__all__ = ["BANK_COMMANDS", "DATA_COMMANDS", "ChannelModel", "Operation", "Write"]

#: Commands that take a column access of the banks for each operation, and commands that take words of ``data``.
BANK_COMMANDS = ("MAC_ABK", "MAC_SBK", "EWMUL", "COPY_BKGB", "RD_SBK")
DATA_COMMANDS = ("WR_GB", "WR_BIAS", "WR_ABK", "WR_SBK")
#: Commands of more than one operation.
_MANY = ("WR_GB", "MAC_ABK", "MAC_SBK", "EWMUL", "COPY_BKGB", "COPY_GBBK", "WR_SBK", "RD_SBK")


@dataclass(frozen=True)
class Operation:
    """A command with its operands, see ``AimChannelConfig.command_layout``."""

    op: str
    opsize: int = 1
    column: int = 0
    bank: int = 0
    register: int = 0
    element: int = 0
    function: int = 0
    neighbour: int = 0

    @property
    def accesses(self) -> int:
        """Column accesses that the command takes."""
        return self.steps if self.op in BANK_COMMANDS else 0

    @property
    def words(self) -> int:
        """Words of data that the command takes."""
        return self.steps if self.op in DATA_COMMANDS else 0

    @property
    def steps(self) -> int:
        return self.opsize if self.op in _MANY or not self.opsize else 1


@dataclass(frozen=True)
class Write:
    """A write into the banks.

    ``banks`` has a bit for each written bank. ``words`` has the shape ``(banks, lanes)``, with words of 0 for other
    banks. ``element`` is the only element of each word that is written (-1: all elements).
    """

    banks: int
    words: np.ndarray
    element: int = -1


class ChannelModel:
    """State of a channel, and the effect of commands on it. Numbers are int64 arrays of bits.

    With ping-pong sets, the order of the program decides which set a command uses:

    - WR_GB and COPY_BKGB fill the buffer that the last product did not use. The next product uses this buffer.
    - WR_BIAS writes registers of the set that the last product did not use. The next product continues in this set.
    - RD_MAC and AF read the set of the last product.

    Registers and buffers hold anything after power-up, and reset does not clear them. It is an error of the program if
    a command uses a register or column that no command has written.

    Attributes
    ----------
    results : list of arrays of shape ``(lanes,)``
    writes : list of :class:`Write`
    """

    def __init__(self, config: AimChannelConfig) -> None:
        self.config = config
        shape = (config.sets, config.registers_per_set)
        self.buffers = np.zeros((config.sets, config.columns, config.lanes), np.int64)
        self.numbers = np.zeros((*shape, config.banks), np.int64)
        self.written = np.zeros((*shape, config.banks), bool)
        self.sums = [[self._sum() for _ in range(shape[1])] for _ in range(shape[0])]
        self.activation: np.ndarray | None = None
        # Columns of the buffers, and registers, that hold data.
        self._filled_columns = np.zeros((config.sets, config.columns), bool)
        self._begun_registers = np.zeros(shape, bool)
        self.buffer = self.set = 0
        self.filled = self.begun = False
        self.results: list[np.ndarray] = []
        self.writes: list[Write] = []

    def _sum(self) -> DotAccumulation:
        state = DotAccumulation(self.config.banks, self.config.window)
        state.minus[:] = False
        return state

    def execute(
        self, operation: Operation, accesses: np.ndarray | None = None, words: np.ndarray | None = None
    ) -> None:
        """Execute a command.

        Parameters
        ----------
        accesses : of shape ``(operation.accesses, banks, lanes)``
        words : of shape ``(operation.words, lanes)``

        Raises
        ------
        :exc:`ConfigError`
            If the channel has no such command, an operand is outside its field, or used data were never written.
        """
        config = self.config
        if operation.op not in CHANNEL_COMMANDS:
            raise ConfigError(nearest("command of a channel", operation.op, CHANNEL_COMMANDS))
        self._check(operation)
        if not operation.opsize:
            return
        none = np.zeros((0, config.banks, config.lanes), np.int64)
        getattr(self, f"_{operation.op.lower()}")(
            operation,
            none if accesses is None else np.asarray(accesses, np.int64),
            none[0:0, 0] if words is None else np.asarray(words, np.int64),
        )

    def _check(self, operation: Operation) -> None:
        config = self.config
        limits = {
            "opsize": 1 << config.opsize_bits,
            "column": config.columns,
            "bank": config.banks,
            "register": config.registers_per_set,
            "element": config.lanes,
            "function": len(config.tables),
            "neighbour": 2,
        }
        for name, limit in limits.items():
            if not 0 <= getattr(operation, name) < limit:
                raise ConfigError(f"{operation.op}: {name} must be 0 to {limit - 1}, not {getattr(operation, name)}")

    # Commands ---------------------------------------------------------------------------------------------------------

    def _columns(self, operation: Operation) -> np.ndarray:
        return (operation.column + np.arange(operation.opsize)) % self.config.columns

    def _number(self, op: str, register: int) -> tuple[int, int]:
        """Set and register of a sum that has begun."""
        if not self._begun_registers[self.set, register]:
            where = f"register {register}" + (f" of set {self.set}" if self.config.sets > 1 else "")
            raise ConfigError(f"{op}: {where} was never written; WR_BIAS begins every sum")
        return self.set, register

    def _inputs(self, operation: Operation, buffer: int) -> np.ndarray:
        """Words of a buffer. All must have been written."""
        columns = self._columns(operation)
        missing = columns[~self._filled_columns[buffer, columns]]
        if len(missing):
            where = f"column {missing[0]} of the global buffer" + (f" {buffer}" if self.config.sets > 1 else "")
            raise ConfigError(f"{operation.op}: {where} was never written; WR_GB and COPY_BKGB write it")
        return self.buffers[buffer, columns]

    @property
    def _filling(self) -> int:
        return (self.buffer + 1) % self.config.sets

    @property
    def _full(self) -> int:
        """Buffer of the next product."""
        return (self.buffer + self.filled) % self.config.sets

    def _fill(self, operation: Operation, words: np.ndarray) -> None:
        for column, word in zip(self._columns(operation), words, strict=True):  # the last word for a column stays
            self.buffers[self._filling, column] = word
            self._filled_columns[self._filling, column] = True
        self.filled = True

    def _wr_gb(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        self._fill(operation, words)

    def _copy_bkgb(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        self._fill(operation, accesses[:, operation.bank])

    def _wr_bias(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        at = (self.set + 1) % self.config.sets, operation.register
        self.numbers[at] = words[0, : self.config.banks]
        self.written[at] = self._begun_registers[at] = True
        self.begun = True

    def _mac_abk(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        if operation.neighbour:
            self._product(operation, accesses, np.arange(self.config.banks) % 2 == 0, np.roll(accesses, -1, axis=1))
        else:
            self._product(operation, accesses, np.ones(self.config.banks, bool))

    def _mac_sbk(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        self._product(operation, accesses, np.arange(self.config.banks) == operation.bank)

    def _product(
        self, operation: Operation, accesses: np.ndarray, enable: np.ndarray, factors: np.ndarray | None = None
    ) -> None:
        config, fmt = self.config, self.config.fmt
        self.buffer, self.filled = self._full, False
        self.set, self.begun = (self.set + self.begun) % config.sets, False
        at = self._number(operation.op, operation.register)
        state = self.sums[self.set][operation.register]
        old = {
            name: getattr(state, name).copy() for name in ("value", "exponent", "nan", "positive", "negative", "minus")
        }
        fresh, first = self._sum(), self.written[at] & enable
        fresh.minus[:] = True
        for name in old:
            getattr(state, name)[first] = getattr(fresh, name)[first]
        if factors is None:
            factors = np.broadcast_to(self._inputs(operation, self.buffer)[:, None], accesses.shape)
        one = np.full((config.banks, 1), fmt.bias << fmt.fraction_bits)
        start = np.where(first, self.numbers[at], fmt.sign_mask)
        for a, b in zip(accesses, factors, strict=True):
            state.add(np.concatenate([a, start[:, None]], axis=1), np.concatenate([b, one], axis=1))
            start = np.full(config.banks, fmt.sign_mask)
        for name, values in old.items():
            getattr(state, name)[~enable] = values[~enable]
        self.numbers[at] = np.where(enable, state.result(), self.numbers[at])
        self.written[at] &= ~enable

    def _rd_mac(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        self._give(self.numbers[self._number(operation.op, operation.register)])

    def _af(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        number = self.numbers[self._number(operation.op, operation.register)]
        self.activation = interpolate(number, self.config.tables[operation.function])

    def _rd_af(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        if self.activation is None:
            raise ConfigError("RD_AF: no activation was computed; AF does that")
        self._give(self.activation)

    def _rd_sbk(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        for word in accesses[:, operation.bank]:
            self._give(word)

    def _give(self, numbers: np.ndarray) -> None:
        result = np.zeros(self.config.lanes, np.int64)
        result[: len(numbers)] = numbers
        self.results.append(result)

    def _ewmul(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        products = vector_multiply(accesses[:, 0::GROUP], accesses[:, 1::GROUP], fmt=self.config.fmt)
        for product in products:
            written = np.zeros((self.config.banks, self.config.lanes), np.int64)
            written[2::GROUP] = product
            self.writes.append(Write(sum(1 << bank for bank in range(2, self.config.banks, GROUP)), written))

    def _copy_gbbk(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        for word in self._inputs(operation, self._full):
            self._write_bank(operation.bank, word)

    def _wr_sbk(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        for word in words:
            self._write_bank(operation.bank, word)

    def _write_bank(self, bank: int, word: np.ndarray) -> None:
        written = np.zeros((self.config.banks, self.config.lanes), np.int64)
        written[bank] = word
        self.writes.append(Write(1 << bank, written))

    def _wr_abk(self, operation: Operation, accesses: np.ndarray, words: np.ndarray) -> None:
        written = np.zeros((self.config.banks, self.config.lanes), np.int64)
        written[:, operation.element] = words[0, : self.config.banks]
        self.writes.append(Write((1 << self.config.banks) - 1, written, operation.element))
