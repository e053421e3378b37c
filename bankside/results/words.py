"""Words and groups for the figures of results, in text and on pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .systems import Eval

__all__ = ["GROUPS", "Result", "band", "grouped_ms", "number"]

Result = Mapping[str, Any]

#: Operators of a breakdown in groups, in the order in which they are drawn. All further operators are "other".
GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("attention", "red", ("attention", "attention_score", "softmax", "attention_context", "attention_softmax")),
    (
        "attention: queries, append, merge",
        "orange",
        (
            "attention_query_write",
            "attention_kv_append",
            "attention_merge",
            "attention_send",
            "attention_receive",
            "kv_append",
            "kv_fetch",
            "migration_exposed",
        ),
    ),
    ("QKV and output projections", "blue", ("qkv", "out_projection")),
    ("feed-forward network", "sky", ("ffn_gate", "ffn_up", "ffn_down", "ffn_gate_product")),
    (
        "norms and activations",
        "grey",
        ("attention_norm", "ffn_norm", "final_norm", "ffn_activation", "norms", "rotary", "residuals"),
    ),
    (
        "all-reduce and pipeline links",
        "green",
        ("attention_allreduce", "ffn_allreduce", "pipeline_transfer", "partial_sums"),
    ),
    ("embedding and output matrix", "violet", ("embedding", "embedding_projection", "head_projection", "lm_head")),
)


def grouped_ms(result: Eval) -> list[float]:
    """Milliseconds of each of :data:`GROUPS`, and of all further operators."""
    breakdown = dict(result.breakdown_ms)
    out = [sum(breakdown.pop(name, 0.0) for name in names) for _, _, names in GROUPS]
    return [*out, sum(breakdown.values())]


def number(value: Any, digits: int) -> str:
    """A number with this many decimals; a text unchanged; – for None."""
    return "–" if value is None else value if isinstance(value, str) else f"{value:,.{digits}f}"


def band(pair: Sequence[float], unit: str, digits: int = 2) -> str:
    """A range of two numbers with their unit."""
    return f"{pair[0]:.{digits}f} to {pair[1]:.{digits}f} {unit}"
