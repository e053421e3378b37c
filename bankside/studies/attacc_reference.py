"""Systems against a file of results of the AttAcc simulator: what ``bankside eval dgx-attacc --reference`` answers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bankside.constraints.core.errors import ConfigError, nearest

from ..provenance.sources import note_sources
from ..results.systems import EvalReference, ReferenceRow

__all__ = ["OPTIONS", "REFUSAL", "compare_reference", "reference_text"]

#: Options of the study beside ``--reference``, and the error for any other option.
OPTIONS: dict[str, dict[str, Any]] = {}
REFUSAL = "{} goes without --reference, whose rows have their own conditions"

#: What the simulator counts for units on the logic die depends on whether it ran the layer before: it is not compared.
_OF_HISTORY = ("g_energy (nJ)", "g_dram_energy", "g_attn_mem_energy")


def compare_reference(system: str, reference: str, changes: Mapping[str, Any] | None = None) -> EvalReference:
    """Result of ``bankside eval SYSTEM --reference FILE``: each row of the file as its system gives it, and the
    relative errors by component. ``changes``: values of system files that are replaced, by dotted key, in all rows.

    Raises
    ------
    :exc:`ConfigError`
        For another system, a file of another layout, or what a system can't do.
    """
    from bankside.models.systems.attacc_reference import COMPONENTS, CYCLES, SYSTEMS, compare, read_reference

    if system not in SYSTEMS:
        raise ConfigError(f"--reference: {nearest('system', system, SYSTEMS)}")
    runs = read_reference(reference)
    note_sources(compare_reference)
    rows: list[ReferenceRow] = []
    errors: dict[str, list[float]] = {}
    left_out: dict[str, int] = {}
    for run, results in zip(runs, compare(runs, changes), strict=True):
        own = {}
        for column, value in results.items():
            if run.placement == "buffer" and column in _OF_HISTORY:
                left_out[column] = left_out.get(column, 0) + 1
                continue
            own[column] = _error(value, run.results[column])
            errors.setdefault(column, []).append(own[column])
        rows.append(
            ReferenceRow(
                line=run.line, **run.conditions, results=results, reference=dict(run.results), relative_error=own
            )
        )
    errors = {column: errors[column] for column in COMPONENTS if column in errors}
    cycled = [row for row in rows if CYCLES in row.results]
    return EvalReference(
        system=system,
        reference=reference,
        rows=rows,
        components=list(errors),
        worst_relative_error={column: max(map(abs, found)) for column, found in errors.items()},
        median_relative_error={column: statistics.median(found) for column, found in errors.items()},
        cycle_rows=len(cycled),
        exact_cycles=sum(row.results[CYCLES] == row.reference[CYCLES] for row in cycled),
        not_compared=left_out,
    )


def _error(value: float, reference: float) -> float:
    """Relative error; of 0, which nothing but 0 agrees with, 1."""
    return (value - reference) / reference if reference else float(value != 0)


def reference_text(result: EvalReference) -> str:
    """The result for people to read."""
    lines = [
        f"{result.system}: {len(result.rows)} rows of {result.reference}",
        f"  cycles exact in {result.exact_cycles} of {result.cycle_rows} rows that have them",
        "",
        f"  {'component':<20} {'median error':>13} {'worst':>11}",
    ]
    for column in result.components:
        lines.append(
            f"  {column:<20} {_percent(result.median_relative_error[column]):>13} "
            f"{_percent(result.worst_relative_error[column]):>11}"
        )
    if result.not_compared:
        lines.append(f"  not compared, units on the logic die: {_counts(result.not_compared)}")
    return "\n".join(lines)


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %" if abs(value) >= 1e-9 else "0 %"


def _counts(columns: Mapping[str, int]) -> str:
    names: Sequence[str] = list(columns)
    return f"{', '.join(names)} ({max(columns.values())} rows)"
