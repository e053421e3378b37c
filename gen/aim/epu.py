# amaranth: UnusedElaboratable=no
"""The hub's extra processing unit: softmax, norms, element-wise sums and products over vectors in the registers."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...constraints.aim.hub import CODES, EPU_COMMANDS, INNER
from ...constraints.core.formats import FP32
from ..arith import DotAccumulator, SoftmaxExp, convert, fma, from_integer, maximum, reciprocal, reciprocal_square_root
from ..blocks.shared import shared
from .engine import Engine
from .registers import Client

__all__ = ["EpuLane", "Epu"]

ONE, MINUS_ZERO = FP32.bias << FP32.fraction_bits, FP32.sign_mask


def _delayed(m, value, name, cycles, *, reset=False):
    for cycle in range(cycles):
        register = Signal(value.shape(), name=f"{name}_{cycle + 1}", reset_less=not reset)
        m.d.sync += register.eq(value)
        value = register
    return value


class EpuLane(wiring.Component):
    """Computes ``e * b + c`` in FP32 for one element per clock; e is the element or ``exp(element - top)``.

    The result is ready ``LATENCY`` cycles later, rounded to ``format`` and to the inner format. With ``off`` it is 0.

    Members
    -------
    x, y : ``In(width)``
    off, exp : ``In(1)``
    add, multiply : ``In(1)``
        With ``add``, y is the addend c, and b is ``factor``. With ``multiply``, y is the factor b, and c is ``addend``.
    top : ``In(width)``; factor, addend : ``In(32)``
        They must not change while elements are in the pipeline.
    result : ``Out(width)``; inner : ``Out(INNER.width)``
    """

    def __init__(self, config):
        self.config = config
        self.LATENCY = SoftmaxExp.LATENCY + 2 + config.lane_depth
        width = config.fmt.width
        super().__init__(
            {
                "x": In(width),
                "y": In(width),
                "off": In(1),
                "exp": In(1),
                "add": In(1),
                "multiply": In(1),
                "top": In(width),
                "factor": In(32),
                "addend": In(32),
                "result": Out(width),
                "inner": Out(INNER.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, fmt = self.config, self.config.fmt
        m.submodules.exponential = exponential = SoftmaxExp(fmt, config.table)
        m.d.comb += [exponential.maximum.eq(self.top), exponential.value.eq(self.x)]
        wait = SoftmaxExp.LATENCY
        x, y = _delayed(m, self.x, "x", wait), _delayed(m, self.y, "y", wait)
        exp, add, times = (_delayed(m, getattr(self, n), n, wait) for n in ("exp", "add", "multiply"))
        a, b, c = (Signal(32, name=name, reset_less=True) for name in "abc")
        other = convert(m, y, source=fmt, target=FP32, name="y_wide_")
        m.d.sync += [
            a.eq(
                Mux(
                    exp,
                    convert(m, exponential.result, source=INNER, target=FP32, name="exp_wide_"),
                    convert(m, x, source=fmt, target=FP32, name="x_wide_"),
                )
            ),
            b.eq(Mux(times, other, self.factor)),
            c.eq(Mux(add, other, self.addend)),
        ]
        total = Signal(32)
        m.d.comb += total.eq(fma(m, a, b, c, fmt=FP32, depth=config.lane_depth, name="fma_"))
        off = _delayed(m, self.off, "off", self.LATENCY - 1)
        m.d.sync += [
            self.result.eq(Mux(off, 0, convert(m, total, source=FP32, target=fmt, name="result_"))),
            self.inner.eq(Mux(off, 0, convert(m, total, source=FP32, target=INNER, name="inner_"))),
        ]
        return m


class Epu(Engine):
    """Executes a command on vectors in registers: passes over the words, one word per clock, with scalar steps between.

    Passes of each command:

    - SOFTMAX: maximum; sum of exp(x - maximum); exp(x - maximum) / sum
    - LAYERNORM: sum; sum of (x - mean)**2; (x - mean) / sqrt(variance + epsilon), as one multiply-add
    - RMSNORM: sum of x**2; x / sqrt(mean square + epsilon)
    - EWADD: x + y, two clocks per word
    - GPR_MUL: x * y, two clocks per word

    ``opsize`` counts words for EWADD and GPR_MUL, elements for all others. A read of the last pass promises the write of
    its result, ``latency`` clocks later.
    """

    def __init__(self, config):
        self.client = Client(latency=EpuLane(config).LATENCY + 2)
        super().__init__(config, EPU_COMMANDS)

    def elaborate(self, platform):
        m = Module()
        config, fmt = self._config, self._config.fmt
        lanes, width = config.lanes, fmt.width
        low = (lanes - 1).bit_length()
        command, registers = self.command, self.registers

        # The command, and the pass in progress.
        op = Signal.like(command.op)
        source, second, target = (Signal.like(command.gpr, name=n) for n in ("source", "second", "target"))
        length = Signal.like(command.opsize)
        words = Signal(range(max(config.beats, 1 << len(command.opsize)) + 1))
        tail = Signal(lanes)  # elements of the last word that exist
        softmax, layer, rms, adds = (op == CODES[n] for n in ("SOFTMAX", "LAYERNORM", "RMSNORM", "EWADD"))
        pairs = adds | (op == CODES["GPR_MUL"])
        by_words = (command.op == CODES["EWADD"]) | (command.op == CODES["GPR_MUL"])
        running, searches, exp, squares, stores = (
            Signal(name=n) for n in ("running", "searches", "exp", "squares", "stores")
        )
        top = Signal(width, reset_less=True)
        factor, addend = Signal(32, reset_less=True), Signal(32, reset_less=True)

        # ---- Words: one read each, or two for pairs ------------------------------------------------------------------
        at, half, issued = Signal.like(words), Signal(), Signal()
        go, whole, last = Signal(), Signal(), Signal()
        m.d.comb += [
            registers.read.eq(running & ~issued),
            registers.read_address.eq(Mux(half, second, source) + at),
            registers.promise.eq(stores & (half | ~pairs)),
            registers.target.eq(target + at),
            go.eq(registers.read & registers.grant),
            whole.eq(go & (half | ~pairs)),
            last.eq(at == words - 1),
        ]
        with m.If(go):
            m.d.sync += half.eq(pairs & ~half)
        with m.If(whole):
            m.d.sync += [at.eq(at + 1), issued.eq(last)]
        there, there_first, there_last = (
            _delayed(m, v, f"there_{n}", 1, reset=True)
            for n, v in (("valid", whole), ("first", at == 0), ("last", last))
        )
        before = Signal(config.word_bits, reset_less=True)
        with m.If(_delayed(m, go & ~half, "first_read", 1, reset=True)):
            m.d.sync += before.eq(registers.read_data)
        x, y = Signal(config.word_bits, reset_less=True), Signal(config.word_bits, reset_less=True)
        off = Signal(lanes, reset_less=True)
        m.d.sync += [
            x.eq(Mux(pairs, before, registers.read_data)),
            y.eq(registers.read_data),
            off.eq(Mux(there_last, ~tail, 0)),
        ]
        valid, first, final = (
            _delayed(m, v, n, 1, reset=True)
            for n, v in (("valid", there), ("first", there_first), ("final", there_last))
        )

        # ---- Maximum --------------------------------------------------------------------------------------------------
        level = [Mux(off[n], fmt.negative_infinity, x.word_select(n, width)) for n in range(lanes)]
        depth = 0
        while len(level) > 1:
            above = []
            for n in range(0, len(level), 2):
                larger = Signal(width, name=f"larger_{depth}_{n // 2}", reset_less=True)
                m.d.sync += larger.eq(maximum(m, level[n], level[n + 1], fmt=fmt, name=f"maximum_{depth}_{n // 2}_"))
                above.append(larger)
            level, depth = above, depth + 1
        found, found_first, found_last = (
            _delayed(m, v, f"found_{n}", depth, reset=True)
            for n, v in (("valid", valid & searches), ("first", first), ("last", final))
        )
        with m.If(found):
            m.d.sync += top.eq(
                maximum(m, Mux(found_first, fmt.negative_infinity, top), level[0], fmt=fmt, name="running_")
            )
        maximum_done = _delayed(m, found & found_last, "maximum_done", 1, reset=True)

        # ---- Lanes ----------------------------------------------------------------------------------------------------
        parts = []
        for n in range(lanes):
            lane = EpuLane(config)
            m.submodules[f"lane_{n}"] = shared(platform, lane, "lane", part=True)
            parts.append(lane)
            m.d.comb += [
                lane.x.eq(x.word_select(n, width)),
                lane.y.eq(y.word_select(n, width)),
                lane.off.eq(off[n]),
                lane.exp.eq(exp),
                lane.add.eq(adds),
                lane.multiply.eq(pairs & ~adds),
                lane.top.eq(top),
                lane.factor.eq(factor),
                lane.addend.eq(addend),
            ]
        comes, comes_first, comes_last = (
            _delayed(m, v, f"comes_{n}", parts[0].LATENCY, reset=True)
            for n, v in (("valid", valid & ~searches), ("first", first), ("last", final))
        )
        m.d.comb += registers.result.eq(Cat(lane.result for lane in parts))
        stored = _delayed(m, comes & stores & comes_last, "stored", 1, reset=True)

        # ---- Sums of all lanes ----------------------------------------------------------------------------------------
        m.submodules.sums = sums = DotAccumulator(
            INNER, lanes, result=FP32, beats=config.beats, depth=config.sum_depth, places=2
        )
        inner_one = INNER.bias << INNER.fraction_bits
        m.d.comb += [
            sums.i.valid.eq(comes & ~stores),
            sums.i.p.first.eq(comes_first),
            sums.i.p.last.eq(comes_last),
            Value.cast(sums.i.p.a).eq(Cat(lane.inner for lane in parts)),
            Value.cast(sums.i.p.b).eq(Cat(Mux(squares, lane.inner, inner_one) for lane in parts)),
        ]

        # ---- Scalar steps: operands do not change until the result is ready ------------------------------------------
        a, b, c, one = (Signal(32, name=f"scalar_{n}", reset_less=True) for n in ("a", "b", "c", "operand"))
        product = fma(m, a, b, c, fmt=FP32, depth=config.lane_depth, name="scalar_fma_")
        inverse = reciprocal(m, one, fmt=FP32, depth=config.scalar_depth, name="reciprocal_")
        root = reciprocal_square_root(m, one, fmt=FP32, depth=config.scalar_depth, name="root_")
        count = from_integer(m, length, fmt=FP32, signed=False, name="count_")
        share = Signal(32, reset_less=True)  # 1 / length
        slow = max(config.lane_depth, config.scalar_depth) + 1
        waited = Signal(range(slow + 1))
        settled = waited == slow

        def step(following):
            m.d.sync += waited.eq(Mux(settled, 0, waited + 1))
            with m.If(settled):
                m.next = following

        def pass_(following, done):
            with m.If(~running & ~done):
                m.d.sync += [running.eq(1), at.eq(0), issued.eq(0)]
            with m.If(done):
                m.d.sync += running.eq(0)
                m.next = following

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.ready.eq(1), self.idle.eq(1)]
                m.d.sync += [
                    op.eq(command.op),
                    source.eq(command.gpr),
                    second.eq(command.gpr1),
                    length.eq(command.opsize),
                    target.eq(Mux(by_words, command.gpr, command.gpr1)),
                    words.eq(Mux(by_words, command.opsize, (command.opsize + (lanes - 1))[low:])),
                    tail.eq(
                        Mux(
                            by_words | (command.opsize[:low] == 0),
                            (1 << lanes) - 1,
                            (Const(1, lanes + 1) << command.opsize[:low]) - 1,
                        )
                    ),
                    waited.eq(0),
                    half.eq(0),
                    searches.eq(0),
                    exp.eq(0),
                    squares.eq(0),
                    stores.eq(0),
                    factor.eq(ONE),
                    addend.eq(MINUS_ZERO),
                ]
                with m.If(self.start):
                    with m.If(by_words):
                        m.d.sync += stores.eq(1)
                        m.next = "STORE"
                    with m.Elif(command.op == CODES["SOFTMAX"]):
                        m.d.sync += searches.eq(1)
                        m.next = "MAXIMUM"
                    with m.Else():
                        m.next = "COUNT"
            with m.State("MAXIMUM"):
                pass_("SUM", maximum_done)
                with m.If(maximum_done):
                    m.d.sync += [searches.eq(0), exp.eq(1)]
            with m.State("COUNT"):  # 1 / length
                m.d.sync += one.eq(count)
                step("FIRST")
                with m.If(settled):
                    m.d.sync += share.eq(inverse)
            with m.State("FIRST"):
                m.d.sync += squares.eq(rms)
                m.next = "SUM"
            with m.State("SUM"):
                m.d.comb += sums.o.ready.eq(1)
                m.d.sync += [
                    a.eq(sums.o.payload),
                    one.eq(sums.o.payload),
                    b.eq(share),
                    c.eq(Mux(squares, config.epsilon_bits, MINUS_ZERO)),
                ]
                with m.If(~running & ~sums.o.valid):
                    m.d.sync += [running.eq(1), at.eq(0), issued.eq(0)]
                with m.If(sums.o.valid):
                    m.d.sync += running.eq(0)
                    with m.If(softmax):
                        m.next = "INVERSE"
                    with m.Else():
                        m.next = "MEAN"
            with m.State("INVERSE"):  # 1 / sum of exponentials
                step("STORE")
                with m.If(settled):
                    m.d.sync += [factor.eq(inverse), stores.eq(1)]
            with m.State("MEAN"):  # of the elements, or of the squares and epsilon
                m.d.sync += waited.eq(Mux(settled, 0, waited + 1))
                with m.If(settled):
                    with m.If(squares):
                        m.d.sync += one.eq(product)
                        m.next = "ROOT"
                    with m.Else():
                        m.d.sync += [addend.eq(product ^ FP32.sign_mask), squares.eq(1)]
                        m.next = "SUM"
            with m.State("ROOT"):  # 1 / sqrt(variance + epsilon)
                step("OFFSET")
                with m.If(settled):
                    m.d.sync += [factor.eq(root), a.eq(addend), b.eq(root), c.eq(MINUS_ZERO)]
            with m.State("OFFSET"):  # -mean / sqrt(variance + epsilon)
                step("STORE")
                with m.If(settled):
                    m.d.sync += [addend.eq(Mux(layer, product, MINUS_ZERO)), stores.eq(1)]
            with m.State("STORE"):
                pass_("IDLE", stored)
        return m
