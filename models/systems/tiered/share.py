"""The part of a model that one GPU and its tiers work on."""

from __future__ import annotations

from dataclasses import dataclass

from ...llm import ModelShape

__all__ = ["Share"]


@dataclass(frozen=True)
class Share:
    """A share of a model.

    Attributes
    ----------
    model : :class:`ModelShape`
    tensor : devices that share every layer
    layers : layers of the stage with the most
    """

    model: ModelShape
    tensor: int
    layers: int

    @property
    def heads(self) -> int:
        """Key/value heads."""
        return max(self.model.kv_heads // self.tensor, 1)

    @property
    def queries(self) -> int:
        """Queries that read the keys and values of a token."""
        return self.model.heads // self.tensor

    @property
    def head_token_bytes(self) -> int:
        """Bytes of K and V of a token, for one head and layer."""
        return 2 * self.model.head_dim * self.model.dtype_bytes

    @property
    def layer_token_bytes(self) -> int:
        """Bytes of K and V of a token in one layer."""
        return self.heads * self.head_token_bytes

    @property
    def token_bytes(self) -> int:
        """Bytes of K and V of a token in all layers."""
        return self.layer_token_bytes * self.layers
