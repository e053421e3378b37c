"""Files in whole granules: direct I/O where the file system has it, else through the page cache."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import stat
import tempfile
from collections.abc import Callable
from typing import Protocol

import numpy as np

from bankside.constraints.core.workspace import reason

from .geometry import StoreError

__all__ = ["BlockFile", "File", "aligned_buffer", "read_exactly", "write_exactly"]


def aligned_buffer(size: int) -> np.ndarray:
    """``size`` bytes of memory that begin at a page, as direct I/O needs them; uint8, all zero."""
    return np.frombuffer(mmap.mmap(-1, max(size, 1)), np.uint8, size)


class File(Protocol):
    """The calls that a store makes. Each raises :exc:`OSError`; a write or a read may do less than it was asked."""

    #: Name in errors.
    path: str
    #: Why the file has no direct I/O; None if it has.
    note: str | None

    def size(self) -> int: ...

    def write(self, data: memoryview, place: int) -> int: ...

    def read(self, data: memoryview, place: int) -> int: ...

    def sync(self) -> None: ...

    def close(self) -> None: ...


def write_exactly(file: File, data: memoryview, place: int, granularity: int) -> int:
    """Write all of ``data``; a short write goes on at the last whole granule. Returns the number of calls."""
    done, calls, idle = 0, 0, 0
    while done < len(data):
        wrote = file.write(data[done:], place + done)
        calls += 1
        step = wrote if done + wrote == len(data) else wrote // granularity * granularity
        idle = 0 if step else idle + 1
        if idle == 8:
            raise OSError(errno.EIO, "the drive takes no whole granule")
        done += step
    return calls


def read_exactly(file: File, data: memoryview, place: int) -> None:
    """Fill ``data``.

    Raises
    ------
    :exc:`StoreError`
        If the file ends before, or can't be read.
    """
    done = 0
    try:
        while done < len(data):
            step = file.read(data[done:], place + done)
            if not step:
                raise StoreError(f"{file.path}: is cut: it ends before byte {place + len(data)}")
            done += step
    except OSError as error:
        raise StoreError(f"{file.path}: can't read {len(data)} B at {place}: {reason(error)}") from None


class BlockFile:
    """A file of the file system, opened with ``O_DIRECT`` where that works for the granularity.

    Whether it works is tried, not assumed: file systems differ in the alignment that they need.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path, self.note = path, "direct I/O was not asked for" if hasattr(os, "O_DIRECT") else None
        self._file = descriptor

    @classmethod
    def create(cls, path: str, size: int, fill: Callable[[BlockFile], None]) -> BlockFile:
        """A new file of ``size`` bytes. ``fill`` writes its header; only then it gets its name.

        Raises
        ------
        :exc:`StoreError`
            If the path exists or can't be written, or the file system has no room.
        """
        folder = os.path.dirname(path) or "."
        temporary = None
        file = None
        try:
            if os.path.lexists(path):
                raise StoreError(f"{path}: exists; a new spill file needs a name of its own")
            if os.path.lexists(folder) and not os.path.isdir(folder):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            os.makedirs(folder, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
            file = cls(path, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
            os.posix_fallocate(handle, 0, size)
            fill(file)
            os.fsync(handle)
            os.rename(temporary, path)
            temporary = None
            _sync_folder(folder)
            return file
        except OSError as error:
            if file is not None:
                file.close()
            raise StoreError(f"can't write {path}: {reason(error)}") from None
        except BaseException:
            if file is not None:
                file.close()
            raise
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    @classmethod
    def open(cls, path: str, *, writable: bool = True) -> BlockFile:
        """An existing file, without direct I/O yet.

        Raises
        ------
        :exc:`StoreError`
            If it can't be opened, is no regular file, or another store has it open for writing.
        """
        try:
            handle = os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(f"{path}: {reason(error)}") from None
        except ValueError:
            raise StoreError(f"{path!r} is no name of a file") from None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise StoreError(f"{path}: a spill file is a regular file")
            if writable:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise StoreError(f"{path}: another process writes this file") from None
        except BaseException:
            os.close(handle)
            raise
        return cls(path, handle)

    def go_direct(self, granularity: int, place: int, *, writable: bool = True) -> None:
        """Change to direct I/O if the file system takes it in granules; else :attr:`note` says why not.

        Parameters
        ----------
        place : :class:`int`
            Granule that is read, and written back, to try it.
        """
        flag = getattr(os, "O_DIRECT", 0)
        if not flag:
            self.note = "the system has no direct I/O, so writes go through the page cache"
            return
        tried = aligned_buffer(2 * granularity)[granularity:].data  # memory is aligned no better in a store
        os.preadv(self._file, [tried], place)
        handle = None
        try:
            handle = os.open(
                f"/proc/self/fd/{self._file}", (os.O_RDWR if writable else os.O_RDONLY) | flag | os.O_CLOEXEC
            )
            os.preadv(handle, [tried], place)
            if writable:
                os.pwritev(handle, [tried], place)
        except OSError as error:
            if handle is not None:
                os.close(handle)
            self.note = (
                f"the file system takes no direct I/O of {granularity} B ({reason(error)}), so writes go through "
                "the page cache"
            )
            return
        self._buffered, self._file, self.note = self._file, handle, None

    #: Descriptor that holds the lock; direct I/O has its own.
    _buffered: int | None = None

    def size(self) -> int:
        return os.fstat(self._file).st_size

    def write(self, data: memoryview, place: int) -> int:
        return os.pwritev(self._file, [data], place)

    def read(self, data: memoryview, place: int) -> int:
        return os.preadv(self._file, [data], place)

    def sync(self) -> None:
        os.fdatasync(self._file)

    def close(self) -> None:
        for handle in (self._file, self._buffered):
            if handle is not None and handle >= 0:
                os.close(handle)
        self._file, self._buffered = -1, None


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
