"""Our value for each claim of LoL-PIM."""

from . import area, buffers, results, settings
from .common import CHECKS
from .series import SERIES

__all__ = ["CHECKS", "SERIES", "area", "buffers", "results", "settings"]
