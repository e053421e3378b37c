"""Digests of what a measurement is made from: the sources that a module imports, and the data that they name.

Sources are read, never imported, so that looking up a record needs no Amaranth. A module counts by its syntax tree:
comments, line breaks and docstrings change nothing. A name that a package re-exports leads to the module that defines it,
so a module beside it in the same package does not count.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bankside.constraints.errors import ConfigError
from bankside.constraints.memory import available
from bankside.constraints.memory.memory import FOLDER, MemoryFile, layered
from bankside.constraints.workspace import cache_folder, write_files

__all__ = ["closure", "definitions_digest", "memory_digest", "named_parts", "sources_digest"]

#: Goes up when digests of the same sources change.
_FORMAT = 1

#: Strings that may name a data file or a memory.
_NAME = re.compile(r"[A-Za-z0-9][\w-]*[.-][\w.-]*\w")

Import = tuple[str, str | None, str | None]


@dataclass(frozen=True)
class _Module:
    """What one source file says.

    Attributes
    ----------
    digest : :class:`str`
        Of its syntax tree.
    imports : tuple of (module, name, bound name)
    strings : tuple of :class:`str`
        Those that may name data.
    parts : tuple of :class:`str`
        Units whose RTL it asks for.
    """

    digest: str
    imports: tuple[Import, ...]
    strings: tuple[str, ...]
    parts: tuple[str, ...]


def sources_digest(roots: Iterable[str]) -> str:
    """Digest of the sources that ``roots`` (``module:object`` or ``module``) import, and of the data files and memories
    that they name. The same on every machine and with every version of Python.

    Raises
    ------
    :exc:`ConfigError`
        If a root has no source file, or one is no Python.
    """
    return _digest_of(tuple(sorted(roots)))


@lru_cache
def _digest_of(roots: tuple[str, ...]) -> str:
    parts: dict[str, str] = {}
    for name, path in closure(roots).items():
        module = _module(name, path)
        parts[name] = module.digest
        for text in module.strings:
            file = path.parent / text
            if text in _memories():
                parts[f"memory {text}"] = memory_digest(text)
            elif not text.endswith(".py") and file.is_file():
                parts[f"{name} {text}"] = hashlib.sha256(file.read_bytes()).hexdigest()
    _keep()
    return _hash(sorted(parts.items()))


def named_parts(roots: Iterable[str]) -> tuple[str, ...]:
    """Units whose RTL the sources of ``roots`` ask for besides (``request.part("UNIT", ...)``)."""
    return tuple(sorted({part for name, path in closure(tuple(roots)).items() for part in _module(name, path).parts}))


def definitions_digest(module: str, names: Iterable[str]) -> str:
    """Digest of single definitions at the top level of a module; :exc:`ConfigError` if one is missing."""
    path = _file(module)
    wanted = set(names)
    found = [node for node in _tree(path).body if wanted & set(_bound(node))]
    if path is None or wanted - {name for node in found for name in _bound(node)}:
        raise ConfigError(f"{module} lacks one of {', '.join(sorted(wanted))}")
    return _hash([_plain(node) for node in found])


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


# Memories --------------------------------------------------------------------------------------------------------------


def memory_digest(memory: str) -> str:
    """Digest of a memory's contents, those of the files that it is based on included; its name and the words on sources of
    numbers are left out, so a copy under another name is the same memory.

    Raises
    ------
    :exc:`ConfigError`
        As :func:`load_memory`.
    """
    if memory in _memories():
        return _memories()[memory]
    return _memory_file(Path(memory))


def _memory_file(path: Path) -> str:
    return _hash(_without_sources(layered(path, MemoryFile, FOLDER)[0].model_dump(mode="json")))


def _without_sources(value: Any, top: bool = True) -> Any:
    if isinstance(value, dict):
        return {key: _without_sources(inner, False) for key, inner in value.items()
                if key != "source" and not (top and key in ("name", "based_on"))}
    return [_without_sources(inner, False) for inner in value] if isinstance(value, list) else value


@lru_cache(maxsize=1)
def _memories() -> dict[str, str]:
    """Digests of the memories that come with the package."""
    stamp = [[path.name, *_stamp(path)] for path in sorted(FOLDER.glob("*.yaml"))]
    kept = _cache()
    if kept.get("memories", {}).get("stamp") != stamp:
        kept["memories"] = {"stamp": stamp,
                            "digests": {name: _memory_file(FOLDER / f"{name}.yaml") for name in available()}}
        kept["changed"] = True
    found: dict[str, str] = kept["memories"]["digests"]
    return found


# Modules ---------------------------------------------------------------------------------------------------------------


def closure(roots: Iterable[str]) -> dict[str, Path]:
    """Modules that ``roots`` import, themselves included, inside functions too, with their files. Modules of other packages
    than this one and the roots' own are not followed: their versions decide."""
    return dict(_closure(tuple(roots)))


@lru_cache
def _closure(roots: tuple[str, ...]) -> dict[str, Path]:
    tops = {"bankside", *(root.split(".")[0].split(":")[0] for root in roots)}
    found: dict[str, Path] = {}
    waiting: list[str] = []
    for root in roots:
        module, _, defined = root.partition(":")
        modules = _defining(module, defined or None, ())
        if not modules:
            raise ConfigError(f"{root}: no source file")
        waiting += modules
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if name in found or path is None:
            continue
        found[name] = path
        for module, what, _ in _module(name, path).imports:
            if module.split(".")[0] in tops:
                waiting += _defining(module, what, ())
    return dict(sorted(found.items()))


def _defining(module: str, name: str | None, seen: tuple[str, ...]) -> list[str]:
    """The module that an import of ``name`` from ``module`` leads to; none if there is no source."""
    path = _file(module)
    if name is not None and name != "*" and _file(f"{module}.{name}") is not None:
        return [f"{module}.{name}"]
    if path is None or module in seen:
        return []
    if path.name == "__init__.py" and name not in (None, "*"):
        for source, original, bound in _module(module, path).imports:
            if bound == name and original is not None:
                return _defining(source, original, (*seen, module))
    return [module]


@lru_cache(maxsize=4096)
def _file(module: str) -> Path | None:
    """Source of a module, without importing its packages."""
    top, *rest = module.split(".")
    for place in _places(top):
        path = place.joinpath(*rest)
        if (path / "__init__.py").is_file():
            return path / "__init__.py"
        if rest and path.with_name(path.name + ".py").is_file():
            return path.with_name(path.name + ".py")
    return None


@lru_cache
def _places(top: str) -> tuple[Path, ...]:
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    return tuple(Path(place) for place in (spec.submodule_search_locations or ()) if spec) if spec else ()


@lru_cache(maxsize=4096)
def _module(name: str, path: Path) -> _Module:
    kept, stamp = _cache()["modules"], _stamp(path)
    entry = kept.get(str(path))
    if entry is None or entry[0] != [name, *stamp]:
        entry = [[name, *stamp], *_read(name, path)]
        kept[str(path)] = entry
        _cache()["changed"] = True
    _, digest, imports, strings, parts = entry
    return _Module(digest, tuple((module, what, bound) for module, what, bound in imports), tuple(strings), tuple(parts))


def _read(name: str, path: Path) -> tuple[str, list[Import], list[str], list[str]]:
    tree = _tree(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imports: list[Import] = []
    strings, parts = set(), set()
    for node in _walk(tree):
        if isinstance(node, ast.Import):
            imports += [(one.name, None, one.asname) for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
            module = ".".join(filter(None, (base if node.level else "", node.module)))
            imports += [(module, one.name, one.asname or one.name) for one in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value):
            strings.add(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "part" and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                parts.add(first.value)
    return _hash(_plain(tree)), sorted(set(imports), key=str), sorted(strings), sorted(parts)


def _tree(path: Path | None) -> ast.Module:
    if path is None:
        return ast.Module([], [])
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise ConfigError(f"{path}: can't be read as Python: {error}") from None


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that do something: docstrings, and what is only for type checkers, are left out."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in (getattr(node.test, "id", ""), getattr(node.test, "attr", "")):
            waiting += node.orelse
            continue
        left_out = _docstring(node)
        waiting += [child for child in ast.iter_child_nodes(node) if child is not left_out]


def _docstring(node: ast.AST) -> ast.stmt | None:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return None
    first = node.body[0]
    return first if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) \
        and isinstance(first.value.value, str) else None


def _plain(node: Any) -> Any:
    """A syntax tree as plain data without places. What is empty is left out, as versions of Python differ in what they
    write then."""
    if isinstance(node, ast.AST):
        left_out = _docstring(node)
        fields: list[Any] = [type(node).__name__]
        for name, value in ast.iter_fields(node):
            if name in ("ctx", "kind", "type_comment", "type_ignores") or value is None or value == []:
                continue
            if name == "value" and isinstance(node, ast.Constant):
                fields.append(repr(value))
            elif left_out is not None and name == "body":
                fields.append([name, [_plain(one) for one in value if one is not left_out]])
            elif isinstance(node, ast.JoinedStr):  # an empty piece of text is there in some versions only
                fields.append([name, [_plain(one) for one in value if getattr(one, "value", None) != ""]])
            else:
                fields.append([name, _plain(value)])
        return fields
    if isinstance(node, list):
        return [_plain(one) for one in node]
    return repr(node)


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


# What was read is kept between runs ------------------------------------------------------------------------------------


def _stamp(path: Path) -> list[int]:
    status = os.stat(path)
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_size]


@lru_cache(maxsize=1)
def _cache() -> dict[str, Any]:
    empty: dict[str, Any] = {"format": _FORMAT, "modules": {}}
    try:
        kept = json.loads((cache_folder() / "sources.json").read_text())
    except (OSError, ValueError):
        return empty
    sound = isinstance(kept, dict) and kept.get("format") == _FORMAT and isinstance(kept.get("modules"), dict)
    return kept if sound else empty


def _keep() -> None:
    kept = _cache()
    if kept.pop("changed", False):
        with contextlib.suppress(ConfigError):  # a folder that can't be written costs time only
            write_files(cache_folder(), {"sources.json": json.dumps(kept)})
