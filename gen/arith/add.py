"""Addition and subtraction with one aligned sum. The sum needs rounding or a long shift, but never both."""

from amaranth import *

from .bits import AND, XOR, add_rows, carries, leading_zero_count, wire
from .pipeline import operator
from .rounding import check_operands, gated, incremented, pack, shift_left, shift_right, take_apart

__all__ = ["add"]


@operator
def add(p, a, b, *, fmt, subtract=False, flush_to_zero=False):
    """Sum ``a + b``, or difference ``a - b``, rounded to nearest, ties to even.

    Special values follow IEEE 754: a difference of infinities is NaN, and every NaN is the canonical quiet one. An exact
    sum of 0 is +0 unless both terms are -0. Sums in the subnormal range are exact.

    At depth 0 it is combinational. It has five places for registers, the last one behind the result. So a depth of up
    to five shortens the longest path. Throughput is one sum per cycle.

    Parameters
    ----------
    a, b : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    subtract : bool, or value of 1 bit
        Whether ``b`` is subtracted: fixed, or chosen with the operands.
    flush_to_zero : bool
        Subnormal operands count as zeros of their sign. A sum below the normal range becomes the zero of its sign.

    Returns
    -------
    value of ``fmt.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If the format is not a :class:`FloatFormat`.
    :exc:`ValueError`
        If an operand is not as wide as the format, or the choice of subtraction is wider than 1 bit.
    """
    a, b = check_operands(fmt, a=a, b=b)
    subtract = Value.cast(int(subtract) if isinstance(subtract, bool) else subtract)
    if len(subtract) != 1:
        raise ValueError(f"Choice of subtraction must be 1 bit wide, not {len(subtract)}")
    _order(p, a, b, subtract, fmt, flush_to_zero)
    p.moved, p.sticky = shift_right(p.module, Cat(Const(0, 2), p.small), p.amount, name="aligned")
    p.cut(2 + 2 * len(p.amount))
    _sum(p, fmt)
    p.beside(lambda p: _normalise(p, fmt), lambda p: _round(p, fmt))
    return _select(p, fmt, flush_to_zero)


# The larger magnitude comes first, so no sum is negative. The smaller significand is shifted right by the difference of
# the exponents. The sum of the significands has two digits below the last place of the larger one, and a flag for all
# lower digits. From there two paths lead to the result:
#
# - The leading one of the sum is at the place of the leading one of the larger significand, or one place above or
#   below. The sum is rounded without a shift.
# - The leading one is further down. Then the exponents differ by at most 1, and the sum has one digit below the last
#   place. After a left shift by 2 or more, nothing is left to round.
#
# The second path does not wait for rounding. The first path does not wait for the position of the leading one.


def _order(p, a, b, subtract, fmt, flush_to_zero):
    m, e = p.module, fmt.exponent_bits
    x, y = take_apart(m, a, fmt, "a"), take_apart(m, b, fmt, "b")
    minus = y.sign ^ subtract
    effective = wire(m, x.sign ^ minus, "effective")
    p.subtract = effective

    size = fmt.width - 1
    differ = [wire(m, a[k] ^ b[k], f"differ_{k}") for k in range(size)]
    if p.fabric == "xilinx":
        swap = wire(m, a[:size] < b[:size], "order")
    else:
        less = [(wire(m, ~a[k] & b[k], f"less_{k}"), AND) for k in range(size)]
        swap = carries(m, less, [(~bit, XOR) for bit in differ], wanted=[size - 1], name="order")[size - 1][0]
    p.swap = swap
    equal = ~Cat(differ).any()
    if flush_to_zero:
        equal |= ~x.normal & ~y.normal
    p.cancel = effective & equal

    # Both differences of the exponents, from their borrows. The order of the operands selects one of them.
    late = 2.0 + e.bit_length()
    borrows = []
    for big, small, name in ((x.biased, y.biased, "down"), (y.biased, x.biased, "up")):
        times = [late if k == 0 else 0.0 for k in range(e - 1)]
        generate = [(wire(m, ~big[k] & small[k], f"{name}_g{k}"), times[k] + AND) for k in range(e - 1)]
        propagate = [(wire(m, ~(big[k] ^ small[k]), f"{name}_p{k}"), times[k] + XOR) for k in range(e - 1)]
        found = carries(m, generate, propagate, name=name)
        borrows.append(Cat(Const(0, 1), *(found[k][0] for k in range(e - 1))))
    distance = wire(m, x.biased ^ y.biased ^ Mux(swap, borrows[1], borrows[0]), "distance")
    size = fmt.precision + 2
    k = size.bit_length()
    far = distance[k:].any() if e > k else Const(0, 1)
    # A larger distance becomes a shift by at least `size`: all bits of `size` are set.
    amount = Cat(bit | far if size >> n & 1 else bit for n, bit in enumerate(distance[:k]))
    p.amount = amount

    big, small = (
        wire(m, Mux(swap, *pair), name)
        for name, pair in (("big_fraction", (y.fraction, x.fraction)), ("small_fraction", (x.fraction, y.fraction)))
    )
    p.sign = Mux(swap, minus, x.sign) & ~p.cancel
    p.exponent = Mux(swap, y.biased, x.biased)
    p.special = x.top | y.top
    p.nan = p.special & (big.any() | p.cancel)
    # The larger operand is normal if any operand is normal. The smaller one is normal if both are.
    any_normal, both_normal = wire(m, x.normal | y.normal, "any_normal"), wire(m, x.normal & y.normal, "both_normal")
    if flush_to_zero:
        big, small = gated(big, any_normal), gated(small, both_normal)
    p.big, p.small = Cat(big, any_normal), Cat(small, both_normal)
    p.cut(15)


def _sum(p, fmt):
    """Compute ``sum``: the sum of the significands, with two digits below. A one below these digits is a borrow."""
    m, size = p.module, fmt.precision
    low, middle = p.moved[0], p.moved[1]
    # Minus is complement plus one. The one carries up through all lower digits that are 0.
    below = wire(m, low | p.sticky, "below")
    carry = wire(m, p.subtract & ~(middle | below), "carry_in")
    flipped = wire(m, p.moved[2:] ^ p.subtract.replicate(size), "flipped")
    columns = [[(p.big[k], 0), (flipped[k], 0)] for k in range(size)]
    total = add_rows(m, [*columns, []], carry=(carry, AND), name="sum", fabric=p.fabric)
    p.sum = Cat(low ^ (p.subtract & p.sticky), middle ^ (p.subtract & below), *total[:size], total[size] & ~p.subtract)
    p.cut(14)


def _normalise(p, fmt):
    """Compute ``far`` and ``far_exponent``: the sum shifted left by 2, and by the zeros below its top two bits."""
    m, near, exponent = p.module, fmt.precision - 1, p.exponent
    # A one at the place where the exponent would become 1 limits the shift.
    floor = Cat(exponent == near + 2 - k if near + 2 - k <= fmt.exponent_max else Const(0, 1) for k in range(near))
    p.zeros, _ = leading_zero_count(m, p.sum[1 : 1 + near] | wire(m, floor, "floor"))
    p.less_2 = (exponent - 2)[: len(exponent)]
    p.deep = exponent > 2
    p.cut(9)
    p.far_exponent = Cat(
        add_rows(
            m,
            [[(p.less_2[k], 0), (~p.zeros[k] if k < len(p.zeros) else Const(1, 1), 0)] for k in range(len(p.less_2))],
            carry=(Const(1, 1), 0),
            name="far_exponent",
            fabric=p.fabric,
        )
    )
    p.far, _ = shift_left(m, p.sum[1 : 1 + near], p.zeros, low=0, width=near, name="far")


def _round(p, fmt):
    """Compute ``rounded`` and ``near_exponent``: the sum rounded above, at or below the larger significand's place."""
    m, f, total, exponent = p.module, fmt.fraction_bits, p.sum, p.exponent
    over = total[-1]
    level = wire(m, ~over & (total[-2] | (exponent == 1)), "level")
    under = wire(m, ~over & ~level, "under")

    def choose(bits):
        """The bits from the last place on, in each of the three cases."""
        return gated(bits[2:], over) | gated(bits[1:-1], level) | gated(bits[:-2], under)

    kept = wire(m, choose(total[1 : f + 3]), "kept")
    guard = wire(m, choose(total[:3]), "guard")
    rest = wire(m, p.sticky | (over & (total[0] | total[1])) | (level & total[0]), "rest")
    p.keep(kept=kept, up=guard & (rest | kept[0]), over=over, middle=total[-2], leads=total[-3:].any())
    p.cut(9)
    exponent = p.exponent
    p.rounded, carry = incremented(m, p.kept, p.up, fabric=p.fabric)
    # A carry out of rounding raises the exponent by 1. A sum above the place of the larger significand has no such
    # carry.
    plus = wire(m, p.over | (p.middle & carry), "plus")
    same = wire(m, ~p.over & (p.middle ^ carry), "same")
    p.infinite = plus & (exponent == fmt.exponent_max - 1)
    p.near_exponent = (
        gated((exponent + 1)[: len(exponent)], plus)
        | gated(exponent, same)
        | gated((exponent - 1)[: len(exponent)], ~plus & ~same)
    )
    # With the smallest exponent, the field becomes 0 below the larger significand's place. This is exact: no carry.
    p.near_normal = p.leads & ~((exponent == 1) & ~p.over & ~p.middle)


def _select(p, fmt, flush_to_zero):
    m = p.module
    shifted = wire(m, ~p.leads & p.deep, "shifted")
    fraction = wire(m, Mux(shifted, Cat(Const(0, 1), p.far)[: fmt.fraction_bits], p.rounded), "fraction")
    top = wire(m, p.far[-1] & shifted, "far_leads")
    exponent = wire(m, gated(p.near_exponent, p.leads) | gated(p.far_exponent, top), "exponent_field")
    if flush_to_zero:
        fraction = gated(fraction, p.near_normal | top)
    p.result = pack(p.sign, exponent, fraction, infinite=p.special | p.infinite, nan=p.nan)
    p.cut(17)
    return p.result
