"""Prices: of a die, its package and its development, of a system, and of operating it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from ..core.document import Strict

__all__ = [
    "CENT_COST",
    "ControllerCostSpec",
    "CostSpec",
    "DevelopmentSpec",
    "OperationSpec",
    "PublishedCost",
    "SystemPriceSpec",
]

#: Prices of CENT and of the GPUs that it is compared with.
CENT_COST = Path(__file__).parents[1] / "cent" / "cost.yaml"


def _positive(description: str, **more: Any) -> Any:
    return Field(gt=0, le=1e12, strict=False, description=description, **more)


class ControllerCostSpec(Strict):
    """A die and its package."""

    wafer_usd: float = _positive("price of a wafer")
    wafer_mm: float = _positive("diameter of a wafer")
    defects_per_mm2: float = _positive("defects")
    clustering: float = _positive("exponent of the yield: (1 + area x defects / clustering) ^ -clustering")
    parts_mm2: dict[str, float] = Field(description="area of the die by part")
    process: str = Field(description="process of the die, a key of nodes.yaml")
    package_share: float = Field(gt=0, lt=1, strict=False, description="package over the cost of die and package")
    source: str


class DevelopmentSpec(Strict):
    """Costs that occur once."""

    overhead: float = _positive("factor on all parts")
    parts_usd: dict[str, float]
    volume: int = Field(ge=1, description="units over which they are spread")
    source: str


class SystemPriceSpec(Strict):
    """Prices of the parts of a system."""

    host_usd: float = _positive("processor")
    memory_usd_per_gb: float = _positive("PIM memory")
    switch_usd: float = _positive("switch")
    devices: int = Field(ge=1, description="devices of the published system")
    gpu_usd: float = _positive("GPU")
    gpus: int = Field(ge=1, description="GPUs of the published system")
    source: str


class OperationSpec(Strict):
    """Operation."""

    hours: float = _positive("hours over which prices are spread")
    usd_per_kwh: float = _positive("price of electricity")
    source: str


class PublishedCost(Strict):
    """Published costs of an hour, for claims that are computed with them."""

    cent_usd_per_h: float = _positive("32 devices")
    gpu_usd_per_h: float = _positive("four GPUs")
    cent_rental_usd_per_h: float = _positive("32 devices, rented")
    gpu_rental_usd_per_h: float = _positive("four GPUs, rented")
    gpu_power_w: float = _positive("measured power of four GPUs")
    source: str


class CostSpec(Strict):
    """Prices of CENT and of the GPUs that it is compared with."""

    controller: ControllerCostSpec
    nre: DevelopmentSpec
    system: SystemPriceSpec
    operation: OperationSpec
    published: PublishedCost
