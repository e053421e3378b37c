# amaranth: UnusedElaboratable=no
"""A bounded proof of the control of ``inf2-softmax``, of the first clocks from reset: its ports against the contract, and
that every result belongs to its row.

The unit in the proof is the generated one with small arithmetic in place of its own: the maximum of a row is its last
score, the sum of a row is its last weight, and weights and quotients are exclusive ORs. So a result shows of which score,
maximum and sum it was made. Queues, stores, places and counters are the real ones.
"""

import pytest
from amaranth import *
from amaranth.hdl import Assert

from bankside.constraints.units.inf2_softmax import Inf2SoftmaxConfig
from bankside.gen.arith.lanes import register
from bankside.gen.arith.softmax import QuotientLane, RowMaximum, RowSum, WeightLanes, scale_layout
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.inf2 import softmax as softmax_module

from .test_pam_pu_formal import messages, planted

DEPTH = 20


class CutMaximum(RowMaximum):
    latency = 1

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.output_valid.eq(register(m, self.valid & self.last, "done", keep=True)),
                     self.maximum.eq(register(m, self.data, "latest"))]
        return m


class CutSum(RowSum):
    latency = 1

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.output_valid.eq(register(m, self.valid & self.last, "done", keep=True)),
                     self.sum.eq(register(m, self.data, "latest"))]
        return m


class CutWeights(WeightLanes):
    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.weights.eq(self.data ^ self.maximum.rotate_left(1))
        return m


class CutQuotient(QuotientLane):
    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.result.eq(self.weight ^ self.scale[:16].rotate_left(5))
        return m


def cut_scale(m, total, *, rule, **_):
    return Cat(total, Const(0, scale_layout(rule).size - len(total)))


def unit(monkeypatch, module=softmax_module, **fields):
    """One lane and rows of up to two scores."""
    for name, cut in (("RowMaximum", CutMaximum), ("RowSum", CutSum), ("WeightLanes", CutWeights),
                      ("QuotientLane", CutQuotient), ("row_scale", cut_scale)):
        monkeypatch.setattr(module, name, cut)
    return module.Inf2Softmax(Inf2SoftmaxConfig.model_construct(**{
        **Inf2SoftmaxConfig().model_dump(), "lanes": 1, "groups": 1, "format": "bf16", "max_tokens": 2, "slack_beats": 1,
        "row_slots": 2, "exp_depth": 0, "quotient_depth": 0, "reciprocal_depth": 0, **fields}))


class RowContract(StreamProtocol):
    """The contract of the unit's streams, and that one row, any of them, gives its results in its place.

    * Results up to a row are as many as scores up to the row, and ``last`` is on the last one of each row.
    * A result is made of its own score, of the maximum of its row and of the sum of its row.
    """

    def __init__(self, dut):
        result = dut.result
        super().__init__(dut, covers={"a result is complete": result.valid & result.ready & result.p.last})
        self.row, self.beat = Signal(2, name="watched_row"), Signal(1, name="watched_beat")
        self.ports += [self.row, self.beat]

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, rule = self.dut, self.dut.config.rule
        row, beat, stable = Signal(2), Signal(1), Signal()
        m.d.sync += stable.eq(1)
        with m.If(~stable):
            m.d.sync += [row.eq(self.row), beat.eq(self.beat)]
        row, beat = Mux(stable, row, self.row), Mux(stable, beat, self.beat)

        # What goes in. Rows without tokens count too: they give nothing.
        entering, tokens, seen = Signal(4), Signal(2), Signal()
        with m.If(dut.row.valid & dut.row.ready & dut.row.p.tokens.any()):
            m.d.sync += entering.eq(entering + (entering != 15))
            with m.If(entering == row):
                m.d.sync += [tokens.eq(dut.row.p.tokens), seen.eq(1)]
        begun, place, first, last = Signal(4), Signal(2), Signal(16), Signal(16)
        lengths = [Signal(2, name=f"length_{n}") for n in range(16)]
        with m.Switch(entering):
            for n, length in enumerate(lengths):
                with m.Case(n):
                    with m.If(dut.row.valid & dut.row.ready & dut.row.p.tokens.any()):
                        m.d.sync += length.eq(dut.row.p.tokens)
        score = Mux(dut.score.p.mask, rule.mask_bits, dut.score.p.data)
        moved = dut.score.valid & dut.score.ready
        length = Array(lengths)[begun]
        with m.If(moved):
            m.d.sync += place.eq(Mux(place == length - 1, 0, place + 1))
            with m.If(place == length - 1):
                m.d.sync += begun.eq(begun + (begun != 15))
            with m.If(begun == row):
                m.d.sync += last.eq(score)
                with m.If(place == beat):
                    m.d.sync += first.eq(score)

        # What comes out.
        done, at = Signal(4), Signal(2)
        result = dut.result
        with m.If(result.valid & result.ready):
            m.d.sync += at.eq(Mux(result.p.last, 0, at + 1))
            with m.If(result.p.last):
                m.d.sync += done.eq(done + (done != 15))
        with m.If(result.valid & (done == row)):
            m.d.comb += Assert(seen & (result.p.last == (at == tokens - 1)), "last is on the last result of a row")
            with m.If(at == beat):
                m.d.comb += Assert(result.p.data == (first ^ last.rotate_left(1) ^ (last ^ last.rotate_left(1)).rotate_left(5)),
                                   "a result is made of its score, and of maximum and sum of its row")
        return m


@pytest.mark.slow
def test_control(monkeypatch):
    result = prove(RowContract(unit(monkeypatch)), depth=DEPTH, induction=1)
    assert result.status == "bounded" and result.depth >= DEPTH and not result.failing, result
    assert not result.unreached and "a result is complete" in messages(result.reached)


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new"), [
    ("maxima.ready.eq(issue & scores.p.last)", "maxima.ready.eq(issue)"),
    ("scales.ready.eq(issue & weights.p.last)", "scales.ready.eq(issue)"),
    ("rows.o.ready.eq((moves & last) | ~tokens.any())", "rows.o.ready.eq(moves & last)"),
    ("place & (row | ~scores.p.last)),\n            scores.ready", "(row | ~scores.p.last)),\n            scores.ready"),
])
def test_defects_found(monkeypatch, old, new):
    result = prove(RowContract(unit(monkeypatch, planted(softmax_module, old, new))), depth=DEPTH, induction=1)
    assert result.status == "counterexample" or result.unreached, result
