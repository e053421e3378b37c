"""Division: unrolled into a pipeline, or iterative with a few rows of gates that give some quotient bits per cycle."""

from operator import index
from typing import Any

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .float_shape import FloatLayout, FloatShape
from .pipeline import operator
from .recurrence import difference, increment, nonzero, normalise, pack, settle, shift_right, take_apart, wire

__all__ = ["IterativeDivider", "divide"]


@operator
def divide(p, a, b, *, fmt, flush_to_zero=False):
    """Quotient ``a / b``, rounded to nearest, ties to even, as IEEE 754 says.

    This is restoring division with one row of gates for each bit of the quotient. The first row finds the leading one.
    Subnormal operands are normalised before the rows. Subnormal results are shifted back after the rows. x / 0 is an
    infinity. 0 / 0 and infinity / infinity are NaN. Every NaN is the canonical quiet NaN.

    Depth: there are places for ``fmt.precision + 5`` registers (``fmt.precision + 2`` with ``flush_to_zero``). Each row
    lies between two places.

    Parameters
    ----------
    p : :class:`Pipeline`, or :class:`Module` (see :func:`operator`)
    a, b : value of ``fmt.width`` bits
        Dividend and divisor.
    fmt : :class:`FloatFormat`
    flush_to_zero : :class:`bool`
        Subnormal operands count as zeros of their sign. A quotient that is below the smallest normal number before
        rounding becomes a zero of its sign. This saves both shifters.

    Returns
    -------
    value of ``fmt.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If ``fmt`` is not a format.
    :exc:`ValueError`
        If an operand is not as wide as the format.
    """
    x, y = (take_apart(v, fmt, flush_to_zero=flush_to_zero) for v in (a, b))
    size = fmt.precision
    p.sign = x.sign ^ y.sign
    p.nan = x.nan | y.nan | (x.zero & y.zero) | (x.inf & y.inf)
    p.infinite = x.inf | y.zero
    p.zero = x.zero | y.inf
    if flush_to_zero:
        p.dividend, p.divisor = x.significand, y.significand
        p.lower = x.exponent - y.exponent + (fmt.bias - 1)
    else:
        p.keep(a_significand=x.significand, b_significand=y.significand, a_exponent=x.exponent, b_exponent=y.exponent)
        p.cut(4)
        for name, operand in (("dividend", p.a_significand), ("divisor", p.b_significand)):
            p[name], p[f"{name}_zeros"] = normalise(p.module, operand, name=f"{name}_normalise")
        p.lower = p.a_exponent - p.b_exponent + (fmt.bias - 1)
        p.cut(4 + 2 * size.bit_length())
        p.lower = p.lower - p.dividend_zeros + p.divisor_zeros

    # The first row finds the leading one of the quotient, which is in 1/2..2.
    direct, p.large = difference(p.module, p.dividend, p.divisor, "direct")
    halved, _ = difference(p.module, Cat(Const(0, 1), p.dividend), Cat(p.divisor, Const(0, 1)), "halved")
    p.remainder = Mux(p.large, direct, halved[:size])
    row = 5 + 2 * size.bit_length()
    p.cut(row)

    # Each further row gives one bit: fraction bits and the guard bit.
    digits: Any = []
    for number in range(size):
        rest, fits = difference(p.module, Cat(Const(0, 1), p.remainder), Cat(p.divisor, Const(0, 1)), f"row_{number}")
        p[f"digit_{number}"] = fits
        p.remainder = Mux(fits, rest[:size], Cat(Const(0, 1), p.remainder[: size - 1]))
        digits.insert(0, f"digit_{number}")
        # The exponent is not urgent: its results are needed only behind the rows.
        if number == 0:
            p.exponent = p.lower + p.large
        elif number == 1:
            p.overflow = p.exponent >= fmt.exponent_max
            p.tiny = p.exponent < 1
            p.field = p.exponent[: fmt.exponent_bits] & (~p.tiny).replicate(fmt.exponent_bits)
            if not flush_to_zero:
                bits = (size + 1).bit_length()
                p.shift = Mux(p.exponent < -size, size + 1, 1 - p.exponent)[:bits] & p.tiny.replicate(bits)
        p.cut(row)

    # A quotient of two significands is never half-way between two numbers, and never rounds up to a power of two. On
    # the grid of the subnormal numbers, both can happen.
    quotient = Cat(*(p[name] for name in digits), Const(1, 1))
    if flush_to_zero:
        p.quotient, p.up = quotient, quotient[0]
    else:
        p.inexact = nonzero(p.remainder)
        p.quotient, p.lost = shift_right(p.module, quotient, p.shift)
        p.cut(2 * size.bit_length())
        p.up = p.quotient[0] & (p.quotient[1] | p.lost | p.inexact)
    rounded = increment(p.module, p.quotient[1:size], p.up)
    p.magnitude = Cat(rounded[:-1], p.field[0] | rounded[-1], p.field[1:])
    p.cut(2 + 2 * size.bit_length())
    return pack(
        p.sign,
        p.magnitude,
        fmt=fmt,
        nan=p.nan,
        infinite=p.infinite | (p.overflow & ~p.zero),
        zero=p.zero | (p.tiny if flush_to_zero else 0),
    )


class IterativeDivider(wiring.Component):
    """Divider that computes one quotient at a time, some of its bits in each clock cycle.

    The results equal the results of :func:`divide`. Each cycle appends ``bits_per_cycle`` bits, with as many rows of
    restoring division. The division ends when the quotient's leading one has reached its place. It also ends when the
    last bit has the weight of the smallest subnormal number. So neither a subnormal dividend nor a subnormal result
    needs a shifter. A subnormal divisor is shifted by one place per cycle.

    Timing: with p = ``fmt.precision`` and k = ``bits_per_cycle``, the result is valid

    - one cycle after the operands were taken, if an operand is NaN, infinite or zero;
    - for normal operands and quotient, after ``1 + ceil((p + 1) / k)`` cycles if the significand of ``a`` is at least
      the significand of ``b``;
    - for other normal operands and quotients, after ``1 + ceil((p + 2) / k)`` cycles, which is ``latency``;
    - sooner for subnormal quotients;
    - later by one cycle for each leading zero of a subnormal divisor;
    - later by one step for each leading zero of a subnormal dividend;
    - never after more than ``p + ceil((2 p + 1) / k)`` cycles.

    The divider takes the next operands in the cycle in which its result is taken. So ``i.ready`` depends on ``o.ready``
    combinationally. ``o.valid`` and ``o.payload`` depend on registers only. The rounding lies behind these registers.

    Parameters
    ----------
    fmt : :class:`FloatFormat`
    bits_per_cycle : :class:`int`
        1 or more. Bits in excess of ``fmt.precision + 2`` have no effect.
    flush_to_zero : :class:`bool`
        See :func:`divide`.

    Members
    -------
    i : ``In(stream.Signature(FloatLayout({"a": FloatShape(fmt), "b": FloatShape(fmt)})))``
        Dividend and divisor.
    o : ``Out(stream.Signature(FloatShape(fmt)))``

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
        self._bits = bits_of_cycle(bits_per_cycle, fmt.precision + 2)
        super().__init__(
            {
                "i": In(stream.Signature(FloatLayout({"a": self._shape, "b": self._shape}))),
                "o": Out(stream.Signature(self._shape)),
            }
        )

    @property
    def latency(self):
        """Largest number of clock cycles from operands to quotient, if all three are normal numbers."""
        return {"result": 1 - -(self._fmt.precision + 2) // self._bits}

    def elaborate(self, platform):
        m = Module()
        fmt, size, ftz = self._fmt, self._fmt.precision, self._flush_to_zero
        payload = Value.cast(self.i.payload)
        x, y = (take_apart(v, fmt, flush_to_zero=ftz) for v in (payload[: fmt.width], payload[fmt.width :]))

        # Digits are shifted into the quotient until its leading one is at its place, or until the exponent has fallen
        # to the exponent of subnormal numbers. So a subnormal dividend need not be normalised, and a subnormal result
        # needs no shift back. `exponent` is the result's exponent if the recurrence ends now.
        lowest = 1 - (fmt.exponent_max - 1) + fmt.bias + size + 1
        highest = fmt.exponent_max - 2 + fmt.bias + size + 1 + size
        busy = Signal()
        sign, nan, infinite, zero = (Signal(name=n, reset_less=True) for n in ("sign", "nan", "infinite", "zero"))
        remainder = Signal(size + 1, reset_less=True)  # below twice the divisor
        divisor = Signal(size, reset_less=True)
        quotient = Signal(size + self._bits, reset_less=True)
        exponent = Signal(range(min(lowest, 0) - self._bits, highest + 1), reset_less=True)
        normal, done = Signal(), Signal()
        m.d.comb += normal.eq(divisor[-1])
        ended = quotient[size:].any() | (0 if ftz else exponent <= 1)
        m.d.comb += done.eq(busy & (nan | infinite | zero | (normal & ended)))
        m.d.comb += self.o.valid.eq(done)
        m.d.comb += self.i.ready.eq(~busy | (done & self.o.ready))

        digits: Any
        rest, digits = remainder, []
        for _ in range(self._bits):
            less, fits = difference(m, rest, Cat(divisor, Const(0, 1)))
            rest = wire(m, Cat(Const(0, 1), Mux(fits, less, rest)[:size]), "row")
            digits.insert(0, fits)
        with m.If(self.i.ready):
            m.d.sync += [
                busy.eq(self.i.valid),
                sign.eq(x.sign ^ y.sign),
                nan.eq(x.nan | y.nan | (x.zero & y.zero) | (x.inf & y.inf)),
                infinite.eq(x.inf | y.zero),
                zero.eq(x.zero | y.inf),
                remainder.eq(x.significand),
                divisor.eq(y.significand),
                quotient.eq(0),
                exponent.eq(x.exponent - y.exponent + (fmt.bias + size + 1)),
            ]
        with m.Elif(~done):
            with m.If(normal):
                m.d.sync += [
                    remainder.eq(rest),
                    quotient.eq(Cat(*digits, quotient)),
                    exponent.eq(exponent - self._bits),
                ]
            with m.Else():
                m.d.sync += [divisor.eq(divisor << 1), exponent.eq(exponent + 1)]

        found, biased, dropped = settle(m, quotient, exponent, precision=size, floor=not ftz)
        top = found[size]
        up = found[0] if ftz else found[0] & (found[1] | dropped | nonzero(remainder))
        rounded = increment(m, found[1:size], up)
        field = biased[: fmt.exponent_bits] & top.replicate(fmt.exponent_bits)
        magnitude = Cat(rounded[:-1], field[0] | rounded[-1], field[1:])
        bits = pack(
            sign,
            magnitude,
            fmt=fmt,
            nan=nan,
            infinite=infinite | (~zero & top & (biased >= fmt.exponent_max)),
            zero=zero | ((biased < 1) if ftz else 0),
        )
        m.d.comb += Value.cast(self.o.payload).eq(bits)
        return m


def bits_of_cycle(bits, most):
    """``bits`` per cycle, at most ``most``. Raises :exc:`TypeError` or :exc:`ValueError` for an invalid number."""
    try:
        bits = index(bits)
    except TypeError:
        raise TypeError(f"Bits per cycle must be an integer, not {bits!r}") from None
    if bits < 1:
        raise ValueError(f"Bits per cycle must be 1 or more, not {bits!r}")
    return min(bits, most)
