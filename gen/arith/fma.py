"""Fused multiply-add: a product and a number, added exactly and rounded once."""

from dataclasses import dataclass
from typing import Any

from amaranth import *
from amaranth.lib import data

from ...constraints.core.formats import FloatFormat
from .bits import AND_OR, CHAIN, XOR, add_rows, compress, leading_zero_count, product_columns, wire
from .pipeline import operator

__all__ = ["add_product", "addend_distance", "exact_product", "fma", "product_layout"]

#: Significands of at least this many bits are multiplied with Booth's recoding, which is then smaller (measured).
BOOTH_PRECISION = 10


@operator
def fma(p, a, b, c, *, fmt, acc=None, flush_to_zero=False):
    """``a * b + c``, rounded once to nearest, ties to even.

    Special values follow IEEE 754: 0 times an infinity and a difference of infinities are NaN, and every NaN is the
    canonical quiet one. An exact sum of 0 is +0 unless product and addend are both negative.

    At depth 0 it is combinational. It has about a dozen places for registers. So a depth up to this number shortens the
    longest path.

    Parameters
    ----------
    a, b : value of ``fmt.width`` bits
        The factors.
    c : value of ``acc.width`` bits
        The addend.
    fmt : :class:`FloatFormat`
        Format of the factors.
    acc : :class:`FloatFormat` or None
        Format of addend and result. Each of its fields may be wider or narrower than in ``fmt``. None: ``fmt``.
    flush_to_zero : bool
        Subnormal operands count as zeros of their sign. A result below the normal range of ``acc`` before rounding
        becomes the zero of its sign.

    Returns
    -------
    value of ``acc.width`` bits

    Raises
    ------
    :exc:`TypeError`
        If a format is not a :class:`FloatFormat`.
    :exc:`ValueError`
        If an operand does not have the width of its format.
    """
    acc = fmt if acc is None else acc
    for what, value in (("Format", fmt), ("Format of the accumulator", acc)):
        if not isinstance(value, FloatFormat):
            raise TypeError(f"{what} must be a FloatFormat, not {value!r}")
    operands = [Value.cast(value) for value in (a, b, c)]
    for name, value, of in zip("abc", operands, (fmt, fmt, acc), strict=True):
        if len(value) != of.width:
            raise ValueError(f"Operand {name} must be {of.width} bits wide as {of.name} is, not {len(value)}")
    window = _Window.of(fmt, acc, bool(flush_to_zero))
    _unpack(p, window, **dict(zip("abc", operands, strict=True)))
    p.beside(lambda p: _multiply(p, window), lambda p: _align(p, window))
    _add(p, window)
    _normalise(p, window)
    return _round(p, window)


def product_layout(fmt, acc):
    """Layout of a product that :func:`exact_product` gives to :func:`add_product`."""
    return data.StructLayout(
        {
            "significand": 2 * fmt.precision,
            "exponent": _Window.of(fmt, acc, False).distance_bits,
            "sign": 1,
            "zero": 1,
            "inf": 1,
            "nan": 1,
        }
    )


@operator
def exact_product(p, a, b, *, fmt, acc, flush_to_zero=False):
    """``a * b``, exact. This is the first part of :func:`fma`, for an addend that comes later.

    Parameters
    ----------
    a, b : value of ``fmt.width`` bits
        ``b`` is recoded (Booth). If many products have one factor in common, it should be ``b``.
    fmt, acc : :class:`FloatFormat`
        Format of the factors; format of the addend.
    flush_to_zero : bool
        Subnormal factors count as zeros.

    Returns
    -------
    value as wide as ``product_layout(fmt, acc)``
    """
    m, window = p.module, _Window.of(fmt, acc, bool(flush_to_zero))
    _fields(p, window, a=Value.cast(a), b=Value.cast(b))
    p.cut(4)
    p.exponent = p.a_exponent + p.b_exponent + window.distance_constant
    _multiply(p, window)
    rows = [[(row[k], 0.0) for row in (p.product_row_0, p.product_row_1)] for k in range(2 * fmt.precision)]
    out = product_layout(fmt, acc)
    p.product = Cat(
        *add_rows(m, rows, name="product_sum", fabric=p.fabric),
        p.exponent[: out["exponent"].width],
        p.a_sign ^ p.b_sign,
        p.a_zero | p.b_zero,
        p.a_inf | p.b_inf,
        p.a_nan | p.b_nan | (p.a_inf & p.b_zero) | (p.a_zero & p.b_inf),
    )
    return p.product


def addend_distance(m, product, c_exponent, *, fmt, acc, flush_to_zero=False, name="", fabric="asic"):
    """A product for :func:`add_product`, with the distance of its addend in place of the exponent.

    ``c_exponent`` is the biased exponent field of the addend, 0 for zeros. It may come a cycle before the addend.
    """
    layout = product_layout(fmt, acc)
    view = data.View(layout, product)
    if not flush_to_zero:
        c_exponent = Cat(c_exponent[0] | ~c_exponent.any(), c_exponent[1:])
    columns = [
        [(value[k], 0.0) for value in (view.exponent, ~c_exponent) if k < len(value)]
        for k in range(layout["exponent"].width)
    ]
    place = layout["exponent"]
    return Cat(
        product[: place.offset],
        *add_rows(m, columns, name=f"{name}distance", fabric=fabric),
        product[place.offset + place.width :],
    )


@operator
def add_product(p, product, c, *, fmt, acc, flush_to_zero=False):
    """``product + c``, rounded once. This is the last part of :func:`fma`.

    Parameters
    ----------
    product : value as wide as ``product_layout(fmt, acc)``
        From :func:`addend_distance`.
    c : value of ``acc.width`` bits
    fmt, acc : :class:`FloatFormat`
        Format of the factors; format of addend and result.
    flush_to_zero : bool
        As in :func:`fma`.

    Returns
    -------
    value of ``acc.width`` bits
    """
    window = _Window.of(fmt, acc, bool(flush_to_zero), early=True)
    view = data.View(product_layout(fmt, acc), product)
    p.keep(
        product_row_0=Cat(view.significand, Const(0, 1)),
        distance=view.exponent[:-1],
        above=view.exponent[-1] | view.zero,
        product_sign=view.sign,
    )
    _fields(p, window, c=Value.cast(c))
    p.subtract = p.product_sign ^ p.c_sign
    p.inf = view.inf | p.c_inf
    p.inf_sign = Mux(p.c_inf, p.c_sign, p.product_sign)
    p.nan = view.nan | p.c_nan | (view.inf & p.c_inf & p.subtract)
    _shift_addend(p, window)
    _add(p, window)
    _normalise(p, window)
    return _round(p, window)


@dataclass(frozen=True)
class _Window:
    """Geometry of the sum: product and addend meet in one fixed-point word.

    The product does not move. Its last bit has place ``guard``. Above its 2 p bits are two more bits, and then room for
    the whole addend. The addend starts at the top and is shifted right by the difference of the exponents. An addend
    that would be further up stays at the top. The product is then less than half of a last place, whether added or
    subtracted. This holds even if the difference has one leading digit less. Bits that are shifted out below the word
    only show that the sum is inexact:

    - Let the product be at least 2**t times its last place, and the sum not much smaller. The last digit of the sum is
      P - 1 places below t, and its rounding digit is one place lower. If the difference loses a digit, one more place
      is needed. P + 1 - t guard bits below the product's last place hold these digits. With normal factors t = 2 p - 2.
    - One subnormal factor: t = p - 1.
    - Two subnormal factors: t = 0. But there the addend has no digits below the grid of the result. This grid may lie
      above the product's last place or not much below it.
    - So an addend that loses bits is smaller than the product, and a negative difference is exact.

    An addend may be shifted by more than its precision (``apart`` in the datapath). The leading digit of the sum is
    then below the product's two extra places, and otherwise there or above. So only ``near`` bits are searched for it,
    either the lowest or the highest ones. The dropped bits can't contain a kept digit or a rounding digit.
    """

    fmt: FloatFormat
    acc: FloatFormat
    flush: bool
    guard: int
    drop: int
    early: bool = False  #: the product comes as one number, before the addend

    @classmethod
    def of(cls, fmt, acc, flush, early=False):
        factor, result = fmt.precision, acc.precision
        guard = max(0, result + 1 - (2 * factor - 2))
        if not flush:
            floor = acc.lsb_exponent - 2 * fmt.lsb_exponent  # of the result's grid above the product's last place
            guard = max(guard, result + 1 - (factor - 1), min(result + 1, -floor))
        # If the addend is not apart, the sum's leading digit is at place 2 p or above. There is no bit below the last
        # places of the sum and of the product.
        lowest = max(2 * factor - result, min(0, 2 * factor + 2 - result))
        return cls(fmt, acc, flush, guard, max(0, min(result, lowest + guard)), early)

    @property
    def low(self):
        """Number of places of the product and below, where the addition happens."""
        return self.guard + 2 * self.fmt.precision

    @property
    def width(self):
        return self.low + 2 + self.acc.precision

    @property
    def near(self):
        return self.width - self.drop

    @property
    def bias(self):
        """Biased exponent of the top place, minus the biased exponents of the factors."""
        return (
            self.acc.bias
            - 2 * self.fmt.bias
            - 2 * self.fmt.fraction_bits
            + 2 * self.fmt.precision
            + 1
            + self.acc.precision
        )

    # Distance of the addend's first digit from the top: ea + eb + bias - ec, where -ec = ~ec + 1 - 2**bits.

    @property
    def distance_constant(self):
        return self.bias + 1 - (1 << self.acc.exponent_bits)

    @property
    def distance_bits(self):
        lowest = 2 + self.bias - (self.acc.exponent_max - 1)
        highest = 2 * (self.fmt.exponent_max - 1) + self.bias
        return max((lowest - 2).bit_length(), highest.bit_length()) + 1


def _fields(p, window, **operands):
    """Fields of the operands a and b (factors) and c (addend)."""
    m = p.module
    flush = window.flush
    for name, bits in operands.items():
        fmt = window.acc if name == "c" else window.fmt
        fraction, exponent = bits[: fmt.fraction_bits], bits[fmt.fraction_bits : fmt.width - 1]
        normal = wire(m, exponent.any(), f"{name}_normal")
        empty = wire(m, ~fraction.any(), f"{name}_empty")
        special = wire(m, exponent.all(), f"{name}_special")
        p.keep(
            **{
                f"{name}_sign": bits[-1],
                # Subnormals have the exponent of the smallest normal numbers. Exponents of zeros do not matter.
                f"{name}_exponent": exponent if flush else Cat(exponent[0] | ~normal, exponent[1:]),
                f"{name}_significand": Cat(fraction & normal.replicate(len(fraction)) if flush else fraction, normal),
                f"{name}_zero": ~normal if flush else ~normal & empty,
                f"{name}_inf": special & empty,
                f"{name}_nan": special & ~empty,
            }
        )


def _unpack(p, window, **operands):
    m = p.module
    _fields(p, window, **operands)
    p.product_sign = p.a_sign ^ p.b_sign
    p.product_zero = p.a_zero | p.b_zero
    p.subtract = p.product_sign ^ p.c_sign
    infinite = wire(m, p.a_inf | p.b_inf, "product_inf")
    p.inf = infinite | p.c_inf
    p.inf_sign = Mux(p.c_inf, p.c_sign, p.product_sign)
    p.nan = (
        p.a_nan | p.b_nan | p.c_nan | (p.a_inf & p.b_zero) | (p.a_zero & p.b_inf) | (infinite & p.c_inf & p.subtract)
    )
    p.cut(4)


def _multiply(p, window):
    """The product as two rows of ``2 p + 1`` bits. Their sum equals the product modulo ``2**(2 p + 1)``."""
    columns = product_columns(
        p,
        p.a_significand,
        p.b_significand,
        booth=window.fmt.precision >= BOOTH_PRECISION,
        total=2 * window.fmt.precision + 1,
    )
    columns = compress(p, columns, name="product", step=8.0)
    for row in (0, 1):
        p[f"product_row_{row}"] = Cat(column[row][0] if row < len(column) else Const(0, 1) for column in columns)


def _align(p, window):
    """Distance of the addend from the top of the window, and the addend shifted by it."""
    columns = []
    for k in range(window.distance_bits):
        late = 0.0 if k else XOR
        columns.append([(value[k], late) for value in (p.a_exponent, p.b_exponent, ~p.c_exponent) if k < len(value)])
        if window.distance_constant >> k & 1:
            columns[-1].append((Const(1, 1), 0.0))
    distance = Cat(add_rows(p.module, compress(p, columns, name="distance"), name="distance", fabric=p.fabric))
    p.above = distance[-1] | p.product_zero
    p.distance = distance[:-1]
    p.cut(10)
    _shift_addend(p, window)


def _shift_addend(p, window):
    """Shift the addend to its place in the window. Compute ``reach``, from its exponent to the top ``near`` place."""
    m = p.module
    precision = window.acc.precision

    # Shift by short distances first, while the word is short. Then shift by all longer distances at once.
    step = 0
    p.shifted = p.c_significand
    while 1 << step < precision - 1:
        if step and not step % 3:
            p.cut(6)
        word = p.shifted
        p.shifted = Mux(p.distance[step], Cat(word, Const(0, 1 << step)), Cat(Const(0, 1 << step), word))
        step += 1
    p.cut(2 * ((step - 1) % 3 + 1))
    word, high = p.shifted, p.distance[step:]
    places: Any
    places, lost = [[] for _ in range(window.width)], []
    choices = min(-(-window.width >> step), 1 << len(high))
    for choice in range(choices):
        chosen = wire(m, (high == choice) & ~p.above, f"shift_by_{choice << step}")
        bottom = window.width - len(word) - (choice << step)
        for k in range(max(-bottom, 0), len(word)):
            places[bottom + k].append(word[k] & chosen)
        if bottom < 0:
            lost.append(word[:-bottom].any() & chosen)
    for k in range(precision):
        places[window.width - precision + k].append(p.c_significand[k] & p.above)
    if choices < 1 << len(high):
        lost.append((high >= choices) & ~p.above & p.c_significand.any())
    p.aligned = Cat(_any(terms) for terms in places)
    p.lost = _any(lost)
    p.apart = ~p.above & (p.distance >= precision + 1)
    p.reach = Mux(
        p.apart, (p.distance - window.drop)[: len(p.distance)], p.distance & ~p.above.replicate(len(p.distance))
    )
    p.cut(8)


def _any(terms):
    """OR of single bits."""
    return Cat(*terms).any() if len(terms) > 1 else terms[0] if terms else Const(0, 1)


def _prefix(size):
    """Pairs (position, position below) to join, level by level, for groups from position 0 to every other position.

    First neighbouring positions are joined. A Ladner-Fischer network of least depth then serves every second position.
    The other positions follow from these.
    """
    levels = [[(k, k - 1) for k in range(1, size, 2)]]
    step = 2
    while step < size:
        levels.append([(k, (k & -step) - 1) for k in range(1, size, 2) if k & step])
        step *= 2
    levels.append([(k, k - 1) for k in range(2, size, 2)])
    return levels


def _ripples(m, bits, name):
    """For each position, whether it and all positions below are 1."""
    ones = list(bits)
    for number, level in enumerate(_prefix(len(ones))):
        for k, below in level:
            ones[k] = wire(m, ones[k] & ones[below], f"{name}_{number}_{k}")
    return Cat(ones)


def _add(p, window):
    """Magnitude of the sum, as the bits of ``near`` places and a sticky bit.

    Subtraction adds the complement of the addend to the product. If this carries out, the product is larger, and the
    difference lacks a one. The carry then goes around, unless the addend lost bits, which were worth a part of that
    one. Without a carry out, the addend is larger, and the difference is the complement of the sum. Above the product
    there are only bits of the addend. A carry is added to them, or a borrow is subtracted from them.
    """
    m, low = p.module, window.low
    p.first = p.c_exponent + p.reach
    if p.fabric == "xilinx":
        _add_in_chains(p, window)
        return
    columns = [[(wire(m, p.aligned[k] ^ p.subtract, f"addend_{k}"), 0.0)] for k in range(low)] + [[]]
    rows = (p.product_row_0,) if window.early else (p.product_row_0, p.product_row_1)
    for k in range(window.guard, low + 1):
        columns[k] += [(row[k - window.guard], 0.0) for row in rows]
    high = p.aligned[low:]
    # A carry ripples up through ones, and a borrow through zeros.
    p.ripple = _ripples(m, high ^ p.subtract.replicate(len(high)), "ripple")
    p.high_zero = ~high.any()
    rows = [[bit for bit, _ in column] for column in compress(p, columns, name="sum")]
    p.generate = Cat(row[0] & row[1] if len(row) == 2 else Const(0, 1) for row in rows)
    p.propagate = Cat(row[0] ^ row[1] if len(row) == 2 else row[0] for row in rows)
    p.cut(9)

    # For each group from place 0 up: whether it carries out, and whether it is all ones.
    p.carries, p.all_ones = p.generate[:low], p.propagate[:low]
    network = _prefix(low)
    for number, level in enumerate(network):
        if number and not number % 3:
            p.cut(3 * AND_OR + 3)
        carries, ones = [*p.carries], [*p.all_ones]
        for k, below in level:
            carries[k] = wire(m, carries[k] | (ones[k] & carries[below]), f"sum_carry_{number}_{k}")
            ones[k] = wire(m, ones[k] & ones[below], f"sum_ones_{number}_{k}")
        p.carries, p.all_ones = Cat(carries), Cat(ones)
    p.carry = p.propagate[low] ^ p.carries[-1]
    p.digits = p.propagate[:low] ^ Cat(Const(0, 1), p.carries[:-1])
    p.small = p.subtract & p.high_zero
    p.large = p.subtract & ~p.high_zero
    p.limit = (p.first - 1)[: len(p.first)]
    p.cut(4 + AND_OR * ((len(network) - 1) % 3 + 1))

    # Digits change where the sum is complemented, and where the carry goes around, up to the first 0.
    p.negative = p.large | (p.small & ~p.carry)
    around = wire(m, p.small & p.carry & ~p.lost, "around")
    change = p.negative.replicate(low) | (Cat(Const(1, 1), p.all_ones[:-1]) & around.replicate(low))
    onward = wire(m, p.carry & ~p.small, "onward")
    high = p.aligned[low:]
    total = Cat(p.digits ^ change, high ^ (Cat(Const(1, 1), p.ripple[:-1]) & onward.replicate(len(high))))
    p.near = Mux(p.apart, total[: window.near], total[window.drop :])
    p.sticky = p.lost | (~p.apart & total[: window.drop].any())
    p.equal = p.small & p.all_ones[-1]
    p.cut(8)


def _add_in_chains(p, window):
    """The same with three carry chains. The first adds the product and the addend. The second lets the carry go around,
    and the third passes it on to the bits above the product."""
    low = window.low
    p.total = ((p.aligned[:low] ^ p.subtract.replicate(low)) + Cat(Const(0, window.guard), p.product_row_0))[: low + 1]
    p.high_zero = ~p.aligned[low:].any()
    p.cut(CHAIN + 4)
    p.carry, p.digits = p.total[low], p.total[:low]
    p.small = p.subtract & p.high_zero
    p.negative = p.subtract & (~p.high_zero | ~p.carry)
    p.limit = (p.first - 1)[: len(p.first)]
    p.cut(4)
    around = p.small & p.carry & ~p.lost
    high, onward = p.aligned[low:], p.carry & ~p.small
    step = Cat(onward, (onward & p.subtract).replicate(len(high) - 1))  # 1, or -1 for a borrow
    total = Cat((p.digits + around)[:low] ^ p.negative.replicate(low), (high + step)[: len(high)])
    p.near = Mux(p.apart, total[: window.near], total[window.drop :])
    p.sticky = p.lost | (~p.apart & total[: window.drop].any())
    p.equal = p.small & p.digits.all()
    p.cut(CHAIN + 4)


def _normalise(p, window):
    """Shift left to the leading digit, or to the place of the smallest normal number if that comes first."""
    m = p.module
    zeros, _ = leading_zero_count(m, p.near, name="zeros")
    p.zeros = zeros
    count = len(zeros)
    p.cut(XOR * count + 1)
    if window.flush:
        p.shift = p.zeros
    else:
        # The smaller of two numbers, from the top digit down, in the order in which the shifter needs the digits.
        below = wire(m, p.limit[count:].any(), "zeros_less")  # known so far: there are fewer zeros
        above = Const(0, 1)
        digits = []
        for k in reversed(range(count)):
            one, other = p.zeros[k], p.limit[k] if k < len(p.limit) else Const(0, 1)
            digits.append((one & (other | below)) | (other & above))
            below, above = (
                wire(m, below | (~above & ~one & other), f"zeros_less_{k}"),
                wire(m, above | (~below & one & ~other), f"zeros_more_{k}"),
            )
        p.shift = Cat(*reversed(digits))
    p.normal, p.rest = p.near, p.sticky
    for k in reversed(range(count)):
        if (count - k) % 3 == 1:
            p.cut(6)
        word, moved, step = p.normal, p.shift[k], 1 << k
        bits = []
        for place in range(len(word)):
            # The top places that the shift moves out hold zeros before the shift.
            here = word[place] if place >= len(word) - step else word[place] & ~moved
            bits.append(here | (word[place - step] & moved) if place >= step else here)
        # Bits that can't reach the rounding digit any more.
        tail = max(0, len(word) - (window.acc.precision + step))
        p.rest = p.rest | _any(bits[:tail])
        p.normal = Cat(bits[tail:])
    biased = p.first - p.shift
    p.biased = biased if window.flush else biased[: len(p.first)]
    p.cut(6)


def _round(p, window):
    m, acc = p.module, window.acc
    fraction_bits, exponent_bits = acc.fraction_bits, acc.exponent_bits
    leading = p.normal[-1]
    p.up = p.normal[0] & (p.rest | p.normal[1])
    p.packed = Cat(p.normal[1:-1], p.biased[:exponent_bits] & leading.replicate(exponent_bits))
    if p.fabric == "asic":
        p.ripple = _ripples(m, p.packed, "round")
    overflow = wire(m, leading & (p.biased >= acc.exponent_max), "overflow")
    p.force = p.nan | p.inf | overflow
    p.tiny = ~leading | (p.biased <= 0) if window.flush else Const(0, 1)
    p.sign = Mux(p.inf, p.inf_sign, (p.product_sign ^ p.negative) & ~p.equal) & ~p.nan
    p.cut(7)

    # A carry out of the fraction steps into the exponent, and may reach infinity.
    if p.fabric == "xilinx":
        rounded = wire(m, (p.packed + p.up)[: len(p.packed)], "rounded")
    else:
        rounded = p.packed ^ (Cat(Const(1, 1), p.ripple[:-1]) & p.up.replicate(len(p.packed)))
    fraction, exponent = rounded[:fraction_bits], rounded[fraction_bits:]
    fraction = (fraction & ~(p.force | p.tiny).replicate(fraction_bits)) | Cat(Const(0, fraction_bits - 1), p.nan)
    exponent = (exponent & ~p.tiny.replicate(exponent_bits)) | p.force.replicate(exponent_bits)
    return Cat(fraction, exponent, p.sign)
