"""Digests of sources: what something rests on counts, and nothing else."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

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
    beside = {"bankside.constraints.core.contract", "bankside.constraints.core.registry", *sources.PLUMBING}
    assert {what for what in missed if what[0] not in beside} == set()
    assert len(ran) > 15
