"""What a unit's bench is asked for, and what it answers: the interface between the command line and every bench."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["SimRequest"]


@dataclass(frozen=True)
class SimRequest:
    """One call of a unit's bench.

    Attributes
    ----------
    config : the unit's validated configuration
    verilog : text generated for it
    module : name of its top module
    memory : name or file of the memory whose timing brings the data
    tokens, head_dim : the measured step
    seed : of data and stalls
    waves : file for a waveform of the measured step, without suffix
    progress : called with a line of text at each stage
    """

    config: Any
    verilog: str
    module: str
    memory: str
    tokens: int
    head_dim: int
    seed: int
    waves: Path | None
    progress: Callable[[str], None]
