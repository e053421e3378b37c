"""CENT's instruction words: a second encoding of the commands of a program, 128 bits each, without loops.

An instruction is one command of :data:`~bankside.constraints.aim.encoding.COMMANDS`. ``OPsize`` repeats it: every
further micro-operation uses the next column and the next slot of 256 bits.

Source: CENT (ASPLOS 2025) Tables 2 and 3 for mnemonics, operands and meaning; the public simulator of its authors for
MAC_SBK, RD_AF, SYNC and EOC. The paper gives no bits: the order of the fields and the operation codes are this project's.
The widths follow from the device: 2048 slots, 64 columns and 16,384 rows of a bank, 32 channels, 32 accumulators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from ..aim.encoding import COMMANDS, bits
from ..core.contract import Field, Layout
from ..core.errors import ConfigError

__all__ = [
    "BY_OPCODE",
    "INSTRUCTIONS",
    "WORD",
    "WORD_BITS",
    "WORD_BYTES",
    "CentIsa",
    "DecodeError",
    "Instruction",
    "Operand",
    "fields_of",
]

WORD_BITS = 128
WORD_BYTES = WORD_BITS // 8

#: Fields of a word, the lowest first. No field crosses the middle of the word.
WORD = Layout.of(
    Field("opcode", 8, "operation code"),
    Field("CHmask", 32, "channels; the highest bit is channel 0. CHid: number of one channel, in the lowest bits"),
    Field("OPsize", 16, "micro-operations, at least 1"),
    Field("Regid", 5, "accumulation register; of WR_ABK the element of the access"),
    Field("AFid", 3, "activation function"),
    Field("Rs", 11, "slot that is read; of products and copies the distance of the global buffer's column from CO"),
    Field("Rd", 11, "slot that is written"),
    Field("RO", 14, "row; of RISCV the first instruction, in words"),
    Field("CO", 6, "column of the row; of WR_GB of the global buffer"),
    Field("BK", 4, "bank"),
    Field("DV", 8, "device, or number of following devices"),
    Field("NB", 1, "second factor is the neighbouring bank's word, not the global buffer's"),
    Field("OV", 1, "it may begin while instructions before it are under way"),
    Field("unused", 8, "0"),
)


@dataclass(frozen=True)
class Operand:
    """An operand of an instruction.

    Attributes
    ----------
    name : in text
    field : of the word
    command : operand of the command
    default : value of an operand that a text may leave out; None: it is needed. ``"CO"``: the instruction's column
    """

    name: str
    field: str
    command: str
    default: int | str | None = None


@dataclass(frozen=True)
class Instruction:
    """An instruction: its mnemonic, its command, its operands in the order of the paper's table, and its source.

    ``joins``: neighbouring accesses may be one instruction, because every micro-operation stands for itself. A SEND_CXL or
    BCAST_CXL does not: RECV_CXL counts the transfers, whatever their sizes.
    """

    mnemonic: str
    command: str
    operands: tuple[Operand, ...]
    source: str
    joins: bool

    @property
    def opcode(self) -> int:
        """The command's code."""
        return COMMANDS[self.command].code

    @cached_property
    def by_name(self) -> dict[str, Operand]:
        return {operand.name: operand for operand in self.operands}

    @cached_property
    def fields(self) -> dict[str, Operand]:
        """Operands by the field of the word."""
        return {operand.field: operand for operand in self.operands}

    def field_of(self, command_operand: str) -> str | None:
        """Field that holds an operand of the command; None if the instruction has no such operand."""
        return next((one.field for one in self.operands if one.command == command_operand), None)

    def place(self, operand: Operand) -> str:
        """Place of an operand among the operands of a command (:data:`~.program_encoding.OPERANDS`)."""
        return COMMANDS[self.command].places.get(operand.command, operand.command)

    @property
    def one_channel(self) -> bool:
        return "CHid" in self.by_name


#: Fields of operands whose name in text is not the field's.
_FIELDS = {"CHid": "CHmask", "DVid": "DV", "DVcount": "DV", "PC": "RO", "GB": "Rs"}

PAPER, SIMULATOR, OWN = "CENT Tables 2, 3", "authors' simulator", "this project"


def _instruction(
    mnemonic: str, needed: str, optional: str = "", *, command: str = "", source: str = PAPER, joins: bool = False
) -> Instruction:
    """``needed``: pairs ``NAME=operand`` of the name in text and the command's operand; ``optional`` has defaults too."""
    operands = [
        Operand(name, _FIELDS.get(name, name), operand)
        for name, operand in (part.split("=") for part in needed.split())
    ]
    for part in optional.split():
        name, operand, default = part.split("=")
        operands.append(Operand(name, _FIELDS.get(name, name), operand, default if default == "CO" else int(default)))
    return Instruction(mnemonic, command or mnemonic, tuple(operands), source, joins)


def _table(*instructions: Instruction) -> dict[str, Instruction]:
    return {one.mnemonic: one for one in instructions}


#: All instructions by mnemonic. Operands behind the paper's own are extensions: GB, NB, OV, Regid of WR_BIAS, BK of the
#: copies, OPsize of SEND_CXL and BCAST_CXL. Left out, they give what the paper describes.
INSTRUCTIONS: dict[str, Instruction] = _table(
    _instruction("MAC_ABK", "CHmask=mask OPsize=opsize RO=row CO=column Regid=register", "GB=buffer=CO NB=neighbour=0"),
    _instruction("EW_MUL", "CHmask=mask OPsize=opsize RO=row CO=column", command="EWMUL", joins=True),
    _instruction("AF", "CHmask=mask AFid=function Regid=register"),
    _instruction("EXP", "OPsize=opsize Rd=gpr1 Rs=gpr0", "OV=overlap=0", joins=True),
    _instruction("RED", "OPsize=opsize Rd=gpr1 Rs=gpr0", "OV=overlap=0", joins=True),
    _instruction("ACC", "OPsize=opsize Rd=gpr0 Rs=gpr1", "OV=overlap=0", command="EWADD", joins=True),
    _instruction("RISCV", "OPsize=opsize PC=pc Rd=gpr1 Rs=gpr0", "OV=overlap=0"),
    _instruction("SEND_CXL", "DVid=device Rs=gpr0 Rd=gpr1", "OPsize=opsize=1 OV=overlap=0"),
    _instruction("RECV_CXL", "", "OV=overlap=0"),
    _instruction("BCAST_CXL", "DVcount=count Rs=gpr0 Rd=gpr1", "OPsize=opsize=1 OV=overlap=0"),
    _instruction("WR_SBK", "CHid=mask OPsize=opsize BK=bank RO=row CO=column Rs=gpr", "OV=overlap=0", joins=True),
    _instruction("RD_SBK", "CHid=mask OPsize=opsize BK=bank RO=row CO=column Rd=gpr", "OV=overlap=0", joins=True),
    _instruction("WR_ABK", "CHid=mask RO=row CO=column Rs=gpr", "Regid=element=0 OV=overlap=0"),
    _instruction("COPY_BKGB", "CHmask=mask OPsize=opsize BK=bank RO=row CO=column", "GB=buffer=CO", joins=True),
    _instruction("COPY_GBBK", "CHmask=mask OPsize=opsize BK=bank RO=row CO=column", "GB=buffer=CO", joins=True),
    _instruction("WR_BIAS", "CHmask=mask Rs=gpr", "Regid=register=0 OV=overlap=0"),
    _instruction("RD_MAC", "CHmask=mask Rd=gpr Regid=register", "OV=overlap=0"),
    _instruction("WR_GB", "CHmask=mask OPsize=opsize CO=buffer Rs=gpr", "OV=overlap=0", joins=True),
    _instruction(
        "MAC_SBK", "CHmask=mask OPsize=opsize BK=bank RO=row CO=column Regid=register", "GB=buffer=CO", source=SIMULATOR
    ),
    _instruction("RD_AF", "CHmask=mask Rd=gpr Regid=register", "OV=overlap=0", source=SIMULATOR),
    _instruction("SYNC", "", source=SIMULATOR),
    _instruction("EOC", "", source=SIMULATOR),
    _instruction("WR_GPR", "OPsize=opsize Rd=gpr", "OV=overlap=0", source=OWN, joins=True),
    _instruction("RD_GPR", "OPsize=opsize Rs=gpr", "OV=overlap=0", source=OWN, joins=True),
)

#: Instructions by operation code.
BY_OPCODE: dict[int, Instruction] = {one.opcode: one for one in INSTRUCTIONS.values()}

#: Instructions whose `Rs` is the distance of a column of the global buffer, not a slot.
BUFFERED = tuple(one.mnemonic for one in INSTRUCTIONS.values() if "GB" in one.by_name)

#: Instructions whose results take a slot for each channel.
RESULTS = ("RD_MAC", "RD_AF")


class DecodeError(IntEnum):
    """Faults of a word. A word with several faults has the first of these codes."""

    NONE = 0
    OPCODE = 1
    FORMAT = 2
    SIZE = 3
    CHANNEL = 4
    ADDRESS = 5
    SLOT = 6
    REGISTER = 7
    DEVICE = 8
    ANSWER = 9

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    DecodeError.NONE: "the program came to its end",
    DecodeError.OPCODE: "operation code that no instruction has (0: a cleared word)",
    DecodeError.FORMAT: "a field that the instruction does not use is not 0",
    DecodeError.SIZE: "OPsize is 0",
    DecodeError.CHANNEL: "no channel, or a channel that the device does not have",
    DecodeError.ADDRESS: "bank, row or column that the device does not have, or columns beyond the row",
    DecodeError.SLOT: "slots beyond the shared buffer",
    DecodeError.REGISTER: "accumulation register, element or activation function that the device does not have",
    DecodeError.DEVICE: "device that does not exist, no following device, or a first instruction beyond the cores' memory",
    DecodeError.ANSWER: "the answer to a blocking instruction is of another instruction",
}


def fields_of(words: np.ndarray) -> dict[str, np.ndarray]:
    """Fields of words: int64 columns of an array of uint8, shape ``(words, 16)``."""
    return WORD.unpack(words)


@dataclass(frozen=True)
class CentIsa:
    """Instruction words of one device. Each number is at most what its field holds.

    Attributes
    ----------
    channels, banks, rows, columns, lanes : of the memory: channels of a device, banks of a channel, rows of a bank,
        accesses of a row, elements of an access
    slots : of the shared buffer
    registers, functions : accumulation registers, activation functions
    devices : in a system
    program_words : words of the memory of a RISC-V core
    """

    channels: int = 32
    banks: int = 16
    rows: int = 16384
    columns: int = 64
    lanes: int = 16
    slots: int = 2048
    registers: int = 32
    functions: int = 8
    devices: int = 256
    program_words: int = 16384

    def __post_init__(self) -> None:
        most = {
            "channels": 32,
            "banks": 1 << WORD.widths["BK"],
            "rows": 1 << WORD.widths["RO"],
            "columns": 1 << WORD.widths["CO"],
            "lanes": 1 << WORD.widths["Regid"],
            "slots": 1 << WORD.widths["Rs"],
            "registers": 1 << WORD.widths["Regid"],
            "functions": 1 << WORD.widths["AFid"],
            "devices": 1 << WORD.widths["DV"],
            "program_words": 1 << WORD.widths["RO"],
        }
        for name, limit in most.items():
            if not 1 <= getattr(self, name) <= limit:
                raise ConfigError(f"{name} must be 1 to {limit}, not {getattr(self, name)}")
        if self.columns & (self.columns - 1):
            raise ConfigError(f"columns must be a power of two, not {self.columns}")

    # Operands of commands ---------------------------------------------------------------------------------------------

    @property
    def operand_bits(self) -> dict[str, int]:
        """Width of every operand of an issued command. A mask's highest bit is channel 0."""
        slot = bits(self.slots)
        return {
            "opsize": WORD.widths["OPsize"],
            "mask": self.channels,
            "row": max(bits(self.rows), bits(self.program_words), bits(self.devices)),
            "column": bits(self.columns),
            "bank": bits(self.banks),
            "gpr": max(slot, bits(self.columns)),
            "gpr1": max(slot, bits(self.lanes), bits(self.functions)),
            "register": bits(self.registers),
            "overlap": 1,
        }

    def commands(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Issued commands of legal words: operation code and operands by place; see :attr:`operand_bits`."""
        opcode = columns["opcode"]
        out = {"op": opcode, **{name: np.zeros(len(opcode), np.int64) for name in self.operand_bits}}
        out["opsize"] += 1
        for code in np.unique(opcode).tolist():
            instruction, chosen = BY_OPCODE[code], opcode == code
            for operand in instruction.operands:
                value = columns[operand.field][chosen]
                if operand.name == "CHid":
                    value = 1 << (self.channels - 1 - value)
                elif operand.name == "CHmask":
                    value = value >> (32 - self.channels)
                elif operand.name == "GB":
                    value = (columns["CO"][chosen] + value) % self.columns
                out[instruction.place(operand)][chosen] = value
        return out

    # Words ------------------------------------------------------------------------------------------------------------

    def pack(self, columns: Mapping[str, Any]) -> np.ndarray:
        """Words of fields: uint8 of shape ``(words, 16)``, the least significant byte first.

        Raises
        ------
        :exc:`ConfigError`
            ``instruction N (MNEMONIC): reason`` for the first one that is not legal.
        """
        table = {name: np.asarray(columns[name], np.int64) for name in WORD.widths if name in columns}
        count = len(table["opcode"])
        table = {name: table.get(name, np.zeros(count, np.int64)) for name in WORD.widths}
        wide = np.zeros(count, bool)
        for name, width in WORD.widths.items():
            wide |= (table[name] < 0) | (table[name] >> width != 0)
        if wide.any():
            at = int(np.argmax(wide))
            name = next(name for name, width in WORD.widths.items() if not 0 <= table[name][at] < 1 << width)
            raise ConfigError(
                f"instruction {at} ({_named(table['opcode'][at])}): {name} must be 0 to "
                f"{(1 << WORD.widths[name]) - 1}, not {table[name][at]}"
            )
        self.require(table, "instruction")
        return WORD.pack(table)

    def require(self, columns: Mapping[str, np.ndarray], what: str) -> None:
        """Raise :exc:`ConfigError` for the first word that is not legal: ``WHAT N (MNEMONIC): reason``."""
        codes = self.problems(columns)
        if codes.any():
            at = int(np.argmax(codes != 0))
            one = {name: int(column[at]) for name, column in columns.items()}
            raise ConfigError(
                f"{what} {at} ({_named(one['opcode'])}): {self.explain(DecodeError(int(codes[at])), one)}"
            )

    def problems(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Code of :class:`DecodeError` of every word, 0 for a legal one."""
        opcode = columns["opcode"]
        codes = np.full(len(opcode), int(DecodeError.OPCODE))
        for code in np.unique(opcode).tolist():
            if code in BY_OPCODE:
                chosen = np.flatnonzero(opcode == code)
                codes[chosen] = self._problems(
                    BY_OPCODE[code], {name: column[chosen] for name, column in columns.items()}
                )
        return codes

    def _problems(self, instruction: Instruction, of: Mapping[str, np.ndarray]) -> np.ndarray:
        has = instruction.by_name
        size = of["OPsize"] if "OPsize" in has else np.ones_like(of["opcode"])
        faults: list[tuple[DecodeError, np.ndarray]] = []

        def fault(code: DecodeError, where: Any) -> None:
            faults.append((code, where))

        for name in WORD.widths:
            if name != "opcode" and name not in instruction.fields:
                fault(DecodeError.FORMAT, of[name] != 0)
        if "OPsize" in has:
            fault(DecodeError.SIZE, of["OPsize"] == 0)
        if "CHmask" in has:
            fault(DecodeError.CHANNEL, (of["CHmask"] == 0) | (of["CHmask"] & ((1 << (32 - self.channels)) - 1) != 0))
        if "CHid" in has:
            fault(DecodeError.CHANNEL, of["CHmask"] >= self.channels)
        if "BK" in has:
            fault(DecodeError.ADDRESS, of["BK"] >= self.banks)
        if "RO" in has:
            fault(DecodeError.ADDRESS, of["RO"] >= self.rows)
        if "CO" in has:
            fault(DecodeError.ADDRESS, of["CO"] + size > self.columns)
        if "GB" in has:
            buffer = (of["CO"] + of["Rs"]) % self.columns
            fault(DecodeError.ADDRESS, (of["Rs"] >= self.columns) | (buffer + size > self.columns))
        if "Rs" in has:
            fault(DecodeError.SLOT, of["Rs"] + size > self.slots)
        if "Rd" in has:
            results = _ones(of["CHmask"]) if instruction.mnemonic in RESULTS else size
            fault(DecodeError.SLOT, of["Rd"] + results > self.slots)
        if "Regid" in has:
            most = self.lanes if instruction.mnemonic == "WR_ABK" else self.registers
            fault(DecodeError.REGISTER, of["Regid"] >= most)
        if "AFid" in has:
            fault(DecodeError.REGISTER, of["AFid"] >= self.functions)
        if "DVid" in has:
            fault(DecodeError.DEVICE, of["DV"] >= self.devices)
        if "DVcount" in has:
            fault(DecodeError.DEVICE, (of["DV"] == 0) | (of["DV"] >= self.devices))
        if "PC" in has:
            fault(DecodeError.DEVICE, of["RO"] >= self.program_words)
        codes = np.zeros(len(of["opcode"]), np.int64)
        for code in reversed(DecodeError):
            for kind, where in faults:
                if kind == code:
                    codes[where] = code
        return codes

    # Words about a fault ----------------------------------------------------------------------------------------------

    def explain(self, code: DecodeError, one: Mapping[str, int]) -> str:
        """The fault of a word in words, with the value and the valid ones."""
        if code == DecodeError.OPCODE:
            return f"no instruction has the operation code {one['opcode']}"
        instruction = BY_OPCODE[one["opcode"]]
        if code == DecodeError.FORMAT:
            name = next(
                name for name in WORD.widths if name != "opcode" and name not in instruction.fields and one[name]
            )
            return f"does not use {name}, which must be 0, not {one[name]}"
        for operand in instruction.operands:
            text = self.fault(instruction, operand, one)
            if text:
                return f"{operand.name} {text}"
        raise ValueError(f"{one} is legal")

    def fault(self, instruction: Instruction, operand: Operand, one: Mapping[str, int]) -> str:
        """The fault of an operand of a word, or nothing. ``one``: the word's fields."""
        name, value = operand.name, one[operand.field]
        size = one["OPsize"] if "OPsize" in instruction.by_name else 1
        steps = size
        if name == "Rd" and instruction.mnemonic in RESULTS:
            steps = one["CHmask"].bit_count()
        least, most, extent = 0, 0, 1
        if name == "OPsize":
            least, most = 1, (1 << WORD.widths["OPsize"]) - 1
        elif name == "CHmask":
            low = 32 - self.channels
            if not 0 < value < 1 << 32 or value & ((1 << low) - 1):
                return (
                    f"must name channels 0 to {self.channels - 1} (channel 0 is the highest of 32 bits), not "
                    f"0x{value:08x}"
                )
            return ""
        elif name in ("NB", "OV"):
            most = 1
        elif name in ("CO", "GB"):
            most, extent = self.columns - 1, size
            if name == "GB":
                if value >= self.columns:
                    return f"must be within {self.columns} columns of CO, not {value} behind it"
                value = (one["CO"] + value) % self.columns
        elif name in ("Rs", "Rd"):
            most, extent = self.slots - 1, steps
        else:
            least = int(name == "DVcount")
            most = {
                "CHid": self.channels,
                "BK": self.banks,
                "RO": self.rows,
                "PC": self.program_words,
                "AFid": self.functions,
                "DVid": self.devices,
                "DVcount": self.devices,
                "Regid": self.lanes if instruction.mnemonic == "WR_ABK" else self.registers,
            }[name] - 1
        if not least <= value <= most:
            return f"must be {least} to {most}, not {value}"
        if value + extent - 1 > most:
            return f"is {value}, so {extent} from there on end behind the last, {most}"
        return ""


def _ones(column: np.ndarray) -> np.ndarray:
    """Number of bits of 32-bit numbers that are 1."""
    return np.unpackbits(column.astype("<u4").view(np.uint8).reshape(-1, 4), axis=1).sum(axis=1, dtype=np.int64)


def _named(opcode: int) -> str:
    return BY_OPCODE[int(opcode)].mnemonic if int(opcode) in BY_OPCODE else "?"
