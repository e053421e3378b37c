# amaranth: UnusedElaboratable=no
"""Control of CENT's CXL units: the merge of streams proved for all time; a bounded proof of two ends of a link, of the
first 24 clocks from reset: room for every message, credits, and progress."""

import pytest
from amaranth import *
from amaranth.hdl import Assert, Cover
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bankside.constraints.units.cent_cxl_link import CxlLinkConfig, MessageClass
from bankside.gen.blocks import merge as merge_module
from bankside.gen.blocks.merge import StreamMerge
from bankside.gen.cent import cxl_link as link_module
from bankside.gen.cent.cxl_link import CxlLink
from bankside.gen.formal import StreamProtocol, prove

from .test_lolpim_formal import planted


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
            Assert((moved & (moved - 1)[:self._inputs]) == 0, "one item at a time"),
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


@pytest.mark.parametrize(("old", "new"), [
    ("with m.If(~one.valid | self.o.ready):", "with m.If(1):"),
    ("for k in reversed(range(1, self._inputs)):", "for k in range(1, 2):"),
])
def test_planted_error_in_the_merge(old, new):
    """A turn that moves on while an item waits; a turn that only the next producer gets."""
    copy = planted(merge_module, old, new)
    result = prove(MergeContract(copy.StreamMerge(2, 3), 3), timeout_s=200)
    assert result.status == "counterexample", str(result)


#: As small as a link goes: two credits of each class, four beats in a flit.
TINY = CxlLinkConfig(devices=2, beat_bytes=64, credits_req=2, credits_rwd=2, credits_drs=2, credits_ndr=2, tag_bits=1,
                     address_bits=1, flush_clocks=1)


class Pair(wiring.Component):
    """Two ends with a line between them. Each class has a stream from one end to the other; NDR and DRS go back."""

    def __init__(self, link=CxlLink):
        self._ends = link(TINY), link(TINY)
        super().__init__({
            "rwd": In(stream.Signature(1)), "req": In(stream.Signature(1)),
            "got_rwd": Out(stream.Signature(1)), "got_req": Out(stream.Signature(1)),
            "ndr": In(stream.Signature(1)), "got_ndr": Out(stream.Signature(1)),
            "pause": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.a, m.submodules.b = a, b = self._ends
        for one, other in ((a, b), (b, a)):
            m.d.comb += [
                other.rx.valid.eq(one.tx.valid & ~self.pause), other.rx.payload.eq(one.tx.payload),
                one.tx.ready.eq(~self.pause),
            ]
        for source, sink, here, there in ((a, b, "rwd", "got_rwd"), (a, b, "req", "got_req"), (b, a, "ndr", "got_ndr")):
            sends, gets = getattr(source, f"send_{here}"), getattr(sink, there)
            given, taken = getattr(self, here), getattr(self, there)
            # The payload is the tag; a write is the last of its transfer.
            m.d.comb += [
                sends.valid.eq(given.valid), sends.p.tag.eq(given.payload), given.ready.eq(sends.ready),
                taken.valid.eq(gets.valid), taken.payload.eq(gets.p.tag), gets.ready.eq(taken.ready),
            ]
            if here == "rwd":
                m.d.comb += sends.p.last.eq(1)
        for one in (a, b):
            m.d.comb += [getattr(one, f"got_{kind.name.lower()}").ready.eq(1) for kind in MessageClass
                         if (one, kind) not in ((b, MessageClass.RWD), (b, MessageClass.REQ), (a, MessageClass.NDR))]
        return m


class PairContract(StreamProtocol):
    """Rules of streams; tags arrive in order; the ends' own assertions; a message arrives some clocks after it was accepted
    if the line passes beats and the receiver takes what comes."""

    #: Clocks without progress that are too many: a flit before, its own, and the ends.
    PATIENCE = 18

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut = self.dut
        for name in ("rwd", "req", "ndr"):
            given, taken = getattr(dut, name), getattr(dut, f"got_{name}")
            push, pop = given.valid & given.ready, taken.valid & taken.ready
            tags, held = Signal(8, name=f"tags_{name}"), Signal(4, name=f"held_{name}")
            waits = Signal(range(self.PATIENCE + 2), name=f"waits_{name}")
            m.d.sync += held.eq(held + push - pop)
            kept = Mux(pop, tags >> 1, tags)
            m.d.sync += tags.eq(kept | Mux(push, given.payload << (held - pop)[:3], 0))
            m.d.comb += [
                Assert(held <= 2, f"no more {name} than credits"),
                Assert(~taken.valid | (held != 0), f"no {name} that was not sent"),
                Assert(~taken.valid | (taken.payload == tags[0]), f"{name} arrive in order"),
                Assert(waits <= self.PATIENCE, f"{name} arrive in time"),
                Cover(taken.valid & (held == 2), f"all credits of {name} are used"),
            ]
            with m.If((held == 0) | dut.pause | ~taken.ready | pop):
                m.d.sync += waits.eq(0)
            with m.Else():
                m.d.sync += waits.eq(waits + 1)
        return m


@pytest.mark.slow
def test_pair_for_a_bounded_time():
    """The first 24 clocks: bounded, not proved."""
    result = prove(PairContract(Pair()), depth=24, induction=1, timeout_s=1500)
    assert result.status in ("bounded", "proved") and result.depth >= 24 and not result.unreached, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "failing"), [
    ("can.eq(Cat(ports[kind].valid & (credits[kind] != 0) for kind in CARRIED)",
     "can.eq(Cat(ports[kind].valid for kind in CARRIED)", ""),
    ("m.d.sync += [kind.eq(0) for kind in kinds]", "m.d.sync += kinds[0].eq(0)", ""),
])
def test_planted_error_in_the_link(old, new, failing):
    """Messages that need no credit; messages that are sent again with the next flit."""
    copy = planted(link_module, old, new)
    result = prove(PairContract(Pair(copy.CxlLink)), depth=24, induction=1, timeout_s=1500)
    assert result.status == "counterexample", str(result)
    assert any(failing in one for one in result.failing), str(result)
