# amaranth: UnusedElaboratable=no
"""The arithmetic in simulation, bit for bit against its models: small formats and softmax over every value."""

import ml_dtypes
import numpy as np
import pytest
from amaranth import *
from amaranth.back import rtlil
from amaranth.lib import data
from amaranth.sim import Simulator

from bankside.constraints.arith.geometry import AlignedWindow, ExpTable, SumWindow
from bankside.constraints.core.formats import BF16, FORMATS, FP16, FP32, FloatFormat
from bankside.gen.arith import FloatShape, Rounder, SoftmaxExp, leading_zeros, unpack
from bankside.models.numerics import (
    Accumulator,
    aligned_result,
    decode,
    from_float64,
    order_key,
    softmax_exp,
    to_float64,
)

IO = [pytest.param(fmt, id=fmt.name) for fmt in (FP16, BF16)]
ALL = [pytest.param(fmt, id=fmt.name) for fmt in (FP16, BF16, FP32)]
#: Small enough for every value of every input.
TINY = FloatFormat("e3m2", 3, 2)


def pipeline(dut, output, **inputs):
    """Feed one item per clock into a pipeline of ``dut.LATENCY`` cycles; return what comes out, in order.

    ``inputs`` are arrays of integers by name of the port. Items follow each other without a gap, so a result that is
    early, late or mixed up with its neighbour is wrong.
    """
    ports = [(getattr(dut, name), [int(x) for x in column]) for name, column in inputs.items()]
    size = len(ports[0][1])
    results = []

    async def testbench(ctx):
        for n in range(size + dut.LATENCY - 1):
            if n < size:
                for port, column in ports:
                    ctx.set(port, column[n])
            await ctx.tick()
            if n >= dut.LATENCY - 1:
                results.append(ctx.get(output))

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()
    return np.array(results)


def combinational(build, width, values):
    """Values of the expression that ``build(m, signal)`` makes, for each value of an input of ``width`` bits."""
    m, signal = Module(), Signal(width)
    result = build(m, signal)
    output = Signal(len(result))
    m.d.comb += output.eq(result)
    results = []

    async def testbench(ctx):
        for value in values:
            ctx.set(signal, int(value))
            results.append(ctx.get(output))

    sim = Simulator(m)
    sim.add_testbench(testbench)
    sim.run()
    return np.array(results)


# Taking numbers apart -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ALL)
def test_unpack(fmt):
    """Every exponent with fractions that matter, both signs; the classes exclude each other."""
    fraction = [0, 1, (1 << fmt.fraction_bits) - 1, 1 << (fmt.fraction_bits - 1), 0x2A]
    bits = np.array(
        [
            sign << (fmt.width - 1) | exponent << fmt.fraction_bits | f
            for sign in (0, 1)
            for exponent in range(fmt.exponent_max + 1)
            for f in fraction
        ]
    )

    def build(m, signal):
        u = unpack(m, signal, fmt, "number")
        return Cat(u.nan, u.inf, u.zero, u.sign, u.exponent, u.significand)

    got = combinational(build, fmt.width, bits)
    f = decode(bits, fmt)
    ordinary = ~(f.inf | f.nan)
    np.testing.assert_array_equal(got & 1, f.nan)
    np.testing.assert_array_equal(got >> 1 & 1, f.inf)
    np.testing.assert_array_equal(got >> 2 & 1, f.significand == 0)
    np.testing.assert_array_equal(got >> 3 & 1, f.sign)
    exponent = got >> 4 & fmt.exponent_max
    significand = got >> (4 + fmt.exponent_bits)
    np.testing.assert_array_equal(exponent[ordinary], f.exponent[ordinary])
    np.testing.assert_array_equal(significand[ordinary], f.significand[ordinary])


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 13, 16, 30, 36, 64, 65])
def test_leading_zeros(width):
    rng = np.random.default_rng(width)
    values = [
        n
        for top in (1 << bit for bit in range(width))
        for n in (top, 2 * top - 1, top | int(rng.integers(0, 1 << 62)) % top)
    ]
    got = combinational(lambda m, signal: leading_zeros(signal), width, values)
    assert got.tolist() == [width - n.bit_length() for n in values]


# Rounding -----------------------------------------------------------------------------------------------------------


def rounded(value, exponent, unit, fmt, nan=0, positive=0, negative=0):
    """The model's rounding, special values included."""
    value, exponent = np.asarray(value, np.int64), np.asarray(exponent, np.int64)
    flags = [np.broadcast_to(np.asarray(f, bool), value.shape) for f in (nan, positive, negative)]

    class Window:
        result = fmt

    Window.unit = unit
    return aligned_result(Accumulator(value, exponent, *flags), Window)


@pytest.mark.parametrize(
    ("width", "exponent_max", "unit", "floor"),
    [(9, 8, -8, 0), (9, 14, -12, 4), (4, 10, -4, 0), (3, 8, -3, 0), (12, 1, -12, 0), (7, 0, -6, 0)],
)
def test_rounder_over_every_input(width, exponent_max, unit, floor):
    """Every value at every exponent, to a format with subnormals, ties, overflow, and values narrower than it."""
    value, exponent = np.meshgrid(np.arange(-(1 << width - 1) + 1, 1 << width - 1), np.arange(floor, exponent_max + 1))
    value, exponent = value.ravel(), exponent.ravel()
    dut = Rounder(TINY, width=width, exponent_max=exponent_max, unit=unit, floor=floor)
    got = pipeline(dut, dut.bits, value=value, exponent=exponent)
    expected = rounded(value, exponent, unit, TINY)
    np.testing.assert_array_equal(got, expected)
    assert {0, TINY.infinity}.issubset(expected) or exponent_max < 8


ROUNDERS = {
    # As the units make them: scores and outputs of an aligned accumulator, and a sum of probabilities.
    "score-fp32": (AlignedWindow(FP16, 24, 6, 257, FP32), FP32),
    "score-fp16": (AlignedWindow(FP16, 24, 6, 257, FP16), FP16),
    "score-of-bf16": (AlignedWindow(BF16, 24, 6, 257, FP32), FP32),
    "output-fp16": (AlignedWindow(FP16, 24, 6, 32, FP16), FP16),
    "output-bf16": (AlignedWindow(BF16, 24, 6, 32, BF16), BF16),
    "narrow": (AlignedWindow(BF16, 8, 1, 32, FP32), FP32),
}


@pytest.mark.parametrize("name", ROUNDERS)
def test_rounder_of_accumulators(name):
    window, fmt = ROUNDERS[name]
    exponent_max = max(2 * (window.io.exponent_max - 1), window.floor)
    rng = np.random.default_rng(20)
    count = 3000
    size = rng.integers(0, window.width, count)
    value = rng.integers(0, 1 << 62, count) % (1 << size)
    # A run of zeros or ones below a random top part: ties, their neighbours, and carries into the next binade.
    cut = rng.integers(0, window.width, count)
    value = np.where(rng.random(count) < 0.5, value >> cut << cut, value)
    value = np.where(rng.random(count) < 0.3, value | (np.int64(1) << np.maximum(cut - 1, 0)), value)
    value = np.where(rng.random(count) < 0.3, value + rng.integers(-1, 2, count), value)
    value = np.clip(value, 0, (1 << window.width - 1) - 1) * rng.choice([-1, 1], count)
    exponent = np.where(
        rng.random(count) < 0.3,
        rng.choice([window.floor, window.floor + 1, exponent_max], count),
        rng.integers(window.floor, exponent_max + 1, count),
    )
    flags = (rng.random((3, count)) < 0.03).astype(int)
    dut = Rounder(fmt, width=window.width, exponent_max=exponent_max, unit=window.unit, floor=window.floor)
    got = pipeline(dut, dut.bits, value=value, exponent=exponent, nan=flags[0], positive=flags[1], negative=flags[2])
    np.testing.assert_array_equal(got, rounded(value, exponent, window.unit, fmt, *flags))


@pytest.mark.parametrize("io", IO)
def test_rounder_of_sums(io):
    window = SumWindow(io, 24, 6, 32, FP32)
    rng = np.random.default_rng(21)
    total = np.concatenate(
        [
            rng.integers(0, 32 << window.fraction_bits, 1000),
            [0, 1, 32 << window.fraction_bits],
            1 << np.arange(window.width),
        ]
    )
    dut = Rounder(FP32, width=window.width + 1, exponent_max=0, unit=-window.fraction_bits)
    got = pipeline(dut, dut.bits, value=total, exponent=np.zeros(len(total), int))
    exact = (total / 2.0**window.fraction_bits).astype(np.float32)  # total is exact in binary64: one rounding
    np.testing.assert_array_equal(got, exact.view(np.uint32))


def test_rounder_special_values():
    dut = Rounder(FP16, width=20, exponent_max=20, unit=-20)
    flags = [[n >> bit & 1 for n in range(8)] for bit in range(3)]
    got = pipeline(dut, dut.bits, value=[-5] * 8, exponent=[3] * 8, nan=flags[0], positive=flags[1], negative=flags[2])
    plain = int(rounded([-5], [3], -20, FP16)[0])
    inf, ninf, nan = FP16.infinity, FP16.negative_infinity, FP16.nan
    assert got.tolist() == [plain, nan, inf, nan, ninf, nan, nan, nan]


def test_rounder_refuses_a_top_bit_below_the_normal_range():
    with pytest.raises(ValueError, match=r"Top bit must not lie below the normal range of fp16, not at 2\*\*-15"):
        Rounder(FP16, width=10, exponent_max=5, unit=-23)
    with pytest.raises(ValueError, match=r"not at 2\*\*-15"):
        Rounder(FP16, width=10, exponent_max=5, unit=-25, floor=2)
    Rounder(FP16, width=10, exponent_max=5, unit=-22)
    Rounder(FP16, width=10, exponent_max=5, unit=-24, floor=2)


# Exponential --------------------------------------------------------------------------------------------------------


def ulp(value, fmt):
    return 2.0 ** (np.maximum(np.frexp(value)[1] - 1, 1 - fmt.bias) - fmt.fraction_bits)


@pytest.mark.parametrize("fmt", IO)
def test_softmax_of_every_score_below_zero(fmt):
    """Maximum +0 and every finite score that is not positive: bit for bit the model, within 1 ulp of binary64."""
    magnitude = np.arange(fmt.infinity)
    if fmt is BF16:
        # Below 2**-15 all give 1, from 128 on all give 0: of those only every 61st.
        lowest, highest = (127 - 15) << 7, (127 + 7) << 7
        magnitude = magnitude[(magnitude >= lowest) & (magnitude < highest) | (magnitude % 61 == 0)]
    value = np.append(magnitude | fmt.sign_mask, 0)
    if fmt is FP16:
        assert len(value) == 31_745
    dut = SoftmaxExp(fmt, ExpTable(fmt))
    got = pipeline(dut, dut.result, maximum=np.zeros(len(value), int), value=value)
    np.testing.assert_array_equal(got, softmax_exp(np.zeros(len(value), int), value, fmt, ExpTable(fmt)))
    reference = np.exp(to_float64(value, fmt))
    error = np.abs(to_float64(got, fmt) - reference) / ulp(reference, fmt)
    assert 0.5 < error.max() <= 1.0
    assert got[-1] == got[0] == fmt.bias << fmt.fraction_bits


@pytest.mark.parametrize("io", IO)
@pytest.mark.parametrize("fmt", ALL)
def test_softmax_of_pairs(fmt, io):
    """Pairs of any signs and distances, cancellation included, and all pairs of special values."""
    rng = np.random.default_rng(22)
    a = np.concatenate([rng.normal(size=700) * 8, rng.normal(size=700) * 2.0 ** rng.uniform(-20, 12, 700)])
    b = np.concatenate([rng.normal(size=700) * 8, rng.normal(size=700) * 2.0 ** rng.uniform(-20, 12, 700)])
    a, b = from_float64(a, fmt), from_float64(b, fmt)
    b[:200] = np.clip(a[:200] + rng.integers(-40, 41, 200), 0, (1 << fmt.width) - 1)  # almost equal
    plain = rng.integers(0, fmt.infinity, (2, 400)) | rng.integers(0, 2, (2, 400)) << (fmt.width - 1)
    corner = np.array(
        [
            0,
            1,
            (1 << fmt.fraction_bits) - 1,
            1 << fmt.fraction_bits,
            fmt.bias << fmt.fraction_bits,
            fmt.infinity - 1,
            fmt.infinity,
        ]
    )
    corner = np.concatenate([corner, corner | fmt.sign_mask])
    a = np.concatenate([a, plain[0], np.repeat(corner, len(corner))])
    b = np.concatenate([b, plain[1], np.tile(corner, len(corner))])
    first = order_key(a, fmt) >= order_key(b, fmt)
    maximum, value = np.where(first, a, b), np.where(first, b, a)
    one = fmt.bias << fmt.fraction_bits
    nan = [fmt.nan, fmt.infinity + 1, fmt.nan | fmt.sign_mask]
    maximum = np.concatenate([maximum, nan, [fmt.nan] * 3, [one, fmt.infinity, fmt.negative_infinity, fmt.nan]])
    value = np.concatenate([value, [one, fmt.infinity, fmt.negative_infinity], nan, [fmt.nan] * 4])
    dut = SoftmaxExp(fmt, ExpTable(io))
    got = pipeline(dut, dut.result, maximum=maximum, value=value)
    np.testing.assert_array_equal(got, softmax_exp(maximum, value, fmt, ExpTable(io)))
    finite = ~(decode(maximum, fmt).inf | decode(maximum, fmt).nan | decode(value, fmt).inf | decode(value, fmt).nan)
    reference = np.exp(to_float64(value[finite], fmt) - to_float64(maximum[finite], fmt))
    assert (np.abs(to_float64(got[finite], io) - reference) <= ulp(reference, io)).all()


# Shapes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ALL)
def test_float_shape_is_the_format(fmt):
    shape = FloatShape(fmt)
    assert Shape.cast(shape).width == fmt.width and repr(shape) == f"FloatShape({fmt.name})"
    number = Signal(shape)
    assert (len(number.sign), len(number.exponent), len(number.fraction)) == (1, fmt.exponent_bits, fmt.fraction_bits)
    dtype = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}[fmt.name]
    info = ml_dtypes.finfo(dtype)
    for value in (
        0.0,
        -0.0,
        1,
        -1.5,
        2.0**-5,
        float(info.max),
        float(info.smallest_normal),
        float("inf"),
        -float("inf"),
    ):
        expected = int(np.array(value, dtype).view(f"u{fmt.width // 8}"))
        assert shape.const(value).as_value().value == expected
        assert shape.const(value)["sign"] == expected >> (fmt.width - 1)


def test_float_shape_as_initial_value():
    assert Signal(FloatShape(BF16), init=-2.0).as_value().init == 0xC000
    assert FloatShape(FP16).const({"sign": 1, "exponent": 15}).as_value().value == 0xBC00
    m = Module()
    number = Signal(FloatShape(FP16), init=1.5)
    copy = Signal(data.StructLayout({"x": FloatShape(FP16), "last": 1}))
    m.d.comb += copy.x.eq(number)
    assert "16'0011111000000000" in rtlil.convert(m, ports=[copy.as_value()])


@pytest.mark.parametrize("value", [1 + 2.0**-11, 1e5, 2.0**-15, float("nan"), 0.1])
def test_float_shape_refuses_what_it_would_have_to_round(value):
    with pytest.raises(ValueError, match="Initial value must be a normal number of fp16, not"):
        FloatShape(FP16).const(value)


def test_float_shape_refuses_arithmetic_and_other_formats():
    with pytest.raises(TypeError):
        Signal(FloatShape(FP16)) + 1
    with pytest.raises(TypeError, match="Format must be a FloatFormat, not 'fp16'"):
        FloatShape("fp16")
    assert FloatShape(FP16).float_format is FORMATS["fp16"]
