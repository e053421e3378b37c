"""Area of units on a DRAM die, from gate equivalents."""

from __future__ import annotations

from dataclasses import dataclass

from ...constraints.core.document import load
from ...constraints.core.errors import ConfigError, nearest
from ...constraints.core.workspace import kept
from ...constraints.systems import NODES, DieBudget, Nodes

__all__ = ["DieArea", "die_area", "load_nodes", "logic_area"]


@kept
def load_nodes() -> Nodes:
    """The built-in table of logic processes."""
    return load(NODES, Nodes, "a table of process nodes")


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
        Area of all units over the area of the die.
    with_other_percent : pair of :class:`float`
        The same with ``other`` added, for comparison with ``budget_percent``. ``other`` is the measured reduction units
        of the die if there are any, else the published area.
    placed_percent : pair of :class:`float`
        ``with_other_percent`` with both ends at the customary placement utilisation: only the NAND2 differs.
    reduction_mm2 : pair of :class:`float` or None
        The die's reduction units, measured, in the DRAM process.
    published_unit_mm2, published_units_percent, budget_percent, budget_mm2, die_mm2 : :class:`float`
        The paper's figures.
    """

    unit_ge: float
    units_per_die: int
    unit_mm2: tuple[float, float]
    units_mm2: tuple[float, float]
    die_percent: tuple[float, float]
    with_other_percent: tuple[float, float]
    placed_percent: tuple[float, float]
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
    reduction_mm2: tuple[float, float] | None = None

    @property
    def verdict(self) -> str:
        """``within``, ``over`` or ``undecided`` (the band straddles the budget)."""
        low, high = self.with_other_percent
        return "within" if high <= self.budget_percent else "over" if low > self.budget_percent else "undecided"


def logic_area(ge: float, node: str, nodes: Nodes | None = None) -> tuple[float, float]:
    """Low and high end of the area, in mm2, of ``ge`` gate equivalents as placed in a logic process. A gate equivalent
    takes a NAND2's area over the placement utilisation. The low end combines the small NAND2 with the full utilisation.

    Raises
    ------
    :exc:`ConfigError`
        If the node is unknown.
    """
    nodes = nodes or load_nodes()
    if node not in nodes.nodes:
        raise ConfigError(nearest("logic node", node, nodes.nodes))
    nand2, fill = nodes.nodes[node].nand2_um2, nodes.placement_utilisation
    return ge * nand2.low / fill.high * 1e-6, ge * nand2.high / fill.low * 1e-6


def die_area(
    unit_ge: float, budget: DieBudget, nodes: Nodes | None = None, reduction_ge: float | None = None
) -> DieArea:
    """Area on a DRAM die of ``budget.units_per_die`` units of ``unit_ge`` gate equivalents, and of its reduction units
    of ``reduction_ge``. Without ``reduction_ge`` the published area of the parts beside the units counts.

    A unit takes :func:`logic_area` times the density penalty.

    Raises
    ------
    :exc:`ConfigError`
        If the budget names an unknown logic node.
    """
    nodes = nodes or load_nodes()
    low, high = (mm2 * budget.density_penalty for mm2 in logic_area(1.0, budget.logic_node, nodes))
    count, die = budget.units_per_die, budget.die_mm2
    node = nodes.nodes[budget.logic_node]

    def pair(ge: float, scale: float = 1.0) -> tuple[float, float]:
        return ge * low * scale, ge * high * scale

    def placed(band: tuple[float, float]) -> float:
        """The low end at the utilisation of the high end."""
        return band[0] * nodes.placement_utilisation.high / nodes.placement_utilisation.low

    units = pair(unit_ge * count)
    reduction = None if reduction_ge is None else pair(reduction_ge * budget.reduction_units)
    other = (budget.other_mm2, budget.other_mm2) if reduction is None else reduction
    return DieArea(
        unit_ge=unit_ge,
        units_per_die=count,
        unit_mm2=pair(unit_ge),
        units_mm2=units,
        die_percent=(100 * units[0] / die, 100 * units[1] / die),
        with_other_percent=(100 * (units[0] + other[0]) / die, 100 * (units[1] + other[1]) / die),
        placed_percent=(
            100 * (placed(units) + (other[0] if reduction is None else placed(reduction))) / die,
            100 * (units[1] + other[1]) / die,
        ),
        other=budget.other if reduction is None else f"{budget.reduction_units} reduction units, measured",
        other_mm2=budget.other_mm2,
        published_unit_mm2=budget.reference_unit_mm2,
        published_units_percent=100 * count * budget.reference_unit_mm2 / die,
        die_mm2=die,
        budget_mm2=die * budget.budget_percent / 100,
        budget_percent=budget.budget_percent,
        logic_node=budget.logic_node,
        density_penalty=budget.density_penalty,
        source=f"{node.source}; {nodes.placement_source}; {budget.source}",
        reduction_mm2=reduction,
    )
