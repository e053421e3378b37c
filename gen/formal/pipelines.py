"""Proof that a pipelined operator gives the same result as the combinational operator, ``depth`` cycles later.

Two facts are checked on the netlists of an operator with and without registers:

1. Every net of the pipelined netlist has a stage. Operands have stage 0. The output of a register has one stage more
   than its input. All inputs of any other cell have the same stage, and its output has this stage too. The results have
   stage ``depth``. Constants fit any stage.
2. With every register replaced by a wire, the results are the same functions of the operands as in the combinational
   netlist.

They imply that the result in cycle t is the combinational function of the operands of cycle t - ``depth``. This holds
for every sequence of operands, once ``depth`` cycles have passed. The reason is an induction along the netlist. A net
of stage s in cycle t is compared with the netlist of wires for the operands of cycle t - s. Both values are the same:

- A register holds the value that its input had one cycle before, and its input has stage s - 1.
- All inputs of any other cell belong to the operands of the same cycle t - s.

A value may miss a register, for example if a Python variable carries it over a cut. It then meets values of another
stage and violates the first fact.

The proof does not look into the arithmetic. It is the same for a multiplier of any width, while the usual proofs of
sequential equivalence do not end for multipliers. It needs a netlist without feedback. All registers must load in every
cycle, or under the enable signal of their stage.

In an operator between streams (:class:`StreamOperator`), the registers of stage s load when that stage is free. The
same argument then holds for items instead of cycles. :func:`check_stream_operator` shows three facts:

- All registers of a stage share one enable signal.
- No control signal depends on the data.
- Control equals, net by net, the control of a reference with the same depth.

:class:`StreamContract` is proved for this reference for all time.
"""

from dataclasses import dataclass, replace
from typing import Any

from amaranth import *

from ..arith.pipeline import operator
from ..arith.stream_operator import StreamOperator
from ..blocks.probe import QueueProbe
from .contracts import StreamContract
from .netlist import REGISTER, Netlist, Port, Terms, operator_module, read_netlists
from .prover import prove

__all__ = [
    "PipelineProof",
    "check_stream_operator",
    "prove_pipeline",
    "prove_pipelines",
    "prove_stream_reference",
    "stages",
]


@dataclass(frozen=True)
class PipelineProof:
    """Outcome for one operator. It is true in a condition if the operator is proved.

    Attributes
    ----------
    name : str
    depth : int
        Registers between operands and results.
    registers, cells : int
        Bits of registers, and cells of the pipelined netlist.
    failing : str
        The fact that does not hold; empty if proved.
    """

    name: str
    depth: int
    registers: int = 0
    cells: int = 0
    failing: str = ""

    def __bool__(self):
        return not self.failing

    def __str__(self):
        return f"{self.name}, depth {self.depth}: " + (self.failing or f"proved ({self.registers} bits of registers)")


def stages(netlist, start=None):
    """Stage of every bit between inputs and outputs: the number of registers passed, or None for constants.

    Parameters
    ----------
    netlist : :class:`Netlist`
    start : dict of bit to stage, or None
        Known stages. By default all inputs except clock and reset have stage 0.

    Raises
    ------
    :exc:`ValueError`
        If values of different stages meet in a cell. The message names both.
    """
    stage = {"0": None, "1": None, "x": None, "z": None}
    if start is None:
        start = {bit: 0 for port, bits in netlist.inputs.items() if port not in ("clk", "rst") for bit in bits}
    stage.update(start)
    for bits in netlist.outputs.values():
        for bit in bits:
            if bit not in start:
                _find_stage(netlist, bit, stage)
    return stage


_CONTROL = -1  # in place of a stage, for bits that belong to no item

_BY_BIT = {"$and", "$or", "$xor", "$not", "$mux", "$pos"}


def _needed(cell, position):
    """Bits that output bit ``position`` of a cell depends on."""
    if cell.kind == REGISTER:
        return [cell.inputs["D"].bits[position]]
    if cell.kind in _BY_BIT:
        bits = []
        for name, port in cell.inputs.items():
            bits.append(
                port.bits[0]
                if name == "S"
                else port.bits[min(position, len(port.bits) - 1)]
                if port.signed or position < len(port.bits)
                else "0"
            )
        return bits
    if cell.kind == "$pmux":
        width = len(cell.inputs["A"].bits)
        return [*cell.inputs["S"].bits, cell.inputs["A"].bits[position], *cell.inputs["B"].bits[position::width]]
    return [bit for port in cell.inputs.values() for bit in port.bits]


def _find_stage(netlist, bit, stage):
    stack, path = [bit], set()
    while stack:
        bit = stack[-1]
        if bit in stage:
            stack.pop()
            continue
        if bit not in netlist.driver:
            raise ValueError(f"'{netlist.names[bit]}' has no driver")
        cell, _, position = netlist.driver[bit]
        needed = _needed(cell, position)
        missing = [b for b in needed if b not in stage]
        if missing:
            path.add(bit)
            if any(b in path for b in missing):
                raise ValueError(f"'{netlist.names[bit]}' is part of a loop")
            stack += missing
            continue
        path.discard(bit)
        found: Any = {}
        for b in needed:
            if stage[b] is not None:
                found.setdefault(stage[b], b)
        if len(found) > 1:
            (low, one), *_, (high, other) = sorted(found.items())
            what = "of the control" if low == _CONTROL else f"of stage {low}"
            raise ValueError(
                f"'{netlist.names[one]}' {what} meets '{netlist.names[other]}' of stage {high} "
                f"in '{netlist.names[bit]}' ({cell.kind})"
            )
        (value,) = found or (None,)
        stage[bit] = value if value is None else value + (cell.kind == REGISTER)
        stack.pop()


def prove_pipelines(operators, *, timeout_s=300):
    """Prove several operators, or several depths, with one run of Yosys.

    Parameters
    ----------
    operators : mapping of name to tuple (function, operands, options, depths)
        ``operands`` maps a name to a width or shape. An operand that is a list of values has a list of them. ``depths``
        is an iterable of int.

    Returns
    -------
    list of :class:`PipelineProof`, one for each operator and depth.

    Raises
    ------
    :exc:`ValueError`
        If a depth is less than 1.
    :exc:`RuntimeError`
        If Yosys fails.
    """
    designs = {}
    for name, (function, operands, options, depths) in operators.items():
        for depth in (0, *depths):
            if depth < (depth in depths):
                raise ValueError(f"Depth must be 1 or more, not {depth!r}")
            m, ports, _ = operator_module(function, operands, options, depth=depth)
            designs[name, depth] = m, ports
    netlists = read_netlists(designs, timeout_s=timeout_s)
    return [
        _compare(name, depth, netlists[name, 0], netlists[name, depth])
        for name, (_, _, _, depths) in operators.items()
        for depth in depths
    ]


def prove_pipeline(function, operands, options=None, *, depth, name=None, timeout_s=300):
    """Prove one operator at one depth: see :func:`prove_pipelines`."""
    label = name or getattr(function, "__name__", "operator")
    (proof,) = prove_pipelines({label: (function, operands, options or {}, [depth])}, timeout_s=timeout_s)
    return proof


def _compare(name, depth, plain, piped):
    registers = piped.registers()
    facts = {
        "name": name,
        "depth": depth,
        "cells": len(piped.cells),
        "registers": sum(len(cell.outputs["Q"].bits) for cell in registers),
    }
    if plain.registers():
        return PipelineProof(**facts, failing="there are registers in the combinational netlist")
    odd = sorted(
        {cell.kind for cell in piped.cells if "ff" in cell.kind or "mem" in cell.kind or "latch" in cell.kind}
        - {REGISTER}
    )
    if odd:
        return PipelineProof(
            **facts, failing=f"there are cells with a state that are no plain registers: {', '.join(odd)}"
        )
    if len({(cell.inputs["CLK"].bits, cell.parameters["CLK_POLARITY"]) for cell in registers}) > 1:
        return PipelineProof(**facts, failing="there is more than one clock")
    try:
        stage = stages(piped)
    except ValueError as error:
        return PipelineProof(**facts, failing=str(error))
    for port, bits in piped.outputs.items():
        for position, bit in enumerate(bits):
            if stage[bit] not in (None, depth):
                return PipelineProof(**facts, failing=f"'{port}[{position}]' is of stage {stage[bit]}, not {depth}")
    terms = Terms()
    expected, found = terms.outputs(plain), terms.outputs(piped)
    for port, bits in expected.items():
        for position, (a, b) in enumerate(zip(bits, found[port], strict=True)):
            if a != b:
                return PipelineProof(**facts, failing=f"'{port}[{position}]' is another function without registers")
    return PipelineProof(**facts)


# Between streams ------------------------------------------------------------------------------------------------------


@operator
def _copy(p, a, *, cuts, seen):
    """Passes its operand through ``cuts`` registers. The list ``seen`` gets the value behind each register."""
    p.value = a
    seen.clear()
    for _ in range(cuts):
        p.cut(1)
        seen.append(p.value)
    return p.value


class _Reference(StreamOperator):
    """An operator between streams that passes its operand on unchanged, with a probe for proofs."""

    def __init__(self, depth):
        self._seen: Any = []
        super().__init__(_copy, {"a": 2}, {"a": 2}, depth=depth, options={"cuts": depth, "seen": self._seen})
        self.probe = QueueProbe(2, depth)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        if platform == "formal":
            position = Const(0, 1)  # items ahead of the item in the stage, the last stage first
            for valid, value in zip(reversed(self._valid), reversed(self._seen), strict=True):
                with m.If(valid & (self.probe.index == position)):
                    m.d.comb += self.probe.item.eq(value)
                position = position + valid
            m.d.comb += self.probe.level.eq(position)
        return m


def prove_stream_reference(depth, **options):
    """Prove :class:`StreamContract` for a :class:`StreamOperator` of ``depth`` stages that passes its operand on.

    The operator accepts an item whenever it holds fewer than ``depth``. It delivers every item once, in order. An item
    leaves ``depth`` cycles after it was accepted, or in the cycle after the previous item.
    """
    return prove(StreamContract(_Reference(depth), depth=depth, latency=depth), **options)


def check_stream_operator(make, depth, *, name="operator", timeout_s=300):
    """Show that an operator between streams equals the proved reference around the combinational operator.

    Parameters
    ----------
    make : callable
        ``make(depth)`` returns the :class:`StreamOperator` with ``depth`` registers.
    depth : int
        At least 1.

    Returns
    -------
    :class:`PipelineProof`
    """
    if depth < 1:
        raise ValueError(f"Depth must be 1 or more, not {depth!r}")
    netlists = read_netlists(
        {"plain": (make(0), None), "piped": (make(depth), None), "reference": (_Reference(depth), None)},
        timeout_s=timeout_s,
    )
    facts = {
        "name": name,
        "depth": depth,
        "cells": len(netlists["piped"].cells),
        "registers": sum(len(cell.outputs["Q"].bits) for cell in netlists["piped"].registers()),
    }
    try:
        data, enables = _without_enables(netlists["piped"], depth)
        _, wanted = _without_enables(netlists["reference"], depth)
        _same_control(netlists["piped"], enables, netlists["reference"], wanted)
    except ValueError as error:
        return PipelineProof(**facts, failing=str(error))
    terms = Terms()

    def results(netlist):
        known = {
            bit: terms.number("input", port, k) for port, bits in netlist.inputs.items() for k, bit in enumerate(bits)
        }
        bits = netlist.outputs["o__payload"]
        values = terms.values(netlist, bits, known)
        return [values[bit] for bit in bits]

    if results(netlists["plain"]) != results(data):
        return PipelineProof(**facts, failing="the results are other functions without registers")
    return PipelineProof(**facts)


def _without_enables(netlist, depth):
    """The netlist with plain registers for the data, and the enable signal of each stage.

    Raises :exc:`ValueError` if a data register does not load under the enable signal of its stage. It also raises it if
    data and control meet, or if data of different stages meet.
    """
    dependent = _dependent(netlist, netlist.inputs["i__payload"])
    control = {bit: _CONTROL for port, bits in netlist.inputs.items() if port != "i__payload" for bit in bits}
    cells, registers, replaced = [], [], {}
    for cell in netlist.cells:
        if cell.kind != REGISTER:
            cells.append(cell)
            continue
        held, loaded = cell.outputs["Q"].bits, cell.inputs["D"].bits
        if not dependent.intersection(held):
            control.update(dict.fromkeys(held, _CONTROL))
            cells.append(cell)
            continue
        new, enables = [], set()
        for q, d in zip(held, loaded, strict=True):
            source, _, k = netlist.driver.get(d, (None, None, None))
            if source is None or source.kind != "$mux" or source.inputs["A"].bits[k] != q:
                raise ValueError(f"'{netlist.names[q]}' does not keep its value while its stage is not free")
            new.append(source.inputs["B"].bits[k])
            enables.update(source.inputs["S"].bits)
        plain = replace(cell, inputs={**cell.inputs, "D": Port(tuple(new))})
        registers.append((plain, enables))
        cells.append(plain)
        replaced[cell.name] = plain
    data = Netlist.__new__(Netlist)
    data.__dict__.update(netlist.__dict__, cells=cells)
    data.driver = {bit: (replaced.get(cell.name, cell), port, k) for bit, (cell, port, k) in netlist.driver.items()}
    for bit in _dependent(netlist, list(control)) - dependent:
        control[bit] = _CONTROL
    start = {**control, **dict.fromkeys(netlist.inputs["i__payload"], 0)}
    for port in ("i__ready", "o__valid"):
        if dependent.intersection(netlist.outputs[port]):
            raise ValueError(f"'{port}' depends on the data")
    stage = _stages_of(data, netlist.outputs["o__payload"], start)
    for bit in netlist.outputs["o__payload"]:
        if stage[bit] not in (None, depth):
            raise ValueError(f"'{netlist.names[bit]}' is of stage {stage[bit]}, not {depth}")
    found: Any = {}
    for register, signals in registers:
        for q in register.outputs["Q"].bits:
            if stage.get(q) is not None:
                found.setdefault(stage[q], set()).update(signals)
    for number, signals in found.items():
        if len(signals) != 1:
            raise ValueError(
                f"Registers of stage {number} load under different signals: "
                f"{', '.join(sorted(netlist.names[s] for s in signals))}"
            )
    return data, {number: next(iter(signals)) for number, signals in found.items()}


def _same_control(netlist, enables, reference, wanted):
    """Raise :exc:`ValueError` unless both netlists have the same control. Control registers correspond by name."""
    if missing := set(wanted) - set(enables):
        raise ValueError(f"There are no registers of stage {min(missing)}")
    terms = Terms()
    found = []
    for n, signals in ((netlist, enables), (reference, wanted)):
        dependent = _dependent(n, n.inputs["i__payload"])
        known = {
            bit: terms.number("input", port, k)
            for port, bits in n.inputs.items()
            if port != "i__payload"
            for k, bit in enumerate(bits)
        }
        ends = {port: n.outputs[port][0] for port in ("i__ready", "o__valid")}
        ends |= {f"enable of stage {k}": bit for k, bit in signals.items()}
        for cell in n.registers():
            for q, d in zip(cell.outputs["Q"].bits, cell.inputs["D"].bits, strict=True):
                if q not in dependent:
                    known[q] = terms.number("register", n.names[q])
                    ends[n.names[q]] = d
        values = terms.values(n, ends.values(), known)
        found.append({what: values[bit] for what, bit in ends.items()})
    if found[0] != found[1]:
        names = sorted(k for k in found[0].keys() | found[1].keys() if found[0].get(k) != found[1].get(k))
        raise ValueError(f"Control differs from the reference in {', '.join(names)}")


def _stages_of(netlist, wanted, start):
    stage = {"0": None, "1": None, "x": None, "z": None, **start}
    for bit in wanted:
        _find_stage(netlist, bit, stage)
    return stage


def _dependent(netlist, start):
    """All bits that depend on the bits ``start``, through cells and registers."""
    readers: Any = {}
    for cell in netlist.cells:
        for port, connected in cell.inputs.items():
            if port != "CLK":
                for bit in connected.bits:
                    readers.setdefault(bit, []).append(cell)
    found, pending = set(), list(start)
    while pending:
        bit = pending.pop()
        if bit in found:
            continue
        found.add(bit)
        for cell in readers.get(bit, ()):
            pending += [b for port in cell.outputs.values() for b in port.bits if b not in found]
    return found
