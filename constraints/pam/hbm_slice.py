"""Parameters of several of PAM's bank groups whose results are merged: a channel of HBM, a DIMM.

Source: PAM (MICRO 2025) section 5.2 and Table 1. The 64 banks of an HBM channel have 64 processing and 16 reduction
units; a DIMM has 128 and 32. The units that merge the groups' results are in the logic die or the central buffer.
"""

from __future__ import annotations

from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import Trial, Unit
from .bank_group import PRESETS as GROUP_PRESETS
from .bank_group import SMALL, CompositionResult, CompositionWorkload, PamBankGroupConfig
from .reduction_tree import PRESETS as TREE_PRESETS
from .reduction_tree import PamReductionTreeConfig

__all__ = ["PRESETS", "UNIT", "PamSliceConfig"]


class PamSliceConfig(PamBankGroupConfig):
    """Parameters of the generator of a slice: ``groups`` bank groups and the tree that merges their results.

    The units of the tree are ``reduction`` with other ``sources``, see :class:`PamReductionTreeConfig`.
    """

    groups: int = Key(default=16, ge=1, le=1024, description="bank groups")
    fan_in: int = Key(default=4, ge=2, le=64, description="most sources of a unit of the tree")

    @model_validator(mode="after")
    def _check_tree(self) -> PamSliceConfig:
        self.tree.levels  # noqa: B018  (its units must be possible)
        return self

    @property
    def group(self) -> PamBankGroupConfig:
        """Each bank group."""
        return PamBankGroupConfig(processing=self.processing, reduction=self.reduction)

    @property
    def tree(self) -> PamReductionTreeConfig:
        """The tree that merges the groups' results; it has no units if there is one group."""
        return PamReductionTreeConfig(unit=self.reduction, inputs=self.groups, fan_in=self.fan_in)

    @property
    def units(self) -> int:
        return self.groups * self.reduction.sources


def _slice(name: str) -> PamSliceConfig:
    group, tree = GROUP_PRESETS[name], TREE_PRESETS[name]
    return PamSliceConfig(
        processing=group.processing, reduction=group.reduction, groups=tree.inputs, fan_in=tree.fan_in
    )


#: A channel of an HBM stack with the units of the logic die that serve it; a DIMM with its central buffer.
PRESETS: dict[str, PamSliceConfig] = {name: _slice(name) for name in TREE_PRESETS if name in GROUP_PRESETS}


UNIT = Unit(
    "pam-hbm-slice",
    "bank groups of a channel (or DIMM) and the tree that merges their results",
    "PAM (MICRO 2025) section 5.2.2",
    module="pam_hbm_slice",
    config=PamSliceConfig,
    presets=PRESETS,
    generator="bankside.gen.pam.hbm_slice:PamSlice",
    model="bankside.models.pam.compositions:slice_attention",
    bench="bankside.cosim.pam.compositions:bench",
    page="docs/pam/compositions.md",
    workload=CompositionWorkload,
    result=CompositionResult,
    published=(),
    trial=Trial({**SMALL, "groups": 2, "fan_in": 2}, {"tokens": 11, "head_dim": 8}),
)
