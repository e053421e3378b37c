# amaranth: UnusedElaboratable=no
"""The control of a block of ``inf2-gemv``: number and order of results and rows, for all inputs up to a number of cycles.

The block is the generated one with the arithmetic cut off: lanes, adder and conversion of outputs put out free numbers with
their latency. Control, memories, queues and tags are the real ones. The proof is bounded: it says nothing about later
cycles. The tile buffer's own proof holds for all time (``test_blocks_transpose.py``).
"""

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover
from amaranth.lib import wiring

from bankside.constraints.formats import FloatFormat
from bankside.constraints.units.inf2_gemv import Inf2GemvConfig
from bankside.gen.arith.lanes import LaneSums, register
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.inf2 import gemv as gemv_module
from tests.gen.test_pam_pu_formal import Cut, messages, planted

#: Cycles of the bounded proof: the first results leave after 25.
DEPTH = 26


class BlockContract(StreamProtocol):
    """What a block promises about results and rows.

    * There are as many results as the jobs have output tiles, and no more. ``last`` is on the last result of a job that
      ends its command, and on no other. One job stands for all of them: the proof follows a free one.
    * A block takes the rows of its jobs, and no more. When all results have left, all rows have been taken.
    * What the block asserts about itself (see its source): tiles of the buffer have columns, as the buffer's proof
      assumes, and neither sums nor outputs are ever lost.
    """

    def __init__(self, dut, *, jobs=1, **properties):
        super().__init__(dut, **properties)
        self._jobs = jobs
        self.follow = Signal()
        self.ports.append(self.follow)
        Cut.ports = self.ports
        self.least_depth = DEPTH

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, config = self.dut, self.dut.config
        job, result, matrix = dut.job.p, dut.result, dut.matrix
        lanes = config.lanes
        taken, left = dut.job.valid & dut.job.ready, result.valid & result.ready
        m.d.comb += Assume(
            ~dut.job.valid | ((job.outs != 0) & (job.steps != 0) & (job.outs <= config.max_tiles)
                              & (job.steps <= config.max_tiles) & (job.last_outs != 0) & (job.last_outs <= lanes)
                              & (job.last_steps != 0) & (job.last_steps <= lanes)
                              & Mux(job.sv, job.outs <= config.slots, job.steps <= config.vector_beats)),
            "a job is one of this configuration")

        jobs = Signal(2)
        m.d.sync += jobs.eq(jobs + taken)
        m.d.comb += Assume((jobs < self._jobs) | ~dut.job.valid, "there are a few jobs")
        owed, active, waits, own, ends = Signal(5), Signal(), Signal(5), Signal(2), Signal()
        m.d.sync += owed.eq(owed + Mux(taken, job.outs, 0) - left)
        with m.If(taken & self.follow & ~active):
            m.d.sync += [active.eq(1), waits.eq(owed + job.outs - left), own.eq(job.outs), ends.eq(job.ends)]
        with m.Elif(active & left):
            m.d.sync += [waits.eq(waits - 1), active.eq(waits != 1)]
        m.d.comb += [
            Assert(~result.valid | (owed != 0), "no result comes without an output tile"),
            Assert(~(active & result.valid & (waits == 1)) | (result.p.last == ends),
                   "the last result of a command is marked"),
            Assert(~(active & result.valid & (waits != 1) & (waits <= own)) | ~result.p.last,
                   "no other result of a job is marked"),
            Cover(left & result.p.last & active & (waits == 1), "a job ends"),
        ]
        tokens, other = Mux(job.sv, job.steps, job.outs), Mux(job.sv, job.outs, job.steps)
        rest = Mux(job.sv, job.last_steps, job.last_outs)
        moves, rows, add, one = matrix.valid & matrix.ready, Signal(6), Signal(6), Signal(3)
        m.d.comb += [one.eq(Mux(tokens == 2, lanes, 0) + rest), add.eq(Mux(taken, Mux(other == 2, one << 1, one), 0))]
        m.d.sync += rows.eq(rows + add - moves)
        m.d.comb += [
            Assert(~moves | (rows != 0), "a block takes no row that is not its own"),
            Assert((owed != 0) | (rows == 0), "all rows are taken when the results have left"),
        ]
        return m


class CutLanes(wiring.Component):
    """The lanes with their ports and latency, whose sums are free in every cycle."""

    LATENCY = LaneSums.LATENCY

    def __init__(self, io, window, lanes, *, tag, fabric):
        super().__init__(LaneSums(io, window, lanes, tag=tag).signature)
        self._free = free(lanes * window.result.width)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.output.eq(self._free),
            self.output_valid.eq(register(m, self.valid & self.last, "done", self.LATENCY, keep=True)),
            self.tag.eq(register(m, self.tag_in, "tag_delay", self.LATENCY)),
        ]
        return m


def free(width):
    """A free input of the harness."""
    signal = Signal(width, name=f"free_{len(Cut.ports)}")
    Cut.ports.append(signal)
    return signal


@pytest.fixture
def cut(monkeypatch):
    """Cuts lanes, adder and conversion off the units that are made and elaborated in the test."""
    def cut_off(module):
        monkeypatch.setattr(module, "LaneSums", CutLanes)
        monkeypatch.setattr(module, "add", lambda m, a, b, *, fmt, **_: free(fmt.width))
        monkeypatch.setattr(module, "convert", lambda m, value, *, target, **_: free(target.width))
        return module

    return cut_off


class SmallConfig(Inf2GemvConfig):
    """Numbers of three bits. Control does not depend on them."""

    @property
    def io(self):
        return FloatFormat("tiny", 1, 1)


def small(**fields):
    """Two lanes, heads of up to 4 dimensions, up to 4 tokens, one place for results."""
    return SmallConfig(**{"blocks": 1, "lanes": 2, "format": "bf16", "max_head_dim": 4, "max_tokens": 4,
                             "add_depth": 1, "result_beats": 1, **fields})


@pytest.mark.slow
def test_number_and_order(cut):
    """No counterexample within the cycles of the bounded proof, in which results of both modes leave."""
    result = prove(BlockContract(cut(gemv_module).GemvBlock(small())), timeout_s=1500)
    print(result)
    assert result.status in ("proved", "bounded") and result.depth >= DEPTH, result
    assert not result.unreached


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "failing"), [
    ("free.eq(held != places)", "free.eq(1)", "GemvBlock: the sums of a tile find a place"),
    ("enough.eq(waiting != config.result_beats)", "enough.eq(1)", "GemvBlock: finished outputs find a place"),
    ("tile.ends.eq(job.ends & last_out & last_step)", "tile.ends.eq(job.ends & last_step)",
     "no other result of a job is marked"),
    ("turn.i.p.columns.eq(tile.p.steps)", "turn.i.p.columns.eq(tile.p.steps - 1)",
     "GemvBlock: a tile of the buffer has columns"),
])
def test_errors_are_found(cut, old, new, failing):
    result = prove(BlockContract(cut(planted(gemv_module, old, new)).GemvBlock(small())), timeout_s=900)
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)
