"""Bytes that a block of a model moves in INF2 and in the systems beside it (INF2 sections 2.2 and 4, eq. 3).

A step with context ``t`` attends to ``t`` tokens, the new one included. The paper's step ``i`` after a prompt of ``s``
tokens has the context ``s + i``. The paper writes all widths as ``h d``. Here the keys and values have their own,
``kv_width``, so the formulas hold for grouped queries too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...constraints.core.errors import ConfigError
from ..llm import ModelShape

__all__ = ["GRANULARITY_BYTES", "Block", "SplitTraffic", "WriteBack"]

#: Least bytes of a direct read or write of a drive (INF2 section 6).
GRANULARITY_BYTES = 512


@dataclass(frozen=True)
class SplitTraffic:
    """Bytes between host and drives in one step of one block.

    Attributes
    ----------
    to_drives, to_host : :class:`int`, :class:`float` or array
        Bytes in each direction.
    """

    to_drives: Any
    to_host: Any

    @property
    def total(self) -> Any:
        """Bytes of both directions."""
        return self.to_drives + self.to_host


@dataclass(frozen=True)
class Block:
    """Widths of a block.

    Attributes
    ----------
    hidden_size : elements of a token between blocks
    query_width : elements of a token's queries of all heads
    kv_width : elements of a token's keys of all key/value heads; its values have as many
    element_bytes : bytes of an element
    """

    hidden_size: int
    query_width: int
    kv_width: int
    element_bytes: int = 2

    @classmethod
    def of(cls, model: ModelShape) -> Block:
        """Widths of a model's blocks."""
        return cls(model.hidden_size, model.heads * model.head_dim, model.kv_heads * model.head_dim, model.dtype_bytes)

    @property
    def kv_token_bytes(self) -> int:
        """Bytes of the keys and values of a token."""
        return 2 * self.kv_width * self.element_bytes

    @property
    def x_token_bytes(self) -> int:
        """Bytes of a block's input for a token, from which its keys and values can be computed again."""
        return self.hidden_size * self.element_bytes

    @property
    def query_bytes(self) -> int:
        """Bytes of the queries of a token; the output of attention has as many."""
        return self.query_width * self.element_bytes

    # Without near-storage attention

    def kv_write_of_prompt(self, batch: int, tokens: Any) -> Any:
        """Bytes that prefill writes: ``4 s b h d``."""
        return batch * tokens * self.kv_token_bytes

    def kv_read(self, batch: int, context: Any) -> Any:
        """Bytes of keys and values that a decode step reads: ``4 (s + i - 1) b h d``. The new token's need not be read."""
        return batch * (context - 1) * self.kv_token_bytes

    def kv_write(self, batch: int) -> int:
        """Bytes that a decode step writes: ``4 b h d``."""
        return batch * self.kv_token_bytes

    # Attention near storage

    def near_storage(self, batch: int) -> SplitTraffic:
        """Bytes of a decode step with attention near storage: ``6 b h d`` of queries, keys and values to the drives,
        ``2 b h d`` of outputs back."""
        return SplitTraffic(batch * (self.query_bytes + self.kv_token_bytes), batch * self.query_bytes)

    def traffic_ratio(self, context: Any) -> Any:
        """Bytes between host and drives without attention near storage over those with it. Eq. 3 is ``(s + 1) / 2`` for
        the first step."""
        return (self.kv_read(1, context) + self.kv_write(1)) / self.near_storage(1).total

    # Inputs in place of keys and values

    def check_x_cache(self, name: str) -> None:
        """Raise :exc:`ConfigError` where the input of a block is no smaller than its keys and values."""
        if 2 * self.kv_width < self.hidden_size:
            raise ConfigError(
                f"{name}: no X-cache: an input has {self.x_token_bytes} bytes a token, keys and values have "
                f"{self.kv_token_bytes}; 2 x kv_dim ({2 * self.kv_width}) is below hidden_size ({self.hidden_size})"
            )

    def x_read(self, requests: Any, context: Any) -> Any:
        """Bytes of inputs that a decode step brings to the GPU: ``2 b_x (s + i - 1) h d``."""
        return requests * (context - 1) * self.x_token_bytes

    def x_flops(self, requests: Any, context: Any) -> Any:
        """Operations that compute keys and values of these tokens again: ``4 b_x (s + i - 1) (h d)^2``."""
        return requests * (context - 1) * 2 * self.hidden_size * 2 * self.kv_width


@dataclass(frozen=True)
class WriteBack:
    """Delayed write-back: the host keeps new keys and values for ``interval`` steps. Every step sends all that it keeps to
    the drives' accelerators. Once in an interval it writes them to the flash.

    Attributes
    ----------
    interval : steps between writes (``c`` of the paper, 2 there)
    entry_bytes : bytes of one key or value of a head, which a write has ``interval`` of
    granularity_bytes : least bytes of a direct write

    Raises
    ------
    :exc:`ConfigError`
        If the interval is below 1, or a write of an interval is smaller than the granularity.
    """

    interval: int
    entry_bytes: int
    granularity_bytes: int = GRANULARITY_BYTES

    def __post_init__(self) -> None:
        if self.interval < 1:
            raise ConfigError(f"the interval of delayed write-back must be at least 1 step, not {self.interval}")
        if self.write_bytes < self.granularity_bytes:
            raise ConfigError(
                f"delayed write-back: a write of {self.interval} x {self.entry_bytes} = {self.write_bytes} "
                f"bytes is below the {self.granularity_bytes} of a direct write; the least interval is "
                f"{self.least_interval}"
            )

    @property
    def write_bytes(self) -> int:
        """Bytes of one write: a head's keys, or its values, of an interval."""
        return self.interval * self.entry_bytes

    @property
    def least_interval(self) -> int:
        """Least interval whose writes have the granularity."""
        return -(-self.granularity_bytes // self.entry_bytes)

    @property
    def buffered_entries(self) -> int:
        """Entries of a head's keys, or values, for which the host has room: an interval that fills and one that is being
        written."""
        return 2 * self.interval

    def step(self, block: Block, batch: int, number: int) -> SplitTraffic:
        """Bytes of step ``number`` (from 0) of an interval, on the critical path. Its own keys and values, the ``number``
        before them and the queries go to the drives.

        Raises
        ------
        :exc:`ConfigError`
            If the interval has no such step.
        """
        if not 0 <= number < self.interval:
            raise ConfigError(f"an interval has the steps 0 to {self.interval - 1}, not {number}")
        return SplitTraffic(
            batch * (block.query_bytes + (number + 1) * block.kv_token_bytes), batch * block.query_bytes
        )

    def spill(self, block: Block, batch: int) -> int:
        """Bytes that are written once in an interval, beside the steps: ``4 c b h d``."""
        return batch * self.interval * block.kv_token_bytes

    def mean_step(self, block: Block, batch: int) -> SplitTraffic:
        """Mean bytes of a step on the critical path."""
        return SplitTraffic(
            batch * (block.query_bytes + (self.interval + 1) / 2 * block.kv_token_bytes), batch * block.query_bytes
        )

    def mean_bytes(self, block: Block, batch: int) -> float:
        """Mean bytes of a step between host and drives, writes included: ``(2 c + 10) b h d``."""
        return float(self.mean_step(block, batch).total + self.spill(block, batch) / self.interval)
