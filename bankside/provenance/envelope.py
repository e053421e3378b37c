"""Keys that every JSON result has beside its own: command, tools, inputs with their digests, notes, warnings."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.workspace import Input, file_digest, inputs_so_far, noted_inputs

from .version import PACKAGE as _PACKAGE
from .version import version

__all__ = ["SCHEMA", "collecting", "enveloped", "file_of", "own_versions", "plain_input", "warn"]

#: Version of the keys of all results; see `bankside schema`.
SCHEMA = 1


#: Warnings of the command that runs, outermost first.
_warnings: list[list[str]] = []


@contextlib.contextmanager
def collecting() -> Iterator[None]:
    """Collect inputs and warnings of a command for :func:`enveloped`."""
    _warnings.append([])
    try:
        with noted_inputs():
            yield
    finally:
        _warnings.pop()


def warn(text: str) -> None:
    """Warn the user on standard error and in the JSON result."""
    if _warnings:
        _warnings[-1].append(text)
    if sys.stderr is not None:  # the caller closed it; print would take standard output instead
        print(f"warning: {text}", file=sys.stderr)


def own_versions() -> dict[str, str]:
    """Versions that decide every result."""
    return {"bankside": version(), "python": platform.python_version()}


def enveloped(result: Mapping[str, Any], command: str) -> dict[str, Any]:
    """``result`` with the keys of the envelope around it: schema, command and tools before, notes, warnings and inputs
    behind. The ``tools`` of a record are listed with the record."""
    tools = {name: version for name, version in (result.get("tools") or {}).items() if isinstance(version, str)}
    head = {"schema": SCHEMA, "command": command, "tools": {**own_versions(), **tools}}
    tail = {
        "notes": list(result.get("notes") or []),
        "warnings": [*(result.get("warnings") or []), *(_warnings[-1] if _warnings else [])],
        "inputs": [plain_input(one) for one in inputs_so_far()],
    }
    return {**head, **{key: value for key, value in result.items() if key not in head and key not in tail}, **tail}


def plain_input(one: Input) -> dict[str, Any]:
    """An input as results list it."""
    digest = one.sha256
    if not digest and one.kind == "sources":
        from .sources import sources_digest

        digest = sources_digest([one.name])
    elif not digest:  # it was read piece by piece
        with contextlib.suppress(ConfigError):
            digest = file_digest(one.name)
    return {"kind": one.kind, "name": _shown(one.name), "sha256": digest, **one.details}


def _folders() -> Iterator[tuple[str, Path]]:
    """Folders of the package with their real paths: in a checkout some are links."""
    for path in sorted(_PACKAGE.iterdir()):
        if path.is_dir():
            yield f"bankside/{path.name}", path.resolve()
    yield "bankside", _PACKAGE


def _shown(name: str) -> str:
    """Path of a file of the package from ``bankside/`` on, wherever it is installed; any other path as it was given."""
    if os.sep not in name:
        return name
    path = Path(name).resolve()
    for shown, folder in _folders():
        if path.is_relative_to(folder):
            return f"{shown}/{path.relative_to(folder).as_posix()}"
    return name


def file_of(name: str) -> Path:
    """The file behind the name of an input."""
    path = Path(name)
    if path.parts[:1] == ("bankside",) and not path.exists():
        return _PACKAGE.joinpath(*path.parts[1:])
    return path
