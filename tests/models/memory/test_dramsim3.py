"""Configuration files of DRAMsim3 as memories: the same cycles, levels and energies, and one line for a file that lacks something."""

from __future__ import annotations

import json

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import load_memory
from bankside.shell.cli import main

DDR4 = """\
[dram_structure]
protocol = DDR4  ; two ranks of eight devices
bankgroups = 4
banks_per_group = 4
rows = 65536
columns = 1024
device_width = 8
BL = 8
[timing]
tCK = 0.75
AL = 1
CL = 19
CWL = 14
tRCD = 20
tRP = 19
tRAS = 43
tRFC = 467
tREFI = 10400
tRRD_S = 4
tRRD_L = 7
tWTR_S = 4
tWTR_L = 10
tFAW = 28
tWR = 20
tRTP = 10
tCCD_S = 4
tCCD_L = 7
tRTRS = 2
tXP = 8
[power]
VDD = 1.2
IDD0 = 50
IDD2N = 34
IDD3N = 46
IDD4W = 126
IDD4R = 143
IDD5AB = 250
[system]
channel_size = 16384
channels = 2
bus_width = 64
row_buf_policy = OPEN_PAGE
[thermal]
chip_dim_x = 0.01
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "Mine_2666.ini"
        path.write_text(text)
        return path

    return write


def least(memory, first, second, level, between="same", window=1):
    """Cycles of the strictest constraint of a pair at a level."""
    return max(
        one.cycles
        for one in memory.constraints
        if first in one.from_ and second in one.to and (one.level, one.between, one.window) == (level, between, window)
    )


def test_levels_and_sizes(written):
    memory = load_memory(written(DDR4))
    assert (memory.name, memory.channels, dict(memory.levels)) == (
        "mine-2666",
        2,
        {"rank": 2, "bank_group": 4, "bank": 4},
    )
    assert (memory.rows, memory.columns, memory.column_bytes) == (65536, 128, 64)


def test_cycles_are_those_of_the_formulas_in_dramsim3(written):
    """Worked out by hand from its formulas: RL = AL + CL = 20, WL = AL + CWL = 15, a burst takes 4."""
    memory = load_memory(written(DDR4))
    expected = {
        ("RD", "RD", "rank"): 4,
        ("RD", "RD", "bank_group"): 7,
        ("RD", "WR", "rank"): 20 + 4 + 2 - 15,
        ("WR", "RD", "rank"): 15 + 4 + 4,
        ("WR", "RD", "bank_group"): 15 + 4 + 10,
        ("ACT", "ACT", "rank"): 4,
        ("ACT", "ACT", "bank_group"): 7,
        ("ACT", "ACT", "bank"): 43 + 19,
        ("ACT", "RD", "bank"): 20 - 1,
        ("ACT", "PRE", "bank"): 43,
        ("PRE", "ACT", "bank"): 19,
        ("RD", "PRE", "bank"): 1 + 10,
        ("WR", "PRE", "bank"): 15 + 4 + 20,
        ("REFAB", "ACT", "rank"): 467,
    }
    assert {key: least(memory, *key) for key in expected} == expected
    assert least(memory, "ACT", "ACT", "rank", window=4) == 28
    assert least(memory, "RD", "RD", "rank", "different") == 4 + 2
    assert least(memory, "RD", "WR", "rank", "different") == 20 + 4 + 2 - 15
    assert least(memory, "WR", "RD", "rank", "different") == 15 + 4 + 2 - 20
    assert memory.refresh.interval == 10400


def test_precharges_of_lpddr4_are_tppd_apart(written):
    text = DDR4.replace("DDR4", "LPDDR4").replace("tXP = 8", "tPPD = 5")
    assert least(load_memory(written(text)), "PRE", "PRE", "rank") == 5


def test_energy_is_current_beyond_standby_of_all_devices_of_a_rank(written):
    energy = {name: command.energy_pj for name, command in load_memory(written(DDR4)).commands.items()}
    assert sum(energy["RD"].values()) == pytest.approx(1.2 * (143 - 46) * 4 * 0.75 * 8)
    assert sum(energy["ACT"].values()) == pytest.approx(1.2 * (50 * 62 - 46 * 43 - 34 * 19) * 0.75 * 8)
    without = load_memory(written(DDR4.replace("IDD4R = 143\n", "")))
    assert not any(sum(command.energy_pj.values()) for command in without.commands.values())


def test_hbm_has_two_words_of_its_device_in_a_column(written):
    text = DDR4.replace("DDR4", "HBM2").replace("device_width = 8", "device_width = 128").replace("BL = 8", "BL = 4")
    text = text.replace("columns = 1024", "columns = 64").replace("bus_width = 64", "bus_width = 128")
    memory = load_memory(written(text.replace("tRCD = 20", "tRCDRD = 20\ntRCDWR = 15")))
    assert (memory.columns, memory.column_bytes, memory.dual_issue) == (32, 64, True)
    assert (least(memory, "ACT", "RD", "bank"), least(memory, "ACT", "WR", "bank")) == (19, 14)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("tREFI", "REFI", r"Mine_2666.ini:18: unknown key of \[timing\] 'REFI'; did you mean 'tREFI'\?"),
        ("tRTRS = 2\n", "", r"\[timing\] has no tRTRS"),
        ("tRP = 19\n", "", r"\[timing\] has no tRP"),
        ("tRP = 19", "tRP = slow", r"Mine_2666.ini:15: tRP must be a whole number, not 'slow'"),
        ("tRP = 19", "tRP = -1", r"Mine_2666.ini:15: tRP must be positive"),
        ("tRP = 19", "tRP = 19\ntRP = 20", r"Mine_2666.ini:16: tRP appears twice"),
        ("[power]", "[powr]", r"unknown section 'powr'; did you mean 'power'\?"),
        ("DDR4", "GDDR6", r"Mine_2666.ini:2: unknown protocol 'GDDR6'"),
        ("tRP = 19", "tRP", r"Mine_2666.ini:15: must be \[SECTION\] or KEY = VALUE"),
        ("bus_width = 64", "bus_width = 60", r"bus_width 60 must be a multiple of device_width 8"),
        ("channel_size = 16384", "channel_size = 1024", r"channel_size 1024 must be a multiple of a rank's 8192 MiB"),
        ("tCCD_S = 4", "tCCD_S = 7\n[other]\nfoo = 1", r"unknown key of \[other\] 'foo'"),
    ],
)
def test_one_line_says_what_is_wrong(written, old, new, message):
    assert old in DDR4
    with pytest.raises(ConfigError, match=message):
        load_memory(written(DDR4.replace(old, new, 1)))


def test_the_command_line_times_requests_on_it(written, tmp_path, capsys):
    """A closed bank's first read: a cycle to take the request, tRCD − AL, RL and the burst."""
    trace = tmp_path / "one.trace"
    trace.write_text("0x40 R")
    assert main(["time", str(trace), "--format", "requests", "--memory", str(written(DDR4)), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["cycles"] == 1 + 19 + 20 + 4
