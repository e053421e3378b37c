"""Layout of a spill file: header, index and extents. Each part begins at a multiple of 4 KiB.

- The header has magic, version, every number of :class:`Geometry`, identity and size of the file, and a CRC-32.
- The index has two copies, each of blocks of ``granularity_bytes``. A block has identity, block number, commit number,
  records and a CRC-32.
- An extent has room for ``extent_tokens`` rows of keys, then for as many rows of values.

A record of the index belongs to one extent. It names the owner (request and head), the part (which extent of the owner
this is) and the rows. It also has the CRC-32 of these keys, and of these values. A commit writes the older copy of a
block, so a write that is cut leaves the other copy.

All numbers are little-endian.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from bankside.constraints.core.errors import ConfigError

__all__ = ["FREE", "HEADER_BYTES", "RECORD", "Geometry", "StoreError", "index_block", "read_header", "read_index"]

HEADER_BYTES = 4096
MAGIC = b"BKSDSPIL"
VERSION = 1

#: Request of an extent without an owner.
FREE = 0xFFFFFFFF

#: Record of an extent.
RECORD = np.dtype(
    [("request", "<u4"), ("head", "<u4"), ("part", "<u4"), ("rows", "<u4"), ("key_crc", "<u4"), ("value_crc", "<u4")]
)

_HEADER = struct.Struct("<8sI7IQQ")
_BLOCK = struct.Struct("<8sQIIQ")  # magic, identity, block, records, commit
_BLOCK_MAGIC = b"BKSDINDX"
_CRC = struct.Struct("<I")

#: Largest sizes: of a file and of its index, which lies in host memory too.
MOST_BYTES = 1 << 46
MOST_EXTENTS = 1 << 24


class StoreError(ConfigError):
    """A spill file that can't be read, written, or trusted, or a request that it has no room for."""


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


@dataclass(frozen=True)
class Geometry:
    """Sizes of a spill file.

    Raises
    ------
    :exc:`StoreError`
        If a size is out of range, or a write of ``interval`` rows is no whole number of granules.
    """

    #: Elements of a row of keys, and of a row of values: the head dimension.
    head_dim: int = 128
    #: Bytes of an element: 1, 2 or 4.
    element_bytes: int = 2
    #: Tokens that a request and head gathers before it writes them (section 5.2 of the paper: 2).
    interval: int = 2
    #: Smallest write of the drive in bytes: a power of two.
    granularity_bytes: int = 512
    #: Tokens for which an extent has room.
    extent_tokens: int = 1024
    #: Extents of the file.
    extents: int = 64

    def __post_init__(self) -> None:
        for name, least, most in (
            ("head_dim", 1, 1 << 16),
            ("interval", 1, 1 << 20),
            ("extent_tokens", 1, 1 << 30),
            ("extents", 1, MOST_EXTENTS),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise StoreError(f"{name} must be {least} to {most}, not {value}")
        if self.element_bytes not in (1, 2, 4):
            raise StoreError(f"element_bytes must be 1, 2 or 4, not {self.element_bytes}")
        if not 512 <= self.granularity_bytes <= 65536 or self.granularity_bytes & (self.granularity_bytes - 1):
            raise StoreError(
                f"granularity_bytes must be a power of two from 512 to 65536, not {self.granularity_bytes}"
            )
        written = f"interval {self.interval} x {self.row_bytes} B = {self.interval * self.row_bytes} B"
        if self.interval * self.row_bytes < self.granularity_bytes:
            raise StoreError(
                f"{written} is below the {self.granularity_bytes} B of a direct write; the smallest interval "
                f"is {self.granule_rows}"
            )
        if self.interval % self.granule_rows:
            near = self.interval // self.granule_rows * self.granule_rows
            valid = " or ".join(str(one) for one in (near, near + self.granule_rows) if one)
            raise StoreError(
                f"{written} is no multiple of the {self.granularity_bytes} B of a direct write; the interval "
                f"must be a multiple of {self.granule_rows}, such as {valid}"
            )
        if self.extent_tokens % self.granule_rows:
            raise StoreError(
                f"extent_tokens must be a multiple of {self.granule_rows}, so that every row lies in whole "
                f"granules, not {self.extent_tokens}"
            )
        if self.file_bytes > MOST_BYTES:
            raise StoreError(f"{self.extents} extents of {self.extent_bytes} B make a file of more than {MOST_BYTES} B")

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of keys, or of values."""
        return self.head_dim * self.element_bytes

    @property
    def granule_rows(self) -> int:
        """Fewest rows that fill whole granules."""
        return self.granularity_bytes // math.gcd(self.granularity_bytes, self.row_bytes)

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements: their bits as unsigned integers."""
        return np.dtype(f"<u{self.element_bytes}")

    @property
    def array_bytes(self) -> int:
        """Bytes of the keys of an extent, and of its values: whole granules."""
        return self.extent_tokens * self.row_bytes

    @property
    def extent_bytes(self) -> int:
        return 2 * self.array_bytes

    @property
    def block_records(self) -> int:
        """Records of a block of the index."""
        return (self.granularity_bytes - _BLOCK.size - _CRC.size) // RECORD.itemsize

    @property
    def index_blocks(self) -> int:
        return -(-self.extents // self.block_records)

    @property
    def copy_bytes(self) -> int:
        """Bytes of a copy of the index."""
        return _up(self.index_blocks * self.granularity_bytes, HEADER_BYTES)

    @property
    def first_extent(self) -> int:
        """Place of the first extent in the file, in bytes."""
        return _up(self.first_block + 2 * self.copy_bytes, max(HEADER_BYTES, self.granularity_bytes))

    @property
    def first_block(self) -> int:
        """Place of the index in the file, in bytes."""
        return max(HEADER_BYTES, self.granularity_bytes)

    @cached_property
    def file_bytes(self) -> int:
        return self.first_extent + self.extents * self.extent_bytes

    def place(self, extent: int, kind: int, row: int = 0) -> int:
        """Place of a row in the file, in bytes; ``kind`` 0 is keys, 1 values."""
        return self.first_extent + extent * self.extent_bytes + kind * self.array_bytes + row * self.row_bytes

    def block_place(self, block: int, copy: int) -> int:
        """Place of a copy of a block of the index, in bytes."""
        return self.first_block + copy * self.copy_bytes + block * self.granularity_bytes

    def records_of(self, block: int) -> slice:
        """Extents whose records are in a block of the index."""
        return slice(block * self.block_records, min((block + 1) * self.block_records, self.extents))

    def header(self, identity: int) -> bytes:
        """The header's bytes without padding."""
        body = _HEADER.pack(
            MAGIC, VERSION, HEADER_BYTES, *(getattr(self, one.name) for one in fields(self)), identity, self.file_bytes
        )
        return body + _CRC.pack(zlib.crc32(body))

    def empty_index(self) -> np.ndarray:
        """Records of extents without owners, shape (extents,)."""
        records = np.zeros(self.extents, RECORD)
        records["request"] = FREE
        return records


#: Bytes of the header that carry something.
HEADER_USED = _HEADER.size + _CRC.size


def read_header(data: bytes, size: int, path: str) -> tuple[Geometry, int]:
    """Geometry and identity of a file of ``size`` bytes from its first bytes.

    Raises
    ------
    :exc:`StoreError`
        If this is no spill file, another version, damaged, or cut.
    """
    if not data or data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise StoreError(f"{path}: is no spill file of Bankside")
    if len(data) < HEADER_USED:
        raise StoreError(f"{path}: is cut: it ends in its header, after {len(data)} bytes")
    _, version, header_bytes, *numbers, identity, file_bytes = _HEADER.unpack_from(data)
    if version != VERSION:
        raise StoreError(f"{path}: has version {version} of the format; this Bankside reads version {VERSION}")
    if _CRC.unpack_from(data, _HEADER.size)[0] != zlib.crc32(data[: _HEADER.size]):
        raise StoreError(f"{path}: its header is damaged: the checksum is wrong")
    try:
        geometry = Geometry(*numbers)
    except StoreError as error:
        raise StoreError(f"{path}: its header is damaged: {error}") from None
    if header_bytes != HEADER_BYTES or file_bytes != geometry.file_bytes:
        raise StoreError(f"{path}: its header is damaged: its sizes contradict each other")
    if size < file_bytes:
        raise StoreError(f"{path}: is cut: it has {size} of {file_bytes} bytes")
    if size > file_bytes:
        raise StoreError(
            f"{path}: has {size - file_bytes} bytes behind the last extent; a spill file of this geometry has "
            f"{file_bytes}"
        )
    return geometry, identity


def index_block(geometry: Geometry, identity: int, block: int, commit: int, records: np.ndarray) -> bytes:
    """A block of the index with the records of its extents, ``granularity_bytes`` long."""
    body = _BLOCK.pack(_BLOCK_MAGIC, identity, block, len(records), commit) + records.astype(RECORD).tobytes()
    body = body.ljust(geometry.granularity_bytes - _CRC.size, b"\0")
    return body + _CRC.pack(zlib.crc32(body))


def _read_block(geometry: Geometry, identity: int, block: int, data: bytes) -> tuple[int, np.ndarray] | None:
    """Commit number and records of a copy of a block; None if it is not whole."""
    if _CRC.unpack_from(data, len(data) - _CRC.size)[0] != zlib.crc32(data[: -_CRC.size]):
        return None
    magic, owner, number, count, commit = _BLOCK.unpack_from(data)
    mine = geometry.records_of(block)
    if (magic, owner, number, count) != (_BLOCK_MAGIC, identity, block, mine.stop - mine.start):
        return None
    return commit, np.frombuffer(data, RECORD, count, _BLOCK.size)


def read_index(
    geometry: Geometry, identity: int, copies: tuple[bytes, bytes], path: str
) -> tuple[np.ndarray, np.ndarray]:
    """Records of all extents, and the number of the last commit of every block.

    Raises
    ------
    :exc:`StoreError`
        If both copies of a block are damaged, or the records contradict each other or the geometry.
    """
    records, commits = geometry.empty_index(), np.zeros(geometry.index_blocks, np.int64)
    step = geometry.granularity_bytes
    for block in range(geometry.index_blocks):
        found = [_read_block(geometry, identity, block, copy[block * step : (block + 1) * step]) for copy in copies]
        whole = [(one, copy) for copy, one in enumerate(found) if one is not None]
        if not whole:
            raise StoreError(f"{path}: block {block} of its index is damaged in both copies")
        (commit, mine), copy = max(whole, key=lambda one: one[0][0])
        if commit % 2 != copy or len(whole) == 2 and abs(whole[0][0][0] - whole[1][0][0]) != 1:
            raise StoreError(f"{path}: block {block} of its index is damaged: its copies are not of successive commits")
        records[geometry.records_of(block)], commits[block] = mine, commit
    owned = records["request"] != FREE
    rows = records["rows"]
    wrong = owned & (
        (rows > geometry.extent_tokens)
        | (rows % geometry.granule_rows != 0)
        | (rows == 0)
        | (records["part"] >= geometry.extents)
    ) | ~owned & (rows != 0)
    if wrong.any():
        raise StoreError(
            f"{path}: its index is damaged: the record of extent {int(np.argmax(wrong))} is no possible one"
        )
    owners = records[owned][["request", "head", "part"]]
    unique, count = np.unique(owners, return_counts=True)
    if len(unique) != len(owners):
        request, head, part = unique[count > 1][0].tolist()
        raise StoreError(f"{path}: its index is damaged: two extents are part {part} of request {request}, head {head}")
    return records, commits
