"""Parameters of INF2's softmax engine.

Source: INF2, accelerator: 128 elements a clock in four groups of 32, -1e4 for masked scores, three passes, FP16. A group
has a maximum and a sum, and a tree joins the groups. The streams, the overlap of rows, the order of sums and the
division are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import Field as Key
from pydantic import model_validator

from ..arith.softmax import SoftmaxRule
from ..core.contract import Field, Layout, NumericResult, Port, RateResult, Row, Trial, Unit, UnitConfig, Workload
from ..core.document import Strict
from ..core.errors import ConfigError
from ..core.formats import FORMATS, FP32, FloatFormat
from ..pam.partials import check_power_of_two

__all__ = ["MASKS", "PRESETS", "UNIT", "Inf2SoftmaxConfig", "Inf2SoftmaxResult", "SoftmaxPoint", "SoftmaxWorkload"]

#: Kinds of masks: nothing; tokens behind a length (padding right); tokens before a start (padding left); all
#: tokens but the latest; any tokens; all tokens.
MASKS = ("none", "right", "left", "latest", "any", "all")


class Inf2SoftmaxConfig(UnitConfig):
    """Parameters of the generator ``inf2-softmax``."""

    lanes: int = Key(default=128, ge=1, le=128, description="scores of a beat: scores per clock; a power of two")
    groups: int = Key(
        default=4,
        ge=1,
        le=16,
        description="groups of lanes with a maximum and a sum each; a power of two, at most `lanes`",
    )
    format: Literal["fp16", "bf16"] = Key(default="fp16", description="format of weights")
    score: Literal["same", "fp32"] = Key(default="same", description="format of scores; same: `format`")
    sums: Literal["float", "window"] = Key(
        default="float",
        description="float: a tree of additions in each group, then additions one after the other, each "
        "rounded; window: fixed-point integers, rounded once",
    )
    accumulator: Literal["same", "fp32"] = Key(default="same", description="format of sums; same: `format`")
    chains: int = Key(
        default=1,
        ge=1,
        le=8,
        description="accumulators of a group, which take its beats in turn (float); a power of two; an "
        "addition has as many clocks",
    )
    guard_bits: int = Key(
        default=3, ge=1, le=16, description="fraction bits below the accumulator's precision (window)"
    )
    mask: Literal["value", "infinity"] = Key(
        default="value", description="what a masked score becomes: `mask_value`, or minus infinity"
    )
    mask_value: float = Key(default=-1e4, ge=-3e38, le=3e38, strict=False, description="rounded to the scores' format")
    division: Literal["none", "exact", "reciprocal"] = Key(
        default="exact",
        description="exact: quotients as IEEE 754 says; reciprocal: products with a reciprocal of "
        "`reciprocal_bits`; none: weights and their sum leave",
    )
    reciprocal_bits: int = Key(default=25, ge=10, le=40, description="bits of the reciprocal (reciprocal)")
    rows: Literal["on-chip", "streamed"] = Key(
        default="on-chip",
        description="on-chip: the unit keeps rows between passes; streamed: they leave and come back, "
        "through four more streams",
    )
    max_tokens: int = Key(default=1 << 17, ge=1, le=1 << 30, description="largest row")
    slack_beats: int = Key(
        default=128, ge=4, le=4096, description="beats that a store has room for beyond the largest row (on-chip)"
    )
    row_slots: int = Key(default=128, ge=1, le=1024, description="rows that can be between two passes")
    exp_depth: int = Key(default=7, ge=0, le=16, description="registers of the exponential")
    add_depth: int = Key(default=2, ge=0, le=8, description="registers of an addition in a tree (float)")
    window_depth: int = Key(default=5, ge=0, le=16, description="registers of the sum of a beat (window)")
    reciprocal_depth: int = Key(default=26, ge=0, le=64, description="registers of the reciprocal of a row")
    quotient_depth: int = Key(default=4, ge=0, le=16, description="registers of a quotient")
    # Left out at its default, so that configurations keep their hashes.
    fabric: Literal["asic", "xilinx"] = Key(
        default="asic",
        exclude_if=lambda value: value == "asic",
        description="asic: compressor trees and prefix adders; xilinx: * for DSP blocks and + for carry chains",
    )
    clock_mhz: float = Key(default=200.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> Inf2SoftmaxConfig:
        for name in ("lanes", "groups", "chains"):
            check_power_of_two(name, getattr(self, name))
        if self.groups > self.lanes:
            raise ConfigError(f"groups must be at most lanes ({self.lanes}), not {self.groups}")
        if self.division == "reciprocal" and self.reciprocal_bits < self.io.precision + 2:
            raise ConfigError(
                f"reciprocal_bits must be at least {self.io.precision + 2} for {self.format}, not "
                f"{self.reciprocal_bits}"
            )
        return self

    # Derived sizes -----------------------------------------------------------------------------------------------

    @property
    def io(self) -> FloatFormat:
        return FORMATS[self.format]

    @cached_property
    def rule(self) -> SoftmaxRule:
        """What decides the bits of results."""
        return SoftmaxRule(
            score=FP32 if self.score == "fp32" else self.io,
            io=self.io,
            acc=FP32 if self.accumulator == "fp32" else self.io,
            lanes=self.lanes,
            groups=self.groups,
            chains=self.chains,
            sums=self.sums,
            guard_bits=self.guard_bits,
            mask_value=self.mask_value if self.mask == "value" else float("-inf"),
            division=self.division,
            reciprocal_bits=self.reciprocal_bits,
            max_tokens=self.max_tokens,
        )

    @property
    def divides(self) -> bool:
        return self.division != "none"

    @property
    def streamed(self) -> bool:
        return self.rows == "streamed"

    @property
    def store_beats(self) -> int:
        """Beats that a store on the chip has room for."""
        return self.rule.beats(self.max_tokens) + self.slack_beats

    # Ports -------------------------------------------------------------------------------------------------------

    @property
    def row_layout(self) -> Layout:
        return Layout.of(Field("tokens", self.max_tokens.bit_length(), f"tokens, at most {self.max_tokens}"))

    @property
    def score_layout(self) -> Layout:
        fmt = self.rule.score
        return Layout.of(
            Field("data", self.lanes * fmt.width, "lanes scores, lane 0 lowest", self.lanes, fmt),
            Field("mask", self.lanes, "a bit for each lane; 1: the score is masked", self.lanes),
        )

    def beat_layout(self, fmt: FloatFormat, meaning: str) -> Layout:
        """``lanes`` numbers, and whether they are the last of a row."""
        return Layout.of(
            Field("data", self.lanes * fmt.width, f"lanes {meaning}, lane 0 lowest", self.lanes, fmt),
            Field("last", 1, "last beat of the row"),
        )

    @property
    def kept_scores_layout(self) -> Layout:
        return self.beat_layout(self.rule.score, "scores")

    @property
    def result_layout(self) -> Layout:
        return self.beat_layout(self.io, "weights")

    @property
    def sum_layout(self) -> Layout:
        score, acc = self.rule.score, self.rule.acc
        return Layout.of(
            Field("maximum", score.width, "largest score", 1, score),
            Field("sum", acc.width, "sum of the weights", 1, acc),
        )

    def ports(self) -> tuple[Port, ...]:
        out = [
            Port("row", "in", self.row_layout, "a row of scores"),
            Port("score", "in", self.score_layout, "lanes scores of the row"),
        ]
        if self.streamed:
            out += [
                Port(
                    "kept_score",
                    "out",
                    self.kept_scores_layout,
                    "scores of the first pass, with masked ones written over",
                ),
                Port("again_score", "in", self.kept_scores_layout, "the same beats, for the second pass"),
            ]
            if self.divides:
                out += [
                    Port("kept_weight", "out", self.result_layout, "weights of the second pass, not divided"),
                    Port("again_weight", "in", self.result_layout, "the same beats, for the third pass"),
                ]
        if not self.divides:
            out.append(Port("sum", "out", self.sum_layout, "maximum and sum of a row"))
        out.append(Port("result", "out", self.result_layout, "lanes weights of the row, in order"))
        return tuple(out)

    # Work --------------------------------------------------------------------------------------------------------

    def check_row(self, tokens: int) -> None:
        """Raise :exc:`ConfigError` if this configuration can't take a row."""
        if not 1 <= tokens <= self.max_tokens:
            raise ConfigError(f"tokens must be in 1..{self.max_tokens}, not {tokens}")


#: The accelerator takes 128 scores a clock in four groups of 32, with FP16 sums. Its clock is not given: 200 MHz is a
#: default. `streamed` keeps rows outside. `pam-tile` has the rule of PAM's processing unit: one score a clock, no division.
PRESETS: dict[str, Inf2SoftmaxConfig] = {
    "inf2": Inf2SoftmaxConfig(),
    "inf2-fp32": Inf2SoftmaxConfig(accumulator="fp32", division="reciprocal"),
    "streamed": Inf2SoftmaxConfig(lanes=16, groups=4, rows="streamed"),
    "pam-tile": Inf2SoftmaxConfig(
        lanes=1, groups=1, sums="window", accumulator="fp32", mask="infinity", division="none", max_tokens=32768
    ),
}


class SoftmaxWorkload(Workload):
    """Rows that follow each other."""

    tokens: int = Key(default=32768, ge=1, le=1 << 30, description="tokens of the measured rows")
    rows: int = Key(
        default=6,
        ge=1,
        le=1024,
        description="rows of each length that follow each other, each with another kind of mask; more of rows "
        "of few beats",
    )
    sweep: int = Key(default=1, ge=0, le=1, description="1: measure rows of other lengths too; 0: do not")

    def check(self, config: Inf2SoftmaxConfig) -> None:
        config.check_row(self.tokens)


class SoftmaxPoint(Strict):
    """Rows of one length at full rate, one after the other."""

    tokens: int = Key(description="of a row")
    rows: int = Key(description="that follow each other")
    cycles: int = Key(description="from the first beat of scores to the last result")
    steady_cycles: int = Key(description="from the first result to the last one")
    ideal_cycles: int = Key(description="beats of all rows: one pass")
    utilisation: float = Key(description="`ideal_cycles` over `cycles`")
    steady: float = Key(description="`ideal_cycles` over `steady_cycles`")
    rows_per_clock: float = Key(description="`rows` over `steady_cycles`")
    latency_cycles: int = Key(description="from the first row's last beat of scores to its first result")


class Inf2SoftmaxResult(RateResult, NumericResult):
    """Measurements of the bench of ``inf2-softmax``."""

    cycles: int = Key(description="from the first beat of scores to the last result")
    ideal_cycles: int = Key(description="beats of all rows: one pass")
    stall_cycles: int = Key(description="clocks in which the unit did not take a beat of scores that it was offered")
    steady: float = Key(description="`ideal_cycles` over the clocks from the first result to the last one")
    rows_per_clock: float = Key(description="rows over the clocks from the first result to the last one")
    latency_cycles: int = Key(description="from the last beat of scores of a row to its first result")
    points: list[SoftmaxPoint] = Key(description="rows of other lengths")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            (
                "rows",
                f"of {workload['tokens']} tokens: {self.rows_per_clock:.6f} a clock; a beat in {self.steady:.4f} of "
                "the clocks from the first result on",
            ),
            ("latency", f"{self.latency_cycles} cycles from the last score to the first weight of a row"),
        ]


UNIT = Unit(
    "inf2-softmax",
    "softmax of rows of scores, many lanes a clock, three overlapping passes",
    "INF² (near-storage processing), accelerator",
    module="inf2_softmax",
    config=Inf2SoftmaxConfig,
    presets=PRESETS,
    generator="bankside.gen.inf2.softmax:Inf2Softmax",
    model="bankside.models.numerics.softmax:softmax_parts",
    bench="bankside.cosim.inf2.softmax:bench",
    page="docs/inf2/softmax.md",
    workload=SoftmaxWorkload,
    result=Inf2SoftmaxResult,
    published=(),
    trial=Trial(
        {"lanes": 4, "groups": 2, "max_tokens": 40, "slack_beats": 8, "row_slots": 8, "add_depth": 1},
        {"tokens": 33, "rows": 2, "sweep": 0},
    ),
)
