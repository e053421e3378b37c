"""HBM3 at 5.2 Gb/s: AttAcc's issue log comes out, streams reach the peak, energy adds up."""

from itertools import product

import numpy as np
import pytest

from bankside.constraints.memory import load_memory
from bankside.models.memory import energy_pj, time_program
from bankside.models.program import Program

HBM3 = load_memory("hbm3-5.2")


# AttAcc ------------------------------------------------------------------------------------------------------------

PAIRS = [(rank, group) for group in range(4) for rank in range(2)]


def attacc_head(tokens):
    """Attention of one head on one channel, in the order in which AttAcc's controller issues it.

    ``tokens`` is a multiple of 512. 256 tokens of K fill a row of all banks; V takes as many rows, in two passes of
    MACs. The controller issues out of order, so that row commands appear between moves of the buffers; an in-order
    program says the same by its order.
    """
    assert tokens % 512 == 0
    rows = tokens // 256
    p = Program()

    def move(op, rank, group, bank=0):
        p.command(op, pseudo_channel=0, rank=rank, bank_group=group, bank=bank)

    def macs(row):
        with p.loop(32) as c:
            p.command("MAC_AB", row=row, column=c)

    def scores_out(row):
        for k, (rank, group) in enumerate(PAIRS):
            if k == 4:
                p.command("PREA")
            move("MV_SB", rank, group)
        p.command("ACTAB", row=row)

    with p.stage("query"):
        p.command("ACTAB", row=0)
        with p.loop(4) as bank, p.loop(2):
            p.command("WR_GB", pseudo_channel=0, rank=0, bank_group=0, bank=bank)
    with p.stage("score"):
        with p.loop(rows - 1) as r:
            macs(r)
            scores_out(r + 1)
        macs(rows - 1)
    with p.stage("softmax"):
        for k, (rank, group) in enumerate(PAIRS):
            if k == 4:
                p.command("PREA")
            move("MV_SB", rank, group)
            if k == 0:
                p.command("SFM", pseudo_channel=0, rank=0, bank_group=0, bank=0)
        order = [0, 1, 0, 1, 2, 3, 2, 3]
        for k in range(8 * rows):
            if k == 5:
                p.command("ACTAB", row=8192)
            move("MV_GB", k // 8 % 2, order[k % 8])
    with p.stage("context"):
        for half in range(2):
            with p.loop(rows // 2) as r:
                macs(8192 + half * (rows // 2) + r)
            for k, (bank, rank) in enumerate(product(range(4), range(2))):
                if k == 4 and not half:
                    p.command("PREA")
                move("MV_SB", rank, 0, bank)
            if not half:
                p.command("ACTAB", row=8192 + rows // 2)
    return p


def test_attacc_issue_log_of_one_head():
    """512 tokens: where the simulator's log (first cycle 1) has each command, every one of its 192."""
    log = {
        "WR_GB": [*range(1, 30, 4)],
        "ACTAB": [1, 243, 475, 710],
        "PREA": [224, 456, 691],
        "MAC_AB": [*range(30, 217, 6), *range(262, 449, 6), *range(497, 684, 6), *range(729, 916, 6)],
        "SFM": [450],
        "MV_SB": [*range(217, 232, 2), 449, *range(452, 465, 2), *range(684, 699, 2), *range(916, 931, 2)],
        "MV_GB": [*range(466, 497, 2)],
    }
    timing = time_program(attacc_head(512), HBM3)
    assert {op: (timing.issue_cycles(op) + 1).tolist() for op in log} == log
    assert timing.cycles == 930
    assert timing.commands == {op: len(cycles) for op, cycles in log.items()}
    assert sum(timing.commands.values()) == 192


@pytest.mark.parametrize(
    "tokens, limited, cycles",
    [
        (512, True, 930),
        (1024, True, 1890),
        (1536, True, 2850),
        (2048, True, 3810),
        (512, False, 682),
        (2048, False, 2818),
    ],
)
def test_attacc_cycles_of_one_head(tokens, limited, cycles):
    """The simulator's totals for lengths whose run ends before the first refresh."""
    timing = time_program(attacc_head(tokens), HBM3, power_limit=limited)
    rows = tokens // 128
    row = (31 * 6 + 8 + 19 + 19) if limited else (31 * 4 + 8 + 19 + 19)
    assert timing.cycles == cycles == rows * row + 16 * (tokens // 256) - 30
    assert timing.commands["MAC_AB"] == rows * 32


def test_a_row_of_macs_takes_232_cycles():
    p = Program()
    with p.loop(50) as row, p.loop(32) as c:
        p.command("MAC_AB", row=row, column=c)
    timing = time_program(p, HBM3)
    assert set(np.diff(timing.issue_cycles("ACTAB"))) == {31 * 6 + 8 + 19 + 19} == {232}
    assert (timing.row_misses, timing.row_conflicts, timing.row_hits) == (1, 49, 50 * 31)
    assert timing.automatic == {"ACTAB": 50, "PREA": 49}
    assert timing.bank_utilisation == pytest.approx(50 * 32 * 4 / timing.cycles)


def test_rows_opened_by_the_program_are_not_opened_again():
    p = Program()
    p.command("ACTAB", row=7)
    p.command("MAC_AB", row=7, column=0)
    p.command("PREA")
    p.command("ACTAB", row=8)
    p.command("ACTAB", row=9)
    timing = time_program(p, HBM3)
    assert timing.automatic == {"PREA": 1}
    assert timing.issue_cycles("ACTAB").tolist() == [0, 64, 128]
    assert timing.issue_cycles("PREA", automatic=False).tolist() == [45]
    assert timing.issue_cycles("PREA", automatic=True).tolist() == [109]


# Plain accesses ----------------------------------------------------------------------------------------------------


def stream(op, rows):
    """Reads or writes of whole rows over all bank groups, the next row's banks opened while this row's move."""
    p = Program()
    groups = list(product(range(4), range(2), range(2)))

    def column(op, bank, row, c):
        for group, rank, pc in groups:
            p.command(op, pseudo_channel=pc, rank=rank, bank_group=group, bank=bank, row=row, column=c)

    with p.loop(rows) as row:
        for bank in range(2):
            following = {"bank": 1 - bank, "row": row + bank}
            for c, (group, rank, pc) in enumerate(groups):
                column(op, bank, row, c)
                p.command("ACT", pseudo_channel=pc, rank=rank, bank_group=group, **following)
            with p.loop(15) as c:
                column(op, bank, row, c + 16)
            column(op + "A", bank, row, 31)
    return p


@pytest.mark.parametrize("op", ["RD", "WR"])
def test_plain_streams_reach_the_peak(op):
    timing = time_program(stream(op, 64), HBM3)
    assert timing.bus_utilisation["data"] > 0.95
    moved = 64 * 2 * 16 * HBM3.row_bytes
    assert moved / (timing.time_ns * 1e-9) > 0.95 * HBM3.channel_bytes_per_s
    assert 16 * HBM3.channel_bytes_per_s == pytest.approx(665.8e9, rel=1e-3)  # 1024 pins at 5.2 Gb/s
    refreshed = time_program(stream(op, 64), HBM3, refresh=True)
    # Refresh takes tRFC of every tREFI, and an in-order program opens its banks again one after the other.
    assert 0.8 < refreshed.bus_utilisation["data"] < 1 - 456 / 5070


def test_turning_the_bus_costs_what_the_formulas_say():
    p = Program()
    at = {"pseudo_channel": 0, "rank": 0, "bank_group": 0, "bank": 0, "row": 0}
    for column, op in enumerate(["RD", "WR", "RD"]):
        p.command(op, column=column, **at)
    timing = time_program(p, HBM3)
    read, write, again = 19, 19 + (19 + 2 + 2 - 6), 19 + 17 + (6 + 2 + 11)
    assert timing.issue_cycles("RD").tolist() == [read, again]
    assert timing.issue_cycles("WR").tolist() == [write]
    assert timing.cycles == again + 19 + 2


def test_four_activations_per_window():
    p = Program()
    with p.loop(2) as bank, p.loop(4) as group:
        p.command("ACT", pseudo_channel=0, rank=0, bank_group=group, bank=bank, row=0)
    cycles = time_program(p, HBM3).issue_cycles("ACT")
    assert cycles.tolist() == [0, 2, 4, 6, 39, 41, 43, 45]


# Energy ------------------------------------------------------------------------------------------------------------


def test_energy_of_a_whole_row_is_attaccs_figure_per_byte():
    p = Program()
    with p.loop(32) as c:
        p.command("MAC_AB", row=0, column=c)
    timing = time_program(p, HBM3)
    assert timing.energy_pj["total"] == pytest.approx(4.4 * 64 * 1024)
    assert timing.energy_pj["row"] == pytest.approx(0.11 * 8 * 64 * 1024)
    for op, per_byte in (("RD", 28.72), ("MAC_SB", 12.48), ("MAC_PB", 26.32)):
        command = HBM3.commands[op]
        energy = energy_pj({command.activate: 1, op: 32}, HBM3)
        assert energy["total"] == pytest.approx(per_byte * command.banks * 1024)


def test_energy_is_counted_per_command():
    a = energy_pj({"ACT": 3, "RD": 5}, HBM3)
    assert a["row"] == pytest.approx(3 * 1024 * 0.88)
    assert a["cell"] == pytest.approx(5 * 32 * 3.52)
    assert a["datapath"] == pytest.approx(5 * 32 * (8.08 + 9.84))
    assert a["io"] == pytest.approx(5 * 32 * 6.4)
    assert a["total"] == pytest.approx(a["row"] + a["cell"] + a["datapath"] + a["io"])


def test_the_stack_is_the_one_of_the_paper():
    assert HBM3.banks == 64 and HBM3.channels == 16
    assert HBM3.channels * HBM3.banks * HBM3.rows * HBM3.row_bytes == 16 << 30
    table = {
        "nRP": 19,
        "nRCDRD": 19,
        "nRAS": 45,
        "nRRDL": 4,
        "nCCDS": 2,
        "nCCDL": 4,
        "nWR": 21,
        "nREFI": 5070,
        "nFAW": 39,
    }  # PAM, Table 1
    assert {name: HBM3.parameters[name] for name in table} == table
    assert HBM3.at(power_limit=False).parameters["nCCDAB"] == 4
