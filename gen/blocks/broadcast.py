# amaranth: UnusedElaboratable=no
"""One stream to several consumers."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .stream import StreamRegister

__all__ = ["StreamBroadcast", "link"]


def link(m, source, sink, payload=None):
    """Connect two streams whose payloads have the same bits, perhaps under different names.

    With ``payload``, the sink gets ``payload`` instead of the source's payload.
    """
    m.d.comb += [
        sink.valid.eq(source.valid),
        Value.cast(sink.payload).eq(Value.cast(source.payload if payload is None else payload)),
        source.ready.eq(sink.ready),
    ]


class StreamBroadcast(wiring.Component):
    """Gives each item to all consumers that the item selects.

    A consumer takes the item when it is ready. The next item follows when all selected consumers have the item. An item
    that selects no consumer is dropped.

    Timing: latency one cycle, throughput one item per cycle if all consumers are ready.

    Parameters
    ----------
    width : :class:`int`
        Bits of an item.
    outputs : :class:`int`
        Number of consumers.

    Members
    -------
    i : ``In(stream.Signature(StructLayout({"item": width, "select": outputs})))``
        ``select`` has one bit per consumer.
    o_0 ... : ``Out(stream.Signature(width))``
    """

    def __init__(self, width, outputs):
        self._shape = data.StructLayout({"item": width, "select": outputs})
        self._outputs = outputs
        super().__init__(
            {"i": In(stream.Signature(self._shape)), **{f"o_{n}": Out(stream.Signature(width)) for n in range(outputs)}}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.register = register = StreamRegister(self._shape)
        wiring.connect(m, outside=wiring.flipped(self.i), register=register.i)
        outputs = [getattr(self, f"o_{n}") for n in range(self._outputs)]
        taken, moved, done = Signal(self._outputs), Signal(self._outputs), Signal()
        m.d.comb += [
            moved.eq(Cat(o.valid & o.ready for o in outputs)),
            done.eq((~register.o.p.select | taken | moved).all()),
            register.o.ready.eq(done),
        ]
        for n, o in enumerate(outputs):
            m.d.comb += [
                o.valid.eq(register.o.valid & register.o.p.select[n] & ~taken[n]),
                o.payload.eq(register.o.p.item),
            ]
        with m.If(register.o.valid):
            m.d.sync += taken.eq(Mux(done, 0, taken | moved))
        return m
