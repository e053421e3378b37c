"""Parts of aligned accumulation: unpacking numbers, and the one rounding at the end."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Rounder", "Unpacked", "leading_zeros", "unpack"]


@dataclass(frozen=True)
class Unpacked:
    """Signals of one number taken apart (see :func:`unpack`)."""

    sign: Signal
    exponent: Signal
    significand: Signal
    zero: Signal
    inf: Signal
    nan: Signal


def unpack(m, bits, fmt, name):
    """Take a number apart, combinationally.

    The exponent is biased; it is 1 for subnormals and zeros. The significand includes its implicit bit. At most one of
    ``zero``, ``inf`` and ``nan`` is 1.
    """
    fraction = bits[: fmt.fraction_bits]
    exponent = bits[fmt.fraction_bits : fmt.width - 1]
    u = Unpacked(
        Signal(name=f"{name}_sign"),
        Signal(fmt.exponent_bits, name=f"{name}_exponent"),
        Signal(fmt.precision, name=f"{name}_significand"),
        *(Signal(name=f"{name}_{x}") for x in ("zero", "inf", "nan")),
    )
    normal = Signal(name=f"{name}_normal")
    empty = Signal(name=f"{name}_empty")
    special = Signal(name=f"{name}_special")
    m.d.comb += [
        normal.eq(exponent.any()),
        empty.eq(~fraction.any()),
        special.eq(exponent.all()),
        u.sign.eq(bits[fmt.width - 1]),
        u.exponent.eq(Cat(exponent[0] | ~normal, exponent[1:])),
        u.significand.eq(Cat(fraction, normal)),
        u.zero.eq(~normal & empty),
        u.inf.eq(special & empty),
        u.nan.eq(special & ~empty),
    ]
    return u


def leading_zeros(value):
    """Number of zeros above the highest one, as a value. For 0 it is the width.

    A tree counts over the width and a one below it, padded to a power of two.
    """
    size = 1 << max(len(value), 1).bit_length()
    padded = Cat(Const(0, size - len(value) - 1), Const(1, 1), value)

    def count(bits):
        if len(bits) == 2:
            return ~bits[1], bits.any()
        half = len(bits) // 2
        low, low_any = count(bits[:half])
        high, high_any = count(bits[half:])
        return Cat(Mux(high_any, high, low), ~high_any), low_any | high_any

    return count(padded)[0]


class Rounder(wiring.Component):
    """Round an integer times a power of two to a format: to nearest, ties to even.

    The value is ``value * 2**(exponent + unit)``. Its top bit must never weigh less than the smallest normal number of
    the format. ``AlignedWindow.floor`` ensures this. So normalising only shifts left, and results below the normal
    range are still rounded on the subnormal grid. A value that is too large becomes an infinity. 0 becomes +0.

    Timing: latency ``LATENCY`` cycles, one value per cycle, never stalls.

    Parameters
    ----------
    fmt : :class:`FloatFormat`
    width : :class:`int`
        Bits of ``value``, sign included.
    exponent_max : :class:`int`
        Largest value of ``exponent``.
    unit : :class:`int`
    floor : :class:`int`
        Smallest value of ``exponent``.

    Members
    -------
    value : ``In(signed(width))``
    exponent : ``In(range(exponent_max + 1))``
    nan, positive, negative : ``In(1)``
        Flags that override the value: a NaN, +infinity or -infinity was added. Both infinities together give NaN.
    bits : ``Out(fmt.width)``
        The result, ``LATENCY`` cycles later.

    Raises
    ------
    :exc:`ValueError`
        If the top bit of the smallest value lies below the normal range.
    """

    LATENCY = 2

    def __init__(self, fmt, *, width, exponent_max, unit, floor=0):
        self._fmt, self._width, self._unit = fmt, width, unit
        if width - 2 + floor + unit + fmt.bias < 1:
            raise ValueError(
                f"Top bit must not lie below the normal range of {fmt.name}, not at 2**{width - 2 + floor + unit}"
            )
        self._exponent_max = exponent_max
        super().__init__(
            {
                "value": In(signed(width)),
                "exponent": In(range(max(exponent_max, 1) + 1)),
                "nan": In(1),
                "positive": In(1),
                "negative": In(1),
                "bits": Out(fmt.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        fmt, size = self._fmt, self._width - 1

        # A negative value is complemented, not negated, so a one in the last place is missing. Rounding the complement
        # with ones shifted in below it gives the same result (see the condition for `up`).
        # Cycle 1: distance of the left shift, to the leading bit or to exponent 1.
        negative = self.value[-1]
        magnitude = Signal(size)
        zeros = Signal(range(size + 1))
        m.d.comb += magnitude.eq(self.value[:size] ^ negative.replicate(size))
        m.d.comb += zeros.eq(leading_zeros(magnitude))
        top_max = size - 1 + self._exponent_max + self._unit + fmt.bias
        # Biased exponent if the top bit is the leading one.
        top = Signal(range(max(top_max, fmt.exponent_max, size) + 1))
        shift = Signal(range(size + 1))
        m.d.comb += top.eq(self.exponent + (size - 1 + self._unit + fmt.bias))
        m.d.comb += shift.eq(Mux(zeros < top, zeros, top - 1))

        r_magnitude = Signal(size, reset_less=True)
        r_shift = Signal(shift.shape(), reset_less=True)
        r_field = Signal(top.shape(), reset_less=True)
        r_fill = Signal(reset_less=True)
        r_sign = Signal(reset_less=True)
        r_nan = Signal(reset_less=True)
        r_inf = Signal(reset_less=True)
        m.d.sync += [
            r_magnitude.eq(magnitude),
            r_shift.eq(shift),
            r_field.eq(top - shift),
            r_fill.eq(negative),
            r_nan.eq(self.nan | (self.positive & self.negative)),
            r_inf.eq(self.positive | self.negative),
            r_sign.eq(Mux(self.positive | self.negative, self.negative, negative)),
        ]

        # Cycle 2: shift, round, and let the carry step into the exponent.
        reach = 1 << len(r_shift)
        pad = max(fmt.precision + 2 - size, 0)
        normal = Signal(size + pad)
        moved = Cat(r_fill.replicate(reach), r_magnitude) << r_shift
        m.d.comb += normal.eq(Cat(r_fill.replicate(pad), moved[reach : reach + size]))
        low = size + pad - fmt.precision
        guard, rest, even = normal[low - 1], normal[: low - 1], normal[low]
        up = Signal()
        # With the missing one added, a remainder of all ones carries, and the tie is 0111...
        m.d.comb += up.eq(Mux(r_fill, guard | (rest.all() & even), guard & (rest.any() | even)))
        field = Signal(top.shape())
        m.d.comb += field.eq(Mux(normal[-1], r_field, 0))
        packed = Signal(len(field) + fmt.fraction_bits + 1)
        m.d.comb += packed.eq(Cat(normal[low:-1], field) + up)
        infinite = Signal()
        m.d.comb += infinite.eq(r_inf | (packed[fmt.fraction_bits :] >= fmt.exponent_max))
        with m.If(r_nan):
            m.d.sync += self.bits.eq(fmt.nan)
        with m.Elif(infinite):
            m.d.sync += self.bits.eq(Cat(Const(fmt.infinity, fmt.width - 1), r_sign))
        with m.Else():
            m.d.sync += self.bits.eq(Cat(packed[: fmt.width - 1], r_sign))
        return m
