"""Plain reads and writes: Ramulator's cycles for streams by formula, legal commands only, what a trace may look like."""

import gzip
import itertools
import json
import os
import random
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import available, load_memory
from bankside.constraints.memory.memory import FOLDER
from bankside.models.memory import plan
from bankside.models.memory.channel import Channel
from bankside.models.memory.mapping import MAPPINGS, Location, address_mapping
from bankside.models.memory.request_reader import read_requests
from bankside.models.memory.requests import CONTROLLERS, Controller, RequestFrontEnd, Requests

PLAIN = [name for name in available() if {"RD", "WR"} <= load_memory(name).commands.keys()]


def reads(addresses):
    addresses = np.asarray(addresses, np.int64)
    return Requests(addresses, np.zeros(len(addresses), bool))


def alternating(addresses):
    return Requests(np.asarray(addresses, np.int64), np.arange(len(addresses)) % 2 == 1)


N = np.arange(8192)
DDR4, X16, GDDR6, HBM2, HBM5 = "ddr4-3200-jedec", "ddr4-3200-jedec-x16", "gddr6-2000", "hbm3-2.0", "hbm3-5.2"
GIB = 1 << 30


def drawn(count=8192, skip=0, seed=12345, step=1):
    """Numbers below 2^30 by Python's generator, rounded down to multiples of ``step``."""
    draw = random.Random(seed)
    return np.array([draw.randrange(GIB) for _ in range(skip + count)][skip:]) // step * step


def anywhere(access):
    return reads(drawn() // access * access)


def mixed(access):
    """Every third one writes."""
    return Requests(drawn(skip=8192) // access * access, np.arange(8192) % 3 == 2)


def runs(access, skip):
    """Sixteen neighbours, anywhere."""
    return reads(np.repeat(drawn(512, skip, step=16 * access), 16) + N % 16 * access)


#: Cycles and row hits, misses and conflicts of Ramulator 2.0 (branch legacy/v2.0a, commit be93be7): at most one request a
#: cycle; the time until the last is accepted.
RAMULATOR = [
    (DDR4, "RoBaRaCoCh", reads(N * 64), 60401, (8089, 70, 0)),
    (DDR4, "RoBaRaCoCh", anywhere(64), 38580, (0, 99, 8069)),
    (DDR4, "RoBaRaCoCh", reads(N * 256), 40575, (7894, 116, 149)),
    (DDR4, "RoBaRaCoCh", reads(N * 4096), 34521, (3268, 846, 4048)),
    (DDR4, "RoBaRaCoCh", reads(N * 8192), 36466, (0, 59, 8118)),
    (DDR4, "RoBaRaCoCh", alternating(N * 64), 58864, (8064, 71, 0)),
    (DDR4, "RoBaRaCoCh", mixed(64), 44490, (1, 953, 7211)),
    (DDR4, "RoBaRaCoCh", runs(64, 16384), 39701, (7598, 152, 409)),
    (DDR4, "RoBaRaCoCh", reads(N * 262144 % GIB), 649961, (0, 36, 8123)),
    (DDR4, "RoBaRaCoCh", reads(N % 2 * 262144 + N // 2 % 128 * 64), 74773, (8031, 5, 123)),
    (DDR4, "MOP4CLXOR", reads(N * 64), 34281, (7816, 137, 206)),
    (DDR4, "MOP4CLXOR", anywhere(64), 38642, (1, 95, 8070)),
    (DDR4, "ChRaBaRoCo", reads(N * 64), 71705, (8090, 6, 63)),
    (DDR4, "ChRaBaRoCo", anywhere(64), 329871, (1, 32, 8127)),
    (X16, "RoBaRaCoCh", reads(N * 64), 53713, (8090, 37, 32)),
    (X16, "RoBaRaCoCh", anywhere(64), 103493, (1, 41, 8120)),
    (X16, "RoBaRaCoCh", runs(64, 16384), 45817, (7513, 160, 486)),
    (GDDR6, "RoBaRaCoCh", reads(N * 64), 22690, (8094, 32, 0)),
    (GDDR6, "RoBaRaCoCh", anywhere(64), 56134, (12, 32, 8109)),
    (GDDR6, "RoBaRaCoCh", reads(N * 256), 42609, (8095, 16, 48)),
    (GDDR6, "RoBaRaCoCh", reads(N * 4096), 32982, (7136, 16, 1007)),
    (GDDR6, "RoBaRaCoCh", reads(N * 8192), 44360, (6118, 16, 2032)),
    (GDDR6, "RoBaRaCoCh", alternating(N * 64), 22690, (8095, 32, 0)),
    (GDDR6, "RoBaRaCoCh", mixed(64), 59683, (11, 497, 7614)),
    (GDDR6, "RoBaRaCoCh", runs(64, 16384), 21801, (6744, 396, 992)),
    # Ramulator's addresses count 16 bytes for an access of this memory's 32.
    (HBM2, "RoBaRaCoCh", reads(N * 32), 16340, (7903, 32, 224)),
    (HBM2, "RoBaRaCoCh", reads(drawn(step=16) * 2 % GIB), 30113, (0, 32, 8131)),
    (HBM2, "RoBaRaCoCh", reads(N * 2048), 32629, (0, 16, 8152)),
    (HBM2, "RoBaRaCoCh", alternating(N * 32), 18773, (7835, 87, 224)),
]


@pytest.mark.parametrize("memory, mapping, requests, cycles, rows", RAMULATOR)
def test_cycles_of_ramulator(memory, mapping, requests, cycles, rows):
    # Its all-bank refresh does nothing for memories without ranks.
    controller = replace(CONTROLLERS["ramulator"], refresh=memory in (DDR4, X16))
    channels = {GDDR6: 2}.get(memory, 1)
    timing = RequestFrontEnd(memory, controller, mapping, channels=channels).run(requests)
    assert (timing.cycles, (timing.row_hits, timing.row_misses, timing.row_conflicts)) == (cycles, rows)
    assert timing.reads + timing.writes == len(N)


def test_cycles_with_other_timings(tmp_path):
    """PAM's intervals of activations in the same memory."""
    text = (FOLDER / f"{DDR4}.yaml").read_text()
    path = tmp_path / "pam.yaml"
    path.write_text(text.replace("nRRDL: 8, nFAW: 34", "nRRDL: 6, nFAW: 26"))
    front_end = RequestFrontEnd(load_memory(path), "ramulator")
    assert front_end.run(reads(N * 64)).cycles == 60401
    timing = front_end.run(anywhere(64))
    assert (timing.cycles, timing.row_hits, timing.row_misses, timing.row_conflicts) == (37058, 1, 76, 8090)


#: Cycles of the AttAcc simulator's HBM3 (5.2 Gb/s, two ranks): as many requests a cycle as the queues take, to the end.
ATTACC = [
    (1, "HBM3-Custom", True, reads(N * 32), 8866),
    (1, "HBM3-Custom", False, reads(N * 32), 8451),
    (1, "HBM3-Custom", True, anywhere(32), 26872),
    (1, "HBM3-Custom", True, reads(N * 128), 17851),
    (1, "HBM3-Custom", True, reads(N * 2048), 18076),
    (1, "HBM3-Custom", True, reads(N * 8192), 72003),
    (1, "HBM3-Custom", True, reads(N * 65536), 576479),
    (1, "HBM3-Custom", True, reads(N % 32 * 256 + N // 32 * 65536), 47845),
    (1, "HBM3-Custom", True, alternating(N * 32), 17402),
    (1, "HBM3-Custom", True, mixed(32), 28850),
    (1, "HBM3-Custom", True, runs(32, 16384), 16923),
    (1, "HBM3-Base", True, reads(N * 32), 47845),
    (1, "HBM3-Base", True, anywhere(32), 26980),
    (16, "HBM3-Custom", True, reads(np.arange(65536) * 32), 4211),
    (16, "HBM3-Custom", True, reads(drawn(32768, seed=99, step=32)), 7359),
]


@pytest.mark.parametrize("channels, mapping, refresh, requests, cycles", ATTACC)
def test_cycles_of_attaccs_hbm3(channels, mapping, refresh, requests, cycles):
    controller = replace(CONTROLLERS["attacc-simulator"], refresh=refresh)
    timing = RequestFrontEnd(HBM5, controller, mapping, channels=channels).run(requests)
    assert timing.cycles == cycles
    assert timing.commands["RD"] + timing.commands.get("WR", 0) == len(requests.addresses)


# What a controller does ------------------------------------------------------------------------------------------------


def generated(seed, count, size, access):
    """Runs of neighbours, jumps back to recent places, and anything: by a fixed generator."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, count)
    places = rng.integers(0, size // access, count)
    for k in range(1, count):
        if kind[k] < 2:
            places[k] = (places[k - 1] + kind[k]) % (size // access)
        elif kind[k] == 2:
            places[k] = places[rng.integers(max(k - 20, 0), k)]
    return Requests(places * access, rng.random(count) < 0.4)


def replayed(front_end, requests):
    """Time and log of requests, each command checked with the in-order engine's channel: timings, rows, buses."""
    dual = front_end.controller.dual_issue
    memory, log = front_end.memory, []
    if dual is not None:
        memory = replace(memory, dual_issue=dual)
    timing = front_end.run(requests, log=log.append)
    log = np.concatenate(log)
    targets = {}
    channels = [Channel(memory) for _ in range(front_end.channels)]
    for name, numbers in front_end.targets.items():
        levels = memory.commands[name].scope
        for index, number in enumerate(numbers.tolist()):
            place = (
                dict(zip(levels, np.unravel_index(index, [memory.levels[x] for x in levels]), strict=True))
                if levels
                else {}
            )
            targets[number] = (name, [int(place[x]) if x in place else None for x in memory.levels])
    rows = np.full((front_end.channels, memory.banks), -1)
    for cycle, mask, number, row in log.tolist():
        which = mask.bit_length() - 1
        target = channels[which].target(*targets[number])
        assert channels[which].earliest(target) <= cycle, (cycle, targets[number])
        channels[which].issue(target, cycle)
        rule = target.command.row
        if rule == "needs":
            assert (rows[which, target.banks] == row).all()
        elif rule in ("opens", "closed"):
            assert (rows[which, target.banks] == -1).all()
        if rule == "opens":
            rows[which, target.banks] = row
        elif rule == "closes":
            rows[which, target.banks] = -1
    return timing, log


CASES = [(name, order) for name in PLAIN for order in ("fr-fcfs", "in-order")]


@pytest.mark.parametrize("name, order", CASES)
def test_every_command_is_legal_and_every_request_is_served_once(name, order):
    memory = load_memory(name)
    channels = min(memory.channels, 2)
    front_end = RequestFrontEnd(memory, Controller(order=order), channels=channels)
    requests = generated(len(name), 400, front_end.mapping.bytes, front_end.mapping.access_bytes)
    timing, log = replayed(front_end, requests)
    count = timing.commands
    assert count.get("RD", 0) + timing.forwarded == timing.reads
    assert count["WR"] == timing.writes
    assert timing.row_hits + timing.row_misses + timing.row_conflicts == count.get("RD", 0) + count["WR"]
    assert timing.cycles >= log[-1, 0] and (np.diff(log[:, 0]) >= 0).all()
    assert timing.energy_pj.keys() >= {"total"} or not memory.commands["RD"].energy_pj


@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.sampled_from([DDR4, GDDR6, HBM2]),
    st.integers(1, 8),
    st.integers(2, 8),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 1, 2]),
)
def test_controllers_of_any_size(seed, name, reading, writing, opened, protect, dual, rate):
    controller = Controller(
        reading, writing, opened, writing, writing // 3, rate, protect_hits=protect, dual_issue=dual
    )
    front_end = RequestFrontEnd(name, controller, channels=1)
    size = min(front_end.mapping.bytes, 1 << 24)
    timing, _ = replayed(front_end, generated(seed, 120, size, front_end.mapping.access_bytes))
    assert timing.commands.get("RD", 0) + timing.forwarded + timing.commands.get("WR", 0) == 120


def test_groups_that_targets_share_are_the_same(monkeypatch):
    """The plan of a large memory (few groups, many a target) and of a small one (a group each) say the same."""
    for name, controller in ((DDR4, "ramulator"), (HBM5, "attacc-simulator"), (HBM5, "default")):
        alone = RequestFrontEnd(name, controller, channels=1)
        monkeypatch.setattr(plan, "_TELLS", 0)
        shared = RequestFrontEnd(name, controller, channels=1)
        monkeypatch.undo()
        assert shared.plan.what.shape[1] > alone.plan.what.shape[1]
        requests = generated(1, 3000, 1 << 22, 64)
        assert alone.run(requests) == shared.run(requests)


def test_the_same_without_a_compiler():
    """Cycles, counts and logs of the interpreted functions; a fresh process, since compiling is decided on import."""
    program = """
import json, numpy as np
from bankside.models.memory.requests import RequestFrontEnd, Requests
rng = np.random.default_rng(7)
for name, controller in (("ddr4-3200-jedec", "ramulator"), ("hbm3-5.2", "attacc-simulator"), ("hbm3-5.2", "default")):
    front_end = RequestFrontEnd(name, controller, channels=1)
    requests = Requests(rng.integers(0, 1 << 14, 500) * 64, rng.random(500) < 0.3)
    log = []
    timing = front_end.run(requests, log=log.append)
    print(json.dumps([timing.cycles, timing.commands, timing.row_hits, timing.row_conflicts, timing.read_latency,
                      np.concatenate(log).tolist()]))
"""
    answers = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"BANKSIDE_INTERPRETED": value},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for value in ("", "1")
    ]
    assert answers[0] == answers[1]
    assert [json.loads(line)[0] > 500 for line in answers[0].splitlines()] == [True] * 3


def low_first(memory):
    """Neighbours in other channels, on other buses, in other groups of banks; then all banks before the next row."""
    levels = [level for level in memory.command("RD").scope if level != "bank_group"]
    bus = list(memory.levels).index(memory.bus) + 1 if memory.bus in memory.levels else 0
    own = [level for level in levels if list(memory.levels).index(level) < bus]
    groups = ["bank_group"] if "bank_group" in memory.command("RD").scope else []
    return " ".join(["row", *(level for level in levels if level not in own), "column", *groups, *own, "channel"])


#: What drives and flash give is told by their own tests: whole pages, and a link behind them.
@pytest.mark.parametrize("name", [name for name in PLAIN if name not in ("flash-nand", "nvme-smartssd")])
def test_a_stream_reaches_nine_tenths_of_the_peak(name):
    """Apart from refresh, with neighbours in other groups of banks."""
    memory = load_memory(name)
    front_end = RequestFrontEnd(memory, Controller(refresh=False), low_first(memory), channels=1)
    for write in (False, True):
        timing = front_end.run(Requests(np.arange(20000) * front_end.mapping.access_bytes, np.full(20000, write)))
        assert 0.9 < timing.bytes_per_s / memory.channel_bytes_per_s <= 1.0, write


def test_refresh_takes_its_share():
    memory = load_memory(DDR4)
    requests = reads(np.arange(40000) * 64)
    with_it = RequestFrontEnd(memory, Controller(), low_first(memory)).run(requests)
    without = RequestFrontEnd(memory, Controller(refresh=False), low_first(memory)).run(requests)
    due = with_it.cycles // memory.refresh.interval
    assert with_it.commands["REFAB"] == 2 * due > 0
    # Nothing moves while the rank that is read refreshes.
    assert 0.8 < (with_it.cycles - without.cycles) / (due * memory.parameters["nRFC"]) < 1.3


def test_out_of_order_beats_in_order_on_row_conflicts():
    """Two rows of a bank in turn: out of order a queue full of one row is read at once."""
    step = address_mapping(load_memory(DDR4)).addresses(Location(*(np.array([x]) for x in (0, 0, 1, 0))))[0]
    requests = reads((N % 2) * step + N // 2 % 128 * 64)
    timings = {order: RequestFrontEnd(DDR4, Controller(order=order)).run(requests) for order in ("fr-fcfs", "in-order")}
    assert timings["in-order"].row_conflicts > 8000 > 10 * timings["fr-fcfs"].row_conflicts
    assert timings["in-order"].cycles > 4 * timings["fr-fcfs"].cycles
    assert timings["in-order"].read_latency > timings["fr-fcfs"].read_latency


def test_one_request():
    memory = load_memory(DDR4)
    front_end = RequestFrontEnd(memory)
    p = memory.parameters
    timing = front_end.run(reads([64]))
    # The first cycle that issues is cycle 1.
    assert (timing.cycles, timing.read_latency) == (1 + p["nRCD"] + p["nCL"] + p["nBL"],) * 2
    assert (timing.commands, timing.row_misses, timing.bytes) == ({"ACT": 1, "RD": 1}, 1, 64)
    assert timing.time_ns == timing.cycles * 0.625
    timing = front_end.run(Requests(np.array([64]), np.array([True])))
    assert timing.cycles == 1 + p["nRCD"] + p["nCWL"] + p["nBL"] and timing.read_latency == 0
    timing = front_end.run(Requests(np.array([64, 128]), np.zeros(2), np.array([1000, 1500])))
    assert timing.cycles == 1501 + p["nCL"] + p["nBL"] and timing.row_hits == 1
    assert timing.read_latency == 1 + p["nCL"] + p["nBL"] + p["nRCD"] / 2
    assert front_end.run([]).cycles == 0


def test_a_read_is_answered_from_a_queued_write():
    requests = Requests(np.array([0, 64, 0, 4096]), np.array([True, False, False, False]))
    timing = RequestFrontEnd(DDR4).run(requests)
    assert timing.forwarded == 1 and timing.commands["RD"] == 2 and timing.reads == 3
    timing = RequestFrontEnd(DDR4, Controller(forward=False)).run(requests)
    assert timing.forwarded == 0 and timing.commands["RD"] == 3


@settings(max_examples=20)
@given(
    st.integers(0, 100),
    st.lists(st.integers(0, 50), max_size=8),
    st.sampled_from(["default", "ramulator", "attacc-simulator"]),
)
def test_blocks_make_no_difference(seed, sizes, controller):
    front_end = RequestFrontEnd(HBM2, controller, channels=2)
    whole = generated(seed, 300, 1 << 20, 32)
    cuts = np.cumsum([0, *sizes, 300]).clip(0, 300)
    parts = [Requests(whole.addresses[a:b], whole.writes[a:b]) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
    assert front_end.run(parts) == front_end.run(whole)


# Mappings --------------------------------------------------------------------------------------------------------------


#: Mappings that a memory can't have, and why.
REFUSED = {
    ("flash-nand", "HBM3-Custom"): r"die is missing \(parts: (channel, )?die, row, column\)",
    ("nvme-smartssd", "HBM3-Custom"): r"die is missing \(parts: (channel, )?die, row, column\)",
    ("nvme-smartssd", "MOP4CLXOR"): "row has 3814697 values, which is no power of 2",
}


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_mappings_that_a_memory_is_refused(channels):
    """Each of these and no other, whatever the number of channels."""
    for name, order in itertools.product(PLAIN, MAPPINGS):
        memory = load_memory(name)
        if (name, order) in REFUSED:
            with pytest.raises(ConfigError, match=f"^address mapping '{order}' for {name}: {REFUSED[name, order]}$"):
                address_mapping(memory, order, channels=channels)
        else:
            assert address_mapping(memory, order, channels=channels).sizes["channel"] == channels


@settings(max_examples=60)
@given(st.data())
def test_mappings_are_bijective(data):
    memory = load_memory(data.draw(st.sampled_from(PLAIN)))
    channels = data.draw(st.sampled_from([1, 2, 4]))
    levels = memory.command("RD").scope
    if data.draw(st.booleans()):
        order = data.draw(st.sampled_from([order for order in sorted(MAPPINGS) if (memory.name, order) not in REFUSED]))
    else:
        parts = ["channel", *levels, "row", "column"]
        if memory.columns % 4 == 0 and data.draw(st.booleans()):
            parts.append("column:2")
        order = " ".join(data.draw(st.permutations(parts)))
    mapping = address_mapping(memory, order, channels=channels)
    assert (
        mapping.bytes
        == channels * np.prod([memory.levels[x] for x in levels]) * memory.rows * memory.columns * mapping.access_bytes
    )
    last = mapping.bytes // mapping.access_bytes - 1
    lines = np.array(data.draw(st.lists(st.integers(0, last), min_size=1, max_size=50)))
    where = mapping.locations(lines * mapping.access_bytes + mapping.access_bytes - 1)
    assert (mapping.addresses(where) == lines * mapping.access_bytes).all()
    assert where.row.max() < memory.rows and where.column.max() < memory.columns and where.channel.max() < channels
    assert len({*zip(*(part.tolist() for part in where), strict=True)}) == len(set(lines.tolist()))


def test_mappings_by_hand():
    memory = load_memory(DDR4)

    def parts(order, address, **options):
        return {k: int(v[0]) for k, v in address_mapping(memory, order, **options).parts(np.array([address])).items()}

    nothing = {"channel": 0, "rank": 0, "bank_group": 0, "bank": 0, "row": 0, "column": 0}
    assert parts("RoBaRaCoCh", 127 * 64) == nothing | {"column": 127}
    assert parts("RoBaRaCoCh", (1 << 13) + (3 << 14) + (2 << 16) + (9 << 18)) == nothing | {
        "rank": 1,
        "bank_group": 3,
        "bank": 2,
        "row": 9,
    }
    assert parts("ChRaBaRoCo", 5 << 13) == nothing | {"row": 5}
    # Two bits of the column, rank, group, bank, five of the column, row; the column's are excluded into the others.
    assert parts("MOP4CLXOR", 0b11 << 6) == nothing | {"column": 3, "rank": 1, "bank_group": 1}
    assert parts("MOP4CLXOR", 1 << 13) == nothing | {"column": 4, "bank_group": 2}
    assert parts("Ro Ba BG Ra Co Ch", 1 << 13) == parts("RoBaBgRaCoCh", 1 << 13) == nothing | {"rank": 1}
    assert parts("row Ba Co BG Ra Co:3", 8 << 6) == nothing | {"rank": 1}
    assert str(address_mapping(memory, "Ro Ba Co BG Ra Co:3")) == "row bank column:4 bank_group rank column:3"


@pytest.mark.parametrize(
    "order, reason",
    [
        ("Ro Ba Ra Co", "bank_group is missing"),
        ("Ro Ba BG Ra Co pCH", "unknown part 'pseudo_channel'"),
        ("Ro Ba BG Ra Xy Co", "unknown part 'Xy'"),
        ("Ro Ba BG Ra Co Co", "column appears twice"),
        ("Ro Ba BG Ra Co:2", "column has 128 values, not 4"),
        ("Ro Ba BG Ra Co Co:9", "column has 128 values, which its bits do not divide"),
        ("", "rank is missing"),
        ("Ro:1", "row has 65536 values, not 2"),
    ],
)
def test_wrong_mappings(order, reason):
    with pytest.raises(ConfigError, match=rf"^address mapping '{order}' for ddr4-3200-jedec: {reason}"):
        address_mapping(load_memory(DDR4), order)


# Traces ----------------------------------------------------------------------------------------------------------------


def written(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "line",
    [
        lambda a, w, n: f"{'ST' if w else 'LD'} {a}",
        lambda a, w, n: f"{'ST' if w else 'LD'} {a:#x}",
        lambda a, w, n: f"{'W' if w else 'R'}\t0X{a:X}",
        lambda a, w, n: f"{a:#x} {'WRITE' if w else 'READ'} {3 * n}",
        lambda a, w, n: f"  {a} {'W' if w else 'R'} \r",
        lambda a, w, n: f"ld {a} # load" if not w else f"\nst {a:#x}",
    ],
)
def test_formats(tmp_path, line):
    front_end = RequestFrontEnd(DDR4)
    whole = generated(3, 30000, 1 << 30, 64)
    text = "".join(line(a, w, n) + "\n" for n, (a, w) in enumerate(zip(*(x.tolist() for x in whole[:2]), strict=True)))
    for path in (written(tmp_path / "t", text), written(tmp_path / "t.gz", gzip.compress(text.encode()))):
        blocks = list(read_requests(path, front_end))
        assert len(blocks) > 1
        assert (np.concatenate([b.addresses for b in blocks]) == whole.addresses).all()
        assert (np.concatenate([b.writes for b in blocks]) == whole.writes).all()
        if blocks[0].cycles is not None:
            assert (np.concatenate([b.cycles for b in blocks]) == 3 * np.arange(30000)).all()


GOOD = "LD 64\nST 0x80\n" * 3


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", ": an empty file"),
        ("\n\n # nothing\n", ": nothing but empty lines"),
        (GOOD + "LDD 64\n", ":7: unknown operation 'LDD'; did you mean 'LD'? (valid: LD, ST)"),
        (GOOD + "64 LD\n", ":7: unknown operation '64' (valid: LD, ST)"),
        (GOOD + "LD 6x4\n" + GOOD, ":7: address must be a number, not '6x4'"),
        (GOOD + "LD 0x\n", ":7: address must be a number, not '0x'"),
        (GOOD + "LD 0x12G\n", ":7: address must be a number, not '0x12G'"),
        (GOOD + "LD -64\n", ":7: address -64 is negative"),
        (GOOD + "LD " + "9" * 30 + "\n", f":7: address {'9' * 30} is more than 62 bits"),
        (GOOD + "LD 0x400000000\n", ":7: address 0x400000000 is outside the memory of 0x400000000 bytes"),
        ("# first\n" + GOOD + "LD 17179869184\n", ":8: address 0x400000000 is outside the memory of 0x400000000 bytes"),
        (GOOD + "LD 64 5\n", ":7: 3 words from 'LD' on; must be LD|ST ADDRESS"),
        (GOOD + "LD\n", ":7: 1 word from 'LD' on; must be LD|ST ADDRESS"),
        (GOOD + "LD", ":7: 1 word from 'LD' on; must be LD|ST ADDRESS"),
        ("0x40 READ 5\n0x40 RAED 6\n", ":2: unknown operation 'RAED'; did you mean 'READ'? (valid: R, READ, W, WRITE)"),
        ("0x40 READ 5\n0x40 READ x\n", ":2: cycle must be a number, not 'x'"),
        ("0x40\n", ":1: 1 word from '0x40' on; must be ADDRESS READ|WRITE|R|W [CYCLE]"),
        ("hello world\n", ":1: 'hello' begins no request (LD|ST ADDRESS, R|W ADDRESS, ADDRESS READ|WRITE|R|W [CYCLE])"),
        (b"\x7fELF\x02\x01\x01\x00" + bytes(range(256)) * 20, ":1: "),
        (GOOD.encode() + b"LD \xff\xfe\x00\n", ":7: address must be a number, not "),
        (GOOD + "LD 1" + " " * 5000 + "\n", ":7: more than 4096 bytes in a line; not a trace"),
    ],
)
def test_wrong_traces(tmp_path, text, reason):
    path = written(tmp_path / "trace", text)
    with pytest.raises(ConfigError) as error:
        list(read_requests(path, RequestFrontEnd(DDR4)))
    message = str(error.value)
    assert message.startswith(f"{path}{reason}") and "\n" not in message, message


def test_a_pipe_is_refused(tmp_path):
    """It may never begin, and could not be read twice."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match=r"pipe: a trace is a regular file, this is a FIFO$"):
        list(read_requests(path))


def test_wrong_format_and_missing_file(tmp_path):
    with pytest.raises(ConfigError, match=r"^unknown format 'ram' \(valid: address-first, load-store, read-write\)$"):
        list(read_requests(tmp_path / "trace", form="ram"))
    with pytest.raises(ConfigError, match="no such file"):
        list(read_requests(tmp_path / "trace"))
    path = written(tmp_path / "trace", "R 64\n")
    with pytest.raises(ConfigError, match=r"trace:1: unknown operation 'R'"):
        list(read_requests(path, form="load-store"))


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"controller": Controller, "reads": 0}, "controller: reads must be 1 to 4096, not 0"),
        (
            {"controller": Controller, "low": 26},
            "controller: low 26, high 26, writes 32: must be 0 <= low < high <= writes",
        ),
        ({"controller": Controller, "order": "frfcfs"}, "controller: unknown order 'frfcfs'; did you mean 'fr-fcfs'?"),
        ({"controller": Controller, "quirks": "ram"}, "controller: unknown quirks 'ram'; did you mean 'ramulator'?"),
        ({"memory": DDR4, "controller": "defautl"}, "unknown controller 'defautl'; did you mean 'default'?"),
        ({"memory": DDR4, "channels": 0}, "ddr4-3200-jedec: channels must be 1 to 4096, not 0"),
    ],
)
def test_wrong_controllers(options, reason):
    with pytest.raises(ConfigError) as error:
        if options.get("controller") is Controller:
            Controller(**{k: v for k, v in options.items() if k != "controller"})
        else:
            RequestFrontEnd(**options)
    assert str(error.value).startswith(reason)


def test_an_address_outside_the_memory():
    with pytest.raises(ConfigError, match="^ddr4-3200-jedec: address 0x400000000 is outside the memory of"):
        RequestFrontEnd(DDR4).run(reads([0, 1 << 34]))


def test_a_trace_without_a_last_newline_is_read(tmp_path):
    """Editors and scripts leave it out. The requests are the same."""
    whole, bare = tmp_path / "whole.trace", tmp_path / "bare.trace"
    whole.write_text("LD 0x40\nLD 0x80\n")
    bare.write_text("LD 0x40\nLD 0x80")
    for path in (whole, bare):
        assert [address for block in read_requests(path) for address in block.addresses.tolist()] == [64, 128]
