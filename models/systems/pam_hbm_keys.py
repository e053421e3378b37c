"""Keys of systems with units beside banks in the result of ``eval``."""

from __future__ import annotations

from typing import Any

from ...constraints.core.result import Part, key

__all__ = ["UnitKeys"]


class UnitFigures(Part):
    """The unit of a system, with measured figures."""

    unit: str = key("name of the unit")
    preset: str | None = key("preset of the unit")
    settings: dict[str, Any] = key("parameters that differ from the preset")
    config: dict[str, Any] = key("the configuration")
    config_hash: str = key("hash of the configuration")
    clock_mhz: float = key("clock at which the unit runs", "MHz")
    fmax_mhz: float | None = key("measured highest clock", "MHz")
    library: str = key("cell library of this measurement")
    meets_clock: bool = key("whether `fmax_mhz` is at least `clock_mhz`")
    process: dict[str, Any] | None = key(
        "`process` of [synth](#synth): the clock in the unit's own process; null if there is none"
    )
    area_ge: float = key("measured area", "GE")
    beats_per_clock: float = key("measured `beats_per_clock` of [sim](#sim)", "beats/clock")
    softmax_gap_cycles: int = key("measured `softmax_gap_cycles` of [sim](#sim)", "clocks")
    drain_cycles: int = key("measured `drain_cycles` of [sim](#sim)", "clocks")


class UnitAttention(Part):
    """Attention on units beside the banks of a memory."""

    memory: str = key("name of the memory")
    power_limit: bool = key("whether the power limit applies")
    refresh: bool = key("whether refresh is included")
    channels: int = key("channels of a device")
    banks: int = key("banks of a channel")
    instances: int = key("key/value heads times requests, on one device")
    channels_per_instance: int = key("channels over which one instance is spread")
    instances_per_channel: int = key("instances on the busiest channel")
    queries_per_instance: int = key("queries that share keys and values")
    queries_per_pass: int = key("most queries that a burst of K or V meets")
    passes: int = key("passes over K and V for the queries that share them")
    tokens_per_bank: int = key("tokens in the fullest bank", "tokens")
    cycles_per_layer: int = key("cycles of the busiest channel", "memory clocks")
    reads_per_layer: int = key("all-bank reads of the busiest channel")
    read_slot_utilisation: float = key("fraction of the shortest read intervals that are used")
    softmax_gap_memory_cycles: int = key("measured softmax gap", "memory clocks")
    unit_burst_memory_cycles: int = key("time that the unit needs for one column burst", "memory clocks")


class UnitKeys(Part):
    """Keys of a system with units beside the banks of one memory."""

    unit: UnitFigures = key("the unit with measured figures")
    attention: UnitAttention = key("attention beside memory")
