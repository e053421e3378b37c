"""Binary floating-point formats: the one object that hardware and software share."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BF16", "FORMATS", "FP16", "FP32", "FloatFormat"]


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


FP16 = FloatFormat("fp16", 5, 10)
BF16 = FloatFormat("bf16", 8, 7)
FP32 = FloatFormat("fp32", 8, 23)

FORMATS: dict[str, FloatFormat] = {f.name: f for f in (FP16, BF16, FP32)}
