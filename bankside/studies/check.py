"""Checks of units, systems and papers, of this package or of another: ``bankside check NAME``."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from bankside.constraints.core.contract import Unit, Workload
from bankside.constraints.core.discovery import GROUPS, entries
from bankside.constraints.core.errors import BanksideError, CheckFailed, ConfigError, nearest
from bankside.constraints.core.registry import UNITS

from ..hardware.selection import Selection
from ..results.tool import Checked, CheckedPoint

__all__ = [
    "ENGINES",
    "check",
    "check_paper",
    "check_system",
    "check_unit",
    "found_errors",
    "port_faults",
    "wrong_sources",
]

Progress = Callable[[str], None]

#: The page of a command's output: called with the document, the folder of records and the typed result.
PageOf = Callable[[Mapping[str, Any], str | None, Any], str]

#: Errors that are planted into a unit's Verilog, one at a time.
PLANTED_ERRORS = 4

#: Contexts and batches at which a step for serving must take as long as a step of an evaluation.
CONTEXTS, BATCHES = (500, 2000), (1, 4)

#: Models for a system whose kind names none, the first that fits.
MODELS = ("llama-2-7b", "llama-3-8b", "opt-6.7b")


def check(
    name: str,
    *,
    model: str | None = None,
    records: str | os.PathLike[str] | None = None,
    measure: bool = False,
    page_of: PageOf | None = None,
    progress: Progress = lambda text: None,
) -> Checked:
    """Check what has this name: a unit, a system, a paper, or everything that an installed package adds.

    Parameters
    ----------
    model
        Model with which systems are checked; by default the model of the kind, else one that fits.
    measure
        Whether measurements that a system lacks are made first.
    page_of
        Makes the page of a result; without it, pages are not checked.

    Raises
    ------
    :exc:`ConfigError`
        If nothing has this name.
    """
    units, systems, papers = _named(name)
    points: list[CheckedPoint] = []
    for unit in units:
        points += check_unit(UNITS[unit], progress)
    for system in systems:
        points += check_system(
            system, model=model, records=records, measure=measure, page_of=page_of, progress=progress
        )
    for paper in papers:
        points += check_paper(paper)
    return Checked(name=name, ok=all(point.ok for point in points), checks=points)


def _named(name: str) -> tuple[list[str], list[str], list[str]]:
    """Units, systems and papers with a name, or of a package with it."""
    from bankside.models.papers import paper_names
    from bankside.models.systems import kinds, load_system, system_names

    units, systems, papers = (
        [one] if (one := name) in known else [] for known in (UNITS, system_names(), paper_names())
    )
    if units or systems or papers:
        return units, systems, papers
    if name.endswith((".yaml", ".yml")):
        load_system(name)
        return [], [name], []
    own: dict[str, list[str]] = {group: [] for group in GROUPS}
    packages = set()
    for group in GROUPS:
        for entry in entries(group).values():
            package = entry.dist.name if entry.dist is not None else "bankside"
            packages.add(package)
            if package == name:
                own[group].append(entry.name)
    if name not in packages:
        known = {*UNITS, *system_names(), *paper_names(), *packages}
        raise ConfigError(nearest("unit, system, paper or package", name, known))
    files = [file for kind in own["bankside.systems"] if kind in kinds() for file in kinds()[kind].files]
    return own["bankside.units"], files, own["bankside.papers"]


@contextmanager
def _point(points: list[CheckedPoint], what: str, name: str) -> Iterator[list[str]]:
    """A check whose body appends one line: what was seen. An error of the body is the line of a failed check."""
    seen: list[str] = []
    ok = True
    try:
        yield seen
    except BanksideError as error:
        seen, ok = [str(error)], False
    except Exception as error:  # a unit, system or paper of another package may do anything
        seen, ok = [f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"], False
    points.append(CheckedPoint(name=f"{what}: {name}", ok=ok, detail="; ".join(seen)))


def _require(fits: object, otherwise: str) -> None:
    if not fits:
        raise CheckFailed(otherwise)


# Units -------------------------------------------------------------------------------------------------------------------


def check_unit(unit: Unit, progress: Progress = lambda text: None) -> list[CheckedPoint]:
    """The smallest hardware of a unit: its ports, its results under all kinds of pressure, and whether its bench finds
    planted errors."""
    from bankside.cosim.bench.planted import with_planted

    from ..evidence.measure import run_bench
    from ..hardware import generate
    from ..hardware.selection import select

    points: list[CheckedPoint] = []
    selection = select(unit.name, sets=unit.trial.sets)
    with _point(points, unit.name, "ports") as seen:
        progress(f"{unit.name}: ports")
        for label, config in {**dict(list(unit.presets.items())[:1]), "trial": selection.config}.items():
            faults = port_faults(unit, config)
            _require(not faults, f"{label}: {'; '.join(faults)}")
        seen.append(f"{len(selection.config.ports())} ports as the contract describes them")
    workload = unit.workload(**unit.trial.workload)
    text = ""
    with _point(points, unit.name, "results") as seen:
        progress(f"{unit.name}: co-simulation")
        text = with_planted(generate.verilog(selection), PLANTED_ERRORS)
        result, _ = run_bench(selection, workload, verilog=text)
        _require(not result.mismatches, f"{result.mismatches} mismatches; the first: {result.first_mismatch}")
        _require(result.vectors > 0, "the bench compared nothing")
        unit.result.model_validate(result.recorded())
        seen.append(
            f"{result.vectors} results equal to the model's in {len(result.runs)} runs: {', '.join(result.runs)}"
        )
    with _point(points, unit.name, "random power-up") as seen:
        _require(points[-1].ok, "the results differ, or the bench did not run")
        _require("power_up" in result.runs, f"no run from random registers (runs: {', '.join(result.runs)})")
        seen.append(f"{result.runs['power_up'].vectors} results from random registers, with resets")
    with _point(points, unit.name, "planted errors") as seen:
        _require(points[1].ok, "the results differ, or the bench did not run")
        found = list(found_errors(selection, workload, text, progress))
        _require(found, f"none of {PLANTED_ERRORS} planted errors was found")
        seen.append(f"{len(found)} of {PLANTED_ERRORS} errors in the Verilog were found")
    return points


def found_errors(
    selection: Selection, workload: Workload, text: str, progress: Progress = lambda text: None
) -> Iterator[int]:
    """Numbers of the planted errors in a unit's Verilog ``text`` that its bench finds, one after the other."""
    from bankside.cosim.bench.planted import PLANTED

    from ..evidence.measure import run_bench

    for number in range(1, PLANTED_ERRORS + 1):
        progress(f"{selection.unit.name}: planted error {number} of {PLANTED_ERRORS}")
        try:
            with _arguments(f"+{PLANTED}={number}"):
                run_bench(selection, workload, verilog=text, quick=True)
        except CheckFailed:  # other results, or it hung or broke a rule of streams
            yield number


@contextmanager
def _arguments(words: str) -> Iterator[None]:
    """Further arguments of every simulation."""
    from bankside.cosim.bench.build import ARGUMENTS

    before = os.environ.get(ARGUMENTS)
    os.environ[ARGUMENTS] = words
    try:
        yield
    finally:
        if before is None:
            del os.environ[ARGUMENTS]
        else:
            os.environ[ARGUMENTS] = before


def port_faults(unit: Unit, config: Any) -> list[str]:
    """Differences between a unit's contract and its generator in their ports, and meanings that the contract lacks."""
    from amaranth.hdl import Shape
    from amaranth.lib import data, stream

    component = unit.load_generator()(config)
    component._MustUse__silence = True  # looked at, not built
    found, ports = dict(component.signature.members.items()), config.ports()
    if [port.name for port in ports] != list(found):
        return [f"the contract has {', '.join(port.name for port in ports)}, the generator {', '.join(found)}"]
    faults = []
    for port in ports:
        member = found[port.name]
        shape = member.signature.members["payload"].shape if member.is_signature else member.shape
        if (member.flow.name == "In") != port.is_input:
            faults.append(f"{port.name} is an {'input' if port.is_input else 'output'} of the contract alone")
        if port.stream != (member.is_signature and isinstance(member.signature, stream.Signature)):
            faults.append(f"{port.name} is a stream on one side alone")
        elif Shape.cast(shape).width != port.layout.bits:
            faults.append(f"{port.name} has {port.layout.bits} bits, in the generator {Shape.cast(shape).width}")
        elif isinstance(shape, data.StructLayout) and not port.layout.is_plain:
            places = {key: (field.offset, Shape.cast(field.shape).width) for key, field in shape}
            if places != {field.name: (low, field.bits) for low, field in port.layout.items()}:
                faults.append(f"the fields of {port.name} lie elsewhere in the generator")
        if not port.meaning or not all(field.meaning for field in port.layout.fields if field.name):
            faults.append(f"{port.name} lacks a meaning")
    return faults


# Systems -----------------------------------------------------------------------------------------------------------------


def check_system(
    name: str,
    *,
    model: str | None = None,
    records: str | os.PathLike[str] | None = None,
    measure: bool = False,
    page_of: PageOf | None = None,
    progress: Progress = lambda text: None,
) -> list[CheckedPoint]:
    """A system with a model: its evaluation, its steps for serving, its page, and whether its basis is known."""
    import json

    import numpy as np

    from bankside.constraints.core.workspace import noted_inputs
    from bankside.models.llm import load_model
    from bankside.models.serving import served_system
    from bankside.models.systems import load_system
    from bankside.models.systems.capabilities import Executes

    from ..evidence.records import RecordFolder
    from ..provenance.envelope import collecting, enveloped
    from .evaluate import evaluate
    from .explain import explain

    points: list[CheckedPoint] = []
    folder = None if records is None else os.fspath(records)
    with _point(points, name, "evaluation") as seen:
        progress(f"{name}: evaluation")
        asked = model or load_system(name).default_model
        result: Any = None
        for one in [asked] if asked else MODELS:
            try:
                with noted_inputs(), collecting():
                    result = evaluate(
                        name, one, context=CONTEXTS[-1], measure=measure, records=folder, progress=progress
                    )
                    document = enveloped(result.to_json(), "eval")
                break
            except ConfigError:
                if one == (asked or MODELS[-1]):
                    raise
        shape = load_model(one)
        seen.append(f"{shape.name}: {result.tpot_ms:.4g} ms per token at a context of {CONTEXTS[-1]}")
    if not points[0].ok:
        return points
    with _point(points, name, "serving") as seen:
        progress(f"{name}: serving")
        served = served_system(load_system(name), shape, records=RecordFolder(folder))
        bound, largest = float(getattr(served, "interpolated", 0.0)), 0.0
        for context in CONTEXTS:
            for batch in BATCHES:
                step_ms = served.decode_seconds(np.full(batch, context)) * 1e3
                whole_ms = evaluate(name, shape, context=context, batch=batch, records=folder).tpot_ms
                difference = abs(step_ms / whole_ms - 1)
                _require(
                    difference <= max(bound, 1e-9),
                    f"a step of {batch} requests at a context of {context} takes {step_ms:.6g} ms in serve, "
                    f"{whole_ms:.6g} ms in eval"
                    + (f"; serve interpolates within {100 * bound:g} % only" if bound else ""),
                )
                largest = max(largest, difference)
        count = len(CONTEXTS) * len(BATCHES)
        seen.append(
            f"steps of serve are within {100 * largest:.2g} % of eval at {count} points; serve interpolates, with a bound "
            f"of {100 * bound:g} %"
            if bound
            else f"steps of serve and eval are equal at {count} points"
        )
    system = load_system(name)
    if isinstance(system, Executes):
        with _point(points, name, "executed") as seen:
            progress(f"{name}: executed")
            parts = system.bind(shape, RecordFolder(folder)).system.executed(shape, CONTEXTS[-1])
            for part in parts:
                _require(
                    part.timed == part.executed,
                    f"{part.part}: eval times {part.timed}, the RTL executes {part.executed}",
                )
            seen.append(
                "; ".join(f"{one.part}: {one.timed}" + (f" ({one.beside})" if one.beside else "") for one in parts)
            )
    if page_of is not None:
        with _point(points, name, "page") as seen:
            progress(f"{name}: page")
            page = page_of(document, folder, result)
            _require("<html" in page, "the page is no HTML")
            seen.append(f"{len(page.encode()) >> 10} KiB of HTML")
    with _point(points, name, "basis") as seen, tempfile.TemporaryDirectory() as place:
        path = Path(place, "result.json")
        path.write_text(json.dumps(document))
        basis = explain(str(path), folder)
        _require(basis.unchanged, f"changed, gone or unknown: {', '.join(basis.changed)}")
        seen.append(f"{len(basis.rests_on)} items, all known")
    return points


# Papers ------------------------------------------------------------------------------------------------------------------

#: Functions of the engines and models by the module that has them: a check that calls one shows its value by a run.
ENGINES: Mapping[str, frozenset[str]] = {
    module: frozenset(names.split())
    for module, names in {
        "bankside.models.memory": "time_program",
        "bankside.models.memory.standby": "time",
        "bankside.models.pam.placement": "schedule append",
        "bankside.models.papers.pam.algorithm": "local",
        "bankside.models.serving": "steady_state decode search",
        "bankside.models.systems": "evaluate capacity splits gemvs step_at",
        "bankside.models.cost": "buffer_cost",
        "bankside.models.aim": "place",
        "bankside.models.lolpim": "time program place dispatch compile_model lockstep grow",
        "bankside.models.program.selected": "fetch",
        "bankside.models.sparse": "cluster choose select_steps",
        "bankside.constraints.pam.layout": "accesses",
    }.items()
}


def wrong_sources(name: str) -> dict[str, tuple[list[Any], list[Any]]]:
    """Claims of a paper whose check declares other sources than it reads: declared sources, and those that it read.

    Every check runs without a record. One that needs a record asks for one, and a run is a call of an engine.
    """
    from bankside.models.papers import Evidence, NotCheckable, Source, checks_of
    from bankside.models.systems import MissingRecord
    from bankside.models.systems.results import NoRecords

    from .repro import published_modules

    checks = checks_of(name)
    wrong: dict[str, tuple[list[Any], list[Any]]] = {}
    for identifier, one in checks.items():
        ran: list[str] = []

        def note(frame: FrameType, event: str, argument: Any, ran: list[str] = ran) -> None:
            module = frame.f_globals.get("__name__", "")
            if event == "call" and any(
                module.startswith(engine) and frame.f_code.co_name in names for engine, names in ENGINES.items()
            ):
                ran.append(frame.f_code.co_name)

        evidence, used, before = Evidence(NoRecords(), modules=published_modules), set(), sys.getprofile()
        sys.setprofile(note)
        try:
            one(evidence, identifier)
        except MissingRecord:
            used.add(Source.RECORD)
        except NotCheckable:
            continue
        finally:
            sys.setprofile(before)
        used |= evidence.used
        if Source.RECORD not in used and ran:
            used.add(Source.RUN)
        declared = checks.sources[identifier] - {Source.PAPER}
        if Source.RECORD in used:  # whatever comes after the record
            declared &= used
        if (used or {Source.SETTING}) != declared:
            wrong[identifier] = sorted(checks.sources[identifier]), sorted(used)
    return wrong


def check_paper(name: str) -> list[CheckedPoint]:
    """A paper: whether each check reads the sources that it declares."""
    from bankside.models.papers import checks_of

    points: list[CheckedPoint] = []
    with _point(points, name, "sources") as seen:
        wrong = wrong_sources(name)
        _require(
            not wrong,
            "; ".join(
                f"{claim} declares {', '.join(declared)}, but reads {', '.join(used) or 'nothing'}"
                for claim, (declared, used) in wrong.items()
            ),
        )
        seen.append(f"{len(checks_of(name))} checks read the sources that they declare")
    return points
