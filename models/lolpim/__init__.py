"""LoL-PIM: functional models of its units."""

from .dispatcher import Dispatcher, Done, Issued, dispatch

__all__ = ["Dispatcher", "Done", "Issued", "dispatch"]
