"""Square root: unrolled into a pipeline, or iterative with a few rows of gates that give some root bits per cycle."""

from typing import Any

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .divide import bits_of_cycle
from .float_shape import FloatShape
from .pipeline import operator
from .recurrence import difference, increment, nonzero, normalise, pack, settle, shift_right, take_apart, wire

__all__ = ["IterativeSquareRoot", "square_root"]


@operator
def square_root(p, a, *, fmt, flush_to_zero=False):
    """Square root, rounded to nearest, ties to even, as IEEE 754 says.

    This is a restoring digit recurrence with one row of gates for each bit of the root. Each row is one bit wider than
    the row before. A subnormal operand is normalised first. The root of -0 is -0. Other negative numbers give NaN,
    always the canonical quiet NaN.

    Depth: there are places for ``fmt.precision + 3`` registers (``fmt.precision + 2`` with ``flush_to_zero``). Each row
    lies between two places. Formats with ``fmt.bias <= fmt.fraction_bits`` have subnormal roots and one more place.

    Parameters
    ----------
    p : :class:`Pipeline`, or :class:`Module` (see :func:`operator`)
    a : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    flush_to_zero : :class:`bool`
        Subnormal operands count as zeros of their sign. Roots of normal numbers are normal.

    Returns
    -------
    value of ``fmt.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If ``fmt`` is not a format.
    :exc:`ValueError`
        If the operand is not as wide as the format.
    """
    x = take_apart(a, fmt, flush_to_zero=flush_to_zero)
    size, bias = fmt.precision, fmt.bias
    p.sign = x.sign
    p.nan = x.nan | (x.sign & ~x.zero)
    p.infinite, p.zero = x.inf, x.zero
    if flush_to_zero:
        p.significand = x.significand
        double = x.exponent + bias
    else:
        p.biased = x.exponent
        p.significand, p.zeros = normalise(p.module, x.significand)
        p.cut(4 + 2 * size.bit_length())
        double = p.biased - p.zeros + bias
    p.exponent = double >> 1

    # The radicand is in 1..4: it has two bits before the point if the remaining exponent is odd. The first bit of the
    # root is 1.
    radicand = Mux(double[0], Cat(Const(0, 1), p.significand), Cat(p.significand, Const(0, 1)))
    p.radicand = radicand[: size - 1]
    p.remainder = Cat(radicand[size] & ~radicand[size - 1], radicand[size] & radicand[size - 1])
    p.cut(8)
    root: Any = []
    for index in range(1, size + 1):
        # Append two bits of the radicand, and subtract 4 * root + 1.
        drawn = [p.radicand[i] if i >= 0 else Const(0, 1) for i in (size - 2 * index - 1, size - 2 * index)]
        trial = Cat(*drawn, p.remainder)
        known = [p[name] for name in root]
        rest, fits = difference(p.module, trial, Cat(Const(1, 2), *known, Const(1, 2)), f"row_{index}")
        p[f"root_{index}"] = fits
        p.remainder = Mux(fits, rest, trial)[: index + 2]
        root.insert(0, f"root_{index}")
        p.cut(5 + 2 * (index + 3).bit_length())

    # The root of a significand is never half-way between two numbers, and never rounds up to a power of two. On the
    # grid of the subnormal numbers both can happen, in formats with few exponents.
    found = Cat(*(p[name] for name in root), Const(1, 1))
    field = p.exponent[: fmt.exponent_bits]
    lowest = (1 - fmt.fraction_bits + bias) >> 1
    if flush_to_zero or lowest >= 1:
        rounded = increment(p.module, found[1:size], found[0])
        magnitude = Cat(rounded[:-1], field)
    else:
        p.inexact = nonzero(p.remainder)
        p.tiny = p.exponent < 1
        shift = (1 - p.exponent)[: (1 - lowest).bit_length()]
        p.found, p.lost = shift_right(p.module, found, shift & p.tiny.replicate(len(shift)))
        p.cut(2 * size.bit_length())
        rounded = increment(p.module, p.found[1:size], p.found[0] & (p.found[1] | p.lost | p.inexact))
        field = p.exponent[: fmt.exponent_bits] & (~p.tiny).replicate(fmt.exponent_bits)
        magnitude = Cat(rounded[:-1], field[0] | rounded[-1], field[1:])
    p.magnitude = magnitude
    p.cut(2 + 2 * size.bit_length())
    return pack(p.sign, p.magnitude, fmt=fmt, nan=p.nan, infinite=p.infinite, zero=p.zero)


class IterativeSquareRoot(wiring.Component):
    """Square root unit that computes one root at a time, some of its bits in each clock cycle.

    The results equal the results of :func:`square_root`. Each cycle appends ``bits_per_cycle`` bits, with as many rows
    of the restoring recurrence. It ends when the root's leading one has reached its place. So a subnormal operand needs
    no shifter.

    Timing: with p = ``fmt.precision`` and k = ``bits_per_cycle``, the result is valid

    - one cycle after the operand was taken, if the operand is zero, infinite, NaN or negative;
    - after ``latency = 1 + ceil((p + 1) / k)`` cycles for a normal operand;
    - later by one step for every two leading zeros of a subnormal operand;
    - never after more than ``1 + ceil((p + 1 + p // 2) / k)`` cycles.

    The unit takes the next operand in the cycle in which its result is taken. So ``i.ready`` depends on ``o.ready``
    combinationally. ``o.valid`` and ``o.payload`` depend on registers only. The rounding lies behind these registers.

    Parameters
    ----------
    fmt : :class:`FloatFormat`
    bits_per_cycle : :class:`int`
        1 or more. Bits in excess of ``fmt.precision + 1`` have no effect.
    flush_to_zero : :class:`bool`
        See :func:`square_root`.

    Members
    -------
    i, o : ``In`` and ``Out(stream.Signature(FloatShape(fmt)))``

    Raises
    ------
    :exc:`TypeError`
        If ``fmt`` is not a format or ``bits_per_cycle`` is not an integer.
    :exc:`ValueError`
        If ``bits_per_cycle`` is less than 1.
    """

    def __init__(self, fmt, *, bits_per_cycle=1, flush_to_zero=False):
        self._shape = FloatShape(fmt)
        self._fmt, self._flush_to_zero = fmt, bool(flush_to_zero)
        self._bits = bits_of_cycle(bits_per_cycle, fmt.precision + 1)
        super().__init__({"i": In(stream.Signature(self._shape)), "o": Out(stream.Signature(self._shape))})

    @property
    def latency(self):
        """Clock cycles from a normal operand to its result."""
        return {"result": 1 - -(self._fmt.precision + 1) // self._bits}

    def elaborate(self, platform):
        m = Module()
        fmt, size, ftz = self._fmt, self._fmt.precision, self._flush_to_zero
        x = take_apart(Value.cast(self.i.payload), fmt, flush_to_zero=ftz)
        # Few formats have subnormal square roots: only if the root of the smallest number is subnormal.
        floor = not ftz and (1 - fmt.fraction_bits + fmt.bias) >> 1 < 1

        # As in the divider, digits follow until the leading one is at its place. Each takes two bits of the radicand,
        # which has two bits before the point.
        drawn = 2 * self._bits
        double = x.exponent + fmt.bias
        busy = Signal()
        sign, nan, infinite, zero = (Signal(name=n, reset_less=True) for n in ("sign", "nan", "infinite", "zero"))
        radicand = Signal(max(size + 1 + (size + 1) % 2, drawn), reset_less=True)
        remainder = Signal(size + self._bits + 1, reset_less=True)  # up to twice the root
        root = Signal(size + self._bits, reset_less=True)
        exponent = Signal(
            range(min(1 - 2 * self._bits - size, 0), ((fmt.exponent_max + fmt.bias) >> 1) + size + 2), reset_less=True
        )
        done = Signal()
        ended = root[size:].any() | ((exponent <= 1) if floor else 0)
        m.d.comb += done.eq(busy & (nan | infinite | zero | ended))
        m.d.comb += self.o.valid.eq(done)
        m.d.comb += self.i.ready.eq(~busy | (done & self.o.ready))

        digits: Any
        rest, digits = remainder, []
        for index in range(self._bits):
            end = len(radicand) - 2 * index
            trial = Cat(radicand[end - 2 : end], rest)
            subtrahend = Cat(Const(1, 2), *digits, root)
            less, fits = difference(m, trial, Cat(subtrahend, Const(0, len(trial)))[: len(trial)])
            rest = wire(m, Mux(fits, less, trial)[: len(remainder)], "row")
            digits.insert(0, fits)
        with m.If(self.i.ready):
            aligned = Cat(Mux(double[0], Cat(Const(0, 1), x.significand), Cat(x.significand, Const(0, 1))))
            m.d.sync += [
                busy.eq(self.i.valid),
                sign.eq(x.sign),
                nan.eq(x.nan | (x.sign & ~x.zero)),
                infinite.eq(x.inf),
                zero.eq(x.zero),
                radicand.eq(Cat(Const(0, len(radicand) - len(aligned)), aligned)),
                remainder.eq(0),
                root.eq(0),
                exponent.eq((double >> 1) + (size + 1)),
            ]
        with m.Elif(~done):
            m.d.sync += [
                radicand.eq(radicand << drawn),
                remainder.eq(rest),
                root.eq(Cat(*digits, root)),
                exponent.eq(exponent - self._bits),
            ]

        found, biased, dropped = settle(m, root, exponent, precision=size, floor=floor)
        top = found[size]
        # Without subnormal results there are no ties (see square_root).
        up = found[0] & (found[1] | dropped | nonzero(remainder)) if floor else found[0]
        rounded = increment(m, found[1:size], up)
        field = biased[: fmt.exponent_bits]
        if floor:
            field = field & top.replicate(fmt.exponent_bits)
            field = Cat(field[0] | rounded[-1], field[1:])
        m.d.comb += Value.cast(self.o.payload).eq(
            pack(sign, Cat(rounded[:-1], field), fmt=fmt, nan=nan, infinite=infinite, zero=zero)
        )
        return m
