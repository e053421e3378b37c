"""The cache folder: its size is that of its files, and pruning removes what nobody uses and nothing else."""

from __future__ import annotations

import os
import time

import pytest

from bankside.constraints.core.workspace import locked


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder with two models, a text of Verilog, a run, a record and a digest; all used 40 days ago."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("BANKSIDE_CACHE", str(folder))
    monkeypatch.delenv("BANKSIDE_RECORDS", raising=False)
    for name, size in (
        ("models/a-1/bench", 1000),
        ("models/a-1/a.v", 24),
        ("models/a-1.lock", 0),
        ("models/b-2/bench", 10),
        ("models/b-2.lock", 0),
        ("verilog/a.json", 500),
        ("runs/run-1/log", 7),
        ("records/a.json", 300),
        ("sources.json", 5),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    age(folder, 40)
    return folder


def age(folder, days):
    when = time.time() - days * 86400
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (when, when))


def left(folder):
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"
    )


def test_a_command_leaves_the_environment_as_it_was(cli, cache):
    """What its tools keep goes into the cache folder, what another command's tools keep does not."""
    before = dict(os.environ)
    assert cli("cache").code == 0 and dict(os.environ) == before


def test_sizes_are_those_of_the_files(cli, cache):
    found = cli("cache", "--json").json
    parts = {part["part"]: part for part in found["parts"]}
    assert found["folder"] == str(cache) and found["size_bytes"] == 1000 + 24 + 10 + 500 + 7 + 300
    assert (parts["models"]["entries"], parts["models"]["size_bytes"]) == (2, 1034)
    assert parts["models"]["days_since_use"] == 40 and parts["formal"]["days_since_use"] is None
    text = cli("cache").out
    assert str(cache) in text and "last used 40 days ago" in text and "formal" not in text


def test_what_nobody_used_is_removed(cli, cache):
    os.utime(cache / "models" / "b-2" / "bench")  # it ran today
    found = cli("cache", "--prune", "30", "--json").json
    assert (found["removed_entries"], found["removed_bytes"]) == (3, 1024 + 500 + 7)
    assert left(cache) == ["models/b-2/bench", "records/a.json", "sources.json"]


def test_younger_things_stay(cli, cache):
    before = left(cache)
    assert "removed 0 entries" in cli("cache", "--prune", "41").out and left(cache) == before
    age(cache, 0)
    assert "removed 0 entries" in cli("cache", "--prune", "0").out and left(cache) == before


def test_a_long_simulation_stays(cli, cache):
    age(cache, 0.9)
    cli("cache", "--prune", "0")
    assert left(cache) == ["records/a.json", "runs/run-1/log", "sources.json"]


def test_what_a_process_builds_stays(cli, cache):
    with locked(cache / "models" / "a-1.lock"):
        cli("cache", "--prune", "1")
        assert "models/a-1/bench" in left(cache) and "models/b-2/bench" not in left(cache)


def test_a_link_is_removed_and_not_what_it_leads_to(cli, cache, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("words")
    (cache / "models" / "link").symlink_to(tmp_path / "mine")
    when = time.time() - 40 * 86400
    os.utime(cache / "models" / "link", (when, when), follow_symlinks=False)
    cli("cache", "--prune", "1")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "words" and not (cache / "models" / "link").is_symlink()


def test_no_cache_is_an_empty_one(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path / "nowhere"))
    assert cli("cache", "--json").json["size_bytes"] == 0
    assert cli("cache", "--prune", "0").code == 0 and not (tmp_path / "nowhere").exists()
    cli("cache", "--prune", "soon").failed(2, "must be a number of at least 0, not 'soon'")
