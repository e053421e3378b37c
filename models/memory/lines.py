"""Lines of a trace file, in blocks: files of any length in constant memory, compressed ones too."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator

from ...constraints.core.errors import ConfigError
from ...constraints.core.workspace import reading

__all__ = ["LONGEST", "Progress", "first_lines", "line_blocks", "shown"]

#: Greatest number of bytes of a line. A file with a longer line is not a trace.
LONGEST = 4096

#: Bytes that are read at a time.
BLOCK = 1 << 18

#: Called with the number of bytes read from the file and the size of the file (0: not known).
Progress = Callable[[int, int], None]


def line_blocks(path: str | os.PathLike[str], progress: Progress | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """Blocks of lines to the end of the file: number of the first line, and the lines without their ends.

    A file that begins like a gzip file is read as a gzip file, whatever its name.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be read, or a line is longer than :data:`LONGEST` bytes.
    """
    number, rest = 1, b""
    with reading(path, "a trace", compressed=True) as file:
        raw = file.fileobj if isinstance(file, gzip.GzipFile) else file
        size = os.fstat(raw.fileno()).st_size
        while data := file.read(BLOCK):
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            yield number, lines
            number += len(lines)
            if len(rest) > LONGEST:
                break
            if progress is not None:
                progress(raw.tell(), size)
    if len(rest) > LONGEST:
        raise ConfigError(f"{path}:{number}: more than {LONGEST} bytes in a line; not a trace")
    if rest:
        yield number, [rest]


def first_lines(path: str | os.PathLike[str], count: int = 16) -> list[tuple[int, str]]:
    """The first lines of a file that are neither empty nor a comment, with their numbers."""
    out: list[tuple[int, str]] = []
    for first, lines in line_blocks(path):
        for number, line in enumerate(lines, first):
            text = line.split(b"#", 1)[0].strip()
            if text:
                if len(text) > LONGEST:
                    raise ConfigError(f"{path}:{number}: more than {LONGEST} bytes in a line; not a trace")
                out.append((number, text.decode("utf-8", "backslashreplace")))
                if len(out) == count:
                    return out
        if first > 4096:
            break
    return out


def shown(word: bytes) -> str:
    """A word of a trace in a form for messages."""
    text = word.decode("utf-8", "backslashreplace")
    return text if len(text) <= 40 and text.isprintable() else ascii(text[:20]).strip("'") + "..." * (len(text) > 20)
