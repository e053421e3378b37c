"""Keys of GPUs with keys and values beyond their memory in the result of ``eval``."""

from __future__ import annotations

from ...constraints.core.result import Part, key

__all__ = ["OffloadedKeys"]


class OffloadedAttention(Part):
    """Attention over keys and values that a GPU fetches."""

    fetched_bytes_per_gpu_and_step: dict[str, float] = key("bytes that a GPU fetches in a step, by tier", "bytes")


class OffloadedKeys(Part):
    """Keys of GPUs with keys and values beyond their memory."""

    attention: OffloadedAttention = key("attention over fetched keys and values")
