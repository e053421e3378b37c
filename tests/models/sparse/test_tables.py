"""PAM's sources as methods, methods as PAM's sources, PAM's table as a placement: the same tokens either way."""

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.models.llm import load_model
from bankside.models.pam.chosen import Activated, Chosen, placement_in
from bankside.models.pam.placement import KvTable, TierShape
from bankside.models.pam.sparsity import DenseSource, ReplaySource, SyntheticSource, TraceStep
from bankside.models.program.selected import fetch, runs
from bankside.models.sparse import make_method
from bankside.models.sparse.source import Synthetic
from bankside.models.systems import load_system
from tests.models.systems.test_pam import Records

OPT = load_model("opt-175b")
FIRST, LAST = 200, 206


def trace(seed=3):
    random = np.random.default_rng(seed)
    return [
        [
            TraceStep(0, context, np.sort(random.permutation(context)[: context // 8]))
            for context in range(FIRST, LAST + 1)
        ]
    ]


def keys(layers=2):
    return [Synthetic(heads=2, head_dim=16, seed=seed) for seed in range(layers)]


def tokens_of(method, context, head_dim=16):
    k = np.zeros((context, head_dim), np.float32)
    return method.choose(k[-1:], k, np.array([context]), layer=1).tokens


def test_a_source_as_a_method_gives_the_tokens_of_its_steps():
    """Bit for bit those of a table with one request of the same room, in whatever order contexts are asked for."""
    for make in (DenseSource, lambda: SyntheticSource(seed=5), lambda: ReplaySource(trace())):
        table = KvTable([TierShape("all", 2, 8, 1 << 12)], run_tokens=16)
        requests, source = table.add([FIRST], [LAST]), make()
        source.added(table, requests)
        method = Activated(make, FIRST, LAST)
        steps = []
        for context in range(FIRST, LAST + 1):
            if context > FIRST:
                source.appended(table, table.append(requests))
            steps.append(source.step(table).active)
        for context in (203, 200, 206):
            assert np.array_equal(tokens_of(method, context), steps[context - FIRST])
    lists = method.choose(
        np.zeros((4, 16), np.float32), np.zeros((LAST, 16), np.float32), np.array([201, 202, 201, 202]), group=2
    )
    assert np.array_equal(lists.tokens[lists.first[0] : lists.first[1]], lists.tokens[lists.first[2] : lists.first[3]])
    with pytest.raises(ConfigError, match="^the source of activations has contexts 200 to 206, not 207$"):
        tokens_of(method, 207)
    with pytest.raises(ConfigError, match="must be at least 1 and ascend, not 5 to 4$"):
        Activated(DenseSource, 5, 4)


def replay():
    return ReplaySource(trace())


@pytest.mark.parametrize(
    "make, method, moved",
    [(DenseSource, make_method("full", 1), False), (replay, Activated(replay, FIRST, LAST), True)],
    ids=["dense", "replay"],
)
def test_pam_s_steps_are_the_same_through_a_method(make, method, moved):
    """Times, energies, moves and tokens of every tier, to the last digit."""
    system = load_system("pam")
    system.prepare(OPT, Records(), False)
    contexts, growth = np.full(2000, FIRST), LAST - FIRST
    direct = system.node(OPT, contexts, growth, make())
    through = system.node(OPT, contexts, growth, Chosen(method, keys()))
    steps = [direct.step() for _ in range(growth)]
    assert [repr(step) for step in steps] == [repr(through.step()) for _ in range(growth)]
    assert min(steps[-1].tokens) > 0 and (sum(sum(step.moves.values()) for step in steps) > 0) == moved
    assert np.array_equal(direct.table.tier, through.table.tier) and np.array_equal(
        direct.table.slot, through.table.slot
    )
    assert np.array_equal(direct.table.importance, through.table.importance)


def test_a_method_as_a_source_activates_what_any_head_takes():
    method, layers = make_method("sparq", 20), keys()
    table = KvTable([TierShape("all", 1, 8, 1 << 12)], run_tokens=16)
    table.add([150, 90, 150], [160, 90, 150])
    found = Chosen(method, layers).step(table)
    taken = np.zeros(150, int)
    for number, source in enumerate(layers):
        for head in range(2):
            q = source.queries(150)[0][head : head + 1]
            taken[method.choose(q, source.keys(150)[head], np.array([150]), layer=number).tokens] += 1
    first = found.active < 160
    assert np.array_equal(found.active[first], np.flatnonzero(taken))
    assert np.allclose(found.scores[first], taken[taken > 0] / taken[taken > 0].mean())
    last = found.active >= table.start[2]
    assert np.array_equal(found.active[last] - table.start[2], found.active[first])
    assert np.array_equal(found.scores[last], found.scores[first]) and np.all(np.diff(found.active) > 0)
    assert (found.active < table.start[1] + 90)[~last].all()
    with pytest.raises(ConfigError, match="the keys of at least one layer"):
        Chosen(method, [])


def test_a_method_that_looks_ahead_gets_what_it_needs():
    positions, scores = Chosen(make_method("infinigen", 20), keys()).positions(100)
    # The first layer attends to all tokens, so all are active; the tokens that the second layer takes count more.
    assert np.array_equal(positions, np.arange(100)) and scores.min() < scores.max()


def test_pam_s_table_is_a_placement():
    """Every token of a request has a slot of its own, in the group where the table has it."""
    table = KvTable([TierShape("fast", 2, 4, 32), TierShape("slow", 1, 8, 64)], run_tokens=8)
    table.add([300, 100])
    seen = []
    for request, length in enumerate((300, 100)):
        for tier, shape in enumerate(table.tiers):
            positions, order = placement_in(table, request, tier)
            assert len(order.slot) == len(positions) and order.slots == shape.capacity
            where = table.start[request] + positions
            assert np.array_equal(order.slot // shape.slots, table.group[where])
            assert np.array_equal(order.slot % shape.slots, table.slot[where])
            seen.append(len(positions))
            if len(positions):
                # A run of 8 tokens is a unit of 8 slots: reading the tokens of whole runs fetches nothing else.
                whole = np.arange(len(positions) // 8 * 8)
                got = fetch([order], [whole], 8)
                assert got.fetched == got.wanted == len(whole)
                assert runs(order.of(whole), 8)[1].sum() == len(whole) // 8
        assert sum(seen[-2:]) == length
    assert seen[0] > 0 and sum(seen[::2]) == 256
