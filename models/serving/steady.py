"""A server in steady state: its batch is always full, and the next request waits.

The engine begins in the state that a long run would reach. A request with a longer output is likelier to be in work.
Each request in work is somewhere in the middle of its output. From then on requests end and others are taken in,
prefill first, as always. So the figures contain no filling and no draining, and few steps are enough.

Prompts are prefilled, or ``cached``. A prefill makes the first token. Without a prefill, a request of ``o`` output
tokens takes ``o`` decode steps, one more than after a prefill. The allotment of keys and values is data: the system's
granule (``kv_block_tokens``, a chunk of tokens or a request's whole reservation) and the policy's watermark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...constraints.core.errors import ConfigError
from ..systems.system import ServedSystem
from .engine import Instance, Requests, kept
from .policy import Policy
from .workloads import Workload

__all__ = ["SteadyState", "best_within", "steady_state"]

#: Requests that are taken in while the server is observed, at least if that takes no more than ``STEPS`` decode steps.
REQUESTS, STEPS = 1000, 4000

#: Limit of requests in work at once if only room limits them.
UNLIMITED = 1 << 24


@dataclass(frozen=True)
class SteadyState:
    """Means over the time in which the server was observed.

    Attributes
    ----------
    limit : :class:`int`
        Largest number of requests in work; :data:`UNLIMITED` if only room limits them.
    batch : :class:`float`
        Requests in work.
    context : :class:`float`
        Tokens that a request in work attends to.
    tpot_s : :class:`float`
        Time from one token of a request to its next, prefills of other requests included.
    tokens_per_s : :class:`float`
    step_s : :class:`float`
        A decode step alone.
    prefill_share : :class:`float`
        Fraction of the time that prefills take.
    energy_j : mapping of component to J per token
    largest_batch, longest_context : :class:`int`
        Maxima over all steps.
    preempted : :class:`int`
        Requests that lost their room because others grew.
    """

    limit: int
    batch: float
    context: float
    tpot_s: float
    tokens_per_s: float
    step_s: float
    prefill_share: float
    energy_j: dict[str, float] = field(default_factory=dict)
    largest_batch: int = 0
    longest_context: int = 0
    preempted: int = 0


def steady_state(
    system: ServedSystem,
    lengths: Workload,
    batch: int | None,
    policy: Policy | None = None,
    *,
    seed: int = 1,
    energy: bool = True,
    cached: bool = False,
    requests: int = REQUESTS,
) -> SteadyState:
    """Observe ``system`` with ``batch`` requests in work, fewer if the KV cache has no room for them.

    Parameters
    ----------
    lengths
        Requests to draw from; their arrivals do not matter.
    batch : :class:`int` or None
        None: all requests for which there is room.
    energy
        Whether energy is added up.
    cached
        Whether keys and values of prompts are in the cache, so that nothing is prefilled.
    requests
        Requests that are taken in while the server is observed, or fewer if that takes more than ``STEPS`` decode
        steps.

    Raises
    ------
    :exc:`ConfigError`
        If a request alone has no room, or no request has a token to decode.
    """
    policy = policy or Policy()
    policy = replace(
        policy,
        batch_limit=batch or UNLIMITED,
        instances=1,
        preemption="recompute",
        chunked=policy.chunked and not cached,
    )
    prefilled = 0 if cached else 1  # tokens that a request has made when it begins to decode
    steps = np.maximum(lengths.output - prefilled, 0)
    if not steps.any():
        raise ConfigError(f"{lengths.name}: no request makes a second token")
    rng = np.random.default_rng(seed)
    block, blocks = int(system.kv_block_tokens), int(system.kv_capacity_tokens) // int(system.kv_block_tokens)
    window = getattr(system, "kv_window", None)
    if batch is None:
        each = float((-(-kept(lengths.prompt + lengths.output // 2, window) // block)).mean())
        among = min(max(int(blocks / each), 1), UNLIMITED)
        batch = among + among // 4 + 1
    else:
        among = batch
    new = max(min(max(among // 2, requests), math.ceil(STEPS * among / steps.mean())), 16)
    by_output, by_prompt = np.argsort(lengths.output, kind="stable"), np.argsort(lengths.prompt, kind="stable")
    running = by_output[np.searchsorted(np.cumsum(steps[by_output]), _spaced(batch, rng) * int(steps.sum()), "right")]
    taken_in = by_prompt[(_spaced(new, rng) * len(lengths)).astype(np.int64)]
    output = lengths.output[running]
    made = prefilled + np.floor(rng.random(batch) * (output - prefilled)).astype(np.int64)
    held = lengths.prompt[running] + made - 1
    need = -(-kept(held + 1, window) // block)
    fits = int(np.searchsorted(np.cumsum(need), (1 - policy.watermark) * blocks, "right"))
    if not fits:
        raise ConfigError(f"{lengths.name}: {system.name} has no room for a request of {int(held[0]) + 1} tokens")
    count = min(batch, fits)
    chosen = np.concatenate((running[:count], taken_in))

    table = Requests(Workload(lengths.name, np.zeros(len(chosen)), lengths.prompt[chosen], lengths.output[chosen]))
    instance = Instance(0, system, policy, table, blocks, cached)
    instance.ids = np.arange(count)
    instance.base = held[:count].astype(np.int64)
    instance.last_step = (output[:count] - made[:count]).astype(np.int64)
    instance.since, instance.began = np.zeros(count, np.int64), np.zeros(count)
    table.generated[:count] = made[:count]
    if not energy:
        instance.without_energy()
    instance.queue.extend(range(count, len(chosen)))
    while instance.queue and len(instance.ids):
        instance.iterate(math.inf)
    log = instance.log.closed()
    decodes = np.array([kind == "decode" for kind in log.kind])
    tokens, decoded = int(log.tokens[decodes].sum()), int(log.count[decodes].sum())
    held_s = float((log.batch * log.seconds).sum())
    made_all = tokens + int(log.count[~decodes].sum())
    joules: dict[str, float] = {}
    for (_, name), pj in log.energy_pj.items():
        joules[name] = joules.get(name, 0.0) + pj * 1e-12 / made_all
    return SteadyState(
        policy.batch_limit,
        tokens / decoded,
        instance.attended / tokens,
        held_s / tokens,
        made_all / instance.clock,
        float(log.seconds[decodes].sum()) / decoded,
        float(log.seconds[~decodes].sum()) / instance.clock,
        joules,
        int(log.batch[decodes].max()),
        instance.longest,
        int(table.preemptions.sum()),
    )


def _spaced(count: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers from 0 to 1 at equal distances, in random order. Means of few such draws are closer than means of
    independent draws."""
    return (rng.permutation(count) + rng.random()) / count


def best_within(
    run: Callable[[int], SteadyState],
    limits_s: Sequence[float],
    *,
    most: int = 1 << 16,
    first: int = 64,
    precision: float | None = 0.03,
) -> dict[float, SteadyState | None]:
    """For each limit, the state with the most tokens per second whose time per token keeps to the limit. None if a
    batch of 1 misses the limit. ``run`` gives the state of a batch; its time is assumed to grow with the batch.

    The largest batch within the limit is found to a relative ``precision``. With None only doubled batches are run, and
    a power law between two of them gives the state. That is for systems whose time does not jump and takes long to
    evaluate.
    """
    known: dict[int, SteadyState] = {}

    def at(batch: int) -> SteadyState:
        if batch not in known:
            known[batch] = run(batch)
        return known[batch]

    out: dict[float, SteadyState | None] = {}
    for limit in sorted(limits_s):
        low, high = 0, 0
        for batch in sorted(known):
            if known[batch].tpot_s <= limit:
                low = batch
            else:
                high = high or batch
        batch = min(2 * low, most) if low else first
        while not high and low < most:
            if at(batch).tpot_s > limit:
                high = batch
            elif at(batch).batch < 0.9 * batch:  # the KV cache is full: a larger limit changes nothing
                low = batch
                break
            else:
                low, batch = batch, min(2 * batch, most)
        while not low and high > 1:
            batch = max(high // 4, 1)
            low, high = (batch, high) if at(batch).tpot_s <= limit else (0, batch)
        while precision is not None and low and high - low > max(precision * low, 1):
            middle = _between(at(low), at(high), limit)
            low, high = (middle, high) if at(middle).tpot_s <= limit else (low, middle)
        within = [one for one in known.values() if one.tpot_s <= limit]
        if precision is None and low and high:
            within.append(_interpolated(known[low], known[high], limit))
        out[limit] = max(within, key=lambda one: one.tokens_per_s, default=None)
    return out


def _interpolated(low: SteadyState, high: SteadyState, limit: float) -> SteadyState:
    """The state that reaches the limit, if batch and tokens per second are powers of the time between the two
    states."""
    share = math.log(limit / low.tpot_s) / math.log(high.tpot_s / low.tpot_s)

    def power(a: float, b: float) -> float:
        return a * (b / a) ** share

    return replace(
        low,
        limit=int(power(low.limit, high.limit)),
        batch=power(low.batch, high.batch),
        tpot_s=limit,
        tokens_per_s=power(low.tokens_per_s, high.tokens_per_s),
        step_s=power(low.step_s, high.step_s),
        prefill_share=low.prefill_share + share * (high.prefill_share - low.prefill_share),
        energy_j={},
    )


def _between(low: SteadyState, high: SteadyState, limit: float) -> int:
    """Batch limit at which a power law through both states reaches the limit on time. It stays well inside the two
    batches, since the time may jump in between."""
    span = math.log(high.limit / low.limit)
    share = math.log(limit / low.tpot_s) / math.log(high.tpot_s / low.tpot_s)
    return min(max(round(low.limit * math.exp(span * min(max(share, 0.15), 0.85))), low.limit + 1), high.limit - 1)
