"""`bankside time` of traces and programs: what it answers, what it writes, and one clear line for every bad file."""

from __future__ import annotations

import gzip
import json
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bankside.constraints.memory import load_memory
from bankside.models.cent import BlockMapping, block_program
from bankside.models.memory import time_program
from bankside.models.memory.aim import ALL_CHANNELS, INSTRUCTIONS, FrontEnd, channel_mask
from bankside.models.memory.aim_trace import read_trace, time_trace, trace_lines
from bankside.models.memory.issue_log import LoggedFrontEnd, Recorder, engine_log
from bankside.models.memory.timeline import chrome_trace, timeline
from bankside.models.program import Program
from bankside.studies import trace
from bankside.studies.trace import FORMATS, detect

SIMULATOR = ("--quirks", "aim-simulator")

#: Keys that every result has, beside `schema`.
ENVELOPE = {"command", "tools", "notes", "warnings", "inputs"}

SMALL = BlockMapping(hidden=256, heads=2, kv_heads=1, ffn=512, channels=2, max_tokens=1024)


@pytest.fixture(scope="module")
def front_end():
    return LoggedFrontEnd(quirks="aim-simulator")


def write(place, name, *lines):
    (place / name).write_text("".join(f"{line}\n" for line in lines))
    return name


# ---- Programs as AiM traces -------------------------------------------------------------------------------------------


@st.composite
def aim_programs(draw):
    """Loops, two deep, over any instruction of an AiM device; rows may move with the loops."""
    p = Program()

    def command(*indices):
        op = draw(st.sampled_from(sorted(INSTRUCTIONS.keys() - {"EOC", "WR_ABK"})))
        row = draw(st.integers(0, 3)) + sum(draw(st.integers(0, 1)) * index for index in indices)
        values = {
            "opsize": draw(st.integers(0, 5)),
            "gpr": 0,
            "gpr0": 0,
            "gpr1": 0,
            "row": row,
            "mask": channel_mask(draw(st.integers(1, 4)), draw(st.integers(0, 28))),
            "bank": draw(st.integers(0, 15)),
            "channel": draw(st.integers(0, 31)),
        }
        p.command(op, **{name: values[name] for name in INSTRUCTIONS[op].fields})

    for _ in range(draw(st.integers(1, 3))):
        with p.stage("part"):
            command()
            with p.loop(draw(st.integers(0, 4))) as i:
                command(i)
                with p.loop(draw(st.integers(1, 3))) as j:
                    command(i, j)
    return p


@given(program=aim_programs())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_exported_program_takes_the_same_cycles(tmp_path, front_end, program):
    """As a program, as a trace instruction by instruction, and as a trace in parts that are looked up."""
    path = tmp_path / "t.aim"
    path.write_text("\n".join(trace_lines(program)) + "\n")
    whole = front_end.time(program)
    assert front_end.run(read_trace(path, front_end)) == replace(whole, stages={})
    assert time_trace(front_end, read_trace(path, front_end)) == replace(whole, stages={})


@pytest.mark.parametrize("quirks", ["aim-simulator", None])
@pytest.mark.parametrize("what", ["nothing kept", "short parts", "few without", "long blocks"])
def test_parts_of_a_trace_are_looked_up(tmp_path, monkeypatch, quirks, what):
    """The same cycles however it is divided, whatever is kept, and where looking up is given up."""
    front_end = FrontEnd(quirks=quirks)
    path = tmp_path / "t.aim"
    rng = np.random.default_rng(1)
    random = [
        f"{'RW'[rng.integers(2)]} MEM {rng.integers(32)} {rng.integers(16)} {rng.integers(99)}" for _ in range(400)
    ]
    path.write_text("\n".join([*random, *trace_lines(block_program(SMALL, 40))]))
    plain = front_end.run(read_trace(path, front_end))
    for name, value in {
        "nothing kept": {"KEPT": 0},
        "short parts": {"SHORTEST": 1, "LONGEST_PART": 7},
        "few without": {"_JUDGED": 3, "_WITHOUT": 2},
        "long blocks": {"BLOCK": 1 << 20},
    }[what].items():
        monkeypatch.setattr(f"bankside.models.memory.{'lines' if name == 'BLOCK' else 'aim_trace'}.{name}", value)
    if what != "long blocks":
        monkeypatch.setattr("bankside.models.memory.lines.BLOCK", 2000)
    for _ in range(2):
        assert time_trace(front_end, read_trace(path, front_end)) == plain


def test_lines_that_come_again_are_looked_up(tmp_path, front_end, monkeypatch):
    """The same instructions whatever is remembered, and however the file is divided into blocks."""
    path = tmp_path / "t.aim"
    lines = list(trace_lines(block_program(SMALL, 600)))
    lines[500:500] = ["W CFR 2 7", "AiM AF 0xffffffff", "W CFR 2 9", "AiM AF 0xffffffff", "", "# nothing", "W CFR 0 1"]
    path.write_text("\n".join(lines))
    whole = [np.concatenate(parts) for parts in zip(*read_trace(path, front_end), strict=True)]
    assert whole[4][whole[4] > 1 << 28].tolist()[-1] == (1 << 29) + 9
    monkeypatch.setattr("bankside.models.memory.lines.BLOCK", 300)
    monkeypatch.setattr("bankside.models.memory.aim_trace.REMEMBERED", 3)
    again = [np.concatenate(parts) for parts in zip(*read_trace(path, front_end), strict=True)]
    assert all((a == b).all() for a, b in zip(whole, again, strict=True))
    assert len(whole[0]) == len(lines) - 2


# ---- What the command answers -----------------------------------------------------------------------------------------


def test_answer(cli, place):
    """One access to all banks of all channels: activation, two columns; 57 + 2 n cycles of 0.5 ns."""
    name = write(place, "t.aim", "AiM MAC_ABK 2 0xffffffff 3", "AiM EOC")
    result = cli("time", name, *SIMULATOR, "--json").json
    activation, access = 16 * 2950.35 * 32, 1314.45 * 64
    assert {key: value for key, value in result.items() if key not in ENVELOPE} == {
        "schema": 1,
        "file": "t.aim",
        "format": "aim",
        "system": None,
        "tokens": None,
        "lines": 2,
        "memory": "gddr6-aim",
        "quirks": "aim-simulator",
        "refresh": False,
        "power_limit": True,
        "cycles": 61,
        "time_ns": 30.5,
        "requests": 2,
        "commands": {"ACT16": 32, "MAC16": 64},
        "row_hits": 32,
        "row_misses": None,
        "row_conflicts": None,
        "energy_pj": pytest.approx(activation + access),
        "energy_breakdown_pj": {"row": pytest.approx(activation), "cell": pytest.approx(access), "io": 0.0},
        "energy_not_modelled": ["standby"],
        "stages": None,
        "details": None,
        "timeline": None,
        "export": None,
    }
    text = cli("time", name, *SIMULATOR).out
    assert "t.aim (format aim) on gddr6-aim, quirks of aim-simulator" in text
    assert "30.500 ns" in text and "not modelled" in text


def test_energy_that_is_not_modelled(cli, place):
    name = write(place, "p.txt", "RD bank_group=0 bank=0 row=1 column=0")
    answer = cli("time", name, "--memory", "gddr6-2000", "--json").json
    assert answer["energy_pj"] is None and answer["energy_breakdown_pj"] is None
    assert answer["energy_not_modelled"] == ["all"]
    assert (answer["row_hits"], answer["row_misses"], answer["row_conflicts"]) == (0, 1, 0)
    assert re.search(r"^energy +not modelled$", cli("time", name, "--memory", "gddr6-2000").out, re.MULTILINE)


def test_compressed_traces(cli, place):
    lines = [*["W MEM 0 3 12"] * 50, "AiM EOC"]
    plain = cli("time", write(place, "t.aim", *lines), "--json").json
    (place / "t.gz").write_bytes(gzip.compress((place / "t.aim").read_bytes()))
    packed = cli("time", "t.gz", "--json").json
    assert {**packed, "file": "t.aim", "inputs": plain["inputs"]} == plain and plain["commands"] == {"ACT": 1, "WR": 50}


def test_program_on_one_channel(cli, place):
    """The same as the engine says; comments, and the loops' counts in closed form."""
    p = Program()
    with p.loop(1000) as i:
        p.command("MAC_AB", row=3, column=0)
        p.command("MAC_AB", row=4 + i, column=1)
    name = write(place, "p.txt", "# a comment", *str(p).split("\n"))
    result = cli("time", name, "--memory", "hbm3-5.2", "--json").json
    timing = time_program(p, "hbm3-5.2")
    assert (result["cycles"], result["commands"], result["lines"]) == (timing.cycles, timing.commands, 3)
    slower = cli("time", name, "--memory", "hbm3-5.2", "--refresh", "--json").json
    assert slower["cycles"] > timing.cycles and slower["commands"]["REFAB"]


def test_barriers_need_the_queues_of_attacc(cli, place):
    """A program with barriers, and the trace that it is exported as: the same requests, the same cycles."""
    name = write(
        place,
        "p.txt",
        "loop i0 < 3",
        "  WR_GB column=i0 mask=3",
        "BARRIER mask=3",
        "loop i0 < 32",
        "  MAC_AB row=5 column=i0 mask=3",
    )
    result = cli("time", name, "--memory", "hbm3-5.2", "--json", "--export", "ramulator", "--output", "x.trace").json
    assert result["requests"] == 2 * (3 + 1 + 32) == result["export"]["lines"]
    assert (
        (place / "x.trace").read_text().startswith("PIM_WR_GB 0x00000000\nPIM_WR_GB 0x40000000\nPIM_WR_GB 0x00000020\n")
    )
    again = cli("time", "x.trace", "--json").json
    assert (again["format"], again["cycles"], again["commands"]) == ("attacc", result["cycles"], result["commands"])


def test_block_of_a_system(cli, place):
    """Stages by name that add up to the block; its trace takes the same cycles."""
    block = ("time", "cent:llama-2-7b", *SIMULATOR, "--tokens", "17", "--channels", "8", "--json")
    result = cli(*block, "--export", "aim", "--output", "block.aim").json
    assert result["system"] == "cent:llama-2-7b" and result["details"] == {
        "channels": 8,
        "devices": 1,
        "order": "authors",
    }
    assert list(result["stages"])[:2] == ["rmsnorm1", "gemv_wq"] and len(result["stages"]) == 15
    assert 0 <= result["cycles"] - sum(result["stages"].values()) <= 2
    again = cli("time", "block.aim", *SIMULATOR, "--json").json
    assert (again["cycles"], again["commands"]) == (result["cycles"], result["commands"])
    one = cli(*block, "--stage", "attn_score").json
    assert list(one["stages"]) == ["attn_score"] and one["cycles"] < result["cycles"]


def test_program_that_the_device_executes(cli, place):
    """Without quirks, the block's time is that of the program of the RTL, on all channels of a device."""
    result = cli("time", "cent:llama-2-7b", "--tokens", "1000", "--json").json
    assert result["details"] == {"channels": 32, "devices": 1, "order": "executed"}
    assert list(result["stages"])[:5] == ["norm1", "qkv", "rotary", "append", "attention"]
    theirs = cli("time", "cent:llama-2-7b", "--tokens", "1000", "--channels", "32", "--order", "authors", "--json").json
    assert result["cycles"] < theirs["cycles"]


def test_a_unit_is_timed_on_its_own_memory(cli, place):
    """Another memory takes another time. A unit whose tier has no memory of its own needs one by name."""
    step = ("time", "pam-pu", "--tokens", "16", "--json")
    assert cli(*step, "--preset", "pam-ddr").json["memory"] == "ddr4-3200"
    assert cli(*step).json["memory"] == cli(*step, "--set", "lanes=8").json["memory"] == "hbm3-5.2"
    cli(*step, "--preset", "pam-ssd").failed(
        2, r"pam-pu pam-ssd: no memory is stated beside this unit; name one with --memory$"
    )
    assert cli(*step, "--preset", "pam-ssd", "--memory", "hbm3-5.2").json["memory"] == "hbm3-5.2"


def test_unit_as_a_program(cli, place):
    """A unit's step is exported as text, and as a trace for one channel."""
    step = ("time", "pam-pu", "--tokens", "16", "--json", "--output", "p")
    result = cli(*step, "--export", "program").json
    again = cli("time", "p", "--memory", "hbm3-5.2", "--json").json
    assert (again["cycles"], again["commands"]) == (result["cycles"], result["commands"])
    assert cli(*step, "--export", "ramulator").json["export"]["lines"] == result["commands"]["MAC_AB"]
    assert cli("time", "p", "--json").json["commands"] == result["commands"]
    cli(*step, "--export", "aim").failed(2, r"not an AiM program: unknown instruction 'MAC_AB'")


def test_plain_accesses_as_addresses(cli, place):
    name = write(
        place,
        "p.txt",
        "loop i0 < 2",
        "  RD rank=0 bank_group=1 bank=2 row=3 column=i0",
        "WR rank=1 bank_group=0 bank=0 row=0 column=0",
    )
    cli("time", name, "--memory", "ddr4-3200-jedec", "--export", "ramulator", "--output", "t")
    kinds, addresses = zip(*(line.split() for line in (place / "t").read_text().splitlines()), strict=True)
    assert kinds == ("LD", "LD", "ST") and len(set(addresses)) == 3
    result = cli("time", "t", "--memory", "ddr4-3200-jedec", "--json").json
    assert result["format"] == "requests" and result["commands"] == {"ACT": 2, "RD": 2, "WR": 1}
    assert (result["row_hits"], result["row_misses"], result["row_conflicts"]) == (1, 2, 0)
    assert result["details"]["reads"] == 2 and result["details"]["writes"] == 1
    assert cli("time", "t", "--memory", "ddr4-3200-jedec", "--quirks", "ramulator", "--refresh", "--json").json[
        "refresh"
    ]
    write(place, "w.txt", "RD rank=0 bank_group=1 bank=2 row=3 column=0", "wait 7")
    cli("time", "w.txt", "--memory", "ddr4-3200-jedec", "--export", "ramulator", "--output", "t").failed(
        2, "cannot wait"
    )


# ---- Formats ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_knows_its_example(cli, place, name):
    """The example of a format is detected as it, and as no other, and can be timed."""
    one = FORMATS[name]
    path = write(place, "example", *one.example)
    assert detect(path).name == name
    memory = ("--memory", one.memory or {"requests": "ddr4-3200-jedec"}.get(name, "hbm3-5.2"))
    result = cli("time", path, *memory, "--json").json
    assert result["format"] == name and result["cycles"] > 0 and result["lines"] == len(one.example)
    again = cli("time", path, *memory, "--format", name, "--json").json
    assert {**again, "inputs": result["inputs"]} == result
    assert name in cli("list").out and cli("list", "--json").json["formats"][name]["example"] == list(one.example)


def test_new_format_is_one_entry(cli, place, monkeypatch):
    def timer(path, setting, outputs, progress):
        memory = load_memory("gddr6-aim")
        return trace.Timed(memory, 7, {"RD": 1}, 1, 1, (0, 1, 0)), None

    one = trace.TraceFormat("mine", "mine", "gddr6-aim", r"\$", ("$ 1",), timer)
    monkeypatch.setitem(FORMATS, "mine", one)
    assert cli("time", write(place, "t", "$ 1"), "--json").json["cycles"] == 7


BAD_FILES = {
    "empty": (b"", (), r"t: an empty file$"),
    "nothing in it": (b"\n  \n# x\n", (), r"t: nothing but empty lines$"),
    "binary": (bytes(range(256)), (), r"t:1: .* begins no known format \(formats: aim, .*\)"),
    "no line ends": (b"x" * 10000, (), r"t:1: more than 4096 bytes in a line; not a trace$"),
    "other text": (b"Hello, world!\n", (), r"t:1: 'Hello, world!' begins no known format"),
    "cut off": (b"AiM SYNC\nAiM SYNC\n", (), r"t:2: the end without AiM EOC: the trace is cut off$"),
    "cut off in a word": (b"AiM SYNC\nAiM SY", (), r"t:2: unknown instruction 'SY'; did you mean 'SYNC'\?"),
    "behind the end": (b"AiM EOC\n\nAiM SYNC\n", (), r"t:3: an instruction behind the AiM EOC of line 1$"),
    "unknown instruction": (b"AiM SYNC\nAiM MAC 1 1\n", (), r"t:2: unknown instruction 'MAC'"),
    "number of operands": (b"AiM MAC_ABK 1 1\n", (), r"t:1: MAC_ABK has 3 operands \(opsize, mask, row\), not 2$"),
    "row": (b"AiM MAC_ABK 1 1 16384\nAiM EOC\n", (), r"t:1: row must be 0 to 16383, not 16384$"),
    "negative": (b"AiM MAC_ABK 1 1 -1\nAiM EOC\n", (), r"t:1: row must be 0 to 16383, not -1$"),
    "channel": (b"W MEM 32 0 0\nAiM EOC\n", (), r"t:1: channel must be 0 to 31, not 32$"),
    "mask": (b"AiM AF 0x100000000\nAiM EOC\n", (), r"t:1: mask must be 0 to 4294967295, not 4294967296$"),
    "underscore": (b"AiM AF 1_0\nAiM EOC\n", (), r"t:1: mask must be a number, not '1_0'$"),
    "half a gzip file": (gzip.compress(b"AiM SYNC\n" * 99)[:-9], (), r"t: not a whole gzip file"),
    "other memory": (b"AiM EOC\n", ("--memory", "hbm3-5.2"), r"hbm3-5.2: not an AiM device: no command "),
    "unknown memory": (b"AiM EOC\n", ("--memory", "gddr6"), r"unknown memory 'gddr6'; did you mean 'gddr6-"),
    "unknown quirks": (b"AiM EOC\n", ("--quirks", "aim"), r"gddr6-aim: unknown quirks 'aim' \(valid: aim-simulator\)"),
    "quirks and refresh": (b"AiM EOC\n", ("--refresh", *SIMULATOR), r"refresh cannot be combined with its quirks"),
    "unknown format": (b"AiM EOC\n", ("--format", "aims"), r"unknown format 'aims'; did you mean 'aim'\?"),
    "another format": (b"AiM EOC\n", ("--format", "attacc"), r"t:1: unknown operation 'AiM'"),
    "attacc": (b"PIM_MAC_AB 0x0\nPIM_MAC_XY 0x0\n", (), r"t:2: unknown operation 'PIM_MAC_XY'; did you mean 'PIM_MAC_"),
    "address": (b"PIM_MAC_AB 0x10000000000\n", (), r"t:1: address 0x10000000000 is beyond the device"),
    "operation": (
        b"LD 0\nLE 64\n",
        ("--memory", "ddr4-3200-jedec"),
        r"t:2: unknown operation 'LE'; did you mean 'LD'\?",
    ),
    "beyond the memory": (
        b"0xfffffffffff READ\n",
        ("--memory", "ddr4-3200-jedec"),
        r"t:1: address 0xf+ is outside the ",
    ),
    "no memory for requests": (b"LD 0\n", (), r"a file of the format requests needs --memory \(valid: "),
    "quirks of requests": (
        b"LD 0\n",
        ("--memory", "ddr4-3200", "--quirks", "ram"),
        r"unknown quirks 'ram'; did you mean",
    ),
    "mapping": (
        b"LD 0\n",
        ("--memory", "ddr4-3200-jedec", "--mapping", "RoBa"),
        r"address mapping 'RoBa' .* is missing",
    ),
    "no memory": (b"loop i0 < 2\n  RD row=1\n", (), r"a file of the format program needs --memory \(valid: "),
    "program's command": (
        b"loop i0 < 2\n  RDX row=1\n",
        ("--memory", "gddr6-aim"),
        r"t:2: gddr6-aim: unknown command 'RDX'",
    ),
    "program's operand": (b"REFAB\nMAC16 row=1 col=1\n", ("--memory", "gddr6-aim"), r"t:2: .*unknown operand 'col'"),
    "program's range": (
        b"loop i0 < 3\n  MAC16 row=16382+i0\n",
        ("--memory", "gddr6-aim"),
        r"t:2: gddr6-aim: MAC16: row must be 0 to 16383, not 16384$",
    ),
    "program's mask": (
        b"loop i0 < 3\n  AF mask=4294967294+i0\n",
        ("--memory", "gddr6-aim"),
        r"t:2: AF: mask must be 0 to 4294967295, not 4294967296$",
    ),
    "program's loop": (
        b"loop i1 < 3\n  AF mask=1\n",
        ("--memory", "gddr6-aim"),
        r"t:1: the index of this loop is i0, not i1$",
    ),
    "for a unit": (b"AiM EOC\n", ("--queries", "2"), r"--queries is for a unit; t is a file$"),
    "tokens": (b"AiM EOC\n", ("--tokens", "2"), r"t: a file of the format aim has no --tokens$"),
    "order of an address": (b"AiM EOC\n", ("--mapping", "RoBa"), r"t: a file of the format aim has no --mapping$"),
    "cycles of nothing": (b"AiM EOC\n", ("--timeline-cycles", "1:2"), r"--timeline-c.* need --timeline or --picture$"),
    "channels of nothing": (
        b"AiM EOC\n",
        ("--timeline-channels", "1"),
        r"--timeline-c.* need --timeline or --picture$",
    ),
    "channels": (
        b"AiM EOC\n",
        ("--timeline", "x", "--timeline-channels", "1;2"),
        r"must be a whole number, not '1;2'$",
    ),
    "for a system": (b"AiM EOC\n", ("--stage", "x"), r"--stage is for a system; t is a file$"),
    "set": (b"AiM EOC\n", ("--set", "lanes=2"), r"--set and --variant are for a unit; t is a file$"),
    "export of a trace": (b"AiM EOC\n", ("--export", "aim", "--output", "x"), r"t: --export writes programs, "),
    "export to nowhere": (b"AiM EOC\n", ("--export", "aim"), r"--export FORMAT and --output FILE go together$"),
    "unknown export": (
        b"AiM EOC\n",
        ("--export", "ai", "--output", "x"),
        r"unknown format of --export 'ai'; did you mean",
    ),
    "cycles": (b"AiM EOC\n", ("--timeline", "x", "--timeline-cycles", "9:3"), r"FIRST no larger than LAST, not '9:3'$"),
    "no cycles": (b"AiM EOC\n", ("--timeline", "x", "--timeline-cycles", "9"), r"must be FIRST:LAST, not '9'$"),
    "picture": (b"AiM EOC\n", ("--picture", "x.jpg"), r"--picture x.jpg: must end with .png, .svg, .pdf$"),
    "timeline in a folder": (b"AiM EOC\n", ("--timeline", "."), r"\.: is a directory$"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_file_is_one_line(cli, place, case):
    content, arguments, pattern = BAD_FILES[case]
    (place / "t").write_bytes(content)
    cli("time", "t", *arguments).failed(2, pattern)
    assert os.listdir(place) == ["t"]


def test_a_unit_without_a_program_is_told(cli):
    cli("time", "fp-mul").failed(
        2, "^bankside: fp-mul has no program of memory commands to time: other units bring its data$"
    )


def test_channels_that_the_memory_does_not_have(cli, place):
    (place / "a.trace").write_text("LD 0x1000\n")
    cli("time", "a.trace", "--memory", "hbm3-5.2", "--channels", "99").failed(
        2, "^bankside: --channels must be 1 to 16, the channels of hbm3-5.2, not 99$"
    )


def test_the_bound_on_files_can_be_raised_and_lowered(cli, place, monkeypatch):
    """The option counts first, then the environment; neither is left behind."""
    (place / "a.trace").write_text("LD 0x1000\n" + "# a comment\n" * (1 << 17))
    arguments = ("time", "a.trace", "--memory", "hbm3-5.2")
    cli(*arguments, "--max-file-mib", "1").failed(
        2, r"^bankside: a\.trace: .* has at most 1048576 bytes, this has 15728"
    )
    assert "BANKSIDE_MAX_FILE_MIB" not in os.environ and cli(*arguments).code == 0
    monkeypatch.setenv("BANKSIDE_MAX_FILE_MIB", "1")
    assert cli(*arguments).code == 2 and cli(*arguments, "--max-file-mib", "2").code == 0
    assert os.environ["BANKSIDE_MAX_FILE_MIB"] == "1"


def test_what_is_no_file(cli, place):
    (place / "folder").mkdir()
    cli("time", "folder").failed(2, r"^bankside: folder: is a directory$")
    cli("time", "nowhere.aim").failed(2, r"^bankside: nowhere.aim: no such file or directory$")
    cli("time", "pam-px").failed(2, r"unknown unit 'pam-px'; did you mean 'pam-pu'\?.*; nor is there such a file$")
    os.mkfifo(place / "pipe")
    cli("time", "pipe").failed(2, r"pipe: not a file that can be read twice: its format must be named \(--format aim\|")
    cli("time", "cent:llama-2-7").failed(2, r"unknown model 'llama-2-7'; did you mean 'llama-2-7b'\?")
    cli("time", "cent:llama-2-7b", "--stage", "score").failed(2, r"unknown stage 'score' \(valid: append, attention, ")
    cli("time", "cent:llama-2-7b", "--order", "authors", "--stage", "score").failed(
        2, r"unknown stage 'score'; did you mean 'attn_score'\?"
    )
    cli("time", "cent:llama-2-7b", "--set", "format=aim").failed(2, r"are for a unit; cent:llama-2-7b is a system$")
    cli("time", "pam-pu", "--quirks", "x").failed(2, r"--quirks is for a file or a system; pam-pu is a unit$")
    if os.getuid():
        write(place, "secret", "AiM EOC")
        os.chmod(place / "secret", 0)
        cli("time", "secret").failed(2, r"secret: permission denied$")


def test_file_that_cannot_be_written(cli, place):
    write(place, "t", "AiM EOC")
    cli("time", "t", "--timeline", "t/x.json").failed(2, r"t: not a directory$")
    os.symlink("/proc/nothing/here", place / "dangling")
    cli("time", "t", "--timeline", "dangling/x").failed(2, r"can't write")


# ---- Timelines --------------------------------------------------------------------------------------------------------


def slices(path):
    """Slices of a timeline by process and thread, and its header."""
    content = json.loads(path.read_text())
    names = {
        (e["name"], e["pid"], e.get("tid")): e["args"].get("name") for e in content["traceEvents"] if e["ph"] == "M"
    }
    out: dict[tuple[str, str], list[dict]] = {}
    for event in content["traceEvents"]:
        if event["ph"] == "X":
            where = names["process_name", event["pid"], None], names["thread_name", event["pid"], event["tid"]]
            out.setdefault(where, []).append(event)
    return out, content["otherData"]


def test_timeline_of_a_trace(cli, place):
    """Two rows of one bank: activation at 2, column 28 later, precharge, the other row; all 31 other channels are idle."""
    write(place, "t.aim", "W MEM 3 5 7", "W MEM 3 5 8", "AiM SYNC", "AiM EOC")
    result = cli("time", "t.aim", "--timeline", "t.json", "--json").json
    found, head = slices(place / "t.json")
    assert set(found) == {("channel 3", "commands"), ("channel 3", "bank 5")}
    commands = [(e["name"], e["args"]["cycle"]) for e in found["channel 3", "commands"]]
    (_, first), (_, write_), (_, close), (_, second), _ = commands
    assert [name for name, _ in commands] == ["ACT", "WR", "PRE", "ACT", "WR"]
    assert write_ - first == 28 and close - write_ == 41 and second - close == 32
    assert found["channel 3", "commands"][1]["ts"] == pytest.approx(write_ * 0.5)  # 0.5 ns are shown as 0.5 us
    rows = [
        (e["name"], e["args"]["cycle"], e["args"]["cycles"]) for e in found["channel 3", "bank 5"] if e["cat"] == "row"
    ]
    assert rows[0] == ("row 7", first, close - first) and rows[1][:2] == ("row 8", second)
    assert result["timeline"]["commands"] == sum(result["commands"].values()) == 5 == head["commands"]
    assert not head["truncated"] and head["clock_ps"] == 500


def nested(events):
    """Whether slices of a thread lie beside or within each other, as the format needs it."""
    open_until = []
    for e in sorted(events, key=lambda e: (e["args"]["cycle"], -e["args"]["cycles"])):
        begin, end = e["args"]["cycle"], e["args"]["cycle"] + e["args"]["cycles"]
        while open_until and open_until[-1] <= begin:
            open_until.pop()
        if open_until and end > open_until[-1]:
            return False
        open_until.append(end)
    return True


def test_timeline_of_a_block(cli, place):
    """Stages above channels; channels that did the same share a process; a window; a picture."""
    cli(
        "time",
        "cent:llama-2-7b",
        "--tokens",
        "600",
        "--channels",
        "8",
        *SIMULATOR,
        "--timeline",
        "b.json",
        "--picture",
        "b.png",
        "--timeline-cycles",
        "1000:9000",
    )
    found, head = slices(place / "b.json")
    stages = next(events for (_, thread), events in found.items() if thread == "stages")
    assert [e["name"] for e in stages] == ["rmsnorm1", "gemv_wq"] and stages[0]["args"]["cycle"] == 1000
    assert any(process == "channels 0 to 31, alike" or process == "channel 0" for process, _ in found)
    assert all(
        1000 <= e["args"]["cycle"] and e["args"]["cycle"] + e["args"]["cycles"] <= 9001
        for events in found.values()
        for e in events
    )
    assert all(nested(events) for events in found.values())
    assert (head["first_cycle"], head["last_cycle"]) == (1000, 9000)
    assert (place / "b.png").read_bytes().startswith(b"\x89PNG")


def test_timeline_of_some_channels(cli, place):
    write(place, "t.aim", *[f"W MEM {channel} 1 {channel}" for channel in range(8)], "AiM SYNC", "AiM EOC")
    cli("time", "t.aim", "--timeline", "t.json", "--timeline-channels", "5,2")
    found, _ = slices(place / "t.json")
    assert {process for process, _ in found} == {"channel 2", "channel 5"}


def test_timeline_that_is_too_long(cli, place, monkeypatch):
    """Cut off at a whole cycle, with a word about it; the time is that of the whole."""
    write(place, "t.aim", *["AiM MAC_ABK 64 0xffffffff 1", "AiM MAC_ABK 64 0xffffffff 2"] * 20, "AiM EOC")
    whole = cli("time", "t.aim", "--json").json
    monkeypatch.setattr("bankside.models.memory.timeline.MAX_SLICES", 500)
    done = cli("time", "t.aim", "--timeline", "t.json", "--json")
    found, head = slices(place / "t.json")
    assert done.json["cycles"] == whole["cycles"] and done.json["timeline"]["truncated"] and head["truncated"]
    assert 0 < head["last_cycle"] < whole["cycles"] and sum(map(len, found.values())) < 1000
    assert f"the timeline ends with cycle {head['last_cycle']} of {whole['cycles']}" in done.err


def test_timeline_that_ends_within_an_access(cli, place):
    """The last access is shown up to the end, as its row is."""
    write(place, "t.aim", "R MEM 0 1 0", "AiM EOC")
    cli("time", "t.aim", "--timeline", "whole.json")
    found, _ = slices(place / "whole.json")
    access = next(e["args"] for e in found["channel 0", "bank 1"] if e["cat"] == "column")
    assert access["cycles"] > 1
    cli("time", "t.aim", "--timeline", "t.json", "--timeline-cycles", f"0:{access['cycle']}")
    found, _ = slices(place / "t.json")
    assert all(nested(events) for events in found.values())
    assert {
        e["args"]["cycle"] + e["args"]["cycles"] for e in found["channel 0", "bank 1"] if e["cat"] != "activate"
    } == {access["cycle"] + 1}


@given(program=aim_programs(), first=st.integers(0, 300), span=st.integers(0, 300))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_log_of_an_aim_program(front_end, program, first, span):
    """Logging changes nothing, has every command, and a part of it is a part."""
    timing = front_end.time(program)
    recorder = Recorder(front_end.memory)
    logged = front_end.record_program(program, recorder)
    log = recorder.log(logged.cycles, 32)
    assert (logged.cycles, logged.commands) == (timing.cycles, timing.commands)
    names, counts = list(front_end.memory.commands), {}
    for number, mask in zip(log.commands.tolist(), log.masks.tolist(), strict=True):
        counts[names[number]] = counts.get(names[number], 0) + mask.bit_count()
    assert counts == timing.commands and (np.diff(log.cycles) >= 0).all()
    part = Recorder(front_end.memory, first, first + span)
    front_end.record_program(program, part)
    inside = (log.cycles >= first) & (log.cycles <= first + span)
    assert (part.log(logged.cycles).targets == log.targets[inside]).all()
    view = timeline(log, "x")
    assert all(
        nested([{"args": {"cycle": s[0], "cycles": s[1]}} for s in threads])
        for track in view.tracks.values()
        for threads in track.values()
    )
    json.loads(chrome_trace(view))


@given(data=st.data())
@settings(max_examples=15)
def test_log_of_a_program_on_one_channel(data):
    """What the engine's schedule says, in any window; stepping to the window or jumping to it."""
    p = Program()
    with p.stage("s"), p.loop(data.draw(st.integers(1, 60))) as i:
        p.command("MAC_AB", row=data.draw(st.integers(0, 2)) + data.draw(st.integers(0, 1)) * i, column=0)
        with p.loop(data.draw(st.integers(1, 20))):
            p.command("RD", pseudo_channel=0, rank=0, bank_group=1, bank=0, row=1, column=0)
    refresh = data.draw(st.booleans())
    timing = time_program(p, "hbm3-5.2", refresh=refresh)
    first = data.draw(st.integers(0, timing.cycles))
    last = data.draw(st.integers(first, timing.cycles + 5))
    log = engine_log(p, timing.memory, timing.cycles, first, last, refresh=refresh)
    names = list(timing.memory.commands)
    for name in timing.commands:
        issued = timing.issue_cycles(name)
        expected = sorted(issued[(issued >= first) & (issued <= last)].tolist())
        assert sorted(log.cycles[log.commands == names.index(name)].tolist()) == expected


def test_stages_within_stages(cli, place):
    """A window in the middle: the stages that reach into it, one within the other."""
    write(
        place,
        "p.txt",
        "stage outer",
        "  loop i0 < 999",
        "    stage inner",
        "      MAC_AB row=0 column=0",
        "      wait 44",
    )
    cli("time", "p.txt", "--memory", "hbm3-5.2", "--timeline", "t.json", "--timeline-cycles", "300:400")
    found, _ = slices(place / "t.json")
    stages = found["p.txt", "stages"]
    assert [e["name"] for e in stages] == ["outer", "inner", "inner", "inner"] and nested(stages)
    assert (stages[0]["args"]["cycle"], stages[0]["args"]["cycles"]) == (300, 100)


def test_refresh_is_in_the_timeline(cli, place):
    cli("time", "pam-pu", "--tokens", "64", "--refresh", "--timeline", "t.json")
    found, _ = slices(place / "t.json")
    assert {e["cat"] for e in found["channel 0", "banks 0 to 31, alike"]} >= {"row", "activate", "column", "refresh"}


# ---- Length -----------------------------------------------------------------------------------------------------------


def test_long_files_take_no_more_memory(tmp_path, front_end):
    """Ten times as long, the same peak: a block at a time."""
    import tracemalloc

    peaks = []
    for times in (40_000, 400_000):
        path = tmp_path / f"{times}.aim"
        path.write_text("AiM EWADD 1 0 0\n" * times + "AiM EOC\n")
        tracemalloc.start()
        assert front_end.run(read_trace(path, front_end)).instructions == times + 1
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_front_end_without_a_log_is_the_same(front_end):
    program = block_program(SMALL, 100)
    assert front_end.time(program).cycles == FrontEnd(quirks="aim-simulator").time(program).cycles
    assert ALL_CHANNELS == channel_mask(32)


def test_the_result_names_the_mapping_that_moves_more(tmp_path, cli):
    """Reads in a row: they stay in one bank group by default, and MOP4CLXOR spreads them. A run with its mapping agrees."""
    path = tmp_path / "reads.trace"
    path.write_text("".join(f"{64 * i:#x} R\n" for i in range(2000)))
    words = ("time", str(path), "--format", "requests", "--memory", "hbm3-5.2")
    details = cli(*words, "--json").json["details"]
    better = cli(*words, "--mapping", details["faster_mapping"], "--json").json["details"]
    assert better["gb_per_s"] == pytest.approx(details["faster_gb_per_s"], rel=0.01)
    assert better["percent_of_peak"] > 2 * details["percent_of_peak"]
    assert "faster_mapping" not in better
    path.write_text("".join(f"{64 * i:#x} READ {99 * i}\n" for i in range(2000)))
    assert "faster_mapping" not in cli(*words, "--json").json["details"], "requests with cycles come when they come"
