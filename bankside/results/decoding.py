"""Results of decoding: texts, captures, selections of tokens, writeback of keys and values, kernel records."""

from __future__ import annotations

from typing import Any, Literal

from .result import Noted, Part, Result, key

__all__ = ["Capture", "Decode", "Kernels", "Sparse", "Writeback", "WritebackCheck"]


class DecodeReference(Part):
    perplexity: float | None = key("of float32 on the same tokens")
    bits_per_byte: float | None = key("of float32 on the same tokens", "bits")


class DecodeFigures(Part):
    """Figures of a system on the tokens of a run; null where a logit is not finite."""

    perplexity: float | None = key(
        "of each token but the first, given the tokens before it; null if a logit is not finite"
    )
    bits_per_byte: float | None = key("information of these tokens over the bytes of their text", "bits")
    agreement: float = key(
        "share of positions at which system and float32 have the same most probable token: all of a text, or the generated ones"
    )
    first_difference: int | None = key("first of these positions with another token")
    kl_mean_nats: float | None = key(
        "divergence of the system's distribution from float32's, mean over positions", "nats"
    )
    max_abs_logit_error: float | None = key("largest difference of a logit from float32's")


class _OnSystem(Part):
    system: str = key("a system of `--compare`")


class DecodeCompared(DecodeFigures, _OnSystem):
    attention_error_mean: float | None = key("mean over layers and heads")


class DecodeMaps(Part):
    """Maps of at most 48 places a side: means over queries, sums over tokens."""

    dense: list[list[float]] = key("map of float32's attention, mean over layers and heads, at most 48 places a side")
    selected: list[list[float]] | None = key("with sparse attention: share of the heads that take a token")


class DecodePlacement(Part):
    tiers: list[str] = key("names of the tiers")
    tokens: list[list[int]] = key("tokens in each tier at each step")


class DecodeHazard(Part):
    name: str = key("a hazard")
    with_it: str = key("the run with the hazard")
    without_it: str = key("the run that lacks the hazard alone")
    perplexity: float | None = key("with it")
    perplexity_without: float | None = key("without it")
    figures: dict[str, float | int | None] = key("further figures")


class DecodeReads(Part):
    """What sparse attention reads, by column: an entry for each of some positions, means over layers and heads."""

    unit_tokens: int = key("keys of an access unit", "tokens")
    row_tokens: int = key("keys of a row of all banks of a channel", "tokens")
    tokens: list[int] = key(
        "tokens so far, at some positions; the next lists have an entry for each, means over layers and heads", "tokens"
    )
    wanted: list[float] = key("tokens that the method takes", "tokens")
    units: list[float] = key("access units of their keys, where the method places the tokens")
    rows: list[float] = key("rows that these units open")
    units_in_order: list[float] = key("access units with tokens in order of their positions")
    rows_in_order: list[float] = key("rows with tokens in order of their positions")
    units_of_all: list[int] = key("access units of all tokens")
    rows_of_all: list[int] = key("rows of all tokens")


class DecodeSpan(Part):
    track: str = key("part that works")
    name: str = key("its work")
    start_us: float = key("beginning, from the step's beginning", "µs")
    us: float = key("length", "µs")


class DecodeTimeLine(Part):
    """Spans of a token's step, from the system's model."""

    layers: int = key("layers that have spans: all, or the first where there are many spans")
    of_layers: int = key("layers of the model")
    spans: list[DecodeSpan] = key("spans of the step")


class DecodeStream(Part):
    """A stream of a unit in the recorded cycles."""

    stream: str = key("a stream")
    input: bool = key("whether the unit receives it")
    valid: list[list[int]] = key("first clock and length of each run in which it is valid", "clocks")
    ready: list[list[int]] = key("first clock and length of each run in which it is ready", "clocks")
    payloads: dict[str, str] = key("hexadecimal payload, by clock")


class DecodeWaveform(Part):
    """A step of a head in RTL."""

    unit: str = key("unit whose streams were recorded: in the last step that began with the first of the heads")
    token: int = key("token of this step")
    layer: int = key("layer")
    head: int = key("query head")
    clock_mhz: float = key("clock of the unit", "MHz")
    clocks: int = key("length of the step", "clocks")
    cycles: int = key("recorded ones, from its beginning; at most 4,096", "clocks")
    windows: list[list[int]] = key("first clock and end of the parts that have payloads", "clocks")
    streams: list[DecodeStream] = key("each stream of the unit")


class DecodeRtl(Part):
    """Heads that the unit's Verilog computed."""

    heads: int = key("query heads that were in RTL")
    tokens: int = key("tokens whose queries were in RTL")
    clocks: int = key("clocks of all simulations")
    clocks_per_second: float = key("clocks a second of the simulations' processor time", "1/s")
    mismatches: int = key("results that differ from the model's")
    waveform: DecodeWaveform | None = key(
        "the last step that began with the first of the heads; null without a recording"
    )


class _Decoded(Noted):
    model: str = key("name of the model")
    folder: str = key("folder of the model")
    model_sha256: str = key("SHA-256 of its configuration and weights")
    system: str = key("the system")
    mode: Literal["free", "teacher-forced"] = key("`free` or `teacher-forced`")
    interrupted: bool = key("the user ended the run early")
    prompt_tokens: int = key("tokens of the prompt; all tokens with `--teacher-forced`")
    temperature: float = key("temperature of sampling")
    seed: int = key("seed of sampling")
    tokens: list[int] = key("prompt and generated tokens")
    pieces: list[str] = key("text of each token")
    text: str = key("text of all tokens")


class _Beside(Part):
    reference: DecodeReference = key("float32 on the same tokens")
    agrees: list[bool] = key("after each token, whether the most probable next token is float32's")
    attention_error: list[list[float | None]] = key(
        "relative L2 error of attention by layer and head, against float32 on the same queries, keys and values"
    )
    attention: DecodeMaps = key("maps of attention")
    reads: DecodeReads | None = key("what sparse attention reads; null without it")
    placement: DecodePlacement | None = key("tokens in each tier; null for a system without tiers")
    details: dict[str, Any] = key("further figures of the system")
    compared: list[DecodeCompared] = key("systems of `--compare` on the same tokens")
    hazards: list[DecodeHazard] | None = key("with `--hazards`: each hazard")
    rtl: DecodeRtl | None = key("heads in RTL; null without `--rtl`", default=None)


class StepCost(Part):
    """Time and energy of a token's step on a system, from its model."""

    time_per_token_us: float | None = key(
        "time of a step of one request with as many tokens, from the system's model; a note names the split", "µs"
    )
    energy_per_token_mj: float | None = key("energy of that step", "mJ")
    time_breakdown_us: dict[str, float] | None = key("parts of that time", "µs")
    time_line: DecodeTimeLine | None = key("spans of that step; null without a time")
    records: list[str] = key("measurement records behind time and energy")


class Decode(StepCost, _Beside, DecodeFigures, _Decoded):
    """``bankside decode``: a sequence of tokens on a system, and float32 on the same tokens."""


class Capture(Noted):
    """``bankside capture``."""

    model: str = key("name of the model")
    model_sha256: str = key("SHA-256 of its configuration and weights")
    text_sha256: str = key("SHA-256 of the text")
    folder: str = key("folder of the files")
    tokens: int = key("tokens that the model read")
    layers: int = key("layers of the model")
    heads: int = key("query heads of a layer")
    kv_heads: int = key("heads of keys and values of a layer")
    head_dim: int = key("elements of a head")
    files: list[str] = key("files of the folder")
    trace: str = key("the trace of attention")
    steps: int = key("steps of the trace")


class SparseRow(Part):
    """Figures of a method with a budget."""

    method: str = key("a method")
    budget: int = key("a budget", "tokens")
    tokens: float = key("mean size of a selection", "tokens")
    recall: float = key("share of the budget's tokens with the largest scores that are selected")
    precision: float = key("share of the selection that is among these tokens")
    mass: float = key("sum of the selected tokens' weights in full attention")
    error: float = key("relative L2 error of the attention's output, mean over heads and layers")
    recall_by_layer: list[float] = key("recall of each layer that counts")
    perplexity: float | None = key("perplexity, decoded with the selection")
    perplexity_ratio: float | None = key("its ratio to full attention's")
    ratio_error: float | None = key("standard error of that ratio, from the differences of the single tokens")
    kl_mean_nats: float | None = key("divergence from full attention's distribution", "nats")


class SparseOrder(Part):
    """An order of two methods that STARC claims."""

    claim: str = key("claim of STARC's paper about an order of methods")
    figure: Literal["recall", "perplexity"] = key("`recall` or `perplexity`")
    budget: int = key("a budget", "tokens")
    better: str = key("the better method in the paper")
    worse: str = key("the other method")
    better_value: float | None = key("its figure here")
    worse_value: float | None = key("the other's figure here")
    standard_errors: float | None = key("difference of the logarithms of the perplexities, over its standard error")
    holds: bool = key("the text has the paper's order")


class SparseImportant(Part):
    budget: int = key("a budget", "tokens")
    tokens_per_page: float = key("tokens with the largest scores on a page of 16 tokens that has any", "tokens")


class SparseSelection(Part):
    """What a selection of one query reads."""

    method: str = key("a method")
    wanted: int = key("size of the selection", "tokens")
    fetched: int = key("tokens of the units that are read", "tokens")
    overfetch: int = key("their difference", "tokens")
    units: int = key("access units")
    runs: int = key("runs of neighbouring units")
    rows: int = key("rows of memory")


class SparseTouched(Part):
    layer: int = key("layer of the picture")
    head: int = key("query head")
    budget: int = key("budget", "tokens")
    selections: list[SparseSelection] = key("the selection of each method")


class Sparse(Noted):
    """``bankside sparse``: accuracy of selections of tokens on a text."""

    model: str = key("name of the model")
    folder: str = key("folder of the model")
    model_sha256: str = key("SHA-256 of its configuration and weights")
    text: str | None = key("file of the text")
    capture: str | None = key("folder of the capture")
    tokens: int = key("tokens of each text")
    prompt: int = key("tokens of the prompt")
    windows: int = key("texts")
    methods: list[str] = key("methods")
    budgets: list[int] = key("budgets", "tokens")
    full_layers: int = key("first layers that attend to all tokens")
    layers: list[int] = key("layers whose figures count")
    queries: int = key("queries of a head, over all texts")
    predicted: int = key("tokens whose perplexity counts")
    reference_perplexity: float | None = key("perplexity with full attention")
    rows: list[SparseRow] = key("a method with a budget")
    important: list[SparseImportant] = key("tokens with the largest scores on a page")
    orders: list[SparseOrder] = key("orders of two methods that STARC's paper claims")
    touched: SparseTouched | None = key("rows of memory that selections touch; null without `--picture`")
    files: dict[str, str] = key("pictures that were written")


class WritebackModel(Part):
    """Figures of delayed writeback by the traffic formulas."""

    spilled_bytes: int = key("by the formula: keys and values of whole intervals", "bytes")
    sent_bytes: int = key("by the formula: rows that the steps send, if each write ends before the next step", "bytes")
    host_bytes: int = key("by the formula: room for two intervals", "bytes")


class Writeback(Noted):
    requests: int = key("requests that decode together")
    heads: int = key("heads of a request")
    head_dim: int = key("elements of a row")
    element_bytes: int = key("size of an element", "bytes")
    prefill_tokens: int = key("tokens that were written before the first step")
    tokens: int = key("decode steps")
    interval: int = key("tokens that are written together")
    granularity_bytes: int = key("smallest direct write", "bytes")
    write_bytes: int = key("keys, or values, of an interval: one write", "bytes")
    step_ms: float = key("least time of a step", "ms")
    sync: bool = key("rows waited for the drive's confirmation")
    workers: int = key("threads that wrote")
    slots: int = key("intervals that the host buffer holds for each request and head")
    seed: int = key("seed of the rows")
    file: str | None = key("the spill file; null if it was removed")
    file_bytes: int = key("size of the spill file", "bytes")
    direct_io: bool = key("the file system took direct I/O; if not, a note says why")
    appended_bytes: int = key("keys and values of all tokens", "bytes")
    spilled_bytes: int = key("part of them that left the host buffer", "bytes")
    left_bytes: int = key("part of them that fills no interval and stayed in the host buffer", "bytes")
    writes: int = key("writes of keys and of values")
    written_bytes: int = key("sizes of these writes", "bytes")
    index_writes: int = key("writes of the index")
    index_bytes: int = key("sizes of these writes", "bytes")
    commits: int = key("times that the index was brought up to date")
    syncs: int = key("confirmations that the drive was asked for")
    waits: int = key("appends that waited for the drive")
    failures: int = key("writes that failed and were done again")
    write_amplification: float | None = key("bytes of all writes, the index included, over `spilled_bytes`")
    host_bytes: int = key("most bytes that the host buffer held during the steps", "bytes")
    sent_bytes: int = key(
        "rows whose write has not finished, summed over the steps: each step sends them to the drives' accelerators",
        "bytes",
    )
    late_steps: int = key("steps that sent rows of an earlier interval, because their write had not finished")
    step_for_writes_ms: float = key(
        "time of all steps and of the writes that outlast them, for one step; the drive keeps up with steps of this time or more",
        "ms",
    )
    prefill_s: float = key("time of the prefill's writes", "s")
    decode_s: float = key("time of the steps", "s")
    drain_s: float = key("time from the last step to the last write", "s")
    read_s: float = key("time of the reads from the file", "s")
    prefill_mb_s: float | None = key("rate of the prefill's writes; null without prefill", "MB/s")
    decode_mb_s: float | None = key("bytes spilled by the steps over `decode_s + drain_s`", "MB/s")
    read_mb_s: float | None = key("rate of the reads", "MB/s")
    read_bytes: int = key("bytes that were read from the file", "bytes")
    mismatches: int = key("rows of keys or values that came back changed")
    model: WritebackModel = key("figures of the traffic formulas")


class SpilledArray(Part):
    request: int = key("a request")
    head: int = key("a head of the request")
    rows: int = key("rows of keys that the file holds for them")


class WritebackCheck(Result):
    """``bankside writeback --check``."""

    file: str = key("the spill file")
    file_bytes: int = key("size of the spill file", "bytes")
    head_dim: int = key("elements of a row")
    element_bytes: int = key("size of an element", "bytes")
    interval: int = key("tokens that are written together")
    granularity_bytes: int = key("smallest direct write", "bytes")
    extent_tokens: int = key("tokens for which an extent has room")
    extents: int = key("extents of the file")
    free_extents: int = key("extents without a request")
    rows: int = key("rows of keys; there are as many of values")
    rows_bytes: int = key("keys and values", "bytes")
    arrays: list[SpilledArray] = key("each request and head")


class KernelSet(Part):
    name: str = key("name of the built-in file, or path")
    gpu: str = key("the GPU")
    engine: str = key("serving engine with its version")
    number_format: str = key("format of the operands")
    shapes: dict[str, int] = key("measured shapes by operator")
    points: dict[str, int] = key("measured times by operator")
    source: str = key("package of the source")


class Kernels(Result):
    kernels: list[KernelSet] = key("built-in kernel records")
    file: str | None = key("file that `--from` wrote")
