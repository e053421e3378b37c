"""Units, systems and papers by entry point, from this package and every other installed package.

A package adds one with a line in its ``pyproject.toml``::

    [project.entry-points."bankside.units"]
    toy = "toy_package.contract:UNIT"

Groups are ``bankside.units``, ``bankside.systems`` and ``bankside.papers``. The reader of a group checks the object
that an entry names.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from importlib.metadata import EntryPoint, distribution, entry_points
from pathlib import Path
from typing import Any

__all__ = ["GROUPS", "Entries", "discover", "entries", "others"]

GROUPS = ("bankside.units", "bankside.systems", "bankside.papers")

_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def _own(group: str) -> dict[str, EntryPoint]:
    """Entry points of this package by name. In a checkout they are read from its ``pyproject.toml``: without an
    installation, and in an editable one a new line counts at once."""
    if group not in GROUPS:
        raise ValueError(f"Group must be one of {', '.join(GROUPS)}, not {group!r}")
    if _PROJECT.is_file():
        lines = tomllib.loads(_PROJECT.read_text())["project"].get("entry-points", {}).get(group, {})
        return {name: EntryPoint(name, value, group) for name, value in lines.items()}
    return {one.name: one for one in distribution("bankside").entry_points.select(group=group)}


def entries(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name, in alphabetical order, the only order that an installation keeps.

    If two entry points have the same name, the second
    is named on standard error and left out.
    """
    named = _own(group)
    others = (one for one in entry_points(group=group) if _package(one) != "bankside")
    for one in sorted(others, key=lambda one: one.name):
        first = named.setdefault(one.name, one)
        if first is not one:
            _skip(one, f"package '{_package(first)}' has a {_what(group)} of this name")
    return dict(sorted(named.items()))


def others() -> bool:
    """Whether a package other than this one has an entry point of these groups."""
    return any(_package(one) != "bankside" for group in GROUPS for one in entry_points(group=group))


def _what(group: str) -> str:
    return group.removeprefix("bankside.")[:-1]


def _skip(entry: EntryPoint, reason: str) -> None:
    print(
        f"bankside: skipped {_what(entry.group)} '{entry.name}' of package '{_package(entry)}' ({entry.value}): {reason}",
        file=sys.stderr,
    )


def _package(entry: EntryPoint) -> str:
    """Name of an entry point's distribution; this package for an entry point that was read from its project file."""
    return entry.dist.name if entry.dist is not None else "bankside"


class Entries(Mapping[str, Any]):
    """Objects of the entry points of a group by name, each imported when it is first asked for.

    Names alone import nothing of this package. An object of another package is imported before its name is listed. If
    that fails, or it has a problem, standard error names it and it is left out. All others work.
    """

    def __init__(self, group: str, kind: type | None, problem: Callable[[str, Any], str | None]) -> None:
        self._group, self._kind, self._problem = group, kind, problem
        self._own = _own(group)
        self._loaded: dict[str, Any] = {}

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        """Entry points of all packages. Their metadata takes as long to read as an import."""
        return entries(self._group)

    def own(self, name: str) -> bool:
        """Whether it is an entry point of this package."""
        return name in self._own

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            entry = self._own[name] if name in self._own else self._entries[name]
            try:
                self._loaded[name] = self._load(name, entry)
            except Exception as error:  # a module of another package may do anything
                if self.own(name):
                    raise
                _skip(entry, (str(error).splitlines() or [type(error).__name__])[0])
                del self._entries[name]
                raise KeyError(name) from None
        return self._loaded[name]

    def _load(self, name: str, entry: EntryPoint) -> Any:
        one, kind = entry.load(), self._kind
        if kind is not None and not (isinstance(one, type) and issubclass(one, kind) or isinstance(one, kind)):
            raise TypeError(f"must be a {kind.__name__}, not {type(one).__name__}")
        if isinstance(getattr(one, "name", None), str) and one.name != name:
            raise ValueError(f"its name is '{one.name}'")
        if found := self._problem(name, one):
            raise ValueError(found)
        return one

    def __contains__(self, name: object) -> bool:
        return name in self._own or (name in self._entries and self.get(str(name)) is not None)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in [*self._entries] if name in self])

    def __len__(self) -> int:
        return sum(1 for _ in self)


@lru_cache
def discover(
    group: str, kind: type | None = None, problem: Callable[[str, Any], str | None] = lambda name, one: None
) -> Entries:
    """Objects of the entry points of ``group`` by name, each an instance of ``kind`` (or a subclass, for a class)
    without a ``problem``."""
    return Entries(group, kind, problem)
