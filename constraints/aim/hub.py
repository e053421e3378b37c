"""Parameters of the hub of a module of AiM memories: registers (GPR) and extra processing unit (EPU); commands.

Source: LoL-PIM section 2.2 and Table 5 (512 KB of SRAM; softmax, layer norm, element-wise addition and multiplication; one
broadcast path to the channels). Lanes, number formats, passes and encodings are this project's: the paper gives none.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import Field as Key
from pydantic import model_validator

from ..arith.geometry import ExpTable
from ..core.contract import Field, Layout, NumericResult, Port, RateResult, Row, Trial, Unit, UnitConfig, Workload
from ..core.document import Strict
from ..core.errors import ConfigError
from ..core.formats import FORMATS, FloatFormat, float_format
from .encoding import COMMANDS

__all__ = [
    "CODES",
    "EPU_COMMANDS",
    "INNER",
    "MANY",
    "PRESETS",
    "RECEIVING",
    "SENDING",
    "TRANSFERS",
    "UNIT",
    "EpuCommand",
    "EpuVectorCommand",
    "HubConfig",
    "PimHubConfig",
    "PimHubResult",
    "VectorWorkload",
]

#: Commands that send registers to channels, and commands that put results of channels into registers.
SENDING = ("WR_GB", "WR_BIAS", "WR_ABK", "WR_SBK")
RECEIVING = ("RD_MAC", "RD_AF", "RD_SBK")
#: Commands of the EPU.
EPU_COMMANDS = ("EWADD", "GPR_MUL", "SOFTMAX", "LAYERNORM", "RMSNORM")
#: Commands that move registers, and those of them that have an ``opsize``.
TRANSFERS = (*SENDING, *RECEIVING, "WR_GPR", "RD_GPR")
MANY = ("WR_GB", "WR_SBK", "RD_SBK", "WR_GPR", "RD_GPR")
#: Operation codes in the program encoding.
CODES: dict[str, int] = {name: COMMANDS[name].code for name in (*TRANSFERS, *EPU_COMMANDS)}
#: Format of exponentials and of the terms of sums: FP32's exponent, and more fraction bits than FP16 and BF16 have.
INNER: FloatFormat = float_format("e8m13")


class HubConfig(UnitConfig):
    """What every hub has: channels, and registers in banks."""

    channels: int = Key(default=16, ge=1, le=32, description="channels, each with a stream in either direction")
    lanes: int = Key(default=16, ge=2, le=64, description="elements of a register; lanes of the engines that compute")
    format: Literal["bf16", "fp16"] = Key(default="bf16", description="format of the registers")
    gpr_bytes: int = Key(default=512 << 10, ge=8, le=1 << 24, description="bytes of all registers together")
    banks: int = Key(
        default=1,
        ge=1,
        le=32,
        description="memories of the registers, a power of two; register r is in memory r modulo `banks`",
    )
    bank_ports: Literal[1, 2] = Key(
        default=2, description="of each memory; 1: a read or a write in a clock, 2: a read and a write"
    )
    register_ports: int = Key(
        default=1,
        ge=1,
        le=4,
        description="reads of the registers in a clock, and as many writes; "
        "each engine has a port, and the last port serves all "
        "further engines",
    )
    clock_mhz: float = Key(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _registers(self) -> HubConfig:
        if self.lanes & (self.lanes - 1):
            raise ValueError(f"lanes must be a power of two, not {self.lanes}")
        count = self.registers
        if count * self.word_bits != self.gpr_bytes * 8 or count < 2 or count & (count - 1):
            raise ValueError(
                f"gpr_bytes must be a power of two times a register ({self.word_bits // 8} bytes), at least "
                f"two, not {self.gpr_bytes}"
            )
        if self.banks & (self.banks - 1) or 2 * self.banks > count:
            raise ValueError(
                f"banks must be a power of two, and at most half of the {count} registers, not {self.banks}"
            )
        return self

    @property
    def fmt(self) -> FloatFormat:
        return FORMATS[self.format]

    @property
    def word_bits(self) -> int:
        """Bits of a register."""
        return self.lanes * self.fmt.width

    @property
    def registers(self) -> int:
        return self.gpr_bytes * 8 // self.word_bits

    @property
    def register_bits(self) -> int:
        """Bits of the number of a register."""
        return (self.registers - 1).bit_length()

    @property
    def word_layout(self) -> Layout:
        """A register."""
        return Layout.numbers(self.fmt, self.lanes)

    @property
    def commands(self) -> tuple[str, ...]:
        """Commands that the engines of the hub claim."""
        raise NotImplementedError

    @property
    def most_opsize(self) -> int:
        """Greatest ``opsize`` of a command."""
        raise NotImplementedError

    @property
    def command_layout(self) -> Layout:
        """A command: its code and operands."""
        raise NotImplementedError

    def ports(self) -> tuple[Port, ...]:
        word, channels = self.word_layout, range(self.channels)
        return (
            Port("command", "in", self.command_layout, "a command"),
            Port("host_in", "in", word, "WR_GPR: a register"),
            Port("host_out", "out", word, "RD_GPR: a register"),
            *(Port(f"result_{n}", "in", word, f"result of channel {n}") for n in channels),
            *(Port(f"data_{n}", "out", word, f"data for channel {n}") for n in channels),
        )


class PimHubConfig(HubConfig):
    """Parameters of the generator ``pim-hub``. Each element of a register has a lane of the EPU."""

    max_elements: int = Key(default=1 << 17, ge=2, le=1 << 24, description="longest vector of SOFTMAX and the norms")
    epsilon: float = Key(default=1e-5, ge=0, le=1, strict=False, description="added to the variance of the norms")
    lane_depth: int = Key(default=6, ge=1, le=12, description="registers of the multiply-adds")
    sum_depth: int = Key(default=6, ge=2, le=16, description="registers of the adder of all lanes")
    scalar_depth: int = Key(default=4, ge=1, le=12, description="registers of reciprocal and reciprocal square root")

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(CODES)

    @property
    def most_opsize(self) -> int:
        return self.max_elements

    @property
    def table(self) -> ExpTable:
        """Constants of the exponential units."""
        return ExpTable(INNER)

    @property
    def epsilon_bits(self) -> int:
        """``epsilon`` in FP32."""
        return int.from_bytes(struct.pack("<f", self.epsilon), "little")

    @property
    def beats(self) -> int:
        """Registers of the longest vector."""
        return -(-self.max_elements // self.lanes)

    @cached_property
    def command_layout(self) -> Layout:
        """A command: its code and operands."""
        register = self.register_bits
        return Layout.of(
            Field("op", 6, "code of the program encoding; one that is none of the hub does nothing"),
            Field(
                "opsize",
                self.max_elements.bit_length(),
                "registers of WR_GB, EWADD, GPR_MUL, WR_GPR and RD_GPR; elements of SOFTMAX, LAYERNORM and RMSNORM; 0: "
                "nothing is done",
            ),
            Field("gpr", register, "first register; of EWADD and GPR_MUL first operand and destination"),
            Field("gpr1", register, "EWADD, GPR_MUL: second operand; SOFTMAX, LAYERNORM, RMSNORM: destination"),
            Field("mask", self.channels, "channels; the highest bit is channel 0"),
            Field("overlap", 1, "it may begin while commands before it are under way"),
        )


#: LoL-PIM Table 5: 512 KB. Eight single-ported banks have the least area (docs/aim/hub.md).
_BANKS: Any = {"banks": 8, "bank_ports": 1, "register_ports": 2}
PRESETS: dict[str, PimHubConfig] = {
    "lol-pim": PimHubConfig(**_BANKS),
    "lol-pim-fp16": PimHubConfig(format="fp16", **_BANKS),
    "lol-pim-two-ported": PimHubConfig(),
}


class VectorWorkload(Workload):
    """Vectors of the measured commands."""

    tokens: int = Key(default=512, ge=1, le=1 << 24, description="elements of the vectors")

    def check(self, config: PimHubConfig) -> None:
        most = min(config.max_elements, config.registers * config.lanes)
        if self.tokens > most:
            raise ConfigError(f"tokens must be at most {most} for this configuration, not {self.tokens}")


class EpuCommand(Strict):
    """A command of the EPU, at full rate."""

    words: int = Key(description="words of a vector")
    cycles: int = Key(description="of the command alone: cycles of a run with it less cycles of a run without it")
    ideal_cycles: int = Key(description="words of all passes, one a clock")
    clocks_per_word: float | None = Key(description="clocks of a further word; None for a vector of one word")


class EpuVectorCommand(EpuCommand):
    """A command whose elements depend on the whole vector."""

    max_abs_error: float = Key(description="against binary64 on the same bits")
    rms_error: float = Key(description="root mean square of that error")


class PimHubResult(RateResult, NumericResult):
    """Measurements of the bench of ``pim-hub``."""

    cycles: int = Key(description="of SOFTMAX")
    ideal_cycles: int = Key(description="words of the three passes of SOFTMAX, one a clock")
    stall_cycles: int = Key(description="`cycles` less `ideal_cycles`")
    commands: dict[str, EpuVectorCommand | EpuCommand] = Key(description="each command of the EPU, at full rate")
    overlapped_cycles: int = Key(description="of SOFTMAX beside multicasts and results of all channels, loads included")
    max_abs_error: float = Key(description="of SOFTMAX against binary64 on the same bits")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            *(
                (
                    name,
                    f"{one.cycles} cycles for {one.words} words"
                    + ("" if one.clocks_per_word is None else f", {one.clocks_per_word:g} for each more"),
                )
                for name, one in self.commands.items()
            ),
        ]


UNIT = Unit(
    "pim-hub",
    "registers, multicast and extra processing unit of a module of AiM memories",
    "LoL-PIM section 2.2",
    module="pim_hub",
    config=PimHubConfig,
    presets=PRESETS,
    generator="bankside.gen.aim.hub:PimHub",
    model="bankside.models.aim.hub:HubModel",
    bench="bankside.cosim.aim.hub:bench",
    page="docs/aim/hub.md",
    workload=VectorWorkload,
    result=PimHubResult,
    published=(),
    trial=Trial({"channels": 2, "lanes": 2, "gpr_bytes": 128, "max_elements": 64}, {"tokens": 20}),
)
