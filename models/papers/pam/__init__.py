"""Claims of PAM (MICRO 2025), our value for each of them, and its figures."""

from pathlib import Path

from ..package import PaperPackage
from . import algorithm, area, differences, memory, placement, platform, results, settings, units
from .common import CHECKS
from .figures import FIGURES
from .runs import AHEAD

__all__ = [
    "PAPER",
    "algorithm",
    "area",
    "differences",
    "memory",
    "placement",
    "platform",
    "results",
    "settings",
    "units",
]

PAPER = PaperPackage(Path(__file__).with_name("claims.yaml"), checks=CHECKS, figures=FIGURES, ahead=AHEAD)
