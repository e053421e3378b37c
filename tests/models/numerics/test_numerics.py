"""The arithmetic models against NumPy, ml_dtypes, rational numbers and binary64: every bit pattern where there are few.

What is proved here is what the generated operators are compared with elsewhere, so the references are independent:
conversions of other libraries, Python's integers and fractions, and the exponential of the C library.
"""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.arith.geometry import AlignedWindow, ExpTable, SumWindow
from bankside.constraints.core.formats import BF16, FORMATS, FP16, FP32
from bankside.models.numerics import (
    Accumulator,
    Products,
    aligned_add,
    aligned_result,
    decode,
    encode,
    exact_products,
    from_float64,
    negative_difference,
    negative_exp,
    order_key,
    preload,
    probability_sum,
    round_to_format,
    softmax_exp,
    to_float64,
)
from bankside.models.numerics.formats import bit_length

DTYPES = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "fp32": np.dtype(np.float32)}
IO = [pytest.param(fmt, id=fmt.name) for fmt in (FP16, BF16)]
ALL = [pytest.param(fmt, id=fmt.name) for fmt in (FP16, BF16, FP32)]


def reference_bits(value, fmt):
    """Bits of binary64 values in a format by another library, rounded once; NaN canonical."""
    with np.errstate(over="ignore", invalid="ignore"):
        if fmt is BF16:
            # ml_dtypes goes through binary32, rounding twice. A last bit that remembers what binary32 cuts off
            # (rounding to odd) keeps its second rounding right.
            single = value.astype(np.float32)
            near = single.view(np.uint32).astype(np.int64)
            beyond = np.abs(single.astype(np.float64)) > np.abs(value)
            exact = (single.astype(np.float64) == value) | np.isnan(value)
            odd = np.where(exact, near, np.where(beyond, near - 1, near) | 1)
            value = odd.astype(np.uint32).view(np.float32)
        bits = value.astype(DTYPES[fmt.name]).view(f"u{fmt.width // 8}").astype(np.int64)
    return np.where(np.isnan(value), fmt.nan, bits)


def all_bits(fmt, rng=None, count=1 << 18):
    """Every pattern of a 16-bit format; of FP32 a random selection."""
    return np.arange(1 << 16) if fmt.width == 16 else rng.integers(0, 1 << 32, count)


def exact(bits, fmt):
    """Value of one finite number as a fraction."""
    sign, exponent, significand = (int(x) for x in decode(np.array(bits), fmt)[:3])
    return (-1) ** sign * significand * Fraction(2) ** (exponent - fmt.bias - fmt.fraction_bits)


# Values and bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ALL)
def test_values_of_all_patterns(fmt):
    bits = all_bits(fmt, np.random.default_rng(1))
    with np.errstate(invalid="ignore"):  # signalling NaN among them
        expected = bits.astype(f"u{fmt.width // 8}").view(DTYPES[fmt.name]).astype(np.float64)
    value = to_float64(bits, fmt)
    np.testing.assert_array_equal(value, expected)
    assert (np.signbit(value) == np.signbit(expected))[~np.isnan(expected)].all()


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("source", IO)
def test_conversion_of_all_patterns(source, target):
    value = to_float64(np.arange(1 << 16), source)
    np.testing.assert_array_equal(from_float64(value, target), reference_bits(value, target))


@pytest.mark.parametrize("fmt", ALL)
def test_a_number_of_the_format_keeps_its_bits(fmt):
    bits = all_bits(fmt, np.random.default_rng(2))
    fields = decode(bits, fmt)
    np.testing.assert_array_equal(from_float64(to_float64(bits, fmt), fmt), np.where(fields.nan, fmt.nan, bits))


@pytest.mark.parametrize("fmt", ALL)
def test_random_float64(fmt):
    """A million numbers: any pattern of binary64, and magnitudes around and below the range of the format."""
    rng = np.random.default_rng(3)
    value = np.concatenate(
        [
            rng.integers(0, 1 << 64, 200_000, dtype=np.uint64).view(np.float64),
            rng.normal(size=600_000) * 2.0 ** rng.uniform(fmt.lsb_exponent - 3, fmt.bias + 2, 600_000),
            rng.normal(size=200_000) * 2.0 ** (fmt.lsb_exponent + fmt.fraction_bits),  # around the smallest normal
        ]
    )
    bits = from_float64(value, fmt)
    np.testing.assert_array_equal(bits, reference_bits(value, fmt))
    np.testing.assert_array_equal(encode(value, fmt), bits)
    assert encode(value, fmt).dtype.itemsize * 8 == fmt.width


@pytest.mark.parametrize("fmt", ALL)
def test_ties_and_their_neighbours(fmt):
    """Midpoints between adjacent numbers go to the even one; a hair to either side decides otherwise."""
    low = np.arange(0, fmt.infinity) if fmt.width == 16 else np.random.default_rng(4).integers(0, fmt.infinity, 1 << 17)
    below = to_float64(low, fmt)
    # Beyond the largest number the grid goes on, for the purpose of rounding.
    above = np.where(
        low + 1 == fmt.infinity,
        2.0 * to_float64(np.array(fmt.infinity - (1 << fmt.fraction_bits)), fmt),
        to_float64(low + 1, fmt),
    )
    middle = below + (above - below) / 2  # exact: one bit more than the format has
    for sign in (1.0, -1.0):
        mask = 0 if sign > 0 else fmt.sign_mask
        np.testing.assert_array_equal(from_float64(sign * middle, fmt), low + (low & 1) | mask)
        np.testing.assert_array_equal(from_float64(sign * np.nextafter(middle, 0), fmt), low | mask)
        np.testing.assert_array_equal(from_float64(sign * np.nextafter(middle, np.inf), fmt), low + 1 | mask)


@pytest.mark.parametrize("fmt", ALL)
def test_zeros_infinities_overflow_underflow(fmt):
    least = 2.0**fmt.lsb_exponent
    largest = (2 - 2.0**-fmt.fraction_bits) * 2.0**fmt.bias
    value = np.array(
        [
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            1e300,
            -1e300,
            largest,
            least,
            least / 2,
            -least / 2,
            np.nextafter(least / 2, 1),
            5e-324,
            1.0,
            -2.0,
        ]
    )
    sign = fmt.sign_mask
    one = fmt.bias << fmt.fraction_bits
    assert from_float64(value, fmt).tolist() == [
        0,
        sign,
        fmt.infinity,
        fmt.negative_infinity,
        fmt.nan,
        fmt.infinity,
        fmt.negative_infinity,
        fmt.infinity - 1,
        1,
        0,
        sign,
        1,
        0,
        one,
        sign | (one + (1 << fmt.fraction_bits)),
    ]


@settings(max_examples=300)
@given(
    st.sampled_from([FP16, BF16, FP32]),
    st.integers(0, 1),
    st.integers(0, (1 << 62) - 1) | st.integers(0, 1 << 12),
    st.integers(-400, 300),
)
def test_rounding_of_wide_integers(fmt, sign, magnitude, exponent):
    """Against rational arithmetic: no number of the format is nearer, and of two the even one is taken."""
    bits = int(round_to_format(sign, magnitude, exponent, fmt))
    assert bits >> (fmt.width - 1) == sign
    bits &= fmt.sign_mask - 1
    value = magnitude * Fraction(2) ** exponent
    overflow = Fraction(2) ** fmt.bias * (2 - Fraction(1, 2 << fmt.fraction_bits))
    if value >= overflow:
        assert bits == fmt.infinity
        return
    error = abs(exact(bits, fmt) - value)
    for other in (bits - 1, bits + 1):
        if 0 <= other < fmt.infinity:
            distance = abs(exact(other, fmt) - value)
            assert error < distance or (error == distance and bits % 2 == 0)


def test_bit_length_of_every_size():
    numbers = sorted({0, *((1 << n) + d for n in range(62) for d in (-1, 0, 1) if 0 <= (1 << n) + d < 1 << 62)})
    assert bit_length(np.array(numbers)).tolist() == [n.bit_length() for n in numbers]


@pytest.mark.parametrize("fmt", ALL)
def test_order_key(fmt):
    """Ordering by key is ordering by value, with -0 just below +0."""
    bits = all_bits(fmt, np.random.default_rng(5))
    bits = np.concatenate([bits, [0, fmt.sign_mask, fmt.infinity, fmt.negative_infinity]])
    bits = np.unique(bits[~decode(bits, fmt).nan])
    ordered = bits[np.argsort(order_key(bits, fmt))]
    value = to_float64(ordered, fmt)
    assert (np.diff(order_key(ordered, fmt)) > 0).all() and order_key(bits, fmt).min() >= 0
    step = value[1:] > value[:-1]  # infinities at either end included
    assert np.flatnonzero(~step).tolist() == np.flatnonzero(ordered == fmt.sign_mask).tolist()
    assert ordered[np.flatnonzero(~step)[0] + 1] == 0


# Products and sums -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", IO)
def test_products_are_exact(fmt):
    rng = np.random.default_rng(6)
    corner = np.array(
        [
            0,
            1,
            2,
            (1 << fmt.fraction_bits) - 1,
            1 << fmt.fraction_bits,
            fmt.infinity - 1,
            fmt.infinity,
            fmt.infinity + 1,
            fmt.nan,
        ]
    )
    corner = np.concatenate([corner, corner | fmt.sign_mask])
    a = np.concatenate([np.repeat(corner, len(corner)), rng.integers(0, 1 << 16, 3000)])
    b = np.concatenate([np.tile(corner, len(corner)), rng.integers(0, 1 << 16, 3000)])
    sign, magnitude, exponent, inf, nan = exact_products(a, b, fmt)
    with np.errstate(invalid="ignore"):
        reference = to_float64(a, fmt) * to_float64(b, fmt)  # exact, or a zero, infinity or NaN of the right kind
    np.testing.assert_array_equal(nan, np.isnan(reference))
    np.testing.assert_array_equal(inf, np.isinf(reference))
    np.testing.assert_array_equal(sign[~nan] == 1, np.signbit(reference)[~nan])
    assert not magnitude[inf | nan].any() and not exponent[magnitude == 0].any()
    unit = -2 * (fmt.bias + fmt.fraction_bits)
    for index in np.flatnonzero(~(inf | nan)):
        value = (-1) ** int(sign[index]) * int(magnitude[index]) * Fraction(2) ** int(exponent[index] + unit)
        assert value == exact(a[index], fmt) * exact(b[index], fmt)


WINDOWS = [
    pytest.param(
        AlignedWindow(io, acc.precision, guard, terms, result), id=f"{io.name}-{acc.name}-{guard}-{result.name}"
    )
    for io, acc, guard, terms, result in (
        (FP16, FP32, 6, 257, FP32),
        (FP16, FP32, 6, 33, FP16),
        (FP16, FP16, 6, 33, FP16),
        (FP16, BF16, 1, 300, FP32),
        (BF16, FP32, 6, 257, FP32),
        (BF16, FP32, 6, 33, BF16),
        (BF16, BF16, 16, 33, FP16),
        (BF16, FP16, 1, 33, BF16),
    )
]


def draw_operands(rng, fmt, shape, spread):
    """Finite numbers of any sign whose exponents lie ``spread`` apart at most, subnormals and zeros among them."""
    first = rng.integers(0, max(fmt.exponent_max - spread, 1))
    field = rng.integers(first, min(first + spread, fmt.exponent_max - 1) + 1, shape)
    bits = rng.integers(0, 2, shape) << (fmt.width - 1) | field << fmt.fraction_bits
    bits |= rng.integers(0, 1 << fmt.fraction_bits, shape)
    return np.where(rng.random(shape) < 0.05, bits & fmt.sign_mask, bits)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("lanes", [1, 4])
def test_sum_is_within_a_unit_a_loss(window, lanes):
    """Each addition loses less than one unit of the window for every term it aligns, and one if the accumulator moves.

    The unit is that of the final exponent. A term at the running exponent loses nothing where products fit the window.
    """
    rng = np.random.default_rng(7)
    for _ in range(40):
        spread = int(rng.integers(0, 40))
        a, b = (draw_operands(rng, window.io, (8, lanes), spread) for _ in range(2))
        state = Accumulator.zeros((), window)
        losses = 0
        for row_a, row_b in zip(a, b, strict=True):
            products = exact_products(row_a, row_b, window.io)
            before = state.exponent
            aligned_add(state, products, window, axis=-1)
            shift = max(-window.left, 0) + (state.exponent - products.exponent)
            losses += np.count_nonzero((shift > max(window.left, 0)) & (products.magnitude != 0))
            losses += int(state.exponent > before)
        total = sum(exact(x, window.io) * exact(y, window.io) for x, y in zip(a.flat, b.flat, strict=True))
        unit = Fraction(2) ** int(state.exponent + window.unit)
        assert abs(int(state.value) * unit - total) <= losses * unit
        assert abs(int(state.value)) < 1 << (window.width - 1)
        assert state.exponent >= window.floor
        # One rounding of that integer, and no other.
        expected = round_to_format(state.value < 0, abs(state.value), state.exponent + window.unit, window.result)
        assert aligned_result(state, window) == expected


def test_error_relative_to_the_largest_term():
    """The figure in the documentation: 2**-(precision + guard - 2) of the largest term for each term."""
    window = AlignedWindow(FP16, 24, 6, 257, FP32)
    rng = np.random.default_rng(8)
    worst = 0.0
    for _ in range(60):
        a, b = (rng.integers(1, 31, 16) << 10 | rng.integers(0, 1 << 16, 16) & 0x83FF for _ in range(2))  # normal
        a[0], b[0] = 30 << 10, 30 << 10
        state = Accumulator.zeros((), window)
        for n in range(16):
            aligned_add(state, exact_products(a[n], b[n], FP16), window)
        terms = [exact(x, FP16) * exact(y, FP16) for x, y in zip(a, b, strict=True)]
        error = abs(int(state.value) * Fraction(2) ** int(state.exponent + window.unit) - sum(terms))
        assert error <= 16 * Fraction(2) ** -28 * max(map(abs, terms))
        worst = max(worst, float(error / max(map(abs, terms))))
    assert worst > 0  # the window does cut something off


@pytest.mark.parametrize("window", WINDOWS)
def test_sum_is_exact_when_nothing_is_cut_off(window):
    """Small integers times a power of two: as long as every bit fits the window, the result is the rounded exact sum."""
    rng = np.random.default_rng(9)
    wide = window.precision + window.guard
    # Bits of the factors so that a product and all its places fit between the top of the window and its last bit.
    size = max(1, min(window.io.precision, wide // 2 - 3))
    for _ in range(60):
        x, y = (rng.integers(1 << (size - 1), 1 << size, 20) * rng.choice([-1, 1], 20) for _ in range(2))
        scale = float(2.0 ** int(rng.integers(-4, 5)))
        a = from_float64(x * scale, window.io)
        b = from_float64(y.astype(float), window.io)
        state = Accumulator.zeros((), window)
        for n in range(20):
            aligned_add(state, exact_products(a[n], b[n], window.io), window)
        total = Fraction(int((x * y).sum())) * Fraction(scale)
        assert int(state.value) * Fraction(2) ** int(state.exponent + window.unit) == total
        assert aligned_result(state, window) == from_float64(np.array(float(total)), window.result)


@settings(max_examples=60)
@given(st.data())
def test_fused_sum_does_not_depend_on_lane_order(data):
    window = data.draw(st.sampled_from([w.values[0] for w in WINDOWS]))
    bits = st.integers(0, (1 << 16) - 1)
    lanes = data.draw(st.sampled_from([2, 4, 16]))
    a, b = (
        np.array(data.draw(st.lists(bits, min_size=2 * lanes, max_size=2 * lanes))).reshape(2, lanes) for _ in range(2)
    )
    order = np.array(data.draw(st.permutations(range(lanes))))

    def total(a, b):
        state = Accumulator.zeros((), window)
        for row_a, row_b in zip(a, b, strict=True):
            aligned_add(state, exact_products(row_a, row_b, window.io), window, axis=-1)
        return state

    plain, moved = total(a, b), total(a[:, order], b[:, order])
    assert plain == moved


def test_special_terms_are_sticky():
    window = WINDOWS[0].values[0]
    inf, ninf, one, zero = FP16.infinity, FP16.negative_infinity, FP16.bias << 10, 0
    cases = {
        ((inf, one), (one, one)): FP32.infinity,
        ((ninf, one), (one, one)): FP32.negative_infinity,
        ((inf, ninf), (one, one)): FP32.negative_infinity,
        ((inf, one), (ninf, one)): FP32.nan,
        ((inf, zero), (one, one)): FP32.nan,
        ((zero, ninf), (one, one)): FP32.nan,
        ((FP16.nan, zero), (one, one)): FP32.nan,
        ((FP16.nan, one), (inf, one)): FP32.nan,
    }
    for factors, expected in cases.items():
        for order in (factors, factors[::-1]):
            state = Accumulator.zeros((), window)
            for a, b in order:
                aligned_add(state, exact_products(np.array(a), np.array(b), FP16), window)
            assert aligned_result(state, window) == expected, factors


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("fmt", ALL)
def test_preload(window, fmt):
    """An accumulator that starts from a number holds it, up to the bits that the window lacks."""
    rng = np.random.default_rng(10)
    bits = np.concatenate([rng.integers(0, 1 << fmt.width, 300), [0, fmt.sign_mask, 1, fmt.infinity - 1]])
    bits = bits[~(decode(bits, fmt).inf | decode(bits, fmt).nan)]
    state = preload(bits, fmt, window)
    assert (state.exponent >= window.floor).all()
    for n, pattern in enumerate(bits):
        unit = Fraction(2) ** int(state.exponent[n] + window.unit)
        error = abs(int(state.value[n]) * unit - exact(pattern, fmt))
        kept = fmt.precision <= window.magnitude_bits and state.exponent[n] > window.floor
        assert error == 0 if kept else error < 2 * unit
    special = preload(np.array([fmt.infinity, fmt.negative_infinity, fmt.nan]), fmt, window)
    assert aligned_result(special, window).tolist() == [
        window.result.infinity,
        window.result.negative_infinity,
        window.result.nan,
    ]


@pytest.mark.parametrize("terms", [1, 32, 1000])
def test_probability_sum_of_fp16_is_exact(terms):
    """Every FP16 probability fits the window of 30 fraction bits, so only the one rounding at the end is left."""
    rng = np.random.default_rng(11)
    window = SumWindow(FP16, 24, 6, terms, FP32)
    one = FP16.bias << FP16.fraction_bits
    bits = np.concatenate(
        [
            rng.integers(0, one + 1, (200, terms)),
            np.full((1, terms), one),
            np.zeros((1, terms), int),
            np.ones((1, terms), int),
        ]
    )
    total = to_float64(bits, FP16).sum(axis=1)  # exact in binary64: a multiple of 2**-24 below 2**10
    np.testing.assert_array_equal(probability_sum(bits, window), reference_bits(total, FP32))


@pytest.mark.parametrize(
    ("io", "result", "guard"), [(BF16, FP32, 6), (BF16, BF16, 6), (FP16, FP16, 6), (FP16, BF16, 1)]
)
def test_probability_sum_truncates_each_term_to_the_window(io, result, guard):
    rng = np.random.default_rng(12)
    window = SumWindow(io, result.precision, guard, 32, result)
    one = io.bias << io.fraction_bits
    bits = rng.integers(0, one + 1, (500, 32))
    grid = 2.0**window.fraction_bits
    total = (np.floor(to_float64(bits, io) * grid) / grid).sum(axis=1)
    np.testing.assert_array_equal(probability_sum(bits, window), reference_bits(total, result))
    assert np.abs(total - to_float64(bits, io).sum(axis=1)).max() < 32 / grid


def test_probability_sum_with_nan():
    window = SumWindow(FP16, 24, 6, 4, FP32)
    one = FP16.bias << 10
    assert probability_sum(np.array([[one, FP16.nan, 0, 0], [one, one, 0, 0]]), window).tolist() == [
        FP32.nan,
        128 << 23,
    ]


# Exponential -------------------------------------------------------------------------------------------------------


def ulp(value, fmt):
    """Distance of the numbers of a format around binary64 values in 0..1."""
    exponent = np.maximum(np.frexp(value)[1] - 1, 1 - fmt.bias)
    return 2.0 ** (exponent - fmt.fraction_bits)


@pytest.mark.parametrize("io", IO)
def test_exponential_of_every_input(io):
    table = ExpTable(io)
    x = np.arange(1 << (table.integer_bits + table.fraction_bits))
    bits = negative_exp(x, table)
    value, reference = to_float64(bits, io), np.exp(-x / 2.0**table.fraction_bits)
    error = np.abs(value - reference) / ulp(reference, io)
    assert error.max() <= 1.0
    assert error.max() > 0.5  # the bound says something: correct rounding would be 0.5
    assert (np.diff(value) <= 0).all()
    assert value[0] == 1.0 and bits[-1] == 0
    assert bits.min() == 0 and bits.max() == io.bias << io.fraction_bits


@pytest.mark.parametrize("io", IO)
def test_exponential_is_a_chord_rounded_once(io):
    """By its definition: a power of two from the chords of the table, 16 bits, rounded to nearest even."""
    table = ExpTable(io)
    x = np.arange(1 << (table.integer_bits + table.fraction_bits))
    power = x * table.constant // 2**table.constant_bits  # x log2(e), in units of 2**-fraction_bits
    whole, fraction = np.divmod(power, 1 << table.fraction_bits)
    index, low = np.divmod(fraction, 1 << (table.fraction_bits - table.index_bits))
    start, end = np.array(table.values)[index], np.array(table.values)[index + 1]
    value = start - (start - end) * low // (1 << (table.fraction_bits - table.index_bits))
    np.testing.assert_array_equal(negative_exp(x, table), from_float64(np.ldexp(value / 2.0**16, -whole), io))


def pairs(rng, fmt, count):
    """Finite numbers in pairs, the larger first: alike, far apart, of opposite signs, subnormal, equal."""
    a = np.concatenate(
        [
            rng.normal(size=count) * 8,
            rng.normal(size=count) * 2.0 ** rng.uniform(-30, 14, count),
            np.zeros(count),
            rng.normal(size=count) * 1e-7,
        ]
    )
    b = np.concatenate(
        [
            rng.normal(size=count) * 8,
            rng.normal(size=count) * 2.0 ** rng.uniform(-30, 14, count),
            -np.abs(rng.normal(size=count)) * 2.0 ** rng.uniform(-26, 6, count),
            rng.normal(size=count) * 1e-7,
        ]
    )
    a, b = (from_float64(x, fmt) for x in (a, b))
    a, b = np.concatenate([a, a[::100]]), np.concatenate([b, a[::100]])
    first = order_key(a, fmt) >= order_key(b, fmt)
    return np.where(first, a, b), np.where(first, b, a)


@pytest.mark.parametrize("io", IO)
@pytest.mark.parametrize("fmt", ALL)
def test_difference_is_exact_then_truncated(fmt, io):
    table = ExpTable(io)
    maximum, value = pairs(np.random.default_rng(13), fmt, 600)
    fixed = negative_difference(maximum, value, fmt, table)
    limit = (1 << (table.integer_bits + table.fraction_bits)) - 1
    for m, v, x in zip(maximum, value, fixed, strict=True):
        difference = exact(m, fmt) - exact(v, fmt)
        assert x == min(int(difference * 2**table.fraction_bits), limit)


@pytest.mark.parametrize("io", IO)
@pytest.mark.parametrize("fmt", ALL)
def test_softmax_exponential_within_one_ulp(fmt, io):
    maximum, value = pairs(np.random.default_rng(14), fmt, 50_000)
    p = softmax_exp(maximum, value, fmt, ExpTable(io))
    reference = np.exp(to_float64(value, fmt) - to_float64(maximum, fmt))
    assert (np.abs(to_float64(p, io) - reference) / ulp(reference, io)).max() <= 1.0
    assert (p[maximum == value] == io.bias << io.fraction_bits).all() and (maximum == value).any()


@pytest.mark.parametrize("io", IO)
@pytest.mark.parametrize("fmt", IO)
def test_softmax_exponential_is_monotonic_over_all_scores(fmt, io):
    """All finite scores of a 16-bit format up to each of some maxima."""
    bits = np.arange(1 << 16)
    bits = bits[~(decode(bits, fmt).nan | decode(bits, fmt).inf)]
    bits = bits[np.argsort(order_key(bits, fmt))]
    for maximum in from_float64(np.array([0.0, 1.0, -1.0, 7.3, -250.0, 60000.0]), fmt):
        below = bits[order_key(bits, fmt) <= order_key(maximum, fmt)]
        p = to_float64(softmax_exp(maximum, below, fmt, ExpTable(io)), io)
        assert (np.diff(p) >= 0).all() and p[-1] == 1.0


@pytest.mark.parametrize("io", IO)
@pytest.mark.parametrize("fmt", ALL)
def test_softmax_exponential_of_special_values(fmt, io):
    one, inf, ninf, nan = fmt.bias << fmt.fraction_bits, fmt.infinity, fmt.negative_infinity, fmt.nan
    full = io.bias << io.fraction_bits
    cases = [
        (one, ninf, 0),  # a masked token
        (inf, ninf, 0),
        (ninf, ninf, 0),  # all tokens masked
        (inf, one, 0),
        (inf, inf, io.nan),  # infinity minus infinity
        (nan, one, io.nan),
        (nan, nan, io.nan),
        (nan, inf, io.nan),
        (nan, ninf, io.nan),
        (one, nan, io.nan),
        (0, 0, full),
        (0, fmt.sign_mask, full),
        (fmt.sign_mask, fmt.sign_mask, full),
        (fmt.infinity - 1, (fmt.infinity - 1) | fmt.sign_mask, 0),  # the largest difference
        (1, 0, full),
        (0, fmt.sign_mask | 1, full),  # the smallest
        (inf + 1, one, io.nan),  # a NaN of another pattern
    ]
    maximum, value, expected = (np.array(x) for x in zip(*cases, strict=True))
    assert softmax_exp(maximum, value, fmt, ExpTable(io)).tolist() == expected.tolist()


def test_formats():
    for name, dtype in DTYPES.items():
        fmt, info = FORMATS[name], ml_dtypes.finfo(dtype)
        assert (fmt.width, fmt.fraction_bits, fmt.exponent_bits) == (info.bits, info.nmant, info.nexp)
        assert to_float64(np.array([fmt.infinity - 1, 1, 1 << fmt.fraction_bits]), fmt).tolist() == [
            float(info.max),
            float(info.smallest_subnormal),
            float(info.smallest_normal),
        ]
        assert fmt.precision == fmt.fraction_bits + 1 and 2.0**fmt.lsb_exponent == float(info.smallest_subnormal)


def test_products_default_to_no_effect():
    """A zero product leaves value and exponent alone: adding nothing is the identity."""
    window = WINDOWS[1].values[0]
    state = Accumulator.zeros((3,), window)
    state.value[:], state.exponent[:] = [5, -7, 0], [12, 30, 20]
    before = (state.value.tolist(), state.exponent.tolist())
    aligned_add(
        state, Products(np.array([0, 1, 0]), *(np.zeros(3, int) for _ in range(2)), *(np.zeros(3, bool),) * 2), window
    )
    assert (state.value.tolist(), state.exponent.tolist()) == before
