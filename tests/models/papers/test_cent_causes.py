"""The way from the authors' numbers to ours, as docs/cent/system.md tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bankside.evidence.records import RecordFolder
from bankside.models.papers.cent.causes import CAUSES, causes
from bankside.models.papers.cent.table import Configuration
from bankside.models.systems.cent import RULES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "cent" / "system.md"


@pytest.mark.slow
@pytest.mark.parametrize(
    "one, heading",
    [
        (Configuration("Llama2-70B", 32, 80, 1), "Llama-2-70B, 32 devices, 80 stages:"),
        (Configuration("Llama2-7B", 8, 32, 1), "Llama-2-7B, 8 devices, 32 stages:"),
    ],
    ids=["70B", "7B"],
)
def test_tables_of_the_page(one, heading) -> None:
    text = PAGE.read_text().split(heading)[1].split("-->")[1]
    printed = [line for line in text.splitlines() if line.startswith("|")][2:]
    found = [
        f"| {CAUSES.get(row.name, 'the authors’ simulator'.replace('’', chr(39)))} | {row.pim_cycles:,} | "
        f"{row.tokens_per_s:,.1f} | {row.token_ms:.3f} | {row.energy_mj:,.1f} |"
        for row in causes(one, 2048, RecordFolder())
    ]
    assert printed == found


def test_each_rule_has_a_cause() -> None:
    assert tuple(CAUSES) == RULES
