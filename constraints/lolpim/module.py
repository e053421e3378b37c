"""Parameters of a LoL-PIM module: a dispatcher, channels of AiM memories, and the hub between them.

Source: LoL-PIM section 2.2, Figure 5 and Table 5. A module of AiM chips has 16 channels and a hub with registers, extra
processing unit and instruction sequencer. The paths of commands to channels and hub are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field as Key
from pydantic import model_validator

from ..aim.channel import AimAttention, AimChannelConfig
from ..aim.hub import PRESETS as HUBS
from ..aim.hub import PimHubConfig
from ..aim.module import AimModuleConfig
from ..core.contract import Layout, NumericResult, Port, Row, Trial, Unit
from ..core.document import Strict
from .dispatcher import DpaDispatcherConfig

__all__ = ["PRESETS", "UNIT", "DecodeCase", "LolPimModuleConfig", "LolPimModuleResult"]


class LolPimModuleConfig(AimModuleConfig):
    """Parameters of the generator ``lol-pim-module``. The number of channels is the hub's.

    All three units read the same words, so an operand must have the same width in every unit that has it.
    """

    dispatcher: DpaDispatcherConfig = Key(default=DpaDispatcherConfig(register_bits=1), description="dispatcher")
    hub: PimHubConfig = Key(default=PimHubConfig(), description="registers, EPU; `channels` of the module")

    @model_validator(mode="after")
    def _check(self) -> LolPimModuleConfig:
        dispatcher, channel, hub = self.dispatcher, self.channel, self.hub
        if dispatcher.mask_bits < hub.channels:
            raise ValueError(
                f"dispatcher.mask_bits must be at least the hub's channels, {hub.channels}, not {dispatcher.mask_bits}"
            )
        own = dispatcher.encoding.operands
        of_channel, of_hub = channel.command_layout.widths, hub.command_layout.widths
        for name in ("column", "bank", "register"):
            if own[name] != of_channel[name]:
                raise ValueError(
                    f"dispatcher.{name}_bits must be {of_channel[name]}, as wide as the channel's {name}, not "
                    f"{own[name]}"
                )
        if own["gpr"] != of_hub["gpr"]:
            raise ValueError(
                f"dispatcher.gpr_bits must be {of_hub['gpr']}, for the hub's {hub.registers} registers, not "
                f"{own['gpr']}"
            )
        if not own["opsize"] == of_channel["opsize"] == of_hub["opsize"]:
            raise ValueError(
                f"dispatcher.opsize_bits and channel.opsize_bits must be {of_hub['opsize']}, for the hub's "
                f"{hub.max_elements} elements, not {own['opsize']} and {of_channel['opsize']}"
            )
        if own["gpr"] < max(of_channel["column"], of_channel["element"], of_channel["function"]):
            raise ValueError(
                f"dispatcher.gpr_bits must be at least {max(of_channel['column'], of_channel['element'], 3)}, "
                f"for a column of the global buffer, an element and a function, not {own['gpr']}"
            )
        return self

    @property
    def command_layout(self) -> Layout:
        return self.dispatcher.command_layout

    def front_ports(self) -> tuple[Port, ...]:
        return tuple(port for port in self.dispatcher.ports() if port.name != "command")


#: One channel of a module; in the partitioning of the baseline (section 4) a head has a channel to itself. 512 KB of
#: registers, buffers of 96 KB (Table 5). A module of 16 channels has more input bits than Amaranth allows in a module.
PRESETS: dict[str, LolPimModuleConfig] = {
    "lol-pim-channel": LolPimModuleConfig(
        channel=AimChannelConfig(buffering="single", opsize_bits=18),
        hub=HUBS["lol-pim"].model_copy(update={"channels": 1}),
    )
}


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
    ideal_cycles: int = Key(
        description="column accesses of its products, one a clock, including products of scores that are never read"
    )
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
            (
                "attention",
                f"{self.cycles} cycles at the memory's pace ({self.time_ns:.0f} ns; its commands alone take "
                f"{self.memory_time_ns:.0f} ns), {self.full_rate_cycles} with a memory that is always ready",
            ),
        ]


UNIT = Unit(
    "lol-pim-module",
    "dispatcher, channels of AiM memories and hub of a module; its bench is attention of a head",
    "LoL-PIM section 2.2",
    module="lol_pim_module",
    config=LolPimModuleConfig,
    presets=PRESETS,
    generator="bankside.gen.lolpim.module:LolPimModule",
    model="bankside.models.lolpim.module:LolPimModel",
    bench="bankside.cosim.lolpim.module:bench",
    page="docs/lolpim/module.md",
    workload=AimAttention,
    result=LolPimModuleResult,
    published=(),
    trial=Trial(
        {
            "dispatcher.command_bytes": 4096,
            "dispatcher.table_entries": 64,
            "dispatcher.slots": 3,
            "dispatcher.row_bits": 6,
            "dispatcher.entry_bits": 8,
            "dispatcher.mask_bits": 1,
            "dispatcher.column_bits": 3,
            "dispatcher.bank_bits": 2,
            "dispatcher.gpr_bits": 7,
            "dispatcher.opsize_bits": 9,
            "channel.banks": 4,
            "channel.lanes": 4,
            "channel.buffer_bytes": 64,
            "channel.max_beats": 1024,
            "channel.table_entries": 16,
            "channel.opsize_bits": 9,
            "channel.acc_format": "bf16",
            "channel.depth": 4,
            "hub.channels": 1,
            "hub.lanes": 4,
            "hub.gpr_bytes": 1024,
            "hub.max_elements": 256,
        },
        {"tokens": 10, "head_dim": 8},
    ),
)
