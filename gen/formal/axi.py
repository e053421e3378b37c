"""Contracts of AXI4 and AXI4-Lite as properties to prove, for the blocks of ``gen/blocks/axi.py``."""

from amaranth import *
from amaranth.hdl import Assert, Assume, Cover
from amaranth.utils import exact_log2

from ..blocks.axi import PAGE_BYTES, Response
from .contracts import StreamProtocol, _Followed, _is_stable

__all__ = ["AxiLiteContract", "AxiReadContract", "AxiWriteContract", "BurstContract"]

_WORD_BITS = 32


class _Channel:
    """A channel of a bus, with the names that a stream has."""

    def __init__(self, bus, name):
        self.valid, self.ready = getattr(bus, f"{name}valid"), getattr(bus, f"{name}ready")
        self.payload = Cat(
            getattr(bus, member)
            for member in bus.signature.members
            if member.startswith(name) and member not in (f"{name}valid", f"{name}ready")
        )
        self.moves = self.valid & self.ready


class _Contract(StreamProtocol):
    """A contract of ports. Induction also needs assertions about the unit's state. They follow from the contract, and are
    left out without ``state``. Then the prover can only search for counterexamples, and finds a rule that is broken."""

    def __init__(self, dut, *, state=True, **properties):
        super().__init__(dut, **properties)
        self.state = bool(state)

    def _prove_state(self, m, *checks):
        if self.state:
            m.d.comb += [Assert(condition, message) for condition, message in checks]


class BurstContract(_Contract):
    """A splitter of requests: its bursts are the words of each request, once and in order.

    These properties are proved in addition to :class:`StreamProtocol`, for a unit with the ports of
    :class:`BurstSplitter`:

    * The bursts of a request begin at its first word, each next one at the word after the previous one, up to its last
      word. The last burst is marked.
    * A burst has ``burst`` words at most and does not cross 4 KiB. It ends only with the request, at 4 KiB, or after
      ``burst`` words.
    * ``start`` and ``stop`` are the first and the last byte of the request in its first and last word.
    * A request without bytes gives one burst that is marked as empty.
    """

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut = self.dut
        i, o = dut.i, dut.o
        shift = exact_log2(dut.word_bytes)
        take, leave = i.valid & i.ready, o.valid & o.ready

        active, first = Signal(), Signal()
        word = Signal(dut.address_bits - shift)
        left = Signal(dut.length_bits + 1)
        start, stop = Signal(shift), Signal(shift)
        count = o.p.len + 1
        with m.If(leave):
            m.d.sync += [active.eq(~o.p.last), first.eq(0), word.eq(word + count), left.eq(left - count)]
        with m.If(take):
            m.d.sync += [
                active.eq(1),
                first.eq(1),
                word.eq(i.p.address >> shift),
                start.eq(i.p.address[:shift]),
                left.eq(Mux(i.p.bytes == 0, 0, (i.p.address[:shift] + i.p.bytes + dut.word_bytes - 1) >> shift)),
                stop.eq((i.p.address + i.p.bytes - 1)[:shift]),
            ]
        busy = o.valid & ~o.p.empty
        end = o.p.address[:12] + count * dut.word_bytes
        m.d.comb += [
            Assert(o.valid == active, "bursts are offered for a request, and for nothing else"),
            Assert(~o.valid | (o.p.empty == (left == 0)), "a request without bytes is empty"),
            Assert(~o.valid | ~o.p.empty | o.p.last, "nothing follows an empty burst"),
            Assert(~busy | (o.p.address == word << shift), "a burst begins where the previous one ended"),
            Assert(~busy | (count <= left), "no burst goes beyond its request"),
            Assert(~busy | (o.p.last == (count == left)), "the last burst of a request is marked"),
            Assert(~busy | (count <= dut.burst), "no burst is longer than allowed"),
            Assert(~busy | (end <= PAGE_BYTES), "no burst crosses 4 KiB"),
            Assert(~busy | o.p.last | (count == dut.burst) | (end == PAGE_BYTES), "every burst is as long as allowed"),
            Assert(~busy | (o.p.start == Mux(first, start, 0)), "the first byte of the first word is the request's"),
            Assert(~busy | (o.p.stop == Mux(o.p.last, stop, dut.word_bytes - 1)), "the last byte is the request's"),
            Cover(busy & ~o.p.last & (count < dut.burst), "a burst ends at 4 KiB"),
            Cover(busy & ~o.p.last & (count == dut.burst), "a burst is as long as allowed"),
            Cover(o.valid & o.p.empty, "a request has no bytes"),
            Cover(take & leave, "a request follows another without a pause"),
        ]
        self._prove_state(
            m,
            (dut.held == active, "the splitter holds the request"),
            (~active | (dut.left == left), "the splitter knows the words that are left"),
            (~active | ((dut.stop == stop) & (dut.start == Mux(first, start, 0))), "the splitter knows the ends"),
        )
        return m


class _AxiContract(_Contract):
    """Rules of a channel of addresses, for a unit that issues bursts of type INCR as wide as the bus."""

    def __init__(self, dut, **properties):
        super().__init__(dut, **properties)
        self.least_depth = 24

    def _prove_addresses(self, m, a):
        dut, bus = self.dut, self.dut.m_axi
        channel = _Channel(bus, a)
        address, length = getattr(bus, f"{a}addr"), getattr(bus, f"{a}len")
        name = a.upper()
        end = address[:12] + (length + 1) * dut.word_bytes
        m.d.comb += [
            Assert(_is_stable(m, a, channel), f"{name} is stable while stalled"),
            Assert(~channel.valid | (end <= PAGE_BYTES), f"{name}: no burst crosses 4 KiB"),
            Assert(~channel.valid | (length < dut.burst), f"{name}: no burst is longer than allowed"),
            Assert(
                ~channel.valid | (address[: exact_log2(dut.word_bytes)] == 0), f"{name}: addresses are of whole words"
            ),
            Assert(
                ~channel.valid
                | ((getattr(bus, f"{a}size") == exact_log2(dut.word_bytes)) & (getattr(bus, f"{a}burst") == 1)),
                f"{name}: bursts are INCR, as wide as the bus",
            ),
            Cover(channel.valid & ~channel.ready, f"{name} is stalled"),
            Cover(channel.valid & (end == PAGE_BYTES), f"{name}: a burst ends at 4 KiB"),
            Cover(channel.valid & (length == dut.burst - 1), f"{name}: a burst is as long as allowed"),
            Cover(channel.valid & self._never_ready(m, a), f"{name} is offered although it was never ready"),
        ]
        return channel

    def _never_ready(self, m, *channels):
        """Whether none of the unit's channels was ready since reset, this cycle included."""
        idle = Signal(name=f"never_ready_{'_'.join(channels)}", init=1)
        ready = Cat(getattr(self.dut.m_axi, f"{channel}ready") for channel in channels).any()
        with m.If(ready):
            m.d.sync += idle.eq(0)
        return idle & ~ready


class AxiReadContract(_AxiContract):
    """A reader of AXI4 keeps the rules of channels AR and R.

    The proof assumes a memory that keeps the rules too, but is otherwise free. It stalls AR at will. It answers accepted
    bursts in order, each with its number of words, ``rlast`` on the last one, any data, any response, at any time. These
    properties are proved in addition to :class:`StreamProtocol`, for a unit with the ports of :class:`AxiReader`:

    * AR stays valid with the same payload until it is accepted.
    * Bursts are of type INCR, as wide as the bus, of whole words, within 4 KiB, ``burst`` words at most.
    * No more than ``outstanding`` bursts are offered or unanswered.
    * R is never stalled.
    * The k-th word of ``data`` is the k-th word of R, with its error.
    """

    def __init__(self, dut, **properties):
        super().__init__(dut, **properties)
        self.follow = Signal()
        self.ports.append(self.follow)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, bus = self.dut, self.dut.m_axi
        ar, r = self._prove_addresses(m, "ar"), _Channel(bus, "r")

        # The memory: lengths of the bursts that it has to answer, and the words of the first one that it has given.
        lengths = [Signal(8, name=f"length_{n}") for n in range(dut.outstanding)]
        count = Signal(range(dut.outstanding + 2))
        beat = Signal(8)
        ended = r.moves & bus.rlast
        with m.If(ended):
            for here, after in zip(lengths, lengths[1:], strict=False):
                m.d.sync += here.eq(after)
        with m.If(ar.moves):
            for n, length in enumerate(lengths):
                with m.If(count - ended == n):
                    m.d.sync += length.eq(bus.arlen)
        with m.If(r.moves):
            m.d.sync += beat.eq(Mux(bus.rlast, 0, beat + 1))
        m.d.sync += count.eq(count + ar.moves - ended)
        pending = sum((Mux(count > n, length + 1, 0) for n, length in enumerate(lengths)), Const(0)) - beat
        m.d.comb += [
            Assume(_is_stable(m, "r", r), "R is stable while stalled"),
            Assume(~r.valid | (count != 0), "R answers an accepted burst"),
            Assume(~r.valid | (bus.rlast == (beat == lengths[0])), "R has the words of its burst"),
            Assert(count + ar.valid <= dut.outstanding, "the outstanding bursts are bounded"),
            Assert(~r.valid | r.ready, "R is never stalled"),
            Cover(count == dut.outstanding, "as many bursts are outstanding as allowed"),
            Cover(ended & (beat == dut.burst - 1), "a burst ends that is as long as allowed"),
            Cover(dut.data.valid & dut.data.p.error, "an error is delivered"),
            Cover(dut.data.valid & dut.data.p.last & ~dut.data.p.keep.any(), "a request without bytes is answered"),
            Cover(dut.data.valid & ~dut.data.ready & (dut.reserved == dut.depth), "the buffer is full"),
        ]
        self._prove_state(
            m,
            ((count == 0) | (beat <= lengths[0]), "no burst has more words than its length"),
            ((count != 0) | (beat == 0), "words belong to a burst"),
            (dut.under_way == count + ar.valid, "the unit counts the bursts under way"),
            (
                dut.reserved == dut.probe.level + pending + Mux(ar.valid, bus.arlen + 1, 0),
                "the unit counts the words that will come",
            ),
        )

        held = Signal(range(dut.depth + 2))
        m.d.sync += held.eq(held + r.moves - dut.taken)
        followed = _Followed(m, self.follow, r.moves, dut.taken, held, dut.depth, Cat(bus.rdata, bus.rresp[1]))
        m.d.comb += [
            Assert(
                ~(followed.active & (followed.ahead == 0) & dut.taken)
                | (Cat(dut.data.p.data, dut.data.p.error) == followed.value),
                "the k-th word of data is the k-th of R",
            ),
            Assert(~dut.taken | (dut.data.valid & dut.data.ready), "a word leaves as an item of data"),
        ]
        followed.compare(m, dut.probe if self.state else None, held)
        return m


class AxiWriteContract(_AxiContract):
    """A writer of AXI4 keeps the rules of channels AW, W and B.

    The proof assumes a memory that keeps the rules too, but is otherwise free. It stalls AW and W at will, in any relation
    to each other. It answers a burst at any time after it accepted the address and the last word. These properties are
    proved in addition to :class:`StreamProtocol`, for a unit with the ports of :class:`AxiWriter`:

    * AW and W stay valid with the same payload until they are accepted.
    * Bursts are of type INCR, as wide as the bus, of whole words, within 4 KiB, ``burst`` words at most.
    * Every burst has as many words as its address says, and ``wlast`` on its last word only.
    * No word is offered before its address was offered.
    * No more than ``outstanding`` bursts are offered or unanswered.

    Three covers show that no channel waits for another:

    * An address is accepted before any word was offered.
    * The last word of a burst is accepted while its address is stalled.
    * Address and word are offered although neither channel was ever ready.
    """

    def __init__(self, dut, **properties):
        super().__init__(dut, **properties)
        self.follow = Signal()
        self.ports.append(self.follow)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, bus = self.dut, self.dut.m_axi
        aw, w, b = self._prove_addresses(m, "aw"), _Channel(bus, "w"), _Channel(bus, "b")

        waits = Signal()  # AW offers a burst that it offered in the previous cycle
        offered = Signal()  # AW offers a burst for the first time
        ended = w.moves & bus.wlast
        m.d.sync += waits.eq(aw.valid & ~aw.ready)
        m.d.comb += offered.eq(aw.valid & ~waits)
        many = dut.outstanding + 2
        held = Signal(range(many))  # bursts that AW has offered and W has not ended
        accepted = Signal(range(many))  # bursts that AW has moved and B has not answered
        complete = Signal(range(many))  # bursts that W has ended and B has not answered
        beat = Signal(8)  # words of the burst in front that W has moved
        m.d.sync += [
            held.eq(held + offered - ended),
            accepted.eq(accepted + aw.moves - b.moves),
            complete.eq(complete + ended - b.moves),
        ]
        with m.If(w.moves):
            m.d.sync += beat.eq(Mux(bus.wlast, 0, beat + 1))

        followed = _Followed(m, self.follow, offered, ended, held, dut.outstanding + 1, bus.awlen)
        front = followed.active & (followed.ahead == 0)
        leaves = w.valid & bus.wlast  # the last word of the burst in front has left the buffer
        m.d.comb += [
            Assume(_is_stable(m, "b", b), "B is stable while stalled"),
            Assume(~b.valid | ((accepted != 0) & (complete != 0)), "B answers a burst with its address and its words"),
            Assert(_is_stable(m, "w", w), "W is stable while stalled"),
            Assert(~w.valid | (held != 0), "no word is offered before its address"),
            Assert(
                ~(front & w.valid) | (bus.wlast == (beat == followed.value)),
                "a burst has the words that its address says",
            ),
            Assert(accepted + aw.valid <= dut.outstanding, "the outstanding bursts are bounded"),
            Cover(aw.moves & (held == 0) & offered, "an address is accepted before any word was offered"),
            Cover(ended & waits & ~aw.ready & (held == 1), "a burst ends while its address is stalled"),
            Cover(
                aw.valid & w.valid & self._never_ready(m, "aw", "w"), "AW and W are offered although neither was ready"
            ),
            Cover(accepted == dut.outstanding, "as many bursts are outstanding as allowed"),
            Cover(w.valid & ~bus.wstrb.all(), "a word is written in part"),
            Cover(w.valid & ~w.ready, "W is stalled"),
            Cover(ended & (beat == dut.burst - 1), "a burst ends that is as long as allowed"),
            Cover(b.valid & ~b.ready, "B is stalled"),
            Cover(dut.status.valid & dut.status.p.error, "an error is reported"),
            dut.probe.index.eq(followed.ahead - leaves),
        ]
        self._prove_state(
            m,
            (held + complete == accepted + (aw.valid & waits), "a burst has an address and words"),
            (dut.under_way == accepted + aw.valid, "the unit counts the bursts under way"),
            (dut.probe.level == held + offered - leaves, "the unit knows the bursts whose words have not left"),
            (dut.beat == Mux(leaves, 0, beat + w.valid), "the unit counts the words of a burst"),
            (~(front & leaves) | (followed.value == beat), "the burst in front ends"),
            (~followed.active | (front & leaves) | (dut.probe.item == followed.value), "the unit knows the lengths"),
            (~front | leaves | (dut.beat <= followed.value), "no burst has more words than its length"),
        )
        return m


class AxiLiteContract(_Contract):
    """Registers of AXI4-Lite: the rules of the bus, and every access as the table of fields defines it.

    The proof assumes a manager that keeps the rules but is otherwise free. Address and data of a write come in any order,
    and answers are stalled at will. These properties are proved for a unit with the ports of :class:`AxiLiteRegisters`. The
    contract describes the fields a second time, from their table:

    * B and R stay valid with the same payload until they are accepted.
    * There is one answer for each write and each read, and none before the address and the data were accepted.
    * An answer comes two cycles after the request, or one cycle after the previous answer was accepted.
    * Every field has the value that the accepted writes give it, byte by byte. It changes two cycles after the request, if
      no answer is stalled.
    * A read gives the fields of its word. An address without a word, or not a multiple of 4, gets SLVERR.
    * The interrupt is the enabled events of the previous cycle.
    """

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, bus = self.dut, self.dut.s_axi
        aw, w, b, ar, r = (_Channel(bus, name) for name in ("aw", "w", "b", "ar", "r"))

        def waiting(name, channel, done, *payload):
            """Whether a request of a channel was accepted and is not done, and its payload."""
            full = Signal(name=f"{name}_waits")
            kept = [Signal.like(value, name=f"{name}_kept_{n}") for n, value in enumerate(payload)]
            with m.If(channel.moves):
                m.d.sync += [full.eq(1), *(keep.eq(value) for keep, value in zip(kept, payload, strict=True))]
            with m.Elif(done):
                m.d.sync += full.eq(0)
            m.d.comb += Assert(~(channel.moves & full & ~done), "a request waits for the previous one")
            return full, kept

        write, read = Signal(), Signal()
        has_address, (address,) = waiting("aw", aw, write, bus.awaddr)
        has_data, (written, strobes) = waiting("w", w, write, bus.wdata, bus.wstrb)
        has_read, (read_address,) = waiting("ar", ar, read, bus.araddr)
        m.d.comb += [write.eq(has_address & has_data & (b.ready | ~b.valid)), read.eq(has_read & (r.ready | ~r.valid))]
        for name, channel, done in (("B", b, write), ("R", r, read)):
            owes = Signal(name=f"owes_{name}")
            with m.If(done):
                m.d.sync += owes.eq(1)
            with m.Elif(channel.moves):
                m.d.sync += owes.eq(0)
            m.d.comb += [
                Assert(_is_stable(m, name, channel), f"{name} is stable while stalled"),
                Assert(channel.valid == owes, f"{name} answers each request once, in time"),
                Cover(channel.valid & ~channel.ready, f"{name} is stalled"),
            ]
        for name, channel in (("AW", aw), ("W", w), ("AR", ar)):
            m.d.comb += [
                Assume(_is_stable(m, name, channel), f"{name} is stable while stalled"),
                Cover(channel.valid & ~channel.ready, f"{name} is stalled"),
            ]

        offsets = sorted({offset for field in dut.fields for offset, *_ in field.pieces()})
        known = Cat(address == offset for offset in offsets).any()
        readable = Cat(read_address == offset for offset in offsets).any()
        word = Signal(_WORD_BITS)
        for field in dut.fields:
            value = getattr(dut, field.name)
            for offset, low, piece, width in field.pieces():
                if field.access != "pulse":
                    with m.If(read_address == offset):
                        m.d.comb += word[low : low + width].eq(value[piece : piece + width])
                if field.access == "ro":
                    continue
                hit = write & (address == offset)
                for bit in range(width):
                    now, place = value[piece + bit], low + bit
                    model = Signal(name=f"{field.name}_{piece + bit}", init=field.reset >> piece + bit & 1)
                    chosen = hit & strobes[place // 8]
                    if field.access == "rw":
                        m.d.sync += model.eq(Mux(chosen, written[place], model))
                    elif field.access == "pulse":
                        m.d.sync += model.eq(chosen & written[place])
                    else:
                        m.d.sync += model.eq(
                            getattr(dut, f"{field.name}_set")[piece + bit] | (model & ~(chosen & written[place]))
                        )
                    m.d.comb += Assert(now == model, f"a field {field.access} has the value that the accesses give it")
            if field.access != "ro":
                m.d.comb += Cover(value != field.reset, f"{field.name} changes")
        if dut.interrupts:
            raised = Signal()
            m.d.sync += raised.eq(
                Cat(
                    (getattr(dut, pending) & getattr(dut, enable)).any() for pending, enable in dut.interrupts.items()
                ).any()
            )
            m.d.comb += [
                Assert(dut.irq == raised, "the interrupt is the enabled events"),
                Cover(dut.irq, "an interrupt is raised"),
            ]

        answer, data, code = Signal(2), Signal(_WORD_BITS), Signal(2)
        with m.If(write):
            m.d.sync += answer.eq(Mux(known, Response.OKAY, Response.SLVERR))
        with m.If(read):
            m.d.sync += [code.eq(Mux(readable, Response.OKAY, Response.SLVERR)), data.eq(Mux(readable, word, 0))]
        m.d.comb += [
            Assert(~b.valid | (bus.bresp == answer), "a write of an address without a word gets SLVERR, and no other"),
            Assert(~r.valid | (bus.rresp == code), "a read of an address without a word gets SLVERR, and no other"),
            Assert(~r.valid | (bus.rdata == data), "a read gives the fields of its word"),
            Cover(b.valid & (bus.bresp == Response.SLVERR), "a write gets SLVERR"),
            Cover(r.valid & (bus.rresp == Response.SLVERR), "a read gets SLVERR"),
            Cover(r.valid & (bus.rdata != 0), "a read gives a value"),
            Cover(has_address & ~has_data, "an address comes before its data"),
            Cover(has_data & ~has_address, "data comes before its address"),
        ]
        self._prove_state(
            m,
            (bus.awready == ~has_address, "the unit holds the address of a write"),
            (bus.wready == ~has_data, "the unit holds the data of a write"),
            (bus.arready == ~has_read, "the unit holds the address of a read"),
            (~has_address | (dut.write_address == address), "the address of a write waits unchanged"),
            (
                ~has_data | (Cat(dut.write_data, dut.write_strobes) == Cat(written, strobes)),
                "the data of a write waits unchanged",
            ),
            (~has_read | (dut.read_address == read_address), "the address of a read waits unchanged"),
        )
        return m
