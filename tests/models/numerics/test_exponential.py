"""Exponential, Taylor's series and tables of activation functions: against mpmath, binary64 and rational numbers."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from bankside.constraints.arith.activation import ACTIVATIONS, TableInterpolation
from bankside.constraints.arith.exponential import exponential_tables, taylor_constants
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.formats import BF16, FP16, FP32, float_format
from bankside.models.numerics import (
    decode,
    exact_function,
    exponential,
    from_float64,
    interpolate,
    order_key,
    to_float64,
    ulp_errors,
)

IO = [pytest.param(fmt, id=fmt.name) for fmt in (FP16, BF16)]
#: Of every kind: hardly any exponent or fraction, subnormal operands that count, chords and parabolas.
SMALL = ["e2m1", "e2m5", "e2m12", "e3m2", "e3m9", "e4m3", "e4m11", "e5m2", "e6m9", "e8m4", "e11m3"]


@pytest.fixture(autouse=True)
def quiet():
    """Overflow of binary64 is part of the reference."""
    with np.errstate(over="ignore", under="ignore"):
        yield


def special(fmt):
    one = fmt.bias << fmt.fraction_bits
    return {fmt.infinity: fmt.infinity, fmt.negative_infinity: 0, 0: one, fmt.sign_mask: one}


# Errors in ulps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", IO)
def test_errors_of_a_correctly_rounded_function(fmt):
    """Rounding binary64's exponential is correct rounding for 16 bits; mpmath agrees with binary64 on all errors."""

    def function(bits):
        return from_float64(np.exp(to_float64(bits, fmt)), fmt)

    found = ulp_errors(function, fmt, exact_function(mpmath.exp), special=special(fmt))
    assert found == {**found, "max_steps": 0, "not_correctly_rounded": 0.0, "monotonic": True, "special": True}
    assert 0.4999 < found["max_ulp"] < 0.5
    again = ulp_errors(function, fmt, np.exp, special=special(fmt))
    assert again["max_ulp"] == pytest.approx(found["max_ulp"]) and again["worst"] == found["worst"]
    assert found["inputs"] == 2 * fmt.infinity


def planted(change):
    """Errors of FP16's exponential with something wrong."""

    def function(bits):
        right = from_float64(np.exp(to_float64(bits, FP16)), FP16)
        return change(bits, right)

    return ulp_errors(function, FP16, np.exp, special=special(FP16))


def test_planted_errors_are_found():
    one = 15 << 10
    off = planted(lambda bits, right: np.where(bits == one, right + 2, right))
    assert off["max_steps"] == 2 and 1.5 < off["max_ulp"] < 2.5 and off["worst"] == one and off["special"]
    assert not off["monotonic"] and off["not_correctly_rounded"] == 1 / off["inputs"]
    assert not planted(lambda bits, right: np.where(bits == FP16.infinity, FP16.largest, right))["special"]
    assert not planted(lambda bits, right: np.where(bits == FP16.infinity + 3, FP16.nan + 1, right))["special"]
    assert planted(lambda bits, right: np.where(bits == one, FP16.nan, right))["max_ulp"] == math.inf
    # The largest number for infinity is one step, and no more than the distance to the power of two above.
    short = planted(lambda bits, right: np.minimum(right, FP16.largest) if bits.size > 1 else right)
    assert short["max_steps"] == 1 and short["max_ulp"] == 1.0


def test_errors_of_other_directions_and_domains():
    """Falling where the reference falls is monotonic; where there is no real number NaN is due."""
    found = ulp_errors(lambda bits: from_float64(-(to_float64(bits, FP16) ** 2), FP16), FP16, lambda x: -x * x)
    assert found["monotonic"] and found["max_steps"] == 0
    with np.errstate(invalid="ignore"):
        root = ulp_errors(
            lambda bits: from_float64(np.sqrt(to_float64(bits, FP16)), FP16), FP16, exact_function(mpmath.sqrt)
        )
    assert root["special"] and root["inputs"] == FP16.infinity + 1 and root["max_ulp"] <= 0.5
    with pytest.raises(ValueError, match="^Inputs must be given for a format of more than 16 bits, not for fp32$"):
        ulp_errors(lambda bits: bits, FP32, np.exp)


# Exponential --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", IO)
def test_exponential_of_every_operand(fmt):
    found = ulp_errors(lambda bits: exponential(bits, fmt), fmt, exact_function(mpmath.exp), special=special(fmt))
    assert found["max_ulp"] < 1 and found["max_steps"] == 1
    assert found["monotonic"] and found["special"]
    # Of the operands with results other than 0, 1 and infinity one in five is not the nearest number.
    value = to_float64(np.arange(1 << 16), fmt)
    matters = np.arange(1 << 16)[(np.abs(value) > 2.0**-fmt.precision) & (np.abs(value) < math.log(2) * fmt.bias)]
    assert ulp_errors(lambda bits: exponential(bits, fmt), fmt, np.exp, inputs=matters)["not_correctly_rounded"] < 0.2


@pytest.mark.parametrize("name", SMALL)
def test_exponential_in_small_formats(name):
    fmt = float_format(name)
    found = ulp_errors(lambda bits: exponential(bits, fmt), fmt, np.exp, special=special(fmt))
    assert found["max_ulp"] < 1 and found["monotonic"] and found["special"]


@pytest.mark.parametrize(
    ("name", "count"),
    [("fp32", 1_200_000), ("e8m10", 100_000), ("e8m12", 100_000), ("e5m15", 100_000), ("e8m27", 300_000)],
)
def test_exponential_in_wide_formats(name, count):
    """Random operands of the whole range, of every size, and next to the ends; binary64 is exact enough."""
    fmt = float_format(name)
    rng = np.random.default_rng(3)
    low, high = -math.log(2) * (fmt.bias + fmt.precision), math.log(2) * (fmt.bias + 1)
    sizes = 2.0 ** rng.uniform(-fmt.precision - 2, math.log2(fmt.bias), count // 2) * rng.choice([-1, 1], count // 2)
    value = np.concatenate([rng.uniform(low * 1.02, high * 1.02, count // 2), sizes])
    near = np.concatenate([from_float64(np.array([x]), fmt) + np.arange(-500, 501) for x in (low, high, -high, 1, -1)])
    inputs = np.unique(np.concatenate([from_float64(value, fmt), near]))
    found = ulp_errors(lambda bits: exponential(bits, fmt), fmt, np.exp, inputs=inputs, special=special(fmt))
    assert found["max_ulp"] < (0.7 if fmt.precision > 12 else 1) and found["monotonic"] and found["special"]


@pytest.mark.parametrize("name", ["fp16", "bf16", "e2m5", "e3m2", "e4m9"])
def test_exponential_with_flush_to_zero(name):
    """A result is zero exactly where the exponential is below the normal range, never subnormal, and otherwise as before;
    a subnormal operand counts as zero."""
    fmt = float_format(name)
    bits = np.arange(1 << fmt.width)
    f = decode(bits, fmt)
    got = exponential(bits, fmt, flush_to_zero=True)
    subnormal = bits & ~fmt.sign_mask < fmt.smallest_normal
    zeroed = np.where(subnormal, bits & fmt.sign_mask, bits)
    tiny = np.exp(to_float64(zeroed, fmt)) < 2.0 ** (1 - fmt.bias)
    expected = np.maximum(exponential(zeroed, fmt), fmt.smallest_normal)
    np.testing.assert_array_equal(got, np.where(f.nan, fmt.nan, np.where(tiny, 0, expected)))


def test_results_do_not_depend_on_the_exponent_bits():
    """Where both have it, a format with a wider exponent has the same results within a step."""
    narrow, wide = float_format("e5m9"), float_format("e7m9")
    x = np.linspace(-9, 9, 4001)
    a = to_float64(exponential(from_float64(x, narrow), narrow), narrow)
    b = to_float64(exponential(from_float64(x, wide), wide), wide)
    np.testing.assert_allclose(a, b, rtol=2.0**-8)


def test_tables_stay_within_their_bounds():
    """No value of the fraction's power leaves 0 .. 1, and none falls, also between chords and parabolas."""
    for name in ("fp16", "bf16", "fp32", "e8m10", "e5m15", "e2m1"):
        tables = exponential_tables(float_format(name))
        size = 1 << tables.fraction_bits
        word = (
            np.arange(size)
            if size <= 1 << 18
            else np.unique(
                np.concatenate(
                    [
                        np.linspace(0, size - 1, 100_000).astype(np.int64),
                        (np.arange(1, 1 << 10)[:, None] * (size >> 10) + np.arange(-2, 3)).ravel(),
                    ]
                )
            )
        )
        value = tables.power(word)
        assert value.min() >= 0 and value.max() < 1 << tables.value_bits and (np.diff(value) >= 0).all(), name


# Taylor's series ----------------------------------------------------------------------------------------------------


def fraction_bits_of(number, fmt):
    """Bits of a rational number, rounded to nearest even."""
    sign, number = (fmt.sign_mask, -number) if number < 0 else (0, number)
    exponent = 1 - fmt.bias
    while number >= Fraction(2) ** (exponent + 1):
        exponent += 1
    units = round(number / Fraction(2) ** (exponent - fmt.fraction_bits))
    bits = (exponent + fmt.bias - 1 << fmt.fraction_bits) + units
    return sign | min(bits, fmt.infinity)


@pytest.mark.parametrize("fmt", IO)
def test_taylor_series_step_by_step(fmt):
    """Horner's rule with rational numbers, rounded to the format after every multiply-add."""
    rng = np.random.default_rng(5)
    operands = from_float64(np.concatenate([rng.uniform(-6, 6, 80), [0, 1, -1, 2.0**-10]]), fmt)

    def number(bits):
        return Fraction(float(to_float64(np.array([bits]), fmt)[0]))

    coefficients = [fraction_bits_of(Fraction(1, math.factorial(k)), fmt) for k in range(11)]
    assert list(taylor_constants(fmt, 10, False).coefficients) == coefficients
    expected = []
    for x in operands.tolist():
        total = coefficients[-1]
        for coefficient in coefficients[-2::-1]:
            total = fraction_bits_of(number(total) * number(x) + number(coefficient), fmt)
        expected.append(total)
    np.testing.assert_array_equal(exponential(operands, fmt, variant="taylor"), expected)


@pytest.mark.parametrize("fmt", IO)
def test_errors_of_the_plain_taylor_series(fmt):
    """Good near 0, useless far from it: the documented ranges."""
    bits = np.arange(1 << 16)
    value = to_float64(bits, fmt)

    def errors(low, high):
        inputs = bits[(value >= low) & (value <= high)]
        return ulp_errors(lambda x: exponential(x, fmt, variant="taylor"), fmt, np.exp, inputs=inputs)["max_ulp"]

    assert 1 < errors(-1, 1) < 2 and 5 < errors(-2.5, 4) < 31 and errors(-6, 6) > 1e5
    assert exponential(np.array([fmt.negative_infinity]), fmt, variant="taylor")[0] == fmt.infinity
    assert exponential(np.array([fmt.nan + 1]), fmt, variant="taylor")[0] == fmt.nan


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("fmt", IO)
def test_taylor_series_with_reduction_over_every_operand(fmt, flush):
    def function(bits):
        return exponential(bits, fmt, variant="taylor", range_reduced=True, flush_to_zero=flush)

    inputs = np.arange(1 << 16)
    if flush:
        value = to_float64(inputs, fmt)
        # The series, not the exponential, decides what is below the normal range: not right at its edge.
        inputs = inputs[np.isfinite(value) & (value > math.log(2) * (1 - fmt.bias) + 2.0**-6)]
        got = function(np.arange(1 << 16))
        assert got[got > 0].min() >= fmt.smallest_normal
    found = ulp_errors(function, fmt, np.exp, inputs=inputs, special=special(fmt))
    assert found["max_ulp"] < 1 and found["max_steps"] == 1 and found["special"] and not found["monotonic"]


def test_wrong_series():
    with pytest.raises(ValueError, match="^Order must be 1 or more, not 0$"):
        taylor_constants(BF16, 0, False)
    with pytest.raises(
        ValueError,
        match="^Format must have 4 exponent bits and 9 bits of precision or more for the reduction, not be e9m3$",
    ):
        taylor_constants(float_format("e9m3"), 10, True)
    with pytest.raises(ConfigError, match="^variant must be faithful or taylor, not 'spline'$"):
        exponential(np.array([0]), BF16, variant="spline")


# Activation functions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", IO)
@pytest.mark.parametrize("function", ACTIVATIONS)
def test_activation_within_its_bound(function, fmt):
    """Every operand in the range: the chord's error, half a unit of points and of the value, the cut operand, and the
    rounding of the result; at the ends of chords only the last two."""
    bits = np.arange(1 << 16)
    value = to_float64(bits, fmt)
    inside = bits[(value >= -8) & (value < 8)]
    x = to_float64(inside, fmt)
    exact = np.array([ACTIVATIONS[function][0](v) for v in x.tolist()])
    grid = np.linspace(-8, 8, 20_001)
    curve = np.array([ACTIVATIONS[function][0](v) for v in grid.tolist()])
    slope = np.gradient(curve, grid)
    for entries in (32, 256):
        table = TableInterpolation(function, fmt, entries=entries)
        width = 16 / entries
        second = np.abs(np.gradient(slope, grid)).max() * 1.02
        bound = (
            width**2 / 8 * second
            + 2.0**-table.value_bits
            + np.abs(slope).max() * 1.01 * 2.0**-table.position_bits
            + np.abs(exact) * 2.0**-fmt.precision
            + 2.0 ** (-fmt.precision - fmt.bias)
        )
        got = to_float64(interpolate(inside, table), fmt)
        assert (np.abs(got - exact) <= bound).all()
        knots = np.isin(x, np.arange(-8, 8, width))
        point = np.abs(exact) * 2.0**-fmt.precision + 2.0**-table.value_bits
        assert knots.sum() == entries + 1 and (np.abs(got - exact) <= point)[knots].all()  # 0 is there twice


@pytest.mark.parametrize("fmt", IO)
def test_activation_beyond_the_table(fmt):
    beyond = from_float64(np.array([8.0, 9, 1000, np.inf, -8.5, -1000, -np.inf, np.nan]), fmt)
    nan = [fmt.nan]
    one, plus = fmt.bias << fmt.fraction_bits, beyond[:4].tolist()
    rules = {
        "sigmoid": [one] * 4 + [0] * 3,
        "tanh": [one] * 4 + [one | fmt.sign_mask] * 3,
        "gelu": plus + [0] * 3,
        "gelu_tanh": plus + [0] * 3,
        "silu": plus + [0] * 3,
    }
    for function, expected in rules.items():
        assert interpolate(beyond, TableInterpolation(function, fmt)).tolist() == expected + nan, function
    ends = to_float64(interpolate(beyond, TableInterpolation("exp", fmt))[:7], fmt)
    np.testing.assert_allclose(ends, [math.exp(8)] * 4 + [math.exp(-8)] * 3, rtol=0.01, atol=0.001)
    assert len(set(ends.tolist())) == 2


@pytest.mark.parametrize("fmt", IO)
@pytest.mark.parametrize("function", ["exp", "sigmoid", "tanh"])
def test_activation_is_monotonic(function, fmt):
    bits = np.arange(1 << 16)
    bits = bits[~decode(bits, fmt).nan]
    bits = bits[np.argsort(order_key(bits, fmt))]
    assert (np.diff(to_float64(interpolate(bits, TableInterpolation(function, fmt, entries=64)), fmt)) >= 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"function": "relu"}, "relu"),
        ({"entries": 100}, "^entries must be a power of two, not 100$"),
        ({"limit": 10}, "^limit must be a power of two, not 10$"),
        ({"entries": 1 << 13}, "^entries must be from 2 to 4096, not 8192$"),
        ({"fmt": float_format("e3m4")}, "^format must have more exponent bits than e3m4$"),
        ({"fmt": FP16, "function": "exp", "limit": 16}, "^limit must keep exp in the range of fp16, not be 16$"),
    ],
)
def test_wrong_table(options, message):
    with pytest.raises(ConfigError, match=message):
        TableInterpolation(**{"function": "tanh", "fmt": BF16, **options})
