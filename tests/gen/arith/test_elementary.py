# amaranth: UnusedElaboratable=no
"""Reciprocal, reciprocal square root and logarithm in hardware: bit for bit the model's, which is proven faithful."""

import numpy as np
import pytest
from amaranth import *
from amaranth.sim import Simulator

from bankside.constraints.core.formats import BF16, FP16, FP32, FloatFormat, float_format
from bankside.gen.arith import FloatShape, StreamOperator, logarithm, reciprocal, reciprocal_square_root
from bankside.models import numerics
from bankside.studies.operators import evaluate_operator

OPERATORS = (reciprocal, reciprocal_square_root, logarithm)


def every_operator(formats, flushes):
    """All three operators side by side, so that there is one module to compile, and what its results are."""
    variants = [(function, fmt, flush) for fmt in formats for function in OPERATORS for flush in flushes]

    def build(m, a, *, depth, enables):
        return tuple(
            function(
                m,
                a[: fmt.width],
                fmt=fmt,
                flush_to_zero=flush,
                depth=depth,
                enables=enables,
                name=f"{function.__name__}_{fmt.name}_{flush}_",
            )
            for function, fmt, flush in variants
        )

    return build, {
        f"{function.__name__}_{fmt.name}_{flush}": (function, fmt, flush) for function, fmt, flush in variants
    }


def assert_like_the_model(formats, depth, operands, flushes=(False, True)):
    build, names = every_operator(formats, flushes)
    dut = StreamOperator(
        build,
        {"a": max(f.width for f in formats)},
        {name: FloatShape(fmt) for name, (_, fmt, _) in names.items()},
        depth=depth,
    )
    got = evaluate_operator(dut, {"a": operands})
    for name, (function, fmt, flush) in names.items():
        bits = operands & ((1 << fmt.width) - 1)
        expected = getattr(numerics, function.__name__)(bits, fmt=fmt, flush_to_zero=flush)
        np.testing.assert_array_equal(got[name].astype(np.int64), expected, err_msg=name)


@pytest.mark.parametrize(("fmt", "depth"), [(FP16, 0), (BF16, 4)], ids=lambda x: getattr(x, "name", str(x)))
def test_every_number(fmt, depth):
    """All 65,536 operands through the Verilog."""
    assert_like_the_model([fmt], depth, np.arange(1 << 16))


@pytest.mark.slow
def test_every_number_of_a_format_with_parabolas():
    """All 32,768 operands of the shortest format whose tables hold no lines, subnormals on every side."""
    assert_like_the_model([FloatFormat("e2m12", 2, 12)], 0, np.arange(1 << 15), flushes=[False])


def simulate(function, fmt, operands, *, depth, **options):
    """Results in Amaranth's simulator, one operand per cycle without gaps."""
    m, a, result = Module(), Signal(fmt.width), Signal(fmt.width)
    m.d.comb += result.eq(function(m, a, fmt=fmt, depth=depth, **options))
    results = []

    async def testbench(ctx):
        for n in range(len(operands) + depth):
            ctx.set(a, int(operands[min(n, len(operands) - 1)]))
            if n >= depth:
                results.append(ctx.get(result))
            if depth:
                await ctx.tick()

    sim = Simulator(m)
    if depth:
        sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()
    return np.array(results)


@pytest.mark.parametrize("flush", [False, True], ids=["gradual", "flush"])
@pytest.mark.parametrize("name", ["e2m1", "e2m4", "e3m1", "e3m4", "e4m3", "e5m2"])
@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_every_number_of_small_formats(function, name, flush):
    """Formats in which results underflow and overflow, and 1/2 is subnormal."""
    fmt = float_format(name)
    operands = np.arange(1 << fmt.width)
    got = simulate(function, fmt, operands, depth=0, flush_to_zero=flush)
    model = getattr(numerics, function.__name__)
    np.testing.assert_array_equal(got, model(operands, fmt=fmt, flush_to_zero=flush))


@pytest.mark.parametrize("depth", [1, 4, 30])
@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_latency_is_the_depth(function, depth):
    """The same results, ``depth`` cycles later, with more registers than places for them too."""
    fmt = float_format("e3m3")
    operands = np.random.default_rng(depth).permutation(1 << fmt.width)
    got = simulate(function, fmt, operands, depth=depth)
    np.testing.assert_array_equal(got, getattr(numerics, function.__name__)(operands, fmt=fmt))


@pytest.mark.slow
def test_a_million_numbers_of_fp32():
    rng = np.random.default_rng(4)
    one = FP32.bias << 23
    assert_like_the_model(
        [FP32],
        6,
        np.concatenate([rng.integers(0, 1 << 32, 700_000), rng.integers(one - (1 << 23), one + (1 << 23), 300_000)]),
    )


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_arguments(function):
    with pytest.raises(TypeError, match=r"^Format must be a FloatFormat, not 'fp16'$"):
        function(Module(), Signal(16), fmt="fp16")
    with pytest.raises(ValueError, match=r"^Operand must have the 16 bits of fp16, not 15$"):
        function(Module(), Signal(15), fmt=FP16)
