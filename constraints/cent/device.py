"""Parameters of a CENT device: decoder, AiM channels, shared buffer with PNM units, RISC-V cores and a CXL port.

Source: CENT (ASPLOS 2025) section 4 and Figure 6: a CXL device decodes instructions for its PIM channels and PNM units. The
paths between the parts are this project's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic import Field as Key
from pydantic import ValidationError, model_validator

from ..aim.channel import AimChannelConfig
from ..aim.module import AimModuleConfig
from ..core.contract import Field, Layout, NumericResult, Port, Row, Trial, Unit, Workload, memory_port
from ..core.document import Strict
from ..core.errors import ConfigError
from .cxl_link import SLOT_BYTES, CxlLinkConfig
from .cxl_port import CentCxlPortConfig, PortOp
from .decoder import CentDecoderConfig
from .pnm import CentPnmConfig
from .riscv import CentRiscvConfig

__all__ = [
    "PRESETS",
    "UNIT",
    "BlockStep",
    "CentDeviceConfig",
    "CentDeviceResult",
    "CentHubConfig",
    "LlamaBlock",
    "small",
    "wide",
]


class CentHubConfig(CentPnmConfig):
    """Shared buffer of a device: PNM units, the RISC-V cores as one more engine, and with ``network`` the CXL port as
    another."""

    cores: CentRiscvConfig = Key(default=CentRiscvConfig(), description="RISC-V cores")
    network: bool = Key(default=False, description="a CXL port")
    cxl: CentCxlPortConfig = Key(default=CentCxlPortConfig(), description="the CXL port of a device with `network`")

    @property
    def commands(self) -> tuple[str, ...]:
        return (*super().commands, "RISCV", *([op.name for op in PortOp] if self.network else []))

    @cached_property
    def command_layout(self) -> Layout:
        """A command: its code and operands."""
        row = self.cores.command_layout.widths["address"]
        if not self.network:
            return Layout.of(*super().command_layout.fields, Field("row", row, "RISCV: first instruction, in words"))
        return Layout.of(
            *super().command_layout.fields,
            Field(
                "row",
                max(row, self.cxl.command_layout.widths["device"]),
                "RISCV: first instruction, in words; SEND_CXL: device; BCAST_CXL: devices",
            ),
        )

    @cached_property
    def program_layout(self) -> Layout:
        """A word of a program for the cores."""
        widths = self.cores.command_layout.widths
        return Layout.of(
            Field("address", widths["address"], "word of the cores' memories"),
            Field("data", 32, "the word"),
            Field("cores", widths["cores"], "cores that load the word, bit n core n"),
        )

    @cached_property
    def cxl_ports(self) -> tuple[Port, ...]:
        """Ports of the CXL port towards the line and the memory. The shared buffer has the others."""
        if not self.network:
            return ()
        outside = ("memory", "memory_data", "rx", "tx", "identity")
        return tuple(
            dataclasses.replace(port, name=f"cxl_{port.name}") for port in self.cxl.ports() if port.name in outside
        )

    def ports(self) -> tuple[Port, ...]:
        return (
            *super().ports(),
            Port("program", "in", self.program_layout, "a word of the cores' programs"),
            *self.cxl_ports,
        )


class CentDeviceConfig(AimModuleConfig):
    """Parameters of the generator ``cent-device``. The number of channels is the hub's.

    All parts read the same commands, so a size must be the same in every part that has it.
    """

    channel: AimChannelConfig = Key(default=AimChannelConfig(registers=32, opsize_bits=16), description="each channel")
    hub: CentHubConfig = Key(
        default=CentHubConfig(), description="shared buffer, PNM units, cores; `channels` of the device"
    )
    decoder: CentDecoderConfig = Key(
        default=CentDecoderConfig(blocking="none"), description="instruction buffer and decoder"
    )

    @model_validator(mode="after")
    def _check_device(self) -> CentDeviceConfig:
        channel, hub, decoder, cores = self.channel, self.hub, self.decoder, self.hub.cores
        if decoder.blocking != "none" or decoder.micro_ops:
            raise ValueError(
                "decoder.blocking must be none and decoder.micro_ops false: the parts keep the order of "
                "commands, and take their opsize"
            )
        same = {
            "decoder.channels": (decoder.channels, "hub.channels", hub.channels),
            "decoder.banks": (decoder.banks, "channel.banks", channel.banks),
            "decoder.lanes": (decoder.lanes, "channel.lanes", channel.lanes),
            "decoder.columns": (decoder.columns, "the words of a global buffer", channel.columns),
            "decoder.registers": (decoder.registers, "channel.registers", channel.registers_per_set),
            "decoder.slots": (decoder.slots, "the registers of the hub", hub.registers),
            "decoder.program_words": (decoder.program_words, "the words of a core's memory", cores.memory_bytes // 4),
            "hub.cores.window_bytes": (cores.window_bytes, "hub.gpr_bytes", hub.gpr_bytes),
            "hub.cores.slot_elements": (cores.slot_elements, "hub.lanes", hub.lanes),
            "channel.opsize_bits": (channel.opsize_bits, "the decoder's", decoder.command_layout.widths["opsize"]),
        }
        for name, (value, other, needed) in same.items():
            if value != needed:
                raise ValueError(f"{name} must be {other}, {needed}, not {value}")
        if hub.format != "bf16":
            raise ValueError(f"hub.format must be bf16, the format of the cores, not {hub.format}")
        if hub.network:
            for name, (value, other, needed) in {
                "hub.cxl.slots": (hub.cxl.slots, "hub.registers", hub.registers),
                "hub.cxl.link.devices": (hub.cxl.link.devices, "decoder.devices", decoder.devices),
            }.items():
                if value != needed:
                    raise ValueError(f"{name} must be {other}, {needed}, not {value}")
            if hub.word_bits > 8 * SLOT_BYTES:
                raise ValueError(
                    f"a slot must have at most {8 * SLOT_BYTES} bits with a CXL port, not {hub.word_bits}: "
                    "hub.lanes must be smaller"
                )
        return self

    @cached_property
    def joined(self) -> CentDeviceConfig:
        """The same device with a CXL port."""
        values = self.model_dump()
        return CentDeviceConfig.model_validate({**values, "hub": {**values["hub"], "network": True}})

    @property
    def command_layout(self) -> Layout:
        return self.decoder.command_layout

    def front_ports(self) -> tuple[Port, ...]:
        return tuple(port for port in self.decoder.ports() if port.name not in ("command", "finished"))

    def hub_ports(self) -> tuple[Port, ...]:
        return tuple(port for port in super().hub_ports() if port.stream)

    def ports(self) -> tuple[Port, ...]:
        return (*super().ports(), *(port for port in self.hub.cxl_ports if not port.stream))


def small(channels: int, slots: int = 256) -> CentDeviceConfig:
    """A device of small channels: 4 banks, 4 lanes, rows of 8 words."""
    return CentDeviceConfig(
        channel=AimChannelConfig(
            banks=4, lanes=4, registers=8, buffer_bytes=64, max_beats=1024, table_entries=16, depth=4, opsize_bits=16
        ),
        hub=CentHubConfig(
            channels=channels,
            lanes=4,
            gpr_bytes=8 * slots,
            acc_units=1,
            red_units=1,
            exp_units=1,
            cores=CentRiscvConfig(cores=1, memory_bytes=1 << 13, window_bytes=8 * slots, slot_elements=4),
            cxl=CentCxlPortConfig(
                slots=slots,
                tags=8,
                link=CxlLinkConfig(devices=4, credits_req=4, credits_rwd=8, credits_drs=4, credits_ndr=16),
            ),
        ),
        decoder=CentDecoderConfig(
            buffer_bytes=4096,
            channels=channels,
            banks=4,
            rows=1024,
            columns=8,
            lanes=4,
            slots=slots,
            registers=8,
            functions=1,
            devices=4,
            program_words=1 << 11,
            blocking="none",
        ),
    )


def wide(channels: int) -> CentDeviceConfig:
    """A device of ``channels`` channels at CENT's width: 16 banks, 16 lanes, 32 registers; one unit of each kind."""
    return CentDeviceConfig(
        hub=CentHubConfig(channels=channels, acc_units=1, red_units=1, exp_units=1, cores=CentRiscvConfig(cores=1)),
        decoder=CentDecoderConfig(channels=channels, functions=1, devices=32, blocking="none"),
    )


#: `cent-small`: two channels of four banks and four lanes. A device of 32 channels at CENT's width has more input bits than
#: Amaranth allows in a module; `wide` gives fewer channels of this width.
PRESETS: dict[str, CentDeviceConfig] = {"cent-small": small(2)}


class LlamaBlock(Workload):
    """Decode steps of a block of a LLaMA model, token by token."""

    memory: str = memory_port("gddr6-aim")
    devices: int = Key(
        default=1, ge=1, le=4, description="devices that share the block, each with a CXL port if there are several"
    )
    hidden: int = Key(default=64, ge=4, le=1 << 14, description="elements of a token's vector")
    heads: int = Key(default=4, ge=1, le=256, description="query heads")
    kv_heads: int = Key(default=2, ge=1, le=256, description="heads of keys and values")
    head_dim: int = Key(default=16, ge=4, le=1024, description="elements of a head")
    ffn: int = Key(default=160, ge=4, le=1 << 16, description="inner elements of the feed-forward network")
    tokens: int = Key(default=2, ge=1, le=1 << 15, description="tokens that are decoded, one behind the other")
    past: int = Key(default=31, ge=0, le=1 << 15, description="tokens in the caches before")
    maximum: bool = Key(default=False, description="subtract the largest score before the exponential")
    score_range: float = Key(
        default=0.0, ge=0, le=60, strict=False, description="scale keys so that scores reach this size; 0: as they come"
    )

    def check(self, config: CentDeviceConfig) -> None:
        for name in ("heads", "kv_heads"):
            value = getattr(self, name)
            if value % self.devices:
                raise ConfigError(f"{name} must be a multiple of the {self.devices} devices, not {value}")
        if self.ffn % (self.devices * config.hub.lanes):
            raise ConfigError(
                f"ffn must be a multiple of {self.devices * config.hub.lanes}, {config.hub.lanes} lanes for "
                f"each of {self.devices} devices, not {self.ffn}"
            )
        if self.devices > config.decoder.devices:
            raise ConfigError(
                f"devices must be at most {config.decoder.devices} for this configuration, not {self.devices}"
            )
        if self.devices > 1:
            try:
                config.joined  # noqa: B018
            except ValidationError as error:
                raise ConfigError(
                    "several devices need CXL ports, but " + error.errors()[0]["msg"].removeprefix("Value error, ")
                ) from None


class BlockStep(Strict):
    """A token through the block."""

    tokens: int = Key(description="in the caches, this one included")
    instructions: int = Key(description="of the token")
    cycles: int = Key(description="at the memory's pace, from the first command to the last result")
    full_rate_cycles: int = Key(description="with a memory that is always ready")
    memory_cycles: int = Key(description="of the memory's commands alone, in clocks of the unit")
    relative_error: float = Key(description="of the result against binary64, in the 2-norm")


class CentDeviceResult(NumericResult):
    """Measurements of the bench of ``cent-device``: a LLaMA block, token by token."""

    instructions: int = Key(description="of the last token, on device 0")
    instruction_bytes: int = Key(description="of the last token, on device 0")
    cycles: int = Key(description="of the last token at the memory's pace")
    memory_cycles: int = Key(description="of the memory's commands of the last token alone, in clocks of the unit")
    flits: int = Key(description="that all devices send at the memory's pace; 0 without a CXL port")
    steps: list[BlockStep] = Key(description="each token")
    max_abs_error: float = Key(description="of all results against binary64")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        last = self.steps[-1]
        return [
            *super().figures(workload),
            (
                "block",
                f"{self.instructions} instructions ({self.instruction_bytes} bytes), {self.cycles} cycles at the "
                f"pace of the memory, {last.full_rate_cycles} with a memory that is always ready; "
                f"the memory alone takes {self.memory_cycles}",
            ),
            *(
                [("between devices", f"{workload['devices']} devices send {self.flits} flits")]
                if workload["devices"] > 1
                else []
            ),
            (
                "error of a token",
                ", ".join(f"{step.relative_error:.2%}" for step in self.steps) + " of the result's norm",
            ),
        ]


UNIT = Unit(
    "cent-device",
    "CENT's decoder, AiM channels, PNM units and RISC-V cores; its bench is a LLaMA block",
    "CENT (ASPLOS 2025) section 4",
    module="cent_device",
    config=CentDeviceConfig,
    presets=PRESETS,
    generator="bankside.gen.cent.device:CentDevice",
    model="bankside.models.cent.device:DeviceModel",
    bench="bankside.cosim.cent.device:bench",
    page="docs/cent/device.md",
    workload=LlamaBlock,
    result=CentDeviceResult,
    published=(),
    trial=Trial({}, {"hidden": 16, "heads": 2, "kv_heads": 1, "head_dim": 8, "ffn": 16, "tokens": 1, "past": 2}),
)
