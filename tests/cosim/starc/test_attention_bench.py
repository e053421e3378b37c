"""``starc-attention`` in Verilator: other configurations, errors that are found, clocks of updates of clusters."""

from __future__ import annotations

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.registry import UNITS
from bankside.constraints.pam.pu import PRESETS as PU_PRESETS
from bankside.constraints.starc.attention import UPDATE, StarcAttentionConfig
from bankside.cosim.pam import pu as pam_pu
from bankside.cosim.starc.attention import random_head, simulate, stress_episodes
from bankside.hardware.generate import describe, verilog
from bankside.hardware.selection import select
from bankside.models.numerics import from_float64, to_float64
from bankside.models.starc.attention import sparse_attention

TRIAL = UNITS["starc-attention"].trial.sets


def test_configurations_that_do_not_fit():
    """Both units have one format of scores, and one query has a selection."""
    for sets, text in (
        (["selection.format=fp16"], "selection.format fp16 must be processing.score_format, which is fp32"),
        (["processing.scores=false"], "processing.scores must be true"),
        (
            ["processing.queries=2", "processing.query_bytes=512", "processing.buffer_bytes=768"],
            "processing.queries must be 1, not 2: a selection is of one query",
        ),
    ):
        with pytest.raises(ConfigError, match=text):
            select("starc-attention", sets=sets)
    with pytest.raises(ConfigError, match="processing.scores must be false: the reduction unit takes no scores"):
        select("pam-bank-group", sets=["processing.scores=true"])


def test_model_attends_to_the_selected_tokens():
    """Tokens of the best clusters, the last one in part, then the recent ones; scores are the dot products."""
    config = StarcAttentionConfig()
    rng = np.random.default_rng(7)
    head = random_head(config, 12, 30, 5, 150, 32, rng)
    answer = sparse_attention(config, head)
    assert len(answer.tokens) == 35 and (answer.tokens[-5:] == np.arange(150, 155)).all()
    assert (np.diff(answer.tokens) > 0).all()
    cluster = np.repeat(np.arange(12), head.sizes)[answer.tokens[:-5]]
    best = to_float64(answer.selection.scores, config.processing.score)
    products = to_float64(head.centroids, config.processing.io) @ to_float64(head.q, config.processing.io)
    assert np.abs(best - products).max() < 1e-5
    whole = np.flatnonzero(np.bincount(cluster, minlength=12) == head.sizes)
    left = [n for n in range(12) if n not in cluster and head.sizes[n]]
    assert best[whole].min() >= max(best[left], default=-np.inf)


@pytest.mark.slow
@pytest.mark.xdist_group("starc-attention")
@pytest.mark.parametrize(
    "sets",
    [
        [],
        ["selection.method=radix"],
        ["selection.padded=true", "processing.score_tiles=1"],
        ["processing.query_bytes=16", "processing.buffer_bytes=32", "steps=1"],
    ],
)
def test_other_configurations(sets):
    selection = select("starc-attention", sets=[*TRIAL, *sets])
    config, text = selection.config, verilog(selection)
    for stalls, lazy in ((0.0, False), (0.35, False), (0.1, True)):
        outcome = simulate(
            config, text, stress_episodes(config, np.random.default_rng(5), 16), stalls=stalls, lazy=lazy
        )
        assert outcome.mismatches == 0, outcome.first_mismatch


#: Small units with the queries and multipliers of the presets of ``pam-pu``.
SHAPES = {
    "one query": [],
    "sliced": ["query_bytes=16", "buffer_bytes=32", "tile_tokens=16"],
    "four queries": ["queries=4", "query_bytes=128", "buffer_bytes=160"],
    "eight queries, two multipliers": ["queries=8", "multipliers_per_lane=2", "query_bytes=256", "buffer_bytes=320"],
}


def updated(selection, head_dim):
    """Clocks of an update of clusters in simulation, an epoch for each iteration, beyond the closed form and the way of
    each last score. Then the clocks that its first keys may wait for Q."""
    config, rng = selection.config, np.random.default_rng(3)
    keys = from_float64(rng.normal(size=(UPDATE.keys, head_dim)), config.io)
    steps = UPDATE.steps(config, head_dim)
    episodes = []
    for _ in range(UPDATE.iterations):
        means = [from_float64(rng.normal(size=(step.queries, head_dim)), config.io) for step in steps]
        episodes.append(pam_pu.Episode(steps, means, [keys] * len(steps), [keys] * len(steps)))
    outcome = pam_pu.simulate(config, verilog(selection), episodes)
    assert outcome.mismatches == 0, outcome.first_mismatch
    # The first K beat and the last result of an iteration; its last key then takes its way.
    last = describe(selection).latency_cycles["last_k_to_last_score"]
    ways = UPDATE.iterations * (last - config.burst_clocks(config.queries) + 1)
    more = outcome.cycles - ways - UPDATE.clocks(config, head_dim)
    # Q comes a beat a clock. With several multipliers, the first key takes it faster and waits.
    waits = UPDATE.iterations * UPDATE.clusters * config.chunks(head_dim) if config.multipliers_per_lane > 1 else 0
    return more, waits


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_clocks_of_an_update(name):
    """The closed form of the clocks of an update is the simulated number, without the way of each last score."""
    trial = UNITS["pam-pu"].trial.sets
    more, waits = updated(select("pam-pu", sets=[*trial, "scores=true", "output_skid_beats=12", *SHAPES[name]]), 16)
    assert 0 <= more <= waits


@pytest.mark.slow
@pytest.mark.parametrize("preset", PU_PRESETS)
def test_clocks_of_an_update_of_presets(preset):
    """The same for the presets, at a head dimension of 128."""
    more, waits = updated(select("pam-pu", preset=preset, sets=["scores=true"]), 128)
    assert 0 <= more <= waits
