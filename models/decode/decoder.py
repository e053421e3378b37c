"""Embedding, norms, rotary positions, grouped queries, SwiGLU and output matrix around a backend."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from ...constraints.core.errors import ConfigError
from ..llm.weights import Model
from ..numerics.sums import Lists
from ..program.selected import Placement, fetch
from .backend import Backend, Place, exact_attention

__all__ = ["READS", "SAMPLES", "UNIT_TOKENS", "Decoder", "StepInfo"]

#: Most positions of a call whose reads are counted.
SAMPLES = 48

#: Tokens of an access unit of AttAcc's mapping, in which reads are counted.
UNIT_TOKENS = 16

#: Figures of the reads of a position, after its number of tokens. Access units and rows of keys are counted where the
#: method places the tokens, and where they lie in order.
READS = ("wanted", "units", "rows", "units_in_order", "rows_in_order")


@dataclass
class StepInfo:
    """What a decoder saw of its attention.

    Attributes
    ----------
    weights : mean attention of float32 over layers and heads, of shape ``(tokens, all tokens)``
    selected : share of the heads whose query takes a token, of the same shape; None without sparse attention
    reads : what sparse attention reads for some positions of the last call, of shape ``(positions, 1 + READS)``: tokens
        so far, then means over layers and heads of :data:`READS`; None without sparse attention
    error : squared norms of the differences from float32's attention on the same numbers, and of this attention, of shape
        ``(2, layers, heads)``
    """

    weights: np.ndarray | None = None
    selected: np.ndarray | None = None
    reads: np.ndarray | None = None
    error: np.ndarray = field(default_factory=lambda: np.zeros((2, 0, 0)))


class Decoder:
    """Decodes with a model through a backend.

    Parameters
    ----------
    room : tokens that the caches hold
    watch : whether attention is compared with float32's on the same queries, keys and values

    Attributes
    ----------
    length : tokens decoded so far
    seen : :class:`StepInfo` of the tokens so far
    captured : for each layer, the turned queries, the turned keys and the values of the last call, if ``capture``
    ahead : for each layer, the turned queries that the previous layer's attention input gives, if ``capture``; None for
        the first layer

    Raises
    ------
    :exc:`ConfigError`
        If the model has a sliding window, or the backend does not take its shape.
    """

    def __init__(
        self, model: Model, backend: Backend, room: int, *, watch: bool = False, capture: bool = False
    ) -> None:
        if model.shape.sliding_window is not None and model.shape.sliding_window < room:
            raise ConfigError(
                f"{model.shape.name} attends to {model.shape.sliding_window} tokens at most; a sliding "
                f"window of fewer than {room} tokens can't be decoded"
            )
        self.model, self.backend, self.room, self.watch = model, backend, room, watch
        self.capture, self.length = capture, 0
        shape = model.shape
        backend.begin(model, room)
        self.layers = [model.layer(n) for n in range(shape.layers)]
        self._keys: list[list[np.ndarray]] = [[] for _ in range(shape.layers)]
        self._values: list[list[np.ndarray]] = [[] for _ in range(shape.layers)]
        self._exact: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in range(shape.layers)]
        self.seen = StepInfo(error=np.zeros((2, shape.layers, shape.heads)))
        self.captured: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.ahead: list[np.ndarray | None] = []

    def branch(self, backend: Backend) -> Decoder:
        """A decoder that goes on from here with another selection. This decoder stays as it is.

        Raises
        ------
        :exc:`ConfigError`
            If one of the two backends is not float32.
        """
        if type(self.backend) is not Backend or type(backend) is not Backend:
            raise ConfigError(f"a decoder of {self.backend.name} can't go on as {backend.name}: both must be float32")
        other = Decoder(self.model, backend, self.room, watch=self.watch, capture=self.capture)
        other.length = self.length
        other._keys, other._values = ([list(parts) for parts in one] for one in (self._keys, self._values))
        # A float32 cache holds the numbers themselves.
        other._exact = [list(zip(*pair, strict=True)) for pair in zip(self._keys, self._values, strict=True)]
        return other

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        """Logits of each new token, float32 of shape ``(tokens, vocabulary)``.

        Raises
        ------
        :exc:`ConfigError`
            If the caches have no room for the tokens.
        """
        tokens = np.asarray(tokens, np.int64)
        model, shape, backend = self.model, self.model.shape, self.backend
        if self.length + len(tokens) > self.room:
            raise ConfigError(
                f"{self.length + len(tokens)} tokens are more than the {self.room} that there is room for"
            )
        positions = np.arange(self.length, self.length + len(tokens))
        angles = np.tile(positions[:, None] * model.rotary, 2)[:, None]
        half = shape.head_dim // 2
        cos = np.cos(angles).astype(np.float32)
        sin = (np.sin(angles) * np.where(np.arange(shape.head_dim) < half, -1, 1)).astype(np.float32)
        self.seen.weights = np.zeros((len(tokens), positions[-1] + 1), np.float32)
        self.seen.selected = self.seen.reads = None
        if backend.selection is not None:
            self.seen.selected = np.zeros_like(self.seen.weights)
            at = np.unique(np.linspace(self.length, positions[-1], min(len(tokens), SAMPLES)).round().astype(np.int64))
            self.seen.reads = np.concatenate([at[:, None] + 1.0, np.zeros((len(at), len(READS)))], axis=1)
        self.captured, self.ahead = [], []
        x, before = backend.embed(model.embedding[tokens]), None
        for number, w in enumerate(self.layers):
            h = backend.norm(x, w["input_layernorm.weight"])
            q, k, v = (
                self._linear(w, number, f"self_attn.{one}_proj", h).reshape(len(tokens), -1, shape.head_dim)
                for one in "qkv"
            )
            if shape.qk_norm:
                q, k = (backend.norm(part, w[f"self_attn.{name}_norm.weight"]) for name, part in (("q", q), ("k", k)))
            q, k = backend.rotate(q, cos, sin), backend.rotate(k, cos, sin)
            hint = None
            if before is not None and (self.capture or (backend.selection is not None and backend.selection.ahead)):
                hint = self._linear(w, number, "self_attn.q_proj", before).reshape(q.shape)
                hint = backend.rotate(
                    backend.norm(hint, w["self_attn.q_norm.weight"]) if shape.qk_norm else hint, cos, sin
                )
            before = h
            heads = self._attention(number, q, k, v, hint)
            x = backend.add(x, self._linear(w, number, "self_attn.o_proj", heads.reshape(len(tokens), -1)))
            h = backend.norm(x, w["post_attention_layernorm.weight"])
            inner = backend.activation(
                self._linear(w, number, "mlp.gate_proj", h), self._linear(w, number, "mlp.up_proj", h)
            )
            x = backend.add(x, self._linear(w, number, "mlp.down_proj", inner))
        self.length += len(tokens)
        return backend.gemv("lm_head", backend.norm(x, model.tensors["model.norm.weight"]), model.output)

    def _linear(self, w: dict[str, np.ndarray], number: int, name: str, x: np.ndarray) -> np.ndarray:
        out = self.backend.gemv(f"{number}.{name}", x, w[f"{name}.weight"])
        bias = w.get(f"{name}.bias")
        return out if bias is None else self.backend.add(out, bias)

    def _attention(
        self, layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray, hint: np.ndarray | None
    ) -> np.ndarray:
        shape, backend = self.model.shape, self.backend
        if self.capture:
            self.captured.append((q, k, v))
            self.ahead.append(hint)
        self._keys[layer].append(backend.keep(k))
        self._values[layer].append(backend.keep(v))
        if self.watch or backend.selection is not None:
            self._exact[layer].append((k, v))
        keys, cached = np.concatenate(self._keys[layer]), np.concatenate(self._values[layer])
        self._keys[layer], self._values[layer] = [keys], [cached]
        new, group = len(q), shape.group
        counts = np.tile(np.arange(self.length + 1, self.length + new + 1), group)
        dense = Lists.prefixes(counts)
        exact = (
            [np.concatenate([pair[n] for pair in self._exact[layer]]) for n in range(2)] if self._exact[layer] else []
        )
        if exact:
            self._exact[layer] = [(exact[0], exact[1])]
        out = np.empty_like(q)
        counted = np.empty((shape.kv_heads, 0 if self.seen.reads is None else len(self.seen.reads), len(READS)))
        weights, taken = (
            np.zeros((shape.kv_heads, new, self.length + new), np.float32) if wanted else None
            for wanted in (self.watch, backend.selection is not None)
        )

        def group_of(head: int) -> None:
            mine = slice(head * group, (head + 1) * group)
            queries, ahead = (
                None if one is None else np.ascontiguousarray(one[:, mine].swapaxes(0, 1)).reshape(group * new, -1)
                for one in (q, hint)
            )
            assert queries is not None
            lists = dense
            if backend.selection is not None:
                lists = backend.selection.choose(
                    queries, exact[0][:, head], counts, layer=layer, head=head, group=group, hint=ahead
                )
                assert taken is not None
                np.add.at(taken[head], (lists.owners % new, lists.tokens), 1)
                counted[head] = self._reads(layer, head, exact[0][:, head], lists, new)
            got = backend.attention(Place(layer, head), queries, keys[:, head], cached[:, head], lists)
            out[:, mine] = got.reshape(group, new, -1).swapaxes(0, 1)
            if weights is not None:
                want, each = exact_attention(queries, exact[0][:, head], exact[1][:, head], dense)
                with np.errstate(invalid="ignore", over="ignore"):
                    error = np.square(got - want, dtype=np.float64).reshape(group, -1).sum(axis=1)
                self.seen.error[0, layer, mine] += error
                self.seen.error[1, layer, mine] += np.square(want, dtype=np.float64).reshape(group, -1).sum(axis=1)
                weights[head] = each.reshape(group, new, -1).sum(axis=0)

        if new == 1:
            for head in range(shape.kv_heads):
                group_of(head)
        else:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(group_of, range(shape.kv_heads)))
        if weights is not None and self.seen.weights is not None:
            self.seen.weights += weights.sum(axis=0) / (shape.layers * shape.heads)
        if taken is not None and self.seen.selected is not None and self.seen.reads is not None:
            self.seen.selected += taken.sum(axis=0) / (shape.layers * shape.heads)
            self.seen.reads[:, 1:] += counted.sum(axis=0) / (shape.layers * shape.kv_heads)
        return out

    def _reads(self, layer: int, head: int, keys: np.ndarray, lists: Lists, new: int) -> np.ndarray:
        """Figures of :data:`READS` for each sampled position: means over the queries that share the keys."""
        selection, out = self.backend.selection, []
        assert selection is not None and self.seen.reads is not None
        for count in self.seen.reads[:, 0].astype(np.int64).tolist():
            mine = range(count - 1 - (len(keys) - new), len(lists.query), new)
            chosen = [lists.tokens[lists.first[n] : lists.first[n + 1]] for n in mine]
            placed = fetch([selection.placement(keys, count, layer, head)] * len(chosen), chosen, UNIT_TOKENS)
            order = fetch([Placement.in_order(count)] * len(chosen), chosen, UNIT_TOKENS)
            out.append((placed.wanted, placed.units, placed.rows, order.units, order.rows))
        return np.array(out)
