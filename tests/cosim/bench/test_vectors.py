"""Vectors through an operator's Verilog: payloads of any width and latency; all pairs; what is wrong is found."""

from pathlib import Path

import numpy as np
import pytest
from amaranth import *
from amaranth.back import verilog as amaranth_verilog
from amaranth.lib import data

from bankside.constraints.core.errors import CheckFailed
from bankside.constraints.core.formats import BF16, FP16, FP32, float_format
from bankside.cosim.bench import vectors
from bankside.cosim.bench.gates import as_statements, gate_netlist
from bankside.cosim.bench.vectors import evaluate, exhaustive, stratified
from bankside.gen.arith.add import add
from bankside.gen.arith.compare import maximum, minimum
from bankside.gen.arith.divide import divide
from bankside.gen.arith.float_shape import FloatShape
from bankside.gen.arith.multiply import multiply
from bankside.gen.arith.pipeline import operator
from bankside.gen.arith.stream_operator import StreamOperator
from bankside.models import numerics
from bankside.models.numerics.vectors import operands
from bankside.studies.operators import evaluate_operator

PAIR = {"a": FloatShape(FP16), "b": FloatShape(FP16)}


def text_of(component, name="unit"):
    return amaranth_verilog.convert(component, name=name, emit_src=False, strip_internal_attrs=True)


# Vectors -----------------------------------------------------------------------------------------------------------


WIDTHS = (1, 7, 8, 11, 16, 31, 33, 63)


@operator
def rearrange(p, a, b):
    """Sum and difference of two words, and the bits of the first in reverse order."""
    p.a, p.b = a, b
    p.cut(4)
    p.sum = p.a + p.b
    p.difference = (p.a - p.b)[: len(a)]
    p.cut(4)
    return p.sum, p.difference, Cat(*reversed(p.a))


@operator
def rearrange_all(p, *words):
    """The same of pairs of words of all widths."""
    pairs = list(zip(words[::2], words[1::2], strict=True))
    parts = p.parallel("pair", len(pairs), lambda part, n: rearrange(part, *pairs[n]))
    return tuple(value for part in parts for value in part)


@pytest.mark.parametrize("depth", [0, 3])
def test_fields_of_any_width(depth):
    unit = StreamOperator(
        rearrange_all,
        {f"{side}{width}": width for width in WIDTHS for side in "ab"},
        {f"{name}{width}": width + (name == "sum") for width in WIDTHS for name in ("sum", "difference", "mirror")},
        depth=depth,
    )
    rng = np.random.default_rng(1)
    values = {f"{side}{width}": rng.integers(0, 1 << width, 5000) for width in WIDTHS for side in "ab"}
    result = evaluate_operator(unit, values)
    for width in WIDTHS:
        a, b = values[f"a{width}"], values[f"b{width}"]
        total = result[f"sum{width}"]
        assert total.dtype == (np.uint64 if width == 63 else np.int64)
        np.testing.assert_array_equal(total.astype(np.uint64), a.astype(np.uint64) + b.astype(np.uint64))
        np.testing.assert_array_equal(result[f"difference{width}"], (a - b) & ((1 << width) - 1))
        assert result[f"mirror{width}"][:100].tolist() == [int(f"{x:0{width}b}"[::-1], 2) for x in a[:100]]


def byte_unit(depth=0):
    return StreamOperator(rearrange, {"a": 8, "b": 8}, {"sum": 9, "difference": 8, "mirror": 8}, depth=depth)


@operator
def turn(p, words, tag):
    """An array of words the other way round, the parity of each, and a number that goes along."""
    count = len(words) // 37
    p.words, p.tag = words, tag
    p.cut(4)
    parts = [p.words[37 * n : 37 * n + 37] for n in range(count)]
    return Cat(*reversed(parts)), Cat(part.xor() for part in parts), p.tag


def test_wide_payloads(depth=2):
    """1415 bits: fields across the borders of words."""
    count = 38
    unit = StreamOperator(
        turn,
        {"words": data.ArrayLayout(37, count), "tag": signed(9)},
        {"words": data.ArrayLayout(37, count), "parity": count, "tag": signed(9)},
        depth=depth,
    )
    rng = np.random.default_rng(2)
    words, tag = rng.integers(0, 1 << 37, (3000, count)), rng.integers(-256, 256, 3000)
    result = evaluate_operator(unit, {"words": words, "tag": tag})
    np.testing.assert_array_equal(result["words"], words[:, ::-1])
    np.testing.assert_array_equal(result["tag"], tag & 0x1FF)
    parity = [sum((int(x).bit_count() & 1) << n for n, x in enumerate(row)) for row in words[:50]]
    assert result["parity"][:50].tolist() == parity


class Ports(Elaboratable):
    """Plain ports, no streams."""

    def __init__(self, width):
        self.a = Signal(width)
        self.b = Signal(3)
        self.y = Signal(width)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.y.eq(self.a + self.b)
        return m


@pytest.mark.parametrize("width", [64, 130])
def test_wide_ports(width):
    unit = Ports(width)
    text = amaranth_verilog.convert(unit, name="plain", ports=[unit.a, unit.b, unit.y], emit_src=False)
    rng = np.random.default_rng(3)
    values = [int.from_bytes(rng.bytes(20), "little") & ((1 << width) - 1) for _ in range(300)] + [(1 << width) - 1] * 8
    b = np.arange(len(values)) % 8
    size = -(-width // 8)
    a = np.array([list(x.to_bytes(size, "little")) for x in values], np.uint8)
    wanted = [(x + int(n)) & ((1 << width) - 1) for x, n in zip(values, b, strict=True)]
    forms = (
        [np.array(values, np.uint64)]
        if width == 64
        else [a, np.pad(a, ((0, 0), (0, -size % 8)), constant_values=0xFF).view("<u8")]
    )  # beyond the width: cut off
    for form in forms:
        y = evaluate(text, "plain", [("a", width), ("b", 3)], [("y", width)], {"a": form, "b": b})["y"]
        got = y.tolist() if width == 64 else [int.from_bytes(bytes(row), "little") for row in y]
        assert got == wanted
    with pytest.raises(ValueError, match="^Input 'b' of 'plain' must be among the inputs$"):
        evaluate(text, "plain", [("a", width)], [("y", width)], {"a": forms[0]})


def test_no_vectors():
    unit = byte_unit()
    result = evaluate_operator(unit, {"a": np.zeros(0, int), "b": np.zeros(0, int)})
    assert [len(column) for column in result.values()] == [0, 0, 0]


def test_arguments_that_do_not_fit():
    unit = byte_unit(1)
    text = text_of(unit)
    ports = [("i__payload", 16)], [("o__payload", 25)]
    vectors_ = {"i__payload": np.arange(5)}
    for message, call in (
        ("Verilog must have a module 'other'", lambda: evaluate(text, "other", *ports, vectors_)),
        (
            "Port 'i__payload' must be 16 bits wide, not 15",
            lambda: evaluate(text, "unit", [("i__payload", 15)], ports[1], vectors_),
        ),
        (
            "Port 'i__payload' must be an output of 'unit' (",
            lambda: evaluate(text, "unit", ports[0], [("i__payload", 16)], vectors_),
        ),
        (
            "Vectors of 'i__payload' must be an integer array of one axis, not float64 of shape (5,)",
            lambda: evaluate(text, "unit", *ports, {"i__payload": np.zeros(5)}),
        ),
        (
            "Latency of a module with clock must be 0 or more, not -1",
            lambda: evaluate(text, "unit", *ports, vectors_, latency=-1),
        ),
        ("Operands must be a, b, not a, c", lambda: evaluate_operator(unit, {"a": np.arange(1), "c": np.arange(1)})),
        (
            "Vectors of all inputs must be equally many, not {'a': 1, 'b': 2}",
            lambda: evaluate_operator(unit, {"a": np.arange(1), "b": np.arange(2)}),
        ),
        (
            "Vectors of 'a' must be integers of shape (n,), not int64 of (2, 2)",
            lambda: evaluate_operator(unit, {"a": np.zeros((2, 2), int), "b": np.arange(2)}),
        ),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value).startswith(message)
    comb = text_of(byte_unit())
    with pytest.raises(ValueError, match="^Latency of a module without clock must be 0, not 2$"):
        evaluate(comb, "unit", *ports, vectors_, latency=2)


@pytest.mark.parametrize("latency", [1, 3])
def test_wrong_latency(latency):
    """The valid bit tells, before any result could be taken for another's."""
    unit = byte_unit(2)
    with pytest.raises(
        CheckFailed, match=r"^unit: the simulation stopped \(exit 3\): error: cycle \d: o__valid is [01]$"
    ):
        evaluate(
            text_of(unit),
            "unit",
            [("i__payload", 16)],
            [("o__payload", 25)],
            {"i__payload": np.arange(9)},
            latency=latency,
        )


# All pairs ---------------------------------------------------------------------------------------------------------


@operator
def tabulated(p, a, b, *, fmt, function, wrong=()):
    """An operation of a format of few bits, as a table; wrong in its lowest bit at some places."""
    size = 1 << fmt.width
    table = function(*np.meshgrid(np.arange(size), np.arange(size), indexing="ij"), fmt).ravel()
    for x, y in wrong:
        table[x * size + y] ^= 1
    address = Cat(b, a)
    levels = [Const(int(x), fmt.width) for x in table]
    for bit in range(2 * fmt.width):  # a tree of multiplexers: Amaranth's arrays would make one case of it
        levels = [
            low if low is high else Mux(address[bit], high, low)
            for low, high in zip(levels[::2], levels[1::2], strict=True)
        ]
    return levels[0]


def table_unit(fmt, function, wrong=()):
    shape = FloatShape(fmt)
    return text_of(
        StreamOperator(
            tabulated,
            {"a": shape, "b": shape},
            {"result": shape},
            options={"fmt": fmt, "function": function, "wrong": wrong},
        )
    )


TINY = float_format("e2m1")
FUNCTIONS = {name: getattr(numerics, name) for name in vectors.OPERATIONS}


@pytest.mark.parametrize("operation", [pytest.param("subtract", marks=pytest.mark.essential), "divide", "minimum"])
def test_right_and_wrong_tables(operation):
    """The model, as a table, is what the reference says; the one wrong pair is found, and only that."""
    size, a, b = 1 << TINY.width, 5, 11
    want = int(FUNCTIONS[operation](a, b, TINY))
    text = table_unit(TINY, FUNCTIONS[operation], wrong=[(a, b)])
    found = exhaustive(text, "unit", operation, TINY)
    assert (found.pairs, found.mismatches, found.differences) == (size * size, 1, [(a, b, want ^ 1, want)])
    for part in ({"first": a + 1}, {"last": a}, {"first": a, "last": a}):
        assert exhaustive(text, "unit", operation, TINY, **part).mismatches == 0
    assert exhaustive(text, "unit", operation, TINY, first=a, last=a + 1).differences == found.differences


def test_both_engines_say_the_same():
    """A product is no sum: the same differences in the same order, of which the first are kept."""
    text = table_unit(TINY, numerics.multiply)
    seen = []
    gates, model = (
        exhaustive(text, "unit", "add", TINY, engine=engine, progress=lambda *n: seen.append(n))
        for engine in ("gates", "verilator")
    )
    a, b = np.meshgrid(np.arange(16), np.arange(16), indexing="ij")
    product, total = numerics.multiply(a, b, TINY), numerics.add(a, b, TINY)
    bad = np.flatnonzero(product != total)
    assert gates.mismatches == model.mismatches == len(bad) > vectors.SHOWN and gates.pairs == model.pairs == 256
    wanted = [(int(a.flat[n]), int(b.flat[n]), int(product.flat[n]), int(total.flat[n])) for n in bad[: vectors.SHOWN]]
    assert gates.differences == model.differences == wanted
    assert seen[-1] == (256, 256)


def test_sample_of_a_tiny_format():
    """With enough of them the sample has every pair; that one is hit, as often as chance and the edges say."""
    text = table_unit(TINY, numerics.add, wrong=[(5, 11)])
    found = stratified(text, "unit", "add", TINY, count=64 * 400)
    assert found.pairs == 64 * 400 and 60 < found.mismatches < 160
    assert {row[:2] for row in found.differences} == {(5, 11)}
    assert stratified(text, "unit", "add", TINY, count=64 * 400, seed=2).mismatches != found.mismatches


def test_flushed_operands_and_results():
    def flushed(a, b, fmt):
        return numerics.multiply(a, b, fmt, flush_to_zero=True)

    text = table_unit(TINY, flushed)
    for flush in (True, False):
        assert (exhaustive(text, "unit", "multiply", TINY, flush_to_zero=flush).mismatches == 0) == flush


def test_comparisons_that_do_not_fit():
    text = table_unit(TINY, numerics.add)
    for message, options in (
        ("Operation must be one of multiply, add, subtract, divide, maximum, minimum, not 'fma'", {"operation": "fma"}),
        ("Format must have up to 16 bits, 9 of them exponent, not fp32", {"fmt": FP32}),
        ("Format must have up to 16 bits, 9 of them exponent, not e10m3", {"fmt": float_format("e10m3")}),
        ("Range must lie within 0..16, not 0..17", {"last": 17}),
        ("Range must lie within 0..16, not 9..8", {"first": 9, "last": 8}),
        ("Engine must be 'gates' or 'verilator', not 'yosys'", {"engine": "yosys"}),
        ("Port 'i__payload' must be 8 bits wide, not 32", {"fmt": FP16}),
    ):
        with pytest.raises(ValueError) as error:
            exhaustive(**{"verilog": text, "top": "unit", "operation": "add", "fmt": TINY, **options})
        assert str(error.value) == message
    with pytest.raises(ValueError, match="^Module 'unit' must be combinational$"):
        exhaustive(
            text_of(StreamOperator(rearrange, {"a": 5, "b": 5}, {"sum": 6, "difference": 5, "mirror": 5}, depth=1)),
            "unit",
            "add",
            TINY,
        )


def test_comparison_that_is_interrupted():
    """The program does not run on."""
    text = table_unit(TINY, numerics.add, wrong=[(5, 11)])  # that of the sample above

    def interrupt(*done):
        raise KeyboardInterrupt

    def children():
        return {child for path in Path("/proc/self/task").glob("*/children") for child in path.read_text().split()}

    before = children()  # a helper of multiprocessing, say, that an earlier test began
    with pytest.raises(KeyboardInterrupt):
        stratified(text, "unit", "add", TINY, count=1 << 36, progress=interrupt)
    assert children() <= before


# Gates -------------------------------------------------------------------------------------------------------------


def test_circuits_that_are_no_gates():
    with pytest.raises(CheckFailed, match="^Yosys rejected the design: "):
        gate_netlist("module unit(", "unit")
    registers = "module unit(input clk, input a, output reg y); always @(posedge clk) y <= a; endmodule"
    with pytest.raises(CheckFailed, match=r"^the circuit must be of gates only, not \$_DFF_P_$"):
        as_statements(gate_netlist(registers, "unit"), {"clk": ["c"], "a": ["a"]}, "y")
    loop = "module unit(input a, output y); wire x; assign y = a & x; assign x = y | ~a; endmodule"
    with pytest.raises(CheckFailed, match="^the circuit has a loop$"):
        as_statements(gate_netlist(loop, "unit"), {"a": ["a"]}, "y")
    bare = {"ports": {"y": {"bits": [7]}}, "cells": {}}
    with pytest.raises(CheckFailed, match="^nothing drives bit 7 of the circuit$"):
        as_statements(bare, {}, "y")


def test_statements_in_order():
    text = "module unit(input [1:0] a, output [2:0] y); assign y = {1'b1, a[0] ^ a[1], 1'b0}; endmodule"
    lines = as_statements(gate_netlist(text, "unit"), {"a": ["a[0]", "a[1]"]}, "y")
    gate, *results = lines
    name = gate.split()[2]
    assert gate in (f"const Word {name} = a[0] ^ a[1];", f"const Word {name} = a[1] ^ a[0];")
    assert results == ["result[0] = ZERO;", f"result[1] = {name};", "result[2] = ONES;"]


# The operators -----------------------------------------------------------------------------------------------------


@operator
def spoiled(p, a, b, *, sound, fmt, at):
    """An operator that is wrong for one pair of operands."""
    return sound(p, a, b, fmt=fmt) ^ ((a == at[0]) & (b == at[1]))


def unit_of(function, fmt, **options):
    shape = FloatShape(fmt)
    return text_of(
        StreamOperator(function, {"a": shape, "b": shape}, {"result": shape}, options={"fmt": fmt, **options})
    )


OPERATORS = {"multiply": multiply, "add": add, "maximum": maximum, "minimum": minimum, "divide": divide}
CASES = [pytest.param(name, fmt, id=f"{name}-{fmt.name}") for name in ("multiply", "add") for fmt in (FP16, BF16)]


@pytest.mark.parametrize("name,fmt", CASES)
def test_sample_of_all_pairs_of_exponents(name, fmt):
    """By Verilator: up to ten million pairs; every pair of exponents with fractions at the edges, and random ones."""
    found = stratified(unit_of(OPERATORS[name], fmt), "unit", name, fmt, count=10_000_000)
    assert (found.mismatches, found.differences) == (0, []) and found.pairs >= 4_000_000


@pytest.mark.parametrize("name,fmt", CASES[::3])
def test_a_part_of_all_pairs(name, fmt):
    """As gates: 32 operands of all kinds, each with every other operand; a wrong pair in the operator is found."""
    at = (fmt.bias << fmt.fraction_bits | 5, 0x8001)
    text = unit_of(spoiled, fmt, sound=OPERATORS[name], at=at)
    found = exhaustive(text, "unit", name, fmt, first=at[0] - 16, last=at[0] + 16)
    want = int(FUNCTIONS[name](*at, fmt))
    assert (found.mismatches, found.differences) == (1, [(*at, want ^ 1, want)]) and found.pairs == 32 << 16
    for first in (
        0,
        fmt.smallest_normal - 8,
        fmt.infinity - 8,
        fmt.sign_mask,
        fmt.negative_infinity - 8,
        (1 << 16) - 16,
    ):
        assert exhaustive(text, "unit", name, fmt, first=first, last=first + 16).mismatches == 0


@pytest.mark.parametrize(
    "flush",
    [
        pytest.param(False, id="subnormals", marks=pytest.mark.essential),
        pytest.param(True, id="flush", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name,fmt", CASES)
def test_all_pairs(name, fmt, flush):
    """All 2**32, of the gates."""
    text = unit_of(OPERATORS[name], fmt, flush_to_zero=flush)
    found = exhaustive(text, "unit", name, fmt, flush_to_zero=flush)
    assert (found.pairs, found.mismatches, found.differences) == (1 << 32, 0, [])


@pytest.mark.slow
@pytest.mark.parametrize("fmt", [FP16, BF16], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("name", ["maximum", "minimum", "divide"])
def test_all_pairs_of_other_operators(name, fmt):
    found = exhaustive(unit_of(OPERATORS[name], fmt), "unit", name, fmt)
    assert (found.pairs, found.mismatches, found.differences) == (1 << 32, 0, [])


@pytest.mark.slow
@pytest.mark.parametrize("name,fmt", CASES)
def test_many_pairs_of_the_verilated_operator(name, fmt):
    """All pairs of which the first is one of the 1024 from 1 up, and a fortieth of all by exponents."""
    text = unit_of(OPERATORS[name], fmt)
    one = fmt.bias << fmt.fraction_bits
    found = exhaustive(text, "unit", name, fmt, first=one, last=one + 1024, engine="verilator")
    assert (found.pairs, found.mismatches) == (1 << 26, 0)
    assert stratified(text, "unit", name, fmt, count=100_000_000).mismatches == 0


@pytest.mark.parametrize("name,fmt", CASES[:1])
def test_operator_with_registers(name, fmt):
    """The same results at any latency."""
    shape = FloatShape(fmt)
    a, b = operands([fmt, fmt], 100_000)
    wanted = FUNCTIONS[name](a, b, fmt)
    unit = StreamOperator(OPERATORS[name], {"a": shape, "b": shape}, {"result": shape}, depth=3, options={"fmt": fmt})
    np.testing.assert_array_equal(evaluate_operator(unit, {"a": a, "b": b})["result"], wanted)
