"""IEEE 754 operations: what is nearest by rational arithmetic, NumPy and ml_dtypes; both ways to a result; properties.

Formats of a few bits are proved for all their operands. The reference for them takes the definition literally: the exact
result as a fraction, and the number of the format nearest to it.
"""

import itertools
import math
import operator
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.formats import BF16, FP16, FP32, IntegerFormat, float_format
from bankside.models.numerics import (
    add,
    compare,
    convert,
    divide,
    fma,
    from_integer,
    ieee,
    is_nan,
    maximum,
    minimum,
    multiply,
    round_to_integral,
    square_root,
    subtract,
    to_integer,
)
from bankside.models.numerics.vectors import corners, operands

DTYPES = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "fp32": np.dtype(np.float32)}
KNOWN = [pytest.param(fmt, id=fmt.name) for fmt in (FP16, BF16, FP32)]
TINY = [pytest.param(float_format(name), id=name) for name in ("e2m1", "e3m2", "e4m3", "e5m2")]
WIDE = [pytest.param(float_format(name), id=name) for name in ("e11m27", "e10m5", "e2m27", "e9m25", "e11m1")]

BINARY = {"multiply": multiply, "add": add, "subtract": subtract, "divide": divide}


@pytest.fixture(params=["binary64", "integers"])
def way(request, monkeypatch):
    """Both ways to a result, for every format."""
    if request.param == "integers":
        monkeypatch.setattr(ieee, "_binary64", lambda fmt: False)


# The definition ----------------------------------------------------------------------------------------------------


def nearest(value, sign, fmt, flush):
    """Bits of the number nearest to a fraction (of two the even one); ``sign`` is that of a zero."""
    if value == 0:
        return sign << (fmt.width - 1)
    sign, value = int(value < 0) << (fmt.width - 1), abs(value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= value < Fraction(2) ** exponent
    if exponent < 1 - fmt.bias and flush:
        return sign
    exponent = max(exponent, 1 - fmt.bias)
    steps = round(value / Fraction(2) ** (exponent - fmt.fraction_bits))  # Python's halves go to even
    return sign | min(steps + ((exponent + fmt.bias - 1) << fmt.fraction_bits), fmt.infinity)


def values(fmt, flush=False):
    """Of all patterns: (sign, fraction), an infinite float, or NaN."""
    found = []
    for bits in range(1 << fmt.width):
        sign, magnitude = bits >> (fmt.width - 1), bits & (fmt.sign_mask - 1)
        exponent, fraction = magnitude >> fmt.fraction_bits, magnitude & (fmt.smallest_normal - 1)
        found.append(number(sign, exponent, fraction, fmt, flush))
    return found


def number(sign, exponent, fraction, fmt, flush=False):
    if exponent == fmt.exponent_max:
        return (sign, math.nan if fraction else -math.inf if sign else math.inf)
    if exponent:
        fraction |= fmt.smallest_normal
    elif flush:
        fraction = 0
    return (sign, (-1) ** sign * fraction * Fraction(2) ** (max(exponent, 1) - fmt.bias - fmt.fraction_bits))


def fields(bits, fmt):
    bits = int(bits)
    return (bits >> (fmt.width - 1), bits >> fmt.fraction_bits & fmt.exponent_max, bits & (fmt.smallest_normal - 1))


def is_finite(*numbers):
    return all(isinstance(value, Fraction) for _, value in numbers)


def special(value, fmt):
    """Bits of an infinity or NaN as Python's floats give it."""
    return fmt.nan if math.isnan(value) else fmt.infinity if value > 0 else fmt.negative_infinity


def as_float(x):
    """What decides about infinities: only the sign and whether it is zero."""
    sign, value = x
    return value if not isinstance(value, Fraction) else (-1.0) ** sign * (value != 0)


def expected_product(x, y, fmt, flush):
    if is_finite(x, y):
        return nearest(x[1] * y[1], x[0] ^ y[0], fmt, flush)
    return special(as_float(x) * as_float(y), fmt)


def expected_sum(x, y, fmt, flush):
    if is_finite(x, y):
        return nearest(x[1] + y[1], x[0] & y[0], fmt, flush)
    return special(as_float(x) + as_float(y), fmt)


def expected_difference(x, y, fmt, flush):
    return expected_sum(x, (1 - y[0], -y[1]), fmt, flush)


def expected_quotient(x, y, fmt, flush):
    sign = x[0] ^ y[0]
    if is_finite(x, y) and y[1]:
        return nearest(x[1] / y[1], sign, fmt, flush)
    if is_finite(y) and not y[1]:
        none = math.isnan(as_float(x)) or x[1] == 0
        return fmt.nan if none else special(-math.inf if sign else math.inf, fmt)
    quotient = as_float(x) / as_float(y)
    return sign << (fmt.width - 1) if quotient == 0 else special(quotient, fmt)


EXPECTED = {
    "multiply": expected_product,
    "add": expected_sum,
    "subtract": expected_difference,
    "divide": expected_quotient,
}


def expected_fma(x, y, z, acc, flush):
    if is_finite(x, y, z):
        return nearest(x[1] * y[1] + z[1], (x[0] ^ y[0]) & z[0], acc, flush)
    return special(as_float(x) * as_float(y) + as_float(z), acc)


def expected_root(x, fmt, flush):
    sign, value = x
    if value == 0:
        return sign << (fmt.width - 1)
    if sign or not isinstance(value, Fraction):
        return fmt.infinity if value == math.inf else fmt.nan
    # The largest integer of 4 p bits below the root, and one bit that stands for the rest.
    shift = 4 * fmt.precision + 2 * fmt.fraction_bits + 2 * fmt.bias
    scaled = value * 4**shift
    root = math.isqrt(int(scaled))
    return nearest(Fraction(2 * root + (root * root != scaled), 2 << shift), 0, fmt, flush)


@pytest.mark.parametrize("flush", [False, True], ids=["subnormals", "flush"])
@pytest.mark.parametrize("operation", BINARY)
@pytest.mark.parametrize("fmt", TINY[:3])
def test_all_pairs_of_tiny_formats(fmt, operation, flush, way):
    known = values(fmt, flush)
    a, b = np.meshgrid(np.arange(1 << fmt.width), np.arange(1 << fmt.width), indexing="ij")
    if fmt.width == 8:  # every a with a quarter of the b, another one for each
        a, b = (x.reshape(-1, 4)[np.arange(x.size // 4), np.arange(x.size // 4) % 4] for x in (a, b))
    wanted = [EXPECTED[operation](known[x], known[y], fmt, flush) for x, y in zip(a.ravel(), b.ravel(), strict=True)]
    np.testing.assert_array_equal(BINARY[operation](a, b, fmt, flush_to_zero=flush).ravel(), wanted)


@pytest.mark.parametrize("flush", [False, True], ids=["subnormals", "flush"])
@pytest.mark.parametrize("acc", ["e2m1", "e3m2", "e4m3"])
def test_all_triples_of_a_tiny_format(acc, flush, way):
    fmt, acc = float_format("e2m1"), float_format(acc)
    factor, term = values(fmt, flush), values(acc, flush)
    rows = list(itertools.product(range(16), range(16), range(1 << acc.width)))[:: 1 if acc.width < 8 else 7]
    wanted = [expected_fma(factor[a], factor[b], term[c], acc, flush) for a, b, c in rows]
    a, b, c = np.array(rows).T
    np.testing.assert_array_equal(fma(a, b, c, fmt, acc=acc, flush_to_zero=flush), wanted)


@pytest.mark.parametrize("flush", [False, True], ids=["subnormals", "flush"])
@pytest.mark.parametrize("fmt", TINY)
def test_roots_of_tiny_formats(fmt, flush, way):
    wanted = [expected_root(x, fmt, flush) for x in values(fmt, flush)]
    np.testing.assert_array_equal(square_root(np.arange(1 << fmt.width), fmt, flush_to_zero=flush), wanted)


@pytest.mark.parametrize("flush", [False, True], ids=["subnormals", "flush"])
@pytest.mark.parametrize("fmt", WIDE)
def test_wide_formats(fmt, flush):
    """Beyond binary64's proof: some thousand of all kinds of operands."""
    count = 2400
    for operation, function in BINARY.items():
        a, b = (column[-count:] for column in operands([fmt, fmt], count, seed=2))
        wanted = [
            EXPECTED[operation](number(*fields(x, fmt), fmt, flush), number(*fields(y, fmt), fmt, flush), fmt, flush)
            for x, y in zip(a, b, strict=True)
        ]
        np.testing.assert_array_equal(function(a, b, fmt, flush_to_zero=flush), wanted)
    a, b, c = (column[-count:] for column in operands([fmt] * 3, count, seed=3))
    wanted = [
        expected_fma(*(number(*fields(x, fmt), fmt, flush) for x in row), fmt, flush)
        for row in zip(a, b, c, strict=True)
    ]
    np.testing.assert_array_equal(fma(a, b, c, fmt, flush_to_zero=flush), wanted)
    a = operands([fmt], 600, seed=4)[0]
    wanted = [expected_root(number(*fields(x, fmt), fmt, flush), fmt, flush) for x in a]
    np.testing.assert_array_equal(square_root(a, fmt, flush_to_zero=flush), wanted)


@pytest.mark.parametrize(
    "fmt,acc",
    [(FP16, FP16), (BF16, BF16), (FP32, FP32), (FP16, FP32), (BF16, FP32), (FP32, FP16)],
    ids=lambda fmt: fmt.name,
)
def test_fma_of_known_formats(fmt, acc):
    rows = [column[-8000:] for column in operands([fmt, fmt, acc], 8000, seed=5)]
    wanted = [
        expected_fma(
            number(*fields(a, fmt), fmt), number(*fields(b, fmt), fmt), number(*fields(c, acc), acc), acc, False
        )
        for a, b, c in zip(*rows, strict=True)
    ]
    np.testing.assert_array_equal(fma(*rows, fmt, acc=acc), wanted)


# Other libraries ---------------------------------------------------------------------------------------------------


def of(bits, fmt):
    return np.asarray(bits).astype(f"u{fmt.width // 8}").view(DTYPES[fmt.name])


def bits_of(value, fmt):
    """Bits as int64, NaN canonical."""
    bits = value.view(f"u{fmt.width // 8}").astype(np.int64)
    return np.where(is_nan(bits, fmt), fmt.nan, bits)


@pytest.mark.parametrize("operation", BINARY)
@pytest.mark.parametrize("fmt", KNOWN)
def test_million_pairs(fmt, operation):
    """Combinations of corners, a million pairs of any bits, and of those that are near something."""
    a, b = operands([fmt, fmt], 400_000, seed=6)
    a, b = (
        np.concatenate([x, np.random.default_rng(s).integers(0, 1 << fmt.width, 1_000_000)])
        for x, s in ((a, 7), (b, 8))
    )
    python = {"multiply": operator.mul, "add": operator.add, "subtract": operator.sub, "divide": operator.truediv}
    with np.errstate(all="ignore"):
        wanted = bits_of(python[operation](of(a, fmt), of(b, fmt)), fmt)
        exact = python[operation](*(x.astype(np.float64) for x in (of(a, fmt), of(b, fmt))))
        # ml_dtypes rounds binary32 to BF16: of what binary32 has rounded to the middle between two numbers it can't know
        # on which side it was.
        single = exact.astype(np.float32)
        sound = (fmt is not BF16) | (single.view(np.uint32) & 0xFFFF != 0x8000) | (single == exact)
    got = BINARY[operation](a, b, fmt)
    np.testing.assert_array_equal(got[sound], wanted[sound])
    assert sound.mean() > 0.98


@pytest.mark.parametrize("fmt", KNOWN)
def test_functions_of_one_number(fmt):
    a = np.arange(1 << 16) if fmt.width == 16 else operands([fmt], 1_000_000, seed=9)[0]
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(square_root(a, fmt), bits_of(np.sqrt(of(a, fmt)), fmt))
        np.testing.assert_array_equal(round_to_integral(a, fmt), bits_of(np.rint(of(a, fmt)), fmt))


@pytest.mark.parametrize("target", KNOWN)
@pytest.mark.parametrize("source", KNOWN)
def test_conversions(source, target):
    a = np.arange(1 << 16) if source.width == 16 else operands([source], 1_000_000, seed=10)[0]
    with np.errstate(invalid="ignore", over="ignore"):
        value = of(a, source).astype(np.float32)  # exact
        np.testing.assert_array_equal(convert(a, source, target), bits_of(value.astype(DTYPES[target.name]), target))


@pytest.mark.parametrize("flush", [False, True], ids=["subnormals", "flush"])
@pytest.mark.parametrize("source,target", list(itertools.permutations(["e3m2", "e4m3", "e5m2", "e2m5"], 2)))
def test_conversions_of_tiny_formats(source, target, flush):
    source, target = float_format(source), float_format(target)
    wanted = [
        nearest(x[1], x[0], target, flush) if is_finite(x) else special(x[1], target) for x in values(source, flush)
    ]
    np.testing.assert_array_equal(convert(np.arange(1 << source.width), source, target, flush_to_zero=flush), wanted)


# Both ways ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flush", [False, True], ids=["subnormals", "flush"])
@pytest.mark.parametrize("name", ["fp16", "bf16", "fp32", "e9m24", "e2m24", "e8m10", "e9m3"])
def test_both_ways_agree(name, flush, monkeypatch):
    fmt = float_format(name)
    pairs, triples, single = (operands([fmt] * n, 40_000, seed=11) for n in (2, 3, 1))
    wider = [*triples[:2], operands([FP32], 40_000, seed=12)[0][: len(triples[0])]]
    wider = [column[-len(wider[2]) :] for column in wider]

    def results():
        return [
            *(function(*pairs, fmt, flush_to_zero=flush) for function in BINARY.values()),
            fma(*triples, fmt, flush_to_zero=flush),
            fma(*wider, fmt, acc=FP32, flush_to_zero=flush),
            square_root(*single, fmt, flush_to_zero=flush),
        ]

    first = results()
    monkeypatch.setattr(ieee, "_binary64", lambda fmt: False)
    for one, other in zip(first, results(), strict=True):
        np.testing.assert_array_equal(one, other)


# Comparisons -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", KNOWN)
def test_comparison(fmt):
    a, b = operands([fmt, fmt], 300_000, seed=13)
    with np.errstate(invalid="ignore"):
        x, y = of(a, fmt).astype(np.float64), of(b, fmt).astype(np.float64)
        wanted = x < y, x == y, x > y, np.isnan(x) | np.isnan(y)
    flags = compare(a, b, fmt)
    for got, flag in zip(flags, wanted, strict=True):
        assert got.dtype == bool
        np.testing.assert_array_equal(got, flag)
    assert (sum(flag.astype(int) for flag in flags) == 1).all()


@pytest.mark.parametrize("fmt", TINY)
def test_extremes_of_all_pairs(fmt):
    """maximumNumber and minimumNumber: NaN is no number, -0 is below +0."""
    known = values(fmt)
    a, b = (x.ravel() for x in np.meshgrid(np.arange(1 << fmt.width), np.arange(1 << fmt.width)))

    def wanted(x, y, choose):
        numbers = [n for n in (int(x), int(y)) if not math.isnan(as_float(known[n]))]
        return choose(numbers, key=lambda n: (known[n][1], -known[n][0])) if numbers else fmt.nan

    rows = list(zip(a, b, strict=True))[:: 1 if fmt.width < 8 else 5]
    a, b = np.array(rows).T
    np.testing.assert_array_equal(maximum(a, b, fmt), [wanted(x, y, max) for x, y in rows])
    np.testing.assert_array_equal(minimum(a, b, fmt), [wanted(x, y, min) for x, y in rows])


@pytest.mark.parametrize("fmt", KNOWN)
def test_extremes(fmt):
    a, b = operands([fmt, fmt], 100_000, seed=14)
    with np.errstate(invalid="ignore"):
        x, y = of(a, fmt).astype(np.float64), of(b, fmt).astype(np.float64)
    for function, reference in ((maximum, np.fmax), (minimum, np.fmin)):
        got = function(a, b, fmt)
        np.testing.assert_array_equal(of(got, fmt).astype(np.float64), reference(x, y))
        assert ((got == a) | (got == b) | (got == fmt.nan)).all() and not (is_nan(got, fmt) & (got != fmt.nan)).any()


# Integers ----------------------------------------------------------------------------------------------------------


def wanted_integer(value, width, signed):
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    if isinstance(value, Fraction):
        result = min(max(round(value), low), high)
    else:
        result = low if value == -math.inf else high
    return result - (1 << 64) if result >> 63 == 1 else result


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("width", [1, 2, 8, 11, 16, 31, 32, 33, 63, 64])
@pytest.mark.parametrize("fmt", [FP16, BF16, FP32, float_format("e11m27"), float_format("e3m2")], ids=lambda f: f.name)
def test_integers_of_numbers(fmt, width, signed):
    edge = [from_integer(np.array([1 << n for n in (width - 2, width - 1, width) if 0 <= n < 63]), fmt)]
    edge = np.concatenate([edge[0] + d for d in (-1, 0, 1)])
    a = np.concatenate([corners(fmt), operands([fmt], 600, seed=15)[0], edge, edge ^ fmt.sign_mask])
    a = np.where((a < 0) | (a >> fmt.width > 0), 0, a)
    got = to_integer(a, fmt, width, signed)
    assert got.tolist() == [wanted_integer(number(*fields(x, fmt), fmt)[1], width, signed) for x in a]


@pytest.mark.parametrize("fmt", [FP16, BF16, FP32, float_format("e11m27"), float_format("e3m2")], ids=lambda f: f.name)
def test_numbers_of_integers(fmt):
    a = operands([IntegerFormat(64, True)], 4000, seed=16)[0]
    near = ((1 << 53) + 1, 2**63 - 1, -(2**63), -(2**63) + 1, 65504, 65519, 65520, 65521, 0, -1, *range(-300, 300))
    # Ties of numbers that are longer than what is rounded, and the next integers beside them.
    ties = [(1 << top) + (1 << (top - fmt.precision)) + d for top in (61, 62) for d in range(-4, 5)]
    a = np.concatenate([a, np.array(near), np.array(ties), -np.array(ties), np.array(ties) * 2])
    assert from_integer(a, fmt).tolist() == [nearest(Fraction(int(x)), 0, fmt, False) for x in a]
    wide = a.view(np.uint64)
    wanted = [nearest(Fraction(int(x)), 0, fmt, False) for x in wide]
    assert from_integer(wide, fmt).tolist() == from_integer(a, fmt, signed=False).tolist() == wanted


def test_integers_against_numpy():
    a = np.arange(1 << 16)
    finite = np.isfinite(of(a, FP16))
    wanted = np.rint(of(a[finite], FP16).astype(np.float64)).astype(np.int64)
    np.testing.assert_array_equal(to_integer(a[finite], FP16, 32), wanted)
    numbers = np.arange(-70000, 70000)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(from_integer(numbers, FP16), bits_of(numbers.astype(np.float16), FP16))


# Directed ----------------------------------------------------------------------------------------------------------


def test_tiny_is_decided_before_rounding(way):
    """A product that would round up to the smallest normal number is flushed all the same; the number itself is not."""
    least, one, below = FP16.smallest_normal, 0x3C00, 0x3BFF  # below: 1 - 2**-11
    assert multiply(least | 1, below, FP16) == least  # 2**-14 (1 + 2**-10)(1 - 2**-11), just above
    assert multiply(least | 1, below, FP16, flush_to_zero=True) == least
    assert multiply(least, below, FP16) == least  # a tie: 2**-14 (1 - 2**-11) goes to even
    assert multiply(least, below, FP16, flush_to_zero=True) == 0
    assert multiply(least | FP16.sign_mask, below, FP16, flush_to_zero=True) == FP16.sign_mask
    assert multiply(least, one, FP16, flush_to_zero=True) == least
    assert add(least | 1, least | FP16.sign_mask, FP16, flush_to_zero=True) == 0  # 2**-24
    assert fma(least, below, 0, FP16, flush_to_zero=True) == 0
    assert divide(least, 0x3C01, FP16, flush_to_zero=True) == 0


def test_flushed_operands_are_zeros_of_their_sign(way):
    tiny, infinite = FP16.smallest_normal - 1, FP16.infinity
    flush = {"flush_to_zero": True}
    assert multiply(tiny, infinite, FP16, **flush) == FP16.nan
    assert multiply(tiny, infinite, FP16) == infinite
    assert divide(0x3C00, tiny | FP16.sign_mask, FP16, **flush) == FP16.negative_infinity
    assert add(tiny | FP16.sign_mask, FP16.sign_mask, FP16, **flush) == FP16.sign_mask
    assert square_root(tiny | FP16.sign_mask, FP16, **flush) == FP16.sign_mask
    assert convert(tiny | FP16.sign_mask, FP16, FP32, **flush) == FP32.sign_mask
    assert fma(tiny, 0x3C00, 0x3C00, FP16, **flush) == 0x3C00


def test_signs_of_zeros(way):
    one, minus = 0x3C00, FP16.sign_mask
    assert add(one, one | minus, FP16) == 0
    assert add(minus, 0, FP16) == 0 and add(minus, minus, FP16) == minus and subtract(minus, 0, FP16) == minus
    assert multiply(minus, one, FP16) == minus and multiply(1, 1 | minus, FP16) == minus
    assert fma(one, one, one | minus, FP16) == 0 and fma(minus, one, minus, FP16) == minus
    assert square_root(minus, FP16) == minus and round_to_integral(0xB800, FP16) == minus
    assert maximum(0, minus, FP16) == maximum(minus, 0, FP16) == 0
    assert minimum(0, minus, FP16) == minimum(minus, 0, FP16) == minus


def test_subtraction_for_some_items():
    got = add([0x3C00] * 2, 0x3C00, FP16, subtract=np.array([False, True]))
    assert got.tolist() == [0x4000, 0] == add(0x3C00, [0x3C00] * 2, FP16, subtract=[0, 1]).tolist()


def test_shapes_and_types():
    a = np.arange(12, dtype=np.uint16).reshape(3, 4)
    got = add(a, np.int32(1), FP16)
    assert got.dtype == np.int64 and got.shape == (3, 4) and got.tolist() == (a + 1).tolist()
    assert multiply(np.zeros((3, 1), int), np.zeros(5, int), BF16).shape == (3, 5)
    assert add(np.zeros((0, 2), int), 1, FP32).shape == (0, 2) and add(1, 1, FP16).shape == ()
    many = np.arange(7 * ieee.BLOCK // 2) & 0x3FFF
    np.testing.assert_array_equal(add(many, 0, FP16), many)
    few = slice(ieee.BLOCK - 3, ieee.BLOCK + 3)
    strided = add(many.reshape(-1, 7)[:, ::3].T, many[:1], FP16)
    np.testing.assert_array_equal(strided, many.reshape(-1, 7)[:, ::3].T)
    np.testing.assert_array_equal(
        add(many, many[::-1], FP16)[few],
        [int(add(x, y, FP16)) for x, y in zip(many[few], many[::-1][few], strict=True)],
    )
    with pytest.raises(TypeError, match=r"^Bit patterns must be integers, not float64$"):
        add(1.0, 1, FP16)
    for width in (0, 65):
        with pytest.raises(ValueError, match=f"^Width must be from 1 to 64, not {width}$"):
            to_integer(1, FP16, width)


# Properties --------------------------------------------------------------------------------------------------------

FORMAT = st.builds(lambda e, f: float_format(f"e{e}m{f}"), st.integers(2, 11), st.integers(1, 27))


@st.composite
def numbers(draw, count):
    """A format, and numbers of it, often close to each other or at an edge."""
    fmt = draw(FORMAT)
    chosen = []
    for _ in range(count):
        bits = draw(st.one_of(st.integers(0, (1 << fmt.width) - 1), st.sampled_from(corners(fmt).tolist())))
        if chosen and draw(st.booleans()):
            bits = (chosen[-1] ^ draw(st.sampled_from([0, fmt.sign_mask]))) & ~3 | draw(st.integers(0, 3))
        chosen.append(bits)
    return fmt, chosen


@settings(max_examples=150)
@given(numbers(2))
def test_order_of_operands(case):
    fmt, (a, b) = case
    for function in (multiply, add, maximum, minimum):
        assert function(a, b, fmt) == function(b, a, fmt)
    assert fma(a, b, a, fmt) == fma(b, a, a, fmt)
    less, equal, greater, unordered = compare(a, b, fmt)
    assert [greater, equal, less, unordered] == list(compare(b, a, fmt))


@settings(max_examples=150)
@given(numbers(2))
def test_negation_passes_through(case):
    """Rounding to nearest is symmetric."""
    fmt, (a, b) = case
    sign = fmt.sign_mask

    def negated(bits):
        return bits if bits == fmt.nan else bits ^ sign

    assert multiply(a ^ sign, b, fmt) == negated(multiply(a, b, fmt)) == multiply(a, b ^ sign, fmt)
    assert divide(a ^ sign, b, fmt) == negated(divide(a, b, fmt))
    total = add(a, b, fmt)
    assert add(a ^ sign, b ^ sign, fmt) == (negated(total) if total else add(b ^ sign, a ^ sign, fmt))
    assert subtract(a, b, fmt) == add(a, b ^ sign, fmt)
    assert minimum(a ^ sign, b ^ sign, fmt) == negated(maximum(a, b, fmt))


@settings(max_examples=150)
@given(numbers(3))
def test_fma_contains_sum_and_product(case):
    fmt, (a, b, c) = case
    one = fmt.bias << fmt.fraction_bits
    assert fma(a, one, c, fmt) == add(a, c, fmt)
    product = multiply(a, b, fmt)
    zero = product & fmt.sign_mask if product & (fmt.sign_mask - 1) == 0 else 0
    assert fma(a, b, zero, fmt) == product
    finite = (np.array([a, b, c]) & (fmt.sign_mask - 1)) < fmt.infinity
    if finite.all():  # a b + c - c = a b where nothing is lost on the way: with itself as c
        assert fma(a, one, a ^ fmt.sign_mask, fmt) == 0


@settings(max_examples=150)
@given(numbers(3))
def test_rounding_keeps_order(case):
    """b <= c gives a + b <= a + c, and, for a not negative, a b <= a c."""
    fmt, (a, b, c) = case
    if not compare(b, c, fmt)[0]:
        b, c = c, b
    if is_nan([a, b, c], fmt).any():
        return
    for low, high in (
        (add(a, b, fmt), add(a, c, fmt)),
        (multiply(a & (fmt.sign_mask - 1), b, fmt), multiply(a & (fmt.sign_mask - 1), c, fmt)),
    ):
        assert not compare(low, high, fmt)[2]


@settings(max_examples=150)
@given(numbers(2))
def test_quotients_and_roots_of_exact_results(case):
    """A product or square without rounding leads back."""
    fmt, (a, b) = case
    x, y = number(*fields(a, fmt), fmt)[1], number(*fields(b, fmt), fmt)[1]
    if not (isinstance(x, Fraction) and isinstance(y, Fraction) and x and y):
        return
    for product, exact in ((multiply(a, b, fmt), x * y), (multiply(a, a, fmt), x * x)):
        value = number(*fields(product, fmt), fmt)[1]
        if value == exact:
            if exact == x * x:
                assert square_root(product, fmt) == a & (fmt.sign_mask - 1)
            if exact == x * y:
                assert divide(product, b, fmt) == a


@settings(max_examples=150)
@given(FORMAT, st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 1 << 28))
def test_integers_there_and_back(fmt, large, small):
    small &= (1 << min(fmt.precision, fmt.bias)) - 1
    for sign in (1, -1):
        assert to_integer(from_integer(sign * small, fmt), fmt, 32) == sign * small
    assert from_integer(large, fmt) == nearest(Fraction(large), 0, fmt, False)


@settings(max_examples=150)
@given(numbers(1), FORMAT)
def test_conversion_to_a_wider_format_and_back(case, target):
    fmt, (a,) = case
    wanted = fmt.nan if is_nan(a, fmt) else a
    wide = float_format(
        f"e{max(fmt.exponent_bits, target.exponent_bits)}m{max(fmt.fraction_bits, target.fraction_bits)}"
    )
    assert convert(convert(a, fmt, wide), wide, fmt) == wanted
