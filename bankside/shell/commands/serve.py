"""``bankside serve``: serve requests on a system: arrivals, continuous batching, latencies, limits."""

from __future__ import annotations

import argparse

from ..options import (
    above_zero,
    changes_argument,
    emit,
    json_argument,
    log,
    natural,
    not_negative,
    page,
    physics_argument,
    positive,
    records_argument,
    study_arguments,
)

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="system (see bankside list)")
    parser.add_argument(
        "--model", metavar="NAME|FILE", required=True, help="language model, or a Hugging Face config.json"
    )
    changes_argument(parser)
    work = parser.add_argument_group("requests")
    work.add_argument(
        "--workload",
        metavar="NAME|FILE",
        required=True,
        help="workload by name, its description (.yaml), or a file of requests",
    )
    work.add_argument(
        "--format",
        metavar="F",
        dest="form",
        help="format of the file: jsonl, vidur, tsv or neupims; by its first line if not given",
    )
    work.add_argument(
        "--requests", metavar="N", type=positive, help="requests to draw (1000), or most requests to read (all)"
    )
    work.add_argument(
        "--output-tokens",
        metavar="N",
        type=positive,
        default=128,
        help="output tokens of requests in files without outputs",
    )
    work.add_argument(
        "--rate",
        metavar="R",
        type=not_negative,
        help="arrivals per second, 0: all at once; by default the workload's arrivals, or all at once if it has none",
    )
    work.add_argument(
        "--burstiness",
        metavar="CV",
        type=not_negative,
        help="coefficient of variation of the times between arrivals (default: 1, Poisson)",
    )
    work.add_argument("--seed", metavar="S", type=natural, default=1, help="seed of lengths and arrivals")
    how = parser.add_argument_group("scheduling")
    how.add_argument(
        "--batch-limit",
        metavar="B",
        type=positive,
        help="most requests in work at once in an instance (default: 256; 65536 with --search batch)",
    )
    how.add_argument(
        "--token-budget", metavar="N", type=positive, default=8192, help="most tokens of an iteration with prefill"
    )
    how.add_argument("--chunked", action="store_true", help="prefill prompts in pieces, beside decoding")
    how.add_argument("--preemption", metavar="P", default="recompute", help="recompute or reserve")
    how.add_argument("--instances", metavar="I", type=positive, default=1, help="copies of the system")
    how.add_argument(
        "--dispatch",
        metavar="D",
        default="round-robin",
        help="assignment of requests to instances: round-robin or least-loaded",
    )
    how.add_argument(
        "--fast",
        metavar="TOLERANCE",
        type=above_zero,
        help="interpolate decode steps, each within this relative error (0.01)",
    )
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--slo", metavar="MS", dest="slo_ms", type=above_zero, help="limit for the time per output token"
    )
    limits.add_argument(
        "--ttft-slo", metavar="MS", dest="ttft_slo_ms", type=above_zero, help="limit for the time to first token"
    )
    limits.add_argument(
        "--search",
        choices=("batch", "rate"),
        help="find the largest batch or arrival rate that meets --slo; exit code 1 if none does",
    )
    limits.add_argument(
        "--slo-percentile",
        metavar="P",
        dest="percentile",
        type=above_zero,
        default=99,
        help="percentile of TPOT for --search",
    )
    parser.add_argument("--refresh", action="store_true", help="memory timing with refresh")
    parser.add_argument("--measure", action="store_true", help="make measurement records that are missing")
    records_argument(parser)
    parser.add_argument("--csv", metavar="FILE", help="write a row for each request, with the columns of LLMServingSim")
    parser.add_argument("--plot", metavar="FILE", help="write a picture (.png, .svg or .pdf)")
    parser.add_argument("--timeline", metavar="FILE", help="write iterations and requests, for ui.perfetto.dev")
    parser.add_argument(
        "--write-requests", metavar="FILE", help="write the requests themselves (.jsonl, .csv as vidur, or .tsv)"
    )
    physics_argument(parser)
    json_argument(parser, page=True)


def run(arguments: argparse.Namespace) -> int:
    from ...studies.serve import serve_requests, serving_table

    result = serve_requests(**study_arguments(arguments, serve_requests), log=log)
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        from rich.console import Console

        console = Console()
        for part in serving_table(result):
            console.print(part, highlight=False, soft_wrap=isinstance(part, str), markup=False)
    return 0
