"""Address mappings: bits of an address that select channel, bank, row and column."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from collections.abc import Mapping as Table
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...constraints.core.errors import ConfigError, nearest
from ...constraints.memory import Memory

__all__ = ["AddressMapping", "Location", "MAPPINGS", "address_mapping"]

#: Mappings with a name. ``levels`` stands for all levels of a channel, outermost first, ``levels'`` innermost first.
#: Sources: Ramulator 2's linear mappers; the AttAcc simulator's HBM3-Base and HBM3-Custom.
MAPPINGS: dict[str, str] = {
    "RoBaRaCoCh": "row levels' column channel",
    "ChRaBaRoCo": "channel levels row column",
    "MOP4CLXOR": "row column levels' channel column:2",
    "HBM3-Base": "channel levels row column",
    "HBM3-Custom": "row bank rank column bank_group pseudo_channel channel",
}

#: Names of the mappings that combine other parts with bits of the column by exclusive or (outermost level first).
_EXCLUSIVE = {"MOP4CLXOR"}

_SHORT = {
    "ch": "channel",
    "pch": "pseudo_channel",
    "pc": "pseudo_channel",
    "ra": "rank",
    "bg": "bank_group",
    "ba": "bank",
    "ro": "row",
    "co": "column",
}


class Location(NamedTuple):
    """Places of accesses, as int64 arrays. The bank counts over the levels that address it, the last level fastest."""

    channel: np.ndarray
    bank: np.ndarray
    row: np.ndarray
    column: np.ndarray


@dataclass(frozen=True)
class AddressMapping:
    """Mapping between addresses in bytes and locations. :func:`address_mapping` makes one.

    Attributes
    ----------
    order : parts of an address from its high end to its low end, each with its size; a part may be divided
    sizes : of channel, levels, row and column
    access_bytes : bytes of an access: the lowest part of an address
    exclusive : parts that are combined with bits of the column by exclusive or, each with the first of these bits
    """

    order: tuple[tuple[str, int], ...]
    sizes: Table[str, int]
    access_bytes: int
    exclusive: tuple[tuple[str, int], ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes that can be addressed."""
        return math.prod(self.sizes.values()) * self.access_bytes

    def parts(self, addresses: np.ndarray) -> dict[str, np.ndarray]:
        """The value of every part, by name. Bits beyond the memory and within an access are ignored."""
        rest = _divided(np.asarray(addresses, np.int64), self.access_bytes)
        out: dict[str, np.ndarray] = {}
        weight = dict.fromkeys(self.sizes, 1)
        for name, size in reversed(self.order):
            value = _remainder(rest, size)
            rest = _divided(rest, size)
            out[name] = out[name] + value * weight[name] if name in out else value
            weight[name] *= size
        for name in self.sizes:
            if name not in out:
                out[name] = np.zeros(len(rest), np.int64)
        return self._excluded(out)

    def locations(self, addresses: np.ndarray) -> Location:
        """Locations of ``addresses`` (bytes)."""
        parts = self.parts(addresses)
        bank = np.zeros(len(parts["row"]), np.int64)
        for name, size in self.sizes.items():
            if name not in ("channel", "row", "column"):
                bank = bank * size + parts[name]
        return Location(parts["channel"], bank, parts["row"], parts["column"])

    def addresses(self, locations: Location) -> np.ndarray:
        """Addresses in bytes of locations: the opposite of :meth:`locations`."""
        parts = {"channel": locations.channel, "row": locations.row, "column": locations.column}
        bank = np.asarray(locations.bank, np.int64)
        for name, size in reversed([*self.sizes.items()]):
            if name not in parts:
                parts[name] = bank % size
                bank = bank // size
        left = self._excluded({name: np.asarray(value, np.int64) for name, value in parts.items()})
        out, weight = np.zeros(len(left["row"]), np.int64), self.access_bytes
        for name, size in reversed(self.order):
            out = out + left[name] % size * weight
            left[name] = left[name] // size
            weight *= size
        return out

    def _excluded(self, parts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return parts | {
            name: parts[name] ^ ((parts["column"] >> first) & (self.sizes[name] - 1)) for name, first in self.exclusive
        }

    def __str__(self) -> str:
        return " ".join(
            name if size == self.sizes[name] else f"{name}:{size.bit_length() - 1}" for name, size in self.order
        )


def _remainder(values: np.ndarray, size: int) -> np.ndarray:
    return values % size if size & (size - 1) else values & (size - 1)


def _divided(values: np.ndarray, size: int) -> np.ndarray:
    return values // size if size & (size - 1) else values >> (size.bit_length() - 1)


def address_mapping(
    memory: Memory, order: str = "RoBaRaCoCh", *, channels: int | None = None, access: str = "RD"
) -> AddressMapping:
    """The mapping ``order`` for plain accesses to a memory.

    ``order`` is a name of :data:`MAPPINGS`, or the parts of an address from its high end to its low end: ``Ro Ba Ra Co BG
    pCH Ch``, ``RoBaCoCh``, ``row bank column channel``. A part may be divided: ``Co:2`` is two bits of the column, a
    further ``Co`` is the rest. Every part of the memory that has more than one value must appear.

    Parameters
    ----------
    channels : number of addressed channels; None: all channels of the memory
    access : the command of an access, which determines its bytes and the levels that address it

    Raises
    ------
    :exc:`ConfigError`
        For an order that does not fit the memory.
    """
    command = memory.command(access)
    sizes = {
        "channel": channels or memory.channels,
        **{level: memory.levels[level] for level in command.scope},
        "row": memory.rows,
        "column": memory.columns,
    }

    def fail(reason: str) -> ConfigError:
        return ConfigError(f"address mapping '{order}' for {memory.name}: {reason}")

    named = MAPPINGS.get(order)
    text = (
        order
        if named is None
        else named.replace("levels'", " ".join(reversed(command.scope))).replace("levels", " ".join(command.scope))
    )
    given: list[tuple[str, int | None]] = []
    for word in text.split():
        position = 0
        while position < len(word):
            name, bits, position = _part(word, position, sizes, fail)
            if name not in sizes:
                if named is not None:
                    continue  # a named mapping is for memories with and without that level
                raise fail(nearest("part", name, sizes))
            given.append((name, bits))
    taken = dict.fromkeys(sizes, 1)
    whole: set[str] = set()
    for name, bits in given:
        if bits is not None:
            taken[name] <<= bits
        elif name in whole:
            raise fail(f"{name} appears twice without a number of bits")
        else:
            whole.add(name)
    parts: list[tuple[str, int]] = []
    for name, bits in given:
        size = 1 << bits if bits is not None else sizes[name] // taken[name]
        if sizes[name] % taken[name] or (name not in whole and taken[name] != sizes[name]):
            raise fail(
                f"{name} has {sizes[name]} values, which its bits do not divide"
                if name in whole
                else f"{name} has {sizes[name]} values, not {taken[name]}"
            )
        parts.append((name, size))
    missing = [name for name, size in sizes.items() if size > 1 and name not in {n for n, _ in given}]
    if missing:
        raise fail(f"{missing[0]} is missing (parts: {', '.join(n for n, size in sizes.items() if size > 1)})")
    exclusive: list[tuple[str, int]] = []
    if order in _EXCLUSIVE:
        first = 0
        for name, size in sizes.items():
            if name != "column" and size > 1:
                if size & (size - 1):
                    raise fail(f"{name} has {size} values, which is no power of 2")
                exclusive.append((name, first))
                first += size.bit_length() - 1
    return AddressMapping(tuple(parts), sizes, max(command.bus_bytes, 1), tuple(exclusive))


def _part(
    word: str, position: int, sizes: Table[str, int], fail: Callable[[str], ConfigError]
) -> tuple[str, int | None, int]:
    """Name, bits and end of the part that begins at ``position``: a full name, otherwise the longest short name."""
    rest = word[position:]
    found = re.match(r"[A-Za-z_]+", rest)
    name = found.group().lower() if found else ""
    length = len(name)
    if name not in sizes and name not in _SHORT.values():
        for size in (3, 2):
            if rest[:size].lower() in _SHORT:
                name, length = _SHORT[rest[:size].lower()], size
                break
        else:
            raise fail(nearest("part", rest, [*sizes, *(short for short, long in _SHORT.items() if long in sizes)]))
    bits = re.match(r":?(\d{1,2})", rest[length:])
    if bits:
        return name, int(bits.group(1)), position + length + bits.end()
    return name, None, position + length
