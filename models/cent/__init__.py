"""CENT: programs of its CXL-attached AiM devices."""

from .block import BlockMapping, block_program

__all__ = ["BlockMapping", "block_program"]
