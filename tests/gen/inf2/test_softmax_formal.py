# amaranth: UnusedElaboratable=no
"""The control of ``inf2-softmax`` for all inputs: places of its queues for all time, rows for a number of clocks.

The unit is the generated one with its arithmetic replaced by tags. The scores of a row carry two bits: one says that a
free input picked the row, the other that the row comes behind the picked one. The maximum and the sum of a row are the
bits of its last beat. A weight and a quotient carry the bits of their score, and a third bit if their maximum or their sum
has others. Control, memories, queues and delays of the unit are the real ones. Bits of the arithmetic are the subject of
other tests.
"""

import re

import pytest
from amaranth import *
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, Cover
from amaranth.lib import data, wiring

from bankside.constraints.core.formats import FloatFormat
from bankside.constraints.inf2.softmax import Inf2SoftmaxConfig
from bankside.gen.arith.lanes import register
from bankside.gen.arith.softmax import QuotientLane, RowMaximum, RowSum, WeightLanes
from bankside.gen.blocks.stream import StreamFIFO
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.inf2 import softmax as softmax_module
from tests.gen.pam.test_pu_formal import messages
from tests.planting import planted


class SmallConfig(Inf2SoftmaxConfig):
    """Numbers of three bits, which are tags: control does not depend on them."""

    @property
    def io(self):
        return FloatFormat("tiny", 1, 1)


def small(**fields):
    """Two lanes, rows of up to 3 tokens (any of two bits), room for 6 beats and 2 rows."""
    return SmallConfig(
        **{
            "lanes": 2,
            "groups": 1,
            "format": "bf16",
            "max_tokens": 3,
            "slack_beats": 4,
            "row_slots": 2,
            "mask_value": -1.0,
            "exp_depth": 0,
            "add_depth": 1,
            "reciprocal_depth": 1,
            "quotient_depth": 0,
            **fields,
        }
    )


ON_CHIP = small()
STREAMED = small(rows="streamed")
#: The shortest pipelines: a queue beside them is slower.
UNDIVIDED = small(lanes=1, division="none", row_slots=4)


def depth_of(config):
    """Cycles of the bounded proofs.

    With division a first result is there after 13 cycles (on the chip) or 15 (streamed). Without it, this takes 9 cycles,
    and a first sum takes 11. So at least 11 cycles follow the first result, and 9 the first sum.
    """
    return 26 if config.divides else 20


#: Latencies of the queues on the way of a row, and its wait for rows ahead.
QUEUES = 7


class TagMaximum(wiring.Component):
    """The tags of the row's last beat."""

    def __init__(self, fmt, lanes, groups):
        real = RowMaximum(fmt, lanes, groups)
        self.latency = real.latency
        super().__init__(real.signature)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.output_valid.eq(register(m, self.valid & self.last, "done", self.latency, keep=True)),
            self.maximum.eq(register(m, self.data[:2], "tags", self.latency)),
        ]
        return m


class TagSum(wiring.Component):
    """The tags of the row's last beat."""

    def __init__(self, config):
        real = RowSum(config)
        self.latency = real.latency
        super().__init__(real.signature)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.output_valid.eq(register(m, self.valid & self.last, "done", self.latency, keep=True)),
            self.sum.eq(register(m, self.data[:3], "tags", self.latency)),
        ]
        return m


class TagWeights(wiring.Component):
    """In lane 0 the tags of the score, and whether the maximum has others."""

    def __init__(self, config):
        real = WeightLanes(config)
        self.config, self.lanes = config, real.lanes
        super().__init__(real.signature)

    def elaborate(self, platform):
        m = Module()
        tags = self.data[:2]
        m.d.comb += self.weights.eq(register(m, Cat(tags, tags != self.maximum[:2]), "tags", self.config.exp_depth))
        return m


class TagQuotient(wiring.Component):
    """The tags of the weight; the third one is also set if the sum has others."""

    def __init__(self, config):
        self.config = config
        super().__init__(QuotientLane(config).signature)

    def elaborate(self, platform):
        m = Module()
        tags = Cat(self.weight[:2], self.weight[2] | (self.weight[:3] != self.scale[:3]))
        m.d.comb += self.result.eq(register(m, tags, "tags", self.config.quotient_depth))
        return m


@pytest.fixture
def cut(monkeypatch):
    """Puts tags into the place of the arithmetic of the units that are made and elaborated in the test."""

    def cut_off(module):
        for name, tags in (
            ("RowMaximum", TagMaximum),
            ("RowSum", TagSum),
            ("WeightLanes", TagWeights),
            ("QuotientLane", TagQuotient),
        ):
            monkeypatch.setattr(module, name, tags)
        monkeypatch.setattr(
            module, "row_scale", lambda m, total, *, depth, **_: register(m, total, "scale_tags", depth)
        )
        return module

    return cut_off


class Around(wiring.Component):
    """The unit with a queue in the place of the memory to which it sends rows between its passes."""

    def __init__(self, unit):
        self.unit, self.config = unit, unit.config
        super().__init__(
            {
                name: member
                for name, member in unit.signature.members.items()
                if not name.startswith(("kept_", "again_"))
            }
        )

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
        m.d.comb += Assume(
            ~row.valid | (row.p.tokens <= self.dut.config.max_tokens), "a row is one of this configuration"
        )
        return m


def waiting_shape(config):
    """A row whose scores come: its tokens, and its tags."""
    return data.StructLayout({"tokens": config.max_tokens.bit_length(), "picked": 1, "late": 1})


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

        # Rows whose scores come, oldest first.
        picked, tokens = Signal(), Signal.like(row.p.tokens)  # a row was picked, and its tokens
        waits = [Signal(waiting_shape(config), name=f"wait_{n}") for n in range(4)]
        waiting, beat = Signal(range(5)), Signal(range(rule.beats(config.max_tokens) + 1))
        now = waits[0]
        begins, picks, last, ends = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            begins.eq(row.valid & row.ready & row.p.tokens.any()),
            picks.eq(begins & self.follow & ~picked),
            last.eq((beat + 1) * lanes >= now.tokens),
            ends.eq(moves & last),
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
                        m.d.sync += [one.tokens.eq(row.p.tokens), one.picked.eq(picks), one.late.eq(picked)]
        m.d.sync += waiting.eq(waiting + begins - ends)
        with m.If(picks):
            m.d.sync += [picked.eq(1), tokens.eq(row.p.tokens)]
        m.d.comb += [
            Assert(~moves | (waiting != 0), "scores are taken of a row that has begun"),
            Assume(
                ~moves | ((score.p.data[:2] == Cat(now.picked, now.late)) & ~score.p.mask[0]),
                "the scores of a row carry its tags",
            ),
        ]
        kept = unit._maximum.data
        for lane in range(1, lanes):
            given = score.p.data.word_select(lane, width)
            wanted = Mux(
                beat * lanes + lane >= now.tokens,
                rule.score.negative_infinity,
                Mux(score.p.mask[lane], rule.mask_bits, given),
            )
            m.d.comb += Assert(
                ~moves | (kept.word_select(lane, width) == wanted),
                "masked scores are written over, and lanes behind the last token are -infinity",
            )

        # Rows leave in this order: those before the picked one, the picked one, those behind it. Each row can be picked.
        inside, done, number = Signal(range(32)), Signal(), Signal.like(beat)
        finishes, front, late, other = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [Cat(front, late, other).eq(result.p.data), finishes.eq(leaves & result.p.last)]
        m.d.sync += inside.eq(inside + begins - finishes)
        with m.If(leaves & front):
            m.d.sync += [number.eq(number + 1), done.eq(result.p.last)]
        m.d.comb += [
            Assert(~result.valid | (inside != 0), "a result is of a row"),
            Assert(
                ~result.valid | Mux(done, late & ~front, ~late & (front | (number == 0))),
                "results leave in the order of rows",
            ),
            Assert(~result.valid | ~other, "a result has the maximum and the sum of its row"),
            Assert(
                ~(result.valid & front) | (result.p.last == ((number + 1) * lanes >= tokens)),
                "a row has as many results as scores",
            ),
            Cover(front & finishes & (number == 1), "a row of two beats ends"),
            Cover(finishes & done, "a row behind the picked one ends"),
        ]
        if not config.divides:
            self._check_sums(m, begins)
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

    def _check_sums(self, m, begins):
        """A row has one sum, with its maximum."""
        total = self.dut.sum
        takes = total.valid & total.ready
        inside, done = Signal(range(32)), Signal()
        front, late, other = Signal(), Signal(), Signal()
        m.d.comb += Cat(front, late, other).eq(total.p.sum)
        m.d.sync += inside.eq(inside + begins - takes)
        with m.If(takes & front):
            m.d.sync += done.eq(1)
        m.d.comb += [
            Assert(~total.valid | (inside != 0), "a sum is of a row"),
            Assert(~total.valid | (Mux(done, late & ~front, ~late) & ~other), "sums leave in the order of rows"),
            Assert(~total.valid | (total.p.maximum[:2] == Cat(front, late)), "a sum has the maximum of its row"),
            Cover(takes & front, "the sum of the picked row leaves"),
        ]


def wrapped(module, config):
    unit = module.Inf2Softmax(config)
    return Around(unit) if config.streamed else unit


CONFIGS = [
    pytest.param(ON_CHIP, id="on-chip"),
    pytest.param(STREAMED, id="streamed"),
    pytest.param(UNDIVIDED, id="undivided"),
]


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_places_proved(cut, config):
    """For all time."""
    result = prove(SoftmaxPlaces(wrapped(cut(softmax_module), config)), timeout_s=1200)
    assert result.status == "proved", result
    assert not result.unreached


def rows_of(config):
    """What the contract asserts about a configuration."""
    out = [
        "scores are taken of a row that has begun",
        "a result is of a row",
        "results leave in the order of rows",
        "a result has the maximum and the sum of its row",
        "a row has as many results as scores",
    ]
    if config.lanes > 1:
        out.append("masked scores are written over, and lanes behind the last token are -infinity")
    if config.divides:
        return [*out, "a row ends in time"]
    return [*out, "a sum is of a row", "sums leave in the order of rows", "a sum has the maximum of its row"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param(config.values[0], message, id=f"{config.id}-{message}")
        for config in CONFIGS
        for message in rows_of(config.values[0])
    ],
)
def test_rows_for_a_bounded_time(cut, config, message):
    """Within the cycles of the bounded proof, in which rows of two beats and rows behind them leave.

    A solver proves one property at a time much faster than all together. What the unit asserts about itself helps it; the
    test above proves that for all time.
    """
    unit = wrapped(cut(softmax_module), config)
    result = prove(
        SoftmaxContract(unit), depth=depth_of(config), induction=1, timeout_s=1500, only=(message, "Inf2Softmax: ")
    )
    assert result.status == "bounded" and result.depth >= depth_of(config), result
    assert not result.unreached


@pytest.mark.parametrize("config", CONFIGS)
def test_every_property_of_rows_has_its_proof(cut, config):
    """No assertion of the contract is left out: all others are those of :class:`SoftmaxPlaces`, proved for all time."""

    def messages_of(contract):
        harness = contract(wrapped(cut(softmax_module), config))
        text = rtlil.convert(harness, platform="formal", ports=harness.ports)
        cells = re.findall(r"cell \$check .*?\n +end\n", text, re.DOTALL)
        return {re.search(r'FORMAT "(.*)"', cell)[1] for cell in cells if 'FLAVOR "assert"' in cell}

    places = messages_of(SoftmaxPlaces)
    assert len(places) > 10
    assert messages_of(SoftmaxContract) - places == set(rows_of(config))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("contract", "config", "old", "new", "failing"),
    [
        (
            SoftmaxPlaces,
            ON_CHIP,
            "free.eq(taken != count)",
            "free.eq(1)",
            "Inf2Softmax: no more places of maxima are taken than there are",
        ),
        (
            SoftmaxPlaces,
            ON_CHIP,
            " & (free | ~last)",
            "",
            "Inf2Softmax: no more places of maxima are taken than there are",
        ),
        (
            SoftmaxPlaces,
            ON_CHIP,
            "m.d.sync += first.eq(scores.p.last)",
            "m.d.sync += first.eq(0)",
            "Inf2Softmax: the next beat for the sum is framed",
        ),
        (
            SoftmaxPlaces,
            UNDIVIDED,
            "min(config.row_slots, together)",
            "config.row_slots",
            "Inf2Softmax: the maximum of a sum is there",
        ),
        (
            SoftmaxContract,
            ON_CHIP,
            "maxima.ready.eq(issue & scores.p.last)",
            "maxima.ready.eq(issue)",
            "a result has the maximum and the sum of its row",
        ),
        (
            SoftmaxContract,
            ON_CHIP,
            "scales.ready.eq(issue & weights.p.last)",
            "scales.ready.eq(issue)",
            "a result has the maximum and the sum of its row",
        ),
        (
            SoftmaxContract,
            ON_CHIP,
            "last & rest.any() & (rest <= lane)",
            "last & (rest <= lane)",
            "masked scores are written over, and lanes behind the last token are -infinity",
        ),
        (
            SoftmaxContract,
            ON_CHIP,
            'register(m, weights.p.last, "results_last", depth)',
            'register(m, weights.p.last, "results_last", depth + 1)',
            "a row has as many results as scores",
        ),
        (
            SoftmaxContract,
            STREAMED,
            "last.eq(beat == count - 1)",
            "last.eq(beat == count)",
            "masked scores are written over, and lanes behind the last token are -infinity",
        ),
        (SoftmaxContract, ON_CHIP, "return latency + 3", "return 1", "a row ends in time"),
        (
            SoftmaxContract,
            UNDIVIDED,
            "sums.i.p.maximum.eq(tops.o.payload)",
            "sums.i.p.maximum.eq(maxima.payload)",
            "a sum has the maximum of its row",
        ),
    ],
)
def test_errors_are_found(cut, contract, config, old, new, failing):
    unit = wrapped(cut(planted(softmax_module, old, new)), config)
    result = prove(contract(unit), depth=depth_of(config), induction=1, timeout_s=900)
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)
