"""``bankside synth``: area, cells and critical path of a unit."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bankside.constraints.core.errors import ConfigError, nearest

from ..options import dry_run, emit, json_argument, records_argument, selected, selection_arguments, show

if TYPE_CHECKING:
    from ...results.units import Synth, SynthFpga

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    selection_arguments(parser, several=True)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--library", metavar="NAME", default="generic", help="cell library (see bankside list)")
    which.add_argument("--liberty", metavar="FILE", help="any Liberty file in place of a named library")
    which.add_argument(
        "--fpga", metavar="FAMILY", help="family of FPGAs in place of a cell library: xcup (UltraScale+)"
    )
    parser.add_argument(
        "--effort",
        choices=("area", "balanced", "speed"),
        help="aim of technology mapping to a cell library; balanced by default",
    )
    records_argument(parser)
    json_argument(parser, page=True)


def _synthesised(arguments: argparse.Namespace, selection: Any, tell: Callable[[str], None]) -> Synth | SynthFpga:
    """The result of a selected configuration in the library, or in the family of FPGAs, that the command line names."""
    from ...evidence.measure import synthesise, synthesise_fpga

    if arguments.fpga is not None:
        return synthesise_fpga(selection, fpga=arguments.fpga, records=arguments.records, progress=tell)
    return synthesise(
        selection,
        library=arguments.library,
        liberty=arguments.liberty,
        effort=arguments.effort or "balanced",
        records=arguments.records,
        progress=tell,
    )


def run(arguments: argparse.Namespace) -> int:
    from ...results.terminal import steps
    from ...results.text import synthesis_text

    if arguments.fpga is not None and arguments.effort is not None:
        raise ConfigError("--effort is for a cell library; --fpga takes none")

    if "*" in arguments.unit:
        return _synth_all(arguments)
    selection = selected(arguments)
    if dry_run(arguments, selection):
        return 0
    with steps() as tell:
        result = _synthesised(arguments, selection, tell)
    show(arguments, result, synthesis_text)
    return 0


def _synth_all(arguments: argparse.Namespace) -> int:
    """Every preset (or the named one) of all units whose names match: a row each."""
    import fnmatch

    from bankside.constraints.core.registry import UNITS

    from ...hardware.selection import select
    from ...results.terminal import steps
    from ...results.text import synthesis_table
    from ...results.units import DryRuns, SynthAll

    units = [UNITS[name] for name in fnmatch.filter(UNITS, arguments.unit)]
    if not units:
        raise ConfigError(nearest("unit", arguments.unit, UNITS))
    selections = [
        select(unit.name, preset=preset, file=arguments.config, sets=arguments.sets)
        for unit in units
        for preset in ([arguments.preset] if arguments.preset else unit.presets)
    ]
    unique = list({selection.config_hash: selection for selection in selections}.values())
    if arguments.dry_run:
        emit(arguments, DryRuns(selections=[s.arguments for s in unique]))
        return 0
    with steps() as tell:
        results: Any = [_synthesised(arguments, selection, tell) for selection in unique]
    show(arguments, SynthAll(results=results, tools=results[0].tools), synthesis_table)
    return 0
