"""Figures of a paper as data: which values of its claims, and which series of ours, a figure shows."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Bar", "Figure", "Panel", "SeriesPanel"]


@dataclass(frozen=True)
class Bar:
    """A pair of bars for the paper's value and ours.

    ``key`` selects a part of the value: keys and places of a list, with slashes between them. Empty selects the whole.
    """

    label: str
    claim: str
    key: str = ""


@dataclass(frozen=True)
class Panel:
    title: str
    axis: str
    bars: tuple[Bar, ...]
    log: bool = False
    #: Height of a line that means "no difference".
    neutral: float | None = None


@dataclass(frozen=True)
class SeriesPanel:
    """Groups of bars for our values that the paper does not print. ``name`` is a series of the :class:`PaperPackage`."""

    title: str
    axis: str
    name: str
    groups: str
    #: Inches.
    width: float = 6.0


@dataclass(frozen=True)
class Figure:
    title: str
    panels: tuple[Panel | SeriesPanel, ...]

    @property
    def claims(self) -> list[str]:
        return list(dict.fromkeys(bar.claim for panel in self.panels if isinstance(panel, Panel) for bar in panel.bars))

    @property
    def series(self) -> list[str]:
        return [panel.name for panel in self.panels if isinstance(panel, SeriesPanel)]
