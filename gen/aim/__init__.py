"""Units of AiM memories: a channel with its processing units, and the hub of a module. LoL-PIM and CENT share them."""

from .channel import AimChannel
from .hub import PimHub

__all__ = ["AimChannel", "PimHub"]
