"""Sources that a check may read, and the answer that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...constraints.errors import ConfigError
from ...constraints.memory import Memory, load_memory
from ...constraints.records import Kind, Measurement, Outcome, Record
from ..systems import MissingRecord, RecordSource

__all__ = ["Check", "Checks", "Evidence", "Finding", "NotCheckable"]

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
    interval : :class:`bool`
        Whether the claim is an interval.
    bounds : :class:`bool`
        Whether keys with the word ``max`` or ``min`` are bounds.
    """

    ours: Any
    basis: str
    why: str = ""
    tolerance: float | Mapping[str, float] = 0.0
    interval: bool = False
    bounds: bool = True


Check = Callable[["Evidence", str], Finding]


class Checks(dict[str, Check]):
    """Checks by the id of their claim.

    Attributes
    ----------
    inputs : mapping of :class:`str` to tuple of :class:`str`
        By claim, the other claims whose values its check computes with.
    """

    def __init__(self, checks: Mapping[str, Check] | None = None) -> None:
        super().__init__(checks or {})
        self.inputs: dict[str, tuple[str, ...]] = dict(checks.inputs) if isinstance(checks, Checks) else {}

    def of(self, *identifiers: str, inputs: Iterable[str] = ()) -> Callable[[Check], Check]:
        """Decorator: the function checks these claims. It receives the evidence and the id of one claim.

        ``inputs`` are claims whose values it reads from ``evidence.stated``. :exc:`ValueError` if the function checks one
        of them: a check never sees the value that it is compared with.
        """
        inputs = tuple(inputs)
        for identifier in inputs:
            if identifier in identifiers:
                raise ValueError(f"the check of claim '{identifier}' must not see its value")

        def register(function: Check) -> Check:
            for identifier in identifiers:
                if identifier in self:
                    raise ValueError(f"claim '{identifier}' has two checks")
                self[identifier] = function
                self.inputs[identifier] = inputs
            return function
        return register


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
    stated : mapping of claim to value
        Values of the claims that the check at work names as its inputs.
    """

    records: RecordSource
    modules: Callable[[str, str], tuple[list[str], Mapping[str, int]]] | None = None
    progress: Callable[[str], None] = lambda text: None
    kept: dict[Any, Any] = field(default_factory=dict)
    made: dict[Measurement, Outcome] = field(default_factory=dict)
    stated: Mapping[str, Any] = field(default_factory=dict)

    def once(self, key: Any, make: Callable[[], Value]) -> Value:
        """The result of ``make()``, which is called only for the first use of ``key``. An error is kept too."""
        if key not in self.kept:
            try:
                self.kept[key] = make(), None
            except (NotCheckable, ConfigError) as error:
                if isinstance(error, MissingRecord):  # it may be there the next time
                    raise
                self.kept[key] = None, error
        value, kept = self.kept[key]
        if kept is not None:
            raise kept
        return value

    def memory(self, name: str) -> Memory:
        return load_memory(name)

    def cycles(self, memory: str, timing: str) -> int:
        """A named timing of a memory file in clock cycles."""
        parameters = self.memory(memory).parameters
        if timing not in parameters:
            raise NotCheckable(f"{memory} states no {timing}")
        return parameters[timing]

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
        modules = self.modules
        return self.once(("modules", unit, preset), lambda: modules(unit, preset))
