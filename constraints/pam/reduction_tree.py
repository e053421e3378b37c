"""Parameters of a tree of PAM's reduction units: many partial results in, one out.

Source: PAM (MICRO 2025) section 5.2.2 for places and numbers of reduction units. The logic die of an HBM stack has 128,
so each of its 16 channels has 8. The central buffer of a DIMM has 4, and an SSD's controller has 8. The paper leaves
their connection open. This project connects them to a tree whose units have as few inputs as that number of units
allows.
"""

from __future__ import annotations

from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import Port, Trial, Unit, UnitConfig, Workload
from ..core.errors import ConfigError
from .ru import PRESETS as RU_PRESETS
from .ru import UNIT as RU
from .ru import MergeResult, PamRuConfig

__all__ = [
    "PRESETS",
    "UNIT",
    "PamReductionTreeConfig",
    "TreeResult",
    "TreeWorkload",
    "level_sizes",
    "merger",
    "merger_ports",
]


def level_sizes(inputs: int, fan_in: int) -> list[list[int]]:
    """Inputs of every unit, level by level until one result is left: as few units as possible, as equal as possible.

    A result that stands alone passes its level without a unit; it is a 1 here.
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


def merger_ports(unit: PamRuConfig, sources: int) -> tuple[Port, ...]:
    """Ports of hardware that merges the results of ``sources`` units ``unit`` into one result like theirs."""
    return unit.command_port("merge"), *merger(unit, 2).source_ports(sources), unit.result_port()


class PamReductionTreeConfig(UnitConfig):
    """Parameters of the generator: ``inputs`` partial results merged by units of at most ``fan_in`` sources.

    Each unit is ``unit`` with the ``sources`` that its place in the tree needs, and with ``source_lanes`` equal to
    ``lanes``.
    """

    unit: PamRuConfig = Key(default=RU_PRESETS["pam-hbm"], description="each reduction unit, except for its sources")
    inputs: int = Key(default=16, ge=1, le=4096, description="input streams, each the result of a reduction unit")
    fan_in: int = Key(default=4, ge=2, le=64, description="most sources of a unit")

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

    def ports(self) -> tuple[Port, ...]:
        return merger_ports(self.unit, self.inputs)


#: The smallest ``fan_in`` with which the published number of units suffices: 5 of the 8 units of a channel (3 would
#: need 9), the 4 of the central buffer, one for the 8 of an SSD controller.
PRESETS: dict[str, PamReductionTreeConfig] = {
    "pam-hbm": PamReductionTreeConfig(),
    "pam-ddr": PamReductionTreeConfig(unit=RU_PRESETS["pam-ddr"], inputs=32, fan_in=11),
    "pam-ssd": PamReductionTreeConfig(unit=RU_PRESETS["pam-ssd"], inputs=8, fan_in=8),
}


class TreeWorkload(Workload):
    """Partial results, one of every input."""

    head_dim: int = Key(default=128, ge=1, le=1 << 16, description="head dimension")

    def check(self, config: PamReductionTreeConfig) -> None:
        if not config.levels:
            raise ConfigError("inputs must be at least 2: a tree of one input has no unit to simulate")
        config.unit.check_head_dim(self.head_dim)


class TreeResult(MergeResult):
    """Measurements of the bench of ``pam-reduction-tree``."""

    units: int = Key(description="reduction units")
    levels: int = Key(description="levels of the tree")
    inner_cycles: int = Key(description="cycles of a level that is not the last")


UNIT = Unit(
    "pam-reduction-tree",
    "tree of reduction units: logic die, central buffer",
    "PAM (MICRO 2025) section 5.2.2",
    module="pam_reduction_tree",
    config=PamReductionTreeConfig,
    presets=PRESETS,
    generator="bankside.gen.pam.reduction_tree:PamReductionTree",
    model="bankside.models.pam.compositions:reduction_tree",
    bench="bankside.cosim.pam.compositions:tree_bench",
    page="docs/pam/compositions.md",
    workload=TreeWorkload,
    result=TreeResult,
    published=(),
    trial=Trial({**RU.trial.within("unit"), "inputs": 3, "fan_in": 2}, {"head_dim": 8}),
)
