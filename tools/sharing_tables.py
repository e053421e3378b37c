"""Rewrite the tables of docs/systems.md that show what several queries per pass change in a system.

Usage::

    .venv/bin/python tools/sharing_tables.py                 rewrites the tables; missing records are an error
    .venv/bin/python tools/sharing_tables.py --measure       makes missing records first (minutes for each design)
    .venv/bin/python tools/sharing_tables.py --json          prints all rows as JSON instead
    .venv/bin/python tools/sharing_tables.py --print         prints the tables instead

A table stands in the page between ``<!-- table NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bankside.constraints.core.errors import BanksideError
from bankside.constraints.core.workspace import write_files
from bankside.evidence.records import RecordFolder
from bankside.models.llm import load_model
from bankside.models.systems.sharing import DESIGNS, Sharing, best, sharing
from bankside.pages.unit_page import fill, table
from bankside.studies.evaluate import evaluate, measuring

ROOT = Path(__file__).resolve().parent.parent

PAGE = "docs/systems.md"

#: Groups of 4, 8, 5 and 1 queries. At this batch, all contexts fit for the models with groups.
MODELS, BATCH = ("llama-3-8b", "llama-3-70b", "qwen2.5-32b", "opt-175b"), 8
CONTEXTS = tuple(1 << n for n in range(11, 18))

#: The conditions of the demo.
ONE = ("llama-3-70b", 4096, 16)


def figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def both(on: str, off: str) -> str:
    """A cell with and without the power limit, once if they are equal."""
    return on if on == off else f"{on} / {off}"


def sharing_time(rows: Sequence[Sharing]) -> str:
    """Attention of a decode step, with everything that belongs to it."""
    limited = {(row.model, row.design): row for row in rows if row.power_limit}
    free = {(row.model, row.design): row for row in rows if not row.power_limit}
    out = []
    for key, row in limited.items():
        pair = row, free.get(key, row)
        paces = [str(max(one.burst_cycles or 0, one.interval_cycles or 0)) for one in pair]
        out.append(
            [
                f"{row.model} ({row.queries_per_head})",
                row.design,
                "" if row.burst_cycles is None else f"{row.passes} x {both(*paces)}",
                both(*(one.bound for one in pair)),
                *(both(figure(a), figure(b)) for a, b in zip(*(one.attention_ms for one in pair), strict=True)),
            ]
        )
    return table(
        [
            "model (queries of a group)",
            "design",
            "passes x cycles of a burst",
            "bound",
            *(f"{context // 1024} K" for context in CONTEXTS),
        ],
        out,
    )


def sharing_energy(rows: Sequence[Sharing]) -> str:
    """Energy of attention for a token, under the power limit, and the area of the design."""
    out = []
    for row in (one for one in rows if one.power_limit):
        out.append([f"{row.model} ({row.queries_per_head})", row.design, *map(figure, row.energy_mj)])
    return table(["mJ a token", "design", *(f"{context // 1024} K" for context in CONTEXTS)], out)


def sharing_area(rows: Sequence[Sharing]) -> str:
    chosen = best(rows)
    out, seen = [], set()
    for row in rows:
        if row.area is None or row.area_ge is None or row.design in seen:
            continue
        seen.add(row.design)
        low, high = row.area.with_other_percent
        out.append(
            [
                row.design,
                f"{row.area_ge / 1e3:.1f}",
                f"{low:.1f} to {high:.1f} %",
                row.area.verdict,
                "**fastest**" if chosen is not None and chosen.design == row.design else "",
            ]
        )
    return table(
        ["design", "kGE", "units and reduction units of a die", "against 9.25 %", "of those not ruled out"], out
    )


def sharing_attacc(rows: Sequence[Sharing]) -> str:
    """AttAcc's units and PAM's in the same place, both with shared reads."""
    out = []
    settings: list[tuple[str, str, dict[str, Any]]] = [
        ("AttAcc's units", "attacc", {}),
        *((f"AttAcc's units, `queries={n}`", "attacc", {"queries": n}) for n in (2, 4, 8)),
        ("the same, `queries=8`, `query_cycles=2`", "attacc", {"queries": 8, "query_cycles": 2}),
        *(
            (f"`{preset}`", "pam-hbm-only", {"unit.preset": preset})
            for preset in ("pam-hbm", "pam-hbm-gqa4", "pam-hbm-gqa8")
        ),
    ]
    for label, system, changes in settings:
        model, context, batch = ONE
        found = [
            evaluate(system, model, context=context, batch=batch, changes={**changes, "power_limit": limit}).to_json()
            for limit in (True, False)
        ]
        attention = found[0]["attention"]
        out.append(
            [
                label,
                attention["passes"],
                attention["unit_burst_memory_cycles"] or "",
                *(f"{one['breakdown_ms']['attention']:.3f}" for one in found),
                f"{found[0]['energy_breakdown_mj']['pim_cell_reads']:.1f}",
            ]
        )
    return table(
        [
            "units",
            "passes",
            "cycles of a burst in the unit",
            "attention, ms, power limit on",
            "off",
            "energy of reads, mJ a token",
        ],
        out,
    )


TABLES: dict[str, Callable[[Sequence[Sharing]], str]] = {
    f.__name__: f for f in (sharing_time, sharing_energy, sharing_area, sharing_attacc)
}


def main(arguments: Sequence[str]) -> None:
    known = ("--measure", "--json", "--print")
    for argument in arguments:
        if argument not in known:
            raise SystemExit(f"unknown option '{argument}' (valid: {', '.join(known)})")

    def tell(text: str) -> None:
        print(text, file=sys.stderr)

    rows = measuring(
        lambda: sharing(RecordFolder(), [load_model(name) for name in MODELS], CONTEXTS, batch=BATCH, tell=tell),
        "--measure" in arguments,
        None,
        tell,
    )
    if "--json" in arguments:
        print(
            json.dumps(
                {
                    "designs": {one.name: {"preset": one.preset, "settings": dict(one.settings)} for one in DESIGNS},
                    "best": getattr(best(rows), "design", None),
                    "rows": [row.to_json() for row in rows],
                },
                indent=1,
            )
        )
        return
    made = {name: make(rows) for name, make in TABLES.items()}
    if "--print" in arguments:
        print("\n\n".join(made.values()))
        return
    write_files(ROOT, {PAGE: fill((ROOT / PAGE).read_text(), made)})


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BanksideError as error:
        raise SystemExit(f"sharing_tables: {error}") from None
