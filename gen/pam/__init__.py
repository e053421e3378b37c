"""Units of PAM (Processing Across Memory Hierarchy)."""

from .interface import PamInterface
from .pu import PamPu
from .ru import PamRu

__all__ = ["PamInterface", "PamPu", "PamRu"]
