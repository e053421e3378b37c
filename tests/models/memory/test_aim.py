"""Programs and traces of AiM devices: cycles as the public simulator counts them, by closed forms and by hand."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import load_memory
from bankside.models.cent import BlockMapping, block_program
from bankside.models.memory.aim import ALL_CHANNELS, FrontEnd, channel_mask
from bankside.models.memory.aim_trace import read_trace
from bankside.models.program import Program


@pytest.fixture(scope="module")
def simulator():
    return FrontEnd(quirks="aim-simulator")


def trace(tmp_path, front_end, *lines, end=True):
    path = tmp_path / "t.aim"
    path.write_text("".join(f"{line}\n" for line in (*lines, *(["AiM EOC"] if end else []))))
    return front_end.run(list(read_trace(path, front_end)))


@pytest.mark.parametrize("mask", [ALL_CHANNELS, channel_mask(1)])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_closed_forms(tmp_path, simulator, n, mask):
    """Cycles of n accesses from closed rows, whatever the number of channels."""
    channels = bin(mask).count("1")
    for lines, cycles, command, count in (
        ([f"AiM MAC_ABK {n} {mask:#x} 3"], 57 + 2 * n, "MAC16", n),
        ([f"AiM WR_GB {n} 0 {mask:#x}"], 35 + 2 * n, "WRGB", n),
        ([f"AiM WR_BIAS 0 {mask:#x}"] * n, 35 + 2 * n, "WRMAC16", n),
        ([f"AiM RD_MAC 0 {mask:#x}"] * n, 34 + 3 * n, "RDMAC16", n),
        ([f"AiM COPY_BKGB {n} {mask:#x} 5 1"], 67 + 2 * n, "RDCP", n),
        ([f"AiM COPY_GBBK {n} {mask:#x} 5 1"], 49 + 2 * n, "WRCP", n),
        ([f"AiM EWMUL {n} {mask:#x} 1"], 26 + 2 * n, "EWMUL16", n),
    ):
        timing = trace(tmp_path, simulator, *lines)
        assert (timing.cycles, timing.commands[command]) == (cycles, count * channels), lines[0]


def test_ends_and_synchronisation(tmp_path, simulator):
    assert trace(tmp_path, simulator).cycles == 2
    assert trace(tmp_path, simulator, *["AiM SYNC"] * 5).cycles == 12
    # The simulator's quirk: the end does not wait for a write that has only opened its row.
    assert trace(tmp_path, simulator, "AiM WR_SBK 0 0x80000000 0 0").cycles == 3
    plain = FrontEnd()
    assert trace(tmp_path, plain, "AiM WR_SBK 0 0x80000000 0 0").commands == {"ACT": 1, "WR": 1}


def test_another_row_costs_a_precharge_and_an_activation(tmp_path, simulator):
    lines = [f"AiM MAC_ABK 8 0xffffffff {row}" for row in range(6)]
    timing = trace(tmp_path, simulator, *lines)
    # Between rows: read to precharge 12, precharge 32, activation to MAC 56, less the interval of accesses.
    assert timing.cycles == 57 + 16 + 5 * (16 + 12 + 32 + 56 - 2)
    assert timing.commands == {"ACT16": 6 * 32, "PREA": 5 * 32, "MAC16": 48 * 32}


def random_program(rng):
    p = Program()

    def command(*index):
        kind = rng.integers(0, 5)
        row = int(rng.integers(0, 3)) + sum(int(rng.integers(0, 2)) * i for i in index)
        if kind == 0:
            p.command("WR_GB", opsize=int(rng.integers(1, 5)), gpr=0, mask=ALL_CHANNELS)
        elif kind == 1:
            p.command("MAC_ABK", opsize=int(rng.integers(1, 9)), mask=ALL_CHANNELS, row=row)
        elif kind == 2:
            p.command("RD_MAC", gpr=0, mask=channel_mask(int(rng.integers(1, 33))))
        elif kind == 3:
            p.command("W_MEM", channel=int(rng.integers(0, 32)), bank=int(rng.integers(0, 16)), row=row)
        else:
            p.command("COPY_BKGB", opsize=2, mask=channel_mask(4, 8), bank=int(rng.integers(0, 16)), row=row)

    def commands(count, *index):
        for _ in range(count):
            command(*index)

    for _ in range(2):
        with p.loop(int(rng.integers(1, 40))):
            commands(2)
        with p.loop(int(rng.integers(1, 4))) as i:
            commands(1, i)
            with p.loop(int(rng.integers(1, 12))) as j:
                commands(1, i, j)
        with p.loop(int(rng.integers(1, 9))) as i:
            commands(int(rng.integers(1, 12)), i)
            with p.loop(int(rng.integers(1, 90))):
                commands(1)
    return p


def straight(front_end, program):
    """Cycles and counts of the instructions one after the other."""
    timing = front_end.run([front_end._unrolled(program.body), front_end._end.code])
    return timing.cycles, timing.commands, timing.instructions


@pytest.mark.parametrize("quirks", ["aim-simulator", None])
def test_pieces_that_are_looked_up_change_nothing(quirks):
    """Loops by repetition of states, pieces from memory, rows by number: the same as the instructions in order. The front
    end remembers all that it has seen, so that programs meet each other's pieces, on other rows."""
    front_end = FrontEnd(quirks=quirks)
    for seed in range(8):
        program = random_program(np.random.default_rng(seed))
        for row in (0, 0, 1, 700):
            moved = Program()
            moved.extend(program, row=row)
            timing = front_end.time(moved)
            assert (timing.cycles, timing.commands, timing.instructions) == straight(front_end, moved)


def test_a_refresh_that_is_due_between_two_pieces_is_not_lost():
    """Among 30 intervals, some refreshes fall due exactly in the cycle in which a piece ends."""
    memory = load_memory("gddr6-aim")
    for interval in range(1400, 1430):
        often = replace(memory, refresh=replace(memory.refresh, interval=interval))
        front_end = FrontEnd(often, refresh=True)
        for seed in (1, 2):
            program = random_program(np.random.default_rng(seed))
            timing = front_end.time(program)
            assert (timing.cycles, timing.commands, timing.instructions) == straight(front_end, program), interval


@pytest.mark.parametrize(
    "mapping",
    [
        BlockMapping(hidden=512, heads=4, kv_heads=2, ffn=768, channels=4, max_tokens=256),
        BlockMapping(hidden=2048, heads=16, kv_heads=16, ffn=1024, channels=8, devices=2, max_tokens=512),
    ],
    ids=["4", "8x2"],
)
def test_positions_of_a_block(mapping):
    """Blocks at many positions, which share most of their pieces."""
    front_end = FrontEnd(quirks="aim-simulator")
    for tokens in [1, 2, 63, 64, 65, 100, 129, mapping.max_tokens - 1, mapping.max_tokens]:
        program = block_program(mapping, tokens)
        timing = front_end.time(program)
        assert (timing.cycles, timing.commands, timing.instructions) == straight(front_end, program)
        ends = front_end.stage_ends(program)
        assert list(ends) == list(timing.stages) and ends["tail"] == timing.cycles


def test_the_same_without_a_compiler():
    """Interpreted functions; a fresh process, since compiling is decided on import."""
    program = """
import json
from bankside.models.cent import BlockMapping, block_program
from bankside.models.memory.aim import FrontEnd
program = block_program(BlockMapping(hidden=256, heads=2, kv_heads=2, ffn=256, channels=2, max_tokens=64), 33)
for options in ({"quirks": "aim-simulator"}, {}, {"refresh": True}):
    timing = FrontEnd(**options).time(program)
    print(json.dumps([timing.cycles, timing.commands, timing.stages]))
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
    assert answers[0] == answers[1] and answers[0].count("gemv_wq") == 3


def test_classes_of_channels_change_nothing(tmp_path, simulator):
    """Work of one channel is done while all others rest."""
    lines = [f"W MEM {channel} {channel % 16} 2" for channel in range(32)] * 2 + [
        "AiM MAC_ABK 4 0xffffffff 1",
        "AiM SYNC",
    ]
    timing = trace(tmp_path, simulator, *lines)
    assert timing.commands["WR"] == 64 and timing.commands["MAC16"] == 128


def test_refresh_takes_its_time(tmp_path):
    lines = ["AiM MAC_ABK 64 0xffffffff 1"] * 250
    without, refreshed = (trace(tmp_path, FrontEnd(refresh=refresh), *lines) for refresh in (False, True))
    interval = load_memory("gddr6-aim").refresh.interval
    assert without.cycles > 32000 and refreshed.commands["REFAB"] == 32 * (refreshed.cycles // interval)
    assert 700 * 4 < refreshed.cycles - without.cycles < 1000 * 5


def test_gemv_of_a_block(simulator):
    """A small block: counts in closed form. 2 columns of 64, outputs over the 16 banks of a channel."""
    mapping = BlockMapping(hidden=128, heads=1, kv_heads=1, ffn=256, channels=1, max_tokens=1024)
    timing = simulator.time(block_program(mapping, 17))
    assert set(timing.stages) >= {"rmsnorm1", "gemv_wq", "attn_score", "gemv_w2", "tail"}
    assert sum(timing.stages.values()) == timing.cycles - 1 or sum(timing.stages.values()) == timing.cycles - 2
    with pytest.raises(ConfigError, match=r"^tokens must be 1 to 1024, not 1025$"):
        block_program(mapping, 1025)


BAD = {
    "unknown": ("AiM MAC_ABX 1 2 3", r"t.aim:1: unknown instruction 'MAC_ABX'; did you mean 'MAC_ABK'\?"),
    "begin": ("hello", r"t.aim:1: 'hello' is not the begin of an AiM line"),
    "few": ("AiM MAC_ABK 1 2", r"t.aim:1: MAC_ABK has 3 operands \(opsize, mask, row\), not 2"),
    "range": ("AiM COPY_BKGB 1 1 16 0", r"t.aim:1: bank must be 0 to 15, not 16"),
    "number": ("AiM MAC_ABK x 1 1", r"t.aim:1: opsize must be a number, not 'x'"),
    "behind": ("AiM EOC", r"t.aim:2: an instruction behind the AiM EOC of line 1"),
    "binary": ("\x00\x01\x02", r"t.aim:1: .* is not the begin of an AiM line"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_traces_are_told(tmp_path, simulator, name):
    line, message = BAD[name]
    with pytest.raises(ConfigError, match=message):
        trace(tmp_path, simulator, line)


def test_cut_off_and_empty_traces_are_told(tmp_path, simulator):
    with pytest.raises(ConfigError, match=r"t.aim:1: the end without AiM EOC: the trace is cut off$"):
        trace(tmp_path, simulator, "AiM SYNC", end=False)
    with pytest.raises(ConfigError, match=r"t.aim: an empty file; an AiM trace ends with AiM EOC$"):
        trace(tmp_path, simulator, end=False)


def test_other_memories_are_refused():
    with pytest.raises(ConfigError, match=r"^hbm3-5.2: not an AiM device: no command "):
        FrontEnd("hbm3-5.2")
    with pytest.raises(ConfigError, match=r"^gddr6-aim: unknown quirks 'aim' \(valid: aim-simulator\)"):
        FrontEnd(quirks="aim")
