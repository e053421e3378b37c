"""JSON Schemas of the output of commands with ``--json``: ``bankside schema COMMAND``.

Each class is a kind of result. Undeclared keys are errors, so the schemas list all keys. The measurements of a unit and
the breakdowns of a system are open, because installed packages add their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

from bankside.constraints.core.errors import ConfigError, nearest
from bankside.constraints.core.registry import UNITS
from bankside.models.cost import ProcessClock
from bankside.models.papers.category import CATEGORIES
from bankside.models.papers.claims import Claim
from bankside.models.papers.difference import Difference as Cause
from bankside.models.papers.verdict import VERDICTS
from bankside.models.systems.results import Capacity, DieArea

from ..provenance.envelope import SCHEMA

__all__ = ["COMMANDS", "Envelope", "schema_of"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())


def _key(text: str, **options: Any) -> Any:
    return Field(description=text, **options)


# ---- What all results have ------------------------------------------------------------------------------------------


class Input(_Part):
    """A file, a record or sources from which a result is made."""

    kind: str = _key("memory file, measurement record, sources, Verilog ...")
    name: str = _key("path of a file as it was given, from `bankside/` on for one of the package; else a name")
    sha256: str = _key("of the contents; for sources the first 32 digits of the digest of their definitions")
    command: str | None = _key("record: command that makes the measurement again", default=None)
    made_from: dict[str, str] | None = _key("record: digests and versions from which it was made", default=None)
    verilog_sha256: str | None = _key("record: of the Verilog that was measured", default=None)
    tools: dict[str, str] | None = _key("record: versions of the measuring tools", default=None)


class Envelope(_Part):
    """Keys of every result."""

    version: Literal[1] = Field(alias="schema", description="version of these keys")
    command: str = _key("the command that made the result")
    tools: dict[str, str] = _key("versions of the tools that decide the result")
    notes: list[str] = _key("remarks for readers of the figures")
    warnings: list[str] = _key("possible problems of the request")
    inputs: list[Input] = _key("everything from which the result is made")


class _Selected(Envelope):
    unit: str
    preset: str | None = _key("published configuration; null if any key differs")
    config_hash: str = _key("first 16 digits of the SHA-256 of unit and configuration")
    config: dict[str, Any] = _key("the configuration in full")


class Parallelism(_Part):
    tensor: int
    pipeline: int
    micro_batch: int | None = None


class Spread(_Part):
    """Distribution over all requests, in ms."""

    mean: float
    p50: float
    p90: float
    p99: float
    max: float


# ---- Units ----------------------------------------------------------------------------------------------------------


class Check(_Part):
    name: str
    found: str | None = _key("version or place")
    required: bool
    purpose: str
    fix: str | None = _key("command that installs it")


class CacheSize(_Part):
    folder: str
    size_bytes: int


class Doctor(Envelope):
    ok: bool = _key("all required tools are installed")
    checks: list[Check]
    cache: CacheSize


class Format(_Part):
    title: str
    example: list[str]


class List(Envelope):
    units: list[str]
    presets: dict[str, list[str]]
    systems: list[str]
    memories: list[str]
    models: list[str]
    workloads: list[str]
    libraries: list[str]
    memory: dict[str, dict[str, Any]] = _key("each memory: levels, timings, rates, power limit, sources")
    formats: dict[str, Format] = _key("of traces and programs")
    request_formats: dict[str, Format]


class DryRun(_Selected):
    """``--dry-run`` of a command with a unit."""


class DryRuns(Envelope):
    """``bankside synth PATTERN --dry-run``."""

    selections: list[str]


class Gen(Envelope):
    unit: str
    module: str
    summary: str
    source: str = _key("paper and section")
    preset: str | None
    parameters: dict[str, Any]
    config_hash: str
    target_clock_mhz: float | None
    latency_cycles: dict[str, int] = _key("fixed latencies by port")
    ports: list[dict[str, Any]] = _key("name, direction, width, meaning, and the fields of a payload")
    files: list[str]


#: Keys that ``sim`` adds to the measurements of a unit's bench, beside the options of the unit's workload.
_SIM = {
    "seed": (int, _key("of data and stalls")),
    "vectors_file": (str | None, _key("file of vectors that were simulated in place of drawn ones", default=None)),
    "differences": (list[Any], _key("the first vectors that differ", default=[])),
    "record": (str | None, _key("name of the record, unless something differs")),
}


def _sim(name: str) -> type[BaseModel]:
    """Result of ``sim`` of a unit: its workload and the fields of its result."""
    unit = UNITS[name]
    workload: dict[str, Any] = {
        key: (option.kind | None, _key(option.description, default=None))
        for key, option in unit.workload.options().items()
        if key != "vectors"
    }
    figures: dict[str, Any] = {key: (field.annotation, field) for key, field in unit.result.model_fields.items()}
    title = "".join(part.capitalize() for part in name.split("-"))
    fields: dict[str, Any] = {"unit": (Literal[name], ...), **workload, **_SIM, **figures}
    kind: type[BaseModel] = create_model(f"Sim{title}", __base__=_Selected, **fields)
    return kind


class Synth(_Selected):
    model_config = ConfigDict(extra="allow")

    library: str
    effort: Literal["area", "balanced", "speed"]
    area_um2: float = _key("macros of memories are estimates")
    area_ge: float = _key("in gate equivalents, each the area of a two-input NAND")
    sequential_ge: float
    combinational_ge: float
    flip_flops: int
    memory_bits: int = _key("in macros")
    critical_path_ns: float
    fmax_mhz: float | None
    target_clock_mhz: float | None
    process: ProcessClock | None = _key("estimate of the clock in the unit's own process", default=None)
    cells: dict[str, int]
    record: str


class FpgaCounts(_Part):
    """Resources of an FPGA."""

    lut: int = _key("LUTs of logic before packing, inverters included")
    ff: int
    carry4: int = _key("carry chains in pieces of four bits")
    bram36: int
    bram18: int
    uram: int
    dsp: int
    srl: int = _key("LUTs that are shift registers; `lut` does not count them")
    lutram: int = _key("LUTs that are memory; `lut` does not count them")


class FpgaPart(FpgaCounts):
    """A module, without modules inside it."""

    module: str
    count: int = _key("instances in the design")
    lut_levels: int = _key("with registers directly outside its ports")
    path_carry4: int
    path_dsp: int


class FpgaMemory(_Part):
    module: str
    name: str
    count: int
    depth: int
    width: int
    bits: int
    read_ports: int
    write_ports: int
    synchronous_read: bool
    becomes: Literal["bram", "uram", "lutram", "flip-flops", "nothing"]
    misplaced: bool = _key("more than 256 bits became flip-flops")


class FpgaPath(_Part):
    start: str | None
    end: str | None


class SynthFpga(_Selected):
    """``bankside synth UNIT --fpga FAMILY``."""

    family: str
    fpga: FpgaCounts
    percent: dict[str, dict[str, float | None]] = _key(
        "shares of each device; `_counted`: of a total that a paper uses"
    )
    lut_levels: int = _key("logic depth of the longest path; there is no clock figure")
    path_carry4: int = _key("carry chains of four bits on that path; they are no level")
    path_dsp: int = _key("levels of that path in DSP blocks")
    longest_path: FpgaPath
    memories: list[FpgaMemory]
    cells: dict[str, int]
    parts: list[FpgaPart]
    target_clock_mhz: float | None
    record: str


class SynthAll(Envelope):
    """``bankside synth PATTERN``."""

    results: list[dict[str, Any]] = _key("each as the result of one unit, without the keys of all results")


class View(_Part):
    model_config = ConfigDict(extra="allow")

    file: str | None
    picture: str | None
    first_cycle: int
    last_cycle: int
    slices: int
    truncated: bool


class Export(_Part):
    file: str
    format: str
    lines: int


class _Timed(Envelope):
    memory: str
    tokens: int | None
    refresh: bool
    power_limit: bool
    cycles: int
    time_ns: float
    commands: dict[str, int]
    energy_pj: float | None
    energy_breakdown_pj: dict[str, float] | None
    timeline: View | None
    export: Export | None


class TimeUnit(_Timed):
    """``bankside time UNIT``: the reads of a decode step on one channel."""

    unit: str
    preset: str | None
    config_hash: str
    config: dict[str, Any]
    head_dim: int
    queries: int


class TimeTrace(_Timed):
    """``bankside time FILE`` and ``bankside time SYSTEM:MODEL``."""

    file: str | None
    format: str | None
    system: str | None
    lines: int | None
    quirks: str | None
    requests: int | None
    row_hits: int | None
    row_misses: int | None
    row_conflicts: int | None
    energy_not_modelled: list[str]
    stages: dict[str, int] | None = _key("cycles by stage")
    details: dict[str, Any] | None


# ---- Systems --------------------------------------------------------------------------------------------------------


class Split(_Part):
    tensor: int
    pipeline: int
    throughput_tok_s: float | None
    why: str | None = _key("reason if the split has no throughput")


class Accelerator(_Part):
    preset: str = _key("of `inf2-accelerator`")
    clock_mhz: float
    load_us: float = _key("flash to DRAM")
    scores_us: float = _key("keys on the port, for one query")
    softmax_us: float = _key("softmax and all other clocks of the job")
    output_us: float = _key("values on the port")
    dram_us: float = _key("load and reads in the DRAM")
    bound: Literal["load", "units", "dram"] = _key("which of them a drive waits for")


class StepTimeline(_Part):
    file: str
    spans: int
    layers: int = _key("layers that have spans")
    of_layers: int = _key("layers of the model")


class CentBlock(_Part):
    pim_cycles: int
    pim_ms: float
    cxl_ms: float
    acc_ms: float
    transfer_bytes: float = _key("payload that devices receive for a block, as the authors' simulator counts it")


class CentController(_Part):
    process: str = _key("process of the die")
    units_mm2: dict[str, float] = _key("measured area by unit, in the process of the die")
    measured_mm2: float = _key("of all units")
    measured_band_mm2: list[float] = _key("low and high end of the band")
    published_mm2: float = _key("published area of the units near memory, which the measured area replaces")
    die_mm2: float
    die_usd: float
    package_usd: float
    nre_usd: float
    published_die_mm2: float = _key("with the published area")
    published_usd: float = _key("with the published area: die, package and development")
    slowest: str | None = _key("unit with the longest path")
    slowest_mhz: list[float] | None = _key("its clock in the process, an estimate without and with wires")


class Clustering(_Part):
    prompt_flops: int = _key("operations of the prompt's clustering, a head")
    interval_flops: int = _key("operations of the clustering of an interval, a head")
    prompt_gpu_ms: float = _key("the prompt's clustering, all heads and layers")
    gpu_us_per_step: float = _key("clustering of intervals, the share of a step")
    write_bytes: int = _key("keys and values of an interval that move to their places, a head")
    write_us_per_step: float = _key("these moves, the share of a step")
    us_per_step: float = _key("both")
    tpot_ms_with: float = _key("`tpot_ms` with both, nothing hidden")
    energy_mj_per_token: dict[str, float] = _key("by component, and `total`")


class Selecting(_Part):
    unit: str = _key("unit and preset")
    clusters: int = _key("clusters of the measured selection")
    tail_us: float = _key("from the last score to the end of the program")
    share_of_attention: float = _key("a tail in each layer over `attention_us`")
    measured_share: float | None = _key("the record's share, of attention on `pam-pu`")
    tpot_ms_with: float = _key("`tpot_ms` with a tail in each layer")


class Eval(Envelope):
    """``bankside eval SYSTEM --model MODEL``: one decode step, or the mean over output tokens."""

    config_hash: str = _key("of the system's description, the model's shape and the load")
    system: str
    model: str
    context: int
    batch: int
    output_tokens: int
    instances: int
    tpot_ms: float = _key("time per output token")
    throughput_tok_s: float = _key("tokens of all requests per second")
    energy_mj_per_token: float
    breakdown_ms: dict[str, float] = _key("`tpot_ms` by operator")
    energy_breakdown_mj: dict[str, float | str] = _key("by component; a text for a component that is not modelled")
    capacity: Capacity
    parallelism: Parallelism
    area: DieArea | None
    unit: dict[str, Any] | None
    attention: dict[str, Any] | None
    utilisation_percent: float | None
    gpu_rule: str | None = _key("rule by which GPUs take their times")
    records: list[str] = _key("names of the measurement and kernel records on which it rests")
    assumptions: list[str]
    splits: list[Split] | None = _key("splits that `--split` tried", default=None)
    block: CentBlock | None = _key(
        "of `cent`: a block of the model on the channels, the links, the units near memory", default=None
    )
    embedding_ms: float | None = _key("of `cent`: embedding, last norm, output matrix", default=None)
    host_ms: float | None = _key("of `cent`: the host's time for a token", default=None)
    power_w: float | None = _key("of `cent`: power of all devices", default=None)
    power_breakdown_w: dict[str, float] | None = _key("of `cent`: by component", default=None)
    stages: int | None = _key("of `cent`: stages of the pipeline", default=None)
    utilised_devices: int | None = _key("of `cent`: devices with a stage", default=None)
    controller: CentController | None = _key(
        "of `cent`: the controller of a device, with measured areas; none under "
        "quirks and if an area has not been measured",
        default=None,
    )
    price_usd: dict[str, float] | None = _key("of `cent`, and of `inf2` and its baselines: price by part", default=None)
    usd_per_hour: float | None = _key("of `cent`: price over three years, and electricity", default=None)
    tokens_per_usd: float | None = _key("of `cent`", default=None)
    traffic_bytes: dict[str, dict[str, float]] | None = _key(
        "of `inf2` and its baselines: bytes of a decode step over all links of each name, away from the host (`down`) and "
        "towards it (`up`)",
        default=None,
    )
    prefill_s: float | None = _key("of the same: prefill of all requests", default=None)
    run_throughput_tok_s: float | None = _key("of the same: tokens per second with the prefill counted", default=None)
    weights_at: Literal["gpu", "host", "drives"] | None = _key("of the same: place of the weights", default=None)
    kv_at: Literal["host", "drives"] | None = _key("of the baselines: place of keys and values", default=None)
    x_cache_requests: int | None = _key("of `inf2`: requests whose inputs the host keeps", default=None)
    x_cache_bound: str | None = _key("of `inf2`: why there are not more", default=None)
    shards_per_drive: int | None = _key("of `inf2`: key/value heads of requests on the busiest drive", default=None)
    tok_s_per_usd: float | None = _key(
        "of `inf2` and its baselines: `run_throughput_tok_s` over the price", default=None
    )
    accelerator: Accelerator | None = _key("of `inf2`: stages of a query and a shard", default=None)
    timeline: StepTimeline | None = _key("the file of `--timeline`", default=None)
    method: str | None = _key(
        "of `starc`: which tokens heads read; the keys up to `selecting` are of `starc` too", default=None
    )
    budget: int | None = _key("tokens of a selection", default=None)
    prompt_tokens: int | None = _key("tokens of the prompt", default=None)
    unit_tokens: int | None = _key("tokens of an access unit", default=None)
    full_layers: int | None = _key("first layers that attend to all tokens", default=None)
    wanted: float | None = _key("tokens that a head attends to, mean over steps; so the next five", default=None)
    fetched: float | None = _key("tokens of the access units that it reads", default=None)
    overfetch: float | None = _key("`fetched` without `wanted`", default=None)
    units: float | None = _key("access units", default=None)
    runs: float | None = _key("runs of neighbouring access units", default=None)
    rows: float | None = _key("rows with some of them, for K; V has as many", default=None)
    waiting: float | None = _key("share of the reads' time in which a channel waits for another head", default=None)
    attention_us: float | None = _key("attention on the units, all layers of a step", default=None)
    scored: float | None = _key("vectors that a head reads to score tokens; not in `attention_us`", default=None)
    synthetic: bool | None = _key("whether keys and queries are made up", default=None)
    steps: int | None = _key("steps whose selections were computed", default=None)
    clustering: Clustering | None = _key("clustering and moves of clustered tokens; not in `tpot_ms`", default=None)
    selecting: Selecting | None = _key("the unit that selects, from its record; not in `tpot_ms`", default=None)
    dram_pieces: int | None = _key("of `inf2`: pieces in which a shard passes the drive's DRAM", default=None)


class EvalWorkload(Envelope):
    """``bankside eval --workload``: decoding in steady state."""

    system: str
    model: str
    workload: str
    throughput_tok_s: float
    batch: float = _key("mean requests in work")
    context: float = _key("mean tokens in the KV cache of a request")
    largest_batch: int
    longest_context: int
    preempted: int
    utilisation_percent: float | None
    parallelism: Parallelism
    splits: list[Split] | None
    records: list[str]


class Layer(_Part):
    tokens: int
    heads_per_stack: int
    head_dim: int
    bytes: int
    placement: str


class EvalLayer(Envelope):
    """``bankside eval attacc --layer``."""

    system: Literal["attacc"]
    layer: Layer
    memory: str
    power_limit: bool
    quirks: str | None
    cycles: int
    time_ns: float
    commands: dict[str, int]
    row_hits: int
    energy_pj: float | None
    energy_breakdown_pj: dict[str, float] | None


class ReferenceRow(_Part):
    line: int = _key("of the file")
    system: str
    gpu: str
    pim: str
    powerlimit: bool
    ffopt: bool
    pipeopt: bool
    model: str
    Lin: int
    Lout: int
    bs: int
    dtype: str
    cores: int = _key("GPUs")
    results: dict[str, float] = _key("by column of the file")
    reference: dict[str, float] = _key("values of the file")
    relative_error: dict[str, float] = _key("of `results`, with its sign")


class EvalReference(Envelope):
    """``bankside eval SYSTEM --reference FILE``."""

    system: str
    reference: str
    rows: list[ReferenceRow]
    components: list[str] = _key("columns that are compared")
    worst_relative_error: dict[str, float] = _key("by component, without its sign")
    median_relative_error: dict[str, float]
    cycle_rows: int = _key("rows with cycles")
    exact_cycles: int = _key("rows whose cycles are equal")
    not_compared: dict[str, int] = _key("rows by component whose value depends on what the simulator ran before")


class KernelTime(_Part):
    prefill_s: float | None
    decode_s: float | None
    share_of_measured: float | None = _key("kernel time over the measured time")
    host_ms_per_step: float | None = _key("measured time without kernels")
    why: str | None = _key("why there is no kernel time")


class RunRow(_Part):
    model: str
    gpus: int
    batch: int
    measured_s: float
    measured_ms_per_step: float
    rules: dict[str, KernelTime] = _key("by rule of the GPU")


class EvalRuns(Envelope):
    """``bankside eval SYSTEM --reference FILE`` with timed runs of a serving engine."""

    system: str
    reference: str
    prompt_tokens: int
    output_tokens: int
    rows: list[RunRow]


class Operator(_Part):
    operator: str
    where: str
    shape: str
    partition: str
    communication: str
    commands: dict[str, int]
    cycles: float | None
    microseconds: float | None


class Compiled(_Part):
    lines: int | None = None
    bytes: int | None = None
    buffer_bytes: int | None = None
    listing: list[str] | None = None
    file: str | None = None


class Compile(Envelope):
    model: str
    system: str
    tokens: int
    parallelism: Parallelism
    layers: int = _key("layers of a pipeline stage")
    patterns: list[str]
    operators: list[Operator]
    registers: int
    virtual_rows: int
    not_measured: list[str] = _key("commands that make missing measurements for the program's times")
    program: Compiled | None = None


class Words(Envelope):
    """Size of a program for a CENT device."""

    instructions: int
    bytes: int
    buffer_bytes: int = _key("bytes of the device's instruction buffer")
    mnemonics: dict[str, int] = _key("instructions of each kind")
    format: Literal["bin", "hex"] = _key("of the file of words")


class Asm(Words):
    unwritten_reads: int = _key("instructions that read slots which nothing before them has written")
    file: str = _key("file of the words")


class Disasm(Words):
    text: list[str] | None = _key("a line for each instruction, without `--output`", default=None)
    file: str | None = _key("file of the text, with `--output`", default=None)


class ServedWorkload(_Part):
    name: str
    requests: int
    input_tokens: int
    output_tokens: int
    synthetic: bool
    timed: bool
    source: str


class Batch(_Part):
    mean: float
    max: int
    series: list[list[float]] = _key("seconds and requests in work")


class KvCache(_Part):
    capacity_tokens: int
    block_tokens: int
    mean: float = _key("fraction of the capacity")
    peak: float


class Limits(_Part):
    tpot_ms: float | None
    ttft_ms: float | None
    met: float = _key("fraction of the requests")
    goodput_requests_s: float
    goodput_tok_s: float


class Tried(_Part):
    value: float | None
    tpot_ms: float
    meets: bool


class Search(_Part):
    what: str
    value: float | None
    percentile: float
    bounded: bool
    tried: list[Tried]


class Serve(Envelope):
    system: str
    model: str
    workload: ServedWorkload
    policy: dict[str, Any]
    makespan_s: float
    throughput_tok_s: float
    requests_per_s: float
    ttft_ms: Spread = _key("time to first token")
    tpot_ms: Spread = _key("time per output token")
    itl_ms: Spread = _key("between tokens")
    latency_ms: Spread
    queueing_ms: Spread
    batch: Batch
    utilisation: float
    prefill_share: float
    kv: KvCache
    preemptions: int
    iterations: int
    decode_steps: int
    energy: dict[str, Any] | None
    slo: Limits | None
    parallelism: Parallelism | dict[str, int]
    search: Search | None
    records: list[str]
    seconds: float = _key("duration of the simulation")
    files: dict[str, str]


# ---- Papers ---------------------------------------------------------------------------------------------------------


class PaperSummary(_Part):
    paper: str
    title: str
    published: str | None
    claims: int
    categories: dict[str, int] = _key("claims by category")
    checks: int
    figures: list[str]


class Papers(Envelope):
    """``bankside repro --list``."""

    papers: list[PaperSummary]


class ListedClaim(Claim):
    category: Literal[*CATEGORIES]  # type: ignore[valid-type]


class Claims(Envelope):
    """``bankside repro PAPER --list``."""

    paper: str
    claims: list[ListedClaim]


class ClaimRow(_Part):
    id: str
    source: str
    statement: str
    kind: str
    category: Literal[*CATEGORIES]  # type: ignore[valid-type]
    conditions: str | None
    paper: Any
    ours: Any
    unit: str | None
    ratio: Any
    verdict: Literal[*VERDICTS]  # type: ignore[valid-type]
    tolerance: str | None = _key("largest allowed difference of our value, with the reason")
    why: str
    difference: Cause | None = _key("cause of a value that is off, and the number that would change the verdict")
    basis: Any = _key("basis of our value")


class Repro(Envelope):
    """``bankside repro PAPER``."""

    paper: str
    title: str
    published: str | None
    claims: list[ClaimRow]
    counts: dict[str, dict[str, int]] = _key("number of claims by category and verdict")


class ReproResults(Envelope):
    """``bankside repro PAPER --results FILE``."""

    paper: str
    file: str
    rows: int = _key("rows of the table")


class Figure(Repro):
    """``bankside repro PAPER --figure NAME``."""

    figure: str = _key("file of the picture")
    series: dict[str, Any] | None = _key("our values for panels whose values the paper does not print", default=None)


class Calibrate(Envelope):
    system: str
    model: str
    x: float = _key("importance of a token in HBM over the importance of a token in the SSD")
    y: float = _key("importance of a token in DDR over the importance of a token in the SSD")
    tier_us: dict[str, float] = _key("time of a layer's attention by tier, with these ratios")
    rounds: int = _key("number of the round whose ratios these are, counted from 1")
    equal: bool = _key("whether the slowest tier takes at most a tenth longer than the fastest")
    sorted: bool = _key("whether the tokens are sorted by importance, so that no higher ratios make a tier faster")
    conditions: str
    file: str | None = _key("table of ratios that was written")


class FittedActivations(Envelope):
    """``bankside calibrate --trace``."""

    system: str
    trace: str
    sparsity: dict[str, float | int]


# ---- The rest -------------------------------------------------------------------------------------------------------


class CrossoverPoint(_Part):
    context: int
    without_ms: float = _key("time per output token without units")
    without_attention_ms: float
    with_ms: float
    with_attention_ms: float


class CrossoverModel(_Part):
    model: str
    queries_per_kv_head: int
    unit: str = _key("system with units, a name of `systems`")
    queries_per_pass: int = _key("most queries that a burst of K or V meets")
    gpu_rule: str
    points: list[CrossoverPoint]


class Crossover(_Part):
    systems: list[str] = _key("without units, then with units")
    batch: int
    models: list[CrossoverModel]


class SweepRow(_Part):
    point: dict[str, str] = _key("the combination")
    values: dict[str, float] = _key("numbers of its results; numbers of parts by dotted key")
    records: list[str]
    error: str | None = _key("why the combination was refused")


class Sweep(Envelope):
    target: str
    file: str
    resumed: int = _key("rows taken from an interrupted run")
    refused: int
    rows: list[SweepRow]
    pareto: list[str] | None
    picture: str | None
    front: list[int] | None = _key("places of the rows that no other row beats")


class Demo(Envelope):
    crossover: Crossover = _key("models and contexts with which the units win")
    evaluations: list[dict[str, Any]]
    by_rule: list[list[dict[str, Any]]] = _key(
        "the evaluations under each rule of the GPUs; the first are `evaluations`"
    )
    sweeps: dict[str, list[dict[str, Any]]]
    sim: dict[str, Any]
    synth: dict[str, Any]
    decoding: dict[str, Any] = _key("object of `decode`")
    commands: list[str]
    files: list[str]


class Rtl(Envelope):
    folder: str
    files: list[str] = _key("files that were written")
    differ: list[str] = _key("with `--check`: files that differ from the output of the generators")


class RecordState(_Part):
    command: str
    state: str
    record: str | None
    why: str


class Difference(_Part):
    record: str
    command: str
    differs: list[str]


class Records(Envelope):
    folder: str
    shipped: str
    measurements: list[RecordState]
    differ: list[Difference] | None


class CachePart(_Part):
    part: str
    holds: str
    entries: int
    size_bytes: int
    days_since_use: float | None


class Cache(Envelope):
    folder: str
    parts: list[CachePart]
    size_bytes: int
    removed_entries: int | None = None
    removed_bytes: int | None = None


class KernelSet(_Part):
    name: str
    gpu: str
    engine: str
    number_format: str
    shapes: dict[str, int] = _key("measured shapes by operator")
    points: dict[str, int] = _key("measured times by operator")
    source: str


class Kernels(Envelope):
    kernels: list[KernelSet]
    file: str | None = _key("file that `--from` wrote")


class WritebackModel(_Part):
    """Figures of delayed writeback by the traffic formulas."""

    spilled_bytes: int = _key("keys and values of whole intervals")
    sent_bytes: int = _key("rows that the steps send from the host buffer, if each write ends before the next step")
    host_bytes: int = _key("host buffer with room for two intervals")


class _WritebackFile(Envelope):
    head_dim: int
    element_bytes: int
    interval: int = _key("tokens that are written together")
    granularity_bytes: int
    file_bytes: int


class Writeback(_WritebackFile):
    requests: int
    heads: int
    prefill_tokens: int
    tokens: int = _key("decode steps")
    write_bytes: int = _key("bytes of the keys, or of the values, of an interval")
    step_ms: float
    sync: bool
    workers: int
    slots: int
    seed: int
    file: str | None = _key("the spill file, with `--keep`")
    direct_io: bool = _key("the file system took direct I/O; if not, a note says why")
    appended_bytes: int = _key("keys and values of all tokens")
    spilled_bytes: int = _key("bytes that left the host buffer")
    left_bytes: int = _key("bytes that stayed in the host buffer, because they fill no interval")
    writes: int = _key("writes of keys and of values")
    written_bytes: int
    index_writes: int
    index_bytes: int
    commits: int
    syncs: int = _key("confirmations that the drive was asked for")
    waits: int = _key("appends that waited for the drive")
    failures: int = _key("writes that failed and were done again")
    write_amplification: float | None = _key("bytes written, with the index, over bytes spilled")
    host_bytes: int = _key("most bytes that the host buffer held during the steps")
    sent_bytes: int = _key(
        "rows whose write has not finished, summed over the steps: a step sends them from the host buffer"
    )
    late_steps: int = _key("steps that sent rows of an earlier interval, because their write had not finished")
    step_for_writes_ms: float = _key(
        "time of all steps and of the writes that outlast them, for one step; with steps of "
        "this time or more, the drive keeps up"
    )
    prefill_s: float
    decode_s: float
    drain_s: float = _key("from the last step to the last write")
    read_s: float
    prefill_mb_s: float | None
    decode_mb_s: float | None
    read_mb_s: float | None
    read_bytes: int
    mismatches: int = _key("rows that came back changed")
    model: WritebackModel


class SpilledArray(_Part):
    request: int
    head: int
    rows: int


class WritebackCheck(_WritebackFile):
    """``bankside writeback --check``."""

    file: str
    extent_tokens: int
    extents: int
    free_extents: int
    rows: int = _key("rows of keys; there are as many of values")
    rows_bytes: int = _key("bytes of keys and values")
    arrays: list[SpilledArray]


class DecodeReference(_Part):
    perplexity: float | None
    bits_per_byte: float | None


class DecodeFigures(_Part):
    """Figures of a system on the tokens of a run; null where a logit is not finite."""

    perplexity: float | None = _key("of each token but the first, given those before it")
    bits_per_byte: float | None = _key("of the text of these tokens")
    agreement: float = _key(
        "share of positions at which the most probable token is float32's: all of a text, the "
        "generated ones of a free run"
    )
    first_difference: int | None = _key("first of these positions with another token")
    kl_mean_nats: float | None = _key("divergence of the system's distribution from float32's, mean over positions")
    max_abs_logit_error: float | None


class DecodeCompared(DecodeFigures):
    system: str
    attention_error_mean: float | None


class DecodeMaps(_Part):
    """Maps of at most 48 places a side: means over queries, sums over tokens."""

    dense: list[list[float]] = _key("attention of float32, mean over layers and heads")
    selected: list[list[float]] | None = _key("share of the heads that take a token, with sparse attention")


class DecodePlacement(_Part):
    tiers: list[str]
    tokens: list[list[int]] = _key("tokens in each tier at each step")


class DecodeHazard(_Part):
    name: str
    with_it: str = _key("the run with the hazard")
    without_it: str = _key("the run that lacks the hazard alone")
    perplexity: float | None
    perplexity_without: float | None
    figures: dict[str, float | int | None]


class DecodeReads(_Part):
    """What sparse attention reads, by column: an entry for each of some positions, means over layers and heads."""

    unit_tokens: int = _key("tokens of an access unit")
    row_tokens: int = _key("tokens of a row of all banks of a channel")
    tokens: list[int] = _key("tokens so far")
    wanted: list[float] = _key("tokens that the method takes")
    units: list[float] = _key("access units of their keys, where the method places the tokens")
    rows: list[float] = _key("rows that these units open")
    units_in_order: list[float] = _key("the same where tokens lie in order of their positions")
    rows_in_order: list[float]
    units_of_all: list[int] = _key("the same of all tokens")
    rows_of_all: list[int]


class DecodeSpan(_Part):
    track: str
    name: str
    start_us: float
    us: float


class DecodeTimeLine(_Part):
    """Spans of a token's step, from the system's model."""

    layers: int = _key("layers that have spans")
    of_layers: int = _key("layers of the model")
    spans: list[DecodeSpan]


class DecodeStream(_Part):
    """A stream of a unit in the recorded cycles."""

    stream: str
    input: bool
    valid: list[list[int]] = _key("first cycle and length of each run")
    ready: list[list[int]] = _key("first cycle and length of each run")
    payloads: dict[str, str] = _key("hexadecimal, by cycle")


class DecodeWaveform(_Part):
    """A step of a head in RTL."""

    unit: str
    token: int
    layer: int
    head: int
    clock_mhz: float
    clocks: int = _key("of the whole step")
    cycles: int = _key("recorded ones, from the step's first on")
    windows: list[list[int]] = _key("first cycle and end of the parts that have payloads")
    streams: list[DecodeStream]


class DecodeRtl(_Part):
    """Heads that the unit's Verilog computed."""

    heads: int
    tokens: int
    clocks: int
    clocks_per_second: float
    mismatches: int
    waveform: DecodeWaveform | None = _key("the last step that began with the first of the heads")


class Decode(Envelope, DecodeFigures):
    """``bankside decode``: a sequence of tokens on a system, and float32 on the same tokens."""

    model: str
    folder: str
    model_sha256: str = _key("of configuration and weights")
    system: str
    mode: Literal["free", "teacher-forced"]
    interrupted: bool = _key("the user ended the run early; the figures are those of the tokens so far")
    prompt_tokens: int
    temperature: float
    seed: int
    tokens: list[int] = _key("prompt and generated tokens")
    pieces: list[str] = _key("text of each token")
    text: str
    reference: DecodeReference = _key("float32 on the same tokens")
    agrees: list[bool] = _key("after each token, whether the most probable next one is float32's")
    attention_error: list[list[float | None]] = _key(
        "relative L2 error against float32 on the same queries, keys and values, by layer and head"
    )
    attention: DecodeMaps
    reads: DecodeReads | None = _key("with sparse attention")
    placement: DecodePlacement | None = _key("of a system with tiers")
    details: dict[str, Any] = _key("further figures of the system")
    compared: list[DecodeCompared] = _key("further systems on the same tokens")
    hazards: list[DecodeHazard] | None = _key("with `--hazards`")
    rtl: DecodeRtl | None = _key("with heads in RTL", default=None)
    time_per_token_us: float | None = _key("of a step with as many tokens, from the system's model")
    energy_per_token_mj: float | None
    time_breakdown_us: dict[str, float] | None = _key("parts of that time")
    time_line: DecodeTimeLine | None = _key("spans of that step")
    records: list[str] = _key("measurement records behind time and energy")


class Capture(Envelope):
    """``bankside capture``."""

    model: str
    model_sha256: str
    text_sha256: str
    folder: str
    tokens: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    files: list[str]
    trace: str = _key("trace of attention for `bankside calibrate pam --trace`")
    steps: int = _key("of the trace")


class SparseRow(_Part):
    """Figures of a method with a budget."""

    method: str
    budget: int
    tokens: float = _key("mean number of selected tokens")
    recall: float = _key("share of the tokens with the largest scores that are selected")
    precision: float = _key("share of the selected tokens that are among these")
    mass: float = _key("sum of the selected tokens' weights in full attention")
    error: float = _key("relative L2 error of the output, mean over heads and layers")
    recall_by_layer: list[float]
    perplexity: float | None = _key("decoded with the selection")
    perplexity_ratio: float | None = _key("to full attention's")
    ratio_error: float | None = _key("standard error of that ratio")
    kl_mean_nats: float | None = _key("divergence from full attention's distribution")


class SparseOrder(_Part):
    """An order of two methods that STARC claims."""

    claim: str
    figure: Literal["recall", "perplexity"]
    budget: int
    better: str
    worse: str
    better_value: float | None
    worse_value: float | None
    standard_errors: float | None = _key("difference over its standard error; only of perplexities")
    holds: bool


class SparseImportant(_Part):
    budget: int
    tokens_per_page: float = _key("tokens with the largest scores on a page of 16 that has any")


class SparseSelection(_Part):
    """What a selection of one query reads."""

    method: str
    wanted: int
    fetched: int
    overfetch: int
    units: int
    runs: int
    rows: int


class SparseTouched(_Part):
    layer: int
    head: int
    budget: int
    selections: list[SparseSelection]


class Sparse(Envelope):
    """``bankside sparse``: accuracy of selections of tokens on a text."""

    model: str
    folder: str
    model_sha256: str
    text: str | None
    capture: str | None
    tokens: int = _key("of each text")
    prompt: int = _key("first tokens that attend to all")
    windows: int = _key("texts")
    methods: list[str]
    budgets: list[int]
    full_layers: int = _key("first layers that attend to all tokens")
    layers: list[int] = _key("whose figures count")
    queries: int = _key("of a head, over all texts")
    predicted: int = _key("tokens whose perplexity counts")
    reference_perplexity: float | None = _key("of full attention")
    rows: list[SparseRow]
    important: list[SparseImportant]
    orders: list[SparseOrder]
    touched: SparseTouched | None = _key("with `--picture`")
    files: dict[str, str]


class RestsOn(_Part):
    """Something on which a result rests."""

    kind: str
    name: str
    state: Literal["same", "changed", "gone", "unknown"]
    why: str
    rests_on: list[dict[str, Any]]


class Explain(Envelope):
    result: str
    of: str = _key("command that made the result")
    rests_on: list[RestsOn]
    made_with: list[RestsOn]
    unchanged: bool
    changed: list[str]


class Benchmark(_Part):
    """A row of ``bankside bench``."""

    benchmark: str
    what: str
    value: float
    unit: str


class BenchMachine(_Part):
    """Where a run was measured."""

    processor: str
    cores: int
    python: str


class BenchBefore(_Part):
    """The run of the history with which ``bankside bench --compare`` compares."""

    date: str
    version: str
    commit: str | None
    machine: BenchMachine


class BenchCompared(_Part):
    """A figure that both runs have."""

    benchmark: str
    what: str
    before: float
    now: float
    unit: str
    speed: float = _key("how many times as fast the run is as the run before")


class Bench(Envelope):
    results: list[Benchmark]
    before: BenchBefore | None = _key("with --compare: the last run in the history", default=None)
    comparison: list[BenchCompared] | None = _key("with --compare: figures that both runs have", default=None)


#: Kinds of results of each command; the kinds of ``sim`` come from the installed units.
COMMANDS: Mapping[str, tuple[type[BaseModel], ...]] = {
    "doctor": (Doctor,),
    "list": (List,),
    "gen": (Gen, DryRun),
    "sim": (DryRun,),
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


def schema_of(command: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of the results of a command.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such command, or it has no ``--json``.
    """
    if command not in COMMANDS:
        raise ConfigError(nearest("command with --json", command, COMMANDS))
    kinds = (*map(_sim, UNITS), *COMMANDS[command]) if command == "sim" else COMMANDS[command]
    adapter: TypeAdapter[Any] = TypeAdapter(reduce(or_, kinds))  # type: ignore[arg-type]
    schema = {key: value for key, value in adapter.json_schema(by_alias=True).items() if key != "title"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"bankside {command} --json, schema {SCHEMA}",
        **schema,
    }
