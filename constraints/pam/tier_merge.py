"""Parameters of the last level of PAM's attention: one reduction unit that merges the results of the memory tiers.

Source: PAM (MICRO 2025) section 5.2.2 and Algorithm 1: the reduction over H, D and S runs on the units of HBM. It is
this project's choice that m comes in other formats and is widened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import NumericResult, Port, Row, Trial, Unit, UnitConfig, Workload
from ..core.document import Strict
from ..core.errors import ConfigError
from ..core.formats import FORMATS
from .reduction_tree import merger, merger_ports
from .ru import PRESETS as RU_PRESETS
from .ru import UNIT as RU
from .ru import PamRuConfig

__all__ = [
    "DataKind",
    "PRESETS",
    "UNIT",
    "DecodeCase",
    "DecodeMerge",
    "DecodeResult",
    "DecodeTier",
    "DecodeWorkload",
    "PamTierMergeConfig",
    "parse_shares",
]

#: Kinds of data: scores of unit variance; all scores equal; one key far above the rest; scores of plus and minus 65504.
DataKind = Literal["normal", "equal", "dominant", "extreme"]


class PamTierMergeConfig(UnitConfig):
    """Parameters of the generator: ``unit`` with a source for each tier, whose m is in the tier's format."""

    unit: PamRuConfig = Key(default=merger(RU_PRESETS["pam-hbm"], 3), description="the reduction unit")
    hbm_score_format: Literal["fp32", "fp16", "bf16"] = Key(default="fp32", description="format of m from source_0")
    ddr_score_format: Literal["fp32", "fp16", "bf16"] = Key(default="fp16", description="format of m from source_1")
    ssd_score_format: Literal["fp32", "fp16", "bf16"] = Key(default="fp32", description="format of m from source_2")

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

    def ports(self) -> tuple[Port, ...]:
        return merger_ports(self.unit, self.unit.sources)


#: On the reduction units of HBM, with the formats of the tiers' presets.
PRESETS: dict[str, PamTierMergeConfig] = {"pam": PamTierMergeConfig()}


def parse_shares(text: str) -> tuple[int, int, int]:
    """``HBM:DDR:SSD``: three whole numbers, at least one of them not 0."""
    parts = text.split(":")
    if len(parts) != 3 or not all(part.isdigit() and len(part) < 8 for part in parts):
        raise ConfigError(f"shares must be HBM:DDR:SSD, three whole numbers such as 12:3:1, not '{text}'")
    shares = int(parts[0]), int(parts[1]), int(parts[2])
    if not any(shares):
        raise ConfigError(f"shares must be three numbers of at least 0, not all 0, not {text}")
    return shares


class DecodeWorkload(Workload):
    """A decode step of attention over all tiers."""

    tokens: int = Key(default=512, ge=1, le=1 << 30, description="tokens of the measured step")
    head_dim: int = Key(default=128, ge=1, le=1 << 16, description="head dimension")
    shares: str = Key(default="12:3:1", description="proportions of tokens in HBM, DDR and SSD")
    data: DataKind = Key(default="normal", description="kind of scores")

    def check(self, config: PamTierMergeConfig) -> None:
        parse_shares(self.shares)
        config.unit.check_head_dim(self.head_dim)


class DecodeTier(Strict):
    """A tier's part of a decode step, from the first command of its memory on."""

    tokens: int = Key(description="in the tier")
    clock_mhz: float = Key(description="its clock")
    memory_time_ns: float = Key(description="of the memory's commands alone")
    local_cycles: int = Key(description="until its last beat of K and V")
    reduction_cycles: int = Key(description="from there to its result")
    cycles: int = Key(description="until its result, in its own clock")
    stall_cycles: int = Key(description="most clocks in which a stream of K and V waited")
    utilisation: float = Key(description="beats of K and V of the busiest stream over `cycles`")
    local_ns: float = Key(description="`local_cycles` in ns")
    time_ns: float = Key(description="`cycles` in ns")


class DecodeMerge(Strict):
    """The last level's part of a decode step."""

    clock_mhz: float = Key(description="its clock")
    end_cycle: int = Key(description="cycle in which the last beat of the result leaves")
    cycles: int = Key(description="from the last tier's result on")
    time_ns: float = Key(description="from the first command of a memory to the last result beat")


class DecodeCase(Strict):
    """A decode step that was simulated."""

    tokens: int = Key(description="of the step")
    shares: str = Key(description="proportions of tokens in HBM, DDR and SSD")
    data: str = Key(description="kind of scores")
    queries: int = Key(default=1, description="queries that share the tokens")
    time_ns: float = Key(description="from the first command of a memory to the last result beat")
    max_abs_error: float = Key(description="against attention in binary64")


class DecodeResult(NumericResult):
    """Measurements of the bench of ``pam-tier-merge``."""

    queries: int = Key(default=1, description="queries of the measured step, which share its tokens")
    cycles: int = Key(description="of the merge's clock, from the first command of a memory to the last result beat")
    time_ns: float = Key(description="the same in ns")
    reduction_ns: float = Key(description="from the last beat of K and V that any tier takes to the last result beat")
    reduction_share: float = Key(description="`reduction_ns` over `time_ns`")
    max_abs_error: float = Key(description="of the output against attention in binary64")
    tiers: dict[str, DecodeTier] = Key(description="each tier with tokens, from the first command of its memory on")
    merge: DecodeMerge = Key(description="the last level")
    cases: list[DecodeCase] = Key(description="all steps of all runs")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            *(
                (
                    name,
                    f"{tier.tokens} tokens: {tier.cycles} cycles at {tier.clock_mhz:g} MHz ({tier.time_ns:.0f} ns; the "
                    f"memory takes {tier.memory_time_ns:.0f} ns), {tier.reduction_cycles} of them after the last K and V",
                )
                for name, tier in self.tiers.items()
            ),
            ("decode step", f"{self.time_ns:.0f} ns, {100 * self.reduction_share:.2f} % after the last K and V"),
        ]


UNIT = Unit(
    "pam-tier-merge",
    "last level: merges the results of HBM, DDR and SSD; its bench is a decode step over all three",
    "PAM (MICRO 2025) section 5.2.2",
    module="pam_tier_merge",
    config=PamTierMergeConfig,
    presets=PRESETS,
    generator="bankside.gen.pam.tier_merge:PamTierMerge",
    model="bankside.models.pam.compositions:tier_merge",
    bench="bankside.cosim.pam.tier_merge:bench",
    page="docs/pam/compositions.md",
    workload=DecodeWorkload,
    result=DecodeResult,
    published=(),
    trial=Trial(
        {
            **RU.trial.within("unit"),
            "unit.sources": 3,
            "hbm_score_format": "bf16",
            "ddr_score_format": "bf16",
            "ssd_score_format": "bf16",
        },
        {"tokens": 12, "head_dim": 8},
    ),
)
