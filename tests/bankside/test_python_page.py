"""The page about Python and the notebooks show what the program does."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bankside as bs

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"
SECTIONS = re.findall(
    r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text() if PAGE.exists() else "", re.DOTALL | re.MULTILINE
)
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

pytestmark = pytest.mark.skipif(
    not PAGE.exists(), reason="docs/python.md is not there: a checkout has it, a package has not"
)


def cases():
    for title, text in SECTIONS:
        blocks = re.findall(r"^```pycon\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        if blocks:
            dear = any(".simulate(" in block for block in blocks)
            yield pytest.param("\n".join(blocks), id=title, marks=[pytest.mark.slow] if dear else [])


@pytest.mark.parametrize("code", [*cases()])
def test_examples_give_what_the_page_shows(code, tmp_path, monkeypatch):
    if "pandas" in code:
        pytest.importorskip("pandas")
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path))
    example = doctest.DocTestParser().get_doctest(code, {"bs": bs}, "python.md", None, 0)
    shown: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=shown.append)
    assert example.examples and not shown, "".join(shown)


def test_every_section_of_examples_is_tested():
    assert len([*cases()]) == 4 and PAGE.read_text().count("```pycon") == 5


@pytest.mark.slow
@pytest.mark.parametrize("name", [path.stem for path in NOTEBOOKS])
def test_notebooks_run_and_say_what_is_stored(name, tmp_path):
    """In a process of its own: a kernel leaves threads behind."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "notebooks.py", "--check", name],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_there_are_notebooks_and_each_was_run_to_its_end():
    import json

    assert {path.stem for path in NOTEBOOKS} == {"memory", "serving", "unit"}
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)], path.name
        pictures = [one for cell in code for one in cell["outputs"] if "image/png" in one.get("data", {})]
        assert pictures and not any(one["output_type"] == "error" for cell in code for one in cell["outputs"]), (
            path.name
        )
