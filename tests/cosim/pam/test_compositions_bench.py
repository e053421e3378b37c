"""Compositions of PAM's units in Verilator, small: bit for bit the models of the parts; decode steps over three tiers."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import load_memory
from bankside.constraints.pam.tier_merge import parse_shares
from bankside.cosim.bench.request import Part
from bankside.cosim.pam import compositions as bench
from bankside.cosim.pam.tier_merge import KINDS, Case, Parts, corner_cases, placed, run_cases
from bankside.hardware.generate import latency, verilog
from bankside.hardware.selection import select
from bankside.models.memory import time_program
from bankside.models.pam.flash import page_arrivals, page_program
from bankside.shell.cli import main

#: Four lanes of BF16, two units to a group, tiles of four tokens: every part, and soon built.
FORMATS = ["format=bf16", "acc_format=bf16", "score_format=bf16"]
UNIT = ["lanes=4", "buffer_bytes=48", "query_bytes=32", "tile_tokens=4", "max_head_dim=16", "max_tokens=255", *FORMATS]
REDUCTION = [
    "lanes=4",
    "source_lanes=4",
    "sources=2",
    "max_head_dim=16",
    "scratch_bytes=32",
    "log_format=bf16",
    *FORMATS,
]
TINY = [f"processing.{key}" for key in UNIT] + [f"reduction.{key}" for key in REDUCTION]
MERGE = [f"unit.{key}" for key in REDUCTION if not key.startswith("sources")] + [
    f"{tier}_score_format=bf16" for tier in ("hbm", "ddr", "ssd")
]


def part(name, *sets, preset=None):
    selection = select(name, preset=preset, sets=sets)
    return Part(selection.config, verilog(selection), selection.unit.module, latency(selection))


@pytest.fixture(scope="module")
def controller():
    return part("pam-ssd-controller", *TINY, "groups=2", "fan_in=2")


@pytest.fixture(scope="module")
def tiers():
    """HBM and DDR are the same circuit at other clocks here."""
    hbm = part("pam-bank-group", *TINY)
    slower = {
        name: getattr(hbm.config, name).model_copy(update={"clock_mhz": 500.0}) for name in ("processing", "reduction")
    }
    return Parts(
        hbm,
        dataclasses.replace(hbm, config=hbm.config.model_copy(update=slower)),
        part("pam-ssd-controller", *TINY, "groups=1"),
        part("pam-tier-merge", *MERGE),
    )


@pytest.mark.slow
def test_controller_bit_for_bit(controller):
    """Two channels of two units, shared buffer and a unit that merges the groups: idle units, one token, stalls,
    random registers and resets. The slice is the same without the buffer."""
    config, rng = controller.config, np.random.default_rng(1)
    for options in (
        {"stalls": 0.35},
        {"stalls": 0.1, "lazy": True},
        {"stalls": 0.2, "power_up": "random", "resets": 3},
    ):
        outcome = bench.simulate(
            config, controller.verilog, bench.stress_episodes(config, rng, 12), top=controller.module, **options
        )
        assert outcome.mismatches == 0, outcome.first_mismatch
    even = bench.random_decode(config, bench.spread(config, 64), 16, rng)
    outcome = bench.simulate(config, controller.verilog, [bench.Episode([even])], top=controller.module)
    assert outcome.mismatches == 0, outcome.first_mismatch
    assert outcome.ideal_cycles(0) == 256  # beats of a channel
    assert outcome.cycles(0) < 4 * 256


#: The same units for two queries.
SEVERAL = [
    "processing.queries=2",
    "processing.query_bytes=64",
    "processing.buffer_bytes=80",
    "reduction.queries=2",
    "reduction.scratch_bytes=64",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, sets",
    [
        ("pam-bank-group", []),
        ("pam-hbm-slice", ["groups=3", "fan_in=2"]),
        ("pam-ssd-controller", ["groups=2", "fan_in=2"]),
    ],
)
def test_several_queries_bit_for_bit(name, sets):
    """Steps of one and of two queries, chained or not: idle units, stalls, a lazy output, random registers and resets."""
    unit, rng = part(name, *TINY, *SEVERAL, *sets), np.random.default_rng(4)
    for options in (
        {"stalls": 0.35},
        {"stalls": 0.1, "lazy": True},
        {"stalls": 0.2, "power_up": "random", "resets": 3},
    ):
        episodes = bench.stress_episodes(unit.config, rng, 12)
        assert {step.queries for episode in episodes for step in episode.steps} == {1, 2}
        outcome = bench.simulate(unit.config, unit.verilog, episodes, top=unit.module, **options)
        assert outcome.mismatches == 0, outcome.first_mismatch


def test_several_queries_are_steps_of_their_own():
    """The model of a slice gives each of two queries the bits of a step of one query."""
    sets = ["groups=3", "fan_in=2"]
    both, one = (select("pam-hbm-slice", sets=[*TINY, *more, *sets]).config for more in (SEVERAL, []))
    rng = np.random.default_rng(6)
    for kind, normalise in (("normal", True), ("bits", False), ("dominant", True), ("special", False)):
        step = bench.random_decode(both, [9, 0, 5, 4, 1, 2], 16, rng, kind=kind, normalise=normalise, queries=2)
        together = step.result(both)
        for query in range(2):
            alone = dataclasses.replace(step, q=step.q[query]).result(one)
            for name in ("m", "scale", "l", "o"):
                assert (getattr(together, name)[query] == getattr(alone, name)).all(), (kind, name)


@pytest.mark.slow
def test_decode_steps_over_three_tiers(tiers):
    """Empty tiers, one token, all kinds of scores, with data at the cycles of the memories, with and without stalls."""
    cases = [Case(50, (4, 2, 1)), *corner_cases(24)]
    for stalls in (0.0, 0.35):
        steps, outcomes = run_cases(tiers, cases, 16, seed=int(100 * stalls) + 1, stalls=stalls)
        for name, outcome in outcomes.items():
            assert outcome.mismatches == 0, (name, outcome.first_mismatch)
        for step in steps:
            assert [t.tokens for t in step.tiers.values()] == step.case.slots()
            assert step.max_abs_error < 0.1  # of values around 1, in BF16
            assert step.time_ns >= max(t.time_ns for t in step.tiers.values()) and 0 < step.reduction_share <= 1
            for tier in step.tiers.values():
                assert tier.cycles == tier.local_cycles + tier.reduction_cycles
                assert not tier.tokens or tier.local_ns > 0.9 * tier.memory_time_ns


def test_placement_of_a_step():
    """Every token is somewhere once; a tier's tokens go to its units in turn, in the SSD a page at a time."""
    case = Case(100, (2, 1, 1))
    tokens = placed(case, 4, 8, np.random.default_rng(1))
    assert sorted(np.concatenate([np.concatenate(tier) for tier in tokens])) == list(range(100))
    assert [[len(unit) for unit in tier] for tier in tokens] == [[13, 13, 12, 12], [7, 6, 6, 6], [8, 8, 8, 1]]
    assert Case(1, (1, 1, 1)).slots() == [1, 0, 0] and Case(5, (0, 0, 7)).slots() == [0, 0, 5]
    assert len(corner_cases()) == 9 + len(KINDS)


def test_pages_of_flash():
    """Five pages, the last with one token: by hand the die's array read, then bytes at the rate of the bus."""
    memory = load_memory("flash-nand")
    sizes = [16384] * 4 + [512]
    timing = time_program(page_program(memory, sizes), memory)
    arrival = page_arrivals(memory, sizes, 32, timing)
    assert len(arrival) == 4 * 512 + 16 and (np.diff(arrival) > 0).all()
    assert (np.diff(arrival)[:511] == 32).all()  # a byte a cycle within a page
    # READ, tWB and tR; FREE of the register; NEXT, tRCBSY, tRR and tRPRE; then its bytes
    start = (420 + 240 + 72000) + 1 + (60 + 7200 + 48 + 72)
    assert arrival[0] == start + 32 and arrival[511] == start + 16384
    one = page_program(memory, [512])
    assert page_arrivals(memory, [512], 32, time_program(one, memory))[-1] > 72000
    with pytest.raises(ConfigError, match="a page has 16384 bytes, not 16896"):
        page_program(memory, [16896])


@pytest.mark.parametrize(
    "words, message",
    [
        (["--shares", "1:2"], "shares must be HBM:DDR:SSD, three whole numbers such as 12:3:1, not '1:2'"),
        (["--shares", "0:0:0"], "shares must be three numbers of at least 0, not all 0, not 0:0:0"),
        (["--data", "odd"], "data: input should be 'normal', 'equal', 'dominant' or 'extreme', not 'odd'"),
        (["--tokens", "0"], "argument --tokens: must be at least 1, not 0"),
        (["--set", "unit.lnaes=4"], "did you mean 'lanes'"),
        (["--set", "unit.sources=4"], "unit.sources must be 3, one for each tier, not 4"),
        (["--set", "unit.lanes.x=4"], "'lanes' has no keys of its own"),
    ],
)
def test_bad_input(capsys, words, message):
    sets = [word for key in MERGE for word in ("--set", key)]
    assert main(["sim", "pam-tier-merge", *sets, *words]) == 2
    assert message in capsys.readouterr().err
    assert parse_shares("1:0:20") == (1, 0, 20)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, sets",
    [
        ("pam-bank-group", TINY),
        ("pam-hbm-slice", [*TINY, "groups=3", "fan_in=2"]),
        ("pam-ssd-controller", [*TINY, "groups=2", "fan_in=2"]),
    ],
)
def test_command_line(capsys, tmp_path, monkeypatch, name, sets):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.chdir(tmp_path)
    words = [word for key in sets for word in ("--set", key)]
    assert main(["sim", name, *words, "--head-dim", "16", "--tokens", "64", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["mismatches"] == 0 and len(data["runs"]) == 5 and data["memory_timing"]["time_ns"] > 0
    assert (tmp_path / "records" / f"{data['record']}.json").exists()


@pytest.mark.slow
def test_tree_command_line(capsys, tmp_path, monkeypatch):
    """Five inputs in pairs: a tree with inputs that pass a level."""
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    sets = [f"unit.{key}" for key in REDUCTION] + ["inputs=5", "fan_in=2"]
    words = [word for key in sets for word in ("--set", key)]
    assert main(["sim", "pam-reduction-tree", *words, "--head-dim", "16", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["mismatches"] == 0 and data["units"] == 4 and data["levels"] == 3


@pytest.mark.slow
def test_full_size_decode_steps():
    """The published units, 8,000 tokens over three tiers, and all corner cases."""
    parts = Parts(
        part("pam-bank-group"),
        part("pam-bank-group", preset="pam-ddr"),
        part("pam-ssd-controller", "groups=1", "reduction.sources=4"),
        part("pam-tier-merge"),
    )
    kinds = [Case(8000, (12, 3, 1), kind) for kind in KINDS]
    steps, outcomes = run_cases(parts, [*kinds, *corner_cases()], 128)
    for name, outcome in outcomes.items():
        assert outcome.mismatches == 0, (name, outcome.first_mismatch)
    assert max(step.max_abs_error for step in steps) < 0.01
    assert max(step.reduction_share for step in steps[: len(kinds)]) < 0.02
