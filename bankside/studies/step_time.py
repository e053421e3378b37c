"""Memory timing of one channel's reads for a unit's decode step."""

from __future__ import annotations

from typing import Any

from bankside.constraints.core.errors import ConfigError

from ..hardware.generate import tool_versions
from ..hardware.selection import Selection
from ..provenance.sources import note_sources
from ..results.units import TimeUnit
from .trace import Outputs, Setting, write_program, write_view

__all__ = ["own_memory", "time_step"]


def own_memory(selection: Selection) -> str:
    """Name of the memory beside the unit.

    Raises
    ------
    :exc:`ConfigError`
        If the unit does not state one for this preset, or has no program of memory commands.
    """
    unit = selection.unit
    unit.load_program()  # says so if the unit has none
    default = unit.workload.model_fields["memory"].default if "memory" in unit.workload.model_fields else None
    name = unit.memories.get(selection.closest, None if unit.memories else default)
    if name is None:
        raise ConfigError(
            f"{unit.name} {selection.label}: no memory is stated beside this unit; name one with --memory"
        )
    return str(name)


def time_step(
    selection: Selection,
    *,
    memory: str,
    tokens: int,
    head_dim: int,
    queries: int,
    refresh: bool,
    power_limit: bool,
    outputs: Outputs | None = None,
) -> TimeUnit:
    """Memory timing of one channel's reads for a decode step."""
    from bankside.constraints.memory import load_memory
    from bankside.models.memory import time_program

    make = selection.unit.load_program()
    note_sources(time_step, make)
    device = load_memory(memory)
    config: Any = selection.config
    program = make(config, device, config.group_steps(tokens, head_dim, queries))
    outputs = outputs or Outputs()
    outputs.check()
    timing = time_program(program, device, refresh=refresh, power_limit=power_limit)
    view = export = None
    if outputs.log:
        from bankside.models.memory.issue_log import engine_log

        log = engine_log(program, timing.memory, timing.cycles, outputs.first, outputs.last, refresh=refresh)
        view = write_view(log, f"{selection.unit.name} {selection.label}, {tokens} tokens a bank", outputs)
    if outputs.export is not None:
        export = write_program(program, outputs, device, Setting(power_limit=power_limit))
    return TimeUnit(
        **selection.keys,
        memory=device.name,
        tokens=tokens,
        head_dim=head_dim,
        queries=queries,
        refresh=refresh,
        power_limit=power_limit,
        cycles=int(timing.cycles),
        time_ns=round(float(timing.time_ns), 3),
        commands={k: int(v) for k, v in timing.commands.items()},
        energy_pj=timing.energy_pj.get("total"),
        energy_breakdown_pj=timing.energy_pj or None,
        timeline=view,
        export=export,
        tools=tool_versions(),
    )
