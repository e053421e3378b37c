"""Sums of products in compiled loops against the operators one by one, for numbers and for any bits."""

import os
import subprocess
import sys

import numpy as np
import pytest

from bankside.constraints.aim.channel import PRESETS as CHANNELS
from bankside.constraints.arith.geometry import ExpTable, SumWindow
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.formats import BF16, FP16, FP32
from bankside.constraints.inf2.gemv import PRESETS as GEMVS
from bankside.constraints.inf2.gemv import Gemv, GemvMode
from bankside.constraints.pam.ru import PRESETS as REDUCERS
from bankside.models.inf2.gemv import gemv
from bankside.models.numerics import (
    DotAccumulation,
    add,
    convert,
    from_float64,
    order_key,
    probability_sum,
    softmax_exp,
    to_float64,
)
from bankside.models.numerics.sums import (
    Factors,
    Lists,
    Sum,
    added,
    format_numbers,
    mixtures,
    scores,
    softmax_powers,
    value_bits,
)
from bankside.models.pam.merging import merge_lists
from bankside.models.pam.ru import Partial, reduce_partials

SPECIAL = [0.0, 0.02, 1.0]


def numbers(rng, fmt, shape, scale=1.0, special=0.0):
    """Normally distributed numbers; a share of them are any patterns: NaN, infinities, subnormals, zeros."""
    bits = from_float64(rng.normal(size=shape) * scale, fmt)
    return np.where(rng.random(shape) < special, rng.integers(0, 1 << fmt.width, shape), bits)


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("name", ["aim", "aim-fp16"])
def test_registers_of_a_channel(name, special):
    """Scores and outputs against the accumulators of :class:`DotAccumulation`, word by word from a zero."""
    config, rng = CHANNELS[name], np.random.default_rng(1)
    fmt, lanes = config.fmt, config.lanes
    q, k = (numbers(rng, fmt, (n, 3 * lanes), 1.0, special) for n in (5, 150))

    def register(a, b):
        state = DotAccumulation(len(a), config.window)
        state.minus[:] = False
        for at in range(0, a.shape[1], lanes):
            state.add(a[:, at : at + lanes], b[:, at : at + lanes])
        return state.result()

    counts = np.array([1, 127, 128, 129, 150])
    got = scores(Factors.of(q, fmt), Factors.of(k, fmt), counts, Sum(config.window, lanes))
    for n, count in enumerate(counts):
        assert np.array_equal(got[n, :count], register(np.broadcast_to(q[n], k[:count].shape), k[:count]))
    p, v = numbers(rng, fmt, 150, 0.3, special), numbers(rng, fmt, (150, 8), 1.0, special)
    mixed = mixtures(p, Factors.of(v, fmt), Lists.prefixes([150]), Sum(config.window, lanes))[0]
    padded = np.zeros((9, 160), np.int64)
    padded[:8, :150], padded[8, :150] = v.T, p
    assert np.array_equal(mixed, register(np.broadcast_to(padded[8], (8, 160)), padded[:8]))


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("name", list(GEMVS))
def test_tiles_of_the_gemv_engine(name, special):
    config, rng = GEMVS[name], np.random.default_rng(2)
    io = config.io
    q, k, v = (numbers(rng, io, shape, 1, special) for shape in (72, (70, 72), (70, 72)))
    how = Sum(config.window, 1, config.lanes, then="add")
    got = convert(scores(Factors.of(q[None], io), Factors.of(k, io), np.array([70]), how)[0], config.acc, io)
    assert np.array_equal(got, gemv(config, Gemv(GemvMode.QK, 70, 72), q, k)[:70])
    p = numbers(rng, io, 70, 0.1, special)
    out = convert(mixtures(p, Factors.of(v, io), Lists.prefixes([70]), how)[0], config.acc, io)
    assert np.array_equal(out, gemv(config, Gemv(GemvMode.SV, 70, 72), p, v)[:72])


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize(("fmt", "io"), [(FP32, FP16), (FP16, FP16), (BF16, BF16)], ids=str)
def test_exponentials_of_tiles(fmt, io, special):
    rng = np.random.default_rng(3)
    lists = Lists.of([np.arange(n) for n in (0, 1, 5, 8, 9, 30)])
    values = numbers(rng, fmt, lists.first[-1], 5, special)
    table, window = ExpTable(io), SumWindow(io, 24, 3, 8, FP32)
    largest, powers, total = softmax_powers(values, lists, 8, fmt, table, True, window)
    tile = 0
    for n in range(len(lists.sizes)):
        part = slice(lists.first[n], lists.first[n + 1])
        for low in range(0, max(lists.sizes[n], 1), 8):
            own, p = values[part][low : low + 8], powers[part][low : low + 8]
            nan = np.isnan(to_float64(own, fmt))
            top = fmt.negative_infinity if not len(own) else fmt.nan if nan.any() else own[order_key(own, fmt).argmax()]
            assert largest[tile] == top
            assert np.array_equal(p, softmax_exp(np.full_like(own, top), own, fmt, table))
            assert total[tile] == (probability_sum(p, window) if len(p) else 0)
            tile += 1
    assert tile == len(largest)


@pytest.mark.parametrize("name", ["pam-hbm", "pam-ddr", "pam-ssd"])
@pytest.mark.parametrize("special", SPECIAL)
def test_merges(name, special):
    """Lists of partial results of any scale against the reduction unit's model, with and without division."""
    config, rng = REDUCERS[name], np.random.default_rng(4)
    count, steps, dim = 60, 7, 8
    m = numbers(rng, config.score, (steps, count), 30, special)
    total = np.abs(numbers(rng, config.acc, (steps, count), 10, special))
    o = numbers(rng, config.io, (steps, count, dim), 10, special)
    scale = rng.integers(-100_000, 100_000, (steps, count))
    empty = rng.random((steps, count)) < 0.1
    m[empty], total[empty], o[empty] = config.score.negative_infinity, 0, 0
    flat = Partial(*(np.moveaxis(a, 0, 1).reshape(count * steps, *a.shape[2:]) for a in (m, scale, total, o)))
    for normalise in (False, True):
        want = reduce_partials(config, Partial(m, scale, total, o), normalise=normalise)
        got = merge_lists(config, flat, np.arange(count * steps), np.arange(count + 1) * steps, normalise=normalise)
        for part in ("m", "scale", "l", "o"):
            assert np.array_equal(getattr(got, part), getattr(want, part)), part


@pytest.mark.parametrize("fmt", [FP16, BF16, FP32], ids=str)
def test_sums_and_bits_of_numbers(fmt):
    rng, numbers_of = np.random.default_rng(5), format_numbers(fmt)
    a, b = rng.integers(0, 1 << fmt.width, (2, 3000))
    near = a ^ rng.integers(0, 4, 3000)
    for x, y in ((a, b), (a, near), (a, near ^ fmt.sign_mask)):
        got = [int(added(np.int64(i), np.int64(j), numbers_of)) for i, j in zip(x, y, strict=True)]
        assert got == add(x, y, fmt).tolist()
    values = to_float64(a, fmt)
    assert [int(value_bits(value, numbers_of)) for value in values] == from_float64(values, fmt).tolist()


def test_wide_formats_are_refused():
    with pytest.raises(ConfigError, match=r"^factors have formats of up to 16 bits, not fp32$"):
        Factors.of(np.zeros((1, 16), np.int64), FP32)


@pytest.mark.slow
def test_interpreted_functions_give_the_same_bits():
    """The same tests without Numba: the reference values do not come from these functions."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "not interpreted"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "BANKSIDE_INTERPRETED": "1"})
    assert done.returncode == 0, done.stdout[-2000:]
