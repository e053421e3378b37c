"""A memory in numbers, for ``bankside list``."""

from __future__ import annotations

from pathlib import Path

from bankside.constraints.memory import Memory

from ..results.units import MemoryFacts

__all__ = ["describe", "detailed_text", "line_text"]


def describe(memory: Memory) -> MemoryFacts:
    """Organisation, rates, refresh and sources of a memory: times in ns, figures of one device."""
    ns = memory.clock_ps / 1000
    refresh = memory.refresh
    return MemoryFacts(
        source=memory.source,
        file=Path(memory.file).name,
        channels=memory.channels,
        levels=dict(memory.levels),
        banks_per_channel=memory.banks,
        rows=memory.rows,
        row_bytes=memory.row_bytes,
        access_bytes=memory.column_bytes,
        capacity_bytes=memory.channels * memory.banks * memory.rows * memory.row_bytes,
        clock_mhz=1e6 / memory.clock_ps,
        channel_gb_per_s=memory.channel_bytes_per_s / 1e9,
        device_gb_per_s=memory.channels * memory.channel_bytes_per_s / 1e9,
        refresh=None
        if refresh is None
        else f"{refresh.command} every {refresh.interval * ns:.0f} ns, "
        f"{memory.commands[refresh.command].latency * ns:.0f} ns",
        power_limit=memory.power_limited is not None,
        quirks=sorted(memory.variants),
        energy="modelled" if any(c.energy_pj for c in memory.commands.values()) else "not modelled",
        commands=list(memory.commands),
        timings_cycles=dict(memory.parameters),
    )


def line_text(name: str, d: MemoryFacts) -> str:
    """One line: name, channels and banks, clock, peak rate, refresh, source."""
    return (
        f"{name:<20} {d.channels:>3} x {d.banks_per_channel:<3} {d.clock_mhz:>7.1f} MHz "
        f"{d.device_gb_per_s:>8.1f} GB/s  {'refresh' if d.refresh else '-':<7}  {d.source}"
    )


def detailed_text(memory: Memory) -> str:
    """Everything: organisation, rates, commands with their scope, timings in cycles and ns."""
    d = describe(memory)
    ns = memory.clock_ps / 1000
    levels = ", ".join(f"{level.replace('_', ' ')} {count}" for level, count in memory.levels.items())
    rows = [
        ("source", d.source),
        ("file", memory.file),
        (
            "organisation",
            f"channel {memory.channels}, {levels}; {memory.rows} rows of {memory.row_bytes} bytes, "
            f"{memory.column_bytes} an access",
        ),
        ("capacity", f"{d.capacity_bytes / 1e9:.1f} GB"),
        ("clock", f"{d.clock_mhz:.1f} MHz ({memory.clock_ps:g} ps)"),
        ("peak", f"{d.channel_gb_per_s:.1f} GB/s a channel, {d.device_gb_per_s:.1f} GB/s a device"),
        ("refresh", d.refresh or "none"),
        ("power limit", "on or off" if d.power_limit else "none stated"),
        ("quirks", ", ".join(d.quirks) or "none"),
        ("energy", d.energy),
    ]
    lines = [memory.name, *(f"  {key:<14} {value}" for key, value in rows), "  commands"]
    for command in memory.commands.values():
        scope = " ".join(command.scope) if command.scope else "all banks"
        extra = f", {command.bus_bytes} bytes on the bus" if command.bus_bytes else ""
        lines.append(f"    {command.name:<12} {command.row:<7} {command.latency:>9} cycles  {scope}{extra}")
    lines.append("  timings")
    lines += [f"    {key:<12} {value:>9} cycles  {value * ns:>12.2f} ns" for key, value in memory.parameters.items()]
    return "\n".join(lines)
