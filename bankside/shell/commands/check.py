"""``bankside check``: check a unit, a system, a paper, or everything that a package adds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bankside.constraints.core.errors import CheckFailed

from ..options import json_argument, records_argument, show

if TYPE_CHECKING:
    from ...results.tool import Checked

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="unit, system, paper, installed package, or YAML file of a system")
    parser.add_argument("--model", metavar="NAME|FILE", help="model for a system; by default the one of its kind")
    parser.add_argument("--measure", action="store_true", help="make measurement records that are missing")
    records_argument(parser)
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...pages import page_of
    from ...studies.check import check
    from ..options import log

    result = check(
        arguments.name,
        model=arguments.model,
        records=arguments.records,
        measure=arguments.measure,
        page_of=page_of,
        progress=log,
    )
    show(arguments, result, _text)
    failed = [point for point in result.checks if not point.ok]
    if failed:
        raise CheckFailed(f"{len(failed)} of {len(result.checks)} checks failed; the first: {failed[0].name}")
    return 0


def _text(result: Checked) -> str:
    width = max(len(point.name) for point in result.checks)
    return "\n".join(f"{'ok    ' if one.ok else 'FAILED'}  {one.name:<{width}}  {one.detail}" for one in result.checks)
