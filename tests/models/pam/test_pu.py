"""The PU's model against attention in binary64, within an error bound that is derived, and the orders of its streams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.arith.geometry import AlignedWindow, SumWindow
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.pam.pu import PRESETS, PamPuConfig, Step
from bankside.models.numerics import decode, exact_products, from_float64, to_float64
from bankside.models.pam.pu import Partials, attention, group_partials, key_scores, local_attention, merge, score_window

HEAD_DIMS = [64, 80, 96, 128, 160, 192, 256]
CONFIGS = {
    f"{name}-{fmt}": PamPuConfig(**{**preset.model_dump(), "format": fmt})
    for name, preset in PRESETS.items()
    for fmt in ("fp16", "bf16")
}


def changed(config, **fields):
    return PamPuConfig(**{**config.model_dump(), **fields})


def data(config, rng, tokens, dim, spread=1.0):
    """Query, keys and values as in a language model; ``spread`` is the standard deviation of the scores."""
    return (
        from_float64(rng.normal(size=dim) * spread * dim**-0.5, config.io),
        *(from_float64(rng.normal(size=(tokens, dim)), config.io) for _ in range(2)),
    )


def output_and_bound(config, q, k, v):
    """Normalised output in binary64, and the most that the unit's may differ from it, for each element.

    For data without infinities, NaN or overflow. With S the sum of the magnitudes of a score's products:

    * a score is off by ``delta``: what its products and shifts lose (at most a unit of the window each), and one
      rounding of a partial sum of at most S for each query slice;
    * a probability is within one ulp of the exponential: a relative error ``2**(1 - precision)``, or the smallest
      subnormal. So exp(s - M) is off by ``error = exp(s - M) (exp(delta) (1 + 2**(1 - precision)) - 1)``, and that;
    * the sum loses less than one bit of its window for each term, then is rounded once for each tile;
    * an output element loses at most two units of its window for each token (term and shift), then is rounded once.

    The error of a quotient follows from those of numerator and denominator.
    """
    io, acc, score, tile = config.io, config.acc, config.score, config.tile_tokens
    x, y, z = (to_float64(a, io) for a in (q, k, v))
    tokens, dim = y.shape
    s, size = y @ x, np.abs(y) @ np.abs(x)
    slices, chunks = len(config.query_slices(dim)), config.chunks(dim)

    window = score_window(config)
    exponent = np.maximum(exact_products(q, k, io).exponent.max(axis=1), window.floor)
    unit = 2.0 ** (exponent + window.unit) + 2.0 ** (1 - window.magnitude_bits) * size
    delta = unit * (dim + chunks + 2 * slices) + slices * (
        1.01 * 2.0**-score.precision * size + 2.0**score.lsb_exponent
    )

    top = s.max()
    first = np.arange(0, tokens, tile)
    count = np.diff(np.append(first, tokens))
    scale = np.exp(np.maximum.reduceat(s + delta, first) - top)  # of what is relative to a tile's own maximum
    weight = np.exp(s - top)
    error = (
        weight * (np.exp(delta) * (1 + 2.0 ** (1 - io.precision)) - 1) + np.repeat(scale, count) * 2.0**io.lsb_exponent
    )
    reach = weight + error

    lost = scale * count * 2.0 ** -SumWindow(io, acc.precision, config.guard_bits, tile, acc).fraction_bits
    total, total_error = (
        weight.sum(),
        error.sum() + (lost + 2.0**-acc.precision * (np.add.reduceat(reach, first) + lost)).sum(),
    )

    window = AlignedWindow(io, acc.precision, config.guard_bits, tile, io)
    exponent = np.maximum(np.maximum.reduceat(decode(v, io).exponent, first, axis=0) + io.bias, window.floor)
    lost = (scale * 2 * count)[:, None] * 2.0 ** (exponent + window.unit)
    below = scale[:, None] * 2.0**io.lsb_exponent
    output = weight @ z / total
    output_error = error @ np.abs(z) + (
        lost + below + 2.0**-io.precision * (np.add.reduceat(reach[:, None] * np.abs(z), first, axis=0) + lost)
    ).sum(axis=0)
    assert total > total_error
    return output, (output_error + np.abs(output) * total_error) / (total - total_error)


def normalised(config, q, k, v):
    _, total, output = merge(config, local_attention(config, q, k, v))
    return output / total


# Accuracy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", HEAD_DIMS)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_within_the_error_bound_of_binary64(config, dim):
    rng = np.random.default_rng(dim)
    tile = config.tile_tokens
    for tokens in (1, 2, tile - 1, tile, tile + 1, 3 * tile + 5, 300):
        q, k, v = data(config, rng, tokens, dim, spread=rng.choice([0.3, 1.0, 3.0]))
        output, bound = output_and_bound(config, q, k, v)
        np.testing.assert_allclose(output, attention(config, q, k, v), rtol=0, atol=1e-12)
        error = np.abs(normalised(config, q, k, v) - output)
        assert (error <= bound).all()
        # The bound means something: six roundings where scores are precise, and never a thousand times what happens.
        if config.score_format == "fp32":
            assert bound.max() < 6 * 2.0**-config.io.precision * np.abs(to_float64(v, config.io)).max()
        assert tokens <= 2 or error.max() > bound.max() / 1000


@pytest.mark.parametrize("acc", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("score", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("fmt", ["fp16", "bf16"])
def test_within_the_error_bound_in_every_precision(fmt, score, acc):
    # With 8-bit accumulators a worst-case bound says something only with some guard bits below them.
    config = PamPuConfig(format=fmt, score_format=score, acc_format=acc, query_bytes=64, tile_tokens=13, guard_bits=6)
    rng = np.random.default_rng(30)
    for tokens in (1, 12, 13, 14, 100):
        q, k, v = data(config, rng, tokens, 96)
        output, bound = output_and_bound(config, q, k, v)
        assert (np.abs(normalised(config, q, k, v) - output) <= bound).all()


def test_pam_hbm_is_as_accurate_as_its_output_format():
    """Figures for typical data (unit-variance scores, 512 tokens): error of 1e-3 of the output's size in FP16."""
    rng = np.random.default_rng(31)
    for fmt, limit in (("fp16", 1e-3), ("bf16", 1e-2)):
        config = CONFIGS[f"pam-hbm-{fmt}"]
        q, k, v = data(config, rng, 512, 128)
        output = attention(config, q, k, v)
        error = normalised(config, q, k, v) - output
        assert np.sqrt(np.mean(error**2)) < limit * np.sqrt(np.mean(output**2))


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_tiling_does_not_matter(config):
    rng = np.random.default_rng(32)
    q, k, v = data(config, rng, 100, 128)
    results = []
    for tile in (1, 2, 7, 16, 32, 99, 100, 101):
        other = changed(config, tile_tokens=tile, score_storage="separate")
        partials = local_attention(other, q, k, v)
        assert len(partials.m) == len(partials.l) == len(partials.o) == -(-100 // tile)
        results.append((normalised(other, q, k, v), output_and_bound(other, q, k, v)[1]))
    for value, bound in results:
        for other_value, other_bound in results:
            assert (np.abs(value - other_value) <= bound + other_bound).all()
    # The maximum of all does not depend on the tiling, nor do scores in general.
    assert len({merge(c, local_attention(c, q, k, v))[0] for c in (config, changed(config, score_tiles=1))}) == 1


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_shifting_all_scores_does_not_matter(config):
    """One more coordinate with the same key everywhere adds the same to all scores: softmax ignores it."""
    rng = np.random.default_rng(33)
    q, k, v = data(config, rng, 70, 128)
    q[0] = from_float64(np.array(1.0), config.io)
    value, bounds = [], []
    for shift in (0.0, 4.0, -4.0, 24.0):
        k[:, 0] = from_float64(np.array(shift), config.io)
        value.append(normalised(config, q, k, v))
        bounds.append(output_and_bound(config, q, k, v)[1])
        assert merge(config, local_attention(config, q, k, v))[0] == pytest.approx(
            (to_float64(k, config.io) @ to_float64(q, config.io)).max(), abs=0.3
        )
    for other, bound in zip(value[1:], bounds[1:], strict=True):
        assert (np.abs(other - value[0]) <= bound + bounds[0]).all()


# Exact cases -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGS)
def test_one_token_gives_its_value(name):
    """Every bit pattern as V: O is exactly V (-0 becomes 0, a NaN the canonical one), l is 1, m the score."""
    config = CONFIGS[name]
    io = config.io
    rng = np.random.default_rng(34)
    bits = np.arange(1 << 16).reshape(-1, 256)
    expected = np.where(decode(bits, io).nan, io.nan, np.where(bits == io.sign_mask, 0, bits))
    q, k, _ = data(config, rng, 1, 256)
    for row in range(0, len(bits), 16):
        part = local_attention(config, q, k, bits[row : row + 1])
        np.testing.assert_array_equal(part.o, expected[row : row + 1])
    # All the others at once, as tiles of one token.
    each = changed(config, tile_tokens=1, score_storage="separate")
    part = local_attention(each, q, np.repeat(k, len(bits), axis=0), bits)
    np.testing.assert_array_equal(part.o, expected)
    assert (part.l == config.acc.bias << config.acc.fraction_bits).all()
    score = float(to_float64(k, io)[0] @ to_float64(q, io))
    assert to_float64(part.m[0], config.score) == pytest.approx(score, rel=2.0**-8)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_equal_scores_average(config):
    """Equal keys: every probability is 1, so l counts the tokens and O is their sum, rounded once."""
    rng = np.random.default_rng(35)
    q, k, _ = data(config, rng, 1, 64)
    tokens = config.tile_tokens
    v = from_float64(rng.integers(-8, 9, (tokens, 64)).astype(float), config.io)
    part = local_attention(config, q, np.repeat(k, tokens, axis=0), v)
    assert to_float64(part.l, config.acc).tolist() == [tokens]
    np.testing.assert_array_equal(part.o[0], from_float64(to_float64(v, config.io).sum(axis=0) + 0.0, config.io))


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_no_token(config):
    empty = np.empty((0, 96), int)
    part = local_attention(config, np.ones(96, int), empty, empty)
    assert part.m.tolist() == [config.score.negative_infinity] and part.l.tolist() == [0]
    assert part.o.shape == (1, 96) and not part.o.any()
    m, total, output = merge(config, part)
    assert m == -np.inf and total == 0 and output.tolist() == [0] * 96
    assert not attention(config, np.ones(96, int), empty, empty).any()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_masked_tokens_do_not_count(config):
    """A score of -infinity: bit for bit as if the token were not there (within a tile)."""
    rng = np.random.default_rng(36)
    tile = config.tile_tokens
    q, k, v = data(config, rng, tile, 128)
    q[5] = from_float64(np.array(0.25), config.io)
    masked = rng.random(tile) < 0.4
    masked[0] = True
    k[masked, 5] = config.io.negative_infinity
    whole, rest = local_attention(config, q, k, v), local_attention(config, q, k[~masked], v[~masked])
    assert (whole.m.tolist(), whole.l.tolist(), whole.o.tolist()) == (rest.m.tolist(), rest.l.tolist(), rest.o.tolist())
    # All of them masked: like no token at all, and without weight beside another tile.
    k[:, 5] = config.io.negative_infinity
    part = local_attention(config, q, k, v)
    assert part.m.tolist() == [config.score.negative_infinity] and not part.l.any() and not part.o.any()
    _, total, output = merge(
        config, Partials(*(np.concatenate([a, b]) for a, b in ((part.m, rest.m), (part.l, rest.l), (part.o, rest.o))))
    )
    assert total == to_float64(rest.l, config.acc)[0]
    np.testing.assert_array_equal(output, to_float64(rest.o, config.io)[0])


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_nan_and_infinity_stay_where_they_belong(config):
    rng = np.random.default_rng(37)
    io, tile = config.io, config.tile_tokens
    q, k, v = data(config, rng, 3 * tile, 64)

    def nan_of(part):
        return decode(part.m, config.score).nan, decode(part.l, config.acc).nan, decode(part.o, io).nan

    clean = local_attention(config, q, k, v)
    assert not any(x.any() for x in nan_of(clean))

    bad = k.copy()
    bad[tile + 1, 3] = io.nan  # a NaN in a key spoils its tile, and that only
    part = local_attention(config, q, bad, v)
    m, l, o = nan_of(part)  # noqa: E741
    assert m.tolist() == l.tolist() == [False, True, False] and (o == m[:, None]).all()
    for tile_number in (0, 2):
        np.testing.assert_array_equal(part.o[tile_number], clean.o[tile_number])

    bad = v.copy()
    bad[2 * tile, 7] = io.nan  # in a value: one element of one tile
    bad[tile, 9] = io.negative_infinity
    part = local_attention(config, q, k, bad)
    m, l, o = nan_of(part)  # noqa: E741
    assert not m.any() and not l.any()
    assert np.argwhere(o).tolist() == [[2, 7]] and part.o[1, 9] == io.negative_infinity
    np.testing.assert_array_equal(part.l, clean.l)

    bad = q.copy()
    bad[0] = io.nan  # in the query: everything
    assert all(x.all() for x in nan_of(local_attention(config, bad, k, v)))

    # A key of +infinity makes the score of its token +infinity, and infinity minus itself NaN.
    bad, positive = k.copy(), q.copy()
    bad[0, 3], positive[3] = io.infinity, from_float64(np.array(1.0), io)
    part = local_attention(config, positive, bad, v)
    assert part.m[0] == config.score.infinity and decode(part.l, config.acc).nan.tolist() == [True, False, False]


def test_bits_do_not_depend_on_what_is_beside():
    """Tiles are independent of each other: a step's partials are those of its tiles alone."""
    config = changed(CONFIGS["pam-hbm-bf16"], tile_tokens=5)
    q, k, v = data(config, np.random.default_rng(38), 23, 80)
    whole = local_attention(config, q, k, v)
    for number, first in enumerate(range(0, 23, 5)):
        part = local_attention(config, q, k[first : first + 5], v[first : first + 5])
        assert part.m[0] == whole.m[number] and part.l[0] == whole.l[number]
        np.testing.assert_array_equal(part.o[0], whole.o[number])


def test_query_slices_round_the_partial_score():
    """Between slices the score is rounded, except in tiles short enough to stay in accumulators."""
    config = PamPuConfig(
        lanes=2, query_bytes=4, score_format="bf16", tile_tokens=4, score_accumulators=2, buffer_bytes=8, max_head_dim=4
    )
    one, big = (int(from_float64(np.array(x), config.io)) for x in (1.0, 256.0))
    q, k = np.array([one] * 4), np.array([[big, one, one, 0]])
    v = np.zeros((1, 4), int)
    # 256 + 1 rounds to 256 in BF16, and 256 + 1 again; 258 is a number of BF16.
    for tokens, expected in ((1, 258.0), (2, 258.0), (3, 256.0)):
        part = local_attention(config, q, np.repeat(k, tokens, axis=0), np.repeat(v, tokens, axis=0))
        assert to_float64(part.m, config.score).tolist() == [expected]


# Merge -------------------------------------------------------------------------------------------------------------


def test_merge_of_partials():
    config = PamPuConfig()
    m = np.array([1.0, 3.0, -np.inf])
    part = Partials(
        from_float64(m, config.score),
        from_float64(np.array([2.0, 4.0, 0.0]), config.acc),
        from_float64(np.array([[1.0, -1.0], [0.5, 2.0], [0.0, 0.0]]), config.io),
    )
    top, total, output = merge(config, part)
    assert top == 3.0 and total == pytest.approx(2 * np.exp(-2) + 4)
    assert output == pytest.approx([np.exp(-2) + 0.5, 2 - np.exp(-2)])


# Orders of the streams ---------------------------------------------------------------------------------------------


@st.composite
def workloads(draw):
    lanes = draw(st.sampled_from([2, 4, 16]))
    chunks = draw(st.integers(1, 12))
    config = PamPuConfig(
        lanes=lanes,
        tile_tokens=draw(st.integers(1, 9)),
        score_tiles=draw(st.sampled_from([1, 2])),
        query_bytes=2 * lanes * draw(st.integers(1, 5)),
        buffer_bytes=1024,
        max_head_dim=lanes * 12,
        max_tokens=40,
    )
    count = draw(st.integers(1, 5))
    return config, [
        Step(
            draw(st.integers(0, 40)),
            lanes * draw(st.integers(1, chunks)),
            more=number < count - 1 and draw(st.booleans()),
        )
        for number in range(count)
    ]


@settings(max_examples=150)
@given(workloads())
def test_every_key_and_value_beat_exactly_once(workload):
    config, steps = workload
    beats = config.beats(steps)
    seen = sorted(zip(*(beats[name].tolist() for name in ("step", "value", "token", "chunk")), strict=True))
    assert seen == [
        (n, value, token, chunk)
        for n, step in enumerate(steps)
        for value in (0, 1)
        for token in range(step.tokens)
        for chunk in range(step.head_dim // config.lanes)
    ]
    assert (beats["tile"] == beats["token"] // config.tile_tokens).all()


@settings(max_examples=150)
@given(workloads())
def test_order_of_phases(workload):
    config, steps = workload
    phases = config.phases(steps)
    for n, step in enumerate(steps):
        sizes = config.tiles(step.tokens)
        assert sum(sizes) == step.tokens and all(size == config.tile_tokens for size in sizes[:-1])
        assert 0 < sizes[-1] <= config.tile_tokens or (step.tokens == 0 and sizes == [0])
        for value in (0, 1):
            assert [(tile, count) for number, tile, v, count in phases if (number, v) == (n, value)] == list(
                enumerate(sizes)
            )
    tiles = [(number, tile) for number, tile, value, _ in phases if not value]
    place = {phase[:3]: at for at, phase in enumerate(phases)}
    for at, (this, following) in enumerate(zip(tiles, [*tiles[1:], None], strict=True)):
        key, value = place[(*this, 0)], place[(*this, 1)]
        assert key < value
        if following is not None:
            # The K of the next tile is the only thing that may come in between, and does if it can.
            ahead = config.score_tiles == 2 and (following[0] == this[0] or steps[this[0]].more)
            assert (place[(*following, 0)] < value) == ahead
        open_tiles = sum(place[(*t, 0)] <= key < place[(*t, 1)] for t in tiles)
        assert open_tiles <= config.score_tiles, at
    # Beats come phase by phase.
    beats = config.beats(steps)
    runs = []
    for key in zip(*(beats[name].tolist() for name in ("step", "tile", "value")), strict=True):
        if not runs or runs[-1] != key:
            runs.append(key)
    assert runs == [phase[:3] for phase in phases if phase[3]]


@settings(max_examples=150)
@given(workloads())
def test_query_order_is_the_order_of_first_use(workload):
    """A query is taken in the order in which its chunks are first multiplied: once per step, or per tile if sliced."""
    config, steps = workload
    beats = config.beats(steps)
    keys = beats[beats["value"] == 0]
    sliced = np.array([len(config.query_slices(step.head_dim)) > 1 for step in steps])
    new = (keys["token"] % config.tile_tokens == 0) & (sliced[keys["step"]] | (keys["tile"] == 0))
    expected = np.stack([keys["step"][new], keys["chunk"][new], 0 * keys["chunk"][new]], axis=1)
    assert config.query_order(steps).tolist() == expected.tolist()
    for step in steps:
        slices = config.query_slices(step.head_dim)
        assert sum(slices) == step.head_dim // config.lanes and max(slices) <= config.query_beats


@settings(max_examples=150)
@given(workloads())
def test_addresses(workload):
    """No two beats of a region share a place; a tile lies in a region of its own, ascending in stream order, a full one
    without a gap."""
    config, steps = workload
    beats = config.beats(steps)
    for number, tile, value, count in config.phases(steps):
        dim = steps[number].head_dim
        chosen = beats[(beats["step"] == number) & (beats["tile"] == tile) & (beats["value"] == value)]
        place = config.address(chosen, dim) - tile * config.tile_tokens * config.chunks(dim)
        assert (np.diff(place) > 0).all() and (place >= 0).all()
        assert (place < config.tile_tokens * config.chunks(dim)).all()
        if count == config.tile_tokens:
            assert place.tolist() == list(range(count * config.chunks(dim)))


@settings(max_examples=50)
@given(st.integers(1, 5), st.integers(1, 40))
def test_address_of_a_token_does_not_depend_on_how_many_follow(slices, tokens):
    config = PamPuConfig(lanes=4, tile_tokens=7, query_bytes=8 * slices)
    more = config.beats([Step(tokens + 3, 48)])
    few = config.beats([Step(tokens, 48)])
    where = {tuple(b.item()): a for b, a in zip(more, config.address(more, 48).tolist(), strict=True)}
    assert all(where[tuple(b.item())] == a for b, a in zip(few, config.address(few, 48).tolist(), strict=True))


def test_the_order_of_a_small_step():
    """Two query slices, two tiles, in full: K slice by slice, token by token; V chunk by chunk, token by token."""
    config = PamPuConfig(lanes=2, query_bytes=8, buffer_bytes=16, tile_tokens=2, max_head_dim=6)
    beats = config.beats([Step(3, 6)])
    assert [(int(b["value"]), int(b["token"]), int(b["chunk"])) for b in beats] == [
        (0, 0, 0),
        (0, 0, 1),
        (0, 1, 0),
        (0, 1, 1),
        (0, 0, 2),
        (0, 1, 2),  # K of tile 0
        (0, 2, 0),
        (0, 2, 1),
        (0, 2, 2),  # K of tile 1
        (1, 0, 0),
        (1, 1, 0),
        (1, 0, 1),
        (1, 1, 1),
        (1, 0, 2),
        (1, 1, 2),  # V of tile 0
        (1, 2, 0),
        (1, 2, 1),
        (1, 2, 2),
    ]  # V of tile 1
    assert config.address(beats, 6).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 10, 0, 1, 2, 3, 4, 5, 6, 8, 10]
    assert config.query_order([Step(3, 6)]).tolist() == [[0, 0, 0], [0, 1, 0], [0, 2, 0]] * 2


def test_queries_of_a_step_come_chunk_by_chunk():
    """Two slices of two beats: K lies as for one query with slices of two beats, and Q is taken for every tile."""
    config = PamPuConfig(lanes=2, queries=3, query_bytes=24, buffer_bytes=32, tile_tokens=2, max_head_dim=8)
    step = Step(3, 8, queries=2)
    assert config.slice_beats == 2 and config.query_slices(8) == [2, 2]
    once = [[0, chunk, query] for chunk in range(4) for query in range(2)]
    assert config.query_order([step]).tolist() == once * 2
    single = PamPuConfig(lanes=2, query_bytes=8, buffer_bytes=16, tile_tokens=2, max_head_dim=8)
    beats = config.beats([step])
    assert (beats == single.beats([Step(3, 8)])).all()
    assert (config.address(beats, 8) == single.address(beats, 8)).all()


def test_a_group_takes_as_few_passes_as_possible():
    config = PRESETS["pam-hbm-gqa4"]
    for queries, passes in ((1, [1]), (4, [4]), (5, [3, 2]), (8, [4, 4]), (9, [3, 3, 3]), (10, [4, 3, 3])):
        steps = config.group_steps(100, 128, queries)
        assert [step.queries for step in steps] == passes
        assert [step.more for step in steps] == [True] * (len(passes) - 1) + [False]
    assert PRESETS["pam-hbm"].group_steps(7, 64, 2) == [Step(7, 64, True), Step(7, 64)]


def test_queries_of_a_group_are_passes_of_one_query():
    """The same bits as pam-hbm gives each query alone."""
    rng = np.random.default_rng(60)
    config = PRESETS["pam-hbm-gqa8"]
    q = np.stack([data(config, rng, 1, 160)[0] for _ in range(5)])
    _, k, v = data(config, rng, 34, 160)
    for one, part in zip(q, group_partials(config, q, k, v), strict=True):
        alone = local_attention(PRESETS["pam-hbm"], one, k, v)
        assert all((getattr(part, name) == getattr(alone, name)).all() for name in ("m", "l", "o"))


def test_steps_that_do_not_fit():
    config = PRESETS["pam-hbm"]
    for step, message in (
        (Step(-1, 128), r"tokens must be in 0\.\.1048576, not -1"),
        (Step((1 << 20) + 1, 128), "not 1048577"),
        (Step(1, 100), r"head dimension must be a multiple of 16 \(lanes\) in 16\.\.256, not 100"),
        (Step(1, 0), "not 0"),
        (Step(1, 272), "not 272"),
    ):
        with pytest.raises(ConfigError, match=message):
            config.phases([step])
    with pytest.raises(ConfigError, match="the last step must not have 'more': nothing would come before the V"):
        config.phases([Step(3, 64), Step(3, 64, more=True)])
    # One tile of scores: V follows K at once, and there is nothing to wait for.
    assert len(PRESETS["pam-ddr"].phases([Step(3, 64, more=True)])) == 2


@pytest.mark.parametrize("name", CONFIGS)
def test_scores_are_those_of_attention(name):
    """The maximum of each tile is the largest score, bit for bit; a short last tile keeps its scores in accumulators."""
    config, rng = CONFIGS[name], np.random.default_rng(60)
    for tokens in (1, 2, config.tile_tokens, 2 * config.tile_tokens + 1):
        q = from_float64(rng.normal(size=128) * 128**-0.5, config.io)
        k, v = (from_float64(rng.normal(size=(tokens, 128)), config.io) for _ in range(2))
        values = to_float64(key_scores(config, q, k), config.score)
        tiles = [values[n : n + config.tile_tokens].max() for n in range(0, tokens, config.tile_tokens)]
        assert to_float64(local_attention(config, q, k, v).m, config.score).tolist() == tiles
        exact = to_float64(k, config.io) @ to_float64(q, config.io)
        assert np.abs(values - exact).max() < 0.02
    assert key_scores(config, q, k[:0]).shape == (0,)
