"""Room of a system's memories for weights, keys and values. Capacity, fitting, and granules of all kinds follow from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["BLOCK_TOKENS", "GIB", "Load", "Room", "largest", "largest_batch"]

GIB = 1 << 30

#: Tokens of keys and values that are allotted together where a system has no granule of its own; vLLM's default.
BLOCK_TOKENS = 16


@dataclass(frozen=True)
class Load:
    """A batch to decode.

    Attributes
    ----------
    context : tokens of each request at its first step
    batch : requests
    output_tokens : steps
    """

    context: int
    batch: int
    output_tokens: int = 1

    @property
    def last(self) -> int:
        """Tokens of each request at its last step."""
        return self.context + self.output_tokens - 1

    def __str__(self) -> str:
        more = f" plus {self.output_tokens} output tokens" if self.output_tokens > 1 else ""
        return f"batch {self.batch} at context {self.context}{more}"


@dataclass(frozen=True)
class Room:
    """Memory of the fullest device of a stage, in bytes.

    Attributes
    ----------
    available : of weights, keys and values together
    weights : of weights
    kv : keys and values of a number of requests with a number of tokens each
    taken : what these take of the memory, where that is more than :attr:`kv`
    """

    available: int
    weights: int
    kv: Callable[[int, int], int]
    taken: Callable[[int, int], int] | None = None

    def holds(self, batch: int, tokens: int) -> bool:
        """Whether weights and ``batch`` requests of ``tokens`` tokens fit."""
        return self.weights + (self.taken or self.kv)(batch, tokens) <= self.available


def largest_batch(rooms: Sequence[Room], tokens: int) -> int:
    """Most requests of ``tokens`` tokens that fit in every room."""
    return largest(lambda count: all(room.holds(count, tokens) for room in rooms))


def largest(fits: Callable[[int], bool]) -> int:
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
