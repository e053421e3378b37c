"""Page of a decoded text: ``bankside decode``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..results.decoding import Decode, DecodeCompared, DecodeStream
from ..results.words import number
from .components import (
    COLOURS,
    GRID,
    SEQUENCE,
    Card,
    Chart,
    Page,
    Part,
    bars,
    beside,
    grouped_bars,
    legend,
    plain,
    stacked,
    table,
)

__all__ = ["decoded", "perplexities", "running_text", "waveform"]


def decoded(result: Decode) -> Page:
    """The text with its differences, perplexities, errors, maps of attention, reads, tokens by tier, hazards, a step's
    time line, a head's waveform."""
    reference, count = result.reference, len(result.tokens)
    ratio = result.perplexity / reference.perplexity if result.perplexity and reference.perplexity else None
    lead = (
        f"{count} tokens, {count - result.prompt_tokens} of them generated, with the attention of {result.system}."
        if result.mode == "free"
        else f"{count} tokens of a text, each predicted from those before it with the attention of {result.system}."
    )
    if result.interrupted:
        lead += " The run was interrupted."
    first = result.first_difference
    differs = "no difference" if first is None else f"first difference at token {first}"
    cards = [
        Card("perplexity", number(result.perplexity, 4), f"float32 {number(reference.perplexity, 4)}"),
        Card("over float32's", "–" if ratio is None else f"{ratio:.5f}", "ratio of perplexities"),
        Card("bits per byte", number(result.bits_per_byte, 4), f"float32 {number(reference.bits_per_byte, 4)}"),
        Card("greedy agreement", f"{100 * result.agreement:.2f} %", differs),
        Card("divergence", f"{number(result.kl_mean_nats, 6)}", "nats, mean"),
    ]
    if result.time_per_token_us is not None:
        energy = f"{result.energy_per_token_mj:,.3f} mJ, from the system's model"
        cards.append(Card("a token's step", f"{result.time_per_token_us:,.1f} µs", energy))
    parts = [
        running_text(result),
        *perplexities(result),
        _errors(result),
        *_maps(result),
        *_reads(result),
        *_tiers(result),
    ]
    parts += [*_hazards(result), *_step(result), *_time_line(result), *waveform(result)]
    if result.details:
        figures = [(name.replace("_", " "), plain(value)) for name, value in result.details.items()]
        parts.append(Part("Further figures", tables=(table(("figure", "value"), figures),)))
    return Page(f"{result.model} on {result.system}", lead, tuple(cards), tuple(parts))


def running_text(result: Decode) -> Part:
    """Each token; a mark where float32 would have chosen another one."""
    free, prompt = result.mode == "free", result.prompt_tokens
    pieces = []
    for place, piece in enumerate(result.pieces):
        state = "prompt" if free and place < prompt else ""
        if place >= (prompt if free else 1) and not result.agrees[place - 1]:
            state = "bad"
        pieces.append((piece, state))
    what = "would choose another token than the system" if free else "and the system disagree"
    return Part("Text", text=f"Marked: places at which float32 {what}.", pieces=tuple(pieces))


def perplexities(result: Decode) -> list[Part]:
    exact = DecodeCompared(
        system="float32",
        **dict(result.reference),
        agreement=1.0,
        first_difference=None,
        kl_mean_nats=0.0,
        max_abs_logit_error=0.0,
        attention_error_mean=0.0,
    )
    rows: list[Decode | DecodeCompared] = [exact, *([result] if result.system != "float32" else [])]
    rows += [one for one in result.compared if one.system not in ("float32", result.system)]
    known = [(one.system, one.perplexity) for one in rows if one.perplexity is not None]
    cells = [
        (
            one.system,
            number(one.perplexity, 4),
            number(one.bits_per_byte, 4),
            f"{100 * one.agreement:.2f}",
            number(one.kl_mean_nats, 6),
            number(one.max_abs_logit_error, 4),
        )
        for one in rows
    ]
    head = ("system", "perplexity", "bits per byte", "agreement, %", "divergence, nats", "largest logit error")
    return [Part("Perplexity by system", bars(known, "perplexity"), tables=(table(head, cells),))]


def _errors(result: Decode) -> Part:
    error = result.attention_error
    layers = [f"layer {n}" for n in range(len(error))]
    heads = range(len(error[0]))
    shown = heads if len(heads) <= len(SEQUENCE) else ()
    cells = [(name, *(number(value, 6) for value in row)) for name, row in zip(layers, error, strict=True)]
    numbers = table(("layer", *(f"head {n}" for n in heads)), cells)
    if shown:
        names = [(f"head {n}", SEQUENCE[n]) for n in shown]
        chart = grouped_bars(layers, names, [[row[n] for row in error] for n in shown], "relative L2 error")
    else:
        means = [sum(value or 0.0 for value in row) / len(row) for row in error]
        chart = bars(list(zip(layers, means, strict=True)), "relative L2 error, mean over heads")
    return Part("Error of attention by layer", chart, tables=(numbers,))


def _maps(result: Decode) -> list[Part]:
    dense, selected = result.attention.dense, result.attention.selected
    maps = [("float32, mean over layers and heads", dense)]
    if selected is not None:
        maps.append(("share of heads that take a token", selected))

    def draw(figure: Any, narrow: bool) -> None:
        for place, (name, values) in enumerate(maps):
            axes = figure.add_subplot(*((len(maps), 1) if narrow else (1, len(maps))), place + 1)
            _heat(axes, values, len(result.tokens))
            axes.set_title(name, fontsize=9)

    height = 4.0 if len(maps) == 2 else 4.6
    caption = "Rows are queries, columns the tokens that they attend to. Colours follow the square root of the weight."
    cells = []
    for name, values in maps:
        rows = [row for row in values if sum(row) > 0]
        first = sum(row[0] / sum(row) for row in rows) / max(len(rows), 1)
        own = sum(values[n][n] / sum(values[n]) for n in range(len(values)) if sum(values[n]) > 0) / max(len(rows), 1)
        cells.append((name, f"{100 * first:.1f}", f"{100 * own:.1f}", f"{100 * max(1 - first - own, 0):.1f}"))
    size = -(-len(result.tokens) // len(dense))
    numbers = table(("map", f"on the first {size} tokens, %", f"on their own {size}, %", "between, %"), cells)
    return [Part("Maps of attention", Chart(draw, height, 3.8 * len(maps), caption), tables=(numbers,))]


def _heat(axes: Any, values: Sequence[Sequence[float]], tokens: int) -> None:
    roots = [[max(value, 0.0) ** 0.5 for value in row] for row in values]
    axes.imshow(roots, extent=(0, tokens, tokens, 0), cmap="viridis", interpolation="nearest", vmin=0)
    axes.set_xlabel("token")
    axes.set_ylabel("query")


def _tiers(result: Decode) -> list[Part]:
    if result.placement is None:
        return []
    names, tokens = result.placement.tiers, result.placement.tokens
    series = [[row[n] for row in tokens] for n in range(len(names))]
    colours = (COLOURS["red"], COLOURS["blue"], COLOURS["grey"])

    def draw(figure: Any, narrow: bool) -> None:
        axes = figure.add_subplot()
        axes.stackplot(range(1, len(tokens) + 1), series, labels=[name.upper() for name in names], colors=colours)
        axes.set_xlabel("tokens decoded")
        axes.set_ylabel("tokens held")
        axes.grid(color=GRID, linewidth=0.8)
        axes.legend(beside(axes.get_legend_handles_labels()[1], narrow), frameon=False, loc="upper left")

    last = table(("tier", "tokens at the end"), list(zip(names, map(str, tokens[-1]), strict=True)))
    return [Part("Tokens by tier", Chart(draw, 3.2, 3.0), tables=(last,))]


def _step(result: Decode) -> list[Part]:
    found = result.time_breakdown_us
    if not found:
        return []
    names = [(name.replace("_", " "), SEQUENCE[n % len(SEQUENCE)]) for n, name in enumerate(found)]
    chart = stacked([result.system], names, [list(found.values())], "time of a token's step, µs", "µs")
    cells = [(name.replace("_", " "), number(value, 3)) for name, value in found.items()]
    return [Part("A token's step", chart, tables=(table(("part", "µs"), cells),))]


def _reads(result: Decode) -> list[Part]:
    """Access units and rows that sparse attention reads, beside all of them."""
    reads = result.reads
    if reads is None:
        return []
    what = {"units": f"access units of {reads.unit_tokens} keys", "rows": f"rows of {reads.row_tokens} keys"}
    series = (
        ("_of_all", "all tokens", "grey"),
        ("", "chosen, where the method places them", "red"),
        ("_in_order", "chosen, tokens in order", "blue"),
    )
    dots = "." if len(reads.tokens) < 2 else ""

    def draw(figure: Any, narrow: bool) -> None:
        for place, (key, name) in enumerate(what.items()):
            axes = figure.add_subplot(*((2, 1) if narrow else (1, 2)), place + 1)
            for suffix, label, colour in series:
                axes.plot(
                    reads.tokens,
                    getattr(reads, key + suffix),
                    color=COLOURS[colour],
                    linewidth=1.6,
                    marker=dots,
                    linestyle="--" if suffix == "_in_order" else "-",
                    label=label,
                )
            axes.set_ylim(0)
            axes.set_xlabel("tokens so far")
            axes.set_ylabel(name)
            axes.grid(color=GRID, linewidth=0.8)
            axes.set_axisbelow(True)
        legend(figure, axes, narrow)

    last = {suffix: label for suffix, label, _ in series}
    cells = [
        (label, *(number(float(getattr(reads, key + suffix)[-1]), 2) for key in what)) for suffix, label in last.items()
    ]
    numbers = table((f"of keys, at {reads.tokens[-1]:,} tokens", *what.values()), cells)
    text = (
        f"Mean over layers and heads. At the last position a query takes {number(float(reads.wanted[-1]), 1)} of "
        f"{reads.tokens[-1]:,} tokens. Values are read in as many units and rows."
    )
    return [Part("Rows touched", Chart(draw, 3.4, 5.4), tables=(numbers,), text=text)]


def _time_line(result: Decode) -> list[Part]:
    """Spans of a step, a line for each track."""
    line = result.time_line
    if line is None or not line.spans:
        return []
    whole, spans = line.layers == line.of_layers, line.spans
    tracks = list(dict.fromkeys(span.track for span in spans))
    begun = min(span.start_us for span in spans)
    end = max(span.start_us + span.us for span in spans)

    def draw(figure: Any, narrow: bool) -> None:
        axes = figure.add_subplot()
        for place, track in enumerate(tracks):
            mine = [(span.start_us - begun, span.us) for span in spans if span.track == track]
            colour = SEQUENCE[1 + place % (len(SEQUENCE) - 1)]
            # An edge keeps the shortest spans visible.
            axes.broken_barh(
                mine, (len(tracks) - place - 0.36, 0.72), facecolors=colour, edgecolors=colour, linewidth=0.9, zorder=3
            )
        axes.set_yticks([len(tracks) - n for n in range(len(tracks))], beside(tracks, narrow))
        axes.set_ylim(0.4, len(tracks) + 0.6)
        axes.set_xlim(0, end - begun)
        axes.set_xlabel("µs from the beginning" + ("" if whole else " of the layer"))
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)

    cells = []
    for track in tracks:
        mine = [span for span in spans if span.track == track]
        names = list(dict.fromkeys(span.name for span in mine))
        cells.append(
            (
                track,
                f"{len(mine)}",
                number(mine[0].start_us, 3),
                number(sum(span.us for span in mine), 3),
                "" if names == [track] else ", ".join(names),
            )
        )
    numbers = table(("track", "spans", "first begins (µs)", "together (µs)", "work"), cells)
    shown = "all layers" if whole else f"the first of {line.of_layers} layers"
    height = 0.9 + 0.27 * len(tracks)
    return [
        Part(
            "Time line of a step",
            Chart(draw, height, height + 0.1 * len(tracks)),
            tables=(numbers,),
            text=f"The step of the last token, from the system's model; {shown}.",
        )
    ]


def waveform(result: Decode) -> list[Part]:
    """Streams of a unit in RTL: how busy they are in the whole step, and cycle by cycle at two places."""
    wave = result.rtl and result.rtl.waveform
    if not wave or not wave.cycles:
        return []
    streams = wave.streams
    names = [one.stream + (" ▸" if one.input else " ◂") for one in streams]
    windows = [(0, wave.cycles), *((first, end) for first, end in wave.windows)]

    def draw(figure: Any, narrow: bool) -> None:
        ratios = [1.0] + [1.7] * (len(windows) - 1)
        axes_of = figure.subplots(len(windows), 1, gridspec_kw={"height_ratios": ratios})
        for axes, (first, end) in zip(axes_of, windows, strict=True):
            (_busy if axes is axes_of[0] else _signals)(axes, streams, first, end, narrow)
            axes.set_yticks([len(streams) - n for n in range(len(streams))], names)
            axes.set_ylim(0.4, len(streams) + 0.75)
            axes.set_xlim(first, end)
        axes_of[-1].set_xlabel("clock of the step")

    cells = []
    for one, name in zip(streams, names, strict=True):
        offered = sum(length for _, length in one.valid)
        moved = _both(one.valid, one.ready)
        cells.append(
            (
                name,
                f"{sum(length for _, length in moved):,}",
                f"{offered - sum(n for _, n in moved):,}",
                f"{moved[0][0]:,}" if moved else "–",
                f"{sum(moved[-1]) - 1:,}" if moved else "–",
            )
        )
    numbers = table(("stream", "transfers", "clocks of waiting", "first in clock", "last in clock"), cells)
    recorded = "" if wave.cycles >= wave.clocks else f", the first {wave.cycles:,} of them recorded"
    text = (
        f"`{wave.unit}` in Verilog at {wave.clock_mhz:g} MHz: the step of token {wave.token}, layer {wave.layer}, head "
        f"{wave.head}, {wave.clocks:,} clocks{recorded}. Above, each stream's busy clocks; below, single clocks. A "
        "line is valid, a filled part a transfer, a hollow part waits for ready. Digits are the lowest of the payload."
    )
    height = 0.9 + 0.3 * len(streams) * (1 + 1.7 * (len(windows) - 1))
    return [Part("A head in RTL", Chart(draw, height, height), tables=(numbers,), text=text)]


def _both(a: Sequence[Sequence[int]], b: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Runs of clocks that are in runs of ``a`` and of ``b``."""
    out, n, m = [], 0, 0
    while n < len(a) and m < len(b):
        first, end = max(a[n][0], b[m][0]), min(sum(a[n]), sum(b[m]))
        if first < end:
            out.append((first, end - first))
        if sum(a[n]) < sum(b[m]):
            n += 1
        else:
            m += 1
    return out


def _busy(axes: Any, streams: Sequence[DecodeStream], first: int, end: int, narrow: bool) -> None:
    """Transfers of each stream as bars, waiting in a lighter colour behind them."""
    for place, one in enumerate(streams):
        low = len(streams) - place - 0.32
        colour = COLOURS["blue" if one.input else "red"]
        axes.broken_barh([tuple(run) for run in one.valid], (low, 0.64), facecolors=COLOURS["sand"], zorder=2)
        # An edge keeps a single clock visible.
        axes.broken_barh(
            _both(one.valid, one.ready), (low, 0.64), facecolors=colour, edgecolors=colour, linewidth=0.5, zorder=3
        )


def _signals(axes: Any, streams: Sequence[DecodeStream], first: int, end: int, narrow: bool) -> None:
    """Valid of each stream as a line, transfers filled, with the last digits of their payloads where there is room."""
    digits = 0 if narrow or end - first > 64 else 2
    for place, one in enumerate(streams):
        low, colour = len(streams) - place - 0.32, COLOURS["blue" if one.input else "red"]
        moved = _both(one.valid, one.ready)
        taken = {clock for begin, length in moved for clock in range(begin, begin + length)}
        level = [0] * (end - first)
        for begin, length in one.valid:
            for clock in range(max(begin, first), min(begin + length, end)):
                level[clock - first] = 1
        axes.stairs(
            [low + 0.64 * bit for bit in level],
            range(first, end + 1),
            baseline=None,
            color=colour,
            linewidth=1.1,
            zorder=3,
        )
        shown = [(clock, 1) for clock in sorted(taken) if first <= clock < end]
        axes.broken_barh(shown, (low, 0.64), facecolors=colour, alpha=0.35, zorder=2)
        for clock, _ in shown if digits else ():
            payload = one.payloads.get(str(clock), "")
            axes.text(clock + 0.5, low + 0.3, payload[-digits:], ha="center", va="center", fontsize=5.5, zorder=4)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def _hazards(result: Decode) -> list[Part]:
    if not result.hazards:
        return []
    cells = [
        (
            one.name,
            f"{one.with_it} {number(one.perplexity, 4)}",
            f"{one.without_it} {number(one.perplexity_without, 4)}",
            ", ".join(f"{key.replace('_', ' ')} {plain(value)}" for key, value in one.figures.items()),
        )
        for one in result.hazards
    ]
    head = ("hazard", "perplexity with it", "without it", "figures")
    return [Part("Hazards", tables=(table(head, cells),))]
