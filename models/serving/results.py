"""Results of serving: times of each request, and figures over all requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .policy import Policy
from .workloads import Workload

__all__ = ["CSV_COLUMNS", "Iterations", "Segment", "ServingResult", "StepLog", "spread", "weighted_percentile"]

#: Columns of the CSV file, as in LLMServingSim. Times are in ns; ITL is a list of times.
CSV_COLUMNS = (
    "instance id",
    "request id",
    "model",
    "input",
    "output",
    "arrival",
    "end_time",
    "latency",
    "queuing_delay",
    "TTFT",
    "TPOT",
    "ITL",
)

PERCENTILES = (50, 90, 99)

#: Points of the batch size over time in JSON.
SERIES_POINTS = 200

#: Largest number of events of a timeline, roughly.
MAX_EVENTS = 300_000


class Segment:
    """Stays of requests in the batch, from the end of a prefill on: one row for each stay."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    @classmethod
    def table(cls) -> Segment:
        return cls()

    def add(self, requests: np.ndarray, began: np.ndarray, since: np.ndarray, steps: np.ndarray) -> None:
        """Add stays of ``steps`` decode steps, from step number ``since`` on. ``began`` is the time at which the
        prefill ended."""
        self._parts.append((requests.copy(), began.copy(), since.copy(), np.array(steps)))

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        if not self._parts:
            return (np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64))
        if len(self._parts) > 1:
            one, two, three, four = (np.concatenate(column) for column in zip(*self._parts, strict=True))
            self._parts = [(one, two, three, four)]
        return self._parts[0]


@dataclass(frozen=True)
class Iterations:
    """Iterations of an instance; decode steps of the same batch are one entry.

    Attributes
    ----------
    start_s, seconds, batch, blocks : array
        Start, duration, number of requests that decoded, blocks of KV cache in use.
    kind : list of ``"prefill"``, ``"decode"`` or ``"mixed"``
    count, tokens : array
        Number of prompts or decode steps, and of tokens.
    step_end_s : array
        End of every decode step.
    gap_s, gap_count : array
        Times between two tokens of a request, and how many requests had each.
    energy_pj : mapping of (``"prefill"`` or ``"decode"``, component) to pJ
        Energy of all iterations; empty if the system has no figures for it.
    """

    start_s: np.ndarray
    seconds: np.ndarray
    batch: np.ndarray
    blocks: np.ndarray
    kind: list[str]
    count: np.ndarray
    tokens: np.ndarray
    step_end_s: np.ndarray
    gap_s: np.ndarray
    gap_count: np.ndarray
    energy_pj: dict[tuple[str, str], float] = field(default_factory=dict)


class StepLog:
    """Collects :class:`Iterations`."""

    def __init__(self) -> None:
        self._events: list[tuple[float, float, int, float, str, int, int]] = []
        self._ends: list[np.ndarray] = []
        self._gaps: list[np.ndarray] = []
        self._counts: list[int] = []
        self._energy: dict[tuple[str, str], float] = {}

    def iteration(
        self, start: float, seconds: float, batch: int, blocks: float, kind: str, count: int, tokens: int
    ) -> None:
        self._events.append((start, seconds, batch, blocks, kind, count, tokens))

    def steps(self, ends: np.ndarray) -> None:
        self._ends.append(ends)

    def gaps(self, seconds: np.ndarray, requests: int) -> None:
        if len(seconds):
            self._gaps.append(seconds)
            self._counts.append(requests)

    def energy(self, kind: str, parts: Mapping[str, float]) -> None:
        for name, pj in parts.items():
            self._energy[kind, name] = self._energy.get((kind, name), 0.0) + pj

    def closed(self) -> Iterations:
        start, seconds, batch, blocks, kind, count, tokens = (
            zip(*self._events, strict=True) if self._events else ((),) * 7
        )
        sizes = [len(part) for part in self._gaps]
        return Iterations(
            np.array(start, float),
            np.array(seconds, float),
            np.array(batch, np.int64),
            np.array(blocks, float),
            list(kind),
            np.array(count, np.int64),
            np.array(tokens, np.int64),
            np.concatenate(self._ends) if self._ends else np.zeros(0),
            np.concatenate(self._gaps) if self._gaps else np.zeros(0),
            np.repeat(np.array(self._counts, np.int64), sizes),
            dict(self._energy),
        )


def weighted_percentile(values: np.ndarray, weights: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """For each of ``shares`` (in percent), the least value such that values up to it have at least this part of the
    weight."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    places = np.searchsorted(total, np.asarray(shares) / 100 * total[-1])
    return values[order][np.minimum(places, len(values) - 1)]


def spread(values: np.ndarray, weights: np.ndarray | None = None, scale: float = 1e3) -> dict[str, float] | None:
    """Mean, percentiles and maximum, in ms; None if there is no value."""
    if weights is None:
        values = values[~np.isnan(values)]
    if not len(values):
        return None
    if weights is None:
        mean, shares = float(values.mean()), np.percentile(values, PERCENTILES)
    else:
        mean, shares = (
            float(np.average(values, weights=weights)),
            weighted_percentile(values, weights, np.array(PERCENTILES)),
        )
    return {
        "mean": mean * scale,
        **{f"p{p}": float(x) * scale for p, x in zip(PERCENTILES, shares, strict=True)},
        "max": float(values.max()) * scale,
    }


@dataclass
class ServingResult:
    """Times of every request, in seconds, and figures derived from them.

    Attributes
    ----------
    started_s, first_token_s, finished_s : array
        When a request first left the queue, had its first token, and had its last token.
    preemptions : array
        How often each request lost its KV cache.
    logs : list of :class:`Iterations`
        One for each instance.
    """

    system: str
    model: str
    workload: Workload
    policy: Policy
    kv_capacity_tokens: int
    kv_block_tokens: int
    instance: np.ndarray
    started_s: np.ndarray
    first_token_s: np.ndarray
    finished_s: np.ndarray
    preemptions: np.ndarray
    segments: list[Segment]
    logs: list[Iterations]
    notes: list[str] = field(default_factory=list)

    # Each request ----------------------------------------------------------------------------------------------------

    @property
    def ttft_s(self) -> np.ndarray:
        """Time to the first token, waiting included."""
        return self.first_token_s - self.workload.arrival_s

    @property
    def queueing_s(self) -> np.ndarray:
        """Time from arrival until a request first left the queue."""
        return self.started_s - self.workload.arrival_s

    @property
    def latency_s(self) -> np.ndarray:
        return self.finished_s - self.workload.arrival_s

    @property
    def tpot_s(self) -> np.ndarray:
        """Time per output token after the first; nan for an output of one token."""
        later = self.workload.output - 1
        return np.where(later > 0, (self.finished_s - self.first_token_s) / np.maximum(later, 1), np.nan)

    def token_times(self) -> Iterator[np.ndarray]:
        """Times at which the tokens of a request were made, request by request."""
        parts = [(np.full(len(one.columns()[0]), place), *one.columns()) for place, one in enumerate(self.segments)]
        place, request, began, since, steps = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.lexsort((began, request))
        at = 0
        for number in range(len(self.workload)):
            times: list[np.ndarray] = []
            while at < len(order) and request[order[at]] == number:
                row = order[at]
                ends = self.logs[place[row]].step_end_s[since[row] : since[row] + steps[row]]
                times += [began[row : row + 1], ends]
                at += 1
            yield np.concatenate(times)

    def csv_lines(self) -> Iterator[str]:
        """A line for each request, as LLMServingSim writes them."""
        yield ",".join(CSV_COLUMNS)
        name = self.model if not set(self.model) & set(',"\n') else json.dumps(self.model)
        w = self.workload
        columns = [
            (x * 1e9).round().astype(np.int64).tolist()
            for x in (
                w.arrival_s,
                self.finished_s,
                self.latency_s,
                self.queueing_s,
                self.ttft_s,
                np.nan_to_num(self.tpot_s),
            )
        ]
        rows = zip(
            self.instance.tolist(), w.prompt.tolist(), w.output.tolist(), *columns, self.token_times(), strict=True
        )
        for number, (instance, prompt, output, arrival, end, latency, queueing, ttft, tpot, times) in enumerate(rows):
            gaps = (np.diff(times) * 1e9).round().astype(np.int64).tolist()
            yield (
                f"{instance},{number},{name},{prompt},{output},{arrival},{end},{latency},{queueing},{ttft},{tpot},"
                f'"{gaps}"'
            )

    # All of them -----------------------------------------------------------------------------------------------------

    @property
    def makespan_s(self) -> float:
        """Seconds from the first arrival to the last token."""
        return float(self.finished_s.max() - self.workload.arrival_s.min())

    @property
    def throughput_tok_s(self) -> float:
        return int(self.workload.output.sum()) / self.makespan_s

    def itl(self) -> tuple[np.ndarray, np.ndarray]:
        """Times between two tokens of a request, in seconds, and how often each occurred."""
        return (np.concatenate([log.gap_s for log in self.logs]), np.concatenate([log.gap_count for log in self.logs]))

    def energy_j(self) -> dict[str, dict[str, float]]:
        """Joules by ``prefill`` and ``decode``, then by component; empty if the system has no figures for energy."""
        out: dict[str, dict[str, float]] = {}
        for log in self.logs:
            for (kind, name), pj in log.energy_pj.items():
                part = out.setdefault(kind, {})
                part[name] = part.get(name, 0.0) + pj * 1e-12
        return out

    def tpot_percentile_s(self, percentile: float) -> float:
        """This percentile of the requests' TPOT; 0 if no request has more than one token."""
        values = self.tpot_s
        values = values[~np.isnan(values)]
        return float(np.percentile(values, percentile)) if len(values) else 0.0

    def batch_series(self, points: int = SERIES_POINTS) -> list[tuple[float, float]]:
        """Points in seconds with the number of requests that decode in all instances. Each is a mean over one of
        ``points`` equal slices of time."""
        begin, end = float(self.workload.arrival_s.min()), float(self.finished_s.max())
        edges = np.linspace(begin, end, points + 1)
        total = np.zeros(points + 1)
        for log in self.logs:
            # The integral of the batch over time has corners at starts and ends only.
            work = np.concatenate(([0.0], np.cumsum(log.batch * log.seconds)))
            corners = np.empty(2 * len(log.start_s))
            corners[0::2], corners[1::2] = log.start_s, log.start_s + log.seconds
            heights = np.empty_like(corners)
            heights[0::2], heights[1::2] = work[:-1], work[1:]
            total += np.interp(edges, corners, heights) if len(corners) else 0
        width = max((end - begin) / points, 1e-300)
        return list(zip(((edges[:-1] + edges[1:]) / 2).tolist(), (np.diff(total) / width).tolist(), strict=True))

    def _together(self) -> Iterations:
        """Iterations of all instances."""

        def joined(name: str) -> np.ndarray:
            return np.concatenate([getattr(one, name) for one in self.logs])

        return Iterations(
            joined("start_s"),
            joined("seconds"),
            joined("batch"),
            joined("blocks"),
            [kind for one in self.logs for kind in one.kind],
            joined("count"),
            joined("tokens"),
            joined("step_end_s"),
            joined("gap_s"),
            joined("gap_count"),
        )

    def _energy(self) -> dict[str, Any] | None:
        energy, tokens = self.energy_j(), int(self.workload.output.sum())
        if not energy:
            return None
        names = sorted({name for part in energy.values() for name in part})
        return {
            "j_per_token": sum(sum(part.values()) for part in energy.values()) / tokens,
            "prefill_j_per_token": sum(energy.get("prefill", {}).values()) / tokens,
            "components_j_per_token": {
                name: sum(part.get(name, 0.0) for part in energy.values()) / tokens for name in names
            },
            "not_modelled": ["gpu_static_power", "dram_refresh_and_standby", "host"],
        }

    def summary(self, slo_ms: float | None = None, ttft_slo_ms: float | None = None) -> dict[str, Any]:
        """Plain data for JSON: all figures that are not about a single request."""
        w, span = self.workload, max(self.makespan_s, 1e-12)
        log = self._together()
        kind = np.array(log.kind)
        busy, decoding = float(log.seconds.sum()), kind != "prefill"
        decode_s = float(log.seconds[decoding].sum())
        capacity = max(self.kv_capacity_tokens // self.kv_block_tokens, 1)
        slo = None
        if slo_ms is not None or ttft_slo_ms is not None:
            met = np.ones(len(w), bool)
            if slo_ms is not None:
                met &= ~(self.tpot_s * 1e3 > slo_ms)  # one token: nothing to miss
            if ttft_slo_ms is not None:
                met &= self.ttft_s * 1e3 <= ttft_slo_ms
            slo = {
                "tpot_ms": slo_ms,
                "ttft_ms": ttft_slo_ms,
                "met": float(met.mean()),
                "goodput_requests_s": int(met.sum()) / span,
                "goodput_tok_s": int(w.output[met].sum()) / span,
            }
        return {
            "system": self.system,
            "model": self.model,
            "workload": {
                "name": w.name,
                "requests": len(w),
                "input_tokens": int(w.prompt.sum()),
                "output_tokens": int(w.output.sum()),
                "synthetic": w.synthetic,
                "timed": w.timed,
                "source": w.source,
            },
            "policy": asdict(self.policy),
            "makespan_s": self.makespan_s,
            "throughput_tok_s": int(w.output.sum()) / span,
            "requests_per_s": len(w) / span,
            "ttft_ms": spread(self.ttft_s),
            "tpot_ms": spread(self.tpot_s),
            "itl_ms": spread(log.gap_s, log.gap_count),
            "latency_ms": spread(self.latency_s),
            "queueing_ms": spread(self.queueing_s),
            "batch": {
                "mean": float((log.batch * log.seconds)[decoding].sum() / decode_s) if decode_s else 0.0,
                "max": int(log.batch.max()),
                "series": [list(point) for point in self.batch_series()],
            },
            "utilisation": busy / (span * len(self.logs)),
            "prefill_share": float(log.seconds[kind == "prefill"].sum()) / max(busy, 1e-12),
            "kv": {
                "capacity_tokens": self.kv_capacity_tokens,
                "block_tokens": self.kv_block_tokens,
                "mean": float((log.blocks * log.seconds).sum() / max(busy, 1e-12)) / capacity,
                "peak": float(log.blocks.max()) / capacity,
            },
            "preemptions": int(self.preemptions.sum()),
            "iterations": int(log.count[kind == "decode"].sum() + np.count_nonzero(kind != "decode")),
            "decode_steps": len(log.step_end_s),
            "energy": self._energy(),
            "slo": slo,
            "notes": list(self.notes),
        }

    def chrome_trace(self) -> str:
        """JSON in Chrome's trace format, for ui.perfetto.dev: a process for each instance with its iterations, the batch
        and a track for each request."""
        events: list[str] = []

        def add(**fields: Any) -> None:
            events.append(json.dumps(fields))

        for number, log in enumerate(self.logs, 1):
            add(ph="M", pid=number, name="process_name", args={"name": f"instance {number - 1}"})
            add(ph="M", pid=number, tid=1, name="thread_name", args={"name": "iterations"})
            for start, seconds, batch, kind, count, tokens in zip(
                log.start_s.tolist(),
                log.seconds.tolist(),
                log.batch.tolist(),
                log.kind,
                log.count.tolist(),
                log.tokens.tolist(),
                strict=True,
            ):
                if len(events) > MAX_EVENTS // 2:
                    break
                what = f"prefill of {count}" if kind == "prefill" else f"{kind} x{count}"
                add(
                    ph="X",
                    pid=number,
                    tid=1,
                    ts=start * 1e6,
                    dur=seconds * 1e6,
                    name=what,
                    cat=kind,
                    args={"batch": batch, "tokens": tokens},
                )
                add(ph="C", pid=number, ts=start * 1e6, name="batch", args={"requests": batch})
        w = self.workload
        shown = zip(
            self.instance.tolist(),
            w.arrival_s.tolist(),
            self.started_s.tolist(),
            self.first_token_s.tolist(),
            self.finished_s.tolist(),
            w.prompt.tolist(),
            w.output.tolist(),
            strict=True,
        )
        for request, (instance, arrival, started, first, finished, prompt, output) in enumerate(shown):
            if len(events) > MAX_EVENTS:
                break
            common = {"pid": instance + 1, "cat": "request", "id": request}
            for name, begin, end in (
                (f"request {request}", arrival, finished),
                ("waits", arrival, started),
                ("prefill", started, first),
                ("decodes", first, finished),
            ):
                add(ph="b", ts=begin * 1e6, name=name, args={"input": prompt, "output": output}, **common)
                add(ph="e", ts=end * 1e6, name=name, **common)
        head = {"displayTimeUnit": "ms", "otherData": {"system": self.system, "model": self.model, "workload": w.name}}
        return json.dumps(head)[:-1] + ',\n"traceEvents": [\n' + ",\n".join(events) + "\n]}\n"
