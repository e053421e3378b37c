"""Keys and queries on which methods are compared: of a captured text, or made up with clumps."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...constraints.core.errors import ConfigError
from ..llm.captured import read_capture

__all__ = ["Captured", "Held", "KeySource", "Synthetic"]


class KeySource(Protocol):
    """Keys and queries of the heads of a layer.

    Attributes
    ----------
    synthetic : whether they are made up
    heads : heads whose selections are known
    """

    @property
    def synthetic(self) -> bool: ...

    @property
    def heads(self) -> int: ...

    def keys(self, tokens: int) -> np.ndarray:
        """Keys of the first tokens, float32 of shape ``(heads, tokens, head_dim)``."""

    def queries(self, context: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Queries of the last token of a context, and speculated queries for methods that look ahead. Both have the shape
        ``(heads, head_dim)``."""


@dataclass(frozen=True)
class Synthetic:
    """Made-up keys and queries.

    A text is a chain of passages. Each passage has one of ``topics`` directions, and a length with the mean ``passage``.
    A key is the head's common direction, its topic and noise. A query is near ``asked`` topics, most of all
    the topic of its own passage. ``topic`` and ``noise`` are lengths beside a common direction of length 1.
    """

    heads: int = 32
    head_dim: int = 128
    topics: int = 64
    passage: float = 64.0
    topic: float = 1.0
    noise: float = 1.0
    asked: int = 16
    seed: int = 1
    synthetic = True

    def __post_init__(self) -> None:
        for name, least in (("heads", 1), ("head_dim", 1), ("topics", 1), ("passage", 1), ("asked", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} of synthetic keys must be at least {least}, not {getattr(self, name)}")
        for name in ("topic", "noise"):
            if not 0 <= getattr(self, name) <= 1e6:
                raise ConfigError(f"{name} of synthetic keys must be 0 to 1e6, not {getattr(self, name)}")

    def _topics(self) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng((self.seed, 0))
        shape = (self.heads, self.topics + 1, self.head_dim)
        found = random.standard_normal(shape, np.float32) / np.float32(self.head_dim**0.5)
        return found[:, :1], found[:, 1:]

    def _passages(self, tokens: int) -> np.ndarray:
        """Topic of each token; the first tokens do not depend on the number of all."""
        random = np.random.default_rng((self.seed, 1))
        new = random.random(tokens) < 1 / self.passage
        random = np.random.default_rng((self.seed, 2))
        return random.integers(self.topics, size=tokens)[np.maximum.accumulate(np.where(new, np.arange(tokens), 0))]

    def keys(self, tokens: int) -> np.ndarray:
        common, topics = self._topics()
        out = np.empty((self.heads, tokens, self.head_dim), np.float32)
        of = self._passages(tokens)
        scale = np.float32(self.noise / self.head_dim**0.5)
        for head in range(self.heads):
            noise = np.random.default_rng((self.seed, 3, head)).standard_normal((tokens, self.head_dim), np.float32)
            out[head] = common[head] + np.float32(self.topic) * topics[head, of] + scale * noise
        return out

    def queries(self, context: int) -> tuple[np.ndarray, np.ndarray | None]:
        common, topics = self._topics()
        random = np.random.default_rng((self.seed, 4, context))
        wanted = random.integers(self.topics, size=(self.heads, self.asked))
        wanted[:, 0] = self._passages(context)[-1]
        weight = random.exponential(size=(self.heads, self.asked)).astype(np.float32)
        weight[:, 0] = weight.max(axis=1)
        near = (weight[..., None] * np.take_along_axis(topics, wanted[..., None], axis=1)).sum(axis=1)
        scale = np.float32(self.head_dim**-0.5)
        first = common[:, 0] + near + scale * random.standard_normal(near.shape, np.float32)
        return first, first + np.float32(0.3) * scale * random.standard_normal(near.shape, np.float32)


class Held:
    """Keys and queries that are there. Queries that share keys are heads of their own, as on units that take one query.

    Parameters
    ----------
    q, k : arrays of shapes ``(heads, tokens, head_dim)``; ``k`` may have fewer heads
    name : of the text, for messages
    ahead : queries that the layer before knows, of ``q``'s shape
    """

    synthetic = False

    def __init__(self, q: np.ndarray, k: np.ndarray, name: str, ahead: np.ndarray | None = None) -> None:
        self.name = name
        self._q = q.astype(np.float32)
        self._k = np.repeat(k.astype(np.float32), len(q) // len(k), axis=0)
        self._ahead = None if ahead is None else ahead.astype(np.float32)
        self.heads = len(q)

    def keys(self, tokens: int) -> np.ndarray:
        self._check(tokens)
        return self._k[:, :tokens]

    def queries(self, context: int) -> tuple[np.ndarray, np.ndarray | None]:
        self._check(context)
        return self._q[:, context - 1], None if self._ahead is None else self._ahead[:, context - 1]

    def _check(self, tokens: int) -> None:
        if tokens > self._k.shape[1]:
            raise ConfigError(f"{self.name}: has {self._k.shape[1]} tokens, and {tokens} are needed")


class Captured(Held):
    """Keys and queries of one layer of a captured text (``bankside capture``).

    Raises
    ------
    :exc:`ConfigError`
        If the folder is no capture, or the capture lacks the layer. A file that is not the one that was written, or does
        not fit the model's shape, raises it too.
    """

    def __init__(self, folder: str | os.PathLike[str], layer: int) -> None:
        found = read_capture(folder).layer(layer)
        super().__init__(found["q"], found["k"], os.fspath(folder), found.get("ahead"))
