"""KV offload: a system with which PAM is compared and that has no near-memory units.

``gpu-offload``: GPUs alone. Their own memory keeps as much of the KV as fits. As sensitivities, ``keeps`` can be a
batch that fits as a whole, or nothing. Other KV is in other memories and is fetched at every step, beside the
computation if ``overlap``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.systems import OffloadSystemSpec
from ..llm import ModelShape
from .baselines_keys import OffloadedKeys
from .description import Description
from .gpu_serving import GpuServed
from .links import LinkTree, Transfer
from .platform import GpuPlatform, MicroBatch
from .results import Capacity, Cost
from .system import BLOCK_TOKENS, GIB, Assumption, Details, StepCost

__all__ = ["OffloadSystem"]


class OffloadSystem(GpuPlatform):
    """GPUs with KV in host memory and SSDs."""

    kind = "gpu-offload"
    result = OffloadedKeys
    schema = OffloadSystemSpec

    def __init__(self, description: Description[OffloadSystemSpec]) -> None:
        super().__init__(description)
        self.offload = spec = description.spec
        name = self.name
        for tier in spec.tiers:
            if spec.links.at(tier.name) is None:
                raise ConfigError(f"{name}: tier '{tier.name}' needs a link of its name in links.edges")
        self.links = LinkTree(spec.links, name)
        self.links.bytes_per_s("gpu")  # there must be one

    def kv_tiers(self, model: ModelShape) -> list[int]:
        """Bytes for KV of one GPU: its own memory without the weights, then each tier."""
        own = self.available_bytes_per_device - max(self.weight_bytes_per_device(model))
        return [max(own, 0), *(int((tier.gib_per_gpu - tier.reserved_gib) * GIB) for tier in self.offload.tiers)]

    def kv_room(self, model: ModelShape) -> int:
        """Bytes of KV of one batch that a GPU's share holds."""
        own, *others = self.kv_tiers(model)
        keeps = self.offload.keeps
        return own + sum(others) if keeps == "part" else max(own, sum(others)) if keeps == "batch" else sum(others)

    def knees(self, model: ModelShape) -> list[int]:
        size = self.kv_bytes_per_device(model, 1, 1, max(self.stages(model)))
        own, *others = self.kv_tiers(model)
        return [int(held) // size for held in np.cumsum([0 if self.offload.keeps == "nothing" else own, *others])[:-1]]

    def too_large(
        self, model: ModelShape, context: int, batch: int, output_tokens: int, capacity: Capacity, need: int
    ) -> str:
        text = super().too_large(model, context, batch, output_tokens, capacity, need)
        tiers, rooms = ["hbm", *(tier.name for tier in self.offload.tiers)], self.kv_tiers(model)
        if self.offload.keeps == "nothing":
            tiers, rooms = tiers[1:], rooms[1:]
        held = ", ".join(f"{name} {count / GIB:.1f} GiB" for name, count in zip(tiers, rooms, strict=True))
        missing = need - capacity.available_bytes_per_device
        return f"{text}; a GPU's tiers hold {held} of KV, '{tiers[-1]}' lacks {missing / GIB:.1f} GiB"

    def kv_capacity_tokens(self, model: ModelShape) -> int:
        token = self.kv_bytes_per_device(model, 1, 1, max(self.stages(model)))
        return self.kv_room(model) // token // BLOCK_TOKENS * BLOCK_TOKENS

    def kv_tiers_tokens(self, model: ModelShape) -> dict[str, int]:
        token = self.kv_bytes_per_device(model, 1, 1, max(self.stages(model)))
        own, *others = self.kv_tiers(model)
        return {
            **({} if self.offload.keeps == "nothing" else {"hbm": own // token}),
            **{tier.name: room // token for tier, room in zip(self.offload.tiers, others, strict=True)},
        }

    def fetched(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray) -> list[np.ndarray]:
        """Bytes that a GPU fetches from each tier for one layer of a micro-batch."""
        batch, whole, layers = micro.size, micro.whole, max(self.stages(model))
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
        return tokens * self.kv_token_bytes(model) / self.links.bytes_per_s("gpu")

    def fetch_seconds(self, fetched: list[np.ndarray]) -> np.ndarray:
        """Seconds to fetch these bytes from each tier. Tiers work side by side, and all bytes cross the link to the
        GPU."""
        time = self.links.seconds(
            Transfer((tier.name, 0), ("gpu", 0), count) for tier, count in zip(self.offload.tiers, fetched, strict=True)
        )
        return np.asarray(time + self.links.latency_s * (sum(fetched) > 0), float)

    def exposed(self, fetch_s: Any, compute_s: Any) -> np.ndarray:
        """Seconds of a stage's fetching that its computation does not hide."""
        return np.maximum(fetch_s - compute_s, 0) if self.offload.overlap else np.asarray(fetch_s, float)

    def attention(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray) -> dict[str, Cost]:
        own = super().attention(model, micro, contexts)
        fetched = self.fetched(model, micro, contexts)
        # What is fetched is written to the GPU's memory; attention reads it from there.
        write = self.spec.energy.dram_pj_per_byte
        energy = sum(
            count * (tier.pj_per_byte + self.offload.links.pj_per_byte + write)
            for tier, count in zip(self.offload.tiers, fetched, strict=True)
        )
        return {**own, "kv_fetch": Cost(self.fetch_seconds(fetched), {"kv_transfers": energy * self.tp})}

    def stage_costs(
        self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray, attention: bool = True
    ) -> list[dict[str, Cost]]:
        stages = super().stage_costs(model, micro, contexts, attention)
        for stage in stages if attention else ():
            fetch = stage.pop("kv_fetch")
            compute = sum(np.broadcast_to(cost.time_s, contexts.shape) for cost in stage.values())
            stage["kv_fetch"] = Cost(self.exposed(fetch.time_s, compute), fetch.energy_pj)
        return stages

    def attention_seconds(self, model: ModelShape, contexts: np.ndarray) -> tuple[float, float]:
        costs = self.attention(
            model, self.micro_batches(len(contexts))[0], np.array([round(float(np.mean(contexts)))], np.int64)
        )
        fetch = float(np.max(costs.pop("kv_fetch").time_s))
        own = sum(float(np.max(cost.time_s)) for cost in costs.values())
        return (own, self.pp * max(self.stages(model)) * fetch) if self.offload.overlap else (own + fetch, 0.0)

    def serving(self, model: ModelShape) -> GpuServed:
        return OffloadServed(self, model)

    def details(self, model: ModelShape, batch: int, context: int, cost: StepCost) -> Details:
        micro = MicroBatch(cost.micro_batch, batch)
        fetched = [float(np.sum(count)) for count in self.fetched(model, micro, np.array([context]))]
        layers = max(self.stages(model))
        return Details(
            attention={
                "fetched_bytes_per_gpu_and_step": {
                    tier.name: count * layers * batch / micro.size
                    for tier, count in zip(self.offload.tiers, fetched, strict=True)
                }
            }
        )

    def assumptions(self) -> dict[str, Assumption]:
        return super().assumptions() | {
            "kv_kept": Assumption(
                "attention reads all tokens; "
                + {
                    "nothing": "no KV is in HBM, which has room for what is being fetched",
                    "batch": "KV of a batch that does not fit HBM is in the next tiers, all of it",
                    "part": "KV is in HBM as far as it fits, then in the next tier, and stays there",
                }[self.offload.keeps],
                self.offload.keeps,
            ),
            "kv_fetch": Assumption(
                "KV beyond HBM crosses the link to the GPU at every step"
                + (", while the GPU computes" if self.offload.overlap else ""),
                {"overlap": self.offload.overlap},
                self.offload.links.source,
            ),
        }


class OffloadServed(GpuServed):
    """GPUs that fetch the KV that their own memory does not keep. The fetched amount follows from the tokens of all
    requests."""

    system: OffloadSystem

    def _exposed(self, micro: int, contexts: np.ndarray, compute_s: np.ndarray) -> Any:
        fetch_s = self.system.fetch_seconds(
            self.system.fetched(
                self.model, MicroBatch(micro, len(contexts)), self._attended(contexts, compute_s.shape[1])
            )
        )
        return self.system.exposed(np.array(self.stages)[:, None] * fetch_s, compute_s)

    def _step_energy(self, batch: int, context: float) -> dict[str, float]:
        return self._energy_at(batch, max(round(context), 1))

    def _prefill(self, tokens: np.ndarray, past: np.ndarray, drain: int) -> float:
        """Seconds of a prefill. Keys and values reach the host's memory while the next layer is computed."""
        write = max(self.stages) * self.system.kv_write_seconds(self.model, int(tokens.sum()))
        return max(super()._prefill(tokens, past, drain), write)
