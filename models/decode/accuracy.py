"""How near a selection of tokens comes to full attention, on the queries, keys and values of a real text.

The prompt attends to all of its tokens. Every token behind it has a query on each layer and head, and the selection is
made for each of them. Four figures follow from one float32 pass over the text, with the same queries, keys and values for
every method:

- recall: share of the ``B`` tokens with the largest scores that the selection has (all tokens of a context up to ``B``)
- precision: share of the selection that is among these tokens; STARC's paper words its recall this way
- mass: sum of the selected tokens' weights in full attention
- error: relative L2 error of the attention's output, with the weights of the selected tokens scaled to a sum of 1

For perplexity, the tokens behind the prompt are decoded with the selection in the loop. Each layer's queries, keys and
values then come from the selections of the layers before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ..llm.weights import Model
from ..numerics.sums import Lists
from ..program.selected import ROW_TOKENS, UNITS, Fetch, Placement, fetch, pages
from ..sparse.methods import Full, Method, Quest, largest, make_method
from .backend import Backend, exact_attention
from .decoder import Decoder
from .evaluate import log_softmax

__all__ = ["Accuracy", "Heads", "Row", "Touched", "accuracy", "difference", "heads_of", "small_accuracy", "touched"]

#: Shares of the context that are budgets unless others are given.
SHARES = (2, 4, 8, 16)


@dataclass(frozen=True)
class Heads:
    """Queries, keys and values of a text on one layer.

    Attributes
    ----------
    q, ahead : float32 of shape ``(heads, tokens, head_dim)``; ``ahead`` is what the attention input of the layer before
        gives, None for a first layer
    k, v : float32 of shape ``(kv_heads, tokens, head_dim)``
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    ahead: np.ndarray | None

    @classmethod
    def of(cls, tensors: Mapping[str, np.ndarray]) -> Heads:
        """From a layer of a capture."""
        q, k, v = (tensors[name].astype(np.float32) for name in "qkv")
        return cls(q, k, v, tensors["ahead"].astype(np.float32) if "ahead" in tensors else None)

    def group(self, head: int, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """Queries of the tokens from ``first`` on that share keys and values, these keys and values, and queries ahead."""
        size = len(self.q) // len(self.k)
        q, ahead = (
            None
            if one is None
            else np.ascontiguousarray(one[head * size : (head + 1) * size, first:]).reshape(-1, one.shape[-1])
            for one in (self.q, self.ahead)
        )
        assert q is not None
        return q, self.k[head], self.v[head], ahead


def heads_of(decoder: Decoder) -> list[Heads]:
    """Layers of the last call of a decoder that captures."""
    turned = [[np.ascontiguousarray(part.swapaxes(0, 1)) for part in parts] for parts in decoder.captured]
    return [
        Heads(q, k, v, None if ahead is None else np.ascontiguousarray(ahead.swapaxes(0, 1)))
        for (q, k, v), ahead in zip(turned, decoder.ahead, strict=True)
    ]


@dataclass
class Row:
    """Figures of a method with a budget.

    Attributes
    ----------
    method, budget : name, and tokens
    tokens : mean number of selected tokens
    recall, precision, mass, error : see the module; means over queries, and for ``error`` over heads and layers
    recall_by_layer : of the layers that count
    losses : nats of each predicted token, in the loop; empty without it
    kl_nats : divergence from full attention's predictions, of the same shape
    """

    method: str
    budget: int
    tokens: float
    recall: float
    precision: float
    mass: float
    error: float
    recall_by_layer: list[float]
    losses: np.ndarray = field(default_factory=lambda: np.empty(0))
    kl_nats: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def perplexity(self) -> float:
        with np.errstate(over="ignore"):
            return float(np.exp(self.losses.mean()))


@dataclass
class Accuracy:
    """Figures of all methods and budgets.

    Attributes
    ----------
    rows : method by method, budget by budget
    layers : whose figures count: those in which every method selects
    queries : of a head, in all texts together
    predicted : tokens that are predicted in the loop
    important : for each budget, mean number of tokens with the largest scores on a page of 16 tokens that has any
    dense : losses of full attention, in nats; empty without the loop
    """

    rows: list[Row]
    layers: list[int]
    queries: int
    predicted: int
    important: dict[int, float]
    dense: np.ndarray

    def row(self, method: str, budget: int) -> Row:
        return next(row for row in self.rows if (row.method, row.budget) == (method, budget))


def difference(losses: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """Mean difference of two series of losses on the same tokens, and its standard error, in nats."""
    gap = losses - others
    return float(gap.mean()), float(gap.std(ddof=1) / len(gap) ** 0.5) if len(gap) > 1 else float("inf")


class _Sums:
    """Sums over the queries of the layers that count, for one method and budget."""

    def __init__(self, layers: int, heads: int) -> None:
        self.figures = np.zeros((layers, 5))  # queries, tokens, recall, precision, mass
        self.error = np.zeros((2, layers, heads))

    def add(
        self,
        layer: int,
        head: int,
        group: int,
        lists: Lists,
        top: np.ndarray,
        weights: np.ndarray,
        got: np.ndarray,
        want: np.ndarray,
    ) -> None:
        chosen = np.zeros(top.shape, bool)
        chosen[lists.owners, lists.tokens] = True
        both = (chosen & top).sum(axis=1)
        sizes, wanted = lists.sizes, top.sum(axis=1)
        mass = np.einsum("ij,ij->i", weights, chosen, dtype=np.float64)
        # The weights of a query sum to 1 but for rounding. A selection of all tokens has all the mass.
        whole = weights.sum(axis=1, dtype=np.float64)
        self.figures[layer] += (
            len(sizes),
            sizes.sum(),
            (both / wanted).sum(),
            (both / np.maximum(sizes, 1)).sum(),
            (mass / whole).sum(),
        )
        mine = slice(head * group, (head + 1) * group)
        for place, value in enumerate((got - want, want)):
            self.error[place, layer, mine] += np.square(value, dtype=np.float64).reshape(group, -1).sum(axis=1)

    def row(self, method: str, budget: int, layers: Sequence[int]) -> Row:
        count, tokens, recall, precision, mass = self.figures[list(layers)].sum(axis=0).tolist()
        wrong, norm = self.error[:, list(layers)]
        error = float(np.sqrt(wrong / np.where(norm == 0, 1, norm)).mean())
        each = [float(one[2] / one[0]) for one in self.figures[list(layers)]]
        return Row(method, budget, tokens / count, recall / count, precision / count, mass / count, error, each)


def accuracy(
    model: Model,
    texts: Sequence[np.ndarray],
    prompt: int,
    methods: Sequence[str],
    budgets: Sequence[int],
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    full_layers: int = 1,
    captured: Sequence[Heads] | None = None,
    in_loop: bool = True,
    count: Callable[[int, int], None] = lambda done, total: None,
) -> Accuracy:
    """Figures of methods and budgets on texts of a model.

    Parameters
    ----------
    texts : tokens of each text, int64 arrays
    prompt : so many first tokens of a text attend to all; STARC clusters them together
    methods, budgets : every method has every budget
    options : further options of a method by its name
    full_layers : so many first layers attend to all tokens and count in no figure of the pass
    captured : layers of the only text, in place of a float32 pass
    in_loop : whether the tokens are decoded with the selection too
    count : called with finished steps and all steps

    Raises
    ------
    :exc:`ConfigError`
        For an unknown method, a budget or option that it does not take, or a prompt that leaves no two tokens.
    """
    made = {
        (name, budget): _make(name, budget, prompt, full_layers, (options or {}).get(name, {}))
        for name in methods
        for budget in budgets
    }
    if not made:
        raise ConfigError("at least one method and one budget are needed")
    shape = model.shape
    if not 0 <= full_layers < shape.layers:
        raise ConfigError(
            f"layers that attend to all tokens must be 0 to {shape.layers - 1}, not {full_layers}: figures "
            "need a layer with a selection"
        )
    first = max(full_layers, int(any(method.ahead for method in made.values())))
    if first >= shape.layers:
        raise ConfigError(f"{shape.name}: infinigen attends to all tokens in the first layer, and there is no other")
    for tokens in texts:
        if prompt < 1:
            raise ConfigError(f"the prompt must have at least 1 token, not {prompt}")
        if len(tokens) < prompt + 2:
            raise ConfigError(f"a text of {len(tokens)} tokens needs at least two behind the prompt of {prompt}")
    layers = list(range(first, shape.layers))
    # A method without a budget is run once.
    loops = {key: (key[0], 0) if isinstance(method, Full) else key for key, method in made.items()}
    total = len(texts) * (len(layers) * shape.kv_heads + (len(set(loops.values())) if in_loop else 0))
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        count(done, total)

    sums = {key: _Sums(shape.layers, shape.heads) for key in made}
    important: dict[int, list[float]] = {budget: [] for budget in budgets}
    losses: dict[tuple[str, int], list[np.ndarray]] = {key: [] for key in loops.values()}
    kl: dict[tuple[str, int], list[np.ndarray]] = {key: [] for key in loops.values()}
    dense: list[np.ndarray] = []
    for tokens in texts:
        found = captured
        if found is None:
            pass_ = Decoder(model, Backend(), len(tokens), capture=True)
            pass_.forward(tokens)
            found = heads_of(pass_)
        for layer in layers:
            for head in range(shape.kv_heads):
                _measure(found[layer], layer, head, prompt, made, sums, important)
                step()
        if in_loop:
            begun = Decoder(model, Backend(), len(tokens))
            begun.forward(tokens[:prompt])
            exact = log_softmax(begun.branch(Backend()).forward(tokens[prompt:])[:-1])
            at, following = np.arange(len(exact)), tokens[prompt + 1 :]
            dense.append(-exact[at, following])
            for key in dict.fromkeys(loops.values()):
                backend = Backend(key[0])
                backend.selection = next(made[one] for one, run in loops.items() if run == key)
                own = log_softmax(begun.branch(backend).forward(tokens[prompt:])[:-1])
                losses[key].append(-own[at, following])
                kl[key].append((np.exp(exact) * (exact - own)).sum(axis=-1))
                step()
    rows = []
    for key in made:
        row = sums[key].row(*key, layers)
        if in_loop:
            row.losses, row.kl_nats = np.concatenate(losses[loops[key]]), np.concatenate(kl[loops[key]])
        rows.append(row)
    queries = sum(len(tokens) - prompt for tokens in texts)
    return Accuracy(
        rows,
        layers,
        queries,
        queries - len(texts) if in_loop else 0,
        {budget: float(np.mean(each)) for budget, each in important.items()},
        np.concatenate(dense) if dense else np.empty(0),
    )


def _make(name: str, budget: int, prompt: int, full_layers: int, options: Mapping[str, Any]) -> Method:
    more = {"prefill": prompt} if name == "starc" else {}
    return make_method(name, budget, full_layers=full_layers, **more, **options)


def _measure(
    heads: Heads,
    layer: int,
    head: int,
    prompt: int,
    made: Mapping[tuple[str, int], Method],
    sums: Mapping[tuple[str, int], _Sums],
    important: Mapping[int, list[float]],
) -> None:
    """Add the figures of the queries that share one head's keys."""
    q, k, v, ahead = heads.group(head, prompt)
    group, tokens = len(heads.q) // len(heads.k), len(k)
    counts = np.tile(np.arange(prompt + 1, tokens + 1), group)
    want, weights = exact_attention(q, k, v, Lists.prefixes(counts))
    scores = np.where(np.arange(tokens) < counts[:, None], q @ k.T, np.nan)
    tops: dict[int, np.ndarray] = {}
    for (name, budget), method in made.items():
        if budget not in tops:
            tops[budget] = largest(scores, budget)
            important[budget].append(_on_a_page(tops[budget]))
        lists = method.choose(q, k, counts, layer=layer, head=head, group=group, hint=ahead)
        got = exact_attention(q, k, v, lists)[0]
        sums[name, budget].add(layer, head, group, lists, tops[budget], weights, got, want)


def _on_a_page(top: np.ndarray) -> float:
    """Mean number of chosen tokens on the pages that have any."""
    edges = np.arange(0, top.shape[1], Quest.PAGE)
    each = np.add.reduceat(top.astype(np.int64), edges, axis=1)
    return float(each.sum() / (each > 0).sum())


def small_accuracy(
    methods: Sequence[str] = ("full", "window", "quest", "sparq", "infinigen", "starc", "top"),
    *,
    tokens: int = 2048,
    prompt: int = 1536,
    windows: int = 1,
    budgets: Sequence[int] | None = None,
    full_layers: int = 1,
    in_loop: bool = True,
) -> Accuracy:
    """Figures of the model of the package on the held-out text that comes with it; budgets are 1/2 to 1/16 of the tokens.

    For checks of claims: ``small_accuracy().row("starc", 256).recall``.
    """
    from ..llm.weights import SMALL, read_model

    model = read_model(SMALL)
    text = (SMALL / "heldout.txt").read_text(encoding="utf-8")
    found = np.array(model.tokenizer.encode(text, add_special_tokens=False).ids, np.int64)
    texts = [found[first : first + tokens] for first in range(0, windows * tokens, tokens)]
    return accuracy(
        model,
        texts,
        prompt,
        methods,
        budgets or [tokens // share for share in SHARES],
        full_layers=full_layers,
        in_loop=in_loop,
    )


# Rows of memory ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Touched:
    """What the selection of one query touches in memory.

    Attributes
    ----------
    method : name
    slots : slots of the selected tokens, ascending
    placement : of all tokens
    fetch : tokens wanted and fetched, units, rows
    unit, row : tokens of an access unit, and of a row of memory
    """

    method: str
    slots: np.ndarray
    placement: Placement
    fetch: Fetch
    unit: int
    row: int = ROW_TOKENS

    @property
    def units(self) -> np.ndarray:
        """Access units that are read, ascending."""
        return pages(self.slots, self.unit)


def touched(
    heads: Heads,
    layer: int,
    head: int,
    methods: Sequence[str],
    budget: int,
    *,
    prompt: int,
    full_layers: int = 0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    unit: int = UNITS["paper"],
) -> Iterator[Touched]:
    """What the last token's query on a head touches, for each method.

    Parameters
    ----------
    heads : of the layer
    head : number of the query head
    budget : tokens of each method
    """
    shared = head // (len(heads.q) // len(heads.k))
    k, count = heads.k[shared], len(heads.k[shared])
    ahead = None if heads.ahead is None else heads.ahead[head, -1:]
    for name in methods:
        method = _make(name, budget, prompt, full_layers, (options or {}).get(name, {}))
        chosen = method.choose(heads.q[head, -1:], k, np.array([count]), layer=layer, head=shared, hint=ahead).tokens
        placement = method.placement(k, count, layer, shared)
        yield Touched(name, np.sort(placement.of(chosen)), placement, fetch([placement], [chosen], unit), unit)
