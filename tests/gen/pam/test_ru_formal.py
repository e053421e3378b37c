# amaranth: UnusedElaboratable=no
"""A bounded proof of the reduction unit's control, of the first 28 clocks from reset: its ports against the contract,
its places and its lanes.

The unit in the proof is the generated one with the arithmetic cut off: what the lanes, the sum and the weight unit put out
is free in every cycle, and the weight unit and the sum keep their order of events with fewer cycles. Dispatcher, queues,
counters and the state machine are the real ones. When a weight comes is the subject of ``test_pam_ru.py``.
"""

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume

from bankside.constraints.pam.ru import PamRuConfig
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.pam import ru as ru_module
from bankside.gen.pam.lane import ReductionLane, delayed
from bankside.gen.pam.partial_port import PartialKind
from bankside.gen.pam.sum_unit import SumUnit
from bankside.gen.pam.weights import WeightUnit
from tests.planting import planted

from .test_pu_formal import messages

#: Cycles of the proof: more than a step of two sources with one beat of O each.
DEPTH = 28


def anything(m, unit, names):
    """Outputs of a unit that are free in every cycle."""
    for name in names:
        value = Signal(len(getattr(unit, name)), name=f"free_{len(RuContract.free)}")
        RuContract.free.append(value)
        m.d.comb += getattr(unit, name).eq(value)


class CutLane(ReductionLane):
    """With fewer cycles: an even number of them before a result comes back, as in every lane."""

    def __init__(self, config):
        super().__init__(config)
        self.SUM, self.AGAIN, self.BACK, self.OUT = 1, 1, 2, 4

    def elaborate(self, platform):
        m = Module()
        anything(m, self, ("result", "rounded"))
        return m


class CutSum(SumUnit):
    LOGARITHM = 0

    def __init__(self, config):
        super().__init__(config)
        self.LATENCY = self.FINISH = 1

    def elaborate(self, platform):
        m = Module()
        anything(m, self, ("part", "power", "empty", "bad", "log", "log_sum"))
        return m


class CutWeights(WeightUnit):
    LATENCY = 3

    def elaborate(self, platform):
        m = Module()
        rest = Signal(range(self.INTERVAL))
        with m.If(self.start | self.normalise):
            m.d.sync += rest.eq(self.INTERVAL - 1)
        with m.Elif(rest != 0):
            m.d.sync += rest.eq(rest - 1)
        m.d.comb += [
            self.free.eq(rest == 0),
            self.valid.eq(delayed(m, self.start, "valid", self.LATENCY, reset=True)),
            self.normalised.eq(delayed(m, self.normalise, "normalised", self.LATENCY, reset=True)),
            self.is_first.eq(delayed(m, self.first, "first", self.LATENCY)),
        ]
        anything(m, self, ("maximum", "total_scale", "weight", "steps"))
        return m


def unit(monkeypatch, module=ru_module, **fields):
    """One lane and two beats of O, the arithmetic cut off. What a beat holds is free, so it need not be as wide as m with
    its scale."""
    for name, cut in (("ReductionLane", CutLane), ("SumUnit", CutSum), ("WeightUnit", CutWeights)):
        monkeypatch.setattr(module, name, cut)
    return module.PamRu(
        PamRuConfig.model_construct(
            **{
                **PamRuConfig().model_dump(),
                "lanes": 1,
                "source_lanes": 1,
                "sources": 2,
                "max_head_dim": 2,
                "staging_beats": 2,
                "exponential_units": 1,
                "lane_depth": 0,
                "format": "bf16",
                "acc_format": "bf16",
                "score_format": "bf16",
                "log_format": "bf16",
                **fields,
            }
        )
    )


class RuContract(StreamProtocol):
    """The contract of the unit's streams, what it asserts about itself, and that a result is m, a sum and beats of O.

    * Nothing leaves a result queue or enters it without a place; reserved and taken places are all there are.
    * The lanes serve either merging or the result; what comes back meets nothing from the scratch.
    * A sum and a weight always find a place in their queue.
    """

    free: list[Signal] = []  # what is in the place of the arithmetic; grows as the unit is elaborated

    def __init__(self, dut, completes=True):
        result = dut.result
        complete = {"a result is complete": result.valid & result.ready & result.p.last}
        super().__init__(dut, covers=complete if completes else {})
        RuContract.free = self.ports

    def elaborate(self, platform):
        m = super().elaborate(platform)
        result, kind = self.dut.result, self.dut.result.p.kind.as_value()
        place = Signal(2)
        with m.If(result.valid & result.ready):
            m.d.sync += place.eq(Mux(place != 2, place + 1, Mux(result.p.last, 0, 2)))
        with m.If(result.valid):
            m.d.comb += [
                Assert((place != 0) | (kind == PartialKind.MAXIMUM.value), "a result begins with a maximum"),
                Assert(
                    (place != 1) | (kind == PartialKind.SUM.value) | (kind == PartialKind.LOG_SUM.value),
                    "a sum follows",
                ),
                Assert((place != 2) | (kind == PartialKind.OUTPUT.value), "beats of O follow up to the last"),
                Assert((place == 2) == result.p.final, "final is on the beats of O"),
                Assert((place == 2) | ~result.p.last, "only a beat of O is the last"),
            ]
        return m


class SeveralContract(RuContract):
    """The contract of a unit of several queries, of steps of ``queries`` queries.

    The environment sends partial results as the page describes: m and l of each query, then beats of O query by query.
    The unit sends m and a sum of each query, then beats of O query by query; the last beat belongs to the last query.
    """

    def __init__(self, dut, queries):
        super().__init__(dut, completes=queries == 1)
        self.queries = queries

    def elaborate(self, platform):
        m = StreamProtocol.elaborate(self, platform)
        dut, top = self.dut, self.queries - 1
        m.d.comb += Assume(~dut.command.valid | (dut.command.p.queries == self.queries))
        for n in range(dut.config.sources):
            source, (_, query) = getattr(dut, f"source_{n}"), self._position(m, f"source_{n}")
            m.d.comb += Assume(~source.valid | ~source.p.last | (query == top))
        result, (place, query) = dut.result, self._position(m, "result")
        kind = result.p.kind.as_value()
        with m.If(result.valid):
            m.d.comb += [
                Assert((place != 0) | (kind == PartialKind.MAXIMUM.value), "a result has a maximum of each query"),
                Assert(
                    (place != 1) | (kind == PartialKind.SUM.value) | (kind == PartialKind.LOG_SUM.value),
                    "a sum follows each maximum",
                ),
                Assert((place != 2) | (kind == PartialKind.OUTPUT.value), "beats of O follow up to the last"),
                Assert(result.p.query == query, "a beat has the number of its query"),
                Assert(~result.p.last | ((place == 2) & (query == top)), "the last beat is of O and of the last query"),
            ]
        return m

    def _position(self, m, name):
        """Whether the next beat of a stream is m (0), a sum (1) or of O (2), and its query."""
        port = getattr(self.dut, name)
        place, query = Signal(2, name=f"{name}_place"), Signal(range(self.dut.config.queries), name=f"{name}_query")
        ends = query == self.queries - 1
        with m.If(port.valid & port.ready):
            with m.If(place != 0):
                m.d.sync += query.eq(Mux(ends, 0, query + 1))
            with m.If(place != 2):
                m.d.sync += place.eq(Mux(place == 0, 1, Mux(ends, 2, 0)))
            with m.Elif(port.p.last):
                m.d.sync += place.eq(0)
        return place, query


@pytest.mark.slow
@pytest.mark.parametrize("queries", [1, 2])
def test_control_of_two_queries(monkeypatch, queries):
    """Steps of one and of two queries in a unit of two. A result of one is complete within the depth. A result of two takes
    longer: benches show it."""
    dut = unit(monkeypatch, queries=2, max_head_dim=1)
    result = prove(SeveralContract(dut, queries), depth=DEPTH, induction=1)
    assert result.status == "bounded" and result.depth == DEPTH and not result.failing, result
    assert not result.unreached and ("a result is complete" in messages(result.reached)) == (queries == 1)


@pytest.mark.slow
def test_control(monkeypatch):
    """Half a minute; a result is complete within the depth."""
    result = prove(RuContract(unit(monkeypatch)), depth=DEPTH, induction=1)
    assert result.status == "bounded" and result.depth == DEPTH, result
    assert not result.unreached and "a result is complete" in messages(result.reached)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "failing"),
    [
        (
            "m.d.comb += read_out.go.eq(places & read_out.phase)",
            "m.d.comb += read_out.go.eq(places)",
            "PamRu: what comes back meets nothing from the scratch",
        ),
        ("- (header | read_out.go))", "- read_out.go)", "PamRu: each place is free, reserved, or taken"),
    ],
)
def test_defects_found(monkeypatch, old, new, failing):
    result = prove(RuContract(unit(monkeypatch, planted(ru_module, old, new))), depth=DEPTH, induction=1)
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)


class LateLane(CutLane):
    """With as many cycles until a result is multiplied as a lane has at most."""

    def __init__(self, config):
        super().__init__(config)
        self.SUM, self.AGAIN, self.BACK, self.OUT = 1, 4, 5, 7


@pytest.mark.slow
@pytest.mark.parametrize("old", ["", "m.d.sync += [wait.eq(0), read_out.chunk.eq(0), read_out.phase.eq(1)]"])
def test_the_factor_stays_while_a_short_step_follows(monkeypatch, old):
    """One source whose next step is a single beat; an error planted: the factor is that of no normalisation as soon as the
    next step drains."""
    new = old.replace("[wait", "[factor.eq(io.bias << io.fraction_bits), wait")
    module = planted(ru_module, old, new) if old else ru_module
    short = unit(monkeypatch, module, sources=1, max_head_dim=1)
    monkeypatch.setattr(module, "ReductionLane", LateLane)
    monkeypatch.setattr(CutWeights, "LATENCY", 6)  # a weight comes when the result has left the lanes, as it does uncut
    result = prove(RuContract(module.PamRu(short.config)), depth=DEPTH + 4, induction=1)
    assert result.status == ("counterexample" if old else "bounded"), result
    if old:
        assert "PamRu: the factor stays until the result is multiplied" in messages(result.failing)
