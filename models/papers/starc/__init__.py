"""Claims of STARC and our values: algorithm, selections, runs of the system, and figures."""

from pathlib import Path

from ..package import PaperPackage
from . import algorithm, differences, results, settings
from .common import CHECKS
from .figures import FIGURES
from .series import SERIES

__all__ = ["PAPER", "algorithm", "differences", "results", "settings"]

PAPER = PaperPackage(Path(__file__).with_name("claims.yaml"), checks=CHECKS, figures=FIGURES, series=SERIES)
