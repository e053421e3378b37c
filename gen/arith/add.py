"""Addition and subtraction: one aligned sum; what is rounded is not shifted far, and what is shifted far is not rounded."""

from amaranth import *

from .bits import AND, XOR, add_rows, carries, leading_zero_count, wire
from .pipeline import operator
from .rounding import check_operands, gated, incremented, pack, shift_left, shift_right, take_apart

__all__ = ["add"]


@operator
def add(p, a, b, *, fmt, subtract=False, flush_to_zero=False):
    """Sum ``a + b``."""
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


def _order(p, a, b, subtract, fmt, flush_to_zero):
    """The larger magnitude first, and how far apart the exponents are."""
    m, e = p.module, fmt.exponent_bits
    x, y = take_apart(m, a, fmt, "a"), take_apart(m, b, fmt, "b")
    minus = y.sign ^ subtract
    effective = wire(m, x.sign ^ minus, "effective")
    p.subtract = effective

    size = fmt.width - 1
    differ = [wire(m, a[k] ^ b[k], f"differ_{k}") for k in range(size)]
    less = [(wire(m, ~a[k] & b[k], f"less_{k}"), AND) for k in range(size)]
    swap = carries(m, less, [(~bit, XOR) for bit in differ], wanted=[size - 1], name="order")[size - 1][0]
    p.swap = swap
    equal = ~Cat(differ).any()
    if flush_to_zero:
        equal |= ~x.normal & ~y.normal
    p.cancel = effective & equal

    # Both differences of the exponents by their borrows; the order says which of them counts.
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
    # Beyond reach it is shifted by at least the size: the bits of that number are set.
    amount = Cat(bit | far if size >> n & 1 else bit for n, bit in enumerate(distance[:k]))
    p.amount = amount
    big, small = (wire(m, Mux(swap, *pair), name) for name, pair in (
        ("big_fraction", (y.fraction, x.fraction)), ("small_fraction", (x.fraction, y.fraction))))
    p.sign = Mux(swap, minus, x.sign) & ~p.cancel
    p.exponent = Mux(swap, y.biased, x.biased)
    p.special = x.top | y.top
    p.nan = p.special & (big.any() | p.cancel)
    # The larger one is normal if any is, the smaller one if both are.
    any_normal, both_normal = wire(m, x.normal | y.normal, "any_normal"), wire(m, x.normal & y.normal, "both_normal")
    if flush_to_zero:
        big, small = gated(big, any_normal), gated(small, both_normal)
    p.big, p.small = Cat(big, any_normal), Cat(small, both_normal)
    p.cut(17)


def _sum(p, fmt):
    m, size = p.module, fmt.precision
    subtract, sticky = p.subtract, p.sticky
    low, middle = p.moved[0], p.moved[1]
    below = wire(m, low | sticky, "below")
    carry = wire(m, subtract & ~(middle | below), "carry_in")
    flipped = wire(m, p.moved[2:] ^ subtract.replicate(size), "flipped")
    columns = [[(p.big[k], 0), (flipped[k], 0)] for k in range(size)]
    total = add_rows(m, [*columns, []], carry=(carry, 1), name="sum")
    p.sum = Cat(low ^ (subtract & sticky), middle ^ (subtract & below), *total[:size], total[size] & ~subtract)
    p.cut(10)


def _normalise(p, fmt):
    m, near, exponent = p.module, fmt.precision - 1, p.exponent
    # The leading one below the top two bits, or the place that has the smallest exponent: no further does it go.
    floor = Cat(exponent == near + 2 - k if near + 2 - k <= fmt.exponent_max else Const(0, 1) for k in range(near))
    p.zeros, _ = leading_zero_count(m, p.sum[1:1 + near] | wire(m, floor, "floor"))
    p.less_2 = (exponent - 2)[:len(exponent)]
    p.deep = exponent > 2
    p.cut(9)
    p.far_exponent = Cat(add_rows(m, [[(p.less_2[k], 0), (~p.zeros[k] if k < len(p.zeros) else Const(1, 1), 0)]
                                      for k in range(len(p.less_2))], carry=(Const(1, 1), 0), name="far_exponent"))
    p.far, _ = shift_left(m, p.sum[1:1 + near], p.zeros, low=0, width=near, name="far")


def _round(p, fmt):
    m, f, total, exponent = p.module, fmt.fraction_bits, p.sum, p.exponent
    first = wire(m, exponent == 1, "first")
    size = len(total)
    over = total[-1]
    level = wire(m, ~over & (total[-2] | first), "level")
    under = wire(m, ~over & ~level, "under")
    choices = ((over, 3), (level, 2), (under, 1))

    def choose(bit):
        chosen = [sel & bit(start) for sel, start in choices]
        return chosen[0] | chosen[1] | chosen[2]

    kept = wire(m, Cat(choose(lambda start, k=k: total[start + k]) for k in range(f)), "kept")
    guard = wire(m, choose(lambda start: total[start - 1]), "guard")
    rest = wire(m, p.sticky | (over & (total[0] | total[1])) | (level & total[0]), "rest")
    assert size == f + 4
    p.keep(kept=kept, up=guard & (rest | kept[0]), over=over, middle=total[-2], leads=total[-3:].any())
    p.cut(9)
    exponent = p.exponent
    p.rounded, carry = incremented(m, p.kept, p.up)
    plus = wire(m, p.over | (p.middle & carry), "plus")
    same = wire(m, ~p.over & (p.middle ^ carry), "same")
    p.infinite = plus & (exponent == fmt.exponent_max - 1)
    p.near_exponent = (gated((exponent + 1)[:len(exponent)], plus) | gated(exponent, same)
                       | gated((exponent - 1)[:len(exponent)], ~plus & ~same))
    # On the subnormal grid, no carry (exact): the field is 0.
    p.near_normal = p.leads & ~((exponent == 1) & ~p.over & ~p.middle)


def _select(p, fmt, flush_to_zero):
    m = p.module
    shifted = wire(m, ~p.leads & p.deep, "shifted")
    fraction = wire(m, Mux(shifted, Cat(Const(0, 1), p.far)[:fmt.fraction_bits], p.rounded), "fraction")
    top = wire(m, p.far[-1] & shifted, "far_leads")
    exponent = wire(m, gated(p.near_exponent, p.leads) | gated(p.far_exponent, top), "exponent_field")
    if flush_to_zero:
        fraction = gated(fraction, p.near_normal | top)
    p.result = pack(p.sign, exponent, fraction, infinite=p.special | p.infinite, nan=p.nan)
    p.cut(14)
    return p.result
