"""A command imports what it uses: names of units and systems alone import none, and short traces need no Numba."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bankside.models.memory.compiled import STEPS

TRACES = {
    "aim": ("AiM WR_SBK 0 1 0 0\nAiM EOC\n", ()),
    "requests": ("LD 0x1000\nST 4160\n", ("--memory", "ddr4-3200-jedec", "--refresh")),
    "attacc": ("PIM_WR_GB 0x00000000\nPIM_MAC_AB 0x00000020\n", ()),
}


def run(program, *words, **environment):
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def imported(*words):
    """Modules of a process after a command."""
    program = (
        "import sys\nfrom bankside.shell.cli import main\ncode = main(sys.argv[1:])\n"
        "print('modules', *sys.modules, sep='\\n')\nsys.exit(code)"
    )
    return set(run(program, *words).rpartition("modules\n")[2].split())


def test_an_evaluation_imports_its_kind_of_system_alone():
    modules = imported("eval", "gpu-only", "--model", "llama-3-70b")
    assert "bankside.models.systems.gpu" in modules
    assert not modules & {f"bankside.models.systems.{kind}" for kind in ("attacc", "cent", "inf2", "lol_pim", "pam")}
    assert not modules & {"numba", "matplotlib", "rich", "amaranth", "bankside.constraints.pam.pu"}


@pytest.mark.parametrize("form", TRACES)
def test_a_short_trace_needs_no_numba(form, tmp_path):
    text, options = TRACES[form]
    (tmp_path / "t.trace").write_text(text)
    modules = imported("time", tmp_path / "t.trace", *options)
    assert "bankside.models.memory.compiled" in modules
    assert not modules & {"numba", "matplotlib", "rich", "amaranth", "bankside.constraints.pam.pu"}


def test_python_and_numba_time_alike(tmp_path):
    """The same traces with Python's steps used up before. Longer work then brings Numba in."""
    pytest.importorskip("numba")
    paths = [tmp_path / form for form in TRACES]
    for path, (text, _) in zip(paths, TRACES.values(), strict=True):
        path.write_text(text)
    program = """
import sys
from bankside.models.memory import compiled
from bankside.studies.trace import Outputs, Setting, time_file
compiled._left = int(sys.argv[1])
for path, memory in zip(sys.argv[2:], (None, "ddr4-3200-jedec", None)):
    timed = time_file(path, None, Setting(memory=memory), Outputs())
    print(timed.cycles, timed.commands, "numba" in sys.modules)
"""
    brief, none = (run(program, steps, *paths) for steps in (STEPS, -1))
    assert brief.count("False") == 3 and none == brief.replace("False", "True")
