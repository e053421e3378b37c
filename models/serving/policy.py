"""How requests are scheduled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...constraints.core.errors import ConfigError, nearest

__all__ = ["DISPATCH", "PREEMPTION", "Policy"]

DISPATCH = ("round-robin", "least-loaded")
PREEMPTION = ("recompute", "reserve")


@dataclass(frozen=True)
class Policy:
    """How requests are scheduled.

    Attributes
    ----------
    batch_limit : :class:`int`
        Requests of an instance that are in work at once; 256 is vLLM's default.
    token_budget : :class:`int`
        Tokens of an iteration with prefill. A longer prompt is prefilled alone, unless chunked.
    chunked : :class:`bool`
        False: while a waiting prompt can be taken in, iterations prefill and decoding stands still (vLLM's policy
        without chunks). True: iterations decode, and the rest of the budget goes to pieces of prompts.
    preemption : :class:`str`
        ``recompute``: prompts are taken in when their own blocks are free. When the cache is full, the request taken in
        last loses its blocks. It waits at the head of the queue; then its prompt and its generated tokens are prefilled
        again. ``reserve``: a request is taken in when blocks for its whole output are free, and is never preempted.
    watermark : :class:`float`
        Fraction of the blocks that taking in a prompt leaves free (``recompute`` only); 0.01 is vLLM's value.
    instances : :class:`int`
    dispatch : :class:`str`
        ``round-robin`` by order of arrival, or ``least-loaded``: to the instance with the fewest unfinished requests.
    mode : ``"exact"`` or ``"fast"``
    tolerance : :class:`float`
        Largest relative error of a decode step in fast mode.
    """

    batch_limit: int = 256
    token_budget: int = 8192
    chunked: bool = False
    preemption: str = "recompute"
    watermark: float = 0.01
    instances: int = 1
    dispatch: str = "round-robin"
    mode: Literal["exact", "fast"] = "exact"
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        for what, value, most in (
            ("batch limit", self.batch_limit, 1 << 24),
            ("token budget", self.token_budget, 1 << 30),
            ("instances", self.instances, 1 << 16),
        ):
            if not 1 <= value <= most:
                raise ConfigError(f"{what} must be 1 to {most}, not {value}")
        for what, name, valid in (
            ("dispatch", self.dispatch, DISPATCH),
            ("preemption", self.preemption, PREEMPTION),
            ("mode", self.mode, ("exact", "fast")),
        ):
            if name not in valid:
                raise ConfigError(nearest(what, name, valid))
        if not 0 <= self.watermark < 1:
            raise ConfigError(f"watermark must be at least 0 and less than 1, not {self.watermark:g}")
        if not 0 < self.tolerance <= 1:
            raise ConfigError(f"tolerance must be more than 0 and at most 1, not {self.tolerance:g}")
