"""Measurements that belong to the package: the present ones, the missing ones, and whether records are still right."""

from __future__ import annotations

import fnmatch
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from bankside.constraints.core.errors import CheckFailed, ConfigError, nearest
from bankside.constraints.core.records import Kind, Measurement, Outcome, Record, RecordError
from bankside.constraints.core.registry import UNITS

from ..evidence.measure import measurement_of
from ..evidence.records import RecordFolder, completed, made_from
from ..evidence.side_by_side import measure_all
from ..hardware import generate
from ..hardware.selection import Selection, select
from ..results.units import Difference, Records, RecordState

__all__ = ["Row", "Asking", "asked", "check_records", "inventory", "inventory_text", "make_records", "renew", "wanted"]

#: Most rounds of requests: results may lead to requests for further measurements.
MAX_ROUNDS = 8


@dataclass
class Asking:
    """A source of records that notes all requests. Without ``source`` it has no records; a record that can't be trusted
    counts as missing."""

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
    """A measurement and the state of its record.

    Attributes
    ----------
    state : ``"own"``, ``"shipped"``, ``"stale"``, ``"missing"`` or ``"refused"``
        As :class:`Finding`; ``refused``: its record can't be trusted.
    why : :class:`str`
        Reason for a stale or refused record.
    name : :class:`str` or None
        Name of the record.
    """

    measurement: Measurement
    state: str
    why: str = ""
    name: str | None = None

    @property
    def shown(self) -> RecordState:
        return RecordState(command=self.measurement.command, state=self.state, record=self.name, why=self.why)


# What is asked for -----------------------------------------------------------------------------------------------------


def presets(pattern: str = "*") -> list[Measurement]:
    """Co-simulation with the default workload and synthesis with the built-in library of every preset of the units whose
    names match, each configuration once. A unit that is written for an FPGA is also mapped to it."""
    chosen = fnmatch.filter(UNITS, pattern)
    if not chosen:
        raise ConfigError(nearest("unit", pattern, UNITS))
    found = [
        completed(measurement_of(kind, select(name, preset=preset)))
        for name in chosen
        for preset in UNITS[name].presets
        for kind in get_args(Kind)
    ]
    found += [
        completed(measurement_of("synth", select(name, preset=preset), fpga=UNITS[name].fpga))
        for name in chosen
        for preset in UNITS[name].presets
        if UNITS[name].fpga
    ]
    return list(dict.fromkeys(found))


def asked_by_systems(source: Asking) -> None:
    """Let every system look up the records that it needs with every language model: the requests of ``eval``,
    ``serve``, ``compile`` and ``calibrate``."""
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
    """Check every claim of every paper, which takes minutes with records. Without records, each claim requests its
    first measurements only."""
    from bankside.models.papers import Evidence, check_claims, load_paper, paper_names

    from .repro import published_modules

    for name in paper_names():
        check_claims(load_paper(name), Evidence(source, modules=published_modules))


def asked(records: RecordFolder, papers: bool = True) -> list[Measurement]:
    """Measurements that ``eval``, ``calibrate`` and (with ``papers``) ``repro`` look up for the package's systems and
    papers, as far as present records lead."""
    source = Asking(records)
    asked_by_systems(source)
    if papers:
        asked_by_papers(source)
    return list(source.measurements)


def wanted(records: RecordFolder, pattern: str = "*", papers: bool = False) -> list[Measurement]:
    """All measurements that belong to the package, for units whose names match."""
    known = presets(pattern)
    others = (one for one in asked(records, papers) if fnmatch.fnmatch(one.unit, pattern))
    return list(dict.fromkeys([*known, *others]))


# What there is ---------------------------------------------------------------------------------------------------------


def inventory(records: RecordFolder, measurements: Iterable[Measurement]) -> list[Row]:
    """The state of each measurement."""
    return [_row(records, measurement) for measurement in measurements]


def _row(records: RecordFolder, measurement: Measurement) -> Row:
    try:
        found = records.look(measurement)
    except RecordError as error:
        return Row(measurement, "refused", str(error))
    return Row(measurement, found.state, found.why, None if found.record is None else found.record.name)


def make_records(
    records: RecordFolder,
    *,
    pattern: str = "*",
    everything: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Row]:
    """Make the records that are missing, stale or refused, or all of them, in the user's folder of ``records``. This
    includes the measurements for the papers. Results may lead to requests for further measurements, so the requests are
    repeated until all are met.

    A stale record whose sources write the same Verilog as before keeps its results (:func:`renew`).

    Raises
    ------
    :exc:`CheckFailed`
        If some have not been made; all others have.
    """
    records.prepare()
    done: set[Measurement] = set()
    lost: dict[Measurement, Outcome] = {}

    def ended(measurement: Measurement, outcome: Outcome) -> None:
        done.add(measurement)
        if outcome.state != "done":
            lost[measurement] = outcome

    def make(measurements: Iterable[Measurement]) -> bool:
        open_ = [
            row.measurement
            for row in inventory(records, measurements)
            if row.measurement not in done and (everything or row.state not in ("own", "shipped"))
        ]
        if not everything:
            open_ = [one for one in open_ if not renew(records, one, tell)]
        measure_all(open_, str(records.folder), tell, each=ended)
        return bool(open_)

    make(presets(pattern))  # records for most of the next requests
    for _ in range(MAX_ROUNDS):
        known = wanted(records, pattern, papers=pattern == "*")
        if not make(known):
            break
    if lost:
        first, outcome = next(iter(lost.items()))
        raise CheckFailed(
            f"{len(lost)} of {len(done)} measurements were not made; `{first.command}` {outcome.state}: {outcome.why}"
        )
    return inventory(records, known)


def renew(records: RecordFolder, measurement: Measurement, tell: Callable[[str], None] = lambda text: None) -> bool:
    """Give a stale record the digests of today, if only sources of its generator have changed, and they write the Verilog
    that was measured. Its results stay. Returns whether it is renewed."""
    try:
        found = records.look(measurement)
    except RecordError:
        return False
    if found.state != "stale" or found.record is None:
        return False
    whole = completed(measurement)
    selection = Selection(UNITS[whole.unit], whole.preset, whole.config)
    origin = made_from(whole)
    if not found.record.differs_in_hardware_only(origin):
        return False
    record = found.record.of_same_hardware(
        origin, generate.verilog(selection), generate.latency(selection) if whole.kind == "sim" else {}
    )
    if record is None:
        return False
    try:
        records.write(record)
    except RecordError:  # its results lack what results hold today
        return False
    tell(f"`{measurement.command}`: the same Verilog, so the record stays right")
    return True


def check_records(
    records: RecordFolder, measurements: Iterable[Measurement], tell: Callable[[str], None] = lambda text: None
) -> list[Difference]:
    """Repeat all measurements with valid records, and compare. Returns the records that differ and the keys that
    differ; records stay unchanged.

    Raises
    ------
    :exc:`CheckFailed` and others
        If a measurement fails.
    """
    known = {one: record for one in measurements if (record := records.find(one)) is not None}
    differ = []
    with tempfile.TemporaryDirectory(prefix="bankside-records-") as folder:
        measure_all(known, folder, tell)
        fresh = RecordFolder(folder, shipped=Path(folder))
        for measurement, record in known.items():
            again = fresh.find(measurement)
            if again is None:
                raise CheckFailed(f"`{measurement.command}` left no record, because its sources have changed meanwhile")
            keys = ["verilog_sha256"] if again.verilog_sha256 != record.verilog_sha256 else []
            keys += sorted(
                f"results.{key}"
                for key in {*record.results, *again.results}
                if not _same(key, record.results.get(key), again.results.get(key))
            )
            if keys:
                differ.append(Difference(record=record.name, command=measurement.command, differs=keys))
    return differ


def _same(key: str, one: Any, other: Any) -> bool:
    """Whether two results of this key are the same. An error against binary64 (``max_abs_error``, ``rms_error``)
    depends on the exponential and the sums of NumPy, whose last digits depend on the processor. It may differ by 1e-11
    of itself. Everything else is equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(name, one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(key, *pair) for pair in zip(one, other, strict=True))
    if key.endswith("_error") and isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-11)
    return bool(one == other)


def inventory_text(result: Records) -> str:
    """A line for each measurement that has no valid record, the counts, and the records that differ."""
    rows = result.measurements
    lines = [
        f"{row.state:<8} {row.command}" + (f"  ({row.why})" if row.why else "")
        for row in rows
        if row.state not in ("own", "shipped")
    ]
    counts = Counter(row.state for row in rows)
    states = [state for state in ("shipped", "own", "stale", "missing", "refused") if counts[state]]
    lines.append(f"{len(rows)} measurements: " + ", ".join(f"{counts[state]} {state}" for state in states))
    lines += [f"differs  {one.command}  ({', '.join(one.differs)})" for one in result.differ or ()]
    return "\n".join(lines)
