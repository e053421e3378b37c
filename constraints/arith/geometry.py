"""Geometry of the shared arithmetic: widths and tables that a generator and its functional model must agree on."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

from ..core.formats import FloatFormat

__all__ = ["EXACT", "AlignedWindow", "DotWindow", "ExpTable", "SumWindow", "dot_window"]

#: Bits of a window in which nothing is ever cut.
EXACT = None


@dataclass(frozen=True)
class AlignedWindow:
    """Geometry of an aligned accumulator: a two's complement integer and an exponent that only grows.

    Attributes
    ----------
    io : format of the factors
    precision, guard : bits of the window: a term at the running exponent has its leading bit at ``precision + guard - 1``
    terms : largest number of terms ever added (headroom)
    result : format of the rounded result; it sets the lowest running exponent
    """

    io: FloatFormat
    precision: int
    guard: int
    terms: int
    result: FloatFormat

    @property
    def magnitude_bits(self) -> int:
        return self.precision + self.guard

    @property
    def width(self) -> int:
        """Bits of the accumulator, sign included."""
        return self.magnitude_bits + max(self.terms - 1, 1).bit_length() + 1

    @property
    def left(self) -> int:
        """Left shift of a product at the running exponent (negative: a right shift)."""
        return self.magnitude_bits - 2 * self.io.precision

    @property
    def unit(self) -> int:
        """The accumulator's last bit weighs ``2**(exponent + unit)``."""
        return -2 * self.io.bias - 2 * self.io.fraction_bits - self.left

    @property
    def floor(self) -> int:
        """Lowest running exponent: at it, the window's top bit is the smallest normal number of ``result``.

        Bits below that window are far below the grid of ``result``, and the final shift only goes left.
        """
        return max(0, 1 - self.result.bias - (self.width - 2) - self.unit)


@dataclass(frozen=True)
class SumWindow:
    """Geometry of a fixed-point sum of numbers in 0..1 (probabilities): ``precision + guard`` fraction bits."""

    io: FloatFormat
    precision: int
    guard: int
    terms: int
    result: FloatFormat

    @property
    def fraction_bits(self) -> int:
        return self.precision + self.guard

    @property
    def width(self) -> int:
        """Bits of the unsigned sum."""
        return self.fraction_bits + self.terms.bit_length()


@dataclass(frozen=True)
class ExpTable:
    """Constants of the exponential of a difference that is never positive.

    The operand ``x`` is unsigned fixed point (``integer_bits``.``fraction_bits``), and ``exp(-x)`` is
    ``2**-(x * log2 e)``. The product has an integer part, which is an exponent, and a fraction. The fraction's power
    comes from a table of ``2**index_bits`` chords. Neighbouring chords meet, so the result never increases with x, and
    exp(0) is exactly 1.

    Attributes
    ----------
    io : format of the result
    """

    io: FloatFormat

    #: Index bits of the table: a chord over 1/32 is at most 2**-14 above the power.
    index_bits = 5
    #: Fraction bits of the constant log2 e.
    constant_bits = 18
    #: Fraction bits of table values.
    value_bits = 16

    @property
    def integer_bits(self) -> int:
        """Bits for the largest x whose exponential is not 0."""
        return math.ceil((self.io.bias + self.io.precision) * math.log(2)).bit_length()

    @property
    def fraction_bits(self) -> int:
        return self.io.precision + 5

    def difference_guard(self, score: FloatFormat) -> int:
        """Guard bits below a score's last bit in the subtraction of a score from the maximum.

        Bits that the alignment shifts out beyond them must lie below the fixed point's last bit. It shifts bits out
        only if the exponents differ by more than the guard bits. The difference is then over 3/4 of the larger power of
        two, so it saturates if that power is above ``2**integer_bits``.
        """
        return max(2, self.integer_bits + self.fraction_bits + 1 - score.fraction_bits)

    @property
    def constant(self) -> int:
        return round(math.log2(math.e) * (1 << self.constant_bits))

    @property
    def values(self) -> list[int]:
        """``2**-(i / 2**index_bits)`` in units of ``2**-value_bits``, with the end point."""
        return [round(2.0 ** (self.value_bits - i / (1 << self.index_bits))) for i in range((1 << self.index_bits) + 1)]

    @property
    def slopes(self) -> list[int]:
        return [a - b for a, b in zip(self.values[:-1], self.values[1:], strict=True)]


@dataclass(frozen=True)
class DotWindow:
    """Geometry of a fused dot product, which adds products and an optional addend as integers and rounds once.

    Every term is aligned to the window, whose last bit weighs ``2**(exponent + unit)``. A term at ``exponent`` has its
    leading bit at ``bits - 1``. A product of factors below the square root of 2 has its leading bit one lower. A finite
    window moves with the largest term. The exact window stands still and holds every bit that a term can have.

    An exponent here is the exponent of a product: the sum of the factors' biased exponents, which are 1 for subnormals
    and zeros.

    Attributes
    ----------
    fmt, result : format of the factors; of the addend and the result
    lanes : products added at a time
    bits : bits kept of the largest term; :data:`EXACT`: all of every term
    addend : whether a number of format ``result`` is added too
    beats : how often products are added before the one rounding (headroom)

    Raises
    ------
    :exc:`ValueError`
        If a number is below 1, or ``bits`` below 2.
    """

    fmt: FloatFormat
    result: FloatFormat
    lanes: int
    bits: int | None
    addend: bool = False
    beats: int = 1

    def __post_init__(self) -> None:
        for name, least in (("lanes", 1), ("beats", 1), ("bits", 2)):
            value = getattr(self, name)
            if value is not EXACT and (isinstance(value, bool) or value < least):
                raise ValueError(f"{name.capitalize()} must be {least} or more, not {value!r}")

    @property
    def exact(self) -> bool:
        return self.bits is EXACT

    @property
    def terms(self) -> int:
        return self.lanes * self.beats + self.addend

    @property
    def floor(self) -> int:
        """Lowest exponent of a finite window: at it, the window's top bit is the smallest normal number of ``result``.

        Normalisation therefore shifts the sum only to the left. If the window has at least the precision of ``result``,
        no addend loses a bit to this floor.
        """
        return 2 * self.fmt.bias - self.result.bias

    @property
    def largest(self) -> int:
        """Largest exponent of a product."""
        return 2 * (self.fmt.exponent_max - 1)

    @property
    def addend_offset(self) -> int:
        """An addend whose biased exponent is e is aligned as a product of exponent ``e + addend_offset``: its leading
        bit is at the top of the window."""
        return self.floor - 1

    @property
    def top(self) -> int:
        """Exponent of the exact window."""
        return max(self.largest, self.result.exponent_max - 1 + self.addend_offset if self.addend else 0)

    @property
    def magnitude_bits(self) -> int:
        """Bits of a term. In an exact window they reach from the top of the largest term to the last bit of the
        smallest."""
        if self.bits is not None:
            return self.bits
        product = self.top - 2 + 2 * self.fmt.precision
        addend = self.top - 1 - self.addend_offset + self.result.precision if self.addend else 0
        return max(product, addend)

    @property
    def width(self) -> int:
        """Bits of the sum, sign included."""
        return self.magnitude_bits + (self.terms - 1).bit_length() + 1

    @property
    def left(self) -> int:
        """Left shift of a product at ``exponent`` (negative: a right shift)."""
        return self.magnitude_bits - 2 * self.fmt.precision

    @property
    def addend_left(self) -> int:
        """Left shift of an addend at ``exponent`` (negative: a right shift)."""
        return self.magnitude_bits - self.result.precision

    @property
    def unit(self) -> int:
        """The last bit weighs ``2**(exponent + unit)``."""
        return -2 * self.fmt.bias - 2 * self.fmt.fraction_bits - self.left


def dot_window(
    fmt: FloatFormat,
    result: FloatFormat,
    lanes: int,
    window: int | str | None = None,
    *,
    addend: bool = False,
    beats: int = 1,
) -> DotWindow:
    """Geometry for a ``window`` as users write it: bits, ``"exact"``, or None for the precision of ``result`` and three
    guard bits.

    Raises
    ------
    :exc:`TypeError`
        If a format is not a :class:`FloatFormat`.
    :exc:`ValueError`
        If ``window`` is neither a number of bits nor ``"exact"``, or a number is too small (see :class:`DotWindow`).
    """
    for name, value in (("Format", fmt), ("Format of the result", result)):
        if not isinstance(value, FloatFormat):
            raise TypeError(f"{name} must be a FloatFormat, not {value!r}")
    bits: int | None
    if window is None:
        bits = result.precision + 3
    elif window == "exact":
        bits = EXACT
    elif isinstance(window, str | bool | float):
        raise ValueError(f"Window must be a number of bits or 'exact', not {window!r}")
    else:
        bits = operator.index(window)
    return DotWindow(fmt, result, operator.index(lanes), bits, bool(addend), operator.index(beats))
