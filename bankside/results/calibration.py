"""Results of calibrations."""

from __future__ import annotations

from .result import Noted, Part, key

__all__ = ["Calibrate", "FittedActivations", "Sparsity"]


class Calibrate(Noted):
    system: str = key("name of the system")
    model: str = key("name of the model")
    x: float = key("importance of a token in HBM, divided by the importance of a token in the SSD")
    y: float = key("importance of a token in DDR, divided by the importance of a token in the SSD")
    tier_us: dict[str, float] = key("time of a layer's attention in each tier, with these ratios", "µs")
    rounds: int = key("number of the round whose ratios these are, counted from 1")
    equal: bool = key("whether the slowest tier takes at most a tenth longer than the fastest")
    conditions: str = key("description of the calibrated load")
    sorted: bool = key("whether the tokens are sorted by importance, so that no higher ratios make a tier faster")
    file: str | None = key("written table")


class Sparsity(Part):
    """Parameters of synthetic activations."""

    compression: float = key("tokens per active token")
    spread: float = key("standard deviation of the logarithm of a token's probability")
    keep: float = key("probability that a token keeps its state from one step to the next")
    sink: int = key("number of first tokens that are always active, taken from the system", "tokens")
    recent: int = key("number of last tokens that are always active", "tokens")


class FittedActivations(Noted):
    """``bankside calibrate --trace``."""

    system: str = key("name of the system")
    trace: str = key("file of the trace")
    sparsity: Sparsity = key("parameters of the synthetic activations")
