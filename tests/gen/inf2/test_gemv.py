# amaranth: UnusedElaboratable=no
"""``inf2-gemv`` and its lanes in Amaranth's simulator: right sums, no lost clock, planted errors."""

import numpy as np
import pytest
from amaranth import Value
from amaranth.sim import Simulator

from bankside.constraints.inf2.gemv import Gemv, GemvMode, Inf2GemvConfig
from bankside.cosim.inf2.gemv import random_episode, stimulus, stress_episodes
from bankside.gen.arith import lanes as lanes_module
from bankside.gen.inf2 import gemv as gemv_module
from bankside.models.inf2.gemv import tile_sums
from tests.planting import planted

QK, SV = GemvMode
SMALL = Inf2GemvConfig(blocks=2, lanes=4, max_head_dim=24, max_tokens=255)


# The lanes --------------------------------------------------------------------------------------------------------------


def sums_of(module, config, sizes, rng, kind="wide"):
    """Sums of products that follow each other without a bubble: from the lanes, and from the model."""
    dut = module.LaneSums(config.io, config.window, config.lanes, tag=8)
    episode = random_episode(config, [Gemv(SV, size, config.lanes) for size in sizes], rng, kind=kind)
    for vector in episode.vectors if kind == "wide" else ():
        vector[rng.random(len(vector)) < 0.3] = 0
    got, width, acc = [], config.io.width, config.acc.width
    beats = [(n, at, size) for n, size in enumerate(sizes) for at in range(size)]

    def word(row):
        return sum(int(x) << width * n for n, x in enumerate(row))

    async def bench(ctx):
        for cycle in range(len(beats) + dut.LATENCY + 1):
            if ctx.get(dut.output_valid):
                out = ctx.get(dut.output)
                got.append((ctx.get(dut.tag), cycle, [out >> acc * n & (1 << acc) - 1 for n in range(config.lanes)]))
            n, at, size = beats[cycle] if cycle < len(beats) else (0, 0, 0)
            ctx.set(dut.valid, size > 0)
            if size:
                ctx.set(dut.first, at == 0)
                ctx.set(dut.last, at == size - 1)
                ctx.set(dut.tag_in, n)
                ctx.set(dut.data, word(episode.matrices[n][at]))
            if 0 < cycle <= len(beats):
                n, at, _ = beats[cycle - 1]
                ctx.set(dut.element, int(episode.vectors[n][at]))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    ends = np.cumsum(sizes) - 1 + dut.LATENCY
    want = [
        (n, int(end), tile_sums(config, vector, matrix)[0].tolist())
        for n, (end, vector, matrix) in enumerate(zip(ends, episode.vectors, episode.matrices, strict=True))
    ]
    return got, want


@pytest.mark.parametrize(
    ("fmt", "accumulator"), [("fp16", "same"), ("bf16", "same"), ("fp16", "fp32"), ("bf16", "fp32")]
)
def test_lanes_sum_without_a_bubble(fmt, accumulator):
    config = Inf2GemvConfig(blocks=1, lanes=4, format=fmt, accumulator=accumulator)
    for seed, kind in enumerate(("wide", "bits", "special")):
        got, want = sums_of(lanes_module, config, [4, 1, 3, 2, 4, 4, 1, 1], np.random.default_rng(seed), kind)
        assert got == want


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dead.eq(zero | x.zero |", "dead.eq(x.zero |"),
        ("after.eq(Mux(exponent > before, exponent, before))", "after.eq(Mux(exponent < before, exponent, before))"),
        (
            "grown = plus(Mux(first, 0, total >> shift), term, carry)",
            "grown = plus(Mux(first, 0, total >> shift), term, 0)",
        ),
        ("[Mux(first, 0, f) | new", "[f | new"),
        ('register(m, grown_4, f"lane_grown_6_{lane}", 2)', 'register(m, grown_4, f"lane_grown_6_{lane}", 1)'),
    ],
)
def test_errors_in_the_lanes_are_found(old, new):
    module = planted(lanes_module, old, new)
    pairs = [
        sums_of(module, SMALL, [4, 1, 3, 2, 4, 4, 1, 1], np.random.default_rng(seed), kind)
        for seed, kind in enumerate(("wide", "special", "bits"))
    ]
    assert any(got != want for got, want in pairs)


# The unit ---------------------------------------------------------------------------------------------------------------


def run(module, config, episodes, *, stall=0.0, seed=0):
    """Result beats and their cycles, and the cycles in which each block took a row; and the beats of the model."""
    dut = module.Inf2Gemv(config)
    of = stimulus(config, episodes)
    rng = np.random.default_rng(seed)
    want = [int.from_bytes(row.tobytes(), "little") for row in of.expected["result"]]
    got, taken = [], {name: [] for name in of.items}

    def feed(name):
        port = getattr(dut, name)
        words = [int.from_bytes(row.tobytes(), "little") for row in of.items[name].payload]

        async def bench(ctx):
            cycle = 0
            for word in words:
                while rng.random() < stall:
                    ctx.set(port.valid, 0)
                    await ctx.tick()
                    cycle += 1
                ctx.set(port.valid, 1)
                ctx.set(Value.cast(port.payload), word)
                while True:
                    _, _, ready = await ctx.tick().sample(port.ready)
                    cycle += 1
                    if ready:
                        break
                taken[name].append(cycle)
            ctx.set(port.valid, 0)

        return bench

    async def take(ctx):
        for _ in range(1500):
            ctx.set(dut.result.ready, int(rng.random() >= stall))
            _, _, valid, ready, item = await ctx.tick().sample(dut.result.valid, dut.result.ready, dut.result.payload)
            if valid and ready:
                got.append(int(item.as_bits()))
            if len(got) == len(want):
                break

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for name in of.items:
        simulator.add_testbench(feed(name), background=True)
    simulator.add_testbench(take)
    simulator.run()
    return got, want, taken


def commands(*sizes):
    return random_episode(SMALL, [Gemv(*one) for one in sizes], np.random.default_rng(3), kind="normal")


@pytest.mark.slow
@pytest.mark.parametrize("stall", [0.0, 0.3])
def test_random_commands(stall):
    got, want, _ = run(gemv_module, SMALL, stress_episodes(SMALL, np.random.default_rng(5), 4), stall=stall)
    assert got == want


@pytest.mark.parametrize("mode", [QK, SV])
def test_a_block_takes_a_row_in_every_clock(mode):
    """Commands of whole tiles follow each other: rows never wait, not even where commands meet. Some commands have fewer
    output tiles than there are blocks."""
    config = SMALL.model_copy(update={"add_depth": 2})
    commands = (
        [Gemv(mode, 8, 8)] * 2 + [Gemv(mode, 4, 4) if mode is QK else Gemv(mode, 12, 4)] * 2 + [Gemv(mode, 8, 24)]
    )
    got, want, taken = run(gemv_module, config, [random_episode(config, commands, np.random.default_rng(1))])
    assert got == want
    for block in range(config.blocks):
        rows = np.array(taken[f"matrix_{block}"])[4:]  # the first ones wait for the first vector
        assert len(rows) > 30 and (np.diff(rows) == 1).all()


def test_commands_without_tokens_or_dimensions_have_no_effect():
    episode = commands((QK, 5, 6))
    dut = gemv_module.Inf2Gemv(SMALL)
    of = stimulus(SMALL, [episode])
    seen = []

    async def bench(ctx):
        ctx.set(dut.result.ready, 1)
        for tokens, dim, mode in ((0, 6, 0), (0, 6, 1), (5, 0, 0), (5, 0, 1), (5, 6, 0)):
            ctx.set(dut.command.payload, {"mode": mode, "tokens": tokens, "head_dim": dim})
            ctx.set(dut.command.valid, 1)
            await ctx.tick().until(dut.command.ready)
        ctx.set(dut.command.valid, 0)
        queues = {
            name: [int.from_bytes(row.tobytes(), "little") for row in block.payload]
            for name, block in of.items.items()
            if name != "command"
        }
        for _ in range(120):
            for name, words in queues.items():
                ctx.set(getattr(dut, name).valid, bool(words))
                ctx.set(Value.cast(getattr(dut, name).payload), words[0] if words else 0)
            accepted = [name for name, words in queues.items() if words and ctx.get(getattr(dut, name).ready)]
            if ctx.get(dut.result.valid):
                seen.append(int(ctx.get(dut.result.payload).as_bits()))
            await ctx.tick()
            for name in accepted:
                queues[name].pop(0)
        assert not any(queues.values())

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [int.from_bytes(row.tobytes(), "little") for row in of.expected["result"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tile.slot.eq(Mux(job.sv, out, 0))", "tile.slot.eq(0)"),
        ("Mux(job.sv | last_out, 0, step)", "step"),
        ("Mux(tile.p.outs > n, self.matrix", "Mux(1, self.matrix"),
        ("turn.i.p.columns.eq(tile.p.steps)", "turn.i.p.columns.eq(config.lanes)"),
        ("free.eq(held != places)", "free.eq(1)"),
        ("enough.eq(waiting != config.result_beats)", "enough.eq(1)"),
        ("job.ends.eq((outs - 1)[:bits] == rank)", "job.ends.eq(0)"),
        ("rank.eq(n - turn)", "rank.eq(n)"),
    ],
)
def test_errors_in_the_unit_are_found(old, new):
    """Each planted error gives other results, or none."""
    config = SMALL.model_copy(update={"result_beats": 1})
    episodes = [commands((SV, 9, 24), (SV, 6, 11), (QK, 9, 11), (QK, 18, 6), (SV, 4, 4), (SV, 5, 3), (QK, 30, 3))]
    got, want, _ = run(planted(gemv_module, old, new), config, episodes, stall=0.4)
    assert got != want
