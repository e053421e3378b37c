"""Options that several commands share, and the output of results."""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..results.result import Result

__all__ = [
    "above_zero",
    "changes_argument",
    "dry_run",
    "emit",
    "given_options",
    "json_argument",
    "log",
    "natural",
    "not_negative",
    "option_arguments",
    "page",
    "positive",
    "queries",
    "real",
    "records_argument",
    "selected",
    "selection_arguments",
    "show",
    "study_arguments",
    "whole",
]


def emit(arguments: argparse.Namespace, result: Result) -> None:
    """One JSON object on standard output: the result of the command behind the keys that all results have."""
    from ..provenance.envelope import enveloped

    print(json.dumps(enveloped(result.to_json(), arguments.command), indent=2))


def page(arguments: argparse.Namespace, result: Result) -> None:
    """The result as an HTML page, if the command line asks for it."""
    if arguments.html is not None:
        from ..pages import write_page
        from ..provenance.envelope import enveloped

        document = enveloped(result.to_json(), arguments.command)
        write_page(arguments.html, document, getattr(arguments, "records", None), result)


def show(arguments: argparse.Namespace, result: Any, text: Callable[[Any], str]) -> None:
    """The result as the command line asks for it: as an HTML page, as JSON, else as text on standard output."""
    if hasattr(arguments, "html"):
        page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        print(text(result))


def option_arguments(parser: argparse._ActionsContainer, options: Mapping[str, Mapping[str, Any]]) -> None:
    """Arguments for the options of a study, which the study describes by flag.

    ``least`` is the least whole number. ``switch`` is an option without a value; ``either`` has a negative form too.
    ``also`` is a second spelling. ``metavar``, ``dest``, ``type`` and ``help`` are as in argparse.
    """
    for flag, given in options.items():
        needs = dict(given)
        flags = (flag, *([needs.pop("also")] if "also" in needs else []))
        if "least" in needs:
            needs["type"] = functools.partial(whole, least=needs.pop("least"))
        if "switch" in needs:
            either = needs.pop("switch") == "either"
            needs["action"] = argparse.BooleanOptionalAction if either else "store_true"
        parser.add_argument(*flags, default=None, **needs)


def given_options(
    arguments: argparse.Namespace, options: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[str, Any]]:
    """Name and value of each option that the command line has, by flag."""
    names = {flag: needs.get("dest", flag[2:].replace("-", "_")) for flag, needs in options.items()}
    return {flag: (name, value) for flag, name in names.items() if (value := getattr(arguments, name)) is not None}


def study_arguments(arguments: argparse.Namespace, study: Callable[..., Any]) -> dict[str, Any]:
    """Arguments of a study that the command line gives, or has a default for, under the same name."""
    from ..studies.evaluate import system_changes

    names = inspect.signature(study).parameters
    given = {name: value for name, value in vars(arguments).items() if name in names and value is not None}
    return given | ({"changes": system_changes(given["changes"])} if "changes" in given else {})


def log(text: str) -> None:
    if sys.stderr is not None:  # the caller closed it; print would take standard output instead
        print(text, file=sys.stderr)


def selection_arguments(parser: argparse.ArgumentParser, several: bool = False, target: str = "") -> None:
    """``target``: alternatives to the unit, for a command that tells them apart itself."""
    parser.add_argument(
        "target" if target else "unit",
        metavar=f"UNIT|{target}" if target else "UNIT",
        help="unit (see bankside list)" + (", or a pattern of names: 'fp-*'" if several else ""),
    )
    parser.add_argument(
        "--preset", metavar="P", help="published configuration to start from; the unit's first by default"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="YAML file with configuration keys, and preset; errors name file and line"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="sets",
        help="one configuration key; may be repeated",
    )
    formats = "file: aim, requests, attacc, program or words, recognised if not given; unit: " if target else ""
    for key, values in (
        ("format", f"{formats}number format: fp16, bf16, fp32 or eEmF"),
        ("variant", "design of the unit"),
        ("buffering", "aim-channel, programs for AiM devices: single or ping-pong"),
        ("registers", "aim-channel: 2, 32, ..."),
    ):
        parser.add_argument(
            f"--{key}",
            metavar=key[0].upper(),
            dest="sets",
            action="append",
            type=functools.partial("{}={}".format, key),
            help=f"{values}; short for --set {key}=...",
        )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the expanded configuration and its hash as JSON, and stop"
    )


def selected(arguments: argparse.Namespace) -> Any:
    from ..hardware.selection import select

    return select(arguments.unit, preset=arguments.preset, file=arguments.config, sets=arguments.sets)


def json_argument(parser: argparse.ArgumentParser, page: bool = False) -> None:
    """``page``: the command makes an HTML page too."""
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    if page:
        parser.add_argument("--html", metavar="FILE", help="write the result as an HTML page too")


def physics_argument(parser: argparse.ArgumentParser) -> None:
    """``--no-physics`` of a command that times a memory."""
    parser.add_argument(
        "--no-physics",
        action="store_true",
        help="take memory files that let commands issue closer together than any memory can; the result says so",
    )


def changes_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="changes",
        help="one key of the system's file, such as features.ping_pong=false; may be repeated",
    )


def records_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--records",
        metavar="DIR",
        help="folder of measurement records; $BANKSIDE_RECORDS or the cache folder by default",
    )


def dry_run(arguments: argparse.Namespace, selection: Any) -> bool:
    if arguments.dry_run:
        from ..hardware.generate import tool_versions
        from ..results.units import DryRun

        emit(arguments, DryRun(**selection.keys, tools=tool_versions()))
    return arguments.dry_run


def positive(text: str) -> int:
    """A whole number of at least 1."""
    return whole(text, 1)


def natural(text: str) -> int:
    """A whole number of at least 0."""
    return whole(text, 0)


def queries(text: str) -> int:
    """Queries of a group; the limit is far above the group of any model."""
    return whole(text, 1, 4096)


def whole(text: str, least: int, most: int = 1 << 40) -> int:
    try:
        value = int(text)
    except ValueError:
        shown = text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"
        raise argparse.ArgumentTypeError(f"must be a whole number, not '{shown}'") from None
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(
            f"must be at least {least}, not {value}" if value < least else f"must be at most {most}, not {value}"
        )
    return value


def above_zero(text: str) -> float:
    """A number above 0."""
    return real(text, False)


def not_negative(text: str) -> float:
    """A number of at least 0."""
    return real(text, True)


def real(text: str, zero: bool) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (0 <= value <= 1e9) or value == 0 and not zero:
        raise argparse.ArgumentTypeError(f"must be a number {'of at least' if zero else 'above'} 0, not '{text[:40]}'")
    return value
