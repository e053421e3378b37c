"""Decoding of a workload's requests, and the split of a model over a system's devices that decodes most tokens."""

from __future__ import annotations

from dataclasses import dataclass

from ...constraints.core.errors import ConfigError
from ..llm import ModelShape
from ..systems import MissingRecord, RecordSource, System
from .policy import Policy
from .steady import steady_state
from .workloads import draw

__all__ = ["Decoding", "best", "decode", "search"]

#: Requests of a workload from which the requests in work are drawn.
DRAWN = 1 << 14

#: Requests that are taken in while decoding is observed.
REQUESTS = 500


@dataclass(frozen=True)
class Decoding:
    """Decoding in steady state, with enough requests to replace the ones that end.

    Attributes
    ----------
    tokens_per_s : of all requests
    batch, context : means over the steps, of requests and of their tokens
    largest_batch, longest_context : of all steps
    preempted : requests that lost their room because others grew
    parallelism : tensor and pipeline
    """

    tokens_per_s: float
    batch: float
    context: float
    largest_batch: int
    longest_context: int
    preempted: int
    parallelism: tuple[int, int]


def decode(
    system: System,
    model: ModelShape,
    workload: str,
    *,
    records: RecordSource,
    requests: int = REQUESTS,
    seed: int = 1,
    refresh: bool = False,
) -> Decoding:
    """Decoding with the requests of ``workload`` for which there is room, prompts in the cache. It uses the serving
    engine's :func:`steady_state`, without a prefill and without blocks that are kept free.

    Parameters
    ----------
    requests
        Requests that are taken in while decoding is observed.

    Raises
    ------
    :exc:`ConfigError`
        If not even one of the requests fits.
    :exc:`MissingRecord`
        If a measurement is missing.
    """
    served = system.served(model, records, refresh)
    state = steady_state(
        served,
        draw(workload, DRAWN, seed, timed=False),
        None,
        Policy(watermark=0),
        seed=seed,
        energy=False,
        cached=True,
        requests=requests,
    )
    return Decoding(
        state.tokens_per_s,
        state.batch,
        state.context,
        state.largest_batch,
        state.longest_context,
        state.preempted,
        (system.tp, system.pp),
    )


def search(
    system: System,
    model: ModelShape,
    workload: str,
    *,
    records: RecordSource,
    requests: int = REQUESTS,
    seed: int = 1,
    refresh: bool = False,
) -> list[Decoding]:
    """Decoding with each legal split on which a request fits, fastest first.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such split.
    :exc:`MissingRecord`
        As :func:`decode`.
    """
    out = []
    problem: ConfigError | None = None
    for split in system.splits(model):
        try:
            out.append(decode(split, model, workload, records=records, requests=requests, seed=seed, refresh=refresh))
        except MissingRecord:
            raise
        except ConfigError as error:
            problem = error
    if not out:
        raise problem or ConfigError(f"{model.name} can't be split over {system.devices} devices of {system.name}")
    return sorted(out, key=lambda one: -one.tokens_per_s)


def best(
    system: System, model: ModelShape, workload: str, *, records: RecordSource, requests: int = REQUESTS
) -> Decoding:
    """The fastest of :func:`search`."""
    return search(system, model, workload, records=records, requests=requests)[0]
