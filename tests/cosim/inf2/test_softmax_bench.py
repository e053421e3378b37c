"""``inf2-softmax`` in Verilator: other configurations, full rate, and a bench that sees wrong results."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from bankside.constraints.core.registry import UNITS
from bankside.constraints.inf2.softmax import MASKS, SoftmaxWorkload
from bankside.cosim.inf2 import softmax as inf2_softmax
from bankside.cosim.inf2.softmax import lengths, random_mask, random_row, random_rows, simulate, stress_episodes
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.models.numerics.softmax import softmax_parts

TRIAL = UNITS["inf2-softmax"].trial.sets


def test_lengths_are_those_that_the_unit_can_take():
    config = select("inf2-softmax").config
    assert lengths(config) == [1, 31, 32, 33, 1024, 32768, 131072]
    assert lengths(select("inf2-softmax", preset="pam-tile").config) == [1, 31, 32, 33, 1024, 32768]
    SoftmaxWorkload(tokens=1 << 17).check(config)


def test_masks():
    rng = np.random.default_rng(1)
    masks = {kind: random_mask(40, rng, kind) for kind in MASKS}
    assert masks["none"].all() and not masks["all"].any() and 0 < masks["any"].sum() < 40
    assert masks["latest"].tolist() == [False] * 39 + [True]
    assert masks["right"][0] and masks["left"][-1]


@pytest.mark.slow
@pytest.mark.xdist_group("inf2-softmax")
def test_wrong_expectations_are_reported(monkeypatch):
    """A model whose weight 5 of rows of 9 tokens differs."""
    selection = select("inf2-softmax", sets=TRIAL)
    config, rng = selection.config, np.random.default_rng(1)
    episode = [random_row(config, tokens, rng) for tokens in (7, 9)]

    def wrong(scores, valid, rule):
        parts = softmax_parts(scores, valid, rule)
        parts.result[5] ^= len(scores) == 9
        return parts

    monkeypatch.setattr(inf2_softmax, "softmax_parts", wrong)
    outcome = simulate(config, verilog(selection), [episode])
    assert outcome.mismatches == 1
    assert re.match(r"result 3 \(episode 0, row 1 \(9 tokens\), beat 1\): got 0x", outcome.first_mismatch)


@pytest.mark.slow
@pytest.mark.xdist_group("inf2-softmax")
@pytest.mark.parametrize(
    "sets",
    [
        ["chains=2", "accumulator=fp32", "division=reciprocal", "rows=streamed"],
        ["sums=window", "format=bf16", "accumulator=fp32", "mask=infinity"],
        ["lanes=1", "groups=1", "division=none", "rows=streamed", "score=fp32"],
        ["lanes=16", "groups=1", "division=none", "sums=window", "fabric=xilinx"],
        ["lanes=8", "groups=8", "chains=4", "row_slots=1", "exp_depth=0", "add_depth=0", "fabric=xilinx"],
    ],
)
def test_other_configurations(sets):
    selection = select("inf2-softmax", sets=[*TRIAL, *sets])
    config, text = selection.config, verilog(selection)
    for stalls, lazy in ((0.0, False), (0.35, False), (0.1, True)):
        outcome = simulate(
            config, text, stress_episodes(config, np.random.default_rng(5), 24), stalls=stalls, lazy=lazy
        )
        assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.slow
@pytest.mark.xdist_group("inf2-softmax")
@pytest.mark.parametrize("tokens", [1, 4, 39, 256])
def test_a_row_costs_one_pass(tokens):
    """With places for all rows and beats in flight, a beat leaves in every clock from the first result on."""
    selection = select("inf2-softmax", sets=[*TRIAL, "max_tokens=256", "slack_beats=100", "row_slots=100"])
    config = selection.config
    rows = random_rows(config, tokens, 400 // tokens + 3, np.random.default_rng(2))
    point = simulate(config, verilog(selection), [rows]).point(0)
    assert point.steady == 1.0 and point.steady_cycles == point.ideal_cycles == len(rows) * config.rule.beats(tokens)


@pytest.mark.slow
@pytest.mark.xdist_group("inf2-softmax")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("16'hf0e2", "16'hf0e1")  # -1e4
    ],
)
def test_a_planted_error_is_found(old, new):
    selection = select("inf2-softmax", sets=TRIAL)
    text = verilog(selection)
    assert old in text
    rows = random_rows(selection.config, 33, 12, np.random.default_rng(3))
    low = [replace(row, scores=np.full(33, 0xF0E3)) for row in rows]  # below -1e4, where a masked score counts
    assert simulate(selection.config, text, [low]).mismatches == 0
    assert simulate(selection.config, text.replace(old, new), [low]).mismatches > 0
