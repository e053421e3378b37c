# amaranth: UnusedElaboratable=no
"""INF2's softmax engine: three passes over rows of scores, each of another row at the same time."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import wiring

from ...constraints.inf2.softmax import Inf2SoftmaxConfig
from ..arith.lanes import register
from ..arith.softmax import QuotientLane, RowMaximum, RowSum, WeightLanes, row_scale, scale_layout, weight_maximum
from ..blocks.ports import members, payload
from ..blocks.shared import shared
from ..blocks.stream import StreamFIFO, StreamRegister

__all__ = ["Inf2Softmax"]


class Inf2Softmax(wiring.Component):
    """Softmax of rows of scores, ``lanes`` scores per clock.

    The first pass writes masked scores over, finds the maximum of the row and keeps the scores. The second pass turns kept
    scores into weights, adds the weights up and keeps them. The third pass divides kept weights by their sum. Each pass
    takes a beat per clock, and the passes work on different rows at the same time. Results leave in the order of rows.

    Timing: a beat in each cycle in which it is offered, unless a store or all places for rows are full. The second pass
    of a row begins ``maximum`` cycles after the row's last beat entered the first. The third pass begins ``weight`` +
    ``sum`` + ``scale`` cycles after it entered the second. Queues add their latency.

    The functional model is ``bankside.models.numerics.softmax.softmax_parts``.

    Source: INF2, accelerator; streams, overlap of rows, order of sums and division are this project's choice.

    Parameters
    ----------
    config : :class:`Inf2SoftmaxConfig`

    Members
    -------
    row : ``In(stream.Signature(...))``
        A row without tokens has no effect.
    score : ``In(stream.Signature(...))``
    kept_score, again_score, kept_weight, again_weight : streams between the passes, for rows that are streamed
    sum : ``Out(stream.Signature(...))``, without division
    result : ``Out(stream.Signature(...))``
    """

    def __init__(self, config):
        if not isinstance(config, Inf2SoftmaxConfig):
            raise TypeError(f"Configuration must be an Inf2SoftmaxConfig, not {config!r}")
        self._config = config
        rule = config.rule
        self._maximum, self._sum = RowMaximum(rule.score, rule.lanes, rule.groups), RowSum(config)
        self._counted = {}
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in clocks: of the maximum, weights, sum, reciprocal of the sum, and quotients."""
        config = self._config
        found = {"maximum": self._maximum.latency, "weight": 1 + config.exp_depth, "sum": self._sum.latency}
        if config.divides:
            found |= {"scale": config.reciprocal_depth, "quotient": 1 + config.quotient_depth}
        return found

    def elaborate(self, platform):
        m = Module()
        config = self._config
        slots = config.row_slots
        m.submodules.maxima = maxima = StreamFIFO(config.rule.score.width, slots)
        scores_in, scores_out = self._store(m, "score", config.kept_scores_layout)
        self._find_maximum(m, platform, scores_in, maxima)
        if config.divides:
            weights_in, weights_out = self._store(m, "weight", config.result_layout)
            m.submodules.scales = scales = StreamFIFO(scale_layout(config.rule), slots)
            self._find_weights(m, platform, scores_out, maxima.o, weights_in, scales)
            self._divide(m, platform, weights_out, scales.o)
        else:
            m.submodules.results = results = StreamFIFO(
                payload(config.result_layout), self._in_flight(self.latency["weight"]), output_register=False
            )
            wiring.connect(m, results.o, wiring.flipped(self.result))
            m.submodules.sums = sums = StreamFIFO(payload(config.sum_layout), slots)
            wiring.connect(m, sums.o, wiring.flipped(self.sum))
            self._find_weights(m, platform, scores_out, maxima.o, results.i, sums)
        if platform == "formal":
            self._check_places(m)
        return m

    def _check_places(self, m):
        """Pipelines that never stall end in queues: each queue has a place for everything that reaches it."""
        for name, (taken, count, takes, depth) in self._counted.items():
            queue = m.submodules[name]
            flying = [takes] + [Signal(name=f"{name}_flying_{n}") for n in range(depth)]
            m.d.sync += [later.eq(one) for one, later in zip(flying, flying[1:], strict=False)]
            m.d.comb += [
                Assert(~queue.i.valid | queue.i.ready, f"Inf2Softmax: what reaches {name} finds a place"),
                Assert(
                    taken == queue.level + sum(flying[1:]), f"Inf2Softmax: places of {name} are on the way or taken"
                ),
                Assert(taken <= count, f"Inf2Softmax: no more places of {name} are taken than there are"),
            ]
            if name == "sums":
                tops = m.submodules.tops
                m.d.comb += [
                    Assert(~tops.i.valid | tops.i.ready, "Inf2Softmax: a maximum finds a place beside its sum"),
                    Assert(~self._sum.output_valid | tops.o.valid, "Inf2Softmax: the maximum of a sum is there"),
                    Assert(tops.level == sum(flying[1:]), "Inf2Softmax: every row on the way to its sum has a maximum"),
                ]

    @staticmethod
    def _check_frames(m, name, beat, first, *, valid, begins, ends, depth):
        """A beat is the first of its row behind the last beat of another row, and nowhere else. A unit takes beats
        ``depth`` clocks after the strobe ``beat``."""
        started = Signal(name=f"{name}_started", init=1)
        flying = [beat] + [Signal(name=f"{name}_beat_{n}") for n in range(depth)]
        with m.If(valid):
            m.d.sync += started.eq(ends)
        m.d.sync += [later.eq(one) for one, later in zip(flying, flying[1:], strict=False)]
        m.d.comb += [
            Assert(~valid | (begins == started), f"Inf2Softmax: beats of rows are framed for the {name}"),
            Assert((started == first) | Cat(flying[1:]).any(), f"Inf2Softmax: the next beat for the {name} is framed"),
        ]

    @staticmethod
    def _in_flight(latency):
        """Places of a queue behind a pipeline that never stalls, so that it passes a beat in every clock."""
        return latency + 3

    def _store(self, m, name, layout):
        """Input and output of a store of beats between two passes: a queue here, or two ports."""
        config = self._config
        if not config.streamed:
            m.submodules[f"{name}_store"] = store = StreamFIFO(
                payload(layout), config.store_beats, output_register=False
            )
            return store.i, store.o
        m.submodules[f"{name}_store"] = out = StreamFIFO(
            payload(layout), self._in_flight(self.latency["weight"]), output_register=False
        )
        wiring.connect(m, out.o, wiring.flipped(getattr(self, f"kept_{name}")))
        return out.i, wiring.flipped(getattr(self, f"again_{name}"))

    def _places(self, m, name, count, takes, gives, *, queue, depth):
        """1 while fewer than ``count`` places are taken: in a queue and in the pipeline of ``depth`` clocks before it."""
        taken, free = Signal(range(count + 1), name=f"{name}_taken"), Signal(name=f"{name}_free")
        self._counted[queue] = taken, count, takes, depth
        m.d.sync += taken.eq(taken + takes - gives)
        m.d.comb += free.eq(taken != count)
        return free

    def _find_maximum(self, m, platform, store, maxima):
        """First pass."""
        config = self._config
        rule = config.rule
        fmt, lanes, bits = rule.score, rule.lanes, (rule.lanes - 1).bit_length()
        m.submodules.rows = rows = StreamRegister(payload(config.row_layout))
        wiring.connect(m, wiring.flipped(self.row), rows.i)
        tokens = rows.o.p.tokens
        beats = range(rule.beats(config.max_tokens) + 1)
        count, beat = Signal(beats, name="beats"), Signal(beats, name="beat")
        first, last, free, moves = (Signal(name=name) for name in ("first", "last", "free", "moves"))
        m.d.comb += [
            count.eq((tokens + (lanes - 1)) >> bits),
            first.eq(beat == 0),
            last.eq(beat == count - 1),
            self.score.ready.eq(rows.o.valid & tokens.any() & store.ready & (free | ~last)),
            moves.eq(self.score.valid & self.score.ready),
            rows.o.ready.eq((moves & last) | ~tokens.any()),
        ]
        with m.If(moves):
            m.d.sync += beat.eq(Mux(last, 0, beat + 1))

        # Lanes behind the last token count as scores of minus infinity.
        rest = tokens[:bits]
        kept = Signal(lanes * fmt.width, name="scores")
        for lane in range(lanes):
            behind = last & rest.any() & (rest <= lane) if lane else Const(0, 1)
            given = self.score.p.data.word_select(lane, fmt.width)
            m.d.comb += kept.word_select(lane, fmt.width).eq(
                Mux(behind, fmt.negative_infinity, Mux(self.score.p.mask[lane], rule.mask_bits, given))
            )
        m.submodules.maximum = unit = self._maximum
        m.d.comb += [
            store.valid.eq(moves),
            store.p.data.eq(kept),
            store.p.last.eq(last),
            unit.valid.eq(moves),
            unit.first.eq(first),
            unit.last.eq(last),
            unit.data.eq(kept),
            maxima.i.valid.eq(unit.output_valid),
            maxima.i.payload.eq(unit.maximum),
            free.eq(
                self._places(
                    m,
                    "maxima",
                    config.row_slots,
                    moves & last,
                    maxima.o.valid & maxima.o.ready,
                    queue="maxima",
                    depth=unit.latency,
                )
            ),
        ]
        if platform == "formal":
            self._check_frames(m, "maximum", moves, first, valid=moves, begins=first, ends=last, depth=0)
            m.d.comb += Assert(
                (beat == 0) | (rows.o.valid & (beat < count)), "Inf2Softmax: a beat that is due is of a row"
            )

    def _find_weights(self, m, platform, scores, maxima, store, sums):
        """Second pass. ``sums`` is a queue that gets something of every row: what divides its weights, or their sum."""
        config = self._config
        rule = config.rule
        score, io, lanes, latency = rule.score, rule.io, rule.lanes, self.latency
        issue, first = Signal(name="issue"), Signal(name="issue_first", init=1)
        if config.streamed or not config.divides:
            room = self._in_flight(latency["weight"])
            leaves = self.kept_weight if config.divides else self.result
            gives = leaves.valid & leaves.ready
        else:
            room, gives = config.store_beats, self._weights_leave(m)
        place = self._places(
            m,
            "weights",
            room,
            issue,
            gives,
            queue="weight_store" if config.divides else "results",
            depth=latency["weight"],
        )
        row = self._places(
            m,
            "sums",
            config.row_slots,
            issue & scores.p.last,
            sums.o.valid & sums.o.ready,
            queue="scales" if config.divides else "sums",
            depth=latency["weight"] + latency["sum"] + latency.get("scale", 0),
        )
        m.d.comb += [
            issue.eq(scores.valid & maxima.valid & place & (row | ~scores.p.last)),
            scores.ready.eq(maxima.valid & place & (row | ~scores.p.last)),
            maxima.ready.eq(issue & scores.p.last),
        ]
        with m.If(issue):
            m.d.sync += first.eq(scores.p.last)

        depth = latency["weight"]
        given, top = (
            register(m, scores.p.data, "given"),
            register(m, weight_maximum(m, maxima.payload, score=score, fabric=config.fabric), "top"),
        )
        weights = Signal(lanes * io.width, name="weights")
        for number in range(lanes // WeightLanes(config).lanes):
            unit = WeightLanes(config)
            m.submodules[f"weights_{number}"] = shared(platform, unit, "weights", part=True)
            m.d.comb += [
                unit.maximum.eq(top),
                unit.data.eq(given.word_select(number, len(unit.data))),
                weights.word_select(number, len(unit.weights)).eq(unit.weights),
            ]
        valid = register(m, issue, "weights_valid", depth, keep=True)
        begins, ends = (
            register(m, value, name, depth)
            for value, name in ((first, "weights_first"), (scores.p.last, "weights_last"))
        )
        m.submodules.sum_unit = total = self._sum
        m.d.comb += [
            store.valid.eq(valid),
            store.p.data.eq(weights),
            store.p.last.eq(ends),
            total.valid.eq(valid),
            total.first.eq(begins),
            total.last.eq(ends),
            total.data.eq(weights),
        ]
        if platform == "formal":
            self._check_frames(m, "sum", issue, first, valid=valid, begins=begins, ends=ends, depth=depth)
        if config.divides:
            scale = row_scale(
                m, total.sum, rule=rule, depth=config.reciprocal_depth, fabric=config.fabric, name="scale_"
            )
            m.d.comb += [
                sums.i.valid.eq(register(m, total.output_valid, "scale_valid", config.reciprocal_depth, keep=True)),
                Value.cast(sums.i.payload).eq(scale),
            ]
        else:
            # Maxima wait for the sums of their rows. A queue for no more rows is fast enough for the shortest pipelines.
            together = latency["weight"] + latency["sum"] + 1
            m.submodules.tops = tops = StreamFIFO(score.width, min(config.row_slots, together))
            m.d.comb += [
                tops.i.valid.eq(maxima.valid & maxima.ready),
                tops.i.payload.eq(maxima.payload),
                tops.o.ready.eq(total.output_valid),
                sums.i.valid.eq(total.output_valid),
                sums.i.p.maximum.eq(tops.o.payload),
                sums.i.p.sum.eq(total.sum),
            ]

    def _weights_leave(self, m):
        """Strobe: a beat of weights leaves its store on the chip."""
        store = m.submodules.weight_store
        return store.o.valid & store.o.ready

    def _divide(self, m, platform, weights, scales):
        """Third pass."""
        config = self._config
        rule = config.rule
        io, lanes, depth = rule.io, rule.lanes, self.latency["quotient"]
        room = self._in_flight(depth)
        m.submodules.results = results = StreamFIFO(payload(config.result_layout), room, output_register=False)
        wiring.connect(m, results.o, wiring.flipped(self.result))
        issue = Signal(name="divide")
        place = self._places(
            m, "results", room, issue, self.result.valid & self.result.ready, queue="results", depth=depth
        )
        m.d.comb += [
            issue.eq(weights.valid & scales.valid & place),
            weights.ready.eq(scales.valid & place),
            scales.ready.eq(issue & weights.p.last),
        ]
        given, scale = (
            register(m, weights.p.data, "given_weights"),
            register(m, Value.cast(scales.payload), "given_scale"),
        )
        for lane in range(lanes):
            unit = QuotientLane(config)
            m.submodules[f"quotient_{lane}"] = shared(platform, unit, "quotient", part=True)
            m.d.comb += [
                unit.weight.eq(given.word_select(lane, io.width)),
                unit.scale.eq(scale),
                results.i.p.data.word_select(lane, io.width).eq(unit.result),
            ]
        m.d.comb += [
            results.i.valid.eq(register(m, issue, "results_valid", depth, keep=True)),
            results.i.p.last.eq(register(m, weights.p.last, "results_last", depth)),
        ]
