"""Tables of ``docs/cli.md``: options from the parsers of the commands, keys from the classes of their results.

A table stands in the page as in the pages of units (:mod:`bankside.pages.unit_page`). Its name is ``options_COMMAND``,
or a class of :mod:`bankside.results.schemas`. ``kinds`` has the own keys of each built-in kind of system.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from bankside.constraints.core.contract import SimResult
from bankside.constraints.core.registry import UNITS
from bankside.constraints.systems import FILES
from bankside.models.systems import kinds
from bankside.models.systems.registry import read_spec

from ..pages.unit_page import MARK, keys, table
from ..results import schemas
from .cli import _Help, _Parser, command
from .options import json_argument, selection_arguments

__all__ = ["command_tables"]

#: Keys whose parts have tables of their own.
CLOSED = {"Sim": ("runs",), "Demo": ("crossover", "evaluations", "by_rule", "sweeps", "sim", "synth")}

#: Commands with a unit and its configuration.
SELECTING = ("gen", "sim", "synth", "time")


def command_tables(text: str) -> dict[str, str]:
    """The tables that a page's text has marks for, by their names."""
    return {
        name: options(name.removeprefix("options_"))
        if name.startswith("options_")
        else own_keys()
        if name == "kinds"
        else results(name)
        for name in (mark["name"] for mark in MARK.finditer(text))
    }


def results(name: str) -> str:
    """Keys of a kind of result: key, type, unit, meaning. The keys of all results are left out of the others."""
    kind = getattr(schemas, name)
    shared = (
        () if kind is schemas.Envelope else {one.alias or key for key, one in schemas.Envelope.model_fields.items()}
    )
    kinds = (kind, SimResult) if kind is schemas.Sim else (kind,)
    rows = [
        row
        for one in kinds
        for row in keys(one, closed=CLOSED.get(name, ()))
        if row[0].strip("`").split(".")[0].split("[")[0] not in shared
    ]
    return table(["key", "type", "unit", "meaning"], rows)


def own_keys() -> str:
    """Keys that built-in kinds of system add to the result of ``eval``, or that stand in place of keys of all systems."""
    rows: list[list[str]] = []
    for kind, named in _systems().items():
        own = kinds()[kind].result
        if own is not None:
            rows += [[f"*{', '.join(named)}*", "", "", ""], *keys(own)]
    return table(["key", "type", "unit", "meaning"], rows)


def _systems() -> dict[str, list[str]]:
    """Names of the built-in systems of each kind."""
    found: dict[str, list[str]] = {}
    for name in FILES:
        found.setdefault(read_spec(name)[0]["kind"], []).append(name)
    return found


def options(name: str) -> str:
    """Options of a command. ``selection`` stands for the options that select a configuration. Options of all commands and
    of the workloads of units are left out."""
    parser, left_out = _Parser(prog=f"bankside {name}"), _Parser()
    json_argument(left_out, page=True)
    if name == "selection":
        selection_arguments(parser)
    else:
        command(name).fill(parser)
        if name in SELECTING:
            selection_arguments(left_out)
    known = {(*action.option_strings, action.help) for action in left_out._actions}
    if name == "sim":
        work = [option for unit in UNITS.values() for option in unit.workload.options().values()]
        known |= {(option.flag, option.description) for option in work}
    rows: list[list[str]] = []
    for group in parser._action_groups:
        shown = [action for action in group._group_actions if (*action.option_strings, action.help) not in known]
        if shown and group.title not in ("positional arguments", "options"):
            rows.append([f"*{group.title}*", ""])
        rows += [row for action in shown for row in _option(parser, action)]
    return table(["option", "meaning"], rows)


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> Iterator[list[str]]:
    if action.help is argparse.SUPPRESS:
        return
    shown = action.metavar or ("" if action.nargs == 0 else "|".join(action.choices or (action.dest.upper(),)))
    flags = [f"`{' '.join(filter(None, (flag, str(shown))))}`" for flag in action.option_strings] or [f"`{shown}`"]
    yield [", ".join(flags), _Help(parser.prog)._expand_help(action) if action.help else ""]
