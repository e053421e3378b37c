# amaranth: UnusedElaboratable=no
"""Commands of the PNM units that overlap: the comparison of slots, in itself and in an engine."""

import itertools
from typing import ClassVar

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from bankside.constraints.aim.encoding import COMMANDS
from bankside.constraints.aim.hub import RECEIVING, TRANSFERS
from bankside.constraints.cent.pnm import KINDS, PRESETS, CentPnmConfig
from bankside.gen.cent import hazard as hazard_module
from bankside.gen.cent import pnm as pnm_module
from bankside.gen.cent.hazard import slots_meet
from bankside.gen.formal import prove
from tests.planting import planted


def test_ranges_that_meet():
    """All pairs of ranges of eight slots: the answer is whether they have a slot in common."""
    first, other, count, others = Signal(3), Signal(3), Signal(4), Signal(4)
    meets = Signal()
    m = Module()
    m.d.comb += meets.eq(slots_meet(first, count, other, others))
    sim = Simulator(m)

    async def bench(ctx):
        for a, n, b, k in itertools.product(range(8), range(1, 9), range(8), range(1, 9)):
            for signal, value in ((first, a), (count, n), (other, b), (others, k)):
                ctx.set(signal, value)
            common = {(a + i) % 8 for i in range(n)} & {(b + i) % 8 for i in range(k)}
            assert ctx.get(meets) == bool(common), (a, n, b, k)

    sim.add_testbench(bench)
    sim.run()


@pytest.mark.parametrize("preset", PRESETS)
def test_places_hide_the_latency(preset):
    """While the results of commands of 256 slots are in the units, there is a place for the command that reads."""
    config = PRESETS[preset]
    for op in KINDS:
        engine = pnm_module.SlotEngine(config, op)
        assert (engine.places - 1) * config.least_clocks(op, 256) >= engine.client.latency
        assert engine.places <= 3


# Slots of an engine ---------------------------------------------------------------------------------------------------


class Small(CentPnmConfig):
    """Four slots of one bit."""

    word_bits: ClassVar[int] = 1
    registers: ClassVar[int] = 4


def plain_unit(kind):
    class PlainUnit(wiring.Component):
        """A unit with two registers whose result is no matter here."""

        KIND, LATENCY = kind, 1

        def __init__(self, config):
            super().__init__({"x": In(1), "y": In(1), "result": Out(1)})

        def elaborate(self, platform):
            return Module()

    return PlainUnit


class Compared(Elaboratable):
    """What an engine says of the command at hand, compared with what it owes and still has to read.

    The proof follows one slot, which the free input ``pick`` chooses. The hub is free to start commands of the engine while
    it is idle, or with overlap while it is ready. The registers grant reads at any time.
    """

    def __init__(self, engine):
        self.dut, self.pick = engine, Signal(2)
        self.ports = [self.pick, engine.start, Value.cast(engine.command), engine.registers.grant]

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        command, registers, config = dut.command, dut.registers, dut.config
        watched, chosen = Signal(2), Signal()
        m.d.sync += chosen.eq(1)
        with m.If(~chosen):
            m.d.sync += watched.eq(self.pick)

        def within(first, size):
            return (watched - first)[:2] < size

        def is_op(*names):
            return Cat(command.op == COMMANDS[name].code for name in names).any()

        def accessed(address):
            lanes = registers.lanes if dut.client.width > 1 else Const(1)
            return Cat(lanes[k] & (watched == (address + k)[:2]) for k in range(dut.client.width)).any()

        (own,), pairs = dut.claims, dut.claims == ("EWADD",)
        size = Mux(
            is_op("RD_MAC", "RD_AF"),
            config.channels,
            Mux(is_op("RD_SBK"), command.opsize * config.channels, command.opsize),
        )
        into_second = is_op("RED", "EXP")
        known = is_op(*KINDS, *TRANSFERS)
        first, second = within(command.gpr, size), is_op(*KINDS) & within(command.gpr1, size)
        writes = Mux(into_second, second, is_op("EWADD", "WR_GPR", *RECEIVING) & first)
        follows = is_op(own) & into_second  # its results come behind those before
        m.d.comb += [
            Assume((command.opsize != 0) & (command.opsize <= 4), "sizes that a program has"),
            Assume(
                ~is_op(own)
                | (command.gpr == command.gpr1)
                | ((command.gpr1 - command.gpr)[:2] >= command.opsize)
                & ((command.gpr - command.gpr1)[:2] >= command.opsize),
                "operands and results that a program has",
            ),
            Assume(
                ~dut.start | (is_op(own) & Mux(command.overlap, dut.ready, dut.idle)), "the hub starts what may begin"
            ),
            Assume(chosen | ~dut.start, "the slot is chosen before a command"),
            Assume(registers.read | ~registers.grant, "only a read is granted"),
        ]
        owed, unread = Signal(4), Signal(4)
        target = registers.grant & registers.promise & accessed(registers.target)
        done = [target]
        for age in range(1, dut.client.latency):
            now = Signal(name=f"done_{age}")
            m.d.sync += now.eq(done[-1])
            done.append(now)
        # A command that begins now reads in the next clock at the earliest, behind a write of this clock.
        read = registers.grant & (registers.promise if pairs else 1) & accessed(registers.read_address)
        m.d.sync += [
            owed.eq(owed + (dut.start & Mux(into_second, second, first)) - done[-1]),
            unread.eq(unread + (dut.start & (second if pairs else first)) - read),
        ]
        foreign = ~is_op(own)
        m.d.comb += [
            Assert(~(dut.settled & known & (first | second & ~follows)) | (owed == 0), "results are there"),
            Assert(~(dut.settled & known & writes & foreign) | (unread == 0), "operands were read"),
            Assert(~(dut.settled & ~known) | ((owed == 0) & (unread == 0)), "a command of unknown slots is alone"),
            Assert(~dut.ready | dut.settled, "overlap does not stop the comparison"),
            Cover(dut.settled & is_op("WR_GPR") & (owed != 0), "a command begins beside others"),
            Cover(dut.idle & is_op(own) & registers.read & (unread != 0), "a command waits behind one that reads"),
            Cover(~dut.settled & (unread != 0) & ~first & foreign, "a command waits for operands"),
        ]
        return m


def contract(monkeypatch, module, op, **fields):
    monkeypatch.setattr(module, "_UNITS", {kind: plain_unit(kind) for kind in KINDS.values()})
    config = Small.model_construct(**{"channels": 3, "acc_units": 1, "red_units": 1, "exp_units": 1, **fields})
    return Compared(module.SlotEngine(config, op))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "fields"),
    [
        pytest.param("EXP", {}, id="exp"),
        pytest.param("EWADD", {}, id="ewadd"),
        pytest.param("EXP", {"banks": 2, "exp_units": 4}, id="groups"),
    ],
)
def test_an_engine_compares_slots(monkeypatch, op, fields):
    """For every slot, all commands and any grants: nothing is wrong in the first 10 clocks, and every case occurs. The
    defects below need 5 clocks at most."""
    result = prove(contract(monkeypatch, pnm_module, op, **fields), check_depth=10, induction=1, timeout_s=300)
    assert result.status == "bounded" and result.depth == 10 and not result.unreached, result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "old", "new", "failing"),
    [
        (
            pnm_module,
            "use.known, ~owes & ~overtakes, ~self.busy",
            "use.known, ~overtakes, ~self.busy",
            "results are there",
        ),
        (
            pnm_module,
            "                | waiting & slots_meet(",
            "                | 0 & slots_meet(",
            "operands were read",
        ),
        (pnm_module, "                running & slots_meet(", "                0 & slots_meet(", "operands were read"),
        (pnm_module, "done = ends[-1]", "done = ends[-2]", "results are there"),
        (pnm_module, "~owes & ~overtakes, ~self.busy", "~owes & ~overtakes, 1", "a command of unknown slots is alone"),
        (
            hazard_module,
            "(ahead < count) | (ahead + others > 1 << len(first))",
            "(ahead < count)",
            "operands were read",
        ),
        (hazard_module, "Mux(opsize << shift > every, every, opsize << shift)", "opsize", "operands were read"),
    ],
)
def test_defects_are_found(monkeypatch, module, old, new, failing):
    """Results that are read too early, operands that are overwritten, commands that leave early, short ranges."""
    copy = planted(module, old, new)
    if module is hazard_module:
        monkeypatch.setattr(pnm_module, "slots_meet", copy.slots_meet)
        monkeypatch.setattr(pnm_module, "Use", copy.Use)
        copy = pnm_module
    result = prove(contract(monkeypatch, copy, "EXP"), induction=1, timeout_s=300)
    assert result.status == "counterexample", result
    assert failing in {place.rpartition(" (")[0] for place in result.failing}
