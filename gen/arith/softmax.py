# amaranth: UnusedElaboratable=no
"""Parts of softmax units: keys that order numbers, maximum and sum of rows, the weight of a score, and its quotient.

The functional models are in ``bankside.models.numerics.softmax``. ``SoftmaxRule`` decides the bits.
"""

from typing import Any

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.core.formats import FloatFormat
from ..blocks.shared import shared
from .aligned import Rounder, unpack
from .bits import AND, CHAIN, XOR, add_rows, carries, compress, product_columns, wire
from .convert import convert
from .exponential import _difference, _look_up, softmax_exp
from .lanes import register
from .pipeline import operator
from .rounding import shift_right

__all__ = [
    "GroupSum",
    "QuotientLane",
    "RowMaximum",
    "RowSum",
    "WeightLanes",
    "add_positive",
    "key_number",
    "order_key",
    "quotient",
    "row_scale",
    "scale_layout",
    "softmax_weight",
    "weight_maximum",
    "window_sum",
]

#: Lanes of a part that computes weights.
PART_LANES = 8


# Order ---------------------------------------------------------------------------------------------------------------


def order_key(m, bits, fmt, name):
    """Unsigned number in the order of the numbers of a format: -0 below +0, and NaN below everything, as 0."""
    nan = bits[fmt.fraction_bits : -1].all() & bits[: fmt.fraction_bits].any()
    flipped = Cat(bits[:-1] ^ bits[-1].replicate(fmt.width - 1), ~bits[-1])
    return wire(m, flipped & (~nan).replicate(fmt.width), name)


def key_number(key, fmt):
    """The number that an :func:`order_key` stands for; the canonical NaN for 0."""
    return Mux(key == 0, fmt.nan, Cat(key[:-1] ^ (~key[-1]).replicate(fmt.width - 1), ~key[-1]))[: fmt.width]


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
        super().__init__(
            {
                "valid": In(1),
                "first": In(1),
                "last": In(1),
                "data": In(lanes * fmt.width),
                "output_valid": Out(1),
                "maximum": Out(fmt.width),
            }
        )

    @property
    def latency(self):
        """Keys, levels of a group's tree, the running maximum, levels of the tree over groups."""
        return 2 + (self._lanes // self._groups - 1).bit_length() + (self._groups - 1).bit_length()

    def elaborate(self, platform):
        m = Module()
        fmt, size = self._fmt, self._lanes // self._groups
        levels = (size - 1).bit_length()
        keys = [
            register(m, order_key(m, self.data.word_select(lane, fmt.width), fmt, f"key_{lane}"), f"key_{lane}_1")
            for lane in range(self._lanes)
        ]
        valid, first, last = (
            register(m, value, name, 1 + levels, keep)
            for value, name, keep in (
                (self.valid, "valid", True),
                (self.first, "first", False),
                (self.last, "last", False),
            )
        )
        running = []
        for group in range(self._groups):
            top = _reduced(m, keys[group * size : (group + 1) * size], f"group_{group}")
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
        keys = [
            register(m, _larger(m, a, b, f"{name}_{level}_{n}_larger"), f"{name}_{level}_{n}")
            for n, (a, b) in enumerate(zip(keys[::2], keys[1::2], strict=True))
        ]
        level += 1
    return keys[0]


# Weights -------------------------------------------------------------------------------------------------------------


def weight_maximum(m, maximum, *, score, fabric, name="maximum_"):
    """The maximum of a row as :func:`softmax_weight` takes it.

    For cells it is the number itself. On an FPGA numbers of few exponent bits become fixed point, once for all lanes: a
    signed integer, and flags of infinities and NaN.
    """
    if not _is_fixed(score, fabric):
        return maximum
    u = unpack(m, maximum, score, f"{name}number")
    placed = wire(m, _placed(u, score), f"{name}placed")
    return Cat(Mux(u.sign, -placed, placed)[: _fixed_bits(score) + 1], u.inf, u.nan)


def _is_fixed(score, fabric):
    return fabric == "xilinx" and score.exponent_bits <= 5


def _fixed_bits(score):
    """Bits of the magnitude of a number in units of half the smallest number."""
    return score.exponent_max - 1 + score.precision


def _placed(u, score):
    return (u.significand << u.exponent)[: _fixed_bits(score)]


@operator
def softmax_weight(p, maximum, value, *, score, table):
    """``exp(value - maximum)``: the bits of :func:`softmax_exp`.

    For cells it is :func:`softmax_exp` itself. For an FPGA it has fixed-point scores where they are short enough, and its
    products are made of carry chains. The DSP block of a lane is left for the quotient.

    Parameters
    ----------
    maximum : value from :func:`weight_maximum`
    value : value of ``score.width`` bits
    score, table : as in :func:`softmax_exp`
    """
    if p.fabric != "xilinx":
        return softmax_exp(p, maximum, value, score=score, table=table)
    m, bits = p.module, table.integer_bits + table.fraction_bits
    if _is_fixed(score, p.fabric):
        size = _fixed_bits(score)
        u = unpack(m, value, score, "value")
        masked = u.inf & u.sign
        p.nan = maximum[-1] | u.nan | (maximum[-2] & u.inf & ~masked)
        p.zero = maximum[-2] | u.inf
        p.top, p.value, p.sign = maximum[: size + 1].as_signed(), _placed(u, score), u.sign
        p.cut(10)
        minus = Cat(~p.sign, p.value ^ (~p.sign).replicate(size), ~p.sign).as_signed()
        total = Cat(Const(1, 1), p.top).as_signed() + minus
        p.difference = total[1 : size + 2]  # never negative
        p.cut(CHAIN)
        drop = score.bias + score.fraction_bits - table.fraction_bits
        p.x = p.difference[drop : drop + bits] | p.difference[drop + bits :].any().replicate(bits)
        p.cut(4)
        _times_log2_e(p)
        p.scaled = p.multiple[table.constant_bits : bits + table.constant_bits + 1]
    else:
        _difference(p, maximum, value, score, table)

    low_bits = table.fraction_bits - table.index_bits
    p.whole = p.scaled[table.fraction_bits :]
    p.start, p.slope = _look_up(m, p.scaled[low_bits : table.fraction_bits], [table.values[:-1], table.slopes], "chord")
    p.low = p.scaled[:low_bits]
    p.cut(3)
    fall = _added(p, [(p.slope & bit.replicate(len(p.slope))) << n for n, bit in enumerate(p.low)], "fall")[low_bits:]
    p.power = (p.start - fall)[: table.value_bits + 1]
    p.cut(CHAIN)
    rounded = _rounded_power(p, table)
    return Mux(p.nan, table.io.nan, Mux(p.zero, 0, rounded))[: table.io.width]


def _times_log2_e(p):
    """``multiple = x * 378194``, the constant of :class:`ExpTable`: 378194 = 2 (23 * 2**13 + 681). Six carry chains."""
    p.five, p.three = p.x + (p.x << 2), p.x + (p.x << 1)
    p.cut(CHAIN)
    p.eighty_five, p.twenty_three = p.five + (p.five << 4), (p.three << 3) - p.x
    p.cut(CHAIN)
    p.low_multiple = (p.eighty_five << 3) + p.x
    p.cut(CHAIN)
    p.multiple = Cat(Const(0, 1), p.low_multiple[:13], (p.low_multiple >> 13) + p.twenty_three)
    p.cut(CHAIN)


def _added(p, rows, name):
    """Sum of values: a tree of carry chains with a place for registers behind each level."""
    level = 0
    while len(rows) > 1:
        for n, pair in enumerate(zip(rows[::2], [*rows[1::2], None][: len(rows[::2])], strict=True)):
            p[f"{name}_{level}_{n}"] = pair[0] if pair[1] is None else pair[0] + pair[1]
        names = [f"{name}_{level}_{n}" for n in range((len(rows) + 1) // 2)]
        p.cut(CHAIN)
        rows, level = [p[one] for one in names], level + 1
    return rows[0]


def _rounded_power(p, table):
    """Shift ``power`` to the grid of the result and round: the last part of :func:`softmax_exp`."""
    m, io = p.module, table.io
    normal = io.bias - 2
    reach = (table.value_bits + 1).bit_length()
    distance = wire(m, p.whole - normal, "distance")
    p.subnormal = ~distance[-1]
    below = Mux(distance[:-1] > table.value_bits + 1, table.value_bits + 1, distance[:-1])[:reach]
    drop = table.value_bits - io.precision
    moved, lost = shift_right(m, p.power, below & p.subnormal.replicate(reach), name="lowered")
    p.kept = moved[drop:]
    p.up = moved[drop - 1] & (moved[: drop - 1].any() | lost | moved[drop])
    p.field = (normal - p.whole)[: io.exponent_bits] & ~p.subnormal.replicate(io.exponent_bits)
    p.cut(16)
    return (Cat(Const(0, io.fraction_bits), p.field) + p.kept + p.up)[: io.width]


class WeightLanes(wiring.Component):
    """The weights of some scores of a row, ``config.exp_depth`` cycles later.

    The unit has several of these, which are mapped and compiled once.

    Attributes
    ----------
    lanes : :class:`int`

    Members
    -------
    maximum : ``In(...)``, from :func:`weight_maximum`
    data : ``In(lanes * score.width)``
    weights : ``Out(lanes * io.width)``
    """

    def __init__(self, config):
        self.config = config
        rule = config.rule
        score, self.lanes = rule.score, min(rule.lanes, PART_LANES)
        super().__init__(
            {
                "maximum": In(_fixed_bits(score) + 3 if _is_fixed(score, config.fabric) else score.width),
                "data": In(self.lanes * score.width),
                "weights": Out(self.lanes * rule.io.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rule = self.config.rule
        for lane in range(self.lanes):
            m.d.comb += self.weights.word_select(lane, rule.io.width).eq(
                softmax_weight(
                    m,
                    self.maximum,
                    self.data.word_select(lane, rule.score.width),
                    score=rule.score,
                    table=rule.table,
                    depth=self.config.exp_depth,
                    fabric=self.config.fabric,
                    name=f"lane_{lane}_",
                )
            )
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
    a, b = a[: fmt.width - 1], b[: fmt.width - 1]
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
    total = Cat(
        add_rows(m, [*([(p.big[k], 0), (p.moved[k + 2], 0)] for k in range(size)), []], name="sum", fabric=p.fabric)
    )
    p.total, p.low = total, p.moved[:2]
    p.cut(CHAIN if p.fabric == "xilinx" else 12)

    # The exponent rises by one if the sum does not fit, or if two subnormal numbers make a normal one (by its carry).
    over = p.total[size]
    kept = Mux(over, p.total[1 : size + 1], p.total[:size])
    guard = Mux(over, p.total[0], p.low[1])
    rest = p.sticky | p.low[0] | (over & p.low[1])
    up = wire(m, guard & (rest | kept[0]), "up")
    field = p.exponent - p.normal
    high = Cat(kept[:f], Mux(over, field + 1, field)[:e], Const(0, 1))
    rounded = wire(m, (high + Cat(up, Const(0, f - 1), kept[f]))[: fmt.width], "rounded")
    infinite = wire(m, p.exponent.all() | rounded[f:-1].all() | rounded[-1], "infinite")
    p.result = Cat(rounded[:f] & (~infinite).replicate(f), rounded[f:-1] | infinite.replicate(e), Const(0, 1))
    return p.result


class GroupSum(wiring.Component):
    """Sum of the weights of a group of lanes, by a binary tree of rounded additions.

    Timing: ``sum`` follows ``data`` by ``latency_of(config)`` cycles.

    Members
    -------
    data : ``In(lanes / groups * io.width)``
    sum : ``Out(acc.width)``
    """

    @staticmethod
    def latency_of(config):
        """Clocks from weights to their sum."""
        rule = config.rule
        return (rule.acc != rule.io) + config.add_depth * (rule.lanes // rule.groups - 1).bit_length()

    def __init__(self, config):
        self.config = config
        rule = config.rule
        self._size = rule.lanes // rule.groups
        super().__init__({"data": In(self._size * rule.io.width), "sum": Out(rule.acc.width)})

    def elaborate(self, platform):
        m = Module()
        rule = self.config.rule
        terms = [self.data.word_select(lane, rule.io.width) for lane in range(self._size)]
        if rule.acc != rule.io:
            terms = [
                convert(m, one, source=rule.io, target=rule.acc, depth=1, name=f"term_{lane}_")
                for lane, one in enumerate(terms)
            ]
        m.d.comb += self.sum.eq(_sum_tree(m, terms, self.config, "sum"))
        return m


def _sum_tree(m, values, config, name):
    """Sum of numbers by a binary tree of neighbours; each level takes ``config.add_depth`` cycles."""
    level = 0
    while len(values) > 1:
        values = [
            add_positive(
                m, a, b, fmt=config.rule.acc, depth=config.add_depth, fabric=config.fabric, name=f"{name}_{level}_{n}_"
            )
            for n, (a, b) in enumerate(zip(values[::2], values[1::2], strict=True))
        ]
        level += 1
    return values[0]


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
        super().__init__(
            {
                "valid": In(1),
                "first": In(1),
                "last": In(1),
                "data": In(rule.lanes * rule.io.width),
                "output_valid": Out(1),
                "sum": Out(rule.acc.width),
            }
        )

    @property
    def latency(self):
        rule = self.config.rule
        if rule.sums == "window":
            return self.config.window_depth + 1 + Rounder.LATENCY
        rest = self.config.add_depth * (rule.groups * rule.chains - 1).bit_length()
        return GroupSum.latency_of(self.config) + rule.chains + rest

    def elaborate(self, platform):
        m = Module()
        rule = self.config.rule
        io = rule.io
        weights = [self.data.word_select(lane, io.width) for lane in range(rule.lanes)]
        # The sum of a row with a NaN is NaN. What the adders make of it does not matter.
        nan = wire(m, Cat(one[io.fraction_bits : -1].all() for one in weights).any(), "nan")
        if rule.sums == "window":
            self._add_window(m, weights, nan)
        else:
            self._add_floats(m, platform, nan)
        return m

    def _delayed(self, m, nan, depth):
        """Strobes of a beat, and whether it has a NaN, beside the sums of its groups."""
        return (
            register(m, self.valid, "valid_late", depth, keep=True),
            register(m, self.first, "first_late", depth),
            register(m, self.last, "last_late", depth),
            register(m, nan, "nan_late", depth),
        )

    def _add_window(self, m, weights, nan):
        window, depth = self.config.rule.window, self.config.window_depth
        total = window_sum(m, *weights, window=window, depth=depth, fabric=self.config.fabric, name="window_")
        valid, first, last, nan = self._delayed(m, nan, depth)
        kept, bad = Signal(window.width, name="total", reset_less=True), Signal(name="bad", reset_less=True)
        with m.If(valid):
            m.d.sync += [kept.eq(Mux(first, 0, kept) + total), bad.eq((~first & bad) | nan)]
        m.submodules.rounder = rounder = Rounder(
            window.result, width=window.width + 1, exponent_max=0, unit=-window.fraction_bits
        )
        m.d.comb += [
            rounder.value.eq(kept),
            rounder.nan.eq(bad),
            self.sum.eq(rounder.bits),
            self.output_valid.eq(register(m, valid & last, "done", 1 + Rounder.LATENCY, keep=True)),
        ]

    def _add_floats(self, m, platform, nan):
        config, rule = self.config, self.config.rule
        acc, chains = rule.acc, rule.chains
        groups = [GroupSum(config) for _ in range(rule.groups)]
        valid, first, last, nan = self._delayed(m, nan, GroupSum.latency_of(config))
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
        for number, group in enumerate(groups):
            m.submodules[f"group_{number}"] = shared(platform, group, "group_sum", part=True)
            m.d.comb += group.data.eq(self.data.word_select(number, len(group.data)))
            kept = Array(Signal(acc.width, name=f"kept_{number}_{n}", reset_less=True) for n in range(chains))
            chained = add_positive(
                m,
                Mux(young, 0, kept[place]),
                group.sum,
                fmt=acc,
                depth=chains - 1,
                fabric=config.fabric,
                name=f"chain_{number}_",
            )
            with m.If(writes):
                m.d.sync += kept[target].eq(chained)
            # Accumulators of short rows that no beat has reached hold what earlier rows left.
            leaves += [Mux(beats > n, one, 0) if chains > 1 else one for n, one in enumerate(kept)]
        total = _sum_tree(m, leaves, config, "total")
        rest = config.add_depth * (len(leaves) - 1).bit_length()
        m.d.comb += [
            self.sum.eq(Mux(register(m, bad, "bad_late", chains - 1 + rest), acc.nan, total)),
            self.output_valid.eq(register(m, valid & last, "done", chains + rest, keep=True)),
        ]


@operator
def window_sum(p, *weights, window):
    """Weights in 0..1, each truncated to ``window.fraction_bits``, and added. NaN gives some number."""
    m, io = p.module, window.io
    left, size = window.fraction_bits - io.fraction_bits, window.fraction_bits + 1
    columns: Any = [[] for _ in range(size + (len(weights) - 1).bit_length())]
    for lane, bits in enumerate(weights):
        u = unpack(m, bits, io, f"weight_{lane}")
        below = wire(
            m, (io.bias + max(-left, 0) - u.exponent)[: (io.bias + max(-left, 0)).bit_length()], f"below_{lane}"
        )
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
    return data.StructLayout(
        {"factor": rule.quotient_bits + 1, "down": range(rule.max_tokens.bit_length() + 1), "nan": 1, "zero": 1}
    )


@operator
def row_scale(p, total, *, rule):
    """The :func:`scale_layout` of a sum that is at least 1, 0, infinite or NaN.

    Restoring division gives a bit of R in each row of gates. There is a place for a register behind each row.
    """
    m, acc, bits = p.module, rule.acc, rule.quotient_bits
    u = unpack(m, total, acc, "total")
    p.nan, p.zero = u.nan | u.zero, u.inf
    p.down = (u.exponent - acc.bias)[: Shape.cast(range(rule.max_tokens.bit_length() + 1)).width]
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
        p.rest = Mux(fits, less, doubled)[: acc.precision]
        p.cut(row)
    p.rounded = (p.factor + p.rest.any())[: bits + 1]
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
    exponent = wire(m, Cat(weight[f] | ~normal, weight[f + 1 : -1]) - view.down, "exponent")
    p.low = exponent < 2
    p.field = (exponent - 1)[: io.exponent_bits]
    reach = (size + 2).bit_length()
    right = wire(m, 1 - exponent, "right")
    p.right = Mux(right > size + 1, size + 1, right)[:reach]
    p.keep(x=Cat(weight[:f], normal), y=view.factor)
    p.cut(10)
    columns = product_columns(p, p.x, p.y, booth=False)
    columns = compress(p, columns, name="product", step=8)
    p.product = Cat(add_rows(m, columns, name="product_sum", fabric=p.fabric))[: size + bits]
    p.cut(CHAIN if p.fabric == "xilinx" else 14)

    # The product without its last bits has `bits` bits. Its top bit is 1, or, for a normal weight, the next one.
    whole = p.product[size:]
    cut = bits - size - 2
    word = Cat(whole[:cut].any(), whole[cut:]) if cut > 0 else whole
    once = wire(m, ~p.low & ~word[-1], "once")
    shifted, lost = shift_right(m, word, p.right & p.low.replicate(reach), name="lowered")
    p.word = Mux(once, Cat(Const(0, 1), word[:-1]), shifted)
    p.lost = lost
    p.exponent_field = Mux(p.low, 0, p.field - once)[: io.exponent_bits]
    p.cut(4 + 2 * reach)
    kept, guard, rest = p.word[-size:], p.word[-size - 1], p.word[: -size - 1].any() | p.lost
    up = guard & (rest | kept[0])
    rounded = wire(
        m, (Cat(kept[:f], p.exponent_field, Const(0, 1)) + Cat(up, Const(0, f - 1), kept[f]))[: io.width], "rounded"
    )
    return Mux(p.nan, io.nan, Mux(p.zero, 0, rounded))[: io.width]


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
        super().__init__(
            {"weight": In(rule.io.width), "scale": In(scale_layout(rule).size), "result": Out(rule.io.width)}
        )

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.result.eq(
            quotient(
                m,
                self.weight,
                self.scale,
                rule=self.config.rule,
                depth=self.config.quotient_depth,
                fabric=self.config.fabric,
            )
        )
        return m
