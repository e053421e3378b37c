"""The result that all timers of traces share."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...constraints.memory import Memory
from .energy import energy_pj

__all__ = ["TraceTiming"]


@dataclass
class TraceTiming:
    """Time of a program or trace.

    Attributes
    ----------
    cycles : cycles until the last part is complete
    commands : issued commands by name, row commands and refreshes included, summed over the channels
    """

    memory: Memory = field(repr=False)
    cycles: int
    commands: dict[str, int]

    @property
    def time_ns(self) -> float:
        return self.cycles * self.memory.clock_ps * 1e-3

    @property
    def energy_pj(self) -> dict[str, float]:
        """By component; empty if the memory file states no energy."""
        return energy_pj(self.commands, self.memory)
