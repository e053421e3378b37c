"""Tile sequencer: divides steps into phases. A phase is all K beats or all V beats of a tile."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..blocks.ports import payload

__all__ = ["TileSequencer", "command_layout", "phase_layout"]


def command_layout(config):
    """One step."""
    return payload(config.command_layout)


def phase_layout(config):
    """One phase: all K beats or all V beats of a tile, for all queries of its step."""
    return data.StructLayout(
        {
            "value": 1,  # 0: K phase, 1: V phase
            "count": range(config.tile_tokens + 1),  # tokens of the tile; 0 only for a step without tokens
            "chunks": range(config.max_chunks + 1),
            "bank": 1,  # half of the score memory
            "final": 1,  # last tile of its step
            **({"queries": range(config.queries + 1)} if config.queries > 1 else {}),
            **({"scores": 1} if config.scores else {}),  # K phase of a step of scores alone
        }
    )


class TileSequencer(wiring.Component):
    """Cuts steps into tiles, and puts the phases of the tiles into stream order (``PamPuConfig.phases``).

    With two score banks, the K phase of a tile comes before the V phase of the previous tile. So the softmax of a tile
    runs while K of the next tile streams. A step of scores alone has K phases only. A V phase that is due comes before
    its command is accepted.

    Timing: one phase per cycle, and one more cycle per step. A V phase that a step of scores calls takes one more.

    Members
    -------
    i : ``In(stream.Signature(command_layout(config)))``
    o : ``Out(stream.Signature(phase_layout(config)))``
    """

    def __init__(self, config):
        self._config = config
        # State for a proof. In every other netlist these signals have no driver and no reader.
        self.probe = Signal(
            data.StructLayout(
                {
                    "keys": 1,
                    "left": range(config.max_tokens + 1),  # tokens of the step whose K phases are still to come
                    "held": range(3),
                    "older": phase_layout(config),
                    "newer": phase_layout(config),  # V phases that are due
                    "chunks": range(config.max_chunks + 1),
                    "more": 1,
                    "ends": 1,
                    "bank": 1,
                    **({"queries": range(config.queries + 1)} if config.queries > 1 else {}),
                    **({"scores": 1} if config.scores else {}),
                }
            )
        )
        super().__init__(
            {"i": In(stream.Signature(command_layout(config))), "o": Out(stream.Signature(phase_layout(config)))}
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        tile = config.tile_tokens

        left = Signal(range(config.max_tokens + 1))  # tokens of the step not yet in a tile
        chunks = Signal(range(config.max_chunks + 1))
        queries = Signal(range(config.queries + 1))
        more = Signal()
        bank = Signal()
        waiting = Signal(phase_layout(config))  # the tile whose V phase is due
        pending = Signal()
        ends = Signal()  # its V phase comes before any other K phase
        final = Signal()
        count = Signal(range(tile + 1))
        scores = Signal()
        o = self.o.p

        m.d.comb += final.eq(left <= tile)
        m.d.comb += count.eq(Mux(final, left, tile))

        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                if config.scores:
                    calls = pending & self.i.p.scores
                    m.d.comb += self.i.ready.eq(~calls)
                    with m.If(self.i.valid & calls):
                        m.d.sync += ends.eq(1)
                        m.next = "FLUSH"
                with m.If(self.i.valid & ~calls if config.scores else self.i.valid):
                    m.d.sync += [left.eq(self.i.p.tokens), chunks.eq(self.i.p.chunks), more.eq(self.i.p.more)]
                    if config.queries > 1:
                        m.d.sync += queries.eq(self.i.p.queries)
                    if config.scores:
                        m.d.sync += scores.eq(self.i.p.scores)
                    m.next = "KEY"

            with m.State("KEY"):
                m.d.comb += self.o.valid.eq(1)
                m.d.comb += [o.value.eq(0), o.count.eq(count), o.chunks.eq(chunks), o.bank.eq(bank), o.final.eq(final)]
                if config.queries > 1:
                    m.d.comb += o.queries.eq(queries)
                if config.scores:
                    m.d.comb += o.scores.eq(scores)
                    with m.If(self.o.ready & scores):
                        m.d.sync += left.eq(left - o.count)
                        with m.If(final):
                            m.next = "IDLE"
                flush = final & ~more if config.score_tiles == 2 else Const(1)
                with m.If(self.o.ready & ~scores if config.scores else self.o.ready):
                    m.d.sync += left.eq(left - count)
                    m.d.sync += ends.eq(flush)
                    if config.score_tiles == 2:
                        m.d.sync += bank.eq(~bank)
                    with m.If(pending):
                        m.next = "VALUE"
                    with m.Else():
                        m.d.sync += [pending.eq(1), waiting.eq(o), waiting.value.eq(1)]
                        with m.If(flush):
                            m.next = "FLUSH"
                        with m.Elif(final):
                            m.next = "IDLE"
                # The tile after the one whose V phase comes next.
                newest = Signal(phase_layout(config))
                with m.If(self.o.ready):
                    m.d.sync += [newest.eq(o), newest.value.eq(1)]

            with m.State("VALUE"):
                m.d.comb += self.o.valid.eq(1)
                m.d.comb += self.o.payload.eq(waiting)
                with m.If(self.o.ready):
                    m.d.sync += waiting.eq(newest)
                    with m.If(ends):
                        m.next = "FLUSH"
                    with m.Elif(newest.final):
                        m.next = "IDLE"
                    with m.Else():
                        m.next = "KEY"

            with m.State("FLUSH"):
                m.d.comb += self.o.valid.eq(1)
                m.d.comb += self.o.payload.eq(waiting)
                with m.If(self.o.ready):
                    m.d.sync += pending.eq(0)
                    with m.If(waiting.final):
                        m.next = "IDLE"
                    with m.Else():
                        m.next = "KEY"

        if platform == "formal":
            value, flush = fsm.ongoing("VALUE"), fsm.ongoing("FLUSH")
            m.d.comb += [
                self.probe.keys.eq(fsm.ongoing("KEY") | (value & ~newest.final) | (flush & ~waiting.final)),
                self.probe.left.eq(left),
                self.probe.held.eq(Mux(value, 2, pending)),
                self.probe.older.eq(waiting),
                self.probe.newer.eq(newest),
                self.probe.chunks.eq(chunks),
                self.probe.more.eq(more),
                self.probe.ends.eq(ends),
                self.probe.bank.eq(bank),
                *([self.probe.queries.eq(queries)] if config.queries > 1 else []),
                *([self.probe.scores.eq(scores)] if config.scores else []),
                Assert(pending | ~(value | flush), "TileSequencer: a V phase is due in the states that offer one"),
                Assert(flush == (pending & ends & ~value), "TileSequencer: what ends is flushed"),
            ]

        return m
