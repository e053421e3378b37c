"""``bankside compile``: compile a language model to programs for the memory modules of a system."""

from __future__ import annotations

import argparse

from ..options import changes_argument, json_argument, positive, records_argument, show, study_arguments

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="NAME|FILE", help="language model, or a Hugging Face config.json")
    parser.add_argument(
        "--system", metavar="SYSTEM", default="lol-pim", help="system of modules: lol-pim, aimx-pim or a file"
    )
    changes_argument(parser)
    parser.add_argument(
        "--tokens", metavar="N", type=positive, default=4096, help="tokens of the request, the new one included"
    )
    parser.add_argument("--operator", metavar="OP", help="only this operator of the table")
    parser.add_argument("--listing", action="store_true", help="print the commands too")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the words of the program in hexadecimal, a line of the command buffer each; "
        "bankside time FILE times them",
    )
    records_argument(parser)
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...studies.compile import compile_result, compile_text

    show(arguments, compile_result(**study_arguments(arguments, compile_result)), compile_text)
    return 0
