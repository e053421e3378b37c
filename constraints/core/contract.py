"""The contract of a unit: layouts of its ports, workload and result of its bench, and where its parts are.

A unit is a module in ``constraints/units`` that ends with a :class:`Unit`; one line of the entry points ``bankside.units``
names that object. Generators make their ports from :class:`Port`, benches pack and unpack payloads with :class:`Layout`.
``bankside sim`` has the options of the unit's :class:`Workload`; records, text and pages follow from its
:class:`SimResult`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, get_args, get_origin

import numpy as np
from pydantic import Field as Key

from .document import Strict
from .errors import ConfigError, nearest
from .formats import FloatFormat, IntegerFormat

__all__ = [
    "AttentionWorkload",
    "Field",
    "Layout",
    "MemoryTiming",
    "NumericResult",
    "Option",
    "Port",
    "RateResult",
    "Row",
    "Run",
    "SimResult",
    "Trial",
    "Unit",
    "UnitConfig",
    "Workload",
    "memory_port",
    "verdict_text",
]


# ---- Layouts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """Bits of a payload that belong together.

    Attributes
    ----------
    name : :class:`str`
        Empty for a payload that is a single field.
    bits : :class:`int`
        Bits of the whole field.
    meaning : :class:`str`
        Text for the unit's description.
    count : :class:`int`
        Number of equal elements in the field, the first in the lowest bits.
    number : :class:`FloatFormat`, :class:`IntegerFormat` or None
        Format of an element; waveforms show floating-point numbers.
    kinds : :class:`enum.IntEnum` or None
        Names of the field's values.
    """

    name: str
    bits: int
    meaning: str
    count: int = 1
    number: FloatFormat | IntegerFormat | None = None
    kinds: type[IntEnum] | None = None

    @property
    def element_bits(self) -> int:
        return self.bits // self.count

    @property
    def signed(self) -> bool:
        return isinstance(self.number, IntegerFormat) and self.number.signed


@dataclass(frozen=True)
class Layout:
    """Fields of a payload, the lowest first.

    Packed payloads are uint8 arrays of shape ``(items, payload_bytes)``, the least significant byte first.
    """

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, *fields: Field) -> Layout:
        return cls(fields)

    @classmethod
    def plain(cls, bits: int, *, count: int = 1, number: FloatFormat | IntegerFormat | None = None) -> Layout:
        """A payload without fields."""
        return cls((Field("", bits, "", count, number),))

    @classmethod
    def numbers(cls, fmt: FloatFormat, count: int) -> Layout:
        """A payload of ``count`` numbers side by side."""
        return cls.plain(count * fmt.width, count=count, number=fmt)

    @property
    def is_plain(self) -> bool:
        return len(self.fields) == 1 and not self.fields[0].name

    @property
    def bits(self) -> int:
        return sum(field.bits for field in self.fields)

    @property
    def payload_bytes(self) -> int:
        return -(-self.bits // 8)

    @cached_property
    def widths(self) -> dict[str, int]:
        """Bits of every field by name, the lowest first."""
        return {field.name: field.bits for field in self.fields}

    def offset(self, name: str) -> int:
        """Lowest bit of a field."""
        low = 0
        for field in self.fields:
            if field.name == name:
                return low
            low += field.bits
        raise KeyError(name)

    def items(self) -> Iterator[tuple[int, Field]]:
        """Every field with its lowest bit."""
        low = 0
        for field in self.fields:
            yield low, field
            low += field.bits

    def pack(self, columns: Mapping[str, Any] | None = None, /, **named: Any) -> np.ndarray:
        """Payloads of columns by field.

        A column of shape ``(items,)`` fills the lowest bits of its field. A column of shape ``(items, ...)`` has
        ``count`` elements for each item. A field without a column is 0; a scalar is the same in every item.

        Raises
        ------
        :exc:`ValueError`
            If a field is unknown, or a number does not fit.
        """
        given = {**(columns or {}), **named}
        for name in given:
            if name not in {field.name for field in self.fields}:
                raise ValueError(f"Field must be one of {[field.name for field in self.fields]}, not {name!r}")
        arrays = {name: np.asarray(column) for name, column in given.items()}
        lengths = {len(array) for array in arrays.values() if array.ndim}
        if len(lengths) > 1:
            raise ValueError(f"Columns must be of one length, not of {sorted(lengths)}")
        items = lengths.pop() if lengths else 1
        # Nine spare bytes at the end: the last word of eight bytes reaches beyond the payload.
        out = np.zeros((items, self.payload_bytes + 9), np.uint8)
        for low, field in self.items():
            if field.name not in arrays:
                continue
            column = np.broadcast_to(arrays[field.name], (items, *arrays[field.name].shape[1:]))
            if column.ndim > 1:
                _put_elements(out, low, field, column.reshape(items, field.count))
            else:
                _put(out, low, min(field.bits, 64), field, column)
        return out[:, : self.payload_bytes]

    def unpack(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Columns of payloads: int64, shape ``(items,)``, or ``(items, count)`` for a field of several elements.

        An element of 64 bits or more comes as the int64 of its lowest 64 bits.
        """
        padded = np.zeros((len(rows), self.payload_bytes + 9), np.uint8)
        padded[:, : self.payload_bytes] = rows
        out = {}
        for low, field in self.items():
            width = field.element_bits
            elements = np.stack(
                [_take(padded, low + n * width, width, field.signed) for n in range(field.count)], axis=1
            )
            out[field.name] = elements if field.count > 1 else elements[:, 0]
        return out

    def lowest(self, rows: np.ndarray, name: str, bits: int) -> np.ndarray:
        """The lowest ``bits`` (63 at most) of a field of packed payloads: int64, shape ``(items,)``."""
        padded = np.zeros((len(rows), self.payload_bytes + 9), np.uint8)
        padded[:, : self.payload_bytes] = rows
        return _take(padded, self.offset(name), bits, False)

    def word(self, **values: int) -> int:
        """One payload as an integer of any width; a field that is not given is 0."""
        word = 0
        for low, field in self.items():
            value = values.pop(field.name, 0)
            if field.signed and value < 0:
                value += 1 << field.bits
            if not 0 <= value < 1 << field.bits:
                raise ValueError(f"{field.name or 'payload'} has {field.bits} bits, not enough for {value}")
            word |= value << low
        if values:
            raise ValueError(
                f"Field must be one of {[field.name for field in self.fields]}, not {next(iter(values))!r}"
            )
        return word

    def rows(self, words: Any) -> np.ndarray:
        """Payloads of integers of any width, as :meth:`word` makes them."""
        size = self.payload_bytes
        return np.frombuffer(b"".join(int(word).to_bytes(size, "little") for word in words), np.uint8).reshape(-1, size)


def _put_elements(out: np.ndarray, low: int, field: Field, column: np.ndarray) -> None:
    width = field.element_bits
    if width in (8, 16, 32) and low % 8 == 0:  # whole bytes: as they lie in memory
        _check_fits(field, column, width)
        raw = np.ascontiguousarray(column).astype(f"<u{width // 8}").view(np.uint8)
        out[:, low // 8 : low // 8 + field.bits // 8] = raw.reshape(len(column), field.bits // 8)
        return
    for n in range(field.count):
        _put(out, low + n * width, width, field, column[:, n])


def _check_fits(field: Field, column: np.ndarray, width: int) -> None:
    if width >= 64 or not len(column):
        return
    least, most = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if field.signed else (0, (1 << width) - 1)
    if column.min() < least or column.max() > most:
        raise ValueError(
            f"{field.name or 'payload'}: numbers must be in {least}..{most}, not {column.min()}..{column.max()}"
        )


def _put(out: np.ndarray, low: int, width: int, field: Field, column: np.ndarray) -> None:
    """Numbers of at most 64 bits at bit ``low``."""
    _check_fits(field, column, width)
    bits = column.astype(np.int64, copy=False).view(np.uint64) if column.dtype.kind == "i" else column.astype(np.uint64)
    if width < 64:
        bits = bits & np.uint64((1 << width) - 1)
    first, shift = divmod(low, 8)
    out[:, first : first + 8] |= (bits << np.uint64(shift)).astype("<u8").reshape(-1, 1).view(np.uint8)
    if shift:
        out[:, first + 8] |= (bits >> np.uint64(64 - shift)).astype(np.uint8)


def _take(padded: np.ndarray, low: int, width: int, signed: bool) -> np.ndarray:
    width = min(width, 64)
    first, shift = divmod(low, 8)
    bits = np.ascontiguousarray(padded[:, first : first + 8]).view("<u8")[:, 0].astype(np.uint64) >> np.uint64(shift)
    if shift:
        bits |= padded[:, first + 8].astype(np.uint64) << np.uint64(64 - shift)
    if width == 64:
        return bits.view(np.int64)
    values = (bits & np.uint64((1 << width) - 1)).astype(np.int64)
    return values << (64 - width) >> (64 - width) if signed else values


@dataclass(frozen=True)
class Port:
    """A port of a unit.

    Attributes
    ----------
    flow : ``"in"`` or ``"out"``
        Direction of the payload.
    stream : :class:`bool`
        Whether it is a ready/valid stream; else it is a signal.
    """

    name: str
    flow: Literal["in", "out"]
    layout: Layout
    meaning: str
    stream: bool = True

    @property
    def is_input(self) -> bool:
        return self.flow == "in"


class UnitConfig(Strict):
    """The validated configuration of a unit, with its ports and its target clock.

    ``clock_mhz`` is a key of the configuration, or a property if the clocks of the parts decide it.
    """

    if TYPE_CHECKING:

        @property
        def clock_mhz(self) -> float: ...

    def ports(self) -> tuple[Port, ...]:
        """All ports of the unit's module except clock and reset, in the order of the generator's signature."""
        raise NotImplementedError


# ---- Workloads and results of benches ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """An option of ``bankside sim``: a key of a unit's workload."""

    name: str
    kind: type
    default: Any
    least: int | None
    most: int | None
    description: str
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


class Workload(Strict):
    """The work that a unit's bench simulates. Every key is an option of ``bankside sim`` with its bounds and
    description."""

    @classmethod
    def options(cls) -> dict[str, Option]:
        found = {}
        for name, key in cls.model_fields.items():
            kind: Any = key.annotation
            choices: tuple[str, ...] = ()
            if get_origin(kind) is Literal:
                kind, choices = str, get_args(kind)
            elif not isinstance(kind, type):  # X | None
                kind = next(part for part in get_args(kind) if part is not type(None))
            bounds = {
                mark: getattr(rule, mark) for rule in key.metadata for mark in ("ge", "le") if hasattr(rule, mark)
            }
            found[name] = Option(
                name, kind, key.default, bounds.get("ge"), bounds.get("le"), key.description or "", choices
            )
        return found

    def check(self, config: Any) -> None:
        """Raise :exc:`ConfigError` if a unit of this configuration can't run it; called before the simulation
        starts."""


def memory_port(default: str) -> Any:
    """The key ``memory`` of a workload."""
    return Key(default=default, description="memory whose timing brings the data: a name or a YAML file")


class AttentionWorkload(Workload):
    """A decode step of local attention."""

    memory: str = memory_port("hbm3-5.2")
    tokens: int = Key(default=512, ge=0, le=1 << 30, description="tokens of the measured step")
    head_dim: int = Key(default=128, ge=1, le=1 << 16, description="head dimension")


#: A line of a result for people: name and text.
Row = tuple[str, str]


def verdict_text(result: SimResult, right: str = "bit-exact", wrong: str = "MISMATCHES") -> str:
    return right if not result.mismatches else f"{result.mismatches} {wrong}"


class Run(Strict):
    """One run of a campaign: vectors compared, vectors that differ, clocks simulated, and cycles that the unit
    counts."""

    vectors: int = Key(ge=0)
    mismatches: int = Key(ge=0)
    clocks: int = Key(ge=0)
    cycles: int | None = None
    stall_cycles: int | None = None


class SimResult(Strict):
    """Measurements of a bench: the keys of every bench, and the unit's own figures.

    ``cycles``, ``ideal_cycles``, ``stall_cycles`` and ``utilisation``, if a unit has them, describe the measured work
    at full rate.
    """

    vectors: int = Key(ge=0, description="results that were compared, in all runs")
    mismatches: int = Key(ge=0, description="results that differ from the functional model")
    first_mismatch: str | None = Key(default=None, description="the first result that differs")
    notes: list[str] = Key(default=[], description="further observations of the bench")
    runs: dict[str, Run] = Key(description="each run of the campaign")
    waves: str | None = Key(default=None, description="file of the waveform")
    clocks: int = Key(ge=0, description="clocks simulated, in all runs")
    clocks_per_second: int | None = Key(default=None, description="speed of the simulation")

    #: Keys that do not describe the unit. A record does not hold them.
    UNRECORDED: ClassVar[tuple[str, ...]] = ("first_mismatch", "notes", "waves", "clocks_per_second")

    def document(self) -> dict[str, Any]:
        """Plain data for JSON."""
        out = self.model_dump(mode="json")
        out["runs"] = {
            name: {key: value for key, value in run.items() if value is not None} for name, run in out["runs"].items()
        }
        return out

    def recorded(self) -> dict[str, Any]:
        """Plain data for a record."""
        return {key: value for key, value in self.document().items() if key not in self.UNRECORDED}

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        """Lines for people, the unit's own."""
        return [("compared", f"{self.vectors} results in {len(self.runs)} runs: {verdict_text(self)}")]

    def rows(self, workload: Mapping[str, Any], record: str | None) -> list[Row]:
        """All lines for people."""
        rows = self.figures(workload)
        if self.clocks_per_second:
            rows.append(("speed", f"{self.clocks} clocks at {self.clocks_per_second} per second"))
        rows.append(("record", record or "not written"))
        return [*rows, *([("waveform", self.waves)] if self.waves else [])]


class NumericResult(SimResult):
    """Measurements of a bench whose results are rounded numbers."""

    max_abs_error: float = Key(description="against binary64 on the same bits")
    rms_error: float = Key(description="root mean square of that error")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            ("error", f"max {self.max_abs_error:.3g}, rms {self.rms_error:.3g} against binary64"),
        ]


class RateResult(SimResult):
    """Measurements of a bench that can offer an input at every clock."""

    cycles: int = Key(description="of the measured work at full rate")
    ideal_cycles: int = Key(description="items of the busiest part, one a clock")
    utilisation: float = Key(description="`ideal_cycles` over `cycles`")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            (
                "data at every clock",
                f"{self.cycles} cycles, ideal {self.ideal_cycles}, utilisation {self.utilisation:.4f}",
            ),
        ]


class MemoryTiming(Strict):
    """The measured work with data that arrive at the cycles of a memory."""

    memory: str = Key(description="its name")
    cycles: int = Key(description="of the work")
    time_ns: float = Key(description="the same in ns")
    memory_time_ns: float = Key(description="of the memory's commands alone")
    stall_cycles: int = Key(description="clocks in which a beat that a stream offered within a phase was not taken")
    utilisation: float = Key(description="`ideal_cycles` over `cycles`")

    @property
    def row(self) -> Row:
        """A line for people."""
        return (
            f"data from {self.memory}",
            f"{self.cycles} cycles ({self.time_ns:.0f} ns; the memory takes "
            f"{self.memory_time_ns:.0f} ns), {self.stall_cycles} stall cycles, utilisation {self.utilisation:.4f}",
        )


@dataclass(frozen=True)
class Trial:
    """The smallest hardware of a unit that has all its parts, and a short workload. A quick look builds and runs them.

    Attributes
    ----------
    changes : keys of the default preset that are replaced, with dots for keys of parts
    workload : keys of the workload that are replaced
    """

    changes: Mapping[str, Any] = dataclass_field(default_factory=dict)
    workload: Mapping[str, Any] = dataclass_field(default_factory=dict)

    @property
    def sets(self) -> list[str]:
        """The changes as ``--set`` takes them."""
        return [f"{key}={value}" for key, value in self.changes.items()]

    def within(self, part: str) -> dict[str, Any]:
        """The same changes for a unit that contains this unit as a part."""
        return {f"{part}.{key}": value for key, value in self.changes.items()}


# ---- Units -----------------------------------------------------------------------------------------------------------


Config = TypeVar("Config", bound=UnitConfig, covariant=True)


@dataclass(frozen=True)
class Unit(Generic[Config]):
    """A unit. Generator, model and bench are named ``module:object`` and imported when they are needed, so that listing
    needs no Amaranth and generating needs no simulator.

    Attributes
    ----------
    name, summary, source : for people
    module : name of the Verilog module
    config : the validated configuration; its ``ports()`` are the unit's :class:`Port` objects
    presets : configurations by name; the first is the default
    generator : component class, called with a configuration
    model : the functional model
    bench : function ``(SimRequest) -> SimResult``
    workload, result : of the bench
    page : documentation page
    published : presets whose Verilog the repository carries; None: all
    trial : the smallest hardware and a short workload; without it, the default preset and workload
    program : function that makes the program of memory commands of a decode step for the unit; None: the unit has none
    fpga : family of FPGAs for which the unit is written; its presets then have records of this mapping too
    memories : memory beside the unit, by preset, for units with a ``program``; others need a memory by name
    """

    name: str
    summary: str
    source: str
    module: str
    config: type[Config]
    presets: Mapping[str, Config]
    generator: str
    model: str
    bench: str
    workload: type[Workload]
    result: type[SimResult]
    page: str
    published: tuple[str, ...] | None = None
    trial: Trial = Trial()
    program: str | None = None
    fpga: str | None = None
    memories: Mapping[str, str] = dataclass_field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def published_presets(self) -> tuple[str, ...]:
        return tuple(self.presets) if self.published is None else self.published

    def load_generator(self) -> Callable[[Strict], Any]:
        return _named(self.generator)

    def load_model(self) -> Callable[..., Any]:
        return _named(self.model)

    def load_program(self) -> Callable[..., Any]:
        """The function :attr:`program`.

        Raises
        ------
        :exc:`ConfigError`
            If the unit has no program.
        """
        if self.program is None:
            raise ConfigError(f"{self.name} has no program of memory commands to time: other units bring its data")
        return _named(self.program)

    def load_bench(self) -> Callable[..., SimResult]:
        return _named(self.bench)

    def preset(self, name: str | None) -> tuple[str, Config]:
        """A preset by name; the default one for None.

        Raises
        ------
        :exc:`ConfigError`
            If the unit has no preset of this name.
        """
        if name is None:
            name = next(iter(self.presets))
        if name not in self.presets:
            raise ConfigError(nearest(f"preset of {self.name}", name, self.presets))
        return name, self.presets[name]


def _named(path: str) -> Any:
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)
