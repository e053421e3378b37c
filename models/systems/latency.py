"""What request-level serving asks of a system: how long a decode step and a prefill take, and what fits.

``load_system(NAME).latency(model, records=RecordFolder())`` gives one for every system.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

__all__ = ["StepLatency"]


@runtime_checkable
class StepLatency(Protocol):
    """Latencies of one instance (all GPUs of the system) with one model.

    Attributes
    ----------
    kv_capacity_tokens : :class:`int`
        Tokens of all requests together that the system's tiers hold beside the weights.
    """

    kv_capacity_tokens: int

    def step_latency(self, contexts: np.ndarray) -> float:
        """Seconds of one decode step that gives one token to each of ``len(contexts)`` requests.

        ``contexts`` are the tokens that each request attends to, the new one included (integers of at least 1, in any
        order). Where the tokens lie and which are active is the system's own, settled state: the latency depends on the
        contexts alone, not on the steps before. Calls are cheap (well under 1 ms once a region of batch and mean context
        is known).

        Raises
        ------
        :exc:`ConfigError`
            If the contexts do not fit the system's tiers (which tier, how much is missing).
        """

    def prefill_latency(self, tokens: int) -> float:
        """Seconds from the start of the prefill of one request of ``tokens`` prompt tokens to its first token."""
