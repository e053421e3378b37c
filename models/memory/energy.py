"""Energy from command counts: closed form, by component."""

from __future__ import annotations

from collections.abc import Mapping

from ...constraints.memory import Memory

__all__ = ["energy_pj"]


def energy_pj(counts: Mapping[str, int], memory: Memory) -> dict[str, float]:
    """Energy of ``counts`` commands of one channel, in pJ by component, and their sum as ``total``.

    The memory file states what each component includes. The result is empty if the file states no energy. Raises
    :exc:`ConfigError` for an unknown command.
    """
    out: dict[str, float] = {component: 0.0 for command in memory.commands.values() for component in command.energy_pj}
    for op, count in counts.items():
        for component, energy in memory.command(op).energy_pj.items():
            out[component] += count * energy
    if out:
        out["total"] = sum(out.values())
    return out
