"""Keys and values of requests and heads in a spill file, with a host buffer in front of it: delayed writeback.

New rows go to the host buffer. When a request and head has gathered an interval of rows, the store writes them beside the
caller. The keys are one write, the values another. The host buffer serves rows until they are *released*:

1. The writes of the rows have finished.
2. With ``sync``, the drive has confirmed that they are durable.
3. The index names them, and the drive has confirmed the index too.

A granule that holds a released row is never written again, and the index has two copies. A kill at any write therefore
leaves a file that opens and holds every released row. All other rows are in the host buffer at that time
(:meth:`KvStore.buffered`); :meth:`KvStore.resume` continues from file and buffer.
"""

from __future__ import annotations

import enum
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from bankside.constraints.core.workspace import reason

from .files import BlockFile, File, aligned_buffer, read_exactly, write_exactly
from .geometry import FREE, HEADER_USED, RECORD, Geometry, StoreError, index_block, read_header, read_index
from .pool import Finished, Pool, ThreadPool

__all__ = ["KvStore", "Statistics"]

#: Most bytes of keys that one write of a long append carries, and interval buffers that are made at once.
BULK_BYTES = 1 << 20
SLAB = 64

#: Request and head.
Key = tuple[int, int]


class _State(enum.Enum):
    FILLING = enum.auto()
    READY = enum.auto()  # full, or its write failed
    FLYING = enum.auto()
    WRITTEN = enum.auto()
    COMMITTING = enum.auto()


@dataclass(eq=False, slots=True)
class _Segment:
    """Rows of one request and head in host memory, written together; all of them lie in one extent."""

    start: int
    room: int
    memory: np.ndarray  # uint8, (2, at least room * row_bytes)
    rows: int = 0
    state: _State = _State.FILLING
    again: bool = False  # the drive may have lost the write that is under way
    crc: tuple[int, int] | None = None  # of the rows of its extent up to its end


class _Array:
    """Rows of one request and head: ``released`` in the file, the others in ``segments``."""

    __slots__ = ("crc", "extents", "key", "released", "segments", "tokens")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.extents: list[int] = []
        self.released = self.tokens = 0
        self.segments: deque[_Segment] = deque()
        self.crc = 0, 0  # of the rows of the last extent that were submitted

    def waiting(self) -> bool:
        """Whether rows are on their way to the file."""
        return bool(self.segments) and self.segments[0].state is not _State.FILLING


@dataclass
class Statistics:
    """Work of a store since it was opened."""

    #: Rows given to the store, in bytes.
    appended_bytes: int = 0
    #: Writes of keys and values.
    writes: int = 0
    written_bytes: int = 0
    #: Writes of the index.
    index_writes: int = 0
    index_bytes: int = 0
    commits: int = 0
    #: Confirmations that the drive was asked for.
    syncs: int = 0
    #: Writes and confirmations that failed; they were, or will be, done again.
    failures: int = 0
    #: Times that an append waited for the drive.
    waits: int = 0
    #: Most bytes of rows that the host buffer held at once.
    host_bytes: int = 0


class _SyncFailed(Exception):
    """The drive has not confirmed earlier writes."""


class KvStore:
    """Keys and values of requests and heads in a spill file. All calls come from one thread.

    Rows have the shape (2, tokens, head_dim): keys, then values. Their elements are bits, as unsigned integers; any type of
    the same size is taken.

    Parameters
    ----------
    file : :class:`File`
        A file that :meth:`format` has written.
    sync : :class:`bool`
        Whether rows stay in the host buffer until the drive has confirmed them. Without, they are safe from a kill of the
        process, but not from a loss of power.
    slots : :class:`int`
        Intervals that the host buffer holds for each request and head; an append waits when they are taken. An append of
        more rows waits until nothing of its array is on its way, and is then held whole.
    ahead_bytes : :class:`int`
        Most bytes in the host buffer at which an append of more rows begins.
    group : :class:`int`
        Written segments that one commit of the index covers; by default one for each request and head.
    pool : :class:`Pool`
        Who does the writes; threads by default.
    writable : :class:`bool`
        Whether rows may be added.

    Raises
    ------
    :exc:`StoreError`
        If the file is no spill file, cut or damaged; and from every call if the file can't be read or written.
    """

    def __init__(
        self,
        file: File,
        *,
        sync: bool = False,
        slots: int = 2,
        ahead_bytes: int = 1 << 26,
        group: int | None = None,
        pool: Pool | None = None,
        writable: bool = True,
    ) -> None:
        self.ahead_bytes = ahead_bytes
        self.file, self.sync, self.slots, self.writable = file, sync, slots, writable
        self.statistics = Statistics()
        if slots < 1:
            raise StoreError(f"slots must be at least 1, not {slots}")
        size = file.size()
        head = aligned_buffer(4096)[: min(4096, size)]
        read_exactly(file, head.data, 0)
        self.geometry, self._identity = read_header(head[:HEADER_USED].tobytes(), size, file.path)
        g = self.geometry
        copies = []
        for copy in range(2):
            data = aligned_buffer(g.copy_bytes)
            read_exactly(file, data.data, g.block_place(0, copy))
            copies.append(data.tobytes())
        self._records, self._commits = read_index(g, self._identity, (copies[0], copies[1]), file.path)
        self._arrays: dict[Key, _Array] = {}
        orphans = self._collect()
        owned = {extent for array in self._arrays.values() for extent in array.extents}
        self._free = sorted(set(range(g.extents)) - owned, reverse=True)
        self._group = group
        self._flying = 0
        self._written: dict[_Array, int] = {}  # arrays with written segments, and their number
        self._unnamed = 0  # all written segments that no commit covers
        self._dirty: dict[_Array, None] = {}  # arrays with segments that failed
        self._stale: set[int] = set()  # blocks of the index whose last write failed
        self._committing: tuple[dict[_Array, int], np.ndarray, list[int]] | None = None
        self._held = 0
        self._buffers: list[np.ndarray] = []
        self._scratch = aligned_buffer(0)
        self._pool: Pool = ThreadPool() if pool is None else pool
        self._closed = False
        if isinstance(file, BlockFile):
            file.go_direct(g.granularity_bytes, g.first_block - g.granularity_bytes, writable=writable)
        if writable and orphans:
            self._commit_now(self._freed(orphans))

    # ---- Opening ------------------------------------------------------------------------------------------------------

    @staticmethod
    def format(file: File, geometry: Geometry, identity: int | None = None) -> None:
        """Write an empty index, then the header, to a file of ``geometry.file_bytes`` zeros.

        Raises
        ------
        :exc:`OSError`
            If a write fails.
        """
        identity = int.from_bytes(os.urandom(8), "little") if identity is None else identity
        g, empty = geometry, geometry.empty_index()
        step = g.granularity_bytes
        for copy in range(2):
            blocks = aligned_buffer(g.index_blocks * step)
            for block in range(g.index_blocks):
                data = index_block(g, identity, block, copy, empty[g.records_of(block)])
                blocks[block * step : (block + 1) * step] = np.frombuffer(data, np.uint8)
            write_exactly(file, blocks.data, g.block_place(0, copy), step)
        head = aligned_buffer(g.first_block)
        head[:HEADER_USED] = np.frombuffer(g.header(identity), np.uint8)
        write_exactly(file, head.data, 0, step)

    @classmethod
    def create(cls, path: str, geometry: Geometry, **options: Any) -> KvStore:
        """A store in a new file, which has room for all extents from the start. Options are the class's own."""
        file = BlockFile.create(path, geometry.file_bytes, lambda file: cls.format(file, geometry))
        try:
            return cls(file, **options)
        except BaseException:
            file.close()
            raise

    @classmethod
    def open(cls, path: str, **options: Any) -> KvStore:
        """A store in an existing file. Options are the class's own."""
        file = BlockFile.open(path, writable=options.get("writable", True))
        try:
            return cls(file, **options)
        except BaseException:
            file.close()
            raise

    def _collect(self) -> list[int]:
        """Arrays of the index. An extent behind a part that is not full was never released: a kill came between two
        blocks of a commit. Returns such extents."""
        g = self.geometry
        owned = np.flatnonzero(self._records["request"] != FREE)
        parts: dict[Key, dict[int, int]] = {}
        for extent in owned.tolist():
            record = self._records[extent]
            parts.setdefault((int(record["request"]), int(record["head"])), {})[int(record["part"])] = extent
        orphans: list[int] = []
        for key, extents in sorted(parts.items()):
            array = _Array(key)
            while array.released == len(array.extents) * g.extent_tokens and len(array.extents) in extents:
                extent = extents.pop(len(array.extents))
                array.extents.append(extent)
                array.released += int(self._records[extent]["rows"])
            orphans += extents.values()
            if array.extents:
                last = self._records[array.extents[-1]]
                array.crc = int(last["key_crc"]), int(last["value_crc"])
                array.tokens = array.released
                self._arrays[key] = array
        return orphans

    # ---- What a store holds -------------------------------------------------------------------------------------------

    def keys(self) -> list[Key]:
        """Requests and heads that have rows."""
        return sorted(key for key, array in self._arrays.items() if array.tokens)

    def tokens(self, request: int, head: int) -> int:
        """Rows of a request and head."""
        return self._arrays[request, head].tokens if (request, head) in self._arrays else 0

    def released(self, request: int, head: int) -> int:
        """Rows of a request and head that only the file holds."""
        return self._arrays[request, head].released if (request, head) in self._arrays else 0

    def unwritten(self, request: int, head: int) -> int:
        """Rows of a request and head whose writes have not finished. Only the host buffer can give them to an accelerator.
        It also holds rows that are in the file and wait for the index."""
        array = self._arrays.get((request, head))
        return (
            0
            if array is None
            else sum(
                segment.rows for segment in array.segments if segment.state not in (_State.WRITTEN, _State.COMMITTING)
            )
        )

    def free_extents(self) -> int:
        """Extents that no request and head has."""
        return len(self._free)

    def buffered(self) -> dict[Key, tuple[int, np.ndarray]]:
        """The host buffer: for each request and head its first row that is not released, and a copy of all rows from there
        on."""
        return {
            key: (array.released, self._host_rows(array, array.released, array.tokens))
            for key, array in sorted(self._arrays.items())
            if array.tokens > array.released
        }

    # ---- Rows ---------------------------------------------------------------------------------------------------------

    def append(self, request: int, head: int, rows: np.ndarray) -> None:
        """Add rows behind the last one of a request and head. If an error is raised, none of them was added.

        Parameters
        ----------
        rows : :class:`numpy.ndarray`, shape (2, tokens, head_dim)
            Keys and values.

        Raises
        ------
        :exc:`StoreError`
            If the rows have another shape, the file has no extent left, or the host buffer is full and a write failed.
        """
        g = self.geometry
        self._require_open()
        self._check_key(request, head)
        if (
            not isinstance(rows, np.ndarray)
            or rows.ndim != 3
            or rows.shape[::2] != (2, g.head_dim)
            or rows.dtype.itemsize != g.element_bytes
        ):
            given = f"{rows.dtype}{list(rows.shape)}" if isinstance(rows, np.ndarray) else type(rows).__name__
            raise StoreError(f"rows must be 2 x tokens x {g.head_dim} elements of {g.element_bytes} B, not {given}")
        self.poll()
        count = rows.shape[1]
        if not count:
            return
        array = self._arrays.get((request, head)) or _Array((request, head))
        self._reserve(array, array.tokens + count, take=False)
        self._wait_for_room(array, count)
        self._reserve(array, array.tokens + count)
        self._arrays[request, head] = array
        bits = np.ascontiguousarray(rows).view(np.uint8).reshape(2, -1)
        done = 0
        while done < count:
            segment = array.segments[-1] if array.segments else None
            if segment is None or segment.state is not _State.FILLING:
                segment = self._segment(array, count - done)
            part = min(segment.room - segment.rows, count - done)
            at, source = segment.rows * g.row_bytes, done * g.row_bytes
            segment.memory[:, at : at + part * g.row_bytes] = bits[:, source : source + part * g.row_bytes]
            segment.rows += part
            array.tokens += part
            done += part
            if segment.rows == segment.room:
                segment.state = _State.READY
        self._held += count
        statistics = self.statistics
        statistics.appended_bytes += bits.size
        statistics.host_bytes = max(statistics.host_bytes, 2 * g.row_bytes * self._held)
        self._submit(array)

    def reserve(self, request: int, head: int, tokens: int) -> None:
        """Take extents for ``tokens`` rows of a request and head in all, so that no append up to there is refused.

        Raises
        ------
        :exc:`StoreError`
            If the file has too few extents left.
        """
        self._require_open()
        self._check_key(request, head)
        array = self._arrays.get((request, head)) or _Array((request, head))
        self._reserve(array, tokens)
        self._arrays[request, head] = array

    def read(self, request: int, head: int, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Rows ``start`` to ``stop`` of a request and head, shape (2, stop - start, head_dim): released rows from the file,
        all others from the host buffer.

        Raises
        ------
        :exc:`StoreError`
            If there are no such rows, or the file can't be read.
        """
        g = self.geometry
        held = self.tokens(request, head)
        stop = held if stop is None else stop
        if not 0 <= start <= stop <= held:
            raise StoreError(f"rows {start} to {stop} of request {request}, head {head} do not exist: it has {held}")
        if start == stop:
            return np.empty((2, 0, g.head_dim), g.dtype)
        self._require_open()
        array = self._arrays[request, head]
        border = min(max(array.released, start), stop)
        parts = [self._file_rows(array, first, last) for first, last in self._pieces(start, border)]
        parts.append(self._host_rows(array, border, stop))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, 1)

    def drop(self, request: int) -> None:
        """Forget all rows of a request; once this returns, its extents are free. A kill before may leave some rows of it.

        Raises
        ------
        :exc:`StoreError`
            If the index can't be written; the rows stay then.
        """
        self._require_open()
        self._check_key(request, 0)
        mine = [array for key, array in self._arrays.items() if key[0] == request]
        while self._committing or any(one.state is _State.FLYING for array in mine for one in array.segments):
            self._finish(self._pool.finished(True), ())
        extents = [extent for array in mine for extent in array.extents]
        recorded = [extent for extent in extents if self._records[extent]["request"] != FREE]
        if recorded:
            self._commit_now(self._freed(recorded))
        for array in mine:
            self._held -= array.tokens - array.released
            self._unnamed -= self._written.pop(array, 0)
            self._dirty.pop(array, None)
            del self._arrays[array.key]
        self._free = sorted([*self._free, *extents], reverse=True)

    def resume(self, buffered: Mapping[Key, tuple[int, np.ndarray]]) -> None:
        """Add the rows of a host buffer (:meth:`buffered`) that outlived another store of the same file.

        Raises
        ------
        :exc:`StoreError`
            If rows between file and buffer are missing, or rows that both have differ.
        """
        for (request, head), (start, rows) in sorted(buffered.items()):
            held = self.tokens(request, head)
            if held < start:
                raise StoreError(
                    f"{self.file.path}: rows {held} to {start} of request {request}, head {head} are neither "
                    "in the file nor in the host buffer"
                )
            both = min(held - start, rows.shape[1])
            if both and not np.array_equal(self.read(request, head, start, start + both), rows[:, :both]):
                raise StoreError(
                    f"{self.file.path}: rows {start} to {start + both} of request {request}, head {head} "
                    "differ between the file and the host buffer"
                )
            self.append(request, head, rows[:, both:])

    # ---- Spilling -----------------------------------------------------------------------------------------------------

    def spill(self, request: int | None = None, head: int | None = None) -> None:
        """Begin to write what fills whole granules, without waiting for a full interval; by default of all arrays."""
        self._require_open()
        self.poll()
        g = self.geometry
        for key, array in self._arrays.items():
            if request not in (None, key[0]) or head not in (None, key[1]) or not array.segments:
                continue
            last = array.segments[-1]
            whole = last.rows // g.granule_rows * g.granule_rows
            if last.state is _State.FILLING and whole:
                rest, memory = last.rows - whole, last.memory
                last.rows, last.room, last.state = whole, whole, _State.READY
                if rest:
                    segment = self._segment(array, rest, last.start + whole)
                    at = whole * g.row_bytes
                    segment.memory[:, : rest * g.row_bytes] = memory[:, at : at + rest * g.row_bytes]
                    segment.rows = rest
            self._submit(array)

    def poll(self, *, idle: bool = False) -> None:
        """Take note of finished writes, and begin failed ones again. ``idle``: no rows come for now, so the index need not
        wait for a full group."""
        while (done := self._pool.finished(False)) is not None:
            self._finish(done, ())
        for array in list(self._dirty):
            self._submit(array)
        if self._unnamed >= (self._group or max(len(self._arrays), 1)) or idle and not self._flying:
            self._begin_commit()

    def drain(self) -> None:
        """Wait until every full interval is released.

        Raises
        ------
        :exc:`StoreError`
            If a write fails; its rows stay in the host buffer.
        """
        self._require_open()
        self.poll()
        while self._busy():
            self._advance()

    def close(self) -> dict[Key, tuple[int, np.ndarray]]:
        """Wait for all writes, and close the file. Returns the rows that only the host buffer holds, because they fill no
        granule.

        Raises
        ------
        :exc:`StoreError`
            If a write fails. The file is closed nevertheless, and :meth:`buffered` has the rows.
        """
        try:
            self.drain()
            return self.buffered()
        finally:
            self._end()

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            self._pool.close()
            self.file.close()

    def __enter__(self) -> KvStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self._closed:
            self.close()
        self._end()

    def check(self) -> int:
        """Read all released rows, and compare their checksums. Returns their number.

        Raises
        ------
        :exc:`StoreError`
            If a checksum differs.
        """
        g = self.geometry
        for (request, head), array in sorted(self._arrays.items()):
            for first, last in self._pieces(0, array.released):
                extent = array.extents[first // g.extent_tokens]
                rows = self._file_rows(array, first, last)
                for kind, name in enumerate(("key", "value")):
                    if zlib.crc32(rows[kind].tobytes()) != self._records[extent][f"{name}_crc"]:
                        raise StoreError(
                            f"{self.file.path}: {name}s {first} to {last} of request {request}, head {head} "
                            "are damaged: the checksum is wrong"
                        )
        return sum(array.released for array in self._arrays.values())

    # ---- Parts --------------------------------------------------------------------------------------------------------

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.file.path}: the store is closed")

    def _check_key(self, request: int, head: int) -> None:
        if not self.writable:
            raise StoreError(f"{self.file.path}: is open for reading only")
        for name, value in (("request", request), ("head", head)):
            if not 0 <= value < FREE:
                raise StoreError(f"{name} must be 0 to {FREE - 1}, not {value}")

    def _reserve(self, array: _Array, tokens: int, *, take: bool = True) -> None:
        """Extents for ``tokens`` rows."""
        need = -(-tokens // self.geometry.extent_tokens) - len(array.extents)
        if need > len(self._free):
            request, head = array.key
            raise StoreError(
                f"{self.file.path}: is full: request {request}, head {head} needs {need} extents of "
                f"{self.geometry.extent_tokens} tokens, and {len(self._free)} of {self.geometry.extents} are "
                "free"
            )
        if take:
            array.extents += [self._free.pop() for _ in range(need)]

    def _wait_for_room(self, array: _Array, count: int) -> None:
        most, waited = self.slots * self.geometry.interval, False
        while array.tokens - array.released + count > most and array.waiting():
            self.statistics.waits += not waited
            waited = True
            self._submit(array)
            if array.segments[0].state is _State.WRITTEN:
                self._begin_commit()
            self._finish(self._pool.finished(True), (None, array))
        while count > most and 2 * self.geometry.row_bytes * self._held > self.ahead_bytes and self._busy():
            self._advance()

    def _busy(self) -> bool:
        """Whether rows of any array are on their way to the file."""
        return bool(self._flying or self._committing or self._written or self._dirty)

    def _advance(self) -> None:
        """Wait until a task has finished; raise its error."""
        for array in list(self._dirty):
            self._submit(array)
        if not self._flying:
            self._begin_commit()
        self._finish(self._pool.finished(True))

    def _segment(self, array: _Array, rows: int, start: int | None = None) -> _Segment:
        """A new last segment, for an interval or, if there are more rows, for a larger write."""
        g = self.geometry
        start = array.tokens if start is None else start
        left = g.extent_tokens - start % g.extent_tokens
        bulk = max(BULK_BYTES // g.row_bytes // g.granule_rows * g.granule_rows, g.interval)
        room = min(max(rows // g.interval, 1) * g.interval, left, bulk)
        if room > g.interval:
            memory = aligned_buffer(2 * room * g.row_bytes).reshape(2, -1)
        else:
            if not self._buffers:
                slab = aligned_buffer(SLAB * 2 * g.interval * g.row_bytes)
                self._buffers = list(slab.reshape(SLAB, 2, -1))
            memory = self._buffers.pop()
        array.segments.append(segment := _Segment(start, room, memory))
        return segment

    def _submit(self, array: _Array) -> None:
        """Begin to write the segments that are ready."""
        g = self.geometry
        self._dirty.pop(array, None)
        for segment in array.segments:
            if segment.state is not _State.READY:
                continue
            row = segment.start % g.extent_tokens
            extent = array.extents[segment.start // g.extent_tokens]
            size = segment.rows * g.row_bytes
            if segment.crc is None:
                before = array.crc if row else (0, 0)
                segment.crc = array.crc = (
                    zlib.crc32(segment.memory[0, :size].data, before[0]),
                    zlib.crc32(segment.memory[1, :size].data, before[1]),
                )
            segment.state = _State.FLYING
            self._flying += 1
            self._pool.submit(
                (array, segment),
                self._writer([(segment.memory[kind, :size].data, g.place(extent, kind, row)) for kind in range(2)]),
            )

    def _writer(self, parts: list[tuple[memoryview, int]]) -> Callable[[], int]:
        file, granularity = self.file, self.geometry.granularity_bytes

        def write() -> int:
            return sum(write_exactly(file, data, place, granularity) for data, place in parts)

        return write

    def _finish(self, done: Finished | None, tell: tuple[_Array | None, ...] | None = None) -> None:
        """Take note of a task that has finished. A failed one will be begun again.

        Raises
        ------
        :exc:`StoreError`
            If it failed, and belongs to an array of ``tell``, None being the index. By default, any failure is raised.
        """
        if done is None:
            return
        mark, calls, error = done
        if error is not None and not isinstance(error, (OSError, _SyncFailed)):
            raise error
        if mark is None:
            self._end_commit(error)
        else:
            array, segment = mark
            self._flying -= 1
            if error is None and not segment.again:
                segment.state = _State.WRITTEN
                self._written[array] = self._written.get(array, 0) + 1
                self._unnamed += 1
                self.statistics.writes += calls
                self.statistics.written_bytes += 2 * segment.rows * self.geometry.row_bytes
            else:
                segment.state, segment.again = _State.READY, False
                self._dirty[array] = None
        if error is not None:
            self.statistics.failures += 1
            if tell is None or (mark and mark[0]) in tell:
                what = "confirm a write" if isinstance(error, _SyncFailed) else "write"
                cause = error.__cause__ if isinstance(error, _SyncFailed) else error
                assert isinstance(cause, OSError)
                raise StoreError(f"{self.file.path}: can't {what}: {reason(cause)}; the rows stay in the host buffer")

    def _begin_commit(self) -> None:
        """Begin to write the index of all segments that are written and have none before them that is not."""
        if self._committing or not self._written:
            return
        g = self.geometry
        records, extents, taken = self._records.copy(), [], {}
        for array in list(self._written):
            count = 0
            for segment in array.segments:
                if segment.state is not _State.WRITTEN:
                    break
                part, row = divmod(segment.start, g.extent_tokens)
                assert segment.crc is not None
                segment.state = _State.COMMITTING
                records[array.extents[part]] = (*array.key, part, row + segment.rows, *segment.crc)
                extents.append(array.extents[part])
                count += 1
            if count:
                taken[array] = count
                self._written[array] -= count
                self._unnamed -= count
                if not self._written[array]:
                    del self._written[array]
        if taken:
            self._write_index(taken, records, extents)

    def _write_index(self, taken: dict[_Array, int], records: np.ndarray, extents: Iterable[int]) -> None:
        g, step = self.geometry, self.geometry.granularity_bytes
        blocks = sorted({extent // g.block_records for extent in extents} | self._stale)
        memory = aligned_buffer(len(blocks) * step)
        writes = []
        for number, block in enumerate(blocks):
            commit = int(self._commits[block]) + 1
            piece = memory[number * step : (number + 1) * step]
            piece[:] = np.frombuffer(
                index_block(g, self._identity, block, commit, records[g.records_of(block)]), np.uint8
            )
            writes.append((piece.data, g.block_place(block, commit % 2)))
        write, file, sync = self._writer(writes), self.file, self.sync

        def confirm() -> None:
            try:
                if sync:
                    file.sync()
            except OSError as error:
                raise _SyncFailed from error

        def commit_() -> int:
            confirm()
            calls = write()
            confirm()
            return calls

        self._committing = taken, records, blocks
        self._pool.submit(None, commit_)

    def _end_commit(self, error: BaseException | None) -> None:
        assert self._committing is not None
        taken, records, blocks = self._committing
        self._committing = None
        if error is not None:
            self._stale |= set(blocks)
        else:
            self._stale.clear()
        if isinstance(error, _SyncFailed):
            # After a failed confirmation, no write since the last good one is known to be on the drive.
            for array in self._arrays.values():
                for segment in array.segments:
                    segment.again = segment.state is _State.FLYING
                    if segment.state in (_State.WRITTEN, _State.COMMITTING):
                        segment.state = _State.READY
                        self._dirty[array] = None
            self._written.clear()
            self._unnamed = 0
            return
        for array, count in taken.items():
            if error is not None:
                for segment in list(array.segments)[:count]:
                    segment.state = _State.WRITTEN
                self._written[array] = self._written.get(array, 0) + count
                self._unnamed += count
                continue
            for _ in range(count):
                segment = array.segments.popleft()
                array.released += segment.rows
                self._held -= segment.rows
                if segment.memory.shape[1] == self.geometry.interval * self.geometry.row_bytes:
                    self._buffers.append(segment.memory)
        if error is None:
            self._records = records
            self._commits[blocks] += 1
            statistics = self.statistics
            statistics.commits += 1
            statistics.syncs += 2 * self.sync
            statistics.index_writes += len(blocks)
            statistics.index_bytes += len(blocks) * self.geometry.granularity_bytes

    def _freed(self, extents: list[int]) -> tuple[np.ndarray, list[int]]:
        """Records in which extents have no owner."""
        records = self._records.copy()
        records[extents] = np.zeros((), RECORD)
        records["request"][extents] = FREE
        return records, extents

    def _commit_now(self, change: tuple[np.ndarray, list[int]]) -> None:
        """Write changed records, and wait for it."""
        self._write_index({}, *change)
        while self._committing:
            self._finish(self._pool.finished(True), (None,))

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Rows of each extent in a range of rows."""
        step = self.geometry.extent_tokens
        while start < stop:
            end = min(stop, (start // step + 1) * step)
            yield start, end
            start = end

    def _file_rows(self, array: _Array, start: int, stop: int) -> np.ndarray:
        """Rows of one extent from the file."""
        g = self.geometry
        extent, row = array.extents[start // g.extent_tokens], start % g.extent_tokens
        first = row * g.row_bytes // g.granularity_bytes * g.granularity_bytes
        last = -(-(row + stop - start) * g.row_bytes // g.granularity_bytes) * g.granularity_bytes
        out = np.empty((2, (stop - start) * g.row_bytes), np.uint8)
        if self._scratch.size < last - first:
            self._scratch = aligned_buffer(last - first)
        scratch = self._scratch[: last - first]
        at = row * g.row_bytes - first
        for kind in range(2):
            read_exactly(self.file, scratch.data, g.place(extent, kind) + first)
            out[kind] = scratch[at : at + out.shape[1]]
        return out.view(g.dtype).reshape(2, stop - start, g.head_dim)

    def _host_rows(self, array: _Array, start: int, stop: int) -> np.ndarray:
        """Rows from the host buffer."""
        g = self.geometry
        out = np.empty((2, (stop - start) * g.row_bytes), np.uint8)
        for segment in array.segments:
            first, last = max(start, segment.start), min(stop, segment.start + segment.rows)
            if first < last:
                out[:, (first - start) * g.row_bytes : (last - start) * g.row_bytes] = segment.memory[
                    :, (first - segment.start) * g.row_bytes : (last - segment.start) * g.row_bytes
                ]
        return out.view(g.dtype).reshape(2, stop - start, g.head_dim)
