# amaranth: UnusedElaboratable=no
"""Where registers go, what they delay, and what formats as shapes refuse."""

import itertools

import pytest
from amaranth import *
from amaranth.back import verilog
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from bankside.constraints.core.formats import BF16, FP16, FP32, FloatFormat, float_format
from bankside.gen.arith import FloatLayout, FloatShape, Pipeline, StreamOperator, operator
from bankside.gen.arith.pipeline import partition


@operator
def weave(p, a, b, *, twist=0):
    """Three parts side by side, used again late: a wrong delay anywhere changes the result."""
    p.keep(a=a, b=b)

    def part(q, index):
        q.x = (p.a + index)[:16]
        q.cut(3)
        q.y = (q.x ^ p.b)[:16]
        q.cut(5)
        return (q.y + p.a)[:16]

    first, second, third = p.parallel("part", 3, part)
    p.sum = (first + second + third + twist)[:16]
    p.cut(4)
    return (p.sum ^ p.a)[:16]


def expected(a, b, twist=0):
    return (sum((((a + n) & 0xFFFF) ^ b) + a for n in range(3)) + twist & 0xFFFF) ^ a


def run(component, items, *, valid=lambda n: True, ready=lambda n: True):
    """Results, and the cycle of each, for payloads played to a stream component."""
    results = []

    async def testbench(ctx):
        waiting, cycle = list(items), 0
        while len(results) < len(items):
            assert cycle < 20 * len(items) + 100
            offered = bool(waiting) and valid(cycle)
            ctx.set(component.i.valid, offered)
            ctx.set(Value.cast(component.i.payload), waiting[0] if offered else 0)
            ctx.set(component.o.ready, ready(cycle))
            await ctx.delay(1e-9)
            if ctx.get(component.o.valid) and ready(cycle):
                results.append((ctx.get(Value.cast(component.o.payload)), cycle))
            if offered and ctx.get(component.i.ready):
                waiting.pop(0)
            await (ctx.tick() if component.latency["result"] else ctx.delay(1e-6))
            cycle += 1

    sim = Simulator(component)
    if component.latency["result"]:
        sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()
    return results


def woven(depth):
    return StreamOperator(
        weave,
        {"a": FloatShape(FP16), "b": FloatShape(FP16)},
        {"r": FloatShape(FP16)},
        depth=depth,
        options={"twist": 7},
    )


PAIRS = [(n * 7919 & 0xFFFF, n * 104729 & 0xFFFF) for n in range(40)]


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 5])
def test_any_depth_computes_the_same_so_many_cycles_later(depth):
    """Items without a gap: a value that belongs to a neighbour is wrong. More registers than places follow the result."""
    results = run(woven(depth), [a | b << 16 for a, b in PAIRS])
    assert [r for r, _ in results] == [expected(a, b, 7) for a, b in PAIRS]
    assert [cycle for _, cycle in results] == list(range(depth, depth + len(PAIRS)))


@pytest.mark.parametrize("depth", [1, 3])
def test_stalls_lose_and_mix_nothing(depth):
    results = run(
        woven(depth), [a | b << 16 for a, b in PAIRS], valid=lambda n: n % 5 != 1, ready=lambda n: n * n % 7 > 2
    )
    assert [r for r, _ in results] == [expected(a, b, 7) for a, b in PAIRS]


def test_bubbles_close_while_the_output_stalls():
    """Three stages take three items although nothing leaves."""
    results = run(woven(3), [a | b << 16 for a, b in PAIRS[:3]], valid=lambda n: n % 2 == 0, ready=lambda n: n >= 12)
    assert [cycle for _, cycle in results] == [12, 13, 14]


def test_planted_bug_a_variable_across_a_cut_is_seen():
    """What a pipeline can't know of: the reason why pipelines are proved."""

    @operator
    def careless(p, a, b):
        p.sum = (a + b)[:16]
        p.cut()
        return (p.sum ^ a)[:16]

    pipelined = StreamOperator(
        careless, {"a": FloatShape(FP16), "b": FloatShape(FP16)}, {"r": FloatShape(FP16)}, depth=1
    )
    results = run(pipelined, [a | b << 16 for a, b in PAIRS])
    assert [r for r, _ in results] != [(a + b & 0xFFFF) ^ a for a, b in PAIRS]


def test_partition_is_the_best_there_is():
    for levels in ([3, 5, 4, 1], [1, 1, 9, 1, 1], [7], [2, 2, 2, 2, 2, 2], [9, 1, 1, 1, 8, 3, 3]):
        for depth in range(len(levels) + 1):
            cuts = partition(levels, depth)
            assert cuts == sorted(set(cuts)) and len(cuts) == min(depth, len(levels) - 1)

            def longest(chosen, levels=levels):
                ends = [0, *(cut + 1 for cut in chosen), len(levels)]
                return max(sum(levels[a:b]) for a, b in itertools.pairwise(ends))

            best = min(longest(c) for c in itertools.combinations(range(len(levels) - 1), len(cuts)))
            assert longest(cuts) <= best * 9 / 8 + 1e-9


def test_wrong_use_is_told():
    m = Module()
    p = Pipeline(m)
    with pytest.raises(AttributeError, match=r"^No value 'missing' has been put into the pipeline$"):
        _ = p.missing
    with pytest.raises(ValueError, match=r"^Depth must be 0 or more, not -1$"):
        weave(m, Const(0, 16), Const(0, 16), depth=-1)
    with pytest.raises(ValueError, match=r"^Depth must be 0 or more, not -1$"):
        woven(-1)

    def uneven(q, index):
        for _ in range(index):
            q.cut()

    with pytest.raises(ValueError, match=r"^Parallel parts must have the same cuts, not 0 and 1$"):
        p.parallel("part", 2, uneven)


# ---- Formats as shapes ------------------------------------------------------------------------------------------------


class Source(wiring.Component):
    def __init__(self, shape):
        super().__init__({"o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        return Module()


class Sink(wiring.Component):
    def __init__(self, shape):
        super().__init__({"i": In(stream.Signature(shape))})

    def elaborate(self, platform):
        return Module()


@pytest.mark.parametrize(
    "wrap",
    [lambda s: s, lambda s: FloatLayout({"x": s, "last": 1}), lambda s: FloatLayout({"x": data.ArrayLayout(s, 4)})],
)
def test_formats_of_the_same_width_do_not_connect(wrap):
    half, brain = wrap(FloatShape(FP16)), wrap(FloatShape(BF16))
    wiring.connect(Module(), a=Source(half).o, b=Sink(half).i)
    with pytest.raises(wiring.ConnectionError, match="'b.payload'.*bf16.*'a.payload'.*fp16"):
        wiring.connect(Module(), a=Source(half).o, b=Sink(brain).i)


def test_formats_of_the_same_width_are_not_assigned():
    x, y = Signal(FloatShape(FP16)), Signal(FloatShape(BF16))
    x.eq(Signal(FloatShape(FP16)))
    x.eq(1.5)
    with pytest.raises(TypeError, match=r"^A number of bf16 can't be assigned to one of fp16; convert it$"):
        x.eq(y)


def test_parts_of_a_design_become_verilog():
    """The width that tells formats apart is an ordinary number to everything else."""

    class Pair(wiring.Component):
        def __init__(self):
            super().__init__(
                {
                    "i": In(stream.Signature(FloatLayout({"a": FloatShape(FP16), "b": FloatShape(FP16)}))),
                    "o": Out(stream.Signature(FloatShape(FP16))),
                }
            )

        def elaborate(self, platform):
            m = Module()
            m.submodules.inner = inner = woven(1)
            wiring.connect(m, inner.i, wiring.flipped(self.i))
            wiring.connect(m, inner.o, wiring.flipped(self.o))
            return m

    text = verilog.convert(Pair(), name="pair", emit_src=False)
    assert "input [31:0] i__payload" in text and "\nmodule \\pair.inner (" in text


def test_waveforms_show_numbers(tmp_path):
    x = Signal(FloatShape(BF16), name="x")
    pair = Signal(FloatLayout({"a": FloatShape(FP16), "b": data.ArrayLayout(FloatShape(FP16), 2), "n": 3}), name="pair")
    m = Module()
    m.d.comb += Signal(32).eq(x.as_value() + pair.as_value())

    async def testbench(ctx):
        for bits in (0x3FC0, 0xFF80, 0x7FC0, 0x0001):
            ctx.set(x.as_value(), bits)
            ctx.set(pair.as_value(), 0x3C00 | 0xC000 << 16 | 5 << 48)
            await ctx.delay(1e-6)

    sim = Simulator(m)
    sim.add_testbench(testbench)
    with sim.write_vcd(str(tmp_path / "x.vcd"), traces=[x, pair]):
        sim.run()
    text = (tmp_path / "x.vcd").read_text()
    for shown in ("s1.5 ", "s-inf ", "snan ", f"s{2.0**-133!r} ", "sa=1.0\\x20b=[-2.0,0.0]\\x20n=5 "):
        assert shown in text


def test_formats_by_name():
    assert float_format("fp16") is FP16 and float_format("e5m10") is FP16 and float_format("e8m23") is FP32
    assert float_format("e4m3") == FloatFormat("e4m3", 4, 3)


@pytest.mark.parametrize("width", [2, 3, 4, 5, 6, 9, 10])
@pytest.mark.parametrize("fmt", [BF16, float_format("e4m3")], ids=lambda f: f.name)
def test_every_short_integer_is_converted(width, fmt):
    """-1 is complemented to 0, which is normalised by all of its bits: also where their number is a power of two."""
    from bankside.gen.arith import from_integer
    from bankside.models.numerics import from_float64

    component = StreamOperator(
        from_integer, {"a": signed(width)}, {"r": FloatShape(fmt)}, options={"fmt": fmt, "signed": True}
    )
    values = range(-(1 << (width - 1)), 1 << (width - 1))
    results = run(component, [value & ((1 << width) - 1) for value in values])
    assert [r for r, _ in results] == [int(from_float64(float(value), fmt)) for value in values]
