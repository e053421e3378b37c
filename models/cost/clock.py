"""Clock of a unit in its own process, estimated from a path that was measured in a cell library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ...constraints.core.errors import ConfigError, nearest
from ...constraints.systems import Nodes, Process
from .area import load_nodes

__all__ = ["ProcessClock", "clock_in_process", "delay_factor", "process_clock", "process_of"]


@dataclass(frozen=True)
class ProcessClock:
    """Estimate of a unit's longest path and clock in its own process; pairs are without and with the wire margin.

    Attributes
    ----------
    process, logic_node : :class:`str`
        Keys of ``nodes.yaml``.
    delay_node : :class:`str`
        Node whose delay factor counts: the logic node, or the node that stands in for it.
    delay_factor : :class:`float`
        Delay of a gate of the process over that at 45 nm, with the penalty of a DRAM process.
    critical_path_ns, fmax_mhz : pair of :class:`float`
    clock_mhz : :class:`float`
        Target clock.
    verdict : :class:`str`
        ``meets`` or ``misses``: the estimate with and the estimate without wires agree. ``undecided``: they do not.
    sentence : :class:`str`
        The verdict for people.
    """

    process: str
    logic_node: str
    delay_node: str
    dram: bool
    delay_factor: float
    critical_path_ns: tuple[float, float]
    fmax_mhz: tuple[float, float]
    clock_mhz: float
    verdict: Literal["meets", "misses", "undecided"]
    sentence: str
    source: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _sentence(fmax_mhz: tuple[float, float], process: Process, delay_node: str, clock_mhz: float, verdict: str) -> str:
    """The verdict for people."""
    bare, wired = fmax_mhz
    kind = "DRAM process" if process.dram else "logic process"
    what = {"meets": "meets", "misses": "misses", "undecided": "wires decide on"}[verdict]
    stands = "" if delay_node == process.logic_node else f", delay of {delay_node}"
    return (
        f"{bare:.0f} MHz, {wired:.0f} with wires, in its {kind} (estimate, {process.logic_node}{stands}): {what} "
        f"{clock_mhz:g} MHz"
    )


def process_of(unit: str, preset: str | None, nodes: Nodes | None = None) -> str | None:
    """Process of a unit's preset; None if none is stated."""
    return (nodes or load_nodes()).units.get(unit, {}).get(preset or "")


def delay_factor(process: str, nodes: Nodes | None = None) -> tuple[float, str]:
    """Delay of a gate in a process over that at 45 nm, and the node from which it comes.

    Raises
    ------
    :exc:`ConfigError`
        If the process is unknown.
    """
    nodes = nodes or load_nodes()
    if process not in nodes.processes:
        raise ConfigError(nearest("process", process, nodes.processes))
    chosen = nodes.processes[process]
    name = nodes.nodes[chosen.logic_node].delay_stand_in or chosen.logic_node
    factor = nodes.nodes[name].delay_factor
    assert factor is not None  # the schema holds a stand-in to it
    return factor * (nodes.dram_delay_penalty if chosen.dram else 1.0), name


def clock_in_process(
    path_ns: float, fo4_ps: float, clock_mhz: float, process: str, nodes: Nodes | None = None
) -> ProcessClock:
    """Estimate for a path of ``path_ns`` in a library whose inverter with a fan-out of four takes ``fo4_ps``.

    The path keeps its length in FO4. FO4 of the process is the reference at 45 nm times :func:`delay_factor`. The high
    end of the wire margin counts as wires.

    Raises
    ------
    :exc:`ConfigError`
        If the process is unknown.
    """
    nodes = nodes or load_nodes()
    factor, delay_node = delay_factor(process, nodes)
    chosen = nodes.processes[process]
    bare = path_ns / fo4_ps * nodes.reference_fo4_ps * factor
    wired = bare * (1 + nodes.wire_margin.high)
    period = 1e3 / clock_mhz
    sources = [
        chosen.source,
        nodes.nodes[chosen.logic_node].delay_source,
        *([nodes.nodes[delay_node].delay_source] if delay_node != chosen.logic_node else []),
        *([nodes.dram_delay_source] if chosen.dram else []),
        nodes.wire_margin_source,
    ]
    fmax = (1e3 / bare, 1e3 / wired)
    verdict: Literal["meets", "misses", "undecided"] = (
        "meets" if wired <= period else "misses" if bare > period else "undecided"
    )
    return ProcessClock(
        process=process,
        logic_node=chosen.logic_node,
        delay_node=delay_node,
        dram=chosen.dram,
        delay_factor=factor,
        critical_path_ns=(bare, wired),
        fmax_mhz=fmax,
        clock_mhz=clock_mhz,
        verdict=verdict,
        sentence=_sentence(fmax, chosen, delay_node, clock_mhz, verdict),
        source="; ".join(sources),
    )


def process_clock(unit: str, preset: str | None, results: Mapping[str, Any], clock_mhz: float) -> ProcessClock | None:
    """Estimate for a unit from the results of its synthesis. None if no process is stated, or if the results have no path
    or no FO4."""
    process = process_of(unit, preset)
    path, fo4 = results["critical_path_ns"], results.get("fo4_ps")
    return clock_in_process(path, fo4, clock_mhz, process) if process and path and fo4 else None
