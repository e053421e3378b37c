"""Claims of CENT (ASPLOS 2025), our value for each of them, its figures and its results."""

from pathlib import Path

from ..package import PaperPackage
from . import area, differences, results, settings, table
from .common import CHECKS
from .figures import FIGURES

__all__ = ["PAPER", "area", "differences", "results", "settings"]

PAPER = PaperPackage(Path(__file__).with_name("claims.yaml"), checks=CHECKS, figures=FIGURES, results=table.results)
