"""JSON Schemas of the output of commands with ``--json``: ``bankside schema COMMAND``.

Each class is a kind of result. Undeclared keys are errors, so the schemas list all keys. The measurements of a unit and
the breakdowns of a system are open, because installed packages add their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, create_model

from bankside.constraints.core.errors import ConfigError, nearest
from bankside.constraints.core.registry import UNITS
from bankside.models.systems import kinds

from ..provenance.envelope import SCHEMA
from .decoding import Capture, Decode, Kernels, Sparse, Writeback, WritebackCheck
from .demo import Demo
from .papers import Claims, Figure, Papers, Repro, ReproResults
from .programs import Asm, Disasm
from .result import Part as _Part
from .result import key as _key
from .systems import Eval, EvalLayer, EvalReference, EvalRuns, EvalWorkload, Parallelism, eval_of
from .tool import Bench, Cache, Doctor, Explain
from .units import DryRun, DryRuns, Gen, List, Records, Rtl, Sim, Synth, SynthAll, SynthFpga, TimeTrace, TimeUnit

__all__ = ["COMMANDS", "Envelope", "result_of", "schema_of"]


# ---- What all results have ------------------------------------------------------------------------------------------


class Input(_Part):
    """A file, a record or sources from which a result is made."""

    kind: str = _key("`memory file`, `system file`, `measurement record`, `sources`, `Verilog` and others")
    name: str = _key(
        "Path of a file as the command received it; a file of the package begins with `bankside/`. "
        "For records and sources, their name"
    )
    sha256: str = _key(
        "Digest of the contents. A digest of sources has 32 digits and covers "
        "[definitions](architecture.md#measurement-records), not text"
    )
    command: str | None = _key("record: the command that makes it again", default=None)
    made_from: dict[str, str] | None = _key("record: digests and versions from which it was made", default=None)
    verilog_sha256: str | None = _key("record: digest of the measured Verilog", default=None)
    tools: dict[str, str] | None = _key("record: versions of the tools that made the measurement", default=None)


class Envelope(_Part):
    """Keys of every result."""

    version: Literal[1] = Field(
        alias="schema", description="version of the keys, 1; it changes when a key changes its meaning"
    )
    command: str = _key("the command that made the result")
    tools: dict[str, str] = _key("version of each tool that affects the result")
    notes: list[str] = _key("remarks for readers of the figures")
    warnings: list[str] = _key("possible mistakes in the command's options and inputs; also on standard error")
    inputs: list[Input] = _key("every file, record and source from which the result was made")


class Spread(_Part):
    """Distribution over all requests, in ms."""

    mean: float = _key("mean", "ms")
    p50: float = _key("median", "ms")
    p90: float = _key("90th percentile", "ms")
    p99: float = _key("99th percentile", "ms")
    max: float = _key("largest value", "ms")


# ---- Systems --------------------------------------------------------------------------------------------------------


class Operator(_Part):
    operator: str = _key("name of the operator")
    where: str = _key("place of execution: `channels`, `hub` or `links`")
    shape: str = _key("shape of the computation")
    partition: str = _key("division of the work over modules, channels and banks")
    communication: str = _key("data that moves")
    commands: dict[str, int] = _key("commands of the program by name; empty for `hub` and `links`")
    cycles: float | None = _key(
        "cycles of the memory's clock; null if the channels do not execute the operator", "cycles"
    )
    microseconds: float | None = _key("time; null for an operator of the hub whose clocks have not been measured", "µs")


class Compiled(_Part):
    lines: int | None = _key("lines of the dispatcher's command buffer", default=None)
    bytes: int | None = _key("size of the program", "bytes", default=None)
    buffer_bytes: int | None = _key("size of the command buffer", "bytes", default=None)
    listing: list[str] | None = _key("listing of the commands, with `--listing`", default=None)
    file: str | None = _key("written file, with `--output`", default=None)


class Compile(Envelope):
    model: str = _key("name of the model")
    system: str = _key("name of the system")
    tokens: int = _key("tokens of the request", "tokens")
    parallelism: Parallelism = _key("`tensor` and `pipeline`, over modules")
    layers: int = _key("layers of the fullest stage")
    patterns: list[str] = _key("patterns that the compiler recognised in the model")
    operators: list[Operator] = _key("operators in order")
    registers: int = _key("registers of the hub that the program uses, 32 bytes each")
    virtual_rows: int = _key("rows of a request of the longest context; 0 without lazy allocation")
    not_measured: list[str] = _key("commands that make the missing measurements for the times")
    program: Compiled | None = _key("the program of one operator or layer", default=None)


class ServedWorkload(_Part):
    name: str = _key("name or file of the workload")
    requests: int = _key("number of requests")
    input_tokens: int = _key("input tokens of all requests", "tokens")
    output_tokens: int = _key("output tokens of all requests", "tokens")
    synthetic: bool = _key("whether the lengths use more than published numbers")
    timed: bool = _key("whether requests have arrival times")
    source: str = _key("source of the lengths")


class Batch(_Part):
    mean: float = _key("number of decoding requests, mean over the time of decode steps")
    max: int = _key("largest number of decoding requests")
    series: list[list[float]] = _key("pairs of time in seconds and number of decoding requests, for all instances")


class ServingPolicy(_Part):
    """How requests are scheduled."""

    batch_limit: int = _key("most requests that an instance has in work at once")
    token_budget: int = _key("most tokens of an iteration with prefill")
    chunked: bool = _key("whether prompts are prefilled in pieces, beside decoding")
    preemption: str = _key("`recompute` or `reserve`: see [iterations](serving.md#iterations)")
    watermark: float = _key("fraction of the blocks that stay free when a prompt is taken in")
    instances: int = _key("copies of the system")
    dispatch: str = _key("assignment of requests to instances: `round-robin` or `least-loaded`")
    mode: str = _key("`exact`, or `fast` with interpolated decode steps")
    tolerance: float = _key("largest relative error of a decode step in fast mode")


class ServedEnergy(_Part):
    j_per_token: float = _key("modelled energy per output token", "J")
    prefill_j_per_token: float = _key("part of `j_per_token` for prefill", "J")
    components_j_per_token: dict[str, float] = _key(
        "energy per output token by component, see [energy](systems.md#energy)", "J"
    )
    not_modelled: list[str] = _key("components without a modelled energy")


class KvCache(_Part):
    capacity_tokens: int = _key("capacity of an instance's KV cache", "tokens")
    block_tokens: int = _key("size of a block of the KV cache", "tokens")
    mean: float = _key("fraction in use, mean over the time at work")
    peak: float = _key("largest fraction in use")


class Limits(_Part):
    tpot_ms: float | None = _key("value of `--slo`", "ms")
    ttft_ms: float | None = _key("value of `--ttft-slo`", "ms")
    met: float = _key("fraction of the requests that meet both limits")
    goodput_requests_s: float = _key("requests per second that meet both limits", "1/s")
    goodput_tok_s: float = _key("output tokens per second of these requests", "tokens/s")


class Tried(_Part):
    value: float | None = _key("tried value")
    tpot_ms: float = _key("this percentile of TPOT", "ms")
    meets: bool = _key("whether it meets the limit")


class Search(_Part):
    what: str = _key("`batch` or `rate`")
    value: float | None = _key("largest value that meets the limit; null: all at once")
    percentile: float = _key("percentile of TPOT")
    bounded: bool = _key("whether a larger value was tried and missed the limit")
    tried: list[Tried] = _key("values that the search tried")


class Serve(Envelope):
    system: str = _key("name of the system")
    model: str = _key("name of the model")
    workload: ServedWorkload = _key("the requests")
    policy: ServingPolicy = _key("how requests are scheduled")
    makespan_s: float = _key("time from the first arrival to the last token", "s")
    throughput_tok_s: float = _key("output tokens per second", "tokens/s")
    requests_per_s: float = _key("requests per second", "1/s")
    ttft_ms: Spread = _key("time to first token")
    tpot_ms: Spread = _key("time per output token; null if no request has two tokens")
    itl_ms: Spread = _key("every gap between two tokens; null if no request has two tokens")
    latency_ms: Spread = _key("time from arrival to last token")
    queueing_ms: Spread = _key("time from arrival until the request is taken in")
    batch: Batch = _key("decoding requests")
    utilisation: float = _key("fraction of the time with an iteration at work")
    prefill_share: float = _key("fraction of this work time with prefill alone")
    kv: KvCache = _key("KV cache of an instance")
    preemptions: int = _key("number of preemptions")
    iterations: int = _key("number of iterations")
    decode_steps: int = _key("number of decode steps")
    energy: ServedEnergy | None = _key("modelled energy; null if the system states none")
    slo: Limits | None = _key("limits of latency; null without limits")
    parallelism: Parallelism | dict[str, int] = _key("division of the model over devices")
    search: Search | None = _key("the search; null without `--search`")
    records: list[str] = _key("measurement records that the simulation looked up")
    seconds: float = _key("time that the simulation took", "s")
    files: dict[str, str] = _key("written files")


class Calibrate(Envelope):
    system: str = _key("name of the system")
    model: str = _key("name of the model")
    x: float = _key("importance of a token in HBM, divided by the importance of a token in the SSD")
    y: float = _key("importance of a token in DDR, divided by the importance of a token in the SSD")
    tier_us: dict[str, float] = _key("time of a layer's attention in each tier, with these ratios", "µs")
    rounds: int = _key("number of the round whose ratios these are, counted from 1")
    equal: bool = _key("whether the slowest tier takes at most a tenth longer than the fastest")
    sorted: bool = _key("whether the tokens are sorted by importance, so that no higher ratios make a tier faster")
    conditions: str = _key("description of the calibrated load")
    file: str | None = _key("written table")


class Sparsity(_Part):
    """Parameters of synthetic activations."""

    compression: float = _key("tokens per active token")
    spread: float = _key("standard deviation of the logarithm of a token's probability")
    keep: float = _key("probability that a token keeps its state from one step to the next")
    sink: int = _key("number of first tokens that are always active, taken from the system", "tokens")
    recent: int = _key("number of last tokens that are always active", "tokens")


class FittedActivations(Envelope):
    """``bankside calibrate --trace``."""

    system: str = _key("name of the system")
    trace: str = _key("file of the trace")
    sparsity: Sparsity = _key("parameters of the synthetic activations")


# ---- The rest -------------------------------------------------------------------------------------------------------


class SweepRow(_Part):
    point: dict[str, str] = _key("values of the combination")
    values: dict[str, float] = _key("numbers of the result; a number of a part has a dotted key")
    records: list[str] = _key("measurement records on which the row rests")
    error: str | None = _key("reason why the combination was refused")


class Sweep(Envelope):
    target: str = _key("name of the unit or system")
    file: str = _key("file of the rows")
    resumed: int = _key("rows kept from an earlier sweep that was cut off")
    refused: int = _key("number of rows without values")
    rows: list[SweepRow] = _key("a row for each combination")
    pareto: list[str] | None = _key("the two columns")
    picture: str | None = _key("file of the picture")
    front: list[int] | None = _key("positions in `rows` of the rows that no other row beats")


#: Kinds of results of each command.
COMMANDS: Mapping[str, tuple[type[BaseModel], ...]] = {
    "doctor": (Doctor,),
    "list": (List,),
    "gen": (Gen, DryRun),
    "sim": (Sim, DryRun),
    "synth": (Synth, SynthFpga, SynthAll, DryRun, DryRuns),
    "time": (TimeUnit, TimeTrace, DryRun),
    "eval": (Eval, EvalWorkload, EvalLayer, EvalReference, EvalRuns),
    "compile": (Compile,),
    "serve": (Serve,),
    "decode": (Decode,),
    "capture": (Capture,),
    "sparse": (Sparse,),
    "asm": (Asm,),
    "disasm": (Disasm,),
    "repro": (Repro, Papers, Claims, Figure, ReproResults),
    "calibrate": (Calibrate, FittedActivations),
    "demo": (Demo,),
    "rtl": (Rtl,),
    "sweep": (Sweep,),
    "records": (Records,),
    "explain": (Explain,),
    "cache": (Cache,),
    "kernels": (Kernels,),
    "writeback": (Writeback, WritebackCheck),
    "bench": (Bench,),
}


def _sim(name: str) -> type[BaseModel]:
    """Result of ``sim`` of a unit as it is printed: the options of its workload and the fields of its result."""
    unit = UNITS[name]
    workload: dict[str, Any] = {
        "vectors_file" if key == "vectors" else key: (option.kind | None, _key(option.description, default=None))
        for key, option in unit.workload.options().items()
    }
    found = {**Sim.model_fields, **unit.result.model_fields}
    fields: dict[str, Any] = {
        key: (field.annotation, field)
        for key, field in found.items()
        if not field.exclude and key not in Envelope.model_fields
    }
    title = "".join(part.capitalize() for part in name.split("-"))
    fields = {**workload, **fields, "unit": (Literal[name], ...)}
    kind: type[BaseModel] = create_model(f"Sim{title}", __base__=Envelope, **fields)
    return kind


def _printed(kind: type[BaseModel]) -> type[BaseModel]:
    """A kind of result with the keys that all results have before its own."""
    if issubclass(kind, Envelope):
        return kind
    keys: dict[str, Any] = {name: (field.annotation, field) for name, field in Envelope.model_fields.items()}
    made: type[BaseModel] = create_model(kind.__name__, __base__=(kind, Envelope), __doc__=kind.__doc__, **keys)
    return made


def _adapter(command: str) -> TypeAdapter[Any]:
    results = COMMANDS[command]
    if command == "eval":
        results = (*dict.fromkeys(eval_of(kind) for kind in kinds().values()), *results[1:])
    found: list[Any] = [_printed(kind) for kind in results if kind is not Sim]
    found = [*map(_sim, UNITS), *found] if command == "sim" else found
    return TypeAdapter(reduce(or_, found))


def result_of(document: Mapping[str, Any]) -> Any:
    """The typed result of a command, from its output with ``--json``."""
    return _adapter(document["command"]).validate_python(document)


def schema_of(command: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of the results of a command.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such command, or it has no ``--json``.
    """
    if command not in COMMANDS:
        raise ConfigError(nearest("command with --json", command, COMMANDS))
    schema = {key: value for key, value in _adapter(command).json_schema(by_alias=True).items() if key != "title"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"bankside {command} --json, schema {SCHEMA}",
        **schema,
    }
