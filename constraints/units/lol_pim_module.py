"""Parameters of a LoL-PIM module: a dispatcher, channels of AiM memories, and the hub between them.

Source: LoL-PIM section 2.2, Figure 5 and Table 5: the hub of a module of AiM chips with registers, extra processing unit
and instruction sequencer, 16 channels. How commands reach channels and hub is this project's.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ..document import Strict
from ..program_encoding import Fields
from .aim_channel import CODES as CHANNEL_CODES
from .aim_channel import AimChannelConfig
from .dpa_dispatcher import DpaDispatcherConfig
from .pim_hub import CODES as HUB_COMMANDS
from .pim_hub import PimHubConfig

__all__ = ["CHANNEL_CODES", "HUB_COMMANDS", "PLAIN", "PRESETS", "LolPimModuleConfig"]

#: Plain accesses of the host: for the memory of one channel alone.
PLAIN = ("W_MEM", "R_MEM")


class LolPimModuleConfig(Strict):
    """Parameters of the generator ``lol-pim-module``. The number of channels is the hub's.

    All three units read the same words, so operands must be as wide in each that has them.
    """

    dispatcher: DpaDispatcherConfig = Field(default=DpaDispatcherConfig(register_bits=1), description="dispatcher")
    channel: AimChannelConfig = Field(default=AimChannelConfig(buffering="ping-pong", opsize_bits=18),
                                      description="each channel")
    hub: PimHubConfig = Field(default=PimHubConfig(), description="registers, EPU; `channels` of the module")
    queue: int = Field(default=8, ge=1, le=64, description="commands that wait for the hub")
    clock_mhz: float = Field(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

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
        own, of_channel, of_hub = dispatcher.encoding.operands, channel.field_bits(), hub.field_bits()
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

    @property
    def memory_fields(self) -> Fields:
        """What the memory of a channel is told of a command, the lowest field first."""
        fields = self.dispatcher.command_fields
        return {name: fields[name] for name in ("op", "opsize", "row", "column", "bank")}

    @property
    def issued_fields(self) -> Fields:
        """What is seen of the dispatcher's commands."""
        return {"valid": 1, **self.dispatcher.command_fields}


def _preset(channels: int, buffering: Literal["single", "ping-pong"]) -> LolPimModuleConfig:
    return LolPimModuleConfig(channel=AimChannelConfig(buffering=buffering, opsize_bits=18),
                              hub=PimHubConfig(channels=channels))


PRESETS: dict[str, LolPimModuleConfig] = {
    # A channel of a module, which a head has to itself in the partitioning of the baseline (section 4).
    "lol-pim-channel": _preset(1, "single"),
    # Table 5: 16 channels, 512 KB of registers, buffers of 96 KB.
    "lol-pim": _preset(16, "ping-pong"),
}
