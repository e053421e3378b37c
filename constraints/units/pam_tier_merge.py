"""Parameters of the last level of PAM's attention: one reduction unit that merges the results of the memory tiers.

Source: PAM (MICRO 2025) section 5.2.2 and Algorithm 1: the reduction over H, D and S runs on the units of HBM. That m
comes in other formats, and is widened, is this project's choice.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ..document import Strict
from ..formats import FORMATS
from .pam_reduction_tree import merger
from .pam_ru import PRESETS as RU_PRESETS
from .pam_ru import PamRuConfig

__all__ = ["PRESETS", "PamTierMergeConfig"]


class PamTierMergeConfig(Strict):
    """Parameters of the generator: ``unit`` with a source for each tier, whose m is in the tier's format."""

    unit: PamRuConfig = Field(default=merger(RU_PRESETS["pam-hbm"], 3), description="the reduction unit")
    hbm_score_format: Literal["fp32", "fp16", "bf16"] = Field(default="fp32", description="format of m from source_0")
    ddr_score_format: Literal["fp32", "fp16", "bf16"] = Field(default="fp16", description="format of m from source_1")
    ssd_score_format: Literal["fp32", "fp16", "bf16"] = Field(default="fp32", description="format of m from source_2")

    @model_validator(mode="after")
    def _check(self) -> PamTierMergeConfig:
        if self.unit.sources != 3:
            raise ValueError(f"unit.sources must be 3, one for each tier, not {self.unit.sources}")
        for name in self.score_formats:
            fmt, score = FORMATS[name], self.unit.score
            if fmt.precision > score.precision or fmt.exponent_bits > score.exponent_bits:
                raise ValueError(f"unit.score_format {self.unit.score_format} does not hold every number of {name}")
        return self

    @property
    def score_formats(self) -> tuple[str, str, str]:
        return self.hbm_score_format, self.ddr_score_format, self.ssd_score_format

    @property
    def clock_mhz(self) -> float:
        return self.unit.clock_mhz


#: On the reduction units of HBM; the formats are those of the tiers' presets.
PRESETS: dict[str, PamTierMergeConfig] = {"pam": PamTierMergeConfig()}
