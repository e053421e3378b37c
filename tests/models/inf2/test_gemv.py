"""The functional model of ``inf2-gemv``: sums and roundings by hand and in fractions, order of rows, refused commands."""

from fractions import Fraction

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.inf2.gemv import Gemv, GemvMode, Inf2GemvConfig
from bankside.models.inf2.gemv import gemv, reference, tile_sums
from bankside.models.numerics import from_float64, to_float64

QK, SV = GemvMode


INF2 = Inf2GemvConfig()


def bits(values, config=INF2):
    return from_float64(np.asarray(values, float), config.io)


def rounded(value, fmt):
    """A fraction in a format: nearest, ties to even, found among the neighbours of its binary64."""
    if not value:
        return 0.0
    around = from_float64(np.array([float(value)]), fmt)[0] + np.arange(-1, 2)
    found = [Fraction(float(x)) for x in to_float64(around, fmt)]
    return float(min(zip(found, around, strict=True), key=lambda one: (abs(one[0] - value), one[1] & 1))[0])


@pytest.mark.parametrize("accumulator", ["same", "fp32"])
@pytest.mark.parametrize("fmt", ["fp16", "bf16"])
def test_each_tile_is_rounded_once_and_added_in_order(accumulator, fmt):
    """Integers, whose products keep all their bits in the window: the exact sum of each tile is rounded, then the sums are
    added one by one."""
    config = Inf2GemvConfig(lanes=8, accumulator=accumulator, format=fmt, guard_bits=16)
    rng = np.random.default_rng(1)
    q, k = rng.integers(-15, 16, 20).astype(float), rng.integers(-15, 16, (11, 20)).astype(float)
    out = to_float64(gemv(config, Gemv(QK, 11, 20), bits(q, config), bits(k, config)), config.io)
    assert len(out) == 16 and (out[11:] == 0).all()
    for token in range(11):
        total = Fraction(0)
        for first in range(0, 20, 8):
            part = slice(first, first + 8)
            exact = sum(Fraction(a) * Fraction(b) for a, b in zip(q[part], k[token, part], strict=True))
            total = Fraction(rounded(total + Fraction(rounded(exact, config.acc)), config.acc))
        assert out[token] == rounded(total, config.io)


def test_sums_in_the_format_of_the_elements_lose_what_fp32_keeps():
    """2048 + 1 + 1, each from a tile of its own: FP16 has no 2049, so it stays at 2048."""
    values = np.zeros((96, 1))
    values[[0, 32, 64]] = [[2048], [1], [1]]
    ones = bits(np.ones(96))
    for accumulator, want in (("same", 2048), ("fp32", 2050)):
        config = Inf2GemvConfig(accumulator=accumulator)
        out = to_float64(gemv(config, Gemv(SV, 96, 1), ones, bits(values)), config.io)
        assert out[0] == want and (out[1:] == 0).all()


@pytest.mark.parametrize(("accumulator", "least", "worst"), [("same", 0.05, 0.07), ("fp32", 0, 0.0006)])
def test_error_of_uniform_weights(accumulator, least, worst):
    """Uniform weights of 1/n on V = 1 give 1. FP16 sums of single elements would stop at a sixteenth for n = 30,000; sums
    of tiles lose 6 %."""
    config = Inf2GemvConfig(accumulator=accumulator)
    for tokens in (100, 30000):
        out = gemv(config, Gemv(SV, tokens, 4), bits(np.full(tokens, 1 / tokens)), bits(np.ones((tokens, 4))))
        weight = float(to_float64(bits([1 / tokens]), config.io)[0])
        error = abs(to_float64(out, config.io)[:4] / (weight * tokens) - 1).max()
        assert error < (worst if tokens > 100 else 0.003)
    assert error >= least


def test_special_numbers():
    config = Inf2GemvConfig(lanes=4, blocks=1)
    k = np.array([[1.0, np.inf], [np.inf, -np.inf], [1, np.nan], [65504, 65504], [0, 0]])
    out = to_float64(gemv(config, Gemv(QK, 5, 2), bits([1, 1]), bits(k)), config.io)
    assert out[0] == np.inf and np.isnan(out[1]) and np.isnan(out[2]) and out[3] == np.inf and out[4] == 0
    # A lane without an output adds products with 0: of an infinite element, NaN.
    out = to_float64(gemv(config, Gemv(QK, 1, 2), bits([np.inf, 1]), bits([[1, 1]])), config.io)
    assert out[0] == np.inf and np.isnan(out[1:]).all()


def test_scores_and_outputs_are_near_binary64():
    config, rng = Inf2GemvConfig(), np.random.default_rng(2)
    for command in (Gemv(QK, 70, 80), Gemv(SV, 70, 80)):
        vector, matrix = bits(rng.normal(size=command.terms)), bits(rng.normal(size=(70, 80)))
        out = to_float64(gemv(config, command, vector, matrix), config.io)[: command.outputs]
        assert np.abs(out - reference(config, command, vector, matrix)).max() < 0.05
    assert tile_sums(config, vector, matrix).shape == (3, 80)


@pytest.mark.parametrize(("blocks", "lanes"), [(1, 4), (4, 8), (8, 2)])
def test_every_element_goes_to_the_block_of_its_output_once(blocks, lanes):
    config = Inf2GemvConfig(blocks=blocks, lanes=lanes)
    commands = [Gemv(QK, 37, 13), Gemv(SV, 37, 13), Gemv(SV, 1, 1), Gemv(QK, 5, 70)]
    seen = [np.zeros((c.tokens, -(-c.head_dim // lanes)), int) for c in commands]
    tiles = [-(-c.outputs // lanes) for c in commands]
    for block in range(blocks):
        rows = config.block_rows(commands, block)
        assert (np.diff(rows["command"]) >= 0).all()
        for row in rows:
            command = commands[row["command"]]
            seen[row["command"]][row["token"], row["dim"] // lanes] += 1
            tile = (row["token"] if command.mode is QK else row["dim"]) // lanes
            assert (sum(tiles[: row["command"]]) + tile) % blocks == block
        taken = config.block_vectors(commands, block)
        assert set(taken[:, 0]) == set(rows["command"])
    assert all((one == 1).all() for one in seen)


def test_refused():
    config = Inf2GemvConfig()
    for command, text in (
        (Gemv(QK, 0, 8), "tokens must be in 1..131072, not 0"),
        (Gemv(SV, 8, 257), "head_dim must be in 1..256, not 257"),
        (Gemv(SV, 8, 0), "head_dim must be in 1..256, not 0"),
    ):
        with pytest.raises(ConfigError, match=text):
            config.check_command(command)
    with pytest.raises(ValueError, match=r"must have the shapes \(2, 3\) and \(3,\), not \(3, 2\) and \(3,\)"):
        gemv(config, Gemv(QK, 2, 3), np.zeros(3, int), np.zeros((3, 2), int))
    for name in ("blocks", "lanes"):
        with pytest.raises(ValueError, match=f"{name} must be a power of two, not 6"):
            Inf2GemvConfig(**{name: 6})
