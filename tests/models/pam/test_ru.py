"""The reduction unit's functional model: what it computes against binary64, its identities, and special values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.pam.pu import PRESETS as PU_PRESETS
from bankside.constraints.pam.pu import PamPuConfig
from bankside.constraints.pam.ru import PRESETS, PamRuConfig
from bankside.models.numerics import from_float64, is_nan, to_float64
from bankside.models.pam.pu import attention, local_attention
from bankside.models.pam.ru import Partial, identity, in_order, merged, reduce_partials

HBM = PRESETS["pam-hbm"]
CONFIGS = {
    **PRESETS,
    "fp16": PamRuConfig(acc_format="fp16", score_format="fp16"),
    "log-fp32": PamRuConfig(log_format="fp32"),
    "bf16": PamRuConfig(format="bf16", log_format="bf16"),
}
#: Largest error of a normalised element, in units in the last place of the largest one: two roundings of the output, the
#: reciprocal's, and the weights'; with accumulators of 16 bits a rounding for every merge.
ULPS = {
    "pam-hbm": 4,
    "pam-ddr": 4,
    "pam-ssd": 4,
    "pam-hbm-gqa4": 4,
    "pam-hbm-gqa8": 4,
    "log-fp32": 4,
    "bf16": 4,
    "fp16": 12,
}


def draw(config, count, dim, rng, *, maxima=None, batch=()):
    m = rng.normal(size=(count, *batch)) * 2 if maxima is None else np.broadcast_to(maxima, (count, *batch))
    return Partial(
        from_float64(m, config.score),
        np.zeros((count, *batch), np.int64),
        from_float64(rng.uniform(1, 32, (count, *batch)), config.acc),
        from_float64(rng.normal(size=(count, *batch, dim)) * 4, config.io),
    )


def one(result):
    """A result of a level that does not normalise, as the only partial result of the next one."""
    return Partial(*(np.asarray(x)[None] for x in (result.m, result.scale, result.l, result.o)))


def normalised(config, partials):
    return to_float64(reduce_partials(config, partials, normalise=True).o, config.io)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("count", [1, 2, 17, 64])
def test_error_against_binary64(name, count):
    config = CONFIGS[name]
    partials = draw(config, count, 32, np.random.default_rng(count), batch=(40,))
    reference = merged(config, partials)
    error = np.abs(normalised(config, partials) - reference)
    ulp = 2.0 ** (np.floor(np.log2(np.abs(reference).max(axis=-1, keepdims=True))) - config.io.fraction_bits)
    assert (error / ulp).max() < ULPS[name]


@pytest.mark.parametrize("name", CONFIGS)
def test_levels_agree(name):
    """A level that does not normalise loses no more than a rounding of O: merging in two levels is merging in one."""
    config = CONFIGS[name]
    partials = draw(config, 24, 32, np.random.default_rng(2), batch=(20,))
    halves = [reduce_partials(config, partials.at(slice(k, k + 8)), normalise=False) for k in (0, 8, 16)]
    second = Partial(*(np.stack([getattr(h, f) for h in halves]) for f in ("m", "scale", "l", "o")))
    reference = merged(config, partials)
    ulp = 2.0 ** (np.floor(np.log2(np.abs(reference).max(axis=-1, keepdims=True))) - config.io.fraction_bits)
    assert (np.abs(normalised(config, second) - reference) / ulp).max() < ULPS[name] + 2


@pytest.mark.parametrize("name", CONFIGS)
def test_log_sum(name):
    config = CONFIGS[name]
    partials = draw(config, 9, 16, np.random.default_rng(3), batch=(50,))
    m, total = to_float64(partials.m, config.score), to_float64(partials.l, config.acc)
    expected = np.log((np.exp(m) * total).sum(axis=0))
    got = to_float64(reduce_partials(config, partials, normalise=True).log_sum, config.acc)
    bound = 0.05 if config.acc.precision < 12 else 2e-2 if config.log_format == "bf16" else 1.5e-3
    assert np.abs(got - expected).max() < bound


def test_one_partial_result_is_kept():
    """Alone, merged with identities before and behind it: O, l and m are the same but for whole powers of two."""
    part = draw(HBM, 1, 32, np.random.default_rng(4))
    nothing, fields = identity(HBM, 32), ("m", "scale", "l", "o")
    for before, behind in ((0, 0), (1, 0), (0, 2), (2, 3)):
        group = Partial(
            *(
                np.stack([*[getattr(nothing, f)] * before, getattr(part, f)[0], *[getattr(nothing, f)] * behind])
                for f in fields
            )
        )
        result = reduce_partials(HBM, group, normalise=False)
        assert result.m == part.m[0]
        factor = 2.0 ** (int(result.scale) / (1 << HBM.table.fraction_bits))
        assert to_float64(result.l, HBM.acc) * factor == to_float64(part.l[0], HBM.acc)
        np.testing.assert_allclose(to_float64(result.o, HBM.io) * factor, to_float64(part.o[0], HBM.io), atol=2**-20)


@pytest.mark.parametrize("normalise", [False, True])
def test_nothing_but_identities(normalise):
    """No token anywhere: m = -infinity, O = 0; with 64 of them as with one."""
    for count in (1, 64):
        none = identity(HBM, 16)
        result = reduce_partials(
            HBM, Partial(*(np.stack([getattr(none, f)] * count) for f in ("m", "scale", "l", "o"))), normalise=normalise
        )
        assert result.m == HBM.score.negative_infinity and result.l == 0 and not result.o.any()
        if normalise:
            assert result.log_sum == HBM.acc.negative_infinity


@pytest.mark.parametrize("name", ["pam-hbm", "pam-ddr", "fp16"])
def test_extreme_maxima(name):
    """±65504 in any order: only the largest count. All equal: every one the same. One dominating: the others vanish."""
    config = CONFIGS[name]
    rng = np.random.default_rng(5)
    for maxima in ([-65504, 65504, -65504], [65504, 65504], [-65504, -65504], [-65504, 0, -65504, 65504, 65504]):
        partials = draw(config, len(maxima), 16, rng, maxima=np.array(maxima, float))
        top = np.array(maxima) == max(maxima)
        np.testing.assert_array_equal(merged(config, partials), merged(config, partials.at(top)))
        error = np.abs(normalised(config, partials) - merged(config, partials))
        assert error.max() < 4 * np.abs(merged(config, partials)).max() * 2.0**-config.io.fraction_bits
        assert to_float64(reduce_partials(config, partials, normalise=False).m, config.score) == max(maxima)


def test_no_overflow_where_the_sum_of_o_overflows():
    """8,000 tokens of equal score and V = 100: the sum of O is 800,000, beyond FP16; scaled, it is not."""
    partials = Partial(
        np.zeros(250, np.int64),
        np.zeros(250, np.int64),
        from_float64(np.full(250, 32.0), HBM.acc),
        from_float64(np.full((250, 16), 3200.0), HBM.io),
    )
    first = reduce_partials(HBM, partials, normalise=False)
    assert to_float64(first.o, HBM.io).max() < 256 and int(first.scale) == 12 << HBM.table.fraction_bits
    np.testing.assert_array_equal(normalised(HBM, partials), np.full(16, 100.0))
    np.testing.assert_array_equal(normalised(HBM, one(first)), np.full(16, 100.0))


def test_not_a_number():
    """NaN in m, l or O, and +infinity in m, reach what they belong to and nothing else."""
    rng = np.random.default_rng(6)
    for place, value in (("m", HBM.score.nan), ("m", HBM.score.infinity), ("l", HBM.acc.nan)):
        partials = draw(HBM, 5, 16, rng)
        getattr(partials, place)[2] = value
        result = reduce_partials(HBM, partials, normalise=True)
        assert is_nan(result.o, HBM.io).all()
    partials = draw(HBM, 5, 16, rng)
    partials.o[3, 7] = HBM.io.nan
    assert np.flatnonzero(is_nan(reduce_partials(HBM, partials, normalise=True).o, HBM.io)).tolist() == [7]


@settings(max_examples=40)
@given(st.lists(st.floats(-200, 200, width=16), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_any_order(maxima, random):
    """The order changes roundings only."""
    rng = np.random.default_rng(len(maxima))
    partials = draw(HBM, len(maxima), 16, rng, maxima=np.array(maxima))
    order = list(range(len(maxima)))
    random.shuffle(order)
    reference = merged(HBM, partials)
    bound = 4 * np.abs(reference).max() * 2.0**-HBM.io.fraction_bits
    for group in (partials, partials.at(order)):
        assert np.abs(normalised(HBM, group) - reference).max() <= bound


def test_with_the_processing_units_partial_results():
    """Attention over tokens in four banks, by the processing units' model and this one, against binary64."""
    rng = np.random.default_rng(7)
    pu: PamPuConfig = PU_PRESETS["pam-hbm"]
    tokens, dim = 300, 64
    q = from_float64(rng.normal(size=dim) * dim**-0.5, pu.io)
    k, v = (from_float64(rng.normal(size=(tokens, dim)), pu.io) for _ in range(2))
    sources = []
    for bank in range(4):
        part = local_attention(pu, q, k[bank::4], v[bank::4])
        sources.append(Partial(part.m, np.zeros_like(part.m), part.l, part.o))
    error = np.abs(normalised(HBM, in_order(HBM, sources)) - attention(pu, q, k, v))
    assert error.max() < 5e-4


def test_order_of_sources():
    config = PamRuConfig(sources=3)
    assert config.order([1, 3, 2]) == [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (1, 2)]
    for counts in ([1, 1], [1, 0, 1]):
        with pytest.raises(ConfigError, match="a step needs 3 numbers of partial results of at least 1"):
            config.order(counts)
    with pytest.raises(ConfigError, match=r"head dimension must be a multiple of 16 \(lanes\) in 16\.\.128, not 100"):
        config.check_head_dim(100)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lanes": 3}, "lanes must be a power of two, not 3"),
        ({"source_lanes": 32}, r"source_lanes must be at most lanes \(16\), not 32"),
        ({"max_head_dim": 100}, r"max_head_dim must be a multiple of lanes \(16\), not 100"),
        ({"max_head_dim": 256}, "scratch_bytes 512 holds 128 accumulators of fp32; max_head_dim 256 needs 1024 bytes"),
        ({"source_lanes": 2}, "source_lanes 2 makes beats of 32 bits; a row maximum with its scale and a sum need 58"),
        ({"exponential_units": 0}, "exponential_units"),
    ],
)
def test_bad_configurations(fields, message):
    with pytest.raises(ValidationError, match=message):
        PamRuConfig(**fields)
