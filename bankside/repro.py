"""Claims of papers beside values that this project computes: rows for ``bankside repro``."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from bankside.constraints.errors import CheckFailed, ConfigError, nearest
from bankside.constraints.records import Measurement
from bankside.models.papers import (
    VERDICTS,
    Claim,
    Evidence,
    NotCheckable,
    Paper,
    Row,
    check_claims,
    checks_of,
    figures_of,
    load_paper,
    paper_names,
)

from .generate import tool_versions
from .measuring import Measurer
from .records import RecordFolder
from .sources import note_sources
from .terminal import FittingTable

__all__ = ["chosen_claims", "listing_text", "papers", "papers_text", "repro", "repro_text", "require_measured"]

#: Seconds for measurements by default.
MEASURE_S = 540.0

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
    return [name for _, _, name in _INSTANCE.findall(text)], {port["name"]: port["width"] for port in described["ports"]}


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


def papers() -> dict[str, Any]:
    """Keys of ``bankside repro --list --json``; a paper with a faulty file of claims is named on standard error."""
    found = []
    for name in paper_names():
        try:
            paper = load_paper(name)
        except ConfigError as error:
            print(f"bankside: skipped paper '{name}': {error}", file=sys.stderr)
            continue
        found.append({"paper": name, "title": paper.title, "published": paper.published, "claims": len(paper.claims),
                      "checks": len(checks_of(name)), "figures": sorted(figures_of(name))})
    return {"schema": 1, "papers": found}


def papers_text(result: dict[str, Any]) -> str:
    """One line a paper."""
    width = max((len(one["paper"]) for one in result["papers"]), default=0)
    return "\n".join(f"{one['paper']:<{width}}  {one['claims']:>3} claims, {one['checks']:>3} with a check  {one['title']}"
                     for one in result["papers"])


def repro(name: str, *, claims: str | None = None, records: str | None = None, measure: bool = True,
          limit_s: float = MEASURE_S, quiet: bool = False) -> dict[str, Any]:
    """Keys of ``bankside repro --json``.

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
    note_sources(repro, *sorted({check.__module__ for check in checks_of(paper.name).values()}))
    rows = _rows(paper, chosen, RecordFolder(records), records, limit_s if measure else 0.0, quiet)
    counts = Counter(row.verdict for row in rows)
    return {"schema": 1, "paper": paper.name, "title": paper.title, "published": paper.published,
            "claims": [row.as_dict() for row in rows], "counts": {verdict: counts[verdict] for verdict in VERDICTS},
            "tools": tool_versions()}


def require_measured(result: Mapping[str, Any]) -> None:
    """:exc:`CheckFailed` if a measurement that a claim needs failed or ran out of time."""
    lost = [row for row in result["claims"] if row["verdict"] in ("failed", "timed-out")]
    if lost:
        raise CheckFailed(f"{len(lost)} of {len(result['claims'])} claims lack a measurement; {lost[0]['id']}: "
                          f"{lost[0]['why']}")


def _rows(paper: Paper, claims: Sequence[Claim], folder: RecordFolder, records: str | None, limit_s: float,
          quiet: bool) -> list[Row]:
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

_STYLE = {"exact": "green", "within": "green", "off": "yellow", "not-checkable": "dim", "not-measured": "dim",
          "failed": "red", "timed-out": "red"}


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


def repro_text(result: dict[str, Any], width: int | None = None) -> str:
    """The table for people, with the counts of the verdicts below it."""
    from rich.console import Console

    title = result["title"] + (f" ({result['published']})" if result["published"] else "")
    columns: list[tuple[str, dict[str, Any]]] = [
        ("claim", {"no_wrap": True}), ("in", {}), ("what", {"ratio": 3}), ("paper", {"ratio": 2}), ("ours", {"ratio": 2}),
        ("ratio", {"justify": "right", "no_wrap": True}), ("verdict", {"no_wrap": True}), ("why", {"ratio": 5})]
    rows = []
    for row in result["claims"]:
        unit = f" {row['unit']}" if row["unit"] else ""
        style = _STYLE[row["verdict"]]
        rows.append((row["id"], row["source"], row["statement"], short(row["paper"]) + unit,
                     "-" if row["ours"] is None else short(row["ours"]) + unit,
                     "" if row["ratio"] is None else f"{row['ratio']:.3g}", f"[{style}]{row['verdict']}[/]", row["why"]))
    table = FittingTable(columns, rows, (7, 1, 5, 2, 3, 4), title=title, title_style="bold",
                         title_justify="left", expand=True)
    console = Console(width=width)
    if width is None and not console.is_terminal:
        console = Console(width=200)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n" + counts_text(result)


def counts_text(result: dict[str, Any]) -> str:
    total = len(result["claims"])
    counts = ", ".join(f"{count} {verdict}" for verdict, count in result["counts"].items() if count)
    return f"{total} claim{'s' if total != 1 else ''}: {counts}"


def listing_text(paper: Paper, claims: Sequence[Claim]) -> str:
    """One line a claim, without computing anything."""
    width = max(len(claim.id) for claim in claims)
    place = max(len(claim.source) for claim in claims)
    return "\n".join(f"{claim.id:<{width}}  {claim.source:<{place}}  {claim.statement}: {short(claim.value)}"
                     + (f" {claim.unit}" if claim.unit else "") for claim in claims)
