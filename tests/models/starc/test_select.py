"""Model of ``starc-select`` against Algorithm 1 in plain Python, and against floating-point order."""

import re

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.formats import BF16, FP16, FP32
from bankside.constraints.starc.select import SelectWorkload, StarcSelectConfig
from bankside.models.numerics import to_float64
from bankside.models.starc.select import Selection, order_keys, select, taken


@pytest.mark.parametrize("fmt", [FP16, BF16, FP32])
def test_keys_order_as_numbers(fmt):
    """NaN has key 0, zeros are equal, all else as binary64 orders it."""
    rng = np.random.default_rng(1)
    bits = np.arange(1 << 16) if fmt.width == 16 else np.concatenate([rng.integers(0, 1 << 32, 4000), [0, 1 << 31]])
    keys, values = order_keys(bits, fmt), to_float64(bits, fmt)
    nan = np.isnan(values)
    assert (keys[nan] == 0).all() and (keys[~nan] > 0).all() and keys.max() < 1 << fmt.width
    order = np.argsort(values[~nan], kind="stable")
    steps = np.diff(values[~nan][order])
    sign = np.where(np.isnan(steps), 0, np.sign(steps))  # equal infinities
    assert (np.sign(np.diff(keys[~nan][order])) == sign).all()


def listing(scores, sizes, budget):
    """STARC's listing, token by token of the clusters in order of their scores."""
    out = [0] * len(scores)
    left = budget
    for score, number in sorted((-s, n) for n, s in enumerate(scores) if not np.isnan(s)):
        del score
        out[number] = min(int(sizes[number]), left)
        left -= out[number]
    return out


@pytest.mark.parametrize("seed", range(20))
def test_taken_is_the_listing(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 40))
    values = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0, 3.0], count)
    bits = values.astype(np.float16).view(np.uint16).astype(np.int64)
    sizes = rng.integers(0, 9, count)
    budget = int(rng.integers(0, 100))
    room, short = taken(order_keys(bits, FP16), sizes, budget)
    assert room.tolist() == listing(values, sizes, budget) and not short


def test_a_short_list_takes_equal_scores_and_says_so():
    keys = np.array([5, 9, 5, 4, 7, 5])
    room, short = taken(keys, np.full(6, 2), 100, kept=3)
    assert room.tolist() == [2, 2, 2, 0, 2, 2] and short
    assert not taken(keys, np.full(6, 2), 6, kept=3)[1]


def test_runs_join_neighbours_and_split_at_rows():
    config = StarcSelectConfig(clusters=4, kept=4, max_tokens=512, row_units=4)
    scores = np.array([4.0, -1.0, 3.0, 2.0]).astype(np.float16).view(np.uint16).astype(np.int64)
    out = select(config, Selection(scores, np.array([20, 30, 12, 8]), 37, 3, row=5))
    # Slots 0..19, 50..61, 62..66 and the recent 70..72: units 0..2 and 6..9, of which 8 is the row's end.
    assert out.tokens.tolist() == [20, 0, 12, 5]
    assert (out.first.tolist(), out.length.tolist()) == ([0, 6], [3, 4])
    assert out.commands.tolist() == [[5, 0, 3], [6, 2, 2], [7, 0, 2]]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("budget", 1 << 20, "budget must be in 0..16384, not 1048576"),
        ("recent", 1 << 20, "slots must be in 0..16384, not 1048"),
        ("row", 1 << 16, "row must be in 0.."),
    ],
)
def test_bad_selections(key, value, message):
    selection = Selection(np.zeros(2, np.int64), np.ones(2, np.int64), **{"budget": 4, key: value})
    with pytest.raises(ConfigError, match=re.escape(message)):
        select(StarcSelectConfig(), selection)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clusters": 300}, "clusters must be at most 256"),
        ({"budget": 1 << 15}, "budget must be at most max_tokens"),
        ({"budget": 0, "recent": 0}, "must have clusters and a budget"),
        ({"head_dim": 4000}, "head dimension must be"),
    ],
)
def test_bad_workloads(changes, message):
    with pytest.raises(ConfigError, match=message):
        SelectWorkload(**changes).check(StarcSelectConfig())
