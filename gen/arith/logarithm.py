"""Natural logarithm: a multiple of ln 2, plus the distance from 1 times a quotient from a table."""

from typing import Any

from amaranth import *

from ...constraints.arith.elementary import logarithm_tables
from .aligned import leading_zeros
from .bits import AND, XOR, add_rows, compress
from .pipeline import operator
from .reciprocal import check_operand, lookup, piecewise

__all__ = ["logarithm"]


@operator
def logarithm(p, a, *, fmt, flush_to_zero=False):
    """Natural logarithm: faithful and monotonic.

    ln 1 is +0. Any other result is one of the two numbers next to the exact value. So the error is below one unit in
    the last place, however close to 1 the operand is. ln ±0 is -∞, and ln +∞ is +∞. Negative numbers and NaN give the
    canonical NaN.

    From 1/2 to 2, the distance from 1 is normalised and multiplied by ``ln(x) / (x - 1)``, which comes from a table
    (:class:`~bankside.constraints.arith.elementary.LogarithmTables`). Elsewhere the fraction replaces this distance, and a
    multiple of ln 2 is added. Nothing cancels.

    Parameters
    ----------
    a : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    flush_to_zero : bool
        Subnormal operands count as zero. Results whose exact value is below the normal range become zeros of their
        sign. This happens for numbers next to 1, in formats with few exponent bits.

    Returns
    -------
    value of ``fmt.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If ``fmt`` is not a format.
    :exc:`ValueError`
        If ``a`` is not as wide as the format.
    """
    check_operand(a, fmt)
    tables = logarithm_tables(fmt)
    f, e, bias, size, whole = (fmt.fraction_bits, fmt.exponent_bits, fmt.bias, tables.product_bits, tables.integer_bits)

    # Kind of the number: near 1 (1/2 to 2, but not 1/2 itself), subnormal, or far from 1.
    fraction, exponent, sign = a[:f], a[f:-1], a[-1]
    low = ~exponent.any()
    special = exponent.all()
    p.below = ~exponent[-1] & ~exponent[:-1].all()
    p.zero = low & (1 if flush_to_zero else ~fraction.any())
    p.special = special
    p.nan = special & fraction.any() | sign & ~p.zero
    if bias == 1:  # from 1/2 to 1 numbers are subnormal
        half = low & fraction[-1] & (0 if flush_to_zero else 1)
        p.fraction = Mux(half, fraction << 1, fraction)[:f]
        p.near_below = half & p.fraction.any()
        p.near = p.near_below | ~p.below & ~exponent[-1]
    else:
        half = Const(0, 1)
        p.fraction = fraction
        p.near_below = p.below & exponent[1:-1].all() & ~exponent[0] & fraction.any()
        p.near = p.near_below | ~exponent[-1] & exponent[:-1].all()
    p.subnormal = low & ~half & (0 if flush_to_zero else 1)
    p.steps = (exponent[:-1] ^ p.below.replicate(e - 1)) if e > 1 else Const(0, 1)
    if fmt.fraction_bits and tables.reaches_subnormals and flush_to_zero:
        lower, upper = tables.tiny
        p.tiny = (a > lower) & (a < upper)
    p.cut(6)

    # Normalise the distance from 1, or a subnormal number. Other numbers keep their place.
    p.distance = (p.fraction ^ p.near_below.replicate(f)) + p.near_below
    distance = p.distance[:f]
    zeros = leading_zeros(distance)
    if tables.most_zeros < f:
        limit = Signal.like(zeros, name="limited_zeros")
        p.module.d.comb += limit.eq(Mux(p.near & (zeros > tables.most_zeros), tables.most_zeros, zeros))
        zeros = limit
    p.zeros = zeros & (p.near | p.subnormal).replicate(len(zeros))
    p.cut(6 + 2 * f.bit_length())
    shifted = (p.distance << p.zeros)[:f]
    p.factor = Mux(p.subnormal, shifted << 1, shifted)[:f]
    p.steps_far = p.steps + Mux(p.subnormal, p.zeros, ~p.below)
    p.cut(2 + 2 * f.bit_length())

    # The quotient for the product, and the multiple of ln 2.
    word = Cat(~Mux(p.subnormal, p.factor, p.fraction), p.near_below)
    multiples = tables.multiples
    p.count = p.steps_far[: tables.largest_multiple.bit_length()] & (~p.near).replicate(
        tables.largest_multiple.bit_length()
    )
    split = (len(multiples[0]) - 1).bit_length()
    for n, column in enumerate(multiples):
        lookup(p, f"multiple_{n}", p.count[split * n : split * (n + 1)] if n == 0 else p.count[split:], [column])
    p.quotient = piecewise(p, word, table=tables.quotient)[: tables.quotient_bits - 1]

    # One sum of the multiple and of the rows of the product, each row cut at the last bit kept. Where the product is
    # subtracted, the multiple is inverted, and the sum is inverted back.
    top = whole + size
    away = p.below & ~p.near
    columns: Any = [[] for _ in range(top)]
    for bit in range(f):
        place = bit - f - tables.quotient_bits + size
        for k in range(max(-place, 0), tables.quotient_bits - 1):
            columns[place + k].append((p.quotient[k] & p.factor[bit], AND))
    # The quotient's two highest bits: 1.0 below 1, 0.1 above.
    whole_factor = Mux(p.near_below, Cat(Const(0, 1), p.factor), p.factor)[: f + 1]
    for bit in range(f + 1):
        columns[bit + size - f - 1].append((whole_factor[bit], XOR))
    for n in range(len(multiples)):
        multiple = p[f"multiple_{n}_0"]
        inverted = Cat(multiple, Const(0, top - len(multiple))) ^ away.replicate(top)
        for k in range(top):
            columns[k].append((inverted[k], XOR))
        if n:
            columns[0].append((away, 0))
    columns = compress(p, columns, step=9)
    p.total = Cat(*add_rows(p.module, columns)) ^ (p.below & ~p.near).replicate(top)
    p.cut(14)

    # Distance of the shift: to the leading bit, or to the grid of the subnormals.
    p.kept = p.total
    p.places = leading_zeros(p.total[size - 2 :])
    base = (whole - 1 + bias) - Mux(p.near, p.zeros, 0) - p.near_below
    if tables.reaches_subnormals:
        p.base = base[: max(e + 2, (whole + bias).bit_length() + 1)]
        p.cut(8)
        p.places = Mux(p.places < p.base, p.places, p.base - 1)[: len(p.places)]
    else:
        p.base = base[: (whole - 1 + bias).bit_length()]
    p.cut(8)

    # Shift, round, and let the carry step into the exponent.
    normal = (p.kept << p.places)[top - f - 2 : top]
    p.normal = normal
    p.field = Mux(normal[-1], (p.base - p.places)[: max(len(p.base), e)], 0)
    p.cut(8)
    p.rounded = Cat(p.normal[1:-1], p.field) + p.normal[0]
    overflows = tables.largest_multiple * 0.7 >= 2.0 ** (bias + 1) * 0.99
    infinite = p.zero | p.special
    if overflows:
        infinite = infinite | (p.rounded[f:] >= fmt.exponent_max)
    magnitude = p.rounded[: fmt.width - 1]
    if "tiny" in p._values:
        magnitude = Mux(p.tiny, 0, magnitude)
    magnitude = Mux(infinite, fmt.infinity, magnitude)
    p.result = Mux(p.nan, fmt.nan, Cat(magnitude[: fmt.width - 1], p.below))
    p.cut(8)
    return p.result
