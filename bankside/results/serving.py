"""Results of serving and of sweeps."""

from __future__ import annotations

from typing import Any

from .result import Noted, Part, key
from .systems import Parallelism

__all__ = ["Serve", "Sweep", "SweepRow"]


class Spread(Part):
    """Distribution over all requests, in ms."""

    mean: float = key("mean", "ms")
    p50: float = key("median", "ms")
    p90: float = key("90th percentile", "ms")
    p99: float = key("99th percentile", "ms")
    max: float = key("largest value", "ms")


class ServedWorkload(Part):
    name: str = key("name or file of the workload")
    requests: int = key("number of requests")
    input_tokens: int = key("input tokens of all requests", "tokens")
    output_tokens: int = key("output tokens of all requests", "tokens")
    synthetic: bool = key("whether the lengths use more than published numbers")
    timed: bool = key("whether requests have arrival times")
    source: str = key("source of the lengths")


class Batch(Part):
    mean: float = key("number of decoding requests, mean over the time of decode steps")
    max: int = key("largest number of decoding requests")
    series: list[list[float]] = key("pairs of time in seconds and number of decoding requests, for all instances")


class ServingPolicy(Part):
    """How requests are scheduled."""

    batch_limit: int = key("most requests that an instance has in work at once")
    token_budget: int = key("most tokens of an iteration with prefill")
    chunked: bool = key("whether prompts are prefilled in pieces, beside decoding")
    preemption: str = key("`recompute` or `reserve`: see [iterations](serving.md#iterations)")
    watermark: float = key("fraction of the blocks that stay free when a prompt is taken in")
    instances: int = key("copies of the system")
    dispatch: str = key("assignment of requests to instances: `round-robin` or `least-loaded`")
    mode: str = key("`exact`, or `fast` with interpolated decode steps")
    tolerance: float = key("largest relative error of a decode step in fast mode")


class ServedEnergy(Part):
    j_per_token: float = key("modelled energy per output token", "J")
    prefill_j_per_token: float = key("part of `j_per_token` for prefill", "J")
    components_j_per_token: dict[str, float] = key(
        "energy per output token by component, see [energy](systems.md#energy)", "J"
    )
    not_modelled: list[str] = key("components without a modelled energy")


class KvCache(Part):
    capacity_tokens: int = key("capacity of an instance's KV cache", "tokens")
    block_tokens: int = key("size of a block of the KV cache", "tokens")
    mean: float = key("fraction in use, mean over the time at work")
    peak: float = key("largest fraction in use")


class Limits(Part):
    tpot_ms: float | None = key("value of `--slo`", "ms")
    ttft_ms: float | None = key("value of `--ttft-slo`", "ms")
    met: float = key("fraction of the requests that meet both limits")
    goodput_requests_s: float = key("requests per second that meet both limits", "1/s")
    goodput_tok_s: float = key("output tokens per second of these requests", "tokens/s")


class Tried(Part):
    value: float | None = key("tried value")
    tpot_ms: float = key("this percentile of TPOT", "ms")
    meets: bool = key("whether it meets the limit")


class Search(Part):
    what: str = key("`batch` or `rate`")
    value: float | None = key("largest value that meets the limit; null: all at once")
    percentile: float = key("percentile of TPOT")
    bounded: bool = key("whether a larger value was tried and missed the limit")
    tried: list[Tried] = key("values that the search tried")


class Serve(Noted):
    system: str = key("name of the system")
    model: str = key("name of the model")
    workload: ServedWorkload = key("the requests")
    policy: ServingPolicy = key("how requests are scheduled")
    makespan_s: float = key("time from the first arrival to the last token", "s")
    throughput_tok_s: float = key("output tokens per second", "tokens/s")
    requests_per_s: float = key("requests per second", "1/s")
    ttft_ms: Spread = key("time to first token")
    tpot_ms: Spread | None = key("time per output token; null if no request has two tokens")
    itl_ms: Spread | None = key("every gap between two tokens; null if no request has two tokens")
    latency_ms: Spread = key("time from arrival to last token")
    queueing_ms: Spread = key("time from arrival until the request is taken in")
    batch: Batch = key("decoding requests")
    utilisation: float = key("fraction of the time with an iteration at work")
    prefill_share: float = key("fraction of this work time with prefill alone")
    kv: KvCache = key("KV cache of an instance")
    preemptions: int = key("number of preemptions")
    iterations: int = key("number of iterations")
    decode_steps: int = key("number of decode steps")
    energy: ServedEnergy | None = key("modelled energy; null if the system states none")
    slo: Limits | None = key("limits of latency; null without limits")
    parallelism: Parallelism | dict[str, int] = key("division of the model over devices")
    search: Search | None = key("the search; null without `--search`")
    records: list[str] = key("measurement records that the simulation looked up")
    seconds: float = key("time that the simulation took", "s")
    files: dict[str, str] = key("written files")

    @property
    def latencies(self) -> dict[str, Spread | None]:
        """Distribution of each latency, by its name for readers; None if no request has it."""
        return {
            "time to first token": self.ttft_ms,
            "time per output token": self.tpot_ms,
            "between two tokens": self.itl_ms,
            "end to end": self.latency_ms,
            "waiting": self.queueing_ms,
        }


class SweepRow(Part):
    point: dict[str, str] = key("values of the combination")
    values: dict[str, float] = key("numbers of the result; a number of a part has a dotted key")
    records: list[str] = key("measurement records on which the row rests")
    error: str | None = key("reason why the combination was refused")


class Sweep(Noted):
    target: str = key("name of the unit or system")
    file: str = key("file of the rows")
    resumed: int = key("rows kept from an earlier sweep that was cut off")
    refused: int = key("number of rows without values")
    rows: list[SweepRow] = key("a row for each combination")
    pareto: list[str] | None = key("the two columns")
    picture: str | None = key("file of the picture")
    front: list[int] | None = key("positions in `rows` of the rows that no other row beats")

    def _rows(self) -> list[dict[str, Any]]:
        """A row for each combination: its values, numbers by name, and the reason why it was refused."""
        names = dict.fromkeys(name for row in self.rows for name in row.values)
        return [
            {**row.point, **{name: row.values.get(name) for name in names}, "error": row.error} for row in self.rows
        ]
