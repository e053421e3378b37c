"""Floating-point formats as shapes: fields in hardware, numbers in tests."""

import struct

from amaranth import *
from amaranth.lib import data

from ...constraints.formats import FloatFormat

__all__ = ["FloatShape"]


class FloatShape(data.StructLayout):
    """Layout ``{fraction, exponent, sign}``, least significant first, of a :class:`FloatFormat`.

    A Python number is accepted wherever an initial value is and must be exact in the format. There are deliberately no
    arithmetic operators: rounding and special values are decisions of a unit, not of a shape.
    """

    def __init__(self, fmt):
        if not isinstance(fmt, FloatFormat):
            raise TypeError(f"Format must be a FloatFormat, not {fmt!r}")
        self.float_format = fmt
        super().__init__({"fraction": fmt.fraction_bits, "exponent": fmt.exponent_bits, "sign": 1})

    def const(self, init):
        if isinstance(init, (int, float)):
            return data.Const(self, _exact(float(init), self.float_format))
        return super().const(init)

    def __repr__(self):
        return f"FloatShape({self.float_format.name})"


def _exact(value, fmt):
    """Bits of ``value`` in ``fmt``; :exc:`ValueError` if it would have to be rounded."""
    wide = struct.unpack("<Q", struct.pack("<d", value))[0]
    sign, exponent, fraction = wide >> 63, (wide >> 52 & 0x7FF) - 1023 + fmt.bias, wide & ((1 << 52) - 1)
    if value == 0:
        return sign << (fmt.width - 1)
    if value in (float("inf"), float("-inf")):
        return fmt.infinity | sign << (fmt.width - 1)
    drop = 52 - fmt.fraction_bits
    if value != value or not 0 < exponent < fmt.exponent_max or fraction & ((1 << drop) - 1):
        raise ValueError(f"Initial value must be a normal number of {fmt.name}, not {value!r}")
    return sign << (fmt.width - 1) | exponent << fmt.fraction_bits | fraction >> drop
