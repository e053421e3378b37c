"""Parameters of an AiM channel: processing units beside the banks, registers, global buffers; and its commands.

Source: CENT (ASPLOS 2025) sections 4.1 and 5.4 and Table 3 for multipliers, 32 registers, element-wise product, copies,
table and interpolation. LoL-PIM sections 2.2 and 6 give a pair of registers, a 2 KB global buffer, and a second one
with the ping-pong bit. Accumulator, rounding, widths of fields and the order within a set are this project's: neither
paper gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import Field as Key
from pydantic import field_validator, model_validator

from ..arith.activation import ACTIVATIONS, TableInterpolation
from ..arith.geometry import DotWindow, dot_window
from ..core.contract import (
    AttentionWorkload,
    Field,
    Layout,
    NumericResult,
    Port,
    RateResult,
    Row,
    Trial,
    Unit,
    UnitConfig,
    memory_port,
)
from ..core.document import Strict
from ..core.errors import ConfigError, nearest
from ..core.formats import FORMATS, FloatFormat
from .encoding import COMMANDS

__all__ = ["CHANNEL_COMMANDS", "CODES", "PRESETS", "UNIT", "AimAttention", "AimChannelConfig", "AimChannelResult"]

#: Commands of a channel, by name. Commands of the host and of the hub (EWADD, SYNC, EOC, GPR, CFR, W_MEM, R_MEM) are
#: not among them.
CHANNEL_COMMANDS = (
    "WR_GB",
    "WR_BIAS",
    "MAC_ABK",
    "MAC_SBK",
    "RD_MAC",
    "AF",
    "RD_AF",
    "EWMUL",
    "COPY_BKGB",
    "COPY_GBBK",
    "WR_ABK",
    "WR_SBK",
    "RD_SBK",
)
#: Their operation codes in the program encoding.
CODES: dict[str, int] = {name: COMMANDS[name].code for name in CHANNEL_COMMANDS}
#: Banks of a group: the element-wise product of the first two goes to the third.
GROUP = 4


class AimChannelConfig(UnitConfig):
    """Parameters of the generator ``aim-channel``.

    With ``buffering`` ``ping-pong`` there are two global buffers, and the registers are two sets of half as many.
    """

    banks: int = Key(default=16, ge=4, le=16, description="banks, each with a processing unit; a multiple of 4")
    lanes: int = Key(
        default=16, ge=2, le=32, description="multipliers of a processing unit; elements of a column access"
    )
    format: Literal["bf16", "fp16"] = Key(default="bf16", description="format of all operands and results")
    acc_format: Literal["fp32", "fp16", "bf16"] = Key(
        default="fp32", description="the aligned accumulator keeps the precision of this format and three bits more"
    )
    registers: int = Key(default=2, ge=1, le=64, description="accumulation registers of a unit, both sets together")
    buffering: Literal["single", "ping-pong"] = Key(
        default="single",
        description="ping-pong: a second global buffer, and registers in two sets (I/O-aware buffering)",
    )
    buffer_bytes: int = Key(default=2048, ge=32, le=1 << 16, description="bytes of a global buffer")
    activations: str = Key(default="sigmoid", description="functions of AF, by number from 0, with commas between them")
    table_entries: int = Key(default=128, ge=2, le=1024, description="chords of an activation function's table")
    table_limit: int = Key(default=8, ge=1, le=64, description="the table covers -limit to limit, a power of two")
    max_beats: int = Key(
        default=8192,
        ge=16,
        le=1 << 20,
        description="column accesses that one sum may have without overflow of the accumulator",
    )
    depth: int = Key(
        default=6, ge=2, le=16, description="registers of the multiplier tree, one of them the accumulator"
    )
    multiply_depth: int = Key(default=2, ge=1, le=6, description="registers of the element-wise multipliers")
    activation_depth: int = Key(default=3, ge=1, le=6, description="registers of the activation function")
    opsize_bits: int = Key(default=12, ge=4, le=24, description="width of opsize")
    clock_mhz: float = Key(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

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
            raise ValueError(
                f"banks must be at most lanes ({self.lanes}), since a word has an element for each, not {self.banks}"
            )
        if (
            self.columns * self.word_bits != self.buffer_bytes * 8
            or self.columns & (self.columns - 1)
            or self.columns < 2
        ):
            raise ValueError(
                f"buffer_bytes must be a power of two times {self.word_bits // 8} (a column access), at least "
                f"two of them, not {self.buffer_bytes}"
            )
        if self.registers % self.sets or self.registers_per_set & (self.registers_per_set - 1):
            raise ValueError(
                f"registers must be a power of two{' from 2 on' if self.sets == 2 else ''}, not {self.registers}"
            )
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
        """Geometry of the accumulators: the products of a beat, and the number that WR_BIAS wrote as one more term."""
        return dot_window(
            self.fmt, self.fmt, self.lanes + 1, FORMATS[self.acc_format].precision + 3, beats=self.max_beats
        )

    @property
    def tables(self) -> list[TableInterpolation]:
        """The activation functions in the order of their numbers."""
        return [
            TableInterpolation(name, self.fmt, self.table_entries, self.table_limit)
            for name in self.activations.split(",")
        ]

    # Ports ------------------------------------------------------------------------------------------------------------

    @cached_property
    def command_layout(self) -> Layout:
        """A command: its code and operands."""
        return Layout.of(
            Field("op", 6, "code of the program encoding; one that is none of a channel does nothing"),
            Field(
                "opsize", self.opsize_bits, "column accesses, or words of WR_GB, WR_SBK and RD_SBK; 0: nothing is done"
            ),
            Field(
                "column",
                max((self.columns - 1).bit_length(), 1),
                "first word of the global buffer; what runs over begins anew",
            ),
            Field("bank", (self.banks - 1).bit_length(), "MAC_SBK, COPY_BKGB, COPY_GBBK, WR_SBK, RD_SBK: bank"),
            Field("register", max((self.registers_per_set - 1).bit_length(), 1), "register of the set"),
            Field("element", max((self.lanes - 1).bit_length(), 1), "WR_ABK: element of the word that is written"),
            Field("function", 3, "AF: number of the function"),
            Field(
                "neighbour", 1, "MAC_ABK: the other factors are those of the next bank, in the units of even banks only"
            ),
        )

    @property
    def column_layout(self) -> Layout:
        """A column access of every bank."""
        return Layout.numbers(self.fmt, self.banks * self.lanes)

    @property
    def word_layout(self) -> Layout:
        """A column access of one bank."""
        return Layout.numbers(self.fmt, self.lanes)

    @property
    def write_layout(self) -> Layout:
        """A write into the banks in one column access."""
        return Layout.of(
            Field(
                "data",
                self.groups * self.word_bits,
                "a word for each bank group, group 0 lowest",
                self.groups * self.lanes,
                self.fmt,
            ),
            Field("banks", self.banks, "banks that are written, a bit each"),
            Field("scatter", 1, "bank b gets element b of the lowest word alone, as element `element` of its own"),
            Field("element", self.command_layout.widths["element"], "see scatter"),
        )

    def ports(self) -> tuple[Port, ...]:
        return (
            Port("command", "in", self.command_layout, "a command"),
            Port("bank", "in", self.column_layout, "a column access of every bank, bank 0 lowest"),
            Port(
                "data",
                "in",
                self.word_layout,
                "a word: for the global buffer; a number for each register, unit 0 lowest; or for the banks",
            ),
            Port("write", "out", self.write_layout, "a write into the banks"),
            Port(
                "result",
                "out",
                self.word_layout,
                "RD_MAC, RD_AF: a number of each unit, unit 0 lowest, then zeros; RD_SBK: the bank's word",
            ),
        )


#: LoL-PIM section 6 (two 2-byte registers; ping-pong sets) and CENT section 4.1 (32 registers, BF16).
PRESETS: dict[str, AimChannelConfig] = {
    "aim": AimChannelConfig(),
    "aim-ping-pong": AimChannelConfig(buffering="ping-pong"),
    "cent": AimChannelConfig(registers=32),
    "aim-fp16": AimChannelConfig(format="fp16"),
}


class AimAttention(AttentionWorkload):
    """Attention of a head on AiM memories."""

    memory: str = memory_port("gddr6-aim")
    tokens: int = Key(default=512, ge=1, le=1 << 30, description="tokens of the head's keys and values")


class AimWork(Strict):
    """A product at full rate."""

    cycles: int = Key(description="from the first accepted command to the last output")
    ideal_cycles: int = Key(description="column accesses of the products, one a clock")
    utilisation: float = Key(description="`ideal_cycles` over `cycles`")


class AimPacedWork(Strict):
    """A product with commands and data at the cycles of the memory."""

    memory_cycles: int = Key(description="clocks of the memory for the commands of the product")
    cycles: int = Key(description="from the first accepted command to the last output")
    read_to_result: int = Key(description="longest time from the memory's read of a result to the result")


class AimChannelResult(RateResult, NumericResult):
    """Measurements of the bench of ``aim-channel``: Q K^T, S V and a matrix-vector product; attention is the first
    two."""

    cycles: int = Key(description="of attention at full rate")
    ideal_cycles: int = Key(description="column accesses of attention, one a clock")
    stall_cycles: int = Key(description="`cycles` less `ideal_cycles`")
    works: dict[str, AimWork] = Key(description="each product at full rate: `q_k`, `s_v`, `gemv`")
    memory_timing: dict[str, AimPacedWork] = Key(description="the same products at the cycles of the memory")
    max_abs_error: float = Key(description="of Q K^T and S V against binary64 on the same bits")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        paced = self.memory_timing
        return [
            *super().figures(workload),
            *(
                (
                    name,
                    f"{work.cycles} cycles, ideal {work.ideal_cycles}; at the pace of {workload['memory']} "
                    f"{paced[name].cycles} cycles, {paced[name].memory_cycles} of the memory's",
                )
                for name, work in self.works.items()
            ),
        ]


UNIT = Unit(
    "aim-channel",
    "near-bank processing units of an AiM channel, global buffers, ping-pong sets",
    "CENT (ASPLOS 2025) section 4.1, LoL-PIM section 6",
    module="aim_channel",
    config=AimChannelConfig,
    presets=PRESETS,
    generator="bankside.gen.aim.channel:AimChannel",
    model="bankside.models.aim.channel:ChannelModel",
    bench="bankside.cosim.aim.channel:bench",
    page="docs/aim/channel.md",
    workload=AimAttention,
    result=AimChannelResult,
    published=("aim",),
    trial=Trial(
        {
            "banks": 4,
            "lanes": 4,
            "buffer_bytes": 64,
            "max_beats": 1024,
            "table_entries": 16,
            "depth": 4,
            "acc_format": "bf16",
            "buffering": "ping-pong",
        },
        {"tokens": 16, "head_dim": 8},
    ),
)
