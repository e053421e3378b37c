"""Parameters of PAM's bank group: processing units beside their banks and one reduction unit.

Source: PAM (MICRO 2025) section 5.2.2: one reduction unit for the four banks of a bank group.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from ..document import Strict
from .pam_pu import PRESETS as PU_PRESETS
from .pam_pu import PamPuConfig
from .pam_ru import PRESETS as RU_PRESETS
from .pam_ru import PamRuConfig

__all__ = ["PRESETS", "PamBankGroupConfig"]


class PamBankGroupConfig(Strict):
    """Parameters of the generator of a bank group: ``reduction.sources`` processing units, all alike.

    What one sends the other must take: formats of O, of l and of m, and elements of a beat.
    """

    processing: PamPuConfig = Field(default=PU_PRESETS["pam-hbm"], description="each processing unit")
    reduction: PamRuConfig = Field(default=RU_PRESETS["pam-hbm"], description="the reduction unit")

    @model_validator(mode="after")
    def _check(self) -> PamBankGroupConfig:
        for sends, takes in (("lanes", "source_lanes"), ("format", "format"), ("acc_format", "acc_format"),
                             ("score_format", "score_format")):
            a, b = getattr(self.processing, sends), getattr(self.reduction, takes)
            if a != b:
                raise ValueError(f"processing.{sends} {a} must be reduction.{takes}, which is {b}")
        return self

    @property
    def units(self) -> int:
        """Processing units in all, one to a bank."""
        return self.reduction.sources

    @property
    def max_head_dim(self) -> int:
        """Largest head dimension that both take."""
        return min(self.processing.max_head_dim, self.reduction.max_head_dim)

    @property
    def clock_mhz(self) -> float:
        return min(self.processing.clock_mhz, self.reduction.clock_mhz)


#: A bank group of an HBM or a DDR die.
PRESETS: dict[str, PamBankGroupConfig] = {
    name: PamBankGroupConfig(processing=PU_PRESETS[name], reduction=RU_PRESETS[name]) for name in ("pam-hbm", "pam-ddr")}
