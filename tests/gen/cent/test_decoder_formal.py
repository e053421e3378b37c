# amaranth: UnusedElaboratable=no
"""CENT's decoder, for any answers and stalls: no command leaves before the answer to a blocking instruction, none
behind a wrong word before a CLEAR, and every command is its word's."""

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover

from bankside.constraints.cent.decoder import CentDecoderConfig
from bankside.constraints.cent.isa import INSTRUCTIONS, WORD, DecodeError
from bankside.gen.blocks.ports import payload
from bankside.gen.cent import decoder as module
from bankside.gen.cent.decoder import CentDecoder
from bankside.gen.formal import StreamProtocol, prove
from tests.planting import planted

#: Four words in the memory, one channel, two of everything else.
TINY = CentDecoderConfig(
    buffer_bytes=64,
    buffer_banks=1,
    channels=1,
    banks=2,
    rows=2,
    columns=2,
    lanes=2,
    slots=2,
    registers=2,
    functions=2,
    devices=2,
    program_words=2,
    position_bits=8,
)


#: Bits of a word that are free, by field: codes of all instructions, legal and illegal operands of the followed ones.
FREE = {"opcode": 0x3F, "CHmask": 1 << 31, "OPsize": 3, "Rs": 3, "Rd": 1, "Regid": 1}


class DecoderContract(StreamProtocol):
    """Any device, and a host whose words may have any bits of :data:`FREE`; all others are 0:

    * a blocking command is the last one until its answer, which is taken once;
    * an end is told when all commands before it are taken;
    * until the first CLEAR: commands have the positions 0, 1, 2, ...; the command at any position is the one of the word
      that was sent there (the free input ``follow`` picks one); behind an error there is neither a command nor an end;
    * a command of WR_BIAS or EXP has a legal word.
    """

    def __init__(self, dut):
        super().__init__(dut)
        self.follow = Signal()
        self.ports.append(self.follow)
        self.least_depth = 20

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, config = self.dut, self.dut.config
        command, done, host, finished = dut.command, dut.done, dut.host, dut.finished
        leaves, ends = command.valid & command.ready, done.valid & done.ready
        answered = finished.valid & finished.ready

        fixed = ((1 << WORD.bits) - 1) ^ WORD.word(**FREE)
        m.d.comb += Assume((host.p.word & fixed) == 0, "few bits of a word are free")

        # ---- Blocking instructions -------------------------------------------------------------------------------------
        waiting = Signal()
        blocks = Cat(command.p.op == code for code in config.blocking_opcodes).any()
        with m.If(leaves & blocks):
            m.d.sync += waiting.eq(1)
        with m.Elif(answered):
            m.d.sync += waiting.eq(0)
        m.d.comb += [
            Assert(~(waiting & command.valid), "no command leaves before the answer"),
            Assert(~(waiting & done.valid), "no end is told before the answer"),
            Assert(waiting | ~finished.ready, "an answer is taken only by an instruction that waits"),
            Assert(~(done.valid & command.valid), "all commands are taken before an end is told"),
            Cover(answered & (finished.p.op == INSTRUCTIONS["RD_MAC"].opcode), "an instruction is answered"),
        ]

        # ---- Order, until the first CLEAR ------------------------------------------------------------------------------
        sent, next_position = Signal(8), Signal(8)
        cleared, failed, followed, held = Signal(), Signal(), Signal(payload(WORD)), Signal()
        place = Signal(8)
        with m.If(host.valid & host.ready):
            m.d.sync += sent.eq(sent + 1)
            with m.If(host.p.clear):
                m.d.sync += cleared.eq(1)
            with m.Elif(~cleared & ~held & self.follow):
                m.d.sync += [Value.cast(followed).eq(host.p.word), held.eq(1), place.eq(sent)]
        with m.If(leaves):
            m.d.sync += next_position.eq(next_position + 1)
        with m.If(ends & (done.p.code != DecodeError.NONE)):
            m.d.sync += failed.eq(1)
        this = command.valid & ~cleared & held & (command.p.position == place)
        op = followed.opcode
        exp, bias = INSTRUCTIONS["EXP"].opcode, INSTRUCTIONS["WR_BIAS"].opcode
        m.d.comb += [
            Assert(
                ~(command.valid & ~cleared) | (command.p.position == next_position),
                "commands are in order, none is lost",
            ),
            Assert(~(command.valid & ~cleared) | (next_position < sent), "a command has a word"),
            Assert(~(failed & ~cleared & command.valid), "nothing leaves behind an error"),
            Assert(~(failed & ~cleared & done.valid), "an error is told once"),
            Assert(
                ~(done.valid & ~cleared & (done.p.code == DecodeError.NONE)) | (done.p.position + 1 == next_position),
                "a program ends with its last command",
            ),
            Assert(~this | (command.p.op == op[:6]) & (op[6:] == 0), "a command is of its word"),
            Assert(
                ~this
                | (op != bias)
                | (command.p.gpr == followed.Rs) & (command.p.mask == 1) & (followed.CHmask == 1 << 31),
                "WR_BIAS has its slot and its channel",
            ),
            Assert(
                ~this
                | (op != exp)
                | (command.p.gpr == followed.Rs)
                & (command.p.gpr1 == followed.Rd)
                & (command.p.opsize == followed.OPsize)
                & (followed.OPsize + followed.Rs <= 2)
                & (followed.OPsize + followed.Rd <= 2),
                "EXP has its slots",
            ),
            Cover(this & (op == exp), "the followed word leaves"),
            Cover(failed & ~cleared & (dut.status.level == 0), "words behind an error are dropped"),
            Cover(ends & (done.p.code == DecodeError.ANSWER), "a wrong answer is told"),
        ]
        return m


@pytest.mark.slow
def test_decoder_for_a_bounded_time():
    result = prove(DecoderContract(CentDecoder(TINY)), check_depth=10, induction=1, timeout_s=900)
    assert result.status == "bounded" and result.depth == 10 and not result.unreached, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "property"),
    [
        (
            "issues.eq(last.valid & right & (state == _State.RUN))",
            "issues.eq(last.valid & right & (state != _State.FAILED))",
            "no command leaves before the answer",
        ),
        (
            "self.done.valid.eq((state == _State.TELL) & ~commands.o.valid)",
            "self.done.valid.eq(state == _State.TELL)",
            "all commands are taken before an end is told",
        ),
    ],
)
def test_planted_errors(old, new, property):
    result = prove(DecoderContract(planted(module, old, new).CentDecoder(TINY)), induction=1, timeout_s=900)
    assert result.status == "counterexample", str(result)
    assert any(property in one for one in result.failing), str(result)
