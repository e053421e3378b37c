# amaranth: UnusedElaboratable=no
"""The dispatcher's control: its sequencer proved for any words and for all time; a bounded proof of the whole unit, of the
first 16 clocks from reset."""

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover

from bankside.constraints.aim.encoding import DispatchError, Host
from bankside.constraints.lolpim.dispatcher import DpaDispatcherConfig
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.lolpim import DpaDispatcher
from bankside.gen.lolpim import dispatcher as dispatcher_module
from bankside.gen.lolpim import sequencer as sequencer_module
from bankside.gen.lolpim.sequencer import ItemKind, LoopSequencer
from tests.planting import planted

#: As small as every part of it goes: lines of a command and two prefix words, two levels, two slots.
TINY = DpaDispatcherConfig(
    command_bytes=72,
    line_words=3,
    table_entries=2,
    entry_bits=2,
    slots=2,
    nesting=2,
    row_bits=1,
    column_bits=1,
    bank_bits=1,
    mask_bits=1,
    gpr_bits=1,
    register_bits=1,
    opsize_bits=1,
    request_bits=1,
    token_bits=2,
    layer_bits=1,
    count_bits=2,
    stride_bits=2,
)


class SequencerContract(StreamProtocol):
    """Any words, at any time: the sequencer's own assertions, and

    * a run ends once: after the item that ends it nothing is put out until the next start;
    * nothing moves without ``en``;
    * a line is decoded, or a loop left out, in every clock but the first of a run.
    """

    def __init__(self, dut):
        super().__init__(
            dut,
            assumptions={
                "a run begins when none is under way": ~dut.start | ~dut.running,
                "first line is one, or the one behind the last": dut.first <= TINY.lines,
            },
            covers={
                "a command in two loops": dut.valid
                & (dut.item.kind == ItemKind.COMMAND)
                & dut.item.modifiers[0].valid
                & dut.item.modifiers[1].valid
                & (dut.item.modifiers[0].index > 0)
            },
        )
        self.least_depth = 24

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut = self.dut
        ended, quiet = Signal(), Signal(2)
        with m.If(dut.start):
            m.d.sync += ended.eq(0)
        with m.Elif(dut.valid & dut.en & (dut.item.kind == ItemKind.END)):
            m.d.sync += ended.eq(1)
        m.d.comb += Assert(~ended | ~dut.valid, "nothing comes behind the end of a run")
        m.d.comb += Assert(~ended | ~dut.running, "a run that has ended is not under way")
        with m.If(dut.start | dut.valid | ~dut.running):
            m.d.sync += quiet.eq(0)
        with m.Elif(dut.en):
            m.d.sync += quiet.eq(quiet + 1)
        held = Signal()
        line = Signal.like(dut.item.line)
        m.d.sync += [held.eq(~dut.en & ~dut.start & ~dut.kill & dut.running), line.eq(dut.item.line)]
        m.d.comb += Assert(~held | (dut.item.line == line), "nothing moves while it may not")
        m.d.comb += Cover(quiet == 2, "a loop is left out")
        return m


class DispatcherContract(StreamProtocol):
    """The whole unit, with a host that writes anything and waits for the end of a run before it clears an error:

    * no command without a run: one that was started and has not had its ``done``;
    * every start has one ``done``;
    * after an error, until it is cleared, nothing is issued and every start is refused.
    """

    def __init__(self, dut):
        super().__init__(dut)
        self.least_depth = 20

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, config = self.dut, self.dut.config
        writes = dut.host.valid & dut.host.ready
        starts = writes & (dut.host.p.address == config.host_address(Host.START))
        clears = dut.host.p.address == config.host_address(Host.CLEAR)
        over = dut.done.valid & dut.done.ready
        waiting, failed = Signal(3), Signal()
        m.d.sync += waiting.eq(waiting + starts - over)
        errors = ~Cat(
            dut.done.p.code == code for code in (DispatchError.NONE, DispatchError.STOPPED, DispatchError.NOT_CLEARED)
        ).any()
        with m.If(over & errors):
            m.d.sync += failed.eq(1)
        with m.If(writes & clears):
            m.d.sync += failed.eq(0)
        m.d.comb += [
            Assume(~(dut.host.valid & clears) | ((waiting == 0) & ~dut.done.valid), "errors are cleared between runs"),
            Assume(waiting < 6, "so many starts are not waiting"),
            Assert(~dut.command.valid | (waiting != 0), "no command without a run"),
            Assert(~dut.done.valid | (waiting != 0), "no end without a start"),
            Assert(~(failed & dut.command.valid), "nothing is issued after an error"),
            Assert(
                ~(failed & dut.done.valid) | (dut.done.p.code == DispatchError.NOT_CLEARED),
                "no run begins after an error",
            ),
            Assert(
                ~(dut.done.valid & dut.command.valid) | (waiting > 1), "all commands are taken before the end is told"
            ),
            Cover(failed & (waiting != 0), "a start after an error"),
            Cover(over & (dut.done.p.code == DispatchError.NONE), "a program comes to its end"),
        ]
        return m


def test_sequencer_is_proved():
    result = prove(SequencerContract(LoopSequencer(TINY)))
    assert result, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("with m.Elif(end > around):", "with m.Elif(end > around + 1):"),
        ("new.final.eq(word.last == 0)", "new.final.eq(0)"),
    ],
)
def test_planted_error_in_the_sequencer(old, new):
    copy = planted(sequencer_module, old, new)
    result = prove(SequencerContract(copy.LoopSequencer(TINY)), timeout_s=200)
    assert result.status == "counterexample", str(result)


#: A prefix word, a level, a slot and four lines: enough for a program with a loop, a lookup and an error.
LEAST = DpaDispatcherConfig(
    **{
        **TINY.model_dump(),
        "command_bytes": 32,
        "line_words": 2,
        "slots": 1,
        "nesting": 1,
        "token_bits": 1,
        "count_bits": 1,
    }
)


@pytest.mark.slow
def test_planted_error_in_the_dispatcher():
    """A CLEAR that is answered as a START."""
    copy = planted(
        dispatcher_module, "refused.eq(does & names[Host.START] & state.failed)", "refused.eq(does & names[Host.CLEAR])"
    )
    result = prove(DispatcherContract(copy.DpaDispatcher(LEAST)), induction=1, timeout_s=900)
    assert result.status == "counterexample", str(result)
    assert any("no end without a start" in one for one in result.failing), str(result)


@pytest.mark.slow
def test_dispatcher_for_a_bounded_time():
    result = prove(DispatcherContract(DpaDispatcher(LEAST)), induction=1, timeout_s=900)
    assert result.status in ("proved", "bounded") and result.depth >= 16 and not result.unreached, str(result)
