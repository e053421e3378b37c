"""Logic depth of a netlist of FPGA primitives, in LUT levels.

A LUT is a level, also one that is a memory read without a clock. A DSP block that a path passes, or whose multiplier
lies between the path's end and a register, is a level too. Carry chains and the multiplexers between the LUTs of a slice
have wires of their own and are no level. A path with more carry pieces counts as the longer one among paths of as many
levels. Wires are not known.

The design is not flattened. A module is analysed once, and then stands for its instances by the depths from its inputs,
to its outputs, and between both. A path over several modules is seen whole.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bankside.constraints.core.errors import ConfigError

__all__ = ["Depth", "ModuleDepth", "depths"]

# A length is one number, so that comparing is cheap: levels, then carry pieces, then DSP blocks among the levels.
_LEVEL, _CARRY, _DSP = 1 << 40, 1 << 20, 1
_BLOCK = _LEVEL + _DSP


@dataclass(frozen=True, order=True)
class Depth:
    """The longest path: LUT levels, carry pieces, DSP blocks among the levels, and its two ends."""

    levels: int = 0
    carry4: int = 0
    dsp: int = 0
    start: str | None = field(default=None, compare=False)
    end: str | None = field(default=None, compare=False)

    def over(self, other: Depth) -> Depth:
        """The longer of two."""
        return max(other, self)


class _Way(NamedTuple):
    """A length and the end to which it leads."""

    length: int
    end: str


@dataclass
class ModuleDepth:
    """Depths of a module.

    Attributes
    ----------
    inside : :class:`Depth`
        Longest path between registers of it and of the modules inside it.
    alone : :class:`Depth`
        The same with registers directly outside the ports.
    outward, inward : mapping of port bit to way
        To an output from a register; from an input to a register.
    through : mapping of output bit to mapping of input bit to length
    """

    inside: Depth
    alone: Depth
    outward: dict[tuple[str, int], _Way]
    inward: dict[tuple[str, int], _Way]
    through: dict[tuple[str, int], dict[tuple[str, int], int]]


def depths(modules: Mapping[str, Any], top: str) -> dict[str, ModuleDepth]:
    """Depths of ``top`` and of all modules inside it, from a JSON netlist of Yosys.

    Raises
    ------
    :exc:`ConfigError`
        If there is a combinational loop.
    """
    found: dict[str, ModuleDepth] = {}

    def visit(name: str) -> None:
        for cell in modules[name]["cells"].values():
            if cell["type"] in modules and cell["type"] not in found:
                visit(cell["type"])
        found[name] = _Graph(name, modules[name], found).result()

    visit(top)
    return found


class _Graph:
    """Bits of one module, with the lengths between them."""

    def __init__(self, name: str, module: Mapping[str, Any], done: Mapping[str, ModuleDepth]) -> None:
        self.name, self.module = name, module
        self.fanin: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.fanout: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.starts: dict[int, _Way] = {}
        self.ends: dict[int, _Way] = {}
        self.nets: dict[int, str] = {}
        named = sorted((entry["hide_name"], len(net), net) for net, entry in module["netnames"].items())
        for _, _, net in named:
            entry = module["netnames"][net]
            for place, bit in enumerate(entry["bits"]):
                if isinstance(bit, int):
                    self.nets.setdefault(bit, net if len(entry["bits"]) == 1 else f"{net}[{place}]")
        for instance, cell in module["cells"].items():
            if cell["type"] in done:
                self._add_module(instance, cell, done[cell["type"]])
            elif cell["type"] != "$scopeinfo":
                self._add_primitive(instance, cell)

    # Cells -----------------------------------------------------------------------------------------------------------

    def _arc(self, source: Any, target: Any, length: int) -> None:
        if isinstance(source, int) and isinstance(target, int):
            self.fanin[target].append((source, length))
            self.fanout[source].append((target, length))

    def _start(self, bit: Any, length: int, end: str) -> None:
        if isinstance(bit, int) and (bit not in self.starts or self.starts[bit].length < length):
            self.starts[bit] = _Way(length, end)

    def _end(self, bit: Any, length: int, end: str) -> None:
        if isinstance(bit, int) and (bit not in self.ends or self.ends[bit].length < length):
            self.ends[bit] = _Way(length, end)

    def _add_module(self, instance: str, cell: Mapping[str, Any], inner: ModuleDepth) -> None:
        wires = cell["connections"]
        for (port, place), way in inner.outward.items():
            self._start(_bit(wires, port, place), way.length, f"{instance}.{way.end}")
        for (port, place), way in inner.inward.items():
            self._end(_bit(wires, port, place), way.length, f"{instance}.{way.end}")
        for (port, place), sources in inner.through.items():
            for (other, at), length in sources.items():
                self._arc(_bit(wires, other, at), _bit(wires, port, place), length)

    def _add_primitive(self, instance: str, cell: Mapping[str, Any]) -> None:
        kind, wires, flow = cell["type"], cell["connections"], cell["port_directions"]
        inputs = [
            (port, place, bit)
            for port, bits in wires.items()
            if flow[port] == "input"
            for place, bit in enumerate(bits)
        ]
        outputs = [
            (port, place, bit)
            for port, bits in wires.items()
            if flow[port] == "output"
            for place, bit in enumerate(bits)
        ]
        state = (
            instance
            if "$" not in instance
            else next((self.nets[bit] for _, _, bit in outputs if isinstance(bit, int) and bit in self.nets), instance)
        )
        if re.fullmatch(r"LUT[1-6]|INV|MUXF[789]", kind):
            length = 0 if kind.startswith("MUXF") else _LEVEL
            for _, _, source in inputs:
                for _, _, target in outputs:
                    self._arc(source, target, length)
        elif kind == "CARRY4":
            for port, place, source in inputs:
                for other, at, target in outputs:  # a bit of O does not depend on the DI beside it
                    if port in ("CI", "CYINIT") or place < at or (place == at and (port == "S" or other == "CO")):
                        self._arc(source, target, _CARRY)
        elif kind == "DSP48E2":
            self._add_dsp(cell["parameters"], inputs, outputs, state)
        else:  # registers and memories; what is read without a clock goes from the address to the data
            addressed = kind.startswith(("SRL", "RAM")) and not kind.startswith("RAMB")
            for _, _, bit in outputs:
                self._start(bit, 0, state)
            for port, _, bit in inputs:
                if port in ("C", "CLK", "WCLK", "CLKARDCLK", "CLKBWRCLK"):
                    continue
                self._end(bit, 0, state)
                if addressed:
                    for other, _, target in outputs:
                        if _reads(port, other):
                            self._arc(bit, target, _LEVEL)

    def _add_dsp(self, parameters: Mapping[str, str], inputs: list[Any], outputs: list[Any], state: str) -> None:
        def on(name: str) -> bool:
            return "1" in parameters.get(name, "1")  # registers are there by default

        behind = {port: on("PREG") or (port not in ("C", "PCIN") and on("MREG")) for port in "ABCD"}
        for port, _, bit in inputs:
            letter = port.removesuffix("CIN") if port in ("ACIN", "BCIN", "PCIN") else port
            if port == "CLK" or letter not in ("A", "B", "C", "D", "P"):
                continue  # enables, resets and modes are constants or registers of their own
            registered = {"A": on("AREG"), "B": on("BREG"), "C": on("CREG"), "D": on("DREG"), "P": False}[letter]
            if registered or behind.get(letter, on("PREG")):
                self._end(bit, 0 if registered else _BLOCK, state)
            else:
                for other, _, target in outputs:
                    if other.startswith("P"):
                        self._arc(bit, target, _BLOCK)
        if on("PREG") or any(on(name) for name in ("AREG", "BREG", "CREG", "MREG")):
            for _, _, bit in outputs:
                self._start(bit, 0 if on("PREG") else _BLOCK, state)

    # Paths -----------------------------------------------------------------------------------------------------------

    def _order(self) -> list[int]:
        """Bits, each behind those it depends on."""
        waits = {bit: len(sources) for bit, sources in self.fanin.items()}
        known = {*self.fanin, *self.fanout, *self.starts, *self.ends}
        ready = [bit for bit in known if not waits.get(bit)]
        out: list[int] = []
        while ready:
            bit = ready.pop()
            out.append(bit)
            for target, _ in self.fanout.get(bit, ()):
                waits[target] -= 1
                if not waits[target]:
                    ready.append(target)
        if len(out) < len(known):
            bit = min(known - set(out))
            raise ConfigError(f"{self.name}: a combinational loop goes through {self.nets.get(bit, 'a signal')}")
        return out

    def _ports(self, direction: str) -> Iterator[tuple[str, int, int]]:
        for port, entry in self.module["ports"].items():
            if entry["direction"] == direction:
                for place, bit in enumerate(entry["bits"]):
                    if isinstance(bit, int):
                        yield port, place, bit

    def result(self) -> ModuleDepth:
        order = self._order()
        arrive: dict[int, _Way] = {}
        outside: dict[int, _Way] = {bit: _Way(0, f"{port}[{place}]") for port, place, bit in self._ports("input")}
        with_ports: dict[int, _Way] = {}
        for bit in order:
            for ways, seeds in ((arrive, (self.starts,)), (with_ports, (self.starts, outside))):
                best = max((one[bit] for one in seeds if bit in one), default=None)
                for source, length in self.fanin.get(bit, ()):
                    if source in ways and (best is None or ways[source].length + length > best.length):
                        best = _Way(ways[source].length + length, ways[source].end)
                if best is not None:
                    ways[bit] = best
        leave: dict[int, _Way] = {}
        for bit in reversed(order):
            way = self.ends.get(bit)
            for target, length in self.fanout.get(bit, ()):
                if target in leave and (way is None or leave[target].length + length > way.length):
                    way = _Way(leave[target].length + length, leave[target].end)
            if way is not None:
                leave[bit] = way
        outputs = {bit: f"{port}[{place}]" for port, place, bit in self._ports("output")}
        finishes = {bit: way for bit, way in self.ends.items()}
        alone = {**finishes, **{bit: _Way(0, name) for bit, name in outputs.items() if bit not in finishes}}
        return ModuleDepth(
            inside=_longest(arrive, finishes),
            alone=_longest(with_ports, alone),
            outward={(port, place): arrive[bit] for port, place, bit in self._ports("output") if bit in arrive},
            inward={(port, place): leave[bit] for port, place, bit in self._ports("input") if bit in leave},
            through=self._through(order),
        )

    def _through(self, order: list[int]) -> dict[tuple[str, int], dict[tuple[str, int], int]]:
        """Lengths from inputs to outputs without a register between them."""
        outputs: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for port, place, bit in self._ports("output"):
            outputs[bit].append((port, place))
        place_of = {bit: number for number, bit in enumerate(order)}
        reaches = set(outputs)
        for bit in reversed(order):
            if bit not in reaches and any(target in reaches for target, _ in self.fanout.get(bit, ())):
                reaches.add(bit)
        out: dict[tuple[str, int], dict[tuple[str, int], int]] = defaultdict(dict)
        for port, place, bit in self._ports("input"):
            if bit not in reaches:
                continue
            ways = {bit: 0}
            waiting = [(place_of.get(bit, -1), bit)]
            while waiting:
                _, here = heapq.heappop(waiting)
                for name in outputs.get(here, ()):
                    out[name][port, place] = max(ways[here], out[name].get((port, place), 0))
                for target, length in self.fanout.get(here, ()):
                    if target not in reaches:
                        continue
                    if target not in ways:
                        heapq.heappush(waiting, (place_of[target], target))
                    ways[target] = max(ways.get(target, 0), ways[here] + length)
        return dict(out)


def _longest(ways: Mapping[int, _Way], ends: Mapping[int, _Way]) -> Depth:
    best, start, end = max(
        ((ways[bit].length + way.length, ways[bit].end, way.end) for bit, way in ends.items() if bit in ways),
        default=(0, None, None),
    )
    return Depth(best // _LEVEL, best % _LEVEL // _CARRY, best % _CARRY, start, end)


def _bit(wires: Mapping[str, list[Any]], port: str, place: int) -> Any:
    bits = wires.get(port, ())
    return bits[place] if place < len(bits) else None


def _reads(port: str, data: str) -> bool:
    """Whether a port of a LUT that is a memory addresses the data at another port without a clock."""
    if port.startswith("ADDR"):
        letter = port.removeprefix("ADDR")
        return not letter or data.removeprefix("DO") in (letter, "")
    if port.startswith("DPRA"):
        return data == "DPO"
    return bool(re.fullmatch(r"A\d*", port)) and data != "DPO"
