"""Documentation of every object of the API reference, gathered from the source and translated into Markdown.

Beside docstrings, the comments of constants and the descriptions of configuration keys document an object.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from pathlib import Path
from typing import Any

import griffe

from tools.site.rst import docstring

#: Names of the function that describes a key of a configuration.
_KEYS = ("Field", "Key")

#: Labels that say in which object a value is kept. The reference leaves them out.
_LABELS = {"module-attribute", "class-attribute", "instance-attribute"}


class Docstrings(griffe.Extension):
    """Gives every object of a package its documentation in the markup of the site."""

    def on_module_members(self, *, node: Any, mod: griffe.Module, **_: Any) -> None:
        """Add names that are assigned together, as in ``ALL = A, B = 1, 2``."""
        for statement in node.body if isinstance(node, ast.Module) else []:
            for target in statement.targets if isinstance(statement, ast.Assign) else []:
                for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(name, ast.Name) and name.id not in mod.members:
                        mod.set_member(
                            name.id, griffe.Attribute(name.id, lineno=statement.lineno, endlineno=statement.end_lineno)
                        )

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        self._complete(pkg, loader)

    def _complete(self, obj: Any, loader: griffe.GriffeLoader) -> None:
        if obj.is_attribute:
            obj.labels -= _LABELS
            if not obj.docstring and obj.lineno and isinstance(obj.filepath, Path):
                _describe(obj, loader.lines_collection[obj.filepath])
        if obj.docstring:
            _translate(obj, loader)
        for member in obj.members.values():
            if not member.is_alias:
                self._complete(member, loader)
        if obj.is_class:
            _hide(obj)


def _describe(attribute: griffe.Attribute, source: list[str]) -> None:
    """Make a docstring of the comment ``#:`` above or behind a constant, or of the description of a key."""
    line = (attribute.lineno or 0) - 1
    first = line
    while first and source[first - 1].lstrip().startswith("#:"):
        first -= 1
    found = [comment.lstrip().removeprefix("#:").strip() for comment in source[first:line]]
    if not found and "#:" in source[line]:
        found = [source[line].split("#:", 1)[1].strip()]
    value = attribute.value
    if not found and isinstance(value, griffe.ExprCall) and str(value.function) in _KEYS:
        given = {part.name: part.value for part in value.arguments if isinstance(part, griffe.ExprKeyword)}
        attribute.value = given.get("default")
        with suppress(KeyError, ValueError, SyntaxError):  # without a description, or with one that is computed
            found = [ast.literal_eval(str(given["description"]))]
    if found:
        attribute.docstring = griffe.Docstring("\n".join(found), parent=attribute, parser=griffe.Parser.numpy)


def _translate(obj: Any, loader: griffe.GriffeLoader) -> None:
    """Put the docstring of an object into Markdown with links."""

    def link(target: str, shown: str) -> str:
        path = _path(obj, target.lstrip("~"), loader)
        return f'<autoref identifier="{path}" optional>`{shown}`</autoref>' if path else f"`{shown}`"

    has_members = "Members\n-------" in obj.docstring.value
    obj.docstring.value = docstring(obj.docstring.value, link)
    for section in obj.docstring.parsed if has_members else []:
        if section.kind is griffe.DocstringSectionKind.attributes:
            section.title = "Members:"


def _hide(cls: griffe.Class) -> None:
    """Leave out members without documentation that the class describes or that only a method assigns.

    Methods of protocols are left out too, unless they have documentation.
    """
    described = {
        item.name
        for section in (cls.docstring.parsed if cls.docstring else [])
        if section.kind is griffe.DocstringSectionKind.attributes
        for item in section.value
    }
    methods = [range(method.lineno or 0, (method.endlineno or 0) + 1) for method in cls.functions.values()]
    for name, member in cls.members.items():
        if member.is_alias or member.docstring or name == "__init__":
            continue
        assigned = member.is_attribute and any(member.lineno in method for method in methods)
        if assigned or name in described or name == "elaborate" or name.startswith("__"):
            member.public = False


def _path(obj: Any, target: str, loader: griffe.GriffeLoader) -> str | None:
    """Full path of the object that a role names, or None if the package has no such object."""
    if target.startswith("."):
        levels = len(target) - len(target.lstrip("."))
        parents = obj.module.path.split(".")
        above = levels - 1 if obj.module.is_init_module else levels
        path = ".".join([*parents[: len(parents) - above], target.lstrip(".")])
    else:
        first, _, rest = target.partition(".")
        path = target
        with suppress(griffe.NameResolutionError):
            path = ".".join(filter(None, [obj.resolve(first), rest]))
    try:
        found = loader.modules_collection[path].canonical_path
    except (KeyError, griffe.GriffeError):
        return None
    return found if found.partition(".")[0] == "bankside" else None
