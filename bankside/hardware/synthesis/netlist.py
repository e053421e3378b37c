"""The mapped netlist that Yosys writes as JSON: instances of library cells and memory macros between nets."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bankside.constraints.core.errors import ConfigError, nearest

from .liberty import Cell, Library

__all__ = ["MACRO", "Instance", "Netlist", "Port", "buffer_heavy_nets", "read_netlist", "write_verilog"]

#: Module name of a memory that stayed a macro.
MACRO = "memory_macro"

#: Numbers in place of nets: constants, and open or undefined pins.
ZERO, ONE, OPEN = -1, -2, -3
UNDEFINED = "1'bx"


@dataclass(frozen=True)
class Port:
    """A port of the top module; ``bits`` are its nets, least significant first (negative: constant or open).

    A port of a part inside leads into or out of that part: ``part`` is its module and ``inner`` the port there.
    """

    name: str
    direction: str
    bits: tuple[int, ...]
    part: str = ""
    inner: str = ""

    def named_bits(self) -> Iterator[tuple[str, int]]:
        """(name of a bit, its net) for the bits that are on a net."""
        for i, net in enumerate(self.bits):
            if net >= 0:
                yield self._bit(self.name, i), net

    def inner_bits(self) -> Iterator[tuple[str, str]]:
        """(name of a bit, its name in the part) for the bits that are on a net."""
        for i, net in enumerate(self.bits):
            if net >= 0:
                yield self._bit(self.name, i), self._bit(self.inner, i)

    def _bit(self, name: str, i: int) -> str:
        return name if len(self.bits) == 1 else f"{name}[{i}]"


@dataclass(frozen=True)
class Instance:
    """One cell: its name, its kind, and the net of every pin bit (negative if it is constant or open)."""

    name: str
    cell: str
    pins: dict[str, int]
    parameters: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Netlist:
    """A flat mapped netlist.

    Attributes
    ----------
    top : :class:`str`
    ports : tuple of :class:`Port`
    instances : tuple of :class:`Instance`
        Library cells, in the order of the file.
    macros : tuple of :class:`Instance`
        Memories; pins are bits such as ``RD_DATA[3]``.
    net_names : mapping of net to name
        A readable name if the source gave one; else a name with ``$``, which its generator made up.
    """

    top: str
    ports: tuple[Port, ...]
    instances: tuple[Instance, ...]
    macros: tuple[Instance, ...]
    net_names: dict[int, str] = field(repr=False)

    @property
    def inputs(self) -> dict[str, int]:
        """Net of every input port bit, by name."""
        return {name: net for p in self.ports if p.direction == "input" for name, net in p.named_bits()}

    @property
    def outputs(self) -> dict[str, int]:
        """Net of every output port bit that is on a net, by name."""
        return {name: net for p in self.ports if p.direction == "output" for name, net in p.named_bits()}

    def counts(self) -> dict[str, int]:
        """Number of library cells of each kind, by name."""
        out: dict[str, int] = {}
        for instance in self.instances:
            out[instance.cell] = out.get(instance.cell, 0) + 1
        return dict(sorted(out.items()))


def _net(bit: Any) -> int:
    return bit if isinstance(bit, int) else {"0": ZERO, "1": ONE}.get(bit, OPEN)


def _number(value: Any) -> int:
    return int(value, 2) if isinstance(value, str) else int(value)


def read_netlist(text: str | bytes, top: str, known: Any, boxes: Collection[str] = ()) -> Netlist:
    """Read the JSON netlist of module ``top``; ``known`` holds the names of the library's cells.

    Each port of an instance of one of ``boxes`` becomes a port of the netlist, ``INSTANCE.PORT``.

    Raises
    ------
    :exc:`ConfigError`
        If the module is missing or a cell is neither of the library nor a memory macro.
    """
    modules = json.loads(text)["modules"]
    if top not in modules:
        raise ConfigError(nearest("top module", top, [m for m in modules if m != MACRO]))
    module = modules[top]
    ports = tuple(
        Port(name, port["direction"], tuple(_net(b) for b in port["bits"])) for name, port in module["ports"].items()
    )
    for port in ports:
        if port.direction == "inout":
            raise ConfigError(f"{top}: port {port.name} is bidirectional; synthesis needs inputs and outputs")
    instances, macros, outside = [], [], []
    unknown: dict[str, str] = {}
    for name, cell in module["cells"].items():
        kind = cell["type"]
        if kind in known:
            instances.append(Instance(name, kind, {pin: _net(bits[0]) for pin, bits in cell["connections"].items()}))
        elif kind == MACRO:
            pins = {f"{pin}[{i}]": _net(b) for pin, bits in cell["connections"].items() for i, b in enumerate(bits)}
            macros.append(Instance(name, kind, pins, {k: _number(v) for k, v in cell["parameters"].items()}))
        elif kind in boxes:
            away = {"input": "output", "output": "input"}
            outside += [
                Port(f"{name}.{port}", away[cell["port_directions"][port]], tuple(map(_net, bits)), kind, port)
                for port, bits in cell["connections"].items()
                if port != "clk"
            ]
        elif kind != "$scopeinfo":
            unknown.setdefault(kind, name)
    if unknown:
        kinds = ", ".join(f"{kind} (first: {name})" for kind, name in sorted(unknown.items())[:4])
        raise ConfigError(f"{top}: not mapped to the library: {kinds}")
    names: dict[int, str] = {}
    for name, net in module["netnames"].items():
        if net.get("hide_name"):
            continue
        bits = net["bits"]
        for i, bit in enumerate(bits):
            if isinstance(bit, int) and (bit not in names or ("$" in names[bit] and "$" not in name)):
                names[bit] = name if len(bits) == 1 else f"{name}[{i}]"
    return Netlist(top, (*ports, *outside), tuple(instances), tuple(macros), names)


# ---- buffers ----------------------------------------------------------------------------------------------------

_SHARE = 0.25  # fraction of its largest load that a buffer in a tree drives: a stage of moderate effort


def buffer_heavy_nets(netlist: Netlist, library: Library, macro_cells: Mapping[str, Cell]) -> Netlist:
    """Insert buffers on nets that load their driver beyond its ``max_capacitance``.

    ABC buffers the nets of the logic that it sees. Loads outside this logic (memory macros, enables of flip-flops) are
    hidden from it. Such a net gets a tree of buffers until its driver has at most a quarter of its limit. The pins with
    the largest capacitance move behind buffers first. Clocks stay as they are (ideal).
    """
    limits = {b.name: b.outputs[0].max_capacitance_ff or 0.0 for b in library.buffers}
    if not any(limits.values()):
        return netlist
    # The smallest of the strong buffers: several times the smallest one's limit, if the library has such.
    strong = min(max(limits.values()), 6 * min(v for v in limits.values() if v))
    buffer = next(b for b in library.buffers if limits[b.name] >= strong)
    into, out = buffer.inputs[0], buffer.outputs[0]
    room = _SHARE * limits[buffer.name]

    pins = [list(m.pins.items()) for m in (*netlist.instances, *netlist.macros)]
    cells = [library.cells[i.cell] for i in netlist.instances] + [macro_cells[m.name] for m in netlist.macros]
    limit: dict[int, float] = {}
    sinks: dict[int, list[tuple[float, int, str]]] = {}
    clocks: set[int] = set()
    for number, (cell, connected) in enumerate(zip(cells, pins, strict=True)):
        clock_pins = cell.clock_pins
        for name, net in connected:
            pin = cell.pins.get(name)
            if net < 0 or pin is None:
                continue
            if pin.direction != "input":
                if pin.max_capacitance_ff:
                    limit[net] = pin.max_capacitance_ff
            elif name in clock_pins:
                clocks.add(net)
            else:
                sinks.setdefault(net, []).append((pin.capacitance_ff, number, name))
    heavy = [n for n in sinks if n in limit and n not in clocks and sum(s[0] for s in sinks[n]) > limit[n]]
    if not heavy:
        return netlist
    fresh = 1 + max([0, *(n for connected in pins for _, n in connected), *(n for p in netlist.ports for n in p.bits)])
    added: list[Instance] = []
    moved: dict[tuple[int, str], int] = {}
    for net in sorted(heavy):
        # Sinks are (capacitance, number of an old or added instance, pin), the lightest last to stay on the driver.
        level = sorted(sinks[net], key=lambda s: (-s[0], s[1], s[2]))
        while sum(s[0] for s in level) > _SHARE * limit[net] and len(level) > 1:
            group: list[tuple[float, int, str]] = []
            total = 0.0
            while level and (not group or total + level[0][0] <= room):
                total += level[0][0]
                group.append(level.pop(0))
            number = len(cells) + len(added)
            added.append(Instance(f"buffer${len(added)}", buffer.name, {into.name: net, out.name: fresh}))
            for _, sink, sink_pin in group:
                moved[sink, sink_pin] = fresh
            fresh += 1
            level.append((into.capacitance_ff, number, into.name))
            if len(group) == 1 and group[0][0] <= into.capacitance_ff:
                break  # no smaller than the pin that it replaces
            level.sort(key=lambda s: (s[1] >= len(cells), -s[0], s[1], s[2]))
    everything = [*netlist.instances, *netlist.macros, *added]
    for (number, sink_pin), net in moved.items():
        instance = everything[number]
        everything[number] = replace(instance, pins={**instance.pins, sink_pin: net})
    count, macros = len(netlist.instances), len(netlist.macros)
    return replace(
        netlist,
        instances=(*everything[:count], *everything[count + macros :]),
        macros=tuple(everything[count : count + macros]),
    )


# ---- Verilog ----------------------------------------------------------------------------------------------------


def _escaped(name: str) -> str:
    plain = name.replace("_", "a").replace("$", "a")
    return name if plain.isalnum() and plain.isascii() and not name[0].isdigit() and name[0] != "$" else f"\\{name} "


def write_verilog(netlist: Netlist) -> str:
    """The netlist as structural Verilog, for placement or another timing analyser; memories are macros with parameters."""
    prefix = "n"
    while any(p.name.startswith(prefix) for p in netlist.ports):
        prefix = f"_{prefix}"

    def wire(net: int, undefined: str = "") -> str:
        return f"{prefix}{net}" if net >= 0 else {ZERO: "1'b0", ONE: "1'b1"}.get(net, undefined)

    lines = [f"module {netlist.top} ({', '.join(_escaped(p.name) for p in netlist.ports)});"]
    nets: set[int] = set()
    for port in netlist.ports:
        width = "" if len(port.bits) == 1 else f"[{len(port.bits) - 1}:0] "
        lines.append(f"  {port.direction} {width}{_escaped(port.name)};")
        nets.update(port.bits)
    for instance in (*netlist.instances, *netlist.macros):
        nets.update(instance.pins.values())
    lines += [f"  wire {wire(net)};" for net in sorted(n for n in nets if n >= 0)]
    for port in netlist.ports:
        for i, net in enumerate(port.bits):
            bit = _escaped(port.name) if len(port.bits) == 1 else f"{_escaped(port.name)}[{i}]"
            if port.direction == "input":
                lines += [f"  assign {wire(net)} = {bit};"] if net >= 0 else []
            else:
                lines.append(f"  assign {bit} = {wire(net, UNDEFINED)};")
    for instance in netlist.instances:
        pins = ", ".join(f".{pin}({wire(net)})" for pin, net in instance.pins.items())
        lines.append(f"  {instance.cell} {_escaped(instance.name)} ({pins});")
    for macro in netlist.macros:
        buses: dict[str, list[str]] = {}
        for pin, net in macro.pins.items():
            buses.setdefault(pin.partition("[")[0], []).append(wire(net, UNDEFINED))
        parameters = ", ".join(f".{name}({value})" for name, value in macro.parameters.items())
        pins = ", ".join(f".{bus}({{{', '.join(reversed(bits))}}})" for bus, bits in buses.items())
        lines.append(f"  {macro.cell} #({parameters}) {_escaped(macro.name)} ({pins});")
    return "\n".join([*lines, "endmodule", ""])
