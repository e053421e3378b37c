"""No module imports, directly or through others, one that imports it."""

from __future__ import annotations

import ast
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Graph = dict[str, set[str]]


def imports(root: Path) -> Graph:
    """What each module of the package imports of it, inside functions and for types too."""
    paths = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for folder, _, files in os.walk(root / "bankside", followlinks=True)
        for path in (Path(folder, name) for name in files)
        if path.suffix == ".py"
    }
    graph: Graph = {}
    for name, path in paths.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
                module = ".".join([*base, *([node.module] if node.module else [])])
                # A name of a package is one of its modules, or something that the package itself has.
                found |= {inner if (inner := f"{module}.{alias.name}") in paths else module for alias in node.names}
        graph[name] = {one for one in found if one in paths and one != name}
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Modules that reach each other, a list for each circle."""
    left, out = {name: set(others) for name, others in graph.items()}, []
    while free := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in free}
    while left:
        first = min(left)
        below, above = _reached(left, first), _reached(_reversed(left), first)
        circle = below & above
        if circle:
            out.append(sorted(circle))
        left = {name: others for name, others in left.items() if name not in circle | {first}}
    return out


def _reached(graph: Graph, first: str) -> set[str]:
    """Modules that ``first`` leads to, itself among them if it is in a circle."""
    found: set[str] = set()
    todo = [first]
    while todo:
        new = (graph.get(todo.pop(), set()) & graph.keys()) - found
        found |= new
        todo += new
    return found


def _reversed(graph: Graph) -> Graph:
    return {name: {other for other, others in graph.items() if name in others} for name in graph}


def test_no_circle_of_imports():
    graph = imports(ROOT)
    assert len(graph) > 200 and "bankside.models.systems.system" in graph["bankside.models.systems"]
    assert not circles(graph), "; ".join(" - ".join(circle) for circle in circles(graph))


def test_circles_are_found():
    """Two of them, one through a third module; what only leads to a circle or follows from one is in none."""
    assert circles({"a": {"b"}, "b": {"c", "x"}, "c": {"a"}, "d": {"a"}, "x": set(), "p": {"q"}, "q": {"p"}}) == [
        ["a", "b", "c"],
        ["p", "q"],
    ]
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


def test_imports_in_functions_and_for_types_count(tmp_path):
    part = tmp_path / "bankside" / "part"
    part.mkdir(parents=True)
    for folder in (part.parent, part):
        (folder / "__init__.py").write_text("")
    (part / "one.py").write_text("def f():\n    from . import two\n")
    (part / "two.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..part.one import f\n")
    assert circles(imports(tmp_path)) == [["bankside.part.one", "bankside.part.two"]]
