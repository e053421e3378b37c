"""CENT: programs of its CXL-attached AiM devices, and functional models of its units."""

from .block import BlockMapping, block_program

__all__ = ["BlockMapping", "block_program"]
