"""Units of a system: their configurations, and the figures in their measurement records.

A system looks up all its units first and then reports which measurements are missing. No other figure replaces a
missing measurement, nor does a measurement under other conditions. Times need the co-simulation of every unit. Times of
processing units need their synthesis too. Without the synthesis of another unit its area stays unknown, and a note says
so.

The figures of a unit are its bench's result, checked against the bounds that a system relies on. A system derives
further values from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
from pydantic import Field, model_validator

from ...constraints.aim.hub import EPU_COMMANDS, PimHubConfig, PimHubResult
from ...constraints.cent.cxl_link import SLOT_BYTES
from ...constraints.cent.cxl_port import FabricResult
from ...constraints.cent.pnm import KINDS, CentPnmResult
from ...constraints.cent.riscv import CentRiscvConfig, CentRiscvResult, ProgramClocks
from ...constraints.core.contract import SimResult, Unit, UnitConfig
from ...constraints.core.document import validate
from ...constraints.core.errors import ConfigError
from ...constraints.core.records import Kind, Measurement, Record, SynthResults, config_hash
from ...constraints.inf2.accelerator import Inf2AcceleratorConfig, Inf2AcceleratorResult
from ...constraints.lolpim.dispatcher import DpaDispatcherConfig, DpaDispatcherResult
from ...constraints.memory import Memory, load_memory
from ...constraints.pam.interface import PamInterfaceResult
from ...constraints.pam.partials import PartialUnitConfig
from ...constraints.pam.pu import PamPuConfig, PamPuResult
from ...constraints.pam.ru import PamRuConfig, PamRuResult
from ..cost import ProcessClock, process_clock
from ..memory import time_program
from ..pam.program import attention_program
from .capabilities import Executed
from .results import RecordSource

__all__ = [
    "CoreFigures",
    "DispatcherFigures",
    "Group",
    "HubFigures",
    "InterfaceFigures",
    "JobFigures",
    "MeasuredUnit",
    "Missing",
    "PnmFigures",
    "PortFigures",
    "ProcessingFigures",
    "ReductionFigures",
    "Synthesis",
    "clock_hz",
    "partial_bytes",
]

#: Measurements that have not been made.
Missing = list[Measurement]

Config = TypeVar("Config", bound=UnitConfig)
Figures = TypeVar("Figures", bound=SimResult)
Measured = TypeVar("Measured")


class Synthesis(SynthResults):
    """Synthesis of a unit that has gates, and paths between registers."""

    area_ge: float = Field(gt=0, le=1e12)
    fmax_mhz: float = Field(gt=0, le=1e9)


class MeasuredUnit(Generic[Config, Figures]):
    """A unit of a system, and its measurements once they have been looked up.

    Parameters
    ----------
    where
        The system or tier that has the unit, for messages.
    unit
        Its contract.
    figures
        Type of its figures: the result of its bench, or a subclass; None for a unit whose co-simulation is not needed.
    preset, changes
        Its configuration: a preset, and keys that differ from it.
    synth
        Whether the system needs the unit's synthesis, can do without it, or has no use for it.

    Attributes
    ----------
    config
    sim, synth
        The measurements; None before :meth:`look_up` and if a measurement has not been made.
    records : mapping of kind to :class:`Record`
        The records that were found.
    unmeasured : :data:`Missing`
        Measurements that have not been made, needed or not.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such preset, or the unit does not allow these changes.
    """

    def __init__(
        self,
        where: str,
        unit: Unit[Config],
        figures: type[Figures] | None,
        preset: str,
        changes: Mapping[str, Any] | None = None,
        *,
        synth: Literal["required", "wanted"] | None = None,
    ) -> None:
        self.where, self.unit, self.preset, self.changes = where, unit, preset, dict(changes or {})
        with _told(where):
            self.config = unit.preset(preset)[1]
        if changes:
            self.config = validate(self.config.model_dump() | self.changes, unit.config, f"{where}: unit.settings")
        self._figures = figures
        self._required: dict[Kind, bool] = {} if figures is None else {"sim": True}
        if synth is not None:
            self._required["synth"] = synth == "required"
        self.sim: Figures | None = None
        self.synth: Synthesis | None = None
        self.records: dict[Kind, Record] = {}
        self.unmeasured: Missing = []

    def look_up(self, records: RecordSource, **workload: Any) -> Missing:
        """Take the measurements from ``records``, and return the required ones that are missing. ``workload`` holds the
        bench's workload where it differs from the default.

        Raises
        ------
        :exc:`ConfigError`
            If the unit can't run the workload, or a record does not hold the figures. Also if the measured step has
            another number of queries than the configuration.
        """
        with _told(self.where):
            validate(workload, self.unit.workload, self.unit.name).check(self.config)
        needs = [
            Measurement.of(
                kind,
                self.unit.name,
                self.config,
                preset=self.preset,
                changes=self.changes,
                **(workload if kind == "sim" else {}),
            )
            for kind in self._required
        ]
        self.records = {need.kind: record for need in needs if (record := records.find(need)) is not None}
        self.unmeasured = [need for need in needs if need.kind not in self.records]
        sim, synth = self.records.get("sim"), self.records.get("synth")
        self.sim = None if sim is None or self._figures is None else sim.typed(self._figures)
        self.synth = None if synth is None else synth.typed(Synthesis)
        measured, asked = getattr(self.sim, "queries", None), getattr(self.config, "queries", None)
        if measured is not None and asked is not None and measured != asked:
            raise ConfigError(
                f"{self.where}: the record of {self.unit.name} is of a step of {measured} queries, its "
                f"configuration has {asked}"
            )
        return [need for need in self.unmeasured if self._required[need.kind]]

    @property
    def process(self) -> ProcessClock | None:
        """Estimate of the clock in the unit's own process, once its synthesis is known."""
        return (
            None
            if self.synth is None
            else process_clock(self.unit.name, self.preset, self.synth.model_dump(), self.config.clock_mhz)
        )

    @property
    def below_target(self) -> str | None:
        """A note for the reader, if the unit misses its target clock in the measured library or in its own process."""
        if self.synth is None:
            return None
        target, own = self.config.clock_mhz, self.process
        missed = self.synth.fmax_mhz < target
        if not missed and (own is None or own.verdict == "meets"):
            return None
        return (
            f"reaches {self.synth.fmax_mhz:.0f} MHz as synthesised, {'below' if missed else 'above'} its target of "
            f"{target:g} MHz" + (f"; {own.sentence}" if own else "") + "; results take the target for granted"
        )

    @property
    def hash(self) -> str:
        """Hash of the configuration."""
        return config_hash(self.unit.name, self.config)

    @property
    def figures(self) -> Figures:
        """The co-simulation.

        Raises
        ------
        :exc:`ConfigError`
            Before :meth:`look_up`, which :meth:`System.bind` does.
        """
        return self._there(self.sim)

    @property
    def synthesis(self) -> Synthesis:
        """The synthesis, where it is required.

        Raises
        ------
        :exc:`ConfigError`
            Before :meth:`look_up`, which :meth:`System.bind` does.
        """
        return self._there(self.synth)

    def _there(self, measured: Measured | None) -> Measured:
        if measured is None:
            raise ConfigError(
                f"{self.where}: no measurements of {self.unit.name} are looked up; System.bind(model, records) gives "
                "the steps"
            )
        return measured


@contextmanager
def _told(where: str) -> Iterator[None]:
    """Put ``where`` before the messages of configuration errors."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


# Figures ---------------------------------------------------------------------------------------------------------------


class Clocked(Protocol):
    """Configuration of a unit with a target clock."""

    @property
    def clock_mhz(self) -> float: ...


def clock_hz(config: Clocked) -> float:
    """Target clock of a unit."""
    return config.clock_mhz * 1e6


def partial_bytes(config: PartialUnitConfig, head_dim: int) -> int:
    """Bytes of one partial result: O in the input format, m in the score format, l in the accumulation format."""
    return head_dim * config.io.width // 8 + (config.score.width + config.acc.width) // 8


@dataclass(frozen=True)
class Group:
    """How the units take the queries that share a key/value head.

    Attributes
    ----------
    queries, passes, together : the queries; passes over K and V; most queries of a pass
    gap_cycles : the unit's softmax in memory cycles, rounded up
    burst_cycles : memory cycles that the unit takes for a column burst, rounded up
    """

    queries: int
    passes: int
    together: int
    gap_cycles: int
    burst_cycles: int

    @property
    def reads_per_query(self) -> float:
        """Passes over K and V for each query."""
        return self.passes / self.queries


class ProcessingFigures(PamPuResult):
    """Figures of a processing unit."""

    queries: int = Field(default=1, ge=1)
    beats_per_clock: float = Field(gt=0)
    softmax_gap_cycles: int = Field(ge=0)
    drain_cycles: int = Field(ge=0)

    def group(self, config: PamPuConfig, memory: Memory, queries: int, most: int | None = None) -> Group:
        """How units take ``queries`` queries that share K and V: in as few passes as possible, of numbers of queries as
        equal as possible. The pace of the largest pass holds for all; others have a query less. ``most``: limit of a
        pass beside the unit's own."""
        passes = -(-queries // min(config.queries, most or config.queries))
        together = -(-queries // passes)
        return Group(
            queries,
            passes,
            together,
            self.gap_cycles(config, memory, together),
            self.burst_cycles(config, memory, queries=together),
        )

    def gap_cycles(self, config: PamPuConfig, memory: Memory, queries: int = 1) -> int:
        """The unit's softmax in cycles of ``memory``, rounded up, for a step of ``queries`` queries: the last burst of K
        meets all of them first."""
        clocks = self.softmax_gap_cycles - (config.burst_clocks(self.queries) - config.burst_clocks(queries))
        return math.ceil(clocks / clock_hz(config) / (memory.clock_ps * 1e-12) - 1e-9)

    def burst_cycles(self, config: PamPuConfig, memory: Memory, at_hz: float | None = None, *, queries: int = 1) -> int:
        """Cycles of ``memory`` that the unit takes for a column burst that meets ``queries`` queries, rounded up; at its
        target clock, or at another."""
        clocks = memory.column_bytes / config.beat_bytes * config.burst_clocks(queries)
        seconds = clocks / (self.beats_per_clock * config.burst_clocks(self.queries) * (at_hz or clock_hz(config)))
        return math.ceil(seconds / (memory.clock_ps * 1e-12) - 1e-9)

    @property
    def stretch(self) -> float:
        """Time of the measured step, with data at the cycles of the memory, over the time of its memory program."""
        timing = self.memory_timing
        return max(timing.time_ns / timing.memory_time_ns, 1.0) if timing.memory_time_ns else 1.0

    def drain_s(self, config: PamPuConfig) -> float:
        """Seconds from the last beat to the last result."""
        return self.drain_cycles / clock_hz(config)


def executed_step(unit: MeasuredUnit[PamPuConfig, ProcessingFigures]) -> Executed:
    """The measured step of a processing unit: cycles of the program that a system times for it, and of the program that its
    bench played."""
    record, figures, config = unit.records["sim"], unit.figures, unit.config
    timing, workload = figures.memory_timing, record.workload
    memory, tokens = load_memory(timing.memory), int(workload["tokens"])
    steps = config.group_steps(tokens, int(workload["head_dim"]), figures.queries)
    program = attention_program(
        config,
        memory,
        steps,
        gap_cycles=figures.gap_cycles(config, memory, figures.queries),
        burst_cycles=math.ceil(
            memory.column_bytes
            / config.beat_bytes
            * config.burst_clocks(figures.queries)
            / clock_hz(config)
            / (memory.clock_ps * 1e-12)
            - 1e-9
        ),
    )
    return Executed(
        f"step of {unit.unit.name} of {tokens} tokens on {memory.name}",
        f"{time_program(program, memory).cycles} cycles of the memory",
        f"{timing.memory_cycles} cycles of the memory",
        f"the unit ends {timing.time_ns - timing.memory_time_ns:.0f} ns behind the memory",
    )


class ReductionFigures(PamRuResult):
    """Figures of a reduction unit.

    A step merges the partial results of all sources for one query, a beat of ``lanes`` elements at a time. The unit
    needs further clocks before it takes the next step's beats.
    """

    cycles: int = Field(ge=1)
    merge_cycles: int = Field(ge=1)
    merge_utilisation: float = Field(gt=0)
    drain_cycles: int = Field(ge=0)
    partial_drain_cycles: int = Field(ge=0)
    two_steps_cycles: int = Field(ge=1)

    @property
    def last_step_cycles(self) -> int:
        """Clocks of a step beyond its beats when steps follow each other, in a unit of the final level, which divides
        by l."""
        return max(self.two_steps_cycles - self.cycles - self.merge_cycles, 0)

    @property
    def step_cycles(self) -> int:
        """The same clocks for a level before the final one, whose drain is shorter."""
        return max(self.last_step_cycles - (self.drain_cycles - self.partial_drain_cycles), 0)

    def partial_s(self, config: PamRuConfig, head_dim: int) -> float:
        """Seconds for a partial result."""
        return head_dim // config.lanes / self.merge_utilisation / clock_hz(config)

    def step_s(self, config: PamRuConfig, last: bool = False) -> float:
        """Seconds of a step beyond its partial results; ``last``: whether the level divides O by l."""
        return (self.last_step_cycles if last else self.step_cycles) / clock_hz(config)

    def merge_s(
        self, config: PamRuConfig, head_dim: int, partials: float, steps: float, last: bool = False, *, queries: int = 1
    ) -> float:
        """Seconds of one unit for ``steps`` merges of ``partials`` partial results in all, for each of ``queries``
        queries of a step. A source that has none sends the identity, so a step has at least one partial result from each
        source."""
        partials = max(partials, steps * config.sources) * queries
        return partials * self.partial_s(config, head_dim) + steps * self.step_s(config, last)


class InterfaceFigures(PamInterfaceResult):
    """Figures of the interface from one tier to another. ``rate_fraction`` is the fraction of the slower memory's own
    rate that transfers of scattered tokens reach."""

    rate_fraction: float = Field(gt=0, le=1)


class HubFigures(PimHubResult):
    """Figures of the hub of a module of AiM memories: its extra processing unit takes every command."""

    @model_validator(mode="after")
    def _every_command(self) -> Self:
        for op in EPU_COMMANDS:
            found = self.commands.get(op)
            if found is None:
                raise ValueError(f"no clocks of {op}")
            for key in ("words", "cycles", "clocks_per_word"):
                value = getattr(found, key)
                if value is None or value < 0 or (key == "clocks_per_word" and value == 0):
                    raise ValueError(f"commands.{op}.{key} is {value!r}")
        return self

    def seconds(self, config: PimHubConfig, op: str, elements: float, times: float = 1) -> float:
        """Seconds of ``times`` commands on a vector of ``elements``: the measured clocks, plus the clocks of further
        words."""
        known = self.commands[op]
        assert known.clocks_per_word is not None
        words = -(-elements // config.lanes)
        clocks = max(known.cycles + (words - known.words) * known.clocks_per_word, 0.0)
        return times * clocks / clock_hz(config) if elements else 0.0


class PnmFigures(CentPnmResult):
    """Figures of accumulators, reduction trees and exponent units."""

    @model_validator(mode="after")
    def _every_command(self) -> Self:
        for op in KINDS:
            if op not in self.commands:
                raise ValueError(f"no clocks of {op}")
            one = self.commands[op]
            if not 0 < one.cycles_1 <= one.cycles_32 <= one.cycles:
                raise ValueError(f"commands.{op}: clocks of one slot, 32 slots and all must be positive and ascend")
        return self

    def command_clocks(self, op: str, slots: int, measured_slots: int) -> float:
        """Clocks of a command on ``slots`` slots. They lie on straight lines through the measured commands of one slot, of
        32, and of ``measured_slots`` (key ``slots`` of the bench's workload). The last line goes on."""
        if slots <= 0:
            return 0.0
        one = self.commands[op]
        known = {1: one.cycles_1, min(32, measured_slots): one.cycles_32, measured_slots: one.cycles}
        at = sorted(known)
        if slots <= at[-1] or len(at) == 1:
            low = max((n for n in at if n <= slots), default=at[0])
            high = min((n for n in at if n >= slots), default=at[-1])
        else:
            low, high = at[-2:]
        slope = (known[high] - known[low]) / (high - low) if high > low else 0.0
        return known[low] + slope * (slots - low)


class CoreFigures(CentRiscvResult):
    """Figures of the RISC-V cores: programs whose micro-operations the cores divide among them."""

    def program_clocks(self, config: CentRiscvConfig, program: str, micro_operations: int) -> float:
        """Clocks of a program: the measured clocks of one micro-operation, and of each further round of all cores.

        Raises
        ------
        :exc:`ConfigError`
            If the record has no such program.
        """
        one = self._program(program)
        rounds = -(-one.micro_operations // config.cores)
        each = (one.cycles - one.first_core_cycles) / (rounds - 1) if rounds > 1 else one.cycles
        return one.first_core_cycles + max(-(-micro_operations // config.cores) - 1, 0) * each

    def _program(self, program: str) -> ProgramClocks:
        if program not in self.programs:
            raise ConfigError(f"the record of cent-riscv has no program '{program}'")
        return self.programs[program]

    def alone_clocks(self, program: str, slots: int) -> float:
        """Clocks of a program of one core on so many slots. Two programs touch one slot, and take their most.

        Raises
        ------
        :exc:`ConfigError`
            If the record has no such program.
        """
        one = self._program(program)
        if program != "largest_of_all":
            return one.cycles
        return one.first_core_cycles + (one.cycles - one.first_core_cycles) / max(one.micro_operations - 1, 1) * (
            slots - 1
        )


class PortFigures(FabricResult):
    """Figures of the CXL port, measured with others at a switch."""

    cycles: int = Field(ge=1)
    slot_clocks: int = Field(ge=1)
    acknowledge_clocks: int = Field(ge=1)

    def clocks_per_byte(self, vector_bytes: int) -> float:
        """Clocks of the port for a further byte, packing included. They lie between a message of two slots and the measured
        vector (key ``bytes`` of the bench's workload)."""
        return max(self.cycles - self.slot_clocks, 0) / max(vector_bytes - 2 * SLOT_BYTES, 1)

    def latency_clocks(self, vector_bytes: int) -> float:
        """Clocks of a message without its bytes, through port, switch and port and back: all but the lines."""
        return max(self.acknowledge_clocks - 2 * SLOT_BYTES * self.clocks_per_byte(vector_bytes), 0.0)


class DispatcherFigures(DpaDispatcherResult):
    """Figures of the dispatcher of a module's commands."""

    commands_per_clock: float = Field(gt=0)
    start_cycles: int = Field(ge=0)
    end_cycles: int = Field(ge=0)

    def command_s(self, config: DpaDispatcherConfig) -> float:
        """Seconds per command: the dispatcher issues at most one command in this time."""
        return 1 / self.commands_per_clock / clock_hz(config)

    def run_s(self, config: DpaDispatcherConfig) -> float:
        """Seconds of a program beside its commands: from START to the first command, and from the last command to the
        completion message."""
        return (self.start_cycles + self.end_cycles) / clock_hz(config)


class JobFigures(Inf2AcceleratorResult):
    """Figures of the accelerator beside storage: jobs, each the attention of one query over a shard."""

    @model_validator(mode="after")
    def _counts(self) -> Self:
        if not all(0 < one.ideal_cycles <= one.cycles for one in self.points):
            raise ValueError("clocks of jobs must be positive, and cycles no less than ideal_cycles")
        return self

    def _beyond(self, config: Inf2AcceleratorConfig, head_dim: int) -> dict[int, int]:
        """Clocks beyond the words of the port, by tokens: measured jobs of whole tiles without a mask."""
        return {
            one.tokens: one.cycles - one.ideal_cycles
            for one in self.points
            if (one.head_dim, one.mask) == (head_dim, "none") and one.tokens % config.lanes == 0
        }

    def covers(self, config: Inf2AcceleratorConfig, head_dim: int) -> bool:
        """Whether two jobs of whole tiles have been measured with this head dimension."""
        return len(self._beyond(config, head_dim)) > 1

    def job_clocks(self, config: Inf2AcceleratorConfig, tokens: Any, head_dim: int) -> dict[str, Any]:
        """Clocks of a job by stage, from operands in a memory that gives a word in every clock.

        ``scores``, ``output``
            Words of K and V on the port. A last tile of K takes as long as a whole one.
        ``softmax``
            All other clocks: registers, query, first latency, softmax, and the engines beyond their words. They lie on the
            straight line through the shortest and the longest measured job of whole tiles, and the line goes on.

        Raises
        ------
        :exc:`ConfigError`
            If the record does not cover this head dimension.
        """
        known = self._beyond(config, head_dim)
        if len(known) < 2:
            raise ConfigError(
                f"the record of inf2-accelerator has no two jobs of whole tiles of head dimension {head_dim}"
            )
        least, most = min(known), max(known)
        tiled = np.ceil(np.asarray(tokens) / config.lanes) * config.lanes
        words = config.gemv.tiles(head_dim)
        return {
            "scores": tiled * words,
            "softmax": known[least] + (tiled - least) * ((known[most] - known[least]) / (most - least)),
            "output": np.asarray(tokens) * words,
        }
