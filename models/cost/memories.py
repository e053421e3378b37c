"""Area and energy of buffers: the macro model of synthesis, scaled to a logic process, and published areas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...constraints.aim.hub import HubConfig
from ...constraints.core.errors import ConfigError, nearest
from ...constraints.libraries import macro_family
from ...constraints.libraries.cacti import load_cacti
from .area import load_nodes

if TYPE_CHECKING:
    from ...constraints.aim.hub import HubConfig

__all__ = [
    "PUBLISHED",
    "BufferCost",
    "PublishedBuffer",
    "buffer_cost",
    "macro_ports",
    "opinions",
    "register_ports",
    "second_opinion",
    "table",
]

#: Smallest buffer: below it flip-flops are smaller than a macro (docs/synthesis.md).
LEAST_BITS = 512


@dataclass(frozen=True)
class BufferCost:
    """Estimates for one buffer.

    Attributes
    ----------
    mm2 : :class:`float`
        Area, at the middle of the band of the process.
    band_mm2 : pair of :class:`float`
        Low and high end of that band.
    read_pj, write_pj : :class:`float`
        Energy of one access to a word. Both are equal, because no source of the model distinguishes them.
    """

    mm2: float
    band_mm2: tuple[float, float]
    read_pj: float
    write_pj: float


def buffer_cost(
    bits: int, width: int, ports: int, node: str, density_penalty: float = 1.0, *, banks: int = 1
) -> BufferCost:
    """Cost of a buffer of ``bits`` with words of ``width`` bits and ``ports`` ports, in a logic process of
    ``nodes.yaml``. With ``banks`` it is so many equal macros with ``ports`` ports each, and an access works in one.

    The macros are the ones that synthesis takes for libraries without macros. Area is scaled by the area of the NAND2,
    as in synthesis. Energy is scaled by the ``energy_factor`` of the process. ``density_penalty`` is the area in a DRAM
    process over the area in the logic process. It does not change the energy.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown process, banks that do not divide the buffer or have less than 512 bits, no port, or words wider
        than a bank.
    """
    nodes = load_nodes().nodes
    if node not in nodes:
        raise ConfigError(nearest("logic node", node, nodes))
    if banks < 1 or bits % banks:
        raise ConfigError(f"banks must divide the {bits} bits of a buffer, not {banks}")
    bits //= banks
    if bits < LEAST_BITS or ports < 1 or not 1 <= width <= bits:
        raise ConfigError(
            f"a buffer or bank has {LEAST_BITS} bits or more, a port and words within it, not {bits} bits, "
            f"{ports} ports and words of {width}"
        )
    _, family, _ = macro_family("generic")
    area = banks * family.area_um2(bits, ports) * density_penalty * 1e-6 / (family.nand2_um2 or 1.0)
    nand2 = nodes[node].nand2_um2
    energy = family.access_pj(bits, width) * nodes[node].energy_factor
    return BufferCost(area * math.sqrt(nand2.low * nand2.high), (area * nand2.low, area * nand2.high), energy, energy)


@dataclass(frozen=True)
class PublishedBuffer:
    """A buffer whose area a paper states, with further inputs of the model that the paper may not state.

    Attributes
    ----------
    width, ports : :class:`int`
        Our values if the paper does not state them.
    density_penalty : :class:`float`
        10 on a DRAM die, PAM's figure (section 7.5).
    tolerance : :class:`float` or None
        Largest relative error that the model may have; None if the error is only shown.
    """

    name: str
    source: str
    bits: int
    width: int
    ports: int
    node: str
    density_penalty: float
    mm2: float
    tolerance: float | None
    note: str

    @property
    def cost(self) -> BufferCost:
        return buffer_cost(self.bits, self.width, self.ports, self.node, self.density_penalty)

    @property
    def cacti_mm2(self) -> float | None:
        """CACTI's area of the buffer in the same process, with the same penalty; None if it has none."""
        point = load_cacti().find(self.bits, self.width, self.ports, self.node)
        return None if point is None else point.mm2 * self.density_penalty

    @property
    def error(self) -> float:
        """The model's area over the paper's, less one."""
        return self.cost.mm2 / self.mm2 - 1


#: Every buffer for which one of the five papers states an area and a size.
PUBLISHED = (
    PublishedBuffer(
        "CENT instruction buffer, 2 MB", "CENT, Table 5", 2 << 23, 256, 1, "28nm", 1.0, 3.33, 0.25, "logic process"
    ),
    PublishedBuffer(
        "CENT shared buffer, 64 KB", "CENT, Table 5", 64 << 13, 256, 1, "28nm", 1.0, 0.11, 0.25, "logic process"
    ),
    PublishedBuffer(
        "PAM buffer of an HBM unit, 512 B",
        "PAM, Table 2: 11 % of 0.13 mm²",
        512 << 3,
        256,
        2,
        "14nm",
        10.0,
        0.11 * 0.13,
        0.25,
        "DRAM die; a read and a write port, as in ours",
    ),
    PublishedBuffer(
        "LoL-PIM global buffer, 2 KB",
        "LoL-PIM, section 7.2 (CACTI, 32 nm)",
        2048 << 3,
        256,
        1,
        "32nm",
        10.0,
        0.053,
        0.25,
        "DRAM die; one port, since one set is filled while the other is read",
    ),
    PublishedBuffer(
        "the same, not on a DRAM die",
        "LoL-PIM, section 7.2 (CACTI, 32 nm)",
        2048 << 3,
        256,
        1,
        "32nm",
        1.0,
        0.053,
        None,
        "if the figure is one of a logic process",
    ),
)


def table() -> str:
    """The published buffers beside the model and CACTI, in Markdown."""
    rows = [
        "| buffer | paper, mm² | from | process | penalty | ports | model, mm² | error | held to | CACTI, mm² | error "
        "| read or write, pJ | note |",
        "|---|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for one in PUBLISHED:
        cost, held, cacti = one.cost, "-" if one.tolerance is None else f"{100 * one.tolerance:.0f} %", one.cacti_mm2
        other = "- | -" if cacti is None else f"{cacti:.3g} | {100 * (cacti / one.mm2 - 1):+.0f} %"
        rows.append(
            f"| {one.name} | {one.mm2:.3g} | {one.source} | {one.node} | {one.density_penalty:g} | {one.ports} | "
            f"{cost.mm2:.3g} ({cost.band_mm2[0]:.3g} to {cost.band_mm2[1]:.3g}) | {100 * one.error:+.0f} % | "
            f"{held} | {other} | {cost.read_pj:.3g} | {one.note} |"
        )
    return "\n".join(rows)


def register_ports(config: HubConfig) -> dict[str, int]:
    """Ports of a hub's register memories, for :func:`macro_ports`. A netlist gives every memory a read port and a write
    port. A bank with one port has one address for both, and takes one access in a clock."""
    return {"registers.": config.bank_ports}


def macro_ports(memory: Mapping[str, Any], ports: int | Mapping[str, int] | None = None) -> int:
    """Ports of a memory of a synthesis: ``ports``, or the number of the first name in ``ports`` that begins its name.
    Otherwise the netlist's."""
    if isinstance(ports, int):
        return ports
    own = next((count for name, count in (ports or {}).items() if memory["name"].startswith(name)), None)
    return own or memory["read_ports"] + memory["write_ports"]


def second_opinion(
    memories: Iterable[Mapping[str, Any]], ports: int | Mapping[str, int] | None = None
) -> tuple[int, float, float] | None:
    """Macros of a synthesis that CACTI's table has: their number, and their mm2 at 45 nm by the model and by CACTI. None if
    it has none. For ``ports`` see :func:`macro_ports`."""
    found = [
        (buffer_cost(m["bits"], m["width"], count, "45nm").mm2, point.mm2)
        for m in memories
        for count in [macro_ports(m, ports)]
        if (point := load_cacti().find(m["bits"], m["width"], count, "45nm")) is not None
    ]
    return (len(found), sum(a for a, _ in found), sum(b for _, b in found)) if found else None


def opinions() -> str:
    """Every array of CACTI's table beside the model in the same process, in Markdown."""
    rows = [
        "| bits | word, bits | ports | process | transistors | model, mm² | CACTI, mm² | model / CACTI "
        "| CACTI, access in ns |",
        "|---:|---:|---:|---|---|---:|---:|---:|---:|",
    ]
    for p in load_cacti().points:
        mm2 = buffer_cost(p.bits, p.width, p.ports, p.node).mm2
        rows.append(
            f"| {p.bits:,} | {p.width} | {p.ports} | {p.node} | {p.cells} | {mm2:.3g} | {p.mm2:.3g} | "
            f"{mm2 / p.mm2:.2f} | {p.access_ns:.3g} |"
        )
    return "\n".join(rows)
