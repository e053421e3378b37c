"""``bankside asm``: translate instructions of a CENT device from text to words."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import json_argument, show

__all__ = ["fill", "run"]


def device_arguments(parser: argparse.ArgumentParser) -> None:
    """The device whose instructions a text has: a configuration of its decoder."""
    parser.add_argument(
        "--preset", metavar="P", help="configuration of cent-decoder, whose device decides about legal operands"
    )
    parser.add_argument("--config", metavar="FILE", help="YAML file with configuration keys (and 'preset')")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="sets",
        help="one configuration key; may be repeated",
    )


def device(arguments: argparse.Namespace) -> Any:
    from ...hardware.selection import select

    return select("cent-decoder", preset=arguments.preset, file=arguments.config, sets=arguments.sets).config


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="text: an instruction on each line")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="file for the words")
    parser.add_argument(
        "--format",
        choices=("bin", "hex"),
        help="of OUT: bin, 16 bytes a word, least significant first; hex, 32 digits a line. By default hex for .hex, "
        ".mem and .txt, else bin",
    )
    parser.add_argument(
        "--written",
        metavar="SLOTS",
        action="append",
        default=[],
        help="slots that are written before the program, such as 0-511; may be repeated",
    )
    device_arguments(parser)
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...studies.assemble import assemble_result, size_text

    result = assemble_result(
        arguments.file, device(arguments), arguments.output, form=arguments.format, written=arguments.written
    )
    show(arguments, result, size_text)
    return 0
