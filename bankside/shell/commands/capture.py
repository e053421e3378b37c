"""``bankside capture``: write queries, keys and values of a text, and its trace of attention."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..options import json_argument, positive, show

if TYPE_CHECKING:
    from ...results.decoding import Capture

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="MODEL_FOLDER", help="local Hugging Face folder of the LLaMA architecture")
    parser.add_argument("--text", metavar="FILE", required=True, help="text that the model reads")
    parser.add_argument("--tokens", metavar="N", type=positive, help="tokens of the text to use (default: all)")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder for the files")
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...studies.decode import capture_result

    show(arguments, capture_result(arguments.folder, arguments.text, arguments.output, tokens=arguments.tokens), _text)
    return 0


def _text(result: Capture) -> str:
    return (
        f"{result.folder}: {result.tokens} tokens, {result.layers} layers, {result.heads} heads on "
        f"{result.kv_heads} of keys and values; {result.steps} steps of attention in {result.trace}"
    )
