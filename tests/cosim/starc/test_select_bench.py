"""``starc-select`` in Verilator: other configurations, one score a clock, wrong expectations, and mutants."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bankside.constraints.core.registry import UNITS
from bankside.cosim.bench.campaign import streams
from bankside.cosim.bench.mutation import stream_campaign
from bankside.cosim.starc import select as starc_select
from bankside.cosim.starc.select import random_selection, simulate, stimulus, stress_episodes
from bankside.gen.starc.select import StarcSelect
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select as configured
from bankside.models.starc.select import Selection, select

TRIAL = UNITS["starc-select"].trial.sets


@pytest.mark.slow
@pytest.mark.xdist_group("starc-select")
@pytest.mark.parametrize("method", ["list", "radix"])
def test_a_score_a_clock(method):
    """No score waits, and a command without clusters takes the latency that the generator states."""
    selection = configured("starc-select", sets=[*TRIAL, f"method={method}"])
    config, rng = selection.config, np.random.default_rng(3)
    nothing = Selection(np.zeros(0, np.int64), np.zeros(0, np.int64), 5)
    outcome = simulate(config, verilog(selection), [[random_selection(config, 12, 40, 5, 150, rng)], [nothing]])
    log = outcome.run.epochs[0]
    assert log.last_of(["cluster"]) - log.first_of(["cluster"]) == 11 and not outcome.mismatches
    assert outcome.tail(1) == StarcSelect(config).latency["empty_program"]


@pytest.mark.slow
@pytest.mark.xdist_group("starc-select")
def test_wrong_expectations_are_reported(monkeypatch):
    """A model that takes one token less."""
    selection = configured("starc-select", sets=TRIAL)
    config, rng = selection.config, np.random.default_rng(1)
    one = random_selection(config, 10, 60, 3, 140, rng)
    monkeypatch.setattr(
        starc_select,
        "select",
        lambda config, given: select(
            config, Selection(given.scores, given.sizes, given.budget, given.recent, given.row ^ 1, given.mask)
        ),
    )
    outcome = simulate(config, verilog(selection), [[one]])
    assert outcome.mismatches
    assert re.match(r"program 0 \(episode 0, selection 0 \(10 clusters, budget 60\), beat 0\)", outcome.first_mismatch)


@pytest.mark.slow
@pytest.mark.xdist_group("starc-select")
@pytest.mark.parametrize(
    "sets",
    [
        ["padded=true", "ways=1", "output_words=8"],
        ["format=fp32", "kept=1", "virtual=false", "output_words=1"],
        ["format=bf16", "ways=16", "unit_tokens=1", "unit_columns=4"],
        ["clusters=1", "kept=1", "max_tokens=9"],
        ["method=radix", "format=fp32", "digit_bits=5", "ways=1", "padded=true"],
        ["method=radix", "digit_bits=1", "ways=4", "row_units=1"],
        ["method=radix", "digit_bits=6", "format=bf16", "clusters=70"],
    ],
)
def test_other_configurations(sets):
    selection = configured("starc-select", sets=[*TRIAL, *sets])
    config, text = selection.config, verilog(selection)
    for stalls, lazy in ((0.0, False), (0.35, False), (0.1, True)):
        outcome = simulate(
            config, text, stress_episodes(config, np.random.default_rng(5), 24), stalls=stalls, lazy=lazy
        )
        assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.slow
@pytest.mark.parametrize("method", ["list", "radix"])
def test_mutants_are_found(method):
    """Single bits of the netlist that are wrong change programs or their clocks."""
    selection = configured("starc-select", sets=[*TRIAL, f"method={method}"])
    config, rng = selection.config, np.random.default_rng(2)
    episodes = stress_episodes(config, rng, 60)
    played = stimulus(config, episodes, [[select(config, one) for one in episode] for episode in episodes])
    campaign = stream_campaign(
        verilog(selection),
        "starc_select",
        streams(config),
        played.items,
        played.targets,
        count=40,
        stalls={port.name: 0.2 for port in streams(config)},
    )
    assert campaign.score >= 0.85, "\n".join(map(str, [campaign, *campaign.of("undecided")]))
