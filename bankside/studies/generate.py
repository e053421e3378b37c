"""``bankside gen``: a unit's Verilog, constraints and description as files."""

from __future__ import annotations

import os
import re

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.workspace import write_files

from ..hardware.generate import describe, generated_files
from ..hardware.selection import Selection
from ..results.units import Gen

__all__ = ["generate"]


def generate(selection: Selection, output: str | None = None, name: str | None = None) -> Gen:
    """Write the files of a configuration to the folder ``output``; ``name`` replaces the name of its module.

    Raises
    ------
    :exc:`ConfigError`
        If ``name`` is no identifier of Verilog, or a file can't be written.
    """
    if name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", name):
        raise ConfigError(f"--name must be a Verilog identifier, not '{name}'")
    folder = output or os.path.join("out", "gen", f"{selection.unit.name}-{selection.label}")
    write_files(folder, {})  # fails at once if it can't be written
    files = [str(path) for path in write_files(folder, generated_files(selection, name))]
    return Gen(**dict(describe(selection, name)), files=files)
