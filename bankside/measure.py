"""Measurements of a selected unit: co-simulation, synthesis, memory timing. Each writes its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bankside.constraints.contract import SimResult
from bankside.constraints.document import validate
from bankside.constraints.errors import CheckFailed, ConfigError
from bankside.constraints.records import Record

from . import generate
from .records import RecordFolder, generator_digest
from .registry import workload_options
from .selection import Selection, select
from .trace import Outputs, Setting, write_program, write_view

__all__ = ["require_equal", "simulate", "synthesise", "time_step"]

Progress = Callable[[str], None]


def _header(selection: Selection) -> dict[str, Any]:
    return {"schema": 1, "unit": selection.unit.name, "preset": selection.preset, "config_hash": selection.config_hash,
            "config": selection.config.model_dump(mode="json")}


def _keep(selection: Selection, kind: str, conditions: dict[str, Any], results: dict[str, Any], tools: dict[str, str],
          folder: str | None) -> str:
    record = Record(kind=kind, unit=selection.unit.name, preset=selection.preset,  # type: ignore[arg-type]
                    config=selection.config.model_dump(mode="json"), config_hash=selection.config_hash,
                    conditions=conditions, results=results, tools={**tools, "generator": generator_digest()})
    return RecordFolder(folder).write(record).stem


def simulate(selection: Selection, *, seed: int = 1, waves: bool = False, records: str | None = None,
             progress: Progress = lambda text: None, **workload: Any) -> dict[str, Any]:
    """Run the unit's bench; keys as in ``bankside sim --json``. The record is written only if nothing differs.

    ``workload``: what to simulate, in the terms of ``Unit.workload``, which has the defaults.
    """
    from bankside.constraints.memory import load_memory
    from bankside.cosim.build import simulator_environment, tool_versions
    from bankside.cosim.request import Part, SimRequest

    unit = selection.unit
    options = workload_options(unit)
    for name in workload:
        if name not in options:
            raise ConfigError(f"sim {unit.name} takes no --{name.replace('_', '-')} (valid: "
                              + ", ".join(f"--{key.replace('_', '-')}" for key in options) + ")")
    asked: Any
    if isinstance(unit.workload, type):
        asked = validate(workload, unit.workload, f"sim {unit.name}")
        asked.check(selection.config)  # tell before the long part
        workload = asked.model_dump()
    else:
        asked = workload = {**unit.workload, **workload}
    if "memory" in workload:
        load_memory(workload["memory"])
    simulator_environment()
    RecordFolder(records).prepare()
    wave_file = None
    if waves:
        wave_file = Path("out", "waves", f"{unit.name}-{selection.label}").absolute()
        try:
            wave_file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{wave_file.parent}: {(error.strerror or str(error)).lower()}") from None

    def part(name: str, preset: str, sets: Sequence[str] = ()) -> Part:
        other = select(name, preset=preset, sets=sets)
        return Part(other.config, generate.verilog(other), other.unit.module, generate.latency(other))

    progress(f"generating {unit.name} {selection.label}")
    text = generate.verilog(selection)
    measured_result: Any = unit.load_bench()(SimRequest(
        config=selection.config, verilog=text, module=unit.module, latency=generate.latency(selection),
        model=unit.load_model(), workload=asked, seed=seed, waves=wave_file, progress=progress, part=part))
    result: dict[str, Any] = measured_result.document() if isinstance(measured_result, SimResult) else measured_result
    tools = {**generate.tool_versions(), **tool_versions()}
    shown = {key: memory_label(value) if key == "memory" else value for key, value in workload.items()}
    record = None
    # Vectors of a file say nothing of the unit that anyone else could find again.
    if not result["mismatches"] and workload.get("vectors") is None:
        measured = {k: v for k, v in result.items()
                    if k not in ("first_mismatch", "differences", "notes", "waves", "clocks_per_second")}
        conditions = {key: value for key, value in shown.items() if value is not None}
        record = _keep(selection, "sim", {**conditions, "seed": seed}, measured, tools, records)
    if "vectors" in shown:  # the result's key of that name counts them
        shown["vectors_file"] = shown.pop("vectors")
    return {**_header(selection), **shown, "seed": seed, **result, "record": record, "tools": tools}


def memory_label(memory: str) -> str:
    return Path(memory).stem if memory.endswith((".yaml", ".yml")) else memory


def synthesise(selection: Selection, *, library: str = "generic", liberty: str | None = None, effort: str = "balanced",
               records: str | None = None, progress: Progress = lambda text: None) -> dict[str, Any]:
    """Map the unit to a library; keys as in ``bankside synth --json``."""
    from .synthesis import flow, libraries

    cells = libraries.from_file(liberty) if liberty is not None else libraries.get(library)
    RecordFolder(records).prepare()
    progress(f"generating {selection.unit.name} {selection.label}")
    text = generate.verilog(selection)
    progress(f"mapping to {cells.name} (a minute for a large unit)")
    synthesis = flow.synthesise(text, selection.unit.module, cells, effort=effort, progress=progress).as_dict()
    tools = {**generate.tool_versions(), **synthesis.pop("tools")}
    synthesis.pop("unit", None)
    measured = {k: v for k, v in synthesis.items() if k != "critical_path"}
    target = selection.config.clock_mhz  # type: ignore[attr-defined]
    record = _keep(selection, "synth", {"library": synthesis["library"], "effort": effort}, measured, tools, records)
    return {**_header(selection), **synthesis, "target_clock_mhz": target, "record": record, "tools": tools}


def time_step(selection: Selection, *, memory: str, tokens: int, head_dim: int, queries: int, refresh: bool,
              power_limit: bool, outputs: Outputs | None = None) -> dict[str, Any]:
    """Memory timing of one channel's reads for a decode step; keys as in ``bankside time --json``."""
    from bankside.constraints.memory import load_memory
    from bankside.constraints.units.pam_pu import Step
    from bankside.models.memory import time_program
    from bankside.models.pam.program import attention_program

    device = load_memory(memory)
    steps = [Step(tokens, head_dim, more=number < queries - 1) for number in range(queries)]
    program = attention_program(selection.config, device, steps)  # type: ignore[arg-type]
    outputs = outputs or Outputs()
    outputs.check()
    timing = time_program(program, device, refresh=refresh, power_limit=power_limit)
    files: dict[str, Any] = {"timeline": None, "export": None}
    if outputs.log:
        from bankside.models.memory.issue_log import engine_log

        log = engine_log(program, timing.memory, timing.cycles, outputs.first, outputs.last, refresh=refresh)
        files["timeline"] = write_view(log, f"{selection.unit.name} {selection.label}, {tokens} tokens a bank", outputs)
    if outputs.export is not None:
        files["export"] = write_program(program, outputs, device, Setting(power_limit=power_limit))
    return {**_header(selection), "memory": device.name, "tokens": tokens, "head_dim": head_dim, "queries": queries,
            "refresh": refresh, "power_limit": power_limit, "cycles": int(timing.cycles),
            "time_ns": round(float(timing.time_ns), 3), "commands": {k: int(v) for k, v in timing.commands.items()},
            "energy_pj": timing.energy_pj.get("total"), "energy_breakdown_pj": timing.energy_pj or None, **files,
            "tools": generate.tool_versions()}


def require_equal(result: dict[str, Any]) -> None:
    """:exc:`CheckFailed` if a simulation found results that differ from the model's."""
    if result["mismatches"]:
        raise CheckFailed(f"{result['mismatches']} of {result['vectors']} results differ; first: "
                          f"{result['first_mismatch']}")
