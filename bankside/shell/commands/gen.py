"""``bankside gen``: write Verilog, constraints (SDC) and a JSON description of a unit."""

from __future__ import annotations

import argparse
import os
import re

from bankside.constraints.core.errors import ConfigError

from ..options import dry_run, json_argument, selected, selection_arguments, show

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    selection_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="folder for the files; by default out/gen/UNIT-PRESET, or the configuration hash if "
        "no preset has the configuration",
    )
    parser.add_argument("--name", metavar="MODULE", help="name of the Verilog module; the unit's by default")
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from bankside.constraints.core.workspace import write_files

    from ...hardware.generate import describe, generated_files
    from ...results.units import Gen

    selection = selected(arguments)
    if arguments.name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", arguments.name):
        raise ConfigError(f"--name must be a Verilog identifier, not '{arguments.name}'")
    if dry_run(arguments, selection):
        return 0
    folder = arguments.output or os.path.join("out", "gen", f"{selection.unit.name}-{selection.label}")
    write_files(folder, {})  # fails at once if it can't be written
    files = [str(path) for path in write_files(folder, generated_files(selection, arguments.name))]
    show(arguments, Gen(**dict(describe(selection, arguments.name)), files=files), lambda made: "\n".join(made.files))
    return 0
