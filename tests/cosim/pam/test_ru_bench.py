"""``pam-ru`` in Verilator: bit for bit the functional model's results, promised cycles, and a bench that sees errors."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.cosim.pam.ru import KINDS, Merge, random_merge, simulate, spread_counts, stress_merges
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.shell.cli import main

#: Four lanes, two sources, accumulators of 16 elements in FP16: every part of the unit, and soon built. Accumulators in
#: FP32 are in the long tests here, and bit for bit in ``tests/gen/pam/test_ru.py``.
TINY = [
    "lanes=4",
    "source_lanes=4",
    "sources=2",
    "max_head_dim=16",
    "scratch_bytes=64",
    "score_format=fp16",
    "acc_format=fp16",
    "exponential_units=2",
]


@pytest.fixture(scope="module")
def unit():
    selection = select("pam-ru", sets=TINY)
    return selection.config, verilog(selection)


@pytest.mark.xdist_group("ru")
def test_bit_for_bit_with_stalls(unit):
    """All kinds of data, both levels, uneven numbers of partial results, sources that come late, random stalls."""
    config, text = unit
    rng = np.random.default_rng(1)
    for options in ({"stalls": 0.35}, {"stalls": 0.1, "lazy": True}):
        outcome = simulate(config, text, stress_merges(config, rng, len(KINDS)), **options)
        assert outcome.mismatches == 0, outcome.first_mismatch
    every = [[random_merge(config, [1, 3], 16, rng, normalise=level, kind=kind)] for kind in KINDS for level in (0, 1)]
    outcome = simulate(config, text, every)
    assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.xdist_group("ru")
def test_random_power_up_and_resets(unit):
    """Random registers and memories, and resets in the middle of the work: the same results in the same cycles."""
    config, text = unit
    outcome = simulate(
        config,
        text,
        stress_merges(config, np.random.default_rng(3), len(KINDS)),
        stalls=0.2,
        power_up="random",
        resets=3,
    )
    assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.xdist_group("ru")
def test_a_beat_every_clock(unit):
    """Four beats of O to a partial result, as a head of 64 elements has with 16 lanes: no clock is lost in between."""
    config, text = unit
    rng = np.random.default_rng(2)
    numbers = (2, 12, 96)
    outcome = simulate(
        config, text, [[random_merge(config, spread_counts(config, n), 16, rng, kind="rising")] for n in numbers]
    )
    assert outcome.mismatches == 0, outcome.first_mismatch
    figures = [outcome.episode_cycles(n) for n in range(len(numbers))]
    assert [f["ideal_cycles"] for f in figures] == [4 * n for n in numbers]
    lost = [f["merge_cycles"] - f["ideal_cycles"] for f in figures]
    assert max(lost) <= 3  # the first m and l, and the clock in which the unit starts
    assert len({f["drain_cycles"] for f in figures}) <= 2


#: Up to three queries in a step.
SEVERAL = [*TINY, "queries=3", "scratch_bytes=192"]


@pytest.fixture(scope="module")
def several():
    selection = select("pam-ru", sets=SEVERAL)
    return selection.config, verilog(selection)


@pytest.mark.xdist_group("ru")
def test_steps_of_several_queries(several):
    """Steps of one to three queries in any order, all kinds of data, both levels: stalls, late sources, resets."""
    config, text = several
    rng = np.random.default_rng(7)
    for options in (
        {"stalls": 0.35},
        {"stalls": 0.1, "lazy": True},
        {"stalls": 0.2, "power_up": "random", "resets": 3},
    ):
        episodes = stress_merges(config, rng, len(KINDS))
        assert {step.queries for steps in episodes for step in steps} == {1, 2, 3}
        outcome = simulate(config, text, episodes, **options)
        assert outcome.mismatches == 0, outcome.first_mismatch


def test_several_queries_are_merged_as_in_steps_of_their_own():
    """The model of a step of three queries gives each of them the bits of a step of one query."""
    config, one = (select("pam-ru", sets=sets).config for sets in (SEVERAL, TINY))
    rng = np.random.default_rng(8)
    for kind in KINDS:
        for normalise in (False, True):
            step = random_merge(config, [2, 3], 16, rng, kind=kind, normalise=normalise, queries=3)
            together = step.result(config)
            for query in range(3):
                alone = Merge([source.at((slice(None), query)) for source in step.sources], normalise).result(one)
                for name in ("m", "scale", "l", "o", *(["log_sum"] if normalise else [])):
                    assert (getattr(together, name)[query] == getattr(alone, name)).all(), (kind, name)


@pytest.mark.xdist_group("ru")
def test_a_beat_every_clock_with_several_queries(several):
    """Four beats of O of each query: while a source's beats move, the weights of the next one are computed."""
    config, text = several
    rng = np.random.default_rng(9)
    counts = (2, 12, 48)
    outcome = simulate(
        config, text, [[random_merge(config, spread_counts(config, n), 16, rng, queries=3)] for n in counts]
    )
    assert outcome.mismatches == 0, outcome.first_mismatch
    figures = [outcome.episode_cycles(n) for n in range(len(counts))]
    assert [f["ideal_cycles"] for f in figures] == [12 * n for n in counts]
    lost = [f["merge_cycles"] - f["ideal_cycles"] for f in figures]
    assert max(lost) <= 12 and lost[0] == lost[-1]  # m and l of three queries, once


@pytest.mark.slow
@pytest.mark.xdist_group("ru")
def test_weights_of_another_query_are_reported(several):
    """A planted error: beats of O of query 1 after the first one have the weight of query 0."""
    config, text = several
    wrong, count = re.subn(r"= kept_1;", "= kept_0;", text, count=1)
    assert count
    rng = np.random.default_rng(3)
    outcome = simulate(config, wrong, [[random_merge(config, [3, 3], 8, rng, kind="spread", queries=3)]])
    assert outcome.mismatches and re.match(
        r"result \d+ \(episode 0, step 0 \(6 partial results, head dimension 8\), query 1, O chunk 1",
        outcome.first_mismatch,
    )


def test_more_queries_than_the_unit_takes(several):
    config, text = several
    with pytest.raises(ConfigError, match="queries of a step must be in 1..3, not 4"):
        simulate(config, text, [[random_merge(config, [1, 1], 8, np.random.default_rng(1), queries=4)]])
    with pytest.raises(ConfigError, match="max_head_dim 16 of 3 queries needs 96 bytes"):
        select("pam-ru", sets=[*SEVERAL, "scratch_bytes=64"])


@pytest.mark.essential
@pytest.mark.xdist_group("ru")
def test_steps_of_one_beat_follow_each_other():
    """One source, one partial result of one beat: a step is merged while the result of the last one is still multiplied."""
    selection = select("pam-ru", sets=[*TINY, "sources=1", "exponential_units=1", "lane_depth=2"])
    rng = np.random.default_rng(5)
    steps = [random_merge(selection.config, [1], 4, rng) for _ in range(8)]
    outcome = simulate(selection.config, verilog(selection), [steps])
    assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.slow
@pytest.mark.xdist_group("ru")
@pytest.mark.parametrize(
    "sets",
    [
        pytest.param(["acc_format=fp32", "sources=3", "score_format=fp32"], id="acc-fp32"),
        pytest.param(["format=bf16", "acc_format=bf16", "score_format=bf16", "log_format=bf16"], id="bf16"),
        pytest.param(
            ["lanes=8", "lane_depth=2", "sources=1", "exponential_units=1", "acc_format=fp32"],
            id="gather-deep-one-source",
        ),
        pytest.param(["lane_depth=0", "log_format=fp32"], id="shallow"),
        pytest.param(["lane_depth=3"], id="odd-depth"),
        pytest.param(["lane_depth=8"], id="deepest"),
        pytest.param(["lanes=8", "queries=2", "scratch_bytes=128"], id="gather-two-queries"),
        pytest.param(["queries=8", "scratch_bytes=512", "acc_format=fp32", "sources=1"], id="eight-queries-one-source"),
        pytest.param(
            ["queries=2", "scratch_bytes=128", "lane_depth=4", "staging_beats=2"], id="two-queries-deep-short-queue"
        ),
    ],
)
def test_other_formats_and_sizes(sets):
    selection = select("pam-ru", sets=[*TINY, *sets])
    rng = np.random.default_rng(4)
    episodes = stress_merges(selection.config, rng, 2 * len(KINDS))
    outcome = simulate(selection.config, verilog(selection), episodes, stalls=0.3)
    assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.slow
@pytest.mark.xdist_group("ru")
def test_planted_error_is_reported(unit):
    """Accumulators that are not moved when a larger maximum comes."""
    config, text = unit
    wrong, count = re.subn(r"= ! steps;", "= 1'h1;", text)
    assert count
    rng = np.random.default_rng(3)
    outcome = simulate(config, wrong, [[random_merge(config, [3, 3], 8, rng, kind="rising")]])
    assert outcome.mismatches and re.match(
        r"result \d+ \(episode 0, step 0 \(6 partial results, head dimension 8\), ", outcome.first_mismatch
    )


@pytest.mark.xdist_group("ru")
def test_command_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.chdir(tmp_path)
    words = [word for key in TINY for word in ("--set", key)]
    assert main(["sim", "pam-ru", *words, "--head-dim", "16", "--partials", "24", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["mismatches"] == 0 and data["ideal_cycles"] == 24 * 4 and data["partials"] == 24
    assert data["cycles"] >= data["merge_cycles"] >= data["ideal_cycles"]
    assert data["utilisation"] == pytest.approx(data["ideal_cycles"] / data["cycles"], abs=1e-6)
    assert len(data["runs"]) == 4 and (tmp_path / "records" / f"{data['record']}.json").exists()
    assert main(["sim", "pam-ru", *words, "--head-dim", "24"]) == 2
    assert "head dimension must be a multiple of 4 (lanes) in 4..16, not 24" in capsys.readouterr().err
