"""Parameters of an AiM channel: processing units beside the banks, registers, global buffers; and its commands.

Source: CENT (ASPLOS 2025) sections 4.1 and 5.4 and Table 3 (multipliers, 32 registers, element-wise product, copies, table
and interpolation), LoL-PIM sections 2.2 and 6 (a pair of registers, 2 KB global buffer, a second one with the ping-pong
bit). Accumulator, rounding, widths of fields and the order within a set are this project's: neither paper gives them.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from ..activation import ACTIVATIONS, TableInterpolation
from ..arithmetic import DotWindow, dot_window
from ..document import Strict
from ..errors import ConfigError, nearest
from ..formats import FORMATS, FloatFormat
from ..program_encoding import COMMANDS

__all__ = ["CHANNEL_COMMANDS", "CODES", "PRESETS", "AimChannelConfig"]

#: Commands of a channel, by name; those of the host and of the hub (EWADD, SYNC, EOC, GPR, CFR, W_MEM, R_MEM) are none.
CHANNEL_COMMANDS = ("WR_GB", "WR_BIAS", "MAC_ABK", "MAC_SBK", "RD_MAC", "AF", "RD_AF", "EWMUL", "COPY_BKGB", "COPY_GBBK",
                    "WR_ABK", "WR_SBK", "RD_SBK")
#: Their operation codes, those of the program encoding.
CODES: dict[str, int] = {name: COMMANDS[name].code for name in CHANNEL_COMMANDS}
#: Banks of a group: the element-wise product of the first two goes to the third.
GROUP = 4


class AimChannelConfig(Strict):
    """Parameters of the generator ``aim-channel``.

    With ``buffering`` ``ping-pong`` there are two global buffers, and the registers are two sets of half as many.
    """

    banks: int = Field(default=16, ge=4, le=16, description="banks, each with a processing unit; a multiple of 4")
    lanes: int = Field(default=16, ge=2, le=32, description="multipliers of a processing unit; elements of a column access")
    format: Literal["bf16", "fp16"] = Field(default="bf16", description="format of all operands and results")
    acc_format: Literal["fp32", "fp16", "bf16"] = Field(
        default="fp32", description="the aligned accumulator keeps the precision of this format and three bits more")
    registers: int = Field(default=2, ge=1, le=64, description="accumulation registers of a unit, both sets together")
    buffering: Literal["single", "ping-pong"] = Field(
        default="single", description="ping-pong: a second global buffer, and registers in two sets (I/O-aware buffering)")
    buffer_bytes: int = Field(default=2048, ge=32, le=1 << 16, description="a global buffer")
    activations: str = Field(default="sigmoid", description="functions of AF, by number from 0, with commas between them")
    table_entries: int = Field(default=128, ge=2, le=1024, description="chords of an activation function's table")
    table_limit: int = Field(default=8, ge=1, le=64, description="the table covers -limit to limit, a power of two")
    max_beats: int = Field(default=8192, ge=16, le=1 << 20,
                           description="column accesses that one sum may have without overflow of the accumulator")
    depth: int = Field(default=6, ge=2, le=16, description="registers of the multiplier tree, one of them the accumulator")
    multiply_depth: int = Field(default=2, ge=1, le=6, description="registers of the element-wise multipliers")
    activation_depth: int = Field(default=3, ge=1, le=6, description="registers of the activation function")
    opsize_bits: int = Field(default=12, ge=4, le=24, description="width of opsize")
    clock_mhz: float = Field(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @field_validator("activations")
    @classmethod
    def _known(cls, text: str) -> str:
        names = text.split(",")
        for name in names:
            if name not in ACTIVATIONS:
                raise ValueError(nearest("function", name, ACTIVATIONS))
        if len(set(names)) != len(names) or len(names) > 8:
            raise ValueError("activations must be up to 8 different functions")
        return text

    @model_validator(mode="after")
    def _check(self) -> AimChannelConfig:
        if self.banks % GROUP:
            raise ValueError(f"banks must be a multiple of {GROUP}, not {self.banks}")
        if self.lanes & (self.lanes - 1):
            raise ValueError(f"lanes must be a power of two, not {self.lanes}")
        if self.banks > self.lanes:
            raise ValueError(f"banks must be at most lanes ({self.lanes}), since a word has an element for each, "
                             f"not {self.banks}")
        if self.columns * self.word_bits != self.buffer_bytes * 8 or self.columns & (self.columns - 1) or self.columns < 2:
            raise ValueError(f"buffer_bytes must be a power of two times {self.word_bits // 8} (a column access), at least "
                             f"two of them, not {self.buffer_bytes}")
        if self.registers % self.sets or self.registers_per_set & (self.registers_per_set - 1):
            raise ValueError(f"registers must be a power of two{' from 2 on' if self.sets == 2 else ''}, "
                             f"not {self.registers}")
        try:
            _ = self.tables
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return self

    # Derived sizes ----------------------------------------------------------------------------------------------------

    @property
    def fmt(self) -> FloatFormat:
        return FORMATS[self.format]

    @property
    def sets(self) -> int:
        """Sets of buffers."""
        return 2 if self.buffering == "ping-pong" else 1

    @property
    def registers_per_set(self) -> int:
        return self.registers // self.sets

    @property
    def groups(self) -> int:
        """Bank groups."""
        return self.banks // GROUP

    @property
    def word_bits(self) -> int:
        """Bits of a column access of one bank."""
        return self.lanes * self.fmt.width

    @property
    def columns(self) -> int:
        """Words of a global buffer."""
        return self.buffer_bytes * 8 // self.word_bits

    @property
    def window(self) -> DotWindow:
        """Geometry of the accumulators: products of a beat, and what WR_BIAS wrote as one more."""
        return dot_window(self.fmt, self.fmt, self.lanes + 1, FORMATS[self.acc_format].precision + 3, beats=self.max_beats)

    @property
    def tables(self) -> list[TableInterpolation]:
        """The activation functions in the order of their numbers."""
        return [TableInterpolation(name, self.fmt, self.table_entries, self.table_limit)
                for name in self.activations.split(",")]

    def field_bits(self) -> dict[str, int]:
        """Fields of a command, the lowest first."""
        return {
            "op": 6, "opsize": self.opsize_bits, "column": max((self.columns - 1).bit_length(), 1),
            "bank": (self.banks - 1).bit_length(), "register": max((self.registers_per_set - 1).bit_length(), 1),
            "element": max((self.lanes - 1).bit_length(), 1), "function": 3, "neighbour": 1,
        }


#: LoL-PIM section 6 (two 2-byte registers; ping-pong sets) and CENT section 4.1 (32 registers, BF16).
PRESETS: dict[str, AimChannelConfig] = {
    "aim": AimChannelConfig(),
    "aim-ping-pong": AimChannelConfig(buffering="ping-pong"),
    "cent": AimChannelConfig(registers=32),
    "aim-fp16": AimChannelConfig(format="fp16"),
}
