"""``bankside gen``: write Verilog, constraints (SDC) and a JSON description of a unit."""

from __future__ import annotations

import argparse

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
    from ...studies.generate import generate

    selection = selected(arguments)
    if not dry_run(arguments, selection):
        show(arguments, generate(selection, arguments.output, arguments.name), lambda made: "\n".join(made.files))
    return 0
