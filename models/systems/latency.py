"""Decode steps and prefills of systems whose attention takes long to evaluate, interpolated on a grid."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from ...constraints.core.errors import ConfigError
from ..llm import ModelShape, embedding_operators, head_operators
from .memo import kept
from .platform import GpuPlatform
from .room import Load

__all__ = ["GridLatency", "bracket", "spread_contexts"]

#: Steps of the grid on which attention is evaluated: factors of the batch and of the tokens of all requests, and
#: difference of the coefficient of variation of contexts, with the number of the last one.
BATCH_STEP, TOKEN_STEP, SPREAD_STEP, MOST_SPREAD = 2.0, 2.0**0.25, 0.5, 4


class GridLatency:
    """Latencies of one instance (all GPUs of the system) with one model. Linear layers are evaluated for the exact
    batch; attention is interpolated on a grid.

    The grid has points in the batch and in the tokens of all requests (also where a memory is full). For systems that
    place tokens it also has points in the coefficient of variation of the contexts. At a point the contexts are
    quantiles of a log-normal distribution in random order, and the system is in its settled state. Between the points
    the time of attention is linear in the tokens and a power of the batch. Points are evaluated when they are first
    needed.

    Parameters
    ----------
    system
        After :meth:`System.prepare`.

    Attributes
    ----------
    kv_capacity_tokens : :class:`int`
        Tokens of all requests together that the system's memories hold beside the weights.
    """

    def __init__(self, system: GpuPlatform, model: ModelShape) -> None:
        self.system, self.model = system, model
        self.kv_capacity_tokens = system.kv_capacity_tokens(model)
        self._layers = np.array(system.stages(model))
        self._tokens = _token_points(self.kv_capacity_tokens, system.knees(model))
        self._known: dict[tuple[int, int, int], tuple[float, float]] = {}
        self._prefill: dict[int, float] = {}

    def step_latency(self, contexts: np.ndarray) -> float:
        """Seconds of one decode step that gives one token to each of ``len(contexts)`` requests.

        ``contexts`` are the tokens that each request attends to, the new one included (integers of at least 1, in any
        order). The system's own settled state decides where the tokens lie and which of them are active. The latency
        depends on the contexts alone, not on the steps before. Calls are cheap (well under 1 ms once a region of batch
        and mean context is known).

        Raises
        ------
        :exc:`ConfigError`
            If the contexts do not fit the system's memories. The message says which memory is full and how much is
            missing.
        """
        contexts = np.asarray(contexts)
        if contexts.ndim != 1 or not len(contexts) or int(contexts.min()) < 1:
            raise ConfigError("contexts must be a list of whole numbers of at least 1")
        attended = self.model.attended(contexts)
        batch, tokens = len(contexts), int(np.sum(attended))
        if tokens > self.kv_capacity_tokens:
            raise ConfigError(self.system.too_large(self.model, Load(-(-tokens // batch), batch)))
        # In whole numbers: the order of the contexts does not matter
        spread = math.sqrt(max(batch * int(np.sum(np.square(attended, dtype=np.int64))) - tokens * tokens, 0)) / tokens
        attention, least = self._between(batch, tokens, spread)
        stages = self.system.linear_seconds(self.model, batch) + self._layers * attention
        return max(self.system.pp * float(np.max(stages)), least)

    def _between(self, batch: int, tokens: int, spread: float) -> tuple[float, float]:
        """Interpolated attention of a layer, and least time of a step."""
        low_b, high_b, part_b = bracket(batch, BATCH_STEP, 1 << 30)
        place = bisect_right(self._tokens, tokens) - 1
        low_t, high_t = self._tokens[place], self._tokens[min(place + 1, len(self._tokens) - 1)]
        part_t = (tokens - low_t) / (high_t - low_t) if high_t > low_t else 0.0
        low_s = min(int(spread / SPREAD_STEP), MOST_SPREAD - 1) if self.system.spread_matters else 0
        part_s = min(spread / SPREAD_STEP - low_s, 1.0) if self.system.spread_matters else 0.0
        least, values = 0.0, list[tuple[float, float]]()
        for count, weight_b in ((low_b, 1 - part_b), (high_b, part_b)):
            for step, weight_s in ((low_s, 1 - part_s), (low_s + 1, part_s)):
                points = [
                    (weight, *self._at(count, size, step))
                    for size, weight in ((low_t, 1 - part_t), (high_t, part_t))
                    if weight and weight_b * weight_s
                ]
                if points:
                    values.append((weight_b * weight_s, sum(weight * attention for weight, attention, _ in points)))
                    least += weight_b * weight_s * sum(weight * one for weight, _, one in points)
        if any(value <= 0 for _, value in values):  # fully hidden: no logarithm
            return sum(weight * value for weight, value in values), least
        total = 0.0
        for weight, value in values:
            total += weight * math.log(value)
        return math.exp(total), least

    def _at(self, batch: int, tokens: int, step: int) -> tuple[float, float]:
        """The same at a grid point: ``batch`` requests that share ``tokens``, at least one each, and ``step`` of the
        spread."""
        batch = min(batch, tokens)
        key = (batch, tokens, step)
        return kept(
            self._known,
            key,
            lambda: self.system.attention_seconds(self.model, spread_contexts(batch, tokens, step * SPREAD_STEP)),
        )

    def prefill_latency(self, tokens: int) -> float:
        """Seconds from the start of the prefill of one request of ``tokens`` prompt tokens to its first token. GEMMs
        and causal attention run over all prompt tokens. Stages work one after the other. Keys
        and values reach the tiers while the next layer is computed."""
        if tokens < 1:
            raise ConfigError(f"a prompt has at least 1 token, not {tokens}")
        return kept(self._prefill, tokens, lambda: self._prefill_seconds(tokens))

    def _prefill_seconds(self, tokens: int) -> float:
        system, model = self.system, self.model
        roofline = system.roofline
        attention = roofline.prompt(model, system.tp, np.array([tokens]), np.array([0]))
        layer = roofline.linear_seconds(model, system.tp, tokens) + float(attention.time_s)
        layer = max(layer, system.kv_write_seconds(model, tokens))
        ends = [*embedding_operators(model, tokens), *head_operators(model, 1, system.tp)]
        total = layer * model.layers + sum(float(roofline.operator(op).time_s) for op in ends)
        return total + (system.pp - 1) * roofline.transfer_time(tokens * model.hidden_size * model.dtype_bytes)


def spread_contexts(batch: int, tokens: int, variation: float) -> np.ndarray:
    """Contexts of ``batch`` requests, ``tokens`` in all and at least one each. They are quantiles of a log-normal
    distribution with this coefficient of variation. Their order is random (the same for the same arguments)."""
    sigma = math.sqrt(math.log1p(variation * variation))
    shape = np.exp(sigma * _normal_quantiles(batch))
    ideal = 1 + shape / shape.sum() * (tokens - batch)
    # Rounded so that the sum is exact
    ends = np.round(np.cumsum(ideal)).astype(np.int64)
    return np.random.default_rng(batch).permutation(np.diff(ends, prepend=0))


@lru_cache(maxsize=64)
def _normal_quantiles(count: int) -> np.ndarray:
    """The middles of ``count`` equal parts of a normal distribution."""
    normal = NormalDist()
    few = np.array([normal.inv_cdf((k + 0.5) / 1024) for k in range(1024)])
    if count <= 1024:
        return np.array([normal.inv_cdf((k + 0.5) / count) for k in range(count)])
    # Beyond 1024 parts: interpolated between 1024 values
    return np.interp((np.arange(count) + 0.5) / count, (np.arange(1024) + 0.5) / 1024, few)


def _token_points(most: int, knees: list[int]) -> list[int]:
    """Points of the grid in tokens, up to ``most``."""
    steps = {round(TOKEN_STEP**exponent) for exponent in range(math.ceil(math.log(most) / math.log(TOKEN_STEP)))}
    return sorted(point for point in steps | {most, *knees} if 1 <= point <= most)


def bracket(value: int, step: float, most: int) -> tuple[int, int, float]:
    """Grid points around ``value``, and the position of ``value`` between them on a logarithmic scale. The last one is
    ``most``."""
    exponent = math.floor(math.log(value) / math.log(step) + 1e-9)
    low = max(1, min(round(step**exponent), most))
    if low > value:
        exponent -= 1
        low = max(1, round(step**exponent))
    while low >= (high := min(round(step ** (exponent + 1)), most)) and high < most:
        exponent += 1
    if value <= low or high <= low:
        return low, low, 0.0
    return low, high, min(1.0, math.log(value / low) / math.log(high / low))
