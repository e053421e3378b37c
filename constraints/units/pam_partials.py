"""What the parameters of PAM's processing and reduction units have in common: lanes, formats, and head dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import model_validator

from ..document import Strict
from ..errors import ConfigError
from ..formats import FORMATS, FloatFormat

__all__ = ["PartialUnitConfig", "check_power_of_two"]


def check_power_of_two(name: str, value: int) -> None:
    if value & (value - 1):
        raise ValueError(f"{name} must be a power of two, not {value}")


class PartialUnitConfig(Strict):
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
            raise ConfigError(f"head dimension must be a multiple of {self.lanes} (lanes) in {self.lanes}.."
                              f"{self.max_head_dim}, not {head_dim}")
