"""Errors that slow tests plant are still there to be planted: what each replaces stands in a generator."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from bankside import gen
from tests.planting import pattern, planted

HERE = Path(__file__).parent
SOURCES = [path.read_text() for folder in gen.__path__ for path in Path(folder).rglob("*.py")]


def texts(node):
    """Texts of a sequence of strings, or of `pytest.param`."""
    parts = getattr(node, "elts", getattr(node, "args", []))
    return [part.value if isinstance(part, ast.Constant) else None for part in parts]


def replaced(path):
    """What the tests of a file replace: the second argument of `planted`, and the values of a parameter `old`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name == "planted" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            yield node.args[1].value
        if name == "parametrize" and len(node.args) > 1:
            names = (
                [one.strip() for one in node.args[0].value.split(",")]
                if isinstance(node.args[0], ast.Constant)
                else texts(node.args[0])
            )
            if "old" in names:
                for row in node.args[1].elts:
                    yield row.value if isinstance(row, ast.Constant) else texts(row)[names.index("old")]


FILES = [
    path
    for path in sorted(HERE.rglob("test_*.py"))
    if "planted(" in path.read_text() and list(replaced(path)) and path != Path(__file__)
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_planted_errors_can_be_planted(path):
    found = list(replaced(path))
    assert None not in found
    lost = [old for old in found if old and not any(len(pattern(old).findall(source)) == 1 for source in SOURCES)]
    assert not lost, f"in no generator, or in several places of it: {lost}"


def test_what_is_replaced_is_found(tmp_path):
    path = tmp_path / "t.py"
    path.write_text(
        'planted(m, "a", "b")\n'
        '@pytest.mark.parametrize(("n", "old"), [("x", "c"), pytest.param("y", "d", id="")])\n'
        'def test(n, old): pass\n@pytest.mark.parametrize("old", ["e"])\ndef more(old): pass\n'
    )
    assert sorted(replaced(path)) == ["a", "c", "d", "e"]
    assert len(FILES) >= 6


def test_lines_may_be_broken_elsewhere(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def f(a, b):\n    return max(\n        a,\n        b,\n    )\n")
    spec = importlib.util.spec_from_file_location("module", path)
    module = importlib.util.module_from_spec(spec)
    assert planted(module, "    return max(a, b)\n", "    return min(a, b)\n").f(1, 2) == 1
    for text in ("a", "max(b"):  # in several places, and in none
        with pytest.raises(AssertionError, match=re.escape(text)):
            planted(module, text, "0")
