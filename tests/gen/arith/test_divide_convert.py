# amaranth: UnusedElaboratable=no
"""Division, square root, comparison and conversion: their Verilog against NumPy and binary64, over every value where that
is possible. Many operators share one module, so that Verilator compiles once."""

import numpy as np
import pytest
from amaranth import *
from amaranth.back import verilog
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from bankside.constraints.core.formats import BF16, FP16, FP32, float_format
from bankside.cosim.bench.streams import Items, StreamPort, play
from bankside.cosim.bench.vectors import evaluate
from bankside.gen.arith import (
    IterativeDivider,
    IterativeSquareRoot,
    compare,
    convert,
    divide,
    from_integer,
    maximum,
    minimum,
    round_to_integral,
    square_root,
    to_integer,
)
from bankside.models.numerics import from_float64, order_key, to_float64

pytestmark = pytest.mark.xdist_group("arith_divide_convert")

E2M1, E2M5, E3M2, E3M10, E4M3, E5M2 = (float_format(n) for n in ("e2m1", "e2m5", "e3m2", "e3m10", "e4m3", "e5m2"))
EVERY_16 = np.arange(1 << 16)
MASK_64 = (1 << 64) - 1


class Battery(wiring.Component):
    """Operators side by side: each of ``cases`` is a function of the module and the inputs, called with ``depth``."""

    def __init__(self, inputs, cases, depth):
        self._inputs = {name: Signal(width) for name, width in inputs.items()}
        self._module = Module()
        self._results = [
            Cat(build(self._module, *self._inputs.values(), depth=depth, name=f"u{number}_"))
            for number, (build, _) in enumerate(cases)
        ]
        self.widths = [len(result) for result in self._results]
        super().__init__(
            {
                **{name: In(width) for name, width in inputs.items()},
                **{f"o{n}": Out(width) for n, width in enumerate(self.widths)},
            }
        )

    def elaborate(self, platform):
        m = self._module
        for name, signal in self._inputs.items():
            m.d.comb += signal.eq(getattr(self, name))
        for number, result in enumerate(self._results):
            m.d.comb += getattr(self, f"o{number}").eq(result)
        return m


def check(inputs, cases, vectors, *, depth=0):
    """Evaluate a battery and compare every case with its expectation, an array of bits by vector."""
    battery = Battery(inputs, cases, depth)
    text = verilog.convert(battery, name="battery", emit_src=False, strip_internal_attrs=True)
    got = evaluate(
        text,
        "battery",
        list(inputs.items()),
        [(f"o{n}", w) for n, w in enumerate(battery.widths)],
        vectors,
        latency=depth,
    )
    for number, (_, expected) in enumerate(cases):
        found = got[f"o{number}"].astype(np.uint64)
        expected = np.asarray(expected).astype(np.uint64)
        wrong = np.flatnonzero(found != expected)
        assert not len(wrong), (
            f"case {number}: {len(wrong)} of {len(found)} wrong, first at "
            f"{[hex(int(v[wrong[0]])) for v in vectors.values()]}: {int(found[wrong[0]]):#x}, not "
            f"{int(expected[wrong[0]]):#x}"
        )


def case(operator, expected, *operands, **options):
    """An operator on slices of the inputs (functions of them) with its expectation."""

    def build(m, *inputs, **place):
        return operator(m, *(operand(*inputs) for operand in operands), **options, **place)

    return build, expected


# Expectations --------------------------------------------------------------------------------------------------------


def flushed(bits, fmt):
    """Subnormal numbers as zeros."""
    return np.where(bits & fmt.infinity, bits, bits & fmt.sign_mask)


def rounded(values, fmt, flush=False):
    """Binary64 results rounded to a format, directly by NumPy where it has the format."""
    with np.errstate(all="ignore"):
        if fmt is FP16:
            bits = values.astype(np.float16).view(np.uint16).astype(np.int64)
        elif fmt is FP32:
            bits = values.astype(np.float32).view(np.uint32).astype(np.int64)
        else:
            bits = from_float64(values, fmt)
        bits = np.where(np.isnan(values), fmt.nan, bits)
        tiny = np.abs(values) < 2.0 ** (1 - fmt.bias)
    return np.where(tiny & flush, np.signbit(values) * fmt.sign_mask, bits)


def function(operation, fmt, *operands, flush=False, target=None):
    """A correctly rounded function: binary64 has 2 p + 2 bits, so that rounding twice does no harm."""
    with np.errstate(all="ignore"):
        values = operation(*(to_float64(flushed(x, fmt) if flush else x, fmt) for x in operands))
    return rounded(values, target or fmt, flush)


def integers(bits, fmt, width, signed):
    """Whole numbers nearest to the values, saturated, as bits; NaN as the largest."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    values = np.rint(to_float64(bits, fmt))
    large, small = np.isnan(values) | (values >= high + 1), values < low
    values = np.where(large | small, 0, values)
    whole = np.where(values < 0, values, 0).astype(np.int64).view(np.uint64) + np.maximum(values, 0).astype(np.uint64)
    mask = MASK_64 >> (64 - width)
    return np.where(large, np.uint64(high & mask), np.where(small, np.uint64(low & mask), whole & np.uint64(mask)))


def larger(a, b, fmt, largest):
    nan_a, nan_b = np.isnan(to_float64(a, fmt)), np.isnan(to_float64(b, fmt))
    chosen = np.where((order_key(a, fmt) > order_key(b, fmt)) == largest, a, b)
    return np.where(nan_a & nan_b, fmt.nan, np.where(nan_a, b, np.where(nan_b, a, chosen)))


def relation(a, b, fmt):
    x, y = to_float64(a, fmt), to_float64(b, fmt)
    return (x < y) | (x == y) << 1 | (x > y) << 2 | (np.isnan(x) | np.isnan(y)) << 3


def corners(fmt):
    """Zeros, ends of the subnormal and normal range, neighbours of 1 and 2, infinity, NaN, each with both signs."""
    one = fmt.bias << fmt.fraction_bits
    found = [
        0,
        1,
        2,
        3,
        fmt.smallest_normal - 1,
        fmt.smallest_normal,
        fmt.smallest_normal + 1,
        one - 1,
        one,
        one + 1,
        one + (1 << fmt.fraction_bits) - 1,
        one + (1 << fmt.fraction_bits),
        fmt.largest - 1,
        fmt.largest,
        fmt.infinity,
        fmt.infinity + 1,
        fmt.nan,
    ]
    return np.array(found + [x | fmt.sign_mask for x in found])


def pairs(fmts, count, seed=1):
    """All pairs of corners; random bits; quotients around the smallest normal number and near 1."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 1 << fmts[0].width, (2, count))
    near = count // 4
    b[:near] = a[:near] ^ rng.integers(0, 1 << 6, near)
    grids = [np.meshgrid(corners(fmt), corners(fmt)) for fmt in fmts]
    return tuple(np.concatenate([*(grid[k].ravel() for grid in grids), x]) for k, x in enumerate((a, b)))


# Pipelined operators -------------------------------------------------------------------------------------------------


def test_pairs_of_16_bits():
    """A million random pairs, and pairs of corners: quotients, order, maximum and minimum of both formats."""
    a, b = pairs((FP16, BF16), 1_000_000)
    first, second = (lambda a, b: a), (lambda a, b: b)
    cases = []
    for fmt in (FP16, BF16):
        cases += [
            case(divide, function(np.divide, fmt, a, b, flush=flush), first, second, fmt=fmt, flush_to_zero=flush)
            for flush in (False, True)
        ]
        cases += [
            case(op, larger(a, b, fmt, largest), first, second, fmt=fmt)
            for op, largest in ((maximum, True), (minimum, False))
        ]
        cases.append(case(compare, relation(a, b, fmt), first, second, fmt=fmt))
        cases.append(
            case(compare, relation(flushed(a, fmt), flushed(b, fmt), fmt), first, second, fmt=fmt, flush_to_zero=True)
        )
    check({"a": 16, "b": 16}, cases, {"a": a, "b": b})


def every_16():
    """Cases of one operand over all its values, and of pairs of small formats."""
    whole, low, high = (lambda a: a), (lambda a: a[:8]), (lambda a: a[8:])
    a, b = EVERY_16 & 0xFF, EVERY_16 >> 8
    cases = []
    for fmt in (FP16, BF16):
        for flush in (False, True):
            values = flushed(EVERY_16, fmt) if flush else EVERY_16
            cases.append(
                case(square_root, function(np.sqrt, fmt, EVERY_16, flush=flush), whole, fmt=fmt, flush_to_zero=flush)
            )
            cases += [
                case(
                    convert,
                    rounded(to_float64(values, fmt), target, flush),
                    whole,
                    source=fmt,
                    target=target,
                    flush_to_zero=flush,
                )
                for target in (FP16, BF16, FP32, E3M10)
            ]
        cases.append(case(round_to_integral, function(np.rint, fmt, EVERY_16), whole, fmt=fmt))
        cases += [
            case(to_integer, integers(EVERY_16, fmt, width, signed), whole, fmt=fmt, width=width, signed=signed)
            for width in (2, 16, 32)
            for signed in (False, True)
        ]
        for signed in (False, True):
            values = EVERY_16.astype(np.int16).astype(np.int64) if signed else EVERY_16
            cases.append(case(from_integer, rounded(values.astype(np.float64), fmt), whole, fmt=fmt, signed=signed))
    cases.append(case(round_to_integral, function(np.rint, E3M10, EVERY_16 & 0x3FFF), lambda a: a[:14], fmt=E3M10))
    for fmt in (E2M5, E4M3):
        for flush in (False, True):
            cases.append(
                case(divide, function(np.divide, fmt, a, b, flush=flush), low, high, fmt=fmt, flush_to_zero=flush)
            )
            cases.append(case(square_root, function(np.sqrt, fmt, a, flush=flush), low, fmt=fmt, flush_to_zero=flush))
            values = flushed(a, fmt) if flush else a
            cases.append(case(round_to_integral, function(np.rint, fmt, values), low, fmt=fmt, flush_to_zero=flush))
            cases.append(
                case(
                    to_integer, integers(values, fmt, 3, True), low, fmt=fmt, width=3, signed=True, flush_to_zero=flush
                )
            )
            cases += [
                case(
                    convert,
                    rounded(to_float64(values, fmt), target, flush),
                    low,
                    source=fmt,
                    target=target,
                    flush_to_zero=flush,
                )
                for target in (E2M5, E5M2, float_format("e5m8"))
            ]
        cases.append(case(maximum, larger(a, b, fmt, True), low, high, fmt=fmt))
        cases.append(case(compare, relation(a, b, fmt), low, high, fmt=fmt))
        cases.append(case(from_integer, rounded(a.astype(np.int8).astype(np.float64), fmt), low, fmt=fmt, signed=True))
    a, b = EVERY_16 & 0x3F, EVERY_16 >> 6 & 0x3F
    cases += [
        case(
            divide,
            function(np.divide, E3M2, a, b, flush=flush),
            lambda a: a[:6],
            lambda a: a[6:12],
            fmt=E3M2,
            flush_to_zero=flush,
        )
        for flush in (False, True)
    ]
    a, b = EVERY_16 & 0xF, EVERY_16 >> 4 & 0xF
    cases.append(case(divide, function(np.divide, E2M1, a, b), lambda a: a[:4], lambda a: a[4:8], fmt=E2M1))
    return cases


def test_every_value():
    """All 65536 values of FP16 and BF16, and all pairs of small formats, of every other operator."""
    check({"a": 16}, every_16(), {"a": EVERY_16})


def test_every_value_pipelined():
    """Registers change nothing: every item follows the one before without a gap."""
    check({"a": 16}, every_16()[::6], {"a": EVERY_16}, depth=3)


@pytest.mark.slow
def test_single_precision():
    """FP32 against NumPy's own operations, and integers of 32 and 64 bits."""
    a, b = pairs((FP32,), 50_000)
    n = np.random.default_rng(2).integers(-(1 << 63), (1 << 63) - 1, len(a)) >> np.arange(len(a)) % 64
    n[:130] = [x + d for x in (1 << k for k in range(24, 63, 3)) for d in (-1, 0, 1, 1 << 24, -(1 << 23))] * 2
    n[65:130] *= -1
    x, y = (v.astype(np.uint32).view(np.float32) for v in (a, b))
    with np.errstate(all="ignore"):
        quotient, root, whole = x / y, np.sqrt(x), np.rint(x)

    def bits(values):
        return np.where(np.isnan(values), FP32.nan, values.view(np.uint32))

    first, second, integer = (lambda a, b, n: a), (lambda a, b, n: b), (lambda a, b, n: n)
    cases = [
        case(divide, bits(quotient), first, second, fmt=FP32),
        case(square_root, bits(root), first, fmt=FP32),
        case(convert, rounded(to_float64(a, FP32), FP16), first, source=FP32, target=FP16),
        case(convert, rounded(to_float64(a, FP32), BF16), first, source=FP32, target=BF16),
        case(round_to_integral, bits(whole), first, fmt=FP32),
        case(from_integer, bits(n.astype(np.float32)), integer, fmt=FP32, signed=True),
        case(from_integer, bits(n.view(np.uint64).astype(np.float32)), integer, fmt=FP32, signed=False),
        case(
            from_integer,
            rounded((n & 0xFFFFFFFF).astype(np.float64), FP16),
            lambda a, b, n: n[:32],
            fmt=FP16,
            signed=False,
        ),
        *(
            case(to_integer, integers(a, FP32, width, signed), first, fmt=FP32, width=width, signed=signed)
            for width in (16, 32, 64)
            for signed in (False, True)
        ),
    ]
    check({"a": 32, "b": 32, "n": 64}, cases, {"a": a, "b": b, "n": n})


def test_integers_as_published():
    """Values of the RISC-V manual's table of conversions, and half-way cases."""

    def of(value):
        return int(rounded(np.array([value]), FP16)[0])

    values = [-np.inf, -1.5, -1.0, -0.5, -0.0, 0.5, 1.5, 2.5, 127.5, np.inf, np.nan]
    vectors = {"a": np.array([of(v) for v in values])}
    check(
        {"a": 16},
        [
            case(
                to_integer,
                [0x80, 0xFE, 0xFF, 0, 0, 0, 2, 2, 0x7F, 0x7F, 0x7F],
                lambda a: a,
                fmt=FP16,
                width=8,
                signed=True,
            ),
            case(to_integer, [0, 0, 0, 0, 0, 0, 2, 2, 0x80, 0xFF, 0xFF], lambda a: a, fmt=FP16, width=8, signed=False),
        ],
        vectors,
    )


# Iterative units -----------------------------------------------------------------------------------------------------


def side_by_side(units, ports):
    """Verilog of units, each with its own streams, in one module."""
    texts = [
        verilog.convert(unit, name=f"unit{n}", emit_src=False, strip_internal_attrs=True)
        for n, unit in enumerate(units)
    ]
    declarations, connections = ["input clk, input rst"], [[] for _ in units]
    for port in ports:
        forward, backward = ("input", "output") if port.is_input else ("output", "input")
        declarations.append(
            f"{forward} {port.name}__valid, {backward} {port.name}__ready, "
            f"{forward} [{port.width - 1}:0] {port.name}__payload"
        )
        connections[int(port.name[1:])] += [
            f".{port.name[0]}__{x}({port.name}__{x})" for x in ("valid", "ready", "payload")
        ]
    instances = [f"unit{n} u{n} (.clk(clk), .rst(rst), {', '.join(c)});" for n, c in enumerate(connections)]
    return "\n".join([*texts, f"module units ({', '.join(declarations)});", *instances, "endmodule", ""])


def test_iterative_units_under_pressure():
    """Quotients and roots with stalls on both sides, some bits per cycle more or less; nothing lost or mixed up."""
    kinds = [(FP16, 1, False), (FP16, 3, False), (FP16, 2, True), (BF16, 2, False), (E2M5, 4, False), (FP32, 1, False)]
    units, items, expected, ports = [], {}, [], []
    for fmt, bits, flush in kinds:
        a, b = pairs((fmt,), 4000)
        options = {"bits_per_cycle": bits, "flush_to_zero": flush}
        with np.errstate(all="ignore"):
            if fmt is FP32:
                x, y = (v.astype(np.uint32).view(np.float32) for v in (a, b))
                quotient, root = (np.where(np.isnan(v), FP32.nan, v.view(np.uint32)) for v in (x / y, np.sqrt(x)))
            else:
                quotient = function(np.divide, fmt, a, b, flush=flush)
                root = function(np.sqrt, fmt, a, flush=flush)
        for unit, payload, result in ((IterativeDivider, a | b << fmt.width, quotient), (IterativeSquareRoot, a, root)):
            n = len(units)
            units.append(unit(fmt, **options))
            expected.append(result)
            ports += [
                StreamPort(f"i{n}", (2 if unit is IterativeDivider else 1) * fmt.width, True),
                StreamPort(f"o{n}", fmt.width, False),
            ]
            payload = payload.astype(np.uint64)
            columns = [(payload >> np.uint64(8 * k)).astype(np.uint8) for k in range(ports[-2].payload_bytes)]
            items[f"i{n}"] = Items.of(np.stack(columns, axis=1))
    text = side_by_side(units, ports)
    targets = {f"o{n}": np.array([len(result)]) for n, result in enumerate(expected)}
    run = play(text, "units", ports, items, targets, stalls={p.name: 0.1 for p in ports}, limit=1_000_000)
    assert run.faults == []
    for n, result in enumerate(expected):
        found = run.outputs[f"o{n}"].astype(np.int64)
        found = sum(found[:, k] << 8 * k for k in range(found.shape[1]))
        assert np.array_equal(found, result), (n, np.flatnonzero(found != result)[:5])


def cycles(unit, words):
    """Cycles from each operand to its result."""
    found = []

    async def testbench(ctx):
        ctx.set(unit.o.ready, 1)
        ctx.set(unit.i.valid, 1)
        for word in words:
            ctx.set(Value.cast(unit.i.payload), int(word))
            await ctx.tick()
            ctx.set(unit.i.valid, 0)
            count = 1
            while not ctx.get(unit.o.valid):
                await ctx.tick()
                count += 1
            ctx.set(unit.i.valid, 1)
            found.append(count)

    sim = Simulator(unit)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()
    return np.array(found)


@pytest.mark.parametrize("bits", [1, 2])
def test_latency_of_iterative_units(bits):
    """As documented, for every operand of a small format: constant where it says so, bounded elsewhere."""
    fmt, p = E3M2, E3M2.precision
    code = np.arange(1 << 12)
    a, b = code & 63, code >> 6
    result = function(np.divide, fmt, a, b)
    found = cycles(IterativeDivider(fmt, bits_per_cycle=bits), code)

    def normal(x):
        return ((x & fmt.infinity) != 0) & ((x & fmt.infinity) != fmt.infinity)

    with np.errstate(all="ignore"):
        quotient = np.abs(to_float64(a, fmt) / to_float64(b, fmt))
    plain = normal(a) & normal(b) & normal(result) & (quotient >= 2.0 ** (1 - fmt.bias))
    steps = p + 1 + ((a & 3) < (b & 3))
    assert np.array_equal(found[plain], 1 - -steps[plain] // bits)
    assert found[plain].max() == IterativeDivider(fmt, bits_per_cycle=bits).latency["result"]
    special = [(x & ~fmt.sign_mask == 0) | ((x & fmt.infinity) == fmt.infinity) for x in (a, b)]
    assert (found[special[0] | special[1]] == 1).all()
    assert found.max() <= p - -(2 * p + 1) // bits

    roots = np.arange(64)
    unit = IterativeSquareRoot(fmt, bits_per_cycle=bits)
    found = cycles(unit, roots)
    positive = roots < fmt.sign_mask
    assert (found[positive & normal(roots)] == unit.latency["result"]).all()
    assert unit.latency["result"] == 1 - -(p + 1) // bits
    assert (found[~positive] == 1).all() and found[0] == 1
    assert found.max() <= 1 - -(p + 1 + p // 2) // bits


# Arguments -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "build, error, message",
    [
        (lambda m, a: divide(m, a, Signal(15), fmt=FP16), ValueError, r"^Operand must have 16 bits, not 15$"),
        (lambda m, a: square_root(m, a, fmt=FP32), ValueError, r"^Operand must have 32 bits, not 16$"),
        (lambda m, a: square_root(m, a, fmt="fp16"), TypeError, r"^Format must be a FloatFormat, not 'fp16'$"),
        (lambda m, a: compare(m, a, Signal(8), fmt=FP16), ValueError, r"^Operand b must have 16 bits, not 8$"),
        (lambda m, a: maximum(m, Signal(8), a, fmt=FP16), ValueError, r"^Operand a must have 16 bits, not 8$"),
        (lambda m, a: convert(m, a, source=FP32, target=FP16), ValueError, r"^Operand must have 32 bits, not 16$"),
        (lambda m, a: convert(m, a, source=FP16, target=32), TypeError, r"^Format must be a FloatFormat, not 32$"),
        (
            lambda m, a: to_integer(m, a, fmt=FP16, width=65, signed=True),
            ValueError,
            r"^Width must be 2 to 64 bits, not 65$",
        ),
        (
            lambda m, a: from_integer(m, a[0], fmt=FP16, signed=True),
            ValueError,
            r"^Integer must have 2 to 64 bits, not 1$",
        ),
        (lambda m, a: round_to_integral(m, a, fmt=FP32), ValueError, r"^Operand must have 32 bits, not 16$"),
        (
            lambda m, a: IterativeDivider(FP16, bits_per_cycle=0),
            ValueError,
            r"^Bits per cycle must be 1 or more, not 0$",
        ),
        (
            lambda m, a: IterativeSquareRoot(FP16, bits_per_cycle=1.5),
            TypeError,
            r"^Bits per cycle must be an integer, not 1\.5$",
        ),
        (lambda m, a: IterativeDivider("fp16"), TypeError, r"^Format must be a FloatFormat, not 'fp16'$"),
    ],
)
def test_wrong_arguments(build, error, message):
    with pytest.raises(error, match=message):
        build(Module(), Signal(16))
