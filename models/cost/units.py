"""Area of a synthesised unit in other processes: its logic in one, its memories as macros in another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .area import load_nodes, logic_area
from .memories import LEAST_BITS, buffer_cost, macro_ports

__all__ = ["UnitArea", "unit_area"]


@dataclass(frozen=True)
class UnitArea:
    """Estimates for one unit.

    Attributes
    ----------
    logic_ge : :class:`float`
        Measured gate equivalents without the memories.
    logic_mm2 : pair of :class:`float`
        Low and high end: bare cells of the small NAND2, and placed cells of the large one.
    memories_mm2 : :class:`float`
    """

    logic_ge: float
    logic_mm2: tuple[float, float]
    memories_mm2: float

    @property
    def mm2(self) -> float:
        """Area at the (geometric) middle of the band of the logic."""
        return math.sqrt(self.logic_mm2[0] * self.logic_mm2[1]) + self.memories_mm2

    @property
    def tolerance(self) -> float:
        """The high end over :attr:`mm2`, less one."""
        return (self.logic_mm2[1] + self.memories_mm2) / self.mm2 - 1


def unit_area(
    results: Mapping[str, Any], logic: str, memories: str, *, ports: int | Mapping[str, int] | None = None
) -> UnitArea:
    """Area from the results of a synthesis. Logic takes its gate equivalents in the process ``logic``. Memories take
    the macro model in the process ``memories``, with their own ports or with ``ports``. A mapping gives ``ports`` by the
    beginning of a memory's name (:func:`~.memories.register_ports`). Memories below 512 bits take their gate equivalents
    in ``memories``.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown process, or a memory that is no buffer.
    """
    gates = float(results["area_ge"]) - float(results["memory_ge_estimate"] or 0.0)
    macros = sum(
        buffer_cost(m["bits"], m["width"], macro_ports(m, ports), memories).mm2
        for m in results["memories"]
        if m["bits"] >= LEAST_BITS
    )
    small = sum(m["area_um2_estimate"] / results["nand2_um2"] for m in results["memories"] if m["bits"] < LEAST_BITS)
    if small:
        nand2 = load_nodes().nodes[memories].nand2_um2
        macros += small * math.sqrt(nand2.low * nand2.high) * 1e-6
    return UnitArea(gates, logic_area(gates, logic), macros)
