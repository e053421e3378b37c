"""Files appear whole or not at all, and two processes take turns."""

import gzip
import multiprocessing
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.workspace import (
    LIMIT,
    cache_folder,
    environment,
    is_locked,
    locked,
    read_bytes,
    reading,
    tools_cache,
    write_files,
    writing,
)


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


def test_environment_is_restored(monkeypatch, tmp_path):
    monkeypatch.setenv("BANKSIDE_A", "1")
    monkeypatch.delenv("BANKSIDE_B", raising=False)
    with pytest.raises(KeyError), environment({"BANKSIDE_A": "2", "BANKSIDE_B": "3", "HOME": None}):
        assert os.environ["BANKSIDE_A"] == "2" and os.environ["BANKSIDE_B"] == "3" and os.environ["HOME"]
        raise KeyError
    assert os.environ["BANKSIDE_A"] == "1" and "BANKSIDE_B" not in os.environ
    monkeypatch.delenv("BANKSIDE_CACHE", raising=False)
    assert tools_cache() is None
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path))
    assert tools_cache() == str(tmp_path / "tools")


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
    assert str(caught.value).startswith(f"can't write to {tmp_path / 'file' / 'folder'}") and "\n" not in str(
        caught.value
    )


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


def test_a_held_lock_is_seen(tmp_path):
    path = tmp_path / "lock"
    assert not is_locked(path)
    with locked(path):
        assert is_locked(path)
    assert not is_locked(path)


# Reading -----------------------------------------------------------------------------------------------------------------


def test_only_regular_files_are_read(tmp_path):
    """A device has no end, a FIFO may never begin."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path, kind in ((tmp_path / "fifo", "a FIFO"), (tmp_path / "link", "a device"), ("/dev/zero", "a device")):
        with pytest.raises(ConfigError, match=f"^{path}: a trace is a regular file, this is {kind}$"):
            read_bytes(path, "a trace", 100)
    with pytest.raises(ConfigError, match=f"^{tmp_path}: is a directory$"):
        read_bytes(tmp_path, "a trace", 100)
    with pytest.raises(ConfigError, match="is no name of a file$"):
        read_bytes("a\0b", "a trace", 100)
    with pytest.raises(ConfigError, match="^/none: no such file or directory$"):
        read_bytes("/none", "a trace", 100)


def test_the_bound_of_a_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1000)
    assert read_bytes(path, "a trace", 1000) == b"x" * 1000
    message = rf"a trace has at most 999 bytes, this has 1000 \(--max-file-mib or \${LIMIT} raises the bound\)$"
    with pytest.raises(ConfigError, match=message):
        read_bytes(path, "a trace", 999)
    monkeypatch.setenv(LIMIT, "1")
    assert len(read_bytes(path, "a trace", 999)) == 1000
    for wrong in ("0", "-1", "x", "1.5", "9" * 30):
        monkeypatch.setenv(LIMIT, wrong)
        with pytest.raises(ConfigError, match=f"^{LIMIT} must be a number of MiB of at least 1, not '{wrong}'$"):
            read_bytes(path, "a trace", 999)


def test_compressed_files(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b"text"))
    with reading(path, "a trace", compressed=True) as file:
        assert file.read() == b"text"
    path.write_bytes(gzip.compress(b"text" * 100)[:-9])
    with pytest.raises(ConfigError, match="not a whole gzip file"), reading(path, "a trace", compressed=True) as file:
        file.read()


# Links, devices and FIFOs ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["write_files", "writing"])
def write(request):
    def pieces(path, data):
        with writing(path) as file:
            file.write(data)

    return pieces if request.param == "writing" else lambda path, data: write_files(path.parent, {path.name: data})


def test_a_link_stays_and_its_target_is_written(write, tmp_path):
    target, link, other = tmp_path / "there" / "target", tmp_path / "link", tmp_path / "other"
    target.parent.mkdir()
    link.symlink_to(target)
    other.symlink_to(link)
    for data in (b"one", b"two"):  # the target is made, then replaced
        write(other, data)
        assert other.is_symlink() and link.is_symlink() and target.read_bytes() == data
    assert {path.name for path in tmp_path.rglob("*")} == {"there", "target", "link", "other"}


def test_a_device_stays_a_device(write, tmp_path):
    before = os.stat("/dev/null")
    write(Path("/dev/null"), b"gone")
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    write(link, b"gone")
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode) and (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)
    with pytest.raises(ConfigError, match="no space left on device$"):
        write(Path("/dev/full"), b"x" * 100_000)


def test_a_fifo_gets_a_stream(write, tmp_path):
    path, got = tmp_path / "fifo", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    write(path, b"x" * 200_000)
    reader.join()
    assert got == [b"x" * 200_000] and stat.S_ISFIFO(path.stat().st_mode)


def test_a_folder_is_not_written(write, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="is a directory$"):
        write(tmp_path / "folder", b"x")
