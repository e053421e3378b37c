"""Files of vectors: operands and results of an operator in hexadecimal, as TestFloat and others write them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.core.formats import FloatFormat, IntegerFormat
from ...constraints.core.workspace import reading, writing

__all__ = ["read_vectors", "vector_blocks", "write_vectors"]

#: For digests of sources (:data:`bankside.provenance.sources.PLUMBING`).
DECIDES_NO_RESULT = True

Format = FloatFormat | IntegerFormat
Rows = list[np.ndarray]

#: Bytes of a file that are read at a time, and bytes of the longest allowed line.
CHUNK, LINE = 1 << 20, 1 << 12


def read_vectors(path: str | os.PathLike[str], operands: Sequence[Format], result: Format) -> tuple[Rows, np.ndarray]:
    """All operands and results of a file in TestFloat's format; :func:`vector_blocks` gives them block by block."""
    blocks = list(vector_blocks(path, operands, result))
    columns = [np.concatenate([rows[n] for rows, _ in blocks]) for n in range(len(operands))]
    return columns, np.concatenate([wanted for _, wanted in blocks])


def vector_blocks(
    path: str | os.PathLike[str], operands: Sequence[Format], result: Format
) -> Iterator[tuple[Rows, np.ndarray]]:
    """Vectors of a file in TestFloat's text format, block by block, in bounded memory.

    A line is one case, ``a b [c] result [flags]``: the bits of each operand and of the result in hexadecimal, then the
    exception flags. The flags are not used and may be missing.

    Parameters
    ----------
    path : file
    operands, result : formats

    Yields
    ------
    A list of int64 arrays with the operands, and one array with the results. They hold bits, or for integers the values
    (unsigned integers of 64 bits as int64 of the same bits).

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be read or has no vectors. Also if a line has another number of words, words that are not
        hexadecimal, or values beyond their width; the message then has ``file:line``.
    """
    formats = [*operands, result]
    line = 1
    with reading(path, "a file of vectors") as file:
        rest = b""
        while chunk := file.read(CHUNK):
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            if len(rest) > LINE:
                line += whole.count(b"\n") + len(newline)
                raise ConfigError(f"{path}:{line}: more than {LINE} bytes; a line is one case")
            if whole:
                yield _parse(whole + newline, path, line, formats)
                line += whole.count(b"\n") + 1
        if rest:
            yield _parse(rest + b"\n", path, line, formats)
        elif line == 1:
            raise ConfigError(f"{path}: no vectors")


def _parse(text: bytes, path: Any, line: int, formats: Sequence[Format]) -> tuple[Rows, np.ndarray]:
    columns = _parse_fast(text, formats)
    if columns is None:
        columns = _parse_lines(text, path, line, formats)
    values = [_value(column, fmt) for column, fmt in zip(columns, formats, strict=True)]
    return values[:-1], values[-1]


def _value(bits: np.ndarray, fmt: Format) -> np.ndarray:
    value = bits.view(np.int64)
    if isinstance(fmt, IntegerFormat) and fmt.signed and fmt.width < 64:
        value = value - (value >> (fmt.width - 1) << fmt.width)
    return value


def _parse_fast(text: bytes, formats: Sequence[Format]) -> Rows | None:
    """Columns of a text whose lines all have the same layout; None for any other text."""
    length = text.index(b"\n") + 1
    words = text[:length].split()
    if len(text) % length or len(words) not in (len(formats), len(formats) + 1):
        return None
    table = np.frombuffer(text, np.uint8).reshape(-1, length)
    if (
        np.flatnonzero(table[0] <= 32).size != len(words) - 1 + 1 + text[:length].endswith(b"\r\n")
        or not (table[:, table[0] <= 32] == table[0, table[0] <= 32]).all()
    ):
        return None
    # Values of the digits; 16 for everything else.
    digits = _DIGITS[table]
    columns, start = [], 0
    for number, word in enumerate(words):
        part = digits[:, start : start + len(word)]
        start += len(word) + 1
        if len(word) > 16 or part.max() > 15:
            return None
        bits = np.zeros(len(table), np.uint64)
        for n in range(len(word)):
            bits = bits << np.uint64(4) | part[:, n]
        if number < len(formats):
            width = formats[number].width
            if width < 64 and (bits >> np.uint64(width)).any():
                return None
            columns.append(bits)
    return columns


_DIGITS = np.full(256, 16, np.uint8)
for _n, _digit in enumerate(b"0123456789abcdef"):
    _DIGITS[_digit] = _DIGITS[ord(chr(_digit).upper())] = _n


def _parse_lines(text: bytes, path: Any, first: int, formats: Sequence[Format]) -> Rows:
    columns: list[list[int]] = [[] for _ in formats]
    for number, row in enumerate(text.splitlines(), first):
        words = row.split()
        if len(words) not in (len(formats), len(formats) + 1):
            raise ConfigError(
                f"{path}:{number}: {len(words)} words; a line has {len(formats) - 1} "
                f"{'operand' if len(formats) == 2 else 'operands'}, a result and perhaps flags"
            )
        for word, fmt, column in zip(words, formats, columns, strict=False):
            if not all(_DIGITS[byte] < 16 for byte in word):
                raise ConfigError(f"{path}:{number}: {_shown(word)} is not hexadecimal")
            value = int(word, 16)
            if value >> fmt.width:
                raise ConfigError(f"{path}:{number}: {_shown(word)} has more than the {fmt.width} bits of {fmt.name}")
            column.append(value)
        for word in words[len(formats) :]:
            if not all(_DIGITS[byte] < 16 for byte in word):
                raise ConfigError(f"{path}:{number}: {_shown(word)} is not hexadecimal")
    return [np.array(column, np.uint64) for column in columns]


def _shown(word: bytes) -> str:
    return repr(word[:40].decode("ascii", "replace"))


def write_vectors(path: str | os.PathLike[str], columns: Sequence[np.ndarray], formats: Sequence[Format]) -> None:
    """Write vectors in TestFloat's text format, without flags.

    Parameters
    ----------
    path : file
    columns : operands and, last, results: integer arrays of shape ``(n,)``; negative integers give their low bits
    formats : format of each column

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be written.
    """
    if len({len(column) for column in columns}) != 1 or len(columns) != len(formats):
        raise ValueError(f"Columns must have one format each and equal lengths, not {[len(c) for c in columns]}")
    digits = [-(-fmt.width // 4) for fmt in formats]
    length = sum(digits) + len(digits)
    letters = np.frombuffer(b"0123456789ABCDEF", np.uint8)
    with writing(path) as file:
        step = max(CHUNK // length, 1)
        for first in range(0, len(columns[0]), step):
            parts = [np.asarray(column)[first : first + step] for column in columns]
            text = np.full((len(parts[0]), length), ord(" "), np.uint8)
            text[:, -1] = ord("\n")
            start = 0
            for part, fmt, many in zip(parts, formats, digits, strict=True):
                bits = part.astype(np.int64).view(np.uint64) & np.uint64((1 << fmt.width) - 1)
                for n in range(many):
                    text[:, start + n] = letters[(bits >> np.uint64(4 * (many - 1 - n)) & np.uint64(15)).astype(int)]
                start += many + 1
            file.write(text.tobytes())
