# amaranth: UnusedElaboratable=no
"""The dispatcher in Amaranth's simulator: command for command the model, in the clocks that are promised, and what the
model does not have: stops, and releases of requests that are being executed."""

import random

import numpy as np
import pytest
from amaranth.sim import Simulator

from bankside.constraints.aim.encoding import DispatchError, Host, Slot
from bankside.constraints.lolpim.dispatcher import DpaDispatcherConfig
from bankside.cosim.lolpim.dispatcher import random_runs, worked_example
from bankside.gen.lolpim import DpaDispatcher
from bankside.models.lolpim import dispatch
from bankside.models.lolpim.host import load, map_rows, release, set_request, set_tokens, start
from bankside.models.program import Affine, Command, Loop, Program
from bankside.models.program.encoding import encode_program

SMALL = DpaDispatcherConfig(command_bytes=4096, table_entries=64, slots=3)
#: One slot, two levels, a prefix word, narrow operands; and the other way round, a line of ten words, tables that are no
#: powers of two.
ODD = [
    DpaDispatcherConfig(
        command_bytes=1536,
        line_words=3,
        mask_bits=8,
        gpr_bits=6,
        opsize_bits=5,
        nesting=2,
        slots=1,
        table_entries=9,
        row_bits=5,
        entry_bits=7,
        stride_bits=9,
        register_bits=2,
        bank_bits=2,
        column_bits=4,
    ),
    DpaDispatcherConfig(
        command_bytes=3600, line_words=10, mask_bits=40, nesting=6, slots=5, table_entries=50, row_bits=10
    ),
]


class Bench:
    """A unit, a host, and a memory that takes commands; cycles are counted from the first write."""

    def __init__(self, config, epochs, *, stall=0.0, seed=0, limit=40_000):
        """``epochs``: lists of writes, or clocks to wait; one begins when the runs of the one before are over."""
        self.config, self.epochs, self.stall, self.limit = config, epochs, stall, limit
        self.random = random.Random(seed)
        self.commands, self.cycles, self.done, self.starts = [], [], [], []
        self.cycle = 0
        dut = DpaDispatcher(config)
        address = config.host_address(Host.START)

        async def host(ctx):
            runs = 0
            for epoch in epochs:
                for write in epoch:
                    if isinstance(write, int):
                        await ctx.tick().repeat(write)
                        continue
                    while self.random.random() < self.stall:
                        await ctx.tick()
                    ctx.set(dut.host.payload, {"address": write[0], "data": write[1]})
                    ctx.set(dut.host.valid, 1)
                    await ctx.tick().until(dut.host.ready)
                    if write[0] == address:
                        self.starts.append(self.cycle)
                        runs += 1
                    ctx.set(dut.host.valid, 0)
                while len(self.done) < runs:
                    await ctx.tick()

        async def memory(ctx):
            runs = sum(isinstance(write, tuple) and write[0] == address for epoch in epochs for write in epoch)
            held = None
            while len(self.done) < runs:
                assert self.cycle < self.limit, (len(self.commands), self.done)
                ctx.set(dut.command.ready, self.ready())
                ctx.set(dut.done.ready, self.random.random() >= self.stall)
                _, _, valid, ready, payload, ends, taken, end = await ctx.tick().sample(
                    dut.command.valid,
                    dut.command.ready,
                    dut.command.payload,
                    dut.done.valid,
                    dut.done.ready,
                    dut.done.payload,
                )
                now = tuple(payload[name] for name in config.command_layout.widths) if valid else None
                assert held is None or now == held
                held = None if ready else now
                if valid and ready:
                    self.commands.append(now)
                    self.cycles.append(self.cycle)
                if ends and taken:
                    self.done.append((DispatchError(end.code), end.line))
                self.cycle += 1

        simulator = Simulator(dut)
        simulator.add_clock(1e-9)
        simulator.add_testbench(host)
        simulator.add_testbench(memory)
        simulator.run()

    def ready(self):
        return self.random.random() >= self.stall


def same(bench):
    issued, done = dispatch(bench.config, [write for epoch in bench.epochs for write in epoch])
    assert bench.commands == [tuple(row) for row in issued.values.tolist()]
    assert bench.done == done


@pytest.mark.parametrize(("config", "number"), [(SMALL, 8), *((config, 5) for config in ODD)])
def test_random_programs(config, number):
    """Any program, any rhythm, and a host that writes the next program while one runs."""
    epochs, _ = random_runs(config, np.random.default_rng(5), number, most=200)
    same(Bench(config, [sum(epochs, [])], stall=0.3))


@pytest.mark.parametrize("config", [SMALL, *ODD])
def test_damaged_programs(config):
    epochs, _ = random_runs(config, np.random.default_rng(6), 12, damage=1.0, most=20)
    same(Bench(config, epochs, stall=0.1))


@pytest.mark.slow
@pytest.mark.parametrize("config", [SMALL, *ODD])
@pytest.mark.parametrize("damage", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_many_programs(config, damage, seed):
    epochs, _ = random_runs(config, np.random.default_rng(100 + seed), 60, damage=damage)
    same(
        Bench(
            config, epochs if damage else [sum(epochs, [])], stall=[0.0, 0.2, 0.6, 0.9][seed], seed=seed, limit=400_000
        )
    )


# Clocks -----------------------------------------------------------------------------------------------------------------


def sync(*more):
    return (Command("SYNC"), *more)


def lines(count):
    return tuple(Command("SYNC") for _ in range(count))


def add(first, second=(), third=()):
    """A command whose operands have these strides."""
    return (Command("EWADD", opsize=Affine(0, first), gpr0=Affine(0, second), gpr1=Affine(0, third)),)


@pytest.mark.parametrize(
    ("nodes", "extra"),
    [
        (sync(*sync()), 0),
        ([Loop(40, sync())], 0),
        ([Loop(3, (Loop(3, (Loop(3, (Loop(3, sync()),)),)),))], 0),
        ([Loop(3, (Loop(1, (Loop(2, (Loop(1, sync()),)),)),)), *sync()], 0),
        ([Loop(4, sync(Loop(3, sync(Loop(2, sync()), *sync())), Loop(2, sync())))], 0),
        ([Loop(3, (Loop(5, add((1,), (0, 2))),))], 0),
        # A line has four prefix words. A line more when the loops begin; with two words too many whenever the inner one does.
        (sync(Loop(5, add((1,), (2,), (3,)))), 0),
        (sync(Loop(5, (Loop(3, add((1,), (2,), (3,))),))), 1),
        (sync(Loop(5, (Loop(3, add((1, 1), (2,), (3,))),))), 5),
        # Five modifiers: a line more for each command.
        (sync(Loop(4, (Loop(3, add((1, 1), (2, 3), (3,))),))), 12),
        # Bodies around the number of lines that a loop keeps, and far beyond it.
        *(([Loop(3, lines(n)), *lines(1)], 0) for n in (5, 6, 7, 8, 13, 20)),
        ([Loop(3, (*lines(3), Loop(3, lines(9)), *lines(2), Loop(2, (*lines(7), Loop(2, lines(6))))))], 0),
        ([Loop(2, (Loop(2, (Loop(3, lines(8)), Loop(2, lines(2)))), *lines(9)))], 0),
        # The lines of a loop of count 0, at least two.
        ([Loop(4, sync(Loop(0, sync())))], 2 * 3),
        ([Loop(4, (*lines(2), Loop(0, lines(3)), *lines(1)))], 3 * 4),
        (sync(Loop(3, (Loop(0, (*lines(4), Loop(2, lines(5)))), *lines(9)))), 9 * 3),
    ],
)
def test_a_command_a_clock(nodes, extra):
    """Loops take no clocks of their own, wherever they begin and end."""
    program = Program(nodes)
    bench = Bench(SMALL, [[*load(SMALL, encode_program(program, SMALL.encoding)), start(SMALL)]])
    same(bench)
    assert len(bench.commands) > 1
    assert bench.cycles[-1] - bench.cycles[0] + 1 == len(bench.commands) + extra
    assert bench.cycles[0] - bench.starts[0] == DpaDispatcher(SMALL).latency["start_to_command"]


def test_requests_without_tokens():
    """No token is the newest of none: the run ends with an error at the line that asks, also where a token was once. From
    one token on the newest has a number."""
    program = Program()
    program.command("SYNC")
    program.command("WR_SBK", gpr=0, mask=1, bank=0, row=0, slot=0, column=program.newest())
    code = load(SMALL, encode_program(program, SMALL.encoding))
    clear = SMALL.host_address(Host.CLEAR), 0
    runs = [[clear, *code, *set_request(SMALL, 1, 7, tokens, 0, [5]), start(SMALL, 0, 1)] for tokens in (0, 1, 3, 0)]
    bench = Bench(SMALL, runs)
    same(bench)
    assert [code for code, _ in bench.done] == [
        DispatchError.NEWEST,
        DispatchError.NONE,
        DispatchError.NONE,
        DispatchError.NEWEST,
    ]
    assert len(bench.commands) == 1 + 2 + 2 + 1


# Stops and releases -----------------------------------------------------------------------------------------------------

STOP = SMALL.host_address(Host.STOP), 0


@pytest.mark.parametrize("wait", [1, 2, 3, 4, 5, 9, 30, 61])
def test_stop(wait):
    """What was issued is the begin of what would have been; the next run needs no clearing."""
    program = Program([Loop(5, sync(Loop(6, (Command("EWADD", opsize=Affine(0, (6, 1)), gpr0=0, gpr1=0),))))])
    code = load(SMALL, encode_program(program, SMALL.encoding))
    bench = Bench(SMALL, [[*code, start(SMALL), wait, STOP], [start(SMALL)]], stall=0.2 * (wait % 2), seed=wait)
    whole, _ = dispatch(SMALL, [*code, start(SMALL)])
    whole = [tuple(row) for row in whole.values.tolist()]
    first = len(bench.commands) - len(whole)
    assert bench.commands[:first] == whole[:first] and bench.commands[first:] == whole
    (code, line), end = bench.done
    assert end == (DispatchError.NONE, 2)
    if code == DispatchError.STOPPED:
        assert line == (whole[first][-1] if first < len(whole) else 2)
    else:
        assert first == len(whole) and wait > 30
    assert wait > 30 or code == DispatchError.STOPPED


def test_stop_without_a_run_does_nothing():
    code = load(SMALL, encode_program(Program(sync()), SMALL.encoding))
    same_as = Bench(SMALL, [[*code, STOP, start(SMALL)], [STOP, start(SMALL)]])
    assert len(same_as.commands) == 2 and [end[0] for end in same_as.done] == [DispatchError.NONE] * 2


class Stuck(Bench):
    """A memory that stops taking commands for a long time after a few."""

    def ready(self):
        return len(self.commands) < self.after or self.cycle > self.until

    def __init__(self, *arguments, after, until):
        self.after, self.until = after, until
        super().__init__(*arguments)


@pytest.mark.parametrize("after", range(0, 7))
def test_release_while_rows_are_looked_up(after):
    """The slot's next request never lends its rows to what is left of the run: that ends with an error."""
    program = Program([Loop(12, (Command("MAC_ABK", opsize=1, mask=1, row=Affine(0, (1,)), slot=0),))])
    old, new = list(range(100, 112)), list(range(200, 212))
    writes = [
        *load(SMALL, encode_program(program, SMALL.encoding)),
        *set_request(SMALL, 0, 1, 1, 0, old),
        start(SMALL),
        DpaDispatcher(SMALL).latency["start_to_command"] + 3,
        release(SMALL, 0),
        *set_request(SMALL, 0, 2, 1, 0, new),
    ]
    bench = Stuck(SMALL, [writes], after=after, until=300)
    rows = [row for _, _, _, row, *_ in bench.commands]
    assert bench.done == [(DispatchError.SLOT, 0)]
    assert after <= len(rows) < 12 and rows == old[: len(rows)]


def test_table_is_written_while_it_is_read():
    """A row that is mapped anew in the very clock in which it is looked up is one of the two."""
    program = Program([Loop(64, (Command("MAC_ABK", opsize=1, mask=1, row=0, slot=0),))])
    code = [*load(SMALL, encode_program(program, SMALL.encoding)), *set_request(SMALL, 0, 1, 1, 5, [1])]
    bench = Bench(SMALL, [[*code, start(SMALL), *(map_rows(SMALL, 5, [n])[0] for n in range(2, 30))]])
    rows = [row for _, _, _, row, *_ in bench.commands]
    latency = DpaDispatcher(SMALL).latency["start_to_command"]
    assert rows == sorted(rows) and rows[0] < latency and rows[-1] == 29 and set(rows) >= set(range(latency - 1, 29))


def test_tokens_of_a_run_are_those_at_its_start():
    code = load(SMALL, encode_program(worked_example(), SMALL.encoding))
    run = start(SMALL, 0, 1)
    writes = [*code, *set_request(SMALL, 1, 9, 256, 0, [3, 4]), run, set_tokens(SMALL, 1, 257), run]
    bench = Bench(SMALL, [writes])
    assert [row for _, _, _, row, *_ in bench.commands][::2] == [3, 3, 4]


def test_requests_come_and_go():
    """Requests end, release their rows and make room for others in the same slot and entries, while others run."""
    rng = np.random.default_rng(3)
    code = load(SMALL, encode_program(worked_example(), SMALL.encoding))
    writes = list(code)
    for turn in range(12):
        slot, rows = turn % 3, rng.integers(0, 1 << 14, 1 + turn % 4).tolist()
        writes += [release(SMALL, slot), *set_request(SMALL, slot, turn, 256 * len(rows), 8 * slot, rows)]
        writes.append(start(SMALL, 0, slot))
    writes += [release(SMALL, 1), (SMALL.slot_address(1, Slot.TOKENS), 0), start(SMALL, 0, 0)]
    same(Bench(SMALL, [writes], stall=0.3, seed=4))
