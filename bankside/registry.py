"""Every unit by name: those of this package and of every other package that is installed."""

from __future__ import annotations

from collections.abc import Mapping

from bankside.constraints.contract import Option, Unit
from bankside.constraints.discovery import discover
from bankside.constraints.errors import ConfigError, nearest

__all__ = ["UNITS", "Unit", "unit", "workload_options"]

#: Every unit by name.
UNITS: Mapping[str, Unit] = discover("bankside.units", Unit)


def workload_options(unit: Unit) -> Mapping[str, Option]:
    """Options of a unit's workload by name."""
    return unit.workload.options()


def unit(name: str) -> Unit:
    """A unit by name; :exc:`ConfigError` with the nearest name if there is none."""
    if name not in UNITS:
        raise ConfigError(nearest("unit", name, UNITS))
    return UNITS[name]
