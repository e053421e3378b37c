"""Results on the tool itself: its requirements, its cache, its speed, and the basis of a result."""

from __future__ import annotations

from typing import Literal

from .result import Part, Result, key

__all__ = [
    "Bench",
    "BenchBefore",
    "BenchCompared",
    "BenchMachine",
    "Benchmark",
    "Cache",
    "CachePart",
    "CacheSize",
    "Check",
    "Checked",
    "CheckedPoint",
    "Doctor",
    "Explain",
    "RestsOn",
    "State",
]


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


class CheckedPoint(Part):
    """A row of ``bankside check``."""

    name: str = key("unit, system or paper, and the check")
    ok: bool = key("whether the check passed")
    detail: str = key("observation of a check that passed; reason of a failure")


class Checked(Result):
    name: str = key("unit, system, paper or package")
    ok: bool = key("whether all checks passed")
    checks: list[CheckedPoint] = key("all checks, in the order in which they were made")


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


#: State of something on which a result rests, compared with the result.
State = Literal["same", "changed", "gone", "unknown"]


class RestsOn(Part):
    """Something on which a result rests."""

    kind: str = key("as in `inputs`")
    name: str = key("as in `inputs`")
    state: State = key("`same`, `changed`, `gone` (no longer there), or `unknown`")
    why: str = key("the difference, or the command that makes a record")
    rests_on: list[RestsOn] = key("objects with the same keys")


class Explain(Result):
    result: str = key("file of the result")
    of: str = key("command that made the result")
    rests_on: list[RestsOn] = key("everything on which the result rests")
    made_with: list[RestsOn] = key("the tools, with the same keys")
    unchanged: bool = key("whether every item is the same")
    changed: list[str] = key("items that are not the same")


class Benchmark(Part):
    """A row of ``bankside bench``."""

    benchmark: str = key("name of the benchmark")
    what: str = key("figure of the benchmark")
    value: float = key("value of the figure", gt=0)
    unit: str = key("unit of the value")


class BenchMachine(Part):
    """Where a run was measured."""

    processor: str = key("name of the processor")
    cores: int = key("number of cores", ge=1)
    python: str = key("version of Python")


class BenchBefore(Part):
    """The run of the history with which ``bankside bench --compare`` compares."""

    date: str = key("date of the run")
    version: str = key("version of Bankside")
    commit: str | None = key("commit of the checkout; null without one")
    machine: BenchMachine = key("machine of the run")


class BenchCompared(Part):
    """A figure that both runs have."""

    benchmark: str = key("benchmark, as in `results`")
    what: str = key("figure of the benchmark")
    before: float = key("value in the history")
    now: float = key("value of this run")
    unit: str = key("unit of both values")
    speed: float = key("how many times as fast the run is as the run before")


class Bench(Result):
    results: list[Benchmark] = key("figures of the run")
    before: BenchBefore | None = key("with `--compare`: the last run in the history", default=None)
    comparison: list[BenchCompared] | None = key("with `--compare`: figures that both runs have", default=None)
