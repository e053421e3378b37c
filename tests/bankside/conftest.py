"""The command line, called as a user calls it, in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from bankside.hardware import generate
from bankside.shell.cli import main

#: The smallest unit that is one: quick to generate, to build and to map.
TINY = {
    "lanes": 2,
    "tile_tokens": 4,
    "max_head_dim": 16,
    "buffer_bytes": 64,
    "query_bytes": 32,
    "max_tokens": 64,
    "acc_format": "fp16",
    "score_format": "fp16",
}


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def failed(self, code: int, pattern: str, progress: bool = False) -> str:
        """The only line of the error, which must match; no result, no traceback."""
        lines = self.err.splitlines()
        assert self.code == code, self.err
        assert self.out == ""
        assert "Traceback" not in self.err
        assert sum(line.startswith("bankside: ") for line in lines) == 1 and lines[-1].startswith("bankside: ")
        assert progress or len(lines) == 1, self.err
        assert re.search(pattern, lines[-1]), lines[-1]
        return lines[-1]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty working folder, and records of its own: none comes with the package."""
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.setattr("bankside.evidence.records.SHIPPED", tmp_path / "shipped")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def nothing_kept(monkeypatch):
    """Units are generated whenever they are asked for; a call forgets what this process has."""
    generator = generate._generate

    def forget():
        generator.cache_clear()
        generate._made.cache_clear()

    monkeypatch.setattr(generate, "kept_file", lambda unit, config, name: None)
    forget()
    yield forget
    forget()


@pytest.fixture
def cli(place, capsys):
    """Run a command in this process."""

    def run(*arguments: str) -> Result:
        capsys.readouterr()
        try:
            code = main(list(arguments))
        except SystemExit as leave:  # --help, --version
            code = leave.code
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def shell(place):
    """Run a command in a process of its own."""

    def run(*arguments: str, env: dict[str, str] | None = None, **options: Any) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "bankside", *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **(env or {})},
            **options,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def tiny():
    """Arguments that select the smallest unit."""
    return ["pam-pu", *(word for key, value in TINY.items() for word in ("--set", f"{key}={value}"))]
