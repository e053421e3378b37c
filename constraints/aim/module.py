"""Parameters of a module of AiM channels and a hub behind a front end, which gives the commands.

Source: LoL-PIM section 2.2 and Figure 5, CENT (ASPLOS 2025) section 4. The paths of commands to channels and hub are this
project's.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property

from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import Field, Layout, Port, UnitConfig
from .channel import CODES as CHANNEL_CODES
from .channel import AimChannelConfig
from .hub import HubConfig, PimHubConfig

__all__ = ["CHANNEL_CODES", "PLAIN", "AimModuleConfig"]

#: Plain accesses of the host: for the memory of one channel alone.
PLAIN = ("W_MEM", "R_MEM")


class AimModuleConfig(UnitConfig):
    """Parameters of a module. The number of channels is the hub's. A subclass has the front end.

    All units read the same words, so an operand must have the same width in every unit that has it.
    """

    channel: AimChannelConfig = Key(
        default=AimChannelConfig(buffering="ping-pong", opsize_bits=18), description="each channel"
    )
    hub: HubConfig = Key(default=PimHubConfig(), description="registers, EPU; `channels` of the module")
    queue: int = Key(default=8, ge=1, le=64, description="commands that wait for the hub")
    clock_mhz: float = Key(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check_module(self) -> AimModuleConfig:
        channel, hub = self.channel, self.hub
        if not channel.banks == channel.lanes == hub.lanes:
            raise ValueError(
                f"channel.banks, channel.lanes and hub.lanes must be equal, so that a result of a channel is "
                f"a register of the hub, not {channel.banks}, {channel.lanes} and {hub.lanes}"
            )
        if channel.format != hub.format:
            raise ValueError(f"channel.format must be the hub's, {hub.format}, not {channel.format}")
        return self

    @property
    def command_layout(self) -> Layout:
        """A command of the front end: ``op`` and the operands of a program's words."""
        raise NotImplementedError

    def front_ports(self) -> tuple[Port, ...]:
        """Ports of the front end that are ports of the module."""
        raise NotImplementedError

    def hub_ports(self) -> tuple[Port, ...]:
        """Streams that only this kind of hub has; they are streams of the module."""
        known = ("command", "host_in", "host_out")
        return tuple(
            port
            for port in self.hub.ports()
            if port.name not in known and not port.name.startswith(("result_", "data_"))
        )

    @property
    def channels(self) -> int:
        return self.hub.channels

    @property
    def mask_bits(self) -> int:
        """Bits of a channel mask of the front end; its highest bit is channel 0."""
        return self.command_layout.widths["mask"]

    @property
    def word_bits(self) -> int:
        """Bits of a register of the hub, and of a column access of a bank."""
        return self.hub.word_bits

    # Ports ------------------------------------------------------------------------------------------------------------

    @cached_property
    def memory_layout(self) -> Layout:
        """Fields of a command that the memory of a channel receives."""
        widths = self.command_layout.widths
        meanings = {
            "op": "operation code",
            "opsize": "column accesses, words of WR_GB; 1 where a command has no opsize",
            "row": "physical row",
            "column": "first column of the row",
            "bank": "bank",
        }
        return Layout.of(*(Field(name, widths[name], meaning) for name, meaning in meanings.items()))

    @property
    def issued_layout(self) -> Layout:
        """A command as it leaves the front end."""
        return Layout.of(
            Field("valid", 1, "a command leaves the dispatcher in this clock"), *self.command_layout.fields
        )

    def ports(self) -> tuple[Port, ...]:
        channel = {port.name: port for port in self.channel.ports()}
        word, channels = self.hub.word_layout, range(self.channels)
        return (
            *self.front_ports(),
            Port("host_in", "in", word, "WR_GPR: a register of the hub"),
            Port("host_out", "out", word, "RD_GPR: a register of the hub"),
            *self.hub_ports(),
            Port(
                "issued",
                "out",
                self.issued_layout,
                "bit 0: a command leaves the dispatcher in this clock; above: the command",
                stream=False,
            ),
            *(
                Port(
                    f"memory_{n}",
                    "out",
                    self.memory_layout,
                    f"a command for the memory of channel {n}, which issues it when it takes it",
                )
                for n in channels
            ),
            *(dataclasses.replace(channel["bank"], name=f"bank_{n}") for n in channels),
            *(dataclasses.replace(channel["write"], name=f"write_{n}") for n in channels),
        )
