"""Completion: what a shell is offered is what there is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bankside.shell.completion import SHELLS


def offered(line, tmp_path):
    """What the program answers to the shell's question."""
    answer = tmp_path / "answer"
    environment = {
        **os.environ,
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
    }
    subprocess.run([sys.executable, "-m", "bankside"], env=environment, check=True, capture_output=True, timeout=60)
    return {word.strip() for word in answer.read_text().split("\n")}


@pytest.mark.parametrize(
    ("line", "there", "not_there"),
    [
        ("bankside s", {"sim", "synth", "serve"}, {"list"}),
        ("bankside sim pam-", {"pam-pu", "pam-ru"}, {"pim-hub"}),
        ("bankside sim pam-pu --preset ", {"pam-hbm", "pam-ddr", "pam-ssd"}, {"lol-pim"}),
        ("bankside gen pam-pu --set tile", {"tile_tokens="}, {"lanes="}),
        ("bankside synth pam-pu --fpga ", {"xcup"}, {"generic"}),
        ("bankside eval gpu", {"gpu-only"}, {"pam"}),
        ("bankside eval pam --model llama-3", {"llama-3-70b"}, {"mistral-7b"}),
        ("bankside sim pam-pu --mem", {"--memory"}, {"--json"}),
        ("bankside sweep p", {"pam-pu", "pam-hbm-only"}, {"gpu-only", "llama-3-70b"}),
        ("bankside sweep pam-pu tile_tokens=8,16 t", {"tile_tokens=", "tokens="}, {"lanes="}),
        ("bankside writeback --s", {"--slots", "--sync", "--step-ms", "--seed"}, {"--keep"}),
        ("bankside repro ", {"pam", "lol-pim"}, {"pam-pu"}),
    ],
)
def test_names_are_offered(line, there, not_there, tmp_path):
    found = offered(line, tmp_path)
    assert there <= found and not not_there & found


@pytest.mark.parametrize("shell", SHELLS)
def test_code_of_each_shell(cli, shell):
    text = cli("completion", shell).out
    assert "bankside" in text and "_ARGCOMPLETE" in text
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=text, text=True, timeout=60).returncode == 0


def test_another_shell(cli):
    cli("completion", "tcsh").failed(2, r"unknown shell 'tcsh'.*\(valid: bash, fish, zsh\)")
