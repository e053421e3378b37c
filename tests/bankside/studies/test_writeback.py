"""``bankside writeback``: counted figures against the formulas, and every wrong input in one line."""

from __future__ import annotations

import os

import numpy as np
import pytest

from bankside.models.inf2.store import Geometry, KvStore
from bankside.studies import writeback


class Inline:
    """A pool that finishes each task at once."""

    def __init__(self, workers):
        self.done = []

    def submit(self, mark, task):
        self.done.append((mark, task(), None))

    def finished(self, wait):
        return self.done.pop(0) if self.done else None

    def close(self):
        pass


@pytest.mark.parametrize("interval, prefill, tokens", [(2, 0, 16), (2, 7, 17), (4, 0, 20), (8, 16, 5), (6, 3, 40)])
def test_figures_are_the_formulas_if_writes_end_before_the_next_step(monkeypatch, tmp_path, interval, prefill, tokens):
    monkeypatch.setattr(writeback, "ThreadPool", Inline)
    job = writeback.Job(requests=3, heads=5, prefill_tokens=prefill, tokens=tokens)
    sizes = writeback.geometry_of(
        job, head_dim=128, element_bytes=2, interval=interval, granularity_bytes=512, extent_tokens=None
    )
    result = writeback.writeback_result(job, str(tmp_path), sizes)
    model = result.model
    assert (result.spilled_bytes, result.sent_bytes) == (model.spilled_bytes, model.sent_bytes)
    assert result.host_bytes <= model.host_bytes == 2 * interval * 15 * 512
    assert result.mismatches == 0 and result.waits == 0
    assert result.written_bytes == result.spilled_bytes == (prefill + tokens) // interval * interval * 15 * 512
    assert result.left_bytes == (prefill + tokens) % interval * 15 * 512
    bulk = 2 * 15 if prefill >= interval else 0
    assert result.writes == bulk + 2 * 15 * ((prefill + tokens) // interval - prefill // interval)
    assert result.write_amplification == 1 + result.index_bytes / result.spilled_bytes
    assert os.listdir(tmp_path) == []


class Late(Inline):
    """A pool that finishes a task only when the store waits for it, as a slow drive does."""

    def finished(self, wait):
        return super().finished(wait) if wait else None


def test_a_slow_drive_sends_rows_again(monkeypatch, tmp_path):
    """Interval 2, two slots: when the third interval begins, the store waits, and both before it end. So four steps send
    one to four rows, then the next four. The text says so."""
    monkeypatch.setattr(writeback, "ThreadPool", Late)
    job = writeback.Job(requests=1, heads=1, tokens=12)
    sizes = writeback.geometry_of(
        job, head_dim=128, element_bytes=2, interval=2, granularity_bytes=512, extent_tokens=None
    )
    result = writeback.writeback_result(job, str(tmp_path), sizes)
    assert result.sent_bytes == 3 * (1 + 2 + 3 + 4) * 512 and result.model.sent_bytes == 6 * 3 * 512
    assert result.late_steps == 6 and result.waits and result.mismatches == 0
    line = next(line for line in writeback.writeback_text(result).splitlines() if line.startswith("of these, late"))
    told = line.removeprefix("of these, late").lstrip()
    assert told.startswith(f"{12 * 512} B, in 6 of 12 steps: the drive had not ended their write")
    monkeypatch.setattr(writeback, "ThreadPool", Inline)
    result = writeback.writeback_result(job, str(tmp_path), sizes)
    assert result.late_steps == 0 and "late" not in writeback.writeback_text(result)


def test_rows_that_only_wait_for_the_index_are_not_sent(monkeypatch, tmp_path):
    """Three arrays share a commit of the index: rows of the first stay in the buffer, yet their write has ended."""
    monkeypatch.setattr(writeback, "ThreadPool", Inline)
    geometry = Geometry(interval=2, extent_tokens=8, extents=3)
    with KvStore.create(str(tmp_path / "kv.spill"), geometry, pool=Inline(1), group=3) as store:
        rows = np.zeros((2, 2, 128), np.uint16)
        store.append(0, 0, rows)
        assert store.unwritten(0, 0) == 2  # under way
        store.poll()
        assert (store.unwritten(0, 0), store.released(0, 0), store.tokens(0, 0)) == (0, 0, 2)
        assert store.unwritten(7, 7) == 0


def test_the_host_buffer_is_as_full_as_the_formula_says(cli):
    """Threads; steps without a pause."""
    result = cli("writeback", "--requests", "2", "--heads", "2", "--tokens", "200", "--interval", "4", "--json").json
    assert result["host_bytes"] <= result["model"]["host_bytes"] == 2 * 4 * 4 * 512
    assert result["spilled_bytes"] == result["model"]["spilled_bytes"]
    assert result["sent_bytes"] >= result["model"]["sent_bytes"]
    assert result["mismatches"] == 0 and not os.listdir("out/writeback")


def test_a_file_is_kept_and_checked(cli):
    first = cli("writeback", "--tokens", "9", "--interval", "4", "--sync", "--keep", "--dir", "d")
    assert first.code == 0 and "rows that came back changed" in first.out and first.out.endswith("d/writeback.spill\n")
    checked = cli("writeback", "--check", "d/writeback.spill", "--json").json
    assert checked["rows"] == 32 * 8 and checked["arrays"][-1] == {"request": 3, "head": 7, "rows": 8}
    assert [one["kind"] for one in checked["inputs"]].count("spill file") == 1
    assert cli("writeback", "--check", "d/writeback.spill").out.splitlines() == [
        "d/writeback.spill: whole, every checksum is right",
        "  32 arrays, 256 rows of 128 x 2 B for keys and as many for values, 0 of 32 extents free",
    ]
    cli("writeback", "--dir", "d").failed(2, r"d/writeback.spill: exists; a new spill file needs a name of its own$")
    size = os.path.getsize("d/writeback.spill")
    os.truncate("d/writeback.spill", size - 1)
    cli("writeback", "--check", "d/writeback.spill").failed(
        2, rf"^bankside: d/writeback.spill: is cut: it has {size - 1} of {size} bytes$"
    )
    os.truncate("d/writeback.spill", 20)
    cli("writeback", "--check", "d/writeback.spill").failed(2, r"is cut: it ends in its header, after 20 bytes$")


@pytest.mark.parametrize(
    "words, message",
    [
        (("--interval", "0"), r"argument --interval: must be at least 1, not 0$"),
        (
            ("--interval", "1"),
            r"interval 1 x 256 B = 256 B is below the 512 B of a direct write; the smallest interval is 2$",
        ),
        (
            ("--interval", "3"),
            r"interval 3 x 256 B = 768 B is no multiple of the 512 B of a direct write; the interval must be "
            r"a multiple of 2, such as 2 or 4$",
        ),
        (
            ("--granularity", "4096"),
            r"interval 2 x 256 B = 512 B is below the 4096 B of a direct write; the smallest interval "
            r"is 16$",
        ),
        (("--granularity", "100"), r"granularity_bytes must be a power of two from 512 to 65536, not 100$"),
        (("--bytes", "3"), r"element_bytes must be 1, 2 or 4, not 3$"),
        (("--extent-tokens", "3"), r"extent_tokens must be a multiple of 2"),
        (("--tokens", "0"), r"argument --tokens: must be at least 1, not 0$"),
        (("--workers", "1000"), r"argument --workers: must be at most 256, not 1000$"),
        (("--dir", "file"), r"can't write file/writeback.spill: not a directory$"),
        (("--dir", "/proc/none"), r"can't write /proc/none/writeback.spill: no such file or directory$"),
        (("--check", "none"), r"none: no such file or directory$"),
        (("--check", "file"), r"file: is no spill file of Bankside$"),
        (("--check", "."), r"\.: a spill file is a regular file$"),
        (("--check", "file", "--tokens", "3"), r"--tokens describes work, which --check does not do$"),
    ],
)
def test_wrong_input_is_one_line(cli, place, words, message):
    (place / "file").write_text("text\n")
    cli("writeback", *words).failed(2, rf"^bankside: .*{message}")
    assert os.listdir() == ["file"]


def test_rows_that_come_back_changed_fail(cli, monkeypatch):
    read = KvStore.read

    def changed(self, request, head, start=0, stop=None):
        rows = read(self, request, head, start, stop).copy()
        if (request, head, start) == (1, 2, 0):
            rows[1, 3, 0] ^= 1
        return rows

    monkeypatch.setattr(KvStore, "read", changed)
    result = cli("writeback", "--tokens", "8", "--dir", "d", "--json")
    assert result.code == 1 and result.json["mismatches"] == 1
    assert result.err.splitlines()[-1] == "bankside: 1 rows came back changed" and os.listdir("d") == []


def test_a_failing_drive_is_one_line_and_leaves_no_file(cli, monkeypatch):
    from bankside.models.inf2.store import BlockFile

    def full(self, data, place):
        raise OSError(28, "No space left on device")

    create = KvStore.create

    def then_full(*arguments, **options):
        store = create(*arguments, **options)
        monkeypatch.setattr(BlockFile, "write", full)
        return store

    monkeypatch.setattr(KvStore, "create", then_full)
    cli("writeback", "--dir", "d").failed(
        2,
        r"d/writeback.spill: can't write: no space left on device; the rows stay in "
        r"the host buffer$",
        progress=True,
    )
    assert os.listdir("d") == []
