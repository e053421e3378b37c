"""Memory files: what is wrong is told with file and line."""

import pickle
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
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
  - {level: bank, from: [close], to: [ACT, REF], cycles: nRP}
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
    assert timing.issue_cycles("RD").tolist() == [5, 11, 14]  # ACT 0, 6; another rank: one cycle more
    assert timing.cycles == 14 + 8


@pytest.mark.parametrize(
    "old, new, message",
    [
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
        (
            "cycles: nCCD + 1, between: different",
            "cycles: nCCD, window: 0",
            r"constraints.5.window: .* equal to 1, not 0",
        ),
        (
            "cycles: nCCD + 1, between: different",
            "cycles: nCCD, window: 65",
            r"constraints.5.window: .* equal to 64, not 65",
        ),
        ("cycles: nCCD + 1, between: different", "cycles: nCCD, window: 2, between: different", r".*and no window"),
        ("bank_cycles: nCCD", "bank_cycles: nCDC", r"unknown timing 'nCDC'; did you mean 'nR?C"),
        ("bus_cycles: 2", "bus_cycles: 0", r"'0' is 0 cycles; must be 1 to"),
        ("bus: channel", "bus: chanel", r"unknown level 'chanel'; did you mean 'channel'\?"),
        ("latency: nCL + 2", "latency: nCL - 6", r"'nCL - 6' is 0 cycles"),
        ("levels: {rank: 2, bank: 4}", "levels: {rank: 0, bank: 4}", r"rank must be 1 to 1024, not 0"),
        ("levels: {rank: 2, bank: 4}", "levels: {rank: 2, row: 4}", r"'row' cannot be the name of a level"),
        ("levels: {rank: 2, bank: 4}", "levels: {rank: 1024, bank: 8}", r"a channel of 8192 banks; at most 4096"),
        ("rows: 64", "rows: 0", r"organisation.rows: input should be greater than or equal to 1, not 0"),
        ("period_ps: 1000", "period_ps: -1", r"clock.period_ps: input should be greater than 0, not -1"),
        ("period_ps: 1000", "period_ps: .inf", r"'.inf' is not a finite number"),
        ("command: REF,", "command: REFF,", r"unknown command 'REFF'; did you mean 'REF'\?"),
        (
            "activate: ACT, precharge: PRE, latency",
            "precharge: PRE, latency",
            r"row rule 'needs' needs the key 'activate'",
        ),
        (
            "activate: ACT, precharge: PRE, latency",
            "activate: ACT, latency",
            r"row rule 'needs' needs the key 'precharge'",
        ),
        ("row: needs, activate: ACT", "row: closed, activate: ACT", r"row rule 'closed' has no activate"),
        (
            "row: needs",
            "row: opened",
            r"commands.RD.row: input should be 'none', 'needs', 'opens', 'closes' or 'closed'",
        ),
    ],
)
def test_errors_name_the_line(small, old, new, message):
    assert SMALL.count(old) == 1, old
    path = small(SMALL.replace(old, new))
    line = 1 + SMALL[: SMALL.index(old)].count("\n")
    with pytest.raises(ConfigError) as caught:
        load_memory(path)
    assert re.match(re.escape(f"{path}:{line}: ") + f"(RD: )?{message}", str(caught.value)), caught.value


def test_timings_that_define_each_other(small):
    text = SMALL.replace("nRC: nRAS + nRP", "nRC: nRTP + 9").replace("max(2, nCCD * 3 // 2)", "nRC - 8")
    with pytest.raises(ConfigError, match=r":22: nRTP: defined by itself: nRC -> nRTP -> nRC$"):
        load_memory(small(text))


@pytest.mark.parametrize(
    "old, new, line, message",
    [
        ("dual_issue: false", "dual_issue: false\ndual_issue: true", 16, "key 'dual_issue' appears twice"),
        ("nRC: nRAS + nRP", "nRC: nRAS + nRP\n      nCL: 3", 22, "timing 'nCL' appears twice"),
        ("e_row: 0.5", "e_row: -0.5", 27, r"'banks \* row_bytes \* e_row' is -64.0 pJ; at least 0"),
        (
            "row: closed, precharge: PREA",
            "row: closed, precharge: PREA, latency: 1000",
            42,
            "refresh command REF takes 1000 cycles, its interval is 1000",
        ),
        (
            "cycles: 40",
            "cycles: 400",
            42,
            "a refresh interval of 1000 cycles leaves no time for commands between refreshes",
        ),
        ("scopes:", "scopes: {bank: [rank, bank]", 24, "not valid YAML: .*"),
        ("scopes:", "scopes: &a [*a]\nother:", 23, ".*"),
        ("clock: {period_ps: 1000, source: made up}\n", "", 1, "missing key 'clock'"),
    ],
)
def test_errors_that_show_elsewhere(small, old, new, line, message):
    assert SMALL.count(old) == 1, old
    with pytest.raises(ConfigError, match=rf"^{re.escape(str(small(SMALL.replace(old, new))))}:{line}: {message}"):
        load_memory(small(SMALL.replace(old, new)))


def test_a_row_cycle_short_by_one_has_to_be_said(small):
    short = SMALL.replace("nRC: nRAS + nRP", "nRC: 13")
    with pytest.raises(
        ConfigError,
        match=r":21: nRC 13 is less than nRAS \+ nRP = 14; if each was rounded by itself, say "
        r"so with 'rounded_separately: REASON'$",
    ):
        load_memory(small(short))
    said = "rounded_separately: the made-up table rounds each value\n"
    assert load_memory(small(short + said)).parameters["nRC"] == 13
    with pytest.raises(ConfigError, match=r":21: nRC 12 is less than nRAS \+ nRP - 1 = 13$"):
        load_memory(small(SMALL.replace("nRC: nRAS + nRP", "nRC: 12") + said))


# Content ------------------------------------------------------------------------------------------------------------


def test_memories_are_equal_by_content(small, tmp_path):
    """Neither the file nor its lines nor the order of parameters count. Everything else does, in the variants too."""
    memory = load_memory(small())
    copy = tmp_path / "copy.yaml"
    copy.write_text("# a comment moves all lines\n" + SMALL)
    same = load_memory(copy)
    assert same.file != memory.file and same.constraints[0].line != memory.constraints[0].line
    assert same == memory == pickle.loads(pickle.dumps(memory)) and hash(same) == hash(memory)
    assert replace(memory, parameters=dict(reversed(memory.parameters.items()))) == memory
    assert memory != "small" and memory != replace(memory, name="other")
    calls = []
    known = lru_cache(8)(lambda one: calls.append(one) or len(calls))
    assert known(memory) == known(same) == 1 and known(replace(memory, name="other")) == 2
    slower = load_memory(small(SMALL.replace("nRCD: 5", "nRCD: 6")))
    turned = load_memory(small(SMALL.replace("{rank: 2, bank: 4}", "{rank: 4, bank: 2}")))
    outer = replace(memory, levels=dict(reversed(memory.levels.items())))
    others = [replace(memory, unlimited=one) for one in (memory, slower)]
    others += [replace(memory, variants={"quirk": one}) for one in (memory, slower)]
    every = [memory, replace(memory, name="other"), slower, turned, outer, *others]
    assert outer.levels == memory.levels and len(set(every)) == len({one.content for one in every}) == 9


def test_no_two_memories_of_the_package_are_equal():
    memories = [load_memory(name) for name in available()]
    every = [one for m in memories for v in (m, *m.variants.values()) for one in (v, v.unlimited) if one is not None]
    assert len(set(every)) == len(every) > 2 * len(memories)


# A file based on another --------------------------------------------------------------------------------------------

FAST = """\
name: fast
based_on: small.yaml
source: made up too
clock: {period_ps: 500, source: made up too}
parameters:
  - source: made up too
    values: {nRCD: 9, nRAS: 20}
commands:
  RD: {latency: nCL + 4}
refresh: null
"""


@pytest.fixture
def fast(small):
    def write(text: str = FAST, base: str = SMALL) -> Path:
        path = small(base).with_name("fast.yaml")
        path.write_text(text)
        return path

    return write


def test_a_file_says_only_what_differs(small, fast):
    memory, base = load_memory(fast()), load_memory(small())
    assert (memory.name, memory.source, memory.clock_ps) == ("fast", "made up too", 500)
    assert memory.parameters == base.parameters | {"nRCD": 9, "nRAS": 20, "nRC": 24}
    assert memory.commands["RD"] == replace(base.commands["RD"], latency=10)
    assert memory.refresh is None and base.refresh is not None
    by_line = {c.line: c.cycles for c in memory.constraints}
    assert by_line[35] == 9 and by_line[36] == 20  # lines of the file that says them


def test_constraints_and_commands_are_added(small, fast):
    text = (
        FAST
        + """\
  # and a command of its own
"""
        + "sets: {every: [RD, RDQ]}\nconstraints:\n  - {level: rank, from: [every], to: [RDQ], cycles: nQ}\n"
    )
    text = text.replace("  RD: {latency: nCL + 4}\n", "  RDQ: {scope: bank, kind: column}\n")
    text = text.replace("nRAS: 20}", "nRAS: 20, nQ: 7}")
    memory, base = load_memory(fast(text)), load_memory(small())
    assert memory.commands.keys() == base.commands.keys() | {"RDQ"}
    assert len(memory.constraints) == len(base.constraints) + 1 and memory.constraints[-1].cycles == 7


def test_levels_are_given_as_a_whole(fast):
    text = FAST + "organisation: {levels: {bank: 16}, bus_bytes: 32, source: made up too}\nscopes: {bank: [bank]}\n"
    with pytest.raises(ConfigError, match=r"small\.yaml:40: unknown level 'rank'"):
        load_memory(fast(text))  # told of the line that can not hold any more
    base = "\n".join(line for line in SMALL.splitlines() if "level: rank" not in line) + "\n"
    memory = load_memory(fast(text, base))
    assert memory.levels == {"bank": 16} and memory.bus_bytes == 32 and memory.rows == 64


def test_what_ships_can_be_based_on_by_name(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "name: mine\nbased_on: hbm3-6.4\nsource: a guess\nparameters:\n  - {source: a guess, values: {nRFC: 500}}\n"
    )
    mine, grade = load_memory(tmp_path / "mine.yaml"), load_memory("hbm3-6.4")
    assert mine.parameters == grade.parameters | {"nRFC": 500} and mine.clock_ps == 625
    assert mine.at(False).parameters["nCCDAB"] == 4


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "nRCD: 9",
            "nRDC: 9",
            r"fast\.yaml:7: unknown timing 'nRDC'; did you mean '\w+'\? \(valid: .*\): not one of the "
            r"memory that this is based on, and nothing here uses it$",
        ),
        ("nRCD: 9", "nRCD: 0", r"fast\.yaml:7: nRCD is 0 cycles"),
        ("nRAS: 20", "nRAS: nRC", r"fast\.yaml:7: nRAS: defined by itself: nRC -> nRAS -> nRC$"),
        ("nRCD: 9", "nCCD: 1, nTRP: 3", r"fast\.yaml:7: unknown timing 'nTRP'"),
        (
            "clock: {period_ps: 500, source: made up too}",
            "clock: {period_ps: 500}",
            r"fast\.yaml:4: missing key 'clock\.source': numbers that differ from small\.yaml need a source of their own$",
        ),
        (
            "clock: {period_ps",
            "clock: {periods_ps",
            r"fast\.yaml:4: unknown key 'clock.periods_ps'; did you mean 'period_ps'",
        ),
        ("source: made up too\nclock", "clock", r"fast\.yaml:1: missing key 'source'$"),
        ("name: fast\n", "", r"fast\.yaml:1: missing key 'name'$"),
        ("RD: {latency: nCL + 4}", "RD: {latency: nCL + nX}", r"fast\.yaml:9: unknown timing 'nX'"),
        ("RD: {latency: nCL + 4}", "RDX: {latency: nCL}", r"fast\.yaml:9: missing key 'commands.RDX.scope'"),
        (
            "RD: {latency: nCL + 4}",
            "RD: {row: closes}",
            r"fast\.yaml:9: row rule 'closes' has no activate|small.yaml:29: .*",
        ),
        ("refresh: null", "clock: 5", r"fast\.yaml:10: key 'clock' appears twice"),
        (
            "based_on: small.yaml",
            "based_on: smal.yaml",
            r"fast\.yaml:2: based_on: .*smal\.yaml: no such file or directory$",
        ),
        ("based_on: small.yaml", "based_on: hbm3-9", r"fast\.yaml:2: based_on: unknown memory 'hbm3-9'; did you mean"),
        ("based_on: small.yaml", 'based_on: "a\\0b.yaml"', r"fast\.yaml:2: based_on: .*is no name of a file$"),
        ("based_on: small.yaml", "based_on: ./", r"fast\.yaml:2: based_on: .*is a directory$"),
        (
            "based_on: small.yaml",
            "based_on: 5",
            r"fast\.yaml:2: based_on: must be the name of a memory or the path of a \.yaml "
            r"file, not 5$",
        ),
        ("based_on: small.yaml", "based_on: fast.yaml", r"fast\.yaml:2: based on itself: fast\.yaml -> fast\.yaml$"),
        ("  - source: made up too\n    values: {nRCD: 9, nRAS: 20}", "  - 7", r"fast\.yaml:6: parameters\.\d: .*"),
        (
            "parameters:\n  - source: made up too\n    values: {nRCD: 9, nRAS: 20}",
            "parameters: 7",
            r"fast\.yaml:5: parameters: input should be a valid list, not 7$",
        ),
    ],
)
def test_errors_of_a_file_that_is_based_on_another(fast, old, new, message):
    assert FAST.count(old) == 1, old
    with pytest.raises(ConfigError, match=message):
        load_memory(fast(FAST.replace(old, new)))


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("nRP: 4", "nRP: 0", r"small\.yaml:18: nRP is 0 cycles"),
        ("nRC: nRAS + nRP", "nRC: 15", r"small\.yaml:21: nRC 15 is less than nRAS \+ nRP = 24$"),
        ("dual_issue: false", "dual_isue: false", r"small\.yaml:15: unknown key 'dual_isue'"),
        ("to: [RD], cycles: nCCD}", "to: [RDD], cycles: nCCD}", r"small\.yaml:39: unknown command or set 'RDD'"),
        (
            "name: small",
            "name: small\nbased_on: fast.yaml",
            r"small\.yaml:2: based on itself: fast\.yaml -> small\.yaml -> "
            r"fast\.yaml$",
        ),
    ],
)
def test_errors_name_the_file_that_is_wrong(fast, old, new, message):
    assert SMALL.count(old) == 1, old
    with pytest.raises(ConfigError, match=message):
        load_memory(fast(base=SMALL.replace(old, new)))


def test_a_chain_of_files_ends(small, tmp_path):
    small()
    for k in range(8):
        base = "small.yaml" if not k else f"m{k - 1}.yaml"
        (tmp_path / f"m{k}.yaml").write_text(f"name: m{k}\nbased_on: {base}\nsource: test\n")
    assert load_memory(tmp_path / "m6.yaml").parameters == load_memory(small()).parameters
    with pytest.raises(ConfigError, match=r"m0\.yaml:2: more than 8 files based on each other$"):
        load_memory(tmp_path / "m7.yaml")


NAMES = ["nRCD", "nRP", "nRAS", "nCCD", "nCL"]


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(2, 30), min_size=1), st.integers(1, 5000), st.booleans())
@settings(max_examples=25)
def test_a_file_based_on_another_is_the_file_written_out(tmp_path_factory, timings, period, refresh):
    """The same memory, whichever numbers change."""
    folder = tmp_path_factory.mktemp("memory")
    (folder / "small.yaml").write_text(SMALL)
    values = ", ".join(f"{name}: {value}" for name, value in timings.items())
    (folder / "other.yaml").write_text(
        f"name: other\nsource: s\nbased_on: small.yaml\nclock: {{period_ps: {period}, source: s}}\n"
        f"parameters:\n  - {{source: s, values: {{{values}}}}}\n" + ("" if refresh else "refresh: null\n")
    )
    text = SMALL.replace("name: small", "name: other").replace("source: made up\nclock", "source: s\nclock")
    text = text.replace("period_ps: 1000", f"period_ps: {period}")
    for name, value in timings.items():
        text = re.sub(rf"{name}: \d+", f"{name}: {value}", text)
    if not refresh:
        text = text.replace("refresh: {command: REF, interval: 1000, source: made up}\n", "")
    (folder / "whole.yaml").write_text(text)
    other, whole = (load_memory(folder / f"{name}.yaml") for name in ("other", "whole"))
    assert replace(other, file="") == replace(whole, file="")


@given(st.booleans(), st.integers(0, 1000), st.sampled_from(["drop", "twice", "word", "number", "indent"]), st.data())
@settings(max_examples=120)
def test_a_damaged_file_is_a_memory_or_one_line_of_error(tmp_path_factory, based, number, damage, data):
    lines = (FAST if based else SMALL).splitlines()
    number %= len(lines)
    if damage == "drop":
        del lines[number]
    elif damage == "twice":
        lines.insert(number, lines[number])
    elif damage == "indent":
        lines[number] = "  " + lines[number]
    else:
        places = [m.span() for m in re.finditer(r"[A-Za-z_]+" if damage == "word" else r"\d+", lines[number])]
        if places:
            a, b = data.draw(st.sampled_from(places))
            words = ["nRCD", "ACT", "bank", "null", "{", "]", "&x", "*x", "!!python/object:os.system", '"\\0"']
            new = data.draw(
                st.sampled_from(words if damage == "word" else ["-1", "0", "1e99", ".nan", "99999999999", "'"])
            )
            lines[number] = lines[number][:a] + new + lines[number][b:]
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "small.yaml").write_text(SMALL)
    path = folder / ("fast.yaml" if based else "small.yaml")
    path.write_text("\n".join(lines) + "\n")
    try:
        load_memory(path)
    except ConfigError as error:
        assert str(error).startswith(str(folder)) and "\n" not in str(error)


def test_unknown_names_and_unreadable_files(tmp_path):
    assert "hbm3-5.2" in available()
    with pytest.raises(ConfigError, match=r"^unknown memory 'hbm3'; did you mean 'hbm3-[\d.]+'\?"):
        load_memory("hbm3")
    with pytest.raises(ConfigError, match=r"nothing\.yaml: no such file or directory$"):
        load_memory(tmp_path / "nothing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.yaml: not UTF-8 text \(byte 0\)$"):
        load_memory(tmp_path / "binary.yaml")
    (tmp_path / "zero.yaml").write_bytes(b"name: x\n\0\0\0")
    with pytest.raises(ConfigError, match=r"zero\.yaml: not valid YAML: unacceptable character"):
        load_memory(tmp_path / "zero.yaml")
    (tmp_path / "list.yaml").write_text("- name: x\n")
    with pytest.raises(ConfigError, match=r"list\.yaml: must be a mapping of keys to values, not list$"):
        load_memory(tmp_path / "list.yaml")
    with pytest.raises(ConfigError, match=r"is a directory$"):
        load_memory(f"{tmp_path}/")
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
