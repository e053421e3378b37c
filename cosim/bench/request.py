"""The request to a unit's bench: the interface between the command line and every bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Part", "SimRequest"]


@dataclass(frozen=True)
class Part:
    """A unit's RTL: configuration, Verilog generated for it, its top module, and its fixed latencies in clocks by name."""

    config: Any
    verilog: str
    module: str
    latency: Mapping[str, int]


@dataclass(frozen=True)
class SimRequest:
    """One call of a unit's bench.

    Attributes
    ----------
    config : the unit's validated configuration
    verilog : text generated for it
    module : name of its top module
    latency : its fixed latencies in clocks by name
    model : the unit's functional model
    workload : the unit's workload, which is to be simulated
    seed : of data and stalls
    waves : file for a waveform without suffix
    progress : called with a line of text at each stage
    quick : a check without a measurement: a few random episodes with stalls only. The bench ends at the first run that
        differs from the model
    part : gives other units to a bench of several units: called with a unit's name, a preset and ``key=value`` settings
    """

    config: Any
    verilog: str
    module: str
    latency: Mapping[str, int]
    model: Callable[..., Any]
    workload: Any
    seed: int
    waves: Path | None
    progress: Callable[[str], None]
    part: Callable[..., Part]
    quick: bool = False
