"""Parameters of CENT's PNM units: accumulators, reduction trees and exponent units beside the registers of a device.

Source: CENT (ASPLOS 2025) section 4.2 and Tables 2, 3. They give 32 units of each kind, BF16, and 64 KB of shared buffer in
slots of 256 bits. Exponentials are a Taylor series of order 10. Banks, ports, depths and rounding are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import Field as Key
from pydantic import model_validator

from ..aim.hub import TRANSFERS, HubConfig
from ..core.contract import Field, Layout, RateResult, Row, Trial, Unit, Workload
from ..core.document import Strict
from ..core.errors import ConfigError

__all__ = ["KINDS", "OPERANDS_OF", "PRESETS", "UNIT", "CentPnmConfig", "CentPnmResult", "PnmCommand", "SlotWorkload"]

#: Units by command: accumulators (CENT's ACC), reduction trees, exponent units.
KINDS = {"EWADD": "acc", "RED": "red", "EXP": "exp"}
#: Slots that a command reads for each slot that it writes.
OPERANDS_OF = {"EWADD": 2, "RED": 1, "EXP": 1}


class CentPnmConfig(HubConfig):
    """Parameters of the generator ``cent-pnm``.

    An engine takes as many slots in a clock as it has units, but at most one of each bank.
    """

    channels: int = Key(default=32, ge=1, le=32, description="channels, each with a stream in either direction")
    gpr_bytes: int = Key(default=64 << 10, ge=8, le=1 << 24, description="bytes of all registers (slots) together")
    acc_units: int = Key(default=32, ge=1, le=32, description="accumulators, each for a slot; a power of two")
    red_units: int = Key(default=32, ge=1, le=32, description="reduction trees, each for a slot; a power of two")
    exp_units: int = Key(default=32, ge=1, le=32, description="exponent units, each for a slot; a power of two")
    reduction: Literal["fused", "tree"] = Key(
        default="fused",
        description="fused: exact sum, rounded once; tree: each sum of two is rounded, neighbours first",
    )
    exponential: Literal["faithful", "taylor", "taylor-reduced"] = Key(
        default="faithful", description="faithful: at most 1 ulp; taylor: series about 0; reduced: with range reduction"
    )
    order: int = Key(default=10, ge=1, le=16, description="taylor: order of the series")
    acc_depth: int = Key(default=4, ge=1, le=5, description="registers of the adders of the accumulators")
    red_depth: int = Key(default=6, ge=1, le=16, description="registers of the reduction trees")
    exp_depth: int = Key(default=7, ge=1, le=64, description="registers of the exponentials")

    @model_validator(mode="after")
    def _units(self) -> CentPnmConfig:
        for name in ("acc_units", "red_units", "exp_units"):
            count = getattr(self, name)
            if count & (count - 1):
                raise ValueError(f"{name} must be a power of two, not {count}")
        return self

    @property
    def commands(self) -> tuple[str, ...]:
        return (*TRANSFERS, *KINDS)

    @property
    def most_opsize(self) -> int:
        return self.registers

    @property
    def beats(self) -> int:
        """Registers of the longest vector."""
        return self.registers

    def units_of(self, op: str) -> int:
        return int(getattr(self, f"{KINDS[op]}_units"))

    def group_of(self, op: str) -> int:
        """Slots that the engine of a command takes at once."""
        return min(self.units_of(op), self.banks)

    def least_clocks(self, op: str, slots: int) -> int:
        """Clocks that the registers take at least for a command: of the engine's port, and of the banks."""
        reads, groups = OPERANDS_OF[op], -(-slots // self.group_of(op))
        accesses = max(reads, 1) if self.bank_ports == 2 else reads + 1
        return max(reads * groups, -(-accesses * slots // self.banks))

    @cached_property
    def command_layout(self) -> Layout:
        """A command: its code and operands."""
        return Layout.of(
            Field("op", 6, "code of the program encoding; one that is none of the unit does nothing"),
            Field("opsize", self.registers.bit_length(), "slots of a command; 0: nothing is done"),
            Field("gpr", self.register_bits, "first slot; of EWADD first operand and destination"),
            Field("gpr1", self.register_bits, "EWADD: second operand; RED, EXP: destination"),
            Field("mask", self.channels, "channels; the highest bit is channel 0"),
            Field("overlap", 1, "it may begin while commands before it are under way"),
        )


#: CENT section 4.2: 32 units of each kind, here behind one memory with a read and a write port. The others differ in units
#: and banks, or in arithmetic.
PRESETS: dict[str, CentPnmConfig] = {
    "cent": CentPnmConfig(),
    "cent-1x1": CentPnmConfig(acc_units=1, red_units=1, exp_units=1),
    "cent-32x32": CentPnmConfig(banks=32),
    "cent-taylor": CentPnmConfig(
        acc_units=1, red_units=1, exp_units=1, reduction="tree", exponential="taylor", red_depth=12, exp_depth=20
    ),
}


class SlotWorkload(Workload):
    """Slots of the measured commands."""

    slots: int = Key(default=256, ge=1, le=1 << 19, description="slots of a measured command")

    def check(self, config: CentPnmConfig) -> None:
        if 2 * self.slots > config.registers:
            raise ConfigError(f"slots must be at most {config.registers // 2} for this configuration, not {self.slots}")


class PnmCommand(Strict):
    """A command at full rate."""

    cycles: int = Key(description="of the command alone: cycles of a run with it less cycles of a run without it")
    ideal_cycles: int = Key(description="that the ports of the registers take at least")
    utilisation: float = Key(description="`ideal_cycles` over `cycles`")
    cycles_32: int = Key(description="the same command on 32 slots, or on all if there are fewer")
    cycles_1: int = Key(description="the same command on one slot")
    stream_cycles: int = Key(description="of 32 such commands, none of which needs results of those just before it")
    stream_utilisation: float = Key(description="32 times `ideal_cycles` over `stream_cycles`")
    dependent_cycles: int = Key(description="of a further command that needs all results of the command before it")


class CentPnmResult(RateResult):
    """Measurements of the bench of ``cent-pnm``."""

    cycles: int = Key(description="of EXP")
    ideal_cycles: int = Key(description="of EXP")
    stall_cycles: int = Key(description="`cycles` less `ideal_cycles`")
    commands: dict[str, PnmCommand] = Key(description="each command, at full rate")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            *(
                (
                    name,
                    f"{one.cycles} cycles for {workload['slots']} slots, {one.cycles_32} for 32, {one.cycles_1} for one; "
                    f"utilisation {one.utilisation:.3f}, {one.stream_utilisation:.3f} in a stream; "
                    f"{one.dependent_cycles} cycles behind a command whose results it needs",
                )
                for name, one in self.commands.items()
            ),
        ]


UNIT = Unit(
    "cent-pnm",
    "accumulators, reduction trees and exponent units beside the registers of a CENT device",
    "CENT (ASPLOS 2025) section 4.2",
    module="cent_pnm",
    config=CentPnmConfig,
    presets=PRESETS,
    generator="bankside.gen.cent.pnm:CentPnm",
    model="bankside.models.cent.pnm:PnmModel",
    bench="bankside.cosim.cent.pnm:bench",
    page="docs/cent/pnm.md",
    workload=SlotWorkload,
    result=CentPnmResult,
    published=(),
    trial=Trial(
        {
            "channels": 2,
            "lanes": 2,
            "gpr_bytes": 128,
            "banks": 2,
            "bank_ports": 1,
            "acc_units": 2,
            "red_units": 1,
            "exp_units": 4,
        },
        {"slots": 9},
    ),
)
