"""Multiplication: the product of the significands without normalisation, shifted once, rounded once."""

from amaranth import *

from .bits import DSP, add_rows, compress, leading_zero_count, product_columns, wire
from .pipeline import operator
from .rounding import all_ones_below, check_operands, gated, incremented, pack, shift_left, take_apart

__all__ = ["BOOTH_PRECISION", "multiply"]

#: Significands of at least this many bits are multiplied with Booth's recoding, which is then smaller (measured).
BOOTH_PRECISION = 10

#: The final adder of the product treats every bit as at most this many gate delays earlier than the last bit, because
#: behind registers all bits arrive together.
EARLY = 6


@operator
def multiply(p, a, b, *, fmt, flush_to_zero=False):
    """Product ``a * b``, rounded to nearest, ties to even.

    Special values follow IEEE 754: 0 times an infinity is NaN, and every NaN is the canonical quiet one. Subnormal
    operands and results are exact to their grid.

    At depth 0 it is combinational. It has six places for registers (seven for wide formats), the last one behind the
    result. So a depth of up to six shortens the longest path. Throughput is one product per cycle.

    Parameters
    ----------
    a, b : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    flush_to_zero : bool
        Subnormal operands count as zeros of their sign. A product below the normal range before rounding becomes the
        zero of its sign. The multiplier is smaller, because nothing is shifted.

    Returns
    -------
    value of ``fmt.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If the format is not a :class:`FloatFormat`.
    :exc:`ValueError`
        If an operand is not as wide as the format.
    """
    a, b = check_operands(fmt, a=a, b=b)
    m = p.module
    x, y = take_apart(m, a, fmt, "a"), take_apart(m, b, fmt, "b")
    p.sign = x.sign ^ y.sign
    zeros = [~n.normal if flush_to_zero else ~n.normal & n.empty for n in (x, y)]
    p.zero = zeros[0] | zeros[1]
    p.special = x.top | y.top
    p.nan = (x.top & ~x.empty) | (y.top & ~y.empty) | (p.special & p.zero)

    p.beside(lambda p: _exponent(p, x, y, fmt, flush_to_zero), lambda p: _product(p, x, y, fmt))
    if not flush_to_zero:
        _shift(p, fmt)
    return _round(p, fmt, flush_to_zero)


def _product(p, x, y, fmt):
    m = p.module
    late = 2.0 + fmt.exponent_bits.bit_length()  # arrival of the implicit bits
    times = [0.0] * fmt.fraction_bits + [late]
    if p.fabric == "xilinx":
        p.keep(x=x.significand, y=y.significand)
        p.cut(4)  # registers at the inputs of the DSP block; the next ones are behind its multiplier and at its output
        columns = product_columns(p, p.x, p.y, booth=False)
        p.product = Cat(bit for column in columns for bit, _ in column)
        p.cut(DSP)
        return
    columns = product_columns(
        p, x.significand, y.significand, booth=fmt.precision >= BOOTH_PRECISION, arrivals=(times, times)
    )
    rows = compress(p, columns, step=8, cut_from=2)
    # The two rows pass the cut as one word.
    p.rows = Cat(bit for column in rows for bit, _ in column)
    p.cut(8)
    bits = iter(p.rows)
    early = max(time for column in rows for _, time in column) - EARLY
    columns = [[(next(bits), max(time, early)) for _, time in column] for column in rows]
    p.product = Cat(add_rows(m, columns, name="product"))
    p.cut(17)


def _reach(fmt):
    """Bits of the shift distance.

    A left shift is shorter than the precision. A right shift ends when less than half of the smallest subnormal number
    is left, or at the smallest exponent.
    """
    return max(max(fmt.precision, min(fmt.precision + 1, fmt.bias - 2)) - 1, 1).bit_length()


def _exponent(p, x, y, fmt, flush_to_zero):
    """Compute the exponent field and the shift, in parallel with the product.

    ``raw`` is the biased exponent for normal factors if the product of the significands is below 2. A subnormal factor
    has ``zeros`` leading zeros. If both factors are subnormal, the product is tiny anyway. Shifted left by ``zeros``,
    the product has its leading one at the place of normal products, and the exponent ``raw - zeros``. If this exponent
    is positive, it is the field. Otherwise the field is 0, the product is on the subnormal grid, and its shift is
    ``raw``. That is one place more, so that the implicit bit lies at the place of a product of 2 or more.
    """
    m, e, k = p.module, fmt.exponent_bits, _reach(fmt)
    late = 2.0 + e.bit_length()
    # raw = exponents + 1 - 2**(e - 1)
    columns = [
        [(i, late if n == 0 else 0.0), (j, late if n == 0 else 0.0)]
        for n, (i, j) in enumerate(zip(x.biased, y.biased, strict=True))
    ]
    total = Cat(add_rows(m, [*columns, []], carry=(Const(1, 1), 0), limit=late + 10, name="exponents", fabric=p.fabric))
    high, top = total[e - 1], total[e]
    p.raw = Cat(total[: e - 1], ~high, ~(high ^ top), ~(high | top))
    if flush_to_zero:
        p.exponent, p.below = p.raw[:e], p.raw[-1]
        p.at = ~p.raw.any()
        p.overflow = (p.raw[e] | p.raw[:e].all()) & ~p.raw[-1]
        p.last = p.raw[: e + 1] == fmt.exponent_max - 1
        return
    both = wire(m, x.normal & y.normal, "normal")
    p.subnormal = Cat(gated(x.fraction, ~x.normal) | gated(y.fraction, ~y.normal), both)
    p.cut(8)
    p.zeros, _ = leading_zero_count(m, p.subnormal)
    p.cut(8)
    size = max(e + 2, Shape.cast(range(2 - fmt.bias - fmt.precision - 2, 1)).width)
    raw = Cat(p.raw, p.raw[-1].replicate(size - len(p.raw)))
    inverted = ~Cat(p.zeros, Const(0, size - len(p.zeros)))
    difference = Cat(
        add_rows(
            m,
            [[(i, 0), (j, 0)] for i, j in zip(raw, inverted, strict=True)],
            carry=(Const(1, 1), 0),
            name="difference",
            fabric=p.fabric,
        )
    )
    p.tiny = difference[-1]
    far = p.raw[-1] & ~p.raw[k:].all() if 2 - fmt.bias < -(1 << k) else Const(0, 1)
    zeros = Cat(p.zeros, Const(0, k))[:k]
    p.left = Mux(p.tiny, gated(p.raw[:k], ~far), zeros)
    p.right = p.tiny & p.raw[-1]
    field = gated(difference[:-1], ~(p.tiny | p.zero))
    p.exponent = field[:e]
    p.lowest = ~field.any()
    p.overflow = field[e:].any() | field[:e].all()
    p.last = field == fmt.exponent_max - 1
    p.cut(12)


def _shift(p, fmt):
    # Shift right by 2**k first, then left: `below` bits under the product's last place can come back up.
    m, f = p.module, fmt.fraction_bits
    reach, size = 1 << _reach(fmt), len(p.product)
    below = max(reach - 1 - (f - 1), 0)
    padded = Cat(p.product, Const(0, reach))
    down = gated(padded[reach - below : reach], p.right)
    word = wire(m, Cat(down, Mux(p.right, padded[reach : reach + size], p.product)), "product_right")
    lost = wire(m, p.right & p.product[: max(min(reach - below, size), 0)].any(), "product_lost")
    p.word, gone = shift_left(m, word, p.left, low=f - 1 + below, width=f + 3)
    p.sticky = Cat(lost, *gone).any()
    p.cut(3 + 2 * len(p.left))


def _round(p, fmt, flush_to_zero):
    m, e, f = p.module, fmt.exponent_bits, fmt.fraction_bits
    if flush_to_zero:
        p.word = p.product[f - 1 :]
        p.sticky = p.product[: f - 1].any() if f > 1 else Const(0, 1)
    high = p.word[-1]
    select = wire(m, high if flush_to_zero else high | p.lowest, "select")
    fraction = wire(m, Mux(select, p.word[2 : f + 2], p.word[1 : f + 1]), "kept")
    guard = wire(m, Mux(select, p.word[1], p.word[0]), "guard")
    rest = wire(m, p.sticky | (select & p.word[0]), "rest")
    p.keep(kept=fraction, up=guard & (rest | fraction[0]), high=high)
    p.cut(6)
    fraction, carry = incremented(m, p.kept, p.up, fabric=p.fabric)
    more = wire(m, p.high | carry, "more")
    if p.fabric == "xilinx":
        exponent = wire(m, (p.exponent + more)[:e], "exponent")
    else:
        ones = all_ones_below(m, p.exponent[: e - 1], name="exponent_ones")
        exponent = wire(m, Cat(bit ^ (more & one) for bit, one in zip(p.exponent, ones, strict=True)), "exponent")
    infinite = wire(m, p.special | p.overflow | (p.last & more), "infinite")
    if flush_to_zero:
        flushed = wire(m, (p.below | (p.at & ~p.high) | p.zero), "flushed")
        exponent, fraction = gated(exponent, ~flushed), gated(fraction, ~flushed)
        infinite = p.special | (infinite & ~flushed)
    p.result = pack(p.sign, exponent, fraction, infinite=infinite, nan=p.nan)
    p.cut(12)
    return p.result
