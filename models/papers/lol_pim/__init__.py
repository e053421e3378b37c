"""Our value for each claim of LoL-PIM."""

from . import area, buffers, results, settings
from .common import CHECKS

__all__ = ["CHECKS", "area", "buffers", "results", "settings"]
