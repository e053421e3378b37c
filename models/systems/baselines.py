"""What PAM is compared with and has no tiers of near-memory units: KV offload, and AttAcc.

``gpu-offload``: GPUs alone; KV that their own memory does not keep (``keeps``: nothing, a batch that fits, or as much as
fits) is in other memories and is fetched at every step, beside the computation if ``overlap``. ``attacc``: GPUs whose HBM
has AttAcc's units; a batch must fit HBM.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.document import validate
from ...constraints.errors import ConfigError
from ...constraints.memory import Memory
from ...constraints.systems import AttAccSystemSpec, GpuSystemSpec, OffloadSystemSpec
from ..attacc.layer import AttentionLayer, LayerTimer
from ..llm import ModelShape
from .gpu import GIB, GpuSystem, read_spec
from .pam_hbm import _load
from .results import Capacity, Cost

__all__ = ["AttAccSystem", "OffloadSystem"]


def _base(spec: OffloadSystemSpec | AttAccSystemSpec, where: str,
          base_overrides: Mapping[str, Any] | None) -> GpuSystemSpec:
    document, lines, base_where = read_spec(spec.base, base_overrides, beside=Path(where))[:3]
    return validate(document, GpuSystemSpec, base_where, lines)


class OffloadSystem(GpuSystem):
    """GPUs with KV in host memory and SSDs."""

    kind = "gpu-offload"

    def __init__(self, name: str, spec: OffloadSystemSpec, base: GpuSystemSpec) -> None:
        super().__init__(name, base)
        self.offload = spec
        for tier in spec.tiers:
            if not tier.read_gb_s:
                raise ConfigError(f"{name}: tier '{tier.name}' has no bandwidth: read_gb_s must be greater than 0, not 0")
        if not spec.links.gpu_host_gb_s:
            raise ConfigError(f"{name}: links.gpu_host_gb_s must be greater than 0, not 0")

    @classmethod
    def from_document(cls, document: dict[str, Any], lines: dict[Any, int], where: str, name: str, *,
                      base_overrides: Mapping[str, Any] | None = None, **_: Any) -> OffloadSystem:
        spec = validate(document, OffloadSystemSpec, where, lines)
        return cls(name, spec, _base(spec, where, base_overrides))

    def kv_tiers(self, model: ModelShape) -> list[int]:
        """Bytes of a GPU for KV: its own memory without the weights, then each tier."""
        own = self.available_bytes_per_device - max(self.weight_bytes_per_device(model))
        return [max(own, 0), *(int((tier.gib_per_gpu - tier.reserved_gib) * GIB) for tier in self.offload.tiers)]

    def kv_room(self, model: ModelShape) -> int:
        """Bytes of KV of one batch that a GPU's share holds."""
        own, *others = self.kv_tiers(model)
        keeps = self.offload.keeps
        return own + sum(others) if keeps == "part" else max(own, sum(others)) if keeps == "batch" else sum(others)

    def capacity(self, model: ModelShape, context: int, batch: int, output_tokens: int) -> Capacity:
        weights, layers = max(self.weight_bytes_per_device(model)), max(self.stages(model))
        room = self.kv_room(model)
        last = context + output_tokens - 1
        available = weights + room if weights <= self.available_bytes_per_device else self.available_bytes_per_device
        return Capacity(available, weights, self.kv_bytes_per_device(model, batch, last, layers),
                        room // self.kv_bytes_per_device(model, 1, context, layers),
                        room // self.kv_bytes_per_device(model, 1, last, layers))

    def knees(self, model: ModelShape) -> list[int]:
        size = self.kv_bytes_per_device(model, 1, 1, max(self.stages(model)))
        own, *others = self.kv_tiers(model)
        return [int(held) // size for held in np.cumsum([0 if self.offload.keeps == "nothing" else own, *others])[:-1]]

    def _too_large(self, model: ModelShape, context: int, batch: int, output_tokens: int, capacity: Capacity,
                   need: int) -> str:
        text = super()._too_large(model, context, batch, output_tokens, capacity, need)
        tiers, rooms = ["hbm", *(tier.name for tier in self.offload.tiers)], self.kv_tiers(model)
        if self.offload.keeps == "nothing":
            tiers, rooms = tiers[1:], rooms[1:]
        held = ", ".join(f"{name} {count / GIB:.1f} GiB" for name, count in zip(tiers, rooms, strict=True))
        missing = need - capacity.available_bytes_per_device
        return f"{text}; a GPU's tiers hold {held} of KV, '{tiers[-1]}' lacks {missing / GIB:.1f} GiB"

    def fetched(self, model: ModelShape, batch: int, contexts: np.ndarray) -> list[np.ndarray]:
        """Bytes that a GPU fetches from each tier for one layer of a micro-batch of ``batch`` requests."""
        whole, layers = self._batch or batch * self.pp, max(self.stages(model))
        attended = np.asarray(model.attended(contexts), float)
        total = whole * attended * layers * 2 * max(model.kv_heads // self.tp, 1) * model.head_dim * model.dtype_bytes
        out, before = [], np.zeros_like(total)
        own, *others = self.kv_tiers(model)
        kept: dict[str, Any] = {"nothing": 0, "batch": np.where(total > own, 0, own), "part": own}
        for room in (kept[self.offload.keeps], *others):
            here = np.clip(total - before, 0, room)
            before = before + here
            out.append(here / layers * batch / whole)
        return out[1:]

    def kv_write_seconds(self, model: ModelShape, tokens: int) -> float:
        count = tokens * 2 * max(model.kv_heads // self.tp, 1) * model.head_dim * model.dtype_bytes
        return count / (self.offload.links.gpu_host_gb_s * 1e9)

    def fetch_seconds(self, fetched: list[np.ndarray]) -> np.ndarray:
        """Time to fetch so many bytes of each tier: tiers side by side, all over the link to the GPU."""
        total, links = sum(fetched), self.offload.links
        time = total / (links.gpu_host_gb_s * 1e9)
        for tier, count in zip(self.offload.tiers, fetched, strict=True):
            time = np.maximum(time, count / (tier.read_gb_s * 1e9))
        return np.asarray(time + links.latency_us * 1e-6 * (total > 0), float)

    def exposed(self, fetch_s: Any, compute_s: Any) -> np.ndarray:
        """What of a stage's fetching its computation does not hide."""
        return np.maximum(fetch_s - compute_s, 0) if self.offload.overlap else np.asarray(fetch_s, float)

    def attention(self, model: ModelShape, batch: int, contexts: np.ndarray) -> dict[str, Cost]:
        own = super().attention(model, batch, contexts)["attention"]
        fetched = self.fetched(model, batch, contexts)
        energy = sum(count * (tier.pj_per_byte + self.offload.links.pj_per_byte)
                     for tier, count in zip(self.offload.tiers, fetched, strict=True))
        return {"attention": own, "kv_fetch": Cost(self.fetch_seconds(fetched), {"kv_transfers": energy * self.tp})}

    def step(self, model: ModelShape, batch: int, contexts: np.ndarray, attention: bool = True) -> list[dict[str, Cost]]:
        stages = super().step(model, batch, contexts, attention)
        for stage in stages if attention else ():
            fetch = stage.pop("kv_fetch")
            compute = sum(np.broadcast_to(cost.time_s, contexts.shape) for cost in stage.values())
            stage["kv_fetch"] = Cost(self.exposed(fetch.time_s, compute), fetch.energy_pj)
        return stages

    def attention_seconds(self, model: ModelShape, contexts: np.ndarray) -> tuple[float, float]:
        self._batch = len(contexts)
        size = -(-len(contexts) // min(self.pp, len(contexts)))
        costs = self.attention(model, size, np.array([round(float(np.mean(contexts)))], np.int64))
        own, fetch = (float(np.max(costs[name].time_s)) for name in ("attention", "kv_fetch"))
        return (own, self.pp * max(self.stages(model)) * fetch) if self.offload.overlap else (own + fetch, 0.0)

    def extras(self, model: ModelShape, batch: int, context: int) -> dict[str, Any]:
        out = super().extras(model, batch, context)
        layers = max(self.stages(model))
        fetched = [float(np.sum(count)) for count in self.fetched(model, batch, np.array([context]))]
        out["attention"] = {"fetched_bytes_per_gpu_and_step": {
            tier.name: count * layers * (self._batch or batch) / batch
            for tier, count in zip(self.offload.tiers, fetched, strict=True)}}
        return out

    def assumptions(self) -> list[str]:
        return [*super().assumptions(),
                "attention reads all tokens; " + {
                    "nothing": "no KV is in HBM, which has room for what is being fetched",
                    "batch": "KV of a batch that does not fit HBM is in the next tiers, all of it",
                    "part": "KV is in HBM as far as it fits, then in the next tier, and stays there"}[self.offload.keeps],
                "KV beyond HBM crosses the link to the GPU at every step" +
                (", while the GPU computes" if self.offload.overlap else "")]


class AttAccSystem(GpuSystem):
    """GPUs whose HBM has AttAcc's units."""

    kind = "attacc"

    def __init__(self, name: str, spec: AttAccSystemSpec, base: GpuSystemSpec, memory: Memory) -> None:
        super().__init__(name, base)
        self.pim, self.memory = spec, memory
        self.timer = LayerTimer(memory, power_limit=spec.power_limit)

    @classmethod
    def from_document(cls, document: dict[str, Any], lines: dict[Any, int], where: str, name: str, *,
                      base_overrides: Mapping[str, Any] | None = None, **_: Any) -> AttAccSystem:
        spec = validate(document, AttAccSystemSpec, where, lines)
        memory = spec.memory
        if memory.endswith((".yaml", ".yml")) and not Path(memory).is_absolute():
            memory = str(Path(where).parent / memory)
        return cls(name, spec, _base(spec, where, base_overrides), _load(memory, spec.power_limit))

    def heads(self, model: ModelShape, batch: int) -> int:
        """Heads on the busiest stack: a query head of a request each, which has its keys and values to itself."""
        return -(-batch * (model.heads // self.tp) // self.spec.memory.stacks_per_gpu)

    def layer_time(self, model: ModelShape, tokens: int, heads: int) -> tuple[float, float]:
        """Seconds and pJ of one layer of a stack. Beyond two pairs of rounds, more heads take as much longer as the second
        pair took than the first."""

        def timed(count: int) -> tuple[float, float]:
            layer = AttentionLayer(tokens, count, self.pim.placement, model.dtype_bytes, model.head_dim, quirks=None,
                                   memory=self.memory)
            result = self.timer.time(layer)
            return result.time_ns * 1e-9, result.energy_pj["total"]

        pair = 2 * self.memory.channels
        if heads <= 2 * pair:
            return timed(heads)
        one, two = timed(pair), timed(2 * pair)
        rounds = -(-heads // self.memory.channels) / 2 - 2
        return two[0] + rounds * (two[0] - one[0]), two[1] + (heads / pair - 2) * (two[1] - one[1])

    def attention(self, model: ModelShape, batch: int, contexts: np.ndarray) -> dict[str, Cost]:
        heads = self.heads(model, batch)
        attended = np.broadcast_to(model.attended(contexts), np.shape(contexts))
        values, where = np.unique(attended, return_inverse=True)
        # Time depends on the tokens through groups of them; long outputs are sampled.
        chosen = values[np.unique(np.linspace(0, len(values) - 1, min(len(values), 16)).round().astype(int))]
        timed = np.array([self.layer_time(model, int(tokens), heads) for tokens in chosen])
        seconds = np.interp(values, chosen, timed[:, 0])[where]
        energy = np.interp(values, chosen, timed[:, 1])[where] * self.tp * self.spec.memory.stacks_per_gpu
        return {"attention": Cost(seconds, {"pim_cell_reads": energy,
                                            "pu_compute": energy * self.pim.energy.unit_power_ratio})}

    def extras(self, model: ModelShape, batch: int, context: int) -> dict[str, Any]:
        out = super().extras(model, batch, context)
        out["attention"] = {"memory": self.memory.name, "placement": self.pim.placement,
                            "heads_per_stack": self.heads(model, batch)}
        if model.group > 1:
            out["notes"].append(f"{model.group} queries share each key/value head and AttAcc's units take one at a time, "
                                f"so K and V are read {model.group} times")
        return out

    def assumptions(self) -> list[str]:
        return [line for line in super().assumptions() if not line.startswith("GPU attention")] + [
            "attention is AttAcc's on its controllers, without the defects of its simulator; heads are dealt out evenly to "
            "stacks and do not overlap with GEMMs",
            "KV must fit HBM: nothing is offloaded"]
