"""The spill store: every row comes back bit for bit, whatever is interleaved, and no kill loses a released row."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bankside.models.inf2.store import BlockFile, Geometry, KvStore, StoreError, ThreadPool, geometry
from tests.models.faulty_file import FaultyFile, Killed, ManualPool

#: 128 B a row, so 4 rows a granule; 45 extents have 3 blocks of the index.
SMALL = Geometry(head_dim=64, interval=4, extent_tokens=12, extents=45)


def rows_of(request, head, start, stop, dim=64):
    """Rows that depend on all of their place."""
    seed = np.array([request, head], np.uint32)
    place = np.arange(2 * (stop - start) * dim, dtype=np.uint64).reshape(2, stop - start, dim)
    place += np.uint64(start * dim) + (np.arange(2, dtype=np.uint64) << np.uint64(40))[:, None, None]
    place[1] -= np.uint64((stop - start) * dim)
    mixed = (place + np.uint64(seed[0] * 7919 + seed[1] * 104729 + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(33)) & np.uint64(0xFFFF)).astype(np.uint16)


def blank(g):
    file = FaultyFile(bytes(g.file_bytes), g.granularity_bytes)
    KvStore.format(file, g, 7)
    return bytes(file.data)


def test_made_up_rows_differ_and_can_be_cut():
    whole = rows_of(1, 2, 0, 40)
    assert np.array_equal(whole[:, 10:30], rows_of(1, 2, 10, 30))
    assert len(np.unique(whole.reshape(-1, 64), axis=0)) == 80
    assert not np.array_equal(whole, rows_of(2, 1, 0, 40))


# ---- Geometry -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes, message",
    [
        (
            {"interval": 1},
            r"^interval 1 x 256 B = 256 B is below the 512 B of a direct write; the smallest interval is 2$",
        ),
        (
            {"interval": 3},
            r"^interval 3 x 256 B = 768 B is no multiple of the 512 B of a direct write; the interval must be a "
            r"multiple of 2, such as 2 or 4$",
        ),
        ({"interval": 8, "granularity_bytes": 4096}, r"^interval 8 x 256 B = 2048 B is below the 4096 B .* is 16$"),
        ({"interval": 0}, r"^interval must be 1 to 1048576, not 0$"),
        ({"head_dim": 0}, r"^head_dim must be 1 to 65536, not 0$"),
        ({"element_bytes": 3}, r"^element_bytes must be 1, 2 or 4, not 3$"),
        ({"granularity_bytes": 768}, r"^granularity_bytes must be a power of two from 512 to 65536, not 768$"),
        (
            {"extent_tokens": 7},
            r"^extent_tokens must be a multiple of 2, so that every row lies in whole granules, not 7$",
        ),
        ({"extents": 0}, r"^extents must be 1 to 16777216, not 0$"),
        ({"extents": 1 << 24, "extent_tokens": 1 << 20}, r"make a file of more than 70368744177664 B$"),
    ],
)
def test_wrong_sizes(sizes, message):
    with pytest.raises(StoreError, match=message):
        Geometry(**sizes)


@pytest.mark.parametrize(
    "g",
    [
        Geometry(),
        SMALL,
        Geometry(head_dim=80, interval=16, extent_tokens=48, extents=3),
        Geometry(granularity_bytes=4096, interval=16, extents=500),
        Geometry(granularity_bytes=65536, interval=256, extents=5),
    ],
    ids=str,
)
def test_places_do_not_overlap_and_are_whole_granules(g):
    ends = [(0, geometry.HEADER_USED)]
    ends += [(g.block_place(b, c), g.granularity_bytes) for c in range(2) for b in range(g.index_blocks)]
    ends += [(g.place(e, k), g.array_bytes) for e in range(g.extents) for k in range(2)]
    for (place, size), (following, _) in zip(ends, [*ends[1:], (g.file_bytes, 0)], strict=True):
        assert place % g.granularity_bytes == 0 and place + size <= following
    assert ends[-1][0] + ends[-1][1] == g.file_bytes
    assert g.index_blocks * g.block_records >= g.extents > (g.index_blocks - 1) * g.block_records
    assert g.granule_rows * g.row_bytes % g.granularity_bytes == 0


# ---- Any interleaving ---------------------------------------------------------------------------------------------------


class Interleavings(RuleBasedStateMachine):
    """Appends, reads, spills, completions in any order, failing writes, kills; a model of plain arrays beside them."""

    @initialize(
        g=st.sampled_from(
            [
                SMALL,
                Geometry(head_dim=64, interval=8, extent_tokens=20, extents=30),
                Geometry(head_dim=80, interval=16, extent_tokens=16, extents=24),
                Geometry(head_dim=256, element_bytes=4, interval=1, extent_tokens=3, extents=60),
            ]
        ),
        sync=st.booleans(),
        slots=st.integers(1, 3),
        group=st.sampled_from([None, 1, 5]),
        seed=st.integers(0, 99),
    )
    def begin(self, g, sync, slots, group, seed):
        self.g, self.options = g, {"sync": sync, "slots": slots, "group": group, "ahead_bytes": 8192}
        self.rng = np.random.default_rng(seed)
        self.model, self.dropped = {}, 0
        self.open(blank(g))

    def open(self, content):
        self.file = FaultyFile(content, self.g.granularity_bytes)
        self.pool = ManualPool(self.rng)
        self.store = KvStore(self.file, pool=self.pool, **self.options)

    def call(self, function, *arguments):
        """Whether it was done; a kill is followed by opening what is left."""
        try:
            function(*arguments)
            return True
        except Killed:
            self.recover()
        except StoreError as error:
            assert "can't write" in str(error) or "can't confirm" in str(error)
        return False

    def recover(self):
        host = self.store.buffered()
        released = {key: self.store.released(*key) for key in self.store.keys()}
        self.open(self.file.image(self.options["sync"], self.rng))
        for key, count in released.items():
            held = self.store.tokens(*key)
            assert held >= count
            assert np.array_equal(self.store.read(*key), self.model[key][:, :held])
        self.store.check()
        self.store.resume(host)

    def rows(self, count):
        return self.rng.integers(0, 1 << 8 * self.g.element_bytes, (2, count, self.g.head_dim)).astype(self.g.dtype)

    @rule(request=st.integers(0, 2), head=st.integers(0, 1), count=st.integers(1, 20))
    def append(self, request, head, count):
        key, rows = (request, head), self.rows(count)
        g = self.g
        have = self.model.get(key, rows[:, :0])
        need = -(-(have.shape[1] + count) // g.extent_tokens) - -(-have.shape[1] // g.extent_tokens)
        if need > self.store.free_extents():
            with pytest.raises(StoreError, match="is full: request"):
                self.store.append(*key, rows)
        elif self.call(self.store.append, *key, rows):
            self.model[key] = np.concatenate([have, rows], 1)
            waiting = self.model[key].shape[1] - self.store.released(*key)
            assert waiting <= max(self.options["slots"] * g.interval, count + g.interval)

    @rule(number=st.integers(0, 99), first=st.floats(0, 1), last=st.floats(0, 1))
    def read(self, number, first, last):
        key = (sorted(self.model) or [(0, 0)])[number % max(len(self.model), 1)]
        rows = self.model.get(key, self.rows(0))
        start, stop = sorted((round(first * rows.shape[1]), round(last * rows.shape[1])))
        assert np.array_equal(self.store.read(*key, start, stop), rows[:, start:stop])

    @rule(request=st.sampled_from([None, 0, 1, 2]))
    def spill(self, request):
        self.call(self.store.spill, request)

    @rule(numbers=st.lists(st.integers(0, 99), min_size=1, max_size=6), told=st.booleans())
    def complete(self, numbers, told):
        def complete():
            for number in numbers[: len(self.pool.tasks)]:
                self.pool.run(number)
            if told:
                self.store.poll()

        self.call(complete)

    @rule()
    def drain(self):
        if self.call(self.store.drain):
            assert all(rows.shape[1] - self.store.released(*key) < self.g.interval for key, rows in self.model.items())

    @rule(request=st.integers(0, 2), really=st.sampled_from([False, False, True]))
    def drop(self, request, really):
        if not really:  # or there would be few rows
            return
        try:
            self.store.drop(request)
        except (Killed, StoreError) as error:
            if isinstance(error, Killed):  # part of the request may still be there, and is right
                mine = {key: rows for key, rows in self.model.items() if key[0] == request}
                host = {key: rows for key, rows in self.store.buffered().items() if key not in mine}
                self.open(self.file.image(self.options["sync"], self.rng))
                self.store.check()
                for key, rows in mine.items():
                    assert np.array_equal(self.store.read(*key), rows[:, : self.store.tokens(*key)])
                self.store.resume(host)
            self.file.faults.clear()
            self.store.drop(request)
        self.model = {key: rows for key, rows in self.model.items() if key[0] != request}

    @rule(
        after=st.integers(0, 6),
        kind=st.sampled_from(["kill", "kill", "short", "EIO", "ENOSPC"]),
        cut=st.sampled_from([0, 1, 300, 511, 512, 513, 1024, 9999]),
    )
    def fault(self, after, kind, cut):
        self.file.faults[self.file.calls + after] = kind, cut

    @rule()
    def kill(self):
        self.recover()

    @rule()
    def reopen(self):
        left = {}
        if self.call(lambda: left.update(self.store.close())):
            assert all(rows.shape[1] < self.g.interval for _, rows in left.values())
        elif self.store._closed:
            left = self.store.buffered()
        else:
            return  # it was killed, and is open again
        self.open(bytes(self.file.data))
        self.store.resume(left)

    @invariant()
    def everything_is_there(self):
        if not hasattr(self, "model"):
            return
        assert self.store.keys() == sorted(self.model)
        for key, rows in self.model.items():
            assert np.array_equal(self.store.read(*key), rows)
        held = sum(rows.shape[1] for _, rows in self.store.buffered().values())
        assert held == self.store._held and held * 2 * self.g.row_bytes <= self.store.statistics.host_bytes
        used = sum(-(-rows.shape[1] // self.g.extent_tokens) for rows in self.model.values())
        assert self.store.free_extents() == self.g.extents - used

    def teardown(self):
        if hasattr(self, "model"):
            self.file.faults.clear()
            left = self.store.close()
            self.open(bytes(self.file.data))
            self.store.check()
            self.store.resume(left)
            self.everything_is_there()


class TestInterleavings(Interleavings.TestCase):
    settings = settings(max_examples=80, stateful_step_count=30, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
class TestManyInterleavings(Interleavings.TestCase):
    settings = settings(max_examples=1500, stateful_step_count=60, suppress_health_check=list(HealthCheck))


# ---- Kills at every write -----------------------------------------------------------------------------------------------


def work(store, told):
    """Appends of all kinds, spills, a request that goes and one that takes its place. ``told`` gets every row that the
    store was given, and None for a request that it should forget."""

    def append(request, head, count):
        start = told.get((request, head), 0)
        store.append(request, head, rows_of(request, head, start, start + count))
        told[request, head] = start + count

    for request in range(2):
        for head in range(2):
            append(request, head, 13)
    for step in range(16):
        for request in range(2):
            for head in range(2):
                append(request, head, 1)
        if step == 6:
            store.spill()
    told.update({key: None for key in told if key[0] == 0})
    store.drop(0)
    for key in [key for key in told if key[0] == 0]:
        del told[key]
    for head in range(2):
        append(2, head, 30)
    store.drain()


def survives(power, number, cut, seed=1, **options):
    """Kill :func:`work` at a call. Returns whether the file then opened with every released row, and file and host buffer
    together had every row. None if the work ended before."""
    file = FaultyFile(blank(SMALL), 512, {number: ("kill", cut)})
    store = KvStore(file, pool=ManualPool(np.random.default_rng(seed)), **options)
    told = {}
    try:
        work(store, told)
        return None
    except Killed:
        pass
    image = FaultyFile(file.image(power, np.random.default_rng(number)), 512)
    released = {key: store.released(*key) for key in store.keys()}
    try:
        again = KvStore(image, pool=ManualPool(np.random.default_rng(0)))
        again.check()
        for key in {*again.keys(), *released}:
            held = again.tokens(*key)
            assert np.array_equal(again.read(*key), rows_of(*key, 0, held))
            assert told.get(key, 0) is None or held >= released.get(key, 0)
        again.resume({key: rows for key, rows in store.buffered().items() if told[key] is not None})
        for key, count in told.items():
            assert count is None or np.array_equal(again.read(*key), rows_of(*key, 0, count))
    except (StoreError, AssertionError, KeyError):
        return False
    return True


def sweep(power, cuts, **options):
    """Places (call, bytes) of kills at which something was lost, and the number of calls."""
    lost, number = [], 0
    while True:
        for cut in cuts:
            outcome = survives(power, number, cut, **options)
            if outcome is None:
                return lost, number
            if not outcome:
                lost.append((number, cut))
        number += 1


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("group", [None, 1])
def test_no_kill_of_the_process_loses_a_released_row(sync, group):
    """At every write and confirmation, with nothing, one byte, part of a sector, or all of the write on the drive."""
    lost, calls = sweep(False, (0, 1, 300, 511, 1 << 20), sync=sync, group=group)
    assert not lost and calls > 50


@pytest.mark.parametrize("seed", [1, 2])
def test_no_loss_of_power_loses_a_confirmed_row(seed):
    """Writes without confirmation are on the drive or not, sector by sector, whatever their order."""
    lost, calls = sweep(True, (0, 300, 1 << 20), sync=True, seed=seed)
    assert not lost and calls > 50


def test_rows_that_were_not_confirmed_can_be_lost():
    """The sweep finds what the option guards against."""
    lost, _ = sweep(True, (1 << 20,), sync=False)
    assert len(lost) > 10


@pytest.mark.parametrize(
    "error",
    [
        "released before the index is written",
        "released, the index a commit late",
        "named by the index before they are written",
        "written over released rows",
    ],
)
def test_planted_errors_lose_rows(monkeypatch, error):
    """The sweep finds each error of the order in which a row leaves the host buffer."""
    submit = ManualPool.submit

    def early(self, mark, task):
        """Tell that a task is done, and run it after the next of its kind."""
        if (mark is None) == ("named" in error):
            return submit(self, mark, task)
        self.late = [*getattr(self, "late", []), task]
        if "before the index" not in error and len(self.late) > 1:
            self.late.pop(0)()
        self.done.append((mark, 1, None))

    if "over" in error:
        monkeypatch.setattr(
            geometry.Geometry,
            "place",
            lambda self, extent, kind, row=0: (
                self.first_extent
                + extent * self.extent_bytes
                + kind * self.array_bytes
                + max(row - 4, 0) * self.row_bytes
            ),
        )
    else:
        monkeypatch.setattr(ManualPool, "submit", early)
    lost, _ = sweep(False, (1, 300, 1 << 20))
    assert lost


# ---- Failing drives -----------------------------------------------------------------------------------------------------


def small_store(faults=(), content=None, **options):
    file = FaultyFile(content or blank(SMALL), 512, faults)
    return KvStore(file, pool=ManualPool(np.random.default_rng(3)), **options), file


@pytest.mark.parametrize("kind, words", [("EIO", "input/output error|eio"), ("ENOSPC", "no space left|enospc")])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_failed_write_is_reported_and_done_again(kind, words, number):
    """Of the keys, of the values, of the index."""
    store, file = small_store({number: (kind, 100)})
    store.append(0, 0, rows_of(0, 0, 0, 4))
    with pytest.raises(StoreError, match=rf"^faulty: can't write: ({words}); the rows stay in the host buffer$"):
        store.drain()
    assert store.released(0, 0) == 0 and np.array_equal(store.read(0, 0), rows_of(0, 0, 0, 4))
    store.drain()
    assert store.released(0, 0) == 4 and store.statistics.failures == 1
    assert np.array_equal(KvStore(FaultyFile(file.data, 512)).read(0, 0), rows_of(0, 0, 0, 4))


def test_an_append_that_must_wait_for_a_failing_drive_adds_nothing():
    store, _ = small_store({number: ("EIO", 0) for number in range(40)}, slots=1)
    store.append(0, 0, rows_of(0, 0, 0, 4))
    with pytest.raises(StoreError, match=r"^faulty: can't write: "):
        store.append(0, 0, rows_of(0, 0, 4, 5))
    assert store.tokens(0, 0) == 4
    store.file.faults.clear()
    store.append(0, 0, rows_of(0, 0, 4, 5))
    assert np.array_equal(store.read(0, 0), rows_of(0, 0, 0, 5)) and store.statistics.waits == 2


@pytest.mark.parametrize("number", [2, 4])
def test_a_failed_confirmation_writes_everything_again(number):
    """Of the rows, of the index: the drive may have lost what it had taken before."""
    store, file = small_store({number: ("EIO", 0)}, sync=True)
    store.append(0, 0, rows_of(0, 0, 0, 4))
    with pytest.raises(StoreError, match=r"^faulty: can't confirm a write: "):
        store.drain()
    store.drain()
    again = KvStore(FaultyFile(file.durable, 512))
    assert np.array_equal(again.read(0, 0), rows_of(0, 0, 0, 4)) and store.statistics.writes == 4


def test_a_write_under_way_during_a_failed_confirmation_is_done_again():
    store, file = small_store({2: ("EIO", 0)}, sync=True, group=1, slots=4)
    pool = store._pool
    store.append(0, 0, rows_of(0, 0, 0, 4))
    pool.run(0)
    store.poll()  # the commit waits in the pool
    store.append(0, 0, rows_of(0, 0, 4, 8))
    assert [mark is None for mark, _ in pool.tasks] == [True, False]
    pool.run(0)  # fails
    store.poll()
    assert store._arrays[0, 0].segments[1].again
    writes = store.statistics.writes
    store.drain()
    assert store.statistics.writes == writes + 4  # of both intervals
    again = KvStore(FaultyFile(file.durable, 512))
    assert np.array_equal(again.read(0, 0), rows_of(0, 0, 0, 8))


def test_a_write_finished_during_a_failed_confirmation_is_done_again():
    store, file = small_store({4: ("EIO", 0)}, sync=True, group=1, slots=4)
    pool = store._pool
    store.append(0, 0, rows_of(0, 0, 0, 4))
    pool.run(0)
    store.poll()  # the commit waits in the pool
    store.append(0, 0, rows_of(0, 0, 4, 8))
    pool.run(1)
    store.poll()
    pool.run(0)  # fails
    writes = store.statistics.writes
    store.drain()
    assert store.released(0, 0) == 8 and store.statistics.writes == writes + 4
    assert np.array_equal(KvStore(FaultyFile(file.durable, 512)).read(0, 0), rows_of(0, 0, 0, 8))


def test_a_drop_that_failed_halfway_is_made_good_by_the_next_commit():
    """Of two blocks of the index, the first says that the request is gone."""
    store, file = small_store()
    store.append(0, 0, rows_of(0, 0, 0, 300))  # extents of two blocks
    store.drain()
    file.faults[file.calls + 1] = "EIO", 0
    with pytest.raises(StoreError, match="can't write"):
        store.drop(0)
    store.append(1, 0, rows_of(1, 0, 0, 12))  # an extent of the second block
    store.drain()
    again = KvStore(FaultyFile(file.data, 512))
    assert np.array_equal(again.read(0, 0), rows_of(0, 0, 0, 300)) and again.tokens(1, 0) == 12


@pytest.mark.parametrize("cut", [0, 1, 511, 512, 700])
def test_short_writes_go_on(cut):
    store, file = small_store({number: ("short", cut) for number in range(0, 12, 2)})
    store.append(0, 0, rows_of(0, 0, 0, 12))
    store.drain()
    assert np.array_equal(KvStore(FaultyFile(file.data, 512)).read(0, 0), rows_of(0, 0, 0, 12))


def test_a_drive_that_never_takes_a_granule():
    store, _ = small_store({number: ("short", 100) for number in range(100)})
    store.append(0, 0, rows_of(0, 0, 0, 4))
    with pytest.raises(StoreError, match="can't write: the drive takes no whole granule"):
        store.drain()


# ---- Requests that are refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda s: s.append(0, 0, rows_of(0, 0, 0, 12 * 45 + 1)),
            r"^faulty: is full: request 0, head 0 needs 46 extents of 12 "
            r"tokens, and 45 of 45 are free$",
        ),
        (lambda s: s.reserve(1, 0, 12 * 45 + 1), r"is full: request 1, head 0 needs 46 extents"),
        (
            lambda s: s.append(0, 0, np.zeros((2, 1, 63), np.uint16)),
            r"^rows must be 2 x tokens x 64 elements of 2 B, not uint16\[2, 1, 63\]$",
        ),
        (lambda s: s.append(0, 0, np.zeros((2, 1, 64), np.uint32)), r"not uint32\[2, 1, 64\]$"),
        (lambda s: s.append(0, 0, [1]), r"not list$"),
        (lambda s: s.append(-1, 0, rows_of(0, 0, 0, 1)), r"^request must be 0 to 4294967294, not -1$"),
        (lambda s: s.append(0, 1 << 32, rows_of(0, 0, 0, 1)), r"^head must be 0 to 4294967294, not 4294967296$"),
        (lambda s: s.read(0, 0, 0, 1), r"^rows 0 to 1 of request 0, head 0 do not exist: it has 0$"),
        (
            lambda s: s.resume({(0, 0): (4, rows_of(0, 0, 4, 5))}),
            r"^faulty: rows 0 to 4 of request 0, head 0 are neither in "
            r"the file nor in the host buffer$",
        ),
    ],
)
def test_refused_requests_change_nothing(call, message):
    store, _ = small_store()
    with pytest.raises(StoreError, match=message):
        call(store)
    assert store.keys() == [] and store.free_extents() == 45


def test_a_buffer_of_other_rows_is_refused():
    store, file = small_store()
    store.append(0, 0, rows_of(0, 0, 0, 4))
    store.drain()
    with pytest.raises(
        StoreError, match=r"^faulty: rows 0 to 4 of request 0, head 0 differ between the file and the host"
    ):
        store.resume({(0, 0): (0, rows_of(1, 0, 0, 6))})


def test_room_that_was_reserved_is_not_taken_by_others():
    store, _ = small_store()
    store.reserve(0, 0, 40 * 12)
    store.append(1, 0, rows_of(1, 0, 0, 60))
    with pytest.raises(
        StoreError, match=r"is full: request 1, head 0 needs 1 extents of 12 tokens, and 0 of 45 are free"
    ):
        store.append(1, 0, rows_of(1, 0, 60, 61))
    store.append(0, 0, rows_of(0, 0, 0, 480))
    assert np.array_equal(store.read(0, 0), rows_of(0, 0, 0, 480))
    store.drop(0)
    assert store.free_extents() == 40


# ---- Files of the file system -------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "kv.spill")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def filled(path, g=SMALL, tokens=30):
    """A file with rows of two requests; what was left in the host buffer."""
    store = KvStore.create(path, g)
    for request in range(2):
        for head in range(2):
            for start in range(0, tokens, 7):
                store.append(request, head, rows_of(request, head, start, min(start + 7, tokens), g.head_dim))
    return store.close()


def test_a_file_in_threads(path):
    """A real file, direct where the file system has it: rows while they are written, and after."""
    rng, counts = random.Random(5), {}
    store = KvStore.create(path, Geometry(head_dim=64, interval=8, extent_tokens=64, extents=60), sync=True)
    for step in range(300):
        key = rng.randrange(3), rng.randrange(2)
        start, count = counts.get(key, 0), rng.choice([1, 1, 1, 5, 17, 40])
        if start + count <= 600:
            store.append(*key, rows_of(*key, start, start + count))
            counts[key] = start + count
        key = rng.choice(list(counts))
        first = rng.randrange(counts[key])
        assert np.array_equal(store.read(*key, first), rows_of(*key, first, counts[key]))
        if step % 50 == 0:
            store.spill(rng.randrange(3))
    left = store.close()
    statistics = store.statistics
    assert statistics.written_bytes + sum(rows.nbytes for _, rows in left.values()) == statistics.appended_bytes
    with KvStore.open(path) as again:
        assert again.check() == statistics.written_bytes // 256
        again.resume(left)
        for key, count in counts.items():
            assert np.array_equal(again.read(*key), rows_of(*key, 0, count))


def test_direct_io_is_used_or_the_note_says_why_not(path, monkeypatch):
    filled(path)
    with KvStore.open(path) as store:
        assert store.file.note is None or "page cache" in store.file.note
    real = os.open
    monkeypatch.setattr(
        os,
        "open",
        lambda name, flags, *more: (
            real(name, flags, *more)
            if not flags & os.O_DIRECT
            else (_ for _ in ()).throw(OSError(22, "Invalid argument"))
        ),
    )
    with KvStore.open(path) as store:
        assert store.file.note == (
            "the file system takes no direct I/O of 512 B (invalid argument), so writes go through the page cache"
        )
        assert np.array_equal(store.read(1, 1), rows_of(1, 1, 0, 28))
        store.append(1, 1, rows_of(1, 1, 28, 32))
    with KvStore.open(path) as store:
        assert store.released(1, 1) == 32


def test_every_cut_is_found(path, tmp_path):
    """In the header, the index, the rows; also a byte too many."""
    filled(path)
    data = content(path)
    other = str(tmp_path / "cut")
    sizes = [
        *range(geometry.HEADER_USED + 2),
        *range(1000, len(data), 997),
        len(data) - 1,
        len(data) + 1,
        len(data) + 512,
    ]
    for size in sizes:
        with open(other, "wb") as file:
            file.write((data + bytes(512))[:size])
        with pytest.raises(
            StoreError, match=rf"^{other}: (is cut: it |is no spill file|has \d+ bytes behind the last )"
        ):
            KvStore.open(other)


def test_every_wrong_byte_of_the_header_is_found(path):
    filled(path)
    data = bytearray(content(path))
    for at in range(geometry.HEADER_USED):
        data[at] ^= 0x10
        with pytest.raises(StoreError, match="is no spill file|has version|its header is damaged"):
            KvStore(FaultyFile(data, 512))
        data[at] ^= 0x10
    KvStore(FaultyFile(data, 512))


def test_a_wrong_byte_of_the_index_takes_the_other_copy_or_is_refused(path):
    filled(path)
    data = bytearray(content(path))
    for at in range(0, 512, 5):
        first, second = (SMALL.block_place(0, copy) + at for copy in range(2))
        data[first] ^= 1
        KvStore(FaultyFile(data, 512)).check()  # the state of this commit or of the one before
        data[second] ^= 1
        with pytest.raises(StoreError, match=r"^faulty: block 0 of its index is damaged in both copies$"):
            KvStore(FaultyFile(data, 512))
        data[first] ^= 1
        data[second] ^= 1


def test_a_wrong_byte_of_a_row_is_found(path):
    filled(path)
    with open(path, "r+b") as file:
        file.seek(SMALL.place(0, 1) + 200)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 4]))
    with (
        KvStore.open(path, writable=False) as store,
        pytest.raises(StoreError, match=r"values 0 to 12 of request 0, head 0 are damaged: the checksum is wrong$"),
    ):
        store.check()


def forged(change):
    """A file whose index was changed and has right checksums."""
    store, file = small_store()
    for head in range(2):
        store.append(0, head, rows_of(0, head, 0, 16))
    store.drain()
    records = store._records.copy()
    change(records)
    commit = int(store._commits[0])
    block = geometry.index_block(SMALL, 7, 0, commit, records[SMALL.records_of(0)])
    place = SMALL.block_place(0, commit % 2)
    file.data[place : place + 512] = block
    return file.data


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("rows", 13, "the record of extent 0 is no possible one"),
        ("rows", 2, "extent 0 is no possible one"),
        ("rows", 0, "extent 0 is no possible one"),
        ("part", 45, "extent 0 is no possible one"),
        ("request", geometry.FREE, "extent 0 is no possible one"),
        ("part", 1, "two extents are part 1 of request 0, head 0"),
    ],
)
def test_an_impossible_index_is_refused(field, value, message):
    def change(records):
        assert records[1]["head"] == 0 and records[1]["part"] == 1
        records[0][field] = value

    KvStore(FaultyFile(forged(lambda records: None), 512))
    with pytest.raises(StoreError, match=f"^faulty: its index is damaged: .*{message}$"):
        KvStore(FaultyFile(forged(change), 512))


def test_a_version_to_come_is_refused(path):
    data = bytearray(blank(SMALL))
    data[8] = 2
    data[geometry.HEADER_USED - 4 : geometry.HEADER_USED] = zlib.crc32(data[: geometry.HEADER_USED - 4]).to_bytes(
        4, "little"
    )
    with pytest.raises(StoreError, match=r"^faulty: has version 2 of the format; this Bankside reads version 1$"):
        KvStore(FaultyFile(data, 512))


def test_files_that_can_not_be_opened(path, tmp_path):
    with pytest.raises(StoreError, match=rf"^{path}: no such file or directory$"):
        KvStore.open(path)
    with pytest.raises(StoreError, match=r"is a directory|a spill file is a regular file"):
        KvStore.open(str(tmp_path))
    os.mkfifo(path)
    with pytest.raises(StoreError, match=r"a spill file is a regular file$"):
        KvStore.open(path)
    with pytest.raises(StoreError, match=rf"^{path}: exists; a new spill file needs a name of its own$"):
        KvStore.create(path, SMALL)
    with pytest.raises(StoreError, match=r"^can't write /proc/x/kv: no such file or directory"):
        KvStore.create("/proc/x/kv", SMALL)


def test_a_file_has_one_writer(path):
    filled(path)
    with KvStore.open(path) as store:
        with pytest.raises(StoreError, match=rf"^{path}: another process writes this file$"):
            KvStore.open(path)
        with KvStore.open(path, writable=False) as reader:
            assert reader.check() == 4 * 28
            with pytest.raises(StoreError, match="is open for reading only"):
                reader.append(0, 0, rows_of(0, 0, 0, 1))
    with pytest.raises(StoreError, match=rf"^{path}: the store is closed$"):
        store.append(0, 0, rows_of(0, 0, 0, 1))


def test_no_room_for_a_file_leaves_nothing(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    path = tmp_path / "a" / "kv"
    with pytest.raises(StoreError, match=rf"^can't write {path}: no space left on device$"):
        KvStore.create(str(path), SMALL)
    assert os.listdir(path.parent) == []


# ---- A process that is killed -------------------------------------------------------------------------------------------

CHILD = """
import sys
from bankside.models.inf2.store import KvStore
from tests.models.inf2.test_store import rows_of
store = KvStore.open(sys.argv[1])
for start in range(600):
    for request in range(2):
        for head in range(2):
            store.append(request, head, rows_of(request, head, start, start + 1))
    print(*(store.released(request, head) for request in range(2) for head in range(2)), flush=True)
"""


def test_a_killed_process_leaves_every_row_that_it_had_released(path):
    """A process with threads and a real file, killed while it writes."""
    KvStore.create(path, Geometry(head_dim=64, interval=4, extent_tokens=100, extents=24)).close()
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, path],
        stdout=subprocess.PIPE,
        text=True,
        cwd=str(Path(__file__).resolve().parents[3]),
    )
    lines = [process.stdout.readline() for _ in range(100)]
    time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    lines += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    released = [int(one) for one in [line for line in lines if line.endswith("\n")][-1].split()]
    assert min(released) > 80
    with KvStore.open(path) as store:
        store.check()
        for number, count in enumerate(released):
            key = divmod(number, 2)
            assert store.tokens(*key) >= count
            assert np.array_equal(store.read(*key), rows_of(*key, 0, store.tokens(*key)))


def test_threads_give_their_errors_back():
    pool = ThreadPool(2)
    pool.submit("a", lambda: 1 / 0)
    mark, result, error = pool.finished(True)
    assert (mark, result) == ("a", None) and isinstance(error, ZeroDivisionError)
    assert pool.finished(True) is None and pool.finished(False) is None
    pool.close()


def test_a_block_file_reads_what_it_wrote(path):
    file = BlockFile.create(path, 8192, lambda file: None)
    assert file.size() == 8192 and os.listdir(os.path.dirname(path)) == ["kv.spill"]
    file.close()
    file.close()
