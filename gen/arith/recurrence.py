"""Pieces of digit recurrences and conversions, gate by gate: subtract, increment, normalise, shift."""

from dataclasses import dataclass

from amaranth import *

__all__ = ["Number", "difference", "increment", "nonzero", "normalise", "pack", "prefix", "shift_right",
           "take_apart"]


@dataclass(frozen=True)
class Number:
    """One operand taken apart by :func:`take_apart`; attributes are values of the place where that happened."""

    sign: Value
    exponent: Value
    significand: Value
    zero: Value
    inf: Value
    nan: Value


def take_apart(bits, fmt, *, flush_to_zero=False):
    """Fields of a number: biased exponent, 1 for subnormals and zeros; significand with its implicit bit.

    ``zero``, ``inf`` and ``nan`` are exclusive. With ``flush_to_zero`` subnormals are zeros, and the implicit bit is a
    constant 1, whatever the number: the significand of a zero is not 0 then.
    """
    fraction, exponent = bits[:fmt.fraction_bits], bits[fmt.fraction_bits:fmt.width - 1]
    normal, special, empty = exponent.any(), exponent.all(), ~fraction.any()
    if flush_to_zero:
        significand, biased, zero = Cat(fraction, Const(1, 1)), exponent, ~normal
    else:
        significand, biased, zero = Cat(fraction, normal), Cat(exponent[0] | ~normal, exponent[1:]), ~normal & empty
    return Number(bits[fmt.width - 1], biased, significand, zero, special & empty, special & ~empty)


def prefix(generate, propagate):
    """Carries out of every position: ``c[i] = generate[i] | propagate[i] & c[i - 1]``, with none below position 0.

    A parallel prefix network of least depth (Sklansky, IRE Transactions on Electronic Computers, 1960).
    """
    carries, alive = list(generate), list(propagate)
    span = 1
    while span < len(carries):
        for index in range(len(carries)):
            if index & span:
                below = (index | span - 1) - span  # last position of the block below
                carries[index] = carries[index] | alive[index] & carries[below]
                if index >= 2 * span:
                    alive[index] = alive[index] & alive[below]
        span *= 2
    return carries


def difference(a, b):
    """``(a - b, a >= b)`` of two unsigned values of one width; the first modulo that width."""
    if len(a) != len(b):
        raise ValueError(f"Operands must be equally wide, not {len(a)} and {len(b)} bits")
    kept = [a[i] | ~b[i] for i in range(len(a))]
    carries = prefix([a[0] | ~b[0], *(a[i] & ~b[i] for i in range(1, len(a)))], kept)
    same = [a[i] ^ ~b[i] for i in range(len(a))]
    return Cat(~same[0], *(s ^ c for s, c in zip(same[1:], carries[:-1], strict=True))), carries[-1]


def increment(value, carry):
    """``value + carry``, one bit wider than ``value``; ``carry`` is 1 bit and may come late."""
    span = 1
    ones = [value[i] for i in range(len(value))]
    while span < len(ones):  # all ones up to each position
        for index in range(len(ones)):
            if index & span:
                ones[index] = ones[index] & ones[(index | span - 1) - span]
        span *= 2
    return Cat(value[0] ^ carry, *(value[i] ^ (ones[i - 1] & carry) for i in range(1, len(value))), ones[-1] & carry)


def nonzero(value):
    """1 if a value is not 0; also of no bits."""
    return value.any() if len(value) else Const(0, 1)


def normalise(value, fill=None):
    """``(value << zeros, zeros)``, ``zeros`` the number of zeros above the leading one; unspecified for 0.

    ``fill`` is the bit that is shifted in, 0 if not given. With a 1, a value of 0 becomes all ones, ``len(value)`` places
    from where it was.

    Shifts as it counts: a stage looks for the upper half of what is left.
    """
    count = []
    for step in reversed(range((len(value) - 1).bit_length())):
        size = 1 << step
        empty = ~value[-size:].any()
        value = Mux(empty, Cat((Const(0, 1) if fill is None else fill).replicate(size), value[:-size]), value)
        count.insert(0, empty)
    return value, Cat(count) if count else Const(0, 1)


def shift_right(value, amount):
    """``(value >> amount, lost)``, ``lost`` 1 if a one was shifted out; ``amount`` is unsigned, of any size."""
    lost = []
    for step, bit in enumerate(amount):
        size = min(1 << step, len(value))
        lost.append(bit & value[:size].any())
        value = Mux(bit, Cat(value[size:], Const(0, size)), value)
    return value, Cat(lost).any() if lost else Const(0, 1)


def pack(sign, magnitude, *, fmt, nan, infinite, zero):
    """Bits of a result: a flag, the first of NaN, infinity and zero, or else ``magnitude`` (exponent and fraction)."""
    keep = ~(nan | infinite | zero)
    special = nan | infinite
    bits = [magnitude[i] & keep | (special if i >= fmt.fraction_bits else nan if i == fmt.fraction_bits - 1 else 0)
            for i in range(fmt.width - 1)]
    return Cat(*bits, sign & ~nan)
