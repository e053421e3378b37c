"""Completion of the command line in bash, zsh and fish: current names of units, presets, systems and all others."""

from __future__ import annotations

import argparse
import pkgutil
from collections.abc import Callable, Iterable
from typing import Any

import argcomplete
from argcomplete.completers import BaseCompleter, FilesCompleter

from bankside.constraints.core.contract import Unit

__all__ = ["SHELLS", "complete", "shell_code"]

SHELLS = ("bash", "zsh", "fish")


def shell_code(shell: str) -> str:
    """Code that the shell reads at its start. It asks the command itself whenever the user presses Tab."""
    return str(argcomplete.shellcode(["bankside"], shell=shell)).strip()


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell and exit."""
    argcomplete.autocomplete(parser, always_complete_options="long", default_completer=_Names())


class _Names(BaseCompleter):
    """Possible values of an argument; files if nothing better is known."""

    def __call__(
        self, *, prefix: str, action: argparse.Action, parser: argparse.ArgumentParser, parsed_args: argparse.Namespace
    ) -> Any:
        unit = getattr(parsed_args, "unit", None) or getattr(parsed_args, "target", None)
        if action.dest in NAMES:
            names = pkgutil.resolve_name(NAMES[action.dest])
            found: Iterable[str] = names() if callable(names) else names
        elif action.dest in OF_THE_UNIT:
            units = pkgutil.resolve_name(NAMES["unit"])
            found = OF_THE_UNIT[action.dest](units[unit]) if unit in units else ()
        else:
            return FilesCompleter()(prefix)
        return [name for name in found if name.startswith(prefix)]


def targets() -> list[str]:
    """Units and systems, which `bankside sweep` takes alike."""
    from bankside.constraints.core.registry import UNITS
    from bankside.models.systems import system_names

    return [*UNITS, *system_names()]


#: Names that complete an argument, by its name in argparse: a mapping, or a function that lists them.
NAMES = {
    "unit": "bankside.constraints.core.registry:UNITS",
    "target": f"{__name__}:targets",
    "system": "bankside.models.systems:system_names",
    "model": "bankside.models.llm:model_names",
    "memory": "bankside.constraints.memory:available",
    "library": "bankside.hardware.synthesis.libraries:available",
    "fpga": "bankside.hardware.synthesis.fpga:FAMILIES",
    "workload": "bankside.models.serving.workloads:workload_names",
    "paper": "bankside.models.papers:paper_names",
}

#: The same for arguments that depend on the unit of the line.
OF_THE_UNIT: dict[str, Callable[[Unit], Iterable[str]]] = {
    "preset": lambda unit: unit.presets,
    "sets": lambda unit: [f"{key}=" for key in unit.config.model_fields],
    "axes": lambda unit: [f"{key}=" for key in (*unit.config.model_fields, *unit.workload.options())],
}
