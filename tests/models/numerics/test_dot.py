"""Fused dot products in NumPy: against rational arithmetic that follows the definition word by word, and exact sums."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from bankside.constraints.arith.geometry import DotWindow, dot_window
from bankside.constraints.core.formats import BF16, FP16, FP32, float_format
from bankside.models.numerics import (
    add,
    dot,
    dot_stream,
    dot_tree,
    fma,
    from_float64,
    multiply,
    to_float64,
    vector_add,
    vector_mac,
    vector_multiply,
    vector_scale,
)

TINY = float_format("e3m2")
FORMATS = [pytest.param(fmt, id=fmt.name) for fmt in (FP16, BF16, FP32, TINY)]


def numbers(rng, fmt, shape):
    """Any bits, numbers of every magnitude, few exponents, subnormals and zeros; specials are rare."""
    sign = rng.integers(0, 2, shape) << (fmt.width - 1)
    fraction = rng.integers(0, 1 << fmt.fraction_bits, shape)
    near = min(fmt.bias + 3, fmt.exponent_max - 1)
    exponent = np.choose(
        rng.integers(0, 4, shape),
        [
            rng.integers(0, fmt.exponent_max, shape),
            rng.integers(fmt.bias - 1, near, shape),
            rng.integers(0, 2, shape),
            np.full(shape, fmt.exponent_max // 2),
        ],
    )
    bits = sign | exponent << fmt.fraction_bits | np.where(rng.random(shape) < 0.2, 0, fraction)
    bits = np.where(rng.random(shape) < 0.1, sign, bits)
    return np.where(rng.random(shape) < 0.01, rng.integers(0, 1 << fmt.width, shape), bits)


def exponent_of(bits, fmt):
    return max(int(bits) >> fmt.fraction_bits & fmt.exponent_max, 1)


def rounded(exact, fmt, minus, flush=False):
    """A fraction in a format, by comparing it with the grid around it."""
    sign = fmt.sign_mask if exact < 0 or (exact == 0 and minus) else 0
    size = abs(exact)
    if flush and size < Fraction(2) ** (1 - fmt.bias):
        return sign
    last = fmt.lsb_exponent
    while size >= Fraction(2) ** (last + fmt.precision):
        last += 1
    quotient, rest = divmod(size, Fraction(2) ** last)
    quotient += rest > Fraction(2) ** last / 2 or (rest == Fraction(2) ** last / 2 and quotient % 2)
    bits = int(quotient) + ((last - fmt.lsb_exponent) << fmt.fraction_bits)
    return sign | min(bits, fmt.infinity)


def defined(a, b, acc, fmt, result, window, flush=False):
    """One dot product after the definition, in rational arithmetic."""
    terms = [(x, y, fmt) for x, y in zip(a, b, strict=True)]
    floats = [(float(to_float64(x, fmt)), float(to_float64(y, fmt))) for x, y in zip(a, b, strict=True)]
    if flush:
        floats = [tuple(math.copysign(0, v) if abs(v) < 2.0 ** (1 - fmt.bias) else v for v in pair) for pair in floats]
    with np.errstate(invalid="ignore"):
        products = [
            float(np.float64(x) * np.float64(y))
            if math.isfinite(x) and math.isfinite(y)
            else float(np.float64(np.sign(x)) * np.float64(np.sign(y)) * np.inf)
            for x, y in floats
        ]
    start = [] if acc is None else [float(to_float64(acc, result))]
    if flush and start and abs(start[0]) < 2.0 ** (1 - result.bias):
        start = [math.copysign(0, start[0])]
    special = [v for v in products + start if not math.isfinite(v)]
    if special:
        total = sum(special)
        return result.nan if math.isnan(total) else result.infinity if total > 0 else result.negative_infinity
    minus = all(math.copysign(1, v) < 0 for v in products + start)
    # Each live term: its exact value and its exponent, on the scale of products.
    live = [
        (Fraction(x) * Fraction(y), exponent_of(i, fmt) + exponent_of(j, fmt))
        for (x, y), (i, j, _) in zip(floats, terms, strict=True)
        if x and y
    ]
    live += [(Fraction(v), exponent_of(acc, result) + 2 * fmt.bias - result.bias - 1) for v in start if v]
    if window != "exact" and live:
        bits = result.precision + 3 if window is None else window
        top = max(max(e for _, e in live), 2 * fmt.bias - result.bias)
        unit = Fraction(2) ** (top - 2 * fmt.bias + 2 - bits)
        live = [(math.trunc(v / unit) * unit, e) for v, e in live]
    return rounded(sum((v for v, _ in live), Fraction()), result, minus, flush)


CASES = [
    (fmt, result, window, with_acc)
    for fmt, result in (
        (FP16, FP32),
        (FP16, FP16),
        (BF16, FP32),
        (BF16, BF16),
        (FP32, FP32),
        (TINY, float_format("e4m3")),
        (FP32, FP16),
    )
    for window, with_acc in (
        (None, True),
        ("exact", True),
        (None, False),
        ("exact", False),
        (9, True),
        (2, False),
        (58, True),
        (80, True),
    )
]


@pytest.mark.parametrize(
    "fmt, result, window, with_acc",
    CASES,
    ids=lambda x: getattr(x, "name", {True: "acc", False: "none"}.get(x, str(x)) if isinstance(x, bool) else str(x)),
)
def test_definition(fmt, result, window, with_acc):
    """Lanes 1 to 5, cancelling pairs, zeros of both signs, subnormals, specials; with and without flushing."""
    rng = np.random.default_rng(7)
    for lanes, flush in ((1, False), (2, True), (3, False), (5, False)):
        a, b = numbers(rng, fmt, (25, lanes)), numbers(rng, fmt, (25, lanes))
        a[::3, lanes // 2 : lanes // 2 * 2], b[::3, lanes // 2 : lanes // 2 * 2] = (
            a[::3, : lanes // 2],
            b[::3, : lanes // 2] ^ fmt.sign_mask,
        )
        acc = numbers(rng, result, 25) if with_acc else None
        got = dot(a, b, acc, fmt=fmt, result=result, window=window, flush_to_zero=flush)
        want = [defined(a[n], b[n], None if acc is None else acc[n], fmt, result, window, flush) for n in range(25)]
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("fmt", [FP16, BF16], ids=lambda fmt: fmt.name)
def test_exact_is_the_correctly_rounded_sum(fmt):
    """Of 16 products and an addend, of all magnitudes, against fractions."""
    rng = np.random.default_rng(3)
    a, b = (from_float64(rng.normal(size=(400, 16)) * 2.0 ** rng.integers(-6, 7, (400, 16)), fmt) for _ in range(2))
    acc = from_float64(rng.normal(size=400), FP32)
    a[::4, 8:], b[::4, 8:] = a[::4, :8], b[::4, :8] ^ fmt.sign_mask ^ (rng.random((100, 8)) < 0.05)
    got = dot(a, b, acc, fmt=fmt, window="exact")
    products, acc = to_float64(a, fmt) * to_float64(b, fmt), to_float64(acc, FP32)
    assert got.tolist() == [
        rounded(sum(map(Fraction, [*row, c])), FP32, False)
        for row, c in zip(products.tolist(), acc.tolist(), strict=True)
    ]


@pytest.mark.parametrize("fmt", FORMATS)
def test_one_lane_is_a_fused_multiply_add(fmt):
    """Also the sign of zero."""
    rng = np.random.default_rng(5)
    a, b, c = (numbers(rng, fmt, 5000) for _ in range(3))
    for flush in (False, True):
        want = fma(a, b, c, fmt, flush_to_zero=flush)
        got = dot(a[:, None], b[:, None], c, fmt=fmt, result=fmt, window="exact", flush_to_zero=flush)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("window", [2, 9, None, 60, "exact"])
def test_order_and_negation(window):
    """Any order of the lanes; negated terms negate the sum, except that a sum of 0 is +0."""
    rng = np.random.default_rng(2)
    a, b, acc = numbers(rng, FP16, (300, 7)), numbers(rng, FP16, (300, 7)), numbers(rng, FP32, 300)
    got = dot(a, b, acc, fmt=FP16, window=window)
    order = rng.permutation(7)
    np.testing.assert_array_equal(dot(a[:, order], b[:, order], acc, fmt=FP16, window=window), got)
    other = dot(a ^ FP16.sign_mask, b, acc ^ FP32.sign_mask, fmt=FP16, window=window)
    usual = (got != FP32.nan) & (got & ~FP32.sign_mask != 0)
    assert usual.sum() > 200
    np.testing.assert_array_equal(other[usual], got[usual] ^ FP32.sign_mask)


def test_sign_of_zero():
    """-0 only if every term is negative."""
    plus, minus, one = 0, FP16.sign_mask, 0x3C00
    for signs in itertools.product((plus, minus), repeat=3):
        acc = FP32.sign_mask if signs[2] else 0
        for window in (None, "exact"):
            got = dot([signs[:2]], [[one, one]], [acc], fmt=FP16, window=window)
            assert got == (FP32.sign_mask if all(signs) else 0)
    assert dot([[one, one]], [[one, one | minus]], fmt=FP16) == 0


@pytest.mark.parametrize("window", [None, "exact", 12])
def test_error_of_a_window(window):
    """At most one unit of the window for each term, and half a unit of the result."""
    rng = np.random.default_rng(6)
    a, b = (from_float64(rng.normal(size=(2000, 16)), FP16) for _ in range(2))
    got = to_float64(dot(a, b, fmt=FP16, window=window), FP32)
    products = to_float64(a, FP16) * to_float64(b, FP16)
    exact = products.sum(axis=1)  # exact in binary64: products of FP16 are multiples of 2**-48 below 2**32
    bits = 80 if window == "exact" else dot_window(FP16, FP32, 16, window).bits
    bound = 16 * np.abs(products).max(axis=1) * 2.0 ** (2 - bits) + np.abs(exact) * 2.0**-24
    assert (np.abs(got - exact) <= bound).all()


# Sums of many beats --------------------------------------------------------------------------------------------------


def streamed(a, b, first, last, fmt, result, window):
    """Beat by beat in Python integers, after the definition."""
    geometry = dot_window(fmt, result, a.shape[1], window, beats=64)
    out = []
    for beat in range(len(a)):
        if first[beat]:
            total, top, minus = 0, max(geometry.floor, 0), True
            flags = set()
        products = [(int(x), int(y)) for x, y in zip(a[beat], b[beat], strict=True)]
        values = [(float(to_float64(x, fmt)), float(to_float64(y, fmt))) for x, y in products]
        flags |= {str(np.float64(x) * np.float64(y)) for x, y in values if not (math.isfinite(x) and math.isfinite(y))}
        minus = minus and all((x ^ y) & fmt.sign_mask for x, y in products)
        live = [
            (Fraction(x) * Fraction(y), exponent_of(i, fmt) + exponent_of(j, fmt))
            for (x, y), (i, j) in zip(values, products, strict=True)
            if x and y and math.isfinite(x) and math.isfinite(y)
        ]
        if window == "exact":
            total += sum(v for v, _ in live)
            sum_ = total
        else:
            grown = max([top, *(e for _, e in live)])
            unit = Fraction(2) ** (grown + geometry.unit)
            total = (total >> (grown - top)) + sum(math.trunc(v / unit) for v, _ in live)
            top, sum_ = grown, total * unit
        if last[beat]:
            if "nan" in flags or {"inf", "-inf"} <= flags:
                out.append(result.nan)
            elif flags:
                out.append(result.infinity if "inf" in flags else result.negative_infinity)
            else:
                out.append(rounded(Fraction(sum_), result, minus))
    return out


@pytest.mark.parametrize("window", [None, "exact", 10])
@pytest.mark.parametrize("fmt, result", [(FP16, FP32), (BF16, BF16), (TINY, FP16)], ids=lambda fmt: fmt.name)
def test_stream(fmt, result, window):
    """Sums of any length, side by side in the model, one after the other in the reference."""
    rng = np.random.default_rng(8)
    a, b = numbers(rng, fmt, (400, 3)), numbers(rng, fmt, (400, 3))
    first, last = rng.random(400) < 0.2, rng.random(400) < 0.3
    first[0] = True
    with np.errstate(invalid="ignore"):
        want = streamed(a, b, first, last, fmt, result, window)
    got = dot_stream(a, b, first, last, fmt=fmt, result=result, window=window, beats=64)
    np.testing.assert_array_equal(got, want)


def test_stream_of_one_beat_is_a_dot_product():
    rng = np.random.default_rng(9)
    a, b = numbers(rng, FP16, (500, 4)), numbers(rng, FP16, (500, 4))
    ones = np.ones(500, bool)
    for window in (None, "exact"):
        np.testing.assert_array_equal(
            dot_stream(a, b, ones, ones, fmt=FP16, window=window), dot(a, b, fmt=FP16, window=window)
        )


# Vectors, and the tree -----------------------------------------------------------------------------------------------


def test_vectors():
    rng = np.random.default_rng(4)
    a, b, acc = (numbers(rng, fmt, (200, 5)) for fmt in (FP16, FP16, FP32))
    s = numbers(rng, FP16, 200)
    for lane in range(5):
        x = a[:, lane]
        np.testing.assert_array_equal(vector_multiply(a, b, fmt=FP16)[:, lane], multiply(x, b[:, lane], FP16))
        np.testing.assert_array_equal(
            vector_add(a, b, fmt=FP16, subtract=True)[:, lane], add(x, b[:, lane], FP16, subtract=True)
        )
        np.testing.assert_array_equal(vector_scale(s, a, fmt=FP16)[:, lane], multiply(s, x, FP16))
        np.testing.assert_array_equal(
            vector_mac(s, a, acc, fmt=FP16, result=FP32)[:, lane], fma(s, x, acc[:, lane], FP16, acc=FP32)
        )
    with np.errstate(invalid="ignore", over="ignore"):
        product = s.astype(np.uint16).view(np.float16)[:, None] * a.astype(np.uint16).view(np.float16)
        want = product.astype(np.float32) + acc.astype(np.uint32).view(np.float32)
    got = vector_mac(s, a, acc, fmt=FP16, result=FP32, fused=False)
    usual = ~np.isnan(want)
    np.testing.assert_array_equal(got[usual], want.view(np.uint32)[usual])
    assert (got[~usual] == FP32.nan).all()


@pytest.mark.parametrize("lanes", [1, 2, 3, 6, 7])
def test_tree(lanes):
    """In binary32, where NumPy adds in the same order."""
    rng = np.random.default_rng(lanes)
    a, b = (from_float64(rng.normal(size=(300, lanes)), FP16) for _ in range(2))
    acc = from_float64(rng.normal(size=300), FP32)
    terms = [(x * y).astype(np.float32) for x, y in zip((to_float64(a, FP16)).T, to_float64(b, FP16).T, strict=True)]
    while len(terms) > 1:
        terms = [terms[n] + terms[n + 1] if n + 1 < len(terms) else terms[n] for n in range(0, len(terms), 2)]
    want = terms[0] + acc.astype(np.uint32).view(np.float32)
    np.testing.assert_array_equal(dot_tree(a, b, acc, fmt=FP16, result=FP32), want.view(np.uint32))


# Arguments -----------------------------------------------------------------------------------------------------------


def test_arguments():
    zeros = np.zeros((2, 3), int)
    with pytest.raises(ValueError, match=r"^Operands must have the same shape \(\.\.\., n\), not \(2, 3\) and \(3,\)$"):
        dot(zeros, zeros[0], fmt=FP16)
    with pytest.raises(ValueError, match=r"^Addend must have shape \(2,\), not \(3,\)$"):
        dot(zeros, zeros, zeros[0], fmt=FP16)
    with pytest.raises(ValueError, match=r"^Bits must be 2 or more, not 1$"):
        dot(zeros, zeros, fmt=FP16, window=1)
    with pytest.raises(ValueError, match=r"^Window must be a number of bits or 'exact', not 'all'$"):
        dot(zeros, zeros, fmt=FP16, window="all")
    with pytest.raises(TypeError, match=r"^Format must be a FloatFormat, not 'fp16'$"):
        dot_window("fp16", FP32, 2)
    with pytest.raises(ValueError, match=r"^Lanes must be 1 or more, not 0$"):
        DotWindow(FP16, FP32, 0, None)
    with pytest.raises(ValueError, match=r"^A sum must have 2 beats or fewer, not 3$"):
        dot_stream(np.zeros((3, 1), int), np.zeros((3, 1), int), [1, 0, 0], [0, 0, 1], fmt=FP16, beats=2)
