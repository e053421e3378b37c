"""Binary encoding of programs for AiM memories, and the addresses and answers of the unit that executes it.

The unit decodes one *line* of the command buffer in a clock: a command of :data:`WORD_BITS` words, lowest first, then
prefix words. The first ``loops`` prefix words begin loops (Dyn-Loop). The next ``modifiers`` prefix words change
operands of the command (Dyn-Modi). Fields of a word are listed lowest first, and unused bits are 0.

The code of a command says whether it is for the memory's channels, the hub of the module, or both. All three units read
the same words.

Source: LoL-PIM section 5.3, Table 3 and Table 4, for loops, modifiers and their meaning. The paper gives no bits;
widths, words and codes are this project's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from ..core.errors import ConfigError

__all__ = [
    "CENT_COMMANDS",
    "COMMANDS",
    "DISPATCHER_COMMANDS",
    "END",
    "HUB_CODES",
    "MORE",
    "OPERANDS",
    "WORD_BITS",
    "CommandCode",
    "DispatchError",
    "Host",
    "ProgramEncoding",
    "Slot",
    "bits",
    "channels_of",
    "mask_of",
    "operations",
]

WORD_BITS = 32

#: Operands that a command word has places for; their order numbers them for modifiers. Some share a place, see
#: :data:`COMMANDS`.
OPERANDS: dict[str, str] = {
    "opsize": "accesses, registers or elements of the command",
    "mask": "channels that execute it; the highest bit is channel 0",
    "row": "row, or with `virtual` the number of a row of the request",
    "column": "first column of the row; of WR_GB of the global buffer",
    "bank": "bank",
    "gpr": "register of the hub: source or destination; of products and copies first word of the global buffer",
    "gpr1": "second register of the hub; or element, function, neighbour, channel",
    "register": "accumulation register of the processing units",
    "overlap": "the hub may begin it while commands before it are under way",
    "slot": "with `virtual`: the row is of the request in this slot, counted from the slot that the run was started with",
}


@dataclass(frozen=True)
class CommandCode:
    """How a command is encoded.

    Attributes
    ----------
    code : operation code
    fields : operands that a program must give, each with the field of the command word that it goes to
    optional : operands that a program may leave out and that are 0 then, each with its field
    paper : name in LoL-PIM's Table 3, if it is there
    """

    code: int
    fields: Mapping[str, str]
    optional: Mapping[str, str]
    paper: str = ""

    @property
    def has_row(self) -> bool:
        return "row" in self.fields

    @property
    def places(self) -> dict[str, str]:
        """All operands, each with its field."""
        return {**self.fields, **self.optional}


def _code(code: int, fields: str, optional: str = "", paper: str = "") -> CommandCode:
    def places(text: str) -> dict[str, str]:
        return {name: place or name for name, _, place in (part.partition(":") for part in text.split())}

    return CommandCode(code, places(fields), places(optional), paper)


#: ``END`` ends the program. ``MORE`` is a line without a command: its loops and modifiers belong to the next line. Code
#: 0 is no command, so a cleared line is not executed.
END, MORE = 1, 2

#: Commands of the channels and of the hub. Source of names and operands of the first ones: the AiM simulator, as
#: ``models/memory/aim.py`` times them; columns, registers and the like are operands of the devices (CENT Table 3),
#: which that simulator's traces leave out. Codes from 48 on are for the hub alone (LoL-PIM Table 5; CENT Table 3 has
#: such operations too) and take no time of the memory.
COMMANDS: dict[str, CommandCode] = {
    "WR_GB": _code(8, "opsize gpr mask", "buffer:column overlap", "WR-INP"),
    "WR_BIAS": _code(9, "gpr mask", "register overlap"),
    "MAC_ABK": _code(10, "opsize mask row", "column buffer:gpr neighbour:gpr1 register", "DOT-PROD"),
    "MAC_SBK": _code(11, "opsize mask bank row", "column buffer:gpr register"),
    "RD_MAC": _code(12, "gpr mask", "register overlap", "RD-OUT"),
    "AF": _code(13, "mask", "function:gpr1 register"),
    "RD_AF": _code(14, "gpr mask", "register overlap"),
    "EWMUL": _code(15, "opsize mask row", "column"),
    "EWADD": _code(16, "opsize gpr0:gpr gpr1", "overlap"),
    "COPY_BKGB": _code(17, "opsize mask bank row", "column buffer:gpr"),
    "COPY_GBBK": _code(18, "opsize mask bank row", "column buffer:gpr"),
    "WR_ABK": _code(19, "gpr mask row", "column element:gpr1 overlap"),
    "WR_SBK": _code(20, "gpr mask bank row", "opsize column overlap"),
    "RD_SBK": _code(21, "gpr mask bank row", "opsize column overlap"),
    "W_MEM": _code(22, "channel:gpr1 bank row", "column"),
    "R_MEM": _code(23, "channel:gpr1 bank row", "column"),
    "SYNC": _code(24, ""),
    "GPR": _code(25, ""),
    "CFR": _code(26, ""),
    "EOC": _code(27, ""),
    "GPR_MUL": _code(48, "opsize gpr0:gpr gpr1", "overlap"),
    "SOFTMAX": _code(49, "opsize gpr0:gpr gpr1", "overlap"),
    "LAYERNORM": _code(50, "opsize gpr0:gpr gpr1", "overlap"),
    "RMSNORM": _code(51, "opsize gpr0:gpr gpr1", "overlap"),
    "WR_GPR": _code(52, "opsize gpr", "overlap"),
    "RD_GPR": _code(53, "opsize gpr", "overlap"),
    "RED": _code(54, "opsize gpr0:gpr gpr1", "overlap"),
    "EXP": _code(55, "opsize gpr0:gpr gpr1", "overlap"),
    "RISCV": _code(56, "opsize gpr0:gpr gpr1 pc:row", "overlap"),
    "SEND_CXL": _code(57, "opsize gpr0:gpr gpr1 device:row", "overlap"),
    "RECV_CXL": _code(58, "", "overlap"),
    "BCAST_CXL": _code(59, "opsize gpr0:gpr gpr1 count:row", "overlap"),
}

#: Commands of CENT's units beside the registers (CENT Table 3). Its ACC is EWADD.
CENT_COMMANDS = ("RED", "EXP", "RISCV", "SEND_CXL", "RECV_CXL", "BCAST_CXL")

#: Commands that a dispatcher executes. Every other code is an error of its program.
DISPATCHER_COMMANDS = {name: what for name, what in COMMANDS.items() if name not in CENT_COMMANDS}

#: Codes from here on are for the hub alone.
HUB_CODES = 48


def operations(op: str, opsize: int) -> int:
    """Operations of a command with the field ``opsize``. A command without this operand, or that leaves it out, is one
    operation."""
    if "opsize" in COMMANDS[op].fields:
        return opsize
    return opsize or 1 if "opsize" in COMMANDS[op].optional else 1


def mask_of(channels: Iterable[int], width: int) -> int:
    """Mask of channels; the highest bit of a mask is channel 0."""
    return sum(1 << (width - 1 - channel) for channel in set(channels))


def channels_of(mask: int, width: int) -> list[int]:
    """Channels of a mask, the lowest first."""
    return [channel for channel in range(width) if mask >> (width - 1 - channel) & 1]


_OP_BITS = 6


class DispatchError(IntEnum):
    """How a run ended. The host must clear every code except ``NONE`` and ``STOPPED`` before the next run."""

    NONE = 0
    OPCODE = 1
    FORMAT = 2
    BEYOND = 3
    NESTING = 4
    BODY = 5
    COUNT = 6
    MODIFIER = 7
    LAYER = 8
    RANGE = 9
    SLOT = 10
    VIRTUAL = 11
    UNMAPPED = 12
    STOPPED = 13
    NOT_CLEARED = 14
    NEWEST = 15

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    DispatchError.NONE: "the program came to its end",
    DispatchError.OPCODE: "operation code that no command has (0: a line that was cleared)",
    DispatchError.FORMAT: "more prefix words than a line has, or an end with prefix words",
    DispatchError.BEYOND: "program or body of a loop runs beyond the command buffer",
    DispatchError.NESTING: "more loops within each other than the unit has levels",
    DispatchError.BODY: "body of a loop without lines, or that ends behind the loop around it; an end in a loop",
    DispatchError.COUNT: "count of a loop above the greatest",
    DispatchError.MODIFIER: "modifier of no operand, or by the index of a loop that is not open",
    DispatchError.LAYER: "modifier by the layer, while the current layer is not one of the layers",
    DispatchError.RANGE: "operand outside of its field, or a physical row that the memory does not have",
    DispatchError.SLOT: "slot that does not exist or holds no request",
    DispatchError.VIRTUAL: "virtual row outside of the request's",
    DispatchError.UNMAPPED: "virtual row without a physical one",
    DispatchError.STOPPED: "stopped by the host before this line",
    DispatchError.NOT_CLEARED: "not started: the error before was not cleared",
    DispatchError.NEWEST: "modifier by the newest token, while the run's slot has no request or no token",
}


class Slot(IntEnum):
    """Registers of a slot of the configuration."""

    REQUEST = 0  # bit 31: holds a request; below: its name
    TOKENS = 1
    BASE = 2  # entry of the Va2Pa table with the request's virtual row 0
    SIZE = 3  # virtual rows


class Host(IntEnum):
    """Registers behind the registers of the slots."""

    LAYER = 0  # low half: current layer; high half: layers
    START = 1  # low half: first line; high half: slot
    STOP = 2
    CLEAR = 3
    RELEASE = 4  # slot


def bits(size: int) -> int:
    """Width of a number below ``size``, at least 1."""
    return max(1, (size - 1).bit_length())


Fields = dict[str, int]


@dataclass(frozen=True)
class ProgramEncoding:
    """Words of programs for one unit. Layouts are name to width in bits, lowest first.

    Attributes
    ----------
    lines, line_words : size of the command buffer in lines, and of a line in words
    nesting : loops within each other
    slots : requests in the configuration
    count_bits : a loop has at most ``2**count_bits`` iterations
    stride_bits : width of a stride, signed
    token_bits : width of a number of tokens
    operand_bits : width of every operand of :data:`OPERANDS`, in that order
    """

    lines: int
    line_words: int
    nesting: int
    slots: int
    count_bits: int
    stride_bits: int
    token_bits: int
    operand_bits: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.prefix_words < 1:
            raise ConfigError(
                f"a line must have more than the {self.command_words} words of a command, not {self.line_words}"
            )
        for what, layout in (("loop", self.loop_fields), ("modifier", self.modifier_fields)):
            if sum(layout.values()) > WORD_BITS or min(layout.values()) < 1:
                raise ConfigError(f"a {what} takes more than the {WORD_BITS} bits of a word")
        if self.offset_bits < 2:
            raise ConfigError(f"a loop counted by tokens takes more than the {WORD_BITS} bits of a word")

    @cached_property
    def operands(self) -> Fields:
        return dict(zip(OPERANDS, self.operand_bits, strict=True))

    @property
    def command_words(self) -> int:
        # With one prefix word the counts of loops and modifiers are narrowest; their width depends on the prefix words.
        for words in range(1, self.line_words + 1):
            if sum(self._command(self.line_words - words).values()) <= words * WORD_BITS:
                return words
        return self.line_words + 1

    @property
    def prefix_words(self) -> int:
        return self.line_words - self.command_words

    def _command(self, prefix: int) -> Fields:
        return {"op": _OP_BITS, "loops": bits(prefix + 1), "modifiers": bits(prefix + 1), "virtual": 1, **self.operands}

    @cached_property
    def command_fields(self) -> Fields:
        return self._command(self.prefix_words)

    @property
    def loop_fields(self) -> Fields:
        """``length`` in lines, including the line of the loop's word. For ``value`` see :attr:`tokens_fields`."""
        length = bits(self.lines + 1)
        return {"by_tokens": 1, "length": length, "value": WORD_BITS - 1 - length}

    @property
    def offset_bits(self) -> int:
        return self.loop_fields["value"] - bits(self.token_bits + 1) - bits(self.slots)

    @property
    def tokens_fields(self) -> Fields:
        """Fields of ``value`` in a loop ``by_tokens``: ceil(tokens of the slot / 2**shift) + offset iterations, with a
        signed offset. In other loops ``value`` is the number of iterations."""
        return {"shift": bits(self.token_bits + 1), "slot": bits(self.slots), "offset": self.offset_bits}

    @property
    def modifier_fields(self) -> Fields:
        """Operand ``target`` grows by ``stride`` (signed) with every step of the loop ``level``, where 0 is the
        outermost loop. Level :attr:`layer_level` is the current layer. Level :attr:`newest_level` is the number of the
        newest token, counted from 0, over 2**shift. A unit whose strides leave no room for a shift has none."""
        fields = {"target": bits(len(OPERANDS)), "level": bits(self.nesting + 2), "stride": self.stride_bits}
        room = min(bits(self.token_bits + 1), WORD_BITS - sum(fields.values()))
        return {**fields, "shift": room} if room > 0 else fields

    @property
    def layer_level(self) -> int:
        return self.nesting

    @property
    def newest_level(self) -> int:
        return self.nesting + 1

    @property
    def most_iterations(self) -> int:
        return 1 << self.count_bits


def pack(layout: Fields, **values: int) -> int:
    """Number with these values in its fields. Fields without a value are 0; signed values are in two's complement."""
    word, low = 0, 0
    for name, width in layout.items():
        word |= (values.get(name, 0) & ((1 << width) - 1)) << low
        low += width
    return word


def unpack(layout: Fields, word: int) -> dict[str, int]:
    """The fields of a number, unsigned."""
    out = {}
    for name, width in layout.items():
        out[name] = word & ((1 << width) - 1)
        word >>= width
    return out


def signed(value: int, width: int) -> int:
    """An unsigned field as two's complement."""
    return value - (value >> (width - 1) << width)
