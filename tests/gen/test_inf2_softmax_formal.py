# amaranth: UnusedElaboratable=no
"""The control of ``inf2-softmax`` for all inputs: places of its queues for all time, rows for a number of clocks.

The unit is the generated one with its arithmetic replaced by tags. The scores of a row carry a bit that says whether a
free input picked the row. The maximum and the sum of a row are the bit of its last beat. A weight and a quotient carry
the bit of their score, and a second bit if their maximum or their sum has another one. Control, memories, queues and
delays of the unit are the real ones. Bits of the arithmetic are the subject of other tests.
"""

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover
from amaranth.lib import data, wiring

from bankside.constraints.formats import FloatFormat
from bankside.constraints.units.inf2_softmax import Inf2SoftmaxConfig
from bankside.gen.arith.lanes import register
from bankside.gen.arith.softmax import QuotientLane, RowMaximum, RowSum, WeightLanes
from bankside.gen.blocks.stream import StreamFIFO
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.inf2 import softmax as softmax_module
from tests.gen.test_pam_pu_formal import messages
from tests.planting import planted


class SmallConfig(Inf2SoftmaxConfig):
    """Numbers of three bits, which are tags: control does not depend on them."""

    @property
    def io(self):
        return FloatFormat("tiny", 1, 1)


def small(**fields):
    """Two lanes, rows of up to 3 tokens (any of two bits), room for 6 beats and 2 rows."""
    return SmallConfig(**{"lanes": 2, "groups": 1, "format": "bf16", "max_tokens": 3, "slack_beats": 4, "row_slots": 2,
                          "mask_value": -1.0, "exp_depth": 0, "add_depth": 1, "reciprocal_depth": 1, "quotient_depth": 0,
                          **fields})


ON_CHIP = small()
STREAMED = small(rows="streamed")
#: The shortest pipelines: a queue beside them is slower.
UNDIVIDED = small(lanes=1, division="none", row_slots=4)


#: Cycles of the bounded proofs.
DEPTH = 26

#: Latencies of the queues on the way of a row, and its wait for rows ahead.
QUEUES = 7


class TagMaximum(wiring.Component):
    """The tag of the row's last beat."""

    def __init__(self, fmt, lanes, groups):
        real = RowMaximum(fmt, lanes, groups)
        self.latency = real.latency
        super().__init__(real.signature)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.output_valid.eq(register(m, self.valid & self.last, "done", self.latency, keep=True)),
                     self.maximum.eq(register(m, self.data[0], "tag", self.latency))]
        return m


class TagSum(wiring.Component):
    """The tags of the row's last beat."""

    def __init__(self, config):
        real = RowSum(config)
        self.latency = real.latency
        super().__init__(real.signature)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.output_valid.eq(register(m, self.valid & self.last, "done", self.latency, keep=True)),
                     self.sum.eq(register(m, self.data[:2], "tag", self.latency))]
        return m


class TagWeights(wiring.Component):
    """In lane 0 the tag of the score, and whether the maximum has another tag."""

    def __init__(self, config):
        real = WeightLanes(config)
        self.config, self.lanes = config, real.lanes
        super().__init__(real.signature)

    def elaborate(self, platform):
        m = Module()
        tag = self.data[0]
        m.d.comb += self.weights.eq(register(m, Cat(tag, tag ^ self.maximum[0]), "tags", self.config.exp_depth))
        return m


class TagQuotient(wiring.Component):
    """The tags of the weight; the second one is also set if the sum has other tags."""

    def __init__(self, config):
        self.config = config
        super().__init__(QuotientLane(config).signature)

    def elaborate(self, platform):
        m = Module()
        tags = Cat(self.weight[0], self.weight[1] | (self.weight[:2] != self.scale[:2]))
        m.d.comb += self.result.eq(register(m, tags, "tags", self.config.quotient_depth))
        return m


@pytest.fixture
def cut(monkeypatch):
    """Puts tags into the place of the arithmetic of the units that are made and elaborated in the test."""
    def cut_off(module):
        for name, tags in (("RowMaximum", TagMaximum), ("RowSum", TagSum), ("WeightLanes", TagWeights),
                           ("QuotientLane", TagQuotient)):
            monkeypatch.setattr(module, name, tags)
        monkeypatch.setattr(module, "row_scale", lambda m, total, *, depth, **_: register(m, total, "scale_tags", depth))
        return module

    return cut_off


class Around(wiring.Component):
    """The unit with a queue in the place of the memory to which it sends rows between its passes."""

    def __init__(self, unit):
        self.unit, self.config = unit, unit.config
        super().__init__({name: member for name, member in unit.signature.members.items()
                          if not name.startswith(("kept_", "again_"))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = self.unit
        for name in self.signature.members:
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(self.unit, name))
        for name in ("score", "weight"):
            given = getattr(self.unit, f"kept_{name}")
            m.submodules[name] = queue = StreamFIFO(given.payload.shape(), self.config.store_beats)
            wiring.connect(m, given, queue.i)
            wiring.connect(m, queue.o, getattr(self.unit, f"again_{name}"))
        return m


class SoftmaxPlaces(StreamProtocol):
    """What the unit asserts about itself: everything that leaves a pipeline finds a place, and rows are framed."""

    def __init__(self, dut):
        super().__init__(dut)
        self.unit = getattr(dut, "unit", dut)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        row = self.dut.row
        m.d.comb += Assume(~row.valid | (row.p.tokens <= self.dut.config.max_tokens), "a row is one of this configuration")
        return m


def waiting_shape(config):
    """A row whose scores come."""
    return data.StructLayout({"tokens": config.max_tokens.bit_length(), "picked": 1})


class SoftmaxContract(SoftmaxPlaces):
    """What the unit promises about rows. A free input picks one row; the properties hold for any row.

    * Scores are taken of rows that have begun, and no more of each than it has beats.
    * A row has as many beats of results as of scores, in order, and ``last`` is on the last one of them.
    * Results are of their own scores, and were made with the maximum and the sum of their own row.
    * A masked score is written over, and lanes behind the last token are -infinity.
    * While results are taken at once, the last one leaves a fixed time after the row's last beat of scores at the latest.
    """

    def __init__(self, dut):
        super().__init__(dut)
        self.follow = Signal()
        self.ports.append(self.follow)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, unit, config = self.dut, self.unit, self.dut.config
        rule = config.rule
        row, score, result = dut.row, dut.score, dut.result
        width, lanes = rule.score.width, rule.lanes
        moves, leaves = score.valid & score.ready, result.valid & result.ready

        # Rows whose scores come, oldest first: their tokens, and whether they were picked.
        picked, tokens = Signal(), Signal.like(row.p.tokens)  # a row was picked, and its tokens
        waits = [Signal(waiting_shape(config), name=f"wait_{n}") for n in range(4)]
        waiting, beat = Signal(range(5)), Signal(range(rule.beats(config.max_tokens) + 1))
        now = waits[0]
        begins, picks, last, ends = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            begins.eq(row.valid & row.ready & row.p.tokens.any()), picks.eq(begins & self.follow & ~picked),
            last.eq((beat + 1) * lanes >= now.tokens), ends.eq(moves & last),
            Assume(~begins | (waiting != len(waits)), "the harness has room"),
        ]
        with m.If(moves):
            m.d.sync += beat.eq(Mux(last, 0, beat + 1))
        with m.If(ends):
            m.d.sync += [one.eq(two) for one, two in zip(waits, waits[1:], strict=False)]
        with m.If(begins):
            place = Signal(range(5))
            m.d.comb += place.eq(waiting - ends)
            with m.Switch(place):
                for n, one in enumerate(waits):
                    with m.Case(n):
                        m.d.sync += [one.tokens.eq(row.p.tokens), one.picked.eq(picks)]
        m.d.sync += waiting.eq(waiting + begins - ends)
        with m.If(picks):
            m.d.sync += [picked.eq(1), tokens.eq(row.p.tokens)]
        m.d.comb += [
            Assert(~moves | (waiting != 0), "scores are taken of a row that has begun"),
            Assume(~moves | ((score.p.data[0] == now.picked) & ~score.p.mask[0]), "the scores of a row carry its tag"),
        ]
        kept = unit._maximum.data
        for lane in range(1, lanes):
            given = score.p.data.word_select(lane, width)
            wanted = Mux(beat * lanes + lane >= now.tokens, rule.score.negative_infinity,
                         Mux(score.p.mask[lane], rule.mask_bits, given))
            m.d.comb += Assert(~moves | (kept.word_select(lane, width) == wanted),
                               "masked scores are written over, and lanes behind the last token are -infinity")

        # Rows whose results are still to leave.
        inside, ahead, active, done = Signal(range(32)), Signal(range(32)), Signal(), Signal()
        number, finishes, front, tags = Signal.like(beat), Signal(), Signal(), result.p.data[:2]
        m.d.comb += [finishes.eq(leaves & result.p.last), front.eq(active & (ahead == 0))]
        m.d.sync += inside.eq(inside + begins - finishes)
        with m.If(picks):
            m.d.sync += [active.eq(1), ahead.eq(inside - finishes)]
        with m.Elif(active & finishes):
            m.d.sync += [active.eq(ahead != 0), ahead.eq(ahead - 1), done.eq(ahead == 0)]
        with m.If(front & leaves):
            m.d.sync += number.eq(number + 1)
        m.d.comb += [
            Assert(~result.valid | (inside != 0), "a result is of a row"),
            Assert(~result.valid | (tags[0] == front), "results leave in the order of rows"),
            Assert(~result.valid | ~tags[1], "a result has the maximum and the sum of its row"),
            Assert(~(front & result.valid) | (result.p.last == ((number + 1) * lanes >= tokens)),
                   "a row has as many results as scores"),
            Cover(front & finishes & (number == 1), "a row of two beats ends"),
            Cover(finishes & done, "a row behind the picked one ends"),
        ]
        if not config.divides:
            self._check_sums(m, begins, picks)
        else:
            # Clocks since the last scores of the picked row were taken.
            limit = sum(unit.latency.values()) + QUEUES
            age, flowing = Signal(range(limit + 2)), Signal(init=1)
            with m.If(ends & now.picked):
                m.d.sync += age.eq(1)
            with m.Elif((age != 0) & (age != limit + 1)):
                m.d.sync += age.eq(age + 1)
            with m.If(~result.ready):
                m.d.sync += flowing.eq(0)
            m.d.comb += Assert(~flowing | (age <= limit) | done, "a row ends in time")
        return m

    def _check_sums(self, m, begins, picks):
        """A row has one sum, with its maximum."""
        total = self.dut.sum
        takes = total.valid & total.ready
        inside, ahead, active = Signal(range(32)), Signal(range(32)), Signal()
        m.d.sync += inside.eq(inside + begins - takes)
        with m.If(picks):
            m.d.sync += [active.eq(1), ahead.eq(inside - takes)]
        with m.Elif(active & takes):
            m.d.sync += [active.eq(ahead != 0), ahead.eq(ahead - 1)]
        front = active & (ahead == 0)
        m.d.comb += [
            Assert(~total.valid | (inside != 0), "a sum is of a row"),
            Assert(~total.valid | ((total.p.sum[0] == front) & ~total.p.sum[1]), "sums leave in the order of rows"),
            Assert(~total.valid | (total.p.maximum[0] == front), "a sum has the maximum of its row"),
            Cover(takes & front, "the sum of the picked row leaves"),
        ]


def wrapped(module, config):
    unit = module.Inf2Softmax(config)
    return Around(unit) if config.streamed else unit


CONFIGS = [pytest.param(ON_CHIP, id="on-chip"), pytest.param(STREAMED, id="streamed"),
           pytest.param(UNDIVIDED, id="undivided")]


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_places_proved(cut, config):
    """For all time."""
    result = prove(SoftmaxPlaces(wrapped(cut(softmax_module), config)), timeout_s=1200)
    assert result.status == "proved", result
    assert not result.unreached


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_rows_for_a_bounded_time(cut, config):
    """Within the cycles of the bounded proof, in which rows of two beats and rows behind them leave."""
    result = prove(SoftmaxContract(wrapped(cut(softmax_module), config)), depth=DEPTH, induction=1, timeout_s=1500)
    assert result.status == "bounded" and result.depth >= DEPTH, result
    assert not result.unreached


@pytest.mark.slow
@pytest.mark.parametrize(("contract", "config", "old", "new", "failing"), [
    (SoftmaxPlaces, ON_CHIP, "free.eq(taken != count)", "free.eq(1)",
     "Inf2Softmax: no more places of maxima are taken than there are"),
    (SoftmaxPlaces, ON_CHIP, " & (free | ~last)", "", "Inf2Softmax: no more places of maxima are taken than there are"),
    (SoftmaxPlaces, ON_CHIP, "m.d.sync += first.eq(scores.p.last)", "m.d.sync += first.eq(0)",
     "Inf2Softmax: the next beat for the sum is framed"),
    (SoftmaxPlaces, UNDIVIDED, "min(config.row_slots, together)", "config.row_slots",
     "Inf2Softmax: the maximum of a sum is there"),
    (SoftmaxContract, ON_CHIP, "maxima.ready.eq(issue & scores.p.last)", "maxima.ready.eq(issue)",
     "a result has the maximum and the sum of its row"),
    (SoftmaxContract, ON_CHIP, "scales.ready.eq(issue & weights.p.last)", "scales.ready.eq(issue)",
     "a result has the maximum and the sum of its row"),
    (SoftmaxContract, ON_CHIP, "last & rest.any() & (rest <= lane)", "last & (rest <= lane)",
     "masked scores are written over, and lanes behind the last token are -infinity"),
    (SoftmaxContract, ON_CHIP, 'register(m, weights.p.last, "results_last", depth)',
     'register(m, weights.p.last, "results_last", depth + 1)', "a row has as many results as scores"),
    (SoftmaxContract, STREAMED, "last.eq(beat == count - 1)", "last.eq(beat == count)",
     "masked scores are written over, and lanes behind the last token are -infinity"),
    (SoftmaxContract, ON_CHIP, "return latency + 3", "return 1", "a row ends in time"),
    (SoftmaxContract, UNDIVIDED, "sums.i.p.maximum.eq(tops.o.payload)", "sums.i.p.maximum.eq(maxima.payload)",
     "a sum has the maximum of its row"),
])
def test_errors_are_found(cut, contract, config, old, new, failing):
    unit = wrapped(cut(planted(softmax_module, old, new)), config)
    result = prove(contract(unit), depth=DEPTH, induction=1, timeout_s=900)
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)
