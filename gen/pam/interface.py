# amaranth: UnusedElaboratable=no
"""PAM's interface between two memories: KV tokens are read in the source's format and written in the destination's."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...constraints.units.pam_interface import PamInterfaceConfig
from ..blocks.priority import lowest
from ..blocks.stream import StreamFIFO, StreamRegister
from .scheduler import AccessScheduler, location_layout, place_fields

__all__ = ["PamInterface", "beat_layout", "descriptor_layout", "write_layout"]


def descriptor_layout(config):
    """One token to move: its place in the source, its place in the destination, and a name for its completion."""
    source, destination = (place_fields(side, config.token_bytes) for side in (config.source, config.destination))
    return data.StructLayout({
        **{f"source_{name}": bits for name, bits in source.items()},
        **{f"destination_{name}": bits for name, bits in destination.items()},
        "tag": config.tag_bits,
        **({"more": 1} if config.chips > 1 else {}),
    })


def write_layout(config):
    """Where a write goes; in which chips, where a command reaches several."""
    side = config.destination
    fields = {name: field.shape for name, field in location_layout(side.commands)}
    return data.StructLayout({**fields, **({"chips": side.chips} if side.chips > 1 else {})})


def beat_layout(config):
    """Beat of the data to write, ``last`` of its command."""
    return data.StructLayout({"data": 8 * config.destination.port_bytes * config.destination.chips, "last": 1})


class PamInterface(wiring.Component):
    """Moves KV tokens from one memory to another and changes their layout on the way.

    A token's descriptor is taken when a place in the re-layout buffer and one among the ``reorder_depth`` are free. The
    sender's scheduler chooses the read commands; their data come back in the order of the commands and are written to the
    buffer where the token's bytes belong. A complete token goes to the receiver's scheduler, which chooses the write
    commands by the destination's map; each is followed on ``write_data`` by its beats, in the order of the commands. When
    the last beat of a token has left, its ``tag`` appears on ``done``.

    Where a command reaches the chips of a rank, a *bundle* of tokens shares it: those at the same slot of the chips'
    groups. They are described one after the other, all but the last with ``more``; the group but for the chip and the slot
    in that memory are those of the last. A bundle is read at once, or written when its last token is complete; ``chips``
    of a write has a 1 for every chip that has a token. It takes as much of the buffer as a full one.

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
    read : ``Out(stream.Signature(location_layout(config.source.commands)))``
        Read commands.
    read_data : ``In(stream.Signature(8 * config.source.port_bytes * config.source.chips))``
        Their data, in the order of the commands, the first chip's lowest.
    write : ``Out(stream.Signature(write_layout(config)))``
        Write commands.
    write_data : ``Out(stream.Signature(beat_layout(config)))``
        Their data, in the order of the commands.
    done : ``Out(stream.Signature(config.tag_bits))``
        Tags of tokens whose last beat has left.
    """

    _PLACE = {"group": "group (HBM: pseudo-channel, rank, bank group; DDR: rank, bank group; SSD: channel)",
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
                "more": "the next descriptor is of the same bundle: same commands in the memory with several chips",
            },
        },
        "read": {"payload": "a read command", "fields": _PLACE},
        "read_data": {"payload": "data read, first byte lowest, in the order of the commands"},
        "write": {"payload": "a write command", "fields": {**_PLACE, "chips": "chips that are written"}},
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
            "read": Out(stream.Signature(location_layout(config.source.commands))),
            "read_data": In(stream.Signature(8 * config.source.port_bytes * config.source.chips)),
            "write": Out(stream.Signature(write_layout(config))),
            "write_data": Out(stream.Signature(beat_layout(config))),
            "done": Out(stream.Signature(config.tag_bits)),
        })

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Cycles between events of a token alone in the unit, with all streams ready."""
        return {
            "descriptor_to_read": 3,
            "last_read_data_to_write": StreamFIFO(1, self._config.bundles).latency + 4,
            "write_to_write_data": 3,
            "last_write_data_to_done": 1 if self._config.destination.chips == 1 else 3,
        }

    def elaborate(self, platform):
        m = Module()
        config = self._config
        source, destination, chips = config.source, config.destination, config.chips
        gathers, scatters = destination.chips > 1, source.chips > 1  # bundles at the receiver, at the sender
        bundle_bits, chip_bits = _log(config.bundles), _log(chips)
        bundle_shape, chip_shape = unsigned(max(1, bundle_bits)), unsigned(max(1, chip_bits))
        place_shape = data.StructLayout({"bundle": bundle_shape, "chip": chip_shape})
        goal_shape = place_fields(destination.commands, config.token_bytes)
        if not gathers:  # else the tags of a bundle are fetched at its end
            goal_shape["tag"] = config.tag_bits
        ticket = data.StructLayout({"place": place_shape, **({} if gathers else {"tag": config.tag_bits})})

        m.submodules.sender = sender = AccessScheduler(
            source.commands, config.token_bytes, config.reorder_depth, place_shape,
            bank_cycles=source.read_bank_cycles, recovery_cycles=source.read_recovery_cycles,
            hit_limit=config.hit_limit)
        m.submodules.receiver = receiver = AccessScheduler(
            destination.commands, config.token_bytes, config.write_depth, ticket,
            bank_cycles=destination.write_bank_cycles, recovery_cycles=destination.write_recovery_cycles,
            hit_limit=config.hit_limit)

        # ---- A descriptor takes a place in the buffer: that of its chip in a bundle -----------------------------------
        held = Array(Signal(chips, name=f"held_{n}") for n in range(config.bundles))  # places taken
        place, begun = Signal(place_shape), Signal()
        fresh, available = lowest(m, Cat(~one.any() for one in held), "fresh")
        descriptor = self.descriptor.p
        accepted = self.descriptor.valid & self.descriptor.ready
        m.d.comb += place.bundle.eq(fresh)
        last = Const(1)
        if chips > 1:
            last = ~descriptor.more
            bundle = Signal(bundle_shape)
            m.d.comb += place.chip.eq((descriptor.source_group if scatters else descriptor.destination_group)[:chip_bits])
            with m.If(begun):
                m.d.comb += place.bundle.eq(bundle)
            with m.If(accepted):
                m.d.sync += [begun.eq(descriptor.more), bundle.eq(place.bundle)]
            available = available | begun
        to_sender = last if scatters else Const(1)
        m.d.comb += [
            sender.i.valid.eq(self.descriptor.valid & available & to_sender),
            self.descriptor.ready.eq((sender.i.ready | ~to_sender) & available),
            sender.i.p.group.eq(descriptor.source_group[chip_bits if scatters else 0:]),
            sender.i.p.slot.eq(descriptor.source_slot),
            sender.i.p.ref.eq(place),
        ]

        def address(place, whole):
            """Number of a place, or of its bundle."""
            return Cat(Const(0, 0) if whole else place.chip[:chip_bits], place.bundle[:bundle_bits])

        def table(name, shape, whole, values):
            """Memory by place or by bundle, written when a descriptor is taken; its read port."""
            depth = config.bundles if whole else config.buffer_tokens
            m.submodules[name] = memory = Memory(shape=shape, depth=depth, init=[])
            port = memory.write_port()
            m.d.comb += [port.en.eq(accepted), port.addr.eq(address(place, whole)), Value.cast(port.data).eq(values)]
            return memory.read_port()

        goal = [descriptor.destination_group[chip_bits if gathers else 0:], descriptor.destination_slot]
        goal[0] = Cat(goal[0], Const(0, 1))[:goal_shape["group"]]  # at least a bit
        target = table("targets", data.StructLayout(goal_shape), gathers,
                       Cat(*goal, *([] if gathers else [descriptor.tag])))
        taken, freed = (Array(Signal(chips, name=f"{name}_{n}") for n in range(config.bundles))
                        for name in ("taken", "freed"))
        m.d.sync += [one.eq((one | more) & ~less) for one, more, less in zip(held, taken, freed, strict=True)]
        with m.If(accepted):
            m.d.comb += taken[place.bundle].eq(1 << place.chip)

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
        # A memory for each chip, so that a bundle's tokens are accessed at once.
        words, word = config.token_words, 8 * config.word_bytes
        fills, drains = [], []
        for n in range(chips):
            m.submodules[f"buffer_{n}" if chips > 1 else "buffer"] = buffer = Memory(
                shape=word, depth=max(2, config.bundles * words), init=[])
            fills.append(buffer.write_port(granularity=8 * source.port_bytes))
            drains.append(buffer.read_port())

        def position(place, access, beat, side):
            """Word of the buffer and, in it, the port's share."""
            accesses = side.layout.accesses_of_token(config.token_bytes)
            number = Cat(beat[:_log(side.beats)], access[:_log(accesses)])
            lane = _log(config.word_bytes // side.port_bytes)
            return Cat(number[lane:], place.bundle[:bundle_bits]), number[:lane]

        beat = Signal(max(1, _log(source.beats)))
        arrives, ends = Signal(), Signal()
        fill_lane = Signal(max(1, _log(config.word_bytes // source.port_bytes)))
        fill_word, lane = position(flying.o.p.place, flying.o.p.access, beat, source)
        came = flying.o.p.place
        m.submodules.complete = complete = StreamFIFO(place_shape, config.bundles)
        m.d.comb += [
            self.read_data.ready.eq(flying.o.valid),
            arrives.eq(self.read_data.valid & flying.o.valid),
            ends.eq(beat == source.beats - 1),
            flying.o.ready.eq(self.read_data.valid & ends),
            fill_lane.eq(lane),
            complete.i.p.eq(came),
        ]
        for n, fill in enumerate(fills):
            part = self.read_data.payload.word_select(n if scatters else 0, 8 * source.port_bytes)
            here = arrives if scatters else arrives & (came.chip == n)
            m.d.comb += [
                fill.addr.eq(fill_word),
                fill.data.eq(part.replicate(config.word_bytes // source.port_bytes)),
                fill.en.eq(Mux(here, 1 << fill_lane, 0)),
            ]
        with m.If(arrives):
            m.d.sync += beat.eq(Mux(ends, 0, beat + 1))
        whole = Signal()
        m.d.comb += whole.eq(arrives & ends & flying.o.p.last)
        if not gathers:
            m.d.comb += complete.i.valid.eq(whole)
        else:
            # The token that completes a bundle is also its last, as all are described before.
            missing = Array(Signal(chips, name=f"missing_{n}") for n in range(config.bundles))
            closed = Array(Signal(name=f"closed_{n}") for n in range(config.bundles))
            it = Signal(chips)
            m.d.comb += it.eq(1 << came.chip)
            finishes = Array(one & (its == it) for one, its in zip(closed, missing, strict=True))
            m.d.comb += complete.i.valid.eq(whole & finishes[came.bundle])
            for n in range(config.bundles):
                m.d.sync += missing[n].eq((missing[n] & ~Mux(whole & (came.bundle == n), it, 0)) | taken[n])
            with m.If(accepted):
                m.d.sync += closed[place.bundle].eq(last)

        # ---- What is complete goes to the receiver, with its target ---------------------------------------------------
        waiting, step = Signal(), Signal()
        whose = Signal(place_shape)
        following = Signal(place_shape)
        m.d.comb += [
            step.eq(~waiting | receiver.i.ready),
            following.eq(complete.o.p),
            target.en.eq(complete.o.valid & step),
            target.addr.eq(address(following, gathers)),
            complete.o.ready.eq(step),
            receiver.i.valid.eq(waiting),
            receiver.i.p.group.eq(target.data.group),
            receiver.i.p.slot.eq(target.data.slot),
            receiver.i.p.ref.place.eq(whose),
        ]
        if not gathers:
            m.d.comb += receiver.i.p.ref.tag.eq(target.data.tag)
        if scatters:
            chip, final = _members(m, "token", held[complete.o.p.bundle], complete.o.valid & step)
            m.d.comb += [following.chip.eq(chip), complete.o.ready.eq(step & final)]
        with m.If(step):
            m.d.sync += [waiting.eq(complete.o.valid), whose.eq(following)]

        # ---- Write commands, and the reading of their data -----------------------------------------------------------
        job = data.StructLayout({"access": len(receiver.o.p.access), "last": 1, "ref": ticket})
        m.submodules.jobs = jobs = StreamFIFO(job, 2)
        m.d.comb += [
            self.write.valid.eq(receiver.o.valid & jobs.i.ready),
            *(self.write.p[name].eq(receiver.o.p.location[name]) for name, _ in receiver.o.p.location.shape()),
            jobs.i.valid.eq(receiver.o.valid & self.write.ready),
            jobs.i.p.access.eq(receiver.o.p.access),
            jobs.i.p.last.eq(receiver.o.p.last),
            jobs.i.p.ref.eq(receiver.o.p.ref),
            receiver.o.ready.eq(self.write.ready & jobs.i.ready),
        ]
        if gathers:
            m.d.comb += self.write.p.chips.eq(held[receiver.o.p.ref.place.bundle])
        out_shape = data.StructLayout({"beat": beat_layout(config), "final": 1, "ref": ticket})
        m.submodules.out = out = StreamRegister(out_shape)
        out_beat = Signal(max(1, _log(destination.beats)))
        take, out_ends, loaded = Signal(), Signal(), Signal()
        loaded_lane = Signal(max(1, _log(config.word_bytes // destination.port_bytes)))
        loaded_last, loaded_final, loaded_ref = Signal(), Signal(), Signal(ticket)
        drain_word, drain_lane = position(jobs.o.p.ref.place, jobs.o.p.access, out_beat, destination)
        moves = ~loaded | out.i.ready
        parts = [drain.data.word_select(loaded_lane, 8 * destination.port_bytes) for drain in drains]
        m.d.comb += [
            take.eq(jobs.o.valid & moves),
            out_ends.eq(out_beat == destination.beats - 1),
            jobs.o.ready.eq(moves & out_ends),
            *(drain.en.eq(take) for drain in drains),
            *(drain.addr.eq(drain_word) for drain in drains),
            out.i.valid.eq(loaded),
            out.i.p.beat.data.eq(Cat(parts) if gathers else Array(parts)[loaded_ref.place.chip[:chip_bits]]),
            out.i.p.beat.last.eq(loaded_last),
            out.i.p.final.eq(loaded_final),
            out.i.p.ref.eq(loaded_ref),
        ]
        with m.If(moves):
            m.d.sync += [loaded.eq(jobs.o.valid), loaded_lane.eq(drain_lane), loaded_last.eq(out_ends),
                         loaded_final.eq(out_ends & jobs.o.p.last), loaded_ref.eq(jobs.o.p.ref)]
        with m.If(take):
            m.d.sync += out_beat.eq(Mux(out_ends, 0, out_beat + 1))

        # ---- Data, and the end of a token or bundle -------------------------------------------------------------------
        m.submodules.ended = ended = StreamRegister(bundle_shape if gathers else unsigned(config.tag_bits))
        m.d.comb += [
            self.write_data.valid.eq(out.o.valid & (~out.o.p.final | ended.i.ready)),
            self.write_data.p.eq(out.o.p.beat),
            out.o.ready.eq(self.write_data.ready & (~out.o.p.final | ended.i.ready)),
            ended.i.valid.eq(out.o.valid & out.o.p.final & self.write_data.ready),
            ended.i.payload.eq(out.o.p.ref.place.bundle if gathers else out.o.p.ref.tag),
        ]
        if not gathers:
            wiring.connect(m, ended=ended.o, done=wiring.flipped(self.done))
            with m.If(take & out_ends & jobs.o.p.last):
                m.d.comb += freed[jobs.o.p.ref.place.bundle].eq(1 << jobs.o.p.ref.place.chip)
        else:
            tag = table("tags", unsigned(config.tag_bits), False, descriptor.tag)
            m.submodules.out_tags = tags = StreamRegister(unsigned(config.tag_bits))
            wiring.connect(m, tags=tags.o, done=wiring.flipped(self.done))
            fetched, fetch = Signal(), Signal()
            m.d.comb += fetch.eq(~fetched | tags.i.ready)
            chip, final = _members(m, "tag", held[ended.o.payload], ended.o.valid & fetch)
            m.d.comb += [
                tag.en.eq(ended.o.valid & fetch),
                tag.addr.eq(Cat(chip, ended.o.payload[:bundle_bits])),
                ended.o.ready.eq(fetch & final),
                tags.i.valid.eq(fetched),
                tags.i.payload.eq(tag.data),
            ]
            with m.If(fetch):
                m.d.sync += fetched.eq(ended.o.valid)
            with m.If(ended.o.valid & fetch & final):
                m.d.comb += freed[ended.o.payload].eq(-1)

        if platform == "formal":
            m.d.comb += [
                Assert(~accepted | ~held[place.bundle].bit_select(place.chip, 1),
                       "PamInterface: a place given to a token was free"),
                Assert(~complete.i.valid | complete.i.ready, "PamInterface: a complete token finds room"),
            ]
        return m


def _members(m, name, mask, step):
    """Ones of ``mask`` one after the other, lowest first, with each ``step``: number of this one, and whether it is the
    last. The mask is looked at in the first step."""
    walking, left, now = Signal(name=f"{name}_walking"), Signal(len(mask), name=f"{name}_left"), Signal(len(mask))
    number = Signal(range(len(mask)), name=f"{name}_chip")
    after = now & (now - 1)[:len(mask)]
    m.d.comb += now.eq(Mux(walking, left, mask))
    for n in reversed(range(len(mask))):
        with m.If(now[n]):
            m.d.comb += number.eq(n)
    with m.If(step):
        m.d.sync += [walking.eq(after.any()), left.eq(after)]
    return number, ~after.any()


def _log(size):
    return (size - 1).bit_length()
