"""Page of a decoded text: ``bankside decode``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    number,
    plain,
    table,
)

__all__ = ["decoded"]


def decoded(result: Mapping[str, Any]) -> Page:
    """The text with its differences, perplexities, errors, maps of attention, tokens by tier, hazards."""
    reference = result["reference"]["perplexity"]
    ours = result["reference"]["bits_per_byte"]
    ratio = result["perplexity"] / reference if result["perplexity"] and reference else None
    free = result["mode"] == "free"
    count = len(result["tokens"])
    lead = (
        f"{count} tokens, {count - result['prompt_tokens']} of them generated, with the attention of {result['system']}."
        if free
        else f"{count} tokens of a text, each predicted from those before it with the attention of {result['system']}."
    )
    if result["interrupted"]:
        lead += " The run was interrupted."
    cards = [
        Card("perplexity", number(result["perplexity"], 4), f"float32 {number(reference, 4)}"),
        Card("over float32's", "–" if ratio is None else f"{ratio:.5f}", "ratio of perplexities"),
        Card("bits per byte", number(result["bits_per_byte"], 4), f"float32 {number(ours, 4)}"),
        Card("greedy agreement", f"{100 * result['agreement']:.2f} %", _difference(result)),
        Card("divergence", f"{number(result['kl_mean_nats'], 6)}", "nats, mean"),
    ]
    if result["time_per_token_us"] is not None:
        cards.append(
            Card(
                "a token's step",
                f"{result['time_per_token_us']:,.1f} µs",
                f"{result['energy_per_token_mj']:,.3f} mJ, from the system's model",
            )
        )
    parts = [_text(result), *_perplexities(result), _errors(result), *_maps(result), *_tiers(result), *_hazards(result)]
    if result["details"]:
        figures = [(name.replace("_", " "), plain(value)) for name, value in result["details"].items()]
        parts.append(Part("Further figures", tables=(table(("figure", "value"), figures),)))
    return Page(f"{result['model']} on {result['system']}", lead, tuple(cards), tuple(parts))


def _difference(result: Mapping[str, Any]) -> str:
    first = result["first_difference"]
    return "no difference" if first is None else f"first difference at token {first}"


def _text(result: Mapping[str, Any]) -> Part:
    """Each token; a mark where float32 would have chosen another one."""
    agrees, prompt = result["agrees"], result["prompt_tokens"]
    first = 1 if result["mode"] == "teacher-forced" else prompt
    pieces = []
    for place, piece in enumerate(result["pieces"]):
        state = "prompt" if result["mode"] == "free" and place < prompt else ""
        if place >= first and not agrees[place - 1]:
            state = "bad"
        pieces.append((piece, state))
    what = "would choose another token than the system" if result["mode"] == "free" else "and the system disagree"
    return Part("Text", text=f"Marked: places at which float32 {what}.", pieces=tuple(pieces))


def _perplexities(result: Mapping[str, Any]) -> list[Part]:
    exact = {"system": "float32", "agreement": 1.0, "kl_mean_nats": 0.0, "max_abs_logit_error": 0.0}
    rows: list[Mapping[str, Any]] = [{**exact, **result["reference"]}]
    rows += [result] if result["system"] != "float32" else []
    rows += [one for one in result["compared"] if one["system"] not in ("float32", result["system"])]
    known = [(one["system"], one["perplexity"]) for one in rows if one["perplexity"] is not None]
    cells = [
        (
            one["system"],
            number(one["perplexity"], 4),
            number(one["bits_per_byte"], 4),
            f"{100 * one['agreement']:.2f}",
            number(one["kl_mean_nats"], 6),
            number(one["max_abs_logit_error"], 4),
        )
        for one in rows
    ]
    head = ("system", "perplexity", "bits per byte", "agreement, %", "divergence, nats", "largest logit error")
    return [Part("Perplexity by system", bars(known, "perplexity"), tables=(table(head, cells),))]


def _errors(result: Mapping[str, Any]) -> Part:
    error = result["attention_error"]
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


def _maps(result: Mapping[str, Any]) -> list[Part]:
    dense, selected = result["attention"]["dense"], result["attention"]["selected"]
    maps = [("float32, mean over layers and heads", dense)]
    if selected is not None:
        maps.append(("share of heads that take a token", selected))

    def draw(figure: Any, narrow: bool) -> None:
        for place, (name, values) in enumerate(maps):
            axes = figure.add_subplot(*((len(maps), 1) if narrow else (1, len(maps))), place + 1)
            _heat(axes, values, len(result["tokens"]))
            axes.set_title(name, fontsize=9)

    height = 4.0 if len(maps) == 2 else 4.6
    caption = "Rows are queries, columns the tokens that they attend to. Colours follow the square root of the weight."
    return [Part("Maps of attention", Chart(draw, height, 3.8 * len(maps), caption))]


def _heat(axes: Any, values: Sequence[Sequence[float]], tokens: int) -> None:
    roots = [[max(value, 0.0) ** 0.5 for value in row] for row in values]
    axes.imshow(roots, extent=(0, tokens, tokens, 0), cmap="viridis", interpolation="nearest", vmin=0)
    axes.set_xlabel("token")
    axes.set_ylabel("query")


def _tiers(result: Mapping[str, Any]) -> list[Part]:
    if result["placement"] is None:
        return []
    names, tokens = result["placement"]["tiers"], result["placement"]["tokens"]
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


def _hazards(result: Mapping[str, Any]) -> list[Part]:
    if not result["hazards"]:
        return []
    cells = [
        (
            one["name"],
            f"{one['with_it']} {number(one['perplexity'], 4)}",
            f"{one['without_it']} {number(one['perplexity_without'], 4)}",
            ", ".join(f"{key.replace('_', ' ')} {plain(value)}" for key, value in one["figures"].items()),
        )
        for one in result["hazards"]
    ]
    head = ("hazard", "perplexity with it", "without it", "figures")
    return [Part("Hazards", tables=(table(head, cells),))]
