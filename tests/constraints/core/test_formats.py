"""Formats and the geometry of the shared arithmetic: constants that hardware and models both rest on."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from bankside.constraints.arith.geometry import AlignedWindow, ExpTable, SumWindow
from bankside.constraints.core.formats import BF16, FORMATS, FP16, FP32

DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
IO = [pytest.param(fmt, id=fmt.name) for fmt in (FP16, BF16)]
ALL = [pytest.param(fmt, id=fmt.name) for fmt in (FP16, BF16, FP32)]


@pytest.mark.parametrize("fmt", ALL)
def test_formats_are_those_of_ieee_754_and_bfloat16(fmt):
    dtype, info = np.dtype(DTYPES[fmt.name]), ml_dtypes.finfo(DTYPES[fmt.name])
    assert FORMATS[fmt.name] is fmt
    assert (fmt.width, fmt.exponent_bits, fmt.fraction_bits) == (info.bits, info.nexp, info.nmant)
    assert fmt.bias == 1 - info.minexp and fmt.precision == info.nmant + 1

    def bits(value):
        return int(np.array(value, dtype).view(f"u{fmt.width // 8}"))

    assert (fmt.infinity, fmt.negative_infinity, fmt.sign_mask) == (bits(np.inf), bits(-np.inf), bits(-0.0))
    assert fmt.infinity - 1 == bits(info.max) and fmt.infinity == fmt.exponent_max << fmt.fraction_bits
    assert 2.0**fmt.lsb_exponent == float(info.smallest_subnormal)
    nan = np.array(fmt.nan, f"u{fmt.width // 8}").view(dtype)
    assert np.isnan(nan) and fmt.nan == bits(np.nan) & ~fmt.sign_mask


@pytest.mark.parametrize("result", ALL)
@pytest.mark.parametrize("io", IO)
@pytest.mark.parametrize(("precision", "guard"), [(24, 6), (11, 6), (8, 1), (24, 16)])
def test_aligned_window(io, result, precision, guard):
    """A product at the running exponent has its leading bit in the top place; the sum of all terms does not overflow."""
    for terms in (1, 2, 32, 33, 257):
        window = AlignedWindow(io, precision, guard, terms, result)
        largest = ((1 << io.precision) - 1) ** 2
        at_top = largest << window.left if window.left >= 0 else largest >> -window.left
        assert at_top.bit_length() == window.magnitude_bits
        assert terms * at_top < 1 << (window.width - 1)
        # The last bit's weight is that of a product shifted so.
        product = Fraction(largest) * Fraction(2) ** (20 - 2 * (io.bias + io.fraction_bits))
        assert product == largest * Fraction(2) ** (20 + window.unit + window.left)
        # At the lowest exponent the top bit is the smallest normal number of the result or above it.
        assert window.floor >= 0
        assert window.width - 2 + window.floor + window.unit >= 1 - result.bias


def test_sum_window():
    for terms in (1, 31, 32, 33):
        window = SumWindow(FP16, 24, 6, terms, FP32)
        assert window.fraction_bits == 30
        assert terms << 30 < 1 << window.width <= terms << 32


@pytest.mark.parametrize("io", IO)
def test_exponential_table(io):
    table = ExpTable(io)
    assert table.values[0] == 1 << 16 and table.values[-1] == 1 << 15 and len(table.values) == 33
    assert [a - s for a, s in zip(table.values, table.slopes, strict=False)] == table.values[1:]
    assert all(s > 0 for s in table.slopes)  # the chords fall
    for index, value in enumerate(table.values):
        assert abs(value - 2 ** (16 - index / 32)) <= 0.5
    assert abs(table.constant / 2**18 - math.log2(math.e)) <= 2**-19
    # What does not fit is 0 in the format: less than half its smallest number.
    assert math.exp(-(2**table.integer_bits)) < 2.0 ** (io.lsb_exponent - 1)
    assert table.fraction_bits > table.index_bits


@pytest.mark.parametrize("score", ALL)
@pytest.mark.parametrize("io", IO)
def test_scores_are_subtracted_in_enough_bits(score, io):
    """Where alignment cuts a score off, the fixed point's last bit is at least two of the bits that remain."""
    table = ExpTable(io)
    guard = table.difference_guard(score)
    # The larger score is a normal number below 2**(integer_bits + 1), or the difference saturates.
    last_kept = Fraction(2) ** (table.integer_bits - score.fraction_bits - guard)
    assert 2 * last_kept <= Fraction(1, 1 << table.fraction_bits) and guard >= 2
