"""``bankside calibrate``: ratios of importance at which tiers take equal time, and activations fitted to a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bankside.constraints.core.document import load
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.workspace import write_files

from ..evidence.records import RecordFolder
from ..provenance.sources import note_sources
from ..results.calibration import Calibrate, FittedActivations, Sparsity
from .evaluate import measuring

__all__ = ["calibrate", "calibration_text", "fit_activations", "fitted_text"]


def calibrate(
    system: str,
    model: str,
    *,
    context: int = 738,
    rounds: int = 10,
    output: str | None = None,
    measure: bool = False,
    records: str | None = None,
    changes: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Calibrate:
    """Ratios of importance of a system's tiers; ``output`` names a file whose table of ratios is made or changed.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown system or model, a system without tiers, or a file that is no table of ratios.
    """
    from bankside.constraints.systems import RATIOS, RatioTable
    from bankside.models.llm import load_model
    from bankside.models.systems import load_system
    from bankside.models.systems.calibration import table_text, with_ratios
    from bankside.models.systems.capabilities import Calibrates

    shape, loaded = load_model(model), load_system(system, changes)
    table = None
    if output is not None:  # fails at once if it is no table
        path = Path(output)
        table = load(path if path.exists() else RATIOS, RatioTable)
    if not isinstance(loaded, Calibrates):
        raise ConfigError(f"{loaded.name} moves no tokens between tiers, so it has nothing to calibrate")
    note_sources(calibrate, type(loaded))
    able, folder = loaded, RecordFolder(records)
    found = measuring(
        lambda: able.calibrate(shape, folder, context=context, rounds=rounds, progress=progress),
        measure,
        records,
        progress,
    )
    if table is not None:
        write_files(path.parent, {path.name: table_text(with_ratios(table, shape.name, found))})
    return Calibrate(system=loaded.name, model=shape.name, **asdict(found), file=output)


def fit_activations(system: str, trace: str, *, changes: Mapping[str, Any] | None = None) -> FittedActivations:
    """The synthetic source of activations that reproduces a trace's fraction of active tokens and their persistence.
    The system decides which first and last tokens are always active."""
    from bankside.models.systems import load_system
    from bankside.models.systems.capabilities import FitsActivations

    loaded = load_system(system, changes)
    if not isinstance(loaded, FitsActivations):
        raise ConfigError(f"{loaded.name} reads all tokens, so it has no activations to fit")
    note_sources(fit_activations)
    found = asdict(loaded.fit_activations(trace))
    sparsity = Sparsity(**{key: found[key] for key in Sparsity.model_fields})
    return FittedActivations(system=loaded.name, trace=trace, sparsity=sparsity)


def calibration_text(result: Calibrate) -> str:
    verdict = "the tiers take equal time" if result.equal else "no ratios make the tiers equal; these come nearest"
    return f"x {result.x:g}, y {result.y:g}: {verdict} ({result.conditions})"


def fitted_text(result: FittedActivations) -> str:
    """The parameters as options of ``bankside eval``."""
    return " ".join(f"--set sparsity.{key}={value:g}" for key, value in result.sparsity)
