"""Claims of papers beside values that this project computes: rows for ``bankside repro``."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from bankside.constraints.core.errors import CheckFailed, ConfigError, nearest
from bankside.constraints.core.records import Measurement
from bankside.constraints.core.workspace import write_files
from bankside.models.papers import (
    CATEGORIES,
    CAUSES,
    VERDICTS,
    Claim,
    Difference,
    Evidence,
    NotCheckable,
    Paper,
    Row,
    category_of,
    check_claims,
    checks_of,
    figures_of,
    load_paper,
    paper_names,
    paper_packages,
    work_ahead,
)

from ..evidence.records import RecordFolder
from ..evidence.side_by_side import Measurer
from ..hardware.generate import tool_versions
from ..provenance.sources import note_sources
from ..results.papers import ClaimRow, Claims, ListedClaim, Papers, PaperSummary, Repro, ReproResults
from ..results.terminal import FittingTable

__all__ = [
    "HEADINGS",
    "by_category",
    "chosen_claims",
    "claim_row",
    "counts_lines",
    "listing",
    "listing_text",
    "papers",
    "papers_text",
    "reason",
    "repro",
    "repro_text",
    "require_causes",
    "require_measured",
    "results",
    "titled",
]

#: Headings of the categories of claims.
HEADINGS = {"result": "Results", "behaviour": "Behaviour", "configuration": "Configuration"}

#: Seconds for measurements by default.
MEASURE_S = 540.0


def results(name: str, file: str, progress: Callable[[str], None] = lambda text: None) -> ReproResults:
    """Write the results of a paper's own evaluation to ``file``.

    Raises
    ------
    :exc:`ConfigError`
        If the paper has no such results here, or the file can't be written.
    """
    paper = load_paper(name)
    package = paper_packages().get(paper.name)
    if package is None or package.results is None:
        with_it = [other for other, one in paper_packages().items() if one.results is not None]
        raise ConfigError(f"--results: {paper.name} has no table of results; valid: {', '.join(with_it)}")
    note_sources(package.results)
    text = package.results(progress)
    path = Path(file)
    write_files(path.parent, {path.name: text})
    return ReproResults(paper=paper.name, file=file, rows=text.count("\n") - 1)


#: A module instance in generated Verilog: the module's name begins with the unit's name and a dot.
_INSTANCE = re.compile(r"^ {2}\\(\w+)(\.[\w.]+)  ?\\?([\w.]+) \($", re.MULTILINE)


@lru_cache
def published_modules(unit: str, preset: str) -> tuple[list[str], Mapping[str, int]]:
    """Names of the module instances and widths of the ports of a unit's published Verilog."""
    folder = resources.files("bankside.rtl").joinpath(unit, preset)
    module = unit.replace("-", "_")
    try:
        text = folder.joinpath(f"{module}.v").read_text()
        described = json.loads(folder.joinpath(f"{module}.json").read_text())
    except OSError:
        raise NotCheckable(f"needs the published Verilog of {unit} {preset}") from None
    return [name for _, _, name in _INSTANCE.findall(text)], {
        port["name"]: port["width"] for port in described["ports"]
    }


def chosen_claims(paper: Paper, identifiers: str | None) -> list[Claim]:
    """Claims by a comma-separated list of ids, all of them by default; :exc:`ConfigError` for an unknown one."""
    if identifiers is None:
        return list(paper.claims)
    names = [name.strip() for name in identifiers.split(",") if name.strip()]
    if not names:
        raise ConfigError("--claims needs at least one id (see bankside repro PAPER --list)")
    known = {claim.id: claim for claim in paper.claims}
    for name in names:
        if name not in known:
            # A line has no room for all ids.
            hint = nearest(f"claim of {paper.name}", name, known).split(" (valid:")[0]
            raise ConfigError(f"{hint} (valid: {len(known)} ids, see bankside repro {paper.name} --list)")
    return [known[name] for name in dict.fromkeys(names)]


def papers() -> Papers:
    """All papers with claims; a paper with a faulty file of claims is named on standard error."""
    found = []
    for name in paper_names():
        try:
            paper = load_paper(name)
        except ConfigError as error:
            print(f"bankside: skipped paper '{name}': {error}", file=sys.stderr)
            continue
        checks = checks_of(name)
        kinds = Counter(category_of(claim, checks) for claim in paper.claims)
        found.append(
            PaperSummary(
                paper=name,
                title=paper.title,
                published=paper.published,
                claims=len(paper.claims),
                categories={group: kinds[group] for group in CATEGORIES},
                checks=len(checks),
                figures=sorted(figures_of(name)),
            )
        )
    return Papers(papers=found)


def papers_text(result: Papers) -> str:
    """One line a paper."""
    width = max((len(one.paper) for one in result.papers), default=0)
    return "\n".join(
        f"{one.paper:<{width}}  {one.claims:>3} claims, {one.checks:>3} with a check "
        f"({', '.join(f'{group} {count}' for group, count in one.categories.items())})  {one.title}"
        for one in result.papers
    )


def repro(
    name: str,
    *,
    claims: str | None = None,
    records: str | None = None,
    measure: bool = True,
    limit_s: float = MEASURE_S,
    quiet: bool = False,
) -> Repro:
    """Claims of a paper, with our value beside each.

    Parameters
    ----------
    claims
        Ids, comma-separated; all by default.
    measure
        Whether measurements that are missing are made.
    limit_s
        Seconds for all measurements together; later ones are not made.
    quiet
        No progress on standard error.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown paper or claim.
    """
    paper = load_paper(name)
    chosen = chosen_claims(paper, claims)
    checks = checks_of(paper.name)
    note_sources(repro, *sorted({one.__module__ for one in (*checks.values(), *checks.differs.values())}))
    rows = _rows(paper, chosen, RecordFolder(records), records, limit_s if measure else 0.0, quiet)
    counts = Counter((row.category, row.verdict) for row in rows)
    return Repro(
        paper=paper.name,
        title=paper.title,
        published=paper.published,
        claims=[claim_row(row) for row in rows],
        counts={group: {verdict: counts[group, verdict] for verdict in VERDICTS} for group in CATEGORIES},
        tools=tool_versions(),
    )


def claim_row(row: Row) -> ClaimRow:
    """A checked claim as results have it."""
    return ClaimRow(
        id=row.claim.id,
        source=row.claim.source,
        statement=row.claim.statement,
        kind=row.claim.kind,
        category=row.category,
        conditions=row.claim.conditions,
        paper=row.claim.value,
        ours=row.ours,
        unit=row.claim.unit,
        ratio=row.ratio,
        verdict=row.verdict,
        tolerance=row.tolerance,
        why=row.why,
        difference=row.difference and Difference(**row.difference.model_dump()),  # all its keys are set
        basis=row.basis,
    )


def require_causes(result: Repro) -> None:
    """:exc:`CheckFailed` if a result is off and says no cause."""
    without = [
        row.id for row in result.claims if row.category == "result" and row.verdict == "off" and row.difference is None
    ]
    if without:
        raise CheckFailed(f"{len(without)} results of {result.paper} are off without a cause: {', '.join(without)}")


def require_measured(result: Repro) -> None:
    """:exc:`CheckFailed` if a measurement that a claim needs failed or ran out of time."""
    lost = [row for row in result.claims if row.verdict in ("failed", "timed-out")]
    if lost:
        raise CheckFailed(f"{len(lost)} of {len(result.claims)} claims lack a measurement; {lost[0].id}: {lost[0].why}")


def _rows(
    paper: Paper, claims: Sequence[Claim], folder: RecordFolder, records: str | None, limit_s: float, quiet: bool
) -> list[Row]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, quiet=quiet)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(paper.name, total=len(claims))

        told = [""]

        def tell(text: str) -> None:
            if bar.disable:
                if not quiet and text != told[0]:
                    print(text, file=sys.stderr)
                told[0] = text
            else:
                bar.update(task, description=text)

        def done(row: Row) -> None:
            bar.update(task, advance=1, description=row.claim.id)

        evidence = Evidence(folder, modules=published_modules, progress=tell)
        package = paper_packages().get(paper.name)
        if package is not None:
            work_ahead(package.ahead, {claim.id for claim in claims}, evidence, folder)
        if limit_s <= 0 or not checks_of(paper.name):
            return check_claims(paper, evidence, claims, each=done)
        with Measurer(tell, records, limit_s, _rank) as measurer:
            return check_claims(paper, evidence, claims, measurer=measurer, each=done)


def _rank(measurement: Measurement) -> int:
    """Measurements that the systems need come first, and the largest units last."""
    first = (("sim", "pam-pu"), ("synth", "pam-pu"), ("sim", "pam-ru"), ("sim", "pam-interface"))
    asked = measurement.kind, measurement.unit
    return first.index(asked) if asked in first else len(first)


# Text ------------------------------------------------------------------------------------------------------------------

_STYLE = {
    "exact": "green",
    "within": "green",
    "bound": "green",
    "off": "yellow",
    "not-checkable": "dim",
    "not-measured": "dim",
    "failed": "red",
    "timed-out": "red",
}


def short(value: Any) -> str:
    """A value of a claim in few characters."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {short(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "[" + ", ".join(short(item) for item in value) + "]"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and value >= 100_000 else str(value)


def by_category(rows: Sequence[ClaimRow]) -> dict[str, list[ClaimRow]]:
    """Rows by category, results first; only categories that have rows."""
    found = {group: [row for row in rows if row.category == group] for group in CATEGORIES}
    return {group: some for group, some in found.items() if some}


def reason(row: ClaimRow) -> str:
    """Cause of a row that is off, and why its values differ or are not compared; may be empty."""
    return " ".join(filter(None, (row.difference.text() if row.difference else "", row.why)))


def repro_text(result: Repro, width: int | None = None) -> str:
    """A table for each category, results first, with the counts of the verdicts below them."""
    from rich.console import Console

    title = titled(result)
    columns: list[tuple[str, dict[str, Any]]] = [
        ("claim", {"no_wrap": True}),
        ("in", {}),
        ("what", {"ratio": 3}),
        ("paper", {"ratio": 2}),
        ("ours", {"ratio": 2}),
        ("ratio", {"justify": "right", "no_wrap": True}),
        ("verdict", {"no_wrap": True}),
        ("why", {"ratio": 5}),
    ]
    console = Console(width=width)
    if width is None and not console.is_terminal:
        console = Console(width=200)
    with console.capture() as capture:
        for group, claims in by_category(result.claims).items():
            rows = []
            for row in claims:
                unit = f" {row.unit}" if row.unit else ""
                rows.append(
                    (
                        row.id,
                        row.source,
                        row.statement,
                        short(row.paper) + unit,
                        "-" if row.ours is None else short(row.ours) + unit,
                        "" if row.ratio is None else f"{row.ratio:.3g}",
                        f"[{_STYLE[row.verdict]}]{row.verdict}[/]",
                        reason(row),
                    )
                )
            console.print(
                FittingTable(
                    columns,
                    rows,
                    (7, 1, 5, 2, 3, 4),
                    title=f"{title}: {HEADINGS[group].lower()}",
                    title_style="bold",
                    title_justify="left",
                    expand=True,
                )
            )
    return "\n".join([*(line.rstrip() for line in capture.get().splitlines()), *counts_lines(result)])


def titled(result: Repro) -> str:
    """Title of the paper, with the place of publication."""
    return result.title + (f" ({result.published})" if result.published else "")


def counts_lines(result: Repro) -> list[str]:
    """Verdicts of each category, and causes of the results that are off; categories are never added up."""
    lines = []
    for group, counts in result.counts.items():
        if total := sum(counts.values()):
            told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
            lines.append(f"{HEADINGS[group]}: {total} claim{'s' if total != 1 else ''}: {told}")
    causes = Counter(row.difference.cause for row in result.claims if row.category == "result" and row.difference)
    if causes:
        lines.append(
            "Causes of results that are off: "
            + ", ".join(f"{CAUSES[cause]} {count}" for cause, count in causes.items())
        )
    return lines


def listing(paper: Paper, claims: Sequence[Claim]) -> Claims:
    """Claims of a paper, without our values."""
    checks = checks_of(paper.name)
    return Claims(
        paper=paper.name,
        claims=[ListedClaim(**claim.model_dump(), category=category_of(claim, checks)) for claim in claims],
    )


def listing_text(result: Claims) -> str:
    """One line a claim, without computing anything."""
    rows = [(one.id, one.category, one.source, one) for one in result.claims]
    width, group, place = (max(len(str(row[column])) for row in rows) for column in range(3))
    return "\n".join(
        f"{name:<{width}}  {category:<{group}}  {source:<{place}}  "
        f"{one.statement}: {short(one.value)}" + (f" {one.unit}" if one.unit else "")
        for name, category, source, one in rows
    )
