"""A self-contained HTML page for every result: ``--html FILE``, made from the output of ``--json``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bankside.constraints.core.workspace import write_files

from ..results.calibration import Calibrate, FittedActivations
from ..results.result import Part
from ..results.serving import Serve
from . import calibration, decoding, demo, papers, serving, systems, units
from .components import Page, render

__all__ = ["page_of", "write_page"]

#: Page of each kind of result.
KINDS: Mapping[type[Part], Callable[[Any], Page]] = {
    Calibrate: calibration.calibration,
    FittedActivations: calibration.fitted,
    Serve: serving.served,
}

#: Page of the output of a command whose results have no types yet.
PAGES: Mapping[str, Callable[[Mapping[str, Any]], Page]] = {
    "sim": units.simulation,
    "synth": units.synthesis,
    "time": units.timing,
    "eval": systems.evaluation,
    "repro": papers.claims,
    "decode": decoding.decoded,
    "demo": demo.story,
}


def page_of(document: Mapping[str, Any], records: str | None = None, result: Any = None) -> str:
    """The page for a command's output with ``--json``, as text; ``records``: the folder of its measurement records;
    ``result``: the typed result, if it is at hand.

    The page loads nothing, holds no date, and is the same for the same result and version of Matplotlib.
    """
    if document["command"] in PAGES:
        return render(PAGES[document["command"]](document if result is None else result), document, records)
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
