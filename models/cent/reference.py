"""A block of a LLaMA model in binary64, for comparison with CENT's device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

__all__ = ["EPSILON", "BlockShape", "Reference", "rotary"]

#: Added to the mean square in norms.
EPSILON = 1e-5


class BlockShape(Protocol):
    """Heads of a block, whatever executes it."""

    @property
    def heads(self) -> int: ...
    @property
    def kv_heads(self) -> int: ...
    @property
    def head_dim(self) -> int: ...
    @property
    def group(self) -> int: ...


class Reference:
    """Norms, rotary positions, attention with a head of keys and values for each group of queries, SwiGLU.

    Parameters
    ----------
    block : its shape
    matrices : by name, of shape ``(outputs, inputs)``
    norms : weights of the two norms

    Attributes
    ----------
    keys, values : of each token so far, arrays of shape ``(kv_heads, head_dim)``; keys are turned
    """

    def __init__(self, block: BlockShape, matrices: Mapping[str, np.ndarray], norms: Sequence[np.ndarray]) -> None:
        self.block, self.matrices, self.norms = block, matrices, norms
        self.keys: list[np.ndarray] = []
        self.values: list[np.ndarray] = []

    def turned(self, vector: np.ndarray, position: int) -> np.ndarray:
        """Heads turned to a position."""
        cos, sin = rotary(self.block.head_dim, position)
        return vector * cos + np.roll(vector, -(self.block.head_dim // 2), axis=-1) * sin

    def query(self, x: np.ndarray, position: int) -> np.ndarray:
        """Turned queries of a token, of shape ``(heads, head_dim)``."""
        heads = (self.matrices["wq"] @ self._norm(x, 0)).reshape(self.block.heads, -1)
        return self.turned(heads, position)

    def _norm(self, x: np.ndarray, which: int) -> np.ndarray:
        return np.asarray(x / np.sqrt((x * x).mean() + EPSILON) * self.norms[which])

    def step(self, x: np.ndarray, position: int | None = None) -> np.ndarray:
        """Result of the next token, whose key and value are appended. Its position is behind the others' if not given."""
        block, w = self.block, self.matrices
        position = len(self.keys) if position is None else position
        h = self._norm(x, 0)
        query = self.query(x, position)
        self.keys.append(self.turned((w["wk"] @ h).reshape(block.kv_heads, -1), position))
        self.values.append((w["wv"] @ h).reshape(block.kv_heads, -1))
        keys, values = np.array(self.keys), np.array(self.values)
        heads = []
        for head in range(block.heads):
            scores = keys[:, head // block.group] @ query[head] / np.sqrt(block.head_dim)
            powers = np.exp(scores - scores.max())
            heads.append(powers @ values[:, head // block.group] / powers.sum())
        x = x + w["wo"] @ np.concatenate(heads)
        h = self._norm(x, 1)
        gate = w["w1"] @ h
        return np.asarray(x + w["w2"] @ (gate / (1 + np.exp(-gate)) * (w["w3"] @ h)))


def rotary(head_dim: int, position: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosines, and sines with the sign of each half, of a head's elements at a position."""
    angles = position * 10000.0 ** (-np.arange(head_dim // 2) / (head_dim // 2))
    return np.tile(np.cos(angles), 2), np.concatenate([-np.sin(angles), np.sin(angles)])
