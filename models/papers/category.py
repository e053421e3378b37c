"""Categories of claims. They follow from the kind of a claim and from the sources that its check declares."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

__all__ = ["CATEGORIES", "Source", "category"]

#: Results come first: only they are computed from what we measured.
CATEGORIES = ("result", "behaviour", "configuration")


class Source(StrEnum):
    """What shows our value.

    ``setting`` is a value of a file or configuration, or arithmetic on such values. ``verilog`` is the published Verilog
    of a unit, ``record`` a measurement record. ``run`` is a run of the timing engine, or of an algorithm or a model.
    ``paper`` is a number that the paper measured and that our value is computed with.
    """

    SETTING = "setting"
    VERILOG = "verilog"
    RECORD = "record"
    RUN = "run"
    PAPER = "paper"


#: Sources that are ours.
OURS = frozenset({Source.VERILOG, Source.RECORD, Source.RUN})


def category(kind: str, sources: Collection[Source]) -> str:
    """Category of a claim of this kind whose check has these sources; none if it has no check.

    ``configuration``: we use what the paper uses. ``behaviour``: our RTL or algorithm does what the paper says, and a
    simulation or run of ours shows it. ``result``: a number that the paper measured, and we compute from our measurements;
    every input is ours.
    """
    if kind == "measured-by-paper" and not sources:
        return "result"
    if not OURS & set(sources):
        return "configuration"
    return "result" if kind == "measured-by-paper" and Source.PAPER not in sources else "behaviour"
