# amaranth: UnusedElaboratable=no
"""One end of a CXL link: messages into flits, flits into messages, and credits."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import wiring

from ...constraints.cent.cxl_link import (
    CREDIT_BITS,
    CREDIT_BYTE,
    DATA_BYTES,
    FLIT_BYTES,
    MESSAGES,
    CxlLinkConfig,
    MessageClass,
    position_bytes,
)
from ..blocks.ports import members, payload
from ..blocks.stream import StreamFIFO

__all__ = ["CxlLink"]

#: Classes that take a message's place in a flit. Acknowledgements have places of their own.
CARRIED = (MessageClass.REQ, MessageClass.RWD, MessageClass.DRS)


class CxlLink(wiring.Component):
    """Sends and receives messages of four classes over a link that carries flits.

    A flit has three places for messages (REQ, RWD, DRS), three for acknowledgements (NDR), and the numbers of credits
    that it returns. A message is sent only with a credit of its class. The other end has room for as many messages as
    there are credits, so ``rx`` is always ready.

    A flit leaves as soon as the line is free and one of these is true:

    * it holds three messages
    * it holds a REQ, a DRS, an NDR, or an RWD that is the last of its transfer
    * ``flush_clocks`` have passed since its first RWD
    * half of the credits of a class wait to be returned

    While the line is busy, a flit goes on filling. Classes take turns.

    Timing: a beat per cycle in each direction. A message and an acknowledgement are accepted per cycle.

    The functional model of flits is ``bankside.models.cent.cxl.FlitCodec``, equal bit for bit.

    Source: CENT section 4.2; places and credits are this project's choice.

    Parameters
    ----------
    config : :class:`CxlLinkConfig`

    Members
    -------
    send_req, send_rwd, send_drs, send_ndr : ``In(stream.Signature(payload(config.layout(kind))))``
    got_req, got_rwd, got_drs, got_ndr : ``Out(stream.Signature(payload(config.layout(kind))))``
    rx : ``In(stream.Signature(8 * beat_bytes))``
    tx : ``Out(stream.Signature(8 * beat_bytes))``
    """

    def __init__(self, config):
        if not isinstance(config, CxlLinkConfig):
            raise TypeError(f"Configuration must be a CxlLinkConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in clocks. ``pack``: from a message that ends its flit to the flit's first beat, with an idle
        line. ``unpack``: from the beat that ends a write to its stream."""
        return {"pack": 2, "unpack": 1 + StreamFIFO(1, self._config.credits_rwd).latency}

    def elaborate(self, platform):
        m = Module()
        # Received credits raise those of the sender; what the receiver frees is returned by the sender.
        returned = {kind: Signal(CREDIT_BITS, name=f"returned_{kind.name.lower()}") for kind in MessageClass}
        freed = self._receive(m, platform, returned)
        self._send(m, returned, freed)
        return m

    # ---- Sending -----------------------------------------------------------------------------------------------------

    def _send(self, m, returned, freed):
        config = self._config
        header = payload(config.header_layout)
        load = Signal()  # the flit so far goes to the line
        credits, owed = {}, {}
        for kind, depth in config.credits.items():
            name = kind.name.lower()
            credits[kind] = Signal(range(depth + 1), init=depth, name=f"credits_{name}")
            owed[kind] = Signal(range(depth + 1), name=f"owed_{name}")

        # Places: a flit that goes to the line leaves room for the message that comes at the same time.
        kinds = [Signal(2, name=f"kind_{n}") for n in range(MESSAGES)]
        headers = [Signal(header, name=f"header_{n}") for n in range(MESSAGES)]
        contents = [Signal(8 * DATA_BYTES, name=f"data_{n}") for n in range(MESSAGES)]
        acks = [Signal(config.ack_layout.bits, name=f"ack_{n}") for n in range(MESSAGES)]
        count, ack_count = Signal(range(MESSAGES + 1)), Signal(range(MESSAGES + 1))
        place, ack_place = Signal.like(count), Signal.like(count)
        m.d.comb += [place.eq(Mux(load, 0, count)), ack_place.eq(Mux(load, 0, ack_count))]

        # One of the classes with a message and a credit, in turn.
        ports = {kind: getattr(self, f"send_{kind.name.lower()}") for kind in MessageClass}
        can = Signal(len(CARRIED))
        turn = Signal(range(len(CARRIED)))
        chosen = Signal(len(CARRIED))
        m.d.comb += can.eq(
            Cat(ports[kind].valid & (credits[kind] != 0) for kind in CARRIED)
            & (place != MESSAGES).replicate(len(CARRIED))
        )
        with m.Switch(turn):
            for first in range(len(CARRIED)):
                with m.Case(first):
                    order = [(first + n) % len(CARRIED) for n in range(len(CARRIED))]
                    for at, n in enumerate(order):
                        before = Cat(can[k] for k in order[:at])
                        m.d.comb += chosen[n].eq(can[n] & ~before.any())
        message, content, flush, kind_code = Signal(header), Signal(8 * DATA_BYTES), Signal(), Signal(2)
        for n, kind in enumerate(CARRIED):
            port = ports[kind]
            m.d.comb += port.ready.eq(chosen[n])
            with m.If(chosen[n]):
                m.d.comb += [
                    kind_code.eq(kind + 1),
                    Value.cast(message).eq(Value.cast(port.payload)[: header.size]),
                    flush.eq(port.p.last if kind is MessageClass.RWD else 1),
                ]
                if kind is not MessageClass.REQ:
                    m.d.comb += content.eq(port.p.data)
                m.d.sync += turn.eq((n + 1) % len(CARRIED))
        moves = chosen.any()
        ndr = ports[MessageClass.NDR]
        ack_moves = Signal()
        m.d.comb += [
            ndr.ready.eq((credits[MessageClass.NDR] != 0) & (ack_place != MESSAGES)),
            ack_moves.eq(ndr.valid & ndr.ready),
        ]
        m.d.sync += [count.eq(place + moves), ack_count.eq(ack_place + ack_moves)]
        with m.If(load):
            m.d.sync += [kind.eq(0) for kind in kinds]
            m.d.sync += [Cat(*headers, *contents).eq(0)]
        for n in range(MESSAGES):
            with m.If(moves & (place == n)):
                m.d.sync += [kinds[n].eq(kind_code), headers[n].eq(message), contents[n].eq(content)]
            with m.If(ack_moves & (ack_place == n)):
                m.d.sync += acks[n].eq(ndr.payload)

        # When a flit goes.
        pressed, age, urgent = Signal(), Signal(range(config.flush_clocks + 1)), Signal()
        m.d.sync += pressed.eq(moves & flush | ack_moves | pressed & ~load)
        with m.If(load | (count == 0)):
            m.d.sync += age.eq(0)
        with m.Elif(age != config.flush_clocks):
            m.d.sync += age.eq(age + 1)
        m.d.comb += urgent.eq(Cat(owed[kind] >= max(depth // 2, 1) for kind, depth in config.credits.items()).any())
        goes = (count == MESSAGES) | pressed | (age == config.flush_clocks) | urgent

        # The line.
        line, busy, beat = Signal(8 * FLIT_BYTES), Signal(), Signal(range(config.beats))
        ends = Signal()
        given = {kind: Signal(CREDIT_BITS, name=f"given_{kind.name.lower()}") for kind in MessageClass}
        most = (1 << CREDIT_BITS) - 1
        m.d.comb += [
            self.tx.valid.eq(busy),
            self.tx.payload.eq(line[: 8 * config.beat_bytes]),
            ends.eq(busy & self.tx.ready & (beat == config.beats - 1)),
            load.eq(goes & (~busy | ends)),
            *(
                given[kind].eq(Mux(owed[kind] > most, most, owed[kind]) if depth > most else owed[kind])
                for kind, depth in config.credits.items()
            ),
        ]
        flit = Signal(8 * FLIT_BYTES)
        for n in range(MESSAGES):
            first, body = (8 * byte for byte in position_bytes(n))
            bits = Cat(kinds[n], headers[n], ack_count > n, acks[n] & (ack_count > n).replicate(len(acks[n])))
            m.d.comb += [flit[first : first + len(bits)].eq(bits), flit[body : body + 8 * DATA_BYTES].eq(contents[n])]
        m.d.comb += flit[8 * CREDIT_BYTE : 8 * CREDIT_BYTE + 4 * CREDIT_BITS].eq(
            Cat(given[kind] for kind in MessageClass)
        )
        with m.If(load):
            m.d.sync += [line.eq(flit), busy.eq(1), beat.eq(0)]
        with m.Elif(busy & self.tx.ready):
            m.d.sync += [line.eq(line >> (8 * config.beat_bytes)), busy.eq(~ends), beat.eq(beat + 1)]

        for kind in MessageClass:
            used = ack_moves if kind is MessageClass.NDR else chosen[CARRIED.index(kind)]
            m.d.sync += [
                credits[kind].eq(credits[kind] + returned[kind] - used),
                owed[kind].eq(owed[kind] + freed[kind] - Mux(load, given[kind], 0)),
            ]

    # ---- Receiving ---------------------------------------------------------------------------------------------------

    def _receive(self, m, platform, returned):
        config = self._config
        header = payload(config.header_layout)
        width = 8 * config.beat_bytes
        flit = Signal(8 * FLIT_BYTES)
        beat = Signal(range(config.beats))
        arrived = Signal(MESSAGES)
        closed = Signal()
        m.d.comb += self.rx.ready.eq(1)
        m.d.sync += [arrived.eq(0), closed.eq(0)]
        with m.If(self.rx.valid):
            m.d.sync += beat.eq(beat + 1)
            with m.Switch(beat):
                for n in range(config.beats):
                    with m.Case(n):
                        m.d.sync += flit[n * width : (n + 1) * width].eq(self.rx.payload)
                        for at in range(MESSAGES):
                            if (position_bytes(at)[1] + DATA_BYTES - 1) // config.beat_bytes == n:
                                m.d.sync += arrived[at].eq(1)
                        if n == config.beats - 1:
                            m.d.sync += closed.eq(1)

        kind, message, content = Signal(2), Signal(header), Signal(8 * DATA_BYTES)
        acked, ack = Signal(), Signal(config.ack_layout.bits)
        for n in range(MESSAGES):
            first, body = (8 * byte for byte in position_bytes(n))
            own = flit[first : first + 2 + header.size + 1 + len(ack)]
            with m.If(arrived[n]):
                m.d.comb += [
                    Cat(kind, Value.cast(message), acked, ack).eq(own),
                    content.eq(flit[body : body + 8 * DATA_BYTES]),
                ]
        for n, one in enumerate(MessageClass):
            first = 8 * CREDIT_BYTE + n * CREDIT_BITS
            m.d.comb += returned[one].eq(Mux(closed, flit[first : first + CREDIT_BITS], 0))

        freed = {}
        for one in MessageClass:
            name = one.name.lower()
            port = getattr(self, f"got_{name}")
            m.submodules[f"of_{name}"] = queue = StreamFIFO(payload(config.layout(one)), config.credits[one])
            wiring.connect(m, queue.o, wiring.flipped(port))
            freed[one] = port.valid & port.ready
            came = acked if one is MessageClass.NDR else kind == one + 1
            words = (
                ack
                if one is MessageClass.NDR
                else Value.cast(message)
                if one is MessageClass.REQ
                else Cat(Value.cast(message), content)
            )
            m.d.comb += [queue.i.valid.eq(came), Value.cast(queue.i.payload).eq(words)]
            if platform == "formal":
                m.d.comb += Assert(~queue.i.valid | queue.i.ready, f"CxlLink: a received {one.name} finds a place")
        return freed
