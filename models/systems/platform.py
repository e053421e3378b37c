"""GPUs as a platform: the composition of a decode step that every system built on GPUs shares.

Pipeline parallelism cuts the batch into as many micro-batches as there are stages (fewer if the batch is smaller). In
steady state every stage works on another micro-batch. So a request gets a token every
``stages x time of the slowest stage``. This time includes the transfer to the next stage. If micro-batches differ in
size, the larger one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.systems import GpuSystemSpec
from ..llm import ModelShape, embedding_operators, head_operators, layer_operators
from .description import Description
from .measured import MeasuredGpu
from .memo import kept
from .overlap import NearMemory, Parts, feed_forward, interleaved, pipelined
from .results import Cost
from .roofline import Roofline
from .room import GIB, Room
from .system import Assumption, StepCost, System

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


#: Products before and behind attention. Each head has a part of their columns or rows.
PROJECTIONS = ("qkv", "out_projection")


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

    not_modelled: ClassVar[tuple[str, ...]] = ("gpu_static_power", "dram_refresh_and_standby", "host")
    tells_longest = True
    #: Whether the time of attention depends on how contexts are distributed, beyond their mean.
    spread_matters = False
    #: Operators of :meth:`attention` that move data to units and back.
    transfers: tuple[str, ...] = ()
    #: Operators of :meth:`attention` that pipelining of heads hides.
    hidden: tuple[str, ...] = ()

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
            raise ConfigError(
                f"{name}: tensor {self.tp} must divide or be a multiple of the {spec.gpu.count} GPUs of a node"
            )
        network = spec.network if spec.nodes > 1 else None
        if spec.nodes > 1 and (network is None or not network.gb_s_per_gpu):
            raise ConfigError(f"{name}: {spec.nodes} nodes need a network with gb_s_per_gpu greater than 0")
        device = (spec.gpu, spec.link, spec.energy, network, min(self.tp, spec.gpu.count))
        self.roofline = (
            Roofline(*device)
            if spec.gpu.rule != "measured"
            else MeasuredGpu(*device, description.kernels(spec.gpu.kernels or ""))
        )
        self._linear: dict[tuple[str, int], np.ndarray] = {}
        overlaps = getattr(description.spec, "overlaps", None)
        #: Operators that run at the same time, where the system's file says so.
        self.pipelining: str = "none" if overlaps is None else overlaps.pipelining
        self.least_batch: int = 2 if overlaps is None else overlaps.least_batch
        self.near_memory: NearMemory | None = None
        if overlaps is not None and overlaps.feed_forward:
            self.near_memory = self.units_bandwidth()

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
        score, context = (op for op in layer_operators(model, micro.size, contexts, self.tp) if op.kind == "attention")
        return {
            name: cost.scaled(1, self.tp) for name, cost in self.roofline.attention(score, context, micro.size).items()
        }

    @property
    def sources(self) -> dict[str, dict[str, str]]:
        if not isinstance(self.roofline, MeasuredGpu):
            return super().sources
        kernels = self.roofline.kernels
        return {
            f"kernels {kernels.name}": {
                "gpu": kernels.file.gpu,
                "engine": kernels.file.engine,
                "source": kernels.file.source,
            }
        } | super().sources

    @property
    def gpu_rule(self) -> str | None:
        return self.spec.gpu.rule

    def longest_attention(self, model: ModelShape, batch: int) -> int:
        """Largest context for which the GPUs have a time of attention of ``batch`` requests."""
        score = next(op for op in layer_operators(model, batch, 1, self.tp) if op.kind == "attention")
        return self.roofline.longest_context(batch, score)

    def units_bandwidth(self) -> NearMemory:
        """Bandwidth of the units at a GPU, for their share of the FFN.

        Raises
        ------
        :exc:`ConfigError`
            If the system has no units, or its file states no bandwidth.
        """
        raise ConfigError(f"{self.name}: overlaps.feed_forward needs units whose bandwidth the system's file states")

    def kv_room(self, model: ModelShape) -> int | None:
        """Bytes of a device for KV of one batch, where KV is not beside the weights; None: the weights leave the room."""
        return None

    def queries_per_head(self, model: ModelShape) -> int:
        """Queries of a device that share a key/value head of the device."""
        return model.heads // self.tp // max(model.kv_heads // self.tp, 1)

    def kv_token_bytes(self, model: ModelShape) -> int:
        """Bytes of K and V of a token in one layer of a device."""
        return 2 * max(model.kv_heads // self.tp, 1) * model.head_dim * model.dtype_bytes

    def kv_bytes_per_device(self, model: ModelShape, batch: int, tokens: int, layers: int) -> int:
        """Bytes that ``batch`` requests of ``tokens`` tokens occupy on the fullest device of a stage of ``layers``."""
        return batch * int(model.attended(tokens)) * layers * self.kv_token_bytes(model)

    def assumptions(self) -> dict[str, Assumption]:
        gpu, measured = self.spec.gpu, self.spec.gpu.rule == "measured"
        reached = {"compute_utilisation": gpu.compute_utilisation, "memory_utilisation": gpu.memory_utilisation}
        traffic, quantised = (
            ("the traffic of the best tiles", "processors are idle in the last wave of tiles")
            if gpu.tiled
            else ("least traffic", "no tile or wave quantisation")
        )
        products = (
            f"GEMMs, attention and all-reduces of the GPUs take times measured with {self.roofline.kernels.file.engine} on "
            f"{self.roofline.kernels.file.gpu}; norms, activations and transfers take fitted times"
            if isinstance(self.roofline, MeasuredGpu)
            else f"GEMMs take the longer of compute at {gpu.compute_utilisation:g} of the peak and {traffic} at "
            f"{gpu.memory_utilisation:g} of the bandwidth; {quantised}"
        )
        together = {
            "none": "operators of a layer run one after the other; nothing overlaps",
            "transfers": "transfers of a head run beside the attention of others",
            "heads": "projections and transfers of a head run beside the attention of others",
            "sub-batches": "the units attend for a half of the requests while the GPU works for the other half, "
            f"from {self.least_batch} requests on",
        }[self.pipelining]
        if self.near_memory is not None:
            together += "; the units take a share of the FFN"
        return {
            "gemm": Assumption(
                products,
                gpu.kernels if measured else reached,
                self.roofline.kernels.file.source if isinstance(self.roofline, MeasuredGpu) else gpu.source,
            ),
            "attention": Assumption(
                "GPU attention is three kernels; each key/value head of a request has one processor"
                if gpu.per_head
                else "GPU attention is fused: K and V are read once per group of query heads, scores stay on chip",
                "per-head" if gpu.per_head else "fused",
            ),
            "left_out": Assumption(
                "decoding in steady state: prefill, sampling, scheduling and host time are not included",
                ("prefill", "sampling", "scheduling", "host time"),
            ),
            "overlap": Assumption(together, self._overlapped),
            "contexts": Assumption("all requests have the same context", "equal"),
            "parallelism": Assumption(
                f"{self.tp}-way tensor and {self.pp}-way pipeline parallelism, one micro-batch per stage",
                {"tensor": self.tp, "pipeline": self.pp},
                self.spec.parallelism.source,
            ),
        }

    @property
    def _overlapped(self) -> dict[str, Any] | None:
        if self.pipelining == "none" and self.near_memory is None:
            return None
        return {"pipelining": self.pipelining, "feed_forward": self.near_memory is not None}

    # Composition -------------------------------------------------------------------------------------------------

    def layer(
        self,
        model: ModelShape,
        micro: MicroBatch,
        contexts: np.ndarray,
        attention: bool = True,
        attended: Mapping[str, Cost] | None = None,
    ) -> dict[str, Cost]:
        """Cost of one decoder layer for a micro-batch on the devices of one stage, by operator. With ``attention``
        false, attention and the operators that overlap with it are left out. ``attended`` is the cost of attention,
        where it is known."""
        if attention and attended is None:
            attended = self.attention(model, micro, contexts)
        if self.pipelining == "sub-batches" and micro.size >= self.least_batch:
            sizes = [micro.size - micro.size // 2, micro.size // 2]
            halves = [self._linear_costs(model, size, contexts, {})[0] for size in sizes]
            linear, left = interleaved(halves, attended or {}, sizes)
            return linear | left
        out, projections = self._linear_costs(model, micro.size, contexts, attended or {})
        if self.pipelining in ("none", "sub-batches"):
            return out
        if attended is None:
            return {name: cost for name, cost in out.items() if self.pipelining != "heads" or name not in PROJECTIONS}
        parts = Parts(
            projections, self.transfers, tuple(name for name in attended if name not in self.transfers), self.hidden
        )
        return pipelined(out, parts, self.tp / model.heads, projections=self.pipelining == "heads")

    def _linear_costs(
        self, model: ModelShape, requests: int, contexts: np.ndarray, attended: Mapping[str, Cost]
    ) -> tuple[dict[str, Cost], dict[str, float]]:
        """Costs of a layer's operators for so many requests, with ``attended`` in its place, and the operations of its
        projections."""
        out: dict[str, Cost] = {}
        projections: dict[str, float] = {}
        for op in layer_operators(model, requests, contexts, self.tp):
            if op.kind == "attention":
                out.update(attended)
                continue
            if op.name in PROJECTIONS:
                projections[op.name] = op.flops
            out[op.name] = self.roofline.of(op, self.tp).scaled(1, self.tp)
            if self.near_memory is not None and op.kind == "gemm" and op.name not in PROJECTIONS:
                out[op.name] = feed_forward(
                    out[op.name],
                    self.near_memory,
                    batch=requests,
                    gpu_flops_per_s=self.spec.gpu.peak_tflops * 1e12,
                    element_bytes=op.dtype_bytes,
                )
        return out, projections

    def stage_costs(
        self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray, attention: bool = True
    ) -> list[dict[str, Cost]]:
        """Cost of a micro-batch in each stage, by operator, for all layers of the stage."""
        layer = self.layer(model, micro, contexts, attention)
        out = []
        for stage, layers in enumerate(self.stages(model)):
            costs = {}
            if stage == 0:
                for op in embedding_operators(model, micro.size):
                    costs[op.name] = self.roofline.operator(op).scaled(1, self.tp)
            for name, cost in layer.items():
                costs[name] = cost.scaled(layers, layers)
            if stage == self.pp - 1:
                for op in head_operators(model, micro.size, self.tp):
                    costs[op.name] = self.roofline.operator(op).scaled(1, self.tp)
            if self.pp > 1:
                # The last stage sends the chosen token back; its size is that of one element per request.
                count = micro.size * (
                    model.dtype_bytes if stage == self.pp - 1 else model.hidden_size * model.dtype_bytes
                )
                costs["pipeline_transfer"] = self.roofline.transfer(count).scaled(1, self.tp)
            out.append(costs)
        return out

    def decode_step(self, model: ModelShape, batch: int, contexts: np.ndarray) -> StepCost:
        """Cost of a decode step. Times are of the slowest stage with the largest micro-batch, once for each stage.
        Energies are of all stages and micro-batches."""
        micros = self.micro_batches(batch)
        costs = {micro: self.stage_costs(model, micro, contexts) for micro in dict.fromkeys(micros)}
        largest_one = costs[micros[0]]
        totals = np.array(
            [sum(np.broadcast_to(cost.time_s, contexts.shape) for cost in stage.values()) for stage in largest_one]
        )
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

        def made() -> np.ndarray:
            stages = self.stage_costs(model, self.micro_batches(batch)[0], np.array([1], np.int64), attention=False)
            return np.array([sum(float(np.max(cost.time_s)) for cost in stage.values()) for stage in stages])

        return kept(self._linear, key, made)

    def attention_seconds(self, model: ModelShape, contexts: np.ndarray) -> tuple[float, float]:
        """Seconds of one layer's attention for the largest micro-batch of requests with these contexts. Operators that
        overlap with attention count too. The second value is the least time of a whole step for reasons beside
        attention. :meth:`prepare` comes first."""
        micro = self.micro_batches(len(contexts))[0]
        attended = self.attention(model, micro, np.array([round(float(np.mean(contexts)))], np.int64))
        return self.coupled_seconds(model, micro, attended), 0.0

    def coupled_seconds(self, model: ModelShape, micro: MicroBatch, attended: Mapping[str, Cost]) -> float:
        """Seconds of one layer's attention, and of the operators that overlap with it."""
        if self.pipelining != "none":
            one = np.array([1], np.int64)
            around = self.layer(model, micro, one, attention=False)
            attended = {
                name: cost
                for name, cost in self.layer(model, micro, one, attended=attended).items()
                if name not in around
            }
        return sum(float(np.max(cost.time_s)) for cost in attended.values())

    def knees(self, model: ModelShape) -> list[int]:
        """Tokens of all requests at which a memory is full, so that the time of attention grows differently from there
        on."""
        return []

    def check_weights(self, model: ModelShape) -> None:
        """Raise :exc:`ConfigError` unless the weights fit."""
        weight, available = max(self.weight_bytes_per_device(model)), self.available_bytes_per_device
        if weight > available:
            raise ConfigError(
                f"{model.name} on {self.name}: the weights need {weight} bytes on the fullest device, "
                f"{available} are available"
            )

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

    def rooms(self, model: ModelShape) -> list[Room]:
        weights, stages = self.weight_bytes_per_device(model), self.stages(model)
        available, apart = self.available_bytes_per_device, self.kv_room(model)
        if apart is not None:  # the stage with most weights and the one with most layers need not be the same
            weights, stages = [max(weights)], [max(stages)]
            available = weights[0] + apart if weights[0] <= available else available

        def kv(layers: int) -> Callable[[int, int], int]:
            return lambda batch, tokens: self.kv_bytes_per_device(model, batch, tokens, layers)

        return [Room(available, held, kv(layers)) for held, layers in zip(weights, stages, strict=True)]
