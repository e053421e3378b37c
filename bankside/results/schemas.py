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
from bankside.models.papers.category import CATEGORIES
from bankside.models.papers.claims import Claim
from bankside.models.papers.difference import Difference as Cause
from bankside.models.papers.verdict import VERDICTS

from ..provenance.envelope import SCHEMA
from .calibration import Calibrate, FittedActivations
from .programs import Asm, Compile, Disasm
from .result import Part as _Part
from .result import key as _key
from .serving import Serve, Sweep
from .systems import Parallelism
from .tool import Cache, Doctor

__all__ = ["COMMANDS", "Envelope", "schema_of"]


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
    made: type[BaseModel] = create_model(kind.__name__, __base__=(kind, Envelope), __doc__=kind.__doc__)
    return made


def result_of(document: Mapping[str, Any]) -> Any:
    """The typed result of a command, from its output with ``--json``."""
    kinds: Any = map(_printed, COMMANDS[document["command"]])
    return TypeAdapter(reduce(or_, kinds)).validate_python(document)


def schema_of(command: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of the results of a command.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such command, or it has no ``--json``.
    """
    if command not in COMMANDS:
        raise ConfigError(nearest("command with --json", command, COMMANDS))
    kinds = (*map(_sim, UNITS if command == "sim" else ()), *map(_printed, COMMANDS[command]))
    adapter: TypeAdapter[Any] = TypeAdapter(reduce(or_, kinds))  # type: ignore[arg-type]
    schema = {key: value for key, value in adapter.json_schema(by_alias=True).items() if key != "title"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"bankside {command} --json, schema {SCHEMA}",
        **schema,
    }
