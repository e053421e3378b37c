"""A device as a roofline: time and energy of the operators of a decode step.

A matrix product takes the longer of two times. The first is the time of its operations at ``compute_utilisation`` of the
peak. The second is the time of its memory traffic at ``memory_utilisation`` of the bandwidth. The device says
which traffic, and how many processors work:

* ``least-traffic``: weights, inputs and outputs once each, all processors at work
* ``tiled``: the traffic of the best tiles, and the processors that waves of tiles leave idle
  (:mod:`bankside.models.systems.tiles`)

The constants are from the AttAcc simulator, and ``tiled`` is its rule. Devices with measured times are
:class:`bankside.models.systems.measured.MeasuredGpu`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...constraints.systems import GpuEnergy, GpuSpec, LinkSpec, Network, Overhead
from ..llm import ModelShape, Operator, layer_operators
from ..llm.operators import SOFTMAX_FLOPS
from .results import Cost
from .tiles import Tiling, find_tiling, waves

__all__ = ["Roofline", "causal_pairs"]

#: Component of energy that each level of a GPU belongs to.
_COMPONENTS = {
    "memory": "gpu_dram",
    "l2": "gpu_caches",
    "l1": "gpu_caches",
    "arithmetic": "gpu_compute",
    "registers": "gpu_compute",
    "links": "links",
}


class Roofline:
    """Costs on ``gpu`` with links ``link``. Energies are of ONE device; multiply by the devices that do the same.

    With a ``network`` the GPUs are on several nodes, and stages are on different nodes. Each of ``senders`` GPUs of a
    stage sends its part. An all-reduce over more GPUs than a node has goes over links and network.

    Without ``waves`` all processors of the device work all the time.
    """

    def __init__(
        self,
        gpu: GpuSpec,
        link: LinkSpec,
        energy: GpuEnergy,
        network: Network | None = None,
        senders: int = 1,
        waves: bool = True,
    ) -> None:
        self.waves = waves
        self.gpu, self.link, self.energy, self.network, self.senders = gpu, link, energy, network, senders
        self.flops_per_s = gpu.peak_tflops * 1e12 * gpu.compute_utilisation
        self._bytes_per_s = gpu.bandwidth_gb_s * 1e9 * gpu.memory_utilisation
        self._tilings: dict[tuple[Any, ...], Tiling] = {}

    def memory_time(self, count: Any) -> Any:
        """Seconds to move ``count`` bytes to or from external memory."""
        return count / self._bytes_per_s

    def of(self, op: Operator, devices: int) -> Cost:
        """Cost of one operator of a layer that ``devices`` devices share."""
        return self.all_reduce(op.bytes, devices) if op.kind == "allreduce" else self.operator(op)

    def linear_seconds(self, model: ModelShape, devices: int, tokens: int) -> float:
        """Seconds of a layer without attention, for so many tokens."""
        operators = layer_operators(model, tokens, 1, devices)
        return sum(float(self.of(op, devices).time_s) for op in operators if op.kind != "attention")

    def operator(self, op: Operator) -> Cost:
        """Cost of one operator that runs on the GPU. Lookups only move bytes. All-reduces have their own
        :meth:`all_reduce`."""
        if op.kind in ("norm", "activation"):
            time = self._vector(self.gpu.norm if op.kind == "norm" else self.gpu.activation, op.activation_bytes)
            if self.gpu.quirks and self.gpu.tiles is not None:
                time = np.maximum(time, op.flops * self.gpu.tiles.processors / (self.flops_per_s * _speed(op)))
            return _cost(time, self._levels(op))
        if op.kind == "gemm" and self.gpu.tiled:
            return self._tiled(op, split=True)
        compute, memory = op.flops / (self.flops_per_s * _speed(op)), op.bytes / self._bytes_per_s
        return _cost(np.maximum(compute, memory), self._levels(op), compute > memory)

    #: Whether the time of attention is the longer of two straight lines over the context.
    @property
    def straight(self) -> bool:
        return not self.gpu.per_head

    def longest_context(self, batch: int, score: Operator) -> int:
        """Largest context with a time for attention of ``batch`` requests; ``score`` is its first product."""
        return 1 << 62

    def attention(self, score: Operator, context: Operator, batch: int) -> dict[str, Cost]:
        """Costs of attention of ``batch`` requests by kernel: one kernel, or three where each key/value head of a request
        has one processor."""
        if not self.gpu.per_head:
            return {"attention": self.fused(score, context)}
        return {
            score.name: self._tiled(score, split=False),
            "attention_softmax": self._softmax(score),
            context.name: self._tiled(context, split=False),
        }

    def _tiled(self, op: Operator, split: bool) -> Cost:
        """Cost of a matrix product by the best tiles. Bytes beyond its three matrices are biases, which are read once."""
        spec, size = self.gpu.tiles, op.dtype_bytes
        assert spec is not None
        key = tuple(np.asarray(value, float).tobytes() for value in (op.m, op.n, op.k, op.count, size, split))
        tiling = self._tilings.get(key)
        if tiling is None:
            tiling = find_tiling(spec, op.m, op.n, op.k, op.count, size, split=split)
            if np.size(tiling.busy) == 1:
                self._tilings[key] = tiling
        bias = (op.bytes - (op.m * op.k + op.n * op.k + op.m * op.n) * size) if op.kind == "gemm" else 0
        busy = tiling.busy if self.waves else 1.0
        compute = 2 * op.m * op.n * op.k * op.count / (self.flops_per_s * _speed(op) * busy)
        memory = (tiling.memory_bytes + bias) / (self._bytes_per_s * busy)
        levels = self._levels(op) | {
            "memory": (tiling.memory_bytes + bias) * self.energy.dram_pj_per_byte,
            "l2": (tiling.shared_bytes + bias) * self.energy.l2_pj_per_byte,
            "arithmetic": op.m * op.n * op.k * op.count * self.energy.mac_pj,
        }
        if self.gpu.quirks and op.kind == "attention":
            levels["registers"] = levels["registers"] / op.count
        return _cost(np.maximum(compute, memory), levels, compute > memory)

    def _softmax(self, score: Operator) -> Cost:
        """Cost of a softmax kernel. It reads scores and writes probabilities, each head on one processor."""
        spec, elements = self.gpu.tiles, score.m * score.n * score.count
        assert spec is not None
        busy = waves(spec, score.count) if self.waves else 1.0
        flops, count = SOFTMAX_FLOPS * elements, 2 * elements * score.dtype_bytes
        compute, memory = flops / (self.flops_per_s * _speed(score) * busy), count / (self._bytes_per_s * busy)
        return _cost(np.maximum(compute, memory), self._passed(count, flops), compute > memory)

    def fused(self, *ops: Operator) -> Cost:
        """Cost of operators fused into one kernel: operations and bytes add up before the longer one is taken."""
        flops, count = sum(op.flops for op in ops), sum(op.bytes for op in ops)
        each = [self._levels(op) for op in ops]
        compute, memory = flops / (self.flops_per_s * _speed(ops[0])), count / self._bytes_per_s
        return _cost(
            np.maximum(compute, memory), {key: sum(levels[key] for levels in each) for key in each[0]}, compute > memory
        )

    def prompt(self, model: ModelShape, tensor: int, tokens: np.ndarray, past: np.ndarray) -> Cost:
        """:meth:`prompt_cost` of a model on one of ``tensor`` devices that share its heads."""
        heads = model.heads // tensor, max(model.kv_heads // tensor, 1)
        return self.prompt_cost(*heads, model.head_dim, model.dtype_bytes, tokens, past, model.sliding_window)

    def prompt_cost(
        self,
        heads: int,
        kv_heads: int,
        head_dim: int,
        dtype_bytes: int,
        tokens: np.ndarray,
        past: np.ndarray,
        window: int | None,
    ) -> Cost:
        """Cost of causal attention of one layer for ``tokens[i]`` tokens of each of some prompts, after the ``past[i]``
        tokens before them. A token attends to at most ``window`` tokens.

        One kernel moves K, V, queries and outputs once and leaves masked pairs out. Three kernels multiply with all
        keys of the prompt, and each key/value head of a prompt has one processor. Their time is a mean over the
        prompts, each counted as if all had its length."""
        whole = past + tokens

        def products(m: Any, n: Any, count: int, pairs: Any) -> tuple[Operator, Operator]:
            """Scores and outputs; ``pairs`` are the pairs of a query and a key that are multiplied."""
            half: dict[str, Any] = {
                "count": count,
                "dtype_bytes": dtype_bytes,
                "kv_bytes": kv_heads * float(whole.sum()) * head_dim * dtype_bytes,
                "activation_bytes": heads * float(tokens.sum()) * head_dim * dtype_bytes,
            }
            return (
                Operator(
                    "attention_score", "attention", m, n, head_dim, flops=(2 * head_dim + SOFTMAX_FLOPS) * pairs, **half
                ),
                Operator("attention_context", "attention", m, head_dim, n, flops=2 * head_dim * pairs, **half),
            )

        if not self.gpu.per_head:
            new, pairs = float(tokens.sum()), causal_pairs(tokens, past, window)
            return self.fused(*products(new, pairs / new, heads, heads * pairs))
        group, number = heads // kv_heads, len(tokens)
        attended = whole if window is None else np.minimum(whole, tokens + window - 1)
        kinds, counts = np.unique(np.stack((tokens, attended)), axis=1, return_counts=True)
        seconds, energy = 0.0, dict[str, float]()
        for (m, n), times in zip(kinds.T.tolist(), counts.tolist(), strict=True):
            for cost in self.attention(*products(group * m, n, kv_heads * number, heads * m * n), number).values():
                seconds += float(cost.time_s) * times / number
                for name, pj in cost.energy_pj.items():
                    energy[name] = energy.get(name, 0.0) + float(pj) * times / number
        return Cost(seconds, energy)

    def _network_time(self, count: float) -> float:
        """Seconds to send ``count`` bytes from a GPU to a GPU of another node."""
        assert self.network is not None
        return self.network.latency_us * 1e-6 + count / (self.network.gb_s_per_gpu * 1e9)

    def transfer_time(self, count: float) -> float:
        """Seconds to send ``count`` bytes from one stage to the next. Between nodes the bytes go in parts, which the
        GPUs of the node then exchange."""
        if self.network is None:
            return self._link_time(count)
        return self._network_time(count / self.senders) + (self._link_time(count) if self.senders > 1 else 0.0)

    def _link_time(self, count: float) -> float:
        """Seconds to send ``count`` bytes from one GPU to another GPU of its node."""
        fit, both = self.link.transfer, self.link.both_ways_gb_s
        fitted = (fit.fixed_ns + fit.ns_per_byte * fit.reference_gb_s / both * count) * 1e-9
        return max(fitted, count / (both * 1e9 / 2))

    def transfer(self, count: float) -> Cost:
        """Point-to-point transfer of ``count`` bytes."""
        energy = {"links": count * self.energy.link_pj_per_byte}
        levels = dict(energy)
        if self.network is not None:
            energy["network"] = count / self.senders * self.network.pj_per_byte
        return Cost(self.transfer_time(count), energy, levels)

    def all_reduce(self, count: float, devices: int) -> Cost:
        """All-reduce of ``count`` bytes over ``devices`` GPUs; the energy is for one device. Over several nodes each
        GPU's part goes round the nodes twice: once to be summed and once to be shared."""
        here = min(devices, self.gpu.count) if self.network is not None else devices
        time = self._node_all_reduce(count, here)
        energy = {"links": count * self.energy.link_pj_per_byte}
        levels = dict(energy)
        if devices > here:
            assert self.network is not None
            nodes = devices // here
            time += 2 * (nodes - 1) * self._network_time(count / here / nodes)
            energy["network"] = 2 * (nodes - 1) / nodes * count / here * self.network.pj_per_byte
        return Cost(time, energy, levels)

    def _node_all_reduce(self, count: float, devices: int) -> float:
        """Seconds of an all-reduce of ``count`` bytes over GPUs of one node."""
        return (devices - 1) * self._link_time(count / devices)

    def _vector(self, fit: Overhead, count: Any) -> Any:
        return (fit.fixed_us + fit.us_per_byte * fit.reference_bandwidth_gb_s / self.gpu.bandwidth_gb_s * count) * 1e-6

    def _levels(self, op: Operator) -> dict[str, Any]:
        """Energy of an operator by level. Each byte passes DRAM and the second-level cache once. A GEMM counts as in the
        AttAcc simulator. It re-reads the first-level cache per 16 x 16 tile of the output, and it moves three operands
        per MAC through the registers."""
        if op.kind not in ("gemm", "attention"):
            return self._passed(op.bytes, op.flops)
        l1 = np.ceil(op.n / 16) * op.m * op.k + np.ceil(op.m / 16) * op.n * op.k + op.m * op.n
        registers = 3 * op.m * op.n * op.k * op.count
        return self._passed(op.bytes, op.flops) | {
            "l1": l1 * op.count * op.dtype_bytes * self.energy.l1_pj_per_byte,
            "registers": registers * self.energy.register_pj_per_byte,
        }

    def _passed(self, count: Any, flops: Any) -> dict[str, Any]:
        """Energy of bytes that pass every level once, and of operations. Two operations make a multiply-accumulate."""
        e = self.energy
        return {
            "memory": count * e.dram_pj_per_byte,
            "l2": count * e.l2_pj_per_byte,
            "l1": count * e.l1_pj_per_byte,
            "arithmetic": flops / 2 * e.mac_pj,
            "registers": count * e.register_pj_per_byte,
        }


def causal_pairs(tokens: np.ndarray, past: np.ndarray, window: int | None) -> float:
    """Number of pairs of a new token and a token that it attends to."""
    n, p = tokens.astype(float), past.astype(float)
    if window is None:
        return float((n * p + n * (n + 1) / 2).sum())
    growing = np.clip(window - p, 0, n)  # tokens that do not fill the window yet
    return float((growing * p + growing * (growing + 1) / 2 + (n - growing) * window).sum())


def _speed(op: Operator) -> int:
    """Factor of the peak over the peak for 16-bit elements. Elements of a byte have twice the peak."""
    return 2 if op.dtype_bytes == 1 else 1


def _cost(time_s: Any, levels: dict[str, Any], compute_bound: Any = False) -> Cost:
    energy: dict[str, Any] = {}
    for level, pj in levels.items():
        component = _COMPONENTS[level]
        energy[component] = energy[component] + pj if component in energy else pj
    return Cost(time_s, energy, levels, compute_bound)
