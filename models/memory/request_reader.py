"""Trace files of plain reads and writes: read block by block, whole blocks at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...constraints.core.errors import ConfigError, nearest
from .lines import LONGEST, Progress, line_blocks, shown
from .requests import RequestFrontEnd, Requests

__all__ = ["FORMATS", "RequestFormat", "read_requests"]


@dataclass(frozen=True)
class RequestFormat:
    """A format of lines.

    Attributes
    ----------
    title : readable name
    operations : words for a read (False) and a write (True)
    operation, address : places of the operation and the address in a line
    timed : whether a third word may state the cycle before which the request is not sent
    """

    title: str
    operations: dict[bytes, bool]
    operation: int
    address: int
    timed: bool = False

    @property
    def text(self) -> str:
        words = "|".join(word.decode() for word in self.operations)
        return f"{words} ADDRESS" if self.operation == 0 else f"ADDRESS {words} [CYCLE]"


#: Formats by name, in the order in which they are tried. Addresses are in bytes, decimal or with 0x.
FORMATS: dict[str, RequestFormat] = {
    "load-store": RequestFormat("Ramulator 2's load/store traces", {b"LD": False, b"ST": True}, 0, 1),
    "read-write": RequestFormat("reads and writes by letter", {b"R": False, b"W": True}, 0, 1),
    "address-first": RequestFormat(
        "DRAMsim's and Ramulator 1's traces", {b"READ": False, b"WRITE": True, b"R": False, b"W": True}, 1, 0, True
    ),
}

_MOST = (1 << 62) - 1

# Kinds of bytes: 0 not allowed in a line of a request, 1 space, 2 the end of a line, 3 part of a word.
_KIND = np.zeros(256, np.int8)
_KIND[33:127] = 3
_KIND[ord("#")] = 0
_KIND[[9, 13, 32]] = 1
_KIND[10] = 2

_DIGIT = np.full(256, 99, np.int64)
_DIGIT[48:58] = range(10)
_DIGIT[65:71] = _DIGIT[97:103] = range(10, 16)


def read_requests(
    path: str | os.PathLike[str],
    front_end: RequestFrontEnd | None = None,
    *,
    form: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Requests]:
    """Requests of a trace file, block by block; ``#`` begins a comment.

    Parameters
    ----------
    front_end : the front end for these requests: addresses must be in its memory
    form : name in :data:`FORMATS`; None: detected from the first line

    Raises
    ------
    :exc:`ConfigError`
        ``file:line: reason`` for a line that is not text, has an unknown operation, or has missing or too many words.
        Also for an address or cycle that is not a number or is out of range, and for a file without requests.
    """
    if form is not None and form not in FORMATS:
        raise ConfigError(nearest("format", form, FORMATS))
    what = None if form is None else FORMATS[form]
    size = _MOST if front_end is None else front_end.mapping.bytes
    found, last = False, 0
    for number, lines in line_blocks(path, progress):
        last = number + len(lines) - 1
        if what is None:
            what = _detect(path, number, lines)
        if what is None or not lines:
            continue
        block = _parse(lines, what)
        if block is None:
            block, numbers = _parse_lines(path, number, lines, what)
        else:
            numbers = None
        wrong = (block.addresses < 0) | (block.addresses >= size)
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            raise ConfigError(
                f"{path}:{number + place if numbers is None else numbers[place]}: address "
                f"{int(block.addresses[place]):#x} is outside the memory of {size:#x} bytes"
            )
        if len(block.addresses):
            found = True
            yield block
    if not found:
        raise ConfigError(f"{path}: {'nothing but empty lines' if last else 'an empty file'}")


def _detect(path: str | os.PathLike[str], first: int, lines: list[bytes]) -> RequestFormat | None:
    """The format of the first line that is not empty; None if all are empty."""
    for number, line in enumerate(lines, first):
        words = line[:LONGEST].split(b"#", 1)[0].split()
        if not words:
            continue
        for what in FORMATS.values():
            if len(words) > what.operation and words[what.operation].upper() in what.operations:
                return what
        for what in FORMATS.values():
            if (words[0].upper() in what.operations) if what.operation == 0 else _integer(words[0]) is not None:
                return what
        raise ConfigError(
            f"{path}:{number}: '{shown(words[0])}' begins no request ("
            f"{', '.join(what.text for what in FORMATS.values())})"
        )
    return None


# Whole blocks ----------------------------------------------------------------------------------------------------------


def _parse(lines: list[bytes], what: RequestFormat) -> Requests | None:
    """Requests of lines that all have the same simple layout; None if a line is wrong or less simple."""
    text = np.frombuffer(b"\n".join(lines) + b"\n        ", np.uint8)
    kind = _KIND[text[:-8]]
    if not kind.all():
        return None
    inside = kind == 3
    starts = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    ends = np.flatnonzero(inside & ~np.concatenate([inside[1:], [False]])) + 1
    words = len(starts) // len(lines)
    if len(starts) != words * len(lines) or not (words == 2 or (words == 3 and what.timed)):
        return None
    stops = np.flatnonzero(kind == 2)
    if (
        len(stops) != len(lines)
        or (starts[words::words] < stops[:-1]).any()
        or (ends[words - 1 :: words] > stops).any()
    ):
        return None
    writes = _operations(text, starts[what.operation :: words], ends[what.operation :: words], what)
    addresses = _numbers(text, starts[what.address :: words], ends[what.address :: words])
    if writes is None or addresses is None:
        return None
    if words == 2:
        return Requests(addresses, writes)
    cycles = _numbers(text, starts[2::3], ends[2::3])
    return None if cycles is None else Requests(addresses, writes, cycles)


def _operations(text: np.ndarray, starts: np.ndarray, ends: np.ndarray, what: RequestFormat) -> np.ndarray | None:
    lengths = ends - starts
    if lengths.max() > 7:
        return None
    code = np.zeros(len(starts), np.int64)
    for n in range(int(lengths.max())):
        code += np.where(n < lengths, text[starts + n], 0).astype(np.int64) << (8 * n)
    known = np.zeros(len(code), bool)
    writes = np.zeros(len(code), bool)
    for word, write in what.operations.items():
        same = code == int.from_bytes(word, "little")
        known |= same
        if write:
            writes |= same
    return writes if known.all() else None


def _numbers(text: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray | None:
    prefixed = (text[starts] == 48) & (text[starts + 1] | 32 == 120)
    base = 16 if prefixed[0] else 10
    if not (prefixed == prefixed[0]).all():
        return None
    lengths = ends - starts - (2 if base == 16 else 0)
    longest = int(lengths.max())
    if lengths.min() < 1 or longest > (15 if base == 16 else 18):
        return None
    values = np.zeros(len(starts), np.int64)
    for n in range(longest):
        digit = _DIGIT[text[ends - 1 - n]]
        used = n < lengths
        if (digit[used] >= base).any():
            return None
        values += np.where(used, digit, 0) * base**n
    return values


# Line by line ----------------------------------------------------------------------------------------------------------


def _parse_lines(
    path: str | os.PathLike[str], first: int, lines: list[bytes], what: RequestFormat
) -> tuple[Requests, list[int]]:
    """Requests of lines that :func:`_parse` leaves, and their line numbers. Errors name the line."""
    addresses: list[int] = []
    writes: list[bool] = []
    cycles: list[int] = []
    numbers: list[int] = []
    for number, line in enumerate(lines, first):

        def fail(reason: str, number: int = number) -> ConfigError:
            return ConfigError(f"{path}:{number}: {reason}")

        if len(line) > LONGEST:
            raise fail(f"more than {LONGEST} bytes in a line; not a trace")
        words = line.split(b"#", 1)[0].split()
        if not words:
            continue
        if not 2 <= len(words) <= 2 + what.timed:
            raise fail(f"{len(words)} word{'s' * (len(words) != 1)} from '{shown(words[0])}' on; must be {what.text}")
        operation = words[what.operation].upper()
        if operation not in what.operations:
            raise fail(nearest("operation", shown(words[what.operation]), [word.decode() for word in what.operations]))
        for name, word in (("address", words[what.address]), *(("cycle", word) for word in words[2:])):
            value = _integer(word)
            if value is None:
                raise fail(f"{name} must be a number, not '{shown(word)}'")
            if not 0 <= value <= _MOST:
                raise fail(f"{name} {shown(word)} is {'negative' if value < 0 else 'more than 62 bits'}")
            (addresses if name == "address" else cycles).append(value)
        writes.append(what.operations[operation])
        if len(words) == 2:
            cycles.append(0)
        numbers.append(number)
    bounds = np.array(cycles, np.int64) if any(cycles) else None
    return Requests(np.array(addresses, np.int64), np.array(writes, bool), bounds), numbers


def _integer(word: bytes) -> int | None:
    try:
        if word[:2].lower() == b"0x":
            return int(word[2:], 16) if word[2:3].isalnum() else None
        return int(word)
    except ValueError:
        return None
