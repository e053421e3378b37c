# amaranth: UnusedElaboratable=no
"""PAM's local-attention processing unit (PU): Q K^T, softmax and P V beside one memory bank."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory

from ...constraints.units import pam_partials
from ...constraints.units.pam_pu import PamPuConfig
from ..blocks.ports import kinds, members, payload
from ..blocks.stream import ReplayBuffer, StreamFIFO, StreamRegister
from .sequencer import TileSequencer, phase_layout
from .softmax import SoftmaxUnit
from .vector_unit import VectorUnit

__all__ = ["Kind", "PamPu", "result_layout"]


#: What a beat of the result stream carries.
Kind = kinds(pam_partials.Kind, 2)


def result_layout(config):
    """Beat of the result stream: ``data``, ``kind``, ``last`` beat of a tile's partial result, ``final`` tile of a step."""
    return payload(config.result_layout)


class PamPu(wiring.Component):
    """Local attention of one query over the tokens of one bank, tile by tile.

    A step is started by one item on ``command``. The query arrives on ``query``, keys and values as column bursts on
    ``kv`` in the order of :meth:`PamPuConfig.beats`. Each tile of ``tile_tokens`` tokens gives one partial result on
    ``result``: MAXIMUM, SUM, then the chunks of O in ascending order. A step without tokens gives m = -infinity,
    l = 0, O = 0.

    Timing: one beat of ``kv`` per clock as long as query and result streams keep up, on two conditions for short tiles:
    between query slices, the beats of a slice times the tokens of the tile must cover the way of a partial score back
    (14 cycles; tiles of at most ``score_accumulators`` tokens are free of it), and places for output beats must cover
    those in flight (10 cycles) divided by the tokens of the tile. The presets meet both at a head dimension of 128.
    The V phase of a tile waits for its softmax (``SOFTMAX_GAP`` cycles from the tile's last K beat) unless K of the
    next tile comes in between (``score_tiles`` 2).

    The functional model is ``bankside.models.pam.pu.local_attention``, equal bit for bit.

    Source: PAM (MICRO 2025) section 5.2.1, Figure 6 and Algorithm 1 (Local).

    Parameters
    ----------
    config : :class:`PamPuConfig`

    Members
    -------
    command : ``In(stream.Signature(command_layout(config)))``
        One step: ``tokens``, ``chunks`` (head dimension / lanes, at least 1), ``more``.
    query : ``In(stream.Signature(lanes * width))``
        Elements of Q, already scaled, lane 0 lowest; see :meth:`PamPuConfig.query_order`.
    kv : ``In(stream.Signature(lanes * width))``
        Elements of K and V, lane 0 lowest.
    result : ``Out(stream.Signature(result_layout(config)))``
        Partial results.
    """

    #: Cycles from accepting the last K beat of a tile to accepting the first V beat of the same tile.
    SOFTMAX_GAP = VectorUnit.SCORE_LATENCY + 1 + SoftmaxUnit.LATENCY + 1

    def __init__(self, config):
        if not isinstance(config, PamPuConfig):
            raise TypeError(f"Configuration must be a PamPuConfig, not {config!r}")
        self._config = config
        beat = config.lanes * config.io.width
        self._outputs = StreamFIFO(data.StructLayout({"data": beat, "last": 1, "final": 1}),
                                   config.output_beats + config.output_skid_beats, output_register=False)
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in cycles (the bench measures the same)."""
        return {
            "last_k_to_first_v": self.SOFTMAX_GAP,
            "last_v_to_last_result": VectorUnit.OUTPUT_LATENCY + self._outputs.latency,
        }

    def elaborate(self, platform):
        m = Module()
        config = self._config
        banks = config.score_tiles
        beat = config.lanes * config.io.width
        score_shape, index_shape = config.score.width, range(max(config.tile_tokens, 2))

        m.submodules.sequencer = sequencer = TileSequencer(config)
        m.submodules.phases = phases = StreamRegister(phase_layout(config))
        wiring.connect(m, command=wiring.flipped(self.command), sequencer=sequencer.i)
        wiring.connect(m, sequencer=sequencer.o, phases=phases.i)

        m.submodules.query_buffer = query_buffer = ReplayBuffer(beat, config.query_beats)
        wiring.connect(m, query=wiring.flipped(self.query), buffer=query_buffer.i)

        output_tag = data.StructLayout({"last": 1, "final": 1})
        score_tag = data.StructLayout({"bank": 1, "index": index_shape, "whole": 1, "last": 1})
        m.submodules.vector = vector = VectorUnit(config, score_tag=score_tag, output_tag=output_tag)
        m.submodules.softmax = softmax = SoftmaxUnit(config)

        # Score memory, a half per bank: written by the vector unit (scores) or the softmax unit (probabilities); read
        # by the softmax unit or for the partial score of a further query slice (port a), and for P V (port b).
        memories, writes, reads_a, reads_b = [], [], [], []
        for bank in range(banks):
            memory = Memory(shape=max(score_shape, config.io.width), depth=max(config.tile_tokens, 2), init=[])
            m.submodules[f"scores_{bank}"] = memory
            memories.append(memory)
            writes.append(memory.write_port())
            reads_a.append(memory.read_port())
            reads_b.append(memory.read_port())

        # State of each bank: one tile from its first K beat to its last V beat.
        ready    = Array(Signal(name=f"scores_ready_{b}") for b in range(banks))          # all scores are there
        counts   = Array(Signal(range(config.tile_tokens + 1), name=f"count_{b}") for b in range(banks))
        maxima   = Array(Signal(score_shape, name=f"maximum_{b}", reset_less=True) for b in range(banks))
        known    = Array(Signal(range(config.tile_tokens + 1), name=f"probabilities_{b}") for b in range(banks))
        lead     = Array(Signal(range(config.tile_tokens + 1), name=f"partials_{b}") for b in range(banks))
        sums     = Array(Signal(config.acc.width, name=f"sum_{b}", reset_less=True) for b in range(banks))
        occupied = Array(Signal(name=f"occupied_{b}") for b in range(banks))              # m or l not yet out
        told     = Array(Signal(name=f"statistics_{b}") for b in range(banks))            # m and l wait to leave

        # ---- Executor: one phase, beat by beat ----------------------------------------------------------------------
        phase  = phases.o.p
        active = phases.o.valid
        bank   = phase.bank if banks == 2 else Const(0, 1)
        base   = Signal(range(config.max_chunks + 1))   # chunks before this query slice
        inner  = Signal(range(config.max_chunks + 1))   # K: chunk within the slice
        chunk  = Signal(range(config.max_chunks + 1))   # V: chunk
        token  = Signal(index_shape)
        rest   = Signal(range(config.max_chunks + 1))
        size   = Signal(range(config.query_beats + 1))
        take, go, void = Signal(), Signal(), Signal()
        direct = Signal()
        m.d.comb += [
            rest.eq(phase.chunks - base),
            size.eq(Mux(rest > config.query_beats, config.query_beats, rest)),
            void.eq(phase.count == 0),
            direct.eq(phase.count <= config.score_accumulators),
        ]
        last_token = token == phase.count - 1
        last_inner = inner == size - 1
        last_slice = rest <= config.query_beats
        last_chunk = chunk == phase.chunks - 1

        # K: a slice of the query is read again for every token; the last token that needs it frees it entry by entry.
        frees = Signal()
        sliced = phase.chunks > config.query_beats
        m.d.comb += frees.eq(last_token & (sliced | phase.final))
        credits = Signal(range(config.output_beats + config.output_skid_beats + 1),
                         init=config.output_beats + config.output_skid_beats)
        query_there = query_buffer.available > Mux(frees, 0, inner)
        continues = (base != 0) & ~direct & (inner == 0)
        with m.If(active & ~phase.value):
            m.d.comb += go.eq(~void & query_there & ~occupied[bank] & (~continues | (lead[bank] != 0)))
        with m.If(active & phase.value):
            m.d.comb += go.eq((void | (known[bank] > token) | (chunk != 0)) & (~(last_token | void) | (credits != 0)))
        m.d.comb += self.kv.ready.eq(go & ~void)
        m.d.comb += take.eq(go & (self.kv.valid | void))

        done = Signal()  # the phase's last beat (or its only cycle, without beats)
        m.d.comb += phases.o.ready.eq(done)
        with m.If(take & ~phase.value):
            m.d.sync += inner.eq(inner + 1)
            with m.If(last_inner):
                m.d.sync += [inner.eq(0), token.eq(token + 1)]
                with m.If(last_token):
                    m.d.sync += [token.eq(0), base.eq(base + size)]
                    with m.If(last_slice):
                        m.d.sync += base.eq(0)
                        m.d.comb += done.eq(1)
        with m.If(take & phase.value):
            m.d.sync += token.eq(token + 1)
            with m.If(last_token | void):
                m.d.sync += [token.eq(0), chunk.eq(chunk + 1)]
                with m.If(last_chunk):
                    m.d.sync += chunk.eq(0)
                    m.d.comb += done.eq(1)

        with m.If(active & ~phase.value & ~occupied[bank]):
            # Repeated for as long as the K phase lasts, which does no harm: none of its scores can be complete.
            m.d.sync += counts[bank].eq(phase.count)
            m.d.sync += known[bank].eq(0)
            with m.If(void):
                m.d.sync += [maxima[bank].eq(config.score.negative_infinity), ready[bank].eq(1)]
                m.d.comb += done.eq(1)

        with m.If(done & ~phase.value):
            m.d.sync += occupied[bank].eq(1)

        m.d.comb += [
            query_buffer.read.eq(take & ~phase.value),
            query_buffer.offset.eq(Mux(frees, 0, inner)),
            query_buffer.release.eq(take & ~phase.value & frees),
        ]

        # ---- Vector unit --------------------------------------------------------------------------------------------
        was_bank, was_void = Signal(), Signal()
        m.d.sync += [was_bank.eq(bank), was_void.eq(void)]
        key_first = (inner == 0) & ((base == 0) | ~direct)
        m.d.comb += [
            vector.valid.eq(take),
            vector.value.eq(phase.value),
            vector.first.eq(Mux(phase.value, (token == 0), key_first)),
            vector.last.eq(Mux(phase.value, last_token | void, last_inner & (~direct | last_slice))),
            vector.partial.eq(base != 0),
            vector.slot.eq(Mux(direct, token, 0)),
            vector.data.eq(Mux(void, 0, self.kv.payload)),
            vector.query.eq(query_buffer.data),
            vector.probability.eq(Mux(was_void, 0, Array(port.data for port in reads_b)[was_bank])),
            vector.partial_score.eq(Array(port.data for port in reads_a)[was_bank]),
            vector.score_tag_in.bank.eq(bank),
            vector.score_tag_in.index.eq(token),
            vector.score_tag_in.whole.eq(last_slice),
            vector.score_tag_in.last.eq(last_token & last_slice),
            vector.output_tag_in.last.eq(last_chunk),
            vector.output_tag_in.final.eq(phase.final),
        ]

        # ---- Scores: into the memory, and the running row maximum ---------------------------------------------------
        tag = vector.score_tag
        running = Signal(score_shape, reset_less=True)
        maximum = Signal(score_shape)
        m.d.comb += maximum.eq(_maximum(running, vector.score, tag.index == 0, config.score))
        partial_read = take & ~phase.value & continues
        for b in range(banks):
            arrives = vector.score_valid & (tag.bank == b)
            leaves = partial_read & (bank == b)
            m.d.sync += lead[b].eq(lead[b] + (arrives & ~tag.whole) - leaves)
        with m.If(vector.score_valid & tag.whole):
            m.d.sync += running.eq(maximum)
            with m.If(tag.last):
                m.d.sync += [maxima[tag.bank].eq(maximum), ready[tag.bank].eq(1)]

        # ---- Softmax ------------------------------------------------------------------------------------------------
        turn = Signal()
        was_turn = Signal()
        m.d.sync += was_turn.eq(turn)
        m.d.comb += [
            softmax.start.eq(ready[turn]),
            softmax.bank.eq(turn),
            softmax.count.eq(counts[turn]),
            softmax.maximum.eq(maxima[was_turn]),
            softmax.score.eq(Array(port.data for port in reads_a)[was_turn]),
        ]
        with m.If(softmax.done):
            m.d.sync += ready[turn].eq(0)
            if banks == 2:
                m.d.sync += turn.eq(~turn)
        with m.If(softmax.write):
            m.d.sync += known[softmax.write_bank].eq(known[softmax.write_bank] + 1)
        with m.If(softmax.sum_valid):
            m.d.sync += [sums[softmax.sum_bank].eq(softmax.sum), told[softmax.sum_bank].eq(1)]

        for b in range(banks):
            by_softmax = softmax.write & (softmax.write_bank == b)
            m.d.comb += [
                writes[b].en.eq(by_softmax | (vector.score_valid & (tag.bank == b))),
                writes[b].addr.eq(Mux(by_softmax, softmax.write_index, tag.index)),
                writes[b].data.eq(Mux(by_softmax, softmax.probability, vector.score)),
                reads_a[b].addr.eq(Mux(softmax.start & (turn == b), softmax.read_index, token)),
                reads_b[b].addr.eq(token),
            ]

        # ---- Results ------------------------------------------------------------------------------------------------
        m.submodules.outputs = outputs = self._outputs
        m.d.comb += [
            outputs.i.valid.eq(vector.output_valid),
            outputs.i.p.data.eq(vector.output),
            outputs.i.p.last.eq(vector.output_tag.last),
            outputs.i.p.final.eq(vector.output_tag.final),
        ]
        m.d.sync += credits.eq(credits + (outputs.o.valid & outputs.o.ready)
                               - (take & phase.value & (last_token | void)))

        out = self.result
        from_bank = Signal()
        with m.FSM():
            with m.State("MAXIMUM"):
                m.d.comb += [out.valid.eq(told[from_bank]), out.p.data.eq(maxima[from_bank]), out.p.kind.eq(Kind.MAXIMUM)]
                with m.If(out.valid & out.ready):
                    m.next = "SUM"
            with m.State("SUM"):
                m.d.comb += [out.valid.eq(1), out.p.data.eq(sums[from_bank]), out.p.kind.eq(Kind.SUM)]
                with m.If(out.ready):
                    m.d.sync += [told[from_bank].eq(0), occupied[from_bank].eq(0)]
                    m.next = "OUTPUT"
            with m.State("OUTPUT"):
                m.d.comb += [
                    out.valid.eq(outputs.o.valid),
                    outputs.o.ready.eq(out.ready),
                    out.p.data.eq(outputs.o.p.data),
                    out.p.kind.eq(Kind.OUTPUT),
                    out.p.last.eq(outputs.o.p.last),
                    out.p.final.eq(outputs.o.p.final),
                ]
                with m.If(out.valid & out.ready & out.p.last):
                    if banks == 2:
                        m.d.sync += from_bank.eq(~from_bank)
                    m.next = "MAXIMUM"

        if platform == "formal":
            def flying(event, cycles, name):
                """How many ``event`` were in the last ``cycles`` cycles, and whether one was that many cycles ago."""
                history = Signal(cycles, name=name)
                m.d.sync += history.eq(Cat(event, history))
                return sum(history), history[-1]

            ends = take & phase.value & (last_token | void)
            outputs_flying, output_lands = flying(ends, VectorUnit.OUTPUT_LATENCY, "outputs_flying")
            m.d.comb += [
                Assert(vector.output_valid == output_lands, "PamPu: an output beat comes after its latency"),
                Assert(credits + outputs_flying + outputs.level == outputs.depth,
                       "PamPu: each place for output is free, reserved, or taken"),
                Assert(~vector.output_valid | outputs.i.ready, "PamPu: an output beat finds a place"),
                Assert(query_buffer.available <= config.query_beats, "PamPu: the query fits its buffer"),
                Assert(~query_buffer.read | (query_buffer.offset < query_buffer.available),
                       "PamPu: a query beat that is read is there"),
                Assert(~(out.valid & (out.p.kind == Kind.SUM)) | told[from_bank],
                       "PamPu: the sum that leaves is that of the maximum"),
            ]
            for b in range(banks):
                here, softmax_here = bank == b, turn == b
                key_ends = done & ~phase.value & ~void & here
                scores_flying, score_lands = flying(key_ends, VectorUnit.SCORE_LATENCY, f"scores_flying_{b}")
                sums_flying, sum_lands = flying(softmax.done & softmax_here, SoftmaxUnit.SUM_LATENCY, f"sums_flying_{b}")
                score_comes = vector.score_valid & (tag.bank == b)
                m.d.comb += [
                    Assert((score_comes & tag.whole & tag.last) == score_lands,
                           "PamPu: a tile's last score comes after its latency"),
                    Assert((softmax.sum_valid & (softmax.sum_bank == b)) == sum_lands,
                           "PamPu: a tile's sum comes after its latency"),
                    Assert(scores_flying + ready[b] + sums_flying + told[b] == occupied[b],
                           "PamPu: the tile of an occupied bank is in exactly one stage"),
                    Assert(~(score_comes & softmax.write & (softmax.write_bank == b)),
                           "PamPu: a score and a probability are never written at once"),
                    Assert(~(partial_read & here & softmax.start & softmax_here),
                           "PamPu: a partial score and a score are never read at once"),
                ]

        return m


def _maximum(running, score, first, fmt):
    """The larger of two numbers (-0 below +0); NaN if either is NaN; ``score`` if it is the first."""
    def key(bits):
        return bits ^ Mux(bits[-1], (1 << fmt.width) - 1, fmt.sign_mask)

    def is_nan(bits):
        return bits[fmt.fraction_bits:fmt.width - 1].all() & bits[:fmt.fraction_bits].any()

    larger = Mux(key(score) > key(running), score, running)
    return Mux(first, score, Mux(is_nan(running), running, Mux(is_nan(score), score, larger)))
