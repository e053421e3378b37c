"""Systems built on GPUs as the serving engine sees them.

The requests of a decode step can have unequal contexts. A step of ``b`` requests takes the time of its linear layers
plus attention. Its attention time is a mean over the requests. Each request counts with the attention time of ``b``
requests that all have its context. On GPUs this mean is exact, since the kernel's operations and bytes add up over
requests. For units beside the banks the mean assumes that requests are dealt to channels so that all channels have the
same work.

With ``p`` pipeline stages a batch is cut into ``p`` micro-batches. A step takes ``p`` times the slowest stage, as in
:mod:`bankside.models.systems.platform`. Prompts that are prefilled together are micro-batches too. A prefill of ``m``
micro-batches takes ``p + m - 1`` times the slowest stage with the largest of them. Between decode steps, which keep the
pipeline full, it takes ``m`` times that stage.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..llm import ModelShape, Operator, embedding_operators, head_operators, layer_operators
from .latency import GridLatency, bracket
from .memo import kept
from .platform import GpuPlatform, MicroBatch
from .system import Served

__all__ = ["GpuServed", "GridServed"]

#: Contexts at which the energy of a decode step is taken; between and beyond them it is a straight line.
ENERGY_AT = (512, 4096)

#: Tokens of a prefill at which the energy of its linear layers is taken.
PREFILL_ENERGY_AT = (16, 4096)

#: Factors of batch and tokens between points at which systems with placement are asked for their energy.
ENERGY_STEPS = (2.0, 2.0**0.5)

#: Values of a table of attention times that are read at once.
_TABLE_BLOCK = 1 << 20


class GpuServed(Served):
    """One instance of a system of GPUs alone."""

    system: GpuPlatform

    def __init__(self, system: GpuPlatform, model: ModelShape) -> None:
        super().__init__(system, model)
        self.pp, self.stages = system.pp, system.stages(model)
        self._body_memo: dict[int, np.ndarray] = {}
        self._head_memo: dict[int, float] = {}
        self._prefill_memo: dict[tuple[int, int, int], float] = {}
        self._attention_memo: dict[int, np.ndarray] = {}
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
        """Seconds that a stage takes beyond its computation, for each stage and step."""
        return 0.0

    def _attended(self, contexts: np.ndarray, steps: int) -> np.ndarray:
        """Mean number of tokens that a request attends to, for each step."""
        ahead = np.arange(steps)
        if self.kv_window is None:
            return contexts.mean() + ahead
        return np.array([np.minimum(contexts + k, self.kv_window).mean() for k in range(steps)])

    def _attention(self, micro: int, contexts: np.ndarray, steps: int) -> np.ndarray:
        """Seconds of the attention of one layer, for each step."""
        if not self.system.roofline.straight:
            return self._mean_of_table(micro, contexts, steps)
        mean = self._attended(contexts, steps)
        return micro * np.maximum(
            mean * self._context_flops / self._flops_per_s,
            (mean * self._context_bytes + self._query_bytes) / self._bytes_per_s,
        )

    def _mean_of_table(self, micro: int, contexts: np.ndarray, steps: int) -> np.ndarray:
        """The mean over requests of the attention of a batch with each one's context, where it is no straight line."""
        most, known = int(contexts.max()) + steps, self._attention_memo.get(micro, np.zeros(1))
        if most >= len(known):
            # Tables of all batches end at powers of two, so that they ask for the same contexts.
            size = max(min(1 << most.bit_length(), self.system.longest_attention(self.model, micro) + 1), most + 1)
            new = np.arange(len(known), size, dtype=np.int64)
            costs = GpuPlatform.attention(self.system, self.model, MicroBatch(micro, micro * self.pp), new)
            more = sum(np.broadcast_to(cost.time_s, new.shape) for cost in costs.values())
            known = self._attention_memo[micro] = np.concatenate((known, np.asarray(more, float)))
        # Each request reads a window of the table, a block of steps at once.
        block = max(_TABLE_BLOCK // len(contexts), 1)
        return np.concatenate(
            [
                known[contexts[:, None] + np.arange(first, min(first + block, steps))].mean(axis=0)
                for first in range(0, steps, block)
            ]
        )

    def decode_energy_pj(self, contexts: np.ndarray, steps: int) -> dict[str, float]:
        """Energy of ``steps`` decode steps together, by component. Contexts grow by one with each step."""
        mean = float(self._attended(contexts, steps).mean())
        return {name: steps * pj for name, pj in self._step_energy(len(contexts), mean).items()}

    def _step_energy(self, batch: int, context: float) -> dict[str, float]:
        """Energy of one step at this mean context. Every further token attended to adds the same bytes and
        operations."""
        one, two = kept(self._energy_memo, batch, lambda: [self._energy_at(batch, at) for at in ENERGY_AT])
        a, b = ENERGY_AT
        share = (context - a) / (b - a)
        return {name: one[name] + (two[name] - one[name]) * share for name in one}

    def _energy_at(self, batch: int, context: int) -> dict[str, float]:
        """Energy of a step in which all requests have this context."""
        cost = self.system.decode_step(self.model, batch, np.array([context], np.int64))
        return {name: float(pj[0]) for name, pj in cost.energy_pj.items()}

    def prefill_energy_pj(self, tokens: np.ndarray, past: np.ndarray) -> dict[str, float]:
        """Energy of a prefill, by component. It leaves out the transfer of keys and values to tiers beyond the GPU's
        memory."""
        out: dict[str, float] = {}
        for name, pj in (
            *self._prefill_energy(int(tokens.sum()), len(tokens)).items(),
            *self._prefill_attention_energy(tokens, past).items(),
        ):
            out[name] = out.get(name, 0.0) + pj
        return out

    def _prefill_energy(self, count: int, rows: int) -> dict[str, float]:
        """Energy of a prefill on all devices, without attention: of ``count`` tokens, and of the ``rows`` that give
        logits. It grows linearly with both numbers, except for cache tiles of less than 16 tokens."""
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
        """Energy of ``count`` tokens through layers and embedding (``body``), or to logits (``head``)."""
        system, model, out = self.system, self.model, dict[str, float]()
        parts = (
            [(op, 1) for op in head_operators(model, count, system.tp)]
            if what == "head"
            else [(op, model.layers) for op in layer_operators(model, count, 1, system.tp) if op.kind != "attention"]
            + [(op, 1) for op in embedding_operators(model, count)]
        )
        costs = [(system.roofline.of(op, system.tp), times) for op, times in parts]
        if what == "body":
            costs.append((system.roofline.transfer(count * model.hidden_size * model.dtype_bytes), self.pp - 1))
        for cost, times in costs:
            for name, pj in cost.energy_pj.items():
                out[name] = out.get(name, 0.0) + float(pj) * times * system.tp
        return out

    def _prefill_attention_energy(self, tokens: np.ndarray, past: np.ndarray) -> dict[str, float]:
        model, tp = self.model, self.system.tp
        cost = self.system.roofline.prompt(model, tp, tokens, past)
        return {name: float(pj) * model.layers * tp for name, pj in cost.energy_pj.items()}

    def _linear(self, tokens: int, rows: int) -> np.ndarray:
        """Seconds of each stage without attention, for a micro-batch of ``tokens`` tokens; ``rows`` of them give
        logits."""
        out = self._body(tokens).copy()
        out[-1] += self._head(rows)
        return out

    def _body(self, tokens: int) -> np.ndarray:
        """Seconds of each stage for layers, embedding and transfers between stages."""
        if tokens not in self._body_memo:
            system, model = self.system, self.model
            out = np.array(self.stages) * system.roofline.linear_seconds(model, system.tp, tokens)
            out[0] += sum(self._seconds(op) for op in embedding_operators(model, tokens))
            out[:-1] += system.roofline.transfer_time(tokens * model.hidden_size * model.dtype_bytes)
            self._body_memo[tokens] = out
        return self._body_memo[tokens]

    def _head(self, rows: int) -> float:
        """Seconds to make logits and to send the chosen tokens back to the first stage."""
        if rows not in self._head_memo:
            system, model = self.system, self.model
            seconds = sum(self._seconds(op) for op in head_operators(model, rows, system.tp))
            back = system.roofline.transfer_time(rows * model.dtype_bytes) if self.pp > 1 else 0.0
            self._head_memo[rows] = seconds + back
        return self._head_memo[rows]

    def _seconds(self, op: Operator) -> float:
        return float(self.system.roofline.of(op, self.system.tp).time_s)

    # Prefill ---------------------------------------------------------------------------------------------------------

    def prefill_seconds(self, tokens: np.ndarray, past: np.ndarray) -> float:
        """Seconds of a prefill that begins and ends with an empty pipeline."""
        return self._prefill(tokens, past, self.pp - 1)

    def prefill_between_seconds(self, tokens: np.ndarray, past: np.ndarray) -> float:
        """Seconds of a prefill between decode steps, whose micro-batches fill the pipeline before and after."""
        return self._prefill(tokens, past, 0)

    def _prefill(self, tokens: np.ndarray, past: np.ndarray, drain: int) -> float:
        """Seconds of a prefill. Whole prompts are dealt to the micro-batches, longest first, each to the micro-batch
        with the fewest tokens. ``drain`` is the number of stage times beyond one for each micro-batch."""
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
        return self._linear(int(tokens.sum()), len(tokens)) + np.array(self.stages) * self._prefill_attention(
            tokens, past
        )

    def _prefill_attention(self, tokens: np.ndarray, past: np.ndarray) -> float:
        """Seconds of causal attention of one layer."""
        return float(self.system.roofline.prompt(self.model, self.system.tp, tokens, past).time_s)

    def mixed_seconds(self, contexts: np.ndarray, tokens: np.ndarray, past: np.ndarray) -> float:
        """Seconds of an iteration that decodes and prefills. Linear layers take the decoding requests and the pieces of
        prompts together. Attention takes one after the other. Every micro-batch has its part of both."""
        micro, piece = -(-len(contexts) // self.pp), -(-int(tokens.sum()) // self.pp)
        linear = self._linear(micro + piece, micro + -(-len(tokens) // self.pp))
        attention = float(self._attention(micro, contexts, 1)[0]) + self._prefill_attention(tokens, past) / self.pp
        compute = (linear + np.array(self.stages) * attention)[:, None]
        return self.pp * float(np.max(compute + self._exposed(micro, contexts, compute)))


class GridServed(GpuServed):
    """Systems whose decode steps are interpolated on a grid (:class:`GridLatency`).

    Prompts that are prefilled together take the time of the GPUs, plus an extra for each prompt. The extra is the time
    that a prefill of this prompt alone takes beyond the GPUs' time. It covers writing keys and values to their tiers.
    An iteration that decodes and prefills takes the sum of both times.
    """

    interpolated = 0.01

    def __init__(self, system: GpuPlatform, model: ModelShape) -> None:
        super().__init__(system, model)
        self.latency = GridLatency(system, model)
        self._extra_memo: dict[int, float] = {0: 0.0}
        self._grid_memo: dict[tuple[int, int], dict[str, float]] = {}

    def decode_run(self, contexts: np.ndarray, steps: int) -> np.ndarray:
        return np.array([float(self.latency.step_latency(contexts + k)) for k in range(steps)])

    def _step_energy(self, batch: int, context: float) -> dict[str, float]:
        """Energy of a step, evaluated on a grid of batch and tokens. Between grid points the energy per request is
        linear in the logarithms of both."""
        out: dict[str, float] = {}
        tokens = min(max(round(batch * context), batch), self.kv_capacity_tokens)
        low_b, high_b, part_b = bracket(batch, ENERGY_STEPS[0], 1 << 30)
        low_t, high_t, part_t = bracket(tokens, ENERGY_STEPS[1], self.kv_capacity_tokens)
        for count, weight_b in ((low_b, 1 - part_b), (high_b, part_b)):
            for size, weight_t in ((low_t, 1 - part_t), (high_t, part_t)):
                if weight_b * weight_t:
                    at = max(size // count, 1)
                    count = min(count, self.kv_capacity_tokens // at)
                    if (count, at) not in self._grid_memo:
                        self._grid_memo[count, at] = self._energy_at(count, at)
                    for name, pj in self._grid_memo[count, at].items():
                        out[name] = out.get(name, 0.0) + weight_b * weight_t * pj / count * batch
        return out

    def _extra(self, tokens: int) -> float:
        if tokens not in self._extra_memo:
            alone = super()._prefill(np.array([tokens]), np.array([0]), self.pp - 1)
            self._extra_memo[tokens] = max(float(self.latency.prefill_latency(tokens)) - alone, 0.0)
        return self._extra_memo[tokens]

    def _prefill(self, tokens: np.ndarray, past: np.ndarray, drain: int) -> float:
        extra = sum(
            max(self._extra(p + n) - self._extra(p), 0.0) for n, p in zip(tokens.tolist(), past.tolist(), strict=True)
        )
        return super()._prefill(tokens, past, drain) + extra

    def mixed_seconds(self, contexts: np.ndarray, tokens: np.ndarray, past: np.ndarray) -> float:
        return self.decode_seconds(contexts) + self.prefill_seconds(tokens, past)
