"""Pages, help texts, docstrings and messages read at once: the part of the rule that a program can check."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="not a checkout")

spec = importlib.util.spec_from_file_location("english", ROOT / "tools" / "english.py")
english = importlib.util.module_from_spec(spec)
sys.modules["english"] = english
if (ROOT / "tools" / "english.py").exists():
    spec.loader.exec_module(english)

FOLDERS = ("bankside", "gen", "models", "cosim", "constraints", "tools")
#: The docstring is the head of generic.lib, whose digest is part of every synthesis record.
KEPT = {ROOT / "constraints" / "libraries" / "make_generic.py"}
FILES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))),
]


def test_all_files_are_looked_at():
    names = {path.relative_to(ROOT).as_posix() for path in FILES}
    assert {"README.md", "docs/cli.md", "bankside/shell/cli.py", "gen/pam/pu.py", "models/memory/engine.py"} <= names
    assert len(names) > 250


@pytest.mark.essential
@pytest.mark.parametrize("folder", ["README.md", "docs", *FOLDERS])
def test_sentences(folder):
    looked_at = [path for path in FILES if path.relative_to(ROOT).parts[0] == folder and path not in KEPT]
    faults = [
        f"{path.relative_to(ROOT)}:{line}: {fault}: {sentence}"
        for path in looked_at
        for line, fault, sentence in english.check(path)
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "text, found",
    [
        ("The unit reads a row. It then writes one.", []),
        ("A value of " + "many " * 23 + "words.", ["27 words"]),
        ("Short; " + "but a semicolon does not end a sentence, " * 4 + "so it is long.", ["37 words"]),
        ("The clock is that of the memory.", ["'that of'"]),
        ("The table says what is missing.", ["'what is'"]),
        ("The channel is told the row.", ["'is told'"]),
        ("Of two commands the first issues.", ["'Of'"]),
        ("- Of two\n- commands", ["'Of'"]),
        ("| of | a cell with those of others |\n|---|---|", ["'those of'"]),
        ("`bankside sim that of` is one word, e.g. here. And `a b c` too.", []),
        ("```text\nwhat is that of\n```\n", []),
        ("<!-- table x -->\nwhat is that of\n<!-- end -->\n", []),
        ("A link [whose text has those of others](page.md#what-is).", ["'those of'"]),
        ("## What is checked", ["'What is'"]),
    ],
)
def test_faults_of_a_page(text, found):
    faults = [fault for _, fault, _ in english.faults(english.paragraphs(text))]
    assert len(faults) == len(found) and all(
        fault.startswith(start) for fault, start in zip(faults, found, strict=True)
    )


def test_faults_of_a_file(tmp_path):
    path = tmp_path / "a.py"
    path.write_text('''"""The file.

    what is shown as code::

        that of

    Parameters
    ----------
    a : int
        What is it.
    """


def f(a):
    """Of nothing."""
    parser.add_argument("a", help=f"the key {a} is told")
    other("what is this")
    raise ValueError("a " + "that of")
''')
    assert [(line, fault.split(":")[0]) for line, fault, _ in english.check(path)] == [
        (3, "'what is'"),
        (10, "'What is'"),
        (15, "'Of'"),
        (16, "'is told'"),
        (18, "'that of'"),
    ]
