"""Everything that can be named on the command line. Adding a unit is one folder in ``gen`` and one entry here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bankside.constraints.document import Strict
from bankside.constraints.errors import ConfigError, nearest

__all__ = ["UNITS", "Unit", "unit"]


@dataclass(frozen=True)
class Unit:
    """Where a unit's five parts are. They are named ``module:object`` and imported when they are needed, so that
    listing needs no Amaranth and generating needs no simulator.

    Attributes
    ----------
    name, summary, source : for people
    module : name of the Verilog module
    config : the validated configuration class
    presets : mapping of preset names to configurations; the first is the default
    component : the generator, called with a configuration
    model : the functional model
    bench : function ``(SimRequest) -> dict`` that simulates the unit and returns the result for users
    page : documentation page
    """

    name: str
    summary: str
    source: str
    module: str
    config: str
    presets: str
    component: str
    model: str
    bench: str
    page: str

    @cached_property
    def config_class(self) -> type[Strict]:
        return _named(self.config)

    @cached_property
    def preset_table(self) -> Mapping[str, Strict]:
        return _named(self.presets)

    def generator(self) -> Callable[[Strict], Any]:
        return _named(self.component)

    def run_bench(self) -> Callable[..., Any]:
        return _named(self.bench)

    def preset(self, name: str | None) -> tuple[str, Strict]:
        """A preset by name; the default one for None."""
        if name is None:
            name = next(iter(self.preset_table))
        if name not in self.preset_table:
            raise ConfigError(nearest(f"preset of {self.name}", name, self.preset_table))
        return name, self.preset_table[name]


def _named(path: str) -> Any:
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)


UNITS: dict[str, Unit] = {u.name: u for u in (
    Unit("pam-pu", "local-attention processing unit beside a memory bank", "PAM (MICRO 2025) section 5.2.1",
         module="pam_pu",
         config="bankside.constraints.units.pam_pu:PamPuConfig", presets="bankside.constraints.units.pam_pu:PRESETS",
         component="bankside.gen.pam:PamPu", model="bankside.models.pam.pu:local_attention",
         bench="bankside.cosim.pam_pu:bench", page="docs/pam-pu.md"),
)}


def unit(name: str) -> Unit:
    """A unit by name; :exc:`ConfigError` with the nearest name if there is none."""
    if name not in UNITS:
        raise ConfigError(nearest("unit", name, UNITS))
    return UNITS[name]
