"""Units of PAM (Processing Across Memory Hierarchy)."""

from .interface import PamInterface
from .pu import PamPu

__all__ = ["PamInterface", "PamPu"]
