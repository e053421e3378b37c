"""Results of commands on units: their Verilog, co-simulation, synthesis, memory timing and records."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator

from bankside.constraints.core.contract import Row, SimResult
from bankside.constraints.core.registry import simulation_result, unit

from ..provenance.envelope import SCHEMA
from .result import Pair, Part, Result, key

#: Meaning of the key ``tools``.
TOOLS = "version of each tool that affects the result"


class Format(Part):
    title: str = key("description of the format")
    example: list[str] = key("example lines of the format")


class MemoryFacts(Part):
    """A memory, as ``bankside list`` gives it."""

    source: str = key("source of the memory's numbers")
    file: str = key("file of the memory")
    channels: int = key("channels of a device")
    levels: dict[str, int] = key("nodes at each level of a channel, outermost first")
    banks_per_channel: int = key("banks of a channel")
    rows: int = key("rows of a bank")
    row_bytes: int = key("size of a row of a bank", "bytes")
    access_bytes: int = key("size of one access to a bank", "bytes")
    capacity_bytes: int = key("capacity of a device", "bytes")
    clock_mhz: float = key("command clock", "MHz")
    channel_gb_per_s: float = key("peak rate of a channel's data buses", "GB/s")
    device_gb_per_s: float = key("peak rate of all channels of a device", "GB/s")
    refresh: str | None = key("refresh command, its interval and its length")
    power_limit: bool = key("whether the memory has a power limit that can be switched off")
    quirks: list[str] = key("simulators whose quirks can be switched on")
    energy: Literal["modelled", "not modelled"] = key("`modelled` or `not modelled`")
    commands: list[str] = key("names of the commands")
    timings_cycles: dict[str, int] = key("value of each named timing", "cycles")


class List(Result):
    units: list[str] = key("names of the units")
    presets: dict[str, list[str]] = key("presets of each unit; the first is the default")
    systems: list[str] = key("systems for `eval`")
    memories: list[str] = key("memories for `sim` and `time`")
    models: list[str] = key("language models for `eval`")
    workloads: list[str] = key("workloads for `serve`")
    libraries: list[str] = key("cell libraries for `synth`")
    memory: dict[str, MemoryFacts] = key("each memory of `memories`")
    formats: dict[str, Format] = key("formats of traces and programs for `time`")
    request_formats: dict[str, Format] = key("formats of request files for `serve`")


class Selected(Result):
    """A configuration of a unit."""

    version: Literal[1] = key("version of the keys, in a list of results", alias="schema", default=SCHEMA)
    unit: str = key("name of the unit")
    preset: str | None = key("preset that the configuration equals")
    config_hash: str = key("hash of the configuration")
    config: dict[str, Any] = key("the configuration")

    @property
    def name(self) -> str:
        return f"{self.unit} {self.preset or '(no preset)'}"

    @property
    def label(self) -> str:
        return self.preset or self.config_hash


class DryRun(Selected):
    """``--dry-run`` of a command with a unit."""

    tools: dict[str, str] = key(TOOLS)


class DryRuns(Result):
    """``bankside synth PATTERN --dry-run``."""

    selections: list[str] = key("selected units and presets")


class PortField(Part):
    name: str = key("name of a payload's field; `fields` exists only if the payload has fields")
    offset: int = key("lowest bit of the field", "bits")
    width: int = key("width of the field", "bits")
    meaning: str = key("meaning of the field")


class PortRow(Part):
    """A port of the generated Verilog."""

    name: str = key("name of the Verilog port")
    direction: Literal["in", "out"] = key("`in` or `out`")
    width: int = key("width of the port", "bits")
    meaning: str = key("meaning of the port's data")
    fields: list[PortField] | None = key(
        "fields of a payload; the key exists only if the payload has fields", default=None
    )


class Described(Result):
    """Description of a unit's Verilog, which stands in a file beside it."""

    unit: str = key("name of the unit")
    module: str = key("name of the Verilog module")
    summary: str = key("description of the unit in a few words")
    source: str = key("paper and section")
    preset: str | None = key("preset that the configuration equals")
    parameters: dict[str, Any] = key("the configuration")
    config_hash: str = key("hash of the configuration")
    target_clock_mhz: float | None = key("target clock", "MHz")
    latency_cycles: dict[str, int] = key("fixed latencies; the unit's page explains their names", "clocks")
    ports: list[PortRow] = key("ports of the Verilog module")
    tools: dict[str, str] = key(TOOLS)


class Gen(Described):
    files: list[str] = key("written files; this key is on standard output only")


class Sim(Selected):
    """``bankside sim UNIT``: keys of every unit, beside the options of its workload and the measurements of its bench.

    Attributes
    ----------
    workload : options of the unit's workload; ``vectors_file`` for ``vectors``, a key of the measurements
    measured : measurements of the bench, an instance of the unit's own class
    """

    workload: dict[str, Any] = key("options of the workload", exclude=True)
    seed: int = key("seed of data and stalls")
    measured: SimResult = key("measurements of the bench", exclude=True)
    record: str | None = key("name of the measurement record; null if something differs")
    tools: dict[str, str] = key(TOOLS)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON: workload and measurements are keys among the others."""
        found: dict[str, Any] = {}
        for name, value in super().to_json().items():
            found |= {**self.workload, name: value, **self.measured.document()} if name == "seed" else {name: value}
        return found

    @model_validator(mode="before")
    @classmethod
    def _printed(cls, given: Any) -> Any:
        """The keys that JSON has are taken, too."""
        if not isinstance(given, dict) or "measured" in given:
            return given
        options = {*unit(given.get("unit", "")).workload.options(), "vectors_file"} - {"vectors"}
        names = {field.alias or name for name, field in cls.model_fields.items()}
        own = {name: value for name, value in given.items() if name in names}
        workload = {name: value for name, value in given.items() if name in options}
        return {**own, "workload": workload, "measured": simulation_result(given)}

    @property
    def figures(self) -> list[Row]:
        """Lines of the measurements for people."""
        return self.measured.figures(self.workload)


class SynthPart(Part):
    """A module that is mapped on its own."""

    module: str = key(
        "mapped module: the unit, or a module that occurs many times in it ([compositions](pam/compositions.md))"
    )
    count: int = key("how often the module occurs")
    area_ge: float = key("area of one occurrence, without other parts inside", "GE")
    flip_flops: int = key("flip-flops of one occurrence, without other parts inside")
    memory_ge_estimate: float = key("estimated memory area of one occurrence, without other parts inside", "GE")
    critical_path_ns: float = key("longest path of the module", "ns")


class SynthMemory(Part):
    """A memory that is kept as a macro."""

    name: str = key("name of the memory")
    depth: int = key("number of words", "words")
    width: int = key("width of a word", "bits")
    bits: int = key("size of the memory", "bits")
    read_ports: int = key("number of read ports")
    write_ports: int = key("number of write ports")
    synchronous_read: bool = key("whether a read port has a clock")
    area_um2_estimate: float = key("estimated area", "µm²")


class PathStep(Part):
    instance: str = key("cell instance of a step")
    cell: str = key("library cell of the instance")
    arc: str = key("timing arc through the cell")
    delay_ps: float = key("delay of the arc", "ps")
    net: str | None = key("net that the step drives")


class CriticalPath(Part):
    """The longest path."""

    kind: str = key("kind of the path")
    start: str = key("port, register or memory at the start")
    end: str = key("port, register or memory at the end")
    steps: list[PathStep] = key("cells of the path, in order")


class ProcessClock(Part):
    """Estimate of a unit's clock in its own process."""

    process: str = key("process of the unit")
    logic_node: str = key("logic process of the same generation")
    delay_node: str = key("process from which the delay factor comes")
    dram: bool = key("whether the process is a DRAM process")
    delay_factor: float = key("delay of a gate over the same gate at 45 nm")
    critical_path_ns: Pair = key(
        "[estimated](synthesis.md#clock-in-the-units-own-process) longest path, without and with wires", "ns"
    )
    fmax_mhz: Pair = key("the inverse of both", "MHz")
    clock_mhz: float = key("target clock", "MHz")
    verdict: Literal["meets", "misses", "undecided"] = key("`meets`, `misses`, or `undecided` if wires decide")
    sentence: str = key("the verdict as text")
    source: str = key("sources of the factors")


class Synth(Selected):
    library: str = key("cell library")
    effort: Literal["area", "balanced", "speed"] = key("aim of technology mapping")
    area_um2: float = key("area of the cells, plus estimated area of the memory macros", "µm²")
    area_ge: float = key("`area_um2` divided by the area of the library's smallest NAND2", "GE")
    logic_area_um2: float = key("area of the cells alone", "µm²")
    sequential_ge: float = key("area of the flip-flops", "GE")
    combinational_ge: float = key("area of the other cells", "GE")
    flip_flops: int = key("number of flip-flops")
    memory_bits: int = key("bits of the memories that are kept as macros", "bits")
    memory_area_um2_estimate: float = key("estimated area of these macros, part of `area_um2`", "µm²")
    memory_ge_estimate: float = key("`memory_area_um2_estimate` in GE", "GE")
    memory_model: str | None = key("macro family from which the areas are estimated")
    memories: list[SynthMemory] = key("memories that are kept as macros")
    critical_path_ns: float = key("longest path of any kind", "ns")
    fmax_mhz: float | None = key("highest clock frequency: the inverse of `critical_path_ns`", "MHz")
    register_fmax_mhz: float | None = key("highest clock frequency of register-to-register paths alone", "MHz")
    paths_ns: dict[str, float] = key("longest path of each kind", "ns")
    critical_path_sentence: str | None = key(
        "start and end of the longest path, and the signals that its gates combine with it"
    )
    critical_path: CriticalPath | None = key("the longest path; null if there is none", default=None)
    clocks: list[str] = key("clock ports")
    cells: dict[str, int] = key("number of library cells by name")
    parts: list[SynthPart] = key("mapped modules")
    nand2_um2: float = key("area of one GE", "µm²")
    fo4_ps: float = key("delay of the library's inverter with a fan-out of four", "ps")
    target_clock_mhz: float | None = key("target clock of the configuration", "MHz")
    process: ProcessClock | None = key(
        "estimate of the clock in the unit's own process; null for a unit without one", default=None
    )
    record: str = key("name of the measurement record")
    tools: dict[str, str] = key(TOOLS)


class FpgaCounts(Part):
    """Resources of an FPGA."""

    lut: int = key("LUTs of logic before packing, inverters included")
    ff: int = key("flip-flops")
    carry4: int = key("carry chains in pieces of four bits")
    bram36: int = key("block RAMs of 36 Kbit")
    bram18: int = key("block RAMs of 18 Kbit")
    uram: int = key("UltraRAMs of 288 Kbit")
    dsp: int = key("DSP blocks")
    srl: int = key("LUTs that are shift registers; `lut` does not count them")
    lutram: int = key("LUTs that are memory; `lut` does not count them")


class FpgaModule(Part):
    module: str = key("a module of the design; equal modules are one")
    count: int = key("instances of it in the design")


class FpgaPart(FpgaCounts, FpgaModule):
    """A module, without modules inside it."""

    lut_levels: int = key("LUT levels of its longest path, with registers directly outside its ports")
    path_carry4: int = key("carry chains on that path")
    path_dsp: int = key("levels of that path in DSP blocks")


class FpgaMemory(Part):
    module: str = key("module of a memory that is written")
    name: str = key("name of the memory")
    count: int = key("instances of it in the design")
    depth: int = key("number of words", "words")
    width: int = key("width of a word", "bits")
    read_ports: int = key("number of read ports")
    write_ports: int = key("number of write ports")
    synchronous_read: bool = key("whether a read port has a clock")
    bits: int = key("size of the memory", "bits")
    becomes: Literal["bram", "uram", "lutram", "flip-flops", "nothing"] = key(
        "`bram`, `uram`, `lutram`, `flip-flops`, or `nothing` if no port is used"
    )
    misplaced: bool = key("whether more than 256 bits of it became flip-flops")


class FpgaPath(Part):
    start: str | None = key("port, register or memory at its start")
    end: str | None = key("port, register or memory at its end")


class SynthFpga(Selected):
    """``bankside synth UNIT --fpga FAMILY``."""

    family: str = key("family of FPGAs")
    fpga: FpgaCounts = key("resources of the whole design")
    lut_levels: int = key("LUT levels of the longest path")
    path_carry4: int = key("carry chains of four bits on that path; they are no level")
    path_dsp: int = key("levels of that path in DSP blocks")
    longest_path: FpgaPath = key("the path with the most LUT levels")
    memories: list[FpgaMemory] = key("memories of the design")
    cells: dict[str, int] = key("number of primitives by name")
    parts: list[FpgaPart] = key("modules of the design, without modules inside them")
    percent: dict[str, dict[str, float | None]] = key(
        "Share of each device of the family, by device and resource. LUTs of all kinds count, and two block RAMs of "
        "18 Kbit as one. `ff_counted` is the share of a total that a paper uses.",
        "%",
    )
    target_clock_mhz: float | None = key("target clock of the configuration", "MHz")
    record: str = key("name of the measurement record")
    tools: dict[str, str] = key(TOOLS)


class SynthAll(Result):
    """``bankside synth PATTERN``."""

    results: list[Synth] | list[SynthFpga] = key("an object for each unit and preset, with the keys of one unit")
    tools: dict[str, str] = key(TOOLS)

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "results": [one.to_document() for one in self.results]}


class View(Part):
    file: str | None = key("file of the timeline")
    picture: str | None = key("file of the picture")
    slices: int = key("number of time slices")
    commands: int = key("commands in the timeline; channels with the same commands count once")
    first_cycle: int = key("first cycle of the timeline", "memory clocks")
    last_cycle: int = key("last cycle of the timeline", "memory clocks")
    truncated: bool = key("whether the timeline ends earlier than requested")


class Export(Part):
    file: str = key("written file")
    format: str = key("format of the file")
    lines: int = key("number of lines in the file")


class TimeUnit(Selected):
    """``bankside time UNIT``: the reads of a decode step on one channel."""

    memory: str = key("name of the memory")
    tokens: int | None = key("tokens in each bank")
    head_dim: int = key("head dimension")
    queries: int = key("queries that share keys and values")
    refresh: bool = key("whether refresh is included")
    power_limit: bool = key("whether the power limit applies")
    cycles: int = key("time until the last command has finished", "memory clocks")
    time_ns: float = key("`cycles` in ns", "ns")
    commands: dict[str, int] = key("number of issued commands by name")
    energy_pj: float | None = key("energy of one channel; null if the memory states no energy", "pJ")
    energy_breakdown_pj: dict[str, float] | None = key(
        "energy by component (`energy_breakdown_pj` is null if the memory states no energy)", "pJ"
    )
    timeline: View | None = key("the timeline; null without timeline and picture")
    export: Export | None = key("the exported program; null without `--export`")
    tools: dict[str, str] = key(TOOLS)


class TimeTrace(Result):
    """``bankside time FILE`` and ``bankside time SYSTEM:MODEL``."""

    file: str | None = key("path of the file")
    format: str | None = key("format of the file")
    system: str | None = key("`SYSTEM:MODEL`")
    tokens: int | None = key("tokens in the KV cache")
    lines: int | None = key("lines of the file, without empty lines and comments")
    memory: str = key("name of the memory")
    quirks: str | None = key("simulator whose quirks are switched on")
    refresh: bool = key("whether refresh is included")
    power_limit: bool = key("whether the power limit applies")
    cycles: int = key("time until the last request has finished", "memory clocks")
    time_ns: float = key("`cycles` in ns", "ns")
    requests: int | None = key("number of instructions of an AiM host, of requests, or of commands of the program")
    commands: dict[str, int] = key("number of issued commands by name, in all channels")
    row_hits: int | None = key("accesses that found their row open")
    row_misses: int | None = key("accesses that found their bank closed; null if misses are not counted separately")
    row_conflicts: int | None = key(
        "accesses that found another row open; null if conflicts are not counted separately"
    )
    energy_pj: float | None = key("energy of all channels; null if the memory states no energy", "pJ")
    energy_breakdown_pj: dict[str, float] | None = key(
        "energy by component (`energy_breakdown_pj` is null if the memory states no energy)", "pJ"
    )
    energy_not_modelled: list[str] = key(
        "issued commands without a stated energy, and other parts that the energy leaves out"
    )
    stages: dict[str, int] | None = key(
        "time of each named part of a program (`stages` is null if it has none)", "memory clocks"
    )
    details: dict[str, Any] | None = key(
        "further figures of the format: reads, writes, latency, rate, utilisation (`details` is null if it has none)"
    )
    timeline: View | None = key("the timeline; null without timeline and picture")
    export: Export | None = key("the exported program; null without `--export`")


class Rtl(Result):
    folder: str = key("folder of the Verilog")
    files: list[str] = key("written files")
    differ: list[str] = key("with `--check`: files that differ from the output of the generators")
    tools: dict[str, str] = key(TOOLS)


class RecordState(Part):
    command: str = key("command that makes the measurement")
    state: str = key("state from the list above")
    record: str | None = key("name of the record, if there is one")
    why: str = key("reason why the record is stale or refused")


class Difference(Part):
    record: str = key("name of the record")
    command: str = key("command that makes the measurement")
    differs: list[str] = key("keys that differ")


class Records(Result):
    folder: str = key("folder of records")
    shipped: str = key("folder of the records that come with the package")
    measurements: list[RecordState] = key("each measurement")
    differ: list[Difference] | None = key("with `--check`: records that differ")
