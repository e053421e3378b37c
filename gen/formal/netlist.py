"""Netlists of operators as terms, which a proof compares bit by bit.

Amaranth writes a design as RTLIL. The bundled Yosys resolves processes and hierarchy, and optimises nothing. The result
consists of registers and of cells that work on words. :class:`Terms` turns a cone of cells into numbered terms of one
bit each. Two bits with the same number are the same function of the same inputs.
"""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth import *
from amaranth.back import rtlil

from ...constraints.core.workspace import cache_folder
from .prover import _run_yosys

__all__ = ["Netlist", "Terms", "operator_module", "read_netlists"]

REGISTER = "$dff"
WEIGHTED_SUM = "weighted_sum"


@dataclass(frozen=True)
class Port:
    """A cell's port: its connected bits. Integers are nets, strings are constants."""

    bits: tuple
    signed: bool = False


@dataclass(frozen=True)
class Cell:
    name: str
    kind: str
    parameters: dict
    inputs: dict
    outputs: dict


class Netlist:
    """One flattened module.

    Attributes
    ----------
    inputs, outputs : dict of port to list of bits
    cells : list of :class:`Cell`
    driver : dict of bit to (cell, port, position)
    names : dict of bit to a readable name
    """

    def __init__(self, module):
        self.inputs = {n: p["bits"] for n, p in module["ports"].items() if p["direction"] == "input"}
        self.outputs = {n: p["bits"] for n, p in module["ports"].items() if p["direction"] == "output"}
        self.cells: Any = []
        self.driver: Any = {}
        self.names: Any = {}
        for name, data in module["cells"].items():
            ways = data.get("port_directions") or _ways(data["connections"])
            ports = {
                n: Port(tuple(bits), bool(int(data["parameters"].get(f"{n}_SIGNED", "0"), 2)))
                for n, bits in data["connections"].items()
            }
            cell = Cell(
                name,
                data["type"],
                data["parameters"],
                {n: p for n, p in ports.items() if ways[n] == "input"},
                {n: p for n, p in ports.items() if ways[n] == "output"},
            )
            self.cells.append(cell)
            for port, connected in cell.outputs.items():
                for position, bit in enumerate(connected.bits):
                    self.driver[bit] = cell, port, position
        for name, data in module["netnames"].items():
            for position, bit in enumerate(data["bits"]):
                shown = f"{name}[{position}]" if len(data["bits"]) > 1 else name
                if bit not in self.names or (not data["hide_name"] and self.names[bit].startswith("$")):
                    self.names[bit] = shown

    def registers(self):
        return [cell for cell in self.cells if cell.kind == REGISTER]


def _ways(ports):
    """Port directions of a cell that Yosys does not know, by the first letter of a port, as in Amaranth's instances."""
    return {name: "input" if name[0] == "i" else "output" for name in ports}


def operator_module(function, operands, options, *, depth=0):
    """A module around an operator, its ports, and its operands by name.

    Parameters
    ----------
    function : operator
    operands : mapping of name to width in bits, or to a list of widths (an operand that is a list of values)
    options : dict

    Returns
    -------
    tuple of Module, list of port, dict of name to Signal or list of Signal. The results are ports ``result_0`` and so
    on.
    """
    m = Module()
    signals, values = {}, []
    for name, shape in operands.items():
        if isinstance(shape, list):
            signals[name] = [_operand(width, f"{name}_{n}") for n, width in enumerate(shape)]
        else:
            signals[name] = _operand(shape, name)
        values.append(signals[name])
    ports = [s for value in values for s in (value if isinstance(value, list) else [value])]
    results = function(m, *values, depth=depth, **options)
    for number, value in enumerate(results if isinstance(results, tuple) else (results,)):
        value = Value.cast(value)
        port = Signal(len(value), name=f"result_{number}")
        m.d.comb += port.eq(value)
        ports.append(port)
    return m, ports, signals


def _operand(shape, name):
    return Signal(Shape.cast(shape), name=name)


def read_netlists(designs, *, timeout_s=300):
    """Flattened netlists of several designs, with one run of Yosys.

    Parameters
    ----------
    designs : mapping of name to (elaboratable, ports or None for a component)

    Returns
    -------
    dict of name to :class:`Netlist`
    """
    script, files = [], {}
    for number, (elaboratable, ports) in enumerate(designs.values()):
        top = f"top_{number}"
        options = {} if ports is None else {"ports": ports}
        files[f"{top}.il"] = rtlil.convert(elaboratable, name=top, emit_src=False, **options)
        script += [
            "design -reset",
            f"read_rtlil {top}.il",
            f"hierarchy -top {top}",
            "proc -noopt",
            "flatten",
            "memory -nordff -norom -nowiden -nosat",
            "opt_clean",
            f"write_json {top}.json",
        ]
    cache = cache_folder() / "formal"
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="netlist-") as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        in_time, error = _run_yosys(Path(folder), script, timeout_s)
        if error or not in_time:
            raise RuntimeError(error or f"Yosys did not end within {timeout_s} s")
        return {
            name: Netlist(json.loads((Path(folder) / f"top_{n}.json").read_text())["modules"][f"top_{n}"])
            for n, name in enumerate(designs)
        }


#: Cells that work on each bit separately.
_BITWISE = {"$and": "and", "$or": "or", "$xor": "xor"}
#: Cells that compute modulo a power of two, so that operands matter only up to the width of the result.
_MODULAR = {"$add", "$sub", "$mul", "$neg"}
_SYMMETRIC = {"and", "or", "xor", "$add", "$mul", "$eq", "$ne"}
#: Parameters that do not change the function of given operands.
_WIDTHS = {"A_WIDTH", "B_WIDTH", "Y_WIDTH", "A_SIGNED", "B_SIGNED", "WIDTH", "S_WIDTH"}


class Terms:
    """Bits of netlists as numbered terms. The same number means the same function of the inputs.

    Registers are transparent: a term describes the netlist with every register replaced by a wire. These are
    normalised: constants, repeated operands, operand widths, and the order of operands of symmetric cells. Apart from
    that, two terms are the same only if their structure is the same. Terms of several netlists can be compared if the
    same object made them.
    """

    FALSE, TRUE = 0, 1

    def __init__(self):
        self._numbers = {("constant", 0): 0, ("constant", 1): 1}
        self._inverses = {}

    def number(self, *key):
        return self._numbers.setdefault(key, len(self._numbers))

    def known(self, *key):
        """The number of an existing term, or None."""
        return self._numbers.get(key)

    def keys(self):
        """Definition of each term, by number. The parts of a term have lower numbers than the term."""
        return list(self._numbers)

    # Gates ------------------------------------------------------------------------------------------------------------

    def invert(self, a):
        if a < 2:
            return 1 - a
        if a not in self._inverses:
            inverse = self.number("not", a)
            self._inverses[a], self._inverses[inverse] = inverse, a
        return self._inverses[a]

    def gate(self, kind, a, b):
        a, b = min(a, b), max(a, b)
        if kind == "xor":
            if a == b:
                return 0
            if a < 2:
                return self.invert(b) if a else b
        else:
            neutral = int(kind == "and")
            if a < 2:
                return b if a == neutral else a
            if a == b:
                return a
        return self.number(kind, a, b)

    def mux(self, select, a, b):
        """``b`` if ``select`` else ``a``."""
        if select < 2:
            return b if select else a
        return a if a == b else self.number("mux", select, a, b)

    def _weighted_sum(self, bits, weights, width):
        """The sum of ``bits[n] * 2**weights[n]``, modulo ``2**width``. It does not depend on the order of the bits."""
        terms: Any
        total, terms = 0, {}
        for bit, weight in zip(bits, weights, strict=True):
            if bit == 1:
                total += 1 << weight
            elif bit:
                terms[bit] = terms.get(bit, 0) + (1 << weight)
        terms = tuple(sorted((bit, value % (1 << width)) for bit, value in terms.items() if value % (1 << width)))
        key = self.number("sum", width, total % (1 << width), terms)
        return [self.number("bit", key, "o", k) for k in range(width)]

    # Cones ------------------------------------------------------------------------------------------------------------

    def outputs(self, netlist, rename=lambda port, position: (port, position)):
        """Terms of every output, as a dict of port to list.

        ``rename(port, position)`` gives the name of an input's bit. Bits with the same name are the same bit.
        """
        known = {
            bit: self.number("input", *rename(port, position))
            for port, bits in netlist.inputs.items()
            for position, bit in enumerate(bits)
        }
        values = self.values(netlist, [bit for bits in netlist.outputs.values() for bit in bits], known)
        return {port: [values[bit] for bit in bits] for port, bits in netlist.outputs.items()}

    def values(self, netlist, wanted, known):
        """Terms of the bits ``wanted`` and of all bits that they depend on, up to the bits with terms ``known``."""
        values = {"0": 0, "1": 1, "x": self.number("undefined"), "z": self.number("undefined"), **known}
        for bit in wanted:
            self._visit(netlist, bit, values)
        return values

    def _visit(self, netlist, bit, values):
        stack = [bit]
        while stack:
            bit = stack[-1]
            if bit in values:
                stack.pop()
                continue
            if bit not in netlist.driver:
                raise ValueError(f"Net '{netlist.names[bit]}' has no driver")
            cell, port, position = netlist.driver[bit]
            if cell.kind == REGISTER:
                needed = [cell.inputs["D"].bits[position]]
            else:
                needed = [b for p in cell.inputs.values() for b in p.bits]
            missing = [b for b in needed if b not in values]
            if missing:
                if len(stack) > len(netlist.driver) + 1:
                    raise ValueError(f"There is a combinational loop through '{netlist.names[bit]}'")
                stack += missing[:1]
                continue
            if cell.kind == REGISTER:
                values[bit] = values[needed[0]]
            else:
                for name, result in self._cell(cell, values).items():
                    for place, term in enumerate(result):
                        values[cell.outputs[name].bits[place]] = term
            stack.pop()

    def _cell(self, cell, values):
        kind = cell.kind
        operand = {n: [values[b] for b in p.bits] for n, p in cell.inputs.items()}
        signed = {n: p.signed for n, p in cell.inputs.items()}
        (out, port), *more = cell.outputs.items()
        width = len(port.bits)

        def extended(name, size):
            bits = operand[name]
            return bits[:size] + [bits[-1] if signed[name] and bits else 0] * (size - len(bits))

        def reduced(gate, bits):
            bits, result = sorted(set(bits)), int(gate == "and")
            for bit in bits:
                result = self.gate(gate, result, bit)
            return result

        if kind == WEIGHTED_SUM:
            weights = [int(cell.parameters[f"w{n}"], 2) for n in range(len(operand["i"]))]
            total = self._weighted_sum(operand["i"], weights, len(cell.outputs["o"].bits))
            # The individual rows with this sum are unknown, so each cell gets new terms for them.
            rows = [self.number("unspecified", len(self._numbers)) for _ in cell.outputs["opaque"].bits]
            return {"o": total, "opaque": rows}

        result = None
        if kind in _BITWISE:
            result = [
                self.gate(_BITWISE[kind], a, b) for a, b in zip(extended("A", width), extended("B", width), strict=True)
            ]
        elif kind == "$not":
            result = [self.invert(a) for a in extended("A", width)]
        elif kind == "$pos":
            result = extended("A", width)
        elif kind == "$mux":
            result = [self.mux(operand["S"][0], a, b) for a, b in zip(operand["A"], operand["B"], strict=True)]
        elif kind == "$pmux":
            result = operand["A"]
            for n, select in reversed(list(enumerate(operand["S"]))):
                # At most one select is 1, so a chain of multiplexers is equivalent.
                result = [
                    self.mux(select, a, b)
                    for a, b in zip(result, operand["B"][n * width : (n + 1) * width], strict=True)
                ]
        elif kind in ("$reduce_or", "$reduce_bool", "$reduce_and"):
            result = [reduced("and" if kind == "$reduce_and" else "or", operand["A"])] + [0] * (width - 1)
        elif kind == "$reduce_xor":
            term = 0
            for bit in operand["A"]:
                term = self.gate("xor", term, bit)
            result = [term] + [0] * (width - 1)
        elif kind == "$logic_not":
            result = [self.invert(reduced("or", operand["A"]))] + [0] * (width - 1)
        if result is not None and not more:
            return {out: result}

        if kind in _MODULAR:
            operands = [_trimmed(extended(n, width)) for n in operand]
        elif kind in ("$eq", "$ne", "$lt", "$le", "$gt", "$ge"):
            size = max(len(bits) for bits in operand.values())
            operands = [tuple(extended(n, size)) for n in operand]
            if kind in ("$eq", "$ne"):
                pairs = [(a, b) for a, b in zip(*operands, strict=True) if a != b]
                if kind == "$eq" and any(a < 2 and b < 2 for a, b in pairs):
                    return {out: [0] * width}
                operands = [tuple(a for a, _ in pairs), tuple(b for _, b in pairs)]
                width_1 = [0] * (width - 1)
                term = self.number("$eq", *sorted(operands)) if pairs else 1
                return {out: [term if kind == "$eq" else self.invert(term), *width_1]}
        elif kind in ("$shl", "$sshl"):
            operands = [_trimmed(extended("A", width)), _trimmed(operand["B"])]
        else:
            operands = [tuple(bits) for bits in operand.values()]
        if kind in _SYMMETRIC:
            operands.sort()
        parameters = (
            ()
            if kind in _MODULAR
            else tuple(sorted((k, str(v)) for k, v in cell.parameters.items() if k not in _WIDTHS))
        )
        sign = () if kind in _MODULAR else tuple(sorted(signed.items()))
        key = (kind, parameters, sign, *operands)
        return {
            n: [self.number("bit", self.number(*key), n, k) for k in range(len(p.bits))]
            for n, p in cell.outputs.items()
        }


def _trimmed(bits):
    """The bits without zeros at the top."""
    bits = list(bits)
    while bits and bits[-1] == 0:
        bits.pop()
    return tuple(bits)
