"""``bankside records``: list the measurement records of the package and missing ones; make or check them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bankside.constraints.core.errors import CheckFailed

from ..options import json_argument, log, records_argument, show

if TYPE_CHECKING:
    from ...results.units import Difference

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pattern", metavar="PATTERN", nargs="?", default="*", help="only units whose names match: 'pam-*'"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--make",
        action="store_true",
        help="make missing, stale and refused records, one a core; without PATTERN also the records that repro needs",
    )
    what.add_argument("--remake", action="store_true", help="make all records again")
    what.add_argument(
        "--check",
        action="store_true",
        help="measure again and compare results and Verilog, errors against binary64 within 1e-11 "
        "of their value; exit code 1 if anything differs",
    )
    records_argument(parser)
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...evidence.records import RecordFolder
    from ...results.units import Records
    from ...studies import inventory

    folder = RecordFolder(arguments.records)
    differ: list[Difference] | None = None
    if arguments.make or arguments.remake:
        rows = inventory.make_records(folder, pattern=arguments.pattern, everything=arguments.remake, tell=log)
    else:
        rows = inventory.inventory(folder, inventory.wanted(folder, arguments.pattern))
        if arguments.check:
            differ = inventory.check_records(
                folder, [row.measurement for row in rows if row.state in ("own", "shipped")], log
            )
    states = [row.shown for row in rows]
    result = Records(folder=str(folder.folder), shipped=str(folder.shipped), measurements=states, differ=differ)
    show(arguments, result, inventory.inventory_text)
    if differ:
        raise CheckFailed(f"{len(differ)} records differ from new measurements; the first: {differ[0].record}")
    return 0
