"""LoL-PIM's units."""

from .dispatcher import DpaDispatcher

__all__ = ["DpaDispatcher"]
