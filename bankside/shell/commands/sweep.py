"""``bankside sweep``: evaluate a unit, a system or a workload at every combination of values; draw a Pareto picture."""

from __future__ import annotations

import argparse

from ..options import above_zero, json_argument, not_negative, positive, records_argument, show, study_arguments

__all__ = ["fill", "run"]


def _columns(text: str) -> tuple[str, str]:
    """Two names with a comma between."""
    first, comma, second = text.partition(",")
    if not first or not comma or not second or "," in second:
        raise argparse.ArgumentTypeError(f"must be two columns, X,Y, not '{text[:60]}'")
    return first, second


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="UNIT|SYSTEM", help="unit or system to sweep (see bankside list)")
    parser.add_argument(
        "axes",
        metavar="KEY=A,B,C",
        nargs="+",
        help="values of a key: of the unit's configuration or "
        "workload, of the system's file, or a setting of eval or serve (context=1024,4096)",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        required=True,
        help="file for the rows (.csv or .jsonl); FILE.partial holds them while the sweep runs",
    )
    fixed = parser.add_argument_group("settings of all combinations")
    fixed.add_argument("--preset", metavar="P", help="unit: published configuration to start from")
    fixed.add_argument("--sim", action="store_true", help="unit: co-simulate too, beside the synthesis")
    fixed.add_argument("--model", metavar="NAME|FILE", help="system: language model")
    fixed.add_argument("--context", metavar="N", type=positive, help="system: tokens in the KV cache (4096)")
    fixed.add_argument("--batch", metavar="B", type=positive, help="system: requests that decode together (16)")
    fixed.add_argument("--output-tokens", metavar="N", type=positive, help="system: tokens to generate (1)")
    fixed.add_argument("--instances", metavar="I", type=positive, help="system: copies of the system (1)")
    fixed.add_argument("--split", metavar="TPxPP", help="system: tensor and pipeline parallelism")
    fixed.add_argument("--workload", metavar="NAME|FILE", help="system: serve requests of a workload instead")
    fixed.add_argument("--requests", metavar="N", type=positive, help="requests of the workload (1000)")
    fixed.add_argument("--rate", metavar="R", type=not_negative, help="arrivals per second, 0: all at once")
    fixed.add_argument(
        "--batch-limit", metavar="B", type=positive, help="most requests in work at once in an instance (256)"
    )
    fixed.add_argument(
        "--token-budget", metavar="N", type=positive, help="most tokens of an iteration with prefill (8192)"
    )
    fixed.add_argument("--slo", metavar="MS", type=above_zero, help="limit for the time per output token")
    parser.add_argument(
        "--pareto",
        metavar="X,Y",
        type=_columns,
        help="draw two columns, and mark the rows that no other row beats; larger is better for "
        "throughput, clock, utilisation, largest batch and rates",
    )
    parser.add_argument(
        "--picture", metavar="FILE", help="file for --pareto (.png, .svg or .pdf); OUTPUT.png by default"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", metavar="N", type=positive, help="processes; one per core by default")
    where.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="Dask scheduler whose workers compute the rows (pip install 'bankside[dask]'); "
        "workers need the same version and see the same files",
    )
    parser.add_argument(
        "--no-measure",
        action="store_false",
        dest="measure",
        help="do not make missing measurement records; rows that need them are refused",
    )
    records_argument(parser)
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...results.terminal import counting
    from ...results.text import sweep_text
    from ...studies import sweep

    a = arguments
    names = ("preset", "sim", *sweep.LOAD, *sweep.SERVING)
    jobs = sweep.jobs_of(
        a.target, a.axes, settings={name: getattr(a, name) for name in names}, records=a.records, measure=a.measure
    )
    with counting("combinations") as tell:
        result = sweep.sweep(**study_arguments(a, sweep.sweep), jobs=jobs, progress=tell)
    show(a, result, sweep_text)
    return 0
