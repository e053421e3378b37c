"""Serve requests on a system: resolve names and files, draw arrivals, search for a limit, show and write results."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankside.constraints.core.document import validate
from bankside.constraints.core.errors import ConfigError, nearest
from bankside.constraints.core.records import Measurement, Record
from bankside.constraints.core.workspace import write_files, writing

from ..evidence.records import RecordFolder
from ..hardware.generate import tool_versions
from ..provenance.sources import note_sources
from ..results.serving import Search, Serve, Spread, Tried
from ..results.terminal import FittingTable
from .evaluate import measuring

if TYPE_CHECKING:
    from bankside.models.llm import ModelShape
    from bankside.models.serving import ServingResult, Workload
    from bankside.models.serving.search import SearchResult

__all__ = ["Outputs", "find_workload", "serve_requests", "serving_table"]

#: Number of requests to draw by default.
REQUESTS = 1000

PICTURES = (".png", ".svg", ".pdf")

#: Format of a file of requests by its suffix.
SUFFIXES = {".jsonl": "jsonl", ".csv": "vidur", ".tsv": "tsv"}


@dataclass(frozen=True)
class Outputs:
    """Files to write; None leaves a file out."""

    csv: str | None = None
    plot: str | None = None
    timeline: str | None = None
    requests: str | None = None

    def check(self) -> None:
        """Fail at once if a file can't be written."""
        if self.plot is not None and Path(self.plot).suffix.lower() not in PICTURES:
            raise ConfigError(f"--plot: a picture ends with {', '.join(PICTURES)}, not '{self.plot}'")
        if self.requests is not None and Path(self.requests).suffix.lower() not in SUFFIXES:
            raise ConfigError(
                f"--write-requests: a file of requests ends with {', '.join(SUFFIXES)}, not '{self.requests}'"
            )
        for path in (self.csv, self.plot, self.timeline, self.requests):
            if path is not None:
                if os.path.isdir(path):
                    raise ConfigError(f"can't write {path}: is a directory")
                write_files(Path(path).parent, {})

    def write(self, result: ServingResult, workload: Workload, slo_ms: float | None) -> dict[str, str]:
        """Write the files, and return their paths by name."""
        from bankside.models.serving import write_requests

        done = {}
        if self.requests is not None:
            with writing(self.requests) as file:
                file.writelines(write_requests(workload, SUFFIXES[Path(self.requests).suffix.lower()]))
            done["requests"] = self.requests
        if self.csv is not None:
            with writing(self.csv) as file:
                file.writelines(f"{line}\n".encode() for line in result.csv_lines())
            done["csv"] = self.csv
        if self.timeline is not None:
            with writing(self.timeline) as file:
                file.write(result.chrome_trace().encode())
            done["timeline"] = self.timeline
        if self.plot is not None:
            with writing(self.plot) as file:
                file.write(_picture(result, Path(self.plot).suffix.lower()[1:], slo_ms))
            done["plot"] = self.plot
        return done


def find_workload(
    name: str,
    *,
    form: str | None = None,
    requests: int | None = None,
    rate: float | None = None,
    burstiness: float | None = None,
    output_tokens: int = 128,
    seed: int = 1,
) -> Workload:
    """Requests of a named workload, a YAML file that describes one, or a file of requests; with their arrivals.

    With ``rate`` None, requests arrive as the workload says, or else all at once. With 0, all arrive at once.
    """
    from bankside.constraints.workloads import FILES, ArrivalSpec
    from bankside.models.serving import draw, read_requests

    drawn = name.strip().lower().replace("-", "_") in FILES or name.endswith((".yaml", ".yml"))
    if not drawn and not os.path.lexists(name) and not any(c in name for c in "./\\"):
        raise ConfigError(nearest("workload", name, FILES) + "; nor is there such a file")
    if drawn:
        if form is not None:
            raise ConfigError(f"--format is for a file of requests; {name} is a workload that is drawn")
        workload = draw(name, requests or REQUESTS, seed)
    else:
        limit = {} if requests is None else {"limit": requests}
        workload = read_requests(name, form, output_tokens=output_tokens, **limit)
    if rate is None:
        if burstiness is not None:
            raise ConfigError("--burstiness needs --rate")
        return workload
    cv = 1.0 if burstiness is None else burstiness
    spec = None if rate == 0 else validate({"rate": rate, "cv": cv}, ArrivalSpec, "arrivals")
    return workload.arriving(spec, seed)


def serve_requests(
    system: str,
    model: str | os.PathLike[str] | ModelShape,
    workload: str,
    *,
    form: str | None = None,
    requests: int | None = None,
    output_tokens: int = 128,
    rate: float | None = None,
    burstiness: float | None = None,
    seed: int = 1,
    batch_limit: int | None = None,
    token_budget: int = 8192,
    chunked: bool = False,
    preemption: str = "recompute",
    instances: int = 1,
    dispatch: str = "round-robin",
    fast: float | None = None,
    slo_ms: float | None = None,
    ttft_slo_ms: float | None = None,
    search: str | None = None,
    percentile: float = 99,
    refresh: bool = False,
    measure: bool = False,
    records: str | None = None,
    changes: Mapping[str, Any] | None = None,
    csv: str | None = None,
    plot: str | None = None,
    timeline: str | None = None,
    write_requests: str | None = None,
    log: Callable[[str], None] = lambda text: None,
) -> Serve:
    """Serve the requests of a workload, or search for the largest batch or rate within ``slo_ms``. The options of
    ``bankside serve`` have the same meaning; ``form`` is its ``--format``, ``percentile`` its ``--slo-percentile``.

    Raises
    ------
    :exc:`CheckFailed`
        If a search finds nothing that meets ``slo_ms``; the message names the best value.
    :exc:`ConfigError`
        For any fault of the request.
    """
    from bankside.models.llm import load_model
    from bankside.models.serving import Policy, largest_batch, largest_rate, serve, served_system
    from bankside.models.systems import load_system

    limit, searched = slo_ms or 0.0, search == "rate"
    if search not in (None, "batch", "rate"):
        raise ConfigError(nearest("search", search, ("batch", "rate")))
    if percentile > 100:
        raise ConfigError(f"--slo-percentile must be at most 100, not {percentile:g}")
    if searched and rate is not None:
        raise ConfigError("--search rate chooses the rate: it can't be combined with --rate")
    policy = Policy(
        batch_limit=batch_limit or (1 << 16 if search == "batch" else 256),
        token_budget=token_budget,
        chunked=chunked,
        preemption=preemption,
        instances=instances,
        dispatch=dispatch,
        mode="exact" if fast is None else "fast",
        tolerance=0.01 if fast is None else fast,
    )
    asked = find_workload(
        workload,
        form=form,
        requests=requests,
        rate=0 if searched else rate,
        burstiness=None if searched else burstiness,
        output_tokens=output_tokens,
        seed=seed,
    )
    if search is not None and slo_ms is None:
        raise ConfigError("--search needs --slo")
    outputs = Outputs(csv, plot, timeline, write_requests)
    outputs.check()
    shape = load_model(model)
    used: list[str] = []
    loaded, source = load_system(system, changes), _Noting(RecordFolder(records), used)
    note_sources(serve_requests, type(loaded))
    served = measuring(lambda: served_system(loaded, shape, records=source, refresh=refresh), measure, records, log)
    began = time.perf_counter()
    found: SearchResult | None = None
    if search is None:
        with _bar("requests") as tell:
            result = serve(served, asked, policy, model=shape.name, progress=tell)
    elif search == "batch":
        found = largest_batch(served, asked, limit, policy, percentile=percentile, model=shape.name, progress=log)
    else:
        found = largest_rate(
            served,
            asked,
            limit,
            policy,
            percentile=percentile,
            cv=1.0 if burstiness is None else burstiness,
            seed=seed,
            model=shape.name,
            progress=log,
        )
    if found is not None:
        result = found.result
    seconds = time.perf_counter() - began
    files = outputs.write(result, asked, slo_ms)
    return Serve(
        **result.summary(slo_ms, ttft_slo_ms),
        parallelism=dict(getattr(served, "parallelism", {})),
        search=_search(found, percentile),
        records=sorted({*used, *loaded.bind(shape, source, refresh=refresh).sources}),
        seconds=seconds,
        files=files,
        tools=tool_versions(),
    )


def _search(found: SearchResult | None, percentile: float) -> Search | None:
    if found is None:
        return None

    def value(number: float) -> float | None:
        return number if number < float("inf") else None  # all at once

    return Search(
        what=found.what,
        value=value(found.value),
        percentile=percentile,
        bounded=found.bounded,
        tried=[Tried(value=value(number), tpot_ms=tpot, meets=ok) for number, tpot, ok in found.tried],
    )


class _Noting:
    """A source of records that notes the names of the records it finds."""

    def __init__(self, source: RecordFolder, names: list[str]) -> None:
        self._source, self._names = source, names

    def find(self, measurement: Measurement) -> Record | None:
        record = self._source.find(measurement)
        if record is not None:
            self._names.append(record.name)
        return record


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on standard error, if that is a terminal and the work takes longer than a second."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    began, task, last = time.monotonic(), bar.add_task(what, total=None), 0.0

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > 0.1:
            last = now
            if now - began > 1:
                bar.start()
            bar.update(task, completed=done, total=total)

    try:
        yield tell
    finally:
        bar.stop()


# ---- For people -----------------------------------------------------------------------------------------------------


def serving_table(r: Serve) -> list[Any]:
    """The result as objects that rich prints."""
    w, policy = r.workload, r.policy
    figures = tuple(Spread.model_fields)
    rows = [
        (name, *("–" if one is None else _number(getattr(one, figure)) for figure in figures))
        for name, one in r.latencies.items()
    ]
    table = FittingTable(
        [("ms", {}), *((figure, {"justify": "right"}) for figure in figures)],
        rows,
        (5, 3, 1, 2),
        title=f"{r.system}, {r.model}, {w.requests:,} requests of {w.name}",
        title_style="bold",
        title_justify="left",
    )
    lines = [
        f"throughput    {_number(r.throughput_tok_s)} tokens/s, {_number(r.requests_per_s)} requests/s over "
        f"{_number(r.makespan_s)} s",
        f"batch         mean {_number(r.batch.mean)}, largest {r.batch.max} (limit {policy.batch_limit}); "
        f"KV cache mean {100 * r.kv.mean:.1f} %, peak {100 * r.kv.peak:.1f} % of "
        f"{r.kv.capacity_tokens:,} tokens; {r.preemptions} preemptions",
        f"time          busy {100 * r.utilisation:.1f} %, of that prefill {100 * r.prefill_share:.1f} %; "
        f"{r.decode_steps:,} decode steps",
    ]
    if r.energy is not None:
        e = r.energy
        parts = sorted(e.components_j_per_token.items(), key=lambda item: -item[1])
        lines.append(
            f"energy        {_joules(e.j_per_token)} a token, as modelled; {_joules(e.prefill_j_per_token)} "
            "are prefill; " + ", ".join(f"{name} {_joules(value)}" for name, value in parts if value)
        )
    if r.slo is not None:
        limits = [
            f"{name} {limit:g} ms"
            for limit, name in ((r.slo.tpot_ms, "TPOT"), (r.slo.ttft_ms, "TTFT"))
            if limit is not None
        ]
        lines.append(
            f"goodput       {100 * r.slo.met:.1f} % of the requests meet {' and '.join(limits)}: "
            f"{_number(r.slo.goodput_requests_s)} requests/s, {_number(r.slo.goodput_tok_s)} tokens/s"
        )
    if r.search is not None and r.slo is not None:
        s = r.search
        what = "batch" if s.what == "batch" else "arrival rate"
        value = (
            "all at once"
            if s.value is None
            else f"{s.value:.0f}"
            if s.what == "batch"
            else f"{_number(s.value)} requests/s"
        )
        more = "" if s.bounded else "; a larger one changes nothing"
        if s.what == "batch" and not s.bounded and s.value == policy.batch_limit:
            more = "; the limit of the search"
        lines.append(
            f"largest {what} with p{s.percentile:g} TPOT within {r.slo.tpot_ms:g} ms: {value}{more} "
            f"({len(s.tried)} runs)"
        )
    if w.synthetic:
        lines.append("lengths are synthetic: only some of their statistics are published (see docs/workloads.md)")
    if r.records:
        lines.append(f"rests on      {', '.join(r.records)}")
    lines += [f"note: {note}" for note in r.notes]
    lines += [f"{name}: {path}" for name, path in r.files.items()]
    return [table, *lines]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1e4 else f"{value:,.1f}" if value >= 100 else f"{value:.2f}" if value else "0"


def _joules(value: float) -> str:
    return f"{value:.2f} J" if value >= 1 else f"{value * 1e3:.3g} mJ"


def _picture(result: ServingResult, form: str, slo_ms: float | None) -> bytes:
    """Batch over time, and the distributions of TTFT, TPOT and latency."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{result.system}, {result.model}: {len(result.workload):,} requests of {result.workload.name}")
    grid = figure.subplots(2, 2).ravel()
    series = np.array(result.batch_series())
    grid[0].fill_between(series[:, 0], series[:, 1], color="#0072b2", alpha=0.6, step="mid", linewidth=0)
    grid[0].set(title="requests that decode", xlabel="s", ylabel="requests", ylim=(0, None))
    for axes, values, title in (
        (grid[1], result.ttft_s, "time to first token"),
        (grid[2], result.tpot_s, "time per output token"),
        (grid[3], result.latency_s, "end to end"),
    ):
        known = np.sort(values[~np.isnan(values)]) * 1e3
        axes.step(known, np.arange(1, len(known) + 1) / max(len(known), 1), color="#0072b2", where="post")
        axes.set(title=title, xlabel="ms", ylabel="share of the requests", ylim=(0, 1.02))
        axes.grid(color="#dddddd")
        if axes is grid[2] and slo_ms is not None:
            axes.axvline(slo_ms, color="#d55e00", linestyle="--")
            axes.annotate(
                f"{slo_ms:g} ms",
                (slo_ms, 0.02),
                color="#d55e00",
                xytext=(-4, 0),
                ha="right",
                textcoords="offset points",
            )
    out = io.BytesIO()
    figure.savefig(
        out,
        format=form,
        dpi=110,
        metadata={} if form == "png" else {"CreationDate": None} if form == "pdf" else {"Date": None},
    )
    return out.getvalue()
