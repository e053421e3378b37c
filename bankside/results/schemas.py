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
from bankside.models.papers.category import CATEGORIES
from bankside.models.papers.claims import Claim
from bankside.models.papers.difference import Difference as Cause
from bankside.models.papers.verdict import VERDICTS
from bankside.models.systems import kinds

from ..provenance.envelope import SCHEMA
from .demo import Demo
from .programs import Asm, Disasm
from .result import Part as _Part
from .result import key as _key
from .systems import Eval, EvalLayer, EvalReference, EvalRuns, EvalWorkload, Parallelism, eval_of
from .tool import Cache, Doctor
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


# ---- Papers ---------------------------------------------------------------------------------------------------------


class PaperSummary(_Part):
    paper: str = _key("name of the paper")
    title: str = _key("title of the paper")
    published: str | None = _key("place of publication")
    claims: int = _key("number of claims")
    categories: dict[str, int] = _key("number of claims by category")
    checks: int = _key("number of claims that are checked")
    figures: list[str] = _key("figures that can be drawn")


class Papers(Envelope):
    """``bankside repro --list``."""

    papers: list[PaperSummary] = _key("papers with claims")


class ListedClaim(Claim):
    category: Literal[*CATEGORIES] = _key(  # type: ignore[valid-type]
        "`result`, `behaviour` or `configuration`; see [Papers](repro.md#three-categories)"
    )


class Claims(Envelope):
    """``bankside repro PAPER --list``."""

    paper: str = _key("name of the paper")
    claims: list[ListedClaim] = _key("claims of the paper")


class ClaimRow(_Part):
    id: str = _key("name of the claim")
    source: str = _key("place of the claim in the paper")
    statement: str = _key("content of the claim")
    kind: str = _key("`config` (a choice), `derived`, or `measured-by-paper`")
    category: Literal[*CATEGORIES] = _key(  # type: ignore[valid-type]
        "`result`, `behaviour` or `configuration`; see [Papers](repro.md#three-categories)"
    )
    conditions: str | None = _key("conditions of the claim")
    paper: Any = _key("the paper's value", "`unit`")
    ours: Any = _key("our value, in the same shape; null if there is none", "`unit`")
    unit: str | None = _key("unit of both values")
    ratio: Any = _key("our value over the paper's value; if the value has parts, the ratio of the part farthest from 1")
    verdict: Literal[*VERDICTS] = _key(  # type: ignore[valid-type]
        "`exact`, `within`, `bound`, `off`, `not-checkable`, `not-measured`, `failed`, `timed-out`"
    )
    tolerance: str | None = _key("difference that counts as `within`")
    why: str = _key("reason why the values differ, or why the claim has not been checked")
    difference: Cause | None = _key("cause of a value that is off; null for other verdicts, or if no cause is stated")
    basis: Any = _key("basis of our value")


class Repro(Envelope):
    """``bankside repro PAPER``."""

    paper: str = _key("name of the paper")
    title: str = _key("title of the paper")
    published: str | None = _key("place of publication")
    claims: list[ClaimRow] = _key("claims of the paper")
    counts: dict[str, dict[str, int]] = _key("number of claims by category and verdict")


class ReproResults(Envelope):
    """``bankside repro PAPER --results FILE``."""

    paper: str = _key("name of the paper")
    file: str = _key("written file")
    rows: int = _key("rows of the table")


class Figure(Repro):
    """``bankside repro PAPER --figure NAME``."""

    figure: str = _key("file of the picture")
    series: dict[str, Any] | None = _key("our values for panels whose values the paper does not print", default=None)


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


class KernelSet(_Part):
    name: str = _key("name of the built-in file, or path")
    gpu: str = _key("the GPU")
    engine: str = _key("serving engine with its version")
    number_format: str = _key("format of the operands")
    shapes: dict[str, int] = _key("measured shapes by operator")
    points: dict[str, int] = _key("measured times by operator")
    source: str = _key("package of the source")


class Kernels(Envelope):
    kernels: list[KernelSet] = _key("built-in kernel records")
    file: str | None = _key("file that `--from` wrote")


class WritebackModel(_Part):
    """Figures of delayed writeback by the traffic formulas."""

    spilled_bytes: int = _key("by the formula: keys and values of whole intervals", "bytes")
    sent_bytes: int = _key("by the formula: rows that the steps send, if each write ends before the next step", "bytes")
    host_bytes: int = _key("by the formula: room for two intervals", "bytes")


class _WritebackFile(Envelope):
    head_dim: int = _key("elements of a row")
    element_bytes: int = _key("size of an element", "bytes")
    interval: int = _key("tokens that are written together")
    granularity_bytes: int = _key("smallest direct write", "bytes")
    file_bytes: int = _key("size of the spill file", "bytes")


class Writeback(_WritebackFile):
    requests: int = _key("requests that decode together")
    heads: int = _key("heads of a request")
    prefill_tokens: int = _key("tokens that were written before the first step")
    tokens: int = _key("decode steps")
    write_bytes: int = _key("keys, or values, of an interval: one write", "bytes")
    step_ms: float = _key("least time of a step", "ms")
    sync: bool = _key("rows waited for the drive's confirmation")
    workers: int = _key("threads that wrote")
    slots: int = _key("intervals that the host buffer holds for each request and head")
    seed: int = _key("seed of the rows")
    file: str | None = _key("the spill file; null if it was removed")
    direct_io: bool = _key("the file system took direct I/O; if not, a note says why")
    appended_bytes: int = _key("keys and values of all tokens", "bytes")
    spilled_bytes: int = _key("part of them that left the host buffer", "bytes")
    left_bytes: int = _key("part of them that fills no interval and stayed in the host buffer", "bytes")
    writes: int = _key("writes of keys and of values")
    written_bytes: int = _key("sizes of these writes", "bytes")
    index_writes: int = _key("writes of the index")
    index_bytes: int = _key("sizes of these writes", "bytes")
    commits: int = _key("times that the index was brought up to date")
    syncs: int = _key("confirmations that the drive was asked for")
    waits: int = _key("appends that waited for the drive")
    failures: int = _key("writes that failed and were done again")
    write_amplification: float | None = _key("bytes of all writes, the index included, over `spilled_bytes`")
    host_bytes: int = _key("most bytes that the host buffer held during the steps", "bytes")
    sent_bytes: int = _key(
        "rows whose write has not finished, summed over the steps: each step sends them to the drives' accelerators",
        "bytes",
    )
    late_steps: int = _key("steps that sent rows of an earlier interval, because their write had not finished")
    step_for_writes_ms: float = _key(
        "time of all steps and of the writes that outlast them, for one step; the drive keeps up with steps of this time or more",
        "ms",
    )
    prefill_s: float = _key("time of the prefill's writes", "s")
    decode_s: float = _key("time of the steps", "s")
    drain_s: float = _key("time from the last step to the last write", "s")
    read_s: float = _key("time of the reads from the file", "s")
    prefill_mb_s: float | None = _key("rate of the prefill's writes; null without prefill", "MB/s")
    decode_mb_s: float | None = _key("bytes spilled by the steps over `decode_s + drain_s`", "MB/s")
    read_mb_s: float | None = _key("rate of the reads", "MB/s")
    read_bytes: int = _key("bytes that were read from the file", "bytes")
    mismatches: int = _key("rows of keys or values that came back changed")
    model: WritebackModel = _key("figures of the traffic formulas")


class SpilledArray(_Part):
    request: int = _key("a request")
    head: int = _key("a head of the request")
    rows: int = _key("rows of keys that the file holds for them")


class WritebackCheck(_WritebackFile):
    """``bankside writeback --check``."""

    file: str = _key("the spill file")
    extent_tokens: int = _key("tokens for which an extent has room")
    extents: int = _key("extents of the file")
    free_extents: int = _key("extents without a request")
    rows: int = _key("rows of keys; there are as many of values")
    rows_bytes: int = _key("keys and values", "bytes")
    arrays: list[SpilledArray] = _key("each request and head")


class DecodeReference(_Part):
    perplexity: float | None = _key("of float32 on the same tokens")
    bits_per_byte: float | None = _key("of float32 on the same tokens", "bits")


class DecodeFigures(_Part):
    """Figures of a system on the tokens of a run; null where a logit is not finite."""

    perplexity: float | None = _key(
        "of each token but the first, given the tokens before it; null if a logit is not finite"
    )
    bits_per_byte: float | None = _key("information of these tokens over the bytes of their text", "bits")
    agreement: float = _key(
        "share of positions at which system and float32 have the same most probable token: all of a text, or the generated ones"
    )
    first_difference: int | None = _key("first of these positions with another token")
    kl_mean_nats: float | None = _key(
        "divergence of the system's distribution from float32's, mean over positions", "nats"
    )
    max_abs_logit_error: float | None = _key("largest difference of a logit from float32's")


class DecodeCompared(DecodeFigures):
    system: str = _key("a system of `--compare`")
    attention_error_mean: float | None = _key("mean over layers and heads")


class DecodeMaps(_Part):
    """Maps of at most 48 places a side: means over queries, sums over tokens."""

    dense: list[list[float]] = _key("map of float32's attention, mean over layers and heads, at most 48 places a side")
    selected: list[list[float]] | None = _key("with sparse attention: share of the heads that take a token")


class DecodePlacement(_Part):
    tiers: list[str] = _key("names of the tiers")
    tokens: list[list[int]] = _key("tokens in each tier at each step")


class DecodeHazard(_Part):
    name: str = _key("a hazard")
    with_it: str = _key("the run with the hazard")
    without_it: str = _key("the run that lacks the hazard alone")
    perplexity: float | None = _key("with it")
    perplexity_without: float | None = _key("without it")
    figures: dict[str, float | int | None] = _key("further figures")


class DecodeReads(_Part):
    """What sparse attention reads, by column: an entry for each of some positions, means over layers and heads."""

    unit_tokens: int = _key("keys of an access unit", "tokens")
    row_tokens: int = _key("keys of a row of all banks of a channel", "tokens")
    tokens: list[int] = _key(
        "tokens so far, at some positions; the next lists have an entry for each, means over layers and heads", "tokens"
    )
    wanted: list[float] = _key("tokens that the method takes", "tokens")
    units: list[float] = _key("access units of their keys, where the method places the tokens")
    rows: list[float] = _key("rows that these units open")
    units_in_order: list[float] = _key("access units with tokens in order of their positions")
    rows_in_order: list[float] = _key("rows with tokens in order of their positions")
    units_of_all: list[int] = _key("access units of all tokens")
    rows_of_all: list[int] = _key("rows of all tokens")


class DecodeSpan(_Part):
    track: str = _key("part that works")
    name: str = _key("its work")
    start_us: float = _key("beginning, from the step's beginning", "µs")
    us: float = _key("length", "µs")


class DecodeTimeLine(_Part):
    """Spans of a token's step, from the system's model."""

    layers: int = _key("layers that have spans: all, or the first where there are many spans")
    of_layers: int = _key("layers of the model")
    spans: list[DecodeSpan] = _key("spans of the step")


class DecodeStream(_Part):
    """A stream of a unit in the recorded cycles."""

    stream: str = _key("a stream")
    input: bool = _key("whether the unit receives it")
    valid: list[list[int]] = _key("first clock and length of each run in which it is valid", "clocks")
    ready: list[list[int]] = _key("first clock and length of each run in which it is ready", "clocks")
    payloads: dict[str, str] = _key("hexadecimal payload, by clock")


class DecodeWaveform(_Part):
    """A step of a head in RTL."""

    unit: str = _key("unit whose streams were recorded: in the last step that began with the first of the heads")
    token: int = _key("token of this step")
    layer: int = _key("layer")
    head: int = _key("query head")
    clock_mhz: float = _key("clock of the unit", "MHz")
    clocks: int = _key("length of the step", "clocks")
    cycles: int = _key("recorded ones, from its beginning; at most 4,096", "clocks")
    windows: list[list[int]] = _key("first clock and end of the parts that have payloads", "clocks")
    streams: list[DecodeStream] = _key("each stream of the unit")


class DecodeRtl(_Part):
    """Heads that the unit's Verilog computed."""

    heads: int = _key("query heads that were in RTL")
    tokens: int = _key("tokens whose queries were in RTL")
    clocks: int = _key("clocks of all simulations")
    clocks_per_second: float = _key("clocks a second of the simulations' processor time", "1/s")
    mismatches: int = _key("results that differ from the model's")
    waveform: DecodeWaveform | None = _key(
        "the last step that began with the first of the heads; null without a recording"
    )


class Decode(Envelope, DecodeFigures):
    """``bankside decode``: a sequence of tokens on a system, and float32 on the same tokens."""

    model: str = _key("name of the model")
    folder: str = _key("folder of the model")
    model_sha256: str = _key("SHA-256 of its configuration and weights")
    system: str = _key("the system")
    mode: Literal["free", "teacher-forced"] = _key("`free` or `teacher-forced`")
    interrupted: bool = _key("the user ended the run early")
    prompt_tokens: int = _key("tokens of the prompt; all tokens with `--teacher-forced`")
    temperature: float = _key("temperature of sampling")
    seed: int = _key("seed of sampling")
    tokens: list[int] = _key("prompt and generated tokens")
    pieces: list[str] = _key("text of each token")
    text: str = _key("text of all tokens")
    reference: DecodeReference = _key("float32 on the same tokens")
    agrees: list[bool] = _key("after each token, whether the most probable next token is float32's")
    attention_error: list[list[float | None]] = _key(
        "relative L2 error of attention by layer and head, against float32 on the same queries, keys and values"
    )
    attention: DecodeMaps = _key("maps of attention")
    reads: DecodeReads | None = _key("what sparse attention reads; null without it")
    placement: DecodePlacement | None = _key("tokens in each tier; null for a system without tiers")
    details: dict[str, Any] = _key("further figures of the system")
    compared: list[DecodeCompared] = _key("systems of `--compare` on the same tokens")
    hazards: list[DecodeHazard] | None = _key("with `--hazards`: each hazard")
    rtl: DecodeRtl | None = _key("heads in RTL; null without `--rtl`", default=None)
    time_per_token_us: float | None = _key(
        "time of a step of one request with as many tokens, from the system's model; a note names the split", "µs"
    )
    energy_per_token_mj: float | None = _key("energy of that step", "mJ")
    time_breakdown_us: dict[str, float] | None = _key("parts of that time", "µs")
    time_line: DecodeTimeLine | None = _key("spans of that step; null without a time")
    records: list[str] = _key("measurement records behind time and energy")


class Capture(Envelope):
    """``bankside capture``."""

    model: str = _key("name of the model")
    model_sha256: str = _key("SHA-256 of its configuration and weights")
    text_sha256: str = _key("SHA-256 of the text")
    folder: str = _key("folder of the files")
    tokens: int = _key("tokens that the model read")
    layers: int = _key("layers of the model")
    heads: int = _key("query heads of a layer")
    kv_heads: int = _key("heads of keys and values of a layer")
    head_dim: int = _key("elements of a head")
    files: list[str] = _key("files of the folder")
    trace: str = _key("the trace of attention")
    steps: int = _key("steps of the trace")


class SparseRow(_Part):
    """Figures of a method with a budget."""

    method: str = _key("a method")
    budget: int = _key("a budget", "tokens")
    tokens: float = _key("mean size of a selection", "tokens")
    recall: float = _key("share of the budget's tokens with the largest scores that are selected")
    precision: float = _key("share of the selection that is among these tokens")
    mass: float = _key("sum of the selected tokens' weights in full attention")
    error: float = _key("relative L2 error of the attention's output, mean over heads and layers")
    recall_by_layer: list[float] = _key("recall of each layer that counts")
    perplexity: float | None = _key("perplexity, decoded with the selection")
    perplexity_ratio: float | None = _key("its ratio to full attention's")
    ratio_error: float | None = _key("standard error of that ratio, from the differences of the single tokens")
    kl_mean_nats: float | None = _key("divergence from full attention's distribution", "nats")


class SparseOrder(_Part):
    """An order of two methods that STARC claims."""

    claim: str = _key("claim of STARC's paper about an order of methods")
    figure: Literal["recall", "perplexity"] = _key("`recall` or `perplexity`")
    budget: int = _key("a budget", "tokens")
    better: str = _key("the better method in the paper")
    worse: str = _key("the other method")
    better_value: float | None = _key("its figure here")
    worse_value: float | None = _key("the other's figure here")
    standard_errors: float | None = _key("difference of the logarithms of the perplexities, over its standard error")
    holds: bool = _key("the text has the paper's order")


class SparseImportant(_Part):
    budget: int = _key("a budget", "tokens")
    tokens_per_page: float = _key("tokens with the largest scores on a page of 16 tokens that has any", "tokens")


class SparseSelection(_Part):
    """What a selection of one query reads."""

    method: str = _key("a method")
    wanted: int = _key("size of the selection", "tokens")
    fetched: int = _key("tokens of the units that are read", "tokens")
    overfetch: int = _key("their difference", "tokens")
    units: int = _key("access units")
    runs: int = _key("runs of neighbouring units")
    rows: int = _key("rows of memory")


class SparseTouched(_Part):
    layer: int = _key("layer of the picture")
    head: int = _key("query head")
    budget: int = _key("budget", "tokens")
    selections: list[SparseSelection] = _key("the selection of each method")


class Sparse(Envelope):
    """``bankside sparse``: accuracy of selections of tokens on a text."""

    model: str = _key("name of the model")
    folder: str = _key("folder of the model")
    model_sha256: str = _key("SHA-256 of its configuration and weights")
    text: str | None = _key("file of the text")
    capture: str | None = _key("folder of the capture")
    tokens: int = _key("tokens of each text")
    prompt: int = _key("tokens of the prompt")
    windows: int = _key("texts")
    methods: list[str] = _key("methods")
    budgets: list[int] = _key("budgets", "tokens")
    full_layers: int = _key("first layers that attend to all tokens")
    layers: list[int] = _key("layers whose figures count")
    queries: int = _key("queries of a head, over all texts")
    predicted: int = _key("tokens whose perplexity counts")
    reference_perplexity: float | None = _key("perplexity with full attention")
    rows: list[SparseRow] = _key("a method with a budget")
    important: list[SparseImportant] = _key("tokens with the largest scores on a page")
    orders: list[SparseOrder] = _key("orders of two methods that STARC's paper claims")
    touched: SparseTouched | None = _key("rows of memory that selections touch; null without `--picture`")
    files: dict[str, str] = _key("pictures that were written")


class RestsOn(_Part):
    """Something on which a result rests."""

    kind: str = _key("as in `inputs`")
    name: str = _key("as in `inputs`")
    state: Literal["same", "changed", "gone", "unknown"] = _key(
        "`same`, `changed`, `gone` (no longer there), or `unknown`"
    )
    why: str = _key("the difference, or the command that makes a record")
    rests_on: list[dict[str, Any]] = _key("objects with the same keys")


class Explain(Envelope):
    result: str = _key("file of the result")
    of: str = _key("command that made the result")
    rests_on: list[RestsOn] = _key("everything on which the result rests")
    made_with: list[RestsOn] = _key("the tools, with the same keys")
    unchanged: bool = _key("whether every item is the same")
    changed: list[str] = _key("items that are not the same")


class Benchmark(_Part):
    """A row of ``bankside bench``."""

    benchmark: str = _key("name of the benchmark")
    what: str = _key("figure of the benchmark")
    value: float = _key("value of the figure")
    unit: str = _key("unit of the value")


class BenchMachine(_Part):
    """Where a run was measured."""

    processor: str = _key("name of the processor")
    cores: int = _key("number of cores")
    python: str = _key("version of Python")


class BenchBefore(_Part):
    """The run of the history with which ``bankside bench --compare`` compares."""

    date: str = _key("date of the run")
    version: str = _key("version of Bankside")
    commit: str | None = _key("commit of the checkout; null without one")
    machine: BenchMachine = _key("machine of the run")


class BenchCompared(_Part):
    """A figure that both runs have."""

    benchmark: str = _key("benchmark, as in `results`")
    what: str = _key("figure of the benchmark")
    before: float = _key("value in the history")
    now: float = _key("value of this run")
    unit: str = _key("unit of both values")
    speed: float = _key("how many times as fast the run is as the run before")


class Bench(Envelope):
    results: list[Benchmark] = _key("figures of the run")
    before: BenchBefore | None = _key("with `--compare`: the last run in the history", default=None)
    comparison: list[BenchCompared] | None = _key("with `--compare`: figures that both runs have", default=None)


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
