# amaranth: UnusedElaboratable=no
"""The merge of streams in CENT's CXL units: proved for all time; its turns for the first 24 clocks from reset."""

import pytest
from amaranth import *
from amaranth.hdl import Assert

from bankside.gen.blocks import merge as merge_module
from bankside.gen.blocks.merge import StreamMerge
from bankside.gen.formal import StreamProtocol, prove
from tests.planting import planted


class MergeContract(StreamProtocol):
    """Items come from the producers. With ``fair``, no producer waits for more than an item of each of the others and the
    one that was offered first."""

    def __init__(self, dut, inputs, *, fair=True):
        self._inputs, self._fair = inputs, fair
        super().__init__(dut)
        self.least_depth = 24

    def elaborate(self, platform):
        m = super().elaborate(platform)
        inputs, o = [getattr(self.dut, f"i_{n}") for n in range(self._inputs)], self.dut.o
        moved = Cat(one.valid & one.ready for one in inputs)
        m.d.comb += [
            Assert(moved.any() == (o.valid & o.ready), "an item leaves when one is taken"),
            Assert((moved & (moved - 1)[: self._inputs]) == 0, "one item at a time"),
        ]
        for n, one in enumerate(inputs):
            others = Signal(range(2 * self._inputs), name=f"others_{n}")
            m.d.comb += Assert(~(one.valid & one.ready) | (o.payload == one.payload), "the item is the producer's")
            if self._fair:
                m.d.comb += Assert(others <= self._inputs, "the other producers have one turn each")
            with m.If(~one.valid | one.ready):
                m.d.sync += others.eq(0)
            with m.Elif(o.valid & o.ready):
                m.d.sync += others.eq(others + 1)
        return m


def test_merge_is_proved():
    """For all time. Induction does not close for the turns, so these are bounded: 24 clocks from reset."""
    result = prove(MergeContract(StreamMerge(2, 3), 3, fair=False), timeout_s=200)
    assert result, str(result)
    result = prove(MergeContract(StreamMerge(2, 3), 3), timeout_s=200)
    assert result.status in ("proved", "bounded") and result.depth >= 24 and not result.unreached, str(result)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("with m.If(~one.valid | self.o.ready):", "with m.If(1):"),
        ("for k in reversed(range(1, self._inputs)):", "for k in range(1, 2):"),
    ],
)
def test_planted_error_in_the_merge(old, new):
    """A turn that moves on while an item waits; a turn that only the next producer gets."""
    copy = planted(merge_module, old, new)
    result = prove(MergeContract(copy.StreamMerge(2, 3), 3), timeout_s=200)
    assert result.status == "counterexample", str(result)
