"""``bankside decode``: decode with a model whose attention a system computes; perplexity and agreement beside float32."""

from __future__ import annotations

import argparse

from ..options import json_argument, natural, not_negative, positive, records_argument, show

__all__ = ["fill", "run"]


def system_names(text: str) -> list[str]:
    """Names of systems with commas between."""
    return text.split(",")


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        help="model: a local Hugging Face folder of the LLaMA architecture; the model of the package by default",
    )
    parser.add_argument(
        "--prompt",
        metavar="FILE",
        required=True,
        help="text to begin with, UTF-8; with --teacher-forced, the text itself",
    )
    parser.add_argument(
        "--system",
        metavar="S",
        default="float32",
        help="what computes the attention: float32, float16, "
        "pam, pam-hbm, lol-pim, cent, cent-maximum, cent-taylor, inf2 or inf2-fp32; sparse attention "
        "before it as in quest-256-pam or window-256-cent",
    )
    parser.add_argument(
        "--tokens",
        metavar="N",
        type=positive,
        help="tokens to generate (default: 64); with --teacher-forced, tokens of the text to use (default: all)",
    )
    parser.add_argument(
        "--teacher-forced",
        action="store_true",
        help="predict every token of the text from the tokens before it; generate nothing",
    )
    parser.add_argument(
        "--compare", metavar="S,S", type=system_names, default=[], help="further systems, on the same tokens"
    )
    parser.add_argument(
        "--temperature",
        metavar="T",
        type=not_negative,
        default=0.0,
        help="temperature of sampling; 0: the most probable token",
    )
    parser.add_argument("--seed", metavar="N", type=natural, default=1, help="seed of sampling")
    parser.add_argument(
        "--hazards", action="store_true", help="measure what formats and orders of sums do to the text: nine more runs"
    )
    parser.add_argument(
        "--rtl",
        metavar="LAYER.HEAD,...|all",
        help="query heads that the Verilog of the system's unit "
        "computes, from the prompt's last token on; its bits are compared with the model's",
    )
    parser.add_argument(
        "--rtl-memory",
        metavar="NAME",
        help="with --rtl, of pam, lol-pim and INF2's accelerator: keys and values come to the unit "
        "at the cycles of this memory",
    )
    parser.add_argument(
        "--rtl-merge",
        action="store_true",
        help="with --rtl: the reduction units of PAM's bank groups are in Verilog too",
    )
    parser.add_argument(
        "--rtl-accelerator",
        action="store_true",
        help="with --rtl, of inf2 and inf2-fp32: the whole accelerator is in Verilog, with its "
        "softmax and its memory port",
    )
    records_argument(parser)
    json_argument(parser, page=True)


def run(arguments: argparse.Namespace) -> int:
    from ...results.terminal import counting
    from ...studies.decode import decode_result, decode_text

    with counting("tokens") as tell:
        result = decode_result(
            arguments.folder,
            arguments.prompt,
            arguments.system,
            tokens=arguments.tokens,
            forced=arguments.teacher_forced,
            compared=arguments.compare,
            temperature=arguments.temperature,
            seed=arguments.seed,
            measured=arguments.hazards,
            records=arguments.records,
            rtl=arguments.rtl,
            rtl_memory=arguments.rtl_memory,
            rtl_merge=arguments.rtl_merge,
            rtl_accelerator=arguments.rtl_accelerator,
            count=tell,
        )
    show(arguments, result, decode_text)
    return 130 if result.interrupted else 0
