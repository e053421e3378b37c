"""``inf2-gemv`` in Verilator: other configurations, and a bench that sees wrong results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bankside.constraints.core.registry import UNITS
from bankside.constraints.inf2.gemv import Gemv, GemvMode, GemvWorkload
from bankside.cosim.inf2 import gemv as inf2_gemv
from bankside.cosim.inf2.gemv import points, random_episode, simulate, stress_episodes
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.models.inf2.gemv import gemv

TRIAL = UNITS["inf2-gemv"].trial.sets


def test_points_are_those_that_the_unit_can_run():
    config = select("inf2-gemv").config
    assert len(points(config, 4)) == 70
    small = points(select("inf2-gemv", sets=["max_head_dim=80", "max_tokens=32"]).config, 1)
    assert {(c.head_dim, c.tokens) for [c] in small} == {(d, t) for d in (32, 64, 80) for t in (1, 31, 32)}
    GemvWorkload(tokens=1 << 17, head_dim=256).check(config)


@pytest.mark.slow
@pytest.mark.xdist_group("inf2-gemv")
def test_wrong_expectations_are_reported(monkeypatch):
    """A model whose output 5 of the second command differs."""
    selection = select("inf2-gemv", sets=TRIAL)
    config = selection.config
    episode = random_episode(config, [Gemv(GemvMode.QK, 6, 5), Gemv(GemvMode.SV, 6, 7)], np.random.default_rng(1))

    def wrong(config, command, vector, matrix):
        out = gemv(config, command, vector, matrix)
        out[5] ^= command.mode
        return out

    monkeypatch.setattr(inf2_gemv, "gemv", wrong)
    outcome = simulate(config, verilog(selection), [episode])
    assert outcome.mismatches == 1
    assert re.match(
        r"result 3 \(episode 0, command 1 \(SV, 6 tokens, head dimension 7\), beat 1\): got 0x", outcome.first_mismatch
    )


@pytest.mark.slow
@pytest.mark.xdist_group("inf2-gemv")
@pytest.mark.parametrize(
    "sets",
    [
        ["accumulator=fp32", "format=bf16"],
        ["format=bf16", "add_depth=1"],
        ["accumulator=fp32", "result_beats=1", "add_depth=5"],
        ["blocks=1", "lanes=2", "max_head_dim=1"],
        ["blocks=8", "lanes=8", "max_head_dim=40", "guard_bits=1"],
    ],
)
def test_other_configurations(sets):
    selection = select("inf2-gemv", sets=[*TRIAL, *sets])
    config, text = selection.config, verilog(selection)
    for stalls, lazy in ((0.0, False), (0.35, False), (0.1, True)):
        outcome = simulate(
            config, text, stress_episodes(config, np.random.default_rng(5), 24), stalls=stalls, lazy=lazy
        )
        assert outcome.mismatches == 0, outcome.first_mismatch
