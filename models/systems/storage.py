"""One GPU, its host, and drives on a tree of links: what INF2 and the systems that it is compared with share.

Weights are in the GPU's memory, in the host's memory, or on the drives. A step streams weights that are not in the GPU's
memory, layer by layer. ``storage-offload`` keeps keys and values in the host's memory or on the drives, which a software
RAID0 reads.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.systems.inf2 import StorageSystemSpec
from ..inf2.traffic import Block
from ..llm import ModelShape, embedding_operators, head_operators, layer_operators
from .description import Description
from .links import HOST, LinkTree, Transfer, by_name
from .measured import MeasuredGpu
from .platform import GpuPlatform, MicroBatch
from .results import Capacity, Cost
from .roofline import Roofline
from .storage_keys import OffloadKeys
from .system import BLOCK_TOKENS, GIB, Assumption, Details, StepCost

__all__ = ["GPU", "LayerCost", "StorageOffloadSystem", "StoragePlatform", "StorageServed"]

GPU = ("gpu", 0)

#: Bytes of a GB of the host's memory.
GB = 10**9


@dataclass(frozen=True)
class LayerCost:
    """A layer beyond its linear operators.

    Attributes
    ----------
    costs : mapping of name to :class:`Cost`
        Operators of one layer. ``transfer_wait`` is the time for which nothing but transfers goes on.
    transfers : list of :class:`Transfer`
        All that crosses links in one layer.
    notes, keys
        For the result.
    """

    costs: Mapping[str, Cost]
    transfers: list[Transfer]
    notes: list[str] = field(default_factory=list)
    keys: Mapping[str, Any] = field(default_factory=dict)


class StoragePlatform(GpuPlatform):
    """See the module.

    Attributes
    ----------
    links : :class:`LinkTree`
    drives : nodes of the drives that are used
    flash : memory of a drive
    flash_bytes_per_s, flash_write_bytes_per_s : rates of a drive's flash, its heads of packets included
    sequences : :class:`Roofline`
        The GPU at the rate that the software reaches with whole sequences. Measured times of a GPU stay.
    """

    not_modelled = (*GpuPlatform.not_modelled, "drives")
    #: Links that every drive has.
    parts: ClassVar[tuple[str, ...]] = ("flash",)

    def __init__(self, description: Description[Any]) -> None:
        super().__init__(description)
        self.own = spec = description.spec
        gpu = self.spec.gpu
        reached = min(spec.sequences.tflops / gpu.peak_tflops, gpu.compute_utilisation)
        self.sequences: Roofline = (
            self.roofline
            if isinstance(self.roofline, MeasuredGpu)
            else Roofline(gpu.model_copy(update={"compute_utilisation": reached}), self.spec.link, self.spec.energy)
        )
        if self.devices != 1:
            raise ConfigError(f"{self.name}: the links have one GPU, gpu.count times nodes is {self.devices}")
        self.links = LinkTree(spec.links, self.name)
        self.drives = self.links.spread("drive", spec.devices)
        self.links.bytes_per_s(GPU[0])  # there must be one
        for part in self.parts:
            self.links.bytes_per_s(part)
            edge = self.links.edges[part]
            if edge.below != "drive" or edge.count != 1:
                raise ConfigError(f"{self.name}: links.edges: '{part}' must be below 'drive', once")
        self.flash = description.memory(spec.drive.memory)
        if "nPROG" not in self.flash.parameters:
            raise ConfigError(f"{self.name}: drive.memory: {self.flash.name} is no flash, it has no nPROG")
        self.flash_bytes_per_s = self.flash.channel_bytes_per_s
        program_s = self.flash.parameters["nPROG"] * self.flash.clock_ps * 1e-12
        self.flash_write_bytes_per_s = self.flash.banks * self.flash.row_bytes / program_s
        self.drive_bytes = self.flash.banks * self.flash.rows * self.flash.row_bytes

    # Room ------------------------------------------------------------------------------------------------------------

    @property
    def host_bytes(self) -> int:
        """Bytes of the host's memory for weights, keys, values and inputs."""
        return int((self.own.server.memory_gb - self.own.server.other_gb) * GB)

    def weights_at(self, model: ModelShape) -> str:
        """Place of the weights: ``gpu``, ``host`` or ``drives``.

        Raises
        ------
        :exc:`ConfigError`
            If the file names a place that does not hold them.
        """
        need, chosen = model.weight_bytes, self.own.weights
        room = {
            "gpu": self.available_bytes_per_device,
            "host": self.host_bytes,
            "drives": len(self.drives) * self.drive_bytes,
        }
        if chosen == "auto":
            return next((place for place, there in room.items() if need <= there), "drives")
        if need > room[chosen]:
            raise ConfigError(
                f"{model.name} on {self.name}: weights '{chosen}': they need {need} bytes, {room[chosen]} are there"
            )
        return str(chosen)

    def check(self, model: ModelShape) -> None:
        super().check(model)
        self.weights_at(model)

    def kv_on_drives(self, model: ModelShape, batch: int, tokens: int) -> int:
        """Bytes of keys and values of ``batch`` requests on the drives."""
        return batch * int(model.attended(tokens)) * model.kv_bytes_per_token

    def capacity(self, model: ModelShape, context: int, batch: int, output_tokens: int) -> Capacity:
        """All drives together. Requests count as if the drives held all of their keys and values."""
        weights = model.weight_bytes if self.weights_at(model) == "drives" else 0
        there, last = len(self.drives) * self.drive_bytes, context + output_tokens - 1

        def most(tokens: int) -> int:
            return max(there - weights, 0) // (int(model.attended(tokens)) * model.kv_bytes_per_token)

        return Capacity(there, weights, self.kv_on_drives(model, batch, last), most(context), most(last))

    def check_fits(self, model: ModelShape, context: int, batch: int, output_tokens: int = 1) -> Capacity:
        capacity = self.capacity(model, context, batch, output_tokens)
        if batch > capacity.largest_batch_with_output:
            there, most = capacity.available_bytes_per_device, capacity.largest_batch_with_output
            need = capacity.weight_bytes_per_device + capacity.kv_bytes_per_device
            raise ConfigError(
                f"{model.name} on {self.name}: batch {batch} at context {context + output_tokens - 1} needs {need} bytes "
                f"({need / GIB:.1f} GiB), {len(self.drives)} drives have {there} ({there / GIB:.1f} GiB); "
                + (f"the largest batch that fits is {most}" if most else "not even one request fits")
            )
        return capacity

    def kv_capacity_tokens(self, model: ModelShape) -> int:
        capacity = self.capacity(model, 1, 1, 1)
        room = capacity.available_bytes_per_device - capacity.weight_bytes_per_device
        return room // model.kv_bytes_per_token // BLOCK_TOKENS * BLOCK_TOKENS

    @property
    def steady_w(self) -> dict[str, float]:
        """Power of components that is the same at all times, in W."""
        return {}

    # Transfers -------------------------------------------------------------------------------------------------------

    def between(self, part: str, other: tuple[str, int], count: Any, back: bool = False) -> list[Transfer]:
        """``count`` bytes from parts of all drives to another node, in equal shares. ``back``: the other way."""
        share = count / len(self.drives)
        return [
            Transfer(other, (part, number), share) if back else Transfer((part, number), other, share)
            for _, number in self.drives
        ]

    def weight_transfers(self, model: ModelShape) -> list[Transfer]:
        """Transfers of a layer's weights to the GPU. Embedding and output matrix are spread over the layers."""
        place, count = self.weights_at(model), model.weight_bytes / model.layers
        if place == "gpu":
            return []
        return [Transfer(HOST, GPU, count)] if place == "host" else self.between("flash", GPU, count)

    def flash_seconds(self, transfers: list[Transfer]) -> Any:
        """Seconds for which the busiest flash reads what leaves it."""
        loads = self.links.loads(one for one in transfers if one.source[0] == "flash")
        return (
            max(
                (count for ((name, _), _), count in loads.items() if name == "flash"),
                default=0,
                key=lambda count: float(np.max(count)),
            )
            / self.flash_bytes_per_s
        )

    def transfer_seconds(self, transfers: list[Transfer]) -> Any:
        """Seconds of transfers at the same time, reading of flash included."""
        return np.maximum(self.links.seconds(transfers), self.flash_seconds(transfers))

    # Steps -----------------------------------------------------------------------------------------------------------

    @abstractmethod
    def layer_seconds(self, model: ModelShape, batch: int, contexts: np.ndarray, linear_s: Any) -> LayerCost:
        """A layer beyond its linear operators, which take ``linear_s``."""

    def decode_step(self, model: ModelShape, batch: int, contexts: np.ndarray) -> StepCost:
        contexts = np.asarray(contexts, np.int64)
        linear = self.layer(model, MicroBatch(batch, batch), contexts, attention=False)
        linear_s = sum(np.broadcast_to(cost.time_s, contexts.shape) for cost in linear.values())
        more = self.layer_seconds(model, batch, contexts, linear_s)
        costs = {name: cost.scaled(model.layers, model.layers) for name, cost in (linear | dict(more.costs)).items()}
        for op in (*embedding_operators(model, batch), *head_operators(model, batch)):
            costs[op.name] = self.roofline.operator(op)
        moved = sum(transfer.count for transfer in more.transfers)
        costs["transfer_wait"] = Cost(
            costs["transfer_wait"].time_s, {"host_links": moved * model.layers * self.own.links.pj_per_byte}
        )
        seconds = {
            name: np.broadcast_to(np.asarray(cost.time_s, float), contexts.shape) for name, cost in costs.items()
        }
        energy: dict[str, np.ndarray] = {}
        for cost in costs.values():
            for component, pj in cost.energy_pj.items():
                energy[component] = energy.get(component, 0.0) + np.broadcast_to(np.asarray(pj, float), contexts.shape)
        for component, watts in self.steady_w.items():
            energy[component] = watts * 1e12 * np.asarray(sum(seconds.values()))
        return StepCost(seconds, energy, batch)

    # Prefill ---------------------------------------------------------------------------------------------------------

    def requests_with_inputs(self, model: ModelShape, batch: int, tokens: int) -> int:
        """Requests of a batch of which the host keeps inputs in place of keys and values; all end with ``tokens``."""
        return 0

    def kv_write_transfers(self, model: ModelShape, tokens: int) -> list[Transfer]:
        """Transfers of one layer's keys and values of prompt tokens to the flash."""
        return self.between("flash", GPU, tokens * Block.of(model).kv_token_bytes, back=True)

    def kv_write_least_seconds(self, count: Any) -> Any:
        """Seconds to write ``count`` bytes for reasons beside links."""
        return count / (len(self.drives) * self.flash_write_bytes_per_s)

    def prompt_seconds(self, model: ModelShape, tokens: np.ndarray, past: np.ndarray, inputs: int = 0) -> float:
        """Seconds of a prefill. Weights come and keys and values go while a layer is computed. In place of keys and values,
        the inputs of the first ``inputs`` requests go to the host's memory."""
        total, kept, rows = int(tokens.sum()), int(tokens[:inputs].sum()), len(tokens)
        block = Block.of(model)

        def spent(ops: list[Any]) -> float:
            return sum(float(self.sequences.operator(op).time_s) for op in ops)

        linear = spent([op for op in layer_operators(model, total, 1) if op.kind != "attention"])
        attention = self.sequences.prompt_attention(
            model.heads, model.kv_heads, model.head_dim, model.dtype_bytes, tokens, past, model.sliding_window
        )
        moved = self.transfer_seconds(
            [
                *self.weight_transfers(model),
                *self.kv_write_transfers(model, total - kept),
                Transfer(GPU, HOST, kept * block.x_token_bytes),
            ]
        )
        written = self.kv_write_least_seconds((total - kept) * block.kv_token_bytes)
        layer = max(linear + attention, float(moved), float(written))
        return model.layers * layer + spent([*embedding_operators(model, total), *head_operators(model, rows)])

    # Results ---------------------------------------------------------------------------------------------------------

    def serving(self, model: ModelShape) -> StorageServed:
        return StorageServed(self, model)

    def check_weights(self, model: ModelShape) -> None:
        self.check_fits(model, 1, 1)

    def details(self, model: ModelShape, batch: int, context: int, cost: StepCost) -> Details:
        steps = len(cost.total_s)
        contexts = context + np.arange(steps, dtype=np.int64)
        more = self.layer_seconds(model, batch, contexts, 0.0)
        traffic = {
            name: {way: float(np.mean(count)) * model.layers for way, count in both.items()}
            for name, both in self.links.traffic(more.transfers).items()
        }
        prefill = self.prompt_seconds(
            model,
            np.full(batch, context),
            np.zeros(batch, np.int64),
            self.requests_with_inputs(model, batch, int(contexts[-1])),
        )
        run = prefill + float(cost.total_s.sum())
        price = self.price_usd()
        return Details(
            notes=more.notes,
            more={
                "traffic_bytes": by_name(traffic),
                "prefill_s": prefill,
                "run_throughput_tok_s": batch * steps / run,
                "weights_at": self.weights_at(model),
                "price_usd": price,
                "tok_s_per_usd": batch * steps / run / sum(price.values()) if price else None,
                **more.keys,
            },
        )

    def price_usd(self) -> dict[str, float] | None:
        """Price of the server by part; None if the file has no price of its GPU."""
        prices, gpu = self.own.prices, self.spec.gpu.name
        if gpu not in prices.gpu_usd:
            return None
        return {
            "gpu": prices.gpu_usd[gpu],
            "server": prices.server_usd,
            "expansion": prices.expansion_usd,
            "drives": len(self.drives) * prices.drive_usd,
        }

    def assumptions(self) -> dict[str, Assumption]:
        spec = self.own
        return super().assumptions() | {
            "drives": Assumption(
                f"{len(self.drives)} drives are spread over the ports; each reads "
                f"{self.flash_bytes_per_s / 1e9:.2f} and writes {self.flash_write_bytes_per_s / 1e9:.2f} "
                "GB/s",
                len(self.drives),
                spec.drive.source,
            ),
            "links": Assumption(
                "the slowest link counts for all bytes that cross it; directions do not meet",
                spec.links.model_dump()["edges"],
                spec.links.source,
            ),
            "weights": Assumption(
                "weights that are not in the GPU's memory are streamed in every step, layer by layer", spec.weights
            ),
            "sequences": Assumption(
                f"prefill and recomputing reach {spec.sequences.tflops:g} TFLOP/s on any GPU that has as many",
                spec.sequences.tflops,
                spec.sequences.source,
            ),
            "prefill_run": Assumption("the throughput of a run has a prefill of all requests before it", True),
        }


class StorageOffloadSystem(StoragePlatform):
    """A GPU with keys and values in its host's memory or on drives (FlexGen, DeepSpeed ZeRO-Inference, Accelerate)."""

    kind = "storage-offload"
    result = OffloadKeys
    schema = StorageSystemSpec

    def kv_in_host(self, model: ModelShape, batch: int, tokens: int) -> bool:
        """Whether the host's memory holds the keys and values of the batch beside the weights."""
        weights = model.weight_bytes if self.weights_at(model) == "host" else 0
        return self.own.kv == "batch" and self.kv_on_drives(model, batch, tokens) + weights <= self.host_bytes

    def layer_seconds(self, model: ModelShape, batch: int, contexts: np.ndarray, linear_s: Any) -> LayerCost:
        spec, block, attended = self.own, Block.of(model), np.asarray(model.attended(contexts))
        read, written = block.kv_read(batch, attended), block.kv_write(batch)
        in_host = self.kv_in_host(model, batch, int(contexts[-1]))
        on_host = spec.attention == "host"
        energy: Mapping[str, Any] = {}
        if on_host:
            attention_s = read / (spec.server.memory_gb_s * 1e9 * spec.server.memory_utilisation)
            beside = [
                Transfer(GPU, HOST, batch * (block.query_bytes + block.kv_token_bytes)),
                Transfer(HOST, GPU, batch * block.query_bytes),
            ]
        else:
            one = self.roofline.fused(*(op for op in layer_operators(model, batch, contexts) if op.kind == "attention"))
            attention_s, energy = one.time_s, one.energy_pj
            beside = [Transfer(GPU, HOST, written)]
        weights = self.weight_transfers(model)
        kv: list[Transfer] = (
            []
            if on_host and in_host
            else [Transfer(HOST, GPU, read)]
            if in_host
            else self.between("flash", HOST if on_host else GPU, read)
        )
        kv += [] if in_host else self.between("flash", HOST, written, back=True)
        path = 0 if in_host else read + written
        path = path + (model.weight_bytes / model.layers if self.weights_at(model) == "drives" else 0)
        moving_s = np.maximum(self.transfer_seconds(weights + kv), path / (spec.path.gb_s * 1e9))
        beside_s = self.links.seconds(beside) + 2 * self.links.latency_s
        chain_s = linear_s + attention_s + beside_s
        wait_s = np.maximum(moving_s - chain_s, 0) if spec.overlap else moving_s
        return LayerCost(
            {
                "attention": Cost(attention_s, energy),
                "attention_transfers": Cost(beside_s),
                "transfer_wait": Cost(wait_s),
            },
            weights + kv + beside,
            keys={"kv_at": "host" if in_host else "drives"},
        )

    def kv_write_least_seconds(self, count: Any) -> Any:
        return max(super().kv_write_least_seconds(count), count / (self.own.path.gb_s * 1e9))

    def assumptions(self) -> dict[str, Assumption]:
        spec = self.own
        return super().assumptions() | {
            "attention": Assumption(
                "attention is on the processors of the host, at the bandwidth of its memory"
                if spec.attention == "host"
                else "the GPU fetches keys and values and attends",
                spec.attention,
                spec.server.source,
            ),
            "path": Assumption(
                f"{spec.path.name} brings {spec.path.gb_s:g} GB/s from all drives together",
                spec.path.gb_s,
                spec.path.source,
            ),
            "kv_kept": Assumption(
                "keys and values are "
                + (
                    "in the host's memory if those of a batch fit, else on the drives"
                    if spec.kv == "batch"
                    else "on the drives"
                ),
                spec.kv,
            ),
            "overlap": Assumption(
                "transfers go beside computation" if spec.overlap else "transfers and computation follow each other",
                spec.overlap,
            ),
        }


class StorageServed:
    """An instance for the serving engine. A step takes the time of as many requests of the mean context."""

    def __init__(self, system: StoragePlatform, model: ModelShape) -> None:
        self.system, self.model, self.name = system, model, system.name
        self.kv_window = model.sliding_window
        self.kv_block_tokens, self.kv_capacity_tokens = system.kv_block_tokens(model), system.kv_capacity_tokens(model)
        self.parallelism = {"tensor": 1, "pipeline": 1}
        self._steps: dict[tuple[int, int], float] = {}

    def decode_seconds(self, contexts: np.ndarray) -> float:
        mean = max(math.floor(float(np.mean(np.asarray(self.model.attended(contexts)))) + 0.5), 1)
        key = (len(contexts), mean)
        if key not in self._steps:
            if len(self._steps) > 1 << 16:
                self._steps.clear()
            self._steps[key] = float(self.system.decode_step(self.model, len(contexts), np.array([mean])).total_s[0])
        return self._steps[key]

    def prefill_seconds(self, tokens: np.ndarray, past: np.ndarray) -> float:
        return self.system.prompt_seconds(self.model, np.asarray(tokens), np.asarray(past))
