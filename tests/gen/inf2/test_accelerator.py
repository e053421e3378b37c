# amaranth: UnusedElaboratable=no
"""The shell of ``inf2-accelerator`` in Amaranth's simulator: order of words, requests, masks, ports of the buses."""

import numpy as np
import pytest
from amaranth.lib.wiring import Out
from amaranth.sim import Simulator

from bankside.constraints.core.axi import axi4_ports, axi_lite_ports
from bankside.constraints.core.registry import UNITS
from bankside.constraints.inf2.accelerator import Inf2AcceleratorConfig, Job, MaskKind
from bankside.gen.blocks.axi import Axi4Signature, AxiLiteSignature
from bankside.gen.formal import prove
from bankside.gen.inf2.accelerator import MaskSource, RowFetcher
from bankside.gen.inf2.shuffle import TileShuffle
from bankside.hardware.selection import select

LANES, GROUPS, BLOCKS = 4, 3, 2


def small() -> Inf2AcceleratorConfig:
    return select("inf2-accelerator", sets=UNITS["inf2-accelerator"].trial.sets).config


@pytest.mark.parametrize("id_bits", [0, 3])
def test_ports_are_those_of_the_buses(id_bits):
    """Names, widths and directions of the contract are those of the signatures with which the blocks connect."""

    def listed(prefix, signature, flow):
        return {
            f"{prefix}_{name}": (
                member.shape if isinstance(member.shape, int) else 1,
                "out" if (member.flow is Out) == flow else "in",
            )
            for name, member in signature.members.items()
        }

    def given(ports):
        return {port.name: (port.layout.bits, port.flow) for port in ports}

    assert given(axi4_ports("m_axi", 40, 64, id_bits)) == listed(
        "m_axi", Axi4Signature(address_bits=40, data_bits=64, id_bits=id_bits), True
    )
    assert given(axi_lite_ports("s_axi", 8)) == listed("s_axi", AxiLiteSignature(address_bits=8), False)


# Tiles ------------------------------------------------------------------------------------------------------------------


def shuffled(jobs, stall=0.0, seed=1):
    """Words that leave for jobs ``(tokens, groups, block, spread)``, whose words are numbered, with their cycles."""
    dut = TileShuffle(word_bits=16, lanes=LANES, groups=GROUPS, blocks=BLOCKS, token_bits=8)
    rng = np.random.default_rng(seed)
    count = sum(tokens * groups for tokens, groups, *_ in jobs)
    got, cycles = [], []

    async def feed_jobs(ctx):
        for tokens, groups, block, spread in jobs:
            ctx.set(dut.job.payload, {"tokens": tokens, "groups": groups, "block": block, "spread": spread})
            ctx.set(dut.job.valid, 1)
            await ctx.tick().until(dut.job.ready)
        ctx.set(dut.job.valid, 0)

    async def feed(ctx):
        for n in range(count):
            while rng.random() < stall:
                await ctx.tick()
            ctx.set(dut.i.payload, n)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)

    async def take(ctx):
        cycle = 0
        while len(got) < count:
            ctx.set(dut.o.ready, int(rng.random() >= stall))
            _, _, valid, ready, word, block = await ctx.tick().sample(
                dut.o.valid, dut.o.ready, dut.o.p.word, dut.o.p.block
            )
            cycle += 1
            if valid and ready:
                got.append((word, block))
                cycles.append(cycle)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for part in (feed_jobs, feed, take):
        simulator.add_testbench(part)
    simulator.run_until(1e-6 * (300 + 30 * count))
    return got, cycles


def expected(jobs):
    out, first = [], 0
    for tokens, groups, block, spread in jobs:
        for tile in range(-(-tokens // LANES)):
            rows = min(LANES, tokens - tile * LANES)
            for word in range(groups):
                for row in range(rows):
                    out.append(
                        (first + (tile * LANES + row) * groups + word, (block + (word if spread else tile)) % BLOCKS)
                    )
        first += tokens * groups
    return out


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_words_leave_tile_by_tile(stall):
    jobs = [(1, 1, 0, 0), (9, 3, 1, 0), (9, 3, 1, 1), (4, 2, 0, 1), (7, 1, 1, 0), (3, 3, 0, 0), (8, 2, 0, 1)]
    got, _ = shuffled(jobs, stall)
    assert got == expected(jobs)


def test_a_word_in_every_clock():
    """Whole tiles follow each other without a pause."""
    _, cycles = shuffled([(16, 3, 0, 0)])
    assert (np.diff(cycles) == 1).all()


# Requests ---------------------------------------------------------------------------------------------------------------


def requests(job, groups, mask_words, arrivals):
    """Requests of a job. ``arrivals``: by cycle, rows of K and V that have come by then."""
    config = small()
    dut, got = RowFetcher(config, 12), []

    async def bench(ctx):
        for name in ("q", "k", "v", "new_k", "new_v", "mask", "tokens", "new_tokens"):
            ctx.set(getattr(dut, name), getattr(job, name))
        ctx.set(dut.groups, groups)
        ctx.set(dut.mask_words, mask_words)
        ctx.set(dut.request.ready, 1)
        ctx.set(dut.start, 1)
        for cycle in range(120):
            for name, rows in zip(("arrived_k", "arrived_v"), arrivals.get(cycle, ()), strict=False):
                ctx.set(getattr(dut, name), rows)
            _, _, valid, address, size = await ctx.tick().sample(
                dut.request.valid, dut.request.p.address, dut.request.p.bytes
            )
            ctx.set(dut.start, 0)
            if valid:
                got.append((cycle, address, size))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return got


def test_requests_in_the_order_of_use():
    job = Job(6, 10, 5, MaskKind.BITS, 11, q=0x100, k=0x200, v=0x400, new_k=0x600, new_v=0x700, mask=0x800)
    got = [one[1:] for one in requests(job, 3, 1, {0: (6, 6)})]
    row = 3 * 8
    assert got == [
        (0x100, row),
        (0x800, 8),
        (0x200, 4 * row),
        (0x200 + 4 * row, 2 * row),
        (0x600, 4 * row),
        (0x600 + 4 * row, row),
        (0x400, 4 * row),
        (0x400 + 4 * row, 2 * row),
        (0x700, 4 * row),
        (0x700 + 4 * row, row),
    ]


def test_requests_wait_for_rows():
    """A tile is read when all its rows have come; new rows are there."""
    job = Job(6, 10, 1, q=0x100, k=0x200, v=0x400, new_k=0x600, new_v=0x700)
    got = requests(job, 3, 0, {0: (3, 0), 20: (4, 0), 40: (6, 6)})
    assert [address for _, address, _ in got] == [0x100, 0x200, 0x260, 0x600, 0x400, 0x460, 0x700]
    assert got[0][0] < 20 < got[1][0] < 40 < got[2][0]


# Masks ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(MaskKind))
@pytest.mark.parametrize(("row", "length"), [(1, 0), (1, 1), (19, 0), (19, 7), (19, 8), (19, 19), (150, 133)])
def test_masks(kind, row, length):
    config, rng = small(), np.random.default_rng(row + length)
    job = Job(row, 4, mask_kind=kind, mask_length=length if kind else 0)
    bits = rng.integers(0, 2, length) if kind is MaskKind.BITS else None
    words = np.zeros(-(-max(length, 1) // 64) * 64, np.int64)
    words[:length] = 0 if bits is None else bits
    dut, got = MaskSource(config), []

    async def bench(ctx):
        ctx.set(dut.kind, int(kind))
        ctx.set(dut.edge, row - length if kind is MaskKind.LAST else length)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        ctx.set(dut.i.valid, int(kind is MaskKind.BITS and length > 0))
        for word in words.reshape(-1, 64):
            ctx.set(dut.i.payload, sum(int(bit) << n for n, bit in enumerate(word)))
            await ctx.tick()
        ctx.set(dut.i.valid, 0)
        await ctx.tick()
        for beat in range(-(-row // 4)):
            got.extend(ctx.get(dut.masked) >> n & 1 for n in range(4))
            ctx.set(dut.next, 1)
            await ctx.tick()
            ctx.set(dut.next, 0)
            if beat % 3 == 1:
                await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert got[:row] == config.masked(job, bits).astype(int).tolist()


# Proofs -----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: TileShuffle(word_bits=1, lanes=2, groups=2, blocks=2, token_bits=3), id="shuffle"),
        pytest.param(lambda: RowFetcher(small(), 8), id="fetcher"),
    ],
)
def test_streams_keep_their_contract(make):
    """Proved for all time: what is offered stays until it is taken, whatever comes in."""
    result = prove(make())
    assert result.status == "proved", result
