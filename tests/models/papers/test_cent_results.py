"""The table of CENT's results, against the authors' means by phase."""

from __future__ import annotations

import csv

import pytest

from bankside.models.papers import paper_packages
from bankside.models.papers.cent.table import COLUMNS, CONFIGURATIONS, Configuration, groups, results, rows
from bankside.shell.cli import main

#: Rows of CENT's processed_results.csv, of prefill (128, 256, 384 and 512 tokens): configuration; seconds of 512 tokens,
#: tokens/s, mJ a token, W.
PREFILL = [
    (
        Configuration("Llama2-13B", 20, 40, 1),
        3.815057300678572,
        5371.589953119132,
        122.94153337138196,
        720.4876729832306,
    ),
    (
        Configuration("Llama2-13B", 20, 2, 10),
        0.8817552576250001,
        1163.467786010428,
        185.09253864593865,
        354.72286689092334,
    ),
    (Configuration("Llama2-7B", 8, 4, 2), 0.8153090451666666, 2514.066045484409, 70.76543414272729, 237.6949674453392),
    (Configuration("Llama2-7B", 8, 8, 1), 1.1993613098333331, 3416.4914261320523, 67.06293671663036, 277.9761691254555),
]


@pytest.mark.parametrize("one, seconds, rate, energy, power", PREFILL, ids=lambda value: str(value))
def test_means_of_the_authors(one, seconds, rate, energy, power) -> None:
    found = [dict(zip(COLUMNS, row, strict=True)) for row in rows(one, (128, 256, 384, 512))]

    def mean(name: str) -> float:
        return sum(row[name] for row in found) / len(found)

    assert mean("Token latency (ms)") * 0.512 == pytest.approx(seconds, rel=1e-12)
    assert mean("Throughput (tokens/s)") == pytest.approx(rate, rel=1e-12)
    assert mean("Token energy (mJ)") == pytest.approx(energy, rel=1e-5)
    assert mean("Total power (W)") == pytest.approx(power, rel=1e-5)


def test_nineteen_configurations_use_their_devices() -> None:
    assert len(set(CONFIGURATIONS)) == 19
    assert all(one.tensor * one.pipeline == one.devices for one in CONFIGURATIONS if one.pipeline <= one.devices)
    assert sum(len(one.positions()) for one in CONFIGURATIONS) == 19 * 4096 + 3


def test_groups_have_each_configuration_once() -> None:
    """Blocks on ten, sixteen and eight channels are apart; all others of a model are together, and come first."""
    found = groups(CONFIGURATIONS)
    assert sorted(one for group in found for one in group) == sorted(CONFIGURATIONS)
    assert [len(group) for group in found] == [6, 6, 4, 1, 1, 1]
    assert all(len({one.model for one in group}) == 1 for group in found)


def test_processes_change_nothing(tmp_path) -> None:
    some = [one for one in CONFIGURATIONS if one.model == "Llama2-7B" and one.tensor in (1, 8)]
    one, two = (results(configurations=some, processes=count, positions=(1, 40)) for count in (1, 2))
    assert one == two
    table = list(csv.DictReader(one.splitlines()))
    assert tuple(table[0]) == COLUMNS and [row["Sequence length"] for row in table] == ["1", "40"] * 3
    assert [row["Pipeline parallelism"] for row in table] == ["32", "32", "8", "8", "1", "1"]


def test_only_papers_with_results_write_them(capsys) -> None:
    assert paper_packages()["pam"].results is None
    assert main(["repro", "pam", "--results", "x.csv"]) == 2
    assert "valid: cent" in capsys.readouterr().err
    assert main(["repro", "cent", "--results", "x.csv", "--claims", "cent-gb"]) == 2
