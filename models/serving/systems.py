"""The systems of :mod:`models.systems` as the serving engine sees them.

A decode step with unequal contexts: a batch of ``b`` requests takes the time of its linear layers plus attention, which is
the mean over the requests of the attention time of a batch of ``b`` requests with the context of that request. On GPUs
that is exact, since the kernel's operations and bytes add up over requests; beside the banks it takes for granted that
requests are dealt to channels so that all have the same work.

With ``p`` pipeline stages a batch is cut into ``p`` micro-batches and a step takes ``p`` times the slowest stage, as in
:mod:`models.systems.gpu`. Prompts that are prefilled together are micro-batches too: ``m`` of them take ``p + m - 1`` times
the slowest stage with the largest; between decode steps, which keep the pipeline full, ``m`` times.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...constraints.errors import ConfigError
from ..llm import ModelShape, Operator, embedding_operators, head_operators, layer_operators
from ..llm.operators import SOFTMAX_FLOPS
from ..systems import RecordSource, load_system
from ..systems.baselines import OffloadSystem
from ..systems.gpu import GpuSystem
from ..systems.latency import _bracket
from ..systems.pam_hbm import PamHbmSystem
from .engine import ServedSystem

__all__ = ["BLOCK_TOKENS", "GpuServed", "LatencyServed", "OffloadServed", "PamHbmServed", "served_system"]

#: Tokens of a block of KV cache where the system has no granule of its own; vLLM's default.
BLOCK_TOKENS = 16

#: Contexts at which the energy of a decode step is taken; between and beyond them it is a straight line.
ENERGY_AT = (512, 4096)

#: Tokens of a prefill at which the energy of its linear layers is taken.
PREFILL_ENERGY_AT = (16, 4096)

#: Factors of batch and tokens between points at which systems with placement are asked for their energy.
ENERGY_STEPS = (2.0, 2.0**0.5)

_KINDS: dict[type, type[GpuServed]] = {}


def served_system(system: str | os.PathLike[str] | Any, model: ModelShape, *, records: RecordSource, refresh: bool = False
                  ) -> ServedSystem:
    """A system by name, file or object, ready to serve ``model``.

    A system object that has a method ``served(model, records, refresh)`` makes its own. Of others but the two kinds that
    are here, ``latency(model, records=...)`` gives the decode steps (:class:`bankside.models.systems.latency.StepLatency`).

    Raises
    ------
    :exc:`ConfigError`
        If there is no such system, the model can't be split as it says, or the weights do not fit.
    :exc:`MissingRecord`
        If a measurement is missing, with the command that makes it.
    """
    loaded: Any = load_system(system) if isinstance(system, (str, os.PathLike)) else system
    own = getattr(loaded, "served", None)
    if own is not None:
        return own(model, records, refresh)
    kind = _KINDS.get(type(loaded), LatencyServed if isinstance(loaded, GpuSystem) and hasattr(loaded, "latency") else None)
    if kind is None:
        raise ConfigError(f"{loaded.name}: systems of kind '{loaded.kind}' can't be served yet")
    return kind(loaded, model, records, refresh)


class GpuServed:
    """One instance of a system of GPUs alone.

    Attributes
    ----------
    kv_capacity_tokens, kv_block_tokens, kv_window
        See :class:`ServedSystem`. What the fullest device has left beside its weights, in whole blocks.
    """

    def __init__(self, system: GpuSystem, model: ModelShape, records: RecordSource, refresh: bool) -> None:
        layer_operators(model, 1, 1, system.tp)
        self.system, self.model, self.name = system, model, system.name
        self.pp, self.stages = system.pp, system.stages(model)
        self.kv_window = model.sliding_window
        self._prepare(records, refresh)
        self._body_memo: dict[int, np.ndarray] = {}
        self._head_memo: dict[int, float] = {}
        self._prefill_memo: dict[tuple[int, int, int], float] = {}
        self._energy_memo: dict[int, list[dict[str, float]]] = {}
        self._line_memo: dict[str, dict[str, tuple[float, float]]] = {}
        ops = [[op for op in layer_operators(model, 1, c, system.tp) if op.kind == "attention"] for c in (1, 2)]
        flops, count = ([sum(getattr(op, what) for op in one) for one in ops] for what in ("flops", "bytes"))
        gpu = system.spec.gpu
        self._flops_per_s = gpu.peak_tflops * 1e12 * gpu.compute_utilisation
        self._bytes_per_s = gpu.bandwidth_gb_s * 1e9 * gpu.memory_utilisation
        # Of one request: operations and bytes for each token attended to, and bytes without any.
        self._context_flops, self._context_bytes = float(flops[1] - flops[0]), float(count[1] - count[0])
        self._query_bytes = float(count[0]) - self._context_bytes

    def _prepare(self, records: RecordSource, refresh: bool) -> None:
        """Measurements, and what fits: first what needs no measurement."""
        system, model = self.system, self.model
        self.kv_block_tokens, many = self._block_tokens(), 1 << 16
        room = [(system.available_bytes_per_device - weight) * many
                // system.kv_bytes_per_device(model, many, self.kv_block_tokens, layers)
                for weight, layers in zip(system.weight_bytes_per_device(model), self.stages, strict=True)]
        if min(room) < 0:
            weight, available = max(system.weight_bytes_per_device(model)), system.available_bytes_per_device
            raise ConfigError(f"{model.name} on {self.name}: the weights need {weight} bytes on the fullest device, "
                              f"{available} are available")
        self.kv_capacity_tokens = min(room) * self.kv_block_tokens
        system.prepare(model, records, refresh)

    def _block_tokens(self) -> int:
        return BLOCK_TOKENS

    @property
    def parallelism(self) -> dict[str, int]:
        return {"tensor": self.system.tp, "pipeline": self.pp}

    # Decoding --------------------------------------------------------------------------------------------------------

    def decode_seconds(self, contexts: np.ndarray) -> float:
        return float(self.decode_run(contexts, 1)[0])

    def decode_run(self, contexts: np.ndarray, steps: int) -> np.ndarray:
        """Seconds of each of the next ``steps`` decode steps."""
        micro = -(-len(contexts) // self.pp)
        attention = self._attention(micro, contexts, steps)
        compute = self._linear(micro, micro)[:, None] + np.array(self.stages)[:, None] * attention
        return self.pp * np.max(compute + self._exposed(micro, contexts, compute), axis=0)

    def _exposed(self, micro: int, contexts: np.ndarray, compute_s: np.ndarray) -> Any:
        """What a stage takes beyond its computation, for each stage and step."""
        return 0.0

    def _attended(self, contexts: np.ndarray, steps: int) -> np.ndarray:
        """Mean over the requests of the tokens attended to, for each step."""
        ahead = np.arange(steps)
        if self.kv_window is None:
            return contexts.mean() + ahead
        return np.array([np.minimum(contexts + k, self.kv_window).mean() for k in range(steps)])

    def _attention(self, micro: int, contexts: np.ndarray, steps: int) -> np.ndarray:
        """Seconds of the attention of one layer, for each step."""
        mean = self._attended(contexts, steps)
        return micro * np.maximum(mean * self._context_flops / self._flops_per_s,
                                  (mean * self._context_bytes + self._query_bytes) / self._bytes_per_s)

    def decode_energy_pj(self, contexts: np.ndarray, steps: int) -> dict[str, float]:
        """Energy of ``steps`` decode steps together, by component; contexts grow by one with each."""
        mean = float(self._attended(contexts, steps).mean())
        return {name: steps * pj for name, pj in self._step_energy(len(contexts), mean).items()}

    def _step_energy(self, batch: int, context: float) -> dict[str, float]:
        """Of one step at this mean context: bytes and operations grow by the same with each token attended to."""
        if batch not in self._energy_memo:
            self._energy_memo[batch] = [self.system.step_energy(self.model, batch, at) for at in ENERGY_AT]
        (a, b), (one, two) = ENERGY_AT, self._energy_memo[batch]
        share = (context - a) / (b - a)
        return {name: one[name] + (two[name] - one[name]) * share for name in one}

    def prefill_energy_pj(self, tokens: np.ndarray, past: np.ndarray) -> dict[str, float]:
        """Energy of a prefill, by component. What brings keys and values to tiers beyond the GPU's memory is not in it."""
        out: dict[str, float] = {}
        for name, pj in (*self._prefill_energy(int(tokens.sum()), len(tokens)).items(),
                         *self._prefill_attention_energy(tokens, past).items()):
            out[name] = out.get(name, 0.0) + pj
        return out

    def _prefill_energy(self, count: int, rows: int) -> dict[str, float]:
        """Without attention, of all devices: what the tokens cost and what the rows that give logits do. Straight
        lines, but for cache tiles of less than 16 tokens."""
        out: dict[str, float] = {}
        for what, number in (("body", count), ("head", rows)):
            if what not in self._line_memo:
                few, many = (self._operators_energy(what, at) for at in PREFILL_ENERGY_AT)
                step = PREFILL_ENERGY_AT[1] - PREFILL_ENERGY_AT[0]
                self._line_memo[what] = {name: (few[name], (many[name] - few[name]) / step) for name in few}
            for name, (pj, each) in self._line_memo[what].items():
                out[name] = out.get(name, 0.0) + pj + each * (number - PREFILL_ENERGY_AT[0])
        return out

    def _operators_energy(self, what: str, count: int) -> dict[str, float]:
        """Of ``count`` tokens through layers and embedding, or to logits."""
        system, model, out = self.system, self.model, dict[str, float]()
        parts = [(op, 1) for op in head_operators(model, count, system.tp)] if what == "head" else \
            [(op, model.layers) for op in layer_operators(model, count, 1, system.tp) if op.kind != "attention"] \
            + [(op, 1) for op in embedding_operators(model, count)]
        costs = [(system.roofline.all_reduce(op.bytes, system.tp) if op.kind == "allreduce" else
                  system.roofline.operator(op), times) for op, times in parts]
        if what == "body":
            costs.append((system.roofline.transfer(count * model.hidden_size * model.dtype_bytes), self.pp - 1))
        for cost, times in costs:
            for name, pj in cost.energy_pj.items():
                out[name] = out.get(name, 0.0) + float(pj) * times * system.tp
        return out

    def _prefill_attention_energy(self, tokens: np.ndarray, past: np.ndarray) -> dict[str, float]:
        model, tp = self.model, self.system.tp
        heads, kv_heads, dim, size = model.heads // tp, max(model.kv_heads // tp, 1), model.head_dim, model.dtype_bytes
        pairs, new = _pairs(tokens, past, self.kv_window), float(tokens.sum())
        half: dict[str, Any] = {"kv_bytes": kv_heads * float((past + tokens).sum()) * dim * size,
                "activation_bytes": heads * new * dim * size, "dtype_bytes": size, "count": heads}
        cost = self.system.roofline.fused(
            Operator("score", "attention", new, pairs / new, dim, flops=(2 * dim + SOFTMAX_FLOPS) * heads * pairs, **half),
            Operator("context", "attention", new, dim, pairs / new, flops=2 * dim * heads * pairs, **half))
        return {name: float(pj) * model.layers * tp for name, pj in cost.energy_pj.items()}

    def _linear(self, tokens: int, rows: int) -> np.ndarray:
        """Seconds of each stage without attention, for a micro-batch of ``tokens``, of which ``rows`` give logits."""
        out = self._body(tokens).copy()
        out[-1] += self._head(rows)
        return out

    def _body(self, tokens: int) -> np.ndarray:
        """Layers, embedding, and what goes from stage to stage."""
        if tokens not in self._body_memo:
            system, model = self.system, self.model
            layer = sum(self._seconds(op) for op in layer_operators(model, tokens, 1, system.tp) if op.kind != "attention")
            out = np.array(self.stages) * layer
            out[0] += sum(self._seconds(op) for op in embedding_operators(model, tokens))
            out[:-1] += system.roofline.transfer_time(tokens * model.hidden_size * model.dtype_bytes)
            self._body_memo[tokens] = out
        return self._body_memo[tokens]

    def _head(self, rows: int) -> float:
        """What makes logits, and the chosen tokens back to the first stage."""
        if rows not in self._head_memo:
            system, model = self.system, self.model
            seconds = sum(self._seconds(op) for op in head_operators(model, rows, system.tp))
            back = system.roofline.transfer_time(rows * model.dtype_bytes) if self.pp > 1 else 0.0
            self._head_memo[rows] = seconds + back
        return self._head_memo[rows]

    def _seconds(self, op: Operator) -> float:
        roofline = self.system.roofline
        cost = roofline.all_reduce(op.bytes, self.system.tp) if op.kind == "allreduce" else roofline.operator(op)
        return float(cost.time_s)

    # Prefill ---------------------------------------------------------------------------------------------------------

    def prefill_seconds(self, tokens: np.ndarray, past: np.ndarray) -> float:
        """From an empty pipeline until it is empty again."""
        return self._prefill(tokens, past, self.pp - 1)

    def prefill_between_seconds(self, tokens: np.ndarray, past: np.ndarray) -> float:
        """Between decode steps, whose micro-batches fill the pipeline before and after."""
        return self._prefill(tokens, past, 0)

    def _prefill(self, tokens: np.ndarray, past: np.ndarray, drain: int) -> float:
        """Whole prompts are dealt to the micro-batches, the longest first to the shortest; ``drain`` more pass than there
        are."""
        key = (int(tokens[0]), int(past[0]), drain)
        if len(tokens) == 1 and key in self._prefill_memo:
            return self._prefill_memo[key]
        bins = min(self.pp, len(tokens))
        shares: list[list[int]] = [[] for _ in range(bins)]
        sums = [0] * bins
        for place in np.argsort(-tokens, kind="stable").tolist():
            least = sums.index(min(sums))
            shares[least].append(place)
            sums[least] += int(tokens[place])
        slowest = max(float(self._prefill_stage(tokens[share], past[share]).max()) for share in shares)
        seconds = (bins + drain) * slowest
        if len(tokens) == 1 and len(self._prefill_memo) < 1 << 16:
            self._prefill_memo[key] = seconds
        return seconds

    def _prefill_stage(self, tokens: np.ndarray, past: np.ndarray) -> np.ndarray:
        return self._linear(int(tokens.sum()), len(tokens)) + np.array(self.stages) * self._prefill_attention(tokens, past)

    def _prefill_attention(self, tokens: np.ndarray, past: np.ndarray) -> float:
        """Seconds of causal attention of one layer: each token attends to those before it and itself; K, V, queries and
        outputs are moved once."""
        model, tp = self.model, self.system.tp
        heads, kv_heads, dim, size = model.heads // tp, max(model.kv_heads // tp, 1), model.head_dim, model.dtype_bytes
        pairs = _pairs(tokens, past, self.kv_window)
        flops = (4 * dim + SOFTMAX_FLOPS) * heads * pairs
        count = 2 * (kv_heads * float((past + tokens).sum()) + heads * float(tokens.sum())) * dim * size
        return max(flops / self._flops_per_s, count / self._bytes_per_s)

    def mixed_seconds(self, contexts: np.ndarray, tokens: np.ndarray, past: np.ndarray) -> float:
        """Linear layers take the decoding requests and the pieces of prompts together, attention one after the other;
        every micro-batch has its share of both."""
        micro, piece = -(-len(contexts) // self.pp), -(-int(tokens.sum()) // self.pp)
        linear = self._linear(micro + piece, micro + -(-len(tokens) // self.pp))
        attention = float(self._attention(micro, contexts, 1)[0]) + self._prefill_attention(tokens, past) / self.pp
        compute = (linear + np.array(self.stages) * attention)[:, None]
        return self.pp * float(np.max(compute + self._exposed(micro, contexts, compute)))


def _pairs(tokens: np.ndarray, past: np.ndarray, window: int | None) -> float:
    """Pairs of a token and one that it attends to."""
    n, p = tokens.astype(float), past.astype(float)
    if window is None:
        return float((n * p + n * (n + 1) / 2).sum())
    growing = np.clip(window - p, 0, n)  # tokens that do not fill the window yet
    return float((growing * p + growing * (growing + 1) / 2 + (n - growing) * window).sum())


class OffloadServed(GpuServed):
    """GPUs that fetch the KV that their own memory does not keep; how much that is follows from the tokens of all
    requests."""

    system: OffloadSystem

    def _prepare(self, records: RecordSource, refresh: bool) -> None:
        system, model = self.system, self.model
        self.kv_block_tokens = BLOCK_TOKENS
        token = system.kv_bytes_per_device(model, 1, 1, max(self.stages))
        own, *others = system.kv_tiers(model)
        if max(system.weight_bytes_per_device(model)) > system.available_bytes_per_device:
            super()._prepare(records, refresh)  # says so
        self.kv_tiers = {**({} if system.offload.keeps == "nothing" else {"hbm": own // token}),
                         **{tier.name: room // token for tier, room in zip(system.offload.tiers, others, strict=True)}}
        self.kv_capacity_tokens = system.kv_room(model) // token // BLOCK_TOKENS * BLOCK_TOKENS
        system.prepare(model, records, refresh)

    def _exposed(self, micro: int, contexts: np.ndarray, compute_s: np.ndarray) -> Any:
        self.system._batch = len(contexts)
        fetch_s = self.system.fetch_seconds(self.system.fetched(self.model, micro,
                                                                self._attended(contexts, compute_s.shape[1])))
        return self.system.exposed(np.array(self.stages)[:, None] * fetch_s, compute_s)

    def _step_energy(self, batch: int, context: float) -> dict[str, float]:
        return self.system.step_energy(self.model, batch, max(round(context), 1))

    def _prefill(self, tokens: np.ndarray, past: np.ndarray, drain: int) -> float:
        """Keys and values reach the host's memory while the next layer is computed."""
        write = max(self.stages) * self.system.kv_write_seconds(self.model, int(tokens.sum()))
        return max(super()._prefill(tokens, past, drain), write)


class PamHbmServed(GpuServed):
    """GPUs with units at the banks of their HBM. The KV cache is allotted in the granule that the system allots."""

    system: PamHbmSystem

    def __init__(self, system: PamHbmSystem, model: ModelShape, records: RecordSource, refresh: bool) -> None:
        super().__init__(system, model, records, refresh)
        self._tables: dict[tuple[int, int], np.ndarray] = {}

    def _block_tokens(self) -> int:
        return self.system.memory.banks * self.system.unit.tile_tokens

    def _attention(self, micro: int, contexts: np.ndarray, steps: int) -> np.ndarray:
        place = self.system.placement(self.model, micro)
        grain = place.banks * place.spread
        out = np.empty(steps)
        # Some hundred thousand requests and steps at a time.
        block = max((1 << 18) // len(contexts), 1)
        for begin in range(0, steps, block):
            ahead = contexts[:, None] + np.arange(begin, min(begin + block, steps))
            if self.kv_window is not None:
                ahead = np.minimum(ahead, self.kv_window)
            depth = -(-ahead // grain)
            out[begin:begin + block] = self._table(micro, place.per_channel, place.spread, grain,
                                                   int(depth.max()))[depth].mean(axis=0)
        return out

    def _step_energy(self, batch: int, context: float) -> dict[str, float]:
        """Energy goes by whole tiles in every bank."""
        return self.system.step_energy(self.model, batch, -(-max(round(context), 1) // 64) * 64)

    def _table(self, micro: int, per_channel: int, spread: int, grain: int, most: int) -> np.ndarray:
        """Seconds of the attention of one layer by the tokens of the fullest bank."""
        known = self._tables.get((per_channel, spread), np.zeros(1))
        if most >= len(known):
            depth = np.arange(len(known), most + 1)
            costs = self.system.attention(self.model, micro, depth * grain)
            new = sum(np.broadcast_to(cost.time_s, depth.shape) for cost in costs.values())
            known = self._tables[per_channel, spread] = np.concatenate((known, np.asarray(new, float)))
        return known


class LatencyServed(GpuServed):
    """A system whose own ``latency(model, records=...)`` gives the time of decode steps and of a lone prefill. Prompts that
    are prefilled together take the time of the GPUs, and each what the system adds to that for it (writing its keys and
    values to where they belong). An iteration with both takes the sum."""

    def _prepare(self, records: RecordSource, refresh: bool) -> None:
        system: Any = self.system
        self.latency = system.latency(self.model, records=records, **({"refresh": True} if refresh else {}))
        self.kv_block_tokens = BLOCK_TOKENS
        self.kv_capacity_tokens = int(self.latency.kv_capacity_tokens)
        shapes = getattr(system, "tier_shapes", None)
        self.kv_tiers = {} if shapes is None else {one.name: int(one.capacity) for one in shapes(self.model)}
        self._extra_memo: dict[int, float] = {0: 0.0}
        self._grid_memo: dict[tuple[int, int], dict[str, float]] = {}

    def decode_run(self, contexts: np.ndarray, steps: int) -> np.ndarray:
        return np.array([float(self.latency.step_latency(contexts + k)) for k in range(steps)])

    def _step_energy(self, batch: int, context: float) -> dict[str, float]:
        """Evaluated on a grid of batch and tokens; between its points straight lines in their logarithms, a request."""
        out: dict[str, float] = {}
        tokens = min(max(round(batch * context), batch), self.kv_capacity_tokens)
        low_b, high_b, part_b = _bracket(batch, ENERGY_STEPS[0], 1 << 30)
        low_t, high_t, part_t = _bracket(tokens, ENERGY_STEPS[1], self.kv_capacity_tokens)
        for count, weight_b in ((low_b, 1 - part_b), (high_b, part_b)):
            for size, weight_t in ((low_t, 1 - part_t), (high_t, part_t)):
                if weight_b * weight_t:
                    at = max(size // count, 1)
                    count = min(count, self.kv_capacity_tokens // at)
                    if (count, at) not in self._grid_memo:
                        self._grid_memo[count, at] = self.system.step_energy(self.model, count, at)
                    for name, pj in self._grid_memo[count, at].items():
                        out[name] = out.get(name, 0.0) + weight_b * weight_t * pj / count * batch
        return out

    def _extra(self, tokens: int) -> float:
        if tokens not in self._extra_memo:
            alone = super()._prefill(np.array([tokens]), np.array([0]), self.pp - 1)
            self._extra_memo[tokens] = max(float(self.latency.prefill_latency(tokens)) - alone, 0.0)
        return self._extra_memo[tokens]

    def _prefill(self, tokens: np.ndarray, past: np.ndarray, drain: int) -> float:
        extra = sum(max(self._extra(p + n) - self._extra(p), 0.0)
                    for n, p in zip(tokens.tolist(), past.tolist(), strict=True))
        return super()._prefill(tokens, past, drain) + extra

    def mixed_seconds(self, contexts: np.ndarray, tokens: np.ndarray, past: np.ndarray) -> float:
        return self.decode_seconds(contexts) + self.prefill_seconds(tokens, past)


_KINDS.update({GpuSystem: GpuServed, PamHbmSystem: PamHbmServed, OffloadSystem: OffloadServed})
