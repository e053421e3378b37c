"""The published example of a package of its own adds a unit, a system and a paper; nothing in Bankside names them."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "out_of_tree"

pytestmark = pytest.mark.skipif(
    not EXAMPLE.is_dir(), reason="examples/out_of_tree is not there: a checkout has it, a package has not"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder in which pip has installed the package."""
    source = tmp_path_factory.mktemp("toy") / "source"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
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
def python(site, tmp_path):
    """Run Python where the package is installed: its exit code, standard output, standard error."""
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(site), str(ROOT))),
        "BANKSIDE_RECORDS": str(tmp_path / "records"),
    }

    def run(*words):
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=env, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def toy(python):
    """Run a command of Bankside where the package is installed."""
    return lambda *words: python("-m", "bankside", *words)


def test_it_imports_from_the_public_module_alone():
    for path in (EXAMPLE / "bankside_toy").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not any(one.name.partition(".")[0] == "bankside" for one in node.names), path
            if isinstance(node, ast.ImportFrom) and not node.level and node.module.partition(".")[0] == "bankside":
                assert node.module == "bankside.plugin", path


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
    assert "--numbers N" in toy("eval", "toy-row", "--help")[1]
    code, _, err = toy(*load, "--numbers", "300")  # an option of its own is a key of its file
    assert code == 2 and "bankside sim toy-adder --preset narrow --numbers 300" in err
    code, _, err = toy(*load, "--prefill", "300")
    assert (code, err) == (2, "bankside: --prefill is an option of the kind starc, not of toy\n")
    code, out, _ = toy("schema", "eval")
    schema = json.loads(out)
    assert code == 0
    jsonschema.validate(result, schema)
    for wrong in ({"adders": "many"}, {"adder": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(result | wrong, schema)
    code, out, err = toy(*load, "--html", "page.html")
    assert code == 0, err
    page = (tmp_path / "page.html").read_text()
    assert "adders" in out and "adding us" in out and "adding us" in page
    # its own role: all of the step is attention, and all of the energy the units'
    assert "100 % of it attention" in page and "processing units" in page
    code, out, _ = toy("eval", "toy-row", "--model", "qwen1.5-7b", "--workload", "musique", "--json")
    rate = json.loads(out)
    assert code == 0 and rate["throughput_tok_s"] == pytest.approx(rate["batch"] / step_ms * 1e3)
    code, out, _ = toy(
        "serve", "toy-row", "--model", "qwen1.5-7b", "--workload", "humaneval", "--requests", "20", "--json"
    )
    assert code == 0 and json.loads(out)["tpot_ms"]["max"] >= step_ms
    code, _, err = toy(*load[:-1], "65")
    assert (
        code == 2
        and err.count("\n") == 1
        and err.endswith(
            "on toy-row: batch 65 at context 1000 needs 65000 bytes (0.0 GiB) on the fullest device, 64000 (0.0 GiB) are "
            "available; the largest batch that fits is 64\n"
        )
    )
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


@pytest.mark.slow
def test_all_that_it_adds_is_checked_by_its_name(toy):
    code, out, err = toy("check", "bankside-toy", "--model", "qwen1.5-7b", "--measure", "--json")
    assert code == 0, err
    assert [one["name"] for one in json.loads(out)["checks"]] == [
        *(f"toy-adder: {what}" for what in ("ports", "results", "random power-up", "planted errors")),
        *(f"toy-row: {what}" for what in ("evaluation", "serving", "page", "basis")),
        "toy: sources",
    ]


@pytest.mark.slow
def test_its_own_tests_pass_and_its_paper_is_checked(toy, python):
    """The tests as its README runs them: through the Python face, with a co-simulation."""
    code, out, err = python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests"))
    assert code == 0 and "3 passed" in out, out + err
    assert toy("sim", "toy-adder", "--numbers", "200")[0] == 0
    code, out, err = toy("repro", "toy", "--json")
    assert code == 0, err
    verdicts = {row["id"]: row["verdict"] for row in json.loads(out)["claims"]}
    assert verdicts == {"toy-width": "exact", "toy-rate": "within", "toy-power": "not-checkable"}


def test_a_package_for_another_version_is_named_and_left_out(site, toy, python):
    package = site / "bankside_toy" / "__init__.py"
    before = package.read_text()
    package.write_text(before.replace("BANKSIDE_CONTRACT = 1", "BANKSIDE_CONTRACT = 2"))
    reason = "written for version 2 of the contracts, this is version 1\n"
    try:
        code, out, err = toy("list")
        assert code == 0 and "toy" not in out and "pam-pu" in out
        assert err.count("\n") == err.count(reason) == 2  # the unit and the system; `list` needs no papers
        code, out, err = toy("gen", "toy-adder")
        assert code == 2 and "(bankside_toy.contract:UNIT): " + reason in err and "unknown unit 'toy-adder'" in err
        code, out, err = python(
            "-c", "import bankside as bs\ntry: bs.system('toy-row')\nexcept bs.ConfigError as e: print(e)"
        )
        assert code == 0 and out.startswith("unknown system 'toy-row'") and reason in err
    finally:
        package.write_text(before)


def test_a_broken_entry_is_named_and_the_rest_works(site, toy):
    (site / "bankside_toy" / "half.py").write_text(
        "from bankside.plugin import System\nfrom .system import ToySpec\n\n\n"
        "class HalfSystem(System):\n    kind, schema = 'half', ToySpec\n"
    )
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
            "[bankside.systems]\nhalf = bankside_toy.half:HalfSystem\ntwin = bankside_toy.system:ToySystem",
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
            f"bankside: skipped system 'half' {package} (bankside_toy.half:HalfSystem): lacks assumptions, "
            "decode_step, devices, rooms, serving",
            f"bankside: skipped system 'twin' {package} (bankside_toy.system:ToySystem): its kind is 'toy'",
            f"bankside: skipped unit 'pam-pu' {package} (bankside_toy.contract:UNIT): package 'bankside' has a unit of this "
            "name",
            f"bankside: skipped unit 'lost' {package} (bankside_toy.nowhere:UNIT): No module named 'bankside_toy.nowhere'",
            f"bankside: skipped unit 'other' {package} (bankside_toy.contract:ToyConfig): must be a Unit, not ModelMetaclass",
        ]
    )
