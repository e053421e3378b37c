"""Claims of INF2 and our values: traffic, links, the system and its baselines, and figures."""

from pathlib import Path

from ..package import PaperPackage
from . import differences, results, settings
from .common import CHECKS
from .figures import FIGURES
from .series import SERIES

__all__ = ["PAPER", "differences", "results", "settings"]

PAPER = PaperPackage(Path(__file__).with_name("claims.yaml"), checks=CHECKS, figures=FIGURES, series=SERIES)
