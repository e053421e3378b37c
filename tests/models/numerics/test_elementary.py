"""Reciprocal, reciprocal square root and logarithm: faithful for every number, shown with exact arithmetic."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from bankside.constraints.arith import elementary
from bankside.constraints.arith.elementary import logarithm_tables, reciprocal_square_root_table, reciprocal_table
from bankside.constraints.core.formats import BF16, FP16, FP32, FloatFormat, float_format
from bankside.models.numerics import elementary as model
from bankside.models.numerics import logarithm, order_key, reciprocal, reciprocal_square_root, to_float64

FUNCTIONS = {f.__name__: f for f in (reciprocal, reciprocal_square_root, logarithm)}
ALL = [pytest.param(f, id=name) for name, f in FUNCTIONS.items()]


def neighbours(function, a, fmt):
    """Bits of the magnitudes below and above the exact one (equal if it is a number of the format), and its sign.

    ``a``: finite operands that are not 0 and have a real result. The reciprocals are found with Python's integers; the
    logarithm in binary64, whose error of 2**-52 never hides on which side of a number the exact one lies: were it
    closer, the assertion would fail.
    """
    f, bias = fmt.fraction_bits, fmt.bias
    magnitude = a & ~fmt.sign_mask
    field = magnitude >> f
    significand = magnitude & ((1 << f) - 1) | np.where(field > 0, 1 << f, 0)
    power = np.maximum(field, 1) - bias - f  # a = significand * 2**power
    if function is logarithm:
        exact = np.log(np.ldexp(significand.astype(np.float64), power))
        sign, exact = exact < 0, np.abs(exact)
        exponent = np.maximum(np.frexp(exact)[1] - 1, 1 - bias)
        scaled = np.ldexp(exact, f - exponent)
        below, inexact = np.floor(scaled).astype(np.int64), exact != 0
        assert (np.abs(scaled - np.rint(scaled))[inexact] > 2.0 ** (f - 50)).all()
        low = np.where(inexact, below + (exponent.astype(np.int64) + bias - 1 << f), 0)
        return np.minimum(low, fmt.infinity), np.minimum(low + inexact, fmt.infinity), sign
    low, high = [], []
    for m, e in zip(significand.tolist(), power.tolist(), strict=True):
        # The result is root(2**wide / m) * 2**rest with an integer under the root so wide that cutting it is harmless.
        if function is reciprocal:
            wide = 3 * f + 8
            quotient, remainder = divmod(1 << wide, m)
            rest, exact = -e - wide, remainder == 0
        else:
            wide = 6 * f + 16 + (e & 1)
            quotient = math.isqrt((1 << wide) // m)
            rest, exact = -(e + wide) // 2, quotient * quotient * m == 1 << wide
        last = max(quotient.bit_length() - 1 + rest, 1 - bias) - f  # exponent of the result's last place
        drop = last - rest
        floor = quotient >> drop
        exact = exact and floor << drop == quotient
        bits = floor + (last + f + bias - 1 << f)
        low.append(min(bits, fmt.infinity))
        high.append(min(bits + (not exact), fmt.infinity))
    return np.array(low, np.int64), np.array(high, np.int64), a & fmt.sign_mask != 0


def assert_faithful(function, fmt, operands, flush_to_zero=False):
    """Every result is exact or next to the exact one, special values are as IEEE 754 has them; results are monotonic."""
    got = function(operands, fmt=fmt, flush_to_zero=flush_to_zero)
    sign, magnitude = operands & fmt.sign_mask, operands & ~fmt.sign_mask
    if flush_to_zero:
        magnitude = np.where(magnitude < fmt.smallest_normal, 0, magnitude)
    nan, infinite, zero = magnitude > fmt.infinity, magnitude == fmt.infinity, magnitude == 0
    negative = sign != 0
    if function is not reciprocal:
        nan = nan | negative & ~zero
    np.testing.assert_array_equal(got[nan], fmt.nan)
    of_zero = fmt.negative_infinity if function is logarithm else fmt.infinity | sign[zero]
    np.testing.assert_array_equal(got[zero], of_zero)
    of_infinity = fmt.infinity if function is logarithm else sign[infinite & ~nan]
    np.testing.assert_array_equal(got[infinite & ~nan], of_infinity)

    finite = ~(nan | infinite | zero)
    low, high, minus = neighbours(function, operands[finite], fmt)
    expected_sign = np.where(minus, fmt.sign_mask, 0)
    result = got[finite]
    np.testing.assert_array_equal(result & fmt.sign_mask, expected_sign)
    result = result & ~fmt.sign_mask
    if flush_to_zero:
        # Exactly below the normal range: the neighbour below is.
        tiny = low < fmt.smallest_normal
        assert (result[tiny] == 0).all()
        low, high, result = low[~tiny], high[~tiny], result[~tiny]
    outside = (result < low) | (result > high)
    assert not outside.any(), f"{outside.sum()} results are not faithful, the first for {np.flatnonzero(outside)[0]}"

    for side in (operands[finite & ~negative], operands[finite & negative]):
        if len(side) and not (function is not reciprocal and side[0] & fmt.sign_mask):
            side = side[np.argsort(order_key(side, fmt))]
            steps = np.diff(order_key(function(side, fmt=fmt, flush_to_zero=flush_to_zero), fmt))
            assert ((steps >= 0) if function is logarithm else (steps <= 0)).all()


@pytest.mark.parametrize("flush", [False, True], ids=["gradual", "flush"])
@pytest.mark.parametrize("fmt", [FP16, BF16], ids=lambda f: f.name)
@pytest.mark.parametrize("function", ALL)
def test_every_number(function, fmt, flush):
    assert_faithful(function, fmt, np.arange(1 << fmt.width), flush)


@pytest.mark.parametrize("flush", [False, True], ids=["gradual", "flush"])
@pytest.mark.parametrize("exponent_bits", [2, 3, 4, 5])
@pytest.mark.parametrize("function", ALL)
def test_every_number_of_small_formats(function, exponent_bits, flush):
    """Subnormal results, overflow to infinity, results that one place is left of; lines and the first parabolas."""
    for fraction_bits in (*range(1, 9), *((10, 12) if exponent_bits < 4 else ())):
        fmt = FloatFormat(f"e{exponent_bits}m{fraction_bits}", exponent_bits, fraction_bits)
        assert_faithful(function, fmt, np.arange(1 << fmt.width), flush)


def corners(fmt, count, seed=1):
    """Random numbers of all magnitudes, next to 1, subnormal; the edges of every binade; the edges of table pieces."""
    rng = np.random.default_rng(seed)
    f, one = fmt.fraction_bits, fmt.bias << fmt.fraction_bits
    near = np.arange(-300, 301)
    pieces = (np.arange(1 << min(f, 9)) << (f - min(f, 9)))[:, None] + near[290:311]
    return np.unique(
        np.concatenate(
            [
                rng.integers(0, fmt.infinity, count),
                one + rng.integers(-1 << f, 1 << f, count // 2),
                rng.integers(0, fmt.smallest_normal, count // 8),
                one + near,
                (np.arange(fmt.exponent_max)[:, None] * (1 << f) + near[298:303]).ravel().clip(0, fmt.infinity),
                one + pieces.ravel(),
                (one - (1 << f) + pieces.ravel()).clip(0),
                [0, 1, fmt.largest, fmt.infinity, fmt.nan],
            ]
        )
    )


@pytest.mark.parametrize("name", ["fp32", "e5m23", "e2m23", "e11m20", "e8m13"])
@pytest.mark.parametrize("function", ALL)
def test_sample_of_long_formats(function, name):
    fmt = float_format(name)
    operands = corners(fmt, 10_000)
    assert_faithful(function, fmt, np.concatenate([operands, operands[::7] | fmt.sign_mask]))


@pytest.mark.parametrize("function", ALL)
def test_million_numbers_of_fp32(function):
    """Against binary64 (which is 2**29 times finer): below one unit in the last place, and how much below."""
    rng = np.random.default_rng(7)
    one = FP32.bias << 23
    a = np.sort(
        np.concatenate(
            [
                rng.integers(FP32.smallest_normal, FP32.infinity, 700_000),
                rng.integers(one - (1 << 23), one + (1 << 23), 400_000),
            ]
        )
    )
    x = to_float64(a, FP32)
    with np.errstate(divide="ignore"):
        exact = {
            reciprocal: lambda: 1 / x,
            reciprocal_square_root: lambda: 1 / np.sqrt(x),
            logarithm: lambda: np.log(x),
        }[function]()
    got = to_float64(function(a, fmt=FP32), FP32)
    unit = np.ldexp(1.0, np.maximum(np.frexp(np.where(exact == 0, 1, exact))[1] - 1, -126) - 23)
    error = np.abs(got - exact) / unit
    assert error.max() < {reciprocal: 0.86, reciprocal_square_root: 0.72, logarithm: 0.67}[function]
    assert ((np.diff(got) >= 0) if function is logarithm else (np.diff(got) <= 0)).all()


@pytest.mark.slow
def test_every_significand_of_fp32():
    """The reciprocals depend on the significand (and the parity of the exponent) alone but for a shift: that is all of
    them. Of the logarithm every number from 1/2 to 2, where relative precision is hard."""
    one, size = FP32.bias << 23, 1 << 20
    for first in range(one - (1 << 23), one + (1 << 23), size):
        a = np.arange(first, first + size + 1)  # the first of the next part too, for the order
        x = to_float64(a, FP32)
        for function, exact, bound in (
            (reciprocal, 1 / x, 0.86),
            (reciprocal_square_root, 1 / np.sqrt(x), 0.72),
            (logarithm, np.log(x), 0.67),
        ):
            got = to_float64(function(a, fmt=FP32), FP32)
            unit = np.ldexp(1.0, np.frexp(np.where(exact == 0, 1, exact))[1] - 24)
            assert (np.abs(got - exact) / unit).max() < bound
            assert ((np.diff(got) >= 0) if function is logarithm else (np.diff(got) <= 0)).all()


@pytest.mark.parametrize(
    ("function", "fmt", "worst", "share"),
    [
        (reciprocal, FP16, 0.9927, 0.145),
        (reciprocal, BF16, 0.9455, 0.281),
        (reciprocal_square_root, FP16, 0.9947, 0.157),
        (reciprocal_square_root, BF16, 0.9734, 0.161),
        (logarithm, FP16, 0.9951, 0.0483),
        (logarithm, BF16, 0.9644, 0.0135),
    ],
)
def test_accuracy_as_documented(function, fmt, worst, share):
    """Largest error in units in the last place, and share of finite operands whose result is not the nearest."""
    a = np.arange(1, fmt.infinity)
    x = to_float64(a, fmt)
    exact = {reciprocal: 1 / x, reciprocal_square_root: 1 / np.sqrt(x), logarithm: np.log(x)}[function]
    got = to_float64(function(a, fmt=fmt), fmt)
    keep = np.isfinite(got)
    unit = np.ldexp(1.0, np.maximum(np.frexp(np.where(exact == 0, 1, exact))[1] - 1, 1 - fmt.bias) - fmt.fraction_bits)
    error = (np.abs(got - exact) / unit)[keep]
    assert worst - 1e-3 < error.max() <= worst and share - 2e-3 < (error > 0.5).mean() <= share + 2e-3


@pytest.mark.parametrize("function", ALL)
def test_a_wrong_coefficient_is_seen(function, monkeypatch):
    """One unit in one constant of a table: the check of every number fails (so the tables have no slack to speak of)."""
    name = f"{function.__name__}_table{'s' if function is logarithm else ''}"
    original = getattr(elementary, name)
    failed = 0
    for piece in (0, 7, -1):

        def changed(argument, piece=piece):
            tables = original(argument)
            table = tables.quotient if function is logarithm else tables
            c0 = list(table.c0)
            c0[piece] += 3 << table.shift
            table = dataclasses.replace(table, c0=tuple(c0))
            return dataclasses.replace(tables, quotient=table) if function is logarithm else table

        monkeypatch.setattr(model, name, changed)
        try:
            assert_faithful(function, FP16, np.arange(1 << 15))
        except AssertionError:
            failed += 1
    assert failed == 3


def test_tables_are_small():
    """Bits of the tables, and of the rows of their products, as they are documented."""
    sizes = {}
    for fmt in (FP16, BF16, FP32):
        f = fmt.fraction_bits
        for table in (reciprocal_table(f), reciprocal_square_root_table(f), logarithm_tables(fmt).quotient):
            sizes.setdefault(fmt.name, []).append((1 << table.index_bits, table.table_bits, table.product_bits))
    assert sizes["fp16"] == [(32, 576, 22), (32, 608, 27), (32, 640, 30)]
    assert sizes["bf16"] == [(16, 192, 9), (16, 208, 11), (16, 224, 13)]
    assert [pieces for pieces, _, _ in sizes["fp32"]] == [128, 256, 256]


@pytest.mark.parametrize("function", ALL)
def test_values_that_anyone_knows(function):
    one, two, four, half = (FP16.bias + n << 10 for n in (0, 1, 2, -1))
    expected = {
        reciprocal: [one, half, half - (1 << 10), two],
        reciprocal_square_root: [one, None, half, None],
        logarithm: [0, 0x398C, 0x3D8C, 0xB98C],
    }[function]
    got = function(np.array([one, two, four, half]), fmt=FP16).tolist()
    assert [g for g, e in zip(got, expected, strict=True) if e is not None] == [e for e in expected if e is not None]
    # The largest subnormal whose reciprocal overflows is 2**-16; the next one's does not.
    if function is reciprocal:
        assert function(np.array([0x0100, 0x0101, 0x8100]), fmt=FP16).tolist() == [0x7C00, 0x7BF8, 0xFC00]
        assert function(np.array([0x0101]), fmt=FP16, flush_to_zero=True).tolist() == [0x7C00]
