"""What no memory can do: files that say it are refused, and the engine never does it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import available, load_memory, without_physics
from bankside.constraints.memory.memory import FOLDER
from bankside.constraints.memory.physics import faults
from bankside.models.memory import time_program
from bankside.models.program import Program
from bankside.shell.cli import main


@pytest.mark.parametrize("name", available())
def test_shipped_memories_are_possible(name):
    """They are read without a fault, and only memories of other simulators or of flash leave pairs out."""
    with without_physics() as told:
        memory = load_memory(FOLDER / f"{name}.yaml")
    assert not told
    if faults(memory):
        assert name.startswith(("gddr6-aim", "hbm3-", "hbm2-", "flash-", "nvme-"))


@pytest.mark.parametrize("name, cycles", [("ddr4-3200", 6), ("ddr4-3200-jedec", 6), ("lpddr5x-8533", 4)])
def test_a_write_behind_a_read_of_another_rank_in_ramulator_2(name, cycles):
    """Under the quirks, both bursts are on the bus at a time. That is the version with its issue 102."""
    memory = load_memory(name)
    assert not faults(memory)
    found = faults(memory.with_quirks("ramulator"))
    assert {(fault.first, fault.second) for fault in found} == {(a, b) for a in ("RD", "RDA") for b in ("WR", "WRA")}
    assert all(fault.cycles == cycles and fault.where == "different ranks" for fault in found)


def test_a_write_behind_a_read_of_another_rank_in_attaccs_simulator():
    memory = load_memory("hbm3-5.2")
    waived = {(first, "WR_GB"): "" for first in ("RD", "WR", "RDA", "WRA")}
    assert not faults(memory, waived)
    found = [fault for fault in faults(memory.with_quirks("attacc-simulator"), waived) if fault.second in ("WR", "WRA")]
    assert {fault.where for fault in found} >= {"different ranks"}


def changed(tmp_path, name, *changes):
    """A copy of a shipped file with lines taken out or replaced."""
    text = (FOLDER / f"{name}.yaml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "own.yaml"
    path.write_text(text)
    return path


MAC_TO_MAC = "  - {level: channel, from: [MAC_AB], to: [MAC_AB], cycles: nCCDAB, source: AttAcc}\n"
MAC_IN_BANK = (
    "  - {level: bank, from: [reads, writes, macs], to: [reads, writes, macs], cycles: nCCDL, unless: attacc-simulator, "
    "source: Bankside; AttAcc never mixes them}\n"
)
ACT_TO_MAC = (
    "  - {level: bank, from: [activates], to: [reads, macs], cycles: nRCDRD, unless: attacc-simulator, source: HBM3 and "
    "AttAcc}\n"
)


@pytest.mark.parametrize(
    "name, changes, message",
    [
        (
            "hbm3-5.2",
            [(MAC_TO_MAC, ""), (MAC_IN_BANK, "")],
            r"MAC_AB may issue 1 cycle after RD in the same bank: a bank gives a column every 4 cycles",
        ),
        (
            "hbm3-5.2",
            [(ACT_TO_MAC, "")],
            r"RD may issue 1 cycle after ACT in the same bank: an access needs an open row",
        ),
        (
            "ddr4-3200-jedec",
            [
                (
                    "cycles: nCL + nBL + nCS - nCWL, between: different, unless",
                    "cycles: nBL + nCS, between: different, unless",
                )
            ],
            r"WR may issue 6 cycles after RD in different ranks: bursts take the data bus in cycles 24 to 28 and 22 to 26",
        ),
        (
            "ddr4-3200-jedec",
            [("  - {level: bank, from: [precharges], to: [ACT], cycles: nRP, source: DDR4}\n", "")],
            r"ACT may issue 1 cycle after PRE in the same bank: a row opens before the one before it is closed",
        ),
    ],
)
def test_a_file_that_flatters_is_refused(tmp_path, name, changes, message):
    path = changed(tmp_path, name, *changes)
    with pytest.raises(ConfigError, match=f"^{path}: {message}"):
        load_memory(path)
    with without_physics() as told:
        load_memory(path)
    assert len(told) == 1 and "is not checked by physics" in told[0]


def test_a_pair_that_is_waived_needs_a_reason(tmp_path):
    line = "  - {level: bank, from: [precharges], to: [ACT], cycles: nRP, source: DDR4}\n"
    waived = "waived:\n  - {from: [precharges], to: [ACT], reason: %s}\n\nconstraints:\n"
    path = changed(
        tmp_path, "ddr4-3200-jedec", (line, ""), ("constraints:\n", waived % "rows of this memory close at once")
    )
    assert load_memory(path).name == "ddr4-3200-jedec"
    path = changed(tmp_path, "ddr4-3200-jedec", (line, ""), ("constraints:\n", waived % "no"))
    with pytest.raises(ConfigError, match="reason"):
        load_memory(path)


def test_pairs_of_ranks_that_alternate():
    """A read and a write on the other rank, 100 times. Reads wait for no write, writes until the read's burst is over."""
    memory = load_memory("ddr4-3200-jedec")
    cycles = {}
    for quirks in (None, "ramulator"):
        p = Program()
        with p.loop(100) as n:
            p.command("RD", rank=0, bank_group=0, bank=0, row=0, column=n)
            p.command("WR", rank=1, bank_group=0, bank=0, row=0, column=n)
        cycles[quirks] = time_program(p, memory.with_quirks(quirks)).cycles
    # The first write waits for its row (cycle 49). A pair takes 14 cycles to the write, and then a cycle. With the quirk it
    # takes 6, and 14 until the next read, whose burst ends last.
    assert cycles == {None: 49 + 99 * 15 + 16 + 4, "ramulator": 49 + 98 * 20 + 14 + 24 + 4}


@pytest.mark.parametrize("name", ["ddr4-3200-jedec", "ddr4-3200", "lpddr5x-8533", "hbm3-5.2"])
@pytest.mark.parametrize("seed", range(3))
def test_bursts_of_the_engine_never_overlap(name, seed):
    """Random reads and writes of all banks: bursts on a bus, from the log of issued commands, follow each other."""
    memory, rng = load_memory(name), np.random.default_rng(seed)
    p = Program()
    for _ in range(400):
        op = str(rng.choice(["RD", "WR"]))
        at = {
            level: int(rng.integers(count))
            for level, count in memory.levels.items()
            if level in memory.commands[op].scope
        }
        p.command(op, **at, row=int(rng.integers(2)), column=int(rng.integers(4)))
    timing = time_program(p, memory)
    bursts = []
    for op in ("RD", "WR"):
        places = p.operands(op)
        for n, cycle in enumerate(timing.issue_cycles(op).tolist()):
            bus = () if memory.bus == "channel" else (int(places[memory.bus][n]),)
            bursts.append((bus, cycle + memory.commands[op].latency - memory.bus_cycles))
    for bus in {bus for bus, _ in bursts}:
        begins = sorted(begin for where, begin in bursts if where == bus)
        assert np.diff(begins).min() >= memory.bus_cycles


def test_the_command_line_takes_a_file_that_flatters_with_a_warning(tmp_path, capsys):
    """Without the flag it is one clear line; with it, the result carries the warning."""
    line = "  - {level: bank, from: [precharges], to: [ACT], cycles: nRP, source: DDR4}\n"
    path = changed(tmp_path, "ddr4-3200-jedec", (line, ""))
    trace = tmp_path / "trace.txt"
    trace.write_text("".join(f"LD {64 * n}\n" for n in range(20)))
    command = ["time", str(trace), "--memory", str(path), "--json"]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"bankside: {path}: ACT may issue 1 cycle after PRE") and error.count("\n") == 1
    assert main([*command, "--no-physics"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert any("is not checked by physics: ACT may issue 1 cycle after PRE" in text for text in result["warnings"])
