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

__all__ = ["CHECKED", "Measure", "Row", "check_claims", "checks_of"]

#: Papers that have checks.
CHECKED = ("pam",)

#: Times that measurements are made because of what those before have led to.
MAX_ROUNDS = 8

#: Runs commands, returns what went wrong by command.
Measure = Callable[[Sequence[str]], Mapping[str, str]]


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
                 checks: Mapping[str, Check] | None = None, measure: Measure | None = None,
                 each: Callable[[Row], None] = lambda row: None) -> list[Row]:
    """Compute our value for each of ``claims``, all of the paper's by default.

    Parameters
    ----------
    checks
        By claim; the paper's own by default.
    measure : callable, optional
        Runs commands that make missing measurements, and returns what went wrong by command; without it, claims that need
        them can't be checked. It is called with all that is missing, and again if more turns out to be.
    each : callable
        Called with every row when it is done.
    """
    known = checks_of(paper.name) if checks is None else checks
    wanted = list(paper.claims if claims is None else claims)
    rows: dict[str, Row] = {}
    failed: dict[str, str] = {}
    made: set[str] = set()
    waiting = wanted
    for turn in range(MAX_ROUNDS + 1):
        missing: dict[str, tuple[str, ...]] = {}
        for claim in waiting:
            row, needs = _row(paper, claim, known.get(claim.id), evidence, failed)
            if needs and measure is not None and turn < MAX_ROUNDS and not made.issuperset(needs):
                missing[claim.id] = needs
            else:
                rows[claim.id] = row
                each(row)
        if not missing or measure is None:
            break
        commands = [c for c in dict.fromkeys(c for needs in missing.values() for c in needs) if c not in made]
        made.update(commands)
        failed.update(measure(commands))
        waiting = [claim for claim in waiting if claim.id in missing]
    return [rows[claim.id] for claim in wanted]


def _row(paper: Paper, claim: Claim, check: Check | None, evidence: Evidence,
         failed: Mapping[str, str]) -> tuple[Row, tuple[str, ...]]:
    """A claim's row, and the commands that would make the measurements that it lacks."""
    started = time.monotonic()
    if check is None:
        return _failed(claim, f"this project has no model of what {paper.name} states here", started), ()
    try:
        finding = check(evidence, claim.id)
    except MissingRecord as missing:
        broken = [f"`{command}`: {failed[command]}" for command in missing.commands if command in failed]
        why = "; ".join(broken) or str(missing).replace(", or give --measure", "")
        return _failed(claim, why, started), missing.commands
    except (NotCheckable, ConfigError) as reason:
        return _failed(claim, str(reason), started), ()
    result = judge(claim.value, finding.ours, finding.tolerance, interval=finding.interval, bounds=finding.bounds)
    why = finding.why
    if result.unchecked and not why:
        why = f"not checked: {', '.join(result.unchecked)}"
    return Row(claim, _jsonable(finding.ours), result.ratio, result.verdict, why, finding.basis,
               _tolerance_text(claim, finding), time.monotonic() - started), ()


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
