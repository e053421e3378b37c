"""Division: unrolled into a pipeline, and one quotient digit after the other in one row of gates."""

from amaranth import *

from .pipeline import operator
from .recurrence import difference, increment, nonzero, normalise, pack, shift_right, take_apart

__all__ = ["divide"]


@operator
def divide(p, a, b, *, fmt, flush_to_zero=False):
    """Quotient ``a / b``."""
    size = fmt.precision
    x, y = (take_apart(v, fmt, flush_to_zero=flush_to_zero) for v in (a, b))
    p.sign = x.sign ^ y.sign
    p.nan = x.nan | y.nan | (x.zero & y.zero) | (x.inf & y.inf)
    p.infinite = x.inf | y.zero
    p.zero = x.zero | y.inf
    if flush_to_zero:
        p.dividend, p.divisor = x.significand, y.significand
        p.difference = x.exponent - y.exponent
    else:
        p.keep(a_significand=x.significand, b_significand=y.significand, a_exponent=x.exponent, b_exponent=y.exponent)
        p.cut(4)
        for name, operand in (("dividend", p.a_significand), ("divisor", p.b_significand)):
            p[name], p[f"{name}_zeros"] = normalise(operand)
        p.difference = p.a_exponent - p.b_exponent
        p.cut(4 + 2 * size.bit_length())
        p.difference = p.difference - p.dividend_zeros + p.divisor_zeros

    # The first row finds the leading one of the quotient, which is in 1/2..2.
    direct, p.large = difference(p.dividend, p.divisor)
    halved, _ = difference(Cat(Const(0, 1), p.dividend), Cat(p.divisor, Const(0, 1)))
    p.remainder = Mux(p.large, direct, halved[:size])
    p.exponent = p.difference + (fmt.bias - 1) + p.large
    row = 5 + 2 * size.bit_length()
    p.cut(row)
    p.overflow = p.exponent >= fmt.exponent_max
    p.tiny = p.exponent < 1
    if not flush_to_zero:
        p.shift = Mux(p.exponent < -size, size + 1, 1 - p.exponent)[:(size + 1).bit_length()] & p.tiny.replicate(
            (size + 1).bit_length())
    p.field = p.exponent[:fmt.exponent_bits] & (~p.tiny).replicate(fmt.exponent_bits)

    # Each further row gives a bit: fraction and guard.
    digits = []
    for index in range(size):
        rest, fits = difference(Cat(Const(0, 1), p.remainder), Cat(p.divisor, Const(0, 1)))
        p[f"digit_{index}"] = fits
        p.remainder = Mux(fits, rest[:size], Cat(Const(0, 1), p.remainder[:size - 1]))
        digits.insert(0, f"digit_{index}")
        p.cut(row)

    # A quotient of two significands is never half-way between two others, and never rounds up to a power of two; one on
    # the grid of the subnormal numbers may do both.
    quotient = Cat(*(p[name] for name in digits), Const(1, 1))
    if flush_to_zero:
        p.quotient, p.up = quotient, quotient[0]
    else:
        p.inexact = nonzero(p.remainder)
        p.quotient, p.lost = shift_right(quotient, p.shift)
        p.cut(2 * size.bit_length())
        p.up = p.quotient[0] & (p.quotient[1] | p.lost | p.inexact)
    rounded = increment(p.quotient[1:size], p.up)
    p.magnitude = Cat(rounded[:-1], p.field[0] | rounded[-1], p.field[1:])
    return pack(p.sign, p.magnitude, fmt=fmt, nan=p.nan, infinite=p.infinite | (p.overflow & ~p.zero),
                zero=p.zero | (p.tiny if flush_to_zero else 0))
