"""Units of a system: their configuration, and what measurement records say of them.

A system looks up all its units first and then tells which measurements are missing; no figure stands in for one that has
not been made, and none under other conditions. Times need the co-simulation of every unit, processing units their synthesis
too; without that of the others their area stays unknown, and a note says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ...constraints.document import validate
from ...constraints.errors import ConfigError, nearest
from ...constraints.memory import Memory
from ...constraints.records import Measurement, Record, config_hash
from ...constraints.systems import UnitChoice
from ...constraints.units import dpa_dispatcher, pam_interface, pam_ru, pim_hub
from ...constraints.units.pam_pu import PRESETS, PamPuConfig
from .results import RecordSource

__all__ = ["UNIT", "DispatcherSetup", "HubCommandClocks", "HubSetup", "InterfaceSetup", "Measured", "Missing",
           "ReducerSetup", "Reduction", "UnitSetup"]

UNIT = "pam-pu"

#: Measurements that have not been made.
Missing = list[Measurement]

Known = TypeVar("Known")


@dataclass(frozen=True)
class Measured:
    """What the records of the unit say.

    Attributes
    ----------
    beats_per_clock : :class:`float`
        Beats that the unit takes per clock in its streaming phases.
    softmax_gap_cycles, drain_cycles : :class:`float`
        Clocks of the unit.
    area_ge, fmax_mhz : :class:`float`
    """

    beats_per_clock: float
    softmax_gap_cycles: float
    drain_cycles: float
    area_ge: float
    fmax_mhz: float


class UnitSetup:
    """The unit that a system has beside its banks, and its records once they have been looked up."""

    def __init__(self, name: str, choice: UnitChoice) -> None:
        if choice.preset not in PRESETS:
            raise ConfigError(f"{name}: {nearest('preset', choice.preset, PRESETS)}")
        self.choice = choice
        fields = PRESETS[choice.preset].model_dump() | choice.settings
        self.config = validate(fields, PamPuConfig, f"{name}: unit.settings")
        self.hash = config_hash(UNIT, self.config)
        self.clock_hz = self.config.clock_mhz * 1e6
        self.measured: Measured | None = None
        self.records: list[Record] = []

    def look_up(self, records: RecordSource, head_dim: int) -> Missing:
        """Take the measurements from records; those that are missing are returned.

        Raises
        ------
        :exc:`ConfigError`
            If a record holds no sensible number.
        """
        preset, changes = self.choice.preset, self.choice.settings
        needs = [Measurement.of("sim", UNIT, self.config, preset=preset, changes=changes, head_dim=head_dim),
                 Measurement.of("synth", UNIT, self.config, preset=preset, changes=changes)]
        sim, synth = map(records.find, needs)
        if sim is None or synth is None:
            return [need for need, record in zip(needs, (sim, synth), strict=True) if record is None]
        self.measured = Measured(
            beats_per_clock=_number(sim, "beats_per_clock", 0), softmax_gap_cycles=_number(sim, "softmax_gap_cycles", 0),
            drain_cycles=_number(sim, "drain_cycles", 0), area_ge=_number(synth, "area_ge", 0),
            fmax_mhz=_number(synth, "fmax_mhz", 0))
        self.records = [sim, synth]
        return []

    @property
    def known(self) -> Measured:
        """The measurements, after :meth:`look_up`."""
        return _known(self.measured)

    def gap_cycles(self, memory: Memory) -> int:
        """The unit's softmax in cycles of ``memory``, rounded up."""
        return math.ceil(self.known.softmax_gap_cycles / self.clock_hz / (memory.clock_ps * 1e-12) - 1e-9)

    def burst_cycles(self, memory: Memory, clock_hz: float | None = None) -> int:
        """Cycles of ``memory`` that the unit takes for a column burst, rounded up."""
        beats = memory.column_bytes / self.config.beat_bytes
        seconds = beats / (self.known.beats_per_clock * (clock_hz or self.clock_hz))
        return math.ceil(seconds / (memory.clock_ps * 1e-12) - 1e-9)

    def partial_bytes(self, head_dim: int) -> int:
        """Bytes of one partial result: O in the input format, m in the score format, l in the accumulation format."""
        unit = self.config
        return head_dim * unit.io.width // 8 + (unit.score.width + unit.acc.width) // 8


@dataclass(frozen=True)
class Reduction:
    """What the records of a reduction unit say.

    A step merges the partial results of all sources for one query: a beat of ``lanes`` elements at a time, then what the
    unit needs before it takes the next step's.

    Attributes
    ----------
    beats_per_clock : :class:`float`
        Beats of O that it takes per clock.
    step_cycles, last_step_cycles : :class:`float`
        Clocks of a step beyond its beats when steps follow each other; of the last level, which divides by l too.
    """

    beats_per_clock: float
    step_cycles: float
    last_step_cycles: float


class _Beside:
    """A unit beside the processing unit, by preset, and its records once they have been looked up.

    Attributes
    ----------
    area_ge, fmax_mhz : :class:`float` or None
        Of its synthesis, if that has been made.
    unknown_area : :data:`Missing`
        Else the synthesis that has not been made.
    """

    unit: str
    area_ge: float | None = None
    fmax_mhz: float | None = None

    def __init__(self, name: str, preset: str, presets: Mapping[str, Any]) -> None:
        if preset not in presets:
            raise ConfigError(f"{name}: {nearest(f'preset of {self.unit}', preset, presets)}")
        self.name, self.preset, self.config = name, preset, presets[preset]
        self.records: list[Record] = []
        self.unknown_area: Missing = []

    def _look_up(self, records: RecordSource, **workload: Any) -> tuple[Record | None, Missing]:
        """The co-simulation, or what is missing; area and frequency are taken from the synthesis, if there is one."""
        needs = [Measurement.of("sim", self.unit, self.config, preset=self.preset, **workload),
                 Measurement.of("synth", self.unit, self.config, preset=self.preset)]
        sim, synth = map(records.find, needs)
        self.records = [record for record in (sim, synth) if record is not None]
        self.area_ge, self.fmax_mhz, self.unknown_area = None, None, []
        if synth is None:
            self.unknown_area = needs[1:]
        else:
            self.area_ge, self.fmax_mhz = _number(synth, "area_ge", 0), _number(synth, "fmax_mhz", 0)
        return sim, [] if sim is not None else needs[:1]


class ReducerSetup(_Beside):
    """The reduction unit of a tier."""

    unit = "pam-ru"

    def __init__(self, name: str, preset: str) -> None:
        super().__init__(name, preset, pam_ru.PRESETS)
        self.clock_hz = self.config.clock_mhz * 1e6
        self.measured: Reduction | None = None
        self._beats = 0

    def look_up(self, records: RecordSource, head_dim: int) -> Missing:
        """As that of :class:`UnitSetup`. The clocks of a partial result that goes on to the next level are those of the
        record's two merges in succession, less what its own drain is shorter than that of a normalised one."""
        try:
            self.config.check_head_dim(head_dim)
        except ConfigError as error:
            raise ConfigError(f"{self.name}: {error}") from None
        self._beats = head_dim // self.config.lanes
        sim, missing = self._look_up(records, head_dim=head_dim)
        if sim is not None:
            one, two = _number(sim, "cycles", 1), _number(sim, "two_steps_cycles", 1)
            last = max(two - one - _number(sim, "merge_cycles", 1), 0.0)
            drain, own = _number(sim, "drain_cycles", 0), _number(sim, "partial_drain_cycles", 0)
            self.measured = Reduction(_number(sim, "merge_utilisation", 0), max(last - (drain - own), 0.0), last)
        return missing

    @property
    def known(self) -> Reduction:
        """The measurements, after :meth:`look_up`."""
        return _known(self.measured)

    @property
    def partial_s(self) -> float:
        """Seconds for a partial result."""
        return self._beats / self.known.beats_per_clock / self.clock_hz

    @property
    def step_s(self) -> float:
        """Seconds of a step beyond its partial results."""
        return self.known.step_cycles / self.clock_hz

    @property
    def last_step_s(self) -> float:
        """The same where O is divided by l."""
        return self.known.last_step_cycles / self.clock_hz

    def merge_s(self, partials: float, steps: float, last: bool = False) -> float:
        """Seconds of one unit for ``steps`` merges of ``partials`` partial results in all. A source that has none sends the
        identity, so a step has at least one from each."""
        partials = max(partials, steps * self.config.sources)
        return partials * self.partial_s + steps * (self.last_step_s if last else self.step_s)


class InterfaceSetup(_Beside):
    """The interface from one tier to another."""

    unit = "pam-interface"

    def __init__(self, name: str, preset: str) -> None:
        super().__init__(name, preset, pam_interface.PRESETS)
        self.measured: float | None = None

    def look_up(self, records: RecordSource) -> Missing:
        """As that of :class:`UnitSetup`."""
        sim, missing = self._look_up(records)
        if sim is not None:
            self.measured = _number(sim, "rate_fraction", 0)
            if self.measured > 1:
                raise ConfigError(f"record {sim.name}: rate_fraction is {self.measured!r}; measure again")
        return missing

    @property
    def rate_fraction(self) -> float:
        """Share of the slower memory's own rate that transfers of scattered tokens reach, measured."""
        return _known(self.measured)


@dataclass(frozen=True)
class HubCommandClocks:
    """What the record of a hub says of a command of its processing unit.

    Attributes
    ----------
    words, clocks : :class:`float`
        Words of the measured vector, and the clocks of the command on it.
    per_word : :class:`float`
        Clocks that a further word takes: between the measured vector and a shorter one.
    """

    words: float
    clocks: float
    per_word: float


class HubSetup(_Beside):
    """The hub of a module of AiM memories: what its extra processing unit takes."""

    unit = "pim-hub"

    def __init__(self, name: str, preset: str) -> None:
        super().__init__(name, preset, pim_hub.PRESETS)
        self.clock_hz = self.config.clock_mhz * 1e6
        self.measured: dict[str, HubCommandClocks] | None = None

    def look_up(self, records: RecordSource) -> Missing:
        """As that of :class:`UnitSetup`; areas are not looked up."""
        self.measured = None
        sim, missing = self._look_up(records)
        if sim is not None:
            commands = sim.results.get("commands")
            if not isinstance(commands, dict) or not set(pim_hub.EPU_COMMANDS) <= commands.keys():
                raise ConfigError(f"record {sim.name}: no clocks of {', '.join(pim_hub.EPU_COMMANDS)}; measure again")
            self.records, self.measured = [sim], {}
            for op in pim_hub.EPU_COMMANDS:
                words, clocks, per_word = (_number(sim, f"commands.{op}.{key}", 0) for key in ("words", "cycles",
                                                                                              "clocks_per_word"))
                self.measured[op] = HubCommandClocks(words, clocks, per_word)
        return missing

    def seconds(self, op: str, elements: float, times: float = 1) -> float:
        """Of a command on a vector of ``elements``, ``times`` times."""
        known = _known(self.measured)[op]
        words = -(-elements // self.config.lanes)
        clocks = max(known.clocks + (words - known.words) * known.per_word, 0.0)
        return times * clocks / self.clock_hz if elements else 0.0


class DispatcherSetup(_Beside):
    """The dispatcher of a module's commands.

    Attributes
    ----------
    command_s : :class:`float`
        Seconds of a command: it issues no more than one in them.
    run_s : :class:`float`
        Seconds of a program beside its commands: from START to the first, and from the last to the message of its end.
    """

    unit = "dpa-dispatcher"

    def __init__(self, name: str, preset: str) -> None:
        super().__init__(name, preset, dpa_dispatcher.PRESETS)
        self.command_s = self.run_s = 0.0

    def look_up(self, records: RecordSource) -> Missing:
        """As that of :class:`UnitSetup`; areas are not looked up."""
        sim, missing = self._look_up(records)
        if sim is not None:
            self.records, clock_hz = [sim], self.config.clock_mhz * 1e6
            self.command_s = 1 / _number(sim, "commands_per_clock", 0) / clock_hz
            self.run_s = (_number(sim, "start_cycles", 0) + _number(sim, "end_cycles", 0)) / clock_hz
        return missing


def _known(measured: Known | None) -> Known:
    assert measured is not None, "look_up() comes first"
    return measured


#: Figures that are never 0.
_POSITIVE = ("beats_per_clock", "fmax_mhz", "area_ge", "merge_utilisation", "rate_fraction", "commands_per_clock",
             "clocks_per_word")


def _number(record: Record, key: str, least: float) -> float:
    """A number of the results; ``key`` may lead through groups (``commands.SOFTMAX.cycles``)."""
    value: Any = record.results
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) \
            or value < least or (key.rsplit(".", 1)[-1] in _POSITIVE and value <= 0):
        raise ConfigError(f"record {record.name}: {key} is {value!r}; measure again")
    return float(value)
