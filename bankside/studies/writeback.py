"""``bankside writeback``: delayed writeback of keys and values on a drive of this machine, beside the traffic formulas."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np

from bankside.constraints.core.errors import CheckFailed, ConfigError
from bankside.models.inf2.store import Geometry, KvStore, ThreadPool
from bankside.models.inf2.traffic import Block, WriteBack

from ..provenance.sources import note_sources
from ..results.decoding import SpilledArray, Writeback, WritebackCheck, WritebackModel

__all__ = ["Job", "check_result", "check_text", "require_same_rows", "writeback_result", "writeback_text"]

#: Name of the file in its folder.
FILE = "writeback.spill"

#: Most tokens of an array that are read and compared at once.
PIECE = 4096


@dataclass(frozen=True)
class Job:
    """Work of the command.

    Attributes
    ----------
    requests, heads : requests that decode together, and heads of each
    prefill_tokens : tokens that are written before the first step
    tokens : decode steps
    step_ms : least time of a step, in which the drive writes
    """

    requests: int = 4
    heads: int = 8
    prefill_tokens: int = 0
    tokens: int = 256
    step_ms: float = 0.0

    @property
    def arrays(self) -> list[tuple[int, int]]:
        return [(request, head) for request in range(self.requests) for head in range(self.heads)]


def _rows(job: Job, geometry: Geometry, seed: int) -> Callable[[int, int, int], np.ndarray]:
    """Made-up keys and values by number of the array, first and last token. Arrays are windows of one random block."""
    rng = np.random.default_rng(seed)
    tokens = job.prefill_tokens + job.tokens
    block = rng.integers(
        0,
        1 << 8 * geometry.element_bytes,
        (2, tokens + job.requests * job.heads, geometry.head_dim),
        dtype=geometry.dtype,
    )
    return lambda array, start, stop: block[:, array + start : array + stop]


def geometry_of(
    job: Job, *, head_dim: int, element_bytes: int, interval: int, granularity_bytes: int, extent_tokens: int | None
) -> Geometry:
    """Sizes of a file with room for all tokens of the work; by default each array has one extent.

    Raises
    ------
    :exc:`ConfigError`
        If the drive can't write an interval directly, or a size is out of range.
    """
    sizes = {
        "head_dim": head_dim,
        "element_bytes": element_bytes,
        "interval": interval,
        "granularity_bytes": granularity_bytes,
    }
    rows = Geometry(**sizes, extent_tokens=1 << 20, extents=1).granule_rows
    tokens = job.prefill_tokens + job.tokens
    whole = math.lcm(rows, interval)
    room = -(-tokens // whole) * whole if extent_tokens is None else extent_tokens
    return Geometry(**sizes, extent_tokens=room, extents=job.requests * job.heads * -(-tokens // room))


def writeback_result(
    job: Job,
    folder: str,
    geometry: Geometry,
    *,
    sync: bool = False,
    workers: int = 4,
    slots: int = 2,
    keep: bool = False,
    seed: int = 1,
    progress: Callable[[str], None] = lambda text: None,
) -> Writeback:
    """Write the rows, read them back, compare.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be written or read.
    """
    note_sources(writeback_result)
    path = os.path.join(folder, FILE)
    rows, arrays = _rows(job, geometry, seed), job.arrays
    store = KvStore.create(path, geometry, sync=sync, slots=slots, pool=ThreadPool(workers))
    try:
        progress(f"writing {path}")
        seconds, sent, late_steps = _write(store, job, rows)
        left = sum(held.nbytes for _, held in store.buffered().values())
        progress(f"reading {path}")
        read_bytes, read_s, mismatches = _read(store, job, rows)
        note, done = store.file.note, replace(store.statistics)
        store.close()
    except BaseException:
        keep = False
        raise
    finally:
        with contextlib.suppress(ConfigError):
            store.close()
        if not keep:
            with contextlib.suppress(OSError):
                os.unlink(path)
    g, spilled = geometry, done.appended_bytes - left
    prefill = 2 * g.row_bytes * job.prefill_tokens * len(arrays)
    return Writeback(
        **asdict(job),
        head_dim=g.head_dim,
        element_bytes=g.element_bytes,
        interval=g.interval,
        granularity_bytes=g.granularity_bytes,
        write_bytes=g.interval * g.row_bytes,
        sync=sync,
        workers=workers,
        slots=slots,
        seed=seed,
        file=path if keep else None,
        file_bytes=g.file_bytes,
        direct_io=note is None,
        **asdict(done),
        spilled_bytes=spilled,
        left_bytes=left,
        write_amplification=(done.written_bytes + done.index_bytes) / spilled if spilled else None,
        sent_bytes=sent,
        late_steps=late_steps,
        step_for_writes_ms=1e3 * (seconds[1] + seconds[2]) / job.tokens,
        prefill_s=seconds[0],
        decode_s=seconds[1],
        drain_s=seconds[2],
        read_s=read_s,
        prefill_mb_s=_rate(prefill, seconds[0]),
        decode_mb_s=_rate(done.appended_bytes - prefill - left, seconds[1] + seconds[2]),
        read_mb_s=_rate(read_bytes, read_s),
        read_bytes=read_bytes,
        mismatches=mismatches,
        model=_model(job, g),
        notes=[] if note is None else [note],
    )


def _rate(size: int, seconds: float) -> float | None:
    return size / seconds / 1e6 if size > 0 else None


def _model(job: Job, g: Geometry) -> WritebackModel:
    """The same figures by the traffic formulas: whole intervals are spilled, a step sends the rows of its interval."""
    block = Block(0, 0, job.heads * g.head_dim, g.element_bytes)
    scheme = WriteBack(g.interval, g.row_bytes, g.granularity_bytes)
    waiting = job.prefill_tokens % g.interval
    sent = [scheme.step(block, job.requests, (waiting + step) % g.interval).to_drives for step in range(job.tokens)]
    tokens = job.prefill_tokens + job.tokens
    return WritebackModel(
        spilled_bytes=tokens // g.interval * scheme.spill(block, job.requests),
        sent_bytes=sum(sent),
        host_bytes=job.requests * scheme.buffered_entries * block.kv_token_bytes,
    )


def _write(
    store: KvStore, job: Job, rows: Callable[[int, int, int], np.ndarray]
) -> tuple[tuple[float, float, float], int, int]:
    """Seconds of prefill, decode steps and the rest of the writes. Bytes of rows that steps send, since no finished write
    has them. Number of steps that send rows of an earlier interval."""
    began = time.perf_counter()
    if job.prefill_tokens:
        for array, key in enumerate(job.arrays):
            store.append(*key, rows(array, 0, job.prefill_tokens))
        store.drain()
    prefilled = time.perf_counter()
    store.statistics.host_bytes = 0  # of the steps
    sent, late_steps, interval = 0, 0, store.geometry.interval
    for token in range(job.prefill_tokens, job.prefill_tokens + job.tokens):
        step, late = time.perf_counter(), False
        for array, key in enumerate(job.arrays):
            store.append(*key, rows(array, token, token + 1))
            unwritten = store.unwritten(*key)  # the append has only begun the write of its interval
            sent += unwritten
            late |= unwritten > token % interval + 1
        late_steps += late
        store.poll(idle=True)
        while (rest := job.step_ms / 1e3 - (time.perf_counter() - step)) > 0:
            store.poll(idle=True)
            time.sleep(min(rest, 1e-3))
    decoded = time.perf_counter()
    store.drain()
    return (
        (prefilled - began, decoded - prefilled, time.perf_counter() - decoded),
        2 * store.geometry.row_bytes * sent,
        late_steps,
    )


def _read(store: KvStore, job: Job, rows: Callable[[int, int, int], np.ndarray]) -> tuple[int, float, int]:
    """Bytes and seconds of reading what was spilled, and rows that differ; rows left in the host buffer count too."""
    size, seconds, mismatches = 0, 0.0, 0
    for array, key in enumerate(job.arrays):
        tokens, released = store.tokens(*key), store.released(*key)
        mismatches += 2 * abs(tokens - job.prefill_tokens - job.tokens)
        for start in [*range(0, released, PIECE), released]:
            stop = min(start + PIECE, released) if start < released else tokens
            began = time.perf_counter()
            found = store.read(*key, start, stop)
            if start < released:
                seconds += time.perf_counter() - began
                size += found.nbytes
            mismatches += int((found != rows(array, start, stop)).any(2).sum())
    return size, seconds, mismatches


def check_result(path: str) -> WritebackCheck:
    """What a spill file holds; every checksum is compared.

    Raises
    ------
    :exc:`ConfigError`
        If the file is cut, damaged, or no spill file.
    """
    from bankside.constraints.core.workspace import Input, note_input

    note_sources(check_result)
    with KvStore.open(path, writable=False) as store:
        note_input(Input("spill file", path))
        g, rows, keys = store.geometry, store.check(), store.keys()
        return WritebackCheck(
            file=path,
            file_bytes=g.file_bytes,
            **asdict(g),
            free_extents=store.free_extents(),
            rows=rows,
            rows_bytes=2 * rows * g.row_bytes,
            arrays=[
                SpilledArray(request=request, head=head, rows=store.released(request, head)) for request, head in keys
            ],
        )


def require_same_rows(result: Writeback) -> None:
    """Raise :exc:`CheckFailed` if rows came back changed."""
    if result.mismatches:
        raise CheckFailed(f"{result.mismatches} rows came back changed")


def check_text(r: WritebackCheck) -> str:
    """What a spill file holds, for a person."""
    return (
        f"{r.file}: whole, every checksum is right\n"
        f"  {len(r.arrays)} arrays, {r.rows} rows of {r.head_dim} x {r.element_bytes} B for keys and "
        f"as many for values, {r.free_extents} of {r.extents} extents free"
    )


def writeback_text(r: Writeback) -> str:
    """The result in lines for a person."""

    def rate(value: float | None) -> str:
        return f"{value:.1f} MB/s" if value is not None else "–"

    lines = [
        (
            f"{r.requests} requests x {r.heads} heads, {r.prefill_tokens} + {r.tokens} tokens",
            f"interval {r.interval}: writes of {r.write_bytes} B",
        ),
        ("spilled", f"{r.spilled_bytes} B, by the formula {r.model.spilled_bytes} B"),
        ("written", f"{r.writes} writes, {r.written_bytes} B"),
        ("index", f"{r.index_writes} writes, {r.index_bytes} B"),
        ("write amplification", f"{r.write_amplification:.4f}" if r.write_amplification else "–"),
        ("largest host buffer", f"{r.host_bytes} B, by the formula {r.model.host_bytes} B"),
        ("sent from the host buffer", f"{r.sent_bytes} B, by the formula {r.model.sent_bytes} B"),
        ("prefill, decode, read", ", ".join(map(rate, (r.prefill_mb_s, r.decode_mb_s, r.read_mb_s)))),
        ("direct I/O", "yes" if r.direct_io else "no"),
        ("rows that came back changed", str(r.mismatches)),
        *(("note", note) for note in r.notes),
        *([("file", r.file)] if r.file else []),
    ]
    if r.late_steps:
        late = (
            f"{r.sent_bytes - r.model.sent_bytes} B, in {r.late_steps} of {r.tokens} steps: "
            "the drive had not ended their write when the next step sent them again. Writes end in time in steps of about "
            f"{r.step_for_writes_ms:.3g} ms (--step-ms)"
        )
        lines.insert(7, ("of these, late", late))
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)
