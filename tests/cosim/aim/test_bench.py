"""``aim-channel`` and ``pim-hub`` in Verilator: bit for bit the functional models, cycles, errors that are seen."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from bankside.cosim.aim import channel as aim_channel
from bankside.cosim.aim import hub as pim_hub
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.shell.cli import main

#: Four banks, four lanes, a buffer of eight words: every part of the unit, and soon built.
TINY = ["banks=4", "lanes=4", "buffer_bytes=64", "max_beats=1024", "table_entries=16"]
TINY_HUB = ["channels=2", "lanes=4", "gpr_bytes=256", "max_elements=128"]


def channel(*more):
    selection = select("aim-channel", sets=[*TINY, *more])
    return selection.config, verilog(selection)


@pytest.mark.xdist_group("aim")
@pytest.mark.parametrize(
    "more",
    [
        pytest.param(("buffering=ping-pong", "acc_format=bf16", "depth=4"), id="narrow"),
        pytest.param(("buffering=ping-pong",), id="ping-pong", marks=pytest.mark.slow),
        pytest.param((), id="single", marks=pytest.mark.slow),
        pytest.param(("registers=8", "format=fp16", "activations=gelu,sigmoid"), id="fp16", marks=pytest.mark.slow),
        pytest.param(("registers=8", "buffering=ping-pong"), id="registers", marks=pytest.mark.slow),
    ],
)
def test_channel_bit_for_bit(more):
    """All commands with all kinds of data, without and with stalls, with outputs that wait to be asked, and from random
    registers and memories, with resets in the middle of the work; then a product of a matrix: a column access a clock but
    for what the buffers and the order of the commands cost."""
    config, text = channel(*more)
    rng = np.random.default_rng(1)
    for options in ({}, {"stalls": 0.35}, {"stalls": 0.1, "lazy": True}):
        outcome = aim_channel.simulate(config, text, aim_channel.stress(config, rng, 12), **options)
        assert outcome.mismatches == 0, outcome.first_mismatch
    outcome = aim_channel.simulate(
        config, text, aim_channel.stress(config, rng, 6), stalls=0.2, power_up="random", resets=3
    )
    assert outcome.mismatches == 0, outcome.first_mismatch
    weights, inputs = (aim_channel.numbers(config.fmt, shape, "normal", rng) for shape in ((4, 32), (32,)))
    steps = [aim_channel.gemv(config, np.tile(weights, (rounds, 1)), inputs) for rounds in (8, 16, 64)]
    outcome = aim_channel.simulate(config, text, steps)
    assert outcome.mismatches == 0, outcome.first_mismatch
    cycles = [outcome.cycles(n) for n in range(3)]
    # Nothing accumulates; the pattern repeats when all of 8 registers have been read.
    assert (cycles[2] - cycles[1]) * 8 == (cycles[1] - cycles[0]) * 48
    per_round = (cycles[2] - cycles[1]) / 48
    assert per_round >= 8 and (config.sets == 1 or per_round <= 8 + config.depth + 8)


@pytest.mark.slow
@pytest.mark.xdist_group("aim")
def test_planted_error_is_reported():
    """Sums that go on instead of beginning with what was written."""
    config, text = channel("buffering=ping-pong")
    rng = np.random.default_rng(2)
    wrong, count = re.subn(r"\n    first <= \\\$\d+ ;", "\n    first <= 1'h0;", text)
    assert count
    outcome = aim_channel.simulate(config, wrong, aim_channel.stress(config, rng, 4))
    assert outcome.mismatches
    assert re.match(r"result \d+ \(episode \d+\): got 0x\w+, expected 0x\w+$", outcome.first_mismatch)


@pytest.mark.slow
@pytest.mark.xdist_group("aim")
@pytest.mark.parametrize("buffering", ["single", "ping-pong"])
def test_channel_command_line(buffering, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.chdir(tmp_path)
    words = [word for key in TINY for word in ("--set", key)]
    command = [
        "sim",
        "aim-channel",
        *words,
        "--registers",
        "2",
        "--buffering",
        buffering,
        "--tokens",
        "64",
        "--head-dim",
        "16",
    ]
    assert main(command) == 0
    assert "bit-exact" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["mismatches"] == 0 and result["ideal_cycles"] == 2 * 64 * 16 // 16
    assert result["utilisation"] == pytest.approx(result["ideal_cycles"] / result["cycles"], abs=1e-6)
    # The unit keeps up with the memory: its clock is half the memory's, and only the last result comes later.
    for work in result["memory_timing"].values():
        assert work["read_to_result"] < 40 and work["cycles"] <= work["memory_cycles"] / 2 + 40
    assert main(["sim", "aim-channel", "--registers", "3"]) == 2
    assert "registers must be a power of two, not 3" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.xdist_group("aim")
@pytest.mark.parametrize(
    ("unit", "preset"),
    [
        ("aim-channel", "aim"),
        ("aim-channel", "aim-ping-pong"),
        ("aim-channel", "cent"),
        ("aim-channel", "aim-fp16"),
        ("pim-hub", "lol-pim"),
        ("pim-hub", "lol-pim-fp16"),
    ],
)
def test_published_size(unit, preset, capsys, tmp_path, monkeypatch):
    """The whole bench on a whole channel or hub. The cycles are those of the pages."""
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.chdir(tmp_path)
    assert main(["sim", unit, "--preset", preset, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["mismatches"] == 0
    if unit == "pim-hub":
        assert {op: c["cycles"] for op, c in result["commands"].items()} == {
            "SOFTMAX": 157,
            "LAYERNORM": 207,
            "RMSNORM": 142,
            "EWADD": 84,
            "GPR_MUL": 84,
        }
        return
    works = {name: (work["ideal_cycles"], work["cycles"]) for name, work in result["works"].items()}
    if preset == "aim-ping-pong":
        assert works == {"q_k": (256, 310), "s_v": (256, 304), "gemv": (512, 621)}
    elif preset != "cent":
        assert works == {"q_k": (256, 462), "s_v": (256, 342), "gemv": (512, 802)}


@pytest.mark.slow
@pytest.mark.xdist_group("aim")
@pytest.mark.parametrize(
    "more",
    [
        pytest.param(["format=bf16"], id="bf16"),
        pytest.param(["format=fp16"], id="fp16"),
        pytest.param(["banks=8", "bank_ports=1", "register_ports=2"], id="banks"),
        pytest.param(["banks=2", "bank_ports=1"], id="one port"),
    ],
)
def test_hub_bit_for_bit(more):
    """Every command on vectors of several lengths, the EPU beside transfers, all kinds of data, stalls, random registers
    and resets; with one memory of two ports, and with banks."""
    selection = select("pim-hub", sets=[*TINY_HUB, *more])
    config, text = selection.config, verilog(selection)
    rng = np.random.default_rng(1)
    vectors = [(op, n) for op in ("SOFTMAX", "LAYERNORM", "RMSNORM") for n in (1, 3, 4, 100)]
    episodes = [
        pim_hub.vector_steps(config, op, aim_channel.numbers(config.fmt, (n,), "normal", rng)) for op, n in vectors
    ]
    for block, options in (
        (episodes, {}),
        ([pim_hub.overlapped_steps(config, rng)], {}),
        (pim_hub.stress(config, rng, 12), {}),
        (pim_hub.stress(config, rng, 12), {"stalls": 0.35}),
        (pim_hub.stress(config, rng, 6), {"stalls": 0.1, "lazy": True}),
        (pim_hub.stress(config, rng, 6), {"stalls": 0.2, "power_up": "random", "resets": 3}),
    ):
        outcome = pim_hub.simulate(config, text, block, **options)
        assert outcome.mismatches == 0, outcome.first_mismatch
