"""Contents of the cache folder, and their removal. Everything there except records can be made again."""

from __future__ import annotations

import contextlib
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from bankside.constraints.core.workspace import cache_folder, is_locked
from bankside.cosim.bench.build import ALIVE

from ..results.tool import Cache, CachePart

__all__ = ["PARTS", "cache_text", "contents", "prune"]

#: Folders of the cache, and their contents.
PARTS = {
    "verilog": "generated Verilog",
    "models": "simulators made by Verilator",
    "synthesis": "netlists of library cells",
    "formal": "proofs",
    "runs": "running simulations",
    "list": "the text of bankside list",
    "tools": "files of other tools: Yosys as machine code, fonts",
    "records": "measurement records; never pruned",
}

#: Seconds since the last use before which nothing is removed: a process may be about to use it. A simulation reads its
#: folder when it begins and writes there when it ends.
LEAST_AGE_S, LEAST_AGE_OF_A_RUN_S = 3600.0, 86400.0


@dataclass(frozen=True)
class Entry:
    """A file or folder in a part of the cache."""

    path: Path
    size_bytes: int
    used: float

    @classmethod
    def of(cls, path: Path) -> Entry:
        """Sizes of all files inside; used is the last time that one of them was read or written (seconds since 1970)."""
        size, used = 0, 0.0
        for file in (path, *path.rglob("*")) if path.is_dir() and not path.is_symlink() else (path,):
            with contextlib.suppress(OSError):  # removed meanwhile
                status = file.lstat()
                if not file.is_dir():
                    size += status.st_size
                used = max(used, status.st_mtime, 0.0 if file.is_dir() else status.st_atime)
        return cls(path, size, used)


def _entries(part: str) -> list[Entry]:
    folder = cache_folder() / part
    return [Entry.of(path) for path in sorted(folder.iterdir()) if path.suffix != ".lock"] if folder.is_dir() else []


def contents() -> Cache:
    """The folder and its parts."""
    now = time.time()
    parts = []
    for name, meaning in PARTS.items():
        entries = _entries(name)
        unused_s = now - max((entry.used for entry in entries), default=now)
        parts.append(
            CachePart(
                part=name,
                holds=meaning,
                entries=len(entries),
                size_bytes=sum(entry.size_bytes for entry in entries),
                days_since_use=round(unused_s / 86400, 1) if entries else None,
            )
        )
    return Cache(folder=str(cache_folder()), parts=parts, size_bytes=sum(part.size_bytes for part in parts))


def prune(days: float) -> Cache:
    """Remove entries that were not used for ``days`` days. Records, entries used within the last hour, simulations of
    the last day and models that a process builds stay.

    Returns :func:`contents` afterwards with ``removed_entries`` and ``removed_bytes``.
    """
    now, removed = time.time(), []
    for part in PARTS:
        if part == "records":
            continue
        oldest = now - max(days * 86400, LEAST_AGE_OF_A_RUN_S if part == "runs" else LEAST_AGE_S)
        for entry in _entries(part):
            if entry.used > oldest or is_locked(entry.path / ALIVE) or is_locked(_lock(entry.path)):
                continue
            with contextlib.suppress(OSError):
                if entry.path.is_dir() and not entry.path.is_symlink():
                    shutil.rmtree(entry.path)
                else:
                    entry.path.unlink()
                removed.append(entry)
    gone = {"removed_entries": len(removed), "removed_bytes": sum(entry.size_bytes for entry in removed)}
    return contents().model_copy(update=gone)


def _lock(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB"


def cache_text(result: Cache) -> str:
    """The folder, a line for each part that holds something, and the sum."""
    lines = [result.folder]
    for part in result.parts:
        if part.entries:
            lines.append(
                f"  {part.part:<10} {_mib(part.size_bytes):>12}  {part.entries:>5} entries, last used "
                f"{part.days_since_use:g} days ago  {part.holds}"
            )
    lines.append(f"  {'all':<10} {_mib(result.size_bytes):>12}")
    if result.removed_bytes is not None:
        lines.append(f"removed {result.removed_entries} entries, {_mib(result.removed_bytes)}")
    return "\n".join(lines)
