"""Parameters of PAM's reduction unit, and the order in which it merges partial results.

Source: PAM (MICRO 2025) section 5.2.2 for lanes, exponential units and scratch, section 7.1 for clocks. The paper
leaves the order of the sources, the formats and the queues open; they are this project's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field as Key
from pydantic import model_validator

from ..arith.geometry import ExpTable
from ..core.contract import Field, Layout, NumericResult, Port, RateResult, Row, Trial, Unit, Workload
from ..core.errors import ConfigError
from ..core.formats import FORMATS, FloatFormat, IntegerFormat
from .partials import PartialUnitConfig, check_power_of_two, partial_layout, queries_field

__all__ = ["PRESETS", "SCALE_INTEGER_BITS", "UNIT", "MergeResult", "PamRuConfig", "PamRuResult", "PamRuWorkload"]

#: Bits before the binary point of the scale that travels with a partial result, sign included. The scale is at most the
#: logarithm to base 2 of a number in single precision.
SCALE_INTEGER_BITS = 10


class PamRuConfig(PartialUnitConfig):
    """Parameters of the generator ``pam-ru``; every value here is free, the presets are the paper's.

    The scratch of ``scratch_bytes`` holds the accumulators of O, in ``acc_format``.

    With ``queries`` above 1, a step may have several queries, as in :class:`PamPuConfig`. Each partial result then
    has m, l and O of every query, and the scratch holds the accumulators of all of them.
    """

    lanes: int = Key(default=16, ge=1, le=64, description="multipliers; elements merged in a clock")
    sources: int = Key(default=4, ge=1, le=64, description="input streams")
    source_lanes: int = Key(default=16, ge=1, le=64, description="elements of one beat of an input stream")
    # At 1, the value stands in no document: the unit is the one that had no such parameter.
    queries: int = Key(
        default=1,
        ge=1,
        le=8,
        exclude_if=lambda value: value == 1,
        description="most queries of a step, whose partial results come together",
    )
    format: Literal["fp16", "bf16"] = Key(
        default="fp16", description="format of O on the streams, of weights and of the multipliers' operands"
    )
    acc_format: Literal["fp32", "fp16", "bf16"] = Key(
        default="fp32", description="format of the accumulators of O and of the sum l"
    )
    score_format: Literal["fp32", "fp16", "bf16"] = Key(default="fp32", description="format of the row maximum m")
    log_format: Literal["fp32", "fp16", "bf16"] = Key(default="fp16", description="format of the logarithm unit")
    exponential_units: int = Key(default=4, ge=1, le=16, description="exponential units")
    scratch_bytes: int = Key(default=512, ge=2, le=1 << 20, description="bytes for the accumulators of O")
    staging_beats: int = Key(default=16, ge=2, le=1024, description="beats of O that wait for their weight")
    max_head_dim: int = Key(default=128, ge=1, le=4096, description="largest head dimension")
    lane_depth: int = Key(default=1, ge=0, le=8, description="registers within a lane's adder")
    clock_mhz: float = Key(default=666.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> PamRuConfig:
        check_power_of_two("source_lanes", self.source_lanes)
        if self.source_lanes > self.lanes:
            raise ValueError(f"source_lanes must be at most lanes ({self.lanes}), not {self.source_lanes}")
        need = self.queries * self.max_head_dim * self.acc.width // 8
        if self.scratch_bytes < need:
            of = f" of {self.queries} queries" if self.queries > 1 else ""
            raise ValueError(
                f"scratch_bytes {self.scratch_bytes} holds {self.scratch_bytes * 8 // self.acc.width} "
                f"accumulators of {self.acc_format}; max_head_dim {self.max_head_dim}{of} needs {need} bytes"
            )
        width = self.source_lanes * self.io.width
        need = max(self.score.width + self.scale_bits, self.acc.width)
        if width < need:
            raise ValueError(
                f"source_lanes {self.source_lanes} makes beats of {width} bits; a row maximum with its scale "
                f"and a sum need {need}"
            )
        return self

    # Derived sizes ----------------------------------------------------------------------------------------------------

    @property
    def log(self) -> FloatFormat:
        return FORMATS[self.log_format]

    @property
    def table(self) -> ExpTable:
        """Constants of the exponential units."""
        return ExpTable(self.io)

    @property
    def scale_bits(self) -> int:
        """Bits of the scale that travels with m: two's complement, ``table.fraction_bits`` behind the binary point."""
        return SCALE_INTEGER_BITS + self.table.fraction_bits

    @property
    def gather(self) -> int:
        """Beats of a source that make one beat of ``lanes`` elements."""
        return self.lanes // self.source_lanes

    @property
    def staging_bytes(self) -> int:
        """Bytes of O that wait for their weight, beside the scratch."""
        return self.staging_beats * self.beat_bytes

    @property
    def log_scale_bits(self) -> int:
        """Bits of the scale behind the binary point that enter m + ln l: all, or as many as ``acc_format`` has room for."""
        return min(self.table.fraction_bits, self.acc.bias - SCALE_INTEGER_BITS)

    @property
    def log_constant(self) -> int:
        """ln 2 in units of ``2**log_scale_bits``, bits in ``acc_format``."""
        fraction, exponent = math.frexp(math.log(2))
        return (exponent - 1 - self.log_scale_bits + self.acc.bias - 1 << self.acc.fraction_bits) + round(
            math.ldexp(fraction, self.acc.precision)
        )

    # Ports ------------------------------------------------------------------------------------------------------------

    @property
    def command_layout(self) -> Layout:
        """One step."""
        return Layout.of(
            Field("normalise", 1, "final level: O is divided by l, and m + ln l leaves in the place of l"),
            *queries_field(self.queries),
        )

    @property
    def maximum_layout(self) -> Layout:
        """The lowest bits of a beat with a row maximum."""
        return Layout.of(
            Field("m", self.score.width, "row maximum", number=self.score),
            Field(
                "scale",
                self.scale_bits,
                "logarithm to base 2 of the common factor of l and O",
                number=IntegerFormat(self.scale_bits, True),
            ),
        )

    @property
    def source_layout(self) -> Layout:
        """Beat of a partial result that a source sends."""
        return partial_layout(
            self.source_lanes,
            self.io,
            data="source_lanes elements of O, lane 0 lowest; or m (score format) with its scale above "
            "it, or l (accumulation format), in the lowest bits",
            kind="0: O, 1: m, 2: l",
            last="last beat of the partial result",
            final="with last: the source's last partial result of the step",
            queries=self.queries,
        )

    @property
    def result_layout(self) -> Layout:
        """Beat of the result."""
        return partial_layout(
            self.lanes,
            self.io,
            data="lanes elements of O, lane 0 lowest; or m with its scale above it, or l or m + ln l "
            "(accumulation format), in the lowest bits",
            kind="0: O, 1: m, 2: l, 3: m + ln l",
            last="last beat of the result",
            final="on every beat of O",
            queries=self.queries,
        )

    def command_port(self, name: str = "command") -> Port:
        return Port(name, "in", self.command_layout, "one step")

    def source_ports(self, count: int) -> tuple[Port, ...]:
        """``source_0`` and so on."""
        return tuple(
            Port(f"source_{n}", "in", self.source_layout, "a beat of a partial result: m, then l, then the chunks of O")
            for n in range(count)
        )

    def result_port(self) -> Port:
        return Port(
            "result", "out", self.result_layout, "a beat of the result: m, then l or m + ln l, then the chunks of O"
        )

    def ports(self) -> tuple[Port, ...]:
        return self.command_port(), *self.source_ports(self.sources), self.result_port()

    # Work -------------------------------------------------------------------------------------------------------------

    def check_queries(self, queries: int) -> None:
        """Raise :exc:`ConfigError` if this configuration can't take steps of ``queries`` queries."""
        if not 1 <= queries <= self.queries:
            raise ConfigError(f"queries of a step must be in 1..{self.queries}, not {queries}")

    def order(self, counts: Sequence[int]) -> list[tuple[int, int]]:
        """Order in which the partial results of a step are merged, as ``(source, index within the source)``.

        The sources take turns, whatever the order of arrival; a source that has sent its last partial result is passed
        over. The result therefore does not depend on timing. Every source sends at least one (an empty source sends the
        identity: m = -infinity, l = 0).

        Parameters
        ----------
        counts : partial results of each source
        """
        if len(counts) != self.sources or min(counts) < 1:
            raise ConfigError(
                f"a step needs {self.sources} numbers of partial results of at least 1, not {list(counts)}"
            )
        return [
            (source, index) for index in range(max(counts)) for source in range(self.sources) if index < counts[source]
        ]


#: Section 5.2.2 (lanes, exponential units, scratch; one unit to a bank group of 4 banks, 8 to an SSD controller of 64
#: processing units), section 7.1 (clocks). pam-ddr takes the 4-element beats of its processing units. pam-hbm-gqa4 and
#: pam-hbm-gqa8 are no units of the paper: they merge the results of the processing units of these names, with 512 bytes of
#: scratch for each query.
PRESETS: dict[str, PamRuConfig] = {
    "pam-hbm": PamRuConfig(),
    "pam-ddr": PamRuConfig(source_lanes=4, score_format="fp16", clock_mhz=500.0),
    "pam-ssd": PamRuConfig(sources=8, lane_depth=2, clock_mhz=1000.0),
    "pam-hbm-gqa4": PamRuConfig(queries=4, scratch_bytes=2048),
    "pam-hbm-gqa8": PamRuConfig(queries=8, scratch_bytes=4096),
}


class PamRuWorkload(Workload):
    """A merge of partial results."""

    partials: int = Key(default=16, ge=1, le=1 << 20, description="partial results that are merged, over all sources")
    head_dim: int = Key(default=128, ge=1, le=1 << 16, description="head dimension")

    def check(self, config: PamRuConfig) -> None:
        config.check_head_dim(self.head_dim)


class MergeResult(RateResult, NumericResult):
    """Measurements of benches of reduction units and of compositions with them."""

    cycles: int = Key(description="from the first accepted beat of the measured step to its last result beat")
    queries: int = Key(default=1, description="queries of the step")
    ideal_cycles: int = Key(description="beats of the busiest part, one a clock; a K or V beat stays for more queries")
    max_abs_error: float = Key(description="of the normalised output against binary64")


class PamRuResult(MergeResult):
    """Measurements of the bench of ``pam-ru``."""

    stall_cycles: int = Key(description="clocks of the merge without a beat of O")
    merge_cycles: int = Key(description="from the first accepted beat to the last one of O")
    merge_utilisation: float = Key(description="`ideal_cycles` over `merge_cycles`")
    drain_cycles: int = Key(description="from the last accepted beat of O to the last result beat")
    partial_drain_cycles: int = Key(description="the same for a level that is not the last")
    two_steps_cycles: int = Key(description="two of the measured steps, one after the other")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            (
                "merge",
                f"{workload['partials']} partial results, head dimension {workload['head_dim']}: "
                f"{self.merge_cycles} cycles, {self.stall_cycles} of them without a beat of O; drain "
                f"{self.drain_cycles} cycles, {self.partial_drain_cycles} of a level that is not the last",
            ),
        ]


UNIT = Unit(
    "pam-ru",
    "reduction unit: merges partial results of attention",
    "PAM (MICRO 2025) section 5.2.2",
    module="pam_ru",
    config=PamRuConfig,
    presets=PRESETS,
    generator="bankside.gen.pam.ru:PamRu",
    model="bankside.models.pam.ru:reduce_partials",
    bench="bankside.cosim.pam.ru:bench",
    page="docs/pam/ru.md",
    workload=PamRuWorkload,
    result=PamRuResult,
    published=("pam-hbm",),
    trial=Trial(
        {
            "lanes": 4,
            "source_lanes": 4,
            "sources": 2,
            "max_head_dim": 16,
            "scratch_bytes": 32,
            "format": "bf16",
            "acc_format": "bf16",
            "score_format": "bf16",
            "log_format": "bf16",
        },
        {"partials": 5, "head_dim": 8},
    ),
)
