"""Our value for each claim of LoL-PIM."""

from . import buffers, results, settings
from .common import CHECKS

__all__ = ["CHECKS", "buffers", "results", "settings"]
