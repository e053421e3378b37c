"""Claims of INF2: each has a value or a reason, causes stand beside differences, and fitted constants are marked."""

from pathlib import Path

import pytest

from bankside.models.papers import Evidence, category_of, check_claims, checks_of, judge, load_paper
from bankside.models.papers.inf2 import PAPER, common, settings
from bankside.models.papers.inf2.results import ends
from bankside.models.papers.inf2.series import CHANGES, sensitivity

INF2 = load_paper("inf2")


class NoRecords:
    def find(self, measurement):
        return None


@pytest.fixture(scope="module")
def evidence(inf2_records):
    return Evidence(inf2_records)


@pytest.fixture(scope="module")
def rows(evidence):
    return {row.claim.id: row for row in check_claims(INF2, evidence)}


def test_every_claim_has_a_check():
    assert set(checks_of("inf2")) == {claim.id for claim in INF2.claims}


def test_verdicts(rows):
    by = {
        verdict: {name for name, row in rows.items() if row.verdict == verdict}
        for verdict in {row.verdict for row in rows.values()}
    }
    assert by["off"] == {"inf2-raid", "inf2-h100", *(f"inf2-res-{kind}" for kind in ("lut", "ff", "bram", "uram"))}
    assert {f"inf2-t-{what}" for what in ("prefill", "read", "write", "ansr", "answ")} | {
        "inf2-eq3",
        "inf2-wb-mean",
        "inf2-xcache",
        "inf2-par",
        "inf2-gqa",
        "inf2-hw-exp",
        "inf2-gemv",
        "inf2-gemv-blk",
        "inf2-tile",
        "inf2-split",
        "inf2-layout",
        "inf2-power",
        "inf2-cost",
    } <= by["exact"]
    assert {
        "inf2-scale",
        "inf2-mem175",
        "inf2-csd8",
        "inf2-csd16",
        "inf2-mem",
        "inf2-ab-x",
        "inf2-ab-all",
        "inf2-up",
        "inf2-tpd",
    } <= by["within"]
    assert len(by["not-checkable"]) == 5 and all(rows[name].why for name in by["not-checkable"])


def test_claims_about_runs_need_the_measured_unit():
    needed = {row.claim.id for row in check_claims(INF2, Evidence(NoRecords())) if row.verdict == "not-measured"}
    assert {"inf2-up", "inf2-perf", "inf2-scale", "inf2-split", "inf2-par"} <= needed
    assert not needed & {"inf2-mem175", "inf2-kvio", "inf2-raid", "inf2-ds"}  # of baselines alone


def test_differences_have_a_cause(rows):
    assert all(row.difference is not None for row in rows.values() if row.verdict == "off")


def test_fitted_constants_are_marked(rows):
    marked = {name for name, row in rows.items() if "Fitted:" in row.why}
    assert marked == {"inf2-perf", "inf2-ab-wb", "inf2-kvio", "inf2-ds", "inf2-mem175"}
    # Nothing that rests on them is called a result of ours: only the resources of the generated top are
    assert {
        name
        for name, row in rows.items()
        if row.verdict != "not-checkable" and category_of(row.claim, checks_of("inf2")) == "result"
    } == {f"inf2-res-{kind}" for kind in ("lut", "ff", "bram", "uram", "dsp")}


def test_points_without_a_fit_are_near(rows):
    """Printed points to which no constant was fitted: 3 % for gains, 2 % for tokens per second, 22 % for the worst."""
    assert rows["inf2-perf"].ours["opt-30b"] == pytest.approx(2.67, rel=0.03)
    assert rows["inf2-ab-x"].ours == pytest.approx([1.07, 1.19], rel=0.02)
    assert rows["inf2-up"].ours == pytest.approx(3.46, rel=0.01)
    assert rows["inf2-scale"].ours["baseline_2ssd"] == pytest.approx(1.68, rel=0.02)
    assert rows["inf2-scale"].ours["inf2_16csd"] == pytest.approx(3.71, rel=0.23)
    assert rows["inf2-mem175"].ours["256GB"] == pytest.approx(0.032, rel=0.01)
    assert rows["inf2-tpd"].ours["inf2_tok_s"] == pytest.approx(1.99, rel=0.01)
    assert rows["inf2-tpd"].ours["inf2"] == pytest.approx(2.02e-5, rel=0.01)
    assert rows["inf2-h100"].difference.ours == 37.7 and 150 < rows["inf2-h100"].difference.needed < 300


def test_the_page_has_these_values(rows):
    """Points of the table in docs/inf2/system.md to which no constant was fitted."""
    page = (Path(__file__).parents[3] / "docs" / "inf2" / "system.md").read_text()
    table = page.split("## Results beside the paper")[1].split("## Sensitivity")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| ")
    ]
    del cells[:1]
    scale, perf, one = rows["inf2-scale"].ours, rows["inf2-perf"].ours, rows["inf2-mem175"].ours

    def both(claim):
        return " to ".join(f"{value:.2f}" for value in rows[claim].ours)

    assert [cell[2] for cell in cells] == [
        f"{rows['inf2-up'].ours:.2f}",
        f"{perf['opt-30b']:.2f}",
        both("inf2-ab-x"),
        both("inf2-ab-all"),
        f"{scale['baseline_2ssd']:.2f}",
        f"{scale['inf2_16csd']:.2f}",
        f"{one['256GB']:.4f} tokens/s",
        both("inf2-mem"),
        both("inf2-csd16"),
        both("inf2-csd8"),
        f"{rows['inf2-tpd'].ours['inf2_tok_s']:.2f} tokens/s",
        both("inf2-h100") + " %",
    ]


def test_the_page_has_the_sensitivity(evidence):
    page = (Path(__file__).parents[3] / "docs" / "inf2" / "system.md").read_text()
    table = page.split("<!-- table inf2_sensitivity\n")[1].split("-->")[1]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    del cells[:2]
    found = sensitivity(evidence)
    assert [cell[0] for cell in cells] == list(CHANGES) and [cell[3] for cell in cells] == [
        f"{gain:.2f}" for gain in found["gain"].values()
    ]
    # More output and more drives raise the gain, longer prompts do not; FlexGen gains nothing from more drives
    gain = found["gain"]
    assert gain["16 output tokens"] < gain["none"] < gain["512 output tokens"]
    assert gain["4 drives"] < gain["8 drives"] < gain["none"]
    assert found["flexgen"]["8 drives"] == pytest.approx(found["flexgen"]["none"], rel=1e-3)


@pytest.mark.parametrize("name", sorted(PAPER.series.keys() - {"gains", "constants"}))
def test_series_of_figures(evidence, name):
    """Each series has a value at each place, or none where there is no room; values are positive."""
    found = PAPER.series[name](evidence)
    places = {place for values in found.values() for place in values}
    assert found and all(set(values) == places for values in found.values())
    values = [value for each in found.values() for value in each.values() if value is not None]
    assert len(values) > len(places) // 2 and min(values) >= 0


def test_series_have_the_claims_values(evidence, rows):
    series = {name: PAPER.series[name](evidence) for name in ("outputs", "techniques", "drives", "accelerator", "step")}
    assert max(value for each in series["outputs"].values() for value in each.values()) == rows["inf2-up"].ours
    assert [
        min(each["X-cache"] for each in series["techniques"].values()),
        max(each["X-cache"] for each in series["techniques"].values()),
    ] == rows["inf2-ab-x"].ours
    assert series["drives"]["inf2"]["16"] == rows["inf2-scale"].ours["inf2_16csd"]
    shard = {name: values["16K"] for name, values in series["accelerator"].items()}
    assert (
        max(shard, key=shard.get) == "flash to DRAM" and shard["flash to DRAM, hardware"] < shard["flash to DRAM"] / 3
    )
    run_s = sum(values["175b\nflexgen"] for values in series["step"].values())
    assert 100 * series["step"]["drives and transfers"]["175b\nflexgen"] / run_s == pytest.approx(
        rows["inf2-kvio"].ours["min_percent"], rel=0.001
    )


def test_every_figure_has_claims():
    """A figure without a claim can't be drawn."""
    known = {claim.id for claim in INF2.claims}
    assert all(figure.claims and set(figure.claims) <= known for figure in PAPER.figures.values())
    assert {"3", "16"} <= PAPER.figures.keys()


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
