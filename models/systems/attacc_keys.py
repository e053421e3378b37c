"""Keys of systems with AttAcc's units in the result of ``eval``."""

from __future__ import annotations

from ...constraints.core.result import Part, key

__all__ = ["AttAccKeys"]


class StackAttention(Part):
    """Attention on AttAcc's units."""

    memory: str = key("name of the memory")
    placement: str = key("place of the units")
    heads_per_stack: int = key("heads on the busiest stack")
    channels_per_head: int = key("channels over which a head is spread")
    queries_per_pass: int = key("most queries that a read of K or V meets")
    passes: int = key("passes over K and V for the queries that share them")
    unit_burst_memory_cycles: int = key("time that a unit needs for one read", "memory clocks")


class AttAccKeys(Part):
    """Keys of a system with AttAcc's units."""

    attention: StackAttention = key("attention on AttAcc's units")
