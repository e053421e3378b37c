"""Every claim of a paper with our value, one row each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...constraints.core.errors import ConfigError
from ...constraints.core.records import Measurement, Outcome, RecordError
from ..systems import MissingRecord
from .category import category
from .claims import Claim, Paper, load_paper
from .difference import Difference
from .evidence import Check, Checks, Evidence, Finding, NotCheckable
from .figures import Figure
from .locator import LocatorError, located
from .package import Series, paper_packages
from .verdict import is_bound, judge

__all__ = ["Measurer", "Row", "category_of", "check_claims", "checks_of", "figures_of", "series_of"]

#: Times that a claim may be tried, each because something that it asked for has been made.
MAX_TURNS = 64


class Measurer(Protocol):
    """Makes measurements while claims are computed."""

    def start(self, measurements: Iterable[Measurement]) -> None:
        """Begin these measurements or queue them."""

    def ended(self, wait: bool = False) -> Mapping[Measurement, Outcome]:
        """Outcomes of measurements that ended since the last call. With ``wait``, at least one if any runs."""


@dataclass(frozen=True)
class Row:
    """A claim and our value.

    Attributes
    ----------
    category : :class:`str`
        One of :data:`CATEGORIES`.
    paper, ours
        Values in ``unit``; ours is None if it can't be checked.
    ratio : :class:`float` or None
        Ours over the paper's; see :class:`Judgement`.
    why : :class:`str`
        Why it differs or can't be checked; may be empty.
    basis : :class:`str`
        The sources of our value.
    tolerance : :class:`str`
        The tolerance for ``within``, in words.
    seconds : :class:`float`
        Time that the check took.
    difference : :class:`Difference` or None
        Cause of a value that is off.
    """

    claim: Claim
    category: str
    ours: Any
    ratio: float | None
    verdict: str
    why: str
    basis: str
    tolerance: str
    seconds: float
    difference: Difference | None = None


def checks_of(paper: str | Paper) -> Checks:
    """Checks of a paper by claim, its locators included; empty for a name that no installed package has.

    Raises
    ------
    :exc:`ConfigError`
        If a claim has a function and a locator, or for a faulty file of claims.
    """
    package = paper_packages().get(paper if isinstance(paper, str) else paper.name)
    checks = Checks(package.checks if package else None)
    if isinstance(paper, str):
        if package is None:
            return checks
        paper = load_paper(paper)
    for claim in paper.claims:
        if claim.ours is not None:
            if claim.id in checks:
                raise ConfigError(f"{paper.file}: claim '{claim.id}' has a check and `ours`; leave out one of them")
            checks.of(claim.id, by=claim.ours.sources)(located(claim.ours, paper.file))
    return checks


def category_of(claim: Claim, checks: Mapping[str, Check]) -> str:
    """Category of a claim that these checks belong to."""
    return category(claim.kind, checks.sources.get(claim.id, ()) if isinstance(checks, Checks) else ())


def figures_of(paper: str) -> Mapping[str, Figure]:
    """Figures of a paper that can be redrawn, by name."""
    package = paper_packages().get(paper)
    return package.figures if package else {}


def series_of(paper: str, name: str, evidence: Evidence) -> Series:
    """Our values for a panel of a figure whose values the paper does not print."""
    return paper_packages()[paper].series[name](evidence)


def check_claims(
    paper: Paper,
    evidence: Evidence,
    claims: Sequence[Claim] | None = None,
    *,
    checks: Mapping[str, Check] | None = None,
    measurer: Measurer | None = None,
    each: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Compute our value for each of ``claims``, all of the paper's by default.

    Parameters
    ----------
    checks
        By claim; the paper's own by default.
    measurer
        Makes missing measurements while other claims are computed. Without it, claims that need them are not measured.
    each : callable
        Called with every row when it is done.
    """
    known = checks_of(paper) if checks is None else Checks(checks)
    wanted = list(paper.claims if claims is None else claims)
    rows: dict[str, Row] = {}
    waiting: dict[str, set[Measurement]] = {}  # those that have not ended
    asked: set[Measurement] = set()
    turns: Counter[str] = Counter()
    made = evidence.made
    # Those that wait only for measurements begin them; the long computations come after.
    ready = sorted(wanted, key=lambda claim: claim.kind == "measured-by-paper")
    while ready:
        for claim in ready:
            if measurer is not None:
                made.update(measurer.ended())  # a core that has become free goes on with the next
            row, needs = _row(paper, claim, known, evidence)
            turns[claim.id] += 1
            open_ = set(needs) - made.keys()
            if measurer is None or not open_ or turns[claim.id] > MAX_TURNS:
                rows[claim.id] = row
                waiting.pop(claim.id, None)
                each(row)
                continue
            waiting[claim.id] = open_
            measurer.start([need for need in dict.fromkeys(needs) if need not in asked])
            asked.update(needs)
        ready = []
        while waiting and not ready and measurer is not None:
            # Some of what a claim asks for it may not need once the rest is there: it is tried again with each.
            ready = [claim for claim in wanted if claim.id in waiting and waiting[claim.id] & made.keys()]
            if not ready:
                made.update(measurer.ended(wait=True) or {need: _LOST for need in asked if need not in made})
    return [rows[claim.id] for claim in wanted]


#: A measurement that nobody works on any more.
_LOST = Outcome("failed", "was not made", 1)


def _row(paper: Paper, claim: Claim, checks: Checks, evidence: Evidence) -> tuple[Row, tuple[Measurement, ...]]:
    """A claim's row, and the measurements that it lacks."""
    started = time.monotonic()
    group = category_of(claim, checks)

    def without(why: str, verdict: str = "not-checkable") -> Row:
        return Row(claim, group, None, None, verdict, why, "", "", time.monotonic() - started)

    if claim.id not in checks:
        return without(f"This project has no model for this statement of {paper.name}."), ()
    evidence.used.clear()
    try:
        finding = checks[claim.id](evidence, claim.id)
        result = judge(claim.value, finding.ours, finding.tolerance, bounds=claim.bounds)
        _require_declared(claim, checks, evidence)
        differ = checks.differs.get(claim.id)
        difference = differ(evidence, claim.id, finding.ours, result) if differ and result.verdict == "off" else None
    except MissingRecord as missing:
        return without(*_unmeasured(missing, evidence.made)), missing.needs
    except (RecordError, LocatorError):  # a faulty record or file is no property of the claim
        raise
    except (NotCheckable, ConfigError) as reason:
        return without(str(reason)), ()
    why = finding.why
    if result.unchecked and not why:
        why = f"Not checked: {', '.join(result.unchecked)}."
    return Row(
        claim,
        group,
        _jsonable(finding.ours),
        result.ratio,
        result.verdict,
        why,
        finding.basis,
        _tolerance_text(claim, finding),
        time.monotonic() - started,
        difference,
    ), ()


def _require_declared(claim: Claim, checks: Checks, evidence: Evidence) -> None:
    """Raise if the check has read records or Verilog that it does not declare: its category would be wrong."""
    declared = checks.sources.get(claim.id)
    hidden = sorted(evidence.used - declared) if declared is not None else []
    if hidden:
        raise ValueError(f"the check of claim '{claim.id}' must declare its sources: by={', '.join(hidden)}")


def _unmeasured(missing: MissingRecord, made: Mapping[Measurement, Outcome]) -> tuple[str, str]:
    """Reason and verdict of a claim without its measurements: none was asked for, one failed, or one ran out of time."""
    ended = [(need, made[need]) for need in missing.needs if need in made and made[need].state != "done"]
    lost = [need for need in missing.needs if need in made and made[need].state == "done"]
    why = "; ".join(
        [
            *(f"`{need.command}` {outcome.state}: {outcome.why}" for need, outcome in ended),
            *(f"`{need.command}` left no record of what was asked for" for need in lost),
        ]
    )
    verdict = next(
        (state for state in ("failed", "timed-out") if any(o.state == state for _, o in ended)),
        "failed" if lost else "not-measured",
    )
    return why or str(missing).replace(", or give --measure", ""), verdict


def _tolerance_text(claim: Claim, finding: Finding) -> str:
    if isinstance(finding.tolerance, Mapping):
        return ", ".join(f"{key} {100 * value:g} %" for key, value in finding.tolerance.items())
    if finding.tolerance:
        return f"{100 * finding.tolerance:g} %"
    if claim.bounds and isinstance(claim.value, dict) and any(is_bound(key) for key in claim.value):
        return "the paper's bound"
    return ""


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    return value.item() if hasattr(value, "item") else value
