"""Digests of the basis of a measurement: the definitions that its sources use, and the data that they name.

Sources are read, never imported, so that looking up a record needs no Amaranth. Every name that a function or a class
uses is followed to the statement that defines it. This includes imports, inside functions too, and packages that
re-export a name. Statements count by their syntax tree: comments, line breaks, docstrings, types of arguments,
descriptions of keys and the words of errors change nothing. Other definitions of a module do not count, except
statements that do something when it is imported. The modules in :data:`PLUMBING` do not count, but the contents of the
files that they read do.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.workspace import Input, cache_folder, note_input, noted_inputs, noting, write_files
from bankside.constraints.memory import available
from bankside.constraints.memory.memory import FOLDER, MemoryFile, layered

__all__ = ["PLUMBING", "closure", "definitions", "memory_digest", "named_parts", "note_sources", "sources_digest"]

#: Modules that read, check and write files, or call the compiler of simulated models. They decide no result.
PLUMBING = frozenset(
    f"bankside.{module}"
    for module in (
        "constraints.core.document",
        "constraints.core.errors",
        "constraints.memory.layers",
        "constraints.core.workspace",
        "cosim.bench.build",
        "models.numerics.vector_files",
    )
)

#: Goes up when digests of the same sources change.
_FORMAT = 3

#: Strings that may name a data file or a memory.
_NAME = re.compile(r"[A-Za-z0-9][\w-]*[.-][\w.-]*\w")


def sources_digest(roots: Iterable[str]) -> str:
    """Digest of the definitions that ``roots`` (``module:object`` or ``module``) use, and of the data files and
    memories that they name. It is the same on every machine and with every version of Python.

    Raises
    ------
    :exc:`ConfigError`
        If a root has no source, or a source is no Python.
    """
    return _digest_of(tuple(sorted(roots)))


@lru_cache
def _digest_of(roots: tuple[str, ...]) -> str:
    parts = []
    for (module, _), statement in _closure(roots).items():
        parts.append([module, statement.digest])
        for text in statement.strings:
            file = Path(str(_file(module))).parent / text
            if text in _memories():
                parts.append([f"memory {text}", memory_digest(text)])
            elif not text.endswith(".py") and file.is_file():
                parts.append([f"{module} {text}", hashlib.sha256(file.read_bytes()).hexdigest()])
    _keep()
    return _hash(sorted(parts))


def note_sources(*things: Any) -> None:
    """Count the sources of functions, classes and modules (by name) among the inputs (:func:`noted_inputs`) of their
    results. They are digested when the inputs are listed."""
    for thing in things if noting() else ():
        root = thing if isinstance(thing, str) else f"{thing.__module__}:{thing.__qualname__.partition('.')[0]}"
        note_input(Input("sources", root))


def named_parts(roots: Iterable[str]) -> tuple[str, ...]:
    """Further units whose RTL the sources of ``roots`` ask for (``request.part("UNIT", ...)``)."""
    return tuple(sorted({part for statement in _closure(tuple(roots)).values() for part in statement.parts}))


# Memories --------------------------------------------------------------------------------------------------------------


def memory_digest(memory: str) -> str:
    """Digest of a memory's contents, including the files that it is based on. Its name and the texts on sources of
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
        return {
            key: _without_sources(inner, False)
            for key, inner in value.items()
            if key != "source" and not (top and key in ("name", "based_on"))
        }
    return [_without_sources(inner, False) for inner in value] if isinstance(value, list) else value


@lru_cache(maxsize=1)
def _memories() -> dict[str, str]:
    """Digests of the memories that come with the package."""
    stamp = [[path.name, *_stamp(path)] for path in sorted(FOLDER.glob("*.yaml"))]
    kept = _cache()
    if kept.get("memories", {}).get("stamp") != stamp:
        with noted_inputs():  # a result that uses one of them reads it
            kept["memories"] = {
                "stamp": stamp,
                "digests": {name: _memory_file(FOLDER / f"{name}.yaml") for name in available()},
            }
        kept["changed"] = True
    found: dict[str, str] = kept["memories"]["digests"]
    return found


# Definitions -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Statement:
    """A statement at the top level of a module, with the names that it binds and uses.

    Attributes
    ----------
    digest : :class:`str`
        Digest of its syntax tree.
    binds : tuple of :class:`str`
        Names that it defines.
    always : :class:`bool`
        Whether it does something when the module is imported.
    refers : tuple of (name, attribute)
        Names that it uses, each with the attribute if only that attribute is used, else with an empty text.
    imports : tuple of (bound name, module, name)
        Imports inside it.
    strings : tuple of :class:`str`
        Strings that may name data.
    parts : tuple of :class:`str`
        Units whose RTL it asks for.
    """

    digest: str
    binds: tuple[str, ...]
    always: bool
    refers: tuple[tuple[str, str], ...]
    imports: tuple[tuple[str, str, str], ...]
    strings: tuple[str, ...]
    parts: tuple[str, ...]


def closure(roots: Iterable[str]) -> dict[str, Path]:
    """Modules that ``roots`` use, with their files."""
    modules = sorted({module for module, _ in _closure(tuple(roots))})
    return {module: path for module in modules if (path := _file(module)) is not None}


def definitions(roots: Iterable[str]) -> dict[str, set[str]]:
    """Names that ``roots`` use, themselves included, by module. Only modules of this package and of the roots' packages
    are followed; for other packages their versions count."""
    found: dict[str, set[str]] = {}
    for (module, _), statement in _closure(tuple(roots)).items():
        found.setdefault(module, set()).update(statement.binds)
    return found


@lru_cache
def _closure(roots: tuple[str, ...]) -> dict[tuple[str, int], _Statement]:
    """Statements by module and number."""
    tops = {"bankside", *(re.split("[.:]", root)[0] for root in roots)}
    found: dict[tuple[str, int], _Statement] = {}
    waiting = []
    for root in roots:
        module, _, name = root.partition(":")
        places = _defining(module, name or "*", ())
        if not places:
            raise ConfigError(f"{root}: no source that defines it")
        waiting += places
    while waiting:
        module, number = waiting.pop()
        if (module, number) in found or module in PLUMBING:
            continue
        statement = found[module, number] = _statements(module)[number]
        waiting += _always_run(module)
        local = {bound: (source, name) for bound, source, name in statement.imports}
        for name, attribute in statement.refers:
            own = [] if name in local else _binders(module).get(name, [])
            waiting += own
            for source, what in [local[name]] if name in local else [] if own else _imports(module).get(name, []):
                if source.split(".")[0] in tops:
                    waiting += _used(source, what, attribute)
    return found


def _used(module: str, name: str, attribute: str) -> list[tuple[str, int]]:
    """Statements behind an imported name of which only ``attribute`` is used, if it is a module."""
    if name != "*" and _file(f"{module}.{name}") is not None and not _defining(module, name, (), submodules=False):
        module, name = f"{module}.{name}", "*"
    if name == "*" and attribute:
        return _defining(module, attribute, ()) or _defining(module, "*", ())
    return _defining(module, name, ())


def _defining(module: str, name: str, seen: tuple[str, ...], submodules: bool = True) -> list[tuple[str, int]]:
    """Statements that bind ``name`` where it is defined, as (module, number); all of the module for ``*``."""
    if _file(module) is None or module in seen:
        return []
    if name == "*":
        return [(module, k) for k in range(len(_statements(module)))]
    own = _binders(module).get(name)
    if own:
        return own
    for source, original in _imports(module).get(name, []):
        found = _defining(source, original, (*seen, module))
        if found:
            return found
    return _defining(f"{module}.{name}", "*", ()) if submodules else []


@lru_cache(maxsize=4096)
def _binders(module: str) -> dict[str, list[tuple[str, int]]]:
    """Statements of a module by the names that they bind."""
    found: dict[str, list[tuple[str, int]]] = {}
    for number, statement in enumerate(_statements(module)):
        for name in statement.binds:
            found.setdefault(name, []).append((module, number))
    return found


@lru_cache(maxsize=4096)
def _always_run(module: str) -> list[tuple[str, int]]:
    return [(module, number) for number, statement in enumerate(_statements(module)) if statement.always]


@lru_cache(maxsize=4096)
def _imports(module: str) -> dict[str, list[tuple[str, str]]]:
    """Imports at the top level of a module, by bound name."""
    found: dict[str, list[tuple[str, str]]] = {}
    for statement in _statements(module):
        for bound, source, name in statement.imports if not statement.binds or statement.always else ():
            found.setdefault(bound, []).append((source, name))
    return found


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
    return tuple(Path(place) for place in (spec.submodule_search_locations or ())) if spec else ()


@lru_cache(maxsize=4096)
def _statements(module: str) -> tuple[_Statement, ...]:
    path = _file(module)
    assert path is not None
    kept, stamp = _cache()["modules"], [module, *_stamp(path)]
    entry = kept.get(str(path))
    if entry is None or entry[0] != stamp:
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        entry = kept[str(path)] = [stamp, [_read(node, package) for node in _body(path)]]
        _cache()["changed"] = True
    return tuple(
        _Statement(
            digest,
            tuple(binds),
            always,
            tuple((name, attribute) for name, attribute in refers),
            tuple((bound, source, name) for bound, source, name in imports),
            tuple(strings),
            tuple(parts),
        )
        for digest, binds, always, refers, imports, strings, parts in entry[1]
    )


def _body(path: Path) -> list[ast.stmt]:
    """Statements of a source that do something: no docstring, and nothing for type checkers only."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise ConfigError(f"{path}: can't be read as Python: {error}") from None
    left_out = _docstring(tree)
    return [node for node in tree.body if node is not left_out and not _for_checkers(node)]


def _read(node: ast.stmt, package: str) -> list[Any]:
    """Properties of a statement, as the values of :class:`_Statement`."""
    imports, strings, parts = set(), set(), set()
    refers: set[tuple[str, str]] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Import):
            imports |= {(each.asname or each.name.split(".")[0], each.name, "*") for each in one.names}
        elif isinstance(one, ast.ImportFrom):
            base = package.rsplit(".", one.level - 1)[0] if one.level > 1 else package
            module = ".".join(filter(None, (base if one.level else "", one.module)))
            imports |= {(each.asname or each.name, module, each.name) for each in one.names}
        elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            refers.add((one.value.id, one.attr))
            continue
        elif isinstance(one, ast.Name):
            refers.add((one.id, ""))
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and _NAME.fullmatch(one.value):
            strings.add(one.value)
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "part" and one.args:
            first = one.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                parts.add(first.value)
        waiting += _children(one)
    return [
        _hash(_plain(node)),
        _binds(node),
        _always(node),
        sorted(refers),
        sorted(imports),
        sorted(strings),
        sorted(parts),
    ]


def _children(node: ast.AST) -> list[ast.AST]:
    return [
        inner
        for name, value in _fields(node)
        for inner in (value if isinstance(value, list) else [value])
        if isinstance(inner, ast.AST) and not _for_checkers(inner)
    ]


def _fields(node: ast.AST) -> list[tuple[str, Any]]:
    """Fields of a node, without fields for people and type checkers only."""
    if isinstance(node, ast.Raise):  # the kind of error, without its words
        return [("exc", node.exc.func if isinstance(node.exc, ast.Call) else node.exc)]
    left_out = _docstring(node)
    kept = [(name, value) for name, value in ast.iter_fields(node) if not _annotation(node, name)]
    return [
        (name, [one for one in value if one is not left_out and not _description(one)])
        if isinstance(value, list)
        else (name, value)
        for name, value in kept
    ]


def _description(node: Any) -> bool:
    """Whether it is a keyword that describes a key to people."""
    return isinstance(node, ast.keyword) and node.arg == "description"


def _binds(node: ast.stmt) -> list[str]:
    """Names that a statement defines at its own level; none for an import."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return []
    inner = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    stored = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return sorted(stored | {one.name for one in inner})


#: Decorators that only change the decorated object.
_PURE = {
    "cache",
    "contextmanager",
    "dataclass",
    "kept",
    "lru_cache",
    "njit",
    "runtime_checkable",
    "total_ordering",
    "unique",
}


def _always(node: ast.stmt) -> bool:
    """Whether a statement may do something beside binding names: it counts whenever its module does."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        heads = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
        return any(getattr(head, "attr", getattr(head, "id", "")) not in _PURE for head in heads)
    if isinstance(node, ast.Assign):
        return not all(isinstance(one, ast.Name | ast.Tuple) for one in node.targets)
    return not isinstance(node, ast.Import | ast.ImportFrom | ast.AnnAssign)


def _annotation(node: ast.AST, field: str) -> bool:
    """Types of arguments and results: they do nothing."""
    return field == "returns" or field == "annotation" and isinstance(node, ast.arg)


def _for_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in (
        getattr(node.test, "id", ""),
        getattr(node.test, "attr", ""),
    )


def _docstring(node: ast.AST) -> ast.stmt | None:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return None
    first = node.body[0]
    return (
        first
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
        else None
    )


def _plain(node: Any) -> Any:
    """A syntax tree as plain data without places. Empty fields are left out, because versions of Python differ in
    them."""
    if isinstance(node, ast.AST):
        fields: list[Any] = [type(node).__name__]
        for name, value in _fields(node):
            if name in ("ctx", "kind", "type_comment") or value is None or value == []:
                continue
            if name == "value" and isinstance(node, ast.Constant):
                fields.append(repr(value))
            elif isinstance(
                value, list
            ):  # an empty piece of text in a string with values is there in some versions only
                kept = [
                    one for one in value if not (isinstance(node, ast.JoinedStr) and getattr(one, "value", None) == "")
                ]
                fields.append([name, [_plain(one) for one in kept]])
            else:
                fields.append([name, _plain(value)])
        return fields
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
        # Checkouts that are gone would make the file larger for ever.
        kept["modules"] = {path: entry for path, entry in kept["modules"].items() if os.path.exists(path)}
        with contextlib.suppress(ConfigError):  # a folder that can't be written costs time only
            write_files(cache_folder(), {"sources.json": json.dumps(kept)})
