"""Systems by name: kinds and files of this package and of every other package with an entry point
``bankside.systems``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...constraints.core.discovery import Entries, discover
from ...constraints.core.document import parse, read_text, validate
from ...constraints.core.errors import ConfigError, nearest
from ...constraints.systems import FILES, GpuSystemSpec
from .description import Description, apart, put
from .system import System

__all__ = ["kind_of", "kinds", "load_system", "read_spec", "system_names"]

GROUP = "bankside.systems"


@lru_cache
def kinds() -> Entries:
    """Class of each kind of system, imported when it is asked for.

    An incomplete class, or one with another name than its entry point, is left out and named on standard error.
    """
    return discover(GROUP, System, _problem)


def _problem(name: str, cls: Any) -> str | None:
    if not isinstance(cls, type):
        return "must be a class"
    lacks = [
        *sorted(getattr(cls, "__abstractmethods__", ())),
        *(key for key in ("kind", "schema") if not hasattr(cls, key)),
    ]
    if lacks:
        return f"lacks {', '.join(lacks)}"
    kind: str = getattr(cls, "kind", "")
    return None if kind == name else f"its kind is '{kind}'"


@lru_cache
def _files() -> Mapping[str, Path]:
    """File of each named system: first of this package, then of other packages. A second file
    can't take a name that is already there."""
    out = dict(FILES)
    for cls in [kinds()[kind] for kind in kinds() if not kinds().own(kind)]:
        for name, path in cls.files.items():
            if out.setdefault(name, path) != path:
                print(f"bankside: skipped {path}: there is a system '{name}'", file=sys.stderr)
    return out


def system_names() -> list[str]:
    """Names of the systems that can be loaded without a path."""
    return list(_files())


def read_spec(
    name_or_path: str | os.PathLike[str], overrides: Mapping[str, Any] | None = None, beside: Path | None = None
) -> tuple[dict[str, Any], dict[Any, int], str, str]:
    """Plain data of a system file with ``overrides`` (dotted keys) applied: ``(document, lines, where, name)``.

    A relative path is looked up beside the file ``beside`` if given.

    Raises
    ------
    :exc:`ConfigError`
        If it is neither a named system nor a readable YAML file, or an override leads through a plain value.
    """
    name = os.fspath(name_or_path)
    plain = name.strip().lower()
    path = FILES.get(plain) or _files().get(plain)
    if path is None:
        path = Path(name)
        if beside is not None and not path.is_absolute():
            path = beside.parent / path
        if not path.exists() and path.suffix not in (".yaml", ".yml", ".json") and os.sep not in name:
            raise ConfigError(f"{nearest('system', name, system_names())}, or give the path of a YAML file")
    document, lines = parse(read_text(path, "a system file"), str(path))
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: must be a mapping of keys to values, not {type(document).__name__}")
    for key, value in (overrides or {}).items():
        changed = put(document, key, value, f"{path}: override '{key}'")
        lines = {place: line for place, line in lines.items() if place != changed}
    return document, lines, str(path), path.stem


def kind_of(name_or_path: str | os.PathLike[str]) -> type[System]:
    """Kind of a named system, or of one from a YAML file.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such system, or its file names no kind.
    """
    document, lines, where, _ = read_spec(name_or_path)
    return _kind(document, lines, where)


def _kind(document: Mapping[str, Any], lines: Mapping[Any, int], where: str) -> type[System]:
    kind, known = document.get("kind"), kinds()
    if not isinstance(kind, str) or kind not in known:
        line = f":{lines['kind',]}" if ("kind",) in lines else ""
        problem = (
            nearest("kind", str(kind), known)
            if "kind" in document
            else f"missing key 'kind' (valid: {', '.join(known)})"
        )
        raise ConfigError(f"{where}{line}: {problem}")
    found: type[System] = known[kind]
    return found


def load_system(name_or_path: str | os.PathLike[str], overrides: Mapping[str, Any] | None = None) -> System:
    """A named system, or one from a YAML file, with ``overrides`` such as ``{"parallelism.tensor": 8}`` applied.

    Keys that begin with ``base.``, ``gpu.``, ``parallelism.`` or ``link.`` reach the GPU system that another system is
    built on.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such system, or its file does not satisfy the schema (with file and line).
    """
    document, lines, where, name = read_spec(name_or_path)
    cls = _kind(document, lines, where)
    based = "base" in cls.schema.model_fields
    own, base = apart(overrides or {}, based)
    if own:
        document, lines, where, name = read_spec(name_or_path, own)
    spec: Any = validate(document, cls.schema, where, lines)
    gpus = None
    if based:
        document, lines, there, _ = read_spec(spec.base, base, beside=Path(where))
        gpus = validate(document, GpuSystemSpec, there, lines)
    return cls(Description(name, spec, where, gpus))
