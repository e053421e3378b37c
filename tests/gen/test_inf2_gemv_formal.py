# amaranth: UnusedElaboratable=no
"""The control of ``inf2-gemv``: number and order of results and rows, checked for all inputs up to a number of cycles.

The unit is the generated one with the arithmetic cut off: rounders, the adder and the conversion of outputs put out free
numbers with their latency. Control, memories, queues and tags are the real ones. The proof is bounded: it says nothing
about later cycles. The tile buffer's own proof holds for all time (``test_blocks_transpose.py``).
"""

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover

from bankside.constraints.units.inf2_gemv import Inf2GemvConfig
from bankside.gen.arith import Rounder
from bankside.gen.arith import lanes as lanes_module
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.inf2 import gemv as gemv_module
from tests.gen.test_pam_pu_formal import Cut, messages, planted

#: Cycles of the bounded proof.
DEPTH = 42


class GemvContract(StreamProtocol):
    """What the unit promises about results and rows.

    * There are as many results as the commands have output tiles, and no more. ``last`` is on the last one of each
      command, and on no other. One command stands for all of them: the proof follows a free one.
    * A block takes the rows of its output tiles, and no more. When all results have left, all rows have been taken.
    * What a block asserts about itself (see its source): tiles of the buffer have columns, as the buffer's proof assumes,
      and neither sums nor outputs are ever lost.
    """

    def __init__(self, dut):
        super().__init__(dut)
        self.follow = Signal()
        self.ports.append(self.follow)
        Cut.ports = self.ports
        self.least_depth = DEPTH

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, config = self.dut, self.dut.config
        command, result = dut.command.p, dut.result
        sv = command.mode.as_value()
        lanes, blocks = config.lanes, config.blocks
        taken, left = dut.command.valid & dut.command.ready, result.valid & result.ready
        outputs, terms = Mux(sv, command.head_dim, command.tokens), Mux(sv, command.tokens, command.head_dim)
        some = command.tokens.any() & command.head_dim.any()
        tiles = Mux(some, (outputs + lanes - 1) // lanes, 0)
        m.d.comb += Assume(~dut.command.valid | ((command.tokens <= config.max_tokens)
                                                 & (command.head_dim <= config.max_head_dim)), "a command fits")

        owed, active, waits, own = Signal(8), Signal(), Signal(8), Signal(8)
        m.d.sync += owed.eq(owed + Mux(taken, tiles, 0) - left)
        start = taken & self.follow & ~active & (tiles != 0)
        with m.If(start):
            m.d.sync += [active.eq(1), waits.eq(owed + tiles - left), own.eq(tiles)]
        with m.Elif(active & left):
            m.d.sync += [waits.eq(waits - 1), active.eq(waits != 1)]
        m.d.comb += [
            Assert(~result.valid | (owed != 0), "no result comes without an output tile"),
            Assert(~(active & result.valid & (waits == 1)) | result.p.last, "the last result of a command is marked"),
            Assert(~(active & result.valid & (waits != 1) & (waits <= own)) | ~result.p.last,
                   "no other result of a command is marked"),
            Cover(left & result.p.last & active & (own == 2) & (waits == 1), "a command of two output tiles ends"),
        ]

        turn = Signal(range(max(blocks, 2)))
        with m.If(taken):
            m.d.sync += turn.eq((turn + tiles) % blocks)
        due = []
        for n in range(blocks):
            rank, mine, rows = Signal(range(max(blocks, 2)), name=f"rank_{n}"), Signal(8, name=f"mine_{n}"), Signal(8)
            m.d.comb += [
                rank.eq((n + blocks - turn) % blocks),
                mine.eq(Mux(tiles > rank, (tiles - rank + blocks - 1) // blocks, 0)),
            ]
            matrix = getattr(dut, f"matrix_{n}")
            ends = (mine != 0) & ((tiles - 1) % blocks == rank)
            keys = (mine * lanes - Mux(ends, tiles * lanes - command.tokens, 0)) * ((terms + lanes - 1) // lanes)
            moves, add = matrix.valid & matrix.ready, Signal(8, name=f"rows_of_{n}")
            m.d.comb += add.eq(Mux(taken, Mux(sv, mine * command.tokens, keys), 0))
            m.d.sync += rows.eq(rows + add - moves)
            m.d.comb += Assert(~moves | (rows != 0), "a block takes no row that is not its own")
            due.append(rows)
        m.d.comb += Assert((owed != 0) | (Cat(*due) == 0), "all rows are taken when the results have left")
        return m


@pytest.fixture
def cut(monkeypatch):
    """Cuts rounders, adder and conversion off the units that are made and elaborated in the test."""
    class CutRounder(Cut):
        LATENCY = Rounder.LATENCY

        def __init__(self, *args, **kwargs):
            super().__init__(Rounder(*args, **kwargs).signature, "bits")

    def free(width):
        signal = Signal(width, name=f"free_{len(Cut.ports)}")
        Cut.ports.append(signal)
        return signal

    monkeypatch.setattr(lanes_module, "Rounder", CutRounder)
    monkeypatch.setattr(gemv_module, "add", lambda m, a, b, *, fmt, **_: free(fmt.width))
    monkeypatch.setattr(gemv_module, "convert", lambda m, value, *, target, **_: free(target.width))


def small(**fields):
    """Two blocks of two lanes, heads of up to 4 dimensions, up to 5 tokens, one place for results."""
    return Inf2GemvConfig(**{"blocks": 2, "lanes": 2, "format": "bf16", "max_head_dim": 4, "max_tokens": 5,
                             "add_depth": 1, "result_beats": 1, **fields})


@pytest.mark.slow
@pytest.mark.parametrize("config", [
    pytest.param(small(), id="two-blocks"),
    pytest.param(small(blocks=1, max_tokens=3), id="one-block"),
])
def test_number_and_order(cut, config):
    """No counterexample within the cycles of the bounded proof, in which results of several commands leave."""
    result = prove(GemvContract(gemv_module.Inf2Gemv(config)), timeout_s=1500)
    print(result)
    assert result.status in ("proved", "bounded"), result
    assert not result.unreached


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "failing"), [
    ("free.eq(held != places)", "free.eq(1)", "GemvBlock: the sums of a tile find a place"),
    ("enough.eq(waiting != config.result_beats)", "enough.eq(1)", "GemvBlock: finished outputs find a place"),
    ("job.ends.eq((outs - 1)[:bits] == rank)", "job.ends.eq(0)", "the last result of a command is marked"),
    ("self.i.ready.eq(moves & last_out & last_step)", "self.i.ready.eq(moves & last_out)",
     "all rows are taken when the results have left"),
])
def test_errors_are_found(cut, monkeypatch, old, new, failing):
    result = prove(GemvContract(planted(gemv_module, old, new).Inf2Gemv(small())), timeout_s=900)
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)
