# amaranth: UnusedElaboratable=no
"""The stream blocks in simulation: every cycle of every handshake against a model, and what the figures promise."""

import random
import re
from collections import deque

import numpy as np
import pytest
from amaranth import *
from amaranth.back import rtlil
from amaranth.lib import data
from amaranth.sim import Simulator

from bankside.gen.blocks import ReplayBuffer, StreamFIFO, StreamRegister

DEPTHS = [1, 2, 3, 4, 5, 7, 8, 9]  # registers alone up to 3; below, at and above powers of two
QUEUES = [
    pytest.param(lambda shape: StreamRegister(shape), id="register"),
    *(pytest.param(lambda shape, depth=depth: StreamFIFO(shape, depth), id=f"fifo{depth}") for depth in DEPTHS),
    *(
        pytest.param(lambda shape, depth=depth: StreamFIFO(shape, depth, output_register=False), id=f"fifo{depth}-bare")
        for depth in DEPTHS[3:]
    ),
]


def always(cycle, valid):
    return True


def chance(probability, seed):
    rng = random.Random(seed)
    return lambda cycle, valid: rng.random() < probability


def lazy(cycle, valid):
    """Consumer that is never ready before it has seen an item."""
    return valid


def lazy_sometimes(seed):
    rng = random.Random(seed)
    return lambda cycle, valid: valid and rng.random() < 0.5


def stalls(first, last):
    return lambda cycle, valid: not first <= cycle <= last


def simulate(dut, process):
    """Run :py:`process(ctx)` as the only testbench of :py:`dut`."""
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(process)
    sim.run()


def drive(dut, items, produce, consume, *, limit=2000):
    """Send :py:`items` through the queue; return what arrived and the cycles of acceptance and of delivery.

    Every cycle is compared with the definition: an item is offered ``latency`` cycles after it was accepted, or when
    the one before it has left; one is accepted whenever fewer than ``depth`` are held.
    """
    arrived, accepted, delivered = [], [], []

    async def process(ctx):
        offering = False
        for cycle in range(limit):
            held = len(accepted) - len(delivered)
            offered = held > 0 and accepted[len(delivered)] + dut.latency <= cycle
            assert ctx.get(dut.o.valid) == offered, f"cycle {cycle}"
            if hasattr(dut, "level"):
                assert ctx.get(dut.level) == held, f"cycle {cycle}"

            offering = len(accepted) < len(items) and (offering or produce(cycle, None))
            taking = consume(cycle, offered)
            ctx.set(dut.i.valid, offering)
            ctx.set(dut.i.payload, items[len(accepted)] if offering else ~items[0] & 0xFF)
            ctx.set(dut.o.ready, taking)
            ready = held < dut.depth or (dut.depth == 1 and taking)
            _, _, i_ready, payload = await ctx.tick().sample(dut.i.ready, dut.o.payload)
            assert i_ready == ready, f"cycle {cycle}"
            if offered and taking:
                arrived.append(payload)
                delivered.append(cycle)
            if offering and ready:
                accepted.append(cycle)
                offering = False
            if len(arrived) == len(items):
                return
        pytest.fail(f"{len(arrived)} of {len(items)} items in {limit} cycles")

    simulate(dut, process)
    return arrived, accepted, delivered


@pytest.mark.parametrize("make", QUEUES)
@pytest.mark.parametrize(
    "produce, consume",
    [
        pytest.param(chance(0.5, 1), chance(0.5, 2), id="even"),
        pytest.param(chance(0.9, 3), chance(0.3, 4), id="slow-consumer"),
        pytest.param(chance(0.3, 5), chance(0.9, 6), id="slow-producer"),
        pytest.param(always, lazy, id="lazy-consumer"),
        pytest.param(chance(0.7, 7), lazy_sometimes(8), id="lazy-random"),
    ],
)
def test_queue_random(make, produce, consume):
    rng = random.Random(0)
    items = [rng.randrange(256) for _ in range(120)]
    arrived, _, _ = drive(make(8), items, produce, consume)
    assert arrived == items


@pytest.mark.parametrize("make", QUEUES)
def test_queue_full_throughput(make):
    dut = make(8)
    items = list(range(40))
    arrived, accepted, delivered = drive(dut, items, always, always, limit=60)
    assert arrived == items
    assert accepted == list(range(40))
    assert delivered == [cycle + dut.latency for cycle in range(40)]


@pytest.mark.parametrize("make", QUEUES)
def test_queue_no_bubble_after_stall(make):
    dut = make(8)
    items = list(range(60))
    arrived, _, delivered = drive(dut, items, always, stalls(15, 40), limit=120)
    assert arrived == items
    resumed = [cycle for cycle in delivered if cycle > 40]
    assert resumed == list(range(41, 41 + len(resumed)))


@pytest.mark.parametrize(
    "depth, output_register, latency, rows",
    [
        (1, True, 1, 0),
        (2, True, 1, 0),
        (3, True, 2, 0),
        (3, False, 2, 0),
        (4, True, 3, 2),
        (4, False, 2, 3),
        (16, True, 3, 14),
        (16, False, 2, 15),
    ],
)
def test_fifo_figures(depth, output_register, latency, rows):
    dut = StreamFIFO(8, depth, output_register=output_register)
    assert (dut.depth, dut.latency, dut.rows) == (depth, latency, rows)
    assert dut.output_register is output_register


@pytest.mark.parametrize("make", [make for make in QUEUES if make.id != "fifo1"])
def test_queue_cuts_paths(make):
    """Full, empty or in between: neither handshake sees the other side within the cycle."""
    dut = make(8)

    async def process(ctx):
        ctx.set(dut.i.valid, 1)
        for cycle in range(dut.depth + dut.latency + 2):
            seen = set()
            for valid in 0, 1:
                for ready in 0, 1:
                    ctx.set(dut.i.valid, valid)
                    ctx.set(dut.i.payload, 0x55 + valid)
                    ctx.set(dut.o.ready, ready)
                    seen.add((ctx.get(dut.i.ready), ctx.get(dut.o.valid), ctx.get(dut.o.payload)))
            assert len(seen) == 1, f"cycle {cycle}"
            ctx.set(dut.o.ready, 0)
            await ctx.tick()
        assert not ctx.get(dut.i.ready)

    simulate(dut, process)


@pytest.mark.parametrize("make", QUEUES)
def test_queue_struct_payload(make):
    shape = data.StructLayout({"number": signed(7), "last": 1})
    dut = make(shape)
    assert dut.shape is shape

    async def process(ctx):
        ctx.set(dut.i.payload, {"number": -3, "last": 1})
        ctx.set(dut.i.valid, 1)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        for _ in range(dut.latency - 1):
            assert not ctx.get(dut.o.valid)
            await ctx.tick()
        assert ctx.get(dut.o.valid)
        assert (ctx.get(dut.o.p.number), ctx.get(dut.o.p.last)) == (-3, 1)

    simulate(dut, process)


@pytest.mark.parametrize("depth", DEPTHS)
def test_replay_random(depth):
    dut = ReplayBuffer(8, depth)
    rng = random.Random(depth)
    entries = deque()
    counts = dict.fromkeys(["pushes", "pops", "both", "last_reads"], 0)

    async def process(ctx):
        offering, expected = False, None
        for cycle in range(400):
            assert ctx.get(dut.available) == len(entries)
            if expected is not None:
                assert ctx.get(dut.data) == expected, f"cycle {cycle}"

            if not offering and rng.random() < (0.9, 0.3)[cycle // 100 % 2]:
                offering = True
                ctx.set(dut.i.payload, rng.randrange(256))
            read, offset, release = rng.random() < 0.7, rng.randrange(depth), rng.random() < 0.5
            ctx.set(dut.i.valid, offering)
            ctx.set(dut.read, read)
            ctx.set(dut.offset, offset)
            ctx.set(dut.release, release)
            entry = ctx.get(dut.i.payload)
            _, _, ready = await ctx.tick().sample(dut.i.ready)
            assert ready == (len(entries) < depth or (depth == 1 and release)), f"cycle {cycle}"
            if read:
                expected = entries[offset] if offset < len(entries) else None  # else unspecified
            pop = release and bool(entries)
            push = offering and bool(ready)
            counts["pops"] += pop
            counts["pushes"] += push
            counts["both"] += push and pop
            counts["last_reads"] += pop and read and offset == 0
            if pop:
                entries.popleft()
            if push:
                entries.append(entry)
                offering = False

    simulate(dut, process)
    assert min(counts.values()) > 10, counts


@pytest.mark.parametrize("depth", DEPTHS)
def test_replay_refill_without_bubble(depth):
    """One entry is released and read in every cycle, and one arrives in every cycle, from a full buffer on."""
    dut = ReplayBuffer(16, depth)

    async def process(ctx):
        ctx.set(dut.i.valid, 1)
        for number in range(depth):
            ctx.set(dut.i.payload, number)
            await ctx.tick()
        assert ctx.get(dut.available) == depth
        number = depth
        for cycle in range(50):
            if cycle:
                assert ctx.get(dut.data) == cycle - 1
            assert ctx.get(dut.available) >= max(1, depth - 1)
            ctx.set(dut.i.payload, number)
            ctx.set(dut.read, 1)
            ctx.set(dut.release, 1)
            _, _, ready = await ctx.tick().sample(dut.i.ready)
            assert ready == (cycle > 0 or depth == 1)
            number += ready

    simulate(dut, process)


def test_replay_same_entry_again():
    dut = ReplayBuffer(8, 3)

    async def process(ctx):
        for entry in 10, 20, 30:
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.i.payload, entry)
            await ctx.tick()
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.read, 1)
        for offset in 2, 0, 1, 1, 2, 0:
            ctx.set(dut.offset, offset)
            await ctx.tick()
            assert ctx.get(dut.data) == 10 * (offset + 1)
        ctx.set(dut.read, 0)
        ctx.set(dut.offset, 2)
        await ctx.tick().repeat(3)
        assert ctx.get(dut.data) == 10  # held until the next read
        ctx.set(dut.release, 1)
        await ctx.tick()
        ctx.set(dut.release, 0)
        ctx.set(dut.read, 1)
        ctx.set(dut.offset, 0)
        await ctx.tick()
        assert ctx.get(dut.data) == 20

    simulate(dut, process)


@pytest.mark.parametrize(
    "dut, rows", [(StreamFIFO(8, 6), 4), (StreamFIFO(8, 6, output_register=False), 5), (ReplayBuffer(8, 6), 6)]
)
def test_memory_is_one_write_one_synchronous_read(dut, rows):
    text = rtlil.convert(dut)
    assert re.findall(r"^  memory width 8 size (\d+) ", text, re.MULTILINE) == [str(rows)]
    assert text.count("cell $memwr_v2") == 1
    assert text.count("cell $memrd_v2") == 1
    assert re.search(r"cell \$memrd_v2 .*?CLK_ENABLE (\d)$", text, re.DOTALL | re.MULTILINE)[1] == "1"


@pytest.mark.parametrize("dut", [StreamRegister(8), StreamFIFO(8, 2), StreamFIFO(8, 6), ReplayBuffer(8, 6)])
def test_probe_is_formal_only(dut):
    assert "probe" not in rtlil.convert(dut)


@pytest.mark.parametrize("unit, arguments", [(StreamRegister, ()), (StreamFIFO, (4,)), (ReplayBuffer, (4,))])
def test_shape_wrong(unit, arguments):
    with pytest.raises(TypeError, match=r"^Shape must be a shape-like object, not 'byte'$"):
        unit("byte", *arguments)


@pytest.mark.parametrize("unit", [StreamFIFO, ReplayBuffer])
@pytest.mark.parametrize(
    "depth, error, message",
    [
        (0, ValueError, "Depth must be at least 1, not 0"),
        (-4, ValueError, "Depth must be at least 1, not -4"),
        (4.0, TypeError, "Depth must be an integer, not 4.0"),
        (True, TypeError, "Depth must be an integer, not True"),
        ("4", TypeError, "Depth must be an integer, not '4'"),
    ],
)
def test_depth_wrong(unit, depth, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        unit(8, depth)


def test_depth_numpy():
    assert StreamFIFO(8, np.int64(5)).depth == 5
    assert ReplayBuffer(8, np.uint8(5)).depth == 5
