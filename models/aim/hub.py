"""Functional model of the hub of AiM memories, bit-exact with the RTL.

Source of its functions: LoL-PIM section 2.2 and Table 5. Passes, formats and rounding are this project's: see the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...constraints.aim.encoding import channels_of
from ...constraints.aim.hub import EPU_COMMANDS, INNER, MANY, SENDING, TRANSFERS, HubConfig, PimHubConfig
from ...constraints.core.errors import ConfigError, nearest
from ...constraints.core.formats import FP32
from ..numerics import convert, dot_stream, fma, from_integer, maximum, reciprocal, reciprocal_square_root, softmax_exp

__all__ = ["Epu", "HubCommand", "HubModel", "Transfers", "layer_norm", "softmax"]

ONE, MINUS_ZERO = np.int64(FP32.bias << FP32.fraction_bits), np.int64(FP32.sign_mask)


@dataclass(frozen=True)
class HubCommand:
    """A command with its operands, see ``PimHubConfig.command_layout``."""

    op: str
    opsize: int = 1
    gpr: int = 0
    gpr1: int = 0
    mask: int = 0
    overlap: int = 0
    row: int = 0


def _padded(config: PimHubConfig, x: np.ndarray) -> np.ndarray:
    """A vector as words of all lanes, padded with zeros."""
    out = np.zeros(-(-len(x) // config.lanes) * config.lanes, np.int64)
    out[: len(x)] = x
    return out.reshape(-1, config.lanes)


def _sum(config: PimHubConfig, terms: np.ndarray, *, square: bool = False) -> np.ndarray:
    """FP32 sum of FP32 numbers or of their squares. Terms are rounded to the inner format, then added as in the
    lanes."""
    words = _padded(config, convert(terms, FP32, INNER))
    factors = words if square else np.full_like(words, INNER.bias << INNER.fraction_bits)
    marks = np.zeros(len(words), bool)
    first, last = marks.copy(), marks.copy()
    first[0] = last[-1] = True
    return dot_stream(words, factors, first, last, fmt=INNER, result=FP32, beats=config.beats)[0]


def softmax(config: PimHubConfig, x: np.ndarray) -> np.ndarray:
    """Bits of ``exp(x - max(x)) / sum``. All results are NaN if one element of x is NaN or all are -infinity."""
    top = np.asarray(config.fmt.negative_infinity, np.int64)
    for element in _reduced(config, x):
        top = maximum(top, element, config.fmt)
    powers = convert(softmax_exp(top, x, config.fmt, config.table), INNER, FP32)
    factor = reciprocal(_sum(config, powers), fmt=FP32)
    return convert(fma(powers, factor, MINUS_ZERO, FP32), FP32, config.fmt)


def _reduced(config: PimHubConfig, x: np.ndarray) -> np.ndarray:
    """A vector of one element with the same maximum as x. A NaN counts only if there is nothing else."""
    x = np.asarray(x, np.int64)
    while len(x) > 1:
        if len(x) % 2:
            x = np.append(x, config.fmt.negative_infinity)
        x = maximum(x[0::2], x[1::2], config.fmt)
    return x


def layer_norm(config: PimHubConfig, x: np.ndarray, *, centred: bool = True) -> np.ndarray:
    """Bits of ``(x - mean) / sqrt(variance + epsilon)``; if not ``centred``, of x over its root mean square
    (RMSNORM)."""
    wide = convert(np.asarray(x, np.int64), config.fmt, FP32)
    share = reciprocal(from_integer(np.int64(len(x)), FP32, signed=False), fmt=FP32)
    addend = np.asarray(MINUS_ZERO)
    if centred:
        addend = fma(_sum(config, wide), share, MINUS_ZERO, FP32) ^ FP32.sign_mask
    variance = fma(_sum(config, fma(wide, ONE, addend, FP32), square=True), share, np.int64(config.epsilon_bits), FP32)
    factor = reciprocal_square_root(variance, fmt=FP32)
    offset = fma(addend, factor, MINUS_ZERO, FP32) if centred else MINUS_ZERO
    return convert(fma(wide, factor, offset, FP32), FP32, config.fmt)


class Transfers:
    """The engine that moves registers to and from channels and host. The hub keeps what it sends and gives."""

    claims = TRANSFERS

    def __init__(self, hub: HubModel) -> None:
        self.hub = hub

    def execute(self, command: HubCommand, words: np.ndarray | None) -> None:
        hub, op = self.hub, command.op
        count = command.opsize if op in MANY else 1
        if op in SENDING:
            for word in hub.words(op, command.gpr, count):
                for channel in channels_of(command.mask, hub.config.channels):
                    hub.sent[channel].append(word)
        elif op == "RD_GPR":
            hub.given += list(hub.words(op, command.gpr, count))
        else:
            hub.store(command.gpr, np.asarray(words))


class Epu:
    """The engine of softmax, norms, element-wise sums and products."""

    claims = EPU_COMMANDS

    def __init__(self, hub: HubModel) -> None:
        self.hub = hub

    def execute(self, command: HubCommand, words: np.ndarray | None) -> None:
        hub, op, size = self.hub, command.op, command.opsize
        config = hub.config
        assert isinstance(config, PimHubConfig)
        if op in ("EWADD", "GPR_MUL"):
            x, y = (convert(hub.words(op, at, size), config.fmt, FP32) for at in (command.gpr, command.gpr1))
            total = fma(x, ONE, y, FP32) if op == "EWADD" else fma(x, y, MINUS_ZERO, FP32)
            hub.store(command.gpr, convert(total, FP32, config.fmt))
            return
        x = hub.words(op, command.gpr, -(-size // config.lanes)).reshape(-1)[:size]
        y = softmax(config, x) if op == "SOFTMAX" else layer_norm(config, x, centred=op == "LAYERNORM")
        hub.store(command.gpr1, _padded(config, y))


class HubModel:
    """State of a hub, and the effect of commands on it. Numbers are int64 arrays of bits. Each command is executed by the
    engine that claims it.

    Commands take effect in order. The unit gives the same results under two conditions:

    - No command that needs the results of another engine has ``overlap``.
    - The registers of operands and results of a command that computes are the same, or have no register in common.

    Registers hold anything after power-up, and reset does not clear them. It is an error of the program if a command
    uses a register that no command has written.

    Attributes
    ----------
    registers : array of shape ``(registers, lanes)``
    sent : for each channel, words sent to it
    given : words of RD_GPR
    engines : by command
    """

    #: Classes of the engines.
    ENGINES: tuple[Any, ...] = (Transfers, Epu)

    def __init__(self, config: HubConfig) -> None:
        self.config = config
        self.registers = np.zeros((config.registers, config.lanes), np.int64)
        self.known = np.zeros(config.registers, bool)
        self.sent: list[list[np.ndarray]] = [[] for _ in range(config.channels)]
        self.given: list[np.ndarray] = []
        self.engines = {op: engine for engine in (kind(self) for kind in self.ENGINES) for op in engine.claims}

    def execute(self, command: HubCommand, words: np.ndarray | None = None) -> None:
        """Execute a command.

        Parameters
        ----------
        words : for WR_GPR, of shape ``(opsize, lanes)``; for RD_MAC, RD_AF and RD_SBK, of the masked channels in order

        Raises
        ------
        :exc:`ConfigError`
            If no engine claims the command, an operand is outside its field, or a used register was never written.
        """
        config, op = self.config, command.op
        if op not in self.engines:
            raise ConfigError(nearest("command of the hub", op, self.engines))
        limits = {
            "opsize": config.most_opsize + 1,
            "gpr": config.registers,
            "gpr1": config.registers,
            "mask": 1 << config.channels,
        }
        for name, limit in limits.items():
            if not 0 <= getattr(command, name) < limit:
                raise ConfigError(f"{op}: {name} must be 0 to {limit - 1}, not {getattr(command, name)}")
        if command.opsize:
            self.engines[op].execute(command, words)

    def _places(self, first: int, count: int) -> np.ndarray:
        return (first + np.arange(count)) % self.config.registers

    def words(self, op: str, first: int, count: int) -> np.ndarray:
        """Registers that a command uses. All must have been written."""
        places = self._places(first, count)
        missing = places[~self.known[places]]
        if len(missing):
            raise ConfigError(f"{op}: register {missing[0]} was never written")
        return self.registers[places].copy()

    def store(self, first: int, words: np.ndarray) -> None:
        """Write registers."""
        places = self._places(first, len(words))
        self.registers[places] = words
        self.known[places] = True
