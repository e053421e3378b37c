# amaranth: UnusedElaboratable=no
"""The blocks of AXI are proved for all time, and every contract finds the errors that are planted in its block."""

import pytest

from bankside.gen.blocks import axi as module
from bankside.gen.formal import AxiLiteContract, AxiReadContract, AxiWriteContract, BurstContract, prove
from tests.planting import planted


def messages(places):
    """Without the places in the source."""
    return {place.rpartition(" (")[0] for place in places}


def small(**parameters):
    """Parameters with which a page is crossed, bursts have several words, and every bound is reached."""
    return {
        "address_bits": 13,
        "data_bits": 16,
        "id_bits": 0,
        "length_bits": 3,
        "burst": 2,
        "outstanding": 2,
        "depth": 2,
        **parameters,
    }


def splitter(axi, *, state=True):
    return BurstContract(axi.BurstSplitter(13, 4, 2, 4), state=state)


def reader(axi, *, state=True, **parameters):
    return AxiReadContract(axi.AxiReader(**small(**parameters)), state=state)


def reader_of_one(axi, *, state=True):
    return reader(axi, outstanding=1, state=state)


def writer(axi, *, state=True, **parameters):
    return AxiWriteContract(axi.AxiWriter(**small(**parameters)), state=state)


def writer_of_one(axi, *, state=True):
    return writer(axi, outstanding=1, state=state)


def registers(axi, *, state=True):
    """A field of each kind; two in one word, and a word between them that does not exist."""
    fields = [
        axi.Field("run", 0, 2, "pulse"),
        axi.Field("mode", 0, 2, "rw", low=7, reset=1),
        axi.Field("state", 4, 2, "ro"),
        axi.Field("done", 12, 1, "w1c"),
        axi.Field("enable", 16, 1, "rw"),
    ]
    return AxiLiteContract(axi.AxiLiteRegisters(fields, address_bits=5, interrupts={"done": "enable"}), state=state)


def wide(axi):
    """A field of two words."""
    fields = [axi.Field("address", 4, 34, "rw", reset=3 << 32), axi.Field("events", 0, 1, "w1c", low=9)]
    return AxiLiteContract(axi.AxiLiteRegisters(fields, address_bits=4))


@pytest.mark.parametrize(
    "contract",
    [
        pytest.param(splitter, marks=pytest.mark.essential),
        pytest.param(
            lambda axi: BurstContract(axi.BurstSplitter(13, 5, 8, 3)), id="splitter-words-of-8", marks=pytest.mark.slow
        ),
        pytest.param(
            lambda axi: BurstContract(axi.BurstSplitter(12, 2, 1, 2)), id="splitter-words-of-1", marks=pytest.mark.slow
        ),
        pytest.param(reader, marks=pytest.mark.slow),
        pytest.param(reader_of_one, marks=pytest.mark.slow),
        pytest.param(
            lambda axi: reader(axi, burst=1, outstanding=1, depth=1), id="reader-of-words", marks=pytest.mark.slow
        ),
        pytest.param(
            lambda axi: reader(axi, burst=2, outstanding=3, depth=5), id="reader-memory", marks=pytest.mark.slow
        ),
        pytest.param(writer, marks=pytest.mark.slow),
        pytest.param(writer_of_one, marks=pytest.mark.slow),
        pytest.param(
            lambda axi: writer(axi, burst=2, outstanding=3, depth=5), id="writer-memory", marks=pytest.mark.slow
        ),
        pytest.param(registers, marks=pytest.mark.slow),
        pytest.param(wide, marks=pytest.mark.slow),
    ],
)
def test_proved(contract):
    result = prove(contract(module), timeout_s=1200)
    assert result.status == "proved", result
    assert result.depth >= 20 and not result.unreached


@pytest.mark.parametrize(
    ("contract", "old", "new", "failing"),
    [
        (
            splitter,
            "bound.eq(Mux(to_page < self.burst, to_page, self.burst))",
            "bound.eq(self.burst)",
            "no burst crosses 4 KiB",
        ),
        (
            splitter,
            "bound.eq(Mux(to_page < self.burst, to_page, self.burst))",
            "bound.eq(to_page)",
            "no burst is longer than allowed",
        ),
        (
            splitter,
            "bound.eq(Mux(to_page < self.burst, to_page, self.burst))",
            "bound.eq(1)",
            "every burst is as long as allowed",
        ),
        (
            splitter,
            "(offset + request.bytes + (self.word_bytes - 1)) >> shift",
            "(offset[:0] + request.bytes + (self.word_bytes - 1)) >> shift",
            "the last burst of a request is marked",
        ),
        (splitter, "left.eq(Mux(request.bytes == 0, 0, beats))", "left.eq(beats)", "a request without bytes is empty"),
        (
            splitter,
            "self.o.p.stop.eq(Mux(final, stop, self.word_bytes - 1))",
            "self.o.p.stop.eq(stop)",
            "the last byte is the request's",
        ),
        (
            splitter,
            "left.eq(left - bound), start.eq(0)]",
            "left.eq(left - bound)]",
            "the first byte of the first word is the request's",
        ),
        (
            splitter,
            "self.i.ready.eq(~held | (self.o.ready & final))",
            "self.i.ready.eq(~held | self.o.ready)",
            "bursts are offered for a request, and for nothing else",
        ),
        (
            splitter,
            "self.i.ready.eq(~held | (self.o.ready & final))",
            "self.i.ready.eq(1)",
            "o is stable while stalled",
        ),
        (reader, "return ready | ~valid", "return Const(1)", "AR is stable while stalled"),
        (reader, "        with m.Elif(ready):\n", "        with m.Else():\n", "AR is stable while stalled"),
        (
            reader_of_one,
            "(self.under_way != self.outstanding) & (self.reserved",
            "(self.reserved",
            "the outstanding bursts are bounded",
        ),
        (
            reader,
            "(self.reserved + burst.len + 1 <= self.depth)",
            "(self.reserved <= self.depth)",
            "AxiReader: no more than the buffer is reserved",
        ),
        (
            reader,
            "bus.rready.eq(words.i.ready)",
            "bus.rready.eq(words.i.ready & self.data.ready)",
            "R is never stalled",
        ),
        (
            reader,
            "self.data.p.data.eq(Mux(front.empty, 0, word.data))",
            "self.data.p.data.eq(word.data)",
            "data is stable while stalled",
        ),
        (
            reader,
            "words.i.p.error.eq(bus.rresp[1])",
            "words.i.p.error.eq(bus.rresp[0])",
            "the k-th word of data is the k-th of R",
        ),
        (
            reader,
            "self.data.p.error.eq(word.error & ~front.empty)",
            "self.data.p.error.eq(0)",
            "the k-th word of data is the k-th of R",
        ),
        (writer, "return ready | ~valid", "return Const(1)", "AW is stable while stalled"),
        (writer, "load.eq(bus.wready | ~bus.wvalid)", "load.eq(1)", "W is stable while stalled"),
        (writer, "final.eq(self.beat == front.len)", "final.eq(1)", "a burst has the words that its address says"),
        (writer, "bus.wlast.eq(final)", "bus.wlast.eq(self.beat == 0)", "a burst has the words that its address says"),
        (
            writer_of_one,
            "transfers.i.ready & (self.under_way != self.outstanding) &",
            "transfers.i.ready &",
            "the outstanding bursts are bounded",
        ),
        (
            writer,
            "transfers.i.valid.eq(go)",
            "transfers.i.valid.eq(splitter.o.valid & ~burst.empty)",
            "no word is offered before its address",
        ),
        (
            writer_of_one,
            "(self.ready_words > burst.len)",
            "self.ready_words.any()",
            "AxiWriter: a burst is issued when the buffer has its words",
        ),
        (
            registers,
            "        with m.If(bus.bready):\n            m.d.sync += bus.bvalid.eq(0)\n",
            "        m.d.sync += bus.bvalid.eq(0)\n",
            "B is stable while stalled",
        ),
        (
            registers,
            "write.eq(has_address & has_data & (bus.bready | ~bus.bvalid))",
            "write.eq(has_address & (bus.bready | ~bus.bvalid))",
            "B answers each request once, in time",
        ),
        (
            registers,
            "read.eq(has_read & (bus.rready | ~bus.rvalid))",
            "read.eq(has_read)",
            "a request waits for the previous one",
        ),
        (
            registers,
            "        with m.If(bus.rready):\n            m.d.sync += bus.rvalid.eq(0)\n",
            "        m.d.sync += bus.rvalid.eq(0)\n",
            "R is stable while stalled",
        ),
        (
            registers,
            "mask = Cat(strobe.replicate(8) for strobe in strobes)",
            "mask = Const(-1, 32)",
            "has the value that the accesses give it",
        ),
        (
            registers,
            "value.eq((value & ~(bits & chosen)) | raised)",
            "value.eq((value | raised) & ~(bits & chosen))",
            "has the value that the accesses give it",
        ),
        (
            registers,
            "                m.d.sync += value.eq(0)\n",
            "                pass\n",
            "a field pulse has the value that the accesses give it",
        ),
        (
            registers,
            "bus.bvalid.eq(1), bus.bresp.eq(Response.SLVERR)]",
            "bus.bvalid.eq(1), bus.bresp.eq(Response.OKAY)]",
            "a write of an address without a word gets SLVERR, and no other",
        ),
        (
            registers,
            "bus.rdata.eq(0), bus.rresp.eq(Response.SLVERR)]",
            "bus.rresp.eq(Response.SLVERR)]",
            "a read gives the fields of its word",
        ),
        (
            registers,
            "(getattr(self, pending) & getattr(self, enable)).any()",
            "getattr(self, pending).any()",
            "the interrupt is the enabled events",
        ),
    ],
)
def test_planted_error_found(contract, old, new, failing, tmp_path):
    """A rule of the ports finds it, without the assertions about the unit's state."""
    result = prove(contract(planted(module, old, new), state=False), trace_dir=tmp_path)
    assert result.status == "counterexample", result
    assert any(failing in message for message in messages(result.failing)), result
    assert result.trace.stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize(
    ("contract", "old", "new", "unreached"),
    [
        # Nothing that is said about bursts is wrong then: only a memory that is ready late shows it.
        (
            reader,
            "go.eq(issue & ~burst.empty)",
            "go.eq(issue & ~burst.empty & bus.arready)",
            {"AR is offered although it was never ready"},
        ),
        (
            writer,
            "there.eq(words.o.valid & transfers.o.valid)",
            "there.eq(words.o.valid & transfers.o.valid & ~bus.awvalid)",
            {"AW and W are offered although neither was ready", "a burst ends while its address is stalled"},
        ),
        (
            writer,
            "there.eq(words.o.valid & transfers.o.valid)",
            "there.eq(words.o.valid & transfers.o.valid & (bus.wvalid | bus.wready))",
            {"AW and W are offered although neither was ready"},
        ),
    ],
)
def test_channel_that_waits_is_found(contract, old, new, unreached):
    result = prove(contract(planted(module, old, new)), timeout_s=1200)
    assert result.status == "unknown" and unreached <= messages(result.unreached), result
