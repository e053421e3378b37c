"""Page of requests served: ``bankside serve``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..results.words import number
from .components import COLOURS, GRID, Card, Chart, Page, Part, Row, grouped_bars, plain, short, table

__all__ = ["served"]

LATENCIES = (
    ("ttft_ms", "time to first token"),
    ("tpot_ms", "time per output token"),
    ("itl_ms", "between two tokens"),
    ("latency_ms", "end to end"),
    ("queueing_ms", "waiting"),
)


def served(result: Mapping[str, Any]) -> Page:
    """Latencies, batch over time, limits and searches."""
    work, slo, search = result["workload"], result["slo"], result["search"]
    lead = (
        f"{work['requests']:,} requests of {work['name']} take {result['makespan_s']:,.1f} s: "
        f"{short(result['throughput_tok_s'])} tokens and {short(result['requests_per_s'])} requests per second."
    )
    if search is not None:
        found = "all at once" if search["value"] is None else f"{search['value']:,.6g}"
        what = "batch" if search["what"] == "batch" else "arrival rate"
        lead += (
            f" The largest {what} within {slo['tpot_ms']:g} ms at the {search['percentile']:g}th percentile is {found}."
        )
    cards = [
        Card(
            "throughput",
            f"{short(result['throughput_tok_s'])} tokens/s",
            f"{short(result['requests_per_s'])} requests/s",
        )
    ]
    for key, name in LATENCIES[:2]:
        if result[key] is not None:
            cards.append(
                Card(f"{name}, p99", f"{short(result[key]['p99'])} ms", f"median {short(result[key]['p50'])} ms")
            )
    cards.append(
        Card("KV cache", f"{100 * result['kv']['mean']:.0f} %", f"mean; peak {100 * result['kv']['peak']:.0f} %")
    )
    if slo is not None:
        cards.append(
            Card(
                "requests within the limits",
                f"{100 * slo['met']:.1f} %",
                f"{short(slo['goodput_tok_s'])} tokens/s of them",
                "good" if slo["met"] >= 0.99 else "bad",
            )
        )
    figures = ("mean", "p50", "p90", "p99", "max")
    known = [(key, name) for key, name in LATENCIES if result[key] is not None]
    parts = [
        _batch(result),
        Part(
            "Latencies",
            grouped_bars(
                [name for key, name in known if key in ("tpot_ms", "itl_ms")],
                [("median", COLOURS["sky"]), ("p99", COLOURS["blue"])],
                [
                    [result[key][figure] for key, _ in known if key in ("tpot_ms", "itl_ms")]
                    for figure in ("p50", "p99")
                ],
                "ms",
            ),
            (
                table(
                    ("ms", *figures),
                    [(name, *(number(result[key][figure], 2) for figure in figures)) for key, name in known],
                ),
            ),
        ),
    ]
    if search is not None:
        parts.append(
            Part(
                "Search",
                tables=(
                    table(
                        ("tried", "TPOT (ms)", "within the limit"),
                        [
                            Row(
                                (
                                    "all at once" if one["value"] is None else f"{one['value']:,.6g}",
                                    number(one["tpot_ms"], 3),
                                    "yes" if one["meets"] else "no",
                                ),
                                states={2: "good" if one["meets"] else "bad"},
                            )
                            for one in search["tried"]
                        ],
                    ),
                ),
            )
        )
    energy = result["energy"]
    if energy is not None:
        shares = sorted(energy["components_j_per_token"].items(), key=lambda item: -item[1])
        parts.append(
            Part(
                "Energy of a token",
                tables=(
                    table(
                        ("component", "mJ"),
                        [(name.replace("_", " "), number(1e3 * value, 3)) for name, value in shares],
                    ),
                ),
                text=f"{1e3 * energy['j_per_token']:,.1f} mJ, as modelled; prefill is "
                f"{1e3 * energy['prefill_j_per_token']:,.1f} of them.",
            )
        )
    counts = {
        "busy": f"{100 * result['utilisation']:.1f} %",
        "prefill's share of the busy time": f"{100 * result['prefill_share']:.1f} %",
        "iterations": result["iterations"],
        "decode steps": result["decode_steps"],
        "preemptions": result["preemptions"],
        "KV cache (tokens)": result["kv"]["capacity_tokens"],
        "input tokens": work["input_tokens"],
        "output tokens": work["output_tokens"],
    }
    parts.append(
        Part(
            "Engine and policy",
            tables=(
                table(("", "value"), [(key, plain(value)) for key, value in counts.items()]),
                table(
                    ("policy", "value"),
                    [(key.replace("_", " "), plain(value)) for key, value in result["policy"].items()],
                ),
            ),
            side_by_side=True,
            text="Lengths are drawn: only some of their statistics are published." if work["synthetic"] else "",
        )
    )
    return Page(f"{result['system']}: {result['model']} serves {work['name']}", lead, tuple(cards), tuple(parts))


def _batch(result: Mapping[str, Any]) -> Part:
    series = result["batch"]["series"]

    def draw(figure: Any, narrow: bool) -> None:
        axes = figure.add_subplot()
        axes.fill_between(
            [point[0] for point in series],
            [point[1] for point in series],
            color=COLOURS["blue"],
            alpha=0.75,
            step="mid",
            linewidth=0,
        )
        axes.set_xlabel("s")
        axes.set_ylabel("requests that decode")
        axes.set_ylim(0, None)
        axes.grid(color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)

    step = max(1, len(series) // 20)
    batch, limit = result["batch"], result["policy"]["batch_limit"]
    caption = f"Mean {batch['mean']:,.1f}, largest {batch['max']:,} of at most {limit:,}."
    return Part(
        "Requests in work",
        Chart(draw, 2.6, 2.4, caption),
        (
            table(
                ("s", "requests"),
                [(number(point[0], 3), number(point[1], 1)) for point in series[::step]],
                caption=f"Every {step}th point of the chart." if step > 1 else "",
            ),
        ),
        folded=True,
    )
