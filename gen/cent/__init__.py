"""Units of CENT's device."""

from .pnm import CentPnm

__all__ = ["CentPnm"]
