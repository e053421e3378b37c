# amaranth: UnusedElaboratable=no
"""The operators are what IEEE 754 says, pipelines are what they pipeline, and sums know no order: for all operands.

Each kind of proof also has to find defects that are planted for it.
"""

import importlib
import pkgutil
import sys

import pytest
from amaranth import *
from amaranth.hdl import signed, unsigned

from bankside.constraints.arith.activation import TableInterpolation
from bankside.constraints.arith.geometry import ExpTable
from bankside.constraints.arith.softmax import INF2_SOFTMAX, SoftmaxRule
from bankside.constraints.core.formats import BF16, FP16, FP32, float_format
from bankside.gen import arith
from bankside.gen.arith import (
    FloatShape,
    StreamOperator,
    add_product,
    addend_distance,
    exact_product,
    operator,
    product_layout,
)
from bankside.gen.arith.softmax import scale_layout
from bankside.gen.formal import (
    check_stream_operator,
    prove_lane_order,
    prove_operator,
    prove_pipelines,
    prove_stream_reference,
    specifications,
)
from bankside.gen.formal.smt import is_number, number
from bankside.gen.formal.symmetry import prove_adder, prove_compressor

E2M1, E3M2, E4M3, E5M2 = (float_format(name) for name in ("e2m1", "e3m2", "e4m3", "e5m2"))


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


# What IEEE 754 says ---------------------------------------------------------------------------------------------------


def case(name, *args, **options):
    """An operator, its specification for these arguments, and its options."""
    parts = [name, *(getattr(x, "name", x) for x in args), *(k for k, v in options.items() if v is True)]
    parts += [v.name for v in options.values() if hasattr(v, "name")]
    arguments = dict(zip(ARGUMENTS.get(name, ["fmt"]), args, strict=True)) | options
    given = {k: v for k, v in arguments.items() if (name, k) != ("from_integer", "width")}
    return pytest.param(name, getattr(specifications, name)(**arguments), given, id="-".join(map(str, parts)))


ARGUMENTS = {
    "convert": ["source", "target"],
    "to_integer": ["fmt", "width", "signed"],
    "from_integer": ["fmt", "width", "signed"],
}
FLUSH = {"flush_to_zero": True}
SLOW = pytest.mark.slow


SHORT = [
    case("add", FP16),
    case("add", BF16),
    case("add", E4M3, **FLUSH),
    case("add", E5M2),
    case("add", E4M3, subtract=True),
    case("multiply", E4M3),
    case("multiply", E5M2),
    case("multiply", E4M3, **FLUSH),
    case("fma", E3M2),
    case("divide", E4M3),
    case("divide", E5M2, **FLUSH),
    case("square_root", FP16),
    case("square_root", E5M2, **FLUSH),
    case("compare", FP16),
    case("compare", FP32, **FLUSH),
    case("maximum", FP16),
    case("maximum", FP32),
    case("minimum", FP32),
    case("minimum", BF16, **FLUSH),
    case("convert", FP16, FP32),
    case("convert", FP32, FP16),
    case("convert", FP32, BF16),
    case("convert", BF16, FP16),
    case("convert", FP32, FP16, **FLUSH),
    case("to_integer", FP16, 8, True),
    case("to_integer", FP32, 32, False),
    case("from_integer", FP16, 32, True),
    case("from_integer", FP32, 32, False),
    case("round_to_integral", FP16),
]

#: The same operators in more formats.
MORE = [
    case("add", FP16, subtract=True),
    case("add", FP16, **FLUSH),
    case("add", BF16, **FLUSH),
    case("add", E5M2, subtract=True, **FLUSH),
    case("multiply", E5M2, **FLUSH),
    case("multiply", float_format("e5m4")),
    case("fma", E5M2),
    case("fma", E3M2, acc=float_format("e5m5")),
    case("divide", E5M2),
    case("divide", E4M3, **FLUSH),
    case("square_root", BF16),
    case("square_root", FP16, **FLUSH),
    *(
        case(name, fmt, **flush)
        for name in ("compare", "maximum", "minimum")
        for fmt in (FP16, BF16, FP32)
        for flush in ({}, FLUSH)
    ),
    *(
        case("convert", source, target, **flush)
        for flush in ({}, FLUSH)
        for source, target in ((FP16, E5M2), (E5M2, FP16), (FP16, BF16), (BF16, FP32), (E4M3, E5M2), (FP32, E4M3))
    ),
    *(
        case("to_integer", fmt, width, sign)
        for fmt in (FP16, BF16, FP32)
        for width in (8, 16, 32, 64)
        for sign in (True, False)
    ),
    *(
        case("from_integer", fmt, width, sign)
        for fmt in (FP16, BF16, FP32)
        for width in (8, 16, 64)
        for sign in (True, False)
    ),
    case("round_to_integral", BF16),
    case("round_to_integral", FP32, **FLUSH),
]


@pytest.mark.parametrize("name, specification, options", SHORT)
def test_specified(name, specification, options):
    verdict = prove_operator(OPERATORS[name], *specification, options, timeout_s=600)
    assert verdict.status == "proved", verdict


@pytest.mark.slow
@pytest.mark.parametrize("name, specification, options", [x for x in MORE if x.id not in {y.id for y in SHORT}])
def test_specified_in_more_formats(name, specification, options):
    verdict = prove_operator(OPERATORS[name], *specification, options, timeout_s=600)
    assert verdict.status == "proved", verdict


@pytest.mark.parametrize("acc", [E3M2, float_format("e5m5")])
def test_fma_in_parts(acc):
    """A product made before its addend is there, and then added, is a fused multiply-add."""

    @operator
    def parts(p, a, b, c, *, fmt, acc):
        options = {"fmt": fmt, "acc": acc}
        product = exact_product(p.module, a, b, name="product_", **options)
        product = addend_distance(p.module, product, c[acc.fraction_bits : -1], name="distance_", **options)
        return add_product(p.part("sum"), product, c, **options)

    verdict = prove_operator(parts, *specifications.fma(E3M2, acc=acc), {"fmt": E3M2, "acc": acc})
    assert verdict.status == "proved", verdict


def test_exact_there_and_back():
    """A number in a format with room for it is the same number, whose NaN is the canonical one."""

    @operator
    def both(p, a):
        p.wide = arith.convert(p, a, source=FP16, target=FP32)
        return arith.convert(p, p.wide, source=FP32, target=FP16)

    assert prove_operator(both, {"a": FP16}, lambda result, a: is_number(result, number(a, FP16), FP16))


@pytest.mark.parametrize("fmt", [FP16, pytest.param(BF16, marks=SLOW)])
def test_one_wrong_sum_is_found(fmt):
    """Of 2**32 pairs of operands one is wrong, in the last place."""

    @operator
    def planted(p, a, b, *, fmt):
        return OPERATORS["add"](p, a, b, fmt=fmt) ^ ((a == 0x1A35) & (b == 0x2117))

    verdict = prove_operator(planted, *specifications.add(fmt), {"fmt": fmt}, timeout_s=600)
    assert verdict.status == "counterexample" and (verdict.values["a"], verdict.values["b"]) == (0x1A35, 0x2117)


def planted_nan(p, a, b, *, fmt):
    """Hands on the payload of the first operand."""
    result = OPERATORS["maximum"](p, a, b, fmt=fmt)
    return Mux(result == fmt.nan, fmt.nan | a[0], result)


def planted_zero(p, a, b, *, fmt):
    """Takes the zeros in the wrong order."""
    result = OPERATORS["maximum"](p, a, b, fmt=fmt)
    return Mux((a | b)[:-1].any(), result, Cat(result[:-1], a[-1] | b[-1]))


@pytest.mark.parametrize("function", [planted_nan, planted_zero])
def test_wrong_special_value_is_found(function):
    verdict = prove_operator(operator(function), *specifications.maximum(FP16), {"fmt": FP16})
    assert verdict.status == "counterexample"
    a, b = verdict.values["a"], verdict.values["b"]
    if function is planted_nan:
        assert a & 0x7FFF > FP16.infinity and b & 0x7FFF > FP16.infinity and a & 1
    else:
        assert {a, b} == {0, 0x8000}


def test_wrong_tie_is_found():
    """Rounds ties up: right but in the ties below an odd number."""

    @operator
    def planted(p, a, *, source, target):
        special = a[23:31].all()
        return Mux(special, arith.convert(p, a, source=source, target=target), (a + 0x8000)[16:32])

    verdict = prove_operator(planted, *specifications.convert(FP32, BF16), {"source": FP32, "target": BF16})
    assert verdict.status == "counterexample" and verdict.values["a"] & 0x1FFFF == 0x8000


def test_no_answer_is_no_proof():
    verdict = prove_operator(OPERATORS["multiply"], *specifications.multiply(FP16), {"fmt": FP16}, timeout_s=1)
    assert verdict.status == "unknown" and not verdict and verdict.detail == "z3: timeout"


# Pipelines ------------------------------------------------------------------------------------------------------------

HALF, PAIR, TRIPLE = {"a": 16}, {"a": 16, "b": 16}, {"a": 16, "b": 16, "c": 16}
LANES = {"a": [16] * 2, "b": [16] * 2, "acc": 32}
SCALED = ExpTable(FP16).integer_bits + ExpTable(FP16).fraction_bits + 1

#: Operands and options with which every operator is pipelined: more than one set where the structure differs.
PIPELINES = {
    "add": [(PAIR, {"fmt": FP16}), (PAIR, {"fmt": BF16, "subtract": True, "flush_to_zero": True})],
    "multiply": [(PAIR, {"fmt": FP16}), (PAIR, {"fmt": BF16, "flush_to_zero": True})],
    "fma": [(TRIPLE, {"fmt": FP16}), ({**TRIPLE, "c": 32}, {"fmt": FP16, "acc": FP32})],
    "exact_product": [(PAIR, {"fmt": FP16, "acc": FP32})],
    "add_product": [({"product": product_layout(FP16, FP32).size, "c": 32}, {"fmt": FP16, "acc": FP32})],
    "maximum": [(PAIR, {"fmt": FP16})],
    "minimum": [(PAIR, {"fmt": FP16})],
    "compare": [(PAIR, {"fmt": FP16})],
    "convert": [(HALF, {"source": FP16, "target": BF16}), ({"a": 32}, {"source": FP32, "target": FP16})],
    "to_integer": [(HALF, {"fmt": FP16, "width": 16, "signed": True})],
    "from_integer": [
        ({"a": signed(16)}, {"fmt": FP16, "signed": True}),
        ({"a": unsigned(8)}, {"fmt": FP16, "signed": False}),
    ],
    "round_to_integral": [({"a": 8}, {"fmt": E4M3})],
    "divide": [({"a": 8, "b": 8}, {"fmt": E4M3})],
    "square_root": [({"a": 8}, {"fmt": E4M3})],
    "reciprocal": [(HALF, {"fmt": FP16})],
    "reciprocal_square_root": [(HALF, {"fmt": FP16})],
    "logarithm": [(HALF, {"fmt": FP16})],
    "exponential": [(HALF, {"fmt": FP16})],
    "softmax_exp": [({"maximum": 32, "value": 32}, {"score": FP32, "table": ExpTable(FP16)})],
    "scaled_difference": [({"maximum": 16, "value": 16}, {"score": FP16, "table": ExpTable(FP16)})],
    "softmax_weight": [({"maximum": 16, "value": 16}, {"score": FP16, "table": ExpTable(FP16)})],
    "add_positive": [({"a": 6, "b": 6}, {"fmt": E3M2}), ({"a": 16, "b": 16}, {"fmt": FP16})],
    "window_sum": [({"one": 16, "other": 16}, {"window": SoftmaxRule(sums="window").window})],
    "row_scale": [({"total": 16}, {"rule": INF2_SOFTMAX})],
    "quotient": [({"weight": 16, "scale": scale_layout(INF2_SOFTMAX).size}, {"rule": INF2_SOFTMAX})],
    "negative_power": [({"scaled": unsigned(SCALED)}, {"table": ExpTable(FP16)})],
    "interpolate": [(HALF, {"table": TableInterpolation("sigmoid", FP16)})],
    "dot_tree": [({"a": [6] * 3, "b": [6] * 3}, {"fmt": E3M2})],
    "vector_add": [({"a": [6] * 2, "b": [6] * 2}, {"fmt": E3M2})],
    "vector_multiply": [({"a": [6] * 2, "b": [6] * 2}, {"fmt": E3M2})],
    "vector_scale": [({"s": 6, "x": [6] * 2}, {"fmt": E3M2})],
    "vector_mac": [
        ({"s": 6, "x": [6] * 2, "acc": [6] * 2}, {"fmt": E3M2}),
        ({"s": 6, "x": [6] * 2, "acc": [16] * 2}, {"fmt": E3M2, "result": FP16, "fused": False}),
    ],
    "dot": [(LANES, {"fmt": FP16}), ({"a": [6] * 3, "b": [6] * 3}, {"fmt": E3M2, "window": "exact"})],
}


def test_every_operator_is_in_the_table():
    assert set(PIPELINES) >= set(OPERATORS)


@pytest.mark.parametrize("name", [*PIPELINES])
def test_pipelined_is_combinational(name):
    """At a few depths, one beyond the number of places for registers."""
    questions = {
        f"{name}-{n}": (OPERATORS[name], operands, options, [2, 5] if n == 0 else [1])
        for n, (operands, options) in enumerate(PIPELINES[name])
    }
    for proof in prove_pipelines(questions):
        assert proof, proof
        assert proof.registers


@pytest.mark.slow
@pytest.mark.parametrize("fmt", [FP16, BF16, FP32])
@pytest.mark.parametrize(
    "name", ["add", "multiply", "fma", "divide", "square_root", "reciprocal", "logarithm", "exponential"]
)
def test_pipelined_is_combinational_at_every_depth(name, fmt):
    count = {"fma": 3, "square_root": 1, "reciprocal": 1, "logarithm": 1, "exponential": 1}.get(name, 2)
    operands = dict.fromkeys("abc"[:count], fmt.width)
    for proof in prove_pipelines({name: (OPERATORS[name], operands, {"fmt": fmt}, range(1, 13))}):
        assert proof, proof


def escaped(p, a, b):
    """Carries a sum over a cut in a Python variable."""
    p.keep(a=a, b=b)
    total = p.a + p.b
    p.cut(5)
    return total ^ p.a


def late(p, a, b):
    """Puts one operand into the pipeline behind a cut."""
    p.a = a
    p.cut(5)
    p.b = b
    return p.a + p.b


def too_early(p, a, b):
    """Has a result that is not delayed with the others."""
    p.keep(a=a, b=b)
    p.cut(5)
    return p.a & p.b, b


def looks_at_the_depth(p, a, b):
    """Computes something else where there are registers."""
    p.keep(a=a, b=b)
    p.cut(5)
    return p.a + p.b + (1 if p.stage else 0)


def remembers(p, a, b):
    """Adds what came before."""
    p.keep(a=a, b=b)
    p.cut(5)
    last = Signal(8)
    p.module.d.sync += last.eq(p.a)
    return p.b + last


@pytest.mark.parametrize(
    "function, failing",
    [
        (escaped, "'b_s1[7]' of stage 1|of stage 0 meets"),
        (late, "of stage 0 meets"),
        (too_early, "'result_1[0]' is of stage 0, not 1"),
        (looks_at_the_depth, "is another function without registers"),
        (remembers, "there are registers in the combinational netlist"),
    ],
)
def test_wrong_pipeline_is_found(function, failing):
    (proof,) = prove_pipelines({"planted": (operator(function), {"a": 8, "b": 8}, {}, [1])})
    assert not proof
    assert any(part in proof.failing for part in failing.split("|")), proof


def test_depth_of_a_pipeline_is_checked():
    with pytest.raises(ValueError, match=r"^Depth must be 1 or more, not 0$"):
        prove_pipelines({"add": (OPERATORS["maximum"], PAIR, {"fmt": FP16}, [0])})


# Between streams ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3, pytest.param(4, marks=SLOW), pytest.param(6, marks=SLOW)])
def test_stages_hold_and_deliver(depth):
    """Control and registers of a stream operator, whatever it computes: the k-th item in is the k-th out."""
    result = prove_stream_reference(depth)
    assert result.status == "proved", result


def half_stream(function, operands):
    def make(depth):
        shape = FloatShape(FP16)
        return StreamOperator(
            function, dict.fromkeys(operands, shape), {"result": shape}, depth=depth, options={"fmt": FP16}
        )

    return make


@pytest.mark.parametrize("name", ["multiply", "maximum", "fma"])
def test_stream_operator_is_the_reference_around_the_operator(name):
    for depth in (1, 3):
        proof = check_stream_operator(
            half_stream(OPERATORS[name], "abc"[: 3 if name == "fma" else 2]), depth, name=name
        )
        assert proof, proof


class EarlyStage(StreamOperator):
    """Its first stage loads when the output is free."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        function = self._function
        self._function = lambda m, *operands, enables, **rest: function(
            m, *operands, enables=[self.o.ready, *enables[1:]] if enables else enables, **rest
        )


class FreeRunning(StreamOperator):
    """Its registers load in every cycle."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        function = self._function
        self._function = lambda m, *operands, enables, **rest: function(m, *operands, **rest)


@pytest.mark.parametrize(
    "kind, failing",
    [
        (EarlyStage, "differs from the reference in enable of stage 1"),
        (FreeRunning, "does not keep its value while its stage is not free"),
    ],
)
def test_wrong_control_is_found(kind, failing):
    def make(depth):
        return kind(
            OPERATORS["maximum"],
            {"a": FloatShape(FP16), "b": FloatShape(FP16)},
            {"result": FloatShape(FP16)},
            depth=depth,
            options={"fmt": FP16},
        )

    proof = check_stream_operator(make, 2)
    assert not proof and failing in proof.failing, proof


def test_wrong_pipeline_between_streams_is_found():
    def make(depth):
        return StreamOperator(operator(escaped), {"a": 8, "b": 8}, {"result": 9}, depth=depth)

    proof = check_stream_operator(make, 2)
    assert not proof and "meets" in proof.failing, proof


# Order of lanes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lanes, fmt, options",
    [
        pytest.param(4, FP16, {}, id="fp16-4"),
        pytest.param(3, E3M2, {"window": "exact", "result": FP16}, id="e3m2-3-exact"),
        pytest.param(16, FP16, {}, id="fp16-16", marks=SLOW),
        pytest.param(16, BF16, {}, id="bf16-16", marks=SLOW),
        pytest.param(16, FP16, {"result": FP16, "flush_to_zero": True}, id="fp16-16-fp16", marks=SLOW),
        pytest.param(16, FP16, {"window": "exact"}, id="fp16-16-exact", marks=SLOW),
    ],
)
def test_dot_product_in_any_order(lanes, fmt, options):
    operands = {"a": [fmt.width] * lanes, "b": [fmt.width] * lanes, "acc": options.get("result", FP32).width}
    proof = prove_lane_order(OPERATORS["dot"], operands, {"fmt": fmt, **options})
    assert proof, proof
    assert proof.compressors >= 2 and proof.adders


#: What becomes of the carry between two blocks of an adder.
CARRIES = {"taken": lambda carry: carry, "lost": lambda carry: None, "inverted": lambda carry: (~carry[0], carry[1])}


@pytest.mark.parametrize("what", CARRIES)
def test_dot_product_with_adders_in_blocks(monkeypatch, what):
    """As wide adders are made; with a carry between blocks that is wrong, nothing is proved."""
    dot = sys.modules[OPERATORS["dot"].__module__]

    def add(m, rows, limit, name):
        low, high = rows[:8], rows[8:]
        first = add_rows(m, [*low, []], limit=limit, name=f"{name}_low")
        carry = CARRIES[what]((first[-1], 0))
        return Cat(*first[:8], *add_rows(m, high, carry=carry, limit=limit, name=f"{name}_high"))

    def add_rows(*arguments, **options):
        return dot.add_rows(*arguments, **options)  # the one that the proof has put there

    monkeypatch.setattr(
        dot,
        "_add",
        lambda p, rows, limit, name: (
            add(p.module, rows, limit, name)
            if len(rows) > 8
            else Cat(*add_rows(p.module, rows, limit=limit, name=name))
        ),
    )
    operands = {"a": [6] * 3, "b": [6] * 3, "acc": 16}
    proof = prove_lane_order(OPERATORS["dot"], operands, {"fmt": E3M2, "window": "exact", "result": FP16})
    assert bool(proof) == (what == "taken"), proof


def test_dot_product_in_any_order_by_sat():
    """The same with nothing taken apart, for a format that is small enough."""

    @operator
    def both(p, a, b, c, d):
        first = OPERATORS["dot"](p, [a, b], [c, d], fmt=E2M1, result=E3M2, name="first_")
        second = OPERATORS["dot"](p, [b, a], [d, c], fmt=E2M1, result=E3M2, name="second_")
        return first, second

    assert prove_operator(both, dict.fromkeys("abcd", E2M1), lambda first, second, **_: f"(= {first} {second})")


def last_alone(p, a, b, *, fmt):
    """The last lane is multiplied by one more."""
    return OPERATORS["dot"](p, a, [*b[:-1], (b[-1] + 1)[: fmt.width]], fmt=fmt)


def rounded_tree(p, a, b, *, fmt):
    """Rounds every sum, and so depends on the order."""
    add, multiply = OPERATORS["add"], OPERATORS["multiply"]
    terms = [multiply(p.part(f"term_{n}"), x, y, fmt=fmt) for n, (x, y) in enumerate(zip(a, b, strict=True))]
    total = terms[0]
    for n, term in enumerate(terms[1:]):
        total = add(p.part(f"sum_{n}"), total, term, fmt=fmt)
    return total


@pytest.mark.parametrize("function", [last_alone, rounded_tree])
def test_order_that_matters_is_found(function):
    proof = prove_lane_order(operator(function), {"a": [8] * 3, "b": [8] * 3}, {"fmt": E4M3})
    assert not proof and "is not seen to leave" in proof.failing


def test_wrong_compressor_is_found():
    """A tree that loses a carry, and one that adds a bit twice."""
    compress = arith.bits.compress

    def columns(*heights):
        return [[(None, 0.0)] * height for height in heights]

    def loses(p, given, **options):
        rows = compress(p, given, **options)
        rows[3] = rows[3][:1]
        return rows

    def doubles(p, given, **options):
        given = [list(column) for column in given]
        given[1].append(given[2][0])
        return compress(p, given, **options)

    heights = columns(3, 5, 7, 6, 4)
    assert not prove_compressor(compress, heights)
    assert prove_compressor(loses, heights)
    assert prove_compressor(doubles, heights)


def test_adders_add():
    add_rows = arith.bits.add_rows
    columns = [[(None, float(k % 5))] * (1 + (k % 3 > 0)) for k in range(24)]
    assert prove_adder(add_rows, columns)
    assert prove_adder(add_rows, columns, {"carry": (None, 2.0)})

    def wrong(m, given, **options):
        bits = add_rows(m, given, **options)
        return [*bits[:-1], bits[-1] ^ (bits[3] & bits[7] & ~bits[11])]

    assert prove_adder(wrong, columns).status == "counterexample"
