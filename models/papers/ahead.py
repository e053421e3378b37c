"""Long computations of a paper that do not need each other, made in processes of their own before its claims."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from ...constraints.core.errors import ConfigError
from ...constraints.core.workspace import Input, note_input, noted_inputs
from ..systems import RecordSource
from .evidence import Evidence, NotCheckable

__all__ = ["Ahead", "side_by_side", "work_ahead"]


@dataclass(frozen=True)
class Ahead:
    """A computation that claims share.

    Attributes
    ----------
    claims : collection of :class:`str`
        Ids of the claims that use it.
    run : callable
        Computes it; a function of a module with plain arguments, so that another process can call it.
    keeps : tuple of :class:`str`
        First words of the keys under which :meth:`Evidence.once` keeps the results that travel back.
    """

    claims: Collection[str]
    run: Callable[[Evidence], None]
    keeps: tuple[str, ...]


def work_ahead(
    tasks: Sequence[Ahead],
    claims: Collection[str],
    evidence: Evidence,
    records: RecordSource,
    processes: int | None = None,
) -> int:
    """Run the tasks that ``claims`` use, side by side, and keep their results in ``evidence``. Returns the number of tasks.
    Nothing happens for fewer than two tasks or processes: the claims then compute what they need themselves."""
    wanted = [task for task in tasks if not set(task.claims).isdisjoint(claims)]
    count = min(processes or len(os.sched_getaffinity(0)), len(wanted))
    if count < 2:
        return 0
    evidence.progress(f"{len(wanted)} long computations in {count} processes")
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        for number, (kept, inputs) in enumerate(pool.map(_run, [(task, records) for task in wanted]), 1):
            evidence.kept.update(kept)
            for one in inputs:
                note_input(one)
            evidence.progress(f"{number} of {len(wanted)} long computations are done")
    return len(wanted)


def side_by_side(
    function: Callable[..., Any],
    *arguments: Sequence[Any],
    progress: Callable[[str], None] = lambda text: None,
    processes: int | None = None,
) -> list[Any]:
    """The results of ``function`` for each set of arguments, as :func:`map` has them, in processes of their own."""
    size = len(arguments[0])
    count = min(processes or len(os.sched_getaffinity(0)), size)
    if count < 2:
        return list(map(function, *arguments))
    out = []
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        for number, result in enumerate(pool.map(function, *arguments), 1):
            out.append(result)
            progress(f"{number} of {size} are done")
    return out


def _run(asked: tuple[Ahead, RecordSource]) -> tuple[dict[Any, Any], list[Input]]:
    """In the other process: what the task keeps, without errors, and the files that it has read."""
    task, records = asked
    evidence = Evidence(records)
    # An error comes again where a claim asks for the same, and then says so.
    with noted_inputs() as inputs, contextlib.suppress(NotCheckable, ConfigError):
        task.run(evidence)
    kept = {
        key: value
        for key, value in evidence.kept.items()
        if isinstance(key, tuple) and key[0] in task.keeps and value[1] is None
    }
    return kept, list(inputs.values())
