"""Everything that can be named on the command line. Adding a unit is one folder in ``gen`` and one entry here."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bankside.constraints.contract import Option, Unit
from bankside.constraints.discovery import discover
from bankside.constraints.document import Strict
from bankside.constraints.errors import ConfigError, nearest

__all__ = ["UNITS", "Unit", "unit"]


@dataclass(frozen=True)
class _Listed:
    """A unit that has no contract yet."""

    name: str
    summary: str
    source: str
    module: str
    config_path: str
    presets_path: str
    generator: str
    model: str
    bench: str
    page: str
    workload: Mapping[str, Any] = field(hash=False)
    published: tuple[str, ...] | None = None
    result = None

    published_presets = Unit.published_presets
    load_generator, load_model, load_bench, preset = (
        Unit.load_generator, Unit.load_model, Unit.load_bench, Unit.preset)

    @cached_property
    def config(self) -> type[Strict]:
        return _named(self.config_path)

    @cached_property
    def presets(self) -> Mapping[str, Strict]:
        return _named(self.presets_path)


def _named(path: str) -> Any:
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)


_LISTED: dict[str, Any] = {u.name: u for u in (
    _Listed("dpa-dispatcher", "dispatcher of programs for memory commands: loops by tokens, virtual rows",
         "LoL-PIM section 5.3 (DPA)", module="dpa_dispatcher",
         config_path="bankside.constraints.units.dpa_dispatcher:DpaDispatcherConfig",
         presets_path="bankside.constraints.units.dpa_dispatcher:PRESETS",
         generator="bankside.gen.lolpim:DpaDispatcher", model="bankside.models.lolpim:dispatch",
         bench="bankside.cosim.dpa_dispatcher:bench", page="docs/dpa-dispatcher.md", workload={"tokens": 32_768}),
    _Listed("aim-channel", "near-bank processing units of an AiM channel, global buffers, ping-pong sets",
         "CENT (ASPLOS 2025) section 4.1, LoL-PIM section 6", module="aim_channel",
         config_path="bankside.constraints.units.aim_channel:AimChannelConfig",
         presets_path="bankside.constraints.units.aim_channel:PRESETS", generator="bankside.gen.aim:AimChannel",
         model="bankside.models.aim.channel:ChannelModel", bench="bankside.cosim.aim_channel:bench",
         page="docs/aim-channel.md", workload={"memory": "gddr6-aim", "tokens": 512, "head_dim": 128}, published=("aim",)),
    _Listed("pim-hub", "registers, multicast and extra processing unit of a module of AiM memories", "LoL-PIM section 2.2",
         module="pim_hub", config_path="bankside.constraints.units.pim_hub:PimHubConfig",
         presets_path="bankside.constraints.units.pim_hub:PRESETS", generator="bankside.gen.aim:PimHub",
         model="bankside.models.aim.hub:HubModel", bench="bankside.cosim.pim_hub:bench", page="docs/pim-hub.md",
         workload={"tokens": 512}, published=()),
    _Listed("lol-pim-module", "dispatcher, channels of AiM memories and hub of a module; its bench is attention of a head",
         "LoL-PIM section 2.2", module="lol_pim_module",
         config_path="bankside.constraints.units.lol_pim_module:LolPimModuleConfig",
         presets_path="bankside.constraints.units.lol_pim_module:PRESETS", generator="bankside.gen.lolpim:LolPimModule",
         model="bankside.models.lolpim.device:ModuleModel", bench="bankside.cosim.lol_pim_module:bench",
         page="docs/lol-pim-module.md", workload={"memory": "gddr6-aim", "tokens": 512, "head_dim": 128}, published=()),
)}


#: Every unit by name.
UNITS: dict[str, Any] = {**discover("bankside.units", Unit), **_LISTED}


def workload_options(unit: Any) -> Mapping[str, Any]:
    """Options of a unit's workload by name."""
    if isinstance(unit.workload, Mapping):
        return {name: Option(name, type(value), value, 0, None, "") for name, value in unit.workload.items()}
    return unit.workload.options()


def unit(name: str) -> Unit:
    """A unit by name; :exc:`ConfigError` with the nearest name if there is none."""
    if name not in UNITS:
        raise ConfigError(nearest("unit", name, UNITS))
    return UNITS[name]
