"""Several streams to one consumer."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StreamMerge"]


class StreamMerge(wiring.Component):
    """Gives the items of all producers to one consumer, one at a time, in turn.

    An offered item stays offered until it is transferred. Then the next producer with an item has its turn. All other
    producers with an item have a turn before the same producer has one again.

    Timing: latency 0, throughput one item per cycle. One cycle passes without an item when the turn moves to a producer
    while no other had an item.

    Parameters
    ----------
    shape : :class:`ShapeLike`
        Shape of an item.
    inputs : :class:`int`
        Number of producers, at least 1.

    Members
    -------
    i_0 ... : ``In(stream.Signature(shape))``
    o : ``Out(stream.Signature(shape))``
    """

    def __init__(self, shape, inputs):
        self._inputs = inputs
        super().__init__(
            {**{f"i_{n}": In(stream.Signature(shape)) for n in range(inputs)}, "o": Out(stream.Signature(shape))}
        )

    def elaborate(self, platform):
        m = Module()
        inputs = [getattr(self, f"i_{n}") for n in range(self._inputs)]
        turn = Signal(range(max(2, self._inputs)))
        with m.Switch(turn):
            for n, one in enumerate(inputs):
                with m.Case(n):
                    m.d.comb += [self.o.valid.eq(one.valid), self.o.payload.eq(one.payload), one.ready.eq(self.o.ready)]
                    with m.If(~one.valid | self.o.ready):
                        # The others, the next one first; later assignments win.
                        for k in reversed(range(1, self._inputs)):
                            with m.If(inputs[(n + k) % self._inputs].valid):
                                m.d.sync += turn.eq((n + k) % self._inputs)
        return m
