"""Files that the tool writes: where they are kept, and how they appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from .errors import ConfigError

__all__ = ["cache_folder", "locked", "write_files", "writing"]


def cache_folder() -> Path:
    """Folder of everything that can be made again: ``$BANKSIDE_CACHE``, else ``bankside`` in the user's cache folder."""
    base = os.environ.get("BANKSIDE_CACHE")
    folder = Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bankside"
    return folder.expanduser().absolute()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``; a second process that wants the same waits. The file stays: removing it would let
    two processes hold two locks of one name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_files(folder: str | os.PathLike[str], files: Mapping[str, str | bytes]) -> list[Path]:
    """Write files into ``folder``, each whole or not at all, none before all are ready to be put in place.

    A file that already has the content keeps its date. Raises :exc:`ConfigError` if the folder can't be written.
    """
    folder = Path(folder)
    staged: list[tuple[Path, Path]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            target = folder / name
            data = content.encode() if isinstance(content, str) else content
            if target.is_file() and target.read_bytes() == data:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
            staged.append((Path(temporary), target))
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
        for source, target in staged:
            os.replace(source, target)
    except OSError as error:
        where = error.filename2 or error.filename or folder
        raise ConfigError(f"can't write to {folder}: {Path(str(where)).name}: "
                          f"{(error.strerror or str(error)).lower()}") from None
    finally:
        for source, _ in staged:
            with contextlib.suppress(OSError):
                source.unlink()
    return [folder / name for name in files]


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write piece by piece; it is put in place when the ``with`` block ends without an error.

    Raises :exc:`ConfigError` if it can't be written.
    """
    target = Path(path)
    temporary: str | None = None
    try:
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
        raise ConfigError(f"can't write {path}: {(error.strerror or str(error)).lower()}") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
