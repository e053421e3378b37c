"""Our value for each claim of PAM (MICRO 2025)."""

from . import algorithm, area, memory, placement, platform, results, settings, units
from .common import CHECKS

__all__ = ["CHECKS", "algorithm", "area", "memory", "placement", "platform", "results", "settings", "units"]
