"""Activation functions from tables with linear interpolation."""

from amaranth import *

from ...constraints.arith.activation import TableInterpolation
from .aligned import leading_zeros
from .bits import wire
from .exponential import place_by_exponent
from .pipeline import operator

__all__ = ["interpolate"]


@operator
def interpolate(p, a, *, table):
    """An activation function from chords of a table (:class:`~bankside.constraints.arith.activation.TableInterpolation`).

    The operand in fixed point selects a chord and a place on it. The value is rounded once, to nearest even. Beyond the
    table's range, and for infinities, the rules of the table hold. NaN gives the canonical NaN, and a result of 0 is
    +0. The table is logic.

    Parameters
    ----------
    a : value of ``table.fmt.width`` bits
    table : :class:`TableInterpolation`
        Function, format, number of chords and range.

    Returns
    -------
    value of ``table.fmt.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If ``table`` is not a :class:`TableInterpolation`.
    """
    if not isinstance(table, TableInterpolation):
        raise TypeError(f"Table must be a TableInterpolation, not {table!r}")
    m, fmt = p.module, table.fmt
    f, e = fmt.fraction_bits, fmt.exponent_bits
    fraction, exponent = a[:f], a[f : f + e]
    normal = wire(m, exponent.any(), "normal")
    nan = wire(m, exponent.all() & fraction.any(), "nan")
    first = fmt.bias + table.limit_bits  # exponent of the limit
    lowest = a == (fmt.sign_mask | first << f)
    p.sign = a[-1]
    outside = wire(m, (exponent >= first) & ~lowest, "outside")
    # NaN, and operands that equal their result, bypass the table.
    by = [outside & side for rule, side in ((table.below, a[-1]), (table.above, ~a[-1])) if rule is None]
    p.passes = nan | Cat(by).any() if by else nan
    p.passing = Mux(nan, fmt.nan, a)
    p.outside = outside

    # Fixed point, from -limit up.
    size = table.position_bits + table.limit_bits + 1
    magnitude = place_by_exponent(
        m,
        Cat(fraction, normal),
        Cat(exponent[0] | ~normal, exponent[1:]),
        range(max(1, fmt.bias - table.position_bits - 1), first + 1),
        lambda exponent: exponent - fmt.bias - f + table.position_bits,
        size,
    )
    p.position = ((magnitude ^ p.sign.replicate(size)) + p.sign)[:size] ^ (1 << (size - 1))
    p.cut(18)

    # The chord.
    points = table.points
    rises = [b - a for a, b in zip(points[:-1], points[1:], strict=True)]
    start = Signal(Shape.cast(range(min(points), max(points) + 1)))
    rise = Signal(Shape.cast(range(min(*rises, 0), max(*rises, 0) + 1)))
    with m.Switch(p.position[table.low_bits :]):
        for number in range(table.entries):
            with m.Case(number):
                m.d.comb += [start.eq(points[number]), rise.eq(rises[number])]
    p.start, p.rise = start, rise
    p.low = p.position[: table.low_bits]
    p.cut(table.entries.bit_length() + 2)
    half = 1 << table.low_bits >> 1
    p.product = (p.rise * p.low + half) >> table.low_bits
    p.cut(14)
    value = (p.start + p.product)[: len(start)]
    value = value.as_signed() if start.shape().signed else value
    for rule, side in ((table.below, p.sign), (table.above, ~p.sign)):
        if rule is not None:
            value = Mux(p.outside & side, rule, value)
    p.value = value
    p.cut(8)

    # To the format. No value except 0 is below its normal range.
    negative = wire(m, p.value[-1] if start.shape().signed else Const(0, 1), "negative")
    p.negative = negative
    p.magnitude = wire(m, Mux(negative, -p.value, p.value)[: len(p.value)], "size")
    p.cut(8)
    width = max(len(p.magnitude), fmt.precision + 2)
    whole = wire(m, Cat(Const(0, width - len(p.magnitude)), p.magnitude), "whole")
    p.zeros = leading_zeros(whole)
    p.moved = (whole << p.zeros)[:width]
    p.cut(14)
    top = len(p.magnitude) - 1 - table.value_bits + fmt.bias  # exponent of the top bit
    kept, rest = p.moved[width - fmt.precision : width - 1], p.moved[: width - fmt.precision]
    up = rest[-1] & (rest[:-1].any() | kept[0])
    packed = wire(m, Cat(kept, (top - p.zeros)[:e]) + up, "packed")
    number = packed[: f + e] & p.moved[-1].replicate(f + e)
    infinite = wire(m, packed[f:] >= fmt.exponent_max, "infinite")
    number = Mux(infinite & p.moved[-1], fmt.infinity, number)
    return Mux(p.passes, p.passing, Cat(number[: f + e], p.negative))[: fmt.width]
