# amaranth: UnusedElaboratable=no
"""Commands of the PNM units that overlap: the comparison of slots, and results that are those of one command at a time."""

import itertools
from typing import ClassVar

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from bankside.constraints.contract import Layout
from bankside.constraints.program_encoding import COMMANDS
from bankside.constraints.units.cent_pnm import KINDS, PRESETS, CentPnmConfig
from bankside.gen.cent import hazard as hazard_module
from bankside.gen.cent import pnm as pnm_module
from bankside.gen.cent.hazard import slots_meet
from bankside.gen.formal import StreamProtocol, prove
from tests.gen.test_lolpim_formal import planted


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


# Order of effects -----------------------------------------------------------------------------------------------------


class Small(CentPnmConfig):
    """Four slots of two bits."""

    word_bits: ClassVar[int] = 2
    registers: ClassVar[int] = 4
    word_layout: ClassVar[Layout] = Layout.plain(2)


#: What a unit makes of its operands in the proof; the sums of two bits and the like are easy to tell apart.
EFFECTS = {"EWADD": lambda x, y: x + y, "RED": lambda x, y: x ^ 2, "EXP": lambda x, y: x + 1}


def plain_unit(op):
    class PlainUnit(wiring.Component):
        KIND, LATENCY = KINDS[op], 1 if op != "EXP" else 2

        def __init__(self, config):
            super().__init__({"x": In(2), "y": In(2), "result": Out(2)})

        def elaborate(self, platform):
            m = Module()
            last = EFFECTS[op](self.x, self.y)
            for n in range(self.LATENCY - 1):
                now = Signal(2, name=f"stage_{n}")
                m.d.sync += now.eq(last)
                last = now
            m.d.sync += self.result.eq(last)
            return m

    return PlainUnit


class OneAtATime(StreamProtocol):
    """The host reads what it would read if each command was done before the next one began.

    The words of WR_GPR are all the same, but any. No command has ``overlap``.
    """

    def __init__(self, dut, word):
        super().__init__(dut)
        self.word = word
        self.ports.append(word)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, command = self.dut, self.dut.command.p
        first, second, size = command.gpr, command.gpr1, command.opsize
        known, value = Signal(4), [Signal(2, name=f"value_{n}") for n in range(4)]
        word, chosen = Signal(2), Signal()
        m.d.sync += chosen.eq(1)
        with m.If(~chosen):
            m.d.sync += word.eq(self.word)
        m.d.comb += Assume(~dut.host_in.valid | (chosen & (dut.host_in.payload == word)), "all words are the same")

        def is_op(name):
            return command.op == COMMANDS[name].code

        apart = (first == second) | ~slots_meet(first, size, second, size)
        m.d.comb += [
            Assume(Cat(is_op(name) for name in (*KINDS, "WR_GPR", "RD_GPR")).any(), "commands of slots and host"),
            Assume((size <= 4) & ~command.overlap & apart, "commands that a program has"),
            Assume(~dut.command.valid | chosen, "commands come when the word is chosen"),
        ]
        # What the host will read, by number.
        expected = Array(Signal(3, name=f"expected_{n}") for n in range(16))
        given, taken = Signal(range(64)), Signal(range(64))
        with m.If(dut.command.valid & dut.command.ready):
            for slot in range(4):
                at = (Const(slot, 2) - first)[:2]       # the slot's place in the range from gpr on
                inside = at < size
                other = (second + at)[:2]
                x, y = Array(value)[slot], Array(value)[other]
                both = known.bit_select(slot, 1) & known.bit_select(other, 1)
                with m.If(is_op("WR_GPR") & inside):
                    m.d.sync += [value[slot].eq(word), known[slot].eq(1)]
                with m.If(is_op("EWADD") & inside):
                    m.d.sync += [value[slot].eq(EFFECTS["EWADD"](x, y)), known[slot].eq(both)]
                for name in ("RED", "EXP"):
                    with m.If(is_op(name)):
                        place = (Const(slot, 2) - second)[:2]
                        source = (first + place)[:2]
                        with m.If(place < size):
                            m.d.sync += [value[slot].eq(EFFECTS[name](Array(value)[source], 0)),
                                         known[slot].eq(known.bit_select(source, 1))]
                read = (first + slot)[:2]
                with m.If(is_op("RD_GPR") & (slot < size)):
                    m.d.sync += expected[(given + slot)[:4]].eq(Cat(Array(value)[read], known.bit_select(read, 1)))
            with m.If(is_op("RD_GPR")):
                m.d.sync += given.eq(given + size)
        one = expected[taken[:4]]
        comes = dut.host_out.valid & dut.host_out.ready
        with m.If(comes):
            m.d.sync += taken.eq(taken + 1)
        m.d.comb += [
            Assume(given - taken < 12, "few words are on the way"),
            Assert(~comes | ~one[2] | (dut.host_out.payload == one[:2]), "the host reads what it would one at a time"),
            Cover(comes & one[2] & (one[:2] != word), "a result is read"),
        ]
        return m


def contract(monkeypatch, module, **fields):
    monkeypatch.setattr(module, "_UNITS", {KINDS[op]: plain_unit(op) for op in KINDS})
    config = Small.model_construct(**{"channels": 1, "acc_units": 1, "red_units": 1, "exp_units": 1, **fields})
    return OneAtATime(module.CentPnm(config), Signal(2, name="any_word"))


@pytest.mark.slow
@pytest.mark.parametrize("fields", [
    pytest.param({}, id="one-memory"),
    pytest.param({"banks": 2, "bank_ports": 1, "acc_units": 2, "exp_units": 2}, id="banks"),
])
def test_effects_are_those_of_one_command_at_a_time(monkeypatch, fields):
    """For the first 20 clocks with every command, all slots and every stall."""
    result = prove(contract(monkeypatch, pnm_module, **fields), induction=1, timeout_s=1500)
    assert result.status in ("bounded", "proved") and result.depth >= 20, result


@pytest.mark.slow
@pytest.mark.parametrize(("module", "old", "new"), [
    (pnm_module, "use.known, ~owes & ~overtakes, count == 0", "use.known, ~overtakes, count == 0"),
    (pnm_module, "use.known, ~owes & ~overtakes, count == 0", "use.known, ~owes, count == 0"),
    (pnm_module, "done = ends[-1]", "done = ends[-2]"),
    (hazard_module, "(ahead < count) | (ahead + others > 1 << len(first))", "(ahead < count)"),
])
def test_defects_are_found(monkeypatch, module, old, new):
    """Results that are read too early, operands that are overwritten, commands that leave early, ranges that wrap."""
    copy = planted(module, old, new)
    if module is hazard_module:
        monkeypatch.setattr(pnm_module, "slots_meet", copy.slots_meet)
        copy = pnm_module
    result = prove(contract(monkeypatch, copy), induction=1, timeout_s=1500)
    assert result.status == "counterexample", result
