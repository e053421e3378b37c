"""The Python face: units, systems, memories, models and workloads by name, with typed results.

``import bankside as bs`` gives all names of this module; it is imported when the first of them is asked for. Faults
raise the errors of the command line, with the same text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from bankside.constraints.core.contract import SimResult
from bankside.constraints.core.errors import BanksideError, CheckFailed, ConfigError, ToolMissing, nearest
from bankside.constraints.core.registry import UNITS
from bankside.constraints.memory import Memory, available, load_memory
from bankside.models.llm import ModelShape, load_model, model_names
from bankside.models.serving.workloads import load_workload, workload_names
from bankside.models.systems import MissingRecord, system_names

from .hardware.selection import Selection, select
from .provenance.envelope import collecting, enveloped
from .results.result import Result
from .results.serving import Serve, Sweep
from .results.systems import Eval

if TYPE_CHECKING:
    from bankside.constraints.workloads import WorkloadSpec

    from .results.units import Gen, Synth

Made = TypeVar("Made", bound=Result)

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
    "sweep",
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

    def generate(self, output: str | None = None, name: str | None = None) -> Gen:
        """Write Verilog, constraints and a description to a folder; by default as ``bankside gen`` names it."""
        from .studies.generate import generate

        return _noted("gen", lambda: generate(self.selection, output, name))

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

        return _noted("synth", lambda: synthesise(self.selection, library=library, effort=effort, records=records))


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
        asked: Any = {**load, "records": records, "changes": self.changes, **options}
        return _noted("eval", lambda: evaluate(self.name, model, **asked))

    def serve(self, model: str | os.PathLike[str] | ModelShape, workload: str, **options: Any) -> Serve:
        """Serve requests of a named workload or of a log file. ``options`` go to
        :func:`~.studies.serve.serve_requests`."""
        from .studies.serve import serve_requests

        return _noted("serve", lambda: serve_requests(self.name, model, workload, changes=self.changes, **options))

    def sweep(
        self, values: Mapping[str, Sequence[Any]], output: str, *, measure: bool = True, **settings: Any
    ) -> Sweep:
        """Evaluate the system, or serve a workload on it, at every combination of ``values``: see :func:`sweep`."""
        return sweep(self.name, values, output, measure=measure, **{**self.changes, **settings})


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


def sweep(
    target: str,
    values: Mapping[str, Sequence[Any]],
    output: str,
    *,
    sim: bool = False,
    records: str | None = None,
    measure: bool = True,
    workers: int | None = None,
    dask: str | None = None,
    pareto: tuple[str, str] | None = None,
    picture: str | None = None,
    **settings: Any,
) -> Sweep:
    """Evaluate a unit or a system at every combination of ``values``, by key as in ``bankside sweep``.

    ``settings`` are settings of all combinations, such as ``model`` and ``context``; ``sim`` co-simulates a unit too.
    The file ``output`` holds the rows, and a sweep that was cut off continues from it. ``to_frame()`` of the result has
    the rows too.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown target, key or setting, or a file that can't be written.
    """
    from .studies import sweep as study

    axes = []
    for key, each in values.items():
        texts = [_text(value) for value in each]
        if with_comma := [text for text in texts if "," in text]:
            raise ConfigError(f"{key}: a value of a sweep has no comma, as '{with_comma[0]}' has")
        axes.append(f"{key}={','.join(texts)}")
    fixed = {"sim": sim, **{key: _text(value) for key, value in settings.items() if value is not None}}

    def swept() -> Sweep:
        jobs = study.jobs_of(target, axes, settings=fixed, records=records, measure=measure)
        return study.sweep(jobs, output, workers=workers, dask=dask, pareto=pareto, picture=picture)

    return _noted("sweep", swept)


def memory(name: str | os.PathLike[str]) -> Memory:
    """A memory by name or file."""
    return load_memory(name)


def model(name: str | os.PathLike[str]) -> ModelShape:
    """Shape of a language model by name, or of a ``config.json`` or its folder."""
    return load_model(name)


def workload(name: str | os.PathLike[str]) -> WorkloadSpec:
    """Description of a named workload, or of a YAML file."""
    return load_workload(name)


def _noted(command: str, ask: Callable[[], Made]) -> Made:
    """What ``ask`` returns, with the inputs and the tools from which it was made."""
    with collecting():
        made = ask()
        made._document = enveloped(made.to_json(), command)
    return made


def _text(value: Any) -> str:
    """A value as ``--set`` takes it."""
    return json.dumps(value) if isinstance(value, bool | Mapping) else str(value)
