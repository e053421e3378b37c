"""The exponential of softmax: exp(score - maximum), pipelined."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .aligned import unpack

__all__ = ["SoftmaxExp"]


class SoftmaxExp(wiring.Component):
    """``exp(value - maximum)`` of two numbers with ``maximum >= value``; result in 0..1.

    The difference is taken exactly and truncated to fixed point; the power of two of its multiple of log2 e comes from
    a table of chords (:class:`ExpTable`); the result is rounded once, to nearest even. Error at most 1 ulp, never
    increasing with the difference, exactly 1 at 0. ``value`` -infinity gives 0; NaN, and +infinity minus +infinity,
    give NaN.

    Timing: latency ``LATENCY`` cycles, one result per cycle, never stalls.

    Parameters
    ----------
    score : :class:`FloatFormat`
        Format of the operands.
    table : :class:`ExpTable`
        Constants, and the format of the result.

    Members
    -------
    maximum, value : ``In(score.width)``
    result : ``Out(table.io.width)``
        ``LATENCY`` cycles later.
    """

    LATENCY = 7

    def __init__(self, score, table):
        self._score, self._table = score, table
        super().__init__({
            "maximum": In(score.width),
            "value": In(score.width),
            "result": Out(table.io.width),
        })

    def elaborate(self, platform):
        m = Module()
        fmt, table, io = self._score, self._table, self._table.io

        def register(value, name):
            r = Signal(value.shape(), name=name, reset_less=True)
            m.d.sync += r.eq(value)
            return r

        # Cycle 1: which exponent is larger, and by how much.
        a = unpack(m, self.maximum, fmt, "maximum")
        b = unpack(m, self.value, fmt, "value")
        swap = Signal()
        gap = Signal(fmt.exponent_bits)
        m.d.comb += swap.eq(b.exponent > a.exponent)
        m.d.comb += gap.eq(Mux(swap, b.exponent - a.exponent, a.exponent - b.exponent))
        masked = Signal()
        nan = Signal()
        m.d.comb += masked.eq(b.inf & b.sign)
        m.d.comb += nan.eq(a.nan | b.nan | (a.inf & b.inf & ~masked))
        guard = table.difference_guard(fmt)
        size = fmt.precision + guard
        limit = size.bit_length()
        top_1 = register(Mux(swap, b.exponent, a.exponent), "top_1")
        gap_1 = register(Mux(gap >= size, size, gap)[:limit], "gap_1")
        large_1 = register(Mux(swap, b.significand, a.significand), "large_1")
        small_1 = register(Mux(swap, a.significand, b.significand), "small_1")
        swap_1 = register(swap, "swap_1")
        sign_a_1, sign_b_1 = register(a.sign, "sign_a_1"), register(b.sign, "sign_b_1")
        nan_1 = register(nan, "nan_1")
        zero_1 = register(a.inf | b.inf, "zero_1")

        # Cycle 2: align; what is shifted out of the smaller one stays visible as its last bit. Subtract.
        wide = Signal(2 * size)
        small = Signal(size)
        m.d.comb += wide.eq(Cat(Const(0, size + guard), small_1) >> gap_1)
        m.d.comb += small.eq(wide[size:] | wide[:size].any())
        large = Cat(Const(0, guard), large_1)
        first, second = Signal(size), Signal(size)
        m.d.comb += [first.eq(Mux(swap_1, small, large)), second.eq(Mux(swap_1, large, small))]
        # Never negative: first - second, second - first if both are negative, first + second if the signs differ.
        apart = sign_a_1 ^ sign_b_1
        minuend = Mux(sign_a_1, second, first)
        subtrahend = Mux(sign_a_1, first, second) ^ (~apart).replicate(size)
        total = Cat(~apart, minuend, 0) + Cat(~apart, subtrahend, ~apart)
        difference_2 = register(total[1:size + 2], "difference_2")
        top_2, nan_2, zero_2 = register(top_1, "top_2"), register(nan_1, "nan_2"), register(zero_1, "zero_2")

        # Cycle 3: to fixed point, saturating. `bits` places to the left any difference but 0 saturates.
        bits = table.integer_bits + table.fraction_bits
        place = table.fraction_bits - fmt.bias - fmt.fraction_bits - guard  # left shift = exponent + place
        right = Signal(range(bits + size + 2))
        above = Signal(signed(fmt.exponent_bits + 2))
        m.d.comb += above.eq(bits - (top_2 + place))  # right shift of the difference placed `bits` to the left
        m.d.comb += right.eq(Mux(above < 0, 0, Mux(above > bits + size + 1, bits + size + 1, above)))
        placed = Signal(size + 1 + bits)
        m.d.comb += placed.eq(Cat(Const(0, bits), difference_2) >> right)
        x_3 = register(Mux(placed[bits:].any(), (1 << bits) - 1, placed[:bits]), "x_3")
        nan_3, zero_3 = register(nan_2, "nan_3"), register(zero_2, "zero_3")

        # Cycles 4 and 5: times log2 e, as shifts and additions, half of them in each cycle.
        digits = _signed_digits(table.constant)
        low_4, high_4 = (register(_shifted_sum(x_3, part), name) for part, name in
                         ((digits[:len(digits) // 2], "low_4"), (digits[len(digits) // 2:], "high_4")))
        product = low_4 + high_4
        scaled_5 = register(product[table.constant_bits:bits + table.constant_bits + 1], "scaled_5")
        nan_5, zero_5 = register(register(nan_3, "nan_4"), "nan_5"), register(register(zero_3, "zero_4"), "zero_5")

        # Cycle 6: the chord.
        low_bits = table.fraction_bits - table.index_bits
        fraction, whole = scaled_5[:table.fraction_bits], scaled_5[table.fraction_bits:]
        start = Signal(range(table.values[0] + 1))
        slope = Signal(range(max(table.slopes) + 1))
        with m.Switch(fraction[low_bits:]):
            for index, (value, step) in enumerate(zip(table.values, table.slopes, strict=False)):
                with m.Case(index):
                    m.d.comb += [start.eq(value), slope.eq(step)]
        start_6 = register(start, "start_6")
        fall_6 = register((slope * fraction[:low_bits])[low_bits:], "fall_6")
        whole_6, nan_6, zero_6 = register(whole, "whole_6"), register(nan_5, "nan_6"), register(zero_5, "zero_6")

        # Cycle 7: to the result's grid (below the normal range it stops following the exponent), and round.
        value = Signal(range(table.values[0] + 1))
        m.d.comb += value.eq(start_6 - fall_6)
        normal = io.bias - 2
        drop = table.value_bits - io.precision
        below = Signal(range(table.value_bits + 2))
        small_exponent = Signal()
        m.d.comb += small_exponent.eq(whole_6 > normal)
        m.d.comb += below.eq(Mux(small_exponent, Mux(whole_6 - normal > table.value_bits + 1, table.value_bits + 1,
                                                     whole_6 - normal), 0))
        reach = table.value_bits + 1
        moved = Signal(len(value) + reach)
        m.d.comb += moved.eq(Cat(Const(0, reach), value) >> below)
        keep = moved[reach + drop:]
        up = moved[reach + drop - 1] & (moved[:reach + drop - 1].any() | keep[0])
        field = Mux(small_exponent, 0, normal - whole_6)[:io.exponent_bits]
        rounded = (Cat(Const(0, io.fraction_bits), field) + keep + up)[:io.width]
        m.d.sync += self.result.eq(Mux(nan_6, io.nan, Mux(zero_6, 0, rounded)))
        return m


def _signed_digits(number):
    """Canonical signed digits of a positive integer: list of (sign, exponent), no two exponents adjacent."""
    digits, place = [], 0
    while number:
        if number & 1:
            sign = 2 - (number & 3)  # 1 or -1, whichever leaves more zeros
            digits.append((sign, place))
            number -= sign
        number >>= 1
        place += 1
    return digits


def _shifted_sum(x, digits):
    """``x`` times the number that ``digits`` stand for; signed."""
    total = Const(0, 1)
    for sign, place in digits:
        term = Cat(Const(0, place), x) if place else x
        total = total + term if sign > 0 else total - term
    return total
