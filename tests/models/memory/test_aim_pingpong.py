"""AiM channels with two sets of buffers: against hazards read off the rules cycle by cycle, and by hand."""

import os
import subprocess
import sys

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import load_memory
from bankside.models.memory.aim import FrontEnd, channel_mask
from bankside.models.memory.aim_pingpong import PingPong
from bankside.models.program import Program

MASK = channel_mask(16)
COMMAND = {"WR_GB": "WRGB", "MAC_ABK": "MAC16", "RD_MAC": "RDMAC16"}


@pytest.fixture(scope="module")
def machine():
    return PingPong(FrontEnd())


def by_the_rules(memory, program):
    """Cycles and commands: every cycle, the older of the two queues' heads that may issue does. Sets of buffers are
    numbered by their use (fill 0, 1, ...; results 0, 1, ...), number n being in set n % 2."""
    turn = memory.parameters["nMODCH"]
    queues = {"host": [], "units": []}
    fill = result = -1
    last, read = None, True
    for age, (op, at) in enumerate(program.expand()):
        if op == "WR_GB" and last != "WR_GB":
            fill += 1
        if op == "MAC_ABK" and read:
            result, read = result + 1, False
        if op == "RD_MAC":
            read = True
        if op != "RD_MAC":
            last = op
        entry = {
            "op": op,
            "age": age,
            "left": at.get("opsize", 1),
            "row": at.get("row"),
            "fill": fill,
            "result": result,
        }
        queues["units" if op == "MAC_ABK" else "host"].append(entry)
    entries, products = queues["host"] + queues["units"], list(queues["units"])
    issued, counts, open_row, clock, end = {}, {}, None, 0, 0

    def through(who):
        """Whether all of these instructions issued long enough ago."""
        return all(e["left"] == 0 and e["done"] + turn + 1 <= clock for e in who)

    def may(e):
        if e["op"] == "WR_GB":
            return through(x for x in products if x["fill"] <= e["fill"] - 2)
        if e["op"] == "RD_MAC":
            return through(x for x in products if x["result"] <= e["result"] and x["age"] < e["age"])
        return through(x for x in entries if x["op"] == "WR_GB" and x["fill"] <= e["fill"]) and through(
            x for x in entries if x["op"] == "RD_MAC" and x["result"] <= e["result"] - 2
        )

    while queues["host"] or queues["units"]:
        clock += 1
        for e in sorted((q[0] for q in queues.values() if q), key=lambda e: e["age"]):
            own = COMMAND[e["op"]]
            name = own if e["row"] is None or e["row"] == open_row else "ACT16" if open_row is None else "PREA"
            legal = all(
                issued.get(c_from, -(10**9)) + c.cycles <= clock
                for c in memory.constraints
                if c.window == 1 and name in c.to
                for c_from in c.from_
            )
            if not legal or (name == own and not may(e)):
                continue
            issued[name] = clock
            counts[name] = counts.get(name, 0) + 16
            if name == "ACT16":
                open_row = e["row"]
            elif name == "PREA":
                open_row = None
            else:
                e["left"] -= 1
                end = clock + 1
                if not e["left"]:
                    e["done"] = clock
                    del queues["units" if e["op"] == "MAC_ABK" else "host"][0]
            break
    return end, counts


def random_program(rng, length=24):
    p = Program()
    p.command("WR_GB", opsize=int(rng.integers(1, 65)), gpr=0, mask=MASK)
    for _ in range(length):
        kind = rng.choice(3, p=(0.25, 0.45, 0.3))
        if kind == 0:
            p.command("WR_GB", opsize=int(rng.integers(1, 65)), gpr=0, mask=MASK)
        elif kind == 1:
            p.command("MAC_ABK", opsize=int(rng.integers(1, 65)), mask=MASK, row=int(rng.integers(0, 3)))
        else:
            p.command("RD_MAC", gpr=0, mask=MASK)
    return p


@pytest.mark.parametrize("seed", range(12))
def test_against_the_rules(machine, seed):
    program = random_program(np.random.default_rng(seed))
    timing = machine.time(program)
    assert (timing.cycles, timing.commands) == by_the_rules(machine.memory, program)


def gemv(spans, outputs, vectors, columns=64):
    p = Program()
    with p.loop(vectors):
        with p.loop(spans) as span:
            p.command("WR_GB", opsize=columns, gpr=0, mask=MASK)
            with p.loop(outputs) as output:
                p.command("MAC_ABK", opsize=columns, mask=MASK, row=span * outputs + output)
                p.command("RD_MAC", gpr=0, mask=MASK)
    return p


@pytest.mark.parametrize("shape", [(1, 1, 9), (1, 3, 30), (4, 2, 100), (2, 5, 11), (1, 1, 50, 3)])
def test_loops_are_those_of_all_their_iterations(machine, shape):
    """A loop whose state comes back is not run to its end; the answer is the same."""
    program = gemv(*shape)
    whole = machine._answer(*machine._timed(program.body)[:3])
    assert machine.time(program) == whole
    repeated = machine._repeated(program.body[0])
    assert repeated is not None and repeated == whole


def test_transfers_hide_behind_products(machine):
    """Rows of 64 products: with one set of buffers their input and result add, with two only the first and last do."""
    memory = load_memory("gddr6-aim")
    per_row = 63 * 2 + 12 + 32 + 56  # products, then to the first of the next row
    one = [FrontEnd().time(gemv(1, n, 1)).cycles for n in (10, 11)]
    two = [machine.time(gemv(1, n, 1)).cycles for n in (10, 11)]
    assert two[1] - two[0] == per_row
    # One set: two changes of mode, in which the 12 before the precharge pass, and 5 for a result that the host waits for.
    switch = memory.parameters["nMODCH"]
    assert one[1] - one[0] == per_row - 12 + 2 * switch + 5


def test_refresh_takes_its_time():
    calm, refreshing = PingPong(FrontEnd()), PingPong(FrontEnd(refresh=True))
    program = gemv(2, 32, 4)
    a, b = calm.time(program), refreshing.time(program)
    memory = calm.memory
    assert b.commands["REFAB"] // 16 == b.cycles // memory.refresh.interval
    assert b.cycles > a.cycles + b.commands["REFAB"] // 16 * memory.parameters["nRFC"]
    for name in ("MAC16", "WRGB", "RDMAC16"):
        assert a.commands[name] == b.commands[name]


def test_what_has_no_meaning_is_refused(machine):
    p = Program()
    p.command("W_MEM", channel=0, bank=0, row=0)
    with pytest.raises(
        ConfigError, match=r"^gddr6-aim: with two sets of buffers only WR_GB, WR_BIAS, MAC_ABK and RD_MAC"
    ):
        machine.time(p)
    with pytest.raises(ConfigError, match=r"^the AiM simulator has no double buffers"):
        PingPong(FrontEnd(quirks="aim-simulator"))


def test_interpreted_it_is_the_same():
    program = """
from bankside.models.memory.aim import FrontEnd
from bankside.models.memory.aim_pingpong import PingPong
from bankside.models.program import Program
for refresh in (False, True):
    p = Program()
    with p.loop(12):
        p.command("WR_GB", opsize=40, gpr=0, mask=0xffff0000)
        with p.loop(3) as i:
            p.command("MAC_ABK", opsize=50, mask=0xffff0000, row=i)
            p.command("RD_MAC", gpr=0, mask=0xffff0000)
    timing = PingPong(FrontEnd(refresh=refresh)).time(p)
    print(timing.cycles, timing.commands)
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
    assert answers[0] == answers[1] and answers[0].count("RDMAC16") == 2
