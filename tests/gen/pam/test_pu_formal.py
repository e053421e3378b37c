# amaranth: UnusedElaboratable=no
"""The control of the PU, proved for all time: its sequencer against a specification, its ports against the contract.

The unit in the proof is the generated one with the arithmetic cut off: what the rounders and the exponential put out is
free in every cycle (so the multipliers, aligners and the table before them do not matter and vanish), with their
latency. Every control signal, memory, queue and tag is the real one. Bits are the subject of other tests.
"""

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover
from amaranth.lib import wiring

from bankside.constraints.pam import partials
from bankside.constraints.pam.pu import PamPuConfig
from bankside.gen.arith import Rounder, SoftmaxExp
from bankside.gen.blocks.ports import kinds
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.pam import pu as pu_module
from bankside.gen.pam import sequencer as sequencer_module
from bankside.gen.pam import softmax as softmax_module
from bankside.gen.pam import vector_unit as vector_unit_module
from bankside.gen.pam.sequencer import TileSequencer, phase_layout
from tests.planting import planted

#: Content of a beat of the result.
Kind = kinds(partials.Kind, 2)


def messages(places):
    """Without the places in the source."""
    return {place.rpartition(" (")[0] for place in places}


# Sequencer --------------------------------------------------------------------------------------------------------------


class SequencerContract(StreamProtocol):
    """What the sequencer promises, as a machine of its own: counters of the step, and a queue of tiles whose V is due.

    * The counts of a step's K phases add up to its tokens; each but the last is a whole tile, ``final`` is on the last,
      and only a step without tokens has an empty one.
    * V phases repeat the K phases: each one once, in order, with the same count, chunks, bank and ``final``.
    * With two banks a V phase is due when two tiles are held, or when the only one ends a step without ``more``; with
      one bank, as soon as a tile is held. Otherwise the next phase is a K phase.
    * No two tiles held at a time share a bank.
    * A phase is offered in every cycle but those in which a command is accepted, and one is accepted as soon as
      nothing is left to offer.
    * A step of scores has K phases alone. It is accepted when no tile is held; until then it makes the V phase of the only
      tile due.
    """

    def __init__(self, dut, config):
        super().__init__(dut)
        self._config = config
        self.least_depth = 24

    def elaborate(self, platform):
        m = super().elaborate(platform)
        config, dut = self._config, self.dut
        one_bank = config.score_tiles == 1
        tile, i, o = config.tile_tokens, dut.i.p, dut.o.p
        accepted, offered = dut.i.valid & dut.i.ready, dut.o.valid & dut.o.ready

        keys = Signal()  # a K phase of the step is still to come
        tokens = Signal(range(config.max_tokens + 1))
        summed = Signal(range(config.max_tokens + 1))  # counts of the K phases so far
        chunks = Signal(range(config.max_chunks + 1))
        more = Signal()
        held = Signal(range(4))
        tiles = [Signal(phase_layout(config), name=f"tile_{n}") for n in range(3)]  # oldest first, as V phases
        ends = [Signal(name=f"ends_{n}") for n in range(3)]
        is_key, is_value = offered & ~o.value, offered & o.value
        alone, calls = Signal(), Const(0)  # the step is of scores; another one waits to be accepted

        final = Signal()
        m.d.comb += final.eq(summed + tile >= tokens)
        with m.If(accepted):
            m.d.sync += [keys.eq(1), tokens.eq(i.tokens), summed.eq(0), chunks.eq(i.chunks), more.eq(i.more)]
        if config.scores:
            calls = i.scores & (held != 0)
            with m.If(accepted):
                m.d.sync += alone.eq(i.scores)
            with m.If(dut.i.valid & calls & ~keys & (held == 1)):
                m.d.sync += ends[0].eq(1)
        with m.If(is_key):
            m.d.sync += [summed.eq(summed + o.count), keys.eq(~o.final), held.eq(held + ~alone)]
            for n in range(3):
                with m.If((held == n) & ~alone):
                    m.d.sync += [tiles[n].eq(o), tiles[n].value.eq(1), ends[n].eq(one_bank | (o.final & ~more))]
        with m.If(is_value):
            m.d.sync += held.eq(held - 1)
            for n in range(2):
                m.d.sync += [tiles[n].eq(tiles[n + 1]), ends[n].eq(ends[n + 1])]

        due = Signal()
        m.d.comb += due.eq((held == 2) | ((held == 1) & ends[0]))
        left, probe = tokens - summed, dut.probe
        m.d.comb += [
            Assert(dut.o.valid == (due | keys), "a phase is offered while one is left"),
            Assert(dut.i.ready == ~(due | keys | calls), "a command is accepted as soon as none is left"),
            Assert(~dut.o.valid | (o.value == due), "a V phase comes exactly when it is due"),
            Assert(~(dut.o.valid & o.value) | (Value.cast(o) == Value.cast(tiles[0])), "V repeats the oldest tile"),
            Assert(~(dut.o.valid & ~o.value) | (o.final == final), "final is on the last K phase of the step"),
            Assert(~(dut.o.valid & ~o.value & ~final) | (o.count == tile), "every tile but the last is whole"),
            Assert(~(is_key & final) | (summed + o.count == tokens), "the counts add up to the tokens"),
            Assert(~(dut.o.valid & (o.count == 0)) | o.final, "an empty tile is a step of its own"),
            Assert(~is_key | (o.chunks == chunks), "a K phase has the step's chunks"),
            Assert(held <= config.score_tiles, "no more tiles are held than there are banks"),
            Assert(
                ~((held != 0) & dut.o.valid & ~o.value) | (tiles[0].bank != o.bank), "tiles held differ in their bank"
            ),
            *(
                [
                    Assert(~(dut.o.valid & ~o.value) | (o.scores == alone), "a K phase says whether it is of scores"),
                    Assert(~(dut.o.valid & o.value) | ~o.scores, "a V phase is not of scores"),
                    *(Assert((held <= n) | ~tiles[n].scores, "what is held is not of scores") for n in range(2)),
                    Assert(~(keys & alone) | (held == 0), "no tile is held beside scores"),
                    Assert(~keys | (probe.scores == alone), "the probe: the step is of scores"),
                    Cover(is_key & o.scores & o.final & (summed == 4), "a step of scores of several tiles"),
                ]
                if config.scores
                else []
            ),
            # The same machine seen from the inside, for induction.
            Assert(summed <= tokens, "no more than the tokens are counted"),
            Assert(probe.keys == keys, "the probe: K phases are left"),
            Assert(
                ~keys | ((probe.left == left) & (probe.chunks == chunks) & (probe.more == more)), "the probe: the step"
            ),
            Assert(~keys | (left != 0) | (tokens == 0), "a K phase that is left has tokens"),
            Assert(probe.held == held, "the probe: tiles held"),
            *(
                Assert(
                    (held <= n)
                    | (
                        tiles[n].value
                        & ((tiles[n].count != 0) | tiles[n].final)
                        & (ends[n] if one_bank else ~ends[n] | tiles[n].final)
                    ),
                    "what is held are V phases; only a final one is empty, and only a final one ends (with two banks)",
                )
                for n in range(2)
            ),
            Assert((held == 0) | (Value.cast(probe.older) == Value.cast(tiles[0])), "the probe: the oldest tile"),
            Assert((held < 2) | (Value.cast(probe.newer) == Value.cast(tiles[1])), "the probe: the other tile"),
            Assert((held != 2) | ((ends[1] == probe.ends) & ~ends[0]), "the probe: whether the newest tile ends"),
            Assert((held != 2) | (keys == ~tiles[1].final), "between K and V the step goes on unless it is final"),
            Assert((held != 2) | (tiles[0].bank != tiles[1].bank), "two tiles held differ in their bank"),
            Assert((held != 1) | (ends[0] == probe.ends), "the probe: whether the only tile ends"),
            Assert(
                (held != 1) | (keys == ~tiles[0].final) | (~ends[0] & tiles[0].final),
                "with one tile held the step goes on unless it is final, or another has begun",
            ),
            Assert((held == 0) | one_bank | (probe.bank == (tiles[0].bank ^ (held == 1))), "the probe: the next bank"),
        ]
        m.d.comb += [
            Cover(is_value & o.final & (summed == 5), "a step of several tiles ends"),
            Cover(is_key & (o.count == 0), "a step without tokens"),
            Cover(accepted & (held == 1), "a command is accepted while a V phase is due")
            if config.score_tiles == 2
            else Cover(accepted, "a command is accepted"),
            Cover(is_value & ~ends[0] & o.final, "a V phase after the K of the next step")
            if config.score_tiles == 2
            else Cover(is_value & ~o.final, "a V phase in the middle"),
        ]
        return m


def sequencer_config(**fields):
    return PamPuConfig(
        **{
            "lanes": 2,
            "buffer_bytes": 16,
            "query_bytes": 8,
            "tile_tokens": 2,
            "max_head_dim": 4,
            "max_tokens": 7,
            **fields,
        }
    )


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(sequencer_config(), id="two-banks"),
        pytest.param(sequencer_config(score_tiles=1), id="one-bank"),
        pytest.param(sequencer_config(tile_tokens=3), id="tile-of-three", marks=pytest.mark.slow),
        pytest.param(sequencer_config(queries=2), id="two-queries"),
        pytest.param(sequencer_config(scores=True), id="scores"),
        pytest.param(sequencer_config(scores=True, score_tiles=1), id="scores-one-bank", marks=pytest.mark.slow),
    ],
)
def test_sequencer_proved(config):
    result = prove(SequencerContract(TileSequencer(config), config))
    assert result.status == "proved", result
    assert not result.unreached and len(result.reached) == 7 + config.scores


@pytest.mark.parametrize(
    ("old", "new", "failing"),
    [
        ("final.eq(left <= tile)", "final.eq(left < tile)", "final is on the last K phase of the step"),
        ("left.eq(left - count)", "left.eq(left - 1)", "the probe: the step"),
        ("m.d.sync += bank.eq(~bank)", "pass", "the probe: the next bank"),
        ("m.d.sync += waiting.eq(newest)", "pass", "V repeats the oldest tile"),
        ("flush = final & ~more if", "flush = final if", "a V phase comes exactly when it is due"),
        ("m.d.sync += pending.eq(0)", "pass", "the probe: tiles held"),
        ("self.i.ready.eq(~calls)", "self.i.ready.eq(1)", "a command is accepted as soon as none is left"),
        ("left.eq(left - o.count)", "left.eq(left - o.count - scores)", "the probe: the step"),
    ],
)
def test_sequencer_defects_found(old, new, failing):
    config = sequencer_config(scores="scores" in old + new or "calls" in old)
    unit = planted(sequencer_module, old, new).TileSequencer(config)
    result = prove(SequencerContract(unit, config))
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)


# Unit -------------------------------------------------------------------------------------------------------------------


class Cut(wiring.Component):
    """An arithmetic block with its ports and latency, whose result is free in every cycle."""

    ports: list[Signal] = []  # of the harness

    def __init__(self, signature, output):
        super().__init__(signature)
        self._output = output
        self.free = Signal(len(getattr(self, output)), name=f"free_{len(self.ports)}")
        self.ports.append(self.free)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += getattr(self, self._output).eq(self.free)
        return m


@pytest.fixture
def cut(monkeypatch):
    """Cuts the rounders and the exponential off the units that are made and elaborated in the test."""

    class CutRounder(Cut):
        LATENCY = Rounder.LATENCY

        def __init__(self, *args, **kwargs):
            super().__init__(Rounder(*args, **kwargs).signature, "bits")

    class CutExp(Cut):
        LATENCY = SoftmaxExp.LATENCY

        def __init__(self, *args, **kwargs):
            super().__init__(SoftmaxExp(*args, **kwargs).signature, "result")

    monkeypatch.setattr(vector_unit_module, "Rounder", CutRounder)
    monkeypatch.setattr(softmax_module, "Rounder", CutRounder)
    monkeypatch.setattr(softmax_module, "SoftmaxExp", CutExp)


class PuContract(StreamProtocol):
    """The contract of the unit's streams, and what the result stream promises beyond it.

    * Each partial result is a maximum, a sum, then output beats up to the one marked ``last``.
    * ``last`` and ``final`` are only on output beats, and on scores.
    * Scores alone come between partial results.
    * What the unit asserts about itself (see its source): output beats always find a place, and reserved and taken
      places never exceed the capacity; a tile's statistics are never overwritten before they have left; scores and
      probabilities never meet at a port of the score memory; a query beat that is read is there.

    How many output beats a partial result has, and what is in them, is not proved here.
    """

    def __init__(self, dut):
        result = dut.result
        self._kind = result.p.kind.as_value()
        super().__init__(dut, covers={"a partial result is complete": result.valid & result.ready & result.p.last})
        Cut.ports = self.ports

    def elaborate(self, platform):
        m = super().elaborate(platform)
        result, kind, queries = self.dut.result, self._kind, self.dut.config.queries
        expected = Signal(Kind, init=Kind.MAXIMUM)
        # With several queries, the maximum of the next one may follow a sum.
        again, number = Signal(), Signal(range(queries))
        if queries > 1:
            command = self.dut.command
            m.d.comb += Assume(~command.valid | ((command.p.queries != 0) & (command.p.queries <= queries)))
            with m.If(result.valid & result.ready & (kind == Kind.SUM.value)):
                m.d.sync += [again.eq(number != queries - 1), number.eq(number + 1)]
            with m.If(result.valid & result.ready & (kind != Kind.SUM.value)):
                m.d.sync += again.eq(0)
            with m.If(result.valid & result.ready & (kind == Kind.OUTPUT.value)):
                m.d.sync += number.eq(0)
            m.d.comb += [
                Assert((kind == Kind.OUTPUT.value) | (result.p.query == number), "maxima and sums come query by query"),
                # This machine's own states, for induction.
                Assert(~again | ((expected == Kind.OUTPUT) & (number != 0)), "a further query follows a sum"),
                Assert((expected != Kind.MAXIMUM) | (number == 0), "a tile begins with its first query"),
            ]
        next_query = again & (kind == Kind.MAXIMUM.value)
        alone = Const(0)
        if self.dut.config.scores:
            alone = kind == partials.ScoringKind.SCORE.value
            m.d.comb += Cover(result.valid & result.ready & alone & result.p.final, "a score leaves")
        with m.If(result.valid & result.ready & ~alone):
            with m.Switch(expected):
                with m.Case(Kind.MAXIMUM):
                    m.d.sync += expected.eq(Kind.SUM)
                with m.Case(Kind.SUM):
                    m.d.sync += expected.eq(Kind.OUTPUT)
                with m.Case(Kind.OUTPUT):
                    with m.If(next_query):
                        m.d.sync += expected.eq(Kind.SUM)
                    with m.Elif(result.p.last):
                        m.d.sync += expected.eq(Kind.MAXIMUM)
        m.d.comb += [
            Assert(
                (kind == expected.as_value()) | next_query | (alone & (expected == Kind.MAXIMUM)),
                "a partial result is a maximum, a sum, and outputs up to the last",
            ),
            Assert(
                (kind == Kind.OUTPUT.value) | alone | ~(result.p.last | result.p.final),
                "only outputs are last or final",
            ),
        ]
        return m


def unit_config(**fields):
    """Two lanes, tiles of 2 tokens, query slices of 2 beats, room for 2 beats of output, up to 3 tokens a step."""
    return PamPuConfig(
        **{
            "lanes": 2,
            "buffer_bytes": 16,
            "query_bytes": 8,
            "tile_tokens": 2,
            "max_head_dim": 4,
            "max_tokens": 3,
            "format": "bf16",
            "score_format": "bf16",
            "acc_format": "bf16",
            **fields,
        }
    )


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(unit_config(), id="two-banks"),
        pytest.param(unit_config(score_tiles=1, query_bytes=4, buffer_bytes=8), id="one-bank-sliced"),
    ],
)
def test_unit_proved(cut, config):
    result = prove(PuContract(pu_module.PamPu(config)))
    assert result.status == "proved", result
    check_reached(result)


@pytest.mark.slow
def test_unit_with_scores_for_a_bounded_time(cut):
    """Steps of scores alone between others: the contract holds for the first cycles from reset."""
    result = prove(PuContract(pu_module.PamPu(unit_config(scores=True))), induction=1, timeout_s=1200)
    assert result.status in ("proved", "bounded") and result.depth >= 16, result


@pytest.mark.slow
def test_unit_of_two_queries_proved(cut):
    """The contract holds for all time, for steps of one and of two queries."""
    config = unit_config(queries=2, query_bytes=16, buffer_bytes=24)
    result = prove(PuContract(pu_module.PamPu(config)), timeout_s=1200)
    assert result.status == "proved", result
    check_reached(result)


def check_reached(result):
    assert messages(result.reached) >= {
        "command transfers an item",
        "query transfers an item",
        "kv transfers an item",
        "result transfers an item",
        "result is stalled",
        "a partial result is complete",
    }
    assert not result.unreached


@pytest.mark.parametrize(
    ("old", "new", "failing"),
    [
        (" & (~(last_token | void) | (credits != 0))", "", "PamPu: each place for output is free, reserved, or taken"),
        (
            "with m.If(active & ~phase.value & ~occupied[bank]):",
            "with m.If(active & ~phase.value):",
            "PamPu: the tile of an occupied bank is in exactly one stage",
        ),
        (
            "out.p.kind.eq(content.MAXIMUM)",
            "out.p.kind.eq(content.SUM)",
            "a partial result is a maximum, a sum, and outputs up to the last",
        ),
        (
            "out.valid.eq(told[from_bank])",
            "out.valid.eq(told[from_bank] & ~tiles.occupied[1])",
            "result is stable while stalled",
        ),
        pytest.param(
            " | (self._scores_leave(at) & (credits == 0))",
            "",
            "PamPu: each place for output is free, reserved, or taken",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "lately.eq(Cat(take & self._scores_leave(at), lately))",
            "lately.eq(0)",
            "PamPu: no output comes with a score alone",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_unit_defects_found(cut, old, new, failing):
    result = prove(PuContract(planted(pu_module, old, new).PamPu(unit_config(scores="scores_leave" in old))))
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)
