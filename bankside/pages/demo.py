"""Page of the demo: the context from which near-memory attention wins, and the basis of this answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..results.decoding import Decode
from ..results.demo import Crossover, CrossoverModel, CrossoverPoint, Demo, DemoSim
from ..results.systems import Eval
from ..results.units import Synth
from ..results.words import grouped_ms, number
from .components import GRID, INK, SEQUENCE, Card, Chart, Page, Part, clock, clock_state, legend, table
from .decoding import perplexities, running_text, waveform
from .systems import area, assumptions, configuration, energy, latency, throughput

__all__ = ["answer", "gains", "story", "threshold"]

Result = Mapping[str, Any]


def gains(points: Sequence[CrossoverPoint]) -> dict[int, float]:
    """Time of a token without units over that with them, by context. ``points``: pairs of results of one model, the
    system without units first."""
    return {pair.context: pair.without_ms / pair.with_ms for pair in points}


def threshold(found: Mapping[int, float]) -> float | None:
    """Context from which the gain is always at least 1. Between two points the gain is a line over the logarithm of the
    context. The first point if the units win everywhere, None if they do not win at the last."""
    places = sorted(found)
    if found[places[-1]] < 1:
        return None
    lose = [place for place in places if found[place] < 1]
    if not lose:
        return float(places[0])
    low, high = lose[-1], places[places.index(lose[-1]) + 1]
    part = (1 - found[low]) / (found[high] - found[low])
    return math.exp(math.log(low) + part * (math.log(high) - math.log(low)))


def _about(context: float, found: Mapping[int, float]) -> str:
    """A context between two points in two digits; a context of a point unchanged."""
    return f"{context:,.0f}" if context in found else f"about {float(f'{context:.2g}'):,.0f}"


def answer(crossover: Crossover) -> list[str]:
    """The demo's answer: a sentence for each model, unit and rule of the GPUs."""
    out = []
    for model in crossover.models:
        found = gains(model.points)
        first, last = min(found), max(found)
        begins = threshold(found)
        queries = model.queries_per_kv_head
        who = f"{model.model} ({_queries(queries)} per KV head), {_passes(model)}, {_gpus(model)}"
        best = max(found, key=lambda context: found[context])
        if begins is None:
            what = (
                f"the units never win up to {last:,} tokens of context; the best is {found[best]:.2f} times at {best:,}"
            )
        elif begins == first:
            what = f"the units win from {first:,} tokens of context on, up to {found[best]:.2f} times at {best:,}"
        else:
            what = (
                f"the units begin to win at {_about(begins, found)} tokens of context, and reach "
                f"{found[best]:.2f} times at {best:,}"
            )
        out.append(f"{who}: {what}.")
    return out


def _queries(count: int) -> str:
    return "1 query" if count == 1 else f"{count} queries"


def _passes(series: CrossoverModel) -> str:
    return f"{_queries(series.queries_per_pass)} a pass"


def _gpus(series: CrossoverModel) -> str:
    return "GPU measured" if series.gpu_rule == "measured" else "GPU at its roofline"


def story(result: Demo) -> Page:
    """First the answer, then the tables."""
    from ..results.schemas import result_of

    results, crossover = result.evaluations, result.crossover
    synth, sim = result.synth, result.sim
    decoded: Decode = result_of(result.decoding)
    cards = []
    for model in crossover.models:
        found = gains(model.points)
        begins = threshold(found)
        queries = model.queries_per_kv_head
        cards.append(
            Card(
                f"{_queries(queries)} per KV head ({model.model}), {_passes(model)}, {_gpus(model)}",
                f"{max(found.values()):.2f} times",
                "the most that the units gain; they "
                + ("never win" if begins is None else f"win from {_about(begins, found)} tokens on"),
                "good" if begins is not None else "bad",
            )
        )
    good = not sim.measured.mismatches
    cards += [
        Card(
            f"{synth.unit} {synth.preset or ''}",
            f"{synth.area_ge / 1e3:.1f} kGE",
            f"{clock(synth)} in {synth.library}" + (f"; {synth.process.sentence}" if synth.process else ""),
            "bad" if clock_state(synth) == "bad" else "",
        ),
        Card(
            "co-simulation",
            "bit-exact" if good else f"{sim.measured.mismatches} mismatches",
            f"{sim.measured.vectors:,} results of {sim.unit}",
            "good" if good else "bad",
        ),
        _heads(decoded),
    ]
    first = results[0]
    here = f"{first.model}, context {first.context:,}, batch {first.batch}"
    parts = [
        _crossover(crossover),
        Part(
            "Why",
            text="A unit beside a bank reads keys and values at the bank's own rate, many times that of the memory's "
            "interface. A GPU reads them once for all queries that share a KV head; the published unit reads them again "
            "for each query. Its gain therefore shrinks with every query that shares a head. A unit that takes a group in "
            "one pass reads them once too, and then the unit sets the pace. The gain grows with the context, because "
            "only attention takes longer with it. All other operators run on the GPU in all systems.",
        ),
        _rules(result.by_rule),
        latency(results),
        throughput(results, result.sweeps),
        energy(results),
        area(results),
        _synthesised(synth),
        _cosimulated(sim),
        *_decoding(decoded),
        assumptions(results),
        Part("Commands", tables=(table(("command",), [(command,) for command in result.commands], code={0}),)),
    ]
    return Page(
        "Where attention beside memory wins",
        " ".join(answer(crossover)) + f" The charts below the first are of {here}.",
        tuple(cards),
        tuple(part for part in parts if part is not None),
    )


def _synthesised(synth: Synth) -> Part:
    """Results of the unit's synthesis, and its configuration."""
    kinds = sorted(synth.cells.items(), key=lambda item: (-item[1], item[0]))[:10]
    memories = f", {synth.memory_ge_estimate / 1e3:.1f} kGE (estimated)" if synth.memory_ge_estimate else ""
    rows = [
        ("unit", f"{synth.unit} {synth.preset or ''}"),
        ("configuration", synth.config_hash),
        ("library", f"{synth.library}, effort {synth.effort}"),
        ("area", f"{synth.area_um2:,.0f} µm² = {synth.area_ge / 1e3:.1f} kGE"),
        ("  flip-flops", f"{synth.sequential_ge / 1e3:.1f} kGE"),
        ("memories", f"{synth.memory_bits:,} bits{memories}"),
        ("critical path", f"{synth.critical_path_ns:.3f} ns" if synth.critical_path_ns else "none"),
        ("highest clock", clock(synth)),
        *([("in its own process", synth.process.sentence)] if synth.process else []),
        ("most frequent cells", ", ".join(f"{count:,} {name}" for name, count in kinds)),
    ]
    tables = (table(("synthesis", ""), rows), configuration(synth.config))
    return Part("The processing unit", tables=tables, side_by_side=True)


def _cosimulated(sim: DemoSim) -> Part:
    """Results of the unit's bench, and of a channel's decode step."""
    channel = sim.channel
    step = [
        ("step", f"{channel.tokens} tokens over {channel.banks} banks, {channel.queries} queries"),
        ("result beats compared", str(channel.vectors)),
        ("mismatches", str(channel.mismatches)),
        ("largest error, banks merged", f"{channel.max_abs_error:.3g}"),
        ("time", f"{channel.time_ns:.1f} ns"),
        ("time of the memory alone", f"{channel.memory_time_ns:.1f} ns"),
        ("stall cycles", str(channel.stall_cycles)),
        ("cycles waiting for softmax", str(channel.exposed_softmax_cycles)),
    ]
    tables = (
        table((f"{sim.unit} against its model", ""), sim.figures),
        table(("one KV head's decode step on a channel", ""), step),
    )
    return Part("Co-simulation of the generated Verilog", tables=tables, side_by_side=True)


def _heads(result: Decode) -> Card:
    rtl = result.rtl
    assert rtl is not None
    good = not rtl.mismatches
    return Card(
        f"{result.model} on {result.system}",
        "bit-exact" if good else f"{rtl.mismatches} mismatches",
        f"{rtl.heads} head in Verilog, {rtl.tokens} tokens, {rtl.clocks:,} clocks; perplexity "
        f"{number(result.perplexity, 4)}, float32 {number(result.reference.perplexity, 4)}",
        "good" if good else "bad",
    )


def _decoding(result: Decode) -> list[Part]:
    """A language model whose attention the unit computes: its text, perplexities beside further systems, a head in RTL."""
    words = (
        f"{result.model} wrote {len(result.tokens) - result.prompt_tokens} tokens with the attention of {result.system}. "
        "Grey is the prompt. `decode.html` beside this page has the whole result."
    )
    return [
        replace(running_text(result), title="A model that decodes with these units", text=words),
        *perplexities(result),
        *waveform(result),
    ]


def _rules(by_rule: Sequence[Sequence[Eval]]) -> Part:
    """Times of a token under each rule of the GPUs."""
    rows = [
        (
            group[0].gpu_rule or "",
            one.system,
            f"{one.tpot_ms:.3f}",
            f"{attention_ms(one):.3f}",
            f"{sum(value for name, value in one.breakdown_ms.items() if 'allreduce' in name):.3f}",
            ", ".join(one.records) or "none",
        )
        for group in by_rule
        for one in group
    ]
    return Part(
        "The GPU by three rules",
        text="The first rule takes GEMMs, attention and all-reduces from measured kernel times; all charts are of it. "
        "The second is a roofline: a lower bound of GEMMs and attention, and a fit for all-reduces. The third is the "
        "rule of the AttAcc simulator. Time of the host between kernels is in none of them.",
        tables=(table(("rule", "system", "ms per token", "attention (ms)", "all-reduce (ms)", "records"), rows),),
    )


def _crossover(crossover: Crossover) -> Part:
    models = crossover.models

    def draw(figure: Any, narrow: bool) -> None:
        from matplotlib.ticker import FuncFormatter, NullLocator

        axes = figure.add_subplot()
        axes.axhline(1, color=INK, linewidth=1.2, linestyle="--")
        kinds = list(dict.fromkeys((model.model, model.unit) for model in models))
        for model in models:
            found = gains(model.points)
            queries = model.queries_per_kv_head
            measured = model.gpu_rule == "measured"
            place = kinds.index((model.model, model.unit))
            colour = SEQUENCE[1 + place % (len(SEQUENCE) - 1)]
            axes.plot(
                list(found),
                list(found.values()),
                color=colour,
                marker="os^Dv"[place % 5],
                linewidth=1.8,
                linestyle="-" if measured else ":",
                markersize=5,
                label=f"{model.model}, {model.queries_per_pass} of {queries}, {model.gpu_rule}",
                zorder=3,
            )
            begins = threshold(found)
            if begins is not None and begins > min(found):
                axes.plot(
                    [begins], [1], marker="o", markersize=11, markerfacecolor="none", markeredgecolor=colour, zorder=4
                )
        places = sorted({point.context for model in models for point in model.points})
        axes.set_xscale("log", base=2)
        axes.set_xticks(places[::2] if narrow else places)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("context (tokens)")
        axes.set_ylabel("times as fast with the units")
        axes.grid(color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        legend(figure, axes, narrow)

    rows = [
        (
            model.model,
            str(model.queries_per_kv_head),
            str(model.queries_per_pass),
            model.gpu_rule,
            f"{point.context:,}",
            f"{point.without_ms:.3f}",
            f"{point.with_ms:.3f}",
            f"{point.without_attention_ms:.3f}",
            f"{point.with_attention_ms:.3f}",
            f"{point.without_ms / point.with_ms:.3f}",
        )
        for model in models
        for point in model.points
    ]
    without, *_ = crossover.systems
    return Part(
        "The line where the units begin to win",
        Chart(
            draw,
            3.9,
            3.7,
            f"Time of a token on {without} over its time with the units, batch {crossover.batch}. 8 of 8: a "
            "pass over K and V serves 8 of the 8 queries that share a KV head. Above the dashed line the units win; a ring "
            "marks the point from which they win.",
        ),
        (
            table(
                (
                    "model",
                    "queries per KV head",
                    "queries per pass",
                    "rule of the GPU",
                    "context",
                    f"{without} (ms)",
                    "units (ms)",
                    "attention without",
                    "attention with",
                    "times as fast",
                ),
                rows,
            ),
        ),
    )


def attention_ms(result: Eval) -> float:
    """Milliseconds of a token that are attention, with its queries, appends and merges."""
    return sum(grouped_ms(result)[:2])
