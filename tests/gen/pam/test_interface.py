"""``pam-interface`` in Amaranth's simulator: its order of accesses is the model's in every cycle, and what it writes is
what the model says, for small units of any shape and any rhythm of the streams."""

import random

import numpy as np
import pytest
from amaranth.sim import Simulator
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bankside.constraints.pam.interface import MemorySide, PamInterfaceConfig
from bankside.gen.pam.interface import PamInterface
from bankside.gen.pam.scheduler import AccessScheduler
from bankside.models.pam.interface import Image, SchedulerModel, Tokens, bundles, transfer


@st.composite
def sides(draw, token_bytes, name, together=False):
    """Small memories of every kind of map that tokens of this size fit; ``together``: commands may reach several chips."""

    def power(low, high):
        return 1 << draw(st.integers(low, high))

    split = draw(st.booleans())
    part = token_bytes // 2 if split else token_bytes
    access = min(power(0, 3), part)
    port = min(power(0, 3), access)
    columns = power(0, 4)
    tile = power(0, 2)
    # Enough rows for two tiles and a little more.
    rows = max(2, 4 * tile * part // (columns * access)) * 2
    groups = power(0, 2)
    banks = power(0, 2)
    lockstep = min(power(0, 2 if together else 1), groups)
    states = groups // lockstep * banks
    cycles = {
        name: draw(st.sampled_from(values))
        for name, values in {
            "read_bank_cycles": [1, 2, 7, 20],
            "write_bank_cycles": [1, 3, 12],
            "read_recovery_cycles": [1, 2, 9],
            "write_recovery_cycles": [1, 5, 15],
            "activate_cycles": [1, 2, 5],
            "window_cycles": [0, 1, 9, 40],
        }.items()
    }
    return MemorySide(
        format=name,
        port_bytes=port,
        groups=groups,
        lockstep=lockstep,
        chips=lockstep if together else 1,
        banks=banks,
        rows=rows,
        row_bytes=columns * access,
        access_bytes=access,
        tile_tokens=tile,
        key_run=min(power(0, 4), part),
        value_run=min(power(0, 4), part),
        split=split,
        interleave=power(0, 2),
        windows=min(power(0, 1), states),
        **cycles,
    )


@st.composite
def configs(draw):
    token_bytes = 1 << draw(st.integers(1, 4))
    several = draw(st.sampled_from(["left", "right", None]))
    source, destination = (draw(sides(token_bytes, name, name == several)) for name in ("left", "right"))
    chips = max(source.chips, destination.chips)
    return PamInterfaceConfig(
        source=source,
        destination=destination,
        token_bytes=token_bytes,
        buffer_tokens=draw(st.integers(1, 5 if chips == 1 else 3)) * chips,
        reorder_depth=draw(st.integers(1, 4)),
        write_depth=draw(st.integers(1, 4)),
        hit_limit=draw(st.sampled_from([1, 2, 5])),
        reads_in_flight=draw(st.integers(1, 6)),
        tag_bits=6,
    )


def places(side, token_bytes, count, rng):
    """Distinct random places; most of them neighbours, so that rows are hit, and some in the same bundle."""
    capacity = side.layout.slots_of_group(token_bytes)
    low = rng.integers(max(1, capacity - 2 * count + 1))
    pool = np.arange(low, min(capacity, low + 2 * count)) if rng.random() < 0.7 else np.arange(capacity)
    flat = (np.arange(side.groups)[:, None] * capacity + pool).ravel()
    chosen = rng.permutation(flat)[:count]
    if side.chips > 1:
        chosen = chosen[np.lexsort((chosen // capacity, chosen % capacity))]
    return chosen // capacity, chosen % capacity


small = settings(
    max_examples=12, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)  # a counterexample of so small units is small enough


@small
@given(st.data())
def test_scheduler_is_the_model_in_every_cycle(data):
    token_bytes = 1 << data.draw(st.integers(1, 5))
    side = data.draw(sides(token_bytes, "side"))
    depth, hit_limit = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([1, 2, 6]))
    rng = random.Random(data.draw(st.integers(0, 1000)))
    dut = AccessScheduler(
        side,
        token_bytes,
        depth,
        8,
        bank_cycles=side.read_bank_cycles,
        recovery_cycles=side.read_recovery_cycles,
        hit_limit=hit_limit,
    )
    model = SchedulerModel(side, token_bytes, depth, side.read_bank_cycles, side.read_recovery_cycles, hit_limit)
    group, slot = places(side, token_bytes, 24, np.random.default_rng(rng.randrange(1000)))
    todo = list(zip(group.tolist(), slot.tolist(), strict=True))
    total = len(todo) * side.layout.accesses_of_token(token_bytes)
    offer, accept = rng.choice([0.2, 0.8, 1.0]), rng.choice([0.3, 0.9, 1.0])

    async def bench(ctx):
        given_out, left = 0, 0
        for _ in range(200 * total + 3000):
            item = todo[given_out] if given_out < len(todo) and rng.random() < offer else None
            taken = rng.random() < accept
            ctx.set(dut.i.valid, item is not None)
            if item:
                ctx.set(dut.i.payload, {"group": item[0], "slot": item[1], "ref": given_out})
            ctx.set(dut.o.ready, taken)
            want = model.offered
            assert ctx.get(dut.i.ready) == model.ready
            assert ctx.get(dut.o.valid) == (want is not None)
            if want:
                got = ctx.get(dut.o.payload)
                place = got.location
                assert (got.ref, got.access, place.group, place.bank, place.row, place.column, bool(got.last)) == (
                    want.token,
                    want.access,
                    want.group,
                    want.bank,
                    want.row,
                    want.column,
                    want.last,
                )
                left += taken
            given_out += item is not None and model.ready
            model.step(item, taken)
            await ctx.tick()
            if left == total:
                return
        pytest.fail("the scheduler did not give all accesses")

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def play(config, tokens, data, rng, stall):
    """Run a unit between two memories; what was written, as (address, bytes) in order, and the tags done."""
    dut = PamInterface(config)
    image = Image.of(config.source, config.token_bytes, tokens.source_group, tokens.source_slot, data)
    held = dict(zip(image.address.tolist(), image.block, strict=True))
    written, done, commands, answers = [], [], [], []
    more = np.r_[np.diff(bundles(config, tokens)) == 0, False]

    def addresses(side, place):
        """Of every chip that the command reaches."""
        for chip in range(side.chips):
            flat = ((place.group * side.chips + chip) * side.banks + place.bank) * side.rows + place.row
            yield (flat * side.columns + place.column) * side.access_bytes

    limit = 4000 + 300 * len(tokens) * config.token_bytes

    async def give(ctx):
        for n in range(len(tokens)):
            while rng.random() < stall:
                await ctx.tick()
            item = {name: int(values[n]) for name, values in vars(tokens).items()}
            ctx.set(dut.descriptor.payload, item | ({"more": int(more[n])} if config.chips > 1 else {}))
            ctx.set(dut.descriptor.valid, 1)
            await ctx.tick().until(dut.descriptor.ready)
            ctx.set(dut.descriptor.valid, 0)

    async def read(ctx):
        ctx.set(dut.read.ready, 1)
        while True:
            _, _, moved, place = await ctx.tick().sample(dut.read.valid & dut.read.ready, dut.read.payload)
            if moved:
                blocks = [
                    held.get(a, np.zeros(config.source.access_bytes, np.uint8)) for a in addresses(config.source, place)
                ]
                answers.extend(np.stack([block.reshape(config.source.beats, -1) for block in blocks], axis=1))
            ctx.set(dut.read.ready, rng.random() >= stall)

    async def answer(ctx):
        while True:
            if answers and rng.random() >= stall:
                ctx.set(dut.read_data.payload, int.from_bytes(answers.pop(0).tobytes(), "little"))
                ctx.set(dut.read_data.valid, 1)
                await ctx.tick().until(dut.read_data.ready)
                ctx.set(dut.read_data.valid, 0)
            else:
                await ctx.tick()

    async def write(ctx):
        beats = []
        while True:
            for port in (dut.write, dut.write_data, dut.done):
                ctx.set(port.ready, rng.random() >= stall)
            _, _, command, place, beat, payload, ended, tag = await ctx.tick().sample(
                dut.write.valid & dut.write.ready,
                dut.write.payload,
                dut.write_data.valid & dut.write_data.ready,
                dut.write_data.payload,
                dut.done.valid & dut.done.ready,
                dut.done.payload,
            )
            if command:
                commands.append(
                    [
                        (chip, a)
                        for chip, a in enumerate(addresses(config.destination, place))
                        if config.destination.chips == 1 or place.chips >> chip & 1
                    ]
                )
            if beat:
                raw = payload.data.to_bytes(config.destination.port_bytes * config.destination.chips, "little")
                beats.append(np.frombuffer(raw, np.uint8).reshape(config.destination.chips, -1))
                assert payload.last == (len(beats) == config.destination.beats)
                if payload.last:
                    written.extend((a, b"".join(part[chip].tobytes() for part in beats)) for chip, a in commands.pop(0))
                    beats.clear()
            if ended:
                done.append(tag)
                assert len(written) >= len(done) * config.destination.layout.accesses_of_token(config.token_bytes)

    async def watch(ctx):
        for _ in range(limit):
            await ctx.tick()
            if len(done) == len(tokens):
                break
        await ctx.tick().repeat(20)  # nothing may follow

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(give, background=True)
    simulator.add_testbench(read, background=True)
    simulator.add_testbench(answer, background=True)
    simulator.add_testbench(write, background=True)
    simulator.add_testbench(watch)
    simulator.run()
    return image, written, done


def test_latencies_are_those_of_the_description():
    """A token of one access alone: when each stream first moves, with all of them ready and data in the next cycle."""
    side = MemorySide(
        format="one",
        port_bytes=4,
        groups=1,
        lockstep=1,
        banks=2,
        rows=8,
        row_bytes=4,
        access_bytes=4,
        tile_tokens=1,
        key_run=4,
        value_run=4,
        split=False,
        interleave=1,
        windows=1,
        read_bank_cycles=1,
        write_bank_cycles=1,
        read_recovery_cycles=1,
        write_recovery_cycles=1,
        activate_cycles=1,
        window_cycles=0,
    )
    for tokens in (1, 3, 16):
        config = PamInterfaceConfig(
            source=side,
            destination=side,
            token_bytes=4,
            buffer_tokens=tokens,
            reorder_depth=1,
            write_depth=1,
            reads_in_flight=4,
            tag_bits=2,
        )
        dut, seen = PamInterface(config), {}

        async def bench(ctx, dut=dut, seen=seen):
            for port in (dut.read, dut.write, dut.write_data, dut.done):
                ctx.set(port.ready, 1)
            ctx.set(dut.descriptor.valid, 1)
            for cycle in range(40):
                ctx.set(dut.read_data.valid, "read" in seen and "read_data" not in seen)
                for name in ("descriptor", "read", "read_data", "write", "write_data", "done"):
                    port = getattr(dut, name)
                    if ctx.get(port.valid) and ctx.get(port.ready):
                        assert name not in seen
                        seen[name] = cycle
                await ctx.tick()
                ctx.set(dut.descriptor.valid, 0)

        simulator = Simulator(dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()
        between = {
            "descriptor_to_read": ("descriptor", "read"),
            "last_read_data_to_write": ("read_data", "write"),
            "write_to_write_data": ("write", "write_data"),
            "last_write_data_to_done": ("write_data", "done"),
        }
        assert {name: seen[b] - seen[a] for name, (a, b) in between.items()} == dut.latency


@seed(1)
@small
@given(configs(), st.integers(0, 1000), st.sampled_from([0.0, 0.4]))
def test_every_byte_is_written_once_where_the_map_says(config, number, stall):
    rng = np.random.default_rng(number)
    count = min(
        8,
        *(side.groups * side.layout.slots_of_group(config.token_bytes) for side in (config.source, config.destination)),
    )
    tokens = Tokens(
        *places(config.source, config.token_bytes, count, rng),
        *places(config.destination, config.token_bytes, count, rng),
        np.arange(count),
    )
    data = rng.integers(0, 256, (count, config.token_bytes), np.uint8)
    image, written, done = play(config, tokens, data, random.Random(number), stall)
    assert sorted(done) == list(range(count))
    want = transfer(config, image, tokens)
    assert sorted(written) == [(a, bytes(b)) for a, b in zip(want.address.tolist(), want.block, strict=True)]
