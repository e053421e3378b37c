"""``bankside eval``: evaluate a server built from the units with a language model.

Five studies share the command. Each has its own options, and refuses options of another one.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bankside.constraints.core.errors import ConfigError

from ..options import (
    changes_argument,
    given_options,
    json_argument,
    option_arguments,
    physics_argument,
    records_argument,
    show,
)

if TYPE_CHECKING:
    from bankside.models.systems import System

__all__ = ["fill", "run"]

#: Options that select another study than the evaluation of a system.
REFERENCE: dict[str, dict[str, Any]] = {
    "--reference": {
        "metavar": "FILE",
        "help": "instead: dgx, dgx-attacc and dgx-cpu against a CSV file of "
        "results of the AttAcc simulator, or GPUs against a YAML file of timed runs",
    }
}
LAYER: dict[str, dict[str, Any]] = {"--layer": {"switch": True, "help": "time a layer instead of a system"}}


def fill(parser: argparse.ArgumentParser) -> None:
    from bankside.models.systems import kinds

    from ...studies import attention, evaluate, steady

    parser.add_argument("system", metavar="SYSTEM", help="system (see bankside list), or attacc with --layer")
    changes_argument(parser)
    named = _named(getattr(parser, "words", ()))
    ofall = {**evaluate.OPTIONS, **steady.OPTIONS, **REFERENCE}
    option_arguments(parser, {flag: needs for flag, needs in ofall.items() if flag not in attention.OPTIONS})
    records_argument(parser)
    layer = parser.add_argument_group("one attention layer on one stack of AttAcc")
    option_arguments(layer, LAYER | attention.OPTIONS)
    for kind in [named] if named else [kinds()[name] for name in kinds() if kinds().own(name)]:
        own = [option for option in kind.options if option.flag not in parser._option_string_actions]
        if own:
            group = parser.add_argument_group(f"systems of the kind {kind.kind}")
            option_arguments(group, {option.flag: option.needs() for option in own})
    if named:
        _refuse_others(parser, named)
    parser.set_defaults(kind=named)
    physics_argument(parser)
    json_argument(parser, page=True)


def _named(words: Sequence[str]) -> type[System] | None:
    """Kind of the system that a command line names; None if it names none."""
    from bankside.constraints.systems import FILES
    from bankside.models.systems import kind_of, system_names

    for word in words[1:]:
        if word in FILES or word.endswith((".yaml", ".yml")) or word in system_names():
            with contextlib.suppress(ConfigError):  # told when the system is loaded
                return kind_of(word)
    return None


def _refuse_others(parser: argparse.ArgumentParser, named: type[System]) -> None:
    """Raise :exc:`ConfigError` for an option of another kind of system."""
    from bankside.models.systems import kinds

    words = {word.partition("=")[0] for word in getattr(parser, "words", ()) if word.startswith("--")}
    for flag in sorted(words - {*parser._option_string_actions, "--max-file-mib"}):
        of = [kind.kind for kind in kinds().values() if any(option.flag == flag for option in kind.options)]
        if of:
            raise ConfigError(f"{flag} is an option of the kind {' or '.join(of)}, not of {named.kind}")


def _study(arguments: argparse.Namespace) -> ModuleType:
    """The study that the command line asks for."""
    from ...studies import attacc_reference, attention, evaluate, gpu_reference, steady

    if arguments.reference is not None:
        return gpu_reference if arguments.reference.endswith((".yaml", ".yml")) else attacc_reference
    return attention if arguments.layer else evaluate if arguments.workload is None else steady


def _options(arguments: argparse.Namespace, study: ModuleType) -> dict[str, Any]:
    """Given options of a study by name."""
    from ...studies import attention, evaluate, steady

    of_kind = {option.flag: option.needs() for option in arguments.kind.options} if arguments.kind else {}
    given = given_options(arguments, of_kind | attention.OPTIONS | evaluate.OPTIONS | steady.OPTIONS | LAYER)
    own = study.OPTIONS | (LAYER if study is attention else of_kind if study in (evaluate, steady) else {})
    for flag in given:
        if flag not in own:
            of = evaluate if study is steady and flag in attention.OPTIONS else study
            raise ConfigError(of.REFUSAL.format(flag))
    return {name: value for flag, (name, value) in given.items() if flag in own and flag not in LAYER}


def run(arguments: argparse.Namespace) -> int:
    from ...results import text
    from ...results.terminal import steps
    from ...studies import attacc_reference, attention, evaluate, gpu_reference, steady

    study = _study(arguments)
    options = _options(arguments, study)
    system, changes = arguments.system, evaluate.system_changes(arguments.changes)
    if study is attention:
        if changes:
            raise ConfigError(attention.REFUSAL.format("--set"))
        show(arguments, attention.evaluate_layer(system, **options), attention.layer_text)
    elif study is attacc_reference:
        compared = attacc_reference.compare_reference(system, arguments.reference, changes)
        show(arguments, compared, attacc_reference.reference_text)
    elif study is gpu_reference:
        with steps() as tell:
            runs = gpu_reference.compare_gpus(system, arguments.reference, changes, arguments.records, tell)
        show(arguments, runs, gpu_reference.gpus_text)
    else:
        answer, lines = (
            (evaluate.evaluate, text.evaluation_text)
            if study is evaluate
            else (steady.evaluate_workload, text.steady_text)
        )
        asked = evaluate.asked_system(system, options, changes)
        with steps() as tell:
            result = answer(system, **asked, records=arguments.records, progress=tell)
        show(arguments, result, lines)
    return 0
