"""PAM's local attention for many heads at once against the model of one head."""

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.pam.pu import PRESETS, PamPuConfig
from bankside.models.numerics import from_float64
from bankside.models.pam.batch import local_attention_batch
from bankside.models.pam.pu import local_attention


def numbers(rng, fmt, shape, scale=1.0, special=0.0):
    """Normally distributed numbers; a share of them are any patterns: NaN, infinities, subnormals, zeros."""
    bits = from_float64(rng.normal(size=shape) * scale, fmt)
    return np.where(rng.random(shape) < special, rng.integers(0, 1 << fmt.width, shape), bits)


@pytest.mark.parametrize("special", [0.0, 0.02, 1.0], ids=["normal", "some-special", "any-bits"])
@pytest.mark.parametrize(
    "config",
    [
        PRESETS["pam-hbm"],
        PRESETS["pam-ddr"],
        PamPuConfig(format="bf16", lanes=8, tile_tokens=8, score_tiles=1, query_bytes=64),
        PamPuConfig(acc_format="fp16", score_format="fp16"),
    ],
    ids=["pam-hbm", "pam-ddr", "bf16", "fp16-sums"],
)
def test_equals_the_model_of_one_head(config, special):
    rng = np.random.default_rng(7)
    for tokens in (0, 1, 2, 3, config.tile_tokens, config.tile_tokens + 1, 2 * config.tile_tokens + 5):
        dim = 4 * config.lanes
        q = numbers(rng, config.io, (2, 2, dim), dim**-0.5, special)
        k, v = (numbers(rng, config.io, (2, tokens, dim), 1.0, special) for _ in range(2))
        got = local_attention_batch(config, q, k, v)
        for head in range(2):
            for query in range(2):
                want = local_attention(config, q[head, query], k[head], v[head])
                for name in ("m", "l", "o"):
                    assert np.array_equal(getattr(got, name)[head, query], getattr(want, name)), (tokens, name)


def test_all_special_pairs():
    """Products of every pair of special values, as scores of one chunk."""
    config = PRESETS["pam-hbm"]
    io = config.io
    kinds = np.array(
        [0, io.sign_mask, io.infinity, io.negative_infinity, io.nan, 1, io.largest, io.bias << io.fraction_bits]
    )
    a, b = (x.reshape(-1) for x in np.meshgrid(kinds, kinds))
    q, k = (np.zeros((len(a), 1, config.lanes), np.int64) for _ in range(2))
    q[:, 0, 3], k[:, 0, 3] = a, b
    got = local_attention_batch(config, q, k, k)
    for n in range(len(a)):
        want = local_attention(config, q[n, 0], k[n], k[n])
        assert np.array_equal(got.m[n, 0], want.m) and np.array_equal(got.o[n, 0], want.o)


def test_wide_formats_are_refused():
    config = PRESETS["pam-hbm"]
    wide = from_float64(np.zeros((1, 1, 16)), config.io)

    class Wide(PamPuConfig):
        @property
        def io(self):
            return self.acc

    with pytest.raises(ConfigError, match="formats of up to 16 bits, not fp32"):
        local_attention_batch(Wide(), wide, wide, wide)
