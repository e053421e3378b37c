"""Accuracy of selections of tokens on a real text: ``bankside sparse``."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.workspace import write_files

from ..hardware.generate import tool_versions
from ..provenance.sources import note_sources
from ..results.decoding import Sparse, SparseImportant, SparseOrder, SparseRow, SparseSelection, SparseTouched
from ..results.terminal import FittingTable
from .decode import text_tokens

if TYPE_CHECKING:
    from bankside.models.decode.accuracy import Accuracy, Heads, Touched
    from bankside.models.llm.captured import Capture
    from bankside.models.llm.weights import Model

__all__ = ["DEFAULT_METHODS", "PICTURES", "orders", "sparse_result", "sparse_table"]

DEFAULT_METHODS = ("full", "window", "quest", "sparq", "infinigen", "starc", "top")

#: Endings of pictures.
PICTURES = (".png", ".svg", ".pdf")

#: Tokens of a text unless the model or the text has fewer.
TOKENS = 2048

#: Selections of a picture: of single tokens, of pages, of clusters.
PICTURED = ("sparq", "quest", "starc")


def sparse_result(
    folder: str | None,
    *,
    text: str | None = None,
    captured: str | None = None,
    methods: Sequence[str] = DEFAULT_METHODS,
    budgets: Sequence[int | Fraction] = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 16)),
    tokens: int | None = None,
    prompt: int | None = None,
    windows: int = 1,
    full_layers: int = 1,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    in_loop: bool = True,
    head: tuple[int, int] | None = None,
    plot: str | None = None,
    picture: str | None = None,
    count: Callable[[int, int], None] = lambda done, total: None,
) -> Sparse:
    """Accuracy of selections of tokens on a text.

    Parameters
    ----------
    folder : of the model; None: the model of the package
    text : file; None: the held-out text of the package's model
    captured : folder of a capture of the model, in place of a text
    methods, budgets : every method has every budget; a fraction is a share of ``tokens``
    tokens, prompt : of a text; 2,048, and three quarters of the tokens
    windows : texts that follow each other in the file
    full_layers, options, in_loop, count : of :func:`bankside.models.decode.accuracy.accuracy`
    head : layer and query head of the picture; the first one that counts by default
    plot, picture : files for the figures by budget, and for the rows that a selection touches

    Raises
    ------
    :exc:`ConfigError`
        For a model, text or capture that does not fit, or a file that can't be written. A method, budget or option that is
        not valid raises it too.
    """
    from bankside.models.decode.accuracy import accuracy
    from bankside.models.llm.captured import model_digest, read_capture
    from bankside.models.llm.weights import SMALL, read_model

    for option, file in (("--plot", plot), ("--picture", picture)):
        if file is not None and Path(file).suffix.lower() not in PICTURES:
            raise ConfigError(f"{option}: a picture ends with {', '.join(PICTURES)}, not '{file}'")
        if file is not None and Path(file).is_dir():
            raise ConfigError(f"{option}: can't write {file}: is a directory")
    if text is not None and captured is not None:
        raise ConfigError("a text and a capture can't be used together: a capture has a text of its own")
    if text is None and captured is None:
        if folder is not None:
            raise ConfigError(
                "a model of your own needs --text or --capture: only the package's model has a held-out text"
            )
        text = str(SMALL / "heldout.txt")
    note_sources(sparse_result, accuracy)
    model = read_model(SMALL if folder is None else folder)
    capture = None
    if captured is not None:
        capture = read_capture(captured)
        capture.check(model)
    assert captured is not None or text is not None
    texts = _texts(model, text, capture, tokens, windows)
    size = len(texts[0])
    prompt = 3 * size // 4 if prompt is None else prompt
    wanted = [_budget(budget, size) for budget in budgets]
    for names, what in ((methods, "method"), (wanted, "budget")):
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            raise ConfigError(f"{what} {twice} appears twice")
    layers = None if capture is None else [_heads(capture, number) for number in range(model.shape.layers)]
    head = _checked_head(model, head, full_layers)
    found = accuracy(
        model,
        texts,
        prompt,
        methods,
        wanted,
        options=options,
        full_layers=full_layers,
        captured=layers,
        in_loop=in_loop,
        count=count,
    )
    result = Sparse(
        model=model.shape.name,
        folder=str(model.folder),
        model_sha256=model_digest(model),
        text=text,
        capture=captured,
        tokens=size,
        prompt=prompt,
        windows=len(texts),
        methods=list(methods),
        budgets=wanted,
        full_layers=full_layers,
        layers=found.layers,
        queries=found.queries,
        predicted=found.predicted,
        reference_perplexity=_finite(float(np.exp(found.dense.mean()))) if in_loop else None,
        rows=[_row(found, method, budget) for method in methods for budget in wanted],
        important=[SparseImportant(budget=budget, tokens_per_page=value) for budget, value in found.important.items()],
        orders=list(orders(found, methods, wanted)),
        touched=None,
        files={},
        tools=tool_versions(),
    )
    result.notes = list(_notes(result))
    if plot is not None:
        from .sparse_figures import plot as draw_plot

        _write(plot, draw_plot(result, Path(plot).suffix.lower()[1:]))
        result.files["plot"] = plot
    if picture is not None:
        from .sparse_figures import rows_touched

        if head is None:
            raise ConfigError(f"--picture: {model.shape.name} has no layer that selects")
        views = list(_touched(model, texts[0], layers, head, min(wanted), prompt, options))
        _write(
            picture,
            rows_touched(
                views,
                f"{model.shape.name}, head {head[0]}.{head[1]}, {size:,} tokens",
                Path(picture).suffix.lower()[1:],
            ),
        )
        result.files["picture"] = picture
        names = [name for name in SparseSelection.model_fields if name != "method"]
        result.touched = SparseTouched(
            layer=head[0],
            head=head[1],
            budget=min(wanted),
            selections=[
                SparseSelection(method=view.method, **{name: int(getattr(view.fetch, name)) for name in names})
                for view in views
            ],
        )
    return result


def _texts(
    model: Model, text: str | None, capture: Capture | None, tokens: int | None, windows: int
) -> list[np.ndarray]:
    """Tokens of each text."""
    most = model.shape.max_context
    if tokens is not None and tokens > most:
        raise ConfigError(f"{tokens} tokens are beyond the {most} positions that {model.shape.name} was made for")
    if capture is not None:
        if windows != 1 or (tokens is not None and tokens != len(capture.tokens)):
            raise ConfigError(f"{capture.path.parent}: a capture is one text of {len(capture.tokens)} tokens")
        return [capture.tokens]
    assert text is not None
    found, _ = text_tokens(model, text, "a text")
    size = min(most, TOKENS, len(found) // windows) if tokens is None else tokens
    if size * windows > len(found) or not size:
        raise ConfigError(f"{text}: {len(found)} tokens; {windows} times {max(size, 1)} are needed")
    return [found[first : first + size] for first in range(0, windows * size, size)]


def _heads(capture: Capture, layer: int) -> Heads:
    from bankside.models.decode.accuracy import Heads

    return Heads.of(capture.layer(layer))


def _budget(budget: int | Fraction, tokens: int) -> int:
    return int(budget * tokens) if isinstance(budget, Fraction) else budget


def _checked_head(model: Model, head: tuple[int, int] | None, full_layers: int) -> tuple[int, int] | None:
    shape = model.shape
    if head is None:
        return (max(full_layers, 1), 0) if max(full_layers, 1) < shape.layers else None
    if not (0 <= head[0] < shape.layers and 0 <= head[1] < shape.heads):
        raise ConfigError(
            f"head {head[0]}.{head[1]} does not exist: {shape.name} has layers 0 to {shape.layers - 1} with "
            f"heads 0 to {shape.heads - 1}"
        )
    return head


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _row(found: Accuracy, method: str, budget: int) -> SparseRow:
    from bankside.models.decode.accuracy import difference

    row = found.row(method, budget)
    loop: dict[str, Any] = dict.fromkeys(("perplexity", "perplexity_ratio", "ratio_error", "kl_mean_nats"))
    if len(row.losses):
        gap, error = difference(row.losses, found.dense)
        ratio = math.exp(min(gap, 700))
        figures = (row.perplexity, ratio, ratio * error, float(row.kl_nats.mean()))
        loop = dict(zip(loop, map(_finite, figures), strict=True))
    return SparseRow(**{name: getattr(row, name) for name in SparseRow.model_fields if name not in loop}, **loop)


# Orders of a paper ---------------------------------------------------------------------------------------------------


def orders(found: Accuracy, methods: Sequence[str], budgets: Sequence[int]) -> Iterator[SparseOrder]:
    """STARC's claims about orders of methods, pair by pair and budget by budget, and whether this text has them.

    A claim on recall is compared with recall. A claim on accuracy or perplexity is compared with perplexity.
    """
    from bankside.models.decode.accuracy import difference
    from bankside.models.papers import load_paper

    names = {name.lower(): name for name in methods}
    for claim in load_paper("starc").claims:
        if claim.quantity != "ordering" or not isinstance(claim.value, str):
            continue
        figure: Literal["recall", "perplexity"] = "recall" if "recall" in claim.statement.lower() else "perplexity"
        for better, sign, worse in _pairs(claim.value):
            if better not in names or worse not in names:
                continue
            for budget in budgets:
                rows = found.row(names[better], budget), found.row(names[worse], budget)
                errors = None
                if figure == "recall":
                    values: list[float | None] = [row.recall for row in rows]
                    gap = rows[0].recall - rows[1].recall
                elif not len(rows[0].losses):
                    continue
                else:
                    values = [_finite(row.perplexity) for row in rows]
                    gap, error = difference(rows[1].losses, rows[0].losses)
                    errors = _finite(gap / error) if error else None
                yield SparseOrder(
                    claim=claim.id,
                    figure=figure,
                    budget=budget,
                    better=better,
                    worse=worse,
                    better_value=values[0],
                    worse_value=values[1],
                    standard_errors=errors,
                    holds=gap > 0 or (gap == 0 and "=" in sign),
                )


def _pairs(text: str) -> Iterator[tuple[str, str, str]]:
    """Neighbours of a chain of methods such as ``SparQ <= STARC < Quest, InfiniGen (perplexity)``, the better one first.
    Names are in small letters."""
    parts = re.split(r"(<=|>=|<|>)", re.sub(r"\(.*?\)", "", text))
    groups = [[name.strip().lower() for name in part.split(",")] for part in parts[::2]]
    for (left, right), sign in zip(itertools.pairwise(groups), parts[1::2], strict=True):
        for better, worse in itertools.product(left, right):
            yield better, sign, worse


def _notes(result: Sparse) -> Iterator[str]:
    layers = ", ".join(map(str, result.layers))
    yield (
        f"recall, mass and error are of all {result.queries} queries behind the prompt of {result.prompt} tokens, "
        f"layers {layers}; no position is sampled"
    )
    if any(one.claim.startswith("starc-acc") for one in result.orders):
        yield (
            "perplexity of this text stands for the tasks of STARC's claims: neither LongBench nor PG-19 is checkable "
            "here"
        )
    for one in (one for one in result.orders if not one.holds):
        sigma = "" if one.standard_errors is None else f", {abs(one.standard_errors):.1f} standard errors"
        yield (
            f"{one.claim} does not hold at a budget of {one.budget}: {one.figure} of {one.better} "
            f"{_number(one.better_value)}, of {one.worse} {_number(one.worse_value)}{sigma}"
        )


# Output --------------------------------------------------------------------------------------------------------------


def _touched(
    model: Model,
    tokens: np.ndarray,
    layers: Sequence[Heads] | None,
    head: tuple[int, int],
    budget: int,
    prompt: int,
    options: Mapping[str, Mapping[str, Any]] | None,
) -> Iterator[Touched]:
    from bankside.models.decode.accuracy import heads_of, touched
    from bankside.models.decode.backend import Backend
    from bankside.models.decode.decoder import Decoder

    if layers is None:
        decoder = Decoder(model, Backend(), len(tokens), capture=True)
        decoder.forward(tokens)
        layers = heads_of(decoder)
    return touched(layers[head[0]], head[0], head[1], PICTURED, budget, prompt=prompt, options=options)


def _write(file: str, data: bytes) -> None:
    path = Path(file)
    write_files(path.parent, {path.name: data})


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def sparse_table(result: Sparse) -> list[Any]:
    """The result as objects that rich prints."""
    names = ("tokens", "recall", "mass", "error", "perplexity", "over full's", "±", "divergence")
    rows: list[Sequence[str] | None] = []
    for budget in result.budgets:
        rows += [None] if rows else []
        rows += [
            (
                str(budget),
                row.method,
                f"{row.tokens:.1f}",
                *(_number(value, 3) for value in (row.recall, row.mass, row.error)),
                *map(_number, (row.perplexity, row.perplexity_ratio, row.ratio_error, row.kl_mean_nats)),
            )
            for row in result.rows
            if row.budget == budget
        ]
    right: dict[str, Any] = {"justify": "right"}
    table = FittingTable(
        [("budget", right), ("method", {}), *((name, right) for name in names)],
        rows,
        (9, 2, 8, 6),
        title=f"{result.model}, {result.windows} x {result.tokens:,} tokens, prompt {result.prompt:,}",
        title_style="bold",
        title_justify="left",
    )
    lines = []
    if result.predicted:
        lines = [f"full attention: perplexity {_number(result.reference_perplexity)} of {result.predicted} tokens"]
    lines += [
        f"important tokens on a page of 16 that has any, budget {one.budget}: {one.tokens_per_page:.2f}"
        for one in result.important
    ]
    told: dict[str, list[bool]] = {}
    for order in result.orders:
        told.setdefault(order.claim, []).append(order.holds)
    lines += [f"{claim}: {sum(holds)} of {len(holds)} orders as in the paper" for claim, holds in told.items()]
    if (touched := result.touched) is not None:
        lines += [
            f"head {touched.layer}.{touched.head}, budget {touched.budget}, {view.method}: {view.wanted} tokens "
            f"wanted, {view.fetched} fetched, {view.units} units, {view.rows} rows"
            for view in touched.selections
        ]
    lines += [f"note: {note}" for note in result.notes]
    lines += [f"{name}: {path}" for name, path in result.files.items()]
    return [table, *lines]
