"""Each kind of memory that ships: a stream reaches its peak, a row conflict costs what the timings say; flash and NVMe
in closed form."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import available, load_memory
from bankside.models.memory import time_program
from bankside.models.memory.channel import Channel
from bankside.models.memory.streams import stream_arrivals, stream_program
from bankside.models.program import Program

DRAM = [name for name in available() if {"ACT", "PRE", "RD", "WR"} <= load_memory(name).commands.keys()]


def gap(memory, first, at, second, then):
    """Cycles from a command to the first in which another may follow it."""
    channel = Channel(memory)
    one, other = channel.target(first, at), channel.target(second, then)
    channel.issue(one, 1000)
    return channel.earliest(other) - 1000


# Reads and writes of DRAM -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["RD", "WR"])
@pytest.mark.parametrize("name", DRAM)
def test_a_stream_reaches_the_peak_of_every_dram(name, op):
    memory = load_memory(name)
    timing = time_program(stream_program(memory, op, 12), memory)
    moved = timing.commands[op] * memory.commands[op].bus_bytes
    assert moved / (timing.time_ns * 1e-9) > 0.95 * memory.channel_bytes_per_s
    assert timing.bus_utilisation["data"] == pytest.approx(moved / (timing.time_ns * 1e-9) / memory.channel_bytes_per_s)


@pytest.mark.parametrize("name", [name for name in DRAM if load_memory(name).refresh])
def test_refresh_takes_its_share_of_a_stream(name):
    memory = load_memory(name)
    timing = time_program(stream_program(memory, "RD", 16), memory, refresh=True)
    assert timing.bus_utilisation["data"] > 0.85


@pytest.mark.parametrize("name", DRAM)
def test_a_row_conflict_costs_what_the_timings_say(name):
    memory = load_memory(name)
    t = memory.parameters
    cycle = max(t["nRC"], t["nRAS"] + t["nRP"])
    expected = {
        "RD": max(cycle, t.get("nRCDRD", t.get("nRCD")) + t.get("nRTPL", t.get("nRTP")) + t["nRP"]),
        "WR": max(cycle, t.get("nRCDWR", t.get("nRCD")) + t["nCWL"] + t["nBL"] + t["nWR"] + t["nRP"]),
    }
    for op, period in expected.items():
        p = Program()
        with p.loop(100) as row:
            p.command(op, **dict.fromkeys(memory.commands[op].scope, 0), row=row, column=0)
        timing = time_program(p, memory)
        assert timing.row_conflicts == 99 and timing.row_misses == 1
        issued = timing.issue_cycles(op)
        assert issued[-1] - issued[0] == 99 * period


#: Chips, nRFC in ns, and currents in mA: IDD0, IDD2N, IDD3N, IDD4R, IDD4W, IDD5 of DDR4 chips of 8 Gb.
CURRENTS = {
    "ddr4-3200": (8, 550, 57, 37, 52, 168, 150, 250),
    "ddr4-3200-jedec": (8, 360, 57, 37, 52, 168, 150, 250),
    "ddr4-3200-jedec-x16": (4, 360, 95, 37, 56, 302, 278, 280),
    "ddr4-2400": (4, 360, 80, 34, 47, 243, 228, 280),
}


@pytest.mark.parametrize("name", CURRENTS)
def test_energy_of_ddr4_is_that_of_its_currents(name):
    chips, refresh_ns, idd0, idd2n, idd3n, idd4r, idd4w, idd5 = CURRENTS[name]
    memory = load_memory(name)
    ns = {key: memory.parameters[key] * memory.clock_ps / 1000 for key in ("nRC", "nRAS", "nRP", "nBL", "nRFC")}
    assert ns["nRFC"] == pytest.approx(refresh_ns)
    row = chips * 1.2 * (idd0 * ns["nRC"] - idd3n * ns["nRAS"] - idd2n * ns["nRP"])
    expected = {
        "ACT": {"row": row},
        "RD": {"column": chips * 1.2 * (idd4r - idd3n) * ns["nBL"]},
        "WR": {"column": chips * 1.2 * (idd4w - idd3n) * ns["nBL"]},
        "REFAB": {"refresh": chips * 1.2 * (idd5 - idd3n) * ns["nRFC"]},
        "PRE": {},
    }
    for op, energy in expected.items():
        assert memory.commands[op].energy_pj == pytest.approx(energy), op


@pytest.mark.parametrize(
    "name", [name for name in available() if not any(c.energy_pj for c in load_memory(name).commands.values())]
)
def test_energy_that_no_source_states_is_not_zero_but_absent(name):
    memory = load_memory(name)
    p = Program()
    p.command("RD", **dict.fromkeys(memory.commands["RD"].scope, 0), row=0, column=0)
    assert time_program(p, memory).energy_pj == {}


# The speed grades of HBM3 -------------------------------------------------------------------------------------------

#: Presets of the AttAcc simulator: clock (ps), refresh (cycles), one row of 32 all-bank MACs with and without power limit.
GRADES = {
    "4.8": (833, 421, 31 * 6 + 8 + 17 + 17, 31 * 4 + 42),
    "5.2": (769, 456, 232, 31 * 4 + 46),
    "5.6": (714, 491, 31 * 6 + 9 + 20 + 20, 31 * 4 + 49),
    "6.0": (666, 526, 31 * 6 + 9 + 21 + 21, 31 * 4 + 51),
    "6.4": (625, 560, 31 * 7 + 10 + 23 + 23, 31 * 4 + 56),
}


@pytest.mark.parametrize("grade", GRADES)
def test_speed_grades_of_hbm3(grade):
    memory = load_memory(f"hbm3-{grade}")
    period_ps, refresh, limited, unlimited = GRADES[grade]
    assert (memory.clock_ps, memory.parameters["nRFC"]) == (period_ps, refresh)
    assert memory.parameters["nREFI"] == round(3.9e-6 * float(grade) * 250e6)
    for power_limit, expected in ((True, limited), (False, unlimited)):
        p = Program()
        with p.loop(50) as row, p.loop(32) as column:
            p.command("MAC_AB", row=row, column=column)
        timing = time_program(p, memory, power_limit=power_limit)
        first = timing.issue_cycles("MAC_AB")[::32]
        assert set((first[1:] - first[:-1]).tolist()) == {expected}


def test_same_bank_macs_of_the_grades():
    intervals = {grade: load_memory(f"hbm3-{grade}").parameters["nCCDSB"] for grade in GRADES}
    assert intervals == {"4.8": 6, "5.2": 6, "5.6": 7, "6.0": 7, "6.4": 8}
    assert {load_memory(f"hbm3-{grade}").at(False).parameters["nCCDSB"] for grade in GRADES} == {4}


def test_a_grade_has_the_commands_of_the_one_it_is_based_on():
    base, fast = load_memory("hbm3-5.2"), load_memory("hbm3-6.4")
    assert fast.commands.keys() == base.commands.keys() and len(fast.constraints) == len(base.constraints)
    assert fast.commands["MAC_AB"].energy_pj == base.commands["MAC_AB"].energy_pj
    assert fast.commands["RD"].latency == fast.parameters["nCL"] + 2 == 25


# LPDDR5X ------------------------------------------------------------------------------------------------------------


def test_lpddr5x_is_half_a_terabyte_at_one_terabyte_per_second():
    memory = load_memory("lpddr5x-8533")
    assert memory.channels * memory.banks * memory.rows * memory.row_bytes == 512 << 30
    assert memory.channels * memory.channel_bytes_per_s == pytest.approx(1.0923e12, rel=1e-4)


def test_lpddr5x_has_the_nanoseconds_of_lpddr5():
    """In whole cycles of 0.9375 ns; latencies are 17 and 9 cycles of 1.25 ns at 6400 Mb/s."""
    ns = {
        "nRCD": 18,
        "nRP": 18,
        "nRPab": 21,
        "nRAS": 42,
        "nWR": 34,
        "nWTRS": 6.25,
        "nWTRL": 12,
        "nRTP": 7.5,
        "nRRD": 5,
        "nFAW": 20,
        "nCL": 21.25,
        "nCWL": 11.25,
        "nRFCab": 280,
        "nRFCpb": 140,
        "nPBR2PBR": 90,
        "nPBR2ACT": 7.5,
    }
    memory = load_memory("lpddr5x-8533")
    assert {name: memory.parameters[name] for name in ns} == {name: math.ceil(t / 0.9375) for name, t in ns.items()}
    assert memory.parameters["nREFI"] == int(3906 / 0.9375)  # no later than that


#: Commands of LPDDR5X and the cycles between them: in one bank, in another bank of the group, group of the rank, rank.
LPDDR5X_GAPS = {
    ("ACT", "ACT"): (65, 6, 6, 2),
    ("ACT", "RD"): (20, 2, 2, 2),
    ("ACT", "WR"): (20, 2, 2, 2),
    ("ACT", "PRE"): (45, 2, 2, 2),
    ("ACT", "REFPB"): (65, 8, 8, 2),
    ("PRE", "ACT"): (20, 1, 1, 1),
    ("PRE", "PRE"): (2, 2, 2, 1),
    ("PRE", "REFPB"): (20, 1, 1, 1),
    ("RD", "RD"): (4, 4, 2, 4),
    ("WR", "WR"): (4, 4, 2, 2),
    ("RD", "WR"): (15, 15, 15, 15),
    ("WR", "RD"): (27, 27, 21, 1),
    ("RD", "PRE"): (8, 1, 1, 1),
    ("WR", "PRE"): (51, 1, 1, 1),
    ("RDA", "ACT"): (28, 1, 1, 1),
    ("WRA", "ACT"): (71, 1, 1, 1),
    ("RDA", "REFPB"): (28, 1, 1, 1),
    ("WRA", "REFPB"): (71, 1, 1, 1),
    ("REFPB", "ACT"): (150, 8, 8, 1),
    ("REFPB", "REFPB"): (96, 96, 96, 1),
    ("RDA", "WRA"): (15, 15, 15, 15),
}
#: The same of a bank and a whole rank: from the bank to its rank, from the rank to the bank, to another rank's bank.
LPDDR5X_RANK_GAPS = {
    ("ACT", "PREAB"): 45,
    ("RD", "PREAB"): 8,
    ("WR", "PREAB"): 51,
    ("RDA", "PREAB"): 28,
    ("WRA", "PREAB"): 71,
    ("PRE", "PREAB"): 2,
    ("ACT", "REFAB"): 65,
    ("PRE", "REFAB"): 20,
    ("RDA", "REFAB"): 28,
    ("WRA", "REFAB"): 71,
    ("REFPB", "REFAB"): 150,
    ("PREAB", "ACT"): 23,
    ("PREAB", "REFPB"): 23,
    ("PREAB", "PRE"): 2,
    ("REFAB", "ACT"): 299,
    ("REFAB", "REFPB"): 299,
    ("PREAB", "REFAB"): 23,
    ("REFAB", "REFAB"): 299,
}


def test_what_follows_what_on_lpddr5x():
    memory = load_memory("lpddr5x-8533")
    places = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]
    assert {(a, b): tuple(gap(memory, a, places[0], b, at) for at in places) for a, b in LPDDR5X_GAPS} == LPDDR5X_GAPS
    at = {
        op: [0 if level in command.scope else None for level in memory.levels]
        for op, command in memory.commands.items()
    }
    assert {(a, b): gap(memory, a, at[a], b, at[b]) for a, b in LPDDR5X_RANK_GAPS} == LPDDR5X_RANK_GAPS


def test_four_activations_of_a_rank():
    memory = load_memory("lpddr5x-8533")
    p = Program()
    for bank, group in product(range(2), range(4)):
        p.command("ACT", rank=0, bank_group=group, bank=bank, row=0)
    assert time_program(p, memory).issue_cycles("ACT").tolist() == [0, 6, 12, 18, 24, 30, 36, 42]  # nFAW 22 < 4 nRRD


def test_a_burst_of_32_is_two_of_16_in_the_places_that_interleave():
    memory = load_memory("lpddr5x-8533")
    p = Program()
    for row in range(2):
        for column in (0, 1):
            for group in (0, 1):
                p.command("RD", rank=0, bank_group=group, bank=0, row=0, column=2 * row + column)
    at = time_program(p, memory).issue_cycles("RD")
    # After both rows are open: two groups in turn, each every 4 cycles (8 for both halves), the bus never idle.
    assert (at[1:] - at[:-1]).tolist()[1:] == [2] * 6


def test_refresh_of_one_bank_leaves_the_others_alone():
    memory = load_memory("lpddr5x-8533")
    p = Program()
    p.command("REFPB", rank=0, bank_group=0, bank=0)
    p.command("RD", rank=0, bank_group=1, bank=0, row=0, column=0)
    p.command("RD", rank=0, bank_group=0, bank=0, row=0, column=0)
    t = memory.parameters
    assert time_program(p, memory).issue_cycles("RD").tolist() == [t["nPBR2ACT"] + t["nRCD"], t["nRFCpb"] + t["nRCD"]]


# Flash --------------------------------------------------------------------------------------------------------------

FLASH = load_memory("flash-nand")
PAGE, COLUMN = 16384, 512  # cycles on the bus, too: a byte each
ARRAY = 72000  # 30 us
READ, SHORT, LOAD = 7 * 60, 60, 6 * 60  # a command's bytes, 25 ns each
SELECT = 7 * 60 + 720 + 72  # another die's data: command, change of column, preamble
TURN, POST = 240, 51  # after data out, after data in
LATENCY = READ + 240 + ARRAY + 48 + 72  # from READ to its first byte
PROGRAM = SHORT + 240 + 480000


def page(p, op, die, row, plane=0):
    with p.loop(32) as column:
        p.command(op, die=die, plane=plane, row=row, column=column)


def dies(tmp_path, count, planes=1):
    path = tmp_path / f"flash-{count}-{planes}.yaml"
    path.write_text(
        f"name: flash-{count}-{planes}\nbased_on: flash-nand\nsource: test\n"
        f"organisation: {{levels: {{die: {count}, plane: {planes}}}, source: test}}\n"
    )
    return load_memory(path)


#: Cycles from a command of die 0 to one of die 1, and to one of die 0.
OTHER_DIE = {
    ("READ", "READ"): READ,
    ("NEXT", "READ"): SHORT,
    ("LAST", "LOAD"): SHORT,
    ("PROG", "LOAD"): SHORT,
    ("LOAD", "READ"): LOAD,
    ("ERASE", "READ"): 300,
    ("RD", "NEXT"): COLUMN + TURN,
    ("RD", "WR"): COLUMN + TURN,
    ("WR", "LOAD"): COLUMN + POST,
    ("WR", "WR"): COLUMN,
    ("READ", "RD"): READ + SELECT,
    ("LAST", "RD"): SHORT + SELECT,
    ("PROG", "RD"): SHORT + SELECT,
    ("LOAD", "RD"): LOAD + SELECT,
    ("ERASE", "RD"): 300 + SELECT,
    ("RD", "RD"): COLUMN + TURN + SELECT,
    ("WR", "RD"): COLUMN + POST + SELECT,
}
SAME_DIE = {
    ("RD", "RD"): COLUMN,
    ("WR", "WR"): COLUMN,
    ("WR", "RD"): COLUMN + POST,
    ("READ", "RD"): LATENCY,
    ("READ", "NEXT"): READ + 240 + ARRAY,
    ("READ", "ERASE"): READ + 240 + ARRAY,
    ("NEXT", "LAST"): ARRAY,
    ("NEXT", "READ"): ARRAY,
    ("NEXT", "LOAD"): ARRAY,
    ("NEXT", "ERASE"): ARRAY,
    ("NEXT", "FREE"): SHORT + 7200,
    ("RD", "FREE"): COLUMN,
    ("LOAD", "WR"): LOAD + 168,
    ("PROG", "READ"): PROGRAM,
    ("PROG", "ERASE"): PROGRAM,
    ("ERASE", "LOAD"): 300 + 240 + 4_800_000,
    ("FREE", "READ"): 1,
}


def test_what_follows_what_on_a_flash_channel():
    assert {pair: gap(FLASH, pair[0], (0, 0), pair[1], (1, 0)) for pair in OTHER_DIE} == OTHER_DIE
    assert {pair: gap(FLASH, pair[0], (0, 0), pair[1], (0, 0)) for pair in SAME_DIE} == SAME_DIE


def test_planes_of_a_die(tmp_path):
    memory = dies(tmp_path, 2, planes=2)
    assert gap(memory, "RD", (0, 0), "RD", (0, 1)) == COLUMN + TURN + SELECT
    assert gap(memory, "READ", (0, 0), "READ", (0, 1)) == READ  # independent
    assert gap(memory, "PROG", (0, 0), "READ", (0, 1)) == PROGRAM  # not so


def test_the_flash_is_the_one_of_the_paper():
    assert FLASH.channels * FLASH.banks * FLASH.rows * FLASH.row_bytes == 64 * 256 << 30
    assert FLASH.channel_bytes_per_s == pytest.approx(2.4e9)
    assert FLASH.parameters["nR"] * FLASH.clock_ps == pytest.approx(30e6)


def test_latency_of_a_page():
    p = Program()
    page(p, "RD", 0, 5)
    timing = time_program(p, FLASH)
    assert timing.issue_cycles("RD")[0] == LATENCY and timing.cycles == LATENCY + PAGE
    assert timing.time_ns == pytest.approx(30_000 + 7 * 25 + 100 + 20 + 30 + 16384 / 2.4)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8])
def test_reads_without_cache_are_bound_by_array_or_bus(tmp_path, count):
    p = Program()
    for die in range(count):
        p.command("READ", die=die, plane=0, row=0)
    with p.loop(200) as row:
        for die in range(count):
            page(p, "RD", die, row)
            p.command("READ", die=die, plane=0, row=row + 1)
    timing = time_program(p, dies(tmp_path, count))
    reads = timing.issue_cycles("RD")[:: 32 * count]
    of_a_die = LATENCY + PAGE + TURN
    of_the_bus = count * (PAGE + TURN + READ + SELECT)
    assert set((reads[50:] - reads[49:-1]).tolist()) == {max(of_a_die, of_the_bus)}
    assert (of_the_bus > of_a_die) == (count >= 5)
    assert len(timing.schedule.ops) < 10_000 * count  # jumped


def cached(count, pages):
    """Cache reads: a die's next page is on its way from the array while pages of all dies cross the bus."""
    p = Program()
    for die in range(count):
        p.command("READ", die=die, plane=0, row=0)
    for die in range(count):
        p.command("NEXT", die=die, plane=0, row=0)
    with p.loop(pages) as row:
        for die in range(count):
            page(p, "RD", die, row)
            p.command("NEXT", die=die, plane=0, row=row + 1)
    return p


def test_latency_of_a_cache_read():
    p = Program()
    p.command("READ", die=0, plane=0, row=0)
    p.command("NEXT", die=0, plane=0, row=0)
    page(p, "RD", 0, 0)
    p.command("LAST", die=0, plane=0, row=1)
    page(p, "RD", 0, 1)
    timing = time_program(p, FLASH)
    first, second = timing.issue_cycles("NEXT")[0], timing.issue_cycles("LAST")[0]
    assert first == READ + 240 + ARRAY + 1  # 1: FREE
    assert second == first + ARRAY  # the array read on meanwhile
    copy = SHORT + 7200 + 48 + 72
    assert timing.issue_cycles("RD")[::32].tolist() == [first + copy, second + copy]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_cache_reads_reach_the_rate_of_the_array_or_the_bus(tmp_path, count):
    timing = time_program(cached(count, 300), dies(tmp_path, count))
    reads = timing.issue_cycles("RD")[:: 32 * count]
    assert set((reads[50:] - reads[49:-1]).tolist()) == {
        max(ARRAY, count * (PAGE + TURN + SHORT + SELECT * (count > 1)))
    }


def test_the_whole_ssd_reaches_the_papers_rate():
    timing = time_program(cached(4, 1000), FLASH)
    rate = timing.commands["RD"] * COLUMN / (timing.time_ns * 1e-9)
    assert rate == pytest.approx(4 * PAGE / 30e-6, rel=2e-3)  # 2.18 GB/s
    assert rate > 0.9 * FLASH.channel_bytes_per_s
    assert 8 * rate == pytest.approx(17.5e9, rel=5e-3)  # an SSD of 8 channels
    assert FLASH.channels * rate == pytest.approx(139.8e9, rel=2e-3)


def test_planes_that_read_independently_fill_the_bus(tmp_path):
    memory = dies(tmp_path, 4, planes=2)
    p = Program()
    for die, plane in product(range(4), range(2)):
        p.command("READ", die=die, plane=plane, row=0)
    with p.loop(100) as row:
        for plane, die in product(range(2), range(4)):
            page(p, "RD", die, row, plane)
            p.command("READ", die=die, plane=plane, row=row + 1)
    timing = time_program(p, memory)
    reads = timing.issue_cycles("RD")[:: 32 * 8]
    assert set((reads[50:] - reads[49:-1]).tolist()) == {8 * (PAGE + TURN + READ + SELECT)}


@pytest.mark.parametrize("count", [1, 4])
def test_programs_are_bound_by_the_array(count):
    p = Program()
    with p.loop(50) as row:
        for die in range(count):
            page(p, "WR", die, row)
            p.command("PROG", die=die, plane=0)
    timing = time_program(p, FLASH)
    writes = timing.issue_cycles("PROG")[::count]
    assert set((writes[1:] - writes[:-1]).tolist()) == {PROGRAM + LOAD + 168 + PAGE + POST}
    assert timing.automatic == {"LOAD": 50 * count}


def test_reads_go_on_beside_a_program():
    """Die 0 programs a page every 7 array reads of dies 1 to 3, which keep their rate."""
    p = Program()
    for die in (1, 2, 3):
        p.command("READ", die=die, plane=0, row=0)
    for die in (1, 2, 3):
        p.command("NEXT", die=die, plane=0, row=0)
    with p.loop(60) as turn:
        page(p, "WR", 0, turn)
        p.command("PROG", die=0, plane=0)
        with p.loop(7) as row:
            for die in (1, 2, 3):
                page(p, "RD", die, 7 * turn + row)
                p.command("NEXT", die=die, plane=0, row=7 * turn + row + 1)
    timing = time_program(p, FLASH)
    programs = timing.issue_cycles("PROG")
    assert set((programs[5:] - programs[4:-1]).tolist()) == {7 * ARRAY}
    assert 3 * (PAGE + TURN + SHORT + SELECT) + LOAD + 168 + PAGE + POST + SHORT < ARRAY  # why: the bus has time left
    assert 7 * ARRAY > PROGRAM + LOAD + 168 + PAGE + POST  # and so has die 0


def test_a_read_behind_a_program_or_an_erasure_waits_for_it():
    for op, operands, busy in (("PROG", {}, PROGRAM), ("ERASE", {"block": 3}, 5 * 60 + 240 + 4_800_000)):
        p = Program()
        p.command(op, die=2, plane=0, **operands)
        page(p, "RD", 3, 0)
        page(p, "RD", 2, 0)
        issued = time_program(p, FLASH).issue_cycles("RD")
        assert issued[0] < 80_000  # another die
        assert issued[32] == busy + LATENCY


def test_stepping_through_flash_gives_the_same():
    a, b = (time_program(cached(4, 20), FLASH, mode=mode) for mode in ("jump", "step"))
    assert a == b


# NVMe with a peer-to-peer link --------------------------------------------------------------------------------------

NVME = load_memory("nvme-smartssd")


def test_what_follows_what_on_the_link():
    block = 4096 + 16 * 24
    table = {
        ("RD", "RD", 1): 7293,
        ("RD", "RDC", 1): block,
        ("RDC", "RD", 1): block,
        ("RDC", "RDC", 0): block,
        ("WR", "WR", 1): block,
        ("WR", "RD", 1): 1,
        ("WR", "PROG", 0): block,
        ("WR", "FREE", 0): block,
        ("RD", "FREE", 0): block,
        ("SENSE", "RD", 0): 275_692,
        ("PROG", "LOAD", 0): 2_064_889,
        ("PROG", "SENSE", 1): 1,
    }
    assert {key: gap(NVME, key[0], (0,), key[1], (key[2],)) for key in table} == table


def test_latency_of_one_block_at_a_time():
    p = Program()
    p.command("RD", die=0, row=7, column=0)
    assert time_program(p, NVME).time_ns == pytest.approx(85_000, abs=1)  # random: from the array
    p.command("RD", die=0, row=7, column=1)
    timing = time_program(p, NVME)
    issued = timing.issue_cycles("RD")
    assert (timing.cycles - issued[1]) * NVME.clock_ps == pytest.approx(15e6, rel=1e-4)  # sequential: from the buffer


def test_pages_of_one_die_in_turn():
    p = Program()
    with p.loop(20) as row:
        p.command("RD", die=3, row=row, column=0)
    timing = time_program(p, NVME)
    issued = timing.issue_cycles("RD")
    t = NVME.parameters
    assert set((issued[1:] - issued[:-1]).tolist()) == {t["nBLOCK"] + 1 + t["nREAD"]}  # 1: FREE
    assert timing.row_conflicts == 19


def test_a_stream_fills_the_link():
    p = Program()
    for die in range(64):
        p.command("SENSE", die=die, row=0)
    with p.loop(40) as row:
        for die in range(64):
            with p.loop(4) as block:
                p.command("RDC", die=die, row=row, column=block)
            p.command("SENSE", die=(die - 1) % 64, row=row + 1 if die else row)
    timing = time_program(p, NVME)
    assert timing.bus_utilisation["data"] > 0.9
    blocks = timing.issue_cycles("RDC")
    assert set((blocks[300:] - blocks[299:-1]).tolist()) == {4096 + 16 * 24}
    link = 4 * 8e9 * 128 / 130 / 8  # PCIe 3.0 x4, bytes of a second
    assert link == pytest.approx(3.94e9, rel=1e-3)
    assert NVME.channel_bytes_per_s == pytest.approx(link * 256 / 280)


def test_single_blocks_reach_the_drives_rate_of_commands():
    p = Program()
    for die in range(64):
        p.command("SENSE", die=die, row=0)
    with p.loop(40) as row:
        for die in range(64):
            p.command("RD", die=die, row=row, column=0)
            p.command("SENSE", die=die, row=row + 1)
    timing = time_program(p, NVME)
    issued = timing.issue_cycles("RD")
    rate = 1e12 / ((issued[-1] - issued[640]) / (len(issued) - 641) * NVME.clock_ps)
    assert rate == pytest.approx(540_000, rel=1e-3)


def test_writes_are_bound_by_the_flash():
    p = Program()
    with p.loop(50) as row:
        for die in range(64):
            with p.loop(4) as block:
                p.command("WR", die=die, row=row, column=block)
            p.command("PROG", die=die)
    timing = time_program(p, NVME)
    issued = timing.issue_cycles("PROG")[::64]
    period = (issued[-1] - issued[10]) / 39 * NVME.clock_ps * 1e-12
    assert 64 * 16384 / period == pytest.approx(2e9, rel=0.02)


def test_reading_and_writing_use_different_directions_of_the_link():
    p = Program()
    p.command("SENSE", die=0, row=0)
    p.command("RDC", die=0, row=0, column=0)
    p.command("WR", die=1, row=0, column=0)
    timing = time_program(p, NVME)
    assert timing.issue_cycles("WR")[0] - timing.issue_cycles("RDC")[0] == 1


# Jumping is exact ---------------------------------------------------------------------------------------------------


@st.composite
def programs(draw):
    """A memory, and loops of its commands at addresses and rows that move or do not."""
    memory = load_memory(
        draw(st.sampled_from(["flash-nand", "nvme-smartssd", "lpddr5x-8533", "ddr4-2400", "hbm3-6.4"]))
    )
    p = Program()

    def body(indices, depth):
        for _ in range(draw(st.integers(1, 3))):
            if depth < 2 and draw(st.booleans()):
                with p.loop(draw(st.integers(1, 9))) as index:
                    body([*indices, index], depth + 1)
            else:
                command = memory.commands[draw(st.sampled_from(sorted(memory.commands)))]
                operands = {level: draw(st.integers(0, min(memory.levels[level], 3) - 1)) for level in command.scope}
                if command.has_row or "row" in command.operands:
                    operands["row"] = draw(st.integers(0, 2)) + sum(
                        draw(st.integers(0, 1)) * index for index in indices
                    )
                p.command(command.name, **operands | dict.fromkeys(set(command.operands) - {"row"}, 0))

    body([], 0)
    return memory, p


@given(programs(), st.booleans())
@settings(max_examples=60)
def test_jumping_gives_what_stepping_gives(case, refresh):
    memory, program = case
    refresh = refresh and memory.refresh is not None
    a, b = (time_program(program, memory, refresh=refresh, mode=mode) for mode in ("jump", "step"))
    assert a == b
    for op in memory.commands:
        assert a.issue_cycles(op).tolist() == b.issue_cycles(op).tolist()


# Arrival of a stream --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ddr4-2400", "nvme-smartssd", "hbm3-5.2"])
def test_words_of_a_stream_come_in_order_at_the_rate_of_the_memory(name):
    memory = load_memory(name)
    count = 3 * memory.column_bytes // 64 + 20_000
    came = stream_arrivals(memory, count, 64)
    rate = 64 * (count - 1) / (came[-1] - came[0]) * 1e12
    assert len(came) == count and (np.diff(came) >= 0).all()
    most = memory.channel_bytes_per_s
    assert 0.8 * most < rate <= 1.001 * most


def test_words_of_a_block_of_a_drive_come_one_after_the_other():
    """The first word of a block is there when the block has been on the link for a 64th of its time."""
    came = stream_arrivals(NVME, 130, 64)
    block = (4096 + 16 * 24) * NVME.clock_ps
    assert np.allclose(np.diff(came), block / 64)
    p = Program()
    p.command("RDC", die=0, row=0, column=0)
    assert came[63] == pytest.approx(time_program(p, NVME).cycles * NVME.clock_ps, rel=1e-3)


def test_a_stream_longer_than_the_memory_is_refused():
    with pytest.raises(ConfigError, match="ddr4-2400 does not hold"):
        stream_arrivals(load_memory("ddr4-2400"), 1 << 27, 64)
