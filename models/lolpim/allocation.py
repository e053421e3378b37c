"""Room for the keys and values of requests, in chunks of tokens (LoL-PIM section 5.4).

Lazy allocation adds a chunk when a request's tokens outgrow those it has; chunks need not lie together, since the
dispatcher looks rows up by the request's own numbers. Static allocation is the same with one chunk for the longest context.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.errors import ConfigError
from ..llm import ModelShape

__all__ = ["Allocator", "Decoding", "decode"]

#: Tokens that GPUs allot together; vLLM's default.
GPU_BLOCK_TOKENS = 16


@dataclass
class Allocator:
    """Chunks of ``chunk_tokens`` tokens each; ``table`` has those of each request in the order of its tokens."""

    chunks: int
    chunk_tokens: int
    table: dict[int, list[int]] = field(default_factory=dict)
    free: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.free = list(range(self.chunks - 1, -1, -1))

    def need(self, tokens: int) -> int:
        """Chunks that so many tokens take."""
        return -(-tokens // self.chunk_tokens)

    def grow(self, request: int, tokens: int) -> bool:
        """Make room for a request of ``tokens`` tokens, new or not; False, and nothing done, if there is none."""
        own = self.table.get(request, [])
        more = self.need(tokens) - len(own)
        if more > len(self.free):
            return False
        self.table[request] = own + [self.free.pop() for _ in range(more)]
        return True

    def release(self, request: int) -> None:
        """A request has ended."""
        self.free.extend(self.table.pop(request))


@dataclass(frozen=True)
class Decoding:
    """Decoding in steady state, with requests enough to replace those that end.

    Attributes
    ----------
    tokens_per_s : of all requests
    batch, context : means over the steps, of requests and of their tokens
    largest_batch, longest_context : of all steps
    preempted : requests that lost their room because others grew
    """

    tokens_per_s: float
    batch: float
    context: float
    largest_batch: int
    longest_context: int
    preempted: int
    parallelism: tuple[int, int]


def _step_seconds(system: Any, model: ModelShape, contexts: np.ndarray) -> float:
    if system.kind == "gpu":  # its attention adds up over requests, whatever the context of each
        return system.step_seconds(model, len(contexts), round(float(contexts.mean())))
    return system.step_seconds(model, contexts)


def decode(system: Any, model: ModelShape, workload: str, *, records: Any, steps: int = 384, sample: int = 16,
           seed: int = 1, refresh: bool = False) -> Decoding:
    """``steps`` decode steps of requests of ``workload``, taken in as long as there is room, in the order of their arrival.

    Requests at the start are at a random place in their output. Prompts are taken to be in the cache: prefill takes no
    time. Every ``sample``-th step is timed.

    Parameters
    ----------
    records : where the measurements that times rest on are looked up

    Raises
    ------
    :exc:`ConfigError`
        If not even one of the requests fits.
    :exc:`MissingRecord`
        If a measurement is missing, with the command that makes it.
    """
    from ..serving.workloads import draw

    system.prepare(model, records, refresh)
    requests = draw(workload, 1 << 14, seed, timed=False)
    rng = np.random.default_rng(seed)
    block = system.kv_block_tokens(model) if hasattr(system, "kv_block_tokens") else GPU_BLOCK_TOKENS
    allocator = Allocator(system.kv_capacity_tokens(model) // block, block)
    waiting = iter(range(len(requests.prompt)))
    tokens: dict[int, int] = {}
    left: dict[int, int] = {}
    head: int | None = next(waiting)
    requeued: list[int] = []
    total_time = total_tokens = total_context = 0.0
    largest = longest = preempted = 0
    for step in range(steps):
        while head is not None:
            fresh = head not in tokens
            if fresh:
                done = int(rng.integers(requests.output[head])) if step == 0 else 0
                tokens[head], left[head] = int(requests.prompt[head]) + done + 1, int(requests.output[head]) - done
            if not allocator.grow(head, tokens[head]):
                break
            head = requeued.pop() if requeued else next(waiting, None)
        running = list(allocator.table)
        if not running:
            raise ConfigError(f"{model.name} on {system.name}: not even one request of {workload} fits")
        if step % sample == 0:
            contexts = np.array([tokens[r] for r in running])
            total_time += _step_seconds(system, model, contexts)
            total_tokens += len(running)
            total_context += float(contexts.sum())
            largest, longest = max(largest, len(running)), max(longest, int(contexts.max()))
        for request in running:
            if request not in allocator.table:  # preempted in this step
                continue
            left[request] -= 1
            if not left[request]:
                allocator.release(request)
                continue
            tokens[request] += 1
            while not allocator.grow(request, tokens[request]):
                last = next(reversed(allocator.table))  # the one taken in last gives way
                allocator.release(last)
                preempted += 1
                if head is not None:
                    requeued.append(head)
                head = last
                if last == request:
                    break
    times = -(-steps // sample)
    return Decoding(total_tokens / total_time, total_tokens / times, total_context / total_tokens, largest, longest,
                    preempted, (system.tp, system.pp))
