"""Completion of the command line in bash, zsh and fish: names of units, presets, systems and the rest as they are now."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["SHELLS", "complete", "shell_code"]

SHELLS = ("bash", "zsh", "fish")


def shell_code(shell: str) -> str:
    """What the shell reads at its start: it asks the command itself whenever the user presses Tab."""
    import argcomplete

    return str(argcomplete.shellcode(["bankside"], shell=shell)).strip()


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell and exit."""
    import argcomplete

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                for inner in command._actions:
                    if inner.dest in NAMES:
                        inner.completer = _completer(NAMES[inner.dest])  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options="long")


def _completer(names: Callable[[argparse.Namespace], Iterable[str]]) -> Callable[..., list[str]]:
    def found(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
        return [name for name in names(parsed_args) if name.startswith(prefix)]

    return found


def _units(arguments: argparse.Namespace) -> Iterable[str]:
    from .registry import UNITS

    return UNITS


def _presets(arguments: argparse.Namespace) -> Iterable[str]:
    from .registry import UNITS

    unit = UNITS.get(getattr(arguments, "unit", None) or getattr(arguments, "target", None) or "")
    return unit.presets if unit else ()


def _keys(arguments: argparse.Namespace) -> Iterable[str]:
    from .registry import UNITS

    unit = UNITS.get(getattr(arguments, "unit", None) or getattr(arguments, "target", None) or "")
    return [f"{key}=" for key in unit.config.model_fields] if unit else ()


def _systems(arguments: argparse.Namespace) -> Iterable[str]:
    from bankside.models.systems import system_names

    return system_names()


def _models(arguments: argparse.Namespace) -> Iterable[str]:
    from bankside.models.llm import model_names

    return model_names()


def _memories(arguments: argparse.Namespace) -> Iterable[str]:
    from bankside.constraints.memory import available

    return available()


def _workloads(arguments: argparse.Namespace) -> Iterable[str]:
    from bankside.models.serving.workloads import workload_names

    return workload_names()


def _libraries(arguments: argparse.Namespace) -> Iterable[str]:
    from .synthesis.libraries import available

    return available()


def _papers(arguments: argparse.Namespace) -> Iterable[str]:
    from bankside.models.papers import paper_names

    return paper_names()


#: What completes an argument, by the name under which argparse keeps it. Files are the shell's own.
NAMES: dict[str, Callable[[argparse.Namespace], Iterable[str]]] = {
    "unit": _units, "target": _units, "preset": _presets, "sets": _keys, "system": _systems, "model": _models,
    "memory": _memories, "workload": _workloads, "library": _libraries, "paper": _papers,
}
