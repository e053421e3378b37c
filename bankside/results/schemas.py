"""JSON Schemas of the output of commands with ``--json``: ``bankside schema COMMAND``.

Each class is a kind of result. Undeclared keys are errors, so the schemas list all keys. The measurements of a unit and
the breakdowns of a system are open, because installed packages add their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

from bankside.constraints.core.errors import ConfigError, nearest
from bankside.constraints.core.registry import UNITS

from ..provenance.envelope import SCHEMA
from .decoding import Capture, Decode, Kernels, Sparse, Writeback, WritebackCheck
from .papers import Claims, Figure, Papers, Repro, ReproResults
from .programs import Asm, Disasm
from .result import Part as _Part
from .result import key as _key
from .tool import Bench, Cache, Doctor, Explain

__all__ = ["COMMANDS", "Envelope", "result_of", "schema_of"]


#: Two ends of a band, or an estimate without and with wires.
Pair = Annotated[list[float], Field(min_length=2, max_length=2)]


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


class Parallelism(_Part):
    tensor: int = _key("devices that share a layer")
    pipeline: int = _key("pipeline stages")
    micro_batch: int | None = _key("requests of a micro-batch", default=None)


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


class Split(_Part):
    tensor: int = _key("devices that share a layer")
    pipeline: int = _key("pipeline stages")
    throughput_tok_s: float | None = _key("rate of the split; null if it is not possible", "tokens/s")
    why: str | None = _key("reason why the split is not possible")


class Accelerator(_Part):
    preset: str = _key("preset of `inf2-accelerator`")
    clock_mhz: float = _key("its clock", "MHz")
    load_us: float = _key("a shard from the flash to the DRAM", "µs")
    scores_us: float = _key("keys of the shard on the port, for one query", "µs")
    softmax_us: float = _key("softmax and all other clocks of a query", "µs")
    output_us: float = _key("values of the shard on the port, for one query", "µs")
    dram_us: float = _key("the DRAM takes the shard and gives it to each query", "µs")
    bound: Literal["load", "units", "dram"] = _key("longest of these: `load`, `units` or `dram`")


class StepTimeline(_Part):
    file: str = _key("written file")
    spans: int = _key("number of spans")
    layers: int = _key("layers that have spans")
    of_layers: int = _key("layers of the model")


class LinkBytes(_Part):
    down: float = _key("bytes away from the host", "bytes")
    up: float = _key("bytes towards the host", "bytes")


class CentBlock(_Part):
    pim_cycles: int = _key("cycles of a block's program", "memory clocks")
    pim_ms: float = _key("time of a block on the channels", "ms")
    cxl_ms: float = _key("time of a block on the links", "ms")
    acc_ms: float = _key("time of a block on the units near memory", "ms")
    transfer_bytes: float = _key(
        "payload that devices receive for a block, as the authors' simulator counts it", "bytes"
    )


class CentController(_Part):
    process: str = _key("process of the die")
    units_mm2: dict[str, float] = _key("measured area by unit, in the process of the die", "mm²")
    measured_mm2: float = _key("measured area of all units", "mm²")
    measured_band_mm2: list[float] = _key("low and high end of the measured area", "mm²")
    published_mm2: float = _key("published area of the units near memory, which the measured area replaces", "mm²")
    die_mm2: float = _key("area of a controller with the measured area", "mm²")
    die_usd: float = _key("price of its die", "$")
    package_usd: float = _key("price of its package", "$")
    nre_usd: float = _key("its share of the development", "$")
    published_die_mm2: float = _key("area of a controller with the published area", "mm²")
    published_usd: float = _key("its price: die, package and development", "$")
    slowest: str | None = _key("unit with the longest path")
    slowest_mhz: list[float] | None = _key("its clock in the process, an estimate without and with wires", "MHz")


class Clustering(_Part):
    prompt_flops: int = _key("operations of the prompt's clustering, for a head")
    interval_flops: int = _key("operations of an interval's clustering, for a head")
    prompt_gpu_ms: float = _key("the prompt's clustering on the GPUs, for all heads and layers", "ms")
    gpu_us_per_step: float = _key("clustering of intervals on the GPUs, the share of a step", "µs")
    write_bytes: int = _key("keys and values of an interval that move to their places, for a head", "bytes")
    write_us_per_step: float = _key("all these moves, the share of a step", "µs")
    us_per_step: float = _key("clustering and moves, the share of a step", "µs")
    tpot_ms_with: float = _key("`tpot_ms` with both, nothing hidden", "ms")
    energy_mj_per_token: dict[str, float] = _key("energy of both by component, and `total`", "mJ")


class Selecting(_Part):
    unit: str = _key("unit and preset")
    clusters: int = _key("clusters of its measured selection")
    tail_us: float = _key("from the last score to the program's end", "µs")
    share_of_attention: float = _key("a tail in each layer over `attention_us`")
    measured_share: float | None = _key("the record's share of attention on `pam-pu`")
    tpot_ms_with: float = _key("`tpot_ms` with a tail in each layer", "ms")


class Capacity(_Part):
    """Memory of the fullest device."""

    available_bytes_per_device: int = _key("memory of a device for weights, keys and values", "bytes")
    weight_bytes_per_device: int = _key("weights on the fullest device", "bytes")
    kv_bytes_per_device: int = _key("keys and values on the fullest device", "bytes")
    largest_batch: int = _key("largest batch that fits at this context")
    largest_batch_with_output: int = _key("largest batch that fits at this context with the output tokens")


class DieArea(_Part):
    """Units on one DRAM die, against the published budget."""

    unit_ge: float = _key("measured area of one unit", "GE")
    units_per_die: int = _key("number of units on a die")
    unit_mm2: Pair = _key("area of one unit in the DRAM process, low and high end", "mm²")
    units_mm2: Pair = _key("area of all units of a die, low and high end", "mm²")
    die_percent: Pair = _key("`units_mm2` as a percentage of the die", "%")
    with_other_percent: Pair = _key(
        "the same percentage with the area of `other` added: "
        "`reduction_mm2` if the reduction units are measured, else the published area",
        "%",
    )
    placed_percent: Pair = _key("the same percentage with the customary placement utilisation at both ends", "%")
    other: str = _key("further hardware that the budget covers, for example `16 reduction units, measured`")
    other_mm2: float = _key("published area of this hardware", "mm²")
    published_unit_mm2: float = _key("area of the paper's unit", "mm²")
    published_units_percent: float = _key("area of the paper's units as a percentage of the die", "%")
    die_mm2: float = _key("area of the die", "mm²")
    budget_mm2: float = _key("total area that the paper states", "mm²")
    budget_percent: float = _key("`budget_mm2` as a percentage of the die", "%")
    logic_node: str = _key("logic process from which areas are converted")
    density_penalty: float = _key("area in the DRAM process over area in the logic process")
    source: str = _key("sources of the keys in `area`")
    reduction_mm2: Pair | None = _key(
        "area of all reduction units of a die, low and high end; null if none is measured", "mm²"
    )


class EvalUnit(_Part):
    """The unit of a system, with measured figures."""

    unit: str = _key("name of the unit")
    preset: str | None = _key("preset of the unit")
    settings: dict[str, Any] = _key("parameters that differ from the preset")
    config: dict[str, Any] | None = _key("the configuration", default=None)
    config_hash: str = _key("hash of the configuration")
    clock_mhz: float = _key("clock at which the unit runs", "MHz")
    fmax_mhz: float | None = _key("measured highest clock", "MHz")
    library: str | None = _key("cell library of this measurement", default=None)
    meets_clock: bool = _key("whether `fmax_mhz` is at least `clock_mhz`")
    process: dict[str, Any] | None = _key(
        "`process` of [synth](#synth): the clock in the unit's own process; null if there is none"
    )
    area_ge: float = _key("measured area", "GE")
    beats_per_clock: float | None = _key("measured `beats_per_clock` of [sim](#sim)", "beats/clock", default=None)
    softmax_gap_cycles: float | None = _key("measured `softmax_gap_cycles` of [sim](#sim)", "clocks", default=None)
    drain_cycles: float | None = _key("measured `drain_cycles` of [sim](#sim)", "clocks", default=None)


class UnitAttention(_Part):
    """Attention on units beside the banks of a memory."""

    memory: str = _key("name of the memory")
    power_limit: bool = _key("whether the power limit applies")
    refresh: bool = _key("whether refresh is included")
    channels: int = _key("channels of a device")
    banks: int = _key("banks of a channel")
    instances: int = _key("key/value heads times requests, on one device")
    channels_per_instance: int = _key("channels over which one instance is spread")
    instances_per_channel: int = _key("instances on the busiest channel")
    queries_per_instance: int = _key("queries that share keys and values")
    queries_per_pass: int = _key("most queries that a burst of K or V meets")
    passes: int = _key("passes over K and V for the queries that share them")
    tokens_per_bank: int = _key("tokens in the fullest bank", "tokens")
    cycles_per_layer: float = _key("cycles of the busiest channel", "memory clocks")
    reads_per_layer: float = _key("all-bank reads of the busiest channel")
    read_slot_utilisation: float = _key("fraction of the shortest read intervals that are used")
    softmax_gap_memory_cycles: int = _key("measured softmax gap", "memory clocks")
    unit_burst_memory_cycles: int = _key("time that the unit needs for one column burst", "memory clocks")


class PartialResults(_Part):
    """Bytes of a layer's partial results over each hop; empty without reduction units."""

    tree_bytes: dict[str, float] = _key("with reduction units in the arrays, by hop", "bytes", default={})
    central_bytes: dict[str, float] = _key("with one place of reduction per device, by hop", "bytes", default={})
    saved_percent: dict[str, float] = _key("saving of the reduction units, by hop", "%", default={})


class Tier(_Part):
    """A tier of memory in a step."""

    model_config = ConfigDict(extra="allow")

    tokens: int = _key("tokens in the tier")
    capacity_tokens: int = _key("tokens for which the tier has room")
    active_tokens: int = _key("tokens that the step activates")
    active_percent: float = _key("share of all active tokens", "%")
    query_us: float = _key("time per layer to send the queries", "µs")
    local_us: float = _key("time per layer of attention on the units", "µs")
    reduce_us: float = _key("time per layer of reduction, hidden or not", "µs")
    return_us: float = _key("time per layer to return the results", "µs")
    scores_us: float = _key("time per layer to return the scores", "µs")
    total_us: float = _key("time of a layer's attention", "µs")
    queries_per_pass: int = _key("most queries that a column read meets")
    passes: int = _key("passes over K and V for the queries that share them")
    imbalance: float = _key("largest load of a bank group or channel over the mean")
    moving_ms: float = _key("time of a step in a bank group or channel for reads and writes of moved tokens", "ms")
    busy_ms: float = _key("time of a step in a bank group or channel for attention", "ms")
    units_mm2: Pair | None = _key(
        "measured area of all units of a die, low and high end; null if it is not measured", "mm²"
    )
    reduction_mm2: Pair | None = _key(
        "measured area of all reduction units of a die, low and high end; null if it is not measured", "mm²"
    )
    published_percent: float = _key("published area of the hardware as a percentage of the die", "%")
    die_percent: Pair | None = _key("`units_mm2` as a percentage of the die", "%")
    with_other_percent: Pair | None = _key("the same percentage with the reduction units", "%")
    partial_results: PartialResults = _key("partial results of a layer over each hop")


class TierReduction(_Part):
    """Reduction of partial results, over the time of attention."""

    model_config = ConfigDict(extra="allow")

    share_percent: float = _key("percentage of attention time for unhidden reduction and the last merge", "%")
    hidden_percent: float = _key(
        "percentage of attention time with reduction hidden behind the units, in the slowest tier", "%"
    )
    exposed_us: float = _key("time per layer of unhidden reduction", "µs")
    merge_us: float = _key("time per layer of the last merge", "µs")


class TierAttention(_Part):
    """Attention over tiers of memory (`pam`, `ls-pim`, `l-pim`)."""

    model_config = ConfigDict(extra="allow")

    tiers: dict[str, Tier] = _key("each tier")
    micro_batch: int = _key("requests of a micro-batch")
    kv_tokens: int = _key("tokens of all requests", "tokens")
    active_tokens: int = _key("tokens that the step activates", "tokens")
    moves: dict[str, int] = _key("swaps between two tiers in the step")
    moved_percent: float = _key("swaps as a percentage of the tokens", "%")
    migration_ms: float = _key("time of the transfers between tiers, which run beside the step", "ms")
    block_table_bytes: int = _key("size of the entries of all tokens in the block table", "bytes")
    interface_rate_fraction: dict[str, float] = _key(
        "for each pair of tiers: measured fraction of the slower memory's rate that transfers reach"
    )
    x: float | None = _key(
        "target ratio of the scheduler: importance of a token in HBM over the importance of a token in the SSD"
    )
    y: float | None = _key(
        "target ratio of the scheduler: importance of a token in DDR over the importance of a token in the SSD"
    )
    reduction: TierReduction | None = _key("reduction of partial results; null without reduction units")


class ModuleAttention(_Part):
    """Attention on AiM modules alone (`lol-pim`, `aimx-pim`)."""

    memory: str = _key("name of the memory")
    partition: Literal["token", "head"] = _key(
        "`token` or `head`: see [LoL-PIM as a system](lolpim/system.md#where-operands-lie)"
    )
    ping_pong: bool = _key("whether there are two sets of buffers")
    kv_heads_per_module: int = _key("key/value heads of each request on a module")
    queries_per_head: int = _key("queries that share a head's keys and values")
    modules_per_head: int = _key("modules that share an attention head")
    score_us_per_layer: float = _key("time of the channels for the scores of one request on a module", "µs")
    context_us_per_layer: float = _key(
        "time of the channels for the product with the values of one request on a module", "µs"
    )
    softmax_us_per_layer: float = _key("time of the hub for the softmax, hidden or not", "µs")
    sums_us_per_layer: float = _key("time of the hub for sums of partial results, hidden or not", "µs")
    kv_append_us_per_layer: float = _key("time to write the new token's key and value", "µs")


class EvalAny(Envelope):
    """``bankside eval SYSTEM --model MODEL``: one decode step, or the mean over output tokens."""

    config_hash: str = _key("hash of the system's description, the model's shape and the options")
    system: str = _key("name of the system")
    model: str = _key("name of the model")
    context: int = _key("context of the first step", "tokens")
    batch: int = _key("requests of all instances together")
    output_tokens: int = _key("number of generated tokens")
    instances: int = _key("number of copies of the system")
    tpot_ms: float = _key("time per output token of a request", "ms")
    throughput_tok_s: float = _key("tokens of all requests per second", "tokens/s")
    energy_mj_per_token: float = _key("modelled energy per token", "mJ")
    breakdown_ms: dict[str, float] = _key("`tpot_ms` by operator; the values add up to `tpot_ms`", "ms")
    energy_breakdown_mj: dict[str, float | str] = _key("energy by component, or `not modelled`", "mJ")
    capacity: Capacity = _key("memory of the fullest device")
    parallelism: Parallelism = _key("division of the model over devices")
    area: DieArea | None = _key("units on a die; null for a system without units")
    unit: EvalUnit | dict[str, Any] | None = _key("the unit with measured figures; null for a system without units")
    attention: UnitAttention | TierAttention | ModuleAttention | dict[str, Any] | None = _key(
        "attention beside memory; null for a system without units"
    )
    utilisation_percent: float | None = _key(
        "[operations over their peak](lolpim/system.md#results); only on systems of AiM modules alone", "%"
    )
    gpu_rule: str | None = _key("[rule](gpu.md) by which GPUs take their times")
    records: list[str] = _key("measurement records and kernel records on which the result rests")
    assumptions: list[str] = _key("assumptions of the model")
    splits: list[Split] | None = _key("splits that `--split` tried", default=None)
    timeline: StepTimeline | None = _key("the file of `--timeline`", default=None)


class OfCent(_Part):
    """Further keys of `cent`."""

    block: CentBlock | None = _key("a block of the model", default=None)
    embedding_ms: float | None = _key("time of a token for embedding, last norm and output matrix", "ms", default=None)
    host_ms: float | None = _key("time of a token on the host", "ms", default=None)
    power_w: float | None = _key("power of all devices", "W", default=None)
    power_breakdown_w: dict[str, float] | None = _key("power by component", "W", default=None)
    stages: int | None = _key("stages of the pipeline", default=None)
    utilised_devices: int | None = _key("devices with a stage", default=None)
    controller: CentController | None = _key(
        "the controller of a device with measured areas; null under quirks and if an area has not been measured",
        default=None,
    )
    price_usd: dict[str, float] | None = _key("price by part", "$", default=None)
    usd_per_hour: float | None = _key("price over three years, and electricity", "$/h", default=None)
    tokens_per_usd: float | None = _key("tokens for a dollar", "1/$", default=None)


class OfInf2(_Part):
    """Further keys of `inf2` and its baselines."""

    traffic_bytes: dict[str, LinkBytes] | None = _key("bytes of a decode step over all links of a name", default=None)
    prefill_s: float | None = _key("prefill of all requests", "s", default=None)
    run_throughput_tok_s: float | None = _key("throughput with the prefill counted", "tokens/s", default=None)
    weights_at: Literal["gpu", "host", "drives"] | None = _key(
        "place of the weights: `gpu`, `host` or `drives`", default=None
    )
    kv_at: Literal["host", "drives"] | None = _key("of the baselines: place of keys and values", default=None)
    price_usd: dict[str, float] | None = _key(
        "price of `gpu`, `server`, `expansion` and `drives`; null for a GPU without a price", "$", default=None
    )
    x_cache_requests: int | None = _key("of `inf2`: requests whose inputs the host keeps", default=None)
    x_cache_bound: str | None = _key("of `inf2`: why there are not more", default=None)
    shards_per_drive: int | None = _key("of `inf2`: key/value heads of requests on the busiest drive", default=None)
    dram_pieces: int | None = _key("of `inf2`: pieces in which a shard passes the drive's DRAM", default=None)
    tok_s_per_usd: float | None = _key("`run_throughput_tok_s` over the whole price", "tokens/s/$", default=None)
    accelerator: Accelerator | None = _key("of `inf2`: stages of a query and a shard", default=None)


class OfStarc(_Part):
    """Further keys of `starc`. Counts are of a head whose tokens are selected, means over steps."""

    method: str | None = _key("which tokens heads read", default=None)
    budget: int | None = _key("tokens of a selection", "tokens", default=None)
    prompt_tokens: int | None = _key("tokens of the prompt", default=None)
    unit_tokens: int | None = _key("tokens of an access unit", default=None)
    full_layers: int | None = _key("first layers that attend to all tokens", default=None)
    wanted: float | None = _key("tokens that the head attends to", "tokens", default=None)
    fetched: float | None = _key("tokens of the access units that it reads", "tokens", default=None)
    overfetch: float | None = _key("`fetched` without `wanted`", "tokens", default=None)
    units: float | None = _key("access units", default=None)
    runs: float | None = _key("runs of neighbours among them", default=None)
    rows: float | None = _key("rows with some of them, for K; V has as many", default=None)
    waiting: float | None = _key("share of the reads' time in which a channel waits for another head", default=None)
    attention_us: float | None = _key("attention on the units, all layers of a step", "µs", default=None)
    scored: float | None = _key(
        "vectors that a head reads to score tokens; not in `attention_us`", "vectors", default=None
    )
    synthetic: bool | None = _key("whether keys and queries are made up", default=None)
    steps: int | None = _key("steps whose selections were computed", default=None)
    clustering: Clustering | None = _key(
        "clustering and moves of clustered tokens, not in `tpot_ms`; null for other methods", default=None
    )
    selecting: Selecting | None = _key(
        "the unit that selects, from its record, not in `tpot_ms`; null for other methods", default=None
    )


class Eval(OfStarc, OfInf2, OfCent, EvalAny):
    """``bankside eval SYSTEM --model MODEL``: one decode step, or the mean over output tokens."""


class EvalWorkload(Envelope):
    """``bankside eval --workload``: decoding in steady state."""

    system: str = _key("name of the system")
    model: str = _key("name of the model")
    workload: str = _key("name of the workload")
    throughput_tok_s: float = _key("tokens of all requests per second", "tokens/s")
    batch: float = _key("number of requests, mean over the steps")
    context: float = _key("mean context of a request", "tokens")
    largest_batch: int = _key("largest batch of all steps")
    longest_context: int = _key("longest context of all steps", "tokens")
    preempted: int = _key("requests that lost their room because other requests grew")
    utilisation_percent: float | None = _key(
        "[operations over their peak](lolpim/system.md#results); only on systems of AiM modules alone", "%"
    )
    parallelism: Parallelism = _key("`tensor` and `pipeline` of the fastest split")
    splits: list[Split] | None = _key("splits that `--split` tried")
    records: list[str] = _key("measurement records on which the result rests")


class Layer(_Part):
    tokens: int = _key("tokens of K and V")
    heads_per_stack: int = _key("heads on the stack")
    head_dim: int = _key("head dimension")
    bytes: int = _key("bytes of an element", "bytes")
    placement: str = _key("place of the units")


class EvalLayer(Envelope):
    """``bankside eval attacc --layer``."""

    system: Literal["attacc"] = _key("`attacc`")
    layer: Layer = _key("the layer")
    memory: str = _key("name of the memory")
    power_limit: bool = _key("whether the power limit applies")
    quirks: str | None = _key("simulator whose defects are included")
    cycles: int = _key("time until all channels have finished", "memory clocks")
    time_ns: float = _key("`cycles` in ns", "ns")
    commands: dict[str, int] = _key("number of issued commands by name, in all channels")
    row_hits: int = _key("accesses that did not open their row themselves")
    energy_pj: float | None = _key("energy of all channels", "pJ")
    energy_breakdown_pj: dict[str, float] | None = _key("energy by component", "pJ")


class ReferenceRow(_Part):
    line: int = _key("line of the file")
    system: str = _key("system of the row")
    gpu: str = _key("kind of GPU, as in the file")
    pim: str = _key("place of the units, as in the file")
    powerlimit: bool = _key("whether the power limit of the memory applies")
    ffopt: bool = _key("feed-forward co-processing")
    pipeopt: bool = _key("head-level pipelining")
    model: str = _key("model of the row")
    Lin: int = _key("tokens of the prompt", "tokens")
    Lout: int = _key("generated tokens", "tokens")
    bs: int = _key("requests")
    dtype: str = _key("number format, as in the file")
    cores: int = _key("GPUs")
    results: dict[str, float] = _key("what Bankside calculates, by column of the file")
    reference: dict[str, float] = _key("value of the file")
    relative_error: dict[str, float] = _key("`(result - reference) / reference`; 1 if only the reference is 0")


class EvalReference(Envelope):
    """``bankside eval SYSTEM --reference FILE``."""

    system: str = _key("`SYSTEM`")
    reference: str = _key("the file")
    rows: list[ReferenceRow] = _key("each row of the file")
    components: list[str] = _key("columns that are compared")
    worst_relative_error: dict[str, float] = _key("by component: largest absolute relative error of all rows")
    median_relative_error: dict[str, float] = _key("by component: median relative error")
    cycle_rows: int = _key("rows with `pim_cycles`")
    exact_cycles: int = _key("rows in which `pim_cycles` is equal")
    not_compared: dict[str, int] = _key(
        "by component: rows of units on the logic die, where the simulator's energy depends on what it ran before"
    )


class KernelTime(_Part):
    prefill_s: float | None = _key("kernels of the prefill, by rule", "s")
    decode_s: float | None = _key("kernels of all decode steps", "s")
    share_of_measured: float | None = _key("kernel time over the measured time")
    host_ms_per_step: float | None = _key("measured time without kernels, for each step", "ms")
    why: str | None = _key("why a rule has no time")


class RunRow(_Part):
    model: str = _key("built-in model")
    gpus: int = _key("GPUs of the run")
    batch: int = _key("requests of the run")
    measured_s: float = _key("time of the run", "s")
    measured_ms_per_step: float = _key("the same for each generated token of a request", "ms")
    rules: dict[str, KernelTime] = _key("kernel times by rule of the GPU")


class EvalRuns(Envelope):
    """``bankside eval SYSTEM --reference FILE`` with timed runs of a serving engine."""

    system: str = _key("the system of GPUs")
    reference: str = _key("the file")
    prompt_tokens: int = _key("prompt of each request", "tokens")
    output_tokens: int = _key("output of each request", "tokens")
    rows: list[RunRow] = _key("each run of the file")


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
    kinds = (*map(_sim, UNITS if command == "sim" else ()), *map(_printed, COMMANDS[command]))
    return TypeAdapter(reduce(or_, kinds))  # type: ignore[arg-type]


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
