"""Workloads by name: distributions of input and output lengths, one YAML file each.

Every file has a ``source``. Where only means or ranges are published, the rest is this project's choice. The source
names it, and ``synthetic`` is true.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ..core.document import Strict

__all__ = ["FILES", "ArrivalSpec", "Beta", "Fixed", "Length", "LogNormal", "Quantiles", "Uniform", "WorkloadSpec"]

#: Longest input or output, in tokens.
MAX_TOKENS = 1 << 24

#: File of each built-in workload by its name.
FILES: dict[str, Path] = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.yaml"))}


def _tokens(description: str) -> Any:
    return Field(ge=1, le=MAX_TOKENS, strict=False, description=description)


class _Range(Strict):
    low: float = _tokens("least tokens")
    high: float = _tokens("most tokens")

    @model_validator(mode="after")
    def _check(self) -> Any:
        if self.low >= self.high:
            raise ValueError(f"low {self.low:g} must be less than high {self.high:g}")
        return self


class Quantiles(Strict):
    """A measured distribution: ``[share, tokens]`` points from share 0 to 1, straight lines between them."""

    kind: Literal["quantiles"]
    mean: float = _tokens("mean of what was measured; only told")
    points: list[list[float]] = Field(min_length=2, max_length=4096)

    @model_validator(mode="after")
    def _check(self) -> Quantiles:
        if any(len(point) != 2 for point in self.points):
            raise ValueError("each point must be [share, tokens]")
        shares, tokens = zip(*self.points, strict=True)
        if shares[0] != 0 or shares[-1] != 1:
            raise ValueError("the points must begin at share 0 and end at share 1")
        if any(b <= a for a, b in zip(shares, shares[1:], strict=False)):
            raise ValueError("shares must grow")
        if (
            any(b < a for a, b in zip(tokens, tokens[1:], strict=False))
            or not 1 <= tokens[0] <= tokens[-1] <= MAX_TOKENS
        ):
            raise ValueError(f"tokens must not shrink, and be 1 to {MAX_TOKENS}")
        return self


class LogNormal(_Range):
    """A log-normal distribution cut to ``low..high``, with this mean after the cut."""

    kind: Literal["lognormal"]
    mean: float = _tokens("mean, after the cut")
    ln_sd: float = Field(gt=0, le=10, strict=False, description="standard deviation of the logarithm, before the cut")

    @model_validator(mode="after")
    def _mean_within(self) -> LogNormal:
        if not self.low < self.mean < self.high:
            raise ValueError(f"mean {self.mean:g} must be between low {self.low:g} and high {self.high:g}")
        return self


class Beta(_Range):
    """A beta distribution over ``low..high`` with this mean and standard deviation."""

    kind: Literal["beta"]
    mean: float = _tokens("mean")
    sd: float = _tokens("standard deviation")

    @model_validator(mode="after")
    def _moments(self) -> Beta:
        if not self.low < self.mean < self.high:
            raise ValueError(f"mean {self.mean:g} must be between low {self.low:g} and high {self.high:g}")
        most = ((self.mean - self.low) * (self.high - self.mean)) ** 0.5
        if self.sd >= most:
            raise ValueError(f"sd {self.sd:g} must be less than {most:.6g} with this mean and range")
        return self


class Uniform(_Range):
    """All lengths of ``low..high`` are equally likely."""

    kind: Literal["uniform"]


class Fixed(Strict):
    """Always the same length."""

    kind: Literal["fixed"]
    tokens: int = Field(ge=1, le=MAX_TOKENS)


Length = Annotated[Quantiles | LogNormal | Beta | Uniform | Fixed, Field(discriminator="kind")]


class ArrivalSpec(Strict):
    """Arrivals with a gamma distribution of the times between them; ``cv`` 1 is a Poisson process."""

    rate: float = Field(gt=0, le=1e9, strict=False, description="mean requests per second")
    cv: float = Field(
        default=1.0,
        ge=0,
        le=100,
        strict=False,
        description="coefficient of variation of the times between arrivals; 0: all alike",
    )


class WorkloadSpec(Strict):
    """Lengths of requests, and when they arrive if that is known."""

    description: str
    synthetic: bool = Field(description="whether the distributions rest on more than the numbers of the source")
    input: Length
    output: Length
    total_at_most: int | None = Field(
        default=None, ge=2, le=2 * MAX_TOKENS, description="input and output together; the output is drawn first"
    )
    arrivals: ArrivalSpec | None = None
    source: str
