"""Measurements that the package should come with: which there are, which are missing, and whether they are still right."""

from __future__ import annotations

import fnmatch
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from bankside.constraints.errors import CheckFailed, ConfigError, nearest
from bankside.constraints.records import Kind, Measurement, Outcome, Record, RecordError

from .measure import measurement_of
from .measuring import measure_all
from .records import RecordFolder, completed
from .registry import UNITS
from .selection import select

__all__ = ["Row", "Asking", "asked", "check_records", "inventory", "inventory_text", "make_records", "wanted"]

#: Times that everything is asked again because answers lead to further questions.
MAX_ROUNDS = 8


@dataclass
class Asking:
    """A source of records that notes what it is asked for; without ``source`` it has no answers, and a record that can't be
    trusted is none."""

    source: RecordFolder | None = None
    measurements: dict[Measurement, None] = field(default_factory=dict)

    def find(self, measurement: Measurement) -> Record | None:
        self.measurements[completed(measurement)] = None
        try:
            return None if self.source is None else self.source.find(measurement)
        except RecordError:
            return None


@dataclass(frozen=True)
class Row:
    """A measurement and what there is for it.

    Attributes
    ----------
    state : ``"own"``, ``"shipped"``, ``"stale"``, ``"missing"`` or ``"refused"``
        As :class:`Finding`; ``refused``: there is a record that can't be trusted.
    why : :class:`str`
        Of a stale or refused one.
    name : :class:`str` or None
        Of the record.
    """

    measurement: Measurement
    state: str
    why: str = ""
    name: str | None = None


# What is asked for -----------------------------------------------------------------------------------------------------


def presets(pattern: str = "*") -> list[Measurement]:
    """Co-simulation with the default workload and synthesis with the built-in library of every preset of the units whose
    names match, each configuration once."""
    chosen = fnmatch.filter(UNITS, pattern)
    if not chosen:
        raise ConfigError(nearest("unit", pattern, UNITS))
    found = [completed(measurement_of(kind, select(name, preset=preset)))
             for name in chosen for preset in UNITS[name].presets for kind in get_args(Kind)]
    return list(dict.fromkeys(found))


def asked_by_systems(source: Asking) -> None:
    """Let every system look up what it needs with every language model that it takes: the questions of ``eval``, ``serve``,
    ``compile`` and ``calibrate``."""
    from bankside.models.llm import load_model, model_names
    from bankside.models.systems import load_system, system_names

    models = [load_model(name) for name in model_names()]
    for system in map(load_system, system_names()):
        for model in models:
            try:
                system.prepare(model, source, False)
            except ConfigError:  # missing, or a model that the system does not take
                continue


def asked_by_papers(source: Asking) -> None:
    """Check every claim of every paper, minutes if there are answers; what one needs first is asked without any."""
    from bankside.models.papers import Evidence, check_claims, load_paper, paper_names

    from .repro import published_modules

    for name in paper_names():
        check_claims(load_paper(name), Evidence(source, modules=published_modules))


def asked(records: RecordFolder, papers: bool = True) -> list[Measurement]:
    """Measurements that the shipped ``eval``, ``calibrate`` and (with ``papers``) ``repro`` look up, as far as the answers
    that there are lead."""
    source = Asking(records)
    asked_by_systems(source)
    if papers:
        asked_by_papers(source)
    return list(source.measurements)


def wanted(records: RecordFolder, pattern: str = "*", papers: bool = False) -> list[Measurement]:
    """Everything that the package should come with, of units whose names match."""
    known = presets(pattern)
    others = (one for one in asked(records, papers) if fnmatch.fnmatch(one.unit, pattern))
    return list(dict.fromkeys([*known, *others]))


# What there is ---------------------------------------------------------------------------------------------------------


def inventory(records: RecordFolder, measurements: Iterable[Measurement]) -> list[Row]:
    """What there is for each measurement."""
    return [_row(records, measurement) for measurement in measurements]


def _row(records: RecordFolder, measurement: Measurement) -> Row:
    try:
        found = records.look(measurement)
    except RecordError as error:
        return Row(measurement, "refused", str(error))
    return Row(measurement, found.state, found.why, None if found.record is None else found.record.name)


def make_records(records: RecordFolder, *, pattern: str = "*", everything: bool = False,
                 tell: Callable[[str], None] = lambda text: None) -> list[Row]:
    """Make the records that are missing, stale or refused, or all of them, in the user's folder of ``records``; what the
    papers ask for included. Answers may lead to further questions: they are asked again until there are no more.

    Raises
    ------
    :exc:`CheckFailed`
        If some have not been made; the others have.
    """
    records.prepare()
    done: set[Measurement] = set()
    lost: dict[Measurement, Outcome] = {}

    def ended(measurement: Measurement, outcome: Outcome) -> None:
        done.add(measurement)
        if outcome.state != "done":
            lost[measurement] = outcome

    def make(measurements: Iterable[Measurement]) -> bool:
        open_ = [row.measurement for row in inventory(records, measurements) if row.measurement not in done
                 and (everything or row.state not in ("own", "shipped"))]
        measure_all(open_, str(records.folder), tell, each=ended)
        return bool(open_)

    make(presets(pattern))  # answers for most of what is asked next
    for _ in range(MAX_ROUNDS):
        known = wanted(records, pattern, papers=pattern == "*")
        if not make(known):
            break
    if lost:
        first, outcome = next(iter(lost.items()))
        raise CheckFailed(f"{len(lost)} of {len(done)} measurements were not made; `{first.command}` {outcome.state}: "
                          f"{outcome.why}")
    return inventory(records, known)


def check_records(records: RecordFolder, measurements: Iterable[Measurement],
                  tell: Callable[[str], None] = lambda text: None) -> list[dict[str, Any]]:
    """Measure again what there are valid records of, and compare: the names of those that differ, and in what. Records
    stay as they are.

    Raises
    ------
    :exc:`CheckFailed` and others
        If a measurement is not made.
    """
    known = {one: record for one in measurements if (record := records.find(one)) is not None}
    differ = []
    with tempfile.TemporaryDirectory(prefix="bankside-records-") as folder:
        measure_all(known, folder, tell)
        fresh = RecordFolder(folder, shipped=Path(folder))
        for measurement, record in known.items():
            again = fresh.find(measurement)
            if again is None:
                raise CheckFailed(f"`{measurement.command}` left no record: its sources have been changed meanwhile")
            keys = ["verilog_sha256"] if again.verilog_sha256 != record.verilog_sha256 else []
            keys += sorted(f"results.{key}" for key in {*record.results, *again.results}
                           if not _same(key, record.results.get(key), again.results.get(key)))
            if keys:
                differ.append({"record": record.name, "command": measurement.command, "differs": keys})
    return differ


def _same(key: str, one: Any, other: Any) -> bool:
    """Whether two results of this key are the same. An error against binary64 (``max_abs_error``, ``rms_error``) hangs on
    the exponential and the sums of NumPy, whose last digits depend on the processor: it may differ by 1e-11 of itself.
    Everything else is equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(name, one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(key, *pair) for pair in zip(one, other, strict=True))
    if key.endswith("_error") and isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-11)
    return bool(one == other)


def inventory_text(rows: Sequence[Row]) -> str:
    """A line for each measurement that has no valid record, and the counts."""
    lines = [f"{row.state:<8} {row.measurement.command}" + (f"  ({row.why})" if row.why else "")
             for row in rows if row.state not in ("own", "shipped")]
    counts = Counter(row.state for row in rows)
    states = [state for state in ("shipped", "own", "stale", "missing", "refused") if counts[state]]
    lines.append(f"{len(rows)} measurements: " + ", ".join(f"{counts[state]} {state}" for state in states))
    return "\n".join(lines)
