"""Memories that stay macros: their size from the netlist, their area and timing from a macro family (an estimate)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bankside.constraints.libraries import MacroFamily, macro_family

from .liberty import Arc, Cell, Library, Pin, Table
from .netlist import Instance

__all__ = ["MacroModel", "MemoryMacro", "macro_model"]


@dataclass(frozen=True)
class MemoryMacro:
    """One memory kept as a macro; ``area_um2`` is an estimate of :class:`MacroModel`."""

    name: str
    depth: int
    width: int
    read_ports: int
    write_ports: int
    synchronous_read: bool
    area_um2: float

    @property
    def bits(self) -> int:
        return self.depth * self.width


@dataclass(frozen=True)
class MacroModel:
    """A macro family scaled to a cell library: factors on area, time and capacitance, 1 at the family's own node."""

    name: str
    family: MacroFamily
    area_factor: float
    time_factor: float
    capacitance_factor: float
    flip_flop_um2: float
    mux_um2: float

    @property
    def scaled(self) -> bool:
        return self.area_factor != 1

    def area_um2(self, bits: int, read_ports: int, write_ports: int) -> float:
        """Estimated area of a memory, um2.

        It is the area of the macro of that size and number of ports, but no more than the same memory built of
        flip-flops. Such a memory has a multiplexer per bit and write port to hold or load. It has another per bit and
        read port to select.
        """
        macro = self.family.area_um2(bits, read_ports + write_ports) * self.area_factor
        gates = bits * (self.flip_flop_um2 + (read_ports + write_ports) * self.mux_um2)
        return min(macro, gates)

    def describe(self, instance: Instance) -> MemoryMacro:
        p = instance.parameters
        depth, width, reads, writes = p["SIZE"], p["WIDTH"], p["RD_PORTS"], p["WR_PORTS"]
        clocked = p["RD_CLK_ENABLE"] == (1 << reads) - 1
        area = self.area_um2(depth * width, reads, writes)
        return MemoryMacro(instance.name, depth, width, reads, writes, clocked, area)

    def cell(self, instance: Instance) -> Cell:
        """A cell with the timing of one macro, for :func:`sta.analyse`.

        A clocked read port launches at the clock, and its address and enable have a setup time to the clock. A port
        without a clock passes from address to data in the same time.
        """
        p = instance.parameters
        width, abits = p["WIDTH"], p["ABITS"]
        t, c = self.time_factor, self.capacitance_factor
        access = _constant(self.family.clock_to_q_ns(p["SIZE"] * width, width) * t)
        slope = self.family.transition_ns_per_ff * t / c
        transition = _linear(self.family.transition_ns * t, slope)
        setup = _constant(self.family.setup_ns * t)
        both_delay, both_slew = dict.fromkeys(("rise", "fall"), access), dict.fromkeys(("rise", "fall"), transition)
        both_setup = dict.fromkeys(("rise", "fall"), setup)

        def setup_to(clock: str) -> tuple[Arc, ...]:
            return (Arc(clock, "setup_rising", "non_unate", {}, {}, both_setup),)

        pins: dict[str, Pin] = {}

        def pin(name: str, direction: str, arcs: tuple[Arc, ...] = (), clock: bool = False) -> None:
            ff = (self.family.clock_capacitance_ff if clock else self.family.input_capacitance_ff) * c
            ff = 0.0 if direction == "output" else ff
            pins[name] = Pin(name, direction, ff, ff, ff, None, None, clock, arcs)

        for port in range(p["RD_PORTS"]):
            clock = f"RD_CLK[{port}]"
            clocked = bool(p["RD_CLK_ENABLE"] >> port & 1)
            address = [f"RD_ADDR[{port * abits + i}]" for i in range(abits)]
            control = [f"{name}[{port}]" for name in ("RD_EN", "RD_SRST")]
            if clocked:
                pin(clock, "input", clock=True)
            for name in (*address, *control):
                pin(name, "input", setup_to(clock) if clocked else ())
            if clocked:
                arcs: tuple[Arc, ...] = (Arc(clock, "rising_edge", "non_unate", both_delay, both_slew, {}),)
            else:
                arcs = tuple(Arc(a, "combinational", "non_unate", both_delay, both_slew, {}) for a in address)
            for i in range(width):
                pin(f"RD_DATA[{port * width + i}]", "output", arcs)
        for port in range(p["WR_PORTS"]):
            clock = f"WR_CLK[{port}]"
            pin(clock, "input", clock=True)
            for i in range(abits):
                pin(f"WR_ADDR[{port * abits + i}]", "input", setup_to(clock))
            for i in range(width):
                for name in ("WR_DATA", "WR_EN"):
                    pin(f"{name}[{port * width + i}]", "input", setup_to(clock))
        return Cell("memory macro", 0.0, pins, (), False, False)


def _constant(value: float) -> Table:
    return Table(np.zeros(1), np.zeros(1), np.array([[value]]))


def _linear(constant: float, per_ff: float) -> Table:
    return Table(np.zeros(1), np.array([0.0, 1.0]), np.array([[constant, constant + per_ff]]))


def macro_model(library: Library) -> MacroModel:
    """The memory macros for ``library``."""
    name, family, scale = macro_family(library.name)
    factors = (1.0, 1.0, 1.0)
    if scale:  # the default family always has the three
        factors = (
            library.ge_um2 / (family.nand2_um2 or library.ge_um2),
            library.fo4_ns / (family.fo4_ns or library.fo4_ns),
            library.inverter.inputs[0].capacitance_ff / (family.inverter_ff or 1.0),
        )
    # A two-way multiplexer is 7 columns of a row where a two-input NAND is 3, if the library has none.
    muxes = [c.area_um2 for c in library.cells.values() if not c.dont_use and _is_mux(c)]
    mux = min(muxes, default=library.ge_um2 * 7 / 3)
    return MacroModel(name, family, *factors, library.flip_flop.area_um2, mux)


def _is_mux(cell: Cell) -> bool:
    """Whether a three-input function passes one of two inputs by the third, in any order of its inputs."""
    if len(cell.inputs) != 3 or cell.function is None:
        return False
    for s in range(3):
        for a in range(3):
            b = 3 - s - a
            if a != s and b != s and a != b:
                table = sum(1 << k for k in range(8) if (k >> (b if k >> s & 1 else a)) & 1)
                if table == cell.function:
                    return True
    return False
