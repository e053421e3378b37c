"""Parts of digit recurrences and conversions, gate by gate: subtract, increment, normalise, shift."""

from dataclasses import dataclass
from typing import Any

from amaranth import *

from ...constraints.core.formats import FloatFormat

__all__ = [
    "Number",
    "difference",
    "increment",
    "nonzero",
    "normalise",
    "pack",
    "prefix",
    "settle",
    "shift_right",
    "take_apart",
    "wire",
]


@dataclass(frozen=True)
class Number:
    """One operand taken apart by :func:`take_apart`. The attributes are values at the place of that call."""

    sign: Value
    exponent: Value
    significand: Value
    zero: Value
    inf: Value
    nan: Value


def take_apart(bits, fmt, *, flush_to_zero=False):
    """Fields of a number: the biased exponent, 1 for subnormals and zeros; the significand with its implicit bit.

    At most one of ``zero``, ``inf`` and ``nan`` is 1. With ``flush_to_zero`` subnormals count as zeros. The implicit
    bit is then a constant 1 for every number, so the significand of a zero is not 0.
    """
    if not isinstance(fmt, FloatFormat):
        raise TypeError(f"Format must be a FloatFormat, not {fmt!r}")
    if len(bits) != fmt.width:
        raise ValueError(f"Operand must have {fmt.width} bits, not {len(bits)}")
    fraction, exponent = bits[: fmt.fraction_bits], bits[fmt.fraction_bits : fmt.width - 1]
    normal, special, empty = exponent.any(), exponent.all(), ~fraction.any()
    if flush_to_zero:
        significand, biased, zero = Cat(fraction, Const(1, 1)), exponent, ~normal
    else:
        significand, biased, zero = Cat(fraction, normal), Cat(exponent[0] | ~normal, exponent[1:]), ~normal & empty
    return Number(bits[fmt.width - 1], biased, significand, zero, special & empty, special & ~empty)


def wire(m, value, name):
    """A named signal for a value that several places use."""
    signal = Signal(value.shape(), name=name)
    m.d.comb += signal.eq(value)
    return signal


def prefix(m, generate, propagate, name="carry"):
    """Carries out of every position: ``c[i] = generate[i] | propagate[i] & c[i - 1]``, without a carry into position 0.

    This is a parallel prefix network of least depth (J. Sklansky, "Conditional-Sum Addition Logic", 1960).
    """
    carries, alive = list(generate), list(propagate)
    span = 1
    while span < len(carries):
        for index in range(len(carries)):
            if index & span:
                below = (index | span - 1) - span  # last position of the block below
                carries[index] = wire(m, carries[index] | alive[index] & carries[below], f"{name}_{index}_{span}")
                if index >= 2 * span:
                    alive[index] = wire(m, alive[index] & alive[below], f"{name}_{index}_{span}_passes")
        span *= 2
    return carries


def difference(m, a, b, name="difference"):
    """``(a - b, a >= b)`` of two unsigned values of equal width. The difference is modulo ``2**width``."""
    if len(a) != len(b):
        raise ValueError(f"Operands must be equally wide, not {len(a)} and {len(b)} bits")
    a, b = wire(m, a, f"{name}_a"), wire(m, b, f"{name}_b")
    same = wire(m, ~(a ^ b), f"{name}_same")
    carries = prefix(
        m,
        [a[0] | ~b[0], *(a[i] & ~b[i] for i in range(1, len(a)))],
        [a[i] | ~b[i] for i in range(len(a))],
        f"{name}_carry",
    )
    return wire(m, ~same[0] if len(a) == 1 else same ^ Cat(Const(1, 1), *carries[:-1]), name), carries[-1]


def increment(m, value, carry, name="increment"):
    """``value + carry``, one bit wider than ``value``. ``carry`` has 1 bit and may come late."""
    value = wire(m, value, f"{name}_value")
    span = 1
    ones = [value[i] for i in range(len(value))]
    while span < len(ones):  # all ones up to each position
        for index in range(len(ones)):
            if index & span:
                ones[index] = wire(m, ones[index] & ones[(index | span - 1) - span], f"{name}_{index}_{span}")
        span *= 2
    carry = wire(m, carry, f"{name}_carry")
    return wire(m, Cat(value, Const(0, 1)) ^ Cat(carry, Cat(*ones) & carry.replicate(len(ones))), name)


def nonzero(value):
    """1 if a value is not 0. A value without bits gives 0."""
    return value.any() if len(value) else Const(0, 1)


def normalise(m, value, fill=None, name="normalise"):
    """``(value << zeros, zeros)`` with ``zeros`` the number of zeros above the leading one; unspecified for 0.

    ``fill`` is the bit that is shifted in, 0 if not given. If it is 1, a value of 0 becomes all ones, shifted by
    ``len(value)`` places. Counting and shifting go together: each stage checks the upper half of the remaining places.
    """
    count: Any = []
    for step in reversed(range((len(value) - 1).bit_length())):
        size = 1 << step
        empty = wire(m, ~value[-size:].any(), f"{name}_zeros_{size}")
        low = (Const(0, 1) if fill is None else fill).replicate(size)
        value = wire(m, Mux(empty, Cat(low, value[:-size]), value), f"{name}_{size}")
        count.insert(0, empty)
    return value, Cat(count) if count else Const(0, 1)


def shift_right(m, value, amount, name="shift"):
    """``(value >> amount, lost)``. ``lost`` is 1 if a one was shifted out. ``amount`` is unsigned, of any size."""
    lost = []
    for step, bit in enumerate(amount):
        size = min(1 << step, len(value))
        lost.append(bit & value[:size].any())
        value = wire(m, Mux(bit, Cat(value[size:], Const(0, size)), value), f"{name}_{1 << step}")
    return value, Cat(lost).any() if lost else Const(0, 1)


def pack(sign, magnitude, *, fmt, nan, infinite, zero):
    """Bits of a result: the first set flag of NaN, infinity and zero, or else ``magnitude`` (exponent and fraction)."""
    keep = ~(nan | infinite | zero)
    special = nan | infinite
    bits = [
        magnitude[i] & keep | (special if i >= fmt.fraction_bits else nan if i == fmt.fraction_bits - 1 else 0)
        for i in range(fmt.width - 1)
    ]
    return Cat(*bits, sign & ~nan)


def settle(m, digits, exponent, *, precision, floor):
    """Shift the digits of a recurrence that gave too many digits to the place where they are rounded.

    The leading one of ``digits`` is at place ``precision`` or above. If ``floor`` is true and the exponent is below 1,
    it may be at any place. ``exponent`` holds for a leading one at ``precision``. Returns three values:

    - ``precision + 1`` digits, the last of which is the guard bit;
    - the exponent that belongs to them, at least 1 with ``floor``;
    - whether ones were dropped.
    """
    spare = len(digits) - precision - 1
    if not spare:
        return digits, exponent, Const(0, 1)
    beyond = wire(
        m,
        Cat(
            *(
                digits[precision + n :].any() | ((exponent < 2 - n) if floor else Const(0, 1))
                for n in range(1, spare + 1)
            )
        ),
        "beyond",
    )
    exact = [~beyond[0], *(here & ~above for here, above in zip(beyond, [*beyond[1:], Const(0, 1)], strict=True))]
    moved = Const(0, precision + 1)
    for n, chosen in enumerate(exact):
        moved = moved | digits[n : n + precision + 1] & chosen.replicate(precision + 1)
    dropped = Cat(*(digits[n] & here for n, here in enumerate(beyond))).any()
    return wire(m, moved, "settled"), wire(m, exponent + sum(beyond), "settled_exponent"), dropped
