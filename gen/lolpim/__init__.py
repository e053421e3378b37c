"""LoL-PIM's units."""

from .dispatcher import DpaDispatcher
from .module import LolPimModule

__all__ = ["DpaDispatcher", "LolPimModule"]
