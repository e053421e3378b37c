# amaranth: UnusedElaboratable=no
"""A large queue made of smaller ones, which take turns."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..blocks.probe import QueueProbe
from ..blocks.stream import StreamFIFO

__all__ = ["InterleavedFIFO"]


class InterleavedFIFO(wiring.Component):
    """First-in first-out queue whose items go to ``banks`` queues in turn, so that each memory is small.

    Together the banks are one ring: the queue is full when all banks are full. A bank is used in every ``banks``-th
    transfer only.

    Timing: one item per cycle, with the latency of :class:`StreamFIFO`. ``i.ready`` depends on registers only.
    ``o.payload`` passes a selection among the banks' output registers.

    Parameters
    ----------
    shape : :class:`ShapeLike`
        Shape of the payload.
    depth : :class:`int`
        Number of items that the queue can hold, a multiple of ``banks``; at least four for each bank.
    banks : :class:`int`
        A power of two.

    Members
    -------
    i : :py:`In(stream.Signature(shape))`
        Items. Ready whenever the queue holds fewer than ``depth``.
    o : :py:`Out(stream.Signature(shape))`
        The same items in the same order.
    level : :py:`Out(range(depth + 1))`
        Number of items accepted and not yet delivered.

    Raises
    ------
    :exc:`ValueError`
        If ``banks`` is not a power of two, or ``depth`` no multiple of it, or too small.
    """

    def __init__(self, shape, depth, banks):
        if banks < 1 or banks & (banks - 1):
            raise ValueError(f"Banks must be a power of two, not {banks!r}")
        if depth % banks or depth < 4 * banks:
            raise ValueError(f"Depth must be a multiple of the {banks} banks, at least {4 * banks}, not {depth!r}")
        self._shape, self._depth, self._banks = shape, depth, banks
        self.probe = QueueProbe(shape, depth)
        super().__init__(
            {"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "level": Out(range(depth + 1))}
        )

    @property
    def depth(self):
        return self._depth

    @property
    def latency(self):
        """Cycles from accepting an item to offering it, if no older item is held."""
        bank = StreamFIFO(self._shape, self._depth // self._banks)
        bank._MustUse__silence = True
        return bank.latency

    def elaborate(self, platform):
        m = Module()
        banks = [StreamFIFO(self._shape, self._depth // self._banks) for _ in range(self._banks)]
        turns = max(1, (self._banks - 1).bit_length())
        into, out_of = Signal(turns), Signal(turns)
        push, pop = self.i.valid & self.i.ready, self.o.valid & self.o.ready
        readies, valids = Signal(self._banks), Signal(self._banks)
        payloads = Signal(data.ArrayLayout(self._shape, self._banks))
        for n, bank in enumerate(banks):
            m.submodules[f"bank_{n}"] = bank
            m.d.comb += [
                readies[n].eq(bank.i.ready),
                valids[n].eq(bank.o.valid),
                Value.cast(payloads[n]).eq(bank.o.payload),
                bank.i.valid.eq(self.i.valid & (into == n)),
                bank.i.payload.eq(self.i.payload),
                bank.o.ready.eq(self.o.ready & (out_of == n)),
            ]
        m.d.comb += [
            self.i.ready.eq(readies.bit_select(into, 1)),
            self.o.valid.eq(valids.bit_select(out_of, 1)),
            self.o.payload.eq(payloads[out_of]),
        ]
        m.d.sync += self.level.eq(self.level + push - pop)
        if self._banks > 1:
            with m.If(push):
                m.d.sync += into.eq(into + 1)
            with m.If(pop):
                m.d.sync += out_of.eq(out_of + 1)

        if platform == "formal":
            low = self._banks.bit_length() - 1
            held = Signal(turns)
            m.d.comb += [
                held.eq(into - out_of),
                self.probe.level.eq(self.level),
                Assert(self.level == sum(bank.level for bank in banks), "InterleavedFIFO: the banks hold all items"),
                Assert(self.level[:low] == held[:low] if low else Const(1), "InterleavedFIFO: turns are in step"),
            ]
            place = Signal(turns)
            m.d.comb += place.eq(out_of + self.probe.index[:low] if low else 0)
            for n, bank in enumerate(banks):
                ahead = Signal(turns, name=f"ahead_{n}")  # turns until this bank gives an item
                m.d.comb += [
                    bank.probe.index.eq(self.probe.index >> low),
                    ahead.eq(n - out_of if low else 0),
                    Assert(
                        bank.level == (self.level >> low) + (ahead < self.level[:low] if low else 0),
                        "InterleavedFIFO: banks fill evenly",
                    ),
                ]
                with m.If(place == n):
                    m.d.comb += self.probe.item.eq(bank.probe.item)
        return m
