"""Parameters of a tree of PAM's reduction units: many partial results in, one out.

Source: PAM (MICRO 2025) section 5.2.2 for where reduction units are and how many: 128 in the logic die of an HBM stack,
so 8 for each of its 16 channels; 4 in the central buffer of a DIMM; 8 in an SSD's controller. How they are connected is
this project's choice (the paper leaves it open): a tree whose units have as few inputs as that number of units allows.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from ..document import Strict
from .pam_ru import PRESETS as RU_PRESETS
from .pam_ru import PamRuConfig

__all__ = ["PRESETS", "PamReductionTreeConfig", "level_sizes", "merger"]


def level_sizes(inputs: int, fan_in: int) -> list[list[int]]:
    """Inputs of every unit, level by level until one result is left: as few units as possible, as equal as possible.

    What stands alone passes its level without a unit; it is a 1 here.
    """
    levels: list[list[int]] = []
    while inputs > 1:
        units = -(-inputs // fan_in)
        levels.append([inputs // units + (n < inputs % units) for n in range(units)])
        inputs = units
    return levels


def merger(unit: PamRuConfig, sources: int) -> PamRuConfig:
    """The unit that merges the results of ``sources`` units like it."""
    return PamRuConfig(**{**unit.model_dump(), "sources": sources, "source_lanes": unit.lanes})


class PamReductionTreeConfig(Strict):
    """Parameters of the generator: ``inputs`` partial results merged by units of at most ``fan_in`` sources.

    The units are ``unit`` with as many ``sources`` as their place in the tree needs, and ``source_lanes`` equal to
    ``lanes``.
    """

    unit: PamRuConfig = Field(default=RU_PRESETS["pam-hbm"], description="each reduction unit, but for its sources")
    inputs: int = Field(default=16, ge=1, le=4096, description="input streams, each the result of a reduction unit")
    fan_in: int = Field(default=4, ge=2, le=64, description="sources of a unit at most")

    @model_validator(mode="after")
    def _check(self) -> PamReductionTreeConfig:
        if self.levels:
            merger(self.unit, 2)
        return self

    @property
    def levels(self) -> list[list[int]]:
        """See :func:`level_sizes`."""
        return level_sizes(self.inputs, self.fan_in)

    @property
    def units(self) -> int:
        """Reduction units in all."""
        return sum(size > 1 for sizes in self.levels for size in sizes)

    @property
    def clock_mhz(self) -> float:
        return self.unit.clock_mhz


#: The smallest ``fan_in`` with which the published number of units suffices: 5 of the 8 units of a channel (3 would
#: need 9), the 4 of the central buffer, one for the 8 of an SSD controller.
PRESETS: dict[str, PamReductionTreeConfig] = {
    "pam-hbm": PamReductionTreeConfig(),
    "pam-ddr": PamReductionTreeConfig(unit=RU_PRESETS["pam-ddr"], inputs=32, fan_in=11),
    "pam-ssd": PamReductionTreeConfig(unit=RU_PRESETS["pam-ssd"], inputs=8, fan_in=8),
}
