"""Functional model of CENT devices: the effect of their instructions on slots, cores, channels, rows and other devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...constraints.cent.cxl_link import SLOT_BYTES
from ...constraints.cent.cxl_port import PortOp
from ...constraints.cent.device import CentDeviceConfig, CentHubConfig
from ...constraints.core.errors import ConfigError
from ..aim.hub import HubCommand, HubModel
from ..aim.module import ModuleModel
from .cxl import Command, Episode, FabricModel
from .pnm import PnmModel
from .riscv import ClusterModel

__all__ = ["Cores", "DeviceHub", "DeviceModel", "DevicesModel", "Network"]


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
            raise ConfigError(
                f"RISCV: the program at word {command.row} ended with an exception, or left the shared buffer"
            )
        for run in done.cores:
            for element, _, write in run.accesses:
                if not write and not known[element]:
                    raise ConfigError(
                        f"RISCV: the program at word {command.row} reads slot {element // lanes}, which was "
                        "never written"
                    )
                known[element] = True
        hub.registers[:] = buffer.reshape(-1, lanes)
        hub.known[:] = known.reshape(-1, lanes).all(axis=1)


class Network:
    """The engine of SEND_CXL, RECV_CXL and BCAST_CXL. The devices that are joined give it ``send``."""

    claims = tuple(op.name for op in PortOp)

    def __init__(self, hub: HubModel) -> None:
        self.send: Callable[[Command], None] | None = None

    def execute(self, command: HubCommand, words: np.ndarray | None) -> None:
        if self.send is None:
            raise ConfigError(f"{command.op}: the device is joined with no other one")
        self.send(Command(PortOp[command.op], command.opsize, command.gpr, command.gpr1, command.row))


class DeviceHub(PnmModel):
    """State of a device's shared buffer and cores, and the effect of commands on them."""

    ENGINES: tuple[Any, ...] = (*PnmModel.ENGINES, Cores, Network)


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


class DevicesModel(FabricModel):
    """Devices with CXL ports, joined by a switch with each other and with a host. The slots are in the models of the
    devices.

    Attributes
    ----------
    models : :class:`DeviceModel` of each device
    """

    def __init__(self, models: Sequence[DeviceModel]) -> None:
        config = models[0].config
        super().__init__(config.hub.cxl, len(models))
        self.models, self._width = list(models), config.hub.lanes * 2
        self._done = self.episode()
        for number, model in enumerate(models):
            engine = model.hub.engines["SEND_CXL"]
            assert isinstance(engine, Network)
            engine.send = partial(self._send, number)

    def _send(self, number: int, command: Command) -> None:
        self.execute(self._done, number, command)

    def slots(self, device: int, places: np.ndarray) -> np.ndarray:
        hub = self.models[device].hub
        missing = places[~hub.known[places]]
        if len(missing):
            raise ConfigError(f"slot {missing[0]} of device {device} is sent, but was never written")
        out = np.zeros((len(places), SLOT_BYTES), np.uint8)
        out[:, : self._width] = hub.registers[places].astype("<u2").view(np.uint8).reshape(len(places), -1)
        return out

    def store(self, device: int, places: np.ndarray, words: np.ndarray) -> None:
        hub = self.models[device].hub
        hub.registers[places] = np.ascontiguousarray(words[:, : self._width]).view("<u2").astype(np.int64)
        hub.known[places] = True

    def run_programs(self, programs: Sequence[np.ndarray]) -> Episode:
        """Execute issued commands of each device: arrays as of :meth:`DeviceModel.run`. A device that waits for a transfer
        goes on when it has come. Returns what passed between the devices.

        Raises
        ------
        :exc:`ConfigError`
            As :meth:`DeviceModel.run`. Also if a device waits for a transfer that nobody sends, or a message goes to a
            device that is not there.
        """
        self._done = done = self.episode()
        at, moved = [0] * len(programs), True
        waits = [np.append(np.flatnonzero(program[:, 0] == PortOp.RECV_CXL), len(program)) for program in programs]
        while moved:
            moved = False
            for number, program in enumerate(programs):
                while at[number] < len(program):
                    first = at[number]
                    stop = int(waits[number][np.searchsorted(waits[number], first)])
                    if stop == first:
                        if not self.transfers[number]:
                            break
                        stop += 1
                    self.models[number].run(program[first:stop])
                    at[number], moved = stop, True
        for number, program in enumerate(programs):
            if at[number] < len(program):
                raise ConfigError(f"instruction {at[number]} of device {number} waits for a transfer that nobody sends")
        return done
