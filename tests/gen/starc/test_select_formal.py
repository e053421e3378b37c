# amaranth: UnusedElaboratable=no
"""``starc-select`` for any scores, sizes and stalls: accesses ascend, NaN is not read, no more than the budget is read."""

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover

from bankside.constraints.aim.encoding import COMMANDS, END
from bankside.constraints.lolpim.dispatcher import DpaDispatcherConfig
from bankside.constraints.starc.select import StarcSelectConfig
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.starc import select as module
from bankside.gen.starc.select import StarcSelect
from tests.planting import planted

#: Three clusters and access units of one token, so every access is of one slot.
TINY = StarcSelectConfig(
    clusters=3,
    kept=2,
    ways=2,
    digit_bits=6,
    max_tokens=15,
    unit_tokens=1,
    row_units=4,
    output_words=4,
    dispatcher=DpaDispatcherConfig(
        line_words=4,
        command_bytes=64,
        table_entries=8,
        slots=1,
        row_bits=3,
        mask_bits=1,
        gpr_bits=1,
        register_bits=1,
        bank_bits=1,
        column_bits=3,
        opsize_bits=3,
        request_bits=1,
        token_bits=3,
        nesting=1,
        count_bits=2,
        stride_bits=2,
    ),
)


class SelectContract(StreamProtocol):
    """The first selection of a unit whose access units are slots:

    * its commands read slots in ascending order, and only slots of the head;
    * no slot of a cluster with a score of NaN is read (the free input ``follow`` picks a cluster with tokens);
    * no more slots are read than the budget and the recent tokens.
    """

    def __init__(self, dut):
        super().__init__(dut)
        self.follow = Signal()
        self.ports.append(self.follow)
        self.least_depth = 22

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, config = self.dut, self.dut.config
        command, cluster, program = dut.command, dut.cluster, dut.program
        fields = config.encoding.command_fields
        line = {}
        low = 0
        for name, width in fields.items():
            line[name] = program.p.data[low : low + width]
            low += width

        begun, over = Signal(), Signal()
        budget, recent, clusters = Signal(6), Signal(6), Signal(3)
        slots, sent, read, behind = Signal(8), Signal(3), Signal(8), Signal(8)
        held, base, size = Signal(), Signal(8), Signal(8)
        with m.If(command.valid & command.ready & ~begun):
            m.d.sync += [
                begun.eq(1),
                budget.eq(command.p.budget),
                recent.eq(command.p.recent),
                clusters.eq(command.p.clusters),
            ]
        enters = cluster.valid & cluster.ready & (sent < clusters)
        magnitude = cluster.p.score[:15]
        with m.If(enters):
            m.d.sync += [sent.eq(sent + 1), slots.eq(slots + cluster.p.size)]
            with m.If(self.follow & ~held & (magnitude > 0x7C00) & (cluster.p.size != 0)):
                m.d.sync += [held.eq(1), base.eq(slots), size.eq(cluster.p.size)]
        m.d.comb += [
            Assume(~command.valid | (command.p.clusters <= config.clusters), "no more clusters than the store has"),
            Assume(~command.valid | (command.p.row == 0), "slot 0 is in row 0"),
            Assume(
                ~cluster.valid | (slots + cluster.p.size + recent <= config.max_tokens), "all slots are of the head"
            ),
            Assume(~command.valid | (command.p.recent <= config.max_tokens), "the recent tokens are of the head"),
        ]
        leaves = program.valid & program.ready & ~over
        reads = leaves & ~program.p.last
        first = Signal(8)
        stop = Signal(8)
        m.d.comb += [first.eq(line["row"] * config.row_units + line["column"]), stop.eq(first + line["opsize"])]
        with m.If(reads):
            m.d.sync += [read.eq(read + line["opsize"]), behind.eq(stop)]
        with m.If(leaves & program.p.last):
            m.d.sync += over.eq(1)
        m.d.comb += [
            Assert(~(leaves & ~begun), "a program has a command"),
            Assert(~reads | (line["op"] == COMMANDS["MAC_ABK"].code), "a line reads"),
            Assert(~(leaves & program.p.last) | (line["op"] == END), "the last line ends"),
            Assert(~reads | (line["opsize"] != 0), "a command reads something"),
            Assert(~reads | (first >= behind), "accesses ascend"),
            Assert(~reads | (stop <= slots + recent), "only slots of the head are read"),
            Assert(
                ~reads | (read + line["opsize"] <= budget + recent), "no more is read than budget and recent tokens"
            ),
            Assert(~(reads & held) | (stop <= base) | (first >= base + size), "no slot of a cluster with NaN is read"),
            Cover(reads & held, "a program beside a cluster with NaN"),
            Cover(leaves & program.p.last & (clusters == 2), "a program of two clusters ends"),
        ]
        return m


@pytest.mark.slow
def test_list_for_a_bounded_time():
    result = prove(SelectContract(StarcSelect(TINY)), check_depth=14, induction=1, timeout_s=900)
    assert result.status == "bounded" and result.depth == 14, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "property"),
    [
        ("return Mux(magnitude > infinity, 0, key)", "return key", "no slot of a cluster with NaN is read"),
        (
            "part.eq(Mux(whole | (scan.entry.size <= left), scan.entry.size, left))",
            "part.eq(scan.entry.size)",
            "no more is read than budget and recent tokens",
        ),
    ],
)
def test_planted_errors(old, new, property):
    result = prove(SelectContract(planted(module, old, new).StarcSelect(TINY)), induction=1, timeout_s=900)
    assert result.status == "counterexample", str(result)
    assert any(property in one for one in result.failing), str(result)
