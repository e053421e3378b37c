"""The Python face and the module for plug-ins."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

import bankside as bs
from bankside import plugin
from bankside.constraints.core import discovery


def test_a_changed_unit_reaches_its_system_and_a_missing_record_is_an_exception(tmp_path):
    pu = bs.unit("pam-pu", preset="pam-hbm", lanes=8)
    changed = bs.system("pam-hbm-only", unit=pu)
    with pytest.raises(bs.MissingRecord, match=r"--set lanes=8"):
        changed.evaluate(bs.model("llama-3-70b"), batch=16, records=str(tmp_path))


def test_evaluation_is_typed_and_shows_itself():
    done = bs.system("gpu-only").evaluate(bs.model("llama-3-70b"), context=4096, batch=16)
    assert isinstance(done.tpot_ms, float) and done.tpot_ms > 0
    assert f"<tr><th>tpot_ms</th><td>{done.tpot_ms}</td></tr>" in done._repr_html_()


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
