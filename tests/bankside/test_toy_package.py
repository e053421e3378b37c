"""A package of someone else adds a unit and a system; nothing here names them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder in which pip has installed the package."""
    source = tmp_path_factory.mktemp("toy") / "source"
    shutil.copytree(HERE.parent / "toy", source, ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path_factory.mktemp("site")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-index",
            "--no-build-isolation",
            "--disable-pip-version-check",
            "--target",
            str(target),
            str(source),
        ],
        check=True,
    )
    return target


@pytest.fixture
def toy(site, tmp_path):
    """Run a command where the package is installed: its exit code, standard output, standard error."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(site), str(ROOT))),
        "BANKSIDE_RECORDS": str(tmp_path / "records"),
    }

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-m", "bankside", *words], cwd=tmp_path, env=env, capture_output=True, text=True
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_its_unit_is_listed_generated_and_selected(toy, tmp_path):
    code, out, err = toy("list")
    assert code == 0 and err == "" and "toy-adder        adds a constant (nowhere)" in out and "toy-row" in out
    assert toy("gen", "toy-adder", "--preset", "wide", "-o", "unit")[0] == 0
    described = json.loads((tmp_path / "unit" / "toy_adder.json").read_text())
    assert described["ports"][2]["fields"] == [
        {"name": "number", "offset": 0, "width": 16, "meaning": "a number"},
        {"name": "last", "offset": 16, "width": 1, "meaning": "last of its run"},
    ]
    code, _, err = toy("gen", "toy-adder", "--set", "widht=3")
    assert (code, err) == (
        2,
        "bankside: --set widht=3: unknown key 'widht'; did you mean 'width'? (valid: clock_mhz, step, width)\n",
    )


def test_its_workload_is_the_options_of_sim(toy):
    code, out, _ = toy("sim", "toy-adder", "--help")
    assert code == 0 and "--numbers N" in out and "numbers of the measured run (default: 100)" in out
    assert "--head-dim" not in out
    code, _, err = toy("sim", "toy-adder", "--numbers", "0")
    assert (code, err) == (2, "bankside: argument --numbers: must be at least 1, not 0\n")
    code, _, err = toy("sim", "toy-adder", "--head-dim", "64")
    assert (code, err) == (2, "bankside: sim toy-adder takes no --head-dim (valid: --numbers)\n")


@pytest.mark.essential
def test_its_system_rests_on_a_measurement_of_its_unit(toy, tmp_path):
    load = ("eval", "toy-row", "--model", "qwen1.5-7b", "--context", "1000", "--batch", "4")
    code, _, err = toy(*load)
    assert code == 2 and "bankside sim toy-adder --preset narrow --numbers 200" in err
    code, out, _ = toy("sim", "toy-adder", "--numbers", "200")
    assert code == 0 and "200 numbers in 201 cycles" in out and "bit-exact" in out
    code, out, err = toy(*load, "--json")
    assert code == 0, err
    result = json.loads(out)
    step_ms = 201 / 500e6 * 1e3
    assert result["tpot_ms"] == pytest.approx(step_ms) and len(result["records"]) == 1
    assert result["assumptions"] == ["a step adds a fixed number of numbers"]
    assert result["breakdown_ms"].keys() == {"adding"}
    assert result["adders"] == 1 and result["adding_us"] == pytest.approx(step_ms * 1e3)
    code, out, _ = toy("schema", "eval")
    schema = json.loads(out)
    assert code == 0
    jsonschema.validate(result, schema)
    for wrong in ({"adders": "many"}, {"adder": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(result | wrong, schema)
    code, out, err = toy(*load, "--html", "page.html")
    assert code == 0, err
    assert "adders" in out and "adding us" in out and "adding us" in (tmp_path / "page.html").read_text()
    code, out, _ = toy("eval", "toy-row", "--model", "qwen1.5-7b", "--workload", "musique", "--json")
    rate = json.loads(out)
    assert code == 0 and rate["throughput_tok_s"] == pytest.approx(rate["batch"] / step_ms * 1e3)
    code, out, _ = toy(
        "serve", "toy-row", "--model", "qwen1.5-7b", "--workload", "humaneval", "--requests", "20", "--json"
    )
    assert code == 0 and json.loads(out)["tpot_ms"]["max"] >= step_ms
    code, _, err = toy(*load[:-1], "65")
    assert code == 2 and err.endswith("toy-row: the largest batch that fits is 64\n") and err.count("\n") == 1
    [record] = (tmp_path / "records").glob("*.json")
    edited = json.loads(record.read_text())
    assert edited["results"]["cycles"] == 201
    edited["results"]["cycles"] = 101
    record.write_text(json.dumps(edited))
    code, _, err = toy(*load)
    assert code == 2 and record.name in err and err.count("\n") == 1


def test_its_unit_is_synthesised(toy):
    code, out, err = toy("synth", "toy-adder", "--json")
    assert code == 0, err
    assert json.loads(out)["area_ge"] > 20
    code, out, _ = toy("synth", "toy-*", "--dry-run")
    assert code == 0 and len(json.loads(out)["selections"]) == 2


def test_a_broken_entry_is_named_and_the_rest_works(site, toy):
    info = next(site.glob("bankside_toy-*.dist-info"))
    points = info / "entry_points.txt"
    before = points.read_text()
    points.write_text(
        before.replace(
            "[bankside.units]",
            "[bankside.units]\npam-pu = bankside_toy.contract:UNIT\n"
            "lost = bankside_toy.nowhere:UNIT\nother = bankside_toy.contract:ToyConfig",
        ).replace(
            "[bankside.systems]",
            "[bankside.systems]\nhalf = bankside_toy.system:HalfSystem\ntwin = bankside_toy.system:ToySystem",
        )
    )
    try:
        code, out, err = toy("list")
    finally:
        points.write_text(before)
    assert code == 0 and "toy-adder" in out and "pam-pu" in out
    package = "of package 'bankside-toy'"
    assert sorted(err.splitlines()) == sorted(
        [
            f"bankside: skipped system 'half' {package} (bankside_toy.system:HalfSystem): lacks assumptions, capacity, "
            "check_fits, decode_step, devices, kv_capacity_tokens, serving",
            f"bankside: skipped system 'twin' {package} (bankside_toy.system:ToySystem): its kind is 'toy'",
            f"bankside: skipped unit 'pam-pu' {package} (bankside_toy.contract:UNIT): package 'bankside' has a unit of this "
            "name",
            f"bankside: skipped unit 'lost' {package} (bankside_toy.nowhere:UNIT): No module named 'bankside_toy.nowhere'",
            f"bankside: skipped unit 'other' {package} (bankside_toy.contract:ToyConfig): must be a Unit, not ModelMetaclass",
        ]
    )
