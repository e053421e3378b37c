"""Common parts of PAM's processing and reduction units: lanes, formats, head dimensions, beats of partial results."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from pydantic import model_validator

from ..core.contract import Field, Layout, UnitConfig
from ..core.errors import ConfigError
from ..core.formats import FORMATS, FloatFormat

__all__ = [
    "Kind",
    "PartialKind",
    "PartialUnitConfig",
    "ScoringKind",
    "check_power_of_two",
    "partial_layout",
    "queries_field",
]


class PartialKind(IntEnum):
    """Contents of a beat of a partial result."""

    OUTPUT = 0  #: elements of the unnormalised output O
    MAXIMUM = 1  #: the row maximum m in the lowest bits, above it the scale
    SUM = 2  #: the sum l in the lowest bits
    LOG_SUM = 3  #: m + ln l in the lowest bits, in the place of the sum


#: Contents of a beat of a processing unit, which sends no logarithm.
Kind = IntEnum("Kind", {one.name: one.value for one in PartialKind if one is not PartialKind.LOG_SUM})  # type: ignore[misc]

#: Contents of a beat of a processing unit whose steps may be scores alone. A score has the number of the logarithm.
ScoringKind = IntEnum("ScoringKind", {**{one.name: one.value for one in Kind}, "SCORE": 3})  # type: ignore[misc]


def partial_layout(
    lanes: int,
    io: FloatFormat,
    kinds: type[IntEnum] = PartialKind,
    *,
    data: str,
    kind: str,
    last: str,
    final: str,
    queries: int = 1,
) -> Layout:
    """Beat of a partial result with ``lanes`` elements of O; the texts are the meanings of its fields.

    With several ``queries``, a beat has the number of its query.
    """
    return Layout.of(
        Field("data", lanes * io.width, data, lanes, io),
        Field("kind", 2, kind, kinds=kinds),
        Field("last", 1, last),
        Field("final", 1, final),
        *([Field("query", (queries - 1).bit_length(), "query that the beat belongs to")] if queries > 1 else []),
    )


def queries_field(queries: int) -> list[Field]:
    """The field of a command with the number of queries of the step; none if it is always one."""
    return [Field("queries", queries.bit_length(), f"queries of the step, 1 to {queries}")] if queries > 1 else []


def check_power_of_two(name: str, value: int) -> None:
    if value & (value - 1):
        raise ValueError(f"{name} must be a power of two, not {value}")


class PartialUnitConfig(UnitConfig):
    """A unit that sends partial results: m, l, and O in beats of ``lanes`` elements."""

    if TYPE_CHECKING:  # fields, which every unit declares in an order of its own
        lanes: int
        format: str
        acc_format: str
        score_format: str
        max_head_dim: int

    @model_validator(mode="after")
    def _check_lanes(self) -> PartialUnitConfig:
        check_power_of_two("lanes", self.lanes)
        if self.max_head_dim % self.lanes:
            raise ValueError(f"max_head_dim must be a multiple of lanes ({self.lanes}), not {self.max_head_dim}")
        return self

    @property
    def io(self) -> FloatFormat:
        """Format of the elements on the streams."""
        return FORMATS[self.format]

    @property
    def acc(self) -> FloatFormat:
        return FORMATS[self.acc_format]

    @property
    def score(self) -> FloatFormat:
        return FORMATS[self.score_format]

    @property
    def beat_bytes(self) -> int:
        """Bytes of ``lanes`` elements."""
        return self.lanes * self.io.width // 8

    @property
    def max_chunks(self) -> int:
        """Beats of the longest O."""
        return self.max_head_dim // self.lanes

    def check_head_dim(self, head_dim: int) -> None:
        """Raise :exc:`ConfigError` if this configuration can't take heads of ``head_dim`` elements."""
        if head_dim % self.lanes or not self.lanes <= head_dim <= self.max_head_dim:
            raise ConfigError(
                f"head dimension must be a multiple of {self.lanes} (lanes) in {self.lanes}.."
                f"{self.max_head_dim}, not {head_dim}"
            )
