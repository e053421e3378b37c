"""Cost of a controller's die, package and development, and of owning a system: closed forms of CENT's cost script."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...constraints.core.document import load
from ...constraints.core.errors import ConfigError
from ...constraints.core.workspace import kept
from ...constraints.systems.cost import CENT_COST, ControllerCostSpec, CostSpec, DevelopmentSpec

__all__ = [
    "ControllerCost",
    "controller_cost",
    "development_usd",
    "hourly_usd",
    "load_costs",
    "system_usd",
    "tokens_per_usd",
]


@kept
def load_costs() -> CostSpec:
    """The built-in prices."""
    return load(CENT_COST, CostSpec, "a file of prices")


@dataclass(frozen=True)
class ControllerCost:
    """Cost of one controller.

    Attributes
    ----------
    area_mm2 : area of the die
    good : share of dies without a defect
    dies : dies of a wafer, a fraction included
    die_usd, package_usd, nre_usd : die, package, share of the development
    """

    area_mm2: float
    good: float
    dies: float
    die_usd: float
    package_usd: float
    nre_usd: float

    @property
    def usd(self) -> float:
        return self.die_usd + self.package_usd + self.nre_usd


def development_usd(spec: DevelopmentSpec) -> dict[str, float]:
    """Costs that occur once, overhead included, by part."""
    return {name: usd * spec.overhead for name, usd in spec.parts_usd.items()}


def controller_cost(
    costs: CostSpec | None = None, *, volume: float | None = None, pnm_mm2: float | None = None
) -> ControllerCost:
    """Cost of a controller. ``pnm_mm2`` replaces the published area of the units near memory with a measured one.

    Raises
    ------
    :exc:`ConfigError`
        If the die is larger than the wafer, or the volume is not positive.
    """
    costs = costs or load_costs()
    spec = costs.controller
    volume = costs.nre.volume if volume is None else volume
    if volume <= 0:
        raise ConfigError(f"the volume must be positive, not {volume:g}")
    parts = spec.parts_mm2 | ({} if pnm_mm2 is None else {"pnm": pnm_mm2})
    area = sum(parts.values())
    dies = _dies(spec, area)
    good = (1 + area * spec.defects_per_mm2 / spec.clustering) ** -spec.clustering
    die = spec.wafer_usd / dies / good
    package = die * spec.package_share / (1 - spec.package_share)
    return ControllerCost(area, good, dies, die, package, sum(development_usd(costs.nre).values()) / volume)


def _dies(spec: ControllerCostSpec, area: float) -> float:
    dies = (
        math.pi * (spec.wafer_mm / 2) ** 2 / area - math.pi * spec.wafer_mm / math.sqrt(2 * area) if area > 0 else 0.0
    )
    if dies < 1:
        raise ConfigError(f"a die of {area:g} mm2 does not fit a wafer of {spec.wafer_mm:g} mm")
    return dies


def system_usd(
    devices: int, gigabytes: float, costs: CostSpec | None = None, *, pnm_mm2: float | None = None
) -> dict[str, float]:
    """Price of a system of CXL devices by part."""
    costs = costs or load_costs()
    return {
        "host": costs.system.host_usd,
        "memory": gigabytes * costs.system.memory_usd_per_gb,
        "controllers": devices * controller_cost(costs, pnm_mm2=pnm_mm2).usd,
        "switch": costs.system.switch_usd,
    }


def hourly_usd(price_usd: float, power_w: float, costs: CostSpec | None = None) -> float:
    """Cost of an hour: the price spread over the years of use, and electricity."""
    costs = costs or load_costs()
    return price_usd / costs.operation.hours + power_w * 1e-3 * costs.operation.usd_per_kwh


def tokens_per_usd(tokens_per_s: float, usd_per_h: float) -> float:
    return tokens_per_s * 3600 / usd_per_h
