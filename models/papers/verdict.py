"""How our value compares with a claim's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["VERDICTS", "Judgement", "is_bound", "judge"]

#: What a claim can be found to be. ``bound`` keeps to a one-sided bound, which says less than ``within``. The last three
#: are of the measurement that it needs: it was not asked for, it failed, or it ran out of time. Such a claim can be
#: checked, and has not been.
VERDICTS = ("exact", "within", "bound", "off", "not-checkable", "not-measured", "failed", "timed-out")

#: Numbers this close relative to each other are the same: what is left of rounding in binary.
SAME = 1e-9


@dataclass(frozen=True)
class Judgement:
    """Outcome of a comparison.

    Attributes
    ----------
    verdict : ``exact``, ``within``, ``bound`` or ``off``
        The last of these that a part of the value has.
    ratio : :class:`float` or None
        Ours over the paper's. A value with several parts has the ratio of the part farthest from 1. None if no part is a
        number.
    part : :class:`str`
        Name of the part with this ratio; empty if the value has no parts.
    wrong : tuple of :class:`str`
        Names of the parts that are off, if the value has parts.
    unchecked : tuple of :class:`str`
        Names of the parts without a value of ours.
    """

    verdict: str
    ratio: float | None
    part: str = ""
    wrong: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Leaf:
    name: str
    verdict: str
    ratio: float | None


def judge(paper: Any, ours: Any, tolerance: float | Mapping[str, float] = 0.0, *, bounds: bool = True) -> Judgement:
    """Compare our value with the paper's.

    Parameters
    ----------
    paper, ours
        Values of the same shape. A part of ours that is None or absent is not checked. A list is compared place by place,
        and so an interval is compared at both ends.
    tolerance
        Largest ``|ours / paper - 1|`` that is ``within``; by key for parts of a mapping (outermost keys).
    bounds
        Whether keys of a mapping with the word ``max`` or ``min`` are bounds.
    """
    leaves: list[_Leaf] = []
    unchecked: list[str] = []
    _compare("", paper, ours, tolerance, bounds, leaves, unchecked)
    if not leaves:
        raise ValueError("nothing to compare")
    order = VERDICTS.index
    verdict = max((leaf.verdict for leaf in leaves), key=order)
    ratios = [(leaf.ratio, leaf.name) for leaf in leaves if leaf.ratio is not None]
    ratio, part = max(ratios, key=lambda one: _distance(one[0]), default=(None, ""))
    return Judgement(
        verdict,
        ratio,
        part,
        tuple(leaf.name for leaf in leaves if leaf.verdict == "off" and leaf.name),
        tuple(unchecked),
    )


def _distance(ratio: float) -> float:
    return abs(math.log(ratio)) if ratio > 0 else math.inf


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_bound(key: str) -> bool:
    """Whether a key of a mapping says that its value is a bound."""
    return _bound(key) is not None


def _bound(name: str) -> str | None:
    """``max`` or ``min`` if the last key says that the value is a bound."""
    words = name.rsplit(".", 1)[-1].split("_")
    for word in ("max", "min"):
        if word in words:
            return word
    return None


def _compare(
    name: str, paper: Any, ours: Any, tolerance: Any, bounds: bool, leaves: list[_Leaf], unchecked: list[str]
) -> None:
    if ours is None:
        unchecked.append(name)
    elif isinstance(paper, Mapping):
        given = ours if isinstance(ours, Mapping) else {}
        for key, value in paper.items():
            inner = tolerance.get(key, 0.0) if isinstance(tolerance, Mapping) else tolerance
            _compare(f"{name}.{key}" if name else str(key), value, given.get(key), inner, bounds, leaves, unchecked)
    elif isinstance(paper, list):
        if not isinstance(ours, list | tuple) or len(ours) != len(paper):
            leaves.append(_Leaf(name, "off", None))
            return
        for k, (theirs, mine) in enumerate(zip(paper, ours, strict=True)):
            _compare(f"{name}[{k}]", theirs, mine, tolerance, bounds, leaves, unchecked)
    elif _is_number(paper) and _is_number(ours):
        leaves.append(_number(name, float(paper), float(ours), float(tolerance), _bound(name) if bounds else None))
    else:
        leaves.append(_Leaf(name, "exact" if type(paper) is type(ours) and paper == ours else "off", None))


def _number(name: str, paper: float, ours: float, tolerance: float, bound: str | None) -> _Leaf:
    ratio = ours / paper if paper else None
    if math.isnan(ours):
        return _Leaf(name, "off", None)
    if bound:
        met = ours <= paper * (1 + SAME) if bound == "max" else ours >= paper * (1 - SAME)
        # A bound that is met says nothing of how far away we are.
        return _Leaf(name, "bound" if met else "off", None if met else ratio)
    gap = abs(ours - paper)
    if gap <= SAME * abs(paper):
        return _Leaf(name, "exact", ratio)
    return _Leaf(name, "within" if gap <= tolerance * abs(paper) * (1 + SAME) else "off", ratio)
