"""Section VI-C: latency and energy of runs with selections, against all tokens and against methods that choose tokens.

Requests, keys and selections of the paper's runs are not published. Ours have as many requests as fit, and made-up keys.
Nothing is fitted to the paper's results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...systems import Evaluation
from ..category import Source
from ..evidence import Evidence, Finding
from .common import BUDGET, BY_ROW, CHECKS, DECODES, METHODS, TOKEN_WISE, attention_mj, batch, reduction, run, shares

#: Runs of the system read the record of the unit that selects.
MEASURED = (Source.RUN, Source.RECORD)

#: The largest tolerance that a check may have: nobody published selections.
TOLERANCE = 0.25


def attention_us(result: Evaluation) -> float:
    return float(result.more["attention_us"])


def tpot_ms(result: Evaluation) -> float:
    return result.tpot_ms


def energy_mj(result: Evaluation) -> float:
    return result.energy_mj_per_token


def against(
    evidence: Evidence, value: Callable[[Evaluation], float], others: tuple[str, ...], **changes: Any
) -> dict[str, list[float]]:
    """Reductions of STARC against each of some methods, by the lengths of the runs."""

    def one(other: str, count: int) -> float:
        own, beside = (value(run(evidence, name, count, **changes)) for name in ("starc", other))
        return reduction(own, beside)

    return {other: [one(other, count) for count in DECODES] for other in others}


def by_row(evidence: Evidence, others: tuple[str, ...]) -> str:
    return (
        f" AttAcc's simulator charges rows by the bytes that are read. With a charge for each activation: "
        f"{told(against(evidence, attention_mj, others, **BY_ROW))} %."
    )


def told(values: dict[str, list[float]]) -> str:
    return "; ".join(f"{name} {' / '.join(f'{one:.1f}' for one in row)}" for name, row in values.items())


def ends(values: dict[str, list[float]]) -> list[float]:
    found = [one for row in values.values() for one in row]
    return [min(found), max(found)]


def basis() -> str:
    return f"starc, {batch()} requests, budget {BUDGET}, synthetic keys"


@CHECKS.of("starc-lat-full", "starc-en-full", by=MEASURED)
def full(evidence: Evidence, claim: str) -> Finding:
    value = attention_us if claim == "starc-lat-full" else attention_mj
    found = against(evidence, value, ("full",))
    starc = run(evidence, "starc", DECODES[-1]).more
    why = (
        f"2,048 / 4,096 / 8,192 steps: {told(found)} %. STARC fetches {starc['fetched']:.0f} tokens a step in the "
        "longest run."
    )
    if claim == "starc-en-full":
        why += by_row(evidence, ("full",))
    return Finding(ends(found), basis(), why, tolerance=TOLERANCE)


@CHECKS.of("starc-lat-tok", "starc-en-tok", by=MEASURED)
def token_wise(evidence: Evidence, claim: str) -> Finding:
    value = attention_us if claim == "starc-lat-tok" else attention_mj
    found = against(evidence, value, TOKEN_WISE)
    why = (
        f"2,048 / 4,096 / 8,192 steps: {told(found)} %. With a third of a context as budget, sparq fetches of it: "
        f"{shares(evidence, 'sparq', 1 / 3)}. Clusters fetch: {shares(evidence, 'starc', 1 / 3)}."
    )
    if claim == "starc-en-tok":
        why += by_row(evidence, TOKEN_WISE)
    else:
        changes: dict[str, Any] = {"selection.reads": "count"}
        count = against(evidence, attention_us, ("sparq",), **changes)["sparq"]
        why += (
            f" With a shorter sequence of as many tokens in place of the reads, against sparq: "
            f"{' / '.join(f'{one:.1f}' for one in count)} %."
        )
    return Finding(ends(found), basis(), why, tolerance=TOLERANCE)


@CHECKS.of("starc-tot-lat", "starc-tot-en", by=MEASURED)
def total(evidence: Evidence, claim: str) -> Finding:
    """The paper names no baseline; against methods that choose tokens, as its text goes on."""
    value = tpot_ms if claim == "starc-tot-lat" else energy_mj
    found, whole = against(evidence, value, TOKEN_WISE), against(evidence, value, ("full",))
    return Finding(
        ends(found),
        basis(),
        f"2,048 / 4,096 / 8,192 steps: {told(found)} %. The paper names neither the baseline nor the requests. "
        f"Against all tokens: {told(whole)} %.",
        tolerance=TOLERANCE,
    )


@CHECKS.of("starc-tok-40", by=Source.RUN)
def speed_up(evidence: Evidence, claim: str) -> Finding:
    """Whole tokens."""
    found = {
        name: [
            100 * (tpot_ms(run(evidence, "full", count)) / tpot_ms(run(evidence, name, count)) - 1) for count in DECODES
        ]
        for name in TOKEN_WISE
    }
    return Finding(
        {"max_percent": max(one for row in found.values() for one in row)},
        basis(),
        f"2,048 / 4,096 / 8,192 steps: {told(found)} %.",
        tolerance=TOLERANCE,
    )


@CHECKS.of("starc-page-best", by=MEASURED)
def least(evidence: Evidence, claim: str) -> Finding:
    """Whether pages have the least latency and energy of attention of all methods in all runs."""
    out: list[bool] = []
    rows: list[list[float]] = []
    for count in DECODES:
        for value in (attention_us, attention_mj):
            of = {name: value(run(evidence, name, count)) for name in reversed(METHODS)}
            out.append(min(of, key=lambda name: of[name]) == "quest")  # noqa: B023 - used at once
        rows.append([run(evidence, name, count).more["rows"] for name in ("quest", "starc")])
    energy = all(out[1::2])
    return Finding(
        all(out),
        basis(),
        "Rows that a head opens for K, pages and clusters: "
        f"{'; '.join(f'{a:.0f} and {b:.0f}' for a, b in rows)}. "
        f"Pages have {'the least' if energy else 'not the least'} energy, which counts no rows. A shorter "
        "sequence, which is all that AttAcc's simulator takes, has the rows of neighbours.",
    )
