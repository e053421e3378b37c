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
from bankside.constraints.core.result import Pair
from bankside.models.papers.category import CATEGORIES
from bankside.models.papers.claims import Claim
from bankside.models.papers.difference import Difference as Cause
from bankside.models.papers.verdict import VERDICTS
from bankside.models.systems import kinds

from ..provenance.envelope import SCHEMA
from .programs import Asm, Disasm
from .result import Part as _Part
from .result import key as _key
from .systems import Eval, EvalLayer, EvalReference, EvalRuns, EvalWorkload, Parallelism, eval_of
from .tool import Cache, Doctor

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


class _Selected(Envelope):
    unit: str = _key("name of the unit")
    preset: str | None = _key("preset that the configuration equals")
    config_hash: str = _key("hash of the configuration")
    config: dict[str, Any] = _key("the configuration")


class Spread(_Part):
    """Distribution over all requests, in ms."""

    mean: float = _key("mean", "ms")
    p50: float = _key("median", "ms")
    p90: float = _key("90th percentile", "ms")
    p99: float = _key("99th percentile", "ms")
    max: float = _key("largest value", "ms")


# ---- Units ----------------------------------------------------------------------------------------------------------


class Format(_Part):
    title: str = _key("description of the format")
    example: list[str] = _key("example lines of the format")


class MemoryFacts(_Part):
    """A memory, as ``bankside list`` gives it."""

    source: str = _key("source of the memory's numbers")
    file: str = _key("file of the memory")
    channels: int = _key("channels of a device")
    levels: dict[str, int] = _key("nodes at each level of a channel, outermost first")
    banks_per_channel: int = _key("banks of a channel")
    rows: int = _key("rows of a bank")
    row_bytes: int = _key("size of a row of a bank", "bytes")
    access_bytes: int = _key("size of one access to a bank", "bytes")
    capacity_bytes: int = _key("capacity of a device", "bytes")
    clock_mhz: float = _key("command clock", "MHz")
    channel_gb_per_s: float = _key("peak rate of a channel's data buses", "GB/s")
    device_gb_per_s: float = _key("peak rate of all channels of a device", "GB/s")
    refresh: str | None = _key("refresh command, its interval and its length")
    power_limit: bool = _key("whether the memory has a power limit that can be switched off")
    quirks: list[str] = _key("simulators whose quirks can be switched on")
    energy: Literal["modelled", "not modelled"] = _key("`modelled` or `not modelled`")
    commands: list[str] = _key("names of the commands")
    timings_cycles: dict[str, int] = _key("value of each named timing", "cycles")


class List(Envelope):
    units: list[str] = _key("names of the units")
    presets: dict[str, list[str]] = _key("presets of each unit; the first is the default")
    systems: list[str] = _key("systems for `eval`")
    memories: list[str] = _key("memories for `sim` and `time`")
    models: list[str] = _key("language models for `eval`")
    workloads: list[str] = _key("workloads for `serve`")
    libraries: list[str] = _key("cell libraries for `synth`")
    formats: dict[str, Format] = _key("formats of traces and programs for `time`")
    request_formats: dict[str, Format] = _key("formats of request files for `serve`")
    memory: dict[str, MemoryFacts] = _key("each memory of `memories`")


class DryRun(_Selected):
    """``--dry-run`` of a command with a unit."""


class DryRuns(Envelope):
    """``bankside synth PATTERN --dry-run``."""

    selections: list[str] = _key("selected units and presets")


class PortField(_Part):
    name: str = _key("name of a payload's field; `fields` exists only if the payload has fields")
    offset: int = _key("lowest bit of the field", "bits")
    width: int = _key("width of the field", "bits")
    meaning: str = _key("meaning of the field")


class PortRow(_Part):
    """A port of the generated Verilog."""

    name: str = _key("name of the Verilog port")
    direction: Literal["in", "out"] = _key("`in` or `out`")
    width: int = _key("width of the port", "bits")
    meaning: str = _key("meaning of the port's data")
    fields: list[PortField] | None = _key(
        "fields of a payload; the key exists only if the payload has fields", default=None
    )


class Gen(Envelope):
    unit: str = _key("name of the unit")
    module: str = _key("name of the Verilog module")
    summary: str = _key("description of the unit in a few words")
    source: str = _key("paper and section")
    preset: str | None = _key("preset that the configuration equals")
    parameters: dict[str, Any] = _key("the configuration")
    config_hash: str = _key("hash of the configuration")
    target_clock_mhz: float | None = _key("target clock", "MHz")
    latency_cycles: dict[str, int] = _key("fixed latencies; the unit's page explains their names", "clocks")
    ports: list[PortRow] = _key("ports of the Verilog module")
    files: list[str] = _key("written files; this key is on standard output only")


class Sim(_Selected):
    """``bankside sim UNIT``: keys of every unit, beside the options of its workload and the measurements of its bench."""

    seed: int = _key("seed of data and stalls")
    vectors_file: str | None = _key("file of vectors that were simulated in place of drawn ones", default=None)
    differences: list[Any] = _key("the first vectors that differ", default=[])
    record: str | None = _key("name of the measurement record; null if something differs")


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
    fields: dict[str, Any] = {"unit": (Literal[name], ...), **workload, **figures}
    kind: type[BaseModel] = create_model(f"Sim{title}", __base__=Sim, **fields)
    return kind


class SynthPart(_Part):
    """A module that is mapped on its own."""

    module: str = _key(
        "mapped module: the unit, or a module that occurs many times in it ([compositions](pam/compositions.md))"
    )
    count: int = _key("how often the module occurs")
    area_ge: float = _key("area of one occurrence, without other parts inside", "GE")
    flip_flops: int = _key("flip-flops of one occurrence, without other parts inside")
    memory_ge_estimate: float = _key("estimated memory area of one occurrence, without other parts inside", "GE")
    critical_path_ns: float = _key("longest path of the module", "ns")


class SynthMemory(_Part):
    """A memory that is kept as a macro."""

    name: str = _key("name of the memory")
    depth: int = _key("number of words", "words")
    width: int = _key("width of a word", "bits")
    bits: int = _key("size of the memory", "bits")
    read_ports: int = _key("number of read ports")
    write_ports: int = _key("number of write ports")
    synchronous_read: bool = _key("whether a read port has a clock")
    area_um2_estimate: float = _key("estimated area", "µm²")


class PathStep(_Part):
    instance: str = _key("cell instance of a step")
    cell: str = _key("library cell of the instance")
    arc: str = _key("timing arc through the cell")
    delay_ps: float = _key("delay of the arc", "ps")
    net: str | None = _key("net that the step drives")


class CriticalPath(_Part):
    """The longest path."""

    kind: str = _key("kind of the path")
    start: str = _key("port, register or memory at the start")
    end: str = _key("port, register or memory at the end")
    steps: list[PathStep] = _key("cells of the path, in order")


class ProcessClock(_Part):
    """Estimate of a unit's clock in its own process."""

    process: str = _key("process of the unit")
    logic_node: str = _key("logic process of the same generation")
    delay_node: str = _key("process from which the delay factor comes")
    dram: bool = _key("whether the process is a DRAM process")
    delay_factor: float = _key("delay of a gate over the same gate at 45 nm")
    critical_path_ns: Pair = _key(
        "[estimated](synthesis.md#clock-in-the-units-own-process) longest path, without and with wires", "ns"
    )
    fmax_mhz: Pair = _key("the inverse of both", "MHz")
    clock_mhz: float = _key("target clock", "MHz")
    verdict: Literal["meets", "misses", "undecided"] = _key("`meets`, `misses`, or `undecided` if wires decide")
    sentence: str = _key("the verdict as text")
    source: str = _key("sources of the factors")


class Synth(_Selected):
    library: str = _key("cell library")
    effort: Literal["area", "balanced", "speed"] = _key("aim of technology mapping")
    area_um2: float = _key("area of the cells, plus estimated area of the memory macros", "µm²")
    area_ge: float = _key("`area_um2` divided by the area of the library's smallest NAND2", "GE")
    logic_area_um2: float = _key("area of the cells alone", "µm²")
    sequential_ge: float = _key("area of the flip-flops", "GE")
    combinational_ge: float = _key("area of the other cells", "GE")
    flip_flops: int = _key("number of flip-flops")
    memory_bits: int = _key("bits of the memories that are kept as macros", "bits")
    memory_area_um2_estimate: float = _key("estimated area of these macros, part of `area_um2`", "µm²")
    memory_ge_estimate: float = _key("`memory_area_um2_estimate` in GE", "GE")
    memory_model: str | None = _key("macro family from which the areas are estimated")
    parts: list[SynthPart] = _key("mapped modules")
    memories: list[SynthMemory] = _key("memories that are kept as macros")
    critical_path_ns: float = _key("longest path of any kind", "ns")
    fmax_mhz: float | None = _key("highest clock frequency: the inverse of `critical_path_ns`", "MHz")
    register_fmax_mhz: float | None = _key("highest clock frequency of register-to-register paths alone", "MHz")
    paths_ns: dict[str, float] = _key("longest path of each kind", "ns")
    critical_path_sentence: str | None = _key(
        "start and end of the longest path, and the signals that its gates combine with it"
    )
    critical_path: CriticalPath | None = _key("the longest path; null if there is none", default=None)
    clocks: list[str] = _key("clock ports")
    cells: dict[str, int] = _key("number of library cells by name")
    nand2_um2: float = _key("area of one GE", "µm²")
    fo4_ps: float = _key("delay of the library's inverter with a fan-out of four", "ps")
    target_clock_mhz: float | None = _key("target clock of the configuration", "MHz")
    process: ProcessClock | None = _key(
        "estimate of the clock in the unit's own process; null for a unit without one", default=None
    )
    record: str = _key("name of the measurement record")


class FpgaCounts(_Part):
    """Resources of an FPGA."""

    lut: int = _key("LUTs of logic before packing, inverters included")
    ff: int = _key("flip-flops")
    carry4: int = _key("carry chains in pieces of four bits")
    bram36: int = _key("block RAMs of 36 Kbit")
    bram18: int = _key("block RAMs of 18 Kbit")
    uram: int = _key("UltraRAMs of 288 Kbit")
    dsp: int = _key("DSP blocks")
    srl: int = _key("LUTs that are shift registers; `lut` does not count them")
    lutram: int = _key("LUTs that are memory; `lut` does not count them")


class FpgaPart(FpgaCounts):
    """A module, without modules inside it."""

    module: str = _key("a module of the design; equal modules are one")
    count: int = _key("instances of it in the design")
    lut_levels: int = _key("LUT levels of its longest path, with registers directly outside its ports")
    path_carry4: int = _key("carry chains on that path")
    path_dsp: int = _key("levels of that path in DSP blocks")


class FpgaMemory(_Part):
    module: str = _key("module of a memory that is written")
    name: str = _key("name of the memory")
    count: int = _key("instances of it in the design")
    depth: int = _key("number of words", "words")
    width: int = _key("width of a word", "bits")
    bits: int = _key("size of the memory", "bits")
    read_ports: int = _key("number of read ports")
    write_ports: int = _key("number of write ports")
    synchronous_read: bool = _key("whether a read port has a clock")
    becomes: Literal["bram", "uram", "lutram", "flip-flops", "nothing"] = _key(
        "`bram`, `uram`, `lutram`, `flip-flops`, or `nothing` if no port is used"
    )
    misplaced: bool = _key("whether more than 256 bits of it became flip-flops")


class FpgaPath(_Part):
    start: str | None = _key("port, register or memory at its start")
    end: str | None = _key("port, register or memory at its end")


class SynthFpga(_Selected):
    """``bankside synth UNIT --fpga FAMILY``."""

    family: str = _key("family of FPGAs")
    fpga: FpgaCounts = _key("resources of the whole design")
    percent: dict[str, dict[str, float | None]] = _key(
        "Share of each device of the family, by device and resource. LUTs of all kinds count, and two block RAMs of "
        "18 Kbit as one. `ff_counted` is the share of a total that a paper uses.",
        "%",
    )
    lut_levels: int = _key("LUT levels of the longest path")
    path_carry4: int = _key("carry chains of four bits on that path; they are no level")
    path_dsp: int = _key("levels of that path in DSP blocks")
    longest_path: FpgaPath = _key("the path with the most LUT levels")
    memories: list[FpgaMemory] = _key("memories of the design")
    cells: dict[str, int] = _key("number of primitives by name")
    parts: list[FpgaPart] = _key("modules of the design, without modules inside them")
    target_clock_mhz: float | None = _key("target clock of the configuration", "MHz")
    record: str = _key("name of the measurement record")


class SynthAll(Envelope):
    """``bankside synth PATTERN``."""

    results: list[dict[str, Any]] = _key("an object for each unit and preset, with the keys of one unit")


class View(_Part):
    file: str | None = _key("file of the timeline")
    picture: str | None = _key("file of the picture")
    slices: int = _key("number of time slices")
    commands: int = _key("commands in the timeline; channels with the same commands count once")
    first_cycle: int = _key("first cycle of the timeline", "memory clocks")
    last_cycle: int = _key("last cycle of the timeline", "memory clocks")
    truncated: bool = _key("whether the timeline ends earlier than requested")


class Export(_Part):
    file: str = _key("written file")
    format: str = _key("format of the file")
    lines: int = _key("number of lines in the file")


class _Timed(Envelope):
    memory: str = _key("name of the memory")
    tokens: int | None = _key("tokens in each bank")
    refresh: bool = _key("whether refresh is included")
    power_limit: bool = _key("whether the power limit applies")
    cycles: int = _key("time until the last command has finished", "memory clocks")
    time_ns: float = _key("`cycles` in ns", "ns")
    commands: dict[str, int] = _key("number of issued commands by name")
    energy_pj: float | None = _key("energy of one channel; null if the memory states no energy", "pJ")
    energy_breakdown_pj: dict[str, float] | None = _key(
        "energy by component (`energy_breakdown_pj` is null if the memory states no energy)", "pJ"
    )
    timeline: View | None = _key("the timeline; null without timeline and picture")
    export: Export | None = _key("the exported program; null without `--export`")


class TimeUnit(_Timed):
    """``bankside time UNIT``: the reads of a decode step on one channel."""

    unit: str = _key("name of the unit")
    preset: str | None = _key("preset that the configuration equals")
    config_hash: str = _key("hash of the configuration")
    config: dict[str, Any] = _key("the configuration")
    head_dim: int = _key("head dimension")
    queries: int = _key("queries that share keys and values")


class TimeTrace(_Timed):
    """``bankside time FILE`` and ``bankside time SYSTEM:MODEL``."""

    tokens: int | None = _key("tokens in the KV cache")
    cycles: int = _key("time until the last request has finished", "memory clocks")
    commands: dict[str, int] = _key("number of issued commands by name, in all channels")
    energy_pj: float | None = _key("energy of all channels; null if the memory states no energy", "pJ")
    file: str | None = _key("path of the file")
    format: str | None = _key("format of the file")
    system: str | None = _key("`SYSTEM:MODEL`")
    lines: int | None = _key("lines of the file, without empty lines and comments")
    quirks: str | None = _key("simulator whose quirks are switched on")
    requests: int | None = _key("number of instructions of an AiM host, of requests, or of commands of the program")
    row_hits: int | None = _key("accesses that found their row open")
    row_misses: int | None = _key("accesses that found their bank closed; null if misses are not counted separately")
    row_conflicts: int | None = _key(
        "accesses that found another row open; null if conflicts are not counted separately"
    )
    energy_not_modelled: list[str] = _key(
        "issued commands without a stated energy, and other parts that the energy leaves out"
    )
    stages: dict[str, int] | None = _key(
        "time of each named part of a program (`stages` is null if it has none)", "memory clocks"
    )
    details: dict[str, Any] | None = _key(
        "further figures of the format: reads, writes, latency, rate, utilisation (`details` is null if it has none)"
    )


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


class CrossoverPoint(_Part):
    context: int = _key("tokens in the KV cache of a request")
    without_ms: float = _key("time per output token without units", "ms")
    without_attention_ms: float = _key("attention in this time", "ms")
    with_ms: float = _key("time per output token with units", "ms")
    with_attention_ms: float = _key("attention in this time", "ms")


class CrossoverModel(_Part):
    model: str = _key("name of the model")
    queries_per_kv_head: int = _key("query heads that share a key/value head")
    unit: str = _key("system with units, a name of `systems`")
    queries_per_pass: int = _key("most queries that a burst of K or V meets")
    gpu_rule: str = _key("rule by which GPUs take their times")
    points: list[CrossoverPoint] = _key("times at each context")


class Crossover(_Part):
    systems: list[str] = _key("systems without units, then with units")
    batch: int = _key("requests that decode together")
    models: list[CrossoverModel] = _key("each model, rule of the GPU and unit")


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


class Demo(Envelope):
    crossover: Crossover = _key("times with and without units for each model, rule of the GPU, unit and context")
    evaluations: list[dict[str, Any]] = _key("objects of `eval`")
    by_rule: list[list[dict[str, Any]]] = _key(
        "the evaluations under each rule of the GPU; the first are also `evaluations`"
    )
    sweeps: dict[str, list[dict[str, Any]]] = _key("objects of `eval` with short and long contexts, by system")
    sim: dict[str, Any] = _key("object of `sim`, with `channel`")
    synth: dict[str, Any] = _key("object of `synth`")
    decoding: dict[str, Any] = _key("object of `decode`")
    commands: list[str] = _key("commands that repeat the parts")
    files: list[str] = _key("written files")


class Rtl(Envelope):
    folder: str = _key("folder of the Verilog")
    files: list[str] = _key("written files")
    differ: list[str] = _key("with `--check`: files that differ from the output of the generators")


class RecordState(_Part):
    command: str = _key("command that makes the measurement")
    state: str = _key("state from the list above")
    record: str | None = _key("name of the record, if there is one")
    why: str = _key("reason why the record is stale or refused")


class Difference(_Part):
    record: str = _key("name of the record")
    command: str = _key("command that makes the measurement")
    differs: list[str] = _key("keys that differ")


class Records(Envelope):
    folder: str = _key("folder of records")
    shipped: str = _key("folder of the records that come with the package")
    measurements: list[RecordState] = _key("each measurement")
    differ: list[Difference] | None = _key("with `--check`: records that differ")


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
    found = (*map(_sim, UNITS if command == "sim" else ()), *map(_printed, results))
    return TypeAdapter(reduce(or_, found))  # type: ignore[arg-type]


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
