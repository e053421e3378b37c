"""Draw ``docs/house.svg``: the packages of Bankside on their floors, with the imports between them.

    .venv/bin/python tools/house.py

The picture is made from the imports in the source. An arrow that a chain of other arrows implies is left out.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "house.svg"

Graph = dict[str, set[str]]

#: Floors of a package, from the ground up. Each floor names modules or packages that lie in the package; they import only
#: from floors below theirs. ``*`` is everything that no floor names, taken as one.
FLOORS = {
    "bankside": [
        ["constraints", "measured", "rtl"],
        ["gen", "models"],
        ["cosim"],
        ["provenance"],
        ["results"],
        ["hardware"],
        ["evidence"],
        ["studies"],
        ["pages"],
        ["shell"],
        ["__main__", "api", "plugin"],
    ],
    "bankside.models": [
        ["cost", "llm", "program"],
        ["memory"],
        ["numerics"],
        ["sparse"],
        ["aim", "arith", "attacc", "inf2", "pam"],
        ["cent", "lolpim", "starc"],
        ["systems"],
        ["decode", "serving"],
        ["papers"],
    ],
}

#: The work of each room in a few words.
SAYS = {
    "constraints": "shared data with its schema",
    "gen": "generators (Amaranth)",
    "models": "functional, timing, systems",
    "cosim": "benches (Verilator)",
    "provenance": "digests, keys of every result",
    "hardware": "Verilog, synthesis, packages",
    "evidence": "measurements and records",
    "results": "results as types and text",
    "studies": "a module for each question",
    "pages": "HTML",
    "shell": "a module for each command",
    "api": "the face in Python",
    "plugin": "contracts for other packages",
}


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


def rooms(graph: Graph, package: str) -> dict[tuple[str, str], list[str]]:
    """Imports between the modules and packages that lie in a package, by their pair."""
    found: dict[tuple[str, str], list[str]] = {}
    for module, others in graph.items():
        for other in sorted(others):
            if module.startswith(f"{package}.") and other.startswith(f"{package}."):
                one, two = (name[len(package) + 1 :].split(".")[0] for name in (module, other))
                if one != two:
                    found.setdefault((one, two), []).append(f"{module} imports {other}")
    return found


def arrows(graph: Graph, package: str) -> set[tuple[str, str]]:
    """Pairs of rooms of which the first imports the second, without those that a chain of others implies."""
    pairs = set(rooms(graph, package))
    above = {one: {two for first, two in pairs if first == one} for one, _ in pairs}

    def reaches(one: str, two: str) -> bool:
        return any(next_ == two or reaches(next_, two) for next_ in above.get(one, ()))

    return {(one, two) for one, two in pairs if not any(reaches(other, two) for other in above[one] - {two})}


_WIDTH, _HEIGHT, _GAP, _STEP = 236, 74, 26, 112
_TEXT = 'font-family="sans-serif" text-anchor="middle"'


def picture(graph: Graph) -> str:
    """The picture as SVG."""
    floors = [[name for name in floor if name in SAYS] for floor in FLOORS["bankside"]]
    floors = [floor for floor in floors if floor]
    wide = max(len(floor) for floor in floors) * (_WIDTH + 3 * _GAP)
    high = len(floors) * _STEP + _GAP
    at = {
        name: (wide / 2 + (k - (len(floor) - 1) / 2) * (_WIDTH + 3 * _GAP), high - _STEP * (level + 1) + _HEIGHT / 2)
        for level, floor in enumerate(floors)
        for k, name in enumerate(floor)
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" role="img">',
        "<title>Packages of Bankside on their floors, and the imports between them</title>",
        f'<rect width="{wide:.0f}" height="{high:.0f}" fill="#fff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>',
    ]
    for one, two in sorted(arrows(graph, "bankside")):
        if one in at and two in at:
            (x0, y0), (x1, y1) = at[one], at[two]
            bend = 0 if abs(y1 - y0) <= _STEP + 1 else (_WIDTH / 2 + 3 * _GAP) * (1 if x0 >= x1 else -1)
            middle = (x0 + x1) / 2 + bend
            lines.append(
                f'<path d="M{x0 + bend / 2:.0f} {y0 + _HEIGHT / 2:.0f}Q{middle:.0f} {(y0 + y1) / 2:.0f} {x1 + bend / 3:.0f} '
                f'{y1 - _HEIGHT / 2:.0f}" fill="none" stroke="#666" marker-end="url(#tip)"/>'
            )
    for name, (x, y) in at.items():
        inside = sorted({m.split(".")[2] for m in graph if m.startswith(f"bankside.{name}.") and m.count(".") > 2})
        shown = ", ".join(inside) if name in ("constraints", "gen", "models", "cosim") else ""
        words = [SAYS[name], *_wrapped(shown, 44)]
        lines.append(
            f'<rect x="{x - _WIDTH / 2:.0f}" y="{y - _HEIGHT / 2:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" '
            f'fill="#f3f6fa" stroke="#345"/>'
        )
        lines.append(f'<text x="{x:.0f}" y="{y - 20:.0f}" {_TEXT} font-size="15" font-weight="bold">{name}</text>')
        lines += [
            f'<text x="{x:.0f}" y="{y - 4 + 12 * k:.0f}" {_TEXT} font-size="{11 if k == 0 else 9}">{text}</text>'
            for k, text in enumerate(words)
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _wrapped(text: str, width: int) -> list[str]:
    lines: list[str] = []
    for word in text.split(", ") if text else []:
        if lines and len(lines[-1]) + len(word) + 2 <= width:
            lines[-1] += f", {word}"
        else:
            lines.append(word)
    return lines


if __name__ == "__main__":
    PICTURE.write_text(picture(imports(ROOT)))
