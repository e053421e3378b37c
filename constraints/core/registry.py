"""Units that the command line accepts: the entry points of the group ``bankside.units``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bankside.constraints.core.contract import SimResult, Unit
from bankside.constraints.core.discovery import discover
from bankside.constraints.core.errors import ConfigError, nearest

__all__ = ["UNITS", "Unit", "simulation_result", "unit"]

#: Every unit by name.
UNITS: Mapping[str, Unit] = discover("bankside.units", Unit)


def unit(name: str) -> Unit:
    """A unit by name; :exc:`ConfigError` with the nearest name if there is none."""
    if name not in UNITS:
        raise ConfigError(nearest("unit", name, UNITS))
    return UNITS[name]


def simulation_result(r: Mapping[str, Any]) -> SimResult:
    """The typed result of a unit's bench from the output of ``bankside sim --json``."""
    kind = unit(r["unit"]).result
    return kind.model_validate({key: r[key] for key in kind.model_fields if key in r})
