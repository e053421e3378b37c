"""Whole systems that serve a language model: time per token, throughput, energy, capacity, area.

A new system is one YAML file in ``constraints/systems``. A new ``kind`` also needs one class: a
:class:`bankside.models.systems.system.System` that an entry point of the group ``bankside.systems`` names.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...constraints.core.errors import ConfigError
from ..llm import ModelShape
from .registry import kinds, load_system, system_names
from .results import NOT_MODELLED, Capacity, Cost, Evaluation, MissingRecord, RecordSource
from .system import Assumption, Bound, Details, StepCost, System

if TYPE_CHECKING:
    from .units import MeasuredUnit

__all__ = [
    "NOT_MODELLED",
    "Assumption",
    "Bound",
    "Capacity",
    "Cost",
    "Details",
    "Evaluation",
    "MeasuredUnit",
    "MissingRecord",
    "RecordSource",
    "StepCost",
    "System",
    "evaluate",
    "kinds",
    "load_system",
    "sweep",
    "system_names",
]


def __getattr__(name: str) -> Any:
    """:class:`MeasuredUnit`, whose module imports the contracts of all measured units."""
    if name == "MeasuredUnit":
        from .units import MeasuredUnit

        return MeasuredUnit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def evaluate(
    system: str | os.PathLike[str],
    model: ModelShape,
    *,
    context: int,
    batch: int,
    output_tokens: int = 1,
    records: RecordSource,
    refresh: bool = False,
    overrides: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Cost of decoding ``output_tokens`` tokens for each of ``batch`` requests that begin at ``context`` tokens.

    The context grows by one token with each step. Every context is evaluated; times and energies are means over them.

    Parameters
    ----------
    system
        Name of a built-in system or path of its YAML file.
    context : :class:`int`
        Tokens attended to in the first step, the token being processed included.
    records
        Source of the units' measurements; systems without units need none.
    refresh : :class:`bool`
        Whether the timing of near-bank work includes DRAM refresh.
    overrides
        Values of the system file to replace, by dotted key.

    Raises
    ------
    :exc:`ConfigError`
        If the system or its file is wrong, the model can't be split as the file says, or batch and context do not fit.
        A message about a batch that does not fit says how much memory it needs, how much there is, and the largest
        batch that fits.
    :exc:`MissingRecord`
        If a measurement is missing, with the command that makes it.
    """
    return load_system(system, overrides).evaluate(
        model, context=context, batch=batch, output_tokens=output_tokens, records=records, refresh=refresh
    )


def sweep(
    system: str | os.PathLike[str],
    model: ModelShape,
    *,
    context: int,
    batches: Iterable[int],
    output_tokens: int = 1,
    records: RecordSource,
    refresh: bool = False,
    overrides: Mapping[str, Any] | None = None,
) -> list[Evaluation]:
    """:func:`evaluate` for each batch that fits. Larger batches are left out.

    Raises
    ------
    :exc:`ConfigError`
        As :func:`evaluate`; also if none of the batches fits.
    """
    loaded = load_system(system, overrides)
    batches = sorted(set(batches))
    if not batches:
        raise ConfigError("a sweep needs at least one batch")
    most = loaded.capacity(model, context, 1, output_tokens).largest_batch_with_output
    fitting = [batch for batch in batches if batch <= most] or batches[:1]
    return [
        loaded.evaluate(
            model, context=context, batch=batch, output_tokens=output_tokens, records=records, refresh=refresh
        )
        for batch in fitting
    ]
