"""Digests of the basis of a measurement: the definitions that its sources use, and the data that they name.

Sources are read, never imported, so that looking up a record needs no Amaranth. Every name that a function or a class
uses is followed to the statement that defines it. This includes imports, inside functions too, and packages that
re-export a name. Statements count by their syntax tree: comments, line breaks, docstrings, types of arguments,
descriptions of keys and the words of errors change nothing. Other definitions of a module do not count, except
statements that do something when it is imported. A module that binds :data:`PLUMBING` does not count, but the contents
of the files that it reads do.

The module of a definition does not count either. The definitions that the roots reach are numbered in the order in
which they are met. In a syntax tree, a name of a module stands for the numbers of its definitions. A definition that
moves, with its data files and its imports, therefore leaves all digests as they are. A name that comes to mean another
definition changes them.
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
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.workspace import Input, cache_folder, note_input, noted_inputs, noting, write_files
from bankside.constraints.memory import available
from bankside.constraints.memory.memory import FOLDER, MemoryFile, layered

__all__ = ["PLUMBING", "definitions", "is_plumbing", "memory_digest", "named_parts", "note_sources", "sources_digest"]

#: A module binds this name if it decides no result: it reads, checks and writes files, or calls the compiler of simulated
#: models.
PLUMBING = "DECIDES_NO_RESULT"

#: Goes up when digests of the same sources change.
_FORMAT = 5

#: Strings that may name a data file or a memory.
_NAME = re.compile(r"[A-Za-z0-9][\w-]*[.-][\w.-]*\w")

#: Strings that may name a module, an object of a module (``module.object``, ``module:object``), or all of its objects.
_PATH = re.compile(r"(\w+(?:\.\w+)*)\.(\w+)(:\w*)?")

#: A statement: its module, and its number there.
_Place = tuple[str, int]


def sources_digest(roots: Iterable[str]) -> str:
    """Digest of the definitions that ``roots`` (``module:object`` or ``module``, in this order) use, and of the data
    files and memories that they name. It is the same on every machine, with every version of Python, and wherever the
    definitions stand.

    Raises
    ------
    :exc:`ConfigError`
        If a root has no source, or a source is no Python.
    """
    return _digest_of(tuple(roots))


@lru_cache
def _digest_of(roots: tuple[str, ...]) -> str:
    found = _closure(roots)
    numbers = {place: number for number, place in enumerate(found)}

    def numbered(ends: Iterable[_Place | str]) -> list[int | str]:
        return [end if isinstance(end, str) else numbers[end] for end in ends]

    parts: list[Any] = [[numbered(places) for places in _rooted(roots)]]
    for (module, number), statement in found.items():
        edges = [numbered(ends) for ends in _edges(module, number, _tops(roots))]
        parts.append([statement.digest, edges, _data(module, statement)])
    _keep()
    return _hash(parts)


def _data(module: str, statement: _Statement) -> list[list[str]]:
    """Memories and files that a statement names, with digests of their contents."""
    found = []
    for text in statement.strings:
        if text in _memories():
            found.append(["memory", text, memory_digest(text)])
        elif not text.endswith(".py") and (files := _named(module, text)):
            found.append(["file", text, *sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)])
    return found


def _named(module: str, name: str) -> list[Path]:
    """The file of a name beside a module; else all of that name in folders beside the module's, as far as the package
    reaches."""
    folder = Path(str(_file(module))).parent
    if (folder / name).is_file():
        return [folder / name]
    return [] if folder in _places(module.split(".")[0]) else _below(folder.parent).get(name, [])


@lru_cache(maxsize=256)
def _below(folder: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            found.setdefault(name, []).append(Path(place, name))
    return found


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
        Digest of its syntax tree, in which a name of the module is a number.
    binds : tuple of :class:`str`
        Names that it defines.
    always : :class:`bool`
        Whether it does something when the module is imported.
    refers : tuple of (name, attribute, module)
        Names of its module or, if there is one, of another module, in the order of the syntax tree. Each has the
        attribute if only that attribute is used, else an empty text.
    imports : tuple of (bound name, module, name)
        Its imports into the module.
    strings : tuple of :class:`str`
        Strings that may name data.
    parts : tuple of :class:`str`
        Units whose RTL it asks for.
    """

    digest: str
    binds: tuple[str, ...]
    always: bool
    refers: tuple[tuple[str, str, str], ...]
    imports: tuple[tuple[str, str, str], ...]
    strings: tuple[str, ...]
    parts: tuple[str, ...]


def definitions(roots: Iterable[str]) -> dict[str, set[str]]:
    """Names that ``roots`` use, themselves included, by module. Only modules of this package and of the roots' packages
    are followed; for other packages their versions count."""
    found: dict[str, set[str]] = {}
    for (module, _), statement in _closure(tuple(roots)).items():
        found.setdefault(module, set()).update(statement.binds)
    return found


def is_plumbing(module: str) -> bool:
    """Whether a module binds :data:`PLUMBING`."""
    return PLUMBING in _binders(module)


@lru_cache
def _closure(roots: tuple[str, ...]) -> dict[_Place, _Statement]:
    """Statements that ``roots`` use, in the order in which they are met."""
    order = list(dict.fromkeys(place for places in _rooted(roots) for place in places if not isinstance(place, str)))
    known = set(order)
    for place in order:  # which grows
        for end in (end for ends in _edges(*place, _tops(roots)) for end in ends):
            if not isinstance(end, str) and end not in known:
                known.add(end)
                order.append(end)
    return {(module, number): _statements(module)[number] for module, number in order}


def _tops(roots: Iterable[str]) -> frozenset[str]:
    """Packages whose names are followed."""
    return frozenset({"bankside", *(re.split("[.:]", root)[0] for root in roots)})


def _rooted(roots: Iterable[str]) -> list[list[_Place | str]]:
    """Statements of each root."""
    found = []
    for root in roots:
        module, _, name = root.partition(":")
        places = _defining(module, name or "*", ())
        if not places:
            raise ConfigError(f"{root}: no source that defines it")
        found.append(_counting(places))
    return found


def _counting(places: Iterable[_Place]) -> list[_Place | str]:
    """Statements that count, and the names of plumbing in their place. An import counts by its uses."""
    found: list[_Place | str] = []
    for module, number in places:
        statement = _statements(module)[number]
        if is_plumbing(module):
            found += statement.binds
        elif statement.binds or statement.always:
            found.append((module, number))
    return found


@lru_cache(maxsize=1 << 16)
def _edges(module: str, number: int, tops: frozenset[str]) -> tuple[tuple[_Place | str, ...], ...]:
    """For each name that a statement uses, the statements behind it, or a text for one that is not followed. The last are
    the statements that its module always runs."""
    refers = _statements(module)[number].refers
    return (*(tuple(_ends(module, *one, tops)) for one in refers), _always_run(module))


@lru_cache(maxsize=4096)
def _always_run(module: str) -> tuple[_Place | str, ...]:
    return tuple(_counting((module, k) for k, statement in enumerate(_statements(module)) if statement.always))


def _ends(module: str, name: str, attribute: str, source: str, tops: frozenset[str]) -> list[_Place | str]:
    """What a name of ``module`` stands for, or a name of ``source`` if that is not empty."""
    own = [] if source else _binders(module).get(name, [])
    found = _counting(own)
    for origin, what in [(source, name)] if source else _imports(module).get(name, []):
        places = _used(origin, what, attribute) if origin.split(".")[0] in tops else []
        found += _counting(places) if places else [f"{origin}:{what}"]
    if not found and not source:
        stars = (origin for origin, what in _imports(module).get("*", []) if origin.split(".")[0] in tops)
        found += _counting(next(filter(None, (_defining(origin, name, ()) for origin in stars)), []))
    return found or [name]


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
def _imports(module: str) -> dict[str, list[tuple[str, str]]]:
    """Imports at the top level of a module, by bound name."""
    found: dict[str, list[tuple[str, str]]] = {}
    for statement in _statements(module):
        for bound, source, name in statement.imports:
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
            tuple((name, attribute, source) for name, attribute, source in refers),
            tuple((bound, source, name) for bound, source, name in imports),
            tuple(strings),
            tuple(parts),
        )
        for digest, binds, always, refers, imports, strings, parts in entry[1]
    )


def _body(path: Path) -> list[ast.stmt]:
    """Statements of a source that do something: no docstring, and nothing for type checkers only. Imports for type
    checkers count in a module with ``__getattr__``, because it imports the same names when somebody asks for them."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise ConfigError(f"{path}: can't be read as Python: {error}") from None
    left_out = _docstring(tree)
    inner = [one for node in tree.body for one in (node, *(node.body if isinstance(node, ast.If) else ()))]
    lazy = any(isinstance(node, _FUNCTION) and node.name == "__getattr__" for node in inner)
    given = [one for node in tree.body if lazy and _for_checkers(node) for one in ast.iter_child_nodes(node)]
    return [
        *(node for node in tree.body if node is not left_out and not _for_checkers(node)),
        *(one for one in given if isinstance(one, ast.Import | ast.ImportFrom)),
    ]


def _read(node: ast.stmt, package: str) -> list[Any]:
    """Properties of a statement, as the values of :class:`_Statement`."""
    reader = _Reader(package)
    tree = reader.plain(node, ())
    bound = _bound([node], package)
    return [
        _hash(tree),
        sorted(name for name, origins in bound.items() if None in origins),
        _always(node),
        list(reader.refers),
        sorted((name, *origin) for name, origins in bound.items() for origin in origins if origin is not None),
        sorted(reader.strings),
        sorted(reader.parts),
    ]


#: Names that a scope binds: for each, the imports (module, name) that bind it, and None for everything else that does.
#: A name without any of these is the module's.
_Bound = dict[str, list[tuple[str, str] | None]]

#: Scopes around a node, outermost first, each with whether it is a class.
_Scopes = tuple[tuple[_Bound, bool], ...]

_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass
class _Reader:
    """Reads one statement.

    Attributes
    ----------
    package : :class:`str`
        Package of its module.
    names : dict
        Numbers of names (name, module), in the order of the syntax tree.
    refers, strings, parts
        As in :class:`_Statement`.
    first
        Scopes around the first loop of a comprehension, whose values are computed there.
    """

    package: str
    names: dict[tuple[str, str], int] = field(default_factory=dict)
    refers: dict[tuple[str, str, str], None] = field(default_factory=dict)
    strings: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    first: dict[int, _Scopes] = field(default_factory=dict)

    def plain(self, node: Any, scopes: _Scopes, attribute: str = "") -> Any:
        """A syntax tree as plain data without places. Empty fields are left out, because versions of Python differ in
        them."""
        if not isinstance(node, ast.AST):
            return ascii(node)
        kind = type(node).__name__
        if isinstance(node, ast.Name):
            return [kind, *self._name(node, scopes, attribute)]
        if isinstance(node, ast.Import | ast.ImportFrom):
            return [kind, [list(origin) for _, *origin in _imported(node, self.package) if not self._inside(origin[0])]]
        if (path := self._path(node)) is not None:
            return ["path", self._number(*path)]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _NAME.fullmatch(node.value):
            self.strings.add(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "part":
            first = [one.value for one in node.args[:1] if isinstance(one, ast.Constant)]
            self.parts |= {one for one in first if isinstance(one, str)}
        inner = scopes
        if isinstance(node, _FUNCTION | ast.ClassDef | ast.Lambda | _COMPREHENSION):
            # What is inside does not see the names of a class.
            inner = (*(scope for scope in scopes if not scope[1]), (self._scope(node), isinstance(node, ast.ClassDef)))
        if isinstance(node, _COMPREHENSION):
            self.first[id(node.generators[0])] = scopes
        fields: list[Any] = [kind]
        for name, value in _fields(node):
            if name in ("ctx", "kind", "type_comment") or value is None or value == []:
                continue
            around = inner if name == "body" or isinstance(node, _COMPREHENSION) else scopes
            if name == "iter":
                around = self.first.get(id(node), scopes)
            if isinstance(node, ast.Constant) and name == "value":
                fields.append(ascii(value))
            elif isinstance(value, list):
                fields.append([name, [self.plain(one, around) for one in value if self._counts(node, one)]])
            elif isinstance(node, ast.Attribute) and isinstance(value, ast.Name):
                fields.append([name, self.plain(value, around, node.attr)])
            else:
                fields.append([name, self.plain(value, around)])
        return fields

    def _scope(self, node: Any) -> _Bound:
        """Names that a function, a class or a comprehension binds inside."""
        if isinstance(node, _COMPREHENSION):
            return _bound([one.target for one in node.generators], self.package)
        body = node.body if isinstance(node.body, list) else [node.body]
        return _bound(body if isinstance(node, ast.ClassDef) else [node.args, *body], self.package)

    def _counts(self, node: ast.AST, one: Any) -> bool:
        """Whether an item of a node counts by itself. Imports of followed packages count by their uses. An empty piece
        of text in a string with values is there in some versions of Python only."""
        if isinstance(one, ast.Import | ast.ImportFrom):
            return not all(self._inside(module) for _, module, _ in _imported(one, self.package))
        return not (isinstance(node, ast.JoinedStr) and getattr(one, "value", None) == "") and not _for_checkers(one)

    def _inside(self, module: str) -> bool:
        return module.split(".")[0] in ("bankside", self.package.split(".")[0])

    def _name(self, node: ast.Name, scopes: _Scopes, attribute: str) -> list[Any]:
        """Numbers of a name that stands for something of a module, or its text if it is bound here."""
        bound, a_class = next((scope for scope in reversed(scopes) if node.id in scope[0]), ({}, False))
        origins = bound.get(node.id, [])
        numbers = [self._number(what, attribute, module) for module, what in filter(None, origins)]
        if not origins or a_class:  # before a class binds a name, the module's is used
            numbers.append(self._number(node.id, attribute, ""))
        here = None in origins or not isinstance(node.ctx, ast.Load)
        return [numbers, node.id] if here else [numbers]

    def _number(self, name: str, attribute: str, module: str) -> int:
        self.refers[name, attribute, module] = None
        return self.names.setdefault((name, module), len(self.names))

    def _path(self, node: ast.AST) -> tuple[str, str, str] | None:
        """What a text refers to that names a module of the package, or an object of a module; ``{__package__}`` may
        begin it."""
        text = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.JoinedStr) and len(node.values) == 2:
            first, last = (getattr(one, "value", None) for one in node.values)
            if isinstance(first, ast.Name) and first.id == "__package__":
                text = f"{self.package}{last}"
        found = _PATH.fullmatch(text) if isinstance(text, str) else None
        if found is None or not self._inside(found[1]):
            return None
        module, last, name = found.groups()
        return (last, "", module) if name is None else (name[1:] or "*", "", f"{module}.{last}")


def _bound(nodes: Iterable[ast.AST], package: str) -> _Bound:
    """Names that the scope of ``nodes`` binds."""
    found: _Bound = {}
    waiting, outside = list(nodes), set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Import | ast.ImportFrom):
            for name, module, what in _imported(one, package):
                found.setdefault(name, []).append((module, what))
            continue
        if isinstance(one, ast.Global):
            outside |= set(one.names)
        for name in _binding(one):
            found.setdefault(name, []).append(None)
        if isinstance(one, _COMPREHENSION):
            waiting += [inner.target for inner in ast.walk(one) if isinstance(inner, ast.NamedExpr)]
        elif not (isinstance(one, _FUNCTION | ast.ClassDef | ast.Lambda) or _for_checkers(one)):
            waiting += ast.iter_child_nodes(one)
    return {**found, **{name: [] for name in outside}}


def _binding(node: ast.AST) -> list[str]:
    """Names that a node itself binds, imports apart."""
    name: str | None = None
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        name = node.id
    elif isinstance(node, ast.arg):
        name = node.arg
    elif isinstance(node, _FUNCTION | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        name = node.name
    elif isinstance(node, ast.MatchMapping):
        name = node.rest
    return [] if name is None else [name]


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> list[tuple[str, str, str]]:
    """Names that an import binds, each with its module and its name there, ``*`` for the module itself."""
    if isinstance(node, ast.Import):
        return [(one.asname or one.name.split(".")[0], one.name, "*") for one in node.names]
    base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
    module = ".".join(filter(None, (base if node.level else "", node.module)))
    return [(one.asname or one.name, module, one.name) for one in node.names]


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


#: Decorators that only change the decorated object.
_PURE = {
    "cache",
    "compiled",
    "contextmanager",
    "dataclass",
    "intrinsic",
    "kept",
    "lru_cache",
    "njit",
    "operator",
    "runtime_checkable",
    "total_ordering",
    "unique",
}


def _always(node: ast.stmt) -> bool:
    """Whether a statement may do something beside binding names: it counts whenever its module does."""
    if isinstance(node, _FUNCTION | ast.ClassDef):
        heads = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
        return any(getattr(head, "attr", getattr(head, "id", "")) not in _PURE for head in heads)
    if isinstance(node, ast.Assign):
        return not all(isinstance(one, ast.Name | ast.Tuple) for one in node.targets)
    if isinstance(node, ast.If | ast.Try):  # a choice between definitions
        handlers = [one for handler in getattr(node, "handlers", []) for one in handler.body]
        return any(map(_always, [*node.body, *handlers, *node.orelse, *getattr(node, "finalbody", [])]))
    return not isinstance(node, ast.Import | ast.ImportFrom | ast.AnnAssign | ast.Raise | ast.Pass)


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
