"""The one way to read and write files: reading is bounded, writing is whole or not at all, and errors are one line."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import gzip
import hashlib
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO, ParamSpec, TypeVar, cast

from .errors import ConfigError

__all__ = [
    "LIMIT",
    "Input",
    "bound",
    "cache_folder",
    "environment",
    "file_digest",
    "inputs_so_far",
    "is_locked",
    "kept",
    "locked",
    "note_input",
    "noted_inputs",
    "noting",
    "read_bytes",
    "reading",
    "reason",
    "tools_cache",
    "write_files",
    "writing",
]

#: For digests of sources (:data:`bankside.provenance.sources.PLUMBING`).
DECIDES_NO_RESULT = True

#: Environment variable: most MiB of any file that is read, in place of the bound of its kind.
LIMIT = "BANKSIDE_MAX_FILE_MIB"

_GZIP = b"\x1f\x8b"

_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


def cache_folder() -> Path:
    """Folder of everything that can be made again: ``$BANKSIDE_CACHE``, else ``bankside`` in the user's cache folder."""
    base = os.environ.get("BANKSIDE_CACHE")
    folder = Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bankside"
    return folder.expanduser().absolute()


def tools_cache() -> str | None:
    """Folder in which other tools keep WebAssembly modules and fonts: in the cache folder if the user named one. None
    leaves the choice to the tools."""
    return str(cache_folder() / "tools") if os.environ.get("BANKSIDE_CACHE") else None


@contextlib.contextmanager
def environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables within the ``with`` block, also for processes that it starts. A variable of value None
    stays unchanged."""
    before = {name: os.environ.get(name) for name, value in values.items() if value is not None}
    os.environ.update({name: value for name, value in values.items() if value is not None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``; a second process that wants it waits. The file stays: removing it would let two
    processes hold two locks of one name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock file ``path``."""
    try:
        with open(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def reason(error: Exception) -> str:
    """An error of the file system or of a compressed file, in words."""
    text = getattr(error, "strerror", None)
    if text:
        return str(text).lower()
    return (
        f"not a whole gzip file ({error})".lower() if isinstance(error, (EOFError, zlib.error, OSError)) else str(error)
    )


# Inputs ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """Something from which a result is made.

    Attributes
    ----------
    kind : :class:`str`
        Memory file, measurement record, sources ...
    name : :class:`str`
        Path of a file as it was given; for anything else its name.
    sha256 : :class:`str`
        Digest of the contents; empty for a file that is read piece by piece.
    details : dict of :class:`str` to plain data
        Further keys.
    """

    kind: str
    name: str
    sha256: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


#: Inputs that are being noted: a list for every ``with`` block of :func:`noted_inputs`, innermost last.
_noted: list[dict[tuple[str, str], Input]] = []


@contextlib.contextmanager
def noted_inputs() -> Iterator[dict[tuple[str, str], Input]]:
    """Collect the inputs that are read within the ``with`` block, by kind and name. A block inside another keeps its
    inputs to itself."""
    found: dict[tuple[str, str], Input] = {}
    _noted.append(found)
    try:
        yield found
    finally:
        # By identity: two that are both empty are equal.
        del _noted[next(k for k, one in enumerate(_noted) if one is found)]


def noting() -> bool:
    """Whether inputs are being collected."""
    return bool(_noted)


def note_input(one: Input) -> None:
    """Count ``one`` among the inputs of the result that is being made."""
    if _noted and (one.sha256 or (one.kind, one.name) not in _noted[-1]):
        _noted[-1][one.kind, one.name] = one


def inputs_so_far() -> list[Input]:
    """The inputs that the innermost ``with`` block of :func:`noted_inputs` has so far, by kind and name."""
    return [one for _, one in sorted(_noted[-1].items())] if _noted else []


Given = ParamSpec("Given")
Value = TypeVar("Value")


def kept(function: Callable[Given, Value]) -> Callable[Given, Value]:
    """Decorator of a function that reads files, once for the same (hashable) arguments. Its files count as inputs at
    every call."""
    answers: dict[Any, tuple[Value, tuple[Input, ...]]] = {}

    @functools.wraps(function)
    def known(*arguments: Given.args, **named: Given.kwargs) -> Value:
        key = arguments, tuple(sorted(named.items()))
        if key not in answers:
            with noted_inputs() as found:
                value = function(*arguments, **named)
            answers[key] = value, tuple(found.values())
        value, inputs = answers[key]
        for one in inputs:
            note_input(one)
        return value

    return known


# Reading -----------------------------------------------------------------------------------------------------------------


def bound(limit: int | None) -> int | None:
    """Most bytes of a file: ``limit``, or the user's bound (:data:`LIMIT`).

    Raises
    ------
    :exc:`ConfigError`
        If the user's bound is no number of MiB.
    """
    own = os.environ.get(LIMIT)
    if not own:
        return limit
    if not own.isascii() or not own.isdigit() or not 0 < int(own) < 1 << 30:
        raise ConfigError(f"{LIMIT} must be a number of MiB of at least 1, not '{own}'")
    return int(own) << 20


def _regular(what: str) -> Callable[[str, int], int]:
    """An opener of regular files that never waits."""

    def opener(path: str, flags: int) -> int:
        file = os.open(path, flags | os.O_NONBLOCK)
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode):
            os.close(file)
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            kind = _KINDS.get(stat.S_IFMT(mode), "something else")
            raise ConfigError(f"{path}: {what} is a regular file, this is {kind}")
        return file

    return opener


def reading(
    path: str | os.PathLike[str], what: str, limit: int | None = None, *, compressed: bool = False
) -> contextlib.AbstractContextManager[BinaryIO]:
    """A regular file, open to read; it counts as an input (:func:`noted_inputs`).

    Parameters
    ----------
    what : name of the kind of file in errors, such as "a trace"
    limit : most bytes of the file; None: any number, because it is read piece by piece
    compressed : whether a gzip file is read as its contents

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be read, is larger than ``limit``, or is no regular file: a device or a FIFO may have no end.
        Errors of the file inside the ``with`` block raise it too.
    """
    note_input(_file(path, what))
    return _opened(path, what, limit, compressed)


def _file(path: str | os.PathLike[str], what: str, sha256: str = "") -> Input:
    return Input(what.removeprefix("a ").removeprefix("an "), os.fspath(path), sha256)


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str], what: str, limit: int | None, compressed: bool) -> Iterator[BinaryIO]:
    limit = bound(limit)
    try:
        with open(path, "rb", opener=_regular(what)) as raw:
            status = os.fstat(raw.fileno())
            if limit is not None and status.st_size > limit:
                raise ConfigError(
                    f"{path}: {what} has at most {limit} bytes, this has {status.st_size} (--max-file-mib "
                    f"or ${LIMIT} raises the bound)"
                )
            if compressed and raw.peek(2)[:2] == _GZIP:
                yield cast(BinaryIO, gzip.GzipFile(fileobj=raw))
            else:
                yield raw
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        if "null" not in str(error):  # a byte that no name of a file has
            raise
        raise ConfigError(f"{os.fspath(path)!r} is no name of a file") from None


def read_bytes(path: str | os.PathLike[str], what: str, limit: int) -> bytes:
    """All bytes of a regular file of at most ``limit`` bytes, which counts as an input. Errors are as in
    :func:`reading`."""
    with _opened(path, what, limit, False) as file:
        most = bound(limit)
        assert most is not None
        data = file.read(most + 1)
        if len(data) > most:  # it has grown
            raise ConfigError(f"{path}: {what} has at most {most} bytes")
    note_input(_file(path, what, hashlib.sha256(data).hexdigest()))
    return data


def file_digest(path: str | os.PathLike[str], what: str = "an input") -> str:
    """SHA-256 of a regular file of any size, which is no input. Errors are as in :func:`reading`."""
    with _opened(path, what, None, False) as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
        return digest.hexdigest()


# Writing -----------------------------------------------------------------------------------------------------------------


def _destination(path: Path) -> tuple[Path, bool]:
    """The target of a path behind its links, and whether it takes a stream: a device or a FIFO is written to, never
    replaced."""
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except OSError:
        return target, False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
        raise OSError(errno.EINVAL, f"Is {_KINDS[stat.S_IFMT(mode)]}", str(path))
    return target, not stat.S_ISREG(mode)


def write_files(folder: str | os.PathLike[str], files: Mapping[str, str | bytes]) -> list[Path]:
    """Write files into ``folder``, each whole or not at all, and none before all are ready.

    A file that already has the content keeps its date. A link stays, and its target is written. A device or a FIFO gets the
    content as a stream. Raises :exc:`ConfigError` if the folder can't be written.
    """
    folder = Path(folder)
    staged: list[tuple[Path, Path]] = []
    streams: list[tuple[Path, bytes]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            target, stream = _destination(folder / name)
            data = content.encode() if isinstance(content, str) else content
            if stream:
                streams.append((target, data))
                continue
            if target.is_file() and target.stat().st_size == len(data) and target.read_bytes() == data:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
            staged.append((Path(temporary), target))
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
        for target, data in streams:
            with open(os.open(target, os.O_WRONLY | os.O_CLOEXEC), "wb") as file:
                file.write(data)
        for source, target in staged:
            os.replace(source, target)
    except OSError as error:
        where = error.filename2 or error.filename or folder
        raise ConfigError(f"can't write to {folder}: {Path(str(where)).name}: {reason(error)}") from None
    finally:
        for source, _ in staged:
            with contextlib.suppress(OSError):
                source.unlink()
    return [folder / name for name in files]


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write piece by piece; it is put in place when the ``with`` block ends without an error. Links, devices
    and FIFOs are treated as in :func:`write_files`.

    Raises :exc:`ConfigError` if it can't be written.
    """
    temporary: str | None = None
    try:
        target, stream = _destination(Path(path))
        if stream:
            with open(os.open(target, os.O_WRONLY | os.O_CLOEXEC), "wb") as file:
                yield file
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise ConfigError(f"can't write {path}: {reason(error)}") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
