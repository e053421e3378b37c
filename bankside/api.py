"""The Python face: units, systems, memories, models and workloads by name, with typed results.

``import bankside as bs`` gives all names of this module; it is imported when the first of them is asked for. Faults
raise the errors of the command line, with the same text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bankside.constraints.core.contract import SimResult
from bankside.constraints.core.errors import BanksideError, CheckFailed, ConfigError, ToolMissing, nearest
from bankside.constraints.core.registry import UNITS
from bankside.constraints.memory import Memory, available, load_memory
from bankside.models.llm import ModelShape, load_model, model_names
from bankside.models.serving.workloads import load_workload, workload_names
from bankside.models.systems import MissingRecord, system_names

from .hardware.selection import Selection, select
from .provenance.envelope import collecting, enveloped
from .results.schemas import Eval, Serve, Synth

if TYPE_CHECKING:
    from bankside.constraints.workloads import WorkloadSpec

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
    "names",
    "system",
    "unit",
    "workload",
]


@dataclass(frozen=True)
class UnitHandle:
    """A unit with its configuration."""

    selection: Selection

    def __repr__(self) -> str:
        chosen = self.selection
        changes = "".join(f", {key}={value!r}" for key, value in chosen.changes.items())
        return f"unit({chosen.unit.name!r}, {chosen.closest!r}{changes})"

    @property
    def config(self) -> Any:
        """The configuration, an instance of the unit's own class."""
        return self.selection.config

    @property
    def presets(self) -> list[str]:
        """Names of the unit's presets; the first is the default."""
        return list(self.selection.unit.presets)

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
        from bankside.constraints.core.registry import simulation_result

        from .evidence.measure import require_equal, simulate

        result = simulate(self.selection, seed=seed, records=records, **workload)
        require_equal(result)
        return simulation_result(result)

    def synthesise(self, library: str = "generic", *, effort: str = "balanced", records: str | None = None) -> Synth:
        """Synthesise the unit with a cell library, and keep the record."""
        from .evidence.measure import synthesise

        with collecting():
            result = synthesise(self.selection, library=library, effort=effort, records=records)
            return Synth.model_validate(enveloped(result, "synth"))


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
            result = evaluate(self.name, model, **load, records=records, changes=self.changes, **options)  # type: ignore[arg-type]
            return Eval.model_validate(enveloped(result, "eval"))

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
            result = run(self.name, model, found, policy, outputs, seed=seed, changes=self.changes, log=log, **options)  # type: ignore[arg-type]
            return Serve.model_validate(enveloped(result, "serve"))


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
    """A system by name or file. ``set`` has changed values by dotted key, ``changes`` those whose key has no dot. A value
    may be a :class:`Memory`.

    ``unit`` replaces the configuration of the unit that the key ``unit`` of the system's file names.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown system or key, a value that is not allowed, or a unit that the system's file does not name.
    """
    from bankside.models.systems import load_system
    from bankside.models.systems.registry import read_spec

    keys = {
        key: os.path.abspath(value.file) if isinstance(value, Memory) else value
        for key, value in {**(set or {}), **changes}.items()
    }
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


def names(kind: Literal["memory", "model", "system", "unit", "workload"]) -> list[str]:
    """Names that the function of the same name takes, with names that other packages add.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown kind.
    """
    kinds = {
        "memory": available,
        "model": model_names,
        "system": system_names,
        "unit": lambda: UNITS,
        "workload": workload_names,
    }
    if kind not in kinds:
        raise ConfigError(nearest("kind", kind, kinds))
    return list(kinds[kind]())


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
