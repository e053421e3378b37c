"""Decoding in steady state with requests of a workload: the result of ``bankside eval --workload``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..evidence.records import RecordFolder
from ..hardware.generate import tool_versions
from ..provenance.sources import note_sources
from ..results.systems import EvalWorkload, Parallelism
from .evaluate import SYSTEM, chosen_splits, fastest, measuring

if TYPE_CHECKING:
    from bankside.models.serving.splits import Decoding
    from bankside.models.systems import System

__all__ = ["OPTIONS", "REFUSAL", "evaluate_workload"]

#: Options of the study, what the command line needs by flag, and the error for an option of another one.
OPTIONS: dict[str, dict[str, Any]] = {
    **SYSTEM,
    "--workload": {
        "metavar": "NAME|FILE",
        "help": "instead: decode in steady state, with the memory full of requests of a workload",
    },
}
REFUSAL = "{} can't be combined with --workload, which has its own"


def evaluate_workload(
    system: str,
    model: str,
    workload: str,
    *,
    split: str | None = None,
    refresh: bool = False,
    measure: bool = False,
    records: str | None = None,
    changes: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> EvalWorkload:
    """Result of ``bankside eval --workload``: decoding in steady state with requests of a workload. Ended
    requests are replaced as long as there is room. If several splits are tried, the fastest is the result.

    Raises
    ------
    :exc:`ConfigError`
        As :func:`evaluate`.
    """
    from dataclasses import asdict

    from bankside.models.llm import load_model
    from bankside.models.serving.splits import decode
    from bankside.models.serving.workloads import load_workload
    from bankside.models.systems import load_system

    shape, loaded, folder = load_model(model), load_system(system, changes), RecordFolder(records)
    load_workload(workload)
    note_sources(evaluate_workload, type(loaded))

    def attempt(one: System) -> Decoding:
        return measuring(
            lambda: decode(one, shape, workload, records=folder, refresh=refresh), measure, records, progress
        )

    one, done, tried = fastest(chosen_splits(loaded, shape, split), attempt, lambda done: done.tokens_per_s)
    result = asdict(done)
    tensor, pipeline = result.pop("parallelism")
    notes = (
        [f"context {done.longest_context} exceeds the {shape.max_context} positions that {shape.name} was made for"]
        if done.longest_context > shape.max_context
        else []
    )
    return EvalWorkload(
        system=one.name,
        model=shape.name,
        workload=workload,
        throughput_tok_s=result.pop("tokens_per_s"),
        **result,
        utilisation_percent=one.utilisation_percent(shape, done.tokens_per_s, done.context),
        parallelism=Parallelism(tensor=tensor, pipeline=pipeline),
        splits=tried,
        records=list(one.bind(shape, folder, refresh=refresh).sources),
        notes=notes,
        tools=tool_versions(),
    )
