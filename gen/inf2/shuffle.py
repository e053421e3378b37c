# amaranth: UnusedElaboratable=no
"""Rows of K and V as they lie in memory, in the order in which a GEMV block takes them."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..blocks.stream import StreamRegister

__all__ = ["TileShuffle"]


class TileShuffle(wiring.Component):
    """Takes words token by token, and gives them tile by tile. A tile has ``lanes`` tokens. It leaves as the first words
    of all its tokens, then their second words, and so on.

    A buffer of two tiles lets the next tokens come while the words of the earlier ones leave.

    Timing: a word in and a word out per cycle. A tile leaves from two cycles after its last word came.

    Parameters
    ----------
    word_bits : :class:`int`
        Bits of a word.
    lanes : :class:`int`
        Tokens of a tile.
    groups : :class:`int`
        Most words of a token.
    blocks : :class:`int`
        Consumers among which the tiles are shared, a power of two.
    token_bits : :class:`int`
        Width of the number of tokens.

    Members
    -------
    job : ``In(stream.Signature(...))``
        ``tokens``, at least 1, of ``groups`` words each. ``block``: consumer of the first tile. ``spread`` 0: all words
        of a tile belong to one consumer, and the next tile to the next one. ``spread`` 1: word n of all tokens belongs to
        consumer ``block`` + n. The next job follows when all words have come.
    i : ``In(stream.Signature(word_bits))``
    o : ``Out(stream.Signature(...))``
        ``word``, and ``block``, its consumer.
    """

    def __init__(self, *, word_bits, lanes, groups, blocks, token_bits):
        self._word_bits, self._lanes, self._groups = word_bits, lanes, groups
        self._block = range(max(blocks, 2))
        self._blocks = blocks
        super().__init__(
            {
                "job": In(
                    stream.Signature(
                        data.StructLayout(
                            {"tokens": token_bits, "groups": range(groups + 1), "block": self._block, "spread": 1}
                        )
                    )
                ),
                "i": In(stream.Signature(word_bits)),
                "o": Out(stream.Signature(data.StructLayout({"word": word_bits, "block": self._block}))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, count = self._lanes, range(self._groups + 1)
        place_bits = (lanes * self._groups - 1).bit_length()
        m.submodules.words = words = Memory(shape=self._word_bits, depth=2 << place_bits, init=[])
        write, read = words.write_port(), words.read_port()

        # Tiles that are complete, one in each half of the memory.
        tile = data.StructLayout({"rows": range(lanes + 1), "groups": count, "block": self._block, "spread": 1})
        full = Signal(2)
        tiles = [Signal(tile, name=f"tile_{n}") for n in range(2)]
        completes, releases = Signal(2), Signal(2)
        m.d.sync += full.eq((full | completes) & ~releases)

        # Words come.
        active, job = Signal(), Signal(self.job.p.shape())
        half, row, group, place = Signal(), Signal(range(lanes)), Signal(range(self._groups)), Signal(place_bits)
        rows, accept, ends, closes = Signal(range(lanes + 1)), Signal(), Signal(), Signal()
        m.d.comb += [
            self.job.ready.eq(~active),
            rows.eq(Mux(job.tokens < lanes, job.tokens, lanes)),
            self.i.ready.eq(active & ~full.bit_select(half, 1)),
            accept.eq(self.i.valid & self.i.ready),
            ends.eq(group == job.groups - 1),
            closes.eq(accept & ends & (row == rows - 1)),
            completes.eq(closes << half),
            write.en.eq(accept),
            write.addr.eq(Cat(place, half)),
            write.data.eq(self.i.payload),
        ]
        with m.If(self.job.valid & self.job.ready):
            m.d.sync += [active.eq(1), job.eq(self.job.payload)]
        with m.If(accept):
            m.d.sync += [place.eq(place + 1), group.eq(Mux(ends, 0, group + 1)), row.eq(row + ends)]
        with m.If(closes):
            m.d.sync += [
                place.eq(0),
                row.eq(0),
                half.eq(~half),
                job.tokens.eq(job.tokens - rows),
                active.eq(job.tokens != rows),
            ]
            if self._blocks > 1:
                m.d.sync += job.block.eq(job.block + ~job.spread)
            for n, one in enumerate(tiles):
                with m.If(half == n):
                    m.d.sync += [
                        one.rows.eq(rows),
                        one.groups.eq(job.groups),
                        one.block.eq(job.block),
                        one.spread.eq(job.spread),
                    ]

        # Words leave: the read port holds the word that is offered.
        front, token, word, at = Signal(), Signal(range(lanes)), Signal(range(self._groups)), Signal(place_bits)
        now, reads, waits, last_row, last = Signal(tile), Signal(), Signal(), Signal(), Signal()
        m.submodules.output = output = StreamRegister(self.o.p.shape())
        wiring.connect(m, output.o, wiring.flipped(self.o))
        block = Signal(self._block)
        m.d.comb += [
            Value.cast(now).eq(Mux(front, Value.cast(tiles[1]), Value.cast(tiles[0]))),
            reads.eq(full.bit_select(front, 1) & (~waits | output.i.ready)),
            last_row.eq(token == now.rows - 1),
            last.eq(last_row & (word == now.groups - 1)),
            releases.eq((reads & last) << front),
            read.en.eq(reads),
            read.addr.eq(Cat(at, front)),
            output.i.valid.eq(waits),
            output.i.p.word.eq(read.data),
            output.i.p.block.eq(block),
        ]
        m.d.sync += waits.eq(reads | (waits & ~output.i.ready))
        with m.If(reads):
            m.d.sync += [
                token.eq(Mux(last_row, 0, token + 1)),
                word.eq(Mux(last, 0, word + last_row)),
                at.eq(Mux(last, 0, Mux(last_row, word + 1, at + now.groups))),
            ]
            if self._blocks > 1:
                m.d.sync += block.eq(now.block + Mux(now.spread, word, 0))
            with m.If(last):
                m.d.sync += front.eq(~front)
        return m
