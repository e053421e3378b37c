"""Parameters of PAM's bank group: processing units beside their banks and one reduction unit.

Source: PAM (MICRO 2025) section 5.2.2: one reduction unit for the four banks of a bank group.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import AttentionWorkload, Field, Layout, MemoryTiming, Port, Row, Trial, Unit, UnitConfig
from .pu import PRESETS as PU_PRESETS
from .pu import UNIT as PU
from .pu import PamPuConfig
from .ru import PRESETS as RU_PRESETS
from .ru import UNIT as RU
from .ru import MergeResult, PamRuConfig

__all__ = [
    "PRESETS",
    "SMALL",
    "UNIT",
    "CompositionResult",
    "CompositionTiming",
    "CompositionWorkload",
    "PamBankGroupConfig",
]


class PamBankGroupConfig(UnitConfig):
    """Parameters of the generator of a bank group: ``reduction.sources`` processing units, all alike.

    The reduction unit must take the beats of a processing unit. So formats of O, l and m must agree, and so must elements
    of a beat and the number of queries.
    """

    processing: PamPuConfig = Key(default=PU_PRESETS["pam-hbm"], description="each processing unit")
    reduction: PamRuConfig = Key(default=RU_PRESETS["pam-hbm"], description="the reduction unit")

    @model_validator(mode="after")
    def _check(self) -> PamBankGroupConfig:
        for sends, takes in (
            ("lanes", "source_lanes"),
            ("format", "format"),
            ("acc_format", "acc_format"),
            ("score_format", "score_format"),
            ("queries", "queries"),
        ):
            a, b = getattr(self.processing, sends), getattr(self.reduction, takes)
            if a != b:
                raise ValueError(f"processing.{sends} {a} must be reduction.{takes}, which is {b}")
        if self.processing.scores:
            raise ValueError("processing.scores must be false: the reduction unit takes no scores")
        return self

    @property
    def units(self) -> int:
        """Processing units in all, one to a bank."""
        return self.reduction.sources

    @property
    def max_head_dim(self) -> int:
        """Largest head dimension that both units take."""
        return min(self.processing.max_head_dim, self.reduction.max_head_dim)

    @property
    def clock_mhz(self) -> float:
        return min(self.processing.clock_mhz, self.reduction.clock_mhz)

    # Ports ------------------------------------------------------------------------------------------------------------

    @property
    def command_layout(self) -> Layout:
        """A step, and the units that get it."""
        return Layout.of(*self.processing.command_layout.fields, self._select)

    @property
    def query_layout(self) -> Layout:
        """A beat of Q, and the units that get it."""
        (query,) = (port for port in self.processing.ports() if port.name == "query")
        return Layout.of(
            *(dataclasses.replace(field, name="data", meaning=query.meaning) for field in query.layout.fields),
            self._select,
        )

    @property
    def _select(self) -> Field:
        return Field("select", self.units, "processing units that get it, a bit for each", self.units)

    def feeds(self) -> tuple[Port, ...]:
        """Streams of K and V: one for each processing unit."""
        (kv,) = (port for port in self.processing.ports() if port.name == "kv")
        return tuple(dataclasses.replace(kv, name=f"kv_{n}") for n in range(self.units))

    def ports(self) -> tuple[Port, ...]:
        return (
            Port("command", "in", self.command_layout, "one decode step"),
            Port("query", "in", self.query_layout, "a beat of Q"),
            self.reduction.command_port("merge"),
            self.reduction.result_port(),
            *self.feeds(),
        )


#: A bank group of an HBM or a DDR die. pam-hbm-gqa4 and pam-hbm-gqa8 have this project's units of several queries.
PRESETS: dict[str, PamBankGroupConfig] = {
    name: PamBankGroupConfig(processing=PU_PRESETS[name], reduction=RU_PRESETS[name])
    for name in ("pam-hbm", "pam-ddr", "pam-hbm-gqa4", "pam-hbm-gqa8")
}


class CompositionWorkload(AttentionWorkload):
    """A decode step of attention, its tokens spread over all processing units."""

    def check(self, config: PamBankGroupConfig) -> None:
        config.reduction.check_head_dim(self.head_dim)


class CompositionTiming(MemoryTiming):
    """The measured step with data that arrive at the cycles of a memory."""

    drain_cycles: int = Key(description="from the last beat of K and V to the last result beat")


class CompositionResult(MergeResult):
    """Measurements of the bench of a composition of processing and reduction units."""

    units: int = Key(description="processing units")
    stall_cycles: int = Key(
        description="most clocks in which a beat that a stream offered within a phase was not taken"
    )
    drain_cycles: int = Key(description="from the last beat of K and V to the last result beat")
    memory_timing: CompositionTiming = Key(description="the same step with data at the cycles of the memory")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [*super().figures(workload), self.memory_timing.row]


#: Small units, two to a group.
SMALL = {**PU.trial.within("processing"), **RU.trial.within("reduction")}

UNIT = Unit(
    "pam-bank-group",
    "processing units of a bank group and their reduction unit",
    "PAM (MICRO 2025) section 5.2.2",
    module="pam_bank_group",
    config=PamBankGroupConfig,
    presets=PRESETS,
    generator="bankside.gen.pam.bank_group:PamBankGroup",
    model="bankside.models.pam.compositions:group_attention",
    bench="bankside.cosim.pam.compositions:bench",
    page="docs/pam/compositions.md",
    workload=CompositionWorkload,
    result=CompositionResult,
    published=(),
    trial=Trial(SMALL, {"tokens": 11, "head_dim": 8}),
)
