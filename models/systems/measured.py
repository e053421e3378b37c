"""A GPU whose matrix products, attention and all-reduces take measured times.

Energy, norms, activations, lookups and transfers between stages are as in
:class:`bankside.models.systems.roofline.Roofline`: the source has no kernel times of them. Gate and up matrix are one
product, as serving engines run them. A context shorter than all measured ones takes the time of the shortest.

Prompts of unequal length take the mean over the prompts: a kernel for as many prompts of the same length. A prompt of which
a part is done takes the time of the whole prompt less the time of that part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.systems import GpuEnergy, GpuSpec, LinkSpec, Network
from ..llm import Operator
from .kernels import KernelGap, Kernels
from .results import Cost
from .roofline import Roofline

__all__ = ["MeasuredGpu"]

#: Bytes of an element of every measured kernel.
_ELEMENT_BYTES = 2


class MeasuredGpu(Roofline):
    """Costs on ``gpu`` with the times of ``kernels``."""

    def __init__(
        self, gpu: GpuSpec, link: LinkSpec, energy: GpuEnergy, network: Network | None, senders: int, kernels: Kernels
    ) -> None:
        super().__init__(gpu, link, energy, network, senders)
        self.kernels = kernels

    @property
    def straight(self) -> bool:
        return False

    def operator(self, op: Operator) -> Cost:
        cost = super().operator(op)
        if op.kind != "gemm":
            return cost
        self._check_format(op.dtype_bytes)
        return cost.lasting(self.kernels.gemm(int(op.m), int(op.n) * op.merged, int(op.k)) / op.merged)

    def longest_context(self, batch: int, score: Operator) -> int:
        return self.kernels.longest_context(*_heads(score, batch))

    def attention(self, score: Operator, context: Operator, batch: int) -> dict[str, Cost]:
        self._check_format(score.dtype_bytes)
        contexts = np.maximum(score.n, self.kernels.shortest_context).astype(np.int64)
        return {
            "attention": self.fused(score, context).lasting(
                self.kernels.decode_attention(batch, contexts, *_heads(score, batch))
            )
        }

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
        self._check_format(dtype_bytes)
        whole = past + tokens
        if window is not None and int(whole.max()) > window:
            raise KernelGap(
                f"kernel records {self.kernels.name}: no attention_prefill of {int(whole.max())} tokens with a "
                f"window of {window}"
            )

        def kernel(lengths: np.ndarray) -> np.ndarray:
            return self.kernels.prefill_attention(len(tokens), lengths, heads, kv_heads, head_dim)

        done = np.where(past > 0, kernel(np.maximum(past, 1)), 0.0)
        cost = super().prompt_cost(heads, kv_heads, head_dim, dtype_bytes, tokens, past, window)
        return cost.lasting(float(np.mean(kernel(whole) - done)))

    def _node_all_reduce(self, count: float, devices: int) -> float:
        return self.kernels.all_reduce(round(count / _ELEMENT_BYTES), devices) if devices > 1 else 0.0

    def _check_format(self, dtype_bytes: int) -> None:
        if dtype_bytes != _ELEMENT_BYTES:
            raise ConfigError(
                f"kernel records {self.kernels.name} are of {self.kernels.file.number_format}; the model has "
                f"elements of {8 * dtype_bytes} bits"
            )


def _heads(score: Operator, batch: int) -> tuple[Any, Any, Any]:
    """Heads, key/value heads and head dimension of one GPU."""
    kv_heads = score.count // batch
    return score.m * kv_heads, kv_heads, score.k
