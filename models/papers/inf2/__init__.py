"""Claims of INF2 and our values of those that need no unit: traffic, links, the system and its baselines."""

from pathlib import Path

from ..package import PaperPackage
from . import differences, results, settings, unchecked
from .common import CHECKS

__all__ = ["PAPER", "differences", "results", "settings", "unchecked"]

PAPER = PaperPackage(Path(__file__).with_name("claims.yaml"), checks=CHECKS)
