"""``bankside bench``: measure the speed of the tool itself."""

from __future__ import annotations

import argparse
import functools

from ..options import emit, json_argument, log

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pattern", metavar="PATTERN", nargs="?", default="*", help="only benchmarks whose names match: 'deco*'"
    )
    parser.add_argument(
        "--keep", action="store_true", help="add the run to the history: date, version, commit, machine, figures"
    )
    parser.add_argument(
        "--compare", action="store_true", help="show how many times as fast this run is as the last run in the history"
    )
    parser.add_argument(
        "--history",
        metavar="FILE",
        help="file of runs, one a line (docs/bench-history.jsonl of a checkout, else bench-history.jsonl)",
    )
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...studies.benchmark import HISTORY, compared, entry_of, keep, last, lines, run

    history = arguments.history or HISTORY
    before = last(history) if arguments.compare else None
    if arguments.keep:
        keep(history)  # a file that is no history is found before minutes of measuring
    result = run(
        log, arguments.pattern, (lambda line: None) if arguments.json else functools.partial(print, flush=True)
    )
    entry = entry_of(result)
    if arguments.keep:
        keep(history, entry)
        log(f"added to {history}")
    if before and arguments.json:
        result.before, result.comparison = before, compared(before, entry)
    elif before:
        print("\n".join(lines(before, entry)))
    if arguments.json:
        emit(arguments, result)
    return 0
