"""Claims of LoL-PIM, our value for each of them, and its figures."""

from pathlib import Path

from ..package import PaperPackage
from . import area, buffers, differences, results, settings
from .common import CHECKS
from .figures import FIGURES
from .series import SERIES

__all__ = ["PAPER", "area", "buffers", "differences", "results", "settings"]

PAPER = PaperPackage(Path(__file__).with_name("claims.yaml"), checks=CHECKS, figures=FIGURES, series=SERIES)
