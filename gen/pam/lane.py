"""A lane of the reduction unit: moves the accumulator by a power of two, multiplies, adds, and rounds the result."""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...constraints.core.formats import FloatFormat
from ..arith import add_product, addend_distance, convert, exact_product

__all__ = ["ReductionLane", "chosen", "converted", "delayed", "factor_format", "moved", "per_query"]


def delayed(m, value, name, cycles, *, reset=False):
    """A value delayed by some cycles. A reset clears its registers only with ``reset``."""
    for cycle in range(cycles):
        register = Signal(value.shape(), name=f"{name}_{cycle + 1}", reset_less=not reset)
        m.d.sync += register.eq(value)
        value = register
    return value


def per_query(config, shape, name, **options):
    """A register for each query."""
    names = [name] if config.queries == 1 else [f"{name}_{n}" for n in range(config.queries)]
    return [Signal(shape, name=each, **options) for each in names]


def chosen(registers, query):
    """The register of a query, to read and to assign."""
    return registers[0] if len(registers) == 1 else Array(registers)[query]


def factor_format(config):
    """Format in which O and weights are multiplied, and whether the multiply-add flushes to zero.

    If no sum of a product and an accumulator can be subnormal, the factors get one more exponent bit. Then all factors
    are normal, and the multiply-add needs no logic for subnormal numbers. The results stay the same: products are
    multiples of q, the square of the smallest factor.

    - An accumulator below q / 4 is 0 or normal. It leaves more than q / 2 of a product.
    - A larger accumulator is a multiple of q / 4, divided by 2 to the power of the number of fraction bits.
    """
    io, acc = config.io, config.acc
    if 2 * io.lsb_exponent - 2 - acc.fraction_bits >= 1 - acc.bias:
        return FloatFormat(f"e{io.exponent_bits + 1}m{io.fraction_bits}", io.exponent_bits + 1, io.fraction_bits), True
    return io, False


def moved(m, bits, steps, fmt, name):
    """``bits * 2**-steps``, exact. A number that would become subnormal becomes a zero of its sign."""
    field = bits[fmt.fraction_bits : -1]
    down = Signal(signed(max(len(steps), fmt.exponent_bits + 1) + 2), name=f"{name}_field")
    small, large, out = (Signal(1, name=f"{name}_small"), Signal(1, name=f"{name}_large"), Signal(fmt.width, name=name))
    m.d.comb += [down.eq(field - steps), small.eq(~field.any() | (down <= 0)), large.eq(down >= fmt.exponent_max)]
    with m.If(field.all() | (steps == 0)):
        m.d.comb += out.eq(bits)
    with m.Elif(small):
        m.d.comb += out.eq(Cat(Const(0, fmt.width - 1), bits[-1]))
    with m.Elif(large):
        m.d.comb += out.eq(Cat(Const(fmt.infinity, fmt.width - 1), bits[-1]))
    with m.Else():
        m.d.comb += out.eq(Cat(bits[: fmt.fraction_bits], down[: fmt.exponent_bits], bits[-1]))
    return out


class ReductionLane(wiring.Component):
    """Merges one element of O at a time: ``result = factor * O + accumulator * 2**-steps``, rounded to ``acc_format``.

    Timing: an element is on ``o`` in cycle t. ``factor``, ``old`` and ``steps`` are sampled in cycle t + 1. ``result``
    is valid in cycle t + ``SUM``.

    A final result passes through the same registers twice, one number in every two cycles:

    1. Cycle t + 1: the lane reads the accumulator (``old``), moves it, and rounds it to ``format``.
    2. Cycle t + ``AGAIN``: with ``again`` the rounded number is multiplied; ``alone`` follows a cycle later.
    3. Cycle t + ``BACK``: with ``back`` the product is rounded once more. ``rounded`` has it in cycle t + ``OUT``.

    Members
    -------
    o : ``In(io.width)``
    again : ``In(1)``
        The rounded number replaces ``o``.
    factor : ``In(width of factor_format)``
    old : ``In(acc.width)``
        The accumulator.
    steps : ``In(signed(11))``
    alone : ``In(1)``
        In cycle t + 1: the addend is 0 instead of the accumulator.
    back : ``In(1)``
        ``result`` replaces the moved ``old``.
    result : ``Out(acc.width)``
    rounded : ``Out(io.width)``
        The moved accumulator of two cycles before, or with ``back`` the result of two cycles before, in ``format``.
    """

    def __init__(self, config):
        # Only these parameters matter to a lane. Units that differ in other parameters share the same lane module.
        self.config = SimpleNamespace(io=config.io, acc=config.acc, lane_depth=config.lane_depth)
        #: Cycles from ``o`` to ``result``.
        self.SUM = 2 + config.lane_depth
        # Numbers from accumulators and numbers that come back alternate, so they must be an odd number of cycles apart.
        self.AGAIN = 4 - config.lane_depth % 2
        self.BACK = self.AGAIN + self.SUM
        self.OUT = self.BACK + 2
        #: Format of the factors.
        self.fmt, self._flush = factor_format(config)
        super().__init__(
            {
                "o": In(config.io.width),
                "again": In(1),
                "factor": In(self.fmt.width),
                "old": In(config.acc.width),
                "steps": In(signed(11)),
                "alone": In(1),
                "back": In(1),
                "result": Out(config.acc.width),
                "rounded": Out(config.io.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        io, acc = self.config.io, self.config.acc
        options = {"fmt": self.fmt, "acc": acc, "flush_to_zero": self._flush}

        number = Signal(io.width)
        m.d.comb += number.eq(Mux(self.again, delayed(m, self.rounded, "rounded", self.AGAIN - 3), self.o))
        element = delayed(m, converted(m, number, io, self.fmt, "element"), "element", 1)
        product = exact_product(m, element, self.factor, name="product_", **options)

        old = moved(m, self.old, self.steps, acc, "moved")
        exponent = old[acc.fraction_bits : -1] & ~self.alone.replicate(acc.exponent_bits)
        product = delayed(m, addend_distance(m, product, exponent, **options), "product", 1)
        held = Signal(acc.width, reset_less=True)
        m.d.sync += held.eq(Mux(self.back, self.result, old))
        addend, present = Signal(acc.width), Signal(reset_less=True)
        # Each lane has its own register. A shared one would drive about 500 gates.
        m.d.sync += present.eq(~self.alone & old.any())
        m.d.comb += addend.eq(held & present.replicate(acc.width))
        m.d.comb += self.result.eq(
            add_product(m, product, addend, depth=self.config.lane_depth, name="sum_", **options)
        )

        m.d.sync += self.rounded.eq(converted(m, held, acc, io, "rounded"))
        return m


def converted(m, bits, source, target, name, **options):
    """A number in another format."""
    if source == target:
        return bits
    return convert(m, bits, source=source, target=target, name=f"{name}_", **options)
