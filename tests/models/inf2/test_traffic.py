"""Traffic of INF2's blocks: the paper's formulas, its eq. 3, delayed write-back, and where an X-cache has no use."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.models.inf2.traffic import Block, WriteBack
from bankside.models.llm import load_model

WIDTHS = {"opt-30b": 7168, "opt-66b": 9216, "opt-175b": 12288}

sizes = st.integers(1, 1 << 16)


@pytest.mark.parametrize("name", WIDTHS)
def test_widths_of_opt(name):
    assert Block.of(load_model(name)) == Block(WIDTHS[name], WIDTHS[name], WIDTHS[name])


@given(b=st.integers(1, 512), s=sizes, i=st.integers(1, 4096), hd=st.integers(1, 256).map(lambda n: 64 * n))
def test_formulas_of_the_paper(b, s, i, hd):
    block = Block(hd, hd, hd)
    assert block.kv_write_of_prompt(b, s) == 4 * s * b * hd
    assert block.kv_read(b, s + i) == 4 * (s + i - 1) * b * hd
    assert block.kv_write(b) == 4 * b * hd
    assert (block.near_storage(b).to_host, block.near_storage(b).to_drives) == (2 * b * hd, 6 * b * hd)
    assert block.x_read(b, s + i) == 2 * b * (s + i - 1) * hd and 2 * block.x_read(b, s + i) == block.kv_read(b, s + i)
    assert block.x_flops(b, s + i) == 4 * b * (s + i - 1) * hd**2
    # Eq. 3, and its general step
    assert Fraction(block.traffic_ratio(s + 1)).limit_denominator(2) == Fraction(s + 1, 2)
    assert block.traffic_ratio(s + i) == (s + i) / 2


def test_sizes_that_follow():
    """KV of 32 requests with 16 K and 32 K tokens, in TB: 0.72, 1.24, 2.47 and 1.44, 2.47, 4.95."""
    for tokens, expected in ((16384, (0.72, 1.24, 2.47)), (32768, (1.44, 2.47, 4.95))):
        for name, terabytes in zip(WIDTHS, expected, strict=True):
            model = load_model(name)
            total = model.layers * Block.of(model).kv_write_of_prompt(32, tokens)
            assert total == model.kv_bytes_per_token * 32 * tokens and round(total / 1e12, 2) == terabytes


@given(c=st.integers(2, 64), b=st.integers(1, 64), hd=st.integers(1, 100).map(lambda n: 128 * n))
def test_delayed_write_back_counts_every_byte(c, b, hd):
    """A count of entries, step by step, against the closed forms."""
    block, policy = Block(hd, hd, hd), WriteBack(c, 256)
    kept, down, up, written = 0, 0, 0, 0
    for number in range(c):
        kept += 1
        step = policy.step(block, b, number)
        assert step.to_drives == b * hd * 2 * (1 + 2 * kept) and step.to_host == 2 * b * hd
        down, up = down + step.to_drives, up + step.to_host
    written += 4 * kept * b * hd
    assert written == policy.spill(block, b)
    assert policy.mean_step(block, b).to_drives == pytest.approx(down / c, rel=1e-14)
    assert policy.mean_step(block, b).to_host == up / c
    assert policy.mean_bytes(block, b) == pytest.approx((2 * c + 10) * b * hd, rel=1e-14)


def test_two_steps_are_the_least_interval_of_256_bytes():
    block = Block(12288, 12288, 12288)
    assert WriteBack(2, 256).write_bytes == 512 and WriteBack(2, 256).buffered_entries == 4
    # 14 b h d with delayed write-back, 8 b h d without
    assert WriteBack(2, 256).mean_bytes(block, 32) == 14 * 32 * 12288
    assert block.near_storage(32).total == 8 * 32 * 12288
    # A head of 256 dimensions needs no more than one
    assert WriteBack(1, 512).mean_bytes(block, 1) == 12 * 12288


@pytest.mark.parametrize(
    "interval, entry, message",
    [
        (0, 256, "^the interval of delayed write-back must be at least 1 step, not 0$"),
        (-3, 256, "^the interval of delayed write-back must be at least 1 step, not -3$"),
        (
            1,
            256,
            "^delayed write-back: a write of 1 x 256 = 256 bytes is below the 512 of a direct write; the least interval "
            "is 2$",
        ),
        (3, 128, "the least interval is 4$"),
    ],
)
def test_intervals_that_are_refused(interval, entry, message):
    with pytest.raises(ConfigError, match=message):
        WriteBack(interval, entry)


@pytest.mark.parametrize("number", [-1, 2])
def test_steps_beyond_the_interval(number):
    with pytest.raises(ConfigError, match=f"^an interval has the steps 0 to 1, not {number}$"):
        WriteBack(2, 256).step(Block(128, 128, 128), 1, number)


def test_grouped_queries():
    """LLaMA-2-70B has 8 key/value heads for 64 heads: its keys and values are a quarter of its input."""
    model = load_model("llama-2-70b")
    block = Block.of(model)
    assert block == Block(8192, 8192, 1024)
    assert block.x_read(3, 101) == 4 * block.kv_read(3, 101)
    assert (
        block.near_storage(5).to_drives == 5 * 2 * (8192 + 2 * 1024) and block.near_storage(5).to_host == 5 * 2 * 8192
    )
    with pytest.raises(
        ConfigError,
        match=r"^llama-2-70b: no X-cache: an input has 16384 bytes a token, keys "
        r"and values have 4096; 2 x kv_dim \(2048\) is below hidden_size \(8192\)$",
    ):
        block.check_x_cache(model.name)
    for name in ("llama-2-7b", "llama-2-13b", *WIDTHS):
        Block.of(load_model(name)).check_x_cache(name)
    Block(2048, 2048, 1024).check_x_cache("as large as the input")


def test_many_contexts_at_once():
    contexts = np.array([10, 100])
    assert Block(256, 256, 256).kv_read(2, contexts).tolist() == [2 * 9 * 1024, 2 * 99 * 1024]
    assert Block(256, 256, 256).traffic_ratio(contexts).tolist() == [5, 50]
