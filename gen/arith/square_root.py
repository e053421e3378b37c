"""Square root: unrolled into a pipeline."""

from amaranth import *

from .pipeline import operator
from .recurrence import difference, increment, nonzero, normalise, pack, shift_right, take_apart

__all__ = ["square_root"]


@operator
def square_root(p, a, *, fmt, flush_to_zero=False):
    """Square root."""
    size, bias = fmt.precision, fmt.bias
    x = take_apart(a, fmt, flush_to_zero=flush_to_zero)
    p.sign = x.sign
    p.nan = x.nan | (x.sign & ~x.zero)
    p.infinite, p.zero = x.inf, x.zero
    if flush_to_zero:
        p.significand = x.significand
        double = x.exponent + bias
    else:
        p.biased = x.exponent
        p.significand, p.zeros = normalise(x.significand)
        p.cut(4 + 2 * size.bit_length())
        double = p.biased - p.zeros + bias
    p.exponent = double >> 1

    # The radicand is in 1..4: two bits before the point if what is left of the exponent is odd. The first bit of the
    # root is 1.
    radicand = Mux(double[0], Cat(Const(0, 1), p.significand), Cat(p.significand, Const(0, 1)))
    p.radicand = radicand[:size - 1]
    p.remainder = Cat(radicand[size] & ~radicand[size - 1], radicand[size] & radicand[size - 1])
    p.cut(8)
    root = []
    for index in range(1, size + 1):
        # Two more bits of the radicand, less 4 * root + 1.
        drawn = [p.radicand[i] if i >= 0 else Const(0, 1) for i in (size - 2 * index - 1, size - 2 * index)]
        trial = Cat(*drawn, p.remainder)
        known = [p[name] for name in root]
        rest, fits = difference(trial, Cat(Const(1, 2), *known, Const(1, 2)))
        p[f"root_{index}"] = fits
        p.remainder = Mux(fits, rest, trial)[:index + 2]
        root.insert(0, f"root_{index}")
        p.cut(5 + 2 * (index + 3).bit_length())

    # The root of a significand is never half-way between two others and never rounds up to a power of two; one on the
    # grid of the subnormal numbers, which formats of few exponents have, may do both.
    found = Cat(*(p[name] for name in root), Const(1, 1))
    field = p.exponent[:fmt.exponent_bits]
    lowest = (1 - fmt.fraction_bits + bias) >> 1
    if flush_to_zero or lowest >= 1:
        rounded = increment(found[1:size], found[0])
        magnitude = Cat(rounded[:-1], field)
    else:
        p.inexact = nonzero(p.remainder)
        p.tiny = p.exponent < 1
        shift = (1 - p.exponent)[:(1 - lowest).bit_length()]
        p.found, p.lost = shift_right(found, shift & p.tiny.replicate(len(shift)))
        p.cut(2 * size.bit_length())
        rounded = increment(p.found[1:size], p.found[0] & (p.found[1] | p.lost | p.inexact))
        field = p.exponent[:fmt.exponent_bits] & (~p.tiny).replicate(fmt.exponent_bits)
        magnitude = Cat(rounded[:-1], field[0] | rounded[-1], field[1:])
    return pack(p.sign, magnitude, fmt=fmt, nan=p.nan, infinite=p.infinite, zero=p.zero)
