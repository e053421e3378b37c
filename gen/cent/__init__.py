"""CENT's units."""

from .decoder import CentDecoder

__all__ = ["CentDecoder"]
