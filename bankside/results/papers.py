"""Results of ``bankside repro``: papers, their claims, and our value beside each claim."""

from __future__ import annotations

from typing import Any, Literal

from bankside.models.papers.category import CATEGORIES
from bankside.models.papers.claims import Claim
from bankside.models.papers.difference import Difference
from bankside.models.papers.verdict import VERDICTS

from .result import Noted, Part, Result, key

__all__ = ["ClaimRow", "Claims", "Figure", "ListedClaim", "PaperSummary", "Papers", "Repro", "ReproResults"]


class PaperSummary(Part):
    paper: str = key("name of the paper")
    title: str = key("title of the paper")
    published: str | None = key("place of publication")
    claims: int = key("number of claims")
    categories: dict[str, int] = key("number of claims by category")
    checks: int = key("number of claims that are checked")
    figures: list[str] = key("figures that can be drawn")


class Papers(Result):
    """``bankside repro --list``."""

    papers: list[PaperSummary] = key("papers with claims")


class ListedClaim(Claim):
    category: Literal[*CATEGORIES] = key(  # type: ignore[valid-type]
        "`result`, `behaviour` or `configuration`; see [Papers](repro.md#three-categories)"
    )


class Claims(Result):
    """``bankside repro PAPER --list``."""

    paper: str = key("name of the paper")
    claims: list[ListedClaim] = key("claims of the paper")


class ClaimRow(Part):
    id: str = key("name of the claim")
    source: str = key("place of the claim in the paper")
    statement: str = key("content of the claim")
    kind: str = key("`config` (a choice), `derived`, or `measured-by-paper`")
    category: Literal[*CATEGORIES] = key(  # type: ignore[valid-type]
        "`result`, `behaviour` or `configuration`; see [Papers](repro.md#three-categories)"
    )
    conditions: str | None = key("conditions of the claim")
    paper: Any = key("the paper's value", "`unit`")
    ours: Any = key("our value, in the same shape; null if there is none", "`unit`")
    unit: str | None = key("unit of both values")
    ratio: float | None = key(
        "our value over the paper's value; if the value has parts, the ratio of the part farthest from 1"
    )
    verdict: Literal[*VERDICTS] = key(  # type: ignore[valid-type]
        "`exact`, `within`, `bound`, `off`, `not-checkable`, `not-measured`, `failed`, `timed-out`"
    )
    tolerance: str = key("difference that counts as `within`")
    why: str = key("reason why the values differ, or why the claim has not been checked")
    difference: Difference | None = key(
        "cause of a value that is off; null for other verdicts, or if no cause is stated"
    )
    basis: str = key("basis of our value")


class Repro(Noted):
    """``bankside repro PAPER``."""

    paper: str = key("name of the paper")
    title: str = key("title of the paper")
    published: str | None = key("place of publication")
    claims: list[ClaimRow] = key("claims of the paper")
    counts: dict[str, dict[str, int]] = key("number of claims by category and verdict")


class ReproResults(Result):
    """``bankside repro PAPER --results FILE``."""

    paper: str = key("name of the paper")
    file: str = key("written file")
    rows: int = key("rows of the table")


class Figure(Repro):
    """``bankside repro PAPER --figure NAME``."""

    series: dict[str, Any] | None = key("our values for panels whose values the paper does not print", default=None)
    figure: str = key("file of the picture")
