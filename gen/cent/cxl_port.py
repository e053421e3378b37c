# amaranth: UnusedElaboratable=no
"""The CXL port of a device of CENT."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, enum, wiring

from ...constraints.cent.cxl_link import SLOT_BYTES, Region
from ...constraints.cent.cxl_port import CentCxlPortConfig, PortOp
from ..blocks.broadcast import link
from ..blocks.merge import StreamMerge
from ..blocks.ports import members, payload
from ..blocks.stream import StreamFIFO, StreamRegister
from .cxl_link import CxlLink

__all__ = ["CentCxlPort"]


class Reader(enum.Enum, shape=1):
    """Who has asked for a slot."""

    SEND = 0
    ANSWER = 1


class CentCxlPort(wiring.Component):
    """Sends vectors of the shared buffer to other devices, receives theirs, and serves reads and writes of the host.

    Commands are executed in order. SEND_CXL and BCAST_CXL read slots, pack up to ``slots_per_message`` of them into a
    message (RWD), and do not wait for its delivery. A command takes a tag. When all receivers have acknowledged all its
    messages (NDR), ``acknowledged`` gives the tag, in the order of the commands. RECV_CXL waits until a whole transfer
    of any device is in the shared buffer. Each transfer serves one RECV_CXL.

    Received requests wait in queue H2L (of the host) or R2L (of devices), and are served in turn. A write
    of the shared buffer is acknowledged when its last slot is written. A read of two slots is answered with DRS. Accesses
    to other regions go to ``memory``.

    What the port sends has four queues: data and acknowledgements to the host (L2H), writes and acknowledgements to
    devices (L2R). Acknowledgements have queues of their own, so that two ports whose writes are stuck still acknowledge
    each other's. A slot is read only when its message has a place.

    Timing: one slot per cycle to and from the shared buffer.

    The functional model is ``bankside.models.cent.cxl.FabricModel``.

    Source: CENT sections 4.2 and 4.3, Tables 2 and 3.

    Parameters
    ----------
    config : :class:`CentCxlPortConfig`

    Members
    -------
    command : ``In(stream.Signature(payload(config.command_layout)))``
    slot_read, slot_data, slot_write : ``Out``, ``In`` and ``Out(stream.Signature(...))``, the shared buffer
    memory, memory_data : ``Out`` and ``In(stream.Signature(...))``, the PIM controllers
    received : ``Out(stream.Signature(1))``
    acknowledged : ``Out(stream.Signature(tag_bits))``
    rx, tx : ``In`` and ``Out(stream.Signature(8 * beat_bytes))``
    identity : ``In(node_bits)``

    Attributes
    ----------
    sending : ``Signal()``
        A SEND_CXL or BCAST_CXL has slots that are not read yet. A device that contains the port waits for it.
    """

    def __init__(self, config):
        if not isinstance(config, CentCxlPortConfig):
            raise TypeError(f"Configuration must be a CentCxlPortConfig, not {config!r}")
        self._config = config
        self.sending = Signal()
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in clocks, of the link."""
        return CxlLink(self._config.link).latency

    def elaborate(self, platform):
        m = Module()
        config = self._config
        header = payload(config.link.header_layout)
        m.submodules.link = end = CxlLink(config.link)
        link(m, self.rx, end.rx)
        link(m, end.tx, self.tx)

        ticket = data.StructLayout({"reader": Reader, "second": 1, "final": 1, "header": header})
        m.submodules.asks = asks = StreamRegister(config.slot_bits)
        m.submodules.asked = asked = StreamFIFO(ticket, config.reads_in_flight)
        link(m, asks.o, self.slot_read)

        wanted, begun = self._commands(m, platform, end)
        answer = self._requests(m, platform, end)
        awaited = self._slots(m, platform, end, asks, asked, wanted, answer)
        m.d.comb += self.sending.eq(begun | awaited)
        return m

    # ---- Commands ----------------------------------------------------------------------------------------------------

    def _commands(self, m, platform, end):
        """Execute commands. Returns the slots that SEND_CXL and BCAST_CXL want, and whether more follow."""
        config = self._config
        devices, tags = config.link.devices, config.tags
        header = payload(config.link.header_layout)
        m.submodules.commands = commands = StreamRegister(payload(config.command_layout))
        link(m, self.command, commands.i)
        command = commands.o.p

        # Devices that receive: the one that is named, or those behind this one. The number does not wrap.
        sends, broadcasts, receives = (command.op == op for op in (PortOp.SEND_CXL, PortOp.BCAST_CXL, PortOp.RECV_CXL))
        targets = Signal(config.link.nodes)
        for n in range(devices):
            behind = (self.identity < n) & (self.identity + command.device >= n) if n else Const(0)
            m.d.comb += targets[n + 1].eq(Mux(broadcasts, behind, command.device == n))

        # Tags are given and end in order.
        used, oldest, newest = Signal(range(tags + 1)), Signal(range(max(2, tags))), Signal(range(max(2, tags)))
        most = devices * config.slots
        awaited = [Signal(range(most + 1), name=f"awaited_{n}") for n in range(tags)]
        start, ends = Signal(), Signal()
        busy = Signal()
        count = Signal.like(command.opsize)  # slots that are left
        slot, address = Signal(config.slot_bits), Signal(config.slot_bits)
        second, mask, tag = Signal(), Signal(config.link.nodes), Signal(range(max(2, tags)))
        m.d.comb += [
            start.eq(commands.o.valid & (sends | broadcasts) & ~busy & (used != tags)),
            commands.o.ready.eq(Mux(sends | broadcasts, start, ~receives | self.received.valid & self.received.ready)),
        ]

        # A message at a time: its slots, one per clock, once it has a place in the queue.
        wanted = _Wanted(config, header)
        places = Signal(range(config.send_depth + 1), init=config.send_depth)
        pair = (count > 1) & (config.slots_per_message > 1)
        half = Signal()
        final, moves = Signal(), Signal()
        m.d.comb += [
            half.eq(~second & ~pair),
            final.eq(second | half),
            wanted.valid.eq(busy & (second | (places != 0))),
            wanted.slot.eq(slot),
            wanted.second.eq(second),
            wanted.final.eq(final),
            wanted.header.half.eq(half),
            wanted.header.last.eq(count == 1),
            wanted.header.source.eq(self.identity + 1),
            wanted.header.targets.eq(mask),
            wanted.header.tag.eq(tag),
            wanted.header.region.eq(Region.SHARED_BUFFER),
            wanted.header.address.eq(address),
            moves.eq(wanted.valid & wanted.ready),
        ]
        with m.If(moves):
            m.d.sync += [slot.eq(slot + 1), count.eq(count - 1), second.eq(~final), busy.eq(count != 1)]
            with m.If(final):
                m.d.sync += address.eq(address + 1 + second)
        with m.If(start):
            m.d.sync += [
                count.eq(command.opsize),
                slot.eq(command.gpr),
                address.eq(command.gpr1),
                second.eq(0),
                mask.eq(targets),
                tag.eq(newest),
                busy.eq(targets.any() & (command.opsize != 0)),
                newest.eq(Mux(newest == tags - 1, 0, newest + 1)),
            ]
        left = Signal()
        m.d.comb += left.eq(end.send_rwd.valid & end.send_rwd.ready)
        m.d.sync += places.eq(places - (moves & ~second) + left)

        # Acknowledgements that are awaited. They are counted a clock after a message is begun, or an acknowledgement came.
        ndr = end.got_ndr
        grows, grown_tag, receivers = Signal(), Signal.like(tag), Signal(range(devices + 1))
        acked, acked_tag = Signal(), Signal(config.link.tag_bits)
        m.d.comb += ndr.ready.eq(1)
        m.d.sync += [
            grows.eq(moves & final),
            grown_tag.eq(tag),
            receivers.eq(sum((bit for bit in mask[2:]), mask[1])),
            acked.eq(ndr.valid),
            acked_tag.eq(ndr.p.tag),
        ]
        for n, one in enumerate(awaited):
            less = acked & (acked_tag == n)
            change = Signal(signed(len(receivers) + 1), name=f"change_{n}")
            m.d.comb += change.eq(Mux(grows & (grown_tag == n), receivers, 0) - less)
            m.d.sync += one.eq(one + change)
            if platform == "formal":
                m.d.comb += Assert(~less | (one != 0), "CentCxlPort: an acknowledgement is awaited")
        m.d.comb += [
            self.acknowledged.valid.eq(
                (used != 0)
                & ~(busy & (tag == oldest))
                & ~(grows & (grown_tag == oldest))
                & (Array(awaited)[oldest] == 0)
            ),
            self.acknowledged.payload.eq(oldest),
            ends.eq(self.acknowledged.valid & self.acknowledged.ready),
        ]
        m.d.sync += used.eq(used + start - ends)
        with m.If(ends):
            m.d.sync += oldest.eq(Mux(oldest == tags - 1, 0, oldest + 1))

        # Transfers that have come.
        self._transfers = transfers = Signal(16)
        self._transfer = came = Signal()
        m.d.comb += self.received.valid.eq(commands.o.valid & receives & (transfers != 0))
        m.d.sync += transfers.eq(transfers + came - (self.received.valid & self.received.ready))
        return wanted, busy | commands.o.valid & (sends | broadcasts)

    # ---- Requests of others ------------------------------------------------------------------------------------------

    def _requests(self, m, platform, end):
        """Serve requests. Returns the slots that reads want."""
        config = self._config
        header = payload(config.link.header_layout)
        request = data.StructLayout({"write": 1, "header": header, "data": 512})
        queues = {name: StreamFIFO(request, config.receive_depth) for name in ("h2l", "r2l")}
        for name, queue in queues.items():
            m.submodules[name] = queue

        # Reads and writes take turns to enter their queue.
        turn = Signal()
        can = []
        for source in (end.got_req, end.got_rwd):
            of_host = source.p.source == 0
            can.append(source.valid & Mux(of_host, queues["h2l"].i.ready, queues["r2l"].i.ready))
        takes_write = can[1] & (turn | ~can[0])
        takes_read = can[0] & ~takes_write
        entry = Signal(request)
        m.d.comb += [
            entry.write.eq(takes_write),
            Value.cast(entry.header).eq(
                Mux(takes_write, Value.cast(end.got_rwd.payload)[: header.size], end.got_req.payload)
            ),
            entry.data.eq(end.got_rwd.p.data),
            end.got_req.ready.eq(takes_read),
            end.got_rwd.ready.eq(takes_write),
            end.got_drs.ready.eq(1),  # no command of a device reads from another node
        ]
        with m.If(takes_write | takes_read):
            m.d.sync += turn.eq(takes_read)
        host = entry.header.source == 0
        for name, own in (("h2l", host), ("r2l", ~host)):
            m.d.comb += [queues[name].i.valid.eq((takes_write | takes_read) & own), queues[name].i.payload.eq(entry)]

        m.submodules.requests = requests = StreamMerge(request, 2)
        link(m, queues["h2l"].o, requests.i_0)
        link(m, queues["r2l"].o, requests.i_1)
        now, there = requests.o.p.header, requests.o.valid
        of_host, here = now.source == 0, now.region == Region.SHARED_BUFFER
        writes, reads = there & requests.o.p.write, there & ~requests.o.p.write

        # Queues for answers.
        ack = payload(config.link.ack_layout)
        acks = {name: StreamFIFO(ack, config.answer_depth) for name in ("l2h_acks", "l2r_acks")}
        for name, queue in acks.items():
            m.submodules[name] = queue
        answer = data.StructLayout({"memory": 1, "header": header})
        m.submodules.l2h_answers = answers = StreamFIFO(answer, config.answer_depth)
        m.submodules.l2h_data = contents = StreamFIFO(512, config.answer_depth)
        reads_left = Signal(range(config.answer_depth + 1), init=config.answer_depth)
        ack_room = Mux(of_host, acks["l2h_acks"].i.ready, acks["l2r_acks"].i.ready)
        read_room = reads_left != 0

        # A write of slots.
        second = Signal()
        final = now.half | second
        stored, passed, read = Signal(), Signal(), Signal()
        m.d.comb += [
            self.slot_write.valid.eq(writes & here & ack_room),
            self.slot_write.p.slot.eq(now.address + second),
            self.slot_write.p.data.eq(requests.o.p.data.word_select(second, 8 * SLOT_BYTES)),
            stored.eq(self.slot_write.valid & self.slot_write.ready & final),
        ]
        # An access past the shared buffer.
        m.d.comb += [
            self.memory.valid.eq(there & ~here & Mux(requests.o.p.write, ack_room, read_room)),
            self.memory.p.write.eq(requests.o.p.write),
            self.memory.p.region.eq(now.region),
            self.memory.p.address.eq(now.address),
            self.memory.p.data.eq(Mux(requests.o.p.write, requests.o.p.data, 0)),
            passed.eq(self.memory.valid & self.memory.ready),
        ]
        # A read of slots.
        wanted = _Wanted(config, header)
        m.d.comb += [
            wanted.valid.eq(reads & here & read_room),
            wanted.slot.eq(now.address + second),
            wanted.second.eq(second),
            wanted.final.eq(final),
            wanted.header.eq(now),
            read.eq(wanted.valid & wanted.ready & final),
        ]
        done = Signal()
        m.d.comb += [done.eq(stored | passed | read), requests.o.ready.eq(done)]
        with m.If(done):
            m.d.sync += second.eq(0)
        with m.Elif(self.slot_write.valid & self.slot_write.ready | wanted.valid & wanted.ready):
            m.d.sync += second.eq(1)
        m.d.comb += self._transfer.eq(stored & ~of_host & now.last)

        # Acknowledgements.
        acked = (stored | passed) & requests.o.p.write
        for name, own in (("l2h_acks", of_host), ("l2r_acks", ~of_host)):
            queue = acks[name]
            m.d.comb += [
                queue.i.valid.eq(acked & own),
                queue.i.p.source.eq(self.identity + 1),
                queue.i.p.target.eq(now.source),
                queue.i.p.tag.eq(now.tag),
            ]
        m.submodules.acks = merge = StreamMerge(ack, 2)
        link(m, acks["l2h_acks"].o, merge.i_0)
        link(m, acks["l2r_acks"].o, merge.i_1)
        link(m, merge.o, end.send_ndr)

        # Data, in the order of the reads.
        begun = (passed | read) & ~requests.o.p.write
        m.d.comb += [
            answers.i.valid.eq(begun),
            answers.i.p.memory.eq(~here),
            answers.i.p.header.half.eq(now.half),
            answers.i.p.header.source.eq(self.identity + 1),
            answers.i.p.header.targets.eq(1 << now.source),
            answers.i.p.header.tag.eq(now.tag),
            answers.i.p.header.region.eq(now.region),
            answers.i.p.header.address.eq(now.address),
        ]
        drs = end.send_drs
        source_valid = Mux(answers.o.p.memory, self.memory_data.valid, contents.o.valid)
        goes = Signal()
        m.d.comb += [
            drs.valid.eq(answers.o.valid & source_valid),
            Value.cast(drs.payload).eq(
                Cat(answers.o.p.header, Mux(answers.o.p.memory, self.memory_data.payload, contents.o.payload))
            ),
            goes.eq(drs.valid & drs.ready),
            answers.o.ready.eq(source_valid & drs.ready),
            self.memory_data.ready.eq(answers.o.valid & answers.o.p.memory & drs.ready),
            contents.o.ready.eq(answers.o.valid & ~answers.o.p.memory & drs.ready),
        ]
        m.d.sync += reads_left.eq(reads_left - begun + goes)
        self._contents = contents
        if platform == "formal":
            m.d.comb += [
                Assert(~answers.i.valid | answers.i.ready, "CentCxlPort: an answer has a place"),
                Assert(~(there & here & self._transfer) | ~self._transfers.all(), "CentCxlPort: transfers are counted"),
            ]
        return wanted

    # ---- Slots of the shared buffer ----------------------------------------------------------------------------------

    def _slots(self, m, platform, end, asks, asked, wanted, answer):
        """Ask for slots, and make messages of them. Commands and answers take turns. Returns whether a command awaits
        slots."""
        config = self._config
        turn, free = Signal(), Signal()
        picks = Signal()  # an answer's
        m.d.comb += [
            free.eq(asks.i.ready & asked.i.ready),
            picks.eq(answer.valid & (turn | ~wanted.valid)),
            answer.ready.eq(free & picks),
            wanted.ready.eq(free & ~picks),
            asks.i.valid.eq((answer.valid | wanted.valid) & asked.i.ready),
            asked.i.valid.eq((answer.valid | wanted.valid) & asks.i.ready),
            asks.i.payload.eq(Mux(picks, answer.slot, wanted.slot)),
            asked.i.p.reader.eq(Mux(picks, Reader.ANSWER, Reader.SEND)),
            asked.i.p.second.eq(Mux(picks, answer.second, wanted.second)),
            asked.i.p.final.eq(Mux(picks, answer.final, wanted.final)),
            Value.cast(asked.i.p.header).eq(Mux(picks, Value.cast(answer.header), Value.cast(wanted.header))),
        ]
        with m.If(asks.i.valid & asks.i.ready):
            m.d.sync += turn.eq(~picks)

        message = payload(config.link.data_layout)
        m.submodules.l2r = l2r = StreamFIFO(message, config.send_depth)
        link(m, l2r.o, end.send_rwd)
        slot = 8 * SLOT_BYTES
        arrives, of_answer = Signal(), asked.o.p.reader == Reader.ANSWER
        content = Signal(2 * slot)
        m.d.comb += [
            self.slot_data.ready.eq(asked.o.valid),
            asked.o.ready.eq(self.slot_data.valid),
            arrives.eq(asked.o.valid & self.slot_data.valid),
        ]
        first = [Signal(slot, name=f"first_{reader.name.lower()}") for reader in Reader]
        for reader, one in zip(Reader, first, strict=True):
            with m.If(arrives & (asked.o.p.reader == reader) & ~asked.o.p.second):
                m.d.sync += one.eq(self.slot_data.payload)
        earlier = Mux(of_answer, first[1], first[0])
        mine = Signal(range(config.reads_in_flight + 1))  # slots that commands have asked for
        m.d.sync += mine.eq(mine + (asked.i.valid & asked.i.ready & ~picks) - (arrives & ~of_answer))
        m.d.comb += [
            content.eq(Mux(asked.o.p.second, Cat(earlier, self.slot_data.payload), self.slot_data.payload)),
            l2r.i.valid.eq(arrives & asked.o.p.final & ~of_answer),
            Value.cast(l2r.i.payload).eq(Cat(asked.o.p.header, content)),
            self._contents.i.valid.eq(arrives & asked.o.p.final & of_answer),
            self._contents.i.payload.eq(content),
        ]
        if platform == "formal":
            m.d.comb += [
                Assert(~l2r.i.valid | l2r.i.ready, "CentCxlPort: a message has a place"),
                Assert(~self._contents.i.valid | self._contents.i.ready, "CentCxlPort: data of a read have a place"),
            ]
        return mine != 0


class _Wanted:
    """A slot that is wanted, as a stream: for what message, whether it is its second slot and its last."""

    def __init__(self, config, header):
        self.valid, self.ready, self.second, self.final = Signal(), Signal(), Signal(), Signal()
        self.slot = Signal(config.slot_bits)
        self.header = Signal(header)
