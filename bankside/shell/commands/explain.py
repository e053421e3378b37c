"""``bankside explain``: show the basis of a result, down to Verilog and memory, and changes since then."""

from __future__ import annotations

import argparse
import sys

from ..options import emit, json_argument, records_argument

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.json", help="output of a command with --json")
    records_argument(parser)
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...studies.explain import explain, explain_tree

    result = explain(arguments.result, arguments.records)
    if arguments.json:
        emit(arguments, result)
        return 0
    from rich.console import Console

    console = Console() if sys.stdout is not None and sys.stdout.isatty() else Console(width=1000)
    console.print(explain_tree(result), highlight=False)
    console.print(
        "nothing has changed since"
        if result.unchanged
        else f"changed since, gone or unknown: {', '.join(result.changed)}",
        highlight=False,
        markup=False,
    )
    return 0
