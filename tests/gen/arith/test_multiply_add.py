# amaranth: UnusedElaboratable=no
"""Multiplier and adder, bit for bit: against NumPy, ml_dtypes and the models; the structures that they are made of."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from amaranth import *
from amaranth.sim import Simulator

from bankside.constraints.core.formats import BF16, FP16, FP32, float_format
from bankside.gen.arith import FloatShape, StreamOperator, add, multiply
from bankside.gen.arith.bits import add_rows, booth_products, carries, compress, leading_zero_count, partial_products
from bankside.gen.arith.pipeline import Pipeline, operator, partition
from bankside.gen.arith.rounding import all_ones_below, incremented, shift_left, shift_right
from bankside.models import numerics
from bankside.models.numerics.vectors import operands
from bankside.studies.operators import evaluate_operator

DTYPES = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "fp32": np.dtype(np.float32)}
RESULTS = ("product", "sum", "difference", "flushed_product", "flushed_sum")


@operator
def everything(p, a, b, *, fmt):
    """All variants side by side, so that one model of them is built."""

    def variant(name, function, **options):
        return lambda p: p.keep(**{name: function(p.part(name), a, b, fmt=fmt, **options)})

    p.beside(
        variant("product", multiply),
        variant("sum", add),
        variant("difference", add, subtract=Const(1, 1)),
        variant("flushed_product", multiply, flush_to_zero=True),
        variant("flushed_sum", add, flush_to_zero=True),
    )
    return tuple(p[name] for name in RESULTS)  # variants may have different numbers of cuts


def component(fmt, function=everything, results=RESULTS, depth=0, **options):
    shape = FloatShape(fmt)
    return StreamOperator(
        function, {"a": shape, "b": shape}, dict.fromkeys(results, shape), depth=depth, options={"fmt": fmt, **options}
    )


def pairs(fmt, count, seed=1):
    """All pairs where they are few; else corners and pairs of many kinds."""
    if fmt.width <= 8:
        every = np.arange(1 << fmt.width)
        return [x.ravel() for x in np.meshgrid(every, every)]
    return operands([fmt, fmt], count, seed)


def assert_same(got, want, fmt, a, b):
    bad = np.flatnonzero(got != want)
    assert not bad.size, f"{bad.size} of {len(a)} differ: " + ", ".join(
        "{:0{w}b} {:0{w}b} gives {:0{w}b}, not {:0{w}b}".format(a[i], b[i], got[i], want[i], w=fmt.width)
        for i in bad[:3]
    )


# Results -------------------------------------------------------------------------------------------------------------


def by_machine(fmt, a, b):
    """Product, sum and difference by NumPy; BF16 by binary32, which has more than twice the digits: rounding twice is
    harmless."""
    dtype, word = DTYPES[fmt.name], {16: np.uint16, 32: np.uint32}[fmt.width]
    x, y = (np.asarray(v).astype(word).view(dtype) for v in (a, b))
    if fmt == BF16:
        x, y = x.astype(np.float32), y.astype(np.float32)
    with np.errstate(all="ignore"):
        for value in (x * y, x + y, x - y):
            bits = value.astype(dtype).view(word).astype(np.int64)
            yield np.where(np.isnan(value), fmt.nan, bits)


@pytest.mark.parametrize("fmt", [FP16, BF16, FP32], ids=lambda f: f.name)
def test_machine_formats(fmt):
    a, b = pairs(fmt, 60_000 if fmt == FP32 else 200_000)
    got = evaluate_operator(component(fmt), {"a": a, "b": b})
    for name, want in zip(RESULTS, by_machine(fmt, a, b), strict=False):
        assert_same(got[name], want, fmt, a, b)
    assert_same(got["flushed_product"], numerics.multiply(a, b, fmt, flush_to_zero=True), fmt, a, b)
    assert_same(got["flushed_sum"], numerics.add(a, b, fmt, flush_to_zero=True), fmt, a, b)


def against_models(fmt, count, **options):
    a, b = pairs(fmt, count)
    got = evaluate_operator(component(fmt, **options), {"a": a, "b": b})
    for name, want in (
        ("product", numerics.multiply(a, b, fmt)),
        ("sum", numerics.add(a, b, fmt)),
        ("difference", numerics.add(a, b, fmt, subtract=True)),
        ("flushed_product", numerics.multiply(a, b, fmt, flush_to_zero=True)),
        ("flushed_sum", numerics.add(a, b, fmt, flush_to_zero=True)),
    ):
        assert_same(got[name], want, fmt, a, b)


@pytest.mark.parametrize("name", ["e4m3", "e3m2", "e2m1", "e8m10"])
def test_other_formats(name):
    """The 8-bit and smaller ones for all pairs."""
    against_models(float_format(name), 50_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, depth",
    [
        ("fp16", 5),
        ("e4m3", 0),
        ("e3m2", 0),
        ("e2m1", 3),
        ("e8m10", 0),
        ("bf16", 8),
        ("fp32", 0),
        ("e2m14", 0),
        ("e11m27", 4),
    ],
)
def test_the_same_bits_on_an_fpga(name, depth):
    """DSP blocks and carry chains in place of trees and prefix adders; all pairs of formats of 8 bits and less."""
    against_models(float_format(name), 50_000, fabric="xilinx", depth=depth)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["e2m3", "e2m5", "e5m1", "e5m2", "e3m4", "e2m14", "e4m9", "e6m9", "e10m5", "e7m16", "e11m1", "e11m27", "e2m27"],
)
def test_formats_of_every_kind(name):
    against_models(float_format(name), 200_000)


def simulated(unit, a, b):
    """Results of a unit of any depth, in Amaranth's simulator, while it is stalled now and then."""
    results = []
    rng = np.random.default_rng(len(a))

    async def source(ctx):
        for x, y in zip(a, b, strict=True):
            ctx.set(Value.cast(unit.i.payload), int(x) | int(y) << len(unit.i.payload.as_value()) // 2)
            ctx.set(unit.i.valid, 1)
            await ctx.tick().until(unit.i.ready)
        ctx.set(unit.i.valid, 0)

    async def sink(ctx):
        for _ in range(20 * len(a) + 100):
            ctx.set(unit.o.ready, int(rng.integers(0, 4) > 0))
            _, _, valid, ready, value = await ctx.tick().sample(unit.o.valid, unit.o.ready, Value.cast(unit.o.payload))
            if valid and ready:
                results.append(value)
            if len(results) == len(a):
                return

    sim = Simulator(unit)
    sim.add_clock(1e-6)
    sim.add_testbench(source)
    sim.add_testbench(sink)
    sim.run()
    return np.array(results)


@pytest.mark.parametrize("function", [multiply, add], ids=lambda f: f.__name__)
@pytest.mark.parametrize("depth", range(1, 10))
def test_every_depth(function, depth):
    """Each operand follows the other through the registers, wherever they are: more than there are places for too."""
    fmt = float_format("e4m5")
    a, b = (column[-150:] for column in operands([fmt, fmt], 150, depth))
    unit = component(fmt, function, ("result",), depth=depth)
    assert unit.latency == {"result": depth}
    want = {multiply: numerics.multiply, add: numerics.add}[function](a, b, fmt)
    assert_same(simulated(unit, a, b), want, fmt, a, b)


def test_subtraction_is_chosen_with_the_operands():
    fmt = float_format("e3m2")

    @operator
    def either(p, a, b, minus, *, fmt):
        return add(p, a, b, fmt=fmt, subtract=minus)

    shape = FloatShape(fmt)
    unit = StreamOperator(
        either, {"a": shape, "b": shape, "minus": 1}, {"result": shape}, depth=2, options={"fmt": fmt}
    )
    rng = np.random.default_rng(1)
    a, b, minus = rng.integers(0, 64, 20_000), rng.integers(0, 64, 20_000), rng.integers(0, 2, 20_000)
    got = evaluate_operator(unit, {"a": a, "b": b, "minus": minus})["result"]
    assert_same(got, numerics.add(a, b, fmt, subtract=minus), fmt, a, b)


@pytest.mark.parametrize("function", [multiply, add], ids=lambda f: f.__name__)
def test_wrong_arguments(function):
    with pytest.raises(TypeError, match=r"^Format must be a FloatFormat, not 'fp16'$"):
        function(Module(), Signal(16), Signal(16), fmt="fp16")
    with pytest.raises(ValueError, match=r"^Operand b must be 16 bits wide as bf16 is, not 15$"):
        function(Module(), Signal(16), Signal(15), fmt=BF16)


def test_wrong_choice_of_subtraction():
    with pytest.raises(ValueError, match=r"^Choice of subtraction must be 1 bit wide, not 2$"):
        add(Module(), Signal(16), Signal(16), fmt=FP16, subtract=Signal(2))


# Structures ----------------------------------------------------------------------------------------------------------


def values(build, widths, rows):
    """Values of what ``build(m, *signals)`` makes (a list of values), for rows of numbers."""
    m = Module()
    signals = [Signal(width, name=f"x{n}") for n, width in enumerate(widths)]
    outputs = []
    for n, value in enumerate(build(m, *signals)):
        value = Value.cast(value)
        outputs.append(Signal(len(value), name=f"y{n}"))
        m.d.comb += outputs[-1].eq(value)
    results = []

    async def testbench(ctx):
        for row in rows:
            for signal, value in zip(signals, row, strict=True):
                ctx.set(signal, int(value))
            results.append([ctx.get(output) for output in outputs])

    sim = Simulator(m)
    sim.add_testbench(testbench)
    sim.run()
    return results


@pytest.mark.parametrize("products", [partial_products, booth_products], ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 5), (5, 3), (4, 4), (6, 1)], ids=str)
def test_products(products, size):
    """Every pair of factors, of an even and an odd number of digits: no carry is lost, no sign wrong."""

    def build(m, a, b):
        columns = products(m, a, b)
        return [Cat(add_rows(m, compress(Pipeline(m), columns)))]

    rows = list(itertools.product(range(1 << size[0]), range(1 << size[1])))
    assert values(build, size, rows) == [[a * b] for a, b in rows]


def test_compress_keeps_two_bits_a_column():
    m = Module()
    p = Pipeline(m)
    rows = compress(p, partial_products(m, Signal(13), Signal(9)))
    assert {len(column) for column in rows} <= {0, 1, 2}
    assert p._place.cuts == 0
    assert p.module is m


@pytest.mark.parametrize("limit", [None, 0, 8, 12, 40])
@pytest.mark.parametrize("carry", [False, True])
def test_sums(limit, carry):
    """Whatever the arrival times and the time allowed, the network adds."""
    rng = np.random.default_rng(3)

    def build(m, a, b, c):
        columns = [
            [(x, float(rng.integers(0, 9))), (y, float(rng.integers(0, 9)))] if k % 4 else [(x, 0.0)]
            for k, (x, y) in enumerate(zip(a, b, strict=True))
        ]
        return [Cat(add_rows(m, [*columns, []], carry=(c, 3.0) if carry else None, limit=limit))]

    twice = sum(1 << k for k in range(11) if k % 4)  # where there are two bits
    rows = [(int(a), int(b) & twice, c) for a, b in rng.integers(0, 1 << 11, (200, 2)) for c in (0, 1)]
    assert values(build, (11, 11, 1), rows) == [[a + b + c * carry] for a, b, c in rows]


def test_carries_of_some_places_only():
    """A comparison is a carry; its network is as shallow as the logarithm."""

    def build(m, a, b):
        found = carries(
            m,
            [(x & ~y, 1.0) for x, y in zip(a, b, strict=True)],
            [(~(x ^ y), 2.0) for x, y in zip(a, b, strict=True)],
            wanted=[5],
        )
        ((carry, arrival),) = found.values()
        assert arrival <= 2 + 3 * 1.5
        return [carry]

    rows = list(itertools.product(range(0, 64, 3), range(64)))
    assert values(build, (6, 6), rows) == [[int(a > b)] for a, b in rows]


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_leading_zeros(size):
    full = (1 << max(size - 1, 1).bit_length()) - 1
    rows = [(x,) for x in range(1 << size)]
    want = [[size - x.bit_length() if x else full, int(x > 0)] for (x,) in rows]
    assert values(lambda m, x: leading_zero_count(m, x), (size,), rows) == want


@pytest.mark.parametrize("low, width", [(0, 8), (3, 5), (7, 3), (9, 4)], ids=str)
def test_shift_left_and_what_is_lost(low, width):
    def build(m, x, n):
        word, lost = shift_left(m, x, n, low=low, width=width)
        return [word, Cat(*lost, Const(0, 1)).any()]

    rows = list(itertools.product(range(256), range(8)))
    want = [[x << n >> low & ((1 << width) - 1), int((x << n) & ((1 << low) - 1) != 0)] for x, n in rows]
    assert values(build, (8, 3), rows) == want


def test_shift_right_and_what_is_lost():
    rows = list(itertools.product(range(64), range(16)))
    want = [[x >> n, int(x & ((1 << n) - 1) != 0)] for x, n in rows]
    assert values(lambda m, x, n: shift_right(m, x, n), (6, 4), rows) == want


@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_increment(size):
    rows = list(itertools.product(range(1 << size), (0, 1)))
    assert values(lambda m, x, up: [Cat(*incremented(m, x, up))], (size, 1), rows) == [[x + up] for x, up in rows]
    rows = [(x,) for x in range(1 << size)]
    want = [[sum(int(x % (1 << k) == (1 << k) - 1) << k for k in range(size + 1))] for (x,) in rows]
    assert values(lambda m, x: [Cat(*all_ones_below(m, x))], (size,), rows) == want


# Registers -----------------------------------------------------------------------------------------------------------


def test_registers_go_where_the_pipeline_is_narrow():
    """If no way becomes more than an eighth longer than the shortest possible."""
    assert partition([8, 8, 8, 8], 1, [9, 50, 9]) == [1]
    assert partition([8, 7, 2, 7, 8], 1, [0, 50, 49, 0]) == [2]
    assert partition([8, 7, 2, 7, 8], 1) == [1]
    assert partition([8] * 4, 3, [1, 1, 1]) == partition([8] * 4, 7) == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "function, fmt, gates",
    [(multiply, FP16, 1700), (multiply, BF16, 1200), (add, FP16, 1100), (add, BF16, 1000)],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_size(function, fmt, gates, tmp_path, monkeypatch):
    """Gate equivalents in the generic library stay in the range that the documentation gives."""
    from amaranth.back import verilog

    from bankside.hardware.synthesis import get, synthesise

    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path))
    text = verilog.convert(
        component(fmt, function, ("result",)), name="unit", emit_src=False, strip_internal_attrs=True
    )
    assert synthesise(text, "unit", get("generic"), effort="area").area_ge < gates
