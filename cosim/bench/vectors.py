"""Millions of vectors through the Verilog of an operator: a compiled program without a bench in between."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.core.errors import CheckFailed
from ...constraints.core.formats import FloatFormat
from ...constraints.core.workspace import cache_folder
from .build import build_driver, build_program
from .gates import SCRIPT, as_statements, gate_netlist, yosys_version

__all__ = ["Comparison", "evaluate", "exhaustive", "stratified"]

#: Number of differences that are kept.
SHOWN = 20


def evaluate(
    verilog: str,
    top: str,
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, int]],
    vectors: Mapping[str, np.ndarray],
    *,
    latency: int = 0,
) -> dict[str, np.ndarray]:
    """Outputs of a module for every vector of inputs, by Verilator.

    A combinational module (one without a port ``clk``) is evaluated once for each vector. A module with a clock gets
    one vector per cycle, and its outputs are read ``latency`` cycles later. Ports that are not listed have fixed
    values: ``rst`` is 0, and inputs that end in ``ready`` are 1. An input that ends in ``valid`` is 1 while there are
    vectors. An output that ends in ``valid`` must follow it ``latency`` cycles later.

    Parameters
    ----------
    verilog, top : text with the module, and its name
    inputs, outputs : pairs of port and width in bits
    vectors : for each input an integer array of shape ``(n,)`` with bit patterns (of negative numbers the low bits
        count); for ports wider than 64 bits an uint8 array of shape ``(n, bytes)`` or uint64 of ``(n, words)``, least
        significant first
    latency : cycles from operands to results; 0 for a combinational module

    Returns
    -------
    For each output an int64 array of shape ``(n,)`` (uint64 at 64 bits), or uint8 of shape ``(n, bytes)`` beyond.

    Raises
    ------
    :exc:`ValueError`
        If ports or arrays do not fit the module.
    :exc:`CheckFailed`
        If Verilator rejects the module, the program crashes, or a valid output comes at another time.
    """
    ports = _ports(verilog, top)
    lengths = {name: len(np.asarray(vectors[name])) for name, _ in inputs}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"Vectors of all inputs must be equally many, not {lengths}")
    if latency < 0 or (latency and "clk" not in ports):
        raise ValueError(
            f"Latency of a module {'with' if 'clk' in ports else 'without'} clock must be 0"
            f"{' or more' if 'clk' in ports else ''}, not {latency!r}"
        )
    count = next(iter(lengths.values()))
    columns = [_column(np.asarray(vectors[name]), name, width) for name, width in inputs]
    wrapper, flags = _wrapper(top, ports, inputs, outputs)
    driver = _render(
        "vectors.cpp.j2",
        inputs=[f"in{n}" for n in range(len(inputs))],
        outputs=[f"out{n}" for n in range(len(outputs))],
        **flags,
    )
    program = build_driver(verilog, top, wrapper, {"driver.cpp": driver}) / "bench"
    base = cache_folder() / "runs"
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="run-", dir=base) as folder:
        source, target = Path(folder) / "in.bin", Path(folder) / "out.bin"
        with open(source, "wb") as file:
            for column in columns:
                column.tofile(file)
            file.write(b"\0")  # so that a file of no vectors can be mapped
        shapes = [_stored(width) for _, width in outputs]
        with open(target, "wb") as file:
            file.truncate(count * sum(dtype.itemsize * words for dtype, words in shapes) + 1)
        _call([str(program), str(count), str(latency), str(source), str(target)], top)
        results, offset = {}, 0
        for (name, width), (dtype, words) in zip(outputs, shapes, strict=True):
            column = np.fromfile(target, dtype, count * words, offset=offset)
            offset += column.nbytes
            results[name] = _bits(column.reshape(count, words), width)
    return results


@dataclass
class Comparison:
    """Result of :func:`exhaustive` and :func:`stratified`.

    Attributes
    ----------
    pairs, mismatches : :class:`int`
    differences : list of tuple (a, b, result, expected)
        The first differences, as bits.
    seconds : :class:`float`
        Wall time of the comparison.
    """

    pairs: int = 0
    mismatches: int = 0
    differences: list[tuple[int, int, int, int]] = field(default_factory=list)
    seconds: float = 0.0


#: Operations of two numbers, as C++.
OPERATIONS = {
    "multiply": "a * b",
    "add": "a + b",
    "subtract": "a - b",
    "divide": "a / b",
    "maximum": "larger(a, b)",
    "minimum": "-larger(-a, -b)",
}

Progress = Callable[[int, int], object]


def exhaustive(
    verilog: str,
    top: str,
    operation: str,
    fmt: FloatFormat,
    *,
    first: int = 0,
    last: int | None = None,
    flush_to_zero: bool = False,
    engine: str = "gates",
    progress: Progress | None = None,
) -> Comparison:
    """Compare every pair of operands with a reference, in one compiled program.

    The module is a combinational stream operator. The low half of ``i__payload`` is a, the high half is b, and
    ``o__payload`` is the result. The reference computes in binary64 and rounds to the format with its own integer code.
    The expected NaN is the canonical one.

    Parameters
    ----------
    verilog, top : text with the module, and its name
    operation : ``"multiply"``, ``"add"``, ``"subtract"``, ``"divide"``, ``"maximum"`` or ``"minimum"`` (maximumNumber and
        minimumNumber of IEEE 754-2019)
    fmt : a format of up to 16 bits, 9 of them exponent
    first, last : operands a to try, ``first`` to ``last - 1`` (None: all from ``first``), each with every b
    flush_to_zero : whether the operator flushes to zero
    engine : how the results are computed. ``"gates"``: Yosys elaborates the module and takes it apart into gates. One
        instruction computes a gate for hundreds of pairs, so the 2**32 pairs of 16-bit formats take seconds.
        ``"verilator"``: the Verilated module computes one pair at a time, which takes minutes.
    progress : called now and then with the number of pairs done and the number of all pairs

    Raises
    ------
    :exc:`ValueError`
        If operation, format or module do not fit.
    :exc:`CheckFailed`
        If a tool rejects the module or the program crashes.
    :exc:`ToolMissing`
        If a tool is not installed.
    """
    last = 1 << fmt.width if last is None else last
    if not 0 <= first <= last <= 1 << fmt.width:
        raise ValueError(f"Range must lie within 0..{1 << fmt.width}, not {first}..{last}")
    if engine not in ("gates", "verilator"):
        raise ValueError(f"Engine must be 'gates' or 'verilator', not {engine!r}")
    total = (last - first) << fmt.width
    if engine == "verilator":
        program = _exhaustive_model(verilog, top, operation, fmt, flush_to_zero)
        return _compare([str(program), "all", str(first), str(last)], top, total, progress)
    program = _exhaustive_gates(verilog, top, operation, fmt, flush_to_zero)
    return _compare([str(program), str(first), str(last)], top, total, progress)


def stratified(
    verilog: str,
    top: str,
    operation: str,
    fmt: FloatFormat,
    *,
    count: int = 10_000_000,
    seed: int = 1,
    flush_to_zero: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Compare a sample that misses no pair of exponents, by Verilator, in the same way as :func:`exhaustive`.

    Every pair of signs and exponents has 16 pairs of fractions at the edges (0, 1, one half, all ones). Every one of
    them also has the same number of random pairs of fractions. There are ``count`` pairs in all, or a few more.
    """
    classes = 1 << 2 * (fmt.exponent_bits + 1)
    each = max(-(-count // classes) - 16, 0)
    program = _exhaustive_model(verilog, top, operation, fmt, flush_to_zero)
    return _compare([str(program), "some", str(each), str(seed)], top, classes * (16 + each), progress)


def _reference(verilog: str, top: str, operation: str, fmt: FloatFormat, flush: bool) -> str:
    """C++ of the reference; :exc:`ValueError` if anything does not fit."""
    if operation not in OPERATIONS:
        raise ValueError(f"Operation must be one of {', '.join(OPERATIONS)}, not {operation!r}")
    if fmt.width > 16 or fmt.exponent_bits > 9:
        raise ValueError(f"Format must have up to 16 bits, 9 of them exponent, not {fmt.name}")
    if "clk" in _ports(verilog, top):
        raise ValueError(f"Module {top!r} must be combinational")
    return _render(
        "reference.h.j2",
        exponent=fmt.exponent_bits,
        fraction=fmt.fraction_bits,
        flush=str(bool(flush)).lower(),
        expression=OPERATIONS[operation],
    )


def _pair_ports(fmt: FloatFormat) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    return [("i__payload", 2 * fmt.width)], [("o__payload", fmt.width)]


def _exhaustive_model(verilog: str, top: str, operation: str, fmt: FloatFormat, flush: bool) -> Path:
    reference = _reference(verilog, top, operation, fmt, flush)
    wrapper, _ = _wrapper(top, _ports(verilog, top), *_pair_ports(fmt))
    sources = {"driver.cpp": _render("exhaustive.cpp.j2", shown=SHOWN), "reference.h": reference}
    return build_driver(verilog, top, wrapper, sources) / "bench"


def _exhaustive_gates(verilog: str, top: str, operation: str, fmt: FloatFormat, flush: bool) -> Path:
    reference = _reference(verilog, top, operation, fmt, flush)
    ports = _ports(verilog, top)
    _wrapper(top, ports, *_pair_ports(fmt))  # checks them
    template = resources.files(__package__).joinpath("sliced.cpp.j2").read_text()

    def sources() -> dict[str, str]:
        bits = {
            name: ["ONES" if name.endswith(("valid", "ready")) else "ZERO"] * width
            for name, (way, width) in ports.items()
            if way == "input"
        }
        bits["i__payload"] = [f"{side}[{n}]" for side in "ab" for n in range(fmt.width)]
        gates = as_statements(gate_netlist(verilog, top), bits, "o__payload")
        return {"bench.cpp": _render("sliced.cpp.j2", gates=gates, shown=SHOWN), "reference.h": reference}

    identity = {
        "verilog": verilog,
        "reference": reference,
        "template": template,
        "script": SCRIPT,
        "shown": str(SHOWN),
        "yosys": yosys_version(),
    }
    return build_program(f"{top}-gates", identity, sources) / "bench"


def _compare(command: list[str], top: str, total: int, progress: Progress | None) -> Comparison:
    found = Comparison()
    began = time.perf_counter()
    ended = False

    def hear(line: str) -> None:
        nonlocal ended
        kind, *rest = line.split()
        if kind == "at" and progress:
            progress(int(rest[0]), total)
        elif kind == "wrong":
            a, b, got, want = (int(word, 16) for word in rest)
            found.differences.append((a, b, got, want))
        elif kind == "end":
            found.pairs, found.mismatches = map(int, rest)
            ended = True

    _call(command, top, hear)
    if not ended or found.pairs != total:
        raise CheckFailed(f"{top}: the comparison ended after {found.pairs} of {total} pairs")
    found.seconds = time.perf_counter() - began
    if progress:
        progress(total, total)
    return found


# The program -------------------------------------------------------------------------------------------------------


def _render(template: str, **values: Any) -> str:
    import jinja2

    source = resources.files(__package__).joinpath(template).read_text()
    return (
        jinja2.Environment(
            trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
        )
        .from_string(source)
        .render(**values)
    )


def _ports(verilog: str, top: str) -> dict[str, tuple[str, int]]:
    """Direction and width of the ports of a module, declared one by one in its head (ANSI) or body (as Yosys does)."""
    match = re.search(rf"^\s*module\s+{re.escape(top)}\s*\((.*?)\)\s*;(.*?)\bendmodule\b", verilog, re.M | re.S)
    if not match:
        raise ValueError(f"Verilog must have a module {top!r}")
    declared = re.findall(
        r"\b(input|output)\s+(?:(?:wire|reg|logic)\b)?\s*(?:\[(\d+):(\d+)\]\s*)?([^\s;,\[]+)\s*[;,]",
        f"{match[1]};{match[2]}",
    )
    return {name: (way, int(high) - int(low) + 1 if high else 1) for way, high, low, name in declared}


def _wrapper(
    top: str,
    ports: Mapping[str, tuple[str, int]],
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, int]],
) -> tuple[str, dict[str, bool]]:
    """Text of the module ``bench`` around the module, with names that are the same in C++. Also says which special
    ports it has."""
    for way, listed in (("input", inputs), ("output", outputs)):
        for name, width in listed:
            if name not in ports or ports[name][0] != way:
                raise ValueError(f"Port {name!r} must be an {way} of {top!r} ({', '.join(ports)})")
            if ports[name][1] != width:
                raise ValueError(f"Port {name!r} must be {ports[name][1]} bits wide, not {width}")
    declared, connected, inside = [], [], []
    flags = {"clock": False, "valid": False, "answered": False}

    def declare(way: str, name: str, width: int = 1) -> None:
        declared.append(f"{way} wire [{width - 1}:0] {name}" if width > 1 else f"{way} wire {name}")

    chosen = {name: f"in{n}" for n, (name, _) in enumerate(inputs)}
    chosen.update({name: f"out{n}" for n, (name, _) in enumerate(outputs)})
    for name, (way, width) in ports.items():
        if name in chosen:
            declare(way, chosen[name], width)
            connected.append(f".{name}({chosen[name]})")
        elif name == "clk" or name.endswith("valid"):
            flag = "clock" if name == "clk" else "valid" if way == "input" else "answered"
            if not flags[flag]:
                flags[flag] = True
                declare(way, flag)
            connected.append(f".{name}({flag})")
        elif way == "input":
            if name != "rst" and not name.endswith("ready"):
                raise ValueError(f"Input {name!r} of {top!r} must be among the inputs")
            connected.append(f".{name}(1'b{int(name != 'rst')})")
        else:
            inside.append(f"    wire [{width - 1}:0] {name};\n")
            connected.append(f".{name}({name})")
    return (
        f"module bench({', '.join(declared)});\n{''.join(inside)}    {top} unit({', '.join(connected)});\nendmodule\n",
        flags,
    )


def _call(command: list[str], top: str, hear: Callable[[str], None] | None = None) -> None:
    """Run the program and pass every line that it prints to ``hear``. An exception here ends the program too."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    line = "no output"
    try:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                if hear:
                    hear(line)
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode:
        raise CheckFailed(f"{top}: the simulation stopped (exit {process.returncode}): {line.strip()}")


def _stored(width: int) -> tuple[np.dtype, int]:
    """Type and number of the words in which Verilator keeps a port."""
    for bits in (8, 16, 32, 64):
        if width <= bits:
            return np.dtype(f"u{bits // 8}"), 1
    return np.dtype("u4"), -(-width // 32)


def _column(values: np.ndarray, name: str, width: int) -> np.ndarray:
    """Vectors of an input as the program reads them; bits above the width are cut off."""
    dtype, words = _stored(width)
    if width <= 64:
        if values.ndim != 1 or values.dtype.kind not in "iub":
            raise ValueError(
                f"Vectors of {name!r} must be an integer array of one axis, not {values.dtype} of shape {values.shape}"
            )
        column = values.astype(dtype)
        if width < 8 * dtype.itemsize:
            column &= dtype.type((1 << width) - 1)
        return column
    if values.ndim != 2 or values.dtype not in (np.uint8, np.uint64):
        raise ValueError(
            f"Vectors of {name!r} must be an uint8 or uint64 array of two axes, not {values.dtype} of shape "
            f"{values.shape}"
        )
    size = values.dtype.itemsize
    if values.shape[1] != -(-width // (8 * size)):
        raise ValueError(f"Vectors of {name!r} must be {-(-width // (8 * size))} words long, not {values.shape[1]}")
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).view(np.uint8)
    column = np.zeros((len(values), 4 * words), np.uint8)
    used = min(little.shape[1], 4 * words)
    column[:, :used] = little[:, :used]
    words_array = column.view("<u4").astype(np.uint32)
    if width % 32:
        words_array[:, -1] &= np.uint32((1 << width % 32) - 1)
    return words_array


def _bits(column: np.ndarray, width: int) -> np.ndarray:
    if width <= 64:
        return column[:, 0].astype(np.int64 if width < 64 else np.uint64)
    return np.ascontiguousarray(column.astype("<u4").view(np.uint8)[:, : -(-width // 8)])
