"""What request-level serving asks of a system: how long a decode step and a prefill take, and what fits.

``load_system(NAME).latency(model, records=RecordFolder())`` gives one for every system.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from ...constraints.errors import ConfigError
from ..llm import ModelShape, embedding_operators, head_operators, layer_operators
from .results import RecordSource

if TYPE_CHECKING:
    from .gpu import GpuSystem

__all__ = ["GridLatency", "StepLatency"]

#: Steps of the grid on which a system is evaluated: of the batch, and of the tokens of all requests.
BATCH_STEP, TOKEN_STEP = 2.0, math.sqrt(2.0)


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


class GridLatency:
    """:class:`StepLatency` of any system: evaluated on a grid of batch and tokens, between its points a power law.

    Requests of a batch are taken to have the mean context; a step of a system with placement is that of the settled
    state. Points are evaluated when they are first needed.

    Raises
    ------
    :exc:`MissingRecord`
        If the system needs a measurement that has not been made.
    """

    def __init__(self, system: GpuSystem, model: ModelShape, records: RecordSource, refresh: bool = False) -> None:
        layer_operators(model, 1, 1, system.tp)
        system.prepare(model, records, refresh)
        self.system, self.model = system, model
        self.kv_capacity_tokens = system.kv_capacity_tokens(model)
        self._known: dict[tuple[int, int], float] = {}
        self._prefill: dict[int, float] = {}

    def step_latency(self, contexts: np.ndarray) -> float:
        """See :class:`StepLatency`."""
        contexts = np.asarray(contexts)
        if contexts.ndim != 1 or not len(contexts) or int(contexts.min()) < 1:
            raise ConfigError("contexts must be a list of whole numbers of at least 1")
        batch, tokens = len(contexts), int(np.sum(self.model.attended(contexts)))
        if tokens > self.kv_capacity_tokens:
            capacity = self.system.capacity(self.model, -(-tokens // batch), batch, 1)
            raise ConfigError(self.system._too_large(self.model, -(-tokens // batch), batch, 1, capacity,
                                                     capacity.weight_bytes_per_device + capacity.kv_bytes_per_device))
        low_b, high_b, part_b = _bracket(batch, BATCH_STEP, 1 << 30)
        low_t, high_t, part_t = _bracket(tokens, TOKEN_STEP, self.kv_capacity_tokens)
        total = 0.0
        for count, weight_b in ((low_b, 1 - part_b), (high_b, part_b)):
            for size, weight_t in ((low_t, 1 - part_t), (high_t, part_t)):
                if weight_b * weight_t:
                    total += weight_b * weight_t * math.log(self._at(count, size))
        return math.exp(total)

    def _at(self, batch: int, tokens: int) -> float:
        """Step time of ``batch`` requests that share ``tokens`` evenly, at least one each."""
        context = max(tokens // batch, 1)
        batch = min(batch, self.kv_capacity_tokens // context)
        key = (batch, context)
        if key not in self._known:
            self._known[key] = self.system.step_seconds(self.model, batch, context)
        return self._known[key]

    def prefill_latency(self, tokens: int) -> float:
        """See :class:`StepLatency`. GEMMs over all prompt tokens, causal attention at the GPU's peak, stages one after
        the other; keys and values reach the tiers while the next layer is computed."""
        if tokens not in self._prefill:
            if tokens < 1:
                raise ConfigError(f"a prompt has at least 1 token, not {tokens}")
            if len(self._prefill) > 1 << 16:
                self._prefill.clear()
            self._prefill[tokens] = self._prefill_seconds(tokens)
        return self._prefill[tokens]

    def _prefill_seconds(self, tokens: int) -> float:
        system, model = self.system, self.model
        roofline = system.roofline
        layer = 0.0
        for op in layer_operators(model, tokens, 1, system.tp):
            if op.kind == "attention":
                continue
            cost = roofline.all_reduce(op.bytes, system.tp) if op.kind == "allreduce" else roofline.operator(op)
            layer += float(cost.time_s)
        # Each token attends to itself and those before it, within the window: two products of 2 d operations a pair.
        attended = float(np.sum(model.attended(np.arange(1, tokens + 1))))
        layer += 4 * model.head_dim * (model.heads // system.tp) * attended / roofline.flops_per_s
        layer = max(layer, system.kv_write_seconds(model, tokens))
        ends = [*embedding_operators(model, tokens), *head_operators(model, 1, system.tp)]
        total = layer * model.layers + sum(float(roofline.operator(op).time_s) for op in ends)
        return total + (system.pp - 1) * roofline.transfer_time(tokens * model.hidden_size * model.dtype_bytes)


def _bracket(value: int, step: float, most: int) -> tuple[int, int, float]:
    """Grid points around ``value`` and how far between them it is, in logarithms. The last one is ``most``."""
    exponent = math.floor(math.log(value) / math.log(step) + 1e-9)
    low = max(1, min(round(step**exponent), most))
    if low > value:
        exponent -= 1
        low = max(1, round(step**exponent))
    while low >= (high := min(round(step**(exponent + 1)), most)) and high < most:
        exponent += 1
    if value <= low or high <= low:
        return low, low, 0.0
    return low, high, min(1.0, math.log(value / low) / math.log(high / low))
