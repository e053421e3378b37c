"""Block table, mapping and Algorithm 2 against the paper's loops written out literally, and what must never change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.models.pam.placement import ABSENT, MAPPINGS, KvTable, Moves, TierShape, fill_lowest

TIERS = (TierShape("hbm", 2, 4, 6), TierShape("ddr", 2, 2, 20), TierShape("ssd", 1, 3, 60))


def literal_fill(load, free, count, step):
    load, free, out = list(load), list(free), []
    for _ in range(count):
        group = min((g for g in range(len(load)) if free[g]), key=lambda g: load[g])
        out.append(group)
        load[group] += step
        free[group] -= 1
    return out


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), min_size=1, max_size=12), st.integers(1, 20), st.data()
)
def test_lowest_load_first_is_the_loop(groups, step, data):
    """Section 6.1: a token goes to the group of the lowest activation count that has space."""
    load, free = (list(column) for column in zip(*groups, strict=True))
    count = data.draw(st.integers(0, sum(free)))
    assert fill_lowest(np.array(load), np.array(free), count, step).tolist() == literal_fill(load, free, count, step)


def test_no_space_is_an_error():
    with pytest.raises(ValueError, match="3 placements, space for 2"):
        fill_lowest(np.zeros(2), np.ones(2), 3)


def literal_algorithm_2(importance, tier, x, y, most):
    """Algorithm 2 of the paper, one swap at a time, with the guards of a swap that helps nothing and of empty tiers."""
    tier = tier.copy()
    counts = [int((tier == k).sum()) for k in range(3)]
    sums = [float(importance[tier == k].sum(dtype=np.float64)) for k in range(3)]
    pairs = []

    def score(k):
        return sums[k] / counts[k] if counts[k] else 0.0

    for fast, slow, low in (
        (1, 2, lambda: score(0) + score(1) < (x + y) * score(2)),
        (0, 1, lambda: score(0) * y < score(1) * x),
    ):
        while low() and most:
            there, here = np.flatnonzero(tier == fast), np.flatnonzero(tier == slow)
            if not len(there) or not len(here):
                break
            r, t = there[importance[there].argmin()], here[importance[here].argmax()]
            if importance[t] <= importance[r]:
                break
            tier[r], tier[t] = slow, fast
            for k, gained, lost in ((fast, importance[t], importance[r]), (slow, importance[r], importance[t])):
                sums[k] = sums[k] + float(gained)
                sums[k] = sums[k] - float(lost)
            pairs.append((int(r), int(t)))
            most -= 1
    return tier, pairs


def table_with(importance, tier):
    """A table whose tokens are in given tiers."""
    table = KvTable([TierShape(name, 1, 2, 200) for name in ("hbm", "ddr", "ssd")], run_tokens=1)
    table.add([len(tier)])
    table.importance[: len(tier)] = importance
    table.tier[: len(tier)] = tier
    for k in range(3):  # slots of their own in the tier that they are said to be in
        mine = np.flatnonzero(tier == k)
        table.group[mine], table.slot[mine] = np.arange(len(mine)) % 2, np.arange(len(mine)) // 2
    return table


values = st.one_of(st.integers(0, 4).map(float), st.floats(0, 1, width=32))


@settings(max_examples=120)
@given(
    st.lists(st.tuples(values, st.integers(0, 2)), min_size=1, max_size=60),
    st.floats(0.1, 50),
    st.floats(0.1, 50),
    st.integers(0, 70),
)
def test_algorithm_2_is_the_loop(tokens, x, y, most):
    """The same swaps in the same order as the step-by-step loop; counts stay; places are exchanged, none is used twice."""
    importance = np.array([value for value, _ in tokens], np.float32)
    tier = np.array([where for _, where in tokens], np.int8)
    expected, pairs = literal_algorithm_2(importance, tier, x, y, most)
    table = table_with(importance, tier)
    before = set(
        zip(
            table.tier[: len(tier)].tolist(),
            table.group[: len(tier)].tolist(),
            table.slot[: len(tier)].tolist(),
            strict=True,
        )
    )
    moves = table.schedule(x, y, most)
    found = [pair for move in moves.values() for pair in zip(move.down.tolist(), move.up.tolist(), strict=True)]
    assert found == pairs
    assert table.tier[: len(tier)].tolist() == expected.tolist()
    after = set(
        zip(
            table.tier[: len(tier)].tolist(),
            table.group[: len(tier)].tolist(),
            table.slot[: len(tier)].tolist(),
            strict=True,
        )
    )
    assert after == before


def test_ratios_must_be_positive():
    table = table_with(np.ones(3, np.float32), np.array([0, 1, 2], np.int8))
    for x, y in ((0, 1), (1, -2), (float("nan"), 1)):
        with pytest.raises(ConfigError, match="x and y must be greater than 0"):
            table.schedule(x, y, 10)


def check(table):
    """Every token has a place of its own within its tier; counts agree."""
    where = table.places()
    assert len(where) == table.tokens and (table.tier[where] != ABSENT).all()
    assert (table.tier[: table.size] != ABSENT).sum() == len(where)
    for k, shape in enumerate(table.tiers):
        mine = where[table.tier[where] == k]
        keys = table.group[mine].astype(int) * shape.slots + table.slot[mine]
        assert len(np.unique(keys)) == len(keys) == table.used()[k]
        assert not len(mine) or (table.slot[mine].max() < shape.slots and table.group[mine].max() < shape.all_groups)
        assert (table.free(k) >= 0).all()


@settings(max_examples=40)
@given(st.data(), st.integers(1, 8), st.sampled_from(MAPPINGS))
def test_tokens_keep_places_of_their_own(data, run, mapping):
    """Requests come, grow, move and leave in any order; no two tokens ever share a place, no place is lost."""
    table = KvTable(TIERS, window=3, run_tokens=run, mapping=mapping)
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    for _ in range(data.draw(st.integers(1, 8))):
        live = np.flatnonzero(table.room > 0)
        what = data.draw(st.sampled_from(["add", "append", "remove", "move", "record"]))
        if what == "add":
            contexts = data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=4))
            if sum(contexts) <= sum(shape.capacity for shape in TIERS) - table.tokens:
                table.add(contexts, np.array(contexts) + 3)
        elif what == "append":
            able = live[table.length[live] < table.room[live]]
            if len(able) <= sum(shape.capacity for shape in TIERS) - table.tokens:
                assert table.places(able).tolist() != table.append(able).tolist() or not len(able)
        elif what == "remove" and len(live):
            table.remove(live[: 1 + len(live) // 2])
        elif what == "move":
            table.importance[table.places()] = random.random(table.tokens, np.float32)
            table.schedule(20, 4, 1000)
        elif what == "record":
            table.record(table.places()[::3])
        check(table)


def test_fastest_tier_first_and_a_request_keeps_to_a_device():
    table = KvTable(TIERS, run_tokens=4)
    table.add([20, 20, 60])
    assert table.used() == [48, 52, 0]
    for request in range(2):
        places = table.places([request])
        in_hbm = places[table.tier[places] == 0]
        assert len(np.unique(table.group[in_hbm] // 4)) == 1  # 4 groups a device


def test_decoded_tokens_fill_a_run():
    """A request's tokens lie in consecutive slots of one group, run by run, prompt or not; requests never share a run."""
    table = KvTable([TierShape("hbm", 1, 4, 40)], run_tokens=4)
    table.add([6, 3], [20, 20])
    for _ in range(7):
        table.append(np.array([0, 1]))
        check(table)
    for request, tokens in ((0, 13), (1, 10)):
        places = table.places([request])
        assert len(places) == tokens
        for begin in range(0, tokens, 4):
            run = places[begin : begin + 4]
            assert len(set(table.group[run].tolist())) == 1 and table.slot[run[0]] % 4 == 0
            assert (np.diff(table.slot[run]) == 1).all()


def test_kept_slots_are_given_up_where_they_are_needed():
    """Two requests keep three slots each; a third takes all of them, and the tier is full to the last token."""
    table = KvTable([TierShape("hbm", 1, 2, 8)], run_tokens=4)
    table.add([5, 5], [9, 9])
    assert table.used() == [10] and table.free(0).sum() == 0
    table.add([6])
    check(table)
    assert table.used() == [16]
    with pytest.raises(ConfigError, match="1 more than the last tier 'hbm' can take"):
        table.append(np.array([0]))


def test_moved_tokens_take_places_of_their_request():
    """Five of each request's tokens exchange tiers with five others: whichever are chosen, a request's come to its own
    places, in order."""
    shapes = [TierShape(name, 2, 2, 64) for name in ("hbm", "ddr", "ssd")]
    table = KvTable(shapes, run_tokens=4)
    table.add([64, 64, 64, 64, 64, 64])
    table.importance[: table.size] = np.random.default_rng(1).random(table.size)
    table.schedule(100, 50, 1000)
    owner, tier = table.owners(), table.tier[: table.size].copy()
    both = [r for r in range(6) if {0, 1} <= set(tier[table.places([r])].tolist())]
    down = np.concatenate([np.flatnonzero((owner == r) & (tier == 0))[:5] for r in both])
    up = np.concatenate([np.flatnonzero((owner == r) & (tier == 1))[:5] for r in both])
    assert len(both) == 6 and len(up) == len(down) == 30
    before = {
        r: sorted(
            zip(table.group[down[owner[down] == r]].tolist(), table.slot[down[owner[down] == r]].tolist(), strict=True)
        )
        for r in both
    }
    table.exchange(Moves(down, up), 0, 1)
    check(table)
    for r in both:
        mine = up[owner[up] == r]
        assert list(zip(table.group[mine].tolist(), table.slot[mine].tolist(), strict=True)) == before[r]


def test_room_left_for_new_tokens():
    table = KvTable(TIERS)
    table.add([60], [70], keep_free=8)
    assert table.used()[0] == 40
    where = table.append(np.array([0]))
    assert table.tier[where].tolist() == [0]


def test_new_token_goes_to_the_least_activated_group():
    """Claim pam-alloc, with the window of 10 steps of section 6.1: older activations no longer count."""
    table = KvTable([TierShape("hbm", 1, 3, 50)], run_tokens=1)
    table.add([30], [40])
    groups = [table.places()[table.group[table.places()] == g] for g in range(3)]
    for step in range(10):
        table.record(np.concatenate([groups[0], groups[1]]) if step else groups[2])
    assert table.group[table.append(np.array([0]))].tolist() == [2]
    # The new token counts as active in the nine steps before it came; the next step forgets the first one.
    assert table.load(0).tolist() == [90, 90, 10 + 10]
    table.record(groups[0][:0])
    assert table.load(0).tolist() == [90, 90, 0 + 9]


def test_too_many_tokens_say_what_is_missing():
    table = KvTable(TIERS)
    with pytest.raises(
        ConfigError,
        match=r"^400 KV tokens are needed, 308 fit \(hbm 48, ddr 80, ssd 180\): 92 more than "
        r"the last tier 'ssd' can take$",
    ):
        table.add([400])


def test_bytes_of_tables():
    """Claims pam-bg-track (< 50 KB for 1280 groups, 10 steps) and pam-sys-mgmt (< 4 GB) with all tiers of a node full:
    Llama-3-70B has 320 KiB a token, 640 GiB + 1280 GiB + 16 TiB hold 60 million."""
    table = KvTable([TierShape("hbm", 5, 256, 4)])
    assert table.tracking_bytes == 1280 * 10 * 4 == 50 << 10
    table.add([100])
    assert table.table_bytes == 1100
    most = (640 + 1280 + 16384) * (1 << 30) // (320 << 10)
    assert most * table.table_bytes // 100 < 4e9
