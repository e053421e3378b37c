"""The mapped netlist that Yosys writes as JSON: instances of library cells and memory macros between nets."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..constraints.errors import ConfigError, nearest

__all__ = ["MACRO", "Instance", "Netlist", "read_netlist"]

#: Module name of a memory that stayed a macro.
MACRO = "memory_macro"


@dataclass(frozen=True)
class Instance:
    """One cell: its name, its kind, and the net of every pin bit (``-1`` if it is constant or open)."""

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
    inputs, outputs : mapping of port bit name to net
        Constant and open bits are left out.
    instances : tuple of :class:`Instance`
        Library cells, in the order of the file.
    macros : tuple of :class:`Instance`
        Memories; pins are bits such as ``RD_DATA[3]``.
    net_names : mapping of net to name
        A readable name where the source gave one.
    """

    top: str
    inputs: dict[str, int]
    outputs: dict[str, int]
    instances: tuple[Instance, ...]
    macros: tuple[Instance, ...]
    net_names: dict[int, str] = field(repr=False)

    def counts(self) -> dict[str, int]:
        """Number of library cells of each kind, by name."""
        out: dict[str, int] = {}
        for instance in self.instances:
            out[instance.cell] = out.get(instance.cell, 0) + 1
        return dict(sorted(out.items()))


def _net(bit: Any) -> int:
    return bit if isinstance(bit, int) else -1


def _number(value: Any) -> int:
    return int(value, 2) if isinstance(value, str) else int(value)


def read_netlist(text: str | bytes, top: str, known: Any) -> Netlist:
    """Read the JSON netlist of module ``top``; ``known`` holds the names of the library's cells.

    Raises
    ------
    :exc:`ConfigError`
        If the module is missing or a cell is neither of the library nor a memory macro.
    """
    modules = json.loads(text)["modules"]
    if top not in modules:
        raise ConfigError(nearest("top module", top, [m for m in modules if m != MACRO]))
    module = modules[top]
    ports: dict[str, dict[str, int]] = {"input": {}, "output": {}, "inout": {}}
    for name, port in module["ports"].items():
        bits = port["bits"]
        for i, bit in enumerate(bits):
            if isinstance(bit, int):
                ports[port["direction"]][name if len(bits) == 1 else f"{name}[{i}]"] = bit
    if ports["inout"]:
        raise ConfigError(
            f"{top}: port {next(iter(ports['inout']))} is bidirectional; synthesis needs inputs and outputs"
        )
    instances, macros = [], []
    unknown: dict[str, str] = {}
    for name, cell in module["cells"].items():
        kind = cell["type"]
        if kind in known:
            pins = {pin: _net(bits[0]) for pin, bits in cell["connections"].items() if bits}
            instances.append(Instance(name, kind, pins))
        elif kind == MACRO:
            pins = {f"{pin}[{i}]": _net(b) for pin, bits in cell["connections"].items() for i, b in enumerate(bits)}
            macros.append(Instance(name, kind, pins, {k: _number(v) for k, v in cell["parameters"].items()}))
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
            if isinstance(bit, int) and bit not in names:
                names[bit] = name if len(bits) == 1 else f"{name}[{i}]"
    return Netlist(top, ports["input"], ports["output"], tuple(instances), tuple(macros), names)
