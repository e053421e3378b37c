"""Parameters of a switch that joins a host and two to four devices of CENT.

Source: CENT (ASPLOS 2025) sections 4.2 and 6: unicast and multicast by device. The structure is this project's choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import Port, Trial, Unit, UnitConfig
from .cxl_link import CxlLinkConfig, link_ports
from .cxl_port import PRESETS as PORTS
from .cxl_port import UNIT as PORT
from .cxl_port import CentCxlPortConfig, FabricResult, VectorWorkload

__all__ = ["PRESETS", "UNIT", "CentCxlSwitchConfig"]


class CentCxlSwitchConfig(UnitConfig):
    """Parameters of the generator."""

    port: CentCxlPortConfig = Key(
        default=PORTS["cent"],
        description="the ports that the switch joins; the switch has the other end of each port's link",
    )
    joined: int = Key(default=4, ge=2, le=8, description="devices that the switch joins, beside the host")

    @model_validator(mode="after")
    def _check(self) -> CentCxlSwitchConfig:
        if self.joined > self.link.devices:
            raise ValueError(f"joined must be at most port.link.devices ({self.link.devices}), not {self.joined}")
        return self

    @property
    def link(self) -> CxlLinkConfig:
        return self.port.link

    @property
    def nodes(self) -> int:
        """Links of the switch: the host's, then the devices'."""
        return self.joined + 1

    @property
    def clock_mhz(self) -> float:
        return self.port.clock_mhz

    def ports(self) -> tuple[Port, ...]:
        return tuple(port for node in range(self.nodes) for port in link_ports(self.link, f"_{node}"))


PRESETS: dict[str, CentCxlSwitchConfig] = {"cent": CentCxlSwitchConfig()}

_TRIAL: Mapping[str, Any] = {**PORT.trial.within("port"), "joined": 2}

UNIT = Unit(
    "cent-cxl-switch",
    "switch between a host and devices: unicast, multicast, credits",
    "CENT (ASPLOS 2025) section 4.2",
    module="cent_cxl_switch",
    config=CentCxlSwitchConfig,
    presets=PRESETS,
    generator="bankside.gen.cent.cxl_switch:CentCxlSwitch",
    model="bankside.models.cent.cxl:FabricModel",
    bench="bankside.cosim.cent.cxl_port:switch_bench",
    page="docs/cent/cxl_port.md",
    workload=VectorWorkload,
    result=FabricResult,
    published=(),
    trial=Trial(_TRIAL, {"bytes": 256}),
)
