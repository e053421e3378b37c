"""``bankside list`` on memories: those that ship, and a file of one's own."""

import json
import re
from pathlib import Path

import pytest

from bankside.constraints.memory import available, load_memory
from bankside.constraints.memory import memory as schema
from bankside.shell import cli

PAGE = (Path(__file__).parents[3] / "docs" / "memory.md").read_text()


@pytest.fixture
def listed(capsys):
    def call(*arguments, code=0):
        assert cli.main(["list", *arguments]) == code
        return capsys.readouterr()

    return call


def test_every_memory_has_a_line_with_its_numbers(listed):
    lines = listed().out.split("\nmemories\n")[1].split("\nmodels\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == available()
    for line, memory in zip(lines, map(load_memory, available()), strict=True):
        assert f"{memory.channels} x {memory.banks}" in line and line.endswith(memory.source)
        assert f"{memory.channels * memory.channel_bytes_per_s / 1e9:.1f} GB/s" in line


def test_json_says_the_same_of_each(listed):
    data = json.loads(listed("--json").out)
    assert data["memories"] == list(data["memory"]) == available()
    flash = data["memory"]["flash-nand"]
    assert (flash["channels"], flash["levels"], flash["refresh"], flash["energy"]) == (
        64,
        {"die": 4, "plane": 1},
        None,
        "not modelled",
    )
    assert flash["device_gb_per_s"] == pytest.approx(153.6) and flash["timings_cycles"]["nR"] == 72000
    grade = data["memory"]["hbm3-6.4"]
    assert grade["power_limit"] and grade["energy"] == "modelled" and grade["refresh"] == "REFAB every 3900 ns, 350 ns"


def test_one_memory_in_full(listed):
    text = listed("--memory", "lpddr5x-8533").out
    assert text.startswith("lpddr5x-8533\n") and "refresh        REFAB every 3906 ns, 280 ns\n" in text
    for name, cycles in load_memory("lpddr5x-8533").parameters.items():
        assert f"    {name:<12} {cycles:>9} cycles" in text
    assert "    ACT          opens           1 cycles  rank bank_group bank\n" in text


def test_a_file_of_ones_own_is_checked(listed, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\nbased_on: flash-nand\nsource: a data sheet\n"
        "parameters:\n  - {source: a data sheet, values: {nR: 120000}}\n"
    )
    assert "    nR              120000 cycles      50000.00 ns\n" in listed("--memory", str(path)).out
    assert json.loads(listed("--memory", str(path), "--json").out)["memories"] == ["mine"]
    path.write_text(path.read_text().replace("nR:", "nRR: 0, nR:"))
    failed = listed("--memory", str(path), code=2)
    assert failed.out == "" and failed.err == f"bankside: {path}:5: nRR is 0 cycles; must be 1 to 1000000000\n"


def test_the_page_has_every_memory_and_every_key():
    told = set(re.findall(r"`([^`\n]+)`", PAGE))
    assert set(available()) <= told
    schemas = [schema.MemoryFile, schema.OrganisationFile, schema.CommandFile]
    assert {field.alias or name for model in schemas for name, field in model.model_fields.items()} <= told
    for name, field in schema.ConstraintFile.model_fields.items():
        assert re.search(rf"\b{field.alias or name}\b", PAGE)
