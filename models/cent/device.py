"""Functional model of a CENT device: the effect of its instructions on slots, cores, channels and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.errors import ConfigError
from ...constraints.units.cent_device import CentDeviceConfig, CentHubConfig
from ..aim.hub import HubCommand, HubModel
from ..aim.module import ModuleModel
from .pnm import PnmModel
from .riscv import ClusterModel

__all__ = ["Cores", "DeviceHub", "DeviceModel"]


class Cores:
    """The engine of RISCV: programs of the cores, which read and write elements of slots."""

    claims = ("RISCV",)

    def __init__(self, hub: HubModel) -> None:
        self.hub = hub
        config = hub.config
        assert isinstance(config, CentHubConfig)
        self.cluster = ClusterModel(config.cores)

    def execute(self, command: HubCommand, words: np.ndarray | None) -> None:
        hub, lanes = self.hub, self.hub.config.lanes
        buffer = hub.registers.astype(np.uint16).reshape(-1)
        known = np.repeat(hub.known, lanes)
        done = self.cluster.start(command.row, command.gpr1, command.gpr, command.opsize, buffer)
        if done.trapped or done.strayed:
            raise ConfigError(f"RISCV: the program at word {command.row} ended with an exception, or left the shared "
                              "buffer")
        for run in done.cores:
            for element, _, write in run.accesses:
                if not write and not known[element]:
                    raise ConfigError(f"RISCV: the program at word {command.row} reads slot {element // lanes}, which was "
                                      "never written")
                known[element] = True
        hub.registers[:] = buffer.reshape(-1, lanes)
        hub.known[:] = known.reshape(-1, lanes).all(axis=1)


class DeviceHub(PnmModel):
    """State of a device's shared buffer and cores, and the effect of commands on them."""

    ENGINES: tuple[Any, ...] = (*PnmModel.ENGINES, Cores)


@dataclass
class DeviceModel(ModuleModel):
    """State of a device, and the effect of instructions on it. Instructions take effect in order.

    Attributes
    ----------
    issued : fields of each issued command, in the order of ``config.command_layout``
    """

    config: CentDeviceConfig
    issued: list[tuple[int, ...]] = field(default_factory=list)

    def make_hub(self) -> HubModel:
        return DeviceHub(self.config.hub)

    @property
    def cores(self) -> ClusterModel:
        engine = self.hub.engines["RISCV"]
        assert isinstance(engine, Cores)
        return engine.cluster

    def load(self, words: Sequence[int], address: int = 0) -> None:
        """Put words of a program into the memories of all cores."""
        self.cores.load(words, address)

    def run(self, commands: np.ndarray) -> None:
        """Execute issued commands: an array with the fields of ``config.command_layout`` in each row.

        Raises
        ------
        :exc:`ConfigError`
            If a command uses something that was never written, or a row does not exist.
        """
        names = list(self.config.command_layout.widths)
        for values in commands:
            self.issued.append(tuple(values.tolist()))
            self.execute(dict(zip(names, self.issued[-1], strict=True)))
