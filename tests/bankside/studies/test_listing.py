"""`bankside list`: the text is kept until a file of the package changes, and is never another than what is there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bankside.constraints.core.registry import UNITS
from bankside.studies import listing


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "list"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small folder in the package's place."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "a.yaml").write_text("a")
    monkeypatch.setattr(listing, "_PACKAGE", folder)
    return folder


@pytest.fixture
def made(monkeypatch):
    """Texts that are made, in turn."""
    texts = iter(["first", "second", "third"])
    monkeypatch.setattr(listing, "_made", lambda: next(texts))


def test_everything_is_in_the_list():
    text = listing._made()
    for unit in UNITS.values():
        assert f"\n  {unit.name:<16} {unit.summary}" in text and f"presets: {', '.join(unit.presets)}" in text
    for name in ("pam-hbm-only", "hbm3-5.2", "llama-3-70b", "sharegpt", "generic", "aim"):
        assert f"\n  {name} " in text or f"\n  {name}\n" in text


def test_the_text_is_kept_until_a_file_changes(cache, package, made):
    assert [listing.listing(), listing.listing()] == ["first", "first"] and len(list(cache.iterdir())) == 1
    os.utime(package / "a.yaml", ns=(1, 1))
    assert [listing.listing(), listing.listing()] == ["second", "second"]
    (package / "new.py").write_text("")
    assert listing.listing() == "third" and len(list(cache.iterdir())) == 1


def test_records_and_compiled_files_change_nothing(cache, package, made):
    listing.listing()
    for name in ("measured", "__pycache__"):
        (package / name).mkdir()
        (package / name / "b").write_text("")
    assert listing.listing() == "first"


def test_with_units_of_others_nothing_is_kept(cache, package, made, monkeypatch):
    monkeypatch.setattr(listing, "others", lambda: True)
    assert [listing.listing(), listing.listing()] == ["first", "second"] and not cache.exists()


def test_a_cache_that_cannot_be_written(cache, package, made):
    cache.parent.write_text("a file")
    assert [listing.listing(), listing.listing()] == ["first", "second"]


def test_a_kept_list_reads_no_unit(cache):
    """Nothing heavy is imported the second time."""
    program = (
        "import sys; from bankside.shell.cli import main; main(['list'])\n"
        "print([m for m in ('numpy', 'pydantic', 'bankside.constraints.core.registry') if m in sys.modules], file=sys.stderr)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout == listing._made() + "\n"
    assert "registry" in runs[0].stderr and runs[1].stderr == "[]\n"
