"""Units of AiM memories, which LoL-PIM and CENT share: a channel with its processing units, and the hub of a module."""

from .channel import AimChannel
from .hub import PimHub

__all__ = ["AimChannel", "PimHub"]
