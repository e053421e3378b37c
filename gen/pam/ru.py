# amaranth: UnusedElaboratable=no
"""PAM's reduction unit (RU): merges partial results of attention, streaming, and normalises without a divider."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...constraints.units.pam_ru import PamRuConfig
from ..arith import convert, fma, from_integer, logarithm
from ..blocks.stream import StreamFIFO, StreamRegister
from .partial_port import PartialKind, PartialPort, partial_layout, word_layout
from .weights import WeightUnit

__all__ = ["PamRu", "reduction_layout"]


def reduction_layout(config):
    """One step: whether the result is normalised."""
    return data.StructLayout({"normalise": 1})


class PamRu(wiring.Component):
    """Merges the partial results of several sources into one.

    A step is started by one item on ``command``. Each source sends its partial results on ``source_N``: MAXIMUM, SUM, then
    the chunks of O, as :class:`PamPu` and this unit do; the last one of the step is marked ``final``. Sources take turns,
    one partial result each, in the order of :meth:`PamRuConfig.order`, so that the result does not depend on timing.
    After the last one the result leaves on ``result``: a partial result again, or, with ``normalise``, MAXIMUM, LOG_SUM
    and O divided by l.

    Timing: one beat of O per clock, whatever the maxima, as long as another source's m and l are there (two sources or
    more) or with two clocks for them in between (one source), and a partial result has at least ``LOOP`` beats of
    ``lanes`` elements; a shorter one takes ``LOOP`` clocks. Between the last beat of a step and the first one of the next
    the result is made and read out.

    The functional model is ``bankside.models.pam.ru.reduce_partials``, equal bit for bit.

    Source: PAM (MICRO 2025) section 5.2.2 and Algorithm 1 (Reduce).

    Parameters
    ----------
    config : :class:`PamRuConfig`

    Members
    -------
    command : ``In(stream.Signature(reduction_layout(config)))``
    source_0 ... : ``In(stream.Signature(partial_layout(config, source_lanes)))``
    result : ``Out(stream.Signature(partial_layout(config, lanes)))``
    """

    #: Registers of the multiply-adds.
    DEPTH = 3
    #: Clocks from reading an accumulator to reading it again with what was added.
    LOOP = DEPTH + 1
    #: Partial results whose weight is under way: enough for one every ``LOOP`` clocks.
    WEIGHTS = 4
    LOGARITHM = 4
    #: Places for beats of the result, as many as are on their way to it and two more.
    PLACES = DEPTH + 8

    #: What each port is for.
    PORTS = {
        "command": {
            "payload": "one step",
            "fields": {"normalise": "final level: O is divided by l, and m + ln l leaves in the place of l"},
        },
        "source": {
            "payload": "a beat of a partial result: m, then l, then the chunks of O",
            "fields": {
                "data": "source_lanes elements of O, lane 0 lowest; or m (score format) with its scale above it, or l "
                        "(accumulation format), in the lowest bits",
                "kind": "0: O, 1: m, 2: l",
                "last": "last beat of the partial result",
                "final": "with last: the source's last partial result of the step",
            },
        },
        "result": {
            "payload": "a beat of the result: m, then l or m + ln l, then the chunks of O",
            "fields": {
                "data": "lanes elements of O, lane 0 lowest; or m with its scale above it, or l or m + ln l (accumulation "
                        "format), in the lowest bits",
                "kind": "0: O, 1: m, 2: l, 3: m + ln l",
                "last": "last beat of the result",
                "final": "on every beat of O",
            },
        },
    }

    def __init__(self, config):
        if not isinstance(config, PamRuConfig):
            raise TypeError(f"Configuration must be a PamRuConfig, not {config!r}")
        self._config = config
        self._names = [f"source_{n}" for n in range(config.sources)]
        self.PORTS = {"command": PamRu.PORTS["command"], **dict.fromkeys(self._names, PamRu.PORTS["source"]),
                      "result": PamRu.PORTS["result"]}
        super().__init__({
            "command": In(stream.Signature(reduction_layout(config))),
            **{name: In(stream.Signature(partial_layout(config, config.source_lanes))) for name in self._names},
            "result": Out(stream.Signature(partial_layout(config, config.lanes))),
        })

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in cycles: from a partial result's turn to its weight, and from a beat of O that has its weight
        to its place in the scratch."""
        return {"turn_to_weight": WeightUnit.LATENCY, "beat_to_scratch": self.LOOP}

    def elaborate(self, platform):
        m = Module()
        config = self._config
        io, acc, lanes = config.io, config.acc, config.lanes
        fraction = config.table.fraction_bits

        def delayed(value, name, cycles, keep=False):
            for cycle in range(cycles):
                r = Signal(value.shape(), name=f"{name}_{cycle + 1}", reset_less=not keep)
                m.d.sync += r.eq(value)
                value = r
            return value

        m.submodules.commands = commands = StreamRegister(reduction_layout(config))
        wiring.connect(m, command=wiring.flipped(self.command), commands=commands.i)
        normalise = commands.o.p.normalise

        ports = []
        for name in self._names:
            m.submodules[name] = port = PartialPort(config)
            wiring.connect(m, source=wiring.flipped(getattr(self, name)), port=port.i)
            ports.append(port)

        # ---- Dispatcher: whose turn it is; m to the weight unit, l and O into queues --------------------------------
        m.submodules.weight_unit = unit = WeightUnit(config)
        m.submodules.staging = staging = StreamFIFO(
            data.StructLayout({"data": lanes * io.width, "last": 1}), config.staging_beats, output_register=False)
        m.submodules.sums = sums = StreamFIFO(acc.width, self.WEIGHTS)
        m.submodules.weights = weights = StreamFIFO(
            data.StructLayout({"weight": io.width, "steps": 10, "first": 1}), self.WEIGHTS)

        sources = config.sources
        running, begun, started = Signal(), Signal(), Signal()  # a step; one partial result of it; its m is under way
        turn = Signal(range(max(sources, 2)))
        done = Signal(sources)
        flying = Signal(range(self.WEIGHTS + 1))
        word = Signal(word_layout(config))
        there, known, move, ends, start = (Signal(name=n) for n in ("there", "known", "move", "ends", "start"))
        m.d.comb += [
            word.eq(Array(Value.cast(port.o.payload) for port in ports)[turn]),
            there.eq(Array(port.o.valid for port in ports)[turn]),
            known.eq(Array(port.known for port in ports)[turn]),
            start.eq(running & known & ~started & there & staging.i.ready & unit.free & (flying != self.WEIGHTS)),
            move.eq(running & there & staging.i.ready & (started | start)),
            ends.eq(move & word.last),
            staging.i.valid.eq(move),
            staging.i.p.data.eq(word.data),
            staging.i.p.last.eq(word.last),
            sums.i.valid.eq(start),
            sums.i.payload.eq(Array(port.l for port in ports)[turn]),
        ]
        for n, port in enumerate(ports):
            m.d.comb += port.o.ready.eq(move & (turn == n))
        with m.If(move):
            m.d.sync += [started.eq(~word.last), begun.eq(1)]
        finished = Signal(sources)
        m.d.comb += finished.eq(done | Mux(ends & word.final, Const(1, 1) << turn, 0))
        all_done = Signal()
        m.d.comb += all_done.eq(finished.all())
        with m.If(ends):
            m.d.sync += done.eq(finished)
            with m.Switch(turn):
                for n in range(sources):
                    with m.Case(n):
                        # The next one after n that has not finished; n itself if it is the only one.
                        following = n
                        for k in range(sources - 1, 0, -1):
                            other = (n + k) % sources
                            following = Mux(finished[other], following, other)
                        m.d.sync += turn.eq(following)

        # ---- Multiply-add: one beat of O at a time ------------------------------------------------------------------
        chunk, gap = Signal(range(max(config.max_chunks, 2))), Signal(range(self.LOOP))
        go, pop = Signal(), Signal()
        entry = weights.o.p
        m.d.comb += [
            go.eq(staging.o.valid & weights.o.valid & sums.o.valid & (gap == 0)),
            staging.o.ready.eq(go),
            pop.eq(go & staging.o.p.last),
            weights.o.ready.eq(pop),
            sums.o.ready.eq(pop),
            weights.i.valid.eq(unit.valid),
            weights.i.p.weight.eq(unit.weight),
            weights.i.p.steps.eq(unit.steps),
            weights.i.p.first.eq(unit.is_first),
        ]
        m.d.sync += flying.eq(flying + start - pop)
        with m.If(gap != 0):
            m.d.sync += gap.eq(gap - 1)
        with m.If(go):
            m.d.sync += chunk.eq(Mux(staging.o.p.last, 0, chunk + 1))
            with m.If(staging.o.p.last):
                m.d.sync += gap.eq(Mux(chunk < self.LOOP - 1, self.LOOP - 1 - chunk, 0))

        memory = Memory(shape=lanes * acc.width, depth=max(config.max_chunks, 2), init=[])
        m.submodules.scratch = memory
        write, read = memory.write_port(), memory.read_port()

        # Reading the result out: an address and a place for the beat.
        out_go, out_last = Signal(), Signal()
        out_chunk, count = Signal(chunk.shape()), Signal(range(config.max_chunks + 1))
        with m.If(go & staging.o.p.last):
            m.d.sync += count.eq(chunk)
        m.d.comb += out_last.eq(out_chunk == count)
        m.d.comb += read.addr.eq(Mux(out_go, out_chunk, chunk))

        # Cycle 1: the accumulators; what was written while they were read goes around the memory.
        valid_1 = delayed(go, "valid", 1, keep=True)
        data_1, head_1 = delayed(staging.o.p.data, "data", 1), delayed(chunk == 0, "head", 1)
        weight_1, first_1, sum_1 = (delayed(v, n, 1) for v, n in
                                    ((entry.weight, "weight"), (entry.first, "first"), (sums.o.payload, "sum")))
        steps_1 = delayed(entry.steps, "steps", 1)
        written, around = Signal(lanes * acc.width, reset_less=True), Signal()
        m.d.sync += [written.eq(write.data), around.eq(write.en & (write.addr == read.addr))]
        old = Signal(lanes * acc.width)
        m.d.comb += old.eq(Mux(around, written, read.data))
        out_1, out_last_1 = delayed(out_go, "out", 1, keep=True), delayed(out_last, "out_last", 1)

        power = Signal(signed(10))        # of l, for the result
        factor = Signal(io.width)
        steps = Signal(signed(11))
        m.d.comb += steps.eq(Mux(valid_1, steps_1, power))
        out_3, out_last_3 = delayed(out_1, "out_3", 2, keep=True), delayed(out_last_1, "out_last_3", 2)
        scalar = Signal(io.width)
        m.d.comb += scalar.eq(Mux(out_3, factor, weight_1))
        results, outputs = [], []
        for lane in range(lanes):
            moved = _shift(m, old.word_select(lane, acc.width), steps, acc, f"moved_{lane}")
            # For the result: a cycle to move, a cycle to round.
            moved_2 = delayed(moved, f"moved_2_{lane}", 1)
            rounded = delayed(_converted(m, moved_2, acc, io, f"rounded_{lane}_"), f"output_3_{lane}", 1)
            x, addend = Signal(io.width, name=f"x_{lane}"), Signal(acc.width, name=f"addend_{lane}")
            m.d.comb += [
                x.eq(Mux(out_3, rounded, data_1.word_select(lane, io.width))),
                addend.eq(Mux(out_3 | first_1, 0, moved)),
            ]
            result = fma(m, scalar, x, addend, fmt=io, acc=acc, depth=self.DEPTH, name=f"lane_{lane}_")
            results.append(result)
            outputs.append(delayed(_converted(m, result, acc, io, f"out_{lane}_"), f"out_{lane}", 1))
        valid_4 = delayed(valid_1, "valid_4", self.DEPTH, keep=True)
        chunk_4 = delayed(delayed(chunk, "chunk", 1), "chunk_4", self.DEPTH)
        m.d.comb += [write.en.eq(valid_4), write.addr.eq(chunk_4), write.data.eq(Cat(results))]

        # The sum, beside the first beat of O; and later m + ln l on the same multiply-add.
        total = Signal(acc.width, reset_less=True)
        sum_a, sum_b, sum_c = (Signal(acc.width, name=n) for n in ("sum_a", "sum_b", "sum_c"))
        sum_moved = _shift(m, total, steps_1, acc, "sum_moved")
        m.d.comb += [
            sum_a.eq(_converted(m, weight_1, io, acc, "sum_weight_")),
            sum_b.eq(sum_1),
            sum_c.eq(Mux(first_1, 0, sum_moved)),
        ]
        sum_result = fma(m, sum_a, sum_b, sum_c, fmt=acc, depth=self.DEPTH, name="sum_")
        with m.If(delayed(valid_1 & head_1, "head_4", self.DEPTH, keep=True)):
            m.d.sync += total.eq(sum_result)
        in_flight = Signal()
        stages = Signal(self.DEPTH)
        m.d.sync += stages.eq(Cat(valid_1, stages))
        m.d.comb += in_flight.eq(valid_1 | stages.any())

        # ---- Result -------------------------------------------------------------------------------------------------
        field = total[acc.fraction_bits:-1]
        empty, special = Signal(), Signal()
        m.d.comb += [empty.eq(~field.any()), special.eq(field.all())]
        part = Signal(acc.width, reset_less=True)      # of l, at least 1 and below 2
        empty_l, bad_l = Signal(reset_less=True), Signal(reset_less=True)
        scale = Signal(signed(config.scale_bits), reset_less=True)
        log_bits = Signal(config.log.width)
        log = logarithm(m, _converted(m, part, acc, config.log, "part_"), fmt=config.log, depth=self.LOGARITHM, name="log_")
        m.d.comb += log_bits.eq(log)
        log_score = _converted(m, log_bits, config.log, config.score, "log_score_")
        log_acc = _converted(m, log_bits, config.log, acc, "log_acc_")
        maximum_acc = _converted(m, unit.maximum, config.score, acc, "maximum_acc_")
        whole = delayed(from_integer(m, scale[fraction - config.log_scale_bits:], fmt=acc, signed=True, name="scale_"),
                        "whole", 1)
        log_sum = Signal(acc.width, reset_less=True)

        m.submodules.outputs = fifo = StreamFIFO(partial_layout(config, lanes), self.PLACES)
        credits = Signal(range(fifo.depth + 1), init=fifo.depth)
        header, places = Signal(), Signal()
        m.d.comb += places.eq(credits != 0)
        m.d.sync += credits.eq(credits + (fifo.o.valid & fifo.o.ready) - (header | out_go))
        out_done = delayed(out_3, "out_done", self.DEPTH + 1, keep=True)
        m.d.comb += [
            fifo.i.valid.eq(header | out_done),
            fifo.i.p.data.eq(Cat(outputs)),
            fifo.i.p.last.eq(delayed(out_last_3, "last_done", self.DEPTH + 1) & out_done),
            fifo.i.p.final.eq(out_done),
        ]
        wiring.connect(m, fifo=fifo.o, result=wiring.flipped(self.result))

        wait = Signal(range(2 * self.DEPTH + max(self.LOGARITHM, WeightUnit.LATENCY) + 2))
        m.d.comb += [
            unit.m.eq(Array(port.m for port in ports)[turn]),
            unit.scale.eq(Array(port.scale for port in ports)[turn]),
            unit.start.eq(start),
            unit.first.eq(~begun),
        ]
        with m.FSM():
            with m.State("RUN"):
                m.d.comb += running.eq(commands.o.valid)
                with m.If(ends & all_done):
                    m.d.sync += [done.eq(0), begun.eq(0), turn.eq(0)]
                    m.next = "DRAIN"
            with m.State("DRAIN"):
                m.d.sync += [
                    part.eq(Mux(empty, 0, Mux(special, total, Cat(total[:acc.fraction_bits],
                                                                  Const(acc.bias, acc.exponent_bits), total[-1])))),
                    power.eq(Mux(empty | special, 0, field - acc.bias)),
                    empty_l.eq(empty),
                    bad_l.eq(special | total[-1]),
                    factor.eq(io.bias << io.fraction_bits),
                    wait.eq(0),
                    out_chunk.eq(0),
                ]
                with m.If((flying == 0) & ~in_flight):
                    m.next = "SCALE"
            with m.State("SCALE"):
                m.d.sync += scale.eq(unit.total_scale + (power << fraction))
                with m.If(normalise):
                    m.next = "LOGARITHM"
                with m.Else():
                    m.next = "HEADER"
            with m.State("LOGARITHM"):
                m.d.sync += wait.eq(wait + 1)
                with m.If((wait >= self.LOGARITHM) & unit.free):
                    m.d.comb += unit.normalise.eq(1)
                    m.d.comb += unit.m.eq(log_score)
                    m.d.sync += wait.eq(0)
                    m.next = "NORMALISE"
            with m.State("NORMALISE"):
                # Beside the exponential: m + ln l, as scale times ln 2 plus the logarithm, plus m.
                m.d.sync += wait.eq(wait + 1)
                m.d.comb += [
                    sum_a.eq(Mux(wait < self.DEPTH, whole, log_sum)),
                    sum_b.eq(Mux(wait < self.DEPTH, config.log_constant, acc.bias << acc.fraction_bits)),
                    sum_c.eq(Mux(wait < self.DEPTH, log_acc, maximum_acc)),
                ]
                with m.If((wait == self.DEPTH) | (wait == 2 * self.DEPTH + 1)):
                    m.d.sync += log_sum.eq(sum_result)
                with m.If(unit.normalised):
                    m.d.sync += factor.eq(Mux(empty_l, 0, Mux(bad_l, io.nan, unit.weight)))
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
                    fifo.i.p.data.eq(Mux(normalise, log_sum, part)),
                    fifo.i.p.kind.as_value().eq(Mux(normalise, PartialKind.LOG_SUM.value, PartialKind.SUM.value)),
                ]
                with m.If(places):
                    m.next = "OUTPUT"
            with m.State("OUTPUT"):
                m.d.comb += out_go.eq(places)
                with m.If(places):
                    m.d.sync += out_chunk.eq(out_chunk + 1)
                    with m.If(out_last):
                        m.d.comb += commands.o.ready.eq(1)
                        m.next = "RUN"

        if platform == "formal":
            flight = Signal(self.DEPTH + 4)  # from the address to the queue
            m.d.sync += flight.eq(Cat(out_go, flight))
            landing = sum(flight)
            m.d.comb += [
                Assert(~fifo.i.valid | fifo.i.ready, "PamRu: a beat of the result finds a place"),
                Assert(credits + fifo.level + landing == fifo.depth, "PamRu: each place is free, reserved, or taken"),
                Assert(out_done == flight[self.DEPTH + 3], "PamRu: a beat of O comes after its latency"),
                Assert(~(header & out_done), "PamRu: a header and a beat of O never leave at once"),
                Assert(~((go & out_go) | (valid_1 & (out_1 | out_3))),
                       "PamRu: the multiply-adds serve either merging or the result"),
                Assert(~start | sums.i.ready, "PamRu: a sum finds a place"),
                Assert(~unit.valid | weights.i.ready, "PamRu: a weight finds a place"),
            ]
        return m


def _converted(m, bits, source, target, name):
    """A number in another format, as a signal."""
    if source == target:
        return bits
    out = Signal(target.width, name=f"{name}converted")
    m.d.comb += out.eq(convert(m, bits, source=source, target=target, name=name))
    return out


def _shift(m, bits, steps, fmt, name):
    """``bits * 2**-steps``: exact, but what would become subnormal is a zero of its sign."""
    field = bits[fmt.fraction_bits:-1]
    moved = Signal(signed(max(len(steps), fmt.exponent_bits + 1) + 2), name=f"{name}_field")
    small, large, out = (Signal(1, name=f"{name}_small"), Signal(1, name=f"{name}_large"), Signal(fmt.width, name=name))
    m.d.comb += [
        moved.eq(field - steps),
        small.eq(~field.any() | (moved <= 0)),
        large.eq(moved >= fmt.exponent_max),
    ]
    with m.If(field.all() | (steps == 0)):
        m.d.comb += out.eq(bits)
    with m.Elif(small):
        m.d.comb += out.eq(Cat(Const(0, fmt.width - 1), bits[-1]))
    with m.Elif(large):
        m.d.comb += out.eq(Cat(Const(fmt.infinity, fmt.width - 1), bits[-1]))
    with m.Else():
        m.d.comb += out.eq(Cat(bits[:fmt.fraction_bits], moved[:fmt.exponent_bits], bits[-1]))
    return out
