"""Lane accumulators: every lane multiplies its element by a shared one, and adds the product to a sum of its own."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .aligned import Rounder, unpack
from .bits import add_rows, booth_products, compress
from .pipeline import Pipeline

__all__ = ["LaneAccumulator", "LaneSums", "clipped", "plus", "product", "register"]

#: Latest useful arrival for the adder behind a product's compressor tree: the adder has a stage of its own.
LATE = 40

#: Flags of special values that an accumulator keeps.
FLAGS = ("nan", "positive", "negative")


class LaneAccumulator:
    """The parts of an aligned accumulator per lane: operands, exponent loop, aligned shift, total, rounder.

    A method adds the hardware of one lane to a module. The unit that contains the lanes decides what else reads the
    values between them. The exponent loop and the loop of the total both close within one clock, two stages apart, so
    a product may follow in every clock. The functional model is ``bankside.models.numerics.aligned_add``.

    Parameters
    ----------
    io : :class:`FloatFormat`
        Format of the factors.
    window : :class:`AlignedWindow`

    Attributes
    ----------
    exponent_max : largest exponent of an accumulator
    term_shift, lane_shift : shapes of the shifts of a product and of the total
    """

    def __init__(self, io, window):
        self.io, self.window = io, window
        self.exponent_max = max(2 * (io.exponent_max - 1), window.floor)
        self.term_shift = range(1 << (window.magnitude_bits - 1).bit_length())
        self.lane_shift = range(1 << (window.width - 1).bit_length())

    def operands(self, m, lane, pick, x):
        """Registers of the factors, and of what their product is.

        A product is dead if a factor is zero, infinite or NaN. A dead product has significand and exponent 0, so it
        adds nothing and does not set the alignment.

        Parameters
        ----------
        pick : function that gives a field of the shared factor by the names of :class:`Unpacked`
        x : :class:`Unpacked`
            The factor of this lane.

        Returns
        -------
        both significands, exponent, sign, infinity and NaN of the product
        """
        nan, inf, dead = (Signal(name=f"{n}_{lane}") for n in ("nan", "inf", "dead"))
        zero, a_inf, a_nan = pick("zero"), pick("inf"), pick("nan")
        m.d.comb += [
            nan.eq(a_nan | x.nan | (a_inf & x.zero) | (x.inf & zero)),
            inf.eq((a_inf | x.inf) & ~nan),
            dead.eq(zero | x.zero | a_inf | x.inf | a_nan | x.nan),
        ]
        exponent = Signal(self.io.exponent_bits + 1, name=f"exponent_{lane}")
        m.d.comb += exponent.eq(Mux(dead, 0, pick("exponent") + x.exponent))
        return (
            register(m, Mux(dead, 0, pick("significand")), f"a_2_{lane}"),
            register(m, x.significand, f"b_2_{lane}"),
            register(m, exponent, f"exponent_2_{lane}"),
            register(m, pick("sign") ^ x.sign, f"sign_2_{lane}"),
            register(m, inf, f"inf_2_{lane}"),
            register(m, nan, f"nan_2_{lane}"),
        )

    def flags(self, m, lane, nan, inf, sign):
        """Registers of a product's :data:`FLAGS`."""
        return [
            register(m, f, f"{n}_3_{lane}")
            for f, n in ((nan, "nan"), (inf & ~sign, "positive"), (inf & sign, "negative"))
        ]

    def grown(self, m, lane, exponent, kept, first, strobe):
        """The exponent of the accumulator before and after a product. It only grows. ``kept`` holds it."""
        before, after = (Signal(range(self.exponent_max + 1), name=f"lane_{n}_{lane}") for n in ("before", "after"))
        m.d.comb += before.eq(Mux(first, self.window.floor, kept))
        m.d.comb += after.eq(Mux(exponent > before, exponent, before))
        with m.If(strobe):
            m.d.sync += kept.eq(after)
        return before, after

    def shifts(self, m, lane, exponent, base, before, after):
        """Registers of the shifts of the product (to the exponent ``base``) and of the total, and of the new exponent."""
        return (
            register(m, clipped(m, base - exponent, self.term_shift, f"term_shift_{lane}"), f"term_shift_4_{lane}"),
            register(m, clipped(m, after - before, self.lane_shift, f"lane_shift_{lane}"), f"lane_shift_4_{lane}"),
            register(m, after, f"lane_grown_4_{lane}"),
        )

    def term(self, m, lane, factors, shift, sign):
        """Registers of the aligned product as a signed integer, and of the carry that completes its negation."""
        term_bits = self.window.magnitude_bits
        left, right = max(self.window.left, 0), max(-self.window.left, 0)
        aligned = Signal(term_bits, name=f"aligned_{lane}")
        m.d.comb += aligned.eq((factors << left >> right) >> shift)
        # A negative term is complemented. The missing one enters as a carry where the term is added.
        term = Signal(signed(term_bits + 1), name=f"term_{lane}")
        m.d.comb += term.eq(Cat(aligned, 0) ^ sign.replicate(term_bits + 1))
        return register(m, term, f"term_5_{lane}"), register(m, sign, f"carry_5_{lane}")

    def state(self, lane):
        """Registers of the total, and of its :data:`FLAGS`."""
        return (
            Signal(signed(self.window.width), name=f"lane_total_{lane}", reset_less=True),
            [Signal(name=f"lane_{n}_{lane}", reset_less=True) for n in FLAGS],
        )

    def sum(self, m, lane, first, total, flags, shift_4, flags_3, term, carry):
        """The total and its flags with a product, in cycle 5, from those without it."""
        shift = register(m, shift_4, f"lane_shift_5_{lane}")
        news = [register(m, f, f"lane_new_{n}_5_{lane}", 2) for f, n in zip(flags_3, FLAGS, strict=True)]
        grown = plus(Mux(first, 0, total >> shift), term, carry)
        return grown, [Mux(first, 0, f) | new for f, new in zip(flags, news, strict=True)]

    def rounded(self, m, lane, total, flags, grown_4):
        """The total in cycle 6, rounded to the result's format in cycle 8."""
        window = self.window
        rounder = Rounder(
            window.result, width=window.width, exponent_max=self.exponent_max, unit=window.unit, floor=window.floor
        )
        m.submodules[f"output_rounder_{lane}"] = rounder
        m.d.comb += [
            rounder.value.eq(total),
            rounder.exponent.eq(register(m, grown_4, f"lane_grown_6_{lane}", 2)),
            rounder.nan.eq(flags[0]),
            rounder.positive.eq(flags[1]),
            rounder.negative.eq(flags[2]),
        ]
        return rounder.bits


class LaneSums(wiring.Component):
    """``lanes`` sums of products of a broadcast element with an element of each lane, each rounded once at its end.

    A product is added in every clock in which ``valid`` is 1. Sums may follow each other without a bubble. The unit never
    stalls.

    Timing: ``output`` is valid ``LATENCY`` cycles after the strobe of a sum's last product.

    Parameters
    ----------
    io : :class:`FloatFormat`
        Format of the elements.
    window : :class:`AlignedWindow`
        It bounds the number of products, and gives the format of the sums.
    lanes : :class:`int`
    tag : shape-like
        Shape of a tag that accompanies the last product of a sum.
    fabric : str
        What the multipliers are made for, of :data:`FABRICS`.

    Members
    -------
    valid, first, last : ``In(1)``
        A product of every lane; the first and the last of the sums.
    data : ``In(lanes * io.width)``
        An element of each lane, lane 0 lowest.
    element : ``In(io.width)``
        The broadcast element, one cycle after the strobe.
    tag_in : ``In(tag)``
        With the strobe of the last product.
    output_valid, output, tag : ``Out``
        ``output`` has ``lanes`` numbers of the window's result format, lane 0 lowest.
    """

    LATENCY = 8

    def __init__(self, io, window, lanes, *, tag, fabric="asic"):
        self._lane, self._lanes, self._fabric = LaneAccumulator(io, window), lanes, fabric
        super().__init__(
            {
                "valid": In(1),
                "first": In(1),
                "last": In(1),
                "data": In(lanes * io.width),
                "element": In(io.width),
                "tag_in": In(tag),
                "output_valid": Out(1),
                "output": Out(lanes * window.result.width),
                "tag": Out(tag),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lane_of = self._lane
        io, width = lane_of.io, lane_of.window.result.width
        valid, first, last = [self.valid], [self.first], [self.last]
        for cycle in range(1, 6):
            valid.append(register(m, valid[-1], f"valid_{cycle}", keep=True))
            first.append(register(m, first[-1], f"first_{cycle}"))
            last.append(register(m, last[-1], f"last_{cycle}"))
        data_1 = register(m, self.data, "data_1")
        shared = unpack(m, self.element, io, "element")
        for lane in range(self._lanes):
            x = unpack(m, data_1.word_select(lane, io.width), io, f"data_{lane}")
            a, b, exponent_2, sign_2, inf, nan = lane_of.operands(m, lane, lambda field: getattr(shared, field), x)
            product_3 = register(m, product(m, a, b, f"product_{lane}", fabric=self._fabric), f"product_3_{lane}")
            exponent_3 = register(m, exponent_2, f"exponent_3_{lane}")
            flags_3 = lane_of.flags(m, lane, nan, inf, sign_2)
            kept = Signal(range(lane_of.exponent_max + 1), name=f"lane_exponent_{lane}", reset_less=True)
            before, after = lane_of.grown(m, lane, exponent_3, kept, first[3], valid[3])
            term_shift, lane_shift, grown_4 = lane_of.shifts(m, lane, exponent_3, after, before, after)
            term, carry = lane_of.term(
                m,
                lane,
                register(m, product_3, f"product_4_{lane}"),
                term_shift,
                register(m, sign_2, f"sign_4_{lane}", 2),
            )
            total, flags = lane_of.state(lane)
            grown, marked = lane_of.sum(m, lane, first[5], total, flags, lane_shift, flags_3, term, carry)
            with m.If(valid[5]):
                m.d.sync += total.eq(grown)
                m.d.sync += [f.eq(new) for f, new in zip(flags, marked, strict=True)]
            m.d.comb += self.output.word_select(lane, width).eq(lane_of.rounded(m, lane, total, flags, grown_4))
        m.d.comb += [
            self.output_valid.eq(register(m, valid[5] & last[5], "done", 3, keep=True)),
            self.tag.eq(register(m, self.tag_in, "tag_delay", self.LATENCY)),
        ]
        return m


def register(m, value, name, cycles=1, keep=False):
    """``value`` delayed by some cycles. Registers of data have no reset, registers of strobes do (``keep``)."""
    for cycle in range(cycles):
        r = Signal(value.shape(), name=f"{name}_{cycle + 1}" if cycles > 1 else name, reset_less=not keep)
        m.d.sync += r.eq(value)
        value = r
    return value


def plus(a, b, carry):
    """``a + b + carry`` of signed values with one adder."""
    return (Cat(Const(1, 1), a).as_signed() + Cat(carry, b).as_signed()) >> 1


def product(m, a, b, name, *, fabric="asic"):
    """Product of two significands, from the library's compressor tree, or from a DSP block of an FPGA."""
    if fabric == "xilinx":
        return a * b
    rows = compress(Pipeline(m, name=f"{name}_"), booth_products(m, a, b, name=f"{name}_booth"))
    return Cat(*add_rows(m, rows, limit=LATE, name=f"{name}_sum"))


def clipped(m, value, shape, name):
    """``value`` (never negative), or the largest number of ``shape`` if it does not fit."""
    whole, out = Signal(len(value), name=f"{name}_whole"), Signal(shape, name=name)
    m.d.comb += whole.eq(value)
    m.d.comb += out.eq(Mux(whole[len(out) :].any(), (1 << len(out)) - 1, whole[: len(out)]))
    return out
