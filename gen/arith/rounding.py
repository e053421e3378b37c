"""Parts that floating-point operators share: taking operands apart, shifts, the last increment, packing."""

from dataclasses import dataclass

from amaranth import *

from ...constraints.core.formats import FloatFormat
from .bits import wire

__all__ = [
    "Operand",
    "all_ones_below",
    "check_operands",
    "gated",
    "incremented",
    "pack",
    "shift_left",
    "shift_right",
    "take_apart",
]


def check_operands(fmt, **operands):
    """The operands as values. Each must be as wide as the format.

    Raises
    ------
    :exc:`TypeError`
        If the format is not a :class:`FloatFormat`.
    :exc:`ValueError`
        If an operand is not as wide as the format.
    """
    if not isinstance(fmt, FloatFormat):
        raise TypeError(f"Format must be a FloatFormat, not {fmt!r}")
    values = []
    for name, operand in operands.items():
        value = Value.cast(operand)
        if len(value) != fmt.width:
            raise ValueError(f"Operand {name} must be {fmt.width} bits wide as {fmt.name} is, not {len(value)}")
        values.append(value)
    return values


@dataclass(frozen=True)
class Operand:
    """Signals of a number: its fields, and flags of these fields.

    Attributes
    ----------
    sign : 1 bit
    exponent, fraction : the fields
    normal : 1 bit
        The exponent is not 0. This is the implicit bit.
    empty : 1 bit
        The fraction is 0.
    top : 1 bit
        The exponent is all ones: the number is an infinity or NaN.
    """

    sign: Value
    exponent: Value
    fraction: Value
    normal: Value
    empty: Value
    top: Value

    @property
    def biased(self):
        """The effective biased exponent: 1 for subnormal numbers."""
        return Cat(self.exponent[0] | ~self.normal, self.exponent[1:])

    @property
    def significand(self):
        return Cat(self.fraction, self.normal)


def gated(bits, enable):
    """The bits if ``enable`` is 1, else zeros. A value without bits stays without bits."""
    return Cat(bit & enable for bit in bits)


def take_apart(m, bits, fmt, name):
    """The :class:`Operand` of a bit pattern."""
    f = fmt.fraction_bits
    fraction, exponent = bits[:f], bits[f : fmt.width - 1]
    return Operand(
        bits[fmt.width - 1],
        exponent,
        fraction,
        wire(m, exponent.any(), f"{name}_normal"),
        wire(m, ~fraction.any(), f"{name}_empty"),
        wire(m, exponent.all(), f"{name}_top"),
    )


def shift_left(m, word, amount, *, low, width, name="shifted"):
    """Bits ``low .. low + width - 1`` of ``word << amount``, and whether a one lies below them.

    Large shifts come first. No stage computes unused bits: bits that can't reach place ``low`` any more go into the
    flag.

    Parameters
    ----------
    word, amount : value
        Above the word there are zeros.

    Returns
    -------
    value of ``width`` bits, and a list of bits; at least one of them is 1 if a one was lost
    """
    lost = []
    bottom, top = 0, low + width  # current range of places of the word
    word = Cat(word, Const(0, max(top - len(word), 0)))[:top]
    for k in reversed(range(len(amount))):
        step, reach = 1 << k, (1 << k) - 1  # shift of this stage; largest shift of all following stages
        new = max(low - reach, bottom)
        here = word[new - bottom :]
        moved = Cat(Const(0, step), word)[max(new - bottom, 0) :][: top - new]
        if new > bottom:
            # Bits below `new` are lost, except the upper `step` bits if this stage moves them up.
            gone = word[: new - bottom]
            stay = gone[: max(0, len(gone) - step)]
            if len(stay):
                lost.append(wire(m, stay.any(), f"{name}_lost{k}_always"))
            lost.append(wire(m, gone[len(stay) :].any() & ~amount[k], f"{name}_lost{k}"))
        word = wire(m, Mux(amount[k], moved, here), f"{name}_{k}")
        bottom = new
    return word[low - bottom :], lost


def shift_right(m, word, amount, *, name="shifted"):
    """``word >> amount``, as wide as the word, and whether a one was shifted out. Small shifts come first."""
    lost = []
    for k in range(len(amount)):
        step = min(1 << k, len(word))
        # Places that no bit has reached so far still hold zeros, so they do not count as lost.
        lost.append(wire(m, amount[k] & word[:step].any(), f"{name}_lost{k}"))
        word = wire(m, Mux(amount[k], Cat(word[step:], Const(0, step)), word), f"{name}_{k}")
    return word, wire(m, Cat(lost).any(), f"{name}_lost")


def all_ones_below(m, bits, *, name="ones"):
    """For every place, and for the place above all bits: whether all bits below it are ones, from a prefix tree.

    These are the places that an increment toggles. Returns a list of ``len(bits) + 1`` bits.
    """
    level = [bits[k] for k in range(len(bits))]
    step = 1
    while step < len(level):
        # Sklansky: every block of `step` places combines with the last place of the block below.
        level = [
            wire(m, bit & level[(k // step) * step - 1], f"{name}_{k}_{step}") if k & step else bit
            for k, bit in enumerate(level)
        ]
        step *= 2
    return [Const(1, 1), *level]


def incremented(m, bits, up, *, name="rounded", fabric="asic"):
    """``bits + up``: the sum and its carry. ``up`` may come late. On an FPGA a carry chain computes it."""
    if fabric == "xilinx":
        total = wire(m, bits + up, name)
        return total[:-1], total[-1]
    *ones, all_ones = all_ones_below(m, bits, name=f"{name}_ones")
    more = wire(m, bits ^ Cat(ones), f"{name}_more")
    return wire(m, Mux(up, more, bits), name), wire(m, up & all_ones, f"{name}_carry")


def pack(sign, exponent, fraction, *, infinite, nan):
    """Bits of a number. ``infinite`` overrides its fields, and must be 1 for a NaN too."""
    clear = ~infinite
    return Cat(
        gated(fraction[:-1], clear),
        (fraction[-1] & clear) | nan,
        exponent | infinite.replicate(len(exponent)),
        sign & ~nan,
    )
