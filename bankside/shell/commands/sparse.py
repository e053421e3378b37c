"""``bankside sparse``: recall, mass, error and perplexity of sparse attention on a text, by method and budget."""

from __future__ import annotations

import argparse
import re
from typing import Any

from ..options import emit, json_argument, natural, positive
from .decode import system_names

__all__ = ["fill", "run"]


def budgets(text: str) -> list[Any]:
    """Tokens or shares of the context with commas between: 1024,1/4."""
    from fractions import Fraction

    out: list[Any] = []
    for word in text.split(","):
        whole = re.fullmatch(r"\d{1,12}", word)
        share = re.fullmatch(r"(\d{1,6})/(\d{1,6})", word)
        if whole and int(word):
            out.append(int(word))
        elif share and 0 < int(share[1]) <= int(share[2]):
            out.append(Fraction(int(share[1]), int(share[2])))
        else:
            raise argparse.ArgumentTypeError(
                f"a budget must be a number of tokens of at least 1, or a share such as 1/8, not '{word:.40}'"
            )
    return out


def head_of(text: str) -> tuple[int, int]:
    """A query head as LAYER.HEAD."""
    found = re.fullmatch(r"(\d{1,6})\.(\d{1,6})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"a head must be LAYER.HEAD, such as 2.1, not '{text:.40}'")
    return int(found[1]), int(found[2])


def fill(parser: argparse.ArgumentParser) -> None:
    from ...studies.sparse import DEFAULT_METHODS

    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        help="model: a local Hugging Face folder of the LLaMA architecture; the model of the package by default",
    )
    parser.add_argument("--text", metavar="FILE", help="text; the held-out text of the package's model by default")
    parser.add_argument(
        "--capture", metavar="DIR", help="in place of a text: a folder that capture wrote with the same model"
    )
    parser.add_argument(
        "--tokens", metavar="N", type=positive, help="tokens of the text (default: 2048, or as many as there are)"
    )
    parser.add_argument(
        "--windows", metavar="N", type=positive, default=1, help="so many texts that follow each other in the file"
    )
    parser.add_argument(
        "--prompt", metavar="N", type=positive, help="first tokens that attend to all (default: three quarters)"
    )
    parser.add_argument(
        "--methods",
        metavar="M,M",
        type=system_names,
        default=list(DEFAULT_METHODS),
        help=f"of {', '.join(DEFAULT_METHODS)} (default: all)",
    )
    parser.add_argument(
        "--budgets",
        metavar="B,B",
        type=budgets,
        default="1/2,1/4,1/8,1/16",
        help="tokens that a method may select, or shares of the text",
    )
    parser.add_argument(
        "--full-layers", metavar="N", type=natural, default=1, help="first layers that attend to all tokens"
    )
    parser.add_argument(
        "--interval", metavar="N", type=natural, default=128, help="of starc: tokens between two clusterings"
    )
    parser.add_argument("--tokens-per-cluster", metavar="N", type=natural, default=32, help="of starc, on average")
    parser.add_argument(
        "--recent-inside",
        action="store_true",
        help="of starc: tokens that are not clustered yet count towards the budget; by default they come on top of it",
    )
    parser.add_argument("--pooled", action="store_true", help="of starc: queries that share keys share a selection")
    parser.add_argument("--seed", metavar="N", type=natural, default=1, help="of k-means")
    parser.add_argument("--no-perplexity", action="store_true", help="leave out decoding with the selection")
    parser.add_argument("--plot", metavar="FILE", help="write the figures by budget as a picture (.png, .svg or .pdf)")
    parser.add_argument(
        "--picture",
        metavar="FILE",
        help="write the rows of memory that selections of the last token "
        "touch, with the smallest budget (.png, .svg or .pdf)",
    )
    parser.add_argument(
        "--head",
        metavar="LAYER.HEAD",
        type=head_of,
        help="query head of that picture (default: the first one that selects)",
    )
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...results.terminal import counting
    from ...studies.sparse import sparse_result, sparse_table

    a = arguments
    starc = {
        "interval": a.interval,
        "tokens_per_cluster": a.tokens_per_cluster,
        "inside": a.recent_inside,
        "pooled": a.pooled,
        "seed": a.seed,
    }
    with counting("selections") as tell:
        result = sparse_result(
            a.folder,
            text=a.text,
            captured=a.capture,
            methods=a.methods,
            budgets=a.budgets,
            tokens=a.tokens,
            prompt=a.prompt,
            windows=a.windows,
            full_layers=a.full_layers,
            options={"starc": starc},
            in_loop=not a.no_perplexity,
            head=a.head,
            plot=a.plot,
            picture=a.picture,
            count=tell,
        )
    if a.json:
        emit(arguments, result)
    else:
        from rich.console import Console

        console = Console()
        for part in sparse_table(result):
            console.print(part, markup=False, highlight=False)
    return 0
