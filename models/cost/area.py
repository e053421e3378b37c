"""Area of units on a DRAM die, from gate equivalents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ...constraints.document import load
from ...constraints.errors import ConfigError, nearest
from ...constraints.systems import NODES, DieBudget, Nodes

__all__ = ["DieArea", "die_area", "load_nodes"]


@lru_cache(maxsize=1)
def load_nodes() -> Nodes:
    """The built-in table of logic processes."""
    return load(NODES, Nodes)


@dataclass(frozen=True)
class DieArea:
    """Units on one DRAM die, against the published budget; pairs are the (low, high) ends of a band.

    Attributes
    ----------
    unit_ge : :class:`float`
        Measured gate equivalents of one unit.
    unit_mm2, units_mm2 : pair of :class:`float`
        One unit and all units of the die, in the DRAM process.
    die_percent : pair of :class:`float`
        All units over the die.
    with_other_percent : pair of :class:`float`
        The same with the published area of ``other`` added, which is what ``budget_percent`` covers.
    published_unit_mm2, published_units_percent, budget_percent, budget_mm2, die_mm2 : :class:`float`
        The paper's figures.
    """

    unit_ge: float
    units_per_die: int
    unit_mm2: tuple[float, float]
    units_mm2: tuple[float, float]
    die_percent: tuple[float, float]
    with_other_percent: tuple[float, float]
    other: str
    other_mm2: float
    published_unit_mm2: float
    published_units_percent: float
    die_mm2: float
    budget_mm2: float
    budget_percent: float
    logic_node: str
    density_penalty: float
    source: str

    @property
    def verdict(self) -> str:
        """``within``, ``over`` or ``undecided`` (the band straddles the budget)."""
        low, high = self.with_other_percent
        return "within" if high <= self.budget_percent else "over" if low > self.budget_percent else "undecided"


def die_area(unit_ge: float, budget: DieBudget, nodes: Nodes | None = None) -> DieArea:
    """Area of ``budget.units_per_die`` units of ``unit_ge`` gate equivalents on a DRAM die.

    One unit takes ``unit_ge * NAND2 of the logic node / placement utilisation * density penalty``. The low end of the
    band combines the small NAND2 with the full utilisation, the high end the large one with the low utilisation.

    Raises
    ------
    :exc:`ConfigError`
        If the budget names an unknown logic node.
    """
    nodes = nodes or load_nodes()
    if budget.logic_node not in nodes.nodes:
        raise ConfigError(nearest("logic node", budget.logic_node, nodes.nodes))
    node = nodes.nodes[budget.logic_node]
    fill = nodes.placement_utilisation
    per_ge = (node.nand2_um2.low / fill.high, node.nand2_um2.high / fill.low)
    unit = tuple(unit_ge * um2 * budget.density_penalty * 1e-6 for um2 in per_ge)
    count, die = budget.units_per_die, budget.die_mm2

    def pair(scale: float, offset: float = 0.0) -> tuple[float, float]:
        return unit[0] * scale + offset, unit[1] * scale + offset

    return DieArea(
        unit_ge=unit_ge, units_per_die=count, unit_mm2=pair(1), units_mm2=pair(count),
        die_percent=pair(100 * count / die),
        with_other_percent=pair(100 * count / die, 100 * budget.other_mm2 / die), other=budget.other,
        other_mm2=budget.other_mm2, published_unit_mm2=budget.reference_unit_mm2,
        published_units_percent=100 * count * budget.reference_unit_mm2 / die, die_mm2=die,
        budget_mm2=die * budget.budget_percent / 100, budget_percent=budget.budget_percent,
        logic_node=budget.logic_node, density_penalty=budget.density_penalty,
        source=f"{node.source}; {nodes.placement_source}; {budget.source}")
