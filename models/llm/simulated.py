"""Decoders as the AttAcc simulator has them, by its own names."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ...constraints.core.document import Strict, load
from ...constraints.core.workspace import kept
from ...constraints.llm import SIMULATED
from .shape import ModelShape

__all__ = ["SimulatedShape", "simulated_models"]


class _Entry(Strict):
    """A model of the table. ``ffn_scale`` is a fraction: numerator and denominator."""

    layers: int = Field(ge=1, le=100_000)
    hidden_size: int = Field(ge=1, le=1 << 24)
    heads: int = Field(ge=1, le=1 << 16)
    head_dim: int = Field(ge=1, le=1 << 16)
    ffn_scale: list[int] = Field(min_length=2, max_length=2)
    activation: Literal["relu", "gelu", "glu"]


class _Table(Strict):
    source: str
    models: dict[str, _Entry]


class SimulatedShape(ModelShape):
    """A decoder without embedding, output matrix and biases, whose FFN need not have a whole number of columns.

    Attributes
    ----------
    ffn_scale : :class:`float`
        Columns of the FFN over the hidden size.
    traced_head_dim : :class:`int`
        Head dimension for which units beside memory are timed.
    """

    ffn_scale: float
    traced_head_dim: int

    @property
    def stored_head_dim(self) -> int:
        return self.traced_head_dim

    def columns(self, heads: int) -> int:
        return heads * self.hidden_size // self.heads

    def ffn_share(self, tp: int) -> float:
        return self.ffn_scale * (self.hidden_size // tp)


@kept
def simulated_models(dtype: Literal["float16", "int8"] = "float16") -> dict[str, SimulatedShape]:
    """The simulator's models by its names, with elements of this format."""
    out = {}
    for name, entry in load(SIMULATED, _Table).models.items():
        over, under = entry.ffn_scale
        out[name] = SimulatedShape(
            name=name,
            family="attacc-simulator",
            layers=entry.layers,
            hidden_size=entry.hidden_size,
            heads=entry.heads,
            kv_heads=entry.heads,
            head_dim=entry.hidden_size // entry.heads,
            intermediate_size=round(over * entry.hidden_size / under),
            vocab_size=1,
            max_context=1 << 40,
            gated=entry.activation == "glu",
            activation=entry.activation,
            dtype=dtype,
            tied_embeddings=True,
            embed_dim=entry.hidden_size,
            norm_vectors=0,
            final_norm_vectors=0,
            ffn_scale=over / under,
            traced_head_dim=entry.head_dim,
        )
    return out
