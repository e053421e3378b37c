"""Float16: every number that leaves an operator is rounded to FP16; sums are float32."""

from __future__ import annotations

import numpy as np

from ..numerics.sums import Lists
from .backend import Backend, Place, exact_attention

__all__ = ["HalfBackend", "make"]


def _half(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return x.astype(np.float16).astype(np.float32)


class HalfBackend(Backend):
    """See the module."""

    def keep(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return x.astype(np.float16)

    def attention(self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists) -> np.ndarray:
        _, weights = exact_attention(_half(q), k.astype(np.float32), v.astype(np.float32), lists)
        return _half(_half(weights) @ v.astype(np.float32))

    def embed(self, x: np.ndarray) -> np.ndarray:
        return _half(x)

    def gemv(self, name: str, x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        return _half(x @ _half(matrix).T)

    def norm(self, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return _half(super().norm(x, weight))

    def rotate(self, x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        return _half(super().rotate(x, cos, sin))

    def activation(self, gate: np.ndarray, up: np.ndarray) -> np.ndarray:
        return _half(super().activation(gate, up))

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return _half(x + y)


def make(name: str) -> Backend:
    return HalfBackend(name)
