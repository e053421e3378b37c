"""The Python face: units, systems, memories, models and workloads by name, with typed results.

``import bankside as bs`` gives all names of this module; it is imported when the first of them is asked for. Faults
raise the errors of the command line, with the same text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bankside.constraints.core.contract import SimResult
from bankside.constraints.core.errors import BanksideError, CheckFailed, ConfigError, ToolMissing
from bankside.constraints.memory import Memory, load_memory
from bankside.models.llm import ModelShape, load_model
from bankside.models.serving.workloads import load_workload
from bankside.models.systems import MissingRecord

from .hardware.selection import Selection, select
from .provenance.envelope import collecting
from .results.serving import Serve
from .results.systems import Eval

if TYPE_CHECKING:
    from bankside.constraints.workloads import WorkloadSpec

    from .results.units import Synth

__all__ = [
    "BanksideError",
    "CheckFailed",
    "ConfigError",
    "MissingRecord",
    "SystemHandle",
    "ToolMissing",
    "UnitHandle",
    "memory",
    "model",
    "system",
    "unit",
    "workload",
]


@dataclass(frozen=True)
class UnitHandle:
    """A unit with its configuration."""

    selection: Selection

    @property
    def config(self) -> Any:
        """The configuration, an instance of the unit's own class."""
        return self.selection.config

    def verilog(self, name: str | None = None) -> str:
        """Verilog of the unit; ``name`` replaces the name of its module."""
        from .hardware.generate import verilog

        return verilog(self.selection, name)

    def simulate(self, *, seed: int = 1, records: str | None = None, **workload: Any) -> SimResult:
        """Co-simulate the unit against its functional model, and keep the record. ``workload`` has the keys of the
        unit's workload, and the result is an instance of the unit's result class.

        Raises
        ------
        :exc:`CheckFailed`
            If an output differs from the model.
        """
        from .evidence.measure import require_equal, simulate

        measured = simulate(self.selection, seed=seed, records=records, **workload).measured
        require_equal(measured)
        return measured

    def synthesise(self, library: str = "generic", *, effort: str = "balanced", records: str | None = None) -> Synth:
        """Synthesise the unit with a cell library, and keep the record."""
        from .evidence.measure import synthesise

        return synthesise(self.selection, library=library, effort=effort, records=records)


@dataclass(frozen=True)
class SystemHandle:
    """A system by name or file, with changed keys of its file."""

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    def evaluate(
        self,
        model: str | os.PathLike[str] | ModelShape,
        *,
        context: int = 4096,
        batch: int | None = None,
        output_tokens: int = 1,
        measure: bool = False,
        records: str | None = None,
        **options: Any,
    ) -> Eval:
        """Time, energy and capacity of decode steps. ``options`` go to :func:`~.studies.evaluate.evaluate`.

        Raises
        ------
        :exc:`MissingRecord`
            If the result needs a measurement that has not been made; ``measure`` makes it.
        """
        from .studies.evaluate import evaluate

        load = {"context": context, "batch": batch, "output_tokens": output_tokens, "measure": measure}
        with collecting():
            return evaluate(self.name, model, **load, records=records, changes=self.changes, **options)  # type: ignore[arg-type]

    def serve(
        self,
        model: str | os.PathLike[str] | ModelShape,
        workload: str,
        *,
        requests: int | None = None,
        rate: float | None = None,
        batch_limit: int = 256,
        seed: int = 1,
        log: Callable[[str], None] = lambda text: None,
        **options: Any,
    ) -> Serve:
        """Serve requests of a named workload or of a log file. ``options`` go to :func:`~.studies.serve.run`."""
        from bankside.models.serving import Policy

        from .studies.serve import Outputs, find_workload, run

        found = find_workload(workload, requests=requests, rate=rate, seed=seed)
        policy, outputs = Policy(batch_limit=batch_limit), Outputs(None, None, None, None)
        with collecting():
            return run(self.name, model, found, policy, outputs, seed=seed, changes=self.changes, log=log, **options)  # type: ignore[arg-type]


def unit(name: str, preset: str | None = None, **changes: Any) -> UnitHandle:
    """A unit by name; ``changes`` are keys of its configuration that differ from the preset's.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown unit, preset or key, or a value that is not allowed.
    """
    return UnitHandle(select(name, preset=preset, sets=[f"{key}={_text(value)}" for key, value in changes.items()]))


def system(
    name: str, *, unit: UnitHandle | None = None, set: Mapping[str, Any] | None = None, **changes: Any
) -> SystemHandle:
    """A system by name or file. ``set`` has changed values by dotted key, ``changes`` those whose key has no dot.

    ``unit`` replaces the configuration of the unit that the key ``unit`` of the system's file names.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown system or key, a value that is not allowed, or a unit that the system's file does not name.
    """
    from bankside.models.systems import load_system
    from bankside.models.systems.registry import read_spec

    keys = {**(set or {}), **changes}
    if unit is not None:
        chosen = unit.selection
        part = read_spec(name)[0].get("unit")
        if not isinstance(part, dict) or "preset" not in part or part.get("unit") != chosen.unit.name:
            raise ConfigError(
                f"{name}: the key 'unit' of its file does not name {chosen.unit.name}; change its keys by set="
            )
        keys = {"unit.preset": chosen.closest, "unit.settings": chosen.changes, **keys}
    load_system(name, keys)
    return SystemHandle(name, keys)


def memory(name: str | os.PathLike[str]) -> Memory:
    """A memory by name or file."""
    return load_memory(name)


def model(name: str | os.PathLike[str]) -> ModelShape:
    """Shape of a language model by name, or of a ``config.json`` or its folder."""
    return load_model(name)


def workload(name: str | os.PathLike[str]) -> WorkloadSpec:
    """Description of a named workload, or of a YAML file."""
    return load_workload(name)


def _text(value: Any) -> str:
    """A value as ``--set`` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
