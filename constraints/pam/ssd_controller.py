"""Parameters of the attention part of PAM's SSD controller: processing and reduction units, and the buffer before them.

Source: PAM (MICRO 2025) section 5.2: 64 processing units, 8 reduction units and a shared buffer; section 7.1: 8
channels. The paper leaves open the contents and the size of the buffer and the unit that merges the 8 results. They are
this project's choice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import Field, Layout, Port, Trial, Unit, memory_port
from .bank_group import SMALL, CompositionResult, CompositionWorkload
from .hbm_slice import PamSliceConfig
from .pu import PRESETS as PU_PRESETS
from .pu import PamPuConfig
from .ru import PRESETS as RU_PRESETS
from .ru import PamRuConfig

__all__ = ["PRESETS", "UNIT", "PamSsdControllerConfig", "SsdWorkload"]

#: Pages come far slower than a unit takes them, so there is no softmax to hide and a page can leave as a whole.
_PROCESSING = PU_PRESETS["pam-ssd"].model_copy(update={"score_tiles": 1})


class PamSsdControllerConfig(PamSliceConfig):
    """Parameters of the generator of the controller: ``groups`` flash channels, each with a group of units of its own.

    A channel brings pages of at most ``tile_tokens`` tokens, with K and V of a token together as the flash holds them.
    Each page is one tile of one unit of the channel's group. The shared buffer holds ``channel_pages`` pages of every
    channel. It gives them out in the unit's order: all of K, then V chunk by chunk. A page's K is followed by its V, so
    the units have ``score_tiles`` 1.
    """

    processing: PamPuConfig = Key(default=_PROCESSING, description="each processing unit")
    reduction: PamRuConfig = Key(default=RU_PRESETS["pam-ssd"], description="each channel's reduction unit")
    groups: int = Key(default=8, ge=1, le=64, description="flash channels, each with a group of units")
    fan_in: int = Key(default=8, ge=2, le=64, description="most sources of a unit of the tree")
    channel_pages: int = Key(default=2, ge=1, le=64, description="pages that the shared buffer holds of each channel")

    @model_validator(mode="after")
    def _check_pages(self) -> PamSsdControllerConfig:
        if self.processing.score_tiles != 1:
            raise ValueError("processing.score_tiles must be 1: V of a page follows its K")
        if self.processing.slice_beats * self.processing.lanes < self.max_head_dim:
            held = f"{self.processing.queries} queries" if self.processing.queries > 1 else "a query"
            raise ValueError(
                f"processing.query_bytes must hold {held} of {self.max_head_dim} elements: K of a page "
                "leaves the buffer once"
            )
        return self

    @property
    def page_beats(self) -> int:
        """Beats of the longest page: K and V of a whole tile."""
        return 2 * self.processing.tile_tokens * (self.max_head_dim // self.processing.lanes)

    @property
    def buffer_bytes(self) -> int:
        """Size of the shared buffer."""
        return self.groups * self.channel_pages * self.page_beats * self.processing.beat_bytes

    @property
    def page_layout(self) -> Layout:
        """A page on its way to a unit of the channel's group."""
        return Layout.of(
            Field(
                "tokens",
                self.processing.tile_tokens.bit_length(),
                "tokens of the page; at least 1, at most tile_tokens",
            ),
            Field(
                "chunks",
                (self.max_head_dim // self.processing.lanes).bit_length(),
                "head dimension divided by lanes; at least 1",
            ),
            Field(
                "unit",
                (max(self.reduction.sources, 2) - 1).bit_length(),
                "processing unit of the channel's group whose tile it is",
            ),
        )

    def feeds(self) -> tuple[Port, ...]:
        """Streams of each channel: its pages, and their K and V."""
        return tuple(
            port
            for c in range(self.groups)
            for port in (
                Port(f"page_{c}", "in", self.page_layout, "a page of the channel, before its beats"),
                Port(
                    f"data_{c}",
                    "in",
                    self.processing.beat_layout,
                    "a beat of the page: token by token, K before V, lane 0 lowest",
                ),
            )
        )

    def pages(self, tokens: Sequence[int]) -> list[tuple[int, int, int]]:
        """Pages of one step on a channel, in the order in which they must come: ``(unit, tile, tokens)``.

        ``tokens`` are the tokens of each unit of the group. The pages come in the order in which the reduction unit
        takes the tiles' results. In another order a page could wait for a unit, whose results wait for another unit,
        whose page comes later.
        """
        tiles = [self.processing.tiles(n) if n else [] for n in tokens]
        return [
            (unit, tile, sizes[tile])
            for tile in range(max(map(len, tiles), default=0))
            for unit, sizes in enumerate(tiles)
            if tile < len(sizes)
        ]

    def page_order(self, count: int, head_dim: int) -> np.ndarray:
        """Order in which a page of ``count`` tokens leaves the buffer: positions in the order in which it came."""
        chunks = head_dim // self.processing.lanes
        place = np.arange(2 * count * chunks).reshape(count, 2, chunks)
        key, value = (self.processing.key_order(count, head_dim), self.processing.value_order(count, head_dim))
        return np.concatenate([place[key[:, 0], 0, key[:, 1]], place[value[:, 0], 1, value[:, 1]]])


#: Section 5.2: 64 processing units and 8 reduction units; section 7.1: 8 channels, so one reduction unit to a channel.
PRESETS: dict[str, PamSsdControllerConfig] = {"pam-ssd": PamSsdControllerConfig()}


class SsdWorkload(CompositionWorkload):
    """A decode step whose tokens are in flash."""

    memory: str = memory_port("flash-nand")


UNIT = Unit(
    "pam-ssd-controller",
    "processing and reduction units of an SSD controller behind a shared buffer of pages",
    "PAM (MICRO 2025) section 5.2",
    module="pam_ssd_controller",
    config=PamSsdControllerConfig,
    presets=PRESETS,
    generator="bankside.gen.pam.ssd_controller:PamSsdController",
    model="bankside.models.pam.compositions:slice_attention",
    bench="bankside.cosim.pam.compositions:bench",
    page="docs/pam/compositions.md",
    workload=SsdWorkload,
    result=CompositionResult,
    published=(),
    trial=Trial({**SMALL, "groups": 2, "fan_in": 2}, {"tokens": 11, "head_dim": 8}),
)
