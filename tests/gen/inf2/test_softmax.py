# amaranth: UnusedElaboratable=no
"""Parts of ``inf2-softmax`` in Amaranth's simulator: bits of both fabrics, no lost clock, planted errors."""

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from bankside.constraints.core.formats import BF16, FP16, FP32
from bankside.constraints.inf2.softmax import Inf2SoftmaxConfig
from bankside.gen.arith import softmax as softmax_module
from bankside.gen.arith.softmax import add_positive, quotient, row_scale, softmax_weight, weight_maximum
from bankside.models.numerics import add, from_float64, softmax_exp
from bankside.models.numerics.softmax import row_maximum, row_sum, softmax_quotient
from tests.planting import planted


def outputs(build, operands):
    """Results of a combinational function ``build(m, *signals)`` for rows of operands."""
    m = Module()
    signals = [Signal(width) for width, _ in operands]
    value = build(m, *signals)
    out = Signal(len(value))
    m.d.comb += out.eq(value)
    got = []

    async def bench(ctx):
        for row in zip(*(column.tolist() for _, column in operands), strict=True):
            for signal, number in zip(signals, row, strict=True):
                ctx.set(signal, number)
            got.append(ctx.get(out))

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
    return np.array(got)


def positive_pairs(fmt, rng, count):
    """Pairs of numbers that are not negative: any, near each other, tiny and huge ones."""
    any_bits = rng.integers(0, fmt.infinity + 1, (2, count))
    near = rng.integers(0, fmt.infinity + 1, count)
    close = np.clip(
        near + (rng.integers(-16, 17, count) << rng.integers(0, fmt.fraction_bits + 2, count)), 0, fmt.infinity
    )
    edges = np.array([0, 1, fmt.smallest_normal - 1, fmt.smallest_normal, fmt.largest, fmt.infinity])
    a, b = (side.ravel() for side in np.meshgrid(edges, edges))
    return np.concatenate([any_bits[0], near, a]), np.concatenate([any_bits[1], close, b])


@pytest.mark.parametrize("fabric", ["asic", "xilinx"])
@pytest.mark.parametrize("fmt", [FP16, BF16, FP32], ids=lambda fmt: fmt.name)
def test_sums_of_positive_numbers(fmt, fabric):
    a, b = positive_pairs(fmt, np.random.default_rng(1), 150)
    got = outputs(lambda m, x, y: add_positive(m, x, y, fmt=fmt, fabric=fabric), [(fmt.width, a), (fmt.width, b)])
    assert np.array_equal(got, add(a, b, fmt))


@pytest.mark.parametrize("format", ["fp16", "bf16"])
def test_weights_on_an_fpga_are_those_of_cells(format):
    rule = Inf2SoftmaxConfig(format=format).rule
    fmt, rng = rule.score, np.random.default_rng(2)
    top = from_float64(rng.normal(size=200) * 2.0 ** rng.uniform(-12, 9, 200), fmt)
    below = from_float64(rng.exponential(size=200) * 2.0 ** rng.uniform(-14, 5, 200), fmt)
    value = np.minimum(add(top, below, fmt, subtract=True), fmt.negative_infinity)
    special = np.array([0, fmt.sign_mask, 1, fmt.infinity, fmt.negative_infinity, fmt.nan, fmt.largest | fmt.sign_mask])
    a, b = (side.ravel() for side in np.meshgrid(special, special))
    value, top = np.concatenate([value, b]), np.concatenate([top, a])
    top = row_maximum(np.stack([top, value], axis=1), fmt)
    got = outputs(
        lambda m, x, y: softmax_weight(
            m, weight_maximum(m, x, score=fmt, fabric="xilinx"), y, score=fmt, table=rule.table, fabric="xilinx"
        ),
        [(fmt.width, top), (fmt.width, value)],
    )
    assert np.array_equal(got, softmax_exp(top, value, fmt, rule.table))


@pytest.mark.parametrize(
    ("format", "keys", "fabric"),
    [
        ("fp16", {}, "xilinx"),
        ("fp16", {"accumulator": "fp32"}, "xilinx"),
        ("bf16", {}, "xilinx"),
        ("fp16", {"accumulator": "fp32", "division": "reciprocal"}, "xilinx"),
        ("bf16", {"accumulator": "fp32", "division": "reciprocal", "reciprocal_bits": 12}, "xilinx"),
        pytest.param("fp16", {}, "asic", marks=pytest.mark.slow),
        ("bf16", {"accumulator": "fp32", "division": "reciprocal", "reciprocal_bits": 12}, "asic"),
    ],
)
def test_quotients(format, keys, fabric):
    rule = Inf2SoftmaxConfig(format=format, **keys).rule
    rng, io, acc = np.random.default_rng(3), rule.io, rule.acc
    total = from_float64(2.0 ** rng.uniform(0, 15.9, 150), acc)
    total[:60] = from_float64(2.0 ** (np.arange(60) % 16), acc)  # subnormal quotients that end halfway
    total[60:63] = [0, acc.infinity, acc.nan]
    weight = rng.integers(0, (io.bias << io.fraction_bits) + 1, 150)
    weight[:30] = rng.integers(0, 2 * io.smallest_normal, 30)
    weight[60] = 0  # only a row of zeros has the sum 0
    got = outputs(
        lambda m, w, s: quotient(
            m, w, row_scale(m, s, rule=rule, fabric=fabric, name="scale_"), rule=rule, fabric=fabric
        ),
        [(io.width, weight), (acc.width, total)],
    )
    assert np.array_equal(got, softmax_quotient(weight, total, rule))


# Rows of beats ----------------------------------------------------------------------------------------------------------


def rows_through(dut, rows, lanes, width, result, gaps):
    """Rows of beats through a unit that never stalls: results, and their clocks after the last beats."""
    got, ends, queue = [], [], [(n, at, beats) for n, beats in enumerate(map(len, rows)) for at in range(beats)]

    async def bench(ctx):
        clock = 0
        while queue or len(got) < len(rows):
            if ctx.get(dut.output_valid):
                got.append((ctx.get(result), clock - ends[len(got)]))
            gives = bool(queue) and next(gaps)
            ctx.set(dut.valid, gives)
            if gives:
                n, at, beats = queue.pop(0)
                ctx.set(dut.first, at == 0)
                ctx.set(dut.last, at == beats - 1)
                ctx.set(dut.data, sum(int(x) << width * lane for lane, x in enumerate(rows[n][at])))
                if at == beats - 1:
                    ends.append(clock)
            await ctx.tick()
            clock += 1
            assert clock < 2000

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return got


def some_rows(config, rng, draw):
    return [draw((beats, config.lanes)) for beats in rng.integers(1, 7, 12)]


def random_gaps(rng, share):
    while True:
        yield rng.random() >= share


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(("lanes", "groups"), [(8, 2), (4, 4), (1, 1)])
def test_maxima_of_rows(lanes, groups, share):
    config, rng = Inf2SoftmaxConfig(lanes=lanes, groups=groups), np.random.default_rng(4)
    rows = some_rows(
        config, rng, lambda shape: rng.choice([rng.integers(0, 1 << 16), FP16.nan, 0, FP16.sign_mask], shape)
    )
    dut = softmax_module.RowMaximum(FP16, lanes, groups)
    got = rows_through(dut, rows, lanes, 16, dut.maximum, random_gaps(rng, share))
    assert got == [(int(row_maximum(row.ravel(), FP16)), dut.latency) for row in rows]


#: The adders of cells are described bit by bit, which is slow here: the other cases have those of an FPGA.
SUMS = [
    {"fabric": "asic", "lanes": 4},
    {"add_depth": 1, "chains": 2},
    {"chains": 4, "accumulator": "fp32"},
    {"add_depth": 0, "groups": 8},
    {"sums": "window", "accumulator": "fp32"},
    {"sums": "window", "window_depth": 2},
    {"sums": "window", "fabric": "asic", "lanes": 2},
    {"lanes": 1, "groups": 1},
    {"format": "bf16", "accumulator": "fp32"},
]


def sums_of(module, config, share, seed=5):
    """Sums of rows from the unit with their clocks, and from the model."""
    rng = np.random.default_rng(seed)
    one = config.io.bias << config.io.fraction_bits
    rows = some_rows(
        config, rng, lambda shape: np.where(rng.random(shape) < 0.01, config.io.nan, rng.integers(0, one + 1, shape))
    )
    dut = module.RowSum(config)
    got = rows_through(dut, rows, config.lanes, config.io.width, dut.sum, random_gaps(rng, share))
    return got, [(int(row_sum(row.ravel(), config.rule)), dut.latency) for row in rows]


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize("keys", SUMS, ids=str)
def test_sums_of_rows(keys, share):
    got, want = sums_of(
        softmax_module,
        Inf2SoftmaxConfig(**{"lanes": 8, "groups": 2, "max_tokens": 512, "fabric": "xilinx", **keys}),
        share,
    )
    assert got == want


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("young = wire(m, before != chains", "young = wire(m, before == 0"),
        ("one, 0) if chains > 1 else one", "one, one) if chains > 1 else one"),
        ("turn.eq(place + 1)", "turn.eq(turn + 1)"),
        ("up = wire(m, guard & (rest | kept[0])", "up = wire(m, guard & rest"),
        ("chains - 1 + rest), acc.nan", "chains + rest), acc.nan"),
    ],
)
def test_planted_errors_in_sums_are_found(old, new):
    module = planted(softmax_module, old, new)
    config = Inf2SoftmaxConfig(lanes=2, groups=1, chains=4, max_tokens=512, add_depth=0, fabric="xilinx")
    found = [sums_of(module, config, share, seed) for share in (0.0, 0.4) for seed in range(3)]
    assert any(got != want for got, want in found)
