# amaranth: UnusedElaboratable=no
"""The vectors of every operator notice when one bit of its netlist is wrong; mutants that they miss are proved harmless."""

import importlib
import pkgutil

import numpy as np
import pytest
from amaranth import *
from amaranth.back import verilog
from amaranth.hdl import signed

from bankside.constraints.arith.activation import TableInterpolation
from bankside.constraints.arith.geometry import ExpTable
from bankside.constraints.arith.softmax import INF2_SOFTMAX, SoftmaxRule
from bankside.constraints.arith.units import Operand, operand_layout
from bankside.constraints.core.formats import BF16, FP16, FP32, FloatFormat, IntegerFormat, float_format
from bankside.cosim.arith.units import stimulus
from bankside.cosim.bench.mutation import SELECT, mutate, mutation_campaign, operator_campaign, stream_campaign
from bankside.cosim.bench.streams import Items, StreamPort
from bankside.cosim.bench.vectors import evaluate
from bankside.gen import arith
from bankside.gen.arith import FloatShape, StreamOperator, product_layout
from bankside.gen.arith.divide import IterativeDivider
from bankside.gen.arith.softmax import scale_layout
from bankside.gen.arith.square_root import IterativeSquareRoot

E4M3 = float_format("e4m3")


def functions():
    """Every operator of the library, by name."""
    found = {}
    for info in pkgutil.iter_modules(arith.__path__):
        module = importlib.import_module(f"{arith.__name__}.{info.name}")
        found |= {
            name: value
            for name, value in vars(module).items()
            if hasattr(value, "datapath") and value.__module__ == module.__name__ and not name.startswith("_")
        }
    return found


OPERATORS = functions()


def text_of(component, name="unit"):
    return verilog.convert(component, name=name, emit_src=False, strip_internal_attrs=True)


# The engine -----------------------------------------------------------------------------------------------------------

#: A sum of which the last bit is there twice: what alters one of the two `or` inputs alone alters nothing.
REDUNDANT = """
module unit(a, b, y);
  input [7:0] a;
  input [7:0] b;
  output [8:0] y;
  wire [8:0] sum;
  wire last;
  assign sum = a + b;
  assign last = (sum[0] & a[0]) | (sum[0] & ~a[0]) | (sum[0] & b[0]);
  assign y = {sum[8:1], last};
endmodule
"""
PORTS = [("a", 8), ("b", 8)], [("y", 9)]


def every_pair():
    a, b = np.meshgrid(np.arange(256), np.arange(256), indexing="ij")
    return {"a": a.ravel(), "b": b.ravel()}


def test_selected_mutant_is_the_only_one():
    """With 0 the module is unaltered; every number is another one."""
    text, mutants = mutate(REDUNDANT, "unit", 40)
    assert [m.number for m in mutants] == list(range(1, len(mutants) + 1)) and len(mutants) >= 20
    pairs = every_pair()
    inputs = [*PORTS[0], (SELECT, 6)]
    plain = evaluate(text, "unit", inputs, PORTS[1], {**pairs, SELECT: np.zeros(1 << 16, int)})["y"]
    np.testing.assert_array_equal(plain, pairs["a"] + pairs["b"])


def test_all_vectors_kill_all_but_equivalent_mutants():
    pairs = every_pair()
    campaign = mutation_campaign(REDUNDANT, "unit", *PORTS, pairs, count=40)
    assert campaign.of("equivalent") and campaign.of("killed") and campaign.score == 1
    assert not campaign.of("survived") and not campaign.of("undecided")
    text, _ = mutate(REDUNDANT, "unit", 40)
    for mutant in campaign.mutants:
        select = np.full(1 << 16, mutant.number)
        got = evaluate(text, "unit", [*PORTS[0], (SELECT, 6)], PORTS[1], {**pairs, SELECT: select})["y"]
        wrong = np.flatnonzero(got != pairs["a"] + pairs["b"])
        if mutant.status == "equivalent":
            assert not len(wrong), mutant
        else:
            assert mutant.vector == wrong[0], mutant


def test_survivors_come_with_operands_that_show_them():
    """Even numbers only never notice the last bit."""
    few = {"a": np.arange(0, 256, 2), "b": np.arange(0, 256, 2)[::-1].copy()}
    campaign = mutation_campaign(REDUNDANT, "unit", *PORTS, few, count=40)
    survivors = campaign.of("survived")
    assert survivors and campaign.score < 1 and "shown by a = 0x" in str(survivors[0])
    text, _ = mutate(REDUNDANT, "unit", 40)
    vectors = {name: np.array([m.witness[name] for m in survivors]) for name in "ab"}
    got = evaluate(
        text, "unit", [*PORTS[0], (SELECT, 6)], PORTS[1], {**vectors, SELECT: np.array([m.number for m in survivors])}
    )["y"]
    assert (got != vectors["a"] + vectors["b"]).all()
    assert str(campaign).startswith(f"unit: {len(campaign.mutants)} mutants, 128 vectors: ")


def test_pipelines_have_mutants_too():
    """A mutant's registers do not reach into the run of the next one."""

    def make(depth):
        return StreamOperator(
            OPERATORS["maximum"],
            {"a": FloatShape(E4M3), "b": FloatShape(E4M3)},
            {"result": FloatShape(E4M3)},
            depth=depth,
            options={"fmt": E4M3},
        )

    operands, results = {"a": Operand(E4M3), "b": Operand(E4M3)}, {"result": Operand(E4M3)}
    columns = [column[::16] for column in stimulus(operands, 0, 1)]
    campaign = operator_campaign(text_of(make(2)), "unit", operands, results, columns, latency=2, count=20)
    assert len(campaign.of("killed")) >= 15
    assert len(campaign.of("killed")) + len(campaign.of("undecided")) == 20


@pytest.mark.slow
@pytest.mark.parametrize("unit, names", [(IterativeDivider, "ab"), (IterativeSquareRoot, "a")])
def test_units_between_streams_have_mutants_too(unit, names):
    """A unit that takes several cycles for an item, on the common bench, with stalls."""
    operands = {name: Operand(E4M3) for name in names}
    columns = [column[:4000] for column in stimulus(operands, 0, 1)]
    rng = np.random.default_rng(1).permutation(len(columns[0]))
    columns = [column[rng] for column in columns]
    layout = operand_layout(operands)
    payload = layout.pack({field.name: column for field, column in zip(layout.fields, columns, strict=True)})
    text = text_of(unit(E4M3))
    ports = [StreamPort("i", 8 * len(names), True), StreamPort("o", 8, False)]
    campaign = stream_campaign(
        text,
        "unit",
        ports,
        {"i": Items.of(payload)},
        {"o": np.array([len(columns[0])])},
        count=40,
        stalls={"i": 0.2, "o": 0.3},
    )
    assert campaign.score >= 0.85, "\n".join(map(str, [campaign, *campaign.of("undecided")]))


def test_count_is_checked():
    with pytest.raises(ValueError, match=r"^Count must be 1 or more, not 0$"):
        mutate(REDUNDANT, "unit", 0)


# The operators --------------------------------------------------------------------------------------------------------

I32 = IntegerFormat(32, True)
BIT = Operand(IntegerFormat(1, False))
PRODUCT = IntegerFormat(product_layout(E4M3, E4M3).size, False)
SCALED = IntegerFormat(ExpTable(E4M3).integer_bits + ExpTable(E4M3).fraction_bits + 1, False)
SCALE = IntegerFormat(scale_layout(INF2_SOFTMAX).size, False)
WINDOW = SoftmaxRule(sums="window").window
WINDOW_SUM = IntegerFormat(WINDOW.fraction_bits + 2, False)


def quotients(count, seed):
    """Operands of ``quotient``: of any bits, and weights and sums of rows whose quotients are hard to round.

    Bits that a product drops matter only near the middle between two numbers, or in it. Of all pairs of significands, those
    are taken whose quotients are nearest to a middle, for normal results and for each distance of subnormal ones.
    """
    rule, rng = INF2_SOFTMAX, np.random.default_rng(seed)
    io, bits = rule.io, rule.quotient_bits
    p, low = io.precision, io.smallest_normal
    weight, scale = stimulus({"weight": Operand(io), "scale": Operand(SCALE)}, count, seed)
    weights, scales = [weight], [scale]
    w, s = (side.ravel() for side in np.meshgrid(np.arange(low, 2 * low), np.arange(low, 2 * low), indexing="ij"))
    less = w < s
    for lower in range(p + 1):  # places that a subnormal result lacks
        over = ((w << p + less) - (s << lower)) % (s << lower + 1)
        distance = np.minimum(over, (s << lower + 1) - over) / s
        size = count // 2 // (p + 1)
        rows = np.argpartition(distance + rng.random(len(w)) / 4096, size)[:size]
        one = np.where(less[rows], 1, 0)
        # Biased exponents of the weight and of the result, and the exponent of the sum.
        exponent = rng.integers(1 + one, np.minimum(io.bias, io.bias + 1 - lower + one))
        result = 1 - lower if lower else rng.integers(1, exponent - one + 1)
        weights.append(w[rows] % low | exponent << io.fraction_bits)
        scales.append(-(-(1 << io.fraction_bits + bits) // s[rows]) | exponent - one - result << bits + 1)
    return [np.concatenate(weights), np.concatenate(scales)]


#: Operands of operators that common ones hardly test.
OWN_OPERANDS = {"quotient": quotients}


def fields(fmt, names="ab"):
    return {name: Operand(fmt) for name in names}


def unit(name, operands, results=None, **options):
    """An operator with its operands, results and options."""
    fmt = next(iter(operands.values())).format
    results = results or {"result": Operand(fmt)}
    return pytest.param(name, operands, results, options or {"fmt": fmt}, id=name)


UNITS = [
    unit("multiply", fields(FP16)),
    unit("add", fields(FP16)),
    unit("fma", fields(FP16, "abc")),
    unit("exact_product", fields(E4M3), {"product": Operand(PRODUCT)}, fmt=E4M3, acc=E4M3),
    unit(
        "add_product", {"product": Operand(PRODUCT), "c": Operand(E4M3)}, {"result": Operand(E4M3)}, fmt=E4M3, acc=E4M3
    ),
    unit("maximum", fields(FP16)),
    unit("minimum", fields(FP16)),
    unit("compare", fields(FP16), {name: BIT for name in ("less", "equal", "greater", "unordered")}),
    unit("convert", fields(FP16, "a"), {"result": Operand(BF16)}, source=FP16, target=BF16),
    unit("to_integer", fields(FP16, "a"), {"result": Operand(I32)}, fmt=FP16, width=32, signed=True),
    unit("from_integer", fields(I32, "a"), {"result": Operand(FP16)}, fmt=FP16, signed=True),
    unit("round_to_integral", fields(FP16, "a")),
    unit("divide", fields(FP16)),
    unit("square_root", fields(FP16, "a")),
    unit("reciprocal", fields(FP16, "a")),
    unit("reciprocal_square_root", fields(FP16, "a")),
    unit("logarithm", fields(FP16, "a")),
    unit("exponential", fields(FP16, "a")),
    unit("softmax_exp", {"maximum": Operand(FP16), "value": Operand(FP16)}, score=FP16, table=ExpTable(FP16)),
    unit(
        "scaled_difference",
        {"maximum": Operand(E4M3), "value": Operand(E4M3)},
        {"scaled": Operand(SCALED), "far": BIT},
        score=E4M3,
        table=ExpTable(E4M3),
    ),
    unit("negative_power", {"scaled": Operand(SCALED)}, {"result": Operand(E4M3)}, table=ExpTable(E4M3)),
    unit("interpolate", fields(FP16, "a"), table=TableInterpolation("sigmoid", FP16)),
    unit("vector_multiply", {"a": Operand(E4M3, 2), "b": Operand(E4M3, 2)}, {"result": Operand(E4M3, 2)}, fmt=E4M3),
    unit("vector_add", {"a": Operand(E4M3, 2), "b": Operand(E4M3, 2)}, {"result": Operand(E4M3, 2)}, fmt=E4M3),
    unit("vector_scale", {"s": Operand(E4M3), "x": Operand(E4M3, 2)}, {"result": Operand(E4M3, 2)}, fmt=E4M3),
    unit(
        "vector_mac",
        {"s": Operand(E4M3), "x": Operand(E4M3, 2), "acc": Operand(E4M3, 2)},
        {"result": Operand(E4M3, 2)},
        fmt=E4M3,
    ),
    unit("softmax_weight", {"maximum": Operand(FP16), "value": Operand(FP16)}, score=FP16, table=ExpTable(FP16)),
    unit("add_positive", fields(E4M3)),
    unit("window_sum", {"one": Operand(FP16), "other": Operand(FP16)}, {"result": Operand(WINDOW_SUM)}, window=WINDOW),
    unit("row_scale", {"total": Operand(FP16)}, {"result": Operand(SCALE)}, rule=INF2_SOFTMAX),
    unit("quotient", {"weight": Operand(FP16), "scale": Operand(SCALE)}, {"result": Operand(FP16)}, rule=INF2_SOFTMAX),
    unit("dot_tree", {"a": Operand(E4M3, 2), "b": Operand(E4M3, 2)}, {"result": Operand(E4M3)}, fmt=E4M3),
    unit(
        "dot", {"a": Operand(FP16, 4), "b": Operand(FP16, 4), "acc": Operand(FP32)}, {"result": Operand(FP32)}, fmt=FP16
    ),
]


def shape(operand):
    fmt = operand.format
    if operand.count > 1:
        return operand.width
    return FloatShape(fmt) if isinstance(fmt, FloatFormat) else signed(fmt.width) if fmt.signed else fmt.width


def campaign_of(name, operands, results, options, *, vectors, count):
    component = StreamOperator(
        OPERATORS[name],
        {k: shape(o) for k, o in operands.items()},
        {k: shape(o) for k, o in results.items()},
        options=options,
    )
    columns = OWN_OPERANDS[name](vectors, 1) if name in OWN_OPERANDS else stimulus(operands, vectors, 1)
    return operator_campaign(text_of(component, name), name, operands, results, columns, count=count)


FEW = [x for x in UNITS if x.id in ("multiply", "add", "exponential")]


@pytest.mark.parametrize("name, operands, results, options", FEW)
def test_vectors_notice_a_wrong_bit(name, operands, results, options):
    campaign = campaign_of(name, operands, results, options, vectors=20000, count=50)
    assert campaign.score >= 0.95, "\n".join(map(str, [campaign, *campaign.of("survived"), *campaign.of("undecided")]))


@pytest.mark.slow
@pytest.mark.parametrize("name, operands, results, options", UNITS)
def test_vectors_of_every_operator_notice_a_wrong_bit(name, operands, results, options):
    """At least 95 of 100 mutants that differ are killed."""
    campaign = campaign_of(name, operands, results, options, vectors=200000, count=100)
    print(campaign, *campaign.of("survived"), *campaign.of("undecided"), sep="\n")
    assert campaign.score >= 0.95, "\n".join(map(str, [campaign, *campaign.of("survived"), *campaign.of("undecided")]))


def test_every_operator_has_a_campaign():
    assert {x.id for x in UNITS} >= set(OPERATORS)
