"""``bankside sim``: co-simulate a unit against its functional model, with real memory timing or vectors."""

from __future__ import annotations

import argparse
import functools
from typing import Any

from ..options import (
    dry_run,
    json_argument,
    natural,
    physics_argument,
    records_argument,
    selected,
    selection_arguments,
    show,
    whole,
)

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    """The options of the workload are the unit's if the command names one, else the options of all units."""
    from bankside.constraints.core.registry import UNITS

    selection_arguments(parser)
    named = UNITS.get(next((word for word in getattr(parser, "words", ()) if word in UNITS), ""))
    group = parser.add_argument_group(
        f"workload of {named.name}"
        if named
        else "workload (bankside sim UNIT --help shows the unit's options and defaults)"
    )
    mine = named.workload.options() if named else {}
    others: dict[str, Any] = {}
    for unit in UNITS.values():
        for name, option in unit.workload.options().items():
            others.setdefault(name, option)
    for name, option in {**others, **mine}.items():
        text = option.description if name in mine or not named else argparse.SUPPRESS
        group.add_argument(
            option.flag,
            metavar=name[0].upper(),
            type=_option_type(option),
            default=None,
            help=text
            if text is argparse.SUPPRESS or name not in mine or option.default is None
            else f"{text} (default: {option.default})",
        )
    parser.add_argument("--seed", metavar="S", type=natural, default=1, help="seed of data and stalls")
    parser.add_argument(
        "--waves", action="store_true", help="write a waveform of the run with memory timing to out/waves"
    )
    records_argument(parser)
    physics_argument(parser)
    json_argument(parser, page=True)
    parser.set_defaults(workload=tuple(others))


def _option_type(option: Any) -> Any:
    if option.kind is int:
        return functools.partial(whole, least=option.least or 0, most=option.most or 1 << 40)
    return option.kind


def run(arguments: argparse.Namespace) -> int:
    from ...evidence.measure import require_equal, simulate
    from ...results.terminal import steps
    from ...results.text import simulation_text

    selection = selected(arguments)
    if dry_run(arguments, selection):
        return 0
    given = {name: getattr(arguments, name) for name in arguments.workload}
    with steps() as tell:
        result = simulate(
            selection,
            seed=arguments.seed,
            waves=arguments.waves,
            records=arguments.records,
            progress=tell,
            **{name: value for name, value in given.items() if value is not None},
        )
    show(arguments, result, simulation_text)
    require_equal(result.measured)
    return 0
