"""Claims of STARC: rules of the algorithm, settings, and runs of the system."""

import numpy as np
import pytest

from bankside.evidence.records import RecordFolder
from bankside.models.papers import Evidence, check_claims, load_paper
from bankside.models.papers.starc.common import reduction
from bankside.models.sparse import methods

PAPER = load_paper("starc")

#: Claims that need no run of the system.
CHEAP = (
    "banks",
    "access",
    "gu",
    "interval",
    "iters",
    "kratio",
    "first2",
    "budgets",
    "quest-page",
    "lens",
    "base-opts",
    "model",
    "metric",
    "score",
    "trunc",
    "recent",
    "frozen",
    "overfetch",
    "ideal",
    "random",
)


class NoRecords:
    def find(self, measurement):
        return None


def rows(*names, records=None):
    claims = [PAPER.claim(f"starc-{name}") for name in names] or None
    return {row.claim.id: row for row in check_claims(PAPER, Evidence(records or NoRecords()), claims)}


def test_settings_and_rules_are_the_papers():
    found = rows(*CHEAP)
    assert {name for name, row in found.items() if row.verdict != "exact"} == {"starc-ideal", "starc-random"}
    assert found["starc-ideal"].verdict == found["starc-random"].verdict == "within"
    assert found["starc-overfetch"].ours == 1024 and found["starc-recent"].ours == "<=127 tokens extra"


def test_the_printed_capacity_is_not_the_stacks():
    row = rows("sys")["starc-sys"]
    assert row.verdict == "off" and row.difference.needed == 32 and row.difference.ours == 16


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("trunc", lambda scores, sizes, budget: np.broadcast_to(sizes, scores.shape)),  # whole clusters
        ("score", lambda scores, sizes, budget: plain(-scores, sizes, budget)),
    ],
)  # the worst clusters
def test_another_rule_is_off(monkeypatch, name, wrong):
    monkeypatch.setattr(methods, "cluster_room", wrong)
    assert rows(name)[f"starc-{name}"].verdict == "off"


plain = methods.cluster_room


def test_claims_on_other_models_name_what_measures_ours():
    """STARC's texts and models are not here. The row says which command compares the methods on the package's model."""
    row = rows("recall")["starc-recall"]
    assert row.verdict == "not-checkable" and "`bankside sparse`" in row.why


def test_reductions_are_per_cent():
    assert reduction(3.0, 4.0) == 25


@pytest.mark.slow
def test_results(tmp_path):
    """All claims; a result that is off says its cause. Energy follows the fetched tokens, time less so."""
    found = rows(records=RecordFolder(tmp_path))
    assert len(found) == 38
    assert all(
        row.difference is not None for row in found.values() if row.category == "result" and row.verdict == "off"
    )
    reasons = {claim.id for claim in PAPER.claims if claim.ours is not None and claim.ours.value is None}
    assert {name for name, row in found.items() if row.verdict == "not-checkable"} == reasons
    latency, energy = (found[f"starc-{name}-full"].ours for name in ("lat", "en"))
    assert found["starc-lat-full"].verdict == "within" and all(a < b for a, b in zip(latency, energy, strict=True))
    assert "synthetic" in found["starc-lat-tok"].basis
