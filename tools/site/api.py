"""Pages of the API reference, made from the source.

Each module with ``__all__`` has a page, and so has each package that holds one. Nothing is imported.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .pages import API
from .rst import one_line

__all__ = ["Module", "api_navigation", "api_pages", "modules"]


@dataclass
class Module:
    """A module or a package.

    Attributes
    ----------
    name : :class:`str`
        Import name.
    file : :class:`Path`
        Source file.
    parts : list of :class:`Module`
        Public modules and packages in this package. Packages come first.
    """

    name: str
    file: Path
    parts: list[Module] = field(default_factory=list)

    @property
    def short(self) -> str:
        """Last part of the import name."""
        return self.name.rpartition(".")[2]

    @property
    def is_package(self) -> bool:
        return self.file.name == "__init__.py"

    @property
    def has_page(self) -> bool:
        return bool(self.exports) or any(part.has_page for part in self.parts)

    @property
    def page(self) -> str:
        """Source path of its page on the site."""
        path = "/".join([API, *self.name.split(".")])
        return f"{path}/index.md" if self.is_package else f"{path}.md"

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.file.read_text())

    @cached_property
    def exports(self) -> list[str]:
        """Names in ``__all__``."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return list(ast.literal_eval(node.value))
        return []

    @cached_property
    def imported(self) -> dict[str, tuple[str, str]]:
        """Module and name there of each name that a relative import brings."""
        package = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        found = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.level:
                module = ".".join([*package[: len(package) + 1 - node.level], *filter(None, [node.module])])
                found |= {name.asname or name.name: (module, name.name) for name in node.names}
        return found

    @cached_property
    def summary(self) -> str:
        """First paragraph of the module's docstring."""
        return _summary(self.tree)

    @cached_property
    def summaries(self) -> dict[str, str]:
        """First paragraph of the docstring of each class and function."""
        return {
            node.name: _summary(node) for node in self.tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)
        }

    def walk(self) -> Iterator[Module]:
        """The module, and the modules and packages in it."""
        yield self
        for part in self.parts:
            yield from part.walk()


def _summary(node: Any) -> str:
    return (ast.get_docstring(node) or "").split("\n\n")[0]


def modules(folder: Path, name: str = "") -> Module:
    """The package in a folder with its public modules and packages. Links to folders count as folders."""
    package = Module(name or folder.name, folder / "__init__.py")
    for path in sorted(folder.iterdir(), key=lambda path: (not path.is_dir(), path.name)):
        inner = f"{package.name}.{path.stem}"
        if (path / "__init__.py").is_file():
            package.parts.append(modules(path, inner))
        elif path.suffix == ".py" and not path.name.startswith("_"):
            package.parts.append(Module(inner, path))
    return package


def api_navigation(package: Module) -> list[Any]:
    """Page of a package, then the pages in it by name."""
    return [
        package.page,
        *(
            {part.short: api_navigation(part) if part.is_package else part.page}
            for part in package.parts
            if part.has_page
        ),
    ]


def api_pages(package: Module) -> Iterator[tuple[str, str]]:
    """Source path and text of each page."""
    known = {module.name: module for module in package.walk()}
    for module in known.values():
        if module.has_page:
            yield module.page, _page(module, known)


def _page(module: Module, known: dict[str, Module]) -> str:
    """Text of a page: the names that the module defines, then links to names from elsewhere and to its parts."""
    linked = {name: row for name in module.exports if (row := _row(module, name, known))}
    own = [name for name in module.exports if name not in linked]
    folder = posixpath.dirname(module.page)
    parts = [
        (f"[`{part.short}`]({posixpath.relpath(part.page, folder)})", part.summary)
        for part in module.parts
        if part.has_page
    ]
    return f"""\
---
title: {module.name}
search:
  boost: 0.2
---
# {module.name.replace(".", ".<wbr>")}

::: {module.name}
    options:
      members: {own or "false"}

{_table("Names", "name", list(linked.values()))}
{_table("Modules", "module", parts)}"""


def _row(module: Module, name: str, known: dict[str, Module]) -> tuple[str, str] | None:
    """Link to the documentation of a name that another module defines, with a summary; None if there is no other."""
    there = name
    while there in module.imported:
        where, there = module.imported[there]
        if part := known.get(f"{where}.{there}"):
            return f"[`{name}`][{part.name}]" if part.has_page else f"`{name}`", part.summary
        if where not in known:
            return None
        module = known[where]
        if there in module.exports and there not in module.imported:
            return f"[`{name}`][{where}.{there}]", module.summaries.get(there, "")
    return None


def _table(title: str, head: str, rows: list[tuple[str, str]]) -> str:
    """Section with a table, or nothing if it has no rows."""
    lines = [f"| {name} | {one_line(text)} |\n" for name, text in rows]
    return f"## {title}\n\n| {head} | meaning |\n|---|---|\n{''.join(lines)}" if rows else ""
