"""Claims as data, the comparison of values, and that every claim of PAM has a value of ours or a reason why not."""

import ast
import importlib
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bankside.constraints.core.document import parse, validate
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import Measurement, Outcome, Record, RecordError
from bankside.constraints.pam.pu import PRESETS
from bankside.models import papers
from bankside.models.papers import (
    CATEGORIES,
    CAUSES,
    MAX_TOLERANCE,
    VERDICTS,
    Claim,
    Difference,
    Evidence,
    Figure,
    Finding,
    NotCheckable,
    Paper,
    PaperPackage,
    SeriesPanel,
    Source,
    category,
    category_of,
    check_claims,
    checks_of,
    judge,
    load_paper,
    paper_names,
)
from bankside.models.papers.evidence import Checks
from bankside.models.papers.pam import algorithm, area, placement
from bankside.models.papers.pam.differences import at_the_peak, energy_factor, gain_difference
from bankside.models.papers.verdict import Judgement
from bankside.models.systems import MissingRecord
from bankside.studies.check import wrong_sources
from bankside.studies.repro import claim_row, published_modules
from tests import made_up

PAM = load_paper("pam")
TIMINGS = [claim.id for claim in PAM.claims if re.match(r"pam-(hbm|ddr)-t[A-Z]", claim.id)]
SYNTHESIS = Measurement.of("synth", "pam-pu", PRESETS["pam-hbm"], preset="pam-hbm")


class Records:
    """Made-up measurements: a synthesis record of any unit."""

    def __init__(self, kinds=("synth",), **results):
        self.kinds, self.asked = kinds, []
        self.results = (
            made_up.SYNTHESIS
            | {
                "area_ge": 60_000.0,
                "area_um2": 48_000.0,
                "fmax_mhz": 700.0,
                "memories": [{"name": "query_buffer.memory", "area_um2_estimate": 4800.0}],
            }
            | results
        )

    def find(self, measurement):
        self.asked.append(measurement)
        if measurement.kind not in self.kinds:
            return None
        return Record.of(measurement, made_from={}, verilog="", results=self.results, tools={})


class Measurer:
    """Ends what it is asked for when it is waited for, one measurement at a time."""

    def __init__(self, run=lambda measurement: None):
        self.run, self.queue, self.ran = run, [], []

    def start(self, measurements):
        self.queue += measurements

    def ended(self, wait=False):
        if not wait or not self.queue:
            return {}
        measurement = self.queue.pop(0)
        self.ran.append(measurement)
        return {measurement: self.run(measurement) or Outcome("done")}


class NoRecords:
    def find(self, measurement):
        return None


def rows(*identifiers, records=None, **more):
    claims = [PAM.claim(identifier) for identifier in identifiers]
    return {row.claim.id: row for row in check_claims(PAM, Evidence(records or Records()), claims, **more)}


# Data ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, count", [("pam", 134), ("cent", 95), ("lol-pim", 72), ("inf2", 59), ("starc", 38)])
def test_papers_are_complete(name, count):
    paper = load_paper(name)
    assert paper.name == name and len(paper.claims) == count
    assert len({claim.id for claim in paper.claims}) == count


def test_no_claim_belongs_to_two_papers():
    identifiers = [claim.id for name in paper_names() for claim in load_paper(name).claims]
    assert len(identifiers) == len(set(identifiers)) == 398


@pytest.mark.parametrize(
    "identifier, value",
    [
        ("pam-hbm-tREFI", 5070),
        ("pam-hbm-org", [16, 2, 2, 4, 4]),
        ("pam-cap-hbm", 1.6e12),
        ("pam-mapping", True),
        (
            "pam-thr-off",
            {"llama3-70b": {"arxiv_sum": 39.2, "write_doc": 25.2}, "opt-175b": {"arxiv_sum": 33.0, "write_doc": 8.26}},
        ),
    ],
)
def test_values_are_the_paper_s(identifier, value):
    assert PAM.claim(identifier).value == value


def document(**changes):
    claim = {
        "id": "x-1",
        "source": "§1",
        "statement": "s",
        "quantity": "q",
        "value": 1,
        "unit": None,
        "conditions": None,
        "kind": "config",
    }
    return {"name": "x", "title": "X", "claims": [claim | changes]}


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"kind": "guess"},
            r"x\.yaml:\d+: claims\.0\.kind: input should be 'config', 'derived' or 'measured-by-paper'",
        ),
        ({"value": {}}, r"x\.yaml:\d+: claims\.0\.value: a value must not be an empty list or mapping"),
        ({"value": None}, r"a value must be a number, text, true or false"),
        ({"value": [1, math.inf]}, r"'.inf' is not a finite number"),
        ({"id": "X 1"}, r"x\.yaml:4: claims\.0\.id: string should match"),
        ({"idd": 1}, r"unknown key 'claims\.0\.idd'; did you mean"),
    ],
)
def test_wrong_papers_are_told_with_their_line(changes, message):
    text = yaml.safe_dump(document(**changes), sort_keys=False)
    with pytest.raises(ConfigError, match=message):
        data, lines = parse(text, "x.yaml")
        validate(data, Paper, "x.yaml", lines)


def test_an_id_may_be_used_once(tmp_path):
    twice = document()
    twice["claims"] *= 2
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump(twice))
    with pytest.raises(ConfigError, match=r"^.*x\.yaml:1: claim 'x-1' appears twice$"):
        load_paper(file)


def test_unknown_names():
    with pytest.raises(
        ConfigError,
        match=r"^unknown paper 'pan'; did you mean 'pam'\? \(valid: cent, inf2, lol-pim, pam, "
        r"starc\)$",
    ):
        load_paper("pan")
    with pytest.raises(ConfigError, match=r"^unknown claim of pam 'pam-slu'; did you mean 'pam-slo'\?"):
        PAM.claim("pam-slu")


# Verdicts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "paper, ours, tolerance, verdict, ratio",
    [
        (10, 10, 0, "exact", 1),
        (10, 10.0, 0, "exact", 1),
        (0.3, 0.1 + 0.2, 0, "exact", 1),
        (10, 10.4, 0.05, "within", 1.04),
        (10, 9.5, 0.05, "within", 0.95),
        (10, 10.6, 0.05, "off", 1.06),
        (10, 11, 0, "off", 1.1),
        (0, 0, 0, "exact", None),
        (0, 1, 0.5, "off", None),
        (10, -10, 0.5, "off", -1),
        (10, math.nan, 9, "off", None),
        (True, True, 0, "exact", None),
        (True, False, 0, "off", None),
        (True, 1, 0, "off", None),
        (1, True, 0, "off", None),
        ("a", "a", 0, "exact", None),
        ("a", "b", 0, "off", None),
        ([1, 2], [1, 2], 0, "exact", 1),
        ([1, 2], [1, 3], 0, "off", 1.5),
        ([1, 2], [1], 0, "off", None),
        ([1], 1, 0, "off", None),
        ({"a": 1, "b": 2}, {"a": 1, "b": 2.1}, 0.06, "within", 1.05),
        ({"a": 1, "b": 2}, {"a": 1.05, "b": 2.1}, {"b": 0.06}, "off", 1.05),
        ({"a": {"c": 1}}, {"a": {"c": 1.5}}, {"a": 0.5}, "within", 1.5),
        ({"max_percent": 2}, {"max_percent": 1}, 0, "bound", None),
        ({"max_percent": 2}, {"max_percent": 3}, 0, "off", 1.5),
        ({"min_ratio": 20}, {"min_ratio": 50}, 0, "bound", None),
        ({"min_ratio": 20}, {"min_ratio": 10}, 0, "off", 0.5),
        ({"used_gb_max": 4}, {"used_gb_max": 4}, 0, "bound", None),
        ({"max_percent": 2, "gb": 8}, {"max_percent": 1, "gb": 8}, 0, "bound", 1),
        ([8, 12], [8, 12], 0, "exact", 1),
        ([8, 12], [7.5, 12.5], 0.1, "within", 0.9375),
        ([8, 12], [9, 11], 0.1, "off", 1.125),
        ([8, 12], [8, 18], 0.1, "off", 1.5),
        ([8, 12], 9, 0.1, "off", None),
    ],
)
def test_verdicts(paper, ours, tolerance, verdict, ratio):
    found = judge(paper, ours, tolerance)
    assert found.verdict == verdict
    assert found.ratio is ratio if ratio is None else found.ratio == pytest.approx(ratio)


def test_parts_that_are_off_or_unchecked_are_named():
    found = judge({"a": 1, "b": 2, "c": {"d": 3}}, {"a": 2, "b": None, "c": {"d": 4}}, 0.1)
    assert (found.wrong, found.unchecked, found.ratio, found.part) == (("a", "c.d"), ("b",), 2, "a")
    with pytest.raises(ValueError, match="nothing to compare"):
        judge({"a": 1}, {"a": None})


def test_a_key_with_max_may_be_a_name():
    assert judge({"row_max": 1}, {"row_max": 0}).verdict == "bound"
    assert judge({"row_max": 1}, {"row_max": 0}, bounds=False).verdict == "off"


@given(st.floats(1e-6, 1e12), st.floats(0.01, 100), st.floats(0, 3))
def test_the_tolerance_is_what_decides(paper, ratio, tolerance):
    """Whatever the value: ours is within exactly if it is no farther off than the tolerance."""
    found = judge(paper, paper * ratio, tolerance)
    off = abs(paper * ratio - paper) > tolerance * paper * (1 + 1e-9)
    if abs(ratio - 1) > 1e-8:
        assert found.verdict == ("off" if off else "within")


# Checks ----------------------------------------------------------------------------------------------------------------


def test_every_claim_of_pam_has_a_check():
    """And no check is of a claim that the paper does not make."""
    known = {claim.id for claim in PAM.claims}
    assert set(checks_of("pam")) == known


def test_every_claim_of_starc_has_a_check():
    assert set(checks_of("starc")) == {claim.id for claim in load_paper("starc").claims}


def test_a_file_of_claims_without_a_package_has_none(tmp_path):
    file = tmp_path / "other.yaml"
    file.write_text(
        "name: other\ntitle: Another\nclaims: [{id: other-1, source: text, statement: holds, quantity: banks, "
        "value: 1, unit: null, conditions: null, kind: config}]\n"
    )
    row = check_claims(load_paper(file), Evidence(NoRecords()))[0]
    assert (row.verdict, row.ours) == ("not-checkable", None) and "no model" in row.why


def test_table_1():
    timings = rows(*TIMINGS)
    assert {name for name, row in timings.items() if row.verdict != "exact"} == {"pam-hbm-tBL"}
    assert timings["pam-hbm-tBL"].verdict == "off" and timings["pam-hbm-tBL"].ratio == 0.5
    assert timings["pam-hbm-tREFI"].ours == 5070 and "hbm3-5.2" in timings["pam-hbm-tREFI"].basis


@pytest.mark.parametrize("wrong", [5069, 5071])
def test_a_wrong_timing_is_off(wrong, monkeypatch):
    """A memory file that says something else than the paper."""
    evidence = Evidence(NoRecords())
    monkeypatch.setitem(evidence.memory("hbm3-5.2").parameters, "nREFI", wrong)
    row = check_claims(PAM, evidence, [PAM.claim("pam-hbm-tREFI")])[0]
    assert (row.verdict, row.ours) == ("off", wrong)


def test_organisation_and_rates():
    found = rows(
        "pam-hbm-org", "pam-ddr-org", "pam-ssd-cap", "pam-cap-ddr", "pam-cap-ssd", "pam-attacc-bw", "pam-mot-kv"
    )
    assert [found[f"pam-{part}"].verdict for part in ("hbm-org", "ddr-org", "ssd-cap", "mot-kv")] == ["exact"] * 4
    assert found["pam-cap-ddr"].ours == 128 * 8 / 5e-9 and found["pam-cap-ddr"].verdict == "within"
    assert 0.85 * 17.5e9 < found["pam-cap-ssd"].ours < 17.5e9


def test_areas_follow_the_measured_gates():
    """Twice the gates, twice the area; the verdict follows."""
    small, large = (
        rows("pam-area-hbm-pu", records=Records(area_ge=ge))["pam-area-hbm-pu"] for ge in (64_000.0, 128_000.0)
    )
    assert large.ours["mm2"] == pytest.approx(2 * small.ours["mm2"])
    assert small.ours["mm2"] == pytest.approx(64_000 * math.sqrt(0.136 * 0.21 / 0.7) * 10e-6)
    assert small.ours["datapath_percent"] is None and "datapath" in small.why
    assert (small.verdict, large.verdict) == ("within", "off")


def test_a_clock_that_is_not_reached_is_told():
    row = rows("pam-pu-freq-hbm", records=Records(fmax_mhz=500.0))["pam-pu-freq-hbm"]
    assert (row.ours, row.verdict) == (500.0, "off") and "library" in row.why
    row = rows("pam-pu-freq-hbm", records=Records(fmax_mhz=900.0))["pam-pu-freq-hbm"]
    assert (row.ours, row.verdict) == (666.0, "exact")


def test_missing_measurements_are_made_once():
    """A claim that needs one names the command; with a way to run commands it is run once for all that need it."""
    records = Records(kinds=())
    row = rows("pam-area-hbm-pu", records=records)["pam-area-hbm-pu"]
    assert row.verdict == "not-measured" and "`bankside synth pam-pu --preset pam-hbm`" in row.why
    assert "--measure" not in row.why

    def run(command):
        records.kinds = ("synth",)

    measurer = Measurer(run)
    found = rows("pam-area-hbm-pu", "pam-pu-freq-hbm", records=records, measurer=measurer)
    assert measurer.ran == [SYNTHESIS]
    assert found["pam-pu-freq-hbm"].verdict == "exact"


@pytest.mark.parametrize(
    "outcome, verdict, why",
    [
        (Outcome("failed", "no such tool", 3), "failed", "failed: no such tool"),
        (Outcome("timed-out", "not done within the 5 s", 1), "timed-out", "timed-out: not done within the 5 s"),
        (Outcome("done"), "failed", "left no record of what was asked for"),
    ],
)
def test_a_measurement_that_is_not_made_is_told_in_its_own_words(outcome, verdict, why):
    """The claim could be checked: it is never called not checkable."""
    measurer = Measurer(lambda measurement: outcome)
    row = rows("pam-pu-freq-hbm", records=NoRecords(), measurer=measurer)["pam-pu-freq-hbm"]
    assert (row.verdict, row.why) == (verdict, f"`bankside synth pam-pu --preset pam-hbm` {why}")


def test_a_record_that_can_not_be_trusted_is_no_verdict():
    class Broken:
        def find(self, measurement):
            raise RecordError("records/x.json: the results have been edited")

    with pytest.raises(RecordError, match="^records/x.json: "):
        rows("pam-pu-freq-hbm", records=Broken())


def test_a_claim_is_computed_when_its_own_measurements_are_there():
    """And not only when all are: the one that needs the second command is still open then."""
    done, order, measurer = set(), [], Measurer(lambda measurement: done.add(measurement))
    first, second = (Measurement.of("sim", "pam-pu", PRESETS["pam-hbm"], seed=seed) for seed in (1, 2))

    def check(measurement):
        def finding(evidence, claim):
            if measurement not in done:
                raise MissingRecord("x", [measurement])
            order.append((claim, len(done)))
            return Finding(1, "")

        return finding

    claims = [
        Claim(id=name, source="§1", statement="s", quantity="q", value=1, unit=None, conditions=None, kind="config")
        for name in ("a", "b", "c")
    ]
    found = check_claims(
        Paper(name="x", title="X", claims=claims),
        Evidence(NoRecords()),
        measurer=measurer,
        checks={"a": check(second), "b": check(first), "c": lambda evidence, claim: Finding(1, "")},
    )
    assert [row.claim.id for row in found] == ["a", "b", "c"] and measurer.ran == [second, first]
    assert order == [("a", 1), ("b", 2)]


def test_the_verilog_decides_the_structure():
    def modules(unit, preset):
        return ["sequencer", "exp", *(f"output_rounder_{k}" for k in range(8))], {"kv__payload": 128}

    found = {
        row.claim.id: row
        for row in check_claims(
            PAM, Evidence(NoRecords(), modules=modules), [PAM.claim("pam-pu-hbm-width"), PAM.claim("pam-pu-softmax")]
        )
    }
    assert found["pam-pu-hbm-width"].ours == {"bits": 128, "mul": 16, "add": 8}
    assert found["pam-pu-hbm-width"].verdict == "off" and found["pam-pu-softmax"].verdict == "exact"


def test_merging_partial_results():
    """Any cut of the tokens, an empty part and the order of the parts give the same attention."""
    random = np.random.default_rng(3)
    q, k, v = random.standard_normal(8), *random.standard_normal((2, 20, 8))
    parts = [algorithm.local(q, k[a:b], v[a:b]) for a, b in ((0, 0), (0, 3), (3, 19), (19, 20))]
    for order in (parts, parts[::-1]):
        _, total, output = algorithm.merge(order)
        assert np.allclose(output / total, algorithm.attention(q, k, v), rtol=0, atol=1e-14)


def test_rules_of_the_placement():
    found = rows("pam-alloc", "pam-alg2", "pam-eq8", "pam-window", "pam-bg-total", "pam-bg-track", "pam-mapping")
    assert {name: row.verdict for name, row in found.items() if row.verdict != "exact"} == {"pam-bg-track": "bound"}


def test_a_scheduler_that_does_something_else_is_off(monkeypatch):
    monkeypatch.setattr(placement.KvTable, "schedule", lambda self, x, y, most: {})
    assert rows("pam-alg2")["pam-alg2"].verdict == "off"


def test_dies_are_in_the_system_files():
    assert [area.die_mm2(Evidence(NoRecords()), tier) for tier in ("hbm", "ddr")] == [121, 100]


# Categories ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, sources, group",
    [
        ("config", "setting", "configuration"),
        ("config", "", "configuration"),
        ("config", "setting run", "behaviour"),
        ("derived", "verilog", "behaviour"),
        ("derived", "record", "behaviour"),
        ("derived", "paper", "configuration"),
        ("measured-by-paper", "record", "result"),
        ("measured-by-paper", "run setting", "result"),
        ("measured-by-paper", "", "result"),
        ("measured-by-paper", "setting", "configuration"),
        ("measured-by-paper", "paper", "configuration"),
        ("measured-by-paper", "record paper", "behaviour"),
    ],
)
def test_categories_follow_from_kind_and_sources(kind, sources, group):
    """A result needs a measurement or run of ours, and no number that the paper measured."""
    assert category(kind, [Source(name) for name in sources.split()]) == group


@pytest.mark.parametrize("name", [name for name in paper_names() if checks_of(name)])
def test_declared_sources_are_the_ones_that_a_check_uses(name):
    """Every check, without a record: one that needs none declares none, and a run is a call of an engine."""
    assert wrong_sources(name) == {}


def test_a_check_that_hides_a_record_is_refused():
    """A declared setting that is in truth a measurement would put its claim into another category."""
    checks = Checks()
    checks.of("pam-pu-freq-hbm", by=Source.SETTING)(checks_of("pam")["pam-pu-freq-hbm"])
    with pytest.raises(ValueError, match=r"^the check of claim 'pam-pu-freq-hbm' must declare its sources: by=record$"):
        rows("pam-pu-freq-hbm", checks=checks)


def test_sources_of_kept_results_are_kept():
    """The second claim that shares a result has its sources too."""
    evidence = Evidence(Records())
    for _ in range(2):
        evidence.used.clear()
        evidence.once("outer", lambda: evidence.once("inner", lambda: evidence.records.find(SYNTHESIS)))
        assert evidence.used == {Source.RECORD}


def test_restated_constants_are_no_results():
    """Timings of the paper are configuration, and every result is a number that the paper measured."""
    groups = {claim.id: category_of(claim, checks_of("pam")) for claim in PAM.claims}
    assert {groups[name] for name in TIMINGS} == {"configuration"}
    names = ("alg2", "pu-softmax", "if-lat", "slo", "thr-online", "area-hbm", "bg-id")
    assert [groups[f"pam-{name}"] for name in names] == [
        "behaviour",
        "behaviour",
        "behaviour",
        "configuration",
        "result",
        "result",
        "configuration",
    ]
    for name in paper_names():
        for claim in load_paper(name).claims:
            group = category_of(claim, checks_of(name))
            assert group in CATEGORIES and (group != "result" or claim.kind == "measured-by-paper")


# Rules of comparison, for every claim of every paper -------------------------------------------------------------------

ALL_CLAIMS = [claim for name in paper_names() for claim in load_paper(name).claims]


def leaves(value, path=()):
    """Places of the numbers of a value."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def changed(value, path, change):
    if not path:
        return change(value)
    items = dict(value) if isinstance(value, dict) else list(value)
    items[path[0]] = changed(items[path[0]], path[1:], change)
    return items


@pytest.mark.parametrize("claim", ALL_CLAIMS, ids=lambda claim: claim.id)
def test_a_number_that_is_far_off_is_off(claim):
    """With the largest tolerance, each number of each claim decides: both ends of intervals, every part. A one-sided bound
    is a bound even where ours is equal."""
    for path in leaves(claim.value):
        bounded = (
            claim.bounds and bool(path) and isinstance(path[-1], str) and {"max", "min"} & set(path[-1].split("_"))
        )
        if bounded:
            assert judge(claim.value, claim.value, MAX_TOLERANCE, bounds=claim.bounds).verdict == "bound"
        for factor in (0.7, 1.3):
            ours = changed(claim.value, path, lambda number, factor=factor: number * factor if number else factor)
            met = bounded and (factor < 1) == ("max" in path[-1].split("_"))
            found = judge(claim.value, ours, MAX_TOLERANCE, bounds=claim.bounds).verdict
            assert found == ("bound" if met else "off"), path


@pytest.mark.parametrize("tolerance", [0.26, 9.35, -0.1, {"a": 0.1, "b": 24.97}, math.nan])
def test_no_tolerance_beyond_a_quarter(tolerance):
    with pytest.raises(ValueError, match=r"^a tolerance must be from 0 to 0\.25, not "):
        Finding(1, "", tolerance=tolerance)
    assert Finding(1, "", tolerance=MAX_TOLERANCE).tolerance == 0.25


def tolerances(folder):
    """Tolerances of all findings in the modules of a package of checks, where they stand."""
    for file in sorted(folder.glob("*.py")):
        stem = "" if file.stem == "__init__" else f".{file.stem}"
        module = importlib.import_module(f"{papers.__name__}.{folder.name}{stem}")
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "Finding":
                continue
            given = [*node.args[3:4], *(word.value for word in node.keywords if word.arg == "tolerance")]
            for value in (leaf for one in given for leaf in (one.values if isinstance(one, ast.Dict) else [one])):
                number = value.value if isinstance(value, ast.Constant) else vars(module)[value.id]
                yield f"{file.name}:{node.lineno}", number


def test_the_page_lists_every_tolerance():
    """Each one in the code, and no other."""
    page = Path(__file__).resolve().parents[3] / "docs" / "repro.md"
    if not page.is_file():
        pytest.skip("docs/repro.md is not here: the tests run outside a checkout")
    table = re.search(r"\| value \| tolerance \|\n((?:\|.*\n)+)", page.read_text())[1]
    listed = {float(number) / 100 for number in re.findall(r"(\d+) %", table)}
    folders = [Path(papers.__file__).parent / name for name in ("pam", "lol_pim")]
    used = {f"{folder.name}/{where}": value for folder in folders for where, value in tolerances(folder)}
    used |= {c.id: c.ours.tolerance for name in ("pam", "lol-pim") for c in load_paper(name).claims if c.ours}
    used = {where: value for where, value in used.items() if value}
    assert not {where: value for where, value in used.items() if value not in listed}
    assert listed == set(used.values()) and max(listed) == MAX_TOLERANCE and len(used) > 25


@pytest.mark.parametrize("name", [name for name in paper_names() if checks_of(name)])
def test_checks_do_not_restate_what_the_paper_measured(name):
    """No number of three digits or more in a module of checks is one that the paper measured. Powers of two are sizes."""
    measured = {}
    for claim in load_paper(name).claims:
        if claim.kind == "measured-by-paper":
            for path in leaves(claim.value):
                number = claim.value
                for key in path:
                    number = number[key]
                if len(f"{number:g}".replace(".", "").strip("0")) >= 3 and not math.log2(abs(number)).is_integer():
                    measured[float(number)] = claim.id
    package = Path(sys.modules[next(iter(checks_of(name).values())).__module__].__file__).parent
    for module in package.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                value = float(node.value)
                assert value not in measured, f"{module.name}:{node.lineno} is {measured[value]}"


# Causes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"cause": "bad luck"},
        {"number": "x"},
        {"number": "a sentence."},
        {"ours": "many"},
        {"needed": math.inf},
        {"more": 1},
    ],
)
def test_a_cause_is_one_of_four_and_has_a_number(changes):
    good = {"cause": "design", "number": "gate equivalents of a unit", "ours": 122.3, "needed": 64, "unit": "kGE"}
    assert Difference(**good).text() == (
        "Cause: a difference of design. Number: gate equivalents of a unit. Ours is 122.3 "
        "kGE. The paper's value needs 64 kGE."
    )
    assert set(CAUSES) == {"our-error", "contradiction", "unpublished-input", "design"}
    with pytest.raises(ValueError):
        Difference(**good | changes)


def test_the_needed_number_gives_the_paper_s_value():
    """Gates scaled to what an area needs make the area the paper's."""
    off = rows("pam-area-hbm-pu", records=Records(area_ge=122_300.0))["pam-area-hbm-pu"]
    assert off.verdict == "off" and off.difference.cause == "design" and off.difference.ours == pytest.approx(122.3)
    met = rows("pam-area-hbm-pu", records=Records(area_ge=1e3 * off.difference.needed))["pam-area-hbm-pu"]
    assert met.ours["mm2"] == pytest.approx(0.13) and met.difference is None


def test_what_is_off_says_its_cause():
    """Every quick claim of PAM, in every category."""
    quick = [claim for claim in PAM.claims if not re.search(r"thr|energy|abl|scale|lpim|migr|mot-att", claim.id)]
    off = [
        row for row in check_claims(PAM, Evidence(Records(), modules=published_modules), quick) if row.verdict == "off"
    ]
    assert len(off) > 10
    assert not [row.claim.id for row in off if row.difference is None]


def test_the_factor_of_an_energy_gives_the_saving():
    """A byte of a fetch at three times its energy makes one joule a quarter of the baseline's. No factor saves more with
    energy that only the first has."""
    assert energy_factor({"gpu": 1.0}, {"gpu": 1.0, "kv": 1.0}, ("kv",), 0.75) == pytest.approx(3)
    ours, theirs = {"reads": 1.0, "moves": 2.0}, {"reads": 4.0, "moves": 1.0}
    found = energy_factor(ours, theirs, ("reads",), 0.25)
    assert 1 - (2 + found) / (1 + 4 * found) == pytest.approx(0.25)
    assert energy_factor(ours, theirs, ("reads",), 0.8) is None


@pytest.mark.parametrize(
    "base, paper, cause",
    [
        ("vllm-offload", 3.0, "contradiction"),
        ("vllm-offload", 1.9, "unpublished-input"),
        ("ls-pim", 3.0, "unpublished-input"),
    ],
)
def test_a_gain_beyond_the_peak_of_the_gpus_contradicts_the_text(base, paper, cause):
    """The peak allows twice the rate of the baseline. Only of the one with offload the paper says what it keeps in HBM."""
    found = gain_difference(base, 1000.0, Judgement("off", 0.5), 2.0, paper, "here")
    assert (found.cause, found.ours, found.needed) == (cause, 1000, 500)
    assert ("at most 2.0" in found.number) == (paper > 2)


def test_the_peak_of_the_gpus_by_hand():
    """LLaMA3-70B on 8 H100 of 989 TFLOPS, without the 1.05 billion parameters of its embedding; with the prompts, the share
    of outputs in all tokens."""
    evidence = Evidence(NoRecords())
    peak = 8 * 989e12 / (2 * (70.554e9 - 128256 * 8192))
    assert at_the_peak(evidence, "llama3-70b", "wildchat", False) == pytest.approx(peak, rel=0.01)
    assert at_the_peak(evidence, "llama3-70b", "wildchat", True) == pytest.approx(peak * 458 / 738, rel=0.02)


# What every row has ----------------------------------------------------------------------------------------------------


def made(check, value=10.0, **more):
    claim = Claim(
        id="x-1", source="§1", statement="s", quantity="q", value=value, unit="x", conditions=None, kind="config"
    )
    paper = Paper(name="x", title="X", claims=[claim])
    checks = Checks()
    checks.of("x-1", by=Source.RUN)(check)
    return claim_row(check_claims(paper, Evidence(NoRecords()), checks=checks, **more)[0])


def test_keys_of_a_row():
    row = made(lambda evidence, claim: Finding(np.float64(11), "here", "because", 0.2))
    assert row.model_dump() == {
        "id": "x-1",
        "source": "§1",
        "statement": "s",
        "kind": "config",
        "category": "behaviour",
        "conditions": None,
        "paper": 10.0,
        "ours": 11.0,
        "unit": "x",
        "ratio": pytest.approx(1.1),
        "verdict": "within",
        "tolerance": "20 %",
        "why": "because",
        "difference": None,
        "basis": "here",
    }
    assert type(row.ours) is float


def test_reasons():
    def none(evidence, claim):
        raise NotCheckable("needs a GPU")

    def broken(evidence, claim):
        raise ConfigError("the file is wrong")

    def endless(evidence, claim):
        endless.count += 1
        raise MissingRecord("x", [Measurement.of("sim", "pam-pu", PRESETS["pam-hbm"], seed=endless.count)])

    endless.count = 0
    assert made(none).why == "needs a GPU" and made(broken).why == "the file is wrong"
    assert made(endless, measurer=Measurer()).verdict == "not-measured" and endless.count > 64


@pytest.mark.parametrize("name", paper_names())
def test_checks_and_causes_are_of_claims(name):
    checks, claims = checks_of(name), {claim.id for claim in load_paper(name).claims}
    assert set(checks) == set(checks.sources) <= claims and set(checks.differs) <= set(checks)


@pytest.mark.parametrize(
    "module", sorted(Path(papers.__file__).parent.glob("*/*.py")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_modules_of_checks_reach_no_claims(module):
    """They import neither claims nor what runs checks on them, and read no files: there is no way to a value."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            assert node.level != 2 or node.module in (
                "ahead",
                "category",
                "difference",
                "evidence",
                "figures",
                "package",
                "verdict",
            ), ast.unparse(node)
            assert not (names | set((node.module or "").split("."))) & {"papers", "claims", "yaml"}
            assert "Path" not in names or module.name == "__init__.py"
        elif isinstance(node, ast.Import):
            assert not {alias.name for alias in node.names} & {"yaml", "pathlib", "importlib", "os", "io"}
        elif isinstance(node, ast.Name):
            assert node.id not in ("open", "__import__", "eval", "exec")


@pytest.mark.parametrize("name, count", [("pam", 80), ("lol-pim", 40)])
def test_checks_find_our_values_with_the_claims_out_of_reach(monkeypatch, name, count):
    """Findings of quick claims, with every value locked."""
    checks = checks_of(name)
    quick = [
        i for i in checks if not re.search(r"thr|energy|abl|scale|lpim-ssd|migr|mot-att|-t\d+b|dpa-|par-|lat-|hyb", i)
    ]
    monkeypatch.setattr(
        Claim, "value", property(lambda self: pytest.fail(f"the value of {self.id} was read")), raising=False
    )
    with pytest.raises(pytest.fail.Exception):
        load_paper(name).claims[0].value  # noqa: B018  (what a check would do)
    memory = {
        "name": "query_buffer.memory",
        "area_um2_estimate": 4800.0,
        "bits": 1 << 14,
        "width": 256,
        "read_ports": 1,
        "write_ports": 1,
    }
    records, found = Records(memory_ge_estimate=10_000.0, memories=[memory]), 0
    for identifier in quick:
        try:
            found += isinstance(checks[identifier](Evidence(records), identifier), Finding)
        except (NotCheckable, ConfigError):
            pass
    assert found >= count


def test_a_figure_shows_series_that_are_there():
    figure = Figure("x", (SeriesPanel("x", "x", "line", "n"),))
    with pytest.raises(ValueError, match=r"^figure '1' shows series 'line', which is not in the package$"):
        PaperPackage(Path("x.yaml"), figures={"1": figure})


def test_a_claim_has_one_check():
    checks = Checks()
    checks.of("a", by=Source.SETTING)(none := lambda evidence, claim: Finding(1, ""))
    with pytest.raises(ValueError, match="claim 'a' has two checks"):
        checks.of("a", by=Source.SETTING)(none)
    checks.off("a")(cause := lambda evidence, claim, ours, judged: None)
    with pytest.raises(ValueError, match="claim 'a' has two causes"):
        checks.off("a")(cause)


def test_what_is_computed_once_is_kept():
    evidence, calls = Evidence(NoRecords()), []
    for _ in range(3):
        assert evidence.once("key", lambda: calls.append(1) or 7) == 7
    assert len(calls) == 1

    def fails():
        calls.append(1)
        raise NotCheckable("no")

    for _ in range(3):
        with pytest.raises(NotCheckable):
            evidence.once("other", fails)
    assert len(calls) == 2


def test_a_difference_has_a_reason():
    """Every row that is off or can't be checked says why, whatever measurements are there; ids are not repeated in it."""
    evidence = Evidence(Records(), kept={})
    quick = [claim for claim in PAM.claims if not re.search(r"thr|energy|abl|scale|lpim|migr|mot-att", claim.id)]
    for row in check_claims(PAM, evidence, quick):
        assert row.verdict in VERDICTS
        checked = row.verdict in ("exact", "within", "bound", "off")
        if row.verdict == "off" or not checked:
            assert row.why, row.claim.id
        if checked:
            assert row.basis, row.claim.id


def test_measurements_are_exact():
    """A synthesis is of the built-in library and its effort: what the command named makes."""
    records = Records()
    rows("pam-area-hbm-pu", records=records)
    assert SYNTHESIS in records.asked and SYNTHESIS.command == "bankside synth pam-pu --preset pam-hbm"
