"""The largest batch or arrival rate that keeps to a limit on the time per output token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...constraints.core.errors import CheckFailed, ConfigError
from ...constraints.workloads import ArrivalSpec
from ..systems.system import ServedSystem
from .engine import serve
from .policy import Policy
from .results import ServingResult
from .workloads import MAX_SECONDS, Workload

__all__ = ["SearchResult", "largest_batch", "largest_rate"]


@dataclass(frozen=True)
class SearchResult:
    """The largest value that was found to meet the limit.

    Attributes
    ----------
    what : ``"batch"`` or ``"rate"``
    value : :class:`float`
        Requests in work at once on an instance, or requests per second.
    result : :class:`ServingResult`
        Result of serving with that value.
    tried : list of (value, TPOT in ms, meets)
        All values that were tried, in order.
    bounded : :class:`bool`
        Whether a larger value missed the limit. False if no larger value changes anything, or if the search ended.
    """

    what: str
    value: float
    result: ServingResult
    tried: list[tuple[float, float, bool]]
    bounded: bool


def largest_batch(
    system: ServedSystem,
    workload: Workload,
    slo_ms: float,
    policy: Policy | None = None,
    *,
    percentile: float = 99,
    model: str = "",
    progress: Callable[[str], None] = lambda text: None,
) -> SearchResult:
    """The largest batch limit, up to ``policy.batch_limit``, at which this percentile of TPOT is at most ``slo_ms``.

    The search doubles the batch limit from 1, then bisects. This is right if TPOT grows with the batch limit; waiting
    for prefills can disturb that a little. ``tried`` has every value. The search ends at a batch limit that is never
    reached.

    Raises
    ------
    :exc:`CheckFailed`
        If a batch of 1 misses the limit. The message has the best TPOT that was reached.
    """
    policy = policy or Policy()
    most = policy.batch_limit
    tried: list[tuple[float, float, bool]] = []
    kept: dict[int, ServingResult] = {}

    def meets(limit: int) -> bool:
        result = serve(system, workload, replace(policy, batch_limit=limit), model=model)
        return _judge(result, "batch", limit, slo_ms, percentile, tried, kept, progress)

    good, bad, step = 0, most + 1, 1
    while step < bad:
        if not meets(step):
            bad = step
            break
        good = step
        if max((int(log.batch.max()) for log in kept[good].logs if len(log.batch)), default=0) < step:
            break  # the limit was not reached
        step = min(2 * step, most) if step < most else bad
    if not good:
        raise _nothing("batch limit", tried, slo_ms, percentile)
    reached = max((int(log.batch.max()) for log in kept[good].logs if len(log.batch)), default=0)
    if reached < good:
        return SearchResult("batch", max(reached, 1), kept[good], tried, False)
    found = bad <= most
    while bad - good > 1 and found:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if meets(middle) else (good, middle)
    return SearchResult("batch", good, kept[good], tried, found)


def largest_rate(
    system: ServedSystem,
    workload: Workload,
    slo_ms: float,
    policy: Policy | None = None,
    *,
    percentile: float = 99,
    cv: float = 1.0,
    seed: int = 1,
    precision: float = 0.02,
    model: str = "",
    progress: Callable[[str], None] = lambda text: None,
) -> SearchResult:
    """The largest arrival rate at which this percentile of TPOT is at most ``slo_ms``, to a relative ``precision``.

    The requests are the same at every rate. The times between their arrivals differ by a factor only. The search ends
    at a rate above which requests behave as if all arrived at once.

    Raises
    ------
    :exc:`CheckFailed`
        If the lowest rate misses the limit, at which requests hardly ever overlap. The message has the best TPOT that
        was reached.
    """
    if not 0 < precision < 1:
        raise ConfigError(f"precision must be between 0 and 1, not {precision:g}")
    policy = policy or Policy()
    tried: list[tuple[float, float, bool]] = []
    kept: dict[float, ServingResult] = {}
    at_once = serve(system, workload.arriving(None), policy, model=model)
    if _judge(at_once, "rate", float("inf"), slo_ms, percentile, tried, kept, progress):
        return SearchResult("rate", float("inf"), at_once, tried, False)

    def meets(rate: float) -> bool:
        result = serve(system, workload.arriving(ArrivalSpec(rate=rate, cv=cv), seed), policy, model=model)
        return _judge(result, "rate", rate, slo_ms, percentile, tried, kept, progress)

    full = len(workload) / at_once.makespan_s
    good, bad = 0.0, 0.0
    rate = full / 2
    if meets(rate):
        while meets(2 * rate) and rate < 1024 * full:
            rate *= 2
        good, bad = rate, 2 * rate
    else:
        bad = rate
        # No later arrivals than a workload may have.
        while rate > max(full / 4096, 4 * len(workload) / MAX_SECONDS):
            rate /= 2
            if meets(rate):
                good = rate
                break
            bad = rate
        if not good:
            raise _nothing("arrival rate", tried, slo_ms, percentile)
    if good in kept and 2 * good in kept and _meeting(tried, 2 * good):
        return SearchResult("rate", 2 * good, kept[2 * good], tried, False)
    while bad / good > 1 + precision:
        middle = (good * bad) ** 0.5
        good, bad = (middle, bad) if meets(middle) else (good, middle)
    return SearchResult("rate", good, kept[good], tried, True)


def _meeting(tried: list[tuple[float, float, bool]], value: float) -> bool:
    return any(one == value and ok for one, _, ok in tried)


def _judge(
    result: ServingResult,
    what: str,
    value: float,
    slo_ms: float,
    percentile: float,
    tried: list[tuple[float, float, bool]],
    kept: dict,
    progress: Callable[[str], None],
) -> bool:
    tpot = result.tpot_percentile_s(percentile) * 1e3
    ok = tpot <= slo_ms
    tried.append((value, tpot, ok))
    kept[value] = result
    shown = f"{what} {value:.4g}" if value < float("inf") else "all at once"
    progress(f"{shown}: p{percentile:g} TPOT {tpot:.2f} ms, {'meets' if ok else 'misses'} {slo_ms:g} ms")
    return ok


def _nothing(what: str, tried: list[tuple[float, float, bool]], slo_ms: float, percentile: float) -> CheckFailed:
    value, tpot, _ = min(tried, key=lambda one: one[1])
    return CheckFailed(
        f"no {what} meets a p{percentile:g} TPOT of {slo_ms:g} ms; the best reachable is {tpot:.2f} ms, at "
        f"{what} {value:.4g}"
    )
