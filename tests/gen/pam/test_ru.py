# amaranth: UnusedElaboratable=no
"""The reduction unit's parts in Amaranth's simulator: weights bit for bit, and the control of the whole unit.

For the control the lanes are replaced by integer operations that tell every order and every missed or doubled beat apart,
so that the whole unit simulates in seconds. The real unit is compared bit for bit in
``tests/cosim/pam/test_ru_bench.py``.
"""

import numpy as np
import pytest
from amaranth import *
from amaranth.sim import Simulator

from bankside.constraints.pam.ru import PRESETS, PamRuConfig
from bankside.cosim.pam.pu import special_numbers
from bankside.gen.pam import ru as ru_module
from bankside.gen.pam.lane import ReductionLane, delayed, factor_format
from bankside.gen.pam.partial_port import PartialKind, PartialPort
from bankside.gen.pam.ru import PamRu
from bankside.gen.pam.sum_unit import SumUnit
from bankside.gen.pam.weights import WeightUnit
from bankside.models.numerics import convert, fma, from_float64, logarithm, to_float64
from bankside.models.pam.ru import _log_sum, shift, weights


def simulate(dut, testbench):
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()


# Weights ----------------------------------------------------------------------------------------------------------------


def expected_weights(config, steps):
    """What the model says of steps (lists of (m, scale)): ``(weight, steps, first)`` each, and the last (m, scale)."""
    out = []
    for step in steps:
        run, total = np.int64(config.score.negative_infinity), np.int64(0)
        for n, (m, scale) in enumerate(step):
            weight, down, run, total = weights(config, np.int64(m), np.int64(scale), run, total, first=n == 0)
            out.append((int(weight), int(down), n == 0))
    return out, int(run), int(total)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("pam-hbm", {}),
        ("pam-ddr", {}),
        ("pam-hbm", {"exponential_units": 1}),
        ("pam-hbm", {"format": "bf16", "score_format": "bf16", "log_format": "bf16"}),
    ],
)
def test_weights_bit_for_bit(name, fields):
    config = PamRuConfig(**{**PRESETS[name].model_dump(), **fields})
    rng = np.random.default_rng(1)
    score, half = config.score, 1 << (config.scale_bits - 1)
    corners = [0, score.sign_mask, score.infinity, score.negative_infinity, score.nan, score.largest, 1]
    steps = []
    for kind in range(24):
        count = int(rng.integers(1, 9))
        m = [int(x) for x in from_float64(rng.normal(size=count) * [1, 30, 1e4][kind % 3], score)]
        if kind % 4 == 3:
            m = [int(x) for x in rng.choice(corners + m, count)]
        scale = [0] * count if kind % 2 else [int(x) for x in rng.integers(-half >> kind % 7, half >> kind % 7, count)]
        steps.append(list(zip(m, scale, strict=True)))
    expected, last, total = expected_weights(config, steps)
    items = [(m, scale, n == 0) for step in steps for n, (m, scale) in enumerate(step)]
    dut, got, starts, strobes = WeightUnit(config), [], [], []

    async def testbench(ctx):
        at = 0
        for cycle in range(len(items) * 6 + 40):
            go = at < len(items) and ctx.get(dut.free) and (cycle < 30 or rng.random() < 0.7)
            m, scale, first = items[at] if go else (score.nan, -1, 1)
            for port, value in ((dut.start, bool(go)), (dut.m, m), (dut.scale, scale), (dut.first, first)):
                ctx.set(port, value)
            if go:
                at += 1
                starts.append(cycle)
            if ctx.get(dut.valid):
                got.append((ctx.get(dut.weight), ctx.get(dut.steps), bool(ctx.get(dut.is_first))))
                strobes.append(cycle)
            await ctx.tick()
        assert ctx.get(dut.maximum) == last and ctx.get(dut.total_scale) == total

    simulate(dut, testbench)
    assert [s + WeightUnit.LATENCY for s in starts] == strobes
    assert np.diff(starts)[:5].tolist() == [WeightUnit.INTERVAL] * 5
    assert got == expected


# Lane -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{}, {"lane_depth": 2}, {"acc_format": "fp16", "lane_depth": 0}])
def test_lane_bit_for_bit(fields):
    """A new element every cycle: accumulators moved and added, sums that cancel, corner values; and the way out."""
    config = PamRuConfig(**fields)
    dut, rng, count = ReductionLane(config), np.random.default_rng(5), 100
    io, acc, start = config.io, config.acc, dut.SUM
    o, weight = (rng.integers(0, 1 << io.width, count) for _ in range(2))
    o[::3], weight[::3] = (rng.choice(special_numbers(io), len(o[::3])) for _ in range(2))
    with np.errstate(invalid="ignore"):
        old = from_float64(-to_float64(o, io) * to_float64(weight, io) * rng.choice([1, 1.25, 1e-3], count), acc)
    old[::5] = rng.choice(special_numbers(acc), len(old[::5]))
    old = np.where(old >> acc.fraction_bits & acc.exponent_max == 0, 0, old)  # no accumulator is subnormal
    steps, alone = rng.choice([0, 0, 1, 5, 40, 1023], count), rng.random(count) < 0.2
    expected = fma(weight, o, np.where(alone, 0, shift(old, steps, acc)), io, acc=acc)
    rounded = shift(old, steps, acc) if acc == io else convert(shift(old, steps, acc), acc, io)
    factor = convert(weight, io, dut.fmt)
    got, out = [], []

    async def testbench(ctx):
        for cycle in range(count + start + 2):
            if cycle < count:
                ctx.set(dut.o, int(o[cycle]))
            if 0 < cycle <= count:
                for port, values in ((dut.factor, factor), (dut.old, old), (dut.steps, steps), (dut.alone, alone)):
                    ctx.set(port, int(values[cycle - 1]))
            if start <= cycle < count + start:
                got.append(ctx.get(dut.result))
            if 3 <= cycle < count + 3:
                out.append(ctx.get(dut.rounded))
            await ctx.tick()

    simulate(dut, testbench)
    assert got == expected.tolist()
    assert out[:count] == rounded[: len(out)].tolist()


# Sum --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{}, {"acc_format": "fp16", "score_format": "fp16", "lane_depth": 2}])
def test_sum_bit_for_bit(fields):
    """Sums of one to four operands, as often as they may come, and m + ln l of each."""
    config = PamRuConfig(**fields)
    dut, rng = SumUnit(config), np.random.default_rng(6)
    io, acc, fmt = config.io, config.acc, factor_format(config)[0]
    got, expected = [], []

    async def testbench(ctx):
        for count in (1, 4, 2, 3):
            state = np.int64(0)
            for n in range(count):
                weight = from_float64(rng.uniform(0, 1), io)
                new, steps = from_float64(rng.uniform(1, 32), acc), int(rng.integers(0, 3))
                old = np.int64(0) if n == 0 else shift(state, steps, acc)
                state = fma(convert(weight, io, acc), new, old, acc, flush_to_zero=True)
                for port, value in ((dut.valid, 1), (dut.first, n == 0), (dut.l, new), (dut.steps, steps)):
                    ctx.set(port, int(value))
                await ctx.tick()
                ctx.set(dut.valid, 0)
                ctx.set(dut.weight, int(convert(weight, io, fmt)))
                for _ in range(config.lane_depth + 2):
                    await ctx.tick()
            m, scale = from_float64(rng.normal() * 30, config.score), int(rng.integers(-4, 20)) << 14
            ctx.set(dut.close, 1)
            for _ in range(dut.LATENCY + 1):
                await ctx.tick()
            ctx.set(dut.close, 0)
            for port, value in ((dut.maximum, m), (dut.scale, scale), (dut.finish, 1)):
                ctx.set(port, int(value))
            for _ in range(dut.FINISH + dut.LOGARITHM):
                await ctx.tick()
            got.append((ctx.get(dut.part), ctx.get(dut.power), ctx.get(dut.log_sum)))
            ctx.set(dut.finish, 0)
            await ctx.tick()
            power = int(state >> acc.fraction_bits & acc.exponent_max) - acc.bias
            part = shift(state, np.int64(power), acc)
            ln = logarithm(convert(part, acc, config.log), fmt=config.log)
            expected.append((int(part), power, int(_log_sum(config, m, np.int64(scale), ln))))

    simulate(dut, testbench)
    assert got == expected


# Port -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [4, 16])
def test_port_takes_partial_results_apart(lanes):
    """Beats of O pass; m, scale and l stand beside them until the last."""
    config = PamRuConfig(source_lanes=lanes, score_format="fp16")
    rng, dut = np.random.default_rng(2), PartialPort(config)
    beats, expected = [], []
    width = lanes * 16
    for n, words in enumerate((1, 3, 2)):
        m, scale, total = (int(x) for x in rng.integers(0, 1 << 16, 3))
        data = [int.from_bytes(rng.bytes(width // 8), "little") for _ in range(words)]
        beats += [m | scale << 16 | PartialKind.MAXIMUM.value << width, total | PartialKind.SUM.value << width]
        beats += [part | (k == words - 1) << (width + 2) | (n == 2) << (width + 3) for k, part in enumerate(data)]
        expected += [(m, scale, total, word, k == words - 1, n == 2) for k, word in enumerate(data)]
    got = []

    async def testbench(ctx):
        at, offered = 0, False
        for _ in range(400):
            offered = offered or (at < len(beats) and rng.random() < 0.7)
            ctx.set(dut.i.valid, offered)
            ctx.set(Value.cast(dut.i.payload), beats[at] if offered else (1 << (width + 4)) - 1)
            ctx.set(dut.o.ready, rng.random() < 0.6)
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                assert ctx.get(dut.known)
                got.append(
                    tuple(int(ctx.get(x)) for x in (dut.m, dut.scale, dut.l, dut.o.p.data, dut.o.p.last, dut.o.p.final))
                )
            if offered and ctx.get(dut.i.ready):
                at, offered = at + 1, False
            await ctx.tick()

    simulate(dut, testbench)
    assert got == expected


# Control ----------------------------------------------------------------------------------------------------------------


class IntegerLane(ReductionLane):
    """3 times the accumulator plus O, whatever the weight."""

    def elaborate(self, platform):
        m = Module()
        number = Mux(self.again, delayed(m, self.rounded, "rounded", self.AGAIN - 3), self.o)
        product = delayed(m, delayed(m, number, "element", 1), "product", 1)
        held = Signal(len(self.old))
        m.d.sync += [held.eq(Mux(self.back, self.result, self.old)), self.rounded.eq(held)]
        total = Mux(delayed(m, self.alone, "alone", 1), product, 3 * held + product)[: len(held)]
        m.d.comb += self.result.eq(delayed(m, total, "total", self.config.lane_depth))
        return m


class NoSum(SumUnit):
    def elaborate(self, platform):
        return Module()


@pytest.fixture
def integers(monkeypatch):
    monkeypatch.setattr(ru_module, "ReductionLane", IntegerLane)
    monkeypatch.setattr(ru_module, "SumUnit", NoSum)


def folded(values):
    """What the stand-in for the multiply-add makes of a sequence."""
    total = values[0]
    for value in values[1:]:
        total = (3 * total + value) % (1 << 16)
    return total


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="three-sources"),
        pytest.param({"sources": 1}, id="one-source"),
        pytest.param({"sources": 2, "staging_beats": 2, "exponential_units": 1}, id="small-queues"),
        pytest.param(
            {"sources": 5, "lanes": 8, "max_head_dim": 64, "scratch_bytes": 128, "lane_depth": 2}, id="gather"
        ),
        pytest.param({"sources": 1, "lane_depth": 8}, id="deepest"),
    ],
)
def test_order_and_beats(integers, fields):
    """Every beat once, in the order of the sources, with any stalls; short partial results do not overtake their own sum.

    Then the promised rate, without stalls: a beat every clock from two sources on.
    """
    config = PamRuConfig(
        **{
            "lanes": 4,
            "source_lanes": 4,
            "sources": 3,
            "max_head_dim": 32,
            "scratch_bytes": 64,
            "acc_format": "fp16",
            "score_format": "fp16",
            **fields,
        }
    )
    rng, dut, lanes = np.random.default_rng(3), PamRu(config), config.lanes
    steps = [
        (rng.integers(1, 4, config.sources).tolist(), chunks, bool(rng.integers(2))) for chunks in (1, 2, 5, 8, 3, 1)
    ] + [([6] * config.sources, 8, False)]
    beats = {name: [] for name in dut._names}
    width, expected = config.source_lanes * 16, []
    for counts, chunks, _ in steps:
        data = [rng.integers(0, 1 << 16, (count, chunks * lanes)) for count in counts]
        for source, block in enumerate(data):
            for n, row in enumerate(block):
                words = [
                    sum(int(x) << (16 * k) for k, x in enumerate(part)) for part in row.reshape(-1, config.source_lanes)
                ]
                mine = [0x3C00 | 1 << width, 0x3C00 | 2 << width, *words]
                mine[-1] |= 1 << (width + 2) | (n == len(block) - 1) << (width + 3)
                beats[f"source_{source}"] += mine
        rows = np.stack([data[s][n] for s, n in config.order(counts)])
        expected.append([folded([int(x) for x in rows[:, e]]) for e in range(chunks * lanes)])
    rate = {}

    async def testbench(ctx):
        inputs = [getattr(dut, name) for name in dut._names]
        at, offered, command, got, held, moved = [0] * len(inputs), [False] * len(inputs), 0, [], None, []
        limit = sum(2 + chunks for _, chunks, _ in steps)
        quiet = sum(2 + chunks for _, chunks, _ in steps[:-1])
        kinds = []
        for cycle in range(6000):
            full = len(kinds) >= quiet
            chance = 1.0 if full else 0.6
            ctx.set(dut.command.valid, command < len(steps))
            ctx.set(dut.command.p.normalise, steps[min(command, len(steps) - 1)][2])
            for n, port in enumerate(inputs):
                mine = beats[dut._names[n]]
                offered[n] = offered[n] or (at[n] < len(mine) and rng.random() < chance)
                ctx.set(port.valid, offered[n])
                ctx.set(Value.cast(port.payload), mine[at[n]] if offered[n] else (1 << (width + 4)) - 1)
            ready = full or rng.random() < 0.4
            ctx.set(dut.result.ready, ready)
            word = ctx.get(Value.cast(dut.result.payload)) if ctx.get(dut.result.valid) else None
            assert held is None or word == held, "the result is stable while it is refused"
            held = None if ready else word
            if word is not None and ready:
                kinds.append(word >> (lanes * 16) & 3)
                got.append(word)
            for n, port in enumerate(inputs):
                if offered[n] and ctx.get(port.ready):
                    if full and at[n] >= 0 and beats[dut._names[n]][at[n]] >> width & 3 == 0:
                        moved.append(cycle)
                    at[n], offered[n] = at[n] + 1, False
            command += ctx.get(dut.command.ready) and command < len(steps)
            await ctx.tick()
            if len(got) == limit:
                break
        assert [a for a in at] == [len(beats[name]) for name in dut._names]
        rest = list(got)
        for (_, chunks, normalise), elements in zip(steps, expected, strict=True):
            head, rest = rest[: 2 + chunks], rest[2 + chunks :]
            assert [w >> (lanes * 16) & 3 for w in head] == [1, 3 if normalise else 2] + [0] * chunks
            assert [w >> (lanes * 16 + 2) for w in head] == [0, 0] + [2] * (chunks - 1) + [3]
            values = [w >> (16 * k) & 0xFFFF for w in head[2:] for k in range(lanes)]
            if not normalise:  # through the multiply-add once more, with 0
                assert values == elements
        rate["beats"], rate["clocks"] = len(moved), moved[-1] - moved[0] + 1

    simulate(dut, testbench)
    per_beat = 1 if config.sources > 1 and config.staging_beats > 2 else None
    if per_beat and config.gather == 1:
        assert rate["clocks"] <= rate["beats"] + 20
    if config.sources == 1:  # two clocks for m and l between
        assert rate["clocks"] <= 6 * 8 + 5 * 2 + 14
