# amaranth: UnusedElaboratable=no
"""PAM's local-attention processing unit (PU): Q K^T, softmax and P V beside one memory bank."""

from typing import Any, NamedTuple

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory

from ...constraints.pam.pu import PamPuConfig
from ..blocks.ports import kinds, members, payload
from ..blocks.shared import shared
from ..blocks.stream import ReplayBuffer, StreamFIFO, StreamRegister
from .cores import connect_cores
from .sequencer import TileSequencer, phase_layout
from .softmax import SoftmaxUnit
from .vector_unit import VectorUnit

__all__ = ["PamPu", "result_layout"]


def result_layout(config):
    """Beat of the result stream: ``data``, ``kind``, ``last`` (of a partial result), ``final`` (tile of a step)."""
    return payload(config.result_layout)


class _Parts(NamedTuple):
    """The arithmetic units."""

    vector: VectorUnit
    softmax: SoftmaxUnit


class _ScoreMemory(NamedTuple):
    """Ports of the score memory, by bank."""

    writes: list
    reads_a: list
    reads_b: list


class _Tiles(NamedTuple):
    """The tile of each score bank.

    Attributes
    ----------
    ready : all scores are known, and the softmax may start
    counts, maxima, sums : number of tokens; m; l. ``maxima`` and ``sums`` have an entry for each query of each bank.
    groups : number of queries, only with several
    known : number of probabilities computed
    lead : partial scores that wait for their next query slice
    occupied : m or l has not left the unit
    told : m and l wait to leave the unit
    """

    ready: Array
    counts: Array
    maxima: Array
    known: Array
    lead: Array
    sums: Array
    occupied: Array
    told: Array
    groups: Array | None


class _Counters(NamedTuple):
    """Position within a phase.

    Attributes
    ----------
    phase, bank : the phase and its score bank
    base, size : number of chunks before this query slice; number of chunks in it
    inner, chunk, token : chunk within the slice (K); chunk (V); token of the tile
    query, index, place : query that the burst meets; token and query as one number; beat of the query buffer (K). With
        one query, ``query`` is 0, ``index`` is ``token`` and ``place`` is ``inner``.
    opens, closes : the burst meets its first query; its last one
    start : ``index`` of the token's first query, only with several
    void : the tile has no token
    direct : the tile is so short that its scores stay in accumulators
    last_token, last_inner, last_slice, last_chunk : the counter is at its last value
    """

    phase: data.View
    bank: Value
    base: Signal
    inner: Signal
    chunk: Signal
    token: Signal
    size: Signal
    void: Signal
    direct: Signal
    last_token: Value
    last_inner: Value
    last_slice: Value
    last_chunk: Value
    query: Value
    index: Value
    place: Value
    opens: Value
    closes: Value
    start: Signal | None


class _Beat(NamedTuple):
    """A beat that meets a query, or the cycle of a tile without tokens. A beat is taken when it meets its first query.

    Attributes
    ----------
    take : the multipliers start on the beat and its query, or the cycle passes
    done : it is the last of its phase
    continues : it continues from a partial score
    credits : free places for output: neither taken nor reserved
    """

    take: Signal
    done: Signal
    continues: Value
    credits: Signal


class _Leaving(NamedTuple):
    """What leaves: the tile's score bank, the query of its maximum or sum, and whether outputs leave."""

    bank: Signal
    query: Signal | int
    outputs: Value


class PamPu(wiring.Component):
    """Local attention of one query, or of a group of queries, over the tokens of one bank, tile by tile.

    An item on ``command`` starts a step. The query arrives on ``query``. Keys and values arrive as column bursts on
    ``kv``, in the order of :meth:`PamPuConfig.beats`. Each tile of ``tile_tokens`` tokens gives one partial result on
    ``result``: MAXIMUM, SUM, then the chunks of O in ascending order. A step without tokens gives m = -infinity,
    l = 0, O = 0.

    Timing: one beat of ``kv`` per clock as long as query and result streams keep up. Short tiles reach this rate under
    two conditions:

    - A partial score takes ``VectorUnit.SCORE_LATENCY`` (10) cycles to return for the next query slice. In each slice
      after the first, ``(n - 1) * s`` must therefore be at least 10. ``n`` is the number of tokens of the tile, and
      ``s`` is the number of beats of the slice. Otherwise the K phase waits for the difference. Tiles of at most
      ``score_accumulators`` tokens are exempt.
    - There must be places for the output beats in flight, 11 for tiles of one token.

    The presets have 12 places and meet both conditions at a head dimension of 128.

    With ``queries`` above 1, a step has ``queries`` queries that share K and V. The unit takes a burst when it meets the
    first of them, and holds it for one clock per query. So ``g`` queries take a burst every ``g`` clocks, and the
    multipliers work in every clock. Scores, probabilities and accumulators of all queries follow each other query by
    query. Each tile gives MAXIMUM and SUM of every query, then chunk 0 of O of every query, then chunk 1.

    With ``multipliers_per_lane`` above 1, the unit consists of that many units of fewer queries on one stream of K and V.
    They take a burst in the same clock, so it meets that many queries per clock. Results leave as from one unit.

    With the parameter ``scores``, a step may be scores alone: ``scores`` of its command is 1. It takes the query and the
    keys, and gives a beat SCORE for each token, or for each query of each token. A score is rounded as within a step of
    attention. V phases that are due come before it. It waits until m and l of the tiles before have left, and its scores
    leave after their O. Within the step, a K beat waits only for a place of its score among the output beats.

    The V phase of a tile waits for its softmax, ``SOFTMAX_GAP`` cycles from the tile's last K beat. With
    ``score_tiles`` 2, the K phase of the next tile can come in between.

    The functional model is ``bankside.models.pam.pu.local_attention``, equal bit for bit.

    Source: PAM (MICRO 2025) section 5.2.1, Figure 6 and Algorithm 1 (Local).

    Parameters
    ----------
    config : :class:`PamPuConfig`

    Members
    -------
    command : ``In(stream.Signature(command_layout(config)))``
        One step: ``tokens``, ``chunks`` (head dimension / lanes, at least 1), ``more``, and ``queries`` (1 to the
        parameter's value, only with several).
    query : ``In(stream.Signature(lanes * width))``
        Elements of Q, already scaled, lane 0 lowest; see :meth:`PamPuConfig.query_order`.
    kv : ``In(stream.Signature(lanes * width))``
        Elements of K and V, lane 0 lowest.
    result : ``Out(stream.Signature(result_layout(config)))``
        Partial results.
    """

    #: Cycles from accepting the last K beat of a tile to accepting its first V beat.
    SOFTMAX_GAP = VectorUnit.SCORE_LATENCY + 1 + SoftmaxUnit.LATENCY + 1

    def __init__(self, config):
        if not isinstance(config, PamPuConfig):
            raise TypeError(f"Configuration must be a PamPuConfig, not {config!r}")
        self._config = config
        beat = config.lanes * config.io.width
        score = {"score": 1} if config.scores else {}
        self._outputs = StreamFIFO(
            data.StructLayout({"data": beat, "last": 1, "final": 1, **self._query_field, **score}),
            config.output_beats + config.output_skid_beats,
            output_register=False,
        )
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in cycles (the bench measures the same). The last burst meets all queries first."""
        config = self._config
        return {
            "last_k_to_first_v": self.SOFTMAX_GAP + config.burst_clocks(config.queries) - 1,
            "last_v_to_last_result": VectorUnit.OUTPUT_LATENCY + self._outputs.latency + config.queries - 1,
            **(
                {
                    "last_k_to_last_score": VectorUnit.SCORE_LATENCY
                    + self._outputs.latency
                    + config.burst_clocks(config.queries)
                    - 1
                }
                if config.scores
                else {}
            ),
        }

    def elaborate(self, platform):
        m = Module()
        if self._config.multipliers_per_lane > 1:
            cores = [PamPu(self._config.core) for _ in range(self._config.multipliers_per_lane)]
            connect_cores(m, self._config, self, cores, [shared(platform, core, "core") for core in cores])
            return m
        sequencer, phases = self._phases(m)
        query = self._query_buffer(m)
        parts = self._parts(m)
        memory = self._score_memory(m)
        tiles = self._tiles()
        counters = self._counters(m, phases)
        beat = self._executor(m, phases, counters, query, tiles)
        self._vector_operands(m, counters, beat, query, memory, parts.vector)
        partial_read = self._scores(m, counters, beat, tiles, parts.vector)
        turn = self._softmax(m, tiles, memory, parts.softmax)
        self._score_ports(m, counters, memory, parts, turn)
        outputs = self._outputs_of(m, counters, beat, parts.vector)
        leaving = self._results(m, tiles, outputs)
        if platform == "formal":
            self._check(m, counters, beat, query, tiles, parts, turn, outputs, partial_read, leaving)
            if self._several:
                self._check_queries(m, sequencer.probe, phases, tiles, leaving)
        return m

    def _phases(self, m):
        """The sequencer, and behind it the stream of the K and V phases of all steps, in order."""
        m.submodules.sequencer = sequencer = TileSequencer(self._config)
        m.submodules.phases = phases = StreamRegister(phase_layout(self._config))
        wiring.connect(m, command=wiring.flipped(self.command), sequencer=sequencer.i)
        wiring.connect(m, sequencer=sequencer.o, phases=phases.i)
        return sequencer, phases

    def _query_buffer(self, m):
        config = self._config
        m.submodules.query_buffer = query_buffer = ReplayBuffer(config.lanes * config.io.width, config.query_beats)
        wiring.connect(m, query=wiring.flipped(self.query), buffer=query_buffer.i)
        return query_buffer

    def _parts(self, m):
        """The vector unit and the softmax unit, with the tags that accompany scores and outputs."""
        config = self._config
        output_tag = data.StructLayout({"last": 1, "final": 1, **self._query_field})
        # With several queries, `first` and `last` are of the tokens, and `all` is on the tile's very last score.
        score_tag = data.StructLayout(
            {
                "bank": 1,
                "index": self._index_shape,
                "whole": 1,
                "last": 1,
                **({"first": 1, "all": 1, **self._query_field} if self._several else {}),
                **({"alone": 1, "final": 1} if config.scores else {}),
            }
        )
        m.submodules.vector = vector = VectorUnit(config, score_tag=score_tag, output_tag=output_tag)
        m.submodules.softmax = softmax = SoftmaxUnit(config)
        return _Parts(vector, softmax)

    @property
    def _several(self):
        """Whether a step may have several queries."""
        return self._config.queries > 1

    @property
    def _query_field(self):
        """Field with the number of a query, if there may be several."""
        return {"query": range(self._config.queries)} if self._several else {}

    @property
    def _index_shape(self):
        """Shape of a token's number within a tile; with several queries, of a score's number."""
        return range(max(self._config.tile_tokens * self._config.queries, 2))

    def _entry(self, bank, query):
        """Index of a query of a bank in ``maxima`` and ``sums``."""
        return bank * self._config.queries + query if self._several else bank

    def _score_memory(self, m):
        """Score memory: one memory per score bank.

        The vector unit writes scores, the softmax unit writes probabilities. Port a reads scores for the softmax unit,
        and partial scores for further query slices. Port b reads probabilities for P V.
        """
        config = self._config
        writes, reads_a, reads_b = [], [], []
        for bank in range(config.score_tiles):
            memory = Memory(shape=max(config.score.width, config.io.width), depth=self._index_shape.stop, init=[])
            m.submodules[f"scores_{bank}"] = memory
            writes.append(memory.write_port())
            reads_a.append(memory.read_port())
            reads_b.append(memory.read_port())
        return _ScoreMemory(writes, reads_a, reads_b)

    def _tiles(self):
        """State of each score bank. A bank belongs to one tile from its first K beat to its last V beat."""
        config = self._config
        score_shape, banks, queries = config.score.width, range(config.score_tiles), config.queries
        scores = range(config.tile_tokens * queries + 1)
        entries = [f"{b}" if queries == 1 else f"{b}_{n}" for b in banks for n in range(queries)]
        return _Tiles(
            ready=Array(Signal(name=f"scores_ready_{b}") for b in banks),
            counts=Array(Signal(range(config.tile_tokens + 1), name=f"count_{b}") for b in banks),
            maxima=Array(Signal(score_shape, name=f"maximum_{e}", reset_less=True) for e in entries),
            known=Array(Signal(scores, name=f"probabilities_{b}") for b in banks),
            lead=Array(Signal(scores, name=f"partials_{b}") for b in banks),
            sums=Array(Signal(config.acc.width, name=f"sum_{e}", reset_less=True) for e in entries),
            occupied=Array(Signal(name=f"occupied_{b}") for b in banks),
            told=Array(Signal(name=f"statistics_{b}") for b in banks),
            groups=Array(Signal(range(queries + 1), name=f"queries_{b}") for b in banks) if self._several else None,
        )

    # ---- Executor: one phase, beat by beat ----------------------------------------------------------------------------

    def _counters(self, m, phases):
        """Counters of the position within a phase, and which of them are at their last value."""
        config = self._config
        phase = phases.o.p
        base = Signal(range(config.max_chunks + 1))
        inner = Signal(range(config.max_chunks + 1))
        chunk = Signal(range(config.max_chunks + 1))
        token = Signal(range(max(config.tile_tokens, 2)))
        rest = Signal(range(config.max_chunks + 1))
        size = Signal(range(config.slice_beats + 1))
        void = Signal()
        direct = Signal()
        m.d.comb += [
            rest.eq(phase.chunks - base),
            size.eq(Mux(rest > config.slice_beats, config.slice_beats, rest)),
            void.eq(phase.count == 0),
            direct.eq(phase.count <= config.score_accumulators),
        ]
        if self._several:
            query = Signal(range(config.queries))
            start = Signal(self._index_shape)  # number of the token's first score
            index = Signal(self._index_shape)
            place = Signal(range(config.query_beats + 1))
            opens, closes = Signal(), Signal()
            m.d.comb += [index.eq(start + query), opens.eq(query == 0), closes.eq(query == phase.queries - 1)]
            group = (query, index, place, opens, closes, start)
        else:
            group = (Const(0), token, inner, Const(1), Const(1), None)
        return _Counters(
            phase=phase,
            bank=phase.bank if config.score_tiles == 2 else Const(0, 1),
            base=base,
            inner=inner,
            chunk=chunk,
            token=token,
            size=size,
            void=void,
            direct=direct,
            last_token=token == phase.count - 1,
            last_inner=inner == size - 1,
            last_slice=rest <= config.slice_beats,
            last_chunk=chunk == phase.chunks - 1,
            **dict(zip(("query", "index", "place", "opens", "closes", "start"), group, strict=True)),
        )

    def _executor(self, m, phases, at, query_buffer, tiles):
        """Take beats of ``kv`` when all their operands are ready, and count them."""
        config = self._config
        phase, bank, base, inner, chunk = at.phase, at.bank, at.base, at.inner, at.chunk
        last_token, void, index, place = at.last_token, at.void, at.index, at.place
        active, occupied, known, lead = phases.o.valid, tiles.occupied, tiles.known, tiles.lead
        take, go, done = Signal(), Signal(), Signal()
        # K: every token reads the same slice of the query. The last token that needs the slice frees it beat by beat.
        frees = Signal()
        sliced = phase.chunks > config.slice_beats
        m.d.comb += frees.eq(last_token & (sliced | phase.final))
        credits = Signal(
            range(config.output_beats + config.output_skid_beats + 1),
            init=config.output_beats + config.output_skid_beats,
        )
        query_there = query_buffer.available > Mux(frees, 0, place)
        continues = (base != 0) & ~at.direct & (inner == 0)
        with m.If(active & ~phase.value):
            m.d.comb += go.eq(~void & query_there & ~occupied[bank] & (~continues | (lead[bank] != 0)))
        with m.If(active & phase.value):
            m.d.comb += go.eq((void | (known[bank] > index) | (chunk != 0)) & (~(last_token | void) | (credits != 0)))
        if self._several:
            m.d.comb += self.kv.ready.eq(go & ~void & at.opens)
            m.d.comb += take.eq(go & (self.kv.valid | void | ~at.opens))
        else:
            m.d.comb += self.kv.ready.eq(go & ~void)
            m.d.comb += take.eq(go & (self.kv.valid | void))
        if config.scores:
            self._hold_back(m, at, go, take, credits, tiles)

        m.d.comb += phases.o.ready.eq(done)
        self._count_beats(m, at, take, done)

        with m.If(active & ~phase.value & ~occupied[bank]):
            # This repeats during the whole K phase. It does no harm, because no score of the tile can be complete yet.
            m.d.sync += tiles.counts[bank].eq(phase.count)
            m.d.sync += known[bank].eq(0)
            if self._several:
                m.d.sync += tiles.groups[bank].eq(phase.queries)
            if config.scores:
                with m.If(void & phase.scores):
                    m.d.comb += done.eq(1)
            with m.If(void & ~phase.scores if config.scores else void):
                for n in range(1, config.queries):
                    m.d.sync += tiles.maxima[self._entry(bank, n)].eq(config.score.negative_infinity)
                first = self._entry(bank, 0)
                m.d.sync += [tiles.maxima[first].eq(config.score.negative_infinity), tiles.ready[bank].eq(1)]
                m.d.comb += done.eq(1)

        with m.If(done & ~phase.value & ~phase.scores if config.scores else done & ~phase.value):
            m.d.sync += occupied[bank].eq(1)

        m.d.comb += [
            query_buffer.read.eq(take & ~phase.value),
            query_buffer.offset.eq(Mux(frees, 0, place)),
            query_buffer.release.eq(take & ~phase.value & frees),
        ]
        return _Beat(take, done, continues, credits)

    def _hold_back(self, m, at, go, take, credits, tiles):
        """Hold back beats of a step of scores alone, and beats whose output would meet a score.

        Scores go to the queue of output beats. A score comes later after its beat than an output.
        """
        phase, active = at.phase, Signal(name="scores_active")
        lead = VectorUnit.SCORE_LATENCY - VectorUnit.OUTPUT_LATENCY
        lately = Signal(lead)
        m.d.comb += active.eq(phase.scores & ~phase.value & ~at.void)
        m.d.sync += lately.eq(Cat(take & self._scores_leave(at), lately))
        with m.If(active & (Cat(*tiles.occupied).any() | (self._scores_leave(at) & (credits == 0)))):
            m.d.comb += go.eq(0)
        with m.If(phase.value & lately[-1]):
            m.d.comb += go.eq(0)

    def _scores_leave(self, at):
        """Whether the score of this beat leaves the unit, in a step of scores alone."""
        return ~at.phase.value & at.phase.scores & ~at.void & at.last_inner & at.last_slice

    def _count_beats(self, m, at, take, done):
        """Update the counters of a phase: K slice by slice and token by token, V chunk by chunk. Every beat stays for all
        queries of the step."""
        phase, base, inner, chunk, token = at.phase, at.base, at.inner, at.chunk, at.token
        moves, first, further = take, [], []
        if self._several:
            moves = Signal()
            m.d.comb += moves.eq(take & at.closes)
            start = at.start
            first, further = [start.eq(0)], [start.eq(start + phase.queries)]
            with m.If(take):
                m.d.sync += at.query.eq(Mux(at.closes, 0, at.query + 1))
            with m.If(take & ~phase.value):
                m.d.sync += at.place.eq(Mux(at.closes & at.last_inner, 0, at.place + 1))
        with m.If(moves & ~phase.value):
            m.d.sync += inner.eq(inner + 1)
            with m.If(at.last_inner):
                m.d.sync += [inner.eq(0), token.eq(token + 1), *further]
                with m.If(at.last_token):
                    m.d.sync += [token.eq(0), base.eq(base + at.size), *first]
                    with m.If(at.last_slice):
                        m.d.sync += base.eq(0)
                        m.d.comb += done.eq(1)
        with m.If(moves & phase.value):
            m.d.sync += [token.eq(token + 1), *further]
            with m.If(at.last_token | at.void):
                m.d.sync += [token.eq(0), chunk.eq(chunk + 1), *first]
                with m.If(at.last_chunk):
                    m.d.sync += chunk.eq(0)
                    m.d.comb += done.eq(1)

    def _vector_operands(self, m, at, beat, query_buffer, memory, vector):
        """Connect the vector unit's inputs for a beat. Operands from memories follow a cycle later."""
        phase, token = at.phase, at.token
        last_output = at.last_token | at.void
        was_bank, was_void = Signal(), Signal()
        m.d.sync += [was_bank.eq(at.bank), was_void.eq(at.void)]
        key_first = (at.inner == 0) & ((at.base == 0) | ~at.direct)
        m.d.comb += [
            vector.valid.eq(beat.take),
            vector.value.eq(phase.value),
            vector.first.eq(Mux(phase.value, (token == 0), key_first)),
            vector.last.eq(Mux(phase.value, last_output, at.last_inner & (~at.direct | at.last_slice))),
            vector.partial.eq(at.base != 0),
            vector.slot.eq(self._slot(at)),
            vector.data.eq(Mux(at.void, 0, self.kv.payload)),
            vector.query.eq(query_buffer.data),
            vector.probability.eq(Mux(was_void, 0, Array(port.data for port in memory.reads_b)[was_bank])),
            vector.partial_score.eq(Array(port.data for port in memory.reads_a)[was_bank]),
            vector.score_tag_in.bank.eq(at.bank),
            vector.score_tag_in.index.eq(at.index),
            vector.score_tag_in.whole.eq(at.last_slice),
            vector.score_tag_in.last.eq(at.last_token & at.last_slice),
            vector.output_tag_in.last.eq(at.last_chunk & at.closes if self._several else at.last_chunk),
            vector.output_tag_in.final.eq(phase.final),
        ]
        if self._several:
            m.d.comb += [
                vector.hold.eq(~at.opens),
                vector.score_tag_in.first.eq(token == 0),
                vector.score_tag_in.all.eq(at.last_token & at.last_slice & at.closes),
                vector.score_tag_in.query.eq(at.query),
                vector.output_tag_in.query.eq(at.query),
            ]
        if self._config.scores:
            m.d.comb += [vector.score_tag_in.alone.eq(phase.scores), vector.score_tag_in.final.eq(phase.final)]

    def _slot(self, at):
        """Accumulator of a beat: of the token and query if the scores stay in accumulators, else of the query."""
        token = Mux(at.direct, at.token, 0)
        if not self._several:
            return token
        if self._config.score_accumulators == 1:
            return at.query
        return Mux(at.phase.value, 0, token * self._config.queries) + at.query

    def _scores(self, m, at, beat, tiles, vector):
        """Keep the running row maximum, and count partial scores that wait for their next query slice.

        Returns the strobe that reads a partial score.
        """
        tag, score_shape = vector.score_tag, self._config.score.width
        if self._several:
            running = Array(
                Signal(score_shape, name=f"running_{n}", reset_less=True) for n in range(self._config.queries)
            )[tag.query]
            query, first, done = tag.query, tag.first, tag.all
        else:
            running = Signal(score_shape, reset_less=True)
            query, first, done = 0, tag.index == 0, tag.last
        maximum = Signal(score_shape)
        m.d.comb += maximum.eq(_maximum(running, vector.score, first, self._config.score))
        partial_read = beat.take & ~at.phase.value & beat.continues
        for b, lead in enumerate(tiles.lead):
            arrives = vector.score_valid & (tag.bank == b)
            leaves = partial_read & (at.bank == b)
            m.d.sync += lead.eq(lead + (arrives & ~tag.whole) - leaves)
        with m.If(vector.score_valid & tag.whole):
            m.d.sync += running.eq(maximum)
            last = tag.last
            if self._config.scores:
                last, done = last & ~tag.alone, done & ~tag.alone
            if self._several:
                with m.If(last):
                    m.d.sync += tiles.maxima[self._entry(tag.bank, query)].eq(maximum)
                with m.If(done):
                    m.d.sync += tiles.ready[tag.bank].eq(1)
            else:
                with m.If(last):
                    m.d.sync += [tiles.maxima[tag.bank].eq(maximum), tiles.ready[tag.bank].eq(1)]
        return partial_read

    def _softmax(self, m, tiles, memory, softmax):
        """Connect the softmax unit, which serves the score banks in turn. Returns the bank whose turn it is."""
        turn = Signal()
        was_turn = Signal()
        m.d.sync += was_turn.eq(turn)
        was_query = 0
        if self._several:
            was_query = Signal(range(self._config.queries))
            m.d.sync += was_query.eq(softmax.query)
            m.d.comb += softmax.queries.eq(tiles.groups[turn])
        m.d.comb += [
            softmax.start.eq(tiles.ready[turn]),
            softmax.bank.eq(turn),
            softmax.count.eq(tiles.counts[turn]),
            softmax.maximum.eq(tiles.maxima[self._entry(was_turn, was_query)]),
            softmax.score.eq(Array(port.data for port in memory.reads_a)[was_turn]),
        ]
        known = tiles.known
        with m.If(softmax.done):
            m.d.sync += tiles.ready[turn].eq(0)
            if self._config.score_tiles == 2:
                m.d.sync += turn.eq(~turn)
        with m.If(softmax.write):
            m.d.sync += known[softmax.write_bank].eq(known[softmax.write_bank] + 1)
        with m.If(softmax.sum_valid):
            if self._several:
                m.d.sync += tiles.sums[self._entry(softmax.sum_bank, softmax.sum_query)].eq(softmax.sum)
                m.d.sync += tiles.told[softmax.sum_bank].eq(softmax.sum_last)
            else:
                m.d.sync += [tiles.sums[softmax.sum_bank].eq(softmax.sum), tiles.told[softmax.sum_bank].eq(1)]
        return turn

    def _score_ports(self, m, at, memory, parts, turn):
        """Connect the ports of the score memory."""
        vector, softmax, tag = parts.vector, parts.softmax, parts.vector.score_tag
        for b, (write, read_a, read_b) in enumerate(zip(*memory, strict=True)):
            by_softmax = softmax.write & (softmax.write_bank == b)
            m.d.comb += [
                write.en.eq(by_softmax | (vector.score_valid & (tag.bank == b))),
                write.addr.eq(Mux(by_softmax, softmax.write_index, tag.index)),
                write.data.eq(Mux(by_softmax, softmax.probability, vector.score)),
                read_a.addr.eq(Mux(softmax.start & (turn == b), softmax.read_index, at.index)),
                read_b.addr.eq(at.index),
            ]

    # ---- Results ------------------------------------------------------------------------------------------------------

    def _outputs_of(self, m, at, beat, vector):
        """The queue of output beats. ``credits`` counts its free places: neither taken nor reserved."""
        m.submodules.outputs = outputs = self._outputs
        m.d.comb += [
            outputs.i.valid.eq(vector.output_valid),
            outputs.i.p.data.eq(vector.output),
            outputs.i.p.last.eq(vector.output_tag.last),
            outputs.i.p.final.eq(vector.output_tag.final),
        ]
        if self._several:
            m.d.comb += outputs.i.p.query.eq(vector.output_tag.query)
        reserved = beat.take & at.phase.value & (at.last_token | at.void)
        if self._config.scores:
            reserved |= beat.take & self._scores_leave(at)
            tag = vector.score_tag
            with m.If(vector.score_valid & tag.whole & tag.alone):
                m.d.comb += [
                    outputs.i.valid.eq(1),
                    outputs.i.p.score.eq(1),
                    outputs.i.p.data.eq(vector.score),
                    outputs.i.p.last.eq(tag.all if self._several else tag.last),
                    outputs.i.p.final.eq(tag.final),
                ]
                if self._several:
                    m.d.comb += outputs.i.p.query.eq(tag.query)
        m.d.sync += beat.credits.eq(beat.credits + (outputs.o.valid & outputs.o.ready) - reserved)
        return outputs

    def _results(self, m, tiles, outputs):
        """Send m, l and the chunks of O, tile by tile, and scores. Returns what of a tile leaves."""
        out, told = self.result, tiles.told
        content = kinds(self._config.kinds, 2)
        from_bank = Signal()
        query = Signal(range(self._config.queries)) if self._several else 0
        number = [out.p.query.eq(query)] if self._several else []
        entry = self._entry(from_bank, query)
        with m.FSM() as fsm:
            with m.State("MAXIMUM"):
                m.d.comb += [
                    out.valid.eq(told[from_bank]),
                    out.p.data.eq(tiles.maxima[entry]),
                    out.p.kind.eq(content.MAXIMUM),
                    *number,
                ]
                sent = out.valid & out.ready
                if self._config.scores:
                    # A score that waits is older than the tile.
                    score = outputs.o.valid & outputs.o.p.score
                    sent &= ~score
                    with m.If(score):
                        m.d.comb += [
                            out.valid.eq(1),
                            outputs.o.ready.eq(out.ready),
                            out.p.data.eq(outputs.o.p.data),
                            out.p.kind.eq(content.SCORE),
                            out.p.last.eq(outputs.o.p.last),
                            out.p.final.eq(outputs.o.p.final),
                        ]
                        if self._several:
                            m.d.comb += out.p.query.eq(outputs.o.p.query)
                with m.If(sent):
                    m.next = "SUM"
            with m.State("SUM"):
                m.d.comb += [out.valid.eq(1), out.p.data.eq(tiles.sums[entry]), out.p.kind.eq(content.SUM), *number]
                with m.If(out.ready):
                    leaves = [told[from_bank].eq(0), tiles.occupied[from_bank].eq(0)]
                    if self._several:
                        m.d.sync += query.eq(query + 1)
                        m.next = "MAXIMUM"
                        with m.If(query == tiles.groups[from_bank] - 1):
                            m.d.sync += [query.eq(0), *leaves]
                            m.next = "OUTPUT"
                    else:
                        m.d.sync += leaves
                        m.next = "OUTPUT"
            with m.State("OUTPUT"):
                m.d.comb += [
                    out.valid.eq(outputs.o.valid),
                    outputs.o.ready.eq(out.ready),
                    out.p.data.eq(outputs.o.p.data),
                    out.p.kind.eq(content.OUTPUT),
                    out.p.last.eq(outputs.o.p.last),
                    out.p.final.eq(outputs.o.p.final),
                ]
                with m.If(out.valid & out.ready & out.p.last):
                    if self._config.score_tiles == 2:
                        m.d.sync += from_bank.eq(~from_bank)
                    m.next = "MAXIMUM"
                if self._several:
                    m.d.comb += out.p.query.eq(outputs.o.p.query)
        return _Leaving(from_bank, query, fsm.ongoing("OUTPUT"))

    def _check(self, m, at, beat, query_buffer, tiles, parts, turn, outputs, partial_read, leaving):
        def flying(event, cycles, name):
            """How often ``event`` was 1 in the last ``cycles`` cycles, and whether it was 1 ``cycles`` cycles ago."""
            histories[name] = history = Signal(cycles, name=name)
            m.d.sync += history.eq(Cat(event, history))
            return sum(history), history[-1]

        histories: Any = {}

        config, out, phase, (vector, softmax), tag = self._config, self.result, at.phase, parts, parts.vector.score_tag
        ends = beat.take & phase.value & (at.last_token | at.void)
        sum_comes = softmax.sum_valid & softmax.sum_last if self._several else softmax.sum_valid
        outputs_flying, output_lands = flying(ends, VectorUnit.OUTPUT_LATENCY, "outputs_flying")
        content, last_score = kinds(config.kinds, 2), tag.whole & (tag.all if self._several else tag.last)
        if config.scores:
            last_score &= ~tag.alone
            alone_flying, alone_lands = flying(
                beat.take & self._scores_leave(at), VectorUnit.SCORE_LATENCY, "alone_flying"
            )
            # Until the score has passed the queue.
            flying(beat.take & self._scores_leave(at), VectorUnit.SCORE_LATENCY + self._outputs.latency, "alone_lately")
            outputs_flying += alone_flying
            m.d.comb += [
                Assert(
                    (vector.score_valid & tag.whole & tag.alone) == alone_lands,
                    "PamPu: a score alone comes after its latency",
                ),
                Assert(~alone_lands | (outputs.i.ready & ~vector.output_valid), "PamPu: a score alone finds a place"),
                Assert(
                    (histories["outputs_flying"] & histories["alone_flying"][2:]) == 0,
                    "PamPu: no output comes with a score alone",
                ),
            ]
        m.d.comb += [
            Assert(vector.output_valid == output_lands, "PamPu: an output beat comes after its latency"),
            Assert(
                beat.credits + outputs_flying + outputs.level == outputs.depth,
                "PamPu: each place for output is free, reserved, or taken",
            ),
            Assert(~vector.output_valid | outputs.i.ready, "PamPu: an output beat finds a place"),
            Assert(query_buffer.available <= config.query_beats, "PamPu: the query fits its buffer"),
            Assert(
                ~query_buffer.read | (query_buffer.offset < query_buffer.available),
                "PamPu: a query beat that is read is there",
            ),
            Assert(
                ~(out.valid & (out.p.kind == content.SUM)) | tiles.told[leaving.bank],
                "PamPu: the sum that leaves is that of the maximum",
            ),
        ]
        for b in range(config.score_tiles):
            here, softmax_here = at.bank == b, turn == b
            key_ends = beat.done & ~phase.value & ~at.void & here
            if config.scores:
                key_ends &= ~phase.scores
            scores_flying, score_lands = flying(key_ends, VectorUnit.SCORE_LATENCY, f"scores_flying_{b}")
            sums_flying, sum_lands = flying(softmax.done & softmax_here, SoftmaxUnit.SUM_LATENCY, f"sums_flying_{b}")
            score_comes = vector.score_valid & (tag.bank == b)
            m.d.comb += [
                # Tiles are in no stage when a score alone begins, so those in a stage have begun later. One without tokens
                # is ready at once.
                *(
                    Assert(
                        ~began
                        | ~(
                            histories[f"scores_flying_{b}"][ago:].any()
                            | (tiles.ready[b] if ago == 0 else 0)
                            | histories[f"sums_flying_{b}"][max(ago - 1, 0) :].any()
                            | tiles.told[b]
                        ),
                        "PamPu: m and l leave before scores or after them",
                    )
                    for ago, began in enumerate(histories["alone_lately"] if config.scores else [])
                ),
                Assert((score_comes & last_score) == score_lands, "PamPu: a tile's last score comes after its latency"),
                Assert(
                    (sum_comes & (softmax.sum_bank == b)) == sum_lands, "PamPu: a tile's sum comes after its latency"
                ),
                Assert(
                    scores_flying + tiles.ready[b] + sums_flying + tiles.told[b] == tiles.occupied[b],
                    "PamPu: the tile of an occupied bank is in exactly one stage",
                ),
                Assert(
                    ~(score_comes & softmax.write & (softmax.write_bank == b)),
                    "PamPu: a score and a probability are never written at once",
                ),
                Assert(
                    ~(partial_read & here & softmax.start & softmax_here),
                    "PamPu: a partial score and a score are never read at once",
                ),
            ]

    def _check_queries(self, m, steps, phases, tiles, leaving):
        """The number of queries of a step, from the command to the tile's last sum. For a proof."""

        def legal(queries):
            return (queries != 0) & (queries <= self._config.queries)

        phase = phases.o
        m.d.comb += [
            Assert(~steps.keys | legal(steps.queries), "PamPu: a step has a legal number of queries"),
            Assert((steps.held == 0) | legal(steps.older.queries), "PamPu: so has the tile whose V is due"),
            Assert((steps.held < 2) | legal(steps.newer.queries), "PamPu: so has the tile after it"),
            Assert(~phase.valid | legal(phase.p.queries), "PamPu: so has a phase"),
            phases.probe.index.eq(1),
            Assert((phases.probe.level < 2) | legal(phases.probe.item.queries), "PamPu: so has the phase after it"),
            *(
                Assert(~occupied | legal(groups), "PamPu: so has the tile of an occupied bank")
                for occupied, groups in zip(tiles.occupied, tiles.groups, strict=True)
            ),
            Assert(~leaving.outputs | (leaving.query == 0), "PamPu: outputs leave after the last query's sum"),
            Assert(
                (leaving.query == 0) | (tiles.told[leaving.bank] & (leaving.query < tiles.groups[leaving.bank])),
                "PamPu: only queries of the tile have a maximum and a sum",
            ),
        ]


def _maximum(running, score, first, fmt):
    """The larger of two numbers (-0 below +0), or NaN if either is NaN. With ``first`` the result is ``score``."""

    def key(bits):
        return bits ^ Mux(bits[-1], (1 << fmt.width) - 1, fmt.sign_mask)

    def is_nan(bits):
        return bits[fmt.fraction_bits : fmt.width - 1].all() & bits[: fmt.fraction_bits].any()

    larger = Mux(key(score) > key(running), score, running)
    return Mux(first, score, Mux(is_nan(running), running, Mux(is_nan(score), score, larger)))
