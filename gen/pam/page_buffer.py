# amaranth: UnusedElaboratable=no
"""The shared buffer of PAM's SSD controller: takes pages from flash channels, sends K and V in the units' order."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..blocks.ports import payload
from ..blocks.stream import StreamFIFO, StreamRegister

__all__ = ["PageBuffer"]


def _round_robin(m, requests, name):
    """Grant one of the requests: the next one after the last grant, cyclically. Returns grant bits and its number."""
    count = len(requests)
    last, chosen = (
        Signal(range(max(count, 2)), name=f"{name}_last"),
        Signal(range(max(count, 2)), name=f"{name}_chosen"),
    )
    with m.Switch(last):
        for n in range(count):
            with m.Case(n):
                for k in range(count, 0, -1):
                    with m.If(requests[(n + k) % count]):
                        m.d.comb += chosen.eq((n + k) % count)
    grants = Signal(count, name=f"{name}_grants")
    with m.If(requests.any()):
        m.d.comb += grants.eq(Const(1, count) << chosen)
        m.d.sync += last.eq(chosen)
    return grants, chosen


class PageBuffer(wiring.Component):
    """Holds pages of all channels in one memory with a write port and a synchronous read port, each a beat wide.

    An item on ``page_C`` announces a page of channel C. Its beats follow on ``data_C`` token by token, K before V. A
    complete page leaves on ``kv_N`` of its unit: K, then V chunk by chunk (``page_order`` of the configuration). Pages
    of a channel leave in the order of their arrival. Each channel has its own part of the memory. So a channel whose
    units wait does not delay other channels.

    Timing: over all channels in turns, one beat arrives and one beat leaves per clock. A single channel sends at least
    one beat every four clocks. The first beat of a page leaves five clocks after its last beat was accepted, if the
    ports are free. A row is never read and written at once.

    Parameters
    ----------
    config : :class:`PamSsdControllerConfig`

    Members
    -------
    page_0 ... : ``In(stream.Signature(payload(config.page_layout)))``
    data_0 ... : ``In(stream.Signature(lanes * width))``
    kv_0 ... : ``Out(stream.Signature(lanes * width))``
        Unit n of channel c has the number ``c * sources + n``.
    """

    #: Places of a channel for beats that the read port has read.
    QUEUE = 3

    def __init__(self, config):
        self._config = config
        self._beat = config.processing.lanes * config.processing.io.width
        channels = range(config.groups)
        super().__init__(
            {
                **{f"page_{c}": In(stream.Signature(payload(config.page_layout))) for c in channels},
                **{f"data_{c}": In(stream.Signature(self._beat)) for c in channels},
                **{f"kv_{n}": Out(stream.Signature(self._beat)) for n in range(config.units)},
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        channels, slots, each = config.groups, config.channel_pages, config.reduction.sources
        memory = Memory(shape=self._beat, depth=channels * slots * config.page_beats, init=[])
        m.submodules.memory = memory
        write, read = memory.write_port(), memory.read_port()
        sides = [self._channel(m, c) for c in range(channels)]

        grants, number = _round_robin(m, Cat(side["write"] for side in sides), "write")
        m.d.comb += [
            write.en.eq(grants.any()),
            write.addr.eq(Array(side["write_at"] for side in sides)[number]),
            write.data.eq(Array(side["data"] for side in sides)[number]),
        ]
        for c, side in enumerate(sides):
            m.d.comb += side["written"].eq(grants[c])

        grants, number = _round_robin(m, Cat(side["read"] for side in sides), "read")
        m.d.comb += [read.en.eq(grants.any()), read.addr.eq(Array(side["read_at"] for side in sides)[number])]
        granted = Signal(channels)
        m.d.sync += granted.eq(grants)
        for c, side in enumerate(sides):
            queue = side["queue"]
            unit = Signal(range(max(each, 2)), name=f"unit_{c}")
            m.d.sync += unit.eq(side["unit"])
            m.d.comb += [
                side["taken"].eq(grants[c]),
                queue.i.valid.eq(granted[c]),
                queue.i.p.data.eq(read.data),
                queue.i.p.unit.eq(unit),
            ]
            for n in range(each):
                kv = getattr(self, f"kv_{c * each + n}")
                mine = queue.o.p.unit == n
                m.d.comb += [kv.valid.eq(queue.o.valid & mine), kv.payload.eq(queue.o.p.data)]
                with m.If(mine):
                    m.d.comb += queue.o.ready.eq(kv.ready)
        return m

    def _channel(self, m, c):
        """Counters of a channel: the address of its next write, and the address of its next read."""
        config, slots = self._config, self._config.channel_pages
        page, tokens = payload(config.page_layout), range(max(config.processing.tile_tokens, 2))
        chunks = config.max_head_dim // config.processing.lanes
        base = [(c * slots + slot) * config.page_beats for slot in range(slots)]
        depth = config.groups * slots * config.page_beats

        def signal(shape, name, **options):
            return Signal(shape, name=f"{name}_{c}", **options)

        held, full = signal(range(slots + 1), "held"), signal(range(slots + 1), "full")
        kept = Array(signal(page, f"page_{slot}") for slot in range(slots))
        begins, ends, leaves = (signal(1, name) for name in ("begins", "ends", "leaves"))
        m.d.sync += [held.eq(held + begins - leaves), full.eq(full + ends - leaves)]

        def following(slot):
            return Mux(slot == slots - 1, 0, slot + 1)

        # ---- Writing: beats in the order of arrival -----------------------------------------------------------------
        m.submodules[f"data_{c}"] = register = StreamRegister(self._beat)
        wiring.connect(m, outside=wiring.flipped(getattr(self, f"data_{c}")), register=register.i)
        arrival = getattr(self, f"page_{c}")
        open_, into = signal(1, "open"), signal(range(max(slots, 2)), "into")
        write_at, token = signal(range(depth), "write_at"), signal(tokens, "w_token")
        beat = signal(range(2 * chunks), "w_beat")
        coming = signal(page, "coming")
        written = signal(1, "written")
        token_ends = beat == (coming.chunks << 1) - 1
        m.d.comb += [
            arrival.ready.eq(~open_ & (held != slots)),
            begins.eq(arrival.valid & arrival.ready),
            register.o.ready.eq(written),
            ends.eq(written & token_ends & (token == coming.tokens - 1)),
        ]
        with m.If(begins):
            m.d.sync += [
                open_.eq(1),
                coming.eq(arrival.payload),
                kept[into].eq(arrival.payload),
                token.eq(0),
                beat.eq(0),
                write_at.eq(Array(base)[into]),
            ]
        with m.If(written):
            m.d.sync += [write_at.eq(write_at + 1), beat.eq(Mux(token_ends, 0, beat + 1)), token.eq(token + token_ends)]
        with m.If(ends):
            m.d.sync += [open_.eq(0), into.eq(following(into))]

        # ---- Reading: K in the order of tokens, then V in the order of chunks ---------------------------------------
        out_of = signal(range(max(slots, 2)), "out_of")
        offset, column = signal(range(config.page_beats), "offset"), signal(range(config.page_beats), "column")
        value, taken = signal(1, "value"), signal(1, "taken")
        r_token, r_chunk = signal(tokens, "r_token"), signal(range(max(chunks, 2)), "r_chunk")
        going = signal(page, "going")
        m.d.comb += going.eq(kept[out_of])
        chunk_ends, token_ends = r_chunk == going.chunks - 1, r_token == going.tokens - 1
        credits = signal(range(self.QUEUE + 1), "credits", init=self.QUEUE)
        m.submodules[f"queue_{c}"] = queue = StreamFIFO(
            data.StructLayout({"data": self._beat, "unit": range(max(config.reduction.sources, 2))}), self.QUEUE
        )
        m.d.sync += credits.eq(credits + (queue.o.valid & queue.o.ready) - taken)
        m.d.comb += leaves.eq(taken & value & chunk_ends & token_ends)
        with m.If(taken):
            with m.If(~value):
                m.d.sync += [
                    offset.eq(offset + Mux(chunk_ends, going.chunks + 1, 1)),
                    r_chunk.eq(Mux(chunk_ends, 0, r_chunk + 1)),
                ]
                with m.If(chunk_ends):
                    m.d.sync += r_token.eq(r_token + 1)
                    with m.If(token_ends):
                        m.d.sync += [value.eq(1), r_token.eq(0), offset.eq(going.chunks), column.eq(going.chunks)]
            with m.Else():
                m.d.sync += [offset.eq(offset + (going.chunks << 1)), r_token.eq(r_token + 1)]
                with m.If(token_ends):
                    m.d.sync += [r_token.eq(0), r_chunk.eq(r_chunk + 1), offset.eq(column + 1), column.eq(column + 1)]
                    with m.If(chunk_ends):
                        m.d.sync += [value.eq(0), r_chunk.eq(0), offset.eq(0), out_of.eq(following(out_of))]
        return {
            "write": open_ & register.o.valid,
            "write_at": write_at,
            "data": register.o.payload,
            "written": written,
            "read": (full != 0) & (credits != 0),
            "read_at": Array(base)[out_of] + offset,
            "taken": taken,
            "unit": going.unit,
            "queue": queue,
        }
