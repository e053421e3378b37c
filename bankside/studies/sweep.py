"""Sweeps: a unit, a system or a workload at every combination of values, side by side, resumable: ``bankside sweep``."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankside.constraints.core import registry
from bankside.constraints.core.document import parse
from bankside.constraints.core.errors import CheckFailed, ConfigError, ToolMissing, nearest
from bankside.constraints.core.workspace import Input, note_input, noted_inputs, reading, write_files

from ..evidence.records import RecordFolder, completed
from ..hardware.generate import tool_versions
from ..provenance.envelope import plain_input, warn
from ..results.serving import Serve, Sweep, SweepRow
from ..results.systems import Eval
from .explain import unchanged

if TYPE_CHECKING:
    from bankside.constraints.core.records import Kind, Record

    from ..hardware.selection import Selection

__all__ = ["Job", "drawing", "evaluated", "front", "jobs_of", "make_row", "measured", "points_of", "sweep"]

#: Most combinations: each takes at least milliseconds.
MOST = 100_000

#: Words of columns in which a larger value is better; in all others a smaller value is.
LARGER = ("throughput", "fmax", "utilisation", "largest_batch", "per_s", "met", "items_per_cycle", "beats_per_clock")

#: Keys of a result that do not describe the point.
LEFT_OUT = ("config", "schema", "seconds", "clocks_per_second", "cells", "runs", "policy", "workload", "tools")

#: Settings of a sweep over a system that are no keys of its file.
LOAD = ("model", "context", "batch", "output_tokens", "instances", "split")
#: Keys of a synthesis.
FLOW = ("library", "liberty", "effort", "fpga")
SERVING = ("workload", "requests", "rate", "batch_limit", "token_budget", "slo")


@dataclass(frozen=True)
class Job:
    """One combination.

    Attributes
    ----------
    kind : ``unit`` or ``system``
    target : :class:`str`
        Name of the unit or system.
    point : mapping of key to text
        The combination.
    settings : mapping
        Settings of all combinations: ``sim`` and ``preset`` of a unit, values of :data:`LOAD` and :data:`SERVING`.
    records : :class:`str` or None
        Folder of records.
    measure : :class:`bool`
        Whether missing records are made.
    """

    kind: str
    target: str
    point: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    records: str | None = None
    measure: bool = True

    @property
    def key(self) -> str:
        """Identifies the combination, whatever its folder of records."""
        plain = {name: value for name, value in asdict(self).items() if name not in ("records", "measure")}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:24]


def points_of(axes: Sequence[str]) -> list[dict[str, str]]:
    """All combinations of ``KEY=A,B,C``, the last key changing first.

    Raises
    ------
    :exc:`ConfigError`
        For a text in another form, a key or a value that appears twice, or too many combinations.
    """
    values: dict[str, list[str]] = {}
    for text in axes:
        key, equals, listed = text.partition("=")
        found = listed.split(",")
        if not key or not equals or not all(found):
            raise ConfigError(f"{text}: must be KEY=VALUE,VALUE,...")
        if key in values:
            raise ConfigError(f"{text}: key '{key}' comes twice")
        if len(set(found)) < len(found):
            raise ConfigError(f"{text}: a value comes twice")
        values[key] = found
    count = 1
    for found in values.values():
        count *= len(found)
    if count > MOST:
        raise ConfigError(f"{count} combinations are more than {MOST}")
    return [dict(zip(values, one, strict=True)) for one in itertools.product(*values.values())]


def jobs_of(
    target: str, axes: Sequence[str], *, settings: Mapping[str, Any], records: str | None, measure: bool
) -> list[Job]:
    """The jobs of a sweep, checked as far as possible without computing.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown target or key, or a setting that the target does not have.
    """
    from bankside.models.systems import system_names

    if not axes:
        raise ConfigError("a sweep needs KEY=VALUE,VALUE,...")
    given = {name: value for name, value in settings.items() if value is not None and value is not False}
    points = points_of(axes)
    if target in registry.UNITS:
        unit = registry.UNITS[target]
        for name in given:
            if name not in ("sim", "preset"):
                raise ConfigError(f"--{name.replace('_', '-')} is for a system; {target} is a unit")
        options = list(unit.workload.options())
        known = {*unit.config.model_fields, *options, *FLOW, "preset"}
        for key in points[0]:
            if key.partition(".")[0] not in known:
                raise ConfigError(nearest(f"key of {target}", key, sorted(known)))
            if key in options and not given.get("sim"):
                raise ConfigError(f"{key} is a key of the workload: it needs --sim")
        kind = "unit"
    else:
        if target not in system_names() and not target.endswith((".yaml", ".yml")) and os.sep not in target:
            raise ConfigError(nearest("unit or system", target, [*registry.UNITS, *system_names()]))
        for name in ("sim", "preset"):
            if name in given:
                raise ConfigError(f"--{name} is for a unit; {target} is a system")
        if "model" not in given and "model" not in points[0]:
            raise ConfigError("a sweep of a system needs --model, or model=NAME,NAME")
        serving = [name for name in (*given, *points[0]) if name in SERVING]
        if serving and "workload" not in given and "workload" not in points[0]:
            raise ConfigError(f"{serving[0]} is for requests: it needs --workload, or workload=NAME,NAME")
        kind = "system"
    for point in points:
        for name in point.keys() & given.keys():
            raise ConfigError(f"--{name.replace('_', '-')}: '{name}' changes in the sweep")
    return [Job(kind, target, point, given, records, measure) for point in points]


# A row ---------------------------------------------------------------------------------------------------------------


class MadeRow(SweepRow):
    """A row with the key of its combination and its inputs, as the file of a sweep that runs holds it."""

    key: str
    inputs: list[dict[str, Any]]


def make_row(job: Job) -> MadeRow:
    """The row of a combination; ``error`` says why it is refused."""
    values: dict[str, Any] = {}
    records: list[str] = []
    error = None
    with noted_inputs() as found:
        try:
            values, records = (_unit if job.kind == "unit" else _system)(job)
        except (ConfigError, CheckFailed) as refused:  # a missing tool ends the sweep
            error = str(refused)
    return MadeRow(
        key=job.key,
        point=dict(job.point),
        values={name: value for name, value in values.items() if name not in job.point},
        records=records,
        error=error,
        inputs=[plain_input(one) for one in found.values()],
    )


def measured(job: Job, kinds: Sequence[Kind]) -> tuple[Selection, list[Record]]:
    """The configuration of a unit's combination, and its records of these kinds, made if there are none.

    Raises
    ------
    :exc:`ConfigError`
        For a key or a value that is not allowed, or a missing record that is not made.
    """
    from ..evidence.measure import make, measurement_of, workload_of
    from ..hardware.selection import select

    unit, folder = registry.UNITS[job.target], RecordFolder(job.records)
    options = unit.workload.options()
    point, flow = dict(job.point), {key: job.point[key] for key in FLOW if key in job.point}
    given = {key: parse(point[key], key, numbered=False)[0] for key in point if key in options}
    workload = {key: value for key, value in workload_of(unit, given).model_dump().items() if key in given}
    preset = point.get("preset", job.settings.get("preset"))
    sets = [f"{key}={value}" for key, value in point.items() if key not in (*options, *flow, "preset")]
    selection = select(job.target, preset=preset, sets=sets)
    records = []
    for kind in kinds:
        measurement = completed(measurement_of(kind, selection, **(flow if kind == "synth" else workload)))
        found = folder.look(measurement)
        record = None if found.state == "stale" else found.record
        if record is None:
            if not job.measure:
                state = f"stale measurement ({found.why})" if found.state == "stale" else "no measurement yet"
                raise ConfigError(f"{state}: {measurement.command}")
            make(measurement, job.records)
            record = folder.find(measurement)
            if record is None:
                raise ConfigError(f"{measurement.command}: leaves no record for this request")
        records.append(record)
    return selection, records


def _unit(job: Job) -> tuple[dict[str, Any], list[str]]:
    """Synthesis of a configuration, and with ``sim`` its co-simulation."""
    _, records = measured(job, ("synth", "sim") if job.settings.get("sim") else ("synth",))
    values: dict[str, Any] = {}
    for record in records:
        values |= _numbers(record.results)
    return values, [record.name for record in records]


def evaluated(job: Job) -> Eval | Serve:
    """The result of a system's combination."""
    from .evaluate import evaluate, system_changes

    asked = {**job.settings, **job.point}
    load = {key: asked.pop(key) for key in (*LOAD, *SERVING) if key in asked}
    changes = system_changes([f"{key}={value}" for key, value in asked.items()])
    model, split = str(load.pop("model")), load.pop("split", None)
    serving = {key: load.pop(key) for key in SERVING if key in load}
    whole: dict[str, Any] = {key: _whole(key, value) for key, value in load.items()}
    if serving:
        return _served(job, model, {**serving, **whole}, changes)
    return evaluate(
        job.target,
        model,
        **{"context": 4096, "batch": 16, **whole},
        split=split,
        measure=job.measure,
        records=job.records,
        changes=changes,
    )


def _system(job: Job) -> tuple[dict[str, Any], list[str]]:
    result = evaluated(job)
    return _numbers(result.to_json()), result.records


def _served(job: Job, model: str, asked: dict[str, Any], changes: Mapping[str, Any]) -> Serve:
    from .serve import serve_requests

    for name in asked.keys() - {*SERVING, "instances"}:
        raise ConfigError(f"{name} can't be combined with a workload, whose requests have their own")
    whole: dict[str, Any] = {
        name: _whole(name, asked[name])
        for name in ("requests", "batch_limit", "token_budget", "instances")
        if name in asked
    }
    real = {to: _real(name, asked[name]) for name, to in (("rate", "rate"), ("slo", "slo_ms")) if name in asked}
    options: dict[str, Any] = {"measure": job.measure, "records": job.records, "changes": changes, **whole, **real}
    return serve_requests(job.target, model, str(asked["workload"]), **options)


def _whole(key: str, value: Any) -> int:
    found = parse(str(value), key, numbered=False)[0]
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ConfigError(f"{key} must be a whole number of at least 1, not '{value}'")
    return found


def _real(key: str, value: Any) -> float:
    found = parse(str(value), key, numbered=False)[0]
    if not isinstance(found, int | float) or isinstance(found, bool) or found < 0:
        raise ConfigError(f"{key} must be a number of at least 0, not '{value}'")
    return float(found)


def _numbers(result: Mapping[str, Any], within: str = "") -> dict[str, float]:
    """Numbers of a result; numbers of its parts by dotted key."""
    out: dict[str, float] = {}
    for key, value in result.items():
        if key in LEFT_OUT:
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            out[within + key] = value
        elif isinstance(value, Mapping) and not within:
            out |= _numbers(value, f"{key}.")
    return out


# All rows ------------------------------------------------------------------------------------------------------------


def sweep(
    jobs: Sequence[Job],
    output: str,
    *,
    workers: int | None = None,
    dask: str | None = None,
    pareto: tuple[str, str] | None = None,
    picture: str | None = None,
    progress: Callable[[int, int], None] = lambda done, count: None,
) -> Sweep:
    """Make all missing rows.

    Each finished row is appended to the file ``output`` with ``.partial`` behind its name, and a killed sweep continues
    from that file. When all rows are finished, ``output`` is written (``.csv`` or ``.jsonl``), in the order of the
    combinations.

    Parameters
    ----------
    workers : processes; one per core by default
    dask : address of a Dask scheduler whose workers have Bankside and the same files
    pareto : two columns to draw, with the rows that no other row beats
    picture : file for them (``.png``, ``.svg`` or ``.pdf``); ``output`` with ``.png`` behind its name by default
    progress : called with the numbers of finished rows and of all rows

    Raises
    ------
    :exc:`ConfigError`
        If a file can't be read or written, or has another format; if no row has a column of ``pareto``.
    :exc:`ToolMissing`
        If Dask is requested and not installed.
    """
    target, drawn = Path(output), Path(picture or f"{output}.png")
    if picture is not None and pareto is None:
        raise ConfigError("--picture needs --pareto")
    if pareto is not None and drawn.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"--picture: a picture is .png, .svg or .pdf, not '{drawn.name}'")
    if target.suffix.lower() not in (".csv", ".jsonl"):
        raise ConfigError(f"--output: rows are written as .csv or .jsonl, not '{target.name}'")
    partial = target.with_name(target.name + ".partial")
    write_files(target.parent, {})
    rows = _read_partial(partial, {job.key for job in jobs}, RecordFolder(jobs[0].records))
    resumed = len(rows)
    missing = [job for job in jobs if job.key not in rows]
    if missing:
        try:
            with open(partial, "w", encoding="utf-8") as file:
                for row in rows.values():
                    file.write(json.dumps(row.model_dump()) + "\n")
                progress(len(rows), len(jobs))
                for row in _computed(missing, workers, dask):
                    rows[row.key] = row
                    file.write(json.dumps(row.model_dump()) + "\n")
                    file.flush()
                    progress(len(rows), len(jobs))
        except OSError as error:
            raise ConfigError(f"{partial}: {(error.strerror or str(error)).lower()}") from None
    made = [rows[job.key] for job in jobs]
    for details in (dict(one) for row in made for one in row.inputs):
        note_input(Input(details.pop("kind"), details.pop("name"), details.pop("sha256"), details))
    found = [SweepRow(point=row.point, values=row.values, records=row.records, error=row.error) for row in made]
    is_csv = target.suffix.lower() == ".csv"
    text = _csv(found) if is_csv else "".join(json.dumps(row.model_dump()) + "\n" for row in found)
    write_files(target.parent, {target.name: text})
    with contextlib.suppress(OSError):
        partial.unlink()
    refused = [row for row in found if row.error]
    if refused:
        warn(f"{len(refused)} of {len(found)} combinations were refused; the first: {refused[0].error}")
    front = None
    if pareto is not None:
        data, front = drawing(found, pareto, drawn.suffix.lower()[1:])
        write_files(drawn.parent, {drawn.name: data})
    return Sweep(
        target=jobs[0].target,
        file=output,
        resumed=resumed,
        refused=len(refused),
        rows=found,
        pareto=None if pareto is None else list(pareto),
        picture=None if pareto is None else str(drawn),
        front=front,
        tools=tool_versions(),
    )


def _read_partial(path: Path, wanted: set[str], folder: RecordFolder) -> dict[str, MadeRow]:
    """Rows of an earlier sweep whose inputs are unchanged. A line that a kill cut off does not count, nor does a
    refused combination."""
    rows: dict[str, MadeRow] = {}
    if not path.exists():
        return rows
    with noted_inputs(), reading(path, "rows of a sweep") as file:
        for line in file:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                row = MadeRow.model_validate(json.loads(line))
                if row.key in wanted and not row.error and unchanged(row.inputs, folder):
                    rows[row.key] = row
    return rows


def _computed(jobs: Sequence[Job], workers: int | None, dask: str | None) -> Iterator[MadeRow]:
    """Rows in the order in which they are finished."""
    if dask is not None:
        try:
            from distributed import Client, as_completed
        except ImportError:
            raise ToolMissing("package 'distributed' is not installed: pip install 'bankside[dask]'") from None
        try:
            client = Client(dask, timeout="10s")
        except (OSError, ValueError, TimeoutError) as error:
            raise ConfigError(f"--dask {dask}: no scheduler answers ({type(error).__name__})") from None
        with client:
            futures = client.map(make_row, jobs, pure=False)
            for future in as_completed(futures):
                yield future.result()
        return
    count = min(workers or os.cpu_count() or 1, len(jobs))
    if count == 1:
        yield from map(make_row, jobs)
        return
    with ProcessPoolExecutor(count) as pool:
        waiting: set[Future[MadeRow]] = {pool.submit(make_row, job) for job in jobs}
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for one in done:
                    yield one.result()
        except BaseException:  # Ctrl-C does not wait for running processes
            for process in list((pool._processes or {}).values()):
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _csv(rows: Sequence[SweepRow]) -> str:
    """A column for each key of the point and each number, then records and error."""
    keys = list(dict.fromkeys(key for row in rows for key in row.point))
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*keys, *names, "records", "error"])
    for row in rows:
        writer.writerow(
            [
                *(row.point[key] for key in keys),
                *(row.values.get(name, "") for name in names),
                " ".join(row.records),
                row.error or "",
            ]
        )
    return text.getvalue()


# Pareto --------------------------------------------------------------------------------------------------------------


def better_large(column: str) -> bool:
    """Whether a larger value of a column is better."""
    return any(word in column for word in LARGER)


def front(points: Sequence[tuple[float, float]], larger: tuple[bool, bool]) -> list[int]:
    """Places of the points that no other point beats, by the first value. A point beats another if it is at least as
    good in both values and better in one."""
    signed = [(-x if larger[0] else x, -y if larger[1] else y) for x, y in points]
    kept: list[int] = []
    best = float("inf")
    for place in sorted(range(len(signed)), key=lambda k: signed[k]):
        x, y = signed[place]
        if y < best or kept and signed[kept[-1]] == (x, y):
            kept.append(place)
            best = min(best, y)
    return kept


def drawing(rows: Sequence[SweepRow], columns: tuple[str, str], form: str) -> tuple[bytes, list[int]]:
    """Two columns of all rows with their front, as a picture; places of the rows on the front.

    Raises
    ------
    :exc:`ConfigError`
        If no row has one of the columns.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    known = list(dict.fromkeys(name for row in rows for name in row.values))
    for column in columns:
        if column not in known:
            raise ConfigError(nearest("column", column, known))
    places = [k for k, row in enumerate(rows) if all(column in row.values for column in columns)]
    points = [(float(rows[k].values[columns[0]]), float(rows[k].values[columns[1]])) for k in places]
    larger = better_large(columns[0]), better_large(columns[1])
    best = front(points, larger)
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.scatter(
        [x for x, _ in points], [y for _, y in points], color="#8c97a5", s=28, zorder=2, label="all combinations"
    )
    axes.plot(
        [points[k][0] for k in best],
        [points[k][1] for k in best],
        color="#c8553d",
        marker="o",
        linewidth=1.4,
        zorder=3,
        label="beaten by no other",
    )
    for k in best[:24]:
        text = ", ".join(f"{key}={value}" for key, value in rows[places[k]].point.items())
        axes.annotate(text, points[k], xytext=(5, 5), textcoords="offset points", fontsize=8)
    axes.set_xlabel(f"{columns[0]} ({'larger' if larger[0] else 'smaller'} is better)")
    axes.set_ylabel(f"{columns[1]} ({'larger' if larger[1] else 'smaller'} is better)")
    axes.margins(x=0.16, y=0.1)  # room for the texts beside the points
    axes.xaxis.set_major_formatter("{x:,.6g}")
    axes.yaxis.set_major_formatter("{x:,.6g}")
    axes.grid(color="#dddddd")
    axes.set_axisbelow(True)
    axes.legend(frameon=False)
    out = io.BytesIO()
    figure.savefig(
        out,
        format=form,
        dpi=130,
        metadata={} if form == "png" else {"CreationDate": None} if form == "pdf" else {"Date": None},
    )
    return out.getvalue(), [places[k] for k in best]
