"""GPUs as a platform: the composition of a decode step that every system built on GPUs shares.

Pipeline parallelism cuts the batch into as many micro-batches as there are stages (fewer if the batch is smaller). In
steady state every stage works on another micro-batch. So a request gets a token every
``stages x time of the slowest stage``. This time includes the transfer to the next stage. If micro-batches differ in
size, the larger one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...constraints.errors import ConfigError
from ...constraints.systems import FILES, GpuSystemSpec
from ..llm import ModelShape, embedding_operators, head_operators, layer_operators
from .description import Description
from .results import Capacity, Cost
from .roofline import Roofline
from .system import GIB, Assumption, StepCost, System, largest

__all__ = ["GpuPlatform", "MicroBatch"]


@dataclass(frozen=True)
class MicroBatch:
    """Requests that pass a stage together.

    Attributes
    ----------
    size : :class:`int`
        Number of these requests.
    whole : :class:`int`
        Requests of all micro-batches of the step. Memories that the micro-batches share hold all of them.
    """

    size: int
    whole: int


class GpuPlatform(System):
    """A system built on GPUs. A kind of system defines its attention; here the GPUs do it themselves.

    Parameters
    ----------
    description
        ``gpus`` describes the GPUs. Without ``gpus``, the system's own file describes them.

    Raises
    ------
    :exc:`ConfigError`
        If tensor times pipeline parallelism is not the number of GPUs. Also if a tensor group is neither a whole part
        of a node nor a number of whole nodes.
    """

    files = FILES
    not_modelled = ("gpu_static_power", "dram_refresh_and_standby", "host")
    #: Whether the time of attention depends on how contexts are distributed, beyond their mean.
    spread_matters = False

    def __init__(self, description: Description[Any]) -> None:
        super().__init__(description)
        name = self.name
        self.spec: GpuSystemSpec = description.gpus or description.spec
        spec = self.spec
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
        self._linear: dict[tuple[str, int], np.ndarray] = {}

    @property
    def devices(self) -> int:
        return self.spec.gpu.count * self.spec.nodes

    def micro_batches(self, batch: int) -> list[MicroBatch]:
        """The micro-batches of a batch, the larger ones first."""
        whole, rest = divmod(batch, min(self.pp, batch))
        return [MicroBatch(whole + (number < rest), batch) for number in range(min(self.pp, batch))]

    # What systems replace ----------------------------------------------------------------------------------------

    def attention(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray) -> dict[str, Cost]:
        """Attention of one layer for a micro-batch on the devices of one stage, by operator name.

        ``contexts`` is an integer array; times are arrays of the same shape or scalars.
        """
        ops = [op for op in layer_operators(model, micro.size, contexts, self.tp) if op.kind == "attention"]
        cost = self.roofline.fused(*ops)
        return {"attention": Cost(cost.time_s, _times(cost.energy_pj, self.tp))}

    def kv_bytes_per_device(self, model: ModelShape, batch: int, tokens: int, layers: int) -> int:
        """Bytes that ``batch`` requests of ``tokens`` tokens occupy on the fullest device of a stage of ``layers``."""
        heads = max(model.kv_heads // self.tp, 1)
        return batch * int(model.attended(tokens)) * layers * 2 * heads * model.head_dim * model.dtype_bytes

    def assumptions(self) -> dict[str, Assumption]:
        gpu = self.spec.gpu
        return {
            "gemm": Assumption(
                "GEMMs take the longer of compute at "
                f"{gpu.compute_utilisation:g} of the peak and least traffic at "
                f"{gpu.memory_utilisation:g} of the bandwidth; no tile or wave quantisation",
                {"compute_utilisation": gpu.compute_utilisation, "memory_utilisation": gpu.memory_utilisation}, gpu.source),
            "attention": Assumption(
                "GPU attention is fused: K and V are read once per group of query heads, scores stay on chip", "fused"),
            "left_out": Assumption("decoding in steady state: prefill, sampling, scheduling and host time are not included",
                                   ("prefill", "sampling", "scheduling", "host time")),
            "overlap": Assumption("operators of a layer run one after the other; nothing overlaps", None),
            "contexts": Assumption("all requests have the same context", "equal"),
            "parallelism": Assumption(
                f"{self.tp}-way tensor and {self.pp}-way pipeline parallelism, one micro-batch per stage",
                {"tensor": self.tp, "pipeline": self.pp}, self.spec.parallelism.source),
        }

    # Composition -------------------------------------------------------------------------------------------------

    def layer(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray,
              attention: bool = True) -> dict[str, Cost]:
        """Cost of one decoder layer for a micro-batch on the devices of one stage, by operator. With ``attention``
        false, attention is left out."""
        out: dict[str, Cost] = {}
        for op in layer_operators(model, micro.size, contexts, self.tp):
            if op.kind == "attention":
                if attention and "attention" not in out:
                    out.update(self.attention(model, micro, contexts))
                continue
            cost = self.roofline.all_reduce(op.bytes, self.tp) if op.kind == "allreduce" else self.roofline.operator(op)
            out[op.name] = Cost(cost.time_s, _times(cost.energy_pj, self.tp))
        return out

    def stage_costs(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray,
                    attention: bool = True) -> list[dict[str, Cost]]:
        """Cost of a micro-batch in each stage, by operator, for all layers of the stage."""
        layer = self.layer(model, micro, contexts, attention)
        out = []
        for stage, layers in enumerate(self.stages(model)):
            costs = {}
            if stage == 0:
                for op in embedding_operators(model, micro.size):
                    costs[op.name] = _scale(self.roofline.operator(op), 1, self.tp)
            for name, cost in layer.items():
                costs[name] = _scale(cost, layers, layers)
            if stage == self.pp - 1:
                for op in head_operators(model, micro.size, self.tp):
                    costs[op.name] = _scale(self.roofline.operator(op), 1, self.tp)
            if self.pp > 1:
                # The last stage sends the chosen token back; its size is that of one element per request.
                count = micro.size * (model.dtype_bytes if stage == self.pp - 1 else model.hidden_size * model.dtype_bytes)
                costs["pipeline_transfer"] = _scale(self.roofline.transfer(count), 1, self.tp)
            out.append(costs)
        return out

    def decode_step(self, model: ModelShape, batch: int, contexts: np.ndarray) -> StepCost:
        """Cost of a decode step. Times are of the slowest stage with the largest micro-batch, once for each stage.
        Energies are of all stages and micro-batches."""
        micros = self.micro_batches(batch)
        costs = {micro: self.stage_costs(model, micro, contexts) for micro in dict.fromkeys(micros)}
        largest_one = costs[micros[0]]
        totals = np.array([sum(np.broadcast_to(cost.time_s, contexts.shape) for cost in stage.values())
                           for stage in largest_one])
        slowest = totals.argmax(axis=0)
        seconds: dict[str, np.ndarray] = {}
        for number, stage in enumerate(largest_one):
            here = slowest == number
            if here.any():
                for name, cost in stage.items():
                    seconds[name] = seconds.get(name, 0.0) + np.where(here, cost.time_s, 0.0) * self.pp
        energy: dict[str, np.ndarray] = {}
        for micro in micros:
            for stage in costs[micro]:
                for cost in stage.values():
                    for component, pj in cost.energy_pj.items():
                        energy[component] = energy.get(component, 0.0) + np.broadcast_to(pj, contexts.shape)
        return StepCost(seconds, energy, micros[0].size)

    def linear_seconds(self, model: ModelShape, batch: int) -> np.ndarray:
        """Seconds of each stage without attention, for the largest micro-batch of ``batch`` requests."""
        key = (model.name, -(-batch // min(self.pp, batch)))
        if key not in self._linear:
            if len(self._linear) > 1 << 16:
                self._linear.clear()
            stages = self.stage_costs(model, self.micro_batches(batch)[0], np.array([1], np.int64), attention=False)
            self._linear[key] = np.array([sum(float(np.max(cost.time_s)) for cost in stage.values()) for stage in stages])
        return self._linear[key]

    def attention_seconds(self, model: ModelShape, contexts: np.ndarray) -> tuple[float, float]:
        """Seconds of one layer's attention for the largest micro-batch of requests with these contexts. The second
        value is the least time of a whole step for reasons beside attention. :meth:`prepare` comes first."""
        costs = self.attention(model, self.micro_batches(len(contexts))[0],
                               np.array([round(float(np.mean(contexts)))], np.int64))
        return sum(float(np.max(cost.time_s)) for cost in costs.values()), 0.0

    def knees(self, model: ModelShape) -> list[int]:
        """Tokens of all requests at which a memory is full, so that the time of attention grows differently from there
        on."""
        return []

    def kv_capacity_tokens(self, model: ModelShape) -> int:
        """Tokens of all requests together that fit beside the weights, in whole blocks."""
        block, many = self.kv_block_tokens(model), 1 << 16
        room = [(self.available_bytes_per_device - weight) * many // self.kv_bytes_per_device(model, many, block, layers)
                for weight, layers in zip(self.weight_bytes_per_device(model), self.stages(model), strict=True)]
        return max(min(room), 0) * block

    def kv_tiers_tokens(self, model: ModelShape) -> dict[str, int]:
        """Tokens that each memory for keys and values holds, if there are several."""
        return {}

    def check_weights(self, model: ModelShape) -> None:
        """Raise :exc:`ConfigError` unless the weights fit."""
        weight, available = max(self.weight_bytes_per_device(model)), self.available_bytes_per_device
        if weight > available:
            raise ConfigError(f"{model.name} on {self.name}: the weights need {weight} bytes on the fullest device, "
                              f"{available} are available")

    def kv_write_seconds(self, model: ModelShape, tokens: int) -> float:
        """Seconds to bring one layer's K and V of ``tokens`` prompt tokens to their place beyond the GPU's memory."""
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
        """Memory that the fullest device needs, and the largest batches that fit at ``context`` and at the last
        token."""
        stages, weights = self.stages(model), self.weight_bytes_per_device(model)
        available = self.available_bytes_per_device
        last = context + output_tokens - 1

        def fits(number: int, tokens: int) -> bool:
            return all(weight + self.kv_bytes_per_device(model, number, tokens, layers) <= available
                       for weight, layers in zip(weights, stages, strict=True))

        kv = [self.kv_bytes_per_device(model, batch, last, layers) for layers in stages]
        full = max(range(self.pp), key=lambda s: weights[s] + kv[s])
        return Capacity(available, weights[full], kv[full], largest(lambda b: fits(b, context)),
                        largest(lambda b: fits(b, last)))

    def check_fits(self, model: ModelShape, context: int, batch: int, output_tokens: int = 1) -> Capacity:
        capacity = self.capacity(model, context, batch, output_tokens)
        need = capacity.weight_bytes_per_device + capacity.kv_bytes_per_device
        if need > capacity.available_bytes_per_device:
            raise ConfigError(self.too_large(model, context, batch, output_tokens, capacity, need))
        return capacity

    def too_large(self, model: ModelShape, context: int, batch: int, output_tokens: int, capacity: Capacity,
                  need: int) -> str:
        """Message about a batch that does not fit and needs ``need`` bytes of a device."""
        available = capacity.available_bytes_per_device
        where = f"context {context}" + (f" plus {output_tokens} output tokens" if output_tokens > 1 else "")
        text = (f"{model.name} on {self.name}: batch {batch} at {where} needs {need} bytes ({need / GIB:.1f} GiB) on "
                f"the fullest device, {available} ({available / GIB:.1f} GiB) are available")
        if capacity.weight_bytes_per_device > available:
            return f"{text}; the weights alone need {capacity.weight_bytes_per_device}"
        most = capacity.largest_batch_with_output
        if most:
            return f"{text}; the largest batch that fits is {most}"
        longest = largest(lambda tokens: all(
            weight + self.kv_bytes_per_device(model, 1, tokens, layers) <= available
            for weight, layers in zip(self.weight_bytes_per_device(model), self.stages(model), strict=True)))
        return f"{text}; not even one request fits, the longest context that does has {longest} tokens"


def _times(energy: Mapping[str, Any], factor: float) -> dict[str, Any]:
    return {key: value * factor for key, value in energy.items()}


def _scale(cost: Cost, time: float, energy: float) -> Cost:
    return Cost(cost.time_s * time, _times(cost.energy_pj, energy))
