# amaranth: UnusedElaboratable=no
"""INF2's accelerator: GEMV, softmax and GEMV in a shell of AXI4 and AXI4-Lite."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...constraints.inf2.accelerator import Inf2AcceleratorConfig, JobError, MaskKind
from ..blocks.axi import AxiLiteRegisters, AxiReader, AxiWriter, Field
from ..blocks.broadcast import StreamBroadcast
from ..blocks.ports import members
from ..blocks.stream import StreamFIFO, StreamRegister
from .gemv import Inf2Gemv
from .shuffle import TileShuffle
from .softmax import Inf2Softmax

__all__ = ["Inf2Accelerator", "MaskSource", "RowFetcher"]

#: Words of probabilities that can wait for the blocks.
WEIGHTS = 8


class RowFetcher(wiring.Component):
    """Asks the reader for the words of a job, in the order of their use: query, mask, K, V.

    A request has the rows of a tile. It waits until these rows lie in the memory.

    Parameters
    ----------
    config : :class:`Inf2AcceleratorConfig`
    length_bits : :class:`int`
        Width of the number of bytes of a request.

    Members
    -------
    start : ``In(1)``
        A job begins. Its registers stay the same until it ends.
    q, k, v, new_k, new_v, mask, tokens, new_tokens, arrived_k, arrived_v : ``In``
        Registers.
    groups : ``In``
        Words of a row.
    mask_words : ``In``
        Words of the mask, 0 without one.
    request : ``Out(stream.Signature(...))``
        As of :class:`AxiReader`.
    """

    def __init__(self, config, length_bits):
        self._config, self._length_bits = config, length_bits
        address = config.address_bits
        super().__init__(
            {
                "start": In(1),
                **{name: In(address) for name in ("q", "k", "v", "new_k", "new_v", "mask")},
                **{name: In(config.token_bits) for name in ("tokens", "new_tokens")},
                **{name: In(32) for name in ("arrived_k", "arrived_v")},
                "groups": In(range(config.row_words + 1)),
                "mask_words": In(range(config.mask_words + 1)),
                "request": Out(stream.Signature(data.StructLayout({"address": address, "bytes": length_bits}))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        shift = config.word_bytes.bit_length() - 1
        m.submodules.output = output = StreamRegister(self.request.p.shape())
        wiring.connect(m, output.o, wiring.flipped(self.request))
        request = output.i

        # Parts of K and V: rows that were there before, and new ones.
        address, asked, left = Signal(config.address_bits), Signal(config.token_bits), Signal(config.token_bits)
        part, rows, words, there = Signal(2), Signal(range(config.lanes + 1)), Signal(self._length_bits), Signal()
        arrived = Signal(32)
        m.d.comb += [
            rows.eq(Mux(left < config.lanes, left, config.lanes)),
            arrived.eq(Mux(part[1], self.arrived_v, self.arrived_k)),
            there.eq(part[0] | (arrived >= asked + rows)),
        ]

        with m.FSM(name="fetch"):
            with m.State("idle"):
                with m.If(self.start):
                    m.d.sync += address.eq(self.q)
                    m.next = "query"
            with m.State("query"):
                m.d.comb += [
                    request.valid.eq(1),
                    request.p.address.eq(address),
                    request.p.bytes.eq(self.groups << shift),
                ]
                with m.If(request.ready):
                    m.d.sync += address.eq(self.mask)
                    m.next = "mask"
            with m.State("mask"):
                m.d.comb += [
                    request.valid.eq(self.mask_words != 0),
                    request.p.address.eq(address),
                    request.p.bytes.eq(self.mask_words << shift),
                ]
                with m.If(request.ready | (self.mask_words == 0)):
                    m.d.sync += [part.eq(0), address.eq(self.k), asked.eq(0), left.eq(self.tokens)]
                    m.next = "rows"
            with m.State("rows"):
                m.d.sync += words.eq(rows * self.groups)
                with m.If(left == 0):
                    m.d.sync += [
                        part.eq(part + 1),
                        asked.eq(0),
                        left.eq(Mux(part[0], self.tokens, self.new_tokens)),
                        address.eq(Mux(part[1], self.new_v, Mux(part[0], self.v, self.new_k))),
                    ]
                    with m.If(part == 3):
                        m.next = "idle"
                with m.Elif(there):
                    m.next = "request"
            with m.State("request"):
                m.d.comb += [request.valid.eq(1), request.p.address.eq(address), request.p.bytes.eq(words << shift)]
                with m.If(request.ready):
                    m.d.sync += [address.eq(address + (words << shift)), asked.eq(asked + rows), left.eq(left - rows)]
                    m.next = "rows"
        return m


class MaskSource(wiring.Component):
    """The mask of a row of scores, ``lanes`` tokens in a beat.

    Members
    -------
    start : ``In(1)``
        A row begins. ``kind`` and ``edge`` stay the same until it ends. ``edge``: tokens in front of the mask's edge.
    i : ``In(stream.Signature(data_bits))``
        Words of the mask in memory. All of them come before the first beat.
    masked : ``Out(lanes)``
        Bits of the present beat.
    next : ``In(1)``
        The next beat follows.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "kind": In(2),
                "edge": In(config.token_bits),
                "i": In(stream.Signature(config.data_bits)),
                "masked": Out(config.lanes),
                "next": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, lanes = self._config, self._config.lanes
        slices = config.data_bits // lanes
        m.submodules.bits = bits = Memory(shape=config.data_bits, depth=max(config.mask_words, 2), init=[])
        write, read = bits.write_port(), bits.read_port()
        filled, left = Signal.like(write.addr), Signal(config.token_bits)
        beat, coming = (Signal(len(read.addr) + slices.bit_length() - 1, name=name) for name in ("beat", "coming"))
        m.d.comb += [
            self.i.ready.eq(1),
            write.en.eq(self.i.valid),
            write.addr.eq(filled),
            write.data.eq(self.i.payload),
            coming.eq(beat + self.next),
            read.en.eq(1),
            read.addr.eq(coming >> (slices.bit_length() - 1)),
        ]
        with m.If(self.start):
            m.d.sync += [filled.eq(0), beat.eq(0), left.eq(self.edge)]
        with m.Else():
            with m.If(self.i.valid):
                m.d.sync += filled.eq(filled + 1)
            with m.If(self.next):
                m.d.sync += [beat.eq(coming), left.eq(Mux(left < lanes, 0, left - lanes))]
        before, shown = Signal(lanes), Signal(lanes)
        m.d.comb += [
            *(before[n].eq(left > n) for n in range(lanes)),
            shown.eq(read.data.word_select(beat[: slices.bit_length() - 1], lanes)),
        ]
        with m.Switch(self.kind):
            with m.Case(MaskKind.FIRST.value):
                m.d.comb += self.masked.eq(before)
            with m.Case(MaskKind.LAST.value):
                m.d.comb += self.masked.eq(~before)
            with m.Case(MaskKind.BITS.value):
                m.d.comb += self.masked.eq(before & shown)
        return m


class Inf2Accelerator(wiring.Component):
    """Attention of one query over a shard in memory: scores, softmax, output.

    The host writes addresses and sizes into registers, and starts a job. The accelerator reads query, mask, K and V,
    and writes the attention output. It then raises an interrupt. Rows of K and V may still come while the job runs: the
    job reads rows that the host has declared as arrived.

    Scores and probabilities stay in the unit. K and V pass it once, tile by tile, so a shard may be larger than all
    buffers.

    The functional model is ``bankside.models.inf2.accelerator.attention``.

    Source: INF2, accelerator; the shell is this project's.

    Parameters
    ----------
    config : :class:`Inf2AcceleratorConfig`

    Members
    -------
    m_axi_*, s_axi_*, irq
        See :meth:`Inf2AcceleratorConfig.ports`.
    """

    def __init__(self, config):
        if not isinstance(config, Inf2AcceleratorConfig):
            raise TypeError(f"Configuration must be an Inf2AcceleratorConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies of the parts, in cycles."""
        return {f"gemv_{name}": cycles for name, cycles in Inf2Gemv(self._config.gemv).latency.items()}

    def _bus(self, m, name, part):
        """Connect the bus of a part to the ports of the unit."""
        bus = getattr(part, name)
        for member, one in bus.signature.members.items():
            outer, inner = getattr(self, f"{name}_{member}"), getattr(bus, member)
            m.d.comb += outer.eq(inner) if one.flow is Out else inner.eq(outer)

    def elaborate(self, platform):
        m = Module()
        config = self._config
        lanes, blocks, shift = config.lanes, config.gemv.blocks, config.lanes.bit_length() - 1
        word_bytes, words = config.word_bytes, range(config.row_words + 1)
        tokens, tiles = config.token_bits, range(config.gemv.tiles(config.max_tokens) + 1)
        length_bits = (max(lanes * config.row_words, config.mask_words) * word_bytes).bit_length()

        m.submodules.registers = registers = AxiLiteRegisters(
            [Field(**one._asdict()) for one in config.registers],
            address_bits=config.lite_bits,
            interrupts={"events": "enable"},
        )
        bus = {"address_bits": config.address_bits, "data_bits": config.data_bits, "id_bits": config.id_bits}
        m.submodules.reader = reader = AxiReader(
            **bus, length_bits=length_bits, burst=config.burst, outstanding=config.outstanding, depth=config.read_words
        )
        written = min(config.burst, config.row_words)
        m.submodules.writer = writer = AxiWriter(
            **bus, length_bits=length_bits, burst=written, outstanding=2, depth=2 * written
        )
        for name, part in (("s_axi", registers), ("m_axi", reader), ("m_axi", writer)):
            self._bus(m, name, part)
        m.d.comb += self.irq.eq(registers.irq)

        # Sizes of the job, from the registers. They are correct from two cycles after `start` on.
        row, groups, row_tiles, edge, mask_words = (
            Signal(shape, name=name)
            for shape, name in (
                (33, "row"),
                (words, "groups"),
                (tiles, "row_tiles"),
                (tokens, "edge"),
                (range(config.mask_words + 1), "mask_words"),
            )
        )
        kind, r = registers.mask_kind, registers
        m.d.sync += [
            row.eq(r.tokens + r.new_tokens),
            groups.eq((r.head_dim + (lanes - 1)) >> shift),
            row_tiles.eq((row + (lanes - 1)) >> shift),
            edge.eq(Mux(kind == MaskKind.LAST.value, row - r.mask_length, r.mask_length)),
            mask_words.eq(
                Mux(
                    kind == MaskKind.BITS.value,
                    (r.mask_length + (config.data_bits - 1)) >> (config.data_bits.bit_length() - 1),
                    0,
                )
            ),
        ]
        low = word_bytes.bit_length() - 1
        unaligned = Cat(getattr(r, name)[:low] for name in ("q", "k", "v", "output")).any()
        unaligned |= Cat(r.new_k[:low], r.new_v[:low]).any() & r.new_tokens.any()
        unaligned |= r.mask[:low].any() & (kind == MaskKind.BITS.value)
        wrong = Signal(4)
        with m.If(unaligned):
            m.d.comb += wrong.eq(JobError.ADDRESS)
        with m.Elif((row == 0) | (row > config.max_tokens)):
            m.d.comb += wrong.eq(JobError.TOKENS)
        with m.Elif((r.head_dim == 0) | (r.head_dim > config.max_head_dim)):
            m.d.comb += wrong.eq(JobError.HEAD_DIM)
        with m.Elif((kind != MaskKind.NONE.value) & (r.mask_length > row)):
            m.d.comb += wrong.eq(JobError.MASK)

        # The job.
        begins, runs, ends, failed = Signal(), Signal(), Signal(), Signal()
        offered, dropped = Signal(), Signal()  # output of the job; the last of one that failed
        turn, turn_sv = (Signal(range(max(blocks, 2)), name=name) for name in ("turn", "turn_sv"))
        status = writer.status
        reason = Mux(failed, JobError.READ, Mux(status.p.error, JobError.WRITE, JobError.NONE))
        m.d.comb += [status.ready.eq(runs), ends.eq((status.valid & runs) | dropped)]
        with m.FSM(name="job"):
            with m.State("idle"):
                with m.If(r.start):
                    m.d.sync += [r.busy.eq(1), r.cycles.eq(0), failed.eq(0)]
                    m.next = "sizes"
            with m.State("sizes"):
                m.next = "tiles"
            with m.State("tiles"):
                m.next = "check"
            with m.State("check"):
                with m.If(wrong != 0):
                    m.d.comb += r.events_set.eq(0b10)
                    m.d.sync += [r.error.eq(wrong), r.busy.eq(0)]
                    m.next = "idle"
                with m.Else():
                    m.d.comb += begins.eq(1)
                    m.d.sync += turn_sv.eq(turn + row_tiles)
                    m.next = "run"
            with m.State("run"):
                m.d.comb += runs.eq(1)
                with m.If(ends):
                    m.d.comb += r.events_set.eq(Mux(reason != 0, 0b10, 0b01))
                    m.d.sync += [r.error.eq(reason), r.busy.eq(0)]
                    if blocks > 1:
                        m.d.sync += turn.eq(turn_sv + groups)
                    m.next = "idle"
        with m.If(r.busy):
            m.d.sync += r.cycles.eq(r.cycles + 1)

        m.submodules.fetcher = fetcher = RowFetcher(config, length_bits)
        wiring.connect(m, fetcher.request, reader.request)
        m.d.comb += [
            fetcher.start.eq(begins),
            fetcher.groups.eq(groups),
            fetcher.mask_words.eq(mask_words),
            *(
                getattr(fetcher, name).eq(getattr(r, name))
                for name in ("q", "k", "v", "new_k", "new_v", "mask", "tokens", "new_tokens", "arrived_k", "arrived_v")
            ),
        ]

        # Commands to the parts: one each, two for the products.
        m.submodules.gemv = gemv = Inf2Gemv(config.gemv)
        m.submodules.shuffle = shuffle = TileShuffle(
            word_bits=config.data_bits, lanes=lanes, groups=config.row_words, blocks=blocks, token_bits=tokens
        )
        m.submodules.softmax = softmax = Inf2Softmax(config.softmax)
        seen = Signal()
        m.d.sync += seen.eq(~begins & (seen | offered))
        for name, port, count in (
            ("products", gemv.command, 2),
            ("tiles", shuffle.job, 2),
            ("row", softmax.row, 1),
            ("write", writer.request, 1),
        ):
            left = Signal(range(count + 1), name=f"{name}_left")
            m.d.comb += port.valid.eq((left != 0) & (seen if name == "write" else 1))
            with m.If(begins):
                m.d.sync += left.eq(count)
            with m.Elif(port.valid & port.ready):
                m.d.sync += left.eq(left - 1)
            second = left == 1
            if name == "products":
                m.d.comb += [Value.cast(port.p.mode).eq(second), port.p.tokens.eq(row), port.p.head_dim.eq(r.head_dim)]
            elif name == "tiles":
                m.d.comb += [
                    port.p.tokens.eq(row),
                    port.p.groups.eq(groups),
                    port.p.spread.eq(second),
                    port.p.block.eq(Mux(second, turn_sv, turn)),
                ]
            elif name == "row":
                m.d.comb += port.p.tokens.eq(row)
            else:
                m.d.comb += [port.p.address.eq(r.output), port.p.bytes.eq(r.head_dim * (config.gemv.io.width // 8))]

        self._route(
            m,
            reader.data,
            shuffle,
            gemv,
            softmax,
            begins=begins,
            failed=failed,
            mask=(kind, edge, mask_words),
            groups=groups,
            row_tiles=row_tiles,
            turns=(turn, turn_sv),
            output=writer.data,
            offered=offered,
            dropped=dropped,
        )
        return m

    def _route(
        self,
        m,
        source,
        shuffle,
        gemv,
        softmax,
        *,
        begins,
        failed,
        mask,
        groups,
        row_tiles,
        turns,
        output,
        offered,
        dropped,
    ):
        """Words of the memory to the parts, and the results of the parts to each other."""
        config = self._config
        lanes, blocks = config.lanes, config.gemv.blocks
        width, wide = config.gemv.io.width, config.softmax.lanes // lanes
        kind, edge, mask_words = mask
        m.submodules.mask = masks = MaskSource(config)
        m.submodules.vectors = vectors = StreamBroadcast(lanes * width, blocks)
        m.d.comb += [masks.start.eq(begins), masks.kind.eq(kind), masks.edge.eq(edge)]

        # Consumers of a vector: the blocks with an output tile.
        def chosen(first, count):
            return (
                Cat((Const(n, first.shape()) - first)[: len(first)] < count for n in range(blocks))
                if blocks > 1
                else Const(1, 1)
            )

        # Words that come from the memory: query, mask, then K and V.
        with m.If(source.valid & source.ready & source.p.error):
            m.d.sync += failed.eq(1)
        query, bits, rows = Signal(), Signal(), Signal()
        m.d.comb += shuffle.i.payload.eq(source.p.data)
        m.d.comb += masks.i.payload.eq(source.p.data)
        weights = self._weights(m, softmax, begins, row_tiles)
        m.d.comb += [
            vectors.i.valid.eq(Mux(query, source.valid, weights.valid)),
            vectors.i.p.item.eq(Mux(query, source.p.data, weights.payload)),
            vectors.i.p.select.eq(Mux(query, chosen(turns[0], row_tiles), chosen(turns[1], groups))),
            weights.ready.eq(vectors.i.ready & ~query),
            masks.i.valid.eq(bits & source.valid),
            shuffle.i.valid.eq(rows & source.valid),
            source.ready.eq((query & vectors.i.ready) | (bits & masks.i.ready) | (rows & shuffle.i.ready)),
        ]
        done = source.valid & source.ready & source.p.last
        with m.If(begins):
            m.d.sync += [query.eq(1), bits.eq(0), rows.eq(0)]
        with m.Elif(query & done):
            m.d.sync += [query.eq(0), bits.eq(mask_words != 0), rows.eq(mask_words == 0)]
        with m.Elif(bits & done):
            m.d.sync += [bits.eq(0), rows.eq(1)]

        taken = []
        for n in range(blocks):
            m.submodules[f"rows_{n}"] = matrix = StreamRegister(config.data_bits)
            wiring.connect(m, matrix.o, getattr(gemv, f"matrix_{n}"))
            wiring.connect(m, getattr(vectors, f"o_{n}"), getattr(gemv, f"vector_{n}"))
            mine = shuffle.o.p.block == n
            m.d.comb += [matrix.i.valid.eq(shuffle.o.valid & mine), matrix.i.payload.eq(shuffle.o.p.word)]
            taken.append(mine & matrix.i.ready)
        m.d.comb += shuffle.o.ready.eq(Cat(*taken).any())

        # Scores go to the softmax, `wide` beats together, the attention output to the memory.
        scores, place = Signal(), Signal(range(max(wide, 2)))
        beats = Signal(lanes * width * wide)
        hidden = Signal(lanes * wide)
        m.submodules.scores = queue = StreamFIFO(data.StructLayout({"data": len(beats), "mask": len(hidden)}), 2)
        whole, moves = Signal(), Signal()
        result = gemv.result
        held, held_bits = Signal(lanes * width * max(wide - 1, 1)), Signal(lanes * max(wide - 1, 1))
        m.d.comb += [
            whole.eq((place == wide - 1) | result.p.last),
            queue.i.valid.eq(scores & result.valid & whole),
            # All words have come before the first output. If one had an error, the output is dropped.
            offered.eq(~scores & result.valid & ~failed),
            dropped.eq(~scores & result.valid & failed & result.p.last),
            output.valid.eq(offered),
            output.payload.eq(result.p.data),
            result.ready.eq(Mux(scores, ~whole | queue.i.ready, failed | output.ready)),
            moves.eq(scores & result.valid & result.ready),
            masks.next.eq(moves),
        ]
        with m.Switch(place):
            for n in range(wide):
                with m.Case(n):
                    m.d.comb += [
                        queue.i.p.data.eq(Cat(held[: n * lanes * width], result.p.data)),
                        queue.i.p.mask.eq(Cat(held_bits[: n * lanes], masks.masked)),
                    ]
                    if n < wide - 1:
                        with m.If(moves):
                            m.d.sync += [
                                held.word_select(n, lanes * width).eq(result.p.data),
                                held_bits.word_select(n, lanes).eq(masks.masked),
                            ]
        with m.If(begins):
            m.d.sync += [scores.eq(1), place.eq(0)]
        with m.Elif(moves):
            m.d.sync += [place.eq(Mux(whole, 0, place + 1)), scores.eq(~result.p.last)]
        m.d.comb += [
            softmax.score.valid.eq(queue.o.valid),
            queue.o.ready.eq(softmax.score.ready),
            softmax.score.p.data.eq(queue.o.p.data),
            softmax.score.p.mask.eq(queue.o.p.mask),
        ]

    def _weights(self, m, softmax, begins, row_tiles):
        """Stream of the probabilities, ``lanes`` in a beat."""
        config = self._config
        lanes, width = config.lanes, config.gemv.io.width
        wide = config.softmax.lanes // lanes
        m.submodules.weights = queue = StreamFIFO(lanes * width, WEIGHTS)
        left, place, moves, last = Signal.like(row_tiles), Signal(range(max(wide, 2))), Signal(), Signal()
        result = softmax.result
        m.d.comb += [
            last.eq((place == wide - 1) | (left == 1)),
            queue.i.valid.eq(result.valid),
            queue.i.payload.eq(result.p.data.word_select(place, lanes * width)),
            moves.eq(queue.i.valid & queue.i.ready),
            result.ready.eq(moves & last),
        ]
        with m.If(begins):
            m.d.sync += left.eq(row_tiles)
        with m.Elif(moves):
            m.d.sync += [left.eq(left - 1), place.eq(Mux(last, 0, place + 1))]
        return queue.o
