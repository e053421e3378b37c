"""Delayed writeback as a program: keys and values in a host buffer, spilled in bulk to arrays of a file.

`geometry` has the layout of the file, `files` reads and writes it with direct I/O, `pool` does so beside the caller,
`kv` is the store.
"""

from .files import BlockFile, aligned_buffer
from .geometry import Geometry, StoreError
from .kv import KvStore, Statistics
from .pool import Pool, ThreadPool

__all__ = ["BlockFile", "Geometry", "KvStore", "Pool", "Statistics", "StoreError", "ThreadPool", "aligned_buffer"]
