"""Sources that a check may read, and the answer that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...constraints.core.errors import ConfigError
from ...constraints.core.records import Kind, Measurement, Outcome, Record
from ...constraints.memory import Memory, load_memory
from ..systems import MissingRecord, RecordSource
from .category import Source
from .difference import Difference
from .verdict import Judgement

__all__ = ["MAX_TOLERANCE", "Check", "Checks", "Differ", "Evidence", "Finding", "NotCheckable"]

#: Largest tolerance of a check: a reader would not call values agreeing that differ by more than a quarter.
MAX_TOLERANCE = 0.25

Value = TypeVar("Value")


class NotCheckable(Exception):
    """A claim that can't be checked here; the message is the reason."""


@dataclass(frozen=True)
class Finding:
    """Our value for a claim.

    Attributes
    ----------
    ours
        In the unit and the shape of the claim's value; a part may be None.
    basis : :class:`str`
        The sources of the value.
    why : :class:`str`
        Why the value differs from the paper's, or which parts it leaves out.
    tolerance : :class:`float` or mapping
        Largest relative difference that counts as ``within``; see :func:`judge`.

    Raises
    ------
    :exc:`ValueError`
        For a tolerance above :data:`MAX_TOLERANCE`.
    """

    ours: Any
    basis: str
    why: str = ""
    tolerance: float | Mapping[str, float] = 0.0

    def __post_init__(self) -> None:
        for tolerance in self.tolerance.values() if isinstance(self.tolerance, Mapping) else [self.tolerance]:
            if not 0 <= tolerance <= MAX_TOLERANCE:
                raise ValueError(f"a tolerance must be from 0 to {MAX_TOLERANCE}, not {tolerance:g}")


Check = Callable[["Evidence", str], Finding]

#: Says why a value is off, after the verdict: evidence, id of the claim, our value, and the judgement of it.
Differ = Callable[["Evidence", str, Any, Judgement], Difference]


class Checks(dict[str, Check]):
    """Checks by the id of their claim.

    Attributes
    ----------
    sources : mapping of :class:`str` to set of :class:`Source`
        By claim, the sources that its check declares.
    differs : mapping of :class:`str` to callable
        By claim, the function that says why our value is off.
    """

    def __init__(self, checks: Mapping[str, Check] | None = None) -> None:
        super().__init__(checks or {})
        known = checks if isinstance(checks, Checks) else None
        self.sources: dict[str, frozenset[Source]] = dict(known.sources) if known else {}
        self.differs: dict[str, Differ] = dict(known.differs) if known else {}

    def of(self, *identifiers: str, by: Source | Iterable[Source]) -> Callable[[Check], Check]:
        """Decorator: the function checks these claims. It receives the evidence and the id of one claim.

        ``by`` are the sources that show our value. They decide the :func:`category` of the claim. A function that only
        raises :exc:`NotCheckable` has none: ``by=()``.
        """
        sources = frozenset([by] if isinstance(by, Source) else by)

        def register(function: Check) -> Check:
            for identifier in identifiers:
                if identifier in self:
                    raise ValueError(f"claim '{identifier}' has two checks")
                self[identifier] = function
                self.sources[identifier] = sources
            return function

        return register

    def off(self, *identifiers: str) -> Callable[[Differ], Differ]:
        """Decorator: the function says why our values of these claims are off. It is called only if one is."""

        def register(function: Differ) -> Differ:
            for identifier in identifiers:
                if identifier in self.differs:
                    raise ValueError(f"claim '{identifier}' has two causes")
                self.differs[identifier] = function
            return function

        return register


class _Noted:
    """A source of records that notes each look-up."""

    def __init__(self, records: RecordSource, used: set[Source]) -> None:
        self._records, self._used = records, used

    def find(self, measurement: Measurement) -> Record | None:
        self._used.add(Source.RECORD)
        return self._records.find(measurement)


@dataclass
class Evidence:
    """Sources of our values. Results are kept for all claims that share them.

    Attributes
    ----------
    records
        Where measurement records of units are looked up.
    modules : callable (unit, preset) -> names
        Names of the module instances in a unit's Verilog, and the widths of its ports by name.
    progress : callable
        Receives a few words about an expensive computation when it begins.
    made : mapping of :class:`Measurement` to :class:`Outcome`
        Measurements that were tried, and their outcomes.
    used : set of :class:`Source`
        Records and Verilog, as far as the check at work has read them.
    """

    records: RecordSource
    modules: Callable[[str, str], tuple[list[str], Mapping[str, int]]] | None = None
    progress: Callable[[str], None] = lambda text: None
    kept: dict[Any, Any] = field(default_factory=dict)
    made: dict[Measurement, Outcome] = field(default_factory=dict)
    used: set[Source] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.records = _Noted(self.records, self.used)

    def once(self, key: Any, make: Callable[[], Value]) -> Value:
        """The result of ``make()``, which is called only for the first use of ``key``. An error is kept too, and so are the
        sources of the result."""
        if key not in self.kept:
            before = frozenset(self.used)
            self.used.clear()
            value, error = None, None
            try:
                value = make()
            except MissingRecord:  # it may be there the next time
                raise
            except (NotCheckable, ConfigError) as failed:
                error = failed
            finally:
                used = frozenset(self.used)
                self.used |= before
            self.kept[key] = value, error, used
        value, kept, used = self.kept[key]
        self.used |= used
        if kept is not None:
            raise kept
        return value

    def memory(self, name: str) -> Memory:
        return load_memory(name)

    def record(self, unit: str, preset: str, config: Any, kind: Kind, **workload: Any) -> Record:
        """A measurement of a unit's preset: a synthesis with the built-in library, or a simulation.

        The simulation has ``workload`` and otherwise the unit's defaults.

        Raises
        ------
        :exc:`MissingRecord`
            If it has not been made.
        """
        measurement = Measurement.of(kind, unit, config, preset=preset, **workload)
        found = self.records.find(measurement)
        if found is None:
            raise MissingRecord(f"{unit} {preset}", [measurement])
        return found

    def instances(self, unit: str, preset: str) -> tuple[list[str], Mapping[str, int]]:
        """Module instances and port widths of a unit's published Verilog."""
        if self.modules is None:
            raise NotCheckable("needs the generated Verilog")
        self.used.add(Source.VERILOG)
        modules = self.modules
        return self.once(("modules", unit, preset), lambda: modules(unit, preset))
