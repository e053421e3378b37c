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

from bankside.constraints.core.formats import FloatFormat
from bankside.constraints.inf2.gemv import Inf2GemvConfig
from bankside.gen.arith.lanes import LaneSums, register
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.inf2 import gemv as gemv_module
from tests.gen.pam.test_pu_formal import Cut, messages
from tests.planting import planted


class BlockPlaces(StreamProtocol):
    """A block that gets jobs of its configuration, in any number.

    What is proved is what the block asserts about itself (see its source), and that its result stays until it is taken:
    tiles of the buffer have columns, as the buffer's proof assumes, and neither sums nor outputs are ever lost.
    """

    def __init__(self, dut):
        super().__init__(dut)
        Cut.ports = self.ports

    def elaborate(self, platform):
        m = super().elaborate(platform)
        job, config = self.dut.job.p, self.dut.config
        m.d.comb += Assume(
            ~self.dut.job.valid
            | (
                (job.outs != 0)
                & (job.steps != 0)
                & (job.outs <= config.max_tiles)
                & (job.steps <= config.max_tiles)
                & (job.last_outs != 0)
                & (job.last_outs <= config.lanes)
                & (job.last_steps != 0)
                & (job.last_steps <= config.lanes)
                & Mux(job.sv, job.outs <= config.slots, job.steps <= config.vector_beats)
            ),
            "a job is one of this configuration",
        )
        return m


class BlockContract(BlockPlaces):
    """What a block promises about results and rows of a job. It gets one job after reset.

    * There are as many results as the job has output tiles, and no more. ``last`` is on the last one if the job ends its
      command, and on no other.
    * The block takes the rows of the job, and no more. When all results have left, all rows have been taken.
    """

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, config = self.dut, self.dut.config
        job, result, matrix = dut.job.p, dut.result, dut.matrix
        taken, left = dut.job.valid & dut.job.ready, result.valid & result.ready
        moves = matrix.valid & matrix.ready
        had, results, rows, ends = Signal(), Signal(3), Signal(6), Signal()
        tokens, other = Mux(job.sv, job.steps, job.outs), Mux(job.sv, job.outs, job.steps)
        of_tile, of_job = Signal(3), Signal(6)
        m.d.comb += [
            Assume(~(dut.job.valid & had), "there is one job"),
            of_tile.eq(Mux(tokens == 2, config.lanes, 0) + Mux(job.sv, job.last_steps, job.last_outs)),
            of_job.eq(Mux(taken, Mux(other == 2, of_tile << 1, of_tile), 0)),
            Assert(~result.valid | (results != 0), "no result comes without an output tile"),
            Assert(
                ~result.valid | (result.p.last == ((results == 1) & ends)), "the last result of a command is marked"
            ),
            Assert(~moves | (rows != 0), "a block takes no row that is not its own"),
            Assert((results != 0) | (rows == 0), "all rows are taken when the results have left"),
            Cover(left & (results == 1), "a job ends"),
        ]
        m.d.sync += [results.eq(results + Mux(taken, job.outs, 0) - left), rows.eq(rows + of_job - moves)]
        with m.If(taken):
            m.d.sync += [had.eq(1), ends.eq(job.ends)]
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
    return SmallConfig(
        **{
            "blocks": 1,
            "lanes": 2,
            "format": "bf16",
            "max_head_dim": 4,
            "max_tokens": 4,
            "add_depth": 1,
            "result_beats": 1,
            **fields,
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(("contract", "depth"), [(BlockPlaces, 30), (BlockContract, 23)])
def test_no_counterexample(cut, contract, depth):
    """Within the cycles of the bounded proof, in which results leave."""
    result = prove(contract(cut(gemv_module).GemvBlock(small())), depth=depth, induction=1, timeout_s=1500)
    assert result.status == "bounded" and result.depth >= depth, result
    assert not result.unreached


@pytest.mark.slow
@pytest.mark.parametrize(
    ("contract", "old", "new", "failing"),
    [
        (BlockPlaces, "free.eq(held != places)", "free.eq(1)", "GemvBlock: the sums of a tile find a place"),
        (
            BlockPlaces,
            "enough.eq(waiting != config.result_beats)",
            "enough.eq(1)",
            "GemvBlock: finished outputs find a place",
        ),
        (
            BlockPlaces,
            "turn.i.p.columns.eq(tile.p.steps)",
            "turn.i.p.columns.eq(tile.p.steps - 1)",
            "GemvBlock: a tile of the buffer has columns",
        ),
        (
            BlockContract,
            "tile.ends.eq(job.ends & last_out & last_step)",
            "tile.ends.eq(job.ends & last_step)",
            "the last result of a command is marked",
        ),
        (
            BlockContract,
            "last_out.eq(out == job.outs - 1)",
            "last_out.eq(out == job.outs)",
            "a block takes no row that is not its own",
        ),
    ],
)
def test_errors_are_found(cut, contract, old, new, failing):
    result = prove(
        contract(cut(planted(gemv_module, old, new)).GemvBlock(small())), depth=32, induction=1, timeout_s=900
    )
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)
