"""A lane of the reduction unit: the accumulator moved by a power of two, a multiply-add, and the result rounded."""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...constraints.formats import FloatFormat
from ..arith import add_product, addend_distance, convert, exact_product

__all__ = ["ReductionLane", "converted", "delayed", "factor_format", "moved"]


def delayed(m, value, name, cycles, *, reset=False):
    """A value some cycles later. Its registers keep what they hold in a reset unless ``reset`` is set."""
    for cycle in range(cycles):
        register = Signal(value.shape(), name=f"{name}_{cycle + 1}", reset_less=not reset)
        m.d.sync += register.eq(value)
        value = register
    return value


def factor_format(config):
    """Format in which O and weights are multiplied, and whether the multiply-add flushes to zero.

    Where no sum of products and accumulators can be subnormal, the factors get one more bit of exponent: so they are
    all normal, and the multiply-add need not look for subnormal numbers. The results are the same: products are multiples
    of q, the square of the smallest factor; an accumulator below q / 4 is 0 or normal and leaves more than q / 2 of a
    product, and one from there on is a multiple of q / 4 over 2 to the number of fraction bits.
    """
    io, acc = config.io, config.acc
    if 2 * io.lsb_exponent - 2 - acc.fraction_bits >= 1 - acc.bias:
        return FloatFormat(f"e{io.exponent_bits + 1}m{io.fraction_bits}", io.exponent_bits + 1, io.fraction_bits), True
    return io, False


def moved(m, bits, steps, fmt, name):
    """``bits * 2**-steps``: exact, but what would become subnormal is a zero of its sign."""
    field = bits[fmt.fraction_bits:-1]
    down = Signal(signed(max(len(steps), fmt.exponent_bits + 1) + 2), name=f"{name}_field")
    small, large, out = (Signal(1, name=f"{name}_small"), Signal(1, name=f"{name}_large"), Signal(fmt.width, name=name))
    m.d.comb += [
        down.eq(field - steps),
        small.eq(~field.any() | (down <= 0)),
        large.eq(down >= fmt.exponent_max),
    ]
    with m.If(field.all() | (steps == 0)):
        m.d.comb += out.eq(bits)
    with m.Elif(small):
        m.d.comb += out.eq(Cat(Const(0, fmt.width - 1), bits[-1]))
    with m.Elif(large):
        m.d.comb += out.eq(Cat(Const(fmt.infinity, fmt.width - 1), bits[-1]))
    with m.Else():
        m.d.comb += out.eq(Cat(bits[:fmt.fraction_bits], down[:fmt.exponent_bits], bits[-1]))
    return out


class ReductionLane(wiring.Component):
    """One element of O at a time: ``result = factor * O + accumulator * 2**-steps``, rounded to ``acc_format``.

    Timing, of an element on ``o`` in cycle t: ``factor`` is sampled in cycle t + 1, and so are ``old`` and ``steps``;
    ``result`` is there in cycle t + ``SUM``.

    A result on its way out takes two rounds, through the same registers, one number in every two cycles: read in cycle
    t + 1 (``old``), it is moved, rounded to ``format``, multiplied (``again`` in cycle t + ``AGAIN``, ``alone`` a cycle
    later), and comes ``back`` in cycle t + ``BACK`` to be rounded once more, into ``rounded`` in cycle t + ``OUT``.

    Members
    -------
    o : ``In(io.width)``
    again : ``In(1)``
        The number that was rounded takes the place of ``o``.
    factor : ``In(width of factor_format)``
    old : ``In(acc.width)``
        The accumulator.
    steps : ``In(signed(11))``
    alone : ``In(1)``
        In cycle t + 1: there is no accumulator, the addend is 0.
    back : ``In(1)``
        ``result`` takes the place of ``old``, unmoved.
    result : ``Out(acc.width)``
    rounded : ``Out(io.width)``
        What was moved in the cycle before the last, or came back in it, in ``format``.
    """

    def __init__(self, config):
        # What a lane depends on: units that differ in the rest have the same one.
        self.config = SimpleNamespace(io=config.io, acc=config.acc, lane_depth=config.lane_depth)
        #: Cycles from ``o`` to ``result``.
        self.SUM = 2 + config.lane_depth
        # Every other cycle belongs to numbers that come back: an odd number of cycles after those from the accumulators.
        self.AGAIN = 4 - config.lane_depth % 2
        self.BACK = self.AGAIN + self.SUM
        self.OUT = self.BACK + 2
        #: Format of the factors.
        self.fmt, self._flush = factor_format(config)
        super().__init__({
            "o": In(config.io.width),
            "again": In(1),
            "factor": In(self.fmt.width),
            "old": In(config.acc.width),
            "steps": In(signed(11)),
            "alone": In(1),
            "back": In(1),
            "result": Out(config.acc.width),
            "rounded": Out(config.io.width),
        })

    def elaborate(self, platform):
        m = Module()
        io, acc = self.config.io, self.config.acc
        options = {"fmt": self.fmt, "acc": acc, "flush_to_zero": self._flush}

        number = Signal(io.width)
        m.d.comb += number.eq(Mux(self.again, delayed(m, self.rounded, "rounded", self.AGAIN - 3), self.o))
        element = delayed(m, converted(m, number, io, self.fmt, "element"), "element", 1)
        product = exact_product(m, element, self.factor, name="product_", **options)

        old = moved(m, self.old, self.steps, acc, "moved")
        exponent = old[acc.fraction_bits:-1] & ~self.alone.replicate(acc.exponent_bits)
        product = delayed(m, addend_distance(m, product, exponent, **options), "product", 1)
        held = Signal(acc.width, reset_less=True)
        m.d.sync += held.eq(Mux(self.back, self.result, old))
        addend, present = Signal(acc.width), Signal(reset_less=True)
        # A register in each lane: the same one for all of them would drive half a thousand gates.
        m.d.sync += present.eq(~self.alone & old.any())
        m.d.comb += addend.eq(held & present.replicate(acc.width))
        m.d.comb += self.result.eq(add_product(m, product, addend, depth=self.config.lane_depth, name="sum_", **options))

        m.d.sync += self.rounded.eq(converted(m, held, acc, io, "rounded"))
        return m


def converted(m, bits, source, target, name, **options):
    """A number in another format."""
    if source == target:
        return bits
    return convert(m, bits, source=source, target=target, name=f"{name}_", **options)
