"""GPUs against timed runs of a serving engine: the answer of ``bankside eval gpu-a100 --reference FILE.yaml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bankside.constraints.core.errors import ConfigError

from ..evidence.records import RecordFolder
from ..provenance.sources import note_sources
from ..results.systems import EvalRuns, RunRow

__all__ = ["OPTIONS", "REFUSAL", "compare_gpus", "gpus_text"]

#: Options of the study beside ``--reference``, and the error for any other option.
OPTIONS: dict[str, dict[str, Any]] = {}
REFUSAL = "{} goes without --reference, whose runs have their own conditions"


def compare_gpus(
    system: str,
    reference: str,
    changes: Mapping[str, Any] | None = None,
    records: str | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> EvalRuns:
    """Result of ``bankside eval SYSTEM --reference FILE`` for a system of GPUs alone and a YAML file of runs.

    Raises
    ------
    :exc:`ConfigError`
        For a system with more than GPUs, or a file of another layout.
    """
    from bankside.models.systems import load_system
    from bankside.models.systems.capabilities import ComparesRuns
    from bankside.models.systems.gpu_reference import OUTPUT, PROMPT, read_runs

    loaded = load_system(system, changes)
    if not isinstance(loaded, ComparesRuns):
        raise ConfigError(f"--reference {reference}: timed runs are compared with GPUs alone; {system} has more")
    runs = read_runs(reference)
    note_sources(compare_gpus)
    rows = loaded.compare_runs(runs, RecordFolder(records), progress)
    return EvalRuns(
        system=loaded.name,
        reference=reference,
        prompt_tokens=PROMPT,
        output_tokens=OUTPUT,
        rows=[RunRow.model_validate(row) for row in rows],
    )


def gpus_text(result: EvalRuns) -> str:
    """The result for people to read."""
    rules = list(result.rows[0].rules)
    lines = [
        f"{result.system}: kernel time of {len(result.rows)} runs of {result.reference}, "
        f"{result.prompt_tokens} + {result.output_tokens} tokens",
        "shares of the measured time by rule of the GPU; host is the rest beside measured kernels",
        "",
        f"  {'model':<14}{'GPUs':>4}{'batch':>6}{'a step took':>14}"
        + "".join(f"{rule:>17}" for rule in rules)
        + f"{'host':>12}",
    ]
    why: dict[str, None] = {}
    for row in result.rows:
        shares = []
        for one in row.rules.values():
            shares.append("–" if one.share_of_measured is None else f"{100 * one.share_of_measured:.0f} %")
            if one.why:
                why[one.why] = None
        host = row.rules[rules[0]].host_ms_per_step
        lines.append(
            f"  {row.model:<14}{row.gpus:>4}{row.batch:>6}{row.measured_ms_per_step:>11.2f} ms"
            + "".join(f"{share:>17}" for share in shares)
            + f"{'–' if host is None else f'{host:.2f} ms':>12}"
        )
    return "\n".join([*lines, *(f"  {text}" for text in why)])
