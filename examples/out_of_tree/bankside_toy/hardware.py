"""Generator of the toy unit."""

from amaranth import Module, Signal
from amaranth.lib import wiring

from bankside.plugin import members


class ToyAdder(wiring.Component):
    """Adds a constant; latency one clock, one number per clock."""

    def __init__(self, config):
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def latency(self):
        return {"sum": 1}

    def elaborate(self, platform):
        m = Module()
        held = Signal()
        m.d.comb += [self.i.ready.eq(~held | self.o.ready), self.o.valid.eq(held)]
        with m.If(self.i.ready):
            m.d.sync += [held.eq(self.i.valid), self.o.payload.eq(self.i.p.number + self._config.step)]
        return m
