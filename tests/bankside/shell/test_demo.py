"""The demo: its parts fit together, and the whole of it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bankside.results.demo import Channel
from bankside.results.units import Sim
from bankside.shell.demo import with_channel

ROOT = Path(__file__).resolve().parents[3]


def test_a_simulation_of_another_process_fits_into_the_demo(cli, tiny):
    """Measurements come as JSON with the version of their keys, as ``sim --json`` prints them."""
    printed = json.loads(cli("sim", *tiny, "--head-dim", "16", "--tokens", "9", "--json").out)
    sim = Sim.model_validate({key: value for key, value in printed.items() if key not in ENVELOPE} | {"schema": 1})
    channel = Channel.model_validate(
        {**dict.fromkeys(Channel.model_fields, 1), "memory": "hbm3-5.2", "first_mismatch": None}
    )
    made = with_channel(sim, channel)
    assert made.measured.vectors == printed["vectors"] and made.channel.clocks == 1
    assert made.to_json()["vectors"] == printed["vectors"]


#: Keys of the output that are no keys of the result.
ENVELOPE = ("command", "notes", "warnings", "inputs")


@pytest.mark.slow
def test_the_whole_demo(tmp_path):
    words = [sys.executable, "-m", "bankside", "demo", "-o", "page"]
    done = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "page" / "results.json").read_text())
    assert result["sim"]["mismatches"] == 0 and result["sim"]["channel"]["mismatches"] == 0
    assert "<html" in (tmp_path / "page" / "index.html").read_text()
