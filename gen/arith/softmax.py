# amaranth: UnusedElaboratable=no
"""Parts of softmax units: keys that order numbers, maximum and sum of rows, the weight of a score, and its quotient.

The functional models are in ``bankside.models.numerics.softmax``. ``SoftmaxRule`` decides the bits.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.formats import FloatFormat
from ..blocks.shared import shared
from .aligned import Rounder, unpack
from .bits import AND, CHAIN, XOR, add_rows, carries, compress, product_columns, wire
from .convert import convert
from .exponential import softmax_exp
from .lanes import register
from .pipeline import operator
from .rounding import shift_right

__all__ = ["Adder", "QuotientLane", "RowMaximum", "RowSum", "WeightLane", "add_positive", "key_number", "order_key",
           "quotient", "row_scale", "scale_layout", "softmax_weight", "window_sum"]


# Order ---------------------------------------------------------------------------------------------------------------


def order_key(m, bits, fmt, name):
    """Unsigned number in the order of the numbers of a format: -0 below +0, and NaN below everything, as 0."""
    nan = bits[fmt.fraction_bits:-1].all() & bits[:fmt.fraction_bits].any()
    flipped = Cat(bits[:-1] ^ bits[-1].replicate(fmt.width - 1), ~bits[-1])
    return wire(m, flipped & (~nan).replicate(fmt.width), name)


def key_number(key, fmt):
    """The number that an :func:`order_key` stands for; the canonical NaN for 0."""
    return Mux(key == 0, fmt.nan, Cat(key[:-1] ^ (~key[-1]).replicate(fmt.width - 1), ~key[-1]))[:fmt.width]


def _larger(m, a, b, name):
    return wire(m, Mux(a < b, b, a), name)


class RowMaximum(wiring.Component):
    """Largest number of a row that comes ``lanes`` at a time, in groups that keep a maximum of their own.

    The unit never stalls. Rows may follow each other without a bubble.

    Timing: ``maximum`` is valid ``latency`` cycles after the strobe of the row's last beat.

    Members
    -------
    valid, first, last : ``In(1)``
        A beat; the first and the last one of its row.
    data : ``In(lanes * fmt.width)``
    output_valid : ``Out(1)``
    maximum : ``Out(fmt.width)``
        NaN is ignored; rows of NaN only give the canonical NaN.
    """

    def __init__(self, fmt, lanes, groups):
        self._fmt, self._lanes, self._groups = fmt, lanes, groups
        super().__init__({
            "valid": In(1),
            "first": In(1),
            "last": In(1),
            "data": In(lanes * fmt.width),
            "output_valid": Out(1),
            "maximum": Out(fmt.width),
        })

    @property
    def latency(self):
        """Keys, levels of a group's tree, the running maximum, levels of the tree over groups."""
        return 2 + (self._lanes // self._groups - 1).bit_length() + (self._groups - 1).bit_length()

    def elaborate(self, platform):
        m = Module()
        fmt, size = self._fmt, self._lanes // self._groups
        levels = (size - 1).bit_length()
        keys = [register(m, order_key(m, self.data.word_select(lane, fmt.width), fmt, f"key_{lane}"), f"key_{lane}_1")
                for lane in range(self._lanes)]
        valid, first, last = (register(m, value, name, 1 + levels, keep) for value, name, keep in (
            (self.valid, "valid", True), (self.first, "first", False), (self.last, "last", False)))
        running = []
        for group in range(self._groups):
            top = _reduced(m, keys[group * size:(group + 1) * size], f"group_{group}")
            kept = Signal(fmt.width, name=f"running_{group}", reset_less=True)
            with m.If(valid):
                m.d.sync += kept.eq(_larger(m, Mux(first, 0, kept), top, f"top_{group}"))
            running.append(kept)
        top = _reduced(m, running, "groups")
        m.d.comb += [
            self.maximum.eq(key_number(top, fmt)),
            self.output_valid.eq(register(m, valid & last, "done", 1 + (self._groups - 1).bit_length(), keep=True)),
        ]
        return m


def _reduced(m, keys, name):
    """Largest key, by a tree with a register behind every level."""
    level = 0
    while len(keys) > 1:
        keys = [register(m, _larger(m, a, b, f"{name}_{level}_{n}_larger"), f"{name}_{level}_{n}")
                for n, (a, b) in enumerate(zip(keys[::2], keys[1::2], strict=True))]
        level += 1
    return keys[0]


# Weights -------------------------------------------------------------------------------------------------------------


@operator
def softmax_weight(p, maximum, value, *, score, table):
    """``exp(value - maximum)``: the bits of :func:`softmax_exp`.

    On an FPGA the product with a chord's slope is made of carry chains, so that the lane's DSP block is left for the
    quotient. For cells it is :func:`softmax_exp` itself.

    Parameters
    ----------
    As in :func:`softmax_exp`.
    """
    return softmax_exp(p, maximum, value, score=score, table=table)


class WeightLane(wiring.Component):
    """The weight of a score, ``config.exp_depth`` cycles later.

    Members
    -------
    maximum, value : ``In(score.width)``
    result : ``Out(io.width)``
    """

    def __init__(self, config):
        self.config = config
        super().__init__({"maximum": In(config.rule.score.width), "value": In(config.rule.score.width),
                          "result": Out(config.rule.io.width)})

    def elaborate(self, platform):
        m = Module()
        rule = self.config.rule
        m.d.comb += self.result.eq(softmax_weight(m, self.maximum, self.value, score=rule.score, table=rule.table,
                                                  depth=self.config.exp_depth, fabric=self.config.fabric))
        return m


# Sums ----------------------------------------------------------------------------------------------------------------


@operator
def add_positive(p, a, b, *, fmt):
    """Sum ``a + b`` of two numbers that are not negative, rounded to nearest, ties to even.

    A sum beyond the range is an infinity, and so is a sum with an infinity. The sign bits do not matter. NaN is not
    allowed; it gives some number.

    Depth: there are places for three registers.

    Parameters
    ----------
    a, b : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`

    Returns
    -------
    value of ``fmt.width`` bits
    """
    if not isinstance(fmt, FloatFormat):
        raise TypeError(f"Format must be a FloatFormat, not {fmt!r}")
    m, f, e, size = p.module, fmt.fraction_bits, fmt.exponent_bits, fmt.precision
    a, b = a[:fmt.width - 1], b[:fmt.width - 1]
    if p.fabric == "xilinx":
        swap = wire(m, a < b, "order")
    else:
        less = [(wire(m, ~a[k] & b[k], f"less_{k}"), AND) for k in range(len(a))]
        same = [(wire(m, ~(a[k] ^ b[k]), f"same_{k}"), XOR) for k in range(len(a))]
        swap = carries(m, less, same, wanted=[len(a) - 1], name="order")[len(a) - 1][0]
    big, small = wire(m, Mux(swap, b, a), "big"), wire(m, Mux(swap, a, b), "small")
    normal, small_normal = big[f:].any(), small[f:].any()
    p.exponent, p.big = big[f:], Cat(big[:f], normal)
    p.normal = normal
    p.small = Cat(small[:f], small_normal)
    # The smaller exponent is not above the larger one. A subnormal number has the exponent 1.
    distance = wire(m, (big[f:] - small[f:])[:e] - (normal & ~small_normal), "distance")[:e]
    reach = (size + 2).bit_length()
    far = distance[reach:].any() if e > reach else Const(0, 1)
    p.amount = Cat(bit | far for bit in distance[:reach])
    p.cut(12)

    # Two digits below the last place, and a flag for all lower ones.
    p.moved, p.sticky = shift_right(m, Cat(Const(0, 2), p.small), p.amount, name="aligned")
    p.cut(2 + 2 * reach)
    total = Cat(add_rows(m, [*([(p.big[k], 0), (p.moved[k + 2], 0)] for k in range(size)), []], name="sum",
                         fabric=p.fabric))
    p.total, p.low = total, p.moved[:2]
    p.cut(CHAIN if p.fabric == "xilinx" else 12)

    # The exponent rises by one if the sum does not fit, or if two subnormal numbers make a normal one (by its carry).
    over = p.total[size]
    kept = Mux(over, p.total[1:size + 1], p.total[:size])
    guard = Mux(over, p.total[0], p.low[1])
    rest = p.sticky | p.low[0] | (over & p.low[1])
    up = wire(m, guard & (rest | kept[0]), "up")
    field = p.exponent - p.normal
    high = Cat(kept[:f], Mux(over, field + 1, field)[:e], Const(0, 1))
    rounded = wire(m, (high + Cat(up, Const(0, f - 1), kept[f]))[:fmt.width], "rounded")
    infinite = wire(m, p.exponent.all() | rounded[f:-1].all() | rounded[-1], "infinite")
    p.result = Cat(rounded[:f] & (~infinite).replicate(f), rounded[f:-1] | infinite.replicate(e), Const(0, 1))
    return p.result


class Adder(wiring.Component):
    """:func:`add_positive` with ``depth`` registers: ``result`` follows ``a`` and ``b`` by so many cycles."""

    def __init__(self, fmt, depth, fabric):
        self.config = (fmt, depth, fabric)
        super().__init__({"a": In(fmt.width), "b": In(fmt.width), "result": Out(fmt.width)})

    def elaborate(self, platform):
        m = Module()
        fmt, depth, fabric = self.config
        m.d.comb += self.result.eq(add_positive(m, self.a, self.b, fmt=fmt, depth=depth, fabric=fabric))
        return m


class RowSum(wiring.Component):
    """Sum of the weights of a row that comes ``lanes`` at a time, by the rule of the configuration.

    The unit never stalls. Rows may follow each other without a bubble.

    Timing: ``sum`` is valid ``latency`` cycles after the strobe of the row's last beat.

    Members
    -------
    valid, first, last : ``In(1)``
        A beat; the first and the last one of its row.
    data : ``In(lanes * io.width)``
        Weights: numbers from 0 to 1, or NaN.
    output_valid : ``Out(1)``
    sum : ``Out(acc.width)``
    """

    def __init__(self, config):
        self.config = config
        rule = config.rule
        super().__init__({
            "valid": In(1),
            "first": In(1),
            "last": In(1),
            "data": In(rule.lanes * rule.io.width),
            "output_valid": Out(1),
            "sum": Out(rule.acc.width),
        })

    @property
    def latency(self):
        rule, depth = self.config.rule, self.config.add_depth
        if rule.sums == "window":
            return self.config.window_depth + 1 + Rounder.LATENCY
        tree = (rule.lanes // rule.groups - 1).bit_length() + (rule.groups * rule.chains - 1).bit_length()
        return (rule.acc != rule.io) + depth * tree + rule.chains

    def elaborate(self, platform):
        m = Module()
        rule = self.config.rule
        io = rule.io
        weights = [self.data.word_select(lane, io.width) for lane in range(rule.lanes)]
        # The sum of a row with a NaN is NaN. What the adders make of it does not matter.
        nan = wire(m, Cat(one[io.fraction_bits:-1].all() for one in weights).any(), "nan")
        if rule.sums == "window":
            self._add_window(m, weights, nan)
        else:
            self._add_floats(m, platform, weights, nan)
        return m

    def _delayed(self, m, nan, depth):
        """Strobes of a beat, and whether it has a NaN, beside the sums of its groups."""
        return (register(m, self.valid, "valid_late", depth, keep=True), register(m, self.first, "first_late", depth),
                register(m, self.last, "last_late", depth), register(m, nan, "nan_late", depth))

    def _add_window(self, m, weights, nan):
        window, depth = self.config.rule.window, self.config.window_depth
        total = window_sum(m, *weights, window=window, depth=depth, fabric=self.config.fabric, name="window_")
        valid, first, last, nan = self._delayed(m, nan, depth)
        kept, bad = Signal(window.width, name="total", reset_less=True), Signal(name="bad", reset_less=True)
        with m.If(valid):
            m.d.sync += [kept.eq(Mux(first, 0, kept) + total), bad.eq((~first & bad) | nan)]
        m.submodules.rounder = rounder = Rounder(window.result, width=window.width + 1, exponent_max=0,
                                                 unit=-window.fraction_bits)
        m.d.comb += [
            rounder.value.eq(kept), rounder.nan.eq(bad), self.sum.eq(rounder.bits),
            self.output_valid.eq(register(m, valid & last, "done", 1 + Rounder.LATENCY, keep=True)),
        ]

    def _add_floats(self, m, platform, weights, nan):
        rule, depth = self.config.rule, self.config.add_depth
        io, acc, chains, groups = rule.io, rule.acc, rule.chains, rule.groups
        size = rule.lanes // groups
        levels = (size - 1).bit_length()

        def add(a, b, name, depth=depth):
            adder = Adder(acc, depth, self.config.fabric)
            m.submodules[name] = shared(platform, adder, f"adder_{depth}", part=True)
            m.d.comb += [adder.a.eq(a), adder.b.eq(b)]
            return adder.result

        def tree(values, name):
            level = 0
            while len(values) > 1:
                values = [add(a, b, f"{name}_{level}_{n}")
                          for n, (a, b) in enumerate(zip(values[::2], values[1::2], strict=True))]
                level += 1
            return values[0]

        wide = int(acc != io)
        terms = [convert(m, one, source=io, target=acc, depth=1, name=f"term_{lane}_") if wide else one
                 for lane, one in enumerate(weights)]
        valid, first, last, nan = self._delayed(m, nan, wide + depth * levels)
        bad = Signal(name="bad", reset_less=True)
        with m.If(valid):
            m.d.sync += bad.eq((~first & bad) | nan)

        # Beat k of a row is added to accumulator k modulo `chains`. That leaves `chains` clocks for an addition.
        young, place, beats = first, Const(0, 0), None
        if chains > 1:
            turn, started = Signal(range(chains), reset_less=True), Signal(range(chains + 1), reset_less=True)
            place, before = wire(m, Mux(first, 0, turn), "place"), wire(m, Mux(first, 0, started), "before")
            young = wire(m, before != chains, "young")
            beats = register(m, wire(m, before + young, "beats"), "beats_late", chains)
            with m.If(valid):
                m.d.sync += [turn.eq(place + 1), started.eq(before + young)]
        writes = register(m, valid, "writes", chains - 1, keep=True)
        target = register(m, place, "target", chains - 1)
        leaves = []
        for group in range(groups):
            total = tree(terms[group * size:(group + 1) * size], f"group_{group}")
            kept = Array(Signal(acc.width, name=f"kept_{group}_{n}", reset_less=True) for n in range(chains))
            chained = add(Mux(young, 0, kept[place]), total, f"chain_{group}", chains - 1)
            with m.If(writes):
                m.d.sync += kept[target].eq(chained)
            # Accumulators of short rows that no beat has reached hold what earlier rows left.
            leaves += [Mux(beats > n, one, 0) if chains > 1 else one for n, one in enumerate(kept)]
        total = tree(leaves, "total")
        rest = depth * (len(leaves) - 1).bit_length()
        m.d.comb += [
            self.sum.eq(Mux(register(m, bad, "bad_late", chains - 1 + rest), acc.nan, total)),
            self.output_valid.eq(register(m, valid & last, "done", chains + rest, keep=True)),
        ]


@operator
def window_sum(p, *weights, window):
    """Weights in 0..1, each truncated to ``window.fraction_bits``, and added. NaN gives some number."""
    m, io = p.module, window.io
    left, size = window.fraction_bits - io.fraction_bits, window.fraction_bits + 1
    columns = [[] for _ in range(size + (len(weights) - 1).bit_length())]
    for lane, bits in enumerate(weights):
        u = unpack(m, bits, io, f"weight_{lane}")
        below = wire(m, (io.bias + max(-left, 0) - u.exponent)[:(io.bias + max(-left, 0)).bit_length()], f"below_{lane}")
        term = (u.significand << max(left, 0)) >> below
        p[f"term_{lane}"] = term[:size]
    p.cut(14)
    for lane in range(len(weights)):
        for k, bit in enumerate(p[f"term_{lane}"]):
            columns[k].append((bit, 0))
    columns = compress(p, columns, step=8)
    rows = [[bit for bit, _ in column] for column in columns]
    p.rows = Cat(bit for row in rows for bit in row)
    p.cut(8)
    bits = iter(p.rows)
    p.total = Cat(add_rows(m, [[(next(bits), 0) for _ in row] for row in rows], name="total", fabric=p.fabric))
    p.cut(12)
    return p.total


# Division ------------------------------------------------------------------------------------------------------------


def scale_layout(rule):
    """What divides the weights of a row: ``factor`` (R of :class:`SoftmaxRule`), ``down`` (the exponent of the sum), and
    flags: the quotients are NaN, or 0."""
    return data.StructLayout({"factor": rule.quotient_bits + 1,
                              "down": range(rule.max_tokens.bit_length() + 1), "nan": 1, "zero": 1})


@operator
def row_scale(p, total, *, rule):
    """The :func:`scale_layout` of a sum that is at least 1, 0, infinite or NaN.

    Restoring division gives a bit of R in each row of gates. There is a place for a register behind each row.
    """
    m, acc, bits = p.module, rule.acc, rule.quotient_bits
    u = unpack(m, total, acc, "total")
    p.nan, p.zero = u.nan | u.zero, u.inf
    p.down = (u.exponent - acc.bias)[:Shape.cast(range(rule.max_tokens.bit_length() + 1)).width]
    p.divisor = u.significand
    # The first digit is 1 only for a power of two.
    p.factor = ~u.significand[:-1].any()
    p.rest = Mux(p.factor, 0, Const(1 << acc.fraction_bits, acc.precision))
    row = CHAIN if p.fabric == "xilinx" else 14
    p.cut(row)
    for step in range(bits):
        doubled = Cat(Const(0, 1), p.rest)
        less = wire(m, doubled - p.divisor, f"less_{step}")
        fits = wire(m, ~less[-1], f"fits_{step}")
        p.factor = Cat(fits, p.factor)
        p.rest = Mux(fits, less, doubled)[:acc.precision]
        p.cut(row)
    p.rounded = (p.factor + p.rest.any())[:bits + 1]
    p.cut(row)
    return Cat(p.rounded, p.down, p.nan, p.zero)


@operator
def quotient(p, weight, scale, *, rule):
    """A weight over the sum of its row: the product with R, without its last ``precision`` bits, rounded once.

    Parameters
    ----------
    weight : value of ``io.width`` bits, a number from 0 to 1
    scale : value as wide as :func:`scale_layout`

    Returns
    -------
    value of ``io.width`` bits
    """
    m, io, bits = p.module, rule.io, rule.quotient_bits
    f, size = io.fraction_bits, io.precision
    view = data.View(scale_layout(rule), scale)
    normal = weight[f:-1].any()
    p.nan, p.zero = view.nan, view.zero
    # Biased exponent of the quotient if the product has its top bit; `raised` is 0 for the lowest one.
    exponent = wire(m, Cat(weight[f] | ~normal, weight[f + 1:-1]) - view.down, "exponent")
    p.low = exponent < 2
    p.field = (exponent - 1)[:io.exponent_bits]
    reach = (size + 2).bit_length()
    right = wire(m, 1 - exponent, "right")
    p.right = Mux(right > size + 1, size + 1, right)[:reach]
    p.keep(x=Cat(weight[:f], normal), y=view.factor)
    p.cut(10)
    columns = product_columns(p, p.x, p.y, booth=False)
    columns = compress(p, columns, name="product", step=8)
    p.product = Cat(add_rows(m, columns, name="product_sum", fabric=p.fabric))[:size + bits]
    p.cut(CHAIN if p.fabric == "xilinx" else 14)

    # The product without its last bits has `bits` bits. Its top bit is 1, or, for a normal weight, the next one.
    whole = p.product[size:]
    cut = bits - size - 2
    word = Cat(whole[:cut].any(), whole[cut:]) if cut > 0 else whole
    once = wire(m, ~p.low & ~word[-1], "once")
    shifted, lost = shift_right(m, word, p.right & p.low.replicate(reach), name="lowered")
    p.word = Mux(once, Cat(Const(0, 1), word[:-1]), shifted)
    p.lost = lost
    p.exponent_field = Mux(p.low, 0, p.field - once)[:io.exponent_bits]
    p.cut(4 + 2 * reach)
    kept, guard, rest = p.word[-size:], p.word[-size - 1], p.word[:-size - 1].any() | p.lost
    up = guard & (rest | kept[0])
    rounded = wire(m, (Cat(kept[:f], p.exponent_field, Const(0, 1)) + Cat(up, Const(0, f - 1), kept[f]))[:io.width],
                   "rounded")
    return Mux(p.nan, io.nan, Mux(p.zero, 0, rounded))[:io.width]


class QuotientLane(wiring.Component):
    """A weight over the sum of its row (:func:`quotient`), ``config.quotient_depth`` cycles later.

    Members
    -------
    weight : ``In(io.width)``
    scale : ``In(...)``, bits of :func:`scale_layout`
    result : ``Out(io.width)``
    """

    def __init__(self, config):
        self.config = config
        rule = config.rule
        super().__init__({"weight": In(rule.io.width), "scale": In(scale_layout(rule).size), "result": Out(rule.io.width)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.result.eq(quotient(m, self.weight, self.scale, rule=self.config.rule,
                                            depth=self.config.quotient_depth, fabric=self.config.fabric))
        return m
