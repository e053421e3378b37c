# amaranth: UnusedElaboratable=no
"""PAM's interface between two memories: reads KV tokens in the source's format, writes them in the destination's."""

from typing import NamedTuple

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory

from ...constraints.pam.interface import PamInterfaceConfig
from ..blocks.ports import members, payload
from ..blocks.priority import lowest
from ..blocks.stream import StreamFIFO, StreamRegister
from .scheduler import AccessScheduler, place_fields

__all__ = ["PamInterface"]


class _Shapes:
    """Widths that several steps need, and addresses with these widths.

    Attributes
    ----------
    gathers, scatters : the receiver handles bundles; the sender handles bundles
    bundle_bits, chip_bits : widths of the two parts of a place's number
    bundle, place : shape of a bundle's number; shape of a place's number
    goal : fields of a token's or bundle's target
    ticket : shape of the data that accompany a token or bundle through the receiver
    """

    def __init__(self, config):
        self._config = config
        self.gathers, self.scatters = config.destination.chips > 1, config.source.chips > 1
        self.bundle_bits, self.chip_bits = _log(config.bundles), _log(config.chips)
        self.bundle = unsigned(max(1, self.bundle_bits))
        self.place = data.StructLayout({"bundle": self.bundle, "chip": unsigned(max(1, self.chip_bits))})
        # The tags of a bundle are read at its end.
        tag = {} if self.gathers else {"tag": config.tag_bits}
        self.goal = {**place_fields(config.destination.commands, config.token_bytes), **tag}
        self.ticket = data.StructLayout({"place": self.place, **tag})

    def address(self, place, whole):
        """Number of a place, or with ``whole`` number of its bundle."""
        return Cat(Const(0, 0) if whole else place.chip[: self.chip_bits], place.bundle[: self.bundle_bits])

    def position(self, place, access, beat, side):
        """Word of the buffer, and the position of the port's beat within this word."""
        accesses = side.layout.accesses_of_token(self._config.token_bytes)
        number = Cat(beat[: _log(side.beats)], access[: _log(accesses)])
        lane = _log(self._config.word_bytes // side.port_bytes)
        return Cat(number[lane:], place.bundle[: self.bundle_bits]), number[:lane]


class _Places(NamedTuple):
    """Places by bundle, one bit per chip: taken; given to a token in this clock; free from the next clock on."""

    held: Array
    taken: Array
    freed: Array


class _Entry(NamedTuple):
    """Whether a descriptor is accepted, the place of its token, and whether it is the last of its bundle."""

    accepted: Value
    place: data.View
    last: Value


class _Arrival(NamedTuple):
    """The place of the token whose data arrive, and whether the token is now complete."""

    place: data.View
    whole: Signal


class PamInterface(wiring.Component):
    """Moves KV tokens from one memory to another and changes their layout on the way.

    The unit accepts a token's descriptor when a place in the re-layout buffer and one among the ``reorder_depth`` are
    free. The sender's scheduler chooses the read commands. Their data arrive in the order of the commands. The unit
    writes them to their places in the buffer. A complete token goes to the receiver's scheduler, which chooses the
    write commands by the destination's map. The beats of each write command follow on ``write_data``, in the order of
    the commands. When the last beat of a token has left, its ``tag`` appears on ``done``.

    Where a command reaches the chips of a rank, a *bundle* of tokens shares it. These tokens lie at the same slot of
    the chips' groups. Their descriptors follow each other, and all but the last have ``more``. The last descriptor
    gives the slot in that memory, and the group except for the chip, of the whole bundle. The unit reads a bundle at
    once, or writes it when its last token is complete. ``chips`` of a write has a 1 for every chip that has a token. A
    bundle takes as much of the buffer as a full bundle.

    Every byte of every token is written once, at the address given by the destination's map. Tokens may overtake each
    other. So until a descriptor is done, no other descriptor may read or write the place that it writes.

    Timing: one command and one beat per clock on every port. ``latency`` gives the cycles between events.

    The functional model is ``bankside.models.pam.interface``.

    Source: PAM (MICRO 2025) section 6.2 and Figure 8d.

    Parameters
    ----------
    config : :class:`PamInterfaceConfig`

    Members
    -------
    descriptor, read, read_data, write, write_data, done
        See :meth:`PamInterfaceConfig.ports`. Data follow the order of their commands. The first chip's data are lowest.
    """

    def __init__(self, config):
        if not isinstance(config, PamInterfaceConfig):
            raise TypeError(f"Configuration must be a PamInterfaceConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Cycles between events of a token that is alone in the unit, with all streams ready."""
        return {
            "descriptor_to_read": 3,
            "last_read_data_to_write": StreamFIFO(1, self._config.bundles).latency + 4,
            "write_to_write_data": 3,
            "last_write_data_to_done": 1 if self._config.destination.chips == 1 else 3,
        }

    def elaborate(self, platform):
        m = Module()
        shapes = _Shapes(self._config)
        sender, receiver = self._schedulers(m, shapes)
        places = self._places(shapes)
        entry = self._take_descriptors(m, shapes, sender, places)
        target = self._targets(m, shapes, entry)
        self._count_places(m, entry, places)
        flying = self._read_commands(m, shapes, sender)
        fills, drains = self._buffer(m)
        arrival = self._fill(m, shapes, flying, fills)
        complete = self._complete(m, shapes, entry, places, arrival)
        self._to_receiver(m, shapes, receiver, complete, target, places)
        jobs = self._write_commands(m, shapes, receiver, places)
        out = self._drain(m, shapes, jobs, drains, places)
        self._data_and_ends(m, shapes, out, entry, places)
        if platform == "formal":
            m.d.comb += [
                Assert(
                    ~entry.accepted | ~places.held[entry.place.bundle].bit_select(entry.place.chip, 1),
                    "PamInterface: a place given to a token was free",
                ),
                Assert(~complete.i.valid | complete.i.ready, "PamInterface: a complete token finds room"),
            ]
        return m

    def _schedulers(self, m, shapes):
        """Schedulers of the read commands and of the write commands."""
        config = self._config
        source, destination = config.source, config.destination
        m.submodules.sender = sender = AccessScheduler(
            source.commands,
            config.token_bytes,
            config.reorder_depth,
            shapes.place,
            bank_cycles=source.read_bank_cycles,
            recovery_cycles=source.read_recovery_cycles,
            hit_limit=config.hit_limit,
        )
        m.submodules.receiver = receiver = AccessScheduler(
            destination.commands,
            config.token_bytes,
            config.write_depth,
            shapes.ticket,
            bank_cycles=destination.write_bank_cycles,
            recovery_cycles=destination.write_recovery_cycles,
            hit_limit=config.hit_limit,
        )
        return sender, receiver

    # ---- A descriptor takes a place in the buffer: in a bundle, the place of its chip --------------------------------

    def _places(self, shapes):
        """Signals of the places, by bundle."""
        return _Places(
            *(
                Array(Signal(self._config.chips, name=f"{name}_{n}") for n in range(self._config.bundles))
                for name in ("held", "taken", "freed")
            )
        )

    def _take_descriptors(self, m, shapes, sender, places):
        """A bundle takes the first free place. If the sender reads bundles, the last token starts the reads."""
        config, descriptor = self._config, self.descriptor.p
        place = Signal(shapes.place)
        begun = Signal()
        fresh, available = lowest(m, Cat(~one.any() for one in places.held), "fresh")
        accepted = self.descriptor.valid & self.descriptor.ready
        m.d.comb += place.bundle.eq(fresh)
        last = Const(1)
        if config.chips > 1:
            last = ~descriptor.more
            bundle = Signal(shapes.bundle)
            group = descriptor.source_group if shapes.scatters else descriptor.destination_group
            m.d.comb += place.chip.eq(group[: shapes.chip_bits])
            with m.If(begun):
                m.d.comb += place.bundle.eq(bundle)
            with m.If(accepted):
                m.d.sync += [begun.eq(descriptor.more), bundle.eq(place.bundle)]
            available = available | begun
        to_sender = last if shapes.scatters else Const(1)
        m.d.comb += [
            sender.i.valid.eq(self.descriptor.valid & available & to_sender),
            self.descriptor.ready.eq((sender.i.ready | ~to_sender) & available),
            sender.i.p.group.eq(descriptor.source_group[shapes.chip_bits if shapes.scatters else 0 :]),
            sender.i.p.slot.eq(descriptor.source_slot),
            sender.i.p.ref.eq(place),
        ]
        return _Entry(accepted, place, last)

    def _table(self, m, name, shape, whole, shapes, entry, values):
        """Add a memory with an entry per place, or per bundle (``whole``). Each accepted descriptor writes it.

        Returns the read port.
        """
        depth = self._config.bundles if whole else self._config.buffer_tokens
        m.submodules[name] = memory = Memory(shape=shape, depth=depth, init=[])
        port = memory.write_port()
        m.d.comb += [
            port.en.eq(entry.accepted),
            port.addr.eq(shapes.address(entry.place, whole)),
            Value.cast(port.data).eq(values),
        ]
        return memory.read_port()

    def _targets(self, m, shapes, entry):
        """Table of the targets of tokens or bundles."""
        descriptor = self.descriptor.p
        group = Cat(descriptor.destination_group[shapes.chip_bits if shapes.gathers else 0 :], Const(0, 1))
        goal = [group[: shapes.goal["group"]], descriptor.destination_slot]  # at least a bit
        return self._table(
            m,
            "targets",
            data.StructLayout(shapes.goal),
            shapes.gathers,
            shapes,
            entry,
            Cat(*goal, *([] if shapes.gathers else [descriptor.tag])),
        )

    def _count_places(self, m, entry, places):
        m.d.sync += [one.eq((one | more) & ~less) for one, more, less in zip(*places, strict=True)]
        with m.If(entry.accepted):
            m.d.comb += places.taken[entry.place.bundle].eq(1 << entry.place.chip)

    # ---- Read commands, and the tokens that their data belong to -----------------------------------------------------

    def _read_commands(self, m, shapes, sender):
        """Issue read commands. Returns the queue of read commands whose data have not all arrived."""
        flight = data.StructLayout({"access": len(sender.o.p.access), "last": 1, "place": shapes.place})
        m.submodules.flying = flying = StreamFIFO(flight, self._config.reads_in_flight)
        m.d.comb += [
            self.read.valid.eq(sender.o.valid & flying.i.ready),
            self.read.p.eq(sender.o.p.location),
            flying.i.valid.eq(sender.o.valid & self.read.ready),
            flying.i.p.access.eq(sender.o.p.access),
            flying.i.p.last.eq(sender.o.p.last),
            flying.i.p.place.eq(sender.o.p.ref),
            sender.o.ready.eq(self.read.ready & flying.i.ready),
        ]
        return flying

    # ---- Re-layout buffer: one port stores data from the source, the other reads data for the destination ------------

    def _buffer(self, m):
        """One memory per chip, so that a bundle's tokens are accessed at once. Returns write ports and read ports."""
        config = self._config
        fills, drains = [], []
        for n in range(config.chips):
            m.submodules[f"buffer_{n}" if config.chips > 1 else "buffer"] = buffer = Memory(
                shape=8 * config.word_bytes, depth=max(2, config.bundles * config.token_words), init=[]
            )
            fills.append(buffer.write_port(granularity=8 * config.source.port_bytes))
            drains.append(buffer.read_port())
        return fills, drains

    def _fill(self, m, shapes, flying, fills):
        """Write each beat of data to the place of its bytes in the buffer."""
        config, came = self._config, flying.o.p.place
        source, lanes = config.source, config.word_bytes // config.source.port_bytes
        beat = Signal(max(1, _log(source.beats)))
        arrives = Signal()
        ends = Signal()
        fill_lane = Signal(max(1, _log(lanes)))
        fill_word, lane = shapes.position(came, flying.o.p.access, beat, source)
        m.d.comb += [
            self.read_data.ready.eq(flying.o.valid),
            arrives.eq(self.read_data.valid & flying.o.valid),
            ends.eq(beat == source.beats - 1),
            flying.o.ready.eq(self.read_data.valid & ends),
            fill_lane.eq(lane),
        ]
        for n, fill in enumerate(fills):
            part = self.read_data.payload.word_select(n if shapes.scatters else 0, 8 * source.port_bytes)
            here = arrives if shapes.scatters else arrives & (came.chip == n)
            m.d.comb += [
                fill.addr.eq(fill_word),
                fill.data.eq(part.replicate(lanes)),
                fill.en.eq(Mux(here, 1 << fill_lane, 0)),
            ]
        with m.If(arrives):
            m.d.sync += beat.eq(Mux(ends, 0, beat + 1))
        whole = Signal()
        m.d.comb += whole.eq(arrives & ends & flying.o.p.last)
        return _Arrival(came, whole)

    # ---- Complete tokens and bundles go to the receiver, with their target -------------------------------------------

    def _complete(self, m, shapes, entry, places, arrival):
        """The queue of complete tokens, or of bundles whose tokens are all complete."""
        config, came, whole = self._config, arrival.place, arrival.whole
        m.submodules.complete = complete = StreamFIFO(shapes.place, config.bundles)
        m.d.comb += complete.i.p.eq(came)
        if not shapes.gathers:
            m.d.comb += complete.i.valid.eq(whole)
        else:
            # The token that completes a bundle is its only missing one: all its tokens have been described before.
            missing = Array(Signal(config.chips, name=f"missing_{n}") for n in range(config.bundles))
            closed = Array(Signal(name=f"closed_{n}") for n in range(config.bundles))
            it = Signal(config.chips)
            m.d.comb += it.eq(1 << came.chip)
            finishes = Array(one & (its == it) for one, its in zip(closed, missing, strict=True))
            m.d.comb += complete.i.valid.eq(whole & finishes[came.bundle])
            for n in range(config.bundles):
                m.d.sync += missing[n].eq((missing[n] & ~Mux(whole & (came.bundle == n), it, 0)) | places.taken[n])
            with m.If(entry.accepted):
                m.d.sync += closed[entry.place.bundle].eq(entry.last)
        return complete

    def _to_receiver(self, m, shapes, receiver, complete, target, places):
        """Send complete tokens to the receiver, a clock after reading their target.

        A bundle that was read at once goes token by token.
        """
        waiting = Signal()
        step = Signal()
        whose = Signal(shapes.place)
        following = Signal(shapes.place)
        m.d.comb += [
            step.eq(~waiting | receiver.i.ready),
            following.eq(complete.o.p),
            target.en.eq(complete.o.valid & step),
            target.addr.eq(shapes.address(following, shapes.gathers)),
            complete.o.ready.eq(step),
            receiver.i.valid.eq(waiting),
            receiver.i.p.group.eq(target.data.group),
            receiver.i.p.slot.eq(target.data.slot),
            receiver.i.p.ref.place.eq(whose),
        ]
        if not shapes.gathers:
            m.d.comb += receiver.i.p.ref.tag.eq(target.data.tag)
        if shapes.scatters:
            chip, final = _members(m, "token", places.held[complete.o.p.bundle], complete.o.valid & step)
            m.d.comb += [following.chip.eq(chip), complete.o.ready.eq(step & final)]
        with m.If(step):
            m.d.sync += [waiting.eq(complete.o.valid), whose.eq(following)]

    # ---- Write commands, and reading their data from the buffer ------------------------------------------------------

    def _write_commands(self, m, shapes, receiver, places):
        """Issue write commands. Returns the queue of write commands whose data have not left the buffer."""
        job = data.StructLayout({"access": len(receiver.o.p.access), "last": 1, "ref": shapes.ticket})
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
        if shapes.gathers:
            m.d.comb += self.write.p.chips.eq(places.held[receiver.o.p.ref.place.bundle])
        return jobs

    def _drain(self, m, shapes, jobs, drains, places):
        """Read the beats of a job, a clock after their address. A token's place is free when its last beat is read."""
        config = self._config
        destination, lanes = config.destination, config.word_bytes // config.destination.port_bytes
        out_shape = data.StructLayout({"beat": payload(config.beat_layout), "final": 1, "ref": shapes.ticket})
        m.submodules.out = out = StreamRegister(out_shape)
        out_beat = Signal(max(1, _log(destination.beats)))
        take = Signal()
        out_ends = Signal()
        loaded = Signal()
        loaded_lane = Signal(max(1, _log(lanes)))
        loaded_last = Signal()
        loaded_final = Signal()
        loaded_ref = Signal(shapes.ticket)
        drain_word, drain_lane = shapes.position(jobs.o.p.ref.place, jobs.o.p.access, out_beat, destination)
        moves = ~loaded | out.i.ready
        parts = [drain.data.word_select(loaded_lane, 8 * destination.port_bytes) for drain in drains]
        m.d.comb += [
            take.eq(jobs.o.valid & moves),
            out_ends.eq(out_beat == destination.beats - 1),
            jobs.o.ready.eq(moves & out_ends),
            *(drain.en.eq(take) for drain in drains),
            *(drain.addr.eq(drain_word) for drain in drains),
            out.i.valid.eq(loaded),
            out.i.p.beat.data.eq(
                Cat(parts) if shapes.gathers else Array(parts)[loaded_ref.place.chip[: shapes.chip_bits]]
            ),
            out.i.p.beat.last.eq(loaded_last),
            out.i.p.final.eq(loaded_final),
            out.i.p.ref.eq(loaded_ref),
        ]
        with m.If(moves):
            m.d.sync += [
                loaded.eq(jobs.o.valid),
                loaded_lane.eq(drain_lane),
                loaded_last.eq(out_ends),
                loaded_final.eq(out_ends & jobs.o.p.last),
                loaded_ref.eq(jobs.o.p.ref),
            ]
        with m.If(take):
            m.d.sync += out_beat.eq(Mux(out_ends, 0, out_beat + 1))
        if not shapes.gathers:
            with m.If(take & out_ends & jobs.o.p.last):
                m.d.comb += places.freed[jobs.o.p.ref.place.bundle].eq(1 << jobs.o.p.ref.place.chip)
        return out

    # ---- Data, and the end of a token or bundle -----------------------------------------------------------------------

    def _data_and_ends(self, m, shapes, out, entry, places):
        """Send beats. The tag follows the last beat of a token. All tags of a bundle follow the bundle's last beat."""
        gathers = shapes.gathers
        m.submodules.ended = ended = StreamRegister(shapes.bundle if gathers else unsigned(self._config.tag_bits))
        m.d.comb += [
            self.write_data.valid.eq(out.o.valid & (~out.o.p.final | ended.i.ready)),
            self.write_data.p.eq(out.o.p.beat),
            out.o.ready.eq(self.write_data.ready & (~out.o.p.final | ended.i.ready)),
            ended.i.valid.eq(out.o.valid & out.o.p.final & self.write_data.ready),
            ended.i.payload.eq(out.o.p.ref.place.bundle if gathers else out.o.p.ref.tag),
        ]
        if not gathers:
            wiring.connect(m, ended=ended.o, done=wiring.flipped(self.done))
        else:
            self._tags(m, shapes, ended, entry, places)

    def _tags(self, m, shapes, ended, entry, places):
        """Send the tags of a bundle that has left, one per clock. After the last tag the bundle's place is free."""
        tag_shape = unsigned(self._config.tag_bits)
        tag = self._table(m, "tags", tag_shape, False, shapes, entry, self.descriptor.p.tag)
        m.submodules.out_tags = tags = StreamRegister(tag_shape)
        wiring.connect(m, tags=tags.o, done=wiring.flipped(self.done))
        fetched = Signal()
        fetch = Signal()
        m.d.comb += fetch.eq(~fetched | tags.i.ready)
        chip, final = _members(m, "tag", places.held[ended.o.payload], ended.o.valid & fetch)
        m.d.comb += [
            tag.en.eq(ended.o.valid & fetch),
            tag.addr.eq(Cat(chip, ended.o.payload[: shapes.bundle_bits])),
            ended.o.ready.eq(fetch & final),
            tags.i.valid.eq(fetched),
            tags.i.payload.eq(tag.data),
        ]
        with m.If(fetch):
            m.d.sync += fetched.eq(ended.o.valid)
        with m.If(ended.o.valid & fetch & final):
            m.d.comb += places.freed[ended.o.payload].eq(-1)


def _members(m, name, mask, step):
    """Go through the ones of ``mask``, lowest first, by one with each ``step``. The mask is read in the first step.

    Returns the position of the current one, and whether it is the last.
    """
    walking, left = Signal(name=f"{name}_walking"), Signal(len(mask), name=f"{name}_left")
    now = Signal(len(mask), name=f"{name}_now")
    m.d.comb += now.eq(Mux(walking, left, mask))
    number, _ = lowest(m, now, f"{name}_chip")
    after = now & (now - 1)[: len(mask)]
    with m.If(step):
        m.d.sync += [walking.eq(after.any()), left.eq(after)]
    return number, ~after.any()


def _log(size):
    return (size - 1).bit_length()
