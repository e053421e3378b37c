# amaranth: UnusedElaboratable=no
"""Several processing units on one stream of K and V: each burst meets several queries in a clock."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..blocks.broadcast import StreamBroadcast, link
from ..blocks.ports import kinds, payload
from ..blocks.stream import StreamFIFO, StreamRegister

__all__ = ["connect_cores"]

#: Steps whose results have not all left, and which the cores may have begun.
STEPS = 4


def connect_cores(m, config, top, cores, instances):
    """Connect processing units to the streams of a unit ``top`` that has ``multipliers_per_lane`` of them.

    Query j of a step belongs to core ``j % len(cores)``. A core without a query computes query 0 once more, and its
    results are dropped. All cores take a burst of K or V in the same clock.

    Parameters
    ----------
    config : :class:`PamPuConfig` of ``top``
    cores : :class:`PamPu` with ``config.core``
    instances : the cores, or the instances of their Verilog module
    """
    count = len(cores)
    for n, instance in enumerate(instances):
        m.submodules[f"core_{n}"] = instance
    m.submodules.dealer = dealer = _QueryDealer(config)
    m.submodules.collector = collector = _ResultCollector(config)
    everyone = count + 2
    width = config.command_layout.bits
    m.submodules.steps = steps = StreamBroadcast(width, everyone)
    link(m, top.command, steps.i, Cat(Value.cast(top.command.payload), Const((1 << everyone) - 1, everyone)))
    for n, core in enumerate(cores):
        step = getattr(steps, f"o_{n}")
        fields = Signal(payload(config.command_layout), name=f"step_{n}")
        m.d.comb += [
            fields.eq(step.payload),
            core.command.valid.eq(step.valid),
            step.ready.eq(core.command.ready),
            core.command.p.tokens.eq(fields.tokens),
            core.command.p.chunks.eq(fields.chunks),
            core.command.p.more.eq(fields.more),
        ]
        if config.scores:
            m.d.comb += core.command.p.scores.eq(fields.scores)
        if core.config.queries > 1:
            mine = (fields.queries + (count - 1 - n)) >> (count - 1).bit_length()
            m.d.comb += core.command.p.queries.eq(Mux(mine == 0, 1, mine))
        others = [other.kv.ready for other in cores if other is not core]
        m.d.comb += [core.kv.valid.eq(top.kv.valid & Cat(others).all()), core.kv.payload.eq(top.kv.payload)]
        link(m, getattr(dealer, f"o_{n}"), core.query)
        link(m, core.result, getattr(collector, f"i_{n}"))
    m.d.comb += top.kv.ready.eq(Cat(core.kv.ready for core in cores).all())
    link(m, getattr(steps, f"o_{count}"), dealer.command)
    link(m, getattr(steps, f"o_{count + 1}"), collector.command)
    link(m, top.query, dealer.i)
    link(m, collector.o, top.result)


class _QueryDealer(wiring.Component):
    """Gives each beat of Q to the core of its query; beats of query 0 also to the cores that have none.

    Timing: one beat per clock.
    """

    def __init__(self, config):
        self._config = config
        beat = payload(config.beat_layout)
        super().__init__(
            {
                "command": In(stream.Signature(payload(config.command_layout))),
                "i": In(stream.Signature(beat)),
                **{f"o_{n}": Out(stream.Signature(beat)) for n in range(config.multipliers_per_lane)},
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, cores = self._config, self._config.multipliers_per_lane
        m.submodules.steps = steps = StreamRegister(payload(config.command_layout))
        link(m, self.command, steps.i)
        step = steps.o.p
        query, chunk = Signal(range(config.queries)), Signal(range(config.max_chunks))
        past = Signal(range(config.max_tokens + 1))
        deals, move, last_query, last_chunk, again = Signal(), Signal(), Signal(), Signal(), Signal()
        outputs = [getattr(self, f"o_{n}") for n in range(cores)]
        core = query[: (cores - 1).bit_length()]
        chosen = [(core == n) | ((query == 0) & (step.queries <= n)) for n in range(cores)]
        free = [~mine | o.ready for mine, o in zip(chosen, outputs, strict=True)]
        m.d.comb += [
            deals.eq(steps.o.valid & (step.tokens != 0)),
            self.i.ready.eq(deals & Cat(free).all()),
            move.eq(self.i.valid & self.i.ready),
            last_query.eq(query == step.queries - 1),
            last_chunk.eq(chunk == step.chunks - 1),
            # A query in several slices comes again for every tile.
            again.eq((step.chunks > config.slice_beats) & (step.tokens - past > config.tile_tokens)),
            steps.o.ready.eq((step.tokens == 0) | (move & last_query & last_chunk & ~again)),
        ]
        for n, o in enumerate(outputs):
            others = [one for k, one in enumerate(free) if k != n]
            m.d.comb += [o.valid.eq(self.i.valid & deals & chosen[n] & Cat(others).all()), o.payload.eq(self.i.payload)]
        with m.If(move):
            m.d.sync += query.eq(Mux(last_query, 0, query + 1))
            with m.If(last_query):
                m.d.sync += chunk.eq(Mux(last_chunk, 0, chunk + 1))
                with m.If(last_chunk):
                    m.d.sync += past.eq(Mux(again, past + config.tile_tokens, 0))
        return m


class _ResultCollector(wiring.Component):
    """Joins the results of the cores: m and l query by query, then O chunk by chunk and query by query.

    Scores come token by token and query by query.

    Timing: a beat passes without delay. Results of a core without a query are dropped.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "command": In(stream.Signature(payload(config.command_layout))),
                **{
                    f"i_{n}": In(stream.Signature(payload(config.core.result_layout)))
                    for n in range(config.multipliers_per_lane)
                },
                "o": Out(stream.Signature(payload(config.result_layout))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, cores = self._config, self._config.multipliers_per_lane
        kind = kinds(config.kinds, 2)
        m.submodules.steps = steps = StreamFIFO(range(config.queries + 1), STEPS)
        m.d.comb += [
            steps.i.valid.eq(self.command.valid),
            steps.i.payload.eq(self.command.p.queries),
            self.command.ready.eq(steps.i.ready),
        ]
        if config.scores:
            # A step of scores without tokens has no result.
            with m.If(self.command.p.scores & (self.command.p.tokens == 0)):
                m.d.comb += [steps.i.valid.eq(0), self.command.ready.eq(1)]
        queries = steps.o.payload
        inputs = [getattr(self, f"i_{n}") for n in range(cores)]
        query, passes, move, last_query = Signal(range(config.queries)), Signal(), Signal(), Signal()
        core = query[: (cores - 1).bit_length()]
        beat = Signal(inputs[0].payload.shape())
        idle, dropped, gone = (Signal(cores, name=name) for name in ("idle", "dropped", "gone"))
        for n, i in enumerate(inputs):
            m.d.comb += [
                idle[n].eq(queries <= n),
                i.ready.eq(Mux(idle[n], steps.o.valid & ~dropped[n], passes & (core == n) & self.o.ready)),
                gone[n].eq(~idle[n] | dropped[n] | (i.valid & i.p.last)),
            ]
        m.d.comb += [
            beat.eq(Array(Value.cast(i.payload) for i in inputs)[core]),
            self.o.valid.eq(passes & Array(i.valid for i in inputs)[core]),
            self.o.p.data.eq(beat.data),
            self.o.p.kind.eq(beat.kind),
            self.o.p.last.eq(beat.last & last_query),
            self.o.p.final.eq(beat.final),
            self.o.p.query.eq(query),
            move.eq(self.o.valid & self.o.ready),
            last_query.eq(query == queries - 1),
        ]
        final, ends = Signal(), Signal()
        with m.If(steps.o.valid):
            m.d.sync += dropped.eq(gone & idle)
        with m.FSM():
            with m.State("PASS"):
                m.d.comb += passes.eq(steps.o.valid)
                with m.If(move & (beat.kind != kind.MAXIMUM)):
                    m.d.sync += query.eq(Mux(last_query, 0, query + 1))
                with m.If(move & self.o.p.last):
                    m.d.sync += final.eq(beat.final)
                    with m.If(gone.all()):
                        m.d.comb += [ends.eq(1), steps.o.ready.eq(beat.final)]
                    with m.Else():
                        m.next = "DROP"
            with m.State("DROP"):
                with m.If(gone.all()):
                    m.d.comb += [ends.eq(1), steps.o.ready.eq(final)]
                    m.next = "PASS"
        with m.If(ends):
            m.d.sync += dropped.eq(0)
        return m
