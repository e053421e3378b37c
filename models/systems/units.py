"""Processing units of a system: their configuration, and what measurement records say of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...constraints.document import validate
from ...constraints.errors import ConfigError, nearest
from ...constraints.memory import Memory
from ...constraints.records import Record, config_hash
from ...constraints.systems import UnitChoice
from ...constraints.units.pam_pu import PRESETS, PamPuConfig
from .results import RecordSource

__all__ = ["UNIT", "Measured", "UnitSetup"]

UNIT = "pam-pu"


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

    def look_up(self, records: RecordSource, head_dim: int) -> list[tuple[str, tuple[str, dict[str, Any]]]]:
        """Take the measurements from records; what is missing is returned as commands and needs.

        Raises
        ------
        :exc:`ConfigError`
            If a record holds no sensible number.
        """
        conditions = {"head_dim": head_dim}
        sim = records.find(UNIT, self.hash, "sim", **conditions)
        if sim is not None and sim.results.get("beats_per_clock") == 0:
            # The measured step had no token; that of the bench's default may exist beside it.
            sim = records.find(UNIT, self.hash, "sim", **conditions, tokens=512)
        synth = records.find(UNIT, self.hash, "synth")
        if sim is None or synth is None:
            # Settings that a preset already has need not be repeated
            chosen = "".join(f" --set {key}={value}" for key, value in sorted(self.choice.settings.items()))
            which = f"{UNIT} --preset {self.choice.preset}{chosen}"
            missing = [(f"bankside sim {which} --head-dim {head_dim}", ("sim", conditions), sim),
                       (f"bankside synth {which}", ("synth", {}), synth)]
            return [entry[:2] for entry in missing if entry[2] is None]
        self.measured = Measured(
            beats_per_clock=_number(sim, "beats_per_clock", 0), softmax_gap_cycles=_number(sim, "softmax_gap_cycles", 0),
            drain_cycles=_number(sim, "drain_cycles", 0), area_ge=_number(synth, "area_ge", 0),
            fmax_mhz=_number(synth, "fmax_mhz", 0))
        self.records = [sim, synth]
        return []

    @property
    def known(self) -> Measured:
        """The measurements, after :meth:`look_up`."""
        assert self.measured is not None, "look_up() comes first"
        return self.measured

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


def _number(record: Record, key: str, least: float) -> float:
    value = record.results.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) \
            or value < least or (key in ("beats_per_clock", "fmax_mhz", "area_ge") and value <= 0):
        raise ConfigError(f"record {record.name}: {key} is {value!r}; measure again")
    return float(value)
