"""A self-contained HTML page for every result: ``--html FILE``, made from the output of ``--json``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bankside.constraints.core.workspace import write_files

from ..results.calibration import Calibrate, FittedActivations
from ..results.decoding import Decode
from ..results.demo import Demo
from ..results.papers import Claims, Papers, Repro
from ..results.result import Part
from ..results.serving import Serve
from ..results.systems import Eval, EvalLayer, EvalReference, EvalRuns, EvalWorkload
from ..results.units import Sim, Synth, SynthAll, SynthFpga, TimeTrace, TimeUnit
from . import calibration, decoding, demo, papers, serving, systems, units
from .components import Page, render

__all__ = ["page_of", "write_page"]

#: Page of each kind of result.
KINDS: Mapping[type[Part], Callable[[Any], Page]] = {
    Eval: systems.evaluation,
    EvalLayer: systems.layer,
    EvalReference: systems.reference,
    EvalRuns: systems.runs,
    EvalWorkload: systems.steady,
    Demo: demo.story,
    Sim: units.simulation,
    Synth: units.synthesis,
    SynthAll: units.syntheses,
    SynthFpga: units.mapping,
    TimeTrace: units.timing,
    TimeUnit: units.timing,
    Claims: papers.listed,
    Decode: decoding.decoded,
    Papers: papers.papers,
    Repro: papers.checked,
    Calibrate: calibration.calibration,
    FittedActivations: calibration.fitted,
    Serve: serving.served,
}


def page_of(document: Mapping[str, Any], records: str | None = None, result: Any = None) -> str:
    """The page for a command's output with ``--json``, as text. ``records`` is the folder of its measurement records,
    ``result`` the typed result, if it is at hand.

    The page loads nothing, holds no date, and is the same for the same result and version of Matplotlib.
    """
    if result is None:
        from ..results.schemas import result_of

        result = result_of(document)
    kind = next(kind for kind in KINDS if isinstance(result, kind))
    return render(KINDS[kind](result), document, records)


def write_page(
    path: str | os.PathLike[str], document: Mapping[str, Any], records: str | None = None, result: Any = None
) -> None:
    """Write the page, whole or not at all.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be written.
    """
    path = Path(path)
    write_files(path.parent, {path.name: page_of(document, records, result)})
