# amaranth: UnusedElaboratable=no
"""The engine of a hub that moves registers to and from channels and host."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.aim.hub import MANY, RECEIVING, SENDING, TRANSFERS
from ..blocks.broadcast import StreamBroadcast, link
from ..blocks.ports import payload
from ..blocks.stream import StreamFIFO
from .engine import Engine, is_op
from .registers import Client

__all__ = ["Transfers"]


class Transfers(Engine):
    """Sends registers to channels, with one read for all channels, and takes results of channels, the lowest first. Moves
    registers from and to the host.

    Timing: one register per clock.

    Members
    -------
    host_in, host_out : ``In`` and ``Out(stream.Signature(word))``
    result_0 ... : ``In(stream.Signature(word))``
    data_0 ... : ``Out(stream.Signature(word))``
    """

    #: Places for registers on their way to the channels, and as many for registers on their way to the host.
    PLACES = 4

    client = Client(writes=True)

    def __init__(self, config):
        word, channels = stream.Signature(config.word_bits), range(config.channels)
        super().__init__(
            config,
            TRANSFERS,
            {
                "host_in": In(word),
                "host_out": Out(word),
                **{f"result_{n}": In(word) for n in channels},
                **{f"data_{n}": Out(word) for n in channels},
            },
        )

    def elaborate(self, platform):
        m = Module()
        config, registers = self._config, self.registers
        word, channels = config.word_bits, config.channels
        transfer, busy = Signal(payload(config.command_layout)), Signal()
        step, of_channel = Signal.like(transfer.opsize), Signal.like(transfer.opsize)
        command_mask, transfer_mask = (Cat(reversed(one.mask)) for one in (self.command, transfer))  # channel 0 lowest
        m.d.comb += [self.ready.eq(~busy), self.idle.eq(~busy)]

        sends, receives = is_op(transfer.op, SENDING), is_op(transfer.op, RECEIVING)
        loads, gives = is_op(transfer.op, ["WR_GPR"]), is_op(transfer.op, ["RD_GPR"])
        sent = data.StructLayout({"item": word, "select": channels})
        m.submodules.outgoing = outgoing = StreamFIFO(sent, self.PLACES)
        m.submodules.host_words = host_words = StreamFIFO(word, self.PLACES)
        m.submodules.multicast = multicast = StreamBroadcast(word, channels)
        wiring.connect(m, outgoing=outgoing.o, multicast=multicast.i)
        wiring.connect(m, host_words=host_words.o, host_out=wiring.flipped(self.host_out))
        for n in range(channels):
            link(m, getattr(multicast, f"o_{n}"), getattr(self, f"data_{n}"))
        places = Signal(range(self.PLACES + 1), init=self.PLACES)
        host_places = Signal(range(self.PLACES + 1), init=self.PLACES)

        results = [getattr(self, f"result_{n}") for n in range(channels)]
        left = Signal(channels)  # channels with results that have not arrived
        lowest = left & -left
        got, got_word, last = Signal(), Signal(word), Signal()
        many, own_last, channel_last = Signal(), Signal(), Signal()
        reads, takes = Signal(), Signal()
        m.d.comb += [
            got.eq((Cat(r.valid for r in results) & lowest[:channels]).any()),
            got_word.eq(Mux(loads, self.host_in.payload, 0)),
            registers.read.eq(busy & (sends & (places != 0) | gives & (host_places != 0))),
            reads.eq(registers.read & registers.grant),
            registers.write.eq(busy & Mux(loads, self.host_in.valid, receives & got)),
            takes.eq(registers.write & registers.write_grant),
            self.host_in.ready.eq(takes & loads),
            registers.read_address.eq(transfer.gpr + step),
            registers.write_address.eq(transfer.gpr + step),
            registers.write_data.eq(got_word),
        ]
        for n, result in enumerate(results):
            m.d.comb += result.ready.eq(takes & receives & lowest[n])
            with m.If(receives & lowest[n]):
                m.d.comb += got_word.eq(result.payload)
        m.d.comb += [
            many.eq(is_op(transfer.op, MANY)),
            own_last.eq(~many | (step == transfer.opsize - 1)),
            channel_last.eq(~many | (of_channel == transfer.opsize - 1)),
            last.eq(Mux(receives, channel_last & ((left & ~lowest[:channels]) == 0), own_last)),
        ]
        moves = reads | takes
        with m.If(moves):
            m.d.sync += [step.eq(step + 1), of_channel.eq(Mux(channel_last, 0, of_channel + 1))]
            with m.If(channel_last):
                m.d.sync += left.eq(left & ~lowest[:channels])
        with m.If(busy & (moves & last | receives & (left == 0))):  # a command without channels is done at once
            m.d.sync += busy.eq(0)
        with m.If(self.start):
            m.d.sync += [transfer.eq(self.command), busy.eq(1), step.eq(0), of_channel.eq(0), left.eq(command_mask)]

        was_sent, was_given, was_mask = Signal(), Signal(), Signal(channels, reset_less=True)
        m.d.sync += [was_sent.eq(reads & sends), was_given.eq(reads & gives), was_mask.eq(transfer_mask)]
        m.d.comb += [
            outgoing.i.valid.eq(was_sent),
            outgoing.i.p.item.eq(registers.read_data),
            outgoing.i.p.select.eq(was_mask),
            host_words.i.valid.eq(was_given),
            host_words.i.payload.eq(registers.read_data),
        ]
        m.d.sync += [
            places.eq(places + (outgoing.o.valid & outgoing.o.ready) - (reads & sends)),
            host_places.eq(host_places + (host_words.o.valid & host_words.o.ready) - (reads & gives)),
        ]
        if platform == "formal":
            m.d.comb += [
                Assert(~was_sent | outgoing.i.ready, "Transfers: what is sent finds a place"),
                Assert(~was_given | host_words.i.ready, "Transfers: what is read finds a place"),
                Assert(
                    places + was_sent + outgoing.level == outgoing.depth,
                    "Transfers: each place for what is sent is free, reserved, or taken",
                ),
                Assert(
                    host_places + was_given + host_words.level == host_words.depth,
                    "Transfers: each place for what the host reads is free, reserved, or taken",
                ),
            ]
        return m
