"""``bankside rtl``: rebuild the generated Verilog of all published configurations."""

from __future__ import annotations

import argparse

from ..options import json_argument, show

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="DIR", default="rtl", help="folder that holds one folder per preset")
    parser.add_argument("--check", action="store_true", help="only compare: exit code 1 if anything differs")
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...hardware.generate import tool_versions
    from ...hardware.published import differing, rebuild, require_same
    from ...results.units import Rtl

    written = [] if arguments.check else [str(path) for path in rebuild(arguments.output)]
    differ = differing(arguments.output) if arguments.check else []
    if not arguments.json:
        require_same(arguments.output, differ)
    result = Rtl(folder=arguments.output, files=written, differ=differ, tools=tool_versions())
    equal = f"{arguments.output}: equal to the output of the generators"
    show(arguments, result, lambda made: equal if arguments.check else "\n".join(made.files))
    require_same(arguments.output, differ)
    return 0
