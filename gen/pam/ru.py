# amaranth: UnusedElaboratable=no
"""PAM's reduction unit (RU): merges streams of partial results of attention, and normalises without a divider."""

from typing import NamedTuple

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory

from ...constraints.pam.ru import PamRuConfig
from ..blocks.ports import members, payload
from ..blocks.shared import shared
from ..blocks.stream import StreamFIFO, StreamRegister
from .lane import ReductionLane, chosen, converted, delayed, per_query
from .partial_port import PartialKind, PartialPort, beat_layout
from .sum_unit import SumUnit
from .weights import WeightUnit

__all__ = ["PamRu"]


class _Queues(NamedTuple):
    """The weight unit, and queues of operands for the lanes: beats of O, l, weights."""

    unit: WeightUnit
    staging: StreamFIFO
    sums: StreamFIFO
    weights: StreamFIFO


class _Turns(NamedTuple):
    """The source whose partial result is being merged.

    Attributes
    ----------
    running, begun : a step is in progress; a partial result of it has begun
    started, ahead : the weights of the current partial result have been requested; the weights of the next one too
    turn, following, others : source whose turn it is; the next source; whether any other source has not finished
    asked : source whose weight would be requested next
    done, finished : sources that have sent their final partial result, without and with this clock
    flying : weights requested and not yet used up
    """

    running: Signal
    begun: Signal
    started: Signal
    ahead: Signal
    turn: Signal
    following: Signal
    others: Signal
    asked: Signal
    done: Signal
    finished: Signal
    flying: Signal


class _Moves(NamedTuple):
    """The next beat of the source whose turn it is.

    Attributes
    ----------
    beat : the beat
    accept : it would be accepted
    whole : it completes a beat of the lanes
    move : it is transferred
    ends : it is transferred and is the last of its partial result
    start : a weight is requested
    begin : it is a partial result's last one
    """

    beat: data.View
    accept: Signal
    whole: Signal
    move: Signal
    ends: Signal
    start: Signal
    begin: Value


class _Merge(NamedTuple):
    """A beat of O that goes to the lanes.

    Attributes
    ----------
    go : a beat goes to the lanes
    chunk : its number; with several queries, the beats of all queries have one number after the other
    query : its query; 0 with one query
    opening : it is its query's first beat of a partial result
    entry : its weight
    """

    go: Signal
    chunk: Signal
    query: Value
    opening: Value
    entry: data.View


class _ReadOut(NamedTuple):
    """Reading of the result.

    Attributes
    ----------
    go, last : a beat of the result is read; it is the last beat
    phase : 1 in the clocks in which a beat may be read
    chunk : number of the beat
    query : its query; 0 with one query
    select : query whose m and l are computed and leave; 0 with one query
    powers : power of two of each query; only with several
    """

    go: Signal
    last: Signal
    phase: Signal
    chunk: Signal
    query: Value
    select: Value
    powers: list


class _Lanes(NamedTuple):
    """Signals of the lanes.

    Attributes
    ----------
    factors, scalar : factor of the result of each query; factor that the lanes use now
    valid_1 : a beat of O went to the lanes in the previous clock
    sent : strobes: entry n is 1 if a beat of the result was read n clocks ago
    outputs : elements of the beat of the result
    """

    factors: list
    scalar: Signal
    valid_1: Signal
    sent: list
    outputs: list


class _Result(NamedTuple):
    """The queue of the result.

    Attributes
    ----------
    fifo : the queue
    credits, places : number of its free places, neither taken nor reserved; whether one is free
    header : m or l enters the queue
    scale : scale of the result
    """

    fifo: StreamFIFO
    credits: Signal
    places: Signal
    header: Signal
    scale: Signal


class PamRu(wiring.Component):
    """Merges the partial results of several sources into one.

    An item on ``command`` starts a step. Each source sends its partial results on ``source_N``: MAXIMUM, SUM, then the
    chunks of O, in the format of :class:`PamPu` and of this unit. A source marks its last partial result of the step
    ``final``. Sources take turns, one partial result each, in the order of :meth:`PamRuConfig.order`. So the result
    does not depend on timing. After the last partial result, the result leaves on ``result``. It is a partial result
    again, or, with ``normalise``, MAXIMUM, LOG_SUM and O divided by l.

    With ``queries`` above 1, a step has several queries, and a partial result has MAXIMUM and SUM of every query. Then it
    has chunk 0 of O of every query, and so on, as :class:`PamPu` and this unit send it. Every query is merged as in a step
    of its own.

    Timing: one beat of O per clock, whatever the maxima, under these conditions:

    - With two or more sources, m and l of the next source have arrived in time. With one source, two clocks for m and l
      pass in between.
    - A partial result has at least ``LOOP`` beats of ``lanes`` elements. A shorter one takes ``LOOP`` clocks.
    - With several queries, a query has at least ``WeightUnit.INTERVAL`` beats, and there are two or more sources.

    After the last beat of a step, the unit computes the result and reads it out, one beat of O in two clocks. Then the
    next step begins.

    The functional model is ``bankside.models.pam.ru.reduce_partials``, equal bit for bit.

    Source: PAM (MICRO 2025) section 5.2.2 and Algorithm 1 (Reduce).

    Parameters
    ----------
    config : :class:`PamRuConfig`

    Members
    -------
    command, source_0 ..., result
        See :meth:`PamRuConfig.ports`.
    """

    def __init__(self, config):
        if not isinstance(config, PamRuConfig):
            raise TypeError(f"Configuration must be a PamRuConfig, not {config!r}")
        self._config = config
        self._lanes = [ReductionLane(config) for _ in range(config.lanes)]
        self._sum = SumUnit(config)
        #: Clocks from reading an accumulator to reading the updated accumulator.
        self.LOOP = self._lanes[0].SUM + 1
        #: Largest number of weights in flight: enough for one partial result every ``LOOP`` clocks.
        self.WEIGHTS = 4 + config.queries
        #: Places for beats of the result: beats in flight, one in two clocks, and beats in the queue.
        self.PLACES = self._lanes[0].OUT // 2 + 3
        self._names = [f"source_{n}" for n in range(config.sources)]
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in cycles: from a partial result's turn to its weight, and from a beat of O to the scratch.

        The second one begins when the beat has its weight.
        """
        return {"turn_to_weight": WeightUnit.LATENCY, "beat_to_scratch": self.LOOP}

    def elaborate(self, platform):
        m = Module()
        commands, ports = self._inputs(m)
        queues = self._queues(m)
        turns = self._turns(m)
        moves = self._dispatch(m, commands, ports, queues, turns)
        self._gather(m, commands, queues, moves)
        self._next_turn(m, ports, turns, moves)
        merge = self._merge(m, commands, queues, turns, moves.start)
        scratch = self._scratch(m)
        read_out = self._read_out(m, commands, queues, merge, scratch)
        lanes = self._multiply_add(m, platform, queues, merge, scratch, read_out)
        in_flight = self._sum_up(m, queues, merge, read_out, lanes)
        result = self._result_queue(m, read_out, lanes)
        self._control(m, commands, queues, turns, moves, lanes, in_flight, read_out, result)
        if platform == "formal":
            self._check(m, queues, moves, merge, lanes, result)
        return m

    def _inputs(self, m):
        m.submodules.commands = commands = StreamRegister(payload(self._config.command_layout))
        wiring.connect(m, command=wiring.flipped(self.command), commands=commands.i)
        ports = []
        for name in self._names:
            m.submodules[name] = port = PartialPort(self._config)
            wiring.connect(m, source=wiring.flipped(getattr(self, name)), port=port.i)
            ports.append(port)
        return commands, ports

    # ---- Dispatcher: gives sources their turn, sends m to the weight unit, l and O into queues -----------------------

    def _queues(self, m):
        config = self._config
        io = config.io
        m.submodules.weight_unit = unit = WeightUnit(config)
        m.submodules.staging = staging = StreamFIFO(
            data.StructLayout({"data": config.lanes * io.width, "last": 1}), config.staging_beats, output_register=False
        )
        m.submodules.sums = sums = StreamFIFO(config.acc.width, self.WEIGHTS)
        m.submodules.weights = weights = StreamFIFO(
            data.StructLayout({"weight": io.width, "steps": 10, "first": 1}), self.WEIGHTS
        )
        return _Queues(unit, staging, sums, weights)

    @property
    def _several(self):
        """Whether a step may have several queries."""
        return self._config.queries > 1

    def _turning(self, m, commands, name, moves):
        """A number that counts the queries of the step, query by query with ``moves``, and whether it is the last one."""
        if not self._several:
            return Const(0), Const(1)
        query, last = Signal(range(self._config.queries), name=f"{name}_query"), Signal(name=f"{name}_last_query")
        m.d.comb += last.eq(query == commands.o.p.queries - 1)
        with m.If(moves):
            m.d.sync += query.eq(Mux(last, 0, query + 1))
        return query, last

    def _turns(self, m):
        """The source whose turn it is, and the next one that has not finished."""
        sources = self._config.sources
        places_of = range(max(sources, 2))
        running, begun = Signal(), Signal()
        started, ahead = Signal(), Signal()
        turn, following, asked = Signal(places_of), Signal(places_of), Signal(places_of)
        done, finished = Signal(sources), Signal(sources)
        flying = Signal(range(self.WEIGHTS + 1))
        others = Signal()
        with m.Switch(turn):
            for n in range(sources):
                with m.Case(n):
                    # The next source after n that has not finished, or n itself if all others have finished.
                    candidates = [(n + k) % sources for k in range(1, sources)]
                    nearest = n
                    for other in reversed(candidates):
                        nearest = Mux(done[other], nearest, other)
                    m.d.comb += [following.eq(nearest), others.eq(~Cat(done[other] for other in candidates).all())]
        return _Turns(running, begun, started, ahead, turn, following, others, asked, done, finished, flying)

    def _dispatch(self, m, commands, ports, queues, turns):
        """Move beats, and request the weights of partial results.

        While one partial result moves, the unit can compute the weights of the next one, if its source is known.
        """
        unit, staging, sums, weights = queues
        turn, asked, started = turns.turn, turns.asked, turns.started
        beat = Signal(beat_layout(self._config))
        there, accept, whole, move, ends, start = (
            Signal(name=n) for n in ("there", "accept", "whole", "move", "ends", "start")
        )
        m.d.comb += [
            asked.eq(Mux(started, turns.following, turn)),
            start.eq(
                turns.running
                & unit.free
                & (turns.flying != self.WEIGHTS)
                & (~started | (turns.others & ~turns.ahead))
                & Array(port.known for port in ports)[asked]
            ),
            unit.start.eq(start),
            unit.first.eq(~turns.begun),
            unit.m.eq(Array(port.m for port in ports)[asked]),
            unit.scale.eq(Array(port.scale for port in ports)[asked]),
            sums.i.valid.eq(start),
            sums.i.payload.eq(Array(port.l for port in ports)[asked]),
            weights.i.valid.eq(unit.valid),
            weights.i.p.weight.eq(unit.weight),
            weights.i.p.steps.eq(unit.steps),
            weights.i.p.first.eq(unit.is_first),
        ]
        begin, begun = start, started | start
        if self._several:
            # The port passes O when it has passed on m and l of every query.
            query, last = self._turning(m, commands, "asked", start)
            begin, begun = start & last, started
            m.d.comb += unit.query.eq(query)
            for n, port in enumerate(ports):
                m.d.comb += [port.taken.eq(start & (asked == n)), port.done.eq(last)]
        m.d.comb += [
            beat.eq(Array(Value.cast(port.o.payload) for port in ports)[turn]),
            there.eq(Array(port.o.valid for port in ports)[turn]),
            accept.eq(begun & (staging.i.ready | ~whole)),
            move.eq(accept & there),
            ends.eq(move & beat.last),
            staging.i.valid.eq(begun & there & whole),
            staging.i.p.last.eq(beat.last),
            turns.finished.eq(turns.done | Mux(ends & beat.final, Const(1, 1) << turn, 0)),
        ]
        return _Moves(beat, accept, whole, move, ends, start, begin)

    def _gather(self, m, commands, queues, moves):
        """Combine beats of a source into a beat of the lanes. With several queries, their beats come in turn."""
        config, staging, beat, whole = self._config, queues.staging, moves.beat, moves.whole
        if config.gather == 1:
            m.d.comb += [whole.eq(1), staging.i.p.data.eq(beat.data)]
        else:
            width = config.source_lanes * config.io.width
            query, last = self._turning(m, commands, "gather", moves.move)
            parts = chosen(per_query(config, (config.gather - 1) * width, "parts", reset_less=True), query)
            have = Signal(range(config.gather))
            m.d.comb += [whole.eq(have == config.gather - 1), staging.i.p.data.eq(Cat(parts, beat.data))]
            with m.If(moves.move):
                m.d.sync += [
                    have.eq(Mux(whole, 0, have + 1))
                    if not self._several
                    else have.eq(Mux(last, Mux(whole, 0, have + 1), have)),
                    parts.eq(Cat(parts, beat.data)[width:]),
                ]

    def _next_turn(self, m, ports, turns, moves):
        started, ahead, start, ends = turns.started, turns.ahead, moves.begin, moves.ends
        for n, port in enumerate(ports):
            m.d.comb += port.o.ready.eq(moves.accept & (turns.turn == n))
        with m.If(start):
            m.d.sync += [started.eq(1), ahead.eq(started), turns.begun.eq(1)]
        with m.If(ends):
            m.d.sync += [
                started.eq(ahead | (started & start)),
                ahead.eq(0),
                turns.done.eq(turns.finished),
                turns.turn.eq(turns.following),
            ]

    # ---- Multiply-add: one beat of O at a time ------------------------------------------------------------------------

    def _merge(self, m, commands, queues, turns, start):
        """Send a beat of O to the lanes. The beat waits until the last addition to its accumulators is complete."""
        staging, sums, weights = queues.staging, queues.sums, queues.weights
        chunk, gap = Signal(range(max(self._config.max_chunks * self._config.queries, 2))), Signal(range(self.LOOP))
        go, pop = Signal(), Signal()
        there, used = staging.o.valid & weights.o.valid & sums.o.valid, staging.o.p.last
        query, opening, entry = Const(0), chunk == 0, weights.o.p
        if self._several:
            query, opening, entry = self._kept_weights(m, commands, queues, go)
            there, used = staging.o.valid & ((weights.o.valid & sums.o.valid) | ~opening), opening
        m.d.comb += [
            go.eq(there & (gap == 0)),
            staging.o.ready.eq(go),
            pop.eq(go & used),
            weights.o.ready.eq(pop),
            sums.o.ready.eq(pop),
        ]
        m.d.sync += turns.flying.eq(turns.flying + start - pop)
        with m.If(gap != 0):
            m.d.sync += gap.eq(gap - 1)
        with m.If(go):
            m.d.sync += chunk.eq(Mux(staging.o.p.last, 0, chunk + 1))
            with m.If(staging.o.p.last):
                m.d.sync += gap.eq(Mux(chunk < self.LOOP - 1, self.LOOP - 1 - chunk, 0))
        return _Merge(go, chunk, query, opening, entry)

    def _kept_weights(self, m, commands, queues, go):
        """The first beat of O of each query takes its weight from the queue. The weight stays for the query's other beats.

        Returns the query, whether the beat is its first one, and its weight.
        """
        weights, last = queues.weights.o.p, queues.staging.o.p.last
        query, last_query = self._turning(m, commands, "merge", go)
        opening = Signal(init=1)
        with m.If(go & (last | last_query)):
            m.d.sync += opening.eq(last)
        entry = Signal(weights.shape())
        kept = chosen(per_query(self._config, weights.as_value().shape(), "kept", reset_less=True), query)
        m.d.comb += entry.eq(Mux(opening, weights.as_value(), kept))
        with m.If(go & opening):
            m.d.sync += kept.eq(weights.as_value())
        return query, opening, entry

    def _scratch(self, m):
        """The memory of the accumulators of O. Returns its write port and its read port."""
        config = self._config
        memory = Memory(
            shape=config.lanes * config.acc.width, depth=max(config.max_chunks * config.queries, 2), init=[]
        )
        m.submodules.scratch = memory
        write, read = memory.write_port(), memory.read_port()
        return write, read

    def _read_out(self, m, commands, queues, merge, scratch):
        """Read out the result: in every other cycle an address, and a place for the beat."""
        last = queues.staging.o.p.last
        _, read = scratch
        out_go, out_last, phase = Signal(), Signal(), Signal()
        out_chunk, count = (
            Signal(merge.chunk.shape()),
            Signal(range(self._config.max_chunks * self._config.queries + 1)),
        )
        with m.If(merge.go & last):
            m.d.sync += count.eq(merge.chunk)
        m.d.comb += [out_last.eq(out_chunk == count), read.addr.eq(Mux(out_go, out_chunk, merge.chunk))]
        query, select, powers = Const(0), Const(0), []
        if self._several:
            query, _ = self._turning(m, commands, "out", out_go)
            select = Signal(range(self._config.queries))
            powers = per_query(self._config, self._sum.power.shape(), "power", reset_less=True)
            m.d.comb += [queues.unit.select.eq(select), self._sum.select.eq(select)]
        return _ReadOut(out_go, out_last, phase, out_chunk, query, select, powers)

    def _multiply_add(self, m, platform, queues, merge, scratch, read_out):
        """The lanes: they add a beat times its weight to the accumulators, or give an accumulator times ``factor``."""
        config, lanes = self._config, self._lanes
        io, acc = config.io, config.acc
        (write, read), go, entry, total = scratch, merge.go, merge.entry, self._sum
        valid = delayed(m, go, "valid", self.LOOP - 1, reset=True)
        valid_1 = delayed(m, go, "valid_at", 1, reset=True)
        first_1 = delayed(m, entry.first, "first", 1)
        factors = per_query(config, io.width, "factor")
        factor, power = factors[0], total.power
        if self._several:
            query_1 = delayed(m, read_out.query, "out_query", 1)
            power = chosen(read_out.powers, query_1)
            factor = chosen(factors, delayed(m, query_1, "out_query_later", lanes[0].AGAIN - 1))
        scalar = delayed(m, converted(m, Mux(go, entry.weight, factor), io, lanes[0].fmt, "scalar"), "scalar", 1)
        steps_1 = delayed(m, entry.steps, "steps", 1)
        steps = Signal(signed(11))
        m.d.comb += steps.eq(Mux(valid_1, steps_1, power))
        sent = [read_out.go]
        for n in range(1, lanes[0].OUT + 1):
            sent.append(delayed(m, sent[-1], f"out_{n}", 1, reset=True))
        outputs = []
        for number, part in enumerate(lanes):
            m.submodules[f"lane_{number}"] = shared(platform, part, "lane", part=True)
            m.d.comb += [
                part.o.eq(queues.staging.o.p.data.word_select(number, io.width)),
                part.again.eq(sent[part.AGAIN]),
                part.factor.eq(scalar),
                part.old.eq(read.data.word_select(number, acc.width)),
                part.steps.eq(steps),
                part.alone.eq(first_1 | ~valid_1),
                part.back.eq(sent[part.BACK]),
            ]
            outputs.append(part.rounded)
        m.d.comb += [
            write.en.eq(valid),
            write.addr.eq(delayed(m, merge.chunk, "chunk", self.LOOP - 1)),
            write.data.eq(Cat(part.result for part in lanes)),
        ]
        return _Lanes(factors, scalar, valid_1, sent, outputs)

    def _sum_up(self, m, queues, merge, read_out, lanes):
        """Connect the unit of the sum l. Returns the beats of O and additions to l in flight, one bit each."""
        m.submodules.sum_unit = total = self._sum
        entry = merge.entry
        m.d.comb += [
            total.valid.eq(merge.go & merge.opening),
            total.first.eq(entry.first),
            total.weight.eq(lanes.scalar),
            total.steps.eq(entry.steps),
            total.l.eq(queues.sums.o.payload),
            total.maximum.eq(queues.unit.maximum),
        ]
        if self._several:
            m.d.comb += total.query.eq(merge.query)
        in_flight = Signal(max(self.LOOP - 1, total.LATENCY - 1))
        m.d.sync += in_flight.eq(Cat(merge.go, in_flight))
        return in_flight

    # ---- Result -------------------------------------------------------------------------------------------------------

    def _result_queue(self, m, read_out, lanes):
        config = self._config
        scale = Signal(signed(config.scale_bits), reset_less=True)
        m.d.comb += self._sum.scale.eq(scale)
        m.submodules.outputs = fifo = StreamFIFO(payload(config.result_layout), self.PLACES, output_register=False)
        credits = Signal(range(fifo.depth + 1), init=fifo.depth)
        header, places = Signal(), Signal()
        m.d.comb += places.eq(credits != 0)
        m.d.sync += credits.eq(credits + (fifo.o.valid & fifo.o.ready) - (header | read_out.go))
        arrives = lanes.sent[-1]
        m.d.comb += [
            fifo.i.valid.eq(header | arrives),
            fifo.i.p.data.eq(Cat(lanes.outputs)),
            fifo.i.p.last.eq(delayed(m, read_out.last, "last", len(lanes.sent) - 1) & arrives),
            fifo.i.p.final.eq(arrives),
        ]
        if self._several:
            query = delayed(m, read_out.query, "query", len(lanes.sent) - 1)
            m.d.comb += fifo.i.p.query.eq(Mux(header, read_out.select, query))
        wiring.connect(m, fifo=fifo.o, result=wiring.flipped(self.result))
        return _Result(fifo, credits, places, header, scale)

    def _control(self, m, commands, queues, turns, moves, lanes, in_flight, read_out, result):
        """Control of a step: merge, compute the scale (to normalise, logarithm and factor too), then read out."""
        config, total, unit = self._config, self._sum, queues.unit
        io, normalise, factor = config.io, commands.o.p.normalise, chosen(lanes.factors, read_out.select)
        fifo, header, places, scale = result.fifo, result.header, result.places, result.scale
        wait = Signal(range(max(SumUnit.LOGARITHM, WeightUnit.LATENCY, total.FINISH) + 1))
        with m.FSM():
            with m.State("RUN"):
                m.d.comb += turns.running.eq(commands.o.valid)
                with m.If(moves.ends & turns.finished.all()):
                    m.d.sync += [turns.done.eq(0), turns.begun.eq(0), turns.turn.eq(0)]
                    m.next = "DRAIN"
            with m.State("DRAIN"):
                m.d.comb += total.close.eq(1)
                m.d.sync += [wait.eq(0), read_out.chunk.eq(0), read_out.phase.eq(1)]
                drained = (turns.flying == 0) & ~in_flight.any()
                # With several queries, beats of O may wait whose weights are no longer in flight.
                with m.If(drained & (queues.staging.level == 0) if self._several else drained):
                    m.next = "SCALE"
            with m.State("SCALE"):
                # Not earlier: while a short step is merged, the lanes may still multiply the previous result.
                m.d.sync += [
                    factor.eq(io.bias << io.fraction_bits),
                    scale.eq(unit.total_scale + (total.power << config.table.fraction_bits)),
                ]
                if self._several:
                    m.d.sync += chosen(read_out.powers, read_out.select).eq(total.power)
                with m.If(normalise):
                    m.next = "LOGARITHM"
                with m.Else():
                    m.next = "HEADER"
            with m.State("LOGARITHM"):
                m.d.sync += wait.eq(wait + 1)
                with m.If((wait >= SumUnit.LOGARITHM) & unit.free):
                    m.d.comb += [unit.normalise.eq(1), unit.m.eq(total.log)]
                    m.d.sync += wait.eq(0)
                    m.next = "NORMALISE"
            with m.State("NORMALISE"):
                # In parallel with the exponential: m + ln l.
                m.d.comb += total.finish.eq(1)
                m.d.sync += wait.eq(wait + 1)
                with m.If(unit.normalised):
                    m.d.sync += factor.eq(Mux(total.empty, 0, Mux(total.bad, io.nan, unit.weight)))
                with m.If(wait == max(WeightUnit.LATENCY, total.FINISH)):
                    m.next = "HEADER"
            with m.State("HEADER"):
                m.d.comb += [
                    header.eq(places),
                    fifo.i.p.data.eq(Cat(unit.maximum, scale)),
                    fifo.i.p.kind.as_value().eq(PartialKind.MAXIMUM.value),
                ]
                with m.If(places):
                    m.next = "SUM"
            with m.State("SUM"):
                m.d.comb += [
                    header.eq(places),
                    fifo.i.p.data.eq(Mux(normalise, total.log_sum, total.part)),
                    fifo.i.p.kind.as_value().eq(Mux(normalise, PartialKind.LOG_SUM.value, PartialKind.SUM.value)),
                ]
                with m.If(places):
                    m.next = "OUTPUT"
                    if self._several:
                        m.d.sync += read_out.select.eq(0)
                        with m.If(read_out.select != commands.o.p.queries - 1):
                            m.d.sync += read_out.select.eq(read_out.select + 1)
                            m.next = "DRAIN"
            with m.State("OUTPUT"):
                m.d.comb += read_out.go.eq(places & read_out.phase)
                m.d.sync += read_out.phase.eq(~read_out.phase)
                with m.If(read_out.go):
                    m.d.sync += read_out.chunk.eq(read_out.chunk + 1)
                    with m.If(read_out.last):
                        m.d.comb += commands.o.ready.eq(1)
                        m.next = "RUN"

    def _check(self, m, queues, moves, merge, lanes, result):
        fifo, sent = result.fifo, lanes.sent
        factors = Cat(lanes.factors)
        before = Signal.like(factors)
        m.d.sync += before.eq(factors)
        m.d.comb += [
            Assert(
                ~Cat(sent[: self._lanes[0].AGAIN + 1]).any() | (factors == before),
                "PamRu: the factor stays until the result is multiplied",
            ),
            Assert(~fifo.i.valid | fifo.i.ready, "PamRu: a beat of the result finds a place"),
            Assert(
                result.credits + fifo.level + sum(sent[1:]) == fifo.depth,
                "PamRu: each place is free, reserved, or taken",
            ),
            Assert(~(result.header & sent[-1]), "PamRu: a header and a beat of O never leave at once"),
            Assert(~(sent[1] & sent[self._lanes[0].BACK]), "PamRu: what comes back meets nothing from the scratch"),
            Assert(
                ~(Cat(sent).any() & (merge.go | lanes.valid_1)), "PamRu: the lanes serve either merging or the result"
            ),
            Assert(~moves.start | queues.sums.i.ready, "PamRu: a sum finds a place"),
            Assert(~queues.unit.valid | queues.weights.i.ready, "PamRu: a weight finds a place"),
        ]
