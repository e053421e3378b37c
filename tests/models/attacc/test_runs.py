"""Attention layers of AttAcc that read runs of access units."""

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.models.attacc import AttentionLayer, LayerTimer
from bankside.models.program.selected import runs

TIMER = LayerTimer(quirks="attacc-simulator")


def layer(tokens, heads, selected=None, **more):
    return AttentionLayer(tokens, heads, quirks="attacc-simulator", selected=selected, **more)


def units(starts, lengths):
    return np.array(starts, np.int64), np.array(lengths, np.int64)


@pytest.mark.parametrize("tokens, heads, cycles", [(512, 1, 930), (2048, 1, 3810), (513, 7, None), (1024, 20, None)])
def test_one_run_of_all_units_is_the_dense_layer(tokens, heads, cycles):
    dense = TIMER.time(layer(tokens, heads))
    same = TIMER.time(layer(tokens, heads, [units([0], [-(-tokens // 16)])]))
    assert (same.cycles, same.commands) == (dense.cycles, dense.commands)
    assert cycles is None or dense.cycles == cycles


def test_heads_with_equal_runs_of_their_own_take_the_same_reads():
    dense = TIMER.time(layer(512, 20))
    own = TIMER.time(layer(512, 20, [units([0], [32])] * 20))
    assert own.commands["MAC_AB"] == pytest.approx(dense.commands["MAC_AB"], abs=20)
    assert own.cycles == pytest.approx(dense.cycles, rel=0.02)


def test_scattered_units_open_more_rows_and_neighbours_fewer():
    near, far = (
        TIMER.time(layer(4096, 1, [one])) for one in (units([0], [16]), units(np.arange(16) * 16, np.ones(16)))
    )
    assert near.commands["MAC_AB"] == far.commands["MAC_AB"] == 16 * 4
    assert near.row_hits > far.row_hits and near.cycles < far.cycles


def test_a_round_lasts_as_long_as_its_head_with_the_most_units_and_others_wait():
    short, long = units([0], [16]), units([0], [64])
    mixed = layer(1024, 2, [short, long])
    assert mixed.waiting == pytest.approx((64 - 16) / (2 * 64))
    assert TIMER.time(mixed).cycles == pytest.approx(TIMER.time(layer(1024, 1, [long])).cycles, rel=0.02)
    assert TIMER.time(mixed).commands["MAC_AB"] == 4 * (16 + 64)
    assert layer(1024, 2, [short, short]).waiting == 0 == layer(1024, 2).waiting


@pytest.mark.parametrize("wide", [False, True])
def test_channels_do_not_wait_for_a_full_queue_of_another(wide):
    """16 heads with scattered units of their own: as many reads as the longest queue holds would starve the others, if the
    requests of one head came after those of another."""
    random = np.random.default_rng(4)
    groups = 4096 // (8 if wide else 16)
    chosen = [units(np.sort(random.choice(groups, 100, replace=False)), np.ones(100, np.int64)) for _ in range(16)]
    alone = [TIMER.time(layer(4096, 1, [one], wide=wide)).cycles for one in chosen]
    together = TIMER.time(layer(4096, 16, chosen, wide=wide))
    assert max(alone) <= together.cycles <= 1.2 * max(alone)
    assert together.commands["MAC_AB"] == 16 * 100 * (2 if wide else 4)


def test_units_of_eight_tokens_read_half_as_much_for_a_lone_token():
    eight, sixteen = layer(1024, 1, [runs(np.array([700]), 8)], wide=True), layer(1024, 1, [runs(np.array([700]), 16)])
    assert (eight.unit_tokens, sixteen.unit_tokens) == (8, 16)
    assert TIMER.time(sixteen).commands["MAC_AB"] == 2 * TIMER.time(eight).commands["MAC_AB"] == 4
    assert TIMER.time(layer(1024, 1, wide=True)).commands["MAC_AB"] == TIMER.time(layer(1024, 1)).commands["MAC_AB"]


@pytest.mark.parametrize(
    "selected, message",
    [
        ([units([60], [5])], "head 0: the run of access units 60 to 64 is outside the placement of 64 units"),
        ([units([0], [0])], "head 0: runs must be ascending"),
        ([units([4, 2], [1, 1])], "head 0: runs must be ascending"),
        ([units([], [])], "head 0: needs at least one run"),
        ([units([0], [1])] * 3, "runs must be for all heads together or for each of 2, not for 3"),
    ],
)
def test_runs_outside_the_placement_are_named(selected, message):
    with pytest.raises(ConfigError) as caught:
        layer(1024, 2, selected)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_narrow_places_take_no_wide_vectors():
    with pytest.raises(ConfigError, match="need the placement bank"):
        AttentionLayer(1024, 1, "buffer", wide=True)
