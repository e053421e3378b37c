"""CENT: programs of its CXL-attached AiM devices, and their instruction words."""

from .block import BlockMapping, block_program, embedding_program, matrices_program
from .program import ProgramSize, program_size
from .words import decode_words, encode_words

__all__ = [
    "BlockMapping",
    "ProgramSize",
    "block_program",
    "decode_words",
    "embedding_program",
    "encode_words",
    "matrices_program",
    "program_size",
]
