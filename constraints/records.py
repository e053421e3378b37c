"""Measurement records: what was measured on generated RTL, under which conditions, with which tools."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import Field

from .document import Strict

__all__ = ["Record", "config_hash"]


def config_hash(unit: str, config: Strict) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a unit's name and expanded configuration."""
    text = json.dumps({"unit": unit, "config": config.model_dump(mode="json")}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Record(Strict):
    """One measurement of one unit.

    Attributes
    ----------
    kind : ``"sim"`` or ``"synth"``
        Co-simulation or synthesis.
    conditions
        What besides the configuration decides the result (head dimension and tokens; library and effort).
    results
        The measured figures. ``sim`` of ``pam-pu``: ``beats_per_clock`` (K/V beats accepted per clock in the streaming
        phases), ``softmax_gap_cycles`` (clocks from the last K beat of a tile to the first V beat, when nothing hides
        it), ``drain_cycles`` (clocks from the last V beat to the last output beat), ``cycles``, ``ideal_cycles``,
        ``stall_cycles``, ``utilisation``, ``max_abs_error``. ``synth``: ``area_um2``, ``area_ge``, ``sequential_ge``,
        ``memory_bits``, ``critical_path_ns``, ``fmax_mhz``, ``cells``.
    """

    schema_version: Literal[1] = 1
    kind: Literal["sim", "synth"]
    unit: str
    preset: str | None = None
    config: dict[str, Any]
    config_hash: str = Field(pattern=r"^[0-9a-f]{16}$")
    conditions: dict[str, Any]
    results: dict[str, Any]
    tools: dict[str, str]

    @property
    def name(self) -> str:
        """File name without suffix; equal conditions give equal names, so a new measurement replaces the old one."""
        marks = "-".join(f"{key}={value}" for key, value in sorted(self.conditions.items()))
        return f"{self.unit}-{self.config_hash}-{self.kind}-{marks}"
