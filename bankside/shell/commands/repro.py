"""``bankside repro``: claims of a paper, with our value beside each claim."""

from __future__ import annotations

import argparse

from bankside.constraints.core.errors import ConfigError

from ..options import json_argument, positive, records_argument, show

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paper",
        metavar="PAPER",
        nargs="?",
        help="paper; --list without PAPER lists all papers, from other packages too",
    )
    parser.add_argument("--claims", metavar="ID,...", help="compute only these claims; all by default")
    parser.add_argument(
        "--list", action="store_true", help="list the claims, or without PAPER the papers; compute nothing"
    )
    parser.add_argument("--figure", metavar="NAME", help="draw a figure of the paper with our values beside it")
    parser.add_argument(
        "--output",
        metavar="FILE.png",
        help="file of the figure, .png, .svg or .pdf; out/repro/PAPER-NAME.png by default",
    )
    parser.add_argument(
        "--results",
        metavar="FILE.csv",
        help="write the results of the paper's own evaluation, in the columns of its artifact (cent)",
    )
    parser.add_argument(
        "--no-measure", action="store_false", dest="measure", help="do not make measurement records that are missing"
    )
    parser.add_argument(
        "--measure-limit",
        metavar="S",
        type=positive,
        default=540,
        help="most seconds for all missing measurements together, two at once; rows that still lack one are timed-out",
    )
    records_argument(parser)
    json_argument(parser, page=True)


def run(arguments: argparse.Namespace) -> int:
    from bankside.models.papers import load_paper

    from ...studies import repro

    if arguments.figure is None and arguments.output is not None:
        raise ConfigError("--output needs --figure")
    if arguments.paper is None:
        if not arguments.list or arguments.figure is not None or arguments.claims is not None:
            raise ConfigError(
                "the following arguments are required: PAPER, or --list alone (see bankside repro --help)"
            )
        show(arguments, repro.papers(), repro.papers_text)
        return 0
    if arguments.results is not None:
        from ...results.terminal import steps

        for option in ("claims", "list", "figure"):
            if getattr(arguments, option):
                raise ConfigError(f"--results writes a table alone: it can't be combined with --{option}")
        with steps() as tell:
            written = repro.results(arguments.paper, arguments.results, tell)
        show(arguments, written, lambda one: f"{one.rows} rows: {one.file}")
        return 0
    work = {"records": arguments.records, "measure": arguments.measure, "limit_s": arguments.measure_limit}
    if arguments.figure is not None:
        from ...studies.repro_figures import draw

        for option in ("claims", "list"):
            if getattr(arguments, option):
                raise ConfigError(f"--figure draws its own claims: it can't be combined with --{option}")
        drawn = draw(arguments.paper, arguments.figure, arguments.output, **work)
        show(arguments, drawn, lambda one: one.figure)
        repro.require_measured(drawn)
        return 0
    if arguments.list:
        paper = load_paper(arguments.paper)
        claims = repro.chosen_claims(paper, arguments.claims)
        show(arguments, repro.listing(paper, claims), repro.listing_text)
        return 0
    result = repro.repro(arguments.paper, claims=arguments.claims, **work)
    show(arguments, result, repro.repro_text)
    repro.require_measured(result)
    return 0
