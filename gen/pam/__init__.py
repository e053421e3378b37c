"""Units of PAM (Processing Across Memory Hierarchy)."""

from .pu import PamPu

__all__ = ["PamPu"]
