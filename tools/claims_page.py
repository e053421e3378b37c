"""Write docs/repro-PAPER.md: every claim of a paper with our value, as measured on this machine. Results come first. A
result that is off without a cause ends the tool, and no page is written.

    .venv/bin/python tools/claims_page.py pam           computes the rows (minutes; measurement records are used and made)
    .venv/bin/python tools/claims_page.py result.json   from the output of `bankside repro PAPER --json`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from bankside.constraints.core.workspace import write_files
from bankside.models.papers import checks_of, paper_names
from bankside.results.papers import Repro
from bankside.results.schemas import result_of
from bankside.studies.repro import HEADINGS, by_category, counts_lines, reason, repro, require_causes, short

DOCS = Path(__file__).resolve().parent.parent / "docs"

#: What a category says.
SAYS = {
    "result": "Numbers that the paper measured, computed from our measurements.",
    "behaviour": "A simulation or run of ours shows whether our RTL or algorithm does what the paper says.",
    "configuration": "We use what the paper uses. Equal values here are no evidence for its results.",
}


def cell(value: Any, unit: str | None) -> str:
    text = "" if value is None else short(value) + (f" {unit}" if unit else "")
    return text.replace("|", "\\|")


def page(result: Repro) -> str:
    """The page of a paper with our values."""
    lines = [
        f"# {result.title}: claim by claim",
        "",
        f"This page lists the result of `bankside repro {result.paper}`. "
        "[How to read it](repro.md). `tools/claims_page.py` writes it. Values follow from the sources and from "
        "measurements of the generated Verilog, so a later version may differ.",
        "",
        *(f"* {line}" for line in counts_lines(result)),
        "",
    ]
    for group, rows in by_category(result.claims).items():
        lines += [
            f"## {HEADINGS[group]}",
            "",
            SAYS[group],
            "",
            "| claim | in | what | paper | ours | ratio | verdict |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in rows:
            ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
            lines.append(
                "| "
                + " | ".join(
                    (
                        f"`{row.id}`",
                        row.source,
                        cell(row.statement, None),
                        cell(row.paper, row.unit),
                        cell(row.ours, row.unit),
                        ratio,
                        row.verdict,
                    )
                )
                + " |"
            )
        reasons = [
            f"* `{row.id}` ({row.verdict}): {reason(row)}"
            for row in rows
            if row.verdict not in ("exact", "within", "bound")
        ]
        lines += ["", *(["Why:", "", *reasons, ""] if reasons else [])]
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: list[str]) -> None:
    for what in arguments or [name for name in paper_names() if checks_of(name)]:
        result = (
            result_of(json.loads(Path(what).read_text())) if what.endswith(".json") else repro(what, limit_s=3600.0)
        )
        require_causes(result)
        write_files(DOCS, {f"repro-{result.paper}.md": page(result)})


if __name__ == "__main__":
    main(sys.argv[1:])
