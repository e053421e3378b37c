"""``pam-interface`` in Verilator between memories with their real timing: tokens go round all tiers and come back whole,
every byte once and every command in the model's order; the slower memory sets the pace; a broken unit is found out."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from bankside.constraints.core.registry import UNITS
from bankside.constraints.pam.interface import PamInterfaceConfig
from bankside.cosim.pam.interface import PATTERNS, migrate, pattern, random_data, random_tokens, simulate
from bankside.hardware.generate import verilog
from bankside.hardware.selection import Selection, select
from bankside.models.pam.interface import Image, Tokens, bundles, transfer
from bankside.models.pam.transfer import transfer_time
from bankside.shell.cli import main

#: Formats of the presets with fewer bank groups, which compile faster: one rank of a pseudo-channel, of a DIMM.
SIDES = {
    "hbm": {"format": "hbm", "groups": 2, "windows": 1},
    "ddr": {"format": "ddr", "groups": 16, "windows": 1},
    "ssd": {"format": "ssd"},
}
#: Enough choices for the eight banks of each side, and four bundles.
SMALL = {"reorder_depth": 8, "write_depth": 4, "buffer_tokens": 32, "reads_in_flight": 16}


@functools.cache
def unit(source, destination):
    config = PamInterfaceConfig.model_validate({"source": SIDES[source], "destination": SIDES[destination], **SMALL})
    return config, verilog(Selection(UNITS["pam-interface"], None, config))


@pytest.mark.slow
@pytest.mark.parametrize(
    "tiers, stalls, count",
    [
        pytest.param(("hbm", "ddr", "ssd"), 0.5, 20, id="down"),
        pytest.param(("hbm", "ddr", "ssd"), 0.0, 64, id="down-full-speed"),
        pytest.param(("hbm", "ssd", "ddr"), 0.5, 20, id="up"),
        pytest.param(("hbm", "ssd", "ddr"), 0.0, 64, id="up-full-speed"),
    ],
)
def test_migration_round_the_tiers(tiers, stalls, count):
    """HBM to DDR to SSD to HBM, or the other way round: what one stage wrote is what the next one reads."""
    stages = [unit(a, b) for a, b in zip(tiers, (*tiers[1:], tiers[0]), strict=True)]
    outcomes = migrate(stages, count, stalls=stalls, seed=3)
    for outcome in outcomes:
        assert outcome.mismatches == 0, outcome.first_mismatch
        assert outcome.vectors == count * 512 // outcome.config.destination.access_bytes
    # `migrate` itself compares the tokens in the last memory with those of the first.
    assert [o.config.destination.format for o in outcomes] == [*tiers[1:], tiers[0]]


def test_the_slower_memory_sets_the_pace():
    """HBM to DDR, from tokens by themselves to row conflicts: not much slower than the slower memory alone. Eight tokens at
    the same slot of a rank's chips take as long as one.

    What bounds ``random`` is the number of tokens under way: each takes the place of a bundle, and its eight rows of a DDR
    bank are opened one after the other, so that all banks are only busy with as many choices."""
    config, text = unit("hbm", "ddr")
    rng = np.random.default_rng(5)
    times = {}
    for name, least in (("random", 0.5), ("runs-8", 0.5), ("one-bank", 0.9)):
        tokens = random_tokens(config, name, 64, rng)
        outcome = simulate(config, text, tokens, random_data(64, config, rng))
        assert outcome.mismatches == 0, outcome.first_mismatch
        assert least < outcome.fraction < 1.2, (name, outcome.fraction)
        assert outcome.cpu_ns > outcome.time_ns
        told = transfer_time(config, tokens)  # the model without RTL
        assert told.time_ns == pytest.approx(outcome.time_ns, abs=0.01)
        assert (sum(told.read_openings.values()), sum(told.write_openings.values())) == (
            outcome.read_openings,
            outcome.write_openings,
        )
        times[name] = outcome.destination_own_ns
    assert times["runs-8"] < times["random"] / 4


@pytest.mark.slow
@pytest.mark.parametrize(("tiers", "count"), [(("hbm", "ddr"), 48), (("ddr", "hbm"), 48), (("ssd", "hbm"), 12)])
def test_random_power_up_and_resets(tiers, count):
    """Random registers and memories, and resets in the middle of the work: the same in every clock."""
    config, text = unit(*tiers)
    rng = np.random.default_rng(6)
    for stalls in (0.0, 0.4):
        tokens = random_tokens(config, "runs-8", count, rng)
        outcome = simulate(
            config, text, tokens, random_data(count, config, rng), stalls=stalls, power_up="random", resets=3
        )
        assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.slow
def test_a_register_that_reset_does_not_clear_is_told():
    """Places of bundles that stay taken."""
    config, text = unit("hbm", "ddr")
    rng = np.random.default_rng(7)
    names = re.findall(r"^    held_\d+ <= (\S+) ;$", text, re.MULTILINE)
    assert len(names) == config.bundles
    for name in names:
        clears = f"    if (rst) begin\n      {name}  = 8'h00;\n    end\n"
        assert text.count(clears) == 1
        text = text.replace(clears, "")
    tokens = random_tokens(config, "runs-8", 48, rng)
    outcome = simulate(config, text, tokens, random_data(48, config, rng), power_up="random", resets=4)
    assert outcome.mismatches
    assert re.match(r"(from random registers|after reset \d at clock \d+): \w+ \d+: ", outcome.notes[0])


def test_bundles_are_neighbours_at_the_same_slot():
    config, _ = unit("hbm", "ddr")
    group, slot = np.array([0, 1, 7, 8, 9, 9, 2, 3]), np.array([5, 5, 5, 5, 5, 6, 6, 6])
    tokens = Tokens(np.zeros(8, int), np.arange(8), group, slot, np.arange(8))
    assert bundles(config, tokens).tolist() == [0, 0, 0, 1, 1, 2, 3, 3]
    for name, sizes in (("random", 1), ("runs-8", 8), ("spread", 8), ("one-bank", 8)):
        made = random_tokens(config, name, 64, np.random.default_rng(1))
        assert (np.bincount(bundles(config, made)) == sizes).all()


def test_patterns_are_what_they_say():
    config = select("pam-interface").config
    side, rng = config.source, np.random.default_rng(1)
    for name in PATTERNS:
        group, slot = pattern(side, 512, name, 300, rng)
        assert len(np.unique(group * (1 << 20) + slot)) == len(group) == 300
        accesses = side.layout.accesses(0, group, slot, 512)
        rows = len(np.unique(accesses[["group", "bank", "row"]]))
        if name == "one-bank":
            assert rows == 300 * 9 and len(np.unique(accesses["bank"])) == len(np.unique(group)) == 1
        elif name == "sequential":
            assert rows < 300


def test_another_map_is_told():
    """A unit whose K lie otherwise in DDR than the bench is told, in whole tiles: every address is written, and what is
    wrong are the bytes at those where the maps differ."""
    config, text = unit("hbm", "ddr")
    assert config.destination.key_run == 64
    other = config.model_copy(update={"destination": config.destination.model_copy(update={"key_run": 32})})
    rng = np.random.default_rng(2)
    slots = np.arange(config.destination.tile_tokens * config.destination.banks)
    tokens = Tokens(*pattern(config.source, 512, "sequential", len(slots), rng), np.zeros_like(slots), slots, slots)
    data = random_data(len(slots), config, rng)
    image = Image.of(config.source, 512, tokens.source_group, tokens.source_slot, data)
    right, wrong = (transfer(c, image, tokens) for c in (config, other))
    assert (right.address == wrong.address).all()
    outcome = simulate(other, text, tokens, data)
    assert outcome.mismatches == (right.block != wrong.block).any(axis=1).sum() > 1000
    assert re.fullmatch(r"address \d+ of 'ddr': got 0x\w{16}, expected 0x\w{16}", outcome.first_mismatch)


@pytest.mark.slow
def test_a_wrong_address_is_told():
    """A unit of another format that writes one column off: every write is wrong, nothing raises."""
    side = {
        "format": "tiny",
        "port_bytes": 8,
        "groups": 2,
        "lockstep": 1,
        "banks": 2,
        "rows": 64,
        "row_bytes": 64,
        "access_bytes": 16,
        "tile_tokens": 2,
        "key_run": 16,
        "value_run": 16,
        "split": True,
        "interleave": 1,
        "windows": 1,
        "read_bank_cycles": 4,
        "write_bank_cycles": 4,
        "read_recovery_cycles": 2,
        "write_recovery_cycles": 2,
        "activate_cycles": 1,
        "window_cycles": 0,
    }
    config = PamInterfaceConfig.model_validate(
        {
            "source": side,
            "destination": {**side, "tile_tokens": 4},
            "token_bytes": 64,
            "reorder_depth": 2,
            "write_depth": 2,
            "buffer_tokens": 2,
        }
    )
    text = verilog(Selection(UNITS["pam-interface"], None, config))
    wrong, count = re.subn(r"^(  assign write__payload\[9:8\] = )(.*);$", r"\1\2 ^ 2'h2;", text, flags=re.M)
    assert count == 1
    rng = np.random.default_rng(2)
    tokens, data = random_tokens(config, "runs-8", 16, rng), random_data(16, config, rng)
    outcome = simulate(config, wrong, tokens, data)
    assert outcome.mismatches == 64
    assert re.fullmatch(r"address \d+ of 'tiny': got 0x\w{32}, expected 0x\w{32}", outcome.first_mismatch)


def test_sim_and_its_record(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.chdir(tmp_path)
    config, _ = unit("hbm", "ddr")
    Path("small.json").write_text(json.dumps(config.model_dump(mode="json")))
    assert main(["sim", "pam-interface", "--config", "small.json", "--tokens", "8", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["mismatches"] == 0 and list(data["patterns"]) == list(PATTERNS) and len(data["runs"]) == 13
    record = json.loads((tmp_path / "records" / f"{data['record']}.json").read_text())
    assert record["results"]["patterns"] == data["patterns"]
    assert record["workload"] == {"tokens": 8, "seed": 1}
    assert data["rate_fraction"] == min(1.0, data["patterns"]["random"]["fraction"])


@pytest.mark.slow
def test_waveform(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.chdir(tmp_path)
    config, _ = unit("hbm", "ddr")
    Path("small.json").write_text(json.dumps(config.model_dump(mode="json")))
    assert main(["sim", "pam-interface", "--config", "small.json", "--tokens", "4", "--waves", "--json"]) == 0
    path = Path(json.loads(capsys.readouterr().out)["waves"])
    assert path.suffix in (".fst", ".vcd") and path.parent == tmp_path / "out" / "waves" and path.stat().st_size > 1000


@pytest.mark.parametrize(
    "options, told",
    [
        (
            ["--tokens", "0", "--set", "buffer_tokens=8", "--set", "reorder_depth=1", "--set", "write_depth=1"],
            "bankside: argument --tokens: must be at least 1, not 0",
        ),
        (["--set", "buffer_tokens=12"], "buffer_tokens must be a multiple of the 8 chips, not 12"),
        (["--set", "source=hmb"], "'hmb' is no known format (valid: hbm, ddr, ssd)"),
        (["--set", "source=ddr"], "chips must be 1 of the source or of the destination"),
        (["--set", "token_bytes=48"], "token_bytes must be a power of two, not 48"),
        (["--preset", "hbm-dd"], "'hbm-dd'"),
    ],
)
def test_bad_options_are_told_in_a_line(options, told, capsys, tmp_path):
    assert main(["sim", "pam-interface", "--records", str(tmp_path), *options]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("bankside: ")]
    assert len(lines) == 1 and told in lines[0]
