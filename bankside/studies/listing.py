"""The text of ``bankside list``. It is kept, because its names come from hundreds of files, and reading them takes a
second."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from bankside.constraints.core.discovery import others
from bankside.constraints.core.errors import BanksideError
from bankside.constraints.core.workspace import cache_folder, write_files

__all__ = ["listing"]

_PACKAGE = Path(__file__).resolve().parents[1]

#: Folders that the list does not depend on.
_APART = {"__pycache__", "measured", "pages", "rtl"}


def listing() -> str:
    """Units, systems, memories, models, workloads, libraries and formats, with a line for each.

    The text is made again when a file of the package has another time or size. It is not kept if another package adds a
    unit, a system or a paper, because changes in that package's files would not be noticed.
    """
    if others():
        return _made()
    name = f"{_stamp()}.txt"
    folder = cache_folder() / "list"
    with contextlib.suppress(OSError, ValueError):
        return (folder / name).read_text(encoding="utf-8")
    text = _made()
    with contextlib.suppress(BanksideError, OSError):
        for old in folder.glob("*.txt"):
            old.unlink(missing_ok=True)
        write_files(folder, {name: text})
    return text


def _stamp() -> str:
    """Digest of the name, time and size of every file of the package, and of the interpreter."""
    digest = hashlib.sha256(f"{sys.version}\0{_PACKAGE}".encode())
    for folder, inside, files in os.walk(_PACKAGE, followlinks=True):
        inside[:] = sorted(set(inside) - _APART)
        for file in sorted(files):
            status = os.stat(os.path.join(folder, file))
            digest.update(f"{folder}/{file}\0{status.st_mtime_ns}\0{status.st_size}\0".encode())
    return digest.hexdigest()[:32]


def _made() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    from bankside.constraints.core.registry import UNITS
    from bankside.constraints.memory import available, load_memory
    from bankside.models.llm import model_names
    from bankside.models.serving.workloads import FORMATS as REQUESTS
    from bankside.models.serving.workloads import workload_names
    from bankside.models.systems import system_names

    from ..hardware.synthesis.libraries import available as libraries
    from .memories import describe, line_text
    from .trace import FORMATS

    yield "units"
    for unit in UNITS.values():
        yield f"  {unit.name:<16} {unit.summary} ({unit.source})"
        yield f"  {'':<16} presets: {', '.join(unit.presets)}"
    yield from _named("systems", system_names())
    yield "memories"
    for name in available():
        yield "  " + line_text(name, describe(load_memory(name)))
    yield from _named("models", model_names())
    yield from _named("workloads", workload_names())
    yield "libraries"
    for name, library in libraries().items():
        yield f"  {name:<16} {library.title}"
    for title, formats in (("formats of traces and programs", FORMATS), ("formats of requests", REQUESTS)):
        yield title
        for one in formats.values():
            yield f"  {one.name:<16} {one.title}"
            yield from (f"  {'':<20} {line}" for line in one.example)


def _named(title: str, names: list[str]) -> Iterator[str]:
    yield title
    yield from (f"  {name}" for name in names)
