"""``dpa-dispatcher`` in Verilator: random and damaged programs, the paper's example, and a bench that sees errors."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from bankside.constraints.aim.encoding import DispatchError
from bankside.cosim.lolpim.dispatcher import every_error, growth, random_runs, simulate, worked_example
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.models.lolpim.host import load, set_request, start
from bankside.models.program.encoding import encode_program
from bankside.shell.cli import main

#: Small memories, three slots; the command line's test uses the same, so that it is built once.
SMALL = ["command_bytes=4096", "table_entries=256", "slots=3"]


@pytest.fixture(scope="module")
def unit():
    selection = select("dpa-dispatcher", sets=SMALL)
    return selection.config, verilog(selection)


@pytest.mark.xdist_group("dpa")
def test_worked_example(unit):
    """Figure 6 of the paper, through words and RTL: what comes out is written here."""
    config, text = unit
    words = encode_program(worked_example(), config.encoding)
    writes = [
        *load(config, words),
        *set_request(config, 0, 1, 256, 0, [22]),
        *set_request(config, 1, 2, 300, 1, [33, 34]),
        start(config, 0, 0),
        start(config, 0, 1),
    ]
    outcome = simulate(config, text, [writes])
    assert outcome.mismatches == 0, outcome.first_mismatch
    seen = []
    fields = config.command_layout.unpack(outcome.run.outputs["command"])
    for op, row, gpr in zip(fields["op"], fields["row"], fields["gpr"], strict=True):
        seen.append(("DOT-PROD", row) if op == 10 else ("RD-OUT", gpr))
    assert seen == [
        ("DOT-PROD", 22),
        ("RD-OUT", 16),
        ("DOT-PROD", 33),
        ("RD-OUT", 16),
        ("DOT-PROD", 34),
        ("RD-OUT", 17),
    ]


@pytest.mark.xdist_group("dpa")
@pytest.mark.parametrize(("damage", "stalls", "lazy"), [(0.0, 0.35, False), (0.0, 0.1, True), (1.0, 0.2, False)])
def test_random_programs(unit, damage, stalls, lazy):
    config, text = unit
    epochs, _ = random_runs(config, np.random.default_rng(7), 150, damage=damage, most=400)
    outcome = simulate(config, text, epochs if damage else [sum(epochs, [])], stalls=stalls, lazy=lazy)
    assert outcome.mismatches == 0, outcome.first_mismatch
    if damage:
        assert len(set(outcome.codes)) >= 6


@pytest.mark.xdist_group("dpa")
def test_random_power_up_and_resets(unit):
    """Random registers and memories, and resets in the middle of the work: the same commands in the same cycles."""
    config, text = unit
    epochs, _ = random_runs(config, np.random.default_rng(8), 30, damage=0.3, most=400)
    outcome = simulate(config, text, epochs, stalls=0.2, power_up="random", resets=3)
    assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.xdist_group("dpa")
def test_errors_and_growth(unit):
    config, text = unit
    outcome = simulate(config, text, every_error(config), stalls=0.2)
    assert outcome.mismatches == 0, outcome.first_mismatch
    assert set(outcome.codes) == set(DispatchError) - {DispatchError.STOPPED}
    outcome = simulate(config, text, [growth(config, np.random.default_rng(seed), 8) for seed in range(4)], stalls=0.3)
    assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.xdist_group("dpa")
def test_a_wrong_expectation_is_reported(unit, monkeypatch):
    """A model that gives a command's row one too many."""
    from bankside.models.lolpim import Dispatcher

    config, text = unit
    write = Dispatcher.write

    def wrong(self, address, data):
        write(self, address, data)
        if len(self.issued) == 2:
            self.issued[0] = (*self.issued[0][:3], self.issued[0][3] + 1, *self.issued[0][4:])

    monkeypatch.setattr(Dispatcher, "write", wrong)
    writes = [
        *load(config, encode_program(worked_example(), config.encoding)),
        *set_request(config, 0, 1, 1, 0, [7]),
        start(config),
    ]
    outcome = simulate(config, text, [writes])
    assert outcome.mismatches == 1
    assert re.match(r"command 0 \(episode 0\): got 0x[0-9a-f]+, expected 0x[0-9a-f]+$", outcome.first_mismatch)


@pytest.mark.slow
@pytest.mark.xdist_group("dpa")
@pytest.mark.parametrize(
    "sets",
    [
        SMALL,
        [
            "command_bytes=1536",
            "line_words=3",
            "mask_bits=8",
            "gpr_bits=6",
            "opsize_bits=5",
            "nesting=2",
            "slots=1",
            "row_bits=5",
            "table_entries=9",
            "entry_bits=7",
            "stride_bits=9",
            "register_bits=2",
            "bank_bits=2",
            "column_bits=4",
        ],
        [
            "command_bytes=3600",
            "line_words=10",
            "mask_bits=40",
            "nesting=6",
            "slots=5",
            "table_entries=50",
            "row_bits=10",
        ],
    ],
)
def test_thousands_of_programs(sets):
    selection = select("dpa-dispatcher", sets=sets)
    config, text = selection.config, verilog(selection)
    for seed in range(3):
        for damage in (0.0, 1.0):
            epochs, expected = random_runs(config, np.random.default_rng(1000 + seed), 1000, damage=damage, most=500)
            epochs = epochs if damage else [sum(epochs, [])]
            outcome = simulate(config, text, epochs, stalls=[0.0, 0.3, 0.7][seed], seed=seed)
            assert outcome.mismatches == 0, outcome.first_mismatch
            assert damage or outcome.vectors == 1000 + sum(len(rows) for rows in expected)


@pytest.mark.xdist_group("dpa")
def test_command_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.chdir(tmp_path)
    words = [word for key in SMALL for word in ("--set", key)]
    assert main(["sim", "dpa-dispatcher", *words, "--tokens", "12000", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["mismatches"] == 0 and data["commands"] == data["ideal_cycles"] == 8 * (1 + 2 * 47)
    assert data["commands_per_clock"] == 1.0 and data["utilisation"] > 0.96
    assert data["cycles"] == data["commands"] + data["start_cycles"] + data["end_cycles"]
    whole = {name: shape for name, shape in data["shapes"].items() if "beyond" not in name and "count 0" not in name}
    assert len(whole) == 3 and all(shape["clocks"] == shape["commands"] for shape in whole.values())
    assert (tmp_path / "records" / f"{data['record']}.json").exists()
    assert main(["sim", "dpa-dispatcher", *words, "--tokens", "70000"]) == 2
    assert "tokens must be at most 65536 for this configuration, not 70000" in capsys.readouterr().err
