"""What a person sees: no number is cut at any width, and each step shows its time."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from bankside.results.terminal import FittingTable, steps
from bankside.shell.options import log

COLUMNS = [("ms", {}), ("mean", {"justify": "right"}), ("p50", {"justify": "right"}), ("p99", {"justify": "right"})]
ROWS = [("time to first token", "57.31", "1,234,567.8", "0.00012"), None, ("end to end", "–", "88.1", "99999.125")]


def shown(table, width):
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


@pytest.mark.parametrize("width", range(12, 90))
def test_numbers_are_whole_at_every_width(width):
    """Every number that is there is one of the rows, and a column that is not there is named."""
    text = shown(FittingTable(COLUMNS, ROWS, (1, 2)), width)
    numbers = set(re.findall(r"\d[\d.,]*", text.replace("p50", "").replace("p99", "")))
    mine = {cell for row in ROWS if row for cell in row[1:]} - {"–"}
    assert "…" not in text and max(map(len, text.splitlines())) <= width
    if width >= 24:  # what cannot be left out has room
        assert numbers <= mine and {"0.00012", "99999.125"} <= numbers
        for place, cells in ((1, {"57.31"}), (2, {"1,234,567.8", "88.1"})):
            head = COLUMNS[place][0]
            missing = re.search(rf"no room for:.*{head}", text.replace("\n", " "))
            assert cells <= numbers if not missing else not cells & numbers


def test_columns_go_in_their_order():
    assert "no room" not in shown(FittingTable(COLUMNS, ROWS, (1, 2)), 80)
    assert shown(FittingTable(COLUMNS, ROWS, (1, 2)), 36).splitlines()[-1] == "no room for: mean"
    assert shown(FittingTable(COLUMNS, ROWS, (2, 1)), 34).splitlines()[-1] == "no room for: p50"


def test_two_columns_may_have_one_name():
    text = shown(FittingTable([("", {}), ("gpu", {}), ("gpu", {})], [("time", "1.5", "2.5")], (1,)), 60)
    assert "1.5" in text and "2.5" in text


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_steps_on_a_terminal_have_their_time():
    stream = Terminal()
    with pytest.raises(KeyError), steps(stream) as tell:
        tell("generating [b]x")
        tell("building")
        raise KeyError
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).replace("\r", "\n").splitlines()
    assert [re.sub(r"\d+\.\d", "T", line) for line in lines if re.search(r"\d s$", line)] == [
        "generating [b]x  T s",
        "building  T s",
    ]


def test_a_step_shows_the_files_that_are_compiled():
    stream = Terminal()
    with steps(stream) as tell:
        tell("simulating")
        tell.share(3, 12)
        tell.bar.refresh()
        assert "simulating: compiling, 3 of 12 files, 25 %" in stream.getvalue()
        tell.share(12, 12)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).replace("\r", "\n").splitlines()
    assert re.fullmatch(r"simulating  \d+\.\d s", [line for line in lines if line.strip()][-1])


def test_steps_in_a_pipe_are_plain_lines():
    stream = io.StringIO()
    with steps(stream) as tell:
        tell("generating")
        tell("building")
    assert stream.getvalue() == "generating\nbuilding\n"


def test_steps_without_standard_error_stay_out_of_the_result(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr", None)
    with steps() as tell:
        tell("generating")
    log("building")
    assert capsys.readouterr().out == ""
