"""Schema of STARC: AttAcc's units with selections of tokens in place of whole contexts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ..core.document import Strict
from . import AttAccSystemSpec

__all__ = ["KeysSpec", "SelectionSpec", "StarcSystemSpec", "SyntheticKeysSpec"]


class SyntheticKeysSpec(Strict):
    """Made-up keys and queries; :class:`bankside.models.sparse.source.Synthetic` explains them."""

    topics: int = Field(default=64, ge=1, le=1 << 16, description="topics of a text")
    passage: float = Field(
        default=64.0, ge=1, le=1e6, strict=False, description="mean tokens of a passage with one topic"
    )
    topic: float = Field(
        default=1.0, ge=0, le=1e6, strict=False, description="length of a topic beside the common part"
    )
    noise: float = Field(default=1.0, ge=0, le=1e6, strict=False, description="length of a key's own part")
    asked: int = Field(default=16, ge=1, le=1 << 12, description="topics near a query")


class KeysSpec(Strict):
    """Keys and queries whose selections a run has."""

    capture: str | None = Field(
        default=None, description="folder of `bankside capture`, relative to this file; without, synthetic keys"
    )
    layer: int = Field(default=0, ge=0, le=1 << 16, description="layer of the capture")
    heads: int = Field(
        default=16,
        ge=1,
        le=1 << 12,
        description="heads whose selections are computed; all heads of a run take them in turn",
    )
    seed: int = Field(default=1, ge=0, le=1 << 32, description="of synthetic keys")
    synthetic: SyntheticKeysSpec = SyntheticKeysSpec()
    source: str


class SelectionSpec(Strict):
    """Tokens to which heads attend, and how they lie in memory."""

    method: str = Field(description="full, window, quest, sparq, infinigen, starc or top")
    budget: int = Field(ge=1, le=1 << 30, description="tokens of a selection")
    unit_tokens: Literal[8, 16] = Field(
        description="tokens of an access unit: 8, as STARC has them; 16, AttAcc's mapping"
    )
    full_layers: int = Field(default=0, ge=0, le=1 << 12, description="first layers that attend to all tokens")
    prompt_tokens: int = Field(
        default=2048,
        ge=1,
        le=1 << 24,
        description="tokens of the prompt, clustered together. A shorter context is a shorter prompt",
    )
    interval: int = Field(default=128, ge=1, le=1 << 20, description="starc: steps between two clusterings")
    tokens_per_cluster: int = Field(default=32, ge=1, le=1 << 20, description="starc: mean tokens of a cluster")
    iterations: int = Field(default=15, ge=1, le=1 << 10, description="starc: iterations of k-means")
    padding: int = Field(
        default=1, ge=1, le=1 << 10, description="starc: clusters are filled up to a multiple of so many tokens"
    )
    query_parts: int | None = Field(
        default=None, ge=1, le=1 << 16, description="sparq: elements of a query; a quarter of them without"
    )
    key_share: float = Field(default=0.3, gt=0, le=1, strict=False, description="infinigen: share of elements")
    reads: Literal["runs", "count"] = Field(
        default="runs",
        description="runs: the access units of the selected tokens; count: as many tokens of a shorter "
        "sequence, which is all that AttAcc's simulator takes",
    )
    steps: int = Field(
        default=16, ge=1, le=1 << 16, description="steps of a run whose selections are computed, at most"
    )
    selector: str | None = Field(
        default="list", description="starc: preset of `starc-select` whose measured time is stated; null: none"
    )
    seed: int = Field(default=1, ge=0, le=1 << 32, description="starc: of k-means")
    keys: KeysSpec
    source: str


class StarcSystemSpec(AttAccSystemSpec):
    """GPUs with AttAcc's units, which attend to selected tokens."""

    kind: Literal["starc"]  # type: ignore[assignment]
    selection: SelectionSpec

    @model_validator(mode="after")
    def _check_selection(self) -> StarcSystemSpec:
        if self.queries != 1:
            raise ValueError(f"queries must be 1, not {self.queries}: each query has a selection of its own")
        if self.placement != "bank" and self.selection.unit_tokens == 8:
            raise ValueError(f"placement {self.placement} needs selection.unit_tokens 16: 8 tokens lie in all banks")
        return self
