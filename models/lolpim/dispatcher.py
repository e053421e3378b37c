"""Functional model of the DPA dispatcher: every command that it issues, and how every run ends.

Source: LoL-PIM section 5.3. The model interprets the words that the host writes. It has no timing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import numpy as np

from ...constraints.aim.encoding import (
    DISPATCHER_COMMANDS,
    END,
    MORE,
    OPERANDS,
    DispatchError,
    Host,
    Slot,
    bits,
    signed,
    unpack,
)
from ...constraints.core.errors import ConfigError
from ...constraints.lolpim.dispatcher import DpaDispatcherConfig
from ..program.encoding import decode_line

__all__ = ["Dispatcher", "Done", "Issued", "dispatch"]

_OPS = {command.code for command in DISPATCHER_COMMANDS.values()}
_TARGETS = list(OPERANDS)


class Issued(NamedTuple):
    """Commands as the unit issues them: int64 array of shape ``(commands, fields)``, columns named by ``fields``."""

    fields: tuple[str, ...]
    values: np.ndarray

    def column(self, name: str) -> np.ndarray:
        return self.values[:, self.fields.index(name)]


class Done(NamedTuple):
    """End of a run: its cause, and the line of the command buffer where the run ended."""

    code: DispatchError
    line: int


@dataclass
class _Slot:
    valid: bool = False
    request: int = 0
    tokens: int = 0
    base: int = 0
    size: int = 0


@dataclass
class _Level:
    line: int  # first line of the body
    skip: int  # loops of that line that are still open when the body begins again
    end: int  # last line of the body
    last: int  # greatest index
    index: int = 0


class _Ends(Exception):
    """End of a run, raised where the run ends."""

    def __init__(self, code: DispatchError, line: int) -> None:
        self.done = Done(code, line)


@dataclass
class Dispatcher:
    """The unit's state between writes of the host. A run ends before the next write takes effect.

    Attributes
    ----------
    table : int64, one element for each entry of the Va2Pa table
    words : uint32 of shape ``(lines, line_words)``, the command buffer
    issued : commands issued so far, as rows of :class:`Issued`
    done : ends of runs so far
    most_lines : lines after which a run raises :exc:`ConfigError`; with None, only its loops limit a run
    """

    config: DpaDispatcherConfig
    most_lines: int | None = None
    slots: list[_Slot] = field(init=False)
    table: np.ndarray = field(init=False)
    words: np.ndarray = field(init=False)
    layer: int = 0
    layers: int = 0
    failed: bool = False
    issued: list[tuple[int, ...]] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)

    def __post_init__(self) -> None:
        config = self.config
        self.slots = [_Slot() for _ in range(config.slots)]
        self.table = np.zeros(config.table_entries, np.int64)
        self.words = np.zeros((config.lines, config.line_words), np.uint32)

    # ---- Host ------------------------------------------------------------------------------------------------------

    def write(self, address: int, data: int) -> None:
        """Take a write of the host. A write to an address that does not exist does nothing."""
        config = self.config
        low = config.address_bits - 2
        kind, index = address >> low, address & ((1 << low) - 1)
        if kind == 1 and index < config.table_entries:
            self.table[index] = data & ((1 << config.entry_bits) - 1)
        elif kind == 2:
            line, word = divmod(index, 1 << bits(config.line_words))
            if line < config.lines and word < config.line_words:
                self.words[line, word] = data
        elif kind == 0 and index < 4 * config.slots:
            self._write_slot(self.slots[index >> 2], Slot(index & 3), data)
        elif kind == 0 and index < 4 * config.slots + len(Host):
            self._write_host(Host(index - 4 * config.slots), data)

    def _write_slot(self, slot: _Slot, register: Slot, data: int) -> None:
        config = self.config
        if register == Slot.REQUEST:
            slot.valid, slot.request = bool(data >> 31), data & ((1 << config.request_bits) - 1)
        elif register == Slot.TOKENS:
            slot.tokens = data & ((1 << config.token_bits) - 1)
        elif register == Slot.BASE:
            slot.base = data & ((1 << config.virtual_bits) - 1)
        else:
            slot.size = data & ((1 << config.size_bits) - 1)

    def _write_host(self, register: Host, data: int) -> None:
        config = self.config
        low, high = data & 0xFFFF, data >> 16
        if register == Host.LAYER:
            mask = (1 << config.layer_bits) - 1
            self.layer, self.layers = low & mask, high & mask
        elif register == Host.START:
            self._start(min(low, config.lines), high)
        elif register == Host.CLEAR:
            self.failed = False
        elif register == Host.RELEASE and data < config.slots:
            slot = self.slots[data]
            slot.valid = False
            self.table[slot.base : slot.base + slot.size] = 0

    # ---- A run -----------------------------------------------------------------------------------------------------

    def _start(self, line: int, slot: int) -> None:
        if self.failed:
            self.done.append(Done(DispatchError.NOT_CLEARED, line))
            return
        try:
            self._run(line, slot)
        except _Ends as end:
            self.failed = end.done.code not in (DispatchError.NONE, DispatchError.STOPPED)
            self.done.append(end.done)

    def _run(self, line: int, slot: int) -> None:
        config, encoding = self.config, self.config.encoding
        levels: list[_Level] = []
        skip = 0
        pending = dict.fromkeys(OPERANDS, 0)
        own = self.slots[slot] if slot < config.slots else _Slot()
        newest = own.tokens - 1 if own.valid else -1
        for passed in count():
            if passed == self.most_lines:
                raise ConfigError(f"the run is not over after {passed} lines")
            if line >= config.lines:
                raise _Ends(DispatchError.BEYOND, config.lines)
            fields, prefix = decode_line(self.words[line].tolist(), encoding)
            op, begins, modifiers = fields["op"], fields["loops"], fields["modifiers"]
            if op not in _OPS and op not in (END, MORE):
                raise _Ends(DispatchError.OPCODE, line)
            if begins + modifiers > encoding.prefix_words or (op == END and begins + modifiers):
                raise _Ends(DispatchError.FORMAT, line)
            at = line
            for number in range(skip, begins):
                body_begins_next = op == MORE and number == begins - 1 and not modifiers
                level = self._begin(prefix[number], line, number + 1, slot, levels, body_begins_next)
                if level.last < 0:
                    at = level.end
                    break
                levels.append(level)
            else:
                self._modify(prefix[begins : begins + modifiers], line, levels, pending, newest)
                if op == END:
                    raise _Ends(DispatchError.BODY if levels else DispatchError.NONE, line)
                if op != MORE:
                    self._issue(fields, pending, line, slot)
                    pending = dict.fromkeys(OPERANDS, 0)
            while levels and levels[-1].end == at:
                level = levels[-1]
                if level.index < level.last:
                    level.index += 1
                    line, skip = level.line, level.skip
                    break
                levels.pop()
            else:
                line, skip = at + 1, 0

    def _slot(self, slot: int, line: int) -> _Slot:
        if slot >= self.config.slots or not self.slots[slot].valid:
            raise _Ends(DispatchError.SLOT, line)
        return self.slots[slot]

    def _begin(self, word: int, line: int, number: int, slot: int, levels: list[_Level], next_line: bool) -> _Level:
        encoding = self.config.encoding
        loop = unpack(encoding.loop_fields, word)
        length, end = loop["length"], line + loop["length"] - 1
        if len(levels) == encoding.nesting:
            raise _Ends(DispatchError.NESTING, line)
        if not length:
            raise _Ends(DispatchError.BODY, line)
        if end >= self.config.lines:
            raise _Ends(DispatchError.BEYOND, line)
        if levels and end > levels[-1].end:
            raise _Ends(DispatchError.BODY, line)
        turns = loop["value"]
        if loop["by_tokens"]:
            by = unpack(encoding.tokens_fields, loop["value"])
            tokens = self._slot(slot + by["slot"], line).tokens
            turns = max(0, -(-tokens >> by["shift"]) + signed(by["offset"], encoding.offset_bits))
        if turns > encoding.most_iterations:
            raise _Ends(DispatchError.COUNT, line)
        if next_line and length > 1:
            return _Level(line + 1, 0, end, turns - 1)
        return _Level(line, number, end, turns - 1)

    def _modify(
        self, words: Iterable[int], line: int, levels: list[_Level], pending: dict[str, int], newest: int
    ) -> None:
        """Apply modifiers to ``pending``. ``newest`` is the number of the newest token, below 0 if there is none."""
        encoding = self.config.encoding
        changes = [unpack(encoding.modifier_fields, word) for word in words]
        special = {encoding.layer_level, encoding.newest_level}
        if any(
            change["target"] >= len(_TARGETS) or (change["level"] not in special and change["level"] >= len(levels))
            for change in changes
        ):
            raise _Ends(DispatchError.MODIFIER, line)
        if self.layer >= self.layers and any(change["level"] == encoding.layer_level for change in changes):
            raise _Ends(DispatchError.LAYER, line)
        if newest < 0 and any(change["level"] == encoding.newest_level for change in changes):
            raise _Ends(DispatchError.NEWEST, line)
        for change in changes:
            if change["level"] == encoding.newest_level:
                index = newest >> change.get("shift", 0)
            else:
                index = self.layer if change["level"] == encoding.layer_level else levels[change["level"]].index
            pending[_TARGETS[change["target"]]] += signed(change["stride"], encoding.stride_bits) * index

    def _issue(self, fields: dict[str, int], pending: dict[str, int], line: int, slot: int) -> None:
        config = self.config
        values = {name: fields[name] + pending[name] for name in OPERANDS}
        if any(not 0 <= values[name] < 1 << width for name, width in config.encoding.operands.items()):
            raise _Ends(DispatchError.RANGE, line)
        request = 0
        if fields["virtual"]:
            owner = self._slot(slot + values["slot"], line)
            entry = owner.base + values["row"]
            if values["row"] >= owner.size or entry >= config.table_entries:
                raise _Ends(DispatchError.VIRTUAL, line)
            mapped = int(self.table[entry])
            if not mapped >> config.entry_bits - 1:
                raise _Ends(DispatchError.UNMAPPED, line)
            values["row"], request = mapped & ((1 << config.row_bits) - 1), owner.request
        elif values["row"] >> config.row_bits:
            raise _Ends(DispatchError.RANGE, line)
        known = {"op": fields["op"], "request": request, "line": line, **values}
        self.issued.append(tuple(known[name] for name in config.command_layout.widths))


def dispatch(config: DpaDispatcherConfig, writes: Iterable[tuple[int, int]]) -> tuple[Issued, list[Done]]:
    """Commands that the unit issues, and ends of its runs, if the host makes these writes (address, data)."""
    unit = Dispatcher(config)
    for address, data in writes:
        unit.write(address, data)
    fields = tuple(config.command_layout.widths)
    return Issued(fields, np.array(unit.issued, np.int64).reshape(-1, len(fields))), unit.done
