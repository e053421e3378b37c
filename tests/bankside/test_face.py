"""The Python face and the module for plug-ins."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

import bankside as bs
from bankside import api, plugin
from bankside.constraints.core import discovery
from bankside.shell import cli

ROOT = Path(__file__).resolve().parents[2]

#: A user's file, with the type that a checker sees on a line, or the error that it finds there.
USER = """\
import bankside as bs

pu = bs.unit("pam-pu", preset="pam-hbm", lanes=8)
reveal_type(pu.verilog())  # "str"
reveal_type(pu.simulate(tokens=512).vectors)  # "int"
reveal_type(pu.synthesise().area_ge)  # "float"
system: bs.SystemHandle = bs.system("pam-hbm-only", unit=pu)
done = system.evaluate(bs.model("llama-3-70b"), context=4096, batch=16)
reveal_type(done.tpot_ms)  # "float"
reveal_type(done.breakdown_ms)  # "dict[str, float]"
reveal_type(system.serve("llama-3-70b", "humaneval").ttft_ms.p99)  # "float"
reveal_type(bs.memory("hbm3-5.2").channels)  # "int"
reveal_type(bs.names("unit"))  # "list[str]"
done.tpot  # "tpot"
bs.sytem("pam-hbm-only")  # "sytem"
bs.names("units")  # 'units'
from bankside.plugin import Unite  # "Unite"
"""


def test_a_changed_unit_reaches_its_system_and_a_missing_record_is_an_exception(tmp_path):
    pu = bs.unit("pam-pu", preset="pam-hbm", lanes=8)
    changed = bs.system("pam-hbm-only", unit=pu)
    with pytest.raises(bs.MissingRecord, match=r"--set lanes=8"):
        changed.evaluate(bs.model("llama-3-70b"), batch=16, records=str(tmp_path))


def test_evaluation_is_typed_and_shows_itself():
    done = bs.system("gpu-only").evaluate(bs.model("llama-3-70b"), context=4096, batch=16)
    assert isinstance(done.tpot_ms, float) and done.tpot_ms > 0
    assert f"<tr><th>tpot_ms</th><td>{done.tpot_ms}</td></tr>" in done._repr_html_()


def printed(capsys, words):
    """What a command line prints with ``--json``."""
    assert cli.main([*words.split(), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "words, ask",
    [
        ("gen fp-mul --format e4m3 -o made", lambda: bs.unit("fp-mul", format="e4m3").generate("made")),
        ("synth fp-mul --format e4m3", lambda: bs.unit("fp-mul", format="e4m3").synthesise()),
        (
            "eval gpu-only --model llama-3-70b --context 512 --batch 4 --instances 2",
            lambda: bs.system("gpu-only").evaluate("llama-3-70b", context=512, batch=4, instances=2),
        ),
        (
            "serve gpu-only --model llama-3-70b --workload sharegpt --requests 8 --rate 2 --slo 50 --chunked",
            lambda: bs.system("gpu-only").serve(
                "llama-3-70b", "sharegpt", requests=8, rate=2.0, slo_ms=50.0, chunked=True
            ),
        ),
        (
            "serve gpu-only --model llama-3-70b --workload sharegpt --requests 8 --search batch --slo 50",
            lambda: bs.system("gpu-only").serve("llama-3-70b", "sharegpt", requests=8, search="batch", slo_ms=50.0),
        ),
        (
            "sweep gpu-only context=512,1024 --model llama-3-70b --output rows.csv --workers 1"
            " --pareto tpot_ms,throughput_tok_s",
            lambda: bs.system("gpu-only").sweep(
                {"context": [512, 1024]},
                "rows.csv",
                model="llama-3-70b",
                workers=1,
                pareto=("tpot_ms", "throughput_tok_s"),
            ),
        ),
    ],
    ids=["gen", "synth", "eval", "serve", "serve-search", "sweep"],
)
def test_the_face_gives_what_the_command_line_prints(words, ask, capsys, tmp_path, monkeypatch):
    """All keys with the same values, inputs and versions of tools included; a time of the machine may differ."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BANKSIDE_RECORDS", "records")
    made, told = ask(), printed(capsys, words)
    assert made.printed() | {"seconds": 0} == told | {"seconds": 0}
    assert told["inputs"] != [] or told["command"] == "gen"


def test_a_sweep_is_a_frame_of_its_rows(tmp_path, monkeypatch):
    """A changed key of the system reaches every row, also one whose value is no."""
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    changed = bs.system("lol-pim", set={"features.ping_pong": False})
    swept = changed.sweep({"context": [1024, 2048]}, str(tmp_path / "rows.csv"), model="qwen1.5-7b", workers=1)
    frame = swept.to_frame()
    assert [row["context"] for row in frame] == ["1024", "2048"] and not any(row["error"] for row in frame)
    slow = changed.evaluate("qwen1.5-7b", context=1024, batch=16).tpot_ms
    fast = bs.system("lol-pim").evaluate("qwen1.5-7b", context=1024, batch=16).tpot_ms
    assert frame[0]["tpot_ms"] == slow and slow != fast


def test_a_value_of_a_sweep_has_no_comma(tmp_path):
    with pytest.raises(bs.ConfigError, match="model: a value of a sweep has no comma, as 'a,b' has"):
        bs.sweep("gpu-only", {"model": ["a,b"]}, str(tmp_path / "rows.csv"))


def test_a_unit_that_the_system_does_not_name_is_refused():
    with pytest.raises(bs.ConfigError, match="does not name pam-ru"):
        bs.system("pam-hbm-only", unit=bs.unit("pam-ru"))


def test_importing_the_package_and_contracts_needs_no_tool():
    code = (
        "import sys, bankside; assert 'bankside.api' not in sys.modules; import bankside.plugin as p; p.Unit; "
        "assert not {'amaranth', 'cocotb'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_name_for_plugins_is_there():
    assert all(getattr(plugin, name) is not None for name in plugin.__all__)


def test_a_plugin_for_another_version_is_named_and_left_out(tmp_path, monkeypatch, capsys):
    (tmp_path / "of_tomorrow.py").write_text("BANKSIDE_CONTRACT = 2\nTHING = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = discovery.Entries("bankside.units", None, lambda name, one: None)
    found._entries = {"later": EntryPoint("later", "of_tomorrow:THING", "bankside.units")}
    assert "later" not in found
    assert "written for version 2 of the contracts, this is version 1" in capsys.readouterr().err
    with pytest.raises(plugin.ConfigError, match="version 2"):
        plugin.require(2)


@pytest.mark.slow
def test_a_users_checker_sees_types_and_finds_errors(tmp_path):
    """mypy as a user runs it: strict, with errors of the installed package left out."""
    (tmp_path / "user.py").write_text(USER)
    options = ["--strict", "--follow-imports=silent", "--config-file=", f"--cache-dir={ROOT / '.mypy_cache' / 'user'}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "user.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    wanted = {number: line.split("# ")[1] for number, line in enumerate(USER.splitlines(), 1) if "# " in line}
    found = {int(number): text for number, text in re.findall(r"^user.py:(\d+): \w+: (.*)", done.stdout, re.MULTILINE)}
    assert found.keys() == wanted.keys(), done.stdout
    assert all(wanted[number] in text for number, text in found.items()), done.stdout
    assert "Found 4 errors in 1 file" in done.stdout


def test_checkers_and_python_see_the_same_names():
    names = {name for name in api.__all__}
    given = set(re.findall(r"from \.api import (\w+) as \1$", Path(bs.__file__).read_text(), re.MULTILINE))
    assert names == given == set(dir(bs)) & names and all(hasattr(bs, name) for name in names)
    text = Path(plugin.__file__).read_text()
    assert set(re.findall(r"^    from \S+ import (\w+) as \1$", text, re.MULTILINE)) == plugin._HOME.keys()
    with pytest.raises(AttributeError, match="'sytem'"):
        bs.sytem  # noqa: B018


def test_names_are_those_that_the_functions_take():
    for kind in ("memory", "model", "system", "unit", "workload"):
        names = bs.names(kind)
        assert len(names) > 5 and getattr(bs, kind)(names[0]) is not None
    with pytest.raises(bs.ConfigError, match=r"unknown kind 'units'; did you mean 'unit'\?"):
        bs.names("units")


def test_a_unit_shows_how_it_was_chosen():
    pu = bs.unit("pam-pu", preset="pam-hbm", lanes=8)
    assert repr(pu) == "unit('pam-pu', 'pam-hbm', lanes=8)" and pu.presets[0] == "pam-hbm" and pu.config.lanes == 8


def test_a_memory_of_ones_own_reaches_a_system(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(
        "name: own\nbased_on: hbm3-5.2\nsource: a wish\nclock: {period_ps: 700, source: a wish}\n"
    )
    system = bs.system("pam-hbm-only", memory=bs.memory("own.yaml"))
    assert system.changes == {"memory": str(tmp_path / "own.yaml")}


def test_results_become_data_frames():
    pandas = pytest.importorskip("pandas")
    done = bs.system("gpu-only").evaluate("llama-3-70b", context=4096, batch=16)
    frame = done.to_frame()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 1
    assert frame["tpot_ms"][0] == done.tpot_ms and frame["breakdown_ms.attention"][0] == done.breakdown_ms["attention"]


def test_a_data_frame_without_its_package_is_an_error_with_a_remedy(monkeypatch):
    done = bs.system("gpu-only").evaluate("llama-3-70b", context=4096, batch=16)
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(bs.ToolMissing, match="pip install pandas"):
        done.to_frame()
