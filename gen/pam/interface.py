# amaranth: UnusedElaboratable=no
"""PAM's interface between two memories: KV tokens are read in the source's format and written in the destination's."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...constraints.units.pam_interface import PamInterfaceConfig
from ..blocks.stream import StreamFIFO, StreamRegister
from .scheduler import AccessScheduler, location_layout, place_fields

__all__ = ["PamInterface", "beat_layout", "descriptor_layout"]


def descriptor_layout(config):
    """One token to move: its place in the source, its place in the destination, and a name for its completion."""
    source, destination = (place_fields(side, config.token_bytes) for side in (config.source, config.destination))
    return data.StructLayout({
        **{f"source_{name}": bits for name, bits in source.items()},
        **{f"destination_{name}": bits for name, bits in destination.items()},
        "tag": config.tag_bits,
    })


def beat_layout(config):
    """Beat of the data to write, ``last`` of its command."""
    return data.StructLayout({"data": 8 * config.destination.port_bytes, "last": 1})


class PamInterface(wiring.Component):
    """Moves KV tokens from one memory to another and changes their layout on the way.

    A token's descriptor is taken when a place in the re-layout buffer and one among the ``reorder_depth`` are free. The
    sender's scheduler chooses the read commands; their data come back in the order of the commands and are written to the
    buffer where the token's bytes belong. A complete token goes to the receiver's scheduler, which chooses the write
    commands by the destination's map; each is followed on ``write_data`` by its beats, in the order of the commands. When
    the last beat of a token has left, its ``tag`` appears on ``done``.

    Every byte of every token is written once, at the address that the destination's map says; tokens may overtake each
    other, so what one descriptor writes must not be what another reads or writes before the first is done.

    Timing: one command and one beat per clock on every port; ``latency`` has the cycles between events.

    The functional model is ``bankside.models.pam.interface``.

    Source: PAM (MICRO 2025) section 6.2 and Figure 8d.

    Parameters
    ----------
    config : :class:`PamInterfaceConfig`

    Members
    -------
    descriptor : ``In(stream.Signature(descriptor_layout(config)))``
        Tokens to move.
    read : ``Out(stream.Signature(location_layout(config.source)))``
        Read commands.
    read_data : ``In(stream.Signature(8 * config.source.port_bytes))``
        Their data, in the order of the commands.
    write : ``Out(stream.Signature(location_layout(config.destination)))``
        Write commands.
    write_data : ``Out(stream.Signature(beat_layout(config)))``
        Their data, in the order of the commands.
    done : ``Out(stream.Signature(config.tag_bits))``
        Tags of tokens whose last beat has left.
    """

    _PLACE = {"group": "group (HBM: pseudo-channel, rank, bank group; DDR: rank, bank group, chip; SSD: channel)",
              "bank": "bank (die) in the group", "row": "row (page)", "column": "access within the row"}

    #: What each port is for.
    PORTS = {
        "descriptor": {
            "payload": "a KV token to move",
            "fields": {
                "source_group": "group that it is read from",
                "source_slot": "its number in that group",
                "destination_group": "group that it is written to",
                "destination_slot": "its number in that group",
                "tag": "name for its completion",
            },
        },
        "read": {"payload": "a read command", "fields": _PLACE},
        "read_data": {"payload": "data read, first byte lowest, in the order of the commands"},
        "write": {"payload": "a write command", "fields": _PLACE},
        "write_data": {"payload": "data to write, in the order of the commands",
                       "fields": {"data": "bytes, the first lowest", "last": "last beat of its command"}},
        "done": {"payload": "tag of a token whose last beat has left"},
    }

    def __init__(self, config):
        if not isinstance(config, PamInterfaceConfig):
            raise TypeError(f"Configuration must be a PamInterfaceConfig, not {config!r}")
        self._config = config
        super().__init__({
            "descriptor": In(stream.Signature(descriptor_layout(config))),
            "read": Out(stream.Signature(location_layout(config.source))),
            "read_data": In(stream.Signature(8 * config.source.port_bytes)),
            "write": Out(stream.Signature(location_layout(config.destination))),
            "write_data": Out(stream.Signature(beat_layout(config))),
            "done": Out(stream.Signature(config.tag_bits)),
        })

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Cycles between events of a token alone in the unit, with all streams ready."""
        done_latency = StreamFIFO(1, self._config.buffer_tokens).latency
        return {
            "descriptor_to_read": 3,
            "last_read_data_to_write": done_latency + 4,
            "write_to_write_data": 3,
            "last_write_data_to_done": 1,
        }

    def elaborate(self, platform):
        m = Module()
        config = self._config
        source, destination, tokens = config.source, config.destination, config.buffer_tokens
        place_bits = (tokens - 1).bit_length()
        place_shape = unsigned(max(1, place_bits))
        places = place_fields(destination, config.token_bytes)
        ticket = data.StructLayout({"place": place_shape, "tag": config.tag_bits})

        m.submodules.sender = sender = AccessScheduler(
            source, config.token_bytes, config.reorder_depth, place_shape,
            bank_cycles=source.read_bank_cycles, recovery_cycles=source.read_recovery_cycles,
            hit_limit=config.hit_limit)
        m.submodules.receiver = receiver = AccessScheduler(
            destination, config.token_bytes, config.write_depth, ticket,
            bank_cycles=destination.write_bank_cycles, recovery_cycles=destination.write_recovery_cycles,
            hit_limit=config.hit_limit)

        # ---- A descriptor takes a place in the buffer ---------------------------------------------------------------
        used, place = Signal(tokens), Signal(place_shape)
        for n in reversed(range(tokens)):
            with m.If(~used[n]):
                m.d.comb += place.eq(n)
        available = ~used.all()
        accepted = self.descriptor.valid & self.descriptor.ready
        m.submodules.targets = targets = Memory(shape=data.StructLayout({**places, "tag": config.tag_bits}),
                                                depth=tokens, init=[])
        target_write, target_read = targets.write_port(), targets.read_port()
        m.d.comb += [
            sender.i.valid.eq(self.descriptor.valid & available),
            self.descriptor.ready.eq(sender.i.ready & available),
            sender.i.p.group.eq(self.descriptor.p.source_group),
            sender.i.p.slot.eq(self.descriptor.p.source_slot),
            sender.i.p.ref.eq(place),
            target_write.en.eq(accepted),
            target_write.addr.eq(place),
            target_write.data.group.eq(self.descriptor.p.destination_group),
            target_write.data.slot.eq(self.descriptor.p.destination_slot),
            target_write.data.tag.eq(self.descriptor.p.tag),
        ]
        taken, freed = Signal(tokens), Signal(tokens)
        m.d.sync += used.eq((used | taken) & ~freed)
        m.d.comb += taken.eq(Mux(accepted, 1 << place, 0))

        # ---- Read commands, and what their data are -----------------------------------------------------------------
        flight = data.StructLayout({"access": len(sender.o.p.access), "last": 1, "place": place_shape})
        m.submodules.flying = flying = StreamFIFO(flight, config.reads_in_flight)
        m.d.comb += [
            self.read.valid.eq(sender.o.valid & flying.i.ready),
            self.read.p.eq(sender.o.p.location),
            flying.i.valid.eq(sender.o.valid & self.read.ready),
            flying.i.p.access.eq(sender.o.p.access),
            flying.i.p.last.eq(sender.o.p.last),
            flying.i.p.place.eq(sender.o.p.ref),
            sender.o.ready.eq(self.read.ready & flying.i.ready),
        ]

        # ---- Re-layout buffer: one port writes what was read, the other reads what is written ------------------------
        words, word = config.token_words, 8 * config.word_bytes
        m.submodules.buffer = buffer = Memory(shape=word, depth=max(2, tokens * words), init=[])
        fill = buffer.write_port(granularity=8 * source.port_bytes)
        drain = buffer.read_port()

        def position(place, access, beat, side):
            """Word of the buffer and, in it, the port's share."""
            accesses = side.layout.accesses_of_token(config.token_bytes)
            number = Cat(beat[:_log(side.beats)], access[:_log(accesses)])
            lane = _log(config.word_bytes // side.port_bytes)
            return Cat(number[lane:], place[:place_bits]), number[:lane]

        beat = Signal(max(1, _log(source.beats)))
        arrives, ends = Signal(), Signal()
        fill_lane = Signal(max(1, _log(config.word_bytes // source.port_bytes)))
        fill_word, lane = position(flying.o.p.place, flying.o.p.access, beat, source)
        m.submodules.complete = complete = StreamFIFO(place_shape, tokens)
        m.d.comb += [
            self.read_data.ready.eq(flying.o.valid),
            arrives.eq(self.read_data.valid & flying.o.valid),
            ends.eq(beat == source.beats - 1),
            flying.o.ready.eq(self.read_data.valid & ends),
            fill.addr.eq(fill_word),
            fill_lane.eq(lane),
            fill.data.eq(self.read_data.payload.replicate(config.word_bytes // source.port_bytes)),
            fill.en.eq(Mux(arrives, 1 << fill_lane, 0)),
            complete.i.valid.eq(arrives & ends & flying.o.p.last),
            complete.i.payload.eq(flying.o.p.place),
        ]
        with m.If(arrives):
            m.d.sync += beat.eq(Mux(ends, 0, beat + 1))

        # ---- A complete token goes to the receiver, with its target --------------------------------------------------
        waiting, fetch = Signal(), Signal()
        whose = Signal(place_shape)
        m.d.comb += [
            fetch.eq(complete.o.valid & (~waiting | receiver.i.ready)),
            complete.o.ready.eq(~waiting | receiver.i.ready),
            target_read.en.eq(fetch),
            target_read.addr.eq(complete.o.payload),
            receiver.i.valid.eq(waiting),
            receiver.i.p.group.eq(target_read.data.group),
            receiver.i.p.slot.eq(target_read.data.slot),
            receiver.i.p.ref.tag.eq(target_read.data.tag),
            receiver.i.p.ref.place.eq(whose),
        ]
        with m.If(complete.o.ready):
            m.d.sync += [waiting.eq(complete.o.valid), whose.eq(complete.o.payload)]

        # ---- Write commands, and the reading of their data -----------------------------------------------------------
        job = data.StructLayout({"access": len(receiver.o.p.access), "last": 1, "ref": ticket})
        m.submodules.jobs = jobs = StreamFIFO(job, 2)
        m.d.comb += [
            self.write.valid.eq(receiver.o.valid & jobs.i.ready),
            self.write.p.eq(receiver.o.p.location),
            jobs.i.valid.eq(receiver.o.valid & self.write.ready),
            jobs.i.p.access.eq(receiver.o.p.access),
            jobs.i.p.last.eq(receiver.o.p.last),
            jobs.i.p.ref.eq(receiver.o.p.ref),
            receiver.o.ready.eq(self.write.ready & jobs.i.ready),
        ]
        out_shape = data.StructLayout({"beat": beat_layout(config), "final": 1, "tag": config.tag_bits})
        m.submodules.out = out = StreamRegister(out_shape)
        out_beat = Signal(max(1, _log(destination.beats)))
        take, out_ends, loaded = Signal(), Signal(), Signal()
        loaded_lane = Signal(max(1, _log(config.word_bytes // destination.port_bytes)))
        loaded_last, loaded_final, loaded_tag = Signal(), Signal(), Signal(config.tag_bits)
        drain_word, drain_lane = position(jobs.o.p.ref.place, jobs.o.p.access, out_beat, destination)
        moves = ~loaded | out.i.ready
        m.d.comb += [
            take.eq(jobs.o.valid & moves),
            out_ends.eq(out_beat == destination.beats - 1),
            jobs.o.ready.eq(moves & out_ends),
            drain.en.eq(take),
            drain.addr.eq(drain_word),
            freed.eq(Mux(take & out_ends & jobs.o.p.last, 1 << jobs.o.p.ref.place, 0)),
            out.i.valid.eq(loaded),
            out.i.p.beat.data.eq(drain.data.word_select(loaded_lane, 8 * destination.port_bytes)),
            out.i.p.beat.last.eq(loaded_last),
            out.i.p.final.eq(loaded_final),
            out.i.p.tag.eq(loaded_tag),
        ]
        with m.If(moves):
            m.d.sync += [loaded.eq(jobs.o.valid), loaded_lane.eq(drain_lane), loaded_last.eq(out_ends),
                         loaded_final.eq(out_ends & jobs.o.p.last), loaded_tag.eq(jobs.o.p.ref.tag)]
        with m.If(take):
            m.d.sync += out_beat.eq(Mux(out_ends, 0, out_beat + 1))

        # ---- Data, and the end of a token ---------------------------------------------------------------------------
        m.submodules.tags = tags = StreamRegister(unsigned(config.tag_bits))
        wiring.connect(m, tags=tags.o, done=wiring.flipped(self.done))
        m.d.comb += [
            self.write_data.valid.eq(out.o.valid & (~out.o.p.final | tags.i.ready)),
            self.write_data.p.eq(out.o.p.beat),
            out.o.ready.eq(self.write_data.ready & (~out.o.p.final | tags.i.ready)),
            tags.i.valid.eq(out.o.valid & out.o.p.final & self.write_data.ready),
            tags.i.payload.eq(out.o.p.tag),
        ]

        if platform == "formal":
            m.d.comb += [
                Assert(~accepted | ~used.bit_select(place, 1), "PamInterface: a place given to a token was free"),
                Assert(~complete.i.valid | complete.i.ready, "PamInterface: a complete token finds room"),
            ]
        return m


def _log(size):
    return (size - 1).bit_length()
