"""Digests of the sources of a unit."""

from __future__ import annotations

from bankside.constraints.core.contract import Unit

from .sources import sources_digest

__all__ = ["config_of", "hardware_digest"]


def config_of(unit: Unit) -> str:
    """The configuration class of a unit as ``module:object``."""
    return f"{unit.config.__module__}:{unit.config.__qualname__}"


def hardware_digest(unit: Unit) -> str:
    """Digest of the sources that write the Verilog of a unit; together with a configuration it identifies the text.

    Raises
    ------
    :exc:`ConfigError`
        If a source can't be read.
    """
    return sources_digest([unit.generator, config_of(unit), "bankside.hardware.generate:_generate"])
