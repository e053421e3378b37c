"""Digests of sources: what something rests on counts, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bankside
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.registry import unit
from bankside.constraints.pam.pu import PamPuConfig
from bankside.hardware import generate
from bankside.provenance import sources

FILES = {
    "__init__.py": "from .unit import Unit\nfrom .beside import Beside\n",
    "unit.py": '"""A unit."""\nfrom .shared import add, unused\nfrom . import tables\n\n\n'
    "class Unit:\n    def run(self, x):\n        from .late import late\n"
    "        return late(add(x, tables.TABLE))\n",
    "beside.py": "from .shared import add\n\n\nclass Beside:\n    pass\n",
    "shared.py": "LEAST = 1\n\n\ndef add(a, b):\n    return _least(a) + b\n\n\n"
    "def _least(a):\n    if a is None:\n        raise ValueError('no number')\n    return max(a, LEAST)\n\n\n"
    "def unused(a):\n    return a\n",
    "tables.py": "TABLE = [1, 2, dict(low=3, description='a table')]\nOTHER = [3]\n",
    "late.py": "from importlib import resources\n\n\ndef late(x):\n"
    "    return resources.files(__package__).joinpath('data.j2').read_text(), 'hbm3-5.2'\n",
    "data.j2": "{{ x }}\n",
}


def forget():
    for one in vars(sources).values():
        if hasattr(one, "cache_clear"):
            one.cache_clear()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of somebody else; ``digest()`` after a change of its files by ``change(name, old, new)``."""
    folder = tmp_path / "toy_sources"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path / "cache"))
    forget()
    yield folder
    forget()


def digest(root="toy_sources:Unit"):
    forget()
    return sources.sources_digest([root])


def test_names_are_followed_to_their_definitions(package):
    assert sources.definitions(["toy_sources:Unit"]) == {
        "toy_sources.unit": {"Unit"},
        "toy_sources.shared": {"add", "_least", "LEAST"},
        "toy_sources.tables": {"TABLE"},
        "toy_sources.late": {"late"},
    }
    assert "toy_sources" not in sys.modules


@pytest.mark.parametrize(
    "name, old, new, counts",
    [
        ("unit.py", '"""A unit."""', '"""Another text."""', False),
        ("unit.py", "class Unit:\n", "class Unit:  # one\n\n", False),
        ("unit.py", "    def run(self, x):\n", "    def run(self, x: int) -> int:\n        '''Runs.'''\n", False),
        ("unit.py", "add(x, tables", "add(x + 0, tables", True),
        ("shared.py", "max(a, LEAST)", "min(a, LEAST)", True),
        ("shared.py", "LEAST = 1", "LEAST = 2", True),
        ("shared.py", "    return a\n", "    return a + 1\n", False),
        ("shared.py", "LEAST = 1", "LEAST = 1\nprint(LEAST)", True),
        ("beside.py", "pass", "x = 1", False),
        ("__init__.py", "from .beside import Beside\n", "", False),
        ("tables.py", "[1, 2", "[1, 3", True),
        ("tables.py", "a table", "the table", False),
        ("tables.py", "low=3", "low=4", True),
        ("shared.py", "no number", "must be a number", False),
        ("shared.py", "ValueError", "TypeError", True),
        ("tables.py", "OTHER = [3]", "OTHER = [4]", False),
        ("late.py", "read_text()", "read_bytes()", True),
        ("data.j2", "x", "y", True),
    ],
)
def test_what_counts(name, old, new, counts, package):
    before = digest()
    file = package / name
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    assert (digest() != before) == counts
    file.write_text(FILES[name])
    assert digest() == before


#: The same definitions in other places. Each is the files that replace others, or None for files that are gone.
MOVES = {
    "a function to a module of its own": {
        "shared.py": "LEAST = 1\n\n\ndef add(a, b):\n    return _least(a) + b\n\n\nfrom .low import _least\n",
        "low.py": "from .shared import LEAST\n\n\n"
        + FILES["shared.py"].partition("+ b\n\n\n")[2].partition("def unused")[0],
    },
    "a function to a module with definitions of the same names as its variables": {
        "shared.py": FILES["shared.py"].replace(
            "def add(a, b):\n    return _least(a) + b\n", "from .beside import add\n"
        ),
        "beside.py": "from .shared import _least\n\n\na = b = 7\n\n\ndef add(a, b):\n    return _least(a) + b\n\n\n"
        "class Beside:\n    pass\n",
    },
    "a module, whose name its users write, to a package": {
        "unit.py": FILES["unit.py"]
        .replace("from . import tables", "from .deep import rows")
        .replace("tables.", "rows."),
        "tables.py": None,
        "deep/__init__.py": "",
        "deep/rows.py": FILES["tables.py"],
    },
    "a module with its data file, imported inside a function": {
        "unit.py": FILES["unit.py"].replace("from .late import late", "from .deep.last import late"),
        "late.py": None,
        "data.j2": None,
        "deep/__init__.py": "",
        "deep/last.py": FILES["late.py"],
        "deep/data.j2": FILES["data.j2"],
    },
    "a module away from its data file": {
        "unit.py": FILES["unit.py"].replace("from .late import late", "from .deep.last import late"),
        "late.py": None,
        "data.j2": None,
        "deep/__init__.py": "",
        "deep/last.py": FILES["late.py"],
        "wide/data.j2": FILES["data.j2"],
    },
    "everything to a package": {
        **dict.fromkeys(FILES),
        "__init__.py": "from .deep.unit import Unit\n",
        **{f"deep/{name}": text for name, text in FILES.items()},
    },
}


def rewrite(package, files):
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)


@pytest.mark.parametrize("move", MOVES)
def test_a_definition_may_move(move, package):
    """Its module is no part of a digest, nor are imports that follow it; what it says still is."""
    before = digest()
    rewrite(package, MOVES[move])
    assert digest() == before
    for name, old, new in (
        ("LEAST", "LEAST = 1", "LEAST = 2"),
        ("TABLE", "low=3", "low=4"),
        ("late", "hbm3-5.2", "hbm3-6.4"),
        ("{{ x }}", "x", "y"),
    ):
        path = next(path for path in package.rglob("*.*") if path.suffix in (".py", ".j2") and old in path.read_text())
        text = path.read_text()
        path.write_text(text.replace(old, new))
        assert digest() != before, name
        path.write_text(text)
    assert digest() == before


def test_the_name_of_a_package_does_not_count(package):
    before = digest()
    rewrite(package.parent / "other_sources", FILES)
    assert digest("other_sources.unit:Unit") == before


TWINS = {
    "__init__.py": "",
    "one.py": "K = 1\n\n\ndef scaled(x):\n    return K * x\n",
    "two.py": "K = 2\n\n\ndef scaled(x):\n    return K * x\n",
    "three.py": "K = 1\n\n\ndef scaled(x):\n    return K * x\n",
    "user.py": "from .one import scaled as a\nfrom .two import scaled as b\n\n\ndef use(x):\n    return a(x) - b(x)\n",
    "named.py": "def low():\n    return 1\n\n\ndef high():\n    return 2\n\n\ndef use():\n    return low() / high()\n",
    "inner.py": "import math\nfrom .one import scaled\n\n\ndef use(x):\n    return [scaled(math.floor(K)) for K in x]\n",
    "text.py": "WHERE = 'twins.one:scaled'\n",
    "shadow.py": "from .one import K\n\n\ndef use(scaled):\n    return [K for K in K] + [scaled]\n",
    "loop.py": "def even(n):\n    return n == 0 or odd(n - 1)\n\n\ndef odd(n):\n    return n != 0 and even(n - 1)\n",
}


#: Two definitions with each other's names.
SWAPPED = (
    TWINS["named.py"].replace("def low", "def other").replace("def high", "def low").replace("def other", "def high")
)


@pytest.fixture
def twins(package):
    """A package with definitions of the same text, which use different definitions of the same name."""
    folder = package.parent / "twins"
    rewrite(folder, TWINS)
    return folder


@pytest.mark.parametrize(
    "root, name, old, new, counts",
    [
        ("user:use", "user.py", "from .two", "from .one", True),  # both of the same text, one in place of two
        ("user:use", "user.py", "from .two", "from .three", True),
        ("user:use", "user.py", "from .one", "from .three", False),  # another place of the same
        ("user:use", "user.py", "scaled as a\nfrom .two import scaled as b", "scaled as b\nfrom .two import scaled as a", True),
        ("named:use", "named.py", "low():", "low(_=0):", True),
        ("named:use", "named.py", TWINS["named.py"], SWAPPED, True),
        ("named:use", "named.py", "low() / high()", "high() / low()", True),
        ("inner:use", "inner.py", "import math", "import cmath as math", True),
        ("inner:use", "inner.py", "from .one", "from .two", True),
        ("inner:use", "inner.py", "import math\nfrom .one import scaled\n", "import math\nfrom .one import scaled\nK = 3\n", False),
        ("shadow:use", "shadow.py", "from .one", "from .two", True),  # values of a first loop are the module's
        ("shadow:use", "shadow.py", "import K\n", "import K\nscaled = 3\n", False),
        ("text:WHERE", "text.py", "one", "three", False),
        ("text:WHERE", "text.py", "one", "two", True),
        ("text:WHERE", "one.py", "K * x", "K + x", True),
        ("loop:even", "loop.py", "odd(n - 1)", "even(n - 1)", True),
        ("loop:even", "loop.py", "and even(n - 1)", "and odd(n - 1)", True),
    ],
)  # fmt: skip
def test_a_name_counts_by_what_it_stands_for(root, name, old, new, counts, twins):
    before, text = digest(f"twins.{root}"), (twins / name).read_text()
    assert old in text
    (twins / name).write_text(text.replace(old, new))
    assert (digest(f"twins.{root}") != before) == counts


def test_a_statement_that_does_something_counts_with_its_module(twins):
    """A choice between definitions does nothing else."""
    before, file = digest("twins.one:scaled"), twins / "one.py"
    for more, counts in (
        ("try:\n    from numba import njit\nexcept ImportError:\n    njit = None\n", False),
        ("if K:\n    print(K)\n", True),
        ("@print\ndef told():\n    pass\n", True),
    ):
        file.write_text(TWINS["one.py"] + more)
        assert (digest("twins.one:scaled") != before) == counts, more


def test_plumbing_says_so_itself(twins):
    """Modules that decide no result are named by themselves, so their list moves with them."""
    before = digest("twins.user:use")
    (twins / "two.py").write_text(TWINS["two.py"] + f"{sources.PLUMBING} = True\n")
    plumbing = digest("twins.user:use")
    (twins / "two.py").write_text(f"{sources.PLUMBING} = True\n" + TWINS["two.py"].replace("2", "3"))
    assert before != plumbing == digest("twins.user:use")
    found = set()
    for folder, _, names in os.walk(Path(bankside.__file__).parent, followlinks=True):
        files = (Path(folder, name) for name in names if name.endswith(".py"))
        found |= {file.stem for file in files if f"\n{sources.PLUMBING} = True" in file.read_text()}
    readers = {"dramsim3", "jedec", "layers", "physics", "ramulator"}
    assert found == {"build", "document", "errors", "vector_files", "workspace"} | readers


@pytest.mark.parametrize("seed", ["0", "1"])
def test_digests_are_the_same_in_every_process(seed, twins):
    """Whatever the order of sets is."""
    roots = ["twins.user:use", "twins.loop:even", "toy_sources:Unit"]
    code = f"from {sources.__name__} import sources_digest; print(sources_digest({roots}))"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(twins.parent)}
    environment["BANKSIDE_CACHE"] = str(twins.parent / "fresh")
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    forget()
    assert done.stdout.strip() == sources.sources_digest(roots)


def test_a_named_memory_counts(package, monkeypatch):
    before = digest()
    forget()
    monkeypatch.setattr(sources, "_memories", lambda: {"hbm3-5.2": "0" * 32})
    assert sources.sources_digest(["toy_sources:Unit"]) != before


def test_what_was_read_is_kept_until_the_file_changes(package, monkeypatch):
    before = digest()
    monkeypatch.setattr(sources.ast, "parse", lambda text: pytest.fail("read again"))
    assert digest() == before
    monkeypatch.undo()
    monkeypatch.syspath_prepend(str(package.parent))
    file = package / "tables.py"
    stamp = file.stat()
    file.write_text(FILES["tables.py"].replace("2", "7"))  # of the same size
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # and the same date
    assert digest() != before


def test_files_that_are_gone_are_not_kept(package):
    """Else each checkout that was ever used would make every later command read its sources' digests."""

    def kept():
        return {
            Path(path).name for path in json.loads((package.parent / "cache" / "sources.json").read_text())["modules"]
        }

    digest()
    assert "late.py" in kept()
    (package / "unit.py").write_text(FILES["unit.py"].replace("from .late import late\n", "late = abs\n"))
    (package / "late.py").unlink()
    digest()
    assert "late.py" not in kept() and {"unit.py", "shared.py"} <= kept()


def test_names_that_a_module_imports_when_they_are_asked_for_are_followed(package):
    """A plug-in's bench imports :mod:`bankside.plugin`; its digest covers what stands behind."""
    (package / "face.py").write_text(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .shared import add as add\n\n\n"
        "def __getattr__(name):\n    from . import shared\n\n    return getattr(shared, name)\n"
    )
    (package / "user.py").write_text("from .face import add\n\n\ndef use(x):\n    return add(x, 1)\n")
    assert sources.definitions(["toy_sources.user:use"]) == {
        "toy_sources.user": {"use"},
        "toy_sources.shared": {"add", "_least", "LEAST"},
    }
    (package / "user.py").write_text("from bankside.plugin import Campaign\n\nuse = Campaign\n")
    forget()
    assert "Campaign" in sources.definitions(["toy_sources.user:use"])["bankside.cosim.bench.campaign"]


@pytest.mark.parametrize("root", ["toy_sources:Nothing", "no_such_package:Unit", "toy_sources.none"])
def test_a_root_without_source_is_an_error(root, package):
    with pytest.raises(ConfigError, match="no source that defines it"):
        digest(root)


def test_a_broken_source_is_named(package):
    (package / "tables.py").write_text("TABLE = [")
    with pytest.raises(ConfigError, match=r"tables\.py: can't be read as Python"):
        digest()


def executed(run):
    """Definitions whose code runs, by module of this package."""
    found = set()
    modules = {
        module.__file__: name
        for name, module in list(sys.modules.items())
        if name.startswith("bankside.") and getattr(module, "__file__", None)
    }

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename in modules and not code.co_qualname.startswith("<"):
            found.add((modules[code.co_filename], code.co_qualname.split(".")[0]))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    "name, config",
    [
        (
            "pam-pu",
            PamPuConfig(
                lanes=2,
                tile_tokens=4,
                max_head_dim=16,
                buffer_bytes=64,
                query_bytes=32,
                max_tokens=64,
                acc_format="fp16",
                score_format="fp16",
            ),
        ),
        ("fp-mul", None),
        ("fp-div", None),
    ],
)
def test_all_that_runs_when_a_unit_is_generated_counts(name, config):
    """The sources are read, not run: nothing that runs may have been missed."""
    chosen = unit(name)
    config = chosen.preset("fp16")[1] if config is None else config
    known = sources.definitions(
        [
            chosen.generator,
            f"{chosen.config.__module__}:{chosen.config.__qualname__}",
            "bankside.hardware.generate:_generate",
        ]
    )
    chosen.load_generator()
    import bankside.gen.blocks.shared  # noqa: F401

    ran = executed(lambda: generate._generate.__wrapped__(chosen, config, chosen.module))
    missed = {(module, what) for module, what in ran if what not in known.get(module, ())}
    # What finds the generator, and what reads files.
    beside = {"bankside.constraints.core.contract", "bankside.constraints.core.registry"}
    assert {what for what in missed if what[0] not in beside and not sources.is_plumbing(what[0])} == set()
    assert len(ran) > 15
