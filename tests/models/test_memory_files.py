"""Memory files: what is wrong is told with file and line."""

import re
from pathlib import Path

import pytest
from bankside.constraints.errors import ConfigError
from bankside.constraints.memory import available, load_memory
from bankside.models.memory import time_program
from bankside.models.program import Program

SMALL = """\
name: small
source: made up
clock: {period_ps: 1000, source: made up}
organisation:
  channels: 1
  levels: {rank: 2, bank: 4}
  rows: 64
  columns: 8
  column_bytes: 16
  bank_cycles: nCCD
  bus: channel
  bus_bytes: 16
  bus_cycles: 2
  source: made up
dual_issue: false
parameters:
  - source: made up
    values: {nRCD: 5, nRP: 4, nRAS: 10, nCCD: 2, nCL: 6}
  - source: derived
    values:
      nRC: nRAS + nRP
      nRTP: max(2, nCCD * 3 // 2)
scopes:
  bank: [rank, bank]
  all: []
commands:
  ACT: {scope: bank, kind: row, row: opens, precharge: PRE, energy: {row: banks * row_bytes * e_row}}
  PRE: {scope: bank, kind: row, row: closes}
  RD: {scope: bank, kind: column, row: needs, activate: ACT, precharge: PRE, latency: nCL + 2, operands: [column]}
  REF: {scope: all, kind: row, row: closed, precharge: PREA}
  PREA: {scope: all, kind: row, row: closes}
sets:
  close: [PRE, PREA]
constraints:
  - {level: bank, from: [ACT], to: [RD], cycles: nRCD}
  - {level: bank, from: [ACT], to: [close], cycles: nRAS}
  - {level: bank, from: [close], to: [ACT], cycles: nRP}
  - {level: bank, from: [RD], to: [close], cycles: nRTP}
  - {level: channel, from: [RD], to: [RD], cycles: nCCD}
  - {level: rank, from: [RD], to: [RD], cycles: nCCD + 1, between: different}
  - {level: channel, from: [REF], to: [ACT], cycles: 40}
refresh: {command: REF, interval: 1000, source: made up}
energy:
  source: made up
  values: {e_row: 0.5}
"""


@pytest.fixture
def small(tmp_path):
    def write(text: str = SMALL) -> Path:
        path = tmp_path / "small.yaml"
        path.write_text(text)
        return path
    return write


def test_a_file_of_ones_own_is_a_memory(small):
    memory = load_memory(small())
    assert memory.parameters["nRC"] == 14 and memory.parameters["nRTP"] == 3
    assert memory.commands["ACT"].energy_pj == {"row": 8 * 16 * 0.5}
    p = Program()
    with p.loop(2) as rank:
        p.command("RD", rank=rank, bank=0, row=3, column=0)
    p.command("RD", rank=0, bank=0, row=3, column=1)
    timing = time_program(p, str(small()))
    assert timing.issue_cycles("RD").tolist() == [5, 11, 14]      # ACT 0, 6; another rank: one cycle more
    assert timing.cycles == 14 + 8


@pytest.mark.parametrize("old, new, message", [
    ("cycles: nRCD}", "cycles: nRCDX}", r"unknown timing 'nRCDX'; did you mean 'nRCD'\? \(valid: nCCD, .*\)"),
    ("nRC: nRAS + nRP", "nRC: nRAS + nRPP", r"nRC: unknown timing 'nRPP'; did you mean 'nRP'\?"),
    ("nRC: nRAS + nRP", "nRC: nRTP + 1", r"nRC 4 is less than nRAS \+ nRP = 14$"),
    ("nRC: nRAS + nRP", "nRC: 12", r"nRC 12 is less than nRAS \+ nRP = 14$"),
    ("nRCD: 5", "nRCD: 0", r"nRCD is 0 cycles; must be 1 to 1000000000"),
    ("nRCD: 5", "nRCD: -5", r"nRCD is -5 cycles; must be 1 to 1000000000"),
    ("nRCD: 5", "nRCD: 10000000000", r"nRCD is 10000000000 cycles; must be 1 to 1000000000"),
    ("nRCD: 5", "nRCD: 5.5", r"parameters.0.values.nRCD"),
    ("cycles: nRTP", "cycles: nRTP - nRC", r"'nRTP - nRC' is -11 cycles; must be 1 to 1000000000"),
    ("cycles: nRTP", "cycles: nRTP / 2", r"'nRTP / 2' may hold only integers, names, \+ - \* //, min, max"),
    ("cycles: nRTP", "cycles: nRTP // 0", r"'nRTP // 0' divides by zero"),
    ("cycles: nRTP", "cycles: nRTP +", r"'nRTP \+' is not an arithmetic expression"),
    ("cycles: nRTP", "cycles: __import__('os')", r".*may hold only integers"),
    ("from: [RD], to: [close]", "from: [RDX], to: [close]", r"unknown command or set 'RDX'"),
    ("close: [PRE, PREA]", "close: [PRE, PREAB]", r"unknown command 'PREAB'; did you mean 'PREA'\?"),
    ("level: rank", "level: ranks", r"unknown level 'ranks'; did you mean 'rank'\? \(valid: bank, channel, rank\)"),
    ("level: rank", "level: channel", r"'between: different' needs a level within the channel"),
    ("bank: [rank, bank]", "bank: [rank, banks]", r"unknown level 'banks'; did you mean 'bank'\?"),
    ("{scope: bank, kind: column", "{scope: bnk, kind: column", r"unknown scope 'bnk'; did you mean 'bank'\?"),
    ("activate: ACT,", "activate: ACTS,", r"unknown command 'ACTS'; did you mean 'ACT'\?"),
    ("activate: ACT,", "activate: PRE,", r"activate PRE must have the row rule 'opens'"),
    ("activate: ACT,", "", r"row rule 'needs' needs the key 'activate'"),
    ("row: closed, precharge: PREA", "row: closed, precharge: PRE", r"precharge PRE must act on every bank of REF"),
    ("banks * row_bytes * e_row", "banks * e_rwo", r"unknown energy 'e_rwo'; did you mean 'e_row'\?"),
    ("interval: 1000", "interval: 90", r"a refresh interval of 90 cycles leaves no time for commands"),
    ("command: REF,", "command: PREA,", r"refresh command PREA must have the row rule 'closed'"),
    ("dual_issue: false", "dual_isue: false", r"unknown key 'dual_isue'; did you mean 'dual_issue'\?"),
    ("kind: column", "kind: col", r"commands.RD.kind: input should be 'row', 'column' or 'other'"),
    ("nRCD: 5", "nRCD: 5, nRCD: 6", r"key 'nRCD' appears twice"),
])
def test_errors_name_the_line(small, old, new, message):
    assert SMALL.count(old) == 1, old
    path = small(SMALL.replace(old, new))
    line = 1 + SMALL[:SMALL.index(old)].count("\n")
    with pytest.raises(ConfigError) as caught:
        load_memory(path)
    assert re.match(re.escape(f"{path}:{line}: ") + f"(RD: )?{message}", str(caught.value)), caught.value


def test_timings_that_define_each_other(small):
    text = SMALL.replace("nRC: nRAS + nRP", "nRC: nRTP + 9").replace("max(2, nCCD * 3 // 2)", "nRC - 8")
    with pytest.raises(ConfigError, match=r":22: nRTP: defined by itself: nRC -> nRTP -> nRC$"):
        load_memory(small(text))


def test_unknown_names_and_unreadable_files(tmp_path):
    assert "hbm3-5.2" in available()
    with pytest.raises(ConfigError, match=r"^unknown memory 'hbm3'; did you mean 'hbm3-[\d.]+'\?"):
        load_memory("hbm3")
    with pytest.raises(ConfigError, match=r"nothing\.yaml: no such file or directory$"):
        load_memory(tmp_path / "nothing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.yaml: not UTF-8 text \(byte 0\)$"):
        load_memory(tmp_path / "binary.yaml")
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(ConfigError, match=r"empty\.yaml: is empty$"):
        load_memory(tmp_path / "empty.yaml")


@pytest.mark.parametrize("name", available())
def test_every_memory_that_ships_states_its_sources(name):
    memory = load_memory(name)
    assert memory.name == name and memory.source
    constrained = {op for c in memory.constraints for op in c.from_ | c.to}
    assert constrained <= set(memory.commands)
    assert all(memory.commands[op].row == "none" for op in set(memory.commands) - constrained)
