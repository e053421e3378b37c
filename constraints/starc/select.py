"""Parameters of the selection of key clusters, and the command that reads a run of access units.

Source: STARC, Algorithm 1: clusters in descending order of their scores, the last one truncated to the budget, recent
tokens in addition. STARC selects on a host. The unit, its streams, its two methods and its programs are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import Field as Key
from pydantic import model_validator

from ..aim.encoding import COMMANDS, END, WORD_BITS, ProgramEncoding, pack
from ..core.contract import Field, Layout, Port, RateResult, Row, Trial, Unit, UnitConfig, Workload
from ..core.errors import ConfigError
from ..core.formats import FORMATS, FloatFormat
from ..lolpim.dispatcher import DpaDispatcherConfig
from ..pam.partials import check_power_of_two
from ..pam.pu import PRESETS as PAM_PU
from ..pam.pu import Step

__all__ = ["PRESETS", "UNIT", "SelectWorkload", "StarcSelectConfig", "StarcSelectResult"]


class StarcSelectConfig(UnitConfig):
    """Parameters of the generator ``starc-select``.

    Slots hold the tokens of a head: cluster after cluster in order of their numbers, then the recent tokens. An access
    unit has ``unit_tokens`` slots, and a row of the memory has ``row_units`` access units.
    """

    method: Literal["list", "radix"] = Key(
        default="list",
        description="list: a sorted list of the best clusters; radix: counts of tokens by digits of scores",
    )
    clusters: int = Key(default=256, ge=1, le=4096, description="most clusters of a selection")
    kept: int = Key(default=64, ge=1, le=512, description="clusters in the sorted list (list)")
    digit_bits: int = Key(default=4, ge=1, le=6, description="bits of a digit of scores (radix)")
    ways: int = Key(
        default=4, ge=1, le=16, description="clusters that a pass over all clusters compares in a clock; a power of two"
    )
    format: Literal["fp16", "bf16", "fp32"] = Key(default="fp16", description="format of scores")
    max_tokens: int = Key(default=16384, ge=1, le=1 << 24, description="most slots of a head, and largest budget")
    unit_tokens: int = Key(default=8, ge=1, le=1024, description="slots of an access unit; a power of two")
    row_units: int = Key(default=32, ge=1, le=1024, description="access units of a row; a power of two")
    unit_columns: int = Key(default=1, ge=1, le=64, description="accesses of an access unit")
    padded: bool = Key(default=False, description="whether each cluster begins with an access unit of its own")
    virtual: bool = Key(default=True, description="whether rows are virtual rows of a request")
    output_words: int = Key(
        default=8,
        ge=1,
        le=32,
        description="words of 32 bits in a beat of the program; a divisor of `dispatcher.line_words`",
    )
    dispatcher: DpaDispatcherConfig = Key(
        default=DpaDispatcherConfig(), description="unit that executes the program: its words"
    )
    clock_mhz: float = Key(default=500.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> StarcSelectConfig:
        for name in ("ways", "unit_tokens", "row_units"):
            check_power_of_two(name, getattr(self, name))
        if self.kept > self.clusters:
            raise ValueError(f"kept must be at most clusters ({self.clusters}), not {self.kept}")
        if self.dispatcher.line_words % self.output_words:
            raise ValueError(
                f"output_words must divide line_words ({self.dispatcher.line_words}), not {self.output_words}"
            )
        operands = self.encoding.operands
        columns = self.row_units * self.unit_columns
        if columns > 1 << operands["column"] or columns >= 1 << operands["opsize"]:
            raise ValueError(
                f"row_units times unit_columns must fit the dispatcher's columns and opsize, not {columns}"
            )
        if self.max_row_span > 1 << operands["row"]:
            raise ValueError(f"max_tokens must be of at most {1 << operands['row']} rows, not {self.max_row_span}")
        return self

    # Derived sizes -----------------------------------------------------------------------------------------------

    @property
    def encoding(self) -> ProgramEncoding:
        return self.dispatcher.encoding

    @property
    def score(self) -> FloatFormat:
        return FORMATS[self.format]

    @property
    def digits(self) -> int:
        """Digits of a score."""
        return -(-self.score.width // self.digit_bits)

    @property
    def cluster_rows(self) -> int:
        """Rows of the store of clusters, ``ways`` in a row."""
        return -(-self.clusters // self.ways)

    @property
    def slot_bits(self) -> int:
        """Width of a number of slots."""
        return self.max_tokens.bit_length()

    @property
    def max_row_span(self) -> int:
        """Rows that the slots of a head take."""
        return -(-self.max_tokens // (self.unit_tokens * self.row_units))

    def room(self, size: Any) -> Any:
        """Slots that a cluster of a size takes."""
        return -(-size // self.unit_tokens) * self.unit_tokens if self.padded else size

    # Program -----------------------------------------------------------------------------------------------------

    @cached_property
    def end_line(self) -> int:
        """The line that ends a program."""
        return pack(self.encoding.command_fields, op=END)

    def line(self, row: int, column: int, opsize: int, mask: int) -> int:
        """The line of a command that reads ``opsize`` accesses of a row, from a column on."""
        return pack(
            self.encoding.command_fields,
            op=COMMANDS["MAC_ABK"].code,
            virtual=int(self.virtual),
            opsize=opsize,
            mask=mask,
            row=row,
            column=column,
        )

    # Ports -------------------------------------------------------------------------------------------------------

    @cached_property
    def command_layout(self) -> Layout:
        operands = self.encoding.operands
        return Layout.of(
            Field("clusters", self.clusters.bit_length(), f"clusters that follow, at most {self.clusters}"),
            Field("budget", self.slot_bits, "tokens of clusters that are selected at most"),
            Field("recent", self.slot_bits, "tokens without a cluster, which are all selected"),
            Field("row", operands["row"], "row with slot 0"),
            Field("mask", operands["mask"], "channels that execute the program; the highest bit is channel 0"),
        )

    @cached_property
    def cluster_layout(self) -> Layout:
        return Layout.of(
            Field("score", self.score.width, "score of the cluster", number=self.score),
            Field("size", self.slot_bits, "tokens of the cluster"),
        )

    @cached_property
    def program_layout(self) -> Layout:
        return Layout.of(
            Field(
                "data",
                self.output_words * WORD_BITS,
                "output_words words of the program, the first one lowest",
                self.output_words,
            ),
            Field("short", 1, "with `last`: the list held too few clusters for the budget"),
            Field("last", 1, "last beat of the program"),
        )

    def ports(self) -> tuple[Port, ...]:
        return (
            Port("command", "in", self.command_layout, "a selection"),
            Port("cluster", "in", self.cluster_layout, "score and size of a cluster, in order of cluster numbers"),
            Port("program", "out", self.program_layout, "lines of commands and a line with the end"),
        )


#: 256 clusters: 8192 tokens over 32 (STARC section IV). 64 clusters of the list hold a budget of 1024 tokens if clusters
#: have 16 tokens on average, half of STARC's mean.
PRESETS: dict[str, StarcSelectConfig] = {"list": StarcSelectConfig(), "radix": StarcSelectConfig(method="radix")}


class SelectWorkload(Workload):
    """A selection of one head."""

    clusters: int = Key(default=256, ge=0, le=4096, description="clusters of the measured selection")
    budget: int = Key(default=1024, ge=0, le=1 << 24, description="tokens of clusters that are selected")
    recent: int = Key(default=64, ge=0, le=1 << 24, description="tokens without a cluster")
    cluster_tokens: int = Key(default=32, ge=1, le=1024, description="mean tokens of a cluster")
    head_dim: int = Key(default=128, ge=1, le=4096, description="head dimension of the attention beside it")
    attention: Literal["none", "pam-hbm", "pam-ddr", "pam-ssd"] = Key(
        default="pam-hbm", description="preset of `pam-pu` that computes attention beside the unit; none: no attention"
    )

    def check(self, config: StarcSelectConfig) -> None:
        if self.clusters > config.clusters:
            raise ConfigError(f"clusters must be at most {config.clusters} for this configuration, not {self.clusters}")
        spare = config.unit_tokens - 1 if config.padded else 0
        slots = self.clusters * (self.cluster_tokens + spare) + self.recent
        for what, value in (("budget", self.budget), ("slots of clusters and recent tokens", slots)):
            if value > config.max_tokens:
                raise ConfigError(f"{what} must be at most max_tokens ({config.max_tokens}), not {value}")
        if self.attention != "none" and not self.recent and not self.budget * self.clusters:
            raise ConfigError(
                "a selection without recent tokens must have clusters and a budget: there would be no "
                "attention to compare with"
            )
        if self.attention != "none":
            wanted = min(self.budget, self.clusters * self.cluster_tokens) + self.recent
            PAM_PU[self.attention].check_step(Step(wanted, self.head_dim))


class StarcSelectResult(RateResult):
    """Measurements of the bench of ``starc-select``."""

    cycles: int = Key(description="from the first score to the last beat of the program")
    ideal_cycles: int = Key(description="clusters, one a clock")
    stall_cycles: int = Key(
        description="clocks in which a score that was offered was not taken, from the first score on"
    )
    tail_cycles: int = Key(
        description="from the last score to the last beat of the program: all that attention waits for"
    )
    paced_tail_cycles: int | None = Key(
        description="the same with scores at the pace at which `pam-pu` takes keys; null without attention"
    )
    selected: int = Key(description="clusters that are selected, the truncated one included")
    wanted: int = Key(description="tokens that are selected")
    fetched: int = Key(description="tokens of the access units that the program reads")
    commands: int = Key(description="commands of the program")
    score_cycles: int | None = Key(
        description="clocks in which `pam-pu` takes as many keys as there are clusters; null without attention"
    )
    attention_cycles: int | None = Key(
        description="clocks of `pam-pu` for attention over the wanted tokens, simulated "
        "beside it; null without attention"
    )
    share_of_attention: float | None = Key(
        description="`paced_tail_cycles` in ns over `attention_cycles` in ns; null without attention"
    )

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            (
                "selection",
                f"{self.selected} of {workload['clusters']} clusters, {self.wanted} tokens wanted, "
                f"{self.fetched} fetched by {self.commands} commands",
            ),
            (
                "after the last score",
                f"{self.tail_cycles} cycles"
                + (
                    ""
                    if self.share_of_attention is None
                    else f"; {self.paced_tail_cycles} with scores at the pace of keys, {100 * self.share_of_attention:.2f} % of the "
                    f"{self.attention_cycles} clocks of attention"
                ),
            ),
        ]


UNIT = Unit(
    "starc-select",
    "selection of key clusters by their scores, as a program of reads",
    "STARC, Algorithm 1; the unit is this project's",
    module="starc_select",
    config=StarcSelectConfig,
    presets=PRESETS,
    generator="bankside.gen.starc.select:StarcSelect",
    model="bankside.models.starc.select:select",
    bench="bankside.cosim.starc.select:bench",
    page="docs/starc/select.md",
    workload=SelectWorkload,
    result=StarcSelectResult,
    published=(),
    trial=Trial(
        {"clusters": 12, "kept": 4, "ways": 2, "max_tokens": 255, "row_units": 4, "output_words": 2},
        {"clusters": 12, "budget": 40, "recent": 5, "cluster_tokens": 12, "attention": "none"},
    ),
)
