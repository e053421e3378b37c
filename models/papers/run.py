"""Every claim of a paper with our value, one row each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...constraints.errors import ConfigError
from ..systems import MissingRecord
from .claims import Claim, Paper
from .evidence import Check, Evidence, Finding, NotCheckable
from .verdict import is_bound, judge

__all__ = ["CHECKED", "Row", "check_claims", "checks_of"]

#: Papers that have checks.
CHECKED = ("pam",)

#: Measurements that one check may ask for, one after the other.
MAX_MEASUREMENTS = 16


@dataclass(frozen=True)
class Row:
    """A claim and our value.

    Attributes
    ----------
    paper, ours
        Values in ``unit``; ours is None if it can't be checked.
    ratio : :class:`float` or None
        Ours over the paper's; see :class:`Judgement`.
    why : :class:`str`
        Why it differs or can't be checked; empty if there is nothing to say.
    basis : :class:`str`
        What our value was computed from.
    tolerance : :class:`str`
        What counts as ``within``, in words.
    seconds : :class:`float`
        Time that the check took.
    """

    claim: Claim
    ours: Any
    ratio: float | None
    verdict: str
    why: str
    basis: str
    tolerance: str
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """The row of ``bankside repro --json``."""
        claim = self.claim
        return {"id": claim.id, "source": claim.source, "statement": claim.statement, "kind": claim.kind,
                "conditions": claim.conditions, "paper": claim.value, "ours": self.ours, "unit": claim.unit,
                "ratio": self.ratio, "verdict": self.verdict, "tolerance": self.tolerance, "why": self.why,
                "basis": self.basis}


@lru_cache
def checks_of(paper: str) -> Mapping[str, Check]:
    """Checks of a paper by claim; none for a paper that has none."""
    if paper != "pam":
        return {}
    from .pam import CHECKS

    return CHECKS


def check_claims(paper: Paper, evidence: Evidence, claims: Sequence[Claim] | None = None, *,
                 checks: Mapping[str, Check] | None = None, measure: Callable[[str], None] | None = None,
                 each: Callable[[Row], None] = lambda row: None) -> list[Row]:
    """Compute our value for each of ``claims``, all of the paper's by default.

    Parameters
    ----------
    checks
        By claim; the paper's own by default.
    measure : callable, optional
        Runs a command that makes a missing measurement; without it, such claims can't be checked.
    each : callable
        Called with every row when it is done.
    """
    known = checks_of(paper.name) if checks is None else checks
    made: set[str] = set()
    rows = []
    for claim in paper.claims if claims is None else claims:
        started = time.monotonic()
        row = _row(paper, claim, known.get(claim.id), evidence, measure, made, started)
        rows.append(row)
        each(row)
    return rows


def _row(paper: Paper, claim: Claim, check: Check | None, evidence: Evidence, measure: Callable[[str], None] | None,
         made: set[str], started: float) -> Row:
    if check is None:
        return _failed(claim, f"this project has no model of what {paper.name} states here", started)
    for _ in range(MAX_MEASUREMENTS):
        try:
            finding = check(evidence, claim.id)
            break
        except NotCheckable as reason:
            return _failed(claim, str(reason), started)
        except MissingRecord as missing:
            commands = [command for command in missing.commands if command not in made]
            if measure is None or not commands:
                return _failed(claim, str(missing).replace(", or give --measure", ""), started)
            for command in commands:
                made.add(command)
                try:
                    measure(command)
                except ConfigError as error:
                    return _failed(claim, f"{command}: {error}", started)
        except ConfigError as error:
            return _failed(claim, str(error), started)
    else:
        return _failed(claim, "asks for ever more measurements", started)
    result = judge(claim.value, finding.ours, finding.tolerance, interval=finding.interval,
                   bounds=finding.bounds)
    why = finding.why
    if result.unchecked and not why:
        why = f"not checked: {', '.join(result.unchecked)}"
    return Row(claim, _jsonable(finding.ours), result.ratio, result.verdict, why, finding.basis,
               _tolerance_text(claim, finding), time.monotonic() - started)


def _failed(claim: Claim, why: str, started: float) -> Row:
    return Row(claim, None, None, "not-checkable", why, "", "", time.monotonic() - started)


def _tolerance_text(claim: Claim, finding: Finding) -> str:
    if finding.interval:
        return "the paper's interval"
    if isinstance(finding.tolerance, Mapping):
        return ", ".join(f"{key} {100 * value:g} %" for key, value in finding.tolerance.items())
    if finding.tolerance:
        return f"{100 * finding.tolerance:g} %"
    if finding.bounds and isinstance(claim.value, dict) and any(is_bound(key) for key in claim.value):
        return "the paper's bound"
    return ""


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    return value.item() if hasattr(value, "item") else value
