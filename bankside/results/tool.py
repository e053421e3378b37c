"""Results on the tool itself: its requirements and its cache."""

from __future__ import annotations

from .result import Part, Result, key

__all__ = ["Cache", "CachePart", "CacheSize", "Check", "Doctor"]


class Check(Part):
    name: str = key("name of the tool")
    found: str | None = key("version or path; null if the tool is missing")
    required: bool = key("whether Bankside needs the tool")
    purpose: str = key("use of the tool")
    fix: str | None = key("command that installs it; null if there is none")


class CacheSize(Part):
    folder: str = key("the cache folder")
    size_bytes: int = key("size of all files", "bytes")


class Doctor(Result):
    ok: bool = key("whether all required tools are installed")
    checks: list[Check] = key("a check of each tool")
    cache: CacheSize = key("the cache folder")


class CachePart(Part):
    part: str = key("name of a folder inside the cache folder")
    holds: str = key("description of its contents")
    entries: int = key("number of entries")
    size_bytes: int = key("size of all files", "bytes")
    days_since_use: float | None = key("since the last use of an entry; null without entries", "days")


class Cache(Result):
    folder: str = key("the cache folder")
    parts: list[CachePart] = key("folders inside the cache folder")
    size_bytes: int = key("size of all parts", "bytes")
    removed_entries: int | None = key("with `--prune`: number of removed entries", default=None)
    removed_bytes: int | None = key("with `--prune`: size of the removed entries", "bytes", default=None)
