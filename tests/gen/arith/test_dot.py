# amaranth: UnusedElaboratable=no
"""Fused dot products and operators on vectors, bit for bit against their models; sums of many beats as streams."""

import numpy as np
import pytest
from amaranth import *
from amaranth.back import verilog
from amaranth.lib import data
from amaranth.sim import Simulator

from bankside.constraints.core.formats import BF16, FP16, FP32, float_format
from bankside.cosim.bench.streams import Items, StreamPort, play
from bankside.gen.arith import (
    DotAccumulator,
    FloatShape,
    StreamOperator,
    dot,
    dot_tree,
    operator,
    vector_add,
    vector_mac,
    vector_multiply,
    vector_scale,
)
from bankside.models import numerics
from bankside.studies.operators import evaluate_operator

TINY, SMALL = float_format("e3m2"), float_format("e4m6")
KINDS = ("bits", "normal", "wide", "near", "tiny", "zeros", "special")


def numbers(rng, fmt, shape, kind):
    """Bit patterns of a kind: any; of magnitudes about 1, or any; few exponents; subnormals; zeros; with specials."""
    if kind == "bits":
        return rng.integers(0, 1 << fmt.width, shape)
    if kind == "normal":
        return numerics.from_float64(rng.normal(size=shape), fmt)
    sign = rng.integers(0, 2, shape) << (fmt.width - 1)
    fraction = rng.integers(0, 1 << fmt.fraction_bits, shape)
    if kind == "wide":
        return sign | rng.integers(0, fmt.exponent_max, shape) << fmt.fraction_bits | fraction
    if kind == "near":
        fraction = rng.choice([0, 1, (1 << fmt.fraction_bits) - 1, 1 << (fmt.fraction_bits - 1)], shape)
        return sign | rng.integers(fmt.bias - 1, fmt.bias + 2, shape) << fmt.fraction_bits | fraction
    if kind == "tiny":
        return sign | rng.integers(0, 3, shape) << fmt.fraction_bits | fraction
    if kind == "zeros":
        return sign | rng.choice([0, 1, fmt.smallest_normal], shape, p=[0.8, 0.1, 0.1])
    specials = rng.choice([fmt.infinity, fmt.negative_infinity, fmt.nan, fmt.infinity | 1, 0], shape)
    return np.where(rng.random(shape) < 0.05, specials, numbers(rng, fmt, shape, "wide"))


def vectors(fmt, lanes, result, count, seed=1):
    """Operands ``count`` of each kind; in a third the lanes cancel each other, in a third the addend cancels the sum."""
    rng = np.random.default_rng(seed)
    a, b = (np.concatenate([numbers(rng, fmt, (count, lanes), kind) for kind in KINDS]) for _ in range(2))
    half = lanes // 2
    a[::3, half : 2 * half], b[::3, half : 2 * half] = a[::3, :half], b[::3, :half] ^ fmt.sign_mask
    c = np.concatenate([numbers(rng, result, count, kind) for kind in KINDS])
    near = numerics.dot(a[1::3], b[1::3], fmt=fmt, result=result)
    c[1::3] = near ^ result.sign_mask ^ (rng.random(len(near)) < 0.3)
    return {"a": a, "b": b, "c": c}


def assert_same(got, want, what, operands):
    bad = np.flatnonzero((got != want).reshape(len(got), -1).any(axis=1))
    assert not bad.size, f"{what}: {bad.size} of {len(got)} differ: " + "; ".join(
        f"{ {name: x[n].tolist() for name, x in operands.items()} } gives {got[n]}, not {want[n]}" for n in bad[:2]
    )


def check(fmt, result, cases, *, depth, count, fabric="asic"):
    """Dot products of one pair of formats side by side, so that one model of them is built.

    ``cases``: lanes, whether the addend is used, window, flush to zero.
    """
    lanes = max(case[0] for case in cases)

    @operator
    def everything(p, a, b, c):
        def one(index, n, addend, window, flush):
            def build(p):
                part = p.part(f"case_{index}")
                part.result = dot(
                    part,
                    a[: n * fmt.width],
                    b[: n * fmt.width],
                    c if addend else None,
                    fmt=fmt,
                    result=result,
                    window=window,
                    flush_to_zero=flush,
                )
                return part

            return build

        return tuple(part.result for part in p.beside(*(one(index, *case) for index, case in enumerate(cases))))

    shape = data.ArrayLayout(FloatShape(fmt), lanes)
    names = [f"r{n}" for n in range(len(cases))]
    component = StreamOperator(
        everything,
        {"a": shape, "b": shape, "c": FloatShape(result)},
        dict.fromkeys(names, FloatShape(result)),
        depth=depth,
        options={"fabric": fabric},
    )
    operands = vectors(fmt, lanes, result, count)
    got = evaluate_operator(component, operands, name="dots")
    for name, (n, addend, window, flush) in zip(names, cases, strict=True):
        want = numerics.dot(
            operands["a"][:, :n],
            operands["b"][:, :n],
            operands["c"] if addend else None,
            fmt=fmt,
            result=result,
            window=window,
            flush_to_zero=flush,
        )
        assert_same(got[name], want, f"{n} lanes, addend {addend}, window {window}, flush {flush}", operands)


# Against the models --------------------------------------------------------------------------------------------------


def test_fp16():
    """The formats of most users, in a pipeline."""
    check(FP16, FP32, [(2, True, None, False), (2, False, 8, True)], depth=7, count=3000)


def test_small_formats():
    """Results that overflow, underflow and cancel all the time; windows narrower than a product and than the result,
    of a power of two, and exact."""
    check(
        TINY,
        SMALL,
        [
            (1, True, None, False),
            (2, False, 2, True),
            (3, True, 5, False),
            (5, True, 16, True),
            (4, False, "exact", True),
            (3, True, "exact", False),
        ],
        depth=0,
        count=4000,
    )


@pytest.mark.slow
@pytest.mark.parametrize("depth", [0, 6])
def test_small_formats_on_an_fpga(depth):
    check(
        TINY,
        SMALL,
        [
            (1, True, None, False),
            (2, False, 2, True),
            (3, True, 5, False),
            (5, True, 16, True),
            (4, False, "exact", True),
            (3, True, "exact", False),
        ],
        depth=depth,
        count=4000,
        fabric="xilinx",
    )


@pytest.mark.slow
def test_fp16_on_an_fpga():
    check(FP16, FP32, [(2, True, None, False), (2, False, 8, True)], depth=7, count=3000, fabric="xilinx")


@pytest.mark.slow
def test_wide_window():
    """Hundreds of bits, added in blocks."""
    check(float_format("e5m2"), FP32, [(2, True, "exact", False)], depth=0, count=2000)


WINDOWS = [(False, None), (True, None), (True, 8), (False, 20), (False, "exact"), (True, "exact")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "fmt, result, depth",
    [
        (FP16, FP32, 0),
        (FP16, FP32, 13),
        (FP16, FP16, 4),
        (BF16, FP32, 4),
        (BF16, BF16, 7),
        (FP32, FP32, 13),
        (TINY, SMALL, 2),
        (SMALL, TINY, 9),
    ],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_many(fmt, result, depth):
    """A hundred thousand vectors of each kind; FP32 without its exact window of a thousand bits."""
    check(
        fmt,
        result,
        [
            (lanes if window[1] != "exact" else lanes - 4, *window, lanes % 2 == 0)
            for lanes, window in enumerate(WINDOWS, 1)
            if window[1] != "exact" or fmt != FP32
        ],
        depth=depth,
        count=100_000,
    )


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [16, 33, 64])
def test_many_lanes(lanes):
    check(FP16, FP32, [(lanes, True, None, False)], depth=5, count=30_000)


def test_vectors():
    """All operators on vectors, and the tree, in one pipeline."""
    lanes = 3

    @operator
    def everything(p, s, a, b, c):
        builds = {
            "tree": lambda p: dot_tree(p, a, b, c[: SMALL.width], fmt=TINY, result=SMALL),
            "flushed_tree": lambda p: dot_tree(
                p, a[: 2 * TINY.width], b[: 2 * TINY.width], fmt=TINY, flush_to_zero=True
            ),
            "scale": lambda p: vector_scale(p, s, a, fmt=TINY),
            "mac": lambda p: vector_mac(p, s, a, c, fmt=TINY, result=SMALL),
            "sum": lambda p: vector_mac(p, s, a, c, fmt=TINY, result=SMALL, fused=False),
            "product": lambda p: vector_multiply(p, a, b, fmt=TINY, flush_to_zero=True),
            "difference": lambda p: vector_add(p, a, b, fmt=TINY, subtract=True),
        }

        def branch(name, build):
            def run(p):
                part = p.part(name)
                part.result = build(part)
                return part

            return run

        return tuple(part.result for part in p.beside(*(branch(*item) for item in builds.items())))

    tiny, small = FloatShape(TINY), FloatShape(SMALL)
    vector, sums = data.ArrayLayout(tiny, lanes), data.ArrayLayout(small, lanes)
    component = StreamOperator(
        everything,
        {"s": tiny, "a": vector, "b": vector, "c": sums},
        {
            "tree": small,
            "flushed_tree": tiny,
            "scale": vector,
            "mac": sums,
            "sum": sums,
            "product": vector,
            "difference": vector,
        },
        depth=6,
    )
    rng = np.random.default_rng(2)
    s, a, b, c = (
        np.concatenate([numbers(rng, fmt, shape, kind) for kind in KINDS])
        for fmt, shape in ((TINY, 1500), (TINY, (1500, lanes)), (TINY, (1500, lanes)), (SMALL, (1500, lanes)))
    )
    operands = {"s": s, "a": a, "b": b, "c": c}
    got = evaluate_operator(component, operands, name="vectors")
    want = {
        "tree": numerics.dot_tree(a, b, c[:, 0], fmt=TINY, result=SMALL),
        "flushed_tree": numerics.dot_tree(a[:, :2], b[:, :2], fmt=TINY, flush_to_zero=True),
        "scale": numerics.vector_scale(s, a, fmt=TINY),
        "mac": numerics.vector_mac(s, a, c, fmt=TINY, result=SMALL),
        "sum": numerics.vector_mac(s, a, c, fmt=TINY, result=SMALL, fused=False),
        "product": numerics.vector_multiply(a, b, fmt=TINY, flush_to_zero=True),
        "difference": numerics.vector_add(a, b, fmt=TINY, subtract=True),
    }
    for name in want:
        assert_same(got[name], want[name], name, operands)


# Sums of many beats --------------------------------------------------------------------------------------------------


def beats(fmt, lanes, count, seed, *, longest=32):
    """Beats of all kinds, mixed, with marks: sums of 1 to ``longest`` beats, some given out more than once."""
    rng = np.random.default_rng(seed)
    operands = vectors(fmt, lanes, fmt, count, seed)
    # Runs of one kind, so that not all sums are NaN.
    runs = np.arange(len(operands["a"]) // 16 * 16).reshape(-1, 16)
    order = runs[rng.permutation(len(runs))].ravel()
    a, b = operands["a"][order], operands["b"][order]
    # In a third of the beats all products have one sign.
    alike = rng.random(len(a)) < 0.3
    sign = np.where(rng.random((alike.sum(), 1)) < 0.5, fmt.sign_mask, 0)
    b[alike] = b[alike] & ~fmt.sign_mask | (a[alike] ^ sign) & fmt.sign_mask
    last = rng.random(len(a)) < 0.3
    first = np.roll(last, 1) & (rng.random(len(a)) < 0.9) | (rng.random(len(a)) < 0.03)
    first[::longest] = True
    last[-1] = True
    return a, b, first, last


def payload(fmt, a, b, first, last):
    bits = [((x[:, lane, None] >> np.arange(fmt.width)) & 1) for x in (a, b) for lane in range(a.shape[1])]
    bits += [first[:, None], last[:, None]]
    return np.packbits(np.concatenate(bits, axis=1).astype(np.uint8), axis=1, bitorder="little")


def played(fmt, a, b, first, last, component, **options):
    """Results through the Verilog, and the cycles it took."""
    text = verilog.convert(component, name="sums", emit_src=False, strip_internal_attrs=True)
    width = component.window.result.width
    ports = [StreamPort("i", 2 * a.shape[1] * fmt.width + 2, True), StreamPort("o", width, False)]
    run = play(
        text,
        "sums",
        ports,
        {"i": Items.of(payload(fmt, a, b, first, last))},
        {"o": np.array([last.sum()])},
        limit=20 * len(a) + 1000,
        **options,
    )
    assert run.faults == []
    return run.outputs["o"].astype(np.int64) @ (1 << 8 * np.arange(run.outputs["o"].shape[1])), run.epochs[0].end_cycle


def test_accumulator():
    """A beat in every cycle, whatever its marks; nothing is lost or changed when either side stalls."""
    a, b, first, last = beats(FP16, 2, 2500, 3)
    # Last, a sum that is shifted out as a whole, when the largest product comes and goes.
    a[-32:-2], b[-32:-2] = 0x7FF, 0x7FF
    a[-2:], b[-2:] = [[0x7BFF, 0], [0xFBFF, 0]], 0x7BFF
    first[-32:], last[-33:] = False, False
    first[-32] = last[-33] = last[-1] = True
    component = DotAccumulator(FP16, 2, beats=32)
    want = numerics.dot_stream(a, b, first, last, fmt=FP16, beats=32)
    got, cycles = played(FP16, a, b, first, last, component)
    np.testing.assert_array_equal(got, want)
    assert cycles <= len(a) + component.latency["result"] + 2
    every = np.ones(len(a), bool)
    got, cycles = played(FP16, a, b, every, every, component)
    np.testing.assert_array_equal(got, numerics.dot(a, b, fmt=FP16))
    assert cycles <= len(a) + component.latency["result"] + 2
    for options in ({"stalls": {"i": 0.3, "o": 0.8}}, {"lazy": True, "stalls": {"o": 0.5}}):
        np.testing.assert_array_equal(played(FP16, a, b, first, last, component, **options)[0], want)


@pytest.mark.slow
@pytest.mark.parametrize("window, depth", [(None, 5), (12, 1), ("exact", 4)])
def test_accumulator_on_an_fpga(window, depth):
    a, b, first, last = beats(FP16, 2, 1500, 4)
    component = DotAccumulator(FP16, 2, beats=32, window=window, depth=depth, fabric="xilinx")
    want = numerics.dot_stream(a, b, first, last, fmt=FP16, beats=32, window=window)
    np.testing.assert_array_equal(played(FP16, a, b, first, last, component)[0], want)


@pytest.mark.parametrize(
    "window, depth, places, flush",
    [(None, 1, 1, False), (9, 3, 2, True), ("exact", 2, None, False), ("exact", 18, 3, True), (16, 12, 9, False)],
)
def test_accumulator_of_small_formats(window, depth, places, flush):
    """In Amaranth's simulator, with pauses on both sides."""
    a, b, first, last = (x[:300] for x in beats(TINY, 3, 60, 5))
    last = last.copy()
    last[-1] = True
    dut = DotAccumulator(
        TINY, 3, result=SMALL, window=window, beats=32, depth=depth, places=places, flush_to_zero=flush
    )
    want = numerics.dot_stream(a, b, first, last, fmt=TINY, result=SMALL, window=window, beats=32, flush_to_zero=flush)
    words = [int.from_bytes(row.tobytes(), "little") for row in payload(TINY, a, b, first, last)]
    rng = np.random.default_rng(1)
    got = []

    async def source(ctx):
        for word in words:
            ctx.set(Value.cast(dut.i.payload), word)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)
            if rng.random() < 0.2:
                await ctx.tick()

    async def sink(ctx):
        cycles = 0
        while len(got) < len(want):
            ctx.set(dut.o.ready, int(rng.random() < 0.5))
            _, _, valid, ready, bits = await ctx.tick().sample(dut.o.valid, dut.o.ready, Value.cast(dut.o.payload))
            if valid and ready:
                got.append(bits)
            cycles += 1
            assert cycles < 20 * len(words), "no more results"

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(source)
    sim.add_testbench(sink)
    sim.run()
    assert got == want.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    "fmt, result, window, depth",
    [
        (FP16, FP32, None, 4),
        (FP16, FP32, "exact", 9),
        (FP16, FP16, 12, 1),
        (BF16, FP32, None, 6),
        (BF16, BF16, None, 14),
        (FP32, FP32, None, 8),
    ],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_accumulator_many(fmt, result, window, depth):
    """A hundred thousand beats and more of 4 lanes."""
    a, b, first, last = beats(fmt, 4, 20_000, 6)
    component = DotAccumulator(fmt, 4, result=result, window=window, beats=32, depth=depth, places=5)
    got, _ = played(fmt, a, b, first, last, component, stalls={"i": 0.1, "o": 0.1})
    np.testing.assert_array_equal(
        got, numerics.dot_stream(a, b, first, last, fmt=fmt, result=result, window=window, beats=32)
    )


# Arguments -----------------------------------------------------------------------------------------------------------


def test_arguments():
    m, word = Module(), Signal(32)
    m._MustUse__silence = True
    with pytest.raises(ValueError, match=r"^Operands must have the same number of lanes, not 2 and 1$"):
        dot(m, word, word[:16], fmt=FP16)
    with pytest.raises(ValueError, match=r"^First operand must have a multiple of 16 bits, not 31$"):
        dot(m, word[:31], word, fmt=FP16)
    with pytest.raises(ValueError, match=r"^Second operand must have 16 bits for each number, not 32$"):
        dot(m, [word[:16]], [word], fmt=FP16)
    with pytest.raises(ValueError, match=r"^First operand must have at least one number$"):
        dot(m, [], [], fmt=FP16)
    with pytest.raises(ValueError, match=r"^Addend must have 32 bits for each number, not 16$"):
        dot(m, word, word, word[:16], fmt=FP16)
    with pytest.raises(TypeError, match=r"^Format must be a FloatFormat, not 'fp16'$"):
        dot(m, word, word, fmt="fp16")
    with pytest.raises(ValueError, match=r"^Bits must be 2 or more, not 1$"):
        dot(m, word, word, fmt=FP16, window=1)
    with pytest.raises(ValueError, match=r"^Scalar must have 16 bits for each number, not 32$"):
        vector_scale(m, word, word, fmt=FP16)
    with pytest.raises(ValueError, match=r"^Depth must be 1 or more, not 0$"):
        DotAccumulator(TINY, 2, depth=0)
    with pytest.raises(ValueError, match=r"^Places must be 1 or more, not 0$"):
        DotAccumulator(TINY, 2, places=0)
    with pytest.raises(ValueError, match=r"^Beats must be 1 or more, not 0$"):
        DotAccumulator(TINY, 2, beats=0)
    with pytest.raises(TypeError, match=r"^'float' object cannot be interpreted as an integer$"):
        DotAccumulator(TINY, 2.0)
