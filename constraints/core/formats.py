"""Binary floating-point formats: the one object that hardware and software share."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import ConfigError, nearest

__all__ = ["BF16", "FORMATS", "FP16", "FP32", "FloatFormat", "IntegerFormat", "float_format", "number_format"]


@dataclass(frozen=True)
class FloatFormat:
    """A binary interchange format after IEEE 754: sign, biased exponent, fraction; with infinities and NaN.

    Attributes
    ----------
    name : :class:`str`
        Name on the command line.
    exponent_bits, fraction_bits : :class:`int`
        Width of the biased exponent and of the stored fraction.
    """

    name: str
    exponent_bits: int
    fraction_bits: int

    @property
    def width(self) -> int:
        """Bits of one number."""
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def precision(self) -> int:
        """Bits of a significand, the implicit one included."""
        return self.fraction_bits + 1

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def exponent_max(self) -> int:
        """The all-ones biased exponent of infinities and NaN."""
        return (1 << self.exponent_bits) - 1

    @property
    def lsb_exponent(self) -> int:
        """Exponent of the weight of the last fraction bit of a subnormal: the smallest positive number is 2**this."""
        return 1 - self.bias - self.fraction_bits

    @property
    def sign_mask(self) -> int:
        return 1 << (self.width - 1)

    @property
    def infinity(self) -> int:
        """Bits of +infinity."""
        return self.exponent_max << self.fraction_bits

    @property
    def negative_infinity(self) -> int:
        return self.infinity | self.sign_mask

    @property
    def nan(self) -> int:
        """Bits of the canonical quiet NaN."""
        return self.infinity | 1 << (self.fraction_bits - 1)

    @property
    def largest(self) -> int:
        """Bits of the largest finite number."""
        return self.infinity - 1

    @property
    def smallest_normal(self) -> int:
        """Bits of the smallest normal number."""
        return 1 << self.fraction_bits


FP16 = FloatFormat("fp16", 5, 10)
BF16 = FloatFormat("bf16", 8, 7)
FP32 = FloatFormat("fp32", 8, 23)

FORMATS: dict[str, FloatFormat] = {f.name: f for f in (FP16, BF16, FP32)}

#: Widths that the arithmetic is defined for: a product of two significands, shifted by their precision, fits 64 bits.
EXPONENT_BITS, FRACTION_BITS = range(2, 12), range(1, 28)


def float_format(name: str) -> FloatFormat:
    """A format by name: ``fp16``, ``bf16``, ``fp32``, or ``e5m2`` and the like for any width of exponent and fraction.

    All are encoded as IEEE 754 says, with infinities and NaN. Names of the same encoding give the same format.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such format.
    """
    if name in FORMATS:
        return FORMATS[name]
    match = re.fullmatch(r"e(\d{1,2})m(\d{1,2})", name)
    if not match or int(match[1]) not in EXPONENT_BITS or int(match[2]) not in FRACTION_BITS:
        raise ConfigError(
            nearest("format", name, FORMATS) + f", or eEmF with E in {EXPONENT_BITS[0]}..{EXPONENT_BITS[-1]} "
            f"and F in {FRACTION_BITS[0]}..{FRACTION_BITS[-1]}"
        )
    exponent_bits, fraction_bits = int(match[1]), int(match[2])
    for known in FORMATS.values():
        if (known.exponent_bits, known.fraction_bits) == (exponent_bits, fraction_bits):
            return known
    return FloatFormat(f"e{exponent_bits}m{fraction_bits}", exponent_bits, fraction_bits)


@dataclass(frozen=True)
class IntegerFormat:
    """Integers in two's complement, or without sign."""

    width: int
    signed: bool

    @property
    def name(self) -> str:
        return f"{'i' if self.signed else 'u'}{self.width}"


#: Widths of integers that numbers are converted from and to.
INTEGER_BITS = range(2, 65)


def number_format(name: str) -> FloatFormat | IntegerFormat:
    """A floating-point format by name, or integers: ``i32`` with sign, ``u16`` without."""
    match = re.fullmatch(r"([iu])(\d{1,2})", name)
    if not match:
        return float_format(name)
    if int(match[2]) not in INTEGER_BITS:
        raise ConfigError(f"integers must have {INTEGER_BITS[0]}..{INTEGER_BITS[-1]} bits, not {match[2]}")
    return IntegerFormat(int(match[2]), match[1] == "i")
