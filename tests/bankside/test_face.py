"""The Python face and the module for plug-ins."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

import bankside as bs
from bankside import plugin
from bankside.constraints.core import discovery
from bankside.shell import cli


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
