"""``bankside demo``: run the whole loop once: generate, co-simulate, synthesise, evaluate, write a page."""

from __future__ import annotations

import argparse
import os

from ..options import emit, json_argument, log

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="DIR", default=os.path.join("out", "demo"), help="folder for the page"
    )
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..demo import run

    result = run(arguments.output, log)
    if arguments.json:
        emit(arguments, result)
    return 0
