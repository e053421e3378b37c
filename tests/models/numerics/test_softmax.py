"""The softmax model against binary64, and against slower definitions of its steps."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bankside.constraints.arith.geometry import ExpTable
from bankside.constraints.arith.softmax import INF2_SOFTMAX, INF2_SOFTMAX_FP32, SoftmaxRule
from bankside.constraints.core.formats import BF16, FP16, FP32
from bankside.models.numerics import (
    add,
    convert,
    divide,
    from_float64,
    is_nan,
    maximum,
    round_to_format,
    softmax_exp,
    to_float64,
)
from bankside.models.numerics.softmax import (
    masked_scores,
    row_maximum,
    row_sum,
    row_weights,
    softmax,
    softmax_parts,
    softmax_quotient,
    softmax_reference,
)

BF16_RULE = SoftmaxRule(score=BF16, io=BF16, acc=FP32, lanes=16, groups=2, chains=2)
WINDOW = replace(INF2_SOFTMAX, sums="window", acc=FP32)
SMALL = SoftmaxRule(lanes=8, groups=2, chains=4)
RULES = {
    "inf2": INF2_SOFTMAX,
    "inf2-fp32": INF2_SOFTMAX_FP32,
    "window": WINDOW,
    "bf16": BF16_RULE,
    "small": SMALL,
    "fp32-scores": replace(SMALL, score=FP32),
    "no-division": replace(SMALL, mask_value=-np.inf, division="none", chains=1),
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def rows(rng, rule, shape, spread=3.0):
    return from_float64(rng.normal(size=shape) * spread, rule.score)


@every_rule
@pytest.mark.parametrize("tokens", [1, 7, 128, 129, 1000])
def test_weights_are_near_binary64(rule, tokens):
    rng = np.random.default_rng(1)
    scores = rows(rng, rule, (6, tokens))
    valid = rng.random((6, tokens)) < 0.8
    valid[0], valid[1] = True, tokens == 1
    if np.isinf(rule.mask_value):
        valid[:, 0] = True
    rule_exact = rule if rule.division != "none" else replace(rule, division="exact")
    got = to_float64(softmax(scores, valid, rule_exact), rule.io)
    exact = softmax_reference(scores, valid, rule_exact)
    # An additions' error for each level of the trees and each beat; a unit of the exponential; half of one of the quotient.
    steps = 3 + np.log2(rule.lanes) + tokens / rule.lanes / rule.chains
    bound = exact * (steps * 2.0**-rule.acc.precision + 4 * 2.0**-rule.io.precision) + 2.0**rule.io.lsb_exponent
    assert (np.abs(got - exact) <= bound).all()


@pytest.mark.parametrize("rule", [INF2_SOFTMAX, WINDOW, BF16_RULE, SMALL], ids=["inf2", "window", "bf16", "small"])
def test_weights_add_up_to_one(rule):
    scores = rows(np.random.default_rng(2), rule, (4, 3000))
    total = to_float64(softmax(scores, None, rule), rule.io).sum(axis=-1)
    assert np.allclose(total, 1, atol=0.01)


@every_rule
def test_every_step_equals_its_slow_definition(rule):
    """Any bit patterns: the maximum by pairs, exponentials by their operator, each addition by the operator's model."""
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 1 << rule.score.width, (40, 3 * rule.lanes + 1))
    # Most rows of random bits hold a NaN; half of the rows are finite.
    scores[::2] = rows(rng, rule, scores[::2].shape)
    scores[0, :4] = [rule.score.negative_infinity, rule.score.sign_mask, 0, 5]
    scores[2, 7] = rule.score.infinity
    scores[4] = rule.score.negative_infinity
    scores[6] = rule.score.nan | 1
    given = masked_scores(scores, None, rule)
    top = row_maximum(given, rule.score)
    expected = given[:, 0]
    for column in given[:, 1:].T:
        expected = maximum(expected, column, rule.score)
    assert np.array_equal(top, np.where(is_nan(expected, rule.score), rule.score.nan, expected))

    weights = row_weights(top, given, rule)
    assert np.array_equal(weights, softmax_exp(top[:, None], given, rule.score, ExpTable(rule.io)))

    if rule.sums == "float":
        terms = convert(weights, rule.io, rule.acc).reshape(40, -1, rule.groups, rule.lanes // rule.groups)
        state = [[np.zeros(40, np.int64) for _ in range(rule.chains)] for _ in range(rule.groups)]
        for beat in range(terms.shape[1]):
            for group in range(rule.groups):
                values = list(terms[:, beat, group].T)
                while len(values) > 1:
                    values = [add(a, b, rule.acc) for a, b in zip(values[::2], values[1::2], strict=True)]
                state[group][beat % rule.chains] = add(state[group][beat % rule.chains], values[0], rule.acc)
        values = [one for group in state for one in group]
        while len(values) > 1:
            values = [add(a, b, rule.acc) for a, b in zip(values[::2], values[1::2], strict=True)]
        assert np.array_equal(row_sum(weights, rule), values[0])


def test_rows_do_not_depend_on_each_other():
    scores = rows(np.random.default_rng(4), INF2_SOFTMAX, (3, 5, 200))
    together = softmax(scores)
    assert together.shape == scores.shape
    for index in np.ndindex(3, 5):
        assert np.array_equal(softmax(scores[index]), together[index])


def test_a_masked_score_is_written_over():
    """Minus 1e4 replaces the score, whatever it was. Beside scores above -9982 it vanishes; beside lower ones it counts."""
    low, lower = from_float64(np.array([-9976.0, -10008.0]), FP16)
    scores = np.array([[low, FP16.nan, FP16.infinity], [lower, lower, lower]])
    valid = np.array([[True, False, False], [True, False, True]])
    weights = to_float64(softmax(scores, valid), FP16)
    assert np.array_equal(weights[0], [1, 0, 0])
    written = np.array([lower, from_float64(np.float64(-1e4), FP16), lower])
    assert np.array_equal(weights[1], to_float64(softmax(written), FP16))
    assert weights[1, 1] > 0.99


@pytest.mark.parametrize("tokens", [1, 31, 32, 33, 128, 1024])
def test_a_fully_masked_row_is_uniform(tokens):
    scores = np.random.default_rng(5).integers(0, 1 << 16, tokens)
    got = to_float64(softmax(scores, np.zeros(tokens, bool)), FP16)
    assert np.array_equal(got, np.full(tokens, float(np.float16(1 / tokens))))
    assert is_nan(softmax(scores, np.zeros(tokens, bool), replace(INF2_SOFTMAX, mask_value=-np.inf)), FP16).all()


def test_fp16_sums_of_equal_scores():
    """A tree before each addition keeps the sum growing; at 128 K tokens it leaves the range of FP16."""
    for tokens, total in ((1024, 1024.0), (32768, 32768.0), (131072, np.inf)):
        parts = softmax_parts(np.zeros(tokens, np.int64))
        assert to_float64(parts.sum, FP16) == total
        wide = softmax_parts(np.zeros(tokens, np.int64), None, INF2_SOFTMAX_FP32)
        assert to_float64(wide.sum, FP32) == tokens
        assert np.array_equal(to_float64(wide.result, FP16)[:1], [1 / tokens])
    assert not softmax(np.zeros(131072, np.int64)).any()


def test_exact_quotient_equals_division_and_its_reciprocal():
    """The two ways to an exact quotient, through binary64 and through the reciprocal that the hardware has."""
    rng = np.random.default_rng(6)
    weights = rng.integers(0, 0x3C01, 200_000)
    totals = rng.integers(0x3C00, FP16.infinity, len(weights))
    totals[:1000] = 0x3C00 + (np.arange(1000) % 16 << 10)  # powers of two: subnormal quotients that end halfway
    exact = divide(weights, totals, FP16)
    assert np.array_equal(softmax_quotient(weights, totals, INF2_SOFTMAX), exact)
    rule = replace(INF2_SOFTMAX, division="reciprocal", reciprocal_bits=24)
    assert np.array_equal(softmax_quotient(weights, totals, rule), exact)

    wide = from_float64(rng.uniform(1, 2**17, len(weights)), FP32)
    rule = replace(INF2_SOFTMAX_FP32, division="exact")
    exact = softmax_quotient(weights, wide, rule)
    assert np.array_equal(
        exact, softmax_quotient(weights, wide, replace(rule, division="reciprocal", reciprocal_bits=37))
    )
    for n in range(0, len(weights), 997):
        value = Fraction(float(to_float64(weights[n], FP16))) / Fraction(float(to_float64(wide[n], FP32)))
        scaled = value * 2**60
        part, rest = divmod(scaled.numerator, scaled.denominator)
        assert exact[n] == round_to_format(0, part << 1 | (rest != 0), -61, FP16)
    short = softmax_quotient(weights, wide, replace(rule, division="reciprocal", reciprocal_bits=25))
    assert (np.abs(short - exact) <= 1).all() and (short != exact).mean() < 1e-3


def test_quotients_of_special_sums():
    weights = np.array([0, 1, 0x3C00, FP16.nan])
    for rule in (INF2_SOFTMAX, replace(INF2_SOFTMAX, division="reciprocal")):
        assert np.array_equal(softmax_quotient(weights, np.int64(FP16.infinity), rule), [0, 0, 0, FP16.nan])
        assert (softmax_quotient(weights, np.int64(FP16.nan), rule) == FP16.nan).all()
        assert (softmax_quotient(np.array([0]), np.int64(0), rule) == FP16.nan).all()


@pytest.mark.parametrize("tokens", [0, (1 << 17) + 1])
def test_a_row_must_fit(tokens):
    with pytest.raises(ValueError, match="A row must have 1 to 131072 tokens"):
        softmax(np.zeros(tokens, np.int64))
