"""GPUs alone, and the composition of a decode step that every system here shares.

Pipeline parallelism: the batch is cut into as many micro-batches as there are stages (fewer if the batch is smaller).
In steady state every stage works on another micro-batch, so a request gets a token every ``stages x time of the slowest
stage``, with the larger micro-batch if they differ, and the transfer to the next stage on the critical path.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.document import parse, read_text, validate
from ...constraints.errors import ConfigError, nearest
from ...constraints.systems import FILES, GpuSystemSpec
from ..llm import ModelShape, embedding_operators, head_operators, layer_operators
from .latency import GridLatency
from .results import NOT_MODELLED, Capacity, Cost, Evaluation, RecordSource
from .roofline import Roofline

__all__ = ["GpuSystem", "read_spec"]

GIB = 1 << 30
#: Output tokens are evaluated one by one, as one array.
MAX_OUTPUT_TOKENS = 1 << 20


def read_spec(name_or_path: str | os.PathLike[str], overrides: Mapping[str, Any] | None = None,
              beside: Path | None = None) -> tuple[dict[str, Any], dict[Any, int], str, str]:
    """Plain data of a system file with ``overrides`` (dotted keys) applied: ``(document, lines, where, name)``.

    A relative path is looked up beside the file ``beside`` if given.

    Raises
    ------
    :exc:`ConfigError`
        If it is neither a built-in system nor a readable YAML file, or an override leads through a plain value.
    """
    name = os.fspath(name_or_path)
    path = FILES.get(name.strip().lower())
    if path is None:
        path = Path(name)
        if beside is not None and not path.is_absolute():
            path = beside.parent / path
        if not path.exists() and path.suffix not in (".yaml", ".yml", ".json") and os.sep not in name:
            raise ConfigError(f"{nearest('system', name, FILES)}, or give the path of a YAML file")
    document, lines = parse(read_text(path), str(path))
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: must be a mapping of keys to values, not {type(document).__name__}")
    for key, value in (overrides or {}).items():
        at: Any = document
        *parents, last = key.split(".")
        for parent in parents:
            at = at.setdefault(parent, {})
            if not isinstance(at, dict):
                raise ConfigError(f"{path}: override '{key}': '{parent}' is a plain value, not a group")
        at[last] = value
        lines = {place: line for place, line in lines.items() if place != tuple(key.split("."))}
    return document, lines, str(path), path.stem


class GpuSystem:
    """A system of GPUs; the base of systems that put attention elsewhere.

    Parameters
    ----------
    name : :class:`str`
        Name in results.
    spec : :class:`GpuSystemSpec`
        GPUs, memory, parallelism, links, energies.

    Raises
    ------
    :exc:`ConfigError`
        If tensor times pipeline parallelism is not the number of GPUs, or a tensor group is no whole part of a node and no
        whole nodes.
    """

    kind = "gpu"
    #: Whether the time of attention depends on how contexts are distributed, beyond their mean.
    spread_matters = False

    def __init__(self, name: str, spec: GpuSystemSpec) -> None:
        self.name, self.spec = name, spec
        self.tp, self.pp = spec.parallelism.tensor, spec.parallelism.pipeline
        count = spec.gpu.count * spec.nodes
        if self.tp * self.pp != count:
            raise ConfigError(f"{name}: tensor {self.tp} times pipeline {self.pp} must be the {count} GPUs")
        if max(self.tp, spec.gpu.count) % min(self.tp, spec.gpu.count) and spec.nodes > 1:
            raise ConfigError(f"{name}: tensor {self.tp} must divide or be a multiple of the {spec.gpu.count} GPUs of a "
                              "node")
        network = spec.network if spec.nodes > 1 else None
        if spec.nodes > 1 and (network is None or not network.gb_s_per_gpu):
            raise ConfigError(f"{name}: {spec.nodes} nodes need a network with gb_s_per_gpu greater than 0")
        self.roofline = Roofline(spec.gpu, spec.link, spec.energy, network, min(self.tp, spec.gpu.count))
        #: Requests of all micro-batches of what is being evaluated.
        self._batch = 0
        self._linear: dict[tuple[str, int], np.ndarray] = {}

    def split(self, tensor: int, pipeline: int) -> GpuSystem:
        """The same system with another split of its GPUs."""
        other = copy.copy(self)
        parallelism = self.spec.parallelism.model_copy(update={"tensor": tensor, "pipeline": pipeline})
        GpuSystem.__init__(other, self.name, self.spec.model_copy(update={"parallelism": parallelism}))
        return other

    @classmethod
    def from_document(cls, document: dict[str, Any], lines: dict[Any, int], where: str, name: str,
                      **_: Any) -> GpuSystem:
        return cls(name, validate(document, GpuSystemSpec, where, lines))

    # What systems replace ----------------------------------------------------------------------------------------

    def prepare(self, model: ModelShape, records: RecordSource, refresh: bool) -> None:
        """Look up what the evaluation of ``model`` needs; raise if something is missing."""

    def attention(self, model: ModelShape, batch: int, contexts: np.ndarray) -> dict[str, Cost]:
        """Attention of one layer for a micro-batch on the devices of one stage, by operator name.

        ``contexts`` is an integer array; times are arrays of the same shape or scalars.
        """
        ops = [op for op in layer_operators(model, batch, contexts, self.tp) if op.kind == "attention"]
        cost = self.roofline.fused(*ops)
        return {"attention": Cost(cost.time_s, _times(cost.energy_pj, self.tp))}

    def kv_bytes_per_device(self, model: ModelShape, batch: int, tokens: int, layers: int) -> int:
        """Bytes that ``batch`` requests of ``tokens`` tokens occupy on the fullest device of a stage of ``layers``."""
        heads = max(model.kv_heads // self.tp, 1)
        return batch * int(model.attended(tokens)) * layers * 2 * heads * model.head_dim * model.dtype_bytes

    def extras(self, model: ModelShape, batch: int, context: int) -> dict[str, Any]:
        """Fields ``area``, ``unit``, ``attention``, ``records``, ``tools`` and ``notes`` of the result."""
        return {"area": None, "unit": None, "attention": None, "records": [], "tools": {}, "notes": []}

    def assumptions(self) -> list[str]:
        """What the figures take for granted, one sentence each."""
        return [
            "GEMMs take the longer of compute at "
            f"{self.spec.gpu.compute_utilisation:g} of the peak and least traffic at "
            f"{self.spec.gpu.memory_utilisation:g} of the bandwidth; no tile or wave quantisation",
            "GPU attention is fused: K and V are read once per group of query heads, scores stay on chip",
            "decoding in steady state: prefill, sampling, scheduling and host time are not included",
            "operators of a layer run one after the other; nothing overlaps",
            "all requests have the same context",
            f"{self.tp}-way tensor and {self.pp}-way pipeline parallelism, one micro-batch per stage",
        ]

    # Composition -------------------------------------------------------------------------------------------------

    def stages(self, model: ModelShape) -> list[int]:
        """Layers of each pipeline stage; the first stages take the remainder."""
        if self.pp > model.layers:
            raise ConfigError(f"pipeline parallelism of {self.pp} exceeds the model's {model.layers} layers")
        whole, rest = divmod(model.layers, self.pp)
        return [whole + (stage < rest) for stage in range(self.pp)]

    def layer(self, model: ModelShape, batch: int, contexts: np.ndarray, attention: bool = True) -> dict[str, Cost]:
        """Cost of one decoder layer for a micro-batch on the devices of one stage, by operator; without ``attention`` of
        what is around it."""
        out: dict[str, Cost] = {}
        for op in layer_operators(model, batch, contexts, self.tp):
            if op.kind == "attention":
                if attention and "attention" not in out:
                    out.update(self.attention(model, batch, contexts))
                continue
            cost = self.roofline.all_reduce(op.bytes, self.tp) if op.kind == "allreduce" else self.roofline.operator(op)
            out[op.name] = Cost(cost.time_s, _times(cost.energy_pj, self.tp))
        return out

    def step(self, model: ModelShape, batch: int, contexts: np.ndarray, attention: bool = True) -> list[dict[str, Cost]]:
        """Cost of a micro-batch of ``batch`` in each stage, by operator, all layers of the stage."""
        layer = self.layer(model, batch, contexts, attention)
        out = []
        for stage, layers in enumerate(self.stages(model)):
            costs = {}
            if stage == 0:
                for op in embedding_operators(model, batch):
                    costs[op.name] = _scale(self.roofline.operator(op), 1, self.tp)
            for name, cost in layer.items():
                costs[name] = _scale(cost, layers, layers)
            if stage == self.pp - 1:
                for op in head_operators(model, batch, self.tp):
                    costs[op.name] = _scale(self.roofline.operator(op), 1, self.tp)
            if self.pp > 1:
                # The last stage sends the chosen token back; its size is that of one element per request.
                count = batch * (model.dtype_bytes if stage == self.pp - 1 else model.hidden_size * model.dtype_bytes)
                costs["pipeline_transfer"] = _scale(self.roofline.transfer(count), 1, self.tp)
            out.append(costs)
        return out

    def step_seconds(self, model: ModelShape, batch: int, context: int) -> float:
        """Time of a decode step of ``batch`` requests of ``context`` tokens, after :meth:`prepare`."""
        self._batch = batch
        size = -(-batch // min(self.pp, batch))
        stages = self.step(model, size, np.array([context], np.int64))
        return self.pp * max(float(sum(np.max(cost.time_s) for cost in stage.values())) for stage in stages)

    def step_energy(self, model: ModelShape, batch: int, context: int) -> dict[str, float]:
        """Energy of the same step in pJ by component: all micro-batches, stages and devices."""
        self._batch = batch
        sizes = [len(part) for part in np.array_split(np.arange(batch), min(self.pp, batch))]
        out: dict[str, float] = {}
        for size in set(sizes):
            for stage in self.step(model, size, np.array([context], np.int64)):
                for cost in stage.values():
                    for component, pj in cost.energy_pj.items():
                        out[component] = out.get(component, 0.0) + float(np.mean(pj)) * sizes.count(size)
        return out

    def linear_seconds(self, model: ModelShape, batch: int) -> np.ndarray:
        """Seconds of each stage without attention, for the largest micro-batch of ``batch`` requests."""
        key = (model.name, -(-batch // min(self.pp, batch)))
        if key not in self._linear:
            if len(self._linear) > 1 << 16:
                self._linear.clear()
            stages = self.step(model, key[1], np.array([1], np.int64), attention=False)
            self._linear[key] = np.array([sum(float(np.max(cost.time_s)) for cost in stage.values()) for stage in stages])
        return self._linear[key]

    def attention_seconds(self, model: ModelShape, contexts: np.ndarray) -> tuple[float, float]:
        """Attention of one layer for the largest micro-batch of requests with these contexts, and the least time of a
        whole step for reasons beside it; after :meth:`prepare`."""
        self._batch = len(contexts)
        size = -(-len(contexts) // min(self.pp, len(contexts)))
        costs = self.attention(model, size, np.array([round(float(np.mean(contexts)))], np.int64))
        return sum(float(np.max(cost.time_s)) for cost in costs.values()), 0.0

    def knees(self, model: ModelShape) -> list[int]:
        """Tokens of all requests at which a memory is full and the time of attention begins to grow otherwise."""
        return []

    def latency(self, model: ModelShape, *, records: RecordSource, refresh: bool = False) -> GridLatency:
        """Step and prefill latencies for request-level serving."""
        return GridLatency(self, model, records, refresh)

    def kv_capacity_tokens(self, model: ModelShape) -> int:
        """Tokens of all requests together that fit beside the weights, requests being not much shorter than 1024."""
        return max(self.capacity(model, context, 1, 1).largest_batch * context for context in (1, 1024))

    def kv_write_seconds(self, model: ModelShape, tokens: int) -> float:
        """Time to bring K and V of ``tokens`` prompt tokens, one layer, to where they stay, beyond the GPU's memory."""
        return 0.0

    def weight_bytes_per_device(self, model: ModelShape) -> list[int]:
        """Bytes of weights on a device of each stage. A tied embedding is held at both ends of the pipeline."""
        size, per_stage = model.dtype_bytes, []
        for stage, layers in enumerate(self.stages(model)):
            parameters = layers * model.layer_parameters
            if stage == 0:
                parameters += model.embedding_parameters
            if stage == self.pp - 1:
                parameters += model.head_parameters
                if model.tied_embeddings and self.pp > 1:
                    parameters += model.vocab_size * model.embed_dim
            per_stage.append(-(-parameters * size // self.tp))
        return per_stage

    @property
    def available_bytes_per_device(self) -> int:
        memory = self.spec.memory
        return int((memory.stacks_per_gpu * memory.stack_gib - memory.reserved_gib_per_gpu) * GIB)

    def capacity(self, model: ModelShape, context: int, batch: int, output_tokens: int) -> Capacity:
        """What the fullest device needs, and the largest batches that fit at ``context`` and at the last token."""
        stages, weights = self.stages(model), self.weight_bytes_per_device(model)
        available = self.available_bytes_per_device
        last = context + output_tokens - 1

        def fits(number: int, tokens: int) -> bool:
            return all(weight + self.kv_bytes_per_device(model, number, tokens, layers) <= available
                       for weight, layers in zip(weights, stages, strict=True))

        kv = [self.kv_bytes_per_device(model, batch, last, layers) for layers in stages]
        full = max(range(self.pp), key=lambda s: weights[s] + kv[s])
        return Capacity(available, weights[full], kv[full], _largest(lambda b: fits(b, context)),
                        _largest(lambda b: fits(b, last)))

    def evaluate(self, model: ModelShape, *, context: int, batch: int, output_tokens: int = 1,
                 records: RecordSource, refresh: bool = False) -> Evaluation:
        """See :func:`bankside.models.systems.evaluate`."""
        for what, value, most in (("context", context, 1 << 30), ("batch", batch, 1 << 24),
                                  ("output tokens", output_tokens, MAX_OUTPUT_TOKENS)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= most:
                raise ConfigError(f"{what} must be a whole number in 1..{most}, not {value!r}")
        # Before anything is looked up: a model that can't be split or does not fit needs no measurement.
        layer_operators(model, 1, 1, self.tp)
        capacity = self.capacity(model, context, batch, output_tokens)
        need = capacity.weight_bytes_per_device + capacity.kv_bytes_per_device
        if need > capacity.available_bytes_per_device:
            raise ConfigError(self._too_large(model, context, batch, output_tokens, capacity, need))
        self.prepare(model, records, refresh)
        self._batch = batch

        contexts = np.arange(context, context + output_tokens, dtype=np.int64)
        sizes = [len(part) for part in np.array_split(np.arange(batch), min(self.pp, batch))]
        costs = {size: self.step(model, size, contexts) for size in set(sizes)}

        largest = costs[max(sizes)]
        totals = np.array([sum(np.broadcast_to(cost.time_s, contexts.shape) for cost in stage.values())
                           for stage in largest])
        slowest = totals.argmax(axis=0)
        breakdown: dict[str, float] = {}
        for number, stage in enumerate(largest):
            here = slowest == number
            if here.any():
                for name, cost in stage.items():
                    time = np.broadcast_to(cost.time_s, contexts.shape)[here].sum() / output_tokens
                    breakdown[name] = breakdown.get(name, 0.0) + float(time) * self.pp * 1e3
        tpot_s = float(totals.max(axis=0).mean()) * self.pp

        energy: dict[str, float | str] = {}
        for size in sizes:
            for stage in costs[size]:
                for cost in stage.values():
                    for component, pj in cost.energy_pj.items():
                        energy[component] = float(energy.get(component, 0.0)) + float(np.mean(pj)) * 1e-9 / batch
        total = sum(float(value) for value in energy.values())
        energy |= {"gpu_static_power": NOT_MODELLED, "dram_refresh_and_standby": NOT_MODELLED, "host": NOT_MODELLED}

        extras = self.extras(model, max(sizes), context)
        notes = list(extras.pop("notes"))
        if context + output_tokens - 1 > model.max_context:
            notes.insert(0, f"context {context + output_tokens - 1} exceeds the {model.max_context} positions that "
                            f"{model.name} was made for")
        if model.sliding_window is not None and context > model.sliding_window:
            notes.insert(0, f"attention reads the last {model.sliding_window} tokens only (sliding window)")
        return Evaluation(
            system=self.name, model=model.name, context=context, batch=batch, output_tokens=output_tokens,
            tpot_ms=tpot_s * 1e3, throughput_tok_s=batch / tpot_s, energy_mj_per_token=total, breakdown_ms=breakdown,
            energy_breakdown_mj=energy, capacity=capacity,
            parallelism={"tensor": self.tp, "pipeline": self.pp, "micro_batch": max(sizes)}, notes=notes,
            assumptions=self.assumptions(), **extras)

    def _too_large(self, model: ModelShape, context: int, batch: int, output_tokens: int, capacity: Capacity,
                   need: int) -> str:
        available = capacity.available_bytes_per_device
        where = f"context {context}" + (f" plus {output_tokens} output tokens" if output_tokens > 1 else "")
        text = (f"{model.name} on {self.name}: batch {batch} at {where} needs {need} bytes ({need / GIB:.1f} GiB) on "
                f"the fullest device, {available} ({available / GIB:.1f} GiB) are available")
        if capacity.weight_bytes_per_device > available:
            return f"{text}; the weights alone need {capacity.weight_bytes_per_device}"
        most = capacity.largest_batch_with_output
        if most:
            return f"{text}; the largest batch that fits is {most}"
        longest = _largest(lambda tokens: all(
            weight + self.kv_bytes_per_device(model, 1, tokens, layers) <= available
            for weight, layers in zip(self.weight_bytes_per_device(model), self.stages(model), strict=True)))
        return f"{text}; not even one request fits, the longest context that does has {longest} tokens"


def _largest(fits: Callable[[int], bool]) -> int:
    """Largest count for which the monotone ``fits`` holds; 0 if none."""
    if not fits(1):
        return 0
    low = 1
    while fits(2 * low) and low < 1 << 40:
        low *= 2
    high = 2 * low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _times(energy: Mapping[str, Any], factor: float) -> dict[str, Any]:
    return {key: value * factor for key, value in energy.items()}


def _scale(cost: Cost, time: float, energy: float) -> Cost:
    return Cost(cost.time_s * time, _times(cost.energy_pj, energy))
