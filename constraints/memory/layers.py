"""A file that is based on another: its values override the other file's, and each error names its own file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from ..core.document import Strict, parse, read_text, validate
from ..core.errors import ConfigError, nearest
from ..core.workspace import reading
from .ramulator import converted, is_ramulator

__all__ = ["Places", "layered"]

#: For digests of sources (:data:`bankside.provenance.sources.PLUMBING`).
DECIDES_NO_RESULT = True

#: File and line of every key path.
Places = dict[tuple[Any, ...], tuple[str, int]]

#: Most files in a chain in which each is based on the next.
MAX_FILES = 8

#: Sections in which a changed number needs a source of its own.
SOURCED = ("clock", "organisation", "power_limit", "refresh", "energy")

Model = TypeVar("Model", bound=Strict)


def layered(path: Path, model: type[Model], folder: Path) -> tuple[Model, Places]:
    """The file ``path`` as ``model``, completed by the files that it is based on, and the file and line of each value.

    ``based_on`` is the name of a file in ``folder`` or a path beside the file. Mappings are merged key by key, and null
    removes the other file's value. ``levels`` is given as a whole. A named timing replaces the other file's timing, and
    constraints are added.
    """
    document, places = _read(path, model, folder, ())
    return model.model_validate(document), places


def _read(path: Path, model: type[Strict], folder: Path, above: tuple[Path, ...]) -> tuple[dict[str, Any], Places]:
    where = os.fspath(path)
    document, lines = parse(read_text(path, "a memory file"), where)
    if is_ramulator(document):
        document, lines = converted(document, lines, path, folder)
    places: Places = {at: (where, line) for at, line in lines.items()}
    if not isinstance(document, dict) or document.get("based_on") is None:
        validate(document, model, where, lines)
        return document, places

    def fail(message: str, *at: Any) -> ConfigError:
        while at and at not in places:
            at = at[:-1]
        return ConfigError(f"{where}:{places[at][1]}: {message}")

    base = _base(document["based_on"], path, folder, fail)
    try:
        with reading(base, "a memory file"):
            pass
    except ConfigError as error:
        raise fail(f"based_on: {error}", "based_on") from None
    chain = (*above, path.resolve())
    if base.resolve() in chain:
        names = " -> ".join(p.name for p in [*chain[chain.index(base.resolve()) :], base.resolve()])
        raise fail(f"based on itself: {names}", "based_on")
    if len(chain) == MAX_FILES:
        raise fail(f"more than {MAX_FILES} files based on each other", "based_on")
    below, below_places = _read(base, model, folder, chain)
    below = {key: value for key, value in below.items() if key not in ("name", "source")}
    below_places = {at: place for at, place in below_places.items() if at[:1] not in ((), ("name",), ("source",))}

    moved = dict.fromkeys(("parameters", "constraints"), 0)
    own = {name for group in _groups(document) for name in group["values"]}
    if isinstance(document.get("parameters"), list):
        _unknown_timings(document, own, {name for group in _groups(below) for name in group["values"]}, fail)
        below, below_places = _without(below, below_places, own)
        moved["parameters"] = len(below["parameters"])
    if isinstance(document.get("constraints"), list):
        moved["constraints"] = len(below["constraints"])
    merged = dict(below)
    for key, value in document.items():
        if key in SOURCED and isinstance(value, dict) and "source" not in value and below.get(key) is not None:
            raise fail(
                f"missing key '{key}.source': numbers that differ from {base.name} need a source of their own", key
            )
        if moved.get(key):
            merged[key] = [*below[key], *value]
        else:
            merged[key] = _merge((key,), value, below.get(key), below_places)
    mine = {
        (at[0], at[1] + moved[at[0]], *at[2:]) if len(at) > 1 and moved.get(at[0]) else at: line
        for at, line in lines.items()
    }
    # The other file has been checked, so any fault now is in this one.
    validate(merged, model, where, mine)
    return merged, below_places | {at: (where, line) for at, line in mine.items()}


def _base(given: Any, path: Path, folder: Path, fail: Any) -> Path:
    names = sorted(p.stem for p in folder.glob("*.yaml"))
    if not isinstance(given, str) or not given:
        raise fail(f"based_on: must be the name of a memory or the path of a .yaml file, not {given!r}", "based_on")
    if not given.endswith((".yaml", ".yml")) and os.sep not in given:
        if given not in names:
            raise fail(f"based_on: {nearest('memory', given, names)}, or the path of a .yaml file", "based_on")
        return folder / f"{given}.yaml"
    return path.parent / given


def _merge(at: tuple[Any, ...], value: Any, below: Any, places: Places) -> Any:
    """``value`` over ``below``; places of replaced values are removed."""
    if isinstance(value, dict) and isinstance(below, dict) and at != ("organisation", "levels"):
        return below | {key: _merge((*at, key), entry, below.get(key), places) for key, entry in value.items()}
    for path in [path for path in places if path[: len(at)] == at]:
        del places[path]
    return value


def _groups(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Groups of timings that are well formed; the schema reports the others."""
    for group in document["parameters"] if isinstance(document.get("parameters"), list) else ():
        if isinstance(group, dict) and isinstance(group.get("values"), dict):
            yield group


def _without(document: dict[str, Any], places: Places, names: set[str]) -> tuple[dict[str, Any], Places]:
    """``document`` without these timings, and without groups that hold no other timing."""
    groups: list[dict[str, Any]] = []
    number: dict[int, int] = {}
    for old, group in enumerate(document["parameters"]):
        values = {name: value for name, value in group["values"].items() if name not in names}
        if values:
            number[old] = len(groups)
            groups.append({**group, "values": values})
    kept: Places = {}
    for at, place in places.items():
        if at[0] != "parameters" or len(at) == 1:
            kept[at] = place
        elif at[1] in number and (len(at) < 4 or at[3] not in names):
            kept["parameters", number[at[1]], *at[2:]] = place
    return {**document, "parameters": groups}, kept


def _unknown_timings(document: dict[str, Any], own: set[str], below: set[str], fail: Any) -> None:
    """Raise an error for a new timing that nothing in its file uses: it is a misspelt timing of the other file."""
    used: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            for key, entry in value.items():
                if key not in ("source", "note", "name", "based_on"):
                    collect(entry)
        elif isinstance(value, list):
            for entry in value:
                collect(entry)
        elif isinstance(value, str):
            used.update(re.findall(r"[A-Za-z_]\w*", value))

    collect(document)
    for number, group in enumerate(document["parameters"]):
        if isinstance(group, dict) and isinstance(group.get("values"), dict):
            for name in group["values"]:
                if name not in below and name not in used:
                    raise fail(
                        f"{nearest('timing', name, below)}: not one of the memory that this is based on, and "
                        "nothing here uses it",
                        "parameters",
                        number,
                        "values",
                        name,
                    )
