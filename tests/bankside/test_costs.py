"""The list of dear tests: every name is of a test, and what measurement adds to it."""

import ast
from pathlib import Path
from types import SimpleNamespace

from tests import costs

ROOT = Path(__file__).resolve().parents[2]


def test_every_name_is_of_a_test():
    """Of a function that is there, and once; parameter sets are seen where tests are collected."""
    names = costs.listed()
    functions = {}
    for file in {name.partition("::")[0] for name in names}:
        tree = ast.parse((ROOT / file).read_text())
        functions[file] = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for name in names:
        file, _, function = costs.function_of(name).partition("::")
        assert function in functions[file], f"{name}: take it out of {costs.LIST.name}"
        assert name == costs.function_of(name) or costs.function_of(name) not in names, f"{name} is there twice"


def test_what_measurement_adds():
    """Functions whose every parameter set is too dear, else sets; neither shared fixtures nor what is there already."""
    measured = [
        ("t.py::a[1]", 3.0),
        ("t.py::a[2]", 2.1),
        ("t.py::b[1]", 3.0),
        ("t.py::b[2]", 1.9),
        ("t.py::c", 9.0),
        ("t.py::d", 1.0),
        ("t.py::e[x]", 5.0),
        ("t.py::f[new]", 5.0),
        ("t.py::g (fixture)", 7.0),
    ]
    known = {"t.py::e", "t.py::f[old]"}
    assert costs.additions(measured, known) == {"t.py::a", "t.py::b[1]", "t.py::c", "t.py::f[new]"}


def test_report_of_costs():
    ledger = costs.Ledger(None)
    shared = [("tests/a/t.py::f (fixture)", 2.0)]
    for name, cost_s, placed in (
        ("tests/a/t.py::x", 3.0, False),
        ("tests/a/t.py::y", 1.0, False),
        ("tests/b/t.py::z", 9.0, True),
    ):
        for when in ("setup", "call", "teardown"):
            cost = {"test_s": cost_s / 3, "placed": placed, "fixtures": shared if when == "setup" else []}
            ledger.pytest_runtest_logreport(SimpleNamespace(nodeid=name, when=when, cost=cost))
    assert ledger.report() == [
        "cost: 19 processor seconds, 3 tests",
        "     10.0 s  tests/a",
        "      9.0 s  tests/b",
        "dearest:",
        "      9.0 s  tests/b/t.py::z",
        "      6.0 s  tests/a/t.py::f (fixture)",
        "      3.0 s  tests/a/t.py::x",
        "      1.0 s  tests/a/t.py::y",
        "above 2 processor seconds in the fast tier: 1 tests (see slow.txt)",
        "      3.0 s  tests/a/t.py::x",
    ]
