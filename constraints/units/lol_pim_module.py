"""Parameters of a LoL-PIM module: a dispatcher, channels of AiM memories, and the hub between them.

Source: LoL-PIM section 2.2, Figure 5 and Table 5. A module of AiM chips has 16 channels and a hub with registers, extra
processing unit and instruction sequencer. The paths of commands to channels and hub are this project's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic import Field as Key
from pydantic import model_validator

from ..contract import Field, Layout, NumericResult, Port, Row, Trial, Unit, UnitConfig
from ..document import Strict
from .aim_channel import CODES as CHANNEL_CODES
from .aim_channel import AimAttention, AimChannelConfig
from .dpa_dispatcher import DpaDispatcherConfig
from .pim_hub import CODES as HUB_COMMANDS
from .pim_hub import PimHubConfig

__all__ = ["CHANNEL_CODES", "HUB_COMMANDS", "PLAIN", "PRESETS", "UNIT", "DecodeCase", "LolPimModuleConfig",
           "LolPimModuleResult"]

#: Plain accesses of the host: for the memory of one channel alone.
PLAIN = ("W_MEM", "R_MEM")


class LolPimModuleConfig(UnitConfig):
    """Parameters of the generator ``lol-pim-module``. The number of channels is the hub's.

    All three units read the same words, so an operand must have the same width in every unit that has it.
    """

    dispatcher: DpaDispatcherConfig = Key(default=DpaDispatcherConfig(register_bits=1), description="dispatcher")
    channel: AimChannelConfig = Key(default=AimChannelConfig(buffering="ping-pong", opsize_bits=18),
                                      description="each channel")
    hub: PimHubConfig = Key(default=PimHubConfig(), description="registers, EPU; `channels` of the module")
    queue: int = Key(default=8, ge=1, le=64, description="commands that wait for the hub")
    clock_mhz: float = Key(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> LolPimModuleConfig:
        dispatcher, channel, hub = self.dispatcher, self.channel, self.hub
        if not channel.banks == channel.lanes == hub.lanes:
            raise ValueError(f"channel.banks, channel.lanes and hub.lanes must be equal, so that a result of a channel is "
                             f"a register of the hub, not {channel.banks}, {channel.lanes} and {hub.lanes}")
        if channel.format != hub.format:
            raise ValueError(f"channel.format must be the hub's, {hub.format}, not {channel.format}")
        if dispatcher.mask_bits < hub.channels:
            raise ValueError(f"dispatcher.mask_bits must be at least the hub's channels, {hub.channels}, not "
                             f"{dispatcher.mask_bits}")
        own = dispatcher.encoding.operands
        of_channel, of_hub = channel.command_layout.widths, hub.command_layout.widths
        for name in ("column", "bank", "register"):
            if own[name] != of_channel[name]:
                raise ValueError(f"dispatcher.{name}_bits must be {of_channel[name]}, as wide as the channel's {name}, not "
                                 f"{own[name]}")
        if own["gpr"] != of_hub["gpr"]:
            raise ValueError(f"dispatcher.gpr_bits must be {of_hub['gpr']}, for the hub's {hub.registers} registers, not "
                             f"{own['gpr']}")
        if not own["opsize"] == of_channel["opsize"] == of_hub["opsize"]:
            raise ValueError(f"dispatcher.opsize_bits and channel.opsize_bits must be {of_hub['opsize']}, for the hub's "
                             f"{hub.max_elements} elements, not {own['opsize']} and {of_channel['opsize']}")
        if own["gpr"] < max(of_channel["column"], of_channel["element"], of_channel["function"]):
            raise ValueError(f"dispatcher.gpr_bits must be at least {max(of_channel['column'], of_channel['element'], 3)}, "
                             f"for a column of the global buffer, an element and a function, not {own['gpr']}")
        return self

    @property
    def channels(self) -> int:
        return self.hub.channels

    @property
    def word_bits(self) -> int:
        """Bits of a register of the hub, and of a column access of a bank."""
        return self.hub.word_bits

    # Ports ------------------------------------------------------------------------------------------------------------

    @cached_property
    def memory_layout(self) -> Layout:
        """Fields of a command that the memory of a channel receives."""
        widths = self.dispatcher.command_layout.widths
        meanings = {"op": "operation code",
                    "opsize": "column accesses, words of WR_GB; 1 where a command has no opsize",
                    "row": "physical row", "column": "first column of the row", "bank": "bank"}
        return Layout.of(*(Field(name, widths[name], meaning) for name, meaning in meanings.items()))

    @property
    def issued_layout(self) -> Layout:
        """A command as it leaves the dispatcher."""
        return Layout.of(Field("valid", 1, "a command leaves the dispatcher in this clock"),
                         *self.dispatcher.command_layout.fields)

    def ports(self) -> tuple[Port, ...]:
        dispatcher = {port.name: port for port in self.dispatcher.ports()}
        channel = {port.name: port for port in self.channel.ports()}
        word, channels = self.hub.word_layout, range(self.channels)
        return (
            dispatcher["host"], dispatcher["done"], dispatcher["status"],
            Port("host_in", "in", word, "WR_GPR: a register of the hub"),
            Port("host_out", "out", word, "RD_GPR: a register of the hub"),
            Port("issued", "out", self.issued_layout,
                 "bit 0: a command leaves the dispatcher in this clock; above: the command", stream=False),
            *(Port(f"memory_{n}", "out", self.memory_layout,
                   f"a command for the memory of channel {n}, which issues it when it takes it") for n in channels),
            *(dataclasses.replace(channel["bank"], name=f"bank_{n}") for n in channels),
            *(dataclasses.replace(channel["write"], name=f"write_{n}") for n in channels),
        )


#: One channel of a module; in the partitioning of the baseline (section 4) a head has a channel to itself. 512 KB of
#: registers, buffers of 96 KB (Table 5). A module of 16 channels has more input bits than Amaranth allows in a module.
PRESETS: dict[str, LolPimModuleConfig] = {
    "lol-pim-channel": LolPimModuleConfig(channel=AimChannelConfig(buffering="single", opsize_bits=18),
                                          hub=PimHubConfig(channels=1))}


class DecodeCase(Strict):
    """Attention of a decode step of a request."""

    tokens: int = Key(description="of the request, the new one included")
    slot: int = Key(description="slot of the request")
    data: str = Key(description="kind of data")
    cycles: int = Key(description="at the memory's pace")
    full_rate_cycles: int = Key(description="with a memory that is always ready")
    max_abs_error: float = Key(description="against attention in binary64 on the same bits")


class LolPimModuleResult(NumericResult):
    """Measurements of the bench of ``lol-pim-module``: attention of one head from programs to results."""

    commands: int = Key(description="of the measured attention")
    cycles: int = Key(description="at the memory's pace, from its first command to its last result")
    ideal_cycles: int = Key(description="column accesses of its products, one a clock, including products of scores "
                                         "that are never read")
    stall_cycles: int = Key(description="`cycles` less `ideal_cycles`")
    utilisation: float = Key(description="`ideal_cycles` over `cycles`")
    time_ns: float = Key(description="`cycles` in ns")
    memory_time_ns: float = Key(description="of the memory's commands alone, from closed rows")
    full_rate_cycles: int = Key(description="with a memory that is always ready")
    max_abs_error: float = Key(description="against attention in binary64 on the same bits")
    cases: list[DecodeCase] = Key(description="decode steps that were simulated")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            ("attention", f"{self.cycles} cycles at the memory's pace ({self.time_ns:.0f} ns; its commands alone take "
                          f"{self.memory_time_ns:.0f} ns), {self.full_rate_cycles} with a memory that is always ready"),
        ]


UNIT = Unit("lol-pim-module", "dispatcher, channels of AiM memories and hub of a module; its bench is attention of a head",
            "LoL-PIM section 2.2", module="lol_pim_module", config=LolPimModuleConfig, presets=PRESETS,
            generator="bankside.gen.lolpim.module:LolPimModule", model="bankside.models.lolpim.device:ModuleModel",
            bench="bankside.cosim.lol_pim_module:bench", page="docs/lol-pim-module.md", workload=AimAttention,
            result=LolPimModuleResult, published=(),
            trial=Trial({"dispatcher.command_bytes": 4096, "dispatcher.table_entries": 64, "dispatcher.slots": 3,
                         "dispatcher.row_bits": 6, "dispatcher.entry_bits": 8, "dispatcher.mask_bits": 1,
                         "dispatcher.column_bits": 3, "dispatcher.bank_bits": 2, "dispatcher.gpr_bits": 7,
                         "dispatcher.opsize_bits": 9, "channel.banks": 4, "channel.lanes": 4, "channel.buffer_bytes": 64,
                         "channel.max_beats": 1024, "channel.table_entries": 16, "channel.opsize_bits": 9,
                         "channel.acc_format": "bf16", "channel.depth": 4, "hub.channels": 1, "hub.lanes": 4,
                         "hub.gpr_bytes": 1024, "hub.max_elements": 256}, {"tokens": 10, "head_dim": 8}))
