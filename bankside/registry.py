"""Units that the command line accepts: the entry points of the group ``bankside.units``."""

from __future__ import annotations

from collections.abc import Mapping

from bankside.constraints.contract import Unit
from bankside.constraints.discovery import discover
from bankside.constraints.errors import ConfigError, nearest

__all__ = ["UNITS", "Unit", "unit"]

#: Every unit by name.
UNITS: Mapping[str, Unit] = discover("bankside.units", Unit)


def unit(name: str) -> Unit:
    """A unit by name; :exc:`ConfigError` with the nearest name if there is none."""
    if name not in UNITS:
        raise ConfigError(nearest("unit", name, UNITS))
    return UNITS[name]
