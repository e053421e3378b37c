# amaranth: UnusedElaboratable=no
"""Fused multiply-add: every triple of small formats, millions of triples of large ones, all through the Verilog."""

from fractions import Fraction

import numpy as np
import pytest
from amaranth import *
from amaranth.back import verilog

from bankside.constraints.core.formats import BF16, FP16, FP32, float_format
from bankside.cosim.bench.vectors import evaluate
from bankside.gen.arith import FloatShape, StreamOperator, fma
from bankside.gen.arith.pipeline import operator
from bankside.models import numerics
from bankside.models.numerics.vectors import operands
from bankside.studies.operators import evaluate_operator

#: Factors and accumulator: one format; a longer fraction; a longer and a shorter exponent; shorter fractions.
PAIRS = {
    "fp16": (FP16, FP16),
    "bf16": (BF16, BF16),
    "fp32": (FP32, FP32),
    "fp16-fp32": (FP16, FP32),
    "bf16-fp32": (BF16, FP32),
    "fp32-fp16": (FP32, FP16),
    "fp16-bf16": (FP16, BF16),
    "fp16-e5m11": (FP16, float_format("e5m11")),
    "e4m3-e8m27": (float_format("e4m3"), float_format("e8m27")),
    "e7m2-e3m12": (float_format("e7m2"), float_format("e3m12")),
    "e11m27": (float_format("e11m27"),) * 2,
}
QUICK = ("fp16", "bf16", "fp32", "fp16-fp32", "fp16-e5m11", "e7m2-e3m12")


def hardware(fmt, acc, a, b, c, **options):
    """Results of the combinational operator."""
    m = Module()
    ports = [Signal(of.width, name=name) for name, of in zip("abc", (fmt, fmt, acc), strict=True)]
    result = Signal(acc.width, name="result")
    m.d.comb += result.eq(fma(m, *ports, fmt=fmt, acc=acc, **options))
    text = verilog.convert(m, ports=[*ports, result], name="unit", emit_src=False, strip_internal_attrs=True)
    return evaluate(text, "unit", [(p.name, len(p)) for p in ports], [("result", acc.width)], {"a": a, "b": b, "c": c})[
        "result"
    ]


def component(fmt, acc, depth, **options):
    shapes = {"a": FloatShape(fmt), "b": FloatShape(fmt), "c": FloatShape(acc)}
    return StreamOperator(
        fma, shapes, {"result": FloatShape(acc)}, depth=depth, options={"fmt": fmt, "acc": acc, **options}
    )


def agree(got, want, *columns):
    wrong = np.flatnonzero(got != want)
    assert not len(wrong), "\n".join(" ".join(f"{int(x[i]):x}" for x in (*columns, got, want)) for i in wrong[:5])


def value(bits, fmt):
    """A number as a fraction; None if it is not finite."""
    exponent, fraction = bits >> fmt.fraction_bits & fmt.exponent_max, bits & ((1 << fmt.fraction_bits) - 1)
    if exponent == fmt.exponent_max:
        return None
    magnitude = (fraction | (exponent > 0) << fmt.fraction_bits) * Fraction(2) ** (
        max(exponent, 1) + fmt.lsb_exponent - 1
    )
    return -magnitude if bits & fmt.sign_mask else magnitude


def nearest(bits, acc):
    """The two finite neighbours of a fraction and the midpoint decide: bits of its rounding to nearest even."""
    sign, magnitude = acc.sign_mask * (bits < 0), abs(bits)
    low, high = 0, acc.infinity  # the magnitude lies between their values, that of infinity as if the binade went on
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle, acc) <= magnitude else (low, middle)
    step = Fraction(2) ** (max(low >> acc.fraction_bits, 1) + acc.lsb_exponent - 1)
    rest = magnitude - value(low, acc)
    return sign | (high if rest * 2 > step or (rest * 2 == step and low & 1) else low)


def exact(a, b, c, fmt, acc):
    """Bits of a b + c for finite numbers with rational arithmetic."""
    product, addend = value(a, fmt) * value(b, fmt), value(c, acc)
    if product + addend:
        return nearest(product + addend, acc)
    negative = (a ^ b) >> (fmt.width - 1) & 1, c >> (acc.width - 1) & 1
    return acc.sign_mask if all(negative) else 0


def cancelling(fmt, acc, count, rng):
    """Addends within a few last places of minus the product, factors of any kind and with many trailing zeros."""
    a, b = (rng.integers(0, 1 << fmt.width, count) for _ in range(2))
    a &= -(1 << rng.integers(0, fmt.precision, count) * (rng.random(count) < 0.5))
    product = numerics.fma(a, b ^ fmt.sign_mask, np.zeros(count, np.int64), fmt, acc=acc)
    near = rng.integers(-3, 4, count) * (1 << rng.integers(0, acc.fraction_bits, count) * (rng.random(count) < 0.3))
    return a, b, np.clip(product + near, 0, (1 << acc.width) - 1)


def triples(fmt, acc, count, seed):
    rng = np.random.default_rng(seed)
    columns = zip(operands([fmt, fmt, acc], count, seed), cancelling(fmt, acc, count, rng), strict=True)
    return [np.concatenate(pair) for pair in columns]


# Results -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names, flush_to_zero",
    [("e3m2 e3m2", False), ("e3m2 e3m2", True), ("e2m3 e4m2", False), ("e4m1 e2m3", False), ("e2m2 e3m5", True)],
)
def test_every_triple_of_small_formats(names, flush_to_zero):
    fmt, acc = map(float_format, names.split())
    index = np.arange(1 << (2 * fmt.width + acc.width))
    mask = (1 << fmt.width) - 1
    a, b, c = index & mask, index >> fmt.width & mask, index >> 2 * fmt.width
    agree(
        hardware(fmt, acc, a, b, c, flush_to_zero=flush_to_zero),
        numerics.fma(a, b, c, fmt, acc=acc, flush_to_zero=flush_to_zero),
        a,
        b,
        c,
    )


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PAIRS]
)
def test_random_and_constructed_triples(name):
    fmt, acc = PAIRS[name]
    a, b, c = triples(fmt, acc, 60000, 7)
    if name == "e11m27":  # its reference is integers, and slow
        a, b, c = a[::23], b[::23], c[::23]
    agree(hardware(fmt, acc, a, b, c), numerics.fma(a, b, c, fmt, acc=acc), a, b, c)


@pytest.mark.parametrize("name", ["fp16", "fp16-e5m11"])
def test_flush_to_zero(name):
    fmt, acc = PAIRS[name]
    a, b, c = triples(fmt, acc, 60000, 8)
    got = hardware(fmt, acc, a, b, c, flush_to_zero=True)
    agree(got, numerics.fma(a, b, c, fmt, acc=acc, flush_to_zero=True), a, b, c)
    magnitude = got & ~acc.sign_mask
    assert not ((magnitude > 0) & (magnitude < acc.smallest_normal)).any()


@pytest.mark.parametrize("name", ["fp16", "fp16-fp32", "e7m2-e3m12"])
def test_rational_arithmetic(name):
    """Against a reference that shares nothing with the models."""
    fmt, acc = PAIRS[name]
    a, b, c = (x[::31] for x in triples(fmt, acc, 20000, 9))
    finite = np.array(
        [
            None not in (value(x, fmt), value(y, fmt), value(z, acc))
            for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
        ]
    )
    a, b, c = a[finite], b[finite], c[finite]
    assert len(a) > 1000
    want = np.array([exact(*row, fmt, acc) for row in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)])
    agree(hardware(fmt, acc, a, b, c), want, a, b, c)


def test_special_values():
    one, two, tiny, inf, nan = 0x3C00, 0x4000, 0x0001, FP16.infinity, FP16.nan
    minus = FP16.sign_mask
    cases = [
        (inf, 0, one, nan),
        (0, inf, nan, nan),
        (inf, one, inf | minus, nan),
        (inf | minus, one, inf, nan),
        (inf, two, inf, inf),
        (inf | minus, two, one, inf | minus),
        (one, one, inf | minus, inf | minus),
        (0x7C01, one, one, nan),
        (one, 0xFE00, one, nan),
        (one, one, 0xFFFF, nan),
        (inf, 0, 0x7C01, nan),
        (0, one, 0, 0),
        (0, one, minus, 0),
        (minus, one, 0, 0),
        (minus, one, minus, minus),
        (0, minus, minus, minus),
        (one, one, one | minus, 0),
        (one | minus, one, one, 0),
        (two, 0, minus | tiny, minus | tiny),
        (tiny, tiny, 0, 0),
        (tiny, tiny | minus, 0, minus),
        (tiny, tiny, minus, 0),
        (tiny, tiny, tiny, tiny),
        (0x7BFF, one, 0x4BFF, 0x7BFF),
        (0x7BFF, one, 0x4C00, inf),
        (0x7BFF, 0x7BFF, 0xFBFF, inf),
        (0x7BFF, 0x7BFF, inf | minus, inf | minus),
        (0x7BFF, 0xFBFF, inf, inf),
    ]
    a, b, c, want = np.array(cases).T
    agree(hardware(FP16, FP16, a, b, c), want, a, b, c)


# On an FPGA ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("names", ["e3m2 e3m2", "e2m2 e3m5"])
def test_every_triple_of_small_formats_on_an_fpga(names):
    fmt, acc = map(float_format, names.split())
    index = np.arange(1 << (2 * fmt.width + acc.width))
    mask = (1 << fmt.width) - 1
    a, b, c = index & mask, index >> fmt.width & mask, index >> 2 * fmt.width
    agree(hardware(fmt, acc, a, b, c, fabric="xilinx"), numerics.fma(a, b, c, fmt, acc=acc), a, b, c)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAIRS if name != "e11m27"])
def test_random_and_constructed_triples_on_an_fpga(name):
    """The same bits from DSP blocks and carry chains, with subnormals and without."""
    fmt, acc = PAIRS[name]
    a, b, c = triples(fmt, acc, 60000, 7)

    @operator
    def both(p, a, b, c):
        return tuple(
            fma(p.part(f"f{int(flush)}"), a, b, c, fmt=fmt, acc=acc, flush_to_zero=flush) for flush in (False, True)
        )

    unit = StreamOperator(
        both,
        {"a": FloatShape(fmt), "b": FloatShape(fmt), "c": FloatShape(acc)},
        {"exact": FloatShape(acc), "flushed": FloatShape(acc)},
        options={"fabric": "xilinx"},
    )
    got = evaluate_operator(unit, {"a": a, "b": b, "c": c})
    for key, flush in (("exact", False), ("flushed", True)):
        agree(got[key], numerics.fma(a, b, c, fmt, acc=acc, flush_to_zero=flush), a, b, c)


@pytest.mark.slow
@pytest.mark.parametrize("name, depth", [("fp16", 4), ("fp16-fp32", 9), ("bf16", 2), ("fp32", 17)])
def test_depth_on_an_fpga(name, depth):
    fmt, acc = PAIRS[name]
    a, b, c = triples(fmt, acc, 10000, depth)
    unit = component(fmt, acc, depth, fabric="xilinx")
    agree(evaluate_operator(unit, {"a": a, "b": b, "c": c})["result"], numerics.fma(a, b, c, fmt, acc=acc), a, b, c)


def test_an_fpga_gets_one_multiplication_of_the_significands():
    """One `*`, which becomes a DSP block, and none among gates."""
    for fabric, count in (("asic", 0), ("xilinx", 1)):
        m = Module()
        ports = [Signal(16, name=name) for name in "abc"]
        result = Signal(16, name="result")
        m.d.comb += result.eq(fma(m, *ports, fmt=FP16, fabric=fabric))
        text = verilog.convert(m, ports=[*ports, result], emit_src=False, strip_internal_attrs=True)
        assert text.count(" * ") == count


def test_unknown_fabric():
    with pytest.raises(ValueError, match="^Fabric must be one of asic, xilinx, not 'altera'$"):
        fma(Module(), *(Signal(16) for _ in "abc"), fmt=FP16, fabric="altera")


# Pipelines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, depth, flush_to_zero",
    [
        ("fp16", 1, False),
        ("bf16", 4, False),
        ("fp16", 30, True),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (("fp16", 9, False), ("bf16-fp32", 6, False), ("fp32", 17, False), ("fp16-fp32", 2, True))
        ),
    ],
)
def test_depth(name, depth, flush_to_zero):
    """Results, and that they come exactly so many cycles later."""
    fmt, acc = PAIRS[name]
    a, b, c = triples(fmt, acc, 10000, depth)
    unit = component(fmt, acc, depth, flush_to_zero=flush_to_zero)
    agree(
        evaluate_operator(unit, {"a": a, "b": b, "c": c})["result"],
        numerics.fma(a, b, c, fmt, acc=acc, flush_to_zero=flush_to_zero),
        a,
        b,
        c,
    )


# Arguments ---------------------------------------------------------------------------------------------------------


def test_accumulator_is_the_format_by_default():
    m = Module()
    assert len(fma(m, Signal(16), Signal(16), Signal(16), fmt=BF16)) == 16


@pytest.mark.parametrize(
    "widths, options, error, message",
    [
        ((15, 16, 16), {"fmt": FP16}, ValueError, r"^Operand a must be 16 bits wide as fp16 is, not 15$"),
        ((16, 17, 16), {"fmt": BF16}, ValueError, r"^Operand b must be 16 bits wide as bf16 is, not 17$"),
        ((16, 16, 16), {"fmt": FP16, "acc": FP32}, ValueError, r"^Operand c must be 32 bits wide as fp32 is, not 16$"),
        ((16, 16, 16), {"fmt": "fp16"}, TypeError, r"^Format must be a FloatFormat, not 'fp16'$"),
        (
            (16, 16, 16),
            {"fmt": FP16, "acc": 32},
            TypeError,
            r"^Format of the accumulator must be a FloatFormat, not 32$",
        ),
    ],
)
def test_wrong_arguments(widths, options, error, message):
    with pytest.raises(error, match=message):
        fma(Module(), *map(Signal, widths), **options)


# Long runs ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("flush_to_zero", [False, True])
@pytest.mark.parametrize("name", list(PAIRS)[:-1])
def test_millions_of_triples(name, flush_to_zero):
    fmt, acc = PAIRS[name]
    a, b, c = triples(fmt, acc, 1 << 20, 11)
    agree(
        hardware(fmt, acc, a, b, c, flush_to_zero=flush_to_zero),
        numerics.fma(a, b, c, fmt, acc=acc, flush_to_zero=flush_to_zero),
        a,
        b,
        c,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_any_pair_of_formats(seed):
    rng = np.random.default_rng(seed)
    fmt, acc = (float_format(f"e{rng.integers(2, 9)}m{rng.integers(1, 24)}") for _ in range(2))
    flush_to_zero = bool(seed % 3 == 0)
    a, b, c = triples(fmt, acc, 100000, seed)
    agree(
        hardware(fmt, acc, a, b, c, flush_to_zero=flush_to_zero),
        numerics.fma(a, b, c, fmt, acc=acc, flush_to_zero=flush_to_zero),
        a,
        b,
        c,
    )
