"""No module or package imports, directly or through others, one that imports it, and packages use only floors below."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

Graph = dict[str, set[str]]

_SPEC = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
house = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(house)
FLOORS, imports, rooms = house.FLOORS, house.imports, house.rooms


def wrong_way(graph: Graph, package: str, floors: Sequence[Sequence[str]]) -> list[str]:
    """Imports from the same floor or from a floor above, and names that have no floor or are not there."""
    level = {name: number for number, floor in enumerate(floors) for name in floor}
    there = {name[len(package) + 1 :].split(".")[0] for name in graph if name.startswith(f"{package}.")}
    out = [f"{package}.{name} is on a floor but does not exist" for name in sorted(level.keys() - there - {"*"})]
    if "*" not in level:
        out += [f"{package}.{name} has no floor" for name in sorted(there - level.keys())]
    for (one, two), modules in sorted(rooms(graph, package).items()):
        mine, theirs = (level.get(name, level.get("*", -1)) for name in (one, two))
        if theirs >= mine >= 0 and (one in level or two in level):
            below = ", ".join(name for floor in floors[:mine] for name in floor) or "nothing"
            out += [f"{module}, but {package}.{one} may use only {below}" for module in modules]
    return out


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


@pytest.fixture(scope="module")
def graph() -> Graph:
    return imports(ROOT)


@pytest.mark.essential
def test_no_circle_of_imports(graph):
    assert len(graph) > 200 and "bankside.models.systems.system" in graph["bankside.models.systems"]
    assert not circles(graph), "; ".join(" - ".join(circle) for circle in circles(graph))


def test_no_circle_of_packages(graph):
    """In each package, the modules and packages that lie in it: a package imports what any module in it imports."""
    packages = {name.rpartition(".")[0] for name in graph} - {""}
    assert {"bankside", "bankside.models", "bankside.models.papers"} <= packages
    found = {package: _circles_of_rooms(graph, package) for package in sorted(packages)}
    assert not any(found.values()), "\n".join(line for lines in found.values() for line in lines)


def _circles_of_rooms(graph: Graph, package: str) -> list[str]:
    """The first import of each pair in a circle."""
    between = rooms(graph, package)
    names = {name for pair in between for name in pair}
    return [
        between[one, two][0]
        for circle in circles({name: {two for one, two in between if one == name} for name in names})
        for one, two in sorted(between)
        if one in circle and two in circle
    ]


@pytest.mark.parametrize("package", FLOORS)
def test_packages_import_only_from_floors_below(graph, package):
    assert not (wrong := wrong_way(graph, package, FLOORS[package])), "\n".join(wrong)


def test_imports_from_floors_above_are_named():
    graph = {
        "p.low.a": {"p.high.b"},
        "p.high.b": {"p.low.a", "p.beside.c"},
        "p.beside.c": {"p.low", "p"},
        "p.one": {"p.two", "p.high.b"},
        "p.two": {"p.one"},
    }
    floors = [["low"], ["beside", "high"]]
    assert wrong_way(graph, "p", [*floors, ["*"]]) == [
        "p.high.b imports p.beside.c, but p.high may use only low",
        "p.low.a imports p.high.b, but p.low may use only nothing",
    ]
    assert wrong_way(graph, "p", [["*"], *floors])[-1] == "p.one imports p.high.b, but p.one may use only nothing"
    assert wrong_way(graph, "p", [*floors, ["one", "gone"]])[:2] == [
        "p.gone is on a floor but does not exist",
        "p.two has no floor",
    ]


def test_circles_of_packages_are_found():
    """Two packages import each other, though no two modules do."""
    graph = {"p.a.x": {"p.b.x"}, "p.b.x": set(), "p.b.y": {"p.a.y"}, "p.a.y": set(), "p.c": {"p.a.x", "p.b.x"}}
    assert not circles(graph)
    assert _circles_of_rooms(graph, "p") == ["p.a.x imports p.b.x", "p.b.y imports p.a.y"]


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


def test_the_picture_of_the_house_shows_the_imports_of_today(graph):
    """`tools/house.py` draws it anew."""
    assert house.PICTURE.read_text() == house.picture(graph)


def test_an_implied_arrow_is_not_drawn():
    graph = {"p.a": {"p.b", "p.c"}, "p.b": {"p.c"}, "p.c": set()}
    assert house.arrows(graph, "p") == {("a", "b"), ("b", "c")}
