"""Links of a host as a tree: ``host -> expansion -> port pair -> drive``."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from ..core.document import Strict

__all__ = ["PCIE_GT_S", "ROOT", "LinkEdge", "LinkTreeSpec"]

#: Name of the tree's root.
ROOT = "host"

#: Transfers of a lane in 10^9/s, and the share of the bits that carry data, by generation of PCI Express. Generations 1 and
#: 2 have 8 of 10 bits, 3 to 5 have 128 of 130; of generation 6, 242 of the 256 bytes of a flit.
PCIE_GT_S = {
    1: (2.5, 8 / 10),
    2: (5.0, 8 / 10),
    3: (8.0, 128 / 130),
    4: (16.0, 128 / 130),
    5: (32.0, 128 / 130),
    6: (64.0, 242 / 256),
}


class LinkEdge(Strict):
    """A link and the node at its lower end. The node has the link's name."""

    name: str = Field(min_length=1, max_length=64)
    below: str = Field(default=ROOT, description="node at the upper end, of an earlier entry")
    count: int = Field(default=1, ge=1, le=1 << 12, description="such links at each node above")
    lanes: int | None = Field(default=None, ge=1, le=32, description="width, for a link of PCI Express")
    generation: int | None = Field(default=None, ge=min(PCIE_GT_S), le=max(PCIE_GT_S), description="of PCI Express")
    gb_s: float | None = Field(
        default=None,
        gt=0,
        le=1e6,
        strict=False,
        description="bandwidth of one direction, in place of lanes and generation",
    )

    @model_validator(mode="after")
    def _one_rate(self) -> LinkEdge:
        if (self.gb_s is None) != (self.lanes is not None and self.generation is not None) or (self.lanes is None) != (
            self.generation is None
        ):
            raise ValueError(f"link '{self.name}' needs either lanes and generation, or gb_s")
        return self

    @property
    def bytes_per_s(self) -> float:
        """Bandwidth of one direction after the line code, without the heads of packets."""
        if self.gb_s is not None:
            return self.gb_s * 1e9
        assert self.lanes is not None and self.generation is not None
        transfers, share = PCIE_GT_S[self.generation]
        return transfers * share * self.lanes / 8 * 1e9


class LinkTreeSpec(Strict):
    """Links below a host. Each entry stands for as many equal links as its ``count`` and those above it say."""

    edges: list[LinkEdge] = Field(min_length=1, max_length=32)
    latency_us: float = Field(ge=0, le=1e6, strict=False, description="of a message between GPU and another node")
    pj_per_byte: float = Field(
        ge=0, le=1e6, strict=False, description="energy of a transfer, however many links it takes"
    )
    source: str

    @model_validator(mode="after")
    def _tree(self) -> LinkTreeSpec:
        places: dict[str, int] = {ROOT: 1}
        for edge in self.edges:
            if edge.name in places:
                raise ValueError(f"two nodes are called '{edge.name}'")
            if edge.below not in places:
                raise ValueError(
                    f"link '{edge.name}' is below '{edge.below}', which no earlier entry is (known: "
                    f"{', '.join(places)})"
                )
            places[edge.name] = places[edge.below] * edge.count
            if places[edge.name] > 1 << 14:
                raise ValueError(f"{places[edge.name]} nodes are called '{edge.name}', at most {1 << 14} can be")
        return self

    def at(self, name: str) -> Any:
        """The entry of this name, or None."""
        return next((edge for edge in self.edges if edge.name == name), None)
