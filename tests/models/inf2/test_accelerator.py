"""The functional model of ``inf2-accelerator``: attention, masks, and jobs that are refused."""

from dataclasses import replace

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.registry import UNITS
from bankside.constraints.inf2.accelerator import (
    PRESETS,
    AcceleratorWorkload,
    Inf2AcceleratorConfig,
    Job,
    JobError,
    MaskKind,
)
from bankside.hardware.selection import select
from bankside.models.inf2.accelerator import attention, reference
from bankside.models.numerics import from_float64, to_float64

CONFIG = PRESETS["inf2"]


def numbers(job, rng, config=CONFIG):
    io = config.gemv.io
    q = from_float64(rng.normal(size=job.head_dim) * job.head_dim**-0.5, io)
    return q, *(from_float64(rng.normal(size=(job.row, job.head_dim)), io) for _ in range(2))


@pytest.mark.parametrize("preset", list(PRESETS))
@pytest.mark.parametrize("kind", list(MaskKind))
def test_attention_is_near_binary64(preset, kind):
    config, rng = PRESETS[preset], np.random.default_rng(int(kind))
    job = Job(290, 64, 10, kind, 100 if kind else 0)
    q, k, v = numbers(job, rng, config)
    masked = config.masked(job, rng.integers(0, 2, 100))
    got = to_float64(attention(config, job, q, k, v, masked), config.gemv.io)
    assert np.abs(got - reference(config, q, k, v, masked)).max() < 4e-3
    assert masked.sum() > 30 or kind is MaskKind.NONE


def test_masked_tokens_do_not_count():
    """Other numbers in masked rows of K and V change nothing, since their weights are exactly 0."""
    rng = np.random.default_rng(2)
    job = Job(70, 32, mask_kind=MaskKind.FIRST, mask_length=40)
    q, k, v = numbers(job, rng)
    masked = CONFIG.masked(job)
    other = k.copy(), v.copy()
    for one, fresh in zip(other, numbers(job, rng)[1:], strict=True):
        one[:40] = fresh[:40]
    assert (attention(CONFIG, job, q, k, v, masked) == attention(CONFIG, job, q, *other, masked)).all()


def test_a_row_that_is_masked_wholly_has_equal_weights():
    rng = np.random.default_rng(3)
    job = Job(64, 32, mask_kind=MaskKind.LAST, mask_length=64)
    q, k, v = numbers(job, rng)
    got = to_float64(attention(CONFIG, job, q, k, v, CONFIG.masked(job)), CONFIG.gemv.io)
    assert np.abs(got - to_float64(v, CONFIG.gemv.io).mean(axis=0)).max() < 2e-3


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, JobError.NONE),
        *(({name: 32}, JobError.ADDRESS) for name in ("q", "k", "v", "output")),
        ({"new_k": 32}, JobError.NONE),
        ({"new_k": 32, "new_tokens": 1}, JobError.ADDRESS),
        ({"mask": 2}, JobError.NONE),
        ({"mask": 2, "mask_kind": MaskKind.BITS}, JobError.ADDRESS),
        ({"tokens": 0}, JobError.TOKENS),
        ({"tokens": 0, "new_tokens": 1}, JobError.NONE),
        ({"tokens": CONFIG.max_tokens}, JobError.NONE),
        ({"tokens": CONFIG.max_tokens, "new_tokens": 1}, JobError.TOKENS),
        ({"head_dim": 0}, JobError.HEAD_DIM),
        ({"head_dim": 257}, JobError.HEAD_DIM),
        ({"mask_length": 9}, JobError.NONE),
        ({"mask_kind": MaskKind.FIRST, "mask_length": 8}, JobError.NONE),
        *(({"mask_kind": kind, "mask_length": 9}, JobError.MASK) for kind in MaskKind if kind),
    ],
    ids=str,
)
def test_errors_of_registers(changes, error):
    assert CONFIG.error_of(replace(Job(8, 128), **changes)) is error


def test_rows_begin_words():
    rows = CONFIG.rows(np.arange(2 * 40).reshape(2, 40), fill=7)
    assert rows.shape == (2, 2, 32) and rows[1, 1, :8].tolist() == list(range(72, 80)) and (rows[:, 1, 8:] == 7).all()


def test_registers_do_not_overlap():
    used = [
        (one.offset + 4 * n, one.low + bit)
        for one in CONFIG.registers
        for n in range(-(-one.bits // 32))
        for bit in range(min(32, one.bits - 32 * n))
    ]
    assert len(used) == len(set(used)) and max(used)[0] < 1 << CONFIG.lite_bits


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"softmax.lanes": "16"}, "softmax.lanes 16 must be a multiple of gemv.lanes"),
        ({"softmax.max_tokens": "512"}, "softmax.max_tokens 512 must be gemv.max_tokens"),
        ({"softmax.rows": "streamed"}, "softmax must keep its rows on the chip"),
        ({"softmax.division": "none"}, "softmax must keep its rows on the chip"),
        ({"burst": "128"}, "a burst of words of 64 bytes exceeds 4096 bytes"),
        ({"read_words": "32"}, "read_words 32 must be at least burst"),
        ({"gemv.format": "bf16"}, "scores in the format of gemv"),
    ],
)
def test_configurations_that_do_not_work(changes, text):
    with pytest.raises(ConfigError, match=text):
        select("inf2-accelerator", sets=[f"{name}={value}" for name, value in changes.items()])


def test_workloads_that_do_not_work():
    config = select("inf2-accelerator", sets=UNITS["inf2-accelerator"].trial.sets).config
    assert isinstance(config, Inf2AcceleratorConfig)
    for given, text in (
        ({"tokens": 256}, "tokens must be in"),
        ({"tokens": 4, "new_tokens": 5}, "new_tokens must be in 0..4"),
        ({"tokens": 8, "head_dim": 25}, "head_dim must be in"),
    ):
        with pytest.raises(ConfigError, match=text):
            AcceleratorWorkload(**{"head_dim": 8, **given}).check(config)
