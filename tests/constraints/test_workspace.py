"""Files appear whole or not at all, and two processes take turns."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from bankside.constraints.errors import ConfigError
from bankside.constraints.workspace import cache_folder, locked, write_files


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.delenv("BANKSIDE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "bankside"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "bankside"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BANKSIDE_CACHE", "relative")
    assert cache_folder() == tmp_path / "relative"


def test_write_files(tmp_path):
    folder = tmp_path / "new" / "folder"
    paths = write_files(folder, {"a.txt": "a\n", "sub/b.bin": b"\x00\xff"})
    assert paths == [folder / "a.txt", folder / "sub" / "b.bin"]
    assert paths[0].read_text() == "a\n" and paths[1].read_bytes() == b"\x00\xff"
    assert (paths[0].stat().st_mode & 0o777) == 0o644
    # Unchanged content keeps its date, changed content does not stay.
    os.utime(paths[0], (1, 1))
    os.utime(paths[1], (1, 1))
    write_files(folder, {"a.txt": "a\n", "sub/b.bin": b"x"})
    assert paths[0].stat().st_mtime == 1 and paths[1].read_bytes() == b"x"
    assert sorted(p.name for p in folder.rglob("*")) == ["a.txt", "b.bin", "sub"]


def test_nothing_is_put_in_place_before_all_is_ready(tmp_path):
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "taken").write_text("a file where a folder is needed")
    with pytest.raises(ConfigError, match=r"can't write to .*: .*: (not a directory|file exists)"):
        write_files(tmp_path, {"old.txt": "new", "taken/b.txt": "b"})
    assert (tmp_path / "old.txt").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old.txt", "taken"]  # no temporary file is left


def test_an_interruption_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, {"a.txt": "a"})
    assert list(tmp_path.iterdir()) == []


def test_folder_that_can_not_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as caught:
        write_files(tmp_path / "file" / "folder", {"a": "a"})
    assert str(caught.value).startswith(f"can't write to {tmp_path / 'file' / 'folder'}") and "\n" not in str(caught.value)


def _hold(path, events):
    with locked(Path(path)):
        events.put(("in", time.monotonic()))
        time.sleep(0.2)
        events.put(("out", time.monotonic()))


def test_lock_makes_the_second_wait(tmp_path):
    context = multiprocessing.get_context("fork")
    events = context.Queue()
    processes = [context.Process(target=_hold, args=(tmp_path / "deep" / "lock", events)) for _ in range(2)]
    for process in processes:
        process.start()
    seen = sorted((events.get(timeout=20) for _ in range(4)), key=lambda event: event[1])
    for process in processes:
        process.join(20)
    assert [what for what, _ in seen] == ["in", "out", "in", "out"]
    assert (tmp_path / "deep" / "lock").exists()
