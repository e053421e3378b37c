"""Parameters of the hub of a module of AiM memories: registers (GPR) and extra processing unit (EPU); commands.

Source: LoL-PIM section 2.2 and Table 5 (512 KB of SRAM; softmax, layer norm, element-wise addition and multiplication; one
broadcast path to the channels). Lanes, number formats, passes and encodings are this project's: the paper gives none.
"""

from __future__ import annotations

import struct
from typing import Literal

from pydantic import Field, model_validator

from ..arithmetic import ExpTable
from ..document import Strict
from ..formats import FORMATS, FloatFormat, float_format
from ..program_encoding import COMMANDS

__all__ = ["CODES", "EPU_COMMANDS", "INNER", "PRESETS", "PimHubConfig", "RECEIVING", "SENDING"]

#: Commands that send registers to channels, and those that put results of channels into registers.
SENDING = ("WR_GB", "WR_BIAS", "WR_ABK", "WR_SBK")
RECEIVING = ("RD_MAC", "RD_AF", "RD_SBK")
#: Commands of the EPU.
EPU_COMMANDS = ("EWADD", "GPR_MUL", "SOFTMAX", "LAYERNORM", "RMSNORM")
#: Operation codes, those of the program encoding.
CODES: dict[str, int] = {name: COMMANDS[name].code for name in (*SENDING, *RECEIVING, *EPU_COMMANDS, "WR_GPR", "RD_GPR")}
#: Format of exponentials and of the terms of sums: FP32's exponent, and more fraction bits than FP16 and BF16 have.
INNER: FloatFormat = float_format("e8m13")


class PimHubConfig(Strict):
    """Parameters of the generator ``pim-hub``."""

    channels: int = Field(default=16, ge=1, le=32, description="channels, each with a stream in either direction")
    lanes: int = Field(default=16, ge=2, le=64, description="lanes of the EPU; elements of a register")
    format: Literal["bf16", "fp16"] = Field(default="bf16", description="format of the registers")
    gpr_bytes: int = Field(default=512 << 10, ge=8, le=1 << 24, description="the registers together")
    max_elements: int = Field(default=1 << 17, ge=2, le=1 << 24, description="longest vector of SOFTMAX and the norms")
    epsilon: float = Field(default=1e-5, ge=0, le=1, strict=False, description="added to the variance of the norms")
    lane_depth: int = Field(default=6, ge=1, le=12, description="registers of the multiply-adds")
    sum_depth: int = Field(default=6, ge=2, le=16, description="registers of the adder of all lanes")
    scalar_depth: int = Field(default=4, ge=1, le=12, description="registers of reciprocal and reciprocal square root")
    clock_mhz: float = Field(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> PimHubConfig:
        if self.lanes & (self.lanes - 1):
            raise ValueError(f"lanes must be a power of two, not {self.lanes}")
        count = self.registers
        if count * self.word_bits != self.gpr_bytes * 8 or count < 2 or count & (count - 1):
            raise ValueError(f"gpr_bytes must be a power of two times a register ({self.word_bits // 8} bytes), at least "
                             f"two, not {self.gpr_bytes}")
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

    def field_bits(self) -> dict[str, int]:
        """Fields of a command, the lowest first."""
        register = (self.registers - 1).bit_length()
        return {"op": 6, "opsize": self.max_elements.bit_length(), "gpr": register, "gpr1": register, "mask": self.channels,
                "overlap": 1}


PRESETS: dict[str, PimHubConfig] = {"lol-pim": PimHubConfig(), "lol-pim-fp16": PimHubConfig(format="fp16")}
