"""Methods, k-means and placements of sparse attention."""

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.models.decode.backend import exact_attention
from bankside.models.numerics.sums import Lists
from bankside.models.program.selected import Placement, fetch, runs
from bankside.models.sparse import METHODS, cluster, make_method
from bankside.models.sparse.methods import Starc, cluster_room, largest


def numbers(*shape, seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tokens", [64, 100, 129, 300])
def test_a_budget_of_the_context_is_full_attention_bit_for_bit(method, tokens):
    q, k, v = numbers(3, 16), numbers(tokens, 16, seed=4), numbers(tokens, 16, seed=5)
    counts = np.array([tokens, tokens - 1, 1])
    lists = make_method(method, tokens).choose(q, k, counts, layer=3, hint=q + 1)
    full = Lists.prefixes(counts)
    assert np.array_equal(lists.tokens, full.tokens) and np.array_equal(lists.first, full.first)
    assert np.array_equal(exact_attention(q, k, v, lists)[0], exact_attention(q, k, v, full)[0])


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("full", "starc")])
@pytest.mark.parametrize("budget", [16, 50, 64])
def test_no_method_takes_more_than_its_budget_nor_later_tokens(method, budget):
    q, k = numbers(20, 16), numbers(200, 16, seed=4)
    counts = np.arange(181, 201)
    lists = make_method(method, budget).choose(q, k, counts, hint=q)
    assert lists.sizes.max() <= budget and (lists.tokens < counts[lists.owners]).all()
    assert lists.sizes.min() >= budget - 15


def listing(q, k, count, budget, interval, first):
    """Algorithm 1 as its listing has it, one query at a time, with clusters given."""
    method = Starc(budget, prefill=first, interval=interval)
    labels = method.clusters(k[:count]).labels
    score = [
        (-float(q @ k[: len(labels)][labels == one].mean(axis=0, dtype=np.float64)), one)
        for one in range(labels.max(initial=-1) + 1)
    ]
    chosen = []
    for _, one in sorted(score):
        room = budget - len(chosen)
        if room <= 0:
            break
        chosen += np.flatnonzero(labels == one)[:room].tolist()
    return sorted(chosen + list(range(len(labels), count)))


@pytest.mark.parametrize("count", [255, 256, 257, 383, 384, 500])
def test_starc_is_its_listing(count):
    q, k = numbers(1, 16), numbers(500, 16, seed=4)
    found = Starc(64, prefill=256).choose(q, k, np.array([count])).tokens
    assert found.tolist() == listing(q[0], k, count, 64, 128, 256)
    recent = count if count < 256 else (count - 256) % 128
    assert len(found) == recent + (64 if count >= 256 else 0)


def test_earlier_clusters_stay_and_an_interval_makes_four_more():
    k = numbers(512, 16)
    method = Starc(64, prefill=256)
    before, after = method.clusters(k[:256]), method.clusters(k[:400])
    assert len(before.sizes) == 8 and len(after.sizes) == 12
    assert np.array_equal(after.labels[:256], before.labels) and after.labels[256:].min() == 8
    assert np.allclose(after.means[8], k[256:384][after.labels[256:] == 8].mean(axis=0), atol=1e-6)


def test_rules_of_order_ties_nan_and_truncation():
    scores = np.array([[1, 3, 3, np.nan, -np.inf]])
    assert cluster_room(scores, np.array([4, 3, 5, 9, 2]), 10).tolist() == [[2, 3, 5, 0, 0]]
    assert cluster_room(scores, np.array([4, 3, 5, 9, 2]), 99).tolist() == [[4, 3, 5, 0, 2]]
    assert cluster_room(scores, np.array([4, 3, 5, 9, 2]), 4).tolist() == [[0, 3, 1, 0, 0]]
    assert largest(np.array([[2.0, np.nan, 2, 2, 5]]), 3).tolist() == [[True, False, True, False, True]]


@pytest.mark.parametrize("seed", range(4))
def test_largest_scores_are_the_first_of_a_stable_sort(seed):
    """With ties, infinities, NaN, and a count of each row."""
    random = np.random.default_rng(seed)
    for size in (1, 2, 7, 19):
        scores = random.integers(-3, 4, size=(40, size)).astype(np.float32)
        for value in (np.nan, -np.inf, np.inf):
            scores[random.random(scores.shape) < 0.08] = value
        counts = random.integers(0, size + 3, size=40)
        order = np.argsort(np.where(np.isnan(scores), np.inf, -scores), axis=-1, kind="stable")
        rank = np.argsort(order, axis=-1)
        assert np.array_equal(largest(scores, counts), (rank < counts[:, None]) & ~np.isnan(scores))
    assert largest(np.zeros((3, 0)), 2).shape == (3, 0)


def test_recent_tokens_can_count_towards_the_budget():
    q, k = numbers(1, 16), numbers(500, 16, seed=4)
    for count, recent in ((384, 0), (400, 16), (500, 116)):
        inside, outside = (Starc(128, prefill=256, inside=one).choose(q, k, np.array([count])).tokens for one in (1, 0))
        assert len(inside) == 128 and len(outside) == 128 + recent and set(inside) <= set(outside)
        assert set(range(count - recent, count)) <= set(inside)


def test_grouped_queries_can_share_a_selection():
    q, k = numbers(2, 16), numbers(256, 16, seed=4)
    counts = np.array([256, 256])
    shared = Starc(64, prefill=256, pooled=True).choose(q, k, counts, group=2)
    single = Starc(64, prefill=256).choose(q.sum(axis=0, keepdims=True), k, counts[:1])
    assert np.array_equal(shared.tokens[:64], single.tokens) and np.array_equal(shared.tokens[64:], single.tokens)


def test_first_layers_can_attend_to_all_tokens():
    q, k, counts = numbers(1, 16), numbers(256, 16), np.array([256])
    method = make_method("sparq", 16, full_layers=2)
    assert [len(method.choose(q, k, counts, layer=layer).tokens) for layer in range(3)] == [256, 256, 16]


def test_kmeans_finds_directions_whatever_the_lengths():
    random = np.random.default_rng(1)
    centre = np.linalg.qr(random.standard_normal((32, 8)))[0].T
    true = random.integers(8, size=(4, 400))
    keys = (centre[true] + 0.05 * random.standard_normal((4, 400, 32))) * random.uniform(0.1, 30, (4, 400, 1))
    found = cluster(keys.astype(np.float32), 8)
    for head in range(4):
        pairs = np.unique(np.stack([true[head], found.labels[head]]), axis=1)
        assert pairs.shape[1] == 8 == found.counts[head]
    again = cluster(keys.astype(np.float32), 8)
    assert np.array_equal(found.labels, again.labels)


def test_heads_of_a_batch_are_clustered_alone_and_no_cluster_is_empty():
    keys = numbers(3, 200, 16)
    found = cluster(keys, 6)
    assert all(np.unique(found.labels[h]).tolist() == list(range(found.counts[h])) for h in range(3))
    same = np.ones((1, 50, 16), np.float32)
    assert cluster(same, 5).counts.tolist() == [1] and cluster(same, 5).inertia[0] < 1e-9
    assert cluster(same * 0, 5).counts.tolist() == [1]


def lloyd(points, centres, iterations):
    """Spherical k-means in loops, from given centres."""
    for _ in range(iterations):
        labels = np.array([max(range(len(centres)), key=lambda j: (float(p @ centres[j]), -j)) for p in points])
        for j in range(len(centres)):
            mine = points[labels == j]
            if len(mine):
                centres[j] = mine.sum(axis=0) / np.linalg.norm(mine.sum(axis=0))
    return sum(2 - 2 * float(p @ centres[j]) for p, j in zip(points, labels, strict=True))


def test_kmeans_is_as_good_as_the_best_of_plain_runs():
    keys = numbers(1, 120, 8)
    points = keys[0] / np.linalg.norm(keys[0], axis=1, keepdims=True)
    random = np.random.default_rng(2)
    plain = [lloyd(points, points[random.permutation(120)[:6]].copy(), 15) for _ in range(8)]
    ours = [float(cluster(keys, 6, seed=seed).inertia[0]) for seed in range(8)]
    assert min(ours) < 1.02 * min(plain) and np.mean(ours) <= 1.02 * np.mean(plain)


def test_kmeans_against_scikit_learn():
    """As good on average as its k-means++ with Lloyd's iterations on keys of length 1, as STARC's authors used it."""
    from sklearn.cluster import KMeans

    keys = numbers(2, 512, 32)
    for head in range(2):
        points = keys[head] / np.linalg.norm(keys[head], axis=1, keepdims=True)
        theirs = []
        for seed in range(5):
            found = KMeans(16, init="k-means++", n_init=1, max_iter=15, random_state=seed).fit(points)
            centres = found.cluster_centers_ / np.linalg.norm(found.cluster_centers_, axis=1, keepdims=True)
            theirs.append(float(np.square(points - centres[found.labels_]).sum()))
        ours = [float(cluster(keys, 16, seed=seed).inertia[head]) for seed in range(5)]
        assert abs(np.mean(ours) / np.mean(theirs) - 1) < 0.02


def test_clusters_that_stand_apart_are_scikit_learns():
    """Both find the same partition of directions, whatever they number it."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    random = np.random.default_rng(4)
    centre = np.linalg.qr(random.standard_normal((32, 12)))[0].T
    keys = (centre[random.integers(12, size=600)] + 0.03 * random.standard_normal((600, 32))).astype(np.float32)
    points = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    theirs = KMeans(12, init="k-means++", n_init=4, max_iter=15, random_state=1).fit(points)
    ours = min((cluster(keys[None], 12, seed=seed) for seed in range(4)), key=lambda found: found.inertia[0])
    assert adjusted_rand_score(theirs.labels_, ours.labels[0]) == 1
    assert ours.inertia[0] == pytest.approx(theirs.inertia_, rel=1e-2)


def test_placements_are_permutations_and_runs_are_whole_units():
    labels = np.array([1, 0, 1, 1, 0, 2, 2])
    order = Placement.clustered(labels, 9)
    assert order.slot.tolist() == [2, 0, 3, 4, 1, 5, 6, 7, 8]
    padded = Placement.clustered(labels, 9, pad=4)
    assert padded.slot.tolist() == [4, 0, 5, 6, 1, 8, 9, 12, 13] and padded.slots == 14
    starts, lengths = runs(np.array([0, 3, 17, 24, 40]), 8)
    assert starts.tolist() == [0, 2, 5] and lengths.tolist() == [1, 2, 1]
    found = fetch([Placement.in_order(600)], [np.array([0, 8, 599])], 8)
    assert (found.wanted, found.fetched, found.overfetch, found.rows) == (3, 24, 21, 2)


def test_page_wise_fetch_is_the_budget_and_random_masks_follow_the_closed_form():
    from math import comb

    random = np.random.default_rng(1)
    q, k = numbers(1, 16), numbers(4096, 16, seed=4)
    pages = make_method("quest", 1024).choose(q, k, np.array([4096])).tokens
    assert fetch([Placement.in_order(4096)], [pages], 8).fetched == 1024
    for tokens, share in ((3072, 0.96), (6144, 0.767)):
        expected = 1 - comb(tokens - 8, 1024) / comb(tokens, 1024)
        found = [
            fetch([Placement.in_order(tokens)], [random.permutation(tokens)[:1024]], 8).fetched / tokens
            for _ in range(40)
        ]
        assert abs(np.mean(found) / expected - 1) < 0.005 and abs(expected / share - 1) < 0.005


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: make_method("starc", 0), "must be at least 1 tokens, not 0"),
        (lambda: make_method("starc", 31), "at least one cluster of 32 tokens, not 31"),
        (
            lambda: make_method("starc", 64, interval=0),
            "interval between two clusterings must be at least 1 token, not 0",
        ),
        (lambda: make_method("stark", 64), "did you mean 'starc'"),
        (lambda: cluster(numbers(1, 4, 8), 5), "clusters must be 1 to the 4 tokens, not 5"),
        (
            lambda: make_method("infinigen", 64).choose(numbers(1, 8), numbers(9, 8), np.array([9]), layer=1),
            "needs the previous layer's attention input",
        ),
        (lambda: Placement.in_order(5).of(np.array([5])), "token 5 is outside the placement of 5 tokens"),
    ],
)
def test_bad_input_has_one_clear_line(call, message):
    with pytest.raises(ConfigError) as caught:
        call()
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_key_that_is_no_number_is_named(value):
    k = numbers(200, 16)
    k[150, 3] = value
    with pytest.raises(ConfigError, match="layer 2, head 1, token 150: the key has NaN or an infinity"):
        Starc(64, prefill=128, interval=64).choose(numbers(1, 16), k, np.array([200]), layer=2, head=1)
    with pytest.raises(ConfigError, match="layer 3, head 1, token 150: the key has NaN or an infinity"):
        Starc(64, prefill=128, interval=64).learn(np.stack([numbers(200, 16), k]), layer=3)


def test_synthetic_keys_have_clumps_and_their_prefix_does_not_depend_on_the_length():
    from bankside.models.sparse.source import Synthetic

    source = Synthetic(heads=2, head_dim=32)
    k = source.keys(2048)
    assert np.array_equal(source.keys(1000)[0], k[0, :1000]) and source.synthetic
    q, ahead = source.queries(2048)
    assert q.shape == ahead.shape == (2, 32)
    lists = [make_method("top", 512).choose(q[h : h + 1], k[h], np.array([2048])).tokens for h in range(2)]
    near = fetch([Placement.in_order(2048)] * 2, lists, 8).fetched
    assert near < 0.97 * 2048 * (1 - (3 / 4) ** 8)  # a random mask fetches more


def test_clustered_placement_fetches_less_than_order_of_positions():
    from bankside.models.sparse.source import Synthetic

    source = Synthetic(heads=1, head_dim=32)
    k, (q, _) = source.keys(1024)[0], source.queries(1024)
    method = make_method("starc", 256, prefill=1024)
    chosen = method.choose(q, k, np.array([1024])).tokens
    near, far = (fetch([one], [chosen], 8) for one in (method.placement(k, 1024), Placement.in_order(1024)))
    assert near.fetched < far.fetched and near.wanted == far.wanted == 256
    assert near.overfetch <= 8 * near.runs * 2
