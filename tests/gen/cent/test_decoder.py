# amaranth: UnusedElaboratable=no
"""CENT's decoder in Amaranth's simulator: latencies, the ring's level, its state; the queue of several memories, proved."""

import pytest
from amaranth.sim import Simulator
from pydantic import ValidationError

from bankside.constraints.cent.decoder import CentDecoderConfig
from bankside.constraints.cent.isa import INSTRUCTIONS
from bankside.gen.cent import ring
from bankside.gen.cent.decoder import CentDecoder
from bankside.gen.cent.ring import InterleavedFIFO
from bankside.gen.formal import StreamContract, prove
from tests.planting import planted

SMALL = CentDecoderConfig(
    buffer_bytes=128,
    buffer_banks=2,
    channels=2,
    banks=4,
    rows=64,
    columns=8,
    lanes=4,
    slots=64,
    registers=4,
    devices=4,
    program_words=64,
    position_bits=16,
)


def word(mnemonic, **fields):
    columns = {"opcode": [INSTRUCTIONS[mnemonic].opcode], **{name: [value] for name, value in fields.items()}}
    return int.from_bytes(SMALL.isa.pack(columns).tobytes(), "little")


def run(testbench, config=SMALL):
    dut = CentDecoder(config)
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)

    async def guarded(ctx):
        await testbench(ctx, dut)

    simulator.add_testbench(guarded)
    simulator.run()


async def send(ctx, dut, value, clear=0):
    ctx.set(dut.host.payload, {"word": value, "clear": clear})
    ctx.set(dut.host.valid, 1)
    await ctx.tick().until(dut.host.ready)
    ctx.set(dut.host.valid, 0)


def test_latency_of_a_word():
    async def bench(ctx, dut):
        ctx.set(dut.command.ready, 1)
        await send(ctx, dut, word("WR_BIAS", CHmask=1 << 31, Rs=5))
        clocks = 1
        while not ctx.get(dut.command.valid):
            await ctx.tick()
            clocks += 1
        assert clocks == dut.latency["word"] == 8
        assert ctx.get(dut.command.p.gpr) == 5 and ctx.get(dut.command.p.mask) == 2

    run(bench)


def test_level_of_a_full_ring_and_what_is_dropped():
    """Nothing is taken: words fill the ring. After an error the host's words vanish until CLEAR."""

    async def bench(ctx, dut):
        good = word("WR_BIAS", CHmask=1 << 31, Rs=5)
        ctx.set(dut.host.payload, {"word": good, "clear": 0})
        ctx.set(dut.host.valid, 1)
        sent = 0
        for _ in range(60):
            sent += ctx.get(dut.host.ready)
            await ctx.tick()
        assert not ctx.get(dut.host.ready) and ctx.get(dut.status.level) == SMALL.depth == 12
        assert sent == SMALL.depth + 2 + 3 + 2  # further words: host register, three stages, command register
        ctx.set(dut.host.valid, 0)
        ctx.set(dut.command.ready, 1)
        await ctx.tick().repeat(60)
        assert ctx.get(dut.status.level) == 0 and not ctx.get(dut.status.failed)
        await send(ctx, dut, 0)
        await ctx.tick().repeat(20)
        assert ctx.get(dut.done.valid) and ctx.get(dut.done.p.position) == sent and ctx.get(dut.done.p.code) == 1
        assert not ctx.get(dut.status.failed)
        ctx.set(dut.done.ready, 1)
        await ctx.tick()
        assert ctx.get(dut.status.failed)
        for _ in range(40):
            await send(ctx, dut, good)
            assert not ctx.get(dut.command.valid)
        await send(ctx, dut, 0, clear=1)
        await send(ctx, dut, word("SYNC"))
        await ctx.tick().repeat(20)
        assert ctx.get(dut.status.waiting) and not ctx.get(dut.status.failed)

    run(bench)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"buffer_bytes": 1000}, "multiple of a word"),
        ({"buffer_banks": 3}, "buffer_banks must be a power of two"),
        ({"buffer_bytes": 64, "buffer_banks": 4}, "at least two words"),
        ({"columns": 24}, "columns must be a power of two"),
        ({"slots": 4096}, "slots"),
        ({"blocking": "some"}, "blocking"),
    ],
)
def test_refused_configurations(changes, message):
    with pytest.raises(ValidationError, match=message):
        CentDecoderConfig(**changes)


@pytest.mark.parametrize(("depth", "banks"), [(12, 3), (7, 2), (6, 2)])
def test_refused_queues(depth, banks):
    with pytest.raises(ValueError, match=r"^(Banks|Depth) must be "):
        InterleavedFIFO(4, depth, banks)


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "banks"), [(4, 1), (8, 2), (16, 4)])
def test_queue_of_several_memories_is_proved(depth, banks):
    result = prove(StreamContract(InterleavedFIFO(2, depth, banks)), timeout_s=900)
    assert result.status == "proved" and not result.unreached, result


@pytest.mark.slow
def test_a_queue_that_takes_turns_wrongly_is_found():
    """The banks give their items in another order than they got them."""
    copy = planted(ring, "self.o.payload.eq(payloads[out_of])", "self.o.payload.eq(payloads[~out_of])")
    result = prove(StreamContract(copy.InterleavedFIFO(2, 8, 2)), timeout_s=900)
    assert result.status == "counterexample", result
    assert any("the k-th item offered is the k-th accepted" in one for one in result.failing)
