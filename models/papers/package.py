"""A paper as one object, found by its entry point.

A package adds a paper with a line in its ``pyproject.toml``. The name must be the one in the file of claims::

    [project.entry-points."bankside.papers"]
    toy = "toy_package.papers:TOY"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...constraints.core.discovery import discover
from .ahead import Ahead
from .evidence import Checks, Evidence
from .figures import Figure

__all__ = ["GROUP", "PaperPackage", "Series", "paper_packages"]

GROUP = "bankside.papers"

#: Values of ours by series and place on the axis; None where there is nothing.
Series = dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class PaperPackage:
    """Claims, checks, figures and series of a paper.

    Attributes
    ----------
    claims : :class:`~pathlib.Path`
        YAML file of a :class:`Paper`.
    checks
        Our values by the id of their claim.
    figures
        Figures that can be redrawn, by name.
    series
        Our values for panels whose values the paper does not print, by the name in the :class:`SeriesPanel`.
    ahead
        Long computations that several claims share and that do not need each other.
    results
        All results of the paper's own evaluation, in the columns of its artifact, as the text of a CSV file. It is
        called with a function that takes texts about its progress.

    Raises
    ------
    :exc:`ValueError`
        If a figure names a series that the package lacks.
    """

    claims: Path
    checks: Checks = field(default_factory=Checks)
    figures: Mapping[str, Figure] = field(default_factory=dict)
    series: Mapping[str, Callable[[Evidence], Series]] = field(default_factory=dict)
    ahead: Sequence[Ahead] = ()
    results: Callable[[Callable[[str], None]], str] | None = None

    def __post_init__(self) -> None:
        for name, figure in self.figures.items():
            for wanted in figure.series:
                if wanted not in self.series:
                    raise ValueError(f"figure '{name}' shows series '{wanted}', which is not in the package")


def paper_packages() -> Mapping[str, PaperPackage]:
    """Packages of papers by name, from this project and from every other installed package."""
    return discover(GROUP, PaperPackage)
