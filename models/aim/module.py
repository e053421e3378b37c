"""Functional model of a module of AiM channels: the effect of its front end's commands on hub, channels and rows.

The model is bit-exact with the RTL and has no timing. Commands take effect in the order of the front end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...constraints.aim.encoding import COMMANDS, channels_of, operations
from ...constraints.aim.hub import RECEIVING, SENDING
from ...constraints.aim.module import CHANNEL_CODES, PLAIN, AimModuleConfig
from ...constraints.core.errors import ConfigError
from .channel import BANK_COMMANDS, ChannelModel, Operation
from .hub import HubCommand, HubModel

__all__ = ["WRITING", "Access", "MemoryCommand", "ModuleModel"]

#: Commands of a channel that write into its rows.
WRITING = ("EWMUL", "COPY_GBBK", "WR_ABK", "WR_SBK")

_NAMES = {command.code: name for name, command in COMMANDS.items()}


@dataclass(frozen=True)
class MemoryCommand:
    """A command as the memory of a channel sees it. ``steps`` counts column accesses, or words for the global
    buffer."""

    op: str
    steps: int
    row: int
    bank: int


@dataclass(frozen=True, eq=False)
class Access:
    """A column of all banks, of shape ``(banks, lanes)``. A write concerns only the banks whose bit in ``banks`` is
    1."""

    row: int
    column: int
    words: np.ndarray
    banks: int = -1


@dataclass
class ModuleModel:
    """State of a module between commands.

    Attributes
    ----------
    rows : for each channel its existing rows by number, arrays of bits of shape ``(columns, banks, lanes)``
    host_words : registers that the host sends, in order; WR_GPR takes them
    commands, read, written : for each channel the commands of its memory, and the columns read and written, in order
    """

    config: AimModuleConfig
    rows: list[dict[int, np.ndarray]]
    host_words: list[np.ndarray] = field(default_factory=list)
    hub: HubModel = field(init=False)
    channels: list[ChannelModel] = field(init=False)
    commands: list[list[MemoryCommand]] = field(init=False)
    read: list[list[Access]] = field(init=False)
    written: list[list[Access]] = field(init=False)

    def __post_init__(self) -> None:
        config = self.config
        if len(self.rows) != config.channels:
            raise ConfigError(f"rows must be given for {config.channels} channels, not for {len(self.rows)}")
        self.hub = self.make_hub()
        self.channels = [ChannelModel(config.channel) for _ in range(config.channels)]
        self.commands = [[] for _ in range(config.channels)]
        self.read = [[] for _ in range(config.channels)]
        self.written = [[] for _ in range(config.channels)]

    @property
    def given(self) -> list[np.ndarray]:
        """Registers that the host received."""
        return self.hub.given

    def make_hub(self) -> HubModel:
        return HubModel(self.config.hub)

    def execute(self, command: Mapping[str, int]) -> None:
        """Execute a command of the front end: the fields of ``config.command_layout``.

        Raises
        ------
        :exc:`ConfigError`
            If the command uses something that was never written, a row does not exist, or the host has not sent enough.
        """
        config, op = self.config, _NAMES[command["op"]]
        hub_commands = config.hub.commands
        channels: Iterable[int] = ()
        if op in CHANNEL_CODES:
            channels = [n for n in channels_of(command["mask"], config.mask_bits) if n < config.channels]
        elif op in PLAIN:
            channels = [command["gpr1"]] if command["gpr1"] < config.channels else []
        words: list[np.ndarray] = []
        if op in hub_commands and op not in RECEIVING:
            if op == "WR_GPR":
                if len(self.host_words) < command["opsize"]:
                    raise ConfigError("the host has not sent as many registers as WR_GPR takes")
                words, self.host_words = self.host_words[: command["opsize"]], self.host_words[command["opsize"] :]
            self._hub(op, command, words)
        results = []
        for n in channels:
            results += self._channel(n, op, command)
        if op in RECEIVING:
            self._hub(op, command, results)

    def _hub(self, op: str, command: Mapping[str, int], words: list[np.ndarray]) -> None:
        channels = self.config.channels
        mask = command["mask"] >> self.config.mask_bits - channels
        array = np.array(words, np.int64).reshape(-1, self.config.hub.lanes)
        self.hub.execute(
            HubCommand(
                op, operations(op, command["opsize"]), command["gpr"], command["gpr1"], mask, row=command["row"]
            ),
            array,
        )

    def _channel(self, n: int, op: str, command: Mapping[str, int]) -> list[np.ndarray]:
        """Execute a command on a channel; returns its results."""
        config = self.config.channel
        row, column = command["row"], command["column"]
        if op in PLAIN:
            self.commands[n].append(MemoryCommand(op, 1, row, command["bank"]))
            return []
        own = command["gpr1"]
        operation = Operation(
            op,
            operations(op, command["opsize"]),
            column if op == "WR_GB" else command["gpr"] % config.columns,
            command["bank"],
            command["register"],
            own % config.lanes,
            own % 8 if op == "AF" else 0,
            own % 2,
        )
        self.commands[n].append(MemoryCommand(op, operation.steps, row, command["bank"]))
        places = [(column + k) % config.columns for k in range(operation.steps)]
        accesses = None
        if op in BANK_COMMANDS:
            accesses = self._row(n, row)[places]
            self.read[n] += [Access(row, at, words) for at, words in zip(places, accesses, strict=True)]
        words = np.array(self.hub.sent[n], np.int64).reshape(-1, config.lanes) if op in SENDING else None
        self.hub.sent[n].clear()
        unit = self.channels[n]
        before, writes = len(unit.results), len(unit.writes)
        unit.execute(operation, accesses, words)
        for at, write in zip(places, unit.writes[writes:], strict=True) if op in WRITING else ():
            where = self._row(n, row)[at]
            for bank in range(config.banks):
                if write.banks >> bank & 1:
                    if write.element >= 0:
                        where[bank, write.element] = write.words[bank, write.element]
                    else:
                        where[bank] = write.words[bank]
            self.written[n].append(Access(row, at, where.copy(), write.banks))
        return unit.results[before:]

    def _row(self, channel: int, row: int) -> np.ndarray:
        if row not in self.rows[channel]:
            raise ConfigError(f"channel {channel} has no row {row}")
        return self.rows[channel][row]
