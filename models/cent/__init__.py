"""CENT: programs of its CXL-attached AiM devices."""

from .block import BlockMapping, block_program, embedding_program, matrices_program

__all__ = ["BlockMapping", "block_program", "embedding_program", "matrices_program"]
