"""Reciprocal and reciprocal square root: a table of lines or parabolas over the significand, no iteration."""

from amaranth import *

from ...constraints.arith.elementary import reciprocal_square_root_table, reciprocal_table
from ...constraints.core.formats import FloatFormat
from .aligned import leading_zeros
from .bits import AND, add_rows, compress, partial_products
from .pipeline import operator

__all__ = ["piecewise", "reciprocal", "reciprocal_square_root"]


def check_operand(a, fmt):
    """Raise :exc:`TypeError` if ``fmt`` is not a format, :exc:`ValueError` if ``a`` does not have its width."""
    if not isinstance(fmt, FloatFormat):
        raise TypeError(f"Format must be a FloatFormat, not {fmt!r}")
    if len(Value.cast(a)) != fmt.width:
        raise ValueError(f"Operand must have the {fmt.width} bits of {fmt.name}, not {len(Value.cast(a))}")


def lookup(p, name, index, columns):
    """Put the table row that ``index`` selects into the pipeline: ``name_0`` and so on, one value for each column."""
    signals = [Signal(max(max(column).bit_length(), 1), name=f"{name}_{n}") for n, column in enumerate(columns)]
    rows = list(zip(*columns, strict=True))
    if len(rows) == 1:
        p.module.d.comb += [signal.eq(value) for signal, value in zip(signals, rows[0], strict=True)]
    else:
        with p.module.Switch(index):
            for number, row in enumerate(rows):
                with p.module.Case(number):
                    p.module.d.comb += [signal.eq(value) for signal, value in zip(signals, row, strict=True)]
    for n, signal in enumerate(signals):
        p[f"{name}_{n}"] = signal


def piecewise(p, word, *, table, halves=None):
    """Value of a :class:`~bankside.constraints.arith.elementary.Piecewise` function, as defined in its docstring.

    Parameters
    ----------
    p : :class:`Pipeline`
    word : value of ``table.index_bits + table.low_bits`` bits
    halves : name of a value in the pipeline, or None
        Number of halves of the unit that are added before the value is cut.

    Returns
    -------
    value, cut to whole units
    """
    if table.low_bits:
        p.low = word[: table.low_bits]
    lookup(p, "c", word[table.low_bits :], [table.c0, table.c1, table.c2] if table.c2 else [table.c0, table.c1])
    p.cut(3 + table.index_bits)
    p.slope = p.c_1
    if table.c2:
        high = p.low[table.low_bits - table.high_bits :]
        columns = partial_products(p.module, p.c_2, high, name="square")
        columns += [[] for _ in range(table.slope_bits + table.square_shift - len(columns))]
        for bit in range(len(p.c_1)):
            columns[table.square_shift + bit].append((p.c_1[bit], 0))
        columns = compress(p, columns, name="squares", step=9)
        p.slope = Cat(*add_rows(p.module, columns, name="slope"))[table.square_shift :][: table.slope_bits]
        p.cut(10)
    added = Const(0, 1)
    if halves is not None:
        added = Cat(Const(0, table.shift - 1), p[halves]) if table.shift else p[halves] >> 1
    # Sum of the constant, of the added halves, and of the rows of the product without the bits below the cut.
    largest = table.largest + (3 << table.shift >> 1 if halves else 0)
    columns = [[] for _ in range(largest.bit_length())]
    for bit in range(len(p.c_0)):
        columns[bit].append((p.c_0[bit], 0))
    for bit in range(len(added)):
        if not isinstance(added[bit], Const):
            columns[bit].append((added[bit], 0))
    for place in range(table.low_bits):
        for bit in range(max(table.cut - place, 0), table.slope_bits):
            columns[place + bit - table.cut].append((p.slope[bit] & p.low[place], AND))
    columns = compress(p, columns, name="sum", step=9)
    p.value = Cat(*add_rows(p.module, columns, name="value"))[table.shift :]
    p.cut(10)
    return p.value


@operator
def reciprocal(p, a, *, fmt, flush_to_zero=False):
    """1 / a: faithful, monotonic on either side of zero.

    If the exact value is a number of the format, it is the result. Otherwise the result is one of the two numbers next
    to it. So the error is below one unit in the last place, also on the grid of the subnormals. 1 / ±0 is ±∞.
    1 / ±∞ is ±0. Subnormals up to 2**(-bias - 1) give infinities. NaN gives the canonical NaN. The table is
    :func:`~bankside.constraints.arith.elementary.reciprocal_table`: straight lines for formats of up to 11 fraction bits,
    parabolas above.

    Parameters
    ----------
    a : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    flush_to_zero : bool
        Subnormal operands count as zero. Results whose exact value is below the normal range become zero.

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
    f, e, table = fmt.fraction_bits, fmt.exponent_bits, reciprocal_table(fmt.fraction_bits)
    fraction, exponent = a[:f], a[f:-1]
    p.sign = a[-1]
    special = exponent.all()
    p.special = special
    p.nan = special & fraction.any()
    p.subnormal = ~exponent.any()
    # The quotient's exponent is 2 bias - 1 - exponent, which equals the inverted exponent minus 2.
    if flush_to_zero:
        p.infinite = p.subnormal
        p.word = ~fraction
        p.quotient = (~exponent - 2)[:e]
        p.tiny = exponent[1:].all() & ~exponent[0] | exponent[2:].all() & ~exponent[1] & exponent[0] & fraction.any()
        halves = None
    else:
        # Only the two highest bits of a subnormal matter: if both are 0, the quotient overflows.
        first, second = fraction[f - 1], fraction[f - 2] if f > 1 else Const(0, 1)
        p.infinite = p.subnormal & ~first & ~second
        p.word = ~Mux(p.subnormal, Mux(first, fraction << 1, fraction << 2), fraction)[:f]
        p.quotient = (~exponent - Cat(p.subnormal & ~first, ~(p.subnormal & ~first)))[:e]
        # Below the normal range the quotient is shifted by one or two places, and half a unit in its last place too.
        p.two_places = exponent[1:].all() & ~exponent[0]
        p.places = p.two_places | exponent[2:].all() & ~exponent[1] & exponent[0]
        p.halves = Cat(p.places, p.two_places)
        halves = "halves"
    p.cut(6)
    value = piecewise(p, p.word, table=table, halves=halves)[: f + 2]
    normal = (Cat(Const(0, f), p.quotient) + Cat(value[:f], value[f + 1]))[: fmt.width - 1]
    if flush_to_zero:
        magnitude = Mux(p.special | p.tiny, 0, normal)
    else:
        magnitude = Mux(p.places, Mux(p.two_places, value >> 2, value >> 1), normal)
        magnitude = Mux(p.special, 0, magnitude)
    result = Cat(Mux(p.infinite, fmt.infinity, magnitude)[: fmt.width - 1], p.sign)
    p.result = Mux(p.nan, fmt.nan, result)
    p.cut(8)
    return p.result


@operator
def reciprocal_square_root(p, a, *, fmt, flush_to_zero=False):
    """1 / sqrt(a): faithful and monotonic.

    A power of four gives the exact result. Otherwise the result is one of the two numbers next to the exact value.
    1 / sqrt(±0) is ±∞, and 1 / sqrt(+∞) is +0. Other negative numbers and NaN give the canonical NaN. The table is
    :func:`~bankside.constraints.arith.elementary.reciprocal_square_root_table`: straight lines for formats of up to 11
    fraction bits, parabolas above.

    Parameters
    ----------
    a : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    flush_to_zero : bool
        Subnormal operands count as zero. Results whose exact value is below the normal range become zero. They exist
        only in formats with an exponent of 2 bits.

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
    f, bias, table = fmt.fraction_bits, fmt.bias, reciprocal_square_root_table(fmt.fraction_bits)
    fraction, exponent = a[:f], a[f:-1]
    p.sign = a[-1]
    p.subnormal = ~exponent.any()
    special = exponent.all()
    if bias == 1 and flush_to_zero:
        p.one = a[:-1] == 1 << f
    p.infinite = p.subnormal & (1 if flush_to_zero else ~fraction.any())
    p.special = special
    p.nan = special & fraction.any() | p.sign & ~p.infinite
    # The exponent of the result without the carry of 2 / sqrt(1), from half of the operand's power of two.
    if flush_to_zero:
        p.word = Cat(~fraction, exponent[0])
        p.halved, p.odd, p.lift = ~exponent[1:], ~exponent[0], Const(0, 1)
    else:
        p.exponent, p.fraction = exponent, fraction
        p.zeros = leading_zeros(fraction)
        p.cut(2 + 2 * f.bit_length())
        # A subnormal is treated as 2**-zeros times a significand.
        p.word = Cat(
            ~Mux(p.subnormal, (p.fraction << 1 << p.zeros)[:f], p.fraction), Mux(p.subnormal, p.zeros[0], p.exponent[0])
        )
        p.halved = Mux(p.subnormal, p.zeros[1:], ~p.exponent[1:])
        p.odd, p.lift = ~p.subnormal & ~p.exponent[0], p.subnormal
    p.cut(2 + 2 * f.bit_length())
    quarter = 1 << (fmt.exponent_bits - 2)
    largest = 3 * quarter - 1 + (f >> 1)
    base = p.halved + p.odd + (Cat(Const(0, fmt.exponent_bits - 1), p.lift) + (quarter - 2))
    p.field = base[: largest.bit_length()]
    value = piecewise(p, p.word, table=table)
    p.packed = Cat(value[:f], p.field) + Cat(Const(0, f), value[f + 1])
    if bias == 1:
        # For operands of 1 or more, the result is below the normal range.
        lowered = Mux(p.one, value >> 1, 0) if flush_to_zero else value >> 1
        p.packed = Mux(p.field == 0, lowered, p.packed)
    overflows = not flush_to_zero and largest >= fmt.exponent_max
    infinite = p.infinite | (p.packed[f:] >= fmt.exponent_max) if overflows else p.infinite
    magnitude = Mux(p.special, 0, Mux(infinite, fmt.infinity, p.packed[: fmt.width - 1]))
    p.result = Mux(p.nan, fmt.nan, Cat(magnitude[: fmt.width - 1], p.sign))
    p.cut(8)
    return p.result
