"""DDR4-3200 of PAM's DDR tier: geometry, near-bank bandwidth, rank switching, plain streams, refresh by rank."""

from itertools import product

import numpy as np
import pytest

from bankside.constraints.memory import load_memory
from bankside.models.memory import time_program
from bankside.models.program import Program

DDR4 = load_memory("ddr4-3200")


def read(p, op="RD", rank=0, bank_group=0, bank=0, row=0, column=0):
    p.command(op, rank=rank, bank_group=bank_group, bank=bank, row=row, column=column)


def test_the_dimm_is_the_one_of_the_paper():
    assert DDR4.banks == 128  # PIM banks per channel, section 7.1
    assert DDR4.banks * DDR4.rows * DDR4.row_bytes == 32 << 30
    assert DDR4.channel_bytes_per_s == pytest.approx(25.6e9)
    table = {
        "nRC": 76,
        "nRCD": 24,
        "nCL": 24,
        "nRP": 24,
        "nBL": 4,
        "nCCDS": 4,
        "nCCDL": 8,
        "nRRDS": 4,
        "nRRDL": 6,
        "nFAW": 26,
    }  # Table 1
    assert {name: DDR4.parameters[name] for name in table} == table


def test_near_bank_reads_move_8_bytes_per_bank_every_5_ns():
    p = Program()
    with p.loop(100) as row, p.loop(128) as column:
        p.command("MAC_AB", row=row, column=column)
    timing = time_program(p, DDR4)
    assert set(np.diff(timing.issue_cycles("MAC_AB")).tolist()) == {8, 12 + 24 + 24}
    within_a_row = 128 * 8 / (8 * 0.625e-9)
    assert within_a_row == pytest.approx(204.8e9)  # the 204 GFLOPS of section 7.1
    assert timing.bank_utilisation == pytest.approx(128 * 8 / (127 * 8 + 60), rel=1e-2)
    rows, columns = 100 * 128 * 555.0, 100 * 128 * 128 * 348.0  # pJ of each bank
    assert timing.energy_pj == pytest.approx({"row": rows, "column": columns, "refresh": 0, "total": rows + columns})


def test_switching_ranks_and_bank_groups():
    def cycles(*places):
        p = Program()
        for place in places:
            read(p, **place)
        for place in places:
            read(p, **place, column=1)
        return np.diff(time_program(p, DDR4).issue_cycles("RD")[len(places) :]).tolist()

    assert cycles({}, {"bank_group": 1}, {"bank": 1}) == [4, 4]  # another group nCCDS; the first group 8 later
    assert cycles({}, {"bank": 1}) == [8]  # same group: nCCDL
    assert cycles({}, {"rank": 1}) == [6]  # another rank: nBL + nCS


def test_a_stream_over_bank_groups_reaches_the_peak():
    p = Program()
    with p.loop(400) as row:
        for bank in range(4):
            for column, group in product(range(128), range(2)):
                op = "RD" if column < 127 else "RDA"
                read(p, op, bank_group=group, bank=bank, row=row, column=column)
                if column == 64:
                    p.command("ACT", rank=0, bank_group=group, bank=(bank + 1) % 4, row=row + bank // 3)
    timing = time_program(p, DDR4)
    assert timing.bus_utilisation["data"] > 0.98
    assert len(timing.schedule.ops) < 6000  # jumped


def test_refresh_of_both_ranks():
    p = Program()
    with p.loop(4000) as row, p.loop(4) as column:
        p.command("MAC_AB", row=row, column=column)
    a, b = (time_program(p, DDR4, refresh=True, mode=mode) for mode in ("jump", "step"))
    assert a == b and a.commands["REFAB"] == 2 * (a.cycles // 12480)
    lost = (a.cycles - time_program(p, DDR4).cycles) / a.cycles
    assert 880 / 12480 < lost < 1.1 * 880 / 12480
