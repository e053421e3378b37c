"""Parameters of a processing unit beside a bank whose scores of centroids select the clusters that it then attends to.

Source: STARC, Algorithm 1, for the selection and for the update of the clusters; PAM (MICRO 2025) section 5.2.1 for the
processing unit. Their composition is this project's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import Field, Layout, Port, RateResult, Row, Strict, Trial, Unit, UnitConfig, Workload, memory_port
from ..core.errors import ConfigError
from ..pam.pu import PRESETS as PU_PRESETS
from ..pam.pu import UNIT as PU
from ..pam.pu import PamPuConfig, Step
from .select import UNIT as SELECT
from .select import StarcSelectConfig

__all__ = [
    "PRESETS",
    "UNIT",
    "UPDATE",
    "ClusterUpdate",
    "StarcAttentionConfig",
    "StarcAttentionResult",
    "StarcAttentionWorkload",
]


@dataclasses.dataclass(frozen=True)
class ClusterUpdate:
    """An update of the clusters: ``keys`` new keys are compared with ``clusters`` centroids in each of ``iterations``."""

    keys: int
    clusters: int
    iterations: int

    def steps(self, config: PamPuConfig, head_dim: int) -> list[Step]:
        """Steps of scores of one iteration. A centroid is a query; as few passes over the keys as possible."""
        return [
            dataclasses.replace(step, more=False, scores=True)
            for step in config.group_steps(self.keys, head_dim, self.clusters)
        ]

    def clocks(self, config: PamPuConfig, head_dim: int) -> int:
        """Clocks of all iterations: the multipliers work in each of them. The way from an iteration's last key to its
        last score comes on top."""
        beats = self.keys * config.chunks(head_dim)
        return self.iterations * sum(beats * config.burst_clocks(step.queries) for step in self.steps(config, head_dim))


#: STARC, Algorithm 1 and section IV: every 128 steps the new keys form 128 / 32 clusters, in 15 iterations.
UPDATE = ClusterUpdate(keys=128, clusters=4, iterations=15)


class StarcAttentionConfig(UnitConfig):
    """Parameters of the generator ``starc-attention``: a processing unit and the unit of the selection.

    The selection takes the scores as the processing unit sends them, one query at a time.
    """

    processing: PamPuConfig = Key(
        default=PamPuConfig(**{**PU_PRESETS["pam-hbm"].model_dump(), "scores": True}), description="the processing unit"
    )
    selection: StarcSelectConfig = Key(
        default=StarcSelectConfig(format="fp32", clock_mhz=666.0), description="the unit of the selection"
    )
    steps: int = Key(default=4, ge=1, le=64, description="steps of scores in the processing unit")

    @model_validator(mode="after")
    def _check(self) -> StarcAttentionConfig:
        if not self.processing.scores:
            raise ValueError("processing.scores must be true")
        if self.processing.queries > 1:
            raise ValueError(
                f"processing.queries must be 1, not {self.processing.queries}: a selection is of one query"
            )
        if self.selection.format != self.processing.score_format:
            raise ValueError(
                f"selection.format {self.selection.format} must be processing.score_format, which is "
                f"{self.processing.score_format}"
            )
        return self

    @property
    def clock_mhz(self) -> float:
        return min(self.processing.clock_mhz, self.selection.clock_mhz)

    # Ports -------------------------------------------------------------------------------------------------------

    @cached_property
    def command_layout(self) -> Layout:
        return Layout.of(
            *self.processing.command_layout.fields,
            Field("selects", 1, "with `scores`: they are of clusters of a selection; else they are results"),
        )

    @cached_property
    def size_layout(self) -> Layout:
        return Layout.of(*(field for field in self.selection.cluster_layout.fields if field.name == "size"))

    def ports(self) -> tuple[Port, ...]:
        unit = {port.name: port for port in self.processing.ports()}
        return (
            Port("command", "in", self.command_layout, "a decode step, or scores alone"),
            unit["query"],
            unit["kv"],
            Port("selection", "in", self.selection.command_layout, "a selection of the next clusters"),
            Port("size", "in", self.size_layout, "size of a cluster, in order of cluster numbers"),
            Port(
                "result",
                "out",
                self.processing.result_layout,
                "partial results of attention, and scores that select no clusters",
            ),
            *(port for port in self.selection.ports() if port.name == "program"),
        )


#: PAM's unit beside a bank of HBM, and the sorted list of starc-select.
PRESETS: dict[str, StarcAttentionConfig] = {"pam-hbm": StarcAttentionConfig()}


class StarcAttentionWorkload(Workload):
    """A decode step of heads: scores of centroids, a selection, and attention over the selected tokens."""

    memory: str = memory_port("hbm3-5.2")
    clusters: int = Key(default=256, ge=1, le=4096, description="clusters of a head")
    budget: int = Key(default=1024, ge=0, le=1 << 24, description="tokens of clusters that are selected")
    recent: int = Key(default=64, ge=1, le=1 << 24, description="tokens without a cluster")
    cluster_tokens: int = Key(default=32, ge=1, le=1024, description="mean tokens of a cluster")
    head_dim: int = Key(default=128, ge=1, le=4096, description="head dimension")

    def check(self, config: StarcAttentionConfig) -> None:
        selection = config.selection
        if self.clusters > selection.clusters:
            raise ConfigError(
                f"clusters must be at most {selection.clusters} for this configuration, not {self.clusters}"
            )
        spare = selection.unit_tokens - 1 if selection.padded else 0
        slots = self.clusters * (self.cluster_tokens + spare) + self.recent
        for what, value in (("budget", self.budget), ("slots of clusters and recent tokens", slots)):
            if value > selection.max_tokens:
                raise ConfigError(f"{what} must be at most max_tokens ({selection.max_tokens}), not {value}")
        wanted = min(self.budget, self.clusters * self.cluster_tokens) + self.recent
        for tokens in (self.clusters, wanted):
            config.processing.check_step(Step(tokens, self.head_dim))


class SelectionOrder(Strict):
    """Heads at the cycles of the memory, in one order of their reads."""

    heads: int = Key(description="heads whose centroids are scored, and which attend")
    cycles: int = Key(description="from the first accepted K beat to the last result beat")
    exposed_cycles: int = Key(description="clocks in which reads of attention wait for programs, all heads together")
    share_of_attention: float = Key(description="`exposed_cycles` over the clocks of attention of all heads")


class StarcAttentionResult(RateResult):
    """Measurements of the bench of ``starc-attention``."""

    cycles: int = Key(description="from the first accepted K beat of a head to its last result beat")
    ideal_cycles: int = Key(description="beats of centroids, K and V")
    stall_cycles: int = Key(description="clocks in which a K beat of centroids was offered and not taken")
    selected: int = Key(description="clusters that are selected, the truncated one included")
    wanted: int = Key(description="tokens that are selected")
    fetched: int = Key(description="tokens of the access units that the program reads")
    commands: int = Key(description="commands of the program")
    memory: str = Key(description="its name")
    score_cycles: int = Key(description="at the cycles of the memory: from the first to the last K beat of centroids")
    tail_cycles: int = Key(description="from the last K beat of centroids to the last beat of the program")
    attention_cycles: int = Key(description="from the first K beat of attention to its last result beat")
    share_of_attention: float = Key(
        description="clocks in which reads of attention wait for the program, over `attention_cycles`; one head alone"
    )
    alone: SelectionOrder = Key(description="one head: its attention follows its selection")
    interleaved: SelectionOrder = Key(description="three heads: centroids of the next head are read before attention")
    max_abs_error: float = Key(
        description="of the merged output against attention over the selected tokens in binary64"
    )
    update_cycles: int = Key(
        description="of a k-means update: 15 iterations of scores of 128 keys and 4 centroids, at full rate"
    )
    update_ideal_cycles: int = Key(description="beats of K of the update, a clock for each centroid")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            (
                "selection",
                f"{self.selected} of {workload['clusters']} clusters, {self.wanted} tokens wanted, "
                f"{self.fetched} fetched by {self.commands} commands",
            ),
            (
                "from " + self.memory,
                f"{self.score_cycles} cycles of centroids, {self.tail_cycles} to the end of the "
                f"program, {self.attention_cycles} of attention",
            ),
            *(
                (
                    f"{one.heads} head{'s' if one.heads > 1 else ''}",
                    f"{one.cycles} cycles; reads wait {one.exposed_cycles} for programs, "
                    f"{100 * one.share_of_attention:.2f} % of attention",
                )
                for one in (self.alone, self.interleaved)
            ),
            ("update of clusters", f"{self.update_cycles} cycles, ideal {self.update_ideal_cycles}"),
        ]


UNIT = Unit(
    "starc-attention",
    "processing unit whose scores of centroids select the clusters that it attends to",
    "STARC, Algorithm 1; PAM (MICRO 2025) section 5.2.1; the composition is this project's",
    module="starc_attention",
    config=StarcAttentionConfig,
    presets=PRESETS,
    generator="bankside.gen.starc.attention:StarcAttention",
    model="bankside.models.starc.attention:sparse_attention",
    bench="bankside.cosim.starc.attention:bench",
    page="docs/starc/attention.md",
    workload=StarcAttentionWorkload,
    result=StarcAttentionResult,
    published=(),
    trial=Trial(
        {**PU.trial.within("processing"), **SELECT.trial.within("selection"), "selection.format": "bf16"},
        {"clusters": 12, "budget": 40, "recent": 5, "cluster_tokens": 12, "head_dim": 8},
    ),
)
