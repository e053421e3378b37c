"""``bankside disasm``: translate words of a CENT device to text."""

from __future__ import annotations

import argparse

from ..options import json_argument, show
from .asm import device, device_arguments

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="words, binary or in hexadecimal")
    parser.add_argument("-o", "--output", metavar="OUT", help="file for the text; standard output by default")
    parser.add_argument(
        "--format", choices=("bin", "hex"), help="of FILE; by default hex for .hex, .mem and .txt, else bin"
    )
    device_arguments(parser)
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...studies.assemble import disassemble_result, size_text

    result = disassemble_result(arguments.file, device(arguments), form=arguments.format, output=arguments.output)
    show(arguments, result, lambda one: size_text(one) if one.text is None else "\n".join(one.text))
    return 0
