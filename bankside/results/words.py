"""Words and groups for the figures of results, in text and on pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bankside.models.llm.roles import Role

if TYPE_CHECKING:
    from .systems import Eval

__all__ = ["GROUPS", "Result", "band", "grouped_ms", "number"]

Result = Mapping[str, Any]

#: Parts of a step in groups, in the order in which they are drawn. All further parts are "other".
GROUPS: tuple[tuple[str, str, tuple[Role, ...]], ...] = (
    ("attention", "red", (Role.ATTENTION,)),
    ("attention: queries, append, merge", "orange", (Role.ATTENTION_DATA,)),
    ("QKV and output projections", "blue", (Role.PROJECTION,)),
    ("feed-forward network", "sky", (Role.FEED_FORWARD,)),
    ("norms and activations", "grey", (Role.VECTOR, Role.LAST_NORM)),
    ("all-reduce and pipeline links", "green", (Role.COMMUNICATION, Role.PIPELINE)),
    ("embedding and output matrix", "violet", (Role.EMBEDDING, Role.OUTPUT)),
)


def grouped_ms(result: Eval) -> list[float]:
    """Milliseconds of each of :data:`GROUPS`, and of all further parts."""
    by_role: dict[Role | None, float] = {}
    for name, ms in result.breakdown_ms.items():
        role = result.roles.get(name)
        by_role[role] = by_role.get(role, 0.0) + ms
    return [*(sum(by_role.pop(role, 0.0) for role in roles) for _, _, roles in GROUPS), sum(by_role.values())]


def number(value: Any, digits: int) -> str:
    """A number with this many decimals; a text unchanged; – for None."""
    return "–" if value is None else value if isinstance(value, str) else f"{value:,.{digits}f}"


def band(pair: Sequence[float], unit: str, digits: int = 2) -> str:
    """A range of two numbers with their unit."""
    return f"{pair[0]:.{digits}f} to {pair[1]:.{digits}f} {unit}"
