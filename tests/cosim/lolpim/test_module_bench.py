"""``lol-pim-module`` in Verilator: a head's attention from programs to results, and a bench that sees errors."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bankside.constraints.memory import load_memory
from bankside.cosim.lolpim.module import Session, cases, decode_steps, simulate
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.shell.cli import main

#: A channel of four banks, four lanes, rows of eight columns. The hub's EPU makes even that a long build.
TINY = [
    "dispatcher.command_bytes=4096",
    "dispatcher.table_entries=64",
    "dispatcher.slots=3",
    "dispatcher.row_bits=6",
    "dispatcher.entry_bits=8",
    "dispatcher.mask_bits=1",
    "dispatcher.column_bits=3",
    "dispatcher.bank_bits=2",
    "dispatcher.gpr_bits=7",
    "dispatcher.opsize_bits=9",
    "dispatcher.register_bits=1",
    "channel.banks=4",
    "channel.lanes=4",
    "channel.buffer_bytes=64",
    "channel.max_beats=1024",
    "channel.table_entries=16",
    "channel.opsize_bits=9",
    "channel.acc_format=bf16",
    "channel.depth=4",
    "hub.channels=1",
    "hub.lanes=4",
    "hub.gpr_bytes=1024",
    "hub.max_elements=256",
]
HEAD_DIM, ROWS, TOKENS = 8, 16, 40


def unit(*more):
    selection = select("lol-pim-module", sets=[*TINY, *more])
    return selection.config, verilog(selection)


def session(config, seed=1):
    made = Session(config, HEAD_DIM, ROWS, np.random.default_rng(seed))
    for requests, steps in cases(made.head, config.dispatcher.slots, TOKENS).values():
        decode_steps(made, requests, steps)
    return made


@pytest.mark.slow
@pytest.mark.xdist_group("module")
def test_decode_steps():
    """Requests of different lengths, one that grows over the border of a chunk while others run, every kind of data:
    every command, column, write and result; at the memory's pace, with stalls, and from random registers with resets.
    Then a row that is not the one that the host mapped, which the bench must see."""
    config, text = unit()
    for options in (
        {"memory": load_memory("gddr6-aim")},
        {"stalls": 0.35},
        {"stalls": 0.2, "power_up": "random", "resets": 3},
    ):
        outcome = simulate(session(config), text, **options)
        assert outcome.mismatches == 0, outcome.first_mismatch
        assert max(outcome.errors(one).max() for one in outcome.session.decoded) < 0.04
    chunk = outcome.session.head.chunk
    assert {one.tokens for one in outcome.session.decoded} >= {1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 1, TOKENS}
    wrong = session(config)
    writes, low = wrong.episodes[2].writes, config.dispatcher.table_address(0)
    mapped = [n for n, (address, _) in enumerate(writes) if low <= address < low + config.dispatcher.table_entries]
    address, data = writes[mapped[-1]]
    writes[mapped[-1]] = address, data ^ 1
    outcome = simulate(wrong, text)
    assert outcome.mismatches and outcome.first_mismatch.startswith("issued ")


@pytest.mark.slow
@pytest.mark.xdist_group("module")
@pytest.mark.parametrize(
    "more",
    [
        ("channel.buffering=ping-pong", "channel.registers=4"),
        ("hub.channels=2", "dispatcher.mask_bits=3"),
        ("channel.format=fp16", "hub.format=fp16", "channel.registers=4", "dispatcher.register_bits=2"),
    ],
)
def test_other_modules(more):
    """Two sets of buffers; two channels, and a mask wider than they are; FP16 and registers for all dimensions."""
    config, text = unit(*more)
    for seed, options in enumerate(({}, {"memory": load_memory("gddr6-aim")}, {"stalls": 0.2}, {"stalls": 0.7})):
        outcome = simulate(session(config, seed), text, seed=seed, **options)
        assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.slow
@pytest.mark.xdist_group("module")
def test_command_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    words = [word for key in TINY for word in ("--set", key)]
    arguments = ["sim", "lol-pim-module", *words, "--head-dim", str(HEAD_DIM), "--json"]
    assert main([*arguments, "--tokens", str(TOKENS)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["mismatches"] == 0 and data["ideal_cycles"] == 48 * 2 // 4 + 2 * 10
    assert data["full_rate_cycles"] < data["cycles"] and data["memory_time_ns"] < data["time_ns"]
    assert [one["tokens"] for one in data["cases"]][:4] == [TOKENS, 15, 1, 32]
    assert main([*arguments, "--tokens", "0"]) == 2
    assert "--tokens: must be at least 1, not 0" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.xdist_group("module")
def test_published_size():
    """A channel of a module of LoL-PIM, 512 tokens of a head of 128."""
    selection = select("lol-pim-module")
    made = Session(selection.config, 128, 64, np.random.default_rng(1))
    for requests, steps in cases(made.head, 16, 512).values():
        decode_steps(made, requests, steps)
    outcome = simulate(made, verilog(selection), memory=load_memory("gddr6-aim"))
    assert outcome.mismatches == 0, outcome.first_mismatch
