"""Floating-point formats as shapes: fields in hardware, numbers in waveforms and tests."""

import struct

from amaranth import *
from amaranth.hdl import Shape
from amaranth.lib import data

from ...constraints.core.formats import FloatFormat

__all__ = ["FloatLayout", "FloatShape", "FloatView"]


class _TaggedWidth(int):
    """A width that differs from an equal width of another format. `wiring.connect` compares widths."""

    def __new__(cls, width, tag):
        self = super().__new__(cls, width)
        self.tag = tag
        return self

    def __eq__(self, other):
        return int(self) == int(other) and self.tag == getattr(other, "tag", self.tag)

    def __ne__(self, other):
        return not self == other

    __hash__ = int.__hash__


def _tagged(width, tag):
    shape = Shape(width)
    shape._width = _TaggedWidth(width, tag)
    return shape


class FloatView(data.View):
    """A number in a :class:`FloatShape`. Assigning a number of another format to it is a :exc:`TypeError`."""

    def eq(self, other):
        theirs = other.shape() if isinstance(other, data.View | data.Const) else None
        if isinstance(theirs, FloatShape) and theirs != self.shape():
            raise TypeError(
                f"A number of {theirs.float_format.name} can't be assigned to one of "
                f"{self.shape().float_format.name}; convert it"
            )
        if isinstance(other, int | float) and not isinstance(other, bool):
            other = self.shape().const(other)
        return super().eq(other)


class FloatShape(data.StructLayout):
    """Layout ``{fraction, exponent, sign}``, least significant first, of a :class:`FloatFormat`.

    A Python number is accepted as an initial value. It must be exact in the format. Amaranth's simulator writes such
    signals into waveforms as numbers. Assigning or connecting a signal of another format is an error, even if it has
    the same width. There are deliberately no arithmetic operators, because a unit must decide on rounding and special
    values.
    """

    def __init__(self, fmt):
        if not isinstance(fmt, FloatFormat):
            raise TypeError(f"Format must be a FloatFormat, not {fmt!r}")
        self.float_format = fmt
        super().__init__({"fraction": fmt.fraction_bits, "exponent": fmt.exponent_bits, "sign": 1})

    def __call__(self, target):
        _decoded(target, lambda bits: _number_text(bits, self.float_format))
        return FloatView(self, target)

    def __eq__(self, other):
        if isinstance(other, FloatShape):
            return self.float_format == other.float_format
        return super().__eq__(other)

    __hash__ = None

    def as_shape(self):
        return _tagged(self.size, self.float_format.name)

    def const(self, init):
        if isinstance(init, int | float):
            return data.Const(self, _exact(float(init), self.float_format))
        return super().const(init)

    def __repr__(self):
        return f"FloatShape({self.float_format.name})"


class FloatLayout(data.StructLayout):
    """A structure of numbers, like :class:`data.StructLayout`, but waveforms show the numbers.

    Connecting it to a structure of other formats is an error.
    """

    def __call__(self, target):
        _decoded(
            target,
            lambda bits: " ".join(
                f"{key}={self._text(bits >> field.offset & ((1 << field.width) - 1), field.shape)}"
                for key, field in self
            ),
        )
        return super().__call__(target)

    @staticmethod
    def _text(bits, shape):
        if isinstance(shape, FloatShape):
            return _number_text(bits, shape.float_format)
        if isinstance(shape, data.ArrayLayout):
            width = Shape.cast(shape.elem_shape).width
            return (
                "["
                + ",".join(
                    FloatLayout._text(bits >> width * n & ((1 << width) - 1), shape.elem_shape)
                    for n in range(shape.length)
                )
                + "]"
            )
        return str(bits)

    def as_shape(self):
        return _tagged(self.size, "{" + ", ".join(self._kind(field.shape) for _, field in self) + "}")

    @staticmethod
    def _kind(shape):
        if isinstance(shape, FloatShape):
            return shape.float_format.name
        if isinstance(shape, data.ArrayLayout):
            return f"{FloatLayout._kind(shape.elem_shape)} x {shape.length}"
        return str(Shape.cast(shape).width)


def _number_text(bits, fmt):
    """A bit pattern as readable text: the shortest text that is exact for a double."""
    exponent, fraction = bits >> fmt.fraction_bits & fmt.exponent_max, bits & ((1 << fmt.fraction_bits) - 1)
    sign = "-" if bits & fmt.sign_mask else ""
    if exponent == fmt.exponent_max:
        return "nan" if fraction else f"{sign}inf"
    significand = fraction | (exponent > 0) << fmt.fraction_bits
    return f"{sign}{significand * 2.0 ** (max(exponent, 1) - fmt.bias - fmt.fraction_bits)!r}"


def _decoded(target, text):
    """Let the simulator write a signal into waveforms as ``text(bits)``."""
    if isinstance(target, Signal) and getattr(target, "_decoder", text) is None:
        target._decoder = text


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
