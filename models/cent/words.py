"""Programs as CENT's instruction words, and back: loops are unrolled, neighbouring accesses become one instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...constraints.aim.encoding import COMMANDS
from ...constraints.cent.isa import BUFFERED, BY_OPCODE, INSTRUCTIONS, WORD, CentIsa, Instruction, fields_of
from ...constraints.core.errors import ConfigError, nearest
from ..program import Command, Loop, Node, Program, Stage

__all__ = ["Columns", "decode_words", "encode_words", "joined", "program_of", "unrolled"]

#: Instructions as int64 arrays of one length, by field of the word.
Columns = dict[str, np.ndarray]

_BY_COMMAND = {one.command: one for one in INSTRUCTIONS.values()}
#: Accesses of the host, and the instruction that does the same between a bank and a slot.
_HOST = {"W_MEM": INSTRUCTIONS["WR_SBK"], "R_MEM": INSTRUCTIONS["RD_SBK"]}
#: Columns while a program is unrolled: fields, the global buffer's column, and 1 if CHmask is the number of a channel.
_NAMES = [*(name for name in WORD.widths if name != "unused"), "GB", "numbered"]
_AT = {name: at for at, name in enumerate(_NAMES)}


def unrolled(program: Program, isa: CentIsa, *, mask_bits: int = 32, host: bool = False) -> Columns:
    """Instructions of a program, one for each execution of a command. Nothing is joined and no range is checked.

    A command for one channel whose mask has several becomes an instruction for each channel, the lowest first. RD_SBK
    puts the results of further channels into the next slots. Time and memory grow with the number of instructions.

    Parameters
    ----------
    mask_bits : width of the program's masks, whose highest bit is channel 0
    host : W_MEM and R_MEM count as WR_SBK and RD_SBK of slot 0; else they are refused

    Raises
    ------
    :exc:`ConfigError`
        For a wait, for a command or an operand that CENT does not have, and for a program that is not bound.
    """

    def visit(body: Sequence[Node], depth: int) -> np.ndarray:
        parts = [np.empty((0, len(_NAMES), depth + 1), np.int64)]
        for node in body:
            if isinstance(node, Command):
                parts.append(_row(node, depth, host)[None])
            elif isinstance(node, Loop):
                count = node.count.__index__()
                inner = visit(node.body, depth + 1)
                outer = np.broadcast_to(inner[..., :-1], (count, *inner.shape[:2], depth + 1)).copy()
                outer[..., 0] += inner[..., -1] * np.arange(count)[:, None, None]
                parts.append(outer.reshape(-1, len(_NAMES), depth + 1))
            elif isinstance(node, Stage):
                parts.append(visit(node.body, depth))
            else:
                raise ConfigError("a decoder cannot wait: its memory takes the commands when it can")
        return np.concatenate(parts)

    table = dict(zip(_NAMES, np.ascontiguousarray(visit(program.body, 0)[..., 0].T), strict=True))
    nothing = _has(table["opcode"], "OPsize") & (table["OPsize"] == 0)
    if nothing.any():
        table = {name: column[~nothing] for name, column in table.items()}
    numbered, buffer = table.pop("numbered") == 1, table.pop("GB")
    table["Rs"] = np.where(_is(table["opcode"], BUFFERED), (buffer - table["CO"]) % isa.columns, table["Rs"])
    table["CHmask"] = np.where(numbered, table["CHmask"], table["CHmask"] << (32 - mask_bits))
    return _one_channel_each(table, numbered)


def _row(command: Command, depth: int, host: bool) -> np.ndarray:
    """Fields of a command, shape ``(fields, 1 + depth)``: the base, and the stride of each loop."""
    numbered = command.op in _HOST
    if numbered and not host:
        raise ConfigError(f"{command.op}: an access of the host, not an instruction")
    instruction = _HOST[command.op] if numbered else _BY_COMMAND.get(command.op)
    if instruction is None:
        if command.op in COMMANDS:
            raise ConfigError(f"{command.op}: CENT has no such instruction")
        raise ConfigError(nearest("command", command.op, _BY_COMMAND))
    places = {
        "channel" if numbered and one.name == "CHid" else one.command: "GB" if one.name == "GB" else one.field
        for one in instruction.operands
    }
    row = np.zeros((len(_NAMES), 1 + depth), np.int64)
    row[_AT["opcode"], 0], row[_AT["numbered"], 0] = instruction.opcode, numbered
    row[_AT["OPsize"], 0] = "OPsize" in instruction.by_name
    for name in COMMANDS[command.op].fields:
        if command.get(name) is None:
            raise ConfigError(f"{command.op}: needs the operand {name}")
    for name, value in command.operands:
        if name not in places:
            raise ConfigError(f"{command.op}: {nearest('operand', name, places)}")
        if len(value.strides) > depth:
            raise ConfigError(f"{command.op}: {name} uses the index of a loop that is not open")
        row[_AT[places[name]], : 1 + len(value.strides)] = (value.base.__index__(), *value.strides)
    return row


def _is(opcode: np.ndarray, mnemonics: Sequence[str]) -> np.ndarray:
    return np.isin(opcode, [INSTRUCTIONS[name].opcode for name in mnemonics])


def _has(opcode: np.ndarray, operand: str) -> np.ndarray:
    return np.isin(opcode, [one.opcode for one in INSTRUCTIONS.values() if operand in one.by_name])


def _one_channel_each(table: Columns, numbered: np.ndarray) -> Columns:
    """CHmask of instructions for one channel as the channel's number, one instruction for each channel of the mask."""
    masks = np.flatnonzero(_has(table["opcode"], "CHid") & ~numbered)
    if not len(masks):
        return table
    which, channel = np.nonzero(table["CHmask"][masks, None] >> (31 - np.arange(32)) & 1)
    repeats = np.ones(len(table["opcode"]), np.int64)
    repeats[masks] = np.bincount(which, minlength=len(masks))
    reads = table["opcode"] == INSTRUCTIONS["RD_SBK"].opcode
    tangled = reads & (repeats > 1) & (table["OPsize"] > 1)
    for wrong, why in (
        (repeats == 0, "names no channel"),
        (tangled, "several accesses of several channels have no order"),
    ):
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ConfigError(f"instruction {at} ({BY_OPCODE[int(table['opcode'][at])].mnemonic}): {why}")
    starts = (np.cumsum(repeats) - repeats)[masks]
    step = np.arange(len(which)) - np.searchsorted(which, which)  # of an instruction among those of its command
    out = {name: np.repeat(column, repeats) for name, column in table.items()}
    places = starts[which] + step
    out["CHmask"][places] = channel
    out["Rd"][places] += np.where(reads[masks][which], step, 0)
    return out


#: Fields that grow from micro-operation to micro-operation, if an instruction has them.
_ADVANCING = ("CO", "Rs", "Rd")
_SAME = [name for name in WORD.widths if name not in ("unused", "OPsize", "OV", *_ADVANCING)]


def joined(columns: Columns) -> Columns:
    """Neighbouring accesses as one instruction: the same but for consecutive columns and slots.

    Only instructions whose micro-operations stand for themselves are joined. Instructions stay apart if one reads slots
    that an earlier one writes, or if the later one must wait for other instructions (OV).
    """
    count = len(columns["opcode"])
    if count < 2:
        return dict(columns)
    before, after = slice(None, -1), slice(1, None)
    opcode, size = columns["opcode"], columns["OPsize"]
    link = np.isin(opcode[after], [one.opcode for one in INSTRUCTIONS.values() if one.joins])
    for name in _SAME:
        link &= columns[name][before] == columns[name][after]
    link &= columns["OV"][before] <= columns["OV"][after]
    for name in _ADVANCING:
        has = np.isin(
            opcode[after],
            [one.opcode for one in INSTRUCTIONS.values() if name in one.fields and one.fields[name].name != "GB"],
        )
        link &= np.where(has, columns[name][before] + size[before], columns[name][before]) == columns[name][after]
    # Slots that the joined instruction would read before it has written them.
    starts = np.flatnonzero(np.r_[True, ~link])
    total = np.add.reduceat(size, starts)
    distance = np.abs(columns["Rs"] - columns["Rd"])[starts]
    tangled = _is(opcode[starts], ["EXP", "RED", "ACC"]) & (distance > 0) & (distance < total)
    if tangled.any():
        group = np.cumsum(np.r_[True, ~link]) - 1
        link &= ~tangled[group][after]
        starts = np.flatnonzero(np.r_[True, ~link])
        total = np.add.reduceat(size, starts)
    return {**{name: column[starts] for name, column in columns.items()}, "OPsize": total}


def encode_words(program: Program, isa: CentIsa, *, mask_bits: int = 32, join: bool = True) -> np.ndarray:
    """Words of a program and of the EOC that ends it: uint8, shape ``(words, 16)``.

    Parameters
    ----------
    mask_bits : width of the program's masks
    join : neighbouring accesses become one instruction

    Raises
    ------
    :exc:`ConfigError`
        As :func:`unrolled`, and for an operand out of its range: ``instruction N (MNEMONIC): reason``.
    """
    columns = unrolled(program, isa, mask_bits=mask_bits)
    if not len(columns["opcode"]) or columns["opcode"][-1] != INSTRUCTIONS["EOC"].opcode:
        columns = {
            name: np.r_[column, INSTRUCTIONS["EOC"].opcode if name == "opcode" else 0]
            for name, column in columns.items()
        }
    return isa.pack(joined(columns) if join else columns)


def decode_words(words: np.ndarray, isa: CentIsa, *, mask_bits: int = 32) -> Program:
    """The program of words, without the EOC at its end.

    Raises
    ------
    :exc:`ConfigError`
        ``word N (MNEMONIC): reason`` for the first word that is not legal.
    """
    columns = fields_of(words)
    isa.require(columns, "word")
    return program_of(columns, isa, mask_bits=mask_bits)


def program_of(columns: Mapping[str, np.ndarray], isa: CentIsa, *, mask_bits: int = 32) -> Program:
    """The program of instructions: a command for each, without operands that have their default, without the last EOC."""
    rows = list(zip(*(columns[name].tolist() for name in WORD.widths if name in columns), strict=True))
    names = [name for name in WORD.widths if name in columns]
    if rows and rows[-1][names.index("opcode")] == INSTRUCTIONS["EOC"].opcode:
        rows.pop()
    made: dict[tuple[int, ...], Command] = {}
    out = []
    for row in rows:
        if row not in made:
            made[row] = _command(
                BY_OPCODE[row[names.index("opcode")]], dict(zip(names, row, strict=True)), isa, mask_bits
            )
        out.append(made[row])
    return Program(out)


def _command(instruction: Instruction, of: Mapping[str, int], isa: CentIsa, mask_bits: int) -> Command:
    needed = COMMANDS[instruction.command].fields
    values = {}
    for one in instruction.operands:
        value = of[one.field]
        if one.name == "CHid":
            value = 1 << (mask_bits - 1 - value)
        elif one.name == "CHmask":
            value >>= 32 - mask_bits
        elif one.name == "GB":
            value = (of["CO"] + value) % isa.columns
        if one.command in needed or value != (one.command == "opsize"):
            values[one.command] = value
    return Command(instruction.command, values)
