"""The documentation site: every page has a place, links lead somewhere, and the build is complete and self-contained."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from tools.site import pages
from tools.site.api import Module, api_navigation, api_pages, modules
from tools.site.github import links, python_markdown, relink
from tools.site.notebook import page_of
from tools.site.rst import docstring, markdown, one_line

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CONFIG = ROOT / "mkdocs.yml"
LOCK = ROOT / "requirements-docs.lock"

pytestmark = pytest.mark.skipif(not CONFIG.is_file(), reason="not a checkout")


def existing():
    pages = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    return ["README.md", *(path.relative_to(ROOT).as_posix() for path in sorted(pages))]


# ---- Navigation ---------------------------------------------------------------------------------------------------------


def test_every_page_is_in_the_navigation_once():
    places = [
        place
        for section in pages.navigation(existing(), ROOT)
        for entries in section.values()
        for entry in entries
        for place in entry.values()
    ]
    assert sorted(places) == sorted(pages.place(page, ROOT) for page in existing())
    assert len(set(places)) == len(places)


def test_no_section_is_empty():
    assert all(entries for section in pages.navigation(existing(), ROOT) for entries in section.values())


def test_page_in_no_section():
    with pytest.raises(ValueError, match=r"^every page must be in a section of tools/site/pages\.py: docs/lost\.md$"):
        pages.navigation([*existing(), "docs/lost.md"], ROOT)


def test_page_in_two_sections(monkeypatch):
    monkeypatch.setitem(pages.SECTIONS, "More", {"docs/cli.md": "Again"})
    with pytest.raises(ValueError, match=r"^a page must be in one section, not in several: docs/cli\.md$"):
        pages.navigation(existing(), ROOT)


@pytest.mark.parametrize(
    "path, place",
    [
        ("README.md", "index.md"),
        ("docs/index.md", "contents.md"),
        ("docs/cli.md", "cli.md"),
        ("docs/diagrams/pam-pu.svg", "diagrams/pam-pu.svg"),
        ("cosim/bench/request.py", "files/cosim/bench/request.py.md"),
        ("LICENSE", "files/LICENSE.md"),
        ("gen", None),
        ("docs-of-nothing/lost.py", "files/docs-of-nothing/lost.py.md"),
    ],
)
def test_place_of_a_file(path, place):
    assert pages.place(path, ROOT) == place


def test_files_that_no_page_can_show(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "long").write_text("x" * 200_000)
    assert pages.place("binary", tmp_path) is None and pages.place("long", tmp_path) is None


# ---- Markdown -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page, text, expected",
    [
        ("docs/cli.md", "[a](memory.md#quirks)", "[a](memory.md#quirks)"),
        ("docs/cli.md", "[a](#eval)", "[a](#eval)"),
        ("docs/cli.md", "[a](https://example.org/x.md)", "[a](https://example.org/x.md)"),
        ("docs/cli.md", "[all](index.md), [home](../README.md)", "[all](contents.md), [home](index.md)"),
        ("docs/cli.md", "[`Part`](../cosim/bench/request.py)", "[`Part`](files/cosim/bench/request.py.md)"),
        ("docs/cli.md", "[the generators](../gen/) are here", "the generators are here"),
        ("docs/cli.md", '[a](../README.md "Title")', '[a](index.md "Title")'),
        ("docs/cli.md", "`[a](../README.md)` ``[`](../gen)``", "`[a](../README.md)` ``[`](../gen)``"),
        ("docs/cli.md", "```\n[a](../README.md)\n```\n[b](../README.md)", "```\n[a](../README.md)\n```\n[b](index.md)"),
        ("docs/more/page.md", "[a](../cli.md) [b](../../README.md)", "[a](../cli.md) [b](../index.md)"),
        (
            "README.md",
            "[a](docs/cli.md#pages) [b](docs/index.md) [c](LICENSE)",
            "[a](cli.md#pages) [b](contents.md) [c](files/LICENSE.md)",
        ),
        ("README.md", "![loop](docs/loop.svg)", "![loop](loop.svg)"),
        ("README.md", "[![loop](docs/loop.svg)](docs/cosim.md)", "[![loop](loop.svg)](cosim.md)"),
    ],
)
def test_links_are_rewritten(page, text, expected):
    assert relink(text, page, lambda path: pages.place(path, ROOT)) == expected


def test_files_that_a_page_links_to():
    text = "[a](../gen/arith) [b](#x) [c](https://example.org) `[d](e.md)` ![f](g.svg) [h](i.md#j)"
    assert list(links(text, "docs/page.md")) == ["gen/arith", "docs/g.svg", "docs/i.md"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("- a\n  - b\n    - c\n- d", "- a\n    - b\n        - c\n- d"),
        ("1. a\n   - b\n\n   more", "1. a\n    - b\n\n    more"),
        ("text:\n- a\n- b", "text:\n\n- a\n- b"),
        ("- a\n  goes on\nlazily\n  - b", "- a\n    goes on\n    lazily\n    - b"),
        ("- a\n\n  text\n- b", "- a\n\n    text\n\n- b"),
        ("- a\n\ntext\n  - b", "- a\n\ntext\n\n- b"),
        ("- a\n  ```\n  - no item\n\n    x\n  ```\n- b", "- a\n    ```\n    - no item\n\n      x\n    ```\n- b"),
        ("```\n- a\n  - b\n```", "```\n- a\n  - b\n```"),
        ("    - code\n      - code", "    - code\n      - code"),
        ("**a** is\n*b* c", "**a** is\n*b* c"),
        (r"| `a\|b` \| | c |", r"| `a|b` \| | c |"),
        (r"`a\|b`", r"`a\|b`"),
    ],
)
def test_markdown_of_github(text, expected):
    assert python_markdown(text) == expected + "\n"


def test_page_of_a_notebook():
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "b"]},
        {
            "cell_type": "code",
            "source": ["x"],
            "outputs": [
                {"output_type": "stream", "text": ["1\n", "2\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["3"]}},
                {
                    "output_type": "execute_result",
                    "data": {"text/plain": "4", "text/html": "<style>a</style>\n<table>\n</table>"},
                },
                {"output_type": "display_data", "data": {"text/plain": "5", "image/png": "AAE="}},
            ],
        },
    ]
    text, pictures = page_of(json.dumps({"cells": cells}), "n")
    assert text == (
        "# A\nb\n\n```python\nx\n```\n\n```text\n1\n2\n```\n\n```text\n3\n```\n\n<table></table>\n\n"
        "![Output of the code above](n-1.png)\n"
    )
    assert pictures == {"n-1.png": b"\0\1"}


# ---- API ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def package():
    found = modules(ROOT / "bankside")
    assert dict(api_pages(found))  # reads every module
    return found


def test_every_module_with_exports_has_a_page(package):
    """Those behind links too."""
    listed = {module.page for module in package.walk() if module.has_page}
    folders = [ROOT / "bankside", *(ROOT / "bankside" / part for part in ("constraints", "gen", "models", "cosim"))]
    with_exports = {path for folder in folders for path in folder.rglob("*.py") if "\n__all__ = " in path.read_text()}
    expected = set()
    for path in with_exports:
        stem = path.relative_to(ROOT).with_suffix("").as_posix()
        expected.add(f"api/{stem.removesuffix('__init__')}{'index' if stem.endswith('__init__') else ''}.md")
    assert expected <= listed
    assert all(page.endswith("/index.md") for page in listed - expected), "only packages of pages have no names"


def test_every_page_of_the_api_is_in_the_navigation(package):
    def pages_of(entry):
        inner = entry.values() if isinstance(entry, dict) else entry
        return [entry] if isinstance(entry, str) else [page for part in inner for page in pages_of(part)]

    assert sorted(pages_of(api_navigation(package))) == sorted(m.page for m in package.walk() if m.has_page)


def test_page_of_a_package(tmp_path):
    files = {
        "__init__.py": "from . import plain\nfrom .inner import f as g, h\n__all__ = ['g', 'h', 'k', 'plain']\n",
        "inner/__init__.py": "'''Inner.'''\nfrom .deep import f\n__all__ = ['f']\n",
        "inner/deep.py": "__all__ = ['f']\ndef f():\n    '''First | :class:`~a.B`\n    line.\n\n    Second.'''\n",
        "plain.py": "'''No names.'''\n",
        "_hidden.py": "__all__ = []\n",
    }
    for name, text in files.items():
        (tmp_path / "top" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "top" / name).write_text(text)
    top = modules(tmp_path / "top")
    found = dict(api_pages(top))
    assert list(found) == ["api/top/index.md", "api/top/inner/index.md", "api/top/inner/deep.md"]
    inner = ["api/top/inner/index.md", {"deep": "api/top/inner/deep.md"}]
    assert api_navigation(top) == ["api/top/index.md", {"inner": inner}]
    assert "::: top\n    options:\n      members: ['h', 'k']\n" in found["api/top/index.md"]
    assert "| [`g`][top.inner.deep.f] | First \\| `B` line. |\n| `plain` | No names. |\n" in found["api/top/index.md"]
    assert "| [`inner`](inner/index.md) | Inner. |" in found["api/top/index.md"]
    assert "members: false" in found["api/top/inner/index.md"]


def test_names_of_relative_imports(tmp_path):
    (tmp_path / "m.py").write_text("from ..x import y\nfrom . import z as w\nimport numpy\n")
    assert Module("a.b.m", tmp_path / "m.py").imported == {"y": ("a.x", "y"), "w": ("a.b", "z")}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("A :class:`~a.b.C` of :exc:`ValueError`", "A `C` of `ValueError`"),
        ("As in::\n\n    code", "As in:\n\n    code"),
        ("Text.\n\n::\n\n    code", "Text.\n\n\n    code"),
    ],
)
def test_roles_and_literal_blocks(text, expected):
    assert markdown(text) == expected


def test_roles_with_links():
    text = docstring(
        "See :func:`~.m.f` and :py:`f(x)`.\n\nReturns\n-------\n:class:`int`\n    As of :func:`f`.",
        lambda target, shown: f"[{shown}][{target}]",
    )
    assert text == "See [f][~.m.f] and `f(x)`.\n\nReturns\n-------\nint\n    As of [f][f]."


def test_sections():
    text = docstring(
        "First.\n\nMembers\n-------\ni : :py:`In(1)`\n    An ``x``.\n\n"
        "Returns\n-------\nA number\nof things.\n\n"
        "Notes\n-----\nNote.\n\nParameters\n----------\nAs in :func:`f`."
    )
    assert text == (
        "First.\n\n**Notes**\n\nNote.\n\n**Parameters**\n\nAs in `f`.\n\nAttributes\n----------\ni : In(1)\n"
        "    An ``x``.\n\nReturns\n-------\n :\n    A number\n    of things."
    )


def test_cell_of_a_table():
    assert one_line("a | :class:`B`\n``c | d``") == r"a \| `B` ``c | d``"


# ---- Set-up -------------------------------------------------------------------------------------------------------------


def test_configuration():
    config = yaml.safe_load(CONFIG.read_text())
    assert (ROOT / config["docs_dir"]).is_dir() and all((ROOT / hook).is_file() for hook in config["hooks"])
    theme = ROOT / config["theme"]["custom_dir"]
    assert all((theme / name).is_file() for name in config["extra_css"])
    assert config["theme"]["font"] is False and config["strict"] is True
    assert "site_url" not in config and "repo_url" not in config
    python = config["plugins"][1]["mkdocstrings"]["handlers"]["python"]
    assert all((ROOT / name).is_file() for name in python["options"]["extensions"] if "/" in name)
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert config["site_dir"].split("/")[0] + "/" in ignored and ".venv-docs/" in ignored


def test_packages_are_locked_apart():
    """The site's packages are in their own lock with hashes, and only there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock, other = LOCK.read_text(), (ROOT / "requirements.lock").read_text()
    for requirement in project["optional-dependencies"]["docs"]:
        name = re.match(r"[\w-]+", requirement)[0]
        assert re.search(rf"^{name}==\S+ \\\n    --hash=", lock, re.MULTILINE), name
    assert "mkdocs" not in other


def test_only_the_site_and_the_full_tests_install_the_packages(tmp_path):
    places = ("PYTHON=python3", f"VENV={tmp_path}/a", f"DOCS_VENV={tmp_path}/b")
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    def commands(*targets):
        done = subprocess.run(
            ["make", "-n", *targets, *places], cwd=ROOT, env=env, text=True, capture_output=True, check=True
        )
        return done.stdout.splitlines()

    setup = f'PYTHON="python3" sh tools/setup.sh "{tmp_path}/b" docs'
    assert setup in commands("docs") and setup in commands("test-full")
    assert not any(f"{tmp_path}/b" in line for line in commands("demo", "test"))


# ---- Build --------------------------------------------------------------------------------------------------------------


def test_site_builds_without_a_warning(tmp_path, package):
    """Nothing is left out, nothing is loaded from elsewhere, and the site does not say where it was built."""
    python = ROOT / os.environ.get("DOCS_VENV", ".venv-docs") / "bin" / "python"
    assert python.exists(), "the packages of the documentation site are not installed: make docs"
    site = tmp_path / "site"
    done = subprocess.run(
        [python, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", site],
        cwd=ROOT,
        text=True,
        capture_output=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")

    html = {path.relative_to(site).as_posix(): path.read_text() for path in site.rglob("*.html")}
    for page in existing():
        assert pages.place(page, ROOT).removesuffix(".md") + ".html" in html
    shown = re.findall(r'<img[^>]*src="([^"]*)', html["notebooks/memory.html"])
    assert shown and all((site / "notebooks" / name).is_file() for name in shown), "pictures of a notebook"
    for module in package.walk():
        if module.has_page:
            text = html[module.page.removesuffix(".md") + ".html"]
            assert not re.search(r":[a-z]+:(<code>|`)", text), f"{module.name}: a role is left"
            missing = [
                name for name in module.exports if f'id="{module.name}.{name}"' not in text and f">{name}<" not in text
            ]
            assert not missing, f"{module.name}: {missing}"
    for name, text in html.items():
        loaded = re.findall(r'<(?:script|img|iframe|source)[^>]*src="([^"]*)|<link[^>]*href="([^"]*)', text)
        assert not [address for found in loaded for address in found if re.match(r"\w+:|//", address)], name
    for path in site.rglob("*"):
        if path.suffix in (".html", ".json", ".xml", ".css", ".js"):
            text = path.read_text()
            assert str(ROOT) not in text and str(tmp_path) not in text, path
    assert "pam-pu.html" in (site / "search" / "search_index.json").read_text()
