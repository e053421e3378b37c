"""Space for the keys and values of requests, in chunks of tokens (LoL-PIM section 5.4).

Lazy allocation adds a chunk when a request's tokens outgrow the chunks that it has. Chunks need not lie together,
because the dispatcher looks rows up by the request's own row numbers. Static allocation is the same with one chunk for
the longest context.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Allocator"]


@dataclass
class Allocator:
    """Chunks of ``chunk_tokens`` tokens each; ``table`` lists the chunks of each request in the order of its tokens."""

    chunks: int
    chunk_tokens: int
    table: dict[int, list[int]] = field(default_factory=dict)
    free: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.free = list(range(self.chunks - 1, -1, -1))

    def need(self, tokens: int) -> int:
        """Number of chunks that ``tokens`` tokens take."""
        return -(-tokens // self.chunk_tokens)

    def grow(self, request: int, tokens: int) -> bool:
        """Make room for a request of ``tokens`` tokens, new or not. Without enough room, return False and change
        nothing."""
        own = self.table.get(request, [])
        more = self.need(tokens) - len(own)
        if more > len(self.free):
            return False
        self.table[request] = own + [self.free.pop() for _ in range(more)]
        return True

    def release(self, request: int) -> None:
        """Free the chunks of a request that has ended."""
        self.free.extend(self.table.pop(request))
