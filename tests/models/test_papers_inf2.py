"""Claims of INF2: each has a value or a reason, causes stand beside differences, and fitted constants are marked."""

from pathlib import Path

import pytest

from bankside.models.papers import Evidence, category_of, check_claims, checks_of, judge, load_paper
from bankside.models.papers.inf2 import common, settings
from bankside.models.papers.inf2.results import ends

INF2 = load_paper("inf2")


class NoRecords:
    def find(self, measurement):
        return None


@pytest.fixture(scope="module")
def rows():
    return {row.claim.id: row for row in check_claims(INF2, Evidence(NoRecords()))}


def test_every_claim_has_a_check():
    assert set(checks_of("inf2")) == {claim.id for claim in INF2.claims}


def test_verdicts(rows):
    by = {verdict: {name for name, row in rows.items() if row.verdict == verdict}
          for verdict in {row.verdict for row in rows.values()}}
    assert by["off"] == {"inf2-up", "inf2-raid", "inf2-h100", "inf2-csd8", "inf2-tpd"}
    assert {f"inf2-t-{what}" for what in ("prefill", "read", "write", "ansr", "answ")} | {
        "inf2-eq3", "inf2-wb-mean", "inf2-xcache", "inf2-par", "inf2-gqa", "inf2-hw-exp"} <= by["exact"]
    assert {"inf2-scale", "inf2-mem175", "inf2-csd16", "inf2-mem", "inf2-ab-all"} <= by["within"]
    assert len(by["not-checkable"]) == 23 and all(rows[name].why for name in by["not-checkable"])


def test_differences_have_a_cause(rows):
    assert all(row.difference is not None for row in rows.values() if row.verdict == "off")


def test_fitted_constants_are_marked(rows):
    marked = {name for name, row in rows.items() if "Fitted:" in row.why}
    assert marked == {"inf2-perf", "inf2-ab-x", "inf2-ab-wb", "inf2-ds", "inf2-mem175"}
    # Nothing that rests on them is called a result of ours
    assert not {name for name, row in rows.items() if row.verdict != "not-checkable" and category_of(
        row.claim, checks_of("inf2")) == "result"}


def test_points_without_a_fit_are_near(rows):
    """The paper's scaling from 1 to 16 drives, which no constant was fitted to: 2 % for INF2, 11 % for two plain drives."""
    assert rows["inf2-scale"].ours["inf2_16csd"] == pytest.approx(3.71, rel=0.02)
    assert rows["inf2-scale"].ours["baseline_2ssd"] == pytest.approx(1.68, rel=0.12)
    assert rows["inf2-mem175"].ours["256GB"] == pytest.approx(0.032, rel=0.01)


def test_the_page_has_these_values(rows):
    """Points of the table in docs/inf2.md to which no constant was fitted."""
    page = (Path(__file__).parents[2] / "docs" / "inf2.md").read_text()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in
             page.split("## Results beside the paper")[1].split("## Limits")[0].splitlines() if line.startswith("| ")][1:]
    scale, perf, one = rows["inf2-scale"].ours, rows["inf2-perf"].ours, rows["inf2-mem175"].ours

    def both(claim):
        return " to ".join(f"{value:.2f}" for value in rows[claim].ours)

    assert [cell[2] for cell in cells] == [
        f"{scale['inf2_16csd']:.2f}", f"{scale['baseline_2ssd']:.2f}", f"{perf['opt-30b']:.2f}", both("inf2-ab-all"),
        f"{one['256GB']:.4f} tokens/s", both("inf2-mem"), both("inf2-csd16"), both("inf2-csd8"),
        f"{rows['inf2-up'].ours:.2f}",
        " to ".join(f"{value:.1f}" for value in rows["inf2-h100"].ours) + " %"]


def test_a_wrong_formula_is_off(monkeypatch):
    """A block whose keys and values have 4 bytes an element."""
    monkeypatch.setattr(settings.Block, "kv_token_bytes", property(lambda self: 8 * self.kv_width))
    found = settings.formulas(Evidence(NoRecords()), "inf2-t-read")
    assert found.ours == "8 (s+i-1) b h d" and judge("4 (s+i-1) b h d", found.ours).verdict == "off"


def test_a_coefficient_needs_proportion():
    assert settings.coefficient(lambda b, hd: 5 * b * hd, "b h d") == "5 b h d"
    with pytest.raises(AssertionError):
        settings.coefficient(lambda b, hd: 5 * b * hd + 1, "b h d")


def test_runs_are_made_once(monkeypatch):
    evidence, calls = Evidence(NoRecords()), []
    monkeypatch.setattr(common, "evaluate", lambda *args, **more: calls.append(more) or len(calls))
    first = common.run(evidence, "inf2", "opt-30b", 100)
    assert common.run(evidence, "inf2", "opt-30b", 100) == first == 1
    assert common.run(evidence, "inf2", "opt-30b", 100, devices=8) == 2
    assert ends([3, 1, 2]) == [1, 3]
