# amaranth: UnusedElaboratable=no
"""Exponentials and activation functions in Verilog, bit for bit against their models: every operand of 16-bit formats."""

import numpy as np
import pytest
from amaranth import *
from amaranth.back import verilog

from bankside.constraints.arith.activation import TableInterpolation
from bankside.constraints.arith.geometry import ExpTable
from bankside.constraints.core.formats import BF16, FP16, FP32, float_format
from bankside.cosim.bench.streams import Items, StreamPort, play
from bankside.gen.arith import FloatShape, IterativeExponential, StreamOperator, exponential, interpolate, softmax_exp
from bankside.models import numerics
from bankside.studies.operators import evaluate_operator

pytestmark = pytest.mark.xdist_group("arith_exponential")


def agree(fmt, operands, *, depth=0, **options):
    """Results of :func:`exponential` in Verilog are the model's."""
    unit = StreamOperator(
        exponential, {"a": FloatShape(fmt)}, {"result": FloatShape(fmt)}, depth=depth, options={"fmt": fmt, **options}
    )
    got = evaluate_operator(unit, {"a": operands})["result"]
    np.testing.assert_array_equal(got, numerics.exponential(operands, fmt, **options))


@pytest.mark.parametrize(
    ("name", "depth", "flush"),
    [
        ("fp16", 0, False),
        ("bf16", 0, False),
        ("fp16", 5, False),
        ("bf16", 12, False),
        ("fp16", 3, True),
        ("e2m3", 2, True),
        ("e3m2", 0, False),
        ("e4m9", 1, True),
        ("e11m4", 0, False),
    ],
)
def test_exponential_of_every_operand(name, depth, flush):
    fmt = float_format(name)
    agree(fmt, np.arange(1 << fmt.width), depth=depth, flush_to_zero=flush)


@pytest.mark.parametrize(
    ("name", "depth"),
    [("e4m12", 0), pytest.param("fp32", 6, marks=pytest.mark.slow), pytest.param("e5m15", 0, marks=pytest.mark.slow)],
)
def test_exponential_in_wide_formats(name, depth):
    """Any bits, and operands with results that are neither 0 nor 1 nor infinite."""
    fmt = float_format(name)
    rng = np.random.default_rng(1)
    value = rng.uniform(-1.05, 1, 150_000) * 0.7 * (fmt.bias + fmt.precision)
    corner = np.array([0, 1, fmt.smallest_normal - 1, fmt.smallest_normal, fmt.largest, fmt.infinity, fmt.infinity + 1])
    operands = np.concatenate(
        [
            rng.integers(0, 1 << fmt.width, 100_000),
            numerics.from_float64(value, fmt),
            numerics.from_float64(value * 2.0 ** rng.uniform(-fmt.precision, 0, value.size), fmt),
            corner,
            corner | fmt.sign_mask,
        ]
    )
    agree(fmt, operands, depth=depth)


def test_places_for_registers():
    """Seven registers find places within the datapath: none is left to follow the result."""
    unit = StreamOperator(
        exponential, {"a": FloatShape(FP16)}, {"result": FloatShape(FP16)}, depth=7, options={"fmt": FP16}
    )
    text = verilog.convert(unit, name="unit", emit_src=False, strip_internal_attrs=True)
    assert all(f"_s{stage} " in text for stage in range(1, 8)) and "delayed_0" not in text


@pytest.mark.parametrize(
    ("fmt", "reduced"),
    [pytest.param(BF16, False, id="bf16-plain"), pytest.param(FP16, True, id="fp16-reduced", marks=pytest.mark.slow)],
)
def test_taylor_series_in_one_piece(fmt, reduced):
    rng = np.random.default_rng(2)
    value = numerics.from_float64(rng.uniform(-20, 12, 8000), fmt)
    operands = np.concatenate([np.arange(0, 1 << 16, 17), value])
    agree(fmt, operands, variant="taylor", order=2, range_reduced=reduced)


def played(unit, operands, **pressure):
    """Results of an iterative unit as a stream, and the cycles it took."""
    text = verilog.convert(unit, name="unit", emit_src=False, strip_internal_attrs=True)
    payload = np.stack([operands & 255, operands >> 8], axis=1).astype(np.uint8)
    run = play(
        text,
        "unit",
        [StreamPort("i", 16, True), StreamPort("o", 16, False)],
        {"i": Items.of(payload)},
        {"o": np.array([len(operands)])},
        limit=4_000_000,
        **pressure,
    )
    assert run.faults == []
    return run.outputs["o"].astype(np.int64) @ (1, 256), run.epochs[0].end_cycle


@pytest.mark.parametrize(
    ("fmt", "order", "reduced", "flush"),
    [(BF16, 10, False, False), (BF16, 10, True, False), (FP16, 7, True, True)],
    ids=["cent", "cent-reduced", "fp16"],
)
def test_iterative_taylor_series(fmt, order, reduced, flush):
    """Every operand one after the other; then some with stalls on either side."""

    def unit():
        return IterativeExponential(fmt, order=order, range_reduced=reduced, flush_to_zero=flush)

    operands = np.arange(1 << 16)
    expected = numerics.exponential(
        operands, fmt, variant="taylor", order=order, range_reduced=reduced, flush_to_zero=flush
    )
    got, cycles = played(unit(), operands)
    np.testing.assert_array_equal(got, expected)
    latency = unit().latency["result"]
    assert latency == order + (5 if reduced else 1)
    assert latency * len(operands) <= cycles <= latency * len(operands) + 3  # the next one is taken with the result
    some = operands[::37]
    np.testing.assert_array_equal(played(unit(), some, stalls={"i": 0.5, "o": 0.6})[0], expected[::37])


@pytest.mark.parametrize(("score", "io", "depth"), [(FP32, FP16, 4), (BF16, BF16, 0)], ids=["fp32-fp16", "bf16-bf16"])
def test_softmax_exponential_of_any_bits(score, io, depth):
    """Pairs of any bits in order, close ones, and equal ones, at depths other than SoftmaxExp's."""
    rng = np.random.default_rng(4)
    count = 40_000
    a, b = rng.integers(0, 1 << score.width, (2, count))
    near = numerics.from_float64(rng.normal(size=count) * 2.0 ** rng.uniform(-9, 6, count), score)
    close = np.clip(near + rng.integers(-99, 100, count), 0, None)
    a, b = np.concatenate([a, near, near]), np.concatenate([b, close, near])
    first = numerics.order_key(a, score) >= numerics.order_key(b, score)
    maximum, value = np.where(first, a, b), np.where(first, b, a)
    table = ExpTable(io)
    shape = FloatShape(score)
    unit = StreamOperator(
        softmax_exp,
        {"maximum": shape, "value": shape},
        {"result": FloatShape(io)},
        depth=depth,
        options={"score": score, "table": table},
    )
    got = evaluate_operator(unit, {"maximum": maximum, "value": value})["result"]
    np.testing.assert_array_equal(got, numerics.softmax_exp(maximum, value, score, table))


@pytest.mark.parametrize(
    ("function", "fmt", "entries", "limit", "depth"),
    [
        ("sigmoid", BF16, 128, 8, 0),
        ("exp", FP16, 64, 8, 2),
        ("gelu", BF16, 32, 4, 0),
        ("tanh", FP16, 128, 4, 7),
        ("silu", FP16, 16, 16, 0),
    ],
)
def test_activation_of_every_operand(function, fmt, entries, limit, depth):
    table = TableInterpolation(function, fmt, entries=entries, limit=limit)
    unit = StreamOperator(
        interpolate, {"a": FloatShape(fmt)}, {"result": FloatShape(fmt)}, depth=depth, options={"table": table}
    )
    operands = np.arange(1 << 16)
    np.testing.assert_array_equal(
        evaluate_operator(unit, {"a": operands})["result"], numerics.interpolate(operands, table)
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, a: exponential(m, a, fmt="fp16"), TypeError, "^Format must be a FloatFormat, not 'fp16'$"),
        (
            lambda m, a: exponential(m, a, fmt=FP16, variant="spline"),
            ValueError,
            "^Variant must be faithful or taylor, not 'spline'$",
        ),
        (
            lambda m, a: exponential(m, a, fmt=FP16, variant="taylor", order=0),
            ValueError,
            "^Order must be 1 or more, not 0$",
        ),
        (lambda m, a: IterativeExponential("bf16"), TypeError, "^Format must be a FloatFormat, not 'bf16'$"),
        (
            lambda m, a: softmax_exp(m, a, a, score=16, table=ExpTable(FP16)),
            TypeError,
            "^Format of the scores must be a FloatFormat, not 16$",
        ),
        (
            lambda m, a: softmax_exp(m, a, a, score=FP16, table=FP16),
            TypeError,
            "^Table must be an ExpTable, not FloatFormat",
        ),
        (lambda m, a: interpolate(m, a, table="tanh"), TypeError, "^Table must be a TableInterpolation, not 'tanh'$"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call(Module(), Signal(16))
