"""AXI4 and AXI4-Lite: signatures, a reader and a writer of memory, and a file of registers.

Names and rules follow the AMBA AXI protocol specification (issue E and later). All bursts are of type INCR, with beats as
wide as the bus. A burst never crosses a boundary of 4 KiB. Every transaction of a block has the same identifier, so
answers come in the order of the addresses. No path leads within a cycle from an input of a bus to an output of this bus.

Reset withdraws transactions that are under way. The bus on the other side has to be reset with the block.
"""

import dataclasses
import enum
import operator
from typing import Any

from amaranth import *
from amaranth.hdl import Assert
from amaranth.hdl._ir import PortDirection
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .probe import QueueProbe
from .stream import StreamFIFO, StreamRegister

__all__ = [
    "ACCESSES",
    "PAGE_BYTES",
    "Axi4Signature",
    "AxiLiteRegisters",
    "AxiLiteSignature",
    "AxiMemoryPort",
    "AxiReader",
    "AxiWriter",
    "BurstSplitter",
    "Field",
    "Response",
    "bus_ports",
    "register_rows",
    "register_table",
    "request_layout",
]

#: Bytes of the address range that no burst leaves.
PAGE_BYTES = 4096

#: Most beats of a burst of type INCR.
LONGEST_BURST = 256

#: Places of the lists of bursts beyond the outstanding ones: a burst stays there while its last words go through buffers.
_MORE_BURSTS = 4

_INCR = 1
_MODIFIABLE_BUFFERABLE = 0b0011


class Response(enum.IntEnum):
    """Answers of ``bresp`` and ``rresp``. Bit 1 tells an error."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


class Axi4Signature(wiring.Signature):
    """AXI4, seen from the manager. Members have the lower-case names of the specification, ``araddr`` and so on.

    Parameters
    ----------
    address_bits : :class:`int`
        Width of addresses, which count bytes: 12 to 64.
    data_bits : :class:`int`
        Width of the data: a power of two from 8 to 1024.
    id_bits : :class:`int`
        Width of identifiers, 0 to 32. With 0, the bus has none.
    read, write : :class:`bool`
        Whether the bus has channels AR and R, and channels AW, W and B.

    Raises
    ------
    :exc:`TypeError`, :exc:`ValueError`
        If a number is not an integer, or out of range.
    """

    def __init__(self, *, address_bits=64, data_bits=512, id_bits=1, read=True, write=True):
        self.address_bits = _integer("Address width", address_bits, 12, 64)
        self.data_bits = _data_bits(data_bits)
        self.id_bits = _integer("Identifier width", id_bits, 0, 32)
        if not read and not write:
            raise ValueError("Bus must be read or written")

        def address(a):
            return {
                f"{a}id": Out(self.id_bits),
                f"{a}addr": Out(self.address_bits),
                f"{a}len": Out(8),
                f"{a}size": Out(3),
                f"{a}burst": Out(2),
                f"{a}lock": Out(1),
                f"{a}cache": Out(4),
                f"{a}prot": Out(3),
                f"{a}qos": Out(4),
                f"{a}valid": Out(1),
                f"{a}ready": In(1),
            }

        members: Any = {}
        if write:
            members |= address("aw") | {
                "wdata": Out(self.data_bits),
                "wstrb": Out(self.data_bits // 8),
                "wlast": Out(1),
                "wvalid": Out(1),
                "wready": In(1),
                "bid": In(self.id_bits),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
            }
        if read:
            members |= address("ar") | {
                "rid": In(self.id_bits),
                "rdata": In(self.data_bits),
                "rresp": In(2),
                "rlast": In(1),
                "rvalid": In(1),
                "rready": Out(1),
            }
        if not self.id_bits:
            members = {name: member for name, member in members.items() if name not in ("awid", "bid", "arid", "rid")}
        super().__init__(members)


class AxiLiteSignature(wiring.Signature):
    """AXI4-Lite, seen from the manager. Members have the lower-case names of the specification.

    Parameters
    ----------
    address_bits : :class:`int`
        Width of addresses, which count bytes: 2 to 64.
    data_bits : :class:`int`
        Width of the data: 32 or 64.

    Raises
    ------
    :exc:`TypeError`, :exc:`ValueError`
        If a number is not an integer, or out of range.
    """

    def __init__(self, *, address_bits=12, data_bits=32):
        self.address_bits = _integer("Address width", address_bits, 2, 64)
        self.data_bits = _integer("Data width", data_bits, 32, 64)
        if data_bits not in (32, 64):
            raise ValueError(f"Data width must be 32 or 64, not {data_bits!r}")
        super().__init__(
            {
                "awaddr": Out(self.address_bits),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(self.data_bits),
                "wstrb": Out(self.data_bits // 8),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(self.address_bits),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(self.data_bits),
                "rresp": In(2),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


def bus_ports(component):
    """Ports of a component for ``amaranth.back.verilog.convert(component, ports=...)``, as Vivado expects their names.

    A single ``_`` joins the parts of a name: member ``araddr`` of ``m_axi`` becomes ``m_axi_araddr``. Vivado then finds
    the bus ``m_axi``. Streams become ``request_payload``, ``request_valid`` and ``request_ready``.

    Returns
    -------
    :class:`dict`
        Name to signal and direction.

    Raises
    ------
    :exc:`ValueError`
        If two ports get one name.
    """
    ports: dict = {}
    for path, member, value in component.signature.flatten(component):
        name = "_".join(map(str, path))
        if name in ports:
            raise ValueError(f"Two ports have the name {name!r}")
        ports[name] = (Value.cast(value), PortDirection.Input if member.flow is In else PortDirection.Output)
    return ports


def request_layout(address_bits, length_bits):
    """A request: ``address`` of its first byte, and its number of ``bytes``."""
    return data.StructLayout({"address": address_bits, "bytes": length_bits})


def _burst_layout(address_bits, word_bytes):
    """A burst: ``address`` of its first word, and ``len``, its beats less one. Bytes from ``start`` in the first word up to
    ``stop`` in the last word belong to the request. ``last`` marks the last burst of a request. A burst that is ``empty``
    stands for a request without bytes, and never comes to the bus."""
    return data.StructLayout(
        {
            "address": address_bits,
            "len": 8,
            "start": range(word_bytes),
            "stop": range(word_bytes),
            "last": 1,
            "empty": 1,
        }
    )


class BurstSplitter(wiring.Component):
    """Splits requests into bursts that stay within 4 KiB and have ``burst`` beats at most.

    Every burst is as long as these bounds and the request allow. The splitter holds one request. It takes the next one in
    the cycle in which the last burst leaves, so ``i.ready`` follows ``o.ready`` within the cycle. The first burst is
    offered one cycle after the request was taken, and each further burst one cycle after the previous one left.

    Addresses are counted modulo 2 to the power of ``address_bits``.

    Parameters
    ----------
    address_bits, length_bits : :class:`int`
        Widths of the address and of the number of bytes.
    word_bytes : :class:`int`
        Bytes of a beat, a power of two.
    burst : :class:`int`
        Most beats of a burst.

    Members
    -------
    i : :py:`In(stream.Signature(request_layout(address_bits, length_bits)))`
        Requests.
    o : :py:`Out(stream.Signature(...))`
        Bursts: ``address`` (of a whole word), ``len`` (beats less one), ``start``, ``stop``, ``last``, ``empty``.
    """

    def __init__(self, address_bits, length_bits, word_bytes, burst):
        self.address_bits = address_bits
        self.length_bits = length_bits
        self.word_bytes = word_bytes
        self.burst = burst
        shift = exact_log2(word_bytes)
        self.held = Signal()
        self.word = Signal(address_bits - shift)
        self.left = Signal(max(length_bits, shift) + 2 - shift)  # words from `word` on; 0 for a request without bytes
        self.start = Signal(shift)
        self.stop = Signal(shift)
        super().__init__(
            {
                "i": In(stream.Signature(request_layout(address_bits, length_bits))),
                "o": Out(stream.Signature(_burst_layout(address_bits, word_bytes))),
            }
        )

    def elaborate(self, platform):
        m = Module()

        shift = exact_log2(self.word_bytes)
        page_words = PAGE_BYTES // self.word_bytes
        request = self.i.payload
        offset = request.address[:shift]
        beats = (offset + request.bytes + (self.word_bytes - 1)) >> shift

        held, word, left, start, stop = self.held, self.word, self.left, self.start, self.stop

        # Both bounds are constants or a few low bits of the address, so the comparison with `left` is the long path.
        to_page = Signal(range(page_words + 1))
        bound = Signal(range(max(self.burst, page_words) + 1))
        count = Signal(range(self.burst + 1))
        final = Signal()
        m.d.comb += [
            to_page.eq(page_words - word[: exact_log2(page_words)]),
            bound.eq(Mux(to_page < self.burst, to_page, self.burst)),
            final.eq(left <= bound),
            count.eq(Mux(final, left, bound)),
            self.o.valid.eq(held),
            self.o.p.address.eq(word << shift),
            self.o.p.len.eq(count - 1),
            self.o.p.start.eq(start),
            self.o.p.stop.eq(Mux(final, stop, self.word_bytes - 1)),
            self.o.p.last.eq(final),
            self.o.p.empty.eq(left == 0),
            self.i.ready.eq(~held | (self.o.ready & final)),
        ]

        with m.If(self.i.ready):
            m.d.sync += [
                held.eq(self.i.valid),
                word.eq(request.address >> shift),
                left.eq(Mux(request.bytes == 0, 0, beats)),
                start.eq(offset),
                stop.eq((request.address + request.bytes - 1)[:shift]),
            ]
        with m.Elif(self.o.ready):
            m.d.sync += [word.eq(word + bound), left.eq(left - bound), start.eq(0)]

        return m


class _Port(wiring.Component):
    """What a reader and a writer have in common: parameters, and the channel of addresses."""

    def __init__(
        self, members, *, address_bits, data_bits, id_bits, identifier, length_bits, burst, outstanding, depth, read
    ):
        signature = Axi4Signature(
            address_bits=address_bits, data_bits=data_bits, id_bits=id_bits, read=read, write=not read
        )
        self.address_bits = signature.address_bits
        self.data_bits = signature.data_bits
        self.id_bits = signature.id_bits
        self.word_bytes = self.data_bits // 8
        self.length_bits = _integer("Width of the number of bytes", length_bits, 1, 64)
        page_words = PAGE_BYTES // self.word_bytes
        self.burst = _integer("Burst", min(page_words, 64) if burst is None else burst, 1, LONGEST_BURST)
        self.outstanding = _integer("Outstanding bursts", outstanding, 1, 256)
        self.depth = _integer("Depth", 4 * self.burst if depth is None else depth, 1, 1 << 16)
        if self.depth < self.burst:
            raise ValueError(f"Depth must be at least a burst of {self.burst}, not {self.depth!r}")
        self.identifier = _integer("Identifier", identifier, 0, (1 << self.id_bits) - 1)
        super().__init__(
            {
                "request": In(stream.Signature(request_layout(self.address_bits, self.length_bits))),
                "m_axi": Out(signature),
            }
            | members(self.data_bits)
        )

    def _elaborate_addresses(self, m, a, go, burst):
        """Drive the channel of addresses: take ``burst`` in the cycle of ``go``. Returns whether the channel is free."""
        bus = self.m_axi
        valid, ready = getattr(bus, f"{a}valid"), getattr(bus, f"{a}ready")
        m.d.comb += [
            getattr(bus, f"{a}size").eq(exact_log2(self.word_bytes)),
            getattr(bus, f"{a}burst").eq(_INCR),
            getattr(bus, f"{a}cache").eq(_MODIFIABLE_BUFFERABLE),
        ]
        if self.id_bits:
            m.d.comb += getattr(bus, f"{a}id").eq(self.identifier)
        with m.If(go):
            m.d.sync += [valid.eq(1), getattr(bus, f"{a}addr").eq(burst.address), getattr(bus, f"{a}len").eq(burst.len)]
        with m.Elif(ready):
            m.d.sync += valid.eq(0)
        return ready | ~valid


class AxiReader(_Port):
    """Reads memory: requests in, words out, in the order of the requests.

    A request names its first byte and its number of bytes, both arbitrary. The reader fetches the words of the bus that
    contain these bytes, and gives each word as it was on the bus. ``keep`` marks the bytes that belong to the request.
    Bytes are not shifted. A request without bytes gives one item that keeps no byte, and does not come to the bus.

    A burst is issued when the buffer has room for all its words. Until its last word has come, this room is reserved for
    the burst. Therefore ``rready`` is 1 whenever a word can come, and a consumer that stalls never stalls the bus (proved).

    Timing: ``arvalid`` rises two cycles after a request was taken. A request of one burst takes one cycle. Words leave at
    one per cycle. The buffer offers a word three cycles after it came (fewer if ``depth`` is below 4). To read at full
    rate, ``depth`` must cover the words that the bus could move in the memory's latency.

    Parameters
    ----------
    address_bits, data_bits, id_bits : :class:`int`
        Widths of the bus (:class:`Axi4Signature`).
    identifier : :class:`int`
        Identifier of all transactions.
    length_bits : :class:`int`
        Width of the number of bytes of a request.
    burst : :class:`int`
        Most beats of a burst, 1 to 256. By default 64, or 4 KiB if that is less.
    outstanding : :class:`int`
        Most bursts that are issued and whose last word has not come.
    depth : :class:`int`
        Words of the buffer, at least ``burst``; by default four bursts.

    Members
    -------
    request : :py:`In(stream.Signature(request_layout(address_bits, length_bits)))`
        Requests. Ready follows ``arready`` within the cycle.
    data : :py:`Out(stream.Signature(...))`
        Words: ``data``, ``keep`` (one bit for each byte), ``last`` (last word of a request) and ``error``. With ``error``,
        the memory answered SLVERR or DECERR for this word, and its data means nothing.
    m_axi : :py:`Out(Axi4Signature(..., write=False))`
        The bus.

    Raises
    ------
    :exc:`TypeError`, :exc:`ValueError`
        If a number is not an integer, or out of range.
    """

    def __init__(
        self,
        *,
        address_bits=64,
        data_bits=512,
        id_bits=1,
        identifier=0,
        length_bits=32,
        burst=None,
        outstanding=8,
        depth=None,
    ):
        super().__init__(
            lambda bits: {
                "data": Out(
                    stream.Signature(data.StructLayout({"data": bits, "keep": bits // 8, "last": 1, "error": 1}))
                )
            },
            address_bits=address_bits,
            data_bits=data_bits,
            id_bits=id_bits,
            identifier=identifier,
            length_bits=length_bits,
            burst=burst,
            outstanding=outstanding,
            depth=depth,
            read=True,
        )
        self.under_way = Signal(range(self.outstanding + 1))  # bursts issued whose last word has not come
        self.reserved = Signal(range(self.depth + 1))  # words in the buffer, and words that will come
        self.taken = Signal()  # a word leaves the buffer
        self.probe = QueueProbe(self.data_bits + 1, self.depth)

    def elaborate(self, platform):
        m = Module()
        bus = self.m_axi

        m.submodules.splitter = splitter = BurstSplitter(
            self.address_bits, self.length_bits, self.word_bytes, self.burst
        )
        m.submodules.words = words = StreamFIFO(
            data.StructLayout({"data": self.data_bits, "error": 1, "last": 1}), self.depth
        )
        m.submodules.bursts = bursts = StreamFIFO(
            data.StructLayout({"start": range(self.word_bytes), "stop": range(self.word_bytes), "last": 1, "empty": 1}),
            self.outstanding + _MORE_BURSTS,
        )
        wiring.connect(m, wiring.flipped(self.request), splitter.i)

        burst = splitter.o.payload
        issue = Signal()
        go = Signal()
        ended = Signal()
        taken = self.taken
        room = Signal()
        free = self._elaborate_addresses(m, "ar", go, burst)
        m.d.comb += [
            room.eq((self.under_way != self.outstanding) & (self.reserved + burst.len + 1 <= self.depth)),
            issue.eq(splitter.o.valid & free & bursts.i.ready & (burst.empty | room)),
            go.eq(issue & ~burst.empty),
            splitter.o.ready.eq(free & bursts.i.ready & (burst.empty | room)),
            bursts.i.valid.eq(issue),
            [bursts.i.payload[name].eq(burst[name]) for name in ("start", "stop", "last", "empty")],
            words.i.valid.eq(bus.rvalid),
            words.i.p.data.eq(bus.rdata),
            words.i.p.error.eq(bus.rresp[1]),
            words.i.p.last.eq(bus.rlast),
            bus.rready.eq(words.i.ready),
            ended.eq(bus.rvalid & bus.rready & bus.rlast),
            taken.eq(words.o.valid & words.o.ready),
        ]
        m.d.sync += [
            self.under_way.eq(self.under_way + go - ended),
            self.reserved.eq(self.reserved + Mux(go, burst.len + 1, 0) - taken),
        ]

        # A word and its burst meet at the end of the buffer.
        front = bursts.o.payload
        word = words.o.payload
        first = Signal(init=1)
        m.d.comb += [
            self.data.valid.eq(bursts.o.valid & (front.empty | words.o.valid)),
            self.data.p.data.eq(Mux(front.empty, 0, word.data)),  # a word may come while an item without one is stalled
            self.data.p.keep.eq(
                _kept(self.word_bytes, front, first, word.last) & ~front.empty.replicate(self.word_bytes)
            ),
            self.data.p.last.eq(front.last & (front.empty | word.last)),
            self.data.p.error.eq(word.error & ~front.empty),
            words.o.ready.eq(self.data.ready & bursts.o.valid & ~front.empty),
            bursts.o.ready.eq(self.data.ready & (front.empty | (words.o.valid & word.last))),
        ]
        with m.If(taken):
            m.d.sync += first.eq(word.last)

        if platform == "formal":
            m.d.comb += [
                Assert(self.under_way <= self.outstanding, "AxiReader: the outstanding bursts are bounded"),
                Assert(self.reserved <= self.depth, "AxiReader: no more than the buffer is reserved"),
                self.probe.level.eq(words.level),
                words.probe.index.eq(self.probe.index),
                self.probe.item.eq(Cat(words.probe.item.data, words.probe.item.error)),
            ]

        return m


class AxiWriter(_Port):
    """Writes memory: requests and words in, one status for each request out, in the order of the requests.

    A request names its first byte and its number of bytes, both arbitrary. The producer gives the words of the bus that
    contain these bytes, each byte in its place on the bus. The words of the requests follow one another. The writer sets
    the strobes, so bytes of the first and last word outside the request are not written. A request without bytes has no
    word, does not come to the bus, and gets a status without error.

    A burst is issued when the buffer has all its words. Therefore a producer that stalls never stalls the bus within a
    burst. The address does not wait for the acceptance of a word, nor a word for the acceptance of its address. A word
    is offered after its address was offered.

    Timing: ``awvalid`` rises two cycles after a request was taken, if the words are there. Words leave at one per cycle,
    bursts follow one another without a pause.

    Parameters
    ----------
    address_bits, data_bits, id_bits : :class:`int`
        Widths of the bus (:class:`Axi4Signature`).
    identifier : :class:`int`
        Identifier of all transactions.
    length_bits : :class:`int`
        Width of the number of bytes of a request.
    burst : :class:`int`
        Most beats of a burst, 1 to 256. By default 64, or 4 KiB if that is less.
    outstanding : :class:`int`
        Most bursts that are issued and not answered.
    depth : :class:`int`
        Words of the buffer, at least ``burst``; by default four bursts.

    Members
    -------
    request : :py:`In(stream.Signature(request_layout(address_bits, length_bits)))`
        Requests. Ready follows ``awready`` within the cycle.
    data : :py:`In(stream.Signature(data_bits))`
        Words. The writer also takes words before their request.
    status : :py:`Out(stream.Signature(data.StructLayout({"error": 1})))`
        One item for each request. ``error``: at least one burst was answered by SLVERR or DECERR. Two items are held; then
        the answer of the next request stalls on channel B.
    m_axi : :py:`Out(Axi4Signature(..., read=False))`
        The bus.

    Raises
    ------
    :exc:`TypeError`, :exc:`ValueError`
        If a number is not an integer, or out of range.
    """

    def __init__(
        self,
        *,
        address_bits=64,
        data_bits=512,
        id_bits=1,
        identifier=0,
        length_bits=32,
        burst=None,
        outstanding=8,
        depth=None,
    ):
        super().__init__(
            lambda bits: {
                "data": In(stream.Signature(bits)),
                "status": Out(stream.Signature(data.StructLayout({"error": 1}))),
            },
            address_bits=address_bits,
            data_bits=data_bits,
            id_bits=id_bits,
            identifier=identifier,
            length_bits=length_bits,
            burst=burst,
            outstanding=outstanding,
            depth=depth,
            read=False,
        )
        self.under_way = Signal(range(self.outstanding + 1))  # bursts issued and not answered
        self.ready_words = Signal(range(self.depth + 1))  # words in the buffer that no issued burst has
        self.beat = Signal(8)  # words of the burst in front that left the buffer
        self.probe = QueueProbe(8, self.outstanding)  # lengths of the bursts with words in the buffer

    def elaborate(self, platform):
        m = Module()
        bus = self.m_axi

        m.submodules.splitter = splitter = BurstSplitter(
            self.address_bits, self.length_bits, self.word_bytes, self.burst
        )
        m.submodules.words = words = StreamFIFO(self.data_bits, self.depth)
        m.submodules.transfers = transfers = StreamFIFO(
            data.StructLayout({"len": 8, "start": range(self.word_bytes), "stop": range(self.word_bytes)}),
            self.outstanding,
        )
        m.submodules.answers = answers = StreamFIFO(
            data.StructLayout({"last": 1, "empty": 1}), self.outstanding + _MORE_BURSTS
        )
        m.submodules.statuses = statuses = StreamRegister(data.StructLayout({"error": 1}))
        wiring.connect(m, wiring.flipped(self.request), splitter.i)
        wiring.connect(m, wiring.flipped(self.data), words.i)
        wiring.connect(m, statuses.o, wiring.flipped(self.status))

        burst = splitter.o.payload
        go = Signal()
        ready = Signal()
        free = self._elaborate_addresses(m, "aw", go, burst)
        m.d.comb += [
            ready.eq(
                free
                & answers.i.ready
                & (
                    burst.empty
                    | (transfers.i.ready & (self.under_way != self.outstanding) & (self.ready_words > burst.len))
                )
            ),
            go.eq(splitter.o.valid & ready & ~burst.empty),
            splitter.o.ready.eq(ready),
            transfers.i.valid.eq(go),
            [transfers.i.payload[name].eq(burst[name]) for name in ("len", "start", "stop")],
            answers.i.valid.eq(splitter.o.valid & ready),
            answers.i.p.last.eq(burst.last),
            answers.i.p.empty.eq(burst.empty),
        ]

        # A burst in `transfers` has its words in `words`; both meet in the register of channel W.
        front = transfers.o.payload
        there = Signal()
        load = Signal()
        final = Signal()
        m.d.comb += [
            there.eq(words.o.valid & transfers.o.valid),
            load.eq(bus.wready | ~bus.wvalid),
            final.eq(self.beat == front.len),
            words.o.ready.eq(load & there),
            transfers.o.ready.eq(load & there & final),
        ]
        with m.If(load):
            m.d.sync += [
                bus.wvalid.eq(there),
                bus.wdata.eq(words.o.payload),
                bus.wstrb.eq(_kept(self.word_bytes, front, self.beat == 0, final)),
                bus.wlast.eq(final),
            ]
            with m.If(there):
                m.d.sync += self.beat.eq(Mux(final, 0, self.beat + 1))

        expected = answers.o.payload
        answered = Signal()
        failed = Signal()  # an earlier burst of the request failed
        m.d.comb += [
            bus.bready.eq(answers.o.valid & ~expected.empty & (~expected.last | statuses.i.ready)),
            answered.eq(bus.bvalid & bus.bready),
            statuses.i.valid.eq(answers.o.valid & expected.last & (expected.empty | bus.bvalid)),
            statuses.i.p.error.eq(~expected.empty & (failed | bus.bresp[1])),
            answers.o.ready.eq(Mux(expected.empty, statuses.i.ready, answered)),
        ]
        with m.If(answered):
            m.d.sync += failed.eq(~expected.last & (failed | bus.bresp[1]))

        m.d.sync += [
            self.under_way.eq(self.under_way + go - answered),
            self.ready_words.eq(self.ready_words + (words.i.valid & words.i.ready) - Mux(go, burst.len + 1, 0)),
        ]

        if platform == "formal":
            m.d.comb += [
                Assert(self.under_way <= self.outstanding, "AxiWriter: the outstanding bursts are bounded"),
                Assert(
                    Mux(transfers.o.valid, self.beat <= front.len, self.beat == 0),
                    "AxiWriter: no burst has more words than its length",
                ),
                self.probe.level.eq(transfers.level),
                transfers.probe.index.eq(self.probe.index),
                self.probe.item.eq(transfers.probe.item.len),
            ]
            if self.outstanding == 1:  # the sum over several bursts is beyond the probe, which shows one of them
                promised = Mux(transfers.o.valid, front.len + 1 - self.beat, 0)
                m.d.comb += Assert(
                    words.level == self.ready_words + promised,
                    "AxiWriter: a burst is issued when the buffer has its words",
                )

        return m


class AxiMemoryPort(wiring.Component):
    """A reader and a writer that share one bus: the memory port of an accelerator.

    AXI4 orders reads and writes independently. A read may overtake a write of the same address until the status of the
    write has come.

    Parameters
    ----------
    address_bits, data_bits, id_bits : :class:`int`
        Widths of the bus.
    **parameters
        The other parameters of :class:`AxiReader` and :class:`AxiWriter`, the same for both.

    Members
    -------
    read_request, read_data
        ``request`` and ``data`` of the reader.
    write_request, write_data, write_status
        ``request``, ``data`` and ``status`` of the writer.
    m_axi : :py:`Out(Axi4Signature(...))`
        The bus.
    """

    def __init__(self, *, address_bits=64, data_bits=512, id_bits=1, **parameters):
        widths = {"address_bits": address_bits, "data_bits": data_bits, "id_bits": id_bits}
        self.reader = AxiReader(**widths, **parameters)
        self.writer = AxiWriter(**widths, **parameters)
        self._parts = [
            (part, f"{what}_{name}", name)
            for what, part, names in (
                ("read", self.reader, ("request", "data")),
                ("write", self.writer, ("request", "data", "status")),
            )
            for name in names
        ]
        super().__init__(
            {
                **{outer: part.signature.members[name] for part, outer, name in self._parts},
                "m_axi": Out(Axi4Signature(**widths)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = self.reader
        m.submodules.writer = self.writer
        for part, outer, name in self._parts:
            inner, face = getattr(part, name), wiring.flipped(getattr(self, outer))
            wiring.connect(m, face, inner)
        for part in (self.reader, self.writer):
            for name, member in part.m_axi.signature.members.items():
                inner, face = getattr(part.m_axi, name), getattr(self.m_axi, name)
                m.d.comb += face.eq(inner) if member.flow is Out else inner.eq(face)
        return m


#: Kinds of fields of registers, with what they do. The names of their ports follow from the field's name.
ACCESSES = {
    "rw": "written and read by the bus; the unit sees the value",
    "ro": "read by the bus; the unit gives the value",
    "w1c": "a bit that the unit sets stays 1 until the bus writes a 1 to it; setting wins",
    "pulse": "a bit to which the bus writes a 1 is 1 for one cycle; the bus reads 0",
}

_WORD_BITS = 32
_WORD_BYTES = _WORD_BITS // 8


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of registers of AXI4-Lite.

    Parameters
    ----------
    name : :class:`str`
        Name of the field and of its port.
    offset : :class:`int`
        Byte address of its word, a multiple of 4.
    bits : :class:`int`
        Width. A field of more than 32 bits goes on in the next words, low word first. The bus writes each word alone.
    access : :class:`str`
        Kind, one of :data:`ACCESSES`.
    low : :class:`int`
        Lowest bit of the field in its word; 0 for a field of more than 32 bits.
    reset : :class:`int`
        Value after reset; 0 except for ``rw``.
    description : :class:`str`
        Text for the documentation.

    Raises
    ------
    :exc:`TypeError`, :exc:`ValueError`
        If a value is not possible.
    """

    name: str
    offset: int
    bits: int
    access: str
    low: int = 0
    reset: int = 0
    description: str = ""

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.isidentifier() or self.name.startswith("_"):
            raise ValueError(f"Field must have a name of letters, digits and _, not {self.name!r}")
        if self.access not in ACCESSES:
            raise ValueError(f"Access of {self.name} must be one of {', '.join(ACCESSES)}, not {self.access!r}")
        _integer(f"Offset of {self.name}", self.offset, 0, (1 << 32) - _WORD_BYTES)
        _integer(f"Width of {self.name}", self.bits, 1, 1024)
        _integer(f"Low bit of {self.name}", self.low, 0, max(0, _WORD_BITS - self.bits))
        _integer(f"Reset value of {self.name}", self.reset, 0, (1 << self.bits) - 1 if self.access == "rw" else 0)
        if self.offset % _WORD_BYTES:
            raise ValueError(f"Offset of {self.name} must be a multiple of {_WORD_BYTES}, not {self.offset!r}")

    def pieces(self):
        """Parts of the field by word: offset of the word, lowest bit there, lowest bit in the field, and width."""
        for number, low in enumerate(range(0, self.bits, _WORD_BITS)):
            yield self.offset + number * _WORD_BYTES, self.low, low, min(_WORD_BITS, self.bits - low)


def register_rows(fields):
    """Rows of a table that documents registers: offset, bits, field, access, value after reset, description.

    Rows are sorted by offset and bit. A field of several words has a row for each word.
    """
    rows = []
    for field in fields:
        for offset, low, piece, width in field.pieces():
            high = low + width - 1
            part = f"[{piece + width - 1}:{piece}]" if field.bits > _WORD_BITS else ""
            rows.append(
                (
                    (offset, low),
                    (
                        f"0x{offset:02X}",
                        f"{high}:{low}" if width > 1 else f"{low}",
                        f"{field.name}{part}",
                        field.access,
                        f"0x{field.reset >> piece & (1 << width) - 1:X}",
                        field.description,
                    ),
                )
            )
    return [row for _, row in sorted(rows)]


def register_table(fields):
    """The rows of :func:`register_rows` as lines of a table in Markdown."""
    head = ("offset", "bits", "field", "access", "reset", "meaning")
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *register_rows(fields))]


class AxiLiteRegisters(wiring.Component):
    """Registers on AXI4-Lite, described by a table of fields.

    A word exists if a field has bits in it. Other bits of the word read as 0, and writes to them have no effect. A write to
    a field ``ro`` has no effect either. An address that is not a multiple of 4, or has no word, is answered by SLVERR. Then
    nothing is written, and the data of a read is 0. Strobes choose the bytes of a write.

    Timing: address and data of a write are taken in either order. The fields have the new value two cycles after the later
    one was taken, and ``bvalid`` rises in the same cycle. ``rvalid`` rises two cycles after the address of a read was
    taken. One transaction of each kind can wait behind an answer that is stalled.

    Parameters
    ----------
    fields : sequence of :class:`Field`
        The fields. Their bits must not overlap.
    address_bits : :class:`int`
        Width of addresses. It must suffice for the highest word.
    interrupts : mapping of :class:`str` to :class:`str`
        Name of a field ``w1c`` with pending events, to the name of a field ``rw`` of the same width that enables them.

    Members
    -------
    s_axi : :py:`In(AxiLiteSignature(address_bits=address_bits))`
        The bus.
    NAME : :py:`Out(bits)`, or :py:`In(bits)` for a field ``ro``
        The value of a field.
    NAME_set : :py:`In(bits)`
        The bits of a field ``w1c`` that become 1.
    irq : :py:`Out(1)`
        Present with ``interrupts``. It is 1 one cycle after an event is pending and enabled, as long as this holds.

    Raises
    ------
    :exc:`TypeError`, :exc:`ValueError`
        If the fields overlap, two ports have one name, a word lies beyond the addresses, or an interrupt has no fields.
    """

    def __init__(self, fields, *, address_bits=12, interrupts=None):
        self.fields = tuple(fields)
        self.interrupts = dict(interrupts or {})
        signature = AxiLiteSignature(address_bits=address_bits)
        self.address_bits = signature.address_bits
        members: dict = {"s_axi": In(signature)}
        if self.interrupts:
            members["irq"] = Out(1)
        used: dict[tuple[int, int], str] = {}
        for field in self.fields:
            if not isinstance(field, Field):
                raise TypeError(f"Fields must be of class Field, not {field!r}")
            ports: dict = {field.name: In(field.bits) if field.access == "ro" else Out(field.bits, init=field.reset)}
            if field.access == "w1c":
                ports[f"{field.name}_set"] = In(field.bits)
            for name, member in ports.items():
                if name in members:
                    raise ValueError(f"Two ports have the name {name!r}")
                members[name] = member
            for offset, low, _, width in field.pieces():
                if offset >= 1 << self.address_bits:
                    raise ValueError(
                        f"Offset 0x{offset:X} of {field.name} needs more than {self.address_bits} address bits"
                    )
                for bit in range(low, low + width):
                    other = used.setdefault((offset, bit), field.name)
                    if other != field.name:
                        raise ValueError(f"Fields {other} and {field.name} overlap in bit {bit} at 0x{offset:X}")
        if not self.fields:
            raise ValueError("Registers must have a field")
        kinds = {field.name: (field.access, field.bits) for field in self.fields}
        for pending, enable in self.interrupts.items():
            access, bits = kinds.get(pending, (None, 0))
            if access != "w1c":
                raise ValueError(f"Pending events must be a field w1c, not {pending!r}")
            if kinds.get(enable) != ("rw", bits):
                raise ValueError(f"Enable of {pending} must be a field rw of {bits} bits, not {enable!r}")
        super().__init__(members)
        # What waits: the address and the data of a write, and the address of a read.
        bus = self.s_axi
        self.write_address, self.write_data, self.write_strobes, self.read_address = (
            Signal.like(port) for port in (bus.awaddr, bus.wdata, bus.wstrb, bus.araddr)
        )

    def elaborate(self, platform):
        m = Module()
        bus = self.s_axi

        words: dict[int, list] = {}
        for field in self.fields:
            for offset, low, piece, width in field.pieces():
                words.setdefault(offset, []).append((field, low, piece, width))

        # Addresses and data wait in registers of their own, so that no output of the bus depends on an input.
        address, write_data, strobes = self.write_address, self.write_data, self.write_strobes
        has_address, has_data = Signal(), Signal()
        write = Signal()
        m.d.comb += [
            bus.awready.eq(~has_address),
            bus.wready.eq(~has_data),
            write.eq(has_address & has_data & (bus.bready | ~bus.bvalid)),
        ]
        with m.If(bus.awready):
            m.d.sync += [has_address.eq(bus.awvalid), address.eq(bus.awaddr)]
        with m.If(bus.wready):
            m.d.sync += [has_data.eq(bus.wvalid), write_data.eq(bus.wdata), strobes.eq(bus.wstrb)]
        with m.If(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        for field in self.fields:
            value = getattr(self, field.name)
            if field.access == "pulse":
                m.d.sync += value.eq(0)
            elif field.access == "w1c":
                m.d.sync += value.eq(value | getattr(self, f"{field.name}_set"))
        mask = Cat(strobe.replicate(8) for strobe in strobes)
        with m.If(write):
            m.d.sync += [has_address.eq(0), has_data.eq(0), bus.bvalid.eq(1), bus.bresp.eq(Response.SLVERR)]
            with m.Switch(address):
                for offset, parts in words.items():
                    with m.Case(offset):
                        m.d.sync += bus.bresp.eq(Response.OKAY)
                        for field, low, piece, width in parts:
                            chosen, bits = mask[low : low + width], write_data[low : low + width]
                            if field.access == "ro":
                                continue
                            value = getattr(self, field.name)[piece : piece + width]
                            if field.access == "rw":
                                m.d.sync += value.eq((value & ~chosen) | (bits & chosen))
                            elif field.access == "pulse":
                                m.d.sync += value.eq(bits & chosen)
                            else:
                                raised = getattr(self, f"{field.name}_set")[piece : piece + width]
                                m.d.sync += value.eq((value & ~(bits & chosen)) | raised)

        read_address, has_read, read = self.read_address, Signal(), Signal()
        m.d.comb += [bus.arready.eq(~has_read), read.eq(has_read & (bus.rready | ~bus.rvalid))]
        with m.If(bus.arready):
            m.d.sync += [has_read.eq(bus.arvalid), read_address.eq(bus.araddr)]
        with m.If(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.If(read):
            m.d.sync += [has_read.eq(0), bus.rvalid.eq(1), bus.rdata.eq(0), bus.rresp.eq(Response.SLVERR)]
            with m.Switch(read_address):
                for offset, parts in words.items():
                    with m.Case(offset):
                        m.d.sync += bus.rresp.eq(Response.OKAY)
                        for field, low, piece, width in parts:
                            if field.access != "pulse":
                                m.d.sync += bus.rdata[low : low + width].eq(
                                    getattr(self, field.name)[piece : piece + width]
                                )

        if self.interrupts:
            m.d.sync += self.irq.eq(
                Cat(
                    (getattr(self, pending) & getattr(self, enable)).any()
                    for pending, enable in self.interrupts.items()
                ).any()
            )

        return m


def _kept(word_bytes, burst, first, last):
    """One bit for each byte of a word: whether it belongs to the request, in the ``first`` and ``last`` word of a burst."""
    start, stop = Mux(first, burst.start, 0), Mux(last, burst.stop, word_bytes - 1)
    return Cat(
        (start <= byte if byte < word_bytes - 1 else Const(1)) & (stop >= byte if byte else Const(1))
        for byte in range(word_bytes)
    )


def _data_bits(bits):
    bits = _integer("Data width", bits, 8, 1024)
    if bits & bits - 1:
        raise ValueError(f"Data width must be a power of two, not {bits!r}")
    return bits


def _integer(name, value, least, most):
    try:
        if isinstance(value, bool):
            raise TypeError
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most}, not {value!r}")
    return value
