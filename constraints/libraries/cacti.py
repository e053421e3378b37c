"""SRAM arrays by CACTI, as data with the inputs that made them (``cacti.yaml``)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ..core.document import Strict, load
from ..core.workspace import kept

__all__ = ["CactiPoint", "CactiTable", "load_cacti"]


class CactiPoint(Strict):
    """One array."""

    bits: int = Field(gt=0, description="size")
    width: int = Field(gt=0, description="bits of a word")
    ports: int = Field(ge=1, le=2, description="one for reads and writes, or one for reads and one for writes")
    node: str = Field(description="process, as in nodes.yaml")
    mm2: float = Field(gt=0, description="area of the data array")
    access_ns: float = Field(gt=0, description="access time")
    cells: Literal["itrs-lstp", "itrs-hp"] = Field(
        default="itrs-lstp", description="transistors: low standby power, or high performance"
    )


class CactiTable(Strict):
    """Outputs of CACTI, and their inputs."""

    program: str
    origin: str = Field(description="sources of the program, and how they were built")
    configuration: dict[str, str | int]
    output: str = Field(description="lines of the program's output that are kept")
    points: tuple[CactiPoint, ...] = Field(min_length=1, strict=False)

    def find(self, bits: int, width: int, ports: int, node: str) -> CactiPoint | None:
        """The array of exactly these inputs, with low-standby-power transistors."""
        inputs = (bits, width, ports, node, "itrs-lstp")
        return next((p for p in self.points if (p.bits, p.width, p.ports, p.node, p.cells) == inputs), None)


@kept
def load_cacti() -> CactiTable:
    """The built-in table."""
    return load(Path(__file__).with_name("cacti.yaml"), CactiTable, "a table of CACTI's arrays")
