# amaranth: UnusedElaboratable=no
"""Compositions in Amaranth's simulator: few small units, bit for bit the models of the parts; and their parameters."""

import numpy as np
import pytest
from amaranth import *
from amaranth.sim import Simulator
from pydantic import ValidationError

from bankside.constraints.pam.bank_group import PRESETS, PamBankGroupConfig
from bankside.constraints.pam.hbm_slice import PRESETS as SLICES
from bankside.constraints.pam.pu import PamPuConfig
from bankside.constraints.pam.reduction_tree import PRESETS as TREES
from bankside.constraints.pam.reduction_tree import level_sizes
from bankside.constraints.pam.ru import PamRuConfig
from bankside.constraints.pam.ssd_controller import PRESETS as CONTROLLERS
from bankside.constraints.pam.ssd_controller import PamSsdControllerConfig
from bankside.cosim.pam.compositions import Episode, random_decode, stimulus
from bankside.gen.blocks.broadcast import StreamBroadcast
from bankside.gen.pam.bank_group import PamBankGroup
from bankside.gen.pam.ssd_controller import PamSsdController

FORMATS = {"format": "bf16", "acc_format": "bf16", "score_format": "bf16"}
PARTS = {
    "processing": PamPuConfig(
        lanes=4, buffer_bytes=48, query_bytes=32, tile_tokens=2, score_tiles=1, max_head_dim=8, max_tokens=15, **FORMATS
    ),
    "reduction": PamRuConfig(
        lanes=4, source_lanes=4, sources=2, max_head_dim=8, scratch_bytes=16, log_format="bf16", **FORMATS
    ),
}
GROUP = PamBankGroupConfig(**PARTS)
CONTROLLER = PamSsdControllerConfig(**PARTS, groups=1, channel_pages=1)
SEVERAL = {
    "processing": PamPuConfig(
        **{**PARTS["processing"].model_dump(), "queries": 2, "query_bytes": 64, "buffer_bytes": 80}
    ),
    "reduction": PamRuConfig(**{**PARTS["reduction"].model_dump(), "queries": 2, "scratch_bytes": 32}),
}


def play(dut, streams, expected, rng, valid=0.8, ready=0.7):
    """Items of every input stream by name; what ``result`` gives, under random stalls."""
    got = []

    async def testbench(ctx):
        at = dict.fromkeys(streams, 0)
        offered = dict.fromkeys(streams, False)
        for _ in range(2500):
            for name, items in streams.items():
                port = getattr(dut, name)
                if not offered[name]:
                    offered[name] = at[name] < len(items) and rng.random() < valid
                    ctx.set(port.valid, offered[name])
                    if offered[name]:
                        ctx.set(Value.cast(port.payload), items[at[name]])
            open_ = rng.random() < ready
            ctx.set(dut.result.ready, open_)
            if open_ and ctx.get(dut.result.valid):
                got.append(ctx.get(Value.cast(dut.result.payload)))
            for name in streams:
                if offered[name] and ctx.get(getattr(dut, name).ready):
                    at[name], offered[name] = at[name] + 1, False
            if len(got) == expected:
                break
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()
    return got


@pytest.mark.parametrize(
    "config, component",
    [
        (GROUP, PamBankGroup),
        (CONTROLLER, PamSsdController),
        (PamBankGroupConfig(**SEVERAL), PamBankGroup),
        (PamSsdControllerConfig(**SEVERAL, groups=1, channel_pages=1), PamSsdController),
    ],
    ids=["bank-group", "ssd-controller", "bank-group-of-two-queries", "ssd-controller-of-two-queries"],
)
def test_bit_for_bit(config, component):
    """Five tokens in one bank, none or three in the other; both levels; random stalls. One page of a channel at a time.
    With several queries, a step of one query is between steps of two."""
    rng = np.random.default_rng(1)
    several = config.processing.queries
    steps = [
        random_decode(config, tokens, 8, rng, normalise=normalise, queries=queries)
        for tokens, normalise, queries in (((5, 3), True, several), ((5, 0), False, 1), ((0, 0), True, several))
    ]
    work = stimulus(config, [Episode(steps)], [step.result(config) for step in steps])
    streams = {
        name: [int.from_bytes(bytes(row), "little") for row in items.payload] for name, items in work.items.items()
    }
    expected = [int.from_bytes(bytes(row), "little") for row in work.expected["result"]]
    assert play(component(config), streams, len(expected), rng) == expected


def test_broadcast():
    """Each consumer gets what selects it, in order; none of them may hold another back within an item."""
    rng = np.random.default_rng(2)
    dut, count = StreamBroadcast(4, 3), 60
    items, selects = rng.integers(16, size=count).tolist(), rng.integers(8, size=count).tolist()
    got = [[], [], []]

    async def producer(ctx):
        for item, select in zip(items, selects, strict=True):
            while rng.random() < 0.3:
                await ctx.tick()
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.i.payload, {"item": item, "select": select})
            await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)

    async def consumer(ctx):
        for _ in range(600):
            for n in range(3):
                port = getattr(dut, f"o_{n}")
                ctx.set(port.ready, rng.random() < 0.5)
                if ctx.get(port.valid & port.ready):
                    got[n].append(ctx.get(port.payload))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(producer)
    sim.add_testbench(consumer)
    sim.run()
    assert got == [[i for i, s in zip(items, selects, strict=True) if s >> n & 1] for n in range(3)]


def test_parts_must_fit():
    with pytest.raises(ValidationError, match="processing.lanes 16 must be reduction.source_lanes, which is 4"):
        PamBankGroupConfig(processing=PRESETS["pam-hbm"].processing, reduction=PRESETS["pam-ddr"].reduction)
    with pytest.raises(ValidationError, match="score_tiles must be 1"):
        PamSsdControllerConfig(processing=PRESETS["pam-hbm"].processing, reduction=PRESETS["pam-hbm"].reduction)
    with pytest.raises(ValidationError, match="processing.queries 4 must be reduction.queries, which is 1"):
        PamBankGroupConfig(processing=PRESETS["pam-hbm-gqa4"].processing, reduction=PRESETS["pam-hbm"].reduction)
    assert [config.units for config in PRESETS.values()] == [4] * 4
    assert [config.max_head_dim for config in PRESETS.values()] == [128] * 4


def test_sizes_are_the_papers():
    """64 and 16 units of a channel, 128 and 32 of a DIMM, 64 and 8 of a controller; at most 8 and exactly 4 beyond."""
    assert [(c.units, c.groups) for c in SLICES.values()] == [(64, 16), (128, 32)]
    assert [(c.units, c.groups) for c in CONTROLLERS.values()] == [(64, 8)]
    assert [c.units for c in TREES.values()] == [5, 4, 1]
    assert TREES["pam-ddr"].levels == [[11, 11, 10], [3]]
    for inputs, most, fan_in in ((16, 8, 4), (32, 4, 11)):
        units = [sum(n > 1 for sizes in level_sizes(inputs, f) for n in sizes) for f in (fan_in - 1, fan_in)]
        assert units[0] > most >= units[1]


def test_trees_of_any_size():
    """Every input is merged once, no unit has more than fan_in sources, and one result is left."""
    for inputs in range(1, 40):
        for fan_in in (2, 3, 8):
            width = inputs
            for sizes in level_sizes(inputs, fan_in):
                assert sum(sizes) == width and max(sizes) <= fan_in and max(sizes) - min(sizes) <= 1
                width = len(sizes)
            assert width == 1
