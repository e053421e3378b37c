"""``bankside cache``: show the contents of the cache folder; prune it."""

from __future__ import annotations

import argparse

from ..options import json_argument, not_negative, show

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prune",
        metavar="DAYS",
        type=not_negative,
        help="remove files that were not used for this many days; records stay",
    )
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..cache import cache_text, contents, prune

    show(arguments, contents() if arguments.prune is None else prune(arguments.prune), cache_text)
    return 0
