"""Files for people who contribute: what they name is there."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
]

pytestmark = pytest.mark.skipif(not (ROOT / "CONTRIBUTING.md").is_file(), reason="not a checkout")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page):
    """Links to files, and paths in backquotes from the root of the repository."""
    text = page.read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    paths = re.findall(r"`((?:bankside|constraints|cosim|docs|gen|models|tests|tools)/[\w./-]+)`", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [path for path in paths if not (ROOT / path).exists() and "DESIGN" not in path]
    assert not missing and (links or page.name == "SECURITY.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_of_a_page(page):
    spec = importlib.util.spec_from_file_location("english", ROOT / "tools" / "english.py")
    english = importlib.util.module_from_spec(spec)
    sys.modules["english"] = english
    spec.loader.exec_module(english)
    assert list(english.check(page)) == []


def test_every_decision_is_listed():
    folder = ROOT / "docs" / "decisions"
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (folder / "index.md").read_text()))
    assert listed == {page.name for page in folder.glob("*.md")} - {"index.md"}


def test_help_lists_every_target():
    text = (ROOT / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split()
    done = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert sorted(line.split()[1] for line in done.stdout.splitlines()) == sorted(targets)
    assert all(len(line.split()) > 3 for line in done.stdout.splitlines())
    assert re.search(r"^([\w-]+):", text, re.MULTILINE)[1] == "demo"  # what `make` alone does


def test_hooks_fetch_nothing():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [one["repo"] for one in hooks] == ["local"]
    assert all(hook["language"] == "system" for one in hooks for hook in one["hooks"])


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="needs git")
@pytest.mark.parametrize(
    "path, generated",
    [
        ("rtl/pam-pu/pam-hbm/pam_pu.v", True),
        ("rtl/manifest.json", True),
        ("bankside/measured/x.json", True),
        ("gen/pam/pu.py", False),
        ("constraints/systems/nodes.yaml", False),
    ],
)
def test_generated_files_are_marked(path, generated):
    command = ["git", "check-attr", "linguist-generated", path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith(": set\n") == generated
