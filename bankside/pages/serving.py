"""Page of requests served: ``bankside serve``."""

from __future__ import annotations

from typing import Any

from ..results.serving import Serve, Spread
from ..results.words import number
from .components import COLOURS, GRID, Card, Chart, Page, Part, Row, grouped_bars, plain, short, table

__all__ = ["served"]


def served(result: Serve) -> Page:
    """Latencies, batch over time, limits and searches."""
    work, slo, search = result.workload, result.slo, result.search
    lead = (
        f"{work.requests:,} requests of {work.name} take {result.makespan_s:,.1f} s: "
        f"{short(result.throughput_tok_s)} tokens and {short(result.requests_per_s)} requests per second."
    )
    if search is not None and slo is not None:
        found = "all at once" if search.value is None else f"{search.value:,.6g}"
        what = "batch" if search.what == "batch" else "arrival rate"
        lead += f" The largest {what} within {slo.tpot_ms:g} ms at the {search.percentile:g}th percentile is {found}."
    cards = [
        Card("throughput", f"{short(result.throughput_tok_s)} tokens/s", f"{short(result.requests_per_s)} requests/s")
    ]
    known = {name: one for name, one in result.latencies.items() if one is not None}
    for name, one in known.items():
        if one is result.ttft_ms or one is result.tpot_ms:
            cards.append(Card(f"{name}, p99", f"{short(one.p99)} ms", f"median {short(one.p50)} ms"))
    cards.append(Card("KV cache", f"{100 * result.kv.mean:.0f} %", f"mean; peak {100 * result.kv.peak:.0f} %"))
    if slo is not None:
        cards.append(
            Card(
                "requests within the limits",
                f"{100 * slo.met:.1f} %",
                f"{short(slo.goodput_tok_s)} tokens/s of them",
                "good" if slo.met >= 0.99 else "bad",
            )
        )
    steps = {name: one for name, one in known.items() if one is result.tpot_ms or one is result.itl_ms}
    parts = [
        _batch(result),
        Part(
            "Latencies",
            grouped_bars(
                list(steps),
                [("median", COLOURS["sky"]), ("p99", COLOURS["blue"])],
                [[one.p50 for one in steps.values()], [one.p99 for one in steps.values()]],
                "ms",
            ),
            (
                table(
                    ("ms", *Spread.model_fields),
                    [(name, *(number(value, 2) for _, value in one)) for name, one in known.items()],
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
                                    "all at once" if one.value is None else f"{one.value:,.6g}",
                                    number(one.tpot_ms, 3),
                                    "yes" if one.meets else "no",
                                ),
                                states={2: "good" if one.meets else "bad"},
                            )
                            for one in search.tried
                        ],
                    ),
                ),
            )
        )
    energy = result.energy
    if energy is not None:
        shares = sorted(energy.components_j_per_token.items(), key=lambda item: -item[1])
        parts.append(
            Part(
                "Energy of a token",
                tables=(
                    table(
                        ("component", "mJ"),
                        [(name.replace("_", " "), number(1e3 * value, 3)) for name, value in shares],
                    ),
                ),
                text=f"{1e3 * energy.j_per_token:,.1f} mJ, as modelled; prefill is "
                f"{1e3 * energy.prefill_j_per_token:,.1f} of them.",
            )
        )
    counts = {
        "busy": f"{100 * result.utilisation:.1f} %",
        "prefill's share of the busy time": f"{100 * result.prefill_share:.1f} %",
        "iterations": result.iterations,
        "decode steps": result.decode_steps,
        "preemptions": result.preemptions,
        "KV cache (tokens)": result.kv.capacity_tokens,
        "input tokens": work.input_tokens,
        "output tokens": work.output_tokens,
    }
    parts.append(
        Part(
            "Engine and policy",
            tables=(
                table(("", "value"), [(key, plain(value)) for key, value in counts.items()]),
                table(("policy", "value"), [(key.replace("_", " "), plain(value)) for key, value in result.policy]),
            ),
            side_by_side=True,
            text="Lengths are drawn: only some of their statistics are published." if work.synthetic else "",
        )
    )
    return Page(f"{result.system}: {result.model} serves {work.name}", lead, tuple(cards), tuple(parts))


def _batch(result: Serve) -> Part:
    series = result.batch.series

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
    batch, limit = result.batch, result.policy.batch_limit
    caption = f"Mean {batch.mean:,.1f}, largest {batch.max:,} of at most {limit:,}."
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
