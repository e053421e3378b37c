"""A self-contained HTML page for every result: ``--html FILE``, made from the output of ``--json``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bankside.constraints.core.workspace import write_files

from . import decoding, demo, papers, serving, systems, units
from .components import Page, render

__all__ = ["page_of", "write_page"]

#: Page of a result by command; a command with several kinds of results tells them apart itself.
PAGES: Mapping[str, Callable[[Mapping[str, Any]], Page]] = {
    "sim": units.simulation,
    "synth": units.synthesis,
    "time": units.timing,
    "eval": systems.evaluation,
    "serve": serving.served,
    "calibrate": systems.calibration,
    "repro": papers.claims,
    "decode": decoding.decoded,
    "demo": demo.story,
}


def page_of(document: Mapping[str, Any], records: str | None = None) -> str:
    """The page for a command's output with ``--json``, as text; ``records``: the folder of its measurement records.

    The page loads nothing, holds no date, and is the same for the same result and version of Matplotlib.
    """
    return render(PAGES[document["command"]](document), document, records)


def write_page(path: str | os.PathLike[str], document: Mapping[str, Any], records: str | None = None) -> None:
    """Write the page, whole or not at all.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be written.
    """
    path = Path(path)
    write_files(path.parent, {path.name: page_of(document, records)})
