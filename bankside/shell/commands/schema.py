"""``bankside schema``: JSON Schema of a command's output with --json."""

from __future__ import annotations

import argparse
import json

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", metavar="COMMAND", help="command that has --json")


def run(arguments: argparse.Namespace) -> int:
    from ...results.schemas import schema_of

    print(json.dumps(schema_of(arguments.of), indent=2))
    return 0
