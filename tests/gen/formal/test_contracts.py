# amaranth: UnusedElaboratable=no
"""The contracts find each kind of defect from outside, in a queue that tells them nothing about itself."""

import re
from pathlib import Path

import pytest
from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bankside.gen.formal import QueueProbe, ReplayContract, StreamContract, StreamProtocol, prove


def messages(places):
    return {place.rpartition(" (")[0] for place in places}


class Queue(wiring.Component):
    """Shift register of three items, with a defect if asked for."""

    depth = 3
    latency = 1

    def __init__(self, defect=None, *, probe=False, function=lambda payload: payload):
        self.defect = defect
        self.function = function
        if probe:
            self.probe = QueueProbe(2, self.depth)
        super().__init__({"i": In(stream.Signature(2)), "o": Out(stream.Signature(2))})

    def elaborate(self, platform):
        m = Module()

        items = Array(Signal(2, name=f"item_{index}") for index in range(self.depth))
        count = Signal(range(self.depth + 1))
        stalled = Signal()  # in the cycle before
        push = self.i.valid & self.i.ready
        pop = self.o.valid & self.o.ready
        m.d.sync += stalled.eq(self.o.valid & ~self.o.ready)
        m.d.comb += self.i.ready.eq(count != self.depth)
        m.d.comb += self.o.valid.eq(count != 0)
        m.d.comb += self.o.payload.eq(items[0])
        m.d.sync += count.eq(count + push - pop)
        with m.If(pop):
            m.d.sync += [item.eq(following) for item, following in zip(items[:-1], items[1:], strict=True)]
        with m.If(push):
            m.d.sync += items[(count - pop)[:2]].eq(self.function(self.i.payload))

        match self.defect:
            case "drops when full":
                m.d.comb += self.i.ready.eq(1)
                with m.If(count == self.depth):
                    m.d.sync += count.eq(count - pop)
            case "duplicates on stall":
                with m.If(pop & stalled & ~push):
                    m.d.sync += count.eq(count)
                    m.d.sync += items[0].eq(items[0])
            case "payload changes while stalled":
                m.d.comb += self.o.payload.eq(items[0] ^ stalled)
            case "valid drops while stalled":
                m.d.comb += self.o.valid.eq((count != 0) & ~stalled)
            case "reorders":
                with m.If(self.i.valid & self.i.ready & ~pop & (count == 2)):
                    m.d.sync += [items[1].eq(self.i.payload), items[2].eq(items[1])]
            case "loses":
                with m.If(pop & (count == 3)):
                    m.d.sync += [count.eq(1), items[0].eq(items[2])]
            case "invents":
                m.d.comb += self.o.valid.eq((count != 0) | self.i.valid)
            case "refuses":
                m.d.comb += self.i.ready.eq(count < 2)
            case "waits for ready":
                m.d.comb += self.o.valid.eq((count != 0) & self.o.ready)
            case "takes every other cycle":
                taken = Signal()
                m.d.sync += taken.eq(push)
                m.d.comb += self.i.ready.eq((count != self.depth) & ~taken)

        if platform == "formal" and hasattr(self, "probe"):
            m.d.comb += self.probe.level.eq(count)
            m.d.comb += self.probe.item.eq(items[self.probe.index])

        return m


@pytest.mark.parametrize(
    "defect, failing",
    [
        ("drops when full", "no more than depth items are held"),
        ("duplicates on stall", "the k-th item offered is the k-th accepted"),
        ("payload changes while stalled", "o is stable while stalled"),
        ("valid drops while stalled", "o is stable while stalled"),
        ("reorders", "the k-th item offered is the k-th accepted"),
        ("loses", "the k-th item offered is the k-th accepted"),
        ("invents", "nothing is offered while nothing is held"),
        ("refuses", "an item is accepted whenever fewer than depth are held"),
        ("waits for ready", "an item is offered after latency cycles at the latest"),
        ("takes every other cycle", "an item is accepted whenever fewer than depth are held"),
    ],
)
def test_queue_defect_found(defect, failing, tmp_path):
    result = prove(StreamContract(Queue(defect)), trace_dir=tmp_path)
    assert result.status == "counterexample", result
    assert failing in messages(result.failing), result


def test_queue_without_probe_is_bounded_only(tmp_path):
    result = prove(StreamContract(Queue()), induction=3, trace_dir=tmp_path)
    assert (result.status, bool(result)) == ("bounded", False)
    assert result.depth >= 20
    assert "induction of 3 does not close for: the k-th item offered is the k-th accepted" in result.detail
    assert result.trace.exists()


def test_queue_with_probe_is_proved():
    result = prove(StreamContract(Queue(probe=True)))
    assert result, result


def test_probe_is_not_trusted(tmp_path):
    class Liar(Queue):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            with m.If(self.probe.index == 1):
                m.d.comb += self.probe.item.eq(0)
            return m

    result = prove(StreamContract(Liar(probe=True)), trace_dir=tmp_path)
    assert messages(result.failing) == {"the probe shows the followed item"}


def test_queue_function():
    assert prove(
        StreamContract(
            Queue(probe=True, function=lambda payload: payload + 1), function=lambda payload: (payload + 1)[:2]
        )
    )


def test_queue_function_wrong(tmp_path):
    result = prove(
        StreamContract(Queue(function=lambda payload: payload + 1), function=lambda payload: (payload + 2)[:2]),
        trace_dir=tmp_path,
    )
    assert messages(result.failing) == {"the k-th item offered is the k-th accepted"}


@pytest.mark.parametrize(
    "latency, exact, status", [(1, True, "proved"), (2, False, "proved"), (2, True, "counterexample")]
)
def test_queue_latency_tight(latency, exact, status, tmp_path):
    """The figure is the least that holds; with ``exact`` a larger one is refused as well."""
    contract = StreamContract(Queue(probe=True), latency=latency, exact=exact)
    assert prove(contract, trace_dir=tmp_path).status == status


class Pause(wiring.Component):
    """One item, and two cycles without an offer after each delivery."""

    def __init__(self):
        self.probe = QueueProbe(2, 1)
        super().__init__({"i": In(stream.Signature(2)), "o": Out(stream.Signature(2))})

    def elaborate(self, platform):
        m = Module()
        held = Signal()
        item = Signal(2)
        wait = Signal(range(3))
        m.d.comb += [
            self.i.ready.eq(~held),
            self.o.valid.eq(held & (wait == 0)),
            self.o.payload.eq(item),
            self.probe.level.eq(held),
            self.probe.item.eq(item),
        ]
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(self.i.valid & ~held):
            m.d.sync += [held.eq(1), item.eq(self.i.payload)]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [held.eq(0), wait.eq(2)]
        return m


@pytest.mark.parametrize("interval, status", [(3, "proved"), (2, "counterexample")])
def test_queue_interval_tight(interval, status, tmp_path):
    contract = StreamContract(Pause(), depth=1, latency=1, interval=interval, sustained=False)
    assert prove(contract, trace_dir=tmp_path).status == status


def test_queue_sustained_refuted(tmp_path):
    result = prove(StreamContract(Pause(), depth=1, latency=1, interval=3), trace_dir=tmp_path)
    assert "an item is accepted in every cycle without stalls" in messages(result.failing)


class Pairs(wiring.Component):
    """Not a queue: the sum of each two items, of one of two inputs; straight through if it is not to add."""

    i: In(stream.Signature(3)).array(2)
    select: In(1)
    bus: Out(wiring.Signature({"sums": Out(stream.Signature(4))}))

    def __init__(self, *, defect=False):
        self.defect = defect
        self.waiting = Signal()  # whether the first item of a pair is here
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        first = Signal(3)
        o = self.bus.sums
        source = Signal()
        m.d.comb += source.eq(self.select)
        room = o.ready if self.defect else o.ready | ~o.valid
        with m.If(o.ready):
            m.d.sync += o.valid.eq(0)
        for index, i in enumerate(self.i):
            with m.If(source == index):
                m.d.comb += i.ready.eq(~self.waiting | room)
                with m.If(i.valid & i.ready):
                    m.d.sync += self.waiting.eq(~self.waiting)
                    with m.If(self.waiting):
                        m.d.sync += [o.valid.eq(1), o.payload.eq(first + i.payload)]
                    with m.Else():
                        m.d.sync += first.eq(i.payload)
        if self.defect:
            with m.If(o.valid & ~o.ready & self.i[0].valid):
                m.d.sync += o.payload.eq(first)
        if platform == "formal":
            m.d.comb += Assert(o.payload <= 14, "Pairs: a sum is at most 14")
        return m


def test_protocol_proved():
    dut = Pairs()
    result = prove(
        StreamProtocol(
            dut,
            invariants={"an input is ready for the first of a pair": dut.waiting | dut.i[0].ready | dut.i[1].ready},
            covers={"the greatest sum": dut.bus.sums.payload == 14},
        )
    )
    assert result, result
    assert result.assertions == 3
    assert messages(result.reached) == {
        "i[0] transfers an item",
        "i[1] transfers an item",
        "bus.sums transfers an item",
        "bus.sums is stalled",
        "the greatest sum",
    }


def test_protocol_of_bare_component():
    assert prove(Pairs()).assertions == 2


def test_protocol_defect_found(tmp_path):
    result = prove(Pairs(defect=True), trace_dir=tmp_path)
    assert messages(result.failing) == {"bus.sums is stable while stalled"}


def test_protocol_invariant_refuted(tmp_path):
    dut = Pairs()
    result = prove(StreamProtocol(dut, invariants={"no sum is seven": dut.bus.sums.payload != 7}), trace_dir=tmp_path)
    assert messages(result.failing) == {"no sum is seven"}


class Wire(wiring.Component):
    i: In(stream.Signature(2))
    o: Out(stream.Signature(2))

    def elaborate(self, platform):
        m = Module()
        wiring.connect(m, source=wiring.flipped(self.i), sink=wiring.flipped(self.o))
        return m


def test_inputs_are_assumed_stable():
    """A wire keeps the rules at its output only because they are kept at its input."""
    assert prove(Wire())


def test_assumption_that_excludes_too_much_is_no_proof():
    dut = Wire()
    result = prove(StreamProtocol(dut, assumptions={"nothing comes": ~dut.i.valid}))
    assert result.status == "unknown"
    assert messages(result.unreached) == {"i transfers an item", "o transfers an item", "o is stalled"}
    assert result.detail.startswith("not reached within 20 cycles")


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: StreamProtocol(Module()), TypeError, "Unit must be a wiring.Component, not "),
        (lambda: StreamContract(Pairs()), TypeError, "Queue must be a component with an input stream i and an output "),
        (lambda: ReplayContract(Pairs()), TypeError, "Replay buffer must be a component with an input stream i, not "),
        (lambda: StreamContract(Queue(), depth=0), ValueError, "Depth must be at least 1, not 0$"),
        (lambda: StreamContract(Queue(), latency=0), ValueError, "Latency must be at least 1, not 0$"),
        (lambda: StreamContract(Queue(), interval=1.5), TypeError, "Interval must be an integer, not 1.5$"),
    ],
)
def test_arguments_wrong(make, error, message):
    with pytest.raises(error, match=f"^{re.sub(r'([.])', r'[.]', message)}"):
        make()


def test_documentation_examples():
    """The examples of the page on streams run as they are printed, and prove what they say."""
    page = Path(__file__).parents[3] / "docs" / "streams.md"
    examples = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert len(examples) == 3
    names = {}
    for example in examples:
        exec(example, names)
    assert names["result"].status == "proved"
