"""Measurements of a selected unit: co-simulation, synthesis, memory timing. Each writes its record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankside.constraints.core import registry
from bankside.constraints.core.contract import SimResult, Unit, Workload
from bankside.constraints.core.document import validate
from bankside.constraints.core.errors import CheckFailed, ConfigError, nearest
from bankside.constraints.core.records import Kind, Measurement, Record
from bankside.models.cost import process_clock

from ..hardware import generate
from ..hardware.selection import Selection, select
from .records import RecordFolder, completed, made_from, note_origin

if TYPE_CHECKING:
    from ..results.demo import Channel
    from ..results.units import Sim, Synth, SynthFpga

__all__ = [
    "make",
    "measurement_of",
    "require_equal",
    "run_bench",
    "simulate",
    "synthesise",
    "synthesise_fpga",
    "workload_of",
]

Progress = Callable[[str], None]

#: Keys of a synthesis that depend on the run or the machine; they are no part of a record.
TRANSIENT = ("critical_path", "seconds", "tools")


def measurement_of(kind: Kind, selection: Selection, **workload: Any) -> Measurement:
    """The measurement of a selected configuration; ``workload`` needs only the options that differ from the
    defaults."""
    return Measurement.of(
        kind, selection.unit.name, selection.config, preset=selection.closest, changes=selection.changes, **workload
    )


def make(
    measurement: Measurement, records: str | None = None, progress: Progress = lambda text: None
) -> Sim | Synth | SynthFpga:
    """Make a measurement here and now.

    Raises
    ------
    :exc:`CheckFailed`
        If the unit and its model differ. No record is written then.
    """
    unit = registry.unit(measurement.unit)
    same = [name for name, config in unit.presets.items() if config == measurement.config]
    selection = Selection(
        unit, measurement.preset if measurement.preset in same else next(iter(same), None), measurement.config
    )
    workload = dict(measurement.workload)
    if measurement.kind == "synth" and "fpga" in workload:
        return synthesise_fpga(selection, records=records, progress=progress, **workload)
    if measurement.kind == "synth":
        return synthesise(selection, records=records, progress=progress, **workload)
    result = simulate(selection, records=records, progress=progress, **workload)
    require_equal(result.measured)
    return result


def simulate(
    selection: Selection,
    *,
    seed: int = 1,
    waves: bool = False,
    records: str | None = None,
    progress: Progress = lambda text: None,
    **workload: Any,
) -> Sim:
    """Run the unit's bench. The record is written only if nothing differs.

    ``workload``: keys of ``Unit.workload``, which has the defaults.
    """
    from bankside.constraints.memory import load_memory
    from bankside.cosim.bench.build import simulator_environment, tool_versions

    from ..results.units import Sim

    unit = selection.unit
    asked = workload_of(unit, workload)
    asked.check(selection.config)  # fail before the simulation
    workload = asked.model_dump()
    if "memory" in workload:
        load_memory(workload["memory"])
    simulator_environment()
    folder = RecordFolder(records)
    folder.prepare()
    measurement = completed(measurement_of("sim", selection, seed=seed, **workload))
    # Digests of the sources now: they may be edited while this runs. Vectors and programs of a file make no record,
    # because others do not have the file.
    now = made_from(measurement)
    note_origin(unit.name, now)
    origin = None if any(workload.get(key) is not None for key in ("vectors", "program")) else now
    wave_file = None
    if waves:
        wave_file = Path("out", "waves", f"{unit.name}-{selection.label}").absolute()
        try:
            wave_file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{wave_file.parent}: {(error.strerror or str(error)).lower()}") from None

    measured, text = run_bench(selection, asked, seed=seed, waves=wave_file, progress=progress)
    tools = {**generate.tool_versions(), **tool_versions()}
    shown = {key: memory_label(value) if key == "memory" else value for key, value in workload.items()}
    record = None
    if not measured.mismatches and origin is not None:
        record = _keep(folder, measurement, origin, text, measured.recorded(), tools, generate.latency(selection))
    if "vectors" in shown:  # the measurements' key of that name counts them
        shown["vectors_file"] = shown.pop("vectors")
    return Sim(**selection.keys, workload=shown, seed=seed, measured=measured, record=record, tools=tools)


def workload_of(unit: Unit, keys: dict[str, Any]) -> Workload:
    """The unit's workload with these keys; :exc:`ConfigError` for an unknown key or a value out of bounds."""
    options = unit.workload.options()
    for name in keys:
        if name not in options:
            raise ConfigError(
                f"sim {unit.name} takes no --{name.replace('_', '-')} (valid: "
                + ", ".join(option.flag for option in options.values())
                + ")"
            )
    return validate(keys, unit.workload, f"sim {unit.name}")


def run_bench(
    selection: Selection,
    workload: Workload,
    *,
    verilog: str | None = None,
    seed: int = 1,
    waves: Path | None = None,
    quick: bool = False,
    progress: Progress = lambda text: None,
) -> tuple[SimResult, str]:
    """Run a unit's bench. Returns its result, and the Verilog that was simulated.

    Parameters
    ----------
    verilog : text in place of the generator's Verilog
    waves : file for a waveform, without suffix
    quick : see :class:`SimRequest`

    Raises
    ------
    :exc:`CheckFailed`
        If the simulation crashed or hung. In a quick look, also if a run differs from the model.
    """
    from bankside.cosim.bench.build import watched
    from bankside.cosim.bench.request import Part, SimRequest

    def part(name: str, preset: str, sets: Sequence[str] = ()) -> Part:
        other = select(name, preset=preset, sets=sets)
        return Part(other.config, generate.verilog(other), other.unit.module, generate.latency(other))

    unit = selection.unit
    progress(f"generating {unit.name} {selection.label}")
    text = generate.verilog(selection) if verilog is None else verilog
    with watched(getattr(progress, "share", None)):
        result = unit.load_bench()(
            SimRequest(
                config=selection.config,
                verilog=text,
                module=unit.module,
                latency=generate.latency(selection),
                model=unit.load_model(),
                workload=workload,
                seed=seed,
                waves=waves,
                progress=progress,
                part=part,
                quick=quick,
            )
        )
    return result, text


def _keep(
    folder: RecordFolder,
    measurement: Measurement,
    origin: dict[str, str],
    verilog: str,
    result: dict[str, Any],
    tools: dict[str, str],
    latency: dict[str, int] | None = None,
) -> str:
    """Write the record of a result, and return its name."""
    lasting = {key: value for key, value in result.items() if key not in TRANSIENT}
    record = Record.of(measurement, made_from=origin, verilog=verilog, results=lasting, tools=tools, latency=latency)
    return folder.write(record).stem


def memory_label(memory: str) -> str:
    return Path(memory).stem if memory.endswith((".yaml", ".yml", ".ini")) else memory


def synthesise(
    selection: Selection,
    *,
    library: str = "generic",
    liberty: str | None = None,
    effort: str = "balanced",
    records: str | None = None,
    progress: Progress = lambda text: None,
) -> Synth:
    """Map the unit to a library."""
    from ..hardware.synthesis import flow, libraries
    from ..results.units import ProcessClock, Synth

    cells = libraries.from_file(liberty) if liberty is not None else libraries.get(library)
    folder = RecordFolder(records)
    folder.prepare()
    chosen = {"library": library} if liberty is None else {"liberty": liberty}
    measurement = completed(measurement_of("synth", selection, effort=effort, **chosen))
    origin = made_from(measurement)
    note_origin(selection.unit.name, origin)
    progress(f"generating {selection.unit.name} {selection.label}")
    text = generate.verilog(selection)
    progress(f"mapping to {cells.name} (a minute for a large unit)")
    synthesis = flow.synthesise(text, selection.unit.module, cells, effort=effort, progress=progress).as_dict()
    tools = {**generate.tool_versions(), **synthesis.pop("tools")}
    synthesis.pop("unit", None)
    target = selection.config.clock_mhz
    record = _keep(folder, measurement, origin, text, synthesis, tools)
    own = process_clock(selection.unit.name, selection.preset, synthesis, target)
    process = ProcessClock(**own.as_dict()) if own else None
    return Synth(**selection.keys, **synthesis, target_clock_mhz=target, process=process, record=record, tools=tools)


def synthesise_fpga(
    selection: Selection, *, fpga: str, records: str | None = None, progress: Progress = lambda text: None
) -> SynthFpga:
    """Map the unit to a family of FPGAs.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such family.
    """
    from bankside.constraints.libraries.fpga import fpga_families

    from ..hardware.synthesis.fpga import FAMILIES
    from ..hardware.synthesis.fpga import synthesise as mapped
    from ..results.units import SynthFpga

    if fpga not in FAMILIES:
        raise ConfigError(nearest("FPGA family", fpga, FAMILIES))
    folder = RecordFolder(records)
    folder.prepare()
    measurement = completed(measurement_of("synth", selection, fpga=fpga))
    origin = made_from(measurement)
    note_origin(selection.unit.name, origin)
    progress(f"generating {selection.unit.name} {selection.label}")
    text = generate.verilog(selection)
    progress(f"mapping to {FAMILIES[fpga]} (minutes for a large unit)")
    synthesis = mapped(text, selection.unit.module, fpga, progress=progress).as_dict()
    tools = {**generate.tool_versions(), **synthesis.pop("tools")}
    synthesis.pop("unit", None)
    record = _keep(folder, measurement, origin, text, synthesis, tools)
    devices = fpga_families()[fpga].devices
    return SynthFpga(
        **selection.keys,
        **synthesis,
        percent={name: device.percent(synthesis["fpga"]) for name, device in devices.items()},
        target_clock_mhz=selection.config.clock_mhz,
        record=record,
        tools=tools,
    )


def require_equal(measured: SimResult | Channel) -> None:
    """Raise :exc:`CheckFailed` if a simulation found results that differ from the model's."""
    if measured.mismatches:
        raise CheckFailed(
            f"{measured.mismatches} of {measured.vectors} results differ; first: {measured.first_mismatch}"
        )
