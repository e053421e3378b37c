"""Input of the reduction unit: takes a partial result apart."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.pam import partials as pam_partials
from ..blocks.ports import kinds, payload

__all__ = ["PartialKind", "PartialPort", "beat_layout"]


#: Content of a beat of a partial result.
PartialKind = kinds(pam_partials.PartialKind, 2)


def beat_layout(config):
    """A beat of O from a source. ``final`` is valid with ``last``."""
    return data.StructLayout({"data": config.source_lanes * config.io.width, "last": 1, "final": 1})


class PartialPort(wiring.Component):
    """Takes partial results apart: m, scale and l go into registers, and beats of O pass through.

    Timing: one beat per clock. ``known`` rises two cycles after the first beat was accepted, and falls with the last
    beat of O. Beats of O pass without delay.

    With several queries, m and l of one query after the other go through the registers. ``known`` falls when they are
    ``taken``. Beats of O follow when m and l of the last query are taken.

    Members
    -------
    i : ``In(stream.Signature(payload(config.source_layout)))``
    known : ``Out(1)``
        ``m``, ``scale`` and ``l`` belong to the partial result whose beats are on ``o``.
    taken, done : ``In(1)``, only with several queries
        Strobe while ``known``: m, scale and l have been used. With ``done``, they belong to the step's last query.
    o : ``Out(stream.Signature(beat_layout))``
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(payload(config.source_layout))),
                "known": Out(1),
                "m": Out(config.score.width),
                "scale": Out(config.scale_bits),
                "l": Out(config.acc.width),
                "o": Out(stream.Signature(beat_layout(config))),
                **({"taken": In(1), "done": In(1)} if config.queries > 1 else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat, several = self.i, self._config.queries > 1
        m.d.comb += [self.o.p.data.eq(beat.p.data), self.o.p.last.eq(beat.p.last), self.o.p.final.eq(beat.p.final)]
        with m.FSM():
            with m.State("MAXIMUM"):
                m.d.comb += beat.ready.eq(1)
                m.d.sync += Cat(self.m, self.scale).eq(beat.p.data)
                with m.If(beat.valid):
                    m.next = "SUM"
            with m.State("SUM"):
                m.d.comb += beat.ready.eq(1)
                m.d.sync += self.l.eq(beat.p.data)
                with m.If(beat.valid):
                    m.next = "KNOWN" if several else "OUTPUT"
            if several:
                with m.State("KNOWN"):
                    m.d.comb += self.known.eq(1)
                    with m.If(self.taken):
                        m.next = "MAXIMUM"
                        with m.If(self.done):
                            m.next = "OUTPUT"
            with m.State("OUTPUT"):
                m.d.comb += [
                    *([] if several else [self.known.eq(1)]),
                    self.o.valid.eq(beat.valid),
                    beat.ready.eq(self.o.ready),
                ]
                with m.If(beat.valid & beat.ready & beat.p.last):
                    m.next = "MAXIMUM"
        return m
